//! A second model of the instruction semantics, written from the published description of the
//! machine.
//!
//! It shares nothing with the crate: it decodes words by field position in the default encoding,
//! computes with the host's integers and floats, and keeps its own memory. It takes programs that
//! end, whose accesses are aligned and inside `Memory`; everything else panics.

use std::collections::BTreeMap;

/// Bytes by address; bytes that were never written are 0.
#[derive(Default)]
pub(crate) struct Memory(pub(crate) BTreeMap<u32, u8>);

impl Memory {
    fn load(&self, at: u32, bytes: u32) -> u32 {
        assert!(at.is_multiple_of(bytes), "misaligned load at {at:#x}");
        let byte = |i: u32| u32::from(*self.0.get(&(at + i)).unwrap_or(&0));
        (0..bytes).map(|i| byte(i) << (8 * i)).sum()
    }

    fn store(&mut self, at: u32, bytes: u32, value: u32) {
        assert!(at.is_multiple_of(bytes), "misaligned store at {at:#x}");
        for i in 0..bytes {
            self.0.insert(at + i, (value >> (8 * i)) as u8);
        }
    }
}

/// One warp: 32 lanes of 64 registers, 32 predicates, one program counter.
struct Warp {
    registers: [[u32; 64]; 32],
    predicates: [u32; 32],
    live: u32,
    pc: u32,
}

/// The fields of a word, each as the format that has it defines it.
#[derive(Clone, Copy)]
struct Fields(u32);

impl Fields {
    fn bits(self, high: u32, low: u32) -> u32 {
        self.0 >> low & ((1 << (high - low + 1)) - 1)
    }

    fn signed(self, high: u32, low: u32) -> u32 {
        let unused = 31 - (high - low);
        ((self.bits(high, low) << unused) as i32 >> unused) as u32
    }
}

/// Runs all blocks, one warp after another.
pub(crate) fn run(
    words: &BTreeMap<u32, u32>,
    entry: u32,
    threads: u32,
    blocks: u32,
    argument: u32,
) -> Memory {
    let mut memory = Memory::default();
    for block in 0..blocks {
        for first in (0..threads).step_by(32) {
            let count = (threads - first).min(32);
            let live = ((1_u64 << count) - 1) as u32;
            let mut predicates = [0; 32];
            predicates[0] = u32::MAX;
            let mut warp = Warp { registers: [[0; 64]; 32], predicates, live, pc: entry };
            let special = [first, block, threads, argument];
            while warp.live != 0 {
                let word = words.get(&warp.pc).unwrap_or_else(|| panic!("no code: {:#x}", warp.pc));
                step(&mut warp, Fields(*word), special, &mut memory);
            }
        }
    }
    memory
}

/// Runs one instruction in all lanes.
fn step(warp: &mut Warp, word: Fields, special: [u32; 4], memory: &mut Memory) {
    let opcode = word.bits(6, 0);
    let pred = word.bits(29, 25) as usize;
    let active = warp.predicates[pred] & warp.live;
    let (pc, next) = (warp.pc, warp.pc.wrapping_add(4));
    let (rd, rs1, rs2) = (word.bits(12, 7), word.bits(18, 13), word.bits(24, 19));
    warp.pc = next;
    match opcode {
        // Jumps: the link goes to every live lane, whatever the predicates hold.
        96 => {
            warp.pc = pc.wrapping_add(word.signed(29, 13).wrapping_mul(2));
            write(warp, rd, warp.live, |_, _| next);
        }
        35 => {
            let base = warp.registers[warp.live.trailing_zeros() as usize][rs1 as usize];
            warp.pc = base.wrapping_add(word.signed(24, 19));
            write(warp, rd, warp.live, |_, _| next);
        }
        104 if active != 0 => warp.pc = pc.wrapping_add(word.signed(24, 13).wrapping_mul(2)),
        104 => {}
        // `halt` under p31 ends the warp: the canonical word has ones in all its fields.
        127 => warp.live &= if pred == 31 { 0 } else { !active },
        // Whole predicates: lane 0's address, whether or not lane 0 is live.
        108 => {
            let at = warp.registers[0][rs2 as usize].wrapping_add(word.signed(18, 13));
            memory.store(at, 4, warp.predicates[pred]);
        }
        109 => {
            let at = warp.registers[0][rs2 as usize].wrapping_add(word.signed(18, 13));
            warp.predicates[word.bits(11, 7) as usize] = memory.load(at, 4);
        }
        32..=34 => {
            let bytes = 4 >> (opcode - 32);
            let offset = word.signed(24, 19);
            let extend = 32 - 8 * bytes;
            write(warp, rd, active, |x, _| {
                let loaded = memory.load(x[rs1 as usize].wrapping_add(offset), bytes);
                ((loaded << extend) as i32 >> extend) as u32
            });
        }
        48..=50 => {
            for lane in lanes(active) {
                let x = &warp.registers[lane];
                let at = x[rs1 as usize].wrapping_add(word.signed(12, 7));
                memory.store(at, 4 >> (opcode - 48), x[rs2 as usize]);
            }
        }
        64..=74 | 76 => {
            let holds = |&lane: &usize| {
                let x = &warp.registers[lane];
                compare(opcode, x[rs1 as usize], x[rs2 as usize])
            };
            let set = lanes(active).filter(holds).map(|lane| 1 << lane).sum();
            warp.predicates[word.bits(11, 7) as usize] = set;
        }
        88 => {
            let number = word.bits(22, 13) as usize;
            write(warp, rd, active, |_, lane| special[number] + if number == 0 { lane } else { 0 });
        }
        80 => {
            let upper = word.signed(24, 13) << 12;
            write(warp, rd, active, |_, _| pc.wrapping_add(upper));
        }
        81 | 82 | 84 => {
            let (shift, width) = [(0, 12), (12, 12), (0, 0), (24, 8)][opcode as usize - 81];
            let field = ((1 << width) - 1) << shift;
            let value = word.bits(24, 13) << shift & field;
            write(warp, rd, active, |x, _| x[rd as usize] & !field | value);
        }
        _ => {
            let immediate = word.signed(24, 19);
            write(warp, rd, active, |x, _| {
                compute(opcode, x[rs1 as usize], x[rs2 as usize], immediate)
            });
        }
    }
}

fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    (0..32).filter(move |lane| mask >> lane & 1 == 1)
}

/// Writes a register in some lanes; register 0 reads as 0 and ignores writes.
fn write(warp: &mut Warp, rd: u32, mask: u32, value: impl Fn(&[u32; 64], u32) -> u32) {
    for lane in lanes(mask) {
        let new = value(&warp.registers[lane], lane as u32);
        if rd > 0 {
            warp.registers[lane][rd as usize] = new;
        }
    }
}

fn compare(opcode: u32, a: u32, b: u32) -> bool {
    let (x, y) = (f32::from_bits(a), f32::from_bits(b));
    match opcode {
        64 => a == b,
        65 => a != b,
        66 => a as i32 >= b as i32,
        67 => a >= b,
        68 => (a as i32) < b as i32,
        69 => a < b,
        72 => x == y,
        73 => x != y,
        74 => x >= y,
        76 => x < y,
        _ => panic!("opcode {opcode} is not a comparison"),
    }
}

fn compute(opcode: u32, a: u32, b: u32, k: u32) -> u32 {
    let (x, y) = (f32::from_bits(a), f32::from_bits(b));
    let (s, t) = (a as i32, b as i32);
    match opcode {
        0 => a.wrapping_add(b),
        1 => a.wrapping_sub(b),
        2 => a.wrapping_mul(b),
        3 => s.checked_div(t).unwrap_or(if t == 0 { 0 } else { i32::MIN }) as u32,
        4 => a & b,
        5 => a | b,
        6 => a ^ b,
        7 => u32::from(s < t),
        8 => u32::from(a < b),
        9 => float(a, Some(b), x + y),
        10 => float(a, Some(b), x - y),
        11 => float(a, Some(b), x * y),
        12 if y == 0.0 => 0,
        12 => float(a, Some(b), x / y),
        13 => a << (b & 31),
        14 => a >> (b & 31),
        15 => (s >> (b & 31)) as u32,
        16 => a.wrapping_add(k),
        17 => a.wrapping_sub(k),
        20 => a ^ k,
        21 => a | k,
        23 => u32::from(s < k as i32),
        24 => u32::from(a < k),
        29 => a << (k & 31),
        30 => a >> (k & 31),
        31 => (s >> (k & 31)) as u32,
        40 if x <= 0.0 => 0,
        40 => float(a, None, (1.0 / f64::from(x).sqrt()) as f32),
        41 => float(a, None, f64::from(x).sin() as f32),
        42 => float(a, None, f64::from(x).cos() as f32),
        43 => (s as f32).to_bits(),
        // Truncates, saturates, and gives 0 for a NaN, as Rust's conversion does.
        44 => (x as i32) as u32,
        75 => u32::from(x < y),
        77 => u32::from(s >= t),
        78 => u32::from(a >= b),
        79 => u32::from(x >= y),
        _ => panic!("opcode {opcode} is not arithmetic"),
    }
}

/// A result's bits. An operand that is a NaN is passed on quiet, the first one first; an operation
/// that makes a NaN out of numbers makes the positive quiet one.
fn float(a: u32, b: Option<u32>, result: f32) -> u32 {
    let quiet = |bits: u32| bits | 0x40_0000;
    if !result.is_nan() {
        return result.to_bits();
    }
    let nan = |bits: u32| f32::from_bits(bits).is_nan();
    [Some(a), b].into_iter().flatten().find(|&bits| nan(bits)).map_or(0x7fc0_0000, quiet)
}
