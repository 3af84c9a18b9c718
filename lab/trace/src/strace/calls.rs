//! What a call means: for the tables of open files, and as a record.

use crate::access::{Access, FileAdvice, FileRef, Operation};
use crate::error::Problem;
use crate::files::FileNames;
use crate::text::{unsigned, unsigned_or_hex};

use super::descriptors::{Descriptors, OpenRef};
use super::line::Call;

/// The state that calls change.
#[derive(Debug, Default)]
pub(super) struct Calls {
    descriptors: Descriptors,
    /// Threads inside a `clone` or `fork` that has not returned: whoever appears now is new.
    starting: Vec<(u32, Kind)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Thread,
    Process { shares_files: bool },
}

/// Threads that may be inside `clone` at once; more are forgotten, oldest first.
const STARTING_MAX: usize = 1024;

/// Where a transfer begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// Here, and the position stays.
    Offset(u64),
    /// At the position, which moves on.
    Position,
}

impl Calls {
    /// A call has begun and not returned.
    pub(super) fn on_unfinished(&mut self, thread: u32, text: &[u8]) {
        self.meet(thread);
        let name_end = memchr::memchr(b'(', text).unwrap_or(0);
        if let Some(kind) = starts(&text[..name_end], text) {
            if self.starting.len() >= STARTING_MAX {
                self.starting.remove(0);
            }
            self.starting.push((thread, kind));
        }
    }

    /// A thread has ended.
    pub(super) fn on_ended(&mut self, thread: u32) {
        self.starting.retain(|(starting, _)| *starting != thread);
        self.descriptors.end(thread);
    }

    /// A new thread often speaks before the `clone` that made it returns. It belongs to the one
    /// that is inside `clone` for the longest time.
    fn meet(&mut self, thread: u32) {
        if self.starting.is_empty() || self.descriptors.knows(thread) {
            return;
        }
        let (parent, kind) = self.starting.remove(0);
        // A table that is full shows itself at the next call that adds to it.
        let _ = self.start(parent, thread, kind);
    }

    fn start(&mut self, parent: u32, child: u32, kind: Kind) -> Result<(), Problem> {
        match kind {
            Kind::Thread => {
                self.descriptors.start_thread(parent, child);
                Ok(())
            }
            Kind::Process { shares_files } => {
                self.descriptors.start_process(parent, child, shares_files)
            }
        }
    }

    /// A whole call. The record, if it is one.
    pub(super) fn on_call(
        &mut self,
        thread: u32,
        at_ns: u64,
        call: &Call<'_>,
        files: &mut FileNames,
    ) -> Result<Option<Access>, Problem> {
        self.meet(thread);
        let Some(result) = call.result else {
            return Ok(None);
        };
        let mut work = Work {
            descriptors: &mut self.descriptors,
            files,
            thread,
            call,
            result,
        };
        let record = match call.name {
            b"read" | b"readv" => work.transfer(Operation::Read, 0, At::Position)?,
            b"write" | b"writev" => work.transfer(Operation::Write, 0, At::Position)?,
            b"pread64" | b"pread" => work.transfer_at(Operation::Read, 3)?,
            b"pwrite64" | b"pwrite" => work.transfer_at(Operation::Write, 3)?,
            b"preadv" | b"preadv2" => work.transfer_at(Operation::Read, 3)?,
            b"pwritev" | b"pwritev2" => work.transfer_at(Operation::Write, 3)?,
            b"sendfile" | b"sendfile64" => work.transfer_through(1, 2)?,
            b"copy_file_range" | b"splice" => work.transfer_through(0, 1)?,
            b"lseek" | b"_llseek" => work.seek()?,
            b"open" | b"creat" | b"openat" | b"openat2" => work.open()?,
            b"close" => work.close(),
            b"close_range" => work.close_range(),
            b"dup" | b"dup2" | b"dup3" => work.duplicate()?,
            b"fcntl" | b"fcntl64" if call.argument(1).starts_with(b"F_DUPFD") => {
                work.duplicate()?
            }
            b"mmap" | b"mmap2" => work.map()?,
            b"fadvise64" | b"fadvise64_64" => work.advise()?,
            b"readahead" => work.range(Operation::Advise(FileAdvice::WillNeed), 1, 2)?,
            b"fsync" | b"fdatasync" => work.range(Operation::Sync, usize::MAX, usize::MAX)?,
            b"sync_file_range" => work.range(Operation::Sync, 1, 2)?,
            b"fstat" | b"newfstatat" | b"statx" => work.size()?,
            b"clone" | b"clone3" | b"fork" | b"vfork" => {
                self.starting.retain(|(starting, _)| *starting != thread);
                let child = u32::try_from(result).unwrap_or(0);
                // Known already: it spoke before its parent's call returned.
                if child != 0
                    && !self.descriptors.knows(child)
                    && let Some(kind) = starts(call.name, call.all)
                {
                    self.start(thread, child, kind)?;
                }
                None
            }
            _ => None,
        };
        Ok(record.map(|(operation, file, offset, length)| Access {
            at_ns,
            process: self.descriptors.process(thread),
            thread,
            operation,
            duration_ns: call.duration_ns,
            ..Access::read(file, offset, length)
        }))
    }
}

/// What a call starts, if it starts something.
fn starts(name: &[u8], arguments: &[u8]) -> Option<Kind> {
    let has = |flag: &[u8]| memchr::memmem::find(arguments, flag).is_some();
    match name {
        b"clone" | b"clone3" if has(b"CLONE_THREAD") => Some(Kind::Thread),
        b"clone" | b"clone3" => Some(Kind::Process {
            shares_files: has(b"CLONE_FILES"),
        }),
        b"fork" | b"vfork" => Some(Kind::Process {
            shares_files: false,
        }),
        _ => None,
    }
}

/// Operation, file, offset, length.
type Record = Option<(Operation, FileRef, u64, u64)>;

/// One call at work.
struct Work<'a, 'c> {
    descriptors: &'a mut Descriptors,
    files: &'a mut FileNames,
    thread: u32,
    call: &'a Call<'c>,
    result: u64,
}

impl Work<'_, '_> {
    /// The open file of the descriptor that is an argument.
    fn opened(&mut self, argument: usize) -> Result<Option<OpenRef>, Problem> {
        let Some((descriptor, path)) = self.call.descriptor(argument) else {
            return Ok(None);
        };
        if let Some(open) = self.descriptors.get(self.thread, descriptor) {
            let Some(path) = path else {
                return Ok(Some(open));
            };
            let known = self.descriptors.open_file(open).file;
            if known.is_some_and(|file| *self.files.name(file) == *path) {
                return Ok(Some(open));
            }
            // A descriptor that came in by a way that is not tracked, such as a socket; or a path
            // with escapes.
            if known == named(path, self.files)? {
                return Ok(Some(open));
            }
        }
        let Some(path) = path else {
            return Ok(None);
        };
        let file = named(path, self.files)?;
        self.descriptors
            .open(self.thread, descriptor, file)
            .map(Some)
    }

    fn transfer(
        &mut self,
        operation: Operation,
        argument: usize,
        at: At,
    ) -> Result<Record, Problem> {
        let Some(open) = self.opened(argument)? else {
            return Ok(None);
        };
        let open = self.descriptors.open_file(open);
        let offset = match at {
            At::Offset(offset) => offset,
            At::Position => {
                let offset = open.position;
                open.position = offset.saturating_add(self.result);
                offset
            }
        };
        Ok(open.file.map(|file| (operation, file, offset, self.result)))
    }

    fn transfer_at(&mut self, operation: Operation, argument: usize) -> Result<Record, Problem> {
        let at = match self.call.argument(argument) {
            // preadv2: the position, please.
            b"-1" => At::Position,
            text => match unsigned_or_hex(text) {
                Some(offset) => At::Offset(offset),
                None => return Ok(None),
            },
        };
        self.transfer(operation, 0, at)
    }

    /// From one descriptor to another inside the kernel: a read of the first.
    fn transfer_through(&mut self, argument: usize, offset: usize) -> Result<Record, Problem> {
        let at = match self.call.argument(offset) {
            b"NULL" => At::Position,
            // `[10] => [30]`
            text => {
                let inside = text.strip_prefix(b"[").unwrap_or(text);
                let end = inside.iter().position(|byte| !byte.is_ascii_digit());
                match unsigned(&inside[..end.unwrap_or(inside.len())]) {
                    Some(offset) => At::Offset(offset),
                    None => return Ok(None),
                }
            }
        };
        self.transfer(Operation::Read, argument, at)
    }

    fn seek(&mut self) -> Result<Record, Problem> {
        let is_search = matches!(self.call.argument(2), b"SEEK_DATA" | b"SEEK_HOLE");
        if let Some(open) = self.opened(0)? {
            let open = self.descriptors.open_file(open);
            open.position = self.result;
            if self.call.argument(2) == b"SEEK_END"
                && !is_search
                && self.call.argument(1) == b"0"
                && let Some(file) = open.file
            {
                self.files.set_size(file, self.result);
            }
        }
        Ok(None)
    }

    fn open(&mut self) -> Result<Record, Problem> {
        let Ok(descriptor) = u32::try_from(self.result) else {
            return Ok(None);
        };
        let has = |flag: &[u8]| memchr::memmem::find(self.call.all, flag).is_some();
        let is_folder = has(b"O_DIRECTORY");
        let is_path_only = has(b"O_PATH");
        let mut unquoted = Vec::new();
        let path = match self.call.result_path {
            Some(path) => path,
            None => {
                let is_at = self.call.name.starts_with(b"openat");
                unquote(self.call.argument(usize::from(is_at)), &mut unquoted);
                &unquoted
            }
        };
        let file = if is_folder || is_path_only {
            None
        } else {
            named(path, self.files)?
        };
        self.descriptors.open(self.thread, descriptor, file)?;
        Ok(file.map(|file| (Operation::Open, file, 0, 0)))
    }

    fn close(&mut self) -> Record {
        let (descriptor, _) = self.call.descriptor(0)?;
        let file = self.descriptors.close(self.thread, descriptor)?;
        Some((Operation::Close, file, 0, 0))
    }

    fn close_range(&mut self) -> Record {
        let first = u32::try_from(self.call.number(0)?).ok()?;
        let last = self
            .call
            .number(1)
            .and_then(|last| u32::try_from(last).ok());
        self.descriptors
            .close_range(self.thread, first, last.unwrap_or(u32::MAX));
        None
    }

    fn duplicate(&mut self) -> Result<Record, Problem> {
        let Ok(descriptor) = u32::try_from(self.result) else {
            return Ok(None);
        };
        match self.opened(0)? {
            // dup2 of a descriptor to itself changes nothing.
            Some(open) if self.descriptors.get(self.thread, descriptor) != Some(open) => {
                self.descriptors.lead(self.thread, descriptor, open)?;
            }
            _ => {}
        }
        Ok(None)
    }

    fn map(&mut self) -> Result<Record, Problem> {
        if memchr::memmem::find(self.call.argument(3), b"MAP_ANONYMOUS").is_some() {
            return Ok(None);
        }
        let range = self.call.number(1).zip(self.call.number(5));
        let Some(((length, offset), open)) = range.zip(self.opened(4)?) else {
            return Ok(None);
        };
        let file = self.descriptors.open_file(open).file;
        Ok(file.map(|file| (Operation::Fault, file, offset, length)))
    }

    fn advise(&mut self) -> Result<Record, Problem> {
        let advice = match self.call.argument(3) {
            b"POSIX_FADV_NORMAL" => FileAdvice::Normal,
            b"POSIX_FADV_SEQUENTIAL" => FileAdvice::Sequential,
            b"POSIX_FADV_RANDOM" => FileAdvice::Random,
            b"POSIX_FADV_WILLNEED" => FileAdvice::WillNeed,
            b"POSIX_FADV_DONTNEED" => FileAdvice::DontNeed,
            _ => return Ok(None),
        };
        self.range(Operation::Advise(advice), 1, 2)
    }

    fn range(
        &mut self,
        operation: Operation,
        offset: usize,
        length: usize,
    ) -> Result<Record, Problem> {
        let offset = self.call.number(offset).unwrap_or(0);
        let length = self.call.number(length).unwrap_or(0);
        let Some(open) = self.opened(0)? else {
            return Ok(None);
        };
        let file = self.descriptors.open_file(open).file;
        Ok(file.map(|file| (operation, file, offset, length)))
    }

    /// `{st_mode=S_IFREG|0644, st_size=1048576, ...}`
    fn size(&mut self) -> Result<Record, Problem> {
        let all = self.call.all;
        let is_regular = memchr::memmem::find(all, b"S_IFREG").is_some();
        let size = ["st_size=", "stx_size="].iter().find_map(|key| {
            let at = memchr::memmem::rfind(all, key.as_bytes())? + key.len();
            let digits = &all[at..];
            let end = digits.iter().position(|byte| !byte.is_ascii_digit());
            unsigned(&digits[..end.unwrap_or(digits.len())])
        });
        if is_regular
            && let Some(size) = size
            && let Some(open) = self.opened(0)?
            && let Some(file) = self.descriptors.open_file(open).file
            // `fstatat` of something inside a folder that is open.
            && matches!(self.call.argument(1), b"\"\"" | b"" | [b'{', ..])
        {
            self.files.set_size(file, size);
        }
        Ok(None)
    }
}

/// The file of a path as `-yy` prints it; `None` for what has no page cache.
fn named(path: &[u8], files: &mut FileNames) -> Result<Option<FileRef>, Problem> {
    let mut path = path;
    if let Some(bracket) = memchr::memchr(b'<', path) {
        // `/dev/sda<block 8:0>` is a disk, `/dev/null<char 1:3>` is not.
        if !path[bracket..].starts_with(b"<block ") {
            return Ok(None);
        }
        path = &path[..bracket];
    }
    let is_virtual = path.starts_with(b"/proc/") || path.starts_with(b"/sys/");
    let is_other = memchr::memchr(b':', path).is_some_and(|colon| {
        // `pipe:[1]`, `TCP:[…]`, `anon_inode:[eventfd]`, `UNIX-STREAM:[…]`
        path.get(colon + 1) == Some(&b'[') && !path.starts_with(b"/")
    });
    if path.is_empty() || is_virtual || is_other {
        return Ok(None);
    }
    let mut unescaped = Vec::new();
    let path = if path.contains(&b'\\') {
        unescape(path, &mut unescaped);
        &unescaped
    } else {
        path
    };
    Ok(Some(files.named(path)?))
}

/// A text in quotes, without them and with its bytes restored.
fn unquote(text: &[u8], into: &mut Vec<u8>) {
    let text = text.strip_prefix(b"\"").unwrap_or(text);
    let text = text.strip_suffix(b"\"").unwrap_or(text);
    unescape(text, into);
}

/// strace writes bytes that do not print as C does: `\n`, `\303\251`, `\x41`.
fn unescape(text: &[u8], into: &mut Vec<u8>) {
    let mut rest = text;
    while let [first, behind @ ..] = rest {
        rest = behind;
        if *first != b'\\' {
            into.push(*first);
            continue;
        }
        let Some((kind, behind)) = rest.split_first() else {
            into.push(b'\\');
            return;
        };
        rest = behind;
        let radix = match kind {
            b'0'..=b'7' => {
                rest = &text[text.len() - rest.len() - 1..];
                8
            }
            b'x' => 16,
            b'n' => {
                into.push(b'\n');
                continue;
            }
            b't' => {
                into.push(b'\t');
                continue;
            }
            b'r' => {
                into.push(b'\r');
                continue;
            }
            b'v' => {
                into.push(0x0B);
                continue;
            }
            b'f' => {
                into.push(0x0C);
                continue;
            }
            other => {
                into.push(*other);
                continue;
            }
        };
        let digits_max = if radix == 8 { 3 } else { 2 };
        let mut byte = 0_u32;
        for _ in 0..digits_max {
            let Some(digit) = rest
                .first()
                .and_then(|digit| char::from(*digit).to_digit(radix))
            else {
                break;
            };
            byte = byte * radix + digit;
            rest = &rest[1..];
        }
        into.push(u8::try_from(byte & 0xFF).unwrap_or(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_do_not_print_are_restored() {
        let mut name = Vec::new();
        unquote(br#""/a\303\251\n\"\\ \x41\74""#, &mut name);
        assert_eq!(name, b"/a\xc3\xa9\n\"\\ A<");
    }

    #[test]
    fn only_what_has_a_page_cache_is_a_file() {
        let mut files = FileNames::default();
        for other in [
            &b"pipe:[26]"[..],
            b"/dev/null<char 1:3>",
            b"TCP:[127.0.0.1:1->127.0.0.1:2]",
            b"/proc/self/maps",
        ] {
            assert_eq!(named(other, &mut files).expect("it fits"), None);
        }
        for file in [&b"/a:[b]"[..], b"/dev/sda<block 8:0>", b"relative"] {
            assert!(named(file, &mut files).expect("it fits").is_some());
        }
    }
}
