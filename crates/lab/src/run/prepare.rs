//! Preparation of jobs: everything before the first instruction.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use inputs::argspec::{ArgValue, BufferRef, BuildContext};
use inputs::array::Array;
use inputs::bind::is_parameter;
use inputs::elem::shortened;
use inputs::file::{MAX_PROGRAM_BYTES, read_input};
use inputs::kernel::{KernelInfo, choose_kernel};
use inputs::launch::{
    Expectation, LaunchEntry, LaunchFile, Located, MAX_FILE_BYTES, MachineOption, NamedBuffer,
    RunDefaults,
};
use inputs::limits::human_bytes;
use isa::{Diagnostic, Diagnostics, SourceMap, Span};
use machines::{Image, Isa, Program};

use super::checks::{self, Check};
use super::job::{Job, Result, Settings};

/// The parts of a job, from a launch file or from the command line.
pub struct JobParts {
    /// The machine.
    pub machine: &'static Isa,
    /// The program's file.
    pub module: PathBuf,
    /// The place that names it.
    pub module_span: Span,
    /// Base folder of the relative paths of buffers and expectations.
    pub directory: PathBuf,
    /// Settings of the launch file.
    pub run: RunDefaults,
    /// The machine's options.
    pub options: Vec<MachineOption>,
    /// The named buffers.
    pub buffers: Vec<NamedBuffer>,
    /// Launches.
    pub launches: Vec<LaunchEntry>,
    /// Expectations.
    pub expectations: Vec<Expectation>,
}

impl JobParts {
    /// Reads the parts from a launch file. `named` is the place that names the file.
    ///
    /// # Errors
    /// Returns diagnostics if the file cannot be read or is not a launch file.
    pub fn from_launch_file(
        path: &Path,
        named: Option<Span>,
        sources: &mut SourceMap,
    ) -> Result<Self> {
        let bytes = read_input(path, MAX_FILE_BYTES, named).map_err(one)?;
        let text = String::from_utf8(bytes).map_err(|e| {
            let at = e.utf8_error().valid_up_to();
            let message = format!("{} is not text: byte at offset {at}", path.display());
            one(Diagnostic::error("input::not-text", message).help("a launch file is TOML"))
        })?;
        let file = sources.add(path.display().to_string(), text.as_str());
        let read = LaunchFile::parse(&text, file)?;
        Self::from_parsed(read, path.parent().unwrap_or(Path::new("")))
    }

    /// Takes the parts from a parsed launch file; relative paths start at `directory`.
    ///
    /// # Errors
    /// Returns a diagnostic if the machine does not exist.
    pub fn from_parsed(read: LaunchFile, directory: &Path) -> Result<Self> {
        let machine = machines::find(&read.machine.value)
            .map_err(|finding| one(finding.at(read.machine.span, "unknown machine")))?;
        Ok(Self {
            machine,
            module: directory.join(&read.module.value),
            module_span: read.module.span,
            directory: directory.to_owned(),
            run: read.run,
            options: read.options,
            buffers: read.buffers,
            launches: read.launches,
            expectations: read.expectations,
        })
    }
}

/// Wraps a single diagnostic.
pub(super) fn one(finding: Diagnostic) -> Diagnostics {
    let mut found = Diagnostics::new();
    found.push(finding);
    found
}

impl Job {
    /// Reads and checks everything that a run needs.
    ///
    /// # Errors
    /// Returns all diagnostics that can be found independently of each other.
    pub fn prepare(
        mut parts: JobParts,
        settings: &Settings,
        sources: &mut SourceMap,
    ) -> Result<Self> {
        parts.machine = machines::configured(parts.machine, &parts.options).map_err(one)?;
        let image =
            read_input(&parts.module, MAX_PROGRAM_BYTES, Some(parts.module_span)).map_err(one)?;
        let module_name = parts.module.display().to_string();
        let (program, warnings) =
            load_program(parts.machine, &module_name, &image, &wanted(&parts.launches), sources)?;
        Ok(Self::prepare_loaded(parts, program, settings)?.with_warnings(warnings))
    }

    /// Adds warnings about the program to those of the job.
    #[must_use]
    pub fn with_warnings(mut self, warnings: Vec<Diagnostic>) -> Self {
        self.load_warnings.extend(warnings);
        self
    }

    /// Prepares a job like [`Job::prepare`], with a program that is already loaded.
    ///
    /// # Errors
    /// Returns diagnostics like [`Job::prepare`].
    pub fn prepare_loaded(
        mut parts: JobParts,
        program: Arc<dyn Program>,
        settings: &Settings,
    ) -> Result<Self> {
        let mut found = Diagnostics::new();
        let machine = parts.machine;
        let nowhere = parts.module_span;
        let mechanism = mechanism(machine, settings, &parts.run, nowhere);
        let mechanism = mechanism.unwrap_or_else(|finding| {
            found.push(finding);
            Located { value: String::new(), span: nowhere }
        });
        let warp_size = settings.warp_size.clone().or(parts.run.warp_size.clone());
        let warp_size =
            warp_size.unwrap_or(Located { value: machine.default_warp_size, span: nowhere });
        let seed = settings.seed.or(parts.run.seed.as_ref().map(|s| s.value)).unwrap_or(0);
        let limit = settings.limit.or(parts.run.limit.as_ref().map(|s| s.value));
        let mut launches = find_kernels(program.as_ref(), &parts, &mut found);
        for (kernel, launch) in &mut launches {
            hoist(kernel, launch, &mut parts.buffers, &mut found);
        }
        let buffers = build_buffers(&parts, settings, seed, &mut found);
        for (_, launch) in &mut launches {
            make_tensor_maps(launch, &buffers, &mut found);
        }
        let (checks, skipped_checks) = prepare_checks(
            &parts,
            &buffers,
            &mechanism.value,
            warp_size.value,
            settings,
            &mut found,
        );
        if found.has_errors() {
            return Err(found);
        }
        Ok(Self {
            machine,
            program,
            module_name: parts.module.display().to_string(),
            module: parts.module,
            mechanism,
            warp_size,
            seed,
            limit,
            engine: settings.engine,
            level: settings.level,
            threads: settings.threads,
            options: parts.options,
            buffers,
            launches,
            checks,
            skipped_checks,
            memory: settings.memory.clone(),
            load_warnings: Vec::new(),
        })
    }
}

/// Returns the distinct kernels that launches name; empty if a launch names none.
#[must_use]
pub fn wanted(launches: &[LaunchEntry]) -> Vec<Located<String>> {
    let names: Option<Vec<Located<String>>> = launches.iter().map(|l| l.kernel.clone()).collect();
    let mut names = names.unwrap_or_default();
    names.sort_by(|a, b| a.value.cmp(&b.value));
    names.dedup_by(|a, b| a.value == b.value);
    names
}

/// Loads a program and adds its text, if it is text, to the source map. Returns it with the
/// machine's warnings about it.
///
/// # Errors
/// Returns the diagnostics of the machine.
pub fn load_program(
    machine: &'static Isa,
    name: &str,
    image: &[u8],
    wanted: &[Located<String>],
    sources: &mut SourceMap,
) -> Result<(Arc<dyn Program>, Vec<Diagnostic>)> {
    let file = sources.add(name, std::str::from_utf8(image).unwrap_or(""));
    let mut found = Diagnostics::new();
    match machines::load(machine, Image { bytes: image, file }, wanted, &mut found) {
        Some(program) if !found.has_errors() => {
            Ok((Arc::from(program), found.iter().cloned().collect()))
        }
        _ => Err(found),
    }
}

fn mechanism(
    machine: &'static Isa,
    settings: &Settings,
    run: &RunDefaults,
    nowhere: Span,
) -> std::result::Result<Located<String>, Diagnostic> {
    let known = machine.mechanisms;
    let given = settings.mechanism.clone().or(run.mechanism.clone());
    let default = known.first().map_or("", |m| m.name);
    let chosen = given.unwrap_or(Located { value: default.to_owned(), span: nowhere });
    let value = known_mechanism(machine, &chosen)?;
    Ok(Located { value, span: chosen.span })
}

/// Resolves a mechanism's name or alias to the machine's name for it.
fn known_mechanism(
    machine: &'static Isa,
    name: &Located<String>,
) -> std::result::Result<String, Diagnostic> {
    if machine.mechanisms.is_empty() {
        return Ok(name.value.clone());
    }
    machines::one_mechanism(machine, &name.value)
        .map_err(|finding| finding.at(name.span, "unknown mechanism"))
}

/// Turns buffers created for arguments into named ones, named after the argument or else the
/// parameter.
fn hoist(
    kernel: &KernelInfo,
    launch: &mut LaunchEntry,
    buffers: &mut Vec<NamedBuffer>,
    found: &mut Diagnostics,
) {
    let by_name = launch.args.iter().any(|a| is_parameter(kernel, a));
    for (index, arg) in launch.args.iter_mut().enumerate() {
        let ArgValue::Buffer(spec) = &arg.value else { continue };
        let param = kernel.params.get(index).filter(|_| !by_name).map(|p| p.name.clone());
        let name = arg.name.clone().or(param).unwrap_or_else(|| format!("arg{index}"));
        if let Some(first) = buffers.iter().find(|b| b.name.value == name) {
            let message = format!("there are two buffers `{}`", shortened(&name));
            let finding = Diagnostic::error("arg::name", message).at(spec.span, "the second one");
            let help = "give them different names, or refer to the first one with &";
            found.push(finding.also(first.spec.span, "the first one").help(help));
            continue;
        }
        let name = Located { value: name, span: arg.span };
        let reference = BufferRef { name: name.value.clone(), offset: 0 };
        buffers.push(NamedBuffer { name, spec: spec.clone() });
        arg.value = ArgValue::Reference(reference);
    }
}

/// Makes the tensor maps among the arguments, of buffers that are known. Others are found later.
fn make_tensor_maps(
    launch: &mut LaunchEntry,
    buffers: &[(NamedBuffer, Array)],
    found: &mut Diagnostics,
) {
    for arg in &mut launch.args {
        let ArgValue::Tensor(spec) = &mut arg.value else { continue };
        let tensor = buffers.iter().find(|(buffer, _)| buffer.name.value == spec.buffer.name);
        if let Some((_, array)) = tensor
            && let Err(finding) = spec.make(array.ty(), array.shape(), arg.span)
        {
            found.push(finding);
        }
    }
}

fn build_buffers(
    parts: &JobParts,
    settings: &Settings,
    run_seed: u64,
    found: &mut Diagnostics,
) -> Vec<(NamedBuffer, Array)> {
    let context = BuildContext { directory: &parts.directory, run_seed, limits: settings.limits };
    // The limit on stated sizes is enforced before the first buffer is filled.
    let mut stated: u64 = 0;
    for buffer in &parts.buffers {
        let bytes = buffer.spec.stated_bytes(settings.limits.buffer_bytes);
        stated = stated.saturating_add(bytes.unwrap_or(0));
        if stated > settings.limits.total_bytes {
            found.push(over_total(settings.limits.total_bytes, buffer.spec.span));
            return Vec::new();
        }
    }
    let mut total: u64 = 0;
    let mut buffers = Vec::with_capacity(parts.buffers.len());
    for buffer in &parts.buffers {
        match buffer.spec.build(&buffer.name.value, context) {
            Ok(array) => {
                total = total.saturating_add(array.data().len() as u64);
                if total > settings.limits.total_bytes {
                    found.push(over_total(settings.limits.total_bytes, buffer.spec.span));
                    break;
                }
                buffers.push((buffer.clone(), array));
            }
            Err(finding) => found.push(finding),
        }
    }
    buffers
}

/// Returns the error for buffers that exceed the total limit.
fn over_total(cap: u64, span: Span) -> Diagnostic {
    let message = format!("the buffers together have more than {}", human_bytes(u128::from(cap)));
    Diagnostic::error("arg::too-large", message)
        .at(span, "this one does not fit")
        .help("use smaller extents")
}

fn find_kernels(
    program: &dyn Program,
    parts: &JobParts,
    found: &mut Diagnostics,
) -> Vec<(KernelInfo, LaunchEntry)> {
    let kernels = program.kernels();
    let mut launches = Vec::with_capacity(parts.launches.len());
    for launch in &parts.launches {
        match find_kernel(&kernels, launch) {
            Ok(kernel) => launches.push((kernel.clone(), launch.clone())),
            Err(finding) => found.push(finding),
        }
    }
    launches
}

fn find_kernel<'k>(
    kernels: &'k [KernelInfo],
    launch: &LaunchEntry,
) -> std::result::Result<&'k KernelInfo, Diagnostic> {
    let name = launch.kernel.as_ref();
    choose_kernel(kernels, name.map(|n| n.value.as_str())).map_err(|finding| match name {
        Some(name) => finding.at(name.span, "not in the program"),
        None => finding.at(launch.span, ""),
    })
}

fn prepare_checks(
    parts: &JobParts,
    buffers: &[(NamedBuffer, Array)],
    mechanism: &str,
    warp_size: u64,
    settings: &Settings,
    found: &mut Diagnostics,
) -> (Vec<Check>, usize) {
    let mut checks = Vec::new();
    let mut skipped = 0;
    for expectation in &parts.expectations {
        let mut named = false;
        for name in &expectation.mechanisms {
            match known_mechanism(parts.machine, name) {
                Ok(known) => named |= known == mechanism,
                Err(finding) => found.push(finding),
            }
        }
        let applies = (expectation.mechanisms.is_empty() || named)
            && (expectation.warp_sizes.is_empty() || expectation.warp_sizes.contains(&warp_size));
        if !applies {
            skipped += 1;
            continue;
        }
        let context = checks::Context {
            directory: &parts.directory,
            buffers,
            cap: settings.limits.buffer_bytes,
        };
        match checks::prepare(expectation, &context) {
            Ok(check) => checks.push(check),
            Err(finding) => found.push(finding),
        }
    }
    (checks, skipped)
}
