//! Chores of the project, run as `cargo xtask CHORE`. None of them is needed to build, test or use
//! it.
//!
//! A chore that generates committed files has `--check`, which writes nothing and fails where a
//! file is not current.

mod kernels;
#[cfg(test)]
mod libraries;
mod mutants;
#[cfg(test)]
mod named_functions;
mod ptxas;
mod python;
mod recipes;
mod test_programs;
mod tree;
mod width;
mod words;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Chores of the project.
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Compile the bundled CUDA C++ kernels to PTX again, and compute their expected results again.
    Kernels(kernels::Options),
    /// Whether the tests notice faults in the fast paths of the engines.
    Mutants(mutants::Options),
    /// Compare what the PTX front end takes with what NVIDIA's assembler takes.
    Ptxas(ptxas::Options),
    /// Whether the recipes of CONTRIBUTING.md work: applies them to a copy, builds and tests it.
    Recipes,
    /// Whether lines have at most 100 columns.
    Width,
    /// Whether names are made of the field's terms and of common words.
    Words(words::Options),
}

#[allow(clippy::print_stderr, reason = "a command's error message")]
fn main() -> ExitCode {
    let result = match Cli::parse().chore {
        Chore::Kernels(options) => kernels::run(&options),
        Chore::Mutants(options) => mutants::run(&options),
        Chore::Ptxas(options) => ptxas::run(&options),
        Chore::Recipes => recipes::run(),
        Chore::Width => width::run(),
        Chore::Words(options) => words::run(&options),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
