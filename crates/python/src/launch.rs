//! Launches.

use std::time::Instant;

use checks::Checker;
use findings::report::to_json as to_findings_json;
use findings::{CheckSet, Suppressions};
use inputs::bind::bind;
use inputs::kernel::{KernelInfo, ParamInfo, choose_kernel};
use isa::{Diagnostic, Diagnostics, Span};
use lab::stats::{RunStats, to_json};
use machines::{
    Choice, Context, End, HostThreads, LaunchProblem, LaunchRequest, LaunchResult, ProbedMonitor,
    Subject, mechanisms_named,
};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{Value, json};
use simt::memory::Addr;

use crate::args::{Call, Given, buffer_name, in_python, specs};
use crate::device::{Device, World};
use crate::program::{Program, option};
use crate::raise::{Trouble, one};
use crate::signals::Signals;

/// What to launch and how, as the package's Python half gives it.
#[derive(FromPyObject)]
pub(crate) struct Wanted {
    pub(crate) kernel: String,
    pub(crate) grid: [u64; 3],
    pub(crate) block: [u64; 3],
    pub(crate) shared: u64,
    pub(crate) args: Vec<Given>,
    pub(crate) mechanism: String,
    pub(crate) warp_size: u64,
    pub(crate) seed: u64,
    pub(crate) limit: Option<u64>,
    jobs: Option<u16>,
    exact: bool,
    stats: bool,
    check: Option<String>,
    matrix_sums: String,
}

/// Places of the parts of a call.
struct Places {
    kernel: Span,
    grid: Span,
    block: Span,
    shared: Span,
    args: Span,
    mechanism: Span,
    warp_size: Span,
}

/// A launch that has ended by itself.
struct Ended {
    json: String,
    output: Vec<u8>,
    /// The bytes of the arrays that are wanted back, in the order of arguments.
    arrays: Vec<Vec<u8>>,
}

/// Warnings about arrays of doubles that the kernel takes for arrays of 32-bit floats.
fn doubles_as_floats(program: &Program, kernel: &KernelInfo, args: &[Given]) -> Vec<String> {
    let double = |arg: &Given| arg.kind == "array" && arg.text == "f64";
    if !args.iter().any(double) {
        return Vec::new();
    }
    let floats = program.program.float_pointers(&kernel.name);
    let params = args.iter().enumerate().filter(|(_, arg)| double(arg)).filter_map(|(i, arg)| {
        let named = |name: &String| kernel.params.iter().position(|p| p.name == *name);
        let index = arg.name.as_ref().map_or(Some(i), named)?;
        floats.contains(&index).then(|| kernel.params.get(index)).flatten()
    });
    let warning = |param: &ParamInfo| {
        format!(
            "a float64 array is passed for {} of {}, through which the kernel accesses 32-bit \
             floats alone: pass a float32 array, such as a.astype(numpy.float32)",
            param.name, kernel.name
        )
    };
    params.map(warning).collect()
}

/// Report as JSON, output, and the arrays wanted back.
type Returned<'py> = (String, Bound<'py, PyBytes>, Vec<Bound<'py, PyBytes>>);

/// Runs a kernel to its end, on a device or, without one, on memory of its own.
#[pyfunction]
pub(crate) fn launch<'py>(
    py: Python<'py>,
    program: PyRef<'py, Program>,
    device: Option<PyRef<'py, Device>>,
    wanted: Wanted,
) -> PyResult<Returned<'py>> {
    let program: &Program = &program;
    let shared = device.map(|device| device.0.clone());
    let ended = py.detach(|| match &shared {
        None => run(program, &mut World::default(), &wanted),
        Some(shared) => {
            program.launched_on(shared);
            run(program, &mut shared.lock(), &wanted)
        }
    });
    let Ended { json, output, arrays } = ended.map_err(|trouble| trouble.raise(py))?;
    let arrays = arrays.iter().map(|bytes| PyBytes::new(py, bytes)).collect();
    Ok((json, PyBytes::new(py, &output), arrays))
}

fn extents([x, y, z]: [u64; 3]) -> String {
    format!("({x}, {y}, {z})")
}

/// The only mechanism of a name.
fn mechanism_of(program: &Program, name: &str, span: Span) -> Result<String, Diagnostic> {
    let names = mechanisms_named(program.machine, name, span)?;
    <[String; 1]>::try_from(names).map(|[name]| name).map_err(|_| {
        let finding = Diagnostic::error("run::mechanism", "a launch runs under one mechanism");
        finding.at(span, "").help("name one; simtlab.compare takes many")
    })
}

fn run(program: &Program, world: &mut World, wanted: &Wanted) -> Result<Ended, Trouble> {
    let mut sources = program.sources.clone();
    let mut call = Call::new(&sources, "launch");
    let place_kernel = call.word(&wanted.kernel);
    let grid = call.option("grid", &extents(wanted.grid));
    let block = call.option("block", &extents(wanted.block));
    let mut found = Diagnostics::new();
    let kernels = program.program.kernels();
    let unknown = |finding: Diagnostic| one(finding.at(place_kernel, "not in the program"));
    let kernel = choose_kernel(&kernels, Some(&wanted.kernel)).map_err(unknown);
    let nothing = KernelInfo::default();
    let known = kernel.as_ref().map_or(&nothing, |kernel| *kernel);
    let before = call.span();
    let specs = specs(known, &wanted.args, &mut call, &mut found);
    let args = specs.iter().map(|s| s.span).reduce(Span::to).unwrap_or(before);
    let mechanism = call.option("mechanism", &wanted.mechanism);
    let warp_size = call.option("warp_size", &wanted.warp_size.to_string());
    let shared = call.option("shared", &wanted.shared.to_string());
    call.enter(&mut sources);
    let places = Places { kernel: place_kernel, grid, block, shared, args, mechanism, warp_size };
    let fail = |found| Trouble::Launch(found, sources.clone());
    let kernel = kernel.map_err(fail)?;
    if found.has_errors() {
        return Err(fail(found));
    }
    let mechanism =
        mechanism_of(program, &wanted.mechanism, places.mechanism).map_err(|f| fail(one(f)))?;

    let id = program.id;
    let mut left = world.lend(id);
    let mut signals = Signals::new();
    let began = match program.program.resume(&mut left) {
        Ok(Some(mut context)) => {
            let began = begin(
                context.as_mut(),
                (program, kernel, &specs),
                wanted,
                (&mechanism, &places),
                &mut signals,
            );
            left = context.take_state();
            began
        }
        Ok(None) => {
            let finding = Diagnostic::error(
                "run::machine",
                "programs of this machine cannot be launched from Python",
            );
            Err(one(finding))
        }
        Err(finding) => Err(one(finding)),
    };
    world.back(id, program.program.as_ref(), left);
    let began = began.map_err(fail)?;
    for address in &began.buffers {
        let _ = world.memory.free(Addr(*address));
    }
    if let Some(raised) = signals.raised {
        return Err(Trouble::Interrupted(raised));
    }
    match began.result.end {
        End::Fault(stop) | End::Differs(stop) => {
            Err(Trouble::Stopped(true, Box::new(stop), sources))
        }
        End::Hang(stop) => Err(Trouble::Stopped(false, Box::new(stop), sources)),
        End::Interrupted => Err(Trouble::Memory("the launch was interrupted".to_owned())),
        End::Done => Ok(Ended {
            json: report(program, kernel, wanted, &mechanism, &began, &signals.engine),
            output: [&began.result.output[..], began.result.words.as_bytes()].concat(),
            arrays: began.arrays,
        }),
    }
}

/// A launch that began.
struct Began {
    result: LaunchResult,
    seconds: f64,
    /// Addresses of the buffers that were made for it.
    buffers: Vec<u64>,
    arrays: Vec<Vec<u8>>,
    /// What checks have found, as JSON, if there were any.
    findings: Option<Value>,
}

/// The checker that a launch wants.
fn checker(
    program: &str,
    wanted: &Wanted,
    places: &Places,
) -> Result<Option<Checker>, Diagnostics> {
    let Some(check) = &wanted.check else { return Ok(None) };
    let set = CheckSet::parse(check).map_err(|message| {
        one(Diagnostic::error("run::check", message).at(places.kernel, "of this launch"))
    })?;
    Ok(Some(Checker::new(program, set)))
}

fn begin(
    context: &mut dyn Context,
    (program, kernel, specs): (&Program, &KernelInfo, &[inputs::ArgSpec]),
    wanted: &Wanted,
    (mechanism, places): (&str, &Places),
    signals: &mut Signals,
) -> Result<Began, Diagnostics> {
    let mut made: Vec<(String, u64)> = Vec::new();
    for (index, arg) in
        wanted.args.iter().enumerate().filter(|(i, a)| a.kind == "array" && a.same == *i)
    {
        let name = buffer_name(kernel, &wanted.args, index);
        let data: &[u8] = arg.data.as_deref().unwrap_or_default();
        let address = context.allocate(&name, data).map_err(|reason| {
            let message = format!("no room for `{name}`: {reason}");
            one(Diagnostic::error("run::memory", message).at(places.args, ""))
        })?;
        made.push((name, address));
    }
    let mut address_of = |reference: &inputs::argspec::BufferRef, span: Span| {
        let known = made.iter().find(|(name, _)| *name == reference.name);
        let missing = || Diagnostic::error("arg::reference", "there is no such array").at(span, "");
        known.map(|(_, address)| *address).ok_or_else(missing)
    };
    let params = bind(kernel, specs, Some(places.args), &mut address_of)
        .map_err(|found| in_python(&found, kernel, specs))?;
    let mut options = program.options.clone();
    options.push(option("matrix-sums", &wanted.matrix_sums));
    let request = LaunchRequest {
        kernel: &kernel.name,
        grid: wanted.grid,
        block: wanted.block,
        shared: wanted.shared,
        params: &params,
        mechanism,
        warp_size: wanted.warp_size,
        seed: wanted.seed,
        limit: wanted.limit,
        detailed: wanted.stats,
        engine: if wanted.exact { Choice::Exact } else { Choice::Fast },
        level: None,
        threads: threads(wanted.jobs),
        options: &options,
    };
    let mut checker = checker(&program.name, wanted, places)?;
    let start = Instant::now();
    let result = match &mut checker {
        None => context.launch(&request, signals),
        Some(probe) => context.launch(&request, &mut ProbedMonitor { monitor: signals, probe }),
    };
    let result = result.map_err(|problem| one(located(problem, places)))?;
    let seconds = start.elapsed().as_secs_f64();
    let findings = checker.map(|mut checker| {
        checker.read_by_host();
        let mut findings = checker.take();
        findings.finish(&Suppressions::default());
        to_findings_json(&findings)
    });
    let arrays = wanted.args.iter().filter(|arg| arg.kind == "array" && arg.back).map(|arg| {
        let name = buffer_name(kernel, &wanted.args, arg.same);
        let address =
            made.iter().find(|(known, _)| *known == name).map_or(0, |(_, address)| *address);
        context.read(address, arg.data.as_ref().map_or(0, |data| data.len()))
    });
    let arrays: Result<Vec<Vec<u8>>, String> = arrays.collect();
    let arrays = arrays.map_err(|reason| one(Diagnostic::error("run::memory", reason)))?;
    Ok(Began {
        result,
        seconds,
        buffers: made.into_iter().map(|(_, address)| address).collect(),
        arrays,
        findings,
    })
}

/// Threads for a launch: as the call says, or the environment; 0 for as many as the host has.
pub(crate) fn threads(jobs: Option<u16>) -> HostThreads {
    let variable = || machines::host_threads(|name| std::env::var(name).ok());
    HostThreads::up_to(jobs.map_or_else(variable, usize::from))
}

/// Gives a launch's problem its place in the call.
fn located(problem: LaunchProblem, places: &Places) -> Diagnostic {
    let span = match problem.about {
        Subject::Launch | Subject::Kernel | Subject::Option(_) => places.kernel,
        Subject::Grid => places.grid,
        Subject::Block => places.block,
        Subject::Shared => places.shared,
        Subject::Args => places.args,
        Subject::Mechanism => places.mechanism,
        Subject::WarpSize => places.warp_size,
    };
    let mut finding = Diagnostic::error("run::launch", problem.message).at(span, "");
    if let Some(span) = problem.span {
        finding = finding.also(span, "because of this");
    }
    finding.help = problem.help;
    finding
}

fn report(
    program: &Program,
    kernel: &KernelInfo,
    wanted: &Wanted,
    mechanism: &str,
    began: &Began,
    engine: &str,
) -> String {
    let warnings = doubles_as_floats(program, kernel, &wanted.args);
    let stats = wanted.stats.then(|| {
        to_json(&RunStats {
            machine: program.machine.name.to_owned(),
            module: program.name.clone(),
            mechanism: mechanism.to_owned(),
            warp_size: wanted.warp_size,
            seed: wanted.seed,
            launches: vec![began.result.stats.clone()],
            times: None,
        })
    });
    json!({
        "stats": stats,
        "engine": engine,
        "seconds": began.seconds,
        "warnings": warnings,
        "findings": began.findings,
    })
    .to_string()
}
