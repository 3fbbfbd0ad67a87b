//! Writes a program as an ELF file: one loadable segment for each of its own, and its symbols.

use crate::program::Program;

const FILE_HEADER: u64 = 64;
const PROGRAM_HEADER: u64 = 56;
const SECTION_HEADER: u64 = 64;
const PAGE: u64 = 4096;
const SECTION_NAMES: &[u8] = b"\0.symtab\0.strtab\0.shstrtab\0";

/// Bytes under construction.
#[derive(Default)]
struct Writer(Vec<u8>);

impl Writer {
    fn half(&mut self, value: u16) {
        self.0.extend(value.to_le_bytes());
    }
    fn word(&mut self, value: u32) {
        self.0.extend(value.to_le_bytes());
    }
    fn long(&mut self, value: u64) {
        self.0.extend(value.to_le_bytes());
    }
    fn longs(&mut self, values: &[u64]) {
        values.iter().for_each(|value| self.long(*value));
    }
    fn at(&self) -> u64 {
        self.0.len() as u64
    }
}

/// The ELF file of a program: executable, 64-bit RISC-V with the extensions of this machine,
/// double-float ABI.
#[must_use]
pub fn write(program: &Program) -> Vec<u8> {
    let count = program.segments.len().min(usize::from(u16::MAX));
    let segments = program.segments.iter().take(count);
    let mut out = Writer::default();
    let data_start = FILE_HEADER + PROGRAM_HEADER * count as u64;
    let (mut offsets, mut end) = (Vec::new(), data_start);
    for segment in segments.clone() {
        // Loaders that map pages want offsets and addresses to agree within a page.
        end += segment.address.wrapping_sub(end) % PAGE;
        offsets.push(end);
        end += segment.bytes.len() as u64;
    }
    let (symbols, names) = symbol_table(program);
    let symbols_at = end.next_multiple_of(8);
    let names_at = symbols_at + symbols.len() as u64;
    let section_names_at = names_at + names.len() as u64;
    let sections_at = (section_names_at + SECTION_NAMES.len() as u64).next_multiple_of(8);

    out.0.extend(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    out.half(2); // an executable
    out.half(243); // for RISC-V
    out.word(1);
    out.longs(&[program.entry, FILE_HEADER, sections_at]);
    out.word(5); // compressed instructions, double-float ABI
    for value in [FILE_HEADER, PROGRAM_HEADER, count as u64, SECTION_HEADER, 4, 3] {
        out.half(value as u16);
    }
    for (segment, at) in segments.clone().zip(&offsets) {
        out.word(1); // to load
        out.word(7); // readable, writable, executable
        let length = segment.bytes.len() as u64;
        let (address, size) = (segment.address, segment.size);
        out.longs(&[*at, address, address, length, size, PAGE]);
    }
    for (segment, at) in segments.zip(&offsets) {
        out.0.resize(*at as usize, 0);
        out.0.extend(&segment.bytes);
    }
    out.0.resize(symbols_at as usize, 0);
    out.0.extend(&symbols);
    out.0.extend(&names);
    out.0.extend(SECTION_NAMES);
    out.0.resize(sections_at as usize, 0);
    // Name, kind, place, length, linked section, further information, alignment, entry length.
    let sections: [(u32, u32, u64, u64, u32, u32, u64); 4] = [
        (0, 0, 0, 0, 0, 0, 0),
        (1, 2, symbols_at, symbols.len() as u64, 2, 1, 24),
        (9, 3, names_at, names.len() as u64, 0, 0, 0),
        (17, 3, section_names_at, SECTION_NAMES.len() as u64, 0, 0, 0),
    ];
    for (name, kind, offset, size, link, info, entry) in sections {
        out.word(name);
        out.word(kind);
        out.longs(&[0, 0, offset, size]);
        out.word(link);
        out.word(info);
        out.longs(&[u64::from(kind != 0), entry]);
    }
    debug_assert_eq!(out.at(), sections_at + 4 * SECTION_HEADER);
    out.0
}

/// The table of symbols, all global and absolute, and their names.
fn symbol_table(program: &Program) -> (Vec<u8>, Vec<u8>) {
    let mut names = vec![0];
    let mut table = Writer::default();
    table.longs(&[0, 0, 0]);
    for (name, address) in &program.symbols {
        // Names together are no longer than the text they come from.
        table.word(names.len() as u32);
        table.half(0x10);
        table.half(0xfff1);
        table.longs(&[*address, 0]);
        names.extend(name.as_bytes());
        names.push(0);
    }
    (table.0, names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        let text = "_start: nop\nli a7, 93\necall\n.data\nx: .dword 1, 2\n.bss\n.space 40";
        let program = Program::from_text(isa::FileId::default(), text).unwrap();
        let again = Program::from_elf(&write(&program)).unwrap();
        assert_eq!(again.segments, program.segments);
        assert_eq!(again.entry, program.entry);
        assert_eq!(again.symbols, program.symbols);
    }
}
