//! What each level of vector instructions does in its own way.
//!
//! A row is some vectors, a mask some registers; how many and of which kind is the level's. An
//! operation without a pattern refuses the function.

use super::Mask;
use super::memory::{Fallback, Places};
use crate::vcode::{Block, Local, Mem, Pseudo, VReg, View};
use fast::Level;
use iced_x86::Code as Op;
use smallvec::SmallVec;
use vector::{Access, Extend, InstData, LaneOp, MaskOp, Type, Value};

/// A block with arguments.
pub(super) type To<'a> = (Block, &'a [VReg]);

/// Instructions on scalar floats, of 32 bits or of 64, in the low lanes of vectors.
pub(super) struct FloatCodes {
    /// From a general register, and to one.
    pub(super) into: Op,
    pub(super) out_of: Op,
    /// Compares a float with itself: parity is set for NaNs.
    pub(super) compare: Op,
    pub(super) add: Op,
    pub(super) sub: Op,
    pub(super) mul: Op,
    pub(super) div: Op,
    pub(super) sqrt: Op,
    /// `to = to * a + b`.
    pub(super) fma: Op,
}

/// See [`Codes::load_partial`]: the words, the address of lane 0's, the results.
pub(super) type LoadPartial = fn(&mut Pseudo<'_>, &Words, VReg, &[VReg]) -> bool;

/// See [`Codes::store_partial`]: the words, the address of lane 0's, the values, free registers.
pub(super) type StorePartial = fn(&mut Pseudo<'_>, &Words, VReg, &[VReg], [VReg; 3]);

/// Instructions on vectors, for lanes of one width. Shifts are by constants.
pub(super) struct LaneCodes {
    pub(super) and: Op,
    pub(super) or: Op,
    pub(super) add: Op,
    pub(super) sub: Op,
    pub(super) shift_left: Op,
    pub(super) shift_right: Op,
}

/// A comparison of a row of 32-bit numbers with a layout.
pub(super) struct Compared {
    pub(super) rows: SmallVec<[VReg; 4]>,
    /// Lane 0's number in all lanes of a vector.
    pub(super) first: VReg,
    /// The layout's address.
    pub(super) layout: VReg,
    pub(super) lanes: Mask,
    /// Free registers, as [`Codes::compare_temps`] has them, and constants of the level.
    pub(super) temps: SmallVec<[VReg; 6]>,
    pub(super) constants: Vec<Mem>,
}

/// Instructions of a level, and patterns that are parts of others.
pub(super) struct Codes {
    pub(super) level: Level,
    /// Registers of a row of 32-bit lanes, of one of 64-bit lanes, and of a mask.
    pub(super) row32: &'static [View],
    pub(super) row64: &'static [View],
    pub(super) mask: &'static [View],
    /// Bytes of a vector.
    pub(super) vector_bytes: i64,
    /// Loads a vector that is aligned, one that may not be, and stores one that is aligned.
    pub(super) load: Op,
    pub(super) load_unaligned: Op,
    pub(super) store: Op,
    /// Loads a word of 32 bits, of 64 bits, into all lanes of a vector.
    pub(super) splat: [Op; 2],
    /// Operations on vectors of 32-bit lanes, and of 64-bit lanes.
    pub(super) lanes: [LaneCodes; 2],
    /// The bytes of each 16 by the numbers in others.
    pub(super) shuffle: Op,
    /// Floats of 32 bits, of 64 bits.
    pub(super) single: FloatCodes,
    pub(super) double: FloatCodes,
    /// The scalar zero in a vector, and integers of 64 bits, of 32 bits, as single precision.
    pub(super) zero: Op,
    pub(super) float_of_long: Op,
    pub(super) float_of_int: Op,
    /// Puts the lanes of a mask into a general register; the last one is free.
    pub(super) bits_to: fn(&mut Pseudo<'_>, &[VReg], VReg, VReg),
    /// Puts a word in a general register into all lanes of a vector; whether it has 64 bits.
    pub(super) splat_to: fn(&mut Pseudo<'_>, VReg, VReg, bool),
    /// Loads contiguous words: the address of lane 0's, and the results. All are in bounds.
    pub(super) load_words: fn(&mut Pseudo<'_>, &Words, VReg, &[VReg]),
    /// Loads those of the lanes that are on, if [`Self::load_words`] would load others, too;
    /// returns whether it has a pattern.
    pub(super) load_partial: Option<LoadPartial>,
    /// Stores contiguous words of the lanes that are on, or goes to a label.
    pub(super) store_words: fn(&mut Pseudo<'_>, &Words, VReg, &[VReg], Local),
    /// What is at this label, with general registers that are free.
    pub(super) store_partial: Option<StorePartial>,
    /// Extends the 32-bit words in half of a vector to 64 bits, in place: whether it is the upper
    /// half, and whether the words have signs.
    pub(super) widen_half: fn(&mut Pseudo<'_>, VReg, bool, bool),
    /// Registers that [`Self::differs`] needs.
    pub(super) compare_temps: &'static [View],
    /// Goes to a label unless the numbers of the active lanes are as far from lane 0's as a layout
    /// says. The rows may be in memory.
    pub(super) differs: fn(&mut Pseudo<'_>, &Compared, Local),
}

/// What patterns of contiguous words need.
pub(super) struct Words {
    /// Bytes of a word, and how it is extended.
    pub(super) word: u8,
    pub(super) extend: Extend,
    /// Vectors of a row.
    pub(super) parts: usize,
    /// The lanes that are on, as the level wants them.
    pub(super) mask: SmallVec<[VReg; 4]>,
    pub(super) constants: Vec<Mem>,
}

impl Codes {
    /// Returns the registers of a value of a type.
    pub(super) fn views(&self, ty: Type) -> &'static [View] {
        match ty {
            Type::Scalar => &[View::R64],
            Type::Row32 => self.row32,
            Type::Row64 => self.row64,
            Type::Mask => self.mask,
        }
    }
}

/// Patterns of operations on rows.
pub(super) trait Rows {
    /// Returns a vector with a constant in all lanes.
    fn row_const(&mut self, bits: u64, wide: bool) -> VReg;

    /// Returns a scalar in all lanes of a vector.
    fn broadcast(&mut self, scalar: Value, wide: bool) -> VReg;

    /// An operation that computes lanes from lanes.
    fn operation(&mut self, data: &InstData);
}

/// Patterns of operations on the lanes of a warp together.
pub(super) trait Collectives {
    /// A constant of its own in each 32-bit lane.
    fn lane_const(&mut self, lanes: &[u32; 32], result: Option<Value>);

    /// The values of the lanes that the second row numbers.
    fn permute(&mut self, args: &[Value], result: Option<Value>);

    /// All lanes as one value.
    fn reduce(&mut self, op: LaneOp, row: Value, result: Option<Value>);

    /// The lanes of a mask with the same values of all rows, as bits.
    fn match_lanes(&mut self, args: &[Value], result: Option<Value>);
}

/// Patterns of comparisons and of masks.
pub(super) trait Masks {
    /// All lanes if the lowest bit of a scalar is set, else none.
    fn mask_of_bit(&mut self, scalar: VReg) -> Mask;

    /// Returns a constant mask.
    fn mask_const(&mut self, bits: u32) -> Mask;

    /// Returns the mask of lanes in a general register.
    fn mask_of(&mut self, bits: VReg) -> Mask;

    /// Returns a mask in memory.
    fn load_mask(&mut self, from: Mem) -> Mask;

    /// Returns the lanes of a mask in a general register.
    fn bits_of(&mut self, mask: Mask) -> VReg;

    /// Logic on masks; both operands of a complement are the same.
    fn mask_logic(&mut self, op: MaskOp, a: Mask, b: Mask) -> Mask;

    /// Branches on whether a mask has a lane.
    fn branch_on_any(&mut self, mask: Mask, yes: To<'_>, no: To<'_>);

    /// Compares scalars of single precision; the result is 0 or 1.
    fn scalar_float_test(&mut self, a: VReg, b: VReg, relation: i32) -> VReg;
}

/// Patterns of accesses to memory.
pub(super) trait Accesses {
    /// Returns what an access to contiguous words needs.
    fn words(&mut self, access: &Access, mask: Value) -> Words;

    /// Returns the constants of [`Codes::differs`].
    fn layout_constants(&mut self) -> Vec<Mem>;

    /// Loads words at any addresses.
    fn load_any(&mut self, access: &Access, args: &[Value], results: &[Value]);

    /// Stores words at any addresses.
    fn store_any(&mut self, access: &Access, args: &[Value]);

    /// Checks the words of an access at any addresses, and puts their places by lane into a part
    /// of the frame's room for lanes. If a check fails, the interpreter executes the step.
    fn places(
        &mut self,
        access: &Access,
        args: &[Value],
        fallback: Fallback,
        part: i64,
    ) -> Option<Places>;

    /// Returns a register that is 0 if accesses at rows of addresses are exempt from being logged,
    /// by the cell with this offset; `None` without a pattern.
    fn is_judged(&mut self, access: &Access, args: &[Value], cell: i64) -> Option<VReg>;

    /// Loads a vector that has just been written word by word.
    fn load_written(&mut self, from: Mem) -> VReg;
}

/// All patterns of a level.
pub(super) trait Patterns: Rows + Masks + Accesses + Collectives {}

impl<T: Rows + Masks + Accesses + Collectives> Patterns for T {}
