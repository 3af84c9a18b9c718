//! Reads through several buffers at once, over the real kernel in virtual time: what they will want next is on its way while they wait.
//!
//! Needs the guest's kernel (`make lab`).

mod support;

use support::lab_run::{figure, figures};

/// Virtual time of a scan of 60 MB on a volume under `ahead run`, which makes this `read` at each 45 000 bytes.
fn scan_ns(read: &str) -> u64 {
    let script =
        format!("import os\nf = os.open('file', 0)\nfor at in range(0, 60000000, 45000): {read}");
    let prepare = "head -c 60MB /dev/urandom >file";
    let options = ["--disk", "cloud", "--prepare", prepare];
    figure(
        &figures(&options, &["python3", "-c", &script]),
        "elapsed_ns",
    )
}

/// They were told of when they were over, so that the volume had nothing to do until then: 1.20 of the kernel's time.
#[test]
fn a_scan_in_parts_is_as_fast_as_one_in_whole_reads() {
    let whole_ns = scan_ns("os.pread(f, 45000, at)");
    for read in [
        "os.preadv(f, [bytearray(9000)] * 5, at)",
        "os.readv(f, [bytearray(1000)] * 45)",
    ] {
        let parts_ns = scan_ns(read);
        assert!(
            parts_ns <= whole_ns + whole_ns / 50,
            "{read}: {parts_ns} and {whole_ns} ns"
        );
    }
}
