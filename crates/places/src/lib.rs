//! Places and names as users know them.
//!
//! What stops a launch is found in terms of the machine: mangled names, lanes of a group, offsets
//! that wrap. This crate says it in terms of the program: [`shown`] demangles names, a [`Site`] has
//! the threads of lanes, a [`Source`] has the source line of an instruction with the calls through
//! which it was inlined, a [`Place`] has all of that, [`explain`] tells what a refused access most
//! likely was, and a [`BlockHistory`] which calls allocated and freed the memory there. The
//! laboratory and the libraries render their messages with it.

mod access;
mod calls;
mod names;
mod place;
mod site;
mod source;

pub use access::{explain, is_far};
pub use calls::{ApiCall, BlockHistory};
pub use names::{demangled, shown};
pub use place::{Place, TextLine};
pub use site::Site;
pub use source::{InlinedCall, Source, Sources, shown_file};
