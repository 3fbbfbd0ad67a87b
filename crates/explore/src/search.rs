//! All schedules that differ in more than the order of what commutes.
//!
//! **Search.** Dynamic partial-order reduction with source sets and sleep sets (Abdulla, Aronis,
//! Jonsson and Sagonas, POPL 2014). After each run, for each race a choice is added at the point
//! before its first event, unless one is there already, that leads to the other order. Paths that
//! spin ([`vm::Alternative::spins`]) are not chosen: they would only repeat themselves.
//!
//! **Bound.** With a bound on preemptions (context bounding: Musuvathi and Qadeer, PLDI 2007) only
//! schedules are taken that switch away at most so often from a path that could go on. The
//! reduction then needs further choices, where the path of the race's first event began to run, and
//! has no sleep sets (Coons, Musuvathi and McKinley, OOPSLA 2013).

use vm::Alternative;

use crate::happens::Happens;
use crate::recorder::{Picker, Point};
use crate::trace::{Event, Trace};

/// Most choices that are remembered; what lies behind them is not searched.
const MOST_ALTERNATIVES: usize = 1 << 22;

/// A point of the run at hand.
struct Node {
    launch: usize,
    alternatives: Vec<Alternative<1>>,
    default: usize,
    continues: bool,
    chosen: usize,
    /// Those that have been chosen here.
    done: Vec<usize>,
    /// Those that are to be.
    todo: Vec<usize>,
    /// Paths that need not run here, as what they would do has been searched, with what it is.
    sleep: Vec<(Alternative<1>, Event)>,
    /// Preemptions before.
    preemptions: u32,
    /// Events of the run before it.
    events: usize,
}

impl Node {
    /// Preemptions that a choice makes.
    fn preempts(&self, index: usize) -> u32 {
        let default = &self.alternatives[self.default];
        u32::from(self.continues && !default.spins && index != self.default)
    }

    fn sleeps(&self, index: usize) -> bool {
        let choice = self.alternatives[index].choice;
        self.sleep.iter().any(|(known, _)| known.choice == choice)
    }
}

/// How far a search has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// There is another schedule.
    More,
    /// There is none.
    Complete,
}

/// A search through all schedules.
pub(crate) struct Search {
    bound: Option<u32>,
    nodes: Vec<Node>,
    /// The next point of the run at hand.
    at: usize,
    /// Whether something was left out.
    pub(crate) lossy: bool,
    /// Whether the bound has excluded a schedule.
    pub(crate) bounded: bool,
    /// Whether the run at hand only repeats another one.
    pub(crate) redundant: bool,
    remembered: usize,
}

impl Search {
    pub(crate) fn new(bound: Option<u32>) -> Self {
        Self {
            bound,
            nodes: Vec::new(),
            at: 0,
            lossy: false,
            bounded: false,
            redundant: false,
            remembered: 0,
        }
    }

    fn create(&mut self, point: &Point<'_>) -> Option<usize> {
        if self.remembered + point.alternatives.len() > MOST_ALTERNATIVES {
            self.lossy = true;
            return Some(point.preferred());
        }
        let before = self.nodes.last();
        let mut node = Node {
            launch: point.launch,
            alternatives: point.alternatives.to_vec(),
            default: point.default,
            continues: point.continues,
            chosen: 0,
            done: Vec::new(),
            todo: Vec::new(),
            sleep: before.map_or_else(Vec::new, |before| asleep(before, point)),
            preemptions: before.map_or(0, |b| b.preemptions + b.preempts(b.chosen)),
            events: point.trace.events.len(),
        };
        let count = node.alternatives.len();
        let order = (0..count).map(|i| (node.default + i) % count);
        let awake = |index: &usize| !node.alternatives[*index].spins && !node.sleeps(*index);
        let Some(chosen) = order.into_iter().find(awake) else {
            self.redundant = true;
            return None;
        };
        node.chosen = chosen;
        node.done.push(chosen);
        self.remembered += count;
        self.nodes.push(node);
        self.at += 1;
        Some(chosen)
    }

    /// Adds the choices that the races of a run call for, and goes to the next schedule.
    pub(crate) fn advance(&mut self, trace: &Trace) -> Progress {
        self.lossy |= trace.truncated;
        let happens = Happens::of(&trace.events);
        for &(first, second) in &happens.races {
            self.reverse(trace, &happens, first, second);
        }
        while let Some(mut node) = self.nodes.pop() {
            if self.bound.is_none() {
                let chosen = node.alternatives[node.chosen];
                // The first event of the choice is what it does.
                let event = trace.events.iter().skip(node.events);
                let event = event.into_iter().find(|event| event.path == chosen.choice);
                if let Some(event) = event.filter(|event| event.launch == node.launch) {
                    node.sleep.push((chosen, event.clone()));
                }
            }
            node.todo.retain(|index| !node.done.contains(index));
            let slept: Vec<usize> =
                node.todo.iter().copied().filter(|&index| node.sleeps(index)).collect();
            node.todo.retain(|index| !slept.contains(index));
            let Some(next) = node.todo.pop() else {
                self.remembered -= node.alternatives.len();
                continue;
            };
            node.chosen = next;
            node.done.push(next);
            self.nodes.push(node);
            self.at = 0;
            self.redundant = false;
            return Progress::More;
        }
        Progress::Complete
    }

    /// Makes sure that a schedule will be searched in which the second event of a race comes first.
    fn reverse(&mut self, trace: &Trace, happens: &Happens, first: usize, second: usize) {
        let Some(at) = trace.events[first].point.filter(|&at| at < self.nodes.len()) else {
            return;
        };
        if self.bound.is_some() {
            match self.nodes[at].find(&trace.events[second]) {
                Some(index) => self.add(at, index),
                None => self.add_all(at),
            }
            return self.add_before(trace, at, second);
        }
        // What can run without the first event, and the second.
        let launch = trace.events[first].launch;
        let without = (first + 1..second).filter(|&e| !happens.before(first, e));
        let sequence: Vec<usize> = without.chain([second]).collect();
        let mut initials = Vec::new();
        let mut earlier: Vec<usize> = Vec::new();
        for &event in &sequence {
            if !earlier.iter().any(|&e| happens.before(e, event)) {
                initials.push(event);
            }
            // Of each path the first decides.
            let path = trace.events[event].path;
            if !earlier.iter().any(|&e| trace.events[e].path == path) {
                earlier.push(event);
            }
        }
        let wanted: Vec<Option<usize>> =
            initials.iter().map(|&event| self.nodes[at].find(&trace.events[event])).collect();
        let node = &self.nodes[at];
        let known = |index: &usize| node.done.contains(index) || node.todo.contains(index);
        if wanted.iter().flatten().any(known) {
            return;
        }
        debug_assert_eq!(node.launch, launch, "races are between events of one launch");
        match wanted.first().copied().flatten() {
            Some(index) => self.add(at, index),
            None => self.add_all(at),
        }
    }

    /// Adds a choice, unless the path only spins there or the bound excludes it.
    fn add(&mut self, at: usize, index: usize) {
        let node = &mut self.nodes[at];
        if node.alternatives[index].spins {
            return;
        }
        if self.bound.is_some_and(|bound| node.preemptions + node.preempts(index) > bound) {
            self.bounded = true;
            return;
        }
        if !node.todo.contains(&index) {
            node.todo.push(index);
        }
    }

    fn add_all(&mut self, at: usize) {
        (0..self.nodes[at].alternatives.len()).for_each(|index| self.add(at, index));
    }

    /// Adds the choice where the path that runs at a point began to run, where it costs no
    /// preemption.
    fn add_before(&mut self, trace: &Trace, at: usize, event: usize) {
        let path = |node: &Node| node.alternatives[node.chosen].choice;
        let running = path(&self.nodes[at]);
        let mut start = at;
        while start > 0
            && self.nodes[start].continues
            && path(&self.nodes[start - 1]) == running
            && self.nodes[start - 1].launch == self.nodes[at].launch
        {
            start -= 1;
        }
        if start == at {
            return;
        }
        match self.nodes[start].find(&trace.events[event]) {
            Some(index) => self.add(start, index),
            None => self.add_all(start),
        }
    }
}

impl Node {
    /// Returns the alternative that has a thread of an event.
    fn find(&self, event: &Event) -> Option<usize> {
        let same = |a: &Alternative<1>| a.group == event.group && (a.lanes & event.lanes).any();
        self.alternatives.iter().position(same)
    }
}

/// Returns the paths that sleep at a point, given the point before: what has happened in between
/// does not affect what they would do.
fn asleep(before: &Node, point: &Point<'_>) -> Vec<(Alternative<1>, Event)> {
    if before.launch != point.launch {
        return Vec::new();
    }
    let events = point.trace.events.get(before.events..).unwrap_or_default();
    let stays = |(known, would): &&(Alternative<1>, Event)| {
        let moved = |event: &Event| (known.lanes & event.lanes).any() && known.group == event.group;
        !events.iter().any(|event| moved(event) || event.conflicts(would))
    };
    before.sleep.iter().filter(stays).cloned().collect()
}

impl Picker for Search {
    fn pick(&mut self, point: &Point<'_>) -> Option<usize> {
        let Some(node) = self.nodes.get(self.at) else { return self.create(point) };
        let same = node.launch == point.launch
            && node.alternatives.len() == point.alternatives.len()
            && node.default == point.default;
        debug_assert!(same, "the same choices lead to the same points");
        let chosen = node.chosen;
        self.at += 1;
        Some(chosen)
    }
}
