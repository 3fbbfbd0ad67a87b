//! Rows, one value per lane of a warp, and loops over them that compilers vectorize.
//!
//! All loops run over all 32 lanes: results of inactive lanes are discarded, and no operation here
//! can trap. Predicates are masks with lane `i` in bit `i`.

/// Lanes of a warp.
pub(crate) const LANES: usize = 32;

/// A value of at most 32 bits in each lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(64))]
pub(crate) struct Narrow(pub(crate) [u32; LANES]);

/// A 64-bit value in each lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(64))]
pub(crate) struct Wide(pub(crate) [u64; LANES]);

impl Narrow {
    pub(crate) const ZERO: Self = Self([0; LANES]);

    #[inline(always)]
    pub(crate) fn splat(value: u32) -> Self {
        Self([value; LANES])
    }

    /// Computes `(base + lane * stride) & mask` in each lane.
    #[inline(always)]
    pub(crate) fn line(base: u32, stride: u32, mask: u32) -> Self {
        let mut out = [0; LANES];
        for (lane, value) in out.iter_mut().enumerate() {
            *value = base.wrapping_add((lane as u32).wrapping_mul(stride)) & mask;
        }
        Self(out)
    }

    #[inline(always)]
    pub(crate) fn wide(&self) -> Wide {
        let mut out = [0; LANES];
        for (to, &from) in out.iter_mut().zip(&self.0) {
            *to = u64::from(from);
        }
        Wide(out)
    }

    /// Copies the lanes in `mask`.
    #[inline(always)]
    pub(crate) fn blend(&mut self, from: &Self, mask: u32) {
        for lane in 0..LANES {
            self.0[lane] = if mask >> lane & 1 != 0 { from.0[lane] } else { self.0[lane] };
        }
    }

    #[inline(always)]
    pub(crate) fn map3(a: &Self, b: &Self, c: &Self, f: impl Fn(u32, u32, u32) -> u32) -> Self {
        let mut out = [0; LANES];
        for (lane, out) in out.iter_mut().enumerate() {
            *out = f(a.0[lane], b.0[lane], c.0[lane]);
        }
        Self(out)
    }

    #[inline(always)]
    pub(crate) fn test(a: &Self, b: &Self, f: impl Fn(u32, u32) -> bool) -> u32 {
        let mut out = [0u32; LANES];
        for (lane, out) in out.iter_mut().enumerate() {
            *out = u32::from(f(a.0[lane], b.0[lane])) << lane;
        }
        out.iter().fold(0, |m, b| m | b)
    }
}

impl Wide {
    pub(crate) const ZERO: Self = Self([0; LANES]);

    #[inline(always)]
    pub(crate) fn splat(value: u64) -> Self {
        Self([value; LANES])
    }

    /// Computes `(base + lane * stride) & mask` in each lane.
    #[inline(always)]
    pub(crate) fn line(base: u64, stride: u64, mask: u64) -> Self {
        let mut out = [0; LANES];
        for (lane, value) in out.iter_mut().enumerate() {
            *value = base.wrapping_add((lane as u64).wrapping_mul(stride)) & mask;
        }
        Self(out)
    }

    #[inline(always)]
    pub(crate) fn narrow(&self) -> Narrow {
        let mut out = [0; LANES];
        for (to, &from) in out.iter_mut().zip(&self.0) {
            *to = from as u32;
        }
        Narrow(out)
    }

    /// Copies the lanes in `mask`.
    #[inline(always)]
    pub(crate) fn blend(&mut self, from: &Self, mask: u32) {
        for lane in 0..LANES {
            self.0[lane] = if mask >> lane & 1 != 0 { from.0[lane] } else { self.0[lane] };
        }
    }

    #[inline(always)]
    pub(crate) fn map3(a: &Self, b: &Self, c: &Self, f: impl Fn(u64, u64, u64) -> u64) -> Self {
        let mut out = [0; LANES];
        for (lane, out) in out.iter_mut().enumerate() {
            *out = f(a.0[lane], b.0[lane], c.0[lane]);
        }
        Self(out)
    }

    #[inline(always)]
    pub(crate) fn test(a: &Self, b: &Self, f: impl Fn(u64, u64) -> bool) -> u32 {
        let mut out = [0u32; LANES];
        for (lane, out) in out.iter_mut().enumerate() {
            *out = u32::from(f(a.0[lane], b.0[lane])) << lane;
        }
        out.iter().fold(0, |m, b| m | b)
    }
}

/// Iterates over the lanes in a mask, lowest first.
#[inline(always)]
pub(crate) fn lanes(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        if mask == 0 {
            return None;
        }
        let lane = mask.trailing_zeros() as usize;
        mask &= mask - 1;
        Some(lane)
    })
}
