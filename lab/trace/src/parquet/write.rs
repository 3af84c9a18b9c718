//! Writes the native columns.

use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

use crate::access::{Access, Operation};
use crate::columns::{Field, NATIVE};
use crate::files::FileNames;
use crate::name;
use crate::word;
use crate::writer::{Sink, WriteError, WriteProblem, Writer, Written};

/// Rows that are held back to be written together: some megabytes, and groups large enough that a
/// reader's work per group does not count.
const GROUP_ROWS: usize = 1 << 16;

/// The writer.
pub(crate) struct ParquetWriter {
    trace: String,
    writer: SerializedFileWriter<Sink>,
    rows: Vec<Row>,
    /// By file: the name as it is written, and the size that was.
    files: Vec<(Option<ByteArray>, Option<u64>)>,
    written: Written,
}

struct Row {
    access: Access,
    name: ByteArray,
    size: Option<u64>,
}

impl ParquetWriter {
    pub(crate) fn new(trace: &str, out: Sink) -> Result<Self, WriteError> {
        let level = ZstdLevel::try_new(3).unwrap_or_default();
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(level))
            .build();
        let writer = schema()
            .and_then(|schema| SerializedFileWriter::new(out, schema, Arc::new(properties)))
            .map_err(|error| failed(trace, error))?;
        Ok(Self {
            trace: trace.to_owned(),
            writer,
            rows: Vec::with_capacity(GROUP_ROWS),
            files: Vec::new(),
            written: Written::default(),
        })
    }

    fn flush(&mut self) -> Result<(), WriteError> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let rows = std::mem::take(&mut self.rows);
        let group = self.writer.next_row_group();
        group
            .and_then(|group| write_group(group, &rows))
            .map_err(|error| failed(&self.trace, error))?;
        self.rows = rows;
        self.rows.clear();
        Ok(())
    }
}

impl Writer for ParquetWriter {
    fn write(&mut self, access: &Access, files: &FileNames) -> Result<(), WriteError> {
        let place = access.file.index();
        if self.files.len() <= place {
            self.files.resize(place + 1, (None, None));
        }
        let (name, known) = &mut self.files[place];
        let name = name.get_or_insert_with(|| {
            let mut text = Vec::new();
            name::escape(&files.name(access.file), &mut text);
            ByteArray::from(text)
        });
        let size = files.size(access.file);
        let is_new = *known != size;
        *known = size;
        self.rows.push(Row {
            access: *access,
            name: name.clone(),
            size: size.filter(|_| is_new),
        });
        self.written.accesses += 1;
        if self.rows.len() == GROUP_ROWS {
            self.flush()?;
        }
        Ok(())
    }

    fn finish(&mut self, _files: &FileNames) -> Result<Written, WriteError> {
        self.flush()?;
        self.writer
            .finish()
            .map_err(|error| failed(&self.trace, error))?;
        self.writer
            .inner_mut()
            .finish()
            .map_err(|error| WriteError {
                trace: self.trace.clone(),
                problem: WriteProblem::Io(error),
            })?;
        Ok(self.written)
    }
}

fn failed(trace: &str, error: ParquetError) -> WriteError {
    let problem = match error {
        // The sink's own words, without the library's.
        ParquetError::External(source) => match source.downcast::<std::io::Error>() {
            Ok(error) => WriteProblem::Io(*error),
            Err(other) => WriteProblem::Unsupported(other.to_string()),
        },
        other => WriteProblem::Unsupported(other.to_string()),
    };
    WriteError {
        trace: trace.to_owned(),
        problem,
    }
}

fn schema() -> Result<Arc<Type>, ParquetError> {
    let unsigned = |bits| LogicalType::integer(bits, false);
    let mut columns = Vec::new();
    for (field, name) in NATIVE {
        let (physical, logical) = match field {
            Field::File | Field::Operation => (PhysicalType::BYTE_ARRAY, LogicalType::String),
            Field::Process | Field::Thread => (PhysicalType::INT32, unsigned(32)),
            Field::Pattern | Field::Reason => (PhysicalType::INT32, unsigned(8)),
            _ => (PhysicalType::INT64, unsigned(64)),
        };
        let repetition = if is_optional(field) {
            Repetition::OPTIONAL
        } else {
            Repetition::REQUIRED
        };
        let column = Type::primitive_type_builder(name, physical)
            .with_logical_type(Some(logical))
            .with_repetition(repetition)
            .build()?;
        columns.push(Arc::new(column));
    }
    Type::group_type_builder("trace")
        .with_fields(columns)
        .build()
        .map(Arc::new)
}

const fn is_optional(field: Field) -> bool {
    matches!(
        field,
        Field::Duration | Field::Size | Field::Pattern | Field::Reason
    )
}

fn write_group(
    mut group: SerializedRowGroupWriter<'_, Sink>,
    rows: &[Row],
) -> Result<(), ParquetError> {
    for (field, _) in NATIVE {
        match field {
            Field::File => {
                let names: Vec<_> = rows.iter().map(|row| row.name.clone()).collect();
                write_column::<ByteArrayType>(&mut group, &names, None)?;
            }
            Field::Operation => {
                let words: Vec<_> = rows
                    .iter()
                    .map(|row| ByteArray::from(word::word(row.access.operation)))
                    .collect();
                write_column::<ByteArrayType>(&mut group, &words, None)?;
            }
            Field::Process | Field::Thread | Field::Pattern | Field::Reason => {
                let (values, levels) = column(rows, |row| small(field, row));
                let levels = is_optional(field).then_some(&levels[..]);
                write_column::<Int32Type>(&mut group, &values, levels)?;
            }
            _ => {
                let (values, levels) = column(rows, |row| large(field, row));
                let levels = is_optional(field).then_some(&levels[..]);
                write_column::<Int64Type>(&mut group, &values, levels)?;
            }
        }
    }
    group.close()?;
    Ok(())
}

/// Values that are there, and for every row whether it has one.
fn column<T>(rows: &[Row], value: impl Fn(&Row) -> Option<T>) -> (Vec<T>, Vec<i16>) {
    let mut values = Vec::with_capacity(rows.len());
    let mut levels = Vec::with_capacity(rows.len());
    for row in rows {
        let value = value(row);
        levels.push(i16::from(value.is_some()));
        values.extend(value);
    }
    (values, levels)
}

fn small(field: Field, row: &Row) -> Option<i32> {
    let decided = match row.access.operation {
        Operation::Prefetch(decided) => Some(decided),
        _ => None,
    };
    match field {
        Field::Process => Some(row.access.process.cast_signed()),
        Field::Thread => Some(row.access.thread.cast_signed()),
        Field::Pattern => decided.map(|decided| i32::from(decided.pattern)),
        Field::Reason => decided.map(|decided| i32::from(decided.reason)),
        _ => None,
    }
}

fn large(field: Field, row: &Row) -> Option<i64> {
    let value = match field {
        Field::At => Some(row.access.at_ns),
        Field::Offset => Some(row.access.offset),
        Field::Length => Some(row.access.length),
        Field::Duration => row.access.duration_ns,
        Field::Size => row.size,
        _ => None,
    };
    // The column is marked as unsigned: the bits are the value.
    value.map(u64::cast_signed)
}

fn write_column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Sink>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> Result<(), ParquetError> {
    let mut column = group
        .next_column()?
        .ok_or_else(|| ParquetError::General("a column is missing".to_owned()))?;
    column.typed::<T>().write_batch(values, levels, None)?;
    column.close()
}
