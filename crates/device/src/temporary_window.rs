//! A window that is set for a while: put back when it is dropped, and after a `kill -9` by the next start.
//!
//! A program that measures with several windows holds one of these and sets it as often as it likes. What was
//! before is in the journal before the first change. Dropping puts it back, also while a panic unwinds; a
//! signal that only sets a flag ends the measurement and so drops it. Where the process is killed, whoever
//! opens the journal next puts it back: any `ahead device` of root. Another program's value that is found then
//! is left alone.

use crate::machine::MachineTree;
use crate::undo::NotedProcess;
use crate::window::{self, CountingWindow, WindowError};
use crate::window_journal::{self, WindowJournal, WindowNote};

/// The window that counts for a target, set for a while.
#[derive(Debug)]
pub struct TemporaryWindow {
    machine: MachineTree,
    window: CountingWindow,
    note: WindowNote,
    is_held: bool,
}

impl TemporaryWindow {
    /// Notes the window that counts for `text`, and that this process is about to change it. Nothing is changed
    /// yet.
    ///
    /// # Errors
    /// [`WindowError`]; `Held` when another process that lives has set it for a while.
    pub fn hold(machine: &MachineTree, text: &str) -> Result<Self, WindowError> {
        let window = CountingWindow::find(machine, text)?;
        window.refuse_unwritable(machine)?;
        let mut journal = WindowJournal::open(machine)?;
        window.refuse_held(&journal)?;
        let me = NotedProcess::of(std::process::id());
        let note = WindowNote {
            holder: Some(me.map_err(|source| window.refused(machine, source))?),
            ..window.note(machine)?
        };
        journal.note(note.clone())?;
        Ok(Self {
            machine: machine.clone(),
            window,
            note,
            is_held: true,
        })
    }

    /// The layer whose window it is.
    #[must_use]
    pub fn name(&self) -> &str {
        self.window.name()
    }

    /// The window before, in KiB, which will be again.
    #[must_use]
    pub const fn before_kib(&self) -> u64 {
        self.note.before_kib
    }

    /// Sets it; what the kernel keeps, in KiB. Files that are open keep the window that they were opened with.
    ///
    /// # Errors
    /// [`WindowError`]; the window is still held, and what it is now is what it was. `Taken` where another program has set it
    /// meanwhile.
    pub fn set(&mut self, kib: u64) -> Result<u64, WindowError> {
        window::check(kib)?;
        let before = self.note.clone();
        self.may_be(kib)?;
        // As late as can be: what is written over now is lost.
        if let Err(taken) = self.refuse_taken(&before) {
            // What another program has set is not ours, should it be the same.
            self.note = before;
            self.write_note()?;
            return Err(taken);
        }
        let now_kib = self.window.write(&self.machine, kib)?;
        self.may_be(now_kib)?;
        Ok(now_kib)
    }

    /// Puts it back and forgets it; the window now, in KiB.
    ///
    /// # Errors
    /// [`WindowError`]; the next start tries again.
    pub fn put_back(mut self) -> Result<u64, WindowError> {
        self.end()?;
        let mut unread = Vec::new();
        self.window.now(&self.machine, &mut unread)
    }

    /// Notes that the window may be `kib` because of us.
    fn may_be(&mut self, kib: u64) -> Result<(), WindowError> {
        if self.note.set_kib.contains(&kib) {
            return Ok(());
        }
        self.note.set_kib.push(kib);
        self.write_note()
    }

    /// Another program's value stays.
    fn refuse_taken(&self, noted: &WindowNote) -> Result<(), WindowError> {
        let now_kib = self.window.now(&self.machine, &mut Vec::new())?;
        if now_kib == noted.before_kib || noted.set_kib.contains(&now_kib) {
            return Ok(());
        }
        let name = self.window.name().to_owned();
        Err(WindowError::Taken { name, now_kib })
    }

    fn write_note(&self) -> Result<(), WindowError> {
        let mut journal = WindowJournal::open(&self.machine)?;
        match self.place(&journal) {
            Some(place) => journal.notes[place] = self.note.clone(),
            // The device is another one by now.
            None => return Err(self.window.gone()),
        }
        Ok(journal.write()?)
    }

    fn place(&self, journal: &WindowJournal<'_>) -> Option<usize> {
        let is_ours =
            |note: &WindowNote| note.bdi == self.note.bdi && note.holder == self.note.holder;
        journal.notes.iter().position(is_ours)
    }

    fn end(&mut self) -> Result<(), WindowError> {
        if !self.is_held {
            return Ok(());
        }
        // At once: files that are opened meanwhile take the window over, and who has the journal may take long. Only the holder, who
        // lives, does that.
        window_journal::restore(&self.machine, &self.note)
            .map_err(|source| self.window.refused(&self.machine, source))?;
        let mut journal = WindowJournal::open(&self.machine)?;
        if let Some(place) = self.place(&journal) {
            journal.notes.remove(place);
            journal.write()?;
        }
        self.is_held = false;
        Ok(())
    }
}

impl Drop for TemporaryWindow {
    fn drop(&mut self) {
        // What cannot be put back now is in the journal for the next start.
        let _ = self.end();
    }
}
