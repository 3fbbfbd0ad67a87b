//! The floating-point environment of one operation, and the exception flags that it raises.
//!
//! An environment is a small `Copy` value: the machine builds it once for an instruction (from
//! modifiers, a rounding field or a control register) and hands it to every lane. Nothing here is
//! global or sticky; a machine with sticky flags ORs the returned [`Flags`] of the lanes that are
//! on into its own register.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

/// How an inexact result is rounded (IEEE 754-2019, section 4.3).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Rounding {
    /// To nearest, ties to even: PTX `.rn`/`.rni`, RISC-V RNE.
    #[default]
    NearestEven,
    /// Toward zero: PTX `.rz`/`.rzi`, RISC-V RTZ.
    TowardZero,
    /// Toward minus infinity: PTX `.rm`/`.rmi`, RISC-V RDN.
    TowardNegative,
    /// Toward plus infinity: PTX `.rp`/`.rpi`, RISC-V RUP.
    TowardPositive,
    /// To nearest, ties away from zero: PTX `.rna`, RISC-V RMM.
    NearestAway,
}

impl Rounding {
    /// All modes, for tables and tests.
    pub const ALL: [Self; 5] = [
        Self::NearestEven,
        Self::TowardZero,
        Self::TowardNegative,
        Self::TowardPositive,
        Self::NearestAway,
    ];

    /// Returns whether a magnitude is incremented, given its sign, whether its last kept digit is
    /// odd, the first digit dropped (`half`) and whether any later one was set (`sticky`).
    #[inline]
    pub(crate) const fn increments(self, sign: bool, odd: bool, half: bool, sticky: bool) -> bool {
        match self {
            Self::NearestEven => half && (sticky || odd),
            Self::NearestAway => half,
            Self::TowardZero => false,
            Self::TowardNegative => sign && (half || sticky),
            Self::TowardPositive => !sign && (half || sticky),
        }
    }
}

/// The rule for the NaN that an arithmetic operation delivers.
///
/// Operations that only move bits (`neg`, `abs`, `copysign`) do not apply it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum NanRule {
    /// The canonical NaN of PTX: every bit but the sign set (`0x7fffffff`, `0x7fffffffffffffff`,
    /// `0x7fff`).
    #[default]
    Ptx,
    /// The canonical NaN of RISC-V: the positive quiet NaN without payload (`0x7fc00000`, ...).
    /// LinxISA uses it too.
    RiscV,
    /// The first operand that is a NaN, made quiet; the RISC-V canonical NaN where no operand was
    /// one.
    Propagate,
}

/// The parameters of one floating-point operation besides its operands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct FpEnv {
    /// Rounding of inexact results.
    pub rounding: Rounding,
    /// Flush to zero: subnormal operands are read as zero of their sign, subnormal results (after
    /// rounding) become zero of their sign. PTX `.ftz`.
    pub ftz: bool,
    /// The NaN delivered.
    pub nan: NanRule,
}

impl FpEnv {
    /// PTX default: nearest even, subnormals kept, canonical NaN.
    pub const PTX: Self = Self { rounding: Rounding::NearestEven, ftz: false, nan: NanRule::Ptx };

    /// RISC-V and LinxISA with the dynamic rounding mode at its reset value.
    pub const RISCV: Self =
        Self { rounding: Rounding::NearestEven, ftz: false, nan: NanRule::RiscV };

    /// The same environment with another rounding.
    #[must_use]
    pub const fn with_rounding(self, rounding: Rounding) -> Self {
        Self { rounding, ..self }
    }

    /// The same environment with flushing on or off.
    #[must_use]
    pub const fn with_ftz(self, ftz: bool) -> Self {
        Self { ftz, ..self }
    }

    /// The same environment with another NaN rule.
    #[must_use]
    pub const fn with_nan(self, nan: NanRule) -> Self {
        Self { nan, ..self }
    }
}

/// IEEE 754 exception flags, in the bit positions of the RISC-V `fflags` register.
///
/// Underflow follows the default (non-trapping) rule with tininess detected *after* rounding, as
/// RISC-V and x86 do: it is raised when the result is inexact and would be below the smallest
/// normal number even if the exponent range were unbounded. Flushing an operand raises nothing;
/// flushing a result raises underflow and inexact.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Flags(u8);

impl Flags {
    /// No exception.
    pub const NONE: Self = Self(0);
    /// Inexact.
    pub const NX: Self = Self(1);
    /// Underflow.
    pub const UF: Self = Self(2);
    /// Overflow.
    pub const OF: Self = Self(4);
    /// Division of a finite number by zero.
    pub const DZ: Self = Self(8);
    /// Invalid operation.
    pub const NV: Self = Self(16);

    /// The flags as `fflags` bits: NX 0, UF 1, OF 2, DZ 3, NV 4.
    #[must_use]
    #[inline]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Flags from `fflags` bits; higher bits are dropped.
    #[must_use]
    #[inline]
    pub const fn from_bits_truncate(bits: u8) -> Self {
        Self(bits & 0x1f)
    }

    /// Returns whether all of `other` are raised.
    #[must_use]
    #[inline]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns whether none is raised.
    #[must_use]
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The union.
    #[must_use]
    #[inline]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// `self` if `raised`, none otherwise.
    #[must_use]
    #[inline]
    pub const fn when(self, raised: bool) -> Self {
        if raised { self } else { Self::NONE }
    }
}

impl BitOr for Flags {
    type Output = Self;
    #[inline]
    fn bitor(self, rhs: Self) -> Self {
        self.union(rhs)
    }
}

impl BitOrAssign for Flags {
    #[inline]
    fn bitor_assign(&mut self, rhs: Self) {
        self.0 |= rhs.0;
    }
}

/// The raised flags, most severe first: `NV|NX`; `none` where there is none.
impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("none");
        }
        let names = [
            (Self::NV, "NV"),
            (Self::DZ, "DZ"),
            (Self::OF, "OF"),
            (Self::UF, "UF"),
            (Self::NX, "NX"),
        ];
        let mut separator = "";
        for (flag, name) in names {
            if self.contains(flag) {
                write!(f, "{separator}{name}")?;
                separator = "|";
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
