//! What a user can put in a file or in guest memory: an error with its place, or an end, never a
//! panic.

use crate::common::{outcome, traps};
use isa::FileId;
use isa::testing::{Rng, random_bytes, round_trip, token_soup};
use pmask::asm::assemble;
use pmask::decode::decode;
use pmask::machine::{LaunchError, RAM_BASE};
use pmask::op::Op;
use pmask::program::LoadError;
use pmask::run::{End, run};
use pmask::table::{dialect, table};
use pmask::{Config, Launch, Level, Pmask, Program};

fn elf() -> Vec<u8> {
    let path = format!("{}/../../kernels/pmask/sieve/sieve.elf", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(path).unwrap()
}

#[test]
fn garbage_files() {
    let load = |bytes: &[u8]| Program::load(bytes, FileId::default());
    assert!(matches!(load(b"\x7fELF"), Err(LoadError::Elf(isa::elf::ElfError::Damaged(_)))));
    assert!(matches!(load(b"a\xff"), Err(LoadError::NotText { byte: 0xff, offset: 1 })));
    assert!(matches!(load(b"frobnicate"), Err(LoadError::Text(_))));
    let good = elf();
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        load(&bytes)
    };
    // Class, byte order, machine, type.
    for (at, byte) in [(4, 1), (18, 62), (16, 1), (16, 3)] {
        assert!(
            matches!(with(at, byte), Err(LoadError::Elf(isa::elf::ElfError::Wrong { .. }))),
            "{at}"
        );
    }
    assert!(load(&good[..200]).is_err());
    let mut rng = Rng::new(1);
    for _ in 0..2000 {
        let mut bytes = good.clone();
        for _ in 0..1 + rng.below(6) {
            let most = if rng.below(2) == 0 { 0x100 } else { bytes.len() as u64 };
            let at = rng.below(most) as usize;
            bytes[at] = rng.bits() as u8;
        }
        bytes.truncate(1 + rng.below(2 * bytes.len() as u64) as usize);
        if let Ok(program) = load(&bytes) {
            // Whatever it is, it runs into something.
            let launch = Launch { ram: 1 << 20, ..Launch::default() };
            let _ = run(&Pmask::default(), &program, launch, 2000);
        }
    }
}

#[test]
fn impossible_segments() {
    let launch = |address, size| {
        let segment = pmask::program::Segment { address, bytes: Vec::new(), size };
        let program = Program { segments: vec![segment], ..Program::default() };
        run(&Pmask::default(), &program, Launch::default(), 1).map(|_| ())
    };
    assert!(matches!(launch(u64::MAX - 3, 8), Err(LaunchError::Segment { .. })));
    assert!(matches!(launch(0, 1 << 50), Err(LaunchError::Memory(_))));
    assert!(matches!(launch(0x1_0000_0000, 64), Err(LaunchError::Memory(_))));
    assert!(launch(0x1000, 64).is_ok());
    let ram = Launch { ram: u64::MAX, ..Launch::default() };
    assert!(run(&Pmask::default(), &Program::default(), ram, 1).is_err());
}

#[test]
fn wild_jumps_and_loops() {
    let default = Config::default();
    for (text, cause, value) in [
        ("li a0, 0x10\njr a0", 1, 0x10),
        ("li a0, -2\njr a0", 1, u64::MAX - 1),
        ("li a0, 0x800000000001\njr a0", 1, 0x8000_0000_0000),
        (".word 0", 2, 0),
        ("ebreak", 3, RAM_BASE),
        ("li a7, 1234\necall", 11, 0),
        ("li a0, -1\nlw a1, 0(a0)", 5, u64::MAX),
        ("sd a1, 0(x0)", 7, 0),
        ("lr.w a0, (a0)", 5, 0),
        ("li a0, 2\nsc.w a0, a0, (a0)", 6, 2),
        ("li a0, 2\namoadd.d a0, a0, (a0)", 6, 2),
    ] {
        let (c, v, _) = traps(text, default);
        assert_eq!((c, v), (cause, value), "{text}");
    }
    let misaligned = Config { misaligned_trap: true, ..default };
    assert_eq!(traps("la a0, .\nlw a1, 1(a0)", misaligned).0, 4);
    assert_eq!(traps("la a0, .\nsw a1, 1(a0)", misaligned).0, 6);
    // A handler that traps at once, and loops that change nothing, are seen to hang.
    for text in [
        "la t0, 1f\ncsrw mtvec, t0\n.balign 4\n1: .word 0",
        "1: j 1b",
        "pmset 1\n1: bp.t 1b",
        "1: bp.any 0, 1b",
    ] {
        assert!(matches!(outcome(text, default).end, End::Hang(_)), "{text}");
    }
    // A longer loop of traps ends at the limit.
    let text = "la t0, 1f\ncsrw mtvec, t0\n.balign 4\n1: addi t1, t1, 1\n.word 0";
    assert!(matches!(outcome(text, default).end, End::Limit(_)));
    // So does endless output, at a limit of its own.
    let text = "1: li a7, 64\nli a0, 1\nla a1, .\nlui a2, 0x1000\ncall 2f\nj 1b\n2: ecall\nret";
    let End::Fault(fault) = outcome(text, default).end else { panic!() };
    assert!(fault.to_string().contains("has printed more than"), "{fault}");
}

/// Random bytes as programs, under every kind of machine: no panic, and the accounting holds.
#[test]
fn random_programs() {
    let mut rng = Rng::new(9);
    for round in 0..300u64 {
        let mut code = Vec::new();
        for _ in 0..64 {
            let word = match rng.pick(table().forms()) {
                Some(form) if rng.below(8) > 0 => rng.bits() & !form.mask | form.pattern,
                _ => rng.bits(),
            };
            code.extend(&(word as u32).to_le_bytes());
        }
        let segment = pmask::program::Segment { address: RAM_BASE, size: 256, bytes: code };
        let program = Program { segments: vec![segment], entry: RAM_BASE, ..Program::default() };
        let config = Config {
            banks: 1 + rng.below(4) as u8,
            level: if rng.below(4) == 0 { Level::M1 } else { Level::M2 },
            maskw: 1 + rng.below(64) as u8,
            vl: rng.below(65) as u8,
            zero: rng.below(2) == 1,
            pcmp_bank: true,
            rt: true,
            reset_random: Some(round),
            ..Config::default()
        };
        let launch = Launch { ram: 0x1_0000, ..Launch::default() };
        let mut state =
            simt::machine::Machine::launch(&Pmask { config }, &program, launch).unwrap();
        for i in 1..32 {
            state.x[i] =
                if rng.below(2) == 0 { rng.bits() } else { RAM_BASE + rng.below(0x1_0000) };
        }
        // A handler that goes on behind the trap would need room: traps end the run, and it starts
        // again further on.
        for start in 0..64 {
            state.pc = RAM_BASE + 4 * start;
            state.csr.mtvec = 0;
            for _ in 0..40 {
                let step = simt::machine::Machine::step(
                    &Pmask { config },
                    &program,
                    &mut state,
                    &mut simt::observe::Blind,
                );
                if step != simt::machine::Step::Issued {
                    break;
                }
            }
            let m = pmask::state::ones(config.maskw);
            assert!(state.masks.banks.iter().all(|b| b & !m == 0));
            assert!(state.rsv.vl <= config.most_lanes() && state.rsv.pbank < config.banks);
            assert_eq!(state.x[0], 0);
            assert!(state.slots.identity_holds());
        }
    }
}

/// Every form both ways, random bytes both ways, and random text.
#[test]
fn assembler_and_disassembler() {
    // Words written with `.insn` read back as the instructions that they are, by which ignored bits
    // are lost.
    let plain = table().filtered(|form| form.attribute("assembly-only").is_none()).unwrap();
    let plain_dialect = isa::asm::Dialect { table: &plain, ..dialect() };
    let done = round_trip(plain_dialect, 24, 5).unwrap();
    assert_eq!(done.forms, table().forms().len() - 3);
    random_bytes(dialect(), 300, 6).unwrap();
    let (accepted, rejected) = token_soup(dialect(), 2000, 7);
    assert_eq!(accepted + rejected, 2000);
    for text in [
        "pmclr 4",
        "pmclr pbank=5",
        "pmset a0",
        "bp.any 0, 0x90000000",
        "li a0",
        "li a0, later\nlater:",
        "svon.blk 0",
        "svon.blk 256",
    ] {
        let found = assemble(FileId::default(), text).unwrap_err();
        assert!(found.iter().all(|d| d.primary.is_some()), "{text}");
    }
}

/// A word of custom-1 that decodes encodes to itself; the others are illegal. All of funct3 2, 6
/// and 7 with `STEP` = 1.
fn custom_1(step: usize) {
    let config = Config { pcmp_bank: true, ..Config::default() };
    for funct3 in [2u32, 6, 7] {
        for rest in (0..1u32 << 22).step_by(step) {
            let word = rest >> 5 << 15 | funct3 << 12 | (rest & 31) << 7 | 0x2b;
            let decoded = table().decode(word.into(), 32);
            let inst = decode(word, &config);
            match decoded {
                Ok(found) => {
                    let values = table().values(found);
                    assert_eq!(table().encode(found.form, &values).unwrap().word, u64::from(word));
                    let only_text = table().form(found.form).attribute("assembly-only").is_some();
                    assert_eq!(inst.op == Op::Illegal, only_text, "{word:#x}");
                }
                Err(_) => assert_eq!(inst.op, Op::Illegal),
            }
        }
    }
}

#[test]
fn custom_1_words_both_ways() {
    custom_1(61);
}

#[test]
#[ignore = "all 12.6 million words: a minute in a build without optimisation"]
fn all_custom_1_words_both_ways() {
    custom_1(1);
}
