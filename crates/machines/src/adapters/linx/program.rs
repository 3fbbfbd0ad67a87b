//! Reading of programs.

use std::collections::BTreeMap;

use ::linx::{
    Codec, Conventions, Encoding, Linx, Parameter, ParameterType, Program as Code, TileOps,
    Variant, load_elf,
};
use inputs::elem::shortened;
use isa::{Diagnostic, Diagnostics, SourceFile, Span};

use super::super::listing::Listing;
use super::super::shared::{as_text, refused, text_of};
use super::bodies;
use crate::interface::Image;

/// How programs are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    /// The numbering of tile operations.
    pub(super) tile_ops: TileOps,
    /// The reading of the operands of 64-bit forms.
    pub(super) codec: Codec,
    /// The conventions; `None`: those of the kind of file.
    pub(super) conventions: Option<Conventions>,
    /// The table of a designer.
    pub(super) variant: Option<&'static Variant>,
}

impl Reading {
    /// How a text or a flat binary is encoded.
    fn encoding(self) -> Encoding {
        let conventions = self.conventions.unwrap_or_default();
        Encoding { tile_ops: self.tile_ops, conventions, variant: self.variant }
    }

    /// How texts are assembled: their modifiers are written, whatever the conventions.
    fn written(self) -> Encoding {
        Encoding { variant: self.variant, ..Encoding::from(self.tile_ops) }
    }

    /// Assembles text.
    pub(super) fn assembled(self, image: Image<'_>) -> Result<isa::asm::Image, Diagnostics> {
        let text = text_of(&image)?;
        match self.codec {
            Codec::RegId10 => ::linx::assemble(image.file, text, self.written()),
            Codec::Other => isa::asm::assemble(::linx::other_dialect(), image.file, text),
        }
    }

    /// Assembles text and lists it.
    pub(super) fn listing(self, image: Image<'_>) -> Result<String, Diagnostics> {
        let (assembled, text) = (self.assembled(image)?, text_of(&image)?);
        if self.codec == Codec::Other {
            return Ok(assembled.listing(&SourceFile::new("", text)));
        }
        bodies::listing(&assembled, text, self.encoding())
    }

    /// Assembles text to a binary.
    pub(super) fn assemble(self, image: Image<'_>) -> Result<Vec<u8>, Diagnostics> {
        let assembled = self.assembled(image)?;
        ::linx::binary(&assembled).map_err(|error| refused("linx::load", error.to_string()))
    }

    /// Loads a compiled program; `None` if the file is none.
    fn compiled(self, image: Image<'_>) -> Result<Option<Code>, Diagnostics> {
        if self.variant.is_some() && ::linx::is_compiled(image.bytes) {
            let why = "compiled programs have the numbers of LinxISA: a table is for texts and \
                       flat binaries";
            return Err(refused("linx::load", why.to_owned()));
        }
        load_elf(image.bytes, "the object", self.tile_ops, self.conventions).map_err(|error| {
            let finding = Diagnostic::error("linx::load", error.to_string());
            let finding = finding.at(Span::new(image.file, 0, 0), "");
            let mut found = Diagnostics::new();
            found.push(match error.help() {
                Some(help) => finding.help(help),
                None => finding,
            });
            found
        })
    }

    /// Disassembles a binary.
    ///
    /// # Errors
    /// If a compiled program cannot be loaded.
    pub(super) fn disassemble(self, image: Image<'_>) -> Result<String, Diagnostics> {
        if let Some(program) = self.compiled(image)? {
            return Ok(compiled_listing(&program));
        }
        Ok(self.flat(image))
    }

    fn flat(self, image: Image<'_>) -> String {
        if self.codec == Codec::Other {
            let dialect = ::linx::other_dialect();
            let lines = isa::disasm::disassemble(dialect, image.bytes, ::linx::TEXT);
            return isa::disasm::listing(&lines);
        }
        ::linx::listing(image.bytes, self.written())
    }
}

/// The listing of a compiled program: code with the names of functions.
fn compiled_listing(program: &Code) -> String {
    let mut out = String::new();
    for (base, bytes) in program.code() {
        let lines = ::linx::disassemble(bytes, base, program.encoding());
        for mut line in lines {
            if let Some(name) = program.place(line.address).filter(|name| !name.contains('+')) {
                line.label = Some(name);
            }
            out.push_str(&isa::disasm::listing(&[line]));
        }
    }
    out
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
        let (tile_ops, encoding) = (reading.tile_ops, reading.encoding());
        if reading.codec == Codec::Other {
            let finding = "operands in codec B have no types: such programs cannot be run";
            return Err(refused("linx::codec", finding));
        }
        if let Some(code) = reading.compiled(image)? {
            let labels = code.process.as_ref().map(|p| p.symbols.clone()).unwrap_or_default();
            let (params, listing) = (Vec::new(), Listing::default());
            return Ok(Self { code, params, optional: true, listing, labels, tile_ops });
        }
        let Some(text) = as_text(&image) else {
            let code = Code::from_binary(image.bytes, encoding).map_err(not_loaded)?;
            let (params, listing, labels) = (Parameter::all(), Listing::default(), BTreeMap::new());
            return Ok(Self { code, params, optional: true, listing, labels, tile_ops });
        };
        let mut assembled = ::linx::assemble(image.file, text, reading.written())?;
        found.append(std::mem::take(&mut assembled.warnings));
        let params = ::linx::parameters(&assembled)?;
        let code = Code::from_image(&assembled, encoding).map_err(not_loaded)?;
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

    /// Checks conventions against those with which the program was read; they cannot change
    /// afterwards.
    pub(super) fn conventions_are(&self, wanted: &str) -> Result<(), String> {
        let read = match self.code.conventions() {
            Conventions::V04 => "v0.4",
            Conventions::Compiler => "compiler",
        };
        if matches!(wanted, "auto") || wanted == read {
            return Ok(());
        }
        Err(format!("the program has been read with {read}: say conventions for the whole file"))
    }

    /// Checks a table against the one with which the program was read; it cannot change afterwards.
    pub(super) fn table_is(&self, file: &str) -> Result<(), String> {
        if Some(super::table(file)?) == self.code.encoding().variant {
            return Ok(());
        }
        Err("the program has been read with other numbers: say table for the whole file".to_owned())
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
