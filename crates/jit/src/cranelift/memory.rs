//! Loads and stores.
//!
//! Every byte that a lane accesses is checked before any is touched. If a check fails (another
//! region than last time, a fault), the interpreter executes the whole step, out of line.

use super::values::{CHECKED, Place, lanes_type, parts};
use super::{Lowering, Val, Vals, index_of};
use crate::counters::{COUNTED, REFUSED};
use crate::frame::{Frame, RegionCache};
use ::ir::mods::Space;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, InstBuilder, types};
use vector::translate::is_own_memory;
use vector::{Access, Extend, Home, Shape, Type, Value};

/// The memory that an access is to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Room {
    /// Regions at 64-bit addresses; the cache's entry with this offset holds the one accessed last.
    Map(i64),
    /// A window of 32-bit addresses: the frame's offsets of its host address and its length.
    Window(i64, i64),
}

/// A room in which an access is looked for.
pub(super) struct Bounds {
    /// Its guest address, host address and length.
    pub(super) base: Val,
    pub(super) bytes: Val,
    pub(super) len: Val,
}

/// Where an access is.
struct Found {
    /// Whether it is aligned, and in bounds.
    aligned: Val,
    inside: Val,
    /// The offset in the room, and the host address.
    offset: Val,
    host: Val,
    bounds: Bounds,
}

impl Lowering<'_> {
    pub(super) fn room(&mut self, access: &Access) -> Room {
        match access.space {
            Space::Shared => Room::Window(Frame::SHARED, Frame::SHARED_LEN),
            Space::Param => Room::Window(Frame::PARAMS, Frame::PARAMS_LEN),
            Space::Local => Room::Window(Frame::LOCAL, Frame::LOCAL_LEN),
            _ => {
                let entry = index_of(&mut self.lowered.region_steps, access.step.step);
                Room::Map(entry as i64 * RegionCache::SIZE)
            }
        }
    }

    pub(super) fn bounds(&mut self, room: Room) -> Bounds {
        match room {
            Room::Map(entry) => {
                let regions = self.field64(Frame::REGIONS);
                let mut field = |offset| self.load64(regions, entry + offset);
                let base = field(RegionCache::BASE);
                let bytes = field(RegionCache::BYTES);
                Bounds { base, bytes, len: field(RegionCache::LEN) }
            }
            Room::Window(bytes, len) => {
                Bounds { base: self.iconst(0), bytes: self.field64(bytes), len: self.field64(len) }
            }
        }
    }

    /// Looks for an access of so many bytes at a scalar address.
    fn find(&mut self, access: &Access, address: Value, align: u64, bytes: u64) -> Found {
        let room = self.room(access);
        let address = self.s(address);
        let mut at = self.b.ins().iadd_imm_s(address, access.offset);
        if let Room::Window(..) = room {
            let low = self.low_word(at);
            at = self.widened(low);
        }
        let bounds = self.bounds(room);
        let offset = self.b.ins().isub(at, bounds.base);
        let limit = self.b.ins().iadd_imm_s(bounds.len, -(bytes as i64));
        let below = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, offset, limit);
        let fits = self.b.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, limit, 0);
        let inside = self.b.ins().band(below, fits);
        let odd = self.b.ins().band_imm_s(at, align as i64 - 1);
        let aligned = self.is_zero(odd);
        let host = self.b.ins().iadd(bounds.bytes, offset);
        Found { aligned, inside, offset, host, bounds }
    }

    /// Returns the offset of a parameter if it is constant, aligned and in bounds.
    fn param(&self, access: &Access, address: Value) -> Option<i64> {
        access.param(self.known(address)?, self.code.param_bytes as u64)
    }

    pub(super) fn load(&mut self, access: &Access, args: &[Value], results: &[Value]) {
        match access.shape {
            // Threads have local memory of their own, and no load of one word is of it.
            _ if access.space == Space::Local && access.shape != Shape::Any => {
                self.only_interpreted(access, args, results);
            }
            Shape::One => self.load_one(access, args, results),
            Shape::Adjacent => self.load_adjacent(access, args, results[0]),
            _ => self.load_any(access, args, results),
        }
    }

    pub(super) fn store(&mut self, access: &Access, args: &[Value]) {
        match access.shape {
            Shape::Adjacent if access.space != Space::Local => self.store_adjacent(access, args),
            Shape::Any | Shape::Indexed(_) => self.store_any(access, args),
            _ => self.only_interpreted(access, args, &[]),
        }
    }

    /// Leaves an access to the interpreter.
    pub(super) fn only_interpreted(&mut self, access: &Access, args: &[Value], results: &[Value]) {
        self.lowered.left.push(access.step.step);
        let lanes = self.mask(args[0]);
        self.interpret_access(access, args, lanes);
        for (home, &result) in access.step.results.iter().zip(results) {
            let Some(home) = *home else { continue };
            if self.source.ty(result) == Type::Scalar {
                let value = self.lane_of_home(home, lanes);
                self.put_scalar(Some(result), value);
            } else {
                self.load_home(home, Some(result));
            }
        }
    }

    /// Has the interpreter execute an access. In screened launches code has logged it.
    pub(super) fn interpret_access(&mut self, access: &Access, args: &[Value], lanes: Val) {
        self.store_operands(access, args);
        let noted = if self.code.screened.is_some() { COUNTED } else { 0 };
        let kind = &self.code.steps[access.step.step as usize].kind;
        let refused = if is_own_memory(self.code, kind) { REFUSED } else { 0 };
        self.call_step(access.step.step, noted | refused, lanes);
    }

    /// Stores what the interpreter reads to execute an access.
    pub(super) fn store_operands(&mut self, access: &Access, args: &[Value]) {
        let values = &args[args.len() - access.step.operands.len()..];
        for (&home, &value) in access.step.operands.iter().zip(values) {
            self.store_home(home, value);
        }
        let is_row = matches!(access.shape, Shape::Any | Shape::Indexed(_));
        if let Some(home) = access.row.filter(|_| is_row) {
            self.store_addresses(access, args, home);
        }
    }

    /// Stores the addresses of lanes, without the constant offset.
    fn store_addresses(&mut self, access: &Access, args: &[Value], home: Home) {
        let row = args[access.shape.operands()];
        if self.is_wide(row) {
            return self.store_home(home, row);
        }
        let indexed = match access.shape {
            Shape::Indexed(scale) => {
                let base = self.s(args[1]);
                Some((self.spread(base, true), scale))
            }
            _ => None,
        };
        let list: Vals = (0..parts(true))
            .map(|part| {
                let words = self.v(row, part / 2);
                let signed = indexed.is_some_and(|(_, scale)| scale.signed);
                let at = self.half_widened(words, part % 2 == 1, signed);
                let Some((base, scale)) = indexed else { return at };
                let at = self.b.ins().ishl_imm_u(at, i64::from(scale.shift));
                self.b.ins().iadd(at, base)
            })
            .collect();
        let (base, offset) = self.home(home);
        self.store_vectors(&list, base, offset);
    }

    /// The value of the first lane that is on, from where the interpreter has written a result.
    fn lane_of_home(&mut self, home: Home, lanes: Val) -> Val {
        let (base, offset) = self.home(home);
        let lane = self.b.ins().ctz(lanes);
        let (ty, bytes) = match home {
            Home::Scalar(_) => return self.load64(base, offset),
            Home::Pred(_) => {
                let bits = self.load32(base, offset);
                let bit = self.b.ins().ushr(bits, lane);
                return self.widened(bit);
            }
            Home::Wide(_) => (types::I64, 8),
            Home::Narrow(_) => (types::I32, 4),
        };
        let lane = self.widened(lane);
        let at = self.b.ins().imul_imm_u(lane, bytes);
        let at = self.b.ins().iadd(base, at);
        let value = self.b.ins().load(ty, CHECKED, at, offset as i32);
        if ty == types::I64 { value } else { self.widened(value) }
    }

    /// Goes to a new block if something holds, else to a cold one.
    pub(super) fn or_slow(&mut self, holds: Val) -> [ir::Block; 2] {
        let both = self.branch(holds);
        self.b.set_cold_block(both[1]);
        both
    }

    /// Declares the results of a load that anything reads, with their numbers.
    pub(super) fn declared(&mut self, results: &[Value]) -> Vec<(usize, Place)> {
        let used = (0..results.len()).filter(|&i| self.is_used(results[i]));
        let used: Vec<usize> = used.collect();
        used.into_iter()
            .map(|i| {
                let place = self.declare(results[i]);
                self.put(Some(results[i]), place.clone());
                (i, place)
            })
            .collect()
    }

    pub(super) fn set_row(&mut self, place: &Place, values: &[Val]) {
        if let Place::Row(list) = place {
            for (&part, &value) in list.iter().zip(values) {
                self.define(part, value);
            }
        }
    }

    fn set_scalar(&mut self, place: &Place, value: Val) {
        if let Place::Scalar(part) = place {
            self.define(*part, value);
        }
    }

    /// Takes the interpreter's results.
    pub(super) fn take_rows(&mut self, access: &Access, declared: &[(usize, Place)]) {
        for (i, place) in declared {
            match access.step.results[*i] {
                Some(home) => self.redefine_by_home(home, place),
                None => self.refuse(crate::Refused::Unsound),
            }
        }
    }

    fn load_one(&mut self, access: &Access, args: &[Value], results: &[Value]) {
        let word = i64::from(access.word);
        if let Some(param) = self.param(access, args[1]) {
            let base = self.field64(Frame::PARAMS);
            for (i, &result) in results.iter().enumerate() {
                let value = self.load_word(access, base, param + word * i as i64);
                self.put_scalar(Some(result), value);
            }
            return;
        }
        let lanes = self.mask(args[0]);
        let declared = self.declared(results);
        let found = self.find(access, args[1], access.bytes(), access.bytes());
        let good = self.b.ins().band(found.aligned, found.inside);
        let [quick, slow] = self.or_slow(good);
        let on = self.b.create_block();
        self.b.switch_to_block(quick);
        for (i, place) in &declared {
            let value = self.load_word(access, found.host, word * *i as i64);
            self.set_scalar(place, value);
        }
        self.b.ins().jump(on, []);
        self.b.switch_to_block(slow);
        self.interpret_access(access, args, lanes);
        for (i, place) in &declared {
            let value = match access.step.results[*i] {
                Some(home) => self.lane_of_home(home, lanes),
                None => self.iconst(0),
            };
            self.set_scalar(place, value);
        }
        self.join(on);
    }

    /// Loads a word as a scalar holds it.
    fn load_word(&mut self, access: &Access, base: Val, at: i64) -> Val {
        let at = at as i32;
        let zero = access.extend == Extend::Zero;
        let value = match (access.word, zero) {
            (1, true) => self.b.ins().uload8(types::I64, CHECKED, base, at),
            (2, true) => self.b.ins().uload16(types::I64, CHECKED, base, at),
            (4, true) => self.b.ins().uload32(CHECKED, base, at),
            (1, false) => self.b.ins().sload8(types::I64, CHECKED, base, at),
            (2, false) => self.b.ins().sload16(types::I64, CHECKED, base, at),
            (4, false) => self.b.ins().sload32(CHECKED, base, at),
            _ => self.b.ins().load(types::I64, CHECKED, base, at),
        };
        match access.extend {
            Extend::Sign(bits) if bits < 64 => {
                let kept = self.iconst((1 << bits) - 1);
                self.b.ins().band(value, kept)
            }
            _ => value,
        }
    }

    /// Loads a word as a lane holds it.
    pub(super) fn load_lane(&mut self, access: &Access, base: Val, at: i64) -> Val {
        let at = at as i32;
        let value = match (access.word, access.extend) {
            (8, _) => return self.b.ins().load(types::I64, CHECKED, base, at),
            (4, _) => return self.b.ins().load(types::I32, CHECKED, base, at),
            (1, Extend::Zero) => return self.b.ins().uload8(types::I32, CHECKED, base, at),
            (_, Extend::Zero) => return self.b.ins().uload16(types::I32, CHECKED, base, at),
            (1, _) => self.b.ins().sload8(types::I32, CHECKED, base, at),
            _ => self.b.ins().sload16(types::I32, CHECKED, base, at),
        };
        match access.extend {
            Extend::Sign(bits) if bits < 32 => self.b.ins().band_imm_s(value, (1 << bits) - 1),
            _ => value,
        }
    }

    /// Stores a lane as a word.
    pub(super) fn store_lane(&mut self, access: &Access, value: Val, base: Val, at: i64) {
        let at = at as i32;
        match access.word {
            1 => self.b.ins().istore8(CHECKED, value, base, at),
            2 => self.b.ins().istore16(CHECKED, value, base, at),
            _ => self.b.ins().store(CHECKED, value, base, at),
        };
    }

    fn load_adjacent(&mut self, access: &Access, args: &[Value], result: Value) {
        let word = u64::from(access.word);
        let lanes = self.mask(args[0]);
        let declared = self.declared(&[result]);
        let found = self.find(access, args[1], word, 32 * word);
        let good = self.b.ins().band(found.aligned, found.inside);
        let [quick, rest] = self.or_slow(good);
        let on = self.b.create_block();
        self.b.switch_to_block(quick);
        let list = self.load_contiguous(access, found.host);
        declared.iter().for_each(|(_, place)| self.set_row(place, &list));
        self.b.ins().jump(on, []);
        self.b.switch_to_block(rest);
        let (host, inside) = self.find_some(access, &found, lanes);
        let [part, slow] = self.or_slow(inside);
        self.b.switch_to_block(part);
        let wide = word == 8;
        self.for_each_lane(lanes, |this, lane| {
            let at = this.scaled(host, lane, word);
            let value = this.load_lane(access, at, 0);
            let to = this.scaled(this.frame, lane, if wide { 8 } else { 4 });
            this.put_at(value, to, Frame::LANE_ROOM);
        });
        let list = self.load_room(0, wide);
        declared.iter().for_each(|(_, place)| self.set_row(place, &list));
        self.b.ins().jump(on, []);
        self.b.switch_to_block(slow);
        self.interpret_access(access, args, lanes);
        self.take_rows(access, &declared);
        self.join(on);
    }

    fn store_adjacent(&mut self, access: &Access, args: &[Value]) {
        let word = u64::from(access.word);
        let lanes = self.mask(args[0]);
        let values = self.row(args[2]);
        let found = self.find(access, args[1], word, 32 * word);
        let good = self.b.ins().band(found.aligned, found.inside);
        let all = self.b.ins().icmp_imm_s(IntCC::Equal, lanes, -1);
        let good = self.b.ins().band(good, all);
        let [quick, rest] = self.branch(good);
        let on = self.b.create_block();
        self.b.switch_to_block(quick);
        self.store_contiguous(access, &values, found.host);
        self.note_progress();
        self.b.ins().jump(on, []);
        self.b.switch_to_block(rest);
        let (host, inside) = self.find_some(access, &found, lanes);
        let [part, slow] = self.or_slow(inside);
        self.b.switch_to_block(part);
        self.store_room(&values, 0);
        let wide = word == 8;
        self.for_each_lane(lanes, |this, lane| {
            let from = this.scaled(this.frame, lane, if wide { 8 } else { 4 });
            let ty = if wide { types::I64 } else { types::I32 };
            let value = this.b.ins().load(ty, CHECKED, from, Frame::LANE_ROOM as i32);
            let to = this.scaled(host, lane, word);
            this.store_lane(access, value, to, 0);
        });
        self.note_progress();
        self.b.ins().jump(on, []);
        self.b.switch_to_block(slow);
        self.interpret_access(access, args, lanes);
        self.join(on);
    }

    /// Notes that memory may have changed.
    pub(super) fn note_progress(&mut self) {
        let one = self.iconst32(1);
        self.put_at(one, self.frame, Frame::PROGRESS);
    }

    /// Returns an address plus a lane's number times a number of bytes.
    pub(super) fn scaled(&mut self, base: Val, lane: Val, bytes: u64) -> Val {
        let distance = self.b.ins().ishl_imm_u(lane, i64::from(bytes.trailing_zeros()));
        self.b.ins().iadd(base, distance)
    }

    /// Checks the words from the first lane that is on to the last; returns the host address of
    /// lane 0's, and whether the check holds.
    fn find_some(&mut self, access: &Access, found: &Found, lanes: Val) -> (Val, Val) {
        let shift = i64::from(access.word.trailing_zeros());
        let scaled = |this: &mut Self, lane: Val| {
            let lane = this.widened(lane);
            this.b.ins().ishl_imm_u(lane, shift)
        };
        let first = self.b.ins().ctz(lanes);
        let first = scaled(self, first);
        let zeros = self.b.ins().clz(lanes);
        let all = self.iconst32(32);
        let end = self.b.ins().isub(all, zeros);
        let end = scaled(self, end);
        let mut at = self.b.ins().iadd(found.offset, first);
        if access.space.window().is_some() {
            let low = self.low_word(at);
            at = self.widened(low);
        }
        let bytes = self.b.ins().isub(end, first);
        let limit = self.b.ins().isub(found.bounds.len, bytes);
        let below = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, at, limit);
        // No lane, or a room that is too short, is the interpreter's.
        let least = self.b.ins().smin(limit, bytes);
        let fits = self.b.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, least, 0);
        let inside = self.b.ins().band(below, fits);
        let inside = self.b.ins().band(inside, found.aligned);
        let host = self.b.ins().iadd(found.bounds.bytes, at);
        (self.b.ins().isub(host, first), inside)
    }

    /// Loads contiguous words, as lanes hold them.
    pub(super) fn load_contiguous(&mut self, access: &Access, from: Val) -> Vals {
        let wide = access.word == 8;
        if access.word >= 4 {
            return self.load_vectors(from, 0, wide);
        }
        let signed = access.extend != Extend::Zero;
        let ty = if access.word == 1 { types::I8X16 } else { types::I16X8 };
        let vectors = 2 * usize::from(access.word);
        let mut list: Vals =
            (0..vectors).map(|i| self.b.ins().load(ty, CHECKED, from, 16 * i as i32)).collect();
        while list.len() < parts(false) {
            let halves: Vec<(Val, bool)> =
                list.iter().flat_map(|&v| [(v, false), (v, true)]).collect();
            list = halves.iter().map(|&(v, upper)| self.half_widened(v, upper, signed)).collect();
        }
        match access.extend {
            Extend::Sign(bits) if bits < 32 => {
                let kept = self.row_const((1 << bits) - 1, false);
                list.iter().map(|&v| self.b.ins().band(v, kept)).collect()
            }
            _ => list,
        }
    }

    /// Stores lanes as contiguous words.
    fn store_contiguous(&mut self, access: &Access, values: &[Val], to: Val) {
        let mut list: Vals = values.into();
        // The low halves of lanes, side by side, once for each halving.
        let mut bytes = if access.word == 8 { 8 } else { 4 };
        while bytes > access.word {
            let pairs: Vec<[Val; 2]> = list.chunks(2).map(|p| [p[0], p[1]]).collect();
            list = pairs.iter().map(|&[a, b]| self.low_halves(a, b, bytes)).collect();
            bytes /= 2;
        }
        self.store_vectors(&list, to, 0);
    }

    /// The low halves of lanes of so many bytes of two vectors.
    fn low_halves(&mut self, a: Val, b: Val, bytes: u8) -> Val {
        let half = bytes / 2;
        let mask: Vec<u8> = (0..16).map(|i| i / half * bytes + i % half).collect();
        let mask = self.b.func.dfg.immediates.push(ir::ConstantData::from(&mask[..]));
        let [a, b] = [a, b].map(|v| self.cast(types::I8X16, v));
        self.b.ins().shuffle(a, b, mask)
    }

    /// Calls a function for code that is executed for each lane of a mask in turn, with the lane's
    /// number.
    pub(super) fn for_each_lane(&mut self, lanes: Val, body: impl FnOnce(&mut Self, Val)) {
        let [head, one, done] = [(); 3].map(|()| self.b.create_block());
        let left = self.b.append_block_param(head, types::I32);
        self.b.ins().jump(head, &[lanes.into()]);
        self.b.switch_to_block(head);
        self.b.ins().brif(left, one, [], done, []);
        self.b.seal_block(one);
        self.b.seal_block(done);
        self.b.switch_to_block(one);
        let lane = self.b.ins().ctz(left);
        let lane = self.widened(lane);
        body(self, lane);
        let less = self.b.ins().iadd_imm_s(left, -1);
        let rest = self.b.ins().band(left, less);
        self.b.ins().jump(head, &[rest.into()]);
        self.b.seal_block(head);
        self.b.switch_to_block(done);
    }

    /// Returns the type of a lane of a word.
    pub(super) fn lane_type(access: &Access) -> ir::Type {
        lanes_type(access.word == 8).lane_type()
    }
}
