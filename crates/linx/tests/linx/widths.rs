//! Random bodies without cross-lane operations leave the same memory whatever the group width, the
//! order of groups and the way in which groups are cut from the iteration space.

use std::fmt::Write as _;

use crate::common::{bytes, packed, run};
use isa::testing::Rng;
use linx::{Inactive, Linear, Options};

const HANDS: [&str; 4] = ["vt", "vu", "vm", "vn"];
const TYPES: [&str; 8] = ["sb", "ub", "sh", "uh", "sw", "uw", "sd", "ud"];
const WIDTHS: [&str; 4] = ["b", "h", "w", "d"];

/// Writes lines that compute.
pub(crate) struct Maker {
    pub(crate) random: Rng,
    pub(crate) text: String,
}

impl Maker {
    pub(crate) fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.random.bits() as usize % from.len()]
    }

    fn lane(&mut self) -> String {
        let (hand, entry) = (self.pick(&HANDS), 1 + self.random.bits() % 4);
        format!("{hand}#{entry}.{}", self.pick(&TYPES))
    }

    fn source(&mut self) -> String {
        match self.random.bits() % 8 {
            0 => format!("lc0.{}", self.pick(&TYPES)),
            3 => format!("t#{}.{}", 1 + self.random.bits() % 4, self.pick(&TYPES)),
            4 => format!("u#{}.{}", 1 + self.random.bits() % 4, self.pick(&TYPES)),
            1 => format!("lc1.{}", self.pick(&TYPES)),
            2 => format!("ri2.{}", self.pick(&TYPES)),
            _ => self.lane(),
        }
    }

    fn dest(&mut self) -> String {
        format!("->{}.{}", self.pick(&HANDS), self.pick(&WIDTHS))
    }

    pub(crate) fn line(&mut self) {
        let (a, b, c, d) = (self.lane(), self.source(), self.source(), self.dest());
        let text = match self.random.bits() % 14 {
            0 | 1 => {
                let (op, by) = (self.pick(&["add", "sub"]), self.random.bits() % 9);
                format!("v.{op} {a}, {b}{}<<{by}, {d}", self.pick(&["", ".neg"]))
            }
            2 | 3 => {
                let (op, by) = (self.pick(&["and", "or", "xor"]), self.random.bits() % 9);
                format!("v.{op} {a}, {b}{}<<{by}, {d}", self.pick(&["", ".not"]))
            }
            4 => {
                let op = self.pick(&["mul", "div", "rem", "max", "min", "sll", "srl", "sra"]);
                format!("v.{op} {a}, {b}, {d}")
            }
            5 => format!(
                "v.{} {a}, {}, {d}",
                self.pick(&["andi", "ori", "xori"]),
                self.random.bits() % 2000
            ),
            6 => {
                let op = self.pick(&["bxu", "bxs", "bic", "bis", "bcnt", "clz", "ctz", "rev"]);
                format!(
                    "v.{op} {a}, {}, {}, {d}",
                    self.random.bits() % 60,
                    1 + self.random.bits() % 60
                )
            }
            7 => format!("v.csel {c}, {a}, {b}, {d}"),
            8 => format!("v.psel p.ud, {a}, {b}, {d}"),
            9 => format!(
                "v.cmp.{} {a}, {b}, {d}",
                self.pick(&["eq", "ne", "lt", "ge", "ltu", "geu", "and", "or"])
            ),
            // Less and less lanes, then all again. The mask is not data: as a number it depends on
            // the width.
            10 => self.group(),
            11 => format!("v.madd {a}, {b}, {c}, {d}"),
            12 => format!("v.cmp.{} {a}, {b}, ->p", self.pick(&["ne", "lt", "ge", "ltu", "or"])),
            _ => "v.xori zero.ud, -1, ->p".to_owned(),
        };
        let _ = writeln!(self.text, "{text}");
    }

    /// What the group computes once, whatever the mask.
    fn group(&mut self) -> String {
        let mut source = || {
            let name = ["lc1", "ri2", "t#1", "t#3", "u#1", "u#2"][self.random.bits() as usize % 6];
            format!("{name}.{}", self.pick(&TYPES))
        };
        let (a, b) = (source(), source());
        let op = self.pick(&["add", "sub", "xor", "mul", "div", "sra", "min", "cmp.lt"]);
        format!("v.{op} {a}, {b}, ->{}.{}", self.pick(&["t", "u"]), self.pick(&WIDTHS))
    }
}

fn body(seed: u64) -> String {
    let mut maker = Maker { random: Rng::new(seed), text: String::new() };
    for (i, hand) in HANDS.iter().enumerate() {
        for k in 0..4 {
            let _ =
                writeln!(maker.text, "v.ld.brg [ri0, lc0<<3, lc1.ud<<{}], ->{hand}.d", 3 + i + k);
        }
    }
    (0..24).for_each(|_| maker.line());
    let _ = writeln!(maker.text, "v.xori zero.ud, -1, ->p");
    for (i, hand) in HANDS.iter().enumerate() {
        // 37 lanes and three rows: a row has 512 bytes.
        let _ =
            writeln!(maker.text, "v.add lc1.ud, zero.ud, ->t.d\nv.addi t#1.ud, {}, ->t.d", 3 * i);
        let _ = writeln!(maker.text, "v.sd.brg {hand}#1.ud, [ri1, lc0<<3, t#1.ud<<9]");
    }
    maker.text + "C.BSTOP"
}

#[test]
fn random_bodies_at_every_width() {
    let mut changed = 0;
    for seed in 0..24 {
        let source = |block: &str| {
            format!(
                "_start: BSTART.{block} 0\nB.TEXT body\nB.IOR [a0,a1,a2],[]\nC.B.DIMI 37, ->lb0\nC.B.DIMI 3, ->lb1\n\
                 C.BSTART.STD\nc.movi 0, ->a0\nebreak 0\nbody: {}",
                body(seed)
            )
        };
        let (parallel, ordered) = (source("MPAR"), source("MSEQ"));
        let mut random = Rng::new(seed + 1000);
        let data: Vec<u64> = (0..1024).map(|_| random.bits() >> (random.bits() % 60)).collect();
        let result = |text: &str, options: Options| {
            let (state, trap) = run(text, &[packed(&data), Vec::new(), Vec::new()], options);
            assert_eq!(trap, None, "seed {seed}");
            bytes(&state, 1, 12 * 512)
        };
        for inactive in [Inactive::Merge, Inactive::Zero, Inactive::Poison] {
            let base = Options { inactive, group_width: 1, ..Options::default() };
            let want = result(&ordered, base);
            changed += usize::from(want.iter().any(|&b| b != 0));
            for group_width in [4, 32, 64] {
                let options = Options { group_width, ..base };
                assert_eq!(result(&ordered, options), want, "seed {seed}, width {group_width}");
                let options = Options { seed: seed + 1, ..options };
                assert_eq!(result(&parallel, options), want, "seed {seed}, width {group_width}");
            }
        }
    }
    // A few bodies end in zeros.
    assert!(changed > 60, "{changed}");
}

/// Rows that share groups: `lc1` is then the lanes' own, so a body that uses it as a lane's number
/// gives the same.
#[test]
fn linear_groups() {
    let body = "v.ld.brg [ri0, lc0<<3, lc1.ud<<9], ->vt.d
        v.add vt#1.ud, lc1.ud, ->vt.d
        v.sd.brg vt#1.ud, [ri1, lc0<<3, lc1.ud<<9]
        C.BSTOP";
    let source = format!(
        "_start: BSTART.MSEQ 0\nB.TEXT body\nB.IOR [a0,a1],[]\nB.ATTR DR\nC.B.DIMI 37, ->lb0\nC.B.DIMI 3, ->lb1\n\
         C.BSTART.STD\nc.movi 0, ->a0\nebreak 0\nbody: {body}"
    );
    let data: Vec<u64> = (0..1024).map(|i| i * 7919).collect();
    let result = |options: Options| {
        let (state, trap) = run(&source, &[packed(&data), Vec::new()], options);
        assert_eq!(trap, None);
        (bytes(&state, 1, 1536), state.issues())
    };
    let apart = result(Options::default());
    for linear_groups in [Linear::On, Linear::Attribute] {
        let shared = result(Options { linear_groups, ..Options::default() });
        // Two groups of 64 lanes instead of three of 37.
        assert_eq!((shared.0, shared.1), (apart.0.clone(), apart.1 - 4));
    }
}
