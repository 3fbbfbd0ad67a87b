//! One kernel under many mechanisms.

use std::path::PathBuf;

use inputs::argspec::{ArgSpec, ArgValue, BufferSpec, Contents};
use inputs::elem::ElemType;
use inputs::kernel::{KernelInfo, choose_kernel};
use inputs::launch::{LaunchEntry, Located, NamedBuffer, RunDefaults};
use isa::{Diagnostic, Diagnostics, Span};
use lab::run::{Job, JobParts, Settings};
use pyo3::prelude::*;
use study::divergence::{self, Plan};
use study::html::{self, PageData};

use crate::args::{Call, Given, buffer_name, specs};
use crate::launch::Wanted;
use crate::program::Program;
use crate::raise::one;
use crate::signals::Signals;
use crate::subject::{At, Subject};

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

/// Compares mechanisms on a launch.
#[pyfunction]
pub(crate) fn compare(
    py: Python<'_>,
    subject: Subject<'_>,
    variations: Variations,
) -> PyResult<Compared> {
    let words = [
        ("mechanisms", variations.mechanisms.as_deref()),
        ("warp_sizes", variations.warp_sizes.as_deref()),
        ("order", variations.order.as_deref()),
    ];
    let settings = |_| variations.settings();
    subject.study(py, ("compare", words), settings, |job, places, _| {
        compare_job(&job, &variations, places)
    })
}

impl Variations {
    fn settings(&self) -> Settings {
        Settings { seed: self.seed, limit: self.limit, ..Settings::default() }
    }

    fn plan(
        &self,
        job: &Job,
        [mechanisms, warp_sizes, order]: [Span; 3],
    ) -> Result<Plan, Diagnostic> {
        let machine = job.machine();
        Ok(Plan {
            mechanisms: match &self.mechanisms {
                Some(list) => machines::mechanisms_named(machine, list, mechanisms)?,
                None => machine.mechanisms.iter().map(|m| m.name.to_owned()).collect(),
            },
            warp_sizes: match &self.warp_sizes {
                Some(list) => divergence::numbers_named(list, warp_sizes)?,
                None => vec![job.warp_size()],
            },
            order: match &self.order {
                Some(name) => Some(divergence::order_named(name, order)?),
                None => None,
            },
            settings: divergence::default_settings(machine),
            star: true,
            record_views: self.report,
            ..Plan::default()
        })
    }
}

fn compare_job(job: &Job, variations: &Variations, places: [Span; 3]) -> Result<Compared, At> {
    let plan = variations.plan(job, places)?;
    let mut signals = Signals::new();
    let compared = divergence::compare(job, &plan, &mut signals)?;
    let Some(compared) = compared else { return Err(At::Raised(signals.raised)) };
    let report = variations.report.then(|| html::to_html(&compared, &PageData::of(job, &compared)));
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
