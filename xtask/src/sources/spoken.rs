//! Words that a text uses, in sentences and in names: `LampPost`, `lamp_post` and "a lamp" all say
//! "lamp".

use std::io;
use std::path::{Path, PathBuf};

/// Endings of files that people write, and of manual pages, which people read; the rest is data.
const ENDINGS: [&str; 8] = ["rs", "md", "toml", "py", "c", "h", "sh", "1"];

/// A word that is not used, in all its forms.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The forms, in lower case.
    pub forms: &'static [&'static str],
    /// Texts in which it may stand, in lower case.
    pub except: &'static [&'static str],
}

/// A word that stands where it should not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spoken {
    /// The first form of its rule.
    pub word: &'static str,
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
}

/// Every use of such a word in the files below `folder`, which may be a file.
///
/// # Errors
/// A file that cannot be read.
pub fn spoken(folder: &Path, rules: &[Rule]) -> io::Result<Vec<Spoken>> {
    let mut found = Vec::new();
    for file in written(folder)? {
        let text = std::fs::read_to_string(&file)?;
        for (number, line) in text.lines().enumerate() {
            for word in in_line(line, rules) {
                found.push(Spoken {
                    word,
                    file: file.clone(),
                    line: number + 1,
                });
            }
        }
    }
    Ok(found)
}

/// The files below `folder` that people write, sorted.
fn written(folder: &Path) -> io::Result<Vec<PathBuf>> {
    if folder.is_file() {
        return Ok(vec![folder.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = entry.path();
        let ending = path.extension().and_then(|ending| ending.to_str());
        if path.is_dir() && !name.starts_with('.') && !name.starts_with("target") {
            files.extend(written(&path)?);
        } else if ending.is_some_and(|ending| ENDINGS.contains(&ending)) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn in_line(line: &str, rules: &[Rule]) -> Vec<&'static str> {
    let words = words(line);
    let mut found = Vec::new();
    for rule in rules {
        let lower = line.to_lowercase();
        let allowed: usize = rule.except.iter().map(|it| lower.matches(it).count()).sum();
        let is_form = |word: &&String| rule.forms.contains(&word.as_str());
        let uses = words.iter().filter(is_form).count();
        let name = rule.forms.first().copied().unwrap_or_default();
        found.extend(std::iter::repeat_n(name, uses.saturating_sub(allowed)));
    }
    found
}

/// The words of a line in lower case; names are taken apart.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for character in line.chars() {
        let begins = character.is_uppercase() && before.is_lowercase();
        if begins || !character.is_alphabetic() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| character.is_alphabetic()) {
            word.extend(character.to_lowercase());
        }
        before = character;
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: [Rule; 2] = [
        Rule {
            forms: &["lamp", "lamps"],
            except: &["head-lamp"],
        },
        Rule {
            forms: &["reed"],
            except: &[],
        },
    ];

    #[test]
    fn a_word_is_found_in_sentences_and_in_names_and_not_in_longer_words() {
        for line in ["the lamp", "LAMP_MAX", "struct LampPost;", "two lamps"] {
            assert_eq!(in_line(line, &RULES), ["lamp"], "{line}");
        }
        for line in ["lamplight", "a head-lamp", "reedy", "agreed"] {
            assert!(in_line(line, &RULES).is_empty(), "{line}");
        }
        assert_eq!(in_line("a head-lamp and a reed lamp", &RULES).len(), 2);
    }
}
