//! What the owner of the machine orders while it runs.

use ahead_engine::host::FileTable as _;
use ahead_engine::settings::Settings;

use super::{Daemon, Service};
use crate::scope::Scope;

impl Daemon {
    /// Goes so far from now on. What was narrowed is put back.
    pub fn set_service(&mut self, service: Service) {
        self.service = service;
        self.narrowed.widen_all();
    }

    /// Files that are met from now on have these settings, and the budget follows them.
    /// Devices that were left to their owner are steered again.
    pub fn set_settings(&mut self, settings: &Settings) {
        self.settings = *settings;
        self.owned.forget();
        self.learn_memory();
    }

    /// Acts for what `scope` says from now on. What was narrowed and is not meant any more is put back.
    pub fn set_scope(&mut self, scope: Scope) {
        self.scope = scope;
        self.session
            .files
            .visit(|inside| inside.slot().meant = None);
        self.narrowed.widen_all();
    }

    /// Ends. What was narrowed is put back; of how many open files that was not possible, which stay noted.
    #[must_use]
    pub fn end(mut self) -> usize {
        self.narrowed.widen_all()
    }
}
