//! Which kernel runs, and what the test can say about it.

use std::fmt;
use std::path::Path;

use ahead_replicas::kernel::folio::FolioRelease;

use super::pattern::Pattern;

const HUGE_PAGES: &str = "/sys/kernel/mm/transparent_hugepage";

/// The running kernel, as far as the replica knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    /// As `uname -r` prints it.
    pub text: String,
    /// Whose rules it should follow.
    pub release: FolioRelease,
    /// Whether it is built with transparent huge pages.
    pub has_huge_pages: bool,
}

/// There is no replica of this kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownRelease(String);

impl fmt::Display for UnknownRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "this kernel is {}, and the replica knows 6.18 and 6.12: run this test on one of them, or \
             add what has changed since as a switch of `kernel::folio::FolioRelease`",
            self.0
        )
    }
}

impl Running {
    /// The kernel of this machine.
    pub fn now() -> Result<Self, UnknownRelease> {
        let name = rustix::system::uname();
        Self::from_text(&name.release().to_string_lossy())
    }

    /// A kernel by the text of `uname -r`.
    pub fn from_text(text: &str) -> Result<Self, UnknownRelease> {
        let mut numbers = text.split(['.', '-']);
        let release = match (numbers.next(), numbers.next()) {
            (Some("6"), Some("18")) => FolioRelease::Linux6_18,
            (Some("6"), Some("12")) => FolioRelease::Linux6_12,
            _ => return Err(UnknownRelease(text.to_owned())),
        };
        Ok(Self {
            text: text.to_owned(),
            release,
            has_huge_pages: Path::new(HUGE_PAGES).is_dir(),
        })
    }

    /// Whether this kernel can carry `pattern` out: one without huge pages refuses advice about them.
    pub fn can(&self, pattern: &Pattern) -> bool {
        self.has_huge_pages || !pattern.advises_huge()
    }
}

#[test]
fn a_release_is_known_by_its_first_two_numbers() {
    let release = |text| Running::from_text(text).map(|running| running.release);
    assert_eq!(release("6.18.44-fc-v669"), Ok(FolioRelease::Linux6_18));
    assert_eq!(release("6.18-rc3"), Ok(FolioRelease::Linux6_18));
    assert_eq!(release("6.12.117"), Ok(FolioRelease::Linux6_12));
    let unknown = release("6.1.0-38-amd64").unwrap_err().to_string();
    assert!(unknown.starts_with("this kernel is 6.1.0-38-amd64, and the replica knows 6.18"));
}
