//! The `simtlab` command.
fn main() {}
