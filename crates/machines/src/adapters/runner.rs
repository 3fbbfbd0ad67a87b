//! Launches on machines that implement [`simt::machine::Machine`]: one loop for all of them.
//!
//! [`run`] steps a machine in slices until the program ends, faults or reaches the limit, or the
//! monitor stops it, and collects the statistics. A [`Guest`] supplies what differs between the
//! machines.

use engine::{Counters, PcSlots};
use isa::Diagnostic;
use simt::counts::Counts;
use simt::machine::{HangKind, Machine, Step};
use simt::trap::Fault;

use super::listing::Listing;
use super::listing_places::ListingPlaces;
use crate::launch::{End, LaunchRequest, Stop};
use crate::monitor::{LaunchMonitor, Progress};
use crate::stats::LaunchStats;

/// Steps in which a remembered state is looked for: the longest circle that is found.
const CIRCLE: u64 = 1 << 12;

/// How a machine's launches end.
pub(super) trait Guest<M: Machine<1>> {
    /// Returns the stop for a fault.
    fn fault(&self, state: &M::State, fault: &Fault<M::Cause>) -> Stop;

    /// Removes the cause of a fault; returns whether the launch may continue.
    fn resolve(&mut self, _state: &mut M::State, _fault: &Fault<M::Cause>) -> bool {
        false
    }

    /// Returns the end of a program without anything left to do.
    fn done(&self, _state: &M::State) -> End {
        End::Done
    }

    /// Returns the end of a program that has stopped itself, or of which a hang is proved. Without
    /// synchronisation only a loop keeps a program from ending, and the limit finds it.
    fn stopped(&self, _state: &M::State, _hang: Option<HangKind>) -> Option<End> {
        None
    }

    /// Remembers the state, so that [`Guest::repeats`] can tell whether it comes again; returns
    /// whether the machine has such a test.
    fn remember(&mut self, _state: &M::State) -> bool {
        false
    }

    /// Returns the stop for a state that is the remembered one: the program runs in a circle.
    fn repeats(&self, _state: &M::State) -> Option<Stop> {
        None
    }

    /// Returns the number of blocks that have ended.
    fn blocks_done(&self, _state: &M::State) -> u64 {
        0
    }

    /// Returns what counts towards the limit: by default the issues; `steps` are the steps so far.
    fn spent(&self, machine: &M, state: &M::State, _steps: u64) -> u64 {
        machine.slots(state).issues()
    }

    /// Returns the stop for a program that has reached the limit.
    fn limit_reached(&self, _state: &M::State, limit: u64) -> Stop {
        let message = format!("the program has not ended after {limit} issues: it may hang");
        let report = Diagnostic::error("limit", message);
        let report = report.help("raise it with --limit if the program needs that long");
        Stop { code: "limit", report, line: None, place: None }
    }
}

/// A machine with what it runs.
pub(super) struct Code<'a, M: Machine<1>> {
    pub(super) machine: &'a M,
    pub(super) program: &'a M::Program,
    pub(super) listing: &'a Listing,
    /// Number of program counters if lane slots are counted by instruction, else 0.
    pub(super) pcs: usize,
    /// Names of places in the code, for debuggers.
    pub(super) symbols: &'a [(String, u64)],
    /// Hands launches to debuggers, on machines whose states can be inspected.
    pub(super) debug: Option<Debugged<M>>,
}

/// Hands a launch to a debugger.
pub(super) type Debugged<M> = fn(
    &Code<'_, M>,
    &mut <M as Machine<1>>::State,
    (&LaunchRequest<'_>, Extents),
    &mut dyn debug::Client,
) -> debug::After;

/// The extents of a launch.
#[derive(Clone, Copy)]
pub(super) struct Extents {
    /// Size of the grid in x, y, z, as reports show it.
    pub(super) grid: [u64; 3],
    /// Size of a block in x, y, z, as reports show it.
    pub(super) block: [u64; 3],
    /// Number of blocks that progress is measured in.
    pub(super) blocks: u64,
    /// Number of threads in a block, for probes.
    pub(super) block_threads: u64,
    /// Number of threads in all.
    pub(super) threads: u64,
}

/// Bounds of a launch.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    /// Steps between two polls of the monitor.
    pub(super) slice: u64,
    /// Limit of what [`Guest::spent`] counts.
    pub(super) limit: u64,
}

/// Runs a launch from its first state to its end.
pub(super) fn run<M: Machine<1>>(
    code: &Code<'_, M>,
    state: &mut M::State,
    guest: &mut dyn Guest<M>,
    (extents, bounds): (Extents, Bounds),
    request: &LaunchRequest<'_>,
    monitor: &mut dyn LaunchMonitor,
) -> (End, LaunchStats) {
    let places = ListingPlaces::new(code.listing);
    places.begin(request.kernel, request.warp_size, extents.block_threads, monitor);
    let mut driver = Driver { code, guest, places, blocks: extents.blocks, bounds };
    let mut counters = Counters::default();
    let debugged = code.debug.and_then(|debug| {
        let client = monitor.debugger()?;
        Some(debug(code, state, (request, extents), client))
    });
    let end = if debugged == Some(debug::After::Stop) {
        End::Interrupted
    } else if request.detailed {
        counters = Counters::with_pcs(PcSlots::new(code.pcs));
        driver.drive(state, Some(&mut counters), monitor)
    } else {
        driver.drive(state, None, monitor)
    };
    let slots = *code.machine.slots(state);
    let counts = Counts { slots, threads: extents.threads, ..Counts::default() };
    let stats = LaunchStats {
        kernel: request.kernel.to_owned(),
        grid: extents.grid,
        block: extents.block,
        outcome: end.name().to_owned(),
        lines: code.listing.line_slots(&counters),
        ..LaunchStats::of(&counts, counters)
    };
    (end, stats)
}

struct Driver<'a, 'c, M: Machine<1>> {
    code: &'a Code<'c, M>,
    guest: &'a mut dyn Guest<M>,
    places: ListingPlaces,
    blocks: u64,
    bounds: Bounds,
}

impl<M: Machine<1>> Driver<'_, '_, M> {
    fn drive(
        &mut self,
        state: &mut M::State,
        mut counters: Option<&mut Counters>,
        monitor: &mut dyn LaunchMonitor,
    ) -> End {
        let Bounds { slice, limit } = self.bounds;
        let code = (self.code.machine, self.code.program);
        let mut steps = 0u64;
        loop {
            let spent = self.guest.spent(code.0, state, steps);
            let now = slice.min(limit.saturating_sub(spent));
            let step = self.places.run(code, state, counters.as_deref_mut(), now, monitor);
            steps = steps.saturating_add(now);
            let hang = match step {
                Step::Done => return self.guest.done(state),
                Step::Fault(fault) if self.guest.resolve(state, &fault) => continue,
                Step::Fault(fault) => return End::Fault(self.guest.fault(state, &fault)),
                Step::Issued => None,
                Step::Hang(hang) => Some(hang.kind),
            };
            if let Some(end) = self.guest.stopped(state, hang) {
                return end;
            }
            if now < slice {
                return End::Hang(self.guest.limit_reached(state, limit));
            }
            if hang.is_none() && self.guest.remember(state) {
                match self.circle(state, counters.as_deref_mut(), monitor) {
                    Ok(more) => steps = steps.saturating_add(more),
                    Err(end) => return end,
                }
            }
            let issues = self.guest.spent(code.0, state, steps);
            let blocks_done = self.guest.blocks_done(state);
            if !monitor.poll(Progress { blocks_done, blocks: self.blocks, issues }) {
                return End::Interrupted;
            }
        }
    }

    /// Steps one by one for a while, in search of the state that the guest has remembered; returns
    /// the number of steps, or the end of the program.
    fn circle(
        &mut self,
        state: &mut M::State,
        mut counters: Option<&mut Counters>,
        monitor: &mut dyn LaunchMonitor,
    ) -> Result<u64, End> {
        let code = (self.code.machine, self.code.program);
        for taken in 1..=CIRCLE {
            match self.places.run(code, state, counters.as_deref_mut(), 1, monitor) {
                Step::Issued => {}
                Step::Done => return Err(self.guest.done(state)),
                Step::Fault(fault) if self.guest.resolve(state, &fault) => return Ok(taken),
                Step::Fault(fault) => return Err(End::Fault(self.guest.fault(state, &fault))),
                // The next step of the main loop meets it again.
                Step::Hang(_) => return Ok(taken),
            }
            if let Some(stop) = self.guest.repeats(state) {
                return Err(End::Hang(stop));
            }
        }
        Ok(CIRCLE)
    }
}
