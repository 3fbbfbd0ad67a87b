//! Groups: steps in a row that are compiled chunk by chunk. All of them are done for eight lanes,
//! in registers, then for the next eight; rows come from memory once, and go back once, if anybody
//! reads them later.
//!
//! Nothing in a group can fail, so that nobody sees how far it is: adjacent words that it loads or
//! stores are checked before it begins. Those that the check does not let through the interpreter
//! loads into their row beforehand, or stores from it afterwards, and the group loads and stores
//! the row itself. Steps on scalars among them are done before; comparisons are collected over the
//! chunks, so that their predicates are in memory when the group is complete.

use super::chunk::{CHUNKS, Chunk, TESTED};
use super::float::{form_of, has_rare};
use super::operand::xmm;
use crate::asm::{Label, at};
use crate::emit::forms::{Approx, What};
use crate::emit::predicate::float_relation;
use crate::emit::recipe::Sort;
use crate::emit::{ALL, Emitter, GUARDED, On};
use crate::frame::Frame;
use crate::rows::{Row, reads};
use fast::code::{Dst, Generic, Guard, Kind, Memory, Src, Step};
use fast::ops::Test;
use iced_x86::{Code as Op, MemoryOperand, Register};
use ir::mods::{BoolOp, Space};

use Register::{EAX, EBX, ECX, R10D, R12, R13, R15, RAX, RBP, RDI};

/// Steps of a group, at most.
const MOST: usize = 96;

/// Steps that are compiled together.
#[derive(Default)]
struct Group {
    guard: Option<Guard>,
    /// Steps on scalars, which are done first.
    scalars: Vec<usize>,
    /// Steps on rows.
    rows: Vec<usize>,
    /// Steps on rows that load, and the last one if it stores.
    loads: Vec<usize>,
    store: Option<usize>,
    /// Rows that steps so far read or write.
    touched: Vec<Row>,
    /// Scalars that steps on rows read.
    read: Vec<u32>,
    /// Predicates that the group computes; and of those, the ones that are complete at its end
    /// alone.
    tests: Vec<u32>,
    late: Vec<u32>,
    end: usize,
}

/// Whether there is code for a step on rows.
fn has_code(e: &mut Emitter<'_>, kind: &Kind) -> bool {
    match kind {
        Kind::Narrow { .. } | Kind::Wide { .. } | Kind::Low { .. } | Kind::Select { .. } => true,
        Kind::Test { test: Test::F(cmp), wide, .. } => !wide && float_relation(*cmp).is_some(),
        Kind::Test { .. } => true,
        Kind::Rare { op, .. } => has_rare(*op),
        Kind::Generic(generic) => {
            let row = matches!(generic.dst.as_slice(), [Dst::Narrow(_)]);
            let rows = !generic.dst.iter().any(|d| matches!(d, Dst::Scalar(_)));
            row && form_of(generic).is_some() || rows && e.recipe_of(generic).is_some()
        }
        _ => false,
    }
}

/// Whether a step looks at its operands before, and is left to the interpreter for some: such a one
/// is a group of its own.
fn looks_first(kind: &Kind) -> Option<Src> {
    let Kind::Generic(generic) = kind else { return None };
    let angle = matches!(form_of(generic)?.what, What::Approx(Approx::Sin | Approx::Cos));
    angle.then(|| generic.src.first().copied()).flatten()
}

fn same(a: Option<&Guard>, b: Option<&Guard>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => a.pred == b.pred && a.negated == b.negated,
        _ => false,
    }
}

/// Loads of one group, at most.
const MOST_LOADS: usize = 16;

/// Whether words of lanes side by side are loaded into a row, or stored from one, that has their
/// size.
fn is_adjacent(memory: &Memory, row: Option<Row>) -> bool {
    let stride = matches!(memory.addr, Src::Line(_, stride, _) if stride == memory.word.into());
    let size = match row {
        Some(Row::Narrow(_)) => memory.word == 4,
        Some(Row::Wide(_)) => memory.word == 8,
        None => false,
    };
    memory.space != Space::Local
        && stride
        && size
        && memory.words == 1
        && memory.extend.is_none()
        && Emitter::has_room(memory)
}

/// The row that adjacent words are loaded into.
pub(super) fn loaded(memory: &Memory) -> Option<Row> {
    let row = match *memory.dst.as_slice() {
        [Dst::Narrow(i)] => Some(Row::Narrow(i)),
        [Dst::Wide(i)] => Some(Row::Wide(i)),
        _ => None,
    };
    row.filter(|_| is_adjacent(memory, row))
}

/// The row that adjacent words are stored from.
pub(super) fn stored(memory: &Memory) -> Option<Row> {
    let row = match *memory.src.as_slice() {
        [Src::Narrow(i)] => Some(Row::Narrow(i)),
        [Src::Wide(i)] => Some(Row::Wide(i)),
        _ => None,
    };
    row.filter(|_| memory.space != Space::Param && is_adjacent(memory, row))
}

/// Whether a load is of one word, into a scalar.
fn is_scalar(memory: &Memory) -> bool {
    let one =
        matches!(memory.addr, Src::Const(_) | Src::Line(_, 0, _)) && memory.space != Space::Local;
    one && matches!(memory.dst.as_slice(), [Dst::Scalar(_)]) && Emitter::has_room(memory)
}

impl Group {
    /// Takes a step in, if it can be.
    fn take(&mut self, e: &mut Emitter<'_>, index: usize, step: &Step) -> bool {
        let detailed = e.detailed;
        if self.store.is_some() {
            return false;
        }
        match &step.kind {
            // The interpreter forgets which lanes a guard has left on.
            Kind::Load(_) | Kind::Store(_) if detailed || step.guard.is_some() => false,
            Kind::Load(memory) if is_scalar(memory) => {
                let dst = |d: &Dst| matches!(d, Dst::Scalar(i) if self.read.contains(i));
                let free = !memory.dst.iter().any(dst);
                if free {
                    self.scalars.push(index);
                }
                free
            }
            Kind::Load(memory) => {
                let free = |row| !self.touched.contains(&row);
                let taken = loaded(memory).is_some_and(free)
                    && self.loads.len() < MOST_LOADS
                    && self.rows.len() < MOST
                    && self.take_rows(index, step);
                if taken {
                    self.loads.push(index);
                }
                taken
            }
            Kind::Store(memory) => {
                let taken = !self.rows.is_empty()
                    && stored(memory).is_some()
                    && self.take_rows(index, step);
                if taken {
                    self.store = Some(index);
                }
                taken
            }
            Kind::Nothing | Kind::Fence if step.guard.is_none() => true,
            Kind::Scalar { dst, .. }
            | Kind::Widen { dst, .. }
            | Kind::Sreg { dst: Dst::Scalar(dst), .. }
                if step.guard.is_none() =>
            {
                let free = !self.read.contains(dst);
                if free {
                    self.scalars.push(index);
                }
                free
            }
            kind => self.rows.len() < MOST && has_code(e, kind) && self.take_rows(index, step),
        }
    }

    fn take_rows(&mut self, index: usize, step: &Step) -> bool {
        if self.rows.is_empty() {
            self.guard = step.guard;
        } else if !same(self.guard.as_ref(), step.guard.as_ref()) {
            return false;
        }
        let looks = looks_first(&step.kind).is_some();
        if looks && !self.rows.is_empty() {
            return false;
        }
        let (mut late, mut tested) = (false, false);
        step.operands(&mut |src| {
            if let Src::Pred(p) = src {
                late |= self.late.contains(&p);
                tested |= self.tests.contains(&p);
            }
        });
        if late {
            return false;
        }
        let (masks, combined) = tests(&step.kind);
        for &mask in &masks {
            let guards = |g: &Guard| g.pred == Src::Pred(mask);
            let again = self.tests.contains(&mask) || self.guard.as_ref().is_some_and(guards);
            if again || tested && combined || self.tests.len() + masks.len() > TESTED.len() {
                return false;
            }
        }
        self.tests.extend(&masks);
        if combined {
            self.late.extend(masks);
        }
        if let Some(Guard { pred: Src::Line(i, ..), .. }) = step.guard {
            self.read.push(i);
        }
        step.operands(&mut |src| {
            if let Src::Line(i, ..) = src {
                self.read.push(i);
            }
        });
        reads(step, &mut |row| self.touched.push(row));
        written(&step.kind, &mut self.touched);
        self.rows.push(index);
        true
    }
}

/// The predicates that a step of a group computes, and whether others are joined to them at the
/// group's end.
fn tests(kind: &Kind) -> (Vec<u32>, bool) {
    match kind {
        Kind::Test { dst, combine, .. } => (vec![*dst], combine.is_some()),
        Kind::Generic(generic) => {
            let mask = |d: &Dst| if let Dst::Pred(mask) = d { Some(*mask) } else { None };
            (generic.dst.iter().filter_map(mask).collect(), false)
        }
        _ => (Vec::new(), false),
    }
}

/// The rows that a step of a group writes.
fn written(kind: &Kind, to: &mut Vec<Row>) {
    match kind {
        Kind::Narrow { dst, .. }
        | Kind::Rare { dst, .. }
        | Kind::Low { dst, .. }
        | Kind::Select { wide: false, dst, .. } => to.push(Row::Narrow(*dst)),
        Kind::Wide { dst, .. } | Kind::Select { wide: true, dst, .. } => to.push(Row::Wide(*dst)),
        Kind::Generic(generic) => to.extend(generic.dst.iter().filter_map(|d| match *d {
            Dst::Narrow(row) => Some(Row::Narrow(row)),
            Dst::Wide(row) => Some(Row::Wide(row)),
            _ => None,
        })),
        Kind::Load(memory) => to.extend(loaded(memory)),
        _ => {}
    }
}

/// Compiles the group that begins with a step of a block; of how many steps it is.
pub(super) fn compile(e: &mut Emitter<'_>, block: usize, first: usize) -> usize {
    let code = e.code;
    e.uses.turn_to(code, block);
    let mut group = Group { end: first, ..Group::default() };
    for index in first..code.blocks[block].steps.end {
        let alone = group.rows.first().is_some_and(|&s| looks_first(&code.steps[s].kind).is_some());
        if alone || !group.take(e, index, &code.steps[index]) {
            break;
        }
        group.end = index + 1;
    }
    if group.rows.is_empty() {
        return 0;
    }
    for &index in &group.scalars {
        e.now = index as u32;
        e.step(&code.steps[index]);
    }
    let skip = e.asm.label();
    e.now = group.rows[0] as u32;
    e.told_as = 0;
    let on = match &group.guard {
        None => ALL,
        Some(guard) => {
            guarded(e, &group, guard, skip);
            GUARDED
        }
    };
    let back = looks_first(&code.steps[group.rows[0]].kind).map(|angle| far(e, &group, angle, on));
    checks(e, &group);
    let moves = !group.loads.is_empty() || group.store.is_some();
    if moves || group.rows.iter().any(|&s| code.steps[s].blend) {
        let (part, done) = (e.asm.label(), e.asm.label());
        e.asm.ri(Op::Cmp_rm32_imm8, on.lanes, -1);
        e.asm.jump(Op::Jne_rel32_64, part);
        body(e, &group, on, true);
        e.asm.jump(Op::Jmp_rel32_64, done);
        e.asm.bind(part);
        body(e, &group, on, false);
        e.asm.bind(done);
    } else {
        body(e, &group, on, false);
    }
    if let Some(index) = group.store {
        complete(e, index);
    }
    if let Some(back) = back {
        e.asm.bind(back);
    }
    if group.guard.is_some() {
        e.asm.bind(skip);
    }
    group.end - first
}

/// The lanes that a guard leaves on; goes to a label if there are none. Each step counts those that
/// are off.
fn guarded(e: &mut Emitter<'_>, group: &Group, guard: &Guard, skip: Label) {
    e.guarded_lanes(guard, R10D);
    e.asm.rr(Op::Mov_r32_rm32, EAX, EBX);
    e.asm.rr(Op::Xor_r32_rm32, EAX, R10D);
    e.asm.rr(Op::Popcnt_r32_rm32, EAX, EAX);
    for &index in &group.rows {
        e.now = index as u32;
        e.asm.mr(Op::Add_rm64_r64, at(RBP, Frame::OFF), RAX);
        e.count_off();
    }
    e.asm.rr(Op::Test_rm32_r32, R10D, R10D);
    e.asm.jump(Op::Je_rel32_64, skip);
}

/// The number of a group's store among its accesses.
pub(super) const STORED: usize = MOST_LOADS;

/// What is kept there besides: the processor's rounding.
pub(super) const MODE: usize = MOST_LOADS + 1;

/// Where the frame keeps where the words of an access are: of loads in order, of the store.
pub(super) fn pointer(number: usize) -> MemoryOperand {
    at(RBP, Frame::LANE_ROOM + 8 * number as i64)
}

/// Where a row is in memory.
fn place(row: Row) -> MemoryOperand {
    match row {
        Row::Narrow(i) => at(R12, 128 * i64::from(i)),
        Row::Wide(i) => at(R13, 256 * i64::from(i)),
    }
}

/// Checks where the group's loads and stores go, and takes note of it. What is not let through goes
/// to the row itself, which the interpreter loads now.
fn checks(e: &mut Emitter<'_>, group: &Group) {
    let code = e.code;
    let loads = group.loads.iter().enumerate().map(|(number, &index)| (number, index, true));
    for (number, index, loads) in loads.chain(group.store.map(|s| (STORED, s, false))) {
        let (memory, row) = match &code.steps[index].kind {
            Kind::Load(memory) => (memory, loaded(memory)),
            Kind::Store(memory) => (memory, stored(memory)),
            _ => continue,
        };
        e.now = index as u32;
        let (Some(row), Some(room)) = (row, e.room(memory)) else { continue };
        let (cold, back, done) = if loads {
            let (cold, back) = e.cold(ALL);
            (cold, back, e.asm.label())
        } else {
            let label = e.asm.label();
            (label, label, e.asm.label())
        };
        e.adjacent(memory, room, ALL, cold);
        if loads {
            e.count_memory(ALL);
        } else {
            apart(e, group, bytes(row), cold);
        }
        e.asm.mr(Op::Mov_rm64_r64, pointer(number), RDI);
        e.asm.jump(Op::Jmp_rel32_64, done);
        e.asm.bind(back);
        e.asm.rm(Op::Lea_r64_m, RAX, place(row));
        e.asm.mr(Op::Mov_rm64_r64, pointer(number), RAX);
        e.asm.bind(done);
    }
}

/// Bytes of a row.
fn bytes(row: Row) -> i32 {
    match row {
        Row::Narrow(_) => 128,
        Row::Wide(_) => 256,
    }
}

/// Goes to a label if what is stored to `rdi` would be there before a later chunk loads it. Words
/// that are loaded and stored by the same lane are no harm, nor are those that an earlier chunk has
/// loaded.
fn apart(e: &mut Emitter<'_>, group: &Group, stored: i32, harm: Label) {
    for (number, &index) in group.loads.iter().enumerate() {
        let Kind::Load(memory) = &e.code.steps[index].kind else { continue };
        let Some(loaded) = loaded(memory).map(bytes) else { continue };
        // Chunks are as long on both sides, and so only words further on are at risk; else any
        // overlap is.
        let (before, range) =
            if loaded == stored { (-1, loaded - 1) } else { (stored - 1, loaded + stored - 1) };
        e.asm.rm(Op::Lea_r64_m, RAX, at(RDI, before.into()));
        e.asm.rm(Op::Sub_r64_rm64, RAX, pointer(number));
        e.asm.ri(Op::Cmp_rm64_imm32, RAX, range);
        e.asm.jump(Op::Jb_rel32_64, harm);
    }
}

/// After a group that stores: the interpreter stores what is in the row, if it went there.
fn complete(e: &mut Emitter<'_>, index: usize) {
    let Kind::Store(memory) = &e.code.steps[index].kind else { return };
    let Some(row) = stored(memory) else { return };
    e.now = index as u32;
    let (cold, back) = e.cold(ALL);
    e.asm.rm(Op::Lea_r64_m, RAX, place(row));
    e.asm.rm(Op::Cmp_r64_rm64, RAX, pointer(STORED));
    e.asm.jump(Op::Je_rel32_64, cold);
    e.count_memory(ALL);
    e.asm.mi(Op::Mov_rm32_imm32, at(RBP, Frame::PROGRESS), 1);
    e.asm.bind(back);
}

/// Leaves angles to the interpreter that are reduced in another way: no lane's may be 2^17 or
/// above. Where the step ends then.
fn far(e: &mut Emitter<'_>, group: &Group, angle: Src, on: On) -> Label {
    e.now = group.rows[0] as u32;
    let (cold, back) = e.cold(on);
    let mut chunk = Chunk::new(e, on, group.rows[0], group.end);
    for c in 0..CHUNKS {
        chunk.c = c;
        let far = chunk.far_angles(angle);
        let to = if c == 0 { ECX } else { EAX };
        chunk.e.asm.rr(Op::VEX_Vmovmskps_r32_ymm, to, far);
        if c > 0 {
            chunk.e.asm.ri(Op::Shl_rm32_imm8, EAX, 8 * c as i32);
            chunk.e.asm.rr(Op::Or_r32_rm32, ECX, EAX);
        }
        chunk.cache.unpin();
        chunk.end_chunk();
    }
    e.asm.rr(Op::Test_rm32_r32, ECX, on.lanes);
    e.asm.jump(Op::Jne_rel32_64, cold);
    back
}

/// An operation on values that are the same in all lanes.
pub(super) fn scalar(e: &mut Emitter<'_>, generic: &Generic, on: On) -> bool {
    let (Some(form), &[Dst::Scalar(dst)]) = (form_of(generic), generic.dst.as_slice()) else {
        return scalar_recipe(e, generic, on);
    };
    let angle = matches!(form.what, What::Approx(Approx::Sin | Approx::Cos));
    let far = angle.then(|| e.cold(on));
    let mut chunk = Chunk::new(e, on, usize::MAX, usize::MAX);
    if let Some((cold, _)) = far {
        let far = chunk.far_angles(generic.src.first().copied().unwrap_or(Src::Const(0)));
        chunk.e.asm.rr(Op::VEX_Vmovmskps_r32_ymm, EAX, far);
        chunk.e.asm.rr(Op::Test_rm32_r32, EAX, EAX);
        chunk.e.asm.jump(Op::Jne_rel32_64, cold);
        chunk.cache.unpin();
    }
    let value = chunk.form(&form, &generic.src, true);
    e.asm.rr(Op::VEX_Vmovd_rm32_xmm, EAX, xmm(value));
    e.asm.mr(Op::Mov_rm64_r64, at(R15, 8 * i64::from(dst)), RAX);
    if let Some((_, back)) = far {
        e.asm.bind(back);
    }
    true
}

/// One that has a recipe, all of whose results are scalars.
fn scalar_recipe(e: &mut Emitter<'_>, generic: &Generic, on: On) -> bool {
    let scalars = generic.dst.iter().all(|d| matches!(d, Dst::Scalar(_) | Dst::None));
    let Some(recipe) = e.recipe_of(generic).filter(|_| scalars) else { return false };
    let mut chunk = Chunk::new(e, on, usize::MAX, usize::MAX);
    let values = chunk.results(&recipe, &generic.src, 0);
    // The first result wins where two go to one place.
    for (i, &(_, sort)) in recipe.results.iter().enumerate().rev() {
        let Dst::Scalar(dst) = generic.dst[i] else { continue };
        match sort {
            Sort::Whole => e.asm.rr(Op::VEX_Vmovq_rm64_xmm, RAX, xmm(values[i])),
            _ => e.asm.rr(Op::VEX_Vmovd_rm32_xmm, EAX, xmm(values[i])),
        }
        if sort == Sort::Predicate {
            e.asm.ri(Op::And_rm32_imm8, EAX, 1);
        }
        e.asm.mr(Op::Mov_rm64_r64, at(R15, 8 * i64::from(dst)), RAX);
    }
    true
}

/// The chunks of a group, and its predicates; `full` if all lanes are known to be on.
fn body(e: &mut Emitter<'_>, group: &Group, on: On, full: bool) {
    let code = e.code;
    let mut chunk = Chunk::new(e, on, group.rows[0], group.end);
    chunk.loads.clone_from(&group.loads);
    for c in 0..CHUNKS {
        chunk.c = c;
        for &index in &group.rows {
            chunk.step(index, &code.steps[index], full);
        }
        chunk.end_chunk();
    }
    let tests = std::mem::take(&mut chunk.tests);
    for &index in &group.rows {
        let step = &code.steps[index];
        for mask in self::tests(&step.kind).0 {
            let Some(number) = tests.iter().position(|t| t.0 == mask) else { continue };
            e.asm.rr(Op::Mov_r32_rm32, EAX, TESTED[number]);
            if tests[number].1 {
                e.asm.r(Op::Not_rm32, EAX);
            }
            if let Kind::Test { combine: Some(how), src, .. } = &step.kind {
                e.predicate(src[2], ECX);
                let op = match how {
                    BoolOp::And => Op::And_r32_rm32,
                    BoolOp::Or => Op::Or_r32_rm32,
                    BoolOp::Xor => Op::Xor_r32_rm32,
                };
                e.asm.rr(op, EAX, ECX);
            }
            e.blend = step.blend && !full;
            e.put_predicate(mask, on);
        }
    }
}
