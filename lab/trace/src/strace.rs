//! What `strace -f -ttt -yy` saw a program do to its files.
//!
//! ```text
//! 14960 1795203121.629722 read(3</lib/libc.so.6>, "\177ELF"..., 832) = 832 <0.000026>
//! 15054 1795203122.821805 read(5</data/f>,  <unfinished ...>
//! 15053 1795203122.821822 <... futex resumed>) = 0 <0.000024>
//! 15054 1795203122.821832 <... read resumed>"\0\0"..., 4096) = 4096 <0.000015>
//! ```
//!
//! A call that another thread's line interrupted is put together again when it resumes; its record
//! has the time of its beginning and comes when it ends. `read` does not say where it reads, so
//! positions are tracked: per open file, shared by `dup`, `fork` and threads as in the kernel.
//! [`mod@line`] takes a line apart, [`descriptors`] knows who has which file open, [`calls`] says what
//! a call means for both.
//!
//! What is not in such a trace: page faults. A mapping of a file is one [`Fault`] over the mapped
//! range, at the time of the `mmap`. Descriptors whose opening was not seen are known by the path
//! that `-yy` prints; their position is taken as 0. Files of `/proc` and `/sys`, devices that are
//! no disks, pipes and sockets have no page cache and are skipped.
//!
//! [`Fault`]: crate::Operation::Fault

mod calls;
mod descriptors;
mod line;

use std::collections::HashMap;

use crate::access::Access;
use crate::error::Problem;
use crate::files::FileNames;
use crate::lines::LineFormat;
use calls::Calls;
use line::{Event, Split};

/// Calls that are under way at one time; one per thread.
const PENDING_MAX: usize = 1 << 16;
/// Bytes of their texts together.
const PENDING_BYTES_MAX: usize = 64 << 20;

/// The reader's state.
#[derive(Debug, Default)]
pub(crate) struct Strace {
    calls: Calls,
    /// By thread: the text and the beginning of a call that has not ended.
    pending: HashMap<u32, Pending>,
    pending_bytes: usize,
    /// Whole calls are put together here.
    joined: Vec<u8>,
    was_understood: bool,
}

#[derive(Debug)]
struct Pending {
    text: Vec<u8>,
    at_ns: u64,
}

impl LineFormat for Strace {
    fn line(&mut self, line: &[u8], files: &mut FileNames) -> Result<Option<Access>, Problem> {
        let Some(Split {
            thread,
            at_ns,
            event,
        }) = line::split(line)?
        else {
            return Ok(None);
        };
        self.was_understood = true;
        match event {
            Event::Call(text) => {
                let call = line::call(text)?;
                self.calls.on_call(thread, at_ns, &call, files)
            }
            Event::Unfinished(text) => {
                self.calls.on_unfinished(thread, text);
                self.keep(thread, at_ns, text)?;
                Ok(None)
            }
            Event::Resumed(rest) => {
                // Its beginning was before the trace's.
                let Some(pending) = self.pending.remove(&thread) else {
                    return Ok(None);
                };
                self.pending_bytes -= pending.text.len();
                let mut joined = std::mem::take(&mut self.joined);
                joined.clear();
                joined.extend_from_slice(&pending.text);
                joined.extend_from_slice(rest);
                let found = line::call(&joined)
                    .and_then(|call| self.calls.on_call(thread, pending.at_ns, &call, files));
                self.joined = joined;
                found
            }
            Event::Ended => {
                self.calls.on_ended(thread);
                if let Some(pending) = self.pending.remove(&thread) {
                    self.pending_bytes -= pending.text.len();
                }
                Ok(None)
            }
            Event::Other => Ok(None),
        }
    }

    fn end(&mut self) -> Result<(), Problem> {
        if self.was_understood {
            return Ok(());
        }
        Err(Problem::Malformed(
            "no line is a system call; record with: strace -f -ttt -yy -T -o FILE CMD".to_owned(),
        ))
    }
}

impl Strace {
    fn keep(&mut self, thread: u32, at_ns: u64, text: &[u8]) -> Result<(), Problem> {
        self.pending_bytes += text.len();
        if self.pending.len() >= PENDING_MAX || self.pending_bytes > PENDING_BYTES_MAX {
            return Err(Problem::TooMuch(format!(
                "more than {PENDING_MAX} unfinished calls, or {PENDING_BYTES_MAX} bytes of them"
            )));
        }
        let pending = Pending {
            text: text.to_vec(),
            at_ns,
        };
        if let Some(old) = self.pending.insert(thread, pending) {
            self.pending_bytes -= old.text.len();
        }
        Ok(())
    }
}

/// Whether a trace that begins with `line` is one.
pub(crate) fn looks_like(line: &[u8]) -> bool {
    match line::split(line) {
        Ok(Some(split)) => match split.event {
            Event::Call(text) => line::call(text).is_ok(),
            Event::Unfinished(_) | Event::Resumed(_) => true,
            Event::Ended | Event::Other => false,
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests;
