//! `simtlab-parquet DIR FILE`: writes the rows of a sweep, sorted by key, as a Parquet file.
//!
//! A program of its own, so that nobody waits for the `parquet` crate who builds `simtlab`; that
//! runs it for `sweep export --parquet`. Each column is optional and has the type of
//! `columns.json`; units and definitions are key-value metadata of the file, as `unit:NAME` and
//! `definition:NAME`. Rows are written in groups, so memory is bounded.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type as Schema;
use serde_json::Value;
use sweep::{Column, Record, Type, columns, sorted_rows};

/// Rows of a group.
const GROUP: usize = 8192;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    let [folder, file] = words.as_slice() else {
        let _ = writeln!(std::io::stderr(), "usage: simtlab-parquet DIR FILE");
        return ExitCode::from(2);
    };
    match write(Path::new(folder), Path::new(file)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {error}");
            ExitCode::from(2)
        }
    }
}

fn write(folder: &Path, path: &Path) -> Result<()> {
    let columns = columns();
    let metadata = columns.iter().flat_map(|column| {
        let pair = |kind: &str, text: &str| {
            KeyValue::new(format!("{kind}:{}", column.name), text.to_owned())
        };
        [pair("unit", column.unit), pair("definition", column.about)]
    });
    let properties = WriterProperties::builder()
        .set_compression(Compression::UNCOMPRESSED)
        .set_key_value_metadata(Some(metadata.collect()))
        .build();
    // A file that cannot be finished is not left behind.
    let part = path.with_extension("parquet.part");
    let file = File::create(&part).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
    let mut writer =
        SerializedFileWriter::new(file, Arc::new(schema(&columns)?), Arc::new(properties))?;
    let mut rows: Vec<Record> = Vec::with_capacity(GROUP);
    let mut failed = None;
    sorted_rows(folder, |record| {
        rows.push(record.clone());
        if rows.len() == GROUP && failed.is_none() {
            failed = group(&mut writer, &columns, &rows).err();
            rows.clear();
        }
        Ok(())
    })?;
    if let Some(error) = failed {
        return Err(error);
    }
    if !rows.is_empty() {
        group(&mut writer, &columns, &rows)?;
    }
    writer.close()?;
    std::fs::rename(&part, path)?;
    Ok(())
}

fn schema(columns: &[Column]) -> Result<Schema> {
    let fields = columns.iter().map(|column| {
        let (physical, logical) = match column.ty {
            Type::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Type::Bool => (Physical::BOOLEAN, None),
            Type::Int => (Physical::INT64, None),
            Type::Float => (Physical::DOUBLE, None),
        };
        let field = Schema::primitive_type_builder(column.name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical);
        Ok(Arc::new(field.build()?))
    });
    let fields = fields.collect::<Result<Vec<_>>>()?;
    Ok(Schema::group_type_builder("rows").with_fields(fields).build()?)
}

/// Writes rows as one group.
fn group(
    writer: &mut SerializedFileWriter<File>,
    columns: &[Column],
    rows: &[Record],
) -> Result<()> {
    let mut group = writer.next_row_group()?;
    for column in columns {
        let cells: Vec<&Value> =
            rows.iter().map(|row| row.0.get(column.name).unwrap_or(&Value::Null)).collect();
        write_column(&mut group, column, &cells)?;
    }
    group.close()?;
    Ok(())
}

fn write_column(
    group: &mut SerializedRowGroupWriter<'_, File>,
    column: &Column,
    cells: &[&Value],
) -> Result<()> {
    let levels: Vec<i16> = cells.iter().map(|cell| i16::from(!cell.is_null())).collect();
    let there = || cells.iter().filter(|cell| !cell.is_null());
    let mut writer = group.next_column()?.ok_or("fewer columns than the schema has")?;
    match column.ty {
        Type::Text => {
            let text = |cell: &&Value| ByteArray::from(cell.as_str().unwrap_or(""));
            let values: Vec<ByteArray> = there().map(text).collect();
            writer.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None)?;
        }
        Type::Bool => {
            let values: Vec<bool> = there().map(|cell| cell.as_bool().unwrap_or(false)).collect();
            writer.typed::<BoolType>().write_batch(&values, Some(&levels), None)?;
        }
        Type::Int => {
            let whole = |cell: &&Value| {
                let number = cell.as_u64().map(|n| i64::try_from(n).unwrap_or(i64::MAX));
                number.or(cell.as_i64()).unwrap_or(0)
            };
            let values: Vec<i64> = there().map(whole).collect();
            writer.typed::<Int64Type>().write_batch(&values, Some(&levels), None)?;
        }
        Type::Float => {
            let values: Vec<f64> = there().map(|cell| cell.as_f64().unwrap_or(f64::NAN)).collect();
            writer.typed::<DoubleType>().write_batch(&values, Some(&levels), None)?;
        }
    }
    writer.close()?;
    Ok(())
}
