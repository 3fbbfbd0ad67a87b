//! The shared memory of a CTA: its variables, its dynamic part, and the region that the system
//! keeps.

use crate::launch::{Launch, LaunchError, MAX_SHARED};
use crate::program::Program;
use ir::Sreg;
use ir::device::Device;
use simt::memory::Symbol;

/// Bytes of the region of the system that programs may use. Cooperative groups keep the barriers of
/// tiles of several warps there, and the words that their warps exchange.
const USABLE: u64 = 288;

/// The layout of a CTA's shared memory.
///
/// The order is that of devices of compute capability 8.x, whatever the target: variables, the
/// dynamic part, then, in the next unit of allocation, what the system keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharedLayout {
    /// Bytes of the variables and the dynamic part, with those between them.
    pub own: u64,
    /// Bytes between variables that belong to none: see `Launch::guard`.
    pub guards: u64,
    /// Bytes of the dynamic part.
    pub dynamic: u64,
    /// Offset of the dynamic part.
    pub dynamic_base: u64,
    /// Bytes in which memory is allocated.
    unit: u64,
    /// Bytes that the system keeps.
    reserved: u64,
    /// Whether the program can reach these: it asks where they are.
    reachable: bool,
}

impl SharedLayout {
    /// Bytes of the variables and the dynamic part, in whole units of allocation.
    fn allocated(&self) -> u64 {
        self.own.next_multiple_of(self.unit.max(1))
    }

    /// Returns the bytes of a CTA's shared memory that the program can access.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        if self.reachable { self.allocated() + self.reserved } else { self.own }
    }

    /// Returns the value of a special register about shared memory; `None` for others.
    ///
    /// Source of the offsets of the system's region: the code of `ptxas` 13.5 for sm_80, which
    /// reads the end of the region as the size of the CTA's memory, its beginning as that size
    /// less the bytes that the system keeps, and takes the others from the driver.
    #[must_use]
    pub fn sreg(&self, reg: Sreg) -> Option<u64> {
        Some(match reg {
            Sreg::DynamicSmemSize => self.dynamic,
            Sreg::DynamicSmemBase => self.dynamic_base,
            Sreg::TotalSmemSize
            | Sreg::ReservedSmemBegin
            | Sreg::ReservedSmem0
            | Sreg::ReservedSmem1 => self.allocated(),
            Sreg::ReservedSmemEnd => self.allocated() + USABLE.min(self.reserved),
            Sreg::AggrSmemSize | Sreg::ReservedSmemCap => self.allocated() + self.reserved,
            _ => return None,
        })
    }
}

/// The shared variables of a launch.
pub(crate) struct Placed {
    /// Addresses of all variables, in their spaces.
    pub(crate) vars: Vec<u64>,
    pub(crate) shared: SharedLayout,
    /// Names of the parts.
    pub(crate) names: Vec<Symbol>,
}

impl Placed {
    /// Places the shared variables that the kernel or a function it may call names; dynamic ones
    /// after all others.
    pub(crate) fn of<const N: usize>(
        program: &Program,
        launch: &Launch<N>,
        device: &Device,
    ) -> Result<Self, LaunchError> {
        let module = program.module();
        let mut vars = launch.variables.0.clone();
        let functions: Vec<u32> = program.reachable(launch.kernel.0).collect();
        let functions = functions.iter().filter_map(|&f| program.functions.get(f as usize));
        let reachable = functions.clone().any(|f| f.reserved_shared);
        let mut used: Vec<u32> = functions.flat_map(|f| f.shared.iter().copied()).collect();
        used.sort_unstable();
        used.dedup();
        let too_large = |given| LaunchError::Shared { given, most: MAX_SHARED };
        let most = launch.guard.saturating_mul(used.len() as u64).saturating_add(MAX_SHARED);
        let mut names = Vec::new();
        let (mut next, mut guards) = (0u64, 0u64);
        let mut guarded = |end: u64| {
            let guard = if end == 0 { 0 } else { launch.guard };
            guards += guard;
            end + guard
        };
        for &index in used.iter().filter(|&&i| !module.vars[i as usize].dynamic) {
            let var = &module.vars[index as usize];
            next = guarded(next).next_multiple_of(u64::from(var.align.max(1)));
            vars[index as usize] = next;
            names.push(Symbol { name: var.name.as_str().into(), offset: next, len: var.size });
            next = next
                .checked_add(var.size)
                .filter(|&n| n <= most)
                .ok_or_else(|| too_large(var.size))?;
        }
        let len = launch.dynamic_shared;
        // Nothing is behind the last variable of most kernels: accesses there leave the memory.
        if len > 0 || reachable {
            next = guarded(next);
        }
        let dynamic = used.iter().filter(|&&i| module.vars[i as usize].dynamic);
        let align =
            dynamic.clone().map(|&i| u64::from(module.vars[i as usize].align)).max().unwrap_or(16);
        let base = next.next_multiple_of(align.max(16));
        for &index in dynamic {
            let var = &module.vars[index as usize];
            vars[index as usize] = base;
            names.push(Symbol { name: var.name.as_str().into(), offset: base, len });
        }
        let shared = SharedLayout {
            own: if len == 0 { next } else { base.saturating_add(len) },
            guards,
            dynamic: len,
            dynamic_base: base,
            unit: device.shared_unit(),
            reserved: device.shared_reserved,
            reachable,
        };
        Ok(Self { vars, shared, names })
    }
}
