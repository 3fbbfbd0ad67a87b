//! The RISC-V base: traps, privilege, counters, host interfaces, compressed instructions,
//! pseudo-instructions.

use crate::common::{ends, finish, outcome, program, traps};
use pmask::machine::LaunchError;
use pmask::program::Segment;
use pmask::run::{End, run};
use pmask::{Config, Launch, Pmask, Program};
use simt::slots::SlotCause;

#[test]
fn immediates_of_every_size() {
    let mut rng = isa::testing::Rng::new(1);
    for i in 0..400u32 {
        let value = match i {
            0..64 => 1u64 << i,
            64..128 => (1u64 << (i - 64)).wrapping_sub(1),
            128..192 => (1u64 << (i - 128)).wrapping_neg(),
            _ => rng.bits() >> (i % 64) ^ (u64::from(i % 3 == 0) * u64::MAX),
        };
        assert_eq!(ends(&format!("li a0, {value:#x}")).x[10], value);
    }
    let state = ends(
        "la a0, there\nld a1, there\ncall f\nj 9f\nf: li a2, 3\nret\n.data\nthere: .dword 77\n.text\n9:",
    );
    assert_eq!((state.x[10], state.x[11], state.x[12]), (0x8020_0000, 77, 3));
}

#[test]
fn traps_and_modes() {
    // An illegal instruction in user mode: cause, place, word, and back behind it.
    let state = ends(
        "la t0, handler\ncsrw mtvec, t0\nla t0, user\ncsrw mepc, t0\nli t0, 0x1800\ncsrc mstatus, t0\nmret\n\
         user: li s0, 1\ncsrw mscratch, s0\nli s0, 2\necall\n\
         .balign 4\nhandler: csrr t0, mcause\nslli s1, s1, 8\nor s1, s1, t0\ncsrr s2, mstatus\nli t1, 8\nbeq t0, t1, out\n\
         csrr s3, mtval\ncsrr t0, mepc\naddi t0, t0, 4\ncsrw mepc, t0\nmret\nout: csrw mtvec, x0",
    );
    assert_eq!((state.x[8], state.x[9]), (2, 0x208));
    assert_eq!(state.x[18] >> 11 & 3, 0);
    assert_eq!(state.x[19], 0x3404_1073);
    assert_eq!(state.mode, pmask::state::Mode::Machine);
    // mret and CSRs of machine mode are illegal in user mode; so is wfi with TW.
    let user = |text: &str| {
        let text = format!(
            "la t0, user\ncsrw mepc, t0\nli t0, 0x1800\ncsrc mstatus, t0\nli t0, 1 << 21\ncsrs mstatus, t0\nmret\nuser: {text}"
        );
        traps(&text, Config::default()).0
    };
    assert_eq!(
        ["mret", "wfi", "csrr a0, mepc", "csrr a0, cycle", "csrr a0, svstate"].map(user),
        [2; 5]
    );
    assert_eq!(user("li a7, 5\necall"), 8);
}

#[test]
fn memory_protection() {
    // User mode may run and read the first 4 KiB of text, and write nothing.
    let user = |text: &str| {
        let text = format!(
            "li t0, 0x200001ff\ncsrw pmpaddr0, t0\nli t0, 0x1d\ncsrw pmpcfg0, t0\nla t0, user\ncsrw mepc, t0\n\
             li t0, 0x1800\ncsrc mstatus, t0\nmret\nuser: la a0, .\n{text}"
        );
        traps(&text, Config::default()).0
    };
    assert_eq!(user("ld a1, 0(a0)\nli a7, 5\necall"), 8);
    assert_eq!(user("sd a1, 0(a0)"), 7);
    assert_eq!(user("amoadd.w a1, a1, (a0)"), 7);
    assert_eq!(user("lui a1, 0x1\nadd a0, a0, a1\nlw a1, 0(a0)"), 5);
    assert_eq!(user("lui a1, 0x1\nadd a0, a0, a1\njr a0"), 1);
    // With MPRV, machine mode's data accesses are judged as user mode's.
    let text = "csrw pmpcfg0, x0\nli t0, 0x1800\ncsrc mstatus, t0\nli t0, 1 << 17\ncsrs mstatus, t0\nla a0, .\nlw a0, 0(a0)";
    assert_eq!(traps(text, Config::default()).0, 5);
}

#[test]
fn counters() {
    let state = ends(
        "csrr a0, instret\nnop\nnop\ncsrr a1, instret\ncsrwi minstret, 0\ncsrr a2, minstret\ncsrwi mcountinhibit, 5\n\
        csrr a3, minstret\ncsrr a4, minstret\ncsrr a5, mcycle\ncsrr a6, mcycle\ncsrwi mcountinhibit, 0",
    );
    assert_eq!(state.x[11] - state.x[10], 3);
    assert_eq!((state.x[12], state.x[13], state.x[15]), (0, state.x[14], state.x[16]));
    assert_eq!(traps("csrw instret, x0", Config::default()).0, 2);
}

#[test]
fn floating_point_state() {
    assert_eq!(traps("li t0, 0x6000\ncsrc mstatus, t0\nfadd.s f0, f0, f0", Config::default()).0, 2);
    assert_eq!(traps("csrwi frm, 5\nfadd.s f0, f0, f0", Config::default()).0, 2);
    // What is not boxed reads as a NaN; a write makes the state dirty.
    let state = ends(
        "li t0, 0x3f800000\nfmv.d.x f1, t0\nfclass.s a0, f1\nfmv.w.x f1, t0\nfclass.s a1, f1\ncsrr a2, mstatus",
    );
    assert_eq!((state.x[10], state.x[11]), (1 << 9, 1 << 6));
    assert_eq!(state.x[12] >> 63, 1);
}

#[test]
fn code_that_changes_itself() {
    let state = ends(
        "la t0, 1f\nla t1, 2f\nlw t1, 0(t1)\n1: li a0, 1\nsw t1, 0(t0)\nfence.i\naddi s0, s0, 1\nli t2, 2\nblt s0, t2, 1b\nj 9f\n2: addi a0, zero, 7\n9:",
    );
    assert_eq!(state.x[10], 7);
}

/// Code that has run is changed without `fence.i`, by every kind of write, and runs as it stands
/// then.
#[test]
fn fetches_see_all_earlier_stores() {
    // `addi a0, zero, 7` is 00700513.
    for store in [
        "li t1, 0x00700513\nsw t1, 0(t0)",
        "li t1, 0x0070\nsh t1, 2(t0)",
        "li t1, 0x70\nsb t1, 2(t0)",
        "ld t1, -4(t0)\nli t2, 0x00600000\nslli t2, t2, 32\nadd t1, t1, t2\nsd t1, -4(t0)",
        "li t1, 0x00600000\namoadd.w t1, t1, (t0)",
        "lr.w t1, (t0)\nli t1, 0x00700513\nsc.w t1, t1, (t0)",
        "li a7, 63\nli a0, 0\nmv a1, t0\nli a2, 4\necall",
    ] {
        let text = format!(
            "j 0f\n.balign 4\nnop\n1: addi a0, zero, 1\nret\n0: la t0, 1b\ncall 1b\nmv s0, a0\n{store}\n\
             la t0, 1b\ncall 1b\nmv s1, a0\nli a7, 93\nli a0, 0\necall"
        );
        let launch = Launch { input: 0x0070_0513u32.to_le_bytes().into(), ..Launch::default() };
        let result = run(&Pmask::default(), &program(&text), launch, 1000).unwrap();
        assert_eq!(result.end, End::Exit(0), "{store}");
        assert_eq!((result.state.x[8], result.state.x[9]), (1, 7), "{store}");
    }
}

#[test]
fn host_interfaces() {
    // HTIF: console device, system call block, exit.
    let text = "la t0, tohost\nli t1, 0x0101000000000041\nsd t1, 0(t0)\nla t1, block\nsd t1, 0(t0)\nld a1, block\nld a2, fromhost\n\
        li t1, 7\nsw t1, 0(t0)\n1: j 1b\n.data\ntohost: .dword 0\nfromhost: .dword 0\nblock: .dword 64, 1, text, 3\ntext: .ascii \"xyz\"";
    let result = outcome(text, Config::default());
    assert_eq!(result.end, End::Exit(3));
    assert_eq!(result.state.host.console.output, b"Axyz");
    assert_eq!(result.state.x[11], 3);
    // Semihosting: write, read, exit with a code.
    let call = "slli x0, x0, 0x1f\nebreak\nsrai x0, x0, 7\n";
    let text = format!(
        "li a0, 4\nla a1, text\n{call}li a0, 7\n{call}mv s0, a0\nli a0, 5\nla a1, write\n{call}mv s1, a0\nli a0, 0x20\nla a1, exit\n{call}\
         .data\ntext: .asciz \"hi \"\n.balign 8\nwrite: .dword 1, text, 2\nexit: .dword 0x20026, 42"
    );
    let launch = Launch { input: b"k".to_vec(), ..Launch::default() };
    let result = run(&Pmask::default(), &program(&text), launch, 1000).unwrap();
    assert_eq!(result.end, End::Exit(42));
    assert_eq!(result.state.host.console.output, b"hi hi");
    assert_eq!((result.state.x[8], result.state.x[9]), (u64::from(b'k'), 0));
    // Calls of a program without a handler.
    let text = "li a7, 63\nli a0, 0\nla a1, buffer\nli a2, 9\necall\nmv a2, a0\nli a0, 1\nli a7, 64\necall\nli a7, 93\nli a0, -1\necall\n.bss\nbuffer: .space 16";
    let launch = Launch { input: b"echo".to_vec(), ..Launch::default() };
    let result = run(&Pmask::default(), &program(text), launch, 1000).unwrap();
    assert_eq!(
        (result.end, result.state.host.console.output.as_slice()),
        (End::Exit(-1), b"echo".as_slice())
    );
}

#[test]
fn atomics() {
    let state = finish(
        "la a0, word\nli a1, -5\namoadd.w a2, a1, (a0)\nlw a3, 0(a0)\namomaxu.w a4, x0, (a0)\namomin.d.aqrl a5, x0, (a0)\n\
         lr.d s0, (a0)\nsc.d s1, a1, (a0)\nsc.d s2, a1, (a0)\nld s3, 0(a0)\nli a7, 0\necall\n.data\n.balign 8\nword: .dword 3",
        Config::default(),
    );
    assert_eq!((state.x[12], state.x[13] as i64), (3, -2));
    assert_eq!((state.x[9], state.x[18], state.x[19] as i64), (0, 1, -5));
    // Under RSV an atomic has no meaning.
    assert_eq!(traps("la a0, .\nsvon.one\namoadd.w a1, a1, (a0)", Config::default()).0, 2);
}

/// Lane slots: scalar instructions are uniform, lane-wise ones have VL slots, those that a bank
/// turns off masked.
#[test]
fn where_lanes_went() {
    let state = ends(
        "svsetvl x0, 8\nli a1, 0x0f\npmlow.wr 1, a1\ncsrsi svstate, 4\nsvon.blk 2\naddi x20, x20, 1\naddi x20, x20, 1",
    );
    let slots = state.slots;
    assert_eq!((slots.vector_issues, slots.width, slots.masked_off), (2, 16, 8));
    assert_eq!((slots.of(SlotCause::On), slots.of(SlotCause::PredicatedOff)), (8, 8));
    assert_eq!(slots.issues(), state.cycles);
}

/// Listings can be taken by an assembler that knows nothing of the extension.
#[test]
fn insn_lines() {
    for (word, line) in [
        (0x8010_202b, ".insn r 0x2b, 2, 0x40, x0, x0, x1"),
        (0xfe20_fcab, ".insn b 0x2b, 7, x1, x2, .-8"),
        (0x8090_400b, ".insn i 0xb, 4, x0, x0, -2039"),
        (0x0000_0013, ".4byte 0x00000013"),
    ] {
        assert_eq!(pmask::asm::insn_line(word), line);
    }
}

/// A stack behind a segment outside main memory, as C libraries lay it out, and further memory.
#[test]
fn memory_outside_main_memory() {
    let text = "_start: li t0, 0x20001ff8\nsd t0, 0(t0)\nli a7, 93\nli a0, 7\necall\n";
    let outside = Segment { address: 0x2000_0010, bytes: vec![1], size: 24 };
    let mut program = program(text);
    program.segments.push(outside);
    let end = |program: &Program, map: &[(u64, u64)]| {
        let launch = Launch { map: map.to_vec(), ..Launch::default() };
        run(&Pmask::default(), program, launch, 100).map(|outcome| outcome.end)
    };
    let faults = |end: Result<End, LaunchError>| matches!(end, Ok(End::Fault(_)));
    let good = |end: Result<End, LaunchError>| matches!(end, Ok(End::Exit(7)));
    assert!(faults(end(&program, &[])));
    assert!(good(end(&program, &[(0x2000_1000, 0x1000)])));
    assert!(good(end(&program, &[(0x1fff_0000, 0x2_0000), (0x2000_1ff8, 8)])));
    assert!(faults(end(&program, &[(0x2000_2000, 0x1000)])));
    let wrong = end(&program, &[(u64::MAX, 2)]);
    assert!(matches!(wrong, Err(LaunchError::Range { address: u64::MAX, size: 2 })));

    program.symbols.insert("__stack".to_owned(), 0x2000_2000);
    assert!(good(end(&program, &[])));
    program.symbols.insert("__stack".to_owned(), 0x2000_1ff0);
    assert!(faults(end(&program, &[])));
    // Too far from any segment.
    program.symbols.insert("__stack".to_owned(), 0x6000_0000);
    assert!(faults(end(&program, &[])));
}
