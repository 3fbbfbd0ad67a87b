//! Tests of the lowerings.

mod legal;
mod page;
mod prf;
