//! Tables of folders that [`verify`](crate::verify) has written: what agreed, what differed, the
//! most telling first.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use crate::record::Identity;
use crate::verify::{CaseResult, Verdict, VerifyError, results};

/// Differences that a report shows.
const SHOWN: usize = 50;

/// Differences of one case that a report shows.
const OF_A_CASE: usize = 40;

/// Lines of a difference that are shown.
const LINES: usize = 6;

/// The report of a folder as Markdown.
///
/// # Errors
/// If the folder has no results, or they cannot be read.
pub fn report(folder: &Path) -> Result<String, VerifyError> {
    let (device, results) = results(folder)?;
    let mut text = format!("# {}\n\n", device.line());
    summary(&mut text, &device, &results);
    differences(&mut text, &results);
    refused(&mut text, &results);
    notes(&mut text, &results);
    Ok(text)
}

/// What suites found beside differences.
fn notes(text: &mut String, results: &[CaseResult]) {
    let mut noted: Vec<&CaseResult> = results.iter().filter(|r| !r.notes.is_empty()).collect();
    if noted.is_empty() {
        return;
    }
    noted.sort_by(|a, b| (&a.suite, &a.name).cmp(&(&b.suite, &b.name)));
    *text += "\n## Notes\n\n";
    for result in noted {
        let end = result.device.as_deref().unwrap_or("done").replace('\n', " ");
        let (name, suite, verdict) = (&result.name, &result.suite, result.verdict.name());
        let _ = writeln!(text, "- {name} ({suite}): {verdict}; device: {end}");
        for note in &result.notes {
            let _ = writeln!(text, "  - {note}");
        }
    }
}

fn summary(text: &mut String, device: &Identity, results: &[CaseResult]) {
    let _ = writeln!(text, "Driver library {}, CUDA {}.\n", device.library, device.cuda());
    let mut suites: BTreeMap<&str, Vec<&CaseResult>> = BTreeMap::new();
    for result in results {
        suites.entry(&result.suite).or_default().push(result);
    }
    *text += "| suite | cases | agree | differ | differ by schedule | ends differ | refused |\
              \x20not run | measured | timing differs | buffers | elements | differing | ms |\n\
              |---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";
    for (suite, results) in suites {
        let count = |verdict| results.iter().filter(|r| r.verdict == verdict).count();
        let sum = |f: fn(&CaseResult) -> usize| results.iter().map(|r| f(r)).sum::<usize>();
        let ms: f32 = results.iter().map(|r| r.ms).sum();
        let _ = writeln!(
            text,
            "| {suite} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {ms:.1} |",
            results.len(),
            count(Verdict::Agrees),
            count(Verdict::Differs),
            count(Verdict::DiffersBySchedule),
            count(Verdict::EndsDiffer),
            count(Verdict::Refused),
            count(Verdict::NotRun),
            count(Verdict::Measured),
            count(Verdict::TimingDiffers),
            sum(|r| r.compared),
            sum(|r| r.elements),
            sum(|r| r.differing),
        );
    }
}

fn differences(text: &mut String, results: &[CaseResult]) {
    let mut ranked: Vec<&CaseResult> = results.iter().filter(|r| r.verdict.is_listed()).collect();
    ranked.sort_by(|a, b| b.rank.cmp(&a.rank).then_with(|| a.name.cmp(&b.name)));
    *text += "\n## What differs\n\n";
    if ranked.is_empty() {
        *text += "Nothing.\n";
        return;
    }
    for result in ranked.iter().take(SHOWN) {
        let _ = writeln!(text, "- {} ({}): {}", result.name, result.suite, result.verdict.name());
        if let Some(end) = &result.end {
            let _ = writeln!(text, "  - {}", end.replace('\n', " "));
        }
        for difference in result.differences.iter().take(OF_A_CASE) {
            let ulp = difference.max_ulp.map_or_else(String::new, |n| format!(", {n} ulp"));
            let (what, differing) = (&difference.what, difference.differing);
            let _ = writeln!(
                text,
                "  - `{what}`: {differing} of {} elements differ{ulp}",
                difference.elements
            );
            *text += "\n    ```\n";
            for line in difference.text.lines().skip(1).take(LINES) {
                let _ = writeln!(text, "    {}", line.trim_start());
            }
            *text += "    ```\n\n";
        }
        if result.differences.len() > OF_A_CASE {
            let _ = writeln!(text, "  - and {} more\n", result.differences.len() - OF_A_CASE);
        }
    }
    if ranked.len() > SHOWN {
        let _ = writeln!(text, "\nAnd {} more.", ranked.len() - SHOWN);
    }
}

fn refused(text: &mut String, results: &[CaseResult]) {
    let others = |r: &&CaseResult| matches!(r.verdict, Verdict::Refused | Verdict::NotRun);
    let others: Vec<&CaseResult> = results.iter().filter(others).collect();
    if others.is_empty() {
        return;
    }
    *text += "\n## What was refused or not run\n\n| case | |\n|---|---|\n";
    for result in others {
        let why = result.end.as_deref().unwrap_or("").replace('\n', " ").replace('|', "\\|");
        let _ = writeln!(text, "| {} | {why} |", result.name);
    }
}
