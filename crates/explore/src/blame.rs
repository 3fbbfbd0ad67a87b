//! Which two accesses come in another order in another run.

use rustc_hash::FxHashMap;
use vm::Choice;

use crate::trace::{Event, Store, Touch, Trace};

/// Accesses to a granule that are compared with a later one.
const MOST_EARLIER: usize = 64;

/// Two accesses to common bytes, in the order of the run that differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reversed {
    pub(crate) launch: usize,
    pub(crate) first: (u64, Touch),
    pub(crate) second: (u64, Touch),
}

/// An event in any run: the launch, the path, its step, and the instruction.
type Key = (usize, Choice, u64, u64);

fn key(event: &Event) -> Key {
    (event.launch, event.path, event.step, event.pc)
}

/// An earlier access to a granule: its place in the run, its event in the other run, the access.
type Earlier = (u64, usize, Touch);

/// Returns the accesses of `run` that `canonical` has in the other order and that best explain a
/// difference: those after which another value is read, or else the first.
pub(crate) fn reversed(canonical: &Trace, run: &Trace) -> Option<Reversed> {
    let events = canonical.events.iter().enumerate();
    let known: FxHashMap<Key, usize> = events.map(|(index, event)| (key(event), index)).collect();
    let mut memory: FxHashMap<(usize, Store, u64), Vec<Earlier>> = FxHashMap::default();
    let mut found: Option<(bool, Reversed)> = None;
    for event in &run.events {
        let Some(&at) = known.get(&key(event)) else { continue };
        for touch in &event.touches {
            let granule = (event.launch, touch.store, touch.address >> 3);
            let earlier = memory.entry(granule).or_default();
            let turned = earlier.iter().rev().find(|(_, before, other)| {
                other.thread != touch.thread && other.conflicts(touch) && at < *before
            });
            if let Some(&(pc, before, other)) = turned {
                let changed = changes(&canonical.events[at], touch)
                    || changes(&canonical.events[before], &other);
                let pair = Reversed {
                    launch: event.launch,
                    first: (pc, other),
                    second: (event.pc, *touch),
                };
                if found.as_ref().is_none_or(|(known, _)| changed && !known) {
                    found = Some((changed, pair));
                }
            }
            if earlier.len() == MOST_EARLIER {
                earlier.remove(0);
            }
            earlier.push((event.pc, at, *touch));
        }
        if found.as_ref().is_some_and(|(changed, _)| *changed) {
            break;
        }
    }
    found.map(|(_, pair)| pair)
}

/// Returns whether an access has another value than the same one in an event of another run.
fn changes(event: &Event, touch: &Touch) -> bool {
    let same = |t: &&Touch| t.thread == touch.thread && t.address == touch.address;
    event.touches.iter().find(same).is_some_and(|known| known.value != touch.value)
}
