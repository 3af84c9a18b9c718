//! Tests of all parsers at once: each kind of file says its value, and none panics.

use super::shell::{commands, hotplug, of_script, programs};
use super::text::{hdparm, nfs, sysfs, tmpfiles};
use super::{tuned, udev, unit};
use crate::boot_setting::BootSetting;

#[test]
fn every_kind_of_file_says_its_value_with_its_unit() {
    let one = |found: Vec<BootSetting>| {
        assert_eq!(found.len(), 1, "{found:?}");
        let one = &found[0];
        (
            one.line,
            one.pattern.clone(),
            one.kib().expect("a number"),
            one.is_sure,
        )
    };
    let line = "block/sda/queue/read_ahead_kb = 128";
    assert_eq!(one(sysfs(line)), (1, "sda".into(), 128, true));
    let line = "w /sys/class/bdi/0:47/read_ahead_kb - - - - 64";
    assert_eq!(one(tmpfiles(line)), (1, "0:47".into(), 64, true));
    let profile = "[disk]\nreadahead=8192 s\ndevices=sda,sdb\n";
    assert_eq!(
        one(tuned::tuned(profile)),
        (2, "sda|sdb".into(), 4096, true)
    );
    let script = "/sbin/blockdev --setra 256 /dev/sda";
    assert_eq!(
        one(commands(script, true)),
        (1, "/dev/sda".into(), 128, true)
    );
    let unit = "ExecStart=/bin/sh -c 'echo 512 > /sys/block/vdb/queue/read_ahead_kb'";
    assert_eq!(one(commands(unit, true)), (1, "vdb".into(), 512, true));
    let variable = commands("blockdev --setra $N /dev/sda", true);
    assert_eq!((variable[0].kib(), variable[0].is_sure), (None, false));
}

/// Pieces of all kinds of files in any order, and bytes that are none.
#[test]
fn damaged_texts_never_panic() {
    let pieces = [
        "KERNEL==",
        "\"",
        ",",
        "ATTR{queue/read_ahead_kb}=",
        "sd[",
        "]",
        "!",
        "-",
        "*",
        "|",
        "\n",
        "#",
        " ",
        "block/",
        "/read_ahead_kb",
        "/queue",
        "=",
        ">",
        "w ",
        "echo",
        "--setra",
        "18446744073709551615",
        "[disk]",
        "readahead=",
        "devices=",
        "é",
        "\u{0}",
        "s",
        "4 MiB",
        "$",
        "[nfsrahead]",
        "nfs4=",
        "[ \"$DEVNAME\" = '",
        "' ] || exit 0",
        "ATTR{wwid}==",
        "bdi/$(mountpoint -d ",
        ")",
        "devices_udev_regex=^",
        "/dev/",
        "/dev/disk/",
        "RUN+=\"",
        "/dev/%k",
        "\\\n",
        "hdparm -a",
        "printf ",
        "ExecStart=",
        "read_ahead_sect = ",
        "exit 0",
        "{",
        "devices=!",
    ];
    let mut random = fastrand::Rng::with_seed(12);
    for _ in 0..20_000 {
        let text: String = (0..random.usize(0..16))
            .map(|_| pieces[random.usize(0..pieces.len())])
            .collect();
        let of_unit = unit::unit(&[&text, &text], true);
        let of_unit = of_unit.into_iter().map(|(_, one)| one).collect();
        let mut all = udev::attributes(&text);
        for more in [
            udev::programs(&text),
            sysfs(&text),
            tmpfiles(&text),
            tuned::tuned(&text),
            commands(&text, true),
            of_unit,
            nfs(&text),
            hotplug(&text),
            hdparm(&text),
            of_script(&text).into_iter().collect(),
        ] {
            all.extend(more);
        }
        for one in &all {
            let _ = (one.kib(), one.sets(&["sda".to_owned(), text.clone()]));
        }
        let _ = (tuned::included(&text), tuned::scripts(&text, "/x"));
        let _ = (programs(&text), unit::started_text(&[&text]));
    }
}
