//! The machines that the laboratory knows, each behind [`Isa`](crate::machine::Isa).

pub mod ir;
mod vm;

pub use ir::IrText;
