//! Examples of `ahead device measure` and `ahead device recommend`.

use super::example::{Examples, of};

pub(super) static MEASURE: &[Examples] = &[of(
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
)];
