//! Matrices and vectors.

use culibs::device::{Rows, zeroed};
use culibs::dtype::Param;
use culibs::{DataType, Error, Outcome, size};
use linalg::{Matrix, Op, Triangle, product};

use crate::handle::Handle;
use operands::{Blas, Dense, Vector};

/// How a matrix is stored.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StorageKind {
    /// All elements, or one half of them.
    Full { ld: usize },
    /// Diagonals, as rows: `below` the main one and `above` it.
    Band { ld: usize, below: usize, above: usize },
    /// The columns of one half, one after another.
    Packed(Triangle),
}

/// A matrix in device memory of which not all elements are stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stored {
    at: u64,
    rows: usize,
    cols: usize,
    kind: StorageKind,
    dtype: DataType,
}

/// The same on the host.
struct Elements<T> {
    data: Vec<T>,
    matrix: Stored,
}

impl Stored {
    pub(crate) fn new(
        dtype: DataType,
        [rows, cols]: [usize; 2],
        at: u64,
        kind: StorageKind,
    ) -> Outcome<Self> {
        let needed = match kind {
            StorageKind::Full { .. } => rows.max(1),
            StorageKind::Band { below, above, .. } => size_of_band(below, above)?,
            StorageKind::Packed(_) => 0,
        };
        let (StorageKind::Full { ld } | StorageKind::Band { ld, .. }) = kind else {
            return if at == 0 && rows > 0 {
                Err(Error::InvalidValue)
            } else {
                Ok(Self { at, rows, cols, kind, dtype })
            };
        };
        if ld < needed || (at == 0 && rows > 0 && cols > 0) {
            return Err(Error::InvalidValue);
        }
        Ok(Self { at, rows, cols, kind, dtype })
    }

    fn memory(&self) -> Outcome<Rows> {
        Ok(match self.kind {
            StorageKind::Full { ld } => {
                Rows { at: self.at, width: self.rows, height: self.cols, pitch: ld }
            }
            StorageKind::Band { ld, below, above } => {
                let width = size_of_band(below, above)?;
                Rows { at: self.at, width, height: self.cols, pitch: ld }
            }
            StorageKind::Packed(_) => Rows::flat(self.at, size(&[self.rows, self.rows + 1])? / 2),
        })
    }

    fn read<T: Blas>(&self) -> Outcome<Elements<T>> {
        Ok(Elements { data: self.dtype.read(self.memory()?)?, matrix: *self })
    }

    fn write<T: Blas>(&self, elements: &Elements<T>) -> Outcome {
        self.dtype.write(self.memory()?, &elements.data)
    }
}

fn size_of_band(below: usize, above: usize) -> Outcome<usize> {
    below.checked_add(above).and_then(|n| n.checked_add(1)).ok_or(Error::InvalidValue)
}

impl<T: Blas> Elements<T> {
    /// The rows of a column that are stored.
    fn rows(&self, j: usize) -> std::ops::Range<usize> {
        let rows = self.matrix.rows;
        match self.matrix.kind {
            StorageKind::Full { .. } => 0..rows,
            StorageKind::Band { below, above, .. } => {
                let end = j.saturating_add(below).saturating_add(1).min(rows);
                j.saturating_sub(above).min(end)..end
            }
            StorageKind::Packed(half) => half.rows(rows, j),
        }
    }

    fn index(&self, i: usize, j: usize) -> usize {
        let rows = self.matrix.rows;
        match self.matrix.kind {
            StorageKind::Full { .. } => j * rows + i,
            StorageKind::Band { below, above, .. } => j * (below + above + 1) + above + i - j,
            StorageKind::Packed(Triangle::Upper) => j * (j + 1) / 2 + i,
            StorageKind::Packed(Triangle::Lower) => j * (2 * rows - j - 1) / 2 + i,
        }
    }

    fn get(&self, i: usize, j: usize) -> T {
        self.data[self.index(i, j)]
    }

    /// Adds `op(a) x` to a vector.
    fn multiply(&self, op: Op, x: &[T], out: &mut [T]) {
        for j in 0..self.matrix.cols {
            for i in self.rows(j) {
                let a = self.get(i, j);
                match op {
                    Op::None => out[i] += a * x[j],
                    Op::Transpose => out[j] += a * x[i],
                    Op::Adjoint => out[j] += a.conj() * x[i],
                }
            }
        }
    }

    /// Adds the product of a symmetric or Hermitian matrix, of which `half` is used.
    fn multiply_symmetric(&self, half: Triangle, conj: bool, x: &[T], out: &mut [T]) {
        for j in 0..self.matrix.cols {
            for i in self.rows(j).filter(|&i| half.has(i, j)) {
                let a = self.get(i, j);
                if i == j {
                    out[i] += if conj { x[i].scale(a.re()) } else { a * x[i] };
                } else {
                    out[i] += a * x[j];
                    out[j] += if conj { a.conj() } else { a } * x[i];
                }
            }
        }
    }

    /// Returns the product of a triangular matrix.
    fn multiply_triangular(&self, t: Triangular, x: &[T]) -> Outcome<Vec<T>> {
        let mut out = zeroed(x.len())?;
        for j in 0..self.matrix.cols {
            for i in self.rows(j).filter(|&i| t.half.has(i, j)) {
                let a = if i == j && t.unit { T::one() } else { self.get(i, j) };
                match t.op {
                    Op::None => out[i] += a * x[j],
                    Op::Transpose => out[j] += a * x[i],
                    Op::Adjoint => out[j] += a.conj() * x[i],
                }
            }
        }
        Ok(out)
    }

    /// Solves a triangular system in place.
    fn solve(&self, t: Triangular, x: &mut [T]) {
        let n = self.matrix.cols;
        let forward = (t.half == Triangle::Lower) == (t.op == Op::None);
        for step in 0..n {
            let j = if forward { step } else { n - 1 - step };
            let column = self.rows(j).filter(|&i| i != j && t.half.has(i, j));
            let diagonal = if t.unit { T::one() } else { self.get(j, j) };
            if t.op == Op::None {
                if x[j] == T::zero() {
                    continue;
                }
                x[j] /= diagonal;
                let by = x[j];
                for i in column {
                    x[i] -= by * self.get(i, j);
                }
            } else {
                let turn = |a: T| if t.op == Op::Adjoint { a.conj() } else { a };
                let mut sum = x[j];
                for i in column {
                    sum -= turn(self.get(i, j)) * x[i];
                }
                x[j] = sum / turn(diagonal);
            }
        }
    }
}

/// What is said of a triangular matrix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Triangular {
    pub(crate) half: Triangle,
    pub(crate) op: Op,
    pub(crate) unit: bool,
}

/// `y = alpha op(a) x + beta y` for a whole matrix; this is work.
pub(crate) fn gemv_now<T: Blas>(
    alpha: T,
    (a, op): (Dense, Op),
    x: Vector,
    beta: T,
    y: Vector,
) -> Outcome {
    let mut out = y.read_scaled(beta)?;
    if alpha == T::zero() {
        for y in &mut out {
            *y *= beta;
        }
        return y.write(out);
    }
    let a: Matrix<T> = a.read()?;
    let x = Matrix::new(x.len, 1, x.read()?);
    let mut sum = Matrix::new(out.len(), 1, std::mem::take(&mut out));
    product(alpha, (&a, op), (&x, Op::None), beta, &mut sum);
    y.write(sum.data)
}

/// `y = alpha op(a) x + beta y`.
pub(crate) fn gemv<T: Blas>(
    h: &Handle,
    alpha: Param<T>,
    a: (Dense, Op),
    x: Vector,
    beta: Param<T>,
    y: Vector,
) -> Outcome {
    if a.0.rows == 0 || a.0.cols == 0 {
        return Ok(());
    }
    h.submit(move || gemv_now(alpha.get()?, a, x, beta.get()?, y))
}

/// `y = alpha op(a) x + beta y` for a band matrix.
pub(crate) fn gbmv<T: Blas>(
    h: &Handle,
    alpha: Param<T>,
    (a, op): (Stored, Op),
    x: Vector,
    beta: Param<T>,
    y: Vector,
) -> Outcome {
    symmetric_or_band(h, alpha, a, x, beta, y, move |a, x, out| a.multiply(op, x, out))
}

/// `y = alpha a x + beta y` for a symmetric matrix, or a Hermitian one if `conj`.
pub(crate) fn symv<T: Blas>(
    h: &Handle,
    alpha: Param<T>,
    (a, half, conj): (Stored, Triangle, bool),
    x: Vector,
    beta: Param<T>,
    y: Vector,
) -> Outcome {
    symmetric_or_band(h, alpha, a, x, beta, y, move |a, x, out| {
        a.multiply_symmetric(half, conj, x, out);
    })
}

fn symmetric_or_band<T: Blas>(
    h: &Handle,
    alpha: Param<T>,
    a: Stored,
    x: Vector,
    beta: Param<T>,
    y: Vector,
    add: impl Fn(&Elements<T>, &[T], &mut [T]) + Send + Sync + 'static,
) -> Outcome {
    if a.rows == 0 || a.cols == 0 {
        return Ok(());
    }
    h.submit(move || {
        let (alpha, beta) = (alpha.get()?, beta.get()?);
        let mut out = y.read_scaled(beta)?;
        for y in &mut out {
            *y *= beta;
        }
        if alpha != T::zero() {
            let (a, x): (_, Vec<T>) = (a.read::<T>()?, x.read()?);
            let mut sum = zeroed(out.len())?;
            add(&a, &x, &mut sum);
            for (y, s) in out.iter_mut().zip(sum) {
                *y += alpha * s;
            }
        }
        y.write(out)
    })
}

/// `x = op(a) x` for a triangular matrix.
pub(crate) fn trmv<T: Blas>(h: &Handle, a: Stored, t: Triangular, x: Vector) -> Outcome {
    h.submit(move || {
        let (a, data): (_, Vec<T>) = (a.read::<T>()?, x.read()?);
        x.write(a.multiply_triangular(t, &data)?)
    })
}

/// Solves `op(a) x = b` for a triangular matrix.
pub(crate) fn trsv<T: Blas>(h: &Handle, a: Stored, t: Triangular, x: Vector) -> Outcome {
    h.submit(move || {
        let (a, mut data): (_, Vec<T>) = (a.read::<T>()?, x.read()?);
        a.solve(t, &mut data);
        x.write(data)
    })
}

/// `a += alpha x y^T`, or `alpha x y*` if `conj`.
pub(crate) fn ger<T: Blas>(
    h: &Handle,
    alpha: Param<T>,
    x: Vector,
    y: Vector,
    conj: bool,
    a: Dense,
) -> Outcome {
    if a.rows == 0 || a.cols == 0 {
        return Ok(());
    }
    h.submit(move || {
        let alpha = alpha.get()?;
        if alpha == T::zero() {
            return Ok(());
        }
        let (x, y): (Vec<T>, Vec<T>) = (x.read()?, y.read()?);
        let mut sum: Matrix<T> = a.read()?;
        for (j, y) in y.into_iter().enumerate() {
            let by = alpha * if conj { y.conj() } else { y };
            for (a, x) in sum.col_mut(j).iter_mut().zip(&x) {
                *a += *x * by;
            }
        }
        a.write(&sum)
    })
}

/// A half of a matrix that a product of vectors is added to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Update {
    pub(crate) a: Stored,
    pub(crate) half: Triangle,
    /// Whether the matrix is Hermitian rather than symmetric.
    pub(crate) conj: bool,
}

/// `a += alpha x x^T`, or `alpha x x*` of a Hermitian matrix.
pub(crate) fn syr<T: Blas>(h: &Handle, alpha: Param<T>, x: Vector, update: Update) -> Outcome {
    h.submit(move || {
        let alpha = alpha.get()?;
        let x: Vec<T> = x.read()?;
        change(update, alpha, |i, j| alpha * x[i] * if update.conj { x[j].conj() } else { x[j] })
    })
}

/// `a += alpha x y^T + alpha y x^T`, or `alpha x y* + conj(alpha) y x*` of a Hermitian matrix.
pub(crate) fn syr2<T: Blas>(
    h: &Handle,
    alpha: Param<T>,
    x: Vector,
    y: Vector,
    update: Update,
) -> Outcome {
    h.submit(move || {
        let alpha = alpha.get()?;
        let (x, y): (Vec<T>, Vec<T>) = (x.read()?, y.read()?);
        change(update, alpha, |i, j| match update.conj {
            true => alpha * x[i] * y[j].conj() + alpha.conj() * y[i] * x[j].conj(),
            false => alpha * (x[i] * y[j] + y[i] * x[j]),
        })
    })
}

fn change<T: Blas>(update: Update, alpha: T, by: impl Fn(usize, usize) -> T) -> Outcome {
    let Update { a, half, conj } = update;
    if alpha == T::zero() || a.rows == 0 {
        return Ok(());
    }
    let mut sum = a.read::<T>()?;
    for j in 0..a.cols {
        for i in half.rows(a.rows, j) {
            let at = sum.index(i, j);
            sum.data[at] += by(i, j);
            if conj && i == j {
                sum.data[at] = T::from_real(sum.data[at].re());
            }
        }
    }
    a.write(&sum)
}
