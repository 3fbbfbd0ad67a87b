//! Attachment of probes to launches.

use std::sync::Arc;

use simt::observe::{Events, Issue};

use crate::machine::{Progress, Watch};
use crate::probe::{Beginning, EventSink, Place, Probe, Shows, WORDS};

/// A watch with a probe.
pub struct Watched<'a> {
    /// The watch that may stop the launch.
    pub watch: &'a mut dyn Watch,
    /// The probe that observes it.
    pub probe: &'a mut dyn Probe,
}

impl Watch for Watched<'_> {
    fn go_on(&mut self, progress: Progress) -> bool {
        self.watch.go_on(progress)
    }

    fn ran_on(&mut self, engine: &str) {
        self.watch.ran_on(engine);
    }

    fn placed(&mut self, buffer: &str, address: u64, bytes: u64) {
        self.watch.placed(buffer, address, bytes);
    }

    fn probe(&mut self) -> Option<&mut dyn Probe> {
        Some(&mut *self.probe)
    }
}

/// A probe that records executed instructions that expose the schedule.
#[derive(Clone, Debug, Default)]
pub struct Witnesses {
    places: Arc<[Place]>,
    seen: Vec<bool>,
    found: Vec<(Shows, Place)>,
}

impl Witnesses {
    /// Returns the instructions, the most likely causes of a difference first.
    #[must_use]
    pub fn found(mut self) -> Vec<(Shows, Place)> {
        self.found.sort_by_key(|(shows, place)| (*shows, place.line));
        self.found.dedup_by(|a, b| a.0 == b.0 && a.1.line == b.1.line);
        self.found
    }
}

impl Probe for Witnesses {
    fn begin(&mut self, launch: &Beginning<'_>) {
        self.places = Arc::clone(launch.places);
        self.seen = vec![false; launch.places.len()];
    }
}

impl EventSink for Witnesses {
    fn events(&self) -> Events {
        Events::ISSUE
    }

    fn issue(&mut self, issue: &Issue<'_, WORDS>) {
        let Ok(pc) = usize::try_from(issue.pc.0) else { return };
        let Some(seen) = self.seen.get_mut(pc).filter(|seen| !**seen) else { return };
        *seen = true;
        if let Some(place) = self.places.get(pc)
            && let Some(shows) = place.shows
        {
            self.found.push((shows, place.clone()));
        }
    }
}
