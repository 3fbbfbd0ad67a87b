//! Probes that reveal how sums of a matrix product are made: how many bits of fraction terms keep
//! when they are aligned, which terms are added together and in which order, how the sum is
//! rounded, and what becomes of subnormal numbers, infinities and NaNs.
//!
//! In each probe all rows of A, all columns of B and all elements of C are equal, so that all
//! elements of D are one sum. The buffers are compared bit by bit; the notes tell what they mean.

use std::fmt::Write as _;
use std::path::Path;

use inputs::{Array, ElemType, npy};
use simt::matrix::{Element, LANES, Product, Role, Shape, Spread};

use super::super::{Case, VerifyError, at};
use super::{Fragment, OneLaunch};

/// A number of a probe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scalar {
    Zero,
    /// A power of two; negative, or not.
    Power(bool, i32),
    Infinity(bool),
    /// A quiet NaN with a payload.
    Nan,
    /// The least subnormal number.
    Least,
}

use Scalar::{Infinity, Least, Nan, Power, Zero};

const ONE: Scalar = Power(false, 0);

/// What a probe tells.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Tells {
    /// Whether 2^-n is kept beside 1 and -1.
    Width(i32),
    /// Whether a term at the second place is added after those at the first place and the next one
    /// have cancelled.
    Later(usize, usize),
    /// How 1 + 1.5 * 2^-24 is rounded; negated, or not.
    Rounding(bool),
    /// What the sum is.
    Sum(&'static str),
}

/// A product at a place of the sum: the place and both factors.
type Term = (usize, Scalar, Scalar);

/// A probe: terms of the sum, zeros elsewhere, and what is added.
pub(super) struct Probe {
    tells: Tells,
    terms: Vec<Term>,
    addend: Scalar,
}

/// Bits of fraction and bias of the exponent.
const fn format(element: Element) -> Option<(u32, i32)> {
    Some(match element {
        Element::F16 => (10, 15),
        Element::Bf16 => (7, 127),
        Element::Tf32 | Element::F32 => (23, 127),
        Element::F64 => (52, 1023),
        Element::E4m3 => (3, 7),
        Element::E5m2 => (2, 15),
        _ => return None,
    })
}

/// The bits of a number; none if the type does not have it.
pub(super) fn bits(element: Element, scalar: Scalar) -> Option<u64> {
    let (fraction, bias) = format(element)?;
    let width = element.bits() as u32;
    let sign = |negative: bool| u64::from(negative) << (width - 1);
    let ones = (1 << (width - 1 - fraction)) - 1;
    match scalar {
        Zero => Some(0),
        Power(negative, exponent) => {
            let greatest = if element == Element::E4m3 { ones } else { ones - 1 };
            let biased = exponent + bias;
            let magnitude = match u64::try_from(biased) {
                Ok(biased) if biased > greatest => return None,
                Ok(biased) if biased > 0 => biased << fraction,
                _ => 1 << u32::try_from(fraction as i32 - 1 + biased).ok()?,
            };
            Some(sign(negative) | magnitude)
        }
        Infinity(_) | Nan if element == Element::E4m3 => (scalar == Nan).then_some(0x7f),
        Infinity(negative) => Some(sign(negative) | ones << fraction),
        Nan => Some(ones << fraction | 3 << (fraction - 2)),
        // The lowest bits of tf32 are not read.
        Least if element == Element::Tf32 => Some(1 << 13),
        Least => Some(1),
    }
}

/// A power of two as a product.
fn factors(negative: bool, exponent: i32) -> (Scalar, Scalar) {
    let half = exponent / 2;
    (Power(negative, half), Power(false, exponent - half))
}

impl Probe {
    /// The elements of B in its row `k`.
    pub(super) fn factor_of_b(&self, k: usize) -> Scalar {
        self.terms.iter().find(|(place, ..)| *place == k).map_or(Zero, |(.., b)| *b)
    }
}

/// All probes of a product that its types can express.
pub(super) fn probes(product: &Product) -> Vec<Probe> {
    let k = product.shape.k;
    let term = |place: usize, (a, b): (Scalar, Scalar)| (place, a, b);
    let mut all = Vec::new();
    for n in 1..=60 {
        let terms = vec![term(0, (ONE, ONE)), term(1, factors(false, -n))];
        all.push(Probe { tells: Tells::Width(n), terms, addend: Power(true, 0) });
    }
    let great = match product.elements[1] {
        Element::E4m3 => 16,
        Element::F64 => 60,
        _ => 30,
    };
    let mut pairs: Vec<usize> = (0..4).map(|quarter| quarter * k / 4 / 2 * 2).collect();
    pairs.dedup();
    for pair in pairs {
        for place in (0..k).filter(|&place| place != pair && place != pair + 1) {
            let terms = vec![
                term(pair, factors(false, great)),
                term(pair + 1, factors(true, great)),
                term(place, (ONE, ONE)),
            ];
            all.push(Probe { tells: Tells::Later(pair, place), terms, addend: Zero });
        }
    }
    for negative in [false, true] {
        let terms = vec![term(0, factors(negative, -24)), term(1, factors(negative, -25))];
        all.push(Probe { tells: Tells::Rounding(negative), terms, addend: Power(negative, 0) });
    }
    let sums: [(&str, Vec<Term>, Scalar); 10] = [
        ("least subnormal factor times 1", vec![(0, Least, ONE)], Zero),
        ("least subnormal factor times itself", vec![(0, Least, Least)], Zero),
        ("least subnormal addend", vec![], Least),
        ("infinity times 0", vec![(0, Infinity(false), Zero)], Zero),
        ("infinity times 1", vec![(0, Infinity(true), ONE)], Zero),
        (
            "infinity minus infinity",
            vec![(0, Infinity(false), ONE), (1, Infinity(true), ONE)],
            Zero,
        ),
        ("infinity minus an infinite addend", vec![(0, Infinity(false), ONE)], Infinity(true)),
        ("NaN factor", vec![(0, Nan, ONE)], Zero),
        ("NaN addend", vec![], Nan),
        ("1 minus 1", vec![(0, ONE, ONE)], Power(true, 0)),
    ];
    for (what, terms, addend) in sums {
        all.push(Probe { tells: Tells::Sum(what), terms, addend });
    }
    let [_, a, b, c] = product.elements;
    all.retain(|probe| {
        let known =
            |(_, x, y): &(usize, Scalar, Scalar)| bits(a, *x).is_some() && bits(b, *y).is_some();
        probe.terms.iter().all(known) && bits(c, probe.addend).is_some()
    });
    all
}

/// The product that an instruction computes, if it is one of floats.
pub(super) fn product(head: &str, fragments: &[Fragment; 4]) -> Option<Product> {
    let element = |fragment: &Fragment| {
        Some(match fragment.element.as_str() {
            "f16" => Element::F16,
            "bf16" => Element::Bf16,
            "tf32" => Element::Tf32,
            "f32" => Element::F32,
            "f64" => Element::F64,
            "e4m3" => Element::E4m3,
            "e5m2" => Element::E5m2,
            _ => return None,
        })
    };
    let [d, a, b, c] = fragments;
    let layouts: Vec<&str> = head.split('.').filter(|w| ["row", "col"].contains(w)).collect();
    Some(Product {
        shape: head.split('.').find_map(Shape::parse)?,
        elements: [element(d)?, element(a)?, element(b)?, element(c)?],
        spread: Spread::Mma,
        columns: [layouts.first() == Some(&"col"), layouts.get(1) == Some(&"col")],
        bits: simt::matrix::BitOp::Xor,
        saturate: false,
        rounding: simt::arith::Rounding::NearestEven,
        sparse: None,
    })
}

/// The kernel: each block is a warp, and each thread has the registers of its own row.
fn kernel(head: &str, fragments: &[Fragment; 4]) -> String {
    let mut out = String::from(
        "\n.visible .entry k(.param .u64 p_0, .param .u64 p_1, .param .u64 p_2, \
         .param .u64 p_3)\n{\n  .reg .u32 %z, %zt; .reg .u64 %za, %zx;\n",
    );
    for (list, fragment) in fragments.iter().enumerate() {
        let _ = writeln!(out, "  .reg .{} %x{list}_<{}>;", fragment.ty, fragment.count);
    }
    out += "  mov.u32 %zt, %ctaid.x; mov.u32 %z, %tid.x; mad.lo.u32 %zt, %zt, 32, %z;\n";
    let row = |out: &mut String, list: usize| {
        let size = fragments[list].count * fragments[list].bytes();
        let _ = writeln!(
            out,
            "  ld.param.u64 %za, [p_{list}]; mul.wide.u32 %zx, %zt, {size}; \
             add.u64 %zx, %zx, %za;"
        );
    };
    for (list, fragment) in fragments.iter().enumerate().skip(1) {
        row(&mut out, list);
        let (bytes, count) = (fragment.bytes(), fragment.count);
        for n in 0..count {
            let _ = writeln!(out, "  ld.global.b{} %x{list}_{n}, [%zx+{}];", 8 * bytes, n * bytes);
        }
    }
    let lists: Vec<String> = fragments
        .iter()
        .enumerate()
        .map(|(list, fragment)| {
            let names: Vec<String> = (0..fragment.count).map(|n| format!("%x{list}_{n}")).collect();
            format!("{{{}}}", names.join(", "))
        })
        .collect();
    let _ = writeln!(out, "  {head} {};", lists.join(", "));
    row(&mut out, 0);
    let bytes = fragments[0].bytes();
    for n in 0..fragments[0].count {
        let _ = writeln!(out, "  st.global.b{} [%zx+{}], %x0_{n};", 8 * bytes, n * bytes);
    }
    out + "  ret;\n}\n"
}

/// The program that probes an instruction, if it is a product of floats.
pub(super) fn program(header: &str, head: &str, fragments: &[Fragment; 4]) -> Option<String> {
    product(head, fragments)?;
    Some(header.to_owned() + &kernel(head, fragments))
}

/// Registers of a matrix of all probes, block by block, lane by lane.
pub(super) fn registers(product: &Product, list: usize, probes: &[Probe]) -> Vec<u64> {
    let fragment = [product.d(), product.a(), product.b(), product.c()][list];
    let mut out = Vec::new();
    for probe in probes {
        let term = |k: usize| probe.terms.iter().find(|(place, ..)| *place == k);
        let value = |row: usize, column: usize| match fragment.role {
            Role::A => term(column).map_or(Zero, |(_, a, _)| *a),
            Role::B => probe.factor_of_b(row),
            Role::C => probe.addend,
        };
        for lane in 0..LANES {
            for register in 0..fragment.registers() {
                out.push((0..fragment.parts()).fold(0, |all, part| {
                    let (_, row, column) = fragment.place(lane, register, part);
                    let bits = bits(fragment.element, value(row, column)).unwrap_or(0);
                    all | bits << (part * fragment.element.bits())
                }));
            }
        }
    }
    out
}

/// Writes the case of an instruction; none if its product is not one of floats.
pub(super) fn write(
    folder: &Path,
    name: &str,
    head: &str,
    program: &str,
    fragments: &[Fragment; 4],
) -> Result<Option<Case>, VerifyError> {
    let Some(product) = product(head, fragments) else { return Ok(None) };
    let probes = probes(&product);
    let table = |list: usize| {
        let ty = if fragments[list].bytes() == 8 { ElemType::U64 } else { ElemType::U32 };
        Array::from_bits(ty, &registers(&product, list, &probes))
    };
    let tables = [1, 2, 3].map(table);
    let launch = ProbeLaunch { head, program, blocks: probes.len(), threads: LANES, tables };
    launch.write(folder, name, &fragments[0]).map(Some)
}

/// The launch of a case.
pub(super) struct ProbeLaunch<'a> {
    /// The instruction's name.
    pub(super) head: &'a str,
    pub(super) program: &'a str,
    /// Blocks: one for each probe.
    pub(super) blocks: usize,
    /// Threads of a block.
    pub(super) threads: usize,
    /// What A, B and C are loaded from.
    pub(super) tables: [Array; 3],
}

impl ProbeLaunch<'_> {
    /// Writes the case; each thread stores the registers of a fragment.
    pub(super) fn write(
        &self,
        folder: &Path,
        name: &str,
        results: &Fragment,
    ) -> Result<Case, VerifyError> {
        let Self { head, program, blocks, threads, ref tables } = *self;
        let mut files = Vec::new();
        for (list, table) in (1..).zip(tables) {
            let file = format!("{name}-{list}.npy");
            let path = folder.join(&file);
            npy::save(&path, table).map_err(at(&path))?;
            files.push(file);
        }
        let launch = OneLaunch { program, tables: files, results, blocks, threads };
        launch.write(folder, name, format!("{head} (probes of sums)"), head.to_owned())
    }
}

/// What results mean. The contents are those of the buffer `r`.
pub(super) fn meaning(head: &str, fragments: &[Fragment; 4], results: &Array) -> Vec<String> {
    let Some(product) = product(head, fragments) else { return Vec::new() };
    let probes = probes(&product);
    let element = product.elements[0];
    let each = results.len() / probes.len().max(1);
    let sums: Vec<u64> = results.iter().step_by(each.max(1)).collect();
    let one = bits(element, ONE).unwrap_or(0);
    let (mut width, mut notes) = (None, Vec::new());
    let mut later: Vec<(usize, Vec<usize>)> = Vec::new();
    for (probe, &sum) in probes.iter().zip(&sums) {
        match probe.tells {
            Tells::Width(n) if sum != 0 => width = width.max(Some(n)),
            Tells::Width(_) => {}
            Tells::Later(pair, place) => {
                if later.last().is_none_or(|(last, _)| *last != pair) {
                    later.push((pair, Vec::new()));
                }
                if let Some((_, places)) = later.last_mut().filter(|_| sum == one) {
                    places.push(place);
                }
            }
            Tells::Rounding(negative) => {
                let exact = bits(element, Power(negative, 0)) == Some(sum);
                let way = if exact { "toward zero" } else { "away from zero" };
                let sign = if negative { "-" } else { "" };
                notes.push(format!("{sign}(1 + 1.5 * 2^-24) is rounded {way}: {sum:#x}"));
            }
            Tells::Sum(what) => notes.push(format!("{what}: {sum:#x}")),
        }
    }
    let width = width.map_or_else(|| "none".to_owned(), |n| n.to_string());
    let mut first = vec![format!("bits of fraction beside 1 and -1: {width}")];
    for (pair, places) in later {
        let shown: Vec<String> = ranges(&places);
        let shown = if shown.is_empty() { "none".to_owned() } else { shown.join(", ") };
        first.push(format!("added after terms {pair} and {} cancelled: {shown}", pair + 1));
    }
    [first, notes].concat()
}

/// Numbers in ascending order as ranges.
fn ranges(numbers: &[usize]) -> Vec<String> {
    let mut out: Vec<(usize, usize)> = Vec::new();
    for &n in numbers {
        match out.last_mut() {
            Some((_, last)) if *last + 1 == n => *last = n,
            _ => out.push((n, n)),
        }
    }
    let text = |(first, last): &(usize, usize)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    out.iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_bits() {
        assert_eq!(bits(Element::F16, Power(true, 0)), Some(0xbc00));
        assert_eq!(bits(Element::F16, Power(false, -24)), Some(1));
        assert_eq!(bits(Element::F16, Power(false, -25)), None);
        assert_eq!(bits(Element::F16, Power(false, 16)), None);
        assert_eq!(bits(Element::E4m3, Power(false, 8)), Some(0x78));
        assert_eq!(bits(Element::E4m3, Infinity(false)), None);
        assert_eq!(bits(Element::F32, Infinity(true)), Some(0xff80_0000));
        assert_eq!(bits(Element::F32, Nan), Some(0x7fe0_0000));
        assert_eq!(bits(Element::S8, ONE), None);
    }

    #[test]
    fn ranges_of_numbers() {
        assert_eq!(ranges(&[1, 2, 3, 7, 9, 10]), ["1-3", "7", "9-10"]);
    }
}
