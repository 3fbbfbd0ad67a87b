//! The tests of the crate, as one program.

mod device;
mod docs;
mod random;
mod text;
mod verify;
