//! The registers on which the future of a launch depends, if it continues as it has for a while.
//!
//! Given the instructions that were issued in some interval, a row is *relevant* if its value may
//! decide where lanes go, which address is accessed, what is stored, whether an instruction faults
//! or who meets whom, in one of these instructions, directly or through others of them. Suppose
//! that no memory changed in the interval, and that two states, at its ends, agree in all but rows
//! that are not relevant. Then the instructions issued after the second are those issued after the
//! first, with the same effects: each depends on relevant rows alone, which these instructions
//! compute from relevant rows alone. So the interval repeats for ever, although counters that
//! nothing looks at grow. This finds `while (!flag) i++;`.

use crate::code::{Code, CollectiveKind, Exec, MaskBrSrc, MaskOp, MemOp, Src};
use crate::program::{FuncInfo, Program};
use simt::Pc;

/// A set of places, as bits.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Places {
    words: Vec<u64>,
    len: usize,
}

impl Places {
    pub(crate) fn insert(&mut self, pc: Pc) {
        let (word, bit) = ((pc.0 / 64) as usize, 1 << (pc.0 % 64));
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.len += usize::from(self.words[word] & bit == 0);
        self.words[word] |= bit;
    }

    /// Number of places.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    fn iter(&self) -> impl Iterator<Item = Pc> {
        let words = self.words.iter().enumerate().filter(|(_, word)| **word != 0);
        words.flat_map(|(i, &word)| {
            (0..64).filter(move |b| word >> b & 1 != 0).map(move |b| Pc(64 * i as u64 + b))
        })
    }
}

/// Relevant rows of the functions of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Relevant {
    /// All of them: something was issued whose effects reach further than rows, such as a call.
    All,
    /// By function, in increasing order; functions of which nothing was issued have none.
    Rows(Vec<Vec<u32>>),
    /// A clock decides what happens: equal states need not have equal futures.
    Clock,
}

/// The relevant rows for an interval in which these places were issued.
pub(crate) fn relevant(program: &Program, issued: &Places) -> Relevant {
    let code: Vec<&Code> = issued.iter().filter_map(|pc| program.at(pc)).collect();
    let empty = |f: &FuncInfo| vec![false; f.rows as usize];
    let mut slice = Slice { rows: program.functions.iter().map(empty).collect() };
    for code in &code {
        if !slice.roots(code) {
            return if program.reads_clock { Relevant::Clock } else { Relevant::All };
        }
    }
    // Operands of an instruction mostly stand in front of it.
    while code.iter().rev().fold(false, |more, code| slice.operands(code) | more) {}
    let clock = |code: &&Code| match code.exec {
        Exec::Sreg { reg, dst, .. } => reg.observes_schedule() && slice.has(code.function, dst),
        _ => false,
    };
    if code.iter().any(clock) {
        return Relevant::Clock;
    }
    let listed = |rows: &Vec<bool>| (0u32..).zip(rows).filter(|r| *r.1).map(|r| r.0).collect();
    Relevant::Rows(slice.rows.iter().map(listed).collect())
}

/// Relevant rows found so far, by function and row.
struct Slice {
    rows: Vec<Vec<bool>>,
}

impl Slice {
    fn has(&self, function: u32, row: u32) -> bool {
        self.rows[function as usize][row as usize]
    }

    /// Returns whether the row is new.
    fn add(&mut self, function: u32, row: u32) -> bool {
        !std::mem::replace(&mut self.rows[function as usize][row as usize], true)
    }

    fn add_sources<'s>(&mut self, code: &Code, sources: impl IntoIterator<Item = &'s Src>) -> bool {
        let mut more = false;
        for source in sources {
            if let Src::Row(row) = source {
                more |= self.add(code.function, *row);
            }
        }
        more
    }

    fn add_guard(&mut self, code: &Code) -> bool {
        code.guard.is_some_and(|guard| self.add(code.function, guard.row))
    }

    /// Adds the rows that an instruction's effects beyond its result rows depend on; returns
    /// `false` if these cannot be determined.
    fn roots(&mut self, code: &Code) -> bool {
        match &code.exec {
            // Only a row is written, and nothing can fault.
            Exec::Lanes(op) if !op.uniform => return true,
            Exec::Sreg { .. } | Exec::Fence(..) | Exec::Nop => return true,
            Exec::Lanes(op) => self.add_sources(code, &op.src),
            Exec::Load(op) => self.add_sources(code, [&op.addr]),
            Exec::Store(op) => self.add_access(code, op),
            Exec::Atomic(op) => self.add_access(code, &op.mem),
            Exec::Mbarrier(op) => self.add_access(code, &op.mem),
            Exec::Copy(op) => {
                self.add_sources(code, &op.bytes);
                self.add_sources(code, [&op.from.addr, &op.to.addr])
            }
            Exec::Bulk(op) => self.add_sources(code, &op.sources().collect::<Vec<_>>()),
            Exec::Tensor(op) => self.add_sources(code, &op.sources().collect::<Vec<_>>()),
            Exec::Texture(access) => {
                self.add_sources(code, &access.op.values);
                self.add_sources(code, &access.op.sources().collect::<Vec<_>>())
            }
            Exec::AsyncStore(op) => {
                self.add_sources(code, [&op.barrier]);
                self.add_access(code, &op.mem)
            }
            Exec::Collective(op) => {
                if matches!(op.kind, CollectiveKind::WarpGroup(_)) {
                    // Products take effect later, for other warps too.
                    return false;
                }
                if matches!(op.kind, CollectiveKind::Matrix(_)) {
                    self.add_sources(code, &op.src);
                }
                if let Some(mem) = &op.mem {
                    self.add_access(code, mem);
                }
                self.add_sources(code, &op.members)
            }
            Exec::Bar { id, count, pred, .. } => {
                self.add_sources(code, count.iter().chain([id]));
                pred.is_some_and(|pred| self.add(code.function, pred.row))
            }
            Exec::Mask(op) => self.add_mask(code, op),
            Exec::Split(pred) => self.add_sources(code, [pred]),
            Exec::Switch { index, .. } => self.add_sources(code, [index]),
            Exec::MaskBr { mask: MaskBrSrc::Pred(row), .. } => self.add(code.function, *row),
            Exec::Printf { format, args, .. } => self.add_sources(code, [format, args]),
            Exec::Br(_)
            | Exec::CondBr(_)
            | Exec::MaskBr { .. }
            | Exec::Join
            | Exec::BarrierSet { .. }
            | Exec::BarrierWait(_)
            | Exec::BarrierBreak(_)
            | Exec::Yield
            | Exec::Exit
            | Exec::GroupCommit(_)
            | Exec::GroupWait(_)
            | Exec::ClusterArrive
            | Exec::ClusterWait
            | Exec::AssertFail { .. }
            | Exec::Trap
            | Exec::Breakpoint => true,
            // Frames are pushed or popped, or the heap changes.
            Exec::Call(_)
            | Exec::Ret
            | Exec::WaitProducts(_)
            | Exec::Alloca { .. }
            | Exec::Malloc { .. }
            | Exec::Free(_) => return false,
        };
        self.add_guard(code);
        true
    }

    fn add_access(&mut self, code: &Code, op: &MemOp) -> bool {
        self.add_sources(code, op.values.iter().chain([&op.addr]))
    }

    fn add_mask(&mut self, code: &Code, op: &MaskOp) -> bool {
        match op {
            MaskOp::AndSave { pred, .. }
            | MaskOp::AndNot(pred)
            | MaskOp::Of { pred, .. }
            | MaskOp::Spill { pred, .. } => self.add_sources(code, [pred]),
            _ => false,
        }
    }

    /// Adds the rows that an instruction computes relevant rows from; returns whether any is new.
    /// Memory does not change, so a loaded value depends only on its address, which is relevant
    /// already; the same holds for results of masks and barriers.
    fn operands(&mut self, code: &Code) -> bool {
        let (results, sources) = match &code.exec {
            Exec::Lanes(op) if !op.uniform => (&op.dst[..], &op.src[..]),
            Exec::Collective(op) => (&op.dst[..], &op.src[..]),
            Exec::Sreg { dst, .. } => (std::slice::from_ref(dst), &[][..]),
            _ => return false,
        };
        if !results.iter().any(|&row| self.has(code.function, row)) {
            return false;
        }
        self.add_sources(code, sources) | self.add_guard(code)
    }
}
