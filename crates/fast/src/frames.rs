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
    /// What this frame and the frames that were kept before it in its lanes take.
    taken: StackBytes,
    rows: Vec<Wide>,
}

/// Bytes of a thread's stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StackBytes {
    /// Those of registers and of local variables.
    pub(crate) all: u64,
    /// Those of local variables.
    pub(crate) local: u64,
}

impl StackBytes {
    /// Returns what frames take with rows of registers and bytes of local variables.
    pub(crate) fn of(rows: u64, local: u64) -> Self {
        Self { all: 8 * rows + local, local }
    }

    /// Returns the larger number of each kind.
    pub(crate) fn max(self, other: Self) -> Self {
        Self { all: self.all.max(other.all), local: self.local.max(other.local) }
    }
}

impl std::ops::Add for StackBytes {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let all = self.all.saturating_add(other.all);
        Self { all, local: self.local.saturating_add(other.local) }
    }
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
    /// Keeps a frame of lanes that call. Returns the stack that is in use in these lanes with the
    /// frames of the callee.
    fn save_frame(&mut self, frame: &SaveFrame, on: u32) -> Result<StackBytes, Declined> {
        let caller = self.frames.iter().rev().find(|frame| frame.lanes & on == on);
        let taken = caller.map_or(StackBytes::default(), |frame| frame.taken) + frame.caller;
        let used = frame.below + taken + frame.callee;
        if used.all > frame.limit {
            return Err(Declined::Running("its calls need more stack than there is"));
        }
        let rows = frame.src.iter().map(|&src| self.wide(src)).collect();
        self.frames.push(Frame { lanes: on, taken, rows });
        Ok(used)
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
    /// Keeps a frame of lanes that call, and has the local variables of the callee in reach.
    pub(crate) fn save_frame(
        &mut self,
        warp: &mut Warp,
        frame: &SaveFrame,
        on: u32,
    ) -> Result<(), Declined> {
        let used = warp.save_frame(frame, on)?.local as usize;
        if used > self.context.code.local_bytes {
            return Err(Declined::Running("its calls need more local memory than a thread has"));
        }
        self.ctas[self.slot].storage.local.extend_to(used);
        Ok(())
    }

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
