//! A window is persisted by each mechanism, seen by the readers of boot settings, verified, overwritten by another,
//! and reverted: the tree is then what it was, byte for byte.

mod support;

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use ahead_device::identity::StableIdentity;
use ahead_device::mechanism::{MECHANISMS, Mechanism};
use ahead_device::persist::{self, PersistError, WindowAfterRevert};
use ahead_device::persist_record;
use ahead_device::verify::verify;
use ahead_device::window;
use support::persisting::Persisting as Machine;

fn round_trip(machine: &Machine, mechanism: Mechanism, other: (&str, &str)) {
    let word = mechanism.word();
    let before = machine.everything();
    let plan = machine
        .plan(512, Some(mechanism))
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        machine.everything(),
        before,
        "{word}: a plan changes nothing"
    );
    machine.persist(512, Some(mechanism));
    assert_eq!(machine.window(), 512, "{word}");
    let file = plan.files[0].path.clone();
    assert_eq!(machine.at_boot(), Some((file.clone(), 512)), "{word}");
    let verified = machine.verified();
    assert!(
        verified.holds && !verified.since_boot,
        "{word}: {verified:?}"
    );

    // The next boot, in which something else has the last word.
    machine.boot("second");
    let verified = machine.verified();
    assert!(
        verified.holds && verified.since_boot,
        "{word}: {verified:?}"
    );
    machine.file(other.0, other.1);
    machine.write_window(96);
    let verified = machine.verified();
    assert!(!verified.holds, "{word}");
    let line = other.1.lines().count();
    assert_eq!(
        verified.why,
        [format!("/{}:{line} sets it", other.0)],
        "{word}"
    );
    assert_eq!(verified.now_kib, Some(96), "{word}");
    let overwritten = machine.plan(256, Some(mechanism));
    assert!(
        matches!(overwritten, Err(PersistError::Overwritten { kib: 96, .. })),
        "{word}: {overwritten:?}"
    );
    machine.file(other.0, "");
    machine.write_window(512);

    // Another value replaces it, and what was before stays known.
    machine.persist(1024, None);
    assert_eq!(machine.at_boot(), Some((file.clone(), 1024)), "{word}");
    let reverted = persist::revert(&machine.tree, Some(machine.target)).expect("reverted");
    assert_eq!(reverted.len(), 1, "{word}");
    assert_eq!(machine.window(), 128, "{word}");
    assert_eq!(machine.everything(), before, "{word}");
    let nothing = persist::revert(&machine.tree, Some(machine.target));
    assert!(
        matches!(nothing, Err(PersistError::NothingPersisted(_))),
        "{word}"
    );
}

/// A script that runs last, and so has the last word over all of them.
const LAST: (&str, &str) = (
    "etc/rc.local",
    "echo 96 > /sys/block/sdc/queue/read_ahead_kb\n",
);

#[test]
fn every_mechanism_of_a_disk_goes_round() {
    for mechanism in MECHANISMS.into_iter().filter(|one| *one != Mechanism::Nfs) {
        let machine = Machine::with_disk("naa.5000c500a1b2c3d4\n");
        machine.file(LAST.0, "");
        fs::set_permissions(machine.path(LAST.0), fs::Permissions::from_mode(0o755)).expect("ours");
        round_trip(&machine, mechanism, LAST);
    }
}

#[test]
fn both_mechanisms_of_an_nfs_mount_go_round() {
    let late = ("etc/nfs.conf.d/late.conf", "[nfsrahead]\nnfs4=96\n");
    let script = "echo 96 > /sys/class/bdi/$(mountpoint -d /media)/read_ahead_kb\n";
    for (mechanism, other) in [
        (Mechanism::Nfs, late),
        (Mechanism::Systemd, ("etc/rc.local", script)),
    ] {
        let machine = Machine::with_nfs();
        let conf = "# mine\n[nfsd]\nthreads=16\n\n[nfsrahead]\n# theirs\nnfs=64\n";
        machine.file("etc/nfs.conf", conf);
        let file = machine.path("etc/nfs.conf");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("ours");
        std::os::unix::fs::chown(&file, Some(7), Some(8)).expect("root");
        machine.file(other.0, "");
        fs::set_permissions(machine.path(other.0), fs::Permissions::from_mode(0o755))
            .expect("ours");
        round_trip(&machine, mechanism, other);
    }
}

#[test]
fn a_btrfs_is_known_by_its_uuid() {
    let machine = Machine::of("btrfs-lowered", "/data");
    let Ok(plan) = machine.plan(512, None) else {
        panic!("{:?}", machine.plan(512, None));
    };
    assert_eq!(plan.mechanism, Mechanism::Systemd);
    let (_, unit) = plan.files[0].texts();
    assert!(
        unit.contains("/sys/fs/btrfs/5d2e/bdi/read_ahead_kb"),
        "{unit}"
    );
}

/// The one that an administrator already uses; and a rule of udev where none is used.
#[test]
fn what_sets_windows_already_is_proposed() {
    let machine = Machine::with_disk("naa.5000c500a1b2c3d4");
    let proposed = |machine: &Machine| machine.plan(512, None).expect("a plan");
    assert_eq!(proposed(&machine).mechanism, Mechanism::Udev);
    machine.file(
        "etc/sysfs.d/mine.conf",
        "block/sdx/queue/read_ahead_kb = 64\n",
    );
    let plan = proposed(&machine);
    assert_eq!(plan.mechanism, Mechanism::SysfsD);
    assert!(
        plan.notes[0].contains("/etc/sysfs.d/mine.conf"),
        "{:?}",
        plan.notes
    );
    machine.file("etc/sysfs.d/mine.conf", "");
    machine.file(
        "etc/hotplug.d/block/50-x",
        "echo 64 > /sys/block/sdx/queue/read_ahead_kb\n",
    );
    assert_eq!(proposed(&machine).mechanism, Mechanism::Hotplug);
}

/// Where tuned sets the device, a rule would be lost: its profile is the place.
#[test]
fn a_mechanism_that_would_be_overwritten_is_not_proposed() {
    let machine = Machine::with_disk("naa.5000c500a1b2c3d4");
    machine.file(
        "etc/tuned/virtual-guest/tuned.conf",
        "[disk]\ndevices=sdc\nreadahead=4096\n",
    );
    let plan = machine.plan(512, None).expect("a plan");
    assert_eq!(plan.mechanism, Mechanism::Tuned);
    let refused = machine
        .plan(512, Some(Mechanism::Udev))
        .expect_err("refused")
        .to_string();
    assert!(
        refused.contains("/etc/tuned/virtual-guest/tuned.conf:3"),
        "{refused}"
    );
    // Whether a rule with a condition means the device is not known: it is said, and not refused.
    let machine = Machine::with_disk("naa.5000c500a1b2c3d4");
    let rule = "KERNEL==\"sd*\", ATTR{size}==\"7\", ATTR{queue/read_ahead_kb}=\"64\"\n";
    machine.file("etc/udev/rules.d/99-zz.rules", rule);
    let notes = machine
        .plan(512, Some(Mechanism::Udev))
        .expect("a plan")
        .notes;
    assert!(
        notes
            .iter()
            .any(|note| note.contains("/etc/udev/rules.d/99-zz.rules:1")),
        "{notes:?}"
    );
}

#[test]
fn a_profile_that_came_with_tuned_keeps_what_it_says() {
    let machine = Machine::with_disk("naa.5000c500a1b2c3d4");
    for kib in [512, 1024] {
        let plan = machine.persist(kib, Some(Mechanism::Tuned));
        let text = plan.files[0].texts().1;
        assert!(text.starts_with("[main]\nsummary=x\n"), "{text}");
        assert!(text.ends_with(&format!("readahead={kib}\n")), "{text}");
        assert_eq!(text.matches("readahead").count(), 1, "{text}");
    }
}

/// The profile that most servers of one distribution have: it raises every smaller window to 4 MiB.
#[test]
fn a_profile_that_only_raises_overwrites_what_is_smaller() {
    let machine = Machine::with_disk("naa.5000c500a1b2c3d4");
    let profile = "[main]\nsummary=x\n[disk]\nreadahead=>4096\n";
    machine.file("usr/lib/tuned/virtual-guest/tuned.conf", profile);
    assert_eq!(
        machine.plan(512, None).expect("a plan").mechanism,
        Mechanism::Tuned
    );
    let refused = machine.plan(512, Some(Mechanism::Udev));
    assert!(
        matches!(refused, Err(PersistError::Overwritten { kib: 4096, .. })),
        "{refused:?}"
    );
    assert_eq!(
        machine.plan(8192, None).expect("a plan").mechanism,
        Mechanism::Udev
    );
}

#[test]
fn of_two_lines_for_one_path_tmpfiles_takes_the_first() {
    let machine = Machine::with_disk("naa.5000c500a1b2c3d4");
    let line = "w /sys/block/sdc/queue/read_ahead_kb - - - - 64\n";
    machine.file("etc/tmpfiles.d/a.conf", line);
    let refused = machine.plan(512, Some(Mechanism::Tmpfiles));
    assert!(
        matches!(refused, Err(PersistError::NotRead(Mechanism::Tmpfiles))),
        "{refused:?}"
    );
}

#[test]
fn without_anything_better_the_kernels_name_is_used_and_said() {
    for wwid in ["", "0000000000\n", "     "] {
        let machine = Machine::with_disk(wwid);
        let plan = machine.plan(512, Some(Mechanism::Udev)).expect("a plan");
        assert_eq!(plan.identity, StableIdentity::KernelName("sdc".to_owned()));
        assert!(
            plan.notes
                .iter()
                .any(|note| note.contains("kernel's name sdc")),
            "{:?}",
            plan.notes
        );
    }
    let machine = Machine::with_disk("");
    let number = fs::read_to_string(machine.path("sys/class/block/sdc/dev")).expect("a number");
    let data = "S:disk/by-path/pci-1\nS:disk/by-id/ata-X_1\nE:ID_SERIAL=X_1\n";
    machine.file(&format!("run/udev/data/b{}", number.trim()), data);
    let plan = machine.plan(512, Some(Mechanism::Udev)).expect("a plan");
    assert!(plan.files[0].texts().1.contains("ENV{ID_SERIAL}==\"X_1\""));
    let plan = machine.plan(512, Some(Mechanism::Systemd)).expect("a plan");
    assert!(
        plan.files[0].texts().1.contains("/dev/disk/by-id/ata-X_1"),
        "{plan:?}"
    );
    let plan = machine.plan(512, Some(Mechanism::Tuned)).expect("a plan");
    assert!(
        plan.files[0]
            .texts()
            .1
            .contains("devices_udev_regex=^ID_SERIAL=X_1$")
    );
}

/// A link of udev with a dash in it, and one with a blank: the unit is pulled in by the device, and read again.
#[test]
fn a_unit_names_the_link_of_its_device_as_systemd_does() {
    let number_of = |machine: &Machine| {
        let number = fs::read_to_string(machine.path("sys/class/block/sdc/dev"));
        number.expect("a number").trim().to_owned()
    };
    for (link, unit, in_command) in [
        (
            "disk/by-id/wwn-0x5000aaaa",
            r"dev-disk-by\x2did-wwn\x2d0x5000aaaa.device",
            "/dev/disk/by-id/wwn-0x5000aaaa",
        ),
        (
            r"disk/by-id/a\x20b",
            r"dev-disk-by\x2did-a\x5cx20b.device",
            r"/dev/disk/by-id/a\\x20b",
        ),
    ] {
        let machine = Machine::with_disk("naa.5000c500a1b2c3d4");
        let data = format!("run/udev/data/b{}", number_of(&machine));
        machine.file(&data, &format!("S:{link}\n"));
        let plan = machine.persist(512, Some(Mechanism::Systemd));
        let text = plan.files[0].texts().1;
        for part in [
            format!("\nAfter={unit}\nBindsTo={unit}\n"),
            format!("--setra 1024 {in_command}\n"),
        ] {
            assert!(text.contains(&part), "{text}");
        }
        let wants = format!("/etc/systemd/system/{unit}.wants/");
        assert!(plan.files[1].path.starts_with(&wants), "{plan:?}");
        assert_eq!(machine.at_boot(), Some((plan.files[0].path.clone(), 512)));
    }
}

/// Whatever a maker wrote, each mechanism that takes it is seen by the readers, for this device and no other.
#[test]
fn serial_numbers_with_any_signs_mean_themselves() {
    let odd = [
        "S N 12",
        "a,b",
        "a\"b",
        "it's",
        "a*b",
        "a?[x]",
        "x|y",
        "back\\slash",
        "$(reboot)",
        "%k",
        "{x}",
        "a\nb",
        "é4",
        "#1",
        "a =\"b\"",
    ];
    for value in odd {
        for mechanism in [Mechanism::Udev, Mechanism::Hotplug] {
            let machine = Machine::with_disk(&format!("{value}\n"));
            let before = machine.everything();
            let plan = match machine.plan(512, Some(mechanism)) {
                Ok(plan) => plan,
                Err(PersistError::Name(error)) => {
                    assert!(
                        mechanism == Mechanism::Hotplug && value.contains('\n'),
                        "{error}"
                    );
                    assert_eq!(error.to_string().lines().count(), 1);
                    continue;
                }
                Err(error) => panic!("{value:?}: {error}"),
            };
            machine.persist(512, Some(mechanism));
            assert_eq!(
                machine.at_boot(),
                Some((plan.files[0].path.clone(), 512)),
                "{value:?}"
            );
            machine.file("sys/class/block/sdc/device/wwid", "another\n");
            assert_eq!(machine.at_boot(), None, "{value:?}");
            machine.file("sys/class/block/sdc/device/wwid", &format!("{value}\n"));
            persist::revert(&machine.tree, None).expect("reverted");
            assert_eq!(machine.everything(), before, "{value:?}");
        }
    }
}

/// A window that was already what was persisted was said to be another one.
#[test]
fn what_became_of_the_window_is_told_apart() {
    let after = |before: u64, persisted: u64, now: u64| {
        let machine = Machine::with_disk("naa.5000c500a1b2c3d4");
        machine.write_window(before);
        machine.persist(persisted, Some(Mechanism::Udev));
        machine.write_window(now);
        let mut reverted = persist::revert(&machine.tree, None).expect("reverted");
        reverted.remove(0).windows.remove(0)
    };
    assert!(matches!(
        after(128, 512, 512),
        WindowAfterRevert::PutBack(change) if change.now_kib == 128
    ));
    let kib = 128;
    assert_eq!(after(128, 512, 128), WindowAfterRevert::AsBefore { kib });
    assert_eq!(after(128, 128, 128), WindowAfterRevert::AsBefore { kib });
    let kib = 96;
    assert_eq!(after(128, 512, 96), WindowAfterRevert::SetOtherwise { kib });
}

#[test]
fn verify_says_what_is_known_where_no_file_says_it() {
    let machine = Machine::with_disk("naa.5000c500a1b2c3d4");
    let plan = machine.persist(512, Some(Mechanism::Udev));
    window::set(&machine.tree, "sdc", 64).expect("set");
    assert!(
        machine.verified().why[0].contains("ahead device set"),
        "{:?}",
        machine.verified()
    );
    machine.boot("second");
    machine.write_window(128);
    assert!(
        machine.verified().why[0].contains("udev has not set it"),
        "{:?}",
        machine.verified()
    );
    machine.file("proc/sys/kernel/osrelease", "6.18.44\n");
    assert!(machine.verified().why[0].contains("max_sectors_kb"));
    machine.file("proc/sys/kernel/osrelease", "6.12.117\n");
    assert!(!machine.verified().why[0].contains("max_sectors_kb"));
    machine.write_window(64);
    assert!(
        machine.verified().why[0].contains("no file in the usual places"),
        "{:?}",
        machine.verified()
    );
    machine.write_window(512);
    fs::remove_file(machine.path(&plan.files[0].path[1..])).expect("ours");
    let verified = machine.verified();
    assert!(
        !verified.holds && verified.why[0].contains("is not there"),
        "{verified:?}"
    );
    persist::revert(&machine.tree, None).expect("what is gone is as before");
    assert_eq!(machine.window(), 128);
}

#[test]
fn a_file_that_was_edited_since_is_not_taken_back() {
    let machine = Machine::with_disk("naa.5000c500a1b2c3d4");
    let plan = machine.persist(512, Some(Mechanism::Udev));
    machine.file(&plan.files[0].path[1..], "# mine now\n");
    let before = machine.everything();
    let refused = persist::revert(&machine.tree, None);
    assert!(
        matches!(refused, Err(PersistError::Changed { .. })),
        "{refused:?}"
    );
    assert_eq!(machine.everything(), before);
    assert_eq!(machine.window(), 512);
    assert!(machine.verified().why[0].contains("was changed since"));
}

#[test]
fn a_link_on_the_way_or_at_the_end_is_not_followed() {
    for (link, is_folder) in [("etc/udev", true), ("etc/udev/rules.d", true), ("", false)] {
        let machine = Machine::with_disk("naa.5000c500a1b2c3d4");
        let outside = tempfile::tempdir().expect("a folder");
        let path = machine
            .plan(512, Some(Mechanism::Udev))
            .expect("a plan")
            .files[0]
            .path
            .clone();
        let link = if link.is_empty() { &path[1..] } else { link };
        let place = machine.path(link);
        fs::create_dir_all(place.parent().expect("a folder")).expect("a folder");
        let victim = outside.path().join("victim");
        fs::write(&victim, "precious").expect("written");
        symlink(if is_folder { outside.path() } else { &victim }, &place).expect("a link");
        let refused = machine.plan(512, Some(Mechanism::Udev));
        assert!(
            matches!(refused, Err(PersistError::Link { .. })),
            "{link}: {refused:?}"
        );
        assert_eq!(fs::read_to_string(&victim).expect("text"), "precious");
        assert_eq!(outside.path().read_dir().expect("a folder").count(), 1);
        assert_eq!(machine.window(), 128);
    }
}

/// A link that comes between the plan and the writing.
#[test]
fn what_changes_while_it_is_asked_about_is_not_overwritten() {
    let machine = Machine::with_disk("naa.5000c500a1b2c3d4");
    let plan = machine.plan(512, Some(Mechanism::Udev)).expect("a plan");
    machine.file(&plan.files[0].path[1..], "# came meanwhile\n");
    let refused = persist::carry_out(&machine.tree, &plan);
    assert!(
        matches!(refused, Err(PersistError::Changed { .. })),
        "{refused:?}"
    );
    assert_eq!(machine.window(), 128);
    assert_eq!(persist_record::read(&machine.tree).expect("a record"), []);
}

/// The window cannot be set: then the file would be the only thing that says so.
#[test]
fn what_fails_at_the_end_is_taken_back() {
    let machine = Machine::with_disk("naa.5000c500a1b2c3d4");
    let plan = machine.plan(512, Some(Mechanism::Udev)).expect("a plan");
    let before = machine.everything();
    // A journal that is damaged stops the change of the window.
    machine.file("run/ahead/device/windows.json", "x");
    fs::set_permissions(
        machine.path("run/ahead/device"),
        fs::Permissions::from_mode(0o700),
    )
    .expect("ours");
    persist::carry_out(&machine.tree, &plan).expect_err("no journal");
    assert_eq!(machine.everything(), before);
    assert_eq!(persist_record::read(&machine.tree).expect("a record"), []);
}

#[test]
fn a_damaged_record_is_one_line_and_stops_every_change() {
    let machine = Machine::with_disk("naa.5000c500a1b2c3d4");
    machine.persist(512, Some(Mechanism::Udev));
    let record = machine.path("var/lib/ahead/persisted.json");
    let good = fs::read_to_string(&record).expect("text");
    let before = machine.everything();
    let damaged = [
        String::new(),
        good[..good.len() / 3].to_owned(),
        good.replace("\"version\": 1", "\"version\": 9"),
        good.replace("/etc/udev/rules.d/", "/usr/lib/udev/rules.d/"),
        good.replace("/etc/udev/rules.d/", "/etc/../root/"),
        good.replace("\"kib\": 512", "\"kib\": \"512\""),
    ];
    for text in damaged {
        assert_ne!(text, good);
        fs::write(&record, &text).expect("written");
        let errors = [
            machine.plan(64, None).expect_err("damaged").to_string(),
            persist::revert(&machine.tree, None)
                .expect_err("damaged")
                .to_string(),
            verify(&machine.tree, None)
                .expect_err("damaged")
                .to_string(),
        ];
        for error in errors {
            assert!(error.contains("/var/lib/ahead/persisted.json"), "{error}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
        assert_eq!(machine.everything(), before);
    }
}

#[test]
fn one_window_is_persisted_by_one_mechanism() {
    let machine = Machine::with_disk("naa.5000c500a1b2c3d4");
    machine.persist(512, Some(Mechanism::Udev));
    let refused = machine.plan(512, Some(Mechanism::Systemd));
    assert!(
        matches!(refused, Err(PersistError::Already { .. })),
        "{refused:?}"
    );
    for mechanism in [Mechanism::Nfs, Mechanism::Tuned] {
        let refused = machine.plan(512, Some(mechanism));
        assert!(
            matches!(refused, Err(PersistError::Already { .. })),
            "{refused:?}"
        );
    }
    let machine = Machine::with_disk("naa.5000c500a1b2c3d4");
    fs::remove_file(machine.path("usr/bin/systemd-tmpfiles")).expect("ours");
    let refused = machine.plan(512, Some(Mechanism::Tmpfiles));
    assert!(
        matches!(refused, Err(PersistError::NotInstalled(_))),
        "{refused:?}"
    );
    let refused = machine.plan(512, Some(Mechanism::Nfs));
    let refused = refused.expect_err("refused").to_string();
    assert!(
        refused.contains("nfs cannot set the window of sdc"),
        "{refused}"
    );
}

/// What a persist that was killed between any two of its steps leaves: the record comes first, then each file, whole.
#[test]
fn an_interrupted_persist_is_seen_and_reverted() {
    for mechanism in [Mechanism::Udev, Mechanism::Systemd, Mechanism::Tuned] {
        let machine = Machine::with_disk("naa.5000c500a1b2c3d4");
        let before = machine.everything();
        let plan = machine.persist(512, Some(mechanism));
        machine.write_window(128);
        for file in plan.files.iter().rev() {
            let place = machine.path(&file.path[1..]);
            fs::remove_file(&place).expect("ours");
            let name = Path::new(&file.path)
                .file_name()
                .expect("a name")
                .to_string_lossy();
            fs::write(place.with_file_name(format!(".{name}.ahead-new")), "half").expect("written");
            let verified = machine.verified();
            assert!(!verified.holds, "{verified:?}");
            assert!(
                verified.why.iter().any(|why| why.contains("interrupted")),
                "{verified:?}"
            );
        }
        persist::revert(&machine.tree, None).expect("reverted");
        assert_eq!(machine.everything(), before, "{}", mechanism.word());
    }
}
