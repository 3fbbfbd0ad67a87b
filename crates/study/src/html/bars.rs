//! Lane slots by cause as bars, with patterns that distinguish the causes without colour.

use std::fmt::Write as _;

use machines::probe::Lanes;
use simt::slots::{LaneSlots, SlotCause};

use super::escape::{grouped, text};
use crate::divergence::{Comparison, Row, Verdict};
use probes::LaneCauses;

/// A part of a bar: one cause, or a portion of one.
pub(super) struct BarSegment {
    /// Name of its pattern.
    pub(super) pattern: &'static str,
    /// Its name on the page.
    pub(super) name: &'static str,
    /// The letter for its lanes in the lane views.
    pub(super) letter: char,
    /// Returns its lane slots.
    slots: fn(&LaneSlots) -> u64,
    /// Returns its lanes at an issue.
    pub(super) lanes: fn(&LaneCauses) -> Lanes,
}

/// Creates a part that is exactly one cause.
macro_rules! part {
    ($cause:ident, $name:literal, $letter:expr) => {
        BarSegment {
            pattern: SlotCause::$cause.name(),
            name: $name,
            letter: $letter,
            slots: |slots| slots.of(SlotCause::$cause),
            lanes: |causes| causes.lanes(SlotCause::$cause),
        }
    };
}

/// The parts in the order of the bars. Lanes that the machine's mask turns off are separate from
/// those that a guard turns off: on other machines the former would be on another path.
pub(super) const SEGMENTS: [BarSegment; 7] = [
    part!(On, "on", ON),
    BarSegment {
        slots: LaneSlots::guarded_off,
        lanes: |causes| causes.lanes(SlotCause::PredicatedOff) - causes.masked_off(),
        ..part!(PredicatedOff, "predicated off", 'o')
    },
    BarSegment {
        pattern: "masked_off",
        name: "masked off",
        letter: 'm',
        slots: |slots| slots.masked_off,
        lanes: LaneCauses::masked_off,
    },
    part!(Diverged, "on another path", '/'),
    part!(Waiting, "waiting", '='),
    part!(Exited, "exited", '.'),
    part!(NeverLaunched, "no thread", '-'),
];

/// The letter of lanes that are on.
pub(super) const ON: char = '#';
/// Letter, pattern and name of the lanes that are on in an issue that runs once for its group.
pub(super) const SCALAR: (char, &str, &str) = ('u', "scalar", "in the mask of a scalar issue");

/// The patterns, defined once for all pictures of the page.
pub(super) const PATTERNS: &str = r##"<svg width="0" height="0" class="defs" aria-hidden="true" focusable="false"><defs>
<pattern id="p-on" width="8" height="8" patternUnits="userSpaceOnUse"><rect width="8" height="8" class="f-on"/></pattern>
<pattern id="p-predicated_off" width="6" height="6" patternUnits="userSpaceOnUse"><rect width="6" height="6" class="f-predicated_off"/><circle cx="3" cy="3" r="1.3" class="ink"/></pattern>
<pattern id="p-masked_off" width="6" height="6" patternUnits="userSpaceOnUse"><rect width="6" height="6" class="f-masked_off"/><path d="M-1 -1 7 7M-1 5 1 7M5 -1 7 1" class="line"/></pattern>
<pattern id="p-diverged" width="6" height="6" patternUnits="userSpaceOnUse"><rect width="6" height="6" class="f-diverged"/><path d="M-1 7 7 -1M-1 1 1 -1M5 7 7 5" class="line"/></pattern>
<pattern id="p-waiting" width="6" height="4" patternUnits="userSpaceOnUse"><rect width="6" height="4" class="f-waiting"/><path d="M0 2H6" class="line"/></pattern>
<pattern id="p-exited" width="8" height="8" patternUnits="userSpaceOnUse"><rect width="8" height="8" class="f-exited"/></pattern>
<pattern id="p-scalar" width="4" height="8" patternUnits="userSpaceOnUse"><rect width="4" height="8" class="f-exited"/><path d="M2 0V8" class="thin"/></pattern>
<pattern id="p-never_launched" width="8" height="8" patternUnits="userSpaceOnUse"><rect width="8" height="8" class="f-never_launched"/><path d="M2 2 6 6M6 2 2 6" class="thin"/></pattern>
</defs></svg>
"##;

/// Renders the legend of the patterns.
pub(super) fn legend() -> String {
    let mut out = String::from("<ul class=\"legend\" aria-label=\"Legend\">");
    for BarSegment { pattern, name, .. } in &SEGMENTS {
        let _ = write!(
            out,
            "<li><svg width=\"22\" height=\"14\" aria-hidden=\"true\"><rect width=\"22\" height=\"14\" class=\"cell\" fill=\"url(#p-{pattern})\"/></svg> {name}</li>"
        );
    }
    let (_, pattern, name) = SCALAR;
    let _ = write!(
        out,
        "<li><svg width=\"22\" height=\"14\" aria-hidden=\"true\"><rect width=\"22\" height=\"14\" class=\"cell\" fill=\"url(#p-{pattern})\"/></svg> {name}</li>"
    );
    out.push_str("</ul>\n");
    out
}

/// Renders a bar for each row that ran.
pub(super) fn bars(comparison: &Comparison) -> String {
    let mut out = legend();
    out.push_str("<ol class=\"bars\">\n");
    let all = |row: &Row| row.stats.as_ref().map_or(0, |s| length(row, &s.counts.slots));
    let ended = comparison.rows.iter().filter(|row| row.useful.is_some());
    let longest = ended.map(all).max().or(comparison.rows.iter().map(all).max()).unwrap_or(0);
    for (index, row) in comparison.rows.iter().enumerate() {
        // The slots of a run that ended in a refusal are meaningless.
        if let Some(stats) = row.stats.as_ref().filter(|_| row.verdict != Verdict::Unsupported) {
            bar(&mut out, index, row, &stats.counts.slots, longest);
        }
    }
    out.push_str("</ol>\n");
    out
}

/// Returns the length of a row's bar: the lanes of all its issues, scalar ones included.
fn length(row: &Row, slots: &LaneSlots) -> u64 {
    slots.width + slots.uniform_issues.saturating_mul(row.warp_size)
}

/// Renders a bar whose length is in proportion to the longest of the runs that ended; one that did
/// not end fills the line.
fn bar(out: &mut String, index: usize, row: &Row, slots: &LaneSlots, longest: u64) {
    let own = length(row, slots);
    let whole = own.max(1) as f64;
    let scale = (own as f64 / longest.max(1) as f64).min(1.0);
    let share = |count: u64| 100.0 * count as f64 / whole;
    let scalar = own - slots.width;
    let parts = SEGMENTS.iter().map(|part| (part.pattern, part.name, (part.slots)(slots)));
    let parts = parts.chain([("scalar", "scalar issues", scalar)]);
    let parts: Vec<_> = parts.filter(|(.., count)| *count > 0).collect();
    let label: Vec<String> =
        parts.iter().map(|(_, name, count)| format!("{name} {:.1}%", share(*count))).collect();
    let useful = row.useful.map_or("did not end".to_owned(), |u| format!("useful {u:.1}%"));
    let label = format!("{useful} · {} issues: {}", grouped(slots.issues()), label.join(" · "));
    let _ = write!(
        out,
        "<li data-row=\"{index}\"><span class=\"who\">{}</span><svg class=\"bar\" role=\"img\" width=\"100%\" height=\"20\" aria-label=\"{}\">",
        text(&row.label()),
        text(&label)
    );
    let mut at = 0.0;
    for (pattern, name, count) in parts {
        let share = scale * share(count);
        let _ = write!(
            out,
            "<rect x=\"{at:.3}%\" width=\"{share:.3}%\" height=\"20\" class=\"cell\" fill=\"url(#p-{pattern})\"><title>{name}: {count} of {own} lane slots</title></rect>"
        );
        at += share;
    }
    let _ = writeln!(out, "</svg><span class=\"told\">{}</span></li>", text(&label));
}
