//! What is known of a value in the lanes of a group.
//!
//! A fact is about the lanes that execute *together*: at each execution of an instruction, it holds
//! of the values that the lanes then on see. "Lane" is the lane's number in its group, and all
//! arithmetic is modulo 2^bits of the register.

/// How a value differs from lane to lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// The same in all lanes.
    Uniform,
    /// `base + lane * stride`; the stride is not 0. The base is the value that lane 0 has, or would
    /// have.
    Affine(i64),
    /// Anything.
    Varying,
}

/// A fact about a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    /// How it differs from lane to lane.
    pub class: Class,
    /// Its bits, if they are known: then it is uniform.
    pub known: Option<u64>,
    /// How many low bits of the base are certainly zero; 0 of a varying value.
    pub zeros: u32,
    /// No lane's value is greater, as an unsigned number.
    pub max: u64,
    /// All lanes' values are in `u, u + 1, .. u + span` for some `u` that is the same in all lanes:
    /// how far a lane's value can be from a uniform base. `u64::MAX` says nothing.
    pub span: u64,
}

/// The ones of a number of bits.
pub(super) fn ones(bits: u32) -> u64 {
    if bits == 0 { 0 } else { u64::MAX >> (64 - bits.min(64)) }
}

impl Value {
    /// A uniform value.
    #[must_use]
    pub const fn uniform() -> Self {
        Self { class: Class::Uniform, known: None, zeros: 0, max: u64::MAX, span: 0 }
    }

    /// A value of which nothing is known.
    #[must_use]
    pub const fn varying() -> Self {
        Self { class: Class::Varying, known: None, zeros: 0, max: u64::MAX, span: u64::MAX }
    }

    /// These bits in all lanes.
    #[must_use]
    pub const fn constant(bits: u64) -> Self {
        let zeros = bits.trailing_zeros();
        Self { class: Class::Uniform, known: Some(bits), zeros, max: bits, span: 0 }
    }

    /// A base and a stride.
    #[must_use]
    pub const fn affine(stride: i64) -> Self {
        if stride == 0 {
            return Self::uniform();
        }
        Self { class: Class::Affine(stride), known: None, zeros: 0, max: u64::MAX, span: u64::MAX }
    }

    pub(super) fn with_zeros(mut self, zeros: u32) -> Self {
        self.zeros = zeros;
        self
    }

    pub(super) fn with_max(mut self, max: u64) -> Self {
        self.max = self.max.min(max);
        self.span = self.span.min(max);
        self
    }

    pub(super) fn with_span(mut self, span: u64) -> Self {
        self.span = self.span.min(span);
        self
    }

    /// Whether it is the same in all lanes.
    #[must_use]
    pub fn is_uniform(&self) -> bool {
        self.class == Class::Uniform
    }

    /// The stride: 0 of a uniform value, none of a varying one.
    #[must_use]
    pub fn stride(&self) -> Option<i64> {
        match self.class {
            Class::Uniform => Some(0),
            Class::Affine(stride) => Some(stride),
            Class::Varying => None,
        }
    }

    /// The low `bits` of it.
    #[must_use]
    pub(super) fn truncated(self, bits: u32) -> Self {
        let mask = ones(bits);
        if bits >= 64 {
            return self;
        }
        let class = match self.class {
            Class::Affine(stride) => {
                // Strides are kept as the signed number nearest zero.
                let shift = 64 - bits;
                match stride << shift >> shift {
                    0 => Class::Uniform,
                    s => Class::Affine(s),
                }
            }
            other => other,
        };
        if let Some(known) = self.known {
            return Self::constant(known & mask);
        }
        let span = if class == Class::Uniform { 0 } else { self.span.min(mask) };
        Self { class, known: None, zeros: self.zeros, max: self.max.min(mask), span }
    }

    /// What holds of a value that is one or the other, the same for all lanes that are on.
    #[must_use]
    pub fn join(&self, other: &Self) -> Self {
        let class = if self.class == other.class { self.class } else { Class::Varying };
        let known = if self.known == other.known { self.known } else { None };
        let zeros = if class == Class::Varying { 0 } else { self.zeros.min(other.zeros) };
        Self { class, known, zeros, max: self.max.max(other.max), span: self.span.max(other.span) }
    }

    /// The same class, where lanes that are on may each have one of several values.
    pub(super) fn mixed(&self) -> Self {
        let span = self.max;
        Self { class: Class::Varying, known: None, zeros: 0, max: self.max, span }
    }

    /// Whether the lanes' part of the value, `lane * stride`, does not reach the lowest bit that
    /// the base may have set: then the value is the base with the lane's part in its zeros. Gives
    /// the bits of the lane's part.
    pub(super) fn separate(&self, last_lane: u64) -> Option<u32> {
        match self.class {
            Class::Affine(stride) if stride > 0 => {
                let most = last_lane.checked_mul(stride as u64)?;
                let bits = 64 - most.leading_zeros();
                (bits <= self.zeros).then_some(bits)
            }
            _ => None,
        }
    }

    /// Whether the fact holds of these lanes' values of a register of `bits` bits. For checks at
    /// run time.
    #[must_use]
    pub fn holds(&self, lanes: &[(u64, u64)], bits: u32) -> bool {
        let mask = ones(bits);
        let Some(&(first_lane, first)) = lanes.first() else { return true };
        if lanes.iter().any(|l| l.1 > self.max) || self.known.is_some_and(|k| k != first) {
            return false;
        }
        if let Some(stride) = self.stride() {
            let base = first.wrapping_sub(first_lane.wrapping_mul(stride as u64)) & mask;
            let at = |lane: u64| base.wrapping_add(lane.wrapping_mul(stride as u64)) & mask;
            let zeros = self.zeros >= 64 && base == 0 || base & ones(self.zeros.min(63)) == 0;
            if !zeros || lanes.iter().any(|&(lane, value)| value != at(lane)) {
                return false;
            }
        }
        // The values lie within `span` if they do so from the value after the widest gap between
        // neighbours on.
        let mut values: Vec<u64> = lanes.iter().map(|l| l.1).collect();
        values.sort_unstable();
        let wraps = values.first().zip(values.last()).map(|(a, b)| a.wrapping_sub(*b) & mask);
        let gap = values.windows(2).map(|w| w[1] - w[0]).chain(wraps).max().unwrap_or(0);
        let extent =
            if values.windows(2).all(|w| w[0] == w[1]) { 0 } else { 0u64.wrapping_sub(gap) & mask };
        extent <= self.span
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joins() {
        let (a, b) = (Value::constant(8), Value::constant(12));
        let joined = a.join(&b);
        assert_eq!(
            (joined.class, joined.known, joined.zeros, joined.max),
            (Class::Uniform, None, 2, 12)
        );
        assert_eq!(Value::affine(4).join(&Value::affine(4)).class, Class::Affine(4));
        assert_eq!(Value::affine(4).join(&Value::uniform()).class, Class::Varying);
    }

    #[test]
    fn strides_wrap_with_the_register() {
        assert_eq!(Value::affine(0xffff_ffff).truncated(32).class, Class::Affine(-1));
        assert_eq!(Value::affine(1 << 32).truncated(32).class, Class::Uniform);
    }

    #[test]
    fn what_holds() {
        let affine = Value::affine(4).with_zeros(4);
        assert!(affine.holds(&[(1, 20), (3, 28)], 32));
        assert!(!affine.holds(&[(1, 21), (3, 29)], 32));
        assert!(!affine.holds(&[(1, 20), (3, 29)], 32));
        // Wrapping at the register's width.
        assert!(Value::affine(-1).holds(&[(0, 1), (1, 0), (2, 0xffff_ffff)], 32));
        let near = Value::varying().with_span(7);
        assert!(near.holds(&[(0, 100), (1, 107), (2, 103)], 64));
        assert!(near.holds(&[(0, 3), (1, u64::MAX - 3)], 64));
        assert!(!near.holds(&[(0, 100), (1, 108)], 64));
        assert!(!Value::uniform().holds(&[(0, 1), (1, 2)], 32));
        assert!(Value::constant(5).holds(&[(0, 5), (7, 5)], 32));
    }
}
