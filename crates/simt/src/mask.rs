//! Sets of lanes.
//!
//! [`LaneMask`] is the only type that says which lanes are on. It is generic over its 64-bit words,
//! so that a warp (up to 64 lanes, one word) and a CTA-wide group (up to 1,024 lanes, sixteen
//! words) share one algebra. Bit `i` is lane `i`; iteration is in increasing lane order, which is
//! the order every rule of the project that needs one refers to (ascending lanes, lowest lane as
//! leader, last writer wins).

use std::fmt;
use std::ops::{
    BitAnd, BitAndAssign, BitOr, BitOrAssign, BitXor, BitXorAssign, Not, Sub, SubAssign,
};

/// A set of lanes out of `64 * N`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LaneMask<const N: usize = 1>([u64; N]);

/// Lanes of a warp: up to 64.
pub type WarpMask = LaneMask<1>;

/// Lanes of a CTA-wide group: up to 1,024.
pub type CtaMask = LaneMask<16>;

impl<const N: usize> LaneMask<N> {
    /// Number of lanes that a mask of this size can hold.
    pub const CAPACITY: usize = 64 * N;

    /// No lane.
    pub const EMPTY: Self = Self([0; N]);

    /// The mask with these words, lane 0 in bit 0 of word 0.
    #[must_use]
    pub const fn from_words(words: [u64; N]) -> Self {
        Self(words)
    }

    /// The words, lane 0 in bit 0 of word 0.
    #[must_use]
    pub const fn words(&self) -> &[u64; N] {
        &self.0
    }

    /// The same lanes in a mask of another size, which drops those beyond its capacity.
    #[must_use]
    pub fn resized<const M: usize>(&self) -> LaneMask<M> {
        let mut words = [0; M];
        for (to, from) in words.iter_mut().zip(&self.0) {
            *to = *from;
        }
        LaneMask(words)
    }

    /// Lanes `0..lanes`; more than the capacity means all.
    #[must_use]
    pub fn first(lanes: usize) -> Self {
        let mut words = [0; N];
        for (i, w) in words.iter_mut().enumerate() {
            *w = match lanes.saturating_sub(64 * i) {
                0 => 0,
                n if n >= 64 => u64::MAX,
                n => (1 << n) - 1,
            };
        }
        Self(words)
    }

    /// Just one lane.
    ///
    /// # Panics
    /// If `lane` is not below [`Self::CAPACITY`].
    #[must_use]
    pub fn lane(lane: usize) -> Self {
        let mut mask = Self::EMPTY;
        mask.insert(lane);
        mask
    }

    /// Returns whether the lane is in the set; lanes beyond the capacity are not.
    #[must_use]
    #[inline]
    pub fn contains(&self, lane: usize) -> bool {
        self.0.get(lane / 64).is_some_and(|w| w >> (lane % 64) & 1 != 0)
    }

    /// Adds a lane.
    ///
    /// # Panics
    /// If `lane` is not below [`Self::CAPACITY`].
    #[inline]
    pub fn insert(&mut self, lane: usize) {
        self.0[lane / 64] |= 1 << (lane % 64);
    }

    /// Removes a lane, if it is in the set.
    #[inline]
    pub fn remove(&mut self, lane: usize) {
        if let Some(w) = self.0.get_mut(lane / 64) {
            *w &= !(1 << (lane % 64));
        }
    }

    /// Adds or removes a lane.
    #[inline]
    pub fn set(&mut self, lane: usize, on: bool) {
        if on { self.insert(lane) } else { self.remove(lane) }
    }

    /// Returns the number of lanes in the set.
    #[must_use]
    #[inline]
    pub fn count(&self) -> u32 {
        self.0.iter().map(|w| w.count_ones()).sum()
    }

    /// Returns whether no lane is in the set.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|&w| w == 0)
    }

    /// Returns whether any lane is in the set.
    #[must_use]
    #[inline]
    pub fn any(&self) -> bool {
        !self.is_empty()
    }

    /// The lowest lane: the leader.
    #[must_use]
    #[inline]
    pub fn lowest(&self) -> Option<usize> {
        self.0
            .iter()
            .enumerate()
            .find(|&(_, &w)| w != 0)
            .map(|(i, w)| 64 * i + w.trailing_zeros() as usize)
    }

    /// The highest lane.
    #[must_use]
    #[inline]
    pub fn highest(&self) -> Option<usize> {
        let found = self.0.iter().enumerate().rev().find(|&(_, &w)| w != 0);
        found.map(|(i, w)| 64 * i + 63 - w.leading_zeros() as usize)
    }

    /// Returns whether every lane of `self` is in `other`.
    #[must_use]
    #[inline]
    pub fn is_subset(&self, other: &Self) -> bool {
        (*self - *other).is_empty()
    }

    /// Returns whether the two share no lane.
    #[must_use]
    #[inline]
    pub fn is_disjoint(&self, other: &Self) -> bool {
        (*self & *other).is_empty()
    }

    /// The lanes in increasing order.
    #[must_use]
    #[inline]
    pub fn iter(&self) -> Lanes<N> {
        Lanes { words: self.0, index: 0 }
    }

    /// The lanes of `self` for which `keep` holds, asked in increasing order.
    #[must_use]
    pub fn filter(&self, mut keep: impl FnMut(usize) -> bool) -> Self {
        let mut out = Self::EMPTY;
        for lane in self {
            out.set(lane, keep(lane));
        }
        out
    }

    /// The 64 lanes from `lane` on as one word: bit 0 is `lane`. Lanes beyond the capacity read as
    /// off.
    #[must_use]
    pub fn window(&self, lane: usize) -> u64 {
        let (word, bit) = (lane / 64, lane % 64);
        let at = |i: usize| self.0.get(i).copied().unwrap_or(0);
        let high = if bit == 0 { 0 } else { at(word + 1) << (64 - bit) };
        at(word) >> bit | high
    }

    /// The set of lanes `lane + i` for each set bit `i` of `bits`; those beyond the capacity are
    /// dropped.
    #[must_use]
    pub fn from_window(lane: usize, bits: u64) -> Self {
        let (word, bit) = (lane / 64, lane % 64);
        let mut out = Self::EMPTY;
        if let Some(w) = out.0.get_mut(word) {
            *w = bits << bit;
        }
        if bit != 0
            && let Some(w) = out.0.get_mut(word + 1)
        {
            *w = bits >> (64 - bit);
        }
        out
    }
}

impl LaneMask<1> {
    /// The mask with these bits, lane 0 in bit 0.
    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        Self([bits])
    }

    /// The bits, lane 0 in bit 0.
    #[must_use]
    pub const fn bits(&self) -> u64 {
        self.0[0]
    }
}

impl<const N: usize> Default for LaneMask<N> {
    fn default() -> Self {
        Self::EMPTY
    }
}

macro_rules! set_operator {
    ($op:ident $f:ident $assign:ident $fa:ident |$a:ident, $b:ident| $e:expr) => {
        impl<const N: usize> $op for LaneMask<N> {
            type Output = Self;
            #[inline]
            fn $f(self, rhs: Self) -> Self {
                Self(std::array::from_fn(|i| {
                    let ($a, $b) = (self.0[i], rhs.0[i]);
                    $e
                }))
            }
        }
        impl<const N: usize> $assign for LaneMask<N> {
            #[inline]
            fn $fa(&mut self, rhs: Self) {
                *self = $op::$f(*self, rhs);
            }
        }
    };
}

set_operator!(BitAnd bitand BitAndAssign bitand_assign |a, b| a & b);
set_operator!(BitOr bitor BitOrAssign bitor_assign |a, b| a | b);
set_operator!(BitXor bitxor BitXorAssign bitxor_assign |a, b| a ^ b);
set_operator!(Sub sub SubAssign sub_assign |a, b| a & !b);

/// The complement over the whole capacity: intersect with the launched lanes before counting.
impl<const N: usize> Not for LaneMask<N> {
    type Output = Self;
    #[inline]
    fn not(self) -> Self {
        Self(self.0.map(|w| !w))
    }
}

impl<const N: usize> FromIterator<usize> for LaneMask<N> {
    fn from_iter<I: IntoIterator<Item = usize>>(lanes: I) -> Self {
        let mut mask = Self::EMPTY;
        for lane in lanes {
            mask.insert(lane);
        }
        mask
    }
}

impl<const N: usize> IntoIterator for LaneMask<N> {
    type Item = usize;
    type IntoIter = Lanes<N>;
    fn into_iter(self) -> Lanes<N> {
        self.iter()
    }
}

impl<const N: usize> IntoIterator for &LaneMask<N> {
    type Item = usize;
    type IntoIter = Lanes<N>;
    fn into_iter(self) -> Lanes<N> {
        self.iter()
    }
}

/// The lanes of a mask in increasing order.
#[derive(Clone, Debug)]
pub struct Lanes<const N: usize> {
    words: [u64; N],
    index: usize,
}

impl<const N: usize> Iterator for Lanes<N> {
    type Item = usize;
    #[inline]
    fn next(&mut self) -> Option<usize> {
        while let Some(word) = self.words.get_mut(self.index) {
            if *word != 0 {
                let bit = word.trailing_zeros() as usize;
                *word &= *word - 1;
                return Some(64 * self.index + bit);
            }
            self.index += 1;
        }
        None
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let n = self.words.iter().map(|w| w.count_ones() as usize).sum();
        (n, Some(n))
    }
}

impl<const N: usize> ExactSizeIterator for Lanes<N> {}

/// Lanes as ranges: `{0-3,7}`.
impl<const N: usize> fmt::Display for LaneMask<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        let mut lanes = self.iter().peekable();
        let mut separator = "";
        while let Some(first) = lanes.next() {
            let mut last = first;
            while lanes.next_if_eq(&(last + 1)).is_some() {
                last += 1;
            }
            write!(f, "{separator}{first}")?;
            if last > first {
                write!(f, "-{last}")?;
            }
            separator = ",";
        }
        f.write_str("}")
    }
}

impl<const N: usize> fmt::Debug for LaneMask<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// One hexadecimal number, highest lane first.
impl<const N: usize> fmt::LowerHex for LaneMask<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            f.write_str("0x")?;
        }
        let top = self.0.iter().rposition(|&w| w != 0).unwrap_or(0);
        write!(f, "{:x}", self.0[top])?;
        self.0[..top].iter().rev().try_for_each(|w| write!(f, "{w:016x}"))
    }
}
