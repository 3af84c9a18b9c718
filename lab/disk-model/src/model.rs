//! What a disk is made of: the kinds of mechanism, what they have in common, and their TOML form.
//!
//! A model is data at real speed. How requests travel through it is in the mechanism's own file; how
//! fast time runs is [`TimeScale`](crate::TimeScale). Ready-made ones are in
//! [`presets`](crate::presets).
//!
//! ```toml
//! kind = "arm"
//! media-bytes-per-s = 100000000
//! seek-us-min = 1500
//! seek-us-max = 6200
//! rotation-rpm = 7200
//! order = { kind = "c-look", age-ms-max = 500 }
//! ```

use ahead_units::PAGE_BYTES;
use serde::{Deserialize, Serialize};

use crate::arm::ArmModel;
use crate::array::ArrayModel;
use crate::drive::{DriveModel, SECTOR_BYTES};
use crate::fixed::FixedModel;
use crate::flash::FlashModel;
use crate::limits::ModelError;
use crate::order::ServiceOrder;
use crate::ramp::RampModel;
use crate::volume::VolumeModel;

/// One modelled disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum DiskModel {
    /// A rotating disk with one arm.
    Arm(ArmModel),
    /// Flash with parallel channels.
    Flash(FlashModel),
    /// A network volume: latency, a gate for requests, a limit for bytes.
    Volume(VolumeModel),
    /// An access time and a rate.
    Fixed(FixedModel),
    /// A rotating disk with zones, a true angle, and a buffer that reads ahead.
    Drive(DriveModel),
    /// Flash whose first pages are slow.
    Ramp(RampModel),
    /// Several disks behind a controller.
    Array(ArrayModel),
}

impl DiskModel {
    /// Reads and checks the TOML form.
    ///
    /// # Errors
    /// [`ModelError::Syntax`] or [`ModelError::Figure`].
    pub fn from_toml(text: &str) -> Result<Self, ModelError> {
        let model: Self =
            toml::from_str(text).map_err(|error| ModelError::Syntax(error.to_string()))?;
        model.check()?;
        Ok(model)
    }

    /// The TOML form, readable by [`from_toml`](Self::from_toml).
    ///
    /// # Errors
    /// [`ModelError::Syntax`] for figures beyond what TOML can hold (2⁶³).
    pub fn to_toml(&self) -> Result<String, ModelError> {
        toml::to_string(self).map_err(|error| ModelError::Syntax(error.to_string()))
    }

    /// The same disk with another order of service; mechanisms without an arm have nothing to
    /// reorder and stay as they are. In an array it is the order of every member.
    #[must_use]
    pub fn with_order(mut self, order: ServiceOrder) -> Self {
        match &mut self {
            Self::Arm(arm) => arm.order = order,
            Self::Drive(drive) => drive.order = order,
            Self::Array(array) => *array.member = array.member.as_ref().clone().with_order(order),
            Self::Flash(_) | Self::Volume(_) | Self::Fixed(_) | Self::Ramp(_) => {}
        }
        self
    }

    /// Whether the kernel should be told that this disk rotates.
    #[must_use]
    pub const fn is_rotational(&self) -> bool {
        match self {
            Self::Arm(_) | Self::Drive(_) | Self::Fixed(_) | Self::Array(_) => true,
            Self::Flash(_) | Self::Volume(_) | Self::Ramp(_) => false,
        }
    }

    /// Bytes of a chunk and of a row of chunks with data: what the kernel is told of an array as `minimum_io_size` and
    /// `optimal_io_size`, by md and by today's controllers; `None` for what is no array.
    #[must_use]
    pub const fn stripes(&self) -> Option<(u64, u64)> {
        match self {
            Self::Array(array) => Some((array.chunk_bytes, array.chunk_bytes * array.data_disks())),
            _ => None,
        }
    }

    /// What it is, in two words.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Arm(_) | Self::Drive(_) => "rotating disk",
            Self::Flash(_) | Self::Ramp(_) => "flash disk",
            Self::Volume(_) => "network volume",
            Self::Fixed(_) => "fixed times",
            Self::Array(_) => "disk array",
        }
    }

    /// Nanoseconds of the host's processor for every page of 4 KiB that comes: what programmed I/O
    /// takes. 0 for everything with DMA. The model does not wait for it; whoever has a processor
    /// charges it there.
    #[must_use]
    pub const fn cpu_ns_per_page(&self) -> u64 {
        match self {
            Self::Drive(drive) => drive
                .cpu_ns_per_sector
                .saturating_mul(PAGE_BYTES / SECTOR_BYTES),
            _ => 0,
        }
    }

    /// Checks that every figure makes sense.
    ///
    /// # Errors
    /// [`ModelError::Figure`] names the first that does not.
    pub fn check(&self) -> Result<(), ModelError> {
        match self {
            Self::Arm(arm) => arm.check(),
            Self::Flash(flash) => flash.check(),
            Self::Volume(volume) => volume.check(),
            Self::Fixed(fixed) => fixed.check(),
            Self::Drive(drive) => drive.check(),
            Self::Ramp(ramp) => ramp.check(),
            Self::Array(array) => array.check(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_found_passes_its_checks_and_survives_toml() {
        for name in DiskModel::PRESETS {
            let model = DiskModel::preset(name).expect("a preset");
            let text = model.to_toml().expect("writable");
            assert_eq!(DiskModel::from_toml(&text), Ok(model));
        }
    }

    #[test]
    fn the_example_in_the_documentation_is_the_hdd_preset() {
        let text = "kind = \"arm\"\nmedia-bytes-per-s = 100000000\nseek-us-min = 1500\n\
                    seek-us-max = 6200\nrotation-rpm = 7200\n\
                    order = { kind = \"c-look\", age-ms-max = 500 }\n";
        assert_eq!(DiskModel::from_toml(text), Ok(DiskModel::hdd()));
    }

    #[test]
    fn a_misspelt_or_senseless_model_is_refused() {
        let wrong = [
            "",
            "kind = \"drum\"",
            "kind = \"flash\"\nchannels = 0\npage-us = 80\npage-bytes = 16384",
            "kind = \"flash\"\nchannels = 8\npage-us = 80\npage-bytes = 16384\ncolour = 1",
            "kind = \"volume\"\nlatency-us = -1\nrequests-per-s = 1\nbytes-per-s = 1",
        ];
        for text in wrong {
            assert!(DiskModel::from_toml(text).is_err(), "{text:?} was accepted");
        }
        assert!(DiskModel::preset("floppy").is_err());
    }
}
