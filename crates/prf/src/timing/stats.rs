//! Counters of the cycle model.
//!
//! Every cycle has one fetch slot and one issue slot; each is used or lost for one cause, so that
//! uses and losses add up to the cycles ([`TimingCounts::adds_up`]). The issue slot is lost for the
//! cause nearest to it: instructions that are ready or collect operands come before buffered ones,
//! those before the front end.

use std::fmt;

use simt::slots::IssueLanes;

use crate::op::Unit;
use crate::timing::writeback::Port;

macro_rules! stalls {
    ($($(#[$about:meta])* $stall:ident $name:literal,)*) => {
        /// The reason that a slot was lost.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Stall { $($(#[$about])* $stall,)* }

        impl Stall {
            /// All causes.
            pub const ALL: &[Self] = &[$(Self::$stall,)*];

            /// The name in reports.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$stall => $name,)* }
            }
        }
    };
}

stalls! {
    /// The instruction cache waits for memory.
    CacheMiss "cache-miss",
    /// All warps wait until their packets are written.
    Drain "packet-drain",
    /// An instruction buffer is full (fetch), or the result queue behind a unit (issue).
    QueueFull "queue-full",
    /// The unit of the oldest ready instruction takes nothing this cycle.
    UnitBusy "unit-busy",
    /// Operands are being read, one register of a bank in a cycle.
    OperandPort "operand-port",
    /// A result waits for its write port, and its warp for it.
    WriteBack "write-back",
    /// The load/store unit: its queue is full, or all warps wait for what it does.
    Memory "memory",
    /// A register is not written yet.
    DataHazard "data-hazard",
    /// A predicate is not written yet.
    PredicateHazard "predicate-hazard",
    /// All warps wait for a jump or a `halt`.
    Control "control",
    /// The warp whose turn it was could not fetch.
    LostTurn "lost-turn",
    /// Instructions are on their way from fetch to the buffers.
    FrontEnd "front-end",
    /// Nothing to do: before the first block, and between the last write and the end.
    Idle "idle",
}

/// One functional unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnitCounts {
    /// Instructions executed.
    pub issues: u64,
    /// Those of them with an empty mask.
    pub empty: u64,
    /// Lane slots that did something.
    pub lanes_on: u64,
    /// Lane slots of live lanes that were masked off: they passed through the unit and changed
    /// nothing.
    pub lanes_off: u64,
}

/// All counters besides lane slots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimingCounts {
    /// Cycles from the launch to the end.
    pub cycles: u64,
    /// Instructions fetched.
    pub fetched: u64,
    /// Instructions dispatched to units.
    pub issued: u64,
    /// Fetch slots lost, by [`Stall`].
    pub fetch_lost: [u64; Stall::ALL.len()],
    /// Issue slots lost, by [`Stall`].
    pub issue_lost: [u64; Stall::ALL.len()],
    /// Fetches found in the instruction cache.
    pub cache_hits: u64,
    /// Fetches that were not.
    pub cache_misses: u64,
    /// Masks read from the predicate file: one for each decoded instruction, and retries where
    /// there is a scoreboard.
    pub predicate_file_reads: u64,
    /// Masks written to it.
    pub predicate_file_writes: u64,
    /// Results by the port through which they were written, in the order of [`Port::ALL`].
    pub writes: [u64; Port::ALL.len()],
    /// Results that went to waiting instructions before they were written.
    pub forwarded: u64,
    /// Instructions without lanes that left the pipeline at decode.
    pub skipped: u64,
    /// Cycles in which a result stood at the head of its queue and another one got the port.
    pub arbitration_lost: u64,
    /// Hazards inside packets.
    pub hazards: u64,
    /// By functional unit, in the order of [`Unit::ALL`].
    pub units: [UnitCounts; Unit::ALL.len()],
}

impl TimingCounts {
    /// Returns whether each slot of each cycle was used or has a cause.
    #[must_use]
    pub fn adds_up(&self) -> bool {
        let sum = |lost: &[u64]| lost.iter().sum::<u64>();
        self.fetched + sum(&self.fetch_lost) == self.cycles
            && self.issued + sum(&self.issue_lost) == self.cycles
    }

    /// Instructions per cycle.
    #[must_use]
    pub fn ipc(&self) -> f64 {
        self.issued as f64 / self.cycles.max(1) as f64
    }

    /// Issue slots lost for a cause.
    #[must_use]
    pub fn issue_stalls(&self, stall: Stall) -> u64 {
        self.issue_lost[stall as usize]
    }

    /// Fetch slots lost for a cause.
    #[must_use]
    pub fn fetch_stalls(&self, stall: Stall) -> u64 {
        self.fetch_lost[stall as usize]
    }

    /// Each count with its name; lost slots as `fetch_lost.CAUSE` and `issue_lost.CAUSE`, units as
    /// `unit.UNIT.COUNT`.
    #[must_use]
    pub fn named(&self) -> Vec<(String, u64)> {
        let single = [
            ("cycles", self.cycles),
            ("fetched", self.fetched),
            ("issued", self.issued),
            ("icache_hits", self.cache_hits),
            ("icache_misses", self.cache_misses),
            ("predicate_file_reads", self.predicate_file_reads),
            ("predicate_file_writes", self.predicate_file_writes),
            ("writes_even_bank", self.writes[Port::Even as usize]),
            ("writes_odd_bank", self.writes[Port::Odd as usize]),
            ("writes_predicate_file", self.writes[Port::Predicate as usize]),
            ("forwarded", self.forwarded),
            ("skipped", self.skipped),
            ("arbitration_lost", self.arbitration_lost),
            ("hazards", self.hazards),
        ];
        let mut named: Vec<_> = single.map(|(name, count)| (name.to_owned(), count)).into();
        for &stall in Stall::ALL {
            named.push((format!("fetch_lost.{}", stall.name()), self.fetch_stalls(stall)));
            named.push((format!("issue_lost.{}", stall.name()), self.issue_stalls(stall)));
        }
        for (unit, counts) in Unit::ALL.iter().zip(&self.units) {
            let UnitCounts { issues, empty, lanes_on, lanes_off } = *counts;
            let of = [
                ("instructions", issues),
                ("for_no_lane", empty),
                ("lanes_on", lanes_on),
                ("lanes_off", lanes_off),
            ];
            let of = of.into_iter().filter(|_| issues > 0);
            named.extend(of.map(|(name, n)| (format!("unit.{}.{name}", unit.name()), n)));
        }
        named
    }

    pub(crate) fn executed(&mut self, unit: Unit, lanes: &IssueLanes<1>) {
        let counts = &mut self.units[unit as usize];
        let (on, live) = (u64::from(lanes.on.count()), u64::from(lanes.active.count()));
        counts.issues += 1;
        counts.empty += u64::from(on == 0);
        counts.lanes_on += on;
        counts.lanes_off += live.saturating_sub(on);
    }
}

/// A table for display.
impl fmt::Display for TimingCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cycles, issued, .. } = self;
        writeln!(f, "cycles: {cycles}; instructions: {issued}, {:.3} a cycle", self.ipc())?;
        writeln!(f, "instruction cache: {} hits, {} misses", self.cache_hits, self.cache_misses)?;
        let (reads, writes) = (self.predicate_file_reads, self.predicate_file_writes);
        writeln!(f, "predicate file: {reads} reads, {writes} writes")?;
        let ports = Port::ALL.map(|port| format!("{} {}", port.name(), self.writes[port as usize]));
        let (ports, lost) = (ports.join(", "), self.arbitration_lost);
        writeln!(f, "write-back: {ports}; {lost} lost arbitrations")?;
        if self.forwarded + self.skipped > 0 {
            writeln!(f, "forwarded: {}; skipped at decode: {}", self.forwarded, self.skipped)?;
        }
        writeln!(f, "{:<18}{:>14}{:>14}", "slots", "fetch", "issue")?;
        writeln!(f, "  {:<16}{:>14}{:>14}", "used", self.fetched, issued)?;
        for &stall in Stall::ALL {
            let (fetch, issue) = (self.fetch_stalls(stall), self.issue_stalls(stall));
            if fetch + issue > 0 {
                writeln!(f, "  {:<16}{fetch:>14}{issue:>14}", stall.name())?;
            }
        }
        writeln!(
            f,
            "{:<18}{:>14}{:>14}{:>14}{:>14}",
            "units", "instructions", "for no lane", "lanes on", "lanes off"
        )?;
        for (unit, counts) in Unit::ALL.iter().zip(&self.units).filter(|(_, c)| c.issues > 0) {
            let UnitCounts { issues, empty, lanes_on, lanes_off } = counts;
            writeln!(
                f,
                "  {:<16}{issues:>14}{empty:>14}{lanes_on:>14}{lanes_off:>14}",
                unit.name()
            )?;
        }
        Ok(())
    }
}
