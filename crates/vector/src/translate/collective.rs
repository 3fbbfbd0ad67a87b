//! Warp collectives whose member lanes are all active. Where members are missing or lanes name
//! different members, the interpreter executes the step.

use super::step::On;
use super::{Translator, Untranslated, Var};
use crate::function::{Condition, Type, Value};
use crate::op::{Counter, Home, LaneOp, MaskOp, Op, reduction};
use fast::code::{Collective, Dst, Kind, Src};
use fast::ops::{Logic, Native, Op64, Rel, Test};
use ir::mods::{Shuffle, Vote};
use vm::CollectiveKind;

const TY: Type = Type::Row32;

/// Returns whether a collective has a form.
pub(super) fn has_form(what: &Collective) -> bool {
    // A scalar has what all lanes have, not what some lanes do.
    let apart = |d: &Dst| !matches!(d, Dst::Pair(..) | Dst::Scalar(_));
    let none_or_word = |d: &Dst| matches!(d, Dst::None | Dst::Narrow(_) | Dst::Scalar(_));
    let none_or_pred = |d: &Dst| matches!(d, Dst::None | Dst::Pred(_));
    match what.what.kind() {
        CollectiveKind::Shuffle(_) => {
            what.src.len() == 3
                && what.dst.iter().all(apart)
                && what.dst.first().is_none_or(none_or_word)
                && what.dst.get(1).is_none_or(none_or_pred)
        }
        CollectiveKind::Vote(_) => {
            matches!(what.src.first(), Some(Src::Pred(_) | Src::Line(_, 0, _) | Src::Const(_)))
                && !matches!(what.dst.first(), Some(Dst::Pair(..)))
        }
        CollectiveKind::Redux { op, ty, .. } => {
            reduction(op, ty).is_some() && what.dst.first().is_none_or(none_or_word)
        }
        CollectiveKind::Match { all: true, bits } => {
            matches!(bits, 32 | 64) && !what.dst.iter().any(|d| matches!(d, Dst::Pair(..)))
        }
        CollectiveKind::Match { bits, .. } => matches!(bits, 32 | 64) && what.dst.iter().all(apart),
        CollectiveKind::Elect => {
            what.dst.first().is_none_or(none_or_word) && what.dst.get(1).is_none_or(none_or_pred)
        }
        CollectiveKind::ActiveMask => what.dst.first().is_none_or(none_or_word),
        CollectiveKind::Sync => true,
        CollectiveKind::Matrix(_) | CollectiveKind::WarpGroup(_) => false,
    }
}

impl Translator<'_> {
    pub(super) fn collective(
        &mut self,
        what: &Collective,
        kind: &Kind,
        on: On,
    ) -> Result<(), Untranslated> {
        let lanes = self.bits(on.lanes);
        let apart = what.members.map(|members| self.apart(members, lanes, on));
        let Some(apart) = self.and_screened(apart, lanes) else {
            self.bump(Counter::UnnamedCollectives, 1);
            self.meet(what, lanes, on);
            return Ok(());
        };
        let counter = match what.members {
            Some(_) => Counter::Collectives,
            None => Counter::UnnamedCollectives,
        };
        let bit = self.one(Op::IsNonzero, &[apart], Type::Scalar);
        let (slow, fast) = self.branch(Condition::Bit(bit));
        let done = self.function.add_block();
        self.block = slow;
        self.interpret(kind, on)?;
        self.jump(done);
        self.block = fast;
        self.bump(counter, 1);
        self.meet(what, lanes, on);
        self.jump(done);
        self.block = done;
        Ok(())
    }

    /// In screened launches, adds the lanes that are off to those that the interpreter is to judge.
    fn and_screened(&mut self, apart: Option<Value>, lanes: Value) -> Option<Value> {
        if self.code.screened.is_none() {
            return apart;
        }
        let all = self.constant(u32::MAX.into(), Type::Scalar);
        let off = self.scalar_of(Op64::Xor, [lanes, all]);
        Some(apart.map_or(off, |apart| self.scalar_of(Op64::Or, [apart, off])))
    }

    fn scalar_of(&mut self, op: Op64, args: [Value; 2]) -> Value {
        let zero = self.constant(0, Type::Scalar);
        self.one(Op::Scalar(Native::Wide(op)), &[args[0], args[1], zero], Type::Scalar)
    }

    fn splat(&mut self, scalar: Value) -> Value {
        self.one(Op::Splat, &[scalar], TY)
    }

    /// Returns a scalar that is 0 if the active lanes are the members that have not ended.
    fn apart(&mut self, members: Src, lanes: Value, on: On) -> Value {
        let row = match members {
            Src::Const(_) | Src::Line(_, 0, _) => None,
            _ => Some(self.row32(members)),
        };
        let named = match row {
            None => self.scalar(members),
            Some(row) => {
                let leader = self.one(Op::LowestBit, &[lanes], Type::Scalar);
                let leader = self.splat(leader);
                let named = self.one(Op::Permute, &[row, leader], TY);
                self.one(Op::First, &[named], Type::Scalar)
            }
        };
        let differ = self.scalar_of(Op64::Xor, [named, lanes]);
        let live = self.one(Op::Live, &[], Type::Scalar);
        // Active lanes are live, too.
        let apart = self.scalar_of(Op64::And, [differ, live]);
        let Some(row) = row else { return apart };
        let all = self.splat(named);
        let others = self.one(Op::Test(Test::U(Rel::Ne)), &[row, all], Type::Mask);
        let others = self.one(Op::Mask(MaskOp::And), &[others, on.lanes], Type::Mask);
        let others = self.bits(others);
        self.scalar_of(Op64::Or, [apart, others])
    }

    /// Computes the results of a collective of all active lanes, whose bits are `lanes`.
    fn meet(&mut self, what: &Collective, lanes: Value, on: On) {
        let dst = |i: usize| what.dst.get(i).copied().unwrap_or(Dst::None);
        match what.what.kind() {
            CollectiveKind::Shuffle(mode) => self.shuffle(mode, what, lanes, on),
            CollectiveKind::Vote(vote) => {
                let result = self.vote(vote, what.src[0], lanes, on);
                self.put_same(dst(0), result, on);
            }
            CollectiveKind::Redux { op, ty, .. } => {
                let Some((op, neutral)) = reduction(op, ty) else { return };
                let row = self.row32(what.src[0]);
                let neutral = self.constant(neutral.into(), TY);
                let row = self.one(Op::Select, &[on.lanes, row, neutral], TY);
                let result = self.one(Op::Reduce(op), &[row], Type::Scalar);
                self.put_same(dst(0), result, on);
            }
            CollectiveKind::Match { all, bits } => {
                let mut rows = vec![on.lanes, self.row32(what.src[0])];
                if bits == 64 {
                    rows.push(self.high_words(what.src[0]));
                }
                if all {
                    self.match_all(&rows[1..], [dst(0), dst(1)], lanes, on);
                } else if let Dst::Narrow(row) = dst(0) {
                    let value = self.one(Op::Match, &rows, TY);
                    self.put(Home::Narrow(row), value, on);
                }
            }
            CollectiveKind::Elect => {
                let leader = self.one(Op::LowestBit, &[lanes], Type::Scalar);
                self.put_same(dst(0), leader, on);
                if let Dst::Pred(pred) = dst(1) {
                    let minus = self.scalar_of(Op64::Neg, [lanes, lanes]);
                    let lowest = self.scalar_of(Op64::And, [lanes, minus]);
                    let mask = self.one(Op::MaskOfBits, &[lowest], Type::Mask);
                    self.put(Home::Pred(pred), mask, on);
                }
            }
            CollectiveKind::ActiveMask => self.put_same(dst(0), lanes, on),
            CollectiveKind::Sync | CollectiveKind::Matrix(_) | CollectiveKind::WarpGroup(_) => {}
        }
    }

    /// Writes a scalar as the result of all lanes.
    fn put_same(&mut self, dst: Dst, value: Value, on: On) {
        match dst {
            Dst::None | Dst::Pair(..) => {}
            Dst::Scalar(i) => self.write(Var::Home(Home::Scalar(i)), value),
            Dst::Pred(i) => {
                let mask = self.one(Op::MaskOfScalar, &[value], Type::Mask);
                self.put(Home::Pred(i), mask, on);
            }
            Dst::Narrow(i) => {
                let row = self.splat(value);
                self.put(Home::Narrow(i), row, on);
            }
            Dst::Wide(i) => {
                let row = self.one(Op::Splat, &[value], Type::Row64);
                self.put(Home::Wide(i), row, on);
            }
        }
    }

    fn high_words(&mut self, src: Src) -> Value {
        let row = self.row64(src);
        let by = self.constant(32, Type::Row64);
        let high = self.lanes(LaneOp::Shr, &[row, by], Type::Row64);
        self.one(Op::Low, &[high], TY)
    }

    fn vote(&mut self, vote: Vote, src: Src, lanes: Value, on: On) -> Value {
        let p = self.mask(src);
        let is_none = |this: &mut Self, op: MaskOp| {
            let mask = this.one(Op::Mask(op), &[on.lanes, p], Type::Mask);
            let bits = this.bits(mask);
            let any = this.one(Op::IsNonzero, &[bits], Type::Scalar);
            this.one(Op::Scalar(Native::Logic(Logic::Not)), &[any, any, any], Type::Scalar)
        };
        match vote {
            Vote::Ballot => {
                let bits = self.bits(p);
                self.scalar_of(Op64::And, [bits, lanes])
            }
            Vote::All => is_none(self, MaskOp::AndNot),
            Vote::Any => {
                let bits = self.bits(p);
                let bits = self.scalar_of(Op64::And, [bits, lanes]);
                self.one(Op::IsNonzero, &[bits], Type::Scalar)
            }
            Vote::Uni => {
                let (all, none) = (is_none(self, MaskOp::AndNot), is_none(self, MaskOp::And));
                self.scalar_of(Op64::Or, [all, none])
            }
        }
    }

    fn match_all(&mut self, rows: &[Value], [to, holds]: [Dst; 2], lanes: Value, on: On) {
        let leader = self.one(Op::LowestBit, &[lanes], Type::Scalar);
        let leader = self.splat(leader);
        let mut others = self.constant(0, Type::Mask);
        for &row in rows {
            let value = self.one(Op::Permute, &[row, leader], TY);
            let other = self.one(Op::Test(Test::U(Rel::Ne)), &[row, value], Type::Mask);
            others = self.one(Op::Mask(MaskOp::Or), &[others, other], Type::Mask);
        }
        let others = self.one(Op::Mask(MaskOp::And), &[others, on.lanes], Type::Mask);
        let others = self.bits(others);
        let any = self.one(Op::IsNonzero, &[others], Type::Scalar);
        let not = Op::Scalar(Native::Logic(Logic::Not));
        let all = self.one(not, &[any, any, any], Type::Scalar);
        let select = Op::Scalar(Native::Select { wide: false });
        let zero = self.constant(0, Type::Scalar);
        let value = self.one(select, &[lanes, zero, all], Type::Scalar);
        self.put_same(to, value, on);
        self.put_same(holds, all, on);
    }

    /// Each lane's value of the lane that it names, if that is on; else its own.
    fn shuffle(&mut self, mode: Shuffle, what: &Collective, lanes: Value, on: On) {
        let (from, inside) = match &what.pattern {
            Some((from, inside)) => {
                let from = Box::new(from.map(u32::from));
                let inside = self.constant((*inside).into(), Type::Mask);
                (self.one(Op::LaneConst(from), &[], TY), inside)
            }
            None => self.sources(mode, what.src[1], what.src[2]),
        };
        if let Some(&Dst::Narrow(row)) = what.dst.first() {
            let own = self.row32(what.src[0]);
            let value = self.one(Op::Permute, &[own, from], TY);
            let moves = what.pattern.as_ref().and_then(|(from, _)| Moves::of(from));
            let is_on = match moves {
                Some(moves) => self.moved(&moves, lanes),
                None => self.bits_at(lanes, from),
            };
            let value = self.one(Op::Select, &[is_on, value, own], TY);
            self.put(Home::Narrow(row), value, on);
        }
        if let Some(&Dst::Pred(pred)) = what.dst.get(1) {
            self.put(Home::Pred(pred), inside, on);
        }
    }

    /// Returns the lanes whose lane in a row is among some.
    fn bits_at(&mut self, lanes: Value, row: Value) -> Value {
        let lanes = self.splat(lanes);
        let bit = self.lanes(LaneOp::Shr, &[lanes, row], TY);
        let (one, zero) = (self.constant(1, TY), self.constant(0, TY));
        let bit = self.lanes(LaneOp::And, &[bit, one], TY);
        self.one(Op::Test(Test::U(Rel::Ne)), &[bit, zero], Type::Mask)
    }

    /// Returns the lanes whose source is among some; anything for lanes that are their own source.
    fn moved(&mut self, moves: &Moves, lanes: Value) -> Value {
        let shifted = |this: &mut Self, by: i32| {
            let op = if by < 0 { Op64::Shl } else { Op64::ShrU };
            let amount = this.constant(by.unsigned_abs().into(), Type::Scalar);
            if by == 0 { lanes } else { this.scalar_of(op, [lanes, amount]) }
        };
        match *moves {
            Moves::From(lane) => {
                let bit = shifted(self, lane as i32);
                self.one(Op::MaskOfScalar, &[bit], Type::Mask)
            }
            Moves::By(by) => {
                let bits = shifted(self, by);
                self.one(Op::MaskOfBits, &[bits], Type::Mask)
            }
            Moves::Two(moves) => {
                let [a, b] = moves.map(|(by, to)| {
                    let (bits, to) = (shifted(self, by), self.constant(to.into(), Type::Scalar));
                    self.scalar_of(Op64::And, [bits, to])
                });
                let bits = self.scalar_of(Op64::Or, [a, b]);
                self.one(Op::MaskOfBits, &[bits], Type::Mask)
            }
        }
    }

    /// Returns the source of each lane by a lane or distance and a segment, and the lanes whose
    /// source is inside of the segment.
    fn sources(&mut self, mode: Shuffle, by: Src, segment: Src) -> (Value, Value) {
        let lane = self.one(Op::LaneConst(Box::new(std::array::from_fn(|i| i as u32))), &[], TY);
        let low = self.constant(0x1f, TY);
        let by = self.row32(by);
        let by = self.lanes(LaneOp::And, &[by, low], TY);
        let c = self.row32(segment);
        let eight = self.constant(8, TY);
        let segment = self.lanes(LaneOp::Shr, &[c, eight], TY);
        let segment = self.lanes(LaneOp::And, &[segment, low], TY);
        let clamp = self.lanes(LaneOp::And, &[c, low], TY);
        // Bits of the segment are the lane's; others are free.
        let choice = LaneOp::Table(0xca);
        let most = self.lanes(choice, &[segment, lane, clamp], TY);
        let from = match mode {
            Shuffle::Up => self.lanes(LaneOp::Sub, &[lane, by], TY),
            Shuffle::Down => self.lanes(LaneOp::Add, &[lane, by], TY),
            Shuffle::Bfly => self.lanes(LaneOp::Xor, &[lane, by], TY),
            Shuffle::Idx => self.lanes(choice, &[segment, lane, by], TY),
        };
        let relation = if let Shuffle::Up = mode { Rel::Ge } else { Rel::Le };
        let inside = self.one(Op::Test(Test::S(relation)), &[from, most], Type::Mask);
        (self.one(Op::Select, &[inside, from, lane], TY), inside)
    }
}

/// The lanes that lanes have as their source, but for those that are their own.
enum Moves {
    /// One lane.
    From(u8),
    /// The lane so far above each.
    By(i32),
    /// The lanes so far above each of some lanes and each of others.
    Two([(i32, u32); 2]),
}

impl Moves {
    /// Returns the sources of a pattern, if they are of one of these kinds.
    fn of(pattern: &[u8; 32]) -> Option<Self> {
        if pattern.iter().all(|&from| from == pattern[0]) {
            return Some(Self::From(pattern[0]));
        }
        let mut moves: Vec<(i32, u32)> = Vec::new();
        for (lane, &from) in pattern.iter().enumerate() {
            let by = i32::from(from) - lane as i32;
            match moves.iter_mut().find(|other| other.0 == by) {
                Some((_, lanes)) => *lanes |= 1 << lane,
                None if by != 0 => moves.push((by, 1 << lane)),
                None => {}
            }
        }
        match moves[..] {
            [] => Some(Self::By(0)),
            [(by, _)] => Some(Self::By(by)),
            [a, b] => Some(Self::Two([a, b])),
            _ => None,
        }
    }
}
