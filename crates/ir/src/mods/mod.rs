//! Modifiers: what refines an operation.
//!
//! A kind of modifier is one row of `modifiers!`, and an instruction has at most one modifier of
//! each kind. The values of a kind are an enum whose words are its spellings in the text form. The
//! row yields the field of [`Mods`], the [`Kind`], the reader and the writer of its word, its words
//! and its table on the reference page, and its name in messages. The table of operations says
//! which kinds an operation takes. Flags are separate: an instruction has any number of them.

mod flags;
mod values;

pub use flags::Flags;
pub use simt::arith::int::PermuteMode;
pub use simt::observe::{Order, Scope, Space};
pub use values::{
    AtomOp, Barrier, BoolOp, Bounds, Bulk, Cmp, Component, Flag, Geometry, LevelMode, MatrixLayout,
    MatrixRole, MatrixShape, MatrixTypes, Precision, Proxy, Query, Rounding, Shuffle, TensorMode,
    TestP, TileFormat, Vote,
};

macro_rules! modifiers {
    ($( $kind:ident $heading:literal $field:ident: $values:ident $what:literal; )+) => {
        /// The modifiers of one instruction.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[expect(missing_docs, reason = "each field is the kind of its type")]
        pub struct Mods { $(pub $field: Option<$values>,)+ pub flags: Flags }

        /// One kind of modifier.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[expect(missing_docs, reason = "each variant is the kind of its name")]
        pub enum Kind { $($kind),+ }

        impl Kind {
            /// All kinds, in the order in which the text form writes them.
            pub const ALL: &'static [Self] = &[$(Self::$kind),+];

            /// The word that stands for it in the forms of the reference page.
            #[must_use]
            pub const fn heading(self) -> &'static str {
                match self { $(Self::$kind => $heading),+ }
            }

            /// Its name in messages: what an instruction without it lacks.
            #[must_use]
            pub const fn what(self) -> &'static str {
                match self { $(Self::$kind => $what),+ }
            }

            /// Its words in the text form.
            #[must_use]
            pub const fn words(self) -> &'static [&'static str] {
                match self { $(Self::$kind => $values::WORDS),+ }
            }

            /// Its words with their meanings.
            #[must_use]
            pub fn meanings(self) -> Vec<(&'static str, &'static str)> {
                match self {
                    $(Self::$kind => $values::ALL.iter().map(|v| (v.word(), v.doc())).collect()),+
                }
            }
        }

        impl Mods {
            /// The word of the modifier of one kind, if the instruction has it.
            #[must_use]
            pub fn word(&self, kind: Kind) -> Option<&'static str> {
                match kind { $(Kind::$kind => self.$field.map($values::word)),+ }
            }

            /// Sets the modifier of one kind by its word. `false` if the kind has no such word.
            pub fn set_word(&mut self, kind: Kind, word: &str) -> bool {
                match kind { $(Kind::$kind => put(&mut self.$field, $values::from_word(word))),+ }
            }
        }
    };
}

// Kind, word on the reference page, field, values, name in messages; in the order of the text form.
modifiers! {
    MatrixRole "MATRIX" role: MatrixRole "which matrix it is";
    MatrixShape "SHAPE" shape: MatrixShape "the sizes of a matrix product";
    MatrixTypes "ELEMENTS" elements: MatrixTypes "what the elements of matrices are";
    TileFormat "TILE" tile: TileFormat "the width of elements: `.bits8`, `.bits6` or `.bits4`";
    MatrixLayout "LAYOUT" layout: MatrixLayout "how a matrix is stored";
    Cmp "CMP" cmp: Cmp "a comparison such as `.eq`";
    BoolOp "BOOL" bool_op: BoolOp "`.and`, `.or` or `.xor`";
    Shuffle "MODE" shuffle: Shuffle "a shuffle mode such as `.idx`";
    Vote "VOTE" vote: Vote "a vote such as `.all`";
    Barrier "BARRIER" barrier: Barrier "what the barrier does";
    Bulk "BULK" bulk: Bulk "from where to where it copies";
    Tensor "TENSOR" tensor: TensorMode "how a tensor copy takes elements from the tensor";
    Lod "LOD" lod: LevelMode "`.base`, `.level` or `.grad`";
    Component "COMPONENT" component: Component "a component: `.r`, `.g`, `.b` or `.a`";
    Geometry "GEOMETRY" geometry: Geometry "a geometry such as `.2d`";
    Bounds "BOUNDS" bounds: Bounds "`.trap`, `.clamp` or `.zero`";
    Query "QUERY" query: Query "what is asked, such as `.width`";
    Permute "PICK" permute: PermuteMode "a byte-selection mode";
    TestP "PROPERTY" testp: TestP "a property such as `.finite`";
    AtomOp "OP" atom: AtomOp "an operation such as `.add`";
    Precision "PRECISION" precision: Precision "a precision";
    Rounding "ROUND" rounding: Rounding "a rounding mode";
    Proxy "PROXY" proxy: Proxy "a proxy";
    Order "ORDER" order: Order "a memory order";
    Scope "SCOPE" scope: Scope "a scope";
    Space "SPACE" space: Space "an address space";
}

const _: () = assert!(Kind::ALL.len() <= 32, "kinds fit a set");

/// Sets a modifier to a known value; returns whether it is known.
fn put<T>(field: &mut Option<T>, value: Option<T>) -> bool {
    let known = value.is_some();
    if known {
        *field = value;
    }
    known
}

/// Kinds of modifiers, as a set; flags are apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kinds(u32);

impl Kinds {
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

    /// The kinds of the set, in the order in which the text form writes them.
    pub fn iter(self) -> impl Iterator<Item = Kind> {
        Kind::ALL.iter().copied().filter(move |&k| self.has(k))
    }
}
