//! Barriers in shared memory.
//!
//! The rules are those of [`simt::mbarrier`]. Lanes take effect in increasing order, each on the
//! word that the lanes below it left. The words of all lanes are computed before any is written,
//! so a misuse leaves the state before the instruction.
//!
//! **Waits.** A test answers at once. `mbartry` parks its lanes if the phase of none of them has
//! completed, and they go on, with the answer, when it does: the instruction is issued once. Its
//! answer is that the phase has not completed if some lanes' phases have, and if no thread of the
//! cluster can run and no asynchronous step is left: what a thread looks at next may be changed by
//! another cluster. Where steps are done later than operations are issued, a thread's first try for
//! a phase fails at once, as one does whose time is over: who does not try again is not ordered.

use crate::access::{check, home, observe_at, read, write};
use crate::cause::Cause;
use crate::cluster::Place;
use crate::code::{Exec, MbarrierKind, MbarrierOp};
use crate::control::{fail, value};
use crate::engine::{Executed, Failure, Now, Outcome, Release};
use crate::program::Program;
use crate::state::{Cta, Parked, State, Waiting};
use compute::space_of;
use ir::mods::Space;
use rustc_hash::FxHashMap;
use simt::mbarrier::{Mbarrier, Misuse};
use simt::memory::{AccessKind, SHARED_WINDOW, Width};
use simt::observe::{AsyncGroups, Events, MbarrierEvent, MbarrierEventKind, Observer, Order};
use simt::{LaneMask, Pc};
use smallvec::SmallVec;

/// The effect of a lane: its thread, the barrier's generic address, its arrivals, the word that it
/// finds, the one that it leaves, its result.
struct Effect {
    lane: u16,
    thread: usize,
    at: u64,
    count: u32,
    before: u64,
    word: Option<u64>,
    result: u64,
}

pub(crate) fn execute<const N: usize, O: Observer<N>>(
    program: &Program,
    state: &mut State<N>,
    now: &Now<N>,
    op: &MbarrierOp,
    releases: &mut SmallVec<[Release<N>; 2]>,
    observer: &mut O,
) -> Executed<N> {
    let kind = match op.kind {
        MbarrierKind::Init { .. } | MbarrierKind::Inval => AccessKind::Store,
        MbarrierKind::Arrive(_) | MbarrierKind::Expect | MbarrierKind::Complete => {
            AccessKind::Atomic
        }
        MbarrierKind::Test { .. } | MbarrierKind::Try { .. } | MbarrierKind::Layout { .. } => {
            AccessKind::Load
        }
    };
    let places = check(state, now, &op.mem, kind, 1)?;
    if op.after_copies && crate::copies::are_operations(state, observer) {
        if observer.wants(Events::ACCESS) {
            observe_at(state, now, (&op.mem, kind, op.mem.size), places.clone(), &[], observer);
        }
        crate::copies::arrive(state, now, op, &places)?;
        state.scratch.lanes = places;
        return Ok(Outcome::Advance);
    }
    let effects = effects(state, now, op, &places)?;
    let tries = matches!(op.kind, MbarrierKind::Try { .. });
    let mut waits = tries && effects.iter().all(|e| e.result == 0) && !effects.is_empty();
    let mut polls = true;
    if waits && state.queue.delays() {
        let last = last_failed_tries(state, now.slot, &effects);
        waits = last.iter().zip(&effects).all(|(last, effect)| *last == Some(effect.at));
        polls = last.iter().any(Option::is_some);
    }
    if waits {
        state.scratch.lanes = places;
        return Ok(park(state, now, op, &effects));
    }
    if observer.wants(Events::ACCESS) {
        observe_at(state, now, (&op.mem, kind, op.mem.size), places.clone(), &[], observer);
    }
    state.scratch.lanes = places;
    let place = state.resident[now.slot].as_deref().map(|cta| cta.place).unwrap_or_default();
    for effect in &effects {
        announce(state, now.slot, (now.group, now.pc), op, effect);
        let &Effect { thread, at, word, result, .. } = effect;
        if let Some(word) = word {
            write(state, now.slot, thread, (Space::Shared, at, Width::B8, word));
        } else if result == 0
            && polls
            && !matches!(op.kind, MbarrierKind::Layout { .. })
            && let Ok((slot, offset)) = place.home(at & 0xffff_ffff, true)
        {
            state.queue.poll(slot, offset);
        }
        let Some(cta) = state.resident[now.slot].as_deref_mut() else { break };
        if let Some(&row) = op.mem.rows.first() {
            cta.set_row(row, thread, result);
        }
        if tries && result != 0 && cta.failed_tries.get(&thread) == Some(&at) {
            cta.failed_tries.remove(&thread);
        }
    }
    if kind == AccessKind::Atomic {
        wake(program, state, (place, true), releases, observer);
    }
    Ok(Outcome::Advance)
}

/// The barriers at which the last tries of threads have failed, before these do.
fn last_failed_tries<const N: usize>(
    state: &mut State<N>,
    slot: usize,
    effects: &[Effect],
) -> SmallVec<[Option<u64>; 32]> {
    let Some(cta) = state.resident[slot].as_deref_mut() else { return SmallVec::new() };
    effects.iter().map(|effect| cta.failed_tries.insert(effect.thread, effect.at)).collect()
}

/// Announces what a lane does.
fn announce<const N: usize>(
    state: &mut State<N>,
    slot: usize,
    (group, pc): (usize, Pc),
    op: &MbarrierOp,
    effect: &Effect,
) {
    if !state.scratch.announced.wanted() {
        return;
    }
    let Some(cta) = state.resident[slot].as_deref() else { return };
    let Ok((home, offset)) = cta.place.home(effect.at & 0xffff_ffff, true) else { return };
    let order = op.mem.order;
    let acquires = matches!(order, Order::Acquire | Order::AcqRel | Order::SeqCst);
    let releases = matches!(order, Order::Release | Order::AcqRel | Order::SeqCst);
    let change = |arrivals| MbarrierEventKind::Change { arrivals, releases };
    let kind = match op.kind {
        // Nobody waits, and nothing changes.
        MbarrierKind::Layout { .. } => return,
        MbarrierKind::Init { .. } => MbarrierEventKind::Init,
        MbarrierKind::Inval => MbarrierEventKind::Invalidate,
        MbarrierKind::Arrive(_) => change(effect.count),
        MbarrierKind::Expect | MbarrierKind::Complete => change(0),
        MbarrierKind::Test { .. } | MbarrierKind::Try { .. } if effect.result == 0 => {
            MbarrierEventKind::Waits
        }
        MbarrierKind::Test { .. } | MbarrierKind::Try { .. } => {
            MbarrierEventKind::Passes { acquires }
        }
    };
    let event = MbarrierEvent {
        group: cta.group_id(group),
        lane: effect.lane,
        pc,
        owner: state.resident[home].as_deref().map_or(cta.index, |owner| owner.index),
        offset,
        words: [effect.before, effect.word.unwrap_or(effect.before)],
        kind,
    };
    state.scratch.announced.mbarrier(event);
}

/// Parks all lanes.
fn park<const N: usize>(
    state: &mut State<N>,
    now: &Now<N>,
    op: &MbarrierOp,
    effects: &[Effect],
) -> Outcome<N> {
    for effect in effects {
        announce(state, now.slot, (now.group, now.pc), op, effect);
    }
    let Some(cta) = state.resident[now.slot].as_deref_mut() else { return Outcome::Advance };
    for effect in effects {
        cta.parked[effect.thread] = Some(Parked { pc: now.pc, wait: Waiting::Mbarrier });
    }
    cta.watching += effects.len() as u32;
    Outcome::Park(effects.iter().map(|e| usize::from(e.lane)).collect())
}

/// The effects of all lanes at checked places.
fn effects<const N: usize>(
    state: &State<N>,
    now: &Now<N>,
    op: &MbarrierOp,
    places: &[(u16, u64)],
) -> Result<Vec<Effect>, Failure<N>> {
    let mut out = Vec::with_capacity(places.len());
    let Some(cta) = state.resident[now.slot].as_deref() else { return Ok(out) };
    let first = cta.groups[now.group].first_thread as usize;
    let mut words: FxHashMap<u64, u64> = FxHashMap::default();
    for &(lane, at) in places {
        let on = LaneMask::lane(usize::from(lane));
        if space_of(at) != Space::Shared {
            return Err(fail(Cause::MbarrierSpace { address: at }, on));
        }
        let thread = first + usize::from(lane);
        let old = words.get(&at).copied();
        let old =
            old.unwrap_or_else(|| read(state, now.slot, thread, (Space::Shared, at), Width::B8));
        let operand = |i: usize| {
            let operand = op.mem.values.get(i);
            operand.map_or(0, |&s| value(cta, now.group, &state.info.vars, s, thread))
        };
        match apply(op.kind, old, operand(0), operand(1) as u32) {
            Ok((word, result)) => {
                words.extend(word.map(|word| (at, word)));
                let count = operand(0) as u32;
                out.push(Effect { lane, thread, at, count, before: old, word, result });
            }
            Err(misuse) => {
                let offset = at - SHARED_WINDOW.start;
                return Err(fail(Cause::Mbarrier { offset, misuse }, on));
            }
        }
    }
    Ok(out)
}

/// Returns the word that an operation on a barrier leaves, if it writes one, and its result.
/// `bytes` are those that an arrival expects first.
///
/// # Errors
/// If the PTX ISA leaves it undefined.
pub fn apply(
    kind: MbarrierKind,
    old: u64,
    operand: u64,
    bytes: u32,
) -> Result<(Option<u64>, u64), Misuse> {
    let count = operand as u32;
    Ok(match kind {
        MbarrierKind::Init { v1: true } => (Some(Mbarrier::new_v1(count)?.word()), 0),
        MbarrierKind::Init { v1: false } => (Some(Mbarrier::new(count)?.word()), 0),
        MbarrierKind::Layout { v1 } => (None, u64::from(Mbarrier::load(old)?.is_v1() == v1)),
        MbarrierKind::Inval => {
            Mbarrier::load(old)?;
            (Some(0), 0)
        }
        MbarrierKind::Arrive(how) => {
            let expecting = Mbarrier::load(old)?.expect(bytes)?;
            (Some(expecting.arrive(count, how)?.word()), old)
        }
        MbarrierKind::Expect => (Some(Mbarrier::load(old)?.expect(count)?.word()), 0),
        MbarrierKind::Complete => (Some(Mbarrier::load(old)?.complete(count)?.word()), 0),
        MbarrierKind::Test { parity } | MbarrierKind::Try { parity } => {
            let barrier = Mbarrier::load(old)?;
            let done = match parity {
                true => barrier.has_completed_parity(operand),
                false => barrier.has_completed(operand)?,
            };
            (None, u64::from(done))
        }
    })
}

/// The phase that a test with an operand asks about, modulo 4, or its parity. Other bits of states
/// differ by the arrivals that returned them.
#[must_use]
pub fn awaited_phase(kind: MbarrierKind, operand: u64) -> u64 {
    match kind {
        MbarrierKind::Test { parity: true } | MbarrierKind::Try { parity: true } => operand & 1,
        _ => Mbarrier::load(operand).map_or(operand, Mbarrier::phase),
    }
}

/// Changes a barrier in shared memory. Returns its word before and after.
pub(crate) fn change<const N: usize>(
    state: &mut State<N>,
    (slot, offset): (usize, u64),
    change: impl FnOnce(Mbarrier) -> Result<Mbarrier, Misuse>,
) -> Result<[u64; 2], Cause> {
    let Some(cta) = state.resident[slot].as_deref_mut() else { return Ok([0; 2]) };
    let wrong = |misuse| Cause::Mbarrier { offset: cta.place.base() + offset, misuse };
    let word = cta.shared.load(offset, Width::B8).unwrap_or(0);
    let barrier = Mbarrier::load(word).map_err(wrong)?;
    let next = change(barrier).map_err(wrong)?;
    let done = cta.shared.store(offset, Width::B8, next.word());
    debug_assert!(done.is_ok(), "checked when the operation was issued");
    Ok([word, next.word()])
}

/// What threads wait for.
#[derive(Default)]
pub(crate) struct Awaited {
    /// Barriers, by slot and offset.
    pub(crate) barriers: Vec<(usize, u64)>,
    /// Slot and thread, and the number below which all its groups of a kind are to end.
    pub(crate) groups: FxHashMap<((usize, u32), AsyncGroups), u64>,
}

/// What the parked threads of all CTAs wait for.
pub(crate) fn awaited<const N: usize>(program: &Program, state: &State<N>) -> Awaited {
    let mut out = Awaited::default();
    for cta in state.resident.iter().flatten().filter(|cta| cta.watching > 0) {
        for (thread, parked) in cta.parked.iter().enumerate() {
            let Some(parked) = parked else { continue };
            match parked.wait {
                Waiting::Mbarrier => {
                    out.barriers.extend(barrier_of(program, state, cta, thread).map(|b| b.0));
                }
                Waiting::Groups(_) => {
                    let limit = crate::groups::awaited(program, cta, thread, parked.pc);
                    let own = (cta.place.slot(), thread as u32);
                    out.groups.extend(limit.map(|(groups, limit)| ((own, groups), limit)));
                }
                _ => {}
            }
        }
    }
    out
}

/// The barrier that a parked thread waits for, by slot and offset, and whether the phase that it
/// waits for has completed.
pub(crate) fn barrier_of<const N: usize>(
    program: &Program,
    state: &State<N>,
    cta: &Cta<N>,
    thread: usize,
) -> Option<((usize, u64), bool)> {
    let parked = cta.parked[thread]?;
    let Exec::Mbarrier(op) = &program.at(parked.pc)?.exec else { return None };
    let group = cta.group_of(thread);
    let vars = &state.info.vars;
    let address = value(cta, group, vars, op.mem.addr, thread).wrapping_add_signed(op.mem.offset);
    let (slot, offset) = home(cta, &op.mem, address).ok()?;
    let word = state.resident.get(slot)?.as_deref()?.shared.load(offset, Width::B8).ok()?;
    let operand = op.mem.values.first().map_or(0, |&s| value(cta, group, vars, s, thread));
    let done = apply(op.kind, word, operand, 0).is_ok_and(|(_, done)| done != 0);
    Some(((slot, offset), done))
}

/// Wakes the threads of a cluster whose groups of copies are done after a step, and those whose
/// phase has completed, if the step has completed operations: no other changes barriers.
pub(crate) fn wake<const N: usize, O: Observer<N>>(
    program: &Program,
    state: &mut State<N>,
    (place, completes): (Place, bool),
    releases: &mut SmallVec<[Release<N>; 2]>,
    observer: &mut O,
) {
    for slot in place.slots() {
        let Some(cta) = state.resident[slot].as_deref().filter(|cta| cta.watching > 0) else {
            continue;
        };
        let ready: Vec<usize> = (0..cta.parked.len())
            .filter(|&thread| match cta.parked[thread].map(|p| p.wait) {
                Some(Waiting::Mbarrier) if completes => {
                    barrier_of(program, state, cta, thread).is_some_and(|found| found.1)
                }
                Some(Waiting::Groups(_)) => crate::groups::is_done(program, state, cta, thread),
                _ => false,
            })
            .collect();
        if ready.is_empty() {
            continue;
        }
        if let Some(cta) = state.resident[slot].as_deref_mut() {
            cta.failed_tries.retain(|thread, _| !ready.contains(thread));
        }
        let before = releases.len();
        answer(state, slot, &ready, releases, |thread, cta| {
            let pc = cta.parked[thread].map(|p| p.pc)?;
            match &program.at(pc)?.exec {
                Exec::Mbarrier(op) => op.mem.rows.first().map(|&row| (row, 1)),
                _ => None,
            }
        });
        if observer.wants(Events::ACCESS) {
            for release in &releases[before..] {
                report(program, state, release, observer);
            }
        }
        announce_passes(program, state, &releases[before..]);
    }
}

/// Announces that threads find their phases completed.
fn announce_passes<const N: usize>(
    program: &Program,
    state: &mut State<N>,
    releases: &[Release<N>],
) {
    if !state.scratch.announced.wanted() {
        return;
    }
    for &Release { slot, group, lanes, pc } in releases {
        let Some(Exec::Mbarrier(op)) = program.at(pc).map(|code| &code.exec) else { continue };
        for lane in lanes {
            let Some(cta) = state.resident[slot].as_deref() else { break };
            let thread = cta.groups[group].thread(lane);
            let at = value(cta, group, &state.info.vars, op.mem.addr, thread);
            let at = at.wrapping_add_signed(op.mem.offset);
            let at = crate::access::generic_address(op.mem.space, at);
            let before = read(state, slot, thread, (Space::Shared, at), Width::B8);
            let lane = lane as u16;
            let effect = Effect { lane, thread, at, count: 0, before, word: None, result: 1 };
            announce(state, slot, (group, pc), op, &effect);
        }
    }
}

/// Wakes threads, each with a row and its value.
fn answer<const N: usize>(
    state: &mut State<N>,
    slot: usize,
    threads: &[usize],
    releases: &mut SmallVec<[Release<N>; 2]>,
    result: impl Fn(usize, &Cta<N>) -> Option<(u32, u64)>,
) {
    let Some(cta) = state.resident[slot].as_deref_mut() else { return };
    for &thread in threads {
        if let Some((row, value)) = result(thread, cta) {
            cta.set_row(row, thread, value);
        }
        cta.watching -= 1;
        crate::cluster::wake(cta, slot, thread, releases);
    }
}

/// Reports the loads of threads whose wait ends.
fn report<const N: usize, O: Observer<N>>(
    program: &Program,
    state: &State<N>,
    release: &Release<N>,
    observer: &mut O,
) {
    let Some(code) = program.at(release.pc) else { return };
    let (Exec::Mbarrier(op), Some(cta)) = (&code.exec, state.resident[release.slot].as_deref())
    else {
        return;
    };
    let group = &cta.groups[release.group];
    let places = release.lanes.iter().map(|lane| {
        let vars = &state.info.vars;
        let at = value(cta, release.group, vars, op.mem.addr, group.thread(lane));
        let at = at.wrapping_add_signed(op.mem.offset);
        (lane as u16, crate::access::generic_address(op.mem.space, at))
    });
    let places = places.collect();
    let at = (release.slot, release.group, release.pc);
    let access = (&op.mem, AccessKind::Load, op.mem.size);
    crate::access::observe_lanes(state, at, access, places, &[], observer);
}

/// Wakes the threads of a cluster that wait for barriers in memory, with the answer that the phase
/// has not completed.
pub(crate) fn give_up<const N: usize>(
    program: &Program,
    state: &mut State<N>,
    place: Place,
    releases: &mut SmallVec<[Release<N>; 2]>,
) {
    for slot in place.slots() {
        let Some(cta) = state.resident[slot].as_deref() else { continue };
        let waits = |p: &Option<Parked>| p.is_some_and(|p| p.wait == Waiting::Mbarrier);
        let threads: Vec<usize> =
            (0..cta.parked.len()).filter(|&t| waits(&cta.parked[t])).collect();
        answer(state, slot, &threads, releases, |thread, cta| {
            let pc = cta.parked[thread].map(|p| p.pc)?;
            match &program.at(pc)?.exec {
                Exec::Mbarrier(op) => op.mem.rows.first().map(|&row| (row, 0)),
                _ => None,
            }
        });
    }
}
