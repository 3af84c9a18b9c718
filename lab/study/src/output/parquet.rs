//! The table as a Parquet file: texts as UTF-8, numbers as unsigned 64 bits, all optional numbers
//! null where there is none.

use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as PhysicalType, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

use super::columns::{COLUMNS, Value, rows};
use crate::results::CellGroup;

/// The bytes of the file.
///
/// # Errors
/// What the library says; it has no reason to.
pub fn parquet(groups: &[CellGroup<'_>]) -> Result<Vec<u8>, ParquetError> {
    let rows: Vec<_> = rows(groups).collect();
    let columns = COLUMNS.iter().map(|(_, value)| {
        let cells = rows.iter().map(|(run, standing)| value(run, standing));
        cells.collect::<Vec<Value>>()
    });
    let columns: Vec<Vec<Value>> = columns.collect();
    let level = ZstdLevel::try_new(3).unwrap_or_default();
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(level))
        .build();
    let schema = schema(&columns)?;
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    for cells in &columns {
        write_column(&mut group, cells)?;
    }
    group.close()?;
    writer.into_inner()
}

fn is_text(cells: &[Value]) -> bool {
    matches!(cells.first(), Some(Value::Text(_)))
}

fn schema(columns: &[Vec<Value>]) -> Result<Arc<Type>, ParquetError> {
    let mut fields = Vec::with_capacity(COLUMNS.len());
    for ((name, _), cells) in COLUMNS.iter().zip(columns) {
        let field = if is_text(cells) {
            Type::primitive_type_builder(name, PhysicalType::BYTE_ARRAY)
                .with_logical_type(Some(LogicalType::String))
                .with_repetition(Repetition::REQUIRED)
        } else {
            Type::primitive_type_builder(name, PhysicalType::INT64)
                .with_logical_type(Some(LogicalType::integer(64, false)))
                .with_repetition(Repetition::OPTIONAL)
        };
        fields.push(Arc::new(field.build()?));
    }
    Type::group_type_builder("runs")
        .with_fields(fields)
        .build()
        .map(Arc::new)
}

fn write_column(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    cells: &[Value],
) -> Result<(), ParquetError> {
    if is_text(cells) {
        let texts: Vec<_> = cells
            .iter()
            .filter_map(|cell| match cell {
                Value::Text(text) => Some(ByteArray::from(text.as_str())),
                Value::Number(_) => None,
            })
            .collect();
        return write::<ByteArrayType>(group, &texts, None);
    }
    let number = |cell: &Value| match cell {
        Value::Number(number) => *number,
        Value::Text(_) => None,
    };
    let levels: Vec<i16> = cells
        .iter()
        .map(|cell| i16::from(number(cell).is_some()))
        .collect();
    // The column is marked as unsigned: the bits are the value.
    let values: Vec<i64> = cells
        .iter()
        .filter_map(number)
        .map(u64::cast_signed)
        .collect();
    write::<Int64Type>(group, &values, Some(&levels))
}

fn write<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> Result<(), ParquetError> {
    let mut column = group
        .next_column()?
        .ok_or_else(|| ParquetError::General("a column is missing".to_owned()))?;
    column.typed::<T>().write_batch(values, levels, None)?;
    column.close()
}
