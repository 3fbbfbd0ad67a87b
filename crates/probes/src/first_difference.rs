//! The first issue at which two mechanisms differ.
//!
//! Groups are compared one by one: issue number n of a group under one mechanism with its issue
//! number n under the other. Two issues are equal if statement and lanes are equal. Operations that
//! a pass inserted and issues without lanes are skipped, so that a mechanism with a pass can be
//! compared with one without. Among all groups, the one that differs first in the first run is
//! reported.

use std::collections::BTreeMap;
use std::sync::Arc;

use isa::Span;
use machines::probe::{EventSink, Lanes, LaunchStart, Place, Probe, WORDS};
use simt::observe::{Events, GroupId, Issue};
use smallvec::SmallVec;

/// Most recorded issues of the first run.
const MAX_RECORDED: usize = 1 << 22;
/// Issues that are shown after the difference.
pub(crate) const SHOWN_AFTER: usize = 4;

/// One issue of a group.
#[derive(Clone, Debug, PartialEq)]
pub struct IssueRecord {
    /// Its number among the issues of all groups in the launch.
    pub number: u64,
    /// The instruction.
    pub place: Place,
    /// The lanes for which it was issued, without those that the machine's mask turns off.
    pub lanes: Lanes,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct PackedIssue {
    number: u64,
    pub(crate) pc: u32,
    pub(crate) mask: u32,
}

/// A group of a launch.
pub(crate) type GroupKey = (usize, GroupId);

/// The probe of the first run.
#[derive(Clone, Debug, Default)]
pub struct IssueRecording {
    pub(crate) launches: Vec<Arc<[Place]>>,
    pub(crate) groups: BTreeMap<GroupKey, Vec<PackedIssue>>,
    pub(crate) masks: Vec<Lanes>,
    index: rustc_hash::FxHashMap<Lanes, u32>,
    number: u64,
    recorded: usize,
    /// Whether an issue was left out.
    dropped: bool,
}

/// Returns whether an issue is compared.
fn is_compared(place: &Place, lanes: &Lanes) -> bool {
    place.origin.is_empty() && lanes.any()
}

/// A statement of the program, whatever a pass made of the code: its place in the text, or its
/// own text.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Statement<'p> {
    At(Span),
    Text(&'p str),
}

/// Returns the statement of a place.
pub(crate) fn statement(place: &Place) -> Statement<'_> {
    place.span.map_or(Statement::Text(&place.text), Statement::At)
}

impl IssueRecording {
    /// Returns whether all issues were recorded.
    #[must_use]
    pub fn complete(&self) -> bool {
        !self.dropped
    }

    pub(crate) fn record_of(&self, launch: usize, record: PackedIssue) -> Option<IssueRecord> {
        let place = self.launches.get(launch)?.get(record.pc as usize)?.clone();
        let lanes = *self.masks.get(record.mask as usize)?;
        Some(IssueRecord { number: record.number, place, lanes })
    }
}

impl Probe for IssueRecording {
    fn begin(&mut self, launch: &LaunchStart<'_>) {
        self.launches.push(Arc::clone(launch.places));
        self.number = 0;
    }
}

impl EventSink for IssueRecording {
    fn events(&self) -> Events {
        Events::ISSUE
    }

    fn issue(&mut self, issue: &Issue<'_, WORDS>) {
        let number = self.number;
        self.number += 1;
        let Some(launch) = self.launches.len().checked_sub(1) else { return };
        let Ok(pc) = u32::try_from(issue.pc.0) else { return };
        let Some(place) = self.launches[launch].get(pc as usize) else { return };
        let lanes = issue.lanes.unmasked;
        if !is_compared(place, &lanes) {
            return;
        }
        if self.recorded >= MAX_RECORDED {
            self.dropped = true;
            return;
        }
        self.recorded += 1;
        let mask = *self.index.entry(lanes).or_insert_with(|| {
            self.masks.push(lanes);
            u32::try_from(self.masks.len() - 1).unwrap_or(u32::MAX)
        });
        self.groups.entry((launch, issue.group)).or_default().push(PackedIssue {
            number,
            pc,
            mask,
        });
    }
}

/// The probe of the second run, which compares it with the first.
#[derive(Debug)]
pub struct IssueComparison<'r> {
    first: &'r IssueRecording,
    launches: Vec<Arc<[Place]>>,
    at: BTreeMap<GroupKey, usize>,
    differences: BTreeMap<GroupKey, (usize, SmallVec<[IssueRecord; SHOWN_AFTER]>)>,
    number: u64,
}

/// The first difference between two mechanisms.
#[derive(Clone, Debug, PartialEq)]
pub struct FirstDifference {
    /// Index of the launch, from 0.
    pub launch: usize,
    /// The group.
    pub group: GroupId,
    /// Number of equal issues of the group before the difference.
    pub common: usize,
    /// The last equal issue.
    pub last: Option<IssueRecord>,
    /// The next issues under the first mechanism; empty if the group has ended.
    pub first: Vec<IssueRecord>,
    /// The next issues under the second mechanism.
    pub second: Vec<IssueRecord>,
}

impl<'r> IssueComparison<'r> {
    /// Creates a probe that compares a run with `first`.
    #[must_use]
    pub fn new(first: &'r IssueRecording) -> Self {
        let (at, differences) = (BTreeMap::new(), BTreeMap::new());
        Self { first, launches: Vec::new(), at, differences, number: 0 }
    }

    /// Returns the first difference; `None` if there is none among the recorded issues.
    #[must_use]
    pub fn outcome(mut self) -> Option<FirstDifference> {
        // Groups that ended earlier in the second run.
        for (key, records) in &self.first.groups {
            let at = self.at.get(key).copied().unwrap_or(0);
            if at < records.len() && !self.differences.contains_key(key) {
                self.differences.insert(*key, (at, SmallVec::new()));
            }
        }
        let when = |key: &GroupKey, at: usize| {
            let records = self.first.groups.get(key);
            let record = records.and_then(|r| r.get(at).or(r.last()));
            (key.0, record.map_or(0, |r| r.number))
        };
        let (key, (at, second)) = self.differences.iter().min_by_key(|(key, p)| when(key, p.0))?;
        let records = self.first.groups.get(key).map_or(&[][..], Vec::as_slice);
        let issue = |record: &PackedIssue| self.first.record_of(key.0, *record);
        let last = at.checked_sub(1).and_then(|i| records.get(i)).and_then(issue);
        let first = records.iter().skip(*at).take(SHOWN_AFTER).filter_map(issue).collect();
        let second = second.to_vec();
        Some(FirstDifference { launch: key.0, group: key.1, common: *at, last, first, second })
    }
}

impl Probe for IssueComparison<'_> {
    fn begin(&mut self, launch: &LaunchStart<'_>) {
        self.launches.push(Arc::clone(launch.places));
        self.number = 0;
    }
}

impl EventSink for IssueComparison<'_> {
    fn events(&self) -> Events {
        Events::ISSUE
    }

    fn issue(&mut self, issue: &Issue<'_, WORDS>) {
        let number = self.number;
        self.number += 1;
        let Some(launch) = self.launches.len().checked_sub(1) else { return };
        let pc = usize::try_from(issue.pc.0).unwrap_or(usize::MAX);
        let Some(place) = self.launches[launch].get(pc) else { return };
        let lanes = issue.lanes.unmasked;
        if !is_compared(place, &lanes) {
            return;
        }
        let key = (launch, issue.group);
        if let Some((_, following)) = self.differences.get_mut(&key) {
            if following.len() < SHOWN_AFTER {
                following.push(IssueRecord { number, place: place.clone(), lanes });
            }
            return;
        }
        let at = self.at.entry(key).or_default();
        let record = self.first.groups.get(&key).and_then(|records| records.get(*at));
        let other = record.and_then(|r| {
            let places = self.first.launches.get(launch)?;
            Some((places.get(r.pc as usize)?, self.first.masks.get(r.mask as usize)?))
        });
        match other {
            Some((other, mask)) if *mask == lanes && statement(other) == statement(place) => {
                *at += 1;
            }
            None if !self.first.complete() => {}
            _ => {
                let issue = IssueRecord { number, place: place.clone(), lanes };
                self.differences.insert(key, (*at, SmallVec::from_iter([issue])));
            }
        }
    }
}
