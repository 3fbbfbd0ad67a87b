//! Lane slots by cause as bars, and the patterns by which causes are told apart without colour.

use std::fmt::Write as _;

use simt::slots::{LaneSlots, SlotCause};

use super::escape::text;
use crate::divergence::{Comparison, Row, Verdict};

/// Causes in the order in which bars show them, each with its name on the page and the letter of its lanes.
pub(super) const CAUSES: [(SlotCause, &str, char); 6] = [
    (SlotCause::On, "on", '#'),
    (SlotCause::PredicatedOff, "predicated off", 'o'),
    (SlotCause::Diverged, "on another path", '/'),
    (SlotCause::Waiting, "waiting", '='),
    (SlotCause::Exited, "exited", '.'),
    (SlotCause::NeverLaunched, "no thread", '-'),
];

/// The patterns, defined once for all pictures of the page.
pub(super) const PATTERNS: &str = r##"<svg width="0" height="0" class="defs" aria-hidden="true" focusable="false"><defs>
<pattern id="p-on" width="8" height="8" patternUnits="userSpaceOnUse"><rect width="8" height="8" class="f-on"/></pattern>
<pattern id="p-predicated_off" width="6" height="6" patternUnits="userSpaceOnUse"><rect width="6" height="6" class="f-predicated_off"/><circle cx="3" cy="3" r="1.3" class="ink"/></pattern>
<pattern id="p-diverged" width="6" height="6" patternUnits="userSpaceOnUse"><rect width="6" height="6" class="f-diverged"/><path d="M-1 7 7 -1M-1 1 1 -1M5 7 7 5" class="line"/></pattern>
<pattern id="p-waiting" width="6" height="4" patternUnits="userSpaceOnUse"><rect width="6" height="4" class="f-waiting"/><path d="M0 2H6" class="line"/></pattern>
<pattern id="p-exited" width="8" height="8" patternUnits="userSpaceOnUse"><rect width="8" height="8" class="f-exited"/></pattern>
<pattern id="p-never_launched" width="8" height="8" patternUnits="userSpaceOnUse"><rect width="8" height="8" class="f-never_launched"/><path d="M2 2 6 6M6 2 2 6" class="thin"/></pattern>
</defs></svg>
"##;

/// What each pattern stands for.
pub(super) fn legend() -> String {
    let mut out = String::from("<ul class=\"legend\" aria-label=\"Legend\">");
    for (cause, name, _) in CAUSES {
        let _ = write!(
            out,
            "<li><svg width=\"22\" height=\"14\" aria-hidden=\"true\"><rect width=\"22\" height=\"14\" class=\"cell\" fill=\"url(#p-{})\"/></svg> {name}</li>",
            cause.name()
        );
    }
    out.push_str("</ul>\n");
    out
}

/// A bar for each row that ran.
pub(super) fn bars(comparison: &Comparison) -> String {
    let mut out = legend();
    out.push_str("<ol class=\"bars\">\n");
    for (index, row) in comparison.rows.iter().enumerate() {
        // What a mechanism did before it refused a kernel says nothing.
        if let Some(stats) = row.stats.as_ref().filter(|_| row.verdict != Verdict::Unsupported) {
            bar(&mut out, index, row, &stats.slots);
        }
    }
    out.push_str("</ol>\n");
    out
}

fn bar(out: &mut String, index: usize, row: &Row, slots: &LaneSlots) {
    let whole = slots.width.max(1) as f64;
    let shares: Vec<(SlotCause, &str, f64)> = CAUSES
        .iter()
        .map(|&(cause, name, _)| (cause, name, 100.0 * slots.of(cause) as f64 / whole))
        .collect();
    let told: Vec<String> = shares
        .iter()
        .filter(|s| slots.of(s.0) > 0)
        .map(|(_, name, share)| format!("{name} {share:.1}%"))
        .collect();
    let told = told.join(" · ");
    let _ = write!(
        out,
        "<li data-row=\"{index}\"><span class=\"who\">{}</span><svg class=\"bar\" role=\"img\" width=\"100%\" height=\"20\" aria-label=\"{}\">",
        text(&row.label()),
        text(&told)
    );
    let mut at = 0.0;
    for (cause, name, share) in shares.into_iter().filter(|s| s.2 > 0.0) {
        let _ = write!(
            out,
            "<rect x=\"{at:.3}%\" width=\"{share:.3}%\" height=\"20\" class=\"cell\" fill=\"url(#p-{})\"><title>{name}: {} of {} lane slots</title></rect>",
            cause.name(),
            slots.of(cause),
            slots.width
        );
        at += share;
    }
    let _ = writeln!(out, "</svg><span class=\"told\">{}</span></li>", text(&told));
}
