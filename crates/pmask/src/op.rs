//! The operations of the instruction table's forms, as one closed set.
//!
//! Forms outnumber operations, because an immediate form and a register form, or the two
//! floating-point formats, share one. [`op_of`] pairs them by name; a test checks that every form
//! has its operation.

use simt::arith::Cmp;
use simt::memory::Width;

/// A floating-point format of the F and D extensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fmt {
    /// binary32, NaN-boxed in its register.
    S,
    /// binary64.
    D,
}

/// Integer operations of two values: the second is `rs2` or the immediate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "named as the instructions are")]
pub enum Alu {
    Add,
    Sub,
    Sll,
    Slt,
    Sltu,
    Xor,
    Srl,
    Sra,
    Or,
    And,
    AddW,
    SubW,
    SllW,
    SrlW,
    SraW,
    Mul,
    Mulh,
    Mulhsu,
    Mulhu,
    Div,
    Divu,
    Rem,
    Remu,
    MulW,
    DivW,
    DivuW,
    RemW,
    RemuW,
    /// `rs2 + (rs1 << n)`.
    ShAdd(u8),
    /// `rs2 + (rs1[31:0] << n)`; `n` = 0 is `add.uw`.
    ShAddUw(u8),
    SllUw,
    Andn,
    Orn,
    Xnor,
    Min,
    Minu,
    Max,
    Maxu,
    Rol,
    Ror,
    RolW,
    RorW,
    Clz,
    Ctz,
    Cpop,
    ClzW,
    CtzW,
    CpopW,
    SextB,
    SextH,
    ZextH,
    OrcB,
    Rev8,
    Bclr,
    Bext,
    Binv,
    Bset,
    Clmul,
    ClmulH,
    ClmulR,
}

/// Floating-point operations; the format is stored separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "named as the instructions are")]
pub enum FpOp {
    Madd,
    Msub,
    Nmsub,
    Nmadd,
    Add,
    Sub,
    Mul,
    Div,
    Sqrt,
    Sgnj,
    Sgnjn,
    Sgnjx,
    Min,
    Max,
    Eq,
    Lt,
    Le,
    Class,
    /// To an integer.
    ToInt(IntType),
    /// From an integer.
    FromInt(IntType),
    /// From the other format.
    Convert,
    /// Bits to an integer register.
    MoveToInt,
    /// Bits from an integer register.
    MoveFromInt,
}

/// An integer type of conversions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "named as the instructions are")]
pub enum IntType {
    W,
    Wu,
    L,
    Lu,
}

/// Atomic read-modify-write operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "named as the instructions are")]
pub enum Amo {
    Swap,
    Add,
    Xor,
    And,
    Or,
    Min,
    Max,
    Minu,
    Maxu,
}

/// The effect of a CSR instruction on the old value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CsrOp {
    /// Replaces it.
    Write,
    /// Sets bits.
    Set,
    /// Clears bits.
    Clear,
}

/// A comparison of two integer registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IntCmp {
    /// The relation.
    pub cmp: Cmp,
    /// As two's complement.
    pub signed: bool,
}

impl IntCmp {
    /// Returns whether it holds of two 64-bit values.
    #[inline]
    #[must_use]
    pub fn holds(self, a: u64, b: u64) -> bool {
        if self.signed {
            simt::arith::int::holds::<i64>(self.cmp, a, b)
        } else {
            simt::arith::int::holds::<u64>(self.cmp, a, b)
        }
    }
}

/// Operations on mask banks and P0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "named as the instructions are")]
pub enum PmOp {
    Clr,
    Set,
    Not,
    And,
    Or,
    Xor,
    Andn,
    LowRd,
    HighRd,
    LowWr,
    HighWr,
    Any,
    None,
    All,
    Popcnt,
    P0,
}

/// A test that sets a predicate: P0, and bit 0 of a bank (or its lanes, under RSV).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Test {
    /// `rs1 != 0`.
    NonZero,
    /// `(rs1 and rs2) != 0`.
    Common,
    /// A comparison.
    Compare(IntCmp),
}

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "named as the instructions are")]
pub enum Op {
    /// Not an instruction of this machine.
    Illegal,
    Alu(Alu),
    Lui,
    Auipc,
    Jal,
    Jalr,
    Branch(IntCmp),
    Load(Width, bool),
    Store(Width),
    FLoad(Fmt),
    FStore(Fmt),
    Fp(FpOp, Fmt),
    Lr(Width),
    Sc(Width),
    Amo(Amo, Width),
    Csr(CsrOp),
    CsrImm(CsrOp),
    Fence,
    Ecall,
    Ebreak,
    Mret,
    Wfi,
    Pm(PmOp),
    /// Sets P0, and the bank in [`Inst::bank`](crate::decode::Inst::bank) unless that is 0.
    Test(Test),
    Psel,
    /// Branches if P0 is this.
    BranchP0(bool),
    /// Branches if some lane of the bank is on, or none is.
    BranchBank(bool),
    SetVl,
    SetVlImm,
    SvOne,
    SvBlk,
    SvEnd,
    SvStep,
    SvFpctl,
    Compress,
    Expand,
    SvPopcnt,
    RtBbox,
}

/// Returns the operation of a form of the table; `None` for a name that is not a form's.
#[must_use]
pub fn op_of(name: &str) -> Option<Op> {
    let signed = |cmp| IntCmp { cmp, signed: true };
    let unsigned = |cmp| IntCmp { cmp, signed: false };
    Some(match name {
        "lui" => Op::Lui,
        "auipc" => Op::Auipc,
        "jal" => Op::Jal,
        "jalr" => Op::Jalr,
        "beq" => Op::Branch(unsigned(Cmp::Eq)),
        "bne" => Op::Branch(unsigned(Cmp::Ne)),
        "blt" => Op::Branch(signed(Cmp::Lt)),
        "bge" => Op::Branch(signed(Cmp::Ge)),
        "bltu" => Op::Branch(unsigned(Cmp::Lt)),
        "bgeu" => Op::Branch(unsigned(Cmp::Ge)),
        "lb" => Op::Load(Width::B1, true),
        "lh" => Op::Load(Width::B2, true),
        "lw" => Op::Load(Width::B4, true),
        "ld" => Op::Load(Width::B8, true),
        "lbu" => Op::Load(Width::B1, false),
        "lhu" => Op::Load(Width::B2, false),
        "lwu" => Op::Load(Width::B4, false),
        "sb" => Op::Store(Width::B1),
        "sh" => Op::Store(Width::B2),
        "sw" => Op::Store(Width::B4),
        "sd" => Op::Store(Width::B8),
        "flw" => Op::FLoad(Fmt::S),
        "fld" => Op::FLoad(Fmt::D),
        "fsw" => Op::FStore(Fmt::S),
        "fsd" => Op::FStore(Fmt::D),
        "fence" | "fence.tso" | "fence.i" => Op::Fence,
        "ecall" => Op::Ecall,
        "ebreak" => Op::Ebreak,
        "mret" => Op::Mret,
        "wfi" => Op::Wfi,
        "csrrw" => Op::Csr(CsrOp::Write),
        "csrrs" => Op::Csr(CsrOp::Set),
        "csrrc" => Op::Csr(CsrOp::Clear),
        "csrrwi" => Op::CsrImm(CsrOp::Write),
        "csrrsi" => Op::CsrImm(CsrOp::Set),
        "csrrci" => Op::CsrImm(CsrOp::Clear),
        "lr.w" => Op::Lr(Width::B4),
        "lr.d" => Op::Lr(Width::B8),
        "sc.w" => Op::Sc(Width::B4),
        "sc.d" => Op::Sc(Width::B8),
        "fcvt.s.d" => Op::Fp(FpOp::Convert, Fmt::S),
        "fcvt.d.s" => Op::Fp(FpOp::Convert, Fmt::D),
        "fmv.x.w" => Op::Fp(FpOp::MoveToInt, Fmt::S),
        "fmv.x.d" => Op::Fp(FpOp::MoveToInt, Fmt::D),
        "fmv.w.x" => Op::Fp(FpOp::MoveFromInt, Fmt::S),
        "fmv.d.x" => Op::Fp(FpOp::MoveFromInt, Fmt::D),
        "psel" => Op::Psel,
        "pmmov.to_p0" => Op::Test(Test::NonZero),
        "ptestnz" | "ptestnz.b" => Op::Test(Test::Common),
        "bp.t" => Op::BranchP0(true),
        "bp.f" => Op::BranchP0(false),
        "bp.any" => Op::BranchBank(true),
        "bp.none" => Op::BranchBank(false),
        "svsetvl" => Op::SetVl,
        "svsetvl.i" => Op::SetVlImm,
        "svon.one" => Op::SvOne,
        "svon.blk" => Op::SvBlk,
        "svend" => Op::SvEnd,
        "svp.one.vlstep" => Op::SvStep,
        "svon.fpctl" => Op::SvFpctl,
        "svcompress" => Op::Compress,
        "svexpand" => Op::Expand,
        "svpopcnt.pm" => Op::SvPopcnt,
        "rt.bbox" => Op::RtBbox,
        _ => {
            return alu_of(name)
                .map(Op::Alu)
                .or_else(|| pm_of(name).map(Op::Pm))
                .or_else(|| pcmp_of(name))
                .or_else(|| amo_of(name))
                .or_else(|| fp_of(name));
        }
    })
}

fn alu_of(name: &str) -> Option<Alu> {
    Some(match name {
        "add" | "addi" => Alu::Add,
        "sub" => Alu::Sub,
        "sll" | "slli" => Alu::Sll,
        "slt" | "slti" => Alu::Slt,
        "sltu" | "sltiu" => Alu::Sltu,
        "xor" | "xori" => Alu::Xor,
        "srl" | "srli" => Alu::Srl,
        "sra" | "srai" => Alu::Sra,
        "or" | "ori" => Alu::Or,
        "and" | "andi" => Alu::And,
        "addw" | "addiw" => Alu::AddW,
        "subw" => Alu::SubW,
        "sllw" | "slliw" => Alu::SllW,
        "srlw" | "srliw" => Alu::SrlW,
        "sraw" | "sraiw" => Alu::SraW,
        "mul" => Alu::Mul,
        "mulh" => Alu::Mulh,
        "mulhsu" => Alu::Mulhsu,
        "mulhu" => Alu::Mulhu,
        "div" => Alu::Div,
        "divu" => Alu::Divu,
        "rem" => Alu::Rem,
        "remu" => Alu::Remu,
        "mulw" => Alu::MulW,
        "divw" => Alu::DivW,
        "divuw" => Alu::DivuW,
        "remw" => Alu::RemW,
        "remuw" => Alu::RemuW,
        "sh1add" => Alu::ShAdd(1),
        "sh2add" => Alu::ShAdd(2),
        "sh3add" => Alu::ShAdd(3),
        "add.uw" => Alu::ShAddUw(0),
        "sh1add.uw" => Alu::ShAddUw(1),
        "sh2add.uw" => Alu::ShAddUw(2),
        "sh3add.uw" => Alu::ShAddUw(3),
        "slli.uw" => Alu::SllUw,
        "andn" => Alu::Andn,
        "orn" => Alu::Orn,
        "xnor" => Alu::Xnor,
        "min" => Alu::Min,
        "minu" => Alu::Minu,
        "max" => Alu::Max,
        "maxu" => Alu::Maxu,
        "rol" => Alu::Rol,
        "ror" | "rori" => Alu::Ror,
        "rolw" => Alu::RolW,
        "rorw" | "roriw" => Alu::RorW,
        "clz" => Alu::Clz,
        "ctz" => Alu::Ctz,
        "cpop" => Alu::Cpop,
        "clzw" => Alu::ClzW,
        "ctzw" => Alu::CtzW,
        "cpopw" => Alu::CpopW,
        "sext.b" => Alu::SextB,
        "sext.h" => Alu::SextH,
        "zext.h" => Alu::ZextH,
        "orc.b" => Alu::OrcB,
        "rev8" => Alu::Rev8,
        "bclr" | "bclri" => Alu::Bclr,
        "bext" | "bexti" => Alu::Bext,
        "binv" | "binvi" => Alu::Binv,
        "bset" | "bseti" => Alu::Bset,
        "clmul" => Alu::Clmul,
        "clmulh" => Alu::ClmulH,
        "clmulr" => Alu::ClmulR,
        _ => return None,
    })
}

fn pm_of(name: &str) -> Option<PmOp> {
    Some(match name {
        "pmclr" => PmOp::Clr,
        "pmset" => PmOp::Set,
        "pmnot" => PmOp::Not,
        "pmand" => PmOp::And,
        "pmor" => PmOp::Or,
        "pmxor" => PmOp::Xor,
        "pmandn" => PmOp::Andn,
        "pmlow.rd" => PmOp::LowRd,
        "pmhigh.rd" => PmOp::HighRd,
        "pmlow.wr" => PmOp::LowWr,
        "pmhigh.wr" => PmOp::HighWr,
        "pmany" => PmOp::Any,
        "pmnone" => PmOp::None,
        "pmall" => PmOp::All,
        "pmpopcnt" => PmOp::Popcnt,
        "pmmov.p0" => PmOp::P0,
        _ => return None,
    })
}

/// `pcmp.eq.s`, with `.b` for the form with a bank.
fn pcmp_of(name: &str) -> Option<Op> {
    let rest = name.strip_prefix("pcmp.")?;
    let (cmp, signed) = rest.strip_suffix(".b").unwrap_or(rest).split_once('.')?;
    let cmp = match cmp {
        "eq" => Cmp::Eq,
        "ne" => Cmp::Ne,
        "lt" => Cmp::Lt,
        "le" => Cmp::Le,
        "gt" => Cmp::Gt,
        "ge" => Cmp::Ge,
        _ => return None,
    };
    let signed = match signed {
        "s" => true,
        "u" => false,
        _ => return None,
    };
    Some(Op::Test(Test::Compare(IntCmp { cmp, signed })))
}

fn amo_of(name: &str) -> Option<Op> {
    let (op, width) = name.strip_prefix("amo")?.split_once('.')?;
    let op = match op {
        "swap" => Amo::Swap,
        "add" => Amo::Add,
        "xor" => Amo::Xor,
        "and" => Amo::And,
        "or" => Amo::Or,
        "min" => Amo::Min,
        "max" => Amo::Max,
        "minu" => Amo::Minu,
        "maxu" => Amo::Maxu,
        _ => return None,
    };
    match width {
        "w" => Some(Op::Amo(op, Width::B4)),
        "d" => Some(Op::Amo(op, Width::B8)),
        _ => None,
    }
}

fn int_type(name: &str) -> Option<IntType> {
    match name {
        "w" => Some(IntType::W),
        "wu" => Some(IntType::Wu),
        "l" => Some(IntType::L),
        "lu" => Some(IntType::Lu),
        _ => None,
    }
}

fn fmt_of(name: &str) -> Option<Fmt> {
    match name {
        "s" => Some(Fmt::S),
        "d" => Some(Fmt::D),
        _ => None,
    }
}

fn fp_of(name: &str) -> Option<Op> {
    if let Some((to, from)) = name.strip_prefix("fcvt.").and_then(|rest| rest.split_once('.')) {
        return match (fmt_of(to), fmt_of(from)) {
            (Some(fmt), None) => Some(Op::Fp(FpOp::FromInt(int_type(from)?), fmt)),
            (None, Some(fmt)) => Some(Op::Fp(FpOp::ToInt(int_type(to)?), fmt)),
            _ => None,
        };
    }
    let (op, fmt) = name.strip_prefix('f')?.split_once('.')?;
    let op = match op {
        "madd" => FpOp::Madd,
        "msub" => FpOp::Msub,
        "nmsub" => FpOp::Nmsub,
        "nmadd" => FpOp::Nmadd,
        "add" => FpOp::Add,
        "sub" => FpOp::Sub,
        "mul" => FpOp::Mul,
        "div" => FpOp::Div,
        "sqrt" => FpOp::Sqrt,
        "sgnj" => FpOp::Sgnj,
        "sgnjn" => FpOp::Sgnjn,
        "sgnjx" => FpOp::Sgnjx,
        "min" => FpOp::Min,
        "max" => FpOp::Max,
        "eq" => FpOp::Eq,
        "lt" => FpOp::Lt,
        "le" => FpOp::Le,
        "class" => FpOp::Class,
        _ => return None,
    };
    Some(Op::Fp(op, fmt_of(fmt)?))
}

/// A register file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum File {
    /// Integer registers.
    X,
    /// Floating-point registers.
    F,
}

impl Op {
    /// Returns whether RSV runs it lane by lane while lanes are enabled, so that it uses up a
    /// one-shot or a block count. The bank forms of tests are affected, too; their bank identifies
    /// them.
    #[must_use]
    pub fn lane_wise(self) -> bool {
        matches!(
            self,
            Self::Alu(_)
                | Self::Lui
                | Self::Load(..)
                | Self::Store(_)
                | Self::FLoad(_)
                | Self::FStore(_)
                | Self::Fp(..)
                | Self::Compress
                | Self::Expand
        )
    }

    /// Returns the width of its memory access; `None` for operations without one.
    #[must_use]
    pub fn access(self) -> Option<Width> {
        match self {
            Self::Load(width, _)
            | Self::Store(width)
            | Self::Lr(width)
            | Self::Sc(width)
            | Self::Amo(_, width) => Some(width),
            Self::FLoad(Fmt::S) | Self::FStore(Fmt::S) => Some(Width::B4),
            Self::FLoad(Fmt::D) | Self::FStore(Fmt::D) => Some(Width::B8),
            _ => None,
        }
    }

    /// Returns the file of the destination, where there is one that a lane can write, and its zero.
    #[must_use]
    pub fn destination(self) -> Option<(File, u64)> {
        const BOXED_ZERO: u64 = 0xffff_ffff_0000_0000;
        match self {
            Self::Alu(_) | Self::Lui | Self::Load(..) | Self::Compress | Self::Expand => {
                Some((File::X, 0))
            }
            Self::FLoad(Fmt::S) => Some((File::F, BOXED_ZERO)),
            Self::FLoad(Fmt::D) => Some((File::F, 0)),
            Self::Fp(op, fmt) => match (op, fmt) {
                (
                    FpOp::Eq | FpOp::Lt | FpOp::Le | FpOp::Class | FpOp::ToInt(_) | FpOp::MoveToInt,
                    _,
                ) => Some((File::X, 0)),
                (_, Fmt::S) => Some((File::F, BOXED_ZERO)),
                (_, Fmt::D) => Some((File::F, 0)),
            },
            _ => None,
        }
    }
}
