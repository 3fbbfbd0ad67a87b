//! Where the elements of a transform are.

use culibs::{DataType, Error, Outcome, size};
use fourier::TransformKind;

use crate::status::{CUFFT_INVALID_SIZE, CUFFT_INVALID_TYPE};

/// Types of a transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Types {
    pub(crate) kind: TransformKind,
    pub(crate) input: DataType,
    pub(crate) output: DataType,
}

impl Types {
    /// Reads `cufftType`.
    pub(crate) fn of(value: i32) -> Outcome<Self> {
        use DataType as D;
        let (kind, input, output) = match value {
            0x29 => (TransformKind::Complex, D::C32, D::C32),
            0x2a => (TransformKind::Forward, D::F32, D::C32),
            0x2c => (TransformKind::Inverse, D::C32, D::F32),
            0x69 => (TransformKind::Complex, D::C64, D::C64),
            0x6a => (TransformKind::Forward, D::F64, D::C64),
            0x6c => (TransformKind::Inverse, D::C64, D::F64),
            _ => return Err(Error::Status(CUFFT_INVALID_TYPE)),
        };
        Ok(Self { kind, input, output })
    }

    /// Reads types of elements: those of input, output, and execution.
    pub(crate) fn of_elements(input: i32, output: i32, execution: i32) -> Outcome<Self> {
        use DataType as D;
        let types = (DataType::of(input)?, DataType::of(output)?, DataType::of(execution)?);
        let kind = match types {
            (D::C16, D::C16, D::C16)
            | (D::CBF16, D::CBF16, D::CBF16)
            | (D::C32, D::C32, D::C32)
            | (D::C64, D::C64, D::C64) => TransformKind::Complex,
            (D::F16, D::C16, D::C16)
            | (D::BF16, D::CBF16, D::CBF16)
            | (D::F32, D::C32, D::C32)
            | (D::F64, D::C64, D::C64) => TransformKind::Forward,
            (D::C16, D::F16, D::C16)
            | (D::CBF16, D::BF16, D::CBF16)
            | (D::C32, D::F32, D::C32)
            | (D::C64, D::F64, D::C64) => TransformKind::Inverse,
            _ => return Err(Error::Status(CUFFT_INVALID_TYPE)),
        };
        Ok(Self { kind, input: types.0, output: types.1 })
    }

    /// Returns whether numbers have 64 bits.
    pub(crate) fn is_double(&self) -> bool {
        matches!(self.input, DataType::F64 | DataType::C64)
    }

    /// Returns whether numbers have 16 bits.
    fn is_narrow(&self) -> bool {
        let narrow = |dtype| matches!(dtype, DataType::C16 | DataType::CBF16);
        narrow(self.input) || narrow(self.output)
    }
}

/// One side of a transform: the sizes of the array in which rows are, the distance of elements, and
/// that of the transforms of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Side {
    /// The elements along each axis.
    pub(crate) sizes: Vec<usize>,
    embed: Vec<usize>,
    stride: usize,
    distance: usize,
    pub(crate) dtype: DataType,
}

impl Side {
    /// Returns the place of the first element of each row along the last axis, for one transform of
    /// the batch, and the distance of elements in a row.
    pub(crate) fn rows(&self, batch: usize) -> Vec<usize> {
        let mut places = vec![0];
        for axis in 0..self.sizes.len() - 1 {
            let inner = |place: &usize| {
                let place = *place;
                (0..self.sizes[axis]).map(move |i| place + i)
            };
            let next: Vec<usize> = places.iter().flat_map(inner).collect();
            places = next.into_iter().map(|place| place * self.embed[axis + 1]).collect();
        }
        places.into_iter().map(|place| place * self.stride + batch * self.distance).collect()
    }

    pub(crate) fn stride(&self) -> usize {
        self.stride
    }

    /// Returns the number of elements from the first to the last.
    pub(crate) fn span(&self, batches: usize) -> Outcome<usize> {
        let mut last = 0_usize;
        for (axis, len) in self.sizes.iter().enumerate() {
            let scaled = if axis == 0 { Some(0) } else { last.checked_mul(self.embed[axis]) };
            last = scaled.and_then(|at| at.checked_add(len - 1)).ok_or(Error::InvalidValue)?;
        }
        let last = size(&[last, self.stride])?;
        let batch = size(&[batches - 1, self.distance])?;
        last.checked_add(batch).and_then(|n| n.checked_add(1)).ok_or(Error::InvalidValue)
    }

    /// Returns whether every element from the first to the last belongs to a transform.
    pub(crate) fn is_dense(&self, batches: usize) -> bool {
        let count = size(&self.sizes).and_then(|n| size(&[n, batches]));
        count.is_ok_and(|count| self.span(batches) == Ok(count))
    }
}

/// How one side of a plan is given: null sizes are those of dense arrays.
#[derive(Clone, Debug, Default)]
pub(crate) struct Given {
    pub(crate) embed: Option<Vec<i64>>,
    pub(crate) stride: i64,
    pub(crate) distance: i64,
}

/// A transform as a plan describes it.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// The sizes of real or complex data, not of the half of a spectrum.
    pub(crate) sizes: Vec<usize>,
    pub(crate) types: Types,
    pub(crate) batches: usize,
    input: Given,
    output: Given,
}

impl Layout {
    pub(crate) fn new(
        sizes: &[i64],
        types: Types,
        batches: i64,
        input: Given,
        output: Given,
    ) -> Outcome<Self> {
        let invalid_size = Error::Status(CUFFT_INVALID_SIZE);
        let positive = |&n: &i64| match usize::try_from(n) {
            Ok(n) if n > 0 => Ok(n),
            _ => Err(invalid_size),
        };
        if !(1..=3).contains(&sizes.len()) {
            return Err(Error::InvalidValue);
        }
        let sizes = sizes.iter().map(positive).collect::<Outcome<Vec<usize>>>()?;
        let batches = positive(&batches)?;
        // All sizes of narrow numbers are powers of two, as documented.
        if types.is_narrow() && !sizes.iter().all(|n| n.is_power_of_two()) {
            return Err(invalid_size);
        }
        let mut all = sizes.clone();
        all.push(batches);
        size(&all).map_err(|_| invalid_size)?;
        let new = Self { sizes, types, batches, input, output };
        new.side(true, false)?.span(batches)?;
        new.side(false, false)?.span(batches)?;
        Ok(new)
    }

    /// Returns a side. Dense real data of a transform in place has rows as long as the spectrum's.
    pub(crate) fn side(&self, input: bool, in_place: bool) -> Outcome<Side> {
        let Types { kind, input: from, output: to } = self.types;
        let (given, dtype) = if input { (&self.input, from) } else { (&self.output, to) };
        let spectrum =
            (kind == TransformKind::Forward && !input) || (kind == TransformKind::Inverse && input);
        let mut sizes = self.sizes.clone();
        let last = sizes.len() - 1;
        let half = sizes[last] / 2 + 1;
        if spectrum {
            sizes[last] = half;
        }
        let mut embed = sizes.clone();
        let Some(client) = &given.embed else {
            if in_place && kind != TransformKind::Complex && !spectrum {
                embed[last] = 2 * half;
            }
            let distance = size(&embed)?;
            return Ok(Side { sizes, embed, stride: 1, distance, dtype });
        };
        for (axis, (embed, client)) in embed.iter_mut().zip(client).enumerate() {
            let client = usize::try_from(*client).map_err(|_| Error::InvalidValue)?;
            // The first is not used: it is the distance's.
            if axis > 0 && client < sizes[axis] {
                return Err(Error::InvalidValue);
            }
            *embed = client;
        }
        let positive = |n: i64| usize::try_from(n).map_err(|_| Error::InvalidValue);
        let (stride, distance) = (positive(given.stride)?, positive(given.distance)?);
        if stride == 0 || (distance == 0 && self.batches > 1) {
            return Err(Error::InvalidValue);
        }
        Ok(Side { sizes, embed, stride, distance, dtype })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_an_advanced_layout() {
        let given = Given { embed: Some(vec![4, 6]), stride: 2, distance: 100 };
        let types = Types::of(0x29).unwrap();
        let layout = Layout::new(&[3, 5], types, 2, given.clone(), given).unwrap();
        let side = layout.side(true, false).unwrap();
        // The element at (x, y) of transform b is at b * distance + (x * embed + y) * stride.
        assert_eq!(side.rows(1), [100, 112, 124]);
        assert_eq!(side.span(2), Ok(100 + (2 * 6 + 4) * 2 + 1));
        assert!(!side.is_dense(2));
    }

    #[test]
    fn real_rows_in_place_are_padded() {
        let layout =
            Layout::new(&[2, 5], Types::of(0x2a).unwrap(), 3, Given::default(), Given::default());
        let layout = layout.unwrap();
        assert_eq!(layout.side(true, false).unwrap().rows(1), [10, 15]);
        assert_eq!(layout.side(true, true).unwrap().rows(1), [12, 18]);
        assert_eq!(layout.side(false, true).unwrap().rows(1), [6, 9]);
        assert!(layout.side(false, true).unwrap().is_dense(3));
    }
}
