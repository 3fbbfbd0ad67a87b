//! Places where a warp may stop: the ends of turns, barriers.

use super::values::{CHECKED, Place, lanes_type, parts};
use super::{AGAIN, Lowering, Val, Vals};
use crate::frame::{ENTRY_BLOCK, ENTRY_LANES, Frame};
use crate::machine_code::{KeptAt, ResumePoint};
use crate::warp_context::{BarrierState, NO_BARRIER, WarpContext};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder};
use ir::mods;
use vector::{Await, Barrier, Inst, Standing, Value};

/// A value in the seat.
struct Kept {
    value: Value,
    place: Place,
    at: i64,
}

/// Bytes of a row in the seat, or of something else.
fn size_of_place(place: &Place) -> i64 {
    match place {
        Place::Row(list) => 16 * list.len() as i64,
        Place::Scalar(_) | Place::Mask(_) => 8,
        Place::Const(_) => 0,
    }
}

impl Lowering<'_> {
    /// The end of a turn, if no back-edge is left in it.
    pub(super) fn back_edge(&mut self, inst: Inst, standing: &Standing, args: &[Value]) {
        let left = self.load32(self.frame, Frame::BACK_EDGES_LEFT);
        let left = self.b.ins().iadd_imm_s(left, -1);
        self.put_at(left, self.frame, Frame::BACK_EDGES_LEFT);
        let over = self.b.ins().icmp_imm_s(IntCC::SignedLessThanOrEqual, left, 0);
        let running = self.mask(args[0]);
        let [stop, on] = self.branch_unsealed(over);
        self.b.switch_to_block(stop);
        self.place_warp(standing, running);
        let again = self.iconst(AGAIN);
        self.put_at(again, self.context, WarpContext::START);
        self.stand(inst, standing, &args[1..], on);
    }

    /// Branches to a new cold block, or goes on in one that warps also come to when they continue.
    fn branch_unsealed(&mut self, holds: Val) -> [Block; 2] {
        let [stop, on] = [(); 2].map(|()| self.b.create_block());
        self.b.set_cold_block(stop);
        self.b.ins().brif(holds, stop, [], on, []);
        self.b.seal_block(stop);
        [stop, on]
    }

    /// Has the warp stand at a place, where the interpreter may ask for it.
    fn place_warp(&mut self, standing: &Standing, running: Val) {
        let top = self.load64(self.context, WarpContext::TOP);
        let block = self.iconst32(standing.block);
        self.put_at(block, top, ENTRY_BLOCK);
        self.put_at(running, top, ENTRY_LANES);
        let point = self.iconst32(self.lowered.points.len() as u32);
        self.put_at(point, self.context, WarpContext::RESUME);
    }

    /// Stores what lives and what the interpreter may ask for, and leaves the turn. The warp
    /// continues in a block, which is the current one then.
    fn stand(&mut self, inst: Inst, standing: &Standing, values: &[Value], on: Block) {
        let live = self.live.after(inst);
        let kept = self.seats(&live, values);
        let seat = self.load64(self.context, WarpContext::SEAT);
        for one in &kept {
            self.save(one, seat);
        }
        self.add_point(standing, values, &kept);
        let at = self.iconst(self.resumes.len() as u64);
        self.put_at(at, self.context, WarpContext::AT);
        self.leave(0);
        let resume = self.b.create_block();
        self.resumes.push(resume);
        self.b.switch_to_block(resume);
        let seat = self.load64(self.context, WarpContext::SEAT);
        for one in &kept[..live.len()] {
            self.restore(one, seat);
        }
        self.join(on);
        self.lanes.clear();
    }

    /// Returns where values are in the seat: rows first, whose vectors are aligned. The first ones
    /// are those that live.
    fn seats(&mut self, live: &[Value], asked: &[Value]) -> Vec<Kept> {
        let rest = asked.iter().filter(|v| live.binary_search(v).is_err());
        let mut kept: Vec<Kept> = live
            .iter()
            .chain(rest)
            .map(|&value| {
                let place = self.places[value.index()].clone();
                Kept { value, place: place.unwrap_or(Place::Const(0)), at: 0 }
            })
            .collect();
        let mut bytes = 0;
        for rows in [true, false] {
            let these = kept.iter_mut().filter(|k| matches!(k.place, Place::Row(_)) == rows);
            for one in these {
                one.at = bytes;
                bytes += size_of_place(&one.place);
            }
        }
        self.lowered.seat_bytes = self.lowered.seat_bytes.max(bytes as usize);
        kept
    }

    fn save(&mut self, kept: &Kept, seat: Val) {
        match &kept.place {
            Place::Const(_) => {}
            Place::Scalar(part) => {
                let value = self.get(*part);
                self.put_at(value, seat, kept.at);
            }
            Place::Mask(part) => {
                let bits = self.get(*part);
                let bits = self.widened(bits);
                self.put_at(bits, seat, kept.at);
            }
            Place::Row(list) => {
                let list: Vals = list.iter().map(|part| self.get(*part)).collect();
                self.store_vectors(&list, seat, kept.at);
            }
        }
    }

    fn restore(&mut self, kept: &Kept, seat: Val) {
        match &kept.place {
            Place::Const(_) => {}
            Place::Scalar(part) => {
                let value = self.load64(seat, kept.at);
                self.define(*part, value);
            }
            Place::Mask(part) => {
                let bits = self.load32(seat, kept.at);
                self.define(*part, bits);
            }
            Place::Row(list) => {
                let ty = lanes_type(self.is_wide(kept.value));
                for (i, part) in list.iter().enumerate() {
                    let at = (kept.at + 16 * i as i64) as i32;
                    let value = self.b.ins().load(ty, CHECKED, seat, at);
                    self.define(*part, value);
                }
            }
        }
    }

    /// Adds a point where warps stand, with the places of values that the interpreter may ask for.
    fn add_point(&mut self, standing: &Standing, values: &[Value], kept: &[Kept]) {
        let of = |value: &Value| {
            let one = kept.iter().find(|one| one.value == *value)?;
            Some(match &one.place {
                Place::Const(bits) => KeptAt::Const(*bits),
                // The only vector of a row is each of them.
                Place::Row(list) if list.len() == 1 => {
                    KeptAt::Seat(vec![one.at; parts(self.is_wide(*value))])
                }
                _ => KeptAt::Seat(vec![one.at]),
            })
        };
        let kept = standing.homes.iter().zip(values);
        let kept = kept.filter_map(|(&home, value)| Some((home, of(value)?))).collect();
        self.lowered.points.push(ResumePoint { after: standing.step, kept });
    }

    /// Lanes arrive at a barrier, and the warp waits, unless it is the last one. The arguments are
    /// those of [`vector::Op::Barrier`].
    pub(super) fn barrier(
        &mut self,
        inst: Inst,
        barrier: &Barrier,
        args: &[Value],
        result: Option<Value>,
    ) {
        let running = self.mask(args[0]);
        let lanes = self.mask(args[1]);
        let number = self.s(args[2]);
        let name = self.b.ins().iadd_imm_s(number, 1);
        let name = self.low_word(name);
        let state = self.field64(Frame::BARRIER_STATE);
        let one = self.iconst(1);
        self.add_to(one, self.frame, Frame::ARRIVALS);
        // The state of the barrier.
        let bytes = self.b.ins().ishl_imm_u(number, 2);
        let of = self.b.ins().iadd(state, bytes);
        let arrived = self.load32(of, BarrierState::ARRIVED);
        let count = self.b.ins().popcnt(lanes);
        let count = self.b.ins().iadd(count, arrived);
        let holding = self.mask(args[3]);
        let holding = self.b.ins().band(holding, lanes);
        let holding = self.b.ins().popcnt(holding);
        let before = self.load32(of, BarrierState::HOLDING);
        let holding = self.b.ins().iadd(holding, before);
        let live = self.load32(state, BarrierState::LIVE);
        let complete = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, count, live);
        let [release, wait] = self.branch(complete);
        let on = self.b.create_block();
        self.b.switch_to_block(release);
        let none = self.iconst32(0);
        self.put_at(none, of, BarrierState::ARRIVED);
        self.put_at(none, of, BarrierState::HOLDING);
        if result.is_some() {
            self.put_at(count, self.context, WarpContext::BARRIER_LANES);
            self.put_at(holding, self.context, WarpContext::BARRIER_HOLDING);
        }
        self.call_release(&[name, count, holding]);
        self.b.ins().jump(on, []);
        self.b.switch_to_block(wait);
        self.put_at(count, of, BarrierState::ARRIVED);
        self.put_at(holding, of, BarrierState::HOLDING);
        let waiting = self.load32(state, BarrierState::WAITING);
        let waiting = self.b.ins().iadd_imm_s(waiting, 1);
        self.put_at(waiting, state, BarrierState::WAITING);
        self.wait(&barrier.standing, running, name);
        self.stand(inst, &barrier.standing, &args[4..], on);
        if result.is_some() {
            self.barrier_result(barrier.kind, result);
        }
    }

    /// Has the warp wait at a barrier.
    fn wait(&mut self, standing: &Standing, running: Val, name: Val) {
        self.place_warp(standing, running);
        self.put_at(name, self.context, WarpContext::WAITS);
        self.put_at(running, self.context, WarpContext::ON);
        let none = self.iconst(0);
        self.put_at(none, self.context, WarpContext::START);
    }

    fn barrier_result(&mut self, kind: mods::Barrier, result: Option<Value>) {
        let holding = self.load32(self.context, WarpContext::BARRIER_HOLDING);
        let lanes = self.load32(self.context, WarpContext::BARRIER_LANES);
        let value = match kind {
            mods::Barrier::RedPopc => holding,
            mods::Barrier::RedAnd => self.b.ins().icmp(IntCC::Equal, holding, lanes),
            _ => self.b.ins().icmp_imm_s(IntCC::NotEqual, holding, 0),
        };
        self.put_scalar(result, value);
    }

    /// Has the warp wait if the step that the interpreter has executed says so, then loads the
    /// step's results.
    pub(super) fn wait_after_step(
        &mut self,
        inst: Inst,
        wait: &Await,
        args: &[Value],
        results: &[Value],
    ) {
        let running = self.mask(args[0]);
        let parked = self.load32(self.frame, Frame::PARKED);
        let [stop, on] = self.branch_unsealed(parked);
        self.b.switch_to_block(stop);
        let name = self.iconst32(NO_BARRIER);
        self.wait(&wait.standing, running, name);
        self.stand(inst, &wait.standing, &args[1..], on);
        self.take_results(&wait.results, results);
    }
}
