//! The debugger against launches that are run without it.

mod common;
mod machines;
mod time_travel;
mod writers;
