//! The text report: metrics, and a bar for each cause of lane slots.
//!
//! At most 80 columns and about 25 lines, without colour, the same on every terminal. Several
//! launches take a line each; the bars below show their sum.

use std::fmt::Write as _;

use machines::stats::{AccessSite, LaunchStats};
use simt::counts::Traffic;
use simt::slots::SlotCause;

use super::run_stats::RunStats;

/// Width of a bar in columns.
const BAR: usize = 34;

/// Accesses listed under "where memory hurts".
const SPOTS: usize = 4;

/// Launches listed individually; one line counts the rest.
const LISTED: usize = 8;

/// The causes with their labels, in the order of the report.
const CAUSES: [(SlotCause, &str); 6] = [
    (SlotCause::On, "on"),
    (SlotCause::PredicatedOff, "predicated off"),
    (SlotCause::Diverged, "diverged"),
    (SlotCause::Waiting, "waiting at sync"),
    (SlotCause::Exited, "exited"),
    (SlotCause::NeverLaunched, "never launched"),
];

/// Renders the report as text that ends in a newline.
#[must_use]
pub fn to_text(run: &RunStats) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{} on {}, {}, warp size {}{}",
        run.module,
        run.machine,
        run.mechanism,
        run.warp_size,
        engines(&run.launches)
    );
    let total = run.total();
    if let [only] = run.launches.as_slice() {
        let _ = writeln!(out, "  {}", heading(only));
    } else {
        launches(&mut out, &run.launches);
    }
    let _ = writeln!(out);
    summary(&mut out, &total);
    let _ = writeln!(out);
    bars(&mut out, &total);
    hot_spots(&mut out, &run.launches);
    out
}

/// Names the engines that ran the launches, on machines with more than one.
fn engines(launches: &[LaunchStats]) -> String {
    let mut names: Vec<&str> = launches.iter().map(|l| l.engine).collect();
    names.sort_unstable();
    names.dedup();
    names.retain(|name| !name.is_empty());
    match names.as_slice() {
        [] => String::new(),
        [one] => format!(", {one} engine"),
        more => format!(", {} engines", more.join(" and ")),
    }
}

/// Lists the accesses with the highest excess cost, at most [`SPOTS`] lines; prints nothing if
/// there are none.
fn hot_spots(out: &mut String, launches: &[LaunchStats]) {
    let mut sites: Vec<&AccessSite> = launches.iter().flat_map(|l| &l.sites).collect();
    sites.retain(|s| s.traffic.excess() > 0);
    sites.sort_by_key(|s| (std::cmp::Reverse(s.traffic.excess()), s.line));
    if sites.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n  where memory hurts");
    for site in sites.iter().take(SPOTS) {
        let place = match &site.source {
            Some((file, line)) => {
                let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
                format!("{}, {name}:{line}", site.line)
            }
            None => site.line.to_string(),
        };
        let Traffic { global_requests, global_sectors, shared_requests, .. } = site.traffic;
        let cost = if site.traffic.excess_sectors() >= site.traffic.bank_conflicts {
            let each = global_sectors as f64 / global_requests.max(1) as f64;
            format!("{each:.2} sectors each")
        } else {
            let each = site.traffic.bank_conflicts as f64 / shared_requests.max(1) as f64;
            format!("{each:.2} conflicts each")
        };
        let requests = grouped(global_requests + shared_requests);
        let place = shorten(&format!("line {place}"), 32);
        let _ = writeln!(out, "  {place:<32}{requests:>14} requests, {cost}");
    }
    if sites.len() > SPOTS {
        let _ = writeln!(out, "  and {} more lines", sites.len() - SPOTS);
    }
}

/// Formats a launch as `kernel, grid 12 x 32, block 32 x 8`.
fn heading(launch: &LaunchStats) -> String {
    let mut text = format!(
        "{}, grid {}, block {}",
        launch.kernel,
        extents(launch.grid),
        extents(launch.block)
    );
    if launch.shared > 0 {
        let _ = write!(text, ", {} bytes of shared memory", grouped(launch.shared));
    }
    if let Some(mechanism) = launch.retried {
        let _ = write!(text, ", again under {mechanism}");
    }
    if launch.outcome != "done" && !launch.outcome.is_empty() {
        let _ = write!(text, ": {}", launch.outcome);
    }
    text
}

/// Formats extents without trailing ones.
fn extents(extents: [u64; 3]) -> String {
    let used = extents.iter().rposition(|&e| e != 1).map_or(1, |last| last + 1);
    extents[..used].iter().map(u64::to_string).collect::<Vec<_>>().join(" x ")
}

fn launches(out: &mut String, launches: &[LaunchStats]) {
    for (index, launch) in launches.iter().take(LISTED).enumerate() {
        let efficiency = 100.0 * launch.counts.slots.execution_efficiency();
        let heading = shorten(&heading(launch), 46);
        let issued = grouped(launch.counts.slots.issues());
        let _ = writeln!(out, "  {index:>2}  {heading:<46}{issued:>16}{efficiency:>8.2} %");
    }
    if launches.len() > LISTED {
        let _ = writeln!(out, "      and {} more launches", launches.len() - LISTED);
    }
}

/// Truncates text to `width` characters.
fn shorten(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars().take(width - 3).chain("...".chars()).collect()
}

fn summary(out: &mut String, total: &LaunchStats) {
    let (counts, slots) = (&total.counts, &total.counts.slots);
    let issues = slots.vector_issues.max(1) as f64;
    let mut row = |name: &str, value: String, note: String| {
        let line = format!("  {name:<35}{value:>19}  {note}");
        let _ = writeln!(out, "{}", line.trim_end());
    };
    let uniform = match slots.uniform_issues {
        0 => String::new(),
        n => format!("{} uniform", grouped(n)),
    };
    row("inst_executed", grouped(slots.issues()), uniform);
    let active = slots.active();
    row("thread_inst_executed", grouped(active), format!("{:.2} an issue", active as f64 / issues));
    let on = counts.pred_on();
    row("thread_inst_pred_on", grouped(on), format!("{:.2} an issue", on as f64 / issues));
    row("warp_execution_efficiency", percent(slots.execution_efficiency()), String::new());
    row("warp_nonpred_execution_efficiency", percent(slots.share(on)), String::new());
    let branches = counts.branches;
    let uniform_branches = (branches - counts.divergent_branches) as f64;
    let efficiency = if branches == 0 { 1.0 } else { uniform_branches / branches as f64 };
    row("branch_efficiency", percent(efficiency), format!("of {}", grouped(branches)));
    row("divergent_branches", grouped(counts.divergent_branches), String::new());
    if counts.block_issues > 0 {
        row("block_issues", grouped(counts.block_issues), String::new());
    }
    if slots.idle_issues > 0 {
        row("idle_issues", grouped(slots.idle_issues), String::new());
    }
    let traffic = &counts.traffic;
    if traffic.global_requests > 0 {
        let each = traffic.global_sectors as f64 / traffic.global_requests as f64;
        let note = format!("{} requests", grouped(traffic.global_requests));
        row("sectors_per_request", format!("{each:.2}"), note);
    }
    if traffic.shared_requests > 0 {
        let note = format!("{} requests", grouped(traffic.shared_requests));
        row("bank_conflicts", grouped(traffic.bank_conflicts), note);
    }
    row("max_depth", grouped(counts.max_depth.max(counts.charges.max_depth)), String::new());
}

fn percent(share: f64) -> String {
    format!("{:.2} %", 100.0 * share)
}

fn bars(out: &mut String, total: &LaunchStats) {
    let slots = &total.counts.slots;
    let whole = slots.width;
    let _ = writeln!(out, "  where the lanes went {:>35} lane slots", grouped(whole));
    for (cause, name) in CAUSES {
        let count = slots.of(cause);
        let share = if whole == 0 { 0.0 } else { count as f64 / whole as f64 };
        let bar = bar(share, count > 0);
        let pad = " ".repeat(BAR - bar.chars().count());
        let _ =
            writeln!(out, "  {name:<16}{bar}{pad}{:>8.2} %{:>18}", 100.0 * share, grouped(count));
    }
}

/// Draws a bar in eighths of a column; `any` makes it at least one eighth long.
fn bar(share: f64, any: bool) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share * (BAR * 8) as f64).round() as usize;
    let eighths = eighths.clamp(usize::from(any), BAR * 8);
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

/// Formats `1234567` as `1,234,567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
