//! Typed arrays on the host: what a buffer holds before and after a run.
//!
//! Always true: the data's length is the product of the shape times the size of an element; elements are little-endian and
//! in C order (the last index runs fastest), exactly as guest memory and `.npy` files hold them.

use crate::elem::ElemType;
use crate::limits::human_bytes;

/// Why a shape cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// The number of bytes is beyond what 64 bits count.
    #[error("the number of bytes of {ty}[{shape}] does not fit 64 bits", shape = shape_text(shape))]
    Overflow {
        /// Element type.
        ty: ElemType,
        /// The shape asked for.
        shape: Vec<u64>,
    },
    /// More than the cap.
    #[error("{} are more than the limit of {}", human_bytes(u128::from(*bytes)), human_bytes(u128::from(*cap)))]
    TooLarge {
        /// Bytes asked for.
        bytes: u64,
        /// The cap.
        cap: u64,
    },
    /// The host has no more memory.
    #[error("the host could not give {}", human_bytes(u128::from(*bytes)))]
    NoMemory {
        /// Bytes asked for.
        bytes: u64,
    },
    /// Data of another length than the shape asks for.
    #[error("the shape asks for {} but there are {}", human_bytes(u128::from(*needed)), human_bytes(u128::from(*got)))]
    Length {
        /// Bytes the shape asks for.
        needed: u64,
        /// Bytes given.
        got: u64,
    },
}

/// Extents as text: `64,64`.
#[must_use]
pub fn shape_text(shape: &[u64]) -> String {
    shape.iter().map(u64::to_string).collect::<Vec<_>>().join(",")
}

/// The bytes that `shape` elements of `ty` take.
///
/// # Errors
/// If that is more than `cap` or than 64 bits can count.
pub fn byte_size(ty: ElemType, shape: &[u64], cap: u64) -> Result<u64, ShapeError> {
    // A zero extent makes the whole empty, whatever the others are.
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

/// An empty vector that can take `bytes` bytes.
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
    /// An array of these bytes (little-endian elements, C order).
    ///
    /// # Errors
    /// If the shape asks for another number of bytes.
    pub fn new(ty: ElemType, shape: Vec<u64>, data: Vec<u8>) -> Result<Self, ShapeError> {
        let needed = byte_size(ty, &shape, u64::MAX)?;
        if needed != data.len() as u64 {
            return Err(ShapeError::Length { needed, got: data.len() as u64 });
        }
        Ok(Self { ty, shape, data })
    }

    /// A one-dimensional array of bit patterns.
    #[must_use]
    pub fn from_bits(ty: ElemType, bits: &[u64]) -> Self {
        let mut data = Vec::with_capacity(bits.len() * ty.bytes());
        for value in bits {
            data.extend_from_slice(&value.to_le_bytes()[..ty.bytes()]);
        }
        Self { ty, shape: vec![bits.len() as u64], data }
    }

    /// Element type.
    #[must_use]
    pub fn ty(&self) -> ElemType {
        self.ty
    }

    /// Extents, slowest first; empty for a single value without dimensions.
    #[must_use]
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.data.len() / self.ty.bytes()
    }

    /// Whether it has no element.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// All bytes.
    #[must_use]
    pub fn data(&self) -> &[u8] {
        &self.data
    }

    /// Bit pattern of the element at a flat index in C order.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<u64> {
        let size = self.ty.bytes();
        let start = index.checked_mul(size)?;
        let bytes = self.data.get(start..start.checked_add(size)?)?;
        let mut word = [0; 8];
        word[..size].copy_from_slice(bytes);
        Some(u64::from_le_bytes(word))
    }

    /// Bit patterns of all elements in C order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = u64> + '_ {
        let size = self.ty.bytes();
        self.data.chunks_exact(size).map(move |bytes| {
            let mut word = [0; 8];
            word[..size].copy_from_slice(bytes);
            u64::from_le_bytes(word)
        })
    }

    /// The same bytes under another type of the same size.
    ///
    /// # Errors
    /// Gives the array back unchanged if the sizes differ.
    pub fn with_type(mut self, ty: ElemType) -> Result<Self, Self> {
        if ty.bytes() != self.ty.bytes() {
            return Err(self);
        }
        self.ty = ty;
        Ok(self)
    }

    /// The same elements under another shape.
    ///
    /// # Errors
    /// If the number of elements differs.
    pub fn with_shape(self, shape: Vec<u64>) -> Result<Self, ShapeError> {
        Self::new(self.ty, shape, self.data)
    }

    /// `type[shape]`, as in an argument specification.
    #[must_use]
    pub fn describe(&self) -> String {
        format!("{}[{}]", self.ty, shape_text(&self.shape))
    }

    /// The subscripts of a flat index, slowest first: `[1,63]`.
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
