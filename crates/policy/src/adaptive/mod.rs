//! The shipped policy: decides per file and per stream, from what the program read so far.
//!
//! One could implement it from this page.
//!
//! **Streams first.** A file (`file`) has a small table of streams. An access goes to the stream
//! that expected it (`matching`); what no stream expected becomes a candidate, and two candidates
//! that touch, or three that are evenly spaced (`recent`), become a `stream`. So several scans
//! over one descriptor, a parallel server whose requests arrive shuffled, and a scan with random
//! lookups in between are each seen for what they are. Streams belong to the file, not to the
//! descriptor: they outlive close and reopen. They are named by place and generation (`id`), so
//! that feedback which comes late meets its own stream or none. A run takes what lies near ahead of its reader, and what it has left out behind
//! it: close behind at once, up to 4 MiB behind if it is what was read last.
//!
//! **Shapes.** How the accesses of a stream follow each other is its `shape`; which way they go
//! is its `direction`, a mirror for page numbers. Who wants to see streams change shape is an
//! `observer`. Strides that break while their elements are on their way (`broken_strides`) make the
//! next ones last longer before they ask; how much three elements say depends on the device (`seen_stride`), and a round over
//! evenly spaced streams looks like a stride (`rounds`), unless it has more elements than there can be streams. A run whose reads are elements of
//! two to four strides in turn, as the fields of a record are, becomes those; a stride inside of what a run reads is a part of that. A stride of
//! short steps whose elements take longer than all that lies between, as each is a request, is read through (`read_through`), and timed.
//!
//! **Requests and windows.** A stream that is trusted asks for a `request`, and for the next one
//! when the reader reaches the first page of the newest (the marker). Requests double from
//! 128 KiB, or twice that where the program said SEQUENTIAL, up to what the device estimate says:
//! enough to cover an access where the stream has the device to itself, a·b·u/(1−u) where each
//! request has to be positioned for. What has been asked for and not yet reached is the `window`.
//! A reader that is slow of its own accord (`pace`) gets requests of what it consumes in some access
//! times, and no larger ones; those of a scan that has the device to itself, and gets all that it gives or
//! does not wait, grow with the run alone. A run of which is not known
//! how far it goes asks at once for no more than it has read, unless an arm has to be sent there for each
//! request. Elements of a stride that lie further apart than one access reaches are asked for as the
//! device serves them. Where memory is too short for what the kernel brings by itself, which on an arm is at
//! least the read, nothing is asked for.
//!
//! **Runs end** (`runs`) **and begin again** (`beginnings`). How long the runs of a file were bounds how
//! much is asked for in front of a new one. A run has ended when another begins and it has not moved for
//! some rounds over all of them, or when the reader goes on further ahead inside its own window, or when its place is needed and runs stop, each
//! before the next one begins. A `stray` read there ends nothing. Where runs begin in step, the next one is asked for before it begins. A new file
//! may begin with the lengths that those of others had which were closed before.
//!
//! **Feedback** (`served`). A reader that waits inside its window earns larger requests.
//! Requests found in memory already become probes that reach further and further; a probe that
//! misses brings the window back to the reader. Evicted pages halve the requests and are
//! remembered as the thrashing threshold.
//!
//! **The hit rate is a limit** (`hit_rate`). Pages that were brought in and given up unread, and
//! pages of holes that were read through, are a debt. Each accessed page pays `readahead_hit_rate`
//! pages of it, or one less when it was prefetched itself. A file in debt gets nothing. With the
//! default of 2, a reader of every second page pays for the holes between them; at 1 holes cannot
//! be paid for, and sparse streams are left to the kernel. A forward run that was asked for up to its reader
//! reads on through growing holes as far as the kernel would by itself, up to four times the rate: those are no debt. Neither are short holes
//! behind a stride that broke while its elements were on their way, up to twice the rate, and those of a stride that is read through.
//!
//! **Random costs nothing.** Accesses without a stream ask for nothing; while no access waits for
//! the device only eight accesses of 256 are looked at closely.

pub(crate) mod access;
mod beginnings;
mod broken_strides;
mod columns;
pub(crate) mod direction;
pub(crate) mod file;
pub(crate) mod hit_rate;
pub(crate) mod id;
pub(crate) mod matching;
pub(crate) mod moment;
pub(crate) mod observer;
pub(crate) mod pace;
mod read_through;
pub(crate) mod recent;
pub(crate) mod request;
pub(crate) mod rounds;
mod rows;
pub(crate) mod runs;
mod seen_stride;
pub(crate) mod served;
pub(crate) mod shape;
pub(crate) mod stray;
pub(crate) mod stream;
pub(crate) mod window;

pub use direction::Direction;
pub use file::FileStreams;
pub use file::feedback::ClosedRun;
pub use file::outcome::{Outcome, Quick};
pub use id::StreamId;
pub use matching::{STREAMS_FEW, STREAMS_MANY};
pub use moment::{ListedRange, Moment};
pub use observer::{Observer, Transition};
pub use shape::Shape;
pub use stream::Stream;
