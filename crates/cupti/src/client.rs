//! Calls of the client's functions.
#![allow(unsafe_code, reason = "clients give addresses of functions")]

use cuda_abi::host::Ptr;

/// `CUpti_BuffersCallbackRequestFunc`: where the address, the bytes and the number of records go.
type Request = extern "C" fn(Ptr, Ptr, Ptr);
/// `CUpti_BuffersCallbackCompleteFunc`: context, stream, the buffer, its bytes, those of records.
type Complete = extern "C" fn(u64, u32, Ptr, usize, usize);
/// `CUpti_TimestampCallbackFunc`.
type Timestamp = extern "C" fn() -> u64;
/// `CUpti_CallbackFunc`: the client's data, domain, number, and what is told.
type Callback = extern "C" fn(Ptr, i32, u32, Ptr);

/// Asks for a buffer: its address and bytes, and the most records, 0 for as many as fit.
pub(crate) fn request(function: Ptr) -> (Ptr, usize, usize) {
    let (mut buffer, mut size, mut most) = (0_usize, 0_usize, 0_usize);
    let at = |value: &mut usize| (&raw mut *value).expose_provenance();
    // SAFETY: by the interface's contract the client has registered a function of this type, which
    // writes to the addresses that it gets.
    let function = unsafe { std::mem::transmute::<usize, Request>(function) };
    function(at(&mut buffer), at(&mut size), at(&mut most));
    (std::hint::black_box(buffer), std::hint::black_box(size), std::hint::black_box(most))
}

/// Hands a buffer back.
pub(crate) fn complete(function: Ptr, buffer: Ptr, size: usize, used: usize) {
    // SAFETY: as above, with this type.
    let function = unsafe { std::mem::transmute::<usize, Complete>(function) };
    function(0, 0, buffer, size, used);
}

/// Returns the client's time.
pub(crate) fn timestamp(function: Ptr) -> u64 {
    // SAFETY: as above, with this type.
    let function = unsafe { std::mem::transmute::<usize, Timestamp>(function) };
    function()
}

/// Tells the client what is at an address.
pub(crate) fn callback(function: Ptr, data: Ptr, domain: i32, number: u32, told: Ptr) {
    // SAFETY: as above, with this type.
    let function = unsafe { std::mem::transmute::<usize, Callback>(function) };
    function(data, domain, number, told);
}

/// Returns this thread's number in records: the lower half of its handle.
pub(crate) fn thread() -> u32 {
    // SAFETY: the function has no conditions.
    unsafe { libc::pthread_self() as u32 }
}
