//! Searches through launches: races, and the first difference from another mechanism.
//!
//! A search has states of its own and makes the issues of the launch once more, on the exact
//! engine, as far as the debugger has come.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use checks::probe::{EventSink as _, LaunchStart, Place, Probe as _, Shape, SinkObserver};
use checks::race;
use debug::{Found, Lanes, Searcher, Segment};
use simt::machine::Step;
use simt::observe::{AnyObserver, Events, GroupId, Issue, Observer};
use simt::{LaneMask, Pc};
use vm::{Compiled, Program, State};

use crate::Kernel;

/// Issues between two looks at the flag that interrupts.
const POLL: u64 = 1 << 12;
/// Most issues of the other mechanism that wait to be compared.
const MOST_WAITING: usize = 1 << 22;

/// Accesses that race, by the rule of [`checks::race`].
pub(crate) struct Races<'p, const N: usize> {
    program: &'p Program,
    /// States that are still to come, the next one first.
    segments: VecDeque<Segment<State<N>>>,
    state: Option<State<N>>,
    at: u64,
    races: race::Races,
    found: Vec<Found>,
}

impl<'p, const N: usize> Races<'p, N> {
    pub(crate) fn new(kernel: &Kernel<'p, N>, segments: Vec<Segment<State<N>>>) -> Self {
        let mut races = race::Races::default();
        let width = segments.first().map_or(0, |(_, state)| state.setup().width);
        let shape = Shape { grid: kernel.grid, block: kernel.block, width };
        races.begin(&LaunchStart { kernel: "", shape, places: kernel.places });
        let at = segments.first().map_or(0, |(at, _)| *at);
        let segments = segments.into();
        Self { program: kernel.program, segments, state: None, at, races, found: Vec::new() }
    }
}

impl<const N: usize> Searcher for Races<'_, N>
where
    State<N>: Compiled<N>,
{
    fn advance(&mut self, position: u64, interrupt: &AtomicBool) -> bool {
        debug_assert!(self.races.events().has(Events::ACCESS));
        while self.at < position {
            if self.at.is_multiple_of(POLL) && interrupt.load(Ordering::Relaxed) {
                return false;
            }
            if let Some((_, state)) = self.segments.pop_front_if(|(at, _)| *at <= self.at) {
                self.state = Some(state);
                continue;
            }
            let Some(state) = &mut self.state else { return true };
            let sink = &mut SinkObserver(&mut self.races);
            let step = state.run_observed(self.program, &mut AnyObserver::new(sink), 1);
            if !matches!(step, Step::Issued) {
                // Later segments begin before the end.
                return true;
            }
            let races = self.races.take();
            if let Some(race) = races.first() {
                self.found.push(described(race, (self.at, races.len())));
            }
            self.at += 1;
        }
        true
    }

    fn found(&self) -> &[Found] {
        &self.found
    }
}

/// The first of several races of an issue.
fn described(race: &race::Race, (position, count): (u64, usize)) -> Found {
    let side = |access: &race::RacingAccess| {
        format!("{:?} at {} by {}", access.kind, access.place.describe(), access.site)
    };
    let (first, second) = (&race.first, &race.second);
    let mut text = format!(
        "race for byte {:#x} of {} memory: {}; {}",
        race.address,
        race.space.name(),
        side(first).to_lowercase(),
        side(second).to_lowercase()
    );
    if count > 1 {
        text += &format!("; {} more", count - 1);
    }
    let group = GroupId { cta: second.thread.cta, group: second.site.warp, first_thread: 0 };
    let lanes = second.site.lanes.iter().fold(Lanes::EMPTY, |mut lanes, &lane| {
        lanes.insert(lane as usize);
        lanes
    });
    Found { position, group, lanes, text }
}

/// A launch under a mechanism.
pub(crate) struct Side<'p, const N: usize> {
    program: &'p Program,
    places: Arc<[Place]>,
    state: State<N>,
    ended: bool,
}

/// An issue as it is compared.
struct Record<const N: usize> {
    pc: Pc,
    lanes: LaneMask<N>,
}

/// The last issue.
struct Last<const N: usize>(Option<(GroupId, Record<N>)>);

impl<const N: usize> Observer<N> for Last<N> {
    const EVENTS: Events = Events::ISSUE;

    fn issue(&mut self, issue: &Issue<'_, N>) {
        self.0 = Some((issue.group, Record { pc: issue.pc, lanes: issue.lanes.unmasked }));
    }
}

impl<'p, const N: usize> Side<'p, N>
where
    State<N>: Compiled<N>,
{
    pub(crate) fn new(program: &'p Program, places: &Arc<[Place]>, state: State<N>) -> Self {
        Self { program, places: Arc::clone(places), state, ended: false }
    }

    fn place(&self, pc: Pc) -> Option<&Place> {
        self.places.get(usize::try_from(pc.0).ok()?)
    }

    /// Makes one issue. Returns it unless a pass has inserted it or it has no lanes.
    fn issue(&mut self) -> Option<(GroupId, Record<N>)> {
        let mut last = Last(None);
        let step = self.state.run_observed(self.program, &mut AnyObserver::new(&mut last), 1);
        self.ended = !matches!(step, Step::Issued);
        let (group, record) = last.0.filter(|_| !self.ended)?;
        let own = self.place(record.pc).is_some_and(|place| place.origin.is_empty());
        (own && record.lanes.any()).then_some((group, record))
    }
}

/// The first issue at which a group does something else than under another mechanism: its n-th
/// issue is compared with its n-th issue there, by statement and lanes.
pub(crate) struct Difference<'p, const N: usize> {
    ours: Side<'p, N>,
    theirs: Side<'p, N>,
    other: String,
    at: u64,
    /// Issues of the other launch that are not compared yet, by block and group.
    waiting: BTreeMap<(u64, u32), VecDeque<Record<N>>>,
    count: usize,
    found: Vec<Found>,
}

impl<'p, const N: usize> Difference<'p, N>
where
    State<N>: Compiled<N>,
{
    pub(crate) fn new(ours: Side<'p, N>, theirs: Side<'p, N>, other: &str) -> Self {
        let (waiting, found, other) = (BTreeMap::new(), Vec::new(), other.to_owned());
        Self { ours, theirs, other, at: 0, waiting, count: 0, found }
    }

    /// The next issue of a group in the other launch; none if it has no more, or none in reach.
    fn other_issue(&mut self, key: (u64, u32)) -> Option<Record<N>> {
        loop {
            if let Some(record) = self.waiting.get_mut(&key).and_then(VecDeque::pop_front) {
                self.count -= 1;
                return Some(record);
            }
            if self.theirs.ended || self.count >= MOST_WAITING {
                return None;
            }
            if let Some((group, record)) = self.theirs.issue() {
                self.waiting.entry((group.cta, group.group)).or_default().push_back(record);
                self.count += 1;
            }
        }
    }

    fn compare(&mut self, group: GroupId, own: &Record<N>) {
        let other = self.other_issue((group.cta, group.group));
        let does = match &other {
            None if self.count >= MOST_WAITING => return,
            None => "has ended there".to_owned(),
            Some(other) => {
                let statement = |side: &Side<'p, N>, record: &Record<N>| {
                    let place = side.place(record.pc)?;
                    Some((place.span, place.span.is_none().then(|| Arc::clone(&place.text))))
                };
                let same = statement(&self.ours, own) == statement(&self.theirs, other);
                if same && own.lanes == other.lanes {
                    return;
                }
                let place = self.theirs.place(other.pc).map(Place::describe);
                format!("issues {} for lanes {}", place.unwrap_or_default(), other.lanes)
            }
        };
        let here = self.ours.place(own.pc).map(Place::describe).unwrap_or_default();
        let text = format!(
            "the warp issues {here} for lanes {}; under {} it {does}",
            own.lanes, self.other
        );
        let lanes = own.lanes.resized();
        self.found.push(Found { position: self.at, group, lanes, text });
    }
}

impl<const N: usize> Searcher for Difference<'_, N>
where
    State<N>: Compiled<N>,
{
    fn advance(&mut self, position: u64, interrupt: &AtomicBool) -> bool {
        // Behind the first difference nothing is looked for.
        while self.at < position && self.found.is_empty() && !self.ours.ended {
            if self.at.is_multiple_of(POLL) && interrupt.load(Ordering::Relaxed) {
                return false;
            }
            if let Some((group, record)) = self.ours.issue() {
                self.compare(group, &record);
            }
            self.at += 1;
        }
        true
    }

    fn found(&self) -> &[Found] {
        &self.found
    }
}
