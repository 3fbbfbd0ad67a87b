//! Calls of the client's functions. They are made without the driver's lock, so that the functions
//! may call the driver.
#![allow(unsafe_code, reason = "clients give addresses of functions")]

use std::cell::Cell;

use cuda_abi::host::Ptr;

use crate::state::pending::ClientCall;

/// A function with a pointer argument.
type HostFunction = extern "C" fn(usize);

/// A function that receives the status of a stream.
type StreamCallback = extern "C" fn(u64, i32, usize);

/// A function that returns the dynamic shared memory for a block of this many threads.
type DynamicSize = extern "C" fn(i32) -> usize;

/// The largest block size for which the client's function is called.
const MAX_THREADS: i32 = 1024;

thread_local! {
    /// How many of the client's functions this thread is in.
    static CALLED: Cell<u32> = const { Cell::new(0) };
}

/// Returns whether this thread is in a function of the client that the driver has called.
pub(crate) fn is_called() -> bool {
    CALLED.get() > 0
}

/// Makes a call of the client.
pub(crate) fn call(call: ClientCall) {
    CALLED.set(CALLED.get() + 1);
    make(call);
    CALLED.set(CALLED.get() - 1);
}

fn make(call: ClientCall) {
    match call {
        ClientCall::Host { function, data } => {
            // SAFETY: by the interface's contract, the client passes the address of a function of
            // this type; callers have checked that it is not null.
            let function = unsafe { std::mem::transmute::<usize, HostFunction>(function) };
            function(data);
        }
        ClientCall::Stream { stream, function, data } => {
            // SAFETY: as above, with this type.
            let function = unsafe { std::mem::transmute::<usize, StreamCallback>(function) };
            function(stream, 0, data);
        }
    }
}

/// A listener of a profiling tool.
type Listener = extern "C" fn(usize) -> u64;

/// Tells the event at an address to a listener, and returns its time.
pub(crate) fn listener(function: Ptr, event: Ptr) -> u64 {
    // SAFETY: this project's library of profiling tools passes the address of a function of this
    // type, which stays loaded.
    let listener = unsafe { std::mem::transmute::<usize, Listener>(function) };
    listener(event)
}

/// Returns the dynamic shared memory for each block size, by the client's function if there is one.
pub(crate) fn dynamic_sizes(by_size: Ptr) -> Vec<usize> {
    if by_size == 0 {
        return Vec::new();
    }
    // SAFETY: as for `call`, with this type.
    let by_size = unsafe { std::mem::transmute::<usize, DynamicSize>(by_size) };
    (0..=MAX_THREADS).map(|threads| by_size(threads)).collect()
}
