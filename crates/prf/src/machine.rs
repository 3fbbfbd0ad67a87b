//! The functional model: loading, launching, one instruction of one warp at a time.
//!
//! Blocks run one after another, and so do the warps of a block, each to its end: the machine has no barrier and no
//! shared memory, so no program can tell (order of conflicting stores aside, which the machine leaves open between
//! warps). Packet bits have no meaning here. Always holds for a [`State`]: at most one warp exists at a time.

use std::fmt;

use simt::machine::{Machine, Step};
use simt::mask::WarpMask;
use simt::memory::{AccessError, AccessKind, Addr, MapError, MemoryMap, Permission, Space, Width};
use simt::observe::{Access, Branch, Events, GroupId, Issue, Observer, Pc};
use simt::slots::{Domain, IssueLanes, LaneSlots};
use simt::trap::Fault;

use crate::config::Config;
use crate::exec::{Effect, Inputs, LANES, Special, Stop, Trap, Warp, compute, store};
use crate::image::{HexError, Words};
use crate::op::{Insn, Op};
use crate::syntax::{CODE_END, CODE_START};

/// The machine, in a configuration.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prf {
    /// What can be chosen.
    pub config: Config,
}

/// The most threads of a block.
pub const BLOCK_THREADS: u32 = 1024;
/// Data is mapped in pieces of this many bytes.
const PAGE: u64 = 4096;
/// The most pieces of data of a program.
const MOST_RUNS: usize = 4096;

/// A piece of data: whole pages, some of their bytes not zero.
#[derive(Clone, Debug)]
struct Piece {
    base: u32,
    length: u64,
    runs: Vec<(u32, Vec<u8>)>,
}

/// A loaded program.
#[derive(Clone, Debug)]
pub struct Program {
    /// The launch block and the code, from address 0 on.
    low: Vec<u8>,
    /// The instruction of each word of `low`, if it is one.
    code: Vec<Option<Insn>>,
    data: Vec<Piece>,
    entry: u32,
}

impl Program {
    /// Reads words; instructions are those below `0x10_0000`.
    ///
    /// # Errors
    /// No code, or data scattered over too much memory.
    pub fn new(words: &Words, config: Config) -> Result<Self, LoadError> {
        let mut low = Vec::new();
        let mut data: Vec<Piece> = Vec::new();
        for (address, bytes) in words.runs() {
            let cut = bytes.len().min(CODE_END.saturating_sub(address) as usize);
            let (head, tail) = bytes.split_at(cut);
            if !head.is_empty() {
                low.resize(address as usize, 0);
                low.extend(head);
            }
            if tail.is_empty() {
                continue;
            }
            let start = address.max(CODE_END);
            let first = u64::from(start) / PAGE * PAGE;
            let end = (u64::from(start) + tail.len() as u64).next_multiple_of(PAGE);
            let run = (start, tail.to_vec());
            let reaches = |p: &&mut Piece| u64::from(p.base) + p.length >= first;
            match data.last_mut().filter(reaches) {
                Some(piece) => {
                    piece.length = end - u64::from(piece.base);
                    piece.runs.push(run);
                }
                // Rounding down keeps it in 32 bits.
                None => {
                    let (base, length) = (first as u32, end - first);
                    data.push(Piece { base, length, runs: vec![run] });
                }
            }
        }
        if data.len() > MOST_RUNS {
            return Err(LoadError::Scattered(data.len()));
        }
        if low.len() <= CODE_START as usize && words.0.keys().all(|&a| a >= CODE_END) {
            return Err(LoadError::NoCode);
        }
        let code = low.chunks(4).map(|word| Insn::decode(config.encoding, word)).collect();
        let first = words.0.range(CODE_START..).next().map_or(0, |(&address, _)| address);
        let entry = if first < CODE_END { first } else { 0 };
        Ok(Self { low, code, data, entry })
    }

    /// Where execution starts unless the launch says otherwise: the first word from 0x24 on.
    #[must_use]
    pub fn entry(&self) -> u32 {
        self.entry
    }

    /// Addresses of code lie below.
    #[must_use]
    pub fn code_bytes(&self) -> usize {
        self.low.len()
    }

    /// The instruction at an address.
    ///
    /// # Errors
    /// If there is no word, or none that is an instruction.
    pub fn fetch(&self, pc: u32) -> Result<Insn, Trap> {
        let index = (pc / 4) as usize;
        match self.code.get(index).filter(|_| pc.is_multiple_of(4)) {
            Some(Some(insn)) => Ok(*insn),
            Some(None) => {
                let bytes = self.low.get(pc as usize..).unwrap_or_default();
                Err(Trap::Undefined { word: isa::decode::window(bytes).0 as u32 })
            }
            None => Err(Trap::NoCode { pc }),
        }
    }

    /// Maps and fills the program's memory, unless an earlier launch has.
    fn map(&self, memory: &mut MemoryMap, launch: &Header) -> Result<(), LaunchError> {
        let length = (self.low.len().max(CODE_START as usize) as u64).next_multiple_of(PAGE);
        let mapped = |memory: &MemoryMap, name: &str, base: u64, length: u64| {
            memory
                .region_at(Addr(base))
                .is_some_and(|r| r.base() == Addr(base) && &**r.name() == name && r.len() == length)
        };
        if !mapped(memory, CODE, 0, length) {
            memory.map_at(CODE, Addr(0), length, Permission::ReadOnly)?;
        }
        memory.host_write(Addr(0), &self.low).map_err(LaunchError::Image)?;
        for (offset, value) in launch.words() {
            let bytes = value.to_le_bytes();
            memory.host_write(Addr(offset), &bytes).map_err(LaunchError::Image)?;
        }
        for Piece { base, length, runs } in &self.data {
            let base = u64::from(*base);
            if mapped(memory, DATA, base, *length) {
                continue;
            }
            memory.map_at(DATA, Addr(base), *length, Permission::ReadWrite)?;
            for (address, bytes) in runs {
                let at = Addr(u64::from(*address));
                memory.host_write(at, bytes).map_err(LaunchError::Image)?;
            }
        }
        Ok(())
    }
}

/// Names of the program's regions.
const CODE: &str = "code";
const DATA: &str = "data";

/// Why a program is not loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The image is not text.
    #[error("the program is not text: words in hexadecimal are expected")]
    NotText,
    /// A line of the image.
    #[error(transparent)]
    Hex(#[from] HexError),
    /// No word below `0x10_0000`.
    #[error("the program has no code below {CODE_END:#x}")]
    NoCode,
    /// Data in too many places.
    #[error("the program's data lie in {0} places of memory, at most {MOST_RUNS} are possible")]
    Scattered(usize),
}

/// What a launch needs.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Threads of a block: 1 to 1024.
    pub threads: u32,
    /// Blocks; at least one.
    pub blocks: u32,
    /// Threads in all, if the last block is to have fewer.
    pub total: Option<u64>,
    /// What special register 3 holds.
    pub argument: u32,
    /// Where to start, if not at the program's entry.
    pub entry: Option<u32>,
    /// Guest memory with its buffers; the program is added unless it is there from an earlier launch.
    pub memory: MemoryMap,
}

/// Why a launch is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// Not 1 to 1024 threads.
    #[error("blocks of {0} threads; possible are 1 to {BLOCK_THREADS}")]
    Threads(u32),
    /// No block.
    #[error("a launch of no blocks")]
    NoBlocks,
    /// The total does not end in the last block.
    #[error("{total} threads in all do not make {blocks} blocks of {threads}")]
    Total {
        /// Threads in all.
        total: u64,
        /// Blocks.
        blocks: u32,
        /// Threads of a block.
        threads: u32,
    },
    /// The program has no place in memory.
    #[error(transparent)]
    Memory(#[from] MapError),
    /// The program cannot be written.
    #[error(transparent)]
    Image(Box<AccessError>),
}

/// A launch, checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    pub(crate) threads: u32,
    pub(crate) blocks: u32,
    pub(crate) total: u64,
    pub(crate) argument: u32,
    pub(crate) entry: u32,
}

impl Header {
    pub(crate) fn new(program: &Program, launch: &Launch) -> Result<Self, LaunchError> {
        let Launch { threads, blocks, total, argument, entry, .. } = *launch;
        if !(1..=BLOCK_THREADS).contains(&threads) {
            return Err(LaunchError::Threads(threads));
        }
        if blocks == 0 {
            return Err(LaunchError::NoBlocks);
        }
        let full = u64::from(threads) * u64::from(blocks);
        let total = total.unwrap_or(full);
        if total > full || total + u64::from(threads) <= full {
            return Err(LaunchError::Total { total, blocks, threads });
        }
        Ok(Self { threads, blocks, total, argument, entry: entry.unwrap_or(program.entry()) })
    }

    /// The words of the launch block that hosts write.
    fn words(&self) -> [(u64, u32); 5] {
        let total = u32::try_from(self.total).unwrap_or(u32::MAX);
        [
            (0x0c, self.entry),
            (0x10, self.threads),
            (0x14, self.blocks),
            (0x18, total),
            (0x1c, self.argument),
        ]
    }

    /// Threads of a block: the last may have fewer.
    pub(crate) fn threads_of(&self, block: u32) -> u32 {
        let before = u64::from(block) * u64::from(self.threads);
        // At most `threads`, which has 32 bits.
        self.total.saturating_sub(before).min(self.threads.into()) as u32
    }

    /// Warp `index` of a block, if the block has that many.
    pub(crate) fn warp(&self, block: u32, index: u32) -> Option<Warp> {
        if block >= self.blocks {
            return None;
        }
        let first_thread = index.checked_mul(LANES as u32)?;
        let threads = self.threads_of(block).checked_sub(first_thread).filter(|&n| n > 0)?;
        let launched = WarpMask::first(threads.min(LANES as u32) as usize);
        let mut predicates = [WarpMask::EMPTY; 32];
        predicates[0] = WarpMask::first(LANES);
        Some(Warp {
            id: GroupId { cta: block.into(), group: index, first_thread },
            special: Special { first_thread, block, dim: self.threads, argument: self.argument },
            pc: self.entry,
            launched,
            live: launched,
            registers: Box::new([[0; LANES]; 64]),
            predicates,
        })
    }
}

/// Counts beside the lane slots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Predicates read: as masks, by `jpnz`, `prsw` and `halt`.
    pub predicate_reads: u64,
    /// Predicates written.
    pub predicate_writes: u64,
    /// Of those, by comparisons.
    pub branches: u64,
    /// Comparisons that some, not all lanes of their mask passed.
    pub divergent: u64,
    /// Masks stored to memory (`prsw`).
    pub spills: u64,
    /// Masks loaded from memory (`prlw`).
    pub fills: u64,
}

/// One line for people.
impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { predicate_reads, predicate_writes, branches, divergent, spills, fills } = self;
        writeln!(
            f,
            "predicates: {predicate_reads} read, {predicate_writes} written; comparisons: {branches}, \
             {divergent} divergent; masks: {spills} stored, {fills} loaded"
        )
    }
}

impl Counts {
    /// Counts an instruction with its effect.
    pub(crate) fn count(&mut self, insn: &Insn, effect: &Effect) {
        self.predicate_reads += u64::from(insn.reads_predicate());
        self.predicate_writes += u64::from(insn.writes_predicate());
        self.spills += u64::from(insn.op == Op::Prsw);
        self.fills += u64::from(insn.op == Op::Prlw);
        if let Effect::Predicate { set, lanes, .. } = effect {
            self.branches += 1;
            self.divergent += u64::from(set.any() && set != lanes);
        }
    }
}

/// Everything that changes while a launch runs.
#[derive(Clone, Debug)]
pub struct State {
    /// Guest memory.
    pub memory: MemoryMap,
    slots: LaneSlots,
    counts: Counts,
    header: Header,
    warp: Option<Warp>,
    blocks_done: u32,
}

impl State {
    /// Counts beside the lane slots.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Blocks that have ended.
    #[must_use]
    pub fn blocks_done(&self) -> u32 {
        self.blocks_done
    }

    /// Goes on with the next warp once this one has ended.
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

/// The lane sets of an instruction.
pub(crate) fn lanes(warp_launched: WarpMask, live: WarpMask, on: WarpMask) -> IssueLanes<1> {
    IssueLanes {
        width: LANES as u32,
        launched: warp_launched,
        exited: warp_launched - live,
        waiting: WarpMask::EMPTY,
        active: live,
        // Predicates are all the control flow there is: what they turn off is diverged in the logical view.
        unmasked: on,
        on,
    }
}

/// The lanes that take part: those of the mask, all live ones in a jump, lane 0 when a mask goes to or from memory.
pub(crate) fn participants(insn: &Insn, predicate: WarpMask, live: WarpMask) -> WarpMask {
    match insn.op {
        Op::Jal | Op::Jalr | Op::Jpnz => live,
        Op::Prsw | Op::Prlw => WarpMask::lane(0),
        _ => predicate & live,
    }
}

/// Executes one instruction of a warp, completely.
fn issue<O: Observer<1>>(
    warp: &mut Warp,
    insn: Insn,
    config: Config,
    (memory, slots, counts): (&mut MemoryMap, &mut LaneSlots, &mut Counts),
    observer: &mut O,
) -> Result<(), Stop> {
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
    Ok(())
}

/// Tells of a memory access.
fn announce<O: Observer<1>>(
    inputs: &Inputs<'_>,
    effect: &Effect,
    group: GroupId,
    observer: &mut O,
) {
    let i = inputs.insn;
    let (kind, base, size) = match i.op {
        Op::Lw => (AccessKind::Load, inputs.a, Width::B4),
        Op::Lh => (AccessKind::Load, inputs.a, Width::B2),
        Op::Lb => (AccessKind::Load, inputs.a, Width::B1),
        Op::Prlw => (AccessKind::Load, inputs.b, Width::B4),
        Op::Sw | Op::Sh | Op::Sb => match effect {
            Effect::Store { width, .. } => (AccessKind::Store, inputs.a, *width),
            _ => return,
        },
        Op::Prsw => (AccessKind::Store, inputs.b, Width::B4),
        _ => return,
    };
    let on = participants(&i, inputs.predicate, inputs.live);
    let address = |lane: usize| u64::from(base[lane].wrapping_add_signed(i.imm));
    let lanes: Vec<(u16, u64)> = on.iter().map(|lane| (lane as u16, address(lane))).collect();
    let (order, scope) = Default::default();
    let (pc, size) = (Pc(inputs.pc.into()), size.bytes() as u32);
    let space = Space::Global;
    observer.access(&Access { group, pc, kind, space, order, scope, size, lanes: &lanes });
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
        Ok(State { memory, slots, counts, header, warp, blocks_done: 0 })
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
            Ok(()) => {
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
