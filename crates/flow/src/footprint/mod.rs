//! Which bytes of global memory the CTAs of a launch access, where addresses are linear in the
//! coordinates of CTAs and threads.
//!
//! [`Footprints::new`] collects the computations of addresses from a function: sums, products,
//! conversions and shifts of special registers, parameters and constants, and the comparisons that
//! guard the accesses. [`Footprints::in_launch`] carries these out for the arguments of a launch,
//! and [`LaunchFootprints::is_disjoint`] tells of a range of memory whether every byte of it is
//! accessed by one CTA alone, or only read. No execution order of CTAs can then be told from the
//! range, provided that all other accesses stay outside, which whoever relies on it must check:
//! accesses without a footprint can reach any byte.
//!
//! A footprint is a superset of what the access reaches in any execution. Computations of registers
//! with one definition count, and registers that each iteration of a loop increases by the same
//! number (`counters`); other values that loops compute from one iteration to the next do not.

mod build;
mod counters;
mod form;
#[cfg(test)]
mod tests;

use counters::Trips;
use form::{AXES, CTA_AXES, Counts, Form, LOOP_AXES};
use ir::Sreg;
use smallvec::SmallVec;
use std::ops::Range;

/// A computation; operands are numbers of earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Node {
    Unknown,
    Constant(i128),
    /// Any number of a range, ends included.
    Interval(i128, i128),
    /// A coordinate, and its number of values.
    Axis(usize),
    Count(usize),
    /// Bytes of the parameters.
    Param {
        offset: u32,
        bytes: u32,
    },
    Add(u32, u32),
    Subtract(u32, u32),
    Multiply(u32, u32),
    /// The integer that the low bits hold.
    Extend {
        of: u32,
        bits: u32,
        signed: bool,
    },
    /// Divisions of integers; the second operand has to be a positive constant.
    Quotient(u32, u32),
    Remainder(u32, u32),
    /// Bits of the first operand, a register of `bits` bits, that the second one has, too.
    And {
        of: u32,
        mask: u32,
        bits: u32,
    },
    /// A sum, where the operands share no bit.
    Or(u32, u32),
    /// One of two values.
    Either(u32, u32),
    /// No number: says how often a loop is executed, see [`Trips`].
    Trips(u32),
    /// A number at first, and a step that each iteration adds.
    Counter {
        axis: usize,
        first: u32,
        step: u32,
    },
}

/// The condition `small < large`, or `small <= large`, on integers of so many bits.
#[derive(Clone, Copy, Debug)]
struct Guard {
    small: u32,
    large: u32,
    strict: bool,
    bits: u32,
    signed: bool,
}

/// An access whose address is computed by a node.
#[derive(Clone, Debug)]
struct Access {
    address: u32,
    /// Bytes of a lane.
    bytes: u32,
    writes: bool,
    /// Conditions that hold where the access is executed.
    guards: Range<u32>,
}

/// The computations of the addresses of a function's accesses.
#[derive(Clone, Debug, Default)]
pub struct Footprints {
    nodes: Vec<Node>,
    guards: Vec<Guard>,
    trips: Vec<Trips>,
    accesses: Vec<Access>,
    /// Blocks and instructions of the accesses, sorted.
    places: Vec<(u32, u32)>,
    /// Blocks and instructions that widen integers, and the widened operands; sorted.
    widened: Vec<((u32, u32), u32)>,
}

/// The sizes and arguments of a launch.
#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// CTAs in x, y, z.
    pub grid: [u32; 3],
    /// Threads of a CTA in x, y, z.
    pub block: [u32; 3],
    /// The bytes of the parameters.
    pub params: &'a [u8],
}

/// An upper bound of a sum of coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bound {
    factors: [i128; AXES],
    most: i128,
}

/// The bytes that an access reaches.
#[derive(Clone, Debug)]
struct Footprint {
    address: Form,
    bytes: u32,
    writes: bool,
    bounds: Vec<Bound>,
}

/// The footprints of a launch's accesses.
#[derive(Clone, Debug)]
pub struct LaunchFootprints {
    counts: Counts,
    footprints: Vec<Footprint>,
    may_wrap: bool,
}

/// The addresses that an access may reach in a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The first byte.
    pub low: u64,
    /// The last byte.
    pub last: u64,
    /// Whether the access writes.
    pub writes: bool,
    /// Whether the addresses of all lanes are multiples of the bytes of a lane's access.
    pub is_aligned: bool,
}

impl Footprints {
    /// Returns whether an access has a footprint, if its address is linear in a launch
    /// ([`Self::in_launch`]).
    #[must_use]
    pub fn has(&self, block: usize, inst: usize) -> bool {
        self.places.binary_search(&(block as u32, inst as u32)).is_ok()
    }

    /// Returns whether the operands that an instruction widens are followed, see
    /// [`LaunchFootprints::may_wrap`].
    #[must_use]
    pub fn follows_widening(&self, block: usize, inst: usize) -> bool {
        let place = (block as u32, inst as u32);
        self.widened.binary_search_by_key(&place, |(at, _)| *at).is_ok()
    }

    /// Returns whether no access that writes has a footprint.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        !self.accesses.iter().any(|access| access.writes)
    }

    /// Returns the footprints of a launch; `None` if the address of an access that
    /// [has](Self::has) one is not linear with these arguments.
    #[must_use]
    pub fn in_launch(&self, arguments: &Arguments<'_>) -> Option<LaunchFootprints> {
        let ([cx, cy, cz], [tx, ty, tz]) = (arguments.grid, arguments.block);
        // Loops that are not known have no iterations.
        let mut counts = [cx, cy, cz, tx, ty, tz, 0, 0, 0, 0];
        let mut forms: Vec<Option<Form>> = Vec::with_capacity(self.nodes.len());
        let mut in_loops = [None; LOOP_AXES.end - LOOP_AXES.start];
        for node in &self.nodes {
            let form = match *node {
                Node::Trips(trips) => {
                    let trips = &self.trips[trips as usize];
                    if let Some((times, bound)) = trips.evaluate(&forms, &counts, &self.guards) {
                        counts[trips.axis] = times;
                        in_loops[trips.axis - LOOP_AXES.start] = bound;
                    }
                    None
                }
                _ => node.evaluate(&forms, &counts, arguments.params),
            };
            forms.push(form);
        }
        let footprint = |access: &Access| {
            let address = forms[access.address as usize]?.extended(64, false, &counts)?;
            let guards = &self.guards[access.guards.start as usize..access.guards.end as usize];
            let bounds = guards.iter().filter_map(|guard| guard.bound(&forms, &counts));
            let loops = in_loops.iter().zip(&address.factors[LOOP_AXES]);
            let loops = loops.filter_map(|(bound, factor)| bound.filter(|_| *factor != 0));
            let bounds = bounds.chain(loops).collect();
            Some(Footprint { address, bytes: access.bytes, writes: access.writes, bounds })
        };
        let footprints = self.accesses.iter().map(footprint).collect::<Option<_>>()?;
        let may_wrap = self.widened.iter().any(|&(_, node)| forms[node as usize].is_none());
        Some(LaunchFootprints { counts, footprints, may_wrap })
    }
}

impl Node {
    /// Returns the nodes that it is computed from.
    fn operands(&self) -> SmallVec<[u32; 2]> {
        match *self {
            Self::Unknown
            | Self::Constant(_)
            | Self::Interval(..)
            | Self::Axis(_)
            | Self::Count(_)
            | Self::Param { .. }
            | Self::Trips(_) => SmallVec::new(),
            Self::Extend { of, .. } => SmallVec::from_slice(&[of]),
            Self::Add(a, b)
            | Self::Subtract(a, b)
            | Self::Multiply(a, b)
            | Self::Quotient(a, b)
            | Self::Remainder(a, b)
            | Self::Or(a, b)
            | Self::Either(a, b)
            | Self::And { of: a, mask: b, .. }
            | Self::Counter { first: a, step: b, .. } => SmallVec::from_slice(&[a, b]),
        }
    }

    fn evaluate(&self, forms: &[Option<Form>], counts: &Counts, params: &[u8]) -> Option<Form> {
        let of = |node: u32| forms[node as usize];
        let divisor = |node: u32| of(node)?.known().filter(|&by| by > 0);
        match *self {
            Self::Unknown => None,
            Self::Constant(value) => Some(Form::constant(value)),
            Self::Interval(low, high) => Some(Form::interval(low, high)),
            // A coordinate that is always 0 is left out.
            Self::Axis(axis) if counts[axis] <= 1 => Some(Form::constant(0)),
            Self::Axis(axis) => Some(Form::axis(axis)),
            Self::Count(axis) => Some(Form::constant(counts[axis].into())),
            Self::Param { offset, bytes } => {
                let (start, bytes) = (offset as usize, bytes as usize);
                let bytes = params.get(start..start.checked_add(bytes)?)?;
                let value = bytes.iter().rev().fold(0, |all, &byte| all << 8 | i128::from(byte));
                Some(Form::constant(value))
            }
            Self::Add(a, b) => of(a)?.add(&of(b)?),
            Self::Subtract(a, b) => of(a)?.add(&of(b)?.scaled(-1)?),
            Self::Multiply(a, b) => of(a)?.multiplied(&of(b)?),
            Self::Extend { of: a, bits, signed } => of(a)?.extended(bits, signed, counts),
            Self::Quotient(a, b) => Some(of(a)?.quotient(divisor(b)?, counts)),
            Self::Remainder(a, b) => Some(of(a)?.remainder(divisor(b)?, counts)),
            Self::And { of: a, mask, bits } => {
                let ones = (1i128 << bits) - 1;
                let mask = of(mask)?.known()? & ones;
                let value = of(a).and_then(|a| a.extended(bits, false, counts));
                let (low, high) = (mask + 1, (ones & !mask) + 1);
                match value {
                    Some(value) if low & mask == 0 => Some(value.remainder(low, counts)),
                    Some(value) if high & (high - 1) == 0 => {
                        value.quotient(high, counts).scaled(high)
                    }
                    // Addresses of which nothing but their range is known are not worth following.
                    _ => (mask <= 0xffff_ffff).then(|| Form::interval(0, mask)),
                }
            }
            Self::Or(a, b) => {
                let (a, b) = (of(a)?, of(b)?);
                (a.shares_no_bit(&b, counts) || b.shares_no_bit(&a, counts)).then(|| a.add(&b))?
            }
            Self::Either(a, b) => of(a)?.joined(&of(b)?),
            Self::Trips(_) => None,
            Self::Counter { axis, .. } if counts[axis] == 0 => None,
            Self::Counter { axis, first, step } => {
                of(first)?.add(&Form::axis(axis).scaled(of(step)?.known()?)?)
            }
        }
    }
}

impl Form {
    /// Returns whether all values are multiples of a power of two above another form's values.
    fn shares_no_bit(&self, low: &Self, counts: &Counts) -> bool {
        let (least, most) = low.range(counts);
        let numbers = self.factors.iter().chain([&self.low]);
        let zeros = numbers.map(|n| n.trailing_zeros()).min().unwrap_or(0).min(62);
        self.low == self.high && least >= 0 && most < 1 << zeros
    }
}

impl Guard {
    fn bound(&self, forms: &[Option<Form>], counts: &Counts) -> Option<Bound> {
        let side = |node: u32| forms[node as usize]?.extended(self.bits, self.signed, counts);
        let (small, large) = (side(self.small)?, side(self.large)?);
        let most = large.range(counts).1 - i128::from(self.strict) - small.low;
        let useful = small.factors.iter().all(|&f| f >= 0) && small.factors != [0; AXES];
        useful.then_some(Bound { factors: small.factors, most: most.max(0) })
    }
}

impl Footprint {
    /// Returns the addresses of the first byte and after the last byte that any CTA reaches.
    fn range(&self, counts: &Counts) -> (i128, i128) {
        let (low, _) = self.address.range(counts);
        (low, self.most(self.address, counts) + i128::from(self.bytes))
    }

    /// Returns the greatest value of a part of the address.
    fn most(&self, mut rest: Form, counts: &Counts) -> i128 {
        let mut most = 0;
        for bound in &self.bounds {
            if let Some(times) = multiple(&bound.factors, &rest.factors) {
                let factors = bound.factors.iter().zip(counts);
                let all: i128 = factors.map(|(f, &n)| f * i128::from(n.saturating_sub(1))).sum();
                most += times * bound.most.min(all);
                for (factor, of) in rest.factors.iter_mut().zip(bound.factors) {
                    *factor -= times * of;
                }
            }
        }
        rest.range(counts).1 + most
    }

    /// Returns the footprint without coordinates other than those of CTAs, whose values are taken
    /// to be any.
    fn of_cta(&self, counts: &Counts) -> Self {
        let (mut within, mut address) = (self.address, self.address);
        within.factors[..CTA_AXES].fill(0);
        address.factors[CTA_AXES..].fill(0);
        (address.low, address.high) = (within.range(counts).0, self.most(within, counts));
        Self { address, bounds: Vec::new(), ..*self }
    }

    fn extent(&self, counts: &Counts) -> Option<Extent> {
        let (low, end) = self.range(counts);
        let (low, last) = (u64::try_from(low).ok()?, u64::try_from(end - 1).ok()?);
        let Form { factors, low: least, high } = self.address;
        let is_multiple = |number: &i128| number % i128::from(self.bytes) == 0;
        let is_aligned = self.bytes.is_power_of_two()
            && least == high
            && is_multiple(&least)
            && factors.iter().all(is_multiple);
        Some(Extent { low, last, writes: self.writes, is_aligned })
    }
}

/// Returns the positive number by which all factors that are not 0 have to be multiplied to give
/// those of `of`.
fn multiple(factors: &[i128; AXES], of: &[i128; AXES]) -> Option<i128> {
    let mut pairs = factors.iter().zip(of).filter(|(factor, _)| **factor != 0);
    let (&factor, &of) = pairs.next()?;
    let times = of / factor;
    (times > 0 && times * factor == of && pairs.all(|(&f, &o)| f * times == o)).then_some(times)
}

impl LaunchFootprints {
    /// Returns whether a write may reach addresses from `base` on, `len` bytes of them, and every
    /// byte of these that a CTA may write can be reached by this CTA alone.
    #[must_use]
    pub fn is_disjoint(&self, base: u64, len: u64) -> bool {
        let inside: Vec<&Footprint> = self.inside(base, len).collect();
        if !inside.iter().any(|footprint| footprint.writes) {
            return false;
        }
        self.are_apart(&inside) || {
            let of_ctas: Vec<_> = inside.iter().map(|f| f.of_cta(&self.counts)).collect();
            self.are_apart(&of_ctas.iter().collect::<Vec<_>>())
        }
    }

    /// Returns whether a write may reach addresses from `base` on, `len` bytes of them.
    #[must_use]
    pub fn is_written(&self, base: u64, len: u64) -> bool {
        self.inside(base, len).any(|footprint| footprint.writes)
    }

    /// Returns whether an integer may wrap around between two threads of the launch before an
    /// instruction widens it, as far as [widenings are followed](Footprints::follows_widening).
    #[must_use]
    pub fn may_wrap(&self) -> bool {
        self.may_wrap
    }

    /// Returns the addresses that each access may reach, as far as accesses have footprints;
    /// `None` for an access whose addresses may lie beyond 64 bits.
    pub fn extents(&self) -> impl Iterator<Item = Option<Extent>> + '_ {
        self.footprints.iter().map(|footprint| footprint.extent(&self.counts))
    }

    /// Returns the footprints that may reach a range.
    fn inside(&self, base: u64, len: u64) -> impl Iterator<Item = &Footprint> {
        let (base, end) = (i128::from(base), i128::from(base) + i128::from(len));
        self.footprints.iter().filter(move |footprint| {
            let (low, high) = footprint.range(&self.counts);
            low < end && base < high
        })
    }

    /// Returns whether no two CTAs reach a common byte.
    ///
    /// Footprints have the same factors. In ascending order of these, a coordinate whose factor is
    /// not below the extent of all before it is a digit of a number: different values of it, or of
    /// a later digit, give different bytes. Coordinates of the thread before the first digit only
    /// add to the extent; the coordinates of CTAs, and all after the first of them, must be digits.
    fn are_apart(&self, footprints: &[&Footprint]) -> bool {
        let Some(first) = footprints.first() else { return false };
        let factors = first.address.factors;
        if footprints.iter().any(|f| f.address.factors != factors) {
            return false;
        }
        let low = footprints.iter().map(|f| f.address.low).min().unwrap_or(0);
        let ends = footprints.iter().map(|f| f.address.high + i128::from(f.bytes));
        let base = ends.max().unwrap_or(0) - low;
        let mut axes: Vec<usize> = (0..AXES).filter(|&axis| self.counts[axis] > 1).collect();
        axes.sort_by_key(|&axis| factors[axis].abs());
        let (mut extent, mut digits, mut before) = (base, false, [0; AXES]);
        for axis in axes {
            let factor = factors[axis].abs();
            digits |= axis < CTA_AXES;
            if digits && factor < extent {
                return false;
            }
            extent += factor * (i128::from(self.counts[axis]) - 1);
            before[axis] = factors[axis];
            if let Some(bounded) = most_of_all(footprints, &before) {
                extent = extent.min(base + bounded);
            }
        }
        true
    }
}

/// Returns an upper bound of the sum with these factors that holds in all footprints.
fn most_of_all(footprints: &[&Footprint], factors: &[i128; AXES]) -> Option<i128> {
    let used = |f: &[i128; AXES]| f.map(|f| f != 0);
    let most = |footprint: &&Footprint| {
        let bounds = footprint.bounds.iter().filter(|b| used(&b.factors) == used(factors));
        bounds.filter_map(|b| multiple(&b.factors, factors)?.checked_mul(b.most)).min()
    };
    let all: Option<Vec<i128>> = footprints.iter().map(most).collect();
    all?.into_iter().max()
}

/// Returns the node of a special register.
fn special(sreg: Sreg) -> Node {
    match sreg {
        Sreg::CtaidX => Node::Axis(0),
        Sreg::CtaidY => Node::Axis(1),
        Sreg::CtaidZ => Node::Axis(2),
        Sreg::TidX => Node::Axis(3),
        Sreg::TidY => Node::Axis(4),
        Sreg::TidZ => Node::Axis(5),
        Sreg::NctaidX => Node::Count(0),
        Sreg::NctaidY => Node::Count(1),
        Sreg::NctaidZ => Node::Count(2),
        Sreg::NtidX => Node::Count(3),
        Sreg::NtidY => Node::Count(4),
        Sreg::NtidZ => Node::Count(5),
        // Warps have at most 64 lanes.
        Sreg::LaneId => Node::Interval(0, 63),
        _ => Node::Unknown,
    }
}
