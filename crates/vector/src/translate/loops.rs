//! The loops of a kernel, and where lanes wait that leave them.

use fast::code::{Code, End, Rejoin, Src};

/// The loops of a kernel, and the reconvergence points outside of each at which lanes wait that
/// leave it.
#[derive(Debug, Default)]
pub(super) struct Loops {
    /// By block that is the head of a loop: the reconvergence points, the outermost first.
    rejoins: Vec<Option<Vec<u32>>>,
}

/// Returns whether an operand is the same in all lanes.
pub(super) fn is_uniform(src: Src) -> bool {
    matches!(src, Src::Const(_) | Src::Line(_, 0, _))
}

/// The block at which all paths from the end of a block meet, if the kernel says so.
fn meets_at(code: &Code, block: u32) -> Option<u32> {
    let block = &code.blocks[block as usize];
    match (&block.end, block.rejoin) {
        (End::Go(to), _) => Some(*to),
        (End::Branch(_, to, next), _) if to == next => Some(*to),
        (End::Branch(..) | End::Switch(..), Rejoin::At(to)) => Some(to),
        _ => None,
    }
}

impl Loops {
    /// Finds the loops of a kernel. Of a loop with several entries, some of the blocks may be taken
    /// to lie outside, or others inside.
    pub(super) fn new(code: &Code) -> Self {
        let count = code.blocks.len();
        let mut before = vec![Vec::new(); count];
        for (b, block) in code.blocks.iter().enumerate() {
            block.end.targets().for_each(|to| before[to as usize].push(b as u32));
        }
        let mut rejoins = vec![None; count];
        for (head, latches) in back_edges(code) {
            let mut inside = vec![false; count];
            inside[head as usize] = true;
            let mut work = latches;
            while let Some(b) = work.pop() {
                if !std::mem::replace(&mut inside[b as usize], true) {
                    work.extend(&before[b as usize]);
                }
            }
            rejoins[head as usize] = Some(outside(code, &inside));
        }
        Self { rejoins }
    }

    /// Returns the reconvergence points, the outermost first, if a block is the head of a loop.
    pub(super) fn rejoins(&self, block: u32) -> Option<&[u32]> {
        self.rejoins[block as usize].as_deref()
    }
}

/// Returns the heads of loops with the sources of their back-edges.
fn back_edges(code: &Code) -> Vec<(u32, Vec<u32>)> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let mut states = vec![State::New; code.blocks.len()];
    let mut found: Vec<(u32, Vec<u32>)> = Vec::new();
    let mut stack = vec![(code.entry, 0)];
    states[code.entry as usize] = State::Open;
    while let Some((block, next)) = stack.last_mut() {
        let (from, to) = (*block, code.blocks[*block as usize].end.targets().nth(*next));
        *next += 1;
        let Some(to) = to else {
            states[from as usize] = State::Done;
            stack.pop();
            continue;
        };
        match states[to as usize] {
            State::New => {
                states[to as usize] = State::Open;
                stack.push((to, 0));
            }
            State::Open => match found.iter_mut().find(|f| f.0 == to) {
                Some(head) => head.1.push(from),
                None => found.push((to, vec![from])),
            },
            State::Done => {}
        }
    }
    found
}

/// Returns the reconvergence points outside of a loop of branches in it that may split lanes, the
/// outermost first.
fn outside(code: &Code, inside: &[bool]) -> Vec<u32> {
    let mut found = Vec::new();
    for (_, block) in code.blocks.iter().enumerate().filter(|(b, _)| inside[*b]) {
        let splits = match &block.end {
            End::Branch(guard, ..) => matches!(guard.pred, Src::Pred(_)),
            End::Switch(index, _) => !is_uniform(*index),
            _ => false,
        };
        if let Rejoin::At(to) = block.rejoin
            && splits
            && !inside[to as usize]
            && !found.contains(&to)
        {
            found.push(to);
        }
    }
    // All are on one chain of post-dominators.
    let steps = |from: u32| {
        let chain = std::iter::successors(Some(from), |&b| meets_at(code, b));
        chain.take(code.blocks.len()).filter(|b| found.contains(b)).count()
    };
    let mut sorted: Vec<(usize, u32)> = found.iter().map(|&r| (steps(r), r)).collect();
    sorted.sort_unstable();
    sorted.into_iter().map(|(_, r)| r).collect()
}
