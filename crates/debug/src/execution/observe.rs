//! Runs that tell what happens.

use std::sync::atomic::Ordering;

use simt::LaneMask;
use simt::inspect::{FramePlace, GroupView, Inspect, InspectError, RegisterOwner};
use simt::machine::Step;
use simt::observe::{AnyObserver, GroupId};

use super::{Execution, POLL, widened};
use crate::target::{
    AccessWatch, Before, Changed, Event, Issued, Judge, Lanes, Look as _, Memory, RegisterWatch,
    Stopped, Stops, Used,
};
use crate::watcher::Watcher;

/// What an issue does with a watched register.
#[derive(Default)]
struct NextUse {
    /// The index of the watch.
    watch: usize,
    /// Lanes that read it if they are on.
    reads: Lanes,
    /// Lanes that write it if they are on.
    writes: Lanes,
    /// Whether those that are off write it, too.
    unmasked: bool,
}

impl<M: Inspect<N>, const N: usize> Execution<'_, M, N> {
    pub(super) fn watched(&self, watch: &RegisterWatch) -> Option<u128> {
        let frame = if self.about.abilities.one_file {
            0
        } else {
            let frames = self.machine.frames(self.program, &self.state, watch.at).len() as u32;
            frames.checked_sub(watch.at.frame + 1)?
        };
        let at = FramePlace { frame, ..watch.at };
        self.machine.register(self.program, &self.state, at, watch.index).ok()
    }

    /// Whether a watch whose uses are told is of the lane's running frame.
    pub(super) fn runs(&self, watch: &RegisterWatch) -> bool {
        let at = FramePlace { frame: 0, ..watch.at };
        let depth = || self.machine.frames(self.program, &self.state, at).len() as u32;
        watch.uses() && (self.about.abilities.one_file || depth() == watch.at.frame + 1)
    }

    /// What the next issue would do with the watched registers whose frames run: whether it reads
    /// and writes them, for a lane that is on.
    fn next_uses(&mut self, watches: &[RegisterWatch]) -> Vec<NextUse> {
        let running: Vec<bool> = watches.iter().map(|watch| self.runs(watch)).collect();
        if !running.contains(&true) {
            return Vec::new();
        }
        let Ok(next) = self.machine.upcoming(self.program, &mut self.state) else {
            return Vec::new();
        };
        let mut out = Vec::new();
        for (index, watch) in watches.iter().enumerate().filter(|(index, _)| running[*index]) {
            let (of, group) = (watch.at.group, next.group);
            let own = (of.cta, of.group) == (group.cta, group.group);
            let lanes = match watch.owner {
                RegisterOwner::Lane if own => LaneMask::lane(watch.at.lane as usize),
                RegisterOwner::Group if own => next.lanes,
                RegisterOwner::Machine => next.lanes,
                _ => LaneMask::EMPTY,
            };
            let mut used = NextUse { watch: index, ..NextUse::default() };
            for lane in lanes {
                let place = (next.pc, lane as u32);
                let effects = self.machine.effects(self.program, &self.state, place);
                let Some(effects) = effects else { break };
                used.unmasked |= effects.unmasked;
                if watch.reads && effects.reads.contains(&watch.index) {
                    used.reads.insert(lane);
                }
                let moved = effects.moves.iter().any(|&(to, _)| to == watch.index);
                used.unmasked |= moved;
                if watch.writes && (moved || effects.writes.contains(&watch.index)) {
                    used.writes.insert(lane);
                }
            }
            out.push(used);
        }
        out
    }

    /// The uses of watched registers in an issue.
    fn uses(&self, issued: &Issued, watches: &[RegisterWatch], next: &[NextUse]) -> Vec<Used> {
        let used = |next: &NextUse| {
            let written = if next.unmasked { issued.on | issued.active } else { issued.on };
            let (read, written) = ((next.reads & issued.on).any(), (next.writes & written).any());
            let value = || self.watched(&watches[next.watch]);
            let used = read || written;
            used.then(|| Used { watch: next.watch, read, written, value: value() })
        };
        next.iter().filter_map(used).collect()
    }

    /// The contents of a watched range, if they are told.
    pub(super) fn contents(&self, watch: &AccessWatch) -> Vec<u8> {
        let Some(at) = watch.at else { return Vec::new() };
        let mut bytes = vec![0; (watch.range.end - watch.range.start) as usize];
        match self.read(Memory { space: watch.space, at }, watch.range.start, &mut bytes) {
            Ok(()) => bytes,
            // Shared memory of a block that is not resident.
            Err(_) => Vec::new(),
        }
    }

    pub(super) fn view(&self, group: GroupId) -> Option<GroupView<N>> {
        let mut groups = self.machine.groups(self.program, &self.state).into_iter();
        groups.find(|g| (g.id.cta, g.id.group) == (group.cta, group.group))
    }

    pub(super) fn space(&self, memory: Memory) -> Result<(), InspectError> {
        match self.machine.block(&self.state, memory.space, memory.at) {
            Some(_) => Ok(()),
            None => Err(InspectError::NoMemory(memory.space)),
        }
    }

    /// Runs and tells of issues before and after.
    pub(super) fn observe(
        &mut self,
        until: u64,
        stops: &Stops,
        skip: bool,
        judge: Judge<'_>,
    ) -> Stopped {
        let mut watcher = Watcher::new(stops);
        let mut values: Vec<Option<u128>> =
            stops.registers.iter().map(|watch| self.watched(watch)).collect();
        let mut contents: Vec<Vec<u8>> =
            stops.accesses.iter().map(|watch| self.contents(watch)).collect();
        let (mut due, mut skip, observes) = (self.due(), skip, stops.observes());
        let masks = self.about.abilities.masks && (stops.merges || stops.splits);
        self.upcoming = None;
        loop {
            if self.at >= until {
                self.look_ahead();
                return if self.end.is_some() { Stopped::Ended } else { Stopped::Reached };
            }
            if self.at.is_multiple_of(POLL) && self.interrupt.load(Ordering::Relaxed) {
                self.look_ahead();
                return Stopped::Interrupted;
            }
            if self.at >= due {
                self.mark_here();
                due = self.due();
            }
            if !stops.searches.is_empty() && !self.search_on(&stops.searches) {
                self.look_ahead();
                return Stopped::Interrupted;
            }
            let told = !std::mem::take(&mut skip) && !matches!(stops.before, Before::None);
            let mut before = None;
            if told || stops.merges || masks {
                let next = match self.machine.upcoming(self.program, &mut self.state) {
                    Ok(next) => next,
                    Err(step) => return self.stop_at_end(&step),
                };
                let wanted = match &stops.before {
                    Before::None => false,
                    Before::Every => true,
                    Before::At(places) => places.binary_search(&next.pc).is_ok(),
                };
                if told && wanted {
                    self.upcoming = Some(widened(&next));
                    if let Some(next) = self.upcoming
                        && judge(&*self, Event::Before(&next))
                    {
                        return Stopped::Judged;
                    }
                    self.upcoming = None;
                }
                if stops.merges || masks {
                    before = self.view(next.group);
                }
            }
            let next_uses = self.next_uses(&stops.registers);
            let step = if observes {
                watcher.clear();
                let observer = &mut AnyObserver::new(&mut watcher);
                self.machine.run_observed(self.program, &mut self.state, observer, 1)
            } else {
                self.machine.run_unobserved(self.program, &mut self.state, 1)
            };
            if !matches!(step, Step::Issued) {
                return self.stop_at_end(&step);
            }
            self.at += 1;
            if !observes {
                continue;
            }
            for accessed in &mut watcher.issued.accesses {
                let new = self.contents(&stops.accesses[accessed.watch]);
                accessed.new.clone_from(&new);
                accessed.old = std::mem::replace(&mut contents[accessed.watch], new);
            }
            if !stops.registers.is_empty() {
                // What a kernel's end gives to registers is seen before the next issue.
                let _ = self.machine.upcoming(self.program, &mut self.state);
            }
            for (index, (watch, value)) in stops.registers.iter().zip(&mut values).enumerate() {
                // Threads of other blocks reach no register.
                if watch.at.group.cta != watcher.issued.group.cta {
                    continue;
                }
                let new = if watch.uses() { *value } else { self.watched(watch) };
                if new != *value {
                    let old = std::mem::replace(value, new);
                    watcher.issued.changes.push(Changed { watch: index, old, new });
                    watcher.told = true;
                }
            }
            watcher.issued.uses = self.uses(&watcher.issued, &stops.registers, &next_uses);
            watcher.told |= !watcher.issued.uses.is_empty();
            if let Some(before) = before
                && let Some(after) = self.view(watcher.issued.group)
            {
                watcher.compare(&before, &after, masks);
            }
            for search in &stops.searches {
                if let Some(found) = self.found(search) {
                    watcher.issued.found.push((search.clone(), found));
                    watcher.told = true;
                }
            }
            if (watcher.told || stops.issued) && self.judged(&watcher.issued, judge) {
                return Stopped::Judged;
            }
        }
    }

    pub(super) fn judged(&mut self, issued: &Issued, judge: Judge<'_>) -> bool {
        self.timeline.reach(self.at);
        let stop = judge(&*self, Event::Issued(issued));
        if stop {
            self.look_ahead();
        }
        stop
    }
}
