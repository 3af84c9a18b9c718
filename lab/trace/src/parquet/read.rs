//! Reads the columns that a map names, batch by batch.
//!
//! A value that means nothing ends the reading at its row; a page that cannot be unpacked ends it
//! at the start of its batch. The library that takes pages apart trusts some numbers of a damaged
//! file and panics where they are wrong; those of the index are checked here first, and what is
//! left is caught and reported as damage.

use std::fs::File;

use parquet::basic::{ConvertedType, LogicalType};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use parquet::schema::types::ColumnDescriptor;

use crate::access::Access;
use crate::columns::{Columns, Field, Unit};
use crate::error::{DamagePlace, Problem, TraceError};
use crate::files::FileNames;
use crate::name;
use crate::reader::Reader;
use crate::row::Row;

use super::guard::guarded;

/// Rows that are read together.
const BATCH_ROWS: usize = 4096;

/// The reader of a Parquet file.
pub(crate) struct ParquetReader<R: ChunkReader + 'static = File> {
    trace: String,
    reader: SerializedFileReader<R>,
    columns: Columns,
    /// By column of the file: what it means.
    places: Vec<Option<(Field, Unit)>>,
    group: usize,
    open: Vec<Column>,
    rows: std::vec::IntoIter<(Row, Option<ByteArray>)>,
    rows_left: usize,
    /// What is wrong with the row behind `rows`.
    failure: Option<Problem>,
    row: u64,
    files: FileNames,
    unescaped: Vec<u8>,
    bytes: u64,
    has_ended: bool,
}

/// A column of the row group that is being read.
struct Column {
    /// What messages call it.
    title: String,
    field: Field,
    unit: Unit,
    is_unsigned: bool,
    level_max: i16,
    reader: ColumnReader,
}

impl<R: ChunkReader + 'static> ParquetReader<R> {
    pub(crate) fn new(trace: &str, source: R, columns: Columns) -> Result<Self, TraceError> {
        let fail = |problem| TraceError::new(trace, DamagePlace::Whole, problem);
        let size = source.len();
        let opened = || SerializedFileReader::new(source).map_err(|error| unreadable(&error));
        let reader = guarded(opened).map_err(fail)?;
        check_ranges(&reader, size).map_err(fail)?;
        let schema = reader.metadata().file_metadata().schema_descr_ptr();
        let names: Vec<&[u8]> = schema
            .columns()
            .iter()
            .map(|column| column.name().as_bytes())
            .collect();
        let mut places = columns.resolve(&names).map_err(&fail)?;
        if places.len() > names.len() {
            return Err(fail(Problem::Malformed(format!(
                "a column {} was named, and there are {}",
                places.len() - 1,
                names.len()
            ))));
        }
        places.resize(names.len(), None);
        for (place, column) in places.iter().zip(schema.columns()) {
            if place.is_some() && (column.max_rep_level() > 0 || column.max_def_level() > 1) {
                return Err(fail(Problem::Unsupported(format!(
                    "column '{}' is a list or inside one; a flat column is needed",
                    column.name()
                ))));
            }
        }
        Ok(Self {
            trace: trace.to_owned(),
            reader,
            columns,
            places,
            group: 0,
            open: Vec::new(),
            rows: Vec::new().into_iter(),
            rows_left: 0,
            failure: None,
            row: 0,
            files: FileNames::default(),
            unescaped: Vec::new(),
            bytes: 0,
            has_ended: false,
        })
    }

    /// Reads the next rows. False when there are none.
    fn fill(&mut self) -> Result<bool, Problem> {
        while self.rows_left == 0 {
            if self.group == self.reader.num_row_groups() {
                return Ok(false);
            }
            self.open_group().map_err(|error| unreadable(&error))?;
        }
        let wanted = self.rows_left.min(BATCH_ROWS);
        let mut rows: Vec<(Row, Option<ByteArray>)> = Vec::new();
        rows.resize_with(wanted, Default::default);
        for column in &mut self.open {
            // Columns behind a bad value are read to the row in front of it.
            if let Some(place) = read_column(column, &mut rows)? {
                rows.truncate(place);
                self.failure = Some(Problem::Malformed(format!(
                    "{} has a value that is negative, too large, or no known word",
                    column.title
                )));
            }
        }
        self.rows_left -= wanted;
        self.rows = rows.into_iter();
        Ok(true)
    }

    fn open_group(&mut self) -> Result<(), ParquetError> {
        let group = self.reader.get_row_group(self.group)?;
        self.group += 1;
        let metadata = group.metadata();
        self.bytes = self
            .bytes
            .saturating_add(u64::try_from(metadata.compressed_size()).unwrap_or(0));
        self.rows_left = usize::try_from(metadata.num_rows())
            .map_err(|_| ParquetError::General("a negative number of rows".to_owned()))?;
        self.open.clear();
        for (place, meaning) in self.places.iter().enumerate() {
            let Some((field, unit)) = meaning else {
                continue;
            };
            let descriptor = metadata.column(place).column_descr();
            self.open.push(Column {
                title: self.columns.title(*field),
                field: *field,
                unit: unit.clone(),
                is_unsigned: is_unsigned(descriptor),
                level_max: descriptor.max_def_level(),
                reader: group.get_column_reader(place)?,
            });
        }
        Ok(())
    }

    fn access(&mut self, mut row: Row, name: Option<&ByteArray>) -> Result<Access, Problem> {
        let name = name.map_or(&b"trace"[..], ByteArray::data);
        row.access.file = if self.columns.is_native && name.contains(&b'\\') {
            self.unescaped.clear();
            name::unescape(name, &mut self.unescaped);
            self.files.named(&self.unescaped)?
        } else {
            self.files.named(name)?
        };
        if let Some(bytes) = row.size {
            self.files.set_size(row.access.file, bytes);
        }
        Ok(row.finish())
    }

    fn fail(&mut self, problem: Problem) -> TraceError {
        self.has_ended = true;
        TraceError::new(&self.trace, DamagePlace::Row(self.row), problem)
    }
}

impl<R: ChunkReader + 'static> Iterator for ParquetReader<R> {
    type Item = Result<Access, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_ended {
            return None;
        }
        let (row, name) = loop {
            if let Some(next) = self.rows.next() {
                break next;
            }
            if let Some(problem) = self.failure.take() {
                return Some(Err(self.fail(problem)));
            }
            match guarded(|| self.fill()) {
                Ok(true) => {}
                Ok(false) => {
                    self.has_ended = true;
                    return None;
                }
                Err(problem) => return Some(Err(self.fail(problem))),
            }
        };
        match self.access(row, name.as_ref()) {
            Ok(access) => {
                self.row += 1;
                Some(Ok(access))
            }
            Err(problem) => Some(Err(self.fail(problem))),
        }
    }
}

impl<R: ChunkReader + 'static> Reader for ParquetReader<R> {
    fn files(&self) -> &FileNames {
        &self.files
    }

    fn bytes_read(&self) -> u64 {
        self.bytes
    }
}

/// Whether every column of every row group lies inside the file.
fn check_ranges<R: ChunkReader + 'static>(
    reader: &SerializedFileReader<R>,
    size: u64,
) -> Result<(), Problem> {
    let groups = reader.metadata().row_groups();
    let is_inside = |start: i64, length: i64| {
        u64::try_from(start)
            .ok()
            .zip(u64::try_from(length).ok())
            .and_then(|(start, length)| start.checked_add(length))
            .is_some_and(|end| end <= size)
    };
    for column in groups.iter().flat_map(|group| group.columns()) {
        let data = column.data_page_offset();
        let start = column.dictionary_page_offset().unwrap_or(data);
        if !is_inside(start, column.compressed_size()) || !is_inside(data, 0) {
            return Err(Problem::Malformed(
                "not readable as Parquet (a column lies outside of the file)".to_owned(),
            ));
        }
    }
    Ok(())
}

fn is_unsigned(column: &ColumnDescriptor) -> bool {
    let by_logical = matches!(
        column.logical_type_ref(),
        Some(LogicalType::Integer(integer)) if !integer.is_signed
    );
    let by_converted = matches!(
        column.converted_type(),
        ConvertedType::UINT_8
            | ConvertedType::UINT_16
            | ConvertedType::UINT_32
            | ConvertedType::UINT_64
    );
    by_logical || by_converted
}

fn unreadable(error: &ParquetError) -> Problem {
    Problem::Malformed(format!(
        "not readable as Parquet ({error}); a file whose writer did not finish has lost its index"
    ))
}

/// Reads one column into rows that are there already. The place of the first row whose value means
/// nothing, if there is one.
fn read_column(
    column: &mut Column,
    rows: &mut [(Row, Option<ByteArray>)],
) -> Result<Option<usize>, Problem> {
    let Column {
        title,
        field,
        unit,
        is_unsigned,
        level_max,
        reader,
    } = column;
    let (field, unit, level_max) = (*field, &*unit, *level_max);
    let is_unsigned = *is_unsigned;
    match reader {
        ColumnReader::Int32ColumnReader(reader) => {
            let number = |value: i32| {
                if is_unsigned {
                    Some(u64::from(value.cast_unsigned()))
                } else {
                    u64::try_from(value).ok()
                }
            };
            let values = batch(reader, level_max, rows.len())?;
            Ok(set_numbers(values, field, unit, rows, number))
        }
        ColumnReader::Int64ColumnReader(reader) => {
            let number = |value: i64| {
                if is_unsigned {
                    Some(value.cast_unsigned())
                } else {
                    u64::try_from(value).ok()
                }
            };
            let values = batch(reader, level_max, rows.len())?;
            Ok(set_numbers(values, field, unit, rows, number))
        }
        ColumnReader::DoubleColumnReader(reader) => {
            let values = batch(reader, level_max, rows.len())?;
            // Through its digits: exact, and the same on every machine.
            Ok(set_each(values, rows, |row, value: f64| {
                row.0.set(field, unit, format!("{value}").as_bytes())
            }))
        }
        ColumnReader::ByteArrayColumnReader(reader) => {
            let values = batch(reader, level_max, rows.len())?;
            Ok(set_each(values, rows, |row, value: ByteArray| {
                if field == Field::File {
                    row.1 = Some(value);
                    return Some(());
                }
                row.0.set(field, unit, value.data())
            }))
        }
        _ => Err(Problem::Unsupported(format!(
            "{title} is neither whole numbers, doubles nor text"
        ))),
    }
}

/// The values of a batch, and for each row whether it has one.
struct Batch<T> {
    values: Vec<T>,
    /// `None`: every row has one.
    levels: Option<Vec<i16>>,
}

fn batch<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    level_max: i16,
    rows: usize,
) -> Result<Batch<T::T>, Problem> {
    let mut batch = Batch {
        values: Vec::with_capacity(rows),
        levels: (level_max > 0).then(Vec::new),
    };
    let mut read = 0;
    while read < rows {
        let levels = batch.levels.as_mut();
        let (records, _, _) = reader
            .read_records(rows - read, levels, None, &mut batch.values)
            .map_err(|error| unreadable(&error))?;
        if records == 0 {
            return Err(Problem::Truncated(
                "a column has fewer values than its index says".to_owned(),
            ));
        }
        read += records;
    }
    Ok(batch)
}

fn set_numbers<T: Copy>(
    batch: Batch<T>,
    field: Field,
    unit: &Unit,
    rows: &mut [(Row, Option<ByteArray>)],
    number: impl Fn(T) -> Option<u64>,
) -> Option<usize> {
    set_each(batch, rows, |row, value| {
        let value = number(value)?;
        match unit {
            Unit::Times(times) if !matches!(field, Field::Operation | Field::File) => {
                row.0.set_number(field, value.checked_mul(*times)?)
            }
            _ if field == Field::File => {
                row.1 = Some(ByteArray::from(value.to_string().into_bytes()));
                Some(())
            }
            _ => row.0.set(field, unit, value.to_string().as_bytes()),
        }
    })
}

fn set_each<T>(
    batch: Batch<T>,
    rows: &mut [(Row, Option<ByteArray>)],
    mut set: impl FnMut(&mut (Row, Option<ByteArray>), T) -> Option<()>,
) -> Option<usize> {
    let mut values = batch.values.into_iter();
    for (place, row) in rows.iter_mut().enumerate() {
        let has_value = batch
            .levels
            .as_ref()
            .is_none_or(|levels| levels.get(place).is_some_and(|level| *level > 0));
        if has_value && values.next().and_then(|value| set(row, value)).is_none() {
            return Some(place);
        }
    }
    None
}
