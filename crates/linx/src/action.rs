//! The operation behind each form's name, or the reason that the form encodes only.

mod classify;

use std::sync::LazyLock;

use simt::arith::Cmp;

/// The execution of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A block start marker.
    Marker(Marker),
    /// `BSTOP`, `C.BSTOP`.
    Stop,
    /// A `BSTART.TEPL` whose number is not an operation's: not a form, but a marker all the same.
    ReservedTile,
    /// `L.BSTOP` of older versions: not a form of this one.
    LegacyStop,
    /// A header descriptor.
    Descriptor(Descriptor),
    /// A branch in a body.
    Branch(Branch),
    /// A 64-bit form.
    Vector(VOp),
    /// A scalar instruction.
    Scalar(SOp),
    /// A system instruction.
    System(System),
    /// A template block.
    Template(Template),
    /// The form encodes only, for this reason.
    None(&'static str),
}

/// Kinds of markers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// A coupled block (STD, FP, SYS) with its transfer.
    Coupled(Transfer),
    /// The fused pair of a call.
    FusedCall,
    /// MPAR, MSEQ, VPAR, VSEQ.
    Simt(Simt),
    /// A tile memory block: its function, or `None` for the field.
    Tma(Option<u8>),
    /// A matrix block: its function, or `None` for the field.
    Cube(Option<u8>),
    /// A tile operation.
    Tepl,
    /// Nothing is assigned to it.
    Fixp,
}

/// The transfer at the end of a coupled block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// By the field BrType, without a target.
    Field,
    /// To the next block.
    Fall,
    /// To the target.
    Direct,
    /// To the target if the block's predicate holds.
    Cond,
    /// To the target, which is a function.
    Call,
    /// To the target that `setc.tgt` has set.
    Indirect,
    /// To the target that `setc.tgt` has set, else to `ra`.
    Return,
}

/// Kinds of SIMT blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Simt {
    /// Groups in any order.
    Mpar,
    /// Groups one after another.
    Mseq,
    /// Linear body over tiles, any order.
    Vpar,
    /// Linear body over tiles, in order.
    Vseq,
}

impl Simt {
    /// Returns whether the body is linear and has tile memory only.
    #[must_use]
    pub fn is_linear(self) -> bool {
        matches!(self, Self::Vpar | Self::Vseq)
    }

    /// Returns whether groups run in any order.
    #[must_use]
    pub fn is_parallel(self) -> bool {
        matches!(self, Self::Mpar | Self::Vpar)
    }
}

/// Kinds of descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the instructions")]
pub enum Descriptor {
    Text,
    Dim(u8),
    CDim,
    CDimI,
    Ior,
    Iot,
    IotI,
    Arg,
    Attr,
    Hint,
}

/// Branches in bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Branch {
    /// If a comparison of two scalars holds; signed or not.
    Compare(Cmp, bool),
    /// Always.
    Jump,
    /// Always, relative to a register.
    Register,
    /// If `p` is zero.
    Zero,
    /// If `p` is not zero.
    NotZero,
}

/// Arithmetic of two or three integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the instructions")]
pub enum Alu {
    Add,
    Sub,
    And,
    Or,
    Xor,
    Sll,
    Srl,
    Sra,
    Mul,
    Max,
    Min,
}

/// Operations on a bit field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the instructions")]
pub enum Bits {
    Bxu,
    Bxs,
    Bic,
    Bis,
    Bcnt,
    Clz,
    Ctz,
    Rev,
}

/// Comparisons of integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// A comparison of order; signed or not.
    Order(Cmp, bool),
    /// Both.
    And,
    /// Either.
    Or,
}

/// Floating-point operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the instructions")]
pub enum Float {
    Add,
    Sub,
    Mul,
    Div,
    Madd,
    Msub,
    Nmadd,
    Nmsub,
    Sqrt,
    Recip,
    Exp,
    Abs,
    Class,
    Max,
    Min,
    /// A comparison, and whether a quiet NaN is invalid.
    Compare(Cmp, bool),
}

/// Read-modify-write operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the instructions")]
pub enum Rmw {
    Add,
    And,
    Or,
    Xor,
    Max,
    Min,
    MaxU,
    MinU,
    Swap,
}

/// Shuffles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the instructions")]
pub enum Shuffle {
    Up,
    Down,
    Idx,
    Bfly,
}

/// Reductions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the instructions")]
pub enum Reduce {
    Add,
    And,
    Or,
    Xor,
    Max,
    Min,
    FAdd,
    FMax,
    FMin,
}

/// Converts by kind of source and destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Convert {
    FloatFloat,
    FloatInt,
    IntInt,
    IntFloat,
}

/// Operations of the 64-bit forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VOp {
    /// Two sources, or one and an immediate.
    Alu(Alu),
    /// Multiply and add.
    Madd,
    /// Quotient, or remainder if true.
    Div(bool),
    /// Comparison; also a mask producer.
    Test(Test),
    /// Select by a value.
    Csel,
    /// Select by a mask, for all lanes.
    Psel,
    /// Bit field.
    Bits(Bits),
    /// Floating point; comparisons are mask producers as well.
    Float(Float),
    /// Conversion.
    Convert(Convert),
    /// Load: log2 of the size, sign extension, bridged.
    Load(u8, bool, bool),
    /// Store: log2 of the size, whether the index is scaled, bridged.
    Store(u8, bool, bool),
    /// Atomic: operation, log2 of the size, whether there is a result.
    Atomic(Rmw, u8, bool),
    /// Reduction.
    Reduce(Reduce),
    /// Shuffle; by an immediate if true.
    Shuffle(Shuffle, bool),
    /// Push to a queue in memory.
    QPush,
    /// Pop from a queue in memory.
    QPop,
}

/// Operations of scalar forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SOp {
    /// Arithmetic; 32 bits if true.
    Alu(Alu, bool),
    /// Unsigned maximum, or minimum if false.
    MinMaxU(bool),
    /// Multiply and add; 32 bits if true.
    Madd(bool),
    /// Division: remainder, signed, 32 bits.
    Div(bool, bool, bool),
    /// Division with both results: whether the remainder comes first, signed, 32 bits.
    DivBoth(bool, bool, bool),
    /// The product's halves; signed if true.
    MulBoth(bool),
    /// Comparison to a register.
    Cmp(Test),
    /// Comparison to the block's predicate.
    Setc(Test),
    /// The block's target.
    SetTgt,
    /// The return address.
    SetRet,
    /// A select.
    Csel,
    /// Bit field.
    Bits(Bits),
    /// Extension: bits, signed.
    Extend(u8, bool),
    /// A register's value.
    Move,
    /// An immediate, shifted left by this many bits.
    Immediate(u8),
    /// An address relative to the instruction.
    AddTpc,
    /// A load: log2 of the size, signed.
    Load(u8, bool),
    /// A store: log2 of the size.
    Store(u8),
    /// A load relative to the instruction.
    LoadPcr(u8, bool),
    /// A store relative to the instruction.
    StorePcr(u8),
    /// Atomic: operation, log2 of the size.
    Atomic(Rmw, u8),
    /// A load that writes its base back: log2 of the size, signed, before the access.
    LoadIndexed(u8, bool, bool),
    /// A store that writes its base back: log2 of the size, before the access.
    StoreIndexed(u8, bool),
    /// Two loads from consecutive places: log2 of the size, signed.
    LoadPair(u8, bool),
    /// Two stores to consecutive places: log2 of the size.
    StorePair(u8),
    /// A load that reserves its line: log2 of the size.
    LoadReserved(u8),
    /// A store if the line is still reserved: log2 of the size.
    StoreConditional(u8),
    /// A compare and swap: log2 of the size.
    CompareSwap(u8),
    /// A hint that does nothing.
    Prefetch,
    /// A hint that gives the address.
    PrefetchAddress,
    /// Bits of the right operand in place of some of the left one.
    BitInsert,
    /// Both operands as one, shifted right; 32 bits if true.
    Concat(bool),
    /// Multiply and add, both halves; 32 bits if true.
    MaddBoth(bool),
    /// Adds the product of the right operand and the immediate; subtracts it if true.
    MulImmediate(bool),
    /// Floating point.
    Float(Float),
    /// Float to float.
    FloatFloat,
    /// Float to integer, by rounding mode; `None`: that of the environment.
    FloatInt(Option<simt::arith::Rounding>),
    /// Integer to float; signed or not.
    IntFloat(bool),
}

impl SOp {
    /// Returns whether the operation reads or writes memory.
    #[must_use]
    pub fn accesses_memory(self) -> bool {
        matches!(
            self,
            Self::Load(..)
                | Self::LoadPcr(..)
                | Self::Store(_)
                | Self::StorePcr(_)
                | Self::Atomic(..)
                | Self::LoadIndexed(..)
                | Self::StoreIndexed(..)
                | Self::LoadPair(..)
                | Self::StorePair(_)
                | Self::LoadReserved(_)
                | Self::StoreConditional(_)
                | Self::CompareSwap(_)
        )
    }
}

/// System operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the instructions")]
pub enum System {
    Ebreak,
    Assert,
    Acrc,
    Acre,
    SsrGet,
    SsrSet,
    SsrSwap,
    Fence,
    Maintain(Maintenance),
}

/// What maintenance of caches and translations checks; it has no other effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maintenance {
    /// Nothing.
    Unchecked,
    /// Its operand is an address of 48 bits.
    Address,
    /// Its operand is an address space of 16 bits.
    AddressSpace,
}

/// Template blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the instructions")]
pub enum Template {
    MCopy,
    MSet,
    FEntry,
    FExit,
    FRetRa,
    FRetStk,
}

/// The action of each form, in the order of the table (the same for both numberings of tile
/// operations).
static ACTIONS: LazyLock<Vec<Action>> = LazyLock::new(|| {
    crate::table(crate::TileOps::V04).forms().iter().map(classify::classify).collect()
});

/// Returns the execution of the form with this index in the table.
#[must_use]
pub fn action(index: usize) -> Action {
    ACTIONS.get(index).copied().unwrap_or(Action::None("no such form"))
}
