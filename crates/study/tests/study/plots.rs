//! Plots of a comparison: what they draw is what was counted.

use study::plots::plots;
use study::svg::Plot;

use crate::html::compared_under;

/// Ten of 32 lanes run one instruction, the others four: 62 lane slots are lost. Then one lane
/// skips one instruction.
const DIAMOND: &str = "kernel @k(out: u64 global) {
  reg %t, %n: b32
  reg %p, %q: pred
entry:
  %t = sreg.u32 tid.x
  %n = mov.u32 0
  %p = setp.lt.u32 %t, 10
  @%p br small
large:
  %n = add.u32 %n, 1
  %n = add.u32 %n, 1
  %n = add.u32 %n, 1
  br done
small:
  %n = add.u32 %n, 7
done:
  %q = setp.lt.u32 %t, 1
  @%q br end
rest:
  %n = add.u32 %n, 1
end:
  ret
}
";

fn drawn(name: &str, mechanisms: &[&str]) -> Vec<Plot> {
    plots(&compared_under(mechanisms, name, DIAMOND, 32).1)
}

fn named<'a>(plots: &'a [Plot], name: &str) -> &'a str {
    &plots.iter().find(|plot| plot.name == name).expect("is drawn").svg
}

/// Returns the numbers of an attribute of all elements that begin so.
fn numbers(svg: &str, element: &str, attribute: &str) -> Vec<f64> {
    let of = svg.lines().filter(|line| line.starts_with(element));
    let value = |line: &str| {
        let (_, rest) = line.split_once(&format!(" {attribute}=\"")).expect("has it");
        rest.split_once('"').expect("an end").0.parse().expect("a number")
    };
    of.map(value).collect()
}

#[test]
fn branches_have_bars_to_one_scale() {
    let plots = drawn("plots_branches", &["ipdom"]);
    let svg = named(&plots, "branches");
    assert!(svg.contains("62 slots lost, 1 of 1 diverge"), "{svg}");
    assert!(svg.contains("2 of 3 branches, 63 slots on other paths, 0 charged to none"), "{svg}");
    let bars = numbers(svg, "<rect x=", "width");
    assert_eq!(bars.len(), 2, "{bars:?}");
    assert!((bars[0] / bars[1] - 62.0).abs() < 1.0, "{bars:?}");
}

#[test]
fn the_map_has_the_lane_slots_that_execute() {
    let plots = drawn("plots_occupancy", &["ipdom", "min-pc"]);
    let svg = named(&plots, "occupancy");
    // 7 issues of 32 lanes, 4 of 22, 1 of 10, 1 of 31.
    assert!(svg.contains("84.9 % of lane slots on"), "{svg}");
    let [frame, _] = numbers(svg, "<rect class=\"frame\"", "width")[..] else { panic!("{svg}") };
    // Areas of one shade: widths of the parts of its path, weighted with its opacity.
    let first = svg.split("<rect class=\"frame\"").next().expect("a part");
    let mut dark = 0.0;
    for line in first.lines().filter(|line| line.starts_with("<path")) {
        let (_, rest) = line.split_once("fill-opacity=\"").expect("a shade");
        let opacity: f64 = rest.split_once('"').expect("an end").0.parse().expect("a number");
        let widths = line.split('h').skip(1).filter(|part| !part.starts_with('-'));
        let wide: f64 = widths.filter_map(|part| part.split('v').next()?.parse::<f64>().ok()).sum();
        dark += opacity * wide;
    }
    // Shades are rounded up to a twelfth.
    let share = dark / frame;
    assert!((0.84..0.85 + 1.0 / 12.0).contains(&share), "{share}");
}

#[test]
fn names_are_text_in_plots() {
    let (_, mut comparison) = compared_under(&["ipdom"], "plots_names", DIAMOND, 32);
    comparison.kernels = vec!["<script>&".to_owned()];
    for plot in plots(&comparison) {
        assert!(plot.svg.contains("&lt;script&gt;&amp;"), "{}", plot.name);
        assert!(!plot.svg.contains("<script"), "{}", plot.name);
    }
}

#[test]
fn many_rows_are_cut_with_a_note() {
    let (_, mut comparison) = compared_under(&["ipdom"], "plots_rows", DIAMOND, 32);
    let row = comparison.rows[0].clone();
    comparison.rows = vec![row; 30];
    for plot in plots(&comparison) {
        assert!(plot.svg.contains("6 more rows are not shown."), "{}", plot.name);
        assert_eq!(plot.svg.matches("W = 32: useful").count() % 24, 0, "{}", plot.name);
    }
}
