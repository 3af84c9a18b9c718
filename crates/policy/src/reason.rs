//! Why a decision is what it is, and what a file's reads look like: the words of every report.
//!
//! Every report, log line and explanation is made from these, so what is said is what was done.

macro_rules! in_words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $code:literal, $text:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum $name {
            $($(#[$vdoc])* $variant = $code,)*
        }

        impl $name {
            /// The words for a report.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }

            /// The value that [`Self::code`] gave; `None` for a code of another version.
            #[must_use]
            pub const fn from_code(code: u8) -> Option<Self> {
                match code {
                    $($code => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// The number under which it is recorded.
            #[must_use]
            pub const fn code(self) -> u8 {
                self as u8
            }
        }
    };
}

in_words! {
    /// How the accesses of a stream follow each other.
    Pattern {
        /// Too few accesses.
        #[default]
        Unknown = 0, "unknown";
        /// Each access begins where the last one ended.
        Sequential = 1, "sequential";
        /// Each access ends where the last one began.
        Backward = 2, "backward";
        /// A fixed length every fixed period, forwards.
        Strided = 3, "strided";
        /// A fixed length every fixed period, backwards.
        StridedBackward = 4, "strided backward";
        /// Ascending with holes of changing size.
        Sparse = 5, "sparse";
        /// Sequential as a whole, shuffled in detail: a parallel reader or server.
        Shuffled = 6, "shuffled sequential";
        /// The same pages again from the start.
        Looping = 7, "looping";
        /// Nothing that predicts the next access.
        Random = 8, "random";
    }
}

in_words! {
    /// Why something was asked for, or nothing was.
    Reason {
        /// No decision was taken yet.
        #[default]
        None = 0, "no decision yet";
        /// The window still covers the reader.
        MarkerNotReached = 1, "the window still covers the reader";
        /// A second access in a row began a stream.
        StreamBegan = 2, "two accesses in a row: a first small window";
        /// The reader crossed the marker.
        MarkerCrossed = 3, "the reader crossed the marker: the next window";
        /// The reader waited inside the window, so it was made larger.
        ReaderWaited = 4, "the reader had to wait: a larger window";
        /// Fewer than three accesses agree.
        NoPattern = 6, "no pattern: nothing is asked for";
        /// Too many accesses without a pattern.
        RandomReads = 7, "random reads: left alone";
        /// Prefetched pages per accessed page are at the limit.
        HitRateLimit = 8, "readahead_hit_rate reached: no more until pages are used";
        /// The memory budget is used up.
        BudgetUsed = 9, "the memory budget is used up by windows not yet read";
        /// What would be asked for is in memory already.
        AlreadyCached = 10, "the pages are in memory already: asking less and less";
        /// The window reached the end of the file.
        EndOfFile = 11, "the window reaches the end of the file";
        /// Prefetched pages were evicted before they were read.
        Thrashed = 12, "prefetched pages were evicted before use: half the window";
        /// A setting says so.
        TurnedOff = 13, "turned off by setting";
        /// The kernel does this pattern as well.
        LeftToKernel = 14, "left to the kernel, which reads through the holes";
        /// The kernel's own window is as large as the scan's would be, or was measured to do better.
        KernelAsks = 24, "a scan for which the kernel asks for enough by itself";
        /// The program gives advice of its own.
        ProgramAdvises = 15, "the program gives its own advice: respected";
        /// The file was read from its start before.
        Reopened = 16, "reopened: continues where it was";
        /// Files like it were read to their ends.
        ExpectedWhole = 17, "small files were read whole before: all of it";
        /// Runs of this file ended about here.
        RunEnds = 18, "runs of this file ended about here: no more until it goes on";
        /// Measured: it is slower with requests than without, or that is being measured.
        DoesNotPay = 19, "left alone: reading ahead did not pay here, or that is being measured";
        /// Runs begin at equal distances.
        BeginningForeseen = 20, "runs of this file begin in step: where the next one will";
        /// The file is read by the same list of ranges as before.
        SameAsLastTime = 22, "the same ranges as last time: those that came next then";
        /// The run has not earned one more of its reads.
        ReadsAreLong = 23, "long reads: nothing is asked for until the run has gone on for a while";
        /// Random reads that come to much of a file.
        FilledIn = 25, "random reads that come to much of the file: what they have earned of the rest of it";
        /// The kernel would ask for it piece by piece, and wait for each.
        LongRead = 26, "a read longer than the kernel asks for at once: all of it";
        /// The program's own reads keep the device at work.
        ProgramAsksAhead = 21, "several reads of the file wait at once: the program asks ahead by itself";
    }
}
