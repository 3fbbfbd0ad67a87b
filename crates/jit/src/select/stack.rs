//! The warp's stack of waiting lanes in memory, ends of blocks by the interpreter, and switches.

use super::Selector;
use crate::frame::{ENTRY_BLOCK, ENTRY_DEPTH, ENTRY_LANES, ENTRY_REJOIN, ENTRY_SIZE, Frame};
use crate::vcode::{Block, Mem, Part, StubArgument, VReg, View};
use crate::warp_context::WarpContext;
use iced_x86::Code as Op;
use vector::{InterpretedEnd, StackOp, Target, Value};

/// A block with its arguments.
type Arguments = (Block, Vec<VReg>);

impl Selector<'_> {
    fn context(&mut self) -> VReg {
        self.f.def(Op::Mov_r64_rm64, View::R64, (Mem::frame(Frame::WARP),))
    }

    /// An operation on the warp's stack.
    pub(super) fn stack(&mut self, op: StackOp, args: &[Value], results: &[Value]) {
        let context = self.context();
        let place = Mem::at(context, WarpContext::TOP);
        let top = self.f.def(Op::Mov_r64_rm64, View::R64, (place,));
        match op {
            StackOp::Top => {
                let fields = [ENTRY_BLOCK, ENTRY_LANES, ENTRY_REJOIN, ENTRY_DEPTH];
                for (&result, field) in results.iter().zip(fields) {
                    let value = self.f.int(Op::Mov_r32_rm32, View::R32, (Mem::at(top, field),));
                    self.put_scalar(Some(result), value);
                }
            }
            StackOp::Pop => {
                self.f.effect(Op::Sub_rm64_imm32, (place, ENTRY_SIZE as i32));
            }
            StackOp::Wait(block) => {
                let to = Mem::at(top, ENTRY_BLOCK);
                self.f.effect(Op::Mov_rm32_imm32, (to, block as i32));
            }
            StackOp::Push(block) => {
                let new = |field: i64| Mem::at(top, ENTRY_SIZE + field);
                self.f.effect(Op::Mov_rm32_imm32, (new(ENTRY_BLOCK), block as i32));
                for (&arg, field) in args.iter().zip([ENTRY_LANES, ENTRY_REJOIN, ENTRY_DEPTH]) {
                    let value = self.s(arg);
                    self.f.store(Op::Mov_rm32_r32, new(field), value.d());
                }
                self.f.effect(Op::Add_rm64_imm32, (place, ENTRY_SIZE as i32));
            }
            StackOp::Height => {
                let bottom = self.f.lea(Mem::at(context, WarpContext::ENTRIES - ENTRY_SIZE));
                let bytes = self.f.alu(Op::Sub_r64_rm64, View::R64, top, (bottom,));
                let shift = ENTRY_SIZE.trailing_zeros() as i32;
                let height = self.f.alu(Op::Shr_rm64_imm8, View::R64, bytes, (shift,));
                self.put_scalar(results.first().copied(), height);
            }
        }
    }

    /// Has the interpreter execute the end of a block.
    pub(super) fn interpret_end(
        &mut self,
        end: &InterpretedEnd,
        args: &[Value],
        results: &[Value],
    ) {
        for (&place, &value) in end.operands.iter().zip(&args[1..]) {
            self.store_home(place, value);
        }
        let lanes = self.mask_bits(args[0]);
        let stub = self.outside.end;
        let mut p = self.f.pseudo();
        p.call(stub, &[StubArgument::Imm(end.block), StubArgument::Reg(lanes)], &[]);
        p.end();
        let context = self.context();
        let top = Mem::at(context, WarpContext::TOP);
        let top = self.f.def(Op::Mov_r64_rm64, View::R64, (top,));
        let left = self.nonzero(top);
        self.put_scalar(results.first().copied(), left);
        let back = Mem::frame(Frame::BACK_EDGE_TAKEN);
        let back = self.f.int(Op::Mov_r32_rm32, View::R32, (back,));
        self.put_scalar(results.get(1).copied(), back);
    }

    /// What the lowest lane of a mask has in a row.
    pub(super) fn first_lane(&mut self, args: &[Value], result: Option<Value>) {
        let wide = self.is_wide(args[1]);
        let scratch = self.f.reserve(if wide { 256 } else { 128 }, 64);
        for part in 0..self.parts(args[1]) {
            let value = self.v(args[1], part);
            let to = Mem::seat(scratch + self.codes.vector_bytes * part as i64);
            self.f.store(self.codes.store, to, value);
        }
        let bits = self.mask_bits(args[0]);
        let lane = self.f.int(Op::Tzcnt_r32_rm32, View::R32, (bits,));
        let value = if wide {
            self.f.def(Op::Mov_r64_rm64, View::R64, (Mem::seat(scratch).index(lane, 8),))
        } else {
            self.f.int(Op::Mov_r32_rm32, View::R32, (Mem::seat(scratch).index(lane, 4),))
        };
        self.put_scalar(result, value);
    }

    /// Ends the block with a branch to the block of a number, by comparisons in a tree.
    pub(super) fn switch(&mut self, scalar: Value, cases: &[(u64, Target)], default: &Target) {
        let mut list: Vec<(u64, Arguments)> = Vec::new();
        for (number, target) in cases {
            list.push((*number, (self.blocks[target.block.index()], self.arguments(target))));
        }
        let default = (self.blocks[default.block.index()], self.arguments(default));
        let scalar = self.s(scalar);
        self.switch_among(scalar, &list, &default);
    }

    fn switch_among(&mut self, scalar: VReg, cases: &[(u64, Arguments)], default: &Arguments) {
        fn to(target: &Arguments) -> (Block, &[VReg]) {
            (target.0, target.1.as_slice())
        }
        let compare = (Op::Cmp_rm64_imm32, View::R64);
        match cases {
            [] => self.f.jump(to(default)),
            [(number, target)] => {
                let operands = (scalar, *number as i32);
                let (yes, no) = (to(target), to(default));
                self.f.branch(compare, operands, Op::Je_rel32_64, yes, no);
            }
            _ => {
                let (below, rest) = cases.split_at(cases.len() / 2);
                let (yes, no) = (self.f.block(&[]), self.f.block(&[]));
                let operands = (scalar, rest[0].0 as i32);
                self.f.branch(compare, operands, Op::Jb_rel32_64, (yes, &[]), (no, &[]));
                self.f.begin(yes);
                self.switch_among(scalar, below, default);
                self.f.begin(no);
                self.switch_among(scalar, rest, default);
            }
        }
    }
}
