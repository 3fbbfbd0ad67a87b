//! Calls of the host, and values where the interpreter keeps them.

use super::values::Place;
use super::{Lowering, Val};
use crate::frame::{ENTRY_BLOCK, ENTRY_DEPTH, ENTRY_LANES, ENTRY_REJOIN, ENTRY_SIZE, Frame};
use crate::warp_context::{BarrierState, WarpContext};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{AbiParam, InstBuilder, Signature, types};
use vector::{Home, Interpreted, InterpretedEnd, StackOp, Type, Value};

/// Returns the context's offset of the pointer to a kind of values, and the offset of a value of
/// the kind from there.
fn place_of(home: Home) -> (i64, i64) {
    match home {
        Home::Narrow(i) => (WarpContext::NARROW, 128 * i64::from(i)),
        Home::Wide(i) => (WarpContext::WIDE, 256 * i64::from(i)),
        Home::Pred(i) => (WarpContext::PREDS, 4 * i64::from(i)),
        Home::Scalar(i) => (WarpContext::SCALARS, 8 * i64::from(i)),
    }
}

impl Lowering<'_> {
    /// Calls a function of the frame and of words; returns its result if it has one.
    fn call(&mut self, address: Val, words: &[Val], returns: bool) -> Option<Val> {
        let mut signature = Signature::new(self.b.func.signature.call_conv);
        signature.params.push(AbiParam::new(types::I64));
        signature.params.extend(words.iter().map(|_| AbiParam::new(types::I32)));
        if returns {
            signature.returns.push(AbiParam::new(types::I32));
        }
        let signature = self.b.import_signature(signature);
        let args: Vec<Val> = std::iter::once(self.frame).chain(words.iter().copied()).collect();
        let call = self.b.ins().call_indirect(signature, address, &args);
        self.b.inst_results(call).first().copied()
    }

    /// Calls a function whose address is known.
    pub(super) fn call_helper(&mut self, address: u64, words: &[Val]) {
        let address = self.iconst(address);
        self.call(address, words, false);
    }

    /// Calls a function of the frame that returns nothing.
    pub(super) fn call_field(&mut self, field: i64) {
        let address = self.field64(field);
        self.call(address, &[], false);
    }

    pub(super) fn call_release(&mut self, words: &[Val]) {
        let address = match self.code.screened {
            Some(_) => self.helpers.release_screened,
            None => self.helpers.release,
        };
        self.call_helper(address, words);
    }

    /// Calls the host by a field of the frame. Returns to it if it says so.
    fn call_host(&mut self, field: i64, words: [Val; 2]) {
        let address = self.field64(field);
        let Some(leaves) = self.call(address, &words, true) else { return };
        let on = self.b.create_block();
        let stop = self.stop;
        self.b.ins().brif(leaves, stop, [], on, []);
        self.b.seal_block(on);
        self.b.switch_to_block(on);
    }

    /// Has the interpreter execute a step for some lanes; its operands are where it reads them.
    pub(super) fn call_step(&mut self, step: u32, flags: u32, lanes: Val) {
        if vector::translate::counts_access(&self.code.steps[step as usize].kind) {
            let less = self.iconst(u64::MAX);
            self.add_to(less, self.frame, Frame::MEMORY);
        }
        let step = self.iconst32(step | flags);
        self.call_host(Frame::STEP, [step, lanes]);
    }

    /// Has the interpreter execute a step.
    pub(super) fn interpret(&mut self, step: &Interpreted, args: &[Value], results: &[Value]) {
        for (&home, &value) in step.operands.iter().zip(&args[1..]) {
            self.store_home(home, value);
        }
        let lanes = self.mask(args[0]);
        self.call_step(step.step, 0, lanes);
        self.take_results(&step.results, results);
    }

    /// Loads the results of a step that anything reads.
    pub(super) fn take_results(&mut self, homes: &[Option<Home>], results: &[Value]) {
        for (home, &result) in homes.iter().zip(results) {
            match *home {
                Some(home) if self.is_used(result) => self.load_home(home, Some(result)),
                _ => {}
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
        for (&home, &value) in end.operands.iter().zip(&args[1..]) {
            self.store_home(home, value);
        }
        let lanes = self.mask(args[0]);
        let block = self.iconst32(end.block);
        self.call_host(Frame::STACK_END, [block, lanes]);
        let top = self.load64(self.context, WarpContext::TOP);
        let left = self.b.ins().icmp_imm_s(IntCC::NotEqual, top, 0);
        self.put_scalar(results.first().copied(), left);
        let back = self.load32(self.frame, Frame::BACK_EDGE_TAKEN);
        self.put_scalar(results.get(1).copied(), back);
    }

    /// Ends lanes. If the warp has no others, and no barrier may have waited only for them, that
    /// is all; else the host sees to it.
    pub(super) fn exit(&mut self, lanes: Value) {
        let lanes = self.mask(lanes);
        let live = self.load32(self.context, WarpContext::LIVE);
        let state = self.field64(Frame::BARRIER_STATE);
        let waiting = self.load32(state, BarrierState::WAITING);
        let others = self.b.ins().bxor(lanes, live);
        let slow = self.b.ins().bor(others, waiting);
        let [slow, quick] = self.branch(slow);
        let on = self.b.create_block();
        self.b.switch_to_block(slow);
        self.b.set_cold_block(slow);
        let none = self.iconst32(0);
        self.call_host(Frame::EXIT, [none, lanes]);
        self.b.ins().jump(on, []);
        self.b.switch_to_block(quick);
        let none = self.iconst(0);
        self.put_at(none, self.context, WarpContext::START);
        self.put_at(none, self.context, WarpContext::TOP);
        let count = self.b.ins().popcnt(lanes);
        let all = self.load32(state, BarrierState::LIVE);
        let rest = self.b.ins().isub(all, count);
        self.put_at(rest, state, BarrierState::LIVE);
        self.join(on);
    }

    /// Returns the address of the values of a kind, and the offset of one of them.
    pub(super) fn home(&mut self, home: Home) -> (Val, i64) {
        let (pointer, offset) = place_of(home);
        (self.load64(self.context, pointer), offset)
    }

    /// Stores a value where the interpreter reads it.
    pub(super) fn store_home(&mut self, home: Home, value: Value) {
        let (base, offset) = self.home(home);
        match home {
            Home::Scalar(_) => {
                let value = self.s(value);
                self.put_at(value, base, offset);
            }
            Home::Pred(_) => {
                let bits = self.mask(value);
                self.put_at(bits, base, offset);
            }
            Home::Narrow(_) | Home::Wide(_) => {
                let list = self.row(value);
                self.store_vectors(&list, base, offset);
            }
        }
    }

    /// Loads a value from where the interpreter has written it.
    pub(super) fn load_home(&mut self, home: Home, result: Option<Value>) {
        let (base, offset) = self.home(home);
        match home.ty() {
            Type::Scalar => {
                let value = self.load64(base, offset);
                self.put_scalar(result, value);
            }
            Type::Mask => {
                let bits = self.load32(base, offset);
                self.put_mask(result, bits);
            }
            ty => {
                let list = self.load_vectors(base, offset, ty == Type::Row64);
                self.put_row(result, &list);
            }
        }
    }

    /// The same for a value that has been declared.
    pub(super) fn redefine_by_home(&mut self, home: Home, place: &Place) {
        let Place::Row(list) = place else { return };
        let (base, offset) = self.home(home);
        let values = self.load_vectors(base, offset, home.ty() == Type::Row64);
        for (&part, &value) in list.iter().zip(&values) {
            self.define(part, value);
        }
    }

    /// An operation on the warp's stack.
    pub(super) fn stack(&mut self, op: StackOp, args: &[Value], results: &[Value]) {
        let top = self.load64(self.context, WarpContext::TOP);
        match op {
            StackOp::Top => {
                let fields = [ENTRY_BLOCK, ENTRY_LANES, ENTRY_REJOIN, ENTRY_DEPTH];
                for (&result, field) in results.iter().zip(fields) {
                    let value = self.load32(top, field);
                    self.put_scalar(Some(result), value);
                }
            }
            StackOp::Pop => self.move_top(top, -ENTRY_SIZE),
            StackOp::Wait(block) => {
                let block = self.iconst32(block);
                self.put_at(block, top, ENTRY_BLOCK);
            }
            StackOp::Push(block) => {
                let block = self.iconst32(block);
                self.put_at(block, top, ENTRY_SIZE + ENTRY_BLOCK);
                for (&arg, field) in args.iter().zip([ENTRY_LANES, ENTRY_REJOIN, ENTRY_DEPTH]) {
                    let value = self.s32(arg);
                    self.put_at(value, top, ENTRY_SIZE + field);
                }
                self.move_top(top, ENTRY_SIZE);
            }
            StackOp::Height => {
                let below = WarpContext::ENTRIES - ENTRY_SIZE;
                let bottom = self.b.ins().iadd_imm_s(self.context, below);
                let bytes = self.b.ins().isub(top, bottom);
                let shift = i64::from(ENTRY_SIZE.trailing_zeros());
                let height = self.b.ins().ushr_imm_u(bytes, shift);
                self.put_scalar(results.first().copied(), height);
            }
        }
    }

    fn move_top(&mut self, top: Val, by: i64) {
        let top = self.b.ins().iadd_imm_s(top, by);
        self.put_at(top, self.context, WarpContext::TOP);
    }
}
