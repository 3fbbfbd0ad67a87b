//! The 64-bit forms: their active lanes, computations and results.
//!
//! An instruction is lane-wise if any operand is a lane queue or reads `lc0`, or if it produces a
//! mask, reduces, shuffles or selects lanes; else it runs once for the group, on 64 bits. Lanes
//! that are off compute nothing. A push to a lane queue happens whatever the mask is, so that
//! positions in queues do not depend on it.

use simt::arith::{Flags, FpEnv};
use simt::mask::WarpMask;
use simt::observe::{Events, Issue, Observer, Pc};
use simt::slots::{Domain, IssueLanes};

use crate::action::{Alu, Convert, Float, Reduce, Shuffle, Simt, VOp};
use crate::body::Stop;
use crate::compute::{
    FloatType, alu, bit_field, divide, extend, float_op, float_to_float, float_to_int,
    int_to_float, int_type, ones, test,
};
use crate::conflict::{Commuting, Shared, Usage};
use crate::insn::Insn;
use crate::regid::{self, Dest, Place, Reg, Source};
use crate::rows::{Row, alu_row};
use crate::scalar::push;
use crate::state::{Body, Group, Inactive, POISON, Phase, State};
use crate::trap::Trap;

/// Operands of a 64-bit form.
#[derive(Clone, Copy)]
pub(crate) struct Operands {
    pub(crate) l: Option<Source>,
    pub(crate) r: Option<Source>,
    pub(crate) a: Option<Source>,
    pub(crate) dest: Option<Dest>,
}

/// Lane sets of an issue.
#[derive(Clone, Copy)]
pub(crate) struct Lanes {
    /// Whether it is lane-wise.
    pub(crate) vector: bool,
    /// Lanes that the group has.
    pub(crate) valid: WarpMask,
    /// Lanes that run; only lane 0 if it runs once.
    pub(crate) on: WarpMask,
}

pub(crate) const LANES: usize = 64;

impl State {
    pub(crate) fn body_group(&self) -> Option<(&Body, &Group)> {
        match &self.phase {
            Phase::Body(body) => Some((body, body.group.as_ref()?)),
            _ => None,
        }
    }

    pub(crate) fn group_mut(&mut self) -> Option<&mut Group> {
        match &mut self.phase {
            Phase::Body(body) => body.group.as_deref_mut(),
            _ => None,
        }
    }

    pub(crate) fn execute_vector<O: Observer<1>>(
        &mut self,
        i: &Insn,
        op: VOp,
        pc: u64,
        observer: &mut O,
    ) -> Result<(), Stop> {
        let illegal = |why: String| (Trap::illegal(pc, why).in_body(), WarpMask::EMPTY);
        let ops = operands(i, op);
        let lanes = self.lanes(i, op, &ops);
        legal(op, &ops, lanes.vector).map_err(|why| illegal(why.to_owned()))?;
        self.count_unwritten(&ops, pc);
        let p = self.group_mask();
        self.note_export(op, &ops, pc);
        match op {
            VOp::Load(..) | VOp::Store(..) | VOp::Atomic(..) | VOp::QPush | VOp::QPop => {
                self.execute_memory(i, op, &ops, lanes, pc, observer)?;
            }
            VOp::Reduce(op) => self.reduce(op, &ops, lanes),
            VOp::Shuffle(way, immediate) => {
                let values = self.shuffle(i, way, immediate, &ops, lanes);
                self.put(&ops, lanes, &values);
            }
            VOp::Psel => {
                let values = self.psel(i, &ops, lanes);
                self.put(&ops, Lanes { on: lanes.valid, ..lanes }, &values);
            }
            _ => {
                let values = self.compute(i, op, &ops, lanes).map_err(illegal)?;
                self.put(&ops, lanes, &values);
            }
        }
        let counted = if op == VOp::Psel { Lanes { on: lanes.valid, ..lanes } } else { lanes };
        self.count(counted, p, pc, observer);
        Ok(())
    }

    /// Records an export. That of a parallel kernel is the last group's, or a reduction over
    /// groups.
    fn note_export(&mut self, op: VOp, ops: &Operands, pc: u64) {
        let Some(Place::Ro(index)) = ops.dest.map(|d| d.place) else { return };
        let usage = match op {
            // The order of groups affects the rounding.
            VOp::Reduce(Reduce::FAdd) => Usage::Update(None),
            VOp::Reduce(op) => Usage::Update(Some(Commuting::Reduction(op))),
            _ => Usage::Write(None),
        };
        self.note(Shared::Export(index), usage, pc);
    }

    /// Returns the lanes on which an instruction runs.
    fn lanes(&self, i: &Insn, op: VOp, ops: &Operands) -> Lanes {
        let none = Lanes { vector: false, valid: WarpMask::EMPTY, on: WarpMask::EMPTY };
        let Some((body, group)) = self.body_group() else { return none };
        let own = |source: &Source| match source.reg {
            Reg::Lane { .. } => true,
            Reg::Lc(0) => !self.options.lc0_group,
            Reg::Lc(_) => body.linear,
            _ => false,
        };
        let vector = is_lane_wise(i, op, ops, own);
        let valid = group.valid;
        let on = match (vector, self.options.replay) {
            (false, _) => WarpMask::first(1),
            (true, true) => valid,
            (true, false) => group.p & valid,
        };
        Lanes { vector, valid, on }
    }

    /// The lanes of the group that `p` leaves on; all where it is only a branch flag.
    pub(crate) fn group_mask(&self) -> Option<WarpMask> {
        let (_, group) = self.body_group()?;
        Some(if self.options.replay { group.valid } else { group.p & group.valid })
    }

    /// Counts an issue before which `p` was this.
    fn count<O: Observer<1>>(
        &mut self,
        lanes: Lanes,
        p: Option<WarpMask>,
        pc: u64,
        observer: &mut O,
    ) {
        if !lanes.vector {
            self.count_uniform_under(p, pc, observer);
            return;
        }
        self.issues += 1;
        let counted = IssueLanes {
            width: self.options.group_width,
            launched: lanes.valid,
            exited: WarpMask::EMPTY,
            waiting: WarpMask::EMPTY,
            active: lanes.valid,
            unmasked: lanes.on,
            on: lanes.on,
        };
        self.slots.vector(&counted);
        if observer.wants(Events::ISSUE) {
            let group = self.group_id();
            observer.issue(&Issue {
                group,
                pc: Pc(pc),
                domain: Domain::Vector,
                lanes: &counted,
                depth: 1,
                // Lanes that take part though `p` turns them off.
                guard_off: p.map_or(0, |p| (lanes.on - p).count()),
            });
        }
    }

    fn count_unwritten(&mut self, ops: &Operands, pc: u64) {
        let Some((_, group)) = self.body_group() else { return };
        let never = |s: &&Source| match s.reg {
            Reg::Lane { hand, depth, .. } => depth >= group.pushed[usize::from(hand) & 3],
            _ => false,
        };
        let reads = [ops.l, ops.r, ops.a];
        let count = reads.iter().flatten().filter(never).count();
        if count > 0 {
            self.unwritten += count as u64;
            self.unwritten_at.get_or_insert(pc);
        }
    }

    /// The register's 64 bits in a lane.
    pub(crate) fn raw(&self, reg: Reg, lane: usize) -> u64 {
        let Some((body, group)) = self.body_group() else { return 0 };
        match reg {
            Reg::Lane { hand, depth, .. } => {
                group.lanes[usize::from(hand) & 3][usize::from(depth) & 3][lane % LANES]
            }
            Reg::Ri(index) => body.imports.get(usize::from(index)).copied().unwrap_or(0),
            Reg::T(depth) => group.t[usize::from(depth) & 3],
            Reg::U(depth) => group.u[usize::from(depth) & 3],
            Reg::Lc(which) => self.counter(body, group, which, lane),
            Reg::Lb(which) => body.lb[usize::from(which) % 3],
            Reg::P => group.p.bits(),
            Reg::TileIn(_) | Reg::TileOut(_) | Reg::Zero => 0,
        }
    }

    fn counter(&self, body: &Body, group: &Group, which: u8, lane: usize) -> u64 {
        let linear = group.first.wrapping_add(lane as u64);
        match (body.linear, which) {
            (false, 0) => linear,
            (false, 1) => group.lc1,
            (false, _) => group.lc2,
            (true, 0) => linear % body.lb[0].max(1),
            (true, 1) => linear / body.lb[0].max(1) % body.lb[1],
            (true, _) => linear / body.lb[0].max(1) / body.lb[1],
        }
    }

    /// A source's value: its low bits, extended by its own suffix.
    pub(crate) fn value(&self, source: Option<Source>, lane: usize) -> u64 {
        source.map_or(0, |s| extend(self.raw(s.reg, lane), s.bits, s.signed))
    }

    /// Computes an operation for all lanes that run.
    fn compute(
        &mut self,
        i: &Insn,
        op: VOp,
        ops: &Operands,
        lanes: Lanes,
    ) -> Result<[u64; LANES], String> {
        let mut out = [0; LANES];
        let (env, mut flags) = (self.env(), Flags::NONE);
        if !lanes.vector {
            let values = [ops.l, ops.r, ops.a].map(|source| self.value(source, 0));
            out[0] = self.one(i, op, ops, values, env, &mut flags)?;
            self.raise(flags);
            return Ok(out);
        }
        let (l, register) = (self.row(ops.l), self.row(ops.r));
        if let VOp::Alu(op) = op {
            return Ok(row_of_alu(i, op, ops, (&l, &register)));
        }
        let a = self.row(ops.a);
        for lane in lanes.on {
            let values = [l[lane], register[lane], a[lane]];
            out[lane] = self.one(i, op, ops, values, env, &mut flags)?;
        }
        if lanes.on.is_empty() {
            // Reserved types are illegal whatever the mask is.
            self.one(i, op, ops, [l[0], register[0], a[0]], env, &mut Flags::default())?;
        }
        self.raise(flags);
        Ok(out)
    }

    fn one(
        &self,
        i: &Insn,
        op: VOp,
        ops: &Operands,
        [l, register, a]: [u64; 3],
        env: FpEnv,
        flags: &mut Flags,
    ) -> Result<u64, String> {
        let bits = ops.l.map_or(64, |s| s.bits);
        let r = if i.has_r {
            modified(i, register)
        } else if i.has_imm {
            i.imm as u64
        } else {
            u64::from(i.shift)
        };
        let unsigned = |s: Option<Source>| s.is_some_and(|s| !s.signed);
        Ok(match op {
            VOp::Alu(op @ (Alu::Max | Alu::Min)) => {
                alu(op, l, register, bits, unsigned(ops.l) && unsigned(ops.r))
            }
            VOp::Alu(op) => alu(op, l, r, bits, false),
            VOp::Madd => l.wrapping_mul(register).wrapping_add(a),
            VOp::Div(remainder) => {
                let (q, rest) = divide(l, register, bits, !unsigned(ops.l));
                if remainder { rest } else { q }
            }
            VOp::Test(op) => u64::from(test(op, l, r, false)),
            VOp::Csel => {
                if a != 0 {
                    l
                } else {
                    modified(i, register)
                }
            }
            VOp::Bits(op) => bit_field(op, l, i.m, i.n, bits),
            VOp::Float(op) => float_op(op, bits, l, register, a, env, flags),
            VOp::Convert(op) => self.convert(i, op, ops, l, env, flags)?,
            _ => 0,
        })
    }

    fn convert(
        &self,
        i: &Insn,
        op: Convert,
        ops: &Operands,
        l: u64,
        env: FpEnv,
        flags: &mut Flags,
    ) -> Result<u64, String> {
        let float = |code| {
            FloatType::of(code).ok_or(format!("float type {code} is reserved or not specified"))
        };
        let int = |code| int_type(code).ok_or(format!("integer type {code} is reserved"));
        let dest = ops.dest.map_or(64, |d| d.bits);
        Ok(match op {
            Convert::FloatFloat => float_to_float(l, float(i.from)?, float(i.to)?, env, flags),
            Convert::FloatInt => {
                let (bits, signed) = int(i.to)?;
                // Toward zero unless the mode says otherwise.
                let toward_zero = env.with_rounding(simt::arith::Rounding::TowardZero);
                let env = if self.frm == 0 { toward_zero } else { env };
                float_to_int(l, float(i.from)?, bits, signed, env, flags)
            }
            Convert::IntInt => {
                let ((from, source), (to, signed)) = (int(i.from)?, int(i.to)?);
                let value = extend(l, from, source);
                if i.to == 7 {
                    u64::from(value != 0)
                } else {
                    extend(value, to, signed) & ones(dest)
                }
            }
            Convert::IntFloat => {
                let (from, signed) = int(i.from)?;
                int_to_float(extend(l, from, signed), signed, float(i.to)?, env, flags)
            }
        })
    }

    /// Selects by the mask, or by a register that is not zero; for all lanes of the group.
    fn psel(&self, i: &Insn, ops: &Operands, lanes: Lanes) -> [u64; LANES] {
        let mut out = [0; LANES];
        let mask = self.body_group().map_or(WarpMask::EMPTY, |(_, g)| g.p);
        let by_mask = ops.a.is_some_and(|s| s.reg == Reg::P);
        for lane in lanes.valid {
            let chosen = if by_mask { mask.contains(lane) } else { self.value(ops.a, lane) != 0 };
            let (l, r) = (self.value(ops.l, lane), self.value(ops.r, lane));
            out[lane] = if chosen { l } else { modified(i, r) };
        }
        out
    }

    /// Lanes beyond the group read their own value.
    fn shuffle(
        &self,
        i: &Insn,
        way: Shuffle,
        immediate: bool,
        ops: &Operands,
        lanes: Lanes,
    ) -> [u64; LANES] {
        let mut out = [0; LANES];
        let n = u64::from(lanes.valid.count()).max(1);
        for lane in lanes.on {
            let delta = if immediate { i.imm as u64 } else { self.value(ops.a, lane) };
            let range = match self.value(ops.r, lane) {
                0 => n,
                range => range,
            };
            let own = lane as u64;
            let (segment, d) = (own - own % range, delta % range);
            let from = match way {
                Shuffle::Up => own.checked_sub(d).filter(|&from| from >= segment),
                Shuffle::Down => {
                    own.checked_add(d).filter(|&from| from < segment.saturating_add(range))
                }
                Shuffle::Idx => segment.checked_add(d),
                Shuffle::Bfly => Some(own ^ (delta % n)),
            };
            let from = from.filter(|&from| from < n).unwrap_or(own);
            out[lane] = self.value(ops.l, from as usize);
        }
        out
    }

    /// Folds the lanes that run, in ascending order.
    fn reduce(&mut self, op: Reduce, ops: &Operands, lanes: Lanes) {
        let (Some(source), Some(dest)) = (ops.l, ops.dest) else { return };
        let start = match (dest.place, self.body_group()) {
            (Place::Ro(index), Some((body, _))) => {
                body.exports.get(usize::from(index)).and_then(|(_, value)| *value)
            }
            _ => None,
        };
        let (env, mut flags) = (self.env(), Flags::NONE);
        let mut total = start.map(|v| extend(v, dest.bits.min(64), source.signed));
        for lane in lanes.on {
            let value = self.value(ops.l, lane);
            total = Some(match total {
                Some(sum) => fold(op, source, sum, value, env, &mut flags),
                // Float extremes have no identity: the first lane is compared with itself.
                None if matches!(op, Reduce::FMax | Reduce::FMin) => {
                    fold(op, source, value, value, env, &mut flags)
                }
                None => fold(op, source, identity(op, source), value, env, &mut flags),
            });
        }
        self.raise(flags);
        let total = total.unwrap_or_else(|| match op {
            // No lane: a NaN, since floats have no greatest value to start from.
            Reduce::FMax | Reduce::FMin => nan(source.bits),
            _ => identity(op, source),
        });
        self.put_scalar(dest, total);
    }

    /// Writes results: a push of all lanes, the mask, or the group's own.
    pub(crate) fn put(&mut self, ops: &Operands, lanes: Lanes, values: &[u64; LANES]) {
        let Some(dest) = ops.dest else { return };
        match (dest.place, lanes.vector) {
            (Place::Lane(hand), _) => self.push_lanes(hand, dest.bits, lanes, values),
            (Place::P, true) => {
                let holds = lanes.on.filter(|lane| values[lane] != 0);
                if let Some(group) = self.group_mut() {
                    group.p = holds;
                }
            }
            _ => self.put_scalar(dest, values[0]),
        }
    }

    fn push_lanes(&mut self, hand: u8, bits: u32, lanes: Lanes, values: &[u64; LANES]) {
        let policy = self.options.inactive;
        let Some(group) = self.group_mut() else { return };
        let hand = usize::from(hand) & 3;
        let queue = &mut group.lanes[hand];
        let mut entry = match policy {
            Inactive::Merge => queue[0],
            Inactive::Zero => [0; LANES],
            Inactive::Poison => [POISON & ones(bits); LANES],
        };
        let (on, cut) = (lanes.on.bits(), ones(bits));
        for (lane, (value, new)) in entry.iter_mut().zip(values).enumerate() {
            // All ones if the lane runs: a choice without a branch.
            let runs = (on >> lane & 1).wrapping_neg();
            *value = *value & !runs | new & cut & runs;
        }
        queue.copy_within(0..3, 1);
        queue[0] = entry;
        group.pushed[hand] = (group.pushed[hand] + 1).min(4);
    }

    fn put_scalar(&mut self, dest: Dest, value: u64) {
        let value = value & ones(dest.bits);
        let Phase::Body(body) = &mut self.phase else { return };
        let Some(group) = &mut body.group else { return };
        match dest.place {
            Place::T => push(&mut group.t, value),
            Place::U => push(&mut group.u, value),
            Place::P => group.p = WarpMask::from_bits(value) & group.valid,
            Place::Ro(index) => {
                if let Some((_, export)) = body.exports.get_mut(usize::from(index)) {
                    *export = Some(value);
                }
            }
            Place::Lane(_) | Place::None(_) => {}
        }
    }
}

/// The right operand after its modifier and shift.
fn modified(i: &Insn, value: u64) -> u64 {
    let value = match i.modifier {
        3 if i.not => !value,
        3 => value.wrapping_neg(),
        _ => value,
    };
    value << i.shift.min(63)
}

/// Computes two-operand arithmetic for all lanes: those that do not run are not looked at.
fn row_of_alu(i: &Insn, op: Alu, ops: &Operands, (l, register): (&Row, &Row)) -> Row {
    let bits = ops.l.map_or(64, |s| s.bits);
    let unsigned = |s: Option<Source>| s.is_some_and(|s| !s.signed);
    if matches!(op, Alu::Max | Alu::Min) {
        return alu_row(op, l, register, bits, unsigned(ops.l) && unsigned(ops.r));
    }
    let r = if i.has_r {
        match (i.modifier, i.shift) {
            (3, _) | (_, 1..) => register.map(|value| modified(i, value)),
            _ => *register,
        }
    } else if i.has_imm {
        [i.imm as u64; LANES]
    } else {
        [u64::from(i.shift); LANES]
    };
    alu_row(op, l, &r, bits, false)
}

/// Returns whether the operation may produce a mask.
fn is_compare(op: VOp) -> bool {
    matches!(op, VOp::Test(_) | VOp::Float(Float::Compare(..)))
}

/// Returns whether an instruction runs on lanes rather than once for the group; `own` says whether
/// a source differs by lane.
fn is_lane_wise(i: &Insn, op: VOp, ops: &Operands, own: impl Fn(&Source) -> bool) -> bool {
    let producer = is_compare(op) && ops.dest.is_some_and(|d| d.place == Place::P);
    [ops.l, ops.r, ops.a].iter().flatten().any(own)
        || ops.dest.is_some_and(|d| matches!(d.place, Place::Lane(_)))
        || i.lane_term
        || producer
        || matches!(op, VOp::Reduce(_) | VOp::Shuffle(..) | VOp::Psel)
}

/// Returns whether an instruction runs on lanes, under the default options.
pub(crate) fn runs_on_lanes(i: &Insn, op: VOp) -> bool {
    let own = |source: &Source| matches!(source.reg, Reg::Lane { .. } | Reg::Lc(0));
    is_lane_wise(i, op, &operands(i, op), own)
}

/// Returns whether the lanes that an instruction runs on are those of the mask, in some kernel.
pub(crate) fn reads_mask(i: &Insn, op: VOp, ops: &Operands) -> bool {
    is_lane_wise(i, op, ops, |source| matches!(source.reg, Reg::Lane { .. } | Reg::Lc(_)))
}

/// Returns the reason that an instruction traps wherever it runs in a kernel of this kind, whose
/// header binds this many source and destination tiles.
pub(crate) fn never_runs(
    i: &Insn,
    op: VOp,
    simt: Simt,
    tiles: (usize, usize),
) -> Option<&'static str> {
    let ops = operands(i, op);
    let vector = runs_on_lanes(i, op);
    let memory =
        matches!(op, VOp::Load(..) | VOp::Store(..) | VOp::Atomic(..) | VOp::QPush | VOp::QPop);
    let base = crate::vmem::base(i, op, &ops).map(|b| b.reg);
    let target = if memory { crate::vmem::target(op, base, simt, tiles).err() } else { None };
    legal(op, &ops, vector).err().or(target)
}

/// Decodes the operands. The table has only legal codes.
pub(crate) fn operands(i: &Insn, op: VOp) -> Operands {
    let stores = matches!(op, VOp::Store(..)) || matches!(op, VOp::Atomic(_, _, false));
    let third = match op {
        VOp::Madd | VOp::Csel | VOp::Psel | VOp::Shuffle(_, false) => true,
        VOp::Store(..) => i.has_r && !i.has_imm,
        VOp::Float(op) => matches!(op, Float::Madd | Float::Msub | Float::Nmadd | Float::Nmsub),
        _ => false,
    };
    Operands {
        l: regid::source(i.l),
        r: if i.has_r { regid::source(i.r) } else { None },
        a: if third { regid::source(i.a) } else { None },
        dest: if stores { None } else { regid::dest(i.rd) },
    }
}

/// Checks that operands fit the operation and its domain.
fn legal(op: VOp, ops: &Operands, vector: bool) -> Result<(), &'static str> {
    let memory =
        matches!(op, VOp::Load(..) | VOp::Store(..) | VOp::Atomic(..) | VOp::QPush | VOp::QPop);
    let base = |s: &Source| matches!(s.reg, Reg::TileIn(_) | Reg::TileOut(_));
    if !memory && [ops.l, ops.r, ops.a].iter().flatten().any(base) {
        return Err("a tile base is not a value");
    }
    if let VOp::Float(float) = op {
        same_width(float, ops)?;
    }
    let Some(dest) = ops.dest else { return Ok(()) };
    match (op, dest.place) {
        (_, Place::None(_)) => Ok(()),
        (VOp::Reduce(_), Place::T | Place::U | Place::Ro(_)) => Ok(()),
        (VOp::Reduce(_), _) => Err("a reduction goes to t, u or an export"),
        (_, Place::P) if is_compare(op) => Ok(()),
        (_, Place::Lane(_)) if vector => Ok(()),
        (_, _) if vector => Err("a lane-wise result goes to a lane queue"),
        _ => Ok(()),
    }
}

fn same_width(op: Float, ops: &Operands) -> Result<(), &'static str> {
    let Some(bits) = ops.l.map(|s| s.bits) else { return Ok(()) };
    let sources = [ops.r, ops.a].iter().flatten().all(|s| s.bits == bits);
    let free = matches!(op, Float::Compare(..) | Float::Class);
    let dest = free || ops.dest.is_none_or(|d| d.bits == bits || matches!(d.place, Place::None(_)));
    if sources && dest { Ok(()) } else { Err("float operands of different widths") }
}

fn identity(op: Reduce, source: Source) -> u64 {
    let top = 1u64 << (source.bits - 1);
    match (op, source.signed) {
        (Reduce::And, _) => u64::MAX,
        (Reduce::Max, true) => extend(top, source.bits, true),
        (Reduce::Min, true) => top - 1,
        (Reduce::Min, false) => ones(source.bits),
        _ => 0,
    }
}

fn nan(bits: u32) -> u64 {
    match bits {
        64 => 0x7ff8_0000_0000_0000,
        32 => 0x7fc0_0000,
        _ => 0x7e00,
    }
}

fn fold(op: Reduce, source: Source, sum: u64, value: u64, env: FpEnv, flags: &mut Flags) -> u64 {
    let (bits, unsigned) = (source.bits, !source.signed);
    let float = |op, sum, flags: &mut Flags| float_op(op, bits, sum, value, 0, env, flags);
    match op {
        Reduce::Add => sum.wrapping_add(value),
        Reduce::And => sum & value,
        Reduce::Or => sum | value,
        Reduce::Xor => sum ^ value,
        Reduce::Max => alu(Alu::Max, sum, value, bits, unsigned),
        Reduce::Min => alu(Alu::Min, sum, value, bits, unsigned),
        Reduce::FAdd => float(Float::Add, sum, flags),
        Reduce::FMax => float(Float::Max, sum, flags),
        Reduce::FMin => float(Float::Min, sum, flags),
    }
}
