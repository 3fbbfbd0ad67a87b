//! Output of kernels, by the exact engine's formats ([`vm::print_formatted`]).
//!
//! Output has the order of the canonical schedule, so CTAs that run out of this order do not print:
//! their launch is declined, and begins again on one thread. A format or an argument that cannot be
//! read is left to the exact engine, which reports it.

use crate::Declined;
use crate::code::{Memory, Print};
use crate::machine::Machine;
use crate::memory::{WarpMemory, read};
use crate::row::lanes;
use crate::warp::Warp;
use simt::memory::Width;

/// The reason of a launch whose CTAs are not in the canonical schedule.
pub(crate) const PRINTS: Declined = Declined::Running("it prints");

impl Machine<'_> {
    /// Prints in each active lane, in increasing order.
    #[inline(never)]
    pub(crate) fn print(&mut self, warp: &mut Warp, op: &Print, on: u32) -> Result<(), Declined> {
        // Checks judge what is printed.
        self.screen_other()?;
        if self.is_parallel() {
            return Err(PRINTS);
        }
        let room = self.context.output_room;
        for lane in lanes(on) {
            let (format, args) = (warp.lane(op.format, lane), warp.lane(op.args, lane));
            let thread = warp.first_thread as usize + lane;
            let mut output = std::mem::take(&mut self.output);
            let printed = self.with_memory(|memory| {
                let mut value = |at, width| value(memory, &op.memory, (at, width), thread);
                vm::print_formatted(format, args, &mut output, &mut value)
            });
            output.truncate(room);
            self.output = output;
            warp.put_lane(op.dst, lane, printed?.into());
        }
        Ok(())
    }
}

/// Returns a value at a generic address, as a thread of the CTA sees it.
fn value(
    memory: &WarpMemory<'_, '_>,
    access: &Memory,
    (at, width): (u64, Width),
    thread: usize,
) -> Result<u64, Declined> {
    let len = width.bytes() as usize;
    let place = memory.place(access, at, (width.bytes(), width.bytes()), thread, false)?;
    Ok(read(memory.bytes(place, len), 0, len))
}
