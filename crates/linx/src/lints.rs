//! Lints of masks and queues in a body: what is legal and probably not meant.
//!
//! One pass over the instructions in the order of the text, along forward branches. Where paths
//! join, it compares whether `p` has been narrowed, and how many entries have been pushed on each
//! queue: an entry is read by its distance from the newest one, so that after a join of unequal
//! counts it is another value on each path. The newest entry at the join is left out: it is the
//! last value of a variable that one path has changed. So are loops, where an entry may be that of
//! the round before on purpose.

use std::collections::BTreeMap;

use crate::action::{Action, Branch, SOp};
use crate::insn::Insn;
use crate::regid::{Place, Reg};
use crate::vector::operands;

/// The lane queues, `t` and `u`.
const QUEUES: usize = 6;
const NAMES: [&str; QUEUES] = ["vt", "vu", "vm", "vn", "t", "u"];

/// What is known of `p`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mask {
    /// All lanes that there are.
    #[default]
    All,
    /// It has been narrowed, and nothing restored since.
    Narrowed,
    /// It comes from a queue.
    Kept,
}

/// What is known of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Path {
    mask: Mask,
    /// Entries pushed since the start, by queue.
    pushed: [u32; QUEUES],
    /// Entries pushed since paths with unequal counts have met.
    since: [Option<u32>; QUEUES],
}

impl Path {
    fn push(&mut self, queue: usize) {
        self.pushed[queue] += 1;
        // Four entries later nothing older can be read.
        self.since[queue] = self.since[queue].map(|n| n + 1).filter(|&n| n < 4);
    }
}

/// Returns places and messages.
pub(crate) fn look(body: &[(u64, Insn)]) -> Vec<(u64, String)> {
    let mut found = Vec::new();
    let mut waiting: BTreeMap<u64, Vec<Path>> = BTreeMap::new();
    let mut path = Some(Path::default());
    for (at, insn) in body {
        let mut paths = waiting.remove(at).unwrap_or_default();
        paths.extend(path);
        let Some(mut here) = join(&paths) else { continue };
        let mixed = |mask| paths.iter().any(|path| path.mask == mask);
        if mixed(Mask::All) && mixed(Mask::Narrowed) && insn.action != Action::Stop {
            let text = "p has all lanes on one path to here and may have fewer on another";
            found.push((*at, text.to_owned()));
        }
        reads(insn, |queue, depth| {
            if here.since[queue].is_some_and(|n| depth > n) {
                found.push((
                    *at,
                    format!(
                        "{0}#{1} is another entry on each path to here: \
                         they push different numbers on {0}",
                        NAMES[queue],
                        depth + 1,
                    ),
                ));
                here.since[queue] = None;
            }
        });
        apply(insn, &mut here);
        path = Some(here);
        if let Action::Branch(branch) = insn.action {
            let target = at.wrapping_add_signed(insn.imm);
            if target > *at && branch != Branch::Register {
                waiting.entry(target).or_default().push(here);
            }
            if matches!(branch, Branch::Jump | Branch::Register) {
                path = None;
            }
        }
    }
    found
}

/// What is known where paths meet.
fn join(paths: &[Path]) -> Option<Path> {
    let (first, rest) = paths.split_first()?;
    let mut here = *first;
    for other in rest {
        if here.mask != other.mask {
            here.mask = Mask::Kept;
        }
        for queue in 0..QUEUES {
            if here.pushed[queue] != other.pushed[queue] {
                here.pushed[queue] = here.pushed[queue].max(other.pushed[queue]);
                here.since[queue] = Some(0);
            }
            here.since[queue] = match (here.since[queue], other.since[queue]) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        }
    }
    Some(here)
}

/// Calls `read` for each queue entry that an instruction reads.
fn reads(insn: &Insn, mut read: impl FnMut(usize, u32)) {
    match insn.action {
        Action::Vector(op) => {
            let ops = operands(insn, op);
            for source in [ops.l, ops.r, ops.a].into_iter().flatten() {
                match source.reg {
                    Reg::Lane { hand, depth, .. } => read(usize::from(hand & 3), depth.into()),
                    Reg::T(depth) => read(4, depth.into()),
                    Reg::U(depth) => read(5, depth.into()),
                    _ => {}
                }
            }
        }
        // The short forms imply `t#1`; these have no source.
        Action::Scalar(SOp::Immediate(_) | SOp::AddTpc | SOp::SetRet | SOp::Prefetch) => {}
        Action::Scalar(_) | Action::Branch(Branch::Compare(..)) => {
            for code in [insn.l, insn.r, insn.a] {
                match code {
                    24..=27 => read(4, (code - 24) as u32),
                    28..=31 => read(5, (code - 28) as u32),
                    _ => {}
                }
            }
        }
        _ => {}
    }
}

fn apply(insn: &Insn, path: &mut Path) {
    match insn.action {
        Action::Vector(op) => {
            let ops = operands(insn, op);
            match ops.dest.map(|d| d.place) {
                Some(Place::Lane(hand)) => path.push(usize::from(hand & 3)),
                Some(Place::T) => path.push(4),
                Some(Place::U) => path.push(5),
                Some(Place::P) => {
                    path.mask = match ops.l.map(|s| s.reg) {
                        Some(Reg::T(_) | Reg::U(_)) => Mask::Kept,
                        // All ones, as `v.xori zero.ud, -1` makes them.
                        Some(Reg::Zero) if insn.imm == -1 => Mask::All,
                        _ => Mask::Narrowed,
                    };
                }
                _ => {}
            }
        }
        Action::Scalar(op) if op != SOp::Prefetch => {
            for code in [insn.rd, insn.rd1] {
                match code {
                    31 => path.push(4),
                    30 => path.push(5),
                    _ => {}
                }
            }
        }
        _ => {}
    }
}
