//! Compiled programs: ELF files of machine 0xe9, executables, objects, or archives of objects,
//! which are linked here.
//!
//! Relocation types are those of upstream's LLVM fork (`LinxISA.def`, lld's `LinxISA.cpp`).
//! Functions that no object defines and that [`crate::host`] has are bound to code that calls the
//! host; all others are listed by name.

use isa::FileId;
use isa::elf::link::{LinkError, ObjectFile, Relocations, Values, link, members};
use isa::elf::{ElfError, Segment, Wanted};

use crate::encoding::{Conventions, Encoding};
use crate::host::library::FUNCTIONS;
use crate::host::{HOST_CALL, STACK};
use crate::names::TileOps;
use crate::program::{Process, Program};

/// `EM_LINXISA`.
const WANTED: Wanted = Wanted {
    machine: 0xe9,
    what: "64-bit little-endian LinxISA (machine 233): static executables and objects",
    position_independent: true,
};
/// Where objects are linked: upstream's image base.
const BASE: u64 = 0x1_0000;
/// Where the code lies that calls the host.
const HOST: u64 = 0x8000;
/// Bytes of the code of one function there.
const STRIDE: u64 = 16;
/// Most bytes of code.
const MOST_CODE: usize = 16 << 20;
/// Most bytes in memory.
const MOST_MEMORY: u64 = 1 << 30;

/// The reason that a compiled program is not loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ElfProgramError {
    /// The executable cannot be read.
    #[error(transparent)]
    Elf(#[from] ElfError),
    /// The objects cannot be linked.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// Nothing says where to start.
    #[error("the objects define neither `_start` nor `main`")]
    NoStart,
    /// Too long.
    #[error("{bytes} bytes of {what}; the most are {most}")]
    TooLong {
        /// Code or memory.
        what: &'static str,
        /// What the program has.
        bytes: u64,
        /// What is allowed.
        most: u64,
    },
    /// A segment lies where the stack is.
    #[error(
        "the segment at {address:#x} ({size} bytes) meets the stack at {:#x} to {:#x}",
        STACK.0,
        STACK.0 + STACK.1
    )]
    Stack {
        /// Address of the segment.
        address: u64,
        /// Its length.
        size: u64,
    },
}

impl ElfProgramError {
    /// A way out, if there is one.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Link(LinkError::Undefined(_)) => Some(
                "add the objects that define them to the archive (`ar rc program.a *.o`)"
                    .to_owned(),
            ),
            Self::NoStart => Some("add the object that defines `main` to the archive".to_owned()),
            Self::Stack { .. } => Some("link the program for other addresses".to_owned()),
            Self::Elf(ElfError::Wrong { .. }) => Some(
                "link with `-static`, or give the objects (`.o`) or an archive of them".to_owned(),
            ),
            _ => None,
        }
    }
}

/// How the value of a relocation is computed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Value {
    /// Symbol and addend.
    Absolute,
    /// From the place to the symbol.
    Distance,
    /// From the place's page to the symbol's.
    Pages,
    /// The last twelve bits of the symbol.
    InPage,
    /// The same of the symbol's slot in the global offset table.
    SlotPages,
    SlotInPage,
}

/// A relocation type.
struct Relocation {
    number: u32,
    name: &'static str,
    value: Value,
    /// Bytes that it changes.
    bytes: usize,
    /// The unit of the field as a shift; lower bits of the value must be 0.
    unit: u32,
    /// Whether the field has a sign; `None` if high bits are cut off.
    signed: Option<bool>,
    /// Pieces of the field: position, width; from the low bits of the value on.
    pieces: &'static [(u32, u32)],
}

const fn row(
    number: u32,
    name: &'static str,
    value: Value,
    (bytes, unit, signed): (usize, u32, Option<bool>),
    pieces: &'static [(u32, u32)],
) -> Relocation {
    Relocation { number, name, value, bytes, unit, signed, pieces }
}

const SIGNED: Option<bool> = Some(true);
const UNSIGNED: Option<bool> = Some(false);

static RELOCATIONS: [Relocation; 23] = {
    use Value::{Absolute, Distance, InPage, Pages, SlotInPage, SlotPages};
    [
        row(1, "R_LINX_B12_PCREL", Distance, (4, 1, SIGNED), &[(25, 7), (7, 5)]),
        row(2, "R_LINX_J22_PCREL", Distance, (4, 1, SIGNED), &[(15, 17), (7, 5)]),
        row(3, "R_LINX_CBSTART12_PCREL", Distance, (2, 1, SIGNED), &[(4, 12)]),
        row(4, "R_LINX_B17_PCREL", Distance, (4, 1, SIGNED), &[(15, 17)]),
        row(5, "R_LINX_HL_BSTART30_PCREL", Distance, (6, 1, SIGNED), &[(31, 17), (4, 12)]),
        row(6, "R_LINX_CSETRET5_PCREL", Distance, (2, 1, UNSIGNED), &[(6, 5)]),
        row(7, "R_LINX_SETRET20_PCREL", Distance, (4, 1, UNSIGNED), &[(12, 20)]),
        row(8, "R_LINX_HL_SETRET32_PCREL", Distance, (6, 1, SIGNED), &[(28, 20), (4, 12)]),
        row(9, "R_LINX_RELATIVE", Absolute, (8, 0, None), &[(0, 64)]),
        row(10, "R_LINX_64", Absolute, (8, 0, None), &[(0, 64)]),
        row(11, "R_LINX_32", Absolute, (4, 0, UNSIGNED), &[(0, 32)]),
        row(15, "R_LINX_PCREL_HI20", Pages, (4, 12, SIGNED), &[(12, 20)]),
        row(16, "R_LINX_B17_PLT", Distance, (4, 1, SIGNED), &[(15, 17)]),
        row(17, "R_LINX_LO12", InPage, (4, 0, None), &[(20, 12)]),
        row(18, "R_LINX_PCR17_LOAD", Distance, (4, 0, SIGNED), &[(15, 17)]),
        row(19, "R_LINX_PCR17_STORE", Distance, (4, 0, SIGNED), &[(20, 12), (7, 5)]),
        row(20, "R_LINX_HL_PCR29_LOAD", Distance, (6, 0, SIGNED), &[(31, 17), (4, 12)]),
        row(21, "R_LINX_HL_PCR29_STORE", Distance, (6, 0, SIGNED), &[(36, 12), (23, 5), (4, 12)]),
        row(22, "R_LINX_B25_PCREL", Distance, (4, 1, SIGNED), &[(7, 25)]),
        row(23, "R_LINX_GOT_HI20", SlotPages, (4, 12, SIGNED), &[(12, 20)]),
        row(24, "R_LINX_GOT_LO12", SlotInPage, (4, 0, None), &[(20, 12)]),
        row(25, "R_LINX_32_PCREL", Distance, (4, 0, SIGNED), &[(0, 32)]),
        row(26, "R_LINX_L_BSTART42_PCREL", Distance, (8, 1, SIGNED), &[(7, 25), (47, 17)]),
    ]
};

/// The table as the linker wants it.
struct Linx;

fn find(number: u32) -> Option<&'static Relocation> {
    RELOCATIONS.iter().find(|r| r.number == number)
}

impl Relocations for Linx {
    fn name(&self, kind: u32) -> Option<&'static str> {
        find(kind).map(|r| r.name)
    }

    fn needs_slot(&self, kind: u32) -> bool {
        find(kind).is_some_and(|r| matches!(r.value, Value::SlotPages | Value::SlotInPage))
    }

    fn apply(&self, kind: u32, bytes: &mut [u8], values: Values) -> Result<(), String> {
        let Some(relocation) = find(kind) else { return Err("no such relocation".to_owned()) };
        let place = bytes.get_mut(..relocation.bytes);
        let place = place.ok_or("the section ends in the instruction")?;
        relocation.put(place, relocation.compute(values))
    }
}

impl Relocation {
    fn compute(&self, Values { place, target, slot }: Values) -> u64 {
        let page = |address: u64| address & !0xfff;
        match self.value {
            Value::Absolute => target,
            Value::Distance => target.wrapping_sub(place),
            Value::Pages => page(target).wrapping_sub(page(place)),
            Value::InPage => target & 0xfff,
            Value::SlotPages => page(slot).wrapping_sub(page(place)),
            Value::SlotInPage => slot & 0xfff,
        }
    }

    /// Writes a value into the field, all of whose bits are replaced.
    fn put(&self, place: &mut [u8], value: u64) -> Result<(), String> {
        let width: u32 = self.pieces.iter().map(|(_, width)| width).sum();
        let signed = value as i64;
        if signed & ((1 << self.unit) - 1) != 0 {
            return Err(format!("{signed:#x} is not a multiple of {}", 1u64 << self.unit));
        }
        let field = signed >> self.unit;
        let fits = match self.signed {
            None => true,
            Some(true) => width == 64 || field >> (width - 1) == 0 || field >> (width - 1) == -1,
            Some(false) => width == 64 || (value >> self.unit) >> width == 0,
        };
        if !fits {
            let sign = if self.signed == SIGNED { "signed" } else { "unsigned" };
            return Err(format!("{signed} does not fit {width} {sign} bits in its unit"));
        }
        let mut word = [0; 8];
        word[..place.len()].copy_from_slice(place);
        let mut word = u64::from_le_bytes(word);
        let mut rest = field as u64;
        for &(at, width) in self.pieces {
            let mask = u64::MAX >> (64 - width);
            word = word & !(mask << at) | (rest & mask) << at;
            rest = rest.checked_shr(width).unwrap_or(0);
        }
        place.copy_from_slice(&word.to_le_bytes()[..place.len()]);
        Ok(())
    }
}

/// Returns whether a file is a compiled program or an archive by its first bytes.
#[must_use]
pub fn is_compiled(bytes: &[u8]) -> bool {
    isa::elf::is_elf(bytes) || isa::elf::link::is_archive(bytes)
}

/// Loads a compiled program: an executable, an object, or an archive of objects. Returns `None` if
/// the file is none of them. `name` is the file's, for messages.
///
/// # Errors
/// If it is damaged or for another machine, if symbols or relocations are unknown, or if it has no
/// place to start.
pub fn load_elf(
    bytes: &[u8],
    name: &str,
    tile_ops: TileOps,
    conventions: Option<Conventions>,
) -> Result<Option<Program>, ElfProgramError> {
    if !is_compiled(bytes) {
        return Ok(None);
    }
    let conventions = conventions.unwrap_or(Conventions::Compiler);
    let encoding = Encoding { tile_ops, conventions, variant: None };
    let objects = if isa::elf::link::is_archive(bytes) {
        members(bytes)?
    } else if isa::elf::is_relocatable(bytes, WANTED)? {
        vec![ObjectFile { name: name.to_owned(), bytes }]
    } else {
        return executable(bytes, encoding).map(Some);
    };
    linked(&objects, encoding).map(Some)
}

fn executable(bytes: &[u8], encoding: Encoding) -> Result<Program, ElfProgramError> {
    let file = isa::elf::executable(bytes, WANTED)?;
    file.check_entry(2)?;
    check(&file.segments)?;
    let process = Process {
        headers: Some(file.headers),
        end: end(&file.segments),
        functions: file.functions,
        symbols: file.symbols,
        provided: Vec::new(),
    };
    Ok(Program::from_segments(file.segments, file.entry, encoding, process))
}

fn end(segments: &[Segment]) -> u64 {
    segments.iter().map(|s| s.address.saturating_add(s.size)).max().unwrap_or(0)
}

fn check(segments: &[Segment]) -> Result<(), ElfProgramError> {
    let code: usize = segments.iter().filter(|s| s.executable).map(|s| s.bytes.len()).sum();
    if code > MOST_CODE {
        let (bytes, most) = (code as u64, MOST_CODE as u64);
        return Err(ElfProgramError::TooLong { what: "code", bytes, most });
    }
    let bytes = segments.iter().fold(0u64, |sum, s| sum.saturating_add(s.size));
    if bytes > MOST_MEMORY {
        return Err(ElfProgramError::TooLong { what: "memory", bytes, most: MOST_MEMORY });
    }
    let stack = STACK.0..STACK.0 + STACK.1;
    let meets = |s: &&Segment| s.address < stack.end && stack.start < s.address + s.size;
    match segments.iter().find(meets) {
        Some(s) => Err(ElfProgramError::Stack { address: s.address, size: s.size }),
        None => Ok(()),
    }
}

/// Links objects, with start-up code if they have none.
fn linked(objects: &[ObjectFile<'_>], encoding: Encoding) -> Result<Program, ElfProgramError> {
    let number = |name: &str| FUNCTIONS.iter().position(|f| f.name == name);
    let address = |number: usize| HOST + STRIDE * (number as u64 + 2);
    let provided = |name: &str| number(name).map(address);
    let linked = link(objects, WANTED, &Linx, BASE, &provided)?;
    check(&linked.segments)?;
    if linked.segments.is_empty() {
        return Err(LinkError::Empty.into());
    }
    let mut host = host_code();
    let entry = match (linked.symbols.get("_start"), linked.symbols.get("main")) {
        (Some(&start), _) => start,
        (None, Some(&main)) => {
            let exit = linked.symbols.get("exit").copied().or_else(|| provided("exit"));
            start_code(&mut host, main, exit.unwrap_or(0))?;
            HOST
        }
        (None, None) => return Err(ElfProgramError::NoStart),
    };
    let mut functions = linked.functions;
    functions.insert(HOST, "_start".to_owned());
    let end = end(&linked.segments);
    let mut segments = linked.segments;
    let (size, executable) = (host.len() as u64, true);
    let (address, loaded_at) = (HOST, HOST);
    segments.push(Segment { address, loaded_at, bytes: host, size, executable, writable: false });
    let provided = linked.provided.into_keys().collect();
    let process = Process { headers: None, end, functions, symbols: linked.symbols, provided };
    Ok(Program::from_segments(segments, entry, encoding, process))
}

/// Assembles text of this module, which has no errors.
fn assembled(text: &str) -> Vec<u8> {
    let image = crate::assemble(FileId::default(), text, TileOps::V04);
    image.ok().and_then(|i| i.segments.first().map(|s| s.bytes.clone())).unwrap_or_default()
}

/// The code that calls each function of the host, behind room for start-up code.
fn host_code() -> Vec<u8> {
    let mut out = vec![0; 2 * STRIDE as usize];
    for number in 0..FUNCTIONS.len() {
        let text = format!("C.BSTART.STD RET\naddi zero, {number}, ->t\nacrc {HOST_CALL}\nC.BSTOP");
        out.extend(assembled(&text));
        out.resize((number + 3) * STRIDE as usize, 0);
    }
    out
}

/// Start-up code: `exit(main(argc, argv))`.
fn start_code(host: &mut [u8], main: u64, exit: u64) -> Result<(), ElfProgramError> {
    let text = "HL.BSTART.STD CALL, .+0\n\
                c.setret then, ->ra\n\
                then: HL.BSTART.STD CALL, .+0\n\
                c.setret end, ->ra\n\
                end: C.BSTART.STD\n\
                c.movi -1, ->a0\n\
                ebreak 0";
    let code = assembled(text);
    for (at, target) in [(0, main), (8, exit)] {
        let values = Values { place: HOST + at as u64, target, slot: 0 };
        let wrong = |why| LinkError::Relocation {
            place: "start-up code".to_owned(),
            relocation: "R_LINX_HL_BSTART30_PCREL",
            symbol: if at == 0 { "main" } else { "exit" }.to_owned(),
            why,
        };
        let mut bytes = code.clone();
        Linx.apply(5, &mut bytes[at..], values).map_err(wrong)?;
        host[at..at + 6].copy_from_slice(&bytes[at..at + 6]);
    }
    let patched = [0..6, 8..14];
    for (at, &byte) in code.iter().enumerate().take(host.len()) {
        if !patched.iter().any(|range| range.contains(&at)) {
            host[at] = byte;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each field holds exactly what its table row says: written, it decodes to the value.
    #[test]
    fn fields_hold_values_up_to_their_ends() {
        for r in &RELOCATIONS {
            let width: u32 = r.pieces.iter().map(|(_, w)| w).sum();
            let mut place = vec![0xff; r.bytes];
            r.put(&mut place, 0).unwrap();
            let mut kept = [0; 8];
            kept[..r.bytes].copy_from_slice(&place);
            let ones: u64 = r.pieces.iter().map(|&(at, w)| (u64::MAX >> (64 - w)) << at).sum();
            let all = u64::MAX >> (64 - 8 * r.bytes as u32);
            assert_eq!(u64::from_le_bytes(kept), all & !ones, "{}", r.name);
            if width < 64 && r.signed.is_some() {
                let most = 1u64 << (width - u32::from(r.signed == SIGNED));
                assert!(r.put(&mut place, (most - 1) << r.unit).is_ok(), "{}", r.name);
                assert!(r.put(&mut place, most << r.unit).is_err(), "{}", r.name);
            }
            assert!(r.unit == 0 || r.put(&mut place, 1).is_err(), "{}", r.name);
        }
    }

    #[test]
    fn the_code_for_the_host_fits_its_places() {
        let code = host_code();
        assert_eq!(code.len() as u64, STRIDE * (FUNCTIONS.len() as u64 + 2));
        assert!(HOST + code.len() as u64 <= BASE);
        let mut host = code;
        start_code(&mut host, BASE, HOST + 64).unwrap();
        let lines = crate::disassemble(&host[..24], HOST, TileOps::V04);
        assert_eq!(lines[0].text, "HL.BSTART.STD CALL, 0x10000");
    }
}
