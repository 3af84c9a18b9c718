//! The names of the ready-made disks, which errors list and [`presets`](crate::presets) gives.

/// Names of the presets.
pub(crate) const NAMES: [&str; 24] = [
    "hdd",
    "ssd",
    "cloud",
    "theory",
    "fireball",
    "fireball-pio",
    "diamondmax",
    "barracuda-7200.11",
    "hp-97560",
    "ibm-dnes",
    "atlas-iii",
    "atlas-10k",
    "atlas-10k-v",
    "barracuda-st32171",
    "cheetah-9lp",
    "eva",
    "sata-stripe",
    "cheetah-raid5",
    "x25m",
    "nvme",
    "gp3",
    "gp2",
    "st1",
    "oci",
];
