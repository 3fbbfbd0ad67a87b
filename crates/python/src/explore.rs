//! One kernel in many schedules.

use std::path::PathBuf;

use ::explore::{How, Plan};
use findings::Suppressions;
use findings::report::to_json as to_findings_json;
use isa::{Diagnostics, SourceMap, Span};
use lab::run::{Job, JobParts, Settings};
use pyo3::prelude::*;
use study::divergence;

use crate::args::{Call, in_python};
use crate::compare::{At, parts};
use crate::launch::Wanted;
use crate::program::Program;
use crate::raise::one;
use crate::signals::Signals;

/// Which schedules, as the package's Python half gives it; lists are written with commas.
#[derive(FromPyObject)]
pub(crate) struct Exploring {
    mechanisms: Option<String>,
    order: Option<String>,
    schedules: u64,
    exhaustive: bool,
    preemptions: Option<u32>,
    seed: Option<u64>,
    limit: Option<u64>,
}

/// JSON of the rows and of the findings, the schedules that show differences, and the table.
type Explored = (String, String, Vec<String>, String);

/// Explores what a launch file says.
#[pyfunction]
pub(crate) fn explore_file(
    py: Python<'_>,
    path: PathBuf,
    exploring: Exploring,
) -> PyResult<Explored> {
    let explored = py.detach(|| {
        let mut sources = SourceMap::new();
        let (places, call) = exploring.places(Call::new(&sources, "explore"));
        call.enter(&mut sources);
        let settings = exploring.settings();
        let job = JobParts::from_launch_file(&path, None, &mut sources)
            .and_then(|parts| Job::prepare(parts, &settings, &mut sources));
        let done = job.map_err(At::Findings).and_then(|job| explore(job, &exploring, places));
        done.map_err(|at| at.trouble(sources))
    });
    explored.map_err(|trouble| trouble.raise(py))
}

/// Explores one launch of a program.
#[pyfunction]
pub(crate) fn explore_program(
    py: Python<'_>,
    program: PyRef<'_, Program>,
    wanted: Wanted,
    exploring: Exploring,
) -> PyResult<Explored> {
    let program: &Program = &program;
    let explored = py.detach(|| {
        let mut sources = program.sources.clone();
        let mut call = Call::new(&sources, "explore");
        let parts = parts(program, &wanted, &mut call);
        let (places, call) = exploring.places(call);
        call.enter(&mut sources);
        let settings = exploring.settings();
        let done = parts.map_err(At::Findings).and_then(|(parts, kernel, specs)| {
            let shown = |found: Diagnostics| At::Findings(in_python(&found, &kernel, &specs));
            let job = Job::prepare_loaded(parts, program.program.clone(), &settings);
            let job = job.map_err(shown)?;
            explore(job, &exploring, places).map_err(|at| match at {
                At::Findings(found) => shown(found),
                raised @ At::Raised(_) => raised,
            })
        });
        done.map_err(|at| at.trouble(sources))
    });
    explored.map_err(|trouble| trouble.raise(py))
}

impl Exploring {
    fn settings(&self) -> Settings {
        Settings { seed: self.seed, limit: self.limit, ..Settings::default() }
    }

    /// The places of the mechanisms and of the order in the call.
    fn places(&self, mut call: Call) -> ([Span; 2], Call) {
        let mut word = |name: &str, value: &Option<String>| match value {
            Some(value) => call.option(name, value),
            None => Span::default(),
        };
        let places = [word("mechanisms", &self.mechanisms), word("order", &self.order)];
        (places, call)
    }
}

fn explore(mut job: Job, given: &Exploring, places: [Span; 2]) -> Result<Explored, At> {
    let wrong = |finding| At::Findings(one(finding));
    let mechanisms = match &given.mechanisms {
        Some(list) => machines::mechanisms_named(job.machine(), list, places[0]).map_err(wrong)?,
        None => ::explore::default_mechanisms(&job),
    };
    let order = match &given.order {
        Some(name) => Some(divergence::order_named(name, places[1]).map_err(wrong)?),
        None => None,
    };
    let how = if given.exhaustive { How::Exhaustive(given.preemptions) } else { How::Random };
    let plan = Plan { mechanisms, order, how, schedules: given.schedules, seed: job.seed() };
    let mut signals = Signals::new();
    let found = ::explore::explore(&mut job, &plan, &mut signals).map_err(At::Findings)?;
    let Some(found) = found else { return Err(At::Raised(signals.raised)) };
    let mut findings = ::explore::conclude(&found);
    findings.finish(&Suppressions::default());
    Ok((
        ::explore::to_json(&found).to_string(),
        to_findings_json(&findings).to_string(),
        found.witnesses().map(ToString::to_string).collect(),
        ::explore::to_text(&found),
    ))
}
