//! The machines, each as an [`Isa`](crate::Isa).

mod debugged;
mod ir;
mod linx;
mod listing;
mod listing_places;
mod pmask;
mod prf;
mod ptx;
mod runner;
mod shared;
mod toy;
mod vm;

pub(crate) use ir::IR;
pub(crate) use linx::{LINX, LINX_TILES_V03};
pub(crate) use pmask::PMASK;
pub(crate) use prf::PRF;
pub(crate) use ptx::PTX;
pub(crate) use toy::TOY;
