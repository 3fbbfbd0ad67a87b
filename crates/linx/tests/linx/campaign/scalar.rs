//! The second model of scalar instructions and of blocks.

use super::Line;
use crate::common::BASE;

/// The address of the first instruction.
const TEXT: u64 = 0x1_0000;

struct Model<'p> {
    lines: &'p [Line],
    /// The manual's conventions, or those of compiled programs.
    compiled: bool,
    x: [u64; 24],
    t: [u64; 4],
    u: [u64; 4],
    memory: Vec<u8>,
    /// The kind of the running block, its label, its predicate and its target.
    block: (String, String, bool, Option<u64>),
}

pub(crate) fn sext(value: u64, bits: u32) -> u64 {
    ((value << (64 - bits)) as i64 >> (64 - bits)) as u64
}

pub(crate) fn zext(value: u64, bits: u32) -> u64 {
    value << (64 - bits) >> (64 - bits)
}

/// The number of a general register.
fn general(name: &str) -> Option<usize> {
    let number = |from: usize| name[1..].parse::<usize>().ok().map(|n| from + n);
    match name {
        "zero" => Some(0),
        "sp" => Some(1),
        "ra" => Some(10),
        _ if name.starts_with('a') => number(2),
        _ if name.starts_with('s') => number(11),
        _ if name.starts_with('x') => number(20),
        _ => None,
    }
}

/// Bytes of an instruction.
fn length(op: &str) -> u64 {
    let op = op.to_lowercase();
    match op.split('.').next() {
        Some("c") => 2,
        Some("hl") => 6,
        _ => 4,
    }
}

/// Runs a program to its `ebreak`; gives the memory it leaves.
pub(crate) fn run(lines: &[Line], compiled: bool, memory: Vec<u8>) -> Vec<u8> {
    let mut x = [0; 24];
    x[2] = BASE;
    let block = Default::default();
    let mut model = Model { lines, compiled, x, t: [0; 4], u: [0; 4], memory, block };
    let mut at = 0;
    for _ in 0..100_000 {
        match model.step(at) {
            Some(next) => at = next,
            None => return model.memory,
        }
    }
    panic!("the program does not end");
}

impl Model<'_> {
    fn place(&self, label: &str) -> usize {
        self.lines.iter().position(|l| l.label.as_deref() == Some(label)).unwrap()
    }

    fn address(&self, place: usize) -> u64 {
        TEXT + self.lines[..place].iter().map(|l| length(&l.op)).sum::<u64>()
    }

    fn get(&self, name: &str) -> u64 {
        if let Some((queue, entry)) = name.split_once('#') {
            let entry = entry.parse::<usize>().unwrap() - 1;
            return if queue == "t" { self.t[entry] } else { self.u[entry] };
        }
        general(name).map_or(0, |number| self.x[number])
    }

    fn put(&mut self, name: &str, value: u64) {
        let push = |queue: &mut [u64; 4]| {
            queue.rotate_right(1);
            queue[0] = value;
        };
        match name {
            "t" => push(&mut self.t),
            "u" => push(&mut self.u),
            "zero" => {}
            _ => self.x[general(name).unwrap()] = value,
        }
    }

    /// A source register after modifier and shift, or a number.
    fn source(&self, line: &Line, index: usize) -> u64 {
        let operand = &line.sources[index];
        if let Ok(number) = operand.name.parse::<i64>() {
            return number as u64;
        }
        let mut value = self.get(&operand.name);
        for modifier in &operand.modifiers {
            value = match modifier.as_str() {
                "sw" => sext(value, 32),
                "uw" => zext(value, 32),
                "neg" => value.wrapping_neg(),
                "not" => !value,
                other => panic!("modifier {other}"),
            };
        }
        value << operand.shift
    }

    /// Runs the line at a place; gives the next one, `None` at the end.
    fn step(&mut self, at: usize) -> Option<usize> {
        let line = &self.lines[at];
        let op = line.op.to_lowercase();
        if op.contains("bstart") {
            return Some(self.marker(at));
        }
        let source = |index: usize| self.source(line, index);
        match op.as_str() {
            "ebreak" => return None,
            "setret" | "c.setret" => {
                let target = self.address(self.place(&line.sources[0].name));
                self.x[10] = target;
            }
            "setc.tgt" | "c.setc.tgt" => self.block.3 = Some(source(0)),
            _ if op.contains("setc.") => {
                let test = op.trim_start_matches("hl.").trim_start_matches("c.");
                self.block.2 = holds(&test[5..], source(0), source(1));
            }
            _ if memory_op(&op) => self.access(line, &op),
            _ => self.compute(line, &op),
        }
        Some(at + 1)
    }

    /// Ends the block that runs, and starts the next one where it leads.
    fn marker(&mut self, at: usize) -> usize {
        let (kind, label, predicate, target) = std::mem::take(&mut self.block);
        let to = |address: u64| {
            (0..self.lines.len()).find(|&i| self.address(i) == address).expect("an instruction")
        };
        let start = match kind.as_str() {
            "" | "FALL" => at,
            "DIRECT" | "CALL" => self.place(&label),
            "COND" if predicate => self.place(&label),
            "COND" => at,
            "IND" => to(target.expect("a target")),
            "RET" => to(target.unwrap_or(self.x[10])),
            other => panic!("kind {other}"),
        };
        let line = &self.lines[start];
        let word = |i: usize| line.sources.get(i).map_or(String::new(), |s| s.name.clone());
        self.block = (word(0), word(1), false, None);
        if !self.compiled {
            (self.t, self.u) = ([0; 4], [0; 4]);
        }
        start + 1
    }

    fn compute(&mut self, line: &Line, op: &str) {
        let short = op.strip_prefix("c.");
        let plain = op.trim_start_matches("hl.").trim_start_matches("c.");
        let pair = op.starts_with("hl.") && line.destinations.len() == 2;
        let source = |index: usize| self.source(line, index);
        if pair {
            let (low, high) = double(plain, source(0), source(1));
            self.put(&line.destinations[0], low);
            self.put(&line.destinations[1], high);
            return;
        }
        let value = match plain {
            "movi" | "movr" | "lis" | "liu" => source(0),
            "lui" if op == "lui" => sext(source(0), 20) << 12,
            "lui" => source(0),
            "csel" => {
                let right = source(2);
                if (source(0) != 0) == self.compiled { right } else { source(1) }
            }
            "madd" => source(0).wrapping_mul(source(1)).wrapping_add(source(2)),
            "maddw" => sext(source(0).wrapping_mul(source(1)).wrapping_add(source(2)), 32),
            "miadd" => source(0).wrapping_add(source(1).wrapping_mul(source(2))),
            "misub" => source(0).wrapping_sub(source(1).wrapping_mul(source(2))),
            _ if plain.starts_with("cmp.") => u64::from(holds(&plain[4..], source(0), source(1))),
            _ if plain.contains("ext.") => {
                let bits = [("b", 8), ("h", 16), ("w", 32)].into_iter();
                let bits = bits.clone().find(|(n, _)| plain.ends_with(n)).unwrap().1;
                if plain.starts_with('s') { sext(source(0), bits) } else { zext(source(0), bits) }
            }
            "bxu" | "bxs" | "bic" | "bis" | "bcnt" | "clz" | "ctz" | "rev" => {
                bits(plain, source(0), source(1) as u32, source(2) as u32, 64)
            }
            _ => integer(plain, source(0), source(1)),
        };
        match short {
            Some(_) if line.destinations.is_empty() => self.put("t", value),
            _ => self.put(&line.destinations[0], value),
        }
    }

    /// Loads, stores, and what reads and writes memory at once.
    fn access(&mut self, line: &Line, op: &str) {
        let words: Vec<&str> = op.split('.').filter(|w| *w != "hl" && *w != "c").collect();
        let load = words[0].starts_with('l');
        let letters = words[0].as_bytes();
        let size = match words[0] {
            "lr" | "sc" => 1 << "bhwd".find(words[1]).unwrap(),
            _ => 1 << "bhwd".find(char::from(letters[1])).unwrap(),
        };
        let number = |i: usize| self.source(line, i);
        if words[0] == "lr" {
            let value = self.load(number(0), size);
            return self
                .put(&line.destinations[0], if size < 4 { value } else { sext(value, 8 * size) });
        }
        if words[0] == "sc" {
            self.store(number(1), size, number(0));
            return self.put(&line.destinations[0], 0);
        }
        let both = ["add", "and", "or", "xor", "smax", "smin", "umax", "umin"];
        if words.get(1).is_some_and(|w| both.contains(w)) {
            let (at, operand) = (number(0), number(1));
            let old = self.load(at, size);
            self.store(at, size, modify(words[1], old, operand, 8 * size));
            if load {
                self.put(&line.destinations[0], sext(old, 8 * size));
            }
            return;
        }
        let mode = words.get(1).copied().unwrap_or_default();
        let pair = words[0].ends_with('p');
        let first = if load { 0 } else { 1 + usize::from(pair) };
        let (base, moved) = (number(first), number(first).wrapping_add(number(first + 1)));
        let at = if mode.ends_with("po") { base } else { moved };
        if load {
            let unsigned = words[0].contains('u');
            let get = |at: u64| {
                let value = self.load(at, size);
                if unsigned { value } else { sext(value, 8 * size) }
            };
            let second = if pair { get(at + u64::from(size)) } else { moved };
            let value = get(at);
            self.put(&line.destinations[0], value);
            if let Some(name) = line.destinations.get(1) {
                self.put(name, second);
            }
        } else {
            let (value, second) = (number(0), number(1));
            self.store(at, size, value);
            if pair {
                self.store(at + u64::from(size), size, second);
            } else if let Some(name) = line.destinations.first() {
                self.put(name, moved);
            }
        }
    }

    fn load(&self, at: u64, size: u32) -> u64 {
        let at = (at - BASE) as usize;
        self.memory[at..at + size as usize].iter().rev().fold(0, |v, b| v << 8 | u64::from(*b))
    }

    fn store(&mut self, at: u64, size: u32, value: u64) {
        let at = (at - BASE) as usize;
        let bytes = &value.to_le_bytes()[..size as usize];
        self.memory[at..at + size as usize].copy_from_slice(bytes);
    }
}

fn memory_op(op: &str) -> bool {
    let name = op.trim_start_matches("hl.").trim_start_matches("c.");
    let head = name.split('.').next().unwrap();
    let body = head.trim_end_matches('p').trim_end_matches('i').trim_end_matches('u');
    matches!(body, "lb" | "lh" | "lw" | "ld" | "sb" | "sh" | "sw" | "sd" | "lr" | "sc")
}

/// What a comparison names, with or without the `i` of an immediate.
pub(crate) fn holds(test: &str, l: u64, r: u64) -> bool {
    match test.strip_suffix('i').unwrap_or(test) {
        "eq" => l == r,
        "ne" => l != r,
        "lt" => (l as i64) < (r as i64),
        "ge" => l as i64 >= r as i64,
        "ltu" => l < r,
        "geu" => l >= r,
        "and" => l & r != 0,
        "or" => l | r != 0,
        other => panic!("test {other}"),
    }
}

fn modify(what: &str, old: u64, operand: u64, bits: u32) -> u64 {
    let (a, b) = (sext(old, bits) as i64, sext(operand, bits) as i64);
    let (x, y) = (zext(old, bits), zext(operand, bits));
    match what {
        "add" => x.wrapping_add(y),
        "and" => x & y,
        "or" => x | y,
        "xor" => x ^ y,
        "smax" => a.max(b) as u64,
        "smin" => a.min(b) as u64,
        "umax" => x.max(y),
        _ => x.min(y),
    }
}

/// Division toward zero; by zero the quotient is 0 and the remainder the dividend.
pub(crate) fn quotient(l: u64, r: u64, signed: bool) -> (u64, u64) {
    match (r, signed) {
        (0, _) => (0, l),
        (_, false) => (l / r, l % r),
        _ => {
            let (l, r) = (l as i64, r as i64);
            (l.wrapping_div(r) as u64, l.wrapping_rem(r) as u64)
        }
    }
}

/// Two results.
fn double(op: &str, l: u64, r: u64) -> (u64, u64) {
    let narrow = op.ends_with('w');
    let signed = !op.contains('u') || op == "mul";
    if op.starts_with("mul") {
        let unsigned = u128::from(l) * u128::from(r);
        let product = i128::from(l as i64) * i128::from(r as i64);
        let high = if op == "mul" { (product >> 64) as u64 } else { (unsigned >> 64) as u64 };
        return (l.wrapping_mul(r), high);
    }
    if !narrow {
        return quotient(l, r, signed);
    }
    let cut = |v| if signed { sext(v, 32) } else { zext(v, 32) };
    let (q, rest) = quotient(cut(l), cut(r), signed);
    (sext(q, 32), sext(rest, 32))
}

/// One result of two integers; names that end in `w` compute on 32 bits.
fn integer(op: &str, l: u64, r: u64) -> u64 {
    let narrow = op.ends_with('w');
    let name = op.strip_suffix('w').unwrap_or(op);
    let width = if narrow { 32 } else { 64 };
    let amount = (r % u64::from(width)) as u32;
    let value = match name {
        "add" | "addi" => l.wrapping_add(r),
        "sub" | "subi" => l.wrapping_sub(r),
        "and" | "andi" => l & r,
        "or" | "ori" => l | r,
        "xor" | "xori" => l ^ r,
        "sll" | "slli" => l << amount,
        "srl" | "srli" => zext(l, width) >> amount,
        "sra" | "srai" => (sext(l, width) as i64 >> amount) as u64,
        "mul" | "mulu" => l.wrapping_mul(r),
        "max" => (l as i64).max(r as i64) as u64,
        "min" => (l as i64).min(r as i64) as u64,
        "maxu" => l.max(r),
        "minu" => l.min(r),
        "div" | "divu" | "rem" | "remu" => {
            let signed = !name.ends_with('u');
            let cut = |v| if signed { sext(v, width) } else { zext(v, width) };
            let (q, rest) = quotient(cut(l), cut(r), signed);
            if name.starts_with('d') { q } else { rest }
        }
        other => panic!("operation {other}"),
    };
    if narrow { sext(value, 32) } else { value }
}

/// Operations on a field of `n` bits from bit `m` on, in a ring of `ring` bits; bit by bit.
pub(crate) fn bits(op: &str, value: u64, m: u32, n: u32, ring: u32) -> u64 {
    let n = n.min(ring);
    let places = (0..n).map(|i| (m + i) % ring);
    let field: Vec<bool> = places.clone().map(|at| value >> at & 1 == 1).collect();
    let number =
        |bits: &[bool]| bits.iter().enumerate().map(|(i, &bit)| u64::from(bit) << i).sum::<u64>();
    match op {
        "bxu" => number(&field),
        "bxs" => sext(number(&field), n),
        "bic" => places.fold(zext(value, ring), |v, at| v & !(1 << at)),
        "bis" => places.fold(zext(value, ring), |v, at| v | 1 << at),
        "bcnt" => field.iter().filter(|&&bit| bit).count() as u64,
        "clz" => field.iter().rev().take_while(|&&bit| !bit).count() as u64,
        "ctz" => field.iter().take_while(|&&bit| !bit).count() as u64,
        "rev" if n.is_multiple_of(8) => {
            let bytes: Vec<bool> = field.chunks(8).rev().flatten().copied().collect();
            number(&bytes)
        }
        _ => 0,
    }
}
