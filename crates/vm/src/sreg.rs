//! Special registers.

use crate::engine::Now;
use crate::state::{State, unrank};
use ir::Sreg;

/// Writes a special register's value to a row of all lanes that are on.
pub(crate) fn execute<const N: usize>(
    state: &mut State<N>,
    now: &Now<N>,
    reg: Sreg,
    dst: u32,
    bits: u32,
) {
    let mask = u64::MAX >> (64 - bits.clamp(1, 64));
    for lane in now.on {
        let Some(cta) = state.resident[now.slot].as_deref() else { return };
        let thread = cta.groups[now.group].thread(lane);
        let value = read(state, now.slot, thread, reg) & mask;
        if let Some(cta) = state.resident[now.slot].as_deref_mut() {
            cta.set_row(dst, thread, value);
        }
    }
}

/// A special register of a thread.
fn read<const N: usize>(state: &State<N>, slot: usize, thread: usize, reg: Sreg) -> u64 {
    let info = &state.info;
    let (id, issues) =
        state.resident[slot].as_deref().map_or(([0; 3], 0), |cta| (cta.id, cta.issues));
    let tid = unrank(thread as u64, info.block);
    let lane = thread as u32 % info.warp;
    // Programs launched with warps of more than 32 lanes do not read lane masks.
    let own = 1u32.checked_shl(lane).unwrap_or(0);
    match reg {
        Sreg::TidX => tid[0].into(),
        Sreg::TidY => tid[1].into(),
        Sreg::TidZ => tid[2].into(),
        Sreg::NtidX => info.block[0].into(),
        Sreg::NtidY => info.block[1].into(),
        Sreg::NtidZ => info.block[2].into(),
        Sreg::CtaidX => id[0].into(),
        Sreg::CtaidY => id[1].into(),
        Sreg::CtaidZ => id[2].into(),
        Sreg::NctaidX => info.grid[0].into(),
        Sreg::NctaidY => info.grid[1].into(),
        Sreg::NctaidZ => info.grid[2].into(),
        Sreg::LaneId => lane.into(),
        Sreg::WarpId => u64::from(thread as u32 / info.warp),
        Sreg::NWarpId => info.threads.div_ceil(info.warp).into(),
        Sreg::SmId => slot as u64,
        Sreg::NSmId => state.most_resident as u64,
        Sreg::GridId => 0,
        Sreg::LaneMaskEq => own.into(),
        Sreg::LaneMaskLt => own.wrapping_sub(1).into(),
        Sreg::LaneMaskLe => (own.wrapping_sub(1) | own).into(),
        Sreg::LaneMaskGe => (!own.wrapping_sub(1)).into(),
        Sreg::LaneMaskGt => (!(own.wrapping_sub(1) | own)).into(),
        Sreg::Clock | Sreg::Clock64 | Sreg::GlobalTimer | Sreg::GlobalTimerLo => issues,
        Sreg::ClockHi | Sreg::GlobalTimerHi => issues >> 32,
        Sreg::DynamicSmemSize
        | Sreg::DynamicSmemBase
        | Sreg::TotalSmemSize
        | Sreg::AggrSmemSize
        | Sreg::ReservedSmemBegin
        | Sreg::ReservedSmemEnd
        | Sreg::ReservedSmemCap
        | Sreg::ReservedSmem0
        | Sreg::ReservedSmem1 => info.shared.sreg(reg).unwrap_or(0),
        Sreg::ClusterIdX
        | Sreg::ClusterIdY
        | Sreg::ClusterIdZ
        | Sreg::NclusterIdX
        | Sreg::NclusterIdY
        | Sreg::NclusterIdZ
        | Sreg::ClusterCtaidX
        | Sreg::ClusterCtaidY
        | Sreg::ClusterCtaidZ
        | Sreg::ClusterNctaidX
        | Sreg::ClusterNctaidY
        | Sreg::ClusterNctaidZ
        | Sreg::ClusterCtaRank
        | Sreg::ClusterNctaRank
        | Sreg::ExplicitCluster => {
            let rank = state.resident[slot].as_deref().map_or(0, |cta| cta.place.rank);
            info.clusters.sreg(reg, info.grid, id, rank).unwrap_or(0).into()
        }
        Sreg::EnvReg1 => info.workspace >> 32,
        Sreg::EnvReg2 => info.workspace & u64::from(u32::MAX),
    }
}
