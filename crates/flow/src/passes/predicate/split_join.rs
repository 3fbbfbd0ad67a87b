//! `split-join`: structured code for a machine with a stack of masks; the result runs under the
//! mechanism `split-join`.
//!
//! **Source.** Vortex's `vx_split`, `vx_join`, `vx_pred` and `vx_tmc`, as its compiler uses them:
//!
//! ```text
//! if/else: split c; jump to else if not c;  then;  jump to join;  else: ..;  join: join
//! loop:    save = EXEC; head: ..;  EXEC &= stays; jump to head if any;  EXEC |= save
//! ```
//!
//! Structuring is that of the pass `predicate`: regions, flags where several ways meet, node
//! splitting. A region becomes a split, the region of the opposite condition right behind it its
//! other side. Lanes in a loop are EXEC (`vx_pred` narrows it, `vx_tmc` sets it again).
//!
//! What always holds of the result: splits and joins are balanced on every way; behind a split,
//! each branch is taken by all lanes that run; no lane ends inside a split: a thread that ends
//! early is off until the end of the kernel.
//!
//! Refused beside what `predicate` refuses: functions called by a kernel that end their threads.

use super::super::emit::{Emitter, Label};
use super::shape::Shape;
use super::steps::{Pred, Step, Steps};
use super::{Options, graph::Graph, structure};
use crate::passes::{PassError, Reason, Rewritten, Style, at_block, called_from, finish};
use ir::module::MaskTest;
use ir::{
    FuncId, Function, Guard, Inst, LaneReg, Module, Op, Operand, Origin, Reg, RegTy, Term,
    TermKind, Ty, VerifiedModule, WarpReg,
};

/// Rewrites a kernel and the functions it calls.
///
/// # Errors
/// [`PassError`], with the function and block, if one of them cannot be structured.
pub fn split_join(
    module: &VerifiedModule,
    kernel: FuncId,
) -> Result<(VerifiedModule, Vec<Rewritten>), PassError> {
    let (mut done, mut report) = (Vec::new(), Vec::new());
    for id in called_from(module, kernel)? {
        let before = &module.functions[id.index()];
        refuse_ends(module, id)?;
        let shape = structure(module, id, Options::default().growth, true)?;
        let steps = super::steps::steps(before, &shape);
        let after = write(before, &shape, &steps);
        report.push(Rewritten {
            function: id,
            style: Style::Structured,
            before: crate::kernel::block_lengths(before).sum(),
            after: crate::kernel::block_lengths(&after).sum(),
            masks: u32::try_from(after.warp_regs.len() - before.warp_regs.len())
                .unwrap_or(u32::MAX),
        });
        done.push((id, after));
    }
    Ok((finish(Module::clone(module), done)?, report))
}

/// A called function runs inside its caller's splits.
fn refuse_ends(module: &Module, id: FuncId) -> Result<(), PassError> {
    let function = &module.functions[id.index()];
    for block in function.blocks.iter().filter(|_| !function.is_kernel()) {
        if matches!(block.term.kind, TermKind::Exit(_)) {
            let reason = Reason::EndsInCall(block.name.clone());
            return Err(at_block(module, id, &block.name, block.term.loc, reason));
        }
    }
    Ok(())
}

/// An open region: the split's two ways.
struct Open {
    cond: Guard,
    /// Where the side in hand ends.
    side_ends: Label,
    join: Label,
    /// The side in hand is the second.
    second: bool,
}

/// An open loop.
struct Loop {
    head: Label,
    save: WarpReg,
    /// Set in lanes that go round again, where not all that reach the end of the loop do.
    again: Option<LaneReg>,
}

struct Writer<'a> {
    source: &'a Function,
    graph: &'a Graph,
    steps: &'a Steps,
    out: Emitter,
    open: Vec<Open>,
    loops: Vec<Loop>,
    saves: Vec<WarpReg>,
    /// Guards that conjunctions stand for.
    guards: rustc_hash::FxHashMap<Pred, Guard>,
    /// The region that opens next is open already.
    opened: bool,
}

fn write(source: &Function, shape: &Shape, steps: &Steps) -> Function {
    let mut writer = Writer {
        source,
        graph: &shape.graph,
        steps,
        out: Emitter::new(&steps.function, Origin::Mask),
        open: Vec::new(),
        loops: Vec::new(),
        saves: Vec::new(),
        guards: rustc_hash::FxHashMap::default(),
        opened: false,
    };
    for at in 0..steps.steps.len() {
        writer.step(at);
    }
    writer.out.ret();
    writer.out.finish()
}

impl Writer<'_> {
    fn step(&mut self, at: usize) {
        match &self.steps.steps[at] {
            Step::Name(block) => {
                self.out.loc = self.graph.loc(self.source, *block);
                self.out.start(self.graph.name(self.source, *block));
            }
            Step::Do { inst, under } => {
                let guard = self.guards.get(under).copied();
                self.out.copy(&Inst { guard, ..Inst::clone(inst) });
            }
            // A second side stands behind the branch of the first.
            Step::And { opens: true, .. } if std::mem::take(&mut self.opened) => {}
            Step::And { opens: true, cond, loc, .. } => {
                self.out.loc = *loc;
                self.open(*cond);
            }
            // The guard of an instruction stays its guard.
            Step::And { to, cond, .. } => {
                self.guards.insert(*to, *cond);
            }
            Step::Close => self.close(at),
            Step::Copy { loc, .. } => self.out.loc = *loc,
            Step::Head { narrows, .. } => self.head(*narrows),
            Step::Back { loc, .. } => {
                self.out.loc = *loc;
                if let Some(reg) = self.loops.last().and_then(|l| l.again) {
                    self.set(reg, 1);
                }
            }
            Step::Out => self.out_of_loop(),
            // Ends of threads have become ways to the end.
            Step::Exit { .. } => {}
        }
    }

    fn set(&mut self, reg: LaneReg, value: u128) {
        let result = Some(Reg::Lane(reg));
        self.out.insert(Op::Mov, Some(Ty::Pred), result, &[Operand::Imm(value)]);
    }

    fn branch_unless(&mut self, cond: Guard, to: Label) {
        let guard = Guard { negated: !cond.negated, ..cond };
        let kind = TermKind::CondBr(guard, self.out.target(to));
        let term = Term { kind, origin: Origin::Mask, loc: self.out.loc };
        self.out.end(term);
    }

    fn open(&mut self, cond: Guard) {
        let (side_ends, join) = (self.out.label(), self.out.label());
        self.out.insert(Op::Split, None, None, &[Operand::lane(cond.pred)]);
        self.branch_unless(cond, side_ends);
        self.open.push(Open { cond, side_ends, join, second: false });
    }

    /// Ends a side; if the region of the opposite condition opens next, it is the other side.
    fn close(&mut self, at: usize) {
        let Some(open) = self.open.pop() else { return };
        let next = self.steps.steps.get(at + 1);
        let other = match next {
            Some(Step::And { opens: true, cond, .. }) => Some(*cond),
            _ => None,
        };
        let opposite = Guard { negated: !open.cond.negated, ..open.cond };
        if other == Some(opposite) && !open.second {
            self.out.jump(open.join);
            self.out.place(open.side_ends, "else");
            let (cond, join) = (opposite, open.join);
            self.open.push(Open { cond, side_ends: join, join, second: true });
            self.opened = true;
            return;
        }
        self.out.place(open.side_ends, "join");
        self.out.insert(Op::Join, None, None, &[]);
    }

    fn head(&mut self, narrows: bool) {
        let depth = self.loops.len();
        while self.saves.len() <= depth {
            let name = format!("loop{}", self.saves.len());
            let reg = self.out.mask_reg(&name);
            self.saves.push(reg);
        }
        let save = self.saves[depth];
        self.out.insert(Op::ExecRead, None, Some(Reg::Warp(save)), &[]);
        let head = self.out.label();
        self.out.place(head, "loop");
        let again = narrows.then(|| self.out.lane_reg("again", RegTy::Pred));
        if let Some(reg) = again {
            self.set(reg, 0);
        }
        self.loops.push(Loop { head, save, again });
    }

    fn out_of_loop(&mut self) {
        let Some(Loop { head, save, again }) = self.loops.pop() else { return };
        if let Some(reg) = again {
            let scratch = self.out.mask_reg("stay");
            let pred = Operand::lane(reg);
            self.out.insert(Op::ExecAndSave, None, Some(Reg::Warp(scratch)), &[pred]);
        }
        self.out.branch_if(MaskTest::Any, None, head);
        self.out.insert(Op::ExecOr, None, None, &[Operand::warp(save)]);
    }
}
