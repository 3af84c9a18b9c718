//! What a task of the reader has open: slots and mapped areas, by the numbers of its steps.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use ahead_sys::mapped_file::MappedFile;
use ahead_units::Advice;

use crate::assignment::Source;
use crate::read_error::{ReadError, io_error};

/// An open file.
pub(crate) struct Opened {
    pub(crate) file: File,
    /// Which of the assignment's sources.
    pub(crate) source: u32,
}

impl Opened {
    pub(crate) fn new(source: &Source, number: u32) -> Result<Self, ReadError> {
        let file = File::open(&source.path).map_err(io_error("cannot open", &source.path))?;
        Ok(Self {
            file,
            source: number,
        })
    }

    pub(crate) fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(bytes, offset)
    }

    pub(crate) fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(bytes, offset)
    }
}

enum Slot<'a> {
    Empty,
    /// Of the process, open before the clock started.
    Shared(&'a Opened),
    Own(Opened),
}

/// The descriptors of one task.
pub(crate) struct Slots<'a>(Vec<Slot<'a>>);

impl<'a> Slots<'a> {
    pub(crate) fn new(shared: &'a [Opened]) -> Self {
        Self(shared.iter().map(Slot::Shared).collect())
    }

    pub(crate) fn get(&self, slot: u32) -> Result<&Opened, ReadError> {
        match self.0.get(at(slot)) {
            Some(Slot::Own(opened)) => Ok(opened),
            Some(Slot::Shared(opened)) => Ok(opened),
            Some(Slot::Empty) | None => Err(ReadError::Unknown {
                what: "slot",
                number: slot,
            }),
        }
    }

    pub(crate) fn set(&mut self, slot: u32, opened: Opened) {
        let at = at(slot);
        while self.0.len() <= at {
            self.0.push(Slot::Empty);
        }
        self.0[at] = Slot::Own(opened);
    }

    pub(crate) fn close(&mut self, slot: u32) {
        if let Some(slot) = self.0.get_mut(at(slot)) {
            *slot = Slot::Empty;
        }
    }
}

/// A mapped file.
pub(crate) struct Area {
    pub(crate) file: MappedFile,
    pub(crate) source: u32,
}

/// The mappings of one task.
#[derive(Default)]
pub(crate) struct Areas(Vec<Option<Area>>);

impl Areas {
    pub(crate) fn get(&self, area: u32) -> Result<&Area, ReadError> {
        match self.0.get(at(area)) {
            Some(Some(area)) => Ok(area),
            Some(None) | None => Err(ReadError::Unknown {
                what: "area",
                number: area,
            }),
        }
    }

    /// Maps all of `opened`, whatever part of it the step is about.
    pub(crate) fn map(
        &mut self,
        area: u32,
        opened: &Opened,
        advice: Advice,
        source: &Source,
    ) -> Result<(), ReadError> {
        let failed = |error| io_error("cannot map", &source.path)(error);
        let file = MappedFile::map(&opened.file).map_err(failed)?;
        match advice {
            Advice::Normal => {}
            Advice::Sequential => file.advise_sequential().map_err(failed)?,
            Advice::Random => file.advise_random().map_err(failed)?,
        }
        let at = at(area);
        while self.0.len() <= at {
            self.0.push(None);
        }
        self.0[at] = Some(Area {
            file,
            source: opened.source,
        });
        Ok(())
    }

    pub(crate) fn unmap(&mut self, area: u32) {
        if let Some(area) = self.0.get_mut(at(area)) {
            *area = None;
        }
    }
}

fn at(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
