//! One kernel in many schedules.

use ::explore::{How, Plan};
use findings::Suppressions;
use findings::report::to_json as to_findings_json;
use isa::Span;
use lab::run::{Job, Settings};
use pyo3::prelude::*;
use study::divergence;

use crate::signals::Signals;
use crate::subject::{At, Subject};

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

/// Explores schedules of a launch.
#[pyfunction]
pub(crate) fn explore(
    py: Python<'_>,
    subject: Subject<'_>,
    exploring: Exploring,
) -> PyResult<Explored> {
    let words =
        [("mechanisms", exploring.mechanisms.as_deref()), ("order", exploring.order.as_deref())];
    let settings = |_| exploring.settings();
    subject.study(py, ("explore", words), settings, |job, places, _| {
        explore_job(job, &exploring, places)
    })
}

impl Exploring {
    fn settings(&self) -> Settings {
        Settings { seed: self.seed, limit: self.limit, ..Settings::default() }
    }
}

fn explore_job(mut job: Job, given: &Exploring, [named, order]: [Span; 2]) -> Result<Explored, At> {
    let mechanisms = match &given.mechanisms {
        Some(list) => machines::mechanisms_named(job.machine(), list, named)?,
        None => ::explore::default_mechanisms(&job),
    };
    let order = match &given.order {
        Some(name) => Some(divergence::order_named(name, order)?),
        None => None,
    };
    let how = if given.exhaustive { How::Exhaustive(given.preemptions) } else { How::Random };
    let plan = Plan { mechanisms, order, how, schedules: given.schedules, seed: job.seed() };
    let mut signals = Signals::new();
    let found = ::explore::explore(&mut job, &plan, &mut signals)?;
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
