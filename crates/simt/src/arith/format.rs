//! Binary floating-point formats.
//!
//! A [`Format`] is a marker type; a value of it is its encoding in the low bits of a `u64`. Every
//! function of this module tree ignores the bits above the format in its operands and leaves them
//! zero in its results.

/// A method of computing a format with the host's own `f32` and `f64` in round-to-nearest-even.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Native {
    /// Not at all: always the exact integer implementation.
    No,
    /// It is binary32.
    Single,
    /// It is binary64.
    Double,
    /// Its operations can be done in binary64 and rounded once more: with `p` digits, `2p + 2 <=
    /// 53` makes the double rounding of sums, products, quotients and square roots harmless
    /// (Figueroa, 1995), and its numbers are all binary32 numbers.
    ViaDouble,
}

/// A binary floating-point format of at most 64 bits.
///
/// Encoding: sign, biased exponent, fraction, then [`Format::PAD_BITS`] bits that are ignored on
/// input and zero on output.
pub trait Format: Copy + Send + Sync + 'static + sealed::Sealed {
    /// PTX name of the type.
    const NAME: &'static str;
    /// Width of the exponent field.
    const EXPONENT_BITS: u32;
    /// Width of the fraction field.
    const FRACTION_BITS: u32;
    /// Whether the all-ones exponent encodes infinities and NaNs. If not, it encodes normal
    /// numbers, except for the all-ones magnitude, which is the only NaN.
    const HAS_INFINITY: bool = true;
    /// Unused low bits of the container.
    const PAD_BITS: u32 = 0;
    /// The host's method of computing in it.
    const NATIVE: Native = Native::No;

    /// Width of the encoding, padding included.
    const BITS: u32 = 1 + Self::EXPONENT_BITS + Self::FRACTION_BITS + Self::PAD_BITS;
    /// Significant digits, the implicit one included.
    const PRECISION: u32 = Self::FRACTION_BITS + 1;
    /// Exponent bias.
    const BIAS: i32 = (1 << (Self::EXPONENT_BITS - 1)) - 1;
    /// Exponent of the smallest normal number.
    const MIN_EXPONENT: i32 = 1 - Self::BIAS;
    /// Exponent of the largest finite number.
    const MAX_EXPONENT: i32 = Self::BIAS + if Self::HAS_INFINITY { 0 } else { 1 };
    /// The sign bit.
    const SIGN: u64 = 1 << (Self::BITS - 1);
    /// All bits below the sign, padding excluded.
    const MAGNITUDE: u64 = (Self::SIGN - 1) & !((1 << Self::PAD_BITS) - 1);
    /// The bits of the encoding, padding excluded.
    const MASK: u64 = Self::SIGN | Self::MAGNITUDE;
    /// Plus infinity; for a format without infinities, its NaN.
    const INFINITY: u64 = if Self::HAS_INFINITY {
        ((1 << Self::EXPONENT_BITS) - 1) << (Self::FRACTION_BITS + Self::PAD_BITS)
    } else {
        Self::MAGNITUDE
    };
    /// The largest finite number.
    const MAX_FINITE: u64 = Self::INFINITY - (1 << Self::PAD_BITS);
    /// The smallest positive normal number.
    const MIN_NORMAL: u64 = 1 << (Self::FRACTION_BITS + Self::PAD_BITS);
    /// One.
    const ONE: u64 = (Self::BIAS as u64) << (Self::FRACTION_BITS + Self::PAD_BITS);
    /// The bit that makes a NaN quiet; 0 for a format without infinities, whose one NaN is quiet.
    const QUIET: u64 = if Self::HAS_INFINITY { Self::MIN_NORMAL >> 1 } else { 0 };
    /// The canonical NaN of PTX.
    const PTX_NAN: u64 = Self::MAGNITUDE;
    /// The canonical NaN of RISC-V: positive, quiet, no payload.
    const RISCV_NAN: u64 = Self::INFINITY | Self::QUIET;

    /// Returns whether the encoding is a NaN.
    #[must_use]
    #[inline]
    fn is_nan(bits: u64) -> bool {
        let magnitude = bits & Self::MAGNITUDE;
        if Self::HAS_INFINITY { magnitude > Self::INFINITY } else { magnitude == Self::MAGNITUDE }
    }

    /// Returns whether the encoding is a signalling NaN.
    #[must_use]
    #[inline]
    fn is_signalling(bits: u64) -> bool {
        Self::HAS_INFINITY && Self::is_nan(bits) && bits & Self::QUIET == 0
    }

    /// Returns whether the encoding is an infinity.
    #[must_use]
    #[inline]
    fn is_infinite(bits: u64) -> bool {
        Self::HAS_INFINITY && bits & Self::MAGNITUDE == Self::INFINITY
    }

    /// Returns whether the encoding is a zero of either sign.
    #[must_use]
    #[inline]
    fn is_zero(bits: u64) -> bool {
        bits & Self::MAGNITUDE == 0
    }

    /// Returns whether the encoding is a subnormal number.
    #[must_use]
    #[inline]
    fn is_subnormal(bits: u64) -> bool {
        let magnitude = bits & Self::MAGNITUDE;
        magnitude != 0 && magnitude < Self::MIN_NORMAL
    }

    /// Returns whether the sign bit is set.
    #[must_use]
    #[inline]
    fn is_negative(bits: u64) -> bool {
        bits & Self::SIGN != 0
    }
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! format {
    ($(#[$doc:meta])* $name:ident, $ptx:literal, $exponent:literal, $fraction:literal
        $(, $key:ident = $value:expr)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $name {}
        impl sealed::Sealed for $name {}
        impl Format for $name {
            const NAME: &'static str = $ptx;
            const EXPONENT_BITS: u32 = $exponent;
            const FRACTION_BITS: u32 = $fraction;
            $(const $key: format!(@type $key) = $value;)*
        }
    };
    (@type NATIVE) => { Native };
    (@type HAS_INFINITY) => { bool };
    (@type PAD_BITS) => { u32 };
}

format!(
    /// IEEE 754 binary16.
    F16, "f16", 5, 10, NATIVE = Native::ViaDouble
);
format!(
    /// bfloat16: the upper half of a binary32.
    BF16, "bf16", 8, 7, NATIVE = Native::ViaDouble
);
format!(
    /// TensorFloat-32: the range of binary32 with 10 fraction bits, in a 32-bit container whose low
    /// 13 bits are unused.
    TF32, "tf32", 8, 10, PAD_BITS = 13
);
format!(
    /// IEEE 754 binary32.
    F32, "f32", 8, 23, NATIVE = Native::Single
);
format!(
    /// IEEE 754 binary64.
    F64, "f64", 11, 52, NATIVE = Native::Double
);
format!(
    /// OCP 8-bit float E4M3: no infinities, one NaN per sign, largest number 448.
    E4M3, "e4m3", 4, 3, HAS_INFINITY = false
);
format!(
    /// OCP 8-bit float E5M2: IEEE-like, largest number 57,344.
    E5M2, "e5m2", 5, 2
);
