//! Shared by comparisons of engines: random kernels, their launches, and the exact engine's
//! outcome.

pub(crate) mod both;
pub(crate) mod calls;
pub(crate) mod elements;
pub(crate) mod kernels;
pub(crate) mod launches;
pub(crate) mod observed;
pub(crate) mod resumed;
pub(crate) mod spins;
