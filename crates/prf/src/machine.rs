//! The functional model: one instruction of one warp at a time.
//!
//! Blocks run one after another, and so do the warps of a block, each to its end: the machine has
//! no barrier and no shared memory, so programs cannot observe it (order of conflicting stores
//! aside, which the machine leaves open between warps). Packet bits have no meaning here. Always
//! holds for a [`State`]: at most one warp exists at a time.

use simt::machine::{Machine, Step};
use simt::memory::MemoryMap;
use simt::observe::{Branch, Events, GroupId, Issue, Observer, Pc};
use simt::slots::{Domain, LaneSlots};
use simt::trap::Fault;

use crate::config::Config;
use crate::counts::{Counts, announce, lanes, participants};
use crate::exec::{Effect, Inputs, Stop, Trap, Warp, compute, store};
use crate::image::Words;
use crate::launch::{Header, Launch, LaunchError};
use crate::op::Insn;
use crate::program::{LoadError, Program};

/// The machine, in a configuration.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prf {
    /// The options.
    pub config: Config,
}

/// Everything that changes while a launch runs.
#[derive(Clone, Debug)]
pub struct State {
    /// Guest memory.
    pub memory: MemoryMap,
    slots: LaneSlots,
    counts: Counts,
    header: Header,
    pub(crate) warp: Option<Warp>,
    blocks_done: u32,
    /// Stores so far.
    stores: u64,
}

/// All of a state but its memory, and how often that was written: a state in which these are the
/// same as before is the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    warp: Warp,
    blocks_done: u32,
    stores: u64,
}

impl State {
    /// Remembers the state; `None` once all has ended.
    #[must_use]
    pub fn mark(&self) -> Option<Mark> {
        let warp = self.warp.clone()?;
        Some(Mark { warp, blocks_done: self.blocks_done, stores: self.stores })
    }

    /// Returns whether the state is the one that was remembered.
    #[must_use]
    pub fn is_at(&self, mark: &Mark) -> bool {
        let same = |warp: &Warp| warp.pc == mark.warp.pc && *warp == mark.warp;
        self.stores == mark.stores
            && self.blocks_done == mark.blocks_done
            && self.warp.as_ref().is_some_and(same)
    }

    /// The program counter of the running warp.
    #[must_use]
    pub fn pc(&self) -> Option<u32> {
        self.warp.as_ref().map(|warp| warp.pc)
    }

    /// Returns the counters besides the lane slots.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Blocks that have ended.
    #[must_use]
    pub fn blocks_done(&self) -> u32 {
        self.blocks_done
    }

    /// Continues with the next warp when this one has ended.
    fn next_warp(&mut self) {
        let Some(GroupId { group, .. }) =
            self.warp.as_ref().filter(|w| w.live.is_empty()).map(|w| w.id)
        else {
            return;
        };
        let block = self.blocks_done;
        self.warp = self.header.warp(block, group.saturating_add(1));
        if self.warp.is_none() {
            self.blocks_done += 1;
            self.warp = self.header.warp(self.blocks_done, 0);
        }
    }
}

/// Executes one instruction of a warp, completely; returns whether it stores.
fn issue<O: Observer<1>>(
    warp: &mut Warp,
    insn: Insn,
    config: Config,
    (memory, slots, counts): (&mut MemoryMap, &mut LaneSlots, &mut Counts),
    observer: &mut O,
) -> Result<bool, Stop> {
    let predicate = warp.predicate(insn.pred);
    let lanes = lanes(warp.launched, warp.live, participants(&insn, predicate, warp.live));
    slots.vector(&lanes);
    let pc = Pc(warp.pc.into());
    if O::EVENTS.has(Events::ISSUE) {
        observer.issue(&Issue {
            group: warp.id,
            pc,
            domain: Domain::Vector,
            lanes: &lanes,
            depth: 1,
        });
    }
    let [a, b] = insn.operands().map(|register| warp.operand(register));
    let inputs =
        Inputs { insn, pc: warp.pc, special: warp.special, predicate, live: warp.live, a, b };
    let effects = compute(&inputs, config, memory)?;
    if O::EVENTS.has(Events::ACCESS) {
        announce(&inputs, &effects.effect, warp.id, observer);
    }
    counts.count(&insn, &effects.effect);
    store(&effects.effect, memory)?;
    let next = effects.target.unwrap_or(warp.pc.wrapping_add(4));
    if O::EVENTS.has(Events::BRANCH) && insn.jumps() {
        let targets = &[(Pc(next.into()), warp.live)];
        observer.branch(&Branch { group: warp.id, pc, targets });
    }
    warp.commit(&effects.effect, config);
    warp.pc = next;
    Ok(matches!(effects.effect, Effect::Store { .. }))
}

impl Machine for Prf {
    const NAME: &'static str = "prf";
    type Program = Program;
    type LoadError = LoadError;
    type Launch = Launch;
    type LaunchError = LaunchError;
    type State = State;
    type Cause = Trap;

    /// Reads a text of words.
    fn load(&self, image: &[u8]) -> Result<Program, LoadError> {
        let text = std::str::from_utf8(image).map_err(|_| LoadError::NotText)?;
        Program::new(&Words::parse(text)?, self.config)
    }

    fn launch(&self, program: &Program, launch: Launch) -> Result<State, LaunchError> {
        let header = Header::new(program, &launch)?;
        let mut memory = launch.memory;
        program.map(&mut memory, &header)?;
        let warp = header.warp(0, 0);
        let (slots, counts) = Default::default();
        Ok(State { memory, slots, counts, header, warp, blocks_done: 0, stores: 0 })
    }

    fn step<O: Observer<1>>(
        &self,
        program: &Program,
        state: &mut State,
        observer: &mut O,
    ) -> Step<Trap> {
        let State { memory, slots, counts, warp, .. } = state;
        let Some(warp) = warp else { return Step::Done };
        let (group, pc, live) = (warp.id, warp.pc, warp.live);
        let done = program
            .fetch(pc)
            .map_err(|trap| (trap, live))
            .and_then(|i| issue(warp, i, self.config, (memory, slots, counts), observer));
        match done {
            Ok(stored) => {
                state.stores += u64::from(stored);
                state.next_warp();
                Step::Issued
            }
            Err((cause, lanes)) => {
                Step::Fault(Box::new(Fault { cause, group, pc: Pc(pc.into()), lanes }))
            }
        }
    }

    fn slots<'s>(&self, state: &'s State) -> &'s LaneSlots {
        &state.slots
    }
}
