//! Modifiers: what refines an operation.
//!
//! Each kind of modifier is an enum whose words are its spellings in the text form; an instruction
//! has at most one of each kind. The table of operations says which kinds an operation takes.

use word_kinds::kinds;

pub use simt::observe::{Order, Scope, Space};

/// One list gives the enums and their words.
mod word_kinds {
    macro_rules! kinds {
        ($( $(#[$doc:meta])* $kind:ident $field:ident {
            $(#[doc = $vdoc:literal] $variant:ident $word:literal),+ $(,)?
        } )+) => {
            $( $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
            pub enum $kind { $(#[doc = $vdoc] $variant),+ }

            impl $kind {
                /// All of this kind.
                pub const ALL: &'static [Self] = &[$(Self::$variant),+];

                /// Its word in the text form.
                #[must_use]
                pub const fn word(self) -> &'static str {
                    match self { $(Self::$variant => $word),+ }
                }

                /// What it means.
                #[must_use]
                pub fn doc(self) -> &'static str {
                    match self { $(Self::$variant => $vdoc.trim_start()),+ }
                }

                /// The one with this word.
                #[must_use]
                pub fn from_word(word: &str) -> Option<Self> {
                    match word { $($word => Some(Self::$variant),)+ _ => None }
                }
            } )+
        };
    }
    pub(super) use kinds;
}

kinds! {
    /// Rounding of a floating-point result, or (the `i` forms) to an integral value.
    Rounding rounding {
        /// To nearest, ties to even.
        Rn "rn",
        /// Toward zero.
        Rz "rz",
        /// Toward minus infinity.
        Rm "rm",
        /// Toward plus infinity.
        Rp "rp",
        /// To nearest, ties away from zero.
        Rna "rna",
        /// To an integral value: nearest, ties to even.
        Rni "rni",
        /// To an integral value: toward zero.
        Rzi "rzi",
        /// To an integral value: toward minus infinity.
        Rmi "rmi",
        /// To an integral value: toward plus infinity.
        Rpi "rpi",
    }
    /// How exact a floating-point function is.
    Precision precision {
        /// Our published approximation.
        Approx "approx",
        /// Full-range approximation (division).
        Full "full",
    }
    /// Comparisons. The `u` forms are true if an operand is NaN; on integers lo, ls, hi, hs are
    /// unsigned.
    Cmp cmp {
        /// Equal.
        Eq "eq",
        /// Not equal.
        Ne "ne",
        /// Less.
        Lt "lt",
        /// Less or equal.
        Le "le",
        /// Greater.
        Gt "gt",
        /// Greater or equal.
        Ge "ge",
        /// Unsigned less.
        Lo "lo",
        /// Unsigned less or equal.
        Ls "ls",
        /// Unsigned greater.
        Hi "hi",
        /// Unsigned greater or equal.
        Hs "hs",
        /// Equal or unordered.
        Equ "equ",
        /// Not equal or unordered.
        Neu "neu",
        /// Less or unordered.
        Ltu "ltu",
        /// Less, equal or unordered.
        Leu "leu",
        /// Greater or unordered.
        Gtu "gtu",
        /// Greater, equal or unordered.
        Geu "geu",
        /// Neither is NaN.
        Num "num",
        /// One is NaN.
        Nan "isnan",
    }
    /// How a comparison is combined with a predicate.
    BoolOp bool_op {
        /// And.
        And "and",
        /// Or.
        Or "or",
        /// Exclusive or.
        Xor "xor",
    }
    /// Read-modify-write operations.
    AtomOp atom {
        /// Add.
        Add "add",
        /// Minimum.
        Min "min",
        /// Maximum.
        Max "max",
        /// Bitwise and.
        And "and",
        /// Bitwise or.
        Or "or",
        /// Bitwise exclusive or.
        Xor "xor",
        /// Exchange.
        Exch "exch",
        /// Compare and swap.
        Cas "cas",
        /// Wrapping increment: `old >= b ? 0 : old + 1`.
        Inc "inc",
        /// Wrapping decrement: `old == 0 || old > b ? b : old - 1`.
        Dec "dec",
    }
    /// Where a shuffle reads from.
    Shuffle shuffle {
        /// Lane minus the operand.
        Up "up",
        /// Lane plus the operand.
        Down "down",
        /// Lane exclusive-or the operand.
        Bfly "bfly",
        /// The operand.
        Idx "idx",
    }
    /// What a vote asks.
    Vote vote {
        /// Does the predicate hold in all lanes?
        All "all",
        /// In any?
        Any "any",
        /// Is it the same in all?
        Uni "uni",
        /// In which lanes?
        Ballot "ballot",
    }
    /// How a CTA barrier is used.
    Barrier barrier {
        /// Arrive and wait.
        Sync "sync",
        /// Arrive only.
        Arrive "arrive",
        /// Arrive, wait, and count the threads whose predicate holds.
        RedPopc "popc",
        /// Arrive, wait, and ask whether all predicates hold.
        RedAnd "and",
        /// Arrive, wait, and ask whether any predicate holds.
        RedOr "or",
    }
    /// Byte-selection modes of `prmt`.
    PrmtMode prmt {
        /// Forward 4 extract.
        F4e "f4e",
        /// Backward 4 extract.
        B4e "b4e",
        /// Replicate 8.
        Rc8 "rc8",
        /// Edge clamp left.
        Ecl "ecl",
        /// Edge clamp right.
        Ecr "ecr",
        /// Replicate 16.
        Rc16 "rc16",
    }
    /// Floating-point properties of `testp`.
    TestP testp {
        /// Neither infinite nor NaN.
        Finite "finite",
        /// Infinite.
        Infinite "infinite",
        /// Not NaN.
        Number "number",
        /// NaN.
        NotANumber "notanumber",
        /// Normal, or zero.
        Normal "normal",
        /// Subnormal.
        Subnormal "subnormal",
    }
    /// Sizes of a matrix product.
    MatrixShape shape {
        /// A is 8 by 4, B is 4 by 8.
        M8n8k4 "m8n8k4",
        /// A is 16 by 4, B is 4 by 8.
        M16n8k4 "m16n8k4",
        /// A is 16 by 8, B is 8 by 8.
        M16n8k8 "m16n8k8",
        /// A is 16 by 16, B is 16 by 8.
        M16n8k16 "m16n8k16",
        /// A is 16 by 32, B is 32 by 8.
        M16n8k32 "m16n8k32",
        /// A is 16 by 64, B is 64 by 8.
        M16n8k64 "m16n8k64",
        /// A is 16 by 128, B is 128 by 8.
        M16n8k128 "m16n8k128",
        /// A is 16 by 256, B is 256 by 8.
        M16n8k256 "m16n8k256",
        /// A is 8 by 16, B is 16 by 8.
        M8n8k16 "m8n8k16",
        /// A is 8 by 32, B is 32 by 8.
        M8n8k32 "m8n8k32",
        /// A is 8 by 128, B is 128 by 8.
        M8n8k128 "m8n8k128",
        /// A is 16 by 16, B is 16 by 16.
        M16n16k16 "m16n16k16",
        /// A is 16 by 8, B is 8 by 16.
        M16n16k8 "m16n16k8",
        /// A is 8 by 16, B is 16 by 32.
        M8n32k16 "m8n32k16",
        /// A is 32 by 16, B is 16 by 8.
        M32n8k16 "m32n8k16",
    }
    /// Elements of D, A, B and C of a matrix product.
    MatrixTypes elements {
        /// `f16` factors, `f16` sums.
        F16F16F16F16 "f16_f16_f16_f16",
        /// `f16` factors, a `f32` addend, `f16` sums.
        F16F16F16F32 "f16_f16_f16_f32",
        /// `f16` factors, a `f16` addend, `f32` sums.
        F32F16F16F16 "f32_f16_f16_f16",
        /// `f16` factors, `f32` sums.
        F32F16F16F32 "f32_f16_f16_f32",
        /// `bf16` factors, `f32` sums.
        F32Bf16Bf16F32 "f32_bf16_bf16_f32",
        /// `tf32` factors, `f32` sums.
        F32Tf32Tf32F32 "f32_tf32_tf32_f32",
        /// `f64` factors, `f64` sums.
        F64F64F64F64 "f64_f64_f64_f64",
        /// `s8` factors, `s32` sums.
        S32S8S8S32 "s32_s8_s8_s32",
        /// `s8` times `u8`, `s32` sums.
        S32S8U8S32 "s32_s8_u8_s32",
        /// `u8` times `s8`, `s32` sums.
        S32U8S8S32 "s32_u8_s8_s32",
        /// `u8` factors, `s32` sums.
        S32U8U8S32 "s32_u8_u8_s32",
        /// `s4` factors, `s32` sums.
        S32S4S4S32 "s32_s4_s4_s32",
        /// `s4` times `u4`, `s32` sums.
        S32S4U4S32 "s32_s4_u4_s32",
        /// `u4` times `s4`, `s32` sums.
        S32U4S4S32 "s32_u4_s4_s32",
        /// `u4` factors, `s32` sums.
        S32U4U4S32 "s32_u4_u4_s32",
        /// `b1` factors, `s32` sums.
        S32B1B1S32 "s32_b1_b1_s32",
        /// `e4m3` factors, `f32` sums.
        F32E4m3E4m3F32 "f32_e4m3_e4m3_f32",
        /// `e4m3` times `e5m2`, `f32` sums.
        F32E4m3E5m2F32 "f32_e4m3_e5m2_f32",
        /// `e5m2` times `e4m3`, `f32` sums.
        F32E5m2E4m3F32 "f32_e5m2_e4m3_f32",
        /// `e5m2` factors, `f32` sums.
        F32E5m2E5m2F32 "f32_e5m2_e5m2_f32",
        /// `e4m3` factors, `f16` sums.
        F16E4m3E4m3F16 "f16_e4m3_e4m3_f16",
        /// `e4m3` times `e5m2`, `f16` sums.
        F16E4m3E5m2F16 "f16_e4m3_e5m2_f16",
        /// `e5m2` times `e4m3`, `f16` sums.
        F16E5m2E4m3F16 "f16_e5m2_e4m3_f16",
        /// `e5m2` factors, `f16` sums.
        F16E5m2E5m2F16 "f16_e5m2_e5m2_f16",
    }
    /// Which matrix of a product a fragment is of.
    MatrixRole role {
        /// The left factor.
        A "a",
        /// The right factor.
        B "b",
        /// What is added, or the result.
        C "c",
    }
    /// How matrices are stored.
    MatrixLayout layout {
        /// By rows.
        Row "row",
        /// By columns.
        Col "col",
        /// Both factors by rows.
        RowRow "row_row",
        /// The left factor by rows, the right one by columns.
        RowCol "row_col",
        /// The left factor by columns, the right one by rows.
        ColRow "col_row",
        /// Both factors by columns.
        ColCol "col_col",
    }
    /// Flags of which an instruction may have several.
    Flag flags {
        /// Flush subnormal inputs and results to zero of the same sign.
        Ftz "ftz",
        /// Saturate: integers to their range, floats to [0, 1].
        Sat "sat",
        /// NaN operands give NaN (minimum and maximum).
        Nan "nan",
        /// Negative results become zero.
        Relu "relu",
        /// The result's sign is the exclusive-or of both signs; the magnitudes are compared.
        XorSignAbs "xorsign",
        /// Out-of-range values become the largest finite one.
        SatFinite "satfinite",
        /// Shift amounts wrap instead of clamping.
        Wrap "wrap",
        /// `bfind` gives the shift that brings the bit to the top.
        ShiftAmt "shiftamt",
        /// The collective has no member mask: it takes the lanes that are active together.
        NoMask "nomask",
        /// `match` and `redux`: only if all agree.
        All "all_equal",
        /// The barrier counts every thread that executes it, in whichever warp it is.
        Aligned "aligned",
        /// Halfword selection of `dp2a`: the upper half.
        Upper "upper",
        /// Matrices are transposed on their way.
        Trans "trans",
        /// Fragments are those of `wmma`.
        Wmma "wmma",
        /// Half the elements of the left factor are stored; metadata says which.
        Sparse "sp",
        /// The indices of metadata increase.
        Ordered "ordered",
        /// The arrival at a barrier in memory must not complete the phase.
        NoComplete "nocomplete",
        /// The phases of a barrier in memory that follow expect as many arrivals fewer.
        Drop "drop",
        /// The pending count of a barrier in memory grows by as many arrivals first.
        Counted "counted",
        /// A phase of a barrier in memory is named by its parity.
        Parity "parity",
    }
}

/// A set of [`Flag`]s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Flags(u32);

impl Flags {
    /// No flag.
    pub const NONE: Self = Self(0);

    /// The set of these flags.
    #[must_use]
    pub const fn of(flags: &[Flag]) -> Self {
        let (mut bits, mut i) = (0, 0);
        while i < flags.len() {
            bits |= 1 << flags[i] as u32;
            i += 1;
        }
        Self(bits)
    }

    /// Whether a flag is set.
    #[must_use]
    pub const fn has(self, flag: Flag) -> bool {
        self.0 >> flag as u32 & 1 != 0
    }

    /// The set with one more flag.
    #[must_use]
    pub const fn with(self, flag: Flag) -> Self {
        Self(self.0 | 1 << flag as u32)
    }

    /// Whether all flags of `self` are in `other`.
    #[must_use]
    pub const fn is_subset(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// The flags in order.
    pub fn iter(self) -> impl Iterator<Item = Flag> {
        Flag::ALL.iter().copied().filter(move |&f| self.has(f))
    }
}

impl FromIterator<Flag> for Flags {
    fn from_iter<I: IntoIterator<Item = Flag>>(flags: I) -> Self {
        flags.into_iter().fold(Self::NONE, Self::with)
    }
}

/// The modifiers of one instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "each field is the kind of its type")]
pub struct Mods {
    pub rounding: Option<Rounding>,
    pub precision: Option<Precision>,
    pub cmp: Option<Cmp>,
    pub bool_op: Option<BoolOp>,
    pub space: Option<Space>,
    pub order: Option<Order>,
    pub scope: Option<Scope>,
    pub atom: Option<AtomOp>,
    pub shuffle: Option<Shuffle>,
    pub vote: Option<Vote>,
    pub barrier: Option<Barrier>,
    pub prmt: Option<PrmtMode>,
    pub testp: Option<TestP>,
    pub shape: Option<MatrixShape>,
    pub elements: Option<MatrixTypes>,
    pub role: Option<MatrixRole>,
    pub layout: Option<MatrixLayout>,
    pub flags: Flags,
}

/// Kinds of modifiers, as a set; flags are apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kinds(pub(crate) u32);

/// One kind of modifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "each variant is the kind of its name")]
pub enum Kind {
    Rounding,
    Precision,
    Cmp,
    BoolOp,
    Space,
    Order,
    Scope,
    AtomOp,
    Shuffle,
    Vote,
    Barrier,
    Prmt,
    TestP,
    MatrixShape,
    MatrixTypes,
    MatrixRole,
    MatrixLayout,
}

impl Kind {
    /// All kinds, in the order in which the text form writes them.
    pub const ALL: [Self; 17] = [
        Self::MatrixRole,
        Self::MatrixShape,
        Self::MatrixTypes,
        Self::MatrixLayout,
        Self::Cmp,
        Self::BoolOp,
        Self::Shuffle,
        Self::Vote,
        Self::Barrier,
        Self::Prmt,
        Self::TestP,
        Self::AtomOp,
        Self::Precision,
        Self::Rounding,
        Self::Order,
        Self::Scope,
        Self::Space,
    ];

    /// Its words in the text form.
    #[must_use]
    pub fn words(self) -> Vec<&'static str> {
        match self {
            Self::Rounding => Rounding::ALL.iter().map(|m| m.word()).collect(),
            Self::Precision => Precision::ALL.iter().map(|m| m.word()).collect(),
            Self::Cmp => Cmp::ALL.iter().map(|m| m.word()).collect(),
            Self::BoolOp => BoolOp::ALL.iter().map(|m| m.word()).collect(),
            Self::AtomOp => AtomOp::ALL.iter().map(|m| m.word()).collect(),
            Self::Shuffle => Shuffle::ALL.iter().map(|m| m.word()).collect(),
            Self::Vote => Vote::ALL.iter().map(|m| m.word()).collect(),
            Self::Barrier => Barrier::ALL.iter().map(|m| m.word()).collect(),
            Self::Prmt => PrmtMode::ALL.iter().map(|m| m.word()).collect(),
            Self::TestP => TestP::ALL.iter().map(|m| m.word()).collect(),
            Self::MatrixShape => MatrixShape::ALL.iter().map(|m| m.word()).collect(),
            Self::MatrixTypes => MatrixTypes::ALL.iter().map(|m| m.word()).collect(),
            Self::MatrixRole => MatrixRole::ALL.iter().map(|m| m.word()).collect(),
            Self::MatrixLayout => MatrixLayout::ALL.iter().map(|m| m.word()).collect(),
            Self::Space => SPACES.map(space_word).to_vec(),
            Self::Order => ORDERS.map(order_word).to_vec(),
            Self::Scope => SCOPES.map(scope_word).to_vec(),
        }
    }
}

impl Kinds {
    /// The kinds of the set, in the order in which the text form writes them.
    pub fn iter(self) -> impl Iterator<Item = Kind> {
        Kind::ALL.into_iter().filter(move |&k| self.has(k))
    }

    /// No kind.
    pub const NONE: Self = Self(0);

    /// The set of these kinds.
    #[must_use]
    pub const fn of(kinds: &[Kind]) -> Self {
        let (mut bits, mut i) = (0, 0);
        while i < kinds.len() {
            bits |= 1 << kinds[i] as u32;
            i += 1;
        }
        Self(bits)
    }

    /// Whether a kind is in the set.
    #[must_use]
    pub const fn has(self, kind: Kind) -> bool {
        self.0 >> kind as u32 & 1 != 0
    }
}

/// The word of a space.
#[must_use]
pub const fn space_word(space: Space) -> &'static str {
    match space {
        Space::Generic => "generic",
        Space::Global => "global",
        Space::Const => "const",
        Space::Shared => "shared",
        Space::Local => "local",
        Space::Param => "param",
    }
}

/// The word of a memory order.
#[must_use]
pub const fn order_word(order: Order) -> &'static str {
    match order {
        Order::Weak => "weak",
        Order::Volatile => "volatile",
        Order::Relaxed => "relaxed",
        Order::Acquire => "acquire",
        Order::Release => "release",
        Order::AcqRel => "acq_rel",
        Order::SeqCst => "sc",
    }
}

/// The word of a scope.
#[must_use]
pub const fn scope_word(scope: Scope) -> &'static str {
    match scope {
        Scope::Cta => "cta",
        Scope::Cluster => "cluster",
        Scope::Gpu => "gpu",
        Scope::Sys => "sys",
    }
}

impl Mods {
    /// The word of the modifier of one kind, if the instruction has it.
    #[must_use]
    pub fn word(&self, kind: Kind) -> Option<&'static str> {
        match kind {
            Kind::Rounding => self.rounding.map(Rounding::word),
            Kind::Precision => self.precision.map(Precision::word),
            Kind::Cmp => self.cmp.map(Cmp::word),
            Kind::BoolOp => self.bool_op.map(BoolOp::word),
            Kind::Space => self.space.map(space_word),
            Kind::Order => self.order.map(order_word),
            Kind::Scope => self.scope.map(scope_word),
            Kind::AtomOp => self.atom.map(AtomOp::word),
            Kind::Shuffle => self.shuffle.map(Shuffle::word),
            Kind::Vote => self.vote.map(Vote::word),
            Kind::Barrier => self.barrier.map(Barrier::word),
            Kind::Prmt => self.prmt.map(PrmtMode::word),
            Kind::TestP => self.testp.map(TestP::word),
            Kind::MatrixShape => self.shape.map(MatrixShape::word),
            Kind::MatrixTypes => self.elements.map(MatrixTypes::word),
            Kind::MatrixRole => self.role.map(MatrixRole::word),
            Kind::MatrixLayout => self.layout.map(MatrixLayout::word),
        }
    }

    /// Sets the modifier of one kind by its word. `false` if the kind has no such word.
    pub fn set_word(&mut self, kind: Kind, word: &str) -> bool {
        fn put<T>(field: &mut Option<T>, value: Option<T>) -> bool {
            let known = value.is_some();
            if known {
                *field = value;
            }
            known
        }
        let by_word = |words: &[&'static str]| words.iter().position(|&w| w == word);
        match kind {
            Kind::Rounding => put(&mut self.rounding, Rounding::from_word(word)),
            Kind::Precision => put(&mut self.precision, Precision::from_word(word)),
            Kind::Cmp => put(&mut self.cmp, Cmp::from_word(word)),
            Kind::BoolOp => put(&mut self.bool_op, BoolOp::from_word(word)),
            Kind::AtomOp => put(&mut self.atom, AtomOp::from_word(word)),
            Kind::Shuffle => put(&mut self.shuffle, Shuffle::from_word(word)),
            Kind::Vote => put(&mut self.vote, Vote::from_word(word)),
            Kind::Barrier => put(&mut self.barrier, Barrier::from_word(word)),
            Kind::Prmt => put(&mut self.prmt, PrmtMode::from_word(word)),
            Kind::TestP => put(&mut self.testp, TestP::from_word(word)),
            Kind::MatrixShape => put(&mut self.shape, MatrixShape::from_word(word)),
            Kind::MatrixTypes => put(&mut self.elements, MatrixTypes::from_word(word)),
            Kind::MatrixRole => put(&mut self.role, MatrixRole::from_word(word)),
            Kind::MatrixLayout => put(&mut self.layout, MatrixLayout::from_word(word)),
            Kind::Space => {
                put(&mut self.space, by_word(&SPACES.map(space_word)).map(|i| SPACES[i]))
            }
            Kind::Order => {
                put(&mut self.order, by_word(&ORDERS.map(order_word)).map(|i| ORDERS[i]))
            }
            Kind::Scope => {
                put(&mut self.scope, by_word(&SCOPES.map(scope_word)).map(|i| SCOPES[i]))
            }
        }
    }
}

const SPACES: [Space; 6] =
    [Space::Generic, Space::Global, Space::Const, Space::Shared, Space::Local, Space::Param];
const ORDERS: [Order; 7] = [
    Order::Weak,
    Order::Volatile,
    Order::Relaxed,
    Order::Acquire,
    Order::Release,
    Order::AcqRel,
    Order::SeqCst,
];
const SCOPES: [Scope; 4] = [Scope::Cta, Scope::Cluster, Scope::Gpu, Scope::Sys];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_sets_what_it_spells() {
        let mut mods = Mods::default();
        for (kind, word) in [
            (Kind::Rounding, "rzi"),
            (Kind::Space, "shared"),
            (Kind::Order, "acq_rel"),
            (Kind::Cmp, "isnan"),
        ] {
            assert!(mods.set_word(kind, word));
            assert_eq!(mods.word(kind), Some(word));
        }
        assert!(!mods.set_word(Kind::Scope, "shared"));
    }
}
