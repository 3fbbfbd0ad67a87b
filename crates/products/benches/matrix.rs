//! Speed of products of matrices of warps and warp groups, at each level of vector instructions and
//! by each rule of sums, beside the fused multiply-adds of single precision that one core does in
//! registers.
//!
//! `cargo bench -p simtlab-products --bench matrix`. Times are the least of short runs, in turn
//! with those of the multiply-adds, so that the ratio of both does not depend on what else the
//! machine does. The model's time is that of `simt::matrix::Product::multiply`.

use ir::matrix::{Instruction, KINDS, element};
use ir::mods::MatrixTypes;
use ir::testing::Rng;
use products::{Factors, GroupMultiply, Level, Multiply, Tile};
use simt::arith::Rounding;
use simt::matrix::{
    BitOp, Element, Fragment, GroupProduct, LANES, Major, MatrixSums, Product, Spread, WARPS,
};
use std::hint::black_box;
use std::io::Write;
use std::time::Instant;

const LEVELS: [Level; 3] = [Level::Portable, Level::Avx2, Level::Avx512];

/// Runs of which the least time is taken.
const RUNS: usize = 40;

/// Nanoseconds of a call, the least of some runs.
fn time(calls: u32, mut call: impl FnMut()) -> f64 {
    let run = |_| {
        let start = Instant::now();
        (0..calls).for_each(|_| call());
        start.elapsed().as_secs_f64() * 1e9 / f64::from(calls)
    };
    (0..RUNS).map(run).fold(f64::MAX, f64::min)
}

/// Operations a nanosecond of fused multiply-adds of single precision in registers; `None` on hosts
/// without AVX2.
#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code, reason = "vector instructions that not every host has")]
fn peak() -> Option<f64> {
    let (lanes, chains): (usize, fn()) = match Level::best() {
        // SAFETY: the host has the instructions.
        Level::Avx512 => (16, || unsafe { chains::avx512() }),
        // SAFETY: the host has the instructions.
        Level::Avx2 => (8, || unsafe { chains::avx2() }),
        Level::Portable => return None,
    };
    Some((2 * lanes * chains::COUNT * chains::STEPS) as f64 / time(1, chains))
}

#[cfg(not(target_arch = "x86_64"))]
fn peak() -> Option<f64> {
    None
}

/// Chains of fused multiply-adds.
#[cfg(target_arch = "x86_64")]
mod chains {
    use std::arch::x86_64::{_mm256_fmadd_ps, _mm256_set1_ps, _mm512_fmadd_ps, _mm512_set1_ps};
    use std::hint::black_box;

    /// Enough to keep all units of a core busy.
    pub(super) const COUNT: usize = 12;

    pub(super) const STEPS: usize = 1000;

    #[target_feature(enable = "avx512f")]
    pub(super) fn avx512() {
        let (x, mut sums) = (_mm512_set1_ps(black_box(0.999)), [_mm512_set1_ps(1.0); COUNT]);
        for _ in 0..STEPS {
            sums = sums.map(
                #[inline(always)]
                |sum| _mm512_fmadd_ps(sum, x, x),
            );
        }
        black_box(sums);
    }

    #[target_feature(enable = "avx2,fma")]
    pub(super) fn avx2() {
        let (x, mut sums) = (_mm256_set1_ps(black_box(0.999)), [_mm256_set1_ps(1.0); COUNT]);
        for _ in 0..STEPS {
            sums = sums.map(
                #[inline(always)]
                |sum| _mm256_fmadd_ps(sum, x, x),
            );
        }
        black_box(sums);
    }
}

/// The products of the table with the deepest shape of each kind, factors and sums alike.
fn products() -> impl Iterator<Item = Product> {
    KINDS.iter().filter(|kind| kind.instruction == Instruction::Mma).flat_map(|kind| {
        let shape = kind.shapes[kind.shapes.len() - 1];
        let types = MatrixTypes::ALL.iter().map(|types| types.types());
        let types = types.filter(move |&types| kind.has(shape, types) && types[1] == types[2]);
        types.map(move |types| Product {
            shape: shape.sizes(),
            elements: types.map(|ty| element(ty).unwrap_or(Element::F32)),
            spread: Spread::Mma,
            columns: [false; 2],
            bits: BitOp::Xor,
            saturate: false,
            rounding: Rounding::NearestEven,
            sparse: None,
        })
    })
}

/// A register of numbers between -2 and 2, or of any integers.
fn register(rng: &mut Rng, fragment: &Fragment) -> [u64; LANES] {
    let bits = rng.bits();
    let ones = match fragment.element {
        Element::F64 => return std::array::from_fn(|_| 0x3ff0 << 48 | rng.bits() >> 12),
        Element::F32 | Element::Tf32 => (0x3f80_0000, 0x807f_ffff),
        Element::F16 => (0x3c00_3c00, 0x83ff_83ff),
        Element::Bf16 => (0x3f80_3f80, 0x807f_807f),
        Element::E4m3 => (0x3838_3838, 0x8787_8787),
        Element::E5m2 => (0x3c3c_3c3c, 0x8383_8383),
        _ => (bits as u32, u32::MAX),
    };
    std::array::from_fn(|_| u64::from(ones.0 | rng.bits() as u32 & ones.1))
}

/// A line of the table: what is multiplied, how, and how long it takes.
fn line(out: &mut impl Write, name: &str, how: &str, operations: usize, nanoseconds: f64) {
    let speed = operations as f64 / nanoseconds;
    let share = peak().map_or(String::new(), |peak| format!("{:.1}%", 100.0 * speed / peak));
    let _ = writeln!(out, "{name:32} {how:16} {nanoseconds:8.0} {speed:9.1} {share:>8}");
}

/// Products of a warp.
fn of_warps(rng: &mut Rng, out: &mut impl Write) {
    for product in products() {
        let fragments = [product.a(), product.b(), product.c()];
        let registers = |f: &Fragment| vec![*f; f.registers()];
        let operands: Vec<[u64; LANES]> =
            fragments.iter().flat_map(registers).map(|f| register(rng, &f)).collect();
        let narrow: Vec<[u32; LANES]> = operands.iter().map(|row| row.map(|v| v as u32)).collect();
        let (wide, narrow): (Vec<_>, Vec<_>) = (operands.iter().collect(), narrow.iter().collect());
        let shape = product.shape;
        let name = format!("m{}n{}k{} {:?}", shape.m, shape.n, shape.k, product.elements);
        let mut row = |how: &str, nanoseconds: f64| {
            line(out, &name, how, 2 * shape.m * shape.n * shape.k, nanoseconds);
        };
        let float = !product.elements[1].is_integer() && product.elements[1] != Element::F64;
        let model = time(3, || {
            black_box(product.multiply(MatrixSums::Device, black_box(&operands)));
        });
        row("model", model);
        let multiply = Multiply::new(product);
        if !multiply.is_direct() {
            continue;
        }
        for level in LEVELS.into_iter().filter(|level| level.is_available()) {
            let rules = if float { &[MatrixSums::Device, MatrixSums::F32][..] } else { &RULE };
            for &rule in rules {
                let call = || {
                    let mut results = [[0; LANES]; 8];
                    if multiply.is_wide() {
                        let mut results = [[0; LANES]; 8];
                        multiply.wide(level, black_box(&wide), &mut results);
                        black_box(&results);
                    } else {
                        black_box(multiply.narrow(level, rule, black_box(&narrow), &mut results));
                        black_box(&results);
                    }
                };
                row(&format!("{} {rule}", level.name()), time(500, call));
            }
        }
    }
}

const RULE: [MatrixSums; 1] = [MatrixSums::Device];

/// Products of warp groups of 128 columns, from tiles to sums in place.
fn of_groups(rng: &mut Rng, out: &mut impl Write) {
    use Element::{Bf16, E4m3, F16, F32, S8, S32, Tf32};
    for (elements, sparse) in [
        ([F32, F16, F16], false),
        ([F32, F16, F16], true),
        ([F16, F16, F16], false),
        ([F32, Bf16, Bf16], false),
        ([F32, Tf32, Tf32], false),
        ([F32, E4m3, E4m3], false),
        ([S32, S8, S8], false),
    ] {
        let product = GroupProduct {
            columns: 128,
            elements,
            sparse,
            negated: [false; 2],
            major: [Major::Depth; 2],
            saturate: false,
        };
        let (multiply, level) = (GroupMultiply::new(product), Level::best());
        let mut tiles = |element: Element, count: usize| -> Vec<Tile> {
            let ones = match element {
                Tf32 => (0x3f80_0000, 0x807f_ffff),
                F16 => (0x3c00_3c00, 0x83ff_83ff),
                Bf16 => (0x3f80_3f80, 0x807f_807f),
                E4m3 => (0x3838_3838, 0x8787_8787),
                _ => (0, u32::MAX),
            };
            let mut word = || ones.0 | rng.bits() as u32 & ones.1;
            (0..count).map(|_| std::array::from_fn(|_| word())).collect()
        };
        let depth = if sparse { 4 } else { 2 };
        // Metadata of the first two of each four elements.
        let metadata = sparse.then_some([[[0x4444_4444; LANES], [0; LANES]]; WARPS]);
        let factors =
            Factors::new(tiles(elements[1], 16), tiles(elements[2], 16 * depth), metadata);
        let sums = vec![[0; LANES]; WARPS * product.registers()];
        let sparse = if sparse { " sparse" } else { "" };
        let name = format!("m64n128k{} {elements:?}{sparse}", product.depth());
        let rules = if elements[0] == S32 { &RULE[..] } else { &MatrixSums::ALL };
        for &rule in rules.iter().filter(|&&rule| rule != MatrixSums::Exact) {
            let mut sums = sums.clone();
            // Kernels multiply tiles that are 64 elements of 16 bits deep.
            for count in [1, 4] {
                let mut factors = vec![factors.clone(); count];
                let mut sums: Vec<&mut Tile> = sums.iter_mut().collect();
                let call = || multiply.multiply(level, rule, black_box(&mut factors), &mut sums);
                let operations = count * 2 * 64 * product.columns * product.depth();
                let how = format!("{} {rule} x{count}", level.name());
                line(out, &name, &how, operations, time(20, call));
            }
        }
    }
}

fn main() {
    // The test runner runs benchmarks of this form, too.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let (mut rng, mut out) = (Rng::new(1), std::io::stdout().lock());
    let _ = writeln!(out, "{:32} {:16} {:>8} {:>9} {:>8}", "", "", "ns", "GFLOP/s", "of peak");
    of_groups(&mut rng, &mut out);
    of_warps(&mut rng, &mut out);
}
