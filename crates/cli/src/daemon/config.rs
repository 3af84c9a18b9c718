//! The part of the config file that is the daemon's.
//!
//! ```toml
//! [daemon]
//! mode = "advise"
//!
//! [daemon.exclude]
//! paths = ["/var/lib/postgresql"]
//! processes = ["backup"]
//! cgroups = ["/system.slice/db.service"]
//! devices = ["8:17"]
//! ```
//!
//! `[daemon.include]` has the same lists: where it says anything, only that is meant. Settings of the policy stand
//! under `[run]`, as for `ahead run`.

use std::path::{Path, PathBuf};

use ahead_daemon::scope::{Scope, ScopeRules};
use ahead_engine::settings::Settings;
use serde::Deserialize;

use crate::arguments::DaemonMode;
use crate::run::config::{self, ConfigError};

/// The machine's config file.
const USUAL: &str = "/etc/ahead/ahead.toml";

/// What a file says to the daemon.
#[derive(Clone, Debug, Default)]
pub struct DaemonConfig {
    /// The policy's settings.
    pub settings: Settings,
    /// How far it goes, if that is said.
    pub mode: Option<DaemonMode>,
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
    include: ScopeRules,
    exclude: ScopeRules,
}

/// Reads the machine's file, which need not be there, and then `more`, which has to.
///
/// # Errors
/// A file cannot be read, or a line cannot be used.
pub fn read(more: Option<&Path>) -> Result<DaemonConfig, ConfigError> {
    let mut found = DaemonConfig::default();
    let files = [(Some(Path::new(USUAL)), false), (more, true)];
    for (path, must_exist) in files {
        let Some(path) = path else { continue };
        if let Some(text) = config::read(path, must_exist, &mut found.settings)? {
            apply(path, &text, &mut found)?;
        }
    }
    Ok(found)
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
        include,
        exclude,
    } = whole.daemon;
    let scope = Scope { include, exclude };
    if let Err(error) = scope.check() {
        let section = text.find("[daemon").unwrap_or(0);
        return Err(refused(config::line_of(text, section), error.to_string()));
    }
    found.mode = mode.or(found.mode);
    if !scope.is_everything() {
        found.scope = scope;
    }
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
        ];
        for (text, words) in wrong {
            let said = applied(text).unwrap_err();
            assert!(said.starts_with(words), "{said}");
        }
    }
}
