//! Launches of kernels in the debugger, against launches without it.

mod ahead;
mod case;
mod search;
