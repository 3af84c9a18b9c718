//! The reads of every preset, held against what the bench has read since its first results.
//!
//! The hashes were taken while the bench's own list of reads still existed and gave the same ones.
//! A preset whose hash changes is no longer comparable with published results.

use ahead_units::PAGE_BYTES;
use ahead_workload::presets::{PRESETS, find};
use ahead_workload::random::mix;
use ahead_workload::wanted::{Wanted, future};
use ahead_workload::{FileSpec, Preset, WantedRange, Workload};
use proptest::prelude::*;

/// By preset: a hash of file, offset and length of the first 10 000 reads of each program, over
/// the files that the preset asks for and over small ones, with two seeds.
const APPROVED: &[(&str, u64)] = &[
    ("seq4k", 0x0DAD44C96F999E76),
    ("seq64k", 0xB74B6C97BDEA504F),
    ("seq2m", 0x0740AB5070DA037D),
    ("back64k", 0x387975C09A5D0ACA),
    ("stride16-64", 0xB176DD6751868016),
    ("stride64-192", 0x5F7E8D2D251727DF),
    ("one2", 0x49BB479A01C7395B),
    ("one8", 0x13228869CA26BA3E),
    ("one64", 0x147F467717FC3418),
    ("sep2", 0xB7BB4D351D43498C),
    ("sep8", 0x4E008621FAF8AEF2),
    ("sep64", 0xED667AF3E56EAEA0),
    ("thr8", 0xFE12EE93C22D6A10),
    ("nfsd", 0xC533672F84F8A54D),
    ("reopen", 0xB74B6C97BDEA504F),
    ("mixed", 0xA74A36B5A96E1424),
    ("sparse", 0xF0DBEE6CC63E77A8),
    ("skim", 0xCD56696C735EEC4E),
    ("loop", 0x07C21040FEB18D4A),
    ("rand4k", 0xBA9BCF17137C1FEF),
    ("rand16k", 0xB62E46D06E7E185F),
    ("small", 0x59FBCB456B1E7F33),
    ("mseq", 0x0DAD44C96F999E76),
    ("mback", 0xEC056DEB3A4BD676),
    ("mrand", 0xBA9BCF17137C1FEF),
];

fn hash_of(preset: &Preset) -> u64 {
    let mut hash = 0;
    for files in [preset.workload.files(), small_files(preset)] {
        for seed in [1, 0x5EED_0000_1234_5678] {
            for program in Wanted::of(&preset.workload.job_over(files.clone(), seed)) {
                for range in program.take(10_000) {
                    for value in [u64::from(range.file), range.offset, range.length] {
                        hash = mix(hash ^ value);
                    }
                }
                hash = mix(hash);
            }
        }
    }
    hash
}

/// The same number of files, 8 MiB together.
fn small_files(preset: &Preset) -> Vec<FileSpec> {
    let count = preset.workload.files().len();
    let bytes = match preset.workload {
        Workload::SmallFiles { file_kib, .. } => file_kib << 10,
        _ => (8 << 20) / u64::try_from(count).unwrap(),
    };
    vec![FileSpec::contiguous(bytes); count]
}

#[test]
fn every_preset_reads_what_it_has_always_read() {
    let found: Vec<_> = PRESETS
        .iter()
        .map(|preset| (preset.name, hash_of(preset)))
        .collect();
    let lines: Vec<_> = found
        .iter()
        .map(|(name, hash)| format!("    (\"{name}\", {hash:#018X}),"))
        .collect();
    assert!(found == APPROVED, "found:\n{}", lines.join("\n"));
}

fn reads(name: &str, bytes: u64) -> Vec<WantedRange> {
    let workload = &find(name).unwrap().workload;
    let job = workload.job_over(vec![FileSpec::contiguous(bytes)], 1);
    future(&job).take(100_000).collect()
}

proptest! {
    #[test]
    fn every_read_is_inside_its_file_and_page_aligned(
        which in 0..PRESETS.len(), pages in 1u64..40_000, seed: u64
    ) {
        let workload = &PRESETS[which].workload;
        let count = workload.files().len();
        let bytes = pages * PAGE_BYTES;
        let files = vec![FileSpec::contiguous(bytes); count];
        for program in Wanted::of(&workload.job_over(files, seed)) {
            for range in program.take(2000) {
                prop_assert!(usize::try_from(range.file).unwrap() < count);
                prop_assert!(range.length > 0 && range.offset + range.length <= bytes);
                prop_assert_eq!(range.offset % PAGE_BYTES, 0);
            }
        }
    }

    #[test]
    fn a_program_can_be_forked_anywhere_and_goes_on_the_same(
        which in 0..PRESETS.len(), before in 0usize..500, seed: u64
    ) {
        let preset = &PRESETS[which];
        let mut job = preset.workload.job_over(small_files(preset), seed);
        for group in job.processes.iter_mut().flat_map(|process| &mut process.groups) {
            for _ in 0..before {
                group.program.step();
            }
            let mut copy = group.program.fork();
            for _ in 0..500 {
                prop_assert_eq!(copy.step(), group.program.step());
            }
        }
    }
}

#[test]
fn backward_starts_at_the_end_and_stops_at_the_start() {
    let list = reads("back64k", 1 << 20);
    assert_eq!(list.len(), 16);
    assert_eq!(list[0].offset, (1 << 20) - (64 << 10));
    assert_eq!(list[15].offset, 0);
}

#[test]
fn a_stride_reads_the_part_of_a_period_that_the_file_ends_with() {
    let list = reads("stride64-192", 1 << 20);
    assert_eq!(list.len(), 6);
    assert_eq!(list[5].offset, 5 * (192 << 10));
}

#[test]
fn interleaved_streams_take_turns_and_end_together() {
    let list = reads("one8", 8 << 20);
    assert_eq!(list.len(), 128);
    let starts: Vec<_> = list.iter().map(|range| range.offset).collect();
    assert_eq!((starts[0], starts[1], starts[8]), (0, 1 << 20, 64 << 10));
    assert_eq!(starts[127] + (64 << 10), 8 << 20);
}

#[test]
fn a_server_shuffles_inside_windows_of_eight_only() {
    let list = reads("nfsd", 1 << 20);
    assert_eq!(list.len(), 32);
    let mut moved = false;
    for (window, requests) in (0..).zip(list.chunks(8)) {
        let mut seen: Vec<_> = requests.iter().map(|range| range.offset >> 15).collect();
        moved |= !seen.is_sorted();
        seen.sort_unstable();
        assert_eq!(seen, (window * 8..window * 8 + 8).collect::<Vec<u64>>());
    }
    assert!(moved);
}

#[test]
fn mixed_reads_at_random_after_every_four() {
    let list = reads("mixed", 1 << 30);
    let in_order: Vec<_> = list
        .iter()
        .filter(|range| range.length == 64 << 10)
        .collect();
    assert!(in_order.is_sorted_by_key(|range| range.offset));
    let is_random =
        |(index, range): (usize, &WantedRange)| (index % 5 == 4) == (range.length == 16 << 10);
    assert!(list.iter().enumerate().all(is_random));
}

#[test]
fn sparse_takes_six_pages_of_ten_and_skim_one() {
    let sparse = reads("sparse", 80 << 20).len();
    assert!((11_800..12_800).contains(&sparse), "{sparse}");
    let skim = reads("skim", 80 << 20).len();
    assert!((1_800..2_300).contains(&skim), "{skim}");
}

#[test]
fn the_loop_passes_twice() {
    let list = reads("loop", 1 << 20);
    assert_eq!(list.len(), 32);
    assert_eq!(list[..16], list[16..]);
}
