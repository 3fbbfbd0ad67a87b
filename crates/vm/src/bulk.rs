//! Bulk copies and asynchronous stores.
//!
//! All addresses are checked when the instruction is issued, and what can be refused is refused
//! there; the bytes move in the steps of [`crate::asynchronous`]. The rules of alignment and size
//! are those of the PTX ISA, `cp.async.bulk`: addresses and sizes are multiples of 16.

use crate::access::{check, check_place, generic_address, home_of};
use crate::asynchronous::{
    self, Completion, Effect, Issuer, Location, Operation, Source, Transfer,
};
use crate::cause::Cause;
use crate::code::{AsyncStore, BulkOp, Src};
use crate::control::{fail, value};
use crate::engine::{Executed, Failure, Now, Outcome};
use crate::state::{Cta, State};
use compute::space_of;
use ir::mods::{Bulk, Space};
use simt::LaneMask;
use simt::memory::AccessKind;
use simt::observe::AsyncGroups;
use smallvec::SmallVec;
use thiserror::Error;

/// A bulk copy that the PTX ISA leaves undefined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BulkMisuse {
    /// The size.
    #[error("its size, {0} bytes, is not a multiple of 16")]
    Size(u64),
    /// An address.
    #[error("its {what} address {address:#x} is not a multiple of 16")]
    Address {
        /// `source` or `destination`.
        what: &'static str,
        /// The address.
        address: u64,
    },
    /// A multicast to a CTA that the cluster does not have.
    #[error("its multicast mask {mask:#x} names CTAs that a cluster of {size} does not have")]
    Multicast {
        /// The mask.
        mask: u64,
        /// CTAs of the cluster.
        size: u32,
    },
    /// Bytes that are not copied.
    #[error("{0} bytes at an end that are not copied: 0 to 15 are possible")]
    Trimmed(u32),
}

/// Issues bulk copies, one for each lane that is on.
pub(crate) fn copy<const N: usize>(
    state: &mut State<N>,
    now: &Now<N>,
    op: &BulkOp<Src>,
) -> Executed<N> {
    issue_each(state, now, |state, lane| operation(state, now, op, lane))
}

/// Issues the operations of the lanes that are on, if none of them faults.
pub(crate) fn issue_each<const N: usize>(
    state: &mut State<N>,
    now: &Now<N>,
    operation: impl Fn(&State<N>, usize) -> Result<Option<Operation>, Cause>,
) -> Executed<N> {
    let mut operations = Vec::new();
    for lane in now.on {
        let made = operation(state, lane);
        operations.extend(made.map_err(|cause| fail(cause, LaneMask::lane(lane)))?);
    }
    state.stats.memory_instructions += u64::from(now.on.any());
    operations.into_iter().for_each(|operation| asynchronous::issue(state, operation));
    Ok(Outcome::Advance)
}

/// The operation of a lane; none that copies nothing and completes nothing.
fn operation<const N: usize>(
    state: &State<N>,
    now: &Now<N>,
    op: &BulkOp<Src>,
    lane: usize,
) -> Result<Option<Operation>, Cause> {
    let Some(cta) = state.resident[now.slot].as_deref() else { return Ok(None) };
    let thread = cta.groups[now.group].thread(lane);
    let get = |src| value(cta, now.group, &state.info.vars, src, thread);
    let bytes = u64::from(get(op.bytes) as u32);
    if !bytes.is_multiple_of(16) {
        return Err(BulkMisuse::Size(bytes).into());
    }
    let to = get(op.to).wrapping_add_signed(op.offset);
    let from = get(op.from);
    for (what, address) in [("destination", to), ("source", from)] {
        if !address.is_multiple_of(16) {
            return Err(BulkMisuse::Address { what, address }.into());
        }
    }
    let mask = op.mask.map(get);
    let (to_space, from_space) = match op.kind {
        Bulk::Load => (Space::Shared, Space::Global),
        Bulk::Send => (Space::Shared, Space::Shared),
        Bulk::Store => (Space::Global, Space::Shared),
    };
    let writes = if op.combine.is_some() { AccessKind::Atomic } else { AccessKind::Store };
    let reach = op.kind != Bulk::Store;
    let [left, right] = op.trimmed.map_or([0; 2], |both| both.map(|src| get(src) as u32));
    if let Some(&wrong) = [left, right].iter().find(|&&bytes| bytes > 15) {
        return Err(BulkMisuse::Trimmed(wrong).into());
    }
    let (left, copied) = trim(bytes, [left, right]);
    let from = (from_space, from.wrapping_add(left), false);
    let source = located(state, (cta, thread), from, AccessKind::Load, copied)?;
    let target = located(state, (cta, thread), (to_space, to, reach), writes, bytes)?;
    let effect = match (op.combine, mask) {
        (Some((op, ty)), _) => Effect::Combine(op, ty),
        (None, Some(mask)) if op.kind == Bulk::Store => Effect::Masked(mask as u16),
        _ => Effect::Copy,
    };
    let mut targets: SmallVec<[Location; 2]> = smallvec::smallvec![target];
    let mut barriers: SmallVec<[(usize, u64, u32); 2]> = SmallVec::new();
    if let Some(barrier) = op.barrier {
        let at = located(
            state,
            (cta, thread),
            (Space::Shared, get(barrier), reach),
            AccessKind::Atomic,
            8,
        )?;
        let Location::Shared { slot, offset } = at else { return Ok(None) };
        barriers.push((slot, offset, bytes as u32));
        if let Some(mask) = mask.filter(|_| op.multicast) {
            (targets, barriers) = multicast(state, cta, mask as u16, (target, offset), bytes)?;
        }
    }
    let completion = match op.kind {
        Bulk::Store => {
            let groups = AsyncGroups::Bulk;
            Completion::Group(groups, crate::groups::current(cta, thread, groups))
        }
        Bulk::Load | Bulk::Send => Completion::Mbarriers(barriers),
    };
    let transfers = targets.into_iter().filter(|_| copied > 0).map(|to| Transfer {
        from: Source::Memory(source),
        to: to.plus(left),
        bytes: copied,
        effect,
    });
    let transfers = transfers.collect();
    let issuer = Issuer::of(state, now, lane);
    Ok(Some(Operation { issuer, number: 0, generic: false, transfers, completion }))
}

/// The first byte that is copied of so many, and how many are, where some at the beginning and at
/// the end are not.
pub(crate) fn trim(bytes: u64, [left, right]: [u32; 2]) -> (u64, u64) {
    let left = u64::from(left).min(bytes);
    (left, (bytes - left).saturating_sub(right.into()))
}

/// Barriers by slot and offset, and the bytes that complete at each.
pub(crate) type Barriers = SmallVec<[(usize, u64, u32); 2]>;

/// The destinations and barriers of a multicast: the same offsets in each CTA of the mask.
fn multicast<const N: usize>(
    state: &State<N>,
    cta: &Cta<N>,
    mask: u16,
    (target, barrier): (Location, u64),
    bytes: u64,
) -> Result<(SmallVec<[Location; 2]>, Barriers), Cause> {
    let Location::Shared { offset, .. } = target else { return Ok(Default::default()) };
    let slots = slots_of(state, cta, mask, offset)?;
    let targets = slots.iter().map(|&slot| Location::Shared { slot, offset }).collect();
    Ok((targets, slots.iter().map(|&slot| (slot, barrier, bytes as u32)).collect()))
}

/// The slots of the CTAs of a multicast to an offset in shared memory.
pub(crate) fn slots_of<const N: usize>(
    state: &State<N>,
    cta: &Cta<N>,
    mask: u16,
    offset: u64,
) -> Result<SmallVec<[usize; 2]>, Cause> {
    let (size, place) = (cta.place.size, cta.place);
    if u32::from(mask) >> size != 0 {
        return Err(BulkMisuse::Multicast { mask: mask.into(), size }.into());
    }
    let slot_of = |rank: u32| {
        let slot = place.first_slot + rank as usize;
        if state.resident[slot].is_some() {
            return Ok(slot);
        }
        let misuse = crate::cluster::ClusterMisuse::Exited { rank: rank.into() };
        Err(Cause::ClusterAddress { address: u64::from(rank) << 24 | offset, misuse })
    };
    (0..size).filter(|rank| mask >> rank & 1 != 0).map(slot_of).collect()
}

/// The place of bytes at an address of a space, if they can be accessed.
pub(crate) fn located<const N: usize>(
    state: &State<N>,
    (cta, thread): (&Cta<N>, usize),
    (space, address, reach): (Space, u64, bool),
    kind: AccessKind,
    bytes: u64,
) -> Result<Location, Cause> {
    let generic = match space {
        Space::Shared if space_of(address) == Space::Shared => address,
        _ => generic_address(space, address),
    };
    check_place(state, cta, thread, (space, generic, reach), kind, (bytes, 1))?;
    match space {
        Space::Shared => {
            let (slot, offset) = home_of(cta, generic, reach)?;
            Ok(Location::Shared { slot, offset })
        }
        _ => Ok(Location::Global(generic)),
    }
}

/// Issues asynchronous stores or reductions in the shared memory of the cluster.
pub(crate) fn store<const N: usize>(
    state: &mut State<N>,
    now: &Now<N>,
    op: &AsyncStore,
) -> Executed<N> {
    let mem = &op.mem;
    let kind = if op.combine.is_some() { AccessKind::Atomic } else { AccessKind::Store };
    let places = check(state, now, mem, kind, mem.values.len())?;
    let made: Result<Vec<Operation>, Failure<N>> = places
        .iter()
        .map(|&(lane, at)| {
            let lane = usize::from(lane);
            stored(state, now, op, (lane, at)).map_err(|c| fail(c, LaneMask::lane(lane)))
        })
        .collect();
    state.scratch.lanes = places;
    made?.into_iter().for_each(|operation| asynchronous::issue(state, operation));
    Ok(Outcome::Advance)
}

fn stored<const N: usize>(
    state: &State<N>,
    now: &Now<N>,
    op: &AsyncStore,
    (lane, at): (usize, u64),
) -> Result<Operation, Cause> {
    let issuer = Issuer::of(state, now, lane);
    let Some(cta) = state.resident[now.slot].as_deref() else {
        let (transfers, completion) = (Vec::new(), Completion::Group(AsyncGroups::Bulk, 0));
        return Ok(Operation { issuer, number: 0, generic: true, transfers, completion });
    };
    let thread = cta.groups[now.group].thread(lane);
    let get = |src| value(cta, now.group, &state.info.vars, src, thread);
    let mut bytes = asynchronous::Bytes::new();
    for &src in &op.mem.values {
        bytes.extend_from_slice(&get(src).to_le_bytes()[..op.mem.width.bytes() as usize]);
    }
    let len = bytes.len() as u64;
    let at_barrier = get(op.barrier);
    if op.mem.space == Space::Generic && space_of(at_barrier) != Space::Shared {
        return Err(Cause::MbarrierSpace { address: at_barrier });
    }
    let barrier = (Space::Shared, at_barrier, true);
    let barrier = located(state, (cta, thread), barrier, AccessKind::Atomic, 8)?;
    if space_of(at) != Space::Shared {
        let misuse = crate::cluster::ClusterMisuse::Elsewhere;
        return Err(Cause::ClusterAddress { address: at, misuse });
    }
    let (slot, offset) = home_of(cta, at, true)?;
    let to = Location::Shared { slot, offset };
    let mut barriers: Barriers = SmallVec::new();
    if let Location::Shared { slot, offset } = barrier {
        barriers.push((slot, offset, len as u32));
    }
    let effect = op.combine.map_or(Effect::Copy, |(op, ty)| Effect::Combine(op, ty));
    let transfers = vec![Transfer { from: Source::Bytes(bytes), to, bytes: len, effect }];
    let completion = Completion::Mbarriers(barriers);
    Ok(Operation { issuer, number: 0, generic: true, transfers, completion })
}
