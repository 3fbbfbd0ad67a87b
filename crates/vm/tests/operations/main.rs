//! Every operation of the IR through the engine, lane by lane, against what it means.
//!
//! Integers and bits are judged by arithmetic written here from the PTX ISA's definitions, over 128-bit host integers; floating
//! point by the exact reference of `simt::arith::soft` and by the host; approximations by the published sequences of
//! `simt::arith::approx`. Each case runs in all lanes, under a guard (lanes that are off keep their registers), with
//! immediates, and as a uniform operation on warp registers. Memory operations and collectives have kernels of their own.

mod bits;
mod collective;
mod compare;
mod convert;
mod float;
mod harness;
mod integer;
mod memory;
