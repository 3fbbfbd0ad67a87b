//! Turns of warps by code that is one function for a warp's turn.

use super::Starts;
use crate::cranelift::{AGAIN, FRESH, Helpers, RareOperation, STOPPED};
use crate::frame::{Frame, TURN_BEGINS, TURN_ENDS};
use crate::warp_context::WarpContext;
use vm::BACK_EDGES;

/// A turn of a warp: returns [`STOPPED`] if the host wants code to return.
type Turn = extern "C" fn(*mut Frame, *mut WarpContext) -> u32;

/// Returns what the host enters for code whose function is at an address, and what takes a warp.
pub(super) fn entries(function: u64) -> (u64, Starts) {
    (turns as *const () as u64, Starts { first: function, fresh: FRESH, again: AGAIN })
}

/// Returns the addresses of functions that code calls.
pub(super) fn helpers() -> Helpers {
    Helpers {
        release: release as *const () as u64,
        release_screened: release_screened as *const () as u64,
        rare: rare as *const () as u64,
        match_lanes: match_lanes as *const () as u64,
    }
}

/// Runs a turn of each warp of the visited CTA that has one.
extern "C" fn turns(frame: *mut Frame) {
    // SAFETY: the runner enters with its frame, whose `start` is the function of the code that it
    // runs, in executable memory, and whose warps are the contexts of the CTA. Calls back access
    // both, too, but never while a field is read or written here.
    unsafe {
        let function: Turn = std::mem::transmute((*frame).start as *const u8);
        let mut warp = (*frame).warp.wrapping_add(1);
        while warp < (*frame).warps_end {
            if (*warp).start != 0 {
                (*frame).warp = warp;
                (*frame).back_edges_left = BACK_EDGES as i32;
                let all_live = (*warp).not_live == 0;
                if !all_live && ((*frame).turn)(frame, TURN_BEGINS, 0) != 0 {
                    return;
                }
                if function(frame, warp) == STOPPED {
                    return;
                }
                // The host counts the lanes of such warps that do not run.
                if (*warp).not_live != 0 && ((*frame).turn)(frame, TURN_ENDS, 0) != 0 {
                    return;
                }
            }
            warp = warp.wrapping_add(1);
        }
    }
}

/// Releases the warps that wait at a barrier, counted from 1, at which so many lanes have arrived,
/// some of them with a predicate that holds. The warps continue in their next turns.
extern "C" fn release(frame: *mut Frame, name: u32, lanes: u32, holding: u32) {
    // SAFETY: code calls with the frame that it was entered with; see `turns`.
    unsafe {
        (*frame).tally.barriers += 1;
        (*frame).tally.progress = 1;
        let mut warp = (*frame).warps;
        while warp < (*frame).warps_end {
            if (*warp).waits == name {
                ((*warp).waits, (*warp).start) = (0, AGAIN);
                ((*warp).barrier_lanes, (*warp).barrier_holding) = (lanes, holding);
                (*(*frame).barrier_state).waiting -= 1;
            }
            warp = warp.wrapping_add(1);
        }
    }
}

/// The same in screened launches.
extern "C" fn release_screened(frame: *mut Frame, name: u32, lanes: u32, holding: u32) {
    // SAFETY: see `release`.
    unsafe { ((*frame).completed)(frame, name, lanes) };
    release(frame, name, lanes, holding);
}

/// Executes an operation on all lanes of rows in the frame's room for lanes, the first of which it
/// replaces.
extern "C" fn rare(frame: *mut Frame, number: u32) {
    // SAFETY: code has stored the operands there before it calls, and only it and this access them.
    let room = unsafe { (*frame).lane_room.assume_init_mut() };
    if let Some(operation) = RareOperation::numbered(number) {
        operation.execute(&mut room.0);
    }
}

/// Replaces a row in the frame's room for lanes by the lanes among some that have the same values
/// of so many rows there, as bits.
extern "C" fn match_lanes(frame: *mut Frame, lanes: u32, rows: u32) {
    // SAFETY: as in `rare`.
    let room = unsafe { (*frame).lane_room.assume_init_mut() };
    crate::cranelift::match_lanes(&mut room.0, lanes, rows as usize);
}
