//! A second model of small programs, written from their meaning alone: it goes through all
//! interleavings of their operations and says how they can end.

use std::collections::{BTreeMap, BTreeSet};

/// An operation on a word of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// Stores a constant.
    Write(usize, u32),
    /// Loads; the result is kept.
    Read(usize),
    /// Adds, and keeps the old value.
    Add(usize, u32),
    /// Adds; nobody looks at the old value.
    Red(usize, u32),
    /// Exchanges, and keeps the old value.
    Exchange(usize, u32),
    /// Compares and swaps, and keeps the old value.
    Swap(usize, u32, u32),
    /// Swaps 0 for 1 again and again until that succeeds.
    Lock(usize),
    /// Loads again and again until the word is not 0.
    Await(usize),
    /// Waits for all other threads.
    Barrier,
}

/// Words of memory that programs have.
pub(crate) const WORDS: usize = 3;

/// The operations of each thread.
pub(crate) type Threads = Vec<Vec<Op>>;

/// What a program leaves: its words, and what its threads keep.
pub(crate) type Left = (Vec<u32>, Vec<Vec<u32>>);

/// How a program can end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ends {
    pub(crate) left: BTreeSet<Left>,
    /// Whether there is a state from which it cannot end.
    pub(crate) hangs: bool,
}

/// A state: places of threads, whether they wait at a barrier, memory, what is kept, and with a
/// bound the thread that ran last and the preemptions so far.
type State = (Vec<usize>, Vec<bool>, Vec<u32>, Vec<Vec<u32>>, Option<usize>, u32);

/// The operations of a thread with the stores of what it keeps.
fn steps(threads: &Threads, thread: usize) -> usize {
    let kept = threads[thread]
        .iter()
        .filter(|op| matches!(op, Op::Read(_) | Op::Add(..) | Op::Exchange(..) | Op::Swap(..)));
    threads[thread].len() + kept.count()
}

/// Executes the next operation of a thread; `None` if it cannot run.
fn step(threads: &Threads, state: &State, t: usize) -> Option<State> {
    let mut next = state.clone();
    let (at, waits, memory, kept, ..) = &mut next;
    if waits[t] || at[t] == steps(threads, t) {
        return None;
    }
    match threads[t].get(at[t]) {
        // The stores of what is kept.
        None => {}
        Some(&op) => match op {
            Op::Write(w, v) => memory[w] = v,
            Op::Read(w) => kept[t].push(memory[w]),
            Op::Add(w, v) => {
                kept[t].push(memory[w]);
                memory[w] = memory[w].wrapping_add(v);
            }
            Op::Red(w, v) => memory[w] = memory[w].wrapping_add(v),
            Op::Exchange(w, v) => kept[t].push(std::mem::replace(&mut memory[w], v)),
            Op::Swap(w, a, b) => {
                kept[t].push(memory[w]);
                memory[w] = if memory[w] == a { b } else { memory[w] };
            }
            Op::Lock(w) if memory[w] == 0 => memory[w] = 1,
            Op::Await(w) if memory[w] != 0 => {}
            // Once more.
            Op::Lock(_) | Op::Await(_) => return Some(next),
            Op::Barrier => {
                waits[t] = true;
                if waits.iter().all(|waits| *waits) {
                    waits.fill(false);
                    at.iter_mut().for_each(|at| *at += 1);
                }
                return Some(next);
            }
        },
    }
    at[t] += 1;
    Some(next)
}

/// Returns how a program can end, with at most so many preemptions if there is a bound.
pub(crate) fn ends(threads: &Threads, bound: Option<u32>) -> Ends {
    let count = threads.len();
    let first: State =
        (vec![0; count], vec![false; count], vec![0; WORDS], vec![Vec::new(); count], None, 0);
    let mut numbers: BTreeMap<State, usize> = BTreeMap::from([(first.clone(), 0)]);
    let (mut states, mut edges) = (vec![first], Vec::<Vec<usize>>::new());
    let mut out = Ends::default();
    let mut final_states = Vec::new();
    while edges.len() < states.len() {
        let state = states[edges.len()].clone();
        let mut to = Vec::new();
        let ended = (0..count).all(|t| state.0[t] == steps(threads, t));
        if ended {
            final_states.push(edges.len());
            out.left.insert((state.2.clone(), state.3.clone()));
        }
        for t in 0..count {
            let Some(mut next) = step(threads, &state, t) else { continue };
            if let Some(bound) = bound {
                let goes_on = |last: usize| step(threads, &state, last).is_some_and(|n| n != state);
                let preempts = state.4.is_some_and(|last| last != t && goes_on(last));
                next.4 = Some(t);
                next.5 += u32::from(preempts);
                if next.5 > bound {
                    continue;
                }
            }
            let fresh = states.len();
            let number = *numbers.entry(next.clone()).or_insert(fresh);
            if number == fresh {
                states.push(next);
            }
            to.push(number);
        }
        edges.push(to);
    }
    out.hangs = !all_reach(&edges, &final_states);
    out
}

/// Returns whether every state can reach a final one.
fn all_reach(edges: &[Vec<usize>], final_states: &[usize]) -> bool {
    let mut before = vec![Vec::new(); edges.len()];
    for (from, to) in edges.iter().enumerate() {
        to.iter().for_each(|&to: &usize| before[to].push(from));
    }
    let mut reaches = vec![false; edges.len()];
    let mut left = final_states.to_vec();
    while let Some(state) = left.pop() {
        if !std::mem::replace(&mut reaches[state], true) {
            left.extend(&before[state]);
        }
    }
    reaches.iter().all(|reaches| *reaches)
}

#[test]
fn the_model_knows_store_buffering() {
    let threads = vec![vec![Op::Write(0, 1), Op::Read(1)], vec![Op::Write(1, 1), Op::Read(0)]];
    let ends = ends(&threads, None);
    let kept: Vec<_> = ends.left.iter().map(|(_, kept)| (kept[0][0], kept[1][0])).collect();
    assert_eq!(kept, [(0, 1), (1, 0), (1, 1)]);
    assert!(!ends.hangs);
}

#[test]
fn the_model_knows_locks_in_opposite_orders() {
    let lock = |a, b| vec![Op::Lock(a), Op::Lock(b), Op::Write(b, 0), Op::Write(a, 0)];
    assert!(ends(&vec![lock(0, 1), lock(1, 0)], None).hangs);
    assert!(!ends(&vec![lock(0, 1), lock(0, 1)], None).hangs);
}
