//! Packets: instructions that are in flight together.
//!
//! Nothing but the end of a packet orders instructions, so those of one are independent: none reads
//! or writes what another one writes, or writes what another one reads. Between labels and jumps,
//! code is scheduled by lists: a packet takes what depends on no instruction outside of the packets
//! before it, the longest chain of dependent ones first. Accesses to memory keep their order, and a
//! store is the only access of its packet, so that protocols between warps hold.
//!
//! Sequences of one operation share few scratch registers. What they hold does not outlive the
//! operation, so each value gets a register of its own from those that are free.

use super::text::{Code, Line};
use super::values::FIRST_SCRATCH;
use rustc_hash::FxHashMap;
use std::fmt::Write;

/// Most instructions of a packet.
const MOST: usize = 8;
/// Most instructions that are scheduled together: the time that this takes grows with it.
const REGION: usize = 512;

/// What an instruction does to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Memory {
    None,
    Load,
    Store,
}

/// What an instruction reads and writes: bits of registers, and of predicates above them.
#[derive(Clone, Copy, Debug)]
struct Uses {
    reads: u128,
    writes: u128,
    memory: Memory,
}

fn predicate(number: u32) -> u128 {
    1 << (64 + number)
}

/// The names of registers and predicates in an instruction, in order.
fn names(text: &str) -> impl Iterator<Item = (char, u32)> {
    let words = text.split_whitespace().skip(1).flat_map(|w| w.split([',', '(', ')']));
    words.filter_map(|word| {
        let kind = word.chars().next().filter(|kind| matches!(kind, 'x' | 'p'))?;
        Some((kind, word[1..].parse().ok()?))
    })
}

fn uses(text: &str, pred: u8) -> Uses {
    let mnemonic = text.split_whitespace().next().unwrap_or_default();
    let memory = match mnemonic {
        "lw" | "lh" | "lb" | "prlw" => Memory::Load,
        "sw" | "sh" | "sb" | "prsw" => Memory::Store,
        _ => Memory::None,
    };
    let mut uses = Uses { reads: predicate(pred.into()), writes: 0, memory };
    for (index, (kind, number)) in names(text).enumerate() {
        let bit = if kind == 'x' { 1 << number } else { predicate(number) };
        if index == 0 && memory != Memory::Store {
            uses.writes |= bit;
            // These keep some of the bits.
            if matches!(mnemonic, "lli" | "lmi" | "lui") {
                uses.reads |= bit;
            }
        } else {
            uses.reads |= bit;
        }
    }
    // x0 is a constant.
    uses.reads &= !1;
    uses.writes &= !1;
    uses
}

/// Puts instructions into packets; `free` are registers that nothing else has.
pub(super) fn pack(lines: Vec<Line>, free: &[u32]) -> Vec<Line> {
    let mut out = Vec::with_capacity(lines.len());
    let mut region: Vec<Code> = Vec::new();
    let mut scratch = Scratch::new(free);
    for line in lines {
        match line {
            Line::Code(code) if code.text != "halt" && region.len() < REGION => region.push(code),
            other => {
                schedule(&mut region, &mut scratch, &mut out);
                match other {
                    Line::Code(code) if code.text != "halt" => region.push(code),
                    other => out.push(other),
                }
            }
        }
    }
    schedule(&mut region, &mut scratch, &mut out);
    out
}

fn schedule(region: &mut Vec<Code>, scratch: &mut Scratch, out: &mut Vec<Line>) {
    let mut code = std::mem::take(region);
    for code in &mut code {
        code.text = scratch.spread(&code.text, code.pred);
    }
    let uses: Vec<Uses> = code.iter().map(|code| uses(&code.text, code.pred)).collect();
    let graph = Graph::new(&uses);
    let mut waits = graph.waits.clone();
    let mut done = vec![false; code.len()];
    // The ready ones, the highest first.
    let mut ready: Vec<usize> = (0..code.len()).filter(|&i| waits[i] == 0).collect();
    while !ready.is_empty() {
        ready.sort_by_key(|&i| (std::cmp::Reverse(graph.height[i]), i));
        let packet: Vec<usize> = ready.drain(..ready.len().min(MOST)).collect();
        for (at, &i) in packet.iter().enumerate() {
            out.push(Line::Code(Code { open: at + 1 < packet.len(), ..code[i].clone() }));
            done[i] = true;
        }
        for &i in &packet {
            for &next in &graph.after[i] {
                waits[next] -= 1;
                if waits[next] == 0 {
                    ready.push(next);
                }
            }
        }
    }
    debug_assert!(done.iter().all(|&done| done));
}

/// What depends on what: all edges lead from earlier instructions to later ones.
struct Graph {
    after: Vec<Vec<usize>>,
    waits: Vec<usize>,
    /// The longest chain that begins at an instruction.
    height: Vec<u32>,
}

impl Graph {
    fn new(uses: &[Uses]) -> Self {
        let count = uses.len();
        let mut after = vec![Vec::new(); count];
        let mut waits = vec![0; count];
        for (later, b) in uses.iter().enumerate() {
            for (earlier, a) in uses[..later].iter().enumerate() {
                let data = a.writes & (b.reads | b.writes) != 0 || a.reads & b.writes != 0;
                let memory = a.memory != Memory::None && b.memory != Memory::None;
                if data || memory {
                    after[earlier].push(later);
                    waits[later] += 1;
                }
            }
        }
        let mut height = vec![0; count];
        for i in (0..count).rev() {
            height[i] = after[i].iter().map(|&next: &usize| height[next] + 1).max().unwrap_or(0);
        }
        Self { after, waits, height }
    }
}

/// Gives each value in a scratch register one of its own, in turn. A region may end inside of what
/// stands for one operation, so the values that it leaves are known to the next one.
struct Scratch {
    pool: Vec<u32>,
    next: usize,
    /// Where the value is that a register would hold.
    now: FxHashMap<u32, u32>,
}

impl Scratch {
    fn new(free: &[u32]) -> Self {
        let pool = free.iter().copied().chain(FIRST_SCRATCH..64).collect();
        Self { pool, next: 0, now: FxHashMap::default() }
    }

    /// The instruction with its scratch registers as they are now.
    fn spread(&mut self, text: &str, pred: u8) -> String {
        let uses = uses(text, pred);
        let result = names(text).next().filter(|&(kind, number)| {
            kind == 'x' && number >= FIRST_SCRATCH && uses.writes >> number & 1 != 0
        });
        let keeps = |&(_, number): &(char, u32)| {
            let part = ["lli", "lmi", "lui"].iter().any(|name| text.starts_with(name));
            !(part && uses.reads >> number & 1 != 0)
        };
        let Some((_, number)) = result.filter(keeps) else {
            return renamed(text, &self.now, None);
        };
        // Not one that another scratch value is in.
        let taken = |now: &FxHashMap<u32, u32>, place: u32| {
            now.iter().any(|(&of, &at)| of != number && at == place)
        };
        while taken(&self.now, self.pool[self.next % self.pool.len()]) {
            self.next += 1;
        }
        let to = self.pool[self.next % self.pool.len()];
        self.next += 1;
        let out = renamed(text, &self.now, Some(to));
        self.now.insert(number, to);
        out
    }
}

/// The instruction with scratch registers renamed; its result is in `to`, if that is given.
fn renamed(text: &str, now: &FxHashMap<u32, u32>, to: Option<u32>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut first = true;
    while let Some(at) = rest.find('x') {
        let digits = rest[at + 1..].chars().take_while(char::is_ascii_digit).count();
        let starts = at == 0 || !rest.as_bytes()[at - 1].is_ascii_alphanumeric();
        let end = at + 1 + digits;
        out.push_str(&rest[..at]);
        match rest[at + 1..end].parse::<u32>() {
            Ok(number) if starts => {
                let place = match to.filter(|_| first) {
                    Some(to) => to,
                    None => now.get(&number).copied().unwrap_or(number),
                };
                first = false;
                let _ = write!(out, "x{place}");
            }
            _ => out.push_str(&rest[at..end]),
        }
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(lines: &[&str]) -> Vec<Line> {
        let code = |text: &&str| Code {
            text: (*text).to_owned(),
            pred: 0,
            loc: ir::LocId(0),
            open: false,
        };
        lines.iter().map(|line| Line::Code(code(line))).collect()
    }

    fn texts(lines: &[Line]) -> Vec<(String, bool)> {
        let one = |line: &Line| match line {
            Line::Code(code) => (code.text.clone(), code.open),
            _ => (String::new(), false),
        };
        lines.iter().map(one).collect()
    }

    #[test]
    fn independent_instructions_share_a_packet() {
        let packed = pack(code(&["add x1, x2, x3", "add x4, x5, x6", "add x7, x1, x4"]), &[]);
        let open: Vec<bool> = texts(&packed).iter().map(|line| line.1).collect();
        assert_eq!(open, [true, false, false]);
    }

    #[test]
    fn what_is_written_after_it_is_read_is_in_a_later_packet() {
        let packed = pack(code(&["add x1, x2, x3", "add x2, x5, x6"]), &[]);
        assert!(texts(&packed).iter().all(|line| !line.1));
    }

    #[test]
    fn accesses_keep_their_order() {
        let packed = pack(code(&["lw x1, 0(x9)", "lw x2, 0(x8)", "sw x3, 0(x7)"]), &[]);
        let found = texts(&packed);
        assert!(found.iter().all(|line| !line.1), "{found:?}");
        assert!(found[0].0.starts_with("lw x1") && found[2].0.starts_with("sw"));
    }

    #[test]
    fn values_in_scratch_registers_are_apart() {
        let lines = ["addi x63, x1, 1", "add x2, x63, x1", "addi x63, x3, 1", "add x4, x63, x3"];
        let packed = pack(code(&lines), &[40, 41]);
        let open = texts(&packed).iter().filter(|line| line.1).count();
        assert_eq!(open, 2, "{:?}", texts(&packed));
    }

    #[test]
    fn parts_of_constants_stay_in_one_register() {
        let lines = ["addi x60, x0, 0", "lmi x60, 0x5", "add x1, x60, x2"];
        let packed = texts(&pack(code(&lines), &[40]));
        assert_eq!(packed[1].0, "lmi x40, 0x5");
        assert_eq!(packed[2].0, "add x1, x40, x2");
    }
}
