//! The machines, each behind [`Isa`](crate::Isa).

mod ir;
mod linx;
mod listing_probe;
mod pmask;
mod prf;
mod ptx;
mod shared;
mod toy;
mod vm;

pub(crate) use ir::IrText;
pub(crate) use linx::LinxMachine;
pub(crate) use pmask::PmaskMachine;
pub(crate) use prf::PrfMachine;
pub(crate) use ptx::Ptx;
pub(crate) use toy::ToyMachine;
