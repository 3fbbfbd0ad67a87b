//! Sets of flags.

use super::Flag;

/// A set of [`Flag`]s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Flags(u64);

impl Flags {
    /// No flag.
    pub const NONE: Self = Self(0);

    /// The set of these flags.
    #[must_use]
    pub const fn of(flags: &[Flag]) -> Self {
        let (mut bits, mut i) = (0, 0);
        while i < flags.len() {
            bits |= 1 << flags[i] as u32;
            i += 1;
        }
        Self(bits)
    }

    /// Whether a flag is set.
    #[must_use]
    pub const fn has(self, flag: Flag) -> bool {
        self.0 >> flag as u32 & 1 != 0
    }

    /// The set with one more flag.
    #[must_use]
    pub const fn with(self, flag: Flag) -> Self {
        Self(self.0 | 1 << flag as u32)
    }

    /// Whether all flags of `self` are in `other`.
    #[must_use]
    pub const fn is_subset(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// The flags in order.
    pub fn iter(self) -> impl Iterator<Item = Flag> {
        Flag::ALL.iter().copied().filter(move |&f| self.has(f))
    }
}

impl FromIterator<Flag> for Flags {
    fn from_iter<I: IntoIterator<Item = Flag>>(flags: I) -> Self {
        flags.into_iter().fold(Self::NONE, Self::with)
    }
}
