//! A register whose accesses fall into groups that share no value becomes one register a group
//! (webs: Muchnick, Advanced Compiler Design and Implementation, 1997, 16.3.3).
//!
//! Code that the pass `predicate` has written twice has the registers of both copies; so has
//! whatever uses a register anew. A read shares a value with the last write before it that all its
//! lanes took part in, if both are in the same round of the same loop, and with what is between.
//! Any other read may see all that is before it, and in a loop what comes later in an earlier
//! round.

use super::ranges::{Access, Scan};
use ir::{Function, LaneReg, Operand, Reg};
use rustc_hash::FxHashMap;

/// Most accesses that are looked at for the write that a read sees.
const LOOKED_AT: usize = 256;

/// Gives each group of accesses a register of its own.
pub(super) fn split(function: &mut Function, file: &[LaneReg]) {
    let scan = Scan::new(function, file);
    let mut groups: Vec<(LaneReg, Vec<usize>)> =
        scan.accesses.iter().map(|(&reg, accesses)| (reg, scan.groups(accesses))).collect();
    groups.retain(|(_, groups)| groups.last().is_some_and(|&last| last > 0));
    groups.sort_unstable_by_key(|group| group.0);
    let mut names: FxHashMap<LaneReg, Names> = FxHashMap::default();
    for (reg, groups) in groups {
        let info = function.regs[reg.index()].clone();
        let more = groups.last().copied().unwrap_or(0);
        let more = (0..more).map(|_| function.new_reg(info.name.clone(), info.ty));
        let regs = std::iter::once(reg).chain(more).collect();
        names.insert(reg, Names { regs, groups: groups.into_iter() });
    }
    let rename = |reg: &mut Reg, names: &mut FxHashMap<LaneReg, Names>| {
        if let Reg::Lane(lane) = reg
            && let Some(names) = names.get_mut(lane)
            && let Some(group) = names.groups.next()
        {
            *lane = names.regs[group];
        }
    };
    for inst in function.blocks.iter_mut().flat_map(|block| &mut block.insts) {
        for operand in &mut inst.operands {
            if let Operand::Reg(reg) = operand {
                rename(reg, &mut names);
            }
        }
        inst.results.iter_mut().flatten().for_each(|reg| rename(reg, &mut names));
    }
}

/// The registers of the groups, and the groups of the accesses to come.
struct Names {
    regs: Vec<LaneReg>,
    groups: std::vec::IntoIter<usize>,
}

impl Scan<'_> {
    /// The number of each access's group; a group has accesses one after the other.
    fn groups(&self, accesses: &[Access]) -> Vec<usize> {
        // The last access that is of the group of one before.
        let mut reach: Vec<usize> = (0..accesses.len()).collect();
        for read in (0..accesses.len()).filter(|&i| !accesses[i].writes) {
            let (from, to) = self.seen(accesses, read);
            reach[from] = reach[from].max(to);
        }
        let (mut number, mut end) = (0, 0);
        let grouped = reach.iter().enumerate().map(|(i, &to)| {
            number += usize::from(i > end);
            end = end.max(i).max(to);
            number
        });
        grouped.collect()
    }

    /// The first and the last access that have to do with what a read sees.
    fn seen(&self, accesses: &[Access], read: usize) -> (usize, usize) {
        let at = accesses[read].at;
        let around = || self.loops.iter().filter(move |of| (of.0..=of.1).contains(&at));
        let first = around().map(|of| of.0).max().unwrap_or(0);
        let before = accesses[..read].iter().enumerate().rev().take(LOOKED_AT);
        let mut here = before.take_while(|(_, access)| access.at >= first);
        if let Some((write, _)) = here.find(|(_, access)| self.covers(access, &accesses[read])) {
            return (write, read);
        }
        let end = around().map(|of| of.1).max().unwrap_or(at);
        let last = accesses.partition_point(|access| access.at <= end);
        (0, last.saturating_sub(1).max(read))
    }
}
