//! Where the bytes of a trace come from: a file or a pipe, packed or not.
//!
//! Traces travel as `.zst` and `.gz`. Packing is recognised by its first bytes, never by a name,
//! and unpacked on the way; the meter counts the packed bytes, which is what progress is made of.

use std::io::{self, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::Problem;

/// First bytes of a Zstandard frame (RFC 8878, section 3.1.1).
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];
/// First bytes of a gzip member (RFC 1952, section 2.3.1).
const GZIP_MAGIC: [u8; 2] = [0x1F, 0x8B];
/// How much is looked at to recognise a format.
pub(crate) const HEAD_BYTES: usize = 4096;

/// Bytes used so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meter(Arc<AtomicU64>);

impl Meter {
    pub(crate) fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

struct Metered<R> {
    source: R,
    meter: Meter,
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.source.read(buffer)?;
        self.meter.0.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(bytes)
    }
}

/// The unpacked bytes of a trace.
pub(crate) struct Source {
    bytes: Box<dyn Read + Send>,
    meter: Meter,
    /// The first unpacked bytes, which are read again.
    head: Vec<u8>,
}

impl std::fmt::Debug for Source {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Source")
            .field("meter", &self.meter)
            .finish_non_exhaustive()
    }
}

impl Source {
    /// Any source, unpacked if it is packed.
    ///
    /// # Errors
    /// It cannot be read, or begins like a packed file and is none.
    pub(crate) fn new(source: impl Read + Send + 'static) -> io::Result<Self> {
        let mut plain = Self::plain(source);
        plain.look()?;
        let meter = plain.meter();
        let is_zstd = plain.head().starts_with(&ZSTD_MAGIC);
        let is_gzip = plain.head().starts_with(&GZIP_MAGIC);
        let bytes: Box<dyn Read + Send> = if is_zstd {
            Box::new(zstd::stream::read::Decoder::new(plain)?)
        } else if is_gzip {
            Box::new(flate2::read::MultiGzDecoder::new(plain))
        } else {
            return Ok(plain);
        };
        let mut unpacked = Self {
            bytes,
            meter,
            head: Vec::new(),
        };
        unpacked.look()?;
        Ok(unpacked)
    }

    /// Any source, as it is.
    pub(crate) fn plain(source: impl Read + Send + 'static) -> Self {
        let meter = Meter::default();
        Self {
            bytes: Box::new(Metered {
                source,
                meter: meter.clone(),
            }),
            meter,
            head: Vec::new(),
        }
    }

    pub(crate) fn meter(&self) -> Meter {
        self.meter.clone()
    }

    /// The first bytes, up to [`HEAD_BYTES`]; reading begins with them all the same.
    pub(crate) fn head(&self) -> &[u8] {
        &self.head
    }

    fn look(&mut self) -> io::Result<()> {
        let mut head = vec![0; HEAD_BYTES];
        let mut filled = 0;
        while filled < head.len() {
            match self.bytes.read(&mut head[filled..]) {
                Ok(0) => break,
                Ok(bytes) => filled += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // What came before the damage is good; the damage is met again behind it.
                Err(error) if filled > 0 => {
                    let rest = std::mem::replace(&mut self.bytes, Box::new(io::empty()));
                    drop(rest);
                    self.bytes = Box::new(Failing(Some(error)));
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        head.truncate(filled);
        let rest = std::mem::replace(&mut self.bytes, Box::new(io::empty()));
        self.bytes = Box::new(Cursor::new(head.clone()).chain(rest));
        self.head = head;
        Ok(())
    }

    /// What a failure to read means to whoever wants the trace.
    pub(crate) fn problem(error: io::Error) -> Problem {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                Problem::Truncated("the packed trace is cut short".to_owned())
            }
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::Other => {
                Problem::Malformed(format!("the packed trace is damaged here: {error}"))
            }
            _ => Problem::Io(error),
        }
    }
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.bytes.read(buffer)
    }
}

/// A source that failed while its first bytes were looked at.
struct Failing(Option<io::Error>);

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn text() -> Vec<u8> {
        (0..20_000)
            .flat_map(|n| format!("{n}\n").into_bytes())
            .collect()
    }

    fn read(packed: Vec<u8>) -> (Vec<u8>, Option<Problem>) {
        let mut source = Source::new(Cursor::new(packed)).expect("begins well");
        let mut found = Vec::new();
        let failure = source.read_to_end(&mut found).err().map(Source::problem);
        (found, failure)
    }

    #[test]
    fn packed_traces_read_like_plain_ones() {
        let zstd = zstd::encode_all(&text()[..], 1).expect("packs");
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&text()).expect("packs");
        for packed in [text(), zstd, gzip.finish().expect("packs")] {
            let (found, failure) = read(packed);
            assert!(failure.is_none(), "{failure:?}");
            assert!(found == text());
        }
    }

    #[test]
    fn a_packed_trace_that_is_cut_short_gives_what_it_has() {
        let whole = zstd::encode_all(&text()[..], 1).expect("packs");
        // Two frames, the second one cut.
        let mut packed = whole.clone();
        packed.extend_from_slice(&whole[..whole.len() / 2]);
        let (found, failure) = read(packed);
        assert!(found.starts_with(&text()));
        assert!(
            matches!(failure, Some(Problem::Truncated(_))),
            "{failure:?}"
        );
    }

    #[test]
    fn the_meter_counts_packed_bytes() {
        let packed = zstd::encode_all(&text()[..], 1).expect("packs");
        let size = packed.len() as u64;
        let mut source = Source::new(Cursor::new(packed)).expect("begins well");
        io::copy(&mut source, &mut io::sink()).expect("readable");
        assert_eq!(source.meter().bytes(), size);
    }
}
