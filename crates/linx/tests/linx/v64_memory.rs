//! The 64-bit forms that access memory, or other lanes: loads, stores, atomics, shuffles,
//! reductions, queues in memory.

use crate::common::{LANES, bytes, lanes, numbers, packed, run, words};
use linx::{Options, State};

/// Loads: name, log2 of the size, whether it extends the sign.
const LOADS: [(&str, u32, bool); 7] = [
    ("lb", 0, true),
    ("lbu", 0, false),
    ("lh", 1, true),
    ("lhu", 1, false),
    ("lw", 2, true),
    ("lwu", 2, false),
    ("ld", 3, true),
];

fn loaded(memory: &[u8], at: u64, log2: u32, signed: bool) -> u64 {
    let size = 1 << log2;
    let mut all = [0; 8];
    all[..size].copy_from_slice(&memory[at as usize..at as usize + size]);
    let value = u64::from_le_bytes(all);
    let unused = 64 - 8 * size as u32;
    if signed { ((value << unused) as i64 >> unused) as u64 } else { value }
}

/// A program with a global buffer of bytes, the same bytes in tile `ta`, a result buffer, and a
/// tile `to` that is stored to a third buffer in the end. `ri0` memory, `ri1` result; `vt#1` holds
/// 64-bit numbers, `lc0` has the lanes.
fn program(body: &str) -> (State, Vec<u8>) {
    let memory: Vec<u8> = (0..4096u32).map(|i| (i * 167 + (i >> 8) * 31) as u8).collect();
    let source = format!(
        "_start: BSTART.TLOAD UINT8
         B.ARG NORM.normal
         B.IOR [a0],[]
         B.IOTI [], last ->t<4KB>
         BSTART.MSEQ 0
         B.TEXT body
         B.IOR [a0,a1,a3],[]
         B.IOTI [t#1], last ->u<4KB>
         C.B.DIMI 64, ->lb0
         BSTART.TSTORE UINT8
         B.ARG NORM.normal
         B.IOR [a2],[]
         B.IOTI [u#1], last
         C.BSTART.STD
         c.movi 0, ->a0
         ebreak 0
         body: v.ldi.brg [ri2, lc0<<3, 0], ->vt.d
         {body}
         C.BSTOP"
    );
    let buffers = [memory.clone(), Vec::new(), Vec::new(), packed(&numbers(5))];
    let (state, trap) = run(&source, &buffers, Options::default());
    assert_eq!(trap, None, "{body}");
    (state, memory)
}

/// Checks `V.L{B,BU,H,HU,W,WU,D}`, `*.BRG`, `(no .BRG)`: base, lane term, shifted index by its
/// suffix; both memories.
#[test]
fn loads_with_a_register() {
    for (name, log2, signed) in LOADS {
        for (suffix, base) in [(".brg", "ri0"), ("", "ta")] {
            let lane = if log2 == 0 { "lc0".to_owned() } else { format!("lc0<<{log2}") };
            let body = format!(
                "v.{name}{suffix} [{base}, {lane}, lc0.ub<<3], ->vn.d
                 v.sdi.brg vn#1.ud, [ri1, lc0<<3, 0]
                 v.{name}{suffix} [{base}, lc0.uh<<4], ->vn.d
                 v.sdi.brg vn#1.ud, [ri1, lc0<<3, 512]"
            );
            let (state, memory) = program(&body);
            let got = words(&state, 1, 2 * LANES);
            for lane in 0..LANES as u64 {
                let first = loaded(&memory, (lane << log2) + (lane << 3), log2, signed);
                let second = loaded(&memory, lane << 4, log2, signed);
                let pair = (got[lane as usize], got[LANES + lane as usize]);
                assert_eq!(pair, (first, second), "{name}{suffix}, lane {lane}");
            }
        }
    }
}

/// Checks `V.L{..}I`, `V.L{..}I.U`: the text's byte offset, scaled or not.
#[test]
fn loads_with_an_immediate() {
    for (name, log2, signed) in LOADS {
        for (suffix, base) in [("", "ri0"), (".u", "ri0"), ("", "ta"), (".u", "ta")] {
            if suffix == ".u" && log2 == 0 {
                continue;
            }
            let brg = if base == "ri0" { ".brg" } else { "" };
            let offset = if suffix == ".u" { 13 } else { 5 << log2 };
            let lane = if log2 == 0 { "lc0".to_owned() } else { format!("lc0<<{log2}") };
            let body = format!(
                "v.{name}i{suffix}{brg} [{base}, {lane}, {offset}], ->vn.d
                 v.sdi.brg vn#1.ud, [ri1, lc0<<3, 0]"
            );
            let (state, memory) = program(&body);
            for (lane, got) in words(&state, 1, LANES).into_iter().enumerate() {
                let at = ((lane as u64) << log2) + offset;
                assert_eq!(got, loaded(&memory, at, log2, signed), "{body} lane {lane}");
            }
        }
    }
}

/// What stores of the low bytes of numbers leave, in ascending order of lanes.
fn stored(log2: u32, at: impl Fn(u64) -> u64) -> Vec<u8> {
    let mut memory = vec![0; 4096];
    for (lane, value) in numbers(5).into_iter().enumerate() {
        let (at, size) = (at(lane as u64) as usize, 1 << log2);
        memory[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
    }
    memory
}

/// Checks `V.S{B,H,W,D}`, `V.S{H,W,D}.U`, `V.S{..}I / V.S{..}I.U`, `*.BRG`, `(no .BRG)`: the
/// store's own scaling.
#[test]
fn stores() {
    for (name, log2) in [("sb", 0u32), ("sh", 1), ("sw", 2), ("sd", 3)] {
        let lane = if log2 == 0 { "lc0".to_owned() } else { format!("lc0<<{log2}") };
        for (brg, base, buffer) in [(".brg", "ri1", 1), ("", "to", 2)] {
            let total = log2 + 1;
            let mut cases: Vec<(String, u64, u64)> = vec![
                // Text, factor of the lane, offset.
                (format!("v.{name}{brg} vt#1.ud, [{base}, lc0.ud<<{total}]"), 2 << log2, 0),
                (format!("v.{name}{brg} vt#1.ud, [{base}, {lane}, lc0.ud<<{total}]"), 3 << log2, 0),
                (
                    format!("v.{name}i{brg} vt#1.ud, [{base}, {lane}, {}]", 3 << log2),
                    1 << log2,
                    3 << log2,
                ),
            ];
            if log2 > 0 {
                cases.push((format!("v.{name}.u{brg} vt#1.ud, [{base}, lc0.ud<<4]"), 16, 0));
                cases.push((
                    format!("v.{name}i.u{brg} vt#1.ud, [{base}, {lane}, 7]"),
                    1 << log2,
                    7,
                ));
            }
            for (text, factor, offset) in cases {
                let (state, _) = program(&text);
                let want = stored(log2, |lane| lane * factor + offset);
                assert_eq!(bytes(&state, buffer, 4096), want, "{text}");
            }
        }
    }
}

/// The highest lane that is on wins where stores overlap; lanes that are off store nothing.
#[test]
fn overlapping_stores() {
    let body = "v.cmp.ltui lc0.ud, 40, ->p\nv.sw.brg lc0.uw, [ri1, zero.ud<<2]";
    assert_eq!(words(&program(body).0, 1, 1), [39]);
}

/// Checks `V.L{W,D}.{ADD,AND,OR,XOR,MAX,MIN}`, `V.S{W,D}.{ADD,..}`: one after another in ascending
/// order; old values.
#[test]
fn atomics() {
    type Operation = (&'static str, fn(i64, i64) -> i64);
    let operations: [Operation; 6] = [
        ("add", i64::wrapping_add),
        ("and", |a, b| a & b),
        ("or", |a, b| a | b),
        ("xor", |a, b| a ^ b),
        ("max", i64::max),
        ("min", i64::min),
    ];
    for (op, apply) in operations {
        for (size, bits) in [("w", 32u32), ("d", 64)] {
            let narrow = |v: i64| v << (64 - bits) >> (64 - bits);
            // Four words, which the lanes take in turn.
            let address = "v.andi lc0.ud, 3, ->vm.d\nv.add ri1.ud, vm#1.ud<<3, ->vm.d";
            let start = "v.cmp.ltui lc0.ud, 50, ->p\n";
            let loads = format!(
                "{address}\n{start}v.l{size}.{op} [vm#1], vt#1.ud, ->vn.d\nv.sdi.brg vn#1.ud, [ri1, lc0<<3, 512]"
            );
            let stores = format!("{address}\n{start}v.s{size}.{op} [vm#1], vt#1.ud");
            let mut memory = [0i64; 4];
            let mut old = vec![0; LANES];
            for (lane, value) in numbers(5).into_iter().enumerate().take(50) {
                let word = &mut memory[lane % 4];
                old[lane] = narrow(*word) as u64;
                *word = narrow(apply(narrow(*word), narrow(value as i64)));
            }
            let unsigned = |v: i64| if bits == 32 { v as u32 as u64 } else { v as u64 };
            let want: Vec<u64> = memory.iter().map(|&v| unsigned(v)).collect();
            let (state, _) = program(&loads);
            assert_eq!(words(&state, 1, 4), want, "{loads}");
            assert_eq!(words(&state, 1, 128)[64..], old, "{loads}");
            assert_eq!(words(&program(&stores).0, 1, 4), want, "{stores}");
        }
    }
}

fn shuffled(text: &str, from: impl Fn(u64, u64) -> u64) {
    let (a, b) = (numbers(1), (0..LANES as u64).map(|i| i * 7 % 23).collect::<Vec<u64>>());
    // Sources are read whether or not they are on; lanes that are off keep what they had, which is
    // 0 here.
    let body = format!("v.cmp.ltui lc0.ud, 60, ->p\n{text}");
    let (got, _) = lanes(&body, &a, &b, &b);
    for lane in 0..LANES as u64 {
        let want = if lane < 60 { a[from(lane, b[lane as usize]) as usize] } else { 0 };
        assert_eq!(got[lane as usize], want, "{text}, lane {lane}");
    }
}

/// Checks `V.SHFL.UP / .DOWN / .IDX`, `V.SHFL.BFLY`, `V.SHFLI.UP / .DOWN / .IDX / .BFLY`: segments;
/// beyond them a lane reads itself.
#[test]
fn shuffles() {
    let inside = |lane: u64, to: i64, range: u64| {
        let segment = lane - lane % range;
        if to < segment as i64 || to >= (segment + range) as i64 { lane } else { to as u64 }
    };
    shuffled("v.addi zero.ud, 16, ->t.d\nv.shfl.up vt#1.ud, t#1.ud, vu#1.ud, ->vn.d", |lane, d| {
        inside(lane, lane as i64 - (d % 16) as i64, 16)
    });
    shuffled("v.shfl.down vt#1.ud, zero.ud, vu#1.ud, ->vn.d", |lane, d| {
        inside(lane, (lane + d) as i64, 64)
    });
    shuffled("v.addi zero.ud, 8, ->t.d\nv.shfl.idx vt#1.ud, t#1.ud, vu#1.ud, ->vn.d", |lane, d| {
        lane - lane % 8 + d % 8
    });
    shuffled("v.shfl.bfly vt#1.ud, vu#1.ud, ->vn.d", |lane, d| lane ^ d);
    shuffled("v.shfli.up vt#1.ud, zero.ud, 3, ->vn.d", |lane, _| inside(lane, lane as i64 - 3, 64));
    shuffled("v.shfli.down vt#1.ud, zero.ud, 5, ->vn.d", |lane, _| {
        inside(lane, lane as i64 + 5, 64)
    });
    shuffled("v.addi zero.ud, 4, ->t.d\nv.shfli.idx vt#1.ud, t#1.ud, 6, ->vn.d", |lane, _| {
        lane - lane % 4 + 2
    });
    shuffled("v.shfli.bfly vt#1.ud, 33, ->vn.d", |lane, _| lane ^ 33);
}

/// Folds over the lanes of a mask.
fn reduced(text: &str, dest: &str, a: &[u64], mask: &str) -> u64 {
    let body =
        format!("{mask}\n{text}, ->{dest}\nv.xori zero.ud, -1, ->p\nv.addi t#1.ud, 0, ->vn.d");
    let (lanes, state) = lanes(&body, a, a, a);
    if dest.starts_with("ro") { state.register(11).unwrap() } else { lanes[0] }
}

/// Checks `V.RDADD/AND/OR/XOR/MAX/MIN`, `V.RDFADD/FMAX/FMIN`: ascending order, identities, exports.
#[test]
fn reductions() {
    type Case = (&'static str, u64, fn(u64, u64) -> u64);
    let cases: [Case; 8] = [
        ("v.rdadd vt#1.sw", 0, |t, v| t.wrapping_add(v as i32 as i64 as u64)),
        ("v.rdadd vt#1.ub", 0, |t, v| t + (v & 0xff)),
        ("v.rdand vt#1.ud", u64::MAX, |t, v| t & v),
        ("v.rdor vt#1.uh", 0, |t, v| t | v & 0xffff),
        ("v.rdxor vt#1.ud", 0, |t, v| t ^ v),
        ("v.rdmax vt#1.sw", i32::MIN as i64 as u64, |t, v| {
            (t as i64).max(i64::from(v as i32)) as u64
        }),
        ("v.rdmin vt#1.sd", i64::MAX as u64, |t, v| (t as i64).min(v as i64) as u64),
        ("v.rdmin vt#1.uw", u64::from(u32::MAX), |t, v| t.min(v & 0xffff_ffff)),
    ];
    let a = numbers(3);
    for (text, identity, fold) in cases {
        let want = a[..40].iter().fold(identity, |t, &v| fold(t, v));
        assert_eq!(reduced(text, "t.d", &a, "v.cmp.ltui lc0.ud, 40, ->p"), want, "{text}");
        assert_eq!(reduced(text, "ro0.d", &a, "v.cmp.ltui lc0.ud, 40, ->p"), want, "{text}");
        assert_eq!(reduced(text, "t.d", &a, "v.addi zero.ud, 0, ->p"), identity, "{text}");
    }
    let floats: Vec<f32> = (0..LANES).map(|i| (i as f32 - 20.0) * 1.1).collect();
    let a: Vec<u64> = floats.iter().map(|v| u64::from(v.to_bits())).collect();
    let all = "v.cmp.geui lc0.ud, 5, ->p";
    let sum = floats[5..].iter().fold(0.0f32, |t, v| t + v);
    let bits = |v: f32| u64::from(v.to_bits());
    assert_eq!(reduced("v.rdfadd vt#1.fs", "t.w", &a, all), bits(sum));
    assert_eq!(reduced("v.rdfmax vt#1.fs", "t.w", &a, all), bits(floats[63]));
    assert_eq!(reduced("v.rdfmin vt#1.fs", "t.w", &a, all), bits(floats[5]));
    let none = "v.addi zero.ud, 0, ->p";
    assert_eq!(reduced("v.rdfadd vt#1.fs", "t.w", &a, none), 0);
    assert_eq!(reduced("v.rdfmax vt#1.fs", "t.w", &a, none), 0x7fc0_0000);
}

/// Checks `V.QPUSH`, `V.QPOP`: one entry stays free; full and empty queues give 0; without capacity
/// nothing happens.
#[test]
fn queues() {
    // Head 2, tail 2, capacity 5: room for four.
    let mut queue = vec![2u32, 2, 5, 0];
    queue.extend([0; 5]);
    let data: Vec<u8> = queue.iter().flat_map(|w| w.to_le_bytes()).collect();
    let source = |body: &str| {
        format!(
            "_start: BSTART.MSEQ 0\nB.TEXT body\nB.IOR [a0,a1],[]\nC.B.DIMI 7, ->lb0\nC.BSTART.STD\nc.movi 0, ->a0\nebreak 0\n\
             body: v.addi lc0.uw, 10, ->vt.w\n{body}\nv.sdi.brg vn#1.ud, [ri1, lc0<<3, 0]\nC.BSTOP"
        )
    };
    let ring = |state: &State| -> Vec<u32> {
        bytes(state, 0, 36).chunks(4).map(|c| u32::from_le_bytes(c.try_into().unwrap())).collect()
    };
    let push = source("v.qpush ri0.ud, vt#1.uw, ->vn.w");
    let (state, trap) = run(&push, &[data.clone(), Vec::new()], Options::default());
    assert_eq!((trap, words(&state, 1, 7)), (None, vec![1, 1, 1, 1, 0, 0, 0]));
    assert_eq!(ring(&state), [2, 1, 5, 0, 13, 0, 10, 11, 12]);
    let pop = source("v.qpop ri0.ud, ->vn.w");
    let (state, _) = run(&pop, &[bytes(&state, 0, 36), Vec::new()], Options::default());
    assert_eq!(words(&state, 1, 7), [10, 11, 12, 13, 0, 0, 0]);
    assert_eq!(ring(&state)[..2], [1, 1]);
    let (state, _) = run(&push, &[vec![0; 36], Vec::new()], Options::default());
    assert_eq!((words(&state, 1, 7), ring(&state)), (vec![0; 7], vec![0; 9]));
}
