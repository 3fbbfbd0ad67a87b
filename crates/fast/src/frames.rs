//! Calls by address, and frames of functions that call themselves.
//!
//! Such a function has one copy ([`crate::inline`]), whose registers are those of the frame that
//! runs. A call from inside keeps the caller's registers, of all lanes that call, and the caller
//! puts them back when all of these have returned. Lanes that are in a function at the same time
//! are there by the same calls, for all lanes of a call wait for each other behind it. So frames
//! form a stack of the warp, although functions that lanes call by different addresses have a frame
//! each: the frames on top whose lanes have returned are theirs.

use crate::Declined;
use crate::code::{Code, Dst, End, SaveFrame, Src};
use crate::machine::Machine;
use crate::row::{Wide, lanes};
use crate::warp::Warp;

/// Registers of a caller, in the lanes that have called.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    lanes: u32,
    /// Bytes of the stack that this frame and those of the same function's earlier calls take.
    taken: u64,
    rows: Vec<Wide>,
}

impl Frame {
    /// Calls a function with all that it consists of.
    pub(crate) fn words(&self, to: &mut dyn FnMut(u64)) {
        to(self.lanes.into());
        for row in &self.rows {
            lanes(self.lanes).for_each(|lane| to(row.0[lane]));
        }
    }
}

impl Warp {
    /// Keeps a frame of lanes that call.
    pub(crate) fn save_frame(&mut self, frame: &SaveFrame, on: u32) -> Result<(), Declined> {
        let caller = self.frames.iter().rev().find(|frame| frame.lanes & on == on);
        let taken = caller.map_or(0, |frame| frame.taken) + frame.caller;
        if frame.below + taken + frame.callee > frame.limit {
            return Err(Declined::Running("its calls need more stack than there is"));
        }
        let rows = frame.src.iter().map(|&src| self.wide(src)).collect();
        self.frames.push(Frame { lanes: on, taken, rows });
        Ok(())
    }

    /// Puts back the frames of lanes that have returned.
    pub(crate) fn restore_frame(&mut self, dst: &[Dst], on: u32) {
        let mut left = on;
        while left != 0
            && let Some(frame) = self.frames.pop()
        {
            for (&dst, row) in dst.iter().zip(&frame.rows) {
                self.put_each(dst, frame.lanes & on, |lane| row.0[lane]);
            }
            left &= !frame.lanes;
        }
    }
}

impl Code {
    /// Returns the block at which lanes are back that a return leads to `back`.
    pub(crate) fn returns_to(&self, back: u32, warp: &Warp, on: u32) -> Result<u32, Declined> {
        let (End::ReturnBy(site, backs), Some(lane)) =
            (&self.blocks[back as usize].end, lanes(on).next())
        else {
            return Ok(back);
        };
        let number = usize::try_from(warp.lane(*site, lane)).ok();
        let to = number.and_then(|number| backs.get(number));
        to.copied().ok_or(Declined::Running("lanes return to no call"))
    }
}

impl Machine<'_> {
    /// Has lanes call the functions whose addresses they have, by the call at place `at`.
    pub(crate) fn call_by_address(
        &mut self,
        warp: &mut Warp,
        at: u64,
        (address, callees, back): (Src, &[(u64, u32)], u32),
        on: u32,
    ) -> Result<(), Declined> {
        let other = Declined::Running("it calls by another address");
        let targets = self.context.code.targets(on, |lane| {
            let address = warp.lane(address, lane);
            callees.iter().find(|callee| callee.0 == address).map(|callee| callee.1).ok_or(other)
        })?;
        self.count_branch(&targets);
        if let Some(detail) = &mut self.detail {
            detail.call_by_address(targets.len());
        }
        self.back_edges += u32::from(targets.iter().any(|target| target.1 <= at));
        match targets[..] {
            [(to, ..)] => warp.stack.call(to, back),
            _ => warp.stack.call_each(at, &targets, back),
        }
        Ok(())
    }
}
