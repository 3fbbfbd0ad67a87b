//! Elements of tiles: their types, their layout in a tile, narrow floats widened.

use simt::arith::{Flags, FpEnv};

use crate::compute::{self, FloatType, extend};

/// The type of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    Float(FloatType, u32),
    Int(u32, bool),
}

impl Element {
    pub(super) fn of(code: u8) -> Option<Self> {
        Some(match code {
            0 => Self::Float(FloatType::Fp64, 64),
            1 => Self::Float(FloatType::Fp32, 32),
            2 => Self::Float(FloatType::Fp16, 16),
            6 => Self::Float(FloatType::Bf16, 16),
            16..=19 => Self::Int(64 >> (code - 16), true),
            24..=27 => Self::Int(64 >> (code - 24), false),
            _ => return None,
        })
    }

    pub(super) fn bytes(self) -> usize {
        match self {
            Self::Float(_, bits) | Self::Int(bits, _) => bits as usize / 8,
        }
    }
}

/// An element, extended.
pub(super) fn read(tile: &[u8], index: usize, element: Element) -> u64 {
    let size = element.bytes();
    let mut bytes = [0; 8];
    if let Some(found) = tile.get(index * size..(index + 1) * size) {
        bytes[..size].copy_from_slice(found);
    }
    let raw = u64::from_le_bytes(bytes);
    match element {
        Element::Int(bits, signed) => extend(raw, bits, signed),
        Element::Float(..) => raw,
    }
}

pub(super) fn write(tile: &mut [u8], index: usize, element: Element, value: u64) {
    let size = element.bytes();
    if let Some(place) = tile.get_mut(index * size..(index + 1) * size) {
        place.copy_from_slice(&value.to_le_bytes()[..size]);
    }
}

/// Narrow floats as FP32.
pub(super) fn wide(element: Element, value: u64, env: FpEnv, flags: &mut Flags) -> u64 {
    match element {
        Element::Float(from @ (FloatType::Fp16 | FloatType::Bf16), _) => {
            compute::float_to_float(value, from, FloatType::Fp32, env, flags)
        }
        _ => value,
    }
}
