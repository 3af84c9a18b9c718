//! One line of strace, taken apart: who, when, which call with which arguments, and its result.
//!
//! Text in quotes and paths in angle brackets may hold anything, also what looks like the end of
//! the call, so a call is read from its front, past them. Inside a path strace escapes angle
//! brackets, but `</dev/null<char 1:3>>` nests them, and a socket has an arrow, `<TCP:[a->b]>`.

use crate::error::Problem;
use crate::text::{decimal, shown, unsigned, unsigned_or_hex};

const SECOND_NS: u64 = 1_000_000_000;
/// Arguments that are looked at: `mmap` has six.
const ARGUMENTS_MAX: usize = 6;

/// A line without its front.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Split<'a> {
    /// 0 where the line does not say: without `-f`.
    pub(super) thread: u32,
    pub(super) at_ns: u64,
    pub(super) event: Event<'a>,
}

/// What a line says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Event<'a> {
    /// A whole call.
    Call(&'a [u8]),
    /// The beginning of a call, without `<unfinished ...>`.
    Unfinished(&'a [u8]),
    /// The rest of one.
    Resumed(&'a [u8]),
    /// The thread has ended.
    Ended,
    /// A signal, or a word of strace itself.
    Other,
}

/// A call and its result.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub(super) name: &'a [u8],
    arguments: [&'a [u8]; ARGUMENTS_MAX],
    /// Everything between the parentheses.
    pub(super) all: &'a [u8],
    /// `None`: it failed, or never returned.
    pub(super) result: Option<u64>,
    /// The path behind a descriptor that was returned.
    pub(super) result_path: Option<&'a [u8]>,
    pub(super) duration_ns: Option<u64>,
}

impl<'a> Call<'a> {
    /// The argument at `place`, empty when there is none.
    pub(super) fn argument(&self, place: usize) -> &'a [u8] {
        self.arguments.get(place).copied().unwrap_or_default()
    }

    /// A number, decimal or hexadecimal.
    pub(super) fn number(&self, place: usize) -> Option<u64> {
        unsigned_or_hex(self.argument(place))
    }

    /// A descriptor and the path that `-y` prints behind it.
    pub(super) fn descriptor(&self, place: usize) -> Option<(u32, Option<&'a [u8]>)> {
        descriptor(self.argument(place))
    }
}

/// Takes the front off a line. `None`: nothing of a trace, such as an empty line.
pub(super) fn split(line: &[u8]) -> Result<Option<Split<'_>>, Problem> {
    let mut rest = line.trim_ascii();
    if rest.is_empty() || rest.starts_with(b"strace: ") {
        return Ok(None);
    }
    let mut thread = 0;
    if let Some(bracketed) = rest.strip_prefix(b"[pid ") {
        let Some(end) = memchr::memchr(b']', bracketed) else {
            return Err(malformed(line, "'[pid' has no end"));
        };
        thread = thread_number(bracketed[..end].trim_ascii())
            .ok_or_else(|| malformed(line, "the process is no number"))?;
        rest = bracketed[end + 1..].trim_ascii_start();
    } else if let Some((word, behind)) = word(rest)
        && word.iter().all(u8::is_ascii_digit)
    {
        thread = thread_number(word).ok_or_else(|| malformed(line, "the process is no number"))?;
        rest = behind;
    }
    let mut at_ns = 0;
    if let Some((word, behind)) = word(rest)
        && matches!(word, [b'0'..=b'9', ..] | [b'-', b'0'..=b'9', ..])
    {
        at_ns = time(word).ok_or_else(|| malformed(line, "the time is not what -ttt prints"))?;
        rest = behind;
    }
    let event = if rest.starts_with(b"+++") {
        Event::Ended
    } else if rest.starts_with(b"---") {
        Event::Other
    } else if let Some(resumed) = rest.strip_prefix(b"<... ") {
        let Some(end) = memchr::memmem::find(resumed, b" resumed>") else {
            return Err(malformed(line, "a resumed call was expected"));
        };
        Event::Resumed(&resumed[end + b" resumed>".len()..])
    } else if let Some(text) = rest.strip_suffix(b"<unfinished ...>") {
        Event::Unfinished(text)
    } else if name_length(rest).is_some() {
        Event::Call(rest)
    } else {
        Event::Other
    };
    Ok(Some(Split {
        thread,
        at_ns,
        event,
    }))
}

fn thread_number(digits: &[u8]) -> Option<u32> {
    u32::try_from(unsigned(digits)?).ok()
}

/// `1795203121.629722`, or the time of day that `-tt` prints.
fn time(word: &[u8]) -> Option<u64> {
    let Some(colon) = memchr::memchr(b':', word) else {
        return decimal(word, SECOND_NS);
    };
    let (hours, rest) = (&word[..colon], &word[colon + 1..]);
    let colon = memchr::memchr(b':', rest)?;
    let seconds = unsigned(hours)?
        .checked_mul(3600)?
        .checked_add(unsigned(&rest[..colon])?.checked_mul(60)?)?
        .checked_mul(SECOND_NS)?;
    seconds.checked_add(decimal(&rest[colon + 1..], SECOND_NS)?)
}

/// The first word, if something follows it.
fn word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = text.iter().position(|byte| *byte == b' ')?;
    Some((&text[..end], text[end..].trim_ascii_start()))
}

/// The length of the name in front of `(`. Anything else is not a call: without `-o` what the
/// program prints stands between strace's lines.
fn name_length(text: &[u8]) -> Option<usize> {
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let length = text.iter().position(|byte| !is_of_name(byte))?;
    (length > 0 && text[length] == b'(').then_some(length)
}

/// Reads a whole call.
pub(super) fn call(text: &[u8]) -> Result<Call<'_>, Problem> {
    let open = name_length(text).ok_or_else(|| malformed(text, "a system call was expected"))?;
    let inside = &text[open + 1..];
    let mut call = Call {
        name: &text[..open],
        arguments: [&[]; ARGUMENTS_MAX],
        all: inside,
        result: None,
        result_path: None,
        duration_ns: None,
    };
    let mut depth = 0_u32;
    let mut count = 0;
    let mut begin = 0;
    let mut at = 0;
    let close = loop {
        let Some(byte) = inside.get(at) else {
            return Err(malformed(text, "the call has no end"));
        };
        match byte {
            b'"' => at = behind_quotes(inside, at + 1),
            b'<' if is_bracket(inside, at) => at = behind_path(inside, at + 1),
            b'(' | b'[' | b'{' => {
                depth += 1;
                at += 1;
            }
            b')' if depth == 0 => break at,
            b')' | b']' | b'}' => {
                depth = depth.saturating_sub(1);
                at += 1;
            }
            b',' if depth == 0 => {
                if count < ARGUMENTS_MAX {
                    call.arguments[count] = inside[begin..at].trim_ascii();
                }
                count += 1;
                at += 1;
                begin = at;
            }
            // Comments, `/* 35 vars */`, may hold anything but their end.
            b'/' if inside[at + 1..].starts_with(b"*") => {
                let end = memchr::memmem::find(&inside[at..], b"*/");
                at = end.map_or(inside.len(), |end| at + end + 2);
            }
            _ => at += 1,
        }
    };
    if count < ARGUMENTS_MAX {
        call.arguments[count] = inside[begin..close].trim_ascii();
    }
    call.all = &inside[..close];
    let result = inside[close + 1..].trim_ascii_start();
    let result = result
        .strip_prefix(b"=")
        .ok_or_else(|| malformed(text, "the call has no result"))?;
    take_result(result.trim_ascii(), &mut call);
    Ok(call)
}

/// `4096 <0.000026>`, `3</path> <0.1>`, `-1 ENOENT (No such file or directory)`, `?`.
fn take_result<'a>(result: &'a [u8], call: &mut Call<'a>) {
    if let Some(inner) = result.strip_suffix(b">")
        && let Some(begin) = memchr::memrchr(b'<', inner)
        && begin > 0
    {
        call.duration_ns = decimal(&inner[begin + 1..], SECOND_NS);
    }
    let end = result
        .iter()
        .position(|byte| !(byte.is_ascii_alphanumeric()))
        .unwrap_or(result.len());
    call.result = unsigned_or_hex(&result[..end]);
    if result.get(end) == Some(&b'<') && call.result.is_some() {
        let close = behind_path(result, end + 1);
        call.result_path = result.get(end + 1..close - 1);
    }
}

/// A bracket follows a descriptor or `AT_FDCWD`; elsewhere `<` is less-than, as in `1<<20`.
fn is_bracket(text: &[u8], at: usize) -> bool {
    at > 0
        && text[at - 1].is_ascii_alphanumeric()
        && text
            .get(at + 1)
            .is_some_and(|byte| *byte != b'<' && *byte != b' ')
}

/// The place behind the quote that closes.
fn behind_quotes(text: &[u8], mut at: usize) -> usize {
    while let Some(found) = memchr::memchr2(b'"', b'\\', &text[at..]) {
        at += found;
        if text[at] == b'"' {
            return at + 1;
        }
        at = (at + 2).min(text.len());
    }
    text.len()
}

/// The place behind the bracket that closes.
fn behind_path(text: &[u8], begin: usize) -> usize {
    let is_path = text.get(begin) == Some(&b'/');
    let mut depth = 1_u32;
    let mut at = begin;
    while let Some(found) = memchr::memchr2(b'<', b'>', &text[at..]) {
        at += found + 1;
        if text[at - 1] == b'<' {
            depth += 1;
        } else if is_path || text[at - 2] != b'-' {
            depth -= 1;
            if depth == 0 {
                return at;
            }
        }
    }
    // Never closed: `call` finds no end then.
    text.len().max(begin + 1)
}

fn descriptor(argument: &[u8]) -> Option<(u32, Option<&[u8]>)> {
    let end = argument
        .iter()
        .position(|byte| !byte.is_ascii_digit())
        .unwrap_or(argument.len());
    let number = u32::try_from(unsigned(&argument[..end])?).ok()?;
    if argument.get(end) != Some(&b'<') {
        return Some((number, None));
    }
    let close = behind_path(argument, end + 1);
    Some((number, argument.get(end + 1..close - 1)))
}

fn malformed(line: &[u8], what: &str) -> Problem {
    Problem::Malformed(format!("{what}: '{}'", shown(line)))
}
