//! Places and names as users know them.
//!
//! What stops a launch is found in terms of the machine: mangled names, lanes of a group, offsets
//! that wrap. This crate says it in terms of the program: [`shown`] demangles names, a [`Site`] has
//! the threads of lanes, and [`explain`] tells what a refused access most likely was. The
//! laboratory and the libraries render their messages with it.

mod access;
mod names;
mod site;

pub use access::{explain, is_far};
pub use names::{demangled, shown};
pub use site::Site;
