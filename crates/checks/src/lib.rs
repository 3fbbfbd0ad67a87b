//! Observation of launches, and the checks that are built on it.
//!
//! [`probe`] is what observers see: events, and the places of a program that they happen at, which
//! [`code::places`] makes of a linked program. [`Checker`] is the probe of all checks: races
//! ([`race`]), barriers and collectives that not all threads reach, and what values decide that
//! nobody has written. It turns what it sees into [`findings`]. The laboratory and the libraries
//! for clients run the same checks: both observe launches of the exact engine. Launches of the fast
//! engine in which [the checker](probe::Probe::screen) refuses no access have no findings, and need
//! no observer.

mod checker;
pub mod code;
mod init;
mod mbarriers;
pub mod probe;
mod products;
pub mod race;
mod rendezvous;
mod screening;

pub use checker::{Checker, GUARD};
pub use vm::UndefinedMemory;
