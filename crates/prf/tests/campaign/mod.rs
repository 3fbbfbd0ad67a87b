//! Random programs for the two models, their runs, and hazards to plant.
//!
//! A program computes in registers and predicates of its own, stores to a region of each thread and
//! of each warp, and leaves everything there in the end, so that what memory holds tells all. Loops
//! end, accesses are aligned and mapped.

use std::fmt::Write as _;

use isa::FileId;
use prf::hazard::HazardKind;
use prf::{Config, Launch, Program, Words, assemble};
use simt::machine::{Machine, Step};
use simt::memory::{Addr, MemoryMap, Permission};

/// Where regions of threads start: 128 bytes each.
const THREADS: u64 = 0x1000_0000;
/// Where regions of warps start: 64 bytes each.
const WARPS: u64 = 0x1100_0000;
const MOST_THREADS: u64 = 512;
/// More instructions than any of these programs takes.
pub(crate) const LIMIT: u64 = 2_000_000;

/// A generator of numbers (splitmix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.word() % n
    }

    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len() as u64) as usize]
    }
}

/// x5 is the thread in the grid, x7 its region, x8 its warp's.
const PROLOGUE: &str = "csrr x1, bid\ncsrr x2, bdim\ncsrr x3, tid\nmul x5, x1, x2\nadd x5, x5, x3
    slli x6, x5, 7\nlui x7, 0x10\nadd x7, x7, x6
    addi x6, x2, 31\nsrli x6, x6, 5\nmul x6, x6, x1\nsrli x9, x3, 5\nadd x6, x6, x9\nslli x6, x6, 6
    lui x8, 0x11\nadd x8, x8, x6\n";

/// Writes a program.
pub(crate) struct Writer<'r> {
    random: &'r mut Random,
    text: String,
    labels: u32,
    loops: u32,
    /// Hazard-free packets are made later; a planted hazard is already in its packet.
    plant: Option<Plant>,
}

/// Two instructions that must not be in one packet.
#[derive(Clone, Copy)]
pub(crate) struct Plant {
    pub(crate) first: &'static str,
    pub(crate) second: &'static str,
    pub(crate) kind: HazardKind,
}

/// One for each kind; registers from x40 and predicates from p12 on are for them alone.
pub(crate) const PLANTS: [Plant; 12] = [
    Plant { first: "addi x40, x5, 3", second: "add x41, x41, x40", kind: HazardKind::Read(40) },
    Plant { first: "lw x40, 0(x7)", second: "mul x41, x40, x40", kind: HazardKind::Read(40) },
    Plant { first: "lli x42, 5", second: "lmi x42, 6", kind: HazardKind::Read(42) },
    Plant { first: "div x43, x5, x5", second: "addi x43, x0, 1", kind: HazardKind::Overwrite(43) },
    Plant {
        first: "add x44, x45, x5",
        second: "addi x45, x5, 2",
        kind: HazardKind::EarlyWrite(45),
    },
    Plant {
        first: "bne p12, x5, x0",
        second: "addi x46, x5, 1 @p12",
        kind: HazardKind::PredicateRead(12),
    },
    Plant {
        first: "prlw p13, 0(x8)",
        second: "prsw p13, 4(x8)",
        kind: HazardKind::PredicateRead(13),
    },
    Plant {
        first: "beq p14, x5, x0",
        second: "bne p14, x5, x0",
        kind: HazardKind::PredicateOverwrite(14),
    },
    Plant {
        first: "addi x47, x5, 1 @p15",
        second: "beq p15, x5, x0",
        kind: HazardKind::PredicateEarlyWrite(15),
    },
    Plant { first: "sh x5, 2(x7)", second: "lw x48, 0(x7)", kind: HazardKind::Memory },
    Plant { first: "jpnz p11, 8", second: "addi x49, x5, 1", kind: HazardKind::Jump },
    Plant { first: "halt @p10", second: "addi x50, x5, 1", kind: HazardKind::Halt },
];

impl<'r> Writer<'r> {
    pub(crate) fn new(random: &'r mut Random) -> Self {
        Self { random, text: String::new(), labels: 0, loops: 0, plant: None }
    }

    /// A program of about so many statements.
    pub(crate) fn program(mut self, statements: u64, plant: Option<Plant>) -> String {
        self.text.push_str(PROLOGUE);
        for r in 10..26 {
            let by = self.random.below(60) as i64 - 28;
            let line = match self.random.below(3) {
                0 => format!("addi x{r}, x5, {}\n", by.min(31)),
                1 => format!("addi x{r}, x0, {}\n", by.min(31)),
                _ => format!("itof x{r}, x5\n"),
            };
            self.text.push_str(&line);
        }
        for p in 1..8 {
            let (a, b) = (self.register(), self.register());
            let _ = writeln!(self.text, "{} p{p}, {a}, {b}", self.random.pick(&COMPARE));
        }
        let at = self.random.below(statements);
        for statement in 0..statements {
            self.plant = plant.filter(|_| statement == at);
            self.planted();
            self.statement(0);
        }
        for (index, r) in (10..26).enumerate() {
            let line = if index % 8 == 0 { "addi x7, x7, 31\naddi x7, x7, 1\n" } else { "" };
            let _ = writeln!(self.text, "{line}sw x{r}, {}(x7)", 4 * (index % 8));
        }
        for p in 1..8 {
            let _ = writeln!(self.text, "prsw p{p}, {}(x8)", 4 * p);
        }
        self.text.push_str("halt\n");
        self.text
    }

    /// The planted pair, with nothing or something harmless between the two.
    fn planted(&mut self) {
        let Some(Plant { first, second, kind }) = self.plant.take() else { return };
        let between = match kind {
            HazardKind::Jump | HazardKind::Halt => 0,
            _ => self.random.below(4),
        };
        let _ = writeln!(self.text, "{first} !1,0");
        for i in 0..between {
            let _ = writeln!(self.text, "addi x{}, x5, 1 !0,0", 52 + i);
        }
        let _ = writeln!(self.text, "{second} !0,1");
    }

    fn register(&mut self) -> String {
        format!("x{}", 10 + self.random.below(16))
    }

    /// A register to write: x0, which ignores it, among them.
    fn destination(&mut self) -> String {
        if self.random.chance(10) { "x0".to_owned() } else { self.register() }
    }

    /// A register to read: x0 among them.
    fn source(&mut self) -> String {
        if self.random.chance(10) { "x0".to_owned() } else { self.register() }
    }

    fn mask(&mut self) -> String {
        if self.random.chance(40) { String::new() } else { format!(" @p{}", self.random.below(8)) }
    }

    fn statement(&mut self, depth: u32) {
        match self.random.below(100) {
            0..=54 => self.compute(),
            55..=69 => {
                let (a, b, mask) = (self.source(), self.source(), self.mask());
                let (op, p) = (self.random.pick(&COMPARE), 1 + self.random.below(7));
                let _ = writeln!(self.text, "{op} p{p}, {a}, {b}{mask}");
            }
            70..=83 => self.access(),
            84..=87 => {
                let (p, offset) = (1 + self.random.below(7), 4 * self.random.below(8));
                let op = self.random.pick(&["prsw", "prlw"]);
                let _ = writeln!(self.text, "{op} p{p}, {offset}(x8)");
            }
            88..=93 if depth < 2 => self.repeat(depth),
            94..=96 => self.skip(depth),
            97 => {
                // x32 is the target; x0 and x33 to x36 take the link.
                let (label, link) =
                    (self.label(), [0, 33, 34, 35, 36][self.random.below(5) as usize]);
                let _ = writeln!(
                    self.text,
                    "addi x32, x0, 0\nlli x32, {label}\njalr x{link}, 0(x32)\naddi x10, x0, 1\n{label}:"
                );
            }
            98 if self.random.chance(30) => {
                let p = 1 + self.random.below(7);
                let _ = writeln!(self.text, "halt @p{p}");
            }
            _ => self.compute(),
        }
    }

    fn compute(&mut self) {
        let (d, a, b, mask) = (self.destination(), self.source(), self.source(), self.mask());
        let k = self.random.below(64) as i64 - 32;
        let line = match self.random.below(10) {
            0..=4 => format!("{} {d}, {a}, {b}", self.random.pick(&BINARY)),
            5..=6 => format!("{} {d}, {a}, {k}", self.random.pick(&IMMEDIATE)),
            7 => format!("{} {d}, {a}", self.random.pick(&["isqrt", "sin", "cos", "itof", "ftoi"])),
            8 => {
                let op = self.random.pick(&["lli", "lmi", "lui", "auipc"]);
                format!("{op} {d}, {}", self.random.below(4096))
            }
            _ => format!("csrr {d}, {}", self.random.pick(&["tid", "bid", "bdim", "argp"])),
        };
        let _ = writeln!(self.text, "{line}{mask}");
    }

    fn access(&mut self) {
        let (d, s, mask) = (self.destination(), self.source(), self.mask());
        let (op, size) = [("lw", 4), ("lh", 2), ("lb", 1), ("sw", 4), ("sh", 2), ("sb", 1)]
            [self.random.below(6) as usize];
        let r = if op.starts_with('l') { d } else { s };
        let offset = size * self.random.below(32 / size);
        let _ = writeln!(self.text, "{op} {r}, {offset}(x7){mask}");
    }

    /// A loop that lanes leave after one to four rounds, each after as many as its number says.
    fn repeat(&mut self, depth: u32) {
        let (counter, p) = (26 + self.loops % 4, 8 + self.loops % 2);
        if depth > 0 && self.loops.is_multiple_of(2) {
            return self.compute();
        }
        self.loops += 1;
        let (label, mask) = (self.label(), self.mask());
        let _ = writeln!(
            self.text,
            "addi x30, x0, 3\nand x{counter}, x5, x30\naddi x{counter}, x{counter}, 1\n\
             beq p{p}, x0, x0{mask}\n{label}:"
        );
        for _ in 0..1 + self.random.below(4) {
            self.statement(depth + 1);
        }
        let _ = writeln!(
            self.text,
            "subi x{counter}, x{counter}, 1 @p{p}\nbne p{p}, x{counter}, x0 @p{p}\njpnz p{p}, {label}"
        );
    }

    /// A jump over some statements if any lane is left in a predicate, or if none is.
    fn skip(&mut self, depth: u32) {
        let (label, p) = (self.label(), self.random.below(8));
        if self.random.chance(50) {
            let _ = writeln!(self.text, "jpnz p{p}, {label}");
        } else {
            let body = self.label();
            let _ = writeln!(self.text, "jpnz p{p}, {body}\njal x0, {label}\n{body}:");
        }
        for _ in 0..1 + self.random.below(3) {
            self.statement(depth.max(1));
        }
        let _ = writeln!(self.text, "{label}:");
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!("l{}", self.labels)
    }
}

const COMPARE: [&str; 10] =
    ["beq", "bne", "bge", "bgeu", "blt", "bltu", "beqf", "bnef", "bgef", "bltf"];
const BINARY: [&str; 20] = [
    "add", "sub", "mul", "div", "and", "or", "xor", "slt", "sltu", "sll", "srl", "sra", "addf",
    "subf", "mulf", "divf", "sltf", "sge", "sgeu", "sgef",
];
const IMMEDIATE: [&str; 9] =
    ["addi", "subi", "xori", "ori", "slti", "sltiu", "slli", "srli", "srai"];

/// Assembles for a configuration.
pub(crate) fn words(config: Config, text: &str) -> Words {
    let image = assemble(config.encoding, FileId::default(), text);
    Words::assembled(&image.unwrap_or_else(|e| panic!("{text}\n{e:?}")))
}

/// Takes away ends of packets at random, then puts back what the checker asks for.
pub(crate) fn pack(random: &mut Random, words: &mut Words, config: Config) {
    const END: u32 = 1 << 31;
    let last = *words.0.keys().next_back().unwrap();
    for (&at, word) in &mut words.0 {
        if at != last && random.chance(75) {
            *word &= !END;
        }
    }
    let mut hazards = prf::hazard::check(&Program::new(words, config).unwrap());
    hazards.sort_by_key(|h| h.second);
    for hazard in hazards {
        let between = words.0.range(hazard.first..hazard.second.max(hazard.first + 4));
        if between.clone().any(|(_, word)| word & END != 0) {
            continue;
        }
        // The end right before the later instruction leaves the longest packets.
        let before = hazard.second.saturating_sub(4).max(hazard.first);
        *words.0.get_mut(&before).unwrap() |= END;
    }
    let program = Program::new(words, config).unwrap();
    assert_eq!(prf::hazard::check(&program), []);
}

/// A launch of a random size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) threads: u32,
    pub(crate) blocks: u32,
}

impl Size {
    pub(crate) fn random(random: &mut Random) -> Self {
        let threads = 1 + random.below(100) as u32;
        Self { threads, blocks: 1 + random.below(3) as u32 }
    }

    pub(crate) fn launch(self) -> Launch {
        let mut memory = MemoryMap::new();
        for (base, bytes) in [(THREADS, 128), (WARPS, 64)] {
            let name = "region";
            memory.map_at(name, Addr(base), MOST_THREADS * bytes, Permission::ReadWrite).unwrap();
        }
        let (total, entry) = (None, None);
        Launch { threads: self.threads, blocks: self.blocks, total, argument: 7, entry, memory }
    }
}

/// The bytes of both regions with their addresses.
pub(crate) fn bytes_of(memory: &MemoryMap) -> impl Iterator<Item = (u32, u8)> {
    let addresses = [(THREADS, 128), (WARPS, 64)]
        .into_iter()
        .flat_map(|(base, bytes)| base as u32..(base + MOST_THREADS * bytes) as u32);
    addresses.zip(regions(memory))
}

/// What both regions hold.
pub(crate) fn regions(memory: &MemoryMap) -> Vec<u8> {
    let mut all = Vec::new();
    for (base, bytes) in [(THREADS, 128), (WARPS, 64)] {
        let mut part = vec![0; (MOST_THREADS * bytes) as usize];
        memory.read_bytes(Addr(base), &mut part).unwrap();
        all.extend(part);
    }
    all
}

/// Runs to the end and gives the state.
pub(crate) fn run<M>(machine: &M, program: &Program, size: Size) -> Result<M::State, String>
where
    M: Machine<
            1,
            Program = Program,
            Launch = Launch,
            LaunchError = prf::LaunchError,
            Cause = prf::exec::Trap,
        >,
{
    let mut state = machine.launch(program, size.launch()).map_err(|e| e.to_string())?;
    match machine.run_unobserved(program, &mut state, LIMIT) {
        Step::Done => Ok(state),
        end => Err(format!("{end:?}")),
    }
}
