//! Files of an overlay, reached from outside of the process that reads them. Needs root, loop devices and `mkfs.ext4`: each has mounts of its own.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use ahead_daemon::outside::{Outside, ResidentOutside};
use ahead_daemon::reach::{Reach, Reached, Reacher};
use ahead_engine::adviser::{Act, Adviser as _, Answer, CallsMade, Residency as _};
use ahead_engine::counted_reads::CountedReads;
use ahead_observer::observation::{FactKind, FileKey, Observation};
use ahead_policy::decision::{Decision, Prefetch};
use ahead_policy::reason::{Pattern, Reason};
use ahead_units::{ByteRange, PageCount, PageRange, Timestamp};

/// Pages of the file, or more where the program is larger.
const PAGES_MIN: u64 = 256;

/// The descriptor by which the reader has its file.
const NUMBER: i32 = 0;

/// The layers have to be on a disk whose reads are counted, whatever this test is built on.
const DISK: &str = "mkfs.ext4 -q image && mkdir disk && mount -o loop image disk && cd disk \
    && mkdir low up work merged && cp --sparse=never ../program low/file && sync low/file \
    && mount -t overlay overlay -o lowerdir=low,upperdir=up,workdir=work merged";

/// Mounts a disk and an overlay of its own and has `file` of it open, as a container does.
struct Reader {
    child: Child,
    folder: tempfile::TempDir,
    pages: u64,
}

impl Reader {
    /// It does `before` first. Its file is a program that says what it hears.
    fn start(before: &str) -> Self {
        Self::start_with(&format!(
            "{before} exec <merged/file && echo ready && exec sleep 1000"
        ))
    }

    /// It has only mapped the file.
    fn start_mapped() -> Self {
        Self::start_with("exec -a cat merged/file")
    }

    fn start_with(act: &str) -> Self {
        assert!(rustix::process::geteuid().is_root(), "root is needed");
        let folder = tempfile::tempdir().expect("a folder");
        // A hole would need no disk.
        let mut program = fs::read("/bin/cat").expect("a program");
        let pages = (program.len() as u64).div_ceil(4096).max(PAGES_MIN);
        let bytes = pages * 4096;
        program.resize(usize::try_from(bytes).expect("small"), 7);
        let copy = folder.path().join("program");
        fs::copy("/bin/cat", &copy).expect("space");
        fs::write(&copy, program).expect("space");
        let image = fs::File::create(folder.path().join("image")).expect("a file");
        image.set_len(bytes + (32 << 20)).expect("space");
        let mut child = Command::new("unshare")
            .args(["--mount", "bash", "-c", &format!("{DISK} && {act}")])
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("unshare");
        let mut asked = child.stdin.as_ref().expect("a pipe");
        asked.write_all(b"ready\n").expect("it listens");
        let said = child.stdout.take().expect("a pipe");
        let mut line = String::new();
        let heard = BufReader::new(said).read_line(&mut line);
        assert!(heard.is_ok() && line == "ready\n", "it said {line:?}");
        Self {
            child,
            folder,
            pages,
        }
    }

    /// The file as it lies in a layer, by the way that leads there from outside.
    fn path(&self, layer: &str) -> PathBuf {
        let root = format!(
            "/proc/{}/root{}",
            self.child.id(),
            self.folder.path().display()
        );
        Path::new(&root).join("disk").join(layer).join("file")
    }

    fn layers_file(&self, layer: &str) -> FileKey {
        let found = fs::metadata(self.path(layer)).expect("a file");
        FileKey {
            device: found.dev(),
            inode: found.ino(),
        }
    }

    fn evict(&self, layer: &str) {
        let file = fs::File::open(self.path(layer)).expect("a file");
        let advice = rustix::fs::Advice::DontNeed;
        rustix::fs::fadvise(&file, 0, None, advice).expect("a hint");
    }

    fn pages_in_memory(&self, layer: &str) -> u64 {
        let file = fs::File::open(self.path(layer)).expect("a file");
        let counted = ahead_sys::cachestat::cachestat_range(&file, 0, self.pages * 4096);
        counted.expect("Linux 6.5").cached
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn miss(file: FileKey, process: u32, pages: u64) -> Observation {
    Observation {
        kind: FactKind::Miss,
        time: Timestamp::new(1),
        file,
        generation: None,
        file_pages: PageCount::new(pages),
        first: ByteRange::from(PageRange::new(0, 1)),
        step: 4096,
        count: 1,
        waited_ns: 0,
        process,
        thread: process,
        programs: 0,
        descriptor: Some(NUMBER),
        is_mapped: false,
        advised_random: false,
        is_early: false,
        window: None,
    }
}

/// The kernel says of an overlay's file that none of it is in memory, so what was there seemed to be brought again and again, and none of
/// it was ever evicted.
#[test]
fn what_is_in_memory_is_known_of_a_file_of_an_overlay() {
    let reader = Reader::start("");
    let (file, process) = (reader.layers_file("low"), reader.child.id());
    let reacher = Reacher::new();
    let reach = Reach::Descriptor {
        process,
        number: NUMBER,
    };
    let (reached, _) = reacher
        .reach(file, process, reach)
        .expect("its file is reached");
    let Reached::File(open) = reached else {
        panic!("it is open");
    };
    assert!(open.is_of_overlay);
    assert_eq!(open.pages, PageCount::new(reader.pages));
    let resident = ResidentOutside {
        reacher: &reacher,
        file,
        process,
        reach,
    };
    assert_eq!(resident.evicted(PageRange::new(0, reader.pages)), None);

    let range = PageRange::new(64, 128);
    let decision = Decision {
        prefetch: Prefetch::range(range),
        pattern: Pattern::Sequential,
        reason: Reason::StreamBegan,
    };
    let (mut answers, counted_reads) = (Vec::new(), CountedReads::default());
    reader.evict("low");
    for _ in 0..2 {
        let fact = miss(file, process, reader.pages);
        let mut outside = Outside::new(&reacher, &fact, None, reach, true);
        outside.counted_reads = Some(&counted_reads);
        let pages = outside.prepare(&decision);
        assert_eq!(pages, Some(PageCount::new(reader.pages)));
        let answer = outside.act(Act::Prefetch(range));
        let pages = range.len();
        outside.finish(&decision, &CallsMade { answer, pages });
        answers.push((answer, outside.calls));
    }
    assert_eq!(answers, [(Answer::OnItsWay, 1), (Answer::WasCached, 1)]);
    let brought = reader.pages_in_memory("low");
    assert!(brought >= 64, "{brought}: brought for all who read it");
}

/// It says the inode that it had before it was written to, and another file has its pages.
#[test]
fn a_file_that_was_copied_up_is_not_reached() {
    let reader = Reader::start("echo more >>merged/file &&");
    let reacher = Reacher::new();
    let process = reader.child.id();
    let up = reader.layers_file("up");
    assert!(reacher.reach(up, process, Reach::Unknown).is_none());
}

/// Since Linux 6.8 `/proc/PID/maps` says the overlay's device of it, and it seemed not to be there.
#[test]
fn a_file_of_an_overlay_that_is_only_mapped_is_reached() {
    let reader = Reader::start_mapped();
    let process = reader.child.id();
    let low = reader.layers_file("low");
    let reacher = Reacher::new();
    let (reached, _) = reacher
        .reach(low, process, Reach::Unknown)
        .expect("its mapping is reached");
    assert!(matches!(reached, Reached::Mapped(..)), "{reached:?}");
}
