//! ELF files of 64 bits, little-endian: executables and, in [`link`], relocatable objects.
//!
//! The `object` crate reads the format; this module checks what a machine asks for (class, byte
//! order, machine number, type) and gives segments and symbols. All machines that run ELF files
//! stand on it.

pub mod link;

use std::collections::BTreeMap;

use object::elf as format;
use object::read::elf::{ElfFile64, FileHeader as _, ProgramHeader as _};
use object::{Endianness, Object as _, ObjectSymbol as _};

/// The machine whose files are read.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// `e_machine`.
    pub machine: u16,
    /// What the machine runs, for messages: `executables for 64-bit little-endian RISC-V`.
    pub what: &'static str,
    /// Whether static position-independent executables are taken, at the addresses that they are
    /// linked for.
    pub position_independent: bool,
}

/// Bytes of a program that lie in memory before the first instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Address of the first byte when the program runs.
    pub address: u64,
    /// The address at which a loader puts it: start-up code moves what runs elsewhere.
    pub loaded_at: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Length in memory: the bytes, then zeros.
    pub size: u64,
    /// Whether it holds instructions.
    pub executable: bool,
    /// Whether the program may write it.
    pub writable: bool,
}

/// The table of program headers, as start-up code reads it in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProgramHeaders {
    /// Address in memory; 0 if no segment holds the table.
    pub address: u64,
    /// Bytes of an entry.
    pub entry_size: u64,
    /// How many entries.
    pub count: u64,
}

/// A linked program.
#[derive(Clone, Debug, Default)]
pub struct Executable {
    /// What is loaded, in the order of the file.
    pub segments: Vec<Segment>,
    /// Address of the first instruction.
    pub entry: u64,
    /// Symbols by name.
    pub symbols: BTreeMap<String, u64>,
    /// Names of functions.
    pub functions: BTreeMap<u64, String>,
    /// The program headers.
    pub headers: ProgramHeaders,
}

/// The reason that a file is not read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ElfError {
    /// The file is damaged.
    #[error("the ELF file cannot be read: {0}")]
    Damaged(String),
    /// The file is for another machine.
    #[error("the ELF file is {found}, this machine runs {wanted}")]
    Wrong {
        /// The file's machine.
        found: String,
        /// The machine that is needed.
        wanted: &'static str,
    },
    /// It has nothing to load.
    #[error("the ELF file has no loadable segment; link it first")]
    Empty,
    /// Two segments share addresses.
    #[error("the ELF file's segments at {first:#x} and {second:#x} overlap")]
    Overlap {
        /// Address of one.
        first: u64,
        /// Address of the other.
        second: u64,
    },
    /// The entry point is outside the code.
    #[error("the entry point {entry:#x} is outside the executable segments ({ranges})")]
    Entry {
        /// The entry point.
        entry: u64,
        /// The executable segments.
        ranges: String,
    },
}

/// Returns whether a file is an ELF file by its first bytes.
#[must_use]
pub fn is_elf(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x7fELF")
}

fn damaged(error: object::Error) -> ElfError {
    ElfError::Damaged(error.to_string())
}

/// A parsed file, its class, byte order and machine checked.
type File<'d> = ElfFile64<'d, Endianness>;

fn parse(bytes: &[u8], wanted: Wanted) -> Result<File<'_>, ElfError> {
    let wrong = |found: String| ElfError::Wrong { found, wanted: wanted.what };
    if bytes.get(4) == Some(&1) {
        return Err(wrong("a 32-bit one".to_owned()));
    }
    let file = File::parse(bytes).map_err(damaged)?;
    if file.endian() == Endianness::Big {
        return Err(wrong("big-endian".to_owned()));
    }
    let machine = file.elf_header().e_machine(file.endian());
    if machine.0 != wanted.machine {
        return Err(wrong(format!("for machine {}", machine.0)));
    }
    Ok(file)
}

/// Returns whether a file is a relocatable object.
///
/// # Errors
/// If the file is damaged or for another machine.
pub fn is_relocatable(bytes: &[u8], wanted: Wanted) -> Result<bool, ElfError> {
    let file = parse(bytes, wanted)?;
    Ok(file.elf_header().e_type(file.endian()) == format::ET_REL)
}

/// Reads an executable.
///
/// # Errors
/// If the file is damaged, for another machine or of another type, if it has nothing to load, or
/// if its segments overlap.
pub fn executable(bytes: &[u8], wanted: Wanted) -> Result<Executable, ElfError> {
    let wrong = |found: String| ElfError::Wrong { found, wanted: wanted.what };
    let file = parse(bytes, wanted)?;
    let (header, endian) = (file.elf_header(), file.endian());
    let kind = header.e_type(endian);
    let moves = kind == format::ET_DYN && wanted.position_independent;
    if kind != format::ET_EXEC && !moves {
        return Err(wrong(format!("of type {}, not linked to fixed addresses", kind.0)));
    }
    let table = file.elf_program_headers();
    if table.iter().any(|p| p.p_type(endian) == format::PT_INTERP) {
        return Err(wrong("linked for a dynamic linker".to_owned()));
    }
    let mut out = Executable { entry: header.e_entry(endian), ..Executable::default() };
    out.headers = ProgramHeaders {
        address: 0,
        entry_size: header.e_phentsize(endian).into(),
        count: table.len() as u64,
    };
    let place = header.e_phoff(endian);
    for program in table {
        if program.p_type(endian) != format::PT_LOAD || program.p_memsz(endian) == 0 {
            continue;
        }
        let data = program
            .data(endian, bytes)
            .map_err(|()| ElfError::Damaged("a segment lies outside the file".to_owned()))?;
        let (address, size) = (program.p_vaddr(endian), program.p_memsz(endian));
        if (data.len() as u64) > size {
            let text = "a segment has more bytes in the file than in memory";
            return Err(ElfError::Damaged(text.to_owned()));
        }
        if address.checked_add(size).is_none() {
            let text = format!("the segment at {address:#x} leaves the address space");
            return Err(ElfError::Damaged(text));
        }
        let offset = program.p_offset(endian);
        if let Some(inside) = place.checked_sub(offset).filter(|&o| o < data.len() as u64) {
            out.headers.address = address.wrapping_add(inside);
        }
        let flags = program.p_flags(endian);
        out.segments.push(Segment {
            address,
            loaded_at: program.p_paddr(endian),
            bytes: data.to_vec(),
            size,
            executable: flags.0 & format::PF_X.0 != 0,
            writable: flags.0 & format::PF_W.0 != 0,
        });
    }
    if out.segments.is_empty() {
        return Err(ElfError::Empty);
    }
    overlaps(&out.segments)?;
    for symbol in file.symbols() {
        let Ok(name) = symbol.name() else { continue };
        if name.is_empty() {
            continue;
        }
        if symbol.kind() == object::SymbolKind::Text && symbol.is_definition() {
            out.functions.insert(symbol.address(), name.to_owned());
        }
        out.symbols.insert(name.to_owned(), symbol.address());
    }
    Ok(out)
}

fn overlaps(segments: &[Segment]) -> Result<(), ElfError> {
    let mut order: Vec<&Segment> = segments.iter().collect();
    order.sort_by_key(|s| s.address);
    for pair in order.windows(2) {
        let (first, second) = (pair[0], pair[1]);
        if second.address < first.address.saturating_add(first.size) {
            return Err(ElfError::Overlap { first: first.address, second: second.address });
        }
    }
    Ok(())
}

impl Executable {
    /// Checks that the entry point lies in an executable segment, at an address divisible by
    /// `align`.
    ///
    /// # Errors
    /// If it does not.
    pub fn check_entry(&self, align: u64) -> Result<(), ElfError> {
        let inside =
            |s: &&Segment| self.entry >= s.address && self.entry - s.address < s.bytes.len() as u64;
        let code = || self.segments.iter().filter(|s| s.executable);
        if code().any(|s| inside(&s)) && self.entry.is_multiple_of(align) {
            return Ok(());
        }
        let range = |s: &Segment| format!("{:#x} to {:#x}", s.address, s.address + s.size);
        let ranges: Vec<String> = code().map(range).collect();
        let ranges = if ranges.is_empty() { "none".to_owned() } else { ranges.join(", ") };
        Err(ElfError::Entry { entry: self.entry, ranges })
    }
}

/// Returns the function that an address lies in, with the distance from its start: `main+0x10`.
#[must_use]
pub fn place(functions: &BTreeMap<u64, String>, address: u64) -> Option<String> {
    let (at, name) = functions.range(..=address).next_back()?;
    // Farther from the symbol than any function is long, its name is meaningless.
    match address - at {
        0 => Some(name.clone()),
        distance if distance < 1 << 20 => Some(format!("{name}+{distance:#x}")),
        _ => None,
    }
}
