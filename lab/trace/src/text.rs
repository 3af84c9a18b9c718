//! Lines and numbers of a text trace, as bytes.
//!
//! Traces are large and lines are short, so a line is a slice of one buffer and a number is read
//! digit by digit; nothing is copied and nothing needs to be UTF-8. What a line means belongs to
//! the formats. A line that does not end is refused at [`LINE_BYTES_MAX`], so the buffer is bounded.

use std::io::{self, Read};

/// The longest line. strace with `-s 65536` and four buffers stays below; a gigabyte without a
/// line end is not a text trace.
pub(crate) const LINE_BYTES_MAX: usize = 1 << 20;
/// What is asked for in one read.
const CHUNK_BYTES: usize = 256 << 10;

/// Why there is no next line.
#[derive(Debug)]
pub(crate) enum LineError {
    /// The source failed; lines before it were delivered.
    Io(io::Error),
    /// No line end in sight.
    TooLong,
}

/// One line, without its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    pub(crate) bytes: &'a [u8],
    /// False for a last line that nothing ends: it may be cut short.
    pub(crate) is_whole: bool,
}

/// The lines of a source.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    source: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    source_ended: bool,
    failure: Option<io::Error>,
}

impl<R: Read> Lines<R> {
    pub(crate) fn new(source: R) -> Self {
        Self {
            source,
            buffer: vec![0; CHUNK_BYTES],
            start: 0,
            end: 0,
            source_ended: false,
            failure: None,
        }
    }

    /// The next line; `None` at the end.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<Line<'_>>, LineError> {
        let mut searched = 0;
        let (from, to, is_whole) = loop {
            let waiting = &self.buffer[self.start + searched..self.end];
            if let Some(length) = memchr::memchr(b'\n', waiting) {
                let from = self.start;
                let to = from + searched + length;
                self.start = to + 1;
                break (from, to, true);
            }
            if self.source_ended {
                if let Some(error) = self.failure.take() {
                    // Half a line in front of a failure is not a line.
                    self.start = self.end;
                    return Err(LineError::Io(error));
                }
                if self.start == self.end {
                    return Ok(None);
                }
                let from = self.start;
                self.start = self.end;
                break (from, self.end, false);
            }
            searched = self.end - self.start;
            if searched > LINE_BYTES_MAX {
                return Err(LineError::TooLong);
            }
            self.fill();
        };
        let mut bytes = &self.buffer[from..to];
        if let [rest @ .., b'\r'] = bytes {
            bytes = rest;
        }
        Ok(Some(Line { bytes, is_whole }))
    }

    fn fill(&mut self) {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.buffer.len() < self.end + CHUNK_BYTES {
            self.buffer.resize(self.end + CHUNK_BYTES, 0);
        }
        let read = loop {
            match self.source.read(&mut self.buffer[self.end..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        match read {
            Ok(0) => self.source_ended = true,
            Ok(bytes) => self.end += bytes,
            Err(error) => {
                self.failure = Some(error);
                self.source_ended = true;
            }
        }
    }
}

/// The whole of `digits` as a number. `None`: something else than digits, or beyond 64 bits.
#[inline]
pub(crate) fn unsigned(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    let mut number = 0_u64;
    // 19 digits always fit.
    for digit in digits.iter().take(19) {
        let value = digit.wrapping_sub(b'0');
        if value > 9 {
            return None;
        }
        number = number.wrapping_mul(10).wrapping_add(u64::from(value));
    }
    for digit in digits.iter().skip(19) {
        let value = digit.wrapping_sub(b'0');
        if value > 9 {
            return None;
        }
        number = number.checked_mul(10)?.checked_add(u64::from(value))?;
    }
    Some(number)
}

/// A number with `0x` in front, or a decimal one: how strace writes offsets.
pub(crate) fn unsigned_or_hex(digits: &[u8]) -> Option<u64> {
    let Some(hex) = digits.strip_prefix(b"0x") else {
        return unsigned(digits);
    };
    if hex.is_empty() || hex.len() > 16 {
        return None;
    }
    hex.iter().try_fold(0_u64, |number, digit| {
        let value = char::from(*digit).to_digit(16)?;
        Some(number << 4 | u64::from(value))
    })
}

/// `12.345` units of `unit_ns` nanoseconds each. `None`: not a number, or beyond 64 bits.
#[inline]
pub(crate) fn decimal(text: &[u8], unit_ns: u64) -> Option<u64> {
    let point = text.iter().position(|byte| *byte == b'.');
    let (whole, fraction) = match point {
        Some(point) => (&text[..point], &text[point + 1..]),
        None => (text, &text[text.len()..]),
    };
    let whole = match whole {
        // `.5`
        [] if !fraction.is_empty() => 0,
        digits => unsigned(digits)?,
    };
    let mut rest_ns = 0;
    if !fraction.is_empty() {
        if fraction.len() == 9 && unit_ns == 1_000_000_000 {
            rest_ns = unsigned(fraction)?;
        } else {
            // Digits behind the 18th are far below a nanosecond.
            let (kept, cut) = fraction.split_at(fraction.len().min(18));
            if !cut.iter().all(u8::is_ascii_digit) {
                return None;
            }
            let scale = 10_u128.pow(u32::try_from(kept.len()).ok()?);
            let part = u128::from(unsigned(kept)?) * u128::from(unit_ns) / scale;
            rest_ns = u64::try_from(part).ok()?;
        }
    }
    whole.checked_mul(unit_ns)?.checked_add(rest_ns)
}

/// The words of a line, split at any number of blanks.
#[derive(Clone, Debug)]
pub(crate) struct Words<'a>(pub(crate) &'a [u8]);

impl<'a> Iterator for Words<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let first = self.0.iter().position(|byte| !is_blank(*byte))?;
        let rest = &self.0[first..];
        let length = rest
            .iter()
            .position(|byte| is_blank(*byte))
            .unwrap_or(rest.len());
        let (word, rest) = rest.split_at(length);
        self.0 = rest;
        Some(word)
    }
}

const fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// `bytes` for a message: readable, and not longer than a message should be.
pub(crate) fn shown(bytes: &[u8]) -> String {
    const SHOWN_BYTES_MAX: usize = 80;
    let cut = &bytes[..bytes.len().min(SHOWN_BYTES_MAX)];
    let mut text = cut.escape_ascii().to_string();
    if cut.len() < bytes.len() {
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(source: impl Read) -> Vec<(Vec<u8>, bool)> {
        let mut lines = Lines::new(source);
        let mut found = Vec::new();
        while let Some(line) = lines.next().expect("readable") {
            found.push((line.bytes.to_vec(), line.is_whole));
        }
        found
    }

    #[test]
    fn lines_are_split_wherever_the_chunks_end() {
        let text: Vec<u8> = (0..60_000)
            .flat_map(|n| format!("line {n}\r\n").into_bytes())
            .collect();
        let lines = all(&text[..]);
        assert_eq!(lines.len(), 60_000);
        assert_eq!(lines[59_999], (b"line 59999".to_vec(), true));
    }

    #[test]
    fn a_last_line_without_an_end_is_recognised() {
        assert_eq!(
            all(&b"a\n\nb"[..]),
            [
                (b"a".to_vec(), true),
                (b"".to_vec(), true),
                (b"b".to_vec(), false)
            ]
        );
        assert!(all(&b""[..]).is_empty());
    }

    #[test]
    fn a_line_without_end_is_refused_before_it_fills_the_memory() {
        let mut lines = Lines::new(io::repeat(b'x'));
        assert!(matches!(lines.next(), Err(LineError::TooLong)));
        assert!(lines.buffer.len() < 4 * LINE_BYTES_MAX);
    }

    #[test]
    fn numbers_are_digits_and_fit() {
        assert_eq!(unsigned(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(unsigned(b"000000000000000000000000001"), Some(1));
        for wrong in [
            &b""[..],
            b"18446744073709551616",
            b"-1",
            b"1 ",
            b"\x001",
            b"9999999999999999999999",
        ] {
            assert_eq!(unsigned(wrong), None, "{wrong:?}");
        }
        assert_eq!(unsigned_or_hex(b"0x26000"), Some(0x26000));
        assert_eq!(unsigned_or_hex(b"0x10000000000000000"), None);
    }

    #[test]
    fn decimals_are_exact_to_the_nanosecond() {
        assert_eq!(decimal(b"1.000000001", 1_000_000_000), Some(1_000_000_001));
        assert_eq!(decimal(b"0.5", 1_000), Some(500));
        assert_eq!(decimal(b".25", 1_000_000_000), Some(250_000_000));
        assert_eq!(decimal(b"7.", 100), Some(700));
        assert_eq!(
            decimal(b"1.1234567890123456789012", 1_000_000_000),
            Some(1_123_456_789)
        );
        for wrong in [
            &b"."[..],
            b"",
            b"-1.0",
            b"1.2.3",
            b"1e9",
            b"99999999999999999999",
            b"1.x",
        ] {
            assert_eq!(decimal(wrong, 1_000_000_000), None, "{wrong:?}");
        }
    }
}
