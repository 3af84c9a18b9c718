//! What was changed is put back, by whoever comes next, on the device that it was changed on and on no other.

mod support;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ahead_device::machine::MachineTree;
use ahead_device::temporary_window::TemporaryWindow;
use ahead_device::undo::UndoLock;
use ahead_device::window::{self, WindowError};
use ahead_device::window_journal::{self, PutBackWindow, WindowJournalError};

/// The root of the machine that a process of this test is to hold a window of.
const HELD_ROOT: &str = "AHEAD_TEST_HELD_ROOT";

/// A machine with a disk `sdc` of 128 KiB.
struct Machine {
    folder: tempfile::TempDir,
    tree: MachineTree,
}

impl Machine {
    fn new() -> Self {
        let folder = support::machine("ram-cache-disk");
        let machine = Self {
            tree: MachineTree::at(folder.path()),
            folder,
        };
        machine.boot("first");
        machine.write(128);
        machine
    }

    fn boot(&self, id: &str) {
        let random = self.folder.path().join("proc/sys/kernel/random");
        fs::create_dir_all(&random).expect("a folder");
        fs::write(random.join("boot_id"), id).expect("written");
    }

    fn file(&self) -> PathBuf {
        let file = "sys/class/block/sdc/queue/read_ahead_kb";
        self.folder.path().join(file)
    }

    fn journal(&self) -> PathBuf {
        self.folder.path().join("run/ahead/device/windows.json")
    }

    fn write(&self, kib: u64) {
        fs::write(self.file(), format!("{kib}\n")).expect("written");
    }

    fn window(&self) -> u64 {
        let text = fs::read_to_string(self.file()).expect("a window");
        text.trim().parse().expect("a number")
    }

    /// The device goes and one with the same number comes.
    fn plug_again(&self) {
        let bdis = self.folder.path().join("sys/class/bdi");
        let number = fs::read_to_string(self.folder.path().join("sys/class/block/sdc/dev"));
        let bdi = bdis.join(number.expect("a number").trim());
        let next = bdis.join("next");
        fs::create_dir(&next).expect("a folder");
        std::os::unix::fs::symlink(self.file(), next.join("read_ahead_kb")).expect("a link");
        fs::remove_file(bdi.join("read_ahead_kb")).expect("a link");
        fs::remove_dir(&bdi).expect("a folder");
        fs::rename(next, bdi).expect("renamed");
    }

    /// A process that holds the window and has set 512 KiB.
    fn held(&self) -> Holder {
        let mut child = Command::new(std::env::current_exe().expect("this test"))
            .args([
                "--ignored",
                "--exact",
                "holds_a_window_until_it_is_killed",
                "--nocapture",
            ])
            .env(HELD_ROOT, self.folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this test starts");
        let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let is_set = |line: std::io::Result<String>| line.expect("text").contains("it is set");
        let mut lines = lines;
        assert!(lines.any(is_set), "the holder ended");
        Holder(child)
    }
}

struct Holder(Child);

impl Holder {
    fn kill(mut self) {
        self.0.kill().expect("our child");
        self.0.wait().expect("our child");
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Started by the tests below, which kill it.
#[test]
#[ignore = "a process of the other tests"]
fn holds_a_window_until_it_is_killed() {
    let root = std::env::var_os(HELD_ROOT).expect("a machine");
    let mut held = TemporaryWindow::hold(&MachineTree::at(Path::new(&root)), "sdc").expect("held");
    held.set(256).expect("set");
    held.set(512).expect("set");
    println!("it is set");
    let _ = std::io::stdin().read_line(&mut String::new());
    std::mem::forget(held);
}

#[test]
fn a_window_that_is_held_is_put_back_when_it_is_dropped() {
    let machine = Machine::new();
    let mut held = TemporaryWindow::hold(&machine.tree, "sdc").expect("held");
    assert_eq!((held.name(), held.before_kib()), ("sdc", 128));
    for kib in [4, 4096, 64] {
        assert_eq!(held.set(kib).expect("set"), kib);
        assert_eq!(machine.window(), kib);
    }
    assert!(held.set(3).expect_err("no page").is_usage());
    drop(held);
    assert_eq!(machine.window(), 128);
    assert!(!machine.journal().exists());
}

/// A file that was opened in the meantime had no window for as long as it was open.
#[test]
fn a_window_is_put_back_before_the_journal_is_waited_for() {
    let machine = Machine::new();
    let mut held = TemporaryWindow::hold(&machine.tree, "sdc").expect("held");
    held.set(4).expect("set");
    let folder = machine.journal().with_file_name("");
    let lock = UndoLock::take(&folder).expect("its folder");
    let dropping = std::thread::spawn(move || drop(held));
    let began = Instant::now();
    // It is empty for a moment, as files are that are written.
    let is_back = || fs::read_to_string(machine.file()).is_ok_and(|text| text.trim() == "128");
    while !is_back() && began.elapsed() < Duration::from_secs(10) {
        std::thread::yield_now();
    }
    let seen = (is_back(), machine.journal().exists());
    drop(lock);
    dropping.join().expect("dropped");
    assert_eq!(seen, (true, true));
    assert!(!machine.journal().exists());
}

#[test]
fn it_is_put_back_while_a_panic_unwinds() {
    let machine = Machine::new();
    let tree = machine.tree.clone();
    let panicked = std::panic::catch_unwind(move || {
        let mut held = TemporaryWindow::hold(&tree, "sdc").expect("held");
        held.set(1024).expect("set");
        panic!("in the middle");
    });
    assert!(panicked.is_err());
    assert_eq!(machine.window(), 128);
}

#[test]
fn what_a_killed_process_left_is_put_back_by_the_next_start() {
    let machine = Machine::new();
    machine.held().kill();
    assert_eq!(machine.window(), 512, "nothing puts it back by itself");
    let put_back = window_journal::put_back_left(&machine.tree).expect("a journal");
    let [PutBackWindow { kib: 128, .. }] = put_back[..] else {
        panic!("{put_back:?}");
    };
    assert_eq!(machine.window(), 128);
    assert!(!machine.journal().exists());
    assert_eq!(
        window_journal::put_back_left(&machine.tree).expect("none"),
        []
    );
}

/// Also by a change: what it notes as the value before is the owner's and not the dead process'.
#[test]
fn every_change_puts_back_first_what_a_killed_process_left() {
    let machine = Machine::new();
    machine.held().kill();
    let change = window::set(&machine.tree, "sdc", 64).expect("set");
    assert_eq!((change.before_kib, change.now_kib), (128, 64));
    machine.held().kill();
    let change = window::undo(&machine.tree, "sdc").expect("put back");
    assert_eq!((change.before_kib, change.now_kib), (64, 128));
    machine.held().kill();
    let held = TemporaryWindow::hold(&machine.tree, "sdc").expect("held");
    assert_eq!(held.before_kib(), 128);
}

#[test]
fn while_a_process_holds_a_window_no_other_one_changes_it() {
    let machine = Machine::new();
    let holder = machine.held();
    let pid = holder.0.id();
    let refused = |error: WindowError| {
        assert!(matches!(error, WindowError::Held { .. }), "{error}");
        assert!(error.to_string().contains(&pid.to_string()), "{error}");
    };
    refused(window::set(&machine.tree, "sdc", 64).expect_err("held"));
    refused(window::undo(&machine.tree, "sdc").expect_err("held"));
    refused(TemporaryWindow::hold(&machine.tree, "sdc").expect_err("held"));
    let known = window::holder(&machine.tree, "sdc").expect("a journal");
    assert_eq!(known.map(|known| known.pid.unsigned_abs()), Some(pid));
    assert_eq!(
        window_journal::put_back_left(&machine.tree).expect("none"),
        []
    );
    assert_eq!(machine.window(), 512);
}

/// Between the moment in which it was noted and the one in which it is set: 64 was lost, and 128 came back.
#[test]
fn a_value_that_another_program_has_set_is_not_written_over() {
    let machine = Machine::new();
    let mut held = TemporaryWindow::hold(&machine.tree, "sdc").expect("held");
    machine.write(64);
    let taken = held.set(4).expect_err("it is another program's");
    assert!(
        matches!(taken, WindowError::Taken { now_kib: 64, .. }),
        "{taken}"
    );
    // As that program sets it next, it is not ours either.
    machine.write(4);
    drop(held);
    assert_eq!(machine.window(), 4);
    assert!(!machine.journal().exists());
    assert_eq!(
        window::holder(&machine.tree, "sdc").expect("no journal"),
        None
    );
}

/// Its owner has set it in the middle of a measurement, or after its crash: that is what is wanted.
#[test]
fn a_value_that_the_holder_did_not_set_stays() {
    let machine = Machine::new();
    let mut held = TemporaryWindow::hold(&machine.tree, "sdc").expect("held");
    held.set(1024).expect("set");
    machine.write(96);
    assert_eq!(held.put_back().expect("ended"), 96);
    machine.held().kill();
    machine.write(160);
    assert_eq!(
        window_journal::put_back_left(&machine.tree).expect("read"),
        []
    );
    assert_eq!(machine.window(), 160);
    assert!(!machine.journal().exists());
}

#[test]
fn a_note_is_not_for_another_device_of_the_same_number() {
    let machine = Machine::new();
    window::set(&machine.tree, "sdc", 64).expect("set");
    machine.held().kill();
    machine.plug_again();
    assert_eq!(
        window_journal::put_back_left(&machine.tree).expect("read"),
        []
    );
    let nothing = window::undo(&machine.tree, "sdc");
    assert!(matches!(nothing, Err(WindowError::NothingNoted(_))));
    assert_eq!(machine.window(), 512, "nothing was written");
    let mut held = TemporaryWindow::hold(&machine.tree, "sdc").expect("held");
    held.set(32).expect("set");
    machine.plug_again();
    assert!(matches!(held.set(16), Err(WindowError::Gone(_))));
    drop(held);
    assert_eq!(machine.window(), 32);
}

/// A loop device keeps its folders and gets another file.
#[test]
fn a_note_is_not_for_another_disk_in_the_same_device() {
    let machine = Machine::new();
    let sequence = machine.folder.path().join("sys/class/block/sdc/diskseq");
    fs::write(&sequence, "7\n").expect("written");
    window::set(&machine.tree, "sdc", 64).expect("set");
    window::set(&machine.tree, "sdc", 32).expect("set");
    window::undo(&machine.tree, "sdc").expect("the same disk");
    machine.held().kill();
    fs::write(&sequence, "8\n").expect("written");
    assert_eq!(
        window_journal::put_back_left(&machine.tree).expect("read"),
        []
    );
    let nothing = window::undo(&machine.tree, "sdc");
    assert!(matches!(nothing, Err(WindowError::NothingNoted(_))));
    assert_eq!(machine.window(), 512, "nothing was written");
}

/// Where `/run` is a folder that a boot does not empty.
#[test]
fn a_note_is_not_for_another_start_of_the_machine() {
    let machine = Machine::new();
    window::set(&machine.tree, "sdc", 64).expect("set");
    machine.boot("second");
    let nothing = window::undo(&machine.tree, "sdc");
    assert!(matches!(nothing, Err(WindowError::NothingNoted(_))));
    assert_eq!(machine.window(), 64);
}

#[test]
fn a_damaged_journal_is_one_line_and_stops_every_change() {
    let machine = Machine::new();
    window::set(&machine.tree, "sdc", 64).expect("set");
    let good = fs::read_to_string(machine.journal()).expect("text");
    let damaged = [
        String::new(),
        "[]".to_owned(),
        good[..good.len() / 2].to_owned(),
        good.replace("\"version\": 1", "\"version\": 2"),
        good.replace("before_kib", "before"),
        good.replace("\"before_kib\": 128", "\"before_kib\": -1"),
        "x".repeat(3 << 20),
    ];
    for text in damaged {
        fs::write(machine.journal(), &text).expect("written");
        let errors = [
            window::set(&machine.tree, "sdc", 32).expect_err("damaged"),
            window::undo(&machine.tree, "sdc").expect_err("damaged"),
            TemporaryWindow::hold(&machine.tree, "sdc").expect_err("damaged"),
            window_journal::put_back_left(&machine.tree)
                .expect_err("damaged")
                .into(),
        ];
        for error in errors {
            let is_damaged = WindowJournalError::Damaged {
                file: String::new(),
                why: String::new(),
            };
            let WindowError::Journal(found) = &error else {
                panic!("{error}");
            };
            assert_eq!(
                std::mem::discriminant(found),
                std::mem::discriminant(&is_damaged)
            );
            let line = error.to_string();
            assert!(line.contains("/run/ahead/device/windows.json"), "{line}");
            assert_eq!(line.lines().count(), 1, "{line}");
        }
        assert_eq!(machine.window(), 64);
        assert_eq!(fs::read_to_string(machine.journal()).expect("text"), text);
    }
}

/// What anything writes there becomes the name of a bdi, and that of no other file.
#[test]
fn no_path_of_the_journal_is_believed() {
    let machine = Machine::new();
    machine.held().kill();
    let good = fs::read_to_string(machine.journal()).expect("text");
    let victim = machine.folder.path().join("sys/class/victim");
    fs::create_dir(&victim).expect("a folder");
    fs::write(victim.join("read_ahead_kb"), "512\n").expect("written");
    let number = fs::read_to_string(machine.folder.path().join("sys/class/block/sdc/dev"));
    let number = number.expect("a number").trim().to_owned();
    let inode = std::os::unix::fs::MetadataExt::ino(&fs::metadata(&victim).expect("a folder"));
    for name in [
        "../victim".to_owned(),
        victim.display().to_string(),
        "..".into(),
        String::new(),
    ] {
        let mut json: serde_json::Value = serde_json::from_str(&good).expect("JSON");
        let note = &mut json["notes"][0];
        assert_eq!(note["bdi"], number.as_str());
        note["bdi"] = name.into();
        note["appearance"] = inode.into();
        fs::write(machine.journal(), json.to_string()).expect("written");
        assert_eq!(
            window_journal::put_back_left(&machine.tree).expect("read"),
            []
        );
        let text = fs::read_to_string(victim.join("read_ahead_kb")).expect("text");
        assert_eq!((text.as_str(), machine.window()), ("512\n", 512));
    }
}

/// Each of them finds what the one before has left, and the journal has all of it.
#[test]
fn two_processes_do_not_lose_each_others_notes() {
    let machine = Machine::new();
    let mut threads = Vec::new();
    for _ in 0..4 {
        let tree = machine.tree.clone();
        threads.push(std::thread::spawn(move || {
            for kib in [4, 8, 12] {
                window::set(&tree, "sdc", kib).expect("set");
            }
        }));
    }
    for thread in threads {
        thread.join().expect("no panic");
    }
    // Two of one value behind each other are one change.
    let mut undone = 0;
    while window::undo(&machine.tree, "sdc").is_ok() {
        undone += 1;
    }
    assert!((3..=12).contains(&undone), "{undone}");
    assert_eq!(machine.window(), 128);
    assert!(!machine.journal().exists());
}

/// A service that sets a window every minute does not fill /run, and the first value is not forgotten.
/// `set 512K` twice took two undos, the first of which changed nothing.
#[test]
fn what_is_there_already_is_not_noted() {
    let machine = Machine::new();
    let change = window::set(&machine.tree, "sdc", 128).expect("set");
    assert_eq!((change.before_kib, change.now_kib), (128, 128));
    assert!(!machine.journal().exists(), "nothing to put back");
    for kib in [512, 512, 64] {
        window::set(&machine.tree, "sdc", kib).expect("set");
    }
    for kib in [512, 128] {
        assert_eq!(
            window::undo(&machine.tree, "sdc")
                .expect("put back")
                .now_kib,
            kib
        );
    }
    let nothing = window::undo(&machine.tree, "sdc");
    assert!(matches!(nothing, Err(WindowError::NothingNoted(_))));
}

#[test]
fn of_many_changes_the_first_and_the_last_are_kept() {
    let machine = Machine::new();
    for step in 0..200 {
        window::set(&machine.tree, "sdc", 4 * (step + 1)).expect("set");
    }
    let mut undone = 0;
    while window::undo(&machine.tree, "sdc").is_ok() {
        undone += 1;
    }
    assert_eq!((undone, machine.window()), (64, 128));
}
