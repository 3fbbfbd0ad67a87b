//! Construction of buffers from their specifications.

use std::path::Path;

use isa::Diagnostic;

use super::{BufferSpec, Contents, Progression, random};
use crate::array::{Array, ShapeError, byte_size, reserve, shape_text};
use crate::elem::ElemType;
use crate::limits::Limits;
use crate::npy;

/// The context in which a specification is evaluated.
#[derive(Clone, Copy, Debug)]
pub struct BuildContext<'a> {
    /// Base folder of relative paths.
    pub directory: &'a Path,
    /// The run's seed, for `random` without a seed.
    pub run_seed: u64,
    /// Caps on memory.
    pub limits: Limits,
}

impl BufferSpec {
    /// Builds the contents of the buffer `name`.
    ///
    /// # Errors
    /// Returns a diagnostic if the buffer is too large, or its file is missing, damaged, or of
    /// another type or shape.
    pub fn build(&self, name: &str, context: BuildContext<'_>) -> Result<Array, Diagnostic> {
        if let Contents::File(path) = &self.contents {
            return self.load(path, context);
        }
        // The parser requires a type and a shape unless the contents are a file.
        let (Some(ty), Some(shape)) = (self.ty, self.shape.as_ref()) else {
            return Err(Diagnostic::error("arg::shape", "the buffer has no type or shape")
                .at(self.span, "")
                .help("write it as type[extents], for instance f32[1024]"));
        };
        let cap = context.limits.buffer_bytes;
        let bytes = byte_size(ty, shape, cap).map_err(|e| self.too_large(&e))?;
        let mut data = reserve(bytes).map_err(|e| self.too_large(&e))?;
        self.fill(&mut data, ty, bytes, random::seed_for(context.run_seed, name));
        Array::new(ty, shape.clone(), data).map_err(|e| self.too_large(&e))
    }

    /// Returns the size in bytes if the specification states type and shape and the size does not
    /// exceed `cap`.
    #[must_use]
    pub fn stated_bytes(&self, cap: u64) -> Option<u64> {
        byte_size(self.ty?, self.shape.as_ref()?, cap).ok()
    }

    fn fill(&self, data: &mut Vec<u8>, ty: ElemType, bytes: u64, named_seed: u64) {
        let size = ty.bytes();
        let count = bytes / size as u64;
        let mut push = |bits: u64| data.extend_from_slice(&bits.to_le_bytes()[..size]);
        match &self.contents {
            Contents::Zeros => data.resize(bytes as usize, 0),
            Contents::Fill(bits) => (0..count).for_each(|_| push(*bits)),
            Contents::Values(values) => values.iter().for_each(|&bits| push(bits)),
            Contents::Iota(progression) => {
                (0..count).for_each(|i| push(progression.element(ty, i)));
            }
            Contents::Random { seed, range } => {
                let seed = seed.unwrap_or(named_seed);
                (0..count).for_each(|i| push(random::element(ty, *range, seed, i)));
            }
            Contents::File(_) => {}
        }
    }

    fn too_large(&self, error: &ShapeError) -> Diagnostic {
        Diagnostic::error("arg::too-large", format!("the buffer is too large: {error}"))
            .at(self.span, "asked for here")
            .help("use smaller extents")
    }

    fn load(&self, path: &Path, context: BuildContext<'_>) -> Result<Array, Diagnostic> {
        let full = context.directory.join(path);
        let array = npy::load(&full, context.limits.buffer_bytes).map_err(|error| {
            Diagnostic::error("arg::npy", format!("cannot read {}: {error}", path.display()))
                .at(self.span, "named here")
                .help(error.help())
        })?;
        self.as_declared(path, array)
    }

    /// Checks a file against the type and shape that the specification states.
    fn as_declared(&self, path: &Path, array: Array) -> Result<Array, Diagnostic> {
        let found = array.describe();
        let mismatch = |what: &str, help: String| {
            Diagnostic::error("arg::npy-type", format!("{} has another {what}", path.display()))
                .at(self.span, format!("the file holds {found}"))
                .help(help)
        };
        if let Some(shape) = &self.shape
            && shape != array.shape()
        {
            return Err(mismatch(
                "shape than stated",
                format!(
                    "state [{}], or leave the type and shape away: @{}",
                    shape_text(array.shape()),
                    path.display()
                ),
            ));
        }
        match self.ty {
            None => Ok(array),
            Some(ty) if ty.accepts(array.ty()) => {
                Ok(array.with_type(ty).unwrap_or_else(|same| same))
            }
            Some(ty) => Err(mismatch(
                "element type than stated",
                format!("state {}, or save the array as {ty}", array.ty()),
            )),
        }
    }
}

impl Progression {
    /// Returns the bit pattern of element `index`.
    #[must_use]
    pub fn element(&self, ty: ElemType, index: u64) -> u64 {
        match *self {
            Self::Int { start, step } => {
                ty.wrap(start.wrapping_add(step.wrapping_mul(i128::from(index))))
            }
            Self::Float { start, step } => ty.round(start + step * index as f64).unwrap_or(0),
        }
    }
}
