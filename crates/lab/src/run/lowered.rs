//! Runs of a job whose kernels another machine executes, as programs of its own.

use inputs::argspec::BufferRef;
use inputs::array::Array;
use inputs::bind::bind;
use inputs::elem::shortened;
use inputs::kernel::{KernelInfo, ParamInfo};
use isa::{Diagnostic, Diagnostics, SourceMap};
use machines::{Image, Isa, LaunchMonitor, LaunchRequest, LaunchResult, Program};

use super::job::{Job, Result};
use super::prepare::one;
use super::report::FinalBuffer;

/// A program of another machine, in the place of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoweredProgram {
    /// Text for the machine's assembler.
    pub text: String,
    /// Whether its one parameter is the address of the kernel's parameter block.
    pub block: bool,
}

/// What a machine made of the programs of a job's launches.
#[derive(Clone, Debug)]
pub struct LoweredRun {
    /// Of each launch that was started.
    pub launches: Vec<LaunchResult>,
    /// All buffers.
    pub buffers: Vec<FinalBuffer>,
}

impl Job {
    /// Returns the program that the job runs.
    #[must_use]
    pub fn program(&self) -> &dyn Program {
        self.program.as_ref()
    }

    /// Runs a program of another machine in the place of each launch, with the launch's arguments
    /// and the contents of the buffers, which go on from launch to launch. The machine's own
    /// defaults apply but for `width`, the lanes of a group, and `limit`, the most issues of a
    /// launch, where the job has no limit of its own.
    ///
    /// # Errors
    /// Returns diagnostics if a program does not load, or does not take the arguments.
    pub fn run_lowered(
        &self,
        machine: &'static Isa,
        programs: &[LoweredProgram],
        (width, limit): (Option<u64>, Option<u64>),
        monitor: &mut dyn LaunchMonitor,
    ) -> Result<LoweredRun> {
        let mut arrays: Vec<(String, Array)> =
            self.inputs().map(|(name, array)| (name.to_owned(), array.clone())).collect();
        let mut launches = Vec::with_capacity(programs.len());
        // Launches of one size have one program.
        let mut loaded: Vec<(&str, Box<dyn Program>)> = Vec::new();
        for (lowered, (source, launch)) in programs.iter().zip(&self.launches) {
            let at = match loaded.iter().position(|(known, _)| *known == lowered.text) {
                Some(at) => at,
                None => {
                    loaded.push((&lowered.text, load(machine, &lowered.text)?));
                    loaded.len() - 1
                }
            };
            let program = loaded[at].1.as_ref();
            let kernels = program.kernels();
            let kernel = inputs::kernel::choose_kernel(&kernels, None).map_err(one)?;
            let mut context = program.context().map_err(one)?;
            let mut addresses = Vec::with_capacity(arrays.len());
            for (name, array) in &arrays {
                let address = context.allocate(name, array.data());
                addresses.push(address.map_err(|reason| no_room(name, &reason))?);
            }
            let mut address = |reference: &BufferRef, span| {
                let at = arrays.iter().position(|(name, _)| *name == reference.name);
                at.map(|at| addresses[at]).ok_or_else(|| {
                    let name = shortened(&reference.name);
                    Diagnostic::error("arg::reference", format!("there is no buffer `{name}`"))
                        .at(span, "")
                })
            };
            let given = bind(source, &launch.args, Some(launch.args_span), &mut address)?;
            let params = if lowered.block {
                let address = context.allocate("parameters", &given);
                let address = address.map_err(|reason| no_room("parameters", &reason))?;
                address.to_le_bytes().to_vec()
            } else {
                arguments(source, kernel, &given)?
            };
            // A lowered kernel numbers threads and CTAs over all dimensions.
            let extents = |given: Option<[u64; 3]>| match machine.has_grid {
                true => [given.unwrap_or([1; 3]).iter().product(), 1, 1],
                false => [1; 3],
            };
            let request = LaunchRequest {
                kernel: &kernel.name,
                grid: extents(launch.grid.as_ref().map(|g| g.value)),
                block: extents(launch.block.as_ref().map(|b| b.value)),
                shared: 0,
                params: &params,
                mechanism: machine.default_mechanisms.first().copied().unwrap_or_default(),
                warp_size: width.unwrap_or(machine.default_warp_size),
                seed: self.seed,
                limit: self.limit.or(limit),
                detailed: false,
                engine: self.engine,
                level: self.level,
                threads: self.threads,
                options: &[],
            };
            let result = context.launch(&request, monitor);
            let result =
                result.map_err(|problem| one(Diagnostic::error("run::launch", problem.message)))?;
            let ended = matches!(result.end, machines::End::Done);
            launches.push(result);
            for ((name, array), address) in arrays.iter_mut().zip(&addresses) {
                let data = context.read(*address, array.data().len());
                let data = data.map_err(|reason| no_room(name, &reason))?;
                if let Ok(read) = Array::new(array.ty(), array.shape().to_vec(), data) {
                    *array = read;
                }
            }
            if !ended {
                break;
            }
        }
        let buffer = |(name, contents)| FinalBuffer { name, contents };
        Ok(LoweredRun { launches, buffers: arrays.into_iter().map(buffer).collect() })
    }

    /// Returns whether buffers hold what the job's expectations say of them; `None` if they say
    /// nothing.
    #[must_use]
    pub fn accepts(&self, buffers: &[FinalBuffer]) -> Option<bool> {
        let judged = self.checks.iter().filter_map(|check| check.accepts(buffers));
        judged.reduce(|all, one| all && one)
    }

    /// Returns kernel, grid, block and dynamic shared memory of each launch.
    pub fn launch_sizes(&self) -> impl Iterator<Item = (&str, [u64; 3], [u64; 3], u64)> {
        self.launches.iter().map(|(kernel, launch)| {
            let grid = launch.grid.as_ref().map_or([1; 3], |g| g.value);
            let block = launch.block.as_ref().map_or([1; 3], |b| b.value);
            (kernel.name.as_str(), grid, block, launch.shared.as_ref().map_or(0, |s| s.value))
        })
    }
}

/// The parameter block of a lowered kernel: its parameters are those of its source in order, or
/// words of them, named by the parameter and the number of the word.
fn arguments(source: &KernelInfo, kernel: &KernelInfo, given: &[u8]) -> Result<Vec<u8>> {
    let same = source.params.len() == kernel.params.len();
    let end = kernel.params.iter().map(|p| p.offset + p.size).max().unwrap_or(0);
    let mut block = vec![0; end as usize];
    for (index, param) in kernel.params.iter().enumerate() {
        let word = |p: &&ParamInfo| {
            let number = param.name.strip_prefix(&p.name)?.strip_prefix('_')?;
            Some(4 * number.parse::<u64>().ok()?)
        };
        let found = match source.params.get(index).filter(|_| same) {
            Some(whole) => Some((whole, 0)),
            None => source.params.iter().find_map(|p| {
                if p.name == param.name { Some((p, 0)) } else { word(&p).map(|at| (p, at)) }
            }),
        };
        let Some((from, at)) = found else {
            let message = format!("there is no argument for `{}`", shortened(&param.name));
            return Err(one(Diagnostic::error("run::launch", message)));
        };
        let size = from.size.saturating_sub(at).min(param.size) as usize;
        let (start, to) = ((from.offset + at) as usize, param.offset as usize);
        if let (Some(from), Some(to)) =
            (given.get(start..start + size), block.get_mut(to..to + size))
        {
            to.copy_from_slice(from);
        }
    }
    Ok(block)
}

fn load(machine: &'static Isa, text: &str) -> Result<Box<dyn Program>> {
    let mut sources = SourceMap::new();
    let file = sources.add(machine.name.to_owned(), text);
    let mut found = Diagnostics::new();
    let image = Image { bytes: text.as_bytes(), file };
    machines::load(machine, image, &[], &mut found).ok_or(found)
}

fn no_room(name: &str, reason: &str) -> Diagnostics {
    let message = format!("no room for buffer `{}`: {reason}", shortened(name));
    one(Diagnostic::error("run::memory", message))
}
