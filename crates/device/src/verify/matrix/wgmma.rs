//! Probes of sums for `wgmma`.
//!
//! The rows of A come from registers; each of the four warps has the same ones, in the layout of
//! `mma` of 16 rows. B lies in shared memory without swizzling, K-major: two core matrices of 8
//! columns by 16 bytes. As for `mma`, all rows of A, all columns of B and all elements of C are
//! equal ([`sums`]).

use std::path::Path;

use inputs::{Array, ElemType};

use super::super::{Case, Suite, VerifyError};
use super::{Fragment, WORTH, sums};
use crate::record::Identity;

/// Threads of a block: four warps make a warpgroup.
const THREADS: usize = 128;

/// Words of the tile of B.
const WORDS: usize = 64;

/// Columns of B.
const COLUMNS: usize = 8;

/// Bytes of a row of a core matrix.
const ROW: usize = 16;

/// Types: of D, of A and B, and the depth of the product.
const FORMS: [(&str, &str, usize); 6] = [
    ("f32", "f16", 16),
    ("f16", "f16", 16),
    ("f32", "bf16", 16),
    ("f32", "tf32", 8),
    ("f32", "e4m3", 32),
    ("f32", "e5m2", 32),
];

/// The cases of a device of compute capability 9.0, the only one that has the instruction; a line
/// that says so for all others.
pub(super) fn cases(folder: &Path, device: &Identity) -> Result<Vec<Case>, VerifyError> {
    let [major, minor] = device.capability;
    if [major, minor] != [9, 0] {
        let why = format!(
            "only devices of compute capability 9.0 have `wgmma` (sm_90a), this one has \
             {major}.{minor}"
        );
        return Ok(vec![Case::skipped(Suite::Matrix, "matrix-wgmma", WORTH, why)]);
    }
    let case = |(d, ab, k): (&str, &str, usize)| {
        let (of_a_warp, fragments) = of_a_warp(d, ab, k);
        let Some(product) = sums::product(&of_a_warp, &fragments) else { return Ok(None) };
        let probes = sums::probes(&product);
        let table = |bits: &[u64]| Array::from_bits(ElemType::U32, bits);
        let launch = sums::ProbeLaunch {
            head: &head(d, ab, k),
            program: &program(d, ab, k),
            blocks: probes.len(),
            threads: THREADS,
            tables: [
                table(&sums::registers(&product, 1, &probes)),
                table(&tiles_of_b(&product, &probes)),
                table(&sums::registers(&product, 3, &probes)),
            ],
        };
        launch.write(folder, &format!("matrix-wgmma-{d}-{ab}"), &fragments[0]).map(Some)
    };
    FORMS.into_iter().filter_map(|form| case(form).transpose()).collect()
}

fn head(d: &str, ab: &str, k: usize) -> String {
    format!("wgmma.mma_async.sync.aligned.m64n8k{k}.{d}.{ab}.{ab}")
}

/// The product of one warp of a case, as an `mma`: name and registers. `None` if it is a case of
/// another instruction.
pub(super) fn probed(case: &Case) -> Option<(String, [Fragment; 4])> {
    let mut forms = FORMS.into_iter();
    let form = forms.find(|&(d, ab, k)| case.parts.first() == Some(&head(d, ab, k)));
    form.map(|(d, ab, k)| of_a_warp(d, ab, k))
}

/// The product of one warp as an `mma`: name and registers.
fn of_a_warp(d: &str, ab: &str, k: usize) -> (String, [Fragment; 4]) {
    let fragment = |ty: &str, count, element: &str| Fragment {
        ty: ty.to_owned(),
        count,
        element: element.to_owned(),
    };
    let sums = if d == "f16" { ("b32", 2) } else { ("f32", 4) };
    let list = [
        fragment(sums.0, sums.1, d),
        fragment("b32", 4, ab),
        fragment("b32", 2, ab),
        fragment(sums.0, sums.1, d),
    ];
    (format!("mma.sync.aligned.m16n8k{k}.row.col.{d}.{ab}.{ab}.{d}"), list)
}

/// The program. Parameters are D, the registers of A, the tiles of B, and the registers of C.
fn program(d: &str, ab: &str, k: usize) -> String {
    let (_, [sums, ..]) = of_a_warp(d, ab, k);
    let registers = |name: &str, count: usize| {
        let names: Vec<String> = (0..count).map(|n| format!("%{name}{n}")).collect();
        names.join(", ")
    };
    let (count, ty) = (sums.count, &sums.ty);
    let (all_d, all_a) = (registers("d", count), registers("a", 4));
    // Only types of 16 bits can be transposed.
    let transposed = if ["f16", "bf16"].contains(&ab) { ", 0" } else { "" };
    let bytes = 4 * count;
    format!(
        ".version 8.0\n.target sm_90a\n.address_size 64\n\
         .visible .entry k(.param .u64 p_0, .param .u64 p_1, .param .u64 p_2, .param .u64 p_3)\n\
         {{\n  .reg .u32 %t, %b, %l, %s, %v, %z; .reg .u64 %x, %y, %desc; .reg .pred %p;\n  \
         .reg .b32 %a<4>; .reg .{ty} %d<{count}>;\n  .shared .align 128 .b8 sm[{tile}];\n  \
         mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; and.b32 %l, %t, 31; mov.u32 %s, sm;\n  \
         setp.lt.u32 %p, %t, {WORDS}; mad.lo.u32 %z, %b, {WORDS}, %t; mul.wide.u32 %x, %z, 4;\n  \
         ld.param.u64 %y, [p_2]; add.u64 %x, %x, %y;\n  \
         @%p ld.global.b32 %v, [%x]; mad.lo.u32 %z, %t, 4, %s; @%p st.shared.b32 [%z], %v;\n  \
         fence.proxy.async; bar.sync 0;\n  \
         mad.lo.u32 %z, %b, 32, %l; mul.wide.u32 %x, %z, 16; ld.param.u64 %y, [p_1];\n  \
         add.u64 %x, %x, %y; ld.global.v4.b32 {{{all_a}}}, [%x];\n  \
         mul.wide.u32 %x, %z, {bytes}; ld.param.u64 %y, [p_3]; add.u64 %x, %x, %y;\n  \
         ld.global.v{count}.b32 {{{all_d}}}, [%x];\n  \
         cvt.u64.u32 %desc, %s; and.b64 %desc, %desc, 0x3ffff; shr.u64 %desc, %desc, 4;\n  \
         or.b64 %desc, %desc, {DISTANCES:#x}; setp.eq.u32 %p, 0, 0;\n  \
         wgmma.fence.sync.aligned;\n  \
         {head} {{{all_d}}}, {{{all_a}}}, %desc, %p, 1, 1{transposed};\n  \
         wgmma.commit_group.sync.aligned;\n  wgmma.wait_group.sync.aligned 0;\n  \
         mad.lo.u32 %z, %b, {THREADS}, %t; mul.wide.u32 %x, %z, {bytes};\n  \
         ld.param.u64 %y, [p_0]; add.u64 %x, %x, %y;\n  \
         st.global.v{count}.b32 [%x], {{{all_d}}};\n  ret;\n}}\n",
        tile = 4 * WORDS,
        head = head(d, ab, k),
    )
}

/// Of a descriptor, the distances between core matrices in both directions: 128 bytes, in units of
/// 16 bytes from bit 16 and from bit 32 on.
const DISTANCES: u64 = 8 << 16 | 8 << 32;

/// Words of B in shared memory, probe by probe.
fn tiles_of_b(product: &simt::matrix::Product, probes: &[sums::Probe]) -> Vec<u64> {
    let size = product.elements[2].bits() / 8;
    let mut tiles = Vec::with_capacity(WORDS * probes.len());
    for probe in probes {
        let mut bytes = Vec::with_capacity(4 * WORDS);
        for matrix in 0..2 {
            for place in 0..COLUMNS * ROW / size {
                let row = matrix * (ROW / size) + place % (ROW / size);
                let scalar = probe.factor_of_b(row);
                let bits = sums::bits(product.elements[2], scalar).unwrap_or(0);
                bytes.extend_from_slice(&bits.to_le_bytes()[..size]);
            }
        }
        let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &b| word << 8 | u64::from(b));
        tiles.extend(bytes.chunks(4).map(word));
    }
    tiles
}
