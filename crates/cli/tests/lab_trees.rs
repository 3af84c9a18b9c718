//! Programs that go through trees, over the real kernel in virtual time, beside one who knows the list beforehand.
//!
//! Needs the guest's kernel (`make lab`) and `mkfs.ext4`.

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use ahead_harness::predict::trees::TreeCell;
use ahead_harness::programs::results::ProgramResults;

use support::{Place, stderr, stdout};

/// Who knows the list reads the inodes in their order and the data in the order of its places, and is faster than
/// every program that finds out one name after another; what the list of programs says of the tree is true.
#[test]
fn one_who_knows_the_list_is_faster_than_every_program_that_reads_all_of_a_tree() {
    let place = Place::new();
    let json = place.path().join("results");
    let mut command = place.ahead(&["lab", "programs", "--list", "trees", "--percent", "3"]);
    command.args(["--data", "small", "--disk", "hdd", "--json"]);
    let output = command.arg(&json).env_remove("AHEAD_PRELOAD").output();
    let output = output.expect("ahead starts");
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    let read = fs::read(json.join("hdd.json")).expect("results");
    let found: ProgramResults = serde_json::from_slice(&read).expect("results");
    assert_eq!(found.rows.len(), 9, "{text}");
    for row in &found.rows {
        let name = &row.name;
        let (plain, _) = row
            .runs()
            .unwrap_or_else(|| panic!("{name} was left out: {text}"));
        let ceiling = row.ceiling_speed().expect("each has one").value;
        // Metadata alone lies in one place, and a program that reads two trees reads twice as much.
        let (speed_min, megabytes) = match name.as_str() {
            "tree-stat-small" => (0.9, 0..1),
            "tree-head-small" => (1.5, 1..8),
            "tree-diff-small" => (1.5, 9..13),
            _ => (1.5, 4..7),
        };
        assert!(ceiling > speed_min, "{name}: {ceiling}\n{text}");
        let read = plain[0].device_bytes / 1_000_000;
        assert!(megabytes.contains(&read), "{name}: {read} MB\n{text}");
    }
}

/// The simulator places inodes, folders and files as the kernel does, reads them as the kernel does, and its helper
/// goes ahead of the program as the library's: what that takes is predicted within a tenth.
#[test]
fn the_simulator_predicts_programs_in_a_tree_within_a_tenth() {
    let place = Place::new();
    let json = place.path().join("cells.json");
    let mut command = place.ahead(&["lab", "predict", "--tree", "small", "--percent", "10"]);
    command.args(["--disk", "hdd,ssd,cloud", "--json"]);
    let output = command.arg(&json).env_remove("AHEAD_PRELOAD").output();
    let output = output.expect("ahead starts");
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    let read = fs::read(&json).expect("results");
    let cells: Vec<TreeCell> = serde_json::from_slice(&read).expect("cells");
    assert_eq!(cells.len(), 3 * 3 * 2, "{text}");
    for cell in &cells {
        let permille = cell.difference_permille();
        assert!(permille.abs() <= 100, "{cell:?}\n{text}");
    }
    for [plain, helped] in cells.as_chunks().0 {
        // That trees are on makes all the difference, in both.
        assert!(helped.measured_ns * 3 < plain.measured_ns * 2, "{text}");
    }
}

/// Eight folders of the program `walk`, and many more: so many that names and inodes are read several at a time.
const TREE: &str = "
set -e
for number in $(seq 0 399); do
    folder=tree/0$((number % 8)); mkdir -p $folder
    head -c 20000 /dev/urandom > $folder/$(printf %04d $number)
done
for folder in $(seq 60); do
    mkdir tree/more$folder
    head -c 9000 /dev/urandom > tree/more$folder/1
done
";

/// Each way of `walk` without and with trees, nothing in memory; then the most tasks that a process had at once.
const WALKS: &str = "
cold() { sync; echo 3 > /proc/sys/vm/drop_caches; cat walk > /dev/null; }
for how in close fork alone end bare cancel lease rename; do
    cold
    ./walk $how tree > plain 2>&1 || echo status $? >> plain
    cold
    ahead run -- ./walk $how tree > helped 2>&1 || echo status $? >> helped
    cmp plain helped && echo same $how
done
cold
ahead run -- ./walk walk tree > /dev/null &
most=0
while kill -0 $! 2> /dev/null; do
    for tasks in /proc/[0-9]*/task; do
        count=$(ls $tasks 2> /dev/null | wc -l)
        [ $count -le $most ] || most=$count
    done
    sleep 0.001
done
echo tasks $most
";

/// On a machine that others use no test can take names and inodes from memory. In a guest one can: then there are
/// threads that read them, and a program sees as little of those as of the helper.
#[test]
fn a_program_sees_nothing_of_threads_that_read_names_and_inodes() {
    let place = Place::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../preload/tests/c/walk.c");
    let walk = place.path().join("walk");
    let built = Command::new("cc")
        .args(["-O2", "-Wno-unused-result", "-lpthread", "-o"])
        .args([&walk, &source])
        .status();
    assert!(built.expect("a C compiler").success());
    let mut command = place.ahead(&["lab", "run", "--no-ahead", "--disk", "ssd"]);
    command.args(["--size", "256M", "--memory", "512M", "--prepare", TREE]);
    command.arg("--with").arg(&walk).args(["--", "bash", "-c"]);
    let beside = Path::new(env!("CARGO_BIN_EXE_ahead")).parent();
    let beside = beside.expect("a folder").display();
    let script = format!("PATH={beside}:$PATH\n{WALKS}");
    let output = command.arg(script).env_remove("AHEAD_PRELOAD").output();
    let output = output.expect("ahead starts");
    let text = stdout(&output) + &stderr(&output);
    let said = |what: &str| text.lines().any(|line| line.trim_end() == what);
    for how in [
        "close", "fork", "alone", "end", "bare", "cancel", "lease", "rename",
    ] {
        assert!(said(&format!("same {how}")), "{how}: {text}");
    }
    // The program's own thread, the helper, and fifteen that read for it.
    assert!(said("tasks 17"), "{text}");
}

/// Two levels of folders, made one after another, ten files in each of the lower ones.
const LEVELS: &str = "
import os
for number in range(1200):
    folder = f'tree/{number // 60:02}/{number // 10 % 6}'
    os.makedirs(folder, exist_ok=True)
    with open(f'{folder}/{number * 7919 % 1200:04}', 'wb') as file:
        file.write(os.urandom(5000 + number * 7919 % 40000))
";

/// Folders as they are listed, files by name.
const SORTED: &str = "
import os
for folder, _, names in os.walk('tree'):
    for name in sorted(names):
        open(os.path.join(folder, name), 'rb').read()
";

/// Virtual microseconds of a command with no file of the tree in memory, plain and helped.
const TIMES: &str = "
both() {
    for help in env 'ahead run --'; do
        sync; echo 3 > /proc/sys/vm/drop_caches
        # Its own files are not what is measured.
        $help true; ls -l walk.py > /dev/null; python3 -c 'import os'; cat walk.py > /dev/null
        began=${EPOCHREALTIME/./}
        $help \"$@\" > /dev/null
        echo took $((10#${EPOCHREALTIME/./} - 10#$began))
    done
}
";

/// What `commands` of [`TIMES`] take in a guest: plain and helped, of each.
fn times(tree: &str, disk: &str, file_system: &str, commands: &str) -> Vec<[u64; 2]> {
    let place = Place::new();
    place.file("walk.py", SORTED);
    place.file("levels.py", tree);
    let mut command = place.ahead(&["lab", "run", "--no-ahead", "--disk", disk]);
    command.args(["--fs", file_system, "--size", "1G", "--memory", "512M"]);
    for script in ["walk.py", "levels.py"] {
        command.arg("--with").arg(place.path().join(script));
    }
    let beside = Path::new(env!("CARGO_BIN_EXE_ahead")).parent();
    let beside = beside.expect("a folder").display();
    let script = format!("PATH={beside}:$PATH\n{TIMES}\n{commands}");
    command.args(["--prepare", "python3 levels.py", "--", "bash", "-c"]);
    let output = command.arg(script).env_remove("AHEAD_PRELOAD").output();
    let output = output.expect("ahead starts");
    let text = stdout(&output) + &stderr(&output);
    let took = text.lines().filter_map(|line| line.strip_prefix("took "));
    let took: Vec<u64> = took
        .map(|us| us.trim().parse().expect("a number"))
        .collect();
    let (pairs, rest) = took.as_chunks();
    assert!(rest.is_empty() && !pairs.is_empty(), "{text}");
    pairs.to_vec()
}

/// In the order in which they were made, a disk with an arm has names and inodes at hand: a helper that goes ahead makes
/// the arm go back and forth (118 ms became 345). Folders in another order than files are followed.
#[test]
fn names_at_hand_are_left_alone_and_folders_have_an_order_of_their_own() {
    let commands = "both ls -lR tree\nboth python3 walk.py";
    let [listed, walked] = times(LEVELS, "hdd", "ext4", commands)[..] else {
        panic!("two programs");
    };
    let [plain, helped] = listed;
    assert!(helped * 100 < plain * 105, "ls: {plain} to {helped} us");
    let [plain, helped] = walked;
    assert!(helped * 2 < plain, "walk.py: {plain} to {helped} us");
}

/// 280 folders, which the file system spreads over the disk.
const WIDE: &str = "
import os
for number in range(4200):
    folder = f'tree/{number // 105:02}/{number // 15 % 7}'
    os.makedirs(folder, exist_ok=True)
    with open(f'{folder}/{number:04}', 'wb') as file:
        file.write(os.urandom(3000 + number * 7919 % 20000))
";

/// `find` asks in the order in which a folder lists its files, which is not that of their inodes. Here it takes 382 of 757
/// ms, on the tree of docs/decisions/trees.md 0.47 of 1.26 s.
#[test]
fn a_program_that_only_asks_is_faster_by_half_where_inodes_are_far_apart() {
    let [[plain, helped]] = times(WIDE, "hdd", "ext4", "both find tree -printf %s")[..] else {
        panic!("one program");
    };
    assert!(helped * 3 < plain * 2, "find: {plain} to {helped} us");
}

/// Metadata of btrfs lies in trees of its own.
#[test]
fn a_tree_on_btrfs_is_helped() {
    let [[plain, helped]] = times(LEVELS, "ssd", "btrfs", "both tar cf /dev/zero tree")[..] else {
        panic!("one program");
    };
    assert!(helped * 3 < plain * 2, "tar: {plain} to {helped} us");
}
