//! CTA barriers.
//!
//! The rule implemented is the PTX ISA's for `barrier`: arrival is per thread; a warp's arrival
//! stands for its threads that have exited or were never launched; without a count, a barrier waits
//! for all threads of the CTA that have not exited. A thread that has exited is never waited for.
//! A barrier counts arrivals, not threads: a thread that arrives without waiting and then comes
//! again, to wait or not, counts twice, and so does its warp for absent threads. (FlashAttention 3
//! needs this: the warp that stores a tile arrives with its group and then waits for it.)
//! With [`Launch::warp_barriers`](crate::Launch::warp_barriers) arrival is per warp, as before
//! sm_70.

use std::ops::Range;

use crate::cause::Cause;
use crate::code::{Code, Exec};
use crate::control::{fail, value};
use crate::engine::{Executed, Now, Outcome, Release, guarded};
use crate::program::Program;
use crate::state::{Cta, Parked, State, Waiting};
use ir::mods::Barrier;
use simt::observe::{Events, Observer, Sync, SyncKind};
use simt::{CtaMask, LaneMask};
use smallvec::SmallVec;

/// Barriers of a CTA.
pub(crate) const COUNT: usize = 16;

/// One barrier of a CTA.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CtaBarrier {
    /// Threads that have arrived since it last completed.
    pub(crate) arrived: CtaMask,
    /// The thread of each arrival of a thread that had arrived before.
    pub(crate) again: Vec<usize>,
    /// Those of them that wait.
    pub(crate) waiting: CtaMask,
    /// Threads it takes, if the first to arrive named a count.
    pub(crate) count: Option<u32>,
    /// Waiting threads whose predicate holds.
    pub(crate) holds: CtaMask,
}

pub(crate) fn execute<const N: usize, O: Observer<N>>(
    program: &Program,
    state: &mut State<N>,
    now: &Now<N>,
    code: &Code,
    releases: &mut SmallVec<[Release<N>; 2]>,
    observer: &mut O,
) -> Executed<N> {
    let Exec::Bar { kind, id, count, pred, .. } = &code.exec else { return Ok(Outcome::Advance) };
    let vars = std::sync::Arc::clone(&state.info);
    let Some(cta) = state.resident[now.slot].as_deref_mut() else { return Ok(Outcome::Advance) };
    // Lanes may name different barriers: each is arrived at in turn, once all names and counts are
    // checked.
    let mut arrivals = SmallVec::<[(u8, Option<u32>, LaneMask<N>); 1]>::new();
    for lane in now.on {
        let thread = cta.groups[now.group].thread(lane);
        let id = value(cta, now.group, &vars.vars, *id, thread);
        let count = count.map(|c| value(cta, now.group, &vars.vars, c, thread));
        let (id, count) =
            check(cta, id, count, *kind).map_err(|cause| fail(cause, LaneMask::lane(lane)))?;
        match arrivals.iter_mut().find(|a| (a.0, a.1) == (id, count)) {
            Some(arrival) => arrival.2.insert(lane),
            None => arrivals.push((id, count, LaneMask::lane(lane))),
        }
    }
    let holds = match pred {
        Some(pred) => guarded(cta, now.group, now.on, *pred),
        None => LaneMask::EMPTY,
    };
    let mut parked = LaneMask::EMPTY;
    for (id, count, lanes) in arrivals {
        arrive(state, now, (id, count, *kind), lanes, holds, observer);
        let completed =
            complete(program, state, now.slot, usize::from(id), Some(now), releases, observer);
        if !completed && *kind != Barrier::Arrive {
            parked |= lanes;
        }
    }
    Ok(if parked.is_empty() { Outcome::Advance } else { Outcome::Park(parked) })
}

fn check<const N: usize>(
    cta: &Cta<N>,
    id: u64,
    count: Option<u64>,
    kind: Barrier,
) -> Result<(u8, Option<u32>), Cause> {
    let number = u8::try_from(id).ok().filter(|&i| usize::from(i) < COUNT);
    let number = number.ok_or(Cause::BarrierId { id })?;
    let threads = (cta.parked.len() as u32).next_multiple_of(cta.warp);
    let bad = |count| Cause::BarrierCount { count, warp: cta.warp, threads };
    match count {
        // A count of zero means all threads, but `arrive` needs one.
        None | Some(0) if kind == Barrier::Arrive => Err(bad(0)),
        None | Some(0) => Ok((number, None)),
        Some(n) if n % u64::from(cta.warp) != 0 || n > u64::from(threads) => Err(bad(n)),
        Some(n) => Ok((number, Some(n as u32))),
    }
}

/// Enters lanes as arrived, and as waiting unless they only arrive.
fn arrive<const N: usize, O: Observer<N>>(
    state: &mut State<N>,
    now: &Now<N>,
    (id, count, kind): (u8, Option<u32>, Barrier),
    lanes: LaneMask<N>,
    holds: LaneMask<N>,
    observer: &mut O,
) {
    let Some(cta) = state.resident[now.slot].as_deref_mut() else { return };
    if observer.wants(Events::SYNC) {
        let group = cta.group_id(now.group);
        let kind = SyncKind::BarrierArrive;
        observer.sync(&Sync {
            group,
            pc: now.pc,
            kind,
            barrier: u32::from(id),
            members: 0,
            lanes: &lanes,
        });
    }
    let first = cta.groups[now.group].first_thread as usize;
    let barrier = &mut cta.barriers[usize::from(id)];
    if barrier.arrived.is_empty() {
        barrier.count = count;
    }
    for lane in lanes {
        let thread = first + lane;
        if barrier.arrived.contains(thread) {
            barrier.again.push(thread);
        }
        barrier.arrived.insert(thread);
        if kind != Barrier::Arrive {
            barrier.waiting.insert(thread);
            barrier.holds.set(thread, holds.contains(lane));
            cta.parked[thread] = Some(Parked { pc: now.pc, wait: Waiting::Barrier(id) });
        }
    }
}

impl CtaBarrier {
    /// Arrivals of some threads, and the most of any of them.
    fn arrivals(&self, threads: Range<usize>) -> (u32, u32) {
        let again = |thread| self.again.iter().filter(|&&other| other == thread).count() as u32;
        threads
            .filter(|&thread| self.arrived.contains(thread))
            .map(|thread| 1 + again(thread))
            .fold((0, 0), |(sum, most), count| (sum + count, most.max(count)))
    }
}

/// Arrivals, with those of the exited and never launched threads of the same warps, and how many it
/// takes.
pub(crate) fn census<const N: usize>(cta: &Cta<N>, barrier: &CtaBarrier) -> (u32, u32) {
    let count = match barrier.count {
        // Nothing is added for absent threads, which are not waited for.
        None if !cta.warp_barriers => {
            return (barrier.arrived.count() + barrier.again.len() as u32, cta.live);
        }
        count => count,
    };
    let (threads, warp) = (cta.parked.len(), cta.warp as usize);
    let (mut arrived, mut live) = (0, 0);
    for first in (0..threads).step_by(warp) {
        let lanes = first..(first + warp).min(threads);
        let (here, rounds) = barrier.arrivals(lanes.clone());
        if cta.warp_barriers {
            // "Barriers are executed on a per-warp basis as if all the threads in a warp are
            // active" (PTX ISA, targets before sm_70).
            arrived += rounds * cta.warp;
            live += if lanes.clone().any(|t| !cta.exited[t]) { cta.warp } else { 0 };
        } else {
            let absent = |t: usize| t >= threads || cta.exited[t] && !barrier.arrived.contains(t);
            arrived += here + rounds * (first..first + warp).filter(|&t| absent(t)).count() as u32;
        }
    }
    (arrived, count.unwrap_or(live))
}

/// Completes a barrier if enough threads have arrived: writes the reduction's result and releases
/// waiting threads. Lanes of the issue `now` are not parked yet and just continue.
fn complete<const N: usize, O: Observer<N>>(
    program: &Program,
    state: &mut State<N>,
    slot: usize,
    id: usize,
    now: Option<&Now<N>>,
    releases: &mut SmallVec<[Release<N>; 2]>,
    observer: &mut O,
) -> bool {
    let Some(cta) = state.resident[slot].as_deref_mut() else { return false };
    let (arrived, expected) = census(cta, &cta.barriers[id]);
    if arrived == 0 || arrived < expected {
        return false;
    }
    state.stats.barriers += 1;
    let barrier = std::mem::take(&mut cta.barriers[id]);
    let (holding, waiting) = (barrier.holds.count(), barrier.waiting.count());
    for thread in barrier.waiting {
        let Some(parked) = cta.parked[thread].take() else { continue };
        if let Exec::Bar { kind, dst: Some(dst), .. } = &program.code[parked.pc.0 as usize].exec {
            let result = match kind {
                Barrier::RedPopc => u64::from(holding),
                Barrier::RedAnd => u64::from(holding == waiting),
                _ => u64::from(holding > 0),
            };
            cta.set_row(*dst, thread, result);
        }
        let group = thread / state.info.width as usize;
        let lane = thread % state.info.width as usize;
        let issuing =
            now.is_some_and(|n| n.group == group && n.on.contains(lane) && n.pc == parked.pc);
        if issuing {
            continue;
        }
        match releases.iter_mut().find(|r| (r.slot, r.group, r.pc) == (slot, group, parked.pc)) {
            Some(release) => release.lanes.insert(lane),
            None => {
                let lanes = LaneMask::lane(lane);
                releases.push(Release { slot, group, lanes, pc: parked.pc });
            }
        }
    }
    announce(state, slot, id, &barrier, observer);
    true
}

fn announce<const N: usize, O: Observer<N>>(
    state: &State<N>,
    slot: usize,
    id: usize,
    barrier: &CtaBarrier,
    observer: &mut O,
) {
    if !observer.wants(Events::SYNC) {
        return;
    }
    let Some(cta) = state.resident[slot].as_deref() else { return };
    for (g, group) in cta.groups.iter().enumerate() {
        let lanes = group.launched.filter(|lane| barrier.waiting.contains(group.thread(lane)));
        if lanes.any() {
            let (group, kind) = (cta.group_id(g), SyncKind::BarrierRelease);
            observer.sync(&Sync {
                group,
                pc: simt::Pc(0),
                kind,
                barrier: id as u32,
                members: 0,
                lanes: &lanes,
            });
        }
    }
}

/// Completes barriers that waited only for threads that have exited.
pub(crate) fn after_exit<const N: usize, O: Observer<N>>(
    program: &Program,
    state: &mut State<N>,
    slot: usize,
    releases: &mut SmallVec<[Release<N>; 2]>,
    observer: &mut O,
) {
    for id in 0..COUNT {
        let pending =
            state.resident[slot].as_deref().is_some_and(|cta| cta.barriers[id].arrived.any());
        if pending {
            complete(program, state, slot, id, None, releases, observer);
        }
    }
}
