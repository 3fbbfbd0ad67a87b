//! Operands of a chunk as vectors, and results on their way to rows.

use super::cache::{Key, NEVER, Slot};
use super::chunk::Chunk;
use crate::asm::{V, at};
use crate::rows::Row;
use fast::code::Src;
use iced_x86::{Code as Op, Register};

use Register::{R11, R12, R13, R14, R15};

pub(super) const COPY: Op = Op::VEX_Vmovdqa_ymm_ymmm256;
pub(super) const BLEND: Op = Op::VEX_Vblendvps_ymm_ymm_ymmm256_ymm;
pub(super) const BLEND64: Op = Op::VEX_Vblendvpd_ymm_ymm_ymmm256_ymm;

/// The low half of a vector register.
pub(super) fn xmm(ymm: Register) -> Register {
    Register::XMM0 + (ymm as u32 - Register::YMM0 as u32)
}

fn row_of(key: Key) -> Option<Row> {
    match key {
        Key::Narrow(i) => Some(Row::Narrow(i)),
        Key::Wide(i, _) => Some(Row::Wide(i)),
        _ => None,
    }
}

impl Chunk<'_, '_> {
    /// Where a chunk of a row is in memory.
    pub(super) fn place(&self, key: Key) -> (Register, i64) {
        let c = self.c as i64;
        match key {
            Key::Wide(i, half) => (R13, i64::from(i) * 256 + 64 * c + 32 * half as i64),
            Key::Narrow(i) => (R12, i64::from(i) * 128 + 32 * c),
            // Nothing else is written.
            _ => (R12, 0),
        }
    }

    /// A scratch register, until the instruction is complete or it is given back.
    pub(super) fn temp(&mut self) -> Register {
        let (now, tests) = (self.now, &self.tests);
        // What is read soon is worth most; scalars are cheap to load again.
        let worth = |key, next: usize| match key {
            Key::Narrow(_) | Key::Wide(..) => 1000 - next.saturating_sub(now).min(900),
            // Memory does not have it yet.
            Key::Pred(p, _) if tests.iter().any(|t| t.0 == p) => 2000,
            _ => 50,
        };
        let (register, before) = self.cache.take(worth);
        self.bring_back(register, before);
        register
    }

    /// The register holds something from now on.
    pub(super) fn hold(&mut self, register: Register, key: Key, dirty: bool) {
        let read = row_of(key).and_then(|row| self.e.uses.next_read(row, self.now + 1));
        self.cache.hold(register, key, dirty, read.unwrap_or(NEVER));
    }

    /// The step is complete.
    pub(super) fn pass(&mut self) {
        let (now, end, e) = (self.now, self.end, &*self.e);
        self.cache.pass(now, |key| {
            let Some(row) = row_of(key) else { return (NEVER, false) };
            let next = e.uses.next_read(row, now + 1).filter(|&next| next < end);
            (next.unwrap_or(NEVER), e.uses.is_read(&e.liveness, row, now + 1))
        });
    }

    fn bring_back(&mut self, register: Register, slot: Slot) {
        if let (Some(key), true) = (slot.key, slot.dirty) {
            self.write(register, key, self.now);
        }
    }

    /// Writes a row's chunk to memory, if anybody reads it from a step on.
    fn write(&mut self, register: Register, key: Key, from: usize) {
        let Some(row) = row_of(key) else { return };
        if self.e.uses.is_read(&self.e.liveness, row, from) {
            let (base, d) = self.place(key);
            self.e.asm.mr(Op::VEX_Vmovdqa_ymmm256_ymm, at(base, d), register);
        }
    }

    /// Ends the chunk: rows that somebody reads after the group are brought back.
    pub(super) fn end_chunk(&mut self) {
        for (register, key) in self.cache.end_chunk() {
            self.write(register, key, self.end);
        }
    }

    /// The instruction is complete, but for some scratch registers.
    pub(super) fn unpin_but(&mut self, kept: &[Register]) {
        self.cache.unpin();
        self.cache.pin(kept);
    }

    /// Ends a chunk in which no row changes, but for some scratch registers.
    pub(super) fn forget(&mut self, kept: &[Register]) {
        self.end_chunk();
        self.cache.pin(kept);
    }

    pub(super) fn free(&mut self, register: Register) {
        self.cache.free(register);
    }

    /// A chunk of a row: its register, or its place if it is read this once.
    fn row(&mut self, key: Key) -> V {
        if let Some(register) = self.cache.find(key) {
            return V::Z(register);
        }
        let again = row_of(key).and_then(|row| self.e.uses.next_read(row, self.now + 1));
        let (base, d) = self.place(key);
        if again.is_none_or(|at| at >= self.end) {
            return V::M(base, d);
        }
        let register = self.temp();
        self.e.asm.v2(COPY, register, V::M(base, d), None);
        self.hold(register, key, false);
        V::Z(register)
    }

    /// A constant in all 32-bit lanes.
    pub(super) fn bits(&mut self, bits: u32) -> V {
        self.bits64(u64::from(bits) << 32 | u64::from(bits))
    }

    /// A constant in all 64-bit lanes.
    pub(super) fn bits64(&mut self, bits: u64) -> V {
        V::M(R11, self.e.pool.vector([bits; 8]))
    }

    /// A scalar in all lanes.
    fn broadcast(&mut self, scalar: u32, wide: bool) -> Register {
        let (key, op) = match wide {
            true => (Key::Quad(scalar), Op::VEX_Vpbroadcastq_ymm_xmmm64),
            false => (Key::Word(scalar), Op::VEX_Vpbroadcastd_ymm_xmmm32),
        };
        if let Some(register) = self.cache.find(key) {
            return register;
        }
        let register = self.temp();
        self.e.asm.rm(op, register, at(R15, 8 * i64::from(scalar)));
        self.hold(register, key, false);
        register
    }

    /// A chunk of an operand of 32-bit values.
    pub(super) fn n(&mut self, src: Src) -> V {
        match src {
            Src::Narrow(i) => self.row(Key::Narrow(i)),
            Src::Line(i, 0, _) => V::Z(self.broadcast(i, false)),
            Src::Line(i, stride, mask) => {
                let line = V::M(R11, self.e.pool.line32(8 * self.c as u32, stride as u32));
                let base = self.broadcast(i, false);
                let to = self.temp();
                self.e.asm.v3(Op::VEX_Vpaddd_ymm_ymm_ymmm256, to, base, line, None);
                if mask as u32 != u32::MAX {
                    let mask = self.bits(mask as u32);
                    self.e.asm.v3(Op::VEX_Vpand_ymm_ymm_ymmm256, to, to, mask, None);
                }
                V::Z(to)
            }
            Src::Const(bits) | Src::ConstPair(bits, _) => self.bits(bits as u32),
            Src::Wide(i) | Src::Pair(i, _) => {
                let (low, high) = (self.wz(Src::Wide(i), 0), self.w(Src::Wide(i), 1));
                let to = self.temp();
                self.narrowed(to, low, high);
                V::Z(to)
            }
            Src::Pred(i) => {
                let holds = self.holds(i);
                let to = self.temp();
                match holds {
                    (mask, false) => self.e.asm.v2i(Op::VEX_Vpsrld_ymm_ymm_imm8, to, mask, 31),
                    (mask, true) => {
                        let one = self.bits(1);
                        self.e.asm.v3(Op::VEX_Vpandn_ymm_ymm_ymmm256, to, mask, one, None);
                    }
                }
                V::Z(to)
            }
        }
    }

    /// The low words of two halves of 64-bit lanes.
    pub(super) fn narrowed(&mut self, to: Register, low: Register, high: V) {
        self.e.asm.v3i(Op::VEX_Vshufps_ymm_ymm_ymmm256_imm8, to, low, high, 0x88, None);
        self.e.asm.v2i(Op::VEX_Vpermq_ymm_ymmm256_imm8, to, to, 0xd8);
    }

    /// A predicate by 32-bit lanes, and whether it is its negation.
    pub(super) fn holds(&mut self, pred: u32) -> (Register, bool) {
        for negated in [false, true] {
            if let Some(register) = self.cache.find(Key::Pred(pred, negated)) {
                return (register, negated);
            }
        }
        let to = self.temp();
        let from = at(R14, 4 * i64::from(pred));
        self.e.asm.rm(Op::VEX_Vpbroadcastd_ymm_xmmm32, to, from);
        self.spread(to);
        self.hold(to, Key::Pred(pred, false), false);
        (to, false)
    }

    /// From a mask in all 32-bit lanes to all bits of those that it names.
    fn spread(&mut self, to: Register) {
        let bit = |lane: u64| 1u64 << (8 * self.c as u64 + lane);
        let words = std::array::from_fn(|i| {
            let lane = 2 * i as u64 % 8;
            bit(lane) | bit(lane + 1) << 32
        });
        let bits = V::M(R11, self.e.pool.vector(words));
        self.e.asm.v3(Op::VEX_Vpand_ymm_ymm_ymmm256, to, to, bits, None);
        self.e.asm.v3(Op::VEX_Vpcmpeqd_ymm_ymm_ymmm256, to, to, bits, None);
    }

    /// The lanes that are on, by 32-bit lanes.
    pub(super) fn on(&mut self) -> Register {
        if let Some(register) = self.cache.find(Key::On) {
            return register;
        }
        let to = self.temp();
        self.e.asm.rr(Op::VEX_Vmovd_xmm_rm32, xmm(to), self.on.lanes);
        self.e.asm.v2(Op::VEX_Vpbroadcastd_ymm_xmmm32, to, V::Z(xmm(to)), None);
        self.spread(to);
        self.hold(to, Key::On, false);
        to
    }

    /// Half a mask by 32-bit lanes, by 64-bit lanes.
    pub(super) fn widened_mask(&mut self, mask: Register, half: usize) -> Register {
        let to = self.temp();
        self.widen(to, mask, half, Op::VEX_Vpmovsxdq_ymm_xmmm128);
        to
    }

    fn widen(&mut self, to: Register, from: Register, half: usize, op: Op) {
        if half == 0 {
            self.e.asm.rr(op, to, xmm(from));
        } else {
            self.e.asm.rri(Op::VEX_Vextracti128_xmmm128_ymm_imm8, xmm(to), from, 1);
            self.e.asm.rr(op, to, xmm(to));
        }
    }

    /// The same in a register, not to be changed.
    pub(super) fn nz(&mut self, src: Src) -> Register {
        let value = self.n(src);
        self.in_register(value)
    }

    pub(super) fn in_register(&mut self, value: V) -> Register {
        if let V::Z(register) = value {
            return register;
        }
        let to = self.temp();
        self.e.asm.v2(COPY, to, value, None);
        to
    }

    /// The same in scratch, to be changed.
    pub(super) fn nc(&mut self, src: Src) -> Register {
        let value = self.n(src);
        let to = self.temp();
        self.e.asm.v2(COPY, to, value, None);
        to
    }

    /// Half a chunk of an operand of 64-bit values, narrower ones widened with zeros.
    pub(super) fn w(&mut self, src: Src, half: usize) -> V {
        match src {
            Src::Wide(i) | Src::Pair(i, _) => self.row(Key::Wide(i, half)),
            Src::Line(i, 0, _) => V::Z(self.broadcast(i, true)),
            Src::Line(i, stride, mask) => {
                let first = 8 * self.c as u64 + 4 * half as u64;
                let line = V::M(R11, self.e.pool.line64(first, stride as u64));
                let base = self.broadcast(i, true);
                let to = self.temp();
                self.e.asm.v3(Op::VEX_Vpaddq_ymm_ymm_ymmm256, to, base, line, None);
                if mask != u64::MAX {
                    let mask = self.bits64(mask);
                    self.e.asm.v3(Op::VEX_Vpand_ymm_ymm_ymmm256, to, to, mask, None);
                }
                V::Z(to)
            }
            Src::Const(bits) | Src::ConstPair(bits, _) => self.bits64(bits),
            Src::Narrow(_) | Src::Pred(_) => {
                V::Z(self.widened(src, half, Op::VEX_Vpmovzxdq_ymm_xmmm128))
            }
        }
    }

    /// Half a chunk of 32-bit values, widened, in scratch.
    pub(super) fn widened(&mut self, src: Src, half: usize, op: Op) -> Register {
        let value = self.n(src);
        let to = self.temp();
        match value {
            V::Z(register) => self.widen(to, register, half, op),
            V::M(base, d) | V::B(base, d) => {
                self.e.asm.rm(op, to, at(base, d + 16 * half as i64));
            }
        }
        to
    }

    pub(super) fn wz(&mut self, src: Src, half: usize) -> Register {
        let value = self.w(src, half);
        self.in_register(value)
    }

    /// The same in scratch, to be changed.
    pub(super) fn wc(&mut self, src: Src, half: usize) -> Register {
        let value = self.w(src, half);
        let to = self.temp();
        self.e.asm.v2(COPY, to, value, None);
        to
    }

    /// Scratch becomes a row's chunk, in lanes that are on if others keep what they have.
    pub(super) fn put(&mut self, row: u32, value: Register) {
        let key = Key::Narrow(row);
        if self.blend {
            let on = self.on();
            let before = self.row_now(key);
            self.e.asm.v3r(BLEND, value, before, value, on);
        }
        self.hold(value, key, true);
    }

    /// The same of half a chunk of a row of 64-bit values.
    pub(super) fn put_wide(&mut self, row: u32, half: usize, value: Register) {
        let key = Key::Wide(row, half);
        if self.blend {
            let on = self.on();
            let on = self.widened_mask(on, half);
            let before = self.row_now(key);
            self.e.asm.v3r(BLEND64, value, before, value, on);
            self.free(on);
        }
        self.hold(value, key, true);
    }

    /// What a row holds now, in a register.
    fn row_now(&mut self, key: Key) -> Register {
        match self.cache.find(key) {
            Some(register) => register,
            None => {
                let (base, d) = self.place(key);
                self.in_register(V::M(base, d))
            }
        }
    }
}
