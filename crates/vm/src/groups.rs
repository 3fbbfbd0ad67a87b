//! Groups of copies that a thread commits and waits for: of bulk copies, and of `cp.async`.
//!
//! Groups of a thread are numbered from 0, each kind by itself; a copy belongs to the group that
//! the thread commits next. A wait names the groups that may be unfinished: the last so many.

use crate::code::{Exec, GroupWait};
use crate::engine::{Now, Outcome};
use crate::program::Program;
use crate::state::{Cta, Parked, State, Waiting};
use simt::Pc;
use simt::observe::{AsyncEvent, AsyncGroups};

/// The number of the group that a thread commits next.
pub(crate) fn current<const N: usize>(cta: &Cta<N>, thread: usize, groups: AsyncGroups) -> u64 {
    cta.commits.get(&(thread as u32, groups)).copied().unwrap_or(0)
}

/// Commits the groups of the lanes that are on.
pub(crate) fn commit<const N: usize>(
    state: &mut State<N>,
    now: &Now<N>,
    groups: AsyncGroups,
) -> Outcome<N> {
    if let Some(cta) = state.resident[now.slot].as_deref_mut() {
        for lane in now.on {
            let thread = cta.groups[now.group].thread(lane) as u32;
            *cta.commits.entry((thread, groups)).or_default() += 1;
        }
        let (group, event) = (cta.group_id(now.group), AsyncEvent::Commit(groups));
        state.scratch.announced.add(group, now.pc, now.on, event);
    }
    Outcome::Advance
}

/// Parks the threads that have more unfinished groups than the instruction allows.
pub(crate) fn wait<const N: usize>(
    state: &mut State<N>,
    now: &Now<N>,
    op: &GroupWait,
) -> Outcome<N> {
    if op.pending.is_none() {
        commit(state, now, op.groups);
    }
    let Some(cta) = state.resident[now.slot].as_deref() else { return Outcome::Advance };
    let first = cta.groups[now.group].first_thread as usize;
    let waits = now.on.filter(|lane| is_pending(state, cta, (first + lane, op)));
    let group = cta.group_id(now.group);
    state.scratch.announced.add(group, now.pc, now.on - waits, waited(op));
    if waits.is_empty() {
        return Outcome::Advance;
    }
    if let Some(cta) = state.resident[now.slot].as_deref_mut() {
        cta.watching += waits.count();
        for lane in waits {
            let wait = Waiting::Groups(op.groups);
            cta.parked[first + lane] = Some(Parked { pc: now.pc, wait });
        }
    }
    Outcome::Park(waits)
}

/// The event of threads that go on.
pub(crate) fn waited(op: &GroupWait) -> AsyncEvent {
    let pending = op.pending.unwrap_or(0);
    AsyncEvent::Wait { groups: op.groups, pending, reads: op.reads }
}

/// The number below which all groups of a thread are to end.
fn limit<const N: usize>(cta: &Cta<N>, thread: usize, op: &GroupWait) -> u64 {
    current(cta, thread, op.groups).saturating_sub(op.pending.unwrap_or(0))
}

fn is_pending<const N: usize>(
    state: &State<N>,
    cta: &Cta<N>,
    (thread, op): (usize, &GroupWait),
) -> bool {
    let own = (cta.place.slot(), thread as u32);
    state.queue.is_group_pending(own, (op.groups, limit(cta, thread, op)), op.reads)
}

/// The kind of groups that a parked thread waits for, and the number below which all are to end.
pub(crate) fn awaited<const N: usize>(
    program: &Program,
    cta: &Cta<N>,
    thread: usize,
    pc: Pc,
) -> Option<(AsyncGroups, u64)> {
    match program.at(pc).map(|code| &code.exec) {
        Some(Exec::GroupWait(op)) => Some((op.groups, limit(cta, thread, op))),
        _ => None,
    }
}

/// Returns whether what a parked thread waits for is done.
pub(crate) fn is_done<const N: usize>(
    program: &Program,
    state: &State<N>,
    cta: &Cta<N>,
    thread: usize,
) -> bool {
    let Some(parked) = cta.parked[thread] else { return false };
    match program.at(parked.pc).map(|code| &code.exec) {
        Some(Exec::GroupWait(op)) => !is_pending(state, cta, (thread, op)),
        _ => false,
    }
}
