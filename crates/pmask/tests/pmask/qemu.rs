//! Random straight-line programs of the base ISA against QEMU user mode: the same ELF file, all
//! registers and fcsr in the end. QEMU shares nothing with this project. `cargo test -p
//! simtlab-pmask --test pmask -- --ignored qemu`, where qemu-riscv64 is installed;
//! `QEMU_PROGRAMS` says how many programs.
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

fn program(rng: &mut Rng) -> String {
    let mut text = "_start:\nla x31, values\n".to_owned();
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
    writeln!(
        text,
        "li a7, 64\nli a0, 1\nmv a1, x31\nli a2, {STATE}\necall\nli a7, 93\nli a0, 0\necall"
    )
    .unwrap();
    let values: Vec<String> = (0..STATE / 8).map(|_| format!("{:#x}", value(rng))).collect();
    writeln!(text, ".data\n.balign 8\nvalues: .dword {}", values.join(", ")).unwrap();
    text
}

#[test]
#[ignore = "needs qemu-riscv64"]
fn the_same_registers_as_qemu() {
    let count = std::env::var("QEMU_PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(100u64);
    let path = std::env::temp_dir().join(format!("simtlab-qemu-{}", std::process::id()));
    let mut rng = Rng::new(12);
    for number in 0..count {
        let program = crate::common::program(&program(&mut rng));
        std::fs::write(&path, elf::write(&program)).unwrap();
        // QEMU runs what may be executed.
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
        let theirs = Command::new("qemu-riscv64").arg(&path).output().unwrap();
        let ours = run(&Pmask::default(), &program, Launch::default(), 10_000).unwrap();
        assert_eq!(ours.end, End::Exit(0), "program {number}");
        assert!(theirs.status.success(), "program {number}: {theirs:?}");
        assert_eq!(theirs.stdout.len(), STATE);
        for (i, (a, b)) in
            ours.state.host.console.output.chunks(8).zip(theirs.stdout.chunks(8)).enumerate()
        {
            assert_eq!(a, b, "program {number}, register {i} (x1 to x30, f0 to f31, fcsr)");
        }
    }
    std::fs::remove_file(&path).unwrap();
    assert!(count > 0);
}
