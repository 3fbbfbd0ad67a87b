//! Barriers of a CTA: a body ends at each, when it has said which one it was; when all groups of
//! the CTA have ended, the header is run again, and the body begins behind that barrier.
//!
//! Masks are values of the group that a header starts anew, so each goes through the frame as a
//! predicate of each lane. A group whose lanes have all ended ends at once when it is entered
//! again.

use super::code::{Item, Mask, Src, Val, When};
use super::select::Select;
use crate::Missing;
use ir::mods::Barrier;
use ir::{Inst, Operand};

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
    /// Where groups end that have no lane left, and where all end.
    finish: u32,
    stop: u32,
}

impl Select<'_> {
    /// Begins a body that is entered again behind so many barriers.
    pub(super) fn enter_again(&mut self, count: usize, masks: u32, finish: u32) {
        let groups: Vec<Val> = (0..masks).map(Val::Group).collect();
        let masks = groups.into_iter().map(|mask| (mask, self.body.lane())).collect();
        let resume: Vec<u32> = (0..count).map(|_| self.label()).collect();
        let import = self.layout.phase_import.unwrap_or_default();
        for (index, &label) in resume.iter().enumerate() {
            let here = self.body.group();
            let text = format!("v.cmp.eqi {{0}}, {}", index + 1);
            self.group(&text, &[(Src::fixed(&format!("ri{import}")), "ud")], here);
            self.body.items.push(Item::Branch(When::Filled(here), label));
        }
        let (on, alive, stop) = (self.body.lane(), self.body.lane(), self.label());
        self.body.again = true;
        self.barriers = Some(Barriers { resume, count: 0, on, masks, alive, finish, stop });
    }

    /// The end of such a body.
    pub(super) fn finish_again(&mut self) {
        let Some(barriers) = self.barriers.take() else { return };
        self.body.items.push(Item::Label(barriers.finish, "no lane is left".to_owned()));
        self.all_lanes();
        self.op_imm("v.addi", (Src::zero(), "ud"), 0, (barriers.on, 'b'));
        self.body.items.push(Item::Label(barriers.stop, "end".to_owned()));
    }

    /// Turns all lanes on.
    fn all_lanes(&mut self) {
        self.set_mask("v.xori zero.ud, -1", &[], Mask::Any);
    }

    pub(super) fn barrier(&mut self, inst: &Inst) -> Result<(), Missing> {
        let all = match inst.operands.get(1) {
            None => true,
            Some(&Operand::Imm(count)) => count as u64 == u64::from(self.layout.launch.threads()),
            Some(_) => false,
        };
        if inst.mods.barrier != Some(Barrier::Sync) || inst.guard.is_some() || !all {
            return Err(self.missing("barriers of some threads, or that reduce"));
        }
        let Some(mut barriers) = self.barriers.take() else {
            return Err(self.missing("barriers"));
        };
        let index = barriers.count;
        barriers.count += 1;
        let now = self.save();
        let alive = self.alive.map(|alive| (alive, barriers.alive));
        let own = [(now, barriers.on)];
        let masks: Vec<(Val, Val)> =
            own.into_iter().chain(alive).chain(barriers.masks.iter().copied()).collect();
        self.all_lanes();
        for (_, lanes) in &masks {
            self.op_imm("v.addi", (Src::zero(), "ud"), 0, (*lanes, 'b'));
        }
        for (mask, lanes) in &masks {
            self.set_mask("v.addi {0}, 0", &[*mask], Mask::Any);
            self.op_imm("v.addi", (Src::zero(), "ud"), 1, (*lanes, 'b'));
        }
        self.text(format!("v.addi zero.ud, {}, ->ro0.d", index + 1), &[], None);
        self.body.items.push(Item::Branch(When::Always, barriers.stop));
        let Some(&label) = barriers.resume.get(index) else {
            return Err(self.missing("so many barriers"));
        };
        self.body.items.push(Item::Label(label, format!("behind barrier {}", index + 1)));
        for &(mask, lanes) in masks.iter().skip(1) {
            self.all_lanes();
            self.keep_lanes(lanes);
            self.save_to(mask);
        }
        self.all_lanes();
        self.keep_lanes(barriers.on);
        self.body.items.push(Item::Branch(When::NoLane, barriers.finish));
        self.barriers = Some(barriers);
        Ok(())
    }

    /// Turns lanes off whose predicate does not hold.
    fn keep_lanes(&mut self, lanes: Val) {
        self.push(super::code::Inst {
            text: "v.cmp.nei {0}, 0, ->p".to_owned(),
            sources: vec![(Src::Val(lanes), "ub")],
            result: None,
            mask: Some(Mask::Narrowed),
            saves: false,
            effect: true,
            loc: self.loc,
        });
    }
}
