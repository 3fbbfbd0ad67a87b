//! The operations: one table gives the enum, the names, the operand rules and the reference page.
//!
//! A row reads `Variant "name" class [results] [operands] types kinds flags "what it does"`. The
//! verifier, the text form, the PTX lowering and the engine's dispatch all read this table; adding
//! an operation starts here. Names follow the PTX ISA where it has one, without its modifiers; the
//! type and the modifiers of an instruction stand beside the operation.
//!
//! Values of per-lane operands are taken lane by lane; an instruction whose result is a warp
//! register reads warp registers and immediates only and executes once for its group (a *uniform*
//! issue).

use crate::mods::{Flag, Flags, Kind, Kinds};
use crate::ty::*;

/// What an operand or result must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// A value of the instruction's type.
    T,
    /// A value of the instruction's second (source) type.
    T2,
    /// A value of twice the width of the instruction's type.
    Wide,
    /// A predicate.
    P,
    /// A 32-bit value.
    B32,
    /// A 16-bit value.
    B16,
    /// A 64-bit value.
    B64,
    /// An address: a register or symbol, with a byte offset.
    Addr,
    /// A mask of the warp file.
    Mask,
    /// An immediate integer.
    Imm,
    /// A special register.
    Sreg,
    /// A function.
    Func,
    /// A block.
    Block,
    /// A string, given as the symbol of a variable, or any 64-bit value.
    Any,
}

/// How many of a slot an instruction may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arity {
    /// Exactly one.
    One(Slot),
    /// One or none; optional slots come last.
    Opt(Slot),
    /// One or more; such a slot comes last.
    Many(Slot),
    /// Any number.
    Some(Slot),
}

/// What an operation is about: how the engine treats it and where it stands in the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Per-lane computation without other effects.
    Compute,
    /// Reads, writes or orders memory.
    Memory,
    /// Needs several lanes of the architectural warp.
    Collective,
    /// Needs the threads of the CTA.
    Barrier,
    /// Reads or changes the EXEC mask.
    Exec,
    /// Steers the convergence mechanism.
    Converge,
    /// Calls.
    Call,
    /// Asks the system: output, allocation, ends.
    System,
}

impl Class {
    /// All classes with their headings.
    pub const ALL: [(Self, &'static str); 8] = [
        (Self::Compute, "Computation"),
        (Self::Memory, "Memory"),
        (Self::Collective, "Warp collectives"),
        (Self::Barrier, "CTA barriers"),
        (Self::Exec, "EXEC mask"),
        (Self::Converge, "Convergence"),
        (Self::Call, "Calls"),
        (Self::System, "System"),
    ];
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct OpInfo {
    /// The operation.
    pub op: Op,
    /// Its name in the text form.
    pub name: &'static str,
    /// What it is about.
    pub class: Class,
    /// Results.
    pub results: &'static [Arity],
    /// Operands.
    pub operands: &'static [Arity],
    /// Types it works on; empty if it takes none.
    pub types: TySet,
    /// Second types; empty if it takes none.
    pub types2: TySet,
    /// Kinds of modifiers that it takes.
    pub kinds: Kinds,
    /// Those of them that it cannot do without.
    pub required: Kinds,
    /// Flags that it takes.
    pub flags: Flags,
    /// What it does.
    pub doc: &'static str,
}

macro_rules! arity {
    (opt $slot:ident) => {
        Arity::Opt(Slot::$slot)
    };
    (many $slot:ident) => {
        Arity::Many(Slot::$slot)
    };
    (some $slot:ident) => {
        Arity::Some(Slot::$slot)
    };
    ($slot:ident) => {
        Arity::One(Slot::$slot)
    };
}

macro_rules! ops {
    ($( $variant:ident $name:literal $class:ident
        [$($r:ident $($rs:ident)?),*] [$($s:ident $($ss:ident)?),*]
        ($types:expr $(, $types2:expr)?) {$($kind:ident)*} {$($req:ident)*} {$($flag:ident)*}
        $doc:literal; )+) => {
        /// An operation of the kernel IR.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Op { $(#[doc = $doc] $variant),+ }

        /// The table, in order of [`Op`].
        pub static OPS: &[OpInfo] = &[$(OpInfo {
            op: Op::$variant,
            name: $name,
            class: Class::$class,
            results: &[$(arity!($r $($rs)?)),*],
            operands: &[$(arity!($s $($ss)?)),*],
            types: $types,
            types2: ops!(@second $($types2)?),
            kinds: Kinds::of(&[$(Kind::$kind,)* $(Kind::$req),*]),
            required: Kinds::of(&[$(Kind::$req),*]),
            flags: Flags::of(&[$(Flag::$flag),*]),
            doc: $doc,
        }),+];
    };
    (@second) => { NONE };
    (@second $e:expr) => { $e };
}

ops! {
    // --- Moves and packing
    Mov "mov" Compute [T] [T] (ANY.or(PRED).or(MASK)) {} {} {}
        "Copies a value. Of a symbol: its address in its space.";
    Pack "pack" Compute [T] [many T2] (BITS32.or(TySet::of(&[Ty::B16, Ty::B128])), BITS.or(TySet::of(&[Ty::B8]))) {} {} {} "Joins values of the second type, the first in the low bits.";
    Unpack "unpack" Compute [many T2] [T] (BITS32.or(TySet::of(&[Ty::B16, Ty::B128])), BITS.or(TySet::of(&[Ty::B8]))) {} {} {} "Splits a value into values of the second type, the low bits first.";
    Sreg "sreg" Compute [T] [Sreg] (TySet::of(&[Ty::B16, Ty::B32, Ty::B64, Ty::U16, Ty::U32, Ty::U64])) {} {} {} "Reads a special register.";

    // --- Arithmetic on integers and floats
    Add "add" Compute [T] [T, T] (INT.or(INT_PAIR).or(FLOAT).or(PAIR)) {Rounding} {} {Ftz Sat}
        "Adds.";
    Sub "sub" Compute [T] [T, T] (INT.or(FLOAT).or(PAIR)) {Rounding} {} {Ftz Sat} "Subtracts.";
    Mul "mul" Compute [T] [T, T] (INT.or(FLOAT).or(PAIR)) {Rounding} {} {Ftz Sat}
        "Multiplies; of integers, the low half.";
    MulHi "mulhi" Compute [T] [T, T] (INT) {} {} {} "The high half of the product.";
    MulWide "mulwide" Compute [Wide] [T, T] (TySet::of(&[Ty::U16, Ty::S16, Ty::U32, Ty::S32])) {} {} {} "The whole product, of twice the width.";
    Mad "mad" Compute [T] [T, T, T] (INT) {} {} {} "Product's low half plus the third operand.";
    MadHi "madhi" Compute [T] [T, T, T] (INT) {} {} {Sat}
        "Product's high half plus the third operand.";
    MadWide "madwide" Compute [Wide] [T, T, Wide] (TySet::of(&[Ty::U16, Ty::S16, Ty::U32, Ty::S32])) {} {} {} "Whole product plus the third operand.";
    Mul24 "mul24" Compute [T] [T, T] (ONLY32) {} {} {}
        "Low 32 bits of the 48-bit product of the low 24 bits.";
    Mul24Hi "mul24hi" Compute [T] [T, T] (ONLY32) {} {} {}
        "High 32 bits of the 48-bit product of the low 24 bits.";
    Mad24 "mad24" Compute [T] [T, T, T] (ONLY32) {} {} {} "As `mul24`, plus the third operand.";
    Mad24Hi "mad24hi" Compute [T] [T, T, T] (ONLY32) {} {} {Sat}
        "As `mul24hi`, plus the third operand.";
    AddCarry "addc" Compute [T, P] [T, T, P] (INT32) {} {} {} "Adds with carry in and out.";
    SubCarry "subc" Compute [T, P] [T, T, P] (INT32) {} {} {}
        "Adds the complement of the second operand with carry in and out: a carry is not a borrow.";
    MadCarry "madc" Compute [T, P] [T, T, T, P] (INT32) {} {} {}
        "`mad` with carry in and out of its addition.";
    MadHiCarry "madchi" Compute [T, P] [T, T, T, P] (INT32) {} {} {}
        "`madhi` with carry in and out of its addition.";
    Sad "sad" Compute [T] [T, T, T] (INT) {} {} {} "Absolute difference plus the third operand.";
    Div "div" Compute [T] [T, T] (INT.or(F)) {Rounding Precision} {} {Ftz}
        "Divides. Integers truncate; by zero gives all ones.";
    Rem "rem" Compute [T] [T, T] (INT) {} {} {}
        "Remainder with the sign of the dividend; by zero gives the dividend.";
    Abs "abs" Compute [T] [T] (INT.or(FLOAT)) {} {} {Ftz} "Absolute value.";
    Neg "neg" Compute [T] [T] (INT.or(FLOAT)) {} {} {Ftz} "Negation.";
    Min "min" Compute [T] [T, T, opt T] (INT.or(INT_PAIR).or(FLOAT)) {} {} {Ftz Nan Relu XorSignAbs}
        "Minimum; of floats, a NaN loses unless `nan` is given.";
    Max "max" Compute [T] [T, T, opt T] (INT.or(INT_PAIR).or(FLOAT)) {} {} {Ftz Nan Relu XorSignAbs}
        "Maximum; of floats, a NaN loses unless `nan` is given.";
    Fma "fma" Compute [T] [T, T, T] (FLOAT.or(PAIR)) {Rounding} {} {Ftz Sat Relu}
        "Product plus the third operand, rounded once.";
    Rcp "rcp" Compute [T] [T] (F) {Rounding Precision} {} {Ftz} "Reciprocal.";
    Sqrt "sqrt" Compute [T] [T] (F) {Rounding Precision} {} {Ftz} "Square root.";
    Rsqrt "rsqrt" Compute [T] [T] (F) {Precision} {} {Ftz} "Reciprocal square root, approximate.";
    Sin "sin" Compute [T] [T] (TySet::of(&[Ty::F32])) {Precision} {} {Ftz} "Sine, approximate.";
    Cos "cos" Compute [T] [T] (TySet::of(&[Ty::F32])) {Precision} {} {Ftz} "Cosine, approximate.";
    Ex2 "ex2" Compute [T] [T] (TySet::of(&[Ty::F32]).or(HALF)) {Precision} {} {Ftz}
        "Power of two, approximate.";
    Lg2 "lg2" Compute [T] [T] (TySet::of(&[Ty::F32])) {Precision} {} {Ftz}
        "Logarithm to base two, approximate.";
    Tanh "tanh" Compute [T] [T] (TySet::of(&[Ty::F32]).or(HALF)) {Precision} {} {}
        "Hyperbolic tangent, approximate.";
    Copysign "copysign" Compute [T] [T, T] (F) {} {} {}
        "Magnitude of the second operand, sign of the first.";
    Testp "testp" Compute [P] [T] (F) {} {TestP} {} "Whether a float has a property.";

    // --- Bits
    And "and" Compute [T] [T, T] (BITS.or(PRED).or(MASK)) {} {} {} "Bitwise and.";
    Or "or" Compute [T] [T, T] (BITS.or(PRED).or(MASK)) {} {} {} "Bitwise or.";
    Xor "xor" Compute [T] [T, T] (BITS.or(PRED).or(MASK)) {} {} {} "Bitwise exclusive or.";
    Not "not" Compute [T] [T] (BITS.or(PRED).or(MASK)) {} {} {} "Bitwise complement.";
    AndNot "andn" Compute [T] [T, T] (BITS.or(PRED).or(MASK)) {} {} {}
        "First operand and the complement of the second.";
    Cnot "cnot" Compute [T] [T] (BITS) {} {} {} "1 if the operand is 0, else 0.";
    Lop3 "lop3" Compute [T, opt P] [T, T, T, Imm, opt P] (TySet::of(&[Ty::B32])) {BoolOp} {} {} "Any function of three bits, by its truth table; with a predicate result, result != 0 combined with the predicate operand.";
    Shl "shl" Compute [T] [T, B32] (BITS) {} {} {}
        "Shifts left; amounts beyond the width clamp to it.";
    Shr "shr" Compute [T] [T, B32] (BITS.or(INT)) {} {} {}
        "Shifts right, signed types with copies of the sign; amounts beyond the width clamp to it.";
    ShfL "shfl2" Compute [T] [T, T, B32] (TySet::of(&[Ty::B32])) {} {} {Wrap}
        "Funnel shift left: the high half of (second:first) << amount.";
    ShfR "shfr2" Compute [T] [T, T, B32] (TySet::of(&[Ty::B32])) {} {} {Wrap}
        "Funnel shift right: the low half of (second:first) >> amount.";
    Bfe "bfe" Compute [T] [T, B32, B32] (INT32) {} {} {} "Extracts a bit field: position, length.";
    Bfi "bfi" Compute [T] [T, T, B32, B32] (BITS32) {} {} {}
        "Inserts the first operand into the second: position, length.";
    Bfind "bfind" Compute [B32] [T] (INT32) {} {} {ShiftAmt}
        "Position of the most significant non-sign bit.";
    Brev "brev" Compute [T] [T] (BITS32) {} {} {} "Reverses the bits.";
    Popc "popc" Compute [B32] [T] (BITS32) {} {} {} "Counts ones.";
    Clz "clz" Compute [B32] [T] (BITS32) {} {} {} "Counts leading zeros.";
    Prmt "prmt" Compute [T] [T, T, B32] (TySet::of(&[Ty::B32])) {Permute} {} {}
        "Picks four of eight bytes.";
    Bmsk "bmsk" Compute [T] [T, T] (TySet::of(&[Ty::B32])) {} {} {Wrap}
        "A mask of ones: position, length.";
    Szext "szext" Compute [T] [T, B32] (ONLY32) {} {} {Wrap}
        "Sign- or zero-extends from a bit position.";
    Fns "fns" Compute [T] [T, B32, B32] (TySet::of(&[Ty::B32])) {} {} {} "Finds the n-th set bit.";
    MbarPending "mbarpending" Compute [B32] [B64] (NONE) {} {} {}
        "Arrivals that the state of a barrier in memory waits for.";
    Dp4a "dp4a" Compute [B32] [T, T2, B32] (ONLY32, ONLY32) {} {} {}
        "Sum of four byte products plus the third operand.";
    Dp2a "dp2a" Compute [B32] [T, T2, B32] (ONLY32, ONLY32) {} {} {Upper}
        "Sum of two products of halfwords and bytes plus the third operand.";

    // --- Comparison and selection
    Setp "setp" Compute [P, opt P] [T, T, opt P] (INT.or(FLOAT).or(BITS)) {BoolOp} {Cmp} {Ftz} "Compares; the second result is the complement's combination. Of packed pairs: low halves, then high halves.";
    Set "set" Compute [T2] [T, T, opt P] (INT.or(FLOAT).or(BITS), TySet::of(&[Ty::U32, Ty::S32, Ty::F32, Ty::U16, Ty::S16, Ty::F16, Ty::Bf16, Ty::F16x2, Ty::Bf16x2])) {BoolOp} {Cmp} {Ftz} "Compares; true is all ones, or 1.0 for floats. Packed pairs give packed pairs.";
    Selp "selp" Compute [T] [T, T, P] (ANY.or(PRED)) {} {} {}
        "First operand if the predicate holds, else the second.";
    Slct "slct" Compute [T] [T, T, T2] (INT.or(FLOAT).or(BITS), TySet::of(&[Ty::S32, Ty::F32])) {} {} {Ftz} "First operand if the third is not negative, else the second.";

    // --- Conversion and addresses
    Cvt "cvt" Compute [T] [T2, opt T2] (CVT, CVT) {Rounding} {} {Ftz Sat SatFinite Relu} "Converts from the second type to the first; two operands pack, the first in the high half.";
    CvtPack "cvtpack" Compute [B32] [T2, T2, opt B32] (PACKED, TySet::of(&[Ty::S32])) {} {} {Sat} "Converts two integers with saturation and packs them, the first above the second, above the low bits of the third operand.";
    CvtaTo "cvta" Compute [T] [T] (TySet::of(&[Ty::U64, Ty::U32])) {} {Space} {}
        "Makes a generic address of an address in a space.";
    CvtaFrom "cvtafrom" Compute [T] [T] (TySet::of(&[Ty::U64, Ty::U32])) {} {Space} {}
        "Makes an address in a space of a generic address.";
    IsSpace "isspacep" Compute [P] [T] (TySet::of(&[Ty::U64, Ty::U32])) {} {Space} {}
        "Whether a generic address lies in a space; shared memory is that of all CTAs of the cluster.";
    Mapa "mapa" Compute [T] [T, B32] (TySet::of(&[Ty::U64, Ty::U32])) {} {} {}
        "Makes of a shared address the one of the same variable in the CTA of a rank of the cluster.";
    CtaRank "ctarank" Compute [B32] [T] (TySet::of(&[Ty::U64, Ty::U32])) {} {} {}
        "The rank in the cluster of the CTA whose shared memory an address is in.";

    // --- Memory
    Ld "ld" Memory [many T] [Addr] (ANY) {Space Order Scope} {} {Cluster}
        "Loads one or more adjacent values.";
    St "st" Memory [] [Addr, many T] (ANY) {Space Order Scope} {} {Cluster}
        "Stores one or more adjacent values.";
    Atom "atom" Memory [opt T] [Addr, T, opt T] (INT.or(BITS).or(FLOAT).or(TySet::of(&[Ty::B128]))) {Space Order Scope} {AtomOp} {Cluster} "Reads, combines and writes as one; with a result, gives the old value. Lanes take effect in increasing order.";
    AtomVec "atomv" Memory [some T] [Addr, many T] (FLOAT) {Space Order Scope} {AtomOp} {}
        "`atom` on adjacent values, each by itself.";
    CpAsync "cpasync" Memory [] [Addr, B64, Imm, opt B32] (TySet::of(&[Ty::B32, Ty::B64, Ty::B128])) {} {Space} {} "Copies a value from global to shared memory: where to, where from, offset of that; with a fourth operand that many bytes of it, the rest is zero.";
    CopyCommit "copycommit" System [] [] (NONE) {} {} {}
        "Makes a group of the thread's `cpasync` since the last one.";
    CopyWait "copywait" System [] [opt Imm] (NONE) {} {} {}
        "Waits until at most so many of the thread's groups of `cpasync` are pending; without a number until all its `cpasync` are done.";
    MbarInit "mbarinit" Memory [] [Addr, B32] (NONE) {Space} {} {LayoutV1}
        "Makes a barrier in shared memory whose phases take so many arrivals.";
    MbarInval "mbarinval" Memory [] [Addr] (NONE) {Space} {} {} "Ends a barrier in shared memory.";
    MbarArrive "mbararrive" Memory [opt B64] [Addr, B32, opt B32] (NONE) {Space Order Scope} {} {NoComplete Drop Counted Copies Cluster} "Arrives so many times at a barrier in shared memory, after the phase expects as many bytes more as the third operand says; gives its state before.";
    MbarExpect "mbarexpect" Memory [] [Addr, B32] (NONE) {Space Order Scope} {} {Cluster}
        "The phase of a barrier in shared memory waits for so many bytes more.";
    MbarComplete "mbarcomplete" Memory [] [Addr, B32] (NONE) {Space Order Scope} {} {Cluster}
        "The phase of a barrier in shared memory waits for so many bytes less.";
    MbarTest "mbartest" Memory [P] [Addr, B64] (NONE) {Space Order Scope} {} {Parity} "Whether the phase of a state, or of a parity, of a barrier in shared memory has completed.";
    MbarTry "mbartry" Memory [P] [Addr, B64] (NONE) {Space Order Scope} {} {Parity}
        "As `mbartest`, and waits for the phase before it gives up.";
    MbarLayout "mbarlayout" Memory [P] [Addr] (NONE) {Space} {} {LayoutV1}
        "Whether a barrier in shared memory has the layout v0, or v1.";
    BulkCopy "bulkcopy" Memory [] [Addr, B64, B32, opt B64, opt B32, opt B32] (TySet::of(&[Ty::B8]).or(INT).or(FLOAT).or(BITS32)) {AtomOp} {Bulk} {Multicast Masked Trimmed} "Copies, or combines, asynchronously: where to, where from, bytes, the barrier in shared memory whose phase expects them, the CTAs of a multicast or the bytes of a mask, or how many bytes at the beginning and at the end are not copied.";
    TensorCopy "tensorcopy" Memory [] [Addr, B64, B64, many B32] (NONE) {AtomOp} {Bulk Tensor} {Multicast} "Copies a part of a tensor, or combines it, asynchronously: where in shared memory, the tensor map, the barrier in shared memory (0 for a store), the coordinates, the offsets of a load in an im2col mode, the CTAs of a multicast.";
    BulkCommit "bulkcommit" Memory [] [] (NONE) {} {} {}
        "Makes a group of the thread's bulk copies since the last one.";
    BulkWait "bulkwait" Memory [] [Imm] (NONE) {} {} {Read}
        "Waits until at most so many of the thread's groups of bulk copies are pending.";
    StAsync "stasync" Memory [] [Addr, B64, many T] (INT.or(F).or(BITS32)) {Space} {} {} "Stores adjacent values in shared memory of the cluster asynchronously; the operand before them is the barrier whose phase expects the bytes, of the same space.";
    RedAsync "redasync" Memory [] [Addr, B64, T] (INT32.or(BITS32)) {Space} {AtomOp} {}
        "As `stasync`, and combines the value.";
    Tex "tex" Memory [many T] [B64, B64, many B32] (TySet::of(&[Ty::U32, Ty::S32, Ty::F32, Ty::F16, Ty::F16x2]), TySet::of(&[Ty::S32, Ty::F32])) {Lod} {Geometry} {Offset} "Samples a texture: its handle, that of the sampler (the same if the texture has its own), the coordinates, the level or the derivatives, the offsets. Four components; pairs of them as `f16x2`.";
    TexGather "tld4" Memory [many T] [B64, B64, many B32] (ONLY32.or(TySet::of(&[Ty::F32])), TySet::of(&[Ty::F32])) {} {Component Geometry} {Offset} "One component of the four elements that a linear filter would take: handles of texture and sampler, coordinates, offsets.";
    TexQuery "txq" Memory [B32] [B64, opt B32] (NONE) {} {Query} {} "An attribute of the texture, sampler or surface of a handle; with a second operand, of that level.";
    SurfLoad "suld" Memory [many T] [B64, B32, B32, B32] (TySet::of(&[Ty::B8, Ty::B16, Ty::B32, Ty::B64])) {} {Geometry Bounds} {} "Loads adjacent values from a surface: its handle, then the layer if it has layers, the byte in the row, the row, the slice; coordinates that it does not have are 0.";
    SurfStore "sust" Memory [] [B64, B32, B32, B32, many T] (TySet::of(&[Ty::B8, Ty::B16, Ty::B32, Ty::B64])) {} {Geometry Bounds} {Formatted} "Stores adjacent values in a surface: handle and coordinates as of `suld`, then the values.";
    SurfReduce "sured" Memory [] [B64, B32, B32, B32, T] (INT32.or(BITS32)) {} {AtomOp Geometry Bounds} {Formatted} "Combines a value with one of a surface as one operation: handle and coordinates as of `suld`, then the value.";
    Fence "fence" Memory [] [] (NONE) {Order Scope Proxy} {} {}
        "Orders the accesses before it against those after it.";
    Alloca "alloca" Memory [T] [T, Imm] (TySet::of(&[Ty::U32, Ty::U64])) {} {} {}
        "Takes local memory until the function returns: size, alignment.";

    // --- Warp collectives (rendezvous on the architectural warp)
    Shfl "shfl" Collective [T, opt P] [T, B32, B32, opt B32] (TySet::of(&[Ty::B32])) {} {Shuffle} {NoMask} "Reads another lane's value: value, lane, clamp, members.";
    Vote "vote" Collective [P] [P, opt B32] (NONE) {} {Vote} {NoMask}
        "Asks all member lanes; for `ballot` see `ballot`.";
    Ballot "ballot" Collective [B32] [P, opt B32] (NONE) {} {} {NoMask}
        "Member lanes whose predicate holds.";
    Match "match" Collective [B32, opt P] [T, B32] (BITS32) {} {} {All}
        "Member lanes that hold the same value.";
    Redux "redux" Collective [T] [T, B32] (ONLY32.or(TySet::of(&[Ty::B32, Ty::F32]))) {} {AtomOp} {Nan} "Reduces over the member lanes.";
    Elect "elect" Collective [B32, P] [B32] (NONE) {} {} {}
        "Picks the lowest member lane: its index, and whether it is me.";
    ActiveMask "activemask" Collective [B32] [] (NONE) {} {} {}
        "Lanes that execute this together now. Depends on the mechanism.";
    WarpSync "warpsync" Collective [] [B32] (NONE) {} {} {} "Waits for the member lanes.";

    // --- Matrices: all lanes of the architectural warp take part
    Mma "mma" Collective [many T] [many T] (BITS32) {Rounding BoolOp MatrixLayout} {MatrixShape MatrixTypes} {SatFinite Wmma Sparse Ordered} "Multiplies matrices that the lanes' registers hold: D = A * B + C. Registers of A, then of B, then of C; of a sparse A, then its metadata and the sparsity selector.";
    LdMatrix "ldmatrix" Collective [many B32] [Addr] (NONE) {Space TileFormat} {} {Trans} "Loads one, two or four 8 by 8 matrices of 16-bit elements: each eight lanes hold the addresses of the rows of one. Of narrower elements they are 8 by 16, or, transposed, 16 by 16.";
    StMatrix "stmatrix" Collective [] [Addr, many B32] (NONE) {Space TileFormat} {} {Trans} "Stores one, two or four 8 by 8 matrices of 16-bit elements, as `ldmatrix` loads them, or, transposed, 16 by 8 matrices of bytes.";
    MovMatrix "movmatrix" Collective [B32] [B32] (NONE) {} {} {}
        "Transposes an 8 by 8 matrix of 16-bit elements.";
    WmmaLoad "wmmald" Collective [many T] [Addr, B32] (BITS32, MATRIX) {Space} {MatrixRole MatrixShape MatrixLayout} {} "Loads a fragment of a matrix: address, and elements from one row, or column, to the next.";
    WmmaStore "wmmast" Collective [] [Addr, B32, many T] (BITS32, MATRIX) {Space} {MatrixShape MatrixLayout} {} "Stores a fragment of a result: address, and elements from one row, or column, to the next.";

    // --- Products of warp groups: they take effect when all four warps have executed them
    WgmmaFence "wgmmafence" Collective [] [] (NONE) {} {} {} "Orders accesses to registers and shared memory before products of the warp group that follow.";
    Wgmma "wgmma" Collective [many T] [P, B64, B64, many T] (TySet::of(&[Ty::B32])) {} {MatrixTypes} {SatFinite Sparse NegA NegB TransA TransB} "Multiplies matrices of a warp group in the background: D = A * B + D, without D if the predicate does not hold. Descriptors of A and B in shared memory, then the registers of D; of a sparse A, then its metadata and the sparsity selector.";
    WgmmaReg "wgmmareg" Collective [many T] [P, B64, many T] (TySet::of(&[Ty::B32])) {} {MatrixTypes} {SatFinite Sparse NegA NegB TransB} "As `wgmma`, with A in registers: the descriptor of B, then the registers of A, of D, and of metadata.";
    WgmmaCommit "wgmmacommit" Collective [] [] (NONE) {} {} {} "Makes the warp's products since the last such instruction one group.";
    WgmmaWait "wgmmawait" Collective [] [Imm] (NONE) {} {} {} "Waits until at most so many of the warp's groups of products are unfinished.";

    // --- CTA barriers
    Bar "bar" Barrier [opt Any] [B32, opt B32, opt P] (NONE) {} {Barrier} {Aligned}
        "CTA barrier: which, thread count or all, predicate of a reduction.";
    ClusterArrive "clusterarrive" Barrier [] [] (NONE) {Order} {} {Aligned}
        "Arrives at the barrier of the cluster.";
    ClusterWait "clusterwait" Barrier [] [] (NONE) {Order} {} {Aligned}
        "Waits until all threads of the cluster have arrived at its barrier.";

    // --- EXEC mask
    ExecRead "exec_read" Exec [Mask] [] (NONE) {} {} {} "Reads EXEC.";
    ExecWrite "exec_write" Exec [] [Mask] (NONE) {} {} {} "Writes EXEC.";
    ExecAndSave "exec_and_save" Exec [Mask] [P] (NONE) {} {} {}
        "Saves EXEC, then keeps the lanes whose predicate holds.";
    ExecAndNot "exec_andn" Exec [] [P] (NONE) {} {} {} "Turns off the lanes whose predicate holds.";
    ExecXor "exec_xor" Exec [] [Mask] (NONE) {} {} {}
        "EXEC = operand and not EXEC: goes to the other side of a saved mask.";
    ExecOr "exec_or" Exec [] [Mask] (NONE) {} {} {} "Turns lanes on.";
    MaskOf "maskof" Exec [Mask] [P] (NONE) {} {} {}
        "The lanes that are on and whose predicate holds.";
    PredOf "predof" Exec [P] [Mask] (NONE) {} {} {} "Each lane's bit of a mask.";
    PredSpill "pspill" Exec [] [Imm, P] (NONE) {} {} {}
        "Stores a predicate of all lanes into a spill slot of the group.";
    PredFill "pfill" Exec [P] [Imm] (NONE) {} {} {}
        "Loads a predicate of all lanes from a spill slot of the group.";

    // --- Convergence
    Split "split" Converge [] [P] (NONE) {} {} {}
        "Pushes the mask; lanes whose predicate holds go first.";
    Join "join" Converge [] [] (NONE) {} {} {}
        "Pops: the other side of the split, or the whole mask.";
    CbSet "cb_set" Converge [] [Imm, Block] (NONE) {} {} {}
        "Convergence barrier takes the lanes here; they meet in the block.";
    CbWait "cb_wait" Converge [] [Imm] (NONE) {} {} {}
        "Waits for all participants of a convergence barrier.";
    CbBreak "cb_break" Converge [] [Imm] (NONE) {} {} {} "Lanes leave a convergence barrier.";
    Yield "yield" Converge [] [] (NONE) {} {} {} "Lets a sibling path run.";

    // --- Calls
    Call "call" Call [some Any] [Func, some Any] (NONE) {} {} {} "Calls a function.";
    CallInd "calli" Call [some Any] [B64, some Any] (NONE) {} {} {}
        "Calls the function whose address each lane holds.";

    // --- System
    Nop "nop" System [] [] (NONE) {} {} {} "Nothing; an issue all the same.";
    Printf "printf" System [opt B32] [B64, B64] (NONE) {} {} {}
        "Prints: address of the format, address of the arguments.";
    AssertFail "assertfail" System [] [B64, B64, B32, B64, B64] (NONE) {} {} {}
        "Reports a failed assertion and faults: message, file, line, function, character size.";
    Malloc "malloc" System [B64] [B64] (NONE) {} {} {} "Takes global memory; 0 if there is none.";
    Free "free" System [] [B64] (NONE) {} {} {} "Gives global memory back.";
    Trap "trap" System [] [] (NONE) {} {} {} "Faults.";
    Brkpt "brkpt" System [] [] (NONE) {} {} {} "Stops for a debugger; faults without one.";
    Nanosleep "nanosleep" System [] [B32] (NONE) {} {} {}
        "Waits for about that many nanoseconds: no effect here.";
}

impl Op {
    /// The operation's row.
    #[must_use]
    pub fn info(self) -> &'static OpInfo {
        &OPS[self as usize]
    }

    /// Whether it is an operation on a barrier in shared memory.
    #[must_use]
    pub const fn is_mbarrier(self) -> bool {
        matches!(
            self,
            Self::MbarInit
                | Self::MbarInval
                | Self::MbarArrive
                | Self::MbarExpect
                | Self::MbarComplete
                | Self::MbarLayout
                | Self::MbarTest
                | Self::MbarTry
        )
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// The operation of a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        OPS.iter().find(|i| i.name == name).map(|i| i.op)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_order_and_names_are_unique() {
        for (i, row) in OPS.iter().enumerate() {
            assert_eq!(row.op as usize, i, "{}", row.name);
            assert_eq!(Op::from_name(row.name), Some(row.op));
            assert!(!row.doc.is_empty());
        }
    }

    #[test]
    fn optional_and_repeated_slots_come_last() {
        for row in OPS {
            for list in [row.results, row.operands] {
                let first_loose = list.iter().position(|a| !matches!(a, Arity::One(_)));
                let loose = first_loose.map_or(&[][..], |i| &list[i..]);
                assert!(loose.iter().all(|a| !matches!(a, Arity::One(_))), "{}", row.name);
            }
        }
    }
}
