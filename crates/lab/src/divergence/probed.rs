//! Attachment of probes to launches.

use std::sync::Arc;

use simt::observe::{Events, Issue};

use crate::machine::{LaunchMonitor, Progress};
use crate::probe::{EventSink, LaunchStart, Place, Probe, ScheduleDependence, WORDS};

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

/// A probe that records executed instructions that expose the schedule.
#[derive(Clone, Debug, Default)]
pub struct ScheduleDependenceProbe {
    places: Arc<[Place]>,
    seen: Vec<bool>,
    found: Vec<(ScheduleDependence, Place)>,
}

impl ScheduleDependenceProbe {
    /// Returns the instructions, the most likely causes of a difference first.
    #[must_use]
    pub fn found(mut self) -> Vec<(ScheduleDependence, Place)> {
        self.found.sort_by_key(|(dependence, place)| (*dependence, place.line));
        self.found.dedup_by(|a, b| a.0 == b.0 && a.1.line == b.1.line);
        self.found
    }
}

impl Probe for ScheduleDependenceProbe {
    fn begin(&mut self, launch: &LaunchStart<'_>) {
        self.places = Arc::clone(launch.places);
        self.seen = vec![false; launch.places.len()];
    }
}

impl EventSink for ScheduleDependenceProbe {
    fn events(&self) -> Events {
        Events::ISSUE
    }

    fn issue(&mut self, issue: &Issue<'_, WORDS>) {
        let Ok(pc) = usize::try_from(issue.pc.0) else { return };
        let Some(seen) = self.seen.get_mut(pc).filter(|seen| !**seen) else { return };
        *seen = true;
        if let Some(place) = self.places.get(pc)
            && let Some(dependence) = place.exposes
        {
            self.found.push((dependence, place.clone()));
        }
    }
}
