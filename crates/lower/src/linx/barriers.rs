//! Barriers of a CTA, and of its warps: a body ends at each, when it has said which kind it was;
//! then the header is run again, and each group goes on behind the barrier at which it ended.
//!
//! Groups that have ended at a barrier of a warp go on in the next run: all lanes of the warp have
//! come, since they execute the same ones in the same order. Those at a barrier of the CTA go on
//! when a run has ended with no group at one of a warp. In kernels without barriers of warps all
//! groups are behind the barrier that the header says; else each lane has a number in the frame.
//!
//! Masks are values of the group that a header starts anew, so each goes through the frame as a
//! predicate of each lane. A group whose lanes have all ended ends at once when it is entered
//! again.

use super::code::{Inst as Line, Item, Mask, Src, Val, When};
use super::select::Select;
use crate::Missing;
use ir::mods::Barrier;
use ir::{BlockId, Function, Inst, Op, Operand};

/// Most barriers of a kernel: their numbers are immediates of comparisons.
const MOST: usize = 2047;

/// Which lanes wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// Those of the CTA.
    Cta,
    /// Those of the warp.
    Warp,
}

/// What barriers of a kernel need.
#[derive(Clone, Debug)]
pub(super) struct Barriers {
    /// Where the body begins behind each.
    resume: Vec<u32>,
    /// Barriers that have been written.
    count: usize,
    /// The lanes that are on, and each mask of the kernel, as predicates.
    on: Val,
    masks: Vec<(Val, Val)>,
    alive: Val,
    /// The number of the barrier at which the group has ended, if each group has its own; 0 if all
    /// of its lanes have ended.
    place: Option<Val>,
    /// Where the kernel's code begins in the body.
    start: usize,
    /// Where groups end that have no lane left, and where all end.
    finish: u32,
    stop: u32,
}

/// The barriers of a function, in its order.
///
/// # Errors
/// [`Missing`], if lanes of a warp wait for some others of it and may be of several groups: with
/// other barriers beside, these do not come in step.
pub(super) fn waits(function: &Function) -> Result<Vec<Wait>, Missing> {
    let mut list = Vec::new();
    let mut some = None;
    for (index, block) in (0u32..).zip(&function.blocks) {
        for inst in &block.insts {
            match inst.op {
                Op::Bar => list.push(Wait::Cta),
                Op::WarpSync => {
                    list.push(Wait::Warp);
                    let all = inst.operands.first() == Some(&Operand::Imm(u128::from(u32::MAX)));
                    if !all {
                        some = Some((inst, BlockId(index)));
                    }
                }
                _ => {}
            }
        }
    }
    if list.len() > MOST {
        let what = format!("more than {MOST} barriers");
        return Err(Missing { what, loc: function.loc });
    }
    match some {
        Some((inst, block)) if list.len() > 1 || repeats(function, block) => {
            let what = "barriers of some lanes of a warp, beside other barriers".to_owned();
            Err(Missing { what, loc: inst.loc })
        }
        _ => Ok(list),
    }
}

/// Whether a path leads from a block to itself.
fn repeats(function: &Function, block: BlockId) -> bool {
    let mut seen = vec![false; function.blocks.len()];
    let mut next = function.successors(block);
    while let Some(at) = next.pop() {
        if at == block {
            return true;
        }
        if let Some(seen) = seen.get_mut(at.index())
            && !std::mem::replace(seen, true)
        {
            next.extend(function.successors(at));
        }
    }
    false
}

impl Select<'_> {
    /// Begins a body that is entered again behind these barriers.
    pub(super) fn enter_again(&mut self, waits: &[Wait], masks: u32, finish: u32) {
        let groups: Vec<Val> = (0..masks).map(Val::Group).collect();
        let masks = groups.into_iter().map(|mask| (mask, self.body.lane())).collect();
        let resume: Vec<u32> = waits.iter().map(|_| self.label()).collect();
        let (on, alive, stop) = (self.body.lane(), self.body.lane(), self.label());
        let place = self.layout.warps.then(|| self.body.lane());
        match place {
            None => self.all_behind(&resume),
            Some(place) => self.each_behind(waits, &resume, place, stop),
        }
        self.body.again = true;
        let start = self.body.items.len();
        let count = 0;
        self.barriers =
            Some(Barriers { resume, count, on, masks, alive, place, start, finish, stop });
    }

    /// A mask that is not empty if the header says this number.
    fn said(&mut self, number: usize) -> Val {
        let here = self.body.group();
        let import = self.layout.phase_import.unwrap_or_default();
        let text = format!("v.cmp.eqi {{0}}, {number}");
        self.group(&text, &[(Src::fixed(&format!("ri{import}")), "ud")], here);
        here
    }

    /// To the barrier that the header says.
    fn all_behind(&mut self, resume: &[u32]) {
        for (index, &label) in resume.iter().enumerate() {
            let here = self.said(index + 1);
            self.body.items.push(Item::Branch(When::Filled(here), label));
        }
    }

    /// To the barrier that lanes of the group say, if the header says that it is open.
    fn each_behind(&mut self, waits: &[Wait], resume: &[u32], place: Val, stop: u32) {
        let (start, over) = (self.label(), self.label());
        let here = self.said(0);
        self.body.items.push(Item::Branch(When::Filled(here), start));
        let here = self.said(kind(Wait::Cta));
        self.body.items.push(Item::Branch(When::Empty(here), over));
        for of in [Wait::Cta, Wait::Warp] {
            for (index, (_, &label)) in
                waits.iter().zip(resume).enumerate().filter(|w| *w.1.0 == of)
            {
                self.all_lanes();
                self.keep(&format!("v.cmp.eqi {{0}}, {}", index + 1), place, "uw");
                self.body.items.push(Item::Branch(When::AnyLane, label));
            }
            if of == Wait::Cta {
                self.all_lanes();
                self.body.items.push(Item::Label(over, "no barrier of the CTA is open".to_owned()));
            }
        }
        self.all_lanes();
        self.body.items.push(Item::Branch(When::Always, stop));
        self.body.items.push(Item::Label(start, "the first run".to_owned()));
    }

    /// The end of such a body.
    pub(super) fn finish_again(&mut self) {
        let Some(barriers) = self.barriers.take() else { return };
        self.body.items.push(Item::Label(barriers.finish, "no lane is left".to_owned()));
        self.all_lanes();
        self.op_imm("v.addi", (Src::zero(), "ud"), 0, (barriers.on, 'b'));
        if let Some(place) = barriers.place {
            self.op_imm("v.addi", (Src::zero(), "ud"), 0, (place, 'w'));
        }
        self.body.items.push(Item::Label(barriers.stop, "end".to_owned()));
    }

    /// Turns all lanes on.
    fn all_lanes(&mut self) {
        self.set_mask("v.xori zero.ud, -1", &[], Mask::Any);
    }

    /// The kind of a barrier, if it is one of those that there are.
    fn wait(&self, inst: &Inst) -> Result<Wait, Missing> {
        if inst.op == Op::WarpSync {
            return Ok(Wait::Warp);
        }
        let all = match inst.operands.get(1) {
            None => true,
            Some(&Operand::Imm(count)) => count as u64 == u64::from(self.layout.launch.threads()),
            Some(_) => false,
        };
        if inst.mods.barrier != Some(Barrier::Sync) || inst.guard.is_some() || !all {
            return Err(self.missing("barriers of some threads"));
        }
        Ok(Wait::Cta)
    }

    pub(super) fn barrier(&mut self, inst: &Inst) -> Result<(), Missing> {
        let wait = self.wait(inst)?;
        let Some(mut barriers) = self.barriers.take() else {
            return Err(self.missing("barriers"));
        };
        let index = barriers.count;
        barriers.count += 1;
        // Code for no lane does not end at a barrier.
        let changes = |item: &Item| matches!(item, Item::Inst(line) if line.mask.is_some());
        let narrowed = self.body.items[barriers.start..].iter().any(changes);
        let behind = narrowed.then(|| self.label());
        if let Some(behind) = behind {
            self.body.items.push(Item::Branch(When::NoLane, behind));
        }
        let now = self.save();
        let alive = self.alive.map(|alive| (alive, barriers.alive));
        let own = [(now, barriers.on)];
        let masks: Vec<(Val, Val)> =
            own.into_iter().chain(alive).chain(barriers.masks.iter().copied()).collect();
        self.all_lanes();
        for (_, lanes) in &masks {
            self.op_imm("v.addi", (Src::zero(), "ud"), 0, (*lanes, 'b'));
        }
        let said = match barriers.place {
            Some(place) => {
                let number = self.constant(index as u64 + 1);
                self.op_imm("v.addi", (number, "ud"), 0, (place, 'w'));
                kind(wait)
            }
            None => index + 1,
        };
        for (mask, lanes) in &masks {
            self.set_mask("v.addi {0}, 0", &[*mask], Mask::Any);
            self.op_imm("v.addi", (Src::zero(), "ud"), 1, (*lanes, 'b'));
        }
        let export = if wait == Wait::Cta { "ro0" } else { "ro1" };
        self.text(format!("v.addi zero.ud, {said}, ->{export}.d"), &[], None);
        self.body.items.push(Item::Branch(When::Always, barriers.stop));
        let Some(&label) = barriers.resume.get(index) else {
            return Err(self.missing("so many barriers"));
        };
        self.body.items.push(Item::Label(label, format!("behind barrier {}", index + 1)));
        for &(mask, lanes) in masks.iter().skip(1) {
            self.all_lanes();
            self.keep("v.cmp.nei {0}, 0", lanes, "ub");
            self.save_to(mask);
        }
        self.all_lanes();
        self.keep("v.cmp.nei {0}, 0", barriers.on, "ub");
        self.body.items.push(Item::Branch(When::NoLane, barriers.finish));
        if let Some(behind) = behind {
            self.body.items.push(Item::Label(behind, format!("past barrier {}", index + 1)));
        }
        self.barriers = Some(barriers);
        Ok(())
    }

    /// Turns lanes off for whose value a comparison does not hold.
    fn keep(&mut self, compare: &str, lanes: Val, kind: &'static str) {
        self.push(Line {
            text: format!("{compare}, ->p"),
            sources: vec![(Src::Val(lanes), kind)],
            result: None,
            mask: Some(Mask::Narrowed),
            saves: false,
            effect: true,
            loc: self.loc,
        });
    }
}

/// What a header says of a run in which groups go on behind such barriers; of the first one it says
/// 0.
fn kind(wait: Wait) -> usize {
    match wait {
        Wait::Cta => 1,
        Wait::Warp => 2,
    }
}
