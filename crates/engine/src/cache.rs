//! Decoded and compiled launches, kept for the next launches of the same kernel and shape.

use fast::{Declined, Level};
use jit::Ready;
use rustc_hash::FxHashMap;
use std::sync::Arc;
use vm::{Program, State, WARP_SIZE};

/// Launches that a [`Cache`] keeps, at most.
const CAPACITY: usize = 256;

/// Whether a kernel is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Compile {
    Never,
    /// When that pays.
    Deferred,
    AtOnce,
}

/// How the fast engine prepares a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Preparation {
    /// Whether indices are assumed not to wrap: see [`fast::prepare`].
    pub(crate) assume: bool,
    /// The vector instructions.
    pub(crate) level: Level,
    /// Whether the kernel is compiled, if the host has a compiled tier.
    pub(crate) compile: Compile,
    /// Whether more than lane slots is counted.
    pub(crate) detailed: bool,
    /// Threads of the host that the launch may use; 0 for all.
    pub(crate) threads: usize,
    /// Whether it uses them even if that takes longer.
    pub(crate) eager: bool,
    /// Whether a screen follows it, and whether that judges accesses.
    pub(crate) screened: Option<bool>,
}

/// All that a decoded launch of one program depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    kernel: u32,
    grid: [u32; 3],
    block: [u32; 3],
    clusters: vm::Clusters,
    variables: Box<[u64]>,
    stack_limit: u64,
    preparation: Preparation,
}

/// Returns the number of warps of a launch.
fn warps(grid: [u32; 3], block: [u32; 3]) -> u64 {
    let product = |[x, y, z]: [u32; 3]| {
        u64::from(x).saturating_mul(u64::from(y)).saturating_mul(u64::from(z))
    };
    product(grid).saturating_mul(product(block).div_ceil(u64::from(WARP_SIZE)))
}

/// Decoded and compiled launches of one program: at most 256, all of which are dropped when there
/// is no room for another.
#[derive(Debug, Default)]
pub struct Cache {
    launches: FxHashMap<Key, Result<Arc<Ready>, Declined>>,
}

impl Cache {
    /// Returns the prepared launch of a state, and prepares it if it is not in the cache. All calls
    /// on one cache must name the same program.
    ///
    /// # Errors
    /// Returns why the exact engine has to run the launch.
    pub(crate) fn get(
        &mut self,
        program: &Program,
        state: &State<1>,
        preparation: Preparation,
    ) -> Result<Arc<Ready>, Declined> {
        fast::may_run(state, preparation.screened.is_some())?;
        let setup = state.setup();
        let (kernel, grid, block) = (setup.kernel, setup.grid, setup.block);
        let (clusters, stack_limit) = (setup.clusters, setup.stack_limit);
        let variables = setup.variables.into();
        let key = Key { kernel, grid, block, clusters, variables, stack_limit, preparation };
        if let Some(known) = self.launches.get(&key) {
            return known.clone();
        }
        let Preparation { assume, level, compile, detailed, threads, eager, screened } =
            preparation;
        let decoded = match screened {
            Some(judges) => fast::prepare_screened(program, state, assume, judges),
            None => fast::prepare(program, state, assume),
        };
        let ready = decoded.map(|kernel| {
            let kernel = kernel.on_threads(threads);
            let kernel = if eager { kernel.eagerly() } else { kernel };
            Arc::new(match compile {
                Compile::Never => Ready::interpreted(kernel, level, detailed),
                Compile::Deferred => Ready::deferred(kernel, level, detailed, warps(grid, block)),
                Compile::AtOnce => Ready::new(kernel, level, detailed),
            })
        });
        if self.launches.len() >= CAPACITY {
            self.launches.clear();
        }
        self.launches.insert(key, ready.clone());
        ready
    }
}
