//! The first merge that one mechanism has and another lacks.
//!
//! Under every mechanism a lane executes the same instructions in the same order, as long as the
//! kernel does not see the schedule. So an execution has a name that does not depend on the
//! mechanism: the lane, the statement, and how many times the lane has executed it before. A
//! *merge* is an issue whose lanes were in different issues before. The other mechanism lacks it if
//! it executes the same for lanes of two of these parts in different issues. What only one of the
//! runs executes (branches that a pass has replaced) is left out.

use machines::probe::Lanes;
use rustc_hash::FxHashMap;
use simt::observe::GroupId;

use crate::first_difference::{
    GroupKey, IssueRecord, IssueRecording, PackedIssue, Statement, statement,
};

/// Most executions of lanes that are looked at in a group.
const MOST_STEPS: u64 = 1 << 24;
/// Most issues of the other run that are shown.
const SHOWN: usize = 4;

/// A merge that one of two runs has and the other lacks.
#[derive(Clone, Debug, PartialEq)]
pub struct FirstMerge {
    /// Index of the launch, from 0.
    pub launch: usize,
    /// The group.
    pub group: GroupId,
    /// Which of the two runs has it: 0 or 1.
    pub run: usize,
    /// The issue in which the lanes are together.
    pub issue: IssueRecord,
    /// What came together: the last issue of each part, with the lanes of the part.
    pub parts: Vec<(Option<IssueRecord>, Lanes)>,
    /// The issues in which the other run executes the same.
    pub apart: Vec<IssueRecord>,
}

/// Returns the first merge that only one of two runs has; `None` if there is none among the
/// recorded issues.
#[must_use]
pub fn first_merge(runs: [&IssueRecording; 2]) -> Option<FirstMerge> {
    let mut first: Option<((usize, u64, usize), FirstMerge)> = None;
    for (key, records) in &runs[0].groups {
        let Some(others) = runs[1].groups.get(key) else { continue };
        let pair = [records.as_slice(), others.as_slice()];
        let statements = statements(runs, key.0);
        for run in [0, 1] {
            let group = Group { key: *key, runs, records: pair, statements: &statements, run };
            let Some(found) = group.search() else { continue };
            let when = (key.0, found.issue.number, run);
            if first.as_ref().is_none_or(|(known, _)| when < *known) {
                first = Some((when, found));
            }
        }
    }
    first.map(|(_, found)| found)
}

/// Numbers the statements of a launch, alike in both runs.
fn statements(runs: [&IssueRecording; 2], launch: usize) -> [Vec<u32>; 2] {
    let mut numbers: FxHashMap<Statement<'_>, u32> = FxHashMap::default();
    runs.map(|run| {
        let places = run.launches.get(launch).map_or(&[][..], |places| places);
        let number = |place| {
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            *numbers.entry(statement(place)).or_insert(next)
        };
        places.iter().map(number).collect()
    })
}

struct Group<'a> {
    key: GroupKey,
    runs: [&'a IssueRecording; 2],
    records: [&'a [PackedIssue]; 2],
    statements: &'a [Vec<u32>; 2],
    /// The run whose merges are looked for.
    run: usize,
}

/// The name of an execution: lane, statement, number.
type Execution = (u16, u32, u32);

impl Group<'_> {
    /// Calls `each` with every issue of a run and the names of its executions by lane, until it
    /// returns `false` or the bound is reached.
    fn walk(&self, run: usize, mut each: impl FnMut(usize, &[Execution]) -> bool) {
        let mut counts: FxHashMap<(u16, u32), u32> = FxHashMap::default();
        let (mut steps, mut named) = (0, Vec::new());
        for (index, record) in self.records[run].iter().enumerate() {
            let lanes = self.lanes(run, record);
            let statement = self.statements[run].get(record.pc as usize).copied().unwrap_or(0);
            steps += u64::from(lanes.count());
            if steps > MOST_STEPS {
                return;
            }
            named.clear();
            for lane in lanes {
                let lane = u16::try_from(lane).unwrap_or(u16::MAX);
                let count = counts.entry((lane, statement)).or_default();
                named.push((lane, statement, *count));
                *count += 1;
            }
            if !each(index, &named) {
                return;
            }
        }
    }

    fn lanes(&self, run: usize, record: &PackedIssue) -> Lanes {
        self.runs[run].masks.get(record.mask as usize).copied().unwrap_or(Lanes::EMPTY)
    }

    fn issue(&self, run: usize, index: usize) -> Option<IssueRecord> {
        self.runs[run].record_of(self.key.0, *self.records[run].get(index)?)
    }

    fn search(&self) -> Option<FirstMerge> {
        let other = 1 - self.run;
        let mut of_other: FxHashMap<Execution, u32> = FxHashMap::default();
        self.walk(other, |index, executions| {
            let index = u32::try_from(index).unwrap_or(u32::MAX);
            of_other.extend(executions.iter().map(|execution| (*execution, index)));
            true
        });
        let mut before: FxHashMap<u16, usize> = FxHashMap::default();
        let mut found = None;
        self.walk(self.run, |index, executions| {
            let part = |lane: u16| before.get(&lane).copied();
            // The first lane of each part, with its issue in the other run.
            let known = executions.iter().filter_map(|e| Some((part(e.0), *of_other.get(e)?)));
            let known: Vec<(Option<usize>, u32)> = known.collect();
            // Of two parts and two issues there are lanes that differ in both.
            let lacks = known.first().is_some_and(|&(part, issue)| {
                known.iter().any(|k| k.0 != part) && known.iter().any(|k| k.1 != issue)
            });
            if lacks {
                let lanes: Vec<(u16, Option<usize>)> =
                    executions.iter().map(|e| (e.0, part(e.0))).collect();
                let mut apart: Vec<u32> = known.iter().map(|k| k.1).collect();
                apart.sort_unstable();
                apart.dedup();
                found = self.describe(index, &lanes, &apart);
                return false;
            }
            before.extend(executions.iter().map(|e| (e.0, index)));
            true
        });
        found
    }

    fn describe(
        &self,
        index: usize,
        lanes: &[(u16, Option<usize>)],
        apart: &[u32],
    ) -> Option<FirstMerge> {
        let mut parts: Vec<(Option<usize>, Lanes)> = Vec::new();
        for &(lane, before) in lanes {
            let at = parts.iter().position(|part| part.0 == before).unwrap_or_else(|| {
                parts.push((before, Lanes::EMPTY));
                parts.len() - 1
            });
            parts[at].1.insert(lane.into());
        }
        let parts = parts.into_iter();
        let other = 1 - self.run;
        Some(FirstMerge {
            launch: self.key.0,
            group: self.key.1,
            run: self.run,
            issue: self.issue(self.run, index)?,
            parts: parts
                .map(|(before, lanes)| (before.and_then(|i| self.issue(self.run, i)), lanes))
                .collect(),
            apart: apart
                .iter()
                .take(SHOWN)
                .filter_map(|&i| self.issue(other, i as usize))
                .collect(),
        })
    }
}
