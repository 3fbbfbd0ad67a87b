//! The interfaces: their names, calls with wrong arguments, and a C program that links and compiles
//! device code and runs it.
#![allow(unsafe_code, reason = "functions with C names, which take addresses as numbers")]

mod calls;
mod names;
mod program;
