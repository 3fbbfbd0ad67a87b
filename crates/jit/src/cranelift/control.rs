//! Blocks and their ends.

use super::values::parts;
use super::{FRESH, Lowering, STOPPED, Val};
use crate::warp_context::WarpContext;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, BlockArg, InstBuilder, JumpTableData, types};
use vector::{Condition, Function, Target, Terminator, Type, Value};

/// A block with its arguments.
type Arguments = (ir::Block, Vec<BlockArg>);

impl Lowering<'_> {
    /// Makes the blocks, with their parameters.
    pub(super) fn make_blocks(&mut self, order: &[vector::Block]) {
        let source = self.source;
        for (block, data) in source.blocks() {
            let new = self.b.create_block();
            self.blocks.push(new);
            if self.is_cold(data) {
                self.b.set_cold_block(new);
            }
            for &param in data.params.iter().filter(|_| block != Function::ENTRY) {
                self.append_params(new, source.ty(param));
            }
        }
        for &block in order {
            for target in source.block(block).end.targets() {
                self.edges_left[target.block.index()] += 1;
            }
        }
    }

    fn append_params(&mut self, block: ir::Block, ty: Type) {
        let (ty, count) = match ty {
            Type::Scalar => (types::I64, 1),
            Type::Mask => (types::I32, 1),
            Type::Row32 => (types::I32X4, parts(false)),
            Type::Row64 => (types::I64X2, parts(true)),
        };
        for _ in 0..count {
            self.b.append_block_param(block, ty);
        }
    }

    /// Returns whether a block is left to the interpreter for the most part.
    fn is_cold(&self, data: &vector::BlockData) -> bool {
        let steps = data.insts.iter().filter_map(|&i| match &self.source.inst(i).op {
            vector::Op::Interpret(step) => Some(step.step as usize),
            _ => None,
        });
        steps.into_iter().any(|i| vector::translate::has_own_form(&self.code.steps[i].kind))
    }

    /// Begins with the first block, or where the warp continues.
    pub(super) fn begin(&mut self, dispatch: ir::Block) {
        let live = self.load32(self.context, WarpContext::LIVE);
        let launched = self.source.block(Function::ENTRY).params[0];
        self.put_mask(Some(launched), live);
        let start = self.load64(self.context, WarpContext::START);
        let fresh = self.b.ins().icmp_imm_s(IntCC::Equal, start, FRESH as i64);
        let entry = self.blocks[0];
        self.b.ins().brif(fresh, entry, [], dispatch, []);
    }

    /// Switches to a block, whose parameters become values.
    pub(super) fn enter_block(&mut self, block: vector::Block) {
        let to = self.blocks[block.index()];
        self.b.switch_to_block(to);
        if self.edges_left[block.index()] == 0 {
            self.b.seal_block(to);
        }
        let given = self.b.block_params(to).to_vec();
        let mut given = given.as_slice();
        let source = self.source;
        for &param in source.block(block).params.iter().filter(|_| block != Function::ENTRY) {
            let ty = source.ty(param);
            let count = match ty {
                Type::Scalar | Type::Mask => 1,
                _ => parts(ty == Type::Row64),
            };
            let (these, rest) = given.split_at(count);
            given = rest;
            match ty {
                Type::Scalar => self.put_scalar(Some(param), these[0]),
                Type::Mask => self.put_mask(Some(param), these[0]),
                _ => self.put_row(Some(param), these),
            }
        }
    }

    /// Seals the blocks behind a block that has been translated if it was the last before them.
    pub(super) fn seal_targets(&mut self, end: &Terminator) {
        for target in end.targets() {
            let left = &mut self.edges_left[target.block.index()];
            *left -= 1;
            // Those that are still to come are sealed when they begin.
            if *left == 0 && self.is_begun[target.block.index()] {
                self.b.seal_block(self.blocks[target.block.index()]);
            }
        }
    }

    /// Translates the end of a block.
    pub(super) fn end(&mut self, end: &Terminator) {
        match end {
            Terminator::Jump(to) => {
                let (block, args) = self.arguments(to);
                self.b.ins().jump(block, &args);
            }
            Terminator::Branch(condition, yes, no) => {
                let holds = match *condition {
                    Condition::Any(mask) => self.mask(mask),
                    Condition::Bit(scalar) => {
                        let bit = self.s32(scalar);
                        self.b.ins().band_imm_s(bit, 1)
                    }
                };
                let (yes, no) = (self.arguments(yes), self.arguments(no));
                self.b.ins().brif(holds, yes.0, &yes.1, no.0, &no.1);
            }
            Terminator::Switch(scalar, cases, default) => {
                let scalar = self.s(*scalar);
                let cases: Vec<(u64, Arguments)> =
                    cases.iter().map(|(n, to)| (*n, self.arguments(to))).collect();
                let default = self.arguments(default);
                self.switch_among(scalar, &cases, &default);
            }
            Terminator::End => self.leave(0),
        }
    }

    /// Returns a block with its arguments.
    fn arguments(&mut self, target: &Target) -> Arguments {
        let mut list = Vec::new();
        for &value in &target.args {
            self.push_parts(value, &mut list);
        }
        (self.blocks[target.block.index()], list.into_iter().map(BlockArg::Value).collect())
    }

    /// Adds what a value consists of to a list.
    pub(super) fn push_parts(&mut self, value: Value, list: &mut Vec<Val>) {
        match self.source.ty(value) {
            Type::Scalar => list.push(self.s(value)),
            Type::Mask => list.push(self.mask(value)),
            _ => list.extend(self.row(value)),
        }
    }

    /// Branches to the block of a number, by comparisons in a tree.
    fn switch_among(&mut self, scalar: Val, cases: &[(u64, Arguments)], default: &Arguments) {
        match cases {
            [] => {
                self.b.ins().jump(default.0, &default.1);
            }
            [(number, to)] => {
                let same = self.b.ins().icmp_imm_s(IntCC::Equal, scalar, *number as i64);
                self.b.ins().brif(same, to.0, &to.1, default.0, &default.1);
            }
            _ => {
                let (below, rest) = cases.split_at(cases.len() / 2);
                let least = rest[0].0 as i64;
                let less = self.b.ins().icmp_imm_s(IntCC::UnsignedLessThan, scalar, least);
                let [yes, no] = self.branch(less);
                self.b.switch_to_block(yes);
                self.switch_among(scalar, below, default);
                self.b.switch_to_block(no);
                self.switch_among(scalar, rest, default);
            }
        }
    }

    /// Branches to two new blocks.
    pub(super) fn branch(&mut self, holds: Val) -> [ir::Block; 2] {
        let [yes, no] = [(); 2].map(|()| self.b.create_block());
        self.b.ins().brif(holds, yes, [], no, []);
        self.b.seal_block(yes);
        self.b.seal_block(no);
        [yes, no]
    }

    /// Goes on in a new block, from here and from others that jump there.
    pub(super) fn join(&mut self, block: ir::Block) {
        self.b.ins().jump(block, []);
        self.b.seal_block(block);
        self.b.switch_to_block(block);
    }

    /// Returns to the host's loop.
    pub(super) fn leave(&mut self, what: u32) {
        let what = self.iconst32(what);
        self.b.ins().return_(&[what]);
    }

    /// Adds what is left: the way to where warps continue, and the return to the host.
    pub(super) fn finish(&mut self, dispatch: ir::Block) {
        self.b.switch_to_block(dispatch);
        if self.resumes.is_empty() {
            self.b.ins().jump(self.stop, []);
        } else {
            let at = self.load32(self.context, WarpContext::AT);
            let pool = &mut self.b.func.dfg.value_lists;
            let default = ir::BlockCall::new(self.stop, std::iter::empty(), pool);
            let mut table = Vec::new();
            for &block in &self.resumes {
                table.push(ir::BlockCall::new(block, std::iter::empty(), pool));
            }
            let table = self.b.create_jump_table(JumpTableData::new(default, &table));
            self.b.ins().br_table(at, table);
        }
        self.b.set_cold_block(self.stop);
        self.b.switch_to_block(self.stop);
        self.leave(STOPPED);
        self.b.seal_all_blocks();
    }
}
