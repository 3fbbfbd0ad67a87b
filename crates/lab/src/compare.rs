//! Comparison of a buffer with its expected contents, element by element within a
//! [`Tolerance`], or as multisets.

use std::fmt::Write as _;

use inputs::array::Array;
use inputs::elem::{ElemType, format_bits};
use inputs::tolerance::{Tolerance, ulp_distance};

/// A pair of elements that do not match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Flat index in the buffer.
    pub index: usize,
    /// The actual bit pattern.
    pub got: u64,
    /// The expected bit pattern.
    pub want: u64,
}

/// The result of comparing a buffer with its expected contents.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Element type.
    pub ty: ElemType,
    /// Number of compared elements.
    pub compared: usize,
    /// Number of elements that do not match.
    pub mismatches: usize,
    /// The first of them, at most [`Comparison::KEPT`].
    pub first: Vec<Mismatch>,
    /// Largest distance of finite elements, within tolerance or not, and its index.
    pub max_abs: Option<(f64, usize)>,
    /// Largest distance in units in the last place, and its index.
    pub max_ulp: Option<(u64, usize)>,
}

impl Comparison {
    /// Most mismatches that are kept.
    pub const KEPT: usize = 4;

    /// Returns whether all elements match.
    #[must_use]
    pub fn passes(&self) -> bool {
        self.mismatches == 0
    }
}

/// Compares `got[start..]` with all of `want`, element by element. Requires types of the same size;
/// elements beyond the end of either array are not compared.
#[must_use]
pub fn compare(got: &Array, start: usize, want: &Array, tolerance: Tolerance) -> Comparison {
    let ty = got.ty();
    let mut result = Comparison {
        ty,
        compared: 0,
        mismatches: 0,
        first: Vec::new(),
        max_abs: None,
        max_ulp: None,
    };
    for (offset, (g, w)) in got.iter().skip(start).zip(want.iter()).enumerate() {
        let index = start + offset;
        result.compared += 1;
        if g == w {
            continue;
        }
        result.note_distance(index, g, w);
        if !tolerance.allows(ty, g, w) {
            result.mismatches += 1;
            if result.first.len() < Comparison::KEPT {
                result.first.push(Mismatch { index, got: g, want: w });
            }
        }
    }
    result
}

impl Comparison {
    fn note_distance(&mut self, index: usize, got: u64, want: u64) {
        let distance = match (self.ty.to_f64(got), self.ty.to_f64(want)) {
            (Some(g), Some(w)) => (g - w).abs(),
            _ => {
                let (g, w) = (self.ty.to_int(got), self.ty.to_int(want));
                (g.unwrap_or(0) - w.unwrap_or(0)).unsigned_abs() as f64
            }
        };
        if distance.is_finite() && self.max_abs.is_none_or(|(largest, _)| distance > largest) {
            self.max_abs = Some((distance, index));
        }
        if let Some(steps) = ulp_distance(self.ty, got, want)
            && self.max_ulp.is_none_or(|(largest, _)| steps > largest)
        {
            self.max_ulp = Some((steps, index));
        }
    }

    /// Describes the mismatches: their number, the first ones with both values, and the largest
    /// distances.
    #[must_use]
    pub fn describe(&self, name: &str, buffer: &Array) -> String {
        let mut text = format!("{name}: {} of {} elements differ", self.mismatches, self.compared);
        for m in &self.first {
            let place = buffer.subscript(m.index);
            let (got, want) = (format_bits(self.ty, m.got), format_bits(self.ty, m.want));
            let _ = write!(text, "\n  {name}{place}: expected {want}, got {got}");
        }
        if self.mismatches > self.first.len() {
            let _ = write!(text, "\n  and {} more", self.mismatches - self.first.len());
        }
        if let Some((distance, index)) = self.max_abs {
            let _ = write!(
                text,
                "\n  largest difference {} at {name}{}",
                format_bits(ElemType::F64, distance.to_bits()),
                buffer.subscript(index)
            );
        }
        if let Some((steps, index)) = self.max_ulp {
            let _ = write!(
                text,
                "\n  largest distance {steps} ulp at {name}{}",
                buffer.subscript(index)
            );
        }
        text
    }
}

/// Compares two multisets. Returns a description of the difference, or `None` if they are equal.
#[must_use]
pub fn compare_multisets(name: &str, ty: ElemType, got: &[u64], want: &[u64]) -> Option<String> {
    let (mut got, mut want) = (got.to_vec(), want.to_vec());
    got.sort_unstable();
    want.sort_unstable();
    if got == want {
        return None;
    }
    let (mut surplus, mut missing) = (Vec::new(), Vec::new());
    let (mut g, mut w) = (got.iter().peekable(), want.iter().peekable());
    loop {
        match (g.peek(), w.peek()) {
            (Some(a), Some(b)) if a == b => {
                g.next();
                w.next();
            }
            (Some(a), Some(b)) if a > b => missing.extend(w.next()),
            (Some(_), _) => surplus.extend(g.next()),
            (None, Some(_)) => missing.extend(w.next()),
            (None, None) => break,
        }
    }
    let list = |values: &[&u64]| {
        let shown: Vec<String> = values.iter().take(4).map(|b| format_bits(ty, **b)).collect();
        let more = values.len().saturating_sub(4);
        let tail = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{}{tail}", shown.join(", "))
    };
    let mut text = format!("{name}: as a multiset it is not what was expected");
    if !missing.is_empty() {
        let _ = write!(text, "\n  missing: {}", list(&missing));
    }
    if !surplus.is_empty() {
        let _ = write!(text, "\n  too many: {}", list(&surplus));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f32s(values: &[f32]) -> Array {
        let bits: Vec<u64> = values.iter().map(|v| u64::from(v.to_bits())).collect();
        Array::from_bits(ElemType::F32, &bits)
    }

    #[test]
    fn exact_compares_bits() {
        let got = f32s(&[0.0, 1.0, f32::NAN]);
        assert!(compare(&got, 0, &f32s(&[0.0, 1.0, f32::NAN]), Tolerance::EXACT).passes());
        let other = compare(&got, 0, &f32s(&[-0.0, 1.0, f32::NAN]), Tolerance::EXACT);
        assert_eq!(other.mismatches, 1);
        assert_eq!(other.max_ulp, Some((1, 0)));
    }

    #[test]
    fn the_report_names_first_places_and_largest_distances() {
        let got = f32s(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]).with_shape(vec![2, 3]).expect("six");
        let want = f32s(&[0.0, 1.5, 2.0, 8.0, 4.0, 5.25]);
        let text = compare(&got, 0, &want, Tolerance::EXACT).describe("y", &got);
        assert_eq!(
            text,
            "y: 3 of 6 elements differ\n  y[0,1]: expected 1.5, got 1\n  y[1,0]: expected 8, got 3\n  \
             y[1,2]: expected 5.25, got 5\n  largest difference 5 at y[1,0]\n  \
             largest distance 12582912 ulp at y[1,0]"
        );
    }

    #[test]
    fn multisets_ignore_order_only() {
        assert_eq!(compare_multisets("q", ElemType::U32, &[3, 1, 2], &[1, 2, 3]), None);
        let text =
            compare_multisets("q", ElemType::U32, &[3, 1, 1], &[1, 2, 3]).expect("not equal");
        assert_eq!(
            text,
            "q: as a multiset it is not what was expected\n  missing: 2\n  too many: 1"
        );
        let text = compare_multisets("q", ElemType::U32, &[1], &[1, 2]).expect("not equal");
        assert!(text.ends_with("missing: 2"));
    }
}
