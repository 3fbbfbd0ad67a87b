//! Products of matrices: those of a warp (`mma`, `wmma`) and of a warp group (`wgmma`), dense and
//! sparse, in one place for all engines.
//!
//! [`simt::matrix`] defines where elements are and what a product is, element by element; it is
//! the *model*. [`Multiply`] and [`GroupMultiply`] compute the same bits many elements at a time,
//! at a [`Level`] of vector instructions that the host has, and leave to the model what they do not
//! have. How products are added is [`simt::matrix::MatrixSums`]: every rule has its scalar
//! definition there.
//!
//! Factors are *tiles*: eight lines, rows of A or columns of B, of 16 bytes along the depth. A
//! register of a fragment is a tile, and so are eight 16-byte units of shared memory, of a matrix
//! that is stored along the depth.

mod chains;
mod doubles;
mod floats;
mod group;
mod integers;
mod level;
mod multiply;
mod permute;
mod sparse;
mod sums;
mod sums_of_doubles;
mod terms;
mod tiles;
#[cfg(target_arch = "x86_64")]
mod vectors;

pub use group::{Factors, GroupMultiply, Tile};
pub use level::{Level, at, wide};
pub use multiply::{Multiply, RESULTS};
pub use permute::transposed_halves;
