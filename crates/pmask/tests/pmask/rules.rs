//! The extension's rules one by one, each test naming the ids that it checks.

use crate::common::{accesses, ends, finish, program, traps};
use isa::FileId;
use pmask::asm::assemble;
use pmask::config::{Config, Level, ZmodeBit};
use pmask::run::End;
use pmask::state::{State, ones};
use pmask::table::table;

const RAM_END: u64 = pmask::machine::RAM_BASE + pmask::machine::DEFAULT_RAM;

/// Windows that step by one for all operands, VL 8.
const LANES: &str =
    "li t0, 0x100\ncsrw svsrca, t0\ncsrw svsrcb, t0\ncsrw svdst, t0\nsvsetvl x0, 8\n";

fn config(set: &[(&str, &str)]) -> Config {
    let mut config = Config::default();
    for (name, value) in set {
        config.set(name, value).unwrap();
    }
    config
}

/// Every operation that takes a bank, for bank `b`, with rd or rs1 where it has one.
fn bank_operations(b: u8) -> Vec<String> {
    let mut out = Vec::new();
    for op in ["pmclr", "pmset", "pmnot"] {
        out.push(format!("{op} {b}"));
    }
    for op in ["pmlow.rd", "pmhigh.rd", "pmany", "pmnone", "pmall", "pmpopcnt"] {
        out.push(format!("{op} {b}, a0"));
        out.push(format!("{op} {b}, zero"));
    }
    for op in ["pmlow.wr", "pmhigh.wr", "pmand", "pmor", "pmxor", "pmandn", "pmmov.to_p0"] {
        out.push(format!("{op} {b}, a1"));
    }
    out.push(format!("bp.any {b}, .+8"));
    out.push(format!("bp.none {b}, .+8"));
    out
}

/// Checks PM-3.2-d, PM-3.2-g, PM-3.3.1-c: every operation on a bank that does not exist traps,
/// taken or not, with nothing changed; on one that exists it does not.
#[test]
fn missing_banks_trap() {
    for banks in 1..=4u8 {
        for b in 0..4u8 {
            for operation in bank_operations(b) {
                let text = format!("li a0, 77\nli a1, 5\n{operation}\nnop\nli a7, 0\necall");
                let config = Config { banks, ..Config::default() };
                if b < banks {
                    finish(&text, config);
                    continue;
                }
                let (cause, value, state) = traps(&text, config);
                let word = assemble(FileId::default(), &operation).unwrap();
                let bytes = &word.segments[0].bytes;
                assert_eq!((cause, value), (2, isa::decode::window(bytes).0), "{operation}");
                assert_eq!((state.x[10], state.masks), (77, Default::default()), "{operation}");
            }
        }
    }
}

/// Checks PM-3.3.2-a, PM-3.3.2-b, PM-3.3.2-c, CAP-2.3-3: bank 0 has evl ones, whatever was executed
/// before.
#[test]
fn bank_0_is_all_ones_for_every_length() {
    for vl in 1..=64u8 {
        let state = ends(&format!(
            "svsetvl x0, {vl}\nli a1, -1\npmclr 0\npmnot 0\npmlow.wr 0, x0\npmhigh.wr 0, x0\npmand 0, x0\npmxor 0, a1\n\
             pmandn 0, a1\npmpopcnt 0, s0\npmlow.rd 0, s1\npmhigh.rd 0, s2\npmall 0, s3\npmnone 0, s4\npmmov.p0 s5"
        ));
        let lanes = ones(vl);
        let seen = [8, 9, 18, 19, 20, 21].map(|i| state.x[i]);
        assert_eq!(seen, [vl.into(), lanes & 0xffff_ffff, lanes >> 32, 1, 0, 0]);
    }
    assert_eq!(ends("pmpopcnt 0, a0").x[10], 64);
}

/// Checks PM-3.1-a, PM-3.1-b, PM-1-a, PM-4.2-b, PM-4.5-b, PM-3.2-e: a machine with P0 alone, mask
/// width 1 included; the algebra on P0 only where it is asked for.
#[test]
fn scalar_only() {
    let text = "li a1, 9\npmmov.to_p0 a1\npmmov.p0 s0\npcmp.lt.s a1, x0\npmmov.p0 s1\npmset 0\npmmov.p0 s2\npmany 0, s3\n\
                li a2, 1\npmor 0, a2\npmmov.p0 s4\npmand 0, x0\npmmov.p0 s5\npmnot 0\npmmov.p0 s6\npmxor 0, a1\npmmov.p0 s7\n\
                li a7, 0\necall";
    let run = |set: &[(&str, &str)]| {
        let state = finish(text, config(set));
        [8, 9, 18, 19, 20, 21, 22, 23].map(|i| state.x[i])
    };
    assert_eq!(run(&[("banks", "1")]), [1, 0, 0, 1, 0, 0, 0, 0]);
    assert_eq!(run(&[("banks", "1"), ("maskw", "1")]), [1, 0, 0, 1, 0, 0, 0, 0]);
    assert_eq!(run(&[("banks", "1"), ("scalar-algebra", "on")]), [1, 0, 0, 1, 1, 0, 1, 0]);
    // With banks the option has no effect.
    assert_eq!(run(&[("scalar-algebra", "on")]), [1, 0, 0, 1, 0, 0, 0, 0]);
}

/// Checks PM-3.1-c, PM-3.3.3-a, PM-3.3.3-b, PM-3.2-b: banks are independent of each other and of
/// P0, as wide as asked for.
#[test]
fn banks_of_every_width() {
    for maskw in [1u8, 8, 16, 32, 64] {
        let config = Config { maskw, ..Config::default() };
        let text = "li a1, -1\nli a2, 0x5a\npmlow.wr 1, a1\npmhigh.wr 1, a1\npmlow.wr 2, a2\npmxor 3, a1\n\
                    pmlow.rd 1, s0\npmhigh.rd 1, s1\npmlow.rd 2, s2\npmnot 2\npmmov.p0 s3\nli a7, 0\necall";
        let state = finish(text, config);
        let m = ones(maskw);
        let seen = [8, 9, 18, 19].map(|i| state.x[i]);
        assert_eq!(seen, [m & 0xffff_ffff, m >> 32, 0x5a & m, 1]);
        assert_eq!(state.masks.banks, [m, !0x5a & m, m]);
    }
}

/// Checks CAP-4.2.1.1-a, CAP-4.2.1.1-b, CAP-4.2.1.1-c, PM-3.3.1-b, PM-3.3.1-d, PM-7.1-c: what
/// discovery says, and that it cannot be written.
#[test]
fn discovery() {
    let read = |c: Config| {
        let text = "li a0, -1\ncsrw 0x7c7, a0\ncsrr s0, 0x7c7\ncsrr s1, 0xfc0\nli a7, 0\necall";
        let state = finish(text, c);
        (state.x[8], state.x[9])
    };
    assert_eq!(read(Config::default()), (0x17, 2 | 0x3c | 64 << 8 | 64 << 16));
    for (banks, expected) in [("1", 0x11), ("2", 0x13), ("3", 0x15), ("4", 0x17)] {
        assert_eq!(read(config(&[("banks", banks)])).0, expected);
    }
    assert_eq!(read(config(&[("pmask", "off")])).0, 0);
    assert_eq!(read(config(&[("pmask", "off")])).1, 0x20 | 64 << 16);
    let lesser = config(&[("level", "m1"), ("maskw", "8"), ("lane-forms", "off"), ("cexp", "off")]);
    assert_eq!(read(lesser).1, 1 | 8 | 8 << 8 | 8 << 16);
    let (cause, ..) = traps("csrw 0xfc0, x0", Config::default());
    assert_eq!(cause, 2);
}

/// Checks CAP-3-a, RSV-3.3-a, CAP-2.3-1, XM-5.0-1: numbers that are not used read zero and ignore
/// writes, the two that once held masks trap.
#[test]
fn unused_registers() {
    for number in 0x7c0..=0x7f7 {
        ends(&format!("li a0, -1\ncsrw {number:#x}, a0\ncsrr a1, {number:#x}"));
    }
    for number in [0x7c3, 0x7c4, 0x7c5, 0x7c8, 0x7d1, 0x7d8, 0x7e0, 0x7ef, 0x7f0, 0x7f5, 0x7fe] {
        let state = ends(&format!("li a0, -1\ncsrw {number:#x}, a0\ncsrr a1, {number:#x}"));
        assert_eq!(state.x[11], 0, "{number:#x}");
    }
    for text in ["csrr a0, 0x7fc", "csrr a0, 0x7fd", "csrw 0x7fc, x0", "csrw 0x7fd, x0"] {
        assert_eq!(traps(text, Config::default()).0, 2);
    }
    // From user mode every one of them traps.
    let user = "la t0, 1f\ncsrw mepc, t0\nli t0, 0x1800\ncsrc mstatus, t0\nmret\n1: csrr a0, 0x7c7";
    assert_eq!(traps(user, Config::default()).0, 2);
}

/// Checks CAP-4-a, CAP-4-b, CAP-5.1.1, CAP-5.2.7: ZMODE needs APPLY0, shows in CAP.PREC.STAT, is
/// merge after reset; both layouts.
#[test]
fn zmode_register() {
    for (bit, at) in [(ZmodeBit::Bit3, 3), (ZmodeBit::Bit11, 11)] {
        let config = Config { zmode_bit: bit, ..Config::default() };
        let text = format!(
            "csrr s0, 0x7d2\nli a0, 1 << {at}\ncsrw 0x7d0, a0\ncsrr s1, 0x7d2\nli a1, 1 << 63\nor a0, a0, a1\n\
             csrw 0x7d0, a0\ncsrr s2, 0x7d2\ncsrr s3, 0x7d0\ncsrw 0x7d0, a1\ncsrr s4, 0x7d2\nli a7, 0\necall"
        );
        let state = finish(&text, config);
        let seen = [8, 9, 18, 19, 20].map(|i| state.x[i]);
        assert_eq!(seen, [0, 0, 1 << 11, 1 << at, 0]);
    }
    let zero = Config { zero: true, ..Config::default() };
    assert_eq!(finish("csrr s0, 0x7d2\nli a7, 0\necall", zero).x[8], 1 << 11);
    let reset = State::new(Config::default(), simt::memory::MemoryMap::new());
    assert!(!reset.rsv.zero && !reset.rsv.first_fault && reset.csr.fflags == 0);
}

/// Checks PM-8-a, RSV-5.2-a: reset, and PBANK that keeps what it can hold.
#[test]
fn reset_and_warl() {
    let state =
        ends("csrr s0, svstate\nli a0, -1\ncsrw svstate, a0\ncsrr s1, svstate\ncsrw svstate, x0");
    assert_eq!(state.x[8], 0);
    assert_eq!(state.x[9], 3 | 3 << 2 | 64 << 8 | 256 << 16 | 3 << 28);
    assert_eq!((state.masks.p0, state.masks.banks), (false, [0; 3]));
    let text = "csrsi svstate, 4\ncsrsi svstate, 8\ncsrr s0, svstate\nli a7, 0\necall";
    assert_eq!(finish(text, config(&[("banks", "2")])).x[8] >> 2 & 3, 1);
    let random = |seed: &str| {
        finish(
            "li a7, 0\necall",
            config(&[("reset-random", seed), ("banks", "3"), ("maskw", "16")]),
        )
    };
    assert_eq!(random("5").masks, random("5").masks);
    assert_ne!(random("5").masks, random("6").masks);
    assert_eq!((random("5").masks.banks[0] >> 16, random("5").masks.banks[2]), (0, 0));
}

/// Checks PM-2.2-a, PM-2.2-d, PM-2.2-e, PM-2.2-g, PM-5-d, CAP-2.3-5, XM-5.0-4: lanes that are off
/// make no access, to whatever their address would be, and raise no flag.
#[test]
fn lanes_that_are_off_touch_nothing() {
    // Per-lane addresses in x8..x15: lanes 1 and 4 valid, the others unmapped or misaligned.
    let addresses = "li x8, 8\nla x9, data\nli x10, 3\nli x11, -1\nla x12, data+8\nli x13, 0x10001\nli x14, 0\nli x15, 5\n";
    let mask = "li t1, 0x12\npmlow.wr 2, t1\ncsrsi svstate, 8\n";
    let data = "\n.data\ndata: .dword 11, 22";
    for access in ["ld x18, 0(x8)", "sd x18, 0(x8)", "fld f16, 0(x8)", "fsd f16, 0(x8)"] {
        let text = format!("{LANES}{addresses}{mask}svon.one\n{access}\nli a7, 0\necall{data}");
        let (seen, outcome) = accesses(&text);
        let at = program(&text).symbol("data").unwrap();
        assert_eq!(seen, [(1, at), (4, at + 8)], "{access}");
        assert_eq!(outcome.end, End::Exit(0));
        let x = outcome.state.x;
        if access.starts_with("ld") {
            assert_eq!([x[18], x[19], x[22], x[23]], [0, 11, 22, 0]);
        }
    }
    // 0 / 0 in a lane that is off raises nothing; in one that is on, NV.
    let divide = |mask: u8| {
        let text = format!(
            "{LANES}li t1, {mask}\npmlow.wr 1, t1\ncsrsi svstate, 4\nfmv.d.x f1, x0\nli t2, 0x3ff\nslli t2, t2, 52\n\
             fmv.d.x f2, t2\nfmv.d.x f10, x0\nfmv.d.x f11, t2\nsvsetvl x0, 2\nsvon.one\nfdiv.d f20, f1, f10\nfrflags a0"
        );
        ends(&text).x[10]
    };
    assert_eq!((divide(0), divide(1), divide(2)), (0, 0x10, 0));
}

/// Checks PM-3.2-c, PM-2.2-c, XM-5.0-2, CAP-2.3-2: the bank that PBANK names predicates, bank 0
/// after reset.
#[test]
fn the_selected_bank_predicates() {
    for (bank, expected) in [(0, 0xff), (1, 0x0f), (2, 0x33), (3, 0x55)] {
        let text = format!(
            "{LANES}csrw svsrca, x0\nla a0, data\nli t1, 0x0f\npmlow.wr 1, t1\nli t1, 0x33\npmlow.wr 2, t1\nli t1, 0x55\n\
             pmlow.wr 3, t1\ncsrsi svstate, {bank} << 2\nsvon.one\nlbu x16, 0(a0)\nli a7, 0\necall\n.data\ndata: .byte 1, 1, 1, 1, 1, 1, 1, 1"
        );
        let state = finish(&text.replace("li a7, 0", "mv s0, a7\nli a7, 0"), Config::default());
        // a7 is lane 1 of the window: s0 has its value.
        let lanes: u64 =
            (0..8).map(|i| if i == 1 { state.x[8] } else { state.x[16 + i] } << i).sum();
        assert_eq!(lanes, expected);
    }
}

/// Checks PM-2.2-i: with no lane on, an instruction retires; only ZMODE shows.
#[test]
fn no_lane_on() {
    for zero in [false, true] {
        let config = Config { zero, ..Config::default() };
        let text = format!(
            "{LANES}pmclr 1\ncsrsi svstate, 4\nli x20, 7\nli x8, 1\nsvon.one\nld x20, 0(x8)\nli a7, 0\necall"
        );
        let state = finish(&text, config);
        assert_eq!(state.x[20], if zero { 0 } else { 7 });
        assert!(!state.rsv.enabled);
        let slots = state.slots;
        assert_eq!((slots.vector_issues, slots.width, slots.masked_off), (1, 8, 8));
    }
}

/// Checks PM-2.1-c for every format: zero of an f register is zero of the destination's format.
#[test]
fn zeroed_lanes_of_every_format() {
    let config = Config { zero: true, ..Config::default() };
    let run = |instruction: &str| {
        let text = format!(
            "{LANES}svsetvl x0, 1\npmclr 1\ncsrsi svstate, 4\nli t1, -1\nfmv.d.x f20, t1\nli x20, 5\nla a0, data\n\
             svon.one\n{instruction}\nli a7, 0\necall\n.data\ndata: .dword -1"
        );
        let state = finish(&text, config);
        (state.x[20], state.f[20])
    };
    let boxed = 0xffff_ffff_0000_0000;
    assert_eq!(run("fadd.s f20, f1, f1").1, boxed);
    assert_eq!(run("flw f20, 0(a0)").1, boxed);
    assert_eq!(run("fcvt.s.d f20, f1").1, boxed);
    assert_eq!(run("fadd.d f20, f1, f1").1, 0);
    assert_eq!(run("fld f20, 0(a0)").1, 0);
    assert_eq!(run("fcvt.d.s f20, f1").1, 0);
    assert_eq!(run("fle.s x20, f1, f1").0, 0);
    assert_eq!(run("lw x20, 0(a0)").0, 0);
    assert_eq!(run("svcompress x20, x8").0, 0);
}

/// Checks PM-3.4-b, RSV-9-a: an override of ZMODE holds for one affected instruction, whatever
/// scalar ones come between.
#[test]
fn zmode_override() {
    let state = ends(&format!(
        "{LANES}pmclr 1\ncsrsi svstate, 4\nli x8, 1\nli x20, 7\nli x21, 7\nsvsetvl x0, 1\nsvon.fpctl rne, 0, 1\nsvon.blk 2\n\
         csrr t2, 0x7d2\naddi x20, x8, 1\naddi x21, x8, 1\ncsrr t1, 0x7d2"
    ));
    assert_eq!((state.x[20], state.x[21]), (0, 7));
    assert_eq!((state.x[7], state.x[6]), (0, 0));
    // rc overrides the dynamic rounding mode, not one that the instruction names.
    let round = |text: &str| {
        let state = ends(&format!(
            "{LANES}svsetvl x0, 1\nli t1, 0x3ff4000000000000\nfmv.d.x f1, t1\nsvon.fpctl rup, 0, 0\nsvon.one\n{text}\nfcvt.l.d a1, f1"
        ));
        (state.x[10], state.x[11])
    };
    assert_eq!(round("fcvt.l.d a0, f1"), (2, 1));
    assert_eq!(round("fcvt.l.d a0, f1, rtz"), (1, 1));
}

/// Checks RSV-7-a: how long lanes stay enabled, and what uses them up.
#[test]
fn lifetime_of_lanes() {
    let count = |text: &str| {
        let state = ends(&format!("{LANES}svsetvl x0, 2\n{text}\nsvend"));
        state.slots.vector_issues
    };
    assert_eq!(count("svon.one\naddi x16, x16, 1\naddi x16, x16, 1"), 1);
    assert_eq!(count("svon.blk 2\naddi x16, x16, 1\naddi x16, x16, 1\naddi x16, x16, 1"), 2);
    assert_eq!(count("svon.blk 3\naddi x16, x16, 1\nsvend\naddi x16, x16, 1"), 1);
    // Branches, CSRs, mask operations, AUIPC and prefixes run once and use up nothing.
    let between = "svon.one\nbeq x0, x0, 1f\n1: csrr t1, svstate\npmset 1\nauipc t1, 0\npmpopcnt 1, t1\npsel t1, t1, t1\n";
    assert_eq!(count(&format!("{between}addi x16, x16, 1\naddi x16, x16, 1")), 1);
    assert_eq!(count("svp.one.vlstep 2, 1, 1\nadd x16, x8, x8\nadd x16, x8, x8"), 1);
    // A compressed instruction is lane-wise exactly if its expansion is.
    assert_eq!(count("svon.one\nc.nop\nc.addi x16, 1"), 1);
    assert_eq!(count("svon.one\nc.j 1f\n1: c.addi x16, 1\nc.addi x16, 1"), 1);
    let state = ends(&format!("{LANES}svsetvl x0, 3\nsvon.one\nc.addi x18, 5"));
    assert_eq!(state.x[18..22], [5, 5, 5, 0]);
}

/// Checks RSV-8-b: without lanes, a fault leaves SVFAULTI.
#[test]
fn scalar_faults_leave_the_index() {
    let (cause, value, state) =
        traps("li a0, 6\ncsrw svfaulti, a0\nld a1, 0(x0)", Config::default());
    assert_eq!((cause, value, state.rsv.fault_index), (5, 0, 6));
}

/// Checks RSV-8-a: a fault in lane k stops there, and the instruction starts again after the
/// handler. The handler itself does not run lane by lane.
#[test]
fn faults_in_lanes_restart() {
    // Lane 2's address is bad; the handler puts in a good one.
    let state = ends(&format!(
        "la t0, handler\ncsrw mtvec, t0\n{LANES}svsetvl x0, 4\nla x8, data\naddi x9, x8, 8\nli x10, 1 << 40\naddi x11, x8, 24\n\
         svon.blk 2\nld x24, 0(x8)\naddi x24, x24, 1\nj 9f\n\
         handler: csrr s4, svfaulti\ncsrr s5, mtval\ncsrr s6, mcause\ncsrr s7, svstate\naddi x10, x8, 16\naddi x28, x28, 1\nmret\n\
         .data\ndata: .dword 1, 2, 3, 4\n.text\n9: csrw mtvec, x0"
    ));
    assert_eq!([20, 21, 22].map(|i| state.x[i]), [2, 1 << 40, 5]);
    // EN and ONE_SHOT are off in the handler, EN saved, the block kept.
    assert_eq!(state.x[23] & 0x3fff_0003, 2 << 16 | 1 << 28);
    assert_eq!((state.x[24..28].to_vec(), state.x[28]), (vec![2, 3, 4, 5], 1));
}

/// Checks PM-2.2-f, XM-N3: first-fault looks at true lanes alone, and later lanes are not accessed.
#[test]
fn first_fault_ignores_false_lanes() {
    let addresses = "li x8, 0\nla x9, data\nli x10, 0\nli x11, 0\nla x12, data\n";
    let text = format!(
        "{LANES}svsetvl x0, 5\n{addresses}li t1, 0x1a\npmlow.wr 1, t1\ncsrsi svstate, 4\ncsrsi svmscl, 16\n\
         svon.one\nld x20, 0(x8)\ncsrr a0, svfaulti\nli a7, 0\necall\n.data\ndata: .dword 9"
    );
    let (seen, outcome) = accesses(&text);
    assert_eq!(outcome.state.x[10], 3);
    assert_eq!(seen.iter().map(|s| s.0).collect::<Vec<_>>(), [1, 3]);
    assert_eq!(outcome.state.x[20..25], [0, 9, 0, 0, 0]);
    // Stores ignore first-fault.
    let (cause, _, state) = traps(&text.replace("ld x20", "sd x20"), Config::default());
    assert_eq!((cause, state.rsv.fault_index), (7, 3));
}

/// Checks PM-4.6.2-b, PM-4.2-a, PM-4.3-b: all comparisons, none of which touches a bank.
#[test]
fn comparisons() {
    let values: [u64; 5] = [0, 1, u64::MAX, 1 << 63, (1 << 63) - 1];
    type Holds = fn(u64, u64) -> bool;
    let table: [(&str, Holds); 12] = [
        ("eq.u", |a, b| a == b),
        ("ne.u", |a, b| a != b),
        ("lt.u", |a, b| a < b),
        ("le.u", |a, b| a <= b),
        ("gt.u", |a, b| a > b),
        ("ge.u", |a, b| a >= b),
        ("eq.s", |a, b| a == b),
        ("ne.s", |a, b| a != b),
        ("lt.s", |a, b| (a as i64) < b as i64),
        ("le.s", |a, b| a as i64 <= b as i64),
        ("gt.s", |a, b| a as i64 > b as i64),
        ("ge.s", |a, b| a as i64 >= b as i64),
    ];
    for (name, holds) in table {
        let mut text = "pmset 1\n".to_owned();
        for a in values {
            for b in values {
                text += &format!(
                    "li a0, {a:#x}\nli a1, {b:#x}\npcmp.{name} a0, a1\npmmov.p0 a2\nslli s0, s0, 1\nor s0, s0, a2\n"
                );
            }
        }
        let state = ends(&text);
        let mut expected = 0;
        for a in values {
            for b in values {
                expected = expected << 1 | u64::from(holds(a, b));
            }
        }
        assert_eq!(state.x[8], expected, "{name}");
        assert_eq!(state.masks.banks, [u64::MAX, 0, 0]);
    }
}

/// Checks PM-4.7-a, PM-4.8-a, PM-4.8-c, PM-4.8-d, PM-7.1-a, PM-7.1-b.
#[test]
fn select_and_branches() {
    let state = ends(
        "li a0, 1\nli a1, 2\npmmov.to_p0 a0\npsel a0, a0, a1\npsel x0, a0, a1\npmmov.to_p0 x0\npsel a1, a0, a1",
    );
    assert_eq!((state.x[10], state.x[11]), (1, 2));
    // The fused forms are the reduction and a branch, P0 staying.
    for mask in [0u64, 1, 0x100, 0x1ff] {
        let fused = format!(
            "svsetvl x0, 8\nli a1, {mask}\npmlow.wr 2, a1\nbp.any 2, 1f\nli s0, 1\n1: bp.none 2, 2f\nli s1, 1\n2: pmmov.p0 s2"
        );
        let plain = format!(
            "svsetvl x0, 8\nli a1, {mask}\npmlow.wr 2, a1\npmany 2, a2\nbnez a2, 1f\nli s0, 1\n1: pmnone 2, a2\nbnez a2, 2f\nli s1, 1\n2: pmmov.p0 s2"
        );
        assert_eq!(ends(&fused).x[8..10], ends(&plain).x[8..10], "{mask:#x}");
        assert_eq!(ends(&fused).x[18], 0);
    }
    let off = config(&[("fused-branches", "off")]);
    assert_eq!(traps("bp.any 0, .+8", off).0, 2);
    let m1 = Config { level: Level::M1, ..Config::default() };
    assert_eq!(traps("bp.none 0, .+8", m1).0, 2);
    // To both ends of the range.
    let far = format!(
        "j 2f\n1: li s0, 3\nj 9f\n.org {:#x}\n2: pmset 1\nbp.f 1b\nbp.t 3f\n.org {:#x}\n3: bp.t 1b\n9:",
        0x8000_0800u64, 0x8000_0ff8u64
    );
    assert_eq!(ends(&far).x[8], 3);
}

/// Checks PM-3.2-f: `.level m1` warns of what is above it.
#[test]
fn levels_are_warned_of() {
    let text = "pmnot 1\n.level m1\npmset 1\npmnot 1\nbp.any 1, .\n.level m2\npmnot 1";
    let image = assemble(FileId::default(), text).unwrap();
    let warned: Vec<&str> = image.warnings.iter().map(|d| d.message.as_str()).collect();
    assert_eq!(warned, ["`pmnot` is not in level m1", "`bp.any` is not in level m1"]);
    assert!(assemble(FileId::default(), ".level m3").is_err());
}

/// The two examples of the extension's text, as printed there.
#[test]
fn the_examples_as_printed() {
    let text = "li t0, 5\nli t2, 1\n\
        pmlow.wr  pbank=2, t0\npmhigh.wr pbank=2, t1\npmlow.wr  pbank=3, t2\npmhigh.wr pbank=3, t3\n\
        bp.any pbank=2, %do_tail\nli s0, 1\nbp.none pbank=3, %done\nli s0, 2\ndo_tail: li s1, 1\ndone:";
    let state = ends(text);
    assert_eq!((state.x[8], state.x[9], state.masks.banks), (0, 1, [0, 5, 1]));

    // A ray along x from the origin, and a box ahead of it or beside it.
    let ray = |box_y: &str| {
        format!(
            "la a0, ray\nRT.BBOX  imm=(1<<2) /*PACK_HINT*/, rs1=a0, rd=a1\nbep  nz, %skip_hit\nli s0, 1\nskip_hit: li a7, 0\necall\n\
            .data\nray: .float 0, 0, 0, 1, 0, 0, 0, 100\n.float 2, {box_y}, -1\n.float 4, 3, 1"
        )
    };
    let with_rt = config(&[("rt", "on")]);
    let hit = finish(&ray("-1"), with_rt);
    assert_eq!((hit.masks.p0, hit.x[8]), (true, 0));
    assert_eq!(hit.x[11], u64::from(2f32.to_bits()) | u64::from(4f32.to_bits()) << 32);
    let miss = finish(&ray("1"), with_rt);
    assert_eq!((miss.masks.p0, miss.x[8]), (false, 1));
    assert_eq!(traps(&ray("1"), Config::default()).0, 2);
}

/// Tests with a bank exist only where they are asked for.
#[test]
fn tests_with_a_bank() {
    let text = "li a0, 1\npcmp.lt.s 2, x0, a0\nptestnz 3, a0, x0\nli a7, 0\necall";
    assert_eq!(traps(text, Config::default()).0, 2);
    let state = finish(text, config(&[("pcmp-bank", "on")]));
    assert_eq!((state.masks.p0, state.masks.banks), (false, [0, 1, 0]));
}

/// Checks CEXP-d.
#[test]
fn a_profile_that_is_absent_traps() {
    let off = config(&[("cexp", "off")]);
    for text in ["svcompress a0, a1", "svexpand a0, a1", "svpopcnt.pm a0"] {
        assert_eq!(traps(text, off).0, 2);
        ends(text);
    }
}

/// Checks PM-4.1-a: every PMASK form is under custom-1.
#[test]
fn all_under_custom_1() {
    let pmask = table().forms().iter().filter(|f| f.attribute("group") == Some("pmask"));
    let mut count = 0;
    for form in pmask {
        assert_eq!((form.mask & 0x7f, form.pattern & 0x7f), (0x7f, 0x2b), "{}", form.name);
        count += 1;
    }
    assert_eq!(count, 48);
}

/// A wide load that crosses the end of memory, and lanes in user mode.
#[test]
fn the_end_of_memory() {
    let (cause, value, _) =
        traps(&format!("li a0, {:#x}\nld a1, 0(a0)", RAM_END - 4), Config::default());
    assert_eq!((cause, value), (5, RAM_END - 4));
}
