//! The C core as a program: compiled with the machine's compiler and its sanitizers, called by numbers.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

/// Numbers of a call, and of an answer; `c/driver.c` has the same.
const CALL_WORDS: usize = 17;
const ANSWER_WORDS: usize = 9;

/// One access of one file, and what comes after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoreCall {
    /// Number of the file; small.
    pub file: u64,
    /// First page.
    pub start: u64,
    /// First page behind it.
    pub end: u64,
    /// When, in nanoseconds.
    pub now_ns: u64,
    /// The fast path is tried first.
    pub is_quick: bool,
    /// What is asked for is found in memory.
    pub is_cached: bool,
    /// What is asked for does not reach the device.
    pub is_refused: bool,
    /// The read waits.
    pub waits: bool,
    /// So many pages of the stream's window were evicted.
    pub thrashes: Option<u32>,
    /// Nothing reads the file after this.
    pub is_last: bool,
    /// Others use the device.
    pub contested: bool,
    /// The program said SEQUENTIAL.
    pub is_sequential: bool,
    /// `vm.readahead_ratio`.
    pub ratio: u32,
    /// `vm.readahead_hit_rate`.
    pub hit_rate: u32,
    /// Largest request, in pages.
    pub request_max: u64,
    /// Of the device, in nanoseconds.
    pub access_ns: u64,
    /// Of the device.
    pub bytes_per_second: u64,
    /// Of the device.
    pub depth: u32,
    /// Of the file.
    pub file_pages: u64,
    /// Pages that a reader can leave unread.
    pub threshold: u64,
    /// Pages that no window uses.
    pub available: u64,
    /// Streams with a window.
    pub streams: u32,
}

/// What the core decided about a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoreAnswer {
    /// How many ranges.
    pub count: u64,
    /// First page of the first.
    pub start: u64,
    /// The first page behind it.
    pub end: u64,
    /// Pages from one to the next; negative towards the start of the file.
    pub period: i64,
    /// An `enum ra_reason`.
    pub reason: u64,
    /// Place and generation of the stream; `None`: no stream explains the access.
    pub stream: Option<(u64, u64)>,
    /// The access had been asked for.
    pub covered: bool,
    /// The fast path answered.
    pub was_quick: bool,
}

impl CoreCall {
    fn to_words(self) -> [u64; CALL_WORDS] {
        let flags = [
            self.is_quick,
            self.is_cached,
            self.waits,
            self.thrashes.is_some(),
            self.contested,
            self.is_sequential,
            self.is_last,
            self.is_refused,
        ];
        let flags = (0..).zip(flags).map(|(bit, set)| u64::from(set) << bit);
        [
            self.file,
            self.start,
            self.end,
            self.now_ns,
            flags.sum(),
            self.ratio.into(),
            self.hit_rate.into(),
            self.request_max,
            self.access_ns,
            self.bytes_per_second,
            self.depth.into(),
            self.file_pages,
            self.threshold,
            self.available,
            self.streams.into(),
            self.thrashes.unwrap_or(0).into(),
            0,
        ]
    }
}

impl CoreAnswer {
    fn of_words(words: [u64; ANSWER_WORDS]) -> Self {
        const NO_STREAM: u64 = 0xff;
        let [
            count,
            start,
            end,
            period,
            reason,
            place,
            generation,
            covered,
            quick,
        ] = words;
        Self {
            count,
            start,
            end,
            period: period.cast_signed(),
            reason,
            stream: (place != NO_STREAM).then_some((place, generation)),
            covered: covered != 0,
            was_quick: quick != 0,
        }
    }
}

/// The compiled program.
#[derive(Clone, Debug)]
pub struct Driver {
    program: PathBuf,
}

impl Driver {
    /// Compiles it into `folder`, with the sanitizers for addresses and undefined behaviour.
    ///
    /// # Errors
    /// There is no `cc`, or it refuses the source; the text is what it said.
    pub fn compile(folder: &Path) -> Result<Self, String> {
        const SANITIZERS: [&str; 2] = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
        Self::compile_with(&SANITIZERS, &folder.join("kernel-core-driver"))
    }

    /// Compiles it into `folder` as the kernel is: what it does can be counted.
    ///
    /// # Errors
    /// As [`Self::compile`].
    pub fn compile_for_counting(folder: &Path) -> Result<Self, String> {
        Self::compile_with(&[], &folder.join("kernel-core-counted"))
    }

    fn compile_with(options: &[&str], program: &Path) -> Result<Self, String> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut compiler = Command::new("cc");
        compiler.args(["-std=gnu11", "-O2", "-g", "-Wall", "-Wextra", "-Werror"]);
        compiler.args(options).arg("-o").arg(program);
        compiler.arg("-I").arg(here.join("c/include"));
        compiler.arg(here.join("c/driver.c"));
        compiler.arg(here.join("../core/readahead_core.c"));
        let said = compiler
            .output()
            .map_err(|error| format!("cannot start cc: {error}"))?;
        if said.status.success() {
            let program = program.to_owned();
            Ok(Self { program })
        } else {
            Err(String::from_utf8_lossy(&said.stderr).into_owned())
        }
    }

    /// Instructions of `count` cached reads of single pages of a known file: `in-turn`, `backward`, `anywhere`, or
    /// `nothing`, which never calls the core; with those of starting the program.
    ///
    /// # Errors
    /// There is no valgrind, or the program fails; the text is what it said.
    pub fn instructions(&self, pattern: &str, count: u64) -> io::Result<u64> {
        let mut counter = Command::new("valgrind");
        counter.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
        counter.arg(&self.program).args(["cost", pattern]);
        let ended = counter.arg(count.to_string()).output()?;
        let said = String::from_utf8_lossy(&ended.stderr);
        let mut lines = said.lines();
        let counted = lines.find_map(|line| line.split_once("Collected : "));
        let counted = counted.and_then(|(_, counted)| counted.trim().parse().ok());
        match counted {
            Some(counted) if ended.status.success() => Ok(counted),
            _ => Err(io::Error::other(said.into_owned())),
        }
    }

    /// Makes `calls` in one process: an answer for each.
    ///
    /// # Errors
    /// The program does not start, or something that has to hold did not: the error has what it said.
    pub fn answers(&self, calls: &[CoreCall]) -> io::Result<Vec<CoreAnswer>> {
        let mut child = Command::new(&self.program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let words = calls.iter().flat_map(|call| call.to_words());
        let input: Vec<u8> = words.flat_map(u64::to_ne_bytes).collect();
        let to = child.stdin.take();
        let mut output = Vec::new();
        thread::scope(|scope| {
            scope.spawn(move || to.map(|mut to| to.write_all(&input)));
            match child.stdout.take() {
                Some(mut from) => from.read_to_end(&mut output),
                None => Ok(0),
            }
        })?;
        let ended = child.wait_with_output()?;
        if !ended.status.success() {
            let said = String::from_utf8_lossy(&ended.stderr).into_owned();
            return Err(io::Error::other(said));
        }
        let word = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_ne_bytes);
        let words: Vec<u64> = output.chunks_exact(8).map(word).collect();
        let answers = words.chunks_exact(ANSWER_WORDS);
        Ok(answers
            .filter_map(|answer| answer.try_into().ok())
            .map(CoreAnswer::of_words)
            .collect())
    }

    /// Makes `calls` random calls from `seed`.
    ///
    /// # Errors
    /// As [`Self::answers`].
    pub fn any_calls(&self, seed: u64, calls: u64) -> io::Result<()> {
        let ended = Command::new(&self.program)
            .args([seed.to_string(), calls.to_string()])
            .output()?;
        if ended.status.success() {
            Ok(())
        } else {
            let said = String::from_utf8_lossy(&ended.stderr).into_owned();
            Err(io::Error::other(said))
        }
    }
}
