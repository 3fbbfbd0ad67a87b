//! Launch files of every machine.

use checks::Checker;
use findings::report::to_json as to_findings_json;
use findings::{CheckSet, Suppressions};
use inputs::launch::Located;
use isa::{Diagnostic, SourceMap, Span};
use lab::render::{Paint, render_all};
use lab::run::{FinalBuffer, Job, Report, Settings, Verdict};
use lab::stats;
use machines::{Choice, End, ProbedMonitor};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{Value, json};

use crate::launch::threads;
use crate::raise::Trouble;
use crate::signals::Signals;
use crate::subject::{At, Subject};

/// How the launches run, as the package's Python half gives it.
#[derive(FromPyObject)]
pub(crate) struct Running {
    mechanism: Option<String>,
    warp_size: Option<u64>,
    seed: Option<u64>,
    limit: Option<u64>,
    jobs: Option<u16>,
    exact: bool,
    stats: bool,
    check: Option<String>,
}

/// What has run: the report as JSON, output, and the buffers' bytes.
struct Ran {
    json: String,
    output: Vec<u8>,
    buffers: Vec<Vec<u8>>,
}

/// Report as JSON, output, and the bytes of each buffer.
type Returned<'py> = (String, Bound<'py, PyBytes>, Vec<Bound<'py, PyBytes>>);

impl Running {
    fn settings(&self, mechanism_at: Span, warp_size_at: Span) -> Settings {
        let mechanism = self.mechanism.clone();
        Settings {
            mechanism: mechanism.map(|value| Located { value, span: mechanism_at }),
            warp_size: self.warp_size.map(|value| Located { value, span: warp_size_at }),
            seed: self.seed,
            limit: self.limit,
            engine: if self.exact { Choice::Exact } else { Choice::Fast },
            threads: threads(self.jobs),
            ..Settings::default()
        }
    }

    fn checker(&self, job: &Job, span: Span) -> Result<Option<Checker>, Diagnostic> {
        let Some(check) = &self.check else { return Ok(None) };
        let fail = |message: String| Diagnostic::error("run::check", message).at(span, "");
        let set = CheckSet::parse(check).map_err(fail)?;
        if !job.machine().has_checks {
            let message = format!("machine `{}` has no checks", job.machine().name);
            return Err(fail(message).help("checks are for programs in PTX and in the kernel IR"));
        }
        Ok(Some(Checker::new(job.module_name(), set)))
    }
}

/// Runs what a launch file says, on its machine.
#[pyfunction]
pub(crate) fn run_file<'py>(
    py: Python<'py>,
    subject: Subject<'_>,
    running: Running,
) -> PyResult<Returned<'py>> {
    let width = running.warp_size.map(|width| width.to_string());
    let words = [
        ("mechanism", running.mechanism.as_deref()),
        ("warp_size", width.as_deref()),
        ("check", running.check.as_deref()),
    ];
    let settings = |[mechanism, warp_size, _]: [Span; 3]| running.settings(mechanism, warp_size);
    let ran = subject.study(py, ("run", words), settings, |job, [.., check], sources| {
        run(&job, &running, check, sources)
    })?;
    let buffers = ran.buffers.iter().map(|bytes| PyBytes::new(py, bytes)).collect();
    Ok((ran.json, PyBytes::new(py, &ran.output), buffers))
}

fn run(job: &Job, running: &Running, check: Span, sources: &SourceMap) -> Result<Ran, At> {
    let mut checker = running.checker(job, check)?;
    let mut signals = Signals::new();
    let report = match &mut checker {
        None => job.run(running.stats, &mut signals)?,
        Some(probe) => {
            job.run(running.stats, &mut ProbedMonitor { monitor: &mut signals, probe })?
        }
    };
    match (report.verdict(), report.ends.last()) {
        (Verdict::Interrupted, _) => return Err(At::Raised(signals.raised)),
        (Verdict::Stopped | Verdict::Differs, Some(End::Hang(stop))) => {
            return Err(At::Stopped(Trouble::Stopped(
                false,
                Box::new(stop.clone()),
                sources.clone(),
            )));
        }
        // An unmet expectation is in the report; a result that depends on an order is not.
        (Verdict::Unmet, Some(End::Fault(stop))) if stop.is_verdict() && !report.expected_end => {
            return Err(At::Stopped(Trouble::Stopped(
                true,
                Box::new(stop.clone()),
                sources.clone(),
            )));
        }
        (Verdict::Stopped | Verdict::Differs, Some(End::Fault(stop) | End::Differs(stop))) => {
            return Err(At::Stopped(Trouble::Stopped(
                true,
                Box::new(stop.clone()),
                sources.clone(),
            )));
        }
        _ => {}
    }
    let findings = checker.map(|checker| {
        let mut findings = study::checks::conclude(checker, &report);
        findings.finish(&Suppressions::default());
        to_findings_json(&findings)
    });
    Ok(Ran {
        json: described(&report, (findings, &signals.engine), sources).to_string(),
        buffers: report.buffers.iter().map(|b| b.contents.data().to_vec()).collect(),
        output: report.output,
    })
}

fn described(
    report: &Report,
    (findings, engine): (Option<Value>, &str),
    sources: &SourceMap,
) -> Value {
    let buffer = |b: &FinalBuffer| {
        let (ty, shape) = (b.contents.ty().name(), b.contents.shape());
        json!({ "name": b.name, "type": ty, "shape": shape })
    };
    json!({
        "stats": stats::to_json(&report.stats),
        "engine": engine,
        "met": report.verdict() == Verdict::Met,
        "end": report.ends.last().map_or("done", End::name),
        "told": render_all(&report.findings(), sources, Paint::Plain),
        "buffers": report.buffers.iter().map(buffer).collect::<Value>(),
        "findings": findings,
    })
}
