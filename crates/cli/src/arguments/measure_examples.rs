//! Examples of `ahead device measure` and `ahead device recommend`.

use super::example::{Examples, of};

pub(super) static MEASURE: &[Examples] = &[
    of(
        "ahead-device-measure",
        &[
            (
                "sudo ahead device measure sdb --json sdb.json",
                "a minute of reading; `recommend` takes the file",
            ),
            (
                "ahead device measure /data/big.bin --time 20s",
                "the device of a file, without root",
            ),
            (
                "sudo ahead device measure /dev/nvme0n1 --svg curve.svg --fio jobs",
                "draw the curve, and write job files that repeat it",
            ),
        ],
    ),
    of(
        "ahead-device-recommend",
        &[
            (
                "ahead device recommend sdb.json --sequential-streams 8 --memory 2G",
                "eight readers of a measured disk",
            ),
            (
                "ahead device recommend /data --random-share 0.3 --latency-limit 20ms",
                "with random reads that must not wait",
            ),
            (
                "ahead device recommend --model hdd --random-share 1 --what-if 32M",
                "before it happens",
            ),
            (
                "ahead device recommend --model cloud --sequential-streams 8 --prove",
                "read over a real kernel at every window, in a guest",
            ),
        ],
    ),
];
