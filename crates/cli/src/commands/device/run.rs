//! The command `device run`.

use device::compare::compare;
use device::record::{Record, RunEnd, RunRecord};
use device::request::{Request, Run};
use device::supervise;
use isa::SourceMap;
use lab::run::Job;

use super::{refuse, worker};
use crate::args::device::RunDevice;
use crate::args::{MachineOptions, Run as RunArgs};
use crate::commands::run::{Words, prepare};
use crate::out::{Exit, Out};
use crate::progress::ProgressMonitor;

pub(super) fn run(args: &RunDevice, out: &mut Out) -> Exit {
    let mut sources = SourceMap::new();
    let as_run = RunArgs::of(&args.subject, MachineOptions::default());
    let words = Words::new("device run", &as_run, &[], &mut sources);
    let target = args.subject.path.display().to_string();
    let ready = prepare(&words, &mut sources)
        .and_then(|(job, _)| Run::of(&target, &job).map(|run| (job, run)));
    let (mut job, run) = match ready {
        Ok(ready) => ready,
        Err(found) => {
            out.findings(&found, &sources);
            return Exit::Usage;
        }
    };
    let record = match &args.recorded {
        Some(path) => match recorded(path, &run) {
            Ok(record) => record,
            Err(message) => {
                out.note(&format!("error: {}: {message}\n", path.display()));
                return Exit::Usage;
            }
        },
        None => match on_device(args, run, out) {
            Ok(record) => record,
            Err(exit) => return exit,
        },
    };
    let Some(run) = record.runs.first() else { return Exit::Usage };
    out.text(&format!("device: {}\n", record.device.line()));
    if args.recorded.is_some() {
        out.text(&format!("recorded {} by {}\n", record.made, record.tool));
    }
    for (index, launch) in run.launches.iter().enumerate() {
        out.text(&format!("launch {index}: {}, {:.3} ms\n", launch.kernel, launch.ms));
    }
    if let Some(path) = &args.record
        && let Err(error) = record.save(path)
    {
        out.note(&format!("error: cannot write {}: {error}\n", path.display()));
        return Exit::Usage;
    }
    if args.compare || args.recorded.is_some() {
        return judge(run, &mut job, &sources, out);
    }
    end_of(run, out)
}

/// Loads the record of this run from a file.
fn recorded(path: &std::path::Path, run: &Run) -> Result<Record, String> {
    let mut record = Record::load(path).map_err(|e| e.to_string())?;
    let (text, inputs) = (run.text_hash(), run.inputs_hash());
    let same = |r: &RunRecord| r.text_hash == text && r.inputs_hash == inputs;
    let Some(at) = record.runs.iter().position(same) else {
        let programs = record.runs.iter().any(|r| r.text_hash == text);
        return Err(if programs {
            "it was recorded with other buffers or launches".to_owned()
        } else {
            "it was recorded from another program".to_owned()
        });
    };
    record.runs = vec![record.runs.swap_remove(at)];
    Ok(record)
}

/// Runs a kernel on the device; copies its output to standard output.
fn on_device(args: &RunDevice, run: Run, out: &mut Out) -> Result<Record, Exit> {
    let request = Request { choice: args.which.choice(), runs: vec![run] };
    let mut runs = Vec::new();
    let answers = worker().and_then(|worker| {
        supervise::run(&request, &worker, args.which.patience(), &mut |_, run| {
            runs.push(run);
            true
        })
    });
    match answers {
        Ok(answers) => {
            out.bytes(&answers.printed);
            Ok(Record::now(answers.device, runs))
        }
        Err(error) => Err(refuse(&error, out)),
    }
}

/// Reports the end of the run; returns the exit status.
fn end_of(run: &RunRecord, out: &mut Out) -> Exit {
    match &run.end {
        RunEnd::Done => Exit::Ok,
        RunEnd::Refused { error } => refuse(error, out),
        end => {
            out.note(&format!("error: {}\n", end.line()));
            Exit::Stopped
        }
    }
}

fn judge(run: &RunRecord, job: &mut Job, sources: &SourceMap, out: &mut Out) -> Exit {
    let exit = end_of(run, out);
    if exit == Exit::NoDevice {
        return exit;
    }
    let mut bar = ProgressMonitor::new();
    match compare(run, job, &mut bar) {
        Ok(comparison) => {
            bar.finish();
            out.text(&comparison.describe(&run.end));
            if comparison.agrees() { exit } else { Exit::Unmet }
        }
        Err(found) => {
            out.findings(&found, sources);
            Exit::Usage
        }
    }
}
