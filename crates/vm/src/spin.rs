//! Paths that wait in a loop for somebody to change memory.
//!
//! A path *spins* if it has gone around a loop, no memory has changed meanwhile, and the registers
//! on which the loop depends ([`crate::slice`]) are what they were: then it only repeats itself
//! until memory changes. Registers that the loop computes and does not look at may differ, so how
//! often a path went around counts for nothing.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};
use simt::{LaneMask, Pc};

use crate::program::Program;
use crate::schedule::Choice;
use crate::slice::{Places, Relevant, relevant};
use crate::state::State;

/// Most loops of a path that are followed at once.
const MOST_LOOPS: usize = 8;

/// A loop of a path, by the place to which its back-edge leads.
struct Loop {
    head: Pc,
    /// The instructions issued since the path was at the head.
    since: Places,
    /// Those of the time around before, with what they depend on.
    known: Option<(Places, Relevant)>,
    /// What the path's future depended on then, and the number of changes of memory.
    image: Option<(u64, u64)>,
    spins: bool,
}

/// The loops of all paths.
#[derive(Default)]
pub(crate) struct Spins {
    paths: FxHashMap<Choice, Vec<Loop>>,
}

impl Spins {
    /// Returns whether the path spins, given the number of changes of memory so far.
    pub(crate) fn asleep(&self, path: Choice, changes: u64) -> bool {
        let loops = self.paths.get(&path).map_or(&[][..], Vec::as_slice);
        let asleep = |l: &Loop| l.spins && l.image.is_some_and(|(_, stamp)| stamp == changes);
        loops.iter().any(asleep)
    }

    /// Records an issue.
    pub(crate) fn issued(&mut self, path: Choice, pc: Pc) {
        if let Some(loops) = self.paths.get_mut(&path) {
            loops.iter_mut().for_each(|l| l.since.insert(pc));
        }
    }

    /// Records that a path has taken a back-edge.
    pub(crate) fn back_edge<const N: usize>(
        &mut self,
        program: &Program,
        state: &mut State<N>,
        (slot, group, lanes): (usize, usize, LaneMask<N>),
        path: Choice,
    ) {
        let Some(lane) = lanes.lowest() else { return };
        let Some(cta) = state.resident.get(slot).and_then(Option::as_deref) else { return };
        let mechanism = &cta.groups[group].mechanism;
        mechanism.runnable(&mut state.scratch.paths);
        let now = state.scratch.paths.iter().find(|now| now.lanes.contains(lane)).copied();
        let Some(now) = now else { return };
        let changes = state.watch.changes();
        let loops = self.paths.entry(path).or_default();
        let Some(this) = loops.iter_mut().find(|l| l.head == now.pc) else {
            if loops.len() == MOST_LOOPS {
                loops.remove(0);
            }
            let since = Places::default();
            loops.push(Loop { head: now.pc, since, known: None, image: None, spins: false });
            return;
        };
        let since = std::mem::take(&mut this.since);
        if this.known.as_ref().is_none_or(|known| known.0 != since) {
            let relevant = relevant(program, &since);
            this.known = Some((since, relevant));
        }
        let relevant = this.known.as_ref().map_or(&Relevant::All, |known| &known.1);
        let threads = now.lanes.iter().map(|lane| cta.groups[group].thread(lane));
        let image = match relevant {
            Relevant::Clock => None,
            Relevant::All => {
                let rows = cta.file.len() / cta.parked.len().max(1);
                let mut hasher = FxHasher::default();
                for thread in threads {
                    // All frames: what callers keep may matter after a return.
                    (0..rows).for_each(|row| {
                        cta.file[row * cta.parked.len() + thread].hash(&mut hasher);
                    });
                    cta.frames.base[thread].hash(&mut hasher);
                }
                Some(hasher.finish())
            }
            Relevant::Rows(rows) => {
                let function = program.at(now.pc).map_or(usize::MAX, crate::Code::function);
                let rows = rows.get(function).map_or(&[][..], Vec::as_slice);
                let mut hasher = FxHasher::default();
                for thread in threads {
                    rows.iter().for_each(|&row| cta.row(row, thread).hash(&mut hasher));
                }
                Some(hasher.finish())
            }
        };
        let image = image.map(|image| (image ^ now.lanes.words()[0], changes));
        this.spins = image.is_some() && this.image == image;
        this.image = image;
    }
}
