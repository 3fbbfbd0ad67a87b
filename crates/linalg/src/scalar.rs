//! The four types of BLAS.

use std::fmt::Debug;
use std::iter::Sum;

use bytemuck::Pod;
use num_complex::Complex;
use num_traits::{Float, NumAssign};

/// A complex number of two `f32`.
#[allow(non_camel_case_types, reason = "named like the real types")]
pub type c32 = Complex<f32>;
/// A complex number of two `f64`.
#[allow(non_camel_case_types, reason = "named like the real types")]
pub type c64 = Complex<f64>;

/// A real or complex number of BLAS: `f32`, `f64`, and complex numbers of both.
pub trait Scalar:
    Pod + NumAssign + std::ops::Neg<Output = Self> + Sum + Debug + PartialEq + Send + Sync + 'static
{
    /// The type of its parts.
    type Real: Real;
    /// Whether it is complex.
    const COMPLEX: bool;

    /// Returns a real number as one of this type.
    fn from_real(re: Self::Real) -> Self;
    /// Returns a number of its parts; a real one drops the imaginary part.
    fn from_parts(re: Self::Real, im: Self::Real) -> Self;
    /// The real part.
    fn re(self) -> Self::Real;
    /// The imaginary part.
    fn im(self) -> Self::Real;
    /// The complex conjugate.
    #[must_use]
    fn conj(self) -> Self;

    /// The absolute value, without overflow in between.
    fn modulus(self) -> Self::Real {
        if Self::COMPLEX { self.re().hypot(self.im()) } else { self.re().abs() }
    }

    /// The square of the absolute value.
    fn norm_sqr(self) -> Self::Real {
        self.re() * self.re() + self.im() * self.im()
    }

    /// The sum of the absolute values of its parts, BLAS's cheap norm.
    fn abs1(self) -> Self::Real {
        self.re().abs() + self.im().abs()
    }

    /// The product with a real number.
    #[must_use]
    fn scale(self, by: Self::Real) -> Self {
        Self::from_parts(self.re() * by, self.im() * by)
    }

    /// `matrixmultiply`'s product for this type.
    ///
    /// # Safety
    /// The strides and sizes lie within the memory at the pointers; `c` overlaps neither `a` nor
    /// `b`.
    #[allow(clippy::too_many_arguments, reason = "as many as a product has")]
    #[allow(unsafe_code, reason = "the callee's contract")]
    unsafe fn raw_gemm(
        size: [usize; 3],
        alpha: Self,
        a: (*const Self, isize, isize),
        b: (*const Self, isize, isize),
        beta: Self,
        c: (*mut Self, isize, isize),
    );
}

/// A real number of BLAS.
pub trait Real: Scalar<Real = Self> + Float {}

macro_rules! real {
    ($($ty:ty: $gemm:ident)+) => {$(
        impl Scalar for $ty {
            type Real = Self;
            const COMPLEX: bool = false;

            fn from_real(re: Self) -> Self {
                re
            }
            fn from_parts(re: Self, _: Self) -> Self {
                re
            }
            fn re(self) -> Self {
                self
            }
            fn im(self) -> Self {
                0.0
            }
            fn conj(self) -> Self {
                self
            }

            #[allow(unsafe_code, reason = "the callee's contract")]
            unsafe fn raw_gemm(
                [m, k, n]: [usize; 3],
                alpha: Self,
                (a, rsa, csa): (*const Self, isize, isize),
                (b, rsb, csb): (*const Self, isize, isize),
                beta: Self,
                (c, rsc, csc): (*mut Self, isize, isize),
            ) {
                // SAFETY: the caller's contract is the callee's.
                unsafe {
                    matrixmultiply::$gemm(
                        m, k, n, alpha, a, rsa, csa, b, rsb, csb, beta, c, rsc, csc,
                    );
                }
            }
        }

        impl Real for $ty {}
    )+};
}

real! { f32: sgemm f64: dgemm }

macro_rules! complex {
    ($($ty:ty: $gemm:ident)+) => {$(
        impl Scalar for Complex<$ty> {
            type Real = $ty;
            const COMPLEX: bool = true;

            fn from_real(re: $ty) -> Self {
                Self::new(re, 0.0)
            }
            fn from_parts(re: $ty, im: $ty) -> Self {
                Self::new(re, im)
            }
            fn re(self) -> $ty {
                self.re
            }
            fn im(self) -> $ty {
                self.im
            }
            fn conj(self) -> Self {
                Self::new(self.re, -self.im)
            }

            #[allow(unsafe_code, reason = "the callee's contract")]
            unsafe fn raw_gemm(
                [m, k, n]: [usize; 3],
                alpha: Self,
                (a, rsa, csa): (*const Self, isize, isize),
                (b, rsb, csb): (*const Self, isize, isize),
                beta: Self,
                (c, rsc, csc): (*mut Self, isize, isize),
            ) {
                use matrixmultiply::CGemmOption::Standard;
                let parts = |z: Self| [z.re, z.im];
                // SAFETY: the caller's contract is the callee's; a complex number is two adjacent
                // parts.
                unsafe {
                    matrixmultiply::$gemm(
                        Standard, Standard, m, k, n, parts(alpha), a.cast(), rsa, csa, b.cast(),
                        rsb, csb, parts(beta), c.cast(), rsc, csc,
                    );
                }
            }
        }
    )+};
}

complex! { f32: cgemm f64: zgemm }
