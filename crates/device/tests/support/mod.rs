//! Machine trees from their listings: a file per machine, `path = value` below `[folder]`.
//!
//! The kernel makes the links of sysfs from what it has, and so does this: a device of `sys/block` gets its
//! links in `class/block` and `dev/block` and its bdi; `slaves = a b` become links, as do `devices` and `bdi`
//! of a btrfs. A line for a file that there is already is added to it.
#![allow(dead_code, reason = "each test program uses a part")]

pub(crate) mod persisting;

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Names and texts of all listings.
pub(crate) fn listings() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/machines");
    let entries = fs::read_dir(folder).expect("listings").flatten();
    let texts = entries.filter(|entry| entry.path().extension().is_some_and(|end| end == "txt"));
    let mut all: Vec<_> = texts
        .map(|entry| {
            let path = entry.path();
            let name = path.file_stem().expect("a name").to_string_lossy();
            let text = fs::read_to_string(&path).expect("text");
            (name.into_owned(), text)
        })
        .collect();
    all.sort();
    all
}

/// The listing called `name`, as a tree.
pub(crate) fn machine(name: &str) -> tempfile::TempDir {
    let all = listings();
    let found = all.iter().find(|(one, _)| one == name);
    built(&found.unwrap_or_else(|| panic!("no listing {name}")).1)
}

/// Writes the tree of a listing.
pub(crate) fn built(listing: &str) -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a folder");
    let mut folder = String::new();
    let mut links: Vec<(PathBuf, String)> = Vec::new();
    for line in listing.lines().map(str::trim) {
        if let Some(name) = line
            .strip_prefix('[')
            .and_then(|line| line.strip_suffix(']'))
        {
            // Devices lie in `devices`; everything else are links to them.
            folder = name.replace("sys/block/", "sys/devices/block/");
            fs::create_dir_all(root.path().join(&folder)).expect("a folder");
            continue;
        }
        let Some((path, value)) = line.split_once(" = ").filter(|_| !line.starts_with('#')) else {
            continue;
        };
        let place = root.path().join(&folder).join(path);
        if matches!(path, "slaves" | "devices" | "bdi") {
            links.push((place, value.to_owned()));
            continue;
        }
        fs::create_dir_all(place.parent().expect("a folder")).expect("a folder");
        let mut file = OpenOptions::new();
        let mut file = file.append(true).create(true).open(place).expect("a file");
        writeln!(file, "{value}").expect("written");
    }
    device_links(root.path());
    for (place, names) in links {
        link_names(root.path(), &place, &names);
    }
    root
}

fn link_names(root: &Path, place: &Path, names: &str) {
    if place.ends_with("bdi") {
        let target = root.join("sys/class/bdi").join(names);
        fs::create_dir_all(&target).expect("a folder");
        symlink(target, place).expect("a link");
        return;
    }
    fs::create_dir_all(place).expect("a folder");
    for name in names.split(' ') {
        let target = root.join("sys/devices/block").join(name);
        symlink(target, place.join(name)).expect("a link");
    }
}

fn device_links(root: &Path) {
    for folder in ["sys/class/block", "sys/dev/block", "sys/class/bdi"] {
        fs::create_dir_all(root.join(folder)).expect("a folder");
    }
    let mut devices = folders(&root.join("sys/devices/block"));
    let parts = devices.iter().flat_map(|device| folders(device));
    let parts: Vec<_> = parts
        .filter(|folder| folder.join("partition").exists())
        .collect();
    for disk in &devices {
        let number = fs::read_to_string(disk.join("dev")).expect("a number");
        let bdi = root.join("sys/class/bdi").join(number.trim());
        fs::create_dir_all(&bdi).expect("a folder");
        let window = disk.join("queue/read_ahead_kb");
        if window.exists() {
            symlink(window, bdi.join("read_ahead_kb")).expect("a link");
        }
    }
    devices.extend(parts);
    for device in devices {
        let name = device.file_name().expect("a name");
        let number = fs::read_to_string(device.join("dev")).expect("a number");
        symlink(&device, root.join("sys/class/block").join(name)).expect("a link");
        symlink(&device, root.join("sys/dev/block").join(number.trim())).expect("a link");
    }
}

fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<_> = entries.map(|entry| entry.path()).collect();
    found.retain(|path| path.is_dir());
    found.sort();
    found
}
