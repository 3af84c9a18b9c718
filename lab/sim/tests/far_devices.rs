//! Volumes that take as long as an arm, or longer than is guessed, and serve many requests at once.

mod support;

use ahead_disk_model::{DiskModel, VolumeModel};

use support::{assert_odd_at_most, disk_called};

/// Each `(seed, latency_us, requests_per_s, megabytes_per_s, most)`.
fn assert_on_volumes(places: &[(u64, u64, u64, u64, u64)]) {
    for (seed, latency_us, requests_per_s, megabytes_per_s, most) in places {
        let disk = DiskModel::Volume(VolumeModel {
            latency_us: *latency_us,
            requests_per_s: *requests_per_s,
            bytes_per_s: megabytes_per_s * 1_000_000,
        });
        assert_odd_at_most(*seed, &disk, "adaptive", *most);
    }
}

/// Taken for an arm that goes the way of its reader, after two waits, and left alone from then on: 0.67 to 1.00 of the kernel's time.
#[test]
fn strides_of_what_takes_as_long_as_an_arm_are_asked_for_once_they_came_together() {
    assert_on_volumes(&[
        (6586, 6667, 133_575, 1689, 20),
        (6676, 3721, 2431, 560, 20),
        (6710, 3443, 66_872, 428, 50),
    ]);
}

/// Of long elements it is not known whether it is the access that they wait for, or the transfer: 0.93 of the kernel's time.
#[test]
fn long_elements_are_asked_for_once_they_came_together() {
    assert_on_volumes(&[(6276, 3139, 145_303, 271, 15)]);
}

/// Between 1 ms, up to which a first wait is believed, and 2 ms, from which two are of an arm: the guess stayed. 0.74 to 0.89 of the kernel's time.
#[test]
fn accesses_of_one_to_two_milliseconds_are_learned_from_some_in_a_row() {
    assert_on_volumes(&[
        (6447, 1340, 853, 769, 20),
        (6483, 1910, 2543, 74, 25),
        (6021, 1466, 1522, 222, 45),
    ]);
}

/// An arm is as soon at each of them, and what is asked for at once to find out what it is has to be as rare as it shows nothing.
#[test]
fn strides_under_an_arm_that_says_it_has_none_are_left_alone() {
    let disk = disk_called("hdd");
    for seed in [3003, 3073, 3084] {
        assert_odd_at_most(seed, &disk, "adaptive:misled=1", 102);
    }
}
