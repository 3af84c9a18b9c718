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

use std::str::FromStr;

use ahead_units::PAGE_BYTES;
use serde::{Deserialize, Serialize};

use crate::array::ArrayModel;
use crate::drive::{DriveModel, SECTOR_BYTES};
use crate::fixed::FixedModel;
use crate::ramp::RampModel;

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

/// In which order waiting requests are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "kebab-case",
    rename_all_fields = "kebab-case",
    deny_unknown_fields
)]
pub enum Order {
    /// First come, first served.
    Fifo,
    /// Ascending from where the head is, then again from the lowest, as elevators do.
    CLook {
        /// A request that has waited longer (real milliseconds) goes first, oldest first. Without
        /// this, one contiguous stream holds the head and the others starve.
        age_ms_max: u64,
    },
}

/// What Linux' own deadline scheduler allows a read to wait. Lower, and concurrent streams tear each
/// other apart; higher, and a waiting reader looks hung.
const AGE_MS_MAX: u64 = 500;

impl Order {
    /// C-LOOK with the usual limit for waiting.
    pub const C_LOOK: Self = Self::CLook {
        age_ms_max: AGE_MS_MAX,
    };
}

impl FromStr for Order {
    type Err = ModelError;

    /// Reads `fifo`, `c-look`, or `c-look:MS` with the longest wait in milliseconds.
    fn from_str(text: &str) -> Result<Self, ModelError> {
        let unknown = || ModelError::UnknownOrder(text.to_owned());
        match text {
            "fifo" => Ok(Self::Fifo),
            "c-look" => Ok(Self::C_LOOK),
            _ => {
                let age = text.strip_prefix("c-look:").ok_or_else(unknown)?;
                let age_ms_max = age.parse().map_err(|_| unknown())?;
                Ok(Self::CLook { age_ms_max })
            }
        }
    }
}

/// A rotating disk with one arm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ArmModel {
    /// Bytes per second that pass under the head.
    pub media_bytes_per_s: u64,
    /// Shortest seek, in microseconds.
    pub seek_us_min: u64,
    /// Full-stroke seek, in microseconds. Between the two a seek grows with the square root of its
    /// distance, because the arm accelerates for half of the way and brakes for the rest.
    pub seek_us_max: u64,
    /// Revolutions per minute. Every positioning is charged half a turn, the mean, instead of the
    /// true angle: the mean over many requests is the same, and a run can be repeated exactly.
    pub rotation_rpm: u64,
    /// Order of service.
    pub order: Order,
}

/// Flash with parallel channels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FlashModel {
    /// How many flash pages are read at the same time.
    pub channels: u32,
    /// Microseconds that one flash page takes on its channel; a read of less costs the same.
    pub page_us: u64,
    /// Bytes in a flash page.
    pub page_bytes: u64,
}

/// A network volume.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct VolumeModel {
    /// Microseconds that every request spends on the way; any number may be on the way at once.
    pub latency_us: u64,
    /// Requests per second that pass the gate, evenly spaced: there is no burst to use up first.
    pub requests_per_s: u64,
    /// Bytes per second that pass the gate.
    pub bytes_per_s: u64,
}

/// A model that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// No preset has this name.
    #[error(
        "no disk model is called {0:?}: use the path of a .toml file, or one of {presets}",
        presets = DiskModel::PRESETS.join(", ")
    )]
    UnknownPreset(String),
    /// Not an order of service.
    #[error("no order of service is called {0:?}: use fifo, c-look, or c-look:MS")]
    UnknownOrder(String),
    /// The text is not a model.
    #[error("not a disk model: {0}")]
    Syntax(String),
    /// A figure is outside of what makes sense.
    #[error("disk model: {field} must be {expected}")]
    Figure {
        /// The field at fault.
        field: &'static str,
        /// What it should be.
        expected: &'static str,
    },
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
    pub fn with_order(mut self, order: Order) -> Self {
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

impl Order {
    pub(crate) fn check(self) -> Result<(), ModelError> {
        match self {
            Self::Fifo => Ok(()),
            Self::CLook { age_ms_max } => {
                let field = "order.age_ms_max";
                within(field, age_ms_max, 0, 3_600_000, "at most an hour")
            }
        }
    }
}

impl ArmModel {
    fn check(&self) -> Result<(), ModelError> {
        within_rate("media_bytes_per_s", self.media_bytes_per_s)?;
        within_us("seek_us_max", self.seek_us_max)?;
        let expected = "at most seek_us_max";
        within(
            "seek_us_min",
            self.seek_us_min,
            0,
            self.seek_us_max,
            expected,
        )?;
        within(
            "rotation_rpm",
            self.rotation_rpm,
            1,
            1_000_000,
            "from 1 to 1000000",
        )?;
        self.order.check()
    }
}

impl FlashModel {
    fn check(&self) -> Result<(), ModelError> {
        within("channels", self.channels.into(), 1, 4_096, "from 1 to 4096")?;
        within("page_us", self.page_us, 1, 60_000_000, "from 1 to a minute")?;
        within(
            "page_bytes",
            self.page_bytes,
            512,
            1 << 30,
            "from 512 to 2^30",
        )
    }
}

impl VolumeModel {
    fn check(&self) -> Result<(), ModelError> {
        within_us("latency_us", self.latency_us)?;
        within(
            "requests_per_s",
            self.requests_per_s,
            1,
            1 << 30,
            "from 1 to 2^30",
        )?;
        within_rate("bytes_per_s", self.bytes_per_s)
    }
}

/// Refuses a `field` that is not from `min` to `max`.
pub(crate) fn within(
    field: &'static str,
    value: u64,
    min: u64,
    max: u64,
    expected: &'static str,
) -> Result<(), ModelError> {
    if (min..=max).contains(&value) {
        Ok(())
    } else {
        Err(ModelError::Figure { field, expected })
    }
}

/// Refuses a rate that no disk has.
pub(crate) fn within_rate(field: &'static str, bytes_per_s: u64) -> Result<(), ModelError> {
    within(
        field,
        bytes_per_s,
        1_000,
        1_000_000_000_000,
        "from 1000 to 10^12 bytes",
    )
}

/// Refuses a time that no request takes.
pub(crate) fn within_us(field: &'static str, us: u64) -> Result<(), ModelError> {
    within(field, us, 0, 60_000_000, "at most a minute")
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
    fn orders_are_read_as_people_write_them() {
        assert_eq!("fifo".parse(), Ok(Order::Fifo));
        assert_eq!("c-look".parse(), Ok(Order::C_LOOK));
        assert_eq!("c-look:20".parse(), Ok(Order::CLook { age_ms_max: 20 }));
        for wrong in ["", "clook", "c-look:", "c-look:-1", "FIFO"] {
            assert!(wrong.parse::<Order>().is_err(), "{wrong:?} was accepted");
        }
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
