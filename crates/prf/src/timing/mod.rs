//! The cycle-level model of the front end: FETCH, DECODE + PREDICATION, ISSUE, and as much of the
//! units after it as decides when an instruction is written.
//!
//! Instructions mean what they mean in the functional model: operands and masks are read in
//! different cycles, effects are computed when an instruction enters its unit and committed when it
//! is written. Stages are evaluated back to front, so that each hand-over costs a cycle; the order
//! inside a cycle is that of `State::cycle`.
//!
//! | module | contents |
//! |---|---|
//! | [`prf_parameters`] | sizes and latencies, from TOML |
//! | [`flight`] | an instruction in the pipeline |
//! | `fetch` | resident warps, block admission, schedulers |
//! | `cache` | instruction cache and memory |
//! | `issue` | buffers, operand collectors, dispatch, scoreboard |
//! | `execute`, `writeback` | units, result queues, write ports |
//! | [`changes`] | registers and predicates by cycle, as text and as value change dump |
//! | `mark` | recognition of a state that comes again |
//! | [`watch`] | hazards inside packets, as they happen |
//! | [`stats`] | counters |

mod cache;
pub mod changes;
mod execute;
mod fetch;
pub mod flight;
mod issue;
mod mark;
pub mod stats;
pub mod watch;
mod writeback;

use simt::machine::{Machine, Step};
use simt::memory::MemoryMap;
use simt::observe::{Branch, Events, GroupId, Issue as Issued, Observer, Pc};
use simt::slots::{Domain, LaneSlots};
use simt::trap::Fault;

use crate::config::{Config, Profile};
use crate::counts::{Counts, announce, lanes, participants};
use crate::exec::{Special, Stop, Trap};
use crate::launch::{Header, Launch, LaunchError};
use crate::machine::Prf;
use crate::op::Unit;
use crate::program::{LoadError, Program};
use cache::Cache;
use execute::{Bench, Computed, Execute};
use fetch::{News, Scheduler};
use flight::{Flight, Stage};
use issue::Issue;
use watch::Watcher;

pub use changes::{Change, Changed};
pub use flight::Record;
pub use mark::Mark;
pub use prf_parameters::{Forwarding, Hazards, Params, ParamsError, Policy};
pub use stats::{Stall, TimingCounts, UnitCounts};
pub use watch::Met;
pub use writeback::Port;

/// The machine with cycles.
#[derive(Clone, Debug, Default)]
pub struct Timed {
    /// The functional choices.
    pub config: Config,
    /// The profile: whether the predicate port shares an identifier, unless the parameters say.
    pub profile: Profile,
    /// Sizes and latencies.
    pub params: Params,
    /// The rule that orders the instructions of a warp.
    pub hazards: Hazards,
    /// Most written instructions whose times are kept, for timelines.
    pub records: usize,
    /// Most changes of registers and predicates that are kept.
    pub changes: usize,
}

/// Everything that changes while a launch runs.
#[derive(Clone, Debug)]
pub struct State {
    /// Guest memory.
    pub memory: MemoryMap,
    header: Header,
    cycle: u64,
    ended: bool,
    interlocked: bool,
    shared_port: bool,
    scheduler: Scheduler,
    cache: Cache,
    /// Decoded in the last cycle.
    decoded: Option<Box<Flight>>,
    issue: Issue,
    execute: Execute,
    /// Selected in the last cycle, written in the next.
    #[allow(clippy::vec_box, reason = "instructions move between stages as one pointer")]
    selected: Vec<Box<Flight>>,
    watcher: Watcher,
    slots: LaneSlots,
    counts: Counts,
    timing: TimingCounts,
    /// Stores so far.
    stores: u64,
    records: Vec<Record>,
    /// Number of records that still fit.
    room: usize,
    missed: u64,
    changes: Vec<Change>,
    /// Number of changes that still fit.
    room_of_changes: usize,
    changes_missed: u64,
    /// What goes to those who wait before it is written.
    forwarding: Forwarding,
    /// Instructions without lanes leave the pipeline at decode.
    skip_empty: bool,
    /// Left the pipeline at decode in the last cycle.
    skipped: Option<Box<Flight>>,
}

impl State {
    /// Returns the counters that both models have.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Returns the counters of the cycle model.
    #[must_use]
    pub fn timing(&self) -> &TimingCounts {
        &self.timing
    }

    /// Written instructions with their times, in the order of writing.
    #[must_use]
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// Changes of registers and predicates, by cycle.
    #[must_use]
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Changes that did not fit.
    #[must_use]
    pub fn changes_missed(&self) -> u64 {
        self.changes_missed
    }

    /// Written instructions that did not fit into the records.
    #[must_use]
    pub fn records_missed(&self) -> u64 {
        self.missed
    }

    /// Returns the first hazards inside packets; [`TimingCounts::hazards`] counts all.
    #[must_use]
    pub fn hazards(&self) -> &[Met] {
        self.watcher.met()
    }

    /// Returns the number of blocks that have ended and freed their slots.
    #[must_use]
    pub fn blocks_done(&self) -> u32 {
        self.scheduler.blocks_done
    }
}

/// A stop with the warp and the address that it belongs to.
type Halted = (Stop, GroupId, u32);

impl State {
    /// Runs one cycle. Returns the lanes of the instruction that was dispatched, if one was.
    fn cycle<O: Observer<1>>(
        &mut self,
        program: &Program,
        config: Config,
        observer: &mut O,
    ) -> Result<bool, Halted> {
        let now = self.cycle;
        let mut news = News::default();
        self.commit(now, config, &mut news)?;
        let (selected, lost) = writeback::select(&mut self.execute, self.shared_port);
        self.selected = selected;
        self.timing.arbitration_lost += lost;
        self.execute.enqueue_results();
        self.compute(now, config, observer, &mut news)?;
        if self.interlocked && self.forwarding != Forwarding::None {
            self.forward(config);
        }
        let decoded = self.decoded.take();
        let execute = &self.execute;
        let takes = |flight: &Flight| execute.takes(flight);
        let issued = self.issue.cycle(now, decoded, &self.scheduler, takes);
        news.full = self.issue.full();
        self.decode(now);
        news.may_fetch = self.cache.cycle(now);
        let out = self.cache.output.as_ref();
        let last = out.filter(|f| fetch::is_last(f, self.interlocked));
        news.last = last.map(|f| f.slot);
        let (fetched, lost_fetch) = self.scheduler.cycle(now, &news, program, &self.header);
        match lost_fetch {
            Some(stall) => self.timing.fetch_lost[stall as usize] += 1,
            None => self.timing.fetched += 1,
        }
        self.cache.fetched = fetched;
        self.note_admitted();
        let dispatched = match issued {
            Ok(flight) => {
                self.dispatch(flight, observer);
                true
            }
            Err(stall) => {
                let stall = stall.unwrap_or_else(|| self.why_empty(lost_fetch, lost > 0));
                self.timing.issue_lost[stall as usize] += 1;
                false
            }
        };
        let execute = &mut self.execute;
        self.ended = self.scheduler.blocks(now, &self.header, || execute.flush());
        self.tally();
        self.cycle += u64::from(!self.ended);
        Ok(dispatched)
    }

    /// Brings the counts up to date.
    fn tally(&mut self) {
        let t = &mut self.timing;
        t.cycles = self.cycle + 1;
        (t.cache_hits, t.cache_misses) = (self.cache.hits, self.cache.misses);
        if self.interlocked {
            t.predicate_file_reads = self.issue.predicate_reads;
        }
        t.hazards = self.watcher.count;
    }

    /// Writes the results that were selected in the last cycle.
    fn commit(&mut self, now: u64, config: Config, news: &mut News) -> Result<(), Halted> {
        let skipped = self.skipped.take();
        for mut flight in std::mem::take(&mut self.selected).into_iter().chain(skipped) {
            flight.pass(Stage::Written, now);
            let Some(resident) = self.scheduler.resident_mut(flight.slot) else { continue };
            if let Some(trap) = flight.fault.take() {
                if resident.warp.live.any() {
                    return Err(((trap, resident.warp.live), resident.warp.id, flight.pc));
                }
            } else {
                debug_assert!(execute::changes_only_its_lanes(&flight));
                if !flight.forwarded {
                    resident.warp.commit(&flight.effect, config);
                }
                self.timing.predicate_file_writes += u64::from(flight.insn.writes_predicate());
                self.timing.writes[Port::of(&flight) as usize] += 1;
            }
            let (block, warp) = (resident.warp.special.block, resident.warp.id.group);
            // Whoever waited for what was forwarded has gone on, and may write the same again.
            if !flight.forwarded {
                self.note_change(&flight);
                self.issue.written(&flight);
            }
            news.written.push((flight.slot, fetch::is_halt(&flight)));
            self.record(&flight, block, warp);
        }
        // Two instructions of a warp can be written in one cycle.
        for (slot, _) in &news.written {
            let written = news.written.iter().filter(|(other, _)| other == slot).count();
            let left = self.scheduler.resident(*slot).map_or(0, |r| r.in_flight as usize);
            if left <= written {
                self.watcher.drained(*slot);
            }
        }
        Ok(())
    }

    /// Records what an effect that has been committed changed.
    fn note_change(&mut self, flight: &Flight) {
        let Some(resident) = self.scheduler.resident(flight.slot) else { return };
        let (warp, slot) = (&resident.warp, flight.slot as u32);
        let changed = Changed::by(&flight.effect, |p| warp.predicate(p), warp.live);
        if let Some(what) = changed {
            self.push_change(slot, what);
        }
    }

    fn push_change(&mut self, slot: u32, what: Changed) {
        if self.room_of_changes == 0 {
            self.changes_missed += 1;
            return;
        }
        self.room_of_changes -= 1;
        self.changes.push(Change { cycle: self.cycle, slot, what });
    }

    /// Notes warps that have got slots in this cycle.
    fn note_admitted(&mut self) {
        for slot in std::mem::take(&mut self.scheduler.admitted) {
            let Some(resident) = self.scheduler.resident(slot) else { continue };
            let (block, warp) = (resident.warp.special.block, resident.warp.id.group);
            let live = resident.warp.live;
            self.push_change(slot as u32, Changed::Start { block, warp, live });
        }
    }

    /// Hands results that units have computed in this cycle to those who wait for them.
    fn forward(&mut self, config: Config) {
        let mut done = Vec::new();
        let (forwarding, scheduler) = (self.forwarding, &mut self.scheduler);
        self.execute.computed(|flight| {
            let forwards = match forwarding {
                Forwarding::None => false,
                Forwarding::Predicates => flight.insn.writes_predicate(),
                Forwarding::All => flight.insn.writes_predicate() || flight.insn.writes_register(),
            };
            if !forwards || flight.forwarded || flight.fault.is_some() {
                return;
            }
            if let Some(resident) = scheduler.resident_mut(flight.slot) {
                resident.warp.commit(&flight.effect, config);
                flight.forwarded = true;
                done.push(flight.clone());
            }
        });
        for flight in done {
            self.issue.written(&flight);
            self.timing.forwarded += 1;
            self.note_change(&flight);
        }
    }

    fn record(&mut self, flight: &Flight, block: u32, warp: u32) {
        if self.room == 0 {
            self.missed += 1;
            return;
        }
        self.room -= 1;
        let on = participants(&flight.insn, flight.predicate, flight.live);
        let Flight { slot, pc, insn, times, .. } = *flight;
        // Slots are at most 64.
        let port = Port::of(flight);
        self.records.push(Record { block, warp, slot: slot as u32, pc, insn, on, port, times });
    }

    /// Runs the units.
    fn compute<O: Observer<1>>(
        &mut self,
        now: u64,
        config: Config,
        observer: &mut O,
        news: &mut News,
    ) -> Result<(), Halted> {
        let Self { execute, scheduler, memory, counts, watcher, interlocked, .. } = self;
        let stored = &mut self.stores;
        let special = |slot: usize| {
            let none = Special { first_thread: 0, block: 0, dim: 0, argument: 0 };
            scheduler.resident(slot).map_or(none, |r| r.warp.special)
        };
        let id = |slot: usize| scheduler.resident(slot).map_or_else(nobody, |r| r.warp.id);
        let mut computed = |Computed { flight, target }: Computed<'_>| {
            counts.count(&flight.insn, &flight.effect);
            *stored += u64::from(execute::stores(&flight.insn));
            if flight.insn.jumps() {
                news.resolved = Some((flight.slot, target));
                if observer.wants(Events::BRANCH) {
                    let next = target.unwrap_or(flight.pc.wrapping_add(4));
                    let targets = &[(Pc(next.into()), flight.live)];
                    let pc = Pc(flight.pc.into());
                    observer.branch(&Branch { group: id(flight.slot), pc, targets });
                }
            }
            if flight.insn.op.unit() == Unit::LoadStore {
                if !*interlocked {
                    watcher.accessed(flight, id(flight.slot));
                }
                if observer.wants(Events::ACCESS) {
                    let inputs = execute::inputs(flight, special(flight.slot));
                    announce(&inputs, &flight.effect, id(flight.slot), observer);
                }
            }
        };
        let mut bench = Bench { config, memory, special: &special };
        let done = execute.cycle(now, &mut bench, &mut computed);
        done.map_err(|(stop, flight)| (stop, id(flight.slot), flight.pc))
    }

    fn decode(&mut self, now: u64) {
        let Some(mut flight) = self.cache.output.take() else { return };
        issue::decode(&mut flight, now, &self.scheduler);
        if !self.interlocked {
            self.timing.predicate_file_reads += 1;
            let id = self.scheduler.resident(flight.slot).map_or_else(nobody, |r| r.warp.id);
            if flight.fault.is_none() {
                self.watcher.decoded(&flight, id);
            }
        }
        if self.skip_empty && !self.interlocked && is_idle(&flight) {
            self.timing.skipped += 1;
            self.skipped = Some(flight);
        } else {
            self.decoded = Some(flight);
        }
    }

    /// Counts a dispatched instruction's lanes, and passes it to its unit.
    fn dispatch<O: Observer<1>>(&mut self, flight: Box<Flight>, observer: &mut O) {
        self.timing.issued += 1;
        if let Some(resident) =
            self.scheduler.resident(flight.slot).filter(|_| flight.fault.is_none())
        {
            let on = participants(&flight.insn, flight.predicate, flight.live);
            let lanes = lanes(resident.warp.launched, flight.live, on);
            self.slots.vector(&lanes);
            self.timing.executed(flight.insn.op.unit(), &lanes);
            if observer.wants(Events::ISSUE) {
                let (group, pc) = (resident.warp.id, Pc(flight.pc.into()));
                let domain = Domain::Vector;
                observer.issue(&Issued {
                    group,
                    pc,
                    domain,
                    lanes: &lanes,
                    depth: 1,
                    guard_off: 0,
                });
            }
        }
        self.execute.dispatch(flight);
    }

    /// Returns why the issue stage is empty.
    fn why_empty(&self, lost_fetch: Option<Stall>, arbitration: bool) -> Stall {
        if self.cache.misses_now() {
            return Stall::CacheMiss;
        }
        if !self.cache.is_empty() || self.decoded.is_some() {
            return Stall::FrontEnd;
        }
        match lost_fetch {
            Some(Stall::Drain | Stall::Control) if self.execute.accesses() => Stall::Memory,
            Some(Stall::Drain | Stall::Control) if arbitration => Stall::WriteBack,
            Some(stall) => stall,
            None => Stall::FrontEnd,
        }
    }
}

/// Returns whether an instruction has no lane and would change nothing: comparisons clear their
/// predicate, and jumps and `halt` control the warp.
fn is_idle(flight: &Flight) -> bool {
    let empty = participants(&flight.insn, flight.predicate, flight.live).is_empty();
    empty && flight.fault.is_none() && !flight.controls() && !flight.insn.writes_predicate()
}

/// Stands for a warp that has left.
fn nobody() -> GroupId {
    GroupId { cta: 0, group: 0, first_thread: 0 }
}

impl Machine for Timed {
    const NAME: &'static str = "prf";
    type Program = Program;
    type LoadError = LoadError;
    type Launch = Launch;
    type LaunchError = LaunchError;
    type State = State;
    type Cause = Trap;

    fn load(&self, image: &[u8]) -> Result<Program, LoadError> {
        Prf { config: self.config }.load(image)
    }

    fn launch(&self, program: &Program, launch: Launch) -> Result<State, LaunchError> {
        let header = Header::new(program, &launch)?;
        let (params, warps) = (&self.params, self.params.sm.warps);
        let wanted = header.threads_of(0).div_ceil(32);
        if wanted > warps {
            return Err(LaunchError::Warps { wanted, warps });
        }
        let mut memory = launch.memory;
        program.map(&mut memory, &header)?;
        let interlocked = self.hazards == Hazards::Interlocked;
        let shared = params.writeback.shared_port.unwrap_or(self.profile == Profile::Cardinal);
        let (slots, counts) = Default::default();
        Ok(State {
            memory,
            header,
            cycle: 0,
            ended: false,
            interlocked,
            shared_port: shared,
            scheduler: Scheduler::new(params.scheduler, interlocked, warps, params.sm.finish),
            cache: Cache::new(params),
            decoded: None,
            issue: Issue::new(warps, params.buffer.full, interlocked, params.issue.read_ports),
            execute: Execute::new(params),
            selected: Vec::new(),
            watcher: Watcher::new(warps as usize),
            slots,
            counts,
            timing: TimingCounts::default(),
            stores: 0,
            records: Vec::new(),
            room: self.records,
            missed: 0,
            changes: Vec::new(),
            room_of_changes: self.changes,
            changes_missed: 0,
            forwarding: params.issue.forwarding,
            skip_empty: params.decode.skip_empty,
            skipped: None,
        })
    }

    /// Runs cycles until one instruction is dispatched, or the launch ends.
    fn step<O: Observer<1>>(
        &self,
        program: &Program,
        state: &mut State,
        observer: &mut O,
    ) -> Step<Trap> {
        while !state.ended {
            match state.cycle(program, self.config, observer) {
                Ok(true) => return Step::Issued,
                Ok(false) => {}
                Err(((cause, lanes), group, pc)) => {
                    let pc = Pc(pc.into());
                    return Step::Fault(Box::new(Fault { cause, group, pc, lanes }));
                }
            }
        }
        Step::Done
    }

    simt::compiled_runs!();

    fn slots<'s>(&self, state: &'s State) -> &'s LaneSlots {
        &state.slots
    }
}
