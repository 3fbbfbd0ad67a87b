//! The generators of bits, one file each, with the ways in which the device interface skips ahead.

mod mrg32k3a;
mod mt19937;
mod philox;
pub mod sobol;
mod xorwow;

pub use mrg32k3a::Mrg32k3a;
pub use mt19937::Mt19937;
pub use philox::philox4x32_10;
pub use xorwow::Xorwow;
