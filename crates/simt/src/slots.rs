//! Lane-slot accounting: where the lanes of every issue went.
//!
//! An issue has a [`Domain`]: uniform (width 1, a scalar instruction) or vector (width W, the issue
//! group). Every lane of a vector issue's width falls into exactly one [`SlotCause`], the first
//! that applies in the order of that enum. So the identity
//!
//! ```text
//! sum of widths = never launched + exited + waiting + diverged + predicated off + on
//! ```
//!
//! holds in every run, for every machine and mechanism; [`LaneSlots::identity_holds`] checks it.
//! Unit: lane slots (one lane of one issue).

use crate::mask::LaneMask;

/// The way in which an issue is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Domain {
    /// A scalar instruction: width 1, counted separately.
    Uniform,
    /// A lane-wise instruction: the width of its issue group.
    Vector,
}

/// The reason that a lane slot of a vector issue did or did not do work. In order of precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SlotCause {
    /// The block, or the valid mask, has no thread for this lane.
    NeverLaunched,
    /// The lane's thread has ended.
    Exited,
    /// The lane waits at a barrier or a collective.
    Waiting,
    /// The lane is on another path.
    Diverged,
    /// The lane is in the issuing group, but a guard, predicate or mask turns it off.
    PredicatedOff,
    /// The lane executes the instruction.
    On,
}

impl SlotCause {
    /// All causes, in order of precedence.
    pub const ALL: [Self; 6] = [
        Self::NeverLaunched,
        Self::Exited,
        Self::Waiting,
        Self::Diverged,
        Self::PredicatedOff,
        Self::On,
    ];

    /// The name used in statistics: `never_launched`, `exited`, `waiting`, `diverged`,
    /// `predicated_off`, `on`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NeverLaunched => "never_launched",
            Self::Exited => "exited",
            Self::Waiting => "waiting",
            Self::Diverged => "diverged",
            Self::PredicatedOff => "predicated_off",
            Self::On => "on",
        }
    }
}

/// A value for each cause. The order of the causes shows nowhere but here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ByCause<T>([T; SlotCause::ALL.len()]);

impl<T> ByCause<T> {
    /// Returns the value of a cause.
    #[inline]
    #[must_use]
    pub fn of(&self, cause: SlotCause) -> &T {
        &self.0[cause as usize]
    }

    /// Returns the value of a cause, to change it.
    #[inline]
    pub fn of_mut(&mut self, cause: SlotCause) -> &mut T {
        &mut self.0[cause as usize]
    }

    /// Iterates over causes and values, in order of precedence.
    pub fn iter(&self) -> impl Iterator<Item = (SlotCause, &T)> {
        SlotCause::ALL.into_iter().zip(&self.0)
    }
}

/// The lane sets of one vector issue, from which each lane's cause follows.
///
/// The sets may overlap; precedence decides. A lane of the width that is in no set is diverged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IssueLanes<const N: usize = 1> {
    /// Slots of the issue. Lane `l` takes slot `l % width`: that is lane `l` itself, but in a group
    /// that gathers lanes of several warps. There at most one active lane takes a slot; a slot that
    /// none takes has the last cause, in the order of [`SlotCause`], that any of its lanes has.
    pub width: u32,
    /// Lanes that have a thread.
    pub launched: LaneMask<N>,
    /// Lanes whose thread has ended.
    pub exited: LaneMask<N>,
    /// Lanes that wait at a synchronisation.
    pub waiting: LaneMask<N>,
    /// Lanes of the group that issues: its active mask. Empty in an idle issue.
    pub active: LaneMask<N>,
    /// Active lanes that a mask of the machine (EXEC, a mask bank) leaves on. Machines without one
    /// give `active`.
    pub unmasked: LaneMask<N>,
    /// Active lanes that execute: unmasked, and the guard holds.
    pub on: LaneMask<N>,
}

impl<const N: usize> IssueLanes<N> {
    /// The lanes of each cause; disjoint, and together `0..width`.
    #[must_use]
    pub fn by_cause(&self) -> ByCause<LaneMask<N>> {
        let width = self.width as usize;
        if width > 0 && self.launched.highest().is_some_and(|lane| lane >= width) {
            return self.folded().by_cause();
        }
        let mut rest = LaneMask::first(self.width as usize);
        ByCause(SlotCause::ALL.map(|cause| {
            let set = match cause {
                SlotCause::NeverLaunched => !self.launched,
                SlotCause::Exited => self.exited,
                SlotCause::Waiting => self.waiting,
                SlotCause::Diverged => !self.active,
                SlotCause::PredicatedOff => !self.on,
                SlotCause::On => rest,
            };
            let lanes = rest & set;
            rest -= lanes;
            lanes
        }))
    }

    /// Of the predicated-off lanes, those that the machine's mask turns off rather than a guard.
    #[must_use]
    pub fn masked_off(&self) -> LaneMask<N> {
        if self.unmasked == self.active {
            return LaneMask::EMPTY;
        }
        *self.by_cause().of(SlotCause::PredicatedOff) - self.folded().unmasked
    }

    /// By slot: each set as the slots that its lanes take, so that the cause of a slot is the last
    /// of its lanes' causes.
    #[must_use]
    pub fn folded(&self) -> Self {
        let width = self.width.max(1) as usize;
        let slots = |set: LaneMask<N>| set.iter().map(|lane| lane % width).collect::<LaneMask<N>>();
        let launched = slots(self.launched);
        let live = self.launched - self.exited;
        Self {
            width: self.width,
            launched,
            exited: launched - slots(live),
            waiting: launched - slots(live - self.waiting),
            active: slots(self.active),
            unmasked: slots(self.unmasked),
            on: slots(self.on),
        }
    }
}

/// Lanes of vector issues of one group, summed over the issues. Lanes of the groups' width that no
/// field counts are diverged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupLanes {
    /// Lanes without a thread.
    pub never_launched: u64,
    /// Lanes whose thread has ended.
    pub exited: u64,
    /// Lanes that wait at a synchronisation.
    pub waiting: u64,
    /// Lanes in the active mask, those that a guard turns off included.
    pub active: u64,
}

/// Totals over a run. All counts are exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaneSlots {
    /// Vector issues, idle ones included.
    pub vector_issues: u64,
    /// Vector issues with an empty active mask: a conservative branch of a mechanism fetched for
    /// nobody.
    pub idle_issues: u64,
    /// Uniform issues, each of width 1.
    pub uniform_issues: u64,
    /// Sum of the widths of all vector issues.
    pub width: u64,
    by_cause: ByCause<u64>,
    /// Of the predicated-off slots: those turned off by the machine's mask rather than by a guard.
    /// In the logical view of masked control flow these are diverged.
    pub masked_off: u64,
}

impl LaneSlots {
    /// Counts one vector issue.
    #[inline]
    pub fn vector<const N: usize>(&mut self, lanes: &IssueLanes<N>) {
        self.vector_issues += 1;
        self.idle_issues += u64::from(lanes.active.is_empty());
        self.width += u64::from(lanes.width);
        for (cause, mask) in lanes.by_cause().iter() {
            *self.by_cause.of_mut(cause) += u64::from(mask.count());
        }
        self.masked_off += u64::from(lanes.masked_off().count());
    }

    /// Returns the totals of `issues` vector issues of `width` lanes each. All active lanes count
    /// as on; [`Self::predicate_off`] then recounts those that guards turn off.
    #[inline]
    #[must_use]
    pub fn of_issues(issues: u64, width: u32, lanes: GroupLanes) -> Self {
        let GroupLanes { never_launched, exited, waiting, active } = lanes;
        let width = issues * u64::from(width);
        let mut slots = Self { vector_issues: issues, width, ..Self::default() };
        let diverged = width - never_launched - exited - waiting - active;
        for (cause, lanes) in [
            (SlotCause::NeverLaunched, never_launched),
            (SlotCause::Exited, exited),
            (SlotCause::Waiting, waiting),
            (SlotCause::Diverged, diverged),
            (SlotCause::On, active),
        ] {
            *slots.by_cause.of_mut(cause) = lanes;
        }
        slots
    }

    /// Recounts lanes that a guard turns off, which were counted as on.
    #[inline]
    pub fn predicate_off(&mut self, lanes: u64) {
        *self.by_cause.of_mut(SlotCause::On) -= lanes;
        *self.by_cause.of_mut(SlotCause::PredicatedOff) += lanes;
    }

    /// Counts one uniform issue.
    #[inline]
    pub fn uniform(&mut self) {
        self.uniform_issues += 1;
    }

    /// Slots by cause.
    #[must_use]
    pub fn by_cause(&self) -> &ByCause<u64> {
        &self.by_cause
    }

    /// Slots of one cause.
    #[must_use]
    pub fn of(&self, cause: SlotCause) -> u64 {
        *self.by_cause.of(cause)
    }

    /// Of the predicated-off slots: those turned off by a guard rather than by the machine's mask.
    #[must_use]
    pub fn guarded_off(&self) -> u64 {
        self.of(SlotCause::PredicatedOff).saturating_sub(self.masked_off)
    }

    /// Returns whether every slot has exactly one cause.
    #[must_use]
    pub fn identity_holds(&self) -> bool {
        self.by_cause.0.iter().sum::<u64>() == self.width
    }

    /// Vector issues and uniform issues together: instructions issued.
    #[must_use]
    pub fn issues(&self) -> u64 {
        self.vector_issues + self.uniform_issues
    }

    /// Lanes in issuing groups, guarded off or not, over vector issues (`thread_inst_executed`).
    #[must_use]
    pub fn active(&self) -> u64 {
        self.of(SlotCause::On) + self.of(SlotCause::PredicatedOff)
    }

    /// Share of slots whose lane was in the issuing group: warp execution efficiency, SIMD
    /// efficiency. 0 without issues.
    #[must_use]
    pub fn execution_efficiency(&self) -> f64 {
        ratio(self.active(), self.width)
    }

    /// Share of so many lanes in all slots. 0 without issues.
    #[must_use]
    pub fn share(&self, lanes: u64) -> f64 {
        ratio(lanes, self.width)
    }

    /// Adds another run's totals.
    pub fn add(&mut self, other: &Self) {
        self.add_times(other, 1);
    }

    /// Adds another run's totals `times` times.
    #[inline]
    pub fn add_times(&mut self, other: &Self, times: u64) {
        self.vector_issues += other.vector_issues * times;
        self.idle_issues += other.idle_issues * times;
        self.uniform_issues += other.uniform_issues * times;
        self.width += other.width * times;
        self.masked_off += other.masked_off * times;
        for (a, b) in self.by_cause.0.iter_mut().zip(&other.by_cause.0) {
            *a += b * times;
        }
    }
}

/// Returns a part of a whole; 0 if the whole is.
pub(crate) fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_of_several_warps_share_slots() {
        // Slots 0..4; lanes 0..10 launched. Lane 4 issues in slot 0; lanes 1, 5 have exited, and 9
        // waits: slot 1 waits. Slot 2: lane 2 has exited, 6 is on another path: diverged. Slot 3:
        // both have exited.
        let lanes = IssueLanes::<1> {
            width: 4,
            launched: LaneMask::first(10),
            exited: LaneMask::from_bits(0b00_1010_1110),
            waiting: LaneMask::from_bits(0b10_0000_0001),
            active: LaneMask::lane(4),
            unmasked: LaneMask::lane(4),
            on: LaneMask::lane(4),
        };
        let bits = SlotCause::ALL.map(|cause| lanes.by_cause().of(cause).bits());
        assert_eq!(bits, [0, 8, 2, 4, 0, 1]);
        let mut slots = LaneSlots::default();
        slots.vector(&lanes);
        assert!(slots.identity_holds());
    }

    #[test]
    fn lanes_of_a_group_that_no_cause_takes_are_diverged() {
        let lanes = GroupLanes { never_launched: 3, exited: 5, waiting: 0, active: 40 };
        let mut slots = LaneSlots::of_issues(2, 32, lanes);
        slots.predicate_off(10);
        let counts = SlotCause::ALL.map(|cause| slots.of(cause));
        assert_eq!(counts, [3, 5, 0, 16, 10, 30]);
        assert_eq!((slots.vector_issues, slots.active()), (2, 40));
        let mut sum = slots;
        sum.add_times(&slots, 2);
        assert!(slots.identity_holds() && sum.identity_holds());
        assert_eq!(sum.of(SlotCause::On), 90);
    }

    #[test]
    fn each_lane_has_the_first_cause_that_applies() {
        let lanes = IssueLanes::<1> {
            width: 8,
            launched: LaneMask::from_bits(0b0111_1111),
            exited: LaneMask::from_bits(0b1100_0000), // lane 7 was never launched: that comes first
            waiting: LaneMask::from_bits(0b0010_0000),
            active: LaneMask::from_bits(0b0000_1111),
            unmasked: LaneMask::from_bits(0b0000_0111),
            on: LaneMask::from_bits(0b0000_0011),
        };
        let bits = SlotCause::ALL.map(|cause| lanes.by_cause().of(cause).bits());
        assert_eq!(bits, [0x80, 0x40, 0x20, 0x10, 0x0c, 0x03]);
        let mut slots = LaneSlots::default();
        slots.vector(&lanes);
        assert!(slots.identity_holds());
        assert_eq!((slots.active(), slots.masked_off, slots.idle_issues), (4, 1, 0));
    }
}
