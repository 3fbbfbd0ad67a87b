//! `libcufft.so.11` and `.12`: the public cuFFT interface (`cufft.h`, `cufftXt.h`), computed on the
//! host by `rustfft`.
//!
//! Plans describe layouts; executing one reads the whole input, transforms it along each axis, and
//! writes the output, so that input and output may overlap. Numbers
//! of 16 bits are transformed in `f32`, and rounded once. Work areas are accepted and not used:
//! their size is 0.
//!
//! Callbacks and transforms on several devices are refused, and recorded in the driver's event log.

pub mod exports;
mod layout;
mod plan;
mod status;
mod transform;

pub use status::{Cufft, STATUSES};
