//! Launches whose arguments are addresses of the host, of which nobody tells the sizes.
//!
//! Pages of the host are shown to the guest as its accesses ask for them: an access that misses ends the attempt, what lies
//! around it is shown, and the launch is repeated. The host's memory changes only when an attempt has ended well, so attempts
//! that were given up leave no trace.

use std::sync::Arc;

use ir::FuncId;
use simt::memory::{AccessKind, Violation};

use crate::context::{Context, ContextError, ModuleId, Settings};
use crate::launch::{Failure, Report, Shape};
use crate::module::Module;
use crate::stop::Stop;
use hostmem::readable;

/// Bytes shown around the first miss of a place.
const WINDOW: u64 = 64 << 10;
const PAGE: u64 = 4096;

/// A module whose kernels run on memory of the host: pointers among their parameters, and those found in memory, are addresses of
/// this process. Each run begins with the module's variables as the text has them.
pub struct OnHostMemory {
    context: Context,
    module: Arc<Module>,
    /// The module as it is loaded, with what was compiled for it. Loaded anew for each attempt if it has variables.
    loaded: Option<ModuleId>,
    variables: bool,
}

impl OnHostMemory {
    /// A module that has not run yet.
    #[must_use]
    pub fn new(module: Arc<Module>, settings: Settings) -> Self {
        let variables =
            module.program().module().vars.iter().any(|v| v.space != ir::mods::Space::Shared);
        Self { context: Context::new(settings), module, loaded: None, variables }
    }

    /// The module.
    #[must_use]
    pub fn module(&self) -> &Arc<Module> {
        &self.module
    }

    /// Runs a kernel to its end.
    ///
    /// # Errors
    /// See [`Failure`]; an access to what the host has not is a fault of the kernel.
    pub fn run(&mut self, kernel: FuncId, shape: Shape, params: &[u8]) -> Result<Report, Failure> {
        show_arguments(&mut self.context, params);
        let end = self.attempts(kernel, shape, params);
        // The host may free or move anything until the next run.
        let shown: Vec<u64> = self.context.mirrors.iter().map(|(at, _)| at).collect();
        for address in shown {
            self.context.hide_host(address).map_err(ContextError::from)?;
        }
        end
    }

    fn attempts(&mut self, kernel: FuncId, shape: Shape, params: &[u8]) -> Result<Report, Failure> {
        loop {
            let id = self.load()?;
            match self.context.launch(id, kernel, shape, params) {
                Err(Failure::Stopped(stop)) if show(&mut self.context, &stop) => {}
                end => return end,
            }
        }
    }

    /// The module with its variables as at the beginning.
    fn load(&mut self) -> Result<ModuleId, ContextError> {
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

/// Shows what parameters seem to point to.
fn show_arguments(context: &mut Context, params: &[u8]) {
    for word in params.chunks_exact(8) {
        let address = u64::from_le_bytes(word.try_into().unwrap_or_default());
        if address >= PAGE && readable(address, 1) == 1 {
            show_around(context, address, 1);
        }
    }
}

/// Shows what an access has missed; whether there was something to show.
fn show(context: &mut Context, stop: &Stop) -> bool {
    let Some(error) = &stop.access else { return false };
    let missed =
        matches!(error.violation, Violation::NotMapped | Violation::OutOfBounds | Violation::Freed);
    let generic = simt::memory::Space::of(simt::memory::Addr(error.addr)).window().is_none();
    debug_assert!(matches!(
        error.access,
        AccessKind::Load | AccessKind::Store | AccessKind::Atomic
    ));
    missed && generic && show_around(context, error.addr, error.size.max(1))
}

/// Shows a window around an address, joined with those that it meets, and longer the longer those are.
fn show_around(context: &mut Context, address: u64, size: u64) -> bool {
    let Some(end) = address.checked_add(size) else { return false };
    if end > u64::MAX - (1 << 40) || readable(address, size) < size {
        return false;
    }
    let page = address & !(PAGE - 1);
    let after = end.next_multiple_of(PAGE);
    // On towards where accesses go: as far as the window that they come from is long.
    let below = context.mirrors.iter().filter(|&(at, len)| at <= page && page <= at + len);
    let up = below.map(|(_, len)| len).max().unwrap_or(0).max(WINDOW);
    let above = context.mirrors.iter().filter(|&(at, _)| at == after);
    let down = above.map(|(_, len)| len).max().unwrap_or(0);
    let mut first = lowest_readable(page.saturating_sub(down), page);
    let mut last = (page + readable(page, after + up - page)) & !(PAGE - 1);
    let meets = |(at, len): &(u64, u64)| *at <= last && first <= at + len;
    let met: Vec<(u64, u64)> = context.mirrors.iter().filter(meets).collect();
    if met.iter().any(|&(at, len)| at <= first && last <= at + len) {
        return false;
    }
    for (at, len) in met {
        first = first.min(at);
        last = last.max(at + len);
        if context.hide_host(at).is_err() {
            return false;
        }
    }
    last > address && context.show_host("memory of the host", first, last - first).is_ok()
}

/// The lowest page from which all up to `known` can be read.
fn lowest_readable(wanted: u64, known: u64) -> u64 {
    let mut low = known;
    while low > wanted {
        let step = low.saturating_sub(WINDOW).max(wanted);
        if readable(step, low - step) < low - step {
            while low > step && readable(low - PAGE, PAGE) == PAGE {
                low -= PAGE;
            }
            return low;
        }
        low = step;
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn pages_come_as_they_are_asked_for() {
        let module = Module::load("t", TEXT).unwrap();
        let n = 300_000_u32;
        let from: Vec<u32> = (0..n).collect();
        let mut to = vec![1_u32; n as usize + 3];
        let params = block(from.as_ptr() as u64, to.as_mut_ptr() as u64 + 4, n);
        let shape = Shape {
            grid: [n.div_ceil(256), 1, 1],
            block: [256, 1, 1],
            shared: 0,
            cooperative: false,
        };
        let kernel = module.kernel("twice").unwrap();
        for exact in [false, true] {
            to.fill(1);
            let settings = Settings { exact, ..Settings::default() };
            let mut host = OnHostMemory::new(Arc::clone(&module), settings);
            for _ in 0..2 {
                let report = host.run(kernel, shape, &params).unwrap();
                assert_eq!(matches!(report.ran, crate::Ran::Exact(_)), exact, "{:?}", report.ran);
                let to = std::hint::black_box(&mut to);
                assert!((0..n as usize).all(|i| to[i + 1] == 2 * i as u32));
                assert_eq!((to[0], to[n as usize + 1], to[n as usize + 2]), (1, 1, 1));
                to.fill(1);
            }
        }
    }

    #[test]
    fn what_the_host_has_not_is_a_fault() {
        let module = Module::load("t", TEXT).unwrap();
        let from = [1_u32; 4];
        let kernel = module.kernel("twice").unwrap();
        let shape = Shape { grid: [1; 3], block: [4, 1, 1], shared: 0, cooperative: false };
        let mut host = OnHostMemory::new(Arc::clone(&module), Settings::default());
        for bad in [0, 0x1234_5000, 0xffff_ffff_ffff_f000] {
            let params = block(from.as_ptr() as u64, bad, 4);
            let end = host.run(kernel, shape, &params);
            let Err(Failure::Stopped(stop)) = end else { panic!("{end:?}") };
            assert!(stop.access.is_some());
            assert!(stop.ptx.is_some_and(|p| p.text.starts_with("st.global")));
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
        let shape = Shape { grid: [1; 3], block: [1; 3], shared: 0, cooperative: false };
        let mut host = OnHostMemory::new(module, Settings::default());
        for _ in 0..3 {
            // Memory of the host comes and goes between runs.
            let mut out = vec![0_u32; 70_000];
            let last = (&raw mut out[69_999]) as u64;
            host.run(kernel, shape, &last.to_le_bytes()).unwrap();
            assert_eq!(*std::hint::black_box(&mut out).last().unwrap(), 41);
        }
        assert_eq!(host.context.mirrors.iter().count(), 0);
    }
}
