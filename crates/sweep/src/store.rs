//! The directory of a sweep.
//!
//! | file | |
//! |---|---|
//! | `sweep.json` | the [`Manifest`]: whose rows these are |
//! | `rows.jsonl` | one row a line, in the order in which they were finished; only ever appended to |
//! | `rows.csv`, `columns.json` | the table, sorted by key, and its schema; written at the end |
//! | `lock` | held by the process that writes |
//!
//! A sweep that is killed leaves at most one line that is not whole; it is cut off when the sweep
//! goes on.

use std::collections::HashSet;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Read as _, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use thiserror::Error;

use crate::group::ROWS_VERSION;
use crate::record::Record;

/// The value of `schema` in `sweep.json`.
const SCHEMA: &str = "simtlab-sweep";
/// The version of the directory.
const VERSION: u64 = 1;
/// Bytes between two calls that wait until rows are on the disk.
const SYNC: u64 = 1 << 20;

/// A part of a sweep: rows `index - 1`, `index - 1 + count`, ... of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which part, from 1.
    pub index: usize,
    /// Of how many.
    pub count: usize,
}

impl Shard {
    /// The whole sweep.
    pub const WHOLE: Self = Self { index: 1, count: 1 };

    /// Parses `2/3`.
    ///
    /// # Errors
    /// Returns what is wrong, as a sentence.
    pub fn parse(text: &str) -> Result<Self, String> {
        let parts =
            text.split_once('/').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
        match parts {
            Some((index, count)) if (1..=count).contains(&index) && count <= 1_000_000 => {
                Ok(Self { index, count })
            }
            _ => Err(format!(
                "`{text}` is no shard: write the part and the number of parts, from 1/3 to 3/3"
            )),
        }
    }

    /// Returns whether a row, by its number in the sweep, is in the part.
    #[must_use]
    pub fn has(self, row: usize) -> bool {
        row % self.count == self.index - 1
    }

    /// Returns the number of rows of the part.
    #[must_use]
    pub fn rows(self, all: usize) -> usize {
        (all + self.count - self.index) / self.count
    }
}

/// Whose rows a directory has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// The suite's name.
    pub suite: String,
    /// The suite's hash.
    pub digest: String,
    /// The part of the sweep.
    pub shard: Shard,
    /// Rows of the whole sweep.
    pub rows: usize,
}

/// Why a directory cannot be used.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The operating system refuses.
    #[error("cannot {what} {path}: {error}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// The file.
        path: String,
        /// Why.
        error: io::Error,
    },
    /// Rows could not be written.
    #[error(
        "cannot write {path}: {error}; {kept} rows are kept: make room and go on with --resume"
    )]
    Full {
        /// The file.
        path: String,
        /// Why.
        error: io::Error,
        /// Rows that are there.
        kept: usize,
    },
    /// It is not a sweep's.
    #[error("{0} is no directory of a sweep: it has no sweep.json that says so")]
    NotASweep(String),
    /// It is another version's.
    #[error(
        "{path} was written by {found}, whose rows this version ({own}) does not continue: use another directory"
    )]
    Version {
        /// The directory.
        path: String,
        /// Its versions.
        found: String,
        /// Ours.
        own: String,
    },
    /// It is another sweep's.
    #[error("{path} has the rows of {found}, not of {wanted}: use another directory")]
    Other {
        /// The directory.
        path: String,
        /// Whose rows it has.
        found: String,
        /// Whose are wanted.
        wanted: String,
    },
    /// It has rows, and nothing was said of going on.
    #[error("{path} has {rows} rows of this sweep already: --resume goes on with it")]
    Begun {
        /// The directory.
        path: String,
        /// How many rows.
        rows: usize,
    },
    /// Another process writes to it.
    #[error("another sweep is writing to {0}: wait for it, or use another directory")]
    Busy(String),
    /// Shards do not make a whole.
    #[error("{0}")]
    Shards(String),
}

fn version() -> String {
    format!("{} (rows {ROWS_VERSION})", env!("CARGO_PKG_VERSION"))
}

impl Manifest {
    /// Reads `sweep.json`.
    ///
    /// # Errors
    /// Returns an error if the directory is not a sweep's, or another version's.
    pub fn read(folder: &Path) -> Result<Self, StoreError> {
        let path = folder.display().to_string();
        let text = std::fs::read_to_string(folder.join("sweep.json"))
            .map_err(|_| StoreError::NotASweep(path.clone()))?;
        let value: Value = serde_json::from_str(&text).unwrap_or_default();
        if value["schema"] != SCHEMA {
            return Err(StoreError::NotASweep(path));
        }
        let found = value["simtlab"].as_str().unwrap_or("an unknown version").to_owned();
        if value["version"] != VERSION || found != version() {
            return Err(StoreError::Version { path, found, own: version() });
        }
        let number = |key: &str| value[key].as_u64().and_then(|n| usize::try_from(n).ok());
        let text = |key: &str| value[key].as_str().map(str::to_owned);
        let shard = text("shard").and_then(|shard| Shard::parse(&shard).ok());
        match (text("suite"), text("digest"), shard, number("rows")) {
            (Some(suite), Some(digest), Some(shard), Some(rows)) => {
                Ok(Self { suite, digest, shard, rows })
            }
            _ => Err(StoreError::NotASweep(path)),
        }
    }

    fn write(&self, folder: &Path) -> Result<(), StoreError> {
        let value = json!({
            "schema": SCHEMA,
            "version": VERSION,
            "simtlab": version(),
            "suite": self.suite,
            "digest": self.digest,
            "shard": format!("{}/{}", self.shard.index, self.shard.count),
            "rows": self.rows,
        });
        let path = folder.join("sweep.json");
        std::fs::write(&path, format!("{value:#}\n"))
            .map_err(|error| io_error("write", &path, error))
    }

    /// Describes the sweep in messages.
    #[must_use]
    pub fn describe(&self) -> String {
        let Self { suite, shard, digest, .. } = self;
        format!(
            "suite {suite} ({}), shard {}/{}",
            &digest[..8.min(digest.len())],
            shard.index,
            shard.count
        )
    }
}

pub(crate) fn io_error(what: &'static str, path: &Path, error: io::Error) -> StoreError {
    StoreError::Io { what, path: path.display().to_string(), error }
}

/// A directory that this process writes to.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    file: File,
    /// Bytes of whole rows.
    length: u64,
    /// Bytes that are on the disk for sure.
    synced: u64,
    done: HashSet<u128>,
    /// Held as long as the store lives.
    _lock: File,
}

impl Store {
    /// Opens the directory of a sweep, or makes it.
    ///
    /// # Errors
    /// Returns an error if the directory is another sweep's or version's, if another process writes
    /// to it, or if it has rows and `resume` is not set.
    pub fn open(folder: &Path, manifest: &Manifest, resume: bool) -> Result<Self, StoreError> {
        let path = folder.display().to_string();
        std::fs::create_dir_all(folder).map_err(|error| io_error("make", folder, error))?;
        let lock = folder.join("lock");
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&lock)
            .map_err(|error| io_error("write", &lock, error))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(StoreError::Busy(path)),
            // A file system without locks: nothing can be said.
            Err(TryLockError::Error(_)) => {}
        }
        if folder.join("sweep.json").exists() {
            let found = Manifest::read(folder)?;
            if found != *manifest {
                let (found, wanted) = (found.describe(), manifest.describe());
                return Err(StoreError::Other { path, found, wanted });
            }
        } else {
            let mut others =
                std::fs::read_dir(folder).map_err(|error| io_error("read", folder, error))?;
            if others.any(|entry| entry.is_ok_and(|entry| entry.file_name() != "lock")) {
                return Err(StoreError::NotASweep(path));
            }
            manifest.write(folder)?;
        }
        let rows = folder.join("rows.jsonl");
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(&rows)
            .map_err(|error| io_error("write", &rows, error))?;
        let (done, length) = read_keys(&file).map_err(|error| io_error("read", &rows, error))?;
        if !done.is_empty() && !resume {
            return Err(StoreError::Begun { path, rows: done.len() });
        }
        let cut = file.set_len(length).and_then(|()| file.seek(SeekFrom::End(0)));
        cut.map_err(|error| io_error("write", &rows, error))?;
        let folder = folder.to_owned();
        Ok(Self { folder, file, length, synced: length, done, _lock: lock })
    }

    /// Returns whether the row of a key is finished.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        parse_key(key).is_some_and(|key| self.done.contains(&key))
    }

    /// Returns the rows that are finished now.
    #[must_use]
    pub(crate) fn finished(&self) -> Finished {
        Finished(self.done.clone())
    }

    /// Returns the number of finished rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.done.len()
    }

    /// Returns whether no row is finished.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.done.is_empty()
    }

    /// Returns the directory.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Appends a row; one that is there already is left out.
    ///
    /// # Errors
    /// Returns an error if it cannot be written; the rows before it are whole.
    pub fn append(&mut self, record: &Record) -> Result<(), StoreError> {
        let Some(key) = parse_key(record.key()) else { return Ok(()) };
        if self.done.contains(&key) {
            return Ok(());
        }
        let line = format!("{}\n", record.line());
        let written = self.file.write_all(line.as_bytes()).and_then(|()| {
            self.length += line.len() as u64;
            if self.length - self.synced >= SYNC {
                self.synced = self.length;
                self.file.sync_data()?;
            }
            Ok(())
        });
        match written {
            Ok(()) => {
                self.done.insert(key);
                Ok(())
            }
            Err(error) => {
                // What was written of the line is cut off now, or when the sweep goes on.
                let _ = self.file.set_len(self.length);
                let path = self.folder.join("rows.jsonl").display().to_string();
                Err(StoreError::Full { path, error, kept: self.done.len() })
            }
        }
    }

    /// Waits until all rows are on the disk.
    ///
    /// # Errors
    /// Returns an error if they are not.
    pub fn sync(&mut self) -> Result<(), StoreError> {
        self.file.sync_data().map_err(|error| StoreError::Full {
            path: self.folder.join("rows.jsonl").display().to_string(),
            error,
            kept: self.done.len(),
        })
    }
}

/// Keys of finished rows.
pub(crate) struct Finished(HashSet<u128>);

impl Finished {
    pub(crate) fn contains(&self, key: &str) -> bool {
        parse_key(key).is_some_and(|key| self.0.contains(&key))
    }
}

fn parse_key(key: &str) -> Option<u128> {
    u128::from_str_radix(key, 16).ok()
}

/// Longest row in bytes.
const LONGEST: u64 = 1 << 20;

/// Reads the next row into `line`; returns `false` at the end of whole rows.
pub(crate) fn read_row(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    reader.take(LONGEST).read_until(b'\n', line)?;
    Ok(line.last() == Some(&b'\n'))
}

/// Returns the keys of the whole rows of a file, and the length of these.
fn read_keys(file: &File) -> io::Result<(HashSet<u128>, u64)> {
    let mut reader = BufReader::new(file);
    let (mut done, mut length, mut line) = (HashSet::new(), 0, Vec::new());
    loop {
        if !read_row(&mut reader, &mut line)? {
            return Ok((done, length));
        }
        let text = std::str::from_utf8(&line).unwrap_or("");
        let Some(key) = Record::parse(text).and_then(|record| parse_key(record.key())) else {
            return Ok((done, length));
        };
        done.insert(key);
        length += line.len() as u64;
    }
}

/// Calls `each` for all rows of a directory, in the order of the file.
///
/// # Errors
/// Returns an error if the rows cannot be read.
pub(crate) fn each_row(folder: &Path, mut each: impl FnMut(Record)) -> Result<(), StoreError> {
    let path = folder.join("rows.jsonl");
    let file = File::open(&path).map_err(|error| io_error("read", &path, error))?;
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    loop {
        if !read_row(&mut reader, &mut line).map_err(|error| io_error("read", &path, error))? {
            return Ok(());
        }
        match std::str::from_utf8(&line).ok().and_then(Record::parse) {
            Some(record) => each(record),
            None => return Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_part_all_rows() {
        for count in 1..6 {
            for rows in 0..20 {
                let shards: Vec<Shard> = (1..=count).map(|index| Shard { index, count }).collect();
                for row in 0..rows {
                    assert_eq!(shards.iter().filter(|s| s.has(row)).count(), 1);
                }
                assert_eq!(shards.iter().map(|s| s.rows(rows)).sum::<usize>(), rows);
            }
        }
        assert_eq!(Shard::parse("2/3"), Ok(Shard { index: 2, count: 3 }));
        for wrong in ["0/3", "4/3", "3", "a/b", "1/0", "-1/2", "1/2/3", ""] {
            assert!(Shard::parse(wrong).is_err(), "{wrong}");
        }
    }
}
