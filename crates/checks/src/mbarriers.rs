//! Waits for barriers in shared memory that never end, and bytes that never match.
//!
//! Of each barrier it is known who initialised it, and which threads have arrived in this phase
//! and in the one before. In a launch that hangs, each barrier for which threads wait is a finding:
//! of its bytes, of the number of its arrivals, or of the threads that would arrive and wait for
//! something else. A barrier that still expects bytes when its block ends is one, too, and so is
//! the initialisation of what is a barrier already.

use std::collections::BTreeMap;

use findings::{Finding, Kind};
use simt::mbarrier::Mbarrier;
use simt::observe::{MbarrierEvent, MbarrierEventKind};

use crate::checker::Launch;
use crate::race::Thread;

/// Most threads that are kept of those that arrive in a phase.
const MOST_ARRIVALS: usize = 64;

/// A barrier: the block that has it, and its offset.
type Key = (u64, u64);

#[derive(Clone, Copy, Debug)]
struct Arrival {
    thread: Thread,
    pc: u64,
}

#[derive(Clone, Debug, Default)]
struct Barrier {
    word: u64,
    /// Where it was initialised.
    init: u64,
    /// Phases that have completed.
    phase: u64,
    arrivals: Vec<Arrival>,
    /// Those of the phase before.
    before: Vec<Arrival>,
}

/// Finds waits that never end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mbarriers {
    barriers: BTreeMap<Key, Barrier>,
    /// What each thread has found not completed last.
    waiting: BTreeMap<Thread, (Key, u64)>,
    /// Initialisations of barriers, and of the same barriers before: how many, the first thread,
    /// and the offset.
    repeated: BTreeMap<[u64; 2], (u64, Thread, u64)>,
    found: BTreeMap<(Kind, u64), Finding>,
}

/// Says when a number is not one.
fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

impl Mbarriers {
    pub(crate) fn event(&mut self, event: &MbarrierEvent) {
        let index = event.group.first_thread + u32::from(event.lane);
        let thread = Thread { cta: event.group.cta, index };
        let key = (event.owner, event.offset);
        if event.kind == MbarrierEventKind::Init
            && let Some(known) = self.barriers.get(&key)
            && known.word == event.words[0]
        {
            let places = [event.pc.0, known.init];
            self.repeated.entry(places).or_insert((0, thread, key.1)).0 += 1;
        }
        let barrier = self.barriers.entry(key).or_default();
        let [before, after] = event.words.map(|word| Mbarrier::load(word).map(Mbarrier::phase));
        barrier.word = event.words[1];
        match event.kind {
            MbarrierEventKind::Init => {
                let word = event.words[1];
                *barrier = Barrier { word, init: event.pc.0, ..Barrier::default() };
                return;
            }
            MbarrierEventKind::Invalidate => {
                self.barriers.remove(&key);
                return;
            }
            MbarrierEventKind::Waits => {
                self.waiting.insert(thread, (key, event.pc.0));
                return;
            }
            MbarrierEventKind::Passes { .. } => {
                self.waiting.remove(&thread);
                return;
            }
            MbarrierEventKind::Change { arrivals, .. } => {
                self.waiting.remove(&thread);
                if arrivals > 0 && barrier.arrivals.len() < MOST_ARRIVALS {
                    barrier.arrivals.push(Arrival { thread, pc: event.pc.0 });
                }
            }
            // The thread goes on before its arrival comes.
            MbarrierEventKind::Arrive { .. } if barrier.arrivals.len() < MOST_ARRIVALS => {
                barrier.arrivals.push(Arrival { thread, pc: event.pc.0 });
            }
            MbarrierEventKind::Arrive { .. } | MbarrierEventKind::Complete { .. } => {}
        }
        if before != after {
            barrier.before = std::mem::take(&mut barrier.arrivals);
            barrier.phase += 1;
        }
    }

    /// Drops a block that has ended.
    pub(crate) fn forget(&mut self, launch: &Launch, cta: u64) {
        let ended: Vec<Key> =
            self.barriers.range((cta, 0)..=(cta, u64::MAX)).map(|b| *b.0).collect();
        for key in ended {
            let Some(barrier) = self.barriers.remove(&key) else { continue };
            let left = Mbarrier::load(barrier.word).map_or(0, Mbarrier::transactions);
            if left != 0 {
                let place = launch.location(barrier.init);
                let message = format!(
                    "the block ends while the barrier at {:#x} of its shared memory, initialised \
                     at {}, expects {left} bytes of transactions",
                    key.1,
                    place.describe()
                );
                let found = launch.finding(Kind::TransactionBytes, message, place);
                self.add(barrier.init, found);
            }
        }
        self.waiting.retain(|thread, _| thread.cta != cta);
    }

    fn add(&mut self, pc: u64, found: Finding) {
        let key = (found.kind, pc);
        match self.found.get_mut(&key) {
            Some(known) => known.count += 1,
            None => drop(self.found.insert(key, found)),
        }
    }

    /// Removes and returns what was found. In a launch that hangs, what waits is found too.
    pub(crate) fn take(&mut self, launch: &Launch, hung: bool) -> Vec<Finding> {
        if hung {
            let mut places: BTreeMap<(Key, u64), Thread> = BTreeMap::new();
            for (&thread, &(key, pc)) in &self.waiting {
                places.entry((key, pc)).or_insert(thread);
            }
            for ((key, pc), thread) in places {
                if let Some(found) = self.stuck(launch, (key, pc), thread) {
                    self.add(pc, found);
                }
            }
        }
        for ([pc, init], (count, thread, offset)) in std::mem::take(&mut self.repeated) {
            let found = again(launch, [pc, init], (thread, offset));
            self.add(pc, Finding { count, ..found });
        }
        self.barriers.clear();
        self.waiting.clear();
        std::mem::take(&mut self.found).into_values().collect()
    }

    /// The finding of a wait that does not end.
    fn stuck(&self, launch: &Launch, (key, pc): (Key, u64), thread: Thread) -> Option<Finding> {
        let barrier = self.barriers.get(&key)?;
        let object = Mbarrier::load(barrier.word).ok()?;
        let (expected, pending) = (object.expected(), object.pending());
        let (came, bytes) = (expected.saturating_sub(pending), object.transactions());
        let kind = match (pending, came) {
            (0, _) => Kind::TransactionBytes,
            (_, 0) => Kind::BarrierDeadlock,
            _ => Kind::ArrivalCount,
        };
        let site = launch.shape.site_of(thread.cta, thread.index);
        let place = launch.location(pc);
        let what = match kind {
            Kind::TransactionBytes if bytes < 0 => {
                format!("{} bytes more have come than it was told to expect", -bytes)
            }
            Kind::TransactionBytes => format!("{bytes} bytes that it expects have not come"),
            _ => format!(
                "it was armed with {expected} arrival{}, {came} came",
                plural(expected.into())
            ),
        };
        let message = format!(
            "{site} waits at {} for phase {} of the barrier at {:#x} of shared memory: {what}",
            place.describe(),
            barrier.phase,
            key.1
        );
        let mut found = launch.finding(kind, message, place);
        found.causes = self.causes(launch, barrier, bytes);
        found.related =
            Some((launch.location(barrier.init), "the barrier is initialised here".to_owned()));
        found.site = Some(site);
        Some(found)
    }

    /// Who has arrived, and for what those wait that arrived in the phase before.
    fn causes(&self, launch: &Launch, barrier: &Barrier, bytes: i64) -> Vec<String> {
        let mut out = Vec::new();
        for (pc, arrivals) in by_place(&barrier.arrivals) {
            let count = arrivals.len() as u64;
            let place = launch.location(pc);
            out.push(format!("{count} arrival{} at {}", plural(count), place.describe()));
        }
        if bytes != 0 {
            out.push(format!("{bytes} bytes of transactions are pending"));
        }
        for (pc, arrivals) in by_place(&barrier.before) {
            let thread = arrivals[0];
            let site = launch.shape.site_of(thread.cta, thread.index);
            let at = launch.location(pc).describe();
            let waits = match self.waiting.get(&thread) {
                Some(&((_, offset), wait)) => {
                    let place = launch.location(wait).describe();
                    format!("waits for the barrier at {offset:#x} at {place}")
                }
                None => "does not wait for a barrier in shared memory".to_owned(),
            };
            out.push(format!("{site} arrived at {at} in the phase before, and {waits}"));
        }
        out
    }
}

/// The finding of a barrier that is initialised again.
fn again(launch: &Launch, [pc, init]: [u64; 2], (thread, offset): (Thread, u64)) -> Finding {
    let (site, place) = (launch.shape.site_of(thread.cta, thread.index), launch.location(pc));
    let message = format!(
        "{site} initialises the barrier at {offset:#x} of shared memory at {}, and it is one \
         already",
        place.describe()
    );
    let mut found = launch.finding(Kind::RepeatedInit, message, place);
    found.related = Some((launch.location(init), "the barrier is initialised here".to_owned()));
    found.site = Some(site);
    found
}

fn by_place(arrivals: &[Arrival]) -> BTreeMap<u64, Vec<Thread>> {
    let mut out: BTreeMap<u64, Vec<Thread>> = BTreeMap::new();
    for arrival in arrivals {
        out.entry(arrival.pc).or_default().push(arrival.thread);
    }
    out
}
