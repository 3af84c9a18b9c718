//! A row of a table on its way to be an access: values come one by one, in any order.

use crate::access::{Access, Decided, FileRef, Operation};
use crate::columns::{Field, Unit};
use crate::text::{decimal, unsigned};
use crate::word;

/// One row of a table on its way to be an access.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) access: Access,
    pub(crate) size: Option<u64>,
    pub(crate) decided: Decided,
}

impl Default for Row {
    fn default() -> Self {
        Self {
            access: Access::read(FileRef(0), 0, 0),
            size: None,
            decided: Decided::default(),
        }
    }
}

impl Row {
    /// Takes a value from its text. `None`: it has none for this field.
    #[inline]
    pub(crate) fn set(&mut self, field: Field, unit: &Unit, cell: &[u8]) -> Option<()> {
        let times = match unit {
            Unit::Times(times) => *times,
            Unit::Reads(value) => {
                self.access.operation = if cell == &**value {
                    Operation::Read
                } else {
                    Operation::Write
                };
                return Some(());
            }
        };
        match field {
            Field::Operation => {
                self.access.operation = word::operation(cell)?;
                return Some(());
            }
            // Empty is unknown.
            Field::Duration | Field::Size | Field::Pattern | Field::Reason if cell.is_empty() => {
                return Some(());
            }
            _ => {}
        }
        let value = if times == 1 {
            // `12` and `12.0` both.
            unsigned(cell).or_else(|| decimal(cell, 1))?
        } else {
            decimal(cell, times)?
        };
        self.set_number(field, value)
    }

    /// Takes a value that is in nanoseconds or bytes already.
    #[inline]
    pub(crate) fn set_number(&mut self, field: Field, value: u64) -> Option<()> {
        match field {
            Field::At => self.access.at_ns = value,
            Field::Process => self.access.process = u32::try_from(value).ok()?,
            Field::Thread => self.access.thread = u32::try_from(value).ok()?,
            Field::Offset => self.access.offset = value,
            Field::Length => self.access.length = value,
            Field::Duration => self.access.duration_ns = Some(value),
            Field::Size => self.size = Some(value),
            Field::Pattern => self.decided.pattern = u8::try_from(value).ok()?,
            Field::Reason => self.decided.reason = u8::try_from(value).ok()?,
            Field::Operation | Field::File => {}
        }
        Some(())
    }

    pub(crate) const fn finish(mut self) -> Access {
        if let Operation::Prefetch(_) = self.access.operation {
            self.access.operation = Operation::Prefetch(self.decided);
        }
        self.access
    }
}
