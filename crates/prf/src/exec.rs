//! The semantics of instructions: the effects of one instruction, and their commit.
//!
//! `compute` changes nothing: it returns the `Effects` of an instruction for operands that were
//! read, whenever that was, or the trap. `Warp::commit` applies them. The functional model does
//! both at once; the cycle model reads operands, computes and commits in different cycles. So both
//! share these semantics, and a trap leaves the state before the instruction: all addresses of a
//! load or store are checked before the first lane's access.

use calls::Calls;
use simt::arith::int::{self, DivByZero, Overshift};
use simt::arith::soft::IntConversion;
use simt::arith::{Cmp, F32, FpEnv, NanRule, Rounding, float};
use simt::mask::WarpMask;
use simt::memory::{AccessError, AccessKind, Addr, MemoryMap, Width};
use simt::observe::GroupId;
use simt::trap::Cause;

use crate::config::{Config, Polarity, PredicateWrites};
use crate::op::{Insn, Op};

/// Lanes of a warp.
pub const LANES: usize = 32;
/// One value for each lane.
pub(crate) type Lanes = [u32; LANES];

/// Round to nearest even, denormals kept; an invalid operation gives the quiet NaN, an operand that
/// is a NaN stays.
const ENV: FpEnv = FpEnv { rounding: Rounding::NearestEven, ftz: false, nan: NanRule::Propagate };

/// The reason that the machine stops.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trap {
    /// A word that is not an instruction of this profile.
    #[error("{word:#010x} is not an instruction of this machine")]
    Undefined {
        /// The word.
        word: u32,
    },
    /// The program counter is at an address without code: a wrong jump, or no `halt`.
    #[error("there is no code at {pc:#x}: a `halt` may be missing")]
    NoCode {
        /// The address.
        pc: u32,
    },
    /// A jump to an address that is not a multiple of 4.
    #[error("a jump to {target:#x}, which is not a multiple of 4")]
    Misaligned {
        /// The target.
        target: u32,
    },
    /// The live lanes have different targets.
    #[error("lanes jump apart: lane {lane} to {target:#x}, lane {other} to {elsewhere:#x}")]
    Divergent {
        /// The lowest live lane.
        lane: usize,
        /// Its target.
        target: u32,
        /// The lowest live lane with another target.
        other: usize,
        /// Its target.
        elsewhere: u32,
    },
    /// A load or store that memory refuses, of the lowest lane at fault.
    #[error(transparent)]
    Access(Box<AccessError>),
}

impl Cause for Trap {
    fn code(&self) -> &'static str {
        match self {
            Self::Undefined { .. } => "undefined-instruction",
            Self::NoCode { .. } => "no-code",
            Self::Misaligned { .. } => "misaligned-jump",
            Self::Divergent { .. } => "divergent-jump",
            Self::Access(error) => error.violation.code(),
        }
    }
}

/// The trap that stops an instruction, and the lanes at fault.
pub(crate) type Stop = (Trap, WarpMask);

/// The special registers of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Special {
    /// Index in its block of the thread in lane 0.
    pub(crate) first_thread: u32,
    /// Index of the block.
    pub(crate) block: u32,
    /// Threads of a block, as launched.
    pub(crate) dim: u32,
    /// Address of the arguments.
    pub(crate) argument: u32,
}

/// A warp's architectural state. Lanes are live only if they were launched.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Warp {
    pub(crate) id: GroupId,
    pub(crate) special: Special,
    pub(crate) pc: u32,
    pub(crate) launched: WarpMask,
    pub(crate) live: WarpMask,
    pub(crate) registers: Box<[Lanes; 64]>,
    pub(crate) predicates: [WarpMask; 32],
    /// The calls that the warp is in, for debuggers.
    pub(crate) calls: Calls,
}

/// The inputs of an instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inputs<'a> {
    pub(crate) insn: Insn,
    pub(crate) pc: u32,
    pub(crate) special: Special,
    /// The predicate named in the instruction, as it was read.
    pub(crate) predicate: WarpMask,
    pub(crate) live: WarpMask,
    /// First and second operand, zeros where there is none.
    pub(crate) a: &'a Lanes,
    pub(crate) b: &'a Lanes,
}

/// The effect of an instruction besides the next program counter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Effect {
    None,
    Register {
        rd: u8,
        values: Box<Lanes>,
        lanes: WarpMask,
    },
    /// Lanes of `lanes` get a bit each; the configuration decides what the others get.
    Predicate {
        pdst: u8,
        set: WarpMask,
        lanes: WarpMask,
    },
    /// A whole mask.
    Mask {
        pdst: u8,
        mask: WarpMask,
    },
    Store {
        width: Width,
        addresses: Box<Lanes>,
        values: Box<Lanes>,
        lanes: WarpMask,
    },
    Retire(WarpMask),
}

/// The result of an instruction.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Effects {
    pub(crate) effect: Effect,
    /// The target of a jump, if it is taken.
    pub(crate) target: Option<u32>,
}

impl Warp {
    /// The operands of an instruction as the registers hold them.
    pub(crate) fn operand(&self, register: Option<u8>) -> &Lanes {
        // A register number has six bits; `commit` keeps x0 at 0.
        &self.registers[usize::from(register.unwrap_or(0) & 63)]
    }

    /// A predicate register.
    pub(crate) fn predicate(&self, index: u8) -> WarpMask {
        self.predicates[usize::from(index & 31)]
    }

    /// Applies effects on registers and predicates.
    pub(crate) fn commit(&mut self, effect: &Effect, config: Config) {
        match effect {
            // Writes to x0 are ignored: `jal x0, L` is the plain jump of this instruction set.
            Effect::None | Effect::Store { .. } | Effect::Register { rd: 0, .. } => {}
            Effect::Register { rd, values, lanes } => {
                let column = &mut self.registers[usize::from(rd & 63)];
                for lane in *lanes {
                    column[lane] = values[lane];
                }
            }
            Effect::Predicate { pdst, set, lanes } => {
                let register = &mut self.predicates[usize::from(pdst & 31)];
                *register = match config.writes {
                    PredicateWrites::And => *set,
                    PredicateWrites::Merge => (*register - *lanes) | *set,
                };
            }
            Effect::Mask { pdst, mask } => self.predicates[usize::from(pdst & 31)] = *mask,
            Effect::Retire(lanes) => self.live -= *lanes,
        }
    }
}

/// Applies a store; its addresses have been checked.
pub(crate) fn store(effect: &Effect, memory: &mut MemoryMap) -> Result<(), Stop> {
    let Effect::Store { width, addresses, values, lanes } = effect else { return Ok(()) };
    for lane in *lanes {
        let (at, value) = (Addr(addresses[lane].into()), values[lane]);
        memory.store(at, *width, value.into()).map_err(|e| (Trap::Access(e), *lanes))?;
    }
    Ok(())
}

/// The effects of an instruction. Reads memory for loads; changes nothing.
pub(crate) fn compute(
    inputs: &Inputs<'_>,
    config: Config,
    memory: &MemoryMap,
) -> Result<Effects, Stop> {
    let Inputs { insn: i, pc, special, predicate, live, a, b } = *inputs;
    let on = predicate & live;
    let each = |f: &dyn Fn(usize) -> u32| {
        let mut values = Box::new([0; LANES]);
        for lane in on {
            values[lane] = f(lane);
        }
        Effect::Register { rd: i.rd, values, lanes: on }
    };
    let compared = |f: &dyn Fn(usize) -> bool| Effect::Predicate {
        pdst: i.pdst,
        set: on.filter(f),
        lanes: on,
    };
    let link = || Effect::Register {
        rd: i.rd,
        values: Box::new([pc.wrapping_add(4); LANES]),
        lanes: live,
    };
    let mut target = None;
    let effect = match i.op {
        Op::Jal => {
            target = Some(aligned(pc.wrapping_add_signed(i.imm), live)?);
            link()
        }
        Op::Jalr => {
            target = Some(common(a, i.imm, live)?);
            link()
        }
        Op::Jpnz => {
            let inverted = i.by_register || config.polarity == Polarity::NoLane;
            if on.is_empty() == inverted {
                let to = if i.by_register {
                    common(b, 0, live)?
                } else {
                    aligned(pc.wrapping_add_signed(i.imm), live)?
                };
                target = Some(to);
            }
            Effect::None
        }
        Op::Halt => {
            let all = i.pred == 31 && !config.strict_halt;
            Effect::Retire(if all { live } else { on })
        }
        Op::Lw | Op::Lh | Op::Lb => load(i, a, on, memory)?,
        Op::Sw | Op::Sh | Op::Sb => {
            let width = width(i.op);
            let addresses = Box::new(a.map(|base| base.wrapping_add_signed(i.imm)));
            allowed(AccessKind::Store, width, &addresses, on, memory)?;
            Effect::Store { width, addresses, values: Box::new(*b), lanes: on }
        }
        Op::Prsw | Op::Prlw => whole_mask(i, predicate, b, memory)?,
        Op::Csrr => each(&|lane| match i.imm {
            0 => special.first_thread.wrapping_add(lane as u32),
            1 => special.block,
            2 => special.dim,
            _ => special.argument,
        }),
        Op::Auipc => {
            let upper = (i.imm as u32) << 12;
            let upper = if i.imm & 0x800 != 0 { upper | 0xff00_0000 } else { upper };
            each(&|_| pc.wrapping_add(upper))
        }
        op => match condition(op) {
            Some(holds) => compared(&|lane| holds(a[lane], b[lane])),
            None => each(&|lane| lane_wise(op, a[lane], b[lane], i.imm)),
        },
    };
    Ok(Effects { effect, target })
}

fn aligned(target: u32, live: WarpMask) -> Result<u32, Stop> {
    if target.is_multiple_of(4) { Ok(target) } else { Err((Trap::Misaligned { target }, live)) }
}

/// The one target of all live lanes.
fn common(base: &Lanes, offset: i32, live: WarpMask) -> Result<u32, Stop> {
    let to = |lane: usize| base[lane].wrapping_add_signed(offset);
    let lane = live.lowest().unwrap_or(0);
    let apart = live.filter(|other| to(other) != to(lane));
    if let Some(other) = apart.lowest() {
        let trap = Trap::Divergent { lane, target: to(lane), other, elsewhere: to(other) };
        return Err((trap, apart));
    }
    aligned(to(lane), live)
}

fn width(op: Op) -> Width {
    match op {
        Op::Lb | Op::Sb => Width::B1,
        Op::Lh | Op::Sh => Width::B2,
        _ => Width::B4,
    }
}

/// Checks that memory allows all lanes' accesses.
fn allowed(
    kind: AccessKind,
    width: Width,
    addresses: &Lanes,
    on: WarpMask,
    memory: &MemoryMap,
) -> Result<(), Stop> {
    let size = width.bytes();
    let check = |lane: usize| memory.check(kind, Addr(addresses[lane].into()), size, size);
    let wrong = on.filter(|lane| check(lane).is_err());
    wrong.lowest().map_or(Ok(()), |lane| check(lane).map_err(|e| (Trap::Access(e), wrong)))
}

fn load(i: Insn, base: &Lanes, on: WarpMask, memory: &MemoryMap) -> Result<Effect, Stop> {
    let width = width(i.op);
    let addresses = base.map(|base| base.wrapping_add_signed(i.imm));
    allowed(AccessKind::Load, width, &addresses, on, memory)?;
    let mut values = Box::new([0; LANES]);
    for lane in on {
        let loaded = memory.load(Addr(addresses[lane].into()), width);
        let bits = loaded.map_err(|e| (Trap::Access(e), on))?;
        values[lane] = match width {
            Width::B1 => int::convert::<i8, u32>(bits),
            Width::B2 => int::convert::<i16, u32>(bits),
            _ => bits,
        } as u32;
    }
    Ok(Effect::Register { rd: i.rd, values, lanes: on })
}

/// `prsw` and `prlw`: lane 0 accesses memory, whether or not it is live.
fn whole_mask(
    i: Insn,
    predicate: WarpMask,
    base: &Lanes,
    memory: &MemoryMap,
) -> Result<Effect, Stop> {
    let lane0 = WarpMask::lane(0);
    let addresses = Box::new(base.map(|base| base.wrapping_add_signed(i.imm)));
    if i.op == Op::Prsw {
        allowed(AccessKind::Store, Width::B4, &addresses, lane0, memory)?;
        let values = Box::new([predicate.bits() as u32; LANES]);
        return Ok(Effect::Store { width: Width::B4, addresses, values, lanes: lane0 });
    }
    allowed(AccessKind::Load, Width::B4, &addresses, lane0, memory)?;
    let loaded = memory.load(Addr(addresses[0].into()), Width::B4);
    let mask = WarpMask::from_bits(loaded.map_err(|e| (Trap::Access(e), lane0))?);
    Ok(Effect::Mask { pdst: i.pdst, mask })
}

/// The comparison of an instruction that writes a predicate.
fn condition(op: Op) -> Option<fn(u32, u32) -> bool> {
    let holds: fn(u32, u32) -> bool = match op {
        Op::Beq => |a, b| a == b,
        Op::Bne => |a, b| a != b,
        Op::Bge => |a, b| int::holds::<i32>(Cmp::Ge, a.into(), b.into()),
        Op::Bgeu => |a, b| a >= b,
        Op::Blt => |a, b| int::holds::<i32>(Cmp::Lt, a.into(), b.into()),
        Op::Bltu => |a, b| a < b,
        Op::Beqf => |a, b| float::holds::<F32>(Cmp::Eq, a.into(), b.into(), ENV),
        // A NaN differs from everything.
        Op::Bnef => |a, b| float::holds::<F32>(Cmp::Neu, a.into(), b.into(), ENV),
        Op::Bgef => |a, b| float::holds::<F32>(Cmp::Ge, a.into(), b.into(), ENV),
        Op::Bltf => |a, b| float::holds::<F32>(Cmp::Lt, a.into(), b.into(), ENV),
        _ => return None,
    };
    Some(holds)
}

/// Computes one lane of an instruction. `imm` is the immediate of the formats that have one.
#[must_use]
pub(crate) fn lane_wise(op: Op, a: u32, b: u32, imm: i32) -> u32 {
    let (x, y, k) = (u64::from(a), u64::from(b), u64::from(imm as u32));
    let wrap = Overshift::Wrap;
    let out = match op {
        Op::Add => int::add::<u32>(x, y),
        Op::Sub => int::sub::<u32>(x, y),
        Op::Mul => int::mul_lo::<u32>(x, y),
        Op::Div => int::div::<i32>(x, y, DivByZero::Zero),
        Op::And => int::and::<u32>(x, y),
        Op::Or => int::or::<u32>(x, y),
        Op::Xor => int::xor::<u32>(x, y),
        Op::Slt => int::holds::<i32>(Cmp::Lt, x, y).into(),
        Op::Sltu => int::holds::<u32>(Cmp::Lt, x, y).into(),
        Op::Sge => int::holds::<i32>(Cmp::Ge, x, y).into(),
        Op::Sgeu => int::holds::<u32>(Cmp::Ge, x, y).into(),
        Op::Sll => int::shl::<u32>(x, y & 31, wrap),
        Op::Srl => int::shr::<u32>(x, y & 31, wrap),
        Op::Sra => int::shr::<i32>(x, y & 31, wrap),
        Op::Addi => int::add::<u32>(x, k),
        Op::Subi => int::sub::<u32>(x, k),
        Op::Xori => int::xor::<u32>(x, k),
        Op::Ori => int::or::<u32>(x, k),
        Op::Slti => int::holds::<i32>(Cmp::Lt, x, k).into(),
        Op::Sltiu => int::holds::<u32>(Cmp::Lt, x, k).into(),
        Op::Slli => int::shl::<u32>(x, k & 31, wrap),
        Op::Srli => int::shr::<u32>(x, k & 31, wrap),
        Op::Srai => int::shr::<i32>(x, k & 31, wrap),
        Op::Lli => x & !0xfff | k & 0xfff,
        Op::Lmi => x & !0x00ff_f000 | (k & 0xfff) << 12,
        Op::Lui => x & 0x00ff_ffff | (k & 0xff) << 24,
        Op::Addf => float::add::<F32>(x, y, ENV),
        Op::Subf => float::sub::<F32>(x, y, ENV),
        Op::Mulf => float::mul::<F32>(x, y, ENV),
        // Division by a zero of either sign gives +0.
        Op::Divf if b << 1 == 0 => 0,
        Op::Divf => float::div::<F32>(x, y, ENV),
        Op::Sltf => float::holds::<F32>(Cmp::Lt, x, y, ENV).into(),
        Op::Sgef => float::holds::<F32>(Cmp::Ge, x, y, ENV).into(),
        Op::Itof => float::from_int::<i32, F32>(x, ENV),
        Op::Ftoi => {
            let env = ENV.with_rounding(Rounding::TowardZero);
            float::to_int::<F32, i32>(x, IntConversion::NanZero, env)
        }
        Op::Isqrt => inverse_sqrt(a).into(),
        Op::Sin => through_binary64(a, libm::sin).into(),
        Op::Cos => through_binary64(a, libm::cos).into(),
        // Every other operation has a case of its own in `compute`.
        _ => 0,
    };
    out as u32
}

/// Applies a function of binary64 to a binary32 operand, rounded to binary32. NaN results follow
/// `ENV`: the bits that the host gives an invalid operation differ between hosts.
fn through_binary64(bits: u32, function: impl Fn(f64) -> f64) -> u32 {
    const QUIET_NAN: u32 = 0x7fc0_0000;
    let operand = f32::from_bits(bits);
    let result = function(operand.into()) as f32;
    match (result.is_nan(), operand.is_nan()) {
        (false, _) => result.to_bits(),
        (true, true) => bits | QUIET_NAN,
        (true, false) => QUIET_NAN,
    }
}

/// 1 / sqrt(x), computed in binary64 and rounded; +0 for zeros and negative numbers.
fn inverse_sqrt(bits: u32) -> u32 {
    if f32::from_bits(bits) <= 0.0 { 0 } else { through_binary64(bits, |x| 1.0 / libm::sqrt(x)) }
}
