//! Random kernel bodies: what [`Maker`] writes, with loads, masked stores, reductions, loops and
//! jumps over what no lane does.

use std::fmt::Write as _;

use isa::testing::Rng;

use crate::widths::Maker;

/// Lanes of a row, rows, and the bytes from one row of results to the next.
pub(crate) const LANES: u64 = 37;
pub(crate) const ROWS: u64 = 3;
/// The offset of the results from the start of memory, and memory's length.
pub(crate) const RESULTS: u64 = 0x2000;
pub(crate) const BYTES: usize = 0xa000;

const HANDS: [&str; 4] = ["vt", "vu", "vm", "vn"];

/// A kernel; `a0` is the address of memory.
pub(crate) fn kernel(seed: u64) -> String {
    let mut maker = Maker { random: Rng::new(seed), text: String::new() };
    let block = maker.pick(&["MSEQ", "MPAR"]).to_owned();
    let _ = write!(
        maker.text,
        "_start: C.BSTART.STD\nhl.addi a0, {RESULTS}, ->a1\nldi [a0, 0], ->a2\n\
         BSTART.{block} 0\nB.TEXT body\nB.IOR [a0,a1,a2],[]\n\
         C.B.DIMI {LANES}, ->lb0\nC.B.DIMI {ROWS}, ->lb1\n\
         C.BSTART.STD\nc.movi 0, ->a0\nebreak 0\nbody: "
    );
    for (i, hand) in HANDS.iter().enumerate() {
        for k in 0..4 {
            let _ =
                writeln!(maker.text, "v.ld.brg [ri0, lc0<<3, lc1.ud<<{}], ->{hand}.d", 3 + i + k);
        }
    }
    let parts = 3 + maker.random.below(3);
    for part in 0..parts {
        let lines = 2 + maker.random.below(6);
        let ordered = block == "MSEQ";
        match maker.random.below(4) {
            0 => jump(&mut maker, part, lines),
            1 if ordered => rounds(&mut maker, part, lines),
            2 => access(&mut maker, part),
            _ => (0..lines).for_each(|_| maker.line()),
        }
    }
    let _ = writeln!(maker.text, "v.xori zero.ud, -1, ->p");
    for hand in HANDS {
        for k in 1..=4 {
            store(&mut maker, &format!("{hand}#{k}.ud"));
        }
    }
    maker.text + "C.BSTOP\n"
}

/// Stores behind what was stored before: `u#1` counts the stores.
fn store(maker: &mut Maker, value: &str) {
    let stores = maker.text.matches("v.sd.brg").count() as u64;
    let _ = writeln!(
        maker.text,
        "v.addi lc1.ud, {}, ->t.d\nv.sd.brg {value}, [ri1, lc0<<3, t#1.ud<<9]",
        ROWS * stores
    );
}

/// Lines that are jumped over if no lane is left.
fn jump(maker: &mut Maker, part: u64, lines: u64) {
    let test = maker.pick(&["eqi", "lti", "gei", "nei"]);
    let limit = maker.random.below(60);
    let (skip, source) =
        (maker.pick(&["b.z", "b.nz"]), maker.pick(&["vt#1.sb", "lc0.ud", "vm#2.uh"]));
    let _ = writeln!(maker.text, "v.cmp.{test} {source}, {limit}, ->p\n{skip} l{part}");
    (0..lines).for_each(|_| maker.line());
    let _ = writeln!(maker.text, "l{part}: v.addi p.ud, 0, ->u.d");
}

/// Lines that run some times; a general register counts.
fn rounds(maker: &mut Maker, part: u64, lines: u64) {
    let times = 1 + maker.random.below(3);
    let _ = writeln!(maker.text, "addi zero, {times}, ->s{part}");
    let _ = write!(maker.text, "l{part}: ");
    (0..lines).for_each(|_| maker.line());
    let _ = writeln!(maker.text, "subi s{part}, 1, ->s{part}\nb.ne s{part}, zero, l{part}");
}

/// A load of any size, a reduction, a store under the mask.
fn access(maker: &mut Maker, _part: u64) {
    let (op, log2) =
        [("lb", 0), ("lbu", 0), ("lh", 1), ("lhu", 1), ("lw", 2), ("lwu", 2), ("ld", 3)]
            [maker.random.below(7) as usize];
    let (hand, other) = (maker.pick(&HANDS).to_owned(), maker.pick(&HANDS).to_owned());
    let shift = maker.random.below(9);
    let _ = writeln!(
        maker.text,
        "v.{op}.brg [ri0, lc0<<{log2}, lc1.ud<<{shift}], ->{hand}.d\n\
         v.{op}i.brg [ri0, lc0<<{log2}, {}], ->{other}.d",
        8 * maker.random.below(100)
    );
    let reduction = maker.pick(&["rdadd", "rdor", "rdxor"]);
    let _ = writeln!(maker.text, "v.{reduction} {hand}#1.sw, ->u.d");
    if maker.text.matches("v.sd.brg").count() < 4 {
        store(maker, &format!("{other}#1.ud"));
    }
}
