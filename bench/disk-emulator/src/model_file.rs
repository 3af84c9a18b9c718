//! Finding the model that was asked for: a preset by name, or a file.
//!
//! What a model is, and what its TOML form means, is in `ahead_disk_model`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ahead_disk_model::{DiskModel, ModelError};

/// Why there is no such model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadModelError {
    /// Neither a preset nor the name of a file.
    #[error(transparent)]
    Unknown(ModelError),
    /// The file cannot be read.
    #[error("cannot read the disk model {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
    /// The file does not hold a model.
    #[error("{}: {source}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: ModelError,
    },
}

/// The model called `text`: a preset (`hdd`, `ssd`, `cloud`), or the path of a file that ends in
/// `.toml`.
///
/// # Errors
/// [`LoadModelError`].
pub fn load_model(text: &str) -> Result<DiskModel, LoadModelError> {
    let path = Path::new(text);
    if path.extension().is_none_or(|extension| extension != "toml") {
        return DiskModel::preset(text).map_err(LoadModelError::Unknown);
    }
    let content = fs::read_to_string(path).map_err(|source| LoadModelError::Read {
        path: path.to_owned(),
        source,
    })?;
    DiskModel::from_toml(&content).map_err(|source| LoadModelError::Content {
        path: path.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preset_a_file_and_neither_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mine.toml");
        fs::write(&file, DiskModel::ssd().to_toml().unwrap()).unwrap();
        let wrong = folder.path().join("wrong.toml");
        fs::write(&wrong, "kind = \"drum\"").unwrap();
        assert_eq!(load_model("hdd").unwrap(), DiskModel::hdd());
        assert_eq!(
            load_model(file.to_str().unwrap()).unwrap(),
            DiskModel::ssd()
        );
        assert!(matches!(
            load_model("tape"),
            Err(LoadModelError::Unknown(_))
        ));
        assert!(matches!(
            load_model("tape.toml"),
            Err(LoadModelError::Read { .. })
        ));
        let content = load_model(wrong.to_str().unwrap());
        assert!(matches!(content, Err(LoadModelError::Content { .. })));
    }
}
