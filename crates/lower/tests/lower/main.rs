//! Tests of the lowerings.

mod bundled;
mod compilers;
mod kernels;
mod legal;
mod linx;
mod on_prf;
mod options;
mod page;
mod pmask;
mod prf;
mod programs;
mod refused;
