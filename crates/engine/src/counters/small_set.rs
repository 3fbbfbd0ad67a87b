//! A set of a few numbers that tells which are new, without sorting. Called for each access of a
//! launch.

/// Slots of the hash table; it holds half as many numbers.
const SLOTS: usize = 128;

/// The numbers seen since the last call of `clear`.
#[derive(Clone, Debug)]
pub(super) struct SmallSet {
    /// Each slot holds a number and the value of `now` when it was stored; older slots are empty.
    places: Box<[(u64, u64)]>,
    now: u64,
}

impl SmallSet {
    /// Capacity in numbers.
    pub(super) const CAPACITY: usize = SLOTS / 2;

    pub(super) fn clear(&mut self) {
        self.now += 1;
    }

    /// Inserts a number; returns whether it was absent. At most [`Self::MOST`] calls are allowed
    /// after a `clear`.
    #[inline]
    pub(super) fn insert(&mut self, number: u64) -> bool {
        let mut at = (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 57) as usize;
        loop {
            let place = &mut self.places[at % SLOTS];
            if place.1 != self.now {
                *place = (number, self.now);
                return true;
            }
            if place.0 == number {
                return false;
            }
            at += 1;
        }
    }
}

impl Default for SmallSet {
    fn default() -> Self {
        Self { places: vec![(0, 0); SLOTS].into(), now: 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::SmallSet;
    use std::collections::BTreeSet;

    #[test]
    fn insert_reports_each_number_once() {
        let mut few = SmallSet::default();
        for round in 1..200_u64 {
            few.clear();
            let mut seen = BTreeSet::new();
            for i in 0..SmallSet::CAPACITY as u64 {
                // Distances vary, and many numbers repeat.
                let number = (i * round % 37) << (round % 50);
                assert_eq!(few.insert(number), seen.insert(number), "{number} in round {round}");
            }
        }
    }
}
