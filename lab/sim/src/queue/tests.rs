//! Single situations of a queue, each by its name. What always holds is in `tests/queue_model.rs`.
//!
//! The disk takes a millisecond for every request, whatever its size.

use ahead_disk_model::VolumeModel;

use ahead_replicas::page_cache::FileId;
use ahead_units::PAGE_BYTES;

use super::*;

const MS: u64 = 1_000_000;

fn disk() -> DiskModel {
    DiskModel::Volume(VolumeModel {
        latency_us: 0,
        requests_per_s: 1_000,
        bytes_per_s: 1_000_000_000_000,
    })
}

fn queue(settings: &QueueSettings) -> RequestQueue {
    RequestQueue::new(settings, &disk(), ByteLength::new(1 << 40))
}

fn at(ms: u64) -> Timestamp {
    Timestamp::new(ms * MS)
}

/// Pages of file 1, which lies on the disk from its beginning.
fn run(start: u64, pages: u64) -> PageRun {
    PageRun {
        file: FileId(1),
        start,
        pages,
        disk_offset: start * PAGE_BYTES,
        direction: IoDirection::Read,
    }
}

/// Everything that comes out: (first page, pages, millisecond).
fn drain(queue: &mut RequestQueue) -> Vec<(u64, u64, u64)> {
    let mut done = Vec::new();
    while let Some(due) = queue.next_event() {
        queue.advance(due, &mut done);
    }
    done.iter()
        .map(|done| (done.start, done.pages, done.completed_ns / MS))
        .collect()
}

#[test]
fn a_run_on_an_idle_queue_is_one_request() {
    let mut queue = queue(&QueueSettings::direct());
    assert_eq!(queue.submit(at(0), run(0, 32), false), 32);
    assert_eq!(drain(&mut queue), [(0, 32, 1)]);
    assert_eq!(queue.stats().requests, 1);
}

#[test]
fn a_run_larger_than_a_request_is_cut_and_comes_in_pieces() {
    let settings = QueueSettings::direct().with_request_pages_max(32);
    let mut queue = queue(&settings);
    assert_eq!(queue.submit(at(0), run(0, 80), false), 80);
    assert_eq!(drain(&mut queue), [(0, 32, 1), (32, 32, 2), (64, 16, 3)]);
}

/// Linux 2.2 sends pages one by one; the plug makes requests of them.
#[test]
fn pages_sent_one_by_one_merge_behind_the_plug() {
    let mut queue = queue(&QueueSettings::linux_2_2());
    for page in 0..40 {
        assert_eq!(queue.submit(at(0), run(page, 1), false), 1);
    }
    assert_eq!(queue.next_event(), None, "the plug holds everything back");
    assert_eq!(queue.free_slots(), Some(62));
    queue.unplug(at(5));
    assert_eq!(drain(&mut queue), [(0, 30, 6), (30, 10, 7)]);
    assert_eq!(queue.stats().merges, 38);
}

#[test]
fn a_window_sent_at_once_makes_the_same_requests_as_its_pages_one_by_one() {
    let mut queue = queue(&QueueSettings::linux_2_2());
    assert_eq!(queue.submit(at(0), run(0, 40), false), 40);
    queue.unplug(at(5));
    assert_eq!(drain(&mut queue), [(0, 30, 6), (30, 10, 7)]);
    assert_eq!(queue.stats().merges, 38);
}

/// Only an idle queue is plugged. The request that the disk has takes no merges.
#[test]
fn the_request_at_the_disk_takes_no_merges_and_a_working_queue_is_not_plugged() {
    let mut queue = queue(&QueueSettings::linux_2_2());
    queue.submit(at(0), run(0, 1), false);
    queue.unplug(at(0));
    queue.submit(at(0), run(1, 1), false);
    queue.submit(at(0), run(2, 1), false);
    assert_eq!(drain(&mut queue), [(0, 1, 1), (1, 2, 2)]);
}

#[test]
fn a_full_queue_takes_the_beginning_of_a_run_and_the_rest_when_a_slot_is_free() {
    let settings = QueueSettings {
        slots: Some(2),
        request_pages_max: 10,
        ..QueueSettings::linux_2_2()
    };
    let mut queue = queue(&settings);
    assert_eq!(queue.submit(at(0), run(0, 50), false), 20);
    queue.unplug(at(0));
    assert_eq!(queue.stats().full, 1);
    assert_eq!(queue.free_slots(), Some(0));
    let mut done = Vec::new();
    queue.advance(at(1), &mut done);
    assert_eq!(queue.submit(at(1), run(20, 30), false), 10);
    assert_eq!(drain(&mut queue), [(10, 10, 2), (20, 10, 3)]);
}

/// A page that merges needs no slot of its own.
#[test]
fn a_full_queue_still_takes_what_merges() {
    let mut queue = queue(&QueueSettings::linux_2_2().with_slots(Some(1)));
    assert_eq!(queue.submit(at(0), run(0, 4), true), 4);
    assert_eq!(queue.submit(at(0), run(8, 4), true), 0);
    assert_eq!(queue.submit(at(0), run(4, 4), true), 4);
    assert_eq!(queue.stats().full, 1);
}

/// Linux 2.4: read-ahead that may be dropped leaves a batch of slots to those who wait.
#[test]
fn who_may_be_dropped_finds_the_queue_full_earlier() {
    let settings = QueueSettings {
        slots_kept: 2,
        ..QueueSettings::linux_2_2().with_slots(Some(4))
    };
    let mut queue = queue(&settings);
    for start in [0, 100] {
        assert_eq!(queue.submit(at(0), run(start, 1), true), 1);
    }
    assert_eq!(queue.submit(at(0), run(200, 1), true), 0);
    assert_eq!(queue.submit(at(0), run(200, 1), false), 1);
}

#[test]
fn the_pages_in_the_queue_are_bounded_too() {
    let mut queue = queue(&QueueSettings::linux_2_4());
    assert_eq!(queue.submit(at(0), run(0, 5000), false), 1024);
    assert_eq!(queue.free_slots(), Some(1024 - 64));
}

#[test]
fn a_front_merge_moves_the_beginning_of_a_request() {
    let settings = QueueSettings {
        unit_pages_max: 256,
        ..QueueSettings::linux_2_2()
    };
    let mut queue = queue(&settings);
    queue.submit(at(0), run(10, 5), false);
    queue.submit(at(0), run(5, 5), false);
    queue.unplug(at(0));
    assert_eq!(drain(&mut queue), [(5, 5, 1), (10, 5, 1)]);
    assert_eq!(queue.stats().requests, 1);
}

/// The page between two requests makes one of them, and their second slot is free again.
#[test]
fn the_page_that_fills_a_gap_joins_both_sides() {
    let mut queue = queue(&QueueSettings::linux_2_2());
    queue.submit(at(0), run(0, 5), false);
    queue.submit(at(0), run(6, 5), false);
    assert_eq!(queue.free_slots(), Some(62));
    queue.submit(at(0), run(5, 1), false);
    assert_eq!(queue.free_slots(), Some(63));
    queue.unplug(at(0));
    assert_eq!(drain(&mut queue), [(0, 11, 1)]);
}

#[test]
fn neighbours_of_two_files_are_one_request_and_two_answers() {
    let mut queue = queue(&QueueSettings::linux_2_2());
    queue.submit(at(0), run(0, 4), false);
    let other = PageRun {
        file: FileId(2),
        start: 0,
        pages: 4,
        disk_offset: 4 * PAGE_BYTES,
        direction: IoDirection::Read,
    };
    queue.submit(at(0), other, false);
    queue.unplug(at(0));
    assert_eq!(drain(&mut queue), [(0, 4, 1), (0, 4, 1)]);
    assert_eq!(queue.stats().requests, 1);
}

/// Nobody holds the first page back, so it is on its way before the second one comes.
#[test]
fn without_a_plug_the_first_page_goes_alone() {
    let settings = QueueSettings {
        plugging: Plugging::None,
        ..QueueSettings::linux_2_2()
    };
    let mut queue = queue(&settings);
    queue.submit(at(0), run(0, 16), false);
    assert_eq!(drain(&mut queue), [(0, 1, 1), (1, 15, 2)]);
}

/// Linux 2.6.18: four requests or three milliseconds.
#[test]
fn the_plug_of_2_6_is_pulled_by_the_fourth_request_or_by_time() {
    let mut by_number = queue(&QueueSettings::linux_2_6_18());
    for start in [0, 1000, 2000] {
        by_number.submit(at(0), run(start, 1), false);
    }
    assert_eq!(by_number.next_event(), Some(at(3)));
    by_number.submit(at(0), run(3000, 1), false);
    assert_eq!(by_number.next_event(), Some(at(1)));

    let mut by_time = queue(&QueueSettings::linux_2_6_18());
    by_time.submit(at(0), run(0, 1), false);
    by_time.submit(at(2), run(1000, 1), false);
    assert_eq!(drain(&mut by_time), [(0, 1, 4), (1000, 1, 5)]);
}

/// The plug of a call holds although the queue works, and what it held merges with what waits.
#[test]
fn the_plug_of_a_call_ends_with_the_call() {
    let settings = QueueSettings {
        device_depth: 1,
        ..QueueSettings::linux_6_18()
    };
    let mut queue = queue(&settings);
    queue.submit(at(0), run(0, 8), false);
    queue.end_call(at(0));
    queue.submit(at(0), run(100, 8), false);
    queue.end_call(at(0));
    queue.submit(at(0), run(108, 8), false);
    queue.submit(at(0), run(116, 8), false);
    queue.end_call(at(0));
    assert_eq!(drain(&mut queue), [(0, 8, 1), (100, 24, 2)]);
}

#[test]
fn a_long_request_behind_the_plug_of_a_call_is_sent_by_the_next() {
    let mut queue = queue(&QueueSettings::linux_6_18());
    queue.submit(at(0), run(0, 32), false);
    assert_eq!(queue.next_event(), None);
    queue.submit(at(0), run(1000, 1), false);
    assert_eq!(queue.next_event(), Some(at(1)));
    assert_eq!(drain(&mut queue), [(0, 32, 1)]);
    queue.end_call(at(1));
    assert_eq!(drain(&mut queue), [(1000, 1, 2)]);
}

/// Each unit looks at what is held before it looks at what waits: page 11 goes to the front of the
/// held request, although page 10 has just joined the waiting one.
#[test]
fn the_next_unit_may_join_what_is_held_although_the_last_joined_what_waits() {
    let settings = QueueSettings {
        request_pages_max: 8,
        unit_pages_max: 1,
        merging: true,
        plugging: Plugging::Call {
            requests_max: 1,
            flush_pages: 1,
        },
        device_depth: 1,
        ..QueueSettings::direct()
    };
    let mut queue = queue(&settings);
    queue.submit(at(0), run(18, 1), false);
    queue.unplug(at(0));
    queue.submit(at(0), run(9, 1), false);
    queue.submit(at(0), run(12, 6), false);
    assert_eq!(queue.submit(at(0), run(10, 2), false), 2);
    queue.unplug(at(0));
    assert_eq!(drain(&mut queue)[1..], [(9, 2, 2), (11, 1, 3), (12, 6, 3)]);
}

/// 128 slots: on with the 113th request, off with the 102nd that is left.
#[test]
fn congestion_begins_at_one_mark_and_ends_at_a_lower_one() {
    let settings = QueueSettings {
        plugging: Plugging::None,
        ..QueueSettings::linux_2_6_18()
    };
    let mut queue = queue(&settings);
    for number in 0..112 {
        queue.submit(at(0), run(number * 1000, 1), true);
    }
    assert!(!queue.is_congested());
    queue.submit(at(0), run(500_000, 1), true);
    assert!(queue.is_congested());
    let mut done = Vec::new();
    queue.advance(at(10), &mut done);
    assert!(queue.is_congested(), "103 requests are left");
    queue.advance(at(11), &mut done);
    assert!(!queue.is_congested(), "102 requests are left");
}

/// What a reader of a window of 4 MiB on Linux 6.18 meets: nothing, and then everything.
#[test]
fn a_run_in_several_requests_may_complete_as_a_whole() {
    let settings = QueueSettings {
        whole_runs: true,
        ..QueueSettings::direct().with_request_pages_max(32)
    };
    let mut queue = queue(&settings);
    queue.submit(at(0), run(0, 80), false);
    queue.submit(at(0), run(200, 32), false);
    assert_eq!(drain(&mut queue), [(0, 80, 3), (200, 32, 4)]);
    assert_eq!(queue.stats().requests, 4);
}

fn order_of(scheduler: Scheduler, starts: &[u64]) -> Vec<u64> {
    let settings = QueueSettings {
        device_depth: 1,
        ..QueueSettings::direct().with_scheduler(scheduler)
    };
    let mut queue = queue(&settings);
    for &start in starts {
        queue.submit(at(0), run(start, 1), false);
    }
    drain(&mut queue).iter().map(|done| done.0).collect()
}

#[test]
fn each_scheduler_has_its_order() {
    let starts = [50, 30, 70, 10, 60];
    assert_eq!(order_of(Scheduler::Noop, &starts), starts);
    assert_eq!(order_of(Scheduler::CLook, &starts), [50, 60, 70, 10, 30]);
    let early = Scheduler::deadline(DeadlineRules::Early);
    assert_eq!(order_of(early, &starts), [50, 60, 70, 10, 30]);
    // The sweep starts again from the oldest, 30, and then from 10.
    let late = Scheduler::deadline(DeadlineRules::Late);
    assert_eq!(order_of(late, &starts), [50, 60, 70, 30, 10]);
}

/// C-LOOK lets a stream ahead of the head go on for ever; deadline looks back after its batch.
#[test]
fn an_expired_request_waits_for_the_end_of_the_batch_and_then_goes_first() {
    let scheduler = Scheduler::Deadline {
        expire_ns: 2 * MS,
        batch: 4,
        rules: DeadlineRules::Late,
    };
    // 100 goes at once, alone in its batch's beginning; 0 is the oldest that waits.
    let starts = [100, 0, 101, 102, 103, 104, 105, 106];
    let expected = [100, 101, 102, 103, 0, 104, 105, 106];
    assert_eq!(order_of(scheduler, &starts), expected);
}

#[test]
fn the_mean_depth_is_in_the_account() {
    let mut queue = queue(&QueueSettings::direct());
    for start in [0, 100, 200, 300] {
        queue.submit(at(0), run(start, 1), false);
    }
    drain(&mut queue);
    let stats = queue.stats();
    assert_eq!(stats.waited_ns, (1 + 2 + 3 + 4) * MS);
    assert_eq!((stats.depth_max, stats.busy_ns), (4, 4 * MS));
}

#[test]
fn a_slice_keeps_the_disk_for_a_file_until_it_ends_or_has_nothing_more() {
    let slices = Scheduler::Slices { slice_ns: 3 * MS };
    let settings = QueueSettings {
        device_depth: 1,
        ..QueueSettings::direct().with_scheduler(slices)
    };
    let mut queue = queue(&settings);
    // Two files by turns, and one more request of the first.
    for place in [0, 1, 2, 3, 4, 5, 6, 7, 8, 10] {
        let run = PageRun {
            file: FileId(u32::try_from(place % 2).unwrap_or(0)),
            ..run(place * 100, 1)
        };
        assert_eq!(queue.submit(at(0), run, false), 1);
    }
    let places: Vec<u64> = drain(&mut queue).iter().map(|done| done.0 / 100).collect();
    assert_eq!(places, [0, 2, 4, 1, 3, 5, 6, 8, 10, 7]);
}

fn write(start: u64, pages: u64) -> PageRun {
    PageRun {
        direction: IoDirection::Write,
        ..run(start, pages)
    }
}

/// `writes_starved` of deadline: two batches of 16 reads, then one of writes.
#[test]
fn writes_wait_for_two_batches_of_reads_and_then_have_one_of_their_own() {
    let deadline = QueueSettings::direct()
        .with_scheduler(Scheduler::deadline(DeadlineRules::Late))
        .with_request_pages_max(1);
    let mut queue = queue(&QueueSettings {
        device_depth: 1,
        ..deadline
    });
    // The first read is on its way before anything waits.
    queue.submit(at(0), run(0, 1), false);
    for number in 1..40 {
        queue.submit(at(0), run(2 * number, 1), false);
        queue.submit(at(0), write(10_000 + 2 * number, 1), false);
    }
    let order: Vec<bool> = drain(&mut queue)
        .iter()
        .map(|&(start, _, _)| start >= 10_000)
        .collect();
    assert_eq!(order.iter().position(|is_write| *is_write), Some(33));
    assert_eq!(order[33..49], [true; 16]);
    assert!(!order[49]);
    assert_eq!(queue.stats().requests, 40);
    assert_eq!(queue.stats().write_requests, 39);
}

#[test]
fn reads_and_writes_have_slots_of_their_own_and_do_not_merge() {
    let mut queue = queue(&QueueSettings {
        slots: Some(2),
        merging: true,
        scheduler: Scheduler::Noop,
        device_depth: 1,
        request_pages_max: 8,
        unit_pages_max: 8,
        ..QueueSettings::direct()
    });
    assert_eq!(queue.submit(at(0), run(0, 8), false), 8);
    assert_eq!(queue.submit(at(0), run(100, 8), false), 8);
    assert_eq!(queue.submit(at(0), run(200, 8), false), 0);
    assert_eq!(queue.submit(at(0), write(108, 8), false), 8);
    assert_eq!(queue.submit(at(0), write(300, 8), false), 8);
    assert_eq!(queue.submit(at(0), write(400, 8), false), 0);
    let done = drain(&mut queue);
    assert_eq!(
        done,
        [(0, 8, 1), (100, 8, 2), (108, 8, 3), (300, 8, 4)],
        "a line for both, by age"
    );
}
