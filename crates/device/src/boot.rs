//! What sets windows at boot: udev rules, hdparm.conf, nfs.conf, hotplug scripts, tuned profiles, sysfs.d, tmpfiles.d,
//! systemd units, rc.local, and scripts of other kinds, read as texts below the root of a machine.
//!
//! Only what is plainly written is believed: a number, and a device or a pattern of names. A rule with conditions
//! that are not looked at here, a device that a script computes, or a script that something else runs, is kept as
//! *unsure*: it may set the window, so nothing is concluded from it and nothing against it. Nothing here is run.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use ahead_sys::mounts::{self, Mount};
use rustix::fs::{Mode, OFlags};
use serde::Serialize;

use crate::boot_setting::BootSetting;
use crate::machine::MachineTree;
use crate::mechanism::Mechanism;
use crate::target;

#[cfg(test)]
mod parsers;
mod shell;
mod text;
mod tuned;
mod udev;
mod unit;

/// Longest file that is looked at; what people write for a window is a few lines.
const BOOT_FILE_BYTES_MAX: u64 = 64 << 10;

/// Most files that are looked at. A full installation has about 200 rules, and as many units.
const BOOT_FILES_MAX: usize = 4096;

/// Where units of systemd lie; of two that are called the same, that of the last folder counts.
/// `/lib` is often a link to `/usr/lib`, whose file is then the one that counts.
const UNITS: [&str; 5] = [
    "lib/systemd/system",
    "usr/lib/systemd/system",
    "usr/local/lib/systemd/system",
    "run/systemd/system",
    UNITS_OF_THE_ADMINISTRATOR,
];

const UNITS_OF_THE_ADMINISTRATOR: &str = "etc/systemd/system";

/// Where rules of udev lie, in the same order.
const RULES: [&str; 5] = [
    "lib/udev/rules.d",
    "usr/lib/udev/rules.d",
    "usr/local/lib/udev/rules.d",
    "run/udev/rules.d",
    "etc/udev/rules.d",
];

/// Where lines of tmpfiles lie, in the same order.
const TMPFILES: [&str; 4] = [
    "usr/lib/tmpfiles.d",
    "usr/local/lib/tmpfiles.d",
    "run/tmpfiles.d",
    "etc/tmpfiles.d",
];

/// Scripts that others than systemd may start, and tables of cron, each with how the names of its files end. Whether and when
/// they run is not looked at.
const SCRIPTS: [(&str, &str); 3] = [
    ("etc/init.d", ""),
    ("etc/local.d", ".start"),
    ("etc/cron.d", ""),
];

/// Tables of cron: of users that of root alone, as nobody else may set windows.
const CRONTABS: [&str; 3] = [
    "etc/crontab",
    "var/spool/cron/root",
    "var/spool/cron/crontabs/root",
];

/// File systems whose server may never answer, and places that are mounted by looking at them.
const OF_SERVERS: [&str; 8] = ["nfs", "cifs", "smb", "ceph", "fuse", "9p", "afs", "autofs"];

/// Deepest chain of tuned profiles that include each other.
const INCLUDES_MAX: usize = 8;

/// All places of a machine that set windows, in the order in which they take effect.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BootSettings {
    /// The places.
    pub settings: Vec<BootSetting>,
    /// Whether any of the usual folders is there. A recorded machine often has none of them.
    pub is_searched: bool,
}

/// Looks in the usual places.
#[must_use]
pub fn read(machine: &MachineTree) -> BootSettings {
    read_with(machine, &[])
}

/// [`read`], as if each of `instead` (a path from the root, and a text) were there.
#[must_use]
pub fn read_with(machine: &MachineTree, instead: &[(&str, &str)]) -> BootSettings {
    let mut search = Search {
        machine,
        instead,
        mounts: mounts::mounts(&machine.proc()).unwrap_or_default(),
        files: 0,
        found: BootSettings::default(),
    };
    let units = search.started_units();
    search.rules();
    search.file(Path::new("etc/hdparm.conf"), |_, text| text::hdparm(text));
    search.nfs();
    let hotplug = "etc/hotplug.d/block";
    search.folders(&[hotplug], "", |_, text| shell::hotplug(text));
    search.units(&units, true);
    let before = search.found.settings.len();
    search.folders(&TMPFILES, ".conf", |_, text| text::tmpfiles(text));
    // Of several lines for one path, systemd-tmpfiles takes the first.
    let mut paths = Vec::new();
    let lines = search.found.settings.split_off(before);
    let first = lines.into_iter().filter(|line| {
        let is_first = !paths.contains(&line.pattern);
        paths.push(line.pattern.clone());
        is_first
    });
    search.found.settings.extend(first);
    search.file(Path::new("etc/sysfs.conf"), |_, text| text::sysfs(text));
    search.folders(&["etc/sysfs.d"], ".conf", |_, text| text::sysfs(text));
    search.tuned();
    search.units(&units, false);
    search.rc_local();
    search.scripts();
    search.found
}

/// A unit of systemd that sets what it sets at boot.
struct StartedUnit {
    name: String,
    file: PathBuf,
    /// It is started when its device or mount appears, and by nothing else.
    comes_with_device: bool,
    /// That it is started is known.
    is_sure: bool,
}

struct Search<'a> {
    machine: &'a MachineTree,
    instead: &'a [(&'a str, &'a str)],
    mounts: Vec<Mount>,
    files: usize,
    found: BootSettings,
}

impl Search<'_> {
    /// The files of several folders by name, as udev and systemd order them: of two that are called the same,
    /// that of the last folder counts.
    fn folders(
        &mut self,
        folders: &[&str],
        end: &str,
        parse: impl Fn(&Path, &str) -> Vec<BootSetting>,
    ) {
        for (_, file) in self.names(folders, end) {
            self.file(&file, &parse);
        }
    }

    /// Rules of udev, which starts their programs when it has read all of them.
    fn rules(&mut self) {
        let mut programs = Vec::new();
        for (_, file) in self.names(&RULES, ".rules") {
            let below = self.machine.below(&file);
            if let Some(text) = self.text(&below) {
                self.add(&below, udev::attributes(&text));
                programs.push((below, text));
            }
        }
        for (below, text) in programs {
            self.add(&below, udev::programs(&text));
            self.run_by(&udev::started_text(&text));
        }
    }

    /// The script of the administrator. On some machines it lies in a folder of its own, and the usual name is a link.
    fn rc_local(&mut self) {
        let places = ["etc/rc.local", "etc/rc.d/rc.local"];
        let places = places.map(|place| self.machine.below(Path::new(place)));
        let [usual, other] = &places;
        let is_one =
            fs::canonicalize(usual).is_ok_and(|real| fs::canonicalize(other).ok() == Some(real));
        for place in places.iter().take(if is_one { 1 } else { 2 }) {
            if let Some(text) = self.text(place) {
                let mode = fs::metadata(place).map_or(0, |found| found.permissions().mode());
                self.add(place, shell::commands(&text, mode & 0o111 != 0));
                self.run_by(&text);
            }
        }
    }

    /// Scripts whose start is not looked at. That they are there does not mean that the usual folders are.
    fn scripts(&mut self) {
        let is_searched = self.found.is_searched;
        let mut files: Vec<_> = CRONTABS.map(PathBuf::from).into();
        for (folder, end) in SCRIPTS {
            files.extend(self.names(&[folder], end).into_iter().map(|(_, file)| file));
        }
        self.found.is_searched = is_searched;
        for file in files {
            let below = self.machine.below(&file);
            if let Some(text) = self.text(&below) {
                self.add(&below, shell::commands(&text, false));
                self.run_by(&text);
            }
        }
    }

    /// Scripts that the commands of `text` run: one that speaks of windows may set any.
    fn run_by(&mut self, text: &str) {
        for program in shell::programs(text) {
            self.script(Path::new(&program));
        }
    }

    fn script(&mut self, program: &Path) {
        if self.is_of_server(program) {
            return;
        }
        let below = self.machine.below(program);
        let found = self.text(&below).and_then(|text| shell::of_script(&text));
        if let Some(found) = found
            && !self
                .found
                .settings
                .iter()
                .any(|one| one.file == self.machine.seen(&below))
        {
            self.add(&below, vec![found]);
        }
    }

    /// Whether it lies where to look at it may take for ever.
    fn is_of_server(&self, program: &Path) -> bool {
        let mount = target::mount_of(&self.mounts, program);
        let is_one = |kind: &&str| mount.is_some_and(|mount| mount.file_system.starts_with(*kind));
        OF_SERVERS.iter().any(is_one)
    }

    /// Names and places of these files.
    fn names(&mut self, folders: &[impl AsRef<Path>], end: &str) -> Vec<(String, PathBuf)> {
        let mut files: Vec<(String, PathBuf)> = Vec::new();
        for folder in folders {
            let folder = folder.as_ref();
            let below = self.machine.below(folder);
            self.found.is_searched |= below.is_dir();
            let mut names = self.machine.names(&below);
            let here = Path::new("/").join(folder);
            let new = self.instead.iter().map(|(path, _)| Path::new(path));
            let new = new.filter(|path| path.parent() == Some(&here));
            names.extend(new.filter_map(|path| Some(path.file_name()?.to_str()?.to_owned())));
            for name in names {
                if name.ends_with(end) && !name.starts_with('.') {
                    files.retain(|(other, _)| *other != name);
                    let path = folder.join(&name);
                    files.push((name, path));
                }
            }
        }
        files.sort();
        files
    }

    fn file(&mut self, file: &Path, parse: impl Fn(&Path, &str) -> Vec<BootSetting>) {
        let below = self.machine.below(file);
        if let Some(text) = self.text(&below) {
            self.add(&below, parse(&below, &text));
        }
    }

    fn add(&mut self, below: &Path, found: Vec<BootSetting>) {
        let seen = self.machine.seen(below);
        let settings = found.into_iter().map(|mut setting| {
            setting.file.clone_from(&seen);
            setting
        });
        self.found.settings.extend(settings);
    }

    /// A text of the machine; nothing for a link that leads out of it, for what is long, and for a device.
    fn text(&mut self, path: &Path) -> Option<String> {
        self.files += 1;
        let seen = self.machine.seen(path);
        if let Some((_, text)) = self.instead.iter().find(|(path, _)| *path == seen) {
            return Some((*text).to_owned());
        }
        let real = fs::canonicalize(path).ok()?;
        let root = fs::canonicalize(self.machine.root()).ok()?;
        if self.files > BOOT_FILES_MAX || !real.starts_with(root) {
            return None;
        }
        let is_short = |found: &fs::Metadata| found.is_file() && found.len() <= BOOT_FILE_BYTES_MAX;
        fs::metadata(&real).ok().filter(is_short)?;
        // Nor is a pipe waited for that has come into its place.
        let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = fs::File::from(rustix::fs::open(&real, flags, Mode::empty()).ok()?);
        file.metadata().ok().filter(is_short)?;
        let mut bytes = Vec::new();
        file.take(BOOT_FILE_BYTES_MAX + 1)
            .read_to_end(&mut bytes)
            .ok()?;
        let is_short = bytes.len() as u64 <= BOOT_FILE_BYTES_MAX;
        is_short.then(|| String::from_utf8_lossy(&bytes).into_owned())
    }

    fn tuned(&mut self) {
        let active = self.machine.below(Path::new("etc/tuned/active_profile"));
        let names = self.text(&active).unwrap_or_default();
        let mut names: Vec<String> = names.split_whitespace().map(str::to_owned).collect();
        let mut files = Vec::new();
        while let Some(name) = names.pop() {
            if files.len() >= INCLUDES_MAX || name.contains(['/', '$']) || name.starts_with('.') {
                continue;
            }
            let places = [
                "etc/tuned",
                "etc/tuned/profiles",
                "usr/lib/tuned",
                "usr/lib/tuned/profiles",
            ];
            let mut places = places
                .iter()
                .map(|place| Path::new(place).join(&name).join("tuned.conf"));
            let is_new = |file: &PathBuf| {
                let seen = self.machine.seen(&self.machine.below(file));
                self.instead.iter().any(|(path, _)| *path == seen)
            };
            let file = places.find(|file| is_new(file) || self.machine.below(file).is_file());
            if let Some(file) = file.filter(|file| !files.contains(file)) {
                let text = self.text(&self.machine.below(&file)).unwrap_or_default();
                names.extend(tuned::included(&text));
                files.push(file);
            }
        }
        // What includes comes after what is included, and so overwrites it.
        for file in files.iter().rev() {
            self.file(file, |_, text| tuned::tuned(text));
            let below = self.machine.below(file);
            let folder = below.parent().map(|folder| self.machine.seen(folder));
            let text = self.text(&below).unwrap_or_default();
            for script in tuned::scripts(&text, &folder.unwrap_or_default()) {
                self.script(Path::new(&script));
            }
        }
    }

    /// What the helper of nfs-utils sets when udev sees a mount; unsure where the helper is not found.
    fn nfs(&mut self) {
        let is_installed = Mechanism::Nfs.is_installed(self.machine);
        let parse = |_: &Path, text: &str| {
            let mut found = text::nfs(text);
            found.iter_mut().for_each(|one| one.is_sure &= is_installed);
            found
        };
        self.file(Path::new("etc/nfs.conf"), parse);
        self.folders(&["etc/nfs.conf.d"], ".conf", parse);
    }

    /// Units that are started: those that a device or a mount starts, which come with it, or all others.
    fn units(&mut self, all: &[StartedUnit], comes_with_device: bool) {
        for unit in all
            .iter()
            .filter(|unit| unit.comes_with_device == comes_with_device)
        {
            self.unit(unit);
        }
    }

    /// All of them, in the order of their names.
    fn started_units(&mut self) -> Vec<StartedUnit> {
        let wanted = self.wanted_units();
        let starts = |unit: &str, with: bool| {
            let mut of_unit = wanted.iter().filter(|(_, one)| one == unit);
            of_unit.any(|(folder, _)| is_of_device(folder) == with)
        };
        let names = self.names(&UNITS, ".service").into_iter();
        let units = names.filter_map(|(name, file)| {
            let (early, late) = (starts(&name, true), starts(&name, false));
            // One that came with a package and is not enabled sets nothing; one of the administrator may be started by hand.
            let is_known = early || late || file.starts_with(UNITS_OF_THE_ADMINISTRATOR);
            is_known.then_some(StartedUnit {
                name,
                file,
                comes_with_device: early && !late,
                is_sure: early || late,
            })
        });
        units.collect()
    }

    /// One unit with its drop-ins.
    fn unit(&mut self, unit: &StartedUnit) {
        let StartedUnit {
            name,
            file,
            is_sure,
            ..
        } = unit;
        let below = self.machine.below(file);
        let Some(text) = self.text(&below) else {
            return;
        };
        let folders = UNITS.map(|folder| format!("{folder}/{name}.d"));
        let mut places = vec![below];
        let mut texts = vec![text];
        for (_, file) in self.names(&folders, ".conf") {
            let below = self.machine.below(&file);
            if let Some(text) = self.text(&below) {
                places.push(below);
                texts.push(text);
            }
        }
        let texts: Vec<_> = texts.iter().map(String::as_str).collect();
        for (place, found) in unit::unit(&texts, *is_sure) {
            self.add(&places[place], vec![found]);
        }
        self.run_by(&unit::started_text(&texts));
    }

    /// Units that something starts, each behind the folder that says so.
    fn wanted_units(&self) -> Vec<(String, String)> {
        let is_list = |name: &str| name.ends_with(".wants") || name.ends_with(".requires");
        let mut wanted = Vec::new();
        for units in UNITS {
            let units = self.machine.below(Path::new(units));
            for folder in self.machine.names(&units) {
                if is_list(&folder) {
                    let names = self.machine.names(&units.join(&folder));
                    wanted.extend(names.into_iter().map(|name| (folder.clone(), name)));
                }
            }
        }
        for (path, _) in self.instead {
            let mut parts = path.rsplit('/');
            if let (Some(name), Some(folder)) = (parts.next(), parts.next())
                && is_list(folder)
            {
                wanted.push((folder.to_owned(), name.to_owned()));
            }
        }
        wanted
    }
}

/// Whether the units of this folder are started when a device or a mount appears, and not by a target.
fn is_of_device(folder: &str) -> bool {
    let unit = folder
        .trim_end_matches(".wants")
        .trim_end_matches(".requires");
    unit.ends_with(".device") || unit.ends_with(".mount")
}
