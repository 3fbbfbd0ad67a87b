//! Bodies of kernels as listings and graphs show them: where they are, what runs on lanes in them
//! and what once for the group, and how their blocks follow each other.

use std::collections::{BTreeMap, BTreeSet};

use crate::action::{Action, Branch, Descriptor};
use crate::insn::Insn;
use crate::program::{Fetched, Program};
use crate::regid::Place;
use crate::vector::{operands, runs_on_lanes};

/// Most instructions of a body that are shown.
const MOST: usize = 1 << 14;
/// Most blocks of a body in which post-dominators are looked for.
const MOST_BLOCKS: usize = 512;

/// How often an instruction of a body runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    /// On each lane that `p` leaves on.
    Lanes,
    /// Once for the group.
    Once,
}

/// A block of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BodyBlock {
    /// Addresses of its instructions.
    pub at: Vec<u64>,
    /// Indices of the blocks that follow, each with the condition under which it does.
    pub next: Vec<(usize, String)>,
    /// Addresses of the instructions that may have written `p` last when the block begins; `None`
    /// stands for the start of the group, when all lanes are on.
    pub masks: BTreeSet<Option<u64>>,
    /// The last instruction of the block that writes `p`.
    pub writes: Option<u64>,
    /// The immediate post-dominator; not looked for in bodies of very many blocks.
    pub rejoin: Option<usize>,
    /// Whether a way leads to the end.
    pub leads_out: bool,
    /// Whether the body ends behind the block.
    pub ends: bool,
}

impl Program {
    /// The bodies that descriptors at these addresses name, in the order of the text.
    pub fn bodies(&self, at: impl Iterator<Item = u64>) -> Vec<u64> {
        let body = |at: u64| match self.fetch(at) {
            Fetched::Insn(insn) if insn.action == Action::Descriptor(Descriptor::Text) => {
                Some(at.wrapping_add_signed(insn.imm))
            }
            _ => None,
        };
        at.filter_map(body).collect::<BTreeSet<u64>>().into_iter().collect()
    }

    /// The instructions of a body up to its first terminator, that included, and how often each
    /// runs under the default options.
    #[must_use]
    pub fn body(&self, entry: u64) -> Vec<(u64, Runs)> {
        let runs = |insn: &Insn| match insn.action {
            Action::Vector(op) if runs_on_lanes(insn, op) => Runs::Lanes,
            _ => Runs::Once,
        };
        self.instructions(entry).iter().map(|(at, insn)| (*at, runs(insn))).collect()
    }

    fn instructions(&self, entry: u64) -> Vec<(u64, Insn)> {
        let mut out = Vec::new();
        let mut at = entry;
        while let Fetched::Insn(insn) = self.fetch(at) {
            out.push((at, insn));
            let Some(next) = at.checked_add(insn.length) else { break };
            if is_end(&insn) || out.len() == MOST {
                break;
            }
            at = next;
        }
        out
    }

    /// The blocks of a body, in the order of the text.
    #[must_use]
    pub fn body_graph(&self, entry: u64) -> Vec<BodyBlock> {
        let body = self.instructions(entry);
        let inside = |at: u64| body.binary_search_by_key(&at, |(at, _)| *at).is_ok();
        let mut leaders = BTreeSet::from([entry]);
        for (at, insn) in &body {
            if let Action::Branch(branch) = insn.action {
                let target = at.wrapping_add_signed(insn.imm);
                leaders.extend((branch != Branch::Register && inside(target)).then_some(target));
                leaders.insert(at.wrapping_add(insn.length));
            }
        }
        let index: BTreeMap<u64, usize> = leaders
            .iter()
            .filter(|leader| inside(**leader))
            .enumerate()
            .map(|(index, at)| (*at, index))
            .collect();
        let mut blocks: Vec<BodyBlock> = Vec::new();
        for (at, insn) in &body {
            if index.contains_key(at) {
                blocks.push(BodyBlock {
                    at: Vec::new(),
                    next: Vec::new(),
                    masks: BTreeSet::new(),
                    writes: None,
                    rejoin: None,
                    leads_out: false,
                    ends: false,
                });
            }
            let Some(block) = blocks.last_mut() else { break };
            block.at.push(*at);
            if writes_mask(insn) {
                block.writes = Some(*at);
            }
            block.ends |= is_end(insn);
            let behind = index.get(&at.wrapping_add(insn.length)).copied();
            if let Action::Branch(branch) = insn.action {
                let target = index.get(&at.wrapping_add_signed(insn.imm)).copied();
                block.next = follow(branch, target, behind);
                // A jump by a register may go anywhere, also to the end.
                block.ends |= branch == Branch::Register;
            } else if let Some(behind) = behind.filter(|_| !is_end(insn)) {
                block.next = vec![(behind, String::new())];
            }
        }
        reach(&mut blocks);
        post_dominators(&mut blocks);
        blocks
    }
}

fn is_end(insn: &Insn) -> bool {
    insn.ends
}

fn writes_mask(insn: &Insn) -> bool {
    let Action::Vector(op) = insn.action else { return false };
    operands(insn, op).dest.is_some_and(|dest| dest.place == Place::P)
}

/// The ways on from a branch.
fn follow(branch: Branch, target: Option<usize>, behind: Option<usize>) -> Vec<(usize, String)> {
    let (taken, other) = match branch {
        Branch::Zero => ("no lane of p is on", "a lane of p is on"),
        Branch::NotZero => ("a lane of p is on", "no lane of p is on"),
        Branch::Compare(..) => ("the comparison holds", "it does not hold"),
        Branch::Jump | Branch::Register => ("", ""),
    };
    let mut next: Vec<(usize, String)> = Vec::new();
    if branch != Branch::Register {
        next.extend(target.map(|to| (to, taken.to_owned())));
    }
    if !matches!(branch, Branch::Jump | Branch::Register) {
        next.extend(behind.map(|to| (to, other.to_owned())));
    }
    next
}

/// Finds which instructions may have written `p` last at the start of each block.
fn reach(blocks: &mut [BodyBlock]) {
    let Some(first) = blocks.first_mut() else { return };
    first.masks.insert(None);
    let mut work = vec![0];
    while let Some(at) = work.pop() {
        let out = match blocks[at].writes {
            Some(writer) => BTreeSet::from([Some(writer)]),
            None => blocks[at].masks.clone(),
        };
        for (next, _) in blocks[at].next.clone() {
            let had = blocks[next].masks.len();
            blocks[next].masks.extend(out.iter().copied());
            if blocks[next].masks.len() > had || had == 0 {
                work.push(next);
            }
        }
    }
}

/// Finds the first block that all ways from a block to the end pass, where there is one.
fn post_dominators(blocks: &mut [BodyBlock]) {
    let count = blocks.len();
    loop {
        let out = |b: &BodyBlock| b.ends || b.next.iter().any(|(next, _)| blocks[*next].leads_out);
        let found = blocks.iter().position(|block| !block.leads_out && out(block));
        let Some(found) = found else { break };
        blocks[found].leads_out = true;
    }
    if count > MOST_BLOCKS {
        return;
    }
    // Sets of the blocks that all ways to the end pass; the end itself is not among them.
    let all: BTreeSet<usize> = (0..count).collect();
    let mut passed: Vec<BTreeSet<usize>> = vec![all; count];
    let mut changed = true;
    while changed {
        changed = false;
        for at in (0..count).rev() {
            let block = &blocks[at];
            let mut ways = block.next.iter().map(|(next, _)| passed[*next].clone());
            let mut common = match block.ends {
                true => BTreeSet::new(),
                false => ways.next().unwrap_or_default(),
            };
            ways.for_each(|way| common = common.intersection(&way).copied().collect());
            common.insert(at);
            if common != passed[at] {
                passed[at] = common;
                changed = true;
            }
        }
    }
    for (at, block) in blocks.iter_mut().enumerate().filter(|(_, block)| block.leads_out) {
        // The nearest one passes all the others.
        let others = passed[at].iter().copied().filter(|other| *other != at);
        block.rejoin = others.max_by_key(|other| passed[*other].len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::TileOps;
    use isa::FileId;

    fn program(body: &str) -> (Program, u64) {
        let text = format!(
            "_start: BSTART.MSEQ 0\nB.TEXT body\nC.B.DIMI 8, ->lb0\nC.BSTART.STD\nebreak 0\n\
             body: {body}\nC.BSTOP\n"
        );
        let image = crate::assemble(FileId::default(), &text, TileOps::V04).expect("assembles");
        let entry = image.symbol("body").expect("a label").value;
        (Program::from_image(&image, TileOps::V04).expect("loads"), entry)
    }

    #[test]
    fn masks_reach_along_the_edges() {
        let body = "v.cmp.lti lc0.sw, 4, ->p\nb.z over\nv.cmp.lti lc0.sw, 2, ->p\n\
                    over: v.addi lc0.uw, 1, ->vt.w";
        let (program, entry) = program(body);
        let blocks = program.body_graph(entry);
        assert_eq!(blocks.len(), 3);
        let first = entry;
        assert_eq!(blocks[0].masks, BTreeSet::from([None]));
        assert_eq!(blocks[0].writes, Some(first));
        assert_eq!(
            blocks[0].next,
            [(2, "no lane of p is on".to_owned()), (1, "a lane of p is on".to_owned())]
        );
        assert_eq!(blocks[1].masks, BTreeSet::from([Some(first)]));
        let second = blocks[1].at[0];
        assert_eq!(blocks[2].masks, BTreeSet::from([Some(first), Some(second)]));
        assert_eq!(
            (blocks[0].rejoin, blocks[1].rejoin, blocks[2].rejoin),
            (Some(2), Some(2), None)
        );
        assert!(blocks[2].ends && blocks[2].at.len() == 2);
        let runs: Vec<Runs> = program.body(entry).iter().map(|(_, runs)| *runs).collect();
        assert_eq!(runs, [Runs::Lanes, Runs::Once, Runs::Lanes, Runs::Lanes, Runs::Once]);
        let before = [0x10000, 0x10004, 0x10008, 0x1000a, 0x1000c];
        assert_eq!(program.bodies(before.into_iter()), [entry]);
    }

    #[test]
    fn endless_bodies_have_no_way_to_the_end() {
        let (program, entry) = program("top: j top");
        let blocks = program.body_graph(entry);
        assert_eq!(blocks[0].next, [(0, String::new())]);
        assert!(!blocks[0].ends && !blocks[0].leads_out && blocks[0].rejoin.is_none());
    }
}
