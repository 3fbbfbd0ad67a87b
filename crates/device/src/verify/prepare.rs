//! From a case to the job that our side runs and the run that a device makes.

use isa::{Diagnostics, SourceMap};
use lab::run::{Job, JobParts, Settings};

use super::Case;
use crate::request::Run;

/// The job of a case, and the run.
pub(super) fn prepare(case: &Case) -> Result<(Job, Run), String> {
    let mut sources = SourceMap::new();
    let parts = JobParts::from_launch_file(&case.launch_file, None, &mut sources);
    let job = parts.and_then(|parts| Job::prepare(parts, &Settings::default(), &mut sources));
    let job = job.map_err(|found| text_of(&found))?;
    let run = Run::of(&case.name, &job).map_err(|found| text_of(&found))?;
    Ok((job, run))
}

/// The messages of diagnostics on one line.
pub(super) fn text_of(found: &Diagnostics) -> String {
    let lines: Vec<&str> = found.iter().map(|d| d.message.as_str()).collect();
    lines.join("; ")
}
