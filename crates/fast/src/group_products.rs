//! Products of warp groups ([`crate::asynchronous`]).
//!
//! Products of the same sums that follow each other, with nothing between them that sees the sums,
//! are computed together, where their results are: the sums are read and written once. The factors
//! of each are read where it takes effect.

use crate::Declined;
use crate::asynchronous::{Event, UNDEFINED};
use crate::code::{AsyncOp, Asynchronous, Dst, Kind, Src, Step};
use crate::machine::Machine;
use crate::row::LANES;
use crate::warp::Warp;
use products::{Factors, GroupMultiply, Tile};
use simt::Pc;
use simt::matrix::{A_REGISTERS, Descriptor, Role, THREADS, WARPS};
use std::ops::Range;
use vm::WarpGroupOp;

/// Most products that are computed together: more would take memory, not less time.
const MOST_TOGETHER: usize = 16;

impl Machine<'_> {
    /// Executes an operation of a whole warp on products of its group.
    pub(crate) fn warp_group(
        &mut self,
        warp: &mut Warp,
        what: &WarpGroupOp,
        op: &Asynchronous,
        pc: u64,
        on: u32,
    ) -> Result<(), Declined> {
        if on != u32::MAX {
            return Err(Declined::Running("an operation of a warp group without whole warps"));
        }
        let (group, number) = (self.group / WARPS, self.group % WARPS);
        match what {
            WarpGroupOp::Fence => {}
            WarpGroupOp::Commit => {
                self.ctas[self.slot].storage.asynchronous.group(group).commit(number);
            }
            WarpGroupOp::Multiply { multiply, registers } => {
                self.check_group(warp)?;
                let count = if *registers { 1 } else { 2 };
                let sources = Sources::new(op, multiply, count).ok_or(UNDEFINED)?;
                let descriptors = self.descriptors(warp, multiply, &sources)?;
                let named = &descriptors[..count];
                let adds = warp.pred(sources.adds);
                let products = self.ctas[self.slot].storage.asynchronous.group(group);
                if products.difference(number, Pc(pc), named).is_some() {
                    return Err(UNDEFINED);
                }
                let adds = products.issue(number, (Pc(pc), named, adds));
                if let Some(adds) = adds {
                    self.add_product(warp, (multiply, adds), &sources, (named, &op.dst))?;
                    self.release_warps(Event::Products);
                }
                if adds.is_none() || !op.is_followed {
                    self.compute_products(warp, &op.dst);
                }
            }
        }
        if let Some(detail) = &mut self.detail {
            detail.counts.collectives += 1;
        }
        self.stats.member_collectives += 1;
        Ok(())
    }

    /// Declines the launch unless all threads of the running warp's group are there.
    fn check_group(&self, warp: &Warp) -> Result<(), Declined> {
        let first = self.group / WARPS * WARPS;
        let cta = &self.ctas[self.slot];
        let is_whole = |of: &Warp| of.launched == u32::MAX && (of.stale || of.exited == 0);
        let mut others = (first..first + WARPS).filter(|&other| other != self.group);
        let whole = others.all(|other| cta.storage.warps.get(other).is_some_and(is_whole));
        let threads = self.context.threads as usize;
        if whole && is_whole(warp) && (first / WARPS + 1) * THREADS <= threads {
            return Ok(());
        }
        Err(Declined::Running("a warp group is not whole"))
    }

    /// The descriptors of a product, which are the same in all lanes and name shared memory.
    fn descriptors(
        &self,
        warp: &Warp,
        multiply: &GroupMultiply,
        sources: &Sources<'_>,
    ) -> Result<[u64; 2], Declined> {
        let product = multiply.product();
        let mut out = [0; 2];
        let roles: &[Role] = if sources.left.is_empty() { &[Role::A, Role::B] } else { &[Role::B] };
        for ((&src, &role), out) in sources.descriptors.iter().zip(roles).zip(&mut out) {
            *out = warp.uniform(src).ok_or(UNDEFINED)?;
            let descriptor = Descriptor::parse(*out).map_err(|_| UNDEFINED)?;
            let len = self.ctas[self.slot].storage.shared.len();
            let is_inside = |offset: u32| offset as usize + 16 <= len;
            // The end is a bound: lines may begin within the units that a swizzle exchanges.
            if product.end(&descriptor, role) as usize > len
                && !product.places(&descriptor, role).all(is_inside)
            {
                return Err(UNDEFINED);
            }
        }
        if let (Some(metadata), &[word, selector]) = (product.metadata(), sources.metadata) {
            let is_wrong = |lane: usize| {
                metadata.is_read(lane, warp.lane(selector, lane))
                    && metadata.misuse(warp.lane(word, lane) as u32).is_some()
            };
            if (0..LANES).any(is_wrong) {
                return Err(UNDEFINED);
            }
        }
        Ok(out)
    }

    /// Adds a product that takes effect to those that are computed together. `adds` are the lanes
    /// of each warp whose sums begin with what their registers hold.
    fn add_product(
        &mut self,
        running: &mut Warp,
        (multiply, adds): (&GroupMultiply, [u32; WARPS]),
        sources: &Sources<'_>,
        (descriptors, dst): (&[u64], &[Dst]),
    ) -> Result<(), Declined> {
        if adds != [u32::MAX; WARPS] || self.products.count == MOST_TOGETHER {
            self.compute_products(running, dst);
        }
        let (first, own) = (self.group / WARPS * WARPS, self.group % WARPS);
        let cta = &self.ctas[self.slot];
        let warps: [&Warp; WARPS] = std::array::from_fn(|warp| match warp == own {
            true => &*running,
            false => &cta.storage.warps[first + warp],
        });
        let together = &mut self.products;
        if together.count == together.factors.len() {
            together.factors.push(Factors::default());
        }
        let factors = &mut together.factors[together.count];
        factors.clear();
        let shared = &cta.storage.shared;
        read_factors(multiply, sources, (descriptors, warps), shared, factors).ok_or(UNDEFINED)?;
        together.count += 1;
        if together.count == 1 {
            together.multiply = Some(*multiply);
            self.begin_sums(running, adds, sources.sums, dst);
        }
        Ok(())
    }

    /// Puts the sums of the running group before its first product where they are computed: in
    /// the registers of the results, if these follow each other.
    fn begin_sums(&mut self, running: &mut Warp, adds: [u32; WARPS], from: &[Src], dst: &[Dst]) {
        let (first, own) = (self.group / WARPS * WARPS, self.group % WARPS);
        let in_place = rows(dst).is_some();
        self.products.sums.clear();
        let others = &mut self.ctas[self.slot].storage.warps[first..first + WARPS];
        for (number, (warp, adds)) in others.iter_mut().zip(adds).enumerate() {
            let warp = if number == own { &mut *running } else { warp };
            if !in_place {
                self.products.sums.extend(from.iter().map(|&src| sum(warp, src, adds)));
                continue;
            }
            let is_there = |(&src, &dst): (&Src, &Dst)| is_same(src, dst);
            if adds == u32::MAX && from.iter().zip(dst).all(is_there) {
                continue;
            }
            // A result may be the addend of another one.
            let sums = &mut self.products.sums;
            sums.clear();
            sums.extend(from.iter().map(|&src| sum(warp, src, adds)));
            put_sums(warp, dst, sums);
        }
    }

    /// Computes products whose sums are at `dst` of the four warps, of which `running` is one.
    fn compute_products(&mut self, running: &mut Warp, dst: &[Dst]) {
        let (level, rule) = (self.context.products, self.context.matrix_sums);
        let (first, own) = (self.group / WARPS * WARPS, self.group % WARPS);
        let GroupProducts { multiply: Some(multiply), factors, count, sums } = &mut self.products
        else {
            return;
        };
        let factors = &mut factors[..std::mem::take(count)];
        if factors.is_empty() {
            return;
        }
        let others = &mut self.ctas[self.slot].storage.warps[first..first + WARPS];
        let Some(rows) = rows(dst) else {
            let mut tiles: Vec<&mut Tile> = sums.iter_mut().collect();
            multiply.multiply(level, rule, factors, &mut tiles);
            for (number, sums) in sums.chunks(dst.len().max(1)).enumerate() {
                let warp = if number == own { &mut *running } else { &mut others[number] };
                put_sums(warp, dst, sums);
            }
            return;
        };
        let mut tiles: Vec<&mut Tile> = Vec::with_capacity(WARPS * dst.len());
        let mut running = Some(running);
        for (number, warp) in others.iter_mut().enumerate() {
            let warp = if number == own { running.take() } else { Some(warp) };
            let of = warp.and_then(|warp| warp.narrow.get_mut(rows.range.clone()));
            let of = of.into_iter().flatten().map(|row| &mut row.0);
            match rows.falls {
                true => tiles.extend(of.rev()),
                false => tiles.extend(of),
            }
        }
        multiply.multiply(level, rule, factors, &mut tiles);
    }
}

/// Registers that follow each other.
struct Rows {
    range: Range<usize>,
    /// Whether the last one comes first.
    falls: bool,
}

/// The rows of results of 32 bits, if they follow each other.
fn rows(dst: &[Dst]) -> Option<Rows> {
    let row = |dst: &Dst| if let Dst::Narrow(row) = dst { Some(*row as usize) } else { None };
    let (first, last) = (row(dst.first()?)?, row(dst.last()?)?);
    let falls = last < first;
    let place = |i: usize| if falls { first.checked_sub(i) } else { Some(first + i) };
    let follows = dst.iter().enumerate().all(|(i, dst)| row(dst).is_some() && row(dst) == place(i));
    follows.then(|| Rows { range: first.min(last)..first.max(last) + 1, falls })
}

/// Writes sums to the registers of results.
fn put_sums(warp: &mut Warp, dst: &[Dst], sums: &[Tile]) {
    for (&dst, values) in dst.iter().zip(sums) {
        match dst {
            Dst::Narrow(i) => warp.narrow[i as usize].0 = *values,
            _ => warp.put_each(dst, u32::MAX, |lane| values[lane].into()),
        }
    }
}

/// A register of sums, zero but in the lanes that begin with it.
fn sum(warp: &Warp, src: Src, adds: u32) -> Tile {
    match adds {
        0 => [0; LANES],
        u32::MAX => warp.narrow_in(src, &mut None).0,
        _ => {
            let row = warp.narrow(src).0;
            std::array::from_fn(|lane| if adds >> lane & 1 != 0 { row[lane] } else { 0 })
        }
    }
}

/// Reads the factors of a product.
fn read_factors(
    multiply: &GroupMultiply,
    sources: &Sources<'_>,
    (descriptors, warps): (&[u64], [&Warp; WARPS]),
    shared: &[u8],
    to: &mut Factors,
) -> Option<()> {
    let eight = |places: [u32; 8]| {
        let mut units = [0; LANES];
        for (words, at) in units.as_chunks_mut::<4>().0.iter_mut().zip(places) {
            if let Some(bytes) = shared.get(at as usize..).and_then(<[u8]>::first_chunk::<16>) {
                *words = [0, 4, 8, 12].map(|i| {
                    u32::from_le_bytes([bytes[i], bytes[i + 1], bytes[i + 2], bytes[i + 3]])
                });
            }
        }
        units
    };
    let row = |warp: usize, src: Src| warps[warp].narrow(src).0;
    let mut parsed = descriptors.iter().filter_map(|&bits| Descriptor::parse(bits).ok());
    match sources.left {
        [] => multiply.read(&parsed.next()?, Role::A, eight, to),
        left => multiply.read_registers(|warp, index| row(warp, left[index]), to),
    }
    multiply.read(&parsed.next()?, Role::B, eight, to);
    if let [word, selector] = *sources.metadata {
        to.metadata = Some(std::array::from_fn(|w| [row(w, word), row(w, selector)]));
    }
    Some(())
}

/// Products that have taken effect and are computed together: in one block of the kernel, by the
/// last of the four warps that issue them.
#[derive(Clone, Debug, Default)]
pub(crate) struct GroupProducts {
    multiply: Option<GroupMultiply>,
    /// Those of `count` products come first; the others are room for the next ones.
    factors: Vec<Factors>,
    count: usize,
    /// The sums of the four warps so far, unless they are in the registers of the results.
    sums: Vec<Tile>,
}

/// Finds the products of a block that others follow ([`Asynchronous::is_followed`]).
pub(crate) fn find_chains(steps: &mut [Step]) {
    for at in (0..steps.len()).rev() {
        let (steps, rest) = steps.split_at_mut(at + 1);
        if let Kind::Asynchronous(op) = &mut steps[at].kind {
            op.is_followed = is_followed(op, rest);
        }
    }
}

/// Returns whether a product of the same sums follows a product, with nothing between them that
/// waits, has an effect on memory, or names the sums.
fn is_followed(op: &Asynchronous, rest: &[Step]) -> bool {
    let AsyncOp::WarpGroup(WarpGroupOp::Multiply { multiply, .. }) = op.what else { return false };
    for step in rest {
        match &step.kind {
            Kind::Asynchronous(next) => match next.what {
                AsyncOp::WarpGroup(WarpGroupOp::Fence) => {}
                AsyncOp::WarpGroup(WarpGroupOp::Multiply { multiply: other, registers }) => {
                    let sources = Sources::new(next, &other, if registers { 1 } else { 2 });
                    let goes_on = |sources: Sources<'_>| goes_on(op, next, &sources);
                    return step.guard.is_none()
                        && multiply == other
                        && sources.is_some_and(goes_on);
                }
                _ => return false,
            },
            _ if is_computation(step) && !names(step, &op.dst) => {}
            _ => return false,
        }
    }
    false
}

/// Returns whether a step changes registers alone.
fn is_computation(step: &Step) -> bool {
    matches!(
        step.kind,
        Kind::Narrow { .. }
            | Kind::Rare { .. }
            | Kind::Wide { .. }
            | Kind::Test { .. }
            | Kind::Select { .. }
            | Kind::Scalar { .. }
            | Kind::Low { .. }
            | Kind::Logic { .. }
            | Kind::Widen { .. }
            | Kind::Generic(_)
            | Kind::Sreg { .. }
            | Kind::Nothing
    )
}

/// Returns whether the sums of a product are those of the one before it, and its other operands are
/// not.
fn goes_on(before: &Asynchronous, next: &Asynchronous, sources: &Sources<'_>) -> bool {
    let is_sum = |&src: &Src| before.dst.iter().any(|&dst| is_same(src, dst));
    before.dst == next.dst
        && sources.sums.len() == before.dst.len()
        && sources.sums.iter().zip(&before.dst).all(|(&src, &dst)| is_same(src, dst))
        && !sources.left.iter().chain(sources.metadata).any(is_sum)
}

/// Returns whether a step reads or writes one of some registers.
fn names(step: &Step, registers: &[Dst]) -> bool {
    let mut found = false;
    step.operands(&mut |src| found |= registers.iter().any(|&dst| is_same(src, dst)));
    step.results(&mut |dst| found |= registers.contains(&dst));
    found
}

/// Returns whether an operand is the register of a result.
fn is_same(src: Src, dst: Dst) -> bool {
    matches!((src, dst), (Src::Narrow(a), Dst::Narrow(b)) if a == b)
}

/// Operands of a product, apart.
struct Sources<'s> {
    adds: Src,
    descriptors: &'s [Src],
    left: &'s [Src],
    sums: &'s [Src],
    metadata: &'s [Src],
}

impl<'s> Sources<'s> {
    fn new(op: &'s Asynchronous, multiply: &GroupMultiply, descriptors: usize) -> Option<Self> {
        let (adds, rest) = op.src.split_first()?;
        let left = if descriptors == 1 { A_REGISTERS } else { 0 };
        let (descriptors, rest) = rest.split_at_checked(descriptors)?;
        let (left, rest) = rest.split_at_checked(left)?;
        let (sums, metadata) = rest.split_at_checked(multiply.product().registers())?;
        Some(Self { adds: *adds, descriptors, left, sums, metadata })
    }
}
