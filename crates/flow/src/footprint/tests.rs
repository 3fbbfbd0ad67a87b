use super::*;
use crate::analysis::Webs;
use crate::kernel::graph_of;
use isa::FileId;
use proptest::prelude::*;

/// Coordinates of a thread and its CTA.
const COORDINATES: usize = LOOP_AXES.start;

/// Where the first buffer begins in these tests.
const BASE: u64 = 0x1000;

fn footprints(text: &str) -> Footprints {
    let module = ir::text::parse(FileId(0), text).unwrap();
    let function = &module.functions[0];
    let cfg = graph_of(function).unwrap();
    Footprints::new(function, &cfg, &Webs::new(function, &cfg))
}

/// Returns whether each of some ranges is disjoint.
fn disjoint(
    text: &str,
    (grid, block): ([u32; 3], [u32; 3]),
    params: &[u64],
    ranges: &[(u64, u64)],
) -> Vec<bool> {
    let params: Vec<u8> = params.iter().flat_map(|p| p.to_le_bytes()).collect();
    let found = footprints(text).in_launch(&Arguments { grid, block, params: &params }).unwrap();
    ranges.iter().map(|&(base, len)| found.is_disjoint(base, len)).collect()
}

/// `y[i] += x[i]` for `i < n`, with what comes before the store.
fn saxpy(store: &str) -> String {
    format!(
        "kernel @k(n: u64, x: u64, y: u64) {{
          reg %i, %n, %a, %b: b32
          reg %p: pred
          reg %x, %y, %at: b64
        entry:
          %i = sreg.u32 ctaid.x
          %n = sreg.u32 ntid.x
          %a = sreg.u32 tid.x
          %i = mad.s32 %i, %n, %a
          %n = ld.param.u32 [@n]
          %p = setp.ge.s32 %i, %n
          @%p br done
        work:
          %x = ld.param.u64 [@x]
          %y = ld.param.u64 [@y]
          %at = mulwide.s32 %i, 4
          %x = add.u64 %x, %at
          %y = add.u64 %y, %at
          %a = ld.global.b32 [%x]
          %b = ld.global.b32 [%y]
          %a = add.u32 %a, %b
          {store}
        done:
          ret
        }}"
    )
}

#[test]
fn a_guard_keeps_ctas_within_their_buffer() {
    let launch = ([16, 1, 1], [256, 1, 1]);
    let bytes = 4 * 4001;
    let (x, y) = (BASE, BASE + bytes);
    let ranges = [(x, bytes), (y, bytes), (y + bytes, 64)];
    let kernel = saxpy("st.global.b32 [%y], %a");
    assert_eq!(disjoint(&kernel, launch, &[4001, x, y], &ranges), [false, true, false]);
    // Stores that overrun the first buffer reach what others load.
    assert_eq!(disjoint(&kernel, launch, &[4096, y, x], &ranges), [true, false, false]);
    // Words that the next CTA reads, or writes, too.
    for store in
        ["st.global.b32 [%y+4], %a", "st.global.b64 [%y], %at", "st.global.b32 [%y-1024], %a"]
    {
        assert_eq!(
            disjoint(&saxpy(store), launch, &[4000, x, y], &ranges)[1..2],
            [false],
            "{store}"
        );
    }
    // All blocks write one word.
    let store = "%y = ld.param.u64 [@y]
          st.global.b32 [%y], %a";
    assert_eq!(disjoint(&saxpy(store), launch, &[4001, x, y], &ranges), [false; 3]);
}

#[test]
fn a_grid_that_overlaps_columns_needs_its_guard() {
    let kernel = |guard: &str| {
        format!(
            "kernel @k(n: u64, out: u64) {{
              reg %row, %col, %n, %c, %t: b32
              reg %p, %q: pred
              reg %out, %at: b64
            entry:
              %c = sreg.u32 ctaid.x
              %t = sreg.u32 tid.x
              %col = shl.b32 %c, 4
              %col = or.b32 %col, %t
              %c = sreg.u32 ctaid.y
              %t = sreg.u32 tid.y
              %row = mad.u32 %c, 16, %t
              %n = ld.param.u32 [@n]
              %p = setp.ge.u32 %row, %n
              %q = setp.ge.u32 %col, %n
              {guard}
              @%p br done
            work:
              %row = mad.s32 %row, %n, %col
              %at = mulwide.s32 %row, 4
              %out = ld.param.u64 [@out]
              %out = add.u64 %out, %at
              st.global.b32 [%out], %row
            done:
              ret
            }}"
        )
    };
    let of = |guard, n: u64, grid| {
        let range = [(BASE, 4 * n * n)];
        disjoint(&kernel(guard), (grid, [16, 16, 1]), &[n, BASE], &range)[0]
    };
    let both = "%p = or.pred %p, %q";
    assert!(of(both, 100, [7, 7, 1]));
    assert!(of("", 112, [7, 7, 1]), "rows are as long as the grid is wide");
    assert!(!of("", 100, [7, 7, 1]));
    assert!(!of("%p = and.pred %p, %q", 100, [7, 7, 1]));
    assert!(!of(both, 100, [7, 7, 2]), "CTAs that differ in z write the same words");
}

#[test]
fn accesses_through_loaded_or_carried_numbers_have_no_footprint() {
    let found = footprints(
        "kernel @k(x: u64) {
          reg %x, %y, %at: b64
          reg %i: b32
          reg %p: pred
        entry:
          %x = ld.param.u64 [@x]
          %i = ld.global.u32 [%x]
          %at = mulwide.u32 %i, 4
          %y = add.u64 %x, %at
          st.global.u32 [%y], %i
        again:
          st.global.u32 [%x], %i
          %x = add.u64 %x, 4
          %i = ld.global.u32 [%x]
          %p = setp.lt.u32 %i, 7
          @%p br again
        end:
          st.global.u32 [%at], %i
          ret
        }",
    );
    assert!(found.is_read_only());
    assert_eq!([(0, 1), (0, 4), (1, 0)].map(|(b, i)| found.has(b, i)), [false; 3]);
}

/// A kernel whose threads store `bytes` bytes at a sum of multiples of their coordinates, where a
/// part of the sum is below a limit.
#[derive(Clone, Debug)]
struct Sum {
    grid: [u32; 3],
    block: [u32; 3],
    factors: [i64; COORDINATES],
    guarded: [bool; COORDINATES],
    limit: u64,
    bytes: u32,
    /// Where a second store is, relative to the first.
    second: i64,
}

impl Sum {
    fn text(&self) -> String {
        let names = ["ctaid.x", "ctaid.y", "ctaid.z", "tid.x", "tid.y", "tid.z"];
        let mut body = String::new();
        for (axis, name) in names.into_iter().enumerate() {
            let bits = self.factors[axis] as u64;
            body +=
                &format!("%i = sreg.u32 {name}\n%w = cvt.u64.u32 %i\n%w = mul.u64 %w, {bits}\n");
            let sum = if self.guarded[axis] { "%g" } else { "%s" };
            body += &format!("{sum} = add.u64 {sum}, %w\n");
        }
        let (limit, bits) = (self.limit, 8 * self.bytes);
        let second = self.second;
        format!(
            "kernel @k(x: u64) {{
              reg %i: b32
              reg %w, %s, %g, %x: b64
              reg %p: pred
            entry:
              %s = mov.u64 0
              %g = mov.u64 0
              {body}
              %p = setp.ge.s64 %g, {limit}
              @%p br done
            work:
              %x = ld.param.u64 [@x]
              %s = add.u64 %s, %g
              %x = add.u64 %x, %s
              %i = cvt.u32.u64 %x
              st.global.b{bits} [%x], {value}
              st.global.b{bits} [%x{second:+}], {value}
            done:
              ret
            }}",
            value = if bits == 64 { "%x" } else { "%i" },
        )
    }

    /// Returns whether any byte is stored by two CTAs.
    fn meet(&self) -> bool {
        let mut owner = std::collections::HashMap::new();
        let ([cx, cy, cz], [tx, ty, tz]) = (self.grid, self.block);
        let ctas = (0..cx * cy * cz).map(|i| [i % cx, i / cx % cy, i / cx / cy]);
        for cta in ctas {
            for thread in (0..tx * ty * tz).map(|i| [i % tx, i / tx % ty, i / tx / ty]) {
                let at = [cta, thread].concat();
                let sum = |guarded: bool| -> i64 {
                    let axes = (0..COORDINATES).filter(|&axis| self.guarded[axis] == guarded);
                    axes.map(|axis| self.factors[axis] * i64::from(at[axis])).sum()
                };
                if sum(true) >= self.limit as i64 {
                    continue;
                }
                let first = sum(false) + sum(true);
                for start in [first, first + self.second] {
                    for byte in start..start + i64::from(self.bytes) {
                        if *owner.entry(byte).or_insert(cta) != cta {
                            return true;
                        }
                    }
                }
            }
        }
        false
    }
}

fn sums() -> impl Strategy<Value = Sum> {
    let sizes = || prop::array::uniform3(1..4u32);
    let factor = prop_oneof![0..4i64, (1..8i64).prop_map(|f| 4 * f), -40..200i64];
    let factors = prop::array::uniform6(factor);
    let guarded = prop::array::uniform6(any::<bool>());
    let second = prop_oneof![Just(0i64), -20..20i64];
    (sizes(), sizes(), factors, guarded, 1..200u64, prop_oneof![Just(4u32), Just(8)], second)
        .prop_map(|(grid, block, factors, guarded, limit, bytes, second)| Sum {
            grid,
            block,
            factors,
            guarded,
            limit,
            bytes,
            second,
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(800))]

    #[test]
    fn what_is_called_disjoint_is(sum in sums()) {
        let range = [(0, u64::MAX)];
        if disjoint(&sum.text(), (sum.grid, sum.block), &[1 << 20], &range)[0] {
            prop_assert!(!sum.meet());
        }
    }
}

/// The property above would hold, too, if nothing were called disjoint.
#[test]
fn half_of_what_is_disjoint_is_called_so() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut apart, mut told) = (0, 0);
    for _ in 0..2000 {
        let sum = sums().new_tree(&mut runner).unwrap().current();
        if !sum.meet() && sum.grid != [1; 3] {
            apart += 1;
            let found = disjoint(&sum.text(), (sum.grid, sum.block), &[1 << 20], &[(0, u64::MAX)]);
            told += u32::from(found[0]);
        }
    }
    assert!(apart > 100 && 2 * told > apart, "{told} of {apart}");
}
