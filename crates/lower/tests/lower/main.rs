//! Tests of the lowerings.

mod bundled;
mod legal;
mod on_prf;
mod page;
mod prf;
