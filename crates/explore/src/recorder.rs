//! The strategy of explored launches: a [`Picker`] chooses, and what it chose and what happened are
//! recorded.

use std::sync::Arc;

use checks::probe::{EventSink, LaunchStart, Place, Probe, Shape};
use rustc_hash::FxHashMap;
use simt::observe::{Access, Events, Sync};
use vm::{Alternative, Choice, ChoicePoint, Strategy};

use crate::recorded::Deviation;
use crate::trace::{Event, Trace};

/// A point at which a picker chooses.
pub(crate) struct Point<'a> {
    /// The launch, from 0.
    pub(crate) launch: usize,
    pub(crate) alternatives: &'a [Alternative<1>],
    pub(crate) default: usize,
    pub(crate) continues: bool,
    /// Interacting instructions that the default's path has executed.
    pub(crate) step: u64,
    /// The events so far.
    pub(crate) trace: &'a Trace,
}

impl Point<'_> {
    /// Returns the default if it does not spin, or else the next one that does not.
    pub(crate) fn preferred(&self) -> usize {
        let count = self.alternatives.len();
        let mut turns = (0..count).map(|i| (self.default + i) % count);
        turns.find(|&index| !self.alternatives[index].spins).unwrap_or(self.default)
    }
}

/// Chooses at the points of launches.
pub(crate) trait Picker {
    /// Returns the index of an alternative; `None` stops the launch.
    fn pick(&mut self, point: &Point<'_>) -> Option<usize>;
}

/// Takes the canonical schedule.
pub(crate) struct Default;

impl Picker for Default {
    fn pick(&mut self, point: &Point<'_>) -> Option<usize> {
        Some(point.default)
    }
}

/// A strategy that records.
pub(crate) struct Recorder<'p> {
    picker: &'p mut dyn Picker,
    /// The code of each launch.
    code: Vec<Arc<[Place]>>,
    /// Launches that are stopped where all paths spin, in place of the engine, which takes longer
    /// to find that: those all of whose blocks are resident from the start.
    stops: Vec<bool>,
    launches: usize,
    points: usize,
    /// The last point, until its choice is executed.
    pending: Option<usize>,
    steps: FxHashMap<Choice, u64>,
    pub(crate) deviations: Vec<Deviation>,
    pub(crate) trace: Trace,
    /// Whether it has stopped a launch because all paths spin.
    pub(crate) spun: bool,
}

/// Blocks that are resident from the start, whatever the device.
const RESIDENT: u64 = 16;

impl<'p> Recorder<'p> {
    pub(crate) fn new(picker: &'p mut dyn Picker, code: &[Arc<[Place]>]) -> Self {
        Self {
            picker,
            code: code.to_vec(),
            stops: Vec::new(),
            spun: false,
            launches: 0,
            points: 0,
            pending: None,
            steps: FxHashMap::default(),
            deviations: Vec::new(),
            trace: Trace::default(),
        }
    }

    /// Stops launches of these shapes where all their paths spin.
    pub(crate) fn stop_spins(&mut self, shapes: &[Shape]) {
        let few =
            |shape: &Shape| shape.grid.iter().copied().fold(1, u64::saturating_mul) <= RESIDENT;
        self.stops = shapes.iter().map(few).collect();
    }

    fn launch(&self) -> usize {
        self.launches.saturating_sub(1)
    }

    fn place(&self, pc: u64) -> Option<&Place> {
        self.code.get(self.launch())?.get(usize::try_from(pc).ok()?)
    }
}

impl Strategy<1> for Recorder<'_> {
    fn begin(&mut self) {
        self.launches += 1;
        self.steps.clear();
        self.pending = None;
        self.trace.quiet = false;
    }

    fn choose(&mut self, point: &ChoicePoint<'_, 1>) -> Option<usize> {
        let ChoicePoint { alternatives, default, continues } = *point;
        // Nothing changes any more: the engine is about to find that.
        self.trace.quiet = alternatives.iter().all(|alternative| alternative.spins);
        if self.trace.quiet {
            self.spun = self.stops.get(self.launch()) == Some(&true);
            return (!self.spun).then_some(default);
        }
        let instead_of = alternatives[default].choice;
        let step = self.steps.get(&instead_of).copied().unwrap_or(0);
        let launch = self.launch();
        let trace = &self.trace;
        let point = Point { launch, alternatives, default, continues, step, trace };
        let index = self.picker.pick(&point)?;
        let choice = alternatives.get(index)?.choice;
        if index != default {
            self.deviations.push(Deviation { launch, instead_of, step, choice });
        }
        self.pending = Some(self.points);
        self.points += 1;
        Some(index)
    }

    fn issues(&mut self, issue: &Alternative<1>) {
        let count = self.steps.entry(issue.choice).or_default();
        let step = std::mem::replace(count, *count + 1);
        let event = Event {
            launch: self.launch(),
            point: self.pending.take(),
            path: issue.choice,
            group: issue.group,
            lanes: issue.lanes,
            pc: issue.pc.0,
            step,
            touches: Vec::new(),
            meetings: Vec::new(),
        };
        let code = self.code.get(self.launch()).cloned();
        let place = code.as_ref().and_then(|code| code.get(usize::try_from(issue.pc.0).ok()?));
        self.trace.push(event, place);
    }

    fn access(&mut self, access: &Access<'_>) {
        let place = self.place(access.pc.0).cloned();
        self.trace.access(access, place.as_ref());
    }

    fn sync(&mut self, sync: &Sync<'_, 1>) {
        self.trace.sync(sync);
    }
}

/// The code of launches, with their kernels.
#[derive(Default)]
pub(crate) struct Launches {
    pub(crate) kernels: Vec<String>,
    pub(crate) code: Vec<Arc<[Place]>>,
    pub(crate) shapes: Vec<Shape>,
}

impl Probe for Launches {
    fn begin(&mut self, launch: &LaunchStart<'_>) {
        self.kernels.push(launch.kernel.to_owned());
        self.code.push(Arc::clone(launch.places));
        self.shapes.push(launch.shape);
    }
}

impl EventSink for Launches {
    fn events(&self) -> Events {
        Events::NONE
    }
}
