//! What the libraries on top of the driver API share that compute on the host: cuBLAS, cuRAND,
//! cuFFT, cuSPARSE and cuSOLVER.
//!
//! A function of such a library checks its arguments ([`call()`]), and submits its work to a stream
//! ([`stream::submit`]): the work is done now, or becomes a host node of the graph that the stream
//! captures. Work copies its operands from device memory, computes, and copies results back
//! ([`device`]). The driver checks each access as it checks a kernel's, and reports a refused one
//! as a fault of the function: the call succeeds, as on hardware, and the context has failed.
//!
//! The driver library is opened by name ([`driver`]), so that all libraries of a process share one
//! state. Handles are numbers ([`handles`]), never addresses, so an invalid one is an error.

mod bytes;
mod call;
mod declare;
pub mod device;
pub mod driver;
pub mod dtype;
mod error;
pub mod handles;
mod narrow;
pub mod stream;

pub use bytemuck::{Pod, bytes_of};
pub use bytes::from_bytes;
pub use call::{call, count, size, unsupported};
pub use cuda_abi::c_str;
pub use cuda_abi::host::Ptr;
pub use dtype::{DataType, Number};
pub use error::{Error, Interface, Outcome};
pub use narrow::{E4M3, E5M2, to_e4m3, to_e5m2};
