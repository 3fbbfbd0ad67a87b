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
}
