//! Disk models as pure arithmetic: requests and moments in, completions out.
//!
//! There is no clock and no I/O here. The caller says what time it is, so the same definition runs
//! in virtual time (a simulator) and in real time (the emulated disk, crate `disk`), and every
//! figure is whole nanoseconds, so that two runs with the same requests are equal to the last digit.
//!
//! * [`model`]: what a disk is made of, the TOML form; [`presets`]: disks by name; `chance`: those that nobody chose;
//!   [`typed`]: all of them in one line; [`estimate`]: two numbers for each
//! * [`disk`]: the event machine; a request goes in, a completion comes out at the modelled time
//! * `mechanism`: what every kind takes and gives; `limits`: what its figures must keep to; `order`:
//!   in which order requests that wait are served
//! * [`time_scale`]: a disk that runs faster or slower than real
//!
//! The mechanisms, one file each: [`arm`] (rotating, one arm, mean times), [`drive`] (rotating, with
//! zones, angle and buffer), [`flash`] (channels), [`ramp`] (flash fitted to sequential rates),
//! [`volume`] (a network volume with a gate), [`fixed`] (an access time and a rate), [`mod@array`]
//! (several of them behind a controller). `serial` is the line in front of those that serve one
//! request at a time.
#![forbid(unsafe_code)]

pub mod arm;
pub mod array;
mod chance;
pub mod disk;
pub mod drive;
pub mod estimate;
pub mod fixed;
pub mod flash;
mod limits;
mod mechanism;
pub mod model;
mod names;
mod order;
pub mod presets;
pub mod ramp;
mod serial;
pub mod time_scale;
pub mod typed;
pub mod volume;

pub use arm::ArmModel;
pub use array::ArrayModel;
pub use disk::Disk;
pub use drive::{BufferModel, DriveModel, SeekCurve, Zone};
pub use fixed::FixedModel;
pub use flash::FlashModel;
pub use limits::ModelError;
pub use mechanism::{Completion, Request};
pub use model::DiskModel;
pub use order::ServiceOrder;
pub use ramp::RampModel;
pub use time_scale::TimeScale;
pub use volume::VolumeModel;
