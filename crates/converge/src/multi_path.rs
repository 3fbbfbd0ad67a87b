//! `multi-path`: splits that rejoin at the immediate post-dominator, any of which may run next.
//!
//! **Source.** ElTantawy et al., "A scalable multi-path microarchitecture for efficient GPU control
//! flow" (HPCA 2014): a split table and a reconvergence table in place of a stack. The paper
//! interleaves splits to hide latency; with no latency in this model, a split runs for the knob
//! `slice` before the next one has its turn (0: until it waits or ends).
//!
//! **State.** A split is a place, its rejoin place, lanes, and the row it belongs to. A row of the
//! reconvergence table is a place where lanes meet, all its lanes, and those still pending. When
//! lanes part at a branch with rejoin place `r`, their split becomes a row at `r` and each side a
//! split of it; unless the split's own rejoin place is `r` already. A split that comes to its
//! rejoin place is taken off the pending lanes of its row; when none are pending the row is a split
//! again. A call is a row at the return place.
//!
//! **Invariants.** A row's pending lanes are those of its splits and inner rows; the others wait at
//! its place. Lanes meet only in rows, so it issues as often as `ipdom`, whatever the turns. Fair
//! among splits if `slice` is not 0: but lanes that wait in a row do not run before its pending
//! lanes come. Reads the knobs `order` (default: taken first) and `slice`.

use crate::event::Event;
use crate::lanes::{Ids, count, image};
use crate::mechanism::{Charges, Knobs, Mechanism, Order, Path, PathId, Refusal, Start};
use crate::plan::{Plan, Rejoin};
use simt::inspect::MechanismRow;
use simt::{LaneMask, Pc};

/// Its name in the catalogue.
pub const NAME: &str = "multi-path";

/// Lanes that run together.
#[derive(Clone, Copy, Debug)]
struct Split<const N: usize> {
    id: u32,
    pc: Pc,
    rejoin: Option<Pc>,
    row: Option<usize>,
    lanes: LaneMask<N>,
    parked: LaneMask<N>,
    parked_at: Pc,
    depth: u32,
}

/// Lanes that meet.
#[derive(Clone, Copy, Debug)]
struct Row<const N: usize> {
    pc: Pc,
    /// Where the split goes that the row becomes.
    rejoin: Option<Pc>,
    outer: Option<usize>,
    lanes: LaneMask<N>,
    pending: LaneMask<N>,
    depth: u32,
    /// Its lanes are in calls.
    calls: bool,
}

/// The mechanism.
#[derive(Clone, Debug)]
pub struct MultiPath<const N: usize> {
    /// In the order of their turns.
    splits: Vec<Split<N>>,
    rows: Vec<Option<Row<N>>>,
    ids: Ids<N>,
    order: Order,
    slice: u64,
    /// Issues of the turn.
    ran: u64,
    charges: Charges,
}

type Targets<'a, const N: usize> = &'a [(Pc, LaneMask<N>)];

impl<const N: usize> MultiPath<N> {
    /// A group at its start. Paths handed over by another mechanism become splits that meet
    /// nowhere.
    #[must_use]
    pub fn new(start: &Start<N>, knobs: Knobs) -> Self {
        let mut this = Self {
            splits: Vec::new(),
            rows: Vec::new(),
            ids: Ids::default(),
            order: knobs.order.unwrap_or(Order::Taken),
            slice: knobs.slice,
            ran: 0,
            charges: Charges::default(),
        };
        for &(pc, lanes) in &start.paths {
            this.add(this.splits.len(), pc, lanes, (None, None), 1);
        }
        for split in &mut this.splits {
            split.parked = split.lanes & start.parked;
        }
        this.charges = Charges { max_depth: this.depth().into(), ..Charges::default() };
        this
    }

    /// Entries of both tables.
    fn depth(&self) -> u32 {
        count(self.splits.len() + self.rows.iter().flatten().count())
    }

    /// Lanes that have not exited.
    fn lanes(&self) -> LaneMask<N> {
        let rows = self.rows.iter().flatten().map(|row| row.lanes);
        self.splits.iter().map(|split| split.lanes).chain(rows).fold(LaneMask::EMPTY, |a, b| a | b)
    }

    /// A new split at a position of the turns.
    fn add(
        &mut self,
        position: usize,
        pc: Pc,
        lanes: LaneMask<N>,
        (rejoin, row): (Option<Pc>, Option<usize>),
        depth: u32,
    ) {
        let id = self.ids.take();
        let parked = LaneMask::EMPTY;
        let split = Split { id, pc, rejoin, row, lanes, parked, parked_at: pc, depth };
        self.splits.insert(position, split);
        self.charges.pushes += 1;
    }

    fn remove(&mut self, position: usize) -> Split<N> {
        let split = self.splits.remove(position);
        self.ids.give_back(split.id);
        self.charges.pops += 1;
        split
    }

    fn add_row(&mut self, row: Row<N>) -> usize {
        self.charges.pushes += 1;
        match self.rows.iter().position(Option::is_none) {
            Some(free) => {
                self.rows[free] = Some(row);
                free
            }
            None => {
                self.rows.push(Some(row));
                self.rows.len() - 1
            }
        }
    }

    /// Rows around, the innermost first.
    fn chain(&self, from: Option<usize>) -> Vec<usize> {
        let outer = |&r: &usize| self.rows.get(r).copied().flatten().and_then(|row| row.outer);
        std::iter::successors(from, outer).collect()
    }

    /// A split may be without lanes or at its rejoin place: then its row is told.
    fn settle(&mut self, position: usize) {
        let Some(split) = self.splits.get(position).copied() else { return };
        let arrived = split.row.is_some() && split.rejoin == Some(split.pc);
        if split.lanes.is_empty() {
            self.remove(position);
        } else if arrived && split.parked.is_empty() {
            self.remove(position);
            if let Some(row) = split.row {
                self.leave(row, split.lanes);
                self.resume(row, position);
            }
        }
    }

    /// Lanes are no longer pending in a row.
    fn leave(&mut self, row: usize, lanes: LaneMask<N>) {
        if let Some(Some(row)) = self.rows.get_mut(row) {
            row.pending -= lanes;
        }
    }

    /// A row that has no pending lanes becomes a split.
    fn resume(&mut self, index: usize, position: usize) {
        let Some(row) = self.rows.get(index).copied().flatten() else { return };
        if row.pending.any() {
            return;
        }
        self.rows[index] = None;
        while self.rows.last().is_some_and(Option::is_none) {
            self.rows.pop();
        }
        self.charges.pops += 1;
        if row.lanes.any() {
            self.charges.merges += 1;
            let position = position.min(self.splits.len());
            self.add(position, row.pc, row.lanes, (row.rejoin, row.outer), row.depth);
            self.settle(position);
        }
    }

    fn branch(&mut self, plan: &Plan, position: usize, at: Pc, targets: Targets<'_, N>) {
        match *targets {
            [] => {}
            [(pc, _)] => {
                self.splits[position].pc = pc;
                self.settle(position);
            }
            _ => self.part(plan.rejoin(at), position, at, targets),
        }
    }

    fn part(&mut self, rejoin: Rejoin, position: usize, at: Pc, targets: Targets<'_, N>) {
        let split = self.remove(position);
        self.charges.splits += 1;
        let (home, depth) = match rejoin {
            Rejoin::At(pc) if split.rejoin != Some(pc) || split.row.is_none() => {
                let row = Row {
                    pc,
                    rejoin: split.rejoin,
                    outer: split.row,
                    lanes: split.lanes,
                    pending: split.lanes,
                    depth: split.depth,
                    calls: false,
                };
                ((Some(pc), Some(self.add_row(row))), split.depth + 1)
            }
            _ => ((split.rejoin, split.row), split.depth),
        };
        self.scatter(position, at, targets, home, depth);
    }

    /// Targets become splits; those at their rejoin place arrive.
    fn scatter(
        &mut self,
        position: usize,
        at: Pc,
        targets: Targets<'_, N>,
        home: (Option<Pc>, Option<usize>),
        depth: u32,
    ) {
        let mut sorted = targets.to_vec();
        self.order.sort(at, &mut sorted);
        for &(pc, lanes) in sorted.iter().rev() {
            match home.1.filter(|_| home.0 == Some(pc)) {
                Some(row) => self.leave(row, lanes),
                None => self.add(position, pc, lanes, home, depth),
            }
        }
    }

    fn call(&mut self, position: usize, at: Pc, targets: Targets<'_, N>, return_to: Pc) {
        let split = self.remove(position);
        self.charges.splits += u64::from(targets.len() > 1);
        let row = self.add_row(Row {
            pc: return_to,
            rejoin: split.rejoin,
            outer: split.row,
            lanes: split.lanes,
            pending: split.lanes,
            depth: split.depth,
            calls: true,
        });
        let depth = split.depth + u32::from(targets.len() > 1);
        self.scatter(position, at, targets, (None, Some(row)), depth);
    }

    /// Lanes return: to the call row around them, if it is theirs.
    fn finish(
        &mut self,
        position: usize,
        at: Pc,
        targets: Targets<'_, N>,
        rest: Option<(Pc, LaneMask<N>)>,
    ) {
        let returning = targets.iter().fold(LaneMask::EMPTY, |all, t| all | t.1);
        let split = self.splits[position];
        let chain = self.chain(split.row);
        let row = |r: &usize| self.rows.get(*r).copied().flatten();
        let caller = chain.iter().position(|r| row(r).is_some_and(|row| row.calls));
        let caller = caller.filter(|&c| {
            row(&chain[c]).is_some_and(|row| {
                returning.is_subset(&row.lanes) && targets.iter().all(|t| t.0 == row.pc)
            })
        });
        self.charges.splits += u64::from(rest.is_some() || targets.len() > 1);
        self.splits[position].lanes -= returning;
        if let Some((next, _)) = rest {
            self.splits[position].pc = next;
        }
        let inner = caller.unwrap_or(chain.len());
        self.forget(&chain[..inner], returning);
        let mut position = position;
        match caller {
            Some(c) => self.leave(chain[c], returning),
            None => {
                // Nobody waits for them there (paths handed over inside a function): they go their
                // own ways, and first.
                let before = self.splits.len();
                self.scatter(position, at, targets, (None, None), split.depth);
                position += self.splits.len() - before;
            }
        }
        self.settle_chain(position, &chain);
    }

    /// Lanes leave rows for good.
    fn forget(&mut self, rows: &[usize], lanes: LaneMask<N>) {
        for &r in rows {
            if let Some(Some(row)) = self.rows.get_mut(r) {
                row.lanes -= lanes;
                row.pending -= lanes;
            }
        }
    }

    /// A split and the rows around it, after lanes have left them. Rows that another one's end has
    /// ended are gone already.
    fn settle_chain(&mut self, position: usize, chain: &[usize]) {
        self.settle(position);
        for &row in chain {
            self.resume(row, position);
        }
    }

    /// Counts an issue of a split, and ends its turn when it is over.
    fn turn(&mut self, id: u32) {
        if self.slice == 0 {
            return;
        }
        let ready = |s: &Split<N>| s.parked.is_empty();
        let first = self.splits.iter().position(ready);
        let Some(first) = first.filter(|&f| self.splits[f].id == id) else {
            self.ran = 0;
            return;
        };
        self.ran += 1;
        if self.ran >= self.slice {
            self.ran = 0;
            let split = self.splits.remove(first);
            self.charges.switches += u64::from(self.splits.iter().any(ready));
            self.splits.push(split);
        }
    }
}

impl<const N: usize> Mechanism<N> for MultiPath<N> {
    fn runnable(&self, out: &mut Vec<Path<N>>) {
        out.clear();
        let ready = self.splits.iter().filter(|s| s.parked.is_empty());
        out.extend(ready.map(path));
    }

    fn preferred(&self) -> Option<Path<N>> {
        self.splits.iter().find(|s| s.parked.is_empty()).map(path)
    }

    fn event(&mut self, plan: &Plan, path: PathId, event: &Event<'_, N>) -> Result<(), Refusal> {
        let ready = |s: &Split<N>| s.id == path.0 && s.parked.is_empty();
        let position = self.splits.iter().position(ready);
        let position = position.ok_or(Refusal::UnknownPath { path: path.0 })?;
        match *event {
            Event::Advance { next } | Event::Sync { next, .. } => {
                self.splits[position].pc = next;
                self.settle(position);
            }
            Event::Branch { at, targets } => self.branch(plan, position, at, targets),
            Event::Call { at, targets, return_to } => self.call(position, at, targets, return_to),
            Event::Return { at, targets, rest } => self.finish(position, at, targets, rest),
            Event::Exit { lanes, next, .. } => {
                let split = &mut self.splits[position];
                let lanes = lanes & split.lanes;
                split.lanes -= lanes;
                split.pc = next;
                let chain = self.chain(self.splits[position].row);
                self.forget(&chain, lanes);
                self.settle_chain(position, &chain);
            }
            Event::Park { at, lanes, next } => {
                let split = &mut self.splits[position];
                split.parked = lanes & split.lanes;
                (split.parked_at, split.pc) = (at, next);
                self.settle(position);
            }
        }
        self.charges.max_depth = self.charges.max_depth.max(self.depth().into());
        self.turn(path.0);
        Ok(())
    }

    fn release(&mut self, _: &Plan, lanes: LaneMask<N>, next: Pc) {
        let freed = |s: &Split<N>| (s.parked & lanes).any();
        let ids: Vec<u32> = self.splits.iter().filter(|s| freed(s)).map(|s| s.id).collect();
        for id in ids {
            let Some(position) = self.splits.iter().position(|s| s.id == id) else { continue };
            let split = &mut self.splits[position];
            split.parked -= lanes;
            split.pc = next;
            self.settle(position);
        }
    }

    fn paths(&self, out: &mut Vec<Path<N>>) {
        out.clear();
        for s in &self.splits {
            let both = [(s.pc, s.lanes - s.parked), (s.parked_at, s.parked)];
            let at = |(pc, lanes)| Path { pc, lanes, ..path(s) };
            out.extend(both.map(at).into_iter().filter(|p| p.lanes.any()));
        }
        let names = count(LaneMask::<N>::CAPACITY);
        for (i, row) in self.rows.iter().enumerate() {
            let Some(row) = row else { continue };
            let lanes = row.lanes - row.pending;
            if lanes.any() {
                let id = PathId(names.saturating_add(count(i)));
                out.push(Path { id, pc: row.pc, lanes, depth: row.depth + 1 });
            }
        }
    }

    fn rows(&self, out: &mut Vec<MechanismRow<N>>) {
        let rows = self.rows.iter().flatten().map(|row| MechanismRow {
            what: "reconvergence".to_owned(),
            pc: Some(row.pc),
            rejoin: Some(row.pc),
            lanes: row.lanes,
        });
        let splits = self.splits.iter().rev().map(|split| MechanismRow {
            what: "split".to_owned(),
            pc: Some(split.pc),
            rejoin: split.rejoin,
            lanes: split.lanes,
        });
        out.extend(rows.chain(splits));
    }

    fn charges(&self) -> Charges {
        self.charges
    }

    fn image(&self, out: &mut Vec<u64>) {
        // Where one lane is left, `ran` decides nothing: there is one split from here on, which
        // comes after itself when its turn is over, and `ran` is 0 again; nothing else reads it.
        let ran = if self.lanes().count() > 1 { self.ran } else { 0 };
        out.extend([self.splits.len() as u64, ran]);
        let option = |pc: Option<Pc>| pc.map_or(u64::MAX, |pc| pc.0);
        let index = |row: Option<usize>| row.map_or(u64::MAX, |r| r as u64);
        for s in &self.splits {
            image(out, s.pc, &s.lanes);
            image(out, s.parked_at, &s.parked);
            out.extend([option(s.rejoin), index(s.row), u64::from(s.depth)]);
        }
        for (i, row) in self.rows.iter().enumerate() {
            let Some(row) = row else { continue };
            image(out, row.pc, &row.lanes);
            out.extend(row.pending.words());
            out.extend([option(row.rejoin), index(row.outer), i as u64]);
            out.push(u64::from(row.depth) << 1 | u64::from(row.calls));
        }
    }

    fn boxed_clone(&self) -> Box<dyn Mechanism<N>> {
        Box::new(self.clone())
    }
}

fn path<const N: usize>(split: &Split<N>) -> Path<N> {
    Path { id: PathId(split.id), pc: split.pc, lanes: split.lanes, depth: split.depth }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planner::{FunctionFlow, plan};
    use flow::Cfg;
    use simt::WarpMask;

    fn diamond() -> Plan {
        let cfg = Cfg::new(0, &[vec![1, 2], vec![3], vec![3], vec![]]).unwrap();
        let places: Vec<_> = (0..4).map(|i| i..i + 1).collect();
        plan(&[FunctionFlow { cfg: &cfg, places: &places, notes: &[], written: 0 }]).unwrap()
    }

    fn parted(knobs: Knobs) -> MultiPath<1> {
        let mut m = MultiPath::new(&Start::at(Pc(0), WarpMask::first(4), 4), knobs);
        let to = [(Pc(1), WarpMask::from_bits(3)), (Pc(2), WarpMask::from_bits(12))];
        m.event(&diamond(), m.preferred().unwrap().id, &Event::Branch { at: Pc(0), targets: &to })
            .unwrap();
        m
    }

    #[test]
    fn both_sides_can_run_and_meet() {
        let plan = diamond();
        let mut m = parted(Knobs::default());
        let mut all = Vec::new();
        m.runnable(&mut all);
        assert_eq!(all.iter().map(|p| p.pc.0).collect::<Vec<_>>(), [2, 1]);
        for side in [1, 0] {
            let to = [(Pc(3), all[side].lanes)];
            m.event(&plan, all[side].id, &Event::Branch { at: all[side].pc, targets: &to })
                .unwrap();
        }
        assert_eq!(m.preferred().map(|p| (p.pc.0, p.lanes.bits())), Some((3, 15)));
        assert_eq!(m.charges().merges, 1);
        assert_eq!(m.depth(), 1);
    }

    #[test]
    fn turns_alternate() {
        let plan = diamond();
        let mut m = parted(Knobs { slice: 1, ..Knobs::default() });
        let mut seen = Vec::new();
        for _ in 0..4 {
            let p = m.preferred().unwrap();
            seen.push(p.lanes.bits());
            m.event(&plan, p.id, &Event::Advance { next: p.pc }).unwrap();
        }
        assert_eq!(seen, [12, 3, 12, 3]);
    }

    #[test]
    fn a_side_that_waits_does_not_hold_up_the_other() {
        let plan = diamond();
        let mut m = parted(Knobs::default());
        let p = m.preferred().unwrap();
        m.event(&plan, p.id, &Event::Park { at: p.pc, lanes: p.lanes, next: Pc(3) }).unwrap();
        assert_eq!(m.preferred().map(|p| p.lanes.bits()), Some(3));
        m.release(&plan, p.lanes, Pc(3));
        assert_eq!(m.preferred().map(|p| p.lanes.bits()), Some(3));
    }
}
