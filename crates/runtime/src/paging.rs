//! Launches whose pointer arguments are host addresses of unknown extent.
//!
//! Windows of host memory are mapped into guest memory as accesses need them: an access that misses
//! ends the attempt, memory around it is mapped (`crate::windows`), and the launch is repeated.
//! Host memory changes only after a successful attempt, so abandoned attempts have no effect.

use std::sync::Arc;

use ir::FuncId;
use simt::memory::{AccessKind, Violation};

use crate::context::{Context, ContextError, ModuleId, Settings};
use crate::host_mappings::{HostMappings, MappingHints};
use crate::launch::{Failure, Report, Shape};
use crate::stop::Stop;
use modules::Module;

/// How often a launch is repeated because other threads of the host unmap memory that is mapped for
/// it. Each time, the host must have unmapped memory within the few milliseconds of a copy.
const MAX_REFRESHES: u32 = 256;

/// A module whose kernels run on host memory: pointers in parameters and in memory are addresses of
/// this process. Each run begins with the initial values of the module's variables.
pub struct HostMemoryModule {
    context: Context,
    module: Arc<Module>,
    /// The extents of host memory that earlier launches used, of this and other modules.
    hints: Arc<MappingHints>,
    /// The loaded module, with its compiled code. It is loaded anew for each attempt if it has
    /// variables.
    loaded: Option<ModuleId>,
    variables: bool,
}

impl HostMemoryModule {
    /// Creates a module that has not run yet.
    #[must_use]
    pub fn new(module: Arc<Module>, settings: Settings, hints: Arc<MappingHints>) -> Self {
        let variables =
            module.program().module().vars.iter().any(|v| v.space != ir::mods::Space::Shared);
        Self { context: Context::new(settings), module, hints, loaded: None, variables }
    }

    /// Returns the module.
    #[must_use]
    pub fn module(&self) -> &Arc<Module> {
        &self.module
    }

    /// Runs a kernel to its end.
    ///
    /// # Errors
    /// Returns [`Failure`] as [`Context::launch`] does. An access to memory that the host does not
    /// have is a fault of the kernel.
    pub fn run(&mut self, kernel: FuncId, shape: Shape, params: &[u8]) -> Result<Report, Failure> {
        let hints = Arc::clone(&self.hints);
        let mut mappings = HostMappings::open(&mut self.context, &hints, params);
        let mut refreshes = 0;
        let end = loop {
            let id = match self.load() {
                Ok(id) => id,
                Err(error) => break Err(error.into()),
            };
            match self.context.launch(id, kernel, shape, params) {
                Err(Failure::Context(ContextError::HostUnmapped(_)))
                    if refreshes < MAX_REFRESHES =>
                {
                    refreshes += 1;
                    if let Err(error) = mappings.refresh(&mut self.context) {
                        break Err(ContextError::from(error).into());
                    }
                }
                Err(Failure::Stopped(stop))
                    if missed(&stop).is_some_and(|(address, size)| {
                        mappings.map_missed(&mut self.context, address, size)
                    }) => {}
                end => break end,
            }
        };
        mappings.close(&mut self.context).map_err(ContextError::from)?;
        end
    }

    /// Loads the module with initial variables and an empty device heap.
    fn load(&mut self) -> Result<ModuleId, ContextError> {
        let mut heap = std::mem::take(self.context.heap_mut());
        self.context.clear_heap(&mut heap);
        match self.loaded {
            Some(id) if !self.variables => return Ok(id),
            Some(id) => self.context.unload(id)?,
            None => {}
        }
        self.loaded = None;
        let id = self.context.load(&self.module)?;
        self.loaded = Some(id);
        Ok(id)
    }
}

/// Returns the address and size of the access that stopped the launch, if it was to unmapped
/// memory.
fn missed(stop: &Stop) -> Option<(u64, u64)> {
    let error = stop.access.as_ref()?;
    let missed =
        matches!(error.violation, Violation::NotMapped | Violation::OutOfBounds | Violation::Freed);
    let generic = simt::memory::Space::of(simt::memory::Addr(error.addr)).window().is_none();
    debug_assert!(matches!(
        error.access,
        AccessKind::Load | AccessKind::Store | AccessKind::Atomic
    ));
    (missed && generic).then_some((error.addr, error.size.max(1)))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::Choice;

    const TEXT: &str = "
        .version 7.0 .target sm_70 .address_size 64
        .visible .entry twice(.param .u64 from, .param .u64 to, .param .u32 n) {
            .reg .b32 %i, %n, %t, %b; .reg .b64 %a, %o; .reg .pred %p;
            mov.u32 %i, %tid.x; mov.u32 %t, %ctaid.x; mov.u32 %b, %ntid.x;
            mad.lo.u32 %i, %t, %b, %i;
            ld.param.u32 %n, [n];
            setp.ge.u32 %p, %i, %n;
            @%p ret;
            mul.wide.u32 %o, %i, 4;
            ld.param.u64 %a, [from];
            add.u64 %a, %a, %o;
            ld.global.u32 %t, [%a];
            shl.b32 %t, %t, 1;
            ld.param.u64 %a, [to];
            add.u64 %a, %a, %o;
            st.global.u32 [%a], %t;
            ret;
        }";

    fn block(from: u64, to: u64, n: u32) -> Vec<u8> {
        [&from.to_le_bytes()[..], &to.to_le_bytes(), &n.to_le_bytes()].concat()
    }

    /// A grid of at least `n` threads.
    fn threads(n: u32) -> Shape {
        let grid = [n.div_ceil(256), 1, 1];
        Shape { grid, block: [256, 1, 1], shared: 0, cooperative: false, cluster: None }
    }

    #[test]
    fn pages_are_mapped_on_demand() {
        let module = Module::load("t", TEXT).unwrap();
        let n = 300_000_u32;
        let from: Vec<u32> = (0..n).collect();
        let mut to = vec![1_u32; n as usize + 3];
        let params = block(from.as_ptr() as u64, to.as_mut_ptr() as u64 + 4, n);
        let kernel = module.kernel("twice").unwrap();
        for exact in [false, true] {
            to.fill(1);
            let engine = if exact { Choice::Exact } else { Choice::Fast };
            let settings = Settings { engine, ..Settings::default() };
            let mut host = HostMemoryModule::new(Arc::clone(&module), settings, Arc::default());
            for _ in 0..2 {
                let report = host.run(kernel, threads(n), &params).unwrap();
                assert_eq!(
                    matches!(report.ran, crate::EngineUsed::Exact(_)),
                    exact,
                    "{:?}",
                    report.ran
                );
                let to = std::hint::black_box(&mut to);
                assert!((0..n as usize).all(|i| to[i + 1] == 2 * i as u32));
                assert_eq!((to[0], to[n as usize + 1], to[n as usize + 2]), (1, 1, 1));
                to.fill(1);
            }
        }
    }

    /// The pages after a buffer are mapped with it, and may belong to other threads.
    #[test]
    fn other_threads_may_unmap_memory_after_a_buffer() {
        let module = Module::load("t", TEXT).unwrap();
        let kernel = module.kernel("twice").unwrap();
        let n = 100_000_u32;
        // Blocks of this size have mappings of their own, each usually just below the one before.
        let mut after: Vec<Vec<u8>> = (1..40).map(|i| vec![i; 1 << 20]).collect();
        let from: Vec<u32> = (0..n).collect();
        let mut to = vec![1_u32; n as usize + 1];
        let params = block(from.as_ptr() as u64, to.as_mut_ptr() as u64 + 4, n);
        let mut host =
            HostMemoryModule::new(Arc::clone(&module), Settings::default(), Arc::default());
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    for block in &mut after {
                        drop(std::mem::take(block));
                        *block = vec![1; 1 << 20];
                    }
                }
            });
            let mut runs = (0..20).map(|_| host.run(kernel, threads(n), &params));
            let failed = runs.find_map(Result::err);
            done.store(true, Ordering::Relaxed);
            assert!(failed.is_none(), "{failed:?}");
        });
        assert!((0..n as usize).all(|i| std::hint::black_box(&to)[i + 1] == 2 * i as u32));
    }

    #[test]
    fn an_access_to_unmapped_host_memory_is_a_fault() {
        let module = Module::load("t", TEXT).unwrap();
        let from = [1_u32; 4];
        let kernel = module.kernel("twice").unwrap();
        let shape =
            Shape { grid: [1; 3], block: [4, 1, 1], shared: 0, cooperative: false, cluster: None };
        let mut host =
            HostMemoryModule::new(Arc::clone(&module), Settings::default(), Arc::default());
        for bad in [0, 0x1234_5000, 0xffff_ffff_ffff_f000] {
            let params = block(from.as_ptr() as u64, bad, 4);
            let end = host.run(kernel, shape, &params);
            let Err(Failure::Stopped(stop)) = end else { panic!("{end:?}") };
            assert!(stop.access.is_some());
            assert!(stop.place.text.is_some_and(|p| p.text.starts_with("st.global")));
        }
    }

    #[test]
    fn each_run_begins_with_fresh_variables() {
        let text = "
            .version 7.0 .target sm_70 .address_size 64
            .visible .global .u32 count = 40;
            .visible .entry next(.param .u64 out) {
                .reg .b32 %c; .reg .b64 %a;
                ld.param.u64 %a, [out];
                ld.global.u32 %c, [count];
                add.u32 %c, %c, 1;
                st.global.u32 [count], %c;
                st.global.u32 [%a], %c;
                ret;
            }";
        let module = Module::load("t", text).unwrap();
        let kernel = module.kernel("next").unwrap();
        let shape =
            Shape { grid: [1; 3], block: [1; 3], shared: 0, cooperative: false, cluster: None };
        let mut host = HostMemoryModule::new(module, Settings::default(), Arc::default());
        for _ in 0..3 {
            // Host memory is allocated and freed between runs.
            let mut out = vec![0_u32; 70_000];
            let last = (&raw mut out[69_999]) as u64;
            host.run(kernel, shape, &last.to_le_bytes()).unwrap();
            assert_eq!(*std::hint::black_box(&mut out).last().unwrap(), 41);
        }
        assert_eq!(host.context.memory_use(0).0, 4, "nothing but the variable is there");
    }
}
