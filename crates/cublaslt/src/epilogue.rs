//! What is done with a product before it is written (`cublasLtEpilogue_t`).

use culibs::device::{Rows, read, write};
use culibs::{DataType, Error, Outcome, count};
use linalg::Matrix;
use operands::Blas;

use crate::objects::Object;

const RELU: i32 = 2;
const BIAS: i32 = 4;
const RELU_GRADIENT: i32 = 8;
const BIAS_GRADIENT: i32 = 16;
const GELU: i32 = 32;
const GELU_GRADIENT: i32 = 64;
const AUXILIARY: i32 = 128;
const BIAS_GRADIENT_OF_A: i32 = 256;
const BIAS_GRADIENT_OF_B: i32 = 512;

/// The values of the enumeration, but that of nothing.
const KNOWN: [i32; 15] = [
    RELU,
    BIAS,
    RELU | BIAS,
    RELU | AUXILIARY,
    RELU | AUXILIARY | BIAS,
    RELU_GRADIENT | AUXILIARY,
    RELU_GRADIENT | AUXILIARY | BIAS_GRADIENT,
    GELU,
    GELU | BIAS,
    GELU | AUXILIARY,
    GELU | AUXILIARY | BIAS,
    GELU_GRADIENT | AUXILIARY,
    GELU_GRADIENT | AUXILIARY | BIAS_GRADIENT,
    BIAS_GRADIENT_OF_A,
    BIAS_GRADIENT_OF_B,
];

/// An epilogue with its operands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Epilogue {
    flags: i32,
    bias: u64,
    bias_type: DataType,
    bias_distance: i64,
    auxiliary: u64,
    auxiliary_type: DataType,
    auxiliary_ld: usize,
    auxiliary_distance: i64,
}

impl Epilogue {
    /// Returns the epilogue of a description whose result has a type.
    pub(crate) fn of(description: &Object, result: DataType) -> Outcome<Self> {
        let flags = match description.get_or(7, 1_i32) {
            1 => 0,
            flags if KNOWN.contains(&flags) => flags,
            _ => return Err(Error::InvalidValue),
        };
        let dtype = |attribute, other: DataType| match description.get_or(attribute, -1_i32) {
            -1 => Ok(other),
            number => DataType::of(number),
        };
        // The bias of results of 8 bits has 16.
        let wide = match result {
            DataType::E4M3 | DataType::E5M2 => DataType::BF16,
            DataType::I8 => DataType::F32,
            other => other,
        };
        let new = Self {
            flags,
            bias: description.get(8),
            bias_type: dtype(26, wide)?,
            bias_distance: description.get(10),
            auxiliary: description.get(11),
            auxiliary_type: dtype(22, wide)?,
            auxiliary_ld: count(description.get(12))?,
            auxiliary_distance: description.get(13),
        };
        let with_bias = BIAS | BIAS_GRADIENT | BIAS_GRADIENT_OF_A | BIAS_GRADIENT_OF_B;
        if (new.has(with_bias) && new.bias == 0) || (new.has(AUXILIARY) && new.auxiliary == 0) {
            return Err(Error::InvalidValue);
        }
        Ok(new)
    }

    fn has(&self, flags: i32) -> bool {
        self.flags & flags != 0
    }

    /// Returns whether there is nothing to do.
    pub(crate) fn is_empty(&self) -> bool {
        self.flags == 0
    }

    /// Where the bias of a matrix of the batch is.
    fn bias_of(&self, batch: usize) -> u64 {
        let bytes = self.bias_distance.wrapping_mul(batch as i64);
        self.bias.wrapping_add(bytes.wrapping_mul(self.bias_type.bytes() as i64) as u64)
    }

    /// Where the auxiliary matrix of the batch is, of the activation's input.
    fn inputs(&self, batch: usize, [rows, cols]: [usize; 2]) -> Rows {
        let bytes = self.auxiliary_distance.wrapping_mul(batch as i64);
        let at = bytes.wrapping_mul(self.auxiliary_type.bytes() as i64) as u64;
        let at = self.auxiliary.wrapping_add(at);
        Rows { at, width: rows, height: cols, pitch: self.auxiliary_ld }
    }

    /// Where the bits of the batch are that say which inputs of the activation are positive.
    fn bits(&self, batch: usize, [rows, cols]: [usize; 2]) -> Rows {
        let bytes = self.auxiliary_distance.wrapping_mul(batch as i64) / 8;
        let at = self.auxiliary.wrapping_add(bytes as u64);
        Rows { at, width: rows.div_ceil(8), height: cols, pitch: self.auxiliary_ld / 8 }
    }

    /// Writes sums of the factors, for gradients of their bias.
    pub(crate) fn reduce_factors<T: Blas>(
        &self,
        batch: usize,
        a: &Matrix<T>,
        b: &Matrix<T>,
    ) -> Outcome {
        let sums: Vec<T> = if self.has(BIAS_GRADIENT_OF_A) {
            (0..a.rows).map(|i| (0..a.cols).map(|k| a[(i, k)]).sum()).collect()
        } else if self.has(BIAS_GRADIENT_OF_B) {
            (0..b.cols).map(|j| b.col(j).iter().copied().sum()).collect()
        } else {
            return Ok(());
        };
        self.bias_type.write(Rows::flat(self.bias_of(batch), sums.len()), &sums)
    }

    /// Applies the epilogue to a matrix of the batch.
    pub(crate) fn apply<T: Blas>(&self, batch: usize, d: &mut Matrix<T>) -> Outcome {
        let size = [d.rows, d.cols];
        if self.has(BIAS) {
            let bias: Vec<T> = self.bias_type.read(Rows::flat(self.bias_of(batch), d.rows))?;
            for j in 0..d.cols {
                for (x, b) in d.col_mut(j).iter_mut().zip(&bias) {
                    *x += *b;
                }
            }
        }
        match self.flags & (RELU | GELU | RELU_GRADIENT | GELU_GRADIENT) {
            RELU => self.relu(batch, d)?,
            GELU => {
                if self.has(AUXILIARY) {
                    self.auxiliary_type.write(self.inputs(batch, size), &d.data)?;
                }
                map(d, gelu);
            }
            RELU_GRADIENT => self.relu_gradient(batch, d)?,
            GELU_GRADIENT => {
                let inputs: Vec<T> = self.auxiliary_type.read(self.inputs(batch, size))?;
                for (x, input) in d.data.iter_mut().zip(inputs) {
                    *x *= real(gelu_gradient(part(input)));
                }
            }
            _ => {}
        }
        if self.has(BIAS_GRADIENT) {
            let sums: Vec<T> = (0..d.rows).map(|i| (0..d.cols).map(|j| d[(i, j)]).sum()).collect();
            self.bias_type.write(Rows::flat(self.bias_of(batch), d.rows), &sums)?;
        }
        Ok(())
    }

    fn relu<T: Blas>(&self, batch: usize, d: &mut Matrix<T>) -> Outcome {
        if self.has(AUXILIARY) {
            let rows = self.bits(batch, [d.rows, d.cols]);
            let mut bits = vec![0_u8; rows.width * rows.height];
            for j in 0..d.cols {
                for (i, x) in d.col(j).iter().enumerate() {
                    if part(*x) > 0.0 {
                        bits[j * rows.width + i / 8] |= 1 << (i % 8);
                    }
                }
            }
            rows.write(&bits)?;
        }
        map(d, |x| if x > 0.0 || x.is_nan() { x } else { 0.0 });
        Ok(())
    }

    fn relu_gradient<T: Blas>(&self, batch: usize, d: &mut Matrix<T>) -> Outcome {
        let rows = self.bits(batch, [d.rows, d.cols]);
        let bits: Vec<u8> = rows.read()?;
        for j in 0..d.cols {
            for (i, x) in d.col_mut(j).iter_mut().enumerate() {
                if bits[j * rows.width + i / 8] >> (i % 8) & 1 == 0 {
                    *x = T::zero();
                }
            }
        }
        Ok(())
    }
}

fn part<T: Blas>(x: T) -> f64 {
    culibs::Number::wide(x).0
}

fn real<T: Blas>(x: f64) -> T {
    <T as culibs::Number>::of_wide(x, 0.0)
}

fn map<T: Blas>(d: &mut Matrix<T>, f: impl Fn(f64) -> f64) {
    for x in &mut d.data {
        *x = real(f(part(*x)));
    }
}

/// The tangent in the approximation of the Gaussian error linear unit (Hendrycks and Gimpel, 2016),
/// and the derivative of its argument.
fn tangent(x: f64) -> (f64, f64) {
    let scale = (2.0 / std::f64::consts::PI).sqrt();
    let cubic = 0.044_715;
    let inner = scale * (x + cubic * x * x * x);
    (libm::tanh(inner), scale * (1.0 + 3.0 * cubic * x * x))
}

fn gelu(x: f64) -> f64 {
    0.5 * x * (1.0 + tangent(x).0)
}

fn gelu_gradient(x: f64) -> f64 {
    let (t, slope) = tangent(x);
    0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * slope
}

/// Reads a scale of a matrix, which is 1 without an address.
pub(crate) fn scale(at: u64) -> Outcome<f32> {
    if at == 0 { Ok(1.0) } else { Ok(read(at, 1)?[0]) }
}

/// Writes the largest absolute value of a result, if there is an address for it.
pub(crate) fn write_largest<T: Blas>(at: u64, d: &Matrix<T>) -> Outcome {
    if at == 0 {
        return Ok(());
    }
    let largest = d.data.iter().fold(0.0_f64, |m, x| m.max(part(*x).abs()));
    write(at, &[largest as f32])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gradient_is_that_of_the_function() {
        for x in [-3.0, -0.5, 0.0, 0.25, 2.0] {
            let h = 1e-6;
            let slope = (gelu(x + h) - gelu(x - h)) / (2.0 * h);
            assert!((slope - gelu_gradient(x)).abs() < 1e-8, "{x}");
        }
        assert!((gelu(1.0) - 0.841_192).abs() < 1e-6);
    }
}
