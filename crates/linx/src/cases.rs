//! Programs with known results, by name: small kernels for which the schedule of the upstream
//! emulator (replay) and the EXEC mask of v0.4 (exec) give the same results, or different ones.
//!
//! A case runs in both modes; its table row must carry the results that the case has, in the
//! columns of both modes.

use isa::FileId;
use simt::machine::{Machine, Step};
use simt::memory::{Addr, Width};

use crate::machine::Linx;
use crate::names::TileOps;
use crate::program::Program;
use crate::state::{Launch, Options, Region, State};
use crate::trap::Trap;

/// The tables of encodings and cases that come with the machine.
pub const TABLES: [&str; 4] = [
    include_str!("../tests/data/golden.tsv"),
    include_str!("../tests/data/golden_llvm.tsv"),
    include_str!("../tests/data/worked_examples.tsv"),
    include_str!("../tests/data/behaviour_cases.tsv"),
];

/// Untouched words.
const D: u32 = 0xdead_beef;

/// A program that ended or trapped.
pub struct Outcome {
    /// The final state.
    pub state: State,
    /// The program, for its symbols.
    pub image: isa::asm::Image,
    /// The trap that stopped it.
    pub trap: Option<Trap>,
}

impl Outcome {
    /// The 32-bit word at a label.
    #[must_use]
    pub fn word(&self, label: &str, index: u64) -> Option<u32> {
        let at = self.image.symbol(label)?.value.wrapping_add(4 * index);
        self.state.memory.load(Addr(at), Width::B4).ok().map(|word| word as u32)
    }
}

/// Issues after which a program counts as endless.
const LIMIT: u64 = 2_000_000;

/// Assembles and runs a program.
///
/// # Errors
/// If it does not assemble, load, launch or end.
pub fn run(source: &str, options: Options, arguments: &[u64]) -> Result<Outcome, String> {
    let image = crate::assemble(FileId::default(), source, TileOps::V04).map_err(|errors| {
        let list: Vec<&str> = errors.iter().map(|d| d.message.as_str()).collect();
        format!("does not assemble: {}", list.join("; "))
    })?;
    let program = Program::from_image(&image, TileOps::V04).map_err(|e| e.to_string())?;
    let machine = Linx::default();
    let launch = Launch { arguments: arguments.to_vec(), options, ..Launch::default() };
    let mut state = machine.launch(&program, launch).map_err(|e| e.to_string())?;
    let trap = match machine.run_unobserved(&program, &mut state, LIMIT) {
        Step::Done => None,
        Step::Fault(fault) => Some(fault.cause),
        Step::Issued | Step::Hang(_) => return Err(format!("does not end within {LIMIT} issues")),
    };
    Ok(Outcome { state, image, trap })
}

/// The words that a case leaves at labels.
type Words = Vec<(&'static str, Vec<u32>)>;

struct Case {
    name: &'static str,
    text: Text,
    /// The expected words, by mode: exec if true.
    expected: fn(bool) -> Words,
    /// The text that the row's columns must contain: replay, exec.
    says: (&'static str, &'static str),
}

/// A program that starts kernels and ends.
struct Text {
    /// The contents of `a0`, `a1`, ...: labels or numbers.
    registers: &'static [&'static str],
    /// Blocks in order.
    kernels: &'static [Kernel],
    /// Scalar instructions after them.
    after: &'static str,
    /// The kernels' bodies.
    body: &'static str,
    data: &'static str,
}

/// A block with a header.
struct Kernel {
    marker: &'static str,
    /// The label of its body, if it has one.
    body: &'static str,
    descriptors: &'static [&'static str],
    /// LB0, LB1, ...
    bounds: &'static [u8],
}

/// A kernel that runs `body` in order.
const fn mseq(descriptors: &'static [&'static str], bounds: &'static [u8]) -> Kernel {
    Kernel { marker: "BSTART.MSEQ 0", body: "body", descriptors, bounds }
}

impl Text {
    fn source(&self) -> String {
        let mut lines = vec!["_start: C.BSTART.STD".to_owned()];
        let values = self.registers.iter().enumerate();
        lines.extend(values.map(|(i, value)| format!("hl.liu {value}, ->a{i}")));
        for kernel in self.kernels {
            lines.push(kernel.marker.to_owned());
            if !kernel.body.is_empty() {
                lines.push(format!("B.TEXT {}", kernel.body));
            }
            lines.extend(kernel.descriptors.iter().map(|d| (*d).to_owned()));
            let bounds = kernel.bounds.iter().enumerate();
            lines.extend(bounds.map(|(i, bound)| format!("C.B.DIMI {bound}, ->lb{i}")));
        }
        let Self { after, body, data, .. } = self;
        lines.push(format!("C.BSTART.STD\n{after}\nebreak 0\n{body}\n.data\n{data}\n"));
        lines.join("\n")
    }
}

/// Checks a case by its name: the program must give its results in both modes, and the row must
/// state the same.
///
/// # Errors
/// Returns the difference, or that there is no case of this name.
pub fn check(name: &str, replay: &str, exec: &str) -> Result<(), String> {
    if name == "escape" {
        return escape(replay, exec);
    }
    let case =
        CASES.iter().find(|case| case.name == name).ok_or("there is no program for this case")?;
    for (mode, cell, says) in [("replay", replay, case.says.0), ("exec", exec, case.says.1)] {
        let agrees = squeeze(cell).contains(&squeeze(says));
        if !agrees {
            return Err(format!("expected {mode} `{cell}`, got `{says}`"));
        }
        let replay = mode == "replay";
        let options = Options { replay, region: Region::TakenPath, ..Options::default() };
        let outcome = run(&case.text.source(), options, &[])?;
        if let Some(trap) = &outcome.trap {
            return Err(format!("expected {mode} to end, got {trap}"));
        }
        for (label, words) in (case.expected)(!replay) {
            for (i, &want) in words.iter().enumerate() {
                let got = outcome.word(label, i as u64);
                if got != Some(want) {
                    return Err(format!("expected {mode} {label}[{i}] = {want:#x}, got {got:x?}"));
                }
            }
        }
    }
    Ok(())
}

fn squeeze(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect::<String>().to_lowercase()
}

/// A branch to the first byte after the body, where a marker stands.
fn escape(replay: &str, exec: &str) -> Result<(), String> {
    let says = squeeze("TRAPNUM=5 CAUSE=0x300");
    if !squeeze(replay).contains(&says) || squeeze(exec) != "same" {
        return Err("expected a row that tells of TRAPNUM=5 CAUSE=0x300 in both modes".to_owned());
    }
    for replay in [true, false] {
        let options = Options { replay, region: Region::TakenPath, ..Options::default() };
        let outcome = run(&ESCAPE.source(), options, &[])?;
        let symbol = |name: &str| outcome.image.symbol(name).map(|s| s.value);
        let trap = outcome.trap.as_ref().ok_or("expected a trap, got none")?;
        let facts = (trap.trapno(), trap.arg, Some(trap.tpc), trap.bi);
        let want = (0x4000_0003_0000_0005, symbol("behind"), symbol("branch"), true);
        if facts != want || outcome.state.ring != 2 {
            return Err(format!("expected {want:x?}, got {facts:x?}"));
        }
    }
    Ok(())
}

const ESCAPE: Text = Text {
    registers: &[],
    kernels: &[mseq(&[], &[1])],
    after: "",
    body: "
body:   v.cmp.ltui lc0.ud, 1, ->p
branch: b.nz    behind
        C.BSTOP
behind: C.BSTART.STD
        ebreak  0",
    data: "",
};

/// Rows of words, `stride` words apart, the words between them 0.
fn rows(rows: u32, stride: u32, width: u32, f: fn(u32, u32) -> u32) -> Vec<u32> {
    let cell = |k: u32| if k % stride < width { f(k / stride, k % stride) } else { 0 };
    (0..rows * stride).map(cell).collect()
}

static CASES: [Case; 14] = [
    Case {
        name: "store_sum",
        text: Text {
            registers: &["out"],
            kernels: &[
                mseq(&["B.IOR   [a0],[]"], &[64, 32]),
            ],
            after: "",
            body: "
body:   v.add   lc0.uw, lc1.uw, ->vt.w
        v.sw.brg vt#1.uw, [ri0, lc0<<2, lc1.ud<<10]
        C.BSTOP",
            data: "
out:    .space 32768",
        },
        expected: |_| vec![("out", rows(32, 256, 64, |i, j| i + j))],
        says: ("a[i][j]=i+j for j<64", "same"),
    },
    Case {
        name: "copy",
        text: Text {
            registers: &["src", "dst", "0"],
            kernels: &[
                Kernel { marker: "BSTART.MSEQ 0", body: "fill", descriptors: &["B.IOR   [a0],[]", "B.DIM   zero, 2048, ->lb0"], bounds: &[] },
                mseq(&["B.IOR   [a0,a1],[]"], &[64, 8]),
            ],
            after: "",
            body: "
body:   v.lw.brg [ri0, lc0<<2, lc1.ud<<10], ->vt.w
        v.sw.brg vt#1.uw, [ri1, lc0<<2, lc1.ud<<10]
        C.BSTOP
fill:   v.sw.brg lc0.uw, [ri0, lc0<<2, zero.ud<<2]
        C.BSTOP",
            data: "
src:    .space 8192
dst:    .space 8192",
        },
        expected: |_| vec![("dst", rows(8, 256, 64, |i, j| 256 * i + j))],
        says: ("dst row i word j = src for j<64, rest 0", "same"),
    },
    Case {
        name: "tile_store",
        text: Text {
            registers: &["out"],
            kernels: &[
                Kernel { marker: "BSTART.VSEQ 0", body: "body", descriptors: &["B.IOTI  [], last ->t<4KB>"], bounds: &[16, 16] },
                Kernel { marker: "BSTART.TSTORE INT32", body: "", descriptors: &["B.ARG   NORM.normal", "B.IOR   [a0],[]", "B.IOTI  [t#1], last"], bounds: &[] },
            ],
            after: "",
            body: "
body:   v.add   lc0.uw, lc1.uw, ->vt.w
        v.sw    vt#1.uw, [to, lc0<<2, lc1.ud<<6]
        C.BSTOP",
            data: "
out:    .space 4096",
        },
        expected: |_| vec![("out", rows(16, 16, 16, |i, j| i + j))],
        says: ("out[i*16+j]=i+j", "same"),
    },
    Case {
        name: "add_sub",
        text: Text {
            registers: &["a", "b", "sum", "diff"],
            kernels: &[
                mseq(&["B.IOR   [a0,a1,a2],[]", "B.IOR   [a3],[]"], &[32]),
            ],
            after: "",
            body: "
body:   v.lw.brg [ri0, lc0<<2, zero.ud], ->vt.w
        v.lw.brg [ri1, lc0<<2, zero.ud], ->vu.w
        v.add   vt#1.sw, vu#1.sw, ->vm.w
        v.sub   vt#1.sw, vu#1.sw, ->vn.w
        v.sw.brg vm#1.sw, [ri2, lc0<<2, zero.ud<<2]
        v.sw.brg vn#1.sw, [ri3, lc0<<2, zero.ud<<2]
        C.BSTOP",
            data: "
a:      .word 100, 103, 106, 109, 112, 115, 118, 121, 124, 127, 130, 133, 136, 139, 142, 145, 148, 151, 154, 157, 160, 163, 166, 169, 172, 175, 178, 181, 184, 187, 190, 193
b:      .word 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48
sum:    .space 128
diff:   .space 128",
        },
        expected: |_| {
            vec![
                ("sum", (0..32).map(|i| 117 + 4 * i).collect()),
                ("diff", (0..32).map(|i| 83 + 2 * i).collect()),
            ]
        },
        says: ("a[i]=100+3i b[i]=17+i -> sum, diff", "same"),
    },
    Case {
        name: "fabs",
        text: Text {
            registers: &["src", "dst", "4"],
            kernels: &[
                mseq(&["B.IOR   [a0,a1],[]", "B.DIM   a2, 0, ->lb0"], &[]),
            ],
            after: "",
            body: "
body:   v.lwi.brg [ri0, lc0<<2, 0], ->vt.w
        v.fabs  vt#1.fs, ->vt.w
        v.swi.brg vt#1.uw, [ri1, lc0<<2, 0]
        C.BSTOP",
            data: "
src:    .word 0xbf800000, 0x40000000, 0x80000000, 0xff800000
dst:    .word 0, 0, 0, 0, 0xdeadbeef",
        },
        expected: |_| vec![("dst", vec![0x3f80_0000, 0x4000_0000, 0, 0x7f80_0000, D])],
        says: ("sign bit cleared", "same"),
    },
    Case {
        name: "scalar_once",
        text: Text {
            registers: &["out"],
            kernels: &[
                mseq(&[], &[32]),
            ],
            after: "swi     a7, [a0, 0]",
            body: "
body:   addi    a7, 1, ->a7
        C.BSTOP",
            data: "
out:    .word 0xdeadbeef",
        },
        expected: |exec| vec![("out", vec![if exec { 1 } else { 32 }])],
        says: ("a7 = 32", "a7 = 1"),
    },
    Case {
        name: "ri_order",
        text: Text {
            registers: &["out", "4", "20", "30", "40", "50", "60", "70"],
            kernels: &[
                mseq(&["B.IOR   [a0,a1],[zero]", "B.IOR   [zero,a2],[a3]", "B.IOR   [a4,zero],[a5]", "B.IOR   [a6,a7],[s0]"], &[1]),
            ],
            after: "",
            body: "
body:   v.cmp.nei ri6.ud, 0, ->u.d
        v.csel  u#1.ud, ri6.ud, ri4.ud, ->t.d
        v.csel  u#1.ud, ri7.ud, ri5.ud, ->t.d
        v.sw.brg t#2.uw, [ri0, lc0<<2, zero.ud<<2]
        v.sw.brg t#1.uw, [ri0, lc0<<2, lb0.ud<<2]
        C.BSTOP",
            data: "
out:    .word 0xdeadbeef, 0xdeadbeef, 0xdeadbeef, 0xdeadbeef",
        },
        expected: |_| {
            // Exec: ri4 is a6, ri5 is a7; nothing is bound to ri6 and ri7, which read 0 and select
            // those.
            vec![("out", vec![60, 70])]
        },
        says: ("ri6=a6 ri7=a7", "a6 is ri4 and a7 is ri5"),
    },
    Case {
        name: "branch_nz",
        text: Text {
            registers: &["out", "1", "2"],
            kernels: &[
                mseq(&["B.IOR   [a0,a1,a2],[]"], &[4]),
            ],
            after: "",
            body: "
body:   v.cmp.ltui lc0.ud, 2, ->p
        b.nz    other
        v.sw.brg ri2.uw, [ri0, lc0<<2, zero.ud<<2]
        C.BSTOP
other:  v.sw.brg ri1.uw, [ri0, lc0<<2, zero.ud<<2]
        C.BSTOP",
            data: "
out:    .word 0xdeadbeef, 0xdeadbeef, 0xdeadbeef, 0xdeadbeef",
        },
        expected: |exec| vec![("out", if exec { vec![1, 1, D, D] } else { vec![1, 1, 2, 2] })],
        says: ("[T,T,F,F]", "[T,T,D,D]"),
    },
    Case {
        name: "branch_z",
        text: Text {
            registers: &["out", "1", "2"],
            kernels: &[
                mseq(&["B.IOR   [a0,a1,a2],[]"], &[4]),
            ],
            after: "",
            body: "
body:   v.cmp.ltui lc0.ud, 2, ->p
        b.z    other
        v.sw.brg ri1.uw, [ri0, lc0<<2, zero.ud<<2]
        C.BSTOP
other:  v.sw.brg ri2.uw, [ri0, lc0<<2, zero.ud<<2]
        C.BSTOP",
            data: "
out:    .word 0xdeadbeef, 0xdeadbeef, 0xdeadbeef, 0xdeadbeef",
        },
        expected: |exec| vec![("out", if exec { vec![1, 1, D, D] } else { vec![1, 1, 2, 2] })],
        says: ("[T,T,F,F]", "[T,T,D,D]"),
    },
    Case {
        name: "branch_nested",
        text: Text {
            registers: &["out", "101", "202", "303"],
            kernels: &[
                mseq(&["B.IOR   [a0,a1,a2],[]", "B.IOR   [a3],[]"], &[8]),
            ],
            after: "",
            body: "
body:   v.cmp.ltui lc0.ud, 2, ->p
        b.nz    low
        v.cmp.ltui lc0.ud, 6, ->p
        b.nz    middle
        v.sw.brg ri3.uw, [ri0, lc0<<2, zero.ud<<2]
        C.BSTOP
middle: v.sw.brg ri2.uw, [ri0, lc0<<2, zero.ud<<2]
        C.BSTOP
low:    v.cmp.ltui lc0.ud, 1, ->p
        b.nz    first
        v.sw.brg ri1.uw, [ri0, lc0<<2, zero.ud<<2]
        C.BSTOP
first:  v.sw.brg zero.uw, [ri0, lc0<<2, zero.ud<<2]
        C.BSTOP",
            data: "
out:    .word 0xdeadbeef, 0xdeadbeef, 0xdeadbeef, 0xdeadbeef, 0xdeadbeef, 0xdeadbeef, 0xdeadbeef, 0xdeadbeef",
        },
        expected: |exec| {
            let all = vec![0, 101, 202, 202, 202, 202, 303, 303];
            vec![("out", if exec { vec![0, D, D, D, D, D, D, D] } else { all })]
        },
        says: ("[0,101,202,202,202,202,303,303]", "[0,D,D,D,D,D,D,D]"),
    },
    Case {
        name: "nested_rejoin",
        text: Text {
            registers: &["out", "0x10", "0x20", "0x30", "0x40", "0x100", "tail"],
            kernels: &[
                mseq(&["B.IOR   [a0,a1,a2],[]", "B.IOR   [a3,a4,a5],[]", "B.IOR   [a6],[]"], &[4]),
            ],
            after: "",
            body: "
body:   v.cmp.ltui lc0.ud, 2, ->p
        b.nz    low
        v.cmp.ltui lc0.ud, 3, ->p
        b.nz    third
        v.sw.brg ri4.uw, [ri0, lc0<<2, zero.ud<<2]
        j       rest
third:  v.sw.brg ri3.uw, [ri0, lc0<<2, zero.ud<<2]
        j       rest
low:    v.cmp.ltui lc0.ud, 1, ->p
        b.nz    first
        v.sw.brg ri2.uw, [ri0, lc0<<2, zero.ud<<2]
        j       rest
first:  v.sw.brg ri1.uw, [ri0, lc0<<2, zero.ud<<2]
rest:   v.add   lc0.uw, ri5.uw, ->vt.w
        v.sw.brg vt#1.uw, [ri6, lc0<<2, zero.ud<<2]
        C.BSTOP",
            data: "
out:    .word 0xdeadbeef, 0xdeadbeef, 0xdeadbeef, 0xdeadbeef
tail:   .word 0xdeadbeef, 0xdeadbeef, 0xdeadbeef, 0xdeadbeef",
        },
        expected: |exec| {
            if exec {
                vec![("out", vec![0x10, D, D, D]), ("tail", vec![0x100, D, D, D])]
            } else {
                vec![
                    ("out", vec![0x10, 0x20, 0x30, 0x40]),
                    ("tail", vec![0x100, 0x101, 0x102, 0x103]),
                ]
            }
        },
        says: ("primary=[0x10,0x20,0x30,0x40] tail=[0x100,0x101,0x102,0x103]", "primary=[0x10,D,D,D] tail=[0x100,D,D,D]"),
    },
    Case {
        name: "backward_loop",
        text: Text {
            registers: &["out", "1"],
            kernels: &[
                mseq(&["B.IOR   [a0,a1],[]"], &[4]),
            ],
            after: "",
            body: "
body:   v.add   zero.uw, zero.uw, ->vt.w
loop:   v.cmp.ltu vt#1.uw, lc0.uw, ->p
        b.z     end
        v.add   vt#1.uw, ri1.uw, ->vt.w
        j       loop
end:    v.add   vt#1.uw, ri1.uw, ->vt.w
        v.sw.brg vt#1.uw, [ri0, lc0<<2, zero.ud<<2]
        C.BSTOP",
            data: "
out:    .word 0xdeadbeef, 0xdeadbeef, 0xdeadbeef, 0xdeadbeef",
        },
        expected: |exec| vec![("out", if exec { vec![D; 4] } else { vec![1, 2, 3, 4] })],
        says: ("[1,2,3,4]", "[D,D,D,D]"),
    },
    Case {
        name: "active_state",
        text: Text {
            registers: &["counts", "limits", "active", "1"],
            kernels: &[
                mseq(&["B.IOR   [a0,a1,a2],[]", "B.IOR   [a3],[]"], &[4, 4]),
            ],
            after: "",
            body: "
body:   v.lw.brg [ri2, lc0<<2, zero.ud], ->vt.w
        v.cmp.eqi vt#1.uw, 0, ->p
        b.nz    end
        v.lw.brg [ri1, lc0<<2, zero.ud], ->vu.w
        v.cmp.ltu lc1.uw, vu#1.uw, ->p
        b.nz    count
        v.sw.brg zero.uw, [ri2, lc0<<2, zero.ud<<2]
        j       end
count:  v.lw.brg [ri0, lc0<<2, zero.ud], ->vm.w
        v.add   vm#1.uw, ri3.uw, ->vm.w
        v.sw.brg vm#1.uw, [ri0, lc0<<2, zero.ud<<2]
end:    C.BSTOP",
            data: "
counts: .word 0, 0, 0, 0
limits: .word 1, 3, 0, 2
active: .word 1, 1, 1, 1",
        },
        expected: |exec| {
            let (counts, active) = if exec { ([0; 4], [1; 4]) } else { ([1, 3, 0, 2], [0; 4]) };
            vec![("counts", counts.to_vec()), ("active", active.to_vec())]
        },
        says: ("counts=[1,3,0,2] active=[0,0,0,0]", "counts=[0,0,0,0] active=[1,1,1,1]"),
    },
    Case {
        name: "any_zero_break",
        text: Text {
            registers: &["in", "out", "in2", "out2", "9"],
            kernels: &[
                mseq(&["B.IOR   [a0,a1,a4],[]"], &[1, 4]),
                mseq(&["B.IOR   [a2,a3,a4],[]"], &[1, 4]),
            ],
            after: "",
            body: "
body:   v.lw.brg [ri0, lc0<<2, lc1.ud<<2], ->vt.w
        v.cmp.eqi vt#1.sw, 0, ->p
        b.nz    end
        v.addi  zero.ud, 1, ->p
        v.sw.brg ri2.uw, [ri1, lc0<<2, lc1.ud<<2]
end:    C.BSTOP",
            data: "
in:     .word 5, -1, 7, -3
in2:    .word 5, 0, 7, -3
out:    .word 0xdeadbeef, 0xdeadbeef, 0xdeadbeef, 0xdeadbeef
out2:   .word 0xdeadbeef, 0xdeadbeef, 0xdeadbeef, 0xdeadbeef",
        },
        expected: |_| vec![("out", vec![9, 9, 9, 9]), ("out2", vec![9, D, 9, 9])],
        says: ("in=[5,-1,7,-3]: all V; in=[5,0,7,-3]: out[1] untouched", "same"),
    },
];
