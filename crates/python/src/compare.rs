//! One kernel under many mechanisms.

use std::path::PathBuf;

use inputs::argspec::{ArgSpec, ArgValue, BufferSpec, Contents};
use inputs::elem::ElemType;
use inputs::kernel::{KernelInfo, choose_kernel};
use inputs::launch::{LaunchEntry, Located, NamedBuffer, RunDefaults};
use isa::{Diagnostic, Diagnostics, SourceMap, Span};
use lab::run::{Job, JobParts, Settings};
use pyo3::prelude::*;
use study::divergence::{self, Plan};
use study::html::{self, PageData};

use crate::args::{Call, Given, buffer_name, in_python, specs};
use crate::launch::Wanted;
use crate::program::Program;
use crate::raise::{Trouble, one};
use crate::signals::Signals;

/// What to vary, as the package's Python half gives it; lists are written with commas.
#[derive(FromPyObject)]
pub(crate) struct Variations {
    mechanisms: Option<String>,
    warp_sizes: Option<String>,
    order: Option<String>,
    seed: Option<u64>,
    limit: Option<u64>,
    report: bool,
}

/// JSON, text, and the report if one was asked for.
type Compared = (String, String, Option<String>);

/// Compares what a launch file says.
#[pyfunction]
pub(crate) fn compare_file(
    py: Python<'_>,
    path: PathBuf,
    variations: Variations,
) -> PyResult<Compared> {
    let compared = py.detach(|| {
        let mut sources = SourceMap::new();
        let call = Call::new(&sources, "compare");
        let (places, call) = Places::of(&variations, call);
        call.enter(&mut sources);
        let parts = JobParts::from_launch_file(&path, None, &mut sources);
        let settings = variations.settings();
        let job = parts.and_then(|parts| Job::prepare(parts, &settings, &mut sources));
        let done = job.map_err(At::Findings).and_then(|job| compare(job, &variations, &places));
        done.map_err(|at| at.trouble(sources))
    });
    compared.map_err(|trouble| trouble.raise(py))
}

/// Compares one launch of a program.
#[pyfunction]
pub(crate) fn compare_program(
    py: Python<'_>,
    program: PyRef<'_, Program>,
    wanted: Wanted,
    variations: Variations,
) -> PyResult<Compared> {
    let program: &Program = &program;
    let compared = py.detach(|| {
        let mut sources = program.sources.clone();
        let mut call = Call::new(&sources, "compare");
        let parts = parts(program, &wanted, &mut call);
        let (places, call) = Places::of(&variations, call);
        call.enter(&mut sources);
        let settings = variations.settings();
        let job = parts.and_then(|(parts, kernel, specs)| {
            let job = Job::prepare_loaded(parts, program.program.clone(), &settings);
            job.map_err(|found| in_python(&found, &kernel, &specs)).map(|job| (job, kernel, specs))
        });
        let done = job.map_err(At::Findings).and_then(|(job, kernel, specs)| {
            compare(job, &variations, &places).map_err(|at| match at {
                At::Findings(found) => At::Findings(in_python(&found, &kernel, &specs)),
                raised @ At::Raised(_) => raised,
            })
        });
        done.map_err(|at| at.trouble(sources))
    });
    compared.map_err(|trouble| trouble.raise(py))
}

/// Why a comparison did not come about.
pub(crate) enum At {
    Findings(Diagnostics),
    Raised(Option<PyErr>),
}

impl At {
    pub(crate) fn trouble(self, sources: SourceMap) -> Trouble {
        match self {
            Self::Findings(found) => Trouble::Launch(found, sources),
            Self::Raised(Some(raised)) => Trouble::Interrupted(raised),
            Self::Raised(None) => Trouble::Memory("the comparison was interrupted".to_owned()),
        }
    }
}

/// Places of the variations in the call.
struct Places {
    mechanisms: Span,
    warp_sizes: Span,
    order: Span,
}

impl Places {
    fn of(variations: &Variations, mut call: Call) -> (Self, Call) {
        let mut word = |name: &str, value: &Option<String>| match value {
            Some(value) => call.option(name, value),
            None => Span::default(),
        };
        let mechanisms = word("mechanisms", &variations.mechanisms);
        let warp_sizes = word("warp_sizes", &variations.warp_sizes);
        let order = word("order", &variations.order);
        (Self { mechanisms, warp_sizes, order }, call)
    }
}

impl Variations {
    fn settings(&self) -> Settings {
        Settings { seed: self.seed, limit: self.limit, ..Settings::default() }
    }

    fn plan(&self, job: &Job, places: &Places) -> Result<Plan, Diagnostic> {
        let machine = job.machine();
        Ok(Plan {
            mechanisms: match &self.mechanisms {
                Some(list) => machines::mechanisms_named(machine, list, places.mechanisms)?,
                None => machine.mechanisms.iter().map(|m| m.name.to_owned()).collect(),
            },
            warp_sizes: match &self.warp_sizes {
                Some(list) => divergence::numbers_named(list, places.warp_sizes)?,
                None => vec![job.warp_size()],
            },
            order: match &self.order {
                Some(name) => Some(divergence::order_named(name, places.order)?),
                None => None,
            },
            settings: divergence::default_settings(machine),
            star: true,
            record_views: self.report,
            ..Plan::default()
        })
    }
}

fn compare(job: Job, variations: &Variations, places: &Places) -> Result<Compared, At> {
    let plan = variations.plan(&job, places).map_err(|finding| At::Findings(one(finding)))?;
    let mut signals = Signals::new();
    let compared = divergence::compare(&job, &plan, &mut signals).map_err(At::Findings)?;
    let Some(compared) = compared else { return Err(At::Raised(signals.raised)) };
    let report =
        variations.report.then(|| html::to_html(&compared, &PageData::of(&job, &compared)));
    Ok((divergence::to_json(&compared).to_string(), divergence::to_text(&compared), report))
}

/// A job of one launch.
pub(crate) fn parts(
    program: &Program,
    wanted: &Wanted,
    call: &mut Call,
) -> Result<(JobParts, KernelInfo, Vec<ArgSpec>), Diagnostics> {
    let name = call.word(&wanted.kernel);
    let kernels = program.program.kernels();
    let kernel = choose_kernel(&kernels, Some(&wanted.kernel))
        .map_err(|finding| one(finding.at(name, "not in the program")))?;
    let mut found = Diagnostics::new();
    let specs = specs(kernel, &wanted.args, call, &mut found);
    if found.has_errors() {
        return Err(found);
    }
    let span = call.span();
    let args_span = specs.iter().map(|s| s.span).reduce(Span::to).unwrap_or(span);
    let arrays = wanted.args.iter().enumerate().filter(|(i, a)| a.kind == "array" && a.same == *i);
    let buffers = arrays.map(|(index, arg)| {
        let span = specs.get(index).map_or(span, |spec: &ArgSpec| spec.span);
        let name = Located { value: buffer_name(kernel, &wanted.args, index), span };
        NamedBuffer { name, spec: buffer(arg, span) }
    });
    let launch = LaunchEntry {
        kernel: Some(Located { value: wanted.kernel.clone(), span: name }),
        grid: Some(Located { value: wanted.grid, span }),
        block: Some(Located { value: wanted.block, span }),
        shared: Some(Located { value: wanted.shared, span }),
        args: specs.clone(),
        args_span,
        options: Vec::new(),
        span,
    };
    let parts = JobParts {
        machine: program.machine,
        module: program.path.clone(),
        module_span: span,
        directory: PathBuf::new(),
        run: RunDefaults::default(),
        options: program.options.clone(),
        buffers: buffers.collect(),
        launches: vec![launch],
        expectations: Vec::new(),
    };
    debug_assert!(specs.iter().all(|spec| !matches!(spec.value, ArgValue::Buffer(_))));
    Ok((parts, kernel.clone(), specs))
}

/// An array as a buffer with these contents; of bytes, if its elements have no name here.
fn buffer(arg: &Given, span: Span) -> BufferSpec {
    let data: &[u8] = arg.data.as_deref().unwrap_or_default();
    let (ty, shape) = match ElemType::from_name(&arg.text) {
        Some(ty) => (ty, arg.shape.clone()),
        None => (ElemType::U8, vec![data.len() as u64]),
    };
    let word = |bytes: &[u8]| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    };
    let contents = Contents::Values(data.chunks(ty.bytes()).map(word).collect());
    BufferSpec { ty: Some(ty), shape: Some(shape), contents, span }
}
