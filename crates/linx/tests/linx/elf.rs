//! Compiled programs: ELF executables and objects, the linker, the host, and the conventions of
//! upstream's compiler. Expected values come from upstream's linker, RTL traces and models, or are
//! worked out by hand.

use isa::testing::Rng;
use linx::{Conventions, ElfProgramError, Launch, Linx, Options, Program, State, TileOps, Trap};
use simt::machine::{Machine, Step};
use simt::memory::Addr;

use crate::common::assembled;
use crate::common::elf::{Object, archive, executable};

/// Machine code of a text whose addresses are relative.
fn code(text: &str) -> Vec<u8> {
    assembled(text, TileOps::V04).segments[0].bytes.clone()
}

fn load(bytes: &[u8]) -> Result<Program, ElfProgramError> {
    linx::load_elf(bytes, "test.o", TileOps::V04, None).map(Option::unwrap)
}

fn run(program: &Program, command: &[&str]) -> (State, Option<Trap>) {
    let command = command.iter().map(|&word| word.to_owned()).collect();
    let launch = Launch { command, input: b"abc".to_vec(), ..Launch::default() };
    let mut state = Linx::default().launch(program, launch).unwrap();
    let trap = match Linx::default().run_unobserved(program, &mut state, 100_000) {
        Step::Fault(fault) => Some(fault.cause),
        _ => None,
    };
    (state, trap)
}

fn refused(bytes: &[u8]) -> String {
    load(bytes).expect_err("refused").to_string()
}

/// `main` of one object calls `twice` of another, which reads `number` of the first; the result is
/// the exit code.
fn two_objects() -> (Object, Object) {
    let main = code(
        "FENTRY [ra ~ ra], sp!, 16
         HL.BSTART.STD CALL, .+0
         c.setret after, ->ra
         c.movi 3, ->a0
         after: C.BSTART.STD
         FRET.STK [ra ~ ra], sp!, 16",
    );
    let twice = code(
        "FENTRY [ra ~ ra], sp!, 8
         C.BSTART.STD
         hl.ld.pcr [.+0], ->a1
         c.add a0, a1, ->t
         add t#1, a0, ->a0
         FRET.STK [ra ~ ra], sp!, 8",
    );
    // In the conventions of the compiler a register without a modifier has SrcRType 3.
    let mut twice = twice;
    let add = twice.len() - 8;
    twice[add + 3] |= 6;
    let first = Object {
        text: main,
        data: 100u64.to_le_bytes().to_vec(),
        symbols: vec![
            ("main", Some(0), 0, true),
            ("number", Some(1), 0, false),
            ("twice", None, 0, true),
        ],
        relocations: vec![(4, 5, 2, 0)],
    };
    let second = Object {
        text: twice,
        data: Vec::new(),
        symbols: vec![("twice", Some(0), 0, true), ("number", None, 0, false)],
        relocations: vec![(6, 20, 1, 0)],
    };
    (first, second)
}

#[test]
fn objects_of_an_archive_are_linked() {
    let (first, second) = two_objects();
    let program =
        load(&archive(&[("first.o", first.file()), ("second.o", second.file())])).unwrap();
    let (state, trap) = run(&program, &["program"]);
    assert_eq!((trap, state.host.exit), (None, Some(106)));
    assert_eq!(program.place(0x1_0004).as_deref(), Some("main+0x4"));
    assert_eq!(program.conventions(), Conventions::Compiler);
}

#[test]
fn symbols_that_nothing_defines_are_listed_with_their_places() {
    let (first, second) = two_objects();
    let mut lost = first.clone();
    lost.symbols.push(("neither_this", None, 0, true));
    lost.relocations.push((4, 5, 3, 0));
    let words = refused(&lost.file());
    assert!(words.starts_with("2 symbols are not defined: `twice` (test.o "), "{words}");
    assert!(words.contains("`neither_this` (test.o "), "{words}");
    let twice = archive(&[("a.o", second.file()), ("b.o", second.file()), ("c.o", first.file())]);
    assert_eq!(refused(&twice), "`twice` is defined in a.o and in b.o");
    let no_main = Object {
        symbols: vec![("f", Some(0), 0, true)],
        ..Object { text: first.text, ..Object::default() }
    };
    assert_eq!(refused(&no_main.file()), "the objects define neither `_start` nor `main`");
}

#[test]
fn relocations_that_are_unknown_or_do_not_fit_are_named() {
    let (first, second) = two_objects();
    let with = |kind: u32, addend: i64| {
        let mut first = first.clone();
        first.relocations[0].1 = kind;
        first.relocations[0].3 = addend;
        archive(&[("first.o", first.file()), ("second.o", second.file())])
    };
    let words = refused(&with(77, 0));
    assert!(words.contains("+0x4: there is no relocation of type 77 (against `twice`)"), "{words}");
    let words = refused(&with(5, 1));
    assert!(words.contains("R_LINX_HL_BSTART30_PCREL against `twice`"), "{words}");
    assert!(words.contains("is not a multiple of 2"), "{words}");
    let words = refused(&with(4, 1 << 30));
    assert!(words.contains("does not fit 17 signed bits"), "{words}");
    let mut behind = first.clone();
    behind.relocations[0].0 = 0x1000;
    let words = refused(&archive(&[("f.o", behind.file()), ("s.o", second.file())]));
    assert!(words.contains("the place lies outside the section"), "{words}");
}

#[test]
fn files_that_are_not_programs_are_refused() {
    let start = code("_start: C.BSTART.STD\nebreak 0");
    let text = |entry, address| executable(entry, &[(address, &start, start.len() as u64, 5)]);
    assert!(load(&text(0x1_0000, 0x1_0000)).is_ok());
    let words = refused(&text(0x1_0001, 0x1_0000));
    assert!(words.contains("entry point 0x10001 is outside the executable segments"), "{words}");
    assert!(refused(&text(0x2_0000, 0x1_0000)).contains("outside the executable segments"));
    let words = refused(&text(0x0f00_0000, 0x0f00_0000));
    assert!(words.contains("meets the stack"), "{words}");
    let two = executable(0x1_0000, &[(0x1_0000, &start, 64, 5), (0x1_0020, &start, 64, 6)]);
    assert_eq!(refused(&two), "the ELF file's segments at 0x10000 and 0x10020 overlap");
    let mut other = text(0x1_0000, 0x1_0000);
    other[18] = 243;
    assert!(refused(&other).contains("for machine 243"));
    let mut moved = text(0x1_0000, 0x1_0000);
    moved[16] = 4;
    assert!(refused(&moved).contains("of type 4"));
    let huge = executable(0x1_0000, &[(0x1_0000, &start, 1 << 40, 5)]);
    assert!(refused(&huge).contains("bytes of memory"), "{}", refused(&huge));
    assert!(linx::load_elf(b"text", "x", TileOps::V04, None).unwrap().is_none());
}

/// Files with flipped, cut and repeated bytes are refused, or run to some end.
#[test]
fn damaged_files_never_panic() {
    let (first, second) = two_objects();
    let start = code("_start: C.BSTART.STD\nsdi a0, [sp, -8]\nacrc 1\nebreak 0");
    let files = [
        first.file(),
        archive(&[("first.o", first.file()), ("second.o", second.file())]),
        executable(0x1_0000, &[(0x1_0000, &start, 4096, 5), (0x2_0000, b"data", 0x8000, 6)]),
    ];
    let mut random = Rng::new(11);
    let (mut loaded, mut refused) = (0, 0);
    for round in 0..2400u64 {
        let mut file = files[(round % 3) as usize].clone();
        for _ in 0..1 + random.bits() % 4 {
            let at = random.bits() as usize % file.len();
            match random.bits() % 4 {
                0 => file[at] = random.bits() as u8,
                1 => file[at] ^= 1 << (random.bits() % 8),
                2 => file[at] = 0xff,
                _ if random.bits().is_multiple_of(8) => file.truncate(at + 1),
                _ => file[at] = 0,
            }
        }
        let Ok(Some(program)) = linx::load_elf(&file, "x.o", TileOps::V04, None) else {
            refused += 1;
            continue;
        };
        loaded += 1;
        if let Ok(mut state) = Linx::default().launch(&program, Launch::default()) {
            let _ = Linx::default().run_unobserved(&program, &mut state, 200);
        }
    }
    assert!(loaded > 200 && refused > 200, "{loaded} loaded, {refused} refused");
}

/// The name of a general register.
fn name_of(code: u64) -> String {
    match code {
        0 => "zero".to_owned(),
        1 => "sp".to_owned(),
        2..=9 => format!("a{}", code - 2),
        10 => "ra".to_owned(),
        11..=19 => format!("s{}", code - 11),
        _ => format!("x{}", code - 20),
    }
}

/// A compiled program at an address, with data.
fn compiled(at: u64, code: &[u8], data: &[u8]) -> Program {
    let file = executable(at, &[(at, code, code.len() as u64, 5), (0x40_0000, data, 0x1000, 6)]);
    load(&file).unwrap()
}

/// Instructions of compiled programs give what upstream's RTL committed.
#[test]
fn results_are_those_of_the_rtl() {
    let mut rows = 0;
    for line in include_str!("../data/rtl_results.tsv").lines().filter(|l| !l.starts_with('#')) {
        let cells: Vec<Option<u64>> = line
            .split('\t')
            .map(|c| match c.strip_prefix("0x") {
                Some(hex) => u64::from_str_radix(hex, 16).ok(),
                None => c.parse().ok(),
            })
            .collect();
        let [pc, word, bytes, r0, v0, r1, v1, dst, value] = cells[..] else { panic!("{line}") };
        // Sources are loaded from memory; a queue entry is pushed, the older one first.
        let mut sources: Vec<(u64, u64)> = [r0.zip(v0), r1.zip(v1)].into_iter().flatten().collect();
        sources.sort_by_key(|(register, _)| std::cmp::Reverse(*register));
        let mut before = "C.BSTART.STD\nhl.lis 0x400000, ->x3\n".to_owned();
        let mut data = Vec::new();
        for (k, (register, v)) in sources.iter().enumerate() {
            let name = match register {
                24..=27 => "t".to_owned(),
                28..=31 => "u".to_owned(),
                r => name_of(*r),
            };
            before += &format!("ldi [x3, {}], ->{name}\n", 8 * k);
            data.extend(v.to_le_bytes());
        }
        let dst = dst.unwrap();
        let read = match dst {
            31 => "t#1".to_owned(),
            30 => "u#1".to_owned(),
            r => name_of(r),
        };
        let mut text = code(&before);
        let start = pc.unwrap() - text.len() as u64;
        text.extend(&word.unwrap().to_le_bytes()[..bytes.unwrap() as usize]);
        text.extend(code(&format!("C.BSTOP\nC.BSTART.STD\nc.movr {read}, ->a0\nebreak 0")));
        let (state, trap) = run(&compiled(start, &text, &data), &[]);
        assert_eq!((trap, state.register(2)), (None, value), "{line}");
        rows += 1;
    }
    assert!(rows >= 108, "{rows}");
}

/// FENTRY of upstream's RTL: registers from the frame's upper end downwards, all in its size.
/// FRET.STK restores them and returns to the restored `ra`, FRET.RA to the one before.
#[test]
fn frames_of_compiled_programs() {
    let text = |leave: &str| {
        code(&format!(
            "_start: HL.BSTART.STD CALL, f
             c.setret back, ->ra
             c.movi 5, ->s0
             c.movi 6, ->s1
             back: C.BSTART.STD
             c.movr s0, ->a0
             ebreak 0
             other: C.BSTART.STD
             c.movi 9, ->a0
             ebreak 0
             f: FENTRY [ra ~ s1], sp!, 48
             C.BSTART.STD
             c.movr sp, ->a1
             ldi [sp, 40], ->a2
             ldi [sp, 32], ->a3
             ldi [sp, 24], ->a4
             c.movi 0, ->s0
             {leave}"
        ))
    };
    let stk = text("FRET.STK [ra ~ s1], sp!, 48");
    let (state, trap) = run(&compiled(0x1_0000, &stk, &[]), &[]);
    let sp = state.register(1).unwrap();
    assert_eq!((trap, state.register(2)), (None, Some(5)));
    assert_eq!(state.register(3), Some(sp - 48));
    let saved: Vec<_> = (4..7).map(|r| state.register(r).unwrap()).collect();
    assert_eq!(saved, [0x1_000c, 5, 6]);
    // FRET.RA returns to the `ra` of before, though the frame holds another one.
    let ra =
        text("hl.addtpc 0, ->t\nsubi t#1, 48, ->t\nsdi t#1, [sp, 40]\nFRET.RA [ra ~ s1], sp!, 48");
    let (state, trap) = run(&compiled(0x1_0000, &ra, &[]), &[]);
    assert_eq!((trap, state.register(2)), (None, Some(5)));
    assert_ne!(state.register(10), Some(0x1_000c));
    // A range wraps from the last register to a0: x3, a0.
    let wrapped = code(
        "_start: C.BSTART.STD\nc.movi 3, ->a0\nc.movi 4, ->x3\n\
         FENTRY [x3 ~ a0], sp!, 16\nC.BSTART.STD\nldi [sp, 8], ->a1\nldi [sp, 0], ->a2\nebreak 0",
    );
    let (state, trap) = run(&compiled(0x1_0000, &wrapped, &[]), &[]);
    assert_eq!((trap, state.register(3), state.register(4)), (None, Some(4), Some(3)));
    let small = code("_start: FENTRY [ra ~ s1], sp!, 16\nC.BSTART.STD");
    let (_, trap) = run(&compiled(0x1_0000, &small, &[]), &[]);
    let words = trap.unwrap().to_string();
    assert!(words.contains("a frame of 16 bytes for registers of 24"), "{words}");
}

/// The formal model's frames, which programs in text have: registers ascending from `sp + uimm`,
/// besides the size.
#[test]
fn frames_of_the_text() {
    let source = "_start: C.BSTART.STD
        c.movi 5, ->s0
        c.movi 6, ->s1
        FENTRY [s0 ~ s1], sp!, 16
        C.BSTART.STD
        ldi [sp, 16], ->a1
        ldi [sp, 24], ->a2
        c.movi 0, ->s0
        FEXIT [s0 ~ s1], sp!, 16
        C.BSTART.STD
        c.movr s0, ->a0
        ebreak 0";
    let (state, trap) = crate::common::run(source, &[], Options::default());
    assert_eq!(trap, None);
    let registers: Vec<_> = (2..5).map(|r| state.register(r).unwrap()).collect();
    assert_eq!(registers, [5, 5, 6]);
}

/// Accesses of the 48-bit forms, worked out from the formal model.
#[test]
fn indexed_and_paired_accesses() {
    let words: Vec<u8> = (0..16u64).flat_map(|k| (0x80 + k * 0x101).to_le_bytes()).collect();
    let go = |text: &str| {
        let source = format!(
            "_start: C.BSTART.STD\nc.movr a0, ->s0\n{text}\nC.BSTOP\nC.BSTART.STD\nebreak 0"
        );
        let (state, trap) =
            crate::common::run(&source, std::slice::from_ref(&words), Options::default());
        assert_eq!(trap, None, "{text}");
        let at = crate::common::BASE;
        let registers: Vec<u64> = (3..7).map(|r| state.register(r).unwrap()).collect();
        let memory = crate::common::words(&state, 0, 4);
        (
            registers
                .iter()
                .map(|r| r.wrapping_sub(if (at..at + 4096).contains(r) { at } else { 0 }))
                .collect::<Vec<_>>(),
            memory,
        )
    };
    // Before: the moved address is accessed; after: the base is. Both give the moved address.
    assert_eq!(go("hl.ldi.pr [s0, 8], ->a1, a2").0[..2], [0x181, 8]);
    assert_eq!(go("hl.ldi.po [s0, 8], ->a1, a2").0[..2], [0x80, 8]);
    assert_eq!(go("hl.lbi.po [s0, 1], ->a1, a2").0[..2], [0x80u64.wrapping_sub(0x100), 1]);
    assert_eq!(go("hl.lbui.pr [s0, 8], ->a1, a2").0[..2], [0x81, 8]);
    assert_eq!(go("c.movi 2, ->a3\nhl.ld.pr [s0, a3<<3], ->a1, a2").0[..2], [0x282, 16]);
    assert_eq!(go("c.movi 7, ->a3\nhl.sdi.po a3, [s0, 16], ->a1").0[0], 16);
    assert_eq!(go("c.movi 7, ->a3\nhl.sdi.po a3, [s0, 16], ->a1").1[0], 7);
    assert_eq!(go("c.movi 7, ->a3\nhl.sdi.pr a3, [s0, 16], ->a1").1[2], 7);
    assert_eq!(go("c.movi 1, ->a3\nhl.sd.pr a3, [s0, a3<<3], ->a1").1[1], 1);
    assert_eq!(go("c.movi 8, ->a3\nhl.sd.upr a3, [s0, a3], ->a1").1[1], 8);
    assert_eq!(go("hl.ldip [s0, 16], ->a1, a2").0[..2], [0x282, 0x383]);
    assert_eq!(go("c.movi 1, ->a3\nhl.lhup [s0, a3<<3], ->a1, a2").0[..2], [0x181, 0]);
    assert_eq!(go("c.movi 3, ->a3\nc.movi 4, ->a4\nhl.sdip a3, a4, [s0, 8]").1[1..3], [3, 4]);
    assert_eq!(go("c.movi 1, ->a3\nc.movi 4, ->a4\nhl.sdp a3, a4, [s0, a3<<3]").1[1..3], [1, 4]);
    // A reservation holds for its line, once.
    let reserve = "lr.d [s0], ->a1\nc.movi 9, ->a4\nsc.d a4, [s0], ->a2\nsc.d a4, [s0], ->a3";
    let (registers, memory) = go(reserve);
    assert_eq!((&registers[..3], memory[0]), (&[0x80, 0, 1][..], 9));
    assert_eq!(go("c.movi 9, ->a4\nsc.d a4, [s0], ->a2").1[0], 0x80);
    let far = "addi s0, 64, ->s1\nlr.w [s1], ->a1\nc.movi 9, ->a4\nsc.w a4, [s0], ->a2";
    assert_eq!(go(far).0[1], 1);
    // The old value comes back; memory changes if it is the expected one.
    let swap = "c.movi 9, ->a4\naddi zero, 128, ->a3\nhl.casd [s0], a3, a4, ->a1";
    assert_eq!((go(swap).0[0], go(swap).1[0]), (0x80, 9));
    let keep = "c.movi 9, ->a4\nhl.casd [s0], a4, a4, ->a1";
    assert_eq!((go(keep).0[0], go(keep).1[0]), (0x80, 0x80));
}

/// The remaining 48-bit computations of the formal model.
#[test]
fn long_computations() {
    let go = |text: &str| {
        let source = format!("_start: C.BSTART.STD\n{text}\nC.BSTOP\nC.BSTART.STD\nebreak 0");
        let (state, trap) = crate::common::run(&source, &[], Options::default());
        assert_eq!(trap, None, "{text}");
        (state.register(2).unwrap(), state.register(3).unwrap())
    };
    assert_eq!(go("c.movi 1, ->a2\nc.movi 2, ->a3\nhl.ccat a2, a3, 1, ->a0, a1"), (1 << 63 | 1, 0));
    assert_eq!(
        go("c.movi 1, ->a2\nc.movi 2, ->a3\nhl.ccatw a2, a3, 1, ->a0, a1").0,
        (1u64 << 31 | 1) | 0xffff_ffff << 32
    );
    assert_eq!(
        go("c.movi -2, ->a2\nc.movi 3, ->a3\nc.movi 1, ->a4\nhl.madd a2, a3, a4, ->a0, a1"),
        (-5i64 as u64, u64::MAX)
    );
    assert_eq!(go("c.movi 10, ->a2\nc.movi 3, ->a3\nhl.miadd a2, a3, 7, ->a0").0, 31);
    assert_eq!(go("c.movi 10, ->a2\nc.movi 3, ->a3\nhl.misub a2, a3, 7, ->a0").0, -11i64 as u64);
    // Bits 4 to 7 become those of the right operand.
    let insert = "addi zero, 0xf0f, ->a2\nc.movi 5, ->a3\nhl.bfi a2, a3, 7, 4, ->a0";
    assert_eq!(go(insert).0, 0xf5f);
    assert_eq!(go("c.movi 4, ->a2\nc.movi 3, ->a3\nhl.prf.a [a2, a3<<2], ->a0").0, 16);
}

/// System calls, the console and its exit register, by the numbers of Linux.
#[test]
fn compiled_programs_print_read_and_exit() {
    let text = code(
        "_start: C.BSTART.STD
         ldi [sp, 0], ->s0
         c.movi 0, ->a0
         hl.lis 0x400000, ->a1
         c.movi 3, ->a2
         addi zero, 63, ->a7
         acrc 1
         c.movr a0, ->a2
         c.movi 1, ->a0
         addi zero, 64, ->a7
         acrc 1
         lui 65536, ->t
         addi zero, 33, ->u
         sbi u#1, [t#1, 0]
         addi zero, 1000, ->a7
         acrc 1
         c.movr a0, ->s1
         c.movi 7, ->a0
         swi a0, [t#1, 4]
         ebreak 0",
    );
    let (state, trap) = run(&compiled(0x1_0000, &text, &[0; 8]), &["program", "one", "two"]);
    assert_eq!((trap, state.host.exit), (None, Some(7)));
    assert_eq!(state.host.console.output, b"abc!");
    assert_eq!(state.register(11), Some(3));
    // An unknown call is -ENOSYS.
    assert_eq!(state.register(12), Some(-38i64 as u64));
}

/// Memory on request lies apart, is zero, and ends.
#[test]
fn memory_on_request() {
    let text = code(
        "_start: C.BSTART.STD
         c.movi 0, ->a0
         hl.lis 8192, ->a1
         c.movi 3, ->a2
         addi zero, 0x22, ->a3
         c.movi -1, ->a4
         addi zero, 222, ->a7
         acrc 1
         c.movr a0, ->s0
         sdi a1, [s0, 8184]
         ldi [s0, 0], ->s1
         c.movi 0, ->a0
         addi zero, 214, ->a7
         acrc 1
         c.movr a0, ->s2
         here: sdi a1, [s0, 8192]
         ebreak 0",
    );
    let (state, trap) = run(&compiled(0x1_0000, &text, &[]), &[]);
    let s0 = state.register(11).unwrap();
    assert!(s0 >= 0x2000_0000 && s0.is_multiple_of(4096), "{s0:#x}");
    assert_eq!(state.register(12), Some(0));
    // The break starts behind the last segment.
    assert_eq!(state.register(13), Some(0x40_1000));
    assert_eq!(trap.and_then(|t| t.arg), Some(s0 + 8192));
    let mut byte = [0; 8];
    state.memory.read_bytes(Addr(s0 + 8184), &mut byte).unwrap();
    assert_eq!(u64::from_le_bytes(byte), 8192);
}

/// A state without a store in between is the one before; one that counts is not.
#[test]
fn circles_are_found_by_their_state() {
    let go = |text: &str| {
        let program = Program::from_image(&assembled(text, TileOps::V04), TileOps::V04).unwrap();
        let mut state = Linx::default().launch(&program, Launch::default()).unwrap();
        let _ = Linx::default().run_unobserved(&program, &mut state, 20);
        let mark = state.mark();
        (0..12).any(|_| {
            let step = Linx::default().run_unobserved(&program, &mut state, 1);
            assert!(matches!(step, Step::Issued), "{step:?}");
            state.is_at(&mark)
        })
    };
    let around = |text: &str| format!("_start: C.BSTART.STD DIRECT, _start\n{text}\nC.BSTOP\n");
    assert!(go(&around("c.movi 1, ->a0")));
    assert!(!go(&around("addi a0, 1, ->a0")));
    assert!(!go(&around("c.movi 1, ->t\nsdi t#1, [sp, -8]")));
    assert!(!go(&around("ssrget CYCLE, ->a0")));
}
