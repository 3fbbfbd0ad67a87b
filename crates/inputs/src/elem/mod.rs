//! Element types of buffers and scalars, and the text form of their values.
//!
//! A value is represented by its bit pattern in the low bits of a `u64`; bits above the type's
//! width are zero. Argument specifications, launch files and reports share the text forms.

mod literal;
#[cfg(test)]
mod tests;

use std::fmt;

use simt::arith::{BF16, F16, F64, FpEnv, NanRule, float};

pub use literal::{LiteralError, format_bits, parse_any_integer, parse_literal, shortened};

/// How values are rounded: to the nearest, ties to even; a NaN keeps its sign and the first bits of
/// its payload.
const ENV: FpEnv = FpEnv::PTX.with_nan(NanRule::Propagate);

/// The family of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElemKind {
    /// Unsigned integers, `u8` to `u64`.
    Unsigned,
    /// Two's complement integers, `s8` to `s64`.
    Signed,
    /// IEEE 754 binary formats and bfloat16.
    Float,
    /// Bits without a declared type, `b8` to `b64`.
    Bits,
}

macro_rules! elem_types {
    ($($variant:ident $name:literal $bytes:literal $kind:ident $doc:literal;)*) => {
        /// The type of one element, named as PTX names it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ElemType {
            $(#[doc = $doc] $variant,)*
        }

        impl ElemType {
            /// All types, in the order in which messages list them.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Returns the type's name in text.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// Returns the size in bytes: 1, 2, 4 or 8.
            #[must_use]
            pub const fn bytes(self) -> usize {
                match self { $(Self::$variant => $bytes,)* }
            }

            /// Returns the type's family.
            #[must_use]
            pub const fn kind(self) -> ElemKind {
                match self { $(Self::$variant => ElemKind::$kind,)* }
            }
        }
    };
}

elem_types! {
    U8 "u8" 1 Unsigned "Unsigned, 8 bits.";
    U16 "u16" 2 Unsigned "Unsigned, 16 bits.";
    U32 "u32" 4 Unsigned "Unsigned, 32 bits.";
    U64 "u64" 8 Unsigned "Unsigned, 64 bits.";
    S8 "s8" 1 Signed "Signed, 8 bits.";
    S16 "s16" 2 Signed "Signed, 16 bits.";
    S32 "s32" 4 Signed "Signed, 32 bits.";
    S64 "s64" 8 Signed "Signed, 64 bits.";
    F16 "f16" 2 Float "IEEE 754 binary16.";
    Bf16 "bf16" 2 Float "bfloat16: the upper half of a binary32.";
    F32 "f32" 4 Float "IEEE 754 binary32.";
    F64 "f64" 8 Float "IEEE 754 binary64.";
    B8 "b8" 1 Bits "Untyped, 8 bits.";
    B16 "b16" 2 Bits "Untyped, 16 bits.";
    B32 "b32" 4 Bits "Untyped, 32 bits.";
    B64 "b64" 8 Bits "Untyped, 64 bits.";
}

impl ElemType {
    /// Returns the type of this name, or of the name that Rust and LLVM give to a signed integer.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let other = match name {
            "i8" => Some(Self::S8),
            "i16" => Some(Self::S16),
            "i32" => Some(Self::S32),
            "i64" => Some(Self::S64),
            _ => None,
        };
        other.or_else(|| Self::ALL.iter().copied().find(|t| t.name() == name))
    }

    /// Returns the type that `name` denotes in other languages, for a suggestion.
    #[must_use]
    pub fn from_foreign_name(name: &str) -> Option<Self> {
        Some(match name {
            "int8" | "char" => Self::S8,
            "int16" | "short" => Self::S16,
            "int32" | "int" => Self::S32,
            "int64" | "long" => Self::S64,
            "uint8" | "byte" | "bool" => Self::U8,
            "uint16" => Self::U16,
            "uint32" | "uint" | "unsigned" => Self::U32,
            "uint64" | "size_t" | "ptr" | "usize" => Self::U64,
            "half" | "float16" => Self::F16,
            "bfloat16" => Self::Bf16,
            "float" | "float32" | "single" => Self::F32,
            "double" | "float64" => Self::F64,
            _ => return None,
        })
    }

    /// Returns the width in bits.
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.bytes() as u32 * 8
    }

    /// Returns a mask of the type's width.
    #[must_use]
    pub const fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }

    /// Returns the smallest and the largest value of an integer or untyped type, the latter as
    /// unsigned; `None` for floats.
    #[must_use]
    pub fn integer_range(self) -> Option<(i128, i128)> {
        match self.kind() {
            ElemKind::Unsigned | ElemKind::Bits => Some((0, i128::from(self.mask()))),
            ElemKind::Signed => Some((-(1 << (self.bits() - 1)), (1 << (self.bits() - 1)) - 1)),
            ElemKind::Float => None,
        }
    }

    /// Returns the bit pattern of an integer, wrapped to the type's width.
    #[must_use]
    pub const fn wrap(self, value: i128) -> u64 {
        value as u64 & self.mask()
    }

    /// Returns the bit pattern nearest to `value` (ties to even); `None` for types other than
    /// floats.
    #[must_use]
    pub fn round(self, value: f64) -> Option<u64> {
        Some(match self {
            Self::F16 => float::convert::<F64, F16>(value.to_bits(), ENV),
            Self::Bf16 => float::convert::<F64, BF16>(value.to_bits(), ENV),
            Self::F32 => u64::from((value as f32).to_bits()),
            Self::F64 => value.to_bits(),
            _ => return None,
        })
    }

    /// Returns the value of a float's bit pattern, which `f64` represents exactly; `None` for other
    /// types.
    #[must_use]
    pub fn to_f64(self, bits: u64) -> Option<f64> {
        Some(match self {
            Self::F16 => float::f64_value(float::convert::<F16, F64>(bits, ENV)),
            Self::Bf16 => float::f64_value(float::convert::<BF16, F64>(bits, ENV)),
            Self::F32 => f64::from(f32::from_bits(bits as u32)),
            Self::F64 => f64::from_bits(bits),
            _ => return None,
        })
    }

    /// Returns the value of an integer's bit pattern, with untyped ones as unsigned; `None` for
    /// floats.
    #[must_use]
    pub fn to_int(self, bits: u64) -> Option<i128> {
        let bits = bits & self.mask();
        match self.kind() {
            ElemKind::Unsigned | ElemKind::Bits => Some(i128::from(bits)),
            ElemKind::Signed => {
                let shift = 64 - self.bits();
                Some(i128::from((bits << shift) as i64 >> shift))
            }
            ElemKind::Float => None,
        }
    }

    /// Returns whether the bit pattern is a NaN of this type.
    #[must_use]
    pub fn is_nan(self, bits: u64) -> bool {
        self.to_f64(bits).is_some_and(f64::is_nan)
    }

    /// Returns the canonical quiet NaN: positive, with only the quiet bit of the payload set;
    /// `None` for types other than floats.
    #[must_use]
    pub const fn canonical_nan(self) -> Option<u64> {
        match self {
            Self::F16 => Some(0x7e00),
            Self::Bf16 => Some(0x7fc0),
            Self::F32 => Some(0x7fc0_0000),
            Self::F64 => Some(0x7ff8_0000_0000_0000),
            _ => None,
        }
    }

    /// Returns whether data stored as `stored` can be used as this type without change.
    ///
    /// Equal types can, and so can an untyped type and any other of its size. Unsigned 16-bit words
    /// also serve as `bf16`, because NumPy has no bfloat16; it stores such arrays as two untyped
    /// bytes.
    #[must_use]
    pub fn accepts(self, stored: Self) -> bool {
        let untyped = self.kind() == ElemKind::Bits || stored.kind() == ElemKind::Bits;
        self == stored
            || (untyped && self.bytes() == stored.bytes())
            || (self == Self::Bf16 && stored == Self::U16)
    }
}

impl fmt::Display for ElemType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One value with its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Scalar {
    /// Its type.
    pub ty: ElemType,
    /// Its bit pattern.
    pub bits: u64,
}

impl Scalar {
    /// Returns the value as in guest memory: little-endian, as many bytes as the type has.
    #[must_use]
    pub fn to_le_bytes(self) -> Vec<u8> {
        self.bits.to_le_bytes()[..self.ty.bytes()].to_vec()
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.ty, format_bits(self.ty, self.bits))
    }
}
