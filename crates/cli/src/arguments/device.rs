//! The command line of `ahead device`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::measure::{DeviceMeasure, DeviceRecommend};

/// `ahead device`.
#[derive(Debug, Subcommand)]
pub enum DeviceVerb {
    /// List the window of every device, and of every file system that has its own
    List(DeviceOptions),
    /// Show the layers below a path, mount or device, and which window counts
    Get {
        /// A file, folder, mount point, device (sda, /dev/sda, 8:0) or bdi (btrfs-1)
        #[arg(default_value = "/")]
        target: String,
        /// How to look.
        #[command(flatten)]
        options: DeviceOptions,
    },
    /// Set the window that counts for a path, mount or device (needs root)
    Set {
        /// A folder, mount point, device or bdi; a file is refused, as it has no window of its own
        target: String,
        /// The window: 512K, 4M, or in sectors of 512 bytes: 1024s. 0 turns read-ahead off
        value: String,
        /// How to look.
        #[command(flatten)]
        options: DeviceOptions,
    },
    /// Set the window now, as `set` does: nothing is written that the next boot would read (needs root)
    Apply {
        /// A folder, mount point, device or bdi; a file is refused, as it has no window of its own
        target: String,
        /// The window: 512K, 4M, or in sectors of 512 bytes: 1024s
        value: String,
        /// How to look.
        #[command(flatten)]
        options: DeviceOptions,
    },
    /// Set the window now and at every boot, by one file that is shown before it is written (needs root)
    Persist(PersistOptions),
    /// Whether what was persisted holds, after a boot or after the device came again; who changed it otherwise
    Verify {
        /// What was given to `persist`, or a device that it is for; without it, everything that is persisted
        target: Option<String>,
        /// How to look.
        #[command(flatten)]
        options: DeviceOptions,
    },
    /// Bring back what was there before `persist`: the file and the window (needs root)
    Revert {
        /// What was given to `persist`, or a device that it is for; without it, everything that is persisted
        target: Option<String>,
        /// How to look.
        #[command(flatten)]
        options: DeviceOptions,
    },
    /// Put back the window from before the last `set` (needs root)
    Undo {
        /// What was given to `set`
        target: String,
        /// How to look.
        #[command(flatten)]
        options: DeviceOptions,
    },
    /// Measure a device by reading: access time, bandwidth, depth, the curve over sizes, windows
    Measure(Box<DeviceMeasure>),
    /// Which window serves a mix of reads, or a trace, best on a measured device, and what it costs
    Recommend(Box<DeviceRecommend>),
}

/// `ahead device persist`.
#[derive(Debug, Args)]
pub struct PersistOptions {
    /// A folder, mount point, device or bdi; a file is refused, as it has no window of its own
    pub target: String,
    /// The window: 512K, 4M, or in sectors of 512 bytes: 1024s. 0 turns read-ahead off
    pub value: String,
    /// What is to set it at boot; without it, what sets windows here already, and else what is installed
    #[arg(long = "as", value_name = "HOW", value_enum)]
    pub mechanism: Option<PersistChoice>,
    /// Write without asking; with --json nothing is written without it, and the plan alone is printed
    #[arg(long)]
    pub yes: bool,
    /// How to look.
    #[command(flatten)]
    pub options: DeviceOptions,
}

/// What can set a window at boot.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum PersistChoice {
    /// A rule in /etc/udev/rules.d
    Udev,
    /// A line in /etc/tmpfiles.d
    Tmpfiles,
    /// A unit in /etc/systemd/system and its link
    Systemd,
    /// A section of the active profile of tuned
    Tuned,
    /// A line in /etc/sysfs.d
    #[value(name = "sysfs.d")]
    SysfsD,
    /// The section nfsrahead of /etc/nfs.conf
    Nfs,
    /// A script in /etc/hotplug.d/block (OpenWRT)
    Hotplug,
}

/// `ahead doctor`.
#[derive(Debug, Args)]
pub struct Doctor {
    /// Files, folders, mount points, devices or bdis; without any, everything that has a window
    #[arg(value_name = "PATH")]
    pub targets: Vec<String>,
    /// Look also at what running programs said of their mapped files; reads /proc/PID/smaps, a moment for each
    /// gigabyte in use
    #[arg(long)]
    pub mappings: bool,
    /// How to look.
    #[command(flatten)]
    pub options: DeviceOptions,
}

/// What all of them take.
#[derive(Debug, Args)]
pub struct DeviceOptions {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// The folder that holds the `sys`, `proc` and `dev` to look at, as of a recorded machine
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub root: PathBuf,
}
