//! `libnvidia-ml.so.1`: the public management interface (`nvml.h`) of the virtual device.
//!
//! What it says of a device is what the driver library says, which is opened by name and asked
//! without being initialised (`simtlab_device`): programs count devices before they `fork`. Memory
//! and processes are those of this process alone. What a virtual device has not, such as a
//! temperature, is `NVML_ERROR_NOT_SUPPORTED`, as the documentation says; no such call is recorded.

pub mod abi;
pub mod exports;
mod library;
mod process;
mod query;
mod status;
mod system;
mod utilization;

pub use status::{Outcome, Status};
