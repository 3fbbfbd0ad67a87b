//! Textures and surfaces: every thread's operands are a row of a texture.

use crate::operations::harness::{STRIDE, fault, kernel, run_kernel};
use ir::Ty;

const DECLARATIONS: &str = "reg %v<4>, %f: b32\nreg %rows: b64";

/// Writes an object over rows of 32-bit integers, of which each thread has one: 64 bytes. All
/// threads write the same.
fn object(kind: u32) -> String {
    let words = [
        (0, "0x31585453".to_owned()),
        (4, format!("{}", 0x0201_0100 + kind)),
        (8, "1".to_owned()),
        (24, STRIDE.to_string()),
        (32, format!("{}", STRIDE / 4)),
        (36, "40".to_owned()),
        (40, "1".to_owned()),
        (44, "1".to_owned()),
        (48, "1".to_owned()),
        (56, "1".to_owned()),
        (64, "1".to_owned()),
    ];
    let stores = words.map(|(at, word)| format!("st.global.b32 [%cell+{at}], {word}\n"));
    format!("%rows = ld.param.u64 [@in]\nst.global.b64 [%cell+16], %rows\n{}", stores.concat())
}

#[test]
fn elements_are_sampled_and_gathered() {
    let lines = format!(
        "{}%v0, _, _, %v1 = tex.2d.u32.s32 %cell, %cell, 1, %tid
%x = pack.b64.b32 %v0, %v1
%f = cvt.rn.f32.u32 %tid
%f = add.rn.f32 %f, 0x3f000000
_, _, %v1, %v0 = tld4.r.2d.u32.f32 %cell, %cell, 0x3f800000, %f
%v2 = txq.width %cell
%v3 = txq.height %cell, 1
%v2 = mad.u32 %v2, 1000, %v3
%v0 = xor.b32 %v0, %v2
%y = pack.b64.b32 %v0, %v1",
        object(0)
    );
    let out = run_kernel(&kernel("", DECLARATIONS, &lines), [Ty::B64; 4], 40, 32);
    for (row, result) in out.rows.iter().zip(&out.results) {
        let [low, high] = [row[0] & 0xffff_ffff, row[0] >> 32];
        // The fourth component is not stored, and is 1; a level that is not there has no rows.
        let width = STRIDE as u64 / 4 * 1000;
        assert_eq!(*result, [1 << 32 | high, high << 32 | (low ^ width)], "{row:x?}");
    }
}

#[test]
fn surfaces_are_loaded_stored_and_combined() {
    let lines = format!(
        "{}%v0 = suld.2d.trap.b32 %cell, 4, %tid, 0
%v1, %v2 = suld.2d.zero.b32 %cell, 64, %tid, 0
%x = pack.b64.b32 %v0, %v1
sust.2d.clamp.b32 %cell, 8, %tid, 0, 7, %v0
sured.2d.trap.add.u32 %cell, 8, %tid, 0, 5
%y = ld.global.b64 [%in+8]",
        object(1)
    );
    let out = run_kernel(&kernel("", DECLARATIONS, &lines), [Ty::B64; 4], 40, 32);
    for (row, result) in out.rows.iter().zip(&out.results) {
        let high = row[0] >> 32;
        assert_eq!(*result, [high, high << 32 | 12], "{row:x?}");
    }
}

#[test]
fn what_is_no_object_or_is_outside_faults() {
    let lines = [
        "%v0 = suld.2d.trap.b32 %cell, 64, %tid, 0",
        "%v0 = suld.2d.clamp.b32 %cell, 2, %tid, 0",
        "sust.2d.trap.b32 %cell, 0, 40, 0, %v1",
        "sured.2d.trap.min.u32 %cell, 0xfffffffc, 0, 0, %v1",
        "%v0 = suld.3d.trap.b32 %cell, 0, %tid, 0",
        "%v0, %v1, %v2, %v3 = tex.2d.u32.s32 %cell, %cell, 0, 0",
        "%v0 = suld.2d.trap.b32 %in, 0, %tid, 0",
        "%v0 = txq.width 8",
    ];
    for line in lines {
        let text = kernel("", DECLARATIONS, &format!("{}{line}", object(1)));
        assert_eq!(fault(&text), "texture", "{line}");
    }
}
