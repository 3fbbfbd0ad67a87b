//! The native half of the Python package `simtlab`.
//!
//! Everything here takes and gives plain values: bytes, numbers, JSON. Arrays, dataclasses and
//! exceptions are made in Python (`python/simtlab`), which owns the public interface. Guest memory
//! is locked only while the interpreter is released, so that a launch which asks for signals cannot
//! wait for a thread that waits for the launch.

#![allow(
    clippy::needless_pass_by_value,
    reason = "what is extracted from Python's objects is owned"
)]

mod args;
mod compare;
mod debug;
mod device;
mod explore;
mod file;
mod launch;
mod program;
mod raise;
mod session;
mod signals;
mod study;
mod subject;
mod suites;

use pyo3::prelude::*;
use serde_json::json;

/// The mechanisms of the catalogue, the default one first, as JSON.
#[pyfunction]
fn mechanisms() -> String {
    let entry = |e: &converge::Entry| {
        json!({
            "name": e.name,
            "about": e.summary,
            "source": e.source,
            "state": e.state,
            "limits": e.limits,
            "aliases": e.aliases,
        })
    };
    let mut all: Vec<&converge::Entry> = converge::CATALOGUE.iter().collect();
    let default = machines::by_extension("ptx").and_then(|m| m.mechanisms.first().copied());
    all.sort_by_key(|e| default.is_none_or(|d| d.name != e.name));
    all.into_iter().map(entry).collect::<serde_json::Value>().to_string()
}

/// The metrics of statistics, in the order of reports, as JSON.
#[pyfunction]
fn metrics() -> String {
    let metric = |m: &simt::counts::Metric| json!({ "name": m.name, "unit": m.unit.name(), "definition": m.definition });
    simt::counts::METRICS.iter().map(metric).collect::<serde_json::Value>().to_string()
}

#[pymodule]
fn _simtlab(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<program::Program>()?;
    module.add_class::<device::Device>()?;
    module.add_function(wrap_pyfunction!(mechanisms, module)?)?;
    module.add_function(wrap_pyfunction!(metrics, module)?)?;
    module.add_function(wrap_pyfunction!(launch::launch, module)?)?;
    module.add_function(wrap_pyfunction!(compare::compare, module)?)?;
    module.add_function(wrap_pyfunction!(explore::explore, module)?)?;
    module.add_function(wrap_pyfunction!(file::run_file, module)?)?;
    module.add_function(wrap_pyfunction!(study::explain, module)?)?;
    module.add_function(wrap_pyfunction!(study::diff, module)?)?;
    module.add_function(wrap_pyfunction!(study::trace, module)?)?;
    module.add_class::<debug::DebugSession>()?;
    module.add_function(wrap_pyfunction!(debug::debug, module)?)?;
    module.add_class::<session::NativeSession>()?;
    module.add_class::<suites::SweepStore>()?;
    module.add_function(wrap_pyfunction!(suites::sweep_plan, module)?)?;
    module.add_function(wrap_pyfunction!(suites::sweep_keys, module)?)?;
    module.add_function(wrap_pyfunction!(suites::sweep_rows, module)?)?;
    module.add_function(wrap_pyfunction!(suites::sweep_run, module)?)?;
    module.add_function(wrap_pyfunction!(suites::sweep_tables, module)?)?;
    Ok(())
}
