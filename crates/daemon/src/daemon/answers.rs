//! What the daemon answers when it is asked about itself.

use std::cmp::Reverse;

use ahead_engine::host::FileTable as _;
use ahead_observer::observation::FileKey;

use super::{Daemon, DaemonCounts, now};
use crate::changes::Change;
use crate::control::Asker;
use crate::owned::OwnersWindow;
use crate::protocol::Question;
use crate::status::{DaemonStatus, FileStatus, STATUS_FILES_MAX};

impl Daemon {
    /// Why no programs tell of reads here, so that only positions of descriptors are followed.
    #[must_use]
    pub fn without_programs(&self) -> Option<&str> {
        self.observer.without_programs()
    }

    /// What cannot be told here.
    #[must_use]
    pub fn lost(&self) -> &[&'static str] {
        self.observer.lost()
    }

    /// What was seen and done.
    #[must_use]
    pub fn counts(&self) -> DaemonCounts {
        DaemonCounts {
            overruns: self.observer.overruns(),
            ..self.counts
        }
    }

    /// Changes of mind that are to be told, and how many were left out before them.
    pub fn changes(&mut self) -> (Vec<Change>, u64) {
        self.changes.take()
    }

    /// Devices on which nothing is steered any more, since this was asked last.
    pub fn owner_news(&mut self) -> Vec<OwnersWindow> {
        std::mem::take(&mut self.owner_news)
    }

    /// What `asker` is told: of all files, or of those that own processes read.
    #[must_use]
    pub fn status(&self, asker: Asker, question: &Question) -> DaemonStatus {
        let counts = self.counts();
        let mut files = Vec::new();
        self.session.files.visit(|inside| {
            self.session.files.account(inside, 0);
            let slot = inside.slot();
            let is_theirs = asker.sees_all || slot.owner == Some(asker.user);
            files.extend(slot.status().filter(|_| is_theirs));
        });
        files.retain(|file| question.is_about(file));
        files.sort_unstable_by_key(|file| Reverse(file.read_ns));
        files.truncate(STATUS_FILES_MAX);
        if question.history {
            for file in &mut files {
                self.add_history(file);
            }
        }
        let number = |count: usize| count as u64;
        DaemonStatus {
            process: std::process::id(),
            mode: self.service.name().to_owned(),
            now_ns: now().get(),
            began_ns: self.began.get(),
            facts: counts.facts,
            misses: counts.misses,
            decisions: counts.decisions,
            calls: counts.calls,
            facts_lost: counts.overruns,
            watched: number(self.watched.len()),
            narrowed: number(self.narrowed.len()),
            unread_pages: self.session.group.budget.unread().get(),
            devices: if asker.sees_all {
                self.session.files.devices(&self.session.devices)
            } else {
                Vec::new()
            },
            files,
            ..DaemonStatus::default()
        }
    }

    fn add_history(&self, file: &mut FileStatus) {
        let key = FileKey {
            device: file.device,
            inode: file.inode,
        };
        if let Some(place) = self.session.files.peek(key)
            && let Ok(mut inside) = self.session.files.enter(place)
        {
            (file.history, file.history_forgotten) = inside.slot().history.told();
        }
    }
}
