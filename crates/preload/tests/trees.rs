//! Programs that go through a tree that is not in memory: files are asked for ahead, and nothing of that can be
//! seen from inside.

mod common;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use ahead_engine::report;
use ahead_engine::tree_report::TreeReport;
use common::{Account, build, folder, own_filters, succeed, with_library, with_trees};

const FOLDERS: usize = 8;
const FILES: usize = 50;

/// A tree of 400 files of 20 KB in eight folders.
fn tree(parent: &Path) -> PathBuf {
    let root = parent.join("tree");
    for number in 0..FOLDERS * FILES {
        let below = root.join(format!("{:02}", number % FOLDERS));
        fs::create_dir_all(&below).expect("a folder");
        let bytes: Vec<u8> = (0..20_000_usize)
            .map(|at| u8::try_from(at * number % 251).unwrap_or(0))
            .collect();
        fs::write(below.join(format!("{number:04}")), bytes).expect("a file");
    }
    root
}

/// Makes the tree's files absent from memory. Their inodes stay, as only the whole machine could lose those.
fn evict(root: &Path) {
    for entry in fs::read_dir(root).expect("a folder") {
        let entry = entry.expect("a name");
        let kind = entry.file_type().expect("its kind");
        if kind.is_dir() {
            evict(&entry.path());
        } else if kind.is_file()
            && let Ok(file) = File::open(entry.path())
        {
            file.sync_all().expect("written");
            rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).expect("evicted");
        }
    }
}

/// What the account says about trees.
fn trees(account: &Account) -> TreeReport {
    let bytes = fs::read(account.path()).expect("the account");
    report::decode(&bytes).expect("an account").trees
}

/// With the library as `ahead run` loads it, and an account.
fn helped(program: impl AsRef<OsStr>, account: &Account) -> Command {
    let mut command = with_library(program);
    with_trees(&mut command).env("AHEAD_SHARED", account.path());
    command
}

/// Runs it cold without and with the library. Returns both outputs and the account.
fn both(
    root: &Path,
    mut command: impl FnMut(Option<&Account>) -> Command,
) -> (Output, Output, TreeReport) {
    let folder = folder();
    evict(root);
    let without = succeed(&mut command(None));
    evict(root);
    let account = Account::new(folder.path());
    let with = succeed(&mut command(Some(&account)));
    (without, with, trees(&account))
}

/// The same up to five times, until the helper got as far as `is_enough` asks: on a busy machine the program may be
/// through before the helper had a processor. The outputs are the same each time.
fn both_until(
    root: &Path,
    is_enough: impl Fn(&TreeReport) -> bool,
    mut command: impl FnMut(Option<&Account>) -> Command,
) -> TreeReport {
    for _ in 0..4 {
        let (without, with, trees) = both(root, &mut command);
        assert_the_same(&without, &with);
        if is_enough(&trees) {
            return trees;
        }
    }
    let (without, with, trees) = both(root, &mut command);
    assert_the_same(&without, &with);
    trees
}

#[track_caller]
fn assert_the_same(without: &Output, with: &Output) {
    assert!(without.stdout == with.stdout, "the output differs");
    assert_eq!(
        String::from_utf8_lossy(&without.stderr),
        String::from_utf8_lossy(&with.stderr)
    );
}

fn maybe_helped(program: impl AsRef<OsStr>, account: Option<&Account>) -> Command {
    match account {
        Some(account) => helped(program, account),
        None => Command::new(program),
    }
}

#[test]
fn files_are_asked_for_ahead_of_programs_that_people_use() {
    let folder = folder();
    let root = tree(folder.path());
    for arguments in [
        &["tar", "--mtime=@1", "-cf", "-", "tree"][..],
        &["sh", "-c", "grep -rc 'no such word' tree; true"],
        &["sh", "-c", "rm -rf copy; rsync -a tree/ copy/"],
    ] {
        let is_enough = |trees: &TreeReport| trees.files >= 300;
        let trees = both_until(&root, is_enough, |account| {
            let mut command = maybe_helped(arguments[0], account);
            command.args(&arguments[1..]).current_dir(folder.path());
            command
        });
        assert!(is_enough(&trees), "{arguments:?}: {trees:?}");
        assert!(trees.wasted * 10 <= trees.files, "{arguments:?}: {trees:?}");
        // All of them are read whole.
        assert!(
            trees.bytes >= trees.files * 19_000,
            "{arguments:?}: {trees:?}"
        );
    }
}

#[test]
fn a_program_sees_only_its_own_descriptors() {
    let folder = folder();
    let root = tree(folder.path());
    let program = build(folder.path(), "walk");
    for how in [
        "walk", "close", "fork", "alone", "end", "bare", "cancel", "lease", "rename",
    ] {
        let (without, with, trees) = both(&root, |account| {
            let mut command = maybe_helped(&program, account);
            command.arg(how).arg(&root).current_dir(folder.path());
            command
        });
        assert_the_same(&without, &with);
        assert!(trees.files > 0, "{how}: {trees:?}");
    }
}

/// A program that opens files for their descriptors' sake has 8 MB of them read that it does not want.
#[test]
fn files_that_are_opened_and_not_read_are_not_asked_for() {
    let folder = folder();
    let root = tree(folder.path());
    let program = build(folder.path(), "walk");
    for (how, expected) in [("look", 0..100), ("map", 300..401)] {
        let is_enough = |trees: &TreeReport| trees.files >= 300;
        let trees = both_until(&root, is_enough, |account| {
            let mut command = maybe_helped(&program, account);
            command.arg(how).arg(&root).current_dir(folder.path());
            command
        });
        assert!(is_enough(&trees), "{how}: {trees:?}");
        let whole = trees.bytes / 20_000;
        assert!(expected.contains(&whole), "{how}: {trees:?}");
    }
}

/// Databases and servers open many files by name: no thread is made for them.
#[test]
fn a_program_that_lists_nothing_has_no_helper() {
    let folder = folder();
    let root = tree(folder.path());
    let program = build(folder.path(), "walk");
    let (without, with, trees) = both(&root, |account| {
        let mut command = maybe_helped(&program, account);
        command.arg("named").arg(&root).current_dir(folder.path());
        command
    });
    assert_the_same(&without, &with);
    assert_eq!(trees, TreeReport::default());
}

/// `xargs`, `tar -T`: files of one folder after another, by names that come from elsewhere.
#[test]
fn a_list_of_files_is_followed_through_folders_that_the_program_never_lists() {
    let folder = folder();
    let root = tree(folder.path());
    let program = build(folder.path(), "walk");
    let is_enough = |trees: &TreeReport| trees.files >= 250 && trees.orders[1];
    let trees = both_until(&root, is_enough, |account| {
        let mut command = maybe_helped(&program, account);
        command.arg("list").arg(&root).current_dir(folder.path());
        command
    });
    assert!(is_enough(&trees), "{trees:?}");
    assert!(trees.wasted * 10 <= trees.files, "{trees:?}");
}

#[test]
fn nothing_is_asked_for_where_trees_are_off() {
    let folder = folder();
    let root = tree(folder.path());
    let program = build(folder.path(), "walk");
    let (_, _, trees) = both(&root, |account| {
        let mut command = maybe_helped(&program, account);
        command.arg("walk").arg(&root).current_dir(folder.path());
        command.env("AHEAD_SETTINGS", "trees=off");
        command
    });
    assert_eq!(trees, TreeReport::default());
}

/// Filters are inherited: the helper's calls have to be known to pass one more than this test runs under.
#[test]
fn files_are_asked_for_only_where_the_helper_passes_all_filters() {
    let folder = folder();
    let root = tree(folder.path());
    let filtered = build(folder.path(), "filtered");
    let known = own_filters() + 1;
    for (verdict, tried, is_helped) in [
        ("kill", 0, false),
        ("allow", 0, false),
        ("allow", known, true),
    ] {
        let (without, with, trees) = both(&root, |account| {
            let mut command = maybe_helped(&filtered, account);
            command
                .args([verdict, "tar", "-cf", "-", "tree"])
                .env("AHEAD_FILTERS", known.to_string())
                .env("AHEAD_TREE_FILTERS", tried.to_string())
                .current_dir(folder.path());
            command
        });
        assert_the_same(&without, &with);
        assert_eq!(trees.files > 0, is_helped, "{verdict} {tried}: {trees:?}");
    }
}

#[test]
fn a_hostile_tree_is_gone_through_as_without_help() {
    let folder = folder();
    let root = tree(folder.path());
    let at = |name: &str| root.join("03").join(name);
    succeed(Command::new("mkfifo").arg(at("fifo")));
    succeed(
        Command::new("mknod")
            .arg(at("device"))
            .args(["c", "1", "3"]),
    );
    let _socket = UnixListener::bind(at("socket")).expect("a socket");
    symlink("nowhere", at("dangling")).expect("a link");
    symlink("..", at("circle")).expect("a link");
    symlink("/etc", root.join("out")).expect("a link");
    fs::create_dir(root.join("empty")).expect("a folder");
    fs::create_dir(root.join("closed")).expect("a folder");
    fs::write(root.join("closed/file"), "x").expect("a file");
    succeed(Command::new("chmod").arg("0").arg(root.join("closed")));
    fs::write(root.join(OsStr::from_bytes(b"\xff\xfe\n")), "x").expect("a name that is no text");
    fs::write(root.join("a".repeat(255)), "x").expect("a long name");
    let mut deep = root.clone();
    for _ in 0..40 {
        deep.push("deeper and deeper than any other");
    }
    fs::create_dir_all(&deep).expect("folders");
    fs::write(deep.join("bottom"), "x").expect("a file");
    let (without, with, trees) = both(&root, |account| {
        let mut command = maybe_helped("tar", account);
        command
            .args(["--mtime=@1", "-cf", "-", "tree"])
            .current_dir(folder.path());
        command
    });
    assert_the_same(&without, &with);
    assert!(trees.files > 200, "{trees:?}");
    succeed(Command::new("chmod").arg("700").arg(root.join("closed")));
}

/// The program never comes to most of the files: their access times stay, as they are the tester's own.
#[test]
fn files_that_the_program_never_opens_keep_their_access_times() {
    let folder = folder();
    let root = tree(folder.path());
    let times = |root: &Path| -> Vec<i64> {
        let mut all = Vec::new();
        for number in 0..FOLDERS * FILES {
            let path = root.join(format!("{:02}/{number:04}", number % FOLDERS));
            all.push(fs::metadata(path).expect("a file").atime());
        }
        all
    };
    // Older than the last change: a read under relatime would set them.
    succeed(Command::new("find").arg(&root).args([
        "-type", "f", "-exec", "touch", "-a", "-d", "@1000", "{}", "+",
    ]));
    let before = times(&root);
    evict(&root);
    let account = Account::new(folder.path());
    let mut command = helped("sh", &account);
    command
        .args(["-c", "tar -cf - tree | head -c 2000000 >/dev/null"])
        .current_dir(folder.path());
    succeed(&mut command);
    let trees = trees(&account);
    let moved = before
        .iter()
        .zip(times(&root))
        .filter(|(before, after)| *before != after)
        .count() as u64;
    // 20 480 bytes each, and what tar reads until it notices that nothing reads its pipe.
    assert!(moved <= 2_000_000 / 20_480 + 20, "{moved} of {trees:?}");
    assert!(trees.files > trees.used, "{trees:?}");
}
