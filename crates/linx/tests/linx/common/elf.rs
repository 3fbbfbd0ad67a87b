//! ELF files made by hand, byte by byte: nothing here is shared with the reader under test.

/// A symbol: name, section (0 text, 1 data, `None` undefined), value, whether it is a function.
pub(crate) type Symbol = (&'static str, Option<u16>, u64, bool);
/// A relocation of the text: offset, type, index of the symbol, addend.
pub(crate) type Relocation = (u64, u32, usize, i64);

/// A relocatable object under construction.
#[derive(Clone, Default)]
pub(crate) struct Object {
    pub(crate) text: Vec<u8>,
    pub(crate) data: Vec<u8>,
    pub(crate) symbols: Vec<Symbol>,
    pub(crate) relocations: Vec<Relocation>,
}

fn header(kind: u16, entry: u64, programs: (u64, u16), sections: (u64, u16, u16)) -> Vec<u8> {
    let mut out = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    out.extend(kind.to_le_bytes());
    out.extend(0xe9u16.to_le_bytes());
    out.extend(1u32.to_le_bytes());
    for word in [entry, programs.0, sections.0] {
        out.extend(word.to_le_bytes());
    }
    out.extend(0u32.to_le_bytes());
    for half in [64, 56, programs.1, 64, sections.1, sections.2] {
        out.extend(half.to_le_bytes());
    }
    out
}

impl Object {
    /// The file: sections text, data, relocations, symbols, their names, and no section names.
    pub(crate) fn file(&self) -> Vec<u8> {
        let mut out = vec![0; 64];
        let mut put = |bytes: &[u8]| {
            out.resize(out.len().next_multiple_of(8), 0);
            let at = out.len() as u64;
            out.extend(bytes);
            (at, bytes.len() as u64)
        };
        let (text, data) = (put(&self.text), put(&self.data));
        let mut names = vec![0];
        let mut symbols = vec![0; 24];
        for (name, section, value, function) in &self.symbols {
            symbols.extend((names.len() as u32).to_le_bytes());
            symbols.push(0x10 | if *function { 2 } else { 0 });
            symbols.push(0);
            symbols.extend(section.map_or(0, |s| s + 1).to_le_bytes());
            symbols.extend(value.to_le_bytes());
            symbols.extend(0u64.to_le_bytes());
            names.extend(name.as_bytes());
            names.push(0);
        }
        let mut relocations = Vec::new();
        for (offset, kind, symbol, addend) in &self.relocations {
            relocations.extend(offset.to_le_bytes());
            relocations.extend(((*symbol as u64 + 1) << 32 | u64::from(*kind)).to_le_bytes());
            relocations.extend(addend.to_le_bytes());
        }
        let (relocations, symbols, names) = (put(&relocations), put(&symbols), put(&names));
        // Type, flags, place, link, info, alignment, bytes of an entry.
        let sections = [
            (0, 0, (0, 0), 0, 0, 0),
            (1, 6, text, 0, 0, 0),
            (1, 3, data, 0, 0, 0),
            (4, 0, relocations, 4, 1, 24),
            (2, 0, symbols, 5, 1, 24),
            (3, 0, names, 0, 0, 0),
        ];
        out.resize(out.len().next_multiple_of(8), 0);
        let at = out.len() as u64;
        for (kind, flags, (offset, size), link, info, entry) in sections {
            let (kind, flags): (u32, u64) = (kind, flags);
            out.extend(0u32.to_le_bytes());
            out.extend(kind.to_le_bytes());
            for word in [flags, 0, offset, size] {
                out.extend(word.to_le_bytes());
            }
            let (link, info): (u32, u32) = (link, info);
            out.extend(link.to_le_bytes());
            out.extend(info.to_le_bytes());
            out.extend(8u64.to_le_bytes());
            let entry: u64 = entry;
            out.extend(entry.to_le_bytes());
        }
        out[..64].copy_from_slice(&header(1, 0, (0, 0), (at, 6, 5)));
        out
    }
}

/// An executable: segments by address, bytes, length in memory and flags (4 read, 2 write, 1
/// execute).
pub(crate) fn executable(entry: u64, segments: &[(u64, &[u8], u64, u32)]) -> Vec<u8> {
    let mut out = header(2, entry, (64, segments.len() as u16), (0, 0, 0));
    let mut at = 64 + 56 * segments.len() as u64;
    for (address, bytes, size, flags) in segments {
        out.extend(1u32.to_le_bytes());
        out.extend(flags.to_le_bytes());
        for word in [at, *address, *address, bytes.len() as u64, *size, 16] {
            out.extend(word.to_le_bytes());
        }
        at += bytes.len() as u64;
    }
    for (_, bytes, ..) in segments {
        out.extend(*bytes);
    }
    out
}

/// An archive of objects, as `ar` writes it.
pub(crate) fn archive(objects: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut out = b"!<arch>\n".to_vec();
    for (name, bytes) in objects {
        let name = format!("{name}/");
        out.extend(format!("{name:<16}0           0     0     644     ").bytes());
        out.extend(format!("{:<10}`\n", bytes.len()).bytes());
        out.extend(bytes);
        if out.len() % 2 == 1 {
            out.push(b'\n');
        }
    }
    out
}
