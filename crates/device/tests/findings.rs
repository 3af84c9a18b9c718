//! The findings of every recorded machine are those that were approved, in `approved/findings.txt`.
//!
//! After a change that is meant: `AHEAD_APPROVE=1 cargo test -p ahead-device --test findings`, and read the
//! difference before it is committed.

mod support;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use ahead_device::boot;
use ahead_device::doctor::{self, Diagnosis};
use ahead_device::finding::{DeviceTiming, Finding, Severity};
use ahead_device::machine::MachineTree;
use ahead_device::mapped::MappedAdvice;
use ahead_device::mechanism::Mechanism;

fn examined(root: &Path) -> Vec<Diagnosis> {
    doctor::examine(
        &MachineTree::at(root),
        &[],
        &|_| None,
        &MappedAdvice::default(),
    )
    .expect("no names, no error")
}

fn ids(root: &Path) -> Vec<&'static str> {
    let all = examined(root);
    let findings = all.iter().flat_map(|one| &one.findings);
    findings.map(|finding| finding.id).collect()
}

fn command(finding: &Finding) -> Option<&str> {
    finding.repair.as_ref().map(|one| one.command.as_str())
}

#[test]
fn every_machine_gives_its_approved_findings() {
    let mut text = String::new();
    for (name, listing) in support::listings() {
        let root = support::built(&listing);
        writeln!(text, "== {name}").expect("text");
        for one in examined(root.path()) {
            let kib = one
                .read_ahead_kb
                .map_or_else(|| "-".to_owned(), |kib| kib.to_string());
            writeln!(text, "{} {kib} KiB", one.target).expect("text");
            for finding in &one.findings {
                let severity = finding.severity.word();
                writeln!(text, "  {severity} {}: {}", finding.id, finding.sentence).expect("text");
                for evidence in &finding.evidence {
                    writeln!(text, "    {}: {}", evidence.file, evidence.says).expect("text");
                }
                for consequence in &finding.consequence {
                    writeln!(text, "    > {consequence}").expect("text");
                }
                let repair = command(finding).unwrap_or("-");
                writeln!(text, "    $ {repair}").expect("text");
            }
        }
    }
    let approved = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/approved/findings.txt");
    if std::env::var_os("AHEAD_APPROVE").is_some() {
        fs::create_dir_all(approved.parent().expect("a folder")).expect("a folder");
        fs::write(&approved, &text).expect("written");
    }
    let expected = fs::read_to_string(approved).unwrap_or_default();
    for (line, expected) in text.lines().zip(expected.lines()) {
        assert_eq!(line, expected);
    }
    assert_eq!(text.lines().count(), expected.lines().count());
}

const FLASH: &str = "[sys/block/sda]\ndev = 8:0\nsize = 1000\nqueue/rotational = 0\n\
                     queue/optimal_io_size = 0\nqueue/read_ahead_kb = ";

fn disk(kib: u64, more: &str) -> tempfile::TempDir {
    support::built(&format!("{FLASH}{kib}\n{more}"))
}

#[test]
fn a_disk_as_the_kernel_made_it_has_no_findings() {
    let root = disk(128, "[etc/udev/rules.d]\n");
    assert_eq!(ids(root.path()), [""; 0]);
}

#[test]
fn a_value_that_nothing_sets_at_boot_is_lost_there() {
    assert_eq!(
        ids(disk(512, "[etc/udev/rules.d]\n").path()),
        ["lost-at-boot"]
    );
    let rule =
        "[etc/udev/rules.d]\n60.rules = KERNEL==\"sd[a-z]\", ATTR{queue/read_ahead_kb}=\"512\"\n";
    assert_eq!(ids(disk(512, rule).path()), [""; 0]);
    // Without any of the usual folders nothing can be said.
    assert_eq!(ids(disk(512, "").path()), [""; 0]);
    // A rule with a condition that is not looked at can be the one.
    let rule = rule.replace("ATTR", "ENV{ID_BUS}==\"ata\", ATTR");
    assert_eq!(ids(disk(512, &rule).path()), [""; 0]);
}

/// After `set` the window is right until the next boot, in which the rule of the kernel comes again.
#[test]
fn the_repair_of_a_rule_is_kept_over_the_boot() {
    let machine = |kib: u64, limits: &str| {
        let text = format!(
            "[proc]\nsys/kernel/osrelease = 6.18.1\n[sys/block/vda]\ndev = 254:0\nsize = 9\n{limits}\n\
             queue/read_ahead_kb = {kib}\n[etc/udev/rules.d]\n"
        );
        examined(support::built(&text).path())
            .remove(0)
            .findings
            .into_iter()
            .map(|finding| (finding.id, command(&finding).unwrap_or_default().to_owned()))
            .collect::<Vec<_>>()
    };
    let repair = "sudo ahead device persist vda 128K".to_owned();
    for (id, kib, limits) in [
        (
            "rule-of-6-17",
            8192,
            "queue/rotational = 1\nqueue/optimal_io_size = 0\nqueue/max_sectors_kb = 4096",
        ),
        (
            "bogus-optimal-size",
            65_532,
            "queue/optimal_io_size = 33553920",
        ),
    ] {
        assert_eq!(machine(kib, limits), [(id, repair.clone())]);
        // It was set by hand: not all is well.
        assert_eq!(machine(128, limits), [("lost-at-boot", repair.clone())]);
    }
}

/// What each finding of a machine says: how much it matters, and its command.
fn said(listing: &str) -> Vec<(&'static str, Severity, Option<String>)> {
    let root = support::built(listing);
    let all = examined(root.path()).remove(0).findings;
    let said = all.iter().map(|one| {
        let command = command(one).map(str::to_owned);
        (one.id, one.severity, command)
    });
    said.collect()
}

/// A disk of a hypervisor that says that it rotates: its rule gives 8 MiB.
fn virtual_disk(kib: u64, more: &str) -> String {
    format!(
        "[proc]\nsys/kernel/osrelease = 6.18.1\n[sys/block/vda]\ndev = 254:0\nsize = 9\nqueue/rotational = 1\n\
         queue/optimal_io_size = 0\nqueue/max_sectors_kb = 4096\nqueue/read_ahead_kb = {kib}\n{more}"
    )
}

/// It was set by hand, is too large, and is lost at boot: the loss was to be prevented by keeping the value.
#[test]
fn what_is_wrong_with_a_value_is_not_to_be_kept() {
    let found = said(&format!("{FLASH}65536\n[etc/udev/rules.d]\n"));
    let repair = "sudo ahead device set sda 128K".to_owned();
    assert_eq!(
        found,
        [
            ("large-window", Severity::Warning, Some(repair)),
            ("lost-at-boot", Severity::Warning, None)
        ]
    );
}

/// Its owner has persisted it: the doctor does not say the opposite.
#[test]
fn what_a_file_sets_at_boot_is_meant() {
    let rule = |kib: u64| {
        format!(
            "[etc/udev/rules.d]\n60.rules = KERNEL==\"vda\", ATTR{{queue/read_ahead_kb}}=\"{kib}\"\n"
        )
    };
    for (kib, id) in [
        (0, "zero-window"),
        (8192, "rule-of-6-17"),
        (65_536, "large-window"),
    ] {
        let found = said(&virtual_disk(kib, &rule(kib)));
        assert_eq!(found, [(id, Severity::Note, None)]);
    }
    // Another value than that of the file is no longer meant, and the file has the word.
    let found = said(&virtual_disk(8192, &rule(1024)));
    let repair = "sudo ahead device set vda 1024K".to_owned();
    assert_eq!(
        found,
        [
            ("rule-of-6-17", Severity::Warning, None),
            ("overwritten-by", Severity::Warning, Some(repair))
        ]
    );
}

/// Nothing was read ahead: the rule of the kernel would have been the next finding.
#[test]
fn what_is_recommended_for_no_window_has_no_finding() {
    let disk = virtual_disk(0, "");
    let bogus = disk.replace("optimal_io_size = 0", "optimal_io_size = 33553920");
    let array = "[sys/block/md0]\ndev = 9:0\nsize = 9\nmd/level = raid5\nqueue/rotational = 1\n\
                 queue/optimal_io_size = 1048576\nqueue/read_ahead_kb = 0\n";
    let nfs = "[sys/class/bdi]\n0:52/read_ahead_kb = 0\n[proc/self]\n\
               mountinfo = 30 1 0:52 / /media rw - nfs4 server:/ rw,rsize=1048576\n";
    for (listing, command) in [
        (disk.as_str(), "sudo ahead device set vda 128K"),
        (&bogus, "sudo ahead device set vda 128K"),
        (array, "sudo ahead device set md0 2048K"),
        (nfs, "sudo ahead device set /media 1024K"),
    ] {
        let found = said(listing);
        let repair = Some(command.to_owned());
        assert_eq!(found, [("zero-window", Severity::Warning, repair)]);
    }
    let again = said(&virtual_disk(128, ""));
    assert_eq!(again, []);
}

#[test]
fn a_value_that_boot_overwrites_is_said_with_the_file_and_the_line() {
    let line = "[etc/sysfs.d]\na.conf = # the disk\na.conf = block/sda/queue/read_ahead_kb = 256\n";
    let root = disk(512, line);
    let all = examined(root.path());
    let finding = &all[0].findings[0];
    assert_eq!(finding.id, "overwritten-by");
    assert_eq!(finding.evidence[1].file, "/etc/sysfs.d/a.conf:2");
    assert!(finding.consequence[1].contains("sectors"), "{finding:?}");
    assert_eq!(command(finding), Some("sudo ahead device set sda 256K"));
}

#[test]
fn a_comment_that_says_twice_of_the_value_is_a_mistake_of_units() {
    let line = "[etc]\nrc.local = # 1024 KiB\nrc.local = blockdev --setra 1024 /dev/sda\n";
    let root = disk(512, line);
    let script = root.path().join("etc/rc.local");
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).expect("executable");
    assert_eq!(ids(root.path()), ["sectors-for-kib"]);
}

#[test]
fn no_window_is_a_warning_and_a_large_one_fills_memory() {
    assert_eq!(ids(disk(0, "").path()), ["zero-window"]);
    assert_eq!(ids(disk(32768, "").path()), ["large-window"]);
    assert_eq!(ids(disk(8192, "").path()), [""; 0]);
    let small = "[proc]\nmeminfo = MemTotal: 262144 kB\n";
    assert_eq!(ids(disk(8192, small).path()), ["large-window"]);
}

#[test]
fn a_link_out_of_the_machine_and_a_long_file_are_not_read() {
    let root = disk(512, "[etc/sysfs.d]\n");
    let outside = tempfile::tempdir().expect("a folder");
    let line = "block/sda/queue/read_ahead_kb = 256\n";
    fs::write(outside.path().join("a.conf"), line).expect("written");
    let folder = root.path().join("etc/sysfs.d");
    symlink(outside.path().join("a.conf"), folder.join("a.conf")).expect("a link");
    fs::write(folder.join("b.conf"), line.repeat(4000)).expect("written");
    let found = boot::read(&MachineTree::at(root.path()));
    assert_eq!(found.settings, []);
    fs::write(folder.join("c.conf"), line).expect("written");
    let found = boot::read(&MachineTree::at(root.path()));
    assert_eq!(found.settings.len(), 1);
}

#[test]
fn the_active_profile_of_tuned_and_what_it_includes_are_read() {
    let profiles = "[etc/tuned]\nactive_profile = mine\n\
                    [etc/tuned/mine]\ntuned.conf = include=throughput\n\
                    [usr/lib/tuned/throughput]\ntuned.conf = readahead=>4096\ntuned.conf = readahead=256\n\
                    [usr/lib/tuned/other]\ntuned.conf = readahead=64\n";
    let root = disk(128, profiles);
    let found = boot::read(&MachineTree::at(root.path()));
    let kib: Vec<_> = found
        .settings
        .iter()
        .map(|one| (one.kib(), one.is_sure))
        .collect();
    assert_eq!(kib, [(Some(4096), false), (Some(256), true)]);
    assert_eq!(ids(root.path()), ["overwritten-by"]);
}

/// As many guides have it; and whatever a rule assigns later, its programs run after all rules.
#[test]
fn a_program_that_a_rule_of_udev_starts_has_the_last_word() {
    let rules = "[etc/udev/rules.d]\n\
                 60.rules = KERNEL==\"sd[a-z]\", RUN+=\"/sbin/blockdev --setra 1024 /dev/%k\"\n\
                 70.rules = KERNEL==\"sda\", ATTR{queue/read_ahead_kb}=\"64\"\n";
    assert_eq!(ids(disk(512, rules).path()), [""; 0]);
    let root = disk(64, rules);
    let all = examined(root.path());
    let finding = &all[0].findings[0];
    assert_eq!(finding.id, "overwritten-by");
    assert_eq!(finding.evidence[1].file, "/etc/udev/rules.d/60.rules:1");
}

/// Units of packages count where they are enabled, and one of the same name in `/etc` stands before them.
#[test]
fn enabled_units_are_found_in_every_folder_of_systemd() {
    let unit = "ra.service = ExecStart=/sbin/blockdev --setra 1024 /dev/sda\n";
    let wants = "ra.service = x\n";
    for folder in ["usr/lib/systemd/system", "run/systemd/system"] {
        let lines = format!("[{folder}]\n{unit}");
        assert_eq!(ids(disk(512, &lines).path()), ["lost-at-boot"], "{folder}");
        for place in [folder, "etc/systemd/system"] {
            let lines = format!("{lines}[{place}/multi-user.target.wants]\n{wants}");
            assert_eq!(ids(disk(512, &lines).path()), [""; 0], "{folder}");
            let mine = format!(
                "{lines}[etc/systemd/system]\n{}",
                unit.replace("1024", "64")
            );
            assert_eq!(ids(disk(512, &mine).path()), ["overwritten-by"], "{folder}");
        }
    }
}

#[test]
fn one_number_in_two_units_is_said() {
    let lines = "[etc/sysfs.d]\na.conf = block/sda/queue/read_ahead_kb = 512\n\
                 [etc/systemd/system]\nra.service = ExecStart=/sbin/blockdev --setra 512 /dev/sda\n\
                 [etc/systemd/system/multi-user.target.wants]\nra.service = x\n";
    assert_eq!(
        ids(disk(256, lines).path()),
        ["sectors-for-kib"],
        "the unit comes last, and its window is there"
    );
}

/// A volume on an array names the stripe of it: 40 MiB, as it was made.
#[test]
fn a_large_stripe_of_an_array_is_not_bogus() {
    let queue =
        "queue/optimal_io_size = 41943040\nqueue/rotational = 0\nqueue/read_ahead_kb = 81920\n";
    let volume = format!("[sys/block/dm-0]\ndev = 253:0\nsize = 9\ndm/uuid = LVM-a\n{queue}");
    let on_disk = support::built(&volume);
    assert_eq!(ids(on_disk.path()), ["bogus-optimal-size"]);
    let array = format!("[sys/block/md0]\ndev = 9:0\nsize = 9\nmd/level = raid5\n{queue}");
    let on_array = support::built(&format!("{volume}slaves = md0\n{array}"));
    assert_eq!(ids(on_array.path()), ["large-window"]);
}

/// On a kernel without the rule, 128 KiB below a volume is what every disk has.
#[test]
fn a_default_below_a_volume_that_was_set_is_no_disagreement() {
    let queue = "queue/optimal_io_size = 0\nqueue/rotational = 1\nqueue/max_sectors_kb = 1280\n";
    let text = format!(
        "[proc]\nsys/kernel/osrelease = 6.12.0\n[sys/block/sda]\ndev = 8:0\nsize = 9\n{queue}queue/read_ahead_kb = 128\n\
         [sys/block/dm-0]\ndev = 253:0\nsize = 9\ndm/uuid = LVM-a\nslaves = sda\n{queue}queue/read_ahead_kb = 4096\n"
    );
    assert_eq!(ids(support::built(&text).path()), [""; 0]);
}

/// rclone reads ahead by itself. Another client may leave it to the kernel, and then the window is meant.
#[test]
fn a_client_that_reads_ahead_under_a_raised_window_is_noted() {
    let mount = |kind: &str, source: &str, kib: u64| {
        format!(
            "[sys/class/bdi]\n0:63/read_ahead_kb = {kib}\n[proc/self]\n\
             mountinfo = 30 1 0:63 / /data rw - {kind} {source} rw\n"
        )
    };
    let found = |kind, source, kib| ids(support::built(&mount(kind, source, kib)).path());
    assert_eq!(
        found("fuse.rclone", "remote:x", 1024),
        ["stacked-read-ahead"]
    );
    assert_eq!(found("fuse", "mountpoint-s3", 1024), ["stacked-read-ahead"]);
    assert_eq!(
        found("fuse.juicefs", "JuiceFS:x", 1024),
        ["stacked-read-ahead"]
    );
    assert_eq!(found("fuse.rclone", "remote:x", 128), [""; 0]);
    assert_eq!(found("fuse.gcsfuse", "bucket", 1024), [""; 0]);
}

#[test]
fn a_loop_device_over_the_page_cache_with_a_raised_window_is_noted() {
    let with = |kib: u64, direct: u8| {
        let text = format!(
            "[sys/block/loop7]\ndev = 7:7\nsize = 9\nqueue/read_ahead_kb = {kib}\n\
             loop/backing_file = /image\nloop/dio = {direct}\n\
             {FLASH}128\n[proc/self]\nmountinfo = 30 1 8:0 / / rw - ext4 /dev/sda rw\n"
        );
        let root = support::built(&text);
        ids(root.path())
    };
    assert_eq!(with(1024, 0), ["stacked-read-ahead"]);
    assert_eq!(with(1024, 1), [""; 0]);
    assert_eq!(with(128, 0), [""; 0]);
}

/// The mount point has a blank in it, and in a container it is a path of the container: the command can be copied, and
/// on the host it names what the kernel calls it there.
#[test]
fn every_command_is_quoted_and_for_the_host() {
    let text = "[sys/class/bdi]\n0:63/read_ahead_kb = 1024\n[proc/self]\n\
                mountinfo = 30 1 0:63 / /my\\040data rw - fuse.rclone remote:x rw\n";
    let container = format!("{text}[run/systemd]\ncontainer = lxc\n");
    for (text, repair) in [
        (text, "sudo ahead device set '/my data' 128K"),
        (&*container, "on the host: sudo ahead device set 0:63 128K"),
    ] {
        let repair = Some(repair.to_owned());
        assert_eq!(said(text), [("stacked-read-ahead", Severity::Note, repair)]);
    }
    // Its `/` is not the host's.
    let root = "[sys/block/sda]\ndev = 8:0\nsize = 9\nqueue/rotational = 0\nqueue/read_ahead_kb = 0\n\
                [proc/self]\nmountinfo = 30 1 8:0 / / rw - ext4 /dev/sda rw\n[run/systemd]\ncontainer = lxc\n";
    let repair = "on the host: sudo ahead device set sda 128K".to_owned();
    assert_eq!(
        said(root),
        [("zero-window", Severity::Warning, Some(repair))]
    );
}

#[test]
fn in_a_container_the_host_is_where_to_repair() {
    let root = disk(0, "[run/systemd]\ncontainer = lxc\n");
    let all = examined(root.path());
    let finding = &all[0].findings[0];
    let repair = command(finding);
    assert_eq!(repair, Some("on the host: sudo ahead device set sda 128K"));
    let says = &finding.evidence.last().expect("evidence").says;
    assert_eq!(says, "a container (lxc): the window is its host's");
    let quiet = disk(128, "[run/systemd]\ncontainer = lxc\n");
    assert_eq!(ids(quiet.path()), [""; 0]);
}

#[test]
fn how_long_others_wait_is_said_for_a_window_that_is_too_large() {
    let root = disk(32768, "");
    let timing = |_: &_| {
        Some(DeviceTiming {
            access_ns: 100_000,
            bytes_per_second: 1 << 30,
            is_measured: true,
        })
    };
    let machine = MachineTree::at(root.path());
    let all = doctor::examine(&machine, &[], &timing, &MappedAdvice::default()).expect("no names");
    let consequence = &all[0].findings[0].consequence;
    let wait = "Another read waits up to 62.6 ms behind one stream and its two windows (access 100 us, 1073 MB/s: as learned here).";
    assert!(consequence.iter().any(|one| one == wait), "{consequence:?}");
}

#[test]
fn what_was_persisted_and_does_not_hold_is_a_warning() {
    let machine = support::persisting::Persisting::with_disk("naa.5000c500a1b2c3d4\n");
    machine.persist(512, Some(Mechanism::Udev));
    assert_eq!(ids(machine.folder.path()), [""; 0]);
    machine.write_window(96);
    let found = ids(machine.folder.path());
    assert!(found.contains(&"not-as-persisted"), "{found:?}");
}

/// A finding is looked up by its id, also by programs: each is in the guide, and the guide has no other.
#[test]
fn every_id_is_explained_in_the_guide() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut ids = BTreeSet::new();
    for file in ["finding.rs", "doctor.rs", "mapped.rs", "stacked.rs"] {
        let text = fs::read_to_string(source.join(file)).expect("text");
        for start in ["id: \"", "base(\"", "base(\n"] {
            for part in text.split(start).skip(1) {
                let part = part.trim_start().trim_start_matches('"');
                let end = part.find('"').expect("an id");
                ids.insert(part[..end].to_owned());
            }
        }
    }
    let guide = source.join("../../../docs/guide/read-ahead.md");
    let guide = fs::read_to_string(guide).expect("the guide");
    let table = guide
        .split("| finding | meaning |")
        .nth(1)
        .expect("a table");
    let rows = table.trim_start().lines().skip(1);
    let rows = rows.map_while(|line| line.strip_prefix("| `"));
    let explained: BTreeSet<_> = rows
        .filter_map(|row| Some(row.split_once('`')?.0.to_owned()))
        .collect();
    assert_eq!(ids, explained);
}

const MAPPED: &str = "[proc/self]\nmountinfo = 30 1 8:0 / /var/lib/db rw - ext4 /dev/sda rw\n";

fn with_smaps(kernel: &str, flags: &str) -> tempfile::TempDir {
    let root = disk(128, MAPPED);
    let place = |path: &str, text: &str| {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("written");
    };
    place("proc/sys/kernel/osrelease", kernel);
    place("sys/kernel/mm/lru_gen/enabled", "0x0007\n");
    let smaps = format!(
        "7f0000000000-7f0000400000 r--s 00000000 08:00 12 /var/lib/db/index\nVmFlags: rd {flags}\n"
    );
    place("proc/7/smaps", &smaps);
    place("proc/9/smaps", &smaps);
    root
}

fn of_mappings(root: &Path) -> Vec<(&'static str, String)> {
    let machine = MachineTree::at(root);
    let mapped = MappedAdvice::read(&machine);
    let all = doctor::examine(&machine, &[], &|_| None, &mapped).expect("no names");
    let findings = all.into_iter().flat_map(|one| one.findings);
    findings
        .map(|finding| {
            let says: Vec<_> = finding
                .evidence
                .iter()
                .map(|one| one.says.as_str())
                .collect();
            let text = format!(
                "{} | {} | {}",
                finding.sentence,
                says.join(", "),
                finding.consequence[0]
            );
            (finding.id, text)
        })
        .collect()
}

/// The kernel's source has both rules; nothing on the machine proves harm, so they are notes.
#[test]
fn what_programs_said_of_mappings_is_noted_where_the_kernel_makes_more_of_it_than_reading_ahead() {
    let root = with_smaps("6.18.1\n", "rr sd");
    let found = of_mappings(root.path());
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].0, "random-not-kept");
    assert!(
        found[0].1.contains("2 processes") && found[0].1.contains("0x0007 (MGLRU)"),
        "{found:?}"
    );
    let root = with_smaps("6.18.1\n", "hg sd");
    let found = of_mappings(root.path());
    assert_eq!(found[0].0, "huge-faults");
    assert!(
        found[0]
            .1
            .contains("reads 4 MiB, and 128 KiB is the window"),
        "{found:?}"
    );
    let root = with_smaps("6.18.1\n", "rr hg sd");
    let both = of_mappings(root.path());
    assert!(both[1].1.contains("reads 2 MiB"), "{both:?}");
    // Kernels before the rules, and programs that said nothing.
    assert_eq!(of_mappings(with_smaps("5.10.0\n", "rr hg").path()), []);
    assert_eq!(of_mappings(with_smaps("6.18.1\n", "sd").path()), []);
}
