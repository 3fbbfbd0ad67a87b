//! Products with layouts, scales and epilogues.

use culibs::device::Rows;
use culibs::stream::submit;
use culibs::{DataType, Error, Outcome, Ptr};
use linalg::{Matrix, Op, product};
use operands::{Blas, op};

use crate::epilogue::{Epilogue, scale, write_largest};
use crate::handle::check;
use crate::layout::Layout;
use crate::objects::{Object, ObjectKind, find};

/// Returns the attributes of a new description.
pub(crate) fn object(compute: i32, scale: i32) -> Object {
    Object::new(ObjectKind::Matmul)
        .with(0, compute)
        .with(1, scale)
        .with(7, 1_i32)
        .with(22, -1_i32)
        .with(26, -1_i32)
}

/// The layouts of a product, as arguments.
#[derive(Clone, Copy)]
pub(crate) struct Layouts {
    pub(crate) a: u64,
    pub(crate) b: u64,
    pub(crate) c: u64,
    pub(crate) d: u64,
}

/// A product that is there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Product {
    ops: [Op; 2],
    a: Layout,
    b: Layout,
    c: Layout,
    d: Layout,
    epilogue: Epilogue,
    /// The types of scalars, and to compute in.
    scalar: DataType,
    compute: DataType,
    mode: i32,
    vector_distance: i64,
    /// Scales of the matrices, and where the largest element goes: addresses, or null.
    scales: [u64; 4],
    largest: u64,
}

/// Returns the type to compute in, of the combinations of types that are there.
fn compute_type(compute: i32, scale: DataType, types: [DataType; 4]) -> Outcome<DataType> {
    use DataType as D;
    let [a, b, c, d] = types;
    let narrow = |t| matches!(t, D::F16 | D::BF16 | D::E4M3 | D::E5M2);
    let real = |t| narrow(t) || matches!(t, D::F32);
    match (compute, scale) {
        (64 | 65, D::F16) if [a, b, c, d] == [D::F16; 4] => Ok(D::F32),
        (68 | 69 | 74 | 75 | 77 | 78, D::F32)
            if real(a) && real(b) && real(c) && real(d)
                || a == D::I8 && b == D::I8 && real(c) && real(d) =>
        {
            Ok(D::F32)
        }
        (68 | 69 | 74 | 75 | 77 | 78, D::C32) if [a, b, c, d] == [D::C32; 4] => Ok(D::C32),
        (70 | 71, D::F64) if [a, b, c, d] == [D::F64; 4] => Ok(D::F64),
        (70 | 71, D::C64) if [a, b, c, d] == [D::C64; 4] => Ok(D::C64),
        // Sums of products of bytes are exact in `f64`.
        (72 | 73, D::I32) if [a, b, c, d] == [D::I8, D::I8, D::I32, D::I32] => Ok(D::F64),
        (72 | 73, D::F32) if [a, b, c, d] == [D::I8; 4] => Ok(D::F64),
        (64..=78, _) => Err(Error::NotSupported),
        _ => Err(Error::InvalidValue),
    }
}

impl Product {
    pub(crate) fn of(description: u64, layouts: Layouts) -> Outcome<Self> {
        let description = find(description, ObjectKind::Matmul)?;
        let flag = |attribute| op(description.get(attribute));
        let ops = [flag(3)?, flag(4)?];
        // The third matrix is taken as it is, and the result is whole.
        if flag(5)? != Op::None || ![0, 2].contains(&description.get::<i32>(6)) {
            return Err(Error::NotSupported);
        }
        // Scales of blocks, and results that other kernels are told of.
        if (31..=35).chain([37]).any(|a| description.get::<i32>(a) != 0)
            || [27, 28].into_iter().any(|a| description.get::<i32>(a) != 0)
        {
            return Err(Error::NotSupported);
        }
        let [a, b, c, d] = [layouts.a, layouts.b, layouts.c, layouts.d].map(Layout::of);
        let (a, b, c, d) = (a?, b?, c?, d?);
        let ([m, k], [k2, n]) = (a.size(ops[0]), b.size(ops[1]));
        let batches = d.batches;
        if k != k2
            || [c.rows, c.cols] != [m, n]
            || [d.rows, d.cols] != [m, n]
            || [a.batches, b.batches, c.batches].iter().any(|&n| n != batches)
        {
            return Err(Error::InvalidValue);
        }
        let scalar = DataType::of(description.get(1))?;
        let compute =
            compute_type(description.get(0), scalar, [a.dtype, b.dtype, c.dtype, d.dtype])?;
        let epilogue = Epilogue::of(&description, d.dtype)?;
        if matches!(compute, DataType::C32 | DataType::C64) && !epilogue.is_empty() {
            return Err(Error::NotSupported);
        }
        let mode = description.get(2);
        if !(0..=4).contains(&mode) {
            return Err(Error::InvalidValue);
        }
        Ok(Self {
            ops,
            a,
            b,
            c,
            d,
            epilogue,
            scalar,
            compute,
            mode,
            vector_distance: description.get(14),
            scales: [17, 18, 19, 20].map(|attribute| description.get(attribute)),
            largest: description.get(21),
        })
    }
}

/// A factor of a product: on the host, or on the device, one or as many as rows.
#[derive(Clone, Copy)]
enum Factor<T> {
    Value(T),
    At(u64),
    Vector(u64),
}

impl<T: Blas> Factor<T> {
    fn read(self, dtype: DataType, rows: usize, skip: i64) -> Outcome<Factors<T>> {
        match self {
            Self::Value(value) => Ok(Factors::All(value)),
            Self::At(at) => {
                let value: Vec<T> = dtype.read(Rows::flat(at, 1))?;
                Ok(Factors::All(value[0]))
            }
            Self::Vector(at) => {
                let bytes = skip.wrapping_mul(dtype.bytes() as i64) as u64;
                Ok(Factors::Rows(dtype.read(Rows::flat(at.wrapping_add(bytes), rows))?))
            }
        }
    }
}

/// What rows are multiplied by: one number, or one for each.
enum Factors<T> {
    All(T),
    Rows(Vec<T>),
}

impl<T: Blas> Factors<T> {
    fn of(&self, row: usize) -> T {
        match self {
            Self::All(value) => *value,
            Self::Rows(list) => list[row],
        }
    }

    fn are_zero(&self) -> bool {
        match self {
            Self::All(value) => *value == T::zero(),
            Self::Rows(list) => list.iter().all(|value| *value == T::zero()),
        }
    }
}

/// The addresses of a product.
#[derive(Clone, Copy)]
pub(crate) struct Addresses {
    pub(crate) alpha: Ptr,
    pub(crate) a: u64,
    pub(crate) b: u64,
    pub(crate) beta: Ptr,
    pub(crate) c: u64,
    pub(crate) d: u64,
}

/// Computes a product, if it is there.
pub(crate) fn run(
    handle: u64,
    description: u64,
    layouts: Layouts,
    at: Addresses,
    stream: u64,
) -> Outcome {
    check(handle)?;
    let p = Product::of(description, layouts)?;
    if at.alpha == 0 || at.a == 0 || at.b == 0 || at.d == 0 || (at.beta == 0 && p.mode != 3) {
        return Err(Error::InvalidValue);
    }
    match p.compute {
        DataType::F32 => run_in::<f32>(p, at, stream),
        DataType::F64 => run_in::<f64>(p, at, stream),
        DataType::C32 => run_in::<linalg::c32>(p, at, stream),
        DataType::C64 => run_in::<linalg::c64>(p, at, stream),
        _ => Err(Error::NotSupported),
    }
}

fn run_in<T: Blas>(p: Product, at: Addresses, stream: u64) -> Outcome {
    let host = |at| Ok(Factor::Value(p.scalar.get_host::<T>(at)?));
    let alpha = match p.mode {
        0 => host(at.alpha)?,
        1 => Factor::At(at.alpha as u64),
        _ => Factor::Vector(at.alpha as u64),
    };
    let beta = match p.mode {
        0 | 4 => host(at.beta)?,
        1 => Factor::At(at.beta as u64),
        2 => Factor::Vector(at.beta as u64),
        _ => Factor::Value(T::zero()),
    };
    submit(stream, move || {
        let [m, n] = [p.d.rows, p.d.cols];
        if m == 0 || n == 0 {
            return Ok(());
        }
        let mut scales = [1.0; 4];
        for (scale_, at) in scales.iter_mut().zip(p.scales) {
            *scale_ = f64::from(scale(at)?);
        }
        let number = |x: f64| <T as culibs::Number>::of_wide(x, 0.0);
        for batch in 0..p.d.batches {
            let skip = p.vector_distance.wrapping_mul(batch as i64);
            let alpha = alpha.read(p.scalar, m, skip)?;
            let beta = beta.read(p.scalar, m, skip)?;
            let (a, b): (Matrix<T>, Matrix<T>) = (p.a.read(at.a, batch)?, p.b.read(at.b, batch)?);
            let mut d: Matrix<T> = p.d.zeros(at.d, batch)?;
            let one = number(scales[0] * scales[1]);
            product(one, (&a, p.ops[0]), (&b, p.ops[1]), T::zero(), &mut d);
            p.epilogue.reduce_factors(batch, &a.op(p.ops[0]), &b.op(p.ops[1]))?;
            let old = match beta.are_zero() || at.c == 0 {
                true => Matrix::zeros(m, n),
                false => p.c.read(at.c, batch)?,
            };
            for j in 0..n {
                for (i, x) in d.col_mut(j).iter_mut().enumerate() {
                    let beta = beta.of(i);
                    let before = match beta == T::zero() {
                        true => T::zero(),
                        false => beta * old[(i, j)] * number(scales[2]),
                    };
                    *x = alpha.of(i) * *x + before;
                }
            }
            p.epilogue.apply(batch, &mut d)?;
            write_largest(p.largest, &d)?;
            if p.scales[3] != 0 {
                for x in &mut d.data {
                    *x *= number(scales[3]);
                }
            }
            p.d.write(at.d, batch, &d)?;
        }
        Ok(())
    })
}
