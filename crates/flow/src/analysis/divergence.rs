//! Which writes happen while lanes that will read the old value wait elsewhere.
//!
//! Under a mechanism that rejoins lanes at the immediate post-dominator of the branch where they
//! parted (`ipdom`), while some lanes run a block that they reached from one side of a divergent
//! branch, the others are at the start of another side, or wait at the rejoin place. So a write in
//! that block must leave the old value in them exactly if its web is live into one of those places:
//! it *needs a blend*. A loop's exit branch is such a branch, with the loop's next round as one
//! side: what is written in the loop and live behind it needs a blend, though all lanes in the loop
//! have the same value (temporal divergence).
//!
//! A branch whose sides meet only at the end of the function, or never, counts as one whose lanes
//! may be at any of its sides while anything that can be reached from it runs; all such branches
//! are taken together. So are branches of functions that may be entered again before they return:
//! lanes of one side may pass the rejoin place in an inner call, while the others wait there, or
//! behind any of the calls.

use super::webs::{Web, Webs};
use crate::dom::{PostDominator, PostDominators};
use crate::graph::{Cfg, Node};

/// Steps of all walks together, for each block, after which the function is taken to diverge
/// everywhere.
const STEPS_A_BLOCK: usize = 256;
/// Sides of a branch that are walked one by one; those of a larger switch are taken together.
const SIDES: usize = 8;

const NONE: u32 = u32::MAX;

/// Finds, branch by branch, the writes that need a blend.
pub(super) struct Divergence<'a> {
    cfg: &'a Cfg,
    post: &'a PostDominators,
    webs: &'a Webs,
    /// As in [`super::Options`].
    reentrant: &'a [bool],
    /// By block: slots of results in webs that are live into some block, with the web.
    writes: Vec<Vec<(u32, Web)>>,
    /// Blocks that may run with some live lanes of the group elsewhere.
    pub(super) partial: Vec<bool>,
    /// Whether everything has been given up for divergent.
    pub(super) everywhere: bool,
    steps: usize,
    seen: Vec<u32>,
    waits: Vec<u32>,
    round: u32,
    /// Blocks reached from branches that do not rejoin, and webs live into their sides.
    loose: Vec<bool>,
    loose_waits: Vec<bool>,
    loose_list: Vec<Node>,
}

impl<'a> Divergence<'a> {
    pub(super) fn new(
        cfg: &'a Cfg,
        post: &'a PostDominators,
        webs: &'a Webs,
        reentrant: &'a [bool],
        results: impl Fn(usize) -> Vec<u32>,
    ) -> Self {
        let mut crossing = vec![false; webs.len()];
        for b in 0..cfg.len() {
            webs.live_into(b).iter().for_each(|w| crossing[w.index()] = true);
        }
        let of_block = |b: usize| {
            let slots = results(b).into_iter();
            let with_web = slots.filter_map(|s| Some((s, webs.in_slot(s as usize)?)));
            with_web.filter(|(_, web)| crossing[web.index()]).collect()
        };
        let blocks = cfg.len();
        Self {
            cfg,
            post,
            webs,
            reentrant,
            writes: (0..blocks).map(of_block).collect(),
            partial: vec![false; blocks],
            everywhere: false,
            steps: STEPS_A_BLOCK * (blocks + 64),
            seen: vec![NONE; blocks],
            waits: vec![NONE; webs.len()],
            round: 0,
            loose: vec![false; blocks],
            loose_waits: vec![false; webs.len()],
            loose_list: Vec::new(),
        }
    }

    /// A branch at the end of `from` may part lanes. Tells `blend` of the slots of writes that need
    /// a blend because of it.
    pub(super) fn part(&mut self, from: Node, blend: &mut impl FnMut(u32, Web)) {
        let mut sides: Vec<Node> = Vec::new();
        for &to in self.cfg.successors(from) {
            if !sides.contains(&to) {
                sides.push(to);
            }
        }
        if sides.len() < 2 || self.everywhere {
            return;
        }
        let is_reentrant = self.reentrant.get(from.index()) == Some(&true);
        match self.post.immediate(from) {
            _ if is_reentrant => {
                // Lanes may wait behind any call.
                let fresh = self.loose_waits.contains(&false);
                self.loose_waits.fill(true);
                self.part_for_good(&sides, fresh, blend);
            }
            PostDominator::Block(rejoin) => {
                sides.retain(|&s| s != rejoin);
                self.part_until(&sides, rejoin, blend);
            }
            PostDominator::Exit | PostDominator::None => self.part_for_good(&sides, false, blend),
        }
        if self.steps == 0 {
            self.give_up(blend);
        }
    }

    fn part_until(&mut self, sides: &[Node], rejoin: Node, blend: &mut impl FnMut(u32, Web)) {
        let together = sides.len() > SIDES;
        let walks = if together { 1 } else { sides.len() };
        for walk in 0..walks {
            self.round += 1;
            let waiting = sides.iter().enumerate().filter(|&(i, _)| together || i != walk);
            for place in waiting.map(|(_, &s)| s).chain([rejoin]) {
                for web in self.webs.live_into(place.index()) {
                    self.waits[web.index()] = self.round;
                }
                self.steps =
                    self.steps.saturating_sub(1 + self.webs.live_into(place.index()).len() / 64);
            }
            let mut stack: Vec<Node> = if together { sides.to_vec() } else { vec![sides[walk]] };
            while let Some(b) = stack.pop() {
                let seen = std::mem::replace(&mut self.seen[b.index()], self.round);
                if b == rejoin || seen == self.round {
                    continue;
                }
                self.partial[b.index()] = true;
                for &(slot, web) in &self.writes[b.index()] {
                    if self.waits[web.index()] == self.round {
                        blend(slot, web);
                    }
                }
                self.steps = self.steps.saturating_sub(1 + self.writes[b.index()].len() / 8);
                if self.steps == 0 {
                    return;
                }
                stack.extend(self.cfg.successors(b));
            }
        }
    }

    /// `fresh` tells whether more webs wait since the last time.
    fn part_for_good(&mut self, sides: &[Node], mut fresh: bool, blend: &mut impl FnMut(u32, Web)) {
        for side in sides {
            for web in self.webs.live_into(side.index()) {
                fresh |= !std::mem::replace(&mut self.loose_waits[web.index()], true);
            }
        }
        let first_new = if fresh { 0 } else { self.loose_list.len() };
        let mut stack = sides.to_vec();
        while let Some(b) = stack.pop() {
            if std::mem::replace(&mut self.loose[b.index()], true) {
                continue;
            }
            self.partial[b.index()] = true;
            self.loose_list.push(b);
            stack.extend(self.cfg.successors(b));
        }
        for b in &self.loose_list[first_new..] {
            for &(slot, web) in &self.writes[b.index()] {
                if self.loose_waits[web.index()] {
                    blend(slot, web);
                }
            }
            self.steps = self.steps.saturating_sub(1 + self.writes[b.index()].len() / 8);
        }
    }

    /// Too much work: every write of a web that crosses blocks needs a blend.
    pub(super) fn give_up(&mut self, blend: &mut impl FnMut(u32, Web)) {
        self.everywhere = true;
        self.partial.fill(true);
        for writes in &self.writes {
            writes.iter().for_each(|&(slot, web)| blend(slot, web));
        }
    }
}
