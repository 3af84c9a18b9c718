//! `/proc/self/status` and `/proc/self/maps` - what this process ignores, and what it has mapped.
//!
//! See `man 5 proc_pid_status` and `man 5 proc_pid_maps`.

use std::fs;
use std::io;
use std::path::Path;

/// Bit n-1 is set when this process ignores signal n. `proc_root` is normally `/proc`.
pub fn ignored_signals(proc_root: &Path) -> io::Result<u64> {
    let status = fs::read_to_string(proc_root.join("self/status"))?;
    status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Which of `files` this process has mapped, in their order. Paths are compared as the kernel
/// writes them: absolute and without links.
pub fn mapped(proc_root: &Path, files: &[impl AsRef<Path>]) -> io::Result<Vec<bool>> {
    let maps = fs::read_to_string(proc_root.join("self/maps"))?;
    // 7f00-7f10 r-xp 00000000 08:02 135522    /usr/lib/a b.so
    let paths: Vec<&str> = maps
        .lines()
        .filter_map(|line| Some(&line[line.find('/')?..]))
        .collect();
    Ok(files
        .iter()
        .map(|file| paths.iter().any(|path| Path::new(path) == file.as_ref()))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(file: &str, text: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("self")).unwrap();
        fs::write(root.path().join("self").join(file), text).unwrap();
        root
    }

    #[test]
    fn ignored_signals_are_bits() {
        let root = with(
            "status",
            "Name:\tx\nSigBlk:\t0\nSigIgn:\t0000000000001006\n",
        );
        assert_eq!(ignored_signals(root.path()).unwrap(), 0x1006);
        let without = with("status", "Name:\tx\n");
        let error = ignored_signals(without.path()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn a_file_is_mapped_by_its_whole_path_and_not_by_a_part_of_it() {
        let root = with(
            "maps",
            "7f00-7f10 r-xp 00000000 08:02 135522    /usr/lib/a b.so\n\
             7ffd-7ffe rw-p 00000000 00:00 0         [stack]\n",
        );
        let files = ["/usr/lib/a b.so", "/usr/lib/a", "/lib/a b.so"].map(Path::new);
        assert_eq!(mapped(root.path(), &files).unwrap(), [true, false, false]);
    }
}
