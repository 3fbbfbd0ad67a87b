//! Typed arrays on the host: the contents of buffers before and after a run.
//!
//! Invariants: the length of the data is the product of the extents times the size of an element.
//! Elements are little-endian and in C order (the last index varies fastest), exactly as in guest
//! memory and `.npy` files.

use crate::elem::ElemType;
use crate::limits::human_bytes;

/// The reason why an array cannot have a shape.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// The number of bytes exceeds 64 bits.
    #[error("the number of bytes of {ty}[{shape}] does not fit 64 bits", shape = shape_text(shape))]
    Overflow {
        /// Element type.
        ty: ElemType,
        /// The requested shape.
        shape: Vec<u64>,
    },
    /// The number of bytes exceeds the cap.
    #[error(
        "{} are more than the limit of {}",
        human_bytes(u128::from(*bytes)),
        human_bytes(u128::from(*cap))
    )]
    TooLarge {
        /// Requested bytes.
        bytes: u64,
        /// The cap in bytes.
        cap: u64,
    },
    /// The host is out of memory.
    #[error("the host could not give {}", human_bytes(u128::from(*bytes)))]
    NoMemory {
        /// Requested bytes.
        bytes: u64,
    },
    /// The data's length does not match the shape.
    #[error(
        "the shape asks for {} but there are {}",
        human_bytes(u128::from(*needed)),
        human_bytes(u128::from(*got))
    )]
    Length {
        /// Bytes that the shape requires.
        needed: u64,
        /// Bytes of data.
        got: u64,
    },
}

/// Formats extents as `64,64`.
#[must_use]
pub fn shape_text(shape: &[u64]) -> String {
    shape.iter().map(u64::to_string).collect::<Vec<_>>().join(",")
}

/// Returns the size in bytes of an array of `ty` with this shape.
///
/// # Errors
/// Returns an error if the size exceeds `cap` or 64 bits.
pub fn byte_size(ty: ElemType, shape: &[u64], cap: u64) -> Result<u64, ShapeError> {
    // A zero extent makes the array empty, whatever the others are.
    if shape.contains(&0) {
        return Ok(0);
    }
    let product = shape
        .iter()
        .try_fold(1_u64, |n, &extent| n.checked_mul(extent))
        .and_then(|n| n.checked_mul(ty.bytes() as u64));
    match product {
        None => Err(ShapeError::Overflow { ty, shape: shape.to_vec() }),
        Some(bytes) if bytes > cap => Err(ShapeError::TooLarge { bytes, cap }),
        Some(bytes) => Ok(bytes),
    }
}

/// Allocates an empty vector with a capacity of `bytes`.
pub(crate) fn reserve(bytes: u64) -> Result<Vec<u8>, ShapeError> {
    let mut data = Vec::new();
    let wanted = usize::try_from(bytes).map_err(|_| ShapeError::NoMemory { bytes })?;
    data.try_reserve_exact(wanted).map_err(|_| ShapeError::NoMemory { bytes })?;
    Ok(data)
}

/// A typed array in C order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    ty: ElemType,
    shape: Vec<u64>,
    data: Vec<u8>,
}

impl Array {
    /// Creates an array from little-endian elements in C order.
    ///
    /// # Errors
    /// Returns an error if the shape requires another number of bytes.
    pub fn new(ty: ElemType, shape: Vec<u64>, data: Vec<u8>) -> Result<Self, ShapeError> {
        let needed = byte_size(ty, &shape, u64::MAX)?;
        if needed != data.len() as u64 {
            return Err(ShapeError::Length { needed, got: data.len() as u64 });
        }
        Ok(Self { ty, shape, data })
    }

    /// Creates a one-dimensional array from bit patterns.
    #[must_use]
    pub fn from_bits(ty: ElemType, bits: &[u64]) -> Self {
        let mut data = Vec::with_capacity(bits.len() * ty.bytes());
        for value in bits {
            data.extend_from_slice(&value.to_le_bytes()[..ty.bytes()]);
        }
        Self { ty, shape: vec![bits.len() as u64], data }
    }

    /// Returns the element type.
    #[must_use]
    pub fn ty(&self) -> ElemType {
        self.ty
    }

    /// Returns the extents, slowest first; empty for a single value without dimensions.
    #[must_use]
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Returns the number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.data.len() / self.ty.bytes()
    }

    /// Returns whether the array has no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// Returns the data.
    #[must_use]
    pub fn data(&self) -> &[u8] {
        &self.data
    }

    /// Returns the bit pattern of the element at a flat index in C order.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<u64> {
        let size = self.ty.bytes();
        let start = index.checked_mul(size)?;
        let bytes = self.data.get(start..start.checked_add(size)?)?;
        let mut word = [0; 8];
        word[..size].copy_from_slice(bytes);
        Some(u64::from_le_bytes(word))
    }

    /// Iterates over the bit patterns of all elements in C order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = u64> + '_ {
        let size = self.ty.bytes();
        self.data.chunks_exact(size).map(move |bytes| {
            let mut word = [0; 8];
            word[..size].copy_from_slice(bytes);
            u64::from_le_bytes(word)
        })
    }

    /// Reinterprets the data as another type of the same size.
    ///
    /// # Errors
    /// Returns the array unchanged if the sizes differ.
    pub fn with_type(mut self, ty: ElemType) -> Result<Self, Self> {
        if ty.bytes() != self.ty.bytes() {
            return Err(self);
        }
        self.ty = ty;
        Ok(self)
    }

    /// Reshapes the array.
    ///
    /// # Errors
    /// Returns an error if the number of elements differs.
    pub fn with_shape(self, shape: Vec<u64>) -> Result<Self, ShapeError> {
        Self::new(self.ty, shape, self.data)
    }

    /// Formats type and shape as `type[shape]`, as in argument specifications.
    #[must_use]
    pub fn describe(&self) -> String {
        format!("{}[{}]", self.ty, shape_text(&self.shape))
    }

    /// Formats the subscripts of a flat index, slowest first, as `[1,63]`.
    #[must_use]
    pub fn subscript(&self, mut index: usize) -> String {
        let mut parts = Vec::with_capacity(self.shape.len());
        for &extent in self.shape.iter().rev() {
            let extent = usize::try_from(extent).unwrap_or(usize::MAX).max(1);
            parts.push((index % extent).to_string());
            index /= extent;
        }
        parts.reverse();
        format!("[{}]", parts.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_checked_before_anything_is_allocated() {
        let cap = 1 << 30;
        assert_eq!(byte_size(ElemType::F32, &[64, 64], cap), Ok(16_384));
        assert_eq!(byte_size(ElemType::F32, &[], cap), Ok(4));
        assert_eq!(byte_size(ElemType::F32, &[u64::MAX, u64::MAX, 0], cap), Ok(0));
        assert!(matches!(
            byte_size(ElemType::F64, &[u64::MAX / 8 + 1], u64::MAX),
            Err(ShapeError::Overflow { .. })
        ));
        assert!(matches!(
            byte_size(ElemType::U8, &[cap + 1], cap),
            Err(ShapeError::TooLarge { .. })
        ));
        assert!(matches!(
            Array::new(ElemType::U16, vec![3], vec![0; 5]),
            Err(ShapeError::Length { needed: 6, got: 5 })
        ));
    }

    #[test]
    fn elements_and_subscripts_follow_c_order() {
        let array = Array::from_bits(ElemType::S16, &[1, 2, 0xffff, 4, 5, 6]);
        let array = array.with_shape(vec![2, 3]).expect("six elements");
        assert_eq!(array.get(2), Some(0xffff));
        assert_eq!(array.get(6), None);
        assert_eq!(array.subscript(5), "[1,2]");
        assert_eq!(array.iter().collect::<Vec<_>>(), [1, 2, 0xffff, 4, 5, 6]);
        assert_eq!(array.describe(), "s16[2,3]");
    }
}
