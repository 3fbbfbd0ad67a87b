//! Lane arithmetic against independent sources: `rustc_apfloat` for IEEE operations, exact squaring
//! for square roots, wider integers for integers, `libm` for the approximate functions.

mod approximate;
mod conversions;
mod float_ops;
mod ints;
mod lanes;
mod sample;
mod sqrt;
