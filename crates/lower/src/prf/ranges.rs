//! General registers: where each register of the kernel is needed, and which of the machine's it
//! gets.
//!
//! The code is straight but for loops, so a register is needed from its first access to its last.
//! Through a loop it is needed as a whole if it is accessed outside of it, or if a lane could read
//! in one round what it wrote in another: if some read in the loop has no write before it, in the
//! same round, that all its lanes took part in. Which lanes take part is known from how predicates
//! are made: each is part of the one that it was made from.

use ir::{Function, Guard, LaneReg, Op, Operand, Reg, TermKind};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// A predicate's content between two writes: its index, and what it was made from.
#[derive(Default)]
struct Versions {
    from: Vec<usize>,
    depth: Vec<u32>,
}

impl Versions {
    fn made_from(&mut self, from: usize) -> usize {
        self.from.push(from);
        self.depth.push(self.depth.get(from).map_or(0, |d| d + 1));
        self.from.len() - 1
    }

    /// Whether all lanes of `inner` are in `outer`.
    fn within(&self, mut inner: usize, outer: usize) -> bool {
        while self.depth[inner] > self.depth[outer] {
            inner = self.from[inner];
        }
        inner == outer
    }
}

/// An access: where, under which predicate, whether it writes.
#[derive(Clone, Copy)]
pub(super) struct Access {
    pub(super) at: u32,
    version: usize,
    pub(super) writes: bool,
}

/// The accesses to the registers of a function that are no predicates of the machine.
pub(super) struct Scan<'a> {
    function: &'a Function,
    file: FxHashMap<LaneReg, usize>,
    versions: Versions,
    /// The content of each predicate register, and of each spill slot.
    now: Vec<usize>,
    slots: FxHashMap<u128, usize>,
    /// Of each register in order; an instruction reads before it writes.
    pub(super) accesses: FxHashMap<LaneReg, Vec<Access>>,
    /// First and last place of each loop, inner ones first.
    pub(super) loops: Vec<(u32, u32)>,
}

/// Registers that there is no place for.
#[derive(Clone, Debug)]
pub(super) struct Short {
    /// Those that may lie in memory; if there are none, nothing helps.
    pub(super) spilled: Vec<LaneReg>,
}

/// The places of a function in which a register is needed, the first and the last.
pub(super) type Range = (u32, u32, LaneReg);

/// A machine register, from x1 on, for each register of the kernel that is used; `limit` is the
/// first that must not be taken. Registers below the number `own` may lie in memory.
pub(super) fn assign(
    function: &Function,
    file: &[LaneReg],
    limit: u32,
    own: u32,
) -> Result<FxHashMap<LaneReg, u32>, Short> {
    color(&ranges(function, file), limit, own)
}

/// Where each register is needed, in order.
pub(super) fn ranges(function: &Function, file: &[LaneReg]) -> Vec<Range> {
    let mut ranges = Scan::new(function, file).ranges();
    ranges.sort_unstable();
    ranges
}

/// A word of memory for each register, from 0 on: registers that are not needed at one place share
/// a word. The ranges are in order.
pub(super) fn share(ranges: &[Range]) -> FxHashMap<LaneReg, u32> {
    let mut out = FxHashMap::default();
    let (mut free, mut count) = (BTreeSet::new(), 0);
    let mut busy: BTreeSet<(u32, u32)> = BTreeSet::new();
    for &(start, end, reg) in ranges {
        while let Some(&(last, word)) = busy.first()
            && last < start
        {
            busy.pop_first();
            free.insert(word);
        }
        let word = free.pop_first().unwrap_or_else(|| {
            count += 1;
            count - 1
        });
        out.insert(reg, word);
        busy.insert((end, word));
    }
    out
}

impl<'a> Scan<'a> {
    pub(super) fn new(function: &'a Function, file: &[LaneReg]) -> Self {
        let mut scan = Self {
            function,
            file: file.iter().enumerate().map(|(i, &r)| (r, i + 1)).collect(),
            versions: Versions::default(),
            now: Vec::new(),
            slots: FxHashMap::default(),
            accesses: FxHashMap::default(),
            loops: Vec::new(),
        };
        let all = scan.versions.made_from(0);
        scan.now = vec![all; file.len() + 1];
        scan.run();
        scan
    }

    fn run(&mut self) {
        let mut at = 0;
        let mut starts = Vec::new();
        for block in &self.function.blocks {
            starts.push(at);
            for inst in &block.insts {
                self.inst(inst, at);
                at += 1;
            }
            if let TermKind::MaskBr(_, _, to) = block.term.kind
                && let Some(&head) = starts.get(to.index())
            {
                self.loops.push((head, at));
            }
            at += 1;
        }
    }

    fn access(&mut self, reg: LaneReg, at: u32, version: usize, writes: bool) {
        if !self.file.contains_key(&reg) {
            self.accesses.entry(reg).or_default().push(Access { at, version, writes });
        }
    }

    fn inst(&mut self, inst: &ir::Inst, at: u32) {
        let guard = inst.guard.and_then(|Guard { pred, .. }| self.file.get(&pred).copied());
        let mut version = self.now[guard.unwrap_or(0)];
        let result = inst.results.first().copied().flatten();
        let made = match result {
            Some(Reg::Lane(reg)) => self.file.get(&reg).copied(),
            _ => None,
        };
        if let (Some(_), Some(Operand::Reg(Reg::Lane(from)))) = (made, inst.operands.first())
            && let Some(&from) = self.file.get(from)
        {
            version = self.now[from];
        }
        for operand in &inst.operands {
            if let Operand::Reg(Reg::Lane(reg)) = *operand {
                self.access(reg, at, version, false);
            }
        }
        match (inst.op, inst.operands.first(), inst.operands.get(1)) {
            (Op::PredSpill, Some(&Operand::Imm(slot)), Some(Operand::Reg(Reg::Lane(reg)))) => {
                let content = self.file.get(reg).map_or(0, |&i| self.now[i]);
                self.slots.insert(slot, content);
            }
            (Op::PredFill, Some(Operand::Imm(slot)), _) => {
                if let Some(index) = made {
                    let content = self.slots.get(slot).copied();
                    self.now[index] = content.unwrap_or_else(|| self.versions.made_from(0));
                }
            }
            _ => {
                if let Some(index) = made {
                    self.now[index] = self.versions.made_from(version);
                }
            }
        }
        for result in inst.results.iter().flatten() {
            if let Reg::Lane(reg) = *result {
                self.access(reg, at, version, true);
            }
        }
    }

    fn ranges(&self) -> Vec<Range> {
        let mut out = Vec::new();
        for (&reg, accesses) in &self.accesses {
            let (Some(first), Some(last)) = (accesses.first(), accesses.last()) else { continue };
            let (mut start, mut end) = (first.at, last.at);
            // Inner loops come first, so that what grows to one is seen by those around it.
            for &(head, back) in &self.loops {
                let inside = start <= back && end >= head;
                let whole = start >= head && end <= back;
                if inside && (!whole || self.carried(accesses, head, back)) {
                    (start, end) = (start.min(head), end.max(back));
                }
            }
            // A register that has not been written reads as zero: registers are zero when a block
            // starts, so nothing else may be in it before.
            if self.carried(accesses, 0, u32::MAX) {
                start = 0;
            }
            out.push((start, end, reg));
        }
        out
    }

    /// Whether a read is of lanes that a write before it has written.
    pub(super) fn covers(&self, write: &Access, read: &Access) -> bool {
        write.writes && self.versions.within(read.version, write.version)
    }

    /// Whether some read in the loop may see what an earlier round wrote.
    fn carried(&self, accesses: &[Access], head: u32, back: u32) -> bool {
        let mut writes: Vec<usize> = Vec::new();
        for access in accesses.iter().filter(|a| (head..=back).contains(&a.at)) {
            if access.writes {
                if writes.last() != Some(&access.version) {
                    writes.push(access.version);
                }
            } else if !writes.iter().any(|&w| self.versions.within(access.version, w)) {
                return true;
            }
        }
        false
    }
}

/// Registers are given in the order in which they are needed first; where none is free, the one
/// that is needed longest has none (Poletto and Sarkar, Linear Scan Register Allocation, 1999).
fn color(ranges: &[Range], limit: u32, own: u32) -> Result<FxHashMap<LaneReg, u32>, Short> {
    let mut out = FxHashMap::default();
    let mut free: Vec<u32> = (1..limit).rev().collect();
    let mut busy: BTreeSet<Range> = BTreeSet::new();
    let mut spilled = Vec::new();
    for &(start, end, reg) in ranges {
        while let Some(&first) = busy.first()
            && first.0 < start
        {
            busy.pop_first();
            free.push(first.1);
        }
        let Some(register) = free.pop() else {
            let may = |reg: LaneReg| reg.0 < own;
            let longest = busy.iter().rev().find(|(_, _, reg)| may(*reg)).copied();
            match longest {
                Some(longest) if longest.0 > end || !may(reg) => {
                    busy.remove(&longest);
                    busy.insert((end, longest.1, reg));
                    spilled.push(longest.2);
                    out.insert(reg, longest.1);
                }
                _ if may(reg) => spilled.push(reg),
                _ => return Err(Short { spilled: Vec::new() }),
            }
            continue;
        };
        out.insert(reg, register);
        busy.insert((end, register, reg));
    }
    if spilled.is_empty() { Ok(out) } else { Err(Short { spilled }) }
}
