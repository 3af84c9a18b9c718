//! Examples of the commands that keep a window.

/// What is typed, and what it does.
type Lines = &'static [(&'static str, &'static str)];

/// `ahead device apply`.
pub(super) const APPLY: Lines = &[
    (
        "sudo ahead device apply /data 1M",
        "until the next boot, to see whether it helps",
    ),
    (
        "sudo ahead device undo /data",
        "if it does not; otherwise `persist`",
    ),
];

/// `ahead device persist`.
pub(super) const PERSIST: Lines = &[
    (
        "sudo ahead device persist /data 1M",
        "shows what would be written, and asks",
    ),
    (
        "sudo ahead device persist sda 512K --as udev --yes",
        "a rule of udev, without asking",
    ),
    (
        "ahead device persist sda 512K --json",
        "the plan for programs; nothing is written",
    ),
];

/// `ahead device verify`.
pub(super) const VERIFY: Lines = &[
    ("ahead device verify", "after a boot: does all of it hold?"),
    ("ahead device verify sda --json", "the same for programs"),
];

/// `ahead device revert`.
pub(super) const REVERT: Lines = &[
    (
        "sudo ahead device revert /data",
        "the file and the window, as they were",
    ),
    ("sudo ahead device revert", "everything that is persisted"),
];
