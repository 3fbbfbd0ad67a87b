//! One kernel on several machines: each launch of a job lowered to a machine's assembly, run there,
//! and compared with the job's own machine.
//!
//! A machine takes part if kernels can be lowered to it ([`lower::BACKENDS`]); the name of a
//! backend is the name of its machine. A program is made for each distinct launch, since some
//! machines have the sizes of a launch in their programs. Buffers go from launch to launch.

mod figures;
mod html;
mod json;
mod text;

use ::machines::{End, Isa, LaunchMonitor};
use ir::{LocId, VerifiedModule};
use isa::suggest::nearest;
use isa::{Diagnostic, Diagnostics, Span};
use lab::run::{FinalBuffer, Job, LoweredProgram, Variant};
use lower::{BACKENDS, Backend, Lowered, Request};

pub use figures::{Figures, LineCost};
pub use html::to_html;
pub use json::{MACHINES_SCHEMA_NAME, MACHINES_VERSION, to_json};
pub use text::to_text;

use crate::source_texts::last_component;
use figures::Source;

/// A comparison of machines.
#[derive(Clone, Debug)]
pub struct MachineComparison {
    /// The job's own machine: the first row, with whose buffers those of the others are compared.
    pub machine: String,
    /// The program as the user named it.
    pub module: String,
    /// Names of the kernels, each once.
    pub kernels: Vec<String>,
    /// A row a machine.
    pub rows: Vec<MachineRow>,
}

/// A machine of a comparison.
#[derive(Clone, Debug)]
pub struct MachineRow {
    /// Its name.
    pub machine: String,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of a job on a machine.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// All launches ended.
    Ran(Box<Figures>),
    /// A kernel needs what the machine lacks.
    Refused {
        /// The kernel.
        kernel: String,
        /// What it needs.
        message: String,
        /// The line of the program that needs it, from 1.
        line: Option<u32>,
        /// File and line of the source.
        source: Option<String>,
    },
    /// A launch did not start, or did not end.
    Stopped {
        /// Why.
        message: String,
    },
}

/// Whether a machine left what the first row's machine left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Equality {
    /// It is the first row.
    Reference,
    /// All bytes of all buffers are equal.
    Equal,
    /// Some are not.
    Differs {
        /// The first buffer with another byte.
        buffer: String,
        /// The first such element.
        element: usize,
        /// Elements that differ, of all buffers.
        count: usize,
        /// What tells whether the order of threads is the cause.
        order: Order,
    },
}

/// What tells whether results differ because threads run in another order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// Whether the buffers hold what the job expects of them; `None` if it expects nothing.
    pub expected: Option<bool>,
    /// A mechanism under which the job's own machine leaves other results, too.
    pub mechanism: Option<&'static str>,
}

impl Order {
    /// Returns whether the order of threads explains the difference: the results are as expected,
    /// and the job's own machine leaves others in another order.
    #[must_use]
    pub fn explains(&self) -> bool {
        self.expected == Some(true) && self.mechanism.is_some()
    }
}

impl MachineComparison {
    /// Returns whether no machine stopped or left results that the order of threads does not
    /// explain. A machine that lacks something is no failure.
    #[must_use]
    pub fn sound(&self) -> bool {
        self.rows.iter().all(|row| match &row.outcome {
            Outcome::Ran(figures) => match &figures.equality {
                Equality::Differs { order, .. } => order.explains(),
                Equality::Reference | Equality::Equal => true,
            },
            Outcome::Refused { .. } => true,
            Outcome::Stopped { .. } => false,
        })
    }
}

/// The machines of a list of names separated by commas; the job's own may be among them.
///
/// # Errors
/// Returns a diagnostic if kernels cannot be lowered to one of them, or if it is named twice.
pub fn machines_named(own: &Isa, list: &str, span: Span) -> Result<Vec<&'static Isa>, Diagnostic> {
    let known = || std::iter::once(own.name).chain(BACKENDS.iter().map(|b| b.name));
    let mut found: Vec<&'static Isa> = Vec::new();
    for name in list.split(',').map(str::trim) {
        if !known().any(|known| known == name) {
            let message = format!("kernels cannot be lowered to `{name}`");
            let finding = Diagnostic::error("compare::machine", message).at(span, "");
            return Err(finding.help(match nearest(name, known()) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("machines are {}", known().collect::<Vec<_>>().join(", ")),
            }));
        }
        let machine = ::machines::find(name).map_err(|finding| finding.at(span, ""))?;
        if found.iter().any(|other| other.name == machine.name) {
            let message = format!("`{name}` is named twice");
            return Err(Diagnostic::error("compare::machine", message).at(span, ""));
        }
        found.push(machine);
    }
    Ok(found)
}

/// Runs a job on its own machine and on others; the own one is the first row whether it is in the
/// list or not. `None` if the monitor has stopped it.
///
/// # Errors
/// Returns diagnostics if the job's program is no kernel IR, or if it cannot start.
pub fn compare(
    job: &Job,
    machines: &[&'static Isa],
    monitor: &mut dyn LaunchMonitor,
) -> Result<Option<MachineComparison>, Diagnostics> {
    let Some(module) = job.program().module() else {
        let mut found = Diagnostics::new();
        let message = "only programs in PTX or the IR can be lowered to other machines";
        found.push(Diagnostic::error("compare::machine", message));
        return Err(found);
    };
    let report = job.run(true, monitor)?;
    if report.ends.iter().any(|end| matches!(end, End::Interrupted)) {
        return Ok(None);
    }
    let source = Source::new(job, module);
    let mut kernels: Vec<String> = job.launch_sizes().map(|l| l.0.to_owned()).collect();
    kernels.sort_unstable();
    kernels.dedup();
    let done = report.ends.iter().all(|end| matches!(end, End::Done));
    let own = match report.ends.last() {
        Some(End::Fault(stop) | End::Hang(stop)) if !done => {
            Outcome::Stopped { message: stop.report.message.clone() }
        }
        _ => Outcome::Ran(Box::new(Figures::own(&source, &kernels, &report.stats))),
    };
    let mut rows = vec![MachineRow { machine: job.machine().name.to_owned(), outcome: own }];
    // What hangs here has no issues that say how long it may take elsewhere.
    let issues = if done { report.stats.total().counts.slots.issues() } else { 0 };
    let expected = Expected { buffers: &report.buffers, issues };
    for machine in machines.iter().filter(|m| m.name != job.machine().name) {
        let Some(outcome) = on_machine(job, &source, machine, &expected, monitor) else {
            return Ok(None);
        };
        rows.push(MachineRow { machine: machine.name.to_owned(), outcome });
    }
    Ok(Some(MachineComparison {
        machine: job.machine().name.to_owned(),
        module: last_component(job.module_name()).to_owned(),
        kernels,
        rows,
    }))
}

fn stopped(message: impl Into<String>) -> Outcome {
    Outcome::Stopped { message: message.into() }
}

/// What the job's own machine did.
struct Expected<'a> {
    buffers: &'a [FinalBuffer],
    issues: u64,
}

impl Expected<'_> {
    /// Most issues of a launch on another machine. Sequences that stand for an instruction issue
    /// thousands, and a group of a few lanes takes several turns.
    fn limit(&self) -> u64 {
        self.issues.saturating_mul(20_000).saturating_add(1_000_000)
    }
}

/// A job on another machine; `None` if the monitor has stopped it.
fn on_machine(
    job: &Job,
    source: &Source<'_>,
    machine: &'static Isa,
    expected: &Expected<'_>,
    monitor: &mut dyn LaunchMonitor,
) -> Option<Outcome> {
    let Some(backend) = Backend::find(machine.name) else {
        return Some(stopped("kernels cannot be lowered to it"));
    };
    let programs = match programs(job, source, backend) {
        Ok(programs) => programs,
        Err(outcome) => return Some(outcome),
    };
    let program = |made: &Lowered| LoweredProgram { text: made.text.clone(), block: made.block };
    let lowered: Vec<LoweredProgram> = programs.iter().map(program).collect();
    let run = match job.run_lowered(machine, &lowered, (None, Some(expected.limit())), monitor) {
        Ok(run) => run,
        Err(found) => {
            let first = found.iter().next().map(|finding| finding.message.clone());
            return Some(stopped(first.unwrap_or_default()));
        }
    };
    match run.launches.last().map(|launch| &launch.end) {
        Some(End::Interrupted) => return None,
        Some(End::Fault(stop) | End::Hang(stop) | End::Differs(stop)) => {
            return Some(stopped(stop.report.message.clone()));
        }
        Some(End::Done) | None => {}
    }
    let mut equality = equality(expected.buffers, &run.buffers);
    if let Equality::Differs { order, .. } = &mut equality {
        order.expected = job.accepts(&run.buffers);
        order.mechanism = other_order(job, expected.buffers, monitor);
    }
    Some(Outcome::Ran(Box::new(Figures::lowered(&programs, &run.launches, machine, equality))))
}

/// The program of each launch.
fn programs(job: &Job, source: &Source<'_>, backend: &Backend) -> Result<Vec<Lowered>, Outcome> {
    let module = source.module;
    let verified = VerifiedModule::new(module.clone()).map_err(|e| stopped(e.to_string()))?;
    let mut known: Vec<(_, Lowered)> = Vec::new();
    let mut programs = Vec::new();
    for launch in job.launch_sizes() {
        if let Some((_, lowered)) = known.iter().find(|(of, _)| *of == launch) {
            programs.push(lowered.clone());
            continue;
        }
        let (kernel, grid, block, shared) = launch;
        let Some(id) = module.function(kernel) else {
            return Err(stopped(format!("there is no kernel `{kernel}`")));
        };
        let sizes = [
            ("grid-x", grid[0]),
            ("grid-y", grid[1]),
            ("grid-z", grid[2]),
            ("block-x", block[0]),
            ("block-y", block[1]),
            ("block-z", block[2]),
            ("shared", shared),
        ];
        let takes = |name: &str| backend.settings.iter().any(|setting| setting.name == name);
        let given: Vec<(String, String)> = sizes
            .iter()
            .filter(|(name, _)| takes(name))
            .map(|(name, size)| ((*name).to_owned(), size.to_string()))
            .collect();
        let settings = backend.settings(&given).map_err(|e| stopped(e.to_string()))?;
        let line = |loc: LocId| source.line(loc);
        let request = Request { module: &verified, kernel: id, settings: &settings, line: &line };
        let lowered = (backend.lower)(&request).map_err(|refused| Outcome::Refused {
            kernel: kernel.to_owned(),
            message: refused.to_string(),
            line: source.program_line(refused.loc()),
            source: source.table_line(refused.loc()),
        })?;
        known.push((launch, lowered.clone()));
        programs.push(lowered);
    }
    Ok(programs)
}

fn equality(expected: &[FinalBuffer], found: &[FinalBuffer]) -> Equality {
    let mut first = None;
    let mut count = 0;
    for (a, b) in expected.iter().zip(found) {
        let size = a.contents.ty().bytes().max(1);
        let (a_bytes, b_bytes) = (a.contents.data(), b.contents.data());
        for (index, (x, y)) in a_bytes.chunks(size).zip(b_bytes.chunks(size)).enumerate() {
            if x != y {
                count += 1;
                first.get_or_insert_with(|| (a.name.clone(), index));
            }
        }
    }
    match first {
        Some((buffer, element)) => {
            Equality::Differs { buffer, element, count, order: Order::default() }
        }
        None => Equality::Equal,
    }
}

/// A mechanism under which the job's own machine leaves other results, if one is found.
fn other_order(
    job: &Job,
    expected: &[FinalBuffer],
    monitor: &mut dyn LaunchMonitor,
) -> Option<&'static str> {
    ["serial", "max-pc", "min-pc"].into_iter().find(|&mechanism| {
        let variant = Variant::of(mechanism, job.warp_size());
        let Ok(run) = job.run_plain(&variant, monitor) else { return false };
        let done = run.ends.iter().all(|end| matches!(end, End::Done));
        done && matches!(equality(expected, &run.buffers), Equality::Differs { .. })
    })
}
