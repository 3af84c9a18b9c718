//! What a host says of a file.

use ahead_policy::adaptive::StreamId;
use ahead_policy::knobs::Knobs;
use ahead_units::PageCount;

use crate::device::LongRead;
use crate::devices::DevicePlace;
use crate::filling::FilledRead;

/// What a host says of a file when it opens it.
#[derive(Clone, Copy, Debug)]
pub struct FileFacts {
    /// Its length; nothing beyond is asked for.
    pub file_pages: PageCount,
    /// The device it lies on.
    pub device: DevicePlace,
    /// The limits that hold for it.
    pub knobs: Knobs,
}

/// A read that had to wait for the device.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    /// The stream it belonged to.
    pub stream: Option<StreamId>,
    /// It lay inside a window.
    pub covered: bool,
    /// What [`FileState::served`](crate::file::FileState::served) said of it.
    pub served: Option<PageCount>,
    /// What [`FileState::filled_read`](crate::file::FileState::filled_read) said of it.
    pub filled_read: Option<FilledRead>,
    /// What [`FileState::long_read`](crate::file::FileState::long_read) said of it.
    pub long_read: LongRead,
    /// How long it took.
    pub waited_ns: u64,
}
