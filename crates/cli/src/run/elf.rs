//! What the head of an executable file says: which machine it is for, and whether the dynamic
//! loader will be there to load a library into it. Reads the first kilobytes, trusts none of them.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// The kind of machine that a binary is for: two fields of the ELF header that must agree between
/// a program and a library loaded into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// 32 or 64.
    pub bits: u8,
    /// `e_machine` of the ELF header: 62 is x86-64, 183 is aarch64.
    pub code: u16,
}

impl Machine {
    /// The machine that this program was built for.
    #[must_use]
    pub const fn this() -> Self {
        Self {
            bits: if cfg!(target_pointer_width = "64") {
                64
            } else {
                32
            },
            code: if cfg!(target_arch = "x86_64") {
                62
            } else if cfg!(target_arch = "aarch64") {
                183
            } else if cfg!(target_arch = "riscv64") {
                243
            } else {
                0
            },
        }
    }
}

impl std::fmt::Display for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.code, self.bits) {
            (62, 64) => f.write_str("x86-64"),
            (62, _) => f.write_str("x32"),
            (3, _) => f.write_str("i386"),
            (183, _) => f.write_str("aarch64"),
            (40, _) => f.write_str("arm"),
            (243, _) => f.write_str("riscv"),
            (22, _) => f.write_str("s390"),
            (21, _) => f.write_str("ppc64"),
            (code, bits) => write!(f, "ELF machine {code}, {bits} bit"),
        }
    }
}

/// What the kernel will do with a file when it is executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Image {
    /// An ELF program that names a dynamic loader: `LD_PRELOAD` has a meaning.
    Dynamic(Machine),
    /// A shared library. As a program: a static position-independent one, nothing can be loaded.
    Library(Machine),
    /// An ELF file without a dynamic loader: nothing can be loaded into it.
    Static(Machine),
    /// A `#!` script: the interpreter's path is what runs.
    Script(std::path::PathBuf),
    /// Anything else. Shells and `execvp` hand such a file to `/bin/sh`.
    Other,
}

/// `e_type` of a shared object; position-independent programs have it too.
const TYPE_SHARED: u64 = 3;
const SEGMENT_DYNAMIC: u64 = 2;
const SEGMENT_INTERPRETER: u64 = 3;
/// More program headers than any real file has; keeps a hostile header from costing memory.
const SEGMENTS_MAX: u64 = 512;

/// Reads what kind of image the file at `path` is.
///
/// # Errors
/// The file cannot be opened or read. A damaged header is [`Image::Other`], not an error.
pub fn image_of(path: &Path) -> io::Result<Image> {
    let mut file = std::fs::File::open(path)?;
    let mut head = Vec::with_capacity(256);
    file.by_ref().take(256).read_to_end(&mut head)?;
    if head.starts_with(b"#!") {
        return Ok(script(&head));
    }
    let Some(header) = Header::parse(&head) else {
        return Ok(Image::Other);
    };
    let length_bytes = header.segment_size.saturating_mul(header.segment_count);
    let mut segments = Vec::new();
    file.seek(SeekFrom::Start(header.segments_offset))?;
    file.take(length_bytes).read_to_end(&mut segments)?;
    Ok(header.classify(&segments))
}

/// The interpreter that a `#!` line names, up to the first blank as the kernel reads it.
fn script(head: &[u8]) -> Image {
    use std::os::unix::ffi::OsStrExt;
    let line = head[2..]
        .split(|&byte| byte == b'\n')
        .next()
        .unwrap_or_default();
    let interpreter = line
        .split(|&byte| byte == b' ' || byte == b'\t' || byte == b'\r')
        .find(|word| !word.is_empty());
    match interpreter {
        Some(word) => Image::Script(std::ffi::OsStr::from_bytes(word).into()),
        None => Image::Other,
    }
}

struct Header {
    machine: Machine,
    little_endian: bool,
    shared: bool,
    segments_offset: u64,
    segment_size: u64,
    segment_count: u64,
}

impl Header {
    fn parse(head: &[u8]) -> Option<Self> {
        if !head.starts_with(b"\x7fELF") {
            return None;
        }
        let bits = match head.get(4)? {
            1 => 32,
            2 => 64,
            _ => return None,
        };
        let little_endian = *head.get(5)? == 1;
        let number = |at: usize, length: usize| read_number(head, at, length, little_endian);
        let (offset_at, offset_length, size_at) = if bits == 64 {
            (0x20, 8, 0x36)
        } else {
            (0x1c, 4, 0x2a)
        };
        Some(Self {
            machine: Machine {
                bits,
                code: u16::try_from(number(0x12, 2)?).ok()?,
            },
            little_endian,
            shared: number(0x10, 2)? == TYPE_SHARED,
            segments_offset: number(offset_at, offset_length)?,
            segment_size: number(size_at, 2)?.max(1),
            segment_count: number(size_at + 2, 2)?.min(SEGMENTS_MAX),
        })
    }

    fn classify(&self, segments: &[u8]) -> Image {
        let size = usize::try_from(self.segment_size).unwrap_or(usize::MAX);
        let kinds: Vec<u64> = segments
            .chunks(size)
            .filter_map(|segment| read_number(segment, 0, 4, self.little_endian))
            .collect();
        // A static position-independent program has a dynamic segment but no interpreter; a
        // library has the same shape. Callers know which of the two they are looking at.
        match () {
            () if kinds.contains(&SEGMENT_INTERPRETER) => Image::Dynamic(self.machine),
            () if self.shared && kinds.contains(&SEGMENT_DYNAMIC) => Image::Library(self.machine),
            () => Image::Static(self.machine),
        }
    }
}

fn read_number(bytes: &[u8], at: usize, length: usize, little_endian: bool) -> Option<u64> {
    let field = bytes.get(at..at.checked_add(length)?)?;
    let fold = |value: u64, &byte: &u8| (value << 8) | u64::from(byte);
    Some(if little_endian {
        field.iter().rev().fold(0, fold)
    } else {
        field.iter().fold(0, fold)
    })
}
