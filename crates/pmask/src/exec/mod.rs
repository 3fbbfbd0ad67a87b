//! One instruction: from its decoded form to its effects on the state.
//!
//! An instruction that traps has changed nothing, but for lanes before the one at fault (see
//! [`rsv`]).

mod alu;
mod fp;
pub(crate) mod mem;
pub(crate) mod pm;
pub(crate) mod rsv;
mod rt;

use simt::arith::FpEnv;
use simt::memory::{AccessKind, Space, Width};
use simt::observe::{Access, Branch, Events, GroupId, Observer, Order, Pc, Scope};

use crate::csr::{self, mstatus};
use crate::decode::Inst;
use crate::op::{CsrOp, Fmt, FpOp, Op};
use crate::state::{FpControl, Mode, State, ones};
use crate::trap::{Trap, TrapCause};

/// The one group of this machine.
pub(crate) const GROUP: GroupId = GroupId { cta: 0, group: 0, first_thread: 0 };

/// The observer, and the lane for which an access is made.
pub(crate) struct Context<'o, O> {
    pub(crate) observer: &'o mut O,
    pub(crate) lane: u16,
}

impl<O: Observer<1>> Context<'_, O> {
    fn access(&mut self, state: &State, kind: AccessKind, addr: u64, size: u64) {
        if self.observer.wants(Events::ACCESS) {
            self.observer.access(&Access {
                group: GROUP,
                pc: Pc(state.pc),
                kind,
                space: Space::Global,
                owner: GROUP.cta,
                order: Order::Weak,
                scope: Scope::Gpu,
                size: size as u32,
                lanes: &[(self.lane, addr)],
                values: &[],
            });
        }
    }
}

fn illegal(inst: &Inst) -> Trap {
    Trap::new(TrapCause::Illegal, inst.word.into())
}

/// Runs an instruction that is not lane-wise now, up to and including the program counter.
#[inline]
pub(crate) fn scalar<O: Observer<1>>(
    state: &mut State,
    inst: &Inst,
    context: &mut Context<'_, O>,
) -> Result<(), Trap> {
    let next = state.pc.wrapping_add(inst.len.into());
    let rs1 = state.x[usize::from(inst.rs1 & 31)];
    let rs2 = state.x[usize::from(inst.rs2 & 31)];
    let target = state.pc.wrapping_add_signed(inst.imm);
    match inst.op {
        Op::Illegal => return Err(illegal(inst)),
        Op::Auipc => state.set_x(inst.rd, target),
        Op::Jal => {
            state.set_x(inst.rd, next);
            note_call(state, (inst.rd, 0), (next, target));
            return jump(state, target, inst.rd == 0, context);
        }
        Op::Jalr => {
            state.set_x(inst.rd, next);
            let target = rs1.wrapping_add_signed(inst.imm) & !1;
            note_call(state, (inst.rd, inst.rs1), (next, target));
            return jump(state, target, inst.rd == 0, context);
        }
        Op::Branch(compare) => {
            return branch(state, compare.holds(rs1, rs2), target, next, context);
        }
        Op::BranchP0(on) => {
            return branch(state, state.masks.p0 == on, target, next, context);
        }
        Op::BranchBank(any) => {
            let taken = pm::any(state, inst.bank) == any;
            return branch(state, taken, target, next, context);
        }
        Op::Lr(_) | Op::Sc(_) | Op::Amo(..) => atomic(state, inst, context)?,
        Op::Csr(op) => csr_access(state, inst, op, rs1, inst.rs1 == 0)?,
        Op::CsrImm(op) => csr_access(state, inst, op, inst.imm as u64, inst.imm == 0)?,
        Op::Fence => {}
        Op::Ecall => {
            let cause = match state.mode {
                Mode::User => TrapCause::UserCall,
                Mode::Machine => TrapCause::MachineCall,
            };
            return Err(Trap::new(cause, 0));
        }
        Op::Ebreak => return Err(Trap::new(TrapCause::Breakpoint, state.pc)),
        Op::Mret => return mret(state, inst),
        Op::Wfi if state.mode == Mode::User && state.csr.mstatus & mstatus::TW != 0 => {
            return Err(illegal(inst));
        }
        Op::Wfi => {}
        Op::Pm(op) => pm::bank_op(state, op, inst),
        Op::Test(test) => pm::scalar_test(state, test, inst),
        Op::Psel => state.set_x(inst.rd, if state.masks.p0 { rs1 } else { rs2 }),
        Op::Compress | Op::Expand => state.set_x(inst.rd, rs1),
        Op::SvPopcnt => {
            let lanes = state.lanes(state.rsv.pbank);
            state.set_x(inst.rd, lanes.count_ones().into());
        }
        Op::RtBbox => rt::bbox(state, inst)?,
        Op::SetVl | Op::SetVlImm | Op::SvOne | Op::SvBlk | Op::SvEnd | Op::SvStep | Op::SvFpctl => {
            prefix(state, inst, rs1);
        }
        _ => data(state, inst, 0, context)?,
    }
    state.pc = next;
    Ok(())
}

/// Executes an instruction on data: the part that RSV repeats. `offset` is added to the address of
/// an access.
#[inline]
pub(crate) fn data<O: Observer<1>>(
    state: &mut State,
    inst: &Inst,
    offset: u64,
    context: &mut Context<'_, O>,
) -> Result<(), Trap> {
    let a = state.x[usize::from(inst.rs1 & 31)];
    let b = if inst.has_imm { inst.imm as u64 } else { state.x[usize::from(inst.rs2 & 31)] };
    let addr = a.wrapping_add_signed(inst.imm).wrapping_add(offset);
    match inst.op {
        Op::Alu(op) => state.set_x(inst.rd, alu::alu(op, a, b)),
        Op::Lui => state.set_x(inst.rd, inst.imm as u64),
        Op::Load(width, signed) => {
            context.access(state, AccessKind::Load, addr, width.bytes());
            let value = mem::load(state, addr, width)?;
            state.set_x(inst.rd, if signed { mem::extend(value, width) } else { value });
        }
        Op::Store(width) => {
            context.access(state, AccessKind::Store, addr, width.bytes());
            let value = state.x[usize::from(inst.rs2 & 31)];
            mem::store(state, addr, width, value)?;
        }
        Op::FLoad(fmt) => {
            float_on(state, inst)?;
            let width = float_width(fmt);
            context.access(state, AccessKind::Load, addr, width.bytes());
            let value = mem::load(state, addr, width)?;
            let value = if fmt == Fmt::S { fp::boxed(value) } else { value };
            set_f(state, inst.rd, value);
        }
        Op::FStore(fmt) => {
            float_on(state, inst)?;
            let width = float_width(fmt);
            context.access(state, AccessKind::Store, addr, width.bytes());
            mem::store(state, addr, width, state.f[usize::from(inst.rs2 & 31)])?;
        }
        Op::Fp(op, fmt) => float(state, inst, op, fmt)?,
        _ => return Err(illegal(inst)),
    }
    Ok(())
}

const fn float_width(fmt: Fmt) -> Width {
    match fmt {
        Fmt::S => Width::B4,
        Fmt::D => Width::B8,
    }
}

/// Returns whether floating-point instructions may run.
pub(crate) fn float_is_on(state: &State) -> bool {
    state.csr.mstatus & mstatus::FS != 0
}

fn float_on(state: &State, inst: &Inst) -> Result<(), Trap> {
    if float_is_on(state) { Ok(()) } else { Err(illegal(inst)) }
}

fn set_f(state: &mut State, register: u8, value: u64) {
    state.f[usize::from(register & 31)] = value;
    state.csr.mstatus |= mstatus::FS;
}

fn float(state: &mut State, inst: &Inst, op: FpOp, fmt: Fmt) -> Result<(), Trap> {
    float_on(state, inst)?;
    let dynamic = || {
        // An override holds for the next lane-wise instruction only.
        let control = state.rsv.control.filter(|_| state.rsv.enabled);
        control.map_or(state.csr.frm, |c| c.rounding)
    };
    let mode = if inst.rm == 7 { dynamic() } else { inst.rm };
    let rounding = fp::rounding(mode).ok_or_else(|| illegal(inst))?;
    let env = FpEnv::RISCV.with_rounding(rounding);
    let from_x = matches!(op, FpOp::FromInt(_) | FpOp::MoveFromInt);
    let rs1 = usize::from(inst.rs1 & 31);
    let from = fp::Operands {
        a: if from_x { state.x[rs1] } else { state.f[rs1] },
        b: state.f[usize::from(inst.rs2 & 31)],
        c: state.f[usize::from(inst.rs3 & 31)],
    };
    let (value, flags) = fp::eval(op, fmt, from, env, state.csr.fflags);
    if !flags.is_empty() {
        state.csr.fflags |= flags.bits();
        state.csr.mstatus |= mstatus::FS;
    }
    match inst.op.destination() {
        Some((crate::op::File::X, _)) => state.set_x(inst.rd, value),
        _ => set_f(state, inst.rd, value),
    }
    Ok(())
}

fn atomic<O: Observer<1>>(
    state: &mut State,
    inst: &Inst,
    context: &mut Context<'_, O>,
) -> Result<(), Trap> {
    // Atomics have no lane form.
    if state.rsv.enabled {
        return Err(illegal(inst));
    }
    let addr = state.x[usize::from(inst.rs1 & 31)];
    let value = state.x[usize::from(inst.rs2 & 31)];
    let result = match inst.op {
        Op::Lr(width) => {
            context.access(state, AccessKind::Load, addr, width.bytes());
            mem::load_reserved(state, addr, width)?
        }
        Op::Sc(width) => {
            context.access(state, AccessKind::Store, addr, width.bytes());
            mem::store_conditional(state, addr, width, value)?
        }
        Op::Amo(op, width) => {
            context.access(state, AccessKind::Atomic, addr, width.bytes());
            mem::atomic(state, op, addr, width, value)?
        }
        _ => return Err(illegal(inst)),
    };
    state.set_x(inst.rd, result);
    Ok(())
}

/// Tells calls and returns by their registers, as the hints of return-address prediction do (RISC-V
/// unprivileged ISA, "Unconditional Jumps"): `ra` and `t0` link.
fn note_call(state: &mut State, (rd, rs1): (u8, u8), (back, target): (u64, u64)) {
    let links = |register: u8| matches!(register, 1 | 5);
    if links(rs1) && rs1 != rd {
        state.calls.leave(target);
    }
    if links(rd) {
        state.calls.enter(back);
    }
}

fn jump<O: Observer<1>>(
    state: &mut State,
    target: u64,
    no_link: bool,
    context: &mut Context<'_, O>,
) -> Result<(), Trap> {
    state.stuck = no_link && target == state.pc;
    branched(state, target, context);
    state.pc = target;
    Ok(())
}

fn branch<O: Observer<1>>(
    state: &mut State,
    taken: bool,
    target: u64,
    next: u64,
    context: &mut Context<'_, O>,
) -> Result<(), Trap> {
    // A branch changes nothing, so one to itself repeats forever.
    state.stuck = taken && target == state.pc;
    let to = if taken { target } else { next };
    branched(state, to, context);
    state.pc = to;
    Ok(())
}

fn branched<O: Observer<1>>(state: &State, to: u64, context: &mut Context<'_, O>) {
    if context.observer.wants(Events::BRANCH) {
        let targets = [(Pc(to), simt::LaneMask::<1>::first(1))];
        context.observer.branch(&Branch { group: GROUP, pc: Pc(state.pc), targets: &targets });
    }
}

fn csr_access(
    state: &mut State,
    inst: &Inst,
    op: CsrOp,
    operand: u64,
    zero: bool,
) -> Result<(), Trap> {
    let writes = op == CsrOp::Write || !zero;
    let old = csr::read(state, inst.csr, writes).map_err(|_| illegal(inst))?;
    state.involved += u64::from(csr::counts(inst.csr));
    if writes {
        let new = match op {
            CsrOp::Write => operand,
            CsrOp::Set => old | operand,
            CsrOp::Clear => old & !operand,
        };
        csr::write(state, inst.csr, new).map_err(|_| illegal(inst))?;
    }
    state.set_x(inst.rd, old);
    Ok(())
}

/// Returns to the place of the trap; lanes that the trap had disabled are enabled again.
fn mret(state: &mut State, inst: &Inst) -> Result<(), Trap> {
    if state.mode != Mode::Machine {
        return Err(illegal(inst));
    }
    let old = state.csr.mstatus;
    state.mode = if old & mstatus::MPP == 0 { Mode::User } else { Mode::Machine };
    let mut new = old & !(mstatus::MPP | mstatus::MIE) | mstatus::MPIE;
    if old & mstatus::MPIE != 0 {
        new |= mstatus::MIE;
    }
    if state.mode == Mode::User {
        new &= !mstatus::MPRV;
    }
    state.csr.mstatus = new;
    state.rsv.enabled = std::mem::take(&mut state.rsv.saved_enabled);
    state.rsv.one_shot = std::mem::take(&mut state.rsv.saved_one_shot);
    state.pc = state.csr.mepc;
    Ok(())
}

/// The RSV prefixes.
fn prefix(state: &mut State, inst: &Inst, rs1: u64) {
    let most = state.config.most_lanes();
    let clamp = |request: u64| request.clamp(1, most.into()) as u8;
    match inst.op {
        Op::SetVl | Op::SetVlImm => {
            state.rsv.vl = match inst.op {
                Op::SetVlImm => clamp(inst.imm as u64),
                _ if inst.rs1 == 0 => most,
                _ => clamp(rs1 & 0xff),
            };
            state.set_x(inst.rd, state.rsv.vl.into());
        }
        Op::SvOne => one_shot(state),
        Op::SvBlk => {
            let rsv = &mut state.rsv;
            (rsv.enabled, rsv.one_shot, rsv.block) = (true, false, inst.imm as u16);
        }
        Op::SvEnd => {
            let rsv = &mut state.rsv;
            (rsv.enabled, rsv.one_shot, rsv.block) = (false, false, 0);
        }
        Op::SvStep => {
            let field = |lsb: u32, bits: u8| (inst.imm as u64 >> lsb) & ones(bits);
            let step = |code: u64| if code == 0 { 0 } else { 1i8 << (code - 1) };
            state.rsv.vl = clamp(field(6, 6) + 1);
            state.rsv.source_a.step = step(field(3, 2));
            state.rsv.source_b.step = step(field(3, 2));
            state.rsv.dest.step = step(field(0, 2));
            one_shot(state);
        }
        _ => {
            let bits = inst.imm as u8;
            state.rsv.control = Some(FpControl {
                rounding: bits >> 2 & 7,
                sae: bits >> 1 & 1 == 1,
                zero: bits & 1 == 1,
            });
        }
    }
}

fn one_shot(state: &mut State) {
    let rsv = &mut state.rsv;
    (rsv.enabled, rsv.one_shot, rsv.block) = (true, true, 0);
}
