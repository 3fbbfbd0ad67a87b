//! Operations on the lanes of a warp together.

use super::values::parts;
use super::{Lowering, Val, Vals};
use crate::frame::Frame;
use cranelift_codegen::ir::{InstBuilder, types};
use vector::{LaneOp, Value};

/// Replaces a row by the lanes among some that have the same values of so many rows, as bits.
pub(crate) fn match_lanes(room: &mut [[u32; 32]; 10], lanes: u32, rows: usize) {
    let mut found = [0; 32];
    let rows = &room[..rows.min(room.len())];
    for (lane, bits) in found.iter_mut().enumerate() {
        for other in (0..32).filter(|other| lanes >> other & 1 != 0) {
            let same = rows.iter().all(|row| row[lane] == row[other]);
            *bits |= u32::from(same) << other;
        }
    }
    room[0] = found;
}

impl Lowering<'_> {
    /// A constant of its own in each lane.
    pub(super) fn lane_const(&mut self, lanes: &[u32; 32], result: Option<Value>) {
        let list: Vals = (0..parts(false))
            .map(|part| self.lane_consts(false, |i| lanes[4 * part + i].into()))
            .collect();
        self.put_row(result, &list);
    }

    /// Returns the address of a word of the frame's room for lanes, by a number.
    fn room_word(&mut self, index: Val, bytes: i64) -> Val {
        let index = self.widened(index);
        let at = self.b.ins().imul_imm_u(index, bytes);
        let at = self.b.ins().iadd(self.frame, at);
        self.b.ins().iadd_imm_s(at, Frame::LANE_ROOM)
    }

    /// The values of the lanes that the second row numbers, by way of memory.
    pub(super) fn permute(&mut self, args: &[Value], result: Option<Value>) {
        if self.is_uniform(args[0]) {
            let only = self.v(args[0], 0);
            return self.put_row(result, &[only]);
        }
        let words = self.row(args[0]);
        self.store_room(&words, 0);
        self.each_part(&args[1..], result, |this, part| {
            let numbers = this.v(args[1], part);
            let lanes: Vals = (0..4)
                .map(|i| {
                    let lane = this.b.ins().extractlane(numbers, i);
                    let lane = this.b.ins().band_imm_s(lane, 31);
                    let at = this.room_word(lane, 4);
                    this.load32(at, 0)
                })
                .collect();
            this.gathered(&lanes)
        });
    }

    /// All lanes as one value.
    pub(super) fn reduce(&mut self, op: LaneOp, row: Value, result: Option<Value>) {
        let mut list = self.row(row);
        while list.len() > 1 {
            let pairs: Vec<[Val; 2]> = list.chunks(2).map(|p| [p[0], p[1]]).collect();
            list = pairs.iter().map(|&[a, b]| self.lanes_of_two(op, a, b, false)).collect();
        }
        let mut value = list[0];
        for lanes in [[2, 3, 0, 1], [1, 0, 3, 2]] {
            let other = self.shuffled(value, value, lanes);
            value = self.lanes_of_two(op, value, other, false);
        }
        let lane = self.b.ins().extractlane(value, 0);
        self.put_scalar(result, lane);
    }

    /// The lanes of a mask that have the same values of all rows.
    pub(super) fn match_rows(&mut self, args: &[Value], result: Option<Value>) {
        let lanes = self.mask(args[0]);
        for (i, &arg) in args[1..].iter().enumerate() {
            let list = self.row(arg);
            self.store_room(&list, 128 * i as i64);
        }
        let rows = self.iconst32(args.len() as u32 - 1);
        self.call_helper(self.helpers.match_lanes, &[lanes, rows]);
        let list = self.load_room(0, false);
        self.put_row(result, &list);
    }

    /// What the lowest lane of a mask has in a row.
    pub(super) fn first_lane(&mut self, args: &[Value], result: Option<Value>) {
        let wide = self.is_wide(args[1]);
        let list = self.row(args[1]);
        self.store_room(&list, 0);
        let bits = self.mask(args[0]);
        let lane = self.b.ins().ctz(bits);
        let (ty, bytes) = if wide { (types::I64, 8) } else { (types::I32, 4) };
        let at = self.room_word(lane, bytes);
        let value = self.b.ins().load(ty, super::values::SHARED, at, 0);
        self.put_scalar(result, value);
    }
}
