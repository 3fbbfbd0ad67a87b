//! Switches, calls, returns, exits.
//!
//! Frame base and return stack are per lane: lanes that meet at one place may be at different
//! depths of recursion. A return therefore yields groups, like an indirect branch.

use crate::cause::Cause;
use crate::code::{CallOp, CallTarget, Code, Exec, Src};
use crate::engine::{Executed, Failure, Now, Outcome, Release, Targets, add_target, guarded};
use crate::program::{FUNCTION_BASE, FuncInfo, Program};
use crate::state::{Cta, Frame, State};
use simt::memory::Block;
use simt::observe::Observer;
use simt::{LaneMask, Pc};
use smallvec::SmallVec;

pub(crate) fn execute<const N: usize, O: Observer<N>>(
    program: &Program,
    state: &mut State<N>,
    now: &Now<N>,
    code: &Code,
    releases: &mut SmallVec<[Release<N>; 2]>,
    observer: &mut O,
) -> Executed<N> {
    let info = std::sync::Arc::clone(&state.info);
    let Some(cta) = state.resident[now.slot].as_deref_mut() else { return Ok(Outcome::Advance) };
    match &code.exec {
        Exec::Switch { index, targets } => switch(cta, now, &info.vars, *index, targets),
        Exec::Call(call) => self::call(program, cta, now, &info.vars, call, info.stack_limit),
        Exec::Ret if !program.functions[code.function as usize].kernel => {
            let lanes = condition(cta, now, code);
            Ok(ret(program, cta, now, lanes))
        }
        _ => {
            let lanes = condition(cta, now, code);
            exit(cta, now, lanes);
            crate::barrier::after_exit(program, state, now.slot, releases, observer);
            crate::cluster::after_exit(state, now.slot, releases, observer);
            crate::collective::after_exit(program, state, now, releases, observer);
            Ok(Outcome::Exit(lanes))
        }
    }
}

/// Lanes for which a guarded return or exit holds.
fn condition<const N: usize>(cta: &Cta<N>, now: &Now<N>, code: &Code) -> LaneMask<N> {
    match code.guard {
        Some(guard) => guarded(cta, now.group, now.unmasked, guard),
        // An exit without a guard also exits lanes that EXEC turns off: they have nowhere else to
        // go.
        None => now.path.lanes,
    }
}

/// A thread's value of an operand.
pub(crate) fn value<const N: usize>(
    cta: &Cta<N>,
    group: usize,
    vars: &[u64],
    src: Src,
    thread: usize,
) -> u64 {
    match src {
        Src::Row(row) => cta.row(row, thread),
        Src::Const(bits) => bits,
        Src::Scalar(index) => cta.groups[group].scalars[index as usize],
        Src::Var(index, offset) => cta.variables(vars)[index as usize].wrapping_add_signed(offset),
    }
}

fn switch<const N: usize>(
    cta: &Cta<N>,
    now: &Now<N>,
    vars: &[u64],
    index: Src,
    table: &[Pc],
) -> Executed<N> {
    let mut targets = Targets::new();
    for lane in now.unmasked {
        let index = value(cta, now.group, vars, index, cta.groups[now.group].thread(lane));
        let Some(&pc) = usize::try_from(index).ok().and_then(|i| table.get(i)) else {
            let cause = Cause::SwitchIndex { index, len: table.len() };
            return Err(Box::new((cause, LaneMask::lane(lane))));
        };
        add_target(&mut targets, pc, LaneMask::lane(lane));
    }
    // Lanes that EXEC turns off go with the first target.
    let masked = now.path.lanes - now.unmasked;
    match targets.first_mut() {
        Some(first) => first.1 |= masked,
        None => add_target(&mut targets, table[0], masked),
    }
    Ok(Outcome::Branch(targets))
}

fn call<const N: usize>(
    program: &Program,
    cta: &mut Cta<N>,
    now: &Now<N>,
    vars: &[u64],
    call: &CallOp,
    stack_limit: u64,
) -> Executed<N> {
    // Every lane's callee and room are checked before any lane's frame changes.
    let mut callees = SmallVec::<[(usize, usize); 32]>::new();
    for lane in now.path.lanes {
        let thread = cta.groups[now.group].thread(lane);
        let callee = callee(program, cta, now, vars, call, thread)
            .map_err(|cause| Box::new((cause, LaneMask::lane(lane))))?;
        check_room(program, cta, now, thread, &program.functions[callee], stack_limit)
            .map_err(|cause| Box::new((cause, LaneMask::lane(lane))))?;
        callees.push((thread, callee));
    }
    let return_to = Pc(now.pc.0 + 1);
    let caller_rows = program.functions[program.code[now.pc.0 as usize].function as usize].rows;
    let mut targets = Targets::new();
    for (lane, (thread, callee)) in now.path.lanes.iter().zip(callees) {
        let info = &program.functions[callee];
        enter(cta, now, vars, call, thread, info, (caller_rows, return_to))
            .map_err(|cause| Box::new((cause, LaneMask::lane(lane))))?;
        add_target(&mut targets, info.entry, LaneMask::lane(lane));
    }
    Ok(Outcome::Call { targets, return_to })
}

fn callee<const N: usize>(
    program: &Program,
    cta: &Cta<N>,
    now: &Now<N>,
    vars: &[u64],
    call: &CallOp,
    thread: usize,
) -> Result<usize, Cause> {
    let index = match call.target {
        CallTarget::Func(index) => return Ok(index as usize),
        CallTarget::Address(src) => value(cta, now.group, vars, src, thread),
    };
    let bad = |what| Cause::CallTarget { address: index, what };
    let offset = index.checked_sub(FUNCTION_BASE).filter(|o| o % 16 == 0);
    let function = offset.and_then(|o| usize::try_from(o / 16).ok());
    let function = function.filter(|&f| f < program.functions.len());
    let function = function.ok_or_else(|| bad("where no function begins"))?;
    let info = &program.functions[function];
    let fits = !info.kernel
        && info.params.len() == call.args.len()
        && info.results.len() >= call.results.len();
    if fits { Ok(function) } else { Err(bad("where a function of another signature begins")) }
}

/// Returns whether a thread has room for one more frame.
fn check_room<const N: usize>(
    program: &Program,
    cta: &Cta<N>,
    now: &Now<N>,
    thread: usize,
    callee: &FuncInfo,
    limit: u64,
) -> Result<(), Cause> {
    let caller = &program.functions[program.code[now.pc.0 as usize].function as usize];
    let rows = u64::from(cta.frames.base[thread]) + u64::from(caller.rows) + u64::from(callee.rows);
    let bytes = 8 * rows + u64::from(cta.frames.local[thread].1) + u64::from(callee.local_bytes);
    if bytes <= limit {
        return Ok(());
    }
    let depth = cta.frames.stack[thread].len() as u32 + 1;
    Err(Cause::StackOverflow { depth, limit })
}

/// Pushes a frame on a thread's stack and copies the arguments into it; registers that may be read
/// before they are written are 0.
fn enter<const N: usize>(
    cta: &mut Cta<N>,
    now: &Now<N>,
    vars: &[u64],
    call: &CallOp,
    thread: usize,
    callee: &FuncInfo,
    (caller_rows, return_to): (u32, Pc),
) -> Result<(), Cause> {
    let args = call.args.iter().map(|&src| value(cta, now.group, vars, src, thread));
    let args: SmallVec<[u64; 8]> = args.collect();
    let frames = &mut cta.frames;
    let (base, local) = (frames.base[thread], frames.local[thread]);
    frames.called = true;
    frames.stack[thread].push(Frame { return_to, base, local });
    frames.base[thread] = base + caller_rows;
    frames.local[thread] = (local.1, local.1 + callee.local_bytes);
    let threads = cta.parked.len();
    let rows = (base + caller_rows + callee.rows) as usize;
    if cta.file.len() < rows * threads {
        // Grown by half as much again, so that recursion does not copy the file at every level.
        let want = (rows + rows / 2) * threads;
        cta.file
            .try_reserve(want - cta.file.len())
            .map_err(|e| Cause::HostMemory(e.to_string()))?;
        cta.file.resize(want, 0);
    }
    reserve_local(cta, thread, local.1 + callee.local_bytes)?;
    for &row in &callee.cleared {
        cta.set_row(row, thread, 0);
    }
    for (&row, value) in callee.params.iter().zip(args) {
        cta.set_row(row, thread, value);
    }
    for &(row, offset) in &callee.local_rows {
        cta.set_row(row, thread, u64::from(local.1).wrapping_add_signed(offset));
    }
    Ok(())
}

/// Makes a thread's local memory at least `bytes` long.
pub(crate) fn reserve_local<const N: usize>(
    cta: &mut Cta<N>,
    thread: usize,
    bytes: u32,
) -> Result<(), Cause> {
    let block = &mut cta.local[thread];
    if block.len() >= u64::from(bytes) {
        return Ok(());
    }
    let host = |e: simt::memory::OutOfHostMemory| Cause::HostMemory(e.to_string());
    let mut content = block.to_vec();
    content.resize((bytes as usize).next_power_of_two(), 0);
    *block = Block::from_bytes(&content).map_err(host)?;
    Ok(())
}

fn ret<const N: usize>(
    program: &Program,
    cta: &mut Cta<N>,
    now: &Now<N>,
    lanes: LaneMask<N>,
) -> Outcome<N> {
    let info = &program.functions[program.code[now.pc.0 as usize].function as usize];
    let mut targets = Targets::new();
    for lane in lanes {
        let thread = cta.groups[now.group].thread(lane);
        let values: SmallVec<[u64; 4]> = info.results.iter().map(|&r| cta.row(r, thread)).collect();
        let Some(frame) = cta.frames.stack[thread].pop() else { continue };
        cta.frames.base[thread] = frame.base;
        cta.frames.local[thread] = frame.local;
        // Lanes that EXEC turns off follow, but keep their values.
        let on = now.unmasked.contains(lane);
        if let Exec::Call(call) = &program.code[frame.return_to.0 as usize - 1].exec
            && on
        {
            for (&row, value) in call.results.iter().zip(values) {
                cta.set_row(row, thread, value);
            }
        }
        add_target(&mut targets, frame.return_to, LaneMask::lane(lane));
    }
    Outcome::Return { targets, rest: now.path.lanes - lanes }
}

fn exit<const N: usize>(cta: &mut Cta<N>, now: &Now<N>, lanes: LaneMask<N>) {
    for lane in lanes {
        let thread = cta.groups[now.group].thread(lane);
        cta.exited[thread] = true;
        cta.live -= 1;
    }
}

/// A failure of some lanes.
pub(crate) fn fail<const N: usize>(cause: impl Into<Cause>, lanes: LaneMask<N>) -> Failure<N> {
    Box::new((cause.into(), lanes))
}
