//! Plots of a sweep as SVG: efficiency by width, issues relative to `ipdom`, verdicts.
//!
//! Each plot answers one question at a glance, and says the same in a title. Colour never carries
//! information alone: lines have marks, cells have letters. Means over kernels are geometric means
//! over the launches that end under every mechanism that is compared, so that a mechanism gains
//! nothing by failing on a hard one.

mod summary;

use std::collections::BTreeMap;
use std::path::Path;

use crate::store::StoreError;
pub use study::svg::Plot;
pub(crate) use study::svg::escape;
use study::svg::{Svg, colour, mark};
pub use summary::{Summary, Verdicts};

/// Draws all plots of a directory.
///
/// # Errors
/// Returns an error if its rows cannot be read.
pub fn plots(folder: &Path) -> Result<Vec<Plot>, StoreError> {
    let summary = Summary::read(folder)?;
    Ok(of(&summary))
}

/// Draws the plots of a summary; those without data are left out.
#[must_use]
pub(crate) fn of(summary: &Summary) -> Vec<Plot> {
    let all = [efficiency(summary), relative(summary), verdicts(summary), heat(summary)];
    all.into_iter().flatten().collect()
}

/// Draws useful lane efficiency by warp size, a line for each mechanism.
fn efficiency(summary: &Summary) -> Option<Plot> {
    let lines = summary.efficiency();
    let widths: Vec<u64> = summary.widths();
    if lines.is_empty() || widths.is_empty() {
        return None;
    }
    let (kernels, title) = (summary.compared().len(), "Useful lane efficiency by warp size");
    let title = format!("{title}: geometric mean over {kernels} launches");
    let (left, top, width, height): (f64, f64, f64, f64) = (56.0, 40.0, 520.0, 320.0);
    let legend = 18.0 * lines.len() as f64;
    let mut svg = Svg::new(820.0, (top + height + 60.0).max(top + legend + 30.0), &title);
    let x = |w: u64| {
        let at = widths.iter().position(|&v| v == w).unwrap_or(0) as f64;
        left + width * (at + 0.5) / widths.len() as f64
    };
    let y = |percent: f64| top + height * (1.0 - percent / 100.0);
    for percent in [0, 20, 40, 60, 80, 100] {
        let at = y(f64::from(percent));
        svg.line((left, at), (left + width, at), "grid");
        svg.text((left - 8.0, at + 4.0), "end", &format!("{percent} %"));
    }
    for &w in &widths {
        svg.text((x(w), top + height + 18.0), "middle", &w.to_string());
    }
    svg.text((left + width / 2.0, top + height + 38.0), "middle", "lanes of a group");
    for (index, (name, points)) in lines.iter().enumerate() {
        let places: Vec<(f64, f64)> = points.iter().map(|(w, v)| (x(*w), y(*v))).collect();
        svg.path(&places, colour(index));
        for (place, (w, v)) in places.iter().zip(points) {
            svg.mark(*place, mark(index), colour(index), &format!("{name}, W = {w}: {v:.1} %"));
        }
        let at = top + 10.0 + 18.0 * index as f64;
        svg.mark((left + width + 24.0, at - 4.0), mark(index), colour(index), name);
        let last = points.last().map_or(0.0, |point| point.1);
        svg.text((left + width + 38.0, at), "start", &format!("{name} {last:.1} %"));
    }
    Some(Plot { name: "efficiency", title, svg: svg.finish() })
}

/// Draws issues relative to `ipdom`, a bar for each mechanism at each width.
fn relative(summary: &Summary) -> Option<Plot> {
    let rows = summary.relative();
    if rows.is_empty() {
        return None;
    }
    let title = format!(
        "Issues relative to ipdom: geometric mean over {} launches",
        summary.compared().len()
    );
    let widths = summary.widths();
    let (left, top, width) = (210.0, 40.0, 480.0);
    let (bar, gap) = (13.0, 10.0);
    let group = bar * widths.len() as f64 + gap;
    let mut svg = Svg::new(820.0, top + group * rows.len() as f64 + 46.0, &title);
    let most = rows.iter().flat_map(|(_, values)| values.values()).copied().fold(1.0, f64::max);
    // A mechanism many times worse than the others must not hide how they differ.
    let shown = most.min(4.0);
    let x = |factor: f64| left + width * factor.min(shown) / shown;
    let bottom = top + group * rows.len() as f64;
    svg.line((x(1.0), top - 6.0), (x(1.0), bottom), "axis");
    svg.text((x(1.0), bottom + 16.0), "middle", "1 (ipdom)");
    for (index, (name, values)) in rows.iter().enumerate() {
        let at = top + group * index as f64;
        svg.text((left - 10.0, at + group / 2.0), "end", name);
        for (slot, w) in widths.iter().enumerate() {
            let Some(&value) = values.get(w) else { continue };
            let y = at + bar * slot as f64;
            let label = format!("{name}, W = {w}: {value:.3} times the issues of ipdom");
            svg.rect((left, y), (x(value) - left, bar - 2.0), colour(slot), &label);
            let beyond = if value > shown { " →" } else { "" };
            let text = format!("{value:.2}{beyond} (W = {w})");
            svg.small((x(value) + 6.0, y + bar - 4.0), &text);
        }
    }
    Some(Plot { name: "issues", title, svg: svg.finish() })
}

/// The letter and the class of a verdict.
pub(crate) fn letter(verdict: &str) -> (&'static str, &'static str) {
    match verdict {
        "ok" => ("", "ok"),
        "hang" => ("H", "hang"),
        "order-dependent" => ("o", "order"),
        "racy" => ("r", "racy"),
        "fault" => ("F", "fault"),
        "unsound" => ("U", "unsound"),
        "unsupported" => ("–", "none"),
        _ => ("E", "error"),
    }
}

/// Draws the verdicts: a row for each launch, a column for each mechanism; over orders and options
/// a cell has the letters of all that differ.
fn verdicts(summary: &Summary) -> Option<Plot> {
    let table = summary.verdicts();
    if table.launches.is_empty() {
        return None;
    }
    let (all, ended) = table.totals();
    let title = format!("Verdicts: {ended} of {all} runs end as under the reference");
    let (left, top, cell) = (300.0, 140.0, 20.0);
    let width = left + cell * table.columns.len() as f64 + 40.0;
    let height = top + cell * table.launches.len() as f64 + 50.0;
    let mut svg = Svg::new(width.max(620.0), height, &title);
    for (index, name) in table.columns.iter().enumerate() {
        svg.slanted((left + cell * (index as f64 + 0.7), top - 8.0), name);
    }
    for (line, launch) in table.launches.iter().enumerate() {
        let y = top + cell * line as f64;
        svg.text((left - 8.0, y + 14.0), "end", &shorten(launch, 40));
        for (index, name) in table.columns.iter().enumerate() {
            let Some(found) = table.cells.get(&(launch.clone(), name.clone())) else { continue };
            let worst = found.keys().max_by_key(|verdict| severity(verdict));
            let Some(worst) = worst else { continue };
            let texts: Vec<String> = found.iter().map(|(v, n)| format!("{v} {n}")).collect();
            let label = format!("{launch} under {name}: {}", texts.join(", "));
            let (sign, class) = letter(worst);
            let mixed = if found.len() > 1 { format!("{sign}*") } else { sign.to_owned() };
            let at = (left + cell * index as f64, y);
            svg.cell(at, cell - 2.0, class, &mixed, &label);
        }
    }
    let legend = "H hang, F fault, U unsound, o order-dependent, r racy, – not for this kernel, E error; * other verdicts at other widths, orders or options";
    svg.small((12.0, height - 16.0), legend);
    Some(Plot { name: "verdicts", title, svg: svg.finish() })
}

/// How bad a verdict is.
fn severity(verdict: &str) -> u8 {
    match verdict {
        "ok" => 0,
        "unsupported" => 1,
        "racy" => 2,
        "order-dependent" => 3,
        "unsound" => 4,
        "fault" => 5,
        "hang" => 6,
        _ => 7,
    }
}

/// Draws useful lane efficiency of each launch under each mechanism as shades, at the width that
/// most rows have.
fn heat(summary: &Summary) -> Option<Plot> {
    let (width, values) = summary.heat()?;
    let mut launches: Vec<&String> = values.keys().map(|(launch, _)| launch).collect();
    launches.dedup();
    let columns = summary.names();
    let title = format!("Useful lane efficiency of each launch, in percent, W = {width}");
    let (left, top, cell, high) = (300.0, 140.0, 30.0, 18.0);
    let wide = left + cell * columns.len() as f64 + 40.0;
    let mut svg = Svg::new(wide.max(620.0), top + high * launches.len() as f64 + 24.0, &title);
    for (index, name) in columns.iter().enumerate() {
        svg.slanted((left + cell * (index as f64 + 0.6), top - 8.0), name);
    }
    for (line, launch) in launches.iter().enumerate() {
        let y = top + high * line as f64;
        svg.text((left - 8.0, y + 13.0), "end", &shorten(launch, 40));
        for (index, name) in columns.iter().enumerate() {
            let Some(value) = values.get(&((*launch).clone(), name.clone())) else { continue };
            let label = format!("{launch} under {name}: {value:.1} %");
            svg.shade((left + cell * index as f64, y), (cell - 1.0, high - 1.0), *value, &label);
        }
    }
    Some(Plot { name: "launches", title, svg: svg.finish() })
}

/// Returns a text of at most so many characters, cut at the front.
fn shorten(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let tail: String = text.chars().skip(count - most + 1).collect();
    format!("…{tail}")
}

/// Values by launch and name.
pub(crate) type ByLaunch<V> = BTreeMap<(String, String), V>;
