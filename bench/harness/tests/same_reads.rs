//! The reads of every preset are those that the bench has always done.

use ahead_harness::operations::{Layout, Operations};
use ahead_harness::pattern::{PATTERNS, Pattern};
use ahead_workload::wanted::Wanted;
use ahead_workload::{FileSpec, presets};

const MIB: u64 = 1 << 20;

fn layouts(pattern: Pattern) -> Vec<Vec<u64>> {
    match pattern {
        Pattern::Separate { streams } => {
            let sizes = |shrink: u64| -> Vec<u64> {
                (0..streams)
                    .map(|stream| match stream {
                        0..=1 => 512 * MIB / shrink,
                        2..=7 => 128 * MIB / shrink,
                        _ => 16 * MIB / shrink,
                    })
                    .collect()
            };
            vec![sizes(1), sizes(16), vec![512 << 10; streams as usize]]
        }
        Pattern::Small => vec![vec![100 << 10; 2000], vec![100 << 10; 20]],
        Pattern::Loop => vec![vec![512 * MIB], vec![8 * MIB]],
        _ => vec![
            vec![4096 * MIB],
            vec![64 * MIB],
            vec![8 * MIB],
            vec![448 * MIB],
        ],
    }
}

#[test]
fn the_steps_of_every_preset_read_what_the_bench_read() {
    for (name, pattern) in PATTERNS {
        let preset = presets::find(name).unwrap_or_else(|| panic!("{name}"));
        assert_eq!(preset.is_predictable, pattern.is_predictable(), "{name}");
        assert_eq!(preset.runs_to_its_end, pattern.runs_to_its_end(), "{name}");
        assert_eq!(preset.memory_mib_max, pattern.memory_mib_max(), "{name}");
        assert_eq!(preset.is_mapped(), pattern.is_mapped(), "{name}");
        for sizes in layouts(*pattern) {
            for seed in [1, 0x5EED_0000_1234_5678] {
                let files = sizes.iter().copied().map(FileSpec::contiguous).collect();
                let job = preset.workload.job_over(files, seed);
                let layout = Layout {
                    file_bytes: sizes.clone(),
                };
                let programs = Wanted::of(&job);
                let lists = if *pattern == Pattern::Server {
                    1
                } else {
                    pattern.threads()
                };
                assert_eq!(programs.len(), lists as usize, "{name}");
                for (thread, wanted) in (0..).zip(programs) {
                    let old: Vec<_> = Operations::new(*pattern, &layout, seed, thread)
                        .take(10_000)
                        .map(|o| (o.file, o.offset, o.length))
                        .collect();
                    let new: Vec<_> = wanted
                        .take(10_000)
                        .map(|r| (r.file, r.offset, r.length))
                        .collect();
                    assert!(!old.is_empty() && old == new, "{name} {sizes:?} {seed}");
                }
            }
        }
    }
    assert_eq!(presets::PRESETS.len(), PATTERNS.len());
}

/// The ends too, on files small enough to be read whole.
#[test]
fn the_steps_of_every_preset_end_where_the_bench_ended() {
    for (name, pattern) in PATTERNS {
        if matches!(pattern, Pattern::Random { .. } | Pattern::MappedRandom) {
            continue;
        }
        let preset = presets::find(name).unwrap();
        let sizes = match layouts(*pattern) {
            all if all.len() == 4 => vec![64 * MIB],
            all => all.into_iter().next_back().unwrap(),
        };
        let files = sizes.iter().copied().map(FileSpec::contiguous).collect();
        let job = preset.workload.job_over(files, 3);
        let layout = Layout { file_bytes: sizes };
        let old = ahead_harness::operations::future(*pattern, &layout, 3);
        let old = old.map(|o| (o.file, o.offset, o.length));
        let new = ahead_workload::wanted::future(&job).map(|r| (r.file, r.offset, r.length));
        assert!(old.eq(new), "{name}");
    }
}
