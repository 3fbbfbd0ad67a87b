//! Instructions on matrices, at several widths of the issue group: they meet on the architectural
//! warp.
//!
//! Products in all shapes, against a computation of their own, are file tests (`tests/matrix` of
//! the file tests).

use crate::operations::harness::{Run, fault, kernel, run_kernel};
use ir::Ty;

const THREADS: usize = 64;
const WIDTHS: [u32; 4] = [4, 16, 32, 64];

/// Runs some lines with `%v` and `%w` the low 32 bits of two operands; `%x` and `%y` are `%r` and
/// `%s` in the end, unless the lines are of doubles.
#[track_caller]
fn check(variables: &str, lines: &str, expected: impl Fn(&Run, usize, usize) -> [u64; 2]) {
    let ends = "%x = cvt.u64.u32 %r\n%y = cvt.u64.u32 %s\n";
    let ends = if lines.contains("%x") { "" } else { ends };
    let text = kernel(
        variables,
        "reg %v, %w, %r, %s, %p, %q, %at: b32",
        &format!("%v = cvt.u32.u64 %a\n%w = cvt.u32.u64 %b\n{lines}\n{ends}"),
    );
    for width in WIDTHS {
        let out = run_kernel(&text, [Ty::B64; 4], THREADS, width);
        for thread in 0..THREADS {
            let (first, lane) = (thread / 32 * 32, thread % 32);
            let wanted = expected(&out, first, lane);
            assert_eq!(out.results[thread], wanted, "{lines} at width {width}, thread {thread}");
        }
    }
}

/// Element (row, column) of an 8 by 8 matrix of 16-bit elements in the operands.
fn half(out: &Run, first: usize, row: usize, column: usize) -> u64 {
    out.rows[first + 4 * row + column / 2][0] >> (16 * (column % 2)) & 0xffff
}

fn transposed(out: &Run, first: usize, lane: usize) -> u64 {
    let (row, column) = (lane / 4, lane % 4 * 2);
    half(out, first, column, row) | half(out, first, column + 1, row) << 16
}

#[test]
fn matrices_are_transposed() {
    check("", "%r = movmatrix %v", |out, first, lane| [transposed(out, first, lane), 0]);
}

#[test]
fn tiles_come_back_from_shared_memory() {
    let lines = "%at = mov.b32 @tile
%t = shl.b32 %tid, 4
%at = add.u32 %at, %t
stmatrix.shared [%at], %v
warpsync 0xffffffff
%r = ldmatrix.shared.trans [%at]
%s = ldmatrix.shared [%at]";
    let low = |v: u64| v & 0xffff_ffff;
    check("shared @tile size 1024 align 16", lines, |out, first, lane| {
        [transposed(out, first, lane), low(out.rows[first + lane][0])]
    });
}

#[test]
fn bytes_are_multiplied() {
    let lines = "%r, %s = mma.m8n8k16.s32_u8_s8_s32.b32 %v, %w, 5, 7";
    check("", lines, |out, first, lane| {
        let (row, column) = (lane / 4, lane % 4 * 2);
        let byte = |thread: usize, which: usize, k: usize| {
            (out.rows[first + thread][which] >> (8 * (k % 4))) as u8
        };
        let sum = |column: usize, addend: i32| {
            let products = (0..16).map(|k| {
                let (x, y) = (byte(4 * row + k / 4, 0, k), byte(4 * column + k / 4, 1, k));
                i32::from(x) * i32::from(y as i8)
            });
            u64::from((products.sum::<i32>() + addend) as u32)
        };
        [sum(column, 5), sum(column + 1, 7)]
    });
}

#[test]
fn fragments_come_back_from_memory() {
    let lines = "%t = shr.u32 %tid, 5
%t = shl.b32 %t, 9
%x = cvt.u64.u32 %t
%cell = add.u64 %cell, %x
wmmast.m8n8k4.row.global.b64.f64 [%cell], 8, %a, %b
warpsync 0xffffffff
%x, %y = wmmald.c.m8n8k4.col.global.b64.f64 [%cell], 8";
    check("", lines, |out, first, lane| {
        // Stored by rows and loaded by columns, it is transposed.
        let element =
            |row: usize, column: usize| out.rows[first + 4 * row + column / 2][column % 2];
        let (row, column) = (lane / 4, lane % 4 * 2);
        [element(column, row), element(column + 1, row)]
    });
}

#[test]
fn all_lanes_of_the_warp_are_needed() {
    let lines = "%r, %s = mma.m8n8k16.s32_u8_s8_s32.b32 %t, %t, 5, 7";
    // Of 40 threads the second warp has eight.
    assert_eq!(fault(&kernel("", "reg %r, %s: b32", lines)), "partial-warp");
    let rows = "shared @tile size 512 align 16";
    let lines = "%at = mov.b32 @tile\n%at = add.u32 %at, 8\n%r = ldmatrix.shared [%at]";
    let head = "%q = setp.ge.u32 %tid, 32\n@%q exit\nnext:\n";
    let text = kernel(rows, "reg %r, %at: b32\nreg %q: pred", &format!("{head}{lines}"));
    assert_eq!(fault(&text), "misaligned");
}

/// Codes of eight chunks.
const METADATA: u32 = 0x4e8c_9d48;

/// A product with a sparse left factor, with so much metadata.
fn sparse(flags: &str, metadata: u32) -> String {
    format!(
        "%r, %s, %p, %q = mma.m16n8k32.s32_s8_s8_s32.{flags}.b32 \
         %v, %w, %w, %v, 5, 7, 0, 0, {metadata}, 1"
    )
}

#[test]
fn sparse_factors_meet_the_elements_that_metadata_names() {
    check("", &sparse("sp.ordered", METADATA), |out, first, lane| {
        let byte = |thread: usize, which: usize, k: usize| {
            i32::from((out.rows[first + thread][which] >> (8 * (k % 4))) as i8)
        };
        let (row, column) = (lane / 4, lane % 4 * 2);
        let sum = |column: usize, addend: i32| {
            let products = (0..16).map(|stored| {
                let code = METADATA >> (4 * (stored / 2)) & 15;
                let index = if stored % 2 == 0 { code & 3 } else { code >> 2 };
                let k = stored / 2 * 4 + index as usize;
                // The upper half of B is in the first operand's register.
                let right = byte(4 * column + k % 16 / 4, 1 - k / 16, k);
                byte(4 * row + stored / 4, 0, stored) * right
            });
            u64::from((products.sum::<i32>() + addend) as u32)
        };
        [sum(column, 5), sum(column + 1, 7)]
    });
}

#[test]
fn metadata_without_a_meaning_faults() {
    let of = |flags, metadata| {
        let lines = format!("%v = mov.b32 0\n%w = mov.b32 0\n{}", sparse(flags, metadata));
        fault(&kernel("", "reg %r, %s, %p, %q, %v, %w: b32", &lines))
    };
    assert_eq!(of("sp", 0x4e8c_9d40), "sparsity-metadata");
    assert_eq!(of("sp.ordered", 0x4e8c_9d41), "sparsity-metadata");
}

#[test]
fn warp_groups_multiply_ones() {
    // Shared memory holds ones: 16 of them a sum, once with A in registers, once more without.
    let lines = "%at = mov.b32 @tile
%t = shl.b32 %tid, 4
%at = add.u32 %at, %t
st.shared.b32 [%at], %one, %one, %one, %one
bar.sync 0
%at = mov.b32 @tile
%at = shr.b32 %at, 4
%d = cvt.u64.u32 %at
%d = or.b64 %d, 0x800400000
%no = setp.eq.u32 %one, 0
wgmmafence
%r, %s, %u, %v = wgmmareg.f32_f16_f16_f32.b32 %no, %d, %one, %one, %one, %one, %r, %s, %u, %v
wgmmacommit
%yes = setp.ne.u32 %one, 0
%r, %s, %u, %v = wgmma.f32_f16_f16_f32.b32 %yes, %d, %d, %r, %s, %u, %v
wgmmacommit
wgmmawait 0
%x = cvt.u64.u32 %r
%y = cvt.u64.u32 %v";
    let registers = "reg %r, %s, %u, %v, %one, %at: b32\nreg %no, %yes: pred";
    let lines = format!("%one = mov.b32 0x3c003c00\n{lines}\n");
    let text = kernel("shared @tile size 2048 align 128", registers, &lines);
    for width in WIDTHS {
        let out = run_kernel(&text, [Ty::B64; 4], 128, width);
        let all = f32::to_bits(32.0).into();
        assert!(out.results.iter().all(|&found| found == [all, all]), "at width {width}");
    }
}
