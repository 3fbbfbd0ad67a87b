//! Warp collectives: votes, shuffles, matches, reductions, warp synchronisation.
//!
//! The rendezvous is on the *architectural* warp (`Launch::warp`, 32 threads), whatever the width
//! of the issue groups: an executing lane waits until all lanes that its member mask names have
//! executed the same instruction with the same mask. Lanes that were never launched and lanes that
//! have exited are not waited for. The PTX ISA says so of all collectives but `bar.warp.sync` ("all
//! threads" there, "all non-exited threads" elsewhere); the CUDA programming guide says it of
//! `__syncwarp` too ("all non-exited threads named in mask"), which compiles to nothing else, and
//! devices keep it: compilers leave full masks behind early returns.

use crate::cause::Cause;
use crate::code::{CollectiveKind, CollectiveOp, Exec};
use crate::control::{fail, value};
use crate::engine::{Executed, Now, Outcome, Release};
use crate::program::Program;
use crate::state::{Cta, Parked, State, Waiting};
use ir::Ty;
use ir::mods::{AtomOp, Shuffle, Vote};
use simt::arith::soft::MinMax;
use simt::arith::{F32, FpEnv, float, int};
use simt::observe::{Events, Observer, Sync, SyncKind};
use simt::{LaneMask, Pc};
use smallvec::SmallVec;

/// Lanes that wait for each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rendezvous {
    pub(crate) warp: u32,
    /// The instruction; `bar.warp.sync` meets any other of its kind.
    pub(crate) pc: Option<Pc>,
    pub(crate) members: u32,
    pub(crate) arrived: u32,
    /// Whether exited lanes are awaited as well: instructions on matrices need every lane.
    pub(crate) whole: bool,
}

pub(crate) fn execute<const N: usize, O: Observer<N>>(
    program: &Program,
    state: &mut State<N>,
    now: &Now<N>,
    op: &CollectiveOp,
    releases: &mut SmallVec<[Release<N>; 2]>,
    observer: &mut O,
) -> Executed<N> {
    match op.kind {
        CollectiveKind::Matrix(matrix) => {
            crate::fragments::arrive(state, now, matrix, op, observer)?;
        }
        CollectiveKind::WarpGroup(kind) => crate::warp_group::arrive(state, now, kind, op)?,
        _ => {}
    }
    let info = std::sync::Arc::clone(&state.info);
    let Some(cta) = state.resident[now.slot].as_deref_mut() else { return Ok(Outcome::Advance) };
    let mut meetings = SmallVec::<[(u32, u32, u32); 2]>::new();
    for lane in now.on {
        let thread = cta.groups[now.group].thread(lane);
        let (warp, bit) = (thread as u32 / info.warp, thread as u32 % info.warp);
        let members = op.members.map(|m| value(cta, now.group, &info.vars, m, thread) as u32);
        // Bits beyond the warp name no lane.
        let members = members.map(|m| m & u32::MAX >> (32 - info.warp.min(32)));
        // Without a member mask, the lanes that execute it together are the members.
        let members = members.unwrap_or(0);
        if op.members.is_some() && members >> bit & 1 == 0 {
            return Err(fail(Cause::NotMember { lane: bit, members }, LaneMask::lane(lane)));
        }
        match meetings.iter_mut().find(|m| m.0 == warp && m.1 == members) {
            Some(meeting) => meeting.2 |= 1 << bit,
            None => meetings.push((warp, members, 1 << bit)),
        }
    }
    let mut parked = LaneMask::EMPTY;
    for (warp, members, lanes) in meetings {
        let own = (now.group, group_lanes(state, now, warp, lanes), members);
        let done = match op.members {
            None => finish(program, state, now.slot, warp, lanes, now.pc),
            Some(_) => {
                tell(state, now, own, SyncKind::CollectiveArrive, observer);
                meet(program, state, now, op.kind, (warp, members, lanes), releases)
            }
        };
        if done && op.members.is_some() {
            tell(state, now, own, SyncKind::CollectiveComplete, observer);
        }
        if !done {
            parked |= group_lanes(state, now, warp, lanes);
        }
    }
    let completed = now.on - parked;
    if observer.wants(Events::SYNC)
        && completed.any()
        && let Some(cta) = state.resident[now.slot].as_deref()
    {
        let (group, kind) = (cta.group_id(now.group), SyncKind::Collective);
        let (barrier, members) = (0, 0);
        observer.sync(&Sync { group, pc: now.pc, kind, barrier, members, lanes: &completed });
    }
    Ok(if parked.is_empty() { Outcome::Advance } else { Outcome::Park(parked) })
}

/// Tells of lanes of a group at a collective with a member mask.
fn tell<const N: usize, O: Observer<N>>(
    state: &State<N>,
    now: &Now<N>,
    (group, lanes, members): (usize, LaneMask<N>, u32),
    kind: SyncKind,
    observer: &mut O,
) {
    if observer.wants(Events::SYNC)
        && let Some(cta) = state.resident[now.slot].as_deref()
    {
        let (group, barrier) = (cta.group_id(group), 0);
        observer.sync(&Sync { group, pc: now.pc, kind, barrier, members, lanes: &lanes });
    }
}

/// Lanes of an architectural warp as lanes of the issuing group.
fn group_lanes<const N: usize>(
    state: &State<N>,
    now: &Now<N>,
    warp: u32,
    lanes: u32,
) -> LaneMask<N> {
    let Some(cta) = state.resident[now.slot].as_deref() else { return LaneMask::EMPTY };
    let first = cta.groups[now.group].first_thread as usize;
    now.on.filter(|lane| {
        let thread = (first + lane) as u32;
        thread / cta.warp == warp && lanes >> (thread % cta.warp) & 1 != 0
    })
}

/// Adds lanes to their rendezvous; returns whether it is complete.
fn meet<const N: usize>(
    program: &Program,
    state: &mut State<N>,
    now: &Now<N>,
    kind: CollectiveKind,
    (warp, members, lanes): (u32, u32, u32),
    releases: &mut SmallVec<[Release<N>; 2]>,
) -> bool {
    let Some(cta) = state.resident[now.slot].as_deref_mut() else { return false };
    let pc = (kind != CollectiveKind::Sync).then_some(now.pc);
    let known =
        cta.rendezvous.iter().position(|r| (r.warp, r.pc, r.members) == (warp, pc, members));
    let index = known.unwrap_or_else(|| {
        let whole = matches!(kind, CollectiveKind::Matrix(_) | CollectiveKind::WarpGroup(_));
        cta.rendezvous.push(Rendezvous { warp, pc, members, arrived: 0, whole });
        cta.rendezvous.len() - 1
    });
    cta.rendezvous[index].arrived |= lanes;
    if is_complete(cta, &cta.rendezvous[index]) {
        let meeting = cta.rendezvous.remove(index);
        conclude(program, state, now.slot, &meeting, lanes, releases);
        return true;
    }
    for bit in LaneMask::from_bits(u64::from(lanes)) {
        let thread = (warp * cta.warp) as usize + bit;
        cta.parked[thread] = Some(Parked { pc: now.pc, wait: Waiting::Collective { members } });
    }
    false
}

/// Members that have a thread which has not exited; all of them if all are needed.
fn awaited<const N: usize>(cta: &Cta<N>, meeting: &Rendezvous) -> u32 {
    let first = (meeting.warp * cta.warp) as usize;
    let mut awaited = meeting.members;
    for bit in 0..cta.warp.min(32) as usize {
        let thread = first + bit;
        if !meeting.whole && cta.exited.get(thread).is_none_or(|&exited| exited) {
            awaited &= !(1 << bit);
        }
    }
    awaited
}

fn is_complete<const N: usize>(cta: &Cta<N>, meeting: &Rendezvous) -> bool {
    awaited(cta, meeting) & !meeting.arrived == 0
}

/// Returns the members that have not arrived.
pub(crate) fn missing<const N: usize>(cta: &Cta<N>, thread: usize, members: u32) -> u32 {
    let warp = thread as u32 / cta.warp;
    let bit = 1u32.checked_shl(thread as u32 % cta.warp).unwrap_or(0);
    let meeting = cta
        .rendezvous
        .iter()
        .find(|r| r.warp == warp && r.members == members && r.arrived & bit != 0);
    meeting.map_or(0, |meeting| awaited(cta, meeting) & !meeting.arrived)
}

/// Computes the results of a complete rendezvous and releases its lanes; those in `issuing`
/// continue by themselves.
fn conclude<const N: usize>(
    program: &Program,
    state: &mut State<N>,
    slot: usize,
    meeting: &Rendezvous,
    issuing: u32,
    releases: &mut SmallVec<[Release<N>; 2]>,
) {
    if let Some(pc) = meeting.pc {
        finish(program, state, slot, meeting.warp, meeting.arrived, pc);
        crate::warp_group::wake(state, slot, meeting.warp, releases);
    }
    state.stats.member_collectives += 1;
    let width = state.info.width as usize;
    let Some(cta) = state.resident[slot].as_deref_mut() else { return };
    for bit in LaneMask::from_bits(u64::from(meeting.arrived & !issuing)) {
        let thread = (meeting.warp * cta.warp) as usize + bit;
        let Some(parked) = cta.parked[thread].take() else { continue };
        let (group, lane) = (thread / width, thread % width);
        match releases.iter_mut().find(|r| (r.slot, r.group, r.pc) == (slot, group, parked.pc)) {
            Some(release) => release.lanes.insert(lane),
            None => {
                let lanes = LaneMask::lane(lane);
                releases.push(Release { slot, group, lanes, pc: parked.pc });
            }
        }
    }
}

/// Completes collectives that waited only for threads that have exited.
pub(crate) fn after_exit<const N: usize, O: Observer<N>>(
    program: &Program,
    state: &mut State<N>,
    now: &Now<N>,
    releases: &mut SmallVec<[Release<N>; 2]>,
    observer: &mut O,
) {
    let slot = now.slot;
    loop {
        let Some(cta) = state.resident[slot].as_deref_mut() else { return };
        let complete = cta.rendezvous.iter().position(|r| is_complete(cta, r));
        let Some(index) = complete else { return };
        let meeting = cta.rendezvous.remove(index);
        let first = (meeting.warp * cta.warp + meeting.arrived.trailing_zeros()) as usize;
        let at = cta.parked.get(first).copied().flatten().map_or(now.pc, |parked| parked.pc);
        let width = state.info.width as usize;
        let own = (first / width, LaneMask::lane(first % width), meeting.members);
        let now = Now { pc: at, ..*now };
        tell(state, &now, own, SyncKind::CollectiveComplete, observer);
        conclude(program, state, slot, &meeting, 0, releases);
    }
}

/// Computes and writes the results of a collective of these lanes of an architectural warp. Always
/// true.
fn finish<const N: usize>(
    program: &Program,
    state: &mut State<N>,
    slot: usize,
    warp: u32,
    lanes: u32,
    pc: Pc,
) -> bool {
    let info = std::sync::Arc::clone(&state.info);
    let Exec::Collective(op) = &program.code[pc.0 as usize].exec else { return true };
    if let CollectiveKind::Matrix(_) = op.kind {
        crate::fragments::finish(state, slot, warp, op);
        return true;
    }
    if let CollectiveKind::WarpGroup(kind) = op.kind {
        crate::warp_group::issued(state, slot, warp, (kind, op), pc);
        return true;
    }
    let Some(cta) = state.resident[slot].as_deref_mut() else { return true };
    let first = (warp * info.warp) as usize;
    let width = info.width as usize;
    let get = |cta: &Cta<N>, lane: usize, index: usize| {
        let src = op.src.get(index).copied().unwrap_or(crate::code::Src::Const(0));
        value(cta, (first + lane) / width, &info.vars, src, first + lane)
    };
    let on = LaneMask::<1>::from_bits(u64::from(lanes));
    let mut values = [[0u64; 3]; 32];
    for lane in on {
        values[lane] = [0, 1, 2].map(|i| get(cta, lane, i));
    }
    let results = results(op.kind, info.warp, on, &values);
    for lane in on {
        let (first_result, second) = results[lane];
        for (&row, value) in op.dst.iter().zip([first_result, second]) {
            cta.set_row(row, first + lane, value);
        }
    }
    true
}

/// Computes the two results of each lane of a collective of these lanes of an architectural warp,
/// from their operands.
pub(crate) fn results(
    kind: CollectiveKind,
    warp: u32,
    on: LaneMask<1>,
    operands: &[[u64; 3]; 32],
) -> [(u64, u64); 32] {
    let mut results = [(0u64, 0u64); 32];
    match kind {
        CollectiveKind::Shuffle(mode) => {
            for lane in on {
                let [own, b, c] = operands[lane];
                let (source, inside) = shuffle_source(mode, warp, lane as u32, b, c);
                // A source lane that does not participate has no value here: the lane keeps its
                // own.
                let value =
                    if on.contains(source as usize) { operands[source as usize][0] } else { own };
                results[lane] = (value, u64::from(inside));
            }
        }
        CollectiveKind::Vote(vote) => {
            let holds = on.filter(|lane| operands[lane][0] & 1 != 0);
            results = [(voted(vote, on.bits(), holds.bits()), 0); 32];
        }
        CollectiveKind::Match { all, bits } => {
            match_lanes(on, &operands.map(|o| o[0]), all, bits, &mut results);
        }
        CollectiveKind::Redux { op, ty, nan } => {
            let all = on.iter().map(|lane| operands[lane][0]);
            let result = all.reduce(|a, b| reduce(op, ty, nan, a, b)).unwrap_or(0);
            results = [(result, 0); 32];
        }
        CollectiveKind::Elect => {
            let leader = on.lowest().unwrap_or(0);
            results = [(leader as u64, 0); 32];
            results[leader].1 = 1;
        }
        CollectiveKind::ActiveMask => results = [(on.bits(), 0); 32],
        // Matrices have functions of their own.
        CollectiveKind::Sync | CollectiveKind::Matrix(_) | CollectiveKind::WarpGroup(_) => {}
    }
    results
}

/// Computes the result of a vote from the voting lanes and those in which the predicate holds.
pub(crate) fn voted(vote: Vote, on: u64, holds: u64) -> u64 {
    match vote {
        Vote::All => u64::from(holds == on),
        Vote::Any => u64::from(holds != 0),
        Vote::Uni => u64::from(holds == on || holds == 0),
        Vote::Ballot => holds,
    }
}

/// The lane that a shuffle reads from, and whether it is inside the segment (PTX ISA, `shfl.sync`).
/// Out of it, the lane reads itself.
pub(crate) fn shuffle_source(mode: Shuffle, warp: u32, lane: u32, b: u64, c: u64) -> (u32, bool) {
    let (b, clamp, segment) = (b as u32 & 0x1f, c as u32 & 0x1f, c as u32 >> 8 & 0x1f);
    let max = lane & segment | clamp & !segment;
    let min = lane & segment;
    let (source, inside) = match mode {
        Shuffle::Up => (lane.wrapping_sub(b), lane as i32 - b as i32 >= max as i32),
        Shuffle::Down => (lane + b, lane + b <= max),
        Shuffle::Bfly => (lane ^ b, (lane ^ b) <= max),
        Shuffle::Idx => (min | b & !segment, (min | b & !segment) <= max),
    };
    // A warp below 32 lanes ends before the segment may.
    let inside = inside && source < warp;
    (if inside { source } else { lane }, inside)
}

fn match_lanes(
    on: LaneMask<1>,
    values: &[u64; 32],
    all: bool,
    bits: u32,
    results: &mut [(u64, u64); 32],
) {
    let mask = u64::MAX >> (64 - bits.clamp(1, 64));
    let same = |a: usize, b: usize| (values[a] ^ values[b]) & mask == 0;
    for lane in on {
        let equal = on.filter(|other| same(lane, other));
        results[lane] = match all {
            true if equal == on => (on.bits(), 1),
            true => (0, 0),
            false => (equal.bits(), 0),
        };
    }
}

fn reduce(op: AtomOp, ty: Ty, nan: bool, a: u64, b: u64) -> u64 {
    let rule = if nan { MinMax::Propagate } else { MinMax::Number };
    match (op, ty) {
        (AtomOp::And, _) => a & b,
        (AtomOp::Or, _) => a | b,
        (AtomOp::Xor, _) => a ^ b,
        (AtomOp::Min, Ty::F32) => float::min::<F32>(a, b, rule, FpEnv::PTX),
        (AtomOp::Max, Ty::F32) => float::max::<F32>(a, b, rule, FpEnv::PTX),
        (AtomOp::Min, Ty::S32) => int::min::<i32>(a, b),
        (AtomOp::Max, Ty::S32) => int::max::<i32>(a, b),
        (AtomOp::Min, _) => int::min::<u32>(a, b),
        (AtomOp::Max, _) => int::max::<u32>(a, b),
        _ => int::add::<u32>(a, b),
    }
}
