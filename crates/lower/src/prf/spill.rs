//! General registers beyond those of the file: they lie in memory, a word of each lane.
//!
//! A register that has no place is read into another one before each instruction that needs it, and
//! stored behind each that writes it, both under the instruction's predicate: as in the file, lanes
//! that are off keep what they have. Registers that are not needed at one place share a word. A
//! lane's words lie side by side, and are found by one more register, which is made when a thread
//! begins. Lanes of blocks that run at a time have words of their own.

use super::RESIDENT;
use super::ranges::{Range, Short, assign, ranges, share};
use crate::Missing;
use crate::legal::LANES;
use ir::mods::{Mods, Space};
use ir::module::{Var, VarId};
use ir::{
    Block, FuncId, Function, Inst, LaneReg, LocId, Module, Op, Operand, Origin, Reg, RegTy, Sreg,
    Symbol, Term, TermKind, Ty,
};
use rustc_hash::{FxHashMap, FxHashSet};

/// Lanes that have words of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lanes {
    /// Of blocks with so many threads, so many at a time: a power of two. A block has the words of
    /// its number modulo that.
    Of { blocks: u32, threads: u32 },
    /// Of blocks of any size, as many as run at a time: the program computes it.
    Resident,
}

impl Lanes {
    fn count(self) -> u32 {
        match self {
            Self::Of { blocks, threads } => blocks * threads,
            // Rounded up to a power of two, blocks are less than twice as many as run.
            Self::Resident => 2 * RESIDENT * LANES,
        }
    }
}

/// Where the registers of a kernel are.
pub(super) struct Places {
    /// The machine's registers.
    pub(super) assigned: FxHashMap<LaneReg, u32>,
    /// How many lie in memory, and the words that they share.
    pub(super) spilled: u32,
    pub(super) words: u32,
}

/// Bytes below the base that an access reaches.
const BELOW: u32 = 32;
/// Most rounds: each makes places for more registers.
const ROUNDS: usize = 64;

/// Places for all registers; the kernel accesses those in memory afterwards.
pub(super) fn places(
    module: &mut Module,
    kernel: FuncId,
    file: &[LaneReg],
    limit: u32,
    lanes: Lanes,
) -> Result<Places, Missing> {
    let source = &module.functions[kernel.index()];
    let own = source.regs.len() as u32;
    let mut more = match assign(source, file, limit, own) {
        Ok(assigned) => return Ok(Places { assigned, spilled: 0, words: 0 }),
        Err(Short { spilled }) => spilled,
    };
    let needed = ranges(source, file);
    let mut spilled = FxHashSet::default();
    for _ in 0..ROUNDS {
        if more.is_empty() {
            break;
        }
        spilled.extend(more);
        let spilled_ranges: Vec<Range> =
            needed.iter().filter(|range| spilled.contains(&range.2)).copied().collect();
        let slots = share(&spilled_ranges);
        let mut function = module.functions[kernel.index()].clone();
        let base = function.new_reg("lane.words", RegTy::B32);
        access(&mut function, base, &slots);
        match assign(&function, file, limit, own) {
            Err(Short { spilled }) => more = spilled,
            Ok(_) => {
                module.functions[kernel.index()] = function;
                let words = slots.values().max().map_or(0, |&last| last + 1);
                // Registers that are needed from the start on may be read before they are written.
                let first = spilled_ranges.iter().filter(|range| range.0 == 0);
                let zeroed = first.map(|range| slots[&range.2]).collect();
                begin(module, kernel, base, &Words { count: words, zeroed }, lanes);
                // What was put in front needs no more registers at a time.
                let function = &module.functions[kernel.index()];
                let assigned = assign(function, file, limit, own).map_err(|_| no_room(limit))?;
                return Ok(Places { assigned, spilled: spilled.len() as u32, words });
            }
        }
    }
    Err(no_room(limit))
}

/// Words of a lane, and those that are zero when it begins.
struct Words {
    count: u32,
    zeroed: Vec<u32>,
}

fn no_room(limit: u32) -> Missing {
    let what = format!("more than {} general registers for one instruction", limit - 1);
    Missing { what, loc: LocId(0) }
}

fn memory(op: Op, base: LaneReg, slot: u32) -> Inst {
    let mut inst = Inst::new(op).ty(Ty::B32).operand(Operand::lane(base));
    inst.mods = Mods { space: Some(Space::Global), ..Mods::default() };
    inst.offset = i64::from(4 * slot) - i64::from(BELOW);
    inst.origin = Origin::Spill;
    inst
}

/// Puts loads and stores around what accesses registers that lie in memory.
fn access(function: &mut Function, base: LaneReg, slots: &FxHashMap<LaneReg, u32>) {
    let mut blocks = std::mem::take(&mut function.blocks);
    for block in &mut blocks {
        let mut out = Vec::with_capacity(block.insts.len());
        for mut inst in std::mem::take(&mut block.insts) {
            let (guard, loc) = (inst.guard, inst.loc);
            let mut held: FxHashMap<LaneReg, LaneReg> = FxHashMap::default();
            let mut hold = |reg: LaneReg| {
                *held.entry(reg).or_insert_with(|| {
                    let ty = function.regs[reg.index()].ty;
                    let name = format!("{}.held", function.regs[reg.index()].name);
                    function.new_reg(name, ty)
                })
            };
            let mut loaded = Vec::new();
            for operand in &mut inst.operands {
                let Operand::Reg(Reg::Lane(reg)) = *operand else { continue };
                let Some(&slot) = slots.get(&reg) else { continue };
                let held = hold(reg);
                *operand = Operand::lane(held);
                if !loaded.contains(&reg) {
                    loaded.push(reg);
                    let load = memory(Op::Ld, base, slot).result(Reg::Lane(held));
                    out.push(Inst { guard, loc, ..load });
                }
            }
            let mut stores = Vec::new();
            for result in inst.results.iter_mut().flatten() {
                let Reg::Lane(reg) = *result else { continue };
                let Some(&slot) = slots.get(&reg) else { continue };
                let held = hold(reg);
                *result = Reg::Lane(held);
                let store = memory(Op::St, base, slot).operand(Operand::lane(held));
                stores.push(Inst { guard, loc, ..store });
            }
            out.push(inst);
            out.append(&mut stores);
        }
        block.insts = out;
    }
    function.blocks = blocks;
}

/// What a thread does first: it finds its words, and makes those zero that may be read before they
/// are written, as registers are.
fn begin(module: &mut Module, kernel: FuncId, base: LaneReg, words: &Words, lanes: Lanes) {
    let bytes = 4 * words.count;
    module.vars.push(Var {
        name: "lowered.registers".to_owned(),
        space: Space::Global,
        size: u64::from(bytes) * u64::from(lanes.count()),
        align: 16,
        init: Vec::new(),
        relocs: Vec::new(),
        dynamic: false,
    });
    let region = Operand::Symbol(Symbol::Var(VarId(module.vars.len() as u32 - 1)), 0);
    let function = &mut module.functions[kernel.index()];
    let other = function.new_reg("lane.number", RegTy::B32);
    let mut front = Front { insts: Vec::new(), base, other };
    front.lane(lanes);
    let (b, o) = (Operand::lane(base), Operand::lane(other));
    front.emit(Op::Mul, Ty::U32, &[b, word(bytes)], base);
    front.emit(Op::Mov, Ty::B32, &[region], other);
    front.emit(Op::Add, Ty::U32, &[b, o], base);
    front.emit(Op::Add, Ty::U32, &[b, word(BELOW)], base);
    let mut insts = front.insts;
    for &slot in &words.zeroed {
        insts.push(memory(Op::St, base, slot).operand(word(0)));
    }
    // A block of its own: loops may lead to the first one.
    for target in function.blocks.iter_mut().flat_map(|block| block.term.targets_mut()) {
        target.0 += 1;
    }
    let term = Term { kind: TermKind::Fall, origin: Origin::Spill, loc: LocId(0) };
    function.blocks.insert(0, Block { name: "words".to_owned(), insts, term });
}

fn word(value: u32) -> Operand {
    Operand::Imm(u128::from(value))
}

/// Instructions in front of a kernel, on two registers.
struct Front {
    insts: Vec<Inst>,
    base: LaneReg,
    other: LaneReg,
}

impl Front {
    fn emit(&mut self, op: Op, ty: Ty, operands: &[Operand], to: LaneReg) {
        let mut inst = Inst::new(op).ty(ty);
        inst.operands.extend_from_slice(operands);
        inst.origin = Origin::Spill;
        self.insts.push(inst.result(Reg::Lane(to)));
    }

    fn special(&mut self, sreg: Sreg, to: LaneReg) {
        self.emit(Op::Sreg, Ty::U32, &[Operand::Sreg(sreg)], to);
    }

    /// The number of the lane among those that have words, in the base.
    fn lane(&mut self, lanes: Lanes) {
        let (base, other) = (self.base, self.other);
        let (b, o) = (Operand::lane(base), Operand::lane(other));
        let threads = match lanes {
            Lanes::Of { blocks, threads } => {
                self.special(Sreg::CtaidX, base);
                self.emit(Op::And, Ty::B32, &[b, word(blocks - 1)], base);
                word(threads)
            }
            Lanes::Resident => {
                self.last_block();
                self.special(Sreg::CtaidX, other);
                self.emit(Op::And, Ty::B32, &[b, o], base);
                self.special(Sreg::NtidX, other);
                o
            }
        };
        self.emit(Op::Mul, Ty::U32, &[b, threads], base);
        self.special(Sreg::TidX, other);
        self.emit(Op::Add, Ty::U32, &[b, o], base);
    }

    /// The number of blocks that run at a time, up to a power of two, less one, in the base.
    fn last_block(&mut self) {
        let (base, other) = (self.base, self.other);
        let (b, o) = (Operand::lane(base), Operand::lane(other));
        // The warps of a block, with all bits below the top one, and one more: a power of two.
        self.special(Sreg::NtidX, base);
        self.emit(Op::Add, Ty::U32, &[b, word(LANES - 1)], base);
        self.emit(Op::Shr, Ty::U32, &[b, word(LANES.trailing_zeros())], base);
        for amount in [1, 2, 4] {
            self.emit(Op::Shr, Ty::U32, &[b, word(amount)], other);
            self.emit(Op::Or, Ty::B32, &[b, o], base);
        }
        self.emit(Op::Add, Ty::U32, &[b, word(1)], base);
        self.emit(Op::Div, Ty::S32, &[word(2 * RESIDENT - 1), b], base);
    }
}
