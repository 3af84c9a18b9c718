//! From creating to destroying, and what happens when somebody dies in between.
//!
//! Need root, FUSE and loop devices. What a disk answers, and when, is in `figures.rs`.

mod support;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use ahead_disk_emulator::{CreateError, CreateOptions, DestroyError, StateError, StatsError};
use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, PidfdFlags, Signal};
use support::{MIB, Machine, alone, pattern, small_disk};

/// Kills process `pid` and waits until it has ended: a signal sent is not yet one received, and until
/// then its disk is a working one.
fn kill(pid: i32) {
    let pid = Pid::from_raw(pid).expect("not zero");
    let process = rustix::process::pidfd_open(pid, PidfdFlags::empty()).expect("it runs");
    rustix::process::pidfd_send_signal(&process, Signal::KILL).expect("the process is ours");
    let mut ended = [PollFd::new(&process, PollFlags::IN)];
    rustix::io::retry_on_intr(|| rustix::event::poll(&mut ended, None)).expect("it can be polled");
}

/// Whether the disk called `name` works.
fn is_listed(name: &str) -> bool {
    let disks = ahead_disk_emulator::list().unwrap();
    disks.iter().any(|disk| disk.name == name)
}

fn drop_caches() {
    rustix::fs::sync();
    fs::write("/proc/sys/vm/drop_caches", "3").expect("root");
}

#[test]
fn bytes_written_come_back_from_the_disk_itself() {
    let _turn = alone();
    let folder = tempfile::tempdir().unwrap();
    let before = Machine::now();
    let info = ahead_disk_emulator::create(&small_disk("t-bytes", folder.path())).unwrap();
    assert_eq!(
        ahead_disk_emulator::list()
            .unwrap()
            .iter()
            .filter(|disk| **disk == info)
            .count(),
        1
    );
    let path = info.mount_dir.join("file");
    fs::write(&path, pattern(16 * MIB)).unwrap();
    drop_caches();
    ahead_disk_emulator::reset_stats("t-bytes").unwrap();
    assert!(
        fs::read(&path).unwrap() == pattern(16 * MIB),
        "other bytes came back"
    );
    let stats = ahead_disk_emulator::stats("t-bytes").unwrap();
    assert!(stats.read_bytes >= 16 * MIB, "{stats:?}");
    ahead_disk_emulator::destroy("t-bytes").unwrap();
    Machine::assert_nothing_left(&before);
    assert!(
        !info.mount_dir.exists(),
        "the folder was made for the disk and is still there"
    );
}

#[test]
fn a_hundred_cycles_leave_nothing_behind() {
    let _turn = alone();
    let folder = tempfile::tempdir().unwrap();
    let before = Machine::now();
    for _ in 0..100 {
        let info = ahead_disk_emulator::create(&small_disk("t-cycle", folder.path())).unwrap();
        fs::write(info.mount_dir.join("file"), pattern(MIB)).unwrap();
        let read_ahead = format!(
            "/sys/dev/block/{}:{}/queue/read_ahead_kb",
            info.major, info.minor
        );
        fs::write(read_ahead, "1024").unwrap();
        ahead_disk_emulator::destroy("t-cycle").unwrap();
    }
    Machine::assert_nothing_left(&before);
}

#[test]
fn several_disks_live_side_by_side() {
    let _turn = alone();
    let folder = tempfile::tempdir().unwrap();
    let before = Machine::now();
    let names = ["t-side-a", "t-side-b", "t-side-c"];
    for (name, letter) in names.iter().zip(["a", "b", "c"]) {
        let info = ahead_disk_emulator::create(&small_disk(name, folder.path())).unwrap();
        fs::write(info.mount_dir.join("file"), letter).unwrap();
    }
    drop_caches();
    for (name, letter) in names.iter().zip(["a", "b", "c"]) {
        assert_eq!(
            fs::read_to_string(folder.path().join(name).join("file")).unwrap(),
            letter
        );
    }
    for name in names {
        ahead_disk_emulator::destroy(name).unwrap();
    }
    Machine::assert_nothing_left(&before);
}

/// The worst moment is a read that waits for an answer: it must fail, not hang.
#[test]
fn a_killed_server_fails_its_readers_and_the_next_list_cleans_up() {
    let _turn = alone();
    let folder = tempfile::tempdir().unwrap();
    let before = Machine::now();
    let mut options = small_disk("t-killed", folder.path());
    options.model = ahead_disk_model::DiskModel::cloud();
    let info = ahead_disk_emulator::create(&options).unwrap();
    let device = support::open_direct(&info.device);
    let reader = thread::spawn(move || {
        (0..)
            .map(|index| support::read_direct(&device, index % 1024 * 4096, 4096))
            .find_map(Result::err)
            .expect("reading goes on until it fails")
    });
    while ahead_disk_emulator::stats("t-killed").unwrap().reads < 50 {
        thread::yield_now();
    }
    kill(info.server_pid);
    let error = reader.join().unwrap();
    assert_eq!(
        error.raw_os_error(),
        Some(rustix::io::Errno::IO.raw_os_error())
    );
    assert!(matches!(
        ahead_disk_emulator::stats("t-killed"),
        Err(StatsError::Server { .. })
    ));
    assert!(!is_listed(&options.name));
    Machine::assert_nothing_left(&before);
}

#[test]
fn a_killed_server_is_also_cleaned_up_by_create_and_by_destroy() {
    let _turn = alone();
    let folder = tempfile::tempdir().unwrap();
    let before = Machine::now();
    let options = small_disk("t-again", folder.path());
    for _ in 0..3 {
        let info = ahead_disk_emulator::create(&options).unwrap();
        fs::write(info.mount_dir.join("file"), pattern(MIB)).unwrap();
        kill(info.server_pid);
    }
    // Dirty pages that can no longer be written must not keep it either.
    ahead_disk_emulator::destroy("t-again").unwrap();
    Machine::assert_nothing_left(&before);
}

/// A process that makes this disk.
fn start_creator(options: &CreateOptions) -> Child {
    let json = serde_json::to_string(options).unwrap();
    let mut creator = Command::new(support::server_exe());
    creator.args(["create", &json]).stdout(Stdio::null());
    creator.spawn().unwrap()
}

/// Kills the creator at many moments, from before its first step to after its last. The delays are
/// the faults that are injected; nothing waits for them.
#[test]
fn a_killed_creator_leaves_nothing_that_the_next_list_does_not_remove() {
    let _turn = alone();
    let folder = tempfile::tempdir().unwrap();
    let before = Machine::now();
    let options = small_disk("t-half", folder.path());
    let mut half_made = 0;
    for step in 0..60 {
        let mut creator = start_creator(&options);
        thread::sleep(Duration::from_millis(step * 2));
        creator.kill().unwrap();
        creator.wait().unwrap();
        half_made += u32::from(Path::new("/run/ahead/disk/t-half").exists());
        if is_listed("t-half") {
            let mounted = folder.path().join("t-half/lost+found");
            assert!(
                mounted.exists(),
                "listed, but not mounted (killed after {} ms)",
                step * 2
            );
            ahead_disk_emulator::destroy("t-half").unwrap();
        }
        // A server without a maker ends by itself; this is where that would show.
        let limit = std::time::Instant::now() + Duration::from_secs(10);
        while !Machine::now().is_as(&before) && std::time::Instant::now() < limit {
            thread::yield_now();
        }
        Machine::assert_nothing_left(&before);
    }
    assert!(
        half_made > 0,
        "no creator was killed half-way: the delays are wrong"
    );
}

/// The creator used to tell its server only after the journal called the disk ready; killed between
/// the two, it left a disk that was listed and whose server was about to end.
#[test]
fn a_creator_that_is_killed_when_its_disk_is_ready_leaves_a_whole_disk() {
    let _turn = alone();
    let folder = tempfile::tempdir().unwrap();
    let before = Machine::now();
    let options = small_disk("t-ready", folder.path());
    for _ in 0..10 {
        let mut creator = start_creator(&options);
        let journal = Path::new("/run/ahead/disk/t-ready/disk.json");
        let is_ready = || fs::read_to_string(journal).is_ok_and(|text| text.contains("\"ready\""));
        while !is_ready() && creator.try_wait().unwrap().is_none() {}
        creator.kill().unwrap();
        creator.wait().unwrap();
        assert!(is_listed("t-ready"));
        // To the disk itself, for which its server must live.
        let mut file = File::create(folder.path().join("t-ready/file")).unwrap();
        file.write_all(&pattern(MIB)).unwrap();
        file.sync_all().unwrap();
        drop(file);
        ahead_disk_emulator::destroy("t-ready").unwrap();
        Machine::assert_nothing_left(&before);
    }
}

#[test]
fn a_killed_destroyer_leaves_a_whole_disk_or_none() {
    let _turn = alone();
    let folder = tempfile::tempdir().unwrap();
    let before = Machine::now();
    let options = small_disk("t-undone", folder.path());
    for step in 0..30 {
        ahead_disk_emulator::create(&options).unwrap();
        let mut destroyer = Command::new(support::server_exe())
            .args(["destroy", "t-undone"])
            .spawn()
            .unwrap();
        thread::sleep(Duration::from_millis(step));
        destroyer.kill().unwrap();
        destroyer.wait().unwrap();
        // The loop device lets go a little later than the file system is unmounted; until then the
        // disk looks whole, so a destroyer must be able to take over at any point.
        if is_listed("t-undone") {
            ahead_disk_emulator::destroy("t-undone").unwrap();
        }
        Machine::assert_nothing_left(&before);
    }
}

/// A server that hangs is worse than a dead one: whoever asks it, waits. Killing it must be enough.
#[test]
fn a_stopped_server_that_is_killed_lets_its_readers_go() {
    let _turn = alone();
    let folder = tempfile::tempdir().unwrap();
    let before = Machine::now();
    let info = ahead_disk_emulator::create(&small_disk("t-stopped", folder.path())).unwrap();
    let server = Pid::from_raw(info.server_pid).unwrap();
    rustix::process::kill_process(server, Signal::STOP).unwrap();
    let device = support::open_direct(&info.device);
    let reader = thread::spawn(move || support::read_direct(&device, MIB, 4096));
    kill(info.server_pid);
    assert!(reader.join().unwrap().is_err());
    ahead_disk_emulator::destroy("t-stopped").unwrap();
    Machine::assert_nothing_left(&before);
}

#[test]
fn a_disk_in_use_is_not_destroyed_and_goes_on_working() {
    let _turn = alone();
    let folder = tempfile::tempdir().unwrap();
    let before = Machine::now();
    let info = ahead_disk_emulator::create(&small_disk("t-busy", folder.path())).unwrap();
    let path = info.mount_dir.join("file");
    fs::write(&path, pattern(MIB)).unwrap();
    drop_caches();
    let mut open = File::open(&path).unwrap();
    assert!(matches!(
        ahead_disk_emulator::destroy("t-busy"),
        Err(DestroyError::InUse { .. })
    ));
    let mut bytes = Vec::new();
    open.read_to_end(&mut bytes).unwrap();
    assert!(bytes == pattern(MIB));
    drop(open);
    ahead_disk_emulator::destroy("t-busy").unwrap();
    Machine::assert_nothing_left(&before);
}

#[test]
fn a_disk_that_was_unmounted_by_hand_is_cleaned_up() {
    let _turn = alone();
    let folder = tempfile::tempdir().unwrap();
    let before = Machine::now();
    let info = ahead_disk_emulator::create(&small_disk("t-umount", folder.path())).unwrap();
    rustix::mount::unmount(&info.mount_dir, rustix::mount::UnmountFlags::empty()).unwrap();
    // The loop device lets go a little later than the call returns.
    while is_listed("t-umount") {
        thread::yield_now();
    }
    Machine::assert_nothing_left(&before);
}

#[test]
fn what_cannot_work_is_refused_with_its_reason_and_leaves_nothing() {
    let _turn = alone();
    let folder = tempfile::tempdir().unwrap();
    let before = Machine::now();
    let good = small_disk("t-wrong", folder.path());
    let refused = |change: fn(&mut CreateOptions, &Path)| {
        let mut options = good.clone();
        change(&mut options, folder.path());
        let error = ahead_disk_emulator::create(&options).expect_err("it cannot work");
        let text = error.to_string();
        assert!(
            !text.is_empty() && !text.contains('\n'),
            "not one line: {text:?}"
        );
        error
    };
    fs::write(folder.path().join("plain"), "").unwrap();
    fs::create_dir_all(folder.path().join("full/of")).unwrap();

    let error = refused(|options, _| options.name = "../escape".into());
    assert!(matches!(error, CreateError::State(StateError::Name(_))));
    let error = refused(|options, _| options.size_bytes = MIB);
    assert!(matches!(error, CreateError::TooSmall { .. }));
    let error = refused(|options, _| options.size_bytes = 1 << 50);
    assert!(matches!(error, CreateError::TooLarge { .. }));
    let error = refused(|options, folder| options.mount_dir = folder.join("full"));
    assert!(matches!(error, CreateError::MountPoint { .. }));
    let error = refused(|options, folder| options.mount_dir = folder.join("plain"));
    assert!(matches!(error, CreateError::MountPoint { .. }));
    let error = refused(|options, _| options.mount_dir = "/proc/self/fdinfo/x".into());
    assert!(matches!(error, CreateError::MountPoint { .. }));
    let error = refused(|options, _| options.mount_dir = "/sys".into());
    assert!(matches!(error, CreateError::MountPoint { .. }));
    let error = refused(|options, _| options.server_exe = "/nonexistent".into());
    assert!(matches!(error, CreateError::Server { .. }));
    let error = refused(|options, _| options.server_exe = "/bin/true".into());
    assert!(matches!(error, CreateError::Server { .. }));
    let error = refused(|options, _| {
        let model = ahead_disk_model::VolumeModel {
            latency_us: 0,
            requests_per_s: 0,
            bytes_per_s: 0,
        };
        options.model = ahead_disk_model::DiskModel::Volume(model);
    });
    assert!(matches!(error, CreateError::Model(_)));
    Machine::assert_nothing_left(&before);

    ahead_disk_emulator::create(&good).unwrap();
    let error = refused(|_, _| {});
    assert!(matches!(error, CreateError::NameInUse(_)));
    let error = refused(|options, _| options.name = "t-other".into());
    assert!(matches!(error, CreateError::MountPoint { .. }));
    ahead_disk_emulator::destroy("t-wrong").unwrap();
    let error = ahead_disk_emulator::destroy("t-wrong").unwrap_err();
    assert!(matches!(
        error,
        DestroyError::State(StateError::NoSuchDisk(_))
    ));
    Machine::assert_nothing_left(&before);
}

#[test]
fn without_root_the_answer_is_one_clear_line() {
    let _turn = alone();
    let folder = tempfile::tempdir().unwrap();
    let options = small_disk("t-nobody", folder.path());
    // Where others may execute it.
    let exe = Path::new("/tmp").join(format!("ahead-disk-server-{}", std::process::id()));
    fs::copy(support::server_exe(), &exe).unwrap();
    let output = Command::new(&exe)
        .args(["create", &serde_json::to_string(&options).unwrap()])
        .uid(65_534)
        .gid(65_534)
        .output();
    fs::remove_file(&exe).unwrap();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(
        text.contains("need root") && text.lines().count() == 1,
        "{text}"
    );
}
