//! Launches that always end: no memory contents make them fault, hang or break an assumption.
//!
//! The engine journals pages before they are written, for a launch that is declined while it runs.
//! Where footprints (`flow::footprint`) show that every access of every thread lies in one region
//! and is aligned, no integer wraps around before it is widened, and blocks do not come again,
//! nothing can decline the launch, and nothing has to be taken back. Most kernels that compute one
//! element in each thread are of this kind.

use crate::code::{Code, Kind, Src};
use crate::context::Context;
use flow::footprint::Arguments;
use ir::mods::Space;
use simt::memory::DirectMemory;
use vm::WARP_SIZE;

/// Threads of a launch below which a journal costs less than the footprints.
const MIN_THREADS: u64 = 1024;
/// The maximum number of CTAs: each can be an owner of claims.
const MAX_CTAS: u64 = 1 << 28;

/// Returns whether a step may decline a launch whose [footprints](flow::footprint) show nothing
/// wrong. `follows_widening` tells whether they follow what the step widens.
pub(crate) fn may_decline(kind: &Kind, follows_widening: bool, param_bytes: usize) -> bool {
    match kind {
        Kind::Narrow { .. }
        | Kind::Wide { .. }
        | Kind::Rare { .. }
        | Kind::Low { .. }
        | Kind::Test { .. }
        | Kind::Select { .. }
        | Kind::Logic { .. }
        | Kind::Scalar { .. }
        | Kind::Generic(_)
        | Kind::Sreg { .. }
        | Kind::Clock { .. }
        | Kind::Nothing
        | Kind::Fence => false,
        Kind::Widen { .. } => !follows_widening,
        Kind::Load(memory) if memory.space == Space::Param => {
            let Src::Const(address) = memory.address else { return true };
            let (at, bytes) = (address.wrapping_add_signed(memory.offset), memory.bytes());
            let end = at.checked_add(bytes);
            !at.is_multiple_of(bytes) || end.is_none_or(|end| end > param_bytes as u64)
        }
        Kind::Load(memory) | Kind::Store(memory) => !memory.has_footprint,
        _ => true,
    }
}

/// Returns whether a launch always ends. Accesses are in bounds of `memory`.
pub(crate) fn always_ends(context: &Context<'_>, memory: &DirectMemory<'_>) -> bool {
    let code = context.code;
    let threads = context.total.saturating_mul(context.threads.into());
    if code.may_decline || threads < MIN_THREADS || context.total > MAX_CTAS || code.has_loops() {
        return false;
    }
    // A warp executes a block once for each of its lanes at most.
    let most = (code.steps.len() + code.blocks.len()) as u64 * u64::from(WARP_SIZE);
    let warps = u64::from(context.threads.div_ceil(WARP_SIZE));
    if most.saturating_mul(warps) > context.limit || !context.is_small(context.most_resident) {
        return false;
    }
    has_allowed_accesses(code, context, memory)
}

/// Returns whether all accesses with footprints are allowed, and no widened integer wraps around.
fn has_allowed_accesses(code: &Code, context: &Context<'_>, memory: &DirectMemory<'_>) -> bool {
    let (grid, block, params) = (context.grid, context.block, context.params.as_slice());
    let Some(launch) = code.footprints.in_launch(&Arguments { grid, block, params }) else {
        return false;
    };
    !launch.may_wrap()
        && launch.extents().all(|extent| {
            extent.is_some_and(|extent| {
                extent.is_aligned && memory.has_range((extent.low, extent.last), extent.writes)
            })
        })
}
