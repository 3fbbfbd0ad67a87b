//! The debugger against launches that are run without it.

mod common;
mod time_travel;
mod writers;
