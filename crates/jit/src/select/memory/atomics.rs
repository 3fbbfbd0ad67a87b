//! Atomic operations, lane by lane in increasing order.
//!
//! Only one host thread accesses these words: where several threads run a launch, code gets no
//! region for an atomic operation, and the interpreter executes those on global memory.
//!
//! Checked places and operands that differ by lane are put into the frame's room for lanes, from
//! which a loop takes those of each lane that is on; sums without results are unrolled for warps
//! whose lanes are all on.

use super::{add_offset, call_step, check_align, each_lane, locate};
use crate::frame::Frame;
use crate::select::Selector;
use crate::select::level::{Codes, FloatCodes};
use crate::vcode::{Mem, Part, Pseudo, Source, VReg, View};
use iced_x86::Code as Op;
use ir::mods::AtomOp;
use vector::{Access, Atomic, Value};

use View::R64;

/// How the places of lanes are kept in the frame's room for lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::select) enum PlaceWord {
    /// As words of 64 bits.
    Long,
    /// As words of 32 bits, to be widened with their signs or without.
    Short { signed: bool },
}

/// Where checked words of lanes are.
pub(in crate::select) struct Places {
    /// What the places count from, and their unit in bytes.
    pub(in crate::select) from: VReg,
    pub(in crate::select) scale: u8,
    pub(in crate::select) word: PlaceWord,
    /// The part of the frame's room for lanes.
    pub(in crate::select) part: i64,
    /// The lanes that code accesses: none if the interpreter has executed the step.
    pub(in crate::select) lanes: VReg,
    /// Not 0 if it has.
    pub(in crate::select) interpreted: VReg,
}

impl Places {
    /// Puts the place of a lane into a register.
    pub(super) fn take(&self, p: &mut Pseudo<'_>, to: VReg, lane: impl Fn(Mem, u8) -> Mem) {
        let room = Mem::frame(Frame::LANE_ROOM + 256 * self.part);
        match self.word {
            PlaceWord::Long => p.op(Op::Mov_r64_rm64, (to, lane(room, 8))),
            PlaceWord::Short { signed: true } => p.op(Op::Movsxd_r64_rm32, (to, lane(room, 4))),
            PlaceWord::Short { .. } => p.op(Op::Mov_r32_rm32, (to.d(), lane(room, 4))),
        };
    }
}

/// Where the words of a loop over lanes are.
enum Words {
    /// Each lane's at its place.
    ByLane(Places),
    /// All at one address.
    One { at: VReg, lanes: VReg, interpreted: VReg },
}

/// An operand.
#[derive(Clone, Copy)]
enum Operand {
    /// The same in all lanes.
    Same(VReg),
    /// In a part of the frame's room for lanes.
    ByLane(i64),
}

/// Instructions on words of 32 or of 64 bits.
struct WordCodes {
    wide: bool,
    load: Op,
    store: Op,
    mov: Op,
    add: Op,
    add_to: Op,
    xor_to: Op,
    and: Op,
    or: Op,
    xor: Op,
    cmp: Op,
}

const WORD: WordCodes = WordCodes {
    wide: false,
    load: Op::Mov_r32_rm32,
    store: Op::Mov_rm32_r32,
    mov: Op::Mov_r32_rm32,
    add: Op::Add_r32_rm32,
    add_to: Op::Add_rm32_r32,
    xor_to: Op::Xor_rm32_r32,
    and: Op::And_r32_rm32,
    or: Op::Or_r32_rm32,
    xor: Op::Xor_r32_rm32,
    cmp: Op::Cmp_r32_rm32,
};

const LONG: WordCodes = WordCodes {
    wide: true,
    load: Op::Mov_r64_rm64,
    store: Op::Mov_rm64_r64,
    mov: Op::Mov_r64_rm64,
    add: Op::Add_r64_rm64,
    add_to: Op::Add_rm64_r64,
    xor_to: Op::Xor_rm64_r64,
    and: Op::And_r64_rm64,
    or: Op::Or_r64_rm64,
    xor: Op::Xor_r64_rm64,
    cmp: Op::Cmp_r64_rm64,
};

impl WordCodes {
    fn of(atomic: &Atomic) -> &'static Self {
        if atomic.access.word == 8 { &LONG } else { &WORD }
    }

    fn bytes(&self) -> u8 {
        if self.wide { 8 } else { 4 }
    }

    /// Returns all of a general register, or its low word.
    fn part(&self, register: VReg) -> Source {
        if self.wide { register.into() } else { register.d() }
    }

    /// Returns the word of a lane in a part of the frame's room for lanes.
    fn room(&self, part: i64, lane: impl Fn(Mem, u8) -> Mem) -> Mem {
        lane(Mem::frame(Frame::LANE_ROOM + 256 * part), self.bytes())
    }

    fn float<'c>(&self, codes: &'c Codes) -> &'c FloatCodes {
        if self.wide { &codes.double } else { &codes.single }
    }

    fn minimum(&self, op: AtomOp, signed: bool) -> Op {
        let pair = match (op, signed) {
            (AtomOp::Min, true) => [Op::Cmovl_r32_rm32, Op::Cmovl_r64_rm64],
            (AtomOp::Min, false) => [Op::Cmovb_r32_rm32, Op::Cmovb_r64_rm64],
            (_, true) => [Op::Cmovg_r32_rm32, Op::Cmovg_r64_rm64],
            (_, false) => [Op::Cmova_r32_rm32, Op::Cmova_r64_rm64],
        };
        pair[usize::from(self.wide)]
    }
}

/// The part of the frame's room for lanes where results are.
const RESULTS: i64 = 3;

/// Registers of a loop over lanes.
#[derive(Clone, Copy)]
struct Loop {
    /// Lanes that are left, and the number of a lane.
    left: VReg,
    lane: VReg,
    place: VReg,
    /// What was in a word, and what it becomes.
    old: VReg,
    new: VReg,
    /// Not 0 if a word has changed.
    changed: VReg,
}

impl Selector<'_> {
    /// Selects an atomic operation.
    pub(in crate::select) fn atomic(&mut self, atomic: &Atomic, args: &[Value], results: &[Value]) {
        let access = &atomic.access;
        let words = match access.shape {
            vector::Shape::One => self.one_word(access, args),
            _ => {
                let fallback = self.fallback(access, args);
                match self.level(|l| l.places(access, args, fallback, 0)) {
                    Some(places) => Words::ByLane(places),
                    None => return,
                }
            }
        };
        let first = 1 + access.shape.operands();
        let operands: Vec<Operand> = args[first..first + atomic.operands()]
            .iter()
            .enumerate()
            .map(|(i, &value)| self.atomic_operand(1 + i as i64, value))
            .collect();
        let used = results.iter().any(|r| self.uses[r.index()] > 0);
        let interpreted = match &words {
            Words::ByLane(places) => places.interpreted,
            Words::One { interpreted, .. } => *interpreted,
        };
        self.each_atomic(atomic, &words, &operands, used);
        if let (true, &[result]) = (used, results) {
            let parts = (0..self.parts(result) as i64)
                .map(|part| {
                    let at = Frame::LANE_ROOM + 256 * RESULTS + self.codes.vector_bytes * part;
                    self.level(|l| l.load_written(Mem::frame(at)))
                })
                .collect();
            let parts = self.or_interpreted(interpreted, access.step.results[0], parts);
            self.put_row(Some(result), parts);
        }
    }

    /// Checks the one word that all lanes access.
    fn one_word(&mut self, access: &Access, args: &[Value]) -> Words {
        self.note_access(access, args);
        let room = self.room(access);
        let fallback = self.fallback(access, args);
        let address = self.s(args[1]);
        let offset = self.offset(access);
        let bits = self.mask_bits(args[0]);
        let mut p = self.f.pseudo();
        let [at, lanes, interpreted] = [(); 3].map(|()| p.output(R64));
        let [room_at, limit] = [(); 2].map(|()| p.temp(R64));
        let (slow, back) = (p.label(), p.label());
        p.op(Op::Mov_r32_rm32, (lanes.d(), bits.d()));
        p.op(Op::Xor_r32_rm32, (interpreted.d(), interpreted.d()));
        add_offset(&mut p, at, address, offset, room);
        check_align(&mut p, at, access.bytes(), slow);
        locate(&mut p, room, [at, room_at, limit], access.bytes() as i32, slow);
        p.bind(back);
        p.out_of_line();
        p.bind(slow);
        call_step(&mut p, &fallback, [room_at, limit], &[at, lanes, interpreted]);
        p.op(Op::Xor_r32_rm32, (lanes.d(), lanes.d()));
        p.op(Op::Mov_r32_imm32, (interpreted.d(), 1));
        p.jump(Op::Jmp_rel32_64, back);
        p.end();
        Words::One { at, lanes, interpreted }
    }

    /// Puts an operand where the loop reads it.
    fn atomic_operand(&mut self, part: i64, value: Value) -> Operand {
        if let Some(bits) = self.known(value) {
            return Operand::Same(self.f.constant(bits));
        }
        if self.is_uniform(value) {
            let lanes = self.v(value, 0);
            let wide = self.is_wide(value);
            let codes = if wide { &self.codes.double } else { &self.codes.single };
            let view = if wide { R64 } else { View::R32 };
            return Operand::Same(self.f.def(codes.out_of, view, (lanes.x(),)));
        }
        for i in 0..self.parts(value) {
            let row = self.v(value, i);
            let at = Frame::LANE_ROOM + 256 * part + self.codes.vector_bytes * i as i64;
            self.f.store(self.codes.store, Mem::frame(at), row);
        }
        Operand::ByLane(part)
    }

    /// Executes the operation for each lane.
    fn each_atomic(&mut self, atomic: &Atomic, words: &Words, operands: &[Operand], used: bool) {
        let this =
            Steps { atomic, words: WordCodes::of(atomic), codes: self.codes, operands, used };
        let mut p = self.f.pseudo();
        let [left, lane, place, old, new, changed] = [(); 6].map(|()| p.temp(R64));
        let registers = Loop { left, lane, place, old, new, changed };
        let lanes = match words {
            Words::ByLane(places) => places.lanes,
            Words::One { lanes, .. } => *lanes,
        };
        p.op(Op::Mov_r32_rm32, (left.d(), lanes.d()));
        p.op(Op::Xor_r32_rm32, (changed.d(), changed.d()));
        match words {
            Words::ByLane(places) if this.is_sum() => this.sums(&mut p, places, &registers),
            Words::ByLane(places) => this.by_lane(&mut p, places, &registers),
            Words::One { at, .. } => this.on_one(&mut p, *at, &registers),
        }
        p.end();
    }

    /// Selects what atomic operations of all lanes on one word amount to.
    pub(in crate::select) fn atomic_total(&mut self, atomic: &Atomic, args: &[Value]) {
        let access = &atomic.access;
        self.note_access(access, args);
        let room = self.room(access);
        let fallback = self.fallback(access, args);
        let [address, by, changes] = [1, 2, 3].map(|i| self.s(args[i]));
        let offset = self.offset(access);
        let w = WordCodes::of(atomic);
        let mut p = self.f.pseudo();
        let [at, room_at, limit] = [(); 3].map(|()| p.temp(R64));
        let (slow, back) = (p.label(), p.label());
        add_offset(&mut p, at, address, offset, room);
        check_align(&mut p, at, access.bytes(), slow);
        locate(&mut p, room, [at, room_at, limit], access.bytes() as i32, slow);
        let word = Mem::at(at, 0);
        let changed = match atomic.op {
            AtomOp::Add | AtomOp::Xor => {
                let op = if atomic.op == AtomOp::Add { w.add_to } else { w.xor_to };
                p.op(op, (word, w.part(by)));
                changes
            }
            _ => {
                let (old, new) = (room_at, limit);
                p.op(w.load, (w.part(old), word));
                p.op(w.mov, (w.part(new), w.part(by)));
                integer(&mut p, atomic, w, old, new);
                p.op(w.store, (word, w.part(new)));
                p.op(w.xor, (w.part(old), w.part(new)));
                old
            }
        };
        p.op(Op::Or_rm64_r64, (Mem::frame(Frame::PROGRESS), changed));
        p.bind(back);
        p.out_of_line();
        p.bind(slow);
        call_step(&mut p, &fallback, [room_at, limit], &[]);
        p.jump(Op::Jmp_rel32_64, back);
        p.end();
    }
}

/// Computes a function of two integers: `new` is the operand, and becomes the result.
fn integer(p: &mut Pseudo<'_>, atomic: &Atomic, w: &WordCodes, old: VReg, new: VReg) {
    let op = match atomic.op {
        AtomOp::Add => w.add,
        AtomOp::And => w.and,
        AtomOp::Or => w.or,
        AtomOp::Xor => w.xor,
        AtomOp::Min | AtomOp::Max => {
            p.op(w.cmp, (w.part(old), w.part(new)));
            w.minimum(atomic.op, atomic.ty.is_signed())
        }
        // The operand remains.
        _ => return,
    };
    p.op(op, (w.part(new), w.part(old)));
}

/// An atomic operation in a loop over lanes.
struct Steps<'a> {
    atomic: &'a Atomic,
    words: &'static WordCodes,
    codes: &'static Codes,
    operands: &'a [Operand],
    /// Whether anything reads the result.
    used: bool,
}

impl Steps<'_> {
    /// Returns whether the operation adds integers, and nothing reads what was there before.
    fn is_sum(&self) -> bool {
        self.atomic.op == AtomOp::Add && !self.atomic.ty.is_float() && !self.used
    }

    /// Puts an operand of a lane into a register.
    fn operand(&self, p: &mut Pseudo<'_>, i: usize, to: VReg, lane: impl Fn(Mem, u8) -> Mem) {
        let w = self.words;
        match self.operands[i] {
            Operand::Same(value) => p.op(w.mov, (w.part(to), w.part(value))),
            Operand::ByLane(part) => p.op(w.load, (w.part(to), w.room(part, lane))),
        };
    }

    /// Adds integers: memory has changed if one of them is not zero.
    fn sums(&self, p: &mut Pseudo<'_>, places: &Places, r: &Loop) {
        let w = self.words;
        let (some, done) = (p.label(), p.label());
        let add = |p: &mut Pseudo<'_>, lane: &dyn Fn(Mem, u8) -> Mem| {
            places.take(p, r.place, lane);
            let word = Mem::at(places.from, 0).index(r.place, places.scale);
            match self.operands[0] {
                Operand::Same(value) => {
                    p.op(w.add_to, (word, w.part(value)));
                }
                Operand::ByLane(_) => {
                    self.operand(p, 0, r.new, lane);
                    p.op(w.add_to, (word, w.part(r.new)));
                    p.op(Op::Or_r64_rm64, (r.changed, r.new));
                }
            }
        };
        let note = |p: &mut Pseudo<'_>| {
            let changed = match self.operands[0] {
                Operand::Same(value) => value,
                Operand::ByLane(_) => r.changed,
            };
            p.op(Op::Or_rm64_r64, (Mem::frame(Frame::PROGRESS), changed));
        };
        p.op(Op::Cmp_rm32_imm8, (r.left.d(), -1));
        p.jump(Op::Jne_rel32_64, some);
        for lane in 0..32 {
            add(p, &|room, bytes| room.offset(lane * i64::from(bytes)));
        }
        note(p);
        p.bind(done);
        p.out_of_line();
        p.bind(some);
        p.op(Op::Test_rm32_r32, (r.left.d(), r.left.d()));
        p.jump(Op::Je_rel32_64, done);
        each_lane(p, r.left, r.lane, |p| {
            add(p, &|room, bytes| room.index(r.lane, bytes));
        });
        note(p);
        p.jump(Op::Jmp_rel32_64, done);
    }

    /// Loops over lanes whose words are at places of their own.
    fn by_lane(&self, p: &mut Pseudo<'_>, places: &Places, r: &Loop) {
        let w = self.words;
        let floats = self.floats(p);
        each_lane(p, r.left, r.lane, |p| {
            let lane = |room: Mem, bytes: u8| room.index(r.lane, bytes);
            places.take(p, r.place, lane);
            let word = Mem::at(places.from, 0).index(r.place, places.scale);
            p.op(w.load, (w.part(r.old), word));
            self.result(p, r);
            if let Some([sum, _]) = floats {
                p.op(w.float(self.codes).into, (sum.x(), w.part(r.old)));
            }
            self.combine(p, r, floats);
            p.op(w.store, (word, w.part(r.new)));
            p.op(w.xor, (w.part(r.old), w.part(r.new)));
            p.op(Op::Or_r64_rm64, (r.changed, r.old));
        });
        p.op(Op::Or_rm64_r64, (Mem::frame(Frame::PROGRESS), r.changed));
    }

    /// Loops over lanes that all access the word at an address.
    fn on_one(&self, p: &mut Pseudo<'_>, at: VReg, r: &Loop) {
        let w = self.words;
        let floats = self.floats(p);
        let (again, done) = (p.label(), p.label());
        let word = Mem::at(at, 0);
        p.op(Op::Test_rm32_r32, (r.left.d(), r.left.d()));
        p.jump(Op::Je_rel32_64, done);
        p.op(w.load, (w.part(r.old), word));
        if let Some([sum, _]) = floats {
            p.op(w.float(self.codes).into, (sum.x(), word));
        }
        p.bind(again);
        p.op(Op::Tzcnt_r32_rm32, (r.lane.d(), r.left.d()));
        self.result(p, r);
        self.combine(p, r, floats);
        p.op(w.xor, (w.part(r.old), w.part(r.new)));
        p.op(Op::Or_r64_rm64, (r.changed, r.old));
        p.op(w.mov, (w.part(r.old), w.part(r.new)));
        p.op(Op::VEX_Blsr_r32_rm32, (r.left.d(), r.left.d()));
        p.jump(Op::Jne_rel32_64, again);
        p.op(w.store, (word, w.part(r.old)));
        p.op(Op::Or_rm64_r64, (Mem::frame(Frame::PROGRESS), r.changed));
        p.bind(done);
    }

    /// Stores what was in a lane's word if anything reads it.
    fn result(&self, p: &mut Pseudo<'_>, r: &Loop) {
        if self.used {
            let w = self.words;
            let to = w.room(RESULTS, |room, bytes| room.index(r.lane, bytes));
            p.op(w.store, (to, w.part(r.old)));
        }
    }

    /// Registers of floats that a sum needs: the old value, which becomes the sum, and the operand.
    fn floats(&self, p: &mut Pseudo<'_>) -> Option<[VReg; 2]> {
        self.atomic.ty.is_float().then(|| [(); 2].map(|()| p.temp(View::V)))
    }

    /// Computes a lane's new word from the old one, which stays.
    fn combine(&self, p: &mut Pseudo<'_>, r: &Loop, floats: Option<[VReg; 2]>) {
        let w = self.words;
        let lane = |room: Mem, bytes: u8| room.index(r.lane, bytes);
        if let Some(floats) = floats {
            return self.add_floats(p, r, floats);
        }
        self.operand(p, 0, r.new, lane);
        match self.atomic.op {
            AtomOp::Inc | AtomOp::Dec => self.count(p, r),
            AtomOp::Cas => {
                // The old word stays unless it is the first operand.
                p.op(w.cmp, (w.part(r.old), w.part(r.new)));
                self.operand(p, 1, r.new, lane);
                let op = if w.wide { Op::Cmovne_r64_rm64 } else { Op::Cmovne_r32_rm32 };
                p.op(op, (w.part(r.new), w.part(r.old)));
            }
            _ => integer(p, self.atomic, w, r.old, r.new),
        }
    }

    /// Adds floats, rounded to nearest; a NaN becomes the canonical one.
    fn add_floats(&self, p: &mut Pseudo<'_>, r: &Loop, [sum, by]: [VReg; 2]) {
        let w = self.words;
        let float = w.float(self.codes);
        let number = p.label();
        match self.operands[0] {
            Operand::Same(value) => p.op(float.into, (by.x(), w.part(value))),
            Operand::ByLane(part) => {
                let from = w.room(part, |room, bytes| room.index(r.lane, bytes));
                p.op(float.into, (by.x(), from))
            }
        };
        p.op(float.add, (sum.x(), sum.x(), by.x()));
        p.op(float.out_of, (w.part(r.new), sum.x()));
        p.op(float.compare, (sum.x(), sum.x()));
        p.jump(Op::Jnp_rel32_64, number);
        // All bits but the sign.
        p.op(Op::Mov_rm64_imm32, (r.new, -1));
        let shift = if w.wide { Op::Shr_rm64_imm8 } else { Op::Shr_rm32_imm8 };
        p.op(shift, (w.part(r.new), 1));
        p.op(float.into, (sum.x(), w.part(r.new)));
        p.bind(number);
    }

    /// Increments up to a bound and wraps to 0, or decrements to 0 and wraps to the bound.
    fn count(&self, p: &mut Pseudo<'_>, r: &Loop) {
        let done = p.label();
        let (old, new) = (r.old.d(), r.new.d());
        if self.atomic.op == AtomOp::Inc {
            p.op(Op::Cmp_r32_rm32, (old, new));
            p.op(Op::Lea_r32_m, (new, Mem::at(r.old, 1)));
            p.jump(Op::Jb_rel32_64, done);
            p.op(Op::Xor_r32_rm32, (new, new));
        } else {
            p.op(Op::Test_rm32_r32, (old, old));
            p.jump(Op::Je_rel32_64, done);
            p.op(Op::Cmp_r32_rm32, (old, new));
            p.jump(Op::Ja_rel32_64, done);
            p.op(Op::Lea_r32_m, (new, Mem::at(r.old, -1)));
        }
        p.bind(done);
    }
}
