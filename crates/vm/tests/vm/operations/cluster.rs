//! Addresses in clusters, barriers with transactions, and asynchronous operations, in a cluster of
//! one CTA.

use crate::operations::harness::{kernel, run_kernel};
use ir::Ty;

#[test]
fn asynchronous_operations_complete_the_bytes_that_a_barrier_expects() {
    // Of 64 bytes a thread: a barrier, 16 bytes of a copy, 8 of a store, 4 of a reduction.
    let lines = "%at = mulwide.u32 %tid, 64
%gen = mov.u64 @s
%gen = mapa.u64 %gen, 0
%n = ctarank.u64 %gen
%x = cvt.u64.u32 %n
%at = add.u64 %at, %gen
%at = add.u64 %at, %x
%from = add.u64 %at, 16
%back = add.u64 %in, 16
mbarinit.shared [%at], 1
st.shared.b32 [%at+40], 7
mbarexpect.shared [%at], 32
%first = mbararrive.shared [%at], 1
mbarcomplete.shared [%at], 4
bulkcopy.load.b8 [%at+16], %in, 16, %at
stasync.shared.b64 [%at+32], %at, 5
redasync.add.shared.u32 [%at+40], %at, 3
%p = mbartry.shared.parity [%at], 0
%x = ld.shared.b64 [%at+16]
%y = ld.shared.b64 [%at+32]
%z = ld.shared.b64 [%at+40]
%y = mad.u64 %z, 16, %y
bulkcopy.store.b8 [%back], %from, 16
bulkcommit
bulkwait.read 0
bulkwait 0
clusterarrive
clusterwait
%z = ld.global.b64 [%back+8]
%y = mad.u64 %z, 256, %y
%y = selp.b64 %y, 0, %p";
    let declarations = "reg %at, %gen, %from, %back, %first, %z: b64\nreg %n: b32\nreg %p: pred";
    let text = kernel("shared @s size 2560 align 128", declarations, lines);
    let out = run_kernel(&text, [Ty::B64; 4], 40, 32);
    for (row, result) in out.rows.iter().zip(&out.results) {
        let expected = [row[0], row[1].wrapping_mul(256).wrapping_add(10 * 16 + 5)];
        assert_eq!(*result, expected, "{row:x?}");
    }
}

#[test]
fn tensor_copies_move_the_boxes_of_their_maps() {
    // A thread has 512 bytes: a map of 32 bytes with a box of 16, the box, a barrier.
    let lines = "%at = mulwide.u32 %tid, 512
%gen = mov.u64 @s
%gen = mapa.u64 %gen, 0
%at = add.u64 %at, %gen
%bar = add.u64 %at, 384
st.shared.b32 [%at], 0x314d5453
st.shared.b64 [%at+16], %in
st.shared.b32 [%at+24], 31
st.shared.b32 [%at+96], 15
mbarinit.shared [%bar], 1
mbarexpect.shared [%bar], 16
%first = mbararrive.shared [%bar], 1
%map = cvta.shared.u64 %at
tensorcopy.load.tile [%at+128], %map, %bar, 8
%p = mbartry.shared.parity [%bar], 0
%x = ld.shared.b64 [%at+128]
%y = ld.shared.b64 [%at+136]
tensorcopy.store.tile [%at+128], %map, 0, 16
bulkcommit
bulkwait 0
%z = ld.global.b64 [%in+24]
%y = mad.u64 %z, 256, %y
%y = selp.b64 %y, 0, %p";
    let declarations = "reg %at, %gen, %bar, %map, %first, %z: b64\nreg %p: pred";
    let text = kernel("shared @s size 20480 align 128", declarations, lines);
    let out = run_kernel(&text, [Ty::B64; 4], 40, 32);
    for (row, result) in out.rows.iter().zip(&out.results) {
        // The store puts the second and third word over the third and fourth.
        let expected = [row[1], row[2].wrapping_mul(256).wrapping_add(row[2])];
        assert_eq!(*result, expected, "{row:x?}");
    }
}
