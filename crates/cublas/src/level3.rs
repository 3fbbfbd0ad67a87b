//! Matrices.

use culibs::dtype::Param;
use culibs::{DataType, Outcome};
use linalg::{Matrix, Op, Triangle, hermitian_full, product, solve_triangular, triangular_full};

use crate::handle::Handle;
use operands::{Blas, Dense, Vector};

/// `c = alpha op(a) op(b) + beta c`; this is work.
pub(crate) fn gemm_now<T: Blas>(
    alpha: T,
    (a, op_a): (Dense, Op),
    (b, op_b): (Dense, Op),
    beta: T,
    c: Dense,
) -> Outcome {
    if c.rows == 0 || c.cols == 0 {
        return Ok(());
    }
    let mut sum: Matrix<T> = c.read_scaled(beta)?;
    if alpha == T::zero() || a.rows == 0 || a.cols == 0 {
        for x in &mut sum.data {
            *x *= beta;
        }
    } else {
        let (a, b): (Matrix<T>, Matrix<T>) = (a.read()?, b.read()?);
        product(alpha, (&a, op_a), (&b, op_b), beta, &mut sum);
    }
    c.write(&sum)
}

/// `c = alpha op(a) op(b) + beta c`.
pub(crate) fn gemm<T: Blas>(
    h: &Handle,
    alpha: Param<T>,
    a: (Dense, Op),
    b: (Dense, Op),
    beta: Param<T>,
    c: Dense,
) -> Outcome {
    h.submit(move || gemm_now(alpha.get()?, a, b, beta.get()?, c))
}

/// A half of a result, symmetric, or Hermitian if `conj`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Half {
    pub(crate) c: Dense,
    pub(crate) half: Triangle,
    pub(crate) conj: bool,
}

impl Half {
    /// Returns the operations on the factors of `op(a) op(a)^T`, or of `op(a) op(a)*`.
    fn ops(&self, op: Op) -> (Op, Op) {
        let turned = if self.conj { Op::Adjoint } else { Op::Transpose };
        if op == Op::None { (Op::None, turned) } else { (turned, Op::None) }
    }

    /// Writes the half of `change + beta c`; this is work.
    fn add<T: Blas>(&self, change: &Matrix<T>, beta: T) -> Outcome {
        // The other half is left alone.
        let mut sum: Matrix<T> = self.c.read()?;
        for j in 0..sum.cols {
            for i in self.half.rows(sum.rows, j) {
                let old = if beta == T::zero() { T::zero() } else { beta * sum[(i, j)] };
                let new = change[(i, j)] + old;
                sum[(i, j)] = if self.conj && i == j { T::from_real(new.re()) } else { new };
            }
        }
        self.c.write(&sum)
    }
}

/// `c = alpha op(a) op(a)^T + beta c`.
pub(crate) fn syrk<T: Blas>(
    h: &Handle,
    alpha: Param<T>,
    (a, op): (Dense, Op),
    beta: Param<T>,
    c: Half,
) -> Outcome {
    syrkx(h, alpha, (a, a, op), beta, c)
}

/// `c = alpha op(a) op(b)^T + beta c`.
pub(crate) fn syrkx<T: Blas>(
    h: &Handle,
    alpha: Param<T>,
    (a, b, op): (Dense, Dense, Op),
    beta: Param<T>,
    c: Half,
) -> Outcome {
    h.submit(move || {
        let (alpha, beta) = (alpha.get()?, beta.get()?);
        let n = c.c.rows;
        if n == 0 {
            return Ok(());
        }
        let mut change: Matrix<T> = c.c.zeros()?;
        if alpha != T::zero() {
            let (left, right) = c.ops(op);
            let (a, b): (Matrix<T>, Matrix<T>) = (a.read()?, b.read()?);
            product(alpha, (&a, left), (&b, right), T::zero(), &mut change);
        }
        c.add(&change, beta)
    })
}

/// `c = alpha op(a) op(b)^T + alpha op(b) op(a)^T + beta c`, the second with `conj(alpha)` and
/// adjoints of a Hermitian `c`.
pub(crate) fn syr2k<T: Blas>(
    h: &Handle,
    alpha: Param<T>,
    (a, b, op): (Dense, Dense, Op),
    beta: Param<T>,
    c: Half,
) -> Outcome {
    h.submit(move || {
        let (alpha, beta) = (alpha.get()?, beta.get()?);
        let n = c.c.rows;
        if n == 0 {
            return Ok(());
        }
        let mut change: Matrix<T> = c.c.zeros()?;
        if alpha != T::zero() {
            let (left, right) = c.ops(op);
            let (a, b): (Matrix<T>, Matrix<T>) = (a.read()?, b.read()?);
            product(alpha, (&a, left), (&b, right), T::zero(), &mut change);
            let second = if c.conj { alpha.conj() } else { alpha };
            product(second, (&b, left), (&a, right), T::one(), &mut change);
        }
        c.add(&change, beta)
    })
}

/// A matrix of which a half is stored, on the left or the right of a product.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sided {
    pub(crate) a: Dense,
    pub(crate) half: Triangle,
    pub(crate) right: bool,
}

/// `c = alpha a b + beta c` or `alpha b a + beta c`, for a symmetric `a`, or a Hermitian one if
/// `conj`.
pub(crate) fn symm<T: Blas>(
    h: &Handle,
    alpha: Param<T>,
    (sided, conj): (Sided, bool),
    b: Dense,
    beta: Param<T>,
    c: Dense,
) -> Outcome {
    h.submit(move || {
        let (alpha, beta) = (alpha.get()?, beta.get()?);
        if c.rows == 0 || c.cols == 0 {
            return Ok(());
        }
        let mut sum: Matrix<T> = c.read_scaled(beta)?;
        if alpha == T::zero() {
            for x in &mut sum.data {
                *x *= beta;
            }
            return c.write(&sum);
        }
        let a = hermitian_full(&sided.a.read::<T>()?, sided.half, conj);
        let b: Matrix<T> = b.read()?;
        let (left, right) = if sided.right { (&b, &a) } else { (&a, &b) };
        product(alpha, (left, Op::None), (right, Op::None), beta, &mut sum);
        c.write(&sum)
    })
}

/// `c = alpha op(a) b` or `alpha b op(a)`, for a triangular `a`.
pub(crate) fn trmm<T: Blas>(
    h: &Handle,
    alpha: Param<T>,
    (sided, op, unit): (Sided, Op, bool),
    b: Dense,
    c: Dense,
) -> Outcome {
    h.submit(move || {
        let alpha = alpha.get()?;
        if c.rows == 0 || c.cols == 0 {
            return Ok(());
        }
        let mut out: Matrix<T> = c.zeros()?;
        if alpha != T::zero() {
            let a = triangular_full(&sided.a.read::<T>()?, sided.half, unit);
            let b: Matrix<T> = b.read()?;
            let (left, right) =
                if sided.right { ((&b, Op::None), (&a, op)) } else { ((&a, op), (&b, Op::None)) };
            product(alpha, left, right, T::zero(), &mut out);
        }
        c.write(&out)
    })
}

/// Solves `op(a) x = alpha b` or `x op(a) = alpha b` in place, for a triangular `a`; this is work.
pub(crate) fn trsm_now<T: Blas>(
    alpha: T,
    (sided, op, unit): (Sided, Op, bool),
    b: Dense,
) -> Outcome {
    if b.rows == 0 || b.cols == 0 {
        return Ok(());
    }
    let mut x: Matrix<T> = b.read_scaled(alpha)?;
    if alpha != T::zero() {
        for x in &mut x.data {
            *x *= alpha;
        }
        let a: Matrix<T> = sided.a.read()?;
        if sided.right {
            // x op(a) = b is op(a)^T x^T = b^T; of an adjoint, a is conjugated first.
            let (a, turned) = match op {
                Op::None => (a, Op::Transpose),
                Op::Transpose => (a, Op::None),
                Op::Adjoint => (conjugate(a), Op::None),
            };
            let mut turned_x = x.op(Op::Transpose);
            solve_triangular(&a, sided.half, turned, unit, &mut turned_x);
            x = turned_x.op(Op::Transpose);
        } else {
            solve_triangular(&a, sided.half, op, unit, &mut x);
        }
    }
    b.write(&x)
}

fn conjugate<T: Blas>(mut a: Matrix<T>) -> Matrix<T> {
    for x in &mut a.data {
        *x = x.conj();
    }
    a
}

/// Solves `op(a) x = alpha b` or `x op(a) = alpha b` in place, for a triangular `a`.
pub(crate) fn trsm<T: Blas>(
    h: &Handle,
    alpha: Param<T>,
    a: (Sided, Op, bool),
    b: Dense,
) -> Outcome {
    h.submit(move || trsm_now(alpha.get()?, a, b))
}

/// `c = alpha op(a) + beta op(b)`. A factor of zero leaves its matrix out, whatever is in it.
pub(crate) fn geam<T: Blas>(
    h: &Handle,
    alpha: Param<T>,
    (a, op_a): (Dense, Op),
    beta: Param<T>,
    (b, op_b): (Dense, Op),
    c: Dense,
) -> Outcome {
    h.submit(move || {
        if c.rows == 0 || c.cols == 0 {
            return Ok(());
        }
        let mut sum: Matrix<T> = c.zeros()?;
        for (factor, m, op) in [(alpha.get()?, a, op_a), (beta.get()?, b, op_b)] {
            if factor == T::zero() {
                continue;
            }
            let m = m.read::<T>()?.op(op);
            for (s, x) in sum.data.iter_mut().zip(m.data) {
                *s += factor * x;
            }
        }
        c.write(&sum)
    })
}

/// `c = a diag(x)`, or `diag(x) a` unless `right`.
pub(crate) fn dgmm<T: Blas>(h: &Handle, a: Dense, right: bool, x: Vector, c: Dense) -> Outcome {
    h.submit(move || {
        if c.rows == 0 || c.cols == 0 {
            return Ok(());
        }
        let (mut out, x): (Matrix<T>, Vec<T>) = (a.read()?, x.read()?);
        for j in 0..out.cols {
            for (i, value) in out.col_mut(j).iter_mut().enumerate() {
                *value *= x[if right { j } else { i }];
            }
        }
        c.write(&out)
    })
}

/// Copies a half between packed storage and a matrix.
pub(crate) fn packed<T: Blas>(
    h: &Handle,
    half: Triangle,
    packed: u64,
    a: Dense,
    unpack: bool,
) -> Outcome {
    let n = a.rows;
    h.submit(move || {
        // Read first: then the length fits.
        let mut matrix: Matrix<T> = a.read()?;
        let len = n * (n + 1) / 2;
        let rows = culibs::device::Rows::flat(packed, len);
        let dtype: DataType = T::TYPE;
        let mut list: Vec<T> = if unpack { dtype.read(rows)? } else { vec![T::zero(); len] };
        let mut at = 0;
        for j in 0..n {
            for i in half.rows(n, j) {
                if unpack {
                    matrix[(i, j)] = list[at];
                } else {
                    list[at] = matrix[(i, j)];
                }
                at += 1;
            }
        }
        if unpack { a.write(&matrix) } else { dtype.write(rows, &list) }
    })
}
