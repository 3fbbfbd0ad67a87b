//! Supervision of launches.

use crate::probe::Probe;

/// The progress of a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Completed blocks.
    pub blocks_done: u64,
    /// Number of blocks.
    pub blocks: u64,
    /// Instructions issued.
    pub issues: u64,
}

/// Follows a launch and may stop it.
pub trait LaunchMonitor {
    /// Called at intervals; returns whether the launch should continue.
    fn poll(&mut self, progress: Progress) -> bool;

    /// Called at intervals while several runs go on at once, with the runs that are done, all runs,
    /// and the issues of all of them; returns whether they should continue.
    fn rows(&mut self, done: u64, all: u64, issues: u64) -> bool {
        self.poll(Progress { blocks_done: done, blocks: all, issues })
    }

    /// Called with a description of the engine that runs the launch, and the reason why no faster
    /// one does. Machines with a single engine do not call it.
    fn engine_selected(&mut self, _engine: &str) {}

    /// Called for each buffer before the first launch, with its name, address, and size in bytes.
    fn buffer_allocated(&mut self, _buffer: &str, _address: u64, _bytes: u64) {}

    /// Returns the debugger that receives the launch before its first issue, if there is one.
    fn debugger(&mut self) -> Option<&mut dyn debug::Client> {
        None
    }

    /// Returns the probe that observes the launch, if there is one. Machines without events ignore
    /// it.
    fn probe(&mut self) -> Option<&mut dyn Probe> {
        None
    }

    /// Returns the probe and the strategy that chooses the schedule, as far as there are such.
    /// Machines whose [`Isa::has_checks`](crate::Isa::has_checks) is not set ignore both.
    fn attached(&mut self) -> Attached<'_> {
        Attached { probe: self.probe(), strategy: None }
    }
}

/// What is attached to a launch.
pub struct Attached<'a> {
    /// What observes it.
    pub probe: Option<&'a mut dyn Probe>,
    /// What chooses its schedule, in place of the canonical one.
    pub strategy: Option<&'a mut dyn vm::Strategy<1>>,
}

/// A monitor that never stops a launch.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unmonitored;

impl LaunchMonitor for Unmonitored {
    fn poll(&mut self, _progress: Progress) -> bool {
        true
    }
}
/// A monitor with a probe.
pub struct ProbedMonitor<'a> {
    /// The monitor that may stop the launch.
    pub monitor: &'a mut dyn LaunchMonitor,
    /// The probe that observes it.
    pub probe: &'a mut dyn Probe,
}

impl LaunchMonitor for ProbedMonitor<'_> {
    fn poll(&mut self, progress: Progress) -> bool {
        self.monitor.poll(progress)
    }

    fn engine_selected(&mut self, engine: &str) {
        self.monitor.engine_selected(engine);
    }

    fn buffer_allocated(&mut self, buffer: &str, address: u64, bytes: u64) {
        self.monitor.buffer_allocated(buffer, address, bytes);
    }

    fn probe(&mut self) -> Option<&mut dyn Probe> {
        Some(&mut *self.probe)
    }
}

/// A monitor with a strategy that chooses the schedule.
pub struct ScheduledMonitor<'a> {
    /// The monitor that may stop the launch, with its probe.
    pub monitor: &'a mut dyn LaunchMonitor,
    /// What chooses the schedule.
    pub strategy: &'a mut dyn vm::Strategy<1>,
}

impl LaunchMonitor for ScheduledMonitor<'_> {
    fn poll(&mut self, progress: Progress) -> bool {
        self.monitor.poll(progress)
    }

    fn engine_selected(&mut self, engine: &str) {
        self.monitor.engine_selected(engine);
    }

    fn buffer_allocated(&mut self, buffer: &str, address: u64, bytes: u64) {
        self.monitor.buffer_allocated(buffer, address, bytes);
    }

    fn probe(&mut self) -> Option<&mut dyn Probe> {
        self.monitor.probe()
    }

    fn attached(&mut self) -> Attached<'_> {
        Attached { probe: self.monitor.probe(), strategy: Some(&mut *self.strategy) }
    }
}

/// A monitor with a debugger.
pub struct DebuggedMonitor<'a> {
    /// The monitor that may stop the launch.
    pub monitor: &'a mut dyn LaunchMonitor,
    /// The debugger that receives it.
    pub client: &'a mut dyn debug::Client,
}

impl LaunchMonitor for DebuggedMonitor<'_> {
    fn poll(&mut self, progress: Progress) -> bool {
        self.monitor.poll(progress)
    }

    fn engine_selected(&mut self, engine: &str) {
        self.monitor.engine_selected(engine);
    }

    fn buffer_allocated(&mut self, buffer: &str, address: u64, bytes: u64) {
        self.monitor.buffer_allocated(buffer, address, bytes);
    }

    fn debugger(&mut self) -> Option<&mut dyn debug::Client> {
        Some(&mut *self.client)
    }
}
