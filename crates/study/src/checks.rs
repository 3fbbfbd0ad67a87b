//! What checks find in a run.

use checks::Checker;
use findings::{Finding, Findings, Kind, Location};
use lab::run::Report;
use machines::{End, Stop};

/// Returns what a checker has found in a run, with the fault or hang that ended it; not in order
/// yet.
#[must_use]
pub fn conclude(mut checker: Checker, report: &Report) -> Findings {
    checker.read_by_host();
    let mut findings = checker.take();
    if let Some(found) = stop_finding(report) {
        findings.add(found);
    }
    findings
}

/// The fault or hang that ended the last launch, unless it was expected.
fn stop_finding(report: &Report) -> Option<Finding> {
    let (kind, stop) = match report.ends.last()? {
        End::Fault(stop) => (Kind::Fault, stop),
        End::Hang(stop) => (Kind::Hang, stop),
        End::Done | End::Differs(_) | End::Interrupted => return None,
    };
    if report.expected_end {
        return None;
    }
    let index = report.ends.len() - 1;
    let kernel = report.stats.launches.get(index).map_or_else(String::new, |l| l.kernel.clone());
    Some(of_stop(kind, stop, (index, kernel)))
}

/// Returns a fault or a hang as a finding of a kind; `launch` is its number and its kernel.
#[must_use]
pub fn of_stop(kind: Kind, stop: &Stop, (launch, kernel): (usize, String)) -> Finding {
    let place = stop.place.as_deref();
    let text = place.and_then(|place| place.text.as_ref());
    Finding {
        kind,
        code: stop.code.into(),
        kernel,
        launch: Some(launch),
        message: stop.report.message.clone(),
        location: Location {
            text: text.map_or_else(|| "".into(), |text| text.text.as_str().into()),
            line: stop.line.and_then(|line| u32::try_from(line).ok()),
            span: stop.report.primary.as_ref().map(|label| label.span),
            source: place.and_then(|place| place.source.clone()),
        },
        site: place.map(|place| place.site.clone()),
        accesses: Vec::new(),
        related: None,
        causes: stop.report.notes.clone(),
        cure: stop.report.help.clone().unwrap_or_else(|| kind.row().cure.to_owned()),
        count: 1,
    }
}
