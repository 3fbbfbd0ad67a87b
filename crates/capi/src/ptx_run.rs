//! `ptx_run`: one kernel on memory of the host, as test back ends without a GPU call it.

use std::ffi::{c_char, c_int, c_void};
use std::io::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use runtime::{Event, EventLog, Failure, HostMemoryModule, MappingHints, Module, Shape, read_host};

use crate::simtlab_status::{
    SimtlabBadHostAddress, SimtlabBadLaunch, SimtlabBadProgram, SimtlabFault,
    SimtlabInvalidArgument,
};
use crate::tables::settings;
use crate::{MAX_TEXT, Refusal, call, string};

/// Most arguments.
const MAX_ARGS: usize = 4096;
/// Texts that are kept loaded, as callers give the same ones again and again.
const KEPT: usize = 64;

/// A text that was given before.
struct Known {
    text: String,
    module: Arc<Module>,
    /// The module with what was compiled for it, unless a thread runs it now.
    idle: Option<HostMemoryModule>,
}

/// Texts that were given, the latest last.
static KNOWN: Mutex<Vec<Known>> = Mutex::new(Vec::new());

/// Runs the first kernel of a PTX text to its end, on the host's memory.
///
/// Each of the `n_args` words of `args` is an argument itself: a number, or an address of host
/// memory, of which the kernel may use all that the process has. Sizes are threads of a block and
/// blocks of the grid in x, y, z; `shared` is the size of dynamic shared memory in bytes. What goes
/// wrong is said on the standard error stream, and memory is then as it was before.
#[unsafe(no_mangle)]
pub extern "C" fn ptx_run(
    ptx: *const c_char,
    n_args: c_int,
    args: *mut *mut c_void,
    block_x: c_int,
    block_y: c_int,
    block_z: c_int,
    grid_x: c_int,
    grid_y: c_int,
    grid_z: c_int,
    shared: c_int,
) {
    let sizes = [block_x, block_y, block_z, grid_x, grid_y, grid_z, shared];
    let mut said = String::new();
    let status = call(|| {
        let end = run(ptx.addr(), n_args, args.addr(), sizes);
        if let Err((_, message)) = &end {
            said = format!("simtlab: ptx_run: {message}\n");
        }
        end
    });
    if status != crate::simtlab_status::SimtlabOk {
        // There is no other way to tell: the function returns nothing.
        let _ = std::io::stderr().write_all(said.as_bytes());
    }
}

fn run(ptx: usize, n_args: c_int, args: usize, sizes: [c_int; 7]) -> Result<(), Refusal> {
    let text = string(ptx, MAX_TEXT, "the PTX")?;
    let mut host = take(&text)?;
    let end = run_on(&mut host, n_args, args, sizes);
    give_back(&text, host);
    end
}

fn run_on(
    host: &mut HostMemoryModule,
    n_args: c_int,
    args: usize,
    sizes: [c_int; 7],
) -> Result<(), Refusal> {
    let module = Arc::clone(host.module());
    let Some((kernel, function)) = module.kernels().next() else {
        let refused: Vec<&str> =
            module.refused().iter().flat_map(|r| &r.findings).map(String::as_str).collect();
        return Err((SimtlabBadProgram, format!("no kernel can run: {}", refused.join("; "))));
    };
    let mut numbers = [0_u32; 7];
    for (number, size) in numbers.iter_mut().zip(sizes) {
        *number = u32::try_from(size)
            .map_err(|_| (SimtlabInvalidArgument, format!("a size of {size}")))?;
    }
    let [bx, by, bz, gx, gy, gz, shared] = numbers;
    let shape = Shape {
        grid: [gx, gy, gz],
        block: [bx, by, bz],
        shared: shared.into(),
        cooperative: false,
        cluster: None,
    };
    let words = words(n_args, args)?;
    let params = module.params(kernel);
    if params.len() != words.len() {
        let message =
            format!("{} arguments: `{}` takes {}", words.len(), function.name, params.len());
        return Err((SimtlabBadLaunch, message));
    }
    let mut block = vec![0; module.param_bytes(kernel)];
    for (param, word) in params.iter().zip(&words) {
        let size = (param.size as usize).min(8);
        block[param.offset as usize..][..size].copy_from_slice(&word.to_le_bytes()[..size]);
    }
    match host.run(kernel, shape, &block) {
        Ok(report) => {
            if let Some(log) = event_log() {
                log.write(&report.event(&function.name, &shape));
            }
            // Output of the kernel belongs to the process's own; a closed stream is no concern of
            // the kernel's.
            let mut out = std::io::stdout();
            let _ = out.write_all(&report.output).and_then(|()| out.flush());
            Ok(())
        }
        Err(failure) => {
            if let (Some(log), Failure::Stopped(stop)) = (event_log(), &failure) {
                log.write(&stop.event());
            }
            Err((SimtlabFault, failure.to_string()))
        }
    }
}

fn words(n_args: c_int, args: usize) -> Result<Vec<u64>, Refusal> {
    let count = usize::try_from(n_args).ok().filter(|&n| n <= MAX_ARGS);
    let count = count.ok_or_else(|| (SimtlabInvalidArgument, format!("{n_args} arguments")))?;
    let mut bytes = vec![0; 8 * count];
    if read_host(args as u64, &mut bytes) < bytes.len() {
        return Err((SimtlabBadHostAddress, format!("the arguments cannot be read at {args:#x}")));
    }
    let word = |b: &[u8]| u64::from_ne_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]);
    Ok(bytes.chunks_exact(8).map(word).collect())
}

fn known() -> MutexGuard<'static, Vec<Known>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The module of a text, ready to run: from before, unless another thread runs it, too.
fn take(text: &str) -> Result<HostMemoryModule, Refusal> {
    let mut texts = known();
    if let Some(at) = texts.iter().position(|known| known.text == text) {
        let mut entry = texts.remove(at);
        let idle = entry.idle.take();
        let host = idle.unwrap_or_else(|| ready(&entry.module));
        texts.push(entry);
        return Ok(host);
    }
    let module = Module::load("ptx", text).map_err(|e| (SimtlabBadProgram, e.to_string()))?;
    if texts.len() >= KEPT {
        texts.remove(0);
    }
    texts.push(Known { text: text.to_owned(), module: Arc::clone(&module), idle: None });
    Ok(ready(&module))
}

/// A module on the process's memory, of which all modules know together how far buffers reach.
fn ready(module: &Arc<Module>) -> HostMemoryModule {
    static HINTS: OnceLock<Arc<MappingHints>> = OnceLock::new();
    HostMemoryModule::new(
        Arc::clone(module),
        settings(),
        Arc::clone(HINTS.get_or_init(Arc::default)),
    )
}

/// Keeps a module for the next run, if its text is kept still.
fn give_back(text: &str, host: HostMemoryModule) {
    if let Some(entry) = known().iter_mut().find(|known| known.text == text) {
        entry.idle = Some(host);
    }
}

/// The event log that `SIMTLAB_JOURNAL` names.
fn event_log() -> Option<&'static EventLog> {
    static EVENT_LOG: OnceLock<Option<EventLog>> = OnceLock::new();
    let open = || {
        let log = EventLog::open(Path::new(&std::env::var_os("SIMTLAB_JOURNAL")?)).ok()?;
        log.write(&Event::Start { process: std::process::id(), interface: "ptx_run".to_owned() });
        Some(log)
    };
    EVENT_LOG.get_or_init(open).as_ref()
}
