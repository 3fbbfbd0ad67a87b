//! Lane arithmetic: what an instruction does to the lanes that are on.
//!
//! Pure functions of one lane's operands, shared by every machine; machines differ by parameters,
//! never by copies. Values travel as `u64` carriers: the encoding in the low bits, operand bits
//! above it ignored, result bits above it zero.
//!
//! | module | what |
//! |---|---|
//! | [`int`] | integers of 8 to 64 bits: arithmetic, shifts, bit fields, permutes |
//! | [`float`] | floating point without flags, fast where the host is exact |
//! | [`soft`] | floating point with flags, exact, in integers: the reference |
//! | [`approx`] | the approximate functions of PTX |
//! | [`lanes`] | applying any of these to the lanes of a mask |
//!
//! ```
//! use simt::arith::{F32, Flags, FpEnv, Rounding, float, int, soft};
//!
//! let (one, three) = (float::f32_bits(1.0), float::f32_bits(3.0));
//! assert_eq!(float::f32_value(float::div::<F32>(one, three, FpEnv::PTX)), 1.0 / 3.0);
//!
//! let down = FpEnv::RISCV.with_rounding(Rounding::TowardZero);
//! let (third, flags) = soft::div::<F32>(one, three, down);
//! assert_eq!((third, flags), (0x3eaa_aaaa, Flags::NX));
//!
//! assert_eq!(int::mul_hi::<i32>(0xffff_ffff, 2), 0xffff_ffff);
//! ```

pub mod approx;
mod compare;
mod env;
mod fast;
pub mod float;
mod format;
pub mod int;
pub mod lanes;
pub mod soft;

pub use compare::{Cmp, Relation};
pub use env::{Flags, FpEnv, NanRule, Rounding};
pub use format::{BF16, E4M3, E5M2, F16, F32, F64, Format, Native, TF32};
