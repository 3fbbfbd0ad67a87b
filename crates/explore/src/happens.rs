//! Which events of a run happen before which, and which pairs race.
//!
//! Happens-before is the order of each thread, the order of conflicting accesses in this run, and
//! that of threads that meet. Two events *race* if they conflict and nothing but that orders them:
//! there is a schedule in which they come in the other order.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::trace::{Effect, Event, Meeting, Store, Thread, Touch};

/// Events of each thread that are known, by its number: one more than the index of the last.
type Clock = Rc<Vec<u32>>;

/// Two events in the order of the run, by index.
pub(crate) type Race = (usize, usize);

/// The clocks of the events of a run.
#[derive(Default)]
pub(crate) struct Happens {
    numbers: FxHashMap<Thread, usize>,
    /// Of each event, the thread in its lowest lane, and what happens before it, itself included.
    events: Vec<(usize, Clock)>,
    pub(crate) races: Vec<Race>,
}

/// Accesses to a granule of 8 bytes whose order with later ones matters.
type Granule = Vec<(usize, Touch)>;

/// What is known while a run is walked through.
#[derive(Default)]
struct Walk {
    threads: Vec<Clock>,
    memory: FxHashMap<(Store, u64), Granule>,
    meetings: FxHashMap<Meeting, (Vec<u32>, Vec<Thread>)>,
}

impl Happens {
    pub(crate) fn of(events: &[Event]) -> Self {
        let mut this = Self::default();
        let (mut walk, mut launch) = (Walk::default(), 0);
        for (index, event) in events.iter().enumerate() {
            if event.launch != launch {
                // Launches are ordered.
                (walk, launch) = (Walk::default(), event.launch);
                this.numbers.clear();
            }
            this.add(&mut walk, index, event);
        }
        this
    }

    fn number(&mut self, walk: &mut Walk, thread: Thread) -> usize {
        let next = self.numbers.len();
        let number = *self.numbers.entry(thread).or_insert(next);
        if walk.threads.len() <= number {
            walk.threads.resize_with(number + 1, Clock::default);
        }
        number
    }

    /// Returns whether event `a` is in a clock.
    fn knows(&self, clock: &[u32], a: usize) -> bool {
        clock.get(self.events[a].0).is_some_and(|&known| known as usize > a)
    }

    /// Returns whether `a` happens before the later `b` of the same launch.
    pub(crate) fn before(&self, a: usize, b: usize) -> bool {
        self.knows(&self.events[b].1, a)
    }

    fn add(&mut self, walk: &mut Walk, index: usize, event: &Event) {
        let threads: Vec<usize> = event.threads().map(|t| self.number(walk, t)).collect();
        let mut clock = Vec::new();
        threads.iter().for_each(|&t| join(&mut clock, &walk.threads[t]));
        let conflicts = conflicts(walk, index, event);
        let open: Vec<usize> =
            conflicts.iter().copied().filter(|&e| !self.knows(&clock, e)).collect();
        for &e in &open {
            // One that happens before another of them is ordered by that one.
            if !open.iter().any(|&f| f > e && self.before(e, f)) {
                self.races.push((e, index));
            }
            let known = Rc::clone(&self.events[e].1);
            join(&mut clock, &known);
        }
        let number = threads.first().copied().unwrap_or(0);
        if clock.len() <= number {
            clock.resize(number + 1, 0);
        }
        clock[number] = index as u32 + 1;
        let clock = Rc::new(clock);
        threads.iter().for_each(|&t| walk.threads[t] = Rc::clone(&clock));
        self.events.push((number, Rc::clone(&clock)));
        self.meet(walk, event, &clock);
    }

    fn meet(&mut self, walk: &mut Walk, event: &Event, clock: &Clock) {
        let mut over = Vec::new();
        for rendezvous in &event.meetings {
            let entry = walk.meetings.entry(rendezvous.meeting).or_default();
            if !rendezvous.completes {
                join(&mut entry.0, clock);
                entry.1.extend(&rendezvous.threads);
                continue;
            }
            join(&mut entry.0, clock);
            let known = entry.0.clone();
            let go_on = match rendezvous.meeting {
                // Threads may arrive at a barrier without waiting.
                Meeting::Barrier { .. } => rendezvous.threads.clone(),
                Meeting::Collective { .. } => entry.1.clone(),
            };
            for thread in go_on {
                let number = self.number(walk, thread);
                let mut joined = walk.threads[number].to_vec();
                join(&mut joined, &known);
                walk.threads[number] = Rc::new(joined);
            }
            over.push(rendezvous.meeting);
        }
        over.iter().for_each(|meeting| drop(walk.meetings.remove(meeting)));
    }
}

fn join(into: &mut Vec<u32>, from: &[u32]) {
    if into.len() < from.len() {
        into.resize(from.len(), 0);
    }
    into.iter_mut().zip(from).for_each(|(a, b)| *a = (*a).max(*b));
}

/// Returns the events whose order with this one matters, in increasing order, and records it.
fn conflicts(walk: &mut Walk, index: usize, event: &Event) -> Vec<usize> {
    let mut out = Vec::new();
    for touch in &event.touches {
        let bytes = touch.bytes();
        for granule in bytes.start >> 3..=bytes.end.saturating_sub(1) >> 3 {
            let known = walk.memory.entry((touch.store, granule)).or_default();
            let with = known.iter().filter(|(e, other)| *e != index && other.conflicts(touch));
            out.extend(with.map(|(e, _)| *e));
            if touch.effect == Effect::Write {
                // What it covers is ordered before whatever conflicts with it.
                known.retain(|(e, other)| {
                    let at = other.bytes();
                    *e == index || at.start < bytes.start || bytes.end < at.end
                });
            }
            known.retain(|(_, other)| {
                other.thread != touch.thread
                    || other.effect != touch.effect
                    || other.bytes() != bytes
            });
            known.push((index, *touch));
        }
    }
    out.sort_unstable();
    out.dedup();
    out
}
