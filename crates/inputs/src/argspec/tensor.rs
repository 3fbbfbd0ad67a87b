//! Tensor maps as arguments: `&a:tensormap(box=[64,64], swizzle=128b)`.
//!
//! The tensor is the buffer, with its type and extents, dense; the box has its extents in the
//! buffer's order, in which the innermost dimension is the last. Maps of other tensors are bytes
//! that a kernel makes.

use std::ops::Range;

use isa::suggest::nearest;
use isa::{Diagnostic, Span};
use simt::tensor::{Fill, Interleave, MAX_RANK, Mode, TensorElement, TensorMap, TensorSwizzle};

use super::parse::{Parser, Result};
use super::{ArgValue, BufferRef};
use crate::elem::{self, ElemType, shortened};

/// The names of swizzles, in the order of [`TensorSwizzle::ALL`].
const SWIZZLES: [&str; 7] =
    ["none", "32b", "64b", "128b", "128b_atom_32b", "128b_atom_32b_flip_8b", "128b_atom_64b"];

/// The specification of a tensor map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorSpec {
    /// The tensor.
    pub buffer: BufferRef,
    /// Elements of the box along each dimension, the slowest first.
    pub extents: Vec<u64>,
    /// Element strides in the same order; if empty, all are 1.
    pub steps: Vec<u64>,
    /// How a box is spread in shared memory.
    pub swizzle: TensorSwizzle,
    /// What is read out of bounds.
    pub fill: Fill,
    /// The map, once the tensor is known, without its address.
    pub map: Option<TensorMap>,
}

impl TensorSpec {
    /// Makes the map of a tensor of this type and shape. `span` is the place of the argument.
    ///
    /// # Errors
    /// Returns a diagnostic if the box does not go with the tensor, or the map breaks a rule of the
    /// driver.
    pub fn make(&mut self, ty: ElemType, shape: &[u64], span: Span) -> Result<()> {
        let error = |message: String| Diagnostic::error("arg::tensormap", message).at(span, "");
        let rank = shape.len();
        let fits = |list: &[u64]| list.len() == rank;
        if !fits(&self.extents) || !self.steps.is_empty() && !fits(&self.steps) {
            let message = format!("`{}` has {rank} dimensions", shortened(&self.buffer.name));
            return Err(error(message).help("give box and steps a number for each, in its order"));
        }
        if !(1..=MAX_RANK).contains(&rank) {
            let message = format!("a tensor has 1 to {MAX_RANK} dimensions, not {rank}");
            return Err(error(message).help("give the buffer another shape"));
        }
        let mut map = TensorMap {
            element: element(ty),
            rank: rank as u32,
            address: 0,
            extents: [1; MAX_RANK],
            strides: [0; MAX_RANK - 1],
            steps: [1; MAX_RANK],
            interleave: Interleave::None,
            swizzle: self.swizzle,
            promotion: 0,
            fill: self.fill,
            mode: Mode::Tiled { extents: [1; MAX_RANK] },
        };
        let narrow = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
        let mut extents = [1; MAX_RANK];
        let mut pitch = ty.bytes() as u64;
        for (inner, outer) in (0..rank).rev().enumerate() {
            map.extents[inner] = shape[outer];
            extents[inner] = narrow(self.extents[outer]);
            map.steps[inner] = self.steps.get(outer).map_or(1, |&step| narrow(step));
            pitch = pitch.saturating_mul(shape[outer]);
            if inner + 1 < rank {
                map.strides[inner] = pitch;
            }
        }
        map.mode = Mode::Tiled { extents };
        map.check().map_err(|reason| {
            error(reason.to_string()).help("dimension 0 is the innermost, the last of the buffer")
        })?;
        self.map = Some(map);
        Ok(())
    }
}

fn element(ty: ElemType) -> TensorElement {
    match ty {
        ElemType::U8 | ElemType::S8 | ElemType::B8 => TensorElement::U8,
        ElemType::U16 | ElemType::S16 | ElemType::B16 => TensorElement::U16,
        ElemType::U32 | ElemType::B32 => TensorElement::U32,
        ElemType::S32 => TensorElement::S32,
        ElemType::U64 | ElemType::B64 => TensorElement::U64,
        ElemType::S64 => TensorElement::S64,
        ElemType::F16 => TensorElement::F16,
        ElemType::Bf16 => TensorElement::Bf16,
        ElemType::F32 => TensorElement::F32,
        ElemType::F64 => TensorElement::F64,
    }
}

impl Parser<'_> {
    /// Parses what follows the colon after a reference to a buffer.
    pub(super) fn tensor(&mut self, buffer: BufferRef) -> Result<ArgValue> {
        let (word, range) = self.word();
        if word != "tensormap" {
            let message = format!("`{}` is no way to pass a buffer", shortened(word));
            return Err(self
                .error("arg::tensormap", range, message, "")
                .help("write &name, or &name:tensormap(box=[64,64])"));
        }
        let after = self.at..self.at;
        let [extents, steps, swizzle, fill] =
            self.options("tensormap", ["box", "steps", "swizzle", "fill"])?;
        let Some(extents) = extents else {
            return Err(self
                .error("arg::tensormap", after, "the box is missing", "")
                .help("write tensormap(box=[64,64]): the elements that a copy moves"));
        };
        let swizzle = match swizzle {
            Some(range) => TensorSwizzle::ALL[self.one_of(range, "swizzle", &SWIZZLES)?],
            None => TensorSwizzle::None,
        };
        let fill = match fill {
            Some(range) => {
                [Fill::Zeros, Fill::Nan][self.one_of(range, "fill", &["zeros", "nan"])?]
            }
            None => Fill::Zeros,
        };
        let extents = self.list(extents)?;
        let steps = steps.map_or(Ok(Vec::new()), |range| self.list(range))?;
        Ok(ArgValue::Tensor(TensorSpec { buffer, extents, steps, swizzle, fill, map: None }))
    }

    /// Returns which of the names the text is.
    fn one_of(&self, range: Range<usize>, option: &str, names: &[&str]) -> Result<usize> {
        let text = self.text_of(range.clone()).trim();
        names.iter().position(|name| *name == text).ok_or_else(|| {
            let help = match nearest(text, names.iter().copied()) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("{option} is {}", names.join(", ")),
            };
            let message = format!("`{}` is not a {option}", shortened(text));
            self.error("arg::option", range, message, "").help(help)
        })
    }

    /// Parses `[n, n, ...]`.
    fn list(&self, range: Range<usize>) -> Result<Vec<u64>> {
        let text = self.text_of(range.clone()).trim();
        let inside = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
        let number = |text: &str| {
            elem::parse_any_integer(text.trim()).and_then(|value| u64::try_from(value).ok())
        };
        let all: Option<Vec<u64>> = inside.and_then(|text| text.split(',').map(number).collect());
        all.ok_or_else(|| {
            self.error("arg::option", range, "these are not numbers of elements", "")
                .help("write them in brackets: [64,64]")
        })
    }
}
