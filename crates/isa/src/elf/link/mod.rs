//! A static linker: relocatable objects, or an archive of them, as one program.
//!
//! Sections are laid out one after another: code, constants, data, zeros. The relocations of a
//! machine are its own table ([`Relocations`]); symbols and addresses are the linker's.

mod linker;

use std::collections::BTreeMap;

use object::elf as format;
use object::read::archive::ArchiveFile;

use super::{ElfError, File, Segment, Wanted, parse};
use linker::Linker;

/// Undefined symbols that a message names.
const NAMED: usize = 40;

/// What a relocation computes with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Values {
    /// Address of the relocated bytes.
    pub place: u64,
    /// Address of the symbol, plus the addend.
    pub target: u64,
    /// Address of the symbol's slot in the global offset table; 0 if the relocation needs none.
    pub slot: u64,
}

/// The relocation types of a machine.
pub trait Relocations {
    /// Returns the name of a type; `None` if the machine has no such type.
    fn name(&self, kind: u32) -> Option<&'static str>;

    /// Returns whether a type refers to a slot of the global offset table.
    fn needs_slot(&self, kind: u32) -> bool;

    /// Changes the bytes at the relocated place, which reach to the end of the section.
    ///
    /// # Errors
    /// Returns the reason as a sentence: a distance that does not fit, too few bytes.
    fn apply(&self, kind: u32, bytes: &mut [u8], values: Values) -> Result<(), String>;
}

/// A named object file.
#[derive(Clone, Debug)]
pub struct ObjectFile<'d> {
    /// Its name, for messages.
    pub name: String,
    /// Its bytes.
    pub bytes: &'d [u8],
}

/// A symbol that no object defines, with the first place that needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undefined {
    /// The symbol.
    pub name: String,
    /// The place: object, section, offset.
    pub place: String,
}

/// The reason that objects are not linked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// An object is not readable.
    #[error("{object}: {error}")]
    Object {
        /// The object.
        object: String,
        /// What is wrong.
        error: ElfError,
    },
    /// The archive is damaged.
    #[error("the archive cannot be read: {0}")]
    Archive(String),
    /// There is nothing to link.
    #[error("there is no object to link, or none with contents")]
    Empty,
    /// Symbols that nothing defines.
    #[error("{} not defined: {}", count(.0.len()), list(.0))]
    Undefined(Vec<Undefined>),
    /// Two objects define a symbol.
    #[error("`{symbol}` is defined in {first} and in {second}")]
    Duplicate {
        /// The symbol.
        symbol: String,
        /// One object.
        first: String,
        /// The other.
        second: String,
    },
    /// A relocation of a type that the machine does not have.
    #[error("{place}: there is no relocation of type {kind}{known}")]
    Unknown {
        /// The place: object, section, offset.
        place: String,
        /// The type.
        kind: u32,
        /// The symbol that it refers to.
        known: String,
    },
    /// A relocation that cannot be applied.
    #[error("{place}: {relocation} against `{symbol}`: {why}")]
    Relocation {
        /// The place: object, section, offset.
        place: String,
        /// The type's name.
        relocation: &'static str,
        /// The symbol that it refers to.
        symbol: String,
        /// The reason.
        why: String,
    },
    /// A section that cannot be laid out.
    #[error("{object}: the section {section} {why}")]
    Section {
        /// The object.
        object: String,
        /// The section.
        section: String,
        /// The reason.
        why: String,
    },
}

fn count(symbols: usize) -> String {
    if symbols == 1 { "a symbol is".to_owned() } else { format!("{symbols} symbols are") }
}

fn list(undefined: &[Undefined]) -> String {
    let one = |u: &Undefined| format!("`{}` ({})", u.name, u.place);
    let mut text = undefined.iter().take(NAMED).map(one).collect::<Vec<_>>().join(", ");
    if undefined.len() > NAMED {
        text.push_str(", ...");
    }
    text
}

/// A linked program.
#[derive(Clone, Debug, Default)]
pub struct Linked {
    /// What is loaded, ascending.
    pub segments: Vec<Segment>,
    /// Global symbols by name; a local one if no global one has its name.
    pub symbols: BTreeMap<String, u64>,
    /// Names of functions by address.
    pub functions: BTreeMap<u64, String>,
    /// Names that `provided` has given an address, in order.
    pub provided: BTreeMap<String, u64>,
}

/// Returns whether a file is an archive by its first bytes.
#[must_use]
pub fn is_archive(bytes: &[u8]) -> bool {
    bytes.starts_with(b"!<arch>\n")
}

/// Returns the objects of an archive, in its order.
///
/// # Errors
/// If the archive is damaged.
pub fn members(bytes: &[u8]) -> Result<Vec<ObjectFile<'_>>, LinkError> {
    let damaged = |error: object::Error| LinkError::Archive(error.to_string());
    let archive = ArchiveFile::parse(bytes).map_err(damaged)?;
    let mut out = Vec::new();
    for member in archive.members() {
        let member = member.map_err(damaged)?;
        let name = String::from_utf8_lossy(member.name()).into_owned();
        out.push(ObjectFile { name, bytes: member.data(bytes).map_err(damaged)? });
    }
    Ok(out)
}

/// Links objects from an address on. `provided` gives addresses to symbols that no object defines.
///
/// # Errors
/// Returns the first object, section or relocation at fault, or all undefined symbols.
pub fn link(
    objects: &[ObjectFile<'_>],
    wanted: Wanted,
    relocations: &dyn Relocations,
    base: u64,
    provided: &dyn Fn(&str) -> Option<u64>,
) -> Result<Linked, LinkError> {
    let mut files = Vec::new();
    for object in objects {
        let file = relocatable(object, wanted)?;
        files.push((object.name.as_str(), file));
    }
    let mut linker = Linker::new(files, relocations);
    linker.lay_out(base)?;
    linker.define(provided)?;
    linker.relocate()?;
    Ok(linker.finish())
}

fn relocatable<'d>(object: &ObjectFile<'d>, wanted: Wanted) -> Result<File<'d>, LinkError> {
    let wrong = |error| LinkError::Object { object: object.name.clone(), error };
    if !super::is_elf(object.bytes) {
        return Err(wrong(ElfError::Damaged("it does not start as an ELF file".to_owned())));
    }
    let file = parse(object.bytes, wanted).map_err(wrong)?;
    let kind = object::read::elf::FileHeader::e_type(file.elf_header(), file.endian());
    if kind != format::ET_REL {
        let found = format!("of type {}, not a relocatable object", kind.0);
        return Err(wrong(ElfError::Wrong { found, wanted: wanted.what }));
    }
    Ok(file)
}
