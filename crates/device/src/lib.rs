//! Kernels on a real GPU, and their results held against ours bit by bit.
//!
//! The crate opens the driver library that is installed on the machine (`libcuda.so.1`), calls the
//! public driver API, and lets the driver compile PTX. It needs no CUDA toolkit and no network.
//!
//! | module | |
//! |---|---|
//! | [`ffi`] | the driver's functions as safe calls; the only unsafe code of the crate |
//! | [`request`] | what a device is asked to run, as data: made of a [`lab::run::Job`] |
//! | [`worker`] | the process that runs a request: a kernel that hangs or faults ends it alone |
//! | [`supervise`] | starts workers, stops those that hang, and goes on with the next run |
//! | [`record`] | results of a device with its name, driver and date, as a file |
//! | [`compare`] | a record against our own results: index, bits, and the lane that wrote |
//! | [`verify`] | suites of kernels within a time budget, in a folder that a later call continues |
//! | [`report`] | tables of such folders |
//!
//! Simtlab has a driver library of its own. It is recognised (see [`ffi::Library::simulated`]) and
//! refused unless the caller allows it; records of it are marked.

pub mod bundle;
pub mod compare;
mod error;
pub mod ffi;
mod hash;
pub mod record;
pub mod report;
pub mod request;
pub mod supervise;
pub mod verify;
pub mod worker;
mod writers;

pub use error::DeviceError;
