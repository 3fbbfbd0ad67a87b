//! The interface: its names, its layouts, and a C program that profiles itself.

mod headers;
mod names;
mod program;
