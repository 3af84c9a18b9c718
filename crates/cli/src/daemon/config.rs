//! The part of the config file that is the daemon's.
//!
//! ```toml
//! [daemon]
//! mode = "advise"
//! log = "changes"
//! metrics = "127.0.0.1:9752"
//!
//! [daemon.exclude]
//! paths = ["/var/lib/postgresql"]
//! processes = ["backup"]
//! cgroups = ["/system.slice/db.service"]
//! devices = ["8:17"]
//! ```
//!
//! `[daemon.include]` has the same lists: where it says anything, only that is meant. Settings of the policy stand
//! under `[run]`, as for `ahead run`. Lists of several files are put together; of other lines the last one counts.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use ahead_daemon::metrics;
use ahead_daemon::scope::{Scope, ScopeRules};
use ahead_engine::settings::Settings;
use serde::Deserialize;

use crate::arguments::{DaemonLog, DaemonMode};
use crate::run::config::{self, ConfigError};

/// The machine's config file.
const USUAL: &str = "/etc/ahead/ahead.toml";

/// Files that are read after it, in the order of their names: `*.toml`.
const DROP_INS: &str = "/etc/ahead/ahead.toml.d";

/// What a file says to the daemon.
#[derive(Clone, Debug, Default)]
pub struct DaemonConfig {
    /// The policy's settings.
    pub settings: Settings,
    /// How far it goes, if that is said.
    pub mode: Option<DaemonMode>,
    /// What it logs, if that is said.
    pub log: Option<DaemonLog>,
    /// Where it answers Prometheus, if it does.
    pub metrics: Option<SocketAddr>,
    /// For what.
    pub scope: Scope,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Whole {
    daemon: Section,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Section {
    mode: Option<DaemonMode>,
    log: Option<DaemonLog>,
    metrics: Option<String>,
    include: ScopeRules,
    exclude: ScopeRules,
}

/// Reads the machine's file, which need not be there, those beside it, and then `more`, which has to be there.
///
/// # Errors
/// A file cannot be read, or a line cannot be used.
pub fn read(more: Option<&Path>) -> Result<DaemonConfig, ConfigError> {
    read_files(Path::new(USUAL), Path::new(DROP_INS), more)
}

fn read_files(
    usual: &Path,
    drop_ins: &Path,
    more: Option<&Path>,
) -> Result<DaemonConfig, ConfigError> {
    let mut found = DaemonConfig::default();
    let mut files = vec![(usual.to_owned(), false)];
    files.extend(drop_ins_of(drop_ins)?.into_iter().map(|path| (path, true)));
    files.extend(more.map(|path| (path.to_owned(), true)));
    for (path, must_exist) in files {
        if let Some(text) = config::read(&path, must_exist, &mut found.settings)? {
            apply(&path, &text, &mut found)?;
        }
    }
    Ok(found)
}

/// Files of other names are what editors and package managers leave.
fn drop_ins_of(folder: &Path) -> Result<Vec<PathBuf>, ConfigError> {
    let unreadable = |source| ConfigError::Unreadable {
        path: folder.to_owned(),
        source,
    };
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(unreadable)?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(unreadable)?.path();
        let is_hidden = path
            .file_name()
            .is_some_and(|name| name.as_encoded_bytes()[0] == b'.');
        if path.extension().is_some_and(|end| end == "toml") && !is_hidden {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn apply(path: &Path, text: &str, found: &mut DaemonConfig) -> Result<(), ConfigError> {
    let refused = |line, problem| ConfigError::Line {
        path: PathBuf::from(path),
        line,
        problem,
    };
    let whole: Whole = toml::from_str(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        refused(config::line_of(text, start), error.message().to_owned())
    })?;
    let Section {
        mode,
        log,
        metrics: metrics_at,
        include,
        exclude,
    } = whole.daemon;
    let scope = Scope { include, exclude };
    if let Err(error) = scope.check() {
        let section = text.find("[daemon").unwrap_or(0);
        return Err(refused(config::line_of(text, section), error.to_string()));
    }
    if let Some(address) = metrics_at {
        let line = text.find("metrics").unwrap_or(0);
        let address = metrics::local_address(&address);
        let address = address.map_err(|problem| refused(config::line_of(text, line), problem))?;
        found.metrics = Some(address);
    }
    found.mode = mode.or(found.mode);
    found.log = log.or(found.log);
    found.scope.add(scope);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(text: &str) -> Result<DaemonConfig, String> {
        let mut found = DaemonConfig::default();
        let done = apply(Path::new("a.toml"), text, &mut found);
        done.map(|()| found).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_meant_and_how_far_it_goes_is_taken() {
        let text =
            "[run]\nbudget_mib = 7\n[daemon]\nmode = 'advise'\n[daemon.exclude]\npaths = ['/a']\n";
        let found = applied(text).unwrap();
        assert_eq!(found.mode, Some(DaemonMode::Advise));
        assert_eq!(found.scope.exclude.paths, [PathBuf::from("/a")]);
    }

    #[test]
    fn what_cannot_be_used_is_named_with_its_line() {
        let wrong = [
            ("[daemon]\nmode = 'fast'\n", "a.toml:2: "),
            ("[daemon]\n\nmodes = 'full'\n", "a.toml:3: "),
            (
                "\n[daemon.exclude]\npaths = ['a']\n",
                "a.toml:2: the path 'a'",
            ),
            (
                "[daemon]\n\nmetrics = '0.0.0.0:9752'\n",
                "a.toml:3: '0.0.0.0:9752' can be reached",
            ),
            (
                "[daemon]\nmetrics = 'here'\n",
                "a.toml:2: 'here' is no address",
            ),
        ];
        for (text, words) in wrong {
            let said = applied(text).unwrap_err();
            assert!(said.starts_with(words), "{said}");
        }
    }

    #[test]
    fn lists_of_drop_ins_are_put_together_and_the_last_mode_counts() {
        let folder = tempfile::tempdir().unwrap();
        let usual = folder.path().join("ahead.toml");
        let drop_ins = folder.path().join("ahead.toml.d");
        std::fs::create_dir(&drop_ins).unwrap();
        let write = |path: PathBuf, text: &str| std::fs::write(path, text).unwrap();
        write(
            usual.clone(),
            "[daemon]\nmode = 'full'\n[daemon.exclude]\npaths = ['/a']\n",
        );
        write(
            drop_ins.join("20-b.toml"),
            "[daemon]\nmode = 'observe'\nlog = 'changes'\n[daemon.exclude]\npaths = ['/b']\n",
        );
        write(
            drop_ins.join("10-a.toml"),
            "[daemon]\nmode = 'advise'\nmetrics = '[::1]:9'\n",
        );
        for ignored in ["30-c.toml.dpkg-old", ".hidden.toml", "README"] {
            write(drop_ins.join(ignored), "no TOML");
        }
        let found = read_files(&usual, &drop_ins, None).unwrap();
        assert_eq!(found.mode, Some(DaemonMode::Observe));
        assert_eq!(found.log, Some(DaemonLog::Changes));
        assert_eq!(found.metrics, "[::1]:9".parse().ok());
        assert_eq!(
            found.scope.exclude.paths,
            [PathBuf::from("/a"), PathBuf::from("/b")]
        );

        write(drop_ins.join("30-c.toml"), "[daemon]\nmode = 'fast'\n");
        let said = read_files(&usual, &drop_ins, None).unwrap_err().to_string();
        assert!(said.contains("30-c.toml:2: "), "{said}");
        let none = read_files(
            &folder.path().join("none"),
            &folder.path().join("none.d"),
            None,
        );
        assert_eq!(none.unwrap().mode, None);
    }
}
