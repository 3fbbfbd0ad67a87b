//! The findings of a run: each once, counted, in order, and bounded.

use crate::finding::Finding;
use crate::kind::{Check, CheckSet, KINDS, Kind};
use crate::suppress::Suppressions;

/// Findings of a kind that are kept; others are counted.
pub const MOST_OF_A_KIND: usize = 100;

/// The findings of a run.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// The checks that were on.
    pub checks: CheckSet,
    /// The program, as it was named.
    pub program: String,
    found: Vec<Finding>,
    suppressed: Vec<(usize, Finding)>,
    /// Findings that were not kept, by kind.
    omitted: Vec<u64>,
    /// Whether a check could not follow everything.
    incomplete: Vec<Check>,
}

impl Findings {
    /// Returns an empty list for a program and these checks.
    #[must_use]
    pub fn new(program: impl Into<String>, checks: CheckSet) -> Self {
        Self { checks, program: program.into(), ..Self::default() }
    }

    /// Adds a finding, or its count to that of the same one. Of each kind the first
    /// 100 are kept.
    pub fn add(&mut self, finding: Finding) {
        if let Some(known) = self.found.iter_mut().find(|known| known.is_same(&finding)) {
            known.count = known.count.saturating_add(finding.count);
            return;
        }
        let kind = finding.kind;
        if self.found.iter().filter(|known| known.kind == kind).count() >= MOST_OF_A_KIND {
            self.add_omitted(kind, finding.count);
            return;
        }
        self.found.push(finding);
    }

    /// Adds all findings of another list.
    pub fn append(&mut self, other: Self) {
        other.all_omitted().for_each(|(kind, count)| self.add_omitted(kind, count));
        other.incomplete.iter().for_each(|&check| self.set_incomplete(check));
        other.found.into_iter().for_each(|finding| self.add(finding));
    }

    /// Adds findings that were found elsewhere and not kept there.
    pub fn add_omitted(&mut self, kind: Kind, count: u64) {
        self.omitted.resize(KINDS.len(), 0);
        self.omitted[kind as usize] = self.omitted[kind as usize].saturating_add(count);
    }

    /// Records that a check could not follow everything: it may have missed findings.
    pub fn set_incomplete(&mut self, check: Check) {
        if !self.incomplete.contains(&check) {
            self.incomplete.push(check);
        }
    }

    /// Orders findings by kind, kernel and line, and takes out those that are suppressed.
    pub fn finish(&mut self, suppressions: &Suppressions) {
        let found = std::mem::take(&mut self.found);
        for finding in found {
            match suppressions.find(&finding, &self.program) {
                Some(index) => self.suppressed.push((index, finding)),
                None => self.found.push(finding),
            }
        }
        self.found.sort_by(|a, b| {
            let key = |f: &Finding| (f.kind, f.launch, f.location.line);
            key(a).cmp(&key(b)).then_with(|| a.kernel.cmp(&b.kernel))
        });
    }

    /// Iterates over the findings that are not suppressed.
    pub fn iter(&self) -> std::slice::Iter<'_, Finding> {
        self.found.iter()
    }

    /// Returns the findings that are not suppressed.
    #[must_use]
    pub fn into_vec(self) -> Vec<Finding> {
        self.found
    }

    /// Iterates over suppressed findings, with the index of their suppression.
    pub fn suppressed(&self) -> std::slice::Iter<'_, (usize, Finding)> {
        self.suppressed.iter()
    }

    /// Returns whether there is no finding that is not suppressed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.found.is_empty() && self.omitted.iter().all(|&n| n == 0)
    }

    /// Returns how many findings of a kind were found beyond those that are kept.
    #[must_use]
    pub fn omitted(&self, kind: Kind) -> u64 {
        self.omitted.get(kind as usize).copied().unwrap_or(0)
    }

    /// Iterates over the kinds of which findings were not kept, with their numbers.
    pub fn all_omitted(&self) -> impl Iterator<Item = (Kind, u64)> {
        let omitted = KINDS.iter().map(|row| (row.kind, self.omitted(row.kind)));
        omitted.filter(|(_, count)| *count > 0)
    }

    /// Returns the checks that could not follow everything.
    #[must_use]
    pub fn incomplete(&self) -> &[Check] {
        &self.incomplete
    }

    /// Returns the exit code of a run with these findings; 0 for none.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        let found = self.found.iter().map(|finding| finding.kind);
        let omitted = KINDS.iter().map(|row| row.kind).filter(|kind| self.omitted(*kind) > 0);
        found.chain(omitted).map(|kind| kind.row().exit_code).min().unwrap_or(0)
    }
}

impl<'a> IntoIterator for &'a Findings {
    type Item = &'a Finding;
    type IntoIter = std::slice::Iter<'a, Finding>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
