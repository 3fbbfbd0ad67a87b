//! The machines that the laboratory knows, each behind [`Isa`](crate::machine::Isa).

pub mod ir;
pub mod linx;
mod listing_probe;
pub mod pmask;
pub mod prf;
pub mod ptx;
mod shared;
pub mod toy;
mod vm;

pub use ir::IrText;
pub use linx::LinxMachine;
pub use pmask::PmaskMachine;
pub use prf::PrfMachine;
pub use ptx::Ptx;
pub use toy::ToyMachine;
