//! The operand codec of the 64-bit forms: ten bits that name a register and how its value is read.
//!
//! `[9] st | [8:7] width | [6:5] class | [4:0] index`. Classes: 00 lane queues, 01 scalar imports,
//! exports and queues, 10 counters, bounds, tile bases, `p` and `zero`, 11 lane queues with the
//! hint `.reuse`. Indices that are not listed are reserved: no form has them, so that a word with
//! one is not an instruction.

/// A register of a kernel body that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reg {
    /// Entry `depth` (0 is the newest) of lane queue `hand` (`vt` `vu` `vm` `vn`).
    Lane {
        /// The queue, 0 to 3.
        hand: u8,
        /// The entry, 0 to 3.
        depth: u8,
        /// The hint, without effect.
        reuse: bool,
    },
    /// Scalar import `ri0` to `ri11`.
    Ri(u8),
    /// Entry of the scalar queue `t`, 0 is the newest.
    T(u8),
    /// Entry of the scalar queue `u`, 0 is the newest.
    U(u8),
    /// Loop counter 0 to 2; `lc0` is the lane's own.
    Lc(u8),
    /// Loop bound 0 to 2.
    Lb(u8),
    /// Source tile base `ta` to `td`.
    TileIn(u8),
    /// Destination tile base `to`, `ts`.
    TileOut(u8),
    /// The EXEC mask.
    P,
    /// Reads 0.
    Zero,
}

/// A source operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// The register that is read.
    pub reg: Reg,
    /// Integer: extended by its sign. Float: reserved.
    pub signed: bool,
    /// Bits that are read: 8, 16, 32, 64.
    pub bits: u32,
}

/// The destination of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Pushed on a lane queue, 0 to 3.
    Lane(u8),
    /// Scalar export `ro0` to `ro3`.
    Ro(u8),
    /// Pushed on `t`.
    T,
    /// Pushed on `u`.
    U,
    /// The EXEC mask.
    P,
    /// Dropped: `zero`, and scalar queue entries, which cannot be written.
    None(u8),
}

/// A destination operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dest {
    /// The destination.
    pub place: Place,
    /// Bits that are kept: 8, 16, 32, 64.
    pub bits: u32,
}

const WIDTHS: [u32; 4] = [64, 32, 16, 8];
const LETTERS: [char; 4] = ['d', 'w', 'h', 'b'];
const FLOATS: [char; 4] = ['d', 's', 'h', 'b'];
const HANDS: [&str; 4] = ["vt", "vu", "vm", "vn"];

fn parts(code: i64) -> (bool, usize, u8, u8) {
    (code >> 9 & 1 != 0, (code >> 7 & 3) as usize, (code >> 5 & 3) as u8, (code & 31) as u8)
}

/// Decodes a source; `None` for reserved codes.
#[must_use]
pub fn source(code: i64) -> Option<Source> {
    let (signed, width, class, index) = parts(code);
    let reg = match (class, index) {
        (0 | 3, i) if i % 8 < 4 => Reg::Lane { hand: i / 8, depth: i % 8, reuse: class == 3 },
        (1, 0..=11) => Reg::Ri(index),
        (1, 24..=27) => Reg::T(index - 24),
        (1, 28..=31) => Reg::U(index - 28),
        (2, 0 | 4 | 8) => Reg::Lc(index / 4),
        (2, 1 | 5 | 9) => Reg::Lb(index / 4),
        (2, 16..=19) => Reg::TileIn(index - 16),
        (2, 24 | 25) => Reg::TileOut(index - 24),
        (2, 28) => Reg::P,
        (2, 31) => Reg::Zero,
        _ => return None,
    };
    Some(Source { reg, signed, bits: WIDTHS[width] })
}

/// Decodes a destination; `None` for reserved codes.
#[must_use]
pub fn dest(code: i64) -> Option<Dest> {
    let (signed, width, class, index) = parts(code);
    let place = match (class, index) {
        _ if signed => return None,
        (0, 0..=3) => Place::Lane(index),
        (1, 0..=3) => Place::Ro(index),
        (1, 24..=29) => Place::None(index),
        (1, 30) => Place::U,
        (1, 31) => Place::T,
        (2, 28) => Place::P,
        (2, 31) => Place::None(31),
        _ => return None,
    };
    Some(Dest { place, bits: WIDTHS[width] })
}

/// The codes for which `legal` holds, as ranges of the table's text form.
fn ranges(legal: impl Fn(i64) -> bool) -> String {
    let mut out: Vec<String> = Vec::new();
    let mut code = 0;
    while code < 1024 {
        if legal(code) {
            let first = code;
            while legal(code + 1) && code + 1 < 1024 {
                code += 1;
            }
            out.push(if first == code { first.to_string() } else { format!("{first}..{code}") });
        }
        code += 1;
    }
    out.join("|")
}

/// Legal codes of integer sources, of float sources (no 8-bit format is specified), and of
/// destinations.
pub(crate) fn legal() -> [(&'static str, String); 3] {
    let float = |code| source(code).is_some_and(|s| !s.signed && s.bits != 8);
    [
        ("@fsource", ranges(float)),
        ("@source", ranges(|code| source(code).is_some())),
        ("@dest", ranges(|code| dest(code).is_some())),
    ]
}

fn reg_name(reg: Reg) -> String {
    match reg {
        Reg::Lane { hand, depth, reuse } => {
            let hint = if reuse { ".reuse" } else { "" };
            format!("{}#{}{hint}", HANDS[usize::from(hand) & 3], depth + 1)
        }
        Reg::Ri(i) => format!("ri{i}"),
        Reg::T(k) => format!("t#{}", k + 1),
        Reg::U(k) => format!("u#{}", k + 1),
        Reg::Lc(i) => format!("lc{i}"),
        Reg::Lb(i) => format!("lb{i}"),
        Reg::TileIn(i) => format!("t{}", char::from(b'a' + i)),
        Reg::TileOut(0) => "to".into(),
        Reg::TileOut(_) => "ts".into(),
        Reg::P => "p".into(),
        Reg::Zero => "zero".into(),
    }
}

/// A source as text, with its suffix.
pub(crate) fn print_source(code: i64, float: bool) -> String {
    let Some(Source { reg, signed, .. }) = source(code) else { return format!("?{code:#x}") };
    let width = parts(code).1;
    let name = reg_name(reg);
    match (float, signed) {
        (true, false) => format!("{name}.f{}", FLOATS[width]),
        (_, true) => format!("{name}.s{}", LETTERS[width]),
        (false, false) => format!("{name}.u{}", LETTERS[width]),
    }
}

/// An address base as text. The type is left out if it is `.ud`, and if it is `.sd` unless `exact`:
/// listings do not show that bit.
pub(crate) fn print_base(code: i64, exact: bool) -> String {
    match source(code) {
        Some(s) if s.bits == 64 && !(s.signed && exact) => reg_name(s.reg),
        _ => print_source(code, false),
    }
}

/// A destination as text.
pub(crate) fn print_dest(code: i64) -> String {
    let Some(Dest { place, bits }) = dest(code) else { return format!("?{code:#x}") };
    let name = match place {
        Place::Lane(hand) => HANDS[usize::from(hand) & 3].to_owned(),
        Place::Ro(i) => format!("ro{i}"),
        Place::T => "t".into(),
        Place::U => "u".into(),
        Place::P => "p".into(),
        Place::None(31) => "zero".into(),
        Place::None(i) if i < 28 => format!("t#{}", i - 23),
        Place::None(i) => format!("u#{}", i - 27),
    };
    match place {
        Place::P | Place::None(31) if bits == 64 => name,
        _ => format!("{name}.{}", LETTERS[parts(code).1]),
    }
}

/// The code of a register by its name (`vt` and 1 for `vt#1`), without type bits.
pub(crate) fn source_code(name: &str, entry: Option<u64>, reuse: bool) -> Option<i64> {
    let number = |prefix: &str| {
        name.strip_prefix(prefix).and_then(|n| {
            if n.len() > 1 && n.starts_with('0') { None } else { n.parse::<i64>().ok() }
        })
    };
    if let Some(k) = entry {
        let k = i64::try_from(k).ok().filter(|k| (1..=4).contains(k))?;
        return match name {
            "t" if !reuse => Some(1 << 5 | (23 + k)),
            "u" if !reuse => Some(1 << 5 | (27 + k)),
            _ => {
                let hand = HANDS.iter().position(|h| *h == name)? as i64;
                Some(if reuse { 3 << 5 } else { 0 } | (hand * 8 + k - 1))
            }
        };
    }
    if reuse {
        return None;
    }
    let special = |index: i64| Some(2 << 5 | index);
    match name {
        "p" => special(28),
        "zero" => special(31),
        "ta" | "tb" | "tc" | "td" => special(16 + i64::from(name.as_bytes()[1] - b'a')),
        "to" => special(24),
        "ts" | "to1" => special(25),
        _ => {
            if let Some(i) = number("ri").filter(|i| (0..12).contains(i)) {
                return Some(1 << 5 | i);
            }
            if let Some(i) = number("lc").filter(|i| (0..3).contains(i)) {
                return special(4 * i);
            }
            number("lb").filter(|i| (0..3).contains(i)).and_then(|i| special(4 * i + 1))
        }
    }
}

/// The type bits of a suffix such as `sw`; `f` suffixes are those of floats.
pub(crate) fn type_code(suffix: &str) -> Option<i64> {
    let mut chars = suffix.chars();
    let (kind, width) = (chars.next()?, chars.next()?);
    let letters = if kind == 'f' { FLOATS } else { LETTERS };
    let width = letters.iter().position(|&l| l == width)? as i64;
    let st = match kind {
        's' => 1,
        'u' | 'f' => 0,
        _ => return None,
    };
    chars.next().is_none().then_some(st << 9 | width << 7)
}

/// The code of a destination by name and width letter.
pub(crate) fn dest_code(name: &str, entry: Option<u64>, width: Option<&str>) -> Option<i64> {
    let width = match width {
        None => 0,
        Some(w) => LETTERS.iter().position(|l| w.len() == 1 && w.starts_with(*l))? as i64,
    };
    let index = match (name, entry) {
        ("vt", None) => 0,
        ("vu", None) => 1,
        ("vm", None) => 2,
        ("vn", None) => 3,
        ("ro0" | "ro1" | "ro2" | "ro3", None) => 1 << 5 | i64::from(name.as_bytes()[2] - b'0'),
        ("t", None) => 1 << 5 | 31,
        ("u", None) => 1 << 5 | 30,
        ("p", None) => 2 << 5 | 28,
        ("zero", None) => 2 << 5 | 31,
        ("t", Some(k @ 1..=4)) => 1 << 5 | (23 + k as i64),
        ("u", Some(k @ 1..=2)) => 1 << 5 | (27 + k as i64),
        _ => return None,
    };
    Some(width << 7 | index)
}

/// Returns the codes for which a rule holds, under the names that the table uses.
pub(crate) fn legal_of(codec: Codec) -> [(&'static str, String); 3] {
    match codec {
        Codec::RegId10 => legal(),
        Codec::Other => [
            ("@fsource", ranges(|code| other::source(code).is_some())),
            ("@source", ranges(|code| other::source(code).is_some())),
            ("@dest", ranges(|code| other::dest(code).is_some())),
        ],
    }
}

/// The codec of the ten bits of operands of 64-bit forms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Codec {
    /// Types and registers: v0.4.
    #[default]
    RegId10,
    /// "Codec B" of another public back end: a class and an index, no types. It can be written and
    /// read, not executed.
    Other,
}

/// Codec B: `[9:5] class | [4:0] index`.
pub(crate) mod other {
    use super::HANDS;

    /// Registers of class 0, by their 5-bit codes.
    const SCALARS: [&str; 32] = crate::names::REGISTERS;
    const TILES: [&str; 6] = ["ta", "tb", "tc", "td", "to", "ts"];

    /// The name of a source.
    pub(crate) fn source(code: i64) -> Option<String> {
        let (class, index) = ((code >> 5 & 31) as usize, (code & 31) as usize);
        Some(match (class, index) {
            (0, _) => SCALARS[index].to_owned(),
            (1, 0..=11) => format!("ri{index}"),
            (2, 28) => "p".to_owned(),
            (3, 0..=2) => format!("lc{index}"),
            (4..=7, 1..=4) => format!("{}#{index}", HANDS[class - 4]),
            (8, 0..=5) => TILES[index].to_owned(),
            _ => return None,
        })
    }

    /// The name of a destination.
    pub(crate) fn dest(code: i64) -> Option<String> {
        let (class, index) = ((code >> 5 & 31) as usize, (code & 31) as usize);
        Some(match (class, index) {
            (0, 30) => "u".to_owned(),
            (0, 31) => "t".to_owned(),
            (1, 0..=3) => format!("ro{index}"),
            (4..=7, 0) => HANDS[class - 4].to_owned(),
            _ => return source(code).filter(|_| class != 1 && class != 3 && class != 8),
        })
    }

    /// The code of a name, among those for which `name_of` has one.
    pub(crate) fn code(name: &str, name_of: fn(i64) -> Option<String>) -> Option<i64> {
        (0..1024).find(|&code| name_of(code).is_some_and(|known| known == name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_legal_code_prints_and_reads_back() {
        let mut sources = 0;
        for code in (0..1024).filter(|&c| source(c).is_some()) {
            sources += 1;
            let text = print_source(code, false);
            let (name, suffix) = text.rsplit_once('.').unwrap();
            let reuse = name.ends_with(".reuse");
            let name = name.trim_end_matches(".reuse");
            let (name, entry) =
                name.split_once('#').map_or((name, None), |(n, k)| (n, k.parse().ok()));
            let read = source_code(name, entry, reuse).unwrap() | type_code(suffix).unwrap();
            assert_eq!(read, code, "{text}");
        }
        // 16 entries twice, 12 imports, 8 queue entries, 14 specials; 4 widths and 2 signs each.
        assert_eq!(sources, (32 + 12 + 8 + 14) * 8);
        assert_eq!((0..1024).filter(|&c| dest(c).is_some()).count(), (4 + 4 + 6 + 2 + 2) * 4);
    }

    #[test]
    fn reserved_indices_are_no_registers() {
        for index in [20, 21, 22, 23, 26, 27, 29, 30] {
            assert_eq!(source(2 << 5 | index), None);
        }
        assert_eq!(dest(3 << 5), None);
        assert_eq!(dest(1 << 9), None);
    }
}
