//! Launches, copies and fills that kernels ask for through CUDA's device runtime.
//!
//! Kernels record what they ask for in a queue in global memory (`device_launches.cu`). It is done
//! after the grid: a grid cannot wait for its children, and counts as ended only when they have.
//! What a grid has asked for is done in the order of its tickets, each with all that it asks for
//! in turn; then what it has put into its tail stream. That order is one of those that the rules of
//! streams allow.

use ir::FuncId;
use simt::memory::{Addr, MapError};

use crate::context::{Context, ContextError, ModuleId};
use crate::launch::{Failure, Report, Shape};
use crate::stop::{Stop, StopKind};
use modules::Module;

/// The variable that holds the queue. The fields are at these offsets.
const QUEUE: &str = "__simtlab_device_queue";
const WORK: u64 = 0;
const STRIDE: u64 = 8;
const CAPACITY: u64 = 16;
const RESERVED: u64 = 24;
const DEPTH: u64 = 40;
const MOST_DEPTH: u64 = 44;
const MOST_THREADS: u64 = 48;
const MOST_SHARED: u64 = 52;
const VERSION: u64 = 56;
const ATTRIBUTES: u64 = 72;

/// The number of device attributes that kernels can ask for.
pub const DEVICE_ATTRIBUTES: usize = 160;

/// Bytes of a record before its parameters, and least bytes of these.
const HEAD: u64 = 64;
const LEAST_PARAMS: u64 = 72;

/// The number of records that a grid can have, and the number where there is no room for that.
const CAPACITIES: [u64; 2] = [1 << 16, 1 << 11];

/// Levels of nested grids, as on devices.
const LEVELS: u32 = 24;

/// Most grids of one launch of the host: tails that launch themselves go on without end.
const MOST_GRIDS: usize = 1 << 17;

/// Words of a record that stand in the place of a kernel, and its state when it is complete.
const COPY: u64 = 1;
const FILL: u64 = 2;
const READY: u32 = 1;
/// The stream of work that follows a grid.
const TAIL: u64 = 3;

/// The queue of a loaded module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceQueue {
    variable: Addr,
    pub(crate) work: Addr,
    stride: u64,
    capacity: u64,
}

/// A grid that a kernel has launched.
#[derive(Clone, Debug)]
pub struct ChildLaunch {
    /// The kernel's name.
    pub kernel: String,
    /// Its sizes.
    pub shape: Shape,
    /// What it did.
    pub report: Report,
}

/// What a kernel has asked for.
#[derive(Clone, Debug)]
enum Work {
    Launch {
        kernel: FuncId,
        shape: Shape,
        params: Vec<u8>,
    },
    /// `to`, `from` or the value, width, height, depth, pitches, and rows of a plane.
    Move {
        fill: bool,
        args: [u64; 9],
    },
}

/// Returns a little-endian number of up to 8 bytes.
fn number(bytes: &[u8], at: usize, len: usize) -> u64 {
    let mut word = [0; 8];
    word[..len].copy_from_slice(&bytes[at..at + len]);
    u64::from_le_bytes(word)
}

impl Context {
    /// Gives a module whose kernels may launch others a queue.
    pub(crate) fn make_queue(&mut self, id: ModuleId) -> Result<Option<DeviceQueue>, MapError> {
        let Some((variable, _)) = self.variable(id, QUEUE) else { return Ok(None) };
        let Some(module) = self.module(id) else { return Ok(None) };
        let params = module.kernels().map(|(kernel, _)| module.param_bytes(kernel) as u64).max();
        let stride = (HEAD + params.unwrap_or(0).max(LEAST_PARAMS)).next_multiple_of(HEAD);
        let mut made = Err(MapError::NotAllocated { addr: variable, inside: None });
        for capacity in CAPACITIES {
            let memory = self.allocate("work of kernels", capacity * stride);
            made = memory.map(|work| DeviceQueue { variable, work, stride, capacity });
            if made.is_ok() {
                break;
            }
        }
        let queue = made?;
        for (at, word) in [(WORK, queue.work.0), (STRIDE, stride), (CAPACITY, queue.capacity)] {
            self.set(queue, at, &word.to_le_bytes());
        }
        let limits = [(MOST_DEPTH, LEVELS), (MOST_THREADS, 1024), (MOST_SHARED, 227 << 10)];
        for (at, word) in limits {
            self.set(queue, at, &word.to_le_bytes());
        }
        Ok(Some(queue))
    }

    /// Tells kernels of a module the version of the runtime and the device's attributes, if they
    /// can ask.
    pub fn describe_device(&mut self, id: ModuleId, version: i32, attributes: &[i32]) {
        let Some(queue) = self.loaded.get(&id).and_then(|loaded| loaded.queue) else { return };
        self.set(queue, VERSION, &version.to_le_bytes());
        for (i, value) in attributes.iter().take(DEVICE_ATTRIBUTES).enumerate() {
            self.set(queue, ATTRIBUTES + 4 * i as u64, &value.to_le_bytes());
        }
    }

    fn set(&mut self, queue: DeviceQueue, at: u64, bytes: &[u8]) {
        // The variable has these bytes as long as its module is loaded.
        let written = self.write(queue.variable.wrapping_add(at), bytes);
        debug_assert!(written.is_ok());
    }

    /// Runs a grid, and then all that its kernels have asked for.
    pub(crate) fn launch_tree(
        &mut self,
        (id, queue): (ModuleId, DeviceQueue),
        kernel: FuncId,
        shape: Shape,
        params: &[u8],
    ) -> Result<Report, Failure> {
        self.set(queue, DEPTH, &0_u32.to_le_bytes());
        let mut report = self.launch_grid(id, kernel, shape, params)?;
        let module = &self.loaded.get(&id).ok_or(ContextError::Module)?.module;
        let root = module.function(kernel).map_or_else(String::new, |f| f.name.clone());
        let mut pending = Vec::new();
        self.take_work((id, queue), 0, &mut pending)?;
        while let Some((work, depth)) = pending.pop() {
            let (kernel, shape, params) = match work {
                Work::Move { fill, args } => {
                    self.transfer(fill, &args).map_err(|error| transfer_stop(&error, &root))?;
                    continue;
                }
                Work::Launch { kernel, shape, params } => (kernel, shape, params),
            };
            let module = self.loaded.get(&id).ok_or(ContextError::Module)?.module.clone();
            let name = module.function(kernel).map_or_else(String::new, |f| f.name.clone());
            if report.children.len() >= MOST_GRIDS {
                return Err(Failure::Stopped(Box::new(endless(&name))));
            }
            self.set(queue, DEPTH, &depth.to_le_bytes());
            let child = self.launch_grid(id, kernel, shape, &params)?;
            report.children.push(ChildLaunch { kernel: name, shape, report: child });
            self.take_work((id, queue), depth, &mut pending)?;
        }
        Ok(report)
    }

    /// Moves what a grid of this depth has asked for onto the stack of pending work.
    fn take_work(
        &mut self,
        (id, queue): (ModuleId, DeviceQueue),
        depth: u32,
        pending: &mut Vec<(Work, u32)>,
    ) -> Result<(), Failure> {
        let mut counts = [0; 16];
        self.read(queue.variable.wrapping_add(RESERVED), &mut counts)?;
        let count = number(&counts, 0, 8).min(queue.capacity);
        if count == 0 {
            return Ok(());
        }
        self.set(queue, RESERVED, &[0; 16]);
        let module = self.loaded.get(&id).ok_or(ContextError::Module)?.module.clone();
        let mut found = Vec::new();
        let mut record = vec![0; queue.stride as usize];
        for i in 0..count {
            self.read(queue.work.wrapping_add(i * queue.stride), &mut record)?;
            if number(&record, 36, 4) as u32 == READY {
                let (stream, ticket) = (number(&record, 40, 8), number(&record, 48, 8));
                found.push((stream == TAIL, ticket, work(&module, &record)?));
            }
        }
        // The stack's top comes first: in order of tickets, the tail's last.
        found.sort_by_key(|&(tail, ticket, _)| (tail, ticket));
        let depth = |tail: bool| if tail { depth } else { depth + 1 };
        pending.extend(found.into_iter().rev().map(|(tail, _, work)| (work, depth(tail))));
        Ok(())
    }

    fn transfer(&mut self, fill: bool, args: &[u64; 9]) -> Result<(), ContextError> {
        let &[to, from, width, height, depth, to_pitch, from_pitch, to_rows, from_rows] = args;
        let row = |start: u64, pitch: u64, rows: u64, y: u64, z: u64| {
            Addr(start.wrapping_add(pitch.wrapping_mul(z.wrapping_mul(rows).wrapping_add(y))))
        };
        if width == 0 {
            return Ok(());
        }
        // A wrong row ends the copy, so that large extents do not go on for long.
        for z in 0..depth {
            for y in 0..height {
                let to = row(to, to_pitch, to_rows, y, z);
                match fill {
                    true => self.fill(to, &[from as u8], width)?,
                    false => self.copy(to, row(from, from_pitch, from_rows, y, z), width)?,
                }
            }
        }
        Ok(())
    }
}

/// Reads a record. A kernel's address that is none is refused as a launch of the host would be.
fn work(module: &Module, record: &[u8]) -> Result<Work, Failure> {
    let kernel = number(record, 0, 8);
    if matches!(kernel, COPY | FILL) {
        let args = std::array::from_fn(|i| number(record, HEAD as usize + 8 * i, 8));
        return Ok(Work::Move { fill: kernel == FILL, args });
    }
    let index = kernel.wrapping_sub(vm::FUNCTION_BASE);
    let id = FuncId(u32::try_from(index / 16).unwrap_or(u32::MAX));
    let known = index.is_multiple_of(16) && module.kernels().any(|(known, _)| known == id);
    if !known {
        let name = format!("the function at {kernel:#x}");
        return Err(vm::LaunchError::NotAKernel(name).into());
    }
    let word = |at: usize| number(record, at, 4) as u32;
    let shape = Shape {
        grid: [word(8), word(12), word(16)],
        block: [word(20), word(24), word(28)],
        shared: word(32).into(),
        cooperative: false,
        cluster: None,
    };
    let params = &record[HEAD as usize..HEAD as usize + module.param_bytes(id)];
    Ok(Work::Launch { kernel: id, shape, params: params.to_vec() })
}

/// The stop of a copy or fill beyond memory, which the host's launch of a kernel has led to.
fn transfer_stop(error: &ContextError, kernel: &str) -> Failure {
    let ContextError::Access(access) = error else { return Failure::Context(error.clone()) };
    let message = format!("a copy or fill in a kernel's stream: {}", places::explain(access));
    let stop = bare(StopKind::Fault, access.violation.code(), message, kernel);
    Failure::Stopped(Box::new(Stop { access: Some(access.clone()), ..stop }))
}

fn endless(kernel: &str) -> Stop {
    let message = format!("kernels have launched {MOST_GRIDS} grids after one of the host's");
    bare(StopKind::Hang, "limit", message, kernel)
}

fn bare(kind: StopKind, code: &'static str, message: String, kernel: &str) -> Stop {
    let place = places::Place::default();
    let (access, parameter, block) = (None, None, None);
    Stop { kind, code, message, kernel: kernel.to_owned(), place, access, parameter, block }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::Settings;

    /// `add` adds 1 to `order` and stores what was there behind its own number. `main` launches
    /// it, by stream: 0 with number 1, the tail with 2, another with 3; and `nested` between them,
    /// which launches 4, and 5 into its tail.
    const TEXT: &str = "
        .version 7.0 .target sm_70 .address_size 64
        .extern .func (.param .b64 r) __cudaCDP2GetParameterBufferV2(.param .b64 f,
            .param .align 4 .b8 g[12], .param .align 4 .b8 b[12], .param .b32 s);
        .extern .func (.param .b32 r) __cudaCDP2LaunchDeviceV2(.param .b64 p, .param .b64 s);
        .extern .func (.param .b32 r) __cudaCDP2GetLastError();
        .visible .global .u32 order;
        .visible .global .u32 error;
        .visible .entry add(.param .u64 out, .param .u32 number) {
            .reg .b32 %n, %v; .reg .b64 %a;
            ld.param.u64 %a, [out]; ld.param.u32 %n, [number];
            mad.wide.u32 %a, %n, 4, %a;
            atom.global.add.u32 %v, [order], 1;
            st.global.u32 [%a], %v;
            ret;
        }
        .func start(.param .b64 f, .param .b64 out, .param .b32 number, .param .b64 stream) {
            .reg .b32 %n, %e; .reg .b64 %f, %o, %s, %p; .reg .pred %q;
            ld.param.b64 %f, [f]; ld.param.b64 %o, [out]; ld.param.b32 %n, [number];
            ld.param.b64 %s, [stream];
            { .param .b64 pf, r; .param .align 4 .b8 pg[12], pb[12]; .param .b32 ps;
              st.param.b64 [pf], %f; st.param.b32 [pg], 1; st.param.b32 [pg+4], 1;
              st.param.b32 [pg+8], 1; st.param.b32 [pb], 1; st.param.b32 [pb+4], 1;
              st.param.b32 [pb+8], 1; st.param.b32 [ps], 0;
              call (r), __cudaCDP2GetParameterBufferV2, (pf, pg, pb, ps); ld.param.b64 %p, [r]; }
            st.u64 [%p], %o; st.u32 [%p+8], %n;
            { .param .b64 pp, ps; .param .b32 r; st.param.b64 [pp], %p; st.param.b64 [ps], %s;
              call (r), __cudaCDP2LaunchDeviceV2, (pp, ps); ld.param.b32 %e, [r]; }
            setp.eq.u32 %q, %e, 0;
            @%q ret;
            st.global.u32 [error], %e;
            ret;
        }
        .visible .entry nested(.param .u64 out, .param .u32 number) {
            .reg .b64 %o, %f;
            ld.param.u64 %o, [out]; mov.u64 %f, add;
            { .param .b64 a, b, d; .param .b32 c; st.param.b64 [a], %f; st.param.b64 [b], %o;
              st.param.b32 [c], 5; st.param.b64 [d], 3; call start, (a, b, c, d); }
            { .param .b64 a, b, d; .param .b32 c; st.param.b64 [a], %f; st.param.b64 [b], %o;
              st.param.b32 [c], 4; st.param.b64 [d], 0; call start, (a, b, c, d); }
            ret;
        }
        .visible .entry main(.param .u64 out) {
            .reg .b64 %o, %f;
            ld.param.u64 %o, [out]; mov.u64 %f, add;
            { .param .b64 a, b, d; .param .b32 c; st.param.b64 [a], %f; st.param.b64 [b], %o;
              st.param.b32 [c], 2; st.param.b64 [d], 3; call start, (a, b, c, d); }
            { .param .b64 a, b, d; .param .b32 c; st.param.b64 [a], %f; st.param.b64 [b], %o;
              st.param.b32 [c], 1; st.param.b64 [d], 0; call start, (a, b, c, d); }
            mov.u64 %f, nested;
            { .param .b64 a, b, d; .param .b32 c; st.param.b64 [a], %f; st.param.b64 [b], %o;
              st.param.b32 [c], 0; st.param.b64 [d], 4; call start, (a, b, c, d); }
            mov.u64 %f, add;
            { .param .b64 a, b, d; .param .b32 c; st.param.b64 [a], %f; st.param.b64 [b], %o;
              st.param.b32 [c], 3; st.param.b64 [d], 32; call start, (a, b, c, d); }
            ret;
        }
        // Launches itself into a stream.
        .visible .entry again(.param .u64 out, .param .u32 stream) {
            .reg .b64 %o, %f, %s; .reg .b32 %n;
            ld.param.u64 %o, [out]; ld.param.u32 %n, [stream]; mov.u64 %f, again;
            cvt.u64.u32 %s, %n;
            { .param .b64 a, b, d; .param .b32 c; st.param.b64 [a], %f; st.param.b64 [b], %o;
              st.param.b32 [c], %n; st.param.b64 [d], %s; call start, (a, b, c, d); }
            ret;
        }";

    struct Run {
        context: Context,
        id: ModuleId,
        out: Addr,
        end: Result<Report, Failure>,
    }

    fn run(kernel: &str, number: Option<u32>) -> Run {
        run_of(TEXT, kernel, number)
    }

    fn run_of(text: &str, kernel: &str, number: Option<u32>) -> Run {
        let module: Arc<Module> = Module::load("t", text).unwrap();
        let mut context = Context::new(Settings::default());
        let out = context.allocate("out", 64).unwrap();
        let id = context.load(&module).unwrap();
        let shape =
            Shape { grid: [1; 3], block: [1; 3], shared: 0, cooperative: false, cluster: None };
        let mut params = out.0.to_le_bytes().to_vec();
        params.extend(number.iter().flat_map(|n| n.to_le_bytes()));
        let end = context.launch(id, module.kernel(kernel).unwrap(), shape, &params);
        Run { context, id, out, end }
    }

    fn word(run: &Run, name: &str) -> u32 {
        let mut word = [0; 4];
        let (at, _) = run.context.variable(run.id, name).unwrap();
        run.context.read(at, &mut word).unwrap();
        u32::from_le_bytes(word)
    }

    #[test]
    fn children_run_in_an_order_that_streams_allow() {
        // The names before version 12 mean the same.
        let old = TEXT.replace("__cudaCDP2GetP", "cudaGetP").replace("__cudaCDP2L", "cudaL");
        assert!(old.contains(" cudaLaunchDeviceV2") && old.contains(" cudaGetParameterBufferV2"));
        for text in [TEXT, &old] {
            let run = run_of(text, "main", None);
            let report = run.end.as_ref().unwrap();
            let names: Vec<&str> = report.children.iter().map(|c| c.kernel.as_str()).collect();
            // The nested grid's own work, its tail too, comes before what was asked for after it.
            assert_eq!(names, ["add", "nested", "add", "add", "add", "add"]);
            let mut bytes = [0; 24];
            run.context.read(run.out, &mut bytes).unwrap();
            let order: Vec<u8> = bytes.chunks(4).map(|word| word[0]).collect();
            assert_eq!(order[1..], [0, 4, 3, 1, 2]);
            assert_eq!(word(&run, "error"), 0);
        }
    }

    #[test]
    fn recursion_has_as_many_levels_as_on_devices() {
        let run = run("again", Some(0));
        assert_eq!(run.end.as_ref().unwrap().children.len(), LEVELS as usize);
        // cudaErrorLaunchMaxDepthExceeded.
        assert_eq!(word(&run, "error"), 65);
    }

    #[test]
    #[ignore = "a minute without optimisation"]
    fn tails_without_end_are_a_hang() {
        let run = run("again", Some(TAIL as u32));
        assert!(matches!(run.end, Err(Failure::Stopped(stop)) if stop.kind == StopKind::Hang));
    }
}
