//! fio's own log of a job (`write_iolog`, `read_iolog`), versions 2 and 3, read; version 3, written.
//!
//! ```text
//! fio version 3 iolog
//! 19 /data/a add                    microseconds, file, action
//! 109 /data/a open
//! 112 /data/a read 0 4096           … offset, bytes
//! 21055 /data/a close
//! ```
//!
//! Version 2 has no time in front; there `FILE wait N 0` says that N microseconds pass. (That is
//! what fio's manual says. The player of fio 3.33 takes N as milliseconds since the start.)
//! A name ends at the first blank, so a name with a blank in it cannot be written. Left out are
//! reads that brought nothing, at which fio's player stops, and whole mappings, for which it would
//! take a buffer of their size.

use std::io::{self, Write};

use crate::access::{Access, Operation};
use crate::error::Problem;
use crate::files::FileNames;
use crate::lines::LineFormat;
use crate::text::{Words, shown, unsigned};
use crate::writer::{Encode, WriteProblem};

/// How every log begins; the version's digit follows.
pub(crate) const BEGINNING: &[u8] = b"fio version ";
/// fio reads names with `%256s`.
const NAME_BYTES_MAX: usize = 256;

/// The reader's state.
#[derive(Debug, Default)]
pub(crate) struct Fio {
    version: Version,
    waited_ns: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Version {
    #[default]
    Unknown,
    Two,
    Three,
}

impl LineFormat for Fio {
    fn line(&mut self, line: &[u8], files: &mut FileNames) -> Result<Option<Access>, Problem> {
        if self.version == Version::Unknown {
            self.version = version(line)?;
            return Ok(None);
        }
        let mut words = Words(line);
        let Some(mut word) = words.next() else {
            return Ok(None);
        };
        let mut at_ns = self.waited_ns;
        if self.version == Version::Three {
            at_ns = unsigned(word)
                .and_then(|us| us.checked_mul(1000))
                .ok_or_else(|| {
                    malformed(line, "a version 3 line begins with a time in microseconds")
                })?;
            word = words
                .next()
                .ok_or_else(|| malformed(line, "no file name"))?;
        }
        let name = word;
        let action = words.next().ok_or_else(|| malformed(line, "no action"))?;
        let mut number = |what| {
            let word = words.next();
            word.and_then(unsigned).ok_or_else(|| malformed(line, what))
        };
        let operation = match action {
            b"read" => Operation::Read,
            b"write" => Operation::Write,
            b"trim" => Operation::Discard,
            b"sync" | b"datasync" | b"sync_file_range" => Operation::Sync,
            b"open" => Operation::Open,
            b"close" => Operation::Close,
            // Names a file before it is used.
            b"add" | b"unlink" => {
                files.named(name)?;
                return Ok(None);
            }
            b"wait" if self.version == Version::Two => {
                let us = number("'wait' needs microseconds")?;
                self.waited_ns = us
                    .checked_mul(1000)
                    .and_then(|ns| self.waited_ns.checked_add(ns))
                    .ok_or_else(|| malformed(line, "the times add up to more than 584 years"))?;
                return Ok(None);
            }
            _ => {
                return Err(malformed(
                    line,
                    "the action is none of read, write, trim, sync, datasync, open, close, add, \
                     and wait in version 2",
                ));
            }
        };
        let (mut offset, mut length) = (0, 0);
        match operation {
            Operation::Open | Operation::Close => {}
            _ => {
                offset = number("an offset in bytes is missing")?;
                length = number("a length in bytes is missing")?;
            }
        }
        Ok(Some(Access {
            at_ns,
            operation,
            ..Access::read(files.named(name)?, offset, length)
        }))
    }

    fn end(&mut self) -> Result<(), Problem> {
        if self.version == Version::Unknown {
            return Err(Problem::Malformed("the trace is empty".to_owned()));
        }
        Ok(())
    }
}

fn version(line: &[u8]) -> Result<Version, Problem> {
    match line.strip_prefix(BEGINNING) {
        Some(b"2 iolog") => Ok(Version::Two),
        Some(b"3 iolog") => Ok(Version::Three),
        _ => Err(Problem::Malformed(format!(
            "'{}' where a fio log begins with 'fio version 3 iolog' (or 2)",
            shown(line)
        ))),
    }
}

fn malformed(line: &[u8], what: &str) -> Problem {
    Problem::Malformed(format!("{what}: '{}'", shown(line)))
}

/// Writes version 3.
#[derive(Debug, Default)]
pub(crate) struct FioEncoder {
    has_begun: bool,
    /// By file: whether it was added.
    added: Vec<bool>,
    start_ns: Option<u64>,
    newest_us: u64,
}

impl Encode for FioEncoder {
    fn encode(
        &mut self,
        access: &Access,
        files: &FileNames,
        out: &mut dyn Write,
    ) -> Result<bool, WriteProblem> {
        self.begin(out)?;
        if access.length == 0 && access.operation.is_reading() || access.is_mapping() {
            return Ok(false);
        }
        let (action, has_range) = match access.operation {
            // fio knows no faults: a fault reads.
            Operation::Read | Operation::Fault => ("read", true),
            Operation::Write => ("write", true),
            Operation::Discard => ("trim", true),
            Operation::Sync => ("sync", true),
            Operation::Open => ("open", false),
            Operation::Close => ("close", false),
            Operation::Advise(_) | Operation::Prefetch(_) => return Ok(false),
        };
        // fio's clock begins with the log and does not go back.
        let start_ns = *self.start_ns.get_or_insert(access.at_ns);
        let us = access.at_ns.saturating_sub(start_ns) / 1000;
        self.newest_us = self.newest_us.max(us);
        let us = self.newest_us;
        let name = files.name(access.file);
        let place = access.file.index();
        if self.added.len() <= place {
            self.added.resize(place + 1, false);
        }
        if !self.added[place] {
            usable(&name)?;
            self.added[place] = true;
            write!(out, "{us} ")?;
            out.write_all(&name)?;
            out.write_all(b" add\n")?;
            if access.operation != Operation::Open {
                write!(out, "{us} ")?;
                out.write_all(&name)?;
                out.write_all(b" open\n")?;
            }
        }
        write!(out, "{us} ")?;
        out.write_all(&name)?;
        if has_range {
            writeln!(out, " {action} {} {}", access.offset, access.length)?;
        } else {
            writeln!(out, " {action}")?;
        }
        Ok(true)
    }

    fn end(&mut self, _files: &FileNames, out: &mut dyn Write) -> Result<(), WriteProblem> {
        Ok(self.begin(out)?)
    }
}

impl FioEncoder {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if !self.has_begun {
            self.has_begun = true;
            out.write_all(b"fio version 3 iolog\n")?;
        }
        Ok(())
    }
}

fn usable(name: &[u8]) -> Result<(), WriteProblem> {
    let is_split = name.iter().any(u8::is_ascii_whitespace);
    if name.is_empty() || is_split || name.contains(&0) || name.len() >= NAME_BYTES_MAX {
        return Err(WriteProblem::Unsupported(format!(
            "fio cannot read the file name '{}': a name in its log has 1 to {} bytes and no blanks; \
             csv and parquet can hold it",
            shown(name),
            NAME_BYTES_MAX - 1
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::read_all;

    #[test]
    fn version_3_is_read_with_its_times() {
        let (accesses, files, problem) = read_all(
            b"fio version 3 iolog\n19 /a add\n109 /a open\n112 /a read 0 4096\n200 /b write 8192 512\n\
              210 /a close\n",
            Fio::default(),
        );
        assert_eq!(problem, None);
        assert_eq!(accesses.len(), 4);
        assert_eq!(accesses[1].at_ns, 112_000);
        assert_eq!(accesses[2].operation, Operation::Write);
        assert_eq!(accesses[2].offset, 8192);
        assert_eq!(&*files.name(accesses[2].file), b"/b");
        assert_eq!(accesses[3].operation, Operation::Close);
    }

    #[test]
    fn the_waits_of_version_2_become_times() {
        let (accesses, _, problem) = read_all(
            b"fio version 2 iolog\n/a open\n/a read 0 4096\n/a wait 250 0\n/a wait 50\n/a read 4096 4096\n",
            Fio::default(),
        );
        assert_eq!(problem, None);
        assert_eq!(accesses[1].at_ns, 0);
        assert_eq!(accesses[2].at_ns, 300_000);
    }

    #[test]
    fn a_damaged_line_is_named_and_what_came_before_is_kept() {
        let (accesses, _, problem) = read_all(
            b"fio version 3 iolog\n1 /a read 0 4096\n2 /a read x 4096\n3 /a read 0 1\n",
            Fio::default(),
        );
        assert_eq!(accesses.len(), 1);
        assert_eq!(
            problem.as_deref(),
            Some("'t' line 3: an offset in bytes is missing: '2 /a read x 4096'")
        );
    }

    #[test]
    fn a_log_cut_inside_a_line_says_so() {
        let (accesses, _, problem) = read_all(
            b"fio version 3 iolog\n1 /a read 0 4096\n2 /a re",
            Fio::default(),
        );
        assert_eq!(accesses.len(), 1);
        assert!(problem.is_some_and(|text| text.contains("cut short")));
    }

    #[test]
    fn another_version_is_not_guessed_at() {
        let (_, _, problem) = read_all(b"fio version 4 iolog\n", Fio::default());
        assert!(problem.is_some_and(|text| text.contains("line 1")));
    }
}
