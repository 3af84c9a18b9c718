//! A connection that has so long for all that is said over it: a byte now and then does not hold it.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// A connection that can be told how long its next call may take.
pub(crate) trait TimedStream: Read + Write {
    /// Reading may take so long.
    fn read_within(&self, left: Duration) -> io::Result<()>;
    /// Writing may take so long.
    fn write_within(&self, left: Duration) -> io::Result<()>;
}

impl TimedStream for &TcpStream {
    fn read_within(&self, left: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(left))
    }

    fn write_within(&self, left: Duration) -> io::Result<()> {
        self.set_write_timeout(Some(left))
    }
}

impl TimedStream for &UnixStream {
    fn read_within(&self, left: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(left))
    }

    fn write_within(&self, left: Duration) -> io::Result<()> {
        self.set_write_timeout(Some(left))
    }
}

/// One that ends at a moment. `TimedOut` then.
#[derive(Debug)]
pub(crate) struct UntilDeadline<S> {
    stream: S,
    end: Instant,
}

impl<S> UntilDeadline<S> {
    /// From now on for so long.
    pub(crate) fn of(stream: S, within: Duration) -> Self {
        let end = Instant::now() + within;
        Self { stream, end }
    }

    fn left(&self) -> io::Result<Duration> {
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(left)
    }
}

impl<S: TimedStream> Read for UntilDeadline<S> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.stream.read_within(self.left()?)?;
        self.stream.read(bytes)
    }
}

impl<S: TimedStream> Write for UntilDeadline<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write_within(self.left()?)?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// A byte for each call, and how long each might have taken.
    #[derive(Default)]
    struct ByteByByte(RefCell<Vec<Duration>>);

    impl Read for ByteByByte {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            bytes[0] = b'a';
            Ok(1)
        }
    }

    impl Write for ByteByByte {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Ok(1)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl TimedStream for ByteByByte {
        fn read_within(&self, left: Duration) -> io::Result<()> {
            self.0.borrow_mut().push(left);
            Ok(())
        }

        fn write_within(&self, left: Duration) -> io::Result<()> {
            self.read_within(left)
        }
    }

    /// Each read had a second of its own, and a question of 200 bytes three minutes.
    #[test]
    fn every_byte_has_what_the_ones_before_have_left() {
        const WITHIN: Duration = Duration::from_secs(3600);
        let mut slow = UntilDeadline::of(ByteByByte::default(), WITHIN);
        slow.read_exact(&mut [0; 100]).unwrap();
        slow.write_all(&[0; 100]).unwrap();
        let left = slow.stream.0.into_inner();
        assert_eq!(left.len(), 200);
        assert!(left[0] <= WITHIN);
        assert!(
            left.is_sorted_by(|before, after| before > after),
            "{left:?}"
        );
    }

    #[test]
    fn nothing_is_read_or_written_when_the_time_is_over() {
        let mut over = UntilDeadline::of(ByteByByte::default(), Duration::ZERO);
        let kinds = [
            over.read(&mut [0]).unwrap_err().kind(),
            over.write(&[0]).unwrap_err().kind(),
        ];
        assert_eq!(kinds, [io::ErrorKind::TimedOut; 2]);
    }
}
