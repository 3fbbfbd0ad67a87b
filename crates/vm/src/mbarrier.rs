//! Barriers in shared memory: `mbarinit`, `mbarinval`, `mbararrive`, `mbartest`.
//!
//! `simt::mbarrier` defines the operations. Lanes take effect in increasing order, each on the word
//! that the lanes below it left. The words of all lanes are computed before any is written, so a
//! misuse leaves the state before the instruction.

use crate::access::{check, observe_at, read, write};
use crate::cause::Cause;
use crate::code::{MbarrierKind, MbarrierOp};
use crate::control::{fail, value};
use crate::engine::{Executed, Failure, Now, Outcome};
use crate::state::State;
use compute::space_of;
use ir::mods::Space;
use rustc_hash::FxHashMap;
use simt::LaneMask;
use simt::mbarrier::{Mbarrier, Misuse};
use simt::memory::{AccessKind, SHARED_WINDOW, Width};
use simt::observe::{Events, Observer};

/// The effect of a lane: its thread, the barrier's generic address, the word it leaves, its result.
struct Effect {
    thread: usize,
    at: u64,
    word: Option<u64>,
    result: u64,
}

pub(crate) fn execute<const N: usize, O: Observer<N>>(
    state: &mut State<N>,
    now: &Now<N>,
    op: &MbarrierOp,
    observer: &mut O,
) -> Executed<N> {
    let kind = match op.kind {
        MbarrierKind::Init | MbarrierKind::Inval => AccessKind::Store,
        MbarrierKind::Arrive(_) => AccessKind::Atomic,
        MbarrierKind::Test { .. } => AccessKind::Load,
    };
    let places = check(state, now, &op.mem, kind, 1)?;
    let effects = effects(state, now, op, &places);
    if effects.is_ok() && O::EVENTS.has(Events::ACCESS) {
        observe_at(state, now, (&op.mem, kind, op.mem.size), places.clone(), &[], observer);
    }
    state.scratch.lanes = places;
    for Effect { thread, at, word, result } in effects? {
        if let Some(word) = word {
            write(state, now.slot, thread, (Space::Shared, at, Width::B8, word));
        }
        let Some(cta) = state.resident[now.slot].as_deref_mut() else { break };
        if let Some(&row) = op.mem.rows.first() {
            cta.set_row(row, thread, result);
        }
    }
    Ok(Outcome::Advance)
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
        let operand = op.mem.values.first();
        let operand = operand.map_or(0, |&s| value(cta, now.group, &state.info.vars, s, thread));
        match apply(op.kind, old, operand) {
            Ok((word, result)) => {
                words.extend(word.map(|word| (at, word)));
                out.push(Effect { thread, at, word, result });
            }
            Err(misuse) => {
                let offset = at - SHARED_WINDOW.start;
                return Err(fail(Cause::Mbarrier { offset, misuse }, on));
            }
        }
    }
    Ok(out)
}

/// Returns the word that an operation leaves, if it writes one, and its result.
fn apply(kind: MbarrierKind, old: u64, operand: u64) -> Result<(Option<u64>, u64), Misuse> {
    let count = operand as u32;
    Ok(match kind {
        MbarrierKind::Init => (Some(Mbarrier::new(count)?.word()), 0),
        MbarrierKind::Inval => {
            Mbarrier::load(old)?;
            (Some(0), 0)
        }
        MbarrierKind::Arrive(how) => (Some(Mbarrier::load(old)?.arrive(count, how)?.word()), old),
        MbarrierKind::Test { parity } => {
            let barrier = Mbarrier::load(old)?;
            let done = match parity {
                true => barrier.has_completed_parity(operand),
                false => barrier.has_completed(operand)?,
            };
            (None, u64::from(done))
        }
    })
}
