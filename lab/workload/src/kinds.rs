//! The kinds of work: what a plan can say, and what a command line leaves out.
//!
//! A new kind is a variant here, a line in [`KINDS`] if it can be typed, and its files and steps in
//! `steps`. Sizes say their unit. Keys of a plan are the fields' names with hyphens.

use ahead_units::Advice;
use serde::{Deserialize, Serialize};

/// A count of reads that only a limit from outside ends.
pub const ENDLESS: u64 = u64::MAX;

/// In which order pages of a mapping are touched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TouchOrder {
    /// From the first to the last.
    #[default]
    Forward,
    /// From the last to the first.
    Backward,
    /// As many touches at random places as the file has pages.
    Random,
}

/// What a program says about what it reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hint {
    /// Nothing.
    #[default]
    Normal,
    /// In order.
    Sequential,
    /// In no order.
    Random,
}

impl From<Hint> for Advice {
    fn from(hint: Hint) -> Self {
        match hint {
            Hint::Normal => Self::Normal,
            Hint::Sequential => Self::Sequential,
            Hint::Random => Self::Random,
        }
    }
}

/// By which numbers chance is drawn.
///
/// The plans and the bench had a way each before they shared this language. Results were published
/// with both, so both stay; a new workload needs neither.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Draw {
    /// As the plans do: a window of requests by the hash of its number, a random read by the number
    /// of the sequential one in front of it.
    #[default]
    Plan,
    /// As the bench does: a window by its number, a random read by its place among all reads.
    Bench,
}

/// How lengths and distances are spread around their mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Variation {
    /// All alike.
    #[default]
    Fixed,
    /// Evenly from half of it to one and a half.
    Jittered,
    /// Many short, few long, without memory.
    Geometric,
    /// Mostly short, and now and then very long: half as often for each doubling.
    Heavy,
    /// Four values, in turn, again and again.
    Cycle,
}

/// Which way runs are read, one after another from the start of the file or from its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Course {
    /// Everything ascending.
    #[default]
    Forward,
    /// Everything descending.
    Backward,
    /// Runs follow each other ascending; every second one is read from its end.
    Turning,
}

/// What is read, and how.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "kebab-case",
    rename_all_fields = "kebab-case",
    deny_unknown_fields
)]
pub enum Workload {
    /// One file from its start to its end, `passes` times.
    Sequential {
        /// File size.
        file_mib: u64,
        /// One read.
        read_kib: u64,
        /// How often; 1 if left out.
        #[serde(default = "one")]
        passes: u64,
    },
    /// One file from its end to its start.
    Backward {
        /// File size.
        file_mib: u64,
        /// One read.
        read_kib: u64,
    },
    /// The first `read_kib` of every `period_kib`.
    Strided {
        /// File size.
        file_mib: u64,
        /// One read.
        read_kib: u64,
        /// From one read to the next.
        period_kib: u64,
        /// Whether a read takes place that fits behind the last whole period.
        #[serde(default)]
        part_period: bool,
    },
    /// One task with one descriptor reads `streams` equal parts of a file in turn.
    Interleaved {
        /// File size.
        file_mib: u64,
        /// How many parts.
        streams: u64,
        /// One read.
        read_kib: u64,
    },
    /// One task reads `streams` files in turn, each through its own descriptor.
    Separate {
        /// Size of each file.
        file_mib: u64,
        /// How many files.
        streams: u64,
        /// One read.
        read_kib: u64,
    },
    /// `threads` tasks of one process, each with its own part of one file.
    Threads {
        /// File size.
        file_mib: u64,
        /// How many.
        threads: u64,
        /// One read.
        read_kib: u64,
        /// Whether each has a descriptor of its own; otherwise they share one.
        #[serde(default)]
        own_descriptors: bool,
    },
    /// `readers` processes, each with its own file.
    Readers {
        /// Size of each file.
        file_mib: u64,
        /// How many.
        readers: u64,
        /// One read.
        read_kib: u64,
    },
    /// `loaders` processes, each of which reads a file of its own and writes part of what it has read to
    /// another. Only the simulator writes.
    Loaders {
        /// Size of each file that is read.
        file_mib: u64,
        /// How many.
        loaders: u64,
        /// One read.
        read_kib: u64,
        /// Bytes written of a hundred read, in whole pages.
        written_percent: u64,
    },
    /// A file server: `daemons` workers share a sequential scan whose requests arrive shuffled
    /// within windows of `shuffle`; each request opens, reads, and closes.
    Server {
        /// File size.
        file_mib: u64,
        /// Workers.
        daemons: u32,
        /// One request.
        read_kib: u64,
        /// Requests of a window; 1: in order.
        #[serde(default = "one")]
        shuffle: u64,
        /// How the windows are shuffled.
        #[serde(default)]
        draw: Draw,
    },
    /// Sequential, closed and opened again every `every_kib`.
    Reopen {
        /// File size.
        file_mib: u64,
        /// One read.
        read_kib: u64,
        /// Bytes between.
        every_kib: u64,
        /// Whether closing is a call of its own; otherwise opening again replaces the descriptor.
        #[serde(default)]
        closes: bool,
    },
    /// Reads at random places, aligned to their size.
    Random {
        /// File size.
        file_mib: u64,
        /// One read.
        read_kib: u64,
        /// How many; [`ENDLESS`] for as many as are wanted.
        reads: u64,
    },
    /// Random places, the same ones `passes` times in the same order: the epochs of who learns from records, or
    /// whoever follows an index again.
    Epochs {
        /// File size.
        file_mib: u64,
        /// One read.
        read_kib: u64,
        /// Reads of one pass.
        reads: u64,
        /// How often; 1 if left out.
        #[serde(default = "one")]
        passes: u64,
    },
    /// At random places, `burst` reads in a row each.
    Bursts {
        /// File size.
        file_mib: u64,
        /// One read.
        read_kib: u64,
        /// Reads of a burst.
        burst: u64,
        /// How many bursts.
        bursts: u64,
    },
    /// Runs of reads with gaps between them, through `files` files one after another: the column
    /// chunks of a table, the rows of a slice of an array, records that are left out.
    Runs {
        /// Size of each file.
        file_mib: u64,
        /// One read, of any length.
        read_bytes: u64,
        /// A run, in the mean; at least one read.
        run_kib: u64,
        /// How lengths of runs are spread.
        #[serde(default)]
        lengths: Variation,
        /// What is passed over between two runs, in the mean.
        gap_kib: u64,
        /// How gaps are spread.
        #[serde(default)]
        gaps: Variation,
        /// Which way.
        #[serde(default)]
        course: Course,
        /// How many files; 1 if left out.
        #[serde(default = "one")]
        files: u64,
        /// How often everything is read, each time the same; 1 if left out.
        #[serde(default = "one")]
        passes: u64,
        /// Whether the end and the start of a file are read before its runs: footer and header.
        #[serde(default)]
        footer: bool,
    },
    /// Leaves of a tree in order, some left out, and after every `every` of them one inner page:
    /// the parent of what comes next, `ahead_kib` further on, or as far behind.
    Leaves {
        /// File size.
        file_mib: u64,
        /// A leaf.
        read_kib: u64,
        /// How many leaves of a hundred are read.
        percent: u64,
        /// Leaves between two inner pages.
        every: u64,
        /// How far the inner page lies ahead of the scan.
        ahead_kib: u64,
        /// Whether it lies behind the scan instead.
        #[serde(default)]
        behind: bool,
        /// Whether the scan descends.
        #[serde(default)]
        backward: bool,
    },
    /// One task reads `streams` equal parts of a file through one descriptor, each next read from
    /// a part left to chance: the second half as often as the first, the third a third as often.
    Rates {
        /// File size.
        file_mib: u64,
        /// How many parts.
        streams: u64,
        /// One read.
        read_kib: u64,
    },
    /// Sequential, and after every `run` reads a random one of `random_kib`.
    Mixed {
        /// File size.
        file_mib: u64,
        /// One sequential read.
        read_kib: u64,
        /// Sequential reads between two random ones.
        run: u64,
        /// One random read.
        random_kib: u64,
        /// How the random places are drawn.
        #[serde(default)]
        draw: Draw,
    },
    /// Ascending single pages, each with a probability of `percent`.
    Sparse {
        /// File size.
        file_mib: u64,
        /// Probability.
        percent: u64,
    },
    /// Sequential, in reads of changing size: 4 KiB times 1 to `factor_max`.
    Sizes {
        /// File size.
        file_mib: u64,
        /// Largest read in pages.
        factor_max: u64,
    },
    /// Merges sorted runs: the next block comes from a run chosen at random.
    Merge {
        /// Size of each run.
        file_mib: u64,
        /// How many runs.
        runs: u64,
        /// One read.
        read_kib: u64,
    },
    /// `files` files in directory order, each opened, read to its end, and closed.
    SmallFiles {
        /// How many.
        files: u64,
        /// Size of each.
        file_kib: u64,
        /// One read.
        read_kib: u64,
    },
    /// Touches the pages of a mapping, every one unless at random places.
    Mapped {
        /// File size.
        file_mib: u64,
        /// In which order.
        #[serde(default)]
        order: TouchOrder,
        /// What `madvise` said.
        #[serde(default)]
        advice: Hint,
        /// How many random touches; as many as the file has pages if left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        touches: Option<u64>,
        /// Pages of one step when going forward; all of them if left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        step_pages: Option<u64>,
    },
    /// Maps `files` libraries and touches clusters of pages in them, as a program that starts:
    /// `clusters` runs of 1 to `cluster_pages` pages at random places of random files.
    Libraries {
        /// How many files.
        files: u64,
        /// Size of each.
        file_mib: u64,
        /// How many runs.
        clusters: u64,
        /// Longest run in pages.
        cluster_pages: u64,
    },
    /// `streams` slow readers, each a process with its own file, `bytes_per_s` each, for
    /// `seconds`. Their reads are spread evenly over time.
    Streams {
        /// How many.
        streams: u64,
        /// Rate of each.
        bytes_per_s: u64,
        /// One read.
        read_kib: u64,
        /// How long.
        seconds: u64,
    },
    /// A follower of a growing file reads what was appended since the last look, `look_kib` each
    /// time, with `think_us` between.
    Tail {
        /// File size at the end.
        file_mib: u64,
        /// Bytes of one look.
        look_kib: u64,
        /// Time between two.
        think_us: u64,
    },
    /// `streams` processes, each with a file of its own from start to end, whose reads go so many times in a
    /// thousand to random places of one more file instead, evenly spread.
    Mix {
        /// How many.
        streams: u64,
        /// Reads of each, the random ones included. A file is as long as those that are not.
        reads: u64,
        /// One read.
        read_kib: u64,
        /// Random reads of a thousand.
        random_permille: u64,
        /// Size of the file with the random places.
        random_mib: u64,
    },
    /// A database: `backends` tasks look up `lookups` rows each (one random index page, one
    /// random heap page), and the last one scans the whole heap meanwhile.
    Database {
        /// Heap size.
        heap_mib: u64,
        /// Index size.
        index_mib: u64,
        /// Tasks, the scanning one included.
        backends: u64,
        /// Lookups of each.
        lookups: u64,
    },
    /// Another workload, with processor time and pauses around each of its reads.
    Paced {
        /// Which.
        work: Box<Workload>,
        /// The program's own work after each read.
        #[serde(default)]
        compute_us: u64,
        /// Its pause after each read.
        #[serde(default)]
        think_us: u64,
    },
    /// One after another in one program, over the longest file of all: phases. Only works of one task
    /// with one descriptor that is open from the start can be phases; others do nothing.
    Phases {
        /// Which.
        works: Vec<Workload>,
    },
    /// Several at the same time, each with its own files and processes.
    Together {
        /// Which.
        works: Vec<Workload>,
    },
}

const fn one() -> u64 {
    1
}

/// A kind that can be typed: its name, the values of what is left out, and what it is.
pub type TypedKind = (&'static str, &'static str, &'static str);

/// Every kind that stands alone. Those that contain others need a plan.
pub const KINDS: &[TypedKind] = &[
    (
        "sequential",
        "file-mib=256,read-kib=64,passes=1",
        "one file from its start",
    ),
    (
        "backward",
        "file-mib=256,read-kib=64",
        "one file from its end",
    ),
    (
        "strided",
        "file-mib=256,read-kib=16,period-kib=64",
        "the first part of every period",
    ),
    (
        "interleaved",
        "file-mib=256,streams=8,read-kib=64",
        "parts of one file in turn, one descriptor",
    ),
    (
        "separate",
        "file-mib=64,streams=8,read-kib=64",
        "several files in turn, a descriptor each",
    ),
    (
        "threads",
        "file-mib=256,threads=8,read-kib=64",
        "tasks with one descriptor, a part each",
    ),
    (
        "readers",
        "file-mib=64,readers=8,read-kib=64",
        "processes, a file each",
    ),
    (
        "loaders",
        "file-mib=64,loaders=8,read-kib=64,written-percent=20",
        "processes, a file each, that write part of what they read (simulator only)",
    ),
    (
        "server",
        "file-mib=256,daemons=8,read-kib=32,shuffle=8",
        "workers share a scan that arrives shuffled",
    ),
    (
        "reopen",
        "file-mib=256,read-kib=64,every-kib=1024",
        "sequential, closed and opened again",
    ),
    (
        "random",
        "file-mib=1024,read-kib=4,reads=2000",
        "random places",
    ),
    (
        "epochs",
        "file-mib=1024,read-kib=64,reads=2000,passes=3",
        "the same random places again and again, in one order",
    ),
    (
        "bursts",
        "file-mib=1024,read-kib=16,burst=8,bursts=400",
        "random places, some reads in a row each",
    ),
    (
        "runs",
        "file-mib=256,read-bytes=65536,run-kib=4096,lengths=fixed,gap-kib=6144,gaps=fixed,\
         course=forward,files=1,passes=1",
        "runs of reads with gaps between them",
    ),
    (
        "leaves",
        "file-mib=256,read-kib=16,percent=90,every=200,ahead-kib=900",
        "leaves of a tree, with a look at its inner pages",
    ),
    (
        "rates",
        "file-mib=256,streams=8,read-kib=64",
        "parts of one file at different rates",
    ),
    (
        "mixed",
        "file-mib=512,read-kib=64,run=4,random-kib=16",
        "sequential, with a random read now and then",
    ),
    (
        "sparse",
        "file-mib=128,percent=50",
        "ascending, some of the pages",
    ),
    (
        "sizes",
        "file-mib=256,factor-max=64",
        "sequential, reads of 1 to factor-max pages",
    ),
    (
        "merge",
        "file-mib=64,runs=8,read-kib=64",
        "sorted runs, the next block from any of them",
    ),
    (
        "small-files",
        "files=1000,file-kib=100,read-kib=32",
        "small files, each read whole",
    ),
    (
        "mapped",
        "file-mib=256,order=forward,advice=normal",
        "a mapping: forward, backward or random",
    ),
    (
        "libraries",
        "files=30,file-mib=8,clusters=500,cluster-pages=8",
        "a program that starts",
    ),
    (
        "streams",
        "streams=100,bytes-per-s=300000,read-kib=16,seconds=20",
        "slow readers, a file each",
    ),
    (
        "tail",
        "file-mib=8,look-kib=16,think-us=2000",
        "what was appended, now and then",
    ),
    (
        "mix",
        "streams=8,reads=1500,read-kib=128,random-permille=300,random-mib=1024",
        "processes, a file each, and random reads of one more in between",
    ),
    (
        "database",
        "heap-mib=256,index-mib=64,backends=4,lookups=500",
        "lookups through an index beside a scan",
    ),
];
