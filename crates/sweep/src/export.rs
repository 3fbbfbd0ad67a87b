//! Tables of a sweep: CSV sorted by key, and the schema of the columns.

use std::fs::File;
use std::io::{self, BufReader, Seek, SeekFrom, Write};
use std::path::Path;

use serde_json::{Value, json};

use crate::record::{Record, TIMES, columns};
use crate::store::{StoreError, io_error, read_row};

/// Calls `each` for all rows of a directory, sorted by key. Only keys and places of the rows are in
/// memory.
///
/// # Errors
/// Returns an error if the rows cannot be read, or that of `each`.
pub fn sorted_rows(
    folder: &Path,
    mut each: impl FnMut(&Record) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let path = folder.join("rows.jsonl");
    let fail = |error| io_error("read", &path, error);
    let file = File::open(&path).map_err(&fail)?;
    let mut reader = BufReader::new(file);
    let (mut index, mut at, mut line) = (Vec::new(), 0u64, Vec::new());
    loop {
        if !read_row(&mut reader, &mut line).map_err(&fail)? {
            break;
        }
        let record = std::str::from_utf8(&line).ok().and_then(Record::parse);
        let Some(record) = record else { break };
        index.push((record.key().to_owned().into_boxed_str(), at));
        at += line.len() as u64;
    }
    index.sort();
    index.dedup_by(|a, b| a.0 == b.0);
    for (_, at) in index {
        reader.seek(SeekFrom::Start(at)).map_err(&fail)?;
        read_row(&mut reader, &mut line).map_err(&fail)?;
        if let Some(record) = std::str::from_utf8(&line).ok().and_then(Record::parse) {
            each(&record)?;
        }
    }
    Ok(())
}

/// Writes all rows as CSV (RFC 4180), sorted by key; without columns of time, if these are not
/// wanted. Null is an empty cell.
///
/// # Errors
/// Returns an error if rows cannot be read or written.
pub fn csv(folder: &Path, out: &mut dyn Write, times: bool) -> Result<(), StoreError> {
    let fail = |error: io::Error| io_error("write the table of", folder, error);
    let names: Vec<&str> = columns().iter().map(|column| column.name).collect();
    let names: Vec<&str> = names.into_iter().filter(|n| times || !TIMES.contains(n)).collect();
    writeln!(out, "{}", names.join(",")).map_err(fail)?;
    sorted_rows(folder, |record| {
        let cells = names.iter().map(|name| cell(record.0.get(*name).unwrap_or(&Value::Null)));
        writeln!(out, "{}", cells.collect::<Vec<_>>().join(",")).map_err(fail)
    })
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) if text.contains(['"', ',', '\n', '\r']) => {
            format!("\"{}\"", text.replace('"', "\"\""))
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Returns the schema of the columns: names, types, units and definitions.
#[must_use]
pub fn columns_json() -> Value {
    let columns = columns().into_iter().map(|column| {
        json!({
            "name": column.name,
            "type": column.ty.name(),
            "unit": column.unit,
            "definition": column.about,
        })
    });
    let columns: Vec<Value> = columns.collect();
    json!({ "schema": "simtlab-sweep-columns", "version": 1, "columns": columns })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_where_they_have_to_be() {
        assert_eq!(cell(&json!("a,b")), "\"a,b\"");
        assert_eq!(cell(&json!("say \"x\"\nnow")), "\"say \"\"x\"\"\nnow\"");
        assert_eq!(cell(&json!(12.5)), "12.5");
        assert_eq!(cell(&Value::Null), "");
    }

    #[test]
    fn every_column_has_a_name_of_its_own_and_a_definition() {
        let all = columns();
        let mut names: Vec<&str> = all.iter().map(|column| column.name).collect();
        assert!(all.iter().all(|column| !column.about.is_empty()));
        names.sort_unstable();
        let before = names.len();
        names.dedup();
        assert_eq!(names.len(), before);
    }
}
