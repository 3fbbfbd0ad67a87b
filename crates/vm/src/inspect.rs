//! What a debugger sees of a launch on the exact engine, and may change.
//!
//! A register's index is its first row in the frame of its function; registers of the group follow
//! behind [`GROUP_REGISTERS`].

use crate::code::{Code, Exec, GuardRow, MaskBrSrc, MaskOp, MemOp, Src};
use crate::compiled::Compiled;
use crate::engine::{Engine, guarded};
use crate::program::{FuncInfo, Program};
use crate::state::{Cta, Group, State};
use crate::{Cause, barrier};
use converge::Path;
use ir::{Function, RegTy};
use simt::inspect::{
    BarrierView, Digest, Effects, FramePlace, GroupView, Inspect, InspectError, MechanismRow,
    PathView, Register, RegisterKind, RegisterOwner, Upcoming, VariableView,
};
use simt::machine::Step;
use simt::memory::{Block, MemoryMap, Space};
use simt::observe::GroupId;
use simt::{CtaMask, LaneMask, Pc};

/// First index of registers of the group: scalars.
const GROUP_REGISTERS: u32 = 1 << 28;
/// First index of mask registers.
const MASKS: u32 = 2 << 28;
/// The EXEC mask.
const EXEC: u32 = 3 << 28;

/// Where a register's value lies.
enum Slot {
    /// A row of a frame, and the next one if the register has 128 bits.
    Row(u32, bool),
    /// Scalars of the group.
    Scalar(u32, bool),
    /// A mask register of the group.
    Mask(u32),
    /// The EXEC mask.
    Exec,
}

impl<const N: usize> Inspect<N> for Engine<N>
where
    State<N>: Compiled<N>,
{
    fn upcoming(
        &self,
        program: &Program,
        state: &mut State<N>,
    ) -> Result<Upcoming<N>, Step<Cause, N>> {
        // The step that follows picks again.
        let policy = state.policy;
        let path = state.next_path(program);
        state.policy = policy;
        let Path { pc, lanes, .. } = path?;
        let cta = state.resident.get(state.turn.slot).and_then(Option::as_deref);
        let group = cta.map(|cta| cta.group_id(state.turn.group)).unwrap_or_default();
        Ok(Upcoming { group, pc, lanes })
    }

    fn groups(&self, program: &Program, state: &State<N>) -> Vec<GroupView<N>> {
        let mut ctas: Vec<&Cta<N>> = state.resident.iter().flatten().map(|cta| &**cta).collect();
        ctas.sort_by_key(|cta| cta.index);
        let groups = ctas.into_iter().flat_map(|cta| (0..cta.groups.len()).map(move |g| (cta, g)));
        groups.map(|(cta, index)| view(program, state, cta, index)).collect()
    }

    fn registers(&self, program: &Program, pc: Pc) -> Vec<Register> {
        let Some(function) = function_at(program, pc) else { return Vec::new() };
        let mut registers = lane_registers(function);
        registers.extend(group_registers(program, function));
        registers
    }

    fn register(
        &self,
        program: &Program,
        state: &State<N>,
        at: FramePlace,
        index: u32,
    ) -> Result<u128, InspectError> {
        let (cta, group) = group_at(state, at.group).ok_or(InspectError::NotResident)?;
        let double = |low: u64, high: Option<u64>| {
            u128::from(low) | high.map_or(0, |high| u128::from(high) << 64)
        };
        match slot(program, state, at, index)? {
            Slot::Row(row, wide) => {
                let value = |row| cell(cta, at, row).map(|cell| cta.file[cell]);
                let high = if wide { Some(value(row + 1)?) } else { None };
                Ok(double(value(row)?, high))
            }
            Slot::Scalar(index, wide) => {
                let scalar = |i: u32| group.scalars.get(i as usize).copied();
                let low = scalar(index).ok_or(InspectError::NoRegister)?;
                Ok(double(low, scalar(index + 1).filter(|_| wide)))
            }
            Slot::Mask(index) => {
                let mask = group.masks.get(index as usize).ok_or(InspectError::NoRegister)?;
                Ok(mask_value(mask))
            }
            Slot::Exec => Ok(mask_value(&group.exec)),
        }
    }

    fn set_register(
        &self,
        program: &Program,
        state: &mut State<N>,
        at: FramePlace,
        index: u32,
        value: u128,
    ) -> Result<(), InspectError> {
        let slot = slot(program, state, at, index)?;
        let width = state.info.width as usize;
        let (cta, number) = group_mut(state, at.group).ok_or(InspectError::NotResident)?;
        let mask = LaneMask::from_words(std::array::from_fn(|word| match word {
            0 => value as u64,
            1 => (value >> 64) as u64,
            _ => 0,
        }));
        match slot {
            Slot::Row(row, wide) => {
                let low = cell(cta, at, row)?;
                cta.file[low] = value as u64;
                if wide {
                    let high = cell(cta, at, row + 1)?;
                    cta.file[high] = (value >> 64) as u64;
                }
            }
            Slot::Scalar(index, wide) => {
                let scalars = &mut cta.groups[number].scalars;
                for (i, word) in [value as u64, (value >> 64) as u64].into_iter().enumerate() {
                    let scalar = scalars.get_mut(index as usize + i).filter(|_| i == 0 || wide);
                    match scalar {
                        Some(scalar) => *scalar = word,
                        None if i == 0 => return Err(InspectError::NoRegister),
                        None => {}
                    }
                }
            }
            Slot::Mask(index) => {
                let masks = &mut cta.groups[number].masks;
                *masks.get_mut(index as usize).ok_or(InspectError::NoRegister)? = mask;
            }
            Slot::Exec => cta.groups[number].exec = mask & LaneMask::first(width),
        }
        state.watch.progress();
        Ok(())
    }

    fn set_mask(
        &self,
        state: &mut State<N>,
        group: GroupId,
        lanes: LaneMask<N>,
    ) -> Result<(), InspectError> {
        let width = state.info.width as usize;
        let (cta, number) = group_mut(state, group).ok_or(InspectError::NotResident)?;
        cta.groups[number].exec = lanes & LaneMask::first(width);
        state.watch.progress();
        Ok(())
    }

    fn frames(&self, _: &Program, state: &State<N>, at: FramePlace) -> Vec<Pc> {
        frames(state, at)
    }

    fn frame_variables(
        &self,
        program: &Program,
        state: &State<N>,
        at: FramePlace,
    ) -> Vec<VariableView> {
        let pcs = self.frames(program, state, at);
        let (Some((cta, group)), Some(pc)) =
            (group_at(state, at.group), pcs.get(at.frame as usize))
        else {
            return Vec::new();
        };
        let thread = group.thread(at.lane as usize);
        let (stack, frame) = (&cta.frames.stack[thread], at.frame as usize);
        // Calls return behind themselves.
        let (base, pc) = match stack.len().checked_sub(frame).and_then(|i| stack.get(i)) {
            Some(caller) => (caller.local.0, Pc(pc.0.saturating_sub(1))),
            None => (cta.frames.local[thread].0, *pc),
        };
        let Some(function) = function_at(program, pc) else { return Vec::new() };
        let view = |local: &ir::module::LocalVar| VariableView {
            name: local.name.as_str().into(),
            space: Space::Local,
            address: u64::from(base) + u64::from(local.offset),
            bytes: local.size.into(),
        };
        function.locals.iter().map(view).collect()
    }

    fn mechanism(&self, state: &State<N>, group: GroupId) -> Vec<MechanismRow<N>> {
        let mut rows = Vec::new();
        if let Some((_, group)) = group_at(state, group) {
            group.mechanism.rows(&mut rows);
        }
        rows
    }

    fn barriers(&self, state: &State<N>, cta: u64) -> Vec<BarrierView> {
        let Some(cta) = cta_at(state, cta) else { return Vec::new() };
        let used = (0u32..).zip(&cta.barriers).filter(|(_, barrier)| barrier.arrived.any());
        used.map(|(id, barrier)| {
            let (arrivals, expected) = barrier::census(cta, barrier);
            let barrier::CtaBarrier { arrived, waiting, .. } = *barrier;
            BarrierView { id, arrived, waiting, arrivals, expected }
        })
        .collect()
    }

    fn effects(&self, program: &Program, _: &State<N>, (pc, _): (Pc, u32)) -> Option<Effects> {
        let code = program.at(pc)?;
        let mut rows = Rows::default();
        rows.collect(program, code);
        let registers = program.module().functions.get(code.function()).map(lane_registers)?;
        // The second row of a 128-bit register belongs to the register before it.
        let index = |row: u32| {
            let after = registers.partition_point(|register| register.index <= row);
            after.checked_sub(1).map_or(row, |at| registers[at].index)
        };
        let indices = |rows: Vec<u32>| {
            let mut all: Vec<u32> = rows.into_iter().map(index).collect();
            all.sort_unstable();
            all.dedup();
            all
        };
        let (reads, writes) = (indices(rows.reads), indices(rows.writes));
        Some(Effects { reads, writes, ..Effects::default() })
    }

    fn memory<'s>(&self, state: &'s State<N>) -> &'s MemoryMap {
        &state.memory
    }

    fn memory_mut<'s>(&self, state: &'s mut State<N>) -> &'s mut MemoryMap {
        &mut state.memory
    }

    fn memory_changed(&self, state: &mut State<N>) {
        state.watch.progress();
    }

    fn block<'s>(&self, state: &'s State<N>, space: Space, at: FramePlace) -> Option<&'s Block> {
        if space == Space::Param {
            return Some(&state.params);
        }
        let (cta, group) = group_at(state, at.group)?;
        match space {
            Space::Shared => Some(&cta.shared),
            Space::Local => cta.local.get(group.thread(at.lane as usize)),
            _ => None,
        }
    }

    fn block_mut<'s>(
        &self,
        state: &'s mut State<N>,
        space: Space,
        at: FramePlace,
    ) -> Option<&'s mut Block> {
        if space == Space::Param {
            return Some(&mut state.params);
        }
        let (cta, group) = group_mut(state, at.group)?;
        let thread = cta.groups[group].thread(at.lane as usize);
        match space {
            Space::Shared => Some(&mut cta.shared),
            Space::Local => cta.local.get_mut(thread),
            _ => None,
        }
    }

    fn variables(&self, program: &Program, state: &State<N>) -> Vec<VariableView> {
        let vars = program.module().vars.iter().zip(&state.info.vars);
        let own = vars.filter(|(var, _)| var.space != Space::Shared);
        let own = own.map(|(var, &address)| VariableView {
            name: var.name.as_str().into(),
            space: if var.space == Space::Const { Space::Const } else { Space::Global },
            address,
            bytes: var.size,
        });
        let shared = state.info.shared_names.iter().map(|symbol| VariableView {
            name: symbol.name.as_ref().into(),
            space: Space::Shared,
            address: symbol.offset,
            bytes: symbol.len,
        });
        own.chain(shared).collect()
    }

    fn output<'s>(&self, state: &'s State<N>) -> &'s [u8] {
        &state.output
    }

    fn digest(&self, state: &State<N>) -> u64 {
        let mut digest = Digest::default();
        let turn = &state.turn;
        digest.words([state.clock, state.next_cta, state.stalled, state.policy.image()]);
        digest.words([turn.slot as u64, turn.group as u64, turn.back_edges.into()]);
        digest.words([u64::from(turn.issued), state.output.len() as u64]);
        digest.words(state.output.iter().map(|&byte| u64::from(byte)));
        for cta in &state.resident {
            digest.word(cta.as_ref().map_or(u64::MAX, |cta| cta.index));
            if let Some(cta) = cta {
                digest_cta(&mut digest, cta);
            }
        }
        digest.block(&state.params);
        digest.memory(&state.memory);
        digest.finish()
    }

    fn bytes(&self, state: &State<N>) -> usize {
        let ctas = state.resident.iter().flatten().map(|cta| {
            let local: u64 = cta.local.iter().map(Block::len).sum();
            let groups = cta.groups.len() * (size_of::<Group<N>>() + 512);
            cta.file.len() * 8
                + (cta.shared.len() + local) as usize
                + cta.parked.len() * 96
                + groups
        });
        ctas.sum::<usize>() + state.output.len() + state.params.len() as usize
    }
}

fn digest_cta<const N: usize>(digest: &mut Digest, cta: &Cta<N>) {
    digest.words([cta.live.into(), cta.issues]);
    digest.words(cta.file.iter().copied());
    let frames = &cta.frames;
    digest.words(frames.base.iter().map(|&base| base.into()));
    digest.words(frames.local.iter().map(|&(from, to)| u64::from(from) << 32 | u64::from(to)));
    for stack in &frames.stack {
        digest.words(stack.iter().map(|frame| frame.return_to.0 << 32 | u64::from(frame.base)));
    }
    digest.block(&cta.shared);
    for local in &cta.local {
        digest.block(local);
    }
    digest.words(cta.exited.iter().map(|&exited| exited.into()));
    digest.words(cta.parked.iter().map(|parked| parked.map_or(u64::MAX, |p| p.pc.0)));
    for barrier in &cta.barriers {
        let masks = barrier.arrived.words().iter().chain(barrier.waiting.words()).copied();
        digest.words(masks.chain(barrier.again.iter().map(|&thread| thread as u64)));
    }
    for meeting in &cta.rendezvous {
        let pc = meeting.pc.map_or(u64::MAX, |pc| pc.0);
        digest.words([pc, meeting.warp.into(), meeting.members.into(), meeting.arrived.into()]);
    }
    let mut image = Vec::new();
    for group in &cta.groups {
        image.clear();
        group.mechanism.image(&mut image);
        let masks = [&group.exited, &group.waiting, &group.exec];
        let masks = masks.into_iter().chain(&group.masks).chain(&group.spills);
        image.extend(masks.flat_map(|mask| *mask.words()));
        image.extend(&group.scalars);
        digest.words(image.iter().copied());
    }
}

/// Returns the resident CTA of this index.
fn cta_at<const N: usize>(state: &State<N>, index: u64) -> Option<&Cta<N>> {
    state.resident.iter().flatten().map(|cta| &**cta).find(|cta| cta.index == index)
}

fn group_at<const N: usize>(state: &State<N>, id: GroupId) -> Option<(&Cta<N>, &Group<N>)> {
    let cta = cta_at(state, id.cta)?;
    Some((cta, cta.groups.get(id.group as usize)?))
}

fn group_mut<const N: usize>(state: &mut State<N>, id: GroupId) -> Option<(&mut Cta<N>, usize)> {
    let ctas = state.resident.iter_mut().flatten();
    let cta = ctas.map(|cta| &mut **cta).find(|cta| cta.index == id.cta)?;
    let group = id.group as usize;
    (group < cta.groups.len()).then_some((cta, group))
}

fn view<const N: usize>(
    program: &Program,
    state: &State<N>,
    cta: &Cta<N>,
    index: usize,
) -> GroupView<N> {
    let group = &cta.groups[index];
    let mut paths = Vec::new();
    group.mechanism.paths(&mut paths);
    let view = |path: &Path<N>| PathView { pc: path.pc, lanes: path.lanes };
    let next = group.mechanism.preferred();
    let mut enabled = group.exec;
    // Lanes that the guard of the next instruction turns off are off, too.
    if let Some((path, code)) = next.and_then(|path| Some((path, program.at(path.pc)?)))
        && let Some(guard) = code.guard.filter(|_| !code.is_control())
    {
        let unmasked = path.lanes & group.exec;
        enabled -= unmasked - guarded(cta, index, unmasked, guard);
    }
    GroupView {
        id: cta.group_id(index),
        width: state.info.width,
        launched: group.launched,
        exited: group.exited,
        waiting: group.waiting,
        enabled,
        paths: paths.iter().map(view).collect(),
        next: next.as_ref().map(view),
    }
}

fn function_at(program: &Program, pc: Pc) -> Option<&Function> {
    // The place to which a call returns may lie behind the function's last instruction.
    let code = program.at(pc).or_else(|| program.at(Pc(pc.0.checked_sub(1)?)))?;
    program.module().functions.get(code.function())
}

/// Registers of lanes, in the order of their rows.
fn lane_registers(function: &Function) -> Vec<Register> {
    let mut row = 0;
    let register = |info: &ir::module::RegInfo| {
        let index = row;
        row += if info.ty == RegTy::B128 { 2 } else { 1 };
        let kind = match info.ty {
            RegTy::Pred => RegisterKind::Predicate,
            _ => RegisterKind::Number,
        };
        let name = format!("%{}", info.name).into();
        Register { index, name, bits: info.ty.bits(), kind, owner: RegisterOwner::Lane }
    };
    function.regs.iter().map(register).collect()
}

/// Registers of the group: those of the function, mask registers, the EXEC mask. The linker
/// numbers them through all functions.
fn group_registers(program: &Program, function: &Function) -> Vec<Register> {
    let (mut scalar, mut mask) = (GROUP_REGISTERS, MASKS);
    let mut out = Vec::new();
    for other in &program.module().functions {
        for info in &other.warp_regs {
            let (next, kind) = match info.ty {
                RegTy::Mask => (&mut mask, RegisterKind::Mask),
                _ => (&mut scalar, RegisterKind::Number),
            };
            if std::ptr::eq(other, function) {
                let (index, name) = (*next, format!("%{}", info.name).into());
                let owner = RegisterOwner::Group;
                out.push(Register { index, name, bits: info.ty.bits(), kind, owner });
            }
            *next += if info.ty == RegTy::B128 { 2 } else { 1 };
        }
        // Two scalars for results that are discarded.
        if !other.warp_regs.is_empty() {
            scalar += 2;
        }
    }
    if program.masks > 0 || program.spills > 0 {
        let (kind, owner) = (RegisterKind::Mask, RegisterOwner::Group);
        out.push(Register { index: EXEC, name: "%exec".into(), bits: 64, kind, owner });
    }
    out
}

fn frames<const N: usize>(state: &State<N>, at: FramePlace) -> Vec<Pc> {
    let Some((cta, group)) = group_at(state, at.group) else { return Vec::new() };
    let lane = at.lane as usize;
    if !group.launched.contains(lane) || group.exited.contains(lane) {
        return Vec::new();
    }
    let mut paths = Vec::new();
    group.mechanism.paths(&mut paths);
    let here = paths.iter().find(|path| path.lanes.contains(lane)).map(|path| path.pc);
    let callers = cta.frames.stack[group.thread(lane)].iter().rev();
    here.into_iter().chain(callers.map(|frame| frame.return_to)).collect()
}

fn slot<const N: usize>(
    program: &Program,
    state: &State<N>,
    at: FramePlace,
    index: u32,
) -> Result<Slot, InspectError> {
    match index {
        EXEC => return Ok(Slot::Exec),
        MASKS.. => return Ok(Slot::Mask(index - MASKS)),
        _ => {}
    }
    let frames = frames(state, at);
    let pc = frames.get(at.frame as usize).ok_or(InspectError::NotResident)?;
    // A call returns behind itself.
    let pc = Pc(pc.0.saturating_sub(u64::from(at.frame > 0)));
    let function = function_at(program, pc).ok_or(InspectError::NoRegister)?;
    if index >= GROUP_REGISTERS {
        let registers = group_registers(program, function);
        let wide = registers.iter().any(|r| r.index == index && r.bits == 128);
        return Ok(Slot::Scalar(index - GROUP_REGISTERS, wide));
    }
    let mut row = 0;
    for info in &function.regs {
        let wide = info.ty == RegTy::B128;
        if row == index {
            return Ok(Slot::Row(row, wide));
        }
        row += if wide { 2 } else { 1 };
    }
    Err(InspectError::NoRegister)
}

/// Returns the index in the register file of a row of a frame.
fn cell<const N: usize>(cta: &Cta<N>, at: FramePlace, row: u32) -> Result<usize, InspectError> {
    let group = cta.groups.get(at.group.group as usize).ok_or(InspectError::NotResident)?;
    let thread = group.thread(at.lane as usize);
    let stack = cta.frames.stack.get(thread).ok_or(InspectError::NotResident)?;
    let base = match at.frame as usize {
        0 => cta.frames.base[thread],
        up => {
            let caller = stack.len().checked_sub(up).ok_or(InspectError::NotResident)?;
            stack[caller].base
        }
    };
    let cell = (base + row) as usize * cta.parked.len() + thread;
    if cell < cta.file.len() { Ok(cell) } else { Err(InspectError::NoRegister) }
}

fn mask_value<const N: usize>(mask: &LaneMask<N>) -> u128 {
    let words = mask.resized::<16>();
    let [low, high, ..] = *CtaMask::words(&words);
    u128::from(low) | u128::from(high) << 64
}

/// Rows that an instruction reads and writes in the lanes that are on.
#[derive(Default)]
struct Rows {
    reads: Vec<u32>,
    writes: Vec<u32>,
}

impl Rows {
    fn read<'s>(&mut self, sources: impl IntoIterator<Item = &'s Src>) {
        let row = |source: &Src| match source {
            Src::Row(row) => Some(*row),
            _ => None,
        };
        self.reads.extend(sources.into_iter().filter_map(row));
    }

    fn access(&mut self, op: &MemOp) {
        self.read(op.values.iter().chain([&op.addr]));
        self.writes.extend(&op.rows);
    }

    fn guard(&mut self, guard: Option<GuardRow>) {
        self.reads.extend(guard.map(|guard| guard.row));
    }

    fn collect(&mut self, program: &Program, code: &Code) {
        self.guard(code.guard);
        match &code.exec {
            Exec::Lanes(op) => {
                self.read(&op.src);
                if !op.uniform {
                    self.writes.extend(&op.dst);
                }
            }
            Exec::Sreg { dst, .. } => self.writes.push(*dst),
            Exec::Load(op) | Exec::Store(op) => self.access(op),
            Exec::Atomic(op) => self.access(&op.mem),
            Exec::Mbarrier(op) => self.access(&op.mem),
            Exec::Copy(op) => {
                self.read(&op.bytes);
                self.read([&op.from.addr, &op.to.addr]);
            }
            Exec::Alloca { dst, size, .. } | Exec::Malloc { dst, size } => {
                self.read([size]);
                self.writes.push(*dst);
            }
            Exec::Collective(op) => {
                self.read(op.src.iter().chain(&op.members));
                self.writes.extend(&op.dst);
                if let Some(mem) = &op.mem {
                    self.access(mem);
                }
            }
            Exec::Bar { dst, id, count, pred, .. } => {
                self.read(count.iter().chain([id]));
                self.guard(*pred);
                self.writes.extend(dst);
            }
            Exec::Mask(op) => self.mask(op),
            Exec::Split(pred) => self.read([pred]),
            Exec::Switch { index, .. } => self.read([index]),
            Exec::MaskBr { mask: MaskBrSrc::Pred(row), .. } => self.reads.push(*row),
            Exec::Printf { dst, format, args } => {
                self.read([format, args]);
                self.writes.extend(dst);
            }
            Exec::Free(address) => self.read([address]),
            // The results are written when the callee returns.
            Exec::Call(call) => self.read(&call.args),
            Exec::Ret => {
                let function = program.functions.get(code.function());
                self.reads.extend(function.into_iter().flat_map(|f: &FuncInfo| &f.results));
            }
            _ => {}
        }
    }

    fn mask(&mut self, op: &MaskOp) {
        match op {
            MaskOp::AndSave { pred, .. }
            | MaskOp::AndNot(pred)
            | MaskOp::Of { pred, .. }
            | MaskOp::Spill { pred, .. } => self.read([pred]),
            MaskOp::PredOf { dst, .. } | MaskOp::Fill { dst, .. } => self.writes.push(*dst),
            _ => {}
        }
    }
}
