//! Operations that take a few vector instructions. Each is described once, as a recipe of
//! micro-operations that every level implements.
//!
//! A recipe works on lanes of 32 bits or of 64. Operands are as wide as the lanes, narrower ones
//! zero-extended; a condition is a mask of all the lane's bits. A level lowers the list in order,
//! once for each vector of a row; constants cost nothing where an instruction takes a memory
//! operand. `simt::arith` defines what an operation does; a recipe yields the same bits.

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

/// A micro-operation: one or two instructions of a level, on all lanes of a vector. The second
/// operand may be a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Micro {
    And,
    Or,
    Xor,
    /// The second operand without the bits of the first.
    AndNot,
    /// A bitwise function of three operands, by its truth table.
    Table(u8),
    Add,
    Sub,
    /// The low word of the product; in 64-bit lanes, the whole product of the low words.
    Mul,
    /// The signed product of the low words of 64-bit lanes.
    MulSigned,
    /// Shifts by a constant.
    ShlBy(u8),
    ShrBy(u8),
    /// 32-bit lanes only.
    SarBy(u8),
    /// Shifts by an amount per lane; amounts beyond the width yield 0.
    Shl,
    Shr,
    /// 32-bit lanes only.
    Sar,
    /// 32-bit lanes only.
    MinU,
    MinS,
    MaxS,
    /// Masks of lanes that are equal, and of lanes in which the first is greater as a signed
    /// number.
    Equal,
    Greater,
    /// The second operand where the mask in the first is set, else the third.
    Choose,
    /// Bytes of the first operand selected by the low four bits of the second's bytes, within 16
    /// bytes; 0 where the selector's top bit is set.
    Shuffle,
    /// Differences of 16-bit words.
    Sub16,
    /// Sums of the products of two adjacent signed 16-bit words.
    Dot16,
    /// Floats of the lane's width.
    Float(Arith, RoundingControl),
    /// The second operand if one is a NaN or both are zeros.
    FMin,
    FMax,
    /// A mask of lanes in which a float comparison holds, by its predicate immediate.
    Compare(u8),
    /// Rounding to an integral value.
    Integral(RoundingControl),
    /// Signed words to single precision.
    FloatOf(RoundingControl),
    /// Single to half precision, and back.
    HalfOf(RoundingControl),
    OfHalf,
    /// Single to double precision, in 64-bit lanes, and back.
    Double,
    Single(RoundingControl),
}

/// Float arithmetic.
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
    /// Number of operands.
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

/// The definition of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Node {
    /// An operand of the instruction; `true` for a second load of one that need not stay in a
    /// register.
    Operand(usize, bool),
    /// Bits in all 64-bit lanes; a 32-bit constant stands in both halves.
    Const(u64),
    /// Bytes repeated every 16 bytes.
    Bytes([u8; 16]),
    /// An operation on earlier values, on lanes of 64 bits if the flag is set, else of 32.
    Do(Micro, [Value; 3], bool),
}

/// The kind of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    /// A mask: all bits of a lane or none.
    Predicate,
    /// The low word of a lane.
    Word,
    /// All of a 64-bit lane.
    Whole,
}

/// The description of an operation.
#[derive(Debug)]
pub(super) struct Recipe {
    /// Whether lanes have 64 bits.
    pub(super) wide: bool,
    pub(super) nodes: Vec<Node>,
    pub(super) results: Vec<(Value, Sort)>,
    /// The last node that uses a value; the value's own node if there is none, `usize::MAX` for a
    /// result.
    pub(super) last: Vec<usize>,
}

/// Most registers that a recipe may occupy at once.
const MOST: usize = 7;

impl Recipe {
    /// Returns the recipe of an operation that is otherwise left to the exact engine's function, if
    /// its results can be stored where they go.
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

    /// Most registers in use at once. A constant may need one while it is used, and so does each
    /// 64-bit lane result that is narrowed to a word.
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

/// The modifiers of an instruction.
struct Say<'i> {
    inst: &'i Inst,
    ty: Ty,
    /// Bits of the first result's register.
    register: u32,
    /// Whether an operand has 64 bits, whatever its type.
    whole: bool,
}

impl Say<'_> {
    fn has(&self, flag: Flag) -> bool {
        self.inst.mods.flags.has(flag)
    }

    /// Returns the instruction's rounding, or `or` if it names none.
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

    /// Returns an operand that is an immediate.
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
