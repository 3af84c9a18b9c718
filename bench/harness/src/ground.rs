//! What a bench stands on: the disk under test, and the notes of what was changed for it. Made first, cleared
//! last, also when nothing could be measured.

use std::io;
use std::path::Path;

use ahead_sys::meminfo::MemoryInfo;

use crate::error::BenchError;
use crate::journal::Journal;
use crate::plan::{BenchPlan, DiskChoice};
use crate::results::MachineFacts;
use crate::target::Target;

/// A disk that is ready.
pub(crate) struct Ground {
    /// The disk.
    pub(crate) target: Target,
    journal: Journal,
    /// It was made for this bench only.
    is_ours: bool,
}

fn notes(source: io::Error) -> BenchError {
    BenchError::Machine {
        what: "cannot keep notes in the state folder",
        source,
    }
}

impl Ground {
    /// The disk of `plan`, made if it is an emulated one. What benches that were killed left behind is put back
    /// first.
    pub(crate) fn make(plan: &BenchPlan) -> Result<Self, BenchError> {
        if !rustix::process::geteuid().is_root() {
            return Err(BenchError::NotRoot);
        }
        let (mut journal, orphans) = Journal::open(&plan.state_folder).map_err(notes)?;
        for disk in orphans {
            // Whatever is left of it, the disks' own records know; it may be gone altogether.
            let _ = ahead_disk_emulator::destroy(&disk);
        }
        let made = match &plan.disk {
            DiskChoice::Folder(folder) => Target::of_folder(folder),
            DiskChoice::Emulated(model) => Target::create(plan, model, &mut |name| {
                journal.note_disk(Some(name.to_owned()))
            }),
        };
        match made {
            Ok(target) => Ok(Self {
                target,
                journal,
                is_ours: matches!(plan.disk, DiskChoice::Emulated(_)) && !plan.keep,
            }),
            Err(error) => {
                // A disk that could not be made leaves nothing behind.
                let _ = journal.note_disk(None);
                Err(error.into())
            }
        }
    }

    /// A folder for small files, gone with the bench.
    pub(crate) fn folder(&self) -> &Path {
        self.journal.folder()
    }

    /// Before the device's read-ahead is changed.
    pub(crate) fn note_read_ahead(&mut self) -> Result<(), BenchError> {
        let noted = self.journal.note_read_ahead(&self.target.queue);
        noted.map_err(|source| match source.kind() {
            io::ErrorKind::ResourceBusy => BenchError::Busy {
                disk: self.target.disk.name.clone(),
            },
            _ => notes(source),
        })
    }

    /// After it was changed.
    pub(crate) fn restore_read_ahead(&mut self) -> Result<(), BenchError> {
        let restored = self.journal.restore_read_ahead();
        restored.map_err(|source| BenchError::Machine {
            what: "cannot put read_ahead_kb back",
            source,
        })
    }

    /// Takes an emulated disk away that was made for this bench.
    pub(crate) fn clear(mut self) -> Result<(), BenchError> {
        if self.is_ours {
            self.target.destroy()?;
            self.journal.note_disk(None).map_err(notes)?;
        }
        Ok(())
    }
}

/// The machine that this runs on.
pub(crate) fn machine() -> MachineFacts {
    let memory = MemoryInfo::read(Path::new("/proc")).unwrap_or_default();
    let release = rustix::system::uname()
        .release()
        .to_string_lossy()
        .into_owned();
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    MachineFacts {
        kernel: release,
        cpus: u64::try_from(cpus).unwrap_or(1),
        memory_bytes: memory.total_bytes.unwrap_or(0),
    }
}
