//! Loads and stores.
//!
//! Every byte that a lane accesses is checked before any is touched. If a check fails (another
//! region than last time, a fault), the interpreter executes the whole step, out of line.

mod adjacent;
mod atomics;
mod copies;
pub(super) mod layouts;
mod located;
pub(super) mod numbers;

pub(super) use atomics::{PlaceWord, Places};

use super::level::Codes;
use super::turns::place_of;
use super::{Mask, Selector, index_of};
use crate::counters::{COUNTED, REFUSED};
use crate::frame::{Frame, RegionCache};
use crate::vcode::{Local, Mem, Part, Pseudo, Source, StubArgument, VReg, View};
use iced_x86::Code as Op;
use ir::mods::Space;
use smallvec::SmallVec;
use vector::{Access, Extend, Home, Shape, Type, Value};

use View::R64;

/// The memory that an access is to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Room {
    /// Regions at 64-bit addresses; the cache's entry with this offset holds the one accessed last.
    Map(i64),
    /// A window of 32-bit addresses: the frame's offsets of its host address and its length.
    Window(i64, i64),
}

/// What the interpreter needs to execute an access, in registers.
pub(super) struct Fallback {
    pub(super) codes: &'static Codes,
    step: u32,
    /// Whether code has told the observer of the access.
    pub(super) noted: bool,
    /// Whether code has counted the access.
    counted: bool,
    /// Whether the access is not allowed if code does not let it through.
    refused: bool,
    stub: crate::asm::Label,
    pub(super) lanes: Mask,
    pub(super) operands: Vec<(Home, SmallVec<[VReg; 4]>)>,
}

impl Selector<'_> {
    pub(super) fn room(&mut self, access: &Access) -> Room {
        match access.space {
            Space::Shared => Room::Window(Frame::SHARED, Frame::SHARED_LEN),
            Space::Param => Room::Window(Frame::PARAMS, Frame::PARAMS_LEN),
            Space::Local => Room::Window(Frame::LOCAL, Frame::LOCAL_LEN),
            _ => {
                let entry = index_of(&mut self.region_steps, access.step.step);
                Room::Map(entry as i64 * RegionCache::SIZE)
            }
        }
    }

    pub(super) fn fallback(&mut self, access: &Access, args: &[Value]) -> Fallback {
        let values = &args[args.len() - access.step.operands.len()..];
        let places = access.step.operands.iter().zip(values);
        let operands = places.map(|(&place, &value)| (place, self.home_registers(place, value)));
        let mut operands: Vec<_> = operands.collect();
        if let Some(row) = access.row
            && self.source.ty(args[1]) == Type::Row64
        {
            operands.push((row, self.registers(args[1])));
        }
        let mut fallback = Fallback {
            codes: self.codes,
            step: access.step.step,
            noted: self.detailed || self.code.screened.is_some(),
            counted: self.counts_access(access.step.step),
            refused: self.is_own_memory(access.step.step),
            stub: self.outside.step,
            operands,
            lanes: self.mask(args[0]),
        };
        self.store_operands(&mut fallback, false, 4);
        fallback
    }

    /// Stores operands for the interpreter at once if they are more than an instruction may name.
    pub(super) fn limit_operands(&mut self, fallback: &mut Fallback) {
        self.store_operands(fallback, true, 8);
        self.store_operands(fallback, false, 2);
    }

    /// Stores rows, or the other operands, at once if they have more registers.
    fn store_operands(&mut self, fallback: &mut Fallback, rows: bool, most: usize) {
        let is_row = |home: Home| matches!(home.ty(), Type::Row32 | Type::Row64);
        let these = fallback.operands.iter().filter(|(home, _)| is_row(*home) == rows);
        if these.map(|(_, registers)| registers.len()).sum::<usize>() <= most {
            return;
        }
        for (home, registers) in fallback.operands.extract_if(.., |(home, _)| is_row(*home) == rows)
        {
            self.store_parts(home, &registers);
        }
    }

    /// Returns the results of a load that anything reads, by number.
    pub(super) fn used(&self, results: &[Value]) -> SmallVec<[usize; 4]> {
        (0..results.len()).filter(|&i| self.uses[results[i].index()] > 0).collect()
    }

    /// Takes the interpreter's result if it has executed the step: if the flag is not 0.
    pub(super) fn or_interpreted(
        &mut self,
        flag: VReg,
        place: Option<Home>,
        parts: Vec<VReg>,
    ) -> Vec<VReg> {
        let Some(place) = place else { return parts };
        let codes = self.codes;
        let mut p = self.f.pseudo();
        let results: Vec<VReg> = parts.iter().map(|&v| p.output_tied(View::V, v)).collect();
        let base = p.temp(R64);
        let (take, back) = (p.label(), p.label());
        p.op(Op::Test_rm32_r32, (flag.d(), flag.d()));
        p.jump(Op::Jne_rel32_64, take);
        p.bind(back);
        p.out_of_line();
        p.bind(take);
        take_row(&mut p, codes, place, base, &results);
        p.jump(Op::Jmp_rel32_64, back);
        p.end();
        results
    }

    /// Returns the registers that a value is stored from.
    fn home_registers(&mut self, place: Home, value: Value) -> SmallVec<[VReg; 4]> {
        match place.ty() {
            Type::Mask => SmallVec::from_slice(&[self.mask_bits(value)]),
            _ => self.registers(value),
        }
    }

    /// Returns the offset of a parameter if it is constant, aligned and in bounds.
    fn param(&self, access: &Access, address: Value) -> Option<i64> {
        access.param(self.known(address)?, self.code.param_bytes as u64)
    }

    pub(super) fn load(&mut self, access: &Access, args: &[Value], results: &[Value]) {
        match access.shape {
            Shape::One => self.load_one(access, args, results),
            Shape::Adjacent => self.load_adjacent(access, args, results[0]),
            _ => self.level(|l| l.load_any(access, args, results)),
        }
    }

    fn load_one(&mut self, access: &Access, args: &[Value], results: &[Value]) {
        let used = self.used(results);
        if let Some(param) = self.param(access, args[1]) {
            let room = Room::Window(Frame::PARAMS, Frame::PARAMS_LEN);
            if let Some(line) = self.line_count(access, args, room) {
                self.count_param(line, param);
            }
            for i in used {
                let base = self.f.def(Op::Mov_r64_rm64, R64, (Mem::frame(Frame::PARAMS),));
                let from = Mem::at(base, param + i as i64 * i64::from(access.word));
                let (op, view, then) = word_load(access);
                let mut value = self.f.def(op, view, (from,));
                value = match then {
                    Some((op, Some(bits))) => self.f.alu(op, View::R32, value, (bits,)),
                    Some((op, None)) => self.f.int(op, View::R32, (value,)),
                    None => value,
                };
                self.put_scalar(Some(results[i]), value);
            }
            return;
        }
        let room = self.room(access);
        let line = self.line_count(access, args, room);
        let fallback = self.fallback(access, args);
        let address = self.s(args[1]);
        let offset = self.offset(access);
        let homes = access.step.results.clone();
        let whole = matches!((access.word, access.extend), (4 | 8, Extend::Zero));
        let wide = usize::from(access.word == 8);
        let splats: Vec<bool> =
            results.iter().map(|r| whole && !self.not_splat[r.index()][wide]).collect();
        let mut p = self.f.pseudo();
        let codes = fallback.codes;
        let view = |i: usize| if splats[i] { View::V } else { R64 };
        let outputs: Vec<(usize, VReg)> = used.iter().map(|&i| (i, p.output(view(i)))).collect();
        let [at, room_at, limit] = [(); 3].map(|()| p.temp(R64));
        let [slow, back, partial, counted] = [(); 4].map(|()| p.label());
        add_offset(&mut p, at, address, offset, room);
        let position = line.map(|line| line.position(&mut p, at));
        check_align(&mut p, at, access.bytes(), slow);
        locate(&mut p, room, [at, room_at, limit], access.bytes() as i32, slow);
        if let (Some(line), Some(position)) = (line, position) {
            line.count(&mut p, at, [position, limit], [partial, counted]);
        }
        for &(i, to) in &outputs {
            let from = Mem::at(at, i as i64 * i64::from(access.word));
            if splats[i] {
                p.op(codes.splat[wide], (to, from));
                continue;
            }
            let (op, view, then) = word_load(access);
            p.op(op, (sized(to, view), from));
            match then {
                Some((op, Some(bits))) => {
                    p.op(op, (to.d(), bits));
                }
                Some((op, None)) => {
                    p.op(op, (to.d(), to.d()));
                }
                None => {}
            }
        }
        p.bind(back);
        p.out_of_line();
        if let Some(line) = line {
            p.bind(partial);
            line.by_pattern(&mut p);
            p.jump(Op::Jmp_rel32_64, counted);
        }
        p.bind(slow);
        if let Some(line) = line {
            line.by_pattern(&mut p);
        }
        let registers: Vec<VReg> = outputs.iter().map(|o| o.1).collect();
        call_step(&mut p, &fallback, [at, room_at], &registers);
        for &(i, to) in &outputs {
            let Some(place) = homes[i] else { continue };
            let word = if splats[i] { limit } else { to };
            lane_of_home(&mut p, place, word, [at, room_at, limit], &fallback);
            if splats[i] {
                (codes.splat_to)(&mut p, to, word, access.word == 8);
            }
        }
        p.jump(Op::Jmp_rel32_64, back);
        p.end();
        for (i, register) in outputs {
            if splats[i] {
                self.broadcasts.insert(results[i], register);
            } else {
                self.put_scalar(Some(results[i]), register);
            }
        }
    }

    /// Returns the access's offset, in a register if it does not fit an immediate.
    pub(super) fn offset(&mut self, access: &Access) -> Result<i32, VReg> {
        i32::try_from(access.offset).map_err(|_| self.f.constant(access.offset as u64))
    }

    pub(super) fn store(&mut self, access: &Access, args: &[Value]) {
        match access.shape {
            Shape::Adjacent => self.store_adjacent(access, args),
            _ => self.level(|l| l.store_any(access, args)),
        }
    }
}

/// The length of a room; `regions` holds the address of the cache of regions.
fn length(room: Room, regions: VReg) -> Mem {
    match room {
        Room::Map(entry) => Mem::at(regions, entry + RegionCache::LEN),
        Room::Window(_, len) => Mem::frame(len),
    }
}

/// The host address of a room.
fn bytes(room: Room, regions: VReg) -> Mem {
    match room {
        Room::Map(entry) => Mem::at(regions, entry + RegionCache::BYTES),
        Room::Window(bytes, _) => Mem::frame(bytes),
    }
}

fn add_offset(p: &mut Pseudo<'_>, at: VReg, address: VReg, offset: Result<i32, VReg>, room: Room) {
    match offset {
        Ok(0) => p.op(Op::Mov_r64_rm64, (at, address)),
        Ok(offset) => p.op(Op::Lea_r64_m, (at, Mem::at(address, offset.into()))),
        Err(offset) => {
            p.op(Op::Mov_r64_rm64, (at, address));
            p.op(Op::Add_r64_rm64, (at, offset))
        }
    };
    if let Room::Window(..) = room {
        p.op(Op::Mov_r32_rm32, (at.d(), at.d()));
    }
}

fn check_align(p: &mut Pseudo<'_>, at: VReg, align: u64, slow: Local) {
    if align > 1 {
        p.op(Op::Test_rm32_imm32, (at.d(), align as i32 - 1));
        p.jump(Op::Jne_rel32_64, slow);
    }
}

/// Turns a guest address into a host address if so many bytes from there are in bounds. Otherwise,
/// `at` is the offset in the room when it goes to `slow`.
fn locate(p: &mut Pseudo<'_>, room: Room, [at, regions, limit]: [VReg; 3], len: i32, slow: Local) {
    if let Room::Map(entry) = room {
        p.op(Op::Mov_r64_rm64, (regions, Mem::frame(Frame::REGIONS)));
        p.op(Op::Sub_r64_rm64, (at, Mem::at(regions, entry + RegionCache::BASE)));
    }
    p.op(Op::Mov_r64_rm64, (limit, length(room, regions)));
    p.op(Op::Sub_rm64_imm32, (limit, len));
    p.jump(Op::Jb_rel32_64, slow);
    p.op(Op::Cmp_r64_rm64, (at, limit));
    p.jump(Op::Ja_rel32_64, slow);
    p.op(Op::Add_r64_rm64, (at, bytes(room, regions)));
}

/// Has the interpreter execute the step, with its operands stored where it reads them.
pub(super) fn call_step(
    p: &mut Pseudo<'_>,
    fallback: &Fallback,
    free: [VReg; 2],
    results: &[VReg],
) {
    call_step_by(p, fallback, free, None, results);
}

/// The same; rows may be in memory if there is a free vector.
pub(super) fn call_step_by(
    p: &mut Pseudo<'_>,
    fallback: &Fallback,
    [a, b]: [VReg; 2],
    vector: Option<VReg>,
    results: &[VReg],
) {
    p.op(Op::Mov_r64_rm64, (a, Mem::frame(Frame::WARP)));
    for (place, registers) in &fallback.operands {
        let (pointer, offset) = place_of(*place);
        p.op(Op::Mov_r64_rm64, (b, Mem::at(a, pointer)));
        for (part, &register) in registers.iter().enumerate() {
            let to = Mem::at(b, offset + fallback.codes.vector_bytes * part as i64);
            match place {
                Home::Scalar(_) => p.op(Op::Mov_rm64_r64, (to, register)),
                Home::Pred(_) => p.op(Op::Mov_rm32_r32, (to, register.d())),
                _ => {
                    let mut from = register;
                    if let Some(vector) = vector {
                        p.op(fallback.codes.load, (vector, register.any()));
                        from = vector;
                    }
                    p.op(fallback.codes.store, (to, from))
                }
            };
        }
    }
    if fallback.counted {
        p.op(Op::Dec_rm64, (Mem::frame(Frame::MEMORY),));
    }
    (fallback.codes.bits_to)(p, &fallback.lanes, a, b);
    let refused = if fallback.refused { REFUSED } else { 0 };
    let step = fallback.step | if fallback.noted { COUNTED } else { 0 } | refused;
    let arguments = [StubArgument::Imm(step), StubArgument::Reg(a)];
    p.call(fallback.stub, &arguments, results);
}

/// Loads a row from where the interpreter has written a result.
pub(super) fn take_row(p: &mut Pseudo<'_>, codes: &Codes, place: Home, base: VReg, to: &[VReg]) {
    let (pointer, offset) = place_of(place);
    p.op(Op::Mov_r64_rm64, (base, Mem::frame(Frame::WARP)));
    p.op(Op::Mov_r64_rm64, (base, Mem::at(base, pointer)));
    for (part, &to) in to.iter().enumerate() {
        p.op(codes.load, (to, Mem::at(base, offset + codes.vector_bytes * part as i64)));
    }
}

/// Calls a function for code that is executed for each lane in turn: `left` holds the lanes, which
/// are used up, `lane` becomes the number of each, and may change.
pub(super) fn each_lane(
    p: &mut Pseudo<'_>,
    left: VReg,
    lane: VReg,
    body: impl FnOnce(&mut Pseudo<'_>),
) {
    let (again, done) = (p.label(), p.label());
    p.op(Op::Test_rm32_r32, (left.d(), left.d()));
    p.jump(Op::Je_rel32_64, done);
    p.bind(again);
    p.op(Op::Tzcnt_r32_rm32, (lane.d(), left.d()));
    body(p);
    p.op(Op::VEX_Blsr_r32_rm32, (left.d(), left.d()));
    p.jump(Op::Jne_rel32_64, again);
    p.bind(done);
}

/// Returns the instruction that loads a word of 8 or 16 bits as a 32-bit lane holds it.
pub(super) fn short_load(access: &Access) -> Op {
    match (access.word, access.extend) {
        (1, Extend::Zero) => Op::Movzx_r32_rm8,
        (1, _) => Op::Movsx_r32_rm8,
        (_, Extend::Zero) => Op::Movzx_r32_rm16,
        _ => Op::Movsx_r32_rm16,
    }
}

/// Stores a word of 8 or 16 bits.
pub(super) fn short_store<'p, 'f>(
    p: &'p mut Pseudo<'f>,
    access: &Access,
    to: Mem,
    word: VReg,
) -> &'p mut Pseudo<'f> {
    match access.word {
        1 => p.op(Op::Mov_rm8_r8, (to, word.b())),
        _ => p.op(Op::Mov_rm16_r16, (to, word.w())),
    }
}

/// Loads the value of the first lane that is on from where the interpreter has written a result.
fn lane_of_home(
    p: &mut Pseudo<'_>,
    place: Home,
    to: VReg,
    [lane, base, temp]: [VReg; 3],
    fallback: &Fallback,
) {
    let (pointer, offset) = place_of(place);
    (fallback.codes.bits_to)(p, &fallback.lanes, lane, temp);
    p.op(Op::Tzcnt_r32_rm32, (lane.d(), lane.d()));
    p.op(Op::Mov_r64_rm64, (base, Mem::frame(Frame::WARP)));
    p.op(Op::Mov_r64_rm64, (base, Mem::at(base, pointer)));
    let from = Mem::at(base, offset);
    match place {
        Home::Scalar(_) => p.op(Op::Mov_r64_rm64, (to, from)),
        Home::Wide(_) => p.op(Op::Mov_r64_rm64, (to, from.index(lane, 8))),
        Home::Narrow(_) => p.op(Op::Mov_r32_rm32, (to.d(), from.index(lane, 4))),
        Home::Pred(_) => {
            p.op(Op::Mov_r32_rm32, (to.d(), from));
            p.op(Op::VEX_Shrx_r32_rm32_r32, (to.d(), to.d(), lane.d()))
        }
    };
}

/// The instruction that loads a word as its register holds it, and one that follows.
fn word_load(access: &Access) -> (Op, View, Option<(Op, Option<i32>)>) {
    let (op, view) = match (access.word, access.extend) {
        (1, Extend::Zero) => (Op::Movzx_r32_rm8, View::R32),
        (2, Extend::Zero) => (Op::Movzx_r32_rm16, View::R32),
        (4, Extend::Zero) => (Op::Mov_r32_rm32, View::R32),
        (1, _) => (Op::Movsx_r64_rm8, R64),
        (2, _) => (Op::Movsx_r64_rm16, R64),
        (4, _) => (Op::Movsxd_r64_rm32, R64),
        _ => (Op::Mov_r64_rm64, R64),
    };
    let then = match access.extend {
        Extend::Sign(32) => Some((Op::Mov_r32_rm32, None)),
        Extend::Sign(bits) if bits < 32 => Some((Op::And_rm32_imm32, Some((1 << bits) - 1))),
        _ => None,
    };
    (op, view, then)
}

fn sized(register: VReg, view: View) -> Source {
    if view == View::R32 { register.d() } else { register.into() }
}
