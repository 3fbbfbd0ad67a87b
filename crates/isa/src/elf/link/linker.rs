//! Layout, symbols and relocations of a program under construction.

use std::collections::{BTreeMap, BTreeSet};

use object::elf as format;
use object::read::elf::ElfSymbol64;
use object::{
    Endianness, Object as _, ObjectSection as _, ObjectSymbol as _, RelocationFlags,
    RelocationTarget, SectionFlags, SectionIndex, SymbolIndex, SymbolSection,
};

use super::{LinkError, Linked, Relocations, Undefined, Values};
use crate::elf::{File, Segment};

/// The most bytes that all sections together may have in memory.
const MOST_BYTES: u64 = 1 << 30;
/// The largest alignment of a section.
const MOST_ALIGN: u64 = 4096;
/// Sections of one kind start at a multiple of this.
const PAGE: u64 = 4096;

/// Kinds of output, in the order in which they are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Code,
    Constants,
    Data,
    Zeros,
}

/// A section that is loaded.
struct Placed {
    object: usize,
    index: SectionIndex,
    name: String,
    class: Class,
    address: u64,
    size: u64,
    align: u64,
    bytes: Vec<u8>,
}

pub(super) struct Linker<'r, 'd> {
    files: Vec<(&'r str, File<'d>)>,
    relocations: &'r dyn Relocations,
    placed: Vec<Placed>,
    /// From object and section to the place in `placed`.
    index: BTreeMap<(usize, usize), usize>,
    /// Address, object and whether it is weak.
    globals: BTreeMap<String, (u64, usize, bool)>,
    provided: BTreeMap<String, u64>,
    /// Slots of the global offset table: the address of each target.
    slots: BTreeMap<u64, u64>,
    slots_at: u64,
    /// Common symbols and their addresses.
    common: BTreeMap<String, u64>,
}

impl<'r, 'd> Linker<'r, 'd> {
    pub(super) fn new(files: Vec<(&'r str, File<'d>)>, relocations: &'r dyn Relocations) -> Self {
        Self {
            files,
            relocations,
            placed: Vec::new(),
            index: BTreeMap::new(),
            globals: BTreeMap::new(),
            provided: BTreeMap::new(),
            slots: BTreeMap::new(),
            slots_at: 0,
            common: BTreeMap::new(),
        }
    }

    /// Gives every section that is loaded an address.
    pub(super) fn lay_out(&mut self, base: u64) -> Result<(), LinkError> {
        for (object, (name, file)) in self.files.iter().enumerate() {
            for section in file.sections() {
                let SectionFlags::Elf { sh_flags, .. } = section.flags() else { continue };
                if sh_flags.0 & format::SHF_ALLOC.0 == 0 {
                    continue;
                }
                let title = section.name().unwrap_or("?").to_owned();
                let refuse = |why: String| LinkError::Section {
                    object: (*name).to_owned(),
                    section: title.clone(),
                    why,
                };
                if sh_flags.0 & format::SHF_TLS.0 != 0 {
                    return Err(refuse("is thread-local: link such programs first".to_owned()));
                }
                let align = section.align().max(1);
                if !align.is_power_of_two() || align > MOST_ALIGN {
                    return Err(refuse(format!("has an alignment of {align}")));
                }
                let data = section.data().map_err(|e| refuse(format!("is damaged: {e}")))?;
                let zeros = section.kind() == object::SectionKind::UninitializedData;
                let (exec, write) = (format::SHF_EXECINSTR.0, format::SHF_WRITE.0);
                let class = match sh_flags.0 {
                    flags if flags & exec != 0 => Class::Code,
                    _ if zeros => Class::Zeros,
                    flags if flags & write != 0 => Class::Data,
                    _ => Class::Constants,
                };
                self.placed.push(Placed {
                    object,
                    index: section.index(),
                    name: title,
                    class,
                    address: 0,
                    size: section.size(),
                    align,
                    bytes: data.to_vec(),
                });
            }
        }
        self.placed.sort_by_key(|p| p.class);
        let mut at = base;
        let mut last = None;
        for (number, placed) in self.placed.iter_mut().enumerate() {
            let align = if last == Some(placed.class) { placed.align } else { PAGE };
            last = Some(placed.class);
            at = at.next_multiple_of(align.max(placed.align));
            placed.address = at;
            let end = at.checked_add(placed.size).filter(|end| end - base <= MOST_BYTES);
            at = end.ok_or_else(|| LinkError::Section {
                object: self.files[placed.object].0.to_owned(),
                section: placed.name.clone(),
                why: format!("has {} bytes: the program is too long", placed.size),
            })?;
            self.index.insert((placed.object, placed.index.0), number);
        }
        self.place_common(at.next_multiple_of(PAGE), base)
    }

    /// Gives common symbols addresses behind all sections, then leaves room for slots.
    fn place_common(&mut self, mut at: u64, base: u64) -> Result<(), LinkError> {
        for (name, file) in &self.files {
            for symbol in file.symbols().filter(object::ObjectSymbol::is_common) {
                let Ok(title) = symbol.name() else { continue };
                if self.common.contains_key(title) {
                    continue;
                }
                let align = symbol.address().clamp(1, MOST_ALIGN);
                let align = if align.is_power_of_two() { align } else { 16 };
                at = at.next_multiple_of(align);
                self.common.insert(title.to_owned(), at);
                let end = at.checked_add(symbol.size()).filter(|end| end - base <= MOST_BYTES);
                at = end.ok_or_else(|| LinkError::Section {
                    object: (*name).to_owned(),
                    section: format!("of common symbols (`{title}`)"),
                    why: "is too long".to_owned(),
                })?;
            }
        }
        self.slots_at = at.next_multiple_of(PAGE);
        Ok(())
    }

    /// Collects the global symbols, and all that are needed and not defined.
    pub(super) fn define(
        &mut self,
        provided: &dyn Fn(&str) -> Option<u64>,
    ) -> Result<(), LinkError> {
        for (object, (file_name, file)) in self.files.iter().enumerate() {
            for symbol in file.symbols() {
                let Ok(name) = symbol.name() else { continue };
                if !symbol.is_global() || symbol.is_undefined() || symbol.is_common() {
                    continue;
                }
                let Some(address) = self.address_of(object, &symbol) else { continue };
                let weak = symbol.is_weak();
                match self.globals.get(name) {
                    Some((_, first, false)) if !weak => {
                        return Err(LinkError::Duplicate {
                            symbol: name.to_owned(),
                            first: self.files[*first].0.to_owned(),
                            second: (*file_name).to_owned(),
                        });
                    }
                    Some((.., false)) => {}
                    Some((.., true)) if weak => {}
                    _ => {
                        self.globals.insert(name.to_owned(), (address, object, weak));
                    }
                }
            }
        }
        for (name, address) in &self.common {
            self.globals.entry(name.clone()).or_insert((*address, 0, true));
        }
        let mut missing: Vec<Undefined> = Vec::new();
        let mut seen = BTreeSet::new();
        for placed in &self.placed {
            let file = &self.files[placed.object].1;
            let Ok(section) = file.section_by_index(placed.index) else { continue };
            for (offset, relocation) in section.relocations() {
                let RelocationTarget::Symbol(index) = relocation.target() else { continue };
                let Ok(symbol) = file.symbol_by_index(index) else { continue };
                let Ok(name) = symbol.name() else { continue };
                let needed = symbol.is_undefined() && !symbol.is_weak() && !name.is_empty();
                if !needed || self.globals.contains_key(name) || !seen.insert(name.to_owned()) {
                    continue;
                }
                match provided(name) {
                    Some(address) => {
                        self.provided.insert(name.to_owned(), address);
                    }
                    None => missing.push(Undefined {
                        name: name.to_owned(),
                        place: self.describe(placed, offset),
                    }),
                }
            }
        }
        if missing.is_empty() { Ok(()) } else { Err(LinkError::Undefined(missing)) }
    }

    fn describe(&self, placed: &Placed, offset: u64) -> String {
        format!("{} {}+{offset:#x}", self.files[placed.object].0, placed.name)
    }

    /// The address of a symbol that its own object defines.
    fn address_of(&self, object: usize, symbol: &ElfSymbol64<'d, '_, Endianness>) -> Option<u64> {
        match symbol.section() {
            SymbolSection::Section(index) => {
                let placed = &self.placed[*self.index.get(&(object, index.0))?];
                Some(placed.address.wrapping_add(symbol.address()))
            }
            SymbolSection::Absolute => Some(symbol.address()),
            SymbolSection::Common => self.common.get(symbol.name().ok()?).copied(),
            _ => None,
        }
    }

    /// The address of the symbol that a relocation of an object refers to, and its name.
    fn target(&self, object: usize, index: SymbolIndex) -> Result<(u64, String), String> {
        let file = &self.files[object].1;
        let symbol = file.symbol_by_index(index).map_err(|e| e.to_string())?;
        let name = symbol.name().unwrap_or_default();
        let title = match symbol.section_index().map(|i| file.section_by_index(i)) {
            Some(Ok(section)) if name.is_empty() => section.name().unwrap_or("?").to_owned(),
            _ => name.to_owned(),
        };
        // A strong definition elsewhere takes the place of a weak one here.
        if symbol.is_global()
            && let Some((address, ..)) = self.globals.get(name)
        {
            return Ok((*address, title));
        }
        if let Some(address) = self.provided.get(name) {
            return Ok((*address, title));
        }
        if symbol.is_undefined() {
            // Weak: it is 0 where nothing defines it.
            return Ok((0, title));
        }
        let why = "it lies in a section that is not loaded";
        self.address_of(object, &symbol).map(|a| (a, title)).ok_or_else(|| why.to_owned())
    }

    /// Applies all relocations.
    pub(super) fn relocate(&mut self) -> Result<(), LinkError> {
        let mut all = std::mem::take(&mut self.placed);
        let mut result = Ok(());
        // Addresses are looked up in `placed`: contents are relocated apart from it.
        let contents: Vec<Vec<u8>> = all.iter_mut().map(|p| std::mem::take(&mut p.bytes)).collect();
        self.placed = all;
        let mut done = Vec::new();
        for (number, mut bytes) in contents.into_iter().enumerate() {
            if result.is_ok() {
                result = self.relocate_section(number, &mut bytes);
            }
            done.push(bytes);
        }
        for (placed, bytes) in self.placed.iter_mut().zip(done) {
            placed.bytes = bytes;
        }
        result
    }

    fn relocate_section(&mut self, number: usize, bytes: &mut [u8]) -> Result<(), LinkError> {
        let (object, index, address) = {
            let placed = &self.placed[number];
            (placed.object, placed.index, placed.address)
        };
        let list: Vec<_> = match self.files[object].1.section_by_index(index) {
            Ok(section) => section.relocations().collect(),
            Err(_) => return Ok(()),
        };
        for (offset, relocation) in list {
            let RelocationFlags::Elf { r_type } = relocation.flags() else { continue };
            let kind = r_type.0;
            if kind == 0 {
                continue;
            }
            let describe = |this: &Self| this.describe(&this.placed[number], offset);
            let symbol = match relocation.target() {
                RelocationTarget::Symbol(symbol) => self.target(object, symbol),
                _ => Ok((0, String::new())),
            };
            let Some(name) = self.relocations.name(kind) else {
                let known = symbol.map_or(String::new(), |(_, s)| format!(" (against `{s}`)"));
                return Err(LinkError::Unknown { place: describe(self), kind, known });
            };
            let refuse = |this: &Self, symbol: String, why: String| LinkError::Relocation {
                place: describe(this),
                relocation: name,
                symbol,
                why,
            };
            let (value, symbol) = match symbol {
                Ok(found) => found,
                Err(why) => return Err(refuse(self, "?".to_owned(), why)),
            };
            let target = value.wrapping_add_signed(relocation.addend());
            let slot = if self.relocations.needs_slot(kind) { self.slot(target) } else { 0 };
            let values = Values { place: address.wrapping_add(offset), target, slot };
            let at = usize::try_from(offset).ok().and_then(|at| bytes.get_mut(at..));
            let applied = match at {
                Some(at) => self.relocations.apply(kind, at, values),
                None => Err("the place lies outside the section".to_owned()),
            };
            applied.map_err(|why| refuse(self, symbol, why))?;
        }
        Ok(())
    }

    /// The slot of the global offset table that holds an address.
    fn slot(&mut self, target: u64) -> u64 {
        let next = self.slots_at + 8 * self.slots.len() as u64;
        *self.slots.entry(target).or_insert(next)
    }

    pub(super) fn finish(self) -> Linked {
        let mut out = Linked { provided: self.provided.clone(), ..Linked::default() };
        for (object, (_, file)) in self.files.iter().enumerate() {
            for symbol in file.symbols().filter(|s| s.is_definition() && !s.is_global()) {
                let (Ok(name), Some(at)) = (symbol.name(), self.address_of(object, &symbol)) else {
                    continue;
                };
                if symbol.kind() == object::SymbolKind::Text && !name.is_empty() {
                    out.functions.insert(at, name.to_owned());
                    out.symbols.entry(name.to_owned()).or_insert(at);
                }
            }
        }
        for (name, (address, ..)) in &self.globals {
            out.symbols.insert(name.clone(), *address);
            let code = |p: &Placed| {
                p.class == Class::Code && *address >= p.address && *address - p.address < p.size
            };
            if self.placed.iter().any(code) {
                out.functions.insert(*address, name.clone());
            }
        }
        for (name, address) in &self.provided {
            out.functions.insert(*address, name.clone());
            out.symbols.insert(name.clone(), *address);
        }
        out.segments = self.segments();
        out
    }

    /// The sections of each class as one segment, then common symbols, then slots.
    fn segments(&self) -> Vec<Segment> {
        let mut out: Vec<(Class, Segment)> = Vec::new();
        for placed in self.placed.iter().filter(|p| p.size > 0) {
            if out.last().is_none_or(|(class, _)| *class != placed.class) {
                let address = placed.address;
                let executable = placed.class == Class::Code;
                let writable = matches!(placed.class, Class::Data | Class::Zeros);
                let (loaded_at, segment) = (address, Segment::default());
                let segment = Segment { address, loaded_at, executable, writable, ..segment };
                out.push((placed.class, segment));
            }
            let Some((_, segment)) = out.last_mut() else { continue };
            let at = placed.address - segment.address;
            if placed.class != Class::Zeros {
                segment.bytes.resize(at as usize, 0);
                segment.bytes.extend_from_slice(&placed.bytes);
            }
            segment.size = at + placed.size;
        }
        let mut out: Vec<Segment> = out.into_iter().map(|(_, segment)| segment).collect();
        if let Some(&address) = self.common.values().min() {
            let size = self.slots_at - address;
            let (loaded_at, writable) = (address, true);
            out.push(Segment { address, loaded_at, size, writable, ..Segment::default() });
        }
        if !self.slots.is_empty() {
            let mut bytes = vec![0; 8 * self.slots.len()];
            for (target, slot) in &self.slots {
                let at = (slot - self.slots_at) as usize;
                bytes[at..at + 8].copy_from_slice(&target.to_le_bytes());
            }
            let (address, size) = (self.slots_at, bytes.len() as u64);
            out.push(Segment { address, loaded_at: address, bytes, size, ..Segment::default() });
        }
        out
    }
}
