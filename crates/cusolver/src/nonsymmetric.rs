//! Eigenvalues and right eigenvectors of matrices without structure.

use culibs::device::Rows;
use culibs::{DataType, Error, Outcome, count};
use linalg::{Matrix, c64, general_eigen};
use operands::Dense;

use crate::eigen::vectors;
use crate::factor::Stepped;
use crate::handle::get;

/// Eigenvalues with their vectors.
type Eigen = (Vec<c64>, Option<Matrix<c64>>);

/// Returns what is computed in the order that LAPACK has for real matrices: of a pair of
/// conjugates, which are adjacent, the one with the positive imaginary part first, and its
/// vector; real eigenvalues have real vectors.
///
/// Rounding leaves pairs that are nearly conjugate, and real values with a small imaginary part:
/// each value belongs to the nearest conjugate, which may be its own.
fn paired((values, basis): Eigen) -> Eigen {
    let n = values.len();
    let mut left: Vec<usize> = (0..n).collect();
    let mut order = Vec::new();
    while let Some(&i) = left.first() {
        let apart = |j: usize| (values[j] - values[i].conj()).norm();
        let nearest = left.iter().copied().min_by(|&a, &b| apart(a).total_cmp(&apart(b)));
        let j = nearest.unwrap_or(i);
        left.retain(|&k| k != i && k != j);
        if i == j {
            order.push((i, c64::new(values[i].re, 0.0)));
            continue;
        }
        let first = if values[i].im >= values[j].im { i } else { j };
        let middle = (values[i] + values[j].conj()) / 2.0;
        let value = c64::new(middle.re, middle.im.abs());
        order.push((first, value));
        order.push((first, value.conj()));
    }
    let basis = basis.map(|basis| {
        let column = |&(i, value): &(usize, c64)| {
            let v = basis.col(i);
            let largest =
                v.iter().fold(c64::default(), |m, x| if x.norm() > m.norm() { *x } else { m });
            let turn = if largest.norm() > 0.0 { largest.conj() / largest.norm() } else { largest };
            let real = value.im == 0.0;
            v.iter()
                .map(|x| {
                    let x = *x * turn;
                    match () {
                        () if real => c64::new(x.re, 0.0),
                        () if value.im < 0.0 => x.conj(),
                        () => x,
                    }
                })
                .collect::<Vec<_>>()
        };
        Matrix::new(n, n, order.iter().flat_map(column).collect())
    });
    (order.into_iter().map(|(_, value)| value).collect(), basis)
}

/// Real and imaginary parts in two columns for each pair, as LAPACK stores vectors of real
/// matrices.
fn packed(values: &[c64], basis: &Matrix<c64>) -> Matrix<c64> {
    Matrix::from_fn(basis.rows, basis.cols, |i, j| match values[j].im {
        im if im < 0.0 => c64::new(basis[(i, j - 1)].im, 0.0),
        _ => c64::new(basis[(i, j)].re, 0.0),
    })
}

/// Writes eigenvalues: as complex numbers, or as a list of real parts, then one of imaginary ones.
fn write_values(dtype: DataType, at: u64, values: &[c64]) -> Outcome {
    if matches!(dtype, DataType::C32 | DataType::C64) {
        return dtype.write(Rows::flat(at, values.len()), values);
    }
    let parts = values.iter().map(|x| x.re).chain(values.iter().map(|x| x.im));
    dtype.write(Rows::flat(at, 2 * values.len()), &parts.collect::<Vec<f64>>())
}

/// The combinations of types: matrix, eigenvalues, vectors. Whether the matrix is real.
fn real(types: [DataType; 3]) -> Outcome<bool> {
    use DataType as D;
    match types {
        [D::F32, D::F32 | D::C32, D::F32] | [D::F64, D::F64 | D::C64, D::F64] => Ok(true),
        // Complex vectors of real matrices.
        [D::F32, D::C32, D::C32] | [D::F64, D::C64, D::C64] => Ok(true),
        [D::C32, D::C32, D::C32] | [D::C64, D::C64, D::C64] => Ok(false),
        _ => Err(Error::NotSupported),
    }
}

pub(crate) fn geev(
    handle: u64,
    [left, right]: [i32; 2],
    n: i64,
    a: Stepped,
    vr: Stepped,
    values: u64,
    info: u64,
    types: [i32; 3],
) -> Outcome {
    let h = get(handle)?;
    // As documented: no left vectors.
    if vectors(left)? {
        return Err(Error::InvalidValue);
    }
    let (right, n) = (vectors(right)?, count(n)?);
    let [atype, wtype, vtype] = types.map(DataType::of);
    let (atype, wtype, vtype) = (atype?, wtype?, vtype?);
    let real = real([atype, wtype, vtype])?;
    let a = Dense::new(atype, [n, n], a.0, a.1)?;
    let vr = if right { Some(Dense::new(vtype, [n, n], vr.0, vr.1)?) } else { None };
    let is_packed = matches!(vtype, DataType::F32 | DataType::F64);
    h.submit(info, move || {
        let Some(found) = general_eigen(&a.read::<c64>()?, right) else {
            return Ok(n.max(1) as i32);
        };
        let (list, basis) = if real { paired(found) } else { found };
        write_values(wtype, values, &list)?;
        if let (Some(to), Some(basis)) = (vr, basis) {
            to.write(&if is_packed { packed(&list, &basis) } else { basis })?;
        }
        Ok(0)
    })
}
