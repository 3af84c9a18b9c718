//! Disk models as pure arithmetic: requests and moments in, completions out.
//!
//! There is no clock and no I/O here. The caller says what time it is, so the same definition runs
//! in virtual time (a simulator) and in real time (the emulated disk, crate `disk`), and every
//! figure is whole nanoseconds, so that two runs with the same requests are equal to the last digit.
//!
//! * [`model`]: what a disk is made of, the presets `hdd`, `ssd` and `cloud`, the TOML form
//! * [`disk`]: the event machine; a request goes in, a completion comes out at the modelled time
//! * [`time_scale`]: a disk that runs faster or slower than real
//!
//! The mechanisms, one file each: [`arm`] (rotating, one arm), [`flash`] (channels), [`volume`]
//! (a network volume with a gate).
#![forbid(unsafe_code)]

pub mod arm;
pub mod disk;
pub mod flash;
pub mod model;
pub mod time_scale;
pub mod volume;

pub use disk::{Completion, Disk, Request};
pub use model::{ArmModel, DiskModel, FlashModel, ModelError, Order, VolumeModel};
pub use time_scale::TimeScale;
