//! The functional model: one instruction of one warp at a time.
//!
//! Blocks run one after another. A warp of a block runs until it has ended or has jumped back
//! [`BACK_EDGES`] times; then the next one of the block has its turn, so that warps can wait for
//! each other through memory. The order of conflicting stores of warps is left open by the machine.
//! Packet bits have no meaning here. Always holds for a [`State`]: the warps of at most one block
//! exist at a time, and none that has ended.

use simt::machine::{Machine, Step};
use simt::memory::MemoryMap;
use simt::observe::{Branch, Events, Issue, Observer, Pc};
use simt::slots::{Domain, LaneSlots};
use simt::trap::Fault;

use crate::config::Config;
use crate::counts::{Counts, announce, lanes, participants};
use crate::exec::{Effect, Inputs, Stop, Trap, Warp, compute, store};
use crate::image::Words;
use crate::launch::{Header, Launch, LaunchError};
use crate::op::{Insn, Op};
use crate::program::{LoadError, Program};

/// Jumps back after which the next warp of the block has its turn.
pub const BACK_EDGES: u32 = 64;

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
    /// The warps of the block that have not ended.
    pub(crate) warps: Vec<Warp>,
    /// Which of them runs.
    pub(crate) turn: usize,
    /// Jumps back in this turn.
    back_edges: u32,
    blocks_done: u32,
    /// Stores so far.
    stores: u64,
}

/// All of a state but its memory, and how often that was written: a state in which these are the
/// same as before is the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    warps: Vec<Warp>,
    turn: usize,
    back_edges: u32,
    blocks_done: u32,
    stores: u64,
}

impl State {
    /// Remembers the state; `None` once all has ended.
    #[must_use]
    pub fn mark(&self) -> Option<Mark> {
        self.warp()?;
        Some(Mark {
            warps: self.warps.clone(),
            turn: self.turn,
            back_edges: self.back_edges,
            blocks_done: self.blocks_done,
            stores: self.stores,
        })
    }

    /// Returns whether the state is the one that was remembered.
    #[must_use]
    pub fn is_at(&self, mark: &Mark) -> bool {
        let pc = |warps: &[Warp]| warps.get(self.turn).map(|warp| warp.pc);
        self.stores == mark.stores
            && self.blocks_done == mark.blocks_done
            && self.turn == mark.turn
            && pc(&self.warps) == pc(&mark.warps)
            // Of a warp alone, all turns are the same.
            && (self.back_edges == mark.back_edges || self.warps.len() == 1)
            && self.warps == mark.warps
    }

    /// The running warp.
    pub(crate) fn warp(&self) -> Option<&Warp> {
        self.warps.get(self.turn)
    }

    /// The program counter of the running warp.
    #[must_use]
    pub fn pc(&self) -> Option<u32> {
        self.warp().map(|warp| warp.pc)
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

    /// Continues with another warp when this one has ended, or has had its turn.
    fn next_warp(&mut self, jumped_back: bool) {
        self.back_edges += u32::from(jumped_back);
        if self.warp().is_some_and(|warp| warp.live.is_empty()) {
            self.warps.remove(self.turn);
            self.back_edges = 0;
            if self.warps.is_empty() {
                self.blocks_done += 1;
                self.warps = self.header.warps(self.blocks_done);
            }
        } else if self.back_edges == BACK_EDGES {
            (self.turn, self.back_edges) = (self.turn + 1, 0);
        }
        if self.turn >= self.warps.len() {
            self.turn = 0;
        }
    }
}

/// Executes one instruction of a warp, completely; returns whether it stores, and whether it jumps
/// back.
fn issue<O: Observer<1>>(
    warp: &mut Warp,
    insn: Insn,
    config: Config,
    (memory, slots, counts): (&mut MemoryMap, &mut LaneSlots, &mut Counts),
    observer: &mut O,
) -> Result<(bool, bool), Stop> {
    let predicate = warp.predicate(insn.pred);
    let lanes = lanes(warp.launched, warp.live, participants(&insn, predicate, warp.live));
    slots.vector(&lanes);
    let pc = Pc(warp.pc.into());
    if observer.wants(Events::ISSUE) {
        observer.issue(&Issue {
            group: warp.id,
            pc,
            domain: Domain::Vector,
            lanes: &lanes,
            depth: 1,
            guard_off: 0,
        });
    }
    let [a, b] = insn.operands().map(|register| warp.operand(register));
    let inputs =
        Inputs { insn, pc: warp.pc, special: warp.special, predicate, live: warp.live, a, b };
    let effects = compute(&inputs, config, memory)?;
    if observer.wants(Events::ACCESS) {
        announce(&inputs, &effects.effect, warp.id, observer);
    }
    counts.count(&insn, &effects.effect);
    store(&effects.effect, memory)?;
    let next = effects.target.unwrap_or(warp.pc.wrapping_add(4));
    if observer.wants(Events::BRANCH) && insn.jumps() {
        let targets = &[(Pc(next.into()), warp.live)];
        observer.branch(&Branch { group: warp.id, pc, targets });
    }
    warp.commit(&effects.effect, config);
    note_call(warp, &insn, next);
    let back = effects.target.is_some_and(|target| target <= warp.pc);
    warp.pc = next;
    Ok((matches!(effects.effect, Effect::Store { .. }), back))
}

/// Tells calls and returns: a jump that links calls, whatever the register, and one through a
/// register that does not link returns if a call waits for its target.
fn note_call(warp: &mut Warp, insn: &Insn, next: u32) {
    match insn.op {
        Op::Jal | Op::Jalr if insn.rd != 0 => warp.calls.enter(warp.pc.wrapping_add(4).into()),
        Op::Jalr => warp.calls.leave(next.into()),
        _ => {}
    }
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
        let warps = header.warps(0);
        let (slots, counts) = Default::default();
        let (turn, back_edges, blocks_done, stores) = Default::default();
        Ok(State { memory, slots, counts, header, warps, turn, back_edges, blocks_done, stores })
    }

    fn step<O: Observer<1>>(
        &self,
        program: &Program,
        state: &mut State,
        observer: &mut O,
    ) -> Step<Trap> {
        let State { memory, slots, counts, warps, turn, .. } = state;
        let Some(warp) = warps.get_mut(*turn) else { return Step::Done };
        let (group, pc, live) = (warp.id, warp.pc, warp.live);
        let done = program
            .fetch(pc)
            .map_err(|trap| (trap, live))
            .and_then(|i| issue(warp, i, self.config, (memory, slots, counts), observer));
        match done {
            Ok((stored, jumped_back)) => {
                state.stores += u64::from(stored);
                state.next_warp(jumped_back);
                Step::Issued
            }
            Err((cause, lanes)) => {
                Step::Fault(Box::new(Fault { cause, group, pc: Pc(pc.into()), lanes }))
            }
        }
    }

    simt::compiled_runs!();

    fn slots<'s>(&self, state: &'s State) -> &'s LaneSlots {
        &state.slots
    }
}
