//! The series is the core as it is here, byte for byte, and each of its patches goes into the guest's kernel.

use std::fs;

use ahead_kernel_core_test::series::{CORE_FILES, kernel_folder, made_by, read, with_content};

#[test]
fn the_core_in_the_series_is_the_core_that_is_tested() {
    let series = read().expect("the series");
    for name in CORE_FILES {
        let path = format!("mm/{name}");
        let here = fs::read_to_string(kernel_folder().join("core").join(name)).expect("the core");
        let making = series.iter().filter_map(|(_, patch)| made_by(patch, &path));
        let making: Vec<_> = making.collect();
        assert_eq!(making.len(), 1, "one patch makes {path}");
        assert!(
            making[0] == here,
            "{path} of the series is not kernel/core/{name}: `make kernel-patches` writes it again"
        );
        let changing = format!("\n+++ b/{path}\n");
        let changing = series.iter().filter(|(_, patch)| patch.contains(&changing));
        assert_eq!(changing.count(), 1, "a later patch changes {path}");
    }
}

#[test]
fn what_is_put_into_a_patch_is_found_in_it() {
    let patch = "a\n--- /dev/null\n+++ b/mm/x.c\n@@ -0,0 +1,2 @@\n+one\n+\ndiff --git\n";
    assert_eq!(made_by(patch, "mm/x.c").as_deref(), Some("one\n\n"));
    let fresh = with_content(patch, "mm/x.c", "two\n").expect("it is made there");
    assert_eq!(
        fresh,
        "a\n--- /dev/null\n+++ b/mm/x.c\n@@ -0,0 +1,1 @@\n+two\ndiff --git\n"
    );
    assert_eq!(with_content(patch, "mm/y.c", ""), None);
}

/// What is no patch of the guest's kernel is never compiled and never measured.
#[test]
fn every_patch_of_the_series_goes_into_the_guests_kernel() {
    let source = kernel_folder().join("../lab/guest/src/kernel.rs");
    let source = fs::read_to_string(source).expect("the list");
    let series = read().expect("the series");
    for (name, patch) in &series {
        assert!(
            source.contains(&format!("../../../kernel/patches/{name}\"")),
            "{name}"
        );
        assert!(
            patch.contains("\nSigned-off-by: "),
            "{name} is not signed off"
        );
    }
    let listed = source.matches("../../../kernel/patches/0").count();
    assert_eq!(listed, series.len(), "a patch is listed that is not there");
}
