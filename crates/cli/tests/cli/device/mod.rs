//! `simtlab device` end to end, with this project's driver library in place of a device, and with a
//! driver that fails.
#![cfg(target_os = "linux")]

mod assumptions;
mod common;
mod planted;
mod run;
mod suites;
