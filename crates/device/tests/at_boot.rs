//! What is found of a window beside what sets it at boot, on small machines that are written out.

mod support;

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use ahead_device::doctor;
use ahead_device::finding::{Finding, Severity};
use ahead_device::machine::MachineTree;
use ahead_device::mapped::MappedAdvice;
use ahead_device::mechanism::Mechanism;
use ahead_device::{boot, container};

const FLASH: &str = "[sys/block/sda]\ndev = 8:0\nsize = 1000\nqueue/rotational = 0\n\
                     queue/optimal_io_size = 0\nqueue/read_ahead_kb = ";

fn findings(root: &Path) -> Vec<Finding> {
    let machine = MachineTree::at(root);
    let all = doctor::examine(&machine, &[], &|_| None, &MappedAdvice::default());
    let all = all.expect("no names, no error");
    all.into_iter().flat_map(|one| one.findings).collect()
}

fn command(finding: &Finding) -> Option<&str> {
    finding.repair.as_ref().map(|one| one.command.as_str())
}

/// A flash disk with this window, and `more` around it; `rc.local` can be run.
fn disk(kib: u64, more: &str) -> tempfile::TempDir {
    let root = support::built(&format!("{FLASH}{kib}\n{more}"));
    for place in ["etc/rc.local", "etc/rc.d/rc.local"] {
        let script = root.path().join(place);
        if script.is_file() {
            fs::set_permissions(script, fs::Permissions::from_mode(0o755)).expect("executable");
        }
    }
    root
}

fn ids(kib: u64, more: &str) -> Vec<&'static str> {
    let found = findings(disk(kib, more).path());
    found.iter().map(|one| one.id).collect()
}

/// "4K" beside 4096 was taken for a window in bytes, and `device set sda 4K` for its repair.
#[test]
fn a_comment_about_sectors_is_none_about_windows() {
    for (comment, kib) in [("disks with 4K sectors", 4096), ("8K pages", 8192)] {
        let rule = format!(
            "[etc/udev/rules.d]\n60.rules = # {comment}\n\
             60.rules = KERNEL==\"sda\", ATTR{{queue/read_ahead_kb}}=\"{kib}\"\n"
        );
        let found = ids(kib, &rule);
        assert!(!found.contains(&"sectors-for-kib"), "{comment}: {found:?}");
    }
}

/// Whoever calls the doctor does so where something hangs.
#[test]
fn a_script_on_a_server_is_not_looked_at() {
    let more = |kind: &str| {
        format!(
            "[etc/udev/rules.d]\n[etc/cron.d]\nx = @reboot root /mnt/far/tune.sh\n\
             [mnt/far]\ntune.sh = blockdev --setra 8192 /dev/sda\n\
             [proc/self]\nmountinfo = 29 28 0:47 / /mnt/far rw - {kind} x rw\n"
        )
    };
    let read = |kind| boot::read(&MachineTree::at(disk(4096, &more(kind)).path())).settings;
    let of_script = |kind| read(kind).iter().any(|one| one.file.ends_with("tune.sh"));
    assert_eq!((of_script("tmpfs"), of_script("nfs4")), (true, false));
}

/// The doctor said `device set sda 0K`, and two GiB where a comment said two MiB.
#[test]
fn a_value_that_is_no_window_is_to_be_corrected_and_not_to_be_set() {
    let script = "[etc]\nrc.local = #!/bin/sh\nrc.local = blockdev --setra 4 /dev/sda\n";
    let found = findings(disk(128, script).path());
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].id, command(&found[0])), ("overwritten-by", None));
    let says = "/etc/rc.local:2 must be corrected: with that nothing is read ahead.";
    assert_eq!(found[0].consequence[1], says);

    let rule = "[etc/udev/rules.d]\n60.rules = # 2 MiB\n\
                60.rules = KERNEL==\"sda\", ATTR{queue/read_ahead_kb}=\"2097152\"\n";
    let found = findings(disk(128, rule).path());
    let said: Vec<_> = found.iter().map(|one| (one.id, command(one))).collect();
    let repair = "correct the number or the comment; now: sudo ahead device set sda 2048K";
    assert_eq!(
        said,
        [("sectors-for-kib", Some(repair)), ("overwritten-by", None)]
    );
    assert!(
        found[0]
            .sentence
            .ends_with("perhaps bytes were taken for KiB.")
    );
    assert!(found[1].consequence[1].starts_with("/etc/udev/rules.d/60.rules:2 must be corrected"));
    let bytes = "[etc]\nrc.local = blockdev --setra 2097152 /dev/sda # 2 MiB\n";
    let found = findings(disk(128, bytes).path());
    assert!(
        found[0]
            .sentence
            .ends_with("perhaps bytes were taken for sectors.")
    );
}

/// `persist` saw it and the doctor did not.
#[test]
fn a_profile_that_only_raises_overwrites_a_smaller_window() {
    let profile = "[etc/tuned]\nactive_profile = mine\n\
                   [etc/tuned/mine]\ntuned.conf = [disk]\ntuned.conf = readahead=>4096\n";
    let found = findings(disk(128, profile).path());
    assert_eq!(found[0].id, "overwritten-by");
    assert_eq!(command(&found[0]), Some("sudo ahead device set sda 4096K"));
    assert!(
        found[0].evidence[1]
            .says
            .ends_with("(8192 sectors), if it has less")
    );
    assert_eq!(ids(4096, profile), [""; 0]);
    assert_eq!(ids(8192, profile), [""; 0]);
}

/// A rule for disks with an arm is none of this one.
#[test]
fn a_rule_for_rotating_disks_is_held_against_what_the_disk_says() {
    let rule = |rotational| {
        format!(
            "[etc/udev/rules.d]\n60.rules = KERNEL==\"sd*\", ATTR{{queue/rotational}}==\"{rotational}\", \
             ATTR{{queue/read_ahead_kb}}=\"512\"\n"
        )
    };
    assert_eq!(ids(128, &rule(0)), ["overwritten-by"]);
    assert_eq!(ids(128, &rule(1)), [""; 0]);
    assert_eq!(ids(512, &rule(1)), ["lost-at-boot"]);
}

/// Each of these sets the window, and it was said to be lost.
#[test]
fn a_window_that_a_script_may_set_is_not_said_to_be_lost() {
    let tune = "[opt]\ntune.sh = #!/bin/sh\ntune.sh = for d in sda sdb; do blockdev --setra 1024 /dev/$d; done\n";
    let unit = "[etc/systemd/system]\nra.service = [Service]\nra.service = ExecStart=/opt/tune.sh\n\
                [etc/systemd/system/multi-user.target.wants]\nra.service = x\n";
    let rule =
        "[etc/udev/rules.d]\n60.rules = ACTION==\"add\", RUN+=\"/bin/sh -c '/opt/tune.sh %k'\"\n";
    let profile = "[etc/udev/rules.d]\n[etc/tuned]\nactive_profile = mine\n[etc/tuned/mine]\n\
                   tuned.conf = [script]\ntuned.conf = script=${i:PROFILE_DIR}/script.sh\n\
                   script.sh = echo 512 > /sys/block/$1/queue/read_ahead_kb\n";
    for more in [
        unit,
        rule,
        "[etc/systemd/system]\nra@.service = ExecStart=/sbin/blockdev --setra 1024 /dev/%i\n",
        "[etc/udev/rules.d]\n60.rules = KERNEL==\"sda\", RUN+=\"tune.sh %k\"\n\
         [lib/udev]\ntune.sh = blockdev --setra 1024 /dev/$1\n",
        profile,
        "[etc/udev/rules.d]\n[etc]\nrc.local = /opt/tune.sh sda\n",
        "[etc/udev/rules.d]\n[etc]\nrc.local = W=512; blockdev --setra $W /dev/sda\n",
        "[etc/udev/rules.d]\n[etc]\nrc.local = cp /etc/window /sys/block/sda/queue/read_ahead_kb\n",
        "[etc/udev/rules.d]\n[etc]\ncrontab = @reboot root /sbin/blockdev --setra 1024 /dev/sda\n",
        "[etc/udev/rules.d]\n[etc/cron.d]\nra = @reboot root /opt/tune.sh\n",
        "[etc/udev/rules.d]\n[var/spool/cron/crontabs]\nroot = @reboot /opt/tune.sh\n",
        "[etc/udev/rules.d]\n[etc/local.d]\nra.start = blockdev --setra 1024 /dev/sda\n",
        "[etc/udev/rules.d]\n[etc/init.d]\nra = blockdev --setra 1024 /dev/sda\n",
        "[etc/tmpfiles.d]\nra.conf = w \"/sys/block/sda/queue/read_ahead_kb\" - - - - \"512\"\n",
        "[etc/udev/rules.d]\n[etc]\nhdparm.conf = /dev/sda {\nhdparm.conf = read_ahead_sect = 1024\nhdparm.conf = }\n",
        "[etc/udev/rules.d]\n[etc]\nrc.local = hdparm -a 1024 /dev/sda\n",
        "[etc/udev/rules.d]\n[etc]\nrc.local = echo -n 512 > /sys/block/sda/queue/read_ahead_kb\n",
    ] {
        assert_eq!(ids(512, &format!("{tune}{more}")), [""; 0], "{more}");
    }
    // Nothing runs it, and what runs speaks of no window.
    let lost = format!("{tune}[etc/udev/rules.d]\n[etc]\nrc.local = /opt/other.sh\n");
    assert_eq!(ids(512, &lost), ["lost-at-boot"]);
    let stops = "[etc/systemd/system]\nra.service = ExecStop=/sbin/blockdev --setra 256 /dev/sda\n\
                 [etc/systemd/system/multi-user.target.wants]\nra.service = x\n";
    assert_eq!(ids(512, stops), ["lost-at-boot"]);
    assert_eq!(ids(128, stops), [""; 0]);
    // A folder of scripts alone does not say that the usual places were recorded.
    assert_eq!(ids(512, "[etc/init.d]\n"), [""; 0]);
}

#[test]
fn drop_ins_of_a_unit_count_with_their_own_lines() {
    let unit = "[etc/systemd/system]\nra.service = ExecStart=/sbin/blockdev --setra 1024 /dev/sda\n\
                [etc/systemd/system/multi-user.target.wants]\nra.service = x\n\
                [etc/systemd/system/ra.service.d]\nwindow.conf = [Service]\nwindow.conf = ExecStart=\n";
    assert_eq!(ids(512, unit), ["lost-at-boot"]);
    let other = format!("{unit}window.conf = ExecStart=/sbin/blockdev --setra 256 /dev/sda\n");
    let found = findings(disk(512, &other).path());
    assert_eq!(found[0].id, "overwritten-by");
    let place = "/etc/systemd/system/ra.service.d/window.conf:3";
    assert_eq!(found[0].evidence[1].file, place);
}

/// Older machines have a `/lib` of its own; on newer ones it is a link, and nothing is found twice.
#[test]
fn every_folder_of_rules_and_units_is_looked_at_once() {
    let rule = "60.rules = KERNEL==\"sda\", ATTR{queue/read_ahead_kb}=\"512\"\n";
    let unit = "ra.service = ExecStart=/sbin/blockdev --setra 1024 /dev/sda\n\
                [etc/systemd/system/multi-user.target.wants]\nra.service = x\n";
    let line = "ra.conf = w /sys/block/sda/queue/read_ahead_kb - - - - 512\n";
    for (folder, text) in [
        ("lib/udev/rules.d", rule),
        ("usr/local/lib/udev/rules.d", rule),
        ("lib/systemd/system", unit),
        ("usr/local/lib/systemd/system", unit),
        ("usr/local/lib/tmpfiles.d", line),
        ("etc/rc.d", "rc.local = blockdev --setra 1024 /dev/sda\n"),
    ] {
        let root = disk(128, &format!("[{folder}]\n{text}"));
        let found = boot::read(&MachineTree::at(root.path())).settings;
        assert_eq!(found.len(), 1, "{folder}: {found:?}");
        assert_eq!(found[0].kib(), Some(512), "{folder}");
    }
    let root = disk(
        128,
        &format!(
            "[usr/lib/udev/rules.d]\n{rule}[etc/rc.d]\nrc.local = blockdev --setra 1024 /dev/sda\n"
        ),
    );
    symlink("usr/lib", root.path().join("lib")).expect("a link");
    symlink("rc.d/rc.local", root.path().join("etc/rc.local")).expect("a link");
    let found = boot::read(&MachineTree::at(root.path())).settings;
    let files: Vec<_> = found.iter().map(|one| one.file.as_str()).collect();
    assert_eq!(files, ["/usr/lib/udev/rules.d/60.rules", "/etc/rc.local"]);
}

/// A disk of Hyper-V is called as one with an arm.
#[test]
fn a_disk_of_a_hypervisor_is_known_by_its_maker() {
    let severity = |says: &str| {
        let text = format!(
            "[proc]\nsys/kernel/osrelease = 6.17.0\n[sys/block/sda]\ndev = 8:0\nsize = 9\nqueue/rotational = 1\n\
             queue/optimal_io_size = 0\nqueue/max_sectors_kb = 2048\nqueue/read_ahead_kb = 4096\n{says}"
        );
        let found = findings(support::built(&text).path());
        assert_eq!(found[0].id, "rule-of-6-17");
        let command = command(&found[0]).map(str::to_owned);
        (found[0].severity, command)
    };
    let repair = Some("sudo ahead device persist sda 128K".to_owned());
    for says in [
        "device/vendor = Msft    \n",
        "device/vendor = VMware  \n",
        "device/vendor = QEMU    \n",
        "device/vendor = Google  \n",
        "device/vendor = NUTANIX \n",
        "device/vendor = XENSRC  \n",
        "device/vendor = ATA     \ndevice/model = VBOX HARDDISK   \n",
    ] {
        assert_eq!(
            severity(says),
            (Severity::Warning, repair.clone()),
            "{says}"
        );
    }
    let arm = "device/vendor = ATA     \ndevice/model = ST4000DM004-2CV1\n";
    assert_eq!(severity(arm), (Severity::Note, None));
}

const USUAL: &str = "[etc/udev/rules.d]\n";

fn mount(kind: &str, number: &str, bdi: &str, kib: u64, options: &str) -> String {
    format!(
        "[sys/class/bdi]\n{bdi}/read_ahead_kb = {kib}\n[proc/self]\n\
         mountinfo = 30 1 {number} / /data rw - {kind} server:/ rw{options}\n{USUAL}"
    )
}

/// Its bdi goes with the mount, and the window with it.
#[test]
fn a_window_that_was_set_on_a_mount_is_lost_unless_it_is_persisted() {
    let of = |text: &str| findings(support::built(text).path());
    let nfs = mount("nfs4", "0:52", "0:52", 2048, ",rsize=1048576");
    let found = of(&nfs);
    assert_eq!(found[0].id, "lost-at-boot");
    let repair = "sudo ahead device persist /data 2048K";
    assert_eq!(command(&found[0]), Some(repair));
    assert_eq!(
        found[0].consequence,
        ["Once it is unmounted, the 2 MiB are lost."]
    );
    let kept = format!(
        "{nfs}[usr/sbin]\nnfsrahead = x\n[etc]\nnfs.conf = [nfsrahead]\nnfs.conf = nfs4=2048\n"
    );
    assert_eq!(of(&kept), []);
    // What the server's client or an option of the mount makes comes again.
    assert_eq!(
        of(&mount("nfs4", "0:52", "0:52", 15360, ",rsize=1048576")),
        []
    );
    let cifs = |options| of(&mount("cifs", "0:53", "cifs-1", 4096, options));
    let found = cifs(",rsize=4194304");
    assert_eq!((found[0].id, command(&found[0])), ("lost-at-boot", None));
    assert!(found[0].consequence[1].starts_with("The mount option rasize=4194304 "));
    assert_eq!(cifs(",rsize=4194304,rasize=4194304"), []);
    // Other clients set their own window each time.
    assert_eq!(of(&mount("fuse.x", "0:54", "0:54", 512, "")), []);
}

#[test]
fn the_window_of_a_file_system_with_a_numbered_bdi_is_found() {
    let text = mount("zfs", "0:60", "zfs-1", 0, "");
    let root = support::built(&text);
    let machine = MachineTree::at(root.path());
    let all = doctor::examine(&machine, &[], &|_| None, &MappedAdvice::default());
    let all = all.expect("no names");
    assert_eq!(
        (all[0].target.as_str(), all[0].read_ahead_kb),
        ("/data", Some(0))
    );
}

/// `persist` says what its file should say; the file as it is now said the opposite.
#[test]
fn a_persisted_file_that_was_changed_has_one_finding() {
    let machine = support::persisting::Persisting::with_disk("naa.5000c500a1b2c3d4\n");
    machine.persist(512, Some(Mechanism::Udev));
    let folder = machine.folder.path().join("etc/udev/rules.d");
    let name = fs::read_dir(&folder).expect("a folder").flatten();
    let file = name
        .map(|entry| entry.path())
        .find(|path| path.to_string_lossy().contains("ahead"));
    let file = file.expect("a rule");
    let text = fs::read_to_string(&file)
        .expect("text")
        .replace("\"512\"", "\"256\"");
    fs::write(&file, text).expect("written");
    let ids: Vec<_> = findings(machine.folder.path())
        .iter()
        .map(|one| one.id)
        .collect();
    assert_eq!(ids, ["not-as-persisted"]);
}

#[test]
fn a_container_of_kubernetes_or_over_layers_is_one() {
    let sign = |text: &str| {
        let root = support::built(text);
        container::sign(&MachineTree::at(root.path())).map(|sign| sign.says)
    };
    let pod = sign("[run/secrets/kubernetes.io/serviceaccount]\n").expect("a sign");
    assert_eq!(pod, "a container (kubernetes): the window is its host's");
    let root = |options: &str| {
        format!("[proc/self]\nmountinfo = 30 1 0:40 / / rw - overlay overlay rw,{options}\n")
    };
    let docker = "lowerdir=/var/lib/docker/overlay2/l/A,upperdir=/var/lib/docker/overlay2/b/diff";
    assert!(
        sign(&root(docker))
            .expect("a sign")
            .contains("its root is an overlay")
    );
    // The root of OpenWrt.
    let router = "lowerdir=/,upperdir=/overlay/upper,workdir=/overlay/work";
    assert_eq!(sign(&root(router)), None);
}

/// `set` was proposed, and the rule came again with the next boot.
#[test]
fn a_large_window_that_a_rule_gives_is_repaired_for_good() {
    let text = |kib: u64| {
        format!(
            "[proc]\nsys/kernel/osrelease = 6.12.0\n[sys/block/sda]\ndev = 8:0\nsize = 9\nqueue/rotational = 0\n\
             queue/optimal_io_size = 8388608\nqueue/read_ahead_kb = {kib}\n"
        )
    };
    let of = |kib| {
        let found = findings(support::built(&text(kib)).path());
        let large = found.iter().find(|one| one.id == "large-window");
        command(large.expect("found")).map(str::to_owned)
    };
    let lasting = "sudo ahead device persist sda 8192K".to_owned();
    assert_eq!(of(16_384), Some(lasting));
    let now = "sudo ahead device set sda 8192K".to_owned();
    assert_eq!(of(65_536), Some(now));
}
