//! `pread` of `O_DIRECT` files by several threads - many reads at once where io_uring is refused.
//!
//! The same use as [`direct_reader`](crate::direct_reader): one buffer for each read on its way, and the
//! answers in the order in which they come. Each read costs two changes of threads, some microseconds.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

/// What buffers of `O_DIRECT` are aligned to: no device asks for more than a page.
const ALIGNMENT: usize = 4096;

/// A read that is over.
#[derive(Debug)]
pub struct ThreadAnswer {
    /// What the caller gave to [`DirectThreads::push`].
    pub tag: u32,
    /// When it was over.
    pub at: Instant,
    /// Bytes read, or why there are none.
    pub bytes: io::Result<usize>,
}

struct Job {
    offset: u64,
    length: usize,
    tag: u32,
}

/// Threads that read one file.
pub struct DirectThreads {
    jobs: Option<Sender<Job>>,
    answers: Receiver<ThreadAnswer>,
    threads: Vec<JoinHandle<()>>,
}

impl DirectThreads {
    /// Starts `depth` threads for reads of up to `buffer_bytes` each.
    pub fn new(file: &Arc<File>, depth: u32, buffer_bytes: usize) -> io::Result<Self> {
        let (jobs, waiting) = channel::<Job>();
        let (done, answers) = channel();
        let waiting = Arc::new(Mutex::new(waiting));
        let mut threads = Vec::new();
        for _ in 0..depth {
            let (file, waiting, done) = (Arc::clone(file), Arc::clone(&waiting), done.clone());
            let thread = std::thread::Builder::new().spawn(move || {
                let mut memory = vec![0_u8; buffer_bytes + ALIGNMENT];
                let start = memory.as_ptr().align_offset(ALIGNMENT);
                let buffer = &mut memory[start..start + buffer_bytes];
                loop {
                    let job = waiting
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .recv();
                    let Ok(Job {
                        offset,
                        length,
                        tag,
                    }) = job
                    else {
                        return;
                    };
                    let bytes = file.read_at(&mut buffer[..length], offset);
                    let at = Instant::now();
                    if done.send(ThreadAnswer { tag, at, bytes }).is_err() {
                        return;
                    }
                }
            })?;
            threads.push(thread);
        }
        Ok(Self {
            jobs: Some(jobs),
            answers,
            threads,
        })
    }

    /// Begins a read of `length` bytes, at most the buffer size, at `offset`.
    pub fn push(&self, offset: u64, length: usize, tag: u32) -> io::Result<()> {
        let job = Job {
            offset,
            length,
            tag,
        };
        let jobs = self.jobs.as_ref();
        let sent = jobs.is_some_and(|jobs| jobs.send(job).is_ok());
        if sent {
            Ok(())
        } else {
            Err(io::ErrorKind::BrokenPipe.into())
        }
    }

    /// Waits for the next answer. Must not be called when nothing is on its way.
    pub fn wait(&self) -> io::Result<ThreadAnswer> {
        self.answers
            .recv()
            .map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

impl Drop for DirectThreads {
    fn drop(&mut self) {
        drop(self.jobs.take());
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn every_read_is_answered_once_and_a_failed_one_says_why() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[7; 64 << 10]).unwrap();
        let threads = DirectThreads::new(&Arc::new(file), 4, 8192).unwrap();
        for tag in 0..16 {
            threads.push(u64::from(tag) * 8192, 8192, tag).unwrap();
        }
        let mut seen: Vec<_> = (0..16)
            .map(|_| threads.wait().unwrap())
            .map(|answer| (answer.tag, answer.bytes.unwrap()))
            .collect();
        seen.sort_unstable();
        let expected = |tag: u32| (tag, if tag < 8 { 8192 } else { 0 });
        assert_eq!(seen, (0..16).map(expected).collect::<Vec<_>>());
        threads.push(u64::MAX, 4096, 1).unwrap();
        assert!(threads.wait().unwrap().bytes.is_err());
    }
}
