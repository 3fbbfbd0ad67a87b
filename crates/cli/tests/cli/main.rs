//! The tests of the crate, as one program.

mod checks;
mod debugger;
mod device;
mod exec;
mod exec_checks;
mod explore;
mod linx;
mod machines;
mod process;
mod report;
mod sweep;
