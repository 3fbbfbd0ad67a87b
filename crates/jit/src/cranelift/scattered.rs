//! Accesses whose addresses differ by lane in any way: all lanes are checked together, then words
//! are moved one by one, by way of the frame's room for lanes.

use super::memory::Room;
use super::values::{CHECKED, parts};
use super::{Lowering, Val, Vals};
use crate::Refused;
use crate::frame::Frame;
use crate::warp_context::WarpContext;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, types};
use ir::mods::Space;
use vector::{Access, Scale, Shape, Value};

/// Checked places of words.
pub(super) struct Places {
    /// Whether all that are on are good.
    pub(super) good: Val,
    /// The host address that distances count from.
    from: Val,
    /// Distances, and how they become bytes; of 64 bits if there is no scale.
    distances: Vals,
    scale: Option<Scale>,
}

impl Places {
    /// Bytes that they take in the frame's room for lanes.
    pub(super) fn bytes(&self) -> i64 {
        if self.scale.is_some() { 128 } else { 256 }
    }
}

/// A number that is a distance of bytes.
const PLAIN: Scale = Scale { shift: 0, signed: false };

impl Lowering<'_> {
    /// Checks the addresses of all lanes that are on.
    pub(super) fn places(&mut self, access: &Access, args: &[Value]) -> Option<Places> {
        let wide = self.is_wide(args[access.shape.operands()]);
        match (self.room(access), access.shape, wide) {
            (Room::Map(_), Shape::Any, true) => Some(self.places_of_addresses(access, args)),
            (Room::Map(_), Shape::Indexed(scale), false) => {
                Some(self.places_of_indices(access, args, scale))
            }
            (Room::Window(..), Shape::Any, false) => Some(self.places_in_window(access, args)),
            _ => {
                self.refuse(Refused::Unsound);
                None
            }
        }
    }

    /// Returns whether no lane that is on is bad, and something else holds.
    fn none_bad(&mut self, bad: &[Val], wide: bool, lanes: Value, other: Val) -> Val {
        let bad = self.bits_of(bad, wide);
        let lanes = self.mask(lanes);
        let bad = self.b.ins().band(bad, lanes);
        let good = self.is_zero(bad);
        self.b.ins().band(good, other)
    }

    /// Returns whether lanes exceed a limit, or have one of some bits.
    fn beyond_or_odd(&mut self, at: Val, limit: Val, tested: Val, bits: u64, wide: bool) -> Val {
        let beyond = self.compared(IntCC::UnsignedGreaterThan, at, limit, wide);
        if bits == 0 {
            return beyond;
        }
        let bits = self.row_const(bits, wide);
        let odd = self.b.ins().band(tested, bits);
        let zero = self.row_const(0, wide);
        let odd = self.b.ins().icmp(IntCC::NotEqual, odd, zero);
        self.b.ins().bor(beyond, odd)
    }

    /// Rows of addresses of 64 bits.
    fn places_of_addresses(&mut self, access: &Access, args: &[Value]) -> Places {
        let room = self.room(access);
        let bounds = self.bounds(room);
        let bytes = access.bytes();
        let limit = self.b.ins().iadd_imm_s(bounds.len, -(bytes as i64));
        let fits = self.b.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, limit, 0);
        let limits = self.spread(limit, true);
        let bases = self.spread(bounds.base, true);
        let constant = self.row_const(access.offset as u64, true);
        let (mut distances, mut bad) = (Vals::new(), Vals::new());
        for part in 0..parts(true) {
            let address = self.v(args[1], part);
            let address = self.b.ins().iadd(address, constant);
            let distance = self.b.ins().isub(address, bases);
            bad.push(self.beyond_or_odd(distance, limits, address, bytes - 1, true));
            distances.push(distance);
        }
        let good = self.none_bad(&bad, true, args[0], fits);
        Places { good, from: bounds.bytes, distances, scale: None }
    }

    /// A scalar and numbers of 32 bits.
    fn places_of_indices(&mut self, access: &Access, args: &[Value], scale: Scale) -> Places {
        let room = self.room(access);
        let bounds = self.bounds(room);
        let bytes = access.bytes();
        let shift = i64::from(scale.shift);
        let start = self.s(args[1]);
        let start = self.b.ins().iadd_imm_s(start, access.offset);
        let odd = self.b.ins().band_imm_s(start, bytes as i64 - 1);
        let aligned = self.is_zero(odd);
        let from = self.b.ins().isub(start, bounds.base);
        // Numbers from -(from >> shift) to (len - bytes - from) >> shift are in bounds.
        let high = self.b.ins().iadd_imm_s(bounds.len, -(bytes as i64));
        let high = self.b.ins().isub(high, from);
        let high = self.b.ins().sshr_imm_u(high, shift);
        let low = self.b.ins().sshr_imm_u(from, shift);
        let low = self.b.ins().ineg(low);
        let (least, most) = match scale.signed {
            true => (i64::from(i32::MIN), i64::from(i32::MAX)),
            false => (0, i64::from(u32::MAX)),
        };
        let [least, most] = [least, most].map(|bits| self.iconst(bits as u64));
        let (low, high) = (self.b.ins().smax(low, least), self.b.ins().smin(high, most));
        let some = self.b.ins().icmp(IntCC::SignedLessThanOrEqual, low, high);
        let good = self.b.ins().band(some, aligned);
        let span = self.b.ins().isub(high, low);
        let (lows, spans) = (self.spread(low, false), self.spread(span, false));
        let (mut distances, mut bad) = (Vals::new(), Vals::new());
        for part in 0..parts(false) {
            let number = self.v(args[2], part);
            let above = self.b.ins().isub(number, lows);
            let odd = (bytes - 1) >> scale.shift.min(63);
            bad.push(self.beyond_or_odd(above, spans, number, odd, false));
            distances.push(number);
        }
        let good = self.none_bad(&bad, false, args[0], good);
        let from = self.b.ins().iadd(bounds.bytes, from);
        Places { good, from, distances, scale: Some(scale) }
    }

    /// Rows of addresses in a window.
    fn places_in_window(&mut self, access: &Access, args: &[Value]) -> Places {
        let room = self.room(access);
        let bounds = self.bounds(room);
        let bytes = access.bytes();
        let limit = self.b.ins().iadd_imm_s(bounds.len, -(bytes as i64));
        let fits = self.b.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, limit, 0);
        let limits = self.spread(limit, false);
        let constant = self.row_const(u64::from(access.offset as u32), false);
        let local = access.space == Space::Local;
        let apart = self.code.local_bytes as u64;
        let (mut distances, mut bad) = (Vals::new(), Vals::new());
        for part in 0..parts(false) {
            let number = self.v(args[1], part);
            let at = self.b.ins().iadd(number, constant);
            bad.push(self.beyond_or_odd(at, limits, at, bytes - 1, false));
            distances.push(match local {
                true => {
                    let line = self.lane_consts(false, |i| (4 * part + i) as u64 * apart);
                    self.b.ins().iadd(at, line)
                }
                false => at,
            });
        }
        let good = self.none_bad(&bad, false, args[0], fits);
        let mut from = bounds.bytes;
        if local {
            let first = self.load64(self.context, WarpContext::LOCAL);
            from = self.b.ins().iadd(from, first);
        }
        Places { good, from, distances, scale: Some(PLAIN) }
    }

    /// Puts places into the frame's room for lanes.
    pub(super) fn store_places(&mut self, places: &Places, at: i64) {
        self.store_room(&places.distances, at);
    }

    /// Returns the host address of a lane's word.
    pub(super) fn place(&mut self, places: &Places, lane: Val, at: i64) -> Val {
        let at = (Frame::LANE_ROOM + at) as i32;
        let Some(scale) = places.scale else {
            let from = self.scaled(self.frame, lane, 8);
            let distance = self.b.ins().load(types::I64, CHECKED, from, at);
            return self.b.ins().iadd(places.from, distance);
        };
        let from = self.scaled(self.frame, lane, 4);
        let distance = match scale.signed {
            true => self.b.ins().sload32(CHECKED, from, at),
            false => self.b.ins().uload32(CHECKED, from, at),
        };
        let distance = self.b.ins().ishl_imm_u(distance, i64::from(scale.shift));
        self.b.ins().iadd(places.from, distance)
    }

    pub(super) fn load_any(&mut self, access: &Access, args: &[Value], results: &[Value]) {
        let lanes = self.mask(args[0]);
        let Some(places) = self.places(access, args) else { return };
        let declared = self.declared(results);
        let [quick, slow] = self.or_slow(places.good);
        let on = self.b.create_block();
        self.b.switch_to_block(quick);
        let size = i64::from(Self::lane_type(access).bytes());
        self.store_places(&places, 0);
        self.for_each_lane(lanes, |this, lane| {
            let from = this.place(&places, lane, 0);
            let to = this.scaled(this.frame, lane, size as u64);
            for (slot, (i, _)) in declared.iter().enumerate() {
                let value = this.load_lane(access, from, (i * usize::from(access.word)) as i64);
                let room = Frame::LANE_ROOM + places.bytes() + 32 * size * slot as i64;
                this.put_at(value, to, room);
            }
        });
        for (slot, (_, place)) in declared.iter().enumerate() {
            let list = self.load_room(places.bytes() + 32 * size * slot as i64, access.word == 8);
            self.set_row(place, &list);
        }
        self.b.ins().jump(on, []);
        self.b.switch_to_block(slow);
        self.interpret_access(access, args, lanes);
        self.take_rows(access, &declared);
        self.join(on);
    }

    pub(super) fn store_any(&mut self, access: &Access, args: &[Value]) {
        let lanes = self.mask(args[0]);
        let first = 1 + access.shape.operands();
        let values: Vec<Vals> =
            args[first..first + usize::from(access.words)].iter().map(|&v| self.row(v)).collect();
        let Some(places) = self.places(access, args) else { return };
        let [quick, slow] = self.or_slow(places.good);
        let on = self.b.create_block();
        self.b.switch_to_block(quick);
        let ty = Self::lane_type(access);
        let size = i64::from(ty.bytes());
        self.store_places(&places, 0);
        for (i, row) in values.iter().enumerate() {
            self.store_room(row, places.bytes() + 32 * size * i as i64);
        }
        self.for_each_lane(lanes, |this, lane| {
            let to = this.place(&places, lane, 0);
            let from = this.scaled(this.frame, lane, size as u64);
            for i in 0..values.len() as i64 {
                let room = (Frame::LANE_ROOM + places.bytes() + 32 * size * i) as i32;
                let value = this.b.ins().load(ty, CHECKED, from, room);
                this.store_lane(access, value, to, i * i64::from(access.word));
            }
        });
        self.note_progress();
        self.b.ins().jump(on, []);
        self.b.switch_to_block(slow);
        self.interpret_access(access, args, lanes);
        self.join(on);
    }
}
