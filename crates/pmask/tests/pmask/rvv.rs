//! Mask algebra, compaction and first-fault on random inputs, against RVV 1.0 instructions that
//! compute the same, run by QEMU user mode: an oracle that shares nothing with this project.
//! `rvv-oracle.sh` runs it where the tools are installed.

use std::path::Path;
use std::process::Command;

use isa::testing::Rng;
use pmask::machine::{DEFAULT_RAM, RAM_BASE};
use pmask::run::{End, run};
use pmask::{Launch, Pmask};

const CASES: u64 = 2000;
/// Words of a case: VL, two masks, VL and mask of the compaction, bytes before the end of memory, 8
/// values, 8 destinations.
const CASE: usize = 22;
/// Words of a result: 5 masks, count, any, all, 8 compacted, valid lanes.
const RESULT: usize = 17;

/// Both programs loop over `cases` and print `results`.
const RVV: &str = "
.option norelax
.globl _start
_start:
    la a0, cases
    la a1, results
    li a2, CASES
1:  ld t0, 0(a0)
    li t5, -1
    li t6, 64
    sub t6, t6, t0
    srl t5, t5, t6
    vsetvli x0, t0, e8, m4, ta, ma
    addi t1, a0, 8
    vlm.v v0, (t1)
    addi t1, a0, 16
    vlm.v v1, (t1)
    la t1, scratch
    .irp op, and, or, xor, andn
    vm\\op\\().mm v2, v0, v1
    sd x0, 0(t1)
    vsm.v v2, (t1)
    ld t2, 0(t1)
    and t2, t2, t5
    sd t2, 0(a1)
    addi a1, a1, 8
    .endr
    vmnand.mm v2, v0, v0
    sd x0, 0(t1)
    vsm.v v2, (t1)
    ld t2, 0(t1)
    and t2, t2, t5
    sd t2, 0(a1)
    vcpop.m t3, v0
    sd t3, 8(a1)
    vfirst.m t4, v0
    slti t4, t4, 0
    xori t4, t4, 1
    sd t4, 16(a1)
    sub t4, t3, t0
    seqz t4, t4
    sd t4, 24(a1)
    addi a1, a1, 32
    vsetivli x0, 8, e64, m4, ta, ma
    addi t1, a0, 48
    vle64.v v8, (t1)
    addi t1, a0, 112
    vle64.v v16, (t1)
    addi t1, a0, 32
    ld t0, 24(a0)
    vsetvli x0, t0, e64, m4, tu, ma
    vlm.v v0, (t1)
    vcompress.vm v16, v8, v0
    vsetivli x0, 8, e64, m4, ta, ma
    vse64.v v16, (a1)
    ld t0, 40(a0)
    la t1, page_end
    sub t1, t1, t0
    vsetivli x0, 8, e8, m1, ta, ma
    vle8ff.v v4, (t1)
    csrr t3, vl
    sd t3, 64(a1)
    addi a1, a1, 72
    addi a0, a0, 176
    addi a2, a2, -1
    bnez a2, 1b
    li a0, 1
    la a1, results
    li a2, CASES * 136
    li a7, 64
    ecall
    li a0, 0
    li a7, 93
    ecall
";

const PMASK: &str = "
_start:
    la x3, cases
    la x4, results
    li x1, CASES
    li x30, 0x100
    csrw svsrcb, x30
    csrw svdst, x30
1:  ld t0, 0(x3)
    svsetvl x0, t0
    li x29, -1
    li t1, 64
    sub t1, t1, t0
    srl x29, x29, t1
    ld t1, 8(x3)
    ld t2, 16(x3)
    MASK pmand
    MASK pmor
    MASK pmxor
    MASK pmandn
    MASK pmnot
    pmlow.wr 2, t1
    srli x31, t1, 32
    pmhigh.wr 2, x31
    pmpopcnt 2, x31
    sd x31, 0(x4)
    pmany 2, x31
    sd x31, 8(x4)
    pmall 2, x31
    sd x31, 16(x4)
    addi x4, x4, 24
    svsetvl x0, 8
    csrw svsrca, x0
    svon.blk 2
    ld x8, 48(x3)
    ld x16, 112(x3)
    ld t0, 24(x3)
    svsetvl x0, t0
    ld t0, 32(x3)
    pmlow.wr 1, t0
    csrw svsrca, x30
    csrsi svstate, 4
    svon.one
    svcompress x16, x8
    csrci svstate, 12
    csrw svsrca, x0
    svsetvl x0, 8
    svon.one
    sd x16, 0(x4)
    ld t0, 40(x3)
    li t1, MEMORY_END
    sub t1, t1, t0
    csrsi svmscl, 16
    svon.one
    lbu x8, 0(t1)
    csrci svmscl, 16
    csrr t0, svfaulti
    sd t0, 64(x4)
    addi x4, x4, 72
    addi x3, x3, 176
    addi x1, x1, -1
    bnez x1, 1b
    li a0, 1
    la a1, results
    li a2, CASES * 136
    li a7, 64
    ecall
    li a0, 0
    li a7, 93
    ecall
";

/// One operation of the algebra on t1 and t2, lanes below VL to the results.
fn algebra(op: &str) -> String {
    let source = if op == "pmnot" { "" } else { ", t2" };
    format!(
        "pmlow.wr 2, t1\nsrli x31, t1, 32\npmhigh.wr 2, x31\n{op} 2{source}\npmlow.rd 2, x31\npmhigh.rd 2, x28\n\
         slli x28, x28, 32\nor x31, x31, x28\nand x31, x31, x29\nsd x31, 0(x4)\naddi x4, x4, 8\n"
    )
}

fn cases() -> Vec<u64> {
    let mut rng = Rng::new(2024);
    let mut out = Vec::new();
    for _ in 0..CASES {
        let sparse = rng.bits() & rng.bits() & rng.bits();
        let dense = rng.bits() | rng.bits() | rng.bits();
        let masks = [rng.bits(), sparse, dense, 0, u64::MAX];
        let mut mask = || masks[rng.below(5) as usize];
        let (a, b) = (mask(), mask());
        out.extend([1 + rng.below(64), a, b, 1 + rng.below(8), rng.below(256), 1 + rng.below(12)]);
        out.extend((0..16).map(|_| rng.bits()));
    }
    out
}

fn words(values: &[u64]) -> String {
    values.iter().map(|v| format!(".dword {v:#x}\n")).collect()
}

/// What QEMU prints, or which tool is missing.
fn oracle(cases: &[u64], directory: &Path) -> Vec<u8> {
    let source = format!(
        ".set CASES, {CASES}\n{RVV}\n.data\n.balign 8\nscratch: .dword 0\ncases:\n{}\n.bss\n.balign 4096\nresults: .space {}\n.balign 4096\npage_end:\n",
        words(cases),
        CASES * 8 * RESULT as u64,
    );
    let (text, program) = (directory.join("rvv.S"), directory.join("rvv.elf"));
    std::fs::write(&text, source).unwrap();
    let gcc = Command::new("riscv64-unknown-elf-gcc")
        .args([
            "-march=rv64gcv",
            "-mabi=lp64d",
            "-mcmodel=medany",
            "-nostdlib",
            "-nostartfiles",
            "-static",
            "-o",
        ])
        .args([&program, &text])
        .output()
        .expect("riscv64-unknown-elf-gcc is installed");
    assert!(gcc.status.success(), "{}", String::from_utf8_lossy(&gcc.stderr));
    let qemu = Command::new("qemu-riscv64")
        .args(["-cpu", "rv64,v=true,vext_spec=v1.0,vlen=128"])
        .arg(&program)
        .output()
        .expect("qemu-riscv64 is installed");
    assert!(qemu.status.success(), "{:?}", qemu.status);
    qemu.stdout
}

fn ours(cases: &[u64]) -> Vec<u8> {
    let mut code = PMASK.replace("CASES", &CASES.to_string());
    for op in ["pmandn", "pmand", "pmor", "pmxor", "pmnot"] {
        code = code.replace(&format!("MASK {op}\n"), &algebra(op));
    }
    code = code.replace("MEMORY_END", &format!("{:#x}", RAM_BASE + DEFAULT_RAM));
    let text = format!(
        "{code}\n.data\ncases:\n{}\n.bss\nresults: .space {}\n",
        words(cases),
        CASES * 8 * RESULT as u64
    );
    let program = crate::common::program(&text);
    let outcome =
        run(&Pmask::default(), &program, Launch::default(), crate::common::LIMIT).unwrap();
    assert_eq!(outcome.end, End::Exit(0));
    outcome.state.host.console.output
}

#[test]
#[ignore = "needs qemu-riscv64 and riscv64-unknown-elf-gcc"]
fn the_same_as_rvv() {
    let directory = std::env::temp_dir().join(format!("simtlab-rvv-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let cases = cases();
    assert_eq!(cases.len(), CASES as usize * CASE);
    let expected = oracle(&cases, &directory);
    std::fs::remove_dir_all(&directory).unwrap();
    let got = ours(&cases);
    assert_eq!((got.len(), expected.len()), (CASES as usize * RESULT * 8, got.len()));
    let rows = got.chunks(RESULT * 8).zip(expected.chunks(RESULT * 8));
    for ((got, expected), case) in rows.zip(cases.chunks(CASE)) {
        let word = |bytes: &[u8]| -> Vec<u64> {
            bytes.chunks(8).map(|c| u64::from_le_bytes(c.try_into().unwrap())).collect()
        };
        assert_eq!(word(got), word(expected), "{case:x?}");
    }
}
