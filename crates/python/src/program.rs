//! Programs: PTX, or the text form of the kernel IR.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use inputs::file::{MAX_PROGRAM_BYTES, read_input};
use inputs::kernel::{KernelInfo, ParamInfo, ParamKind, choose_kernel};
use inputs::launch::{Located, MachineOption, OptionValue};
use isa::{Diagnostic, SourceMap, Span};
use lab::run::load_program;
use lab::show;
use machines::Isa;
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::device::Shared;
use crate::raise::{Trouble, one};

/// Tells programs apart on a device.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A loaded program, for the package's Python half.
#[pyclass(frozen, module = "simtlab._simtlab")]
pub(crate) struct Program {
    pub(crate) id: u64,
    pub(crate) machine: &'static Isa,
    pub(crate) program: Arc<dyn machines::Program>,
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    /// Options of the machine, for all launches.
    pub(crate) options: Vec<MachineOption>,
    /// The program's text is the first.
    pub(crate) sources: SourceMap,
    /// Devices on which it may have variables.
    on: Mutex<Vec<Weak<Shared>>>,
}

impl Program {
    /// Notes that the program is launched on a device.
    pub(crate) fn launched_on(&self, device: &Arc<Shared>) {
        let mut on = self.on.lock().unwrap_or_else(PoisonError::into_inner);
        let device = Arc::downgrade(device);
        if !on.iter().any(|known| known.ptr_eq(&device)) {
            on.push(device);
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let on = std::mem::take(self.on.get_mut().unwrap_or_else(PoisonError::into_inner));
        for device in on.iter().filter_map(Weak::upgrade) {
            device.forget_program(self.id);
        }
    }
}

fn machine_of(path: &std::path::Path) -> Result<&'static Isa, Diagnostic> {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    match machines::by_extension(extension).filter(|m| matches!(m.name, "ptx" | "ir")) {
        Some(machine) => Ok(machine),
        None => {
            let message = format!("{} is not a program that can be loaded", path.display());
            Err(Diagnostic::error("input::machine", message)
                .help("name a .ptx or .ir file, or pass PTX text"))
        }
    }
}

fn load(
    name: String,
    path: PathBuf,
    text: Option<String>,
    kernels: &[String],
    limits_of: Option<&str>,
) -> Result<Program, Trouble> {
    let mut sources = SourceMap::new();
    let fail = |finding| Trouble::Compile(one(finding), SourceMap::new());
    let (machine, bytes) = match text {
        Some(text) => (machines::find("ptx").map_err(fail)?, text.into_bytes()),
        None => {
            let machine = machine_of(&path).map_err(fail)?;
            (machine, read_input(&path, MAX_PROGRAM_BYTES, None).map_err(fail)?)
        }
    };
    let options: Vec<MachineOption> =
        limits_of.into_iter().map(|value| option("limits-of", value)).collect();
    let machine = machines::configured(machine, &options).map_err(|finding| {
        Trouble::Launch(one(Diagnostic { primary: None, ..finding }), SourceMap::new())
    })?;
    let wanted: Vec<Located<String>> =
        kernels.iter().map(|k| Located { value: k.clone(), span: Span::default() }).collect();
    match load_program(machine, &name, &bytes, &wanted, &mut sources) {
        Ok((program, _)) => Ok(Program {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            machine,
            program,
            name,
            path,
            options,
            sources,
            on: Mutex::default(),
        }),
        Err(found) => {
            // An unknown kernel is the caller's mistake, not the program's.
            let unknown = found.iter().any(|finding| finding.code == "run::kernel");
            Err(if unknown {
                Trouble::Launch(placeless(&found), sources)
            } else {
                Trouble::Compile(found, sources)
            })
        }
    }
}

/// An option of the machine.
pub(crate) fn option(name: &str, value: &str) -> MachineOption {
    let span = Span::default();
    MachineOption {
        key: Located { value: name.to_owned(), span },
        value: Located { value: OptionValue::String(value.to_owned()), span },
    }
}

/// Findings about names that stand in no text.
fn placeless(found: &isa::Diagnostics) -> isa::Diagnostics {
    let mut out = isa::Diagnostics::new();
    for finding in found {
        out.push(Diagnostic { primary: None, ..finding.clone() });
    }
    out
}

#[pymethods]
impl Program {
    /// Loads a program from a file, or from text; all of it, or the kernels named. Limits are those
    /// of a device, if one is named.
    #[new]
    fn new(
        py: Python<'_>,
        name: String,
        path: PathBuf,
        text: Option<String>,
        kernels: Vec<String>,
        limits_of: Option<String>,
    ) -> PyResult<Self> {
        py.detach(|| load(name, path, text, &kernels, limits_of.as_deref()))
            .map_err(|trouble| trouble.raise(py))
    }

    /// The kernels with their parameters, as JSON.
    fn kernels(&self) -> String {
        let kernel = |kernel: &KernelInfo| {
            let params: Value = kernel.params.iter().map(param).collect();
            json!({
                "name": kernel.name,
                "params": params,
                "shared": kernel.shared,
                "local": kernel.local,
            })
        };
        self.program.kernels().iter().map(kernel).collect::<Value>().to_string()
    }

    /// The control-flow graph of a kernel, as text, or as a Graphviz graph.
    fn control_flow(&self, py: Python<'_>, kernel: &str, dot: bool) -> PyResult<String> {
        let known = self.program.kernels();
        let flow = choose_kernel(&known, Some(kernel)).and_then(|kernel| {
            let none = || {
                let message = format!("{} has no control-flow graphs", self.machine.name);
                Diagnostic::error("run::machine", message)
            };
            self.program.control_flow(&kernel.name).ok_or_else(none)
        });
        match flow {
            Ok(flow) if dot => Ok(show::flow_dot(&flow)),
            Ok(flow) => Ok(show::flow_text(&flow)),
            Err(finding) => Err(Trouble::Launch(one(finding), self.sources.clone()).raise(py)),
        }
    }

    /// What may go wrong when it runs, as far as that can be told before.
    fn warnings(&self) -> Vec<String> {
        self.program.warnings().into_iter().map(|warning| warning.message).collect()
    }
}

fn param(param: &ParamInfo) -> Value {
    let kind = match param.kind {
        ParamKind::Integer => "integer",
        ParamKind::Float => "float",
        ParamKind::Bits => "bits",
        ParamKind::Aggregate => "aggregate",
    };
    json!({ "name": param.name, "type": param.spelling.trim_start_matches('.'), "size": param.size, "offset": param.offset, "kind": kind })
}
