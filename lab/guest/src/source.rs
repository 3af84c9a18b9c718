//! Where the kernel's source comes from: Debian's packages `linux-source-6.12` and `linux-source-6.1`.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A series of kernels that a guest can be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum KernelSeries {
    /// Linux 6.1.
    Linux6_1,
    /// Linux 6.12.
    #[default]
    Linux6_12,
    /// Linux 6.12 with our patches for adaptive read-ahead (`kernel/patches`).
    Linux6_12Patched,
    /// The same for an emulated machine with several processors, and with all that finds mistakes in locking and memory.
    /// It has no virtual time, as those below.
    Linux6_12Smp,
    /// Linux 6.12 for an emulated machine whose instructions are counted.
    Linux6_12X86,
    /// The same with our patches.
    Linux6_12PatchedX86,
}

/// All of them, the usual one first.
pub const ALL: [KernelSeries; 6] = [
    KernelSeries::Linux6_12,
    KernelSeries::Linux6_1,
    KernelSeries::Linux6_12Patched,
    KernelSeries::Linux6_12Smp,
    KernelSeries::Linux6_12X86,
    KernelSeries::Linux6_12PatchedX86,
];

impl KernelSeries {
    /// As it is written.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Linux6_1 => "6.1",
            Self::Linux6_12 => "6.12",
            Self::Linux6_12Patched => "6.12-patched",
            Self::Linux6_12Smp => "6.12-patched-smp",
            Self::Linux6_12X86 => "6.12-x86",
            Self::Linux6_12PatchedX86 => "6.12-patched-x86",
        }
    }

    /// Whether it has the patches of `kernel/patches`.
    #[must_use]
    pub const fn is_patched(self) -> bool {
        matches!(
            self,
            Self::Linux6_12Patched | Self::Linux6_12Smp | Self::Linux6_12PatchedX86
        )
    }

    /// Whether it needs an emulated machine, instead of being a program itself.
    #[must_use]
    pub const fn is_emulated(self) -> bool {
        matches!(
            self,
            Self::Linux6_12Smp | Self::Linux6_12X86 | Self::Linux6_12PatchedX86
        )
    }

    /// Debian's package with its source.
    #[must_use]
    pub fn package(self) -> String {
        let version = match self {
            Self::Linux6_1 => Self::Linux6_1.name(),
            _ => Self::Linux6_12.name(),
        };
        format!("linux-source-{version}")
    }
}

impl fmt::Display for KernelSeries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No such series.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no guest has the kernel `{0}`: use 6.12, 6.1 or 6.12-patched; and, for machines that are emulated, \
     6.12-patched-smp, 6.12-x86 or 6.12-patched-x86"
)]
pub struct UnknownSeries(String);

impl FromStr for KernelSeries {
    type Err = UnknownSeries;

    fn from_str(text: &str) -> Result<Self, UnknownSeries> {
        let mut all = ALL.into_iter();
        all.find(|series| series.name() == text)
            .ok_or_else(|| UnknownSeries(text.to_owned()))
    }
}

/// A source that is not there.
#[derive(Debug, thiserror::Error)]
#[error(
    "the kernel's source is not here ({}: {source}); on Debian: apt-get install {package}",
    path.display()
)]
pub struct SourceError {
    path: PathBuf,
    package: String,
    source: io::Error,
}

/// A packed source tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelSource {
    /// The archive.
    pub archive: PathBuf,
    /// Which series.
    pub series: KernelSeries,
    /// What tells it from others of the series: its length and when Debian packed it.
    pub identity: String,
}

/// Finds the source of `series` below `root`, normally `/usr/src`.
///
/// # Errors
/// It is not there.
pub fn find(root: &Path, series: KernelSeries) -> Result<KernelSource, SourceError> {
    let package = series.package();
    let archive = root.join(format!("{package}.tar.xz"));
    let identity = fs::metadata(&archive).and_then(|meta| {
        let packed = meta.modified()?.duration_since(std::time::UNIX_EPOCH);
        let seconds = packed.map_or(0, |time| time.as_secs());
        Ok(format!("{series} {} {seconds}", meta.len()))
    });
    match identity {
        Ok(identity) => Ok(KernelSource {
            archive,
            series,
            identity,
        }),
        Err(source) => Err(SourceError {
            path: archive,
            package,
            source,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_is_not_there_names_its_package() {
        let folder = tempfile::tempdir().unwrap();
        let error = find(folder.path(), KernelSeries::Linux6_12).unwrap_err();
        let text = error.to_string();
        assert!(
            text.ends_with("apt-get install linux-source-6.12"),
            "{text}"
        );
    }

    #[test]
    fn series_are_read_as_they_are_written() {
        for series in ALL {
            assert_eq!(series.to_string().parse(), Ok(series));
        }
        assert!("5.10".parse::<KernelSeries>().is_err());
    }
}
