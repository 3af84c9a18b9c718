//! The config file: TOML, with the settings of a run under `[run]`. Says file and line of whatever
//! it does not understand; what a value may be is the business of [`Settings::set`].
//!
//! ```toml
//! [run]
//! policy = "adaptive"
//! readahead_hit_rate = 2
//! ```

use std::io;
use std::path::{Path, PathBuf};

use ahead_engine::settings::Settings;
use toml::de::{DeTable, DeValue};

/// Longest file that is read, in bytes. Real ones have a few hundred; a mistake such as
/// `--config /dev/zero` should end in a sentence.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Why a config file was refused.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It cannot be read.
    #[error("cannot read the config file '{path}': {source}; name a readable one with --config")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is longer than any config file.
    #[error(
        "the config file '{path}' is longer than {FILE_BYTES_MAX} bytes: is it the right file?"
    )]
    TooLong {
        /// The file.
        path: PathBuf,
    },
    /// A line cannot be used.
    #[error("{path}:{line}: {problem}")]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it and what would be right.
        problem: String,
    },
}

/// The files that are read when they exist, weakest first.
#[must_use]
pub fn usual_files(config_home: Option<PathBuf>, home: Option<PathBuf>) -> Vec<PathBuf> {
    let mut files = vec![PathBuf::from("/etc/ahead/ahead.toml")];
    let personal = config_home
        .filter(|folder| folder.is_absolute())
        .or_else(|| {
            home.filter(|folder| folder.is_absolute())
                .map(|folder| folder.join(".config"))
        });
    files.extend(personal.map(|folder| folder.join("ahead/ahead.toml")));
    files
}

/// Reads `path` into `settings`, and returns its text. With `must_exist` false, a file that is not there says nothing.
///
/// # Errors
/// The file cannot be read, or a line cannot be used. `settings` may then be changed in part.
pub fn read(
    path: &Path,
    must_exist: bool,
    settings: &mut Settings,
) -> Result<Option<String>, ConfigError> {
    let text = match read_text(path) {
        Ok(Some(text)) => text,
        Ok(None) => return Err(ConfigError::TooLong { path: path.into() }),
        Err(error) if !must_exist && is_absent(&error) => return Ok(None),
        Err(source) => {
            return Err(ConfigError::Unreadable {
                path: path.into(),
                source,
            });
        }
    };
    apply(&text, settings).map_err(|(line, problem)| ConfigError::Line {
        path: path.into(),
        line,
        problem,
    })?;
    Ok(Some(text))
}

fn is_absent(error: &io::Error) -> bool {
    // A home folder that we may not look into has no config file for us.
    use io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
    matches!(error.kind(), NotFound | NotADirectory | PermissionDenied)
}

/// The text of the file, or `None` when it is too long.
fn read_text(path: &Path) -> io::Result<Option<String>> {
    use io::Read as _;
    let mut text = String::new();
    std::fs::File::open(path)?
        .take(FILE_BYTES_MAX + 1)
        .read_to_string(&mut text)?;
    Ok(Some(text).filter(|text| text.len() as u64 <= FILE_BYTES_MAX))
}

/// Puts what `text` says into `settings`.
///
/// # Errors
/// The line (from 1) that cannot be used, and why. `settings` may then be changed in part.
pub fn apply(text: &str, settings: &mut Settings) -> Result<(), (usize, String)> {
    let document = DeTable::parse(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        (
            line_of(text, offset),
            format!("{}; the file must be TOML", error.message().trim()),
        )
    })?;
    for (section, value) in document.get_ref() {
        let line = line_of(text, section.span().start);
        let name = section.get_ref();
        // The daemon's, which it checks itself.
        if name == "daemon" {
            continue;
        }
        let DeValue::Table(keys) = value.get_ref() else {
            return Err((
                line,
                format!("'{name}' stands outside a section: put it under [run]"),
            ));
        };
        if name != "run" {
            return Err((
                line,
                format!("unknown section [{name}]: there are [run] and [daemon]"),
            ));
        }
        for (key, value) in keys {
            let line = line_of(text, key.span().start);
            let value = as_text(value.get_ref()).ok_or_else(|| {
                (
                    line,
                    format!("'{}' must be a number or a text in quotes", key.get_ref()),
                )
            })?;
            settings
                .set(key.get_ref(), &value)
                .map_err(|error| (line, error.to_string()))?;
        }
    }
    Ok(())
}

fn as_text(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        // Underscores are gone already; a number in another base stays what it is called.
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .ok()
            .map(|number| number.to_string()),
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        DeValue::Boolean(value) => Some(value.to_string()),
        _ => None,
    }
}

/// The line, from 1, of a place in `text`.
pub(crate) fn line_of(text: &str, offset: usize) -> usize {
    1 + text
        .as_bytes()
        .iter()
        .take(offset)
        .filter(|&&byte| byte == b'\n')
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ahead_engine::settings::PolicyChoice;
    use proptest::prelude::*;

    fn settings_of(text: &str) -> Result<Settings, (usize, String)> {
        let mut settings = Settings::default();
        apply(text, &mut settings).map(|()| settings)
    }

    #[test]
    fn numbers_and_texts_reach_the_settings() {
        let settings = settings_of("# mine\n[run]\npolicy = \"kernel\"\nreadahead_ratio = 0x10\n");
        let settings = settings.expect("a good file");
        assert_eq!(settings.policy, PolicyChoice::Kernel);
        assert_eq!(settings.readahead_ratio, 16);
    }

    #[test]
    fn an_unknown_key_is_reported_with_its_line() {
        let (line, problem) = settings_of("[run]\n\nreadahead = 3\n").expect_err("unknown key");
        assert_eq!(line, 3);
        assert!(problem.contains("readahead_ratio"), "{problem}");
    }

    #[test]
    fn a_key_outside_its_section_is_reported_with_what_to_do() {
        let (line, problem) = settings_of("\npolicy = 'off'\n").expect_err("outside");
        assert_eq!((line, problem.contains("[run]")), (2, true), "{problem}");
    }

    #[test]
    fn an_unknown_section_and_broken_toml_are_refused_with_their_line() {
        assert_eq!(settings_of("[runs]\n").expect_err("section").0, 1);
        assert_eq!(settings_of("[run]\npolicy = \n").expect_err("broken").0, 2);
    }

    #[test]
    fn a_list_is_no_value() {
        assert!(settings_of("[run]\npolicy = ['off']\n").is_err());
    }

    #[test]
    fn the_personal_file_comes_after_the_machines() {
        let files = usual_files(Some("/x".into()), Some("/home/a".into()));
        assert_eq!(
            files,
            ["/etc/ahead/ahead.toml", "/x/ahead/ahead.toml"].map(PathBuf::from)
        );
        let files = usual_files(None, Some("/home/a".into()));
        assert_eq!(files[1], Path::new("/home/a/.config/ahead/ahead.toml"));
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "\\PC*") {
            let _ = settings_of(&text);
        }

        #[test]
        fn a_refused_line_is_a_line_of_the_file(text in "(\\[run\\]\n)?([a-z_=\" 0-9.\\[\\]]{0,20}\n){0,6}") {
            if let Err((line, _)) = settings_of(&text) {
                prop_assert!(line >= 1 && line <= text.lines().count() + 1);
            }
        }
    }
}
