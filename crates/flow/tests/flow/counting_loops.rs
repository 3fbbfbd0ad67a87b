//! Loops that count: whether CTAs store bytes of their own, held against the loops executed.

use flow::analysis::Webs;
use flow::footprint::{Arguments, Footprints};
use flow::kernel::graph_of;
use isa::FileId;
use proptest::prelude::*;

fn footprints(text: &str) -> Footprints {
    let module = ir::text::parse(FileId(0), text).unwrap();
    let function = &module.functions[0];
    let cfg = graph_of(function).unwrap();
    Footprints::new(function, &cfg, &Webs::new(function, &cfg))
}

/// A kernel in which each thread stores words in a loop.
#[derive(Clone, Debug)]
struct Strided {
    grid: u32,
    block: u32,
    /// Factors of `ctaid.x` and `tid.x` in the counter's first value and its limit, and a number.
    first: [i32; 3],
    limit: [i32; 3],
    step: i32,
    /// Whether the loop is entered only below the limit.
    entry: bool,
    signed: bool,
    inclusive: bool,
    /// Whether the register with the first value is the one that is increased.
    in_place: bool,
    /// Bytes of a unit of the counter, of a CTA, and what another register adds in each iteration.
    scale: i64,
    base: i64,
    moving: i64,
    /// Where the store is: before the increase, after it, or behind the loop.
    place: usize,
}

/// Iterations after which a loop is taken to be endless.
const MOST_ITERATIONS: usize = 200;

impl Strided {
    fn text(&self) -> String {
        let sign = if self.signed { 's' } else { 'u' };
        let mut sums = String::new();
        for (name, [cta, thread, more]) in [("%c", self.first), ("%l", self.limit)] {
            sums += &format!(
                "{name} = sreg.u32 ctaid.x
                {name} = mul.u32 {name}, {cta}
                %t = sreg.u32 tid.x
                {name} = mad.u32 %t, {thread}, {name}
                {name} = add.u32 {name}, {more}\n"
            );
        }
        let entry = match self.entry {
            true => format!("%p = setp.ge.{sign}32 %c, %l\n@%p br done\n"),
            false => "br enter\n".to_owned(),
        };
        let cmp = if self.inclusive { "le" } else { "lt" };
        let (i, copy) = match self.in_place {
            true => ("%c", ""),
            false => ("%i", "%i = mov.u32 %c"),
        };
        let store = format!(
            "%w = mulwide.{sign}32 {i}, {}
            %w = add.u64 %w, %m
            st.global.u32 [%w], %i\n",
            self.scale
        );
        let at = |place: usize| if self.place == place { store.as_str() } else { "" };
        format!(
            "kernel @k(x: u64) {{
              reg %c, %l, %t, %i: b32
              reg %w, %m: b64
              reg %p: pred
            entry:
              {sums}
              %m = ld.param.u64 [@x]
              %t = sreg.u32 ctaid.x
              %w = mulwide.u32 %t, {base}
              %m = add.u64 %m, %w
              {entry}
            enter:
              {copy}
              br again
            again:
              {before}
              {i} = add.u32 {i}, {step}
              %m = add.u64 %m, {moving}
              {after}
              %p = setp.{cmp}.{sign}32 {i}, %l
              @%p br again
            behind:
              {behind}
            done:
              ret
            }}",
            base = self.base,
            step = self.step,
            moving = self.moving,
            before = at(0),
            after = at(1),
            behind = at(2),
        )
    }

    /// Returns whether any byte is stored by two CTAs; `None` if a loop does not end.
    fn meet(&self) -> Option<bool> {
        let mut owner = std::collections::HashMap::new();
        let below = |a: u32, b: u32| match (self.signed, self.inclusive) {
            (true, true) => a.cast_signed() <= b.cast_signed(),
            (true, false) => a.cast_signed() < b.cast_signed(),
            (false, true) => a <= b,
            (false, false) => a < b,
        };
        let (mut met, mut ends) = (false, true);
        for (cta, thread) in (0..self.grid).flat_map(|c| (0..self.block).map(move |t| (c, t))) {
            let sum = |[c, t, more]: [i32; 3]| {
                let product = |of: u32, by: i32| of.wrapping_mul(by.cast_unsigned());
                product(cta, c).wrapping_add(product(thread, t)).wrapping_add(more.cast_unsigned())
            };
            let (mut i, limit) = (sum(self.first), sum(self.limit));
            let enters = match self.signed {
                true => i.cast_signed() < limit.cast_signed(),
                false => i < limit,
            };
            if self.entry && !enters {
                continue;
            }
            let mut at = i64::from(cta) * self.base;
            let mut store = |i: u32, at: i64| {
                let i = if self.signed { i64::from(i.cast_signed()) } else { i64::from(i) };
                let first = i * self.scale + at;
                for byte in first..first + 4 {
                    met |= *owner.entry(byte).or_insert(cta) != cta;
                }
            };
            for times in 0.. {
                if times == MOST_ITERATIONS {
                    ends = false;
                    break;
                }
                if self.place == 0 {
                    store(i, at);
                }
                i = i.wrapping_add(self.step.cast_unsigned());
                at += self.moving;
                if self.place == 1 {
                    store(i, at);
                }
                if !below(i, limit) {
                    break;
                }
            }
            if self.place == 2 {
                store(i, at);
            }
        }
        (ends || met).then_some(met)
    }

    fn is_called_disjoint(&self) -> bool {
        let launch = ([self.grid, 1, 1], [self.block, 1, 1]);
        let params = (1_u64 << 40).to_le_bytes();
        let ([grid, block], params) = ([launch.0, launch.1], &params);
        let found = footprints(&self.text()).in_launch(&Arguments { grid, block, params });
        found.is_some_and(|found| found.is_disjoint(0, u64::MAX))
    }
}

fn strided() -> impl Strategy<Value = Strided> {
    let factor = || prop_oneof![0..4i32, Just(8), Just(16), -3..40i32];
    let sum = || (factor(), 0..3i32, prop_oneof![0..40i32, -40..400i32]);
    let sum = || sum().prop_map(|(cta, thread, more)| [cta, thread, more]);
    let sizes = (1..5u32, 1..9u32, prop_oneof![1..5i32, Just(8), Just(16), -2..40i32]);
    let flags = prop::array::uniform4(any::<bool>());
    let bytes = (
        prop_oneof![Just(4i64), 0..9i64],
        prop_oneof![Just(0i64), 0..200i64],
        prop_oneof![Just(0i64), -8..64i64],
    );
    let kinds = (sizes, flags, 0..3usize);
    (kinds, sum(), sum(), bytes).prop_map(|(kinds, first, limit, bytes)| {
        let ((grid, block, step), [entry, signed, inclusive, in_place], place) = kinds;
        let (scale, base, moving) = bytes;
        Strided {
            grid,
            block,
            first,
            limit,
            step,
            entry,
            signed,
            inclusive,
            in_place,
            scale,
            base,
            moving,
            place,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn what_loops_store_apart_is(kernel in strided()) {
        if kernel.is_called_disjoint() {
            prop_assert_eq!(kernel.meet().filter(|met| *met), None);
        }
    }
}

/// Loops over an array by all threads of the grid, and over parts of it by CTAs.
#[test]
fn loops_by_the_width_of_the_grid_or_of_the_cta_are_apart() {
    let by_grid = Strided {
        grid: 4,
        block: 8,
        first: [8, 1, 0],
        limit: [0, 0, 100],
        step: 32,
        entry: true,
        signed: true,
        inclusive: false,
        in_place: false,
        scale: 4,
        base: 0,
        moving: 0,
        place: 0,
    };
    assert!(by_grid.is_called_disjoint());
    assert!(!Strided { step: 31, ..by_grid.clone() }.is_called_disjoint());
    assert!(Strided { in_place: true, ..by_grid.clone() }.is_called_disjoint());
    assert!(!Strided { place: 1, ..by_grid.clone() }.is_called_disjoint());
    let by_cta = Strided { first: [0, 1, 0], step: 8, base: 400, ..by_grid.clone() };
    assert!(by_cta.is_called_disjoint(), "the limit keeps a CTA in its part");
    assert!(!Strided { base: 396, ..by_cta.clone() }.is_called_disjoint());
    assert!(!Strided { place: 1, ..by_cta.clone() }.is_called_disjoint());
    assert!(!Strided { inclusive: true, ..by_cta.clone() }.is_called_disjoint());
    let moving = Strided { scale: 0, base: 512, moving: 4, ..by_cta };
    assert!(moving.is_called_disjoint());
    // The counter wraps around below the limit, and the loop goes on.
    let (first, limit) = ([0, 1, -8], [0, 0, -1]);
    let wrapping = Strided { first, limit, signed: false, ..moving };
    assert!(!wrapping.is_called_disjoint());
}

/// The property above would hold, too, if no loop counted.
#[test]
fn a_part_of_what_loops_store_apart_is_called_so() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut apart, mut told) = (0, 0);
    for _ in 0..4000 {
        let kernel = strided().new_tree(&mut runner).unwrap().current();
        let loops = kernel.step > 0 && kernel.place == 0 && kernel.grid > 1;
        if loops && kernel.meet() == Some(false) {
            apart += 1;
            told += u32::from(kernel.is_called_disjoint());
        }
    }
    assert!(apart > 100 && 4 * told > apart, "{told} of {apart}");
}
