//! General registers beyond those of the file: they lie in memory, a word of each lane.
//!
//! A register that has no place is read into another one before each instruction that needs it, and
//! stored behind each that writes it, both under the instruction's predicate: as in the file, lanes
//! that are off keep what they have. A lane's words lie side by side, as many as there are such
//! registers, and are found by one more register, which is made when a thread begins. Lanes of
//! blocks that run at a time have words of their own.

use super::ranges::{Short, assign};
use crate::Missing;
use ir::mods::{Mods, Space};
use ir::module::{Var, VarId};
use ir::{
    Block, FuncId, Function, Inst, LaneReg, LocId, Module, Op, Operand, Origin, Reg, RegTy, Sreg,
    Symbol, Term, TermKind, Ty,
};
use rustc_hash::FxHashMap;

/// Lanes that have words of their own: blocks that run at a time, and threads of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lanes {
    /// A power of two; a block has the words of its number modulo that.
    pub(super) blocks: u32,
    pub(super) threads: u32,
}

/// Bytes below the base that an access reaches.
const BELOW: u32 = 32;
/// Most rounds: each makes places for more registers.
const ROUNDS: usize = 64;

/// Places for all registers, and how many lie in memory; the kernel accesses them afterwards.
pub(super) fn places(
    module: &mut Module,
    kernel: FuncId,
    file: &[LaneReg],
    limit: u32,
    lanes: Lanes,
) -> Result<(FxHashMap<LaneReg, u32>, u32), Missing> {
    let own = module.functions[kernel.index()].regs.len() as u32;
    let mut slots: Vec<LaneReg> = Vec::new();
    let mut base = None;
    for _ in 0..ROUNDS {
        let function = &mut module.functions[kernel.index()];
        let more = match assign(function, file, limit, own) {
            Ok(assigned) => {
                if let Some(base) = base {
                    begin(module, kernel, (base, &slots), lanes);
                    // What was put in front needs no more registers at a time.
                    let function = &module.functions[kernel.index()];
                    let assigned = assign(function, file, limit, own);
                    return assigned.map(|a| (a, slots.len() as u32)).map_err(|_| no_room(limit));
                }
                return Ok((assigned, 0));
            }
            Err(Short { spilled }) if spilled.is_empty() => return Err(no_room(limit)),
            Err(Short { spilled }) => spilled,
        };
        let base = *base.get_or_insert_with(|| function.new_reg("lane.words", RegTy::B32));
        let first = slots.len() as u32;
        slots.extend(&more);
        let numbered: FxHashMap<LaneReg, u32> = more.into_iter().zip(first..).collect();
        access(function, base, &numbered);
    }
    Err(no_room(limit))
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

/// What a thread does first: it finds its words, and makes them zero, as registers are.
fn begin(module: &mut Module, kernel: FuncId, (base, slots): (LaneReg, &[LaneReg]), lanes: Lanes) {
    let bytes = 4 * slots.len() as u32;
    module.vars.push(Var {
        name: "lowered.registers".to_owned(),
        space: Space::Global,
        size: u64::from(bytes) * u64::from(lanes.blocks) * u64::from(lanes.threads),
        align: 16,
        init: Vec::new(),
        relocs: Vec::new(),
        dynamic: false,
    });
    let region = Operand::Symbol(Symbol::Var(VarId(module.vars.len() as u32 - 1)), 0);
    let function = &mut module.functions[kernel.index()];
    let other = function.new_reg("lane.number", RegTy::B32);
    let word = |value: u32| Operand::Imm(u128::from(value));
    let (b, o) = (Operand::lane(base), Operand::lane(other));
    let mut front = Vec::new();
    let mut emit = |op: Op, ty: Ty, operands: &[Operand], to: LaneReg| {
        let mut inst = Inst::new(op).ty(ty);
        inst.operands.extend_from_slice(operands);
        inst.origin = Origin::Spill;
        front.push(inst.result(Reg::Lane(to)));
    };
    emit(Op::Sreg, Ty::U32, &[Operand::Sreg(Sreg::CtaidX)], base);
    emit(Op::And, Ty::B32, &[b, word(lanes.blocks - 1)], base);
    emit(Op::Mul, Ty::U32, &[b, word(lanes.threads)], base);
    emit(Op::Sreg, Ty::U32, &[Operand::Sreg(Sreg::TidX)], other);
    emit(Op::Add, Ty::U32, &[b, o], base);
    emit(Op::Mul, Ty::U32, &[b, word(bytes)], base);
    emit(Op::Mov, Ty::B32, &[region], other);
    emit(Op::Add, Ty::U32, &[b, o], base);
    emit(Op::Add, Ty::U32, &[b, word(BELOW)], base);
    for slot in 0..slots.len() as u32 {
        front.push(memory(Op::St, base, slot).operand(word(0)));
    }
    // A block of its own: loops may lead to the first one.
    for target in function.blocks.iter_mut().flat_map(|block| block.term.targets_mut()) {
        target.0 += 1;
    }
    let term = Term { kind: TermKind::Fall, origin: Origin::Spill, loc: LocId(0) };
    function.blocks.insert(0, Block { name: "words".to_owned(), insts: front, term });
}
