//! Probing of machines whose program counters are addresses in a listing.
//!
//! A probe sees code as a dense list of places. Here this list consists of the listing's
//! statements, and the addresses of events are replaced by indices into it. Programs without text
//! are not probed.

use std::sync::Arc;

use engine::Counters;
use isa::SourceFile;
use isa::asm::Line;
use simt::Pc;
use simt::machine::{Machine, Step};
use simt::observe::{AnyObserver, Branch, Events, Issue, Observer};

use super::listing::Listing;
use crate::monitor::LaunchMonitor;
use crate::probe::{LaunchStart, Place, Probe, Shape, SinkObserver};

/// Most characters of a statement's text that are kept.
const LONGEST: usize = 160;

/// The statements of a text as places.
pub(super) struct ListingPlaces {
    /// Address and length in bytes of each place, in increasing order of addresses.
    at: Vec<(u64, u64)>,
    places: Arc<[Place]>,
}

impl ListingPlaces {
    /// Collects the statements of a listing; without text there are none.
    pub(super) fn new(listing: &Listing) -> Self {
        let text = listing.text.as_ref();
        let lines = if text.is_some() { &listing.lines[..] } else { &[] };
        let places = lines.iter().filter_map(|line| text.map(|text| place(text, line)));
        Self {
            at: lines.iter().map(|line| (line.address, line.length)).collect(),
            places: places.collect(),
        }
    }

    /// Notifies the probe of the monitor, if it has one, of the start of a launch.
    pub(super) fn begin(
        &self,
        kernel: &str,
        width: u64,
        block: u64,
        monitor: &mut dyn LaunchMonitor,
    ) {
        if let Some(probe) = monitor.probe() {
            let width = u32::try_from(width).unwrap_or(u32::MAX);
            let shape = Shape { grid: [1; 3], block: [block, 1, 1], width };
            probe.begin(&LaunchStart { kernel, shape, places: &self.places });
        }
    }

    /// Runs the machine for at most `slice` steps, observed by the counters and by the probe if
    /// there are such.
    pub(super) fn run<M: Machine<1>>(
        &self,
        (machine, program): (&M, &M::Program),
        state: &mut M::State,
        counters: Option<&mut Counters>,
        slice: u64,
        monitor: &mut dyn LaunchMonitor,
    ) -> Step<M::Cause, 1> {
        let probe = monitor.probe().filter(|_| !self.at.is_empty());
        let probe = probe.map(|probe| ProbeForwarder::new(self, probe));
        let mut run = |mut observer: AnyObserver<'_, 1>| {
            machine.run_observed(program, state, &mut observer, slice)
        };
        match (counters, probe) {
            (Some(counters), Some(probe)) => run(AnyObserver::new(&mut (counters, probe))),
            (Some(counters), None) => run(AnyObserver::new(counters)),
            (None, Some(mut probe)) => run(AnyObserver::new(&mut probe)),
            (None, None) => machine.run_unobserved(program, state, slice),
        }
    }

    fn index(&self, pc: u64) -> Option<u64> {
        let at = self.at.partition_point(|(address, _)| *address <= pc).checked_sub(1)?;
        let (address, length) = *self.at.get(at)?;
        (pc - address < length).then_some(at as u64)
    }
}

fn place(text: &SourceFile, line: &Line) -> Place {
    let written = text.text().get(line.span.range()).unwrap_or_default();
    let words: Vec<&str> = written.split_whitespace().collect();
    let written: String = words.join(" ").chars().take(LONGEST).collect();
    Place {
        text: written.into(),
        line: Some(text.line_col(line.span.start).line),
        span: Some(line.span),
        ..Place::default()
    }
}

/// An observer that forwards events to a probe, with indices as program counters.
struct ProbeForwarder<'a> {
    listing_places: &'a ListingPlaces,
    sink: SinkObserver<'a>,
}

impl<'a> ProbeForwarder<'a> {
    fn new(listing_places: &'a ListingPlaces, probe: &'a mut dyn Probe) -> Self {
        Self { listing_places, sink: SinkObserver(probe) }
    }
}

impl Observer<1> for ProbeForwarder<'_> {
    const EVENTS: Events = Events::ISSUE.and(Events::BRANCH);

    fn issue(&mut self, issue: &Issue<'_, 1>) {
        if let Some(index) = self.listing_places.index(issue.pc.0) {
            let Issue { group, domain, lanes, depth, guard_off, .. } = *issue;
            self.sink.issue(&Issue { group, pc: Pc(index), domain, lanes, depth, guard_off });
        }
    }

    fn branch(&mut self, branch: &Branch<'_, 1>) {
        if let Some(index) = self.listing_places.index(branch.pc.0) {
            let Branch { group, targets, .. } = *branch;
            self.sink.branch(&Branch { group, pc: Pc(index), targets });
        }
    }
}
