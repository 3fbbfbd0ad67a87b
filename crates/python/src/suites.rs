//! Sweeps: suites of kernels, on this host or as tasks of an executor.
//!
//! The package's Python half gives tasks to executors; a task is a group of a suite and some of its
//! cells, and gives rows as lines. Rows come to one [`SweepStore`], which keeps each once.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use isa::{Diagnostic, SourceMap};
use machines::LaunchMonitor;
use pyo3::prelude::*;
use serde_json::json;
use study::divergence::pool;
use sweep::{Manifest, OpenGroup, Record, Shard, Store, StoreError, Suite};

use crate::raise::{Trouble, one};
use crate::signals::Signals;

fn refused(error: &StoreError) -> Trouble {
    let finding = Diagnostic::error("sweep::store", error.to_string());
    Trouble::Launch(one(finding), SourceMap::new())
}

fn load(path: &Path) -> Result<Suite, Trouble> {
    let mut sources = SourceMap::new();
    Suite::load(path, None, &mut sources).map_err(|found| Trouble::Launch(found, sources))
}

fn manifest(suite: &Suite) -> Manifest {
    Manifest {
        suite: suite.name.clone(),
        digest: suite.digest.clone(),
        shard: Shard::WHOLE,
        rows: suite.rows(),
    }
}

/// Returns a suite's name, its number of rows, and the cells of its groups, as JSON.
#[pyfunction]
pub(crate) fn sweep_plan(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    let plan = py.detach(|| {
        let suite = load(&path)?;
        let groups: Vec<usize> = suite.groups.iter().map(|group| group.cells).collect();
        Ok(json!({ "name": suite.name, "rows": suite.rows(), "groups": groups }).to_string())
    });
    plan.map_err(|trouble: Trouble| trouble.raise(py))
}

/// Returns the keys of the rows of a group.
#[pyfunction]
pub(crate) fn sweep_keys(py: Python<'_>, path: PathBuf, group: usize) -> PyResult<Vec<String>> {
    let keys = py.detach(|| {
        let suite = load(&path)?;
        let Some(group) = suite.groups.get(group) else { return Ok(Vec::new()) };
        Ok(OpenGroup::new(&suite, group).keys().map(str::to_owned).collect())
    });
    keys.map_err(|trouble: Trouble| trouble.raise(py))
}

/// Runs cells of a group, and returns their rows as lines.
#[pyfunction]
pub(crate) fn sweep_rows(
    py: Python<'_>,
    path: PathBuf,
    group: usize,
    cells: Vec<usize>,
) -> PyResult<Vec<String>> {
    let lines = py.detach(|| {
        let suite = load(&path)?;
        let mut lines = Vec::new();
        let Some(group) = suite.groups.get(group) else { return Ok(lines) };
        let open = OpenGroup::new(&suite, group);
        let mut signals = Signals::new();
        let stopped = |signals: Signals| match signals.raised {
            Some(raised) => Trouble::Interrupted(raised),
            None => Trouble::Memory("the sweep was interrupted".to_owned()),
        };
        let Some(baseline) = open.baseline(&mut signals) else { return Err(stopped(signals)) };
        for cell in cells {
            match open.row(cell, &baseline, &mut signals) {
                Some(row) => lines.push(row.line()),
                None => return Err(stopped(signals)),
            }
        }
        Ok(lines)
    });
    lines.map_err(|trouble: Trouble| trouble.raise(py))
}

/// Runs a whole suite on threads of this process. Returns the number of rows of the directory.
#[pyfunction]
pub(crate) fn sweep_run(
    py: Python<'_>,
    path: PathBuf,
    folder: PathBuf,
    jobs: usize,
    resume: bool,
) -> PyResult<usize> {
    let rows = py.detach(|| {
        let suite = load(&path)?;
        let store = Store::open(&folder, &manifest(&suite), resume);
        let mut store = store.map_err(|error| refused(&error))?;
        let mut signals = Signals::new();
        let finished = sweep::run(&suite, Shard::WHOLE, &mut store, pool::jobs(jobs), &mut |now| {
            signals.rows(now.done as u64, now.all as u64, now.issues)
        });
        match (finished.map_err(|error| refused(&error))?, signals.raised) {
            (true, _) => Ok(store.len()),
            (false, Some(raised)) => Err(Trouble::Interrupted(raised)),
            (false, None) => Err(Trouble::Memory("the sweep did not finish".to_owned())),
        }
    });
    rows.map_err(|trouble: Trouble| trouble.raise(py))
}

/// Writes the table of a directory, and its schema.
#[pyfunction]
pub(crate) fn sweep_tables(py: Python<'_>, folder: PathBuf) -> PyResult<String> {
    let written = py.detach(|| {
        let fail =
            |error: std::io::Error| Trouble::Memory(format!("cannot write the table: {error}"));
        let path = folder.join("rows.csv");
        let file = std::fs::File::create(&path).map_err(fail)?;
        let mut file = std::io::BufWriter::new(file);
        sweep::csv(&folder, &mut file, true).map_err(|error| refused(&error))?;
        std::io::Write::flush(&mut file).map_err(fail)?;
        let schema = format!("{:#}\n", sweep::columns_json());
        std::fs::write(folder.join("columns.json"), schema).map_err(fail)?;
        Ok(path.display().to_string())
    });
    written.map_err(|trouble: Trouble| trouble.raise(py))
}

/// The directory of a sweep, open for rows.
#[pyclass]
pub(crate) struct SweepStore(Mutex<Store>);

#[pymethods]
impl SweepStore {
    /// Opens the directory of a suite, or makes it.
    #[new]
    fn new(py: Python<'_>, path: PathBuf, folder: PathBuf, resume: bool) -> PyResult<Self> {
        let store = py.detach(|| {
            let suite = load(&path)?;
            Store::open(&folder, &manifest(&suite), resume).map_err(|error| refused(&error))
        });
        store.map(|store| Self(Mutex::new(store))).map_err(|trouble: Trouble| trouble.raise(py))
    }

    /// Returns whether the row of a key is finished.
    fn has(&self, key: &str) -> bool {
        self.0.lock().is_ok_and(|store| store.has(key))
    }

    /// Appends rows; those that are there already are left out. Returns the number of rows.
    fn append(&self, py: Python<'_>, lines: Vec<String>) -> PyResult<usize> {
        let appended = py.detach(|| {
            let Ok(mut store) = self.0.lock() else { return Ok(0) };
            for record in lines.iter().filter_map(|line| Record::parse(line)) {
                store.append(&record).map_err(|error| refused(&error))?;
            }
            store.sync().map_err(|error| refused(&error))?;
            Ok(store.len())
        });
        appended.map_err(|trouble: Trouble| trouble.raise(py))
    }
}
