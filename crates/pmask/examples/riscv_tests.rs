//! Runs a directory of linked ELF tests that end through HTIF (the riscv-tests suites):
//! `cargo run --release -p simtlab-pmask --example riscv_tests -- DIRECTORY`.
#![allow(clippy::print_stdout, reason = "an example is its output")]

use pmask::run::{End, run};
use pmask::{Launch, Pmask, Program};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args().nth(1).ok_or("usage: riscv_tests DIRECTORY")?;
    let mut paths: Vec<_> =
        std::fs::read_dir(directory)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    let (mut passed, mut failed) = (0, 0);
    for path in paths.iter().filter(|p| p.is_file()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let program = match Program::from_elf(&std::fs::read(path)?) {
            Ok(program) => program,
            Err(error) => {
                println!("{name}: {error}");
                failed += 1;
                continue;
            }
        };
        let outcome = run(&Pmask::default(), &program, Launch::default(), 10_000_000)?;
        if outcome.end == End::Exit(0) {
            passed += 1;
        } else {
            failed += 1;
            println!("{name}: {:?}", outcome.end);
        }
    }
    println!("{passed} passed, {failed} failed");
    Ok(())
}
