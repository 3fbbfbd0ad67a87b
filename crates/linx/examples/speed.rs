//! The speed of kernel bodies on one core: lane instructions and issues a second of a loop of five
//! lane-wise instructions.
//!
//! ```text
//! cargo run --release -p simtlab-linx --example speed
//! ```
#![allow(clippy::print_stdout, reason = "an example is its output")]

use std::time::Instant;

use isa::FileId;
use linx::{Launch, Linx, Program, TileOps};
use simt::machine::{Machine, Step};

/// 64 groups of 64 lanes, 2,000 rounds each.
const LOOP: &str = "
_start: BSTART.MPAR 0
        B.TEXT  body
        B.DIM   zero, 4096, ->lb0
        C.BSTART.STD
        c.movi  0, ->a0
        ebreak  0
body:   v.addi  lc0.uw, 0, ->vt.w
        v.addi  zero.ud, 2000, ->t.d
loop:   v.mul   vt#1.uw, vt#1.uw, ->vt.w
        v.add   vt#1.uw, lc0.uw, ->vt.w
        v.xor   vt#1.uw, vt#2.uw, ->vt.w
        v.addi  vt#1.uw, 7, ->vt.w
        v.subi  t#1.ud, 1, ->t.d
        b.ne    t#1, zero, loop
        C.BSTOP
";

fn main() {
    let text = TileOps::V04;
    let image = linx::assemble(FileId::default(), LOOP, text).unwrap_or_else(|e| panic!("{e:?}"));
    let program = Program::from_image(&image, text).unwrap_or_else(|e| panic!("{e}"));
    let machine = Linx::default();
    let mut state = machine.launch(&program, Launch::default()).unwrap_or_else(|e| panic!("{e}"));
    let start = Instant::now();
    let end = machine.run_unobserved(&program, &mut state, u64::MAX);
    let seconds = start.elapsed().as_secs_f64();
    assert!(matches!(end, Step::Done), "{end:?}");
    let slots = machine.slots(&state);
    let millions = |count: u64| count as f64 / seconds / 1e6;
    println!(
        "{:.2} s: {:.1} M issues/s, {:.0} M lane instructions/s",
        seconds,
        millions(slots.issues()),
        millions(slots.width)
    );
}
