//! The text of functions, for readers and tests: machine instructions with the destination first.
//!
//! Registers are numbers with a letter for their class and part: `r` general, `d`, `w`, `b` its
//! lower parts, `v` vector, `x`, `y`, `z` its parts, `k` mask. Memory is relative to a register, to
//! a field of the frame, to the constant pool or to the warp's seat. `r4=r2` is the value 4, which
//! an instruction makes of the value 2 in its place. Code that is emitted out of
//! line has a bar before it.

use super::function::{
    Address, AddressBase, Argument, Edge, End, Function, Inst, Leave, Machine, Micro, Piece,
};
use super::register::{VReg, View};
use crate::frame::Frame;
use iced_x86::{Code as Op, RoundingControl};
use regalloc2::OperandConstraint;
use std::fmt::{Display, Formatter, Result};

/// Returns the mnemonic of an instruction.
fn mnemonic(op: Op) -> String {
    let name = format!("{op:?}");
    let plain = name.strip_prefix("EVEX_").or_else(|| name.strip_prefix("VEX_")).unwrap_or(&name);
    plain.split('_').next().unwrap_or_default().to_lowercase()
}

fn letter(view: View) -> char {
    match view {
        View::R8 => 'b',
        View::R16 => 'w',
        View::R32 => 'd',
        View::R64 => 'r',
        View::X => 'x',
        View::Y => 'y',
        View::Z => 'z',
        View::V => 'v',
        View::K => 'k',
    }
}

fn register(register: VReg) -> String {
    format!("{}{}", letter(View::full(register.class())), register.vreg())
}

impl Function {
    fn operand(&self, inst: &Inst, index: u8) -> VReg {
        self.operands[inst.operands.range()][index as usize].vreg()
    }

    fn address_text(&self, inst: &Inst, address: &Address) -> String {
        let base = match address.base {
            AddressBase::Reg(index) => register(self.operand(inst, index)),
            AddressBase::Frame => {
                return match Frame::field(address.displacement) {
                    Some((name, 0)) => format!("[frame.{name}]"),
                    Some((name, more)) => format!("[frame.{name} + {more}]"),
                    None => "[frame]".to_owned(),
                };
            }
            AddressBase::Pool => "pool".to_owned(),
            AddressBase::Seat => "seat".to_owned(),
        };
        let index = address.index.map(|(index, view)| {
            let number = self.operand(inst, index).vreg();
            format!(" + {} * {}{number}", address.scale, letter(view))
        });
        let more = match address.displacement {
            0 => String::new(),
            n if n < 0 => format!(" - {}", n.unsigned_abs()),
            n => format!(" + {n}"),
        };
        let all = if address.broadcast { " to all" } else { "" };
        format!("[{base}{}{more}]{all}", index.unwrap_or_default())
    }

    fn piece_text(&self, inst: &Inst, piece: &Piece) -> String {
        match piece {
            Piece::Reg(index, view) => {
                let name =
                    |index: u8| format!("{}{}", letter(*view), self.operand(inst, index).vreg());
                let operand = self.operands[inst.operands.range()][*index as usize];
                match operand.constraint() {
                    // The instruction changes a value in place: the new one is also the old one.
                    OperandConstraint::Reuse(old) => {
                        format!("{}={}", name(*index), name(old as u8))
                    }
                    _ => name(*index),
                }
            }
            Piece::Mem(address) => self.address_text(inst, address),
            Piece::Imm(value) => value.to_string(),
            Piece::Imm64(value) => format!("{value:#x}"),
        }
    }

    fn machine_text(&self, inst: &Inst, machine: &Machine) -> String {
        let start = machine.pieces as usize;
        let pieces = &self.pieces[start..start + machine.count as usize];
        let mut list: Vec<String> = pieces.iter().map(|p| self.piece_text(inst, p)).collect();
        if let (Some(mask), Some(first)) = (machine.mask, list.first_mut()) {
            let zeros = if machine.zeroing { "{z}" } else { "" };
            first.push_str(&format!(" {{{}}}{zeros}", register(self.operand(inst, mask))));
        }
        if machine.rounding != RoundingControl::None {
            list.push(format!("{:?}", machine.rounding).to_lowercase());
        }
        if machine.quiet {
            list.push("quiet".to_owned());
        }
        format!("{} {}", mnemonic(machine.op), list.join(", "))
    }

    fn leave_text(&self, inst: &Inst, leave: &Leave) -> String {
        let argument = |argument: &Argument| match argument {
            Argument::Imm(value) => value.to_string(),
            Argument::Operand(index) => register(self.operand(inst, *index)),
        };
        let arguments: Vec<String> = leave.arguments.iter().flatten().map(argument).collect();
        let how = if leave.resume.is_some() { "switch" } else { "call" };
        format!("{how} {}", arguments.join(", "))
    }

    fn micro_text(&self, inst: &Inst, micro: &Micro) -> String {
        match micro {
            Micro::Op(machine) => self.machine_text(inst, machine),
            Micro::Local(op, label) => format!("{} .{label}", mnemonic(*op)),
            Micro::Bind(label) => format!(".{label}:"),
            Micro::Stub(op, _) => format!("{} outside", mnemonic(*op)),
            Micro::Leave(index) => self.leave_text(inst, &self.leaves[*index as usize]),
        }
    }

    fn edge_text(&self, edge: &Edge) -> String {
        let arguments = &self.values[edge.arguments.range()];
        let list: Vec<String> = arguments.iter().map(|&v| register(v)).collect();
        format!("block{}({})", edge.to.0, list.join(", "))
    }
}

impl Display for Function {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        for &block in &self.order {
            let data = &self.blocks[block.0 as usize];
            let params = &self.values[data.params.range()];
            let params: Vec<String> = params.iter().map(|&p| register(p)).collect();
            let cold = if data.cold { " cold" } else { "" };
            writeln!(f, "block{}({}):{cold}", block.0, params.join(", "))?;
            for inst in &self.insts[data.insts.range()] {
                for (i, micro) in self.micros[inst.micros.range()].iter().enumerate() {
                    let outside = inst.micros.start + i as u32 >= inst.outside;
                    let bar = if outside { "  | " } else { "    " };
                    writeln!(f, "{bar}{}", self.micro_text(inst, micro))?;
                }
            }
            match &data.end {
                End::Jump(to) => writeln!(f, "    jmp {}", self.edge_text(to))?,
                End::Branch(op, yes, no) => {
                    let (yes, no) = (self.edge_text(yes), self.edge_text(no));
                    writeln!(f, "    {} {yes}, else {no}", mnemonic(*op))?;
                }
                End::Exit | End::Open => {}
            }
        }
        Ok(())
    }
}
