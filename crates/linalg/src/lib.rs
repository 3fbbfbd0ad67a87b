//! Dense linear algebra on host memory, as BLAS and LAPACK define it: products, triangular solves,
//! factorisations, eigenvalues and singular values, in four types ([`Scalar`]).
//!
//! Matrices are in column-major order without gaps ([`Matrix`]). Products are `matrixmultiply`'s;
//! the rest is loops over columns, in blocks where the time is in products. Results do not depend
//! on the host's number of threads.

mod cholesky;
mod eigen;
mod gemm;
mod general;
mod lu;
mod matrix;
mod qr;
mod scalar;
mod svd;
mod triangular;

pub use cholesky::cholesky;
pub use eigen::{Eigen, hermitian_eigen};
pub use gemm::{gemm, product};
pub use general::general_eigen;
pub use lu::{inverse_of_lu, lu, solve_lu};
pub use matrix::{Matrix, Op, Triangle, View, ViewMut};
pub use qr::{apply_q, form_q, qr};
pub use scalar::{Real, Scalar, c32, c64};
pub use svd::{Svd, residual, svd};
pub use triangular::{hermitian_full, solve_triangular, triangular_full};
