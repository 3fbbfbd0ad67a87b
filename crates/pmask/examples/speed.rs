//! Guest instructions per second of a program that ends itself:
//! `cargo run --release -p simtlab-pmask --example speed -- FILE.elf`.
#![allow(clippy::print_stdout, reason = "an example is its output")]

use std::time::Instant;

use isa::FileId;
use pmask::run::{DEFAULT_LIMIT, run};
use pmask::{Launch, Pmask, Program};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: speed FILE.elf|FILE.s")?;
    let program = Program::load(&std::fs::read(path)?, FileId::default())?;
    let start = Instant::now();
    let outcome = run(&Pmask::default(), &program, Launch::default(), DEFAULT_LIMIT)?;
    let seconds = start.elapsed().as_secs_f64();
    let retired = outcome.state.retired;
    println!("{:?}: {retired} instructions in {seconds:.2} s", outcome.end);
    println!("{:.1} million instructions a second", retired as f64 / seconds / 1e6);
    Ok(())
}
