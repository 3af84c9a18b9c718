//! The block traces of MSR Cambridge (2007), which many others imitate.
//!
//! ```text
//! 128166372003061629,usr,0,Read,7014609920,24576,41286
//! Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime
//! ```
//!
//! Times are Windows file time: ticks of 100 ns since 1601. Offset and size are bytes from the
//! start of the logical disk. There is no file, so a disk is one: `usr.0`.

use crate::access::{Access, Operation};
use crate::error::Problem;
use crate::files::FileNames;
use crate::lines::LineFormat;
use crate::text::{shown, unsigned};

/// Nanoseconds of a tick.
pub(crate) const TICK_NS: u64 = 100;

/// The reader's state.
#[derive(Debug, Default)]
pub(crate) struct Msr {
    has_begun: bool,
    /// The disk's name, put together anew for each line without an allocation.
    disk: Vec<u8>,
}

impl LineFormat for Msr {
    /// These are made with all sorts of tools.
    fn ends_every_line(&self) -> bool {
        false
    }

    fn line(&mut self, line: &[u8], files: &mut FileNames) -> Result<Option<Access>, Problem> {
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        if line.is_empty() || is_first && line.starts_with(b"Timestamp,") {
            return Ok(None);
        }
        let mut cells = [&b""[..]; 7];
        let mut rest = line;
        for (place, cell) in cells.iter_mut().enumerate() {
            let end = memchr::memchr(b',', rest);
            match end {
                Some(end) if place < 6 => {
                    *cell = &rest[..end];
                    rest = &rest[end + 1..];
                }
                None if place == 6 => *cell = rest,
                _ => return Err(malformed(line, "seven columns were expected")),
            }
        }
        let [time, host, disk, kind, offset, size, response] = cells;
        let ticks = |cell| unsigned(cell).and_then(|ticks| ticks.checked_mul(TICK_NS));
        let at_ns = ticks(time).ok_or_else(|| malformed(line, "the time is no file time"))?;
        let operation = match kind {
            b"Read" | b"read" | b"R" => Operation::Read,
            b"Write" | b"write" | b"W" => Operation::Write,
            _ => return Err(malformed(line, "the type is neither Read nor Write")),
        };
        let offset = unsigned(offset).ok_or_else(|| malformed(line, "the offset is no number"))?;
        let length = unsigned(size).ok_or_else(|| malformed(line, "the size is no number"))?;
        let duration_ns =
            ticks(response).ok_or_else(|| malformed(line, "the response time is no number"))?;
        self.disk.clear();
        self.disk.extend_from_slice(host);
        self.disk.push(b'.');
        self.disk.extend_from_slice(disk);
        Ok(Some(Access {
            at_ns,
            operation,
            duration_ns: Some(duration_ns),
            ..Access::read(files.named(&self.disk)?, offset, length)
        }))
    }
}

fn malformed(line: &[u8], what: &str) -> Problem {
    Problem::Malformed(format!("{what}: '{}'", shown(line)))
}

/// Whether a trace that begins with `line` is one.
pub(crate) fn looks_like(line: &[u8]) -> bool {
    line.starts_with(b"Timestamp,Hostname,DiskNumber")
        || matches!(
            Msr::default().line(line, &mut FileNames::default()),
            Ok(Some(_))
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::read_all;

    #[test]
    fn a_line_of_the_published_traces_is_read() {
        let (accesses, files, problem) = read_all(
            b"128166372003061629,usr,0,Read,7014609920,24576,41286\r\n\
              128166372016382155,usr,0,Write,2517696512,4096,703\n",
            Msr::default(),
        );
        assert_eq!(problem, None);
        assert_eq!(accesses[0].at_ns, 12_816_637_200_306_162_900);
        assert_eq!(accesses[0].duration_ns, Some(4_128_600));
        assert_eq!(
            (accesses[1].offset, accesses[1].length),
            (2_517_696_512, 4096)
        );
        assert_eq!(&*files.name(accesses[0].file), b"usr.0");
    }

    #[test]
    fn a_negative_time_and_a_missing_column_are_named() {
        for line in [
            "-5,usr,0,Read,0,1,1\n",
            "5,usr,0,Read,0,1\n",
            "5,usr,0,Read,0,1,1,1\n",
        ] {
            let (accesses, _, problem) = read_all(line.as_bytes(), Msr::default());
            assert!(accesses.is_empty());
            assert!(problem.is_some_and(|text| text.starts_with("'t' line 1: ")));
        }
    }
}
