//! The words between the daemon and who asks it: one line in, one JSON text out. Pure.
//!
//! ```text
//! {"version":2}                                  all files that the asker may hear of
//! {"version":2,"process":17}                     those that this process read last
//! {"version":2,"inode":1234}                     those with this number
//! {"version":2,"process":17,"history":true}      and what was decided about them
//! ```
//!
//! The answer is a [`DaemonStatus`], or a [`Refusal`]. The version is raised when a field changes its meaning or goes;
//! a new field of an answer is none of that, so who asks must not mind fields that it does not know. What is asked is
//! taken strictly: a word that is not known here would be answered with something else than was meant.
//! docs/guide/daemon-protocol.md is this for those who write another client.

use serde::{Deserialize, Serialize};

use crate::status::{DaemonStatus, FileStatus, STATUS_VERSION};

/// Longest question that is read, with its line end.
pub const QUESTION_BYTES_MAX: u64 = 256;

/// Longest answer that is read.
pub const ANSWER_BYTES_MAX: u64 = 8 << 20;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// [`STATUS_VERSION`].
    pub version: u32,
    /// Only files that this process read last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<u32>,
    /// Only files with this number of the inode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inode: Option<u64>,
    /// Also what was decided about each of them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub history: bool,
}

impl Question {
    /// About all files, without their history.
    #[must_use]
    pub const fn all() -> Self {
        Self {
            version: STATUS_VERSION,
            process: None,
            inode: None,
            history: false,
        }
    }

    /// Reads a line.
    ///
    /// # Errors
    /// What is said to who asked it.
    pub fn read(line: &[u8]) -> Result<Self, Refusal> {
        let version: Version = serde_json::from_slice(line)
            .map_err(|error| Refusal::new(&format!("this is no question: {error}")))?;
        if version.version != STATUS_VERSION {
            let said = format!("version {} is not spoken here", version.version);
            return Err(Refusal::new(&said));
        }
        serde_json::from_slice(line)
            .map_err(|error| Refusal::new(&format!("this is no question: {error}")))
    }

    /// The line.
    #[must_use]
    pub fn to_line(&self) -> Vec<u8> {
        // Numbers and truths: there is nothing in it that could be refused.
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }

    /// Whether a file is meant.
    #[must_use]
    pub fn is_about(&self, file: &FileStatus) -> bool {
        self.process.is_none_or(|process| process == file.process)
            && self.inode.is_none_or(|inode| inode == file.inode)
    }
}

/// What every question and answer has, of whatever version.
#[derive(Debug, Deserialize)]
struct Version {
    version: u32,
}

/// Why a question is not answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The version that is spoken.
    pub version: u32,
    /// What is wrong.
    pub refused: String,
}

impl Refusal {
    /// With this reason.
    #[must_use]
    pub fn new(reason: &str) -> Self {
        Self {
            version: STATUS_VERSION,
            refused: reason.to_owned(),
        }
    }
}

/// Why an answer says nothing.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum AnswerError {
    /// Another version is spoken.
    #[error("the daemon is of another version than this program: start it anew")]
    OtherVersion,
    /// The daemon refuses.
    #[error("the daemon refuses: {0}")]
    Refused(String),
    /// It is no answer, or was cut off.
    #[error("what answers is no daemon of ours, or was interrupted")]
    NoAnswer,
}

/// Reads an answer.
///
/// # Errors
/// [`AnswerError`].
pub fn read_answer(text: &[u8]) -> Result<DaemonStatus, AnswerError> {
    let version: Version = serde_json::from_slice(text).map_err(|_| AnswerError::NoAnswer)?;
    if version.version != STATUS_VERSION {
        return Err(AnswerError::OtherVersion);
    }
    if let Ok(refusal) = serde_json::from_slice::<Refusal>(text) {
        return Err(AnswerError::Refused(refusal.refused));
    }
    serde_json::from_slice(text).map_err(|_| AnswerError::NoAnswer)
}

/// An answer, or a refusal, as it is sent.
#[must_use]
pub fn write_answer(answer: &impl Serialize) -> Vec<u8> {
    let mut text = serde_json::to_vec(answer).unwrap_or_default();
    text.push(b'\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str) -> Result<Question, String> {
        Question::read(line.as_bytes()).map_err(|refusal| refusal.refused)
    }

    #[test]
    fn a_question_is_the_same_there_and_back() {
        let question = Question {
            process: Some(7),
            history: true,
            ..Question::all()
        };
        let line = question.to_line();
        assert_eq!(
            String::from_utf8_lossy(&line),
            "{\"version\":2,\"process\":7,\"history\":true}\n"
        );
        assert_eq!(Question::read(&line), Ok(question));
        assert_eq!(said("{\"version\":2}"), Ok(Question::all()));
    }

    #[test]
    fn what_is_not_understood_is_refused_with_its_reason() {
        assert_eq!(
            said("{\"version\":9,\"x\":1}").unwrap_err(),
            "version 9 is not spoken here"
        );
        let unknown = said("{\"version\":2,\"x\":1}").unwrap_err();
        assert!(unknown.contains("unknown field `x`"), "{unknown}");
        for line in ["", "\n", "[]", "{}", "{\"version\":2,\"process\":-1}"] {
            assert!(said(line).is_err(), "{line}");
        }
    }

    #[test]
    fn an_answer_of_another_version_and_a_refusal_are_told_apart() {
        let refusal = write_answer(&Refusal::new("no"));
        assert_eq!(
            read_answer(&refusal),
            Err(AnswerError::Refused("no".to_owned()))
        );
        let other = b"{\"version\":1,\"process\":3}";
        assert_eq!(read_answer(other), Err(AnswerError::OtherVersion));
        assert_eq!(read_answer(b"HTTP/1.1 400"), Err(AnswerError::NoAnswer));
        // A field of a later program of the same version is not minded.
        let status = DaemonStatus::default();
        let text = String::from_utf8(write_answer(&status)).unwrap();
        let longer = text.replacen('{', "{\"later\":[1],", 1);
        assert_eq!(read_answer(longer.as_bytes()), Ok(status));
    }
}
