//! Lane arithmetic against independent sources: `rustc_apfloat` for IEEE operations, exact squaring for square roots,
//! wider integers for integers, `libm` for the approximate functions.

mod float_ops;
mod sample;
