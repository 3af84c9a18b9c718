//! The kinds of work: what a plan can say, and what a command line leaves out.
//!
//! A new kind is a variant here, a line in [`KINDS`] (`table`) if it can be typed, and its files and steps in
//! `steps`. Sizes say their unit. Keys of a plan are the fields' names with hyphens.

use ahead_units::Advice;
use serde::{Deserialize, Serialize};

mod table;

pub use table::{KINDS, TypedKind};

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

/// Where the reads of [`Workload::Odd`] lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// Each step is longer than the one before, by `varied`.
    Drifting,
    /// One read in each step, up to `varied` behind its start.
    Jittered,
    /// A stride that moves on by `varied` after every `group` reads.
    Shifting,
    /// A stride with one of `group` elements left out, by chance.
    Holed,
    /// Reads and gaps of any length: up to twice the read, up to twice the step.
    Gapped,
    /// Each read within `varied` of the last one, on either side.
    Wandering,
    /// Each step is a `group`th longer than the one before, until one is an eighth of the file; then anew.
    Growing,
    /// Rows of `step`: tiles as wide as a read and `group` rows high, one row of tiles after the other.
    Tiled,
    /// Rows of `step`: one column as wide as a read after the other, `group` of them.
    Columns,
    /// Chunks of `step` in shuffled order, each read up to `varied` before its end.
    Chunked,
    /// `group` cursors, each with steps of its own; chance says which is next.
    Cursors,
    /// From both ends in turn.
    Ends,
    /// `group` steps in turn, around the mean.
    Cycled,
    /// `group` reads in a row, then a skip that varies.
    Skipping,
    /// Each read begins `varied` before the end of the last one; after every `group` of them there is a step.
    Overlapping,
    /// A search by halves for a place left to chance, then `group` reads in a row from there.
    Searched,
    /// Records of any length: a read from the start of each, and one of `varied` right behind it.
    Framed,
    /// `group` elements of a stride, then as much left out.
    Nested,
    /// A stride, and after every `group` reads one of `varied` bytes in the first sixteenth of the file.
    Indexed,
    /// In a row, and after every `group` reads a step back.
    Revisited,
}

impl Form {
    /// All of them.
    pub const ALL: [Self; 20] = [
        Self::Drifting,
        Self::Jittered,
        Self::Shifting,
        Self::Holed,
        Self::Gapped,
        Self::Wandering,
        Self::Growing,
        Self::Tiled,
        Self::Columns,
        Self::Chunked,
        Self::Cursors,
        Self::Ends,
        Self::Cycled,
        Self::Skipping,
        Self::Overlapping,
        Self::Searched,
        Self::Framed,
        Self::Nested,
        Self::Indexed,
        Self::Revisited,
    ];
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
    /// Reads at odd places of one file, as its form says. Lengths are in bytes and seldom whole pages.
    Odd {
        /// File size.
        file_mib: u64,
        /// Which reads.
        form: Form,
        /// One read, or the mean of them.
        read_bytes: u64,
        /// From one read to the next, or the mean of it.
        step_bytes: u64,
        /// How far steps, places or lengths vary.
        varied_bytes: u64,
        /// How many reads, places or rows belong together.
        group: u64,
        /// Whether everything is mirrored: the first read is the last of the file.
        #[serde(default)]
        backward: bool,
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
