//! The programs on the kernel that runs. Root.

use std::path::Path;

use ahead_observer::observer::Observer;
use ahead_observer::self_test;

/// On the file system that this is built on.
const FOLDER: &str = env!("CARGO_TARGET_TMPDIR");

#[test]
fn this_kernel_tells_the_truth() {
    let mut observer = Observer::start().expect("root, and a kernel with the tracepoints");
    self_test::run(&mut observer, Path::new(FOLDER)).unwrap();
    assert!(!observer.is_attached(), "nothing is watched any more");
}
