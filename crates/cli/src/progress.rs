//! Bars on a terminal that say how far a long job is. In a log they are nothing.

use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// How often a bar is drawn while nothing is reported, so that its clock goes on.
const TICK: Duration = Duration::from_millis(500);

/// What a bar shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shows {
    /// Parts of a job: how many are done, which is at work, how long the rest takes.
    Parts,
    /// Bytes of a file that is read.
    Bytes,
    /// Bytes of something that has no known end.
    BytesWithoutEnd,
}

impl Shows {
    const fn template(self) -> &'static str {
        match self {
            Self::Parts => "{bar:30} {pos}/{len}  {msg}  (left: {eta})",
            Self::Bytes => {
                "{bar:30} {binary_bytes}/{binary_total_bytes} {binary_bytes_per_sec} {eta}"
            }
            Self::BytesWithoutEnd => "{binary_bytes} {binary_bytes_per_sec} {elapsed}",
        }
    }
}

/// Whether bars can be seen.
pub(crate) fn is_seen() -> bool {
    std::io::stderr().is_terminal()
}

/// A bar of so many parts or bytes; hidden where there is no terminal.
pub(crate) fn bar(shows: Shows, total: u64) -> ProgressBar {
    if !is_seen() {
        return ProgressBar::hidden();
    }
    let bar = if shows == Shows::BytesWithoutEnd {
        ProgressBar::no_length()
    } else {
        ProgressBar::new(total)
    };
    if let Ok(style) = ProgressStyle::with_template(shows.template()) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(TICK);
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_template_is_one() {
        for shows in [Shows::Parts, Shows::Bytes, Shows::BytesWithoutEnd] {
            assert!(ProgressStyle::with_template(shows.template()).is_ok());
        }
    }
}
