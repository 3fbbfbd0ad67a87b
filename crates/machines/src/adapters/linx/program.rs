//! Reading of programs.

use std::collections::BTreeMap;

use ::linx::{Codec, Linx, Parameter, ParameterType, Program as Code, TileOps};
use inputs::elem::shortened;
use isa::Diagnostics;

use super::super::listing::Listing;
use super::super::shared::{as_text, refused, text_of};
use crate::interface::Image;

/// How programs are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    /// The numbering of tile operations.
    pub(super) tile_ops: TileOps,
    /// The reading of the operands of 64-bit forms.
    pub(super) codec: Codec,
}

impl Reading {
    /// Assembles text.
    pub(super) fn assembled(self, image: Image<'_>) -> Result<isa::asm::Image, Diagnostics> {
        let text = text_of(&image)?;
        match self.codec {
            Codec::RegId10 => ::linx::assemble(image.file, text, self.tile_ops),
            Codec::Other => isa::asm::assemble(::linx::other_dialect(), image.file, text),
        }
    }

    /// Assembles text to a binary.
    pub(super) fn assemble(self, image: Image<'_>) -> Result<Vec<u8>, Diagnostics> {
        let assembled = self.assembled(image)?;
        ::linx::binary(&assembled).map_err(|error| refused("linx::load", error.to_string()))
    }

    /// Disassembles a binary.
    pub(super) fn disassemble(self, image: Image<'_>) -> String {
        if self.codec == Codec::Other {
            let dialect = ::linx::other_dialect();
            let lines = isa::disasm::disassemble(dialect, image.bytes, ::linx::TEXT);
            return isa::disasm::listing(&lines);
        }
        ::linx::listing(image.bytes, self.tile_ops)
    }
}

/// A loaded program.
pub(super) struct LinxProgram {
    pub(super) code: Code,
    pub(super) params: Vec<Parameter>,
    /// Whether arguments may be omitted: a binary does not declare its parameters.
    pub(super) optional: bool,
    pub(super) listing: Listing,
    pub(super) labels: BTreeMap<String, u64>,
    pub(super) tile_ops: TileOps,
}

impl LinxProgram {
    /// Reads a program; adds warnings to `found`.
    pub(super) fn read(
        reading: Reading,
        image: Image<'_>,
        found: &mut Diagnostics,
    ) -> Result<Self, Diagnostics> {
        let not_loaded = |error: ::linx::LoadError| refused("linx::load", error.to_string());
        let tile_ops = reading.tile_ops;
        if reading.codec == Codec::Other {
            let finding = "operands in codec B have no types: such programs cannot be run";
            return Err(refused("linx::codec", finding));
        }
        let Some(text) = as_text(&image) else {
            let code = Code::from_binary(image.bytes, tile_ops).map_err(not_loaded)?;
            let (params, listing, labels) = (Parameter::all(), Listing::default(), BTreeMap::new());
            return Ok(Self { code, params, optional: true, listing, labels, tile_ops });
        };
        let mut assembled = ::linx::assemble(image.file, text, tile_ops)?;
        found.append(std::mem::take(&mut assembled.warnings));
        let params = ::linx::parameters(&assembled)?;
        let code = Code::from_image(&assembled, tile_ops).map_err(not_loaded)?;
        found.append(Linx::body_warnings(&code, &assembled));
        let labels = assembled.symbols.iter().filter(|s| s.address);
        let labels = labels.map(|s| (s.name.clone(), s.value)).collect();
        let listing = Listing::new(text, assembled.lines);
        Ok(Self { code, params, optional: false, listing, labels, tile_ops })
    }

    /// Returns the argument registers from the parameter block, which has eight bytes for each
    /// parameter.
    pub(super) fn arguments(&self, block: &[u8]) -> Vec<u64> {
        let types = self.params.iter().map(|param| Some(param.ty)).chain(std::iter::repeat(None));
        let register = |(bytes, ty): (&[u8], Option<ParameterType>)| {
            let word = isa::decode::window(bytes).0;
            ty.map_or(word, |ty| ty.extend(word))
        };
        block.chunks(8).zip(types).map(register).collect()
    }

    /// Parses an address or resolves a label.
    pub(super) fn place(&self, text: &str) -> Result<u64, String> {
        let hex = text.strip_prefix("0x").map(|hex| u64::from_str_radix(hex, 16).ok());
        let number = hex.unwrap_or_else(|| text.parse().ok());
        let place = number.or_else(|| self.labels.get(text).copied());
        place.ok_or_else(|| format!("`{}` is not an address and no label", shortened(text)))
    }

    /// Checks `tile_ops` against the numbering with which the program was read; it cannot change
    /// afterwards.
    pub(super) fn read_with(&self, tile_ops: &str) -> Result<(), String> {
        let read = if self.tile_ops == TileOps::V03 { "v0.3" } else { "v0.4" };
        if tile_ops == read {
            return Ok(());
        }
        Err(format!("the program has been read with {read}: say tile-ops for the whole file"))
    }
}
