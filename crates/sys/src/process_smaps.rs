//! `/proc/PID/smaps` - what a process said with `madvise` of the files that it has mapped.
//!
//! The kernel walks the page tables of the process for it: a moment for each gigabyte in use.
//! See `man 5 proc_pid_smaps`.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::Path;

use crate::block_queue::DeviceNumber;
use crate::process_maps::mapping_line;

/// A mapped part of a file of which something was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdvisedMapping {
    /// The device of the file's superblock.
    pub device: DeviceNumber,
    /// The file as the process sees it.
    pub path: String,
    /// `MADV_RANDOM`: `rr`.
    pub is_random: bool,
    /// `MADV_HUGEPAGE`: `hg`.
    pub is_huge: bool,
}

/// The mappings of process `pid` that are of a file and have such advice, in the order of its memory. `NotFound`
/// when the process has ended, `PermissionDenied` without the right to trace it. `proc_root` is normally `/proc`.
pub fn advised_mappings_of(proc_root: &Path, pid: u32) -> io::Result<Vec<AdvisedMapping>> {
    let smaps = BufReader::new(File::open(proc_root.join(format!("{pid}/smaps")))?);
    let (mut found, mut head) = (Vec::new(), None);
    for line in smaps.split(b'\n') {
        let line = line?;
        // A name of any bytes may be in it.
        let line = String::from_utf8_lossy(&line);
        if let Some(flags) = line.strip_prefix("VmFlags:") {
            let has = |wanted| flags.split_ascii_whitespace().any(|flag| flag == wanted);
            let (is_random, is_huge) = (has("rr"), has("hg"));
            if let Some((device, path)) = head.take().filter(|_| is_random || is_huge) {
                found.push(AdvisedMapping {
                    device,
                    path,
                    is_random,
                    is_huge,
                });
            }
        } else if let Some(next) = mapping_line(&line) {
            let is_file = next.inode != 0 && next.name.starts_with('/');
            head = is_file.then(|| (next.mapping.device, next.name.to_owned()));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::mapped_file::MappedFile;

    #[test]
    fn only_files_of_which_something_was_said_are_told() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("7")).unwrap();
        let smaps = "\
7f0000000000-7f0000400000 r--s 00000000 08:02 135522                     /var/lib/a b.idx\n\
Size:               4096 kB\nVmFlags: rd mr mw me rr sd \n\
7f0000400000-7f0000800000 r--s 00000000 08:02 135523                     /var/lib/plain\n\
VmFlags: rd mr mw me sd \n\
7f0000800000-7f0000c00000 rw-p 00000000 00:00 0 \nVmFlags: rd wr mr mw me ac hg sd \n\
7f0001000000-7f0001400000 r-xp 00000000 fd:0a 9                          /usr/bin/db\nVmFlags: rd ex hg \n";
        fs::write(folder.path().join("7/smaps"), smaps).unwrap();
        let found = advised_mappings_of(folder.path(), 7).unwrap();
        let told: Vec<_> = found
            .iter()
            .map(|one| (one.path.as_str(), one.is_random, one.is_huge))
            .collect();
        assert_eq!(
            told,
            [
                ("/var/lib/a b.idx", true, false),
                ("/usr/bin/db", false, true)
            ]
        );
        assert_eq!(
            found[1].device,
            DeviceNumber {
                major: 0xfd,
                minor: 10
            }
        );
        assert!(advised_mappings_of(folder.path(), 8).is_err());
    }

    /// The running kernel says it of a mapping of this process, and no longer when it is gone.
    #[test]
    fn what_was_said_of_a_real_mapping_is_told() {
        let file = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        file.as_file().set_len(64 << 10).unwrap();
        let told = || {
            let found = advised_mappings_of(Path::new("/proc"), std::process::id()).unwrap();
            found
                .into_iter()
                .find(|one| Path::new(&one.path) == file.path())
        };
        let mapped = MappedFile::map(&File::open(file.path()).unwrap()).unwrap();
        assert_eq!(told(), None);
        mapped.advise_random().unwrap();
        assert!(told().is_some_and(|one| one.is_random && !one.is_huge));
        drop(mapped);
        assert_eq!(told(), None);
    }
}
