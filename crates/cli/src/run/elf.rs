//! What the head of an executable file says: which machine it is for, and whether the dynamic
//! loader will be there to load a library into it. Reads the first kilobytes, trusts none of them.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use object::elf::{ET_DYN, FileHeader32, FileHeader64, PT_DYNAMIC, PT_INTERP};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, FileKind, ReadCache};

/// The kind of machine that a binary is for: two fields of the ELF header that must agree between
/// a program and a library loaded into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BinaryMachine {
    /// 32 or 64.
    pub bits: u8,
    /// `e_machine` of the ELF header: 62 is x86-64, 183 is aarch64.
    pub code: u16,
}

impl BinaryMachine {
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

impl std::fmt::Display for BinaryMachine {
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
    Dynamic(BinaryMachine),
    /// One whose loader is musl's. It ends the program where it finds a library that was made for the GNU C
    /// library.
    Musl(BinaryMachine),
    /// A shared library. As a program: a static position-independent one, nothing can be loaded.
    Library(BinaryMachine),
    /// An ELF file without a dynamic loader: nothing can be loaded into it.
    Static(BinaryMachine),
    /// A `#!` script: the interpreter's path is what runs.
    Script(std::path::PathBuf),
    /// Anything else. Shells and `execvp` hand such a file to `/bin/sh`.
    Other,
}

/// Reads what kind of image the file at `path` is.
///
/// # Errors
/// The file cannot be opened or read. A damaged header is [`Image::Other`], not an error.
pub fn image_of(path: &Path) -> io::Result<Image> {
    let mut file = File::open(path)?;
    let mut head = Vec::with_capacity(256);
    file.by_ref().take(256).read_to_end(&mut head)?;
    if head.starts_with(b"#!") {
        return Ok(script(&head));
    }
    // Reads the few ranges that are looked at.
    let data = ReadCache::new(file);
    let image = match FileKind::parse(&data) {
        Ok(FileKind::Elf32) => classify::<FileHeader32<Endianness>>(&data),
        Ok(FileKind::Elf64) => classify::<FileHeader64<Endianness>>(&data),
        _ => None,
    };
    Ok(image.unwrap_or(Image::Other))
}

/// Whether this is musl's loader: `/lib/ld-musl-ARCH.so.1`, by its own convention.
fn is_musl(loader: &[u8]) -> bool {
    let name = loader.rsplit(|byte| *byte == b'/').next();
    name.is_some_and(|name| name.starts_with(b"ld-musl-"))
}

/// The interpreter that a `#!` line names, up to the first blank as the kernel reads it.
fn script(head: &[u8]) -> Image {
    use std::os::unix::ffi::OsStrExt;
    let line = head[2..]
        .split(|&byte| byte == b'\n')
        .next()
        .unwrap_or_default();
    let interpreter = line
        .split(|&byte| byte == b' ' || byte == b'\t')
        .find(|word| !word.is_empty());
    match interpreter {
        Some(word) => Image::Script(std::ffi::OsStr::from_bytes(word).into()),
        None => Image::Other,
    }
}

fn classify<Elf: FileHeader<Endian = Endianness>>(data: &ReadCache<File>) -> Option<Image> {
    let header = Elf::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let machine = BinaryMachine {
        bits: if header.is_class_64() { 64 } else { 32 },
        code: header.e_machine(endian),
    };
    // Where they cannot be read, the kernel will refuse the program with its own words.
    let segments = header.program_headers(endian, data).unwrap_or_default();
    let has = |kind| {
        segments
            .iter()
            .any(|segment| segment.p_type(endian) == kind)
    };
    let loader = segments
        .iter()
        .find_map(|segment| segment.interpreter(endian, data).ok()?);
    // A static position-independent program has a dynamic segment but no interpreter; a library
    // has the same shape. Callers know which of the two they are looking at.
    Some(match () {
        () if loader.is_some_and(is_musl) => Image::Musl(machine),
        () if has(PT_INTERP) => Image::Dynamic(machine),
        () if header.e_type(endian) == ET_DYN && has(PT_DYNAMIC) => Image::Library(machine),
        () => Image::Static(machine),
    })
}
