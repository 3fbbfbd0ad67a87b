//! The command `device`: kernels on a real GPU, and comparison of its results with ours.

mod run;
mod suites;

use std::time::Duration;

use device::DeviceError;
use device::record::Identity;
use device::request::{Choice, Request};
use device::supervise::{self, Patience, WorkerCommand};
use serde_json::json;

use crate::args::device::{Device, DeviceCommand, Info, Which};
use crate::out::{Exit, Out};

impl Which {
    fn choice(&self) -> Choice {
        Choice {
            library: self.library.clone(),
            allow_simulated: self.allow_simulated,
            ordinal: self.device,
        }
    }

    fn patience(&self) -> Patience {
        Patience { step: Duration::from_secs(self.timeout), ..Patience::default() }
    }
}

pub(crate) fn device(args: &Device, out: &mut Out) -> Exit {
    match &args.command {
        DeviceCommand::Info(args) => info(args, out),
        DeviceCommand::Run(args) => run::run(args, out),
        DeviceCommand::Verify(args) => suites::verify(args, out),
        DeviceCommand::Report(args) => suites::report(args, out),
        DeviceCommand::Worker { request, replies } => {
            match device::worker::work(request, replies) {
                Ok(()) => Exit::Ok,
                Err(error) => {
                    out.note(&format!("error: {error}\n"));
                    Exit::NoDevice
                }
            }
        }
    }
}

/// Returns the command that starts this program as a worker.
fn worker() -> Result<WorkerCommand, DeviceError> {
    let program = std::env::current_exe().map_err(|e| {
        DeviceError::Worker(format!("cannot be started: this program has no known file: {e}"))
    })?;
    Ok(WorkerCommand { program, arguments: vec!["device".into(), "worker".into()] })
}

fn refuse(error: &DeviceError, out: &mut Out) -> Exit {
    out.note(&format!("error: {error}\n  help: {}\n", error.help()));
    Exit::NoDevice
}

fn identify(which: &Which) -> Result<Identity, DeviceError> {
    let request = Request { choice: which.choice(), runs: Vec::new() };
    let answers = supervise::run(&request, &worker()?, which.patience(), &mut |_, _| true)?;
    Ok(answers.device)
}

fn info(args: &Info, out: &mut Out) -> Exit {
    let found = match identify(&args.which) {
        Ok(found) => found,
        Err(error) => return refuse(&error, out),
    };
    let most = device::worker::newest_ptx(found.driver);
    if args.json {
        let json = json!({ "device": found, "newest_ptx": most });
        out.text(&format!("{json:#}\n"));
        return Exit::Ok;
    }
    let kind = if found.simulated { "Simtlab's own: simulated, not a device" } else { "real" };
    let [major, minor] = found.capability;
    let most = most.map_or_else(String::new, |most| format!(", PTX up to {most}"));
    out.text(&format!(
        "library          {} ({kind})\ndriver           CUDA {}{most}\ndevice {:<9} {}\n\
         capability       {major}.{minor}\nmultiprocessors  {}, {} MHz\nmemory           {} MiB\n\
         uuid             {}\n",
        found.library,
        found.cuda(),
        found.ordinal,
        found.name,
        found.multiprocessors,
        found.clock / 1000,
        found.memory >> 20,
        found.uuid,
    ));
    Exit::Ok
}
