//! The interface in a process with the driver library that cargo has built beside the test.
#![allow(unsafe_code, reason = "functions with C names, which take addresses as numbers")]

mod headers;
mod names;
mod work;
