//! The `simtlab` command.
//!
//! `lab` does the work; this crate contains the command line, the terminal and the exit codes:
//!
//! | code | |
//! |---|---|
//! | 0 | everything was as expected |
//! | 1 | an expectation is not met, or a conformance case failed |
//! | 2 | the command line or a file is invalid |
//! | 3 | a kernel faulted or hung |
//! | 4 | a device cannot be used, or rejects a program (`device`) |
//! | 5 | the results of the engines differ (`--engine both`) |
//! | 6 | a check found a defect (`--check`), unless `--error-exit` names another code |
//! | 130 | interrupted |
//!
//! `exec` returns the exit code of the program that it runs, unless that is 0 and a kernel faulted
//! or hung, or the engines differ.

mod args;
mod commands;
mod line;
mod out;
mod progress;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let args = match args::Args::try_parse_from(args::words(std::env::args_os())) {
        Ok(args) => args,
        Err(error) => {
            // clap returns help and version as errors.
            let code = if error.use_stderr() { out::Exit::Usage } else { out::Exit::Ok };
            let _ = error.print();
            return code.into();
        }
    };
    let mut out = out::Out::new(args.color);
    let code = commands::dispatch(args.command, &mut out);
    out.finish(code).into()
}
