//! `libcurand.so.10`: the public cuRAND host interface (`curand.h`), computed on the host.
//!
//! Bits and uniform numbers of XORWOW, MRG32k3a and Philox4x32-10 are those of the device interface
//! (`curand_kernel.h`) in the order that the documentation calls legacy, which is the default, too.
//! MT19937 gives the sequence of its authors' program. Normal numbers follow the header's formulas
//! with logarithms, sines and cosines that are rounded once, so their last bits differ from a
//! device's fast ones. Poisson numbers are by Knuth's method for small means and by transformed
//! rejection for large ones.
//!
//! Sobol generators of 32 and 64 bits have the direction numbers of Joe and Kuo. Scrambled ones and
//! MTGP32 need tables that are not here: they are refused, and recorded in the driver's event log.

mod distribution;
#[doc(hidden)]
pub mod engine;
pub mod exports;
mod generator;
mod poisson;
mod quasi;
mod state;
mod status;

pub use status::{Curand, STATUSES};
