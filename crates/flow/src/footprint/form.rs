//! Integers that are linear in the coordinates of CTAs and threads, and in the numbers of
//! iterations.

/// Coordinates: those of the CTA (`ctaid`), then those of the thread (`tid`), x first, and then the
/// number of the iteration of each loop that counts.
pub(super) const AXES: usize = LOOP_AXES.end;
/// The number of coordinates that belong to the CTA.
pub(super) const CTA_AXES: usize = 3;
/// The coordinates that belong to loops.
pub(super) const LOOP_AXES: std::ops::Range<usize> = 6..10;

/// Larger magnitudes are given up, so that no arithmetic overflows.
const MOST: i128 = 1 << 90;

/// The number of values that each coordinate has.
pub(super) type Counts = [u32; AXES];

/// A number `sum(factor * coordinate) + rest`, where `rest` is any number from `low` to `high`.
///
/// The rest may differ from thread to thread and from one execution to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Form {
    pub(super) factors: [i128; AXES],
    pub(super) low: i128,
    pub(super) high: i128,
}

impl Form {
    pub(super) fn constant(value: i128) -> Self {
        Self::interval(value, value)
    }

    pub(super) fn interval(low: i128, high: i128) -> Self {
        Self { factors: [0; AXES], low, high }
    }

    pub(super) fn axis(axis: usize) -> Self {
        let mut form = Self::constant(0);
        form.factors[axis] = 1;
        form
    }

    fn checked(self) -> Option<Self> {
        let numbers = self.factors.iter().chain([&self.low, &self.high]);
        numbers.into_iter().all(|n| n.abs() <= MOST).then_some(self)
    }

    /// Returns the value of a form that is one number.
    pub(super) fn known(&self) -> Option<i128> {
        (self.low == self.high && self.factors == [0; AXES]).then_some(self.low)
    }

    /// Returns the least and the greatest value.
    pub(super) fn range(&self, counts: &Counts) -> (i128, i128) {
        let (mut low, mut high) = (self.low, self.high);
        for (&factor, &count) in self.factors.iter().zip(counts) {
            let end = factor * (i128::from(count.max(1)) - 1);
            low += end.min(0);
            high += end.max(0);
        }
        (low, high)
    }

    pub(super) fn add(&self, other: &Self) -> Option<Self> {
        let factors = std::array::from_fn(|i| self.factors[i] + other.factors[i]);
        Self { factors, low: self.low + other.low, high: self.high + other.high }.checked()
    }

    pub(super) fn scaled(&self, by: i128) -> Option<Self> {
        let ends = [self.low.checked_mul(by)?, self.high.checked_mul(by)?];
        let mut factors = [0; AXES];
        for (to, from) in factors.iter_mut().zip(self.factors) {
            *to = from.checked_mul(by)?;
        }
        Self { factors, low: ends[0].min(ends[1]), high: ends[0].max(ends[1]) }.checked()
    }

    /// Returns a product; `None` if neither factor is one number.
    pub(super) fn multiplied(&self, other: &Self) -> Option<Self> {
        match (self.known(), other.known()) {
            (_, Some(by)) => self.scaled(by),
            (Some(by), _) => other.scaled(by),
            _ => None,
        }
    }

    /// Returns the integer that the low `bits` of a register hold whose contents are this form
    /// modulo `2^bits`; `None` if they may wrap around.
    pub(super) fn extended(&self, bits: u32, signed: bool, counts: &Counts) -> Option<Self> {
        let modulus = 1i128 << bits;
        let least = if signed { -(modulus / 2) } else { 0 };
        let (low, high) = self.range(counts);
        let shift = -(low - least).div_euclid(modulus) * modulus;
        (high + shift < least + modulus).then(|| self.add(&Self::constant(shift))).flatten()
    }

    /// Moves the coordinates whose factors are no multiples of `by` into the rest.
    fn with_multiples(&self, by: i128, counts: &Counts) -> Self {
        let mut residue = *self;
        let mut factors = self.factors;
        for (factor, kept) in residue.factors.iter_mut().zip(&mut factors) {
            if *factor % by == 0 {
                *factor = 0;
            } else {
                *kept = 0;
            }
        }
        let (low, high) = residue.range(counts);
        Self { factors, low, high }
    }

    /// Returns the quotient by a positive number, rounded down.
    pub(super) fn quotient(&self, by: i128, counts: &Counts) -> Self {
        let multiples = self.with_multiples(by, counts);
        Self {
            factors: multiples.factors.map(|f| f / by),
            low: multiples.low.div_euclid(by),
            high: multiples.high.div_euclid(by),
        }
    }

    /// Returns the remainder of the division by a positive number that rounds down.
    pub(super) fn remainder(&self, by: i128, counts: &Counts) -> Self {
        let mut residue = *self;
        residue.factors.iter_mut().filter(|f| **f % by == 0).for_each(|f| *f = 0);
        let (low, high) = residue.range(counts);
        if low.div_euclid(by) == high.div_euclid(by) {
            let down = low.div_euclid(by) * by;
            return Self { low: residue.low - down, high: residue.high - down, ..residue };
        }
        Self::interval(0, by - 1)
    }

    /// Returns a form of both values; `None` if their factors differ.
    pub(super) fn joined(&self, other: &Self) -> Option<Self> {
        let (low, high) = (self.low.min(other.low), self.high.max(other.high));
        (self.factors == other.factors).then_some(Self { low, high, ..*self })
    }
}
