//! The `simtlab` command: arguments in, text and an exit code out.
//!
//! Everything it does is `lab`'s; here are only the command line, the terminal and the exit codes:
//!
//! | code | |
//! |---|---|
//! | 0 | all went as expected |
//! | 1 | an expectation is not met, or a conformance case failed |
//! | 2 | the command line or a file is wrong |
//! | 3 | a kernel faulted or hung |
//! | 4 | a device cannot be used, or does not take a program (`device`) |
//! | 5 | the engines differ, which `--engine both` compares |
//! | 130 | interrupted |
//!
//! `exec` ends with the code of the program that it ran, unless that is 0 and a kernel has stopped, or the engines differ.

mod args;
mod commands;
mod line;
mod out;
mod progress;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let args = match args::Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            // Help and version are no errors, but come this way.
            let code = if error.use_stderr() { out::Exit::Usage } else { out::Exit::Ok };
            let _ = error.print();
            return code.into();
        }
    };
    let mut out = out::Out::new(args.color);
    let code = commands::dispatch(args.command, &mut out);
    out.finish(code).into()
}
