//! What holds around one step of a file.

use ahead_units::Timestamp;

use crate::device::Device;
use crate::group::Group;

/// What holds around one step of a file: what it shares with others, and when.
#[derive(Clone, Copy, Debug)]
pub struct Around<'a> {
    /// Its group.
    pub group: &'a Group,
    /// Its device.
    pub device: &'a Device,
    /// Other processes of the group ask this device too.
    pub is_shared: bool,
    /// Lone reads of other processes of the group wait for it.
    pub has_lone_reads: bool,
    /// The host tells of [all reads](crate::host::FileTable::SEES_ALL_READS).
    pub sees_all: bool,
    /// The newest read is over already: asking for it alone would be in vain.
    pub is_over: bool,
    /// The moment.
    pub now: Timestamp,
}

impl Around<'_> {
    /// Whether others use the device too, in this process or in others.
    pub(crate) fn is_contested(&self) -> bool {
        self.is_shared || self.device.is_contested()
    }
}
