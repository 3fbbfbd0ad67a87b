//! Random straight-line programs of the base ISA against QEMU user mode: the same ELF file, all
//! registers and fcsr in the end. QEMU shares nothing with this project. `cargo test -p
//! simtlab-pmask --test pmask -- --ignored qemu`, where qemu-riscv64 is installed;
//! `QEMU_PROGRAMS` says how many programs. A file holds [`BATCH`] of them, since starting QEMU
//! takes longer than a program.
#![cfg(unix)]

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use isa::testing::Rng;
use pmask::decode::decode;
use pmask::elf;
use pmask::op::{Alu, Op};
use pmask::run::{End, run};
use pmask::table::table;
use pmask::{Config, Launch, Pmask};

/// Random instructions of a program.
const LENGTH: usize = 300;
/// Programs of a file.
const BATCH: u64 = 50;
/// Bytes of all registers but x0 and x31, and of fcsr.
const STATE: usize = 8 * (30 + 32 + 1);

/// A random word that computes: any but control, memory, system, and what writes x31 (the address
/// of the results).
fn word(rng: &mut Rng) -> u32 {
    let plain = Config { pmask: false, cexp: false, ..Config::default() };
    loop {
        let Some(form) = rng.pick(table().forms()) else { continue };
        let word = (rng.bits() & !form.mask | form.pattern) as u32;
        let inst = decode(word, &plain);
        let computes = match inst.op {
            // QEMU 7.2 counts in 64 bits where the lower 32 are zero; the manual says 32.
            Op::Alu(Alu::CtzW) => false,
            Op::Alu(_) | Op::Lui => inst.rd != 31,
            Op::Fp(..) => inst.rd != 31 && !matches!(inst.rm, 5 | 6),
            _ => false,
        };
        // Words of two bytes are taken where they stand for such an instruction, with `c.nop`
        // beside them.
        if computes && form.attribute("assembly-only").is_none() {
            return if inst.len == 2 { inst.word | 0x0001_0000 } else { word };
        }
    }
}

/// A register's first value: often special, often close to another.
fn value(rng: &mut Rng) -> u64 {
    let bits = rng.bits();
    match rng.below(8) {
        0 => bits & 0xff,
        1 => u64::MAX << (bits & 63),
        2 => 0xffff_ffff_0000_0000 | bits,
        3 => 0xffff_ffff_3f80_0000 | bits & 0x00ff_ffff,
        4 => 0x3ff0_0000_0000_0000 | bits >> 12,
        5 => bits & 0x8000_0000_0000_0000 | (bits & 7) << 52,
        _ => bits,
    }
}

/// A program: loads all registers, computes, writes all registers to the console.
fn program(rng: &mut Rng, number: u64, text: &mut String) {
    writeln!(text, "csrw fcsr, x0\nla x31, values{number}").unwrap();
    for i in 0..32 {
        writeln!(text, "fld f{i}, {}(x31)", 8 * (30 + i)).unwrap();
    }
    for i in 1..31 {
        writeln!(text, "ld x{i}, {}(x31)", 8 * (i - 1)).unwrap();
    }
    for _ in 0..LENGTH {
        writeln!(text, ".word {:#010x}", word(rng)).unwrap();
    }
    for i in 1..31 {
        writeln!(text, "sd x{i}, {}(x31)", 8 * (i - 1)).unwrap();
    }
    for i in 0..32 {
        writeln!(text, "fsd f{i}, {}(x31)", 8 * (30 + i)).unwrap();
    }
    writeln!(text, "csrr a0, fcsr\nsd a0, {}(x31)", STATE - 8).unwrap();
    writeln!(text, "li a7, 64\nli a0, 1\nmv a1, x31\nli a2, {STATE}\necall").unwrap();
    let values: Vec<String> = (0..STATE / 8).map(|_| format!("{:#x}", value(rng))).collect();
    writeln!(text, ".data\n.balign 8\nvalues{number}: .dword {}\n.text", values.join(", "))
        .unwrap();
}

/// Programs one after another, which end with code 0.
fn batch(rng: &mut Rng, programs: u64) -> String {
    let mut text = "_start:\n".to_owned();
    (0..programs).for_each(|number| program(rng, number, &mut text));
    text + "li a7, 93\nli a0, 0\necall\n"
}

#[test]
#[ignore = "needs qemu-riscv64"]
fn the_same_registers_as_qemu() {
    let count = std::env::var("QEMU_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(100u64);
    assert!(count > 0);
    let path = std::env::temp_dir().join(format!("simtlab-qemu-{}", std::process::id()));
    for first in (0..count).step_by(BATCH as usize) {
        let programs = BATCH.min(count - first);
        // Each file is a random one of its own: a range of them can be run again alone.
        let text = batch(&mut Rng::new(12 + first), programs);
        let program = crate::common::program(&text);
        std::fs::write(&path, elf::write(&program)).unwrap();
        // QEMU runs what may be executed.
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
        let theirs = Command::new("qemu-riscv64").arg(&path).output().unwrap();
        let limit = 1_000 * programs;
        let ours = run(&Pmask::default(), &program, Launch::default(), limit).unwrap();
        assert_eq!(ours.end, End::Exit(0), "programs from {first}");
        assert!(theirs.status.success(), "programs from {first}: {theirs:?}");
        assert_eq!(theirs.stdout.len(), STATE * programs as usize);
        let words = ours.state.host.console.output.chunks(8).zip(theirs.stdout.chunks(8));
        for (i, (a, b)) in words.enumerate() {
            let (number, i) = (first + (i / (STATE / 8)) as u64, i % (STATE / 8));
            assert_eq!(a, b, "program {number}, register {i} (x1 to x30, f0 to f31, fcsr)");
        }
    }
    std::fs::remove_file(&path).unwrap();
}
