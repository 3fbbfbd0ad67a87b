//! The operations of the vector IR.

use crate::function::{Type, Value};
use fast::ops::{Native, Test};
use ir::Ty;
use ir::mods::{AtomOp, Space};

/// A rounding mode of float arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// To nearest, ties to even.
    Nearest,
    /// Toward zero.
    Zero,
    /// Toward negative infinity.
    Down,
    /// Toward positive infinity.
    Up,
}

/// Float arithmetic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arith {
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Product.
    Mul,
    /// Quotient.
    Div,
    /// Product plus a third operand, rounded once.
    Fma,
    /// Square root.
    Sqrt,
}

/// An operation on the lanes of rows. NaN results are the processor's; where bits of a NaN are
/// visible, the canonical NaN is selected explicitly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LaneOp {
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// The second operand without the bits of the first.
    AndNot,
    /// Sum of integers.
    Add,
    /// Difference of integers.
    Sub,
    /// The low word of the product.
    Mul,
    /// In 64-bit lanes, the unsigned product of the low words.
    MulLowU,
    /// In 64-bit lanes, the signed product of the low words.
    MulLowS,
    /// In 32-bit lanes, the high word of the unsigned product.
    MulHighU,
    /// In 32-bit lanes, the high word of the signed product.
    MulHighS,
    /// A bitwise function of three operands, by its truth table: the bit `4a + 2b + c` of the
    /// table is what bits `a`, `b` and `c` yield.
    Table(u8),
    /// Shift left; amounts beyond the width yield 0.
    Shl,
    /// Unsigned shift right; amounts beyond the width yield 0.
    Shr,
    /// Signed shift right; amounts beyond the width yield copies of the sign.
    Sar,
    /// Unsigned minimum.
    MinU,
    /// Unsigned maximum.
    MaxU,
    /// Signed minimum.
    MinS,
    /// Signed maximum.
    MaxS,
    /// Rotation to the left; the amount is taken modulo the width.
    Rotl,
    /// Number of bits set.
    Popc,
    /// Number of leading zeros.
    Clz,
    /// Bits in reverse order.
    Reverse,
    /// Each byte is the byte of the first operand's lane that the second operand's byte numbers,
    /// modulo the bytes of the lane; 0 if the top bit of the second operand's byte is set.
    Bytes,
    /// Sums of the 16-bit halves or quarters of lanes.
    Add16,
    /// Signed minima of 16-bit parts.
    MinS16,
    /// Signed maxima of 16-bit parts.
    MaxS16,
    /// Unsigned minima of 16-bit parts.
    MinU16,
    /// Unsigned maxima of 16-bit parts.
    MaxU16,
    /// In 32-bit lanes, the sum of the two products of signed 16-bit halves.
    Dot16,
    /// Float arithmetic in the lane's width.
    Float(Arith, Rounding),
    /// The lesser of two floats; the second operand if one is a NaN or both are zeros.
    FMin,
    /// The greater of two floats; the second operand if one is a NaN or both are zeros.
    FMax,
    /// The lesser of two floats, -0 being less than +0; anything if one is a NaN.
    FLeast,
    /// The greater of two floats, +0 being greater than -0; anything if one is a NaN.
    FGreatest,
    /// A float rounded to an integral value.
    Integral(Rounding),
    /// Signed integers to floats of the lane's width.
    FloatOfS(Rounding),
    /// Unsigned integers to floats of the lane's width.
    FloatOfU(Rounding),
    /// Floats to signed integers of the lane's width; the top bit alone if the result does not fit.
    SignedOf(Rounding),
    /// Floats to unsigned integers of the lane's width; all bits if the result does not fit.
    UnsignedOf(Rounding),
    /// In 32-bit lanes, single precision of the half-precision float in the low half.
    SingleOfHalf,
    /// In 32-bit lanes, single to half precision, zero-extended.
    HalfOfSingle(Rounding),
}

impl LaneOp {
    /// Returns the number of operands.
    #[must_use]
    pub fn operands(self) -> usize {
        match self {
            Self::Table(_) | Self::Float(Arith::Fma, _) => 3,
            Self::Popc | Self::Clz | Self::Reverse | Self::Float(Arith::Sqrt, _) => 1,
            Self::FloatOfS(_) | Self::FloatOfU(_) | Self::Integral(_) => 1,
            Self::SignedOf(_) | Self::UnsignedOf(_) => 1,
            Self::SingleOfHalf | Self::HalfOfSingle(_) => 1,
            _ => 2,
        }
    }

    /// Returns whether the operation is defined on lanes of a type.
    fn has_lanes(self, ty: Type) -> bool {
        match self {
            Self::MulLowU | Self::MulLowS => ty == Type::Row64,
            Self::MulHighU | Self::MulHighS | Self::Dot16 => ty == Type::Row32,
            Self::SingleOfHalf | Self::HalfOfSingle(_) => ty == Type::Row32,
            _ => true,
        }
    }

    /// Returns whether results are the same, but for the bits of NaNs, whatever the bits of the
    /// operands' NaNs are.
    pub(crate) fn is_float(self) -> bool {
        matches!(
            self,
            Self::Float(..)
                | Self::FMin
                | Self::FMax
                | Self::FLeast
                | Self::FGreatest
                | Self::Integral(_)
                | Self::SignedOf(_)
                | Self::UnsignedOf(_)
                | Self::HalfOfSingle(_)
        )
    }
}

/// Returns the operation of a reduction and its neutral element.
pub(crate) fn reduction(op: AtomOp, ty: Ty) -> Option<(LaneOp, u32)> {
    Some(match (op, ty) {
        (AtomOp::Add, Ty::U32 | Ty::S32) => (LaneOp::Add, 0),
        (AtomOp::And, _) => (LaneOp::And, u32::MAX),
        (AtomOp::Or, _) => (LaneOp::Or, 0),
        (AtomOp::Xor, _) => (LaneOp::Xor, 0),
        (AtomOp::Min, Ty::U32) => (LaneOp::MinU, u32::MAX),
        (AtomOp::Max, Ty::U32) => (LaneOp::MaxU, 0),
        (AtomOp::Min, Ty::S32) => (LaneOp::MinS, i32::MAX as u32),
        (AtomOp::Max, Ty::S32) => (LaneOp::MaxS, i32::MIN as u32),
        _ => return None,
    })
}

/// A conversion between lanes of 32 and of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Conversion {
    /// Single to double precision.
    DoubleOfSingle,
    /// Signed words to double precision.
    DoubleOfS,
    /// Unsigned words to double precision.
    DoubleOfU,
    /// Double to single precision.
    SingleOfDouble(Rounding),
    /// Signed 64-bit integers to single precision.
    SingleOfS(Rounding),
    /// Unsigned 64-bit integers to single precision.
    SingleOfU(Rounding),
    /// Doubles to signed words, rounded toward zero; the top bit alone if the result does not fit.
    SignedOfDouble,
    /// Doubles to unsigned words, rounded toward zero; all bits if the result does not fit.
    UnsignedOfDouble,
}

impl Conversion {
    /// Returns the types of the operand and of the result.
    #[must_use]
    pub fn types(self) -> [Type; 2] {
        match self {
            Self::DoubleOfSingle | Self::DoubleOfS | Self::DoubleOfU => [Type::Row32, Type::Row64],
            _ => [Type::Row64, Type::Row32],
        }
    }
}

/// Logic on masks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MaskOp {
    /// Conjunction.
    And,
    /// Disjunction.
    Or,
    /// Exclusive or.
    Xor,
    /// The first operand without the second.
    AndNot,
    /// The complement of the only operand.
    Not,
}

/// A special register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sreg {
    /// The register.
    pub reg: ir::Sreg,
    /// The step of the kernel that reads it.
    pub step: u32,
}

/// How a loaded word is extended to its register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extend {
    /// With zeros.
    Zero,
    /// With copies of its sign to 16, 32 or 64 bits, and with zeros beyond.
    Sign(u32),
}

/// The shape of an access's addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// One address for all lanes: the operand is a scalar.
    One,
    /// One word a lane, contiguous in lane order: the operand is the scalar address of lane 0.
    Adjacent,
    /// Any addresses: the operand is a row.
    Any,
    /// A scalar plus 32-bit numbers by lane: the operands are the scalar and the row of numbers.
    Indexed(Scale),
}

/// How the numbers of [`Shape::Indexed`] become distances in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Scale {
    /// Whether they are widened with their signs.
    pub signed: bool,
    /// The base-2 logarithm of their unit.
    pub shift: u8,
}

impl Shape {
    /// Returns how numbers become distances, if addresses are computed from numbers.
    #[must_use]
    pub fn scale(self) -> Option<Scale> {
        if let Self::Indexed(scale) = self { Some(scale) } else { None }
    }

    /// Returns the number of operands that the addresses are computed from.
    #[must_use]
    pub fn operands(self) -> usize {
        if let Self::Indexed(_) = self { 2 } else { 1 }
    }
}

/// An access to memory. If a check of its addresses fails, the interpreter executes the step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The step of the kernel.
    pub step: Interpreted,
    /// The row of 64-bit values that the interpreter reads addresses from, if it is not an operand
    /// of the step.
    pub row: Option<Home>,
    /// The space that the address is in.
    pub space: Space,
    /// The shape of the addresses.
    pub shape: Shape,
    /// Bytes of a word.
    pub word: u8,
    /// Words per lane; their addresses are contiguous and aligned to the whole access.
    pub words: u8,
    /// Extension of loaded words.
    pub extend: Extend,
    /// Added to the address.
    pub offset: i64,
}

impl Access {
    /// Returns the bytes of a lane's access.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        u64::from(self.word) * u64::from(self.words)
    }

    /// Returns the offset of an access to parameters at a constant address, if it is aligned, and
    /// inside so many bytes of them.
    #[must_use]
    pub fn param(&self, address: u64, param_bytes: u64) -> Option<i64> {
        let at = u64::from((address as u32).wrapping_add(self.offset as u32));
        let inside = self.space == Space::Param && at + self.bytes() <= param_bytes;
        (inside && at.is_multiple_of(self.bytes())).then_some(at as i64)
    }
}

/// An atomic operation on words of 32 or 64 bits. If a check of its addresses fails, the
/// interpreter executes the step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Atomic {
    /// Where the words are, one a lane.
    pub access: Access,
    /// The operation.
    pub op: AtomOp,
    /// The type of the words.
    pub ty: Ty,
}

/// A copy of 4, 8 or 16 bytes of each lane from global to shared memory. If a check of its
/// addresses fails, the interpreter executes the step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copy {
    /// What is read.
    pub from: Access,
    /// What is written, by the same step.
    pub to: Access,
}

impl Atomic {
    /// Returns the number of operands.
    #[must_use]
    pub fn operands(&self) -> usize {
        if self.op == AtomOp::Cas { 2 } else { 1 }
    }
}

/// Counts of an execution of a block that do not depend on its lanes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockCounts {
    /// The block of the kernel.
    pub block: u32,
    /// The index of the first issue in the block.
    pub first: u32,
    /// Issues.
    pub issues: u32,
    /// Whether a basic block of the program begins.
    pub head: bool,
    /// Accesses of all lanes.
    pub memory: u32,
    /// Conditional branches.
    pub branches: u32,
    /// Branches that split lanes, entries of the stack that they push, and such that are merged.
    pub splits: [u32; 3],
    /// In launches in detail, split levels that the lanes are in for certain.
    pub depth: u32,
}

/// A counter of the launch; see [`fast::Tally`] and [`fast::StackCharges`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Counter {
    /// Branches that split lanes.
    SplitBranches,
    /// Stack entries pushed.
    Pushes,
    /// Stack entries merged.
    Merges,
    /// Stack entries whose lanes have exited.
    Emptied,
    /// Memory instructions.
    Memory,
    /// Targets of branches that split lanes, beyond two each.
    MorePaths,
    /// Returns of some of the lanes.
    SplitReturns,
    /// Collectives with a member mask.
    Collectives,
    /// Collectives without one.
    UnnamedCollectives,
}

/// A place where the interpreter keeps a value of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Home {
    /// A row of 32-bit values.
    Narrow(u32),
    /// A row of 64-bit values.
    Wide(u32),
    /// A predicate.
    Pred(u32),
    /// A scalar.
    Scalar(u32),
}

impl Home {
    /// Returns the type of the value.
    #[must_use]
    pub fn ty(self) -> Type {
        match self {
            Self::Narrow(_) => Type::Row32,
            Self::Wide(_) => Type::Row64,
            Self::Pred(_) => Type::Mask,
            Self::Scalar(_) => Type::Scalar,
        }
    }
}

/// A step as the interpreter executes it: its operands are stored where the interpreter reads
/// them, and its results loaded from where the interpreter writes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interpreted {
    /// The step.
    pub step: u32,
    /// The places of the operands, which are the instruction's last arguments.
    pub operands: Vec<Home>,
    /// The places of the results; `None` for a result that nothing reads.
    pub results: Vec<Option<Home>>,
    /// The operand whose lanes the first result has, moved from lane to lane, if the step does
    /// nothing else with it.
    pub moves: Option<u32>,
}

/// The end of a block as the interpreter executes it on the warp's stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterpretedEnd {
    /// The block of the kernel.
    pub block: u32,
    /// The places of the operands, which are the instruction's last arguments.
    pub operands: Vec<Home>,
}

/// An operation on the warp's stack of lanes that wait, in kernels whose lanes may wait in any
/// number of places. The entry of the running lanes is the top.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StackOp {
    /// The top's block, lanes, reconvergence point and depth; a point of `u32::MAX` is none.
    Top,
    /// Removes the top.
    Pop,
    /// Sets the block at which the top's lanes wait.
    Wait(u32),
    /// Adds an entry with this block, and with lanes, a reconvergence point and a depth.
    Push(u32),
    /// The number of entries.
    Height,
}

/// A barrier of all threads of the CTA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Barrier {
    /// What it results in.
    pub kind: ir::mods::Barrier,
    /// Where the warp stands while it waits.
    pub standing: Standing,
}

/// The rest of a step that the interpreter has executed and after which the warp may wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Await {
    /// The places of the step's results; `None` for a result that nothing reads.
    pub results: Vec<Option<Home>>,
    /// Where the warp stands while it waits.
    pub standing: Standing,
}

/// A place where a warp stands between turns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The block of the kernel.
    pub block: u32,
    /// The step of the barrier, or `None` at the beginning of the block.
    pub step: Option<u32>,
    /// Places where the interpreter keeps values on which it depends whether the launch repeats;
    /// the instruction's last arguments are their values.
    pub homes: Vec<Home>,
}

/// An operation.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// A constant: a scalar, or all lanes of a row.
    Const(u64),
    /// A constant mask.
    MaskConst(u32),
    /// A scalar in all lanes of a row.
    Splat,
    /// A scalar plus the lane's number times a factor.
    Line(i64),
    /// The special register of the step: a scalar, or a row.
    Sreg(Sreg),
    /// An operation on lanes of 32 or 64 bits, by the type of the result.
    Lanes(LaneOp),
    /// A comparison of rows.
    Test(Test),
    /// A mask of lanes in which one of two floats is a NaN.
    Unordered,
    /// The first row where the mask is set, else the second.
    Select,
    /// A conversion to lanes of another width.
    Convert(Conversion),
    /// The low words of 64-bit lanes.
    Low,
    /// 32-bit lanes widened with zeros.
    ZeroExtend,
    /// 32-bit lanes widened with copies of their signs.
    SignExtend,
    /// 1 where the mask is set, else 0.
    RowOfMask,
    /// All lanes if the lowest bit of the scalar is set, else none.
    MaskOfScalar,
    /// Logic on masks.
    Mask(MaskOp),
    /// The value of lane 0 as a scalar.
    First,
    /// A constant of its own in each 32-bit lane.
    LaneConst(Box<[u32; 32]>),
    /// In 32-bit lanes, the value of the lane that the second row numbers, modulo 32.
    Permute,
    /// All lanes of a 32-bit row as one value, by an operation whose order does not matter.
    Reduce(LaneOp),
    /// In 32-bit lanes, the lanes of the mask that have the lane's values of all rows, as bits;
    /// anything in lanes that are off.
    Match,
    /// The lanes of the warp that were launched and have not ended, as the bits of a scalar.
    Live,
    /// The number of the lowest bit that is set in the low 32 bits of a scalar; 32 if none is.
    LowestBit,
    /// The number of bits set in a scalar, and one execution in the upper half: what a counter of
    /// blocks grows by.
    Population,
    /// The same, but 0 for no bits: nothing is executed.
    PopulationIfAny,
    /// 1 if the scalar is not 0, else 0.
    IsNonzero,
    /// The lanes of a mask as the bits of a scalar.
    Bits,
    /// The low bits of a scalar as lanes of a mask.
    MaskOfBits,
    /// An operation on scalars.
    Scalar(Native),
    /// For a scalar that is the base of a 32-bit line: whether the line wraps around over the
    /// lanes of a warp when it is widened with its sign, or without; 1 if so. The factor is the
    /// line's.
    Wraps(bool, i64),
    /// A load by the lanes of the mask: one result per word. Lanes that are off hold anything.
    Load(Box<Access>),
    /// A store by the lanes of the mask.
    Store(Box<Access>),
    /// An atomic operation by the lanes of the mask, at least one, one after the other. The
    /// operands are rows; the result, if there is one, is what each lane has found in its word.
    /// Lanes that are off hold anything.
    Atomic(Box<Atomic>),
    /// What the atomic operations of all lanes of the mask, at least one, on one word amount to:
    /// one operation, without a result. The operands are scalars: the operation's, and one that is
    /// not 0 if some lane changes the word although all lanes together may not.
    AtomicTotal(Box<Atomic>),
    /// A copy by the lanes of the mask, at least one, one after the other. Those of the second
    /// mask, some of them, read what they write; the others write zeros. The arguments that follow
    /// are the addresses, as the shapes of both accesses say.
    Copy(Box<Copy>),
    /// A step that the interpreter executes for the lanes of the mask, at least one.
    Interpret(Box<Interpreted>),
    /// The interpreter executes the end of a block for the running lanes. Results are 1 if lanes of
    /// the warp are left, and 1 if some have taken a back-edge.
    InterpretEnd(Box<InterpretedEnd>),
    /// An operation on the warp's stack.
    Stack(StackOp),
    /// Lanes of the warp arrive at a barrier of all threads of the CTA, and the warp waits. The
    /// arguments are the running lanes, those that arrive, the barrier's number, the lanes in which
    /// a predicate holds, and values that are written back if the interpreter asks for them. The
    /// result, if there is one, is the same for all threads.
    Barrier(Box<Barrier>),
    /// The value of a place in the interpreter's memory, where it is at all times.
    LoadHome(Home),
    /// Writes it.
    StoreHome(Home),
    /// The warp waits if the step that the interpreter has executed last says so. The arguments are
    /// the running lanes, and values that are written back if the interpreter asks for them.
    Await(Box<Await>),
    /// What the lowest lane of the mask, which is not empty, has in a row.
    FirstLane,
    /// The end of a turn may be here, after a back-edge.
    BackEdge(Box<Standing>),
    /// The lanes of the mask end.
    Exit,
    /// Counts an execution of a block by its lanes' population. In launches in detail, further
    /// arguments are split levels, of which the lanes are in the sum.
    Count(BlockCounts),
    /// The issues of the CTA that have been counted, less a number.
    Clock(u32),
    /// Counts the difference of two populations as lanes that the guard of a step turned off.
    CountOff(u32),
    /// In launches in detail, counts the difference of two populations as lanes of an end of a
    /// block whose guard does not hold. The number is that of the steps of the code.
    CountEndOff(u32),
    /// Adds a number to a counter.
    Bump(Counter, u32),
    /// Adds a scalar to a counter.
    BumpBy(Counter),
    /// Raises the greatest height of a stack to a number plus the sum of scalars.
    Height(u32),
    /// The same for the greatest number of split levels, in launches in detail.
    Depth(u32),
}

impl Op {
    /// Returns whether the operation has no effect but its results, which depend on its arguments
    /// alone.
    #[must_use]
    pub fn is_pure(&self) -> bool {
        matches!(
            self,
            Self::Const(_)
                | Self::MaskConst(_)
                | Self::Splat
                | Self::Line(_)
                | Self::Sreg(_)
                | Self::Lanes(_)
                | Self::Test(_)
                | Self::Unordered
                | Self::Select
                | Self::Convert(_)
                | Self::First
                | Self::LaneConst(_)
                | Self::Permute
                | Self::Reduce(_)
                | Self::Match
                | Self::LowestBit
                | Self::Low
                | Self::ZeroExtend
                | Self::SignExtend
                | Self::RowOfMask
                | Self::MaskOfScalar
                | Self::Mask(_)
                | Self::Population
                | Self::PopulationIfAny
                | Self::IsNonzero
                | Self::Bits
                | Self::MaskOfBits
                | Self::Scalar(_)
                | Self::Wraps(..)
        )
    }

    /// Checks the types of arguments and results; `wanted` names what is wrong.
    pub(crate) fn check(
        &self,
        args: &[Value],
        results: &[Type],
        ty: impl Fn(Value) -> Type,
    ) -> Result<(), &'static str> {
        use Type::{Mask, Row32, Row64, Scalar};
        let types: Vec<Type> = args.iter().map(|&v| ty(v)).collect();
        let holds = match (self, types.as_slice(), results) {
            (Self::Const(_), [], [result]) => *result != Mask,
            (Self::MaskConst(_), [], [Mask]) => true,
            (Self::Splat | Self::Line(_), [Scalar], [Row32 | Row64]) => true,
            (Self::Sreg(_), [], [Scalar | Row32]) => true,
            (Self::Lanes(op), types, [result @ (Row32 | Row64)]) => {
                types.len() == op.operands()
                    && types.iter().all(|t| t == result)
                    && op.has_lanes(*result)
            }
            (Self::Convert(conversion), [from], [to]) => conversion.types() == [*from, *to],
            (Self::First, [Row32 | Row64], [Scalar]) => true,
            (Self::LaneConst(_), [], [Row32]) => true,
            (Self::Permute, [Row32, Row32], [Row32]) => true,
            (Self::Reduce(op), [Row32], [Scalar]) => op.operands() == 2,
            (Self::Match, [Mask, Row32], [Row32]) => true,
            (Self::Match, [Mask, Row32, Row32], [Row32]) => true,
            (Self::Live | Self::Clock(_), [], [Scalar]) => true,
            (Self::LowestBit, [Scalar], [Scalar]) => true,
            (Self::Test(_) | Self::Unordered, [a @ (Row32 | Row64), b], [Mask]) => a == b,
            (Self::Select, [Mask, a @ (Row32 | Row64), b], [result]) => a == b && a == result,
            (Self::Low, [Row64], [Row32]) => true,
            (Self::ZeroExtend | Self::SignExtend, [Row32], [Row64]) => true,
            (Self::RowOfMask, [Mask], [Row32]) => true,
            (Self::MaskOfScalar, [Scalar], [Mask]) => true,
            (Self::Mask(MaskOp::Not), [Mask], [Mask]) => true,
            (Self::Mask(_), [Mask, Mask], [Mask]) => true,
            (Self::Scalar(_), [Scalar, Scalar, Scalar], [Scalar]) => true,
            (Self::Wraps(..), [Scalar], [Scalar]) => true,
            (Self::Load(access), [Mask, rest @ ..], results) => {
                let one = access.shape == Shape::One;
                let (address, operands) = rest.split_at(rest.len().min(access.shape.operands()));
                access.address_is(address)
                    && access.step.has(operands)
                    && results.len() <= usize::from(access.words)
                    && results.iter().all(|&r| r == if one { Scalar } else { access.row_type() })
            }
            (Self::Store(access), [Mask, rest @ ..], []) => {
                let (address, rest) = rest.split_at(rest.len().min(access.shape.operands()));
                let (data, operands) = rest.split_at(rest.len().min(access.words.into()));
                access.address_is(address)
                    && access.step.has(operands)
                    && data.iter().all(|&d| d == access.row_type())
            }
            (Self::Atomic(atomic), [Mask, rest @ ..], results) => {
                let (access, row) = (&atomic.access, atomic.access.row_type());
                let (address, rest) = rest.split_at(rest.len().min(access.shape.operands()));
                let (data, operands) = rest.split_at(rest.len().min(atomic.operands()));
                atomic.has_words()
                    && access.shape != Shape::Adjacent
                    && access.address_is(address)
                    && data.len() == atomic.operands()
                    && data.iter().all(|&d| d == row)
                    && access.step.has(operands)
                    && (results.is_empty() || results == [row])
            }
            (Self::AtomicTotal(atomic), [Mask, Scalar, Scalar, Scalar, operands @ ..], []) => {
                let access = &atomic.access;
                atomic.has_words()
                    && atomic.is_integer_function()
                    && access.shape == Shape::One
                    && access.step.has(operands)
            }
            (Self::Copy(copy), [Mask, Mask, rest @ ..], []) => {
                let Copy { from, to } = &**copy;
                let (source, rest) = rest.split_at(rest.len().min(from.shape.operands()));
                let (target, operands) = rest.split_at(rest.len().min(to.shape.operands()));
                let scattered = |a: &Access| matches!(a.shape, Shape::Any | Shape::Indexed(_));
                scattered(from)
                    && scattered(to)
                    && from.address_is(source)
                    && to.address_is(target)
                    && matches!(from.bytes(), 4 | 8 | 16)
                    && from.bytes() == to.bytes()
                    && from.step == to.step
                    && from.step.has(operands)
            }
            (Self::Interpret(step), [Mask, operands @ ..], results) => {
                step.has(operands) && have_result_types(&step.results, results)
            }
            (Self::LoadHome(home), [], [result]) => home.ty() == *result,
            (Self::StoreHome(home), [value], []) => home.ty() == *value,
            (Self::Await(wait), [Mask, values @ ..], results) => {
                wait.standing.has(values) && have_result_types(&wait.results, results)
            }
            (Self::Population | Self::PopulationIfAny | Self::IsNonzero, [Scalar], [Scalar]) => {
                true
            }
            (Self::Bits, [Mask], [Scalar]) => true,
            (Self::MaskOfBits, [Scalar], [Mask]) => true,
            (Self::BackEdge(standing), [Mask, values @ ..], []) => standing.has(values),
            (Self::Barrier(barrier), [Mask, Mask, Scalar, Mask, values @ ..], results) => {
                barrier.standing.has(values) && matches!(results, [] | [Scalar])
            }
            (Self::InterpretEnd(end), [Mask, operands @ ..], [Scalar, Scalar]) => {
                have_types(&end.operands, operands)
            }
            (Self::Stack(StackOp::Top), [], [Scalar, Scalar, Scalar, Scalar]) => true,
            (Self::Stack(StackOp::Pop | StackOp::Wait(_)), [], []) => true,
            (Self::Stack(StackOp::Push(_)), [Scalar, Scalar, Scalar], []) => true,
            (Self::Stack(StackOp::Height), [], [Scalar]) => true,
            (Self::FirstLane, [Mask, Row32 | Row64], [Scalar]) => true,
            (Self::Exit, [Mask], []) => true,
            (Self::Count(_), [Scalar, depths @ ..], []) => depths.iter().all(|&d| d == Scalar),
            (Self::CountOff(_) | Self::CountEndOff(_), [Scalar, Scalar], []) => true,
            (Self::Bump(..), [], []) => true,
            (Self::BumpBy(_), [Scalar], []) => true,
            (Self::Height(_) | Self::Depth(_), scalars, []) => scalars.iter().all(|&s| s == Scalar),
            _ => false,
        };
        if holds { Ok(()) } else { Err("its arguments or results have other types") }
    }
}

impl Atomic {
    fn has_words(&self) -> bool {
        let size = self.ty.bytes();
        self.access.words == 1 && matches!(size, 4 | 8) && size == u32::from(self.access.word)
    }

    /// Returns whether operations of several lanes on integers amount to one.
    pub(crate) fn is_integer_function(&self) -> bool {
        use AtomOp::{Add, And, Max, Min, Or, Xor};
        !self.ty.is_float() && matches!(self.op, Add | And | Max | Min | Or | Xor)
    }
}

impl Copy {
    /// Returns a copy of so many bytes; the source has a shape, an offset, and the row that
    /// [`Access::row`] is.
    pub(crate) fn new(
        step: Interpreted,
        word: u8,
        (shape, offset, row): (Shape, i64, Option<Home>),
        to: i64,
    ) -> Self {
        let from = Access {
            step,
            row,
            space: Space::Global,
            shape,
            word,
            words: 1,
            extend: Extend::Zero,
            offset,
        };
        let (space, shape) = (Space::Shared, Shape::Any);
        let to = Access { row: None, space, shape, offset: to, ..from.clone() };
        Self { from, to }
    }
}

impl Interpreted {
    fn has(&self, operands: &[Type]) -> bool {
        have_types(&self.operands, operands)
    }
}

impl Standing {
    fn has(&self, values: &[Type]) -> bool {
        have_types(&self.homes, values)
    }
}

/// Returns whether results are of the types of their homes, where they have any.
fn have_result_types(homes: &[Option<Home>], types: &[Type]) -> bool {
    let same = |(ty, home): (&Type, &Option<Home>)| home.is_none_or(|home| home.ty() == *ty);
    types.len() == homes.len() && types.iter().zip(homes).all(same)
}

/// Returns whether values are of the types of their homes.
fn have_types(homes: &[Home], types: &[Type]) -> bool {
    types.len() == homes.len() && types.iter().zip(homes).all(|(ty, home)| home.ty() == *ty)
}

impl Access {
    /// Returns the type of rows of its words.
    #[must_use]
    pub fn row_type(&self) -> Type {
        if self.word == 8 { Type::Row64 } else { Type::Row32 }
    }

    fn address_is(&self, types: &[Type]) -> bool {
        match self.shape {
            Shape::One | Shape::Adjacent => types == [Type::Scalar],
            Shape::Any => matches!(types, [Type::Row32 | Type::Row64]),
            Shape::Indexed(_) => types == [Type::Scalar, Type::Row32],
        }
    }
}
