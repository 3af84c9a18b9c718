//! The text that `blkparse` prints in its default form.
//!
//! ```text
//!   8,0    3        1     0.000000000   697  G   W 223490 + 8 [kjournald]
//! device cpu sequence       seconds     pid action rwbs sector + sectors [program]
//! ```
//!
//! A request passes through many actions (`Q` queued, `D` sent to the device, `C` complete); one
//! of them is the access, `Q` unless another is asked for. Merged requests complete as one, so no
//! duration is given. Sectors are 512 bytes; a device is a file called by its numbers, `8,0`.
//! The summary behind the records, and messages of the scheduler between them, are skipped.

use crate::access::{Access, Operation};
use crate::error::Problem;
use crate::files::FileNames;
use crate::lines::LineFormat;
use crate::text::{Words, decimal, shown, unsigned};

/// Bytes of a sector.
const SECTOR_BYTES: u64 = 512;
const SECOND_NS: u64 = 1_000_000_000;

/// The reader's state.
#[derive(Debug)]
pub(crate) struct Blkparse {
    /// The action that counts.
    action: u8,
    was_found: bool,
    /// An action that carries a range and was not asked for.
    other: Option<u8>,
}

impl Blkparse {
    pub(crate) const fn new(action: u8) -> Self {
        Self {
            action,
            was_found: false,
            other: None,
        }
    }
}

impl LineFormat for Blkparse {
    fn line(&mut self, line: &[u8], files: &mut FileNames) -> Result<Option<Access>, Problem> {
        let mut words = Words(line);
        let Some(device) = words.next().filter(|word| is_device(word)) else {
            return Ok(None);
        };
        let mut next = |what| words.next().ok_or_else(|| malformed(line, what));
        let _cpu = next("no processor")?;
        let _sequence = next("no sequence number")?;
        let time = next("no time")?;
        let process = next("no process")?;
        let action = next("no action")?;
        if action != [self.action] {
            if let [action @ (b'Q' | b'D' | b'C')] = action {
                self.other = Some(*action);
            }
            return Ok(None);
        }
        // A flush that carries nothing has no sectors.
        let Some(operation) = operation(next("no kind of request")?) else {
            return Ok(None);
        };
        let sector = next("no sector")?;
        let plus = next("no '+'")?;
        let sectors = next("no number of sectors")?;
        if plus != b"+" {
            return Err(malformed(line, "SECTOR + SECTORS was expected"));
        }
        let bytes = |word| unsigned(word).and_then(|sectors| sectors.checked_mul(SECTOR_BYTES));
        self.was_found = true;
        Ok(Some(Access {
            at_ns: decimal(time, SECOND_NS)
                .ok_or_else(|| malformed(line, "the time is not in seconds"))?,
            process: unsigned(process)
                .and_then(|process| u32::try_from(process).ok())
                .ok_or_else(|| malformed(line, "the process is no number"))?,
            operation,
            ..Access::read(
                files.named(device)?,
                bytes(sector).ok_or_else(|| malformed(line, "the sector is no number"))?,
                bytes(sectors).ok_or_else(|| malformed(line, "no number of sectors"))?,
            )
        }))
    }

    fn end(&mut self) -> Result<(), Problem> {
        match self.other {
            Some(other) if !self.was_found => Err(Problem::Unsupported(format!(
                "no request has action {}; try --action {}",
                char::from(self.action),
                char::from(other)
            ))),
            _ => Ok(()),
        }
    }
}

/// `RWBS`: what a request does, and flags behind it. `None` for a flush that carries nothing.
fn operation(kind: &[u8]) -> Option<Operation> {
    // A flush in front of a write is the write's.
    let kind = kind.strip_prefix(b"F").unwrap_or(kind);
    match kind.first()? {
        b'R' => Some(Operation::Read),
        b'W' => Some(Operation::Write),
        b'D' => Some(Operation::Discard),
        _ => None,
    }
}

/// `8,0`.
pub(crate) fn is_device(word: &[u8]) -> bool {
    let Some(comma) = memchr::memchr(b',', word) else {
        return false;
    };
    unsigned(&word[..comma]).is_some() && unsigned(&word[comma + 1..]).is_some()
}

/// Whether a trace that begins with `line` is one.
pub(crate) fn looks_like(line: &[u8]) -> bool {
    let words: Vec<_> = Words(line).take(6).collect();
    let [device, cpu, sequence, time, process, action] = words[..] else {
        return false;
    };
    is_device(device)
        && [cpu, sequence, process]
            .iter()
            .all(|word| unsigned(word).is_some())
        && decimal(time, SECOND_NS).is_some()
        && action.len() <= 2
}

fn malformed(line: &[u8], what: &str) -> Problem {
    Problem::Malformed(format!("{what}: '{}'", shown(line)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::read_all;

    const TEXT: &[u8] = b"\
  8,0    3        1     0.000000000   697  A   W 223490 + 8 <- (8,1) 223427
  8,0    3        2     0.000000871   697  Q   W 223490 + 8 [kjournald]
  8,0    3        3     0.000004500   697  G   W 223490 + 8 [kjournald]
  8,0    3        4     0.100000000   698  Q  RA 1000 + 256 [cat]
  8,0    3        5     0.100000001   698  Q FWS 2000 + 8 [sync]
  8,0    3        6     0.100000002   698  Q  FN [sync]
  8,0    1        0     0.100000003     0  m   N cfq698 insert_request
  8,0    1        7     0.2               0  C   W 223490 + 8 [0]
CPU3 (8,0):
 Reads Queued:           1,      128KiB\t Writes Queued:           2,        8KiB
";

    #[test]
    fn queued_requests_are_the_accesses() {
        let (accesses, files, problem) = read_all(TEXT, Blkparse::new(b'Q'));
        assert_eq!(problem, None);
        assert_eq!(accesses.len(), 3);
        assert_eq!(accesses[0].at_ns, 871);
        assert_eq!(accesses[0].offset, 223_490 * 512);
        assert_eq!(accesses[1].operation, Operation::Read);
        assert_eq!(accesses[1].length, 256 * 512);
        assert_eq!(accesses[1].process, 698);
        assert_eq!(accesses[2].operation, Operation::Write);
        assert_eq!(&*files.name(accesses[0].file), b"8,0");
    }

    #[test]
    fn a_trace_without_the_action_says_which_one_it_has() {
        let (accesses, _, problem) = read_all(
            b"  8,0 3 1 0.000000000 697  D   R 223490 + 8 [cat]\n",
            Blkparse::new(b'Q'),
        );
        assert!(accesses.is_empty());
        assert_eq!(
            problem.as_deref(),
            Some("'t': no request has action Q; try --action D")
        );
    }

    #[test]
    fn a_sector_beyond_every_disk_is_refused() {
        let (_, _, problem) = read_all(
            b"8,0 3 1 0.0 697 Q R 18446744073709551615 + 8 [cat]\n",
            Blkparse::new(b'Q'),
        );
        assert!(problem.is_some_and(|text| text.contains("line 1: the sector is no number")));
    }
}
