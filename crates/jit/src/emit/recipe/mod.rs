//! Operations that are a few vector instructions: each is described once, as a recipe of micro-operations that every level has.
//!
//! A recipe works on lanes of 32 bits or of 64. Operands come in as wide as the lanes, narrower ones with zeros above; what is true of a lane
//! is all its bits. A level goes through the list in order, once for each vector of a row; constants cost it nothing where an
//! instruction takes memory. What an operation does is written in `simt::arith`: a recipe gives the same bits.

mod bits;
mod build;
mod compare;
mod convert;
mod float;
mod integer;

pub(super) use build::{Build, Value};

use fast::code::{Dst, Generic, Src};
use iced_x86::RoundingControl;
use ir::mods::{Flag, Rounding};
use ir::{Inst, Op as Operation, Operand, Ty};

/// What one or two instructions of a level do to all lanes of a vector. Second operands may be constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Micro {
    And,
    Or,
    Xor,
    /// The second without the bits of the first.
    AndNot,
    /// Any function of three bits, by its truth table.
    Table(u8),
    Add,
    Sub,
    /// The low word of the product; of 64-bit lanes, the product of low words.
    Mul,
    /// The product of low words of 64-bit lanes with their signs.
    MulSigned,
    /// By a constant.
    ShlBy(u8),
    ShrBy(u8),
    /// Of 32-bit lanes alone.
    SarBy(u8),
    /// By amounts of lanes: nothing is left of what is shifted too far.
    Shl,
    Shr,
    /// Of 32-bit lanes alone.
    Sar,
    /// Of 32-bit lanes alone.
    MinU,
    MinS,
    MaxS,
    /// Where lanes are the same, or the first is greater as a signed number.
    Equal,
    Greater,
    /// The second where the first holds, else the third.
    Choose,
    /// Bytes of the first by the low four bits of those of the second, within 16 bytes; 0 where the top bit is set.
    Shuffle,
    /// The difference of 16-bit words.
    Sub16,
    /// Sums of products of two signed 16-bit words.
    Dot16,
    /// Floats of the lanes' width.
    Float(Arith, RoundingControl),
    /// The second operand if one is a NaN or both are zeros.
    FMin,
    FMax,
    /// Where a relation of floats holds, by its number.
    Compare(u8),
    /// Rounded to an integral value.
    Integral(RoundingControl),
    /// From signed words to single precision.
    FloatOf(RoundingControl),
    /// From single to half precision, and back.
    HalfOf(RoundingControl),
    OfHalf,
    /// From single to double precision, in 64-bit lanes, and back.
    Double,
    Single(RoundingControl),
}

/// Arithmetic on floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arith {
    Add,
    Sub,
    Mul,
    Div,
    Fma,
    Sqrt,
}

impl Micro {
    /// How many operands it has.
    pub(super) fn operands(self) -> usize {
        match self {
            Self::Table(_) | Self::Choose | Self::Float(Arith::Fma, _) => 3,
            Self::ShlBy(_) | Self::ShrBy(_) | Self::SarBy(_) | Self::Integral(_) => 1,
            Self::FloatOf(_) | Self::HalfOf(_) | Self::OfHalf => 1,
            Self::Double | Self::Single(_) | Self::Float(Arith::Sqrt, _) => 1,
            _ => 2,
        }
    }
}

/// How a value comes about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Node {
    /// An operand of the instruction; a second time, for one that does not stay.
    Operand(usize, bool),
    /// In all 64-bit lanes, or twice in them in all 32-bit ones.
    Const(u64),
    /// In each 16 bytes.
    Bytes([u8; 16]),
    /// From values before it, on lanes of 64 bits or of 32.
    Do(Micro, [Value; 3], bool),
}

/// What a result is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    /// All bits of a lane, or none.
    Predicate,
    /// The low word.
    Word,
    /// All of a 64-bit lane.
    Whole,
}

/// A recipe.
#[derive(Debug)]
pub(super) struct Recipe {
    /// Whether lanes have 64 bits.
    pub(super) wide: bool,
    pub(super) nodes: Vec<Node>,
    pub(super) results: Vec<(Value, Sort)>,
    /// The node that uses a value last; the value's own if none does, and none at all if it is a result.
    pub(super) last: Vec<usize>,
}

/// Registers that a recipe may have at a time.
const MOST: usize = 7;

impl Recipe {
    /// That of an operation that is left to the exact engine's function otherwise, with results where it can put them.
    pub(super) fn of(generic: &Generic) -> Option<Self> {
        let recipe = describe(generic)?;
        let scalar = |s: &Src| matches!(s, Src::Const(_) | Src::Line(_, 0, _));
        let sources = generic.src.iter().all(|s| match s {
            Src::Pair(..) | Src::ConstPair(..) => false,
            Src::Wide(_) => recipe.wide,
            _ => true,
        });
        let to = |(dst, &(_, sort)): (&Dst, &(Value, Sort))| match dst {
            Dst::None => true,
            Dst::Scalar(_) => generic.src.iter().all(scalar),
            Dst::Narrow(_) => sort == Sort::Word,
            Dst::Wide(_) => sort == Sort::Whole,
            Dst::Pred(_) => sort == Sort::Predicate,
            Dst::Pair(..) => false,
        };
        let fits = generic.dst.len() == recipe.results.len()
            && generic.dst.iter().zip(&recipe.results).all(to)
            && recipe.pressure() <= MOST;
        (sources && fits).then_some(recipe)
    }

    fn new(build: Build, results: Vec<(Value, Sort)>) -> Self {
        let Build { lanes: wide, nodes, .. } = build;
        let mut last: Vec<usize> = (0..nodes.len()).collect();
        for (i, node) in nodes.iter().enumerate() {
            if let Node::Do(micro, operands, _) = node {
                operands[..micro.operands()].iter().for_each(|v| last[v.0] = i);
            }
        }
        results.iter().for_each(|(v, _)| last[v.0] = usize::MAX);
        Self { wide, nodes, results, last }
    }

    /// Registers that are in use at a time, at most: constants may have to be in one, for as long as they are used, and words of
    /// 64-bit lanes wait for each other in others.
    fn pressure(&self) -> usize {
        let words = self.results.iter().filter(|r| self.wide && r.1 == Sort::Word).count();
        let (mut now, mut most) = (0, 0);
        for (i, node) in self.nodes.iter().enumerate() {
            if !matches!(node, Node::Const(_) | Node::Bytes(_)) {
                now += 1;
                let constants = match node {
                    Node::Do(micro, operands, _) => operands[..micro.operands()]
                        .iter()
                        .filter(|v| matches!(self.nodes[v.0], Node::Const(_) | Node::Bytes(_)))
                        .count(),
                    _ => 0,
                };
                most = most.max(now + constants.min(1));
            }
            let ends = |&v: &usize| {
                self.last[v] == i && !matches!(self.nodes[v], Node::Const(_) | Node::Bytes(_))
            };
            now -= (0..=i).filter(ends).count();
        }
        most + words
    }
}

/// What an instruction says beyond its operation.
struct Say<'i> {
    inst: &'i Inst,
    ty: Ty,
    /// Bits of the register of the first result.
    register: u32,
    /// Whether an operand has 64 bits, whatever its type.
    whole: bool,
}

impl Say<'_> {
    fn has(&self, flag: Flag) -> bool {
        self.inst.mods.flags.has(flag)
    }

    /// Its rounding, or that which it has if none is written.
    fn rounding(&self, or: RoundingControl) -> Option<RoundingControl> {
        Some(match self.inst.mods.rounding {
            None => or,
            Some(Rounding::Rn | Rounding::Rni) => RoundingControl::RoundToNearest,
            Some(Rounding::Rz | Rounding::Rzi) => RoundingControl::RoundTowardZero,
            Some(Rounding::Rm | Rounding::Rmi) => RoundingControl::RoundDown,
            Some(Rounding::Rp | Rounding::Rpi) => RoundingControl::RoundUp,
            Some(Rounding::Rna) => return None,
        })
    }

    /// An operand that is a number.
    fn number(&self, operand: usize) -> Option<u64> {
        match self.inst.operands.get(operand) {
            Some(&Operand::Imm(bits)) => Some(bits as u64),
            _ => None,
        }
    }
}

fn describe(generic: &Generic) -> Option<Recipe> {
    let inst = &generic.inst;
    let whole = generic.src.iter().any(|s| matches!(s, Src::Wide(_)));
    let say = Say { inst, ty: inst.ty.unwrap_or(Ty::B32), register: generic.bits, whole };
    if say.ty.bits() > 64 || inst.ty2.is_some_and(|t| t.bits() > 64) {
        return None;
    }
    match inst.op {
        Operation::Setp | Operation::Set | Operation::Selp | Operation::Slct => {
            compare::recipe(&say)
        }
        Operation::Testp | Operation::Copysign => compare::recipe(&say),
        Operation::Cvt => convert::recipe(&say),
        _ if say.ty.is_float() => float::recipe(&say),
        _ => integer::recipe(&say).or_else(|| bits::recipe(&say)),
    }
}
