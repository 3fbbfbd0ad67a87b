//! Structures that this project's libraries pass to each other, beyond CUDA's interface.
#![allow(missing_docs, reason = "fields of structures for C cannot be documented by the macro")]

use crate::structs;

structs! {
    OWN_LAYOUTS;

    /// A device and its use by this process, as the driver tells it before it is initialised, too
    /// (`simtlab_device`).
    DeviceStatus {
        // Its name, and zeros.
        name: [u8; 96],
        uuid: [u8; 16],
        // The number of devices.
        devices: u32,
        // The number of contexts that this process has on it.
        contexts: u32,
        major: u32,
        minor: u32,
        pci_domain: u32,
        pci_bus: u32,
        pci_device: u32,
        // The API version of the driver, in CUDA's form.
        version: u32,
        // Clock rates in kHz.
        clock: u32,
        memory_clock: u32,
        // The width of the memory's bus in bits.
        bus_width: u32,
        multiprocessors: u32,
        // Bytes of device memory, and those in use.
        memory: u64,
        used: u64,
        // Nanoseconds for which kernels have run, up to now.
        busy: u64,
    }

    /// What happens in the driver, for profiling tools (`simtlab_listen`).
    DriverEvent {
        // One of the numbers below.
        what: u32,
        // The number of the client's call in which it happens.
        correlation: u32,
        // A name, which need not end with a zero: of a function or a kernel.
        name: usize,
        name_len: usize,
        // The arguments of a call in the layout of C; 0 if it has none, or they are not known.
        arguments: usize,
        // When the work began, as the listener has told.
        start: u64,
        context: u64,
        stream: u64,
        device: i32,
        // The status of a call that ends.
        status: i32,
        // Bytes of a copy or a fill.
        bytes: u64,
        // The value of a fill.
        value: u32,
        // Where a copy goes and comes from: as `CUmemorytype`, or a number below.
        to: u32,
        from: u32,
        grid: [u32; 3],
        block: [u32; 3],
        cluster: [u32; 3],
        // Bytes of shared memory of a block, and of local memory of a thread.
        static_shared: u32,
        dynamic_shared: u32,
        registers: u32,
        local: u32,
    }
}

/// The time is asked for: the listener returns it.
pub const EVENT_NOW: u32 = 0;
/// A call of the driver or the runtime begins.
pub const EVENT_DRIVER_BEGINS: u32 = 1;
pub const EVENT_RUNTIME_BEGINS: u32 = 2;
/// It ends.
pub const EVENT_DRIVER_ENDS: u32 = 3;
pub const EVENT_RUNTIME_ENDS: u32 = 4;
/// A kernel, a copy or a fill has ended.
pub const EVENT_KERNEL: u32 = 5;
pub const EVENT_COPY: u32 = 6;
pub const EVENT_FILL: u32 = 7;
/// Managed memory of the host and the device.
pub const EVENT_MANAGED: u32 = 5;
/// Pinned or registered memory of the host.
pub const EVENT_PINNED: u32 = 6;
