//! Code of tests in executable memory.

use crate::asm::{Encoded, Label};
use crate::pool::PoolRow;
use memmap2::MmapMut;

/// Calls code at a label as a function of three pointers, by the System V convention. The code must
/// access the memory behind them alone, and return.
pub(crate) fn execute(
    code: &Encoded,
    enter: Label,
    frame: &mut [PoolRow],
    pool: &[PoolRow],
    seat: &mut [PoolRow],
) {
    let mut text = MmapMut::map_anon(code.bytes.len().max(1)).unwrap();
    text[..code.bytes.len()].copy_from_slice(&code.bytes);
    let text = text.make_exec().unwrap();
    let enter = text[code.offset(enter).unwrap() as usize..].as_ptr();
    // SAFETY: the tests emit a function of this type at the label, and its pages are executable
    // until it has returned.
    let enter: extern "C" fn(*mut PoolRow, *const PoolRow, *mut PoolRow) =
        unsafe { std::mem::transmute(enter) };
    enter(frame.as_mut_ptr(), pool.as_ptr(), seat.as_mut_ptr());
}
