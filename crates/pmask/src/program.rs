//! Programs: ELF files, and assembly text.

use std::collections::BTreeMap;

use isa::asm::Image;
use isa::elf::{ElfError, Wanted};
use isa::{Diagnostics, FileId, Span};

use crate::asm::assemble;
use crate::table::TEXT_BASE;

/// The files of this machine: `EM_RISCV`.
const WANTED: Wanted = Wanted {
    machine: 243,
    what: "executables for 64-bit little-endian RISC-V",
    position_independent: false,
};

/// Bytes that lie in memory before the first instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Address of the first byte.
    pub address: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Length in memory: the bytes, then zeros.
    pub size: u64,
}

/// A loaded program.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The initial contents of memory, in the order of the file.
    pub segments: Vec<Segment>,
    /// Address of the first instruction.
    pub entry: u64,
    /// Symbols by name.
    pub symbols: BTreeMap<String, u64>,
    /// The image of the assembler, for programs that were text: it has the line of each
    /// instruction.
    pub image: Option<Image>,
}

/// The reason that a file is not a program.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LoadError {
    /// The file is neither ELF nor text.
    #[error(
        "the file is neither an ELF file nor UTF-8 assembly text (byte {byte:#04x} at offset {offset})"
    )]
    NotText {
        /// The first byte that is not text.
        byte: u8,
        /// Its offset.
        offset: usize,
    },
    /// The ELF file is not one that this machine runs.
    #[error(transparent)]
    Elf(#[from] ElfError),
    /// The text has errors.
    #[error("the text does not assemble: {}", first(.0))]
    Text(Diagnostics),
}

fn first(found: &Diagnostics) -> &str {
    found.iter().next().map_or("", |d| d.message.as_str())
}

impl Program {
    /// Reads an ELF file, or UTF-8 assembly text.
    ///
    /// # Errors
    /// Returns [`LoadError`] if it is neither, or has errors.
    pub fn load(bytes: &[u8], file: FileId) -> Result<Self, LoadError> {
        if isa::elf::is_elf(bytes) {
            return Self::from_elf(bytes);
        }
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::from_text(file, text).map_err(LoadError::Text),
            Err(error) => {
                let offset = error.valid_up_to();
                let byte = bytes.get(offset).copied().unwrap_or(0);
                Err(LoadError::NotText { byte, offset })
            }
        }
    }

    /// Assembles a text. It starts at the symbol `_start`, else `main`, else at the first byte of
    /// `.text`.
    ///
    /// # Errors
    /// Returns all errors of the text.
    pub fn from_text(file: FileId, text: &str) -> Result<Self, Diagnostics> {
        let image = assemble(file, text)?;
        let symbols: BTreeMap<String, u64> =
            image.symbols.iter().map(|s| (s.name.clone(), s.value)).collect();
        let first_text = image.segments.iter().find(|s| s.section == ".text");
        let start = ["_start", "main"].iter().find_map(|name| symbols.get(*name).copied());
        let entry = start.or(first_text.map(|s| s.address)).unwrap_or(TEXT_BASE);
        let segments = image.segments.iter().map(|s| Segment {
            address: s.address,
            bytes: s.bytes.clone(),
            size: s.bytes.len() as u64,
        });
        Ok(Self { segments: segments.collect(), entry, symbols, image: Some(image) })
    }

    /// Reads a linked ELF file for 64-bit RISC-V.
    ///
    /// # Errors
    /// Returns [`LoadError`] if the file is damaged, for another machine, or not linked.
    pub fn from_elf(bytes: &[u8]) -> Result<Self, LoadError> {
        let file = isa::elf::executable(bytes, WANTED)?;
        let mut segments = Vec::new();
        for segment in file.segments {
            let (address, runs_at, size) = (segment.loaded_at, segment.address, segment.size);
            segments.push(Segment { address, bytes: segment.bytes, size });
            if runs_at != address {
                segments.push(Segment { address: runs_at, bytes: Vec::new(), size });
            }
        }
        Ok(Self { segments, entry: file.entry, symbols: file.symbols, image: None })
    }

    /// The address of a symbol.
    #[must_use]
    pub fn symbol(&self, name: &str) -> Option<u64> {
        self.symbols.get(name).copied()
    }

    /// The statement that made the instruction at an address, for programs that were text.
    #[must_use]
    pub fn span_at(&self, address: u64) -> Option<Span> {
        self.image.as_ref()?.line_at(address).map(|line| line.span)
    }

    /// The symbol at or before an address, and the distance from it: `main+0x10`.
    #[must_use]
    pub fn place(&self, address: u64) -> Option<String> {
        let below =
            self.symbols.iter().filter(|(name, at)| **at <= address && !name.starts_with('$'));
        let (name, at) = below.max_by_key(|(_, at)| **at)?;
        // Farther from the symbol than any function is long, its name is meaningless.
        match address - at {
            0 => Some(name.clone()),
            distance if distance < 1 << 20 => Some(format!("{name}+{distance:#x}")),
            _ => None,
        }
    }
}
