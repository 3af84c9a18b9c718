//! Writing a small file as a whole: whoever looks sees the old one or the new one, also after a crash.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

/// Writes `content` to `aside`, gives it the rights `mode`, and renames it to `file`. Both lie in one folder. A
/// link called `file` is replaced, not followed; what an earlier crash left at `aside` is removed.
///
/// # Errors
/// `file` is as it was before then.
pub fn replace(file: &Path, aside: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    match fs::remove_file(aside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let written = write(aside, content, mode).and_then(|()| fs::rename(aside, file));
    if written.is_err() {
        let _ = fs::remove_file(aside);
        return written;
    }
    // The name as well: without it, a power cut can bring back the old file.
    file.parent()
        .map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

fn write(aside: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    let mut new = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(aside)?;
    new.write_all(content)?;
    new.set_permissions(fs::Permissions::from_mode(mode))?;
    new.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_is_replaced_and_what_it_leads_to_stays() {
        let folder = tempfile::tempdir().unwrap();
        let [file, aside, other] = ["file", "aside", "other"].map(|name| folder.path().join(name));
        fs::write(&other, "other").unwrap();
        symlink(&other, &file).unwrap();
        symlink(&other, &aside).unwrap();
        replace(&file, &aside, b"new", 0o640).unwrap();
        assert_eq!(fs::read_to_string(&other).unwrap(), "other");
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        let found = fs::symlink_metadata(&file).unwrap();
        assert!(found.is_file() && found.permissions().mode() & 0o777 == 0o640);
        assert!(!aside.exists());
    }

    #[test]
    fn where_it_cannot_be_renamed_to_nothing_is_left_aside() {
        let folder = tempfile::tempdir().unwrap();
        let [file, aside] = ["file", "aside"].map(|name| folder.path().join(name));
        fs::create_dir(&file).unwrap();
        assert!(replace(&file, &aside, b"new", 0o644).is_err());
        assert!(file.is_dir() && !aside.exists());
    }
}
