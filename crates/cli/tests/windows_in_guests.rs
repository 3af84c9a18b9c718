//! What is told of windows, on the real page cache in virtual time: 512 KiB and 32 MiB for eight readers, 4 MiB on a
//! volume, random reads under 32 MiB, sectors taken for KiB. The tables are in `docs/results/windows`; here is what they
//! have to keep.
//!
//! Needs the guest's kernel (`make lab`).

mod support;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Output, Stdio};

use serde_json::Value;
use support::{Place, stderr, stdout};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The program, with the library of this build.
fn ahead(place: &Place, words: &[&str]) -> Output {
    let mut program = place.ahead(words);
    program.env_remove("AHEAD_PRELOAD").stdin(Stdio::null());
    let output = program.output().expect("ahead starts");
    assert!(
        output.status.success(),
        "{}{}",
        stdout(&output),
        stderr(&output)
    );
    output
}

/// Times of a plan of `plans/windows` under these policies, by workload and policy, in nanoseconds.
fn times(plan: &str, policies: &str) -> BTreeMap<(String, String), u64> {
    let plan = root().join("plans/windows").join(plan);
    let plan = plan.to_str().expect("text");
    let words = [
        "compare",
        plan,
        "--in",
        "lab",
        "--csv",
        "--policies",
        policies,
    ];
    let output = ahead(&Place::new(), &words);
    let said = stdout(&output);
    let mut lines = said.lines();
    let titles: Vec<_> = lines.next().expect("titles").split(',').collect();
    let column = |name: &str| titles.iter().position(|one| *one == name).expect(name);
    let [workload, policy, elapsed] = ["workload", "policy", "elapsed_ns"].map(column);
    let row = |line: &str| {
        let cells: Vec<_> = line.split(',').collect();
        let elapsed = cells[elapsed].parse().expect("a number");
        (
            (cells[workload].to_owned(), cells[policy].to_owned()),
            elapsed,
        )
    };
    lines.map(row).collect()
}

#[track_caller]
fn permille(times: &BTreeMap<(String, String), u64>, workload: &str, policy: &str) -> u64 {
    let of = |policy: &str| times[&(workload.to_owned(), policy.to_owned())];
    of("linux-6.12") * 1000 / of(policy)
}

/// "Read rate 39.3 to 90.0 MiB/s, from 128 KiB to 32 MiB": ×2.29, and then the programs are what takes the time. The
/// guide's array gives ×2.6, and 512 KiB do it as well.
#[test]
fn eight_readers_of_an_array_are_twice_as_fast_with_32_mib_and_with_512_kib() {
    let times = times(
        "eight-readers.toml",
        "linux-6.12:ra_kb=512,linux-6.12:ra_kb=32768",
    );
    let [small, large] =
        [512, 32768].map(|kib| permille(&times, "load", &format!("linux-6.12:ra_kb={kib}")));
    assert!(
        (2_300..2_900).contains(&large),
        "{large} thousandths: {times:?}"
    );
    assert!(small * 100 >= large * 95, "{small} and {large}: {times:?}");
}

/// "If every 128 KiB random read gets translated into a 32 MiB read ahead": no read is. A fault of a mapping is.
#[test]
fn random_reads_cost_the_same_under_32_mib_and_faults_do_not() {
    let times = times("random.toml", "linux-6.12:ra_kb=32768");
    let of = |workload| permille(&times, workload, "linux-6.12:ra_kb=32768");
    for workload in ["alone-4k", "alone-128k"] {
        let same = of(workload);
        assert!(
            (990..=1010).contains(&same),
            "{workload}: {same} thousandths: {times:?}"
        );
    }
    assert!(of("mapped") < 500, "{times:?}");
}

/// Of a volume that takes 128 KiB in a request: 449 MB/s with 128 KiB, 1117 with 4 MiB. Where a request may be 1 MiB,
/// Linux reads so much for a read that wants it, whatever the window is, and there is nothing to gain.
#[test]
fn reads_of_8_mib_gain_by_4_mib_where_requests_are_short() {
    let place = Place::new();
    let elapsed = |more: &[&str], kib: &str| {
        let script = "head -c 256M /dev/zero >big";
        let lab = "lab run --no-ahead --json --disk oci --read-ahead";
        let mut words: Vec<_> = lab.split(' ').chain([kib, "--prepare", script]).collect();
        words.extend(more);
        words.extend("-- dd if=big of=/dev/null bs=8M status=none".split(' '));
        let output = ahead(&place, &words);
        let value: Value = serde_json::from_str(&stderr(&output)).expect("JSON");
        value["elapsed_ns"].as_u64().expect("a number")
    };
    let short = [
        "--prepare",
        "echo 128 >/sys/block/ahead0/queue/max_sectors_kb",
    ];
    let gain = |more: &[&str]| elapsed(more, "128K") * 100 / elapsed(more, "4M");
    let (with_short, with_long) = (gain(&short), gain(&[]));
    assert!((240..400).contains(&with_short), "{with_short} hundredths");
    assert!((100..110).contains(&with_long), "{with_long} hundredths");
}

/// Measured, foretold by the doctor, and then happening: a read at a random place beside one stream under 32 MiB.
#[test]
fn the_doctor_knows_before_how_long_a_random_read_waits_behind_32_mib() {
    let place = Place::new();
    let waits = "\
import os, random, time
f = os.open('small', os.O_RDONLY)
longest = 0
for page in random.Random(1).sample(range(16384), 100):
    time.sleep(0.1)
    began = time.monotonic()
    os.pread(f, 4096, page * 4096)
    longest = max(longest, time.monotonic() - began)
print('longest', int(longest * 1e6))
";
    let script = format!(
        "\
set -eu
export XDG_CACHE_HOME=/tmp XDG_RUNTIME_DIR=/tmp
{ahead} device measure big --time 20s --no-ladder >/dev/null
{ahead} doctor . || true
dd if=big of=/dev/null bs=128K status=none &
python3 -c \"{waits}\"
kill $! 2>/dev/null || true
",
        ahead = env!("CARGO_BIN_EXE_ahead")
    );
    let files = "head -c 1800M /dev/zero >big; head -c 64M /dev/zero >small";
    let lab = "lab run --no-ahead --read-ahead 32M --memory 1G --prepare";
    let words = lab.split(' ').chain([files, "--", "sh", "-c", &script]);
    let said = stdout(&ahead(&place, &words.collect::<Vec<_>>()));
    let after = |start: &str| {
        let (_, rest) = said
            .split_once(start)
            .unwrap_or_else(|| panic!("{start}: {said}"));
        let word = rest.split_whitespace().next().expect("a figure");
        word.parse::<f64>().unwrap_or_else(|_| panic!("{word}"))
    };
    assert!(said.contains("as learned here"), "{said}");
    let foretold_us = after("Another read waits up to ") * 1000.0;
    let happened_us = after("longest ");
    let ratio = happened_us / foretold_us;
    assert!(
        (0.8..=1.2).contains(&ratio),
        "{happened_us} of {foretold_us}: {said}"
    );
}

/// `blockdev --setra 512` is not 512 KiB: it is half of it, and both commands say so.
#[test]
fn sectors_are_not_kib() {
    let place = Place::new();
    let script = format!(
        "\
set -eu
window() {{ cat /sys/block/ahead0/queue/read_ahead_kb; }}
node=$(findmnt -no SOURCE -T .)
blockdev --setra 512 $node
echo blockdev $(window) KiB
{ahead} device get .
{ahead} device set . 512K >/dev/null
echo KiB $(window) $(blockdev --getra $node)
{ahead} device set . 512s >/dev/null
echo sectors $(window) $(blockdev --getra $node)
{ahead} device set . 512 || echo refused $?
",
        ahead = env!("CARGO_BIN_EXE_ahead")
    );
    let output = ahead(
        &place,
        &["lab", "run", "--no-ahead", "--", "sh", "-c", &script],
    );
    let said = stdout(&output);
    for part in [
        "blockdev 256 KiB",
        "256 KiB (512 sectors)",
        "KiB 512 1024",
        "sectors 256 512",
        "'512' says no unit",
        "refused 2",
    ] {
        assert!(said.contains(part), "'{part}' in: {said}");
    }
}
