//! Execution of jobs.

use std::borrow::Cow;

use inputs::argspec::BufferRef;
use inputs::array::Array;
use inputs::bind::bind;
use inputs::elem::shortened;
use inputs::launch::MachineOption;
use isa::suggest::nearest;
use isa::{Diagnostic, Diagnostics, Span};
use machines::{
    Context, End, LaunchMonitor, LaunchProblem, LaunchRequest, LaunchResult, Named, Progress,
    Schedule, Subject,
};
use simt::slots::{LaneSlots, SlotCause};

use super::checks::{Check, MemoryRead};
use super::job::{Job, Result, UNSUPPORTED};
use super::memory::{self, MemoryContents};
use super::prepare::one;
use super::report::{FinalBuffer, Report};
use super::time::{Clock, wall_time};
use crate::stats::RunStats;

/// A buffer in guest memory.
struct AllocatedBuffer {
    name: String,
    address: u64,
    ty: inputs::elem::ElemType,
    shape: Vec<u64>,
    bytes: usize,
}

/// Allocates a buffer in a context.
fn allocate_buffer(
    context: &mut dyn Context,
    name: &str,
    array: &Array,
    span: Span,
) -> std::result::Result<AllocatedBuffer, Diagnostic> {
    let address = context.allocate(name, array.data()).map_err(|reason| {
        let message = format!("no room for buffer `{}`: {reason}", shortened(name));
        Diagnostic::error("run::memory", message).at(span, "this one").help("use smaller extents")
    })?;
    Ok(AllocatedBuffer {
        name: name.to_owned(),
        address,
        ty: array.ty(),
        shape: array.shape().to_vec(),
        bytes: array.data().len(),
    })
}

/// Returns the address of the buffer that an argument refers to.
fn address_of(
    allocated: &[AllocatedBuffer],
    reference: &BufferRef,
    span: Span,
) -> std::result::Result<u64, Diagnostic> {
    if let Some(allocated) = allocated.iter().find(|p| p.name == reference.name) {
        return Ok(allocated.address);
    }
    let message = format!("there is no buffer `{}`", shortened(&reference.name));
    let near = nearest(&reference.name, allocated.iter().map(|p| p.name.as_str()));
    Err(Diagnostic::error("arg::reference", message).at(span, "").help(match near {
        Some(near) => format!("did you mean &{near}?"),
        None => "make it with another argument: name=type[extents]".to_owned(),
    }))
}

/// A monitor that also stops a launch after a number of issues.
struct IssueLimit<'w> {
    issues: u64,
    monitor: &'w mut dyn LaunchMonitor,
}

impl LaunchMonitor for IssueLimit<'_> {
    fn poll(&mut self, progress: Progress) -> bool {
        self.monitor.poll(progress) && progress.issues < self.issues
    }

    fn engine_selected(&mut self, engine: &str) {
        self.monitor.engine_selected(engine);
    }
}

/// The settings of one run of a job's launches.
pub(super) struct RunSettings<'a> {
    pub(super) mechanism: &'a str,
    pub(super) warp_size: u64,
    pub(super) limit: Option<u64>,
    /// The machine's options, of the job, and of the launches that have their own.
    pub(super) options: Cow<'a, [MachineOption]>,
    pub(super) of_launches: Vec<Cow<'a, [MachineOption]>>,
    /// What times launches.
    pub(super) clock: Clock,
}

impl<'a> RunSettings<'a> {
    /// Returns the job's own settings.
    pub(super) fn of(job: &'a Job) -> Self {
        Self {
            mechanism: &job.mechanism.value,
            warp_size: job.warp_size.value,
            limit: job.limit,
            options: Cow::Borrowed(&job.options),
            of_launches: job.launches.iter().map(|(_, l)| Cow::Borrowed(&l.options[..])).collect(),
            clock: wall_time,
        }
    }

    /// Returns the options of a launch. One without options of its own has the job's.
    fn options(&self, launch: usize) -> &[MachineOption] {
        match self.of_launches.get(launch) {
            Some(own) if !own.is_empty() => own,
            _ => &self.options,
        }
    }
}

/// The results of the launches, before expectations are checked.
pub(super) struct LaunchResults {
    pub(super) results: Vec<LaunchResult>,
    pub(super) buffers: Vec<FinalBuffer>,
    /// Total time of the launches in seconds.
    pub(super) seconds: f64,
    /// Names and contents of the program's global variables.
    pub(super) variables: Vec<(String, Vec<u8>)>,
    /// The schedule of each launch that was started.
    pub(super) schedules: Vec<Schedule>,
    /// The parts of memory that were requested.
    pub(super) memory: Vec<std::result::Result<MemoryContents, String>>,
    /// The memory that each expectation is about.
    pub(super) expected: Vec<MemoryRead>,
}

impl Job {
    /// Runs all launches and checks the expectations. `detailed` requests statistics beyond the
    /// lane slots.
    ///
    /// # Errors
    /// Returns diagnostics if the launches cannot start: arguments that do not fit, sizes that the
    /// machine refuses, no memory. Faults and hangs of kernels are part of the report.
    pub fn run(&self, detailed: bool, monitor: &mut dyn LaunchMonitor) -> Result<Report> {
        let detailed = detailed || self.wants_statistics();
        let LaunchResults { mut results, buffers, schedules, memory, expected, .. } =
            self.launch_all(&RunSettings::of(self), detailed, monitor)?;
        let last = results.len().saturating_sub(1);
        let expected_end = results.last().is_some_and(|r| self.expects_end(last, &r.end));
        if !expected_end
            && let Some(LaunchResult { end: End::Hang(stop), stats, .. }) = results.last_mut()
            && let Some(note) =
                self.finishing_mechanism(last, (stop.code, &stats.counts.slots), monitor)
        {
            stop.report.notes.push(note);
        }
        let stats = RunStats {
            machine: self.machine.name.to_owned(),
            module: self.module_name.clone(),
            mechanism: self.mechanism.value.clone(),
            warp_size: self.warp_size.value,
            seed: self.seed,
            launches: results.iter().map(|r| r.stats.clone()).collect(),
            times: None,
        };
        let output_of = |r: &LaunchResult| [&r.output[..], r.words.as_bytes()].concat();
        let output = results.iter().flat_map(output_of).collect();
        let ends: Vec<End> = results.into_iter().map(|r| r.end).collect();
        let moot = match ends.last() {
            Some(End::Interrupted | End::Differs(_)) => true,
            Some(End::Fault(_) | End::Hang(_)) => !expected_end,
            _ => false,
        };
        let checks = match moot {
            true => Vec::new(),
            false => {
                let checks = self.checks.iter().zip(&expected);
                checks.map(|(c, read)| c.judge(&ends, (&buffers, read), &stats)).collect()
            }
        };
        let skipped_checks = self.skipped_checks;
        Ok(Report {
            warnings: self.input_warnings(),
            stats,
            schedules,
            ends,
            buffers,
            memory,
            output,
            checks,
            skipped_checks,
            expected_end,
        })
    }

    /// Runs the launches, up to the first that does not complete.
    pub(super) fn launch_all(
        &self,
        settings: &RunSettings<'_>,
        detailed: bool,
        monitor: &mut dyn LaunchMonitor,
    ) -> Result<LaunchResults> {
        let mut context = self.program.context().map_err(one)?;
        let mut found = Diagnostics::new();
        let mut allocated = Vec::with_capacity(self.buffers.len());
        for (buffer, array) in &self.buffers {
            match allocate_buffer(context.as_mut(), &buffer.name.value, array, buffer.spec.span) {
                Ok(buffer) => {
                    monitor.buffer_allocated(&buffer.name, buffer.address, buffer.bytes as u64);
                    allocated.push(buffer);
                }
                Err(finding) => found.push(finding),
            }
        }
        let mut blocks = Vec::with_capacity(self.launches.len());
        for (kernel, launch) in &self.launches {
            let mut address = |reference: &BufferRef, span| address_of(&allocated, reference, span);
            match bind(kernel, &launch.args, Some(launch.args_span), &mut address) {
                Ok(block) => blocks.push(block),
                Err(more) => found.append(more),
            }
        }
        if found.has_errors() {
            return Err(found);
        }
        let (mut results, mut schedules) = (Vec::new(), Vec::new());
        let mut seconds = 0.0;
        for (index, params) in blocks.iter().enumerate() {
            let request = self.request(index, params, settings, detailed);
            schedules.push(context.schedule(&request));
            let start = (settings.clock)();
            let result = context
                .launch(&request, monitor)
                .map_err(|problem| one(self.locate(problem, index, settings)))?;
            seconds += (settings.clock)().saturating_sub(start).as_secs_f64();
            let ended = matches!(result.end, End::Done);
            results.push(result);
            if !ended {
                break;
            }
        }
        let variables = context.variables();
        let buffers = read_back(context.as_ref(), allocated)?;
        let memory = self.memory.iter().map(|part| memory::read(context.as_ref(), part)).collect();
        let expected = self.checks.iter().map(|c| c.read_memory(context.as_ref())).collect();
        Ok(LaunchResults { results, buffers, seconds, variables, schedules, memory, expected })
    }

    fn request<'a>(
        &'a self,
        index: usize,
        params: &'a [u8],
        settings: &'a RunSettings<'_>,
        detailed: bool,
    ) -> LaunchRequest<'a> {
        let (kernel, launch) = &self.launches[index];
        LaunchRequest {
            kernel: &kernel.name,
            grid: launch.grid.as_ref().map_or([1; 3], |g| g.value),
            block: launch.block.as_ref().map_or([1; 3], |b| b.value),
            shared: launch.shared.as_ref().map_or(0, |s| s.value),
            params,
            mechanism: settings.mechanism,
            warp_size: settings.warp_size,
            seed: self.seed,
            limit: settings.limit,
            detailed,
            engine: self.engine,
            level: self.level,
            threads: self.threads,
            options: settings.options(index),
        }
    }

    /// Attributes a launch problem to a place in the user's input.
    fn locate(
        &self,
        problem: LaunchProblem,
        index: usize,
        settings: &RunSettings<'_>,
    ) -> Diagnostic {
        let launch = &self.launches[index].1;
        let options = settings.options(index);
        let span = match problem.about {
            Subject::Launch => None,
            Subject::Kernel => launch.kernel.as_ref().map(|k| k.span),
            Subject::Grid => launch.grid.as_ref().map(|g| g.span),
            Subject::Block => launch.block.as_ref().map(|b| b.span),
            Subject::Shared => launch.shared.as_ref().map(|s| s.span),
            Subject::Args => Some(launch.args_span),
            Subject::Mechanism => Some(self.mechanism.span),
            Subject::WarpSize => Some(self.warp_size.span),
            Subject::Option(index) => options.get(index).map(|o| o.key.span),
        };
        let code = match problem.about {
            Subject::Mechanism | Subject::WarpSize => UNSUPPORTED,
            _ => "run::launch",
        };
        let mut finding = Diagnostic::error(code, problem.message).at(self.place(span, launch), "");
        if let Some(span) = problem.span {
            finding = finding.also(span, "because of this");
        }
        finding.help = problem.help;
        finding
    }

    /// Returns whether an expectation names this end of this launch.
    fn expects_end(&self, index: usize, end: &End) -> bool {
        self.checks.iter().any(|c| c.expects_end(index, end))
    }

    fn wants_statistics(&self) -> bool {
        self.checks.iter().any(Check::is_statistic)
    }

    /// After a hang in launch `index`, finds another mechanism under which that launch completes.
    ///
    /// A launch at its limit of issues may simply be long. In that case only the usual mechanisms
    /// are tried, and none if no lane was diverged or waiting, because then all mechanisms do the
    /// same.
    fn finishing_mechanism(
        &self,
        index: usize,
        (code, slots): (&str, &LaneSlots),
        monitor: &mut dyn LaunchMonitor,
    ) -> Option<String> {
        let limited = code == "limit";
        let apart = slots.of(SlotCause::Diverged) + slots.of(SlotCause::Waiting) > 0;
        if limited && !apart {
            return None;
        }
        let defaults = self.machine.default_mechanisms;
        let mut others = self.machine.mechanisms.to_vec();
        let tried =
            |m: &Named| m.name != self.mechanism.value && (!limited || defaults.contains(&m.name));
        others.retain(tried);
        // First the one that an option offers.
        let is_offered = |m: &Named| Some(m.name) == self.machine.retry_mechanism;
        others.sort_by_key(|m| !is_offered(m));
        // It may take longer, but not without end; and so may the rest, all together.
        let most = slots.issues().saturating_mul(16).clamp(1 << 20, 1 << 24);
        let mut left = most.min(1 << 21);
        let finishing = others.iter().find(|other| {
            let issues = if is_offered(other) { most } else { left };
            let (finishes, spent) = self.try_under(other.name, index, issues, &mut *monitor);
            if !is_offered(other) {
                left = left.saturating_sub(spent);
            }
            finishes
        })?;
        let name = finishing.name;
        Some(match is_offered(finishing) {
            true => format!(
                "under the mechanism `{name}` it finishes; with `--option forward-progress=yes` it \
                 runs again so"
            ),
            false => format!("under the mechanism `{name}` it finishes"),
        })
    }

    /// Whether a mechanism takes the job past launch `index` with so many issues a launch, and how
    /// many it has taken.
    fn try_under(
        &self,
        mechanism: &str,
        index: usize,
        issues: u64,
        monitor: &mut dyn LaunchMonitor,
    ) -> (bool, u64) {
        if issues == 0 {
            return (false, 0);
        }
        let mut limited = IssueLimit { issues, monitor };
        let settings = RunSettings { mechanism, ..RunSettings::of(self) };
        let Ok(outcome) = self.launch_all(&settings, false, &mut limited) else {
            return (false, 0);
        };
        let finishes = outcome.results.get(index).is_some_and(|r| matches!(r.end, End::Done));
        (finishes, outcome.results.iter().map(|r| r.stats.counts.slots.issues()).sum())
    }
}

fn read_back(context: &dyn Context, allocated: Vec<AllocatedBuffer>) -> Result<Vec<FinalBuffer>> {
    let mut buffers = Vec::with_capacity(allocated.len());
    for p in allocated {
        let data = context.read(p.address, p.bytes);
        let array = data.map_err(|reason| {
            let message = format!("cannot read back buffer `{}`: {reason}", shortened(&p.name));
            one(Diagnostic::error("run::memory", message))
        })?;
        // Cannot fail: the length is that of the array that was placed with this type and shape.
        if let Ok(contents) = Array::new(p.ty, p.shape, array) {
            buffers.push(FinalBuffer { name: p.name, contents });
        }
    }
    Ok(buffers)
}
