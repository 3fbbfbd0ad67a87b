//! Products whose types are arguments.

use culibs::dtype::Param;
use culibs::{DataType, Error, Outcome, Ptr, count};
use linalg::{Matrix, Op, product};

use crate::batched::{self, Batch, Many};
use crate::checked::batches::Matrices;
use crate::handle::{Handle, get};
use operands::{Dense, dimensions, op, stored};

/// What a product is computed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compute {
    Single,
    Double,
    Integer,
}

/// Returns what `cublasComputeType_t` says: what to compute in, and whether scalars are halves.
fn compute(value: i32) -> Outcome<(Compute, bool)> {
    match value {
        64 | 65 => Ok((Compute::Single, true)),
        68 | 69 | 74 | 75 | 77 | 78 => Ok((Compute::Single, false)),
        70 | 71 | 79 => Ok((Compute::Double, false)),
        72 | 73 => Ok((Compute::Integer, false)),
        _ => Err(Error::InvalidValue),
    }
}

/// Returns the type of scalars, of the combinations of types that the documentation has.
fn scale_type(kind: i32, a: DataType, b: DataType, c: DataType) -> Outcome<DataType> {
    use DataType as D;
    let (kind, half) = compute(kind)?;
    if a != b {
        return Err(Error::NotSupported);
    }
    match (kind, a, c) {
        (Compute::Single, D::F16, D::F16) if half => Ok(D::F16),
        _ if half => Err(Error::NotSupported),
        (Compute::Single, D::F16, D::F16 | D::F32)
        | (Compute::Single, D::BF16, D::BF16 | D::F32)
        | (Compute::Single, D::I8 | D::F32, D::F32) => Ok(D::F32),
        (Compute::Single, D::CI8 | D::C32, D::C32) => Ok(D::C32),
        (Compute::Double, D::F64, D::F64) => Ok(D::F64),
        (Compute::Double, D::C64, D::C64) => Ok(D::C64),
        (Compute::Integer, D::I8, D::I32) => Ok(D::I32),
        _ => Err(Error::NotSupported),
    }
}

/// An operand: its matrices and its type.
pub(crate) type Operand = (Matrices, i32);

/// The arguments of a product of matrices.
pub(crate) struct Product {
    pub(crate) ops: [i32; 2],
    pub(crate) size: [i64; 3],
    pub(crate) alpha: Ptr,
    pub(crate) a: Operand,
    pub(crate) b: Operand,
    pub(crate) beta: Ptr,
    pub(crate) c: Operand,
    pub(crate) batch: i64,
}

impl Product {
    fn operands(&self) -> Outcome<(Many, Many, (Dense, Batch))> {
        let (op_a, op_b) = (op(self.ops[0])?, op(self.ops[1])?);
        let [m, n, k] = dimensions(self.size)?;
        let dtype = |operand: &Operand| DataType::of(operand.1);
        let (a, from_a) = self.a.0.of(dtype(&self.a)?, stored(op_a, m, k), self.batch)?;
        let (b, from_b) = self.b.0.of(dtype(&self.b)?, stored(op_b, k, n), self.batch)?;
        let c = self.c.0.of(dtype(&self.c)?, [m, n], self.batch)?;
        Ok(((a, op_a, from_a), (b, op_b, from_b), c))
    }

    fn run<T: operands::Blas>(&self, h: &Handle, scale: DataType) -> Outcome {
        let (a, b, c) = self.operands()?;
        let (alpha, beta) = (h.param_of(self.alpha, scale)?, h.param_of(self.beta, scale)?);
        batched::gemm::<T>(h, alpha, a, b, beta, c, self.batch)
    }

    /// Computes with integers: sums of products of bytes are exact in `f64`.
    fn run_integer(&self, h: &Handle) -> Outcome {
        let ((a, op_a, from_a), (b, op_b, from_b), (c, to)) = self.operands()?;
        let scalar = |at| h.param_of::<i32>(at, DataType::I32);
        let (alpha, beta): (Param<i32>, Param<i32>) = (scalar(self.alpha)?, scalar(self.beta)?);
        let batch = count(self.batch)?;
        h.submit(move || {
            if c.rows == 0 || c.cols == 0 || batch == 0 {
                return Ok(());
            }
            let (alpha, beta) = (i64::from(alpha.get()?), i64::from(beta.get()?));
            let (left, right) = (from_a.all(a, batch)?, from_b.all(b, batch)?);
            for ((a, b), c) in left.zip(right).zip(to.all(c, batch)?) {
                integer_product(alpha, (a, op_a), (b, op_b), beta, c)?;
            }
            Ok(())
        })
    }

    /// Computes the product, in `kind` (`cublasComputeType_t`).
    pub(crate) fn in_compute_type(&self, handle: u64, kind: i32) -> Outcome {
        let h = get(handle)?;
        let [a, b, c] = [self.a.1, self.b.1, self.c.1].map(DataType::of);
        match scale_type(kind, a?, b?, c?)? {
            scale @ (DataType::F32 | DataType::F16) => self.run::<f32>(&h, scale),
            scale @ DataType::C32 => self.run::<linalg::c32>(&h, scale),
            scale @ DataType::F64 => self.run::<f64>(&h, scale),
            scale @ DataType::C64 => self.run::<linalg::c64>(&h, scale),
            DataType::I32 => self.run_integer(&h),
            _ => Err(Error::NotSupported),
        }
    }

    /// Computes the product in `f32`, or in complex numbers of it.
    pub(crate) fn in_single(&self, handle: u64, complex: bool) -> Outcome {
        use DataType as D;
        let h = get(handle)?;
        let [a, b, c] = [self.a.1, self.b.1, self.c.1].map(DataType::of);
        match (a? == b?, complex, a?, c?) {
            (true, false, D::BF16, D::BF16 | D::F32)
            | (true, false, D::F16, D::F16 | D::F32)
            | (true, false, D::I8 | D::F32, D::F32) => self.run::<f32>(&h, D::F32),
            (true, true, D::CI8 | D::C32, D::C32) => self.run::<linalg::c32>(&h, D::C32),
            _ => Err(Error::NotSupported),
        }
    }

    /// Computes the product of halves.
    pub(crate) fn of_halves(&self, handle: u64) -> Outcome {
        let h = get(handle)?;
        self.run::<f32>(&h, DataType::F16)
    }
}

fn integer_product(
    alpha: i64,
    (a, op_a): (Dense, Op),
    (b, op_b): (Dense, Op),
    beta: i64,
    c: Dense,
) -> Outcome {
    if c.rows == 0 || c.cols == 0 {
        return Ok(());
    }
    let mut sum: Matrix<f64> = c.zeros()?;
    if a.rows > 0 && a.cols > 0 {
        let (a, b): (Matrix<f64>, Matrix<f64>) = (a.read()?, b.read()?);
        product(1.0, (&a, op_a), (&b, op_b), 0.0, &mut sum);
    }
    let old: Matrix<f64> = c.read_scaled(if beta == 0 { 0.0 } else { 1.0 })?;
    for (sum, old) in sum.data.iter_mut().zip(old.data) {
        let exact = alpha.wrapping_mul(*sum as i64).wrapping_add(beta.wrapping_mul(old as i64));
        // Arithmetic of 32 bits wraps around.
        *sum = f64::from(exact as i32);
    }
    c.write(&sum)
}

/// The lists of groups of products: each has its own sizes, scalars and number of matrices.
pub(crate) struct Groups {
    /// Lists on the host: operations, sizes, leading dimensions.
    pub(crate) lists: [Ptr; 8],
    pub(crate) alpha: Ptr,
    pub(crate) beta: Ptr,
    /// Lists of addresses on the device: of all groups, one after another.
    pub(crate) addresses: [u64; 3],
    pub(crate) types: [i32; 3],
    pub(crate) groups: i64,
    pub(crate) sizes: Ptr,
    /// Whether numbers of lists have 64 bits.
    pub(crate) wide: bool,
}

impl Groups {
    /// Computes all products.
    pub(crate) fn run(&self, handle: u64, kind: i32, scalar: DataType) -> Outcome {
        let groups = count(self.groups)?;
        let number = |list: Ptr, i: usize| -> Outcome<i64> {
            match self.wide {
                true => culibs::device::get_host(list + i * 8),
                false => Ok(culibs::device::get_host::<i32>(list + i * 4)?.into()),
            }
        };
        let mut first = 0_u64;
        for i in 0..groups {
            let [transa, transb, m, n, k, lda, ldb, ldc] = self.lists;
            let flag = |list: Ptr| culibs::device::get_host::<i32>(list + i * 4);
            let batch = number(self.sizes, i)?;
            let list = |j: usize| self.addresses[j].wrapping_add(first * 8);
            let operand = |j: usize, ld: i64| (Matrices::List(list(j), ld), self.types[j]);
            let product = Product {
                ops: [flag(transa)?, flag(transb)?],
                size: [number(m, i)?, number(n, i)?, number(k, i)?],
                alpha: self.alpha + i * scalar.bytes(),
                a: operand(0, number(lda, i)?),
                b: operand(1, number(ldb, i)?),
                beta: self.beta + i * scalar.bytes(),
                c: operand(2, number(ldc, i)?),
                batch,
            };
            product.in_compute_type(handle, kind)?;
            first += count(batch)? as u64;
        }
        Ok(())
    }
}
