//! Which disk a bench is for, as people write it.

use std::path::PathBuf;
use std::str::FromStr;

use ahead_disk_model::DiskModel;

/// Which disk to test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiskChoice {
    /// An emulated disk of this model (`hdd`, `ssd`, `cloud`), created and destroyed.
    Emulated(String),
    /// A folder, and so the disk below it.
    Folder(PathBuf),
}

impl FromStr for DiskChoice {
    type Err = std::convert::Infallible;

    /// The names of models are models, everything else is a folder.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(if DiskModel::PRESETS.contains(&text) {
            Self::Emulated(text.to_owned())
        } else {
            Self::Folder(text.into())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_a_model_and_everything_else_a_folder() {
        assert_eq!("ssd".parse(), Ok(DiskChoice::Emulated("ssd".into())));
        assert_eq!(
            "/mnt/ssd".parse(),
            Ok(DiskChoice::Folder("/mnt/ssd".into()))
        );
    }
}
