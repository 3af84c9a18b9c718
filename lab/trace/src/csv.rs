//! Tables as text: our own, and others whose columns are named with a [`Columns`] map.
//!
//! The native form of a recorded trace is such a table, for four reasons: it is complete up to its
//! last line when the recording dies; it can be read from a pipe while it is written; every tool
//! can read it; and it can be cut with `grep` and `head`, because each line names its file.
//!
//! ```text
//! at_ns,process,thread,operation,file,offset,length,duration_ns,size,pattern,reason
//! 812,4021,4021,read,/data/a,0,4096,15800,1073741824,,
//! 930,4021,4021,prefetch,/data/a,4096,131072,,,1,2
//! ```
//!
//! `size` is there when it is new. Names are escaped as [`name`] says.
//!
//! Cells are cut here and not by the `csv` crate: cutting a line of our own into a `ByteRecord` takes
//! it 1240 instructions, and all of our reading, numbers and names included, 1710 (counted over
//! 100 000 lines). A line that is damaged must also leave those before it readable.

use std::io::{self, Write};

use crate::access::{Access, Operation};
use crate::columns::{Columns, Field, NATIVE, Unit};
use crate::error::Problem;
use crate::files::FileNames;
use crate::lines::LineFormat;
use crate::name;
use crate::row::Row;
use crate::text::{decimal, shown};
use crate::word;
use crate::writer::{Encode, WriteProblem};

/// The reader's state.
#[derive(Debug)]
pub(crate) struct Csv {
    columns: Columns,
    /// What each place means, once the first line was seen.
    places: Option<Vec<Option<(Field, Unit)>>>,
    /// A cell without its quotes.
    cell: Vec<u8>,
    /// A name without its escapes.
    name: Vec<u8>,
}

impl Csv {
    pub(crate) const fn new(columns: Columns) -> Self {
        Self {
            columns,
            places: None,
            cell: Vec::new(),
            name: Vec::new(),
        }
    }

    /// Reads the first line. True when it is a header and nothing else.
    fn begin(&mut self, line: &[u8]) -> Result<bool, Problem> {
        let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        let separator = self.columns.separator;
        let cells: Vec<&[u8]> = Cells::new(line, separator).map(|(cell, _)| cell).collect();
        let needs_header = self.columns.needs_header();
        let places = self
            .columns
            .resolve(if needs_header { &cells } else { &[] })?;
        let offset = places
            .iter()
            .position(|place| matches!(place, Some((Field::Offset, _))));
        let is_header = needs_header
            || offset
                .and_then(|place| cells.get(place))
                .is_some_and(|cell| decimal(cell, 1).is_none());
        self.places = Some(places);
        Ok(is_header)
    }
}

impl LineFormat for Csv {
    /// Ours do; those of others are made with all sorts of tools.
    fn ends_every_line(&self) -> bool {
        self.columns.is_native
    }

    fn line(&mut self, line: &[u8], files: &mut FileNames) -> Result<Option<Access>, Problem> {
        if line.is_empty() || line.starts_with(b"#") {
            return Ok(None);
        }
        if self.places.is_none() && self.begin(line)? {
            return Ok(None);
        }
        let places = self.places.as_deref().unwrap_or_default();
        let mut cells = Cells::new(line, self.columns.separator);
        let mut row = Row::default();
        let mut file = None;
        for place in places {
            let Some((cell, is_quoted)) = cells.next() else {
                return Err(Problem::Malformed(format!(
                    "fewer than the {} columns that were expected: '{}'",
                    places.len(),
                    shown(line)
                )));
            };
            let Some((field, unit)) = place else { continue };
            if *field != Field::File {
                row.set(*field, unit, cell)
                    .ok_or_else(|| wrong_cell(&self.columns, *field, cell))?;
                continue;
            }
            let mut name = cell;
            if is_quoted {
                self.cell.clear();
                undouble(name, &mut self.cell);
                name = &self.cell;
            }
            if self.columns.is_native && name.contains(&b'\\') {
                self.name.clear();
                name::unescape(name, &mut self.name);
                name = &self.name;
            }
            file = Some(files.named(name)?);
        }
        let file = match file {
            Some(file) => file,
            None => files.named(b"trace")?,
        };
        if let Some(bytes) = row.size {
            files.set_size(file, bytes);
        }
        row.access.file = file;
        Ok(Some(row.finish()))
    }

    fn end(&mut self) -> Result<(), Problem> {
        if self.places.is_none() {
            return Err(Problem::Malformed("the trace is empty".to_owned()));
        }
        Ok(())
    }
}

fn wrong_cell(columns: &Columns, field: Field, cell: &[u8]) -> Problem {
    let hint = match field {
        _ if cell.starts_with(b"-") => "negative",
        Field::Operation => "no known operation",
        _ => "not a whole number that fits",
    };
    Problem::Malformed(format!(
        "{} has '{}', which is {hint}",
        columns.title(field),
        shown(cell)
    ))
}

/// The cells of a line; a quoted one comes without its quotes, and is marked as quoted.
struct Cells<'a> {
    rest: Option<&'a [u8]>,
    separator: u8,
}

impl<'a> Cells<'a> {
    const fn new(line: &'a [u8], separator: u8) -> Self {
        Self {
            rest: Some(line),
            separator,
        }
    }
}

impl<'a> Iterator for Cells<'a> {
    type Item = (&'a [u8], bool);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest?;
        if let [b'"', inside @ ..] = rest {
            let end = closing_quote(inside);
            let (cell, behind) = inside.split_at(end);
            let behind = behind.strip_prefix(b"\"").unwrap_or(behind);
            let next = memchr::memchr(self.separator, behind);
            self.rest = next.map(|next| &behind[next + 1..]);
            return Some((cell, true));
        }
        // Cells are short: a plain loop beats a vector search.
        let end = rest.iter().position(|byte| *byte == self.separator);
        let Some(end) = end else {
            self.rest = None;
            return Some((rest, false));
        };
        self.rest = Some(&rest[end + 1..]);
        Some((&rest[..end], false))
    }
}

/// The place of the quote that is not doubled.
fn closing_quote(inside: &[u8]) -> usize {
    let mut from = 0;
    while let Some(found) = memchr::memchr(b'"', &inside[from..]) {
        let at = from + found;
        if inside.get(at + 1) != Some(&b'"') {
            return at;
        }
        from = at + 2;
    }
    inside.len()
}

/// A quoted cell with its doubled quotes single.
fn undouble(cell: &[u8], into: &mut Vec<u8>) {
    let mut rest = cell;
    while let Some(at) = memchr::memchr(b'"', rest) {
        into.extend_from_slice(&rest[..=at]);
        rest = rest.get(at + 2..).unwrap_or_default();
    }
    into.extend_from_slice(rest);
}

/// Writes our own table.
#[derive(Debug, Default)]
pub(crate) struct CsvEncoder {
    has_begun: bool,
    /// By file: the size that was written.
    sizes: Vec<Option<u64>>,
    line: Vec<u8>,
    name: Vec<u8>,
}

impl Encode for CsvEncoder {
    fn encode(
        &mut self,
        access: &Access,
        files: &FileNames,
        out: &mut dyn Write,
    ) -> Result<bool, WriteProblem> {
        self.begin(out)?;
        let place = access.file.index();
        if self.sizes.len() <= place {
            self.sizes.resize(place + 1, None);
        }
        let size = files.size(access.file);
        let is_new = self.sizes[place] != size;
        self.sizes[place] = size;

        let line = &mut self.line;
        line.clear();
        write!(
            line,
            "{},{},{},",
            access.at_ns, access.process, access.thread
        )?;
        line.extend_from_slice(word::word(access.operation).as_bytes());
        line.push(b',');
        self.name.clear();
        name::escape(&files.name(access.file), &mut self.name);
        quote(&self.name, line);
        write!(line, ",{},{},", access.offset, access.length)?;
        if let Some(duration_ns) = access.duration_ns {
            write!(line, "{duration_ns}")?;
        }
        line.push(b',');
        if let Some(bytes) = size.filter(|_| is_new) {
            write!(line, "{bytes}")?;
        }
        match access.operation {
            Operation::Prefetch(decided) => {
                writeln!(line, ",{},{}", decided.pattern, decided.reason)?;
            }
            _ => line.extend_from_slice(b",,\n"),
        }
        out.write_all(line)?;
        Ok(true)
    }

    fn end(&mut self, _files: &FileNames, out: &mut dyn Write) -> Result<(), WriteProblem> {
        Ok(self.begin(out)?)
    }
}

impl CsvEncoder {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if !self.has_begun {
            self.has_begun = true;
            let names: Vec<_> = NATIVE.iter().map(|(_, name)| *name).collect();
            writeln!(out, "{}", names.join(","))?;
        }
        Ok(())
    }
}

/// Appends a name that was escaped, in quotes if a table needs them.
fn quote(name: &[u8], line: &mut Vec<u8>) {
    if !name.iter().any(|byte| matches!(byte, b',' | b'"')) {
        line.extend_from_slice(name);
        return;
    }
    line.push(b'"');
    for byte in name {
        line.push(*byte);
        if *byte == b'"' {
            line.push(b'"');
        }
    }
    line.push(b'"');
}

/// Whether a trace that begins with `line` is a table of our own.
pub(crate) fn looks_native(line: &[u8]) -> bool {
    let mut cells = Cells::new(line, b',');
    let has = |name: &[u8]| Cells::new(line, b',').any(|(cell, _)| cell == name);
    cells.next().is_some_and(|(cell, _)| cell == b"at_ns") && has(b"offset") && has(b"length")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::read_all;

    fn map(text: &str) -> Csv {
        Csv::new(Columns::parse(text).expect("a map"))
    }

    #[test]
    fn a_table_of_somebody_is_read_with_a_map() {
        // The block traces of Tencent: seconds, sectors, 0 reads.
        let (accesses, files, problem) = read_all(
            b"1538323200,12910952,128,0,1063\n1538323201,6,8,1,1063\n",
            map("at=0:s,offset=1:sectors,length=2:512,operation=3:read=0,file=4"),
        );
        assert_eq!(problem, None);
        assert_eq!(accesses[0].at_ns, 1_538_323_200_000_000_000);
        assert_eq!(accesses[0].offset, 12_910_952 * 512);
        assert_eq!(accesses[1].operation, Operation::Write);
        assert_eq!(&*files.name(accesses[1].file), b"1063");
    }

    #[test]
    fn columns_are_found_by_the_names_in_the_header() {
        let (accesses, _, problem) = read_all(
            b"\xEF\xBB\xBFtime;\"where\";bytes\n0.5;\"10\";20\n",
            map("offset=where,at=time:ms,length=bytes,separator=semicolon"),
        );
        assert_eq!(problem, None);
        assert_eq!(accesses[0].at_ns, 500_000);
        assert_eq!((accesses[0].offset, accesses[0].length), (10, 20));
    }

    #[test]
    fn a_header_above_numbered_columns_is_passed_over() {
        let (accesses, _, problem) = read_all(b"where,bytes\n10,20\n", map("offset=0,length=1"));
        assert_eq!(problem, None);
        assert_eq!(accesses.len(), 1);
    }

    #[test]
    fn a_name_keeps_commas_quotes_line_ends_and_bytes_that_are_no_text() {
        let name = b"a,\"b\"\\n\nc\r\xff";
        let mut files = FileNames::default();
        let file = files.named(name).expect("it fits");
        let mut text = Vec::new();
        let mut encoder = CsvEncoder::default();
        let access = Access::read(file, 1, 2);
        encoder.encode(&access, &files, &mut text).expect("it fits");
        let (accesses, files, problem) = read_all(&text, Csv::new(Columns::native()));
        assert_eq!(problem, None);
        assert_eq!(accesses, [access]);
        assert_eq!(&*files.name(file), name);
    }

    #[test]
    fn negative_and_huge_numbers_are_named_with_their_line() {
        for (line, what) in [("-5,1\n", "negative"), ("1,99999999999999999999\n", "fits")] {
            let (_, _, problem) = read_all(line.as_bytes(), map("at=0,offset=1"));
            // A first line without a number for an offset would pass as a header.
            let problem = problem.or_else(|| {
                let again = format!("1,1\n{line}");
                read_all(again.as_bytes(), map("at=0,offset=1")).2
            });
            assert!(problem.is_some_and(|text| text.contains(what)), "{line}");
        }
    }

    /// It was said of "Offset" and "At", which no table has, and a line of one cell stood there twice.
    #[test]
    fn a_wrong_cell_is_named_with_its_column_and_shown_once() {
        let ours = "at_ns,operation,offset,length\n1,read,0,4096\n2,raed,4096,4096\n";
        let (accesses, _, problem) = read_all(ours.as_bytes(), Csv::new(Columns::native()));
        assert_eq!(accesses.len(), 1);
        let problem = problem.expect("a word that is none");
        let expected = "line 3: column 'operation' has 'raed', which is no known operation";
        assert!(problem.ends_with(expected), "{problem}");
        let (_, _, problem) = read_all(b"1,1\n2,many\n", map("at=0,offset=1"));
        let problem = problem.expect("no number");
        let expected = "line 2: column 1 has 'many', which is not a whole number that fits";
        assert!(problem.ends_with(expected), "{problem}");
    }

    #[test]
    fn a_row_that_is_too_short_is_named() {
        let (accesses, _, problem) = read_all(b"1,2,3\n4,5\n", map("offset=2"));
        assert_eq!(accesses.len(), 1);
        assert!(problem.is_some_and(|text| text.contains("line 2: fewer than the 3 columns")));
    }
}
