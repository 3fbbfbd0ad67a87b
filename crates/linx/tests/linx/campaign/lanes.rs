//! The second model of kernel bodies: integers under the EXEC mask.

use super::lanes_programs::{LANES, RESULTS, ROWS};
use super::scalar::{bits, holds, quotient, sext, zext};
use super::{Line, Operand};
use crate::common::BASE;

const LANE_COUNT: usize = LANES as usize;

struct Group<'p> {
    lines: &'p [Line],
    row: u64,
    /// Lanes that are on; the lanes of a row are all there are.
    p: u64,
    queues: [[u64; 4]; 2],
    /// By hand, entry and lane.
    hands: [[[u64; LANE_COUNT]; 4]; 4],
    registers: [u64; 9],
    imports: [u64; 3],
}

/// Runs the body; gives the memory it leaves.
pub(crate) fn run(lines: &[Line], mut memory: Vec<u8>) -> Vec<u8> {
    let body = lines.iter().position(|l| l.label.as_deref() == Some("body")).unwrap();
    let first = u64::from_le_bytes(memory[..8].try_into().unwrap());
    for row in 0..ROWS {
        let mut group = Group {
            lines,
            row,
            p: (1 << LANES) - 1,
            queues: [[0; 4]; 2],
            hands: [[[0; LANE_COUNT]; 4]; 4],
            registers: [0; 9],
            imports: [BASE, BASE + RESULTS, first],
        };
        let mut at = body;
        while lines[at].op != "C.BSTOP" {
            at = group.step(at, &mut memory);
        }
    }
    memory
}

/// What a type suffix says: bits, and whether they are a signed number.
fn kind(operand: &Operand) -> (u32, bool) {
    let suffix = operand.modifiers.first().map_or("ud", String::as_str);
    let bits = [("b", 8), ("h", 16), ("w", 32), ("d", 64)];
    let bits = bits.iter().find(|(letter, _)| suffix.ends_with(letter)).unwrap().1;
    (bits, suffix.starts_with('s'))
}

/// The number of a hand, of a queue, of an import: where `name` starts with one of the words.
fn index(name: &str, words: &[&str]) -> Option<usize> {
    words.iter().position(|w| name.starts_with(w))
}

/// The entry that `vt#3` or `u#3` names.
fn entry(name: &str) -> usize {
    name.split_once('#').map_or(0, |(_, n)| n.parse::<usize>().unwrap() - 1)
}

const HANDS: [&str; 4] = ["vt", "vu", "vm", "vn"];

impl Group<'_> {
    fn value(&self, operand: &Operand, lane: usize) -> u64 {
        let name = operand.name.as_str();
        if let Ok(number) = name.parse::<i64>() {
            return number as u64;
        }
        let raw = if let Some(hand) = index(name, &HANDS) {
            self.hands[hand][entry(name)][lane]
        } else if let Some(queue) = index(name, &["t#", "u#"]) {
            self.queues[queue][entry(name)]
        } else if let Some(import) = name.strip_prefix("ri") {
            self.imports[import.parse::<usize>().unwrap()]
        } else {
            match name {
                "lc0" => lane as u64,
                "lc1" => self.row,
                "p" => self.p,
                "zero" => 0,
                _ => self.registers[name[1..].parse::<usize>().unwrap()],
            }
        };
        let (bits, signed) = kind(operand);
        let value = if signed { sext(raw, bits) } else { zext(raw, bits) };
        let value = match (operand.has("neg"), operand.has("not")) {
            (true, _) => value.wrapping_neg(),
            (_, true) => !value,
            _ => value,
        };
        value << operand.shift
    }

    /// Runs the line at a place; gives the next one.
    fn step(&mut self, at: usize, memory: &mut [u8]) -> usize {
        let line = &self.lines[at];
        let place = |label: &str| {
            self.lines.iter().position(|l| l.label.as_deref() == Some(label)).unwrap()
        };
        match line.op.as_str() {
            "b.z" if self.p == 0 => return place(&line.sources[0].name),
            "b.nz" if self.p != 0 => return place(&line.sources[0].name),
            "b.ne" if self.value(&line.sources[0], 0) != self.value(&line.sources[1], 0) => {
                return place(&line.sources[2].name);
            }
            "b.z" | "b.nz" | "b.ne" => {}
            "addi" | "subi" => {
                let by = self.value(&line.sources[1], 0);
                let by = if line.op == "addi" { by } else { by.wrapping_neg() };
                let value = self.value(&line.sources[0], 0).wrapping_add(by);
                self.registers[line.destinations[0][1..].parse::<usize>().unwrap()] = value;
            }
            op if op.ends_with(".brg") => self.access(line, memory),
            op if op.starts_with("v.rd") => self.reduce(line),
            _ => self.compute(line),
        }
        at + 1
    }

    fn on(&self, lane: usize) -> bool {
        self.p >> lane & 1 == 1
    }

    fn compute(&mut self, line: &Line) {
        let lane_wise =
            line.sources.iter().any(|s| s.name == "lc0" || index(&s.name, &HANDS).is_some());
        let result = |lane: usize| self.result(line, lane);
        let (target, width) = line.destinations[0].split_once('.').unwrap_or(("p", "d"));
        if target == "p" {
            self.p = match lane_wise {
                true => (0..LANE_COUNT).map(|l| u64::from(self.on(l) && result(l) != 0) << l).sum(),
                // A condition of the group is that of all lanes; other results are the mask.
                false if line.op.contains("cmp") => {
                    if result(0) != 0 {
                        self.p
                    } else {
                        0
                    }
                }
                false => result(0) & ((1 << LANES) - 1),
            };
            return;
        }
        let width = 8 << "bhwd".find(width).unwrap();
        if let Some(queue) = index(target, &["t", "u"]) {
            let value = zext(result(0), width);
            self.queues[queue].rotate_right(1);
            self.queues[queue][0] = value;
            return;
        }
        let mut values = [0; LANE_COUNT];
        for (lane, value) in values.iter_mut().enumerate() {
            *value = zext(result(lane), width);
        }
        self.push(target, values, line.op == "v.psel");
    }

    /// Pushes on a hand; lanes that are off keep what they had, if not all are written.
    fn push(&mut self, target: &str, values: [u64; LANE_COUNT], all: bool) {
        let hand = index(target, &HANDS).unwrap();
        let mut new = self.hands[hand][0];
        for lane in 0..LANE_COUNT {
            if all || self.on(lane) {
                new[lane] = values[lane];
            }
        }
        self.hands[hand].rotate_right(1);
        self.hands[hand][0] = new;
    }

    fn result(&self, line: &Line, lane: usize) -> u64 {
        let source = |i: usize| self.value(&line.sources[i], lane);
        let (width, signed) = kind(&line.sources[0]);
        let op = &line.op[2..];
        let (l, r) = (source(0), source(1));
        let amount = r % u64::from(width);
        let unsigned = !signed && !kind(&line.sources[1]).1;
        match op {
            "add" | "addi" => l.wrapping_add(r),
            "sub" => l.wrapping_sub(r),
            "and" | "andi" => l & r,
            "or" | "ori" => l | r,
            "xor" | "xori" => l ^ r,
            "mul" => l.wrapping_mul(r),
            "madd" => l.wrapping_mul(r).wrapping_add(source(2)),
            "div" => quotient(l, r, signed).0,
            "rem" => quotient(l, r, signed).1,
            "sll" => l << amount,
            "srl" => zext(l, width) >> amount,
            "sra" => (sext(l, width) as i64 >> amount) as u64,
            "max" if unsigned => l.max(r),
            "min" if unsigned => l.min(r),
            "max" => (l as i64).max(r as i64) as u64,
            "min" => (l as i64).min(r as i64) as u64,
            "csel" => {
                if l != 0 {
                    r
                } else {
                    source(2)
                }
            }
            "psel" => {
                if self.on(lane) {
                    r
                } else {
                    source(2)
                }
            }
            // Lanes compare both values with 0 where scalars look for a common bit.
            "cmp.and" => u64::from(l != 0 && r != 0),
            "cmp.or" => u64::from(l != 0 || r != 0),
            _ => match op.strip_prefix("cmp.") {
                Some(test) => u64::from(holds(test, l, r)),
                None => bits(op, l, r as u32, source(2) as u32, width),
            },
        }
    }

    fn reduce(&mut self, line: &Line) {
        let lanes =
            (0..LANE_COUNT).filter(|&l| self.on(l)).map(|l| self.value(&line.sources[0], l));
        let value = match line.op.as_str() {
            "v.rdadd" => lanes.fold(0, u64::wrapping_add),
            "v.rdor" => lanes.fold(0, |a, b| a | b),
            _ => lanes.fold(0, |a, b| a ^ b),
        };
        let queue = index(&line.destinations[0], &["t", "u"]).unwrap();
        self.queues[queue].rotate_right(1);
        self.queues[queue][0] = value;
    }

    /// `[base, lc0<<size, offset]`, an offset in bytes or a register.
    fn access(&mut self, line: &Line, memory: &mut [u8]) {
        let load = line.op.starts_with("v.l");
        let from = usize::from(!load);
        let size = 1 << "bhwd".find(char::from(line.op.as_bytes()[3])).unwrap();
        let place = |lane: usize| {
            let offsets: u64 = (from..from + 3)
                .map(|i| self.value(&line.sources[i], lane))
                .fold(0, u64::wrapping_add);
            (offsets - BASE) as usize
        };
        if !load {
            for lane in (0..LANE_COUNT).filter(|&l| self.on(l)) {
                let (at, value) = (place(lane), self.value(&line.sources[0], lane));
                memory[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
            }
            return;
        }
        let mut values = [0; LANE_COUNT];
        for (lane, value) in values.iter_mut().enumerate() {
            let at = place(lane);
            let raw = memory[at..at + size].iter().rev().fold(0, |v, b| v << 8 | u64::from(*b));
            let unsigned = line.op.contains('u');
            *value = if unsigned { raw } else { sext(raw, 8 * size as u32) };
        }
        self.push(line.destinations[0].split_once('.').unwrap().0, values, false);
    }
}
