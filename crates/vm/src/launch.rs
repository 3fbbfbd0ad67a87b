//! The parameters of a launch, and the checks before its first issue.

use crate::asynchronous::Asynchrony;
use crate::cluster::{Clusters, MAX_CLUSTER};
use crate::program::Program;
use crate::shared::Placed;
use crate::state::{LaunchInfo, State};
use converge::{BuildMechanism, Entry, Knobs, Mechanism, Policy, Refusal, Scope, Start};
use ir::FuncId;
use ir::device::{Capability, Device};
pub use ir::device::{MAX_BLOCK, MAX_GRID, MAX_THREADS};
use ir::mods::Space;
use ir::module::Signature;
use simt::matrix::MatrixSums;
use simt::memory::{Addr, MapError, MemoryMap, OutOfHostMemory, Permission, Request};
use std::sync::Arc;
use thiserror::Error;

/// Makes the mechanism of one issue group.
pub type MakeMechanism<const N: usize> =
    Arc<dyn Fn(&Start<N>, &Knobs) -> Result<Box<dyn Mechanism<N>>, Refusal> + Send + Sync>;

/// A mechanism of the catalogue, for [`Launch::mechanism`].
#[must_use]
pub fn catalogued<const N: usize>(entry: &'static Entry) -> MakeMechanism<N>
where
    Start<N>: BuildMechanism<N>,
{
    Arc::new(move |start, knobs| entry.build(start, *knobs))
}

/// Most bytes of shared memory of a CTA that the engine can hold, static and dynamic together;
/// devices hold less ([`Launch::device`]).
pub const MAX_SHARED: u64 = 1 << 20;
/// Threads of an architectural warp of PTX.
pub const WARP_SIZE: u32 = 32;

/// The parameters of a launch.
#[derive(Clone)]
pub struct Launch<const N: usize> {
    /// The kernel.
    pub kernel: FuncId,
    /// CTAs in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a CTA in x, y, z.
    pub block: [u32; 3],
    /// CTAs of a cluster in x, y, z; none: those that the kernel declares, else 1.
    pub cluster: Option<[u32; 3]>,
    /// When the steps of asynchronous operations are done; none: early.
    pub asynchrony: Option<Asynchrony>,
    /// How the products of matrices of floats are added.
    pub matrix_sums: MatrixSums,
    /// The parameter block, in the layout of the kernel's parameters.
    pub params: Vec<u8>,
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u64,
    /// The device whose limits hold; none: [`MAX_SHARED`] alone limits a CTA's shared memory.
    pub device: Option<&'static Device>,
    /// Lanes of an issue group: 1 to `64 * N`. It does not change what the program sees.
    pub width: u32,
    /// Lanes of the architectural warp, which the program sees in lane numbers, shuffles and member
    /// masks: a power of two up to 64, [`WARP_SIZE`] on every device so far. Below 32 member-mask
    /// bits beyond it are ignored; beyond 32, where masks have no bits for all lanes, no collective
    /// is possible.
    pub warp: u32,
    /// The convergence mechanism.
    pub mechanism: MakeMechanism<N>,
    /// The lanes that the mechanism sees together ([`Entry::scope`]): if a CTA's, the mask must
    /// hold all of them.
    pub scope: Scope,
    /// The mechanism's settings.
    pub knobs: Knobs,
    /// Whether guards are the machine's masks, as in predicated code: lanes that they turn off
    /// count as `masked_off`.
    pub guards_are_masks: bool,
    /// Whether a warp's arrival at a CTA barrier stands for all of its threads, as PTX has it for
    /// targets before sm_70: threads on other paths are not waited for.
    pub warp_barriers: bool,
    /// The choice among runnable paths.
    pub policy: Policy,
    /// Global memory, the module's variables included (see [`load_variables`]).
    pub memory: MemoryMap,
    /// Addresses of the module's variables, from [`load_variables`].
    pub variables: Variables,
    /// CTAs resident at once.
    pub resident: Resident,
    /// Issues after which a CTA is taken to hang.
    pub limit: u64,
    /// Bytes of registers and local variables that a thread may have.
    pub stack_limit: u64,
    /// Most bytes that `malloc` allocates.
    pub heap_limit: u64,
    /// The address of the grid's workspace, which kernels read from `%envreg1` and `%envreg2`; 0
    /// for none.
    pub workspace: u64,
    /// Bytes between shared variables that no access may touch: 0, or a multiple of 16 where
    /// accesses beyond a variable are to be found. The exact engine alone has such launches.
    pub guard: u64,
    /// Whether a refused access of memory reads zero or stores nothing, and is recorded
    /// ([`State::tolerated`]), instead of faulting. The exact engine alone does so; others decline.
    pub tolerant: bool,
}

/// How many CTAs are resident at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resident {
    /// [`defaults::RESIDENT`] at first; and as many as the device holds
    /// ([`Device::resident_blocks`]), where none of these ends for [`crate::STALLED_ROUNDS`]
    /// rounds, for they may wait for others.
    #[default]
    Device,
    /// So many.
    Fixed(u32),
}

impl Resident {
    /// CTAs of so many threads and bytes of shared memory that are resident on a device at first,
    /// and at most.
    #[must_use]
    pub fn of(self, device: &Device, threads: u32, shared: u64) -> (u32, u32) {
        match self {
            Self::Device => {
                let most = device.resident_blocks(threads, shared);
                (defaults::RESIDENT.min(most), most)
            }
            Self::Fixed(count) => (count, count),
        }
    }
}

/// Defaults of [`Launch`] that are part of the canonical schedule or of what users rely on.
pub mod defaults {
    /// Compute capability of the device that holds resident CTAs where no device's limits hold.
    pub const CAPABILITY: ir::device::Capability = ir::device::Capability::of_target(80);
    /// CTAs resident at first, if there is no number: few, so that what they have stays in the
    /// host's caches.
    pub const RESIDENT: u32 = 16;
    /// Issues of one CTA.
    pub const LIMIT: u64 = 1_000_000_000;
    /// Bytes of registers and local variables of a thread.
    pub const STACK: u64 = 256 << 10;
    /// Bytes that `malloc` gives out (CUDA's default).
    pub const HEAP: u64 = 8 << 20;
}

impl<const N: usize> Launch<N> {
    /// A launch of one CTA of one thread with default settings.
    #[must_use]
    pub fn new(kernel: FuncId, mechanism: MakeMechanism<N>) -> Self {
        Self {
            kernel,
            grid: [1; 3],
            block: [1; 3],
            cluster: None,
            asynchrony: None,
            matrix_sums: MatrixSums::default(),
            params: Vec::new(),
            dynamic_shared: 0,
            device: None,
            width: WARP_SIZE,
            warp: WARP_SIZE,
            mechanism,
            scope: Scope::default(),
            knobs: Knobs::default(),
            guards_are_masks: false,
            warp_barriers: false,
            policy: Policy::default(),
            memory: MemoryMap::new(),
            variables: Variables::default(),
            resident: Resident::Device,
            limit: defaults::LIMIT,
            stack_limit: defaults::STACK,
            heap_limit: defaults::HEAP,
            workspace: 0,
            guard: 0,
            tolerant: false,
        }
    }
}

/// Addresses of a module's variables in one context; shared ones are placed at launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variables(pub(crate) Vec<u64>);

impl Variables {
    /// The address of a variable, by its index in the module.
    #[must_use]
    pub fn address(&self, index: usize) -> Option<Addr> {
        self.0.get(index).copied().map(Addr)
    }
}

/// Clusters that a launch cannot have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ClusterError {
    /// Too large, or empty.
    #[error("clusters of {dims:?} CTAs: 1 to {most} CTAs are possible")]
    Size {
        /// CTAs in x, y, z.
        dims: [u32; 3],
        /// Most CTAs.
        most: u32,
    },
    /// The kernel declares others.
    #[error("clusters of {given:?} CTAs: the kernel is declared for {declared:?}")]
    Differs {
        /// CTAs in x, y, z that the launch gives.
        given: [u32; 3],
        /// Those of the kernel.
        declared: [u32; 3],
    },
    /// The grid has no whole number of them.
    #[error("a grid of {grid:?} CTAs is not made of whole clusters of {dims:?}")]
    Grid {
        /// CTAs of the grid in x, y, z.
        grid: [u32; 3],
        /// Those of a cluster.
        dims: [u32; 3],
    },
    /// The kernel needs clusters.
    #[error(
        "the kernel is declared `.explicitcluster`: the launch has to say how large clusters are"
    )]
    Missing,
    /// The device has none.
    #[error("clusters need a device of compute capability 9.0 or later, not {0}")]
    Device(Capability),
}

/// The reason that a launch cannot begin.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LaunchError {
    /// The function is not a kernel.
    #[error("`{0}` is not a kernel")]
    NotAKernel(String),
    /// A dimension of the grid or block.
    #[error("{what} size {given} in {dimension} is not between 1 and {most}")]
    Dimension {
        /// `grid` or `block`.
        what: &'static str,
        /// `x`, `y` or `z`.
        dimension: char,
        /// The size given.
        given: u32,
        /// The most allowed.
        most: u32,
    },
    /// Too many threads.
    #[error("a block of {0} threads: at most {MAX_THREADS} are possible")]
    Threads(u64),
    /// A bound that the kernel declares.
    #[error("a block of {given:?} threads: the kernel is declared for {what} {bound:?}")]
    Bounds {
        /// The size given.
        given: [u32; 3],
        /// `exactly` or `at most`.
        what: &'static str,
        /// The declared bound.
        bound: [u32; 3],
    },
    /// Too much shared memory.
    #[error("{given} bytes of shared memory: at most {most} are possible")]
    Shared {
        /// Static and dynamic bytes together.
        given: u64,
        /// The most allowed.
        most: u64,
    },
    /// A parameter block of the wrong size.
    #[error("{given} bytes of parameters: the kernel takes {expected}")]
    Params {
        /// Bytes given.
        given: usize,
        /// Bytes that the kernel takes.
        expected: u32,
    },
    /// A width that the mask cannot hold.
    #[error("issue groups of {given} lanes: 1 to {most} are possible")]
    Width {
        /// Lanes asked for.
        given: u32,
        /// Most lanes.
        most: u32,
    },
    /// No resident CTA.
    #[error("at least one CTA must be resident")]
    Resident,
    /// A collective that is not defined for the group's width.
    #[error(
        "`{op}` needs whole warps of {warp} lanes to wait for each other, which groups of {width} lanes cannot do"
    )]
    Collective {
        /// The operation.
        op: &'static str,
        /// Lanes of the architectural warp.
        warp: u32,
        /// The width.
        width: u32,
        /// Its place in the module's text.
        loc: ir::LocId,
    },
    /// A size of the architectural warp that is not supported.
    #[error("a warp of {0} lanes: 1, 2, 4, 8, 16, 32 and 64 are possible")]
    Warp(u32),
    /// An operation on a warp's lanes that has no bits for all of them.
    #[error("`{op}` names lanes by masks of 32 bits, which a warp of {warp} lanes does not have")]
    LaneMask {
        /// The operation, or the special register.
        op: &'static str,
        /// Lanes of the architectural warp.
        warp: u32,
        /// Its place in the module's text.
        loc: ir::LocId,
    },
    /// An operation of 32 lanes in a smaller warp.
    #[error("`{op}` needs warps of 32 lanes, not of {warp}")]
    WholeWarp {
        /// The operation.
        op: &'static str,
        /// Lanes of the architectural warp.
        warp: u32,
        /// Its place in the module's text.
        loc: ir::LocId,
    },
    /// Clusters that are not possible.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The mechanism cannot start.
    #[error(transparent)]
    Mechanism(#[from] Refusal),
    /// Module variables that were not loaded.
    #[error("the module's variables are not loaded")]
    Variables,
    /// Memory.
    #[error(transparent)]
    Map(#[from] MapError),
    /// Host memory.
    #[error("no host memory for the launch: {0}")]
    Host(#[from] OutOfHostMemory),
}

/// Allocates a module's global and constant variables and writes their initial content. Kernels
/// cannot write the constant ones.
///
/// # Errors
/// If there is no room for them.
pub fn load_variables(program: &Program, memory: &mut MemoryMap) -> Result<Variables, MapError> {
    load_variables_as(program, memory, Permission::ReadOnly)
}

/// The same with a permission for constant variables: devices let kernels write them by an address
/// from the host.
///
/// # Errors
/// Returns [`MapError`] if there is no room for them.
pub fn load_variables_as(
    program: &Program,
    memory: &mut MemoryMap,
    constants: Permission,
) -> Result<Variables, MapError> {
    load_variables_at(program, memory, constants, &|_| None)
}

/// The same for a caller that has mapped memory for some of the variables: their addresses, by
/// number.
///
/// # Errors
/// Returns [`MapError`] if there is no room for the others.
pub fn load_variables_at(
    program: &Program,
    memory: &mut MemoryMap,
    constants: Permission,
    placed: &dyn Fn(usize) -> Option<u64>,
) -> Result<Variables, MapError> {
    let module = program.module();
    let mut addresses = Vec::with_capacity(module.vars.len());
    for (i, var) in module.vars.iter().enumerate() {
        let align = u64::from(var.align).max(16);
        if let Some(address) = placed(i) {
            addresses.push(address);
            continue;
        }
        let address = match var.space {
            Space::Shared => 0,
            Space::Const => {
                let request = Request::constant(&var.name, var.size).align(align);
                memory.allocate_with(request.permission(constants))?.0
            }
            _ => memory.allocate_with(Request::global(&var.name, var.size).align(align))?.0,
        };
        addresses.push(address);
    }
    for (var, &address) in module.vars.iter().zip(&addresses) {
        let mut bytes = var.init.clone();
        for reloc in &var.relocs {
            let value = symbol_address(reloc, &addresses).to_le_bytes();
            let end = reloc.offset as usize + reloc.size as usize;
            if bytes.len() < end {
                bytes.resize(end, 0);
            }
            bytes[reloc.offset as usize..end].copy_from_slice(&value[..reloc.size.min(8) as usize]);
        }
        bytes.truncate(usize::try_from(var.size).unwrap_or(usize::MAX));
        if var.space != Space::Shared && !bytes.is_empty() {
            // The allocation has just been made with this size, so the write is inside it.
            let written = memory.host_write(Addr(address), &bytes);
            debug_assert!(written.is_ok());
        }
    }
    Ok(Variables(addresses))
}

fn symbol_address(reloc: &ir::module::Reloc, addresses: &[u64]) -> u64 {
    let base = match reloc.symbol {
        ir::Symbol::Var(v) => addresses.get(v.index()).copied().unwrap_or(0),
        ir::Symbol::Func(f) => crate::program::function_address(f.0),
        ir::Symbol::Local(_) | ir::Symbol::Param(_) => 0,
    };
    base.wrapping_add_signed(reloc.addend) >> (8 * reloc.byte.min(7))
}

/// The state before the first issue.
pub(crate) fn begin<const N: usize>(
    program: &Program,
    mut launch: Launch<N>,
) -> Result<State<N>, LaunchError> {
    check_sizes(&launch)?;
    check_kernel(program, &launch)?;
    let clusters = clusters(program, &mut launch)?;
    let device = launch.device.unwrap_or_else(|| Device::of(defaults::CAPABILITY));
    let Placed { vars, shared, names } = Placed::of(program, &launch, device)?;
    let most = launch.device.map_or(MAX_SHARED, |device| device.shared_opt_in.min(MAX_SHARED));
    if shared.own - shared.guards > most {
        return Err(LaunchError::Shared { given: shared.own - shared.guards, most });
    }
    check_collectives(program, &launch)?;
    let threads = launch.block.iter().product();
    let info = LaunchInfo {
        kernel: launch.kernel.0,
        grid: launch.grid,
        block: launch.block,
        threads,
        width: span(&launch),
        slots: launch.width,
        warp: launch.warp,
        clusters,
        asynchrony: launch.asynchrony.unwrap_or_default(),
        matrix_sums: launch.matrix_sums,
        total: launch.grid.iter().map(|&g| u64::from(g)).product(),
        shared,
        shared_names: names,
        vars,
        mechanism: launch.mechanism,
        knobs: launch.knobs,
        guards_are_masks: launch.guards_are_masks,
        warp_barriers: launch.warp_barriers,
        limit: launch.limit,
        stack_limit: launch.stack_limit,
        heap_limit: launch.heap_limit,
        workspace: launch.workspace,
        tolerant: launch.tolerant,
    };
    let resident = launch.resident.of(device, info.threads, info.shared.own);
    State::new(info, launch.memory, &launch.params, launch.policy, resident)
}

/// Returns the state before the first issue, without its CTAs, which are made when the exact engine
/// first issues: for other engines that read only the [`crate::Setup`].
///
/// # Errors
/// Returns [`LaunchError`] if the launch cannot begin.
pub fn begin_bare<const N: usize>(
    program: &Program,
    launch: Launch<N>,
) -> Result<State<N>, LaunchError> {
    begin(program, launch)
}

/// Lanes that a mechanism sees together: those of an issue group, or of all of a CTA's.
fn span<const N: usize>(launch: &Launch<N>) -> u32 {
    match launch.scope {
        Scope::Group => launch.width,
        Scope::Cta => {
            let threads = launch.block.iter().product::<u32>();
            threads.div_ceil(launch.width) * launch.width
        }
    }
}

fn check_sizes<const N: usize>(launch: &Launch<N>) -> Result<(), LaunchError> {
    for (what, given, most) in [("grid", launch.grid, MAX_GRID), ("block", launch.block, MAX_BLOCK)]
    {
        for i in 0..3 {
            if given[i] == 0 || given[i] > most[i] {
                let dimension = ['x', 'y', 'z'][i];
                return Err(LaunchError::Dimension {
                    what,
                    dimension,
                    given: given[i],
                    most: most[i],
                });
            }
        }
    }
    let threads = launch.block.iter().map(|&b| u64::from(b)).product();
    if threads > u64::from(MAX_THREADS) {
        return Err(LaunchError::Threads(threads));
    }
    let most = (64 * N) as u32;
    if launch.width == 0 || launch.width > most || span(launch) > most {
        return Err(LaunchError::Width { given: span(launch), most });
    }
    if !launch.warp.is_power_of_two() || launch.warp > 64 {
        return Err(LaunchError::Warp(launch.warp));
    }
    if launch.resident == Resident::Fixed(0) {
        return Err(LaunchError::Resident);
    }
    Ok(())
}

/// The clusters of a launch. A grid whose sizes are numbers of clusters becomes one of CTAs.
fn clusters<const N: usize>(
    program: &Program,
    launch: &mut Launch<N>,
) -> Result<Clusters, LaunchError> {
    let bounds = program.module().functions.get(launch.kernel.index()).map(|f| &f.signature);
    let Some(Signature::Kernel { bounds, .. }) = bounds else { return Ok(Clusters::default()) };
    let dims = match (bounds.cluster, launch.cluster) {
        (Some(declared), Some(given)) if declared != given => {
            return Err(ClusterError::Differs { given, declared }.into());
        }
        (declared, given) => declared.or(given),
    };
    let Some(dims) = dims else {
        return match bounds.explicit_cluster {
            true => Err(ClusterError::Missing.into()),
            false => Ok(Clusters::default()),
        };
    };
    let size = dims.iter().fold(1u32, |size, &d| size.saturating_mul(d));
    let most = bounds.max_cluster.unwrap_or(MAX_CLUSTER).min(MAX_CLUSTER);
    if size == 0 || size > most {
        return Err(ClusterError::Size { dims, most }.into());
    }
    let able = Capability { major: 9, minor: 0 };
    if size > 1
        && let Some(device) = launch.device
        && device.capability < able
    {
        return Err(ClusterError::Device(device.capability).into());
    }
    if bounds.blocks_are_clusters {
        launch.grid = std::array::from_fn(|i| launch.grid[i].saturating_mul(dims[i]));
        check_sizes(launch)?;
    }
    let grid = launch.grid;
    match (0..3).all(|i| grid[i].is_multiple_of(dims[i])) {
        true => Ok(Clusters { dims, explicit: true }),
        false => Err(ClusterError::Grid { grid, dims }.into()),
    }
}

fn check_kernel<const N: usize>(program: &Program, launch: &Launch<N>) -> Result<(), LaunchError> {
    let function = program.module().functions.get(launch.kernel.index());
    let Some(function) = function else {
        return Err(LaunchError::NotAKernel(format!("function {}", launch.kernel.0)));
    };
    let Signature::Kernel { params, bounds } = &function.signature else {
        return Err(LaunchError::NotAKernel(function.name.clone()));
    };
    let expected = params.iter().map(|p| p.offset + p.size).max().unwrap_or(0);
    if launch.params.len() != expected as usize {
        return Err(LaunchError::Params { given: launch.params.len(), expected });
    }
    let given = launch.block;
    let threads = given.iter().product::<u32>();
    if let Some(bound) = bounds.required
        && bound != given
    {
        return Err(LaunchError::Bounds { given, what: "exactly", bound });
    }
    if let Some(bound) = bounds.max
        && threads > bound.iter().copied().fold(1, u32::saturating_mul)
    {
        return Err(LaunchError::Bounds { given, what: "at most", bound });
    }
    if launch.variables.0.len() != program.module().vars.len() {
        return Err(LaunchError::Variables);
    }
    Ok(())
}

/// Lanes of one architectural warp must be able to reach a collective by themselves: a group that
/// holds part of a warp and part of another cannot promise that.
fn check_collectives<const N: usize>(
    program: &Program,
    launch: &Launch<N>,
) -> Result<(), LaunchError> {
    let (width, warp) = (launch.width, launch.warp);
    let whole = warp.is_multiple_of(width) || width.is_multiple_of(warp);
    if whole && warp == WARP_SIZE {
        return Ok(());
    }
    for function in program.reachable(launch.kernel.0) {
        for code in program.code_of(function) {
            if code.needs_whole_warp() && warp < WARP_SIZE {
                let op = code.op.map_or("a matrix product", ir::Op::name);
                return Err(LaunchError::WholeWarp { op, warp, loc: code.loc });
            }
            if whole && warp <= WARP_SIZE {
                continue;
            }
            let mask = code.lane_mask().filter(|_| warp > 32);
            if code.is_collective() || mask.is_some() {
                let op = mask.or(code.op.map(ir::Op::name)).unwrap_or("a collective");
                let loc = code.loc;
                return Err(match warp > 32 {
                    true => LaunchError::LaneMask { op, warp, loc },
                    false => LaunchError::Collective { op, warp, width, loc },
                });
            }
        }
    }
    Ok(())
}
