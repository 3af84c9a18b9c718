//! Every request that reached the modelled disk of a guest, as its driver logged it.

use std::fs;
use std::io;
use std::path::Path;

/// Bytes of `struct ahead_disk_log_entry`.
const ENTRY_BYTES: usize = 48;

/// One request. Moments are nanoseconds of the guest's `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedRequest {
    /// When it reached the driver.
    pub arrived_ns: u64,
    /// When it was done, as the model says.
    pub completed_ns: u64,
    /// When the driver told the kernel.
    pub ended_ns: u64,
    /// First byte on the disk.
    pub offset: u64,
    /// Its place in the order in which the model was given them: several can arrive at one moment.
    pub number: u64,
    /// How many bytes.
    pub bytes: u32,
    /// Whether it was a write.
    pub is_write: bool,
}

impl LoggedRequest {
    /// How long it took, waiting for others included.
    #[must_use]
    pub const fn took_ns(&self) -> u64 {
        self.ended_ns.saturating_sub(self.arrived_ns)
    }
}

/// Reads a log.
///
/// # Errors
/// It cannot be read, or ends in the middle of an entry (`InvalidData`).
pub fn read(path: &Path) -> io::Result<Vec<LoggedRequest>> {
    parse(&fs::read(path)?).ok_or_else(|| {
        let path = path.display();
        let text = format!("{path} ends in the middle of a request");
        io::Error::new(io::ErrorKind::InvalidData, text)
    })
}

fn parse(bytes: &[u8]) -> Option<Vec<LoggedRequest>> {
    let (entries, []) = bytes.as_chunks::<ENTRY_BYTES>() else {
        return None;
    };
    let long = |entry: &[u8; ENTRY_BYTES], at: usize| {
        let part = entry.get(at..at + 8)?;
        Some(u64::from_ne_bytes(part.try_into().ok()?))
    };
    let short = |entry: &[u8; ENTRY_BYTES], at: usize| {
        let part = entry.get(at..at + 4)?;
        Some(u32::from_ne_bytes(part.try_into().ok()?))
    };
    entries
        .iter()
        .map(|entry| {
            Some(LoggedRequest {
                arrived_ns: long(entry, 0)?,
                completed_ns: long(entry, 8)?,
                ended_ns: long(entry, 16)?,
                offset: long(entry, 24)?,
                number: long(entry, 32)?,
                bytes: short(entry, 40)?,
                is_write: short(entry, 44)? != 0,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_read_as_the_driver_writes_it() {
        let mut bytes = Vec::new();
        for number in [10_u64, 8_000_010, 8_000_011, 4096, 3] {
            bytes.extend(number.to_ne_bytes());
        }
        for number in [131_072_u32, 1] {
            bytes.extend(number.to_ne_bytes());
        }
        let request = LoggedRequest {
            arrived_ns: 10,
            completed_ns: 8_000_010,
            ended_ns: 8_000_011,
            offset: 4096,
            number: 3,
            bytes: 131_072,
            is_write: true,
        };
        assert_eq!(parse(&bytes), Some(vec![request]));
        assert_eq!(request.took_ns(), 8_000_001);
        assert_eq!(parse(&bytes[..47]), None);
        assert_eq!(parse(&[]), Some(Vec::new()));
    }
}
