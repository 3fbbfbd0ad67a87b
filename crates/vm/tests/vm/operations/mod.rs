//! Every operation of the IR through the engine, lane by lane, against what it means.
//!
//! Integers and bits are judged by arithmetic written here from the PTX ISA's definitions, over
//! 128-bit host integers; floating point by the exact reference of `simt::arith::soft` and by the
//! host; approximations by the published sequences of `simt::arith::approx`. Each case runs in all
//! lanes, under a guard (lanes that are off keep their registers), with immediates, and as a
//! uniform operation on warp registers. Memory operations and collectives have kernels of their
//! own.

mod bits;
mod cluster;
mod collective;
mod compare;
mod convert;
mod float;
mod harness;
mod integer;
mod masks;
mod matrix;
mod memory;
mod packed;
mod system;
mod texture;

/// Every row of the table of operations occurs in some test of the engine.
#[test]
fn every_operation_is_tested() {
    let tests = [
        include_str!("bits.rs"),
        include_str!("cluster.rs"),
        include_str!("collective.rs"),
        include_str!("compare.rs"),
        include_str!("convert.rs"),
        include_str!("float.rs"),
        include_str!("integer.rs"),
        include_str!("masks.rs"),
        include_str!("matrix.rs"),
        include_str!("memory.rs"),
        include_str!("packed.rs"),
        include_str!("system.rs"),
        include_str!("texture.rs"),
        include_str!("../barriers.rs"),
        include_str!("../contracts.rs"),
        include_str!("../engine.rs"),
        include_str!("../exec_mask.rs"),
    ];
    let text = tests.concat().replace("\\n", " ");
    let words: std::collections::BTreeSet<&str> =
        text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    // No mechanism of the catalogue takes these.
    let untaken = ["split", "join"];
    let names = ir::op::OPS.iter().map(|row| row.name).filter(|name| !untaken.contains(name));
    let missing: Vec<_> = names.filter(|name| !words.contains(name)).collect();
    assert_eq!(missing, [] as [&str; 0]);
}
