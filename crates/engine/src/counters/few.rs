//! How many different numbers there are among a few, without sorting: what each access of a launch is asked for.

/// Places in the table; it takes half as many numbers.
const PLACES: usize = 128;

/// Numbers that have been seen since it was last emptied.
#[derive(Clone, Debug)]
pub(super) struct Few {
    /// A number, and when it was put there: emptying makes all of them old.
    places: Box<[(u64, u64)]>,
    now: u64,
}

impl Few {
    /// The most numbers that it takes.
    pub(super) const MOST: usize = PLACES / 2;

    pub(super) fn clear(&mut self) {
        self.now += 1;
    }

    /// Whether a number had not been seen; at most [`Self::MOST`] may be asked for.
    #[inline]
    pub(super) fn is_new(&mut self, number: u64) -> bool {
        let mut at = (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 57) as usize;
        loop {
            let place = &mut self.places[at % PLACES];
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

impl Default for Few {
    fn default() -> Self {
        Self { places: vec![(0, 0); PLACES].into(), now: 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::Few;
    use std::collections::BTreeSet;

    #[test]
    fn numbers_are_new_once() {
        let mut few = Few::default();
        for round in 1..200_u64 {
            few.clear();
            let mut seen = BTreeSet::new();
            for i in 0..Few::MOST as u64 {
                // Some far apart, some near each other, many the same.
                let number = (i * round % 37) << (round % 50);
                assert_eq!(few.is_new(number), seen.insert(number), "{number} in round {round}");
            }
        }
    }
}
