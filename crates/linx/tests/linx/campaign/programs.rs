//! Random scalar programs: blocks that lead forward, loops that end, accesses inside memory.

use std::fmt::Write as _;

use isa::testing::Rng;

/// Which instructions a program has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Set {
    /// All that the second model knows.
    All,
    /// Those that upstream's scalar models execute, where they follow the manual: no division by
    /// zero.
    Upstream,
}

/// Registers whose content programs rely on: `s8` is the middle of memory, `s6` counts rounds, `x3`
/// is an index or an address.
const FREE: [&str; 20] = [
    "sp", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "ra", "s0", "s1", "s2", "s3", "s4", "s5",
    "s7", "x0", "x1", "x2",
];

/// The offset of the middle from the start of memory, and how far accesses go from it.
const MIDDLE: i64 = 0x500;
const REACH: i64 = 0x200;

/// Names and a template: `r` a register, `m`, `n`, `w`, `c` one with modifiers, `d` a destination,
/// `e` another one, `g` one that is not `ra`, the rest numbers.
type Family = (&'static str, &'static str);

/// What upstream's models execute too.
const COMMON: [Family; 22] = [
    ("add sub addw subw", "{r}, {m}, ->{d}"),
    ("and or xor andw orw xorw", "{r}, {n}, ->{d}"),
    ("addi subi addiw subiw", "{r}, {u12}, ->{d}"),
    ("andi ori xori andiw oriw xoriw", "{r}, {s12}, ->{d}"),
    ("hl.addi hl.subi hl.addiw hl.subiw", "{r}, {u24}, ->{d}"),
    ("hl.andi hl.ori hl.xori hl.andiw hl.oriw hl.xoriw", "{r}, {s24}, ->{d}"),
    ("sll srl sra sllw srlw sraw mul mulw", "{r}, {r}, ->{d}"),
    ("slli srli srai", "{r}, {u6}, ->{d}"),
    ("slliw srliw sraiw", "{r}, {u5}, ->{d}"),
    ("cmp.eq cmp.ne cmp.lt cmp.ltu cmp.ge cmp.geu", "{r}, {w}, ->{d}"),
    ("cmp.and cmp.or", "{r}, {q}, ->{d}"),
    ("cmp.eqi cmp.nei cmp.andi cmp.ori cmp.lti cmp.gei", "{r}, {s12}, ->{d}"),
    ("cmp.ltui cmp.geui", "{r}, {u12}, ->{d}"),
    ("csel", "{r}, {r}, {c}, ->{d}"),
    ("lui", "{s20}, ->{d}"),
    ("c.add c.sub c.and c.or", "{r}, {r}, ->t"),
    ("c.addi", "{r}, {s5}, ->t"),
    ("c.slli c.srli", "t#1, {u5}, ->t"),
    ("c.sext.b c.sext.h c.sext.w c.zext.b c.zext.h c.zext.w", "{r}, ->t"),
    ("c.movr", "{r}, ->{d}"),
    ("c.movi", "{s5}, ->{g}"),
    ("div divu rem remu divw divuw remw remuw", "{r}, {z}, ->{d}"),
];

const MORE: [Family; 11] = [
    ("bxu bxs bic bis bcnt clz ctz rev", "{r}, {u6}, {b}, ->{d}"),
    ("max min maxu minu mulu muluw", "{r}, {r}, ->{d}"),
    ("madd maddw", "{r}, {r}, {r}, ->{d}"),
    ("hl.mul hl.mulu hl.div hl.divu hl.divw hl.divuw", "{r}, {r}, ->{d}, {e}"),
    ("hl.miadd hl.misub", "{r}, {r}, {u19}, ->{d}"),
    ("hl.cmp.eqi hl.cmp.nei hl.cmp.andi hl.cmp.ori hl.cmp.lti hl.cmp.gei", "{r}, {s24}, ->{d}"),
    ("hl.cmp.ltui hl.cmp.geui", "{r}, {u24}, ->{d}"),
    ("hl.lui hl.lis", "{s32}, ->{d}"),
    ("hl.liu", "{u32}, ->{d}"),
    ("c.cmp.eqi c.cmp.nei", "t#1, {s5}, ->t"),
    ("div divu rem remu divw divuw remw remuw", "{r}, {r}, ->{d}"),
];

/// Accesses relative to the middle; `o` is an offset, `x` an index.
const COMMON_ACCESSES: [Family; 9] = [
    ("lbi lbui lhi lhui lwi lwui ldi", "[s8, {o}], ->{d}"),
    ("lb lbu lh lhu lw lwu ld", "[s8, {x4}], ->{d}"),
    ("sbi shi swi sdi", "{r}, [s8, {o}]"),
    ("sb", "{r}, [s8, {x}]"),
    ("sh", "{r}, [s8, {x}<<1]"),
    ("sw", "{r}, [s8, {x}<<2]"),
    ("sd", "{r}, [s8, {x}<<3]"),
    ("hl.lbip hl.lbuip hl.lhip hl.lhuip hl.lwip hl.lwuip hl.ldip", "[s8, {o}], ->{d}, {e}"),
    ("hl.sbip hl.ship hl.swip hl.sdip", "{r}, {r}, [s8, {o}]"),
];

const MORE_ACCESSES: [Family; 8] = [
    ("lhi.u lhui.u lwi.u lwui.u ldi.u hl.ldi.u hl.lwi.u", "[s8, {p}], ->{d}"),
    ("shi.u swi.u sdi.u hl.sdi.u hl.swi.u", "{r}, [s8, {p}]"),
    ("sh.u sw.u sd.u", "{r}, [s8, {x}]"),
    ("hl.ldi.pr hl.ldi.po hl.lwui.pr hl.lhi.po hl.lbi.pr", "[s8, {o}], ->{d}, {e}"),
    ("hl.sdi.pr hl.sdi.po hl.swi.pr hl.shi.po hl.sbi.pr", "{r}, [s8, {o}], ->{d}"),
    ("ld.add ld.and ld.or ld.xor ld.smax ld.smin ld.umax ld.umin", "[x3], {r}, ->{d}"),
    ("lw.add lw.and lw.or lw.xor lw.smax lw.smin lw.umax lw.umin", "[x3], {r}, ->{d}"),
    ("sd.add sd.xor sd.smax sd.umin sw.add sw.or sw.smin sw.umax", "[x3], {r}"),
];

struct Writer<'r> {
    random: &'r mut Rng,
    set: Set,
    text: String,
}

/// A program; `a0` is the address of memory.
pub(crate) fn scalar(random: &mut Rng, set: Set) -> String {
    let mut writer = Writer { random, set, text: String::new() };
    writer.line("_start: C.BSTART.STD");
    writer.line(&format!("addi a0, {MIDDLE}, ->s8"));
    for (i, register) in FREE.iter().enumerate().filter(|(_, r)| **r != "a0") {
        writer.line(&format!("ldi [a0, {}], ->{register}", 8 * i));
    }
    let blocks = 2 + writer.random.below(5);
    for block in 0..blocks {
        writer.block(block, blocks);
    }
    writer.line(&format!("b{blocks}: C.BSTART.STD"));
    writer.line(&format!("subi s8, {MIDDLE}, ->s8"));
    for (i, register) in FREE.iter().enumerate() {
        writer.line(&format!("sdi {register}, [s8, {}]", 0x100 + 8 * i));
    }
    writer.line("c.movi 0, ->a0");
    writer.line("ebreak 0");
    writer.text
}

impl Writer<'_> {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn one<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.random.below(words.len() as u64) as usize]
    }

    fn register(&mut self) -> String {
        match self.random.below(4) {
            0 => format!("t#{}", 1 + self.random.below(4)),
            1 => format!("u#{}", 1 + self.random.below(4)),
            _ if self.random.below(12) == 0 => self.one(&["zero", "s6", "s8", "x3"]).to_owned(),
            _ => self.one(&FREE).to_owned(),
        }
    }

    fn destination(&mut self) -> &'static str {
        match self.random.below(5) {
            0 => "t",
            1 => "u",
            _ if self.random.below(20) == 0 => "zero",
            _ => self.one(&FREE),
        }
    }

    /// A block: where it leads, and some statements.
    fn block(&mut self, number: u64, blocks: u64) {
        let target = format!("b{}", number + 1 + self.random.below(blocks - number));
        match self.random.below(8) {
            0 => self.rounds(number),
            1 | 2 => {
                let kind = self.marker();
                self.line(&format!("b{number}: {kind} COND, {target}"));
                self.statements();
                self.condition();
                self.statements();
            }
            3 => {
                let kind = self.marker();
                self.line(&format!("b{number}: {kind} DIRECT, {target}"));
                self.statements();
            }
            4 => {
                self.line(&format!("b{number}: C.BSTART.STD RET"));
                self.statements();
                self.line(&format!("setret {target}, ->ra"));
            }
            5 => {
                self.line(&format!("b{number}: C.BSTART.STD IND"));
                self.statements();
                self.line(&format!("setret {target}, ->ra"));
                let set = self.one(&["setc.tgt", "c.setc.tgt"]);
                self.line(&format!("{set} ra"));
                self.statements();
            }
            6 => {
                let call = if self.set == Set::All { "BSTART.STD" } else { "HL.BSTART.STD" };
                self.line(&format!("b{number}: {call} CALL, {target}"));
                self.line(&format!("setret b{blocks}, ->ra"));
                self.statements();
            }
            _ => {
                self.line(&format!("b{number}: C.BSTART.STD"));
                self.statements();
            }
        }
    }

    /// A marker with a target; upstream's model does not know all of them.
    fn marker(&mut self) -> &'static str {
        match self.random.below(3) {
            0 => "C.BSTART.STD",
            1 if self.set == Set::All => "BSTART.STD",
            _ => "HL.BSTART.STD",
        }
    }

    /// A block that runs one to four times.
    fn rounds(&mut self, number: u64) {
        let times = 1 + self.random.below(4);
        self.line(&format!("b{number}: C.BSTART.STD\nc.movi {times}, ->s6"));
        let kind = self.marker();
        self.line(&format!("l{number}: {kind} COND, l{number}"));
        self.statements();
        self.line("subi s6, 1, ->s6\nsetc.nei s6, 0");
    }

    fn condition(&mut self) {
        let names = "eq ne lt ltu ge geu";
        let (family, template) = match self.random.below(5) {
            0 => ("setc.eqi setc.nei setc.andi setc.ori setc.lti setc.gei", "{r}, {s12}"),
            1 => ("setc.ltui setc.geui", "{r}, {u12}"),
            2 => ("setc.and setc.or", "{r}, {q}"),
            3 => ("c.setc.eq c.setc.ne", "{r}, {r}"),
            _ => (names, "{r}, {w}"),
        };
        let words: Vec<&str> = family.split(' ').collect();
        let name = self.one(&words);
        let dot = if family == names { "setc." } else { "" };
        self.fill(&format!("{dot}{name}"), template);
    }

    fn statements(&mut self) {
        for _ in 0..2 + self.random.below(6) {
            let all = self.set == Set::All;
            let more = all && self.random.below(3) == 0;
            let access = self.random.below(3) == 0;
            let families: &[Family] = match (access, more) {
                (false, false) => &COMMON,
                (false, true) => &MORE,
                (true, false) => &COMMON_ACCESSES,
                (true, true) => &MORE_ACCESSES,
            };
            let (names, template) = families[self.random.below(families.len() as u64) as usize];
            let words: Vec<&str> = names.split(' ').collect();
            let name = self.one(&words);
            if access {
                self.prepare(template);
            }
            if template.contains("{z}") {
                let register = self.register();
                self.line(&format!("ori {register}, 1, ->x3"));
            }
            self.fill(name, template);
            if all && self.random.below(20) == 0 {
                self.exclusive();
            }
        }
    }

    /// Puts an address or an index into `x3`.
    fn prepare(&mut self, template: &str) {
        let by = self.random.below((REACH / 8) as u64) * 8;
        let register = self.register();
        if template.contains("[x3]") {
            let op = self.one(&["addi", "subi"]);
            self.line(&format!("{op} s8, {by}, ->x3"));
        } else {
            self.line(&format!("andi {register}, 31, ->x3"));
        }
    }

    fn exclusive(&mut self) {
        let letter = self.one(&["b", "h", "w", "d"]);
        self.prepare("[x3]");
        self.fill(&format!("lr.{letter}"), "[x3], ->{d}");
        self.fill(&format!("sc.{letter}"), "{r}, [x3], ->{d}");
    }

    fn fill(&mut self, name: &str, template: &str) {
        let mut line = format!("{name} ");
        let mut rest = template;
        let mut first = "";
        while let Some((before, behind)) = rest.split_once('{') {
            let (hole, after) = behind.split_once('}').unwrap();
            line.push_str(before);
            let word = match hole {
                "d" => {
                    first = self.destination();
                    first.to_owned()
                }
                // Not a queue, and not the first one: the order of the writes does not show.
                "e" => loop {
                    let other = self.one(&FREE);
                    if other != first {
                        break other.to_owned();
                    }
                },
                // What would write `ra` is another instruction.
                "g" => loop {
                    let other = self.destination();
                    if other != "ra" {
                        break other.to_owned();
                    }
                },
                _ => self.hole(hole, name),
            };
            line.push_str(&word);
            rest = after;
        }
        let _ = write!(line, "{rest}");
        self.line(&line);
    }

    fn hole(&mut self, hole: &str, name: &str) -> String {
        let shift = self.random.below(32);
        let letters = name.trim_start_matches("hl.").as_bytes();
        let size = 1 << "bhwd".find(char::from(letters[1])).unwrap_or(0);
        match hole {
            "r" => self.register(),
            "z" => "x3".to_owned(),
            "m" => {
                let modifier = self.one(&["", ".sw", ".uw", ".neg"]);
                format!("{}{modifier}{}", self.register(), shifted(shift))
            }
            "n" => {
                let modifier = self.one(&["", ".sw", ".uw", ".not"]);
                format!("{}{modifier}{}", self.register(), shifted(shift))
            }
            "q" => format!("{}{}", self.register(), self.one(&["", ".sw", ".uw", ".not"])),
            "w" => format!("{}{}", self.register(), self.one(&["", ".sw", ".uw"])),
            "c" => format!("{}{}", self.register(), self.one(&["", ".neg"])),
            "x" => format!("x3{}", self.one(&["", ".sw", ".uw", ".neg"])),
            "x4" => {
                let modifier = self.one(&["", ".sw", ".uw", ".neg"]);
                format!("x3{modifier}{}", shifted(shift % 5))
            }
            "o" => self.offset(size, 31).to_string(),
            "p" => self.offset(1, REACH).to_string(),
            "b" => (1 + self.random.below(64)).to_string(),
            _ => {
                let bits: u32 = hole[1..].parse().unwrap();
                let value = self.random.bits() & ((1 << bits) - 1);
                let signed = hole.starts_with('s') && value >> (bits - 1) == 1;
                (value as i64 - (i64::from(signed) << bits)).to_string()
            }
        }
    }

    /// A multiple of `size`, at most so many of them from 0.
    fn offset(&mut self, size: i64, most: i64) -> i64 {
        size * (self.random.below(2 * most as u64 + 1) as i64 - most)
    }
}

fn shifted(by: u64) -> String {
    if by == 0 { String::new() } else { format!("<<{by}") }
}
