//! The observer of runs that are watched.

use simt::LaneMask;
use simt::inspect::{GroupView, PathView};
use simt::memory::{AccessKind, Space};
use simt::observe::{Access, Branch, Events, Issue, Observer, Sync};
use simt::slots::Domain;

use crate::target::{AccessWatch, Accessed, Issued, Lanes, Merge, Stops};

/// Collects what was asked for of one issue.
pub(crate) struct Watcher<'s> {
    stops: &'s Stops,
    pub(crate) issued: Issued,
    /// Whether there is anything to tell beside the issue itself.
    pub(crate) told: bool,
}

impl<'s> Watcher<'s> {
    pub(crate) fn new(stops: &'s Stops) -> Self {
        Self { stops, issued: Issued::default(), told: false }
    }

    /// Forgets the last issue.
    pub(crate) fn clear(&mut self) {
        let issued = &mut self.issued;
        issued.accesses.clear();
        issued.changes.clear();
        issued.uses.clear();
        issued.split.clear();
        issued.merges.clear();
        issued.syncs.clear();
        issued.found.clear();
        self.told = false;
    }

    /// Notes paths that have merged, and, on machines with a mask of lanes, lanes that it has
    /// turned off beside others, or on again.
    pub(crate) fn compare<const N: usize>(
        &mut self,
        before: &GroupView<N>,
        after: &GroupView<N>,
        masks: bool,
    ) {
        let issued = &mut self.issued;
        if self.stops.merges {
            issued.merges = merges(&before.paths, &after.paths);
        }
        let pc = after.next.map_or(issued.pc, |path| path.pc);
        let kept = before.enabled & after.enabled;
        let off = (before.enabled - after.enabled) & after.launched;
        let back = (after.enabled - before.enabled) & before.launched;
        if masks && self.stops.splits && kept.any() && off.any() {
            issued.split = vec![(pc, kept.resized()), (pc, off.resized())];
        }
        if masks && self.stops.merges && kept.any() && back.any() {
            let parts = vec![kept.resized(), back.resized()];
            issued.merges.push(Merge { pc, lanes: after.enabled.resized(), parts });
        }
        self.told |= !issued.merges.is_empty() || !issued.split.is_empty();
    }
}

/// Paths after an issue that hold lanes of several paths before it.
fn merges<const N: usize>(before: &[PathView<N>], after: &[PathView<N>]) -> Vec<Merge> {
    let merge = |path: &PathView<N>| {
        let parts = before.iter().map(|part| part.lanes & path.lanes).filter(LaneMask::any);
        let parts: Vec<Lanes> = parts.map(|part| part.resized()).collect();
        (parts.len() > 1).then(|| Merge { pc: path.pc, lanes: path.lanes.resized(), parts })
    };
    after.iter().filter_map(merge).collect()
}

fn touches(watch: &AccessWatch, access: &Access<'_>) -> bool {
    let space = match access.space {
        Space::Const => Space::Global,
        space => space,
    };
    let wanted = match access.kind {
        AccessKind::Load => watch.reads,
        AccessKind::Atomic => watch.reads || watch.writes,
        _ => watch.writes,
    };
    wanted && watch.space == space && watch.cta.is_none_or(|cta| cta == access.group.cta)
}

impl<const N: usize> Observer<N> for Watcher<'_> {
    const EVENTS: Events = Events::ISSUE.and(Events::BRANCH).and(Events::ACCESS).and(Events::SYNC);

    fn issue(&mut self, issue: &Issue<'_, N>) {
        (self.issued.group, self.issued.pc) = (issue.group, issue.pc);
        // A scalar instruction is executed once, whatever lanes its group has.
        let once = issue.domain == Domain::Uniform;
        let of = |lanes: LaneMask<N>| -> Lanes {
            if once { LaneMask::first(1) } else { lanes.resized() }
        };
        self.issued.active = of(issue.lanes.active);
        self.issued.on = of(issue.lanes.on);
    }

    fn branch(&mut self, branch: &Branch<'_, N>) {
        if self.stops.splits && branch.targets.len() > 1 {
            let targets = branch.targets.iter().map(|(pc, lanes)| (*pc, lanes.resized()));
            self.issued.split.extend(targets);
            self.told = true;
        }
    }

    fn access(&mut self, access: &Access<'_>) {
        for (index, watch) in self.stops.accesses.iter().enumerate() {
            if !touches(watch, access) {
                continue;
            }
            let inside = |&&(_, address): &&(u16, u64)| {
                address < watch.range.end
                    && address.saturating_add(access.size.into()) > watch.range.start
            };
            let lanes: Vec<(u16, u64)> = access.lanes.iter().filter(inside).copied().collect();
            if !lanes.is_empty() {
                let (kind, size) = (access.kind, access.size);
                let (old, new) = Default::default();
                let accessed = Accessed { watch: index, kind, lanes, size, old, new };
                self.issued.accesses.push(accessed);
                self.told = true;
            }
        }
    }

    fn sync(&mut self, sync: &Sync<'_, N>) {
        if self.stops.syncs {
            let lanes = sync.lanes.resized();
            self.issued.syncs.push((sync.kind, sync.barrier, sync.group, lanes));
            self.told = true;
        }
    }
}
