//! Which column of a table means what, and in which unit: `--columns at=0:us,offset=lba:512`.
//!
//! ```text
//! FIELD=COLUMN[:UNIT],…      COLUMN is a place counted from 0, or a name from the header
//! separator=tab              between the cells of a CSV; comma, semicolon, tab, space, bar
//! ```
//!
//! Units of time are `ns`, `us`, `ms`, `s` and `ticks` (100 ns); of sizes `K`, `M`, `sectors`,
//! `pages` or a number of bytes; the unit of `operation` may say what a number means, `read=0`:
//! that value reads, everything else writes. Without a unit: nanoseconds, bytes, and words.
//!
//! A table of our own needs no map: its header says it all.

use crate::error::Problem;
use crate::text::unsigned;

/// The columns of our own tables, in the order in which they are written.
pub(crate) const NATIVE: [(Field, &str); 11] = [
    (Field::At, "at_ns"),
    (Field::Process, "process"),
    (Field::Thread, "thread"),
    (Field::Operation, "operation"),
    (Field::File, "file"),
    (Field::Offset, "offset"),
    (Field::Length, "length"),
    (Field::Duration, "duration_ns"),
    (Field::Size, "size"),
    (Field::Pattern, "pattern"),
    (Field::Reason, "reason"),
];

/// What a column means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    At,
    Process,
    Thread,
    Operation,
    File,
    Offset,
    Length,
    Duration,
    Size,
    Pattern,
    Reason,
}

impl Field {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "at" => Self::At,
            "process" => Self::Process,
            "thread" => Self::Thread,
            "operation" => Self::Operation,
            "file" => Self::File,
            "offset" => Self::Offset,
            "length" => Self::Length,
            "duration" => Self::Duration,
            "size" => Self::Size,
            "pattern" => Self::Pattern,
            "reason" => Self::Reason,
            _ => return None,
        })
    }
}

/// What the values of a column are multiplied with, or compared to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// One of the value is this many nanoseconds or bytes.
    Times(u64),
    /// This value reads, everything else writes.
    Reads(Box<[u8]>),
}

/// Where a column is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Selector {
    Place(usize),
    Name(String),
}

/// A text that is not a map of columns.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{text}': {why}; write FIELD=COLUMN[:UNIT], as in at=0:us,offset=3:512,length=4:512")]
pub struct ColumnsError {
    text: String,
    why: &'static str,
}

/// Which column of a table means what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    pub(crate) separator: u8,
    pub(crate) columns: Vec<(Field, Selector, Unit)>,
    /// Our own table: names are escaped as we do it.
    pub(crate) is_native: bool,
}

/// More columns than any table has; a place beyond is a mistake.
const PLACE_MAX: u64 = 4096;

impl Columns {
    /// The columns of our own tables.
    #[must_use]
    pub fn native() -> Self {
        Self {
            separator: b',',
            columns: NATIVE
                .iter()
                .map(|(field, name)| (*field, Selector::Name((*name).to_owned()), Unit::Times(1)))
                .collect(),
            is_native: true,
        }
    }

    /// What messages call the column that means `field`: its name in the header, or its place.
    pub(crate) fn title(&self, field: Field) -> String {
        let is_meant = |column: &&(Field, Selector, Unit)| column.0 == field;
        match self.columns.iter().find(is_meant).map(|column| &column.1) {
            Some(Selector::Name(name)) => format!("column '{name}'"),
            Some(Selector::Place(place)) => format!("column {place}"),
            None => "a column".to_owned(),
        }
    }

    /// The map that `text` writes down.
    ///
    /// # Errors
    /// A field, a column or a unit that is not known, or no offset.
    pub fn parse(text: &str) -> Result<Self, ColumnsError> {
        let wrong = |text: &str, why| ColumnsError {
            text: text.to_owned(),
            why,
        };
        let mut map = Self {
            separator: b',',
            columns: Vec::new(),
            is_native: false,
        };
        for part in text.split(',') {
            let (name, value) = part
                .split_once('=')
                .ok_or_else(|| wrong(part, "there is no '='"))?;
            if name == "separator" {
                map.separator = match value {
                    "comma" => b',',
                    "semicolon" => b';',
                    "tab" => b'\t',
                    "space" => b' ',
                    "bar" => b'|',
                    _ => {
                        return Err(wrong(
                            part,
                            "the separator is none of comma, semicolon, tab, space, bar",
                        ));
                    }
                };
                continue;
            }
            let field = Field::named(name).ok_or_else(|| {
                wrong(
                    part,
                    "the field is none of at, process, thread, operation, file, offset, length, \
                     duration, size, pattern, reason",
                )
            })?;
            if map.columns.iter().any(|(known, _, _)| *known == field) {
                return Err(wrong(part, "the field is named twice"));
            }
            let (column, unit) = value.split_once(':').unwrap_or((value, ""));
            let selector = match unsigned(column.as_bytes()) {
                _ if column.is_empty() => return Err(wrong(part, "there is no column")),
                Some(place) if place <= PLACE_MAX => {
                    Selector::Place(usize::try_from(place).unwrap_or(usize::MAX))
                }
                Some(_) => return Err(wrong(part, "no table has that many columns")),
                None => Selector::Name(column.to_owned()),
            };
            let unit = unit_of(field, unit).ok_or_else(|| wrong(part, "the unit is not known"))?;
            map.columns.push((field, selector, unit));
        }
        if !map
            .columns
            .iter()
            .any(|(field, _, _)| *field == Field::Offset)
        {
            return Err(wrong(text, "no column is the offset"));
        }
        Ok(map)
    }

    /// Whether columns are called by names, so that there must be a header.
    pub(crate) fn needs_header(&self) -> bool {
        self.columns
            .iter()
            .any(|(_, selector, _)| matches!(selector, Selector::Name(_)))
    }

    /// What each place of the table means.
    pub(crate) fn resolve(&self, header: &[&[u8]]) -> Result<Vec<Option<(Field, Unit)>>, Problem> {
        let mut places: Vec<Option<(Field, Unit)>> = Vec::new();
        for (field, selector, unit) in &self.columns {
            let place = match selector {
                Selector::Place(place) => *place,
                Selector::Name(name) => {
                    let found = header.iter().position(|cell| *cell == name.as_bytes());
                    match found {
                        Some(place) => place,
                        // A table of our own may lack what it has nothing to say about.
                        None if self.is_native && *field != Field::Offset => continue,
                        None => return Err(self.missing(name, header)),
                    }
                }
            };
            if places.len() <= place {
                places.resize(place + 1, None);
            }
            if places[place].replace((*field, unit.clone())).is_some() {
                return Err(Problem::Malformed(format!(
                    "column {place} is used for two fields"
                )));
            }
        }
        Ok(places)
    }

    fn missing(&self, name: &str, header: &[&[u8]]) -> Problem {
        let has: Vec<_> = header.iter().map(|cell| crate::text::shown(cell)).collect();
        let has = has.join(", ");
        let has = crate::text::shown(has.as_bytes());
        let what = if self.is_native {
            "; say with --columns which column means what"
        } else {
            ""
        };
        Problem::Malformed(format!("there is no column '{name}' among {has}{what}"))
    }
}

fn unit_of(field: Field, unit: &str) -> Option<Unit> {
    if unit.is_empty() {
        return Some(Unit::Times(1));
    }
    let times = match field {
        Field::At | Field::Duration => match unit {
            "ns" => 1,
            "ticks" => 100,
            "us" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            _ => return None,
        },
        Field::Offset | Field::Length | Field::Size => match unit {
            "K" => 1 << 10,
            "M" => 1 << 20,
            "sectors" => 512,
            "pages" => 4096,
            number => unsigned(number.as_bytes()).filter(|times| *times > 0)?,
        },
        Field::Operation => {
            let value = unit
                .strip_prefix("read=")
                .filter(|value| !value.is_empty())?;
            return Some(Unit::Reads(value.as_bytes().into()));
        }
        Field::Process | Field::Thread | Field::File | Field::Pattern | Field::Reason => {
            return None;
        }
    };
    Some(Unit::Times(times))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_names_places_names_and_units() {
        let map =
            Columns::parse("at=0:s,offset=lba:512,length=4:pages,operation=3:read=0,separator=tab")
                .expect("a map");
        assert_eq!(map.separator, b'\t');
        assert!(map.needs_header());
        assert_eq!(
            map.columns[1],
            (
                Field::Offset,
                Selector::Name("lba".to_owned()),
                Unit::Times(512)
            )
        );
        assert_eq!(map.columns[3].2, Unit::Reads(b"0"[..].into()));
    }

    #[test]
    fn mistakes_are_named() {
        for (text, why) in [
            ("", "no '='"),
            ("at=0", "no column is the offset"),
            ("offset=1,offset=2", "twice"),
            ("offset=1:parsec", "unit"),
            ("offset=1:0", "unit"),
            ("offset=", "no column"),
            ("offset=99999", "that many columns"),
            ("speed=1,offset=2", "field is none of"),
            ("offset=1,separator=dot", "separator"),
        ] {
            let error = Columns::parse(text).expect_err(text).to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn a_name_that_the_header_lacks_is_reported_with_those_it_has() {
        let map = Columns::parse("offset=lba").expect("a map");
        let error = map
            .resolve(&[b"time", b"address"])
            .expect_err("no such column");
        assert_eq!(
            error.to_string(),
            "there is no column 'lba' among time, address"
        );
    }
}
