//! `conform`: a machine's own suite.

use isa::SourceMap;
use lab::machine;

use super::refuse;
use crate::args::Conform;
use crate::line::Line;
use crate::out::{Exit, Out};

/// Runs the suite: a line for each case that fails, and the count.
pub(crate) fn conform(args: &Conform, out: &mut Out) -> Exit {
    let mut sources = SourceMap::new();
    let mut line = Line::new("conform");
    let span = line.option("isa", &args.isa);
    line.enter(&mut sources);
    let isa = match machine::find(&args.isa) {
        Ok(isa) => isa,
        Err(finding) => return refuse(&finding.at(span, "unknown machine"), &sources, out),
    };
    let cases = match isa.conform() {
        Ok(cases) => cases,
        Err(found) => {
            out.findings(&found, &sources);
            return Exit::Usage;
        }
    };
    let mut failed = 0;
    for case in &cases {
        if let Some(failure) = &case.failure {
            failed += 1;
            out.text(&format!("FAILED {}: {failure}\n", case.name));
        }
    }
    out.text(&format!(
        "{}: {} of {} cases passed\n",
        isa.name(),
        cases.len() - failed,
        cases.len()
    ));
    if failed == 0 { Exit::Ok } else { Exit::Unmet }
}
