//! The command `exec`: runs a program with the virtual device's libraries in place of NVIDIA's, and
//! reports on its kernels.

mod program;
mod report;
mod setup;
mod signals;

use runtime::EventLog;

use crate::args::Exec;
use crate::out::{Exit, Out};

use program::Program;
use report::Report;
use setup::{Folder, Libraries};

pub(crate) fn exec(args: &Exec, out: &mut Out) -> Exit {
    let end = run(args, out);
    match end {
        Ok(exit) => exit,
        Err(message) => {
            out.note(&format!("error: {message}\n"));
            Exit::Usage
        }
    }
}

fn run(args: &Exec, out: &mut Out) -> Result<Exit, String> {
    let this = std::env::current_exe()
        .map_err(|e| format!("this program's own place is not known: {e}"))?;
    let libraries = Libraries::find(args, &this)?;
    // From here on signals are forwarded to the program. This process survives them, to print the
    // report and remove the folder.
    signals::catch();
    let folder = Folder::new().map_err(|e| format!("no folder for the run can be made: {e}"))?;
    folder.fill(&libraries, &this)?;
    let ended = Program::start(args, &folder)?.wait()?;
    let text = std::fs::read_to_string(folder.journal()).unwrap_or_default();
    let report = Report::new(EventLog::read(&text));
    out.note(&report.text(args.stats, &ended, &libraries));
    if let Some(path) = &args.json {
        let json = serde_json::to_string_pretty(&report.json(ended.code())).unwrap_or_default();
        std::fs::write(path, json + "\n")
            .map_err(|e| format!("{} cannot be written: {e}", path.display()))?;
    }
    if report.has_differences() {
        return Ok(Exit::Differs);
    }
    Ok(match (ended.code(), args.error_exit) {
        (0, _) if report.has_stops() => Exit::Stopped,
        (0, Some(code)) if report.has_errors() => Exit::Child(code),
        (code, _) => Exit::Child(code),
    })
}
