//! The approved numbers in docs/results/approved are what the tree computes now. Whoever changes
//! them on purpose runs `make approve` and says why in the commit.

use xtask::approved;

/// Release: half a minute of all processors, of which a debug build would make an hour.
#[test]
#[cfg_attr(debug_assertions, ignore = "runs all plans: run with --release")]
fn every_cell_of_every_plan_takes_the_approved_time_and_bytes() {
    none(approved::plans_differ().expect("plans can be run"));
}

/// Release, and with the profile that `make test` sets: other optimisation is another count.
#[test]
#[cfg_attr(debug_assertions, ignore = "counts optimised code: run with --release")]
fn an_access_takes_the_approved_instructions_within_two_per_cent() {
    none(approved::instructions_differ().expect("valgrind counts"));
}

/// Release: two minutes; the guest's kernel comes from `make lab`.
#[test]
#[cfg_attr(debug_assertions, ignore = "boots guests: run with --release")]
fn reads_in_guests_take_the_approved_time_within_one_per_cent() {
    none(approved::guests_differ().expect("guests run: `make lab` builds their kernel"));
}

fn none(difference: Option<String>) {
    if let Some(difference) = difference {
        panic!("\n{difference}\n\nif that is meant: `make approve`, and say why in the commit\n");
    }
}
