//! Shards of a sweep, put together.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::store::{Manifest, Shard, Store, StoreError, each_row};

/// Merges the directories of all shards of one sweep into a new one. Returns the number of rows.
///
/// # Errors
/// Returns an error if a directory is not one of this sweep, if a shard is missing, there twice or
/// not finished, or if two have a row in common.
pub fn merge(folders: &[PathBuf], out: &Path) -> Result<usize, StoreError> {
    let mut found: Vec<(Manifest, &PathBuf)> = Vec::new();
    for folder in folders {
        found.push((Manifest::read(folder)?, folder));
    }
    let Some((first, _)) = found.first() else {
        return Err(StoreError::Shards("there is nothing to merge".to_owned()));
    };
    let first = first.clone();
    let count = first.shard.count;
    let mut by_index: HashMap<usize, &PathBuf> = HashMap::new();
    for (manifest, folder) in &found {
        let same = (&manifest.suite, &manifest.digest, manifest.rows, manifest.shard.count)
            == (&first.suite, &first.digest, first.rows, count);
        if !same {
            return Err(StoreError::Other {
                path: folder.display().to_string(),
                found: manifest.describe(),
                wanted: first.describe(),
            });
        }
        if let Some(other) = by_index.insert(manifest.shard.index, folder) {
            return Err(StoreError::Shards(format!(
                "shard {}/{count} is there twice: {} and {}",
                manifest.shard.index,
                other.display(),
                folder.display()
            )));
        }
    }
    let missing: Vec<String> = (1..=count)
        .filter(|index| !by_index.contains_key(index))
        .map(|index| format!("{index}/{count}"))
        .collect();
    if !missing.is_empty() {
        let many = if missing.len() == 1 { "shard" } else { "shards" };
        return Err(StoreError::Shards(format!(
            "{many} {} missing: run {} with --shard, then merge again",
            missing.join(", "),
            if missing.len() == 1 { "it" } else { "them" }
        )));
    }
    let whole = Manifest { shard: Shard::WHOLE, ..first };
    let mut store = Store::open(out, &whole, false)?;
    let mut rows = 0;
    for index in 1..=count {
        let Some(folder) = by_index.get(&index) else { continue };
        let (mut failed, mut here) = (None, 0);
        each_row(folder, |record| {
            if failed.is_some() {
                return;
            }
            if store.has(record.key()) {
                failed = Some(StoreError::Shards(format!(
                    "the row {} of {} is in another shard, too",
                    record.key(),
                    folder.display()
                )));
                return;
            }
            here += 1;
            failed = store.append(&record).err();
        })?;
        if let Some(error) = failed {
            return Err(error);
        }
        let wanted = Shard { index, count }.rows(whole.rows);
        if here != wanted {
            return Err(StoreError::Shards(format!(
                "shard {index}/{count} in {} is not finished: it has {here} of {wanted} rows; go on with --resume",
                folder.display()
            )));
        }
        rows += here;
    }
    store.sync()?;
    Ok(rows)
}
