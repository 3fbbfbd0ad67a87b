//! Barriers of the block and collectives of the warp that not all threads reach.
//!
//! Threads that wait at a collective go on when the last lane that the member mask names has come
//! or has ended. Of those that have ended, lanes are absent if the last instruction that they have
//! executed, branches aside, is one that the waiting lanes have not executed: a kernel whose
//! threads beyond the end of the data return early is right. Threads of a warp that miss a barrier
//! of the block are found in the same way when it completes, if they have executed anything since
//! it completed before. Both hold under every mechanism, whatever lanes it runs together.

use crate::probe::{Place, Role, WORDS};
use findings::{Finding, Kind};
use rustc_hash::FxHashMap;
use simt::LaneMask;
use simt::observe::{GroupId, Issue, Sync, SyncKind};

use crate::checker::{Launch, WARP};

/// Most instructions of a program of which it is known who has executed them. Threads are taken to
/// have executed the rest.
const MOST_CODE: u64 = 1 << 14;

/// What a thread has executed, branches aside.
#[derive(Clone, Debug, Default)]
struct Work {
    /// The number of its last instruction among the issues, and its place.
    issue: u64,
    pc: u64,
    /// A bit for each instruction that it has executed.
    executed: Vec<u64>,
}

impl Work {
    fn add(&mut self, issue: u64, pc: u64) {
        (self.issue, self.pc) = (issue, pc);
        if pc >= MOST_CODE {
            return;
        }
        let word = pc as usize / 64;
        if self.executed.len() <= word {
            self.executed.resize(word + 1, 0);
        }
        self.executed[word] |= 1 << (pc % 64);
    }

    fn has_executed(&self, pc: u64) -> bool {
        let word = self.executed.get(pc as usize / 64);
        pc >= MOST_CODE || word.is_some_and(|word| word >> (pc % 64) & 1 != 0)
    }
}

#[derive(Clone, Debug, Default)]
struct Block {
    /// By thread.
    work: Vec<Work>,
    /// Threads at a collective.
    collective: FxHashMap<u32, Waiting>,
    barriers: FxHashMap<u32, Barrier>,
}

/// A collective at which a thread waits: its place, and the member mask that the thread gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Waiting {
    pc: u64,
    members: u32,
}

/// A barrier of a block.
#[derive(Clone, Debug, Default)]
struct Barrier {
    /// Threads that have arrived since it completed last, with their places.
    arrived: FxHashMap<u32, u64>,
    /// When it completed last.
    completed: u64,
}

/// Finds barriers and collectives that not all threads reach.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rendezvous {
    issues: u64,
    blocks: FxHashMap<u64, Block>,
    found: FxHashMap<(Kind, u64), Finding>,
}

/// Lanes of a warp that wait at an instruction, and the others that may be absent.
struct Meeting {
    kind: Kind,
    pc: u64,
    cta: u64,
    warp: u32,
    /// When lanes that miss it have executed something.
    since: u64,
    present: u32,
    /// Lanes that should be present: those of a member mask; all, at a barrier.
    members: u32,
}

/// The lanes of a warp that have the same as others.
fn lanes_at<T: Copy + PartialEq>(threads: &FxHashMap<u32, T>, warp: u32, pc: T) -> u32 {
    let here = threads.iter().filter(|(thread, at)| *thread / WARP == warp && **at == pc);
    here.fold(0, |set, (thread, _)| set | 1 << (thread % WARP))
}

fn thread(group: GroupId, lane: usize) -> u32 {
    group.first_thread.saturating_add(u32::try_from(lane).unwrap_or(u32::MAX))
}

impl Block {
    fn work(&mut self, thread: u32) -> &mut Work {
        let index = thread as usize;
        if self.work.len() <= index {
            self.work.resize(index + 1, Work::default());
        }
        &mut self.work[index]
    }

    /// The lanes of a meeting that are not present, have executed something since its beginning,
    /// and went where those that are were not; with the place of the first.
    fn absent(&self, meeting: &Meeting) -> (u32, Option<u64>) {
        let Meeting { warp, since, present, members, .. } = *meeting;
        let wanted = members & !present;
        let of = |lane: u32| self.work.get((warp * WARP + lane) as usize);
        let Some(known) = of(present.trailing_zeros() % WARP) else { return (0, None) };
        let mut first = None;
        let lanes = (0..WARP).filter(|lane| wanted >> lane & 1 != 0).filter(|&lane| {
            let elsewhere = |work: &&Work| work.issue > since && !known.has_executed(work.pc);
            let work = of(lane).filter(elsewhere);
            first = first.or(work.map(|work| work.pc));
            work.is_some()
        });
        (lanes.fold(0, |set, lane| set | 1 << lane), first)
    }
}

impl Rendezvous {
    pub(crate) fn issue(&mut self, launch: &Launch, issue: &Issue<'_, WORDS>) {
        self.issues += 1;
        let (group, pc, now) = (issue.group, issue.pc.0, self.issues);
        if launch.place(pc).is_some_and(|place| place.role == Role::Control) {
            return;
        }
        let block = self.blocks.entry(group.cta).or_default();
        for lane in issue.lanes.on {
            block.work(thread(group, lane)).add(now, pc);
        }
    }

    /// Lanes of a warp go on from a collective: those that its mask names as well and that have not
    /// come have ended.
    fn complete(&mut self, launch: &Launch, sync: &Sync<'_, WORDS>) {
        let Some(lane) = sync.lanes.iter().next() else { return };
        let (cta, warp) = (sync.group.cta, thread(sync.group, lane) / WARP);
        let (pc, members) = (sync.pc.0, sync.members);
        let Some(block) = self.blocks.get_mut(&cta) else { return };
        let orders = |pc: u64| launch.place(pc).is_some_and(|place| place.orders_warp);
        let mut present = 0;
        block.collective.retain(|thread, waiting| {
            let meets = waiting.pc == pc || orders(waiting.pc) && orders(pc);
            let here = thread / WARP == warp && waiting.members == members && meets;
            present |= if here { 1 << (thread % WARP) } else { 0 };
            !here
        });
        if present != 0 && members & !present != 0 {
            let kind = Kind::AbsentLanes;
            self.report(launch, &Meeting { kind, pc, cta, warp, since: 0, present, members });
        }
    }

    pub(crate) fn sync(&mut self, launch: &Launch, sync: &Sync<'_, WORDS>) {
        let (group, pc, now) = (sync.group, sync.pc.0, self.issues);
        match sync.kind {
            SyncKind::CollectiveArrive => {
                let block = self.blocks.entry(group.cta).or_default();
                let waiting = Waiting { pc, members: sync.members };
                for lane in sync.lanes {
                    block.collective.insert(thread(group, lane), waiting);
                }
            }
            SyncKind::CollectiveComplete => self.complete(launch, sync),
            SyncKind::BarrierArrive => {
                let block = self.blocks.entry(group.cta).or_default();
                let barrier = block.barriers.entry(sync.barrier).or_default();
                for lane in sync.lanes {
                    barrier.arrived.insert(thread(group, lane), pc);
                }
            }
            SyncKind::BarrierRelease => {
                let Some(block) = self.blocks.get_mut(&group.cta) else { return };
                let barrier = block.barriers.entry(sync.barrier).or_default();
                // A release has an event for each group, the first of which ends the phase.
                let arrived = std::mem::take(&mut barrier.arrived);
                let since = std::mem::replace(&mut barrier.completed, now);
                self.barrier(launch, (group.cta, since), &arrived);
            }
            SyncKind::Collective
            | SyncKind::Fence(..)
            | SyncKind::ProxyFence { .. }
            | SyncKind::ClusterArrive
            | SyncKind::ClusterRelease => {}
        }
    }

    /// Looks at the threads that have arrived at a barrier, warp by warp.
    fn barrier(
        &mut self,
        launch: &Launch,
        (cta, since): (u64, u64),
        arrived: &FxHashMap<u32, u64>,
    ) {
        let aligned = |place: &Place| place.role == Role::AlignedBarrier;
        let mut warps: FxHashMap<u32, Meeting> = FxHashMap::default();
        for (&thread, &pc) in
            arrived.iter().filter(|(_, pc)| launch.place(**pc).is_some_and(aligned))
        {
            let (kind, warp) = (Kind::DivergentBarrier, thread / WARP);
            let members = u32::MAX;
            let meeting = Meeting { kind, pc, cta, warp, since, present: 0, members };
            let meeting = warps.entry(warp).or_insert(meeting);
            meeting.present |= 1 << (thread % WARP);
            meeting.pc = meeting.pc.min(pc);
        }
        for meeting in warps.values() {
            self.report(launch, meeting);
        }
        // Lanes of a warp at two barriers of the block, which meet.
        for (thread, &at) in arrived {
            let Some(meeting) = warps.get(&(thread / WARP)).filter(|m| m.pc != at) else {
                continue;
            };
            let here = |pc: u64| lanes_at(arrived, meeting.warp, pc);
            let (present, others) = (here(meeting.pc), here(at));
            let meeting = Meeting { present, ..*meeting };
            self.add(launch, &meeting, others, Some(at), "are at another barrier");
        }
    }

    /// Reports a meeting if lanes of the warp are absent from it.
    fn report(&mut self, launch: &Launch, meeting: &Meeting) {
        let Some(block) = self.blocks.get(&meeting.cta) else { return };
        let (absent, at) = block.absent(meeting);
        if absent != 0 {
            self.add(launch, meeting, absent, at, "end without executing it");
        }
    }

    fn add(
        &mut self,
        launch: &Launch,
        meeting: &Meeting,
        absent: u32,
        at: Option<u64>,
        what: &str,
    ) {
        if let Some(known) = self.found.get_mut(&(meeting.kind, meeting.pc)) {
            known.count += 1;
            return;
        }
        let lanes = |set: u32| LaneMask::<1>::from_bits(u64::from(set));
        let location = launch.location(meeting.pc);
        let (at_place, members) = (location.describe(), meeting.members);
        let message = match meeting.kind {
            Kind::DivergentBarrier => {
                format!("not all lanes execute the barrier of the block at {at_place}")
            }
            _ => format!(
                "the mask {members:#010x} of the collective at {at_place} names lanes {}, which do \
                 not execute it",
                lanes(absent)
            ),
        };
        let mut found = launch.finding(meeting.kind, message, location);
        let (present, missing) = (lanes(meeting.present), lanes(absent));
        let first = meeting.present.trailing_zeros() % WARP;
        let mut site = launch.shape.site_of(meeting.cta, meeting.warp * WARP + first);
        site.lanes = present.iter().map(|lane| lane as u32).collect();
        let [x, y, z] = site.block;
        let bits = match meeting.kind {
            Kind::DivergentBarrier => String::new(),
            _ => format!(" (mask {:#010x})", meeting.present),
        };
        let warp = format!("block ({x},{y},{z}), warp {}", meeting.warp);
        found.causes =
            vec![format!("{warp}: lanes {present}{bits} execute it, lanes {missing} {what}")];
        found.related = at.map(|pc| (launch.location(pc), format!("lanes {missing} are here")));
        found.site = Some(site);
        self.found.insert((meeting.kind, meeting.pc), found);
    }

    /// Removes and returns what was found. In a deadlock, what still waits is found too.
    pub(crate) fn take(&mut self, launch: &Launch, deadlock: bool) -> Vec<Finding> {
        let blocks = std::mem::take(&mut self.blocks);
        if deadlock {
            for (&cta, block) in &blocks {
                self.stuck(launch, (cta, block), &block.collective, Kind::AbsentLanes);
                for Barrier { arrived, .. } in block.barriers.values() {
                    let waiting = |(&thread, &pc)| (thread, Waiting { pc, members: u32::MAX });
                    let arrived = arrived.iter().map(waiting).collect();
                    self.stuck(launch, (cta, block), &arrived, Kind::DivergentBarrier);
                }
            }
        }
        self.issues = 0;
        let mut found: Vec<Finding> = self.found.drain().map(|(_, finding)| finding).collect();
        found.sort_by_key(|finding| (finding.kind, finding.location.line));
        found
    }

    /// Reports lanes that wait in a deadlock for others of their warps.
    fn stuck(
        &mut self,
        launch: &Launch,
        (cta, block): (u64, &Block),
        waiting: &FxHashMap<u32, Waiting>,
        kind: Kind,
    ) {
        for (&thread, &at) in waiting {
            let Waiting { pc, members } = at;
            // Lanes may meet at another `bar.warp.sync`; barriers that are not aligned are for
            // single threads.
            let excluded = |place: &Place| place.orders_warp || place.role == Role::Plain;
            if self.found.contains_key(&(kind, pc)) || launch.place(pc).is_none_or(excluded) {
                continue;
            }
            let warp = thread / WARP;
            let present = lanes_at(waiting, warp, at);
            let threads = launch.shape.threads().saturating_sub(u64::from(warp * WARP));
            let launched = LaneMask::<1>::first(threads.min(u64::from(WARP)) as usize);
            let absent = launched.bits() as u32 & members & !present;
            if absent == 0 {
                continue;
            }
            let first = warp * WARP + absent.trailing_zeros();
            let at = block.work.get(first as usize).map(|work| work.pc);
            let meeting = Meeting { kind, pc, cta, warp, since: 0, present, members };
            self.add(launch, &meeting, absent, at, "wait elsewhere or have ended");
        }
    }

    /// Drops a block that has ended.
    pub(crate) fn forget(&mut self, cta: u64) {
        self.blocks.remove(&cta);
    }
}
