//! Operands: registers, constants, addresses.

use ir::testing::Rng;
use ptx::Type;

use crate::kernel::Shape;
use crate::templates::{Class, Group, Slot, Template};

/// Bytes of the buffer that kernels read.
pub const IN_BYTES: u64 = 4096;
/// Bytes of the buffer that all threads read and write in any order.
pub const RACY_BYTES: u64 = 512;
/// Bytes of the buffer whose elements may each belong to one thread.
pub const WIDE_BYTES: u64 = 8192;
/// Bytes of each thread's part of the output: first the memory that kernels read and write, then
/// their registers.
pub const OWN_BYTES: u64 = 384;
const OWN_REACH: u64 = 128;

/// 32-bit values at the edges of integer and float formats.
const WORDS: &[u32] = &[
    0,
    1,
    2,
    3,
    31,
    32,
    33,
    0x7fff_ffff,
    0x8000_0000,
    0x8000_0001,
    0xffff_ffff,
    0xffff_fffe,
    0x3f80_0000,
    0xbf80_0000,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0x7f80_0001,
    0xffff_0000,
    0x0080_0000,
    0x007f_ffff,
    0x8000_0010,
    0x7f7f_ffff,
    0x4f00_0000,
    0x4f80_0000,
    0x3f00_0000,
    0x7c00_7e00,
    0xfc01_8001,
];

/// 64-bit values at the edges of integer and float formats.
const LONGS: &[u64] = &[
    0,
    1,
    63,
    64,
    u64::MAX,
    1 << 63,
    (1 << 63) - 1,
    1 << 32,
    0xffff_ffff,
    0x3ff0_0000_0000_0000,
    0xbff0_0000_0000_0000,
    0x7ff0_0000_0000_0000,
    0xfff0_0000_0000_0000,
    0x7ff8_0000_0000_0000,
    0x7ff0_0000_0000_0001,
    0x000f_ffff_ffff_ffff,
    0x0010_0000_0000_0000,
    0x7fef_ffff_ffff_ffff,
    0x43e0_0000_0000_0000,
    0x36a0_0000_0000_0000,
];

/// 16-bit values at the edges of integer and float formats.
const HALVES: &[u16] =
    &[0, 1, 0x7fff, 0x8000, 0xffff, 0x3c00, 0x7c00, 0xfc00, 0x7e00, 0x7c01, 0x03ff, 0x3f80, 0x7f80];

/// Returns a special value of 32 bits, or random bits.
pub fn word(rng: &mut Rng) -> u32 {
    match rng.below(8) {
        0 | 1 => rng.bits() as u32,
        2 => rng.below(70) as u32,
        _ => WORDS[rng.below(WORDS.len())],
    }
}

/// Returns a special value of 64 bits, or random bits.
pub fn long(rng: &mut Rng) -> u64 {
    match rng.below(8) {
        0 | 1 => rng.bits(),
        2 => u64::from(word(rng)) << 32 | u64::from(word(rng)),
        3 => rng.below(70) as u64,
        _ => LONGS[rng.below(LONGS.len())],
    }
}

fn half(rng: &mut Rng) -> u16 {
    if rng.one_in(3) { rng.bits() as u16 } else { HALVES[rng.below(HALVES.len())] }
}

/// Returns eight bytes of an input: one, two or four values.
pub fn eight_bytes(rng: &mut Rng) -> [u8; 8] {
    match rng.below(4) {
        0 => long(rng),
        1 => (0..4).fold(0, |all, _| all << 16 | u64::from(half(rng))),
        _ => u64::from(word(rng)) << 32 | u64::from(word(rng)),
    }
    .to_le_bytes()
}

/// Returns a constant of a type, where instructions take one.
fn constant(ty: Type, rng: &mut Rng) -> Option<String> {
    Some(match ty {
        Type::F32 => format!("0f{:08X}", word(rng)),
        Type::F64 => format!("0d{:016X}", long(rng)),
        Type::S32 => (word(rng) as i32).to_string(),
        Type::U32 | Type::B32 => format!("{:#x}", word(rng)),
        Type::S64 => (long(rng) as i64).to_string(),
        Type::U64 | Type::B64 => format!("{:#x}", long(rng)),
        Type::S16 => (half(rng) as i16).to_string(),
        Type::U16 | Type::B16 => half(rng).to_string(),
        _ => return None,
    })
}

/// Returns the registers of a class in a function: varying ones, and uniform ones.
pub(crate) fn registers(class: Class) -> (&'static str, usize, &'static str, usize) {
    match class {
        Class::Pred => ("%p", 6, "%up", 2),
        Class::B16 => ("%h", 6, "%uh", 2),
        Class::B32 => ("%r", 10, "%u", 6),
        Class::B64 => ("%d", 8, "%v", 3),
        Class::B128 => ("%q", 3, "%q", 3),
    }
}

/// Which threads write the same memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// All of the grid.
    Grid,
    /// Those of a block.
    Block,
    /// None: each thread writes memory of its own.
    Nobody,
}

/// Bytes of shared memory that a thread has for itself, where nobody shares memory.
const SLOT_BYTES: u64 = 16;

/// The context in which operands are chosen.
pub(crate) struct Operands<'r> {
    rng: &'r mut Rng,
    shape: Shape,
    sharing: Sharing,
    /// Whether all sources are uniform.
    uniform: bool,
    /// The lanes that are there, as a register's name or a constant.
    members: String,
    /// Lines that compute the operands.
    pub(crate) lines: Vec<String>,
    /// For instructions of all lanes at one address: whether to discard results where possible.
    pub(crate) thrown_away: Option<bool>,
    /// Number of addresses so far.
    addresses: usize,
}

impl<'r> Operands<'r> {
    pub(crate) fn new(
        rng: &'r mut Rng,
        shape: Shape,
        sharing: Sharing,
        uniform: bool,
        members: String,
    ) -> Self {
        let (lines, thrown_away, addresses) = (Vec::new(), None, 0);
        Self { rng, shape, sharing, uniform, members, lines, thrown_away, addresses }
    }

    fn threads(&self) -> u64 {
        u64::from(self.shape.block.iter().product::<u32>())
    }

    /// Returns the threads of the grid.
    fn all_threads(&self) -> u64 {
        self.threads() * u64::from(self.shape.grid)
    }

    /// Returns the instruction; the lines that it needs are in `lines`.
    pub(crate) fn instruction(&mut self, template: &Template) -> String {
        let operands: Vec<String> =
            template.slots.iter().map(|slot| self.operand(template, slot)).collect();
        format!("{} {};", template.name, operands.join(", "))
    }

    fn operand(&mut self, template: &Template, slot: &Slot) -> String {
        match slot {
            Slot::Dest(_, true) if self.thrown_away.unwrap_or(self.rng.one_in(2)) => "_".to_owned(),
            Slot::Dest(class, _) => self.dest(*class),
            Slot::DestAndPred(class) => {
                format!("{}|%p{}", self.dest(*class), 3 + self.rng.below(3))
            }
            Slot::Source(class, ty) => self.source(*class, *ty),
            Slot::Members => self.members.clone(),
            Slot::Barrier => self.rng.below(4).to_string(),
            Slot::Dests(classes) | Slot::Sources(classes) => self.list(classes),
            Slot::Address { global } => self.address(template, *global),
            Slot::Stride => "16".to_owned(),
            Slot::Metadata { wide } => self.metadata(*wide),
            Slot::Selected(sign, class, selector, written) => {
                let register = if *written { self.dest(*class) } else { self.source(*class, None) };
                format!("{sign}{register}{selector}")
            }
            Slot::Text(text) if template.opcode == "lop3" => {
                let _ = text;
                self.rng.below(256).to_string()
            }
            Slot::Text(text) => text.clone(),
        }
    }

    fn dest(&mut self, class: Class) -> String {
        let (name, count, same, uniform) = registers(class);
        match class {
            // The second of a pair is another register.
            Class::Pred => format!("%p{}", self.rng.below(3)),
            // Convergent loops rely on the first ones.
            Class::B32 if self.rng.one_in(30) => format!("{same}{}", 3 + self.rng.below(3)),
            Class::B64 if self.rng.one_in(30) => format!("{same}{}", uniform - 1),
            _ => format!("{name}{}", self.rng.below(count)),
        }
    }

    pub(crate) fn source(&mut self, class: Class, ty: Option<Type>) -> String {
        let (name, count, same, uniform) = registers(class);
        let chosen = self.rng.below(16);
        match ty {
            Some(ty) if chosen < 2 || self.uniform && chosen < 4 => {
                if let Some(constant) = constant(ty, self.rng) {
                    return constant;
                }
            }
            _ => {}
        }
        match class {
            _ if self.uniform || chosen < 5 => format!("{same}{}", self.rng.below(uniform)),
            Class::B32 if chosen == 5 => "%i".to_owned(),
            _ => format!("{name}{}", self.rng.below(count)),
        }
    }

    /// A register with metadata of a sparse matrix: two words, by the thread's number.
    fn metadata(&mut self, wide: bool) -> String {
        let codes: &[u32] = if wide { &[0x4, 0xe] } else { &[0x4, 0x8, 0xc, 0x9, 0xd, 0xe] };
        let [even, odd] = [(); 2]
            .map(|()| (0..8).fold(0, |word, _| word << 4 | codes[self.rng.below(codes.len())]));
        self.lines.push("and.b32 %t0, %i, 1;".to_owned());
        self.lines.push(format!("mad.lo.u32 %t0, %t0, {:#x}, {even:#x};", odd.wrapping_sub(even)));
        "%t0".to_owned()
    }

    fn list(&mut self, classes: &[Class]) -> String {
        let first = self.rng.below(8);
        let names = classes.iter().enumerate().map(|(k, class)| {
            let (name, count, ..) = registers(*class);
            format!("{name}{}", (first + k) % count)
        });
        format!("{{{}}}", names.collect::<Vec<_>>().join(", "))
    }

    /// Returns an address, in brackets, that the instruction may access.
    fn address(&mut self, template: &Template, global: bool) -> String {
        let k = 2 * self.addresses;
        self.addresses += 1;
        let space = if global { Some("global") } else { template.space };
        let place = match space {
            Some("global") => self.global(template),
            Some("local") => Place::new("lm", 128, "local"),
            Some("const") => Place::new("cv", 64, "const"),
            Some("param" | "param::entry" | "param::func") => {
                let at = self.rng.below((64 / template.size) as usize) as u64 * template.size;
                return format!("[blob+{at}]");
            }
            Some(_) => Place::new("sm", 2048, "shared"),
            None => self.generic(template),
        };
        let generic = space.is_none();
        if template.group == Group::Matrix && template.opcode == "wmma" {
            return self.reach(&place, generic, k, None, 0);
        }
        let size = template.size;
        if self.sharing == Sharing::Nobody && place.space == "shared" {
            return self.slot(&place, generic, k, size);
        }
        let unit = self.unit(&place, size);
        let (index, offset) = self.index(place.bytes / unit, k, place.name == "%wide");
        self.reach(&place, generic, k, index.map(|index| (index, unit)), offset * unit)
    }

    /// The bytes that an index counts: a word, or a structure that begins with it.
    fn unit(&mut self, place: &Place, size: u64) -> u64 {
        let own_words = place.name == "%wide" && self.sharing == Sharing::Block;
        let unit = if self.rng.one_in(3) { size << (1 + self.rng.below(2)) } else { size };
        if own_words || unit > place.bytes { size } else { unit }
    }

    /// An address in the thread's slot of shared memory.
    fn slot(&mut self, place: &Place, generic: bool, k: usize, size: u64) -> String {
        let offset = self.rng.below((SLOT_BYTES / size) as usize) as u64 * size;
        if !generic && self.rng.one_in(2) {
            return format!("[%sm+{offset}]");
        }
        self.reach(place, generic, k, Some(("%i".to_owned(), SLOT_BYTES)), offset)
    }

    fn global(&mut self, template: &Template) -> Place {
        if self.sharing == Sharing::Nobody {
            let read = template.reads_constants() || !template.writes && self.rng.one_in(2);
            return match read {
                true => Place::new("%in", IN_BYTES, "global"),
                false => Place::new("%own", OWN_REACH, "global"),
            };
        }
        if template.opcode == "wmma" {
            let name = if template.writes { "%wide" } else { "%in" };
            return Place::new(name, IN_BYTES, "global");
        }
        if self.sharing == Sharing::Block {
            // Other sizes would overlap with those of other blocks.
            let wide = template.size == 4 && self.all_threads() <= WIDE_BYTES / 4;
            return match self.rng.below(if template.writes { 3 } else { 5 }) {
                0 | 1 if wide => Place::new("%wide", WIDE_BYTES, "global"),
                3 | 4 => Place::new("%in", IN_BYTES, "global"),
                _ => Place::new("%own", OWN_REACH, "global"),
            };
        }
        match self.rng.below(if template.writes { 6 } else { 9 }) {
            0 | 1 => Place::new("%racy", RACY_BYTES, "global"),
            2 => Place::new("%own", OWN_REACH, "global"),
            3 => Place::new("gv", 512, "global"),
            4 | 5 => Place::new("%wide", WIDE_BYTES, "global"),
            _ => Place::new("%in", IN_BYTES, "global"),
        }
    }

    fn generic(&mut self, template: &Template) -> Place {
        let shared = Place::new("sm", 2048, "shared");
        match template.opcode {
            "ldmatrix" | "stmatrix" => shared,
            "ld" | "st" if self.rng.one_in(8) => Place::new("lm", 128, "local"),
            "ld" if self.rng.one_in(8) => Place::new("cv", 64, "const"),
            "ld" | "st" | "atom" | "red" if self.rng.one_in(3) => shared,
            _ => self.global(template),
        }
    }

    /// Returns an index below `count`, a power of two, as a register and a constant to be added.
    fn index(&mut self, count: u64, k: usize, wide: bool) -> (Option<String>, u64) {
        let t = format!("%t{k}");
        let (threads, all) = (self.threads(), self.all_threads());
        if wide && self.sharing == Sharing::Block {
            return (Some("%g".to_owned()), 0);
        }
        if count < 2 || self.thrown_away.is_some() || self.rng.one_in(6) {
            // One address for all lanes.
            return (None, self.rng.below(count as usize) as u64);
        }
        let (half, offset) = (count / 2 - 1, self.rng.below(count as usize / 2) as u64);
        if half >= 7 && self.rng.one_in(4) {
            // Other accesses have the same indices, perhaps in another unit.
            self.lines.push(format!("and.b32 {t}, %i, 7;"));
            return (Some(t), offset);
        }
        let kind = self.rng.below(8);
        let from = match kind {
            0 => format!("%u{}", self.rng.below(6)),
            1 | 2 if wide && all <= count / 2 => return (Some("%g".to_owned()), offset),
            1 | 2 if threads <= count / 2 => return (Some("%i".to_owned()), offset),
            1 | 2 => "%i".to_owned(),
            3 => {
                let stride = 2 + self.rng.below(4);
                self.lines.push(format!("mul.lo.u32 {t}, %i, {stride};"));
                t.clone()
            }
            4 => {
                self.lines.push(format!("sub.u32 {t}, {}, %i;", self.rng.below(200)));
                t.clone()
            }
            5 => {
                self.lines.push(format!("shr.u32 {t}, %i, {};", 1 + self.rng.below(4)));
                t.clone()
            }
            _ => format!("%r{}", self.rng.below(10)),
        };
        self.lines.push(format!("and.b32 {t}, {from}, {half};"));
        (Some(t), offset)
    }

    /// Returns the address of an index in a place, plus an offset in bytes.
    fn reach(
        &mut self,
        place: &Place,
        generic: bool,
        k: usize,
        index: Option<(String, u64)>,
        offset: u64,
    ) -> String {
        let a = format!("%a{k}");
        // Offsets in shared and local memory may be 32 bits.
        let common = self.sharing != Sharing::Nobody;
        if common && place.space == "shared" && !generic && self.rng.one_in(2) {
            let Some((index, size)) = index else { return format!("[%sm+{offset}]") };
            self.lines.push(format!("mad.lo.u32 %t{}, {index}, {size}, %sm;", k + 1));
            return format!("[%t{}+{offset}]", k + 1);
        }
        let base = match place.name.starts_with('%') {
            true => place.name.to_owned(),
            false => {
                let base = format!("%a{}", k + 1);
                self.lines.push(format!("mov.u64 {base}, {};", place.name));
                if generic {
                    self.lines.push(format!("cvta.{}.u64 {base}, {base};", place.space));
                }
                base
            }
        };
        let Some((index, size)) = index else { return format!("[{base}+{offset}]") };
        match self.rng.below(4) {
            0 => self.lines.push(format!("mad.wide.u32 {a}, {index}, {size}, {base};")),
            1 => {
                self.lines.push(format!("cvt.u64.u32 {a}, {index};"));
                self.lines.push(format!("shl.b64 {a}, {a}, {};", size.trailing_zeros()));
                self.lines.push(format!("add.s64 {a}, {base}, {a};"));
            }
            2 => {
                self.lines.push(format!("mul.wide.s32 {a}, {index}, {size};"));
                self.lines.push(format!("add.s64 {a}, {base}, {a};"));
            }
            _ => {
                self.lines.push(format!("mul.wide.u32 {a}, {index}, {size};"));
                self.lines.push(format!("add.u64 {a}, {a}, {base};"));
            }
        }
        format!("[{a}+{offset}]")
    }
}

/// Memory that an address points into.
struct Place {
    /// A register that holds its address, or its name.
    name: &'static str,
    bytes: u64,
    space: &'static str,
}

impl Place {
    fn new(name: &'static str, bytes: u64, space: &'static str) -> Self {
        Self { name, bytes, space }
    }
}
