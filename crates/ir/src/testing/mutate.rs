//! What is almost right: text and modules with a few changes.

use super::Rng;
use crate::mods::{Flag, Kind};
use crate::module::{
    BlockId, FuncId, Guard, Inst, LaneReg, LocId, Module, Operand, Reg, Signature, Symbol, VarId,
    WarpReg,
};
use crate::op::OPS;
use crate::ty::Ty;

/// Tokens that are likely to hurt.
const TOKENS: [&str; 40] = [
    "%",
    "@",
    "@@",
    "!",
    "[",
    "]",
    "{",
    "}",
    "(",
    ")",
    "<",
    ">",
    ",",
    ":",
    "=",
    "+",
    "-",
    "->",
    "\"",
    "\\",
    "//",
    "\n",
    "\u{0}",
    "é",
    "0x",
    "1e",
    "99999999999999999999",
    "-1",
    "_",
    "reg",
    "%r<65536>",
    "local",
    "kernel @k(",
    "func @f(",
    "ret",
    "br",
    "switch",
    "!loc(0,1,1)",
    "reloc 0: u64 @f",
    "hex",
];

/// Changes a text at a few random places: characters, words and lines go, come, double or move.
#[must_use]
pub fn mutate_text(rng: &mut Rng, text: &str) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..1 + rng.below(3) {
        let at = rng.below(chars.len() + 1);
        let length = rng.below(12).min(chars.len() - at);
        match rng.below(8) {
            0 => {
                chars.drain(at..at + length);
            }
            1 => {
                let token = TOKENS[rng.below(TOKENS.len())];
                chars.splice(at..at, token.chars());
            }
            2 => {
                let copy: Vec<_> = chars[at..at + length].to_vec();
                let to = rng.below(chars.len() + 1);
                chars.splice(to..to, copy);
            }
            3 => chars.truncate(at),
            4 => {
                let c = char::from_u32(rng.below(0x250) as u32).unwrap_or('?');
                chars.insert(at, c);
            }
            5 => {
                if let Some(c) = chars.get_mut(at) {
                    *c = char::from(b' ' + rng.below(95) as u8);
                }
            }
            _ => {
                // Another digit is likely to be taken by the parser.
                if let Some(c) = chars[at..].iter_mut().find(|c| c.is_ascii_digit()) {
                    *c = char::from(b'0' + rng.below(10) as u8);
                }
            }
        }
    }
    chars.into_iter().collect()
}

/// Changes a module at a few random places: indices, types, counts, sizes, modifiers.
pub fn mutate_module(rng: &mut Rng, module: &mut Module) {
    for _ in 0..1 + rng.below(4) {
        match rng.below(5) {
            0 => mutate_tables(rng, module),
            1 => mutate_function(rng, module),
            _ => mutate_block(rng, module),
        }
    }
}

/// An index that may or may not be in its table.
fn index(rng: &mut Rng) -> u32 {
    match rng.below(8) {
        0 => u32::MAX,
        1 => rng.bits() as u32,
        _ => rng.below(24) as u32,
    }
}

fn mutate_tables(rng: &mut Rng, module: &mut Module) {
    match rng.below(5) {
        0 => module.locs.truncate(rng.below(2)),
        1 => module.files.clear(),
        2 => {
            module.functions.pop();
        }
        3 => module.inlined.truncate(1),
        _ => {
            let at = rng.below(module.vars.len());
            if let Some(var) = module.vars.get_mut(at) {
                var.size = rng.value();
                var.align = index(rng);
                var.dynamic ^= rng.one_in(2);
            }
        }
    }
}

fn mutate_function(rng: &mut Rng, module: &mut Module) {
    let at = rng.below(module.functions.len());
    let Some(f) = module.functions.get_mut(at) else { return };
    match rng.below(7) {
        0 => f.regs.truncate(rng.below(8)),
        1 => f.warp_regs.clear(),
        2 => f.locals.iter_mut().for_each(|l| l.offset = index(rng)),
        3 => f.spill_slots = index(rng),
        4 => {
            f.blocks.pop();
        }
        5 => f.blocks.clear(),
        _ => match &mut f.signature {
            Signature::Kernel { params, .. } => {
                for p in params {
                    (p.offset, p.size, p.align) = (index(rng), index(rng), index(rng));
                }
            }
            Signature::Device { params, results } => {
                params.push(LaneReg(index(rng)));
                results.push(LaneReg(index(rng)));
            }
        },
    }
}

fn mutate_block(rng: &mut Rng, module: &mut Module) {
    let at = rng.below(module.functions.len());
    let Some(f) = module.functions.get_mut(at) else { return };
    let at = rng.below(f.blocks.len());
    let Some(block) = f.blocks.get_mut(at) else { return };
    if rng.one_in(4) {
        block.term.targets_mut().iter_mut().for_each(|t| *t = BlockId(index(rng)));
        return;
    }
    let at = rng.below(block.insts.len());
    if let Some(inst) = block.insts.get_mut(at) {
        mutate_inst(rng, inst);
    }
}

fn mutate_inst(rng: &mut Rng, inst: &mut Inst) {
    match rng.below(9) {
        0 => inst.op = OPS[rng.below(OPS.len())].op,
        1 => inst.ty = Ty::all().nth(rng.below(30)),
        2 => inst.ty2 = Ty::all().nth(rng.below(30)),
        3 => {
            let kind = Kind::ALL[rng.below(Kind::ALL.len())];
            let words = kind.words();
            inst.mods.set_word(kind, words[rng.below(words.len())]);
            inst.mods.flags = inst.mods.flags.with(Flag::ALL[rng.below(Flag::ALL.len())]);
        }
        4 => inst.offset = rng.value().cast_signed(),
        5 => inst.guard = Some(Guard { pred: LaneReg(index(rng)), negated: rng.one_in(2) }),
        6 => inst.loc = LocId(index(rng)),
        7 => {
            let reg = index(rng);
            let reg = if rng.one_in(2) { Reg::Warp(WarpReg(reg)) } else { Reg::Lane(LaneReg(reg)) };
            if rng.one_in(3) {
                inst.results.pop();
            } else {
                inst.results.push(Some(reg));
            }
        }
        _ if rng.one_in(3) => {
            inst.operands.pop();
        }
        _ => {
            let operand = operand(rng);
            let at = rng.below(inst.operands.len() + 1);
            if let Some(old) = inst.operands.get_mut(at) {
                *old = operand;
            } else {
                inst.operands.push(operand);
            }
        }
    }
}

fn operand(rng: &mut Rng) -> Operand {
    let i = index(rng);
    match rng.below(8) {
        0 => Operand::Imm(u128::from(rng.value()) << rng.below(65)),
        1 => Operand::lane(LaneReg(i)),
        2 => Operand::warp(WarpReg(i)),
        3 => Operand::Block(BlockId(i)),
        4 => Operand::Func(FuncId(i)),
        5 => Operand::Symbol(Symbol::Var(VarId(i)), rng.value().cast_signed()),
        6 => Operand::Symbol(Symbol::Param(i), 0),
        _ => Operand::Symbol(Symbol::Local(i), 0),
    }
}
