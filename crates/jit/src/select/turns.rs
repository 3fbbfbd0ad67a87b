//! Ends of turns, exits, and calls of the interpreter.

use super::{Place, Selector};
use crate::frame::Frame;
use crate::vcode::{Function, Mem, Part, StubArgument, VReg, View};
use crate::warp_context::{BarrierState, NO_BARRIER, WarpContext};
use iced_x86::Code as Op;
use smallvec::{SmallVec, smallvec};
use vector::{Await, Home, Interpreted, Standing, Type, Value};

/// A point where a warp stands between turns.
#[derive(Debug)]
pub(super) struct Point {
    /// The step of the barrier; `None` at the beginning of a block.
    pub(super) step: Option<u32>,
    /// Values that the interpreter may ask for.
    pub(super) values: Vec<(Home, Kept)>,
}

/// Where a value is while its warp stands.
#[derive(Debug)]
pub(super) enum Kept {
    /// It is a constant in all lanes.
    Const(u64),
    /// In so many of the recorded registers.
    Parts(usize),
}

/// Returns the context's offset of the pointer to a kind of values, and the offset of a value of
/// the kind from there.
pub(super) fn place_of(home: Home) -> (i64, i64) {
    match home {
        Home::Narrow(i) => (WarpContext::NARROW, 128 * i64::from(i)),
        Home::Wide(i) => (WarpContext::WIDE, 256 * i64::from(i)),
        Home::Pred(i) => (WarpContext::PREDS, 4 * i64::from(i)),
        Home::Scalar(i) => (WarpContext::SCALARS, 8 * i64::from(i)),
    }
}

impl Selector<'_> {
    /// Returns whether the interpreter counts a step as an access, which code has counted too.
    pub(super) fn counts_access(&self, step: u32) -> bool {
        vector::translate::counts_access(&self.code.steps[step as usize].kind)
    }

    /// Returns whether an access is not allowed if code does not let it through.
    pub(super) fn is_own_memory(&self, step: u32) -> bool {
        vector::translate::is_own_memory(self.code, &self.code.steps[step as usize].kind)
    }

    /// Adds a point where a warp stands between turns; returns its number, and the registers of the
    /// values that the interpreter may ask for.
    pub(super) fn point(&mut self, standing: &Standing, values: &[Value]) -> (u32, Vec<VReg>) {
        let mut registers = Vec::new();
        let values = standing.homes.iter().zip(values);
        let values = values.map(|(&home, &value)| match self.known(value) {
            Some(bits) => (home, Kept::Const(bits)),
            None => {
                let parts = self.registers(value);
                registers.extend_from_slice(&parts);
                (home, Kept::Parts(parts.len()))
            }
        });
        let values = values.collect();
        self.points.push(Point { step: standing.step, values });
        (self.points.len() as u32 - 1, registers)
    }

    pub(super) fn back_edge(&mut self, standing: &Standing, args: &[Value]) {
        let (point, recorded) = self.point(standing, &args[1..]);
        let lanes = self.mask(args[0]);
        let bits_to = self.codes.bits_to;
        let stub = self.outside.turn_end;
        let mut p = self.f.pseudo();
        let (over, back) = (p.label(), p.label());
        let bits = p.temp(View::R64);
        let high = p.temp(View::R64);
        p.op(Op::Dec_rm32, (Mem::frame(Frame::BACK_EDGES_LEFT),));
        p.jump(Op::Jle_rel32_64, over);
        p.bind(back);
        p.out_of_line();
        p.bind(over);
        bits_to(&mut p, &lanes, bits, high);
        let block = StubArgument::Imm(standing.block);
        let arguments = [block, StubArgument::Reg(bits), StubArgument::Imm(point)];
        p.switch(stub, &arguments, point, &recorded);
        p.jump(Op::Jmp_rel32_64, back);
        p.end();
    }

    /// Ends lanes. If the warp has no others, and no barrier may have waited only for them, that
    /// is all; else the host sees to it.
    pub(super) fn exit(&mut self, lanes: Value) {
        let lanes = self.mask_bits(lanes);
        let stub = self.outside.exit;
        let mut p = self.f.pseudo();
        let (slow, back) = (p.label(), p.label());
        let context = p.temp(View::R64);
        let temp = p.temp(View::R64);
        p.op(Op::Mov_r64_rm64, (context, Mem::frame(Frame::WARP)));
        p.op(Op::Cmp_r32_rm32, (lanes.d(), Mem::at(context, WarpContext::LIVE)));
        p.jump(Op::Jne_rel32_64, slow);
        p.op(Op::Mov_r64_rm64, (temp, Mem::frame(Frame::BARRIER_STATE)));
        p.op(Op::Cmp_rm32_imm32, (Mem::at(temp, BarrierState::WAITING), 0));
        p.jump(Op::Jne_rel32_64, slow);
        p.op(Op::Mov_rm64_imm32, (Mem::at(context, WarpContext::START), 0));
        p.op(Op::Mov_rm64_imm32, (Mem::at(context, WarpContext::TOP), 0));
        p.op(Op::Popcnt_r32_rm32, (context.d(), lanes.d()));
        p.op(Op::Sub_rm32_r32, (Mem::at(temp, BarrierState::LIVE), context.d()));
        p.bind(back);
        p.out_of_line();
        p.bind(slow);
        p.call(stub, &[StubArgument::Imm(0), StubArgument::Reg(lanes)], &[]);
        p.jump(Op::Jmp_rel32_64, back);
        p.end();
    }

    /// Stores a value where the interpreter reads it.
    pub(super) fn store_home(&mut self, place: Home, value: Value) {
        let registers: SmallVec<[VReg; 4]> = match place {
            Home::Scalar(_) => smallvec![self.s(value)],
            Home::Pred(_) => smallvec![self.mask_bits(value)],
            Home::Narrow(_) | Home::Wide(_) => {
                (0..self.parts(value)).map(|part| self.v(value, part)).collect()
            }
        };
        self.store_parts(place, &registers);
    }

    /// Stores the registers of a value where the interpreter reads it; those of a mask as bits.
    pub(super) fn store_parts(&mut self, place: Home, registers: &[VReg]) {
        let (pointer, offset) = place_of(place);
        let context = self.f.def(Op::Mov_r64_rm64, View::R64, (Mem::frame(Frame::WARP),));
        let base = self.f.def(Op::Mov_r64_rm64, View::R64, (Mem::at(context, pointer),));
        for (part, &register) in registers.iter().enumerate() {
            let to = Mem::at(base, offset + self.codes.vector_bytes * part as i64);
            match place {
                Home::Scalar(_) => self.f.store(Op::Mov_rm64_r64, to, register),
                Home::Pred(_) => self.f.store(Op::Mov_rm32_r32, to, register.d()),
                Home::Narrow(_) | Home::Wide(_) => self.f.store(self.codes.store, to, register),
            }
        }
    }

    /// Loads a value from where the interpreter has written it.
    pub(super) fn load_home(&mut self, place: Home, result: Value) {
        let (pointer, offset) = place_of(place);
        let context = self.f.def(Op::Mov_r64_rm64, View::R64, (Mem::frame(Frame::WARP),));
        let base = self.f.def(Op::Mov_r64_rm64, View::R64, (Mem::at(context, pointer),));
        match place.ty() {
            Type::Scalar => {
                let value = self.f.def(Op::Mov_r64_rm64, View::R64, (Mem::at(base, offset),));
                self.put_scalar(Some(result), value);
            }
            Type::Mask => {
                let mask = self.level(|l| l.load_mask(Mem::at(base, offset)));
                self.put(Some(result), Place::Mask(mask));
            }
            ty => {
                let codes = self.codes;
                let load = |f: &mut Function, part: usize| {
                    let from = Mem::at(base, offset + codes.vector_bytes * part as i64);
                    f.v2(codes.load, from)
                };
                let parts = codes.views(ty).len();
                let list: Vec<VReg> = (0..parts).map(|part| load(&mut self.f, part)).collect();
                self.put_row(Some(result), list);
            }
        }
    }

    /// Has the warp wait if the step that the interpreter has executed says so, then loads the
    /// step's results.
    pub(super) fn wait_after_step(&mut self, wait: &Await, args: &[Value], results: &[Value]) {
        let (point, recorded) = self.point(&wait.standing, &args[1..]);
        let running = self.mask_bits(args[0]);
        let stub = self.outside.barrier_wait;
        let mut p = self.f.pseudo();
        let (parked, back) = (p.label(), p.label());
        p.op(Op::Cmp_rm32_imm32, (Mem::frame(Frame::PARKED), 0));
        p.jump(Op::Jne_rel32_64, parked);
        p.bind(back);
        p.out_of_line();
        p.bind(parked);
        let (block, name) = (StubArgument::Imm(wait.standing.block), StubArgument::Imm(NO_BARRIER));
        let arguments = [block, StubArgument::Reg(running), StubArgument::Imm(point), name];
        p.switch(stub, &arguments, point, &recorded);
        p.jump(Op::Jmp_rel32_64, back);
        p.end();
        for (place, &result) in wait.results.iter().zip(results) {
            if let Some(place) = *place
                && self.uses[result.index()] > 0
            {
                self.load_home(place, result);
            }
        }
    }

    /// Has the interpreter execute a step.
    pub(super) fn interpret(&mut self, step: &Interpreted, args: &[Value], results: &[Value]) {
        for (&place, &value) in step.operands.iter().zip(&args[1..]) {
            self.store_home(place, value);
        }
        if self.counts_access(step.step) {
            self.f.effect(Op::Dec_rm64, (Mem::frame(Frame::MEMORY),));
        }
        let lanes = self.mask_bits(args[0]);
        let stub = self.outside.step;
        let mut p = self.f.pseudo();
        p.call(stub, &[StubArgument::Imm(step.step), StubArgument::Reg(lanes)], &[]);
        p.end();
        for (place, &result) in step.results.iter().zip(results) {
            if let Some(place) = *place
                && self.uses[result.index()] > 0
            {
                self.load_home(place, result);
            }
        }
    }
}
