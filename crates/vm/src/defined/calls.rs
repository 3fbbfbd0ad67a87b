//! Undefined bits of arguments and results of functions.

use super::cta::{Bits, CtaBits};
use super::origins::{Decides, OriginId};
use super::{After, At, Definedness};
use crate::code::{CallOp, CallTarget, Code, Exec};
use crate::engine::guarded;
use crate::program::Program;
use crate::state::Cta;
use simt::LaneMask;
use smallvec::SmallVec;

impl Definedness {
    pub(super) fn call<const N: usize>(
        &mut self,
        bits: &mut CtaBits,
        at: &At<'_, N>,
        op: &CallOp,
        lanes: LaneMask<N>,
    ) -> After {
        if let CallTarget::Address(src) = op.target {
            self.decide(bits, at, src, Decides::Address);
        }
        let calls = lanes.iter().map(|lane| {
            let thread = at.thread(lane);
            let args = op.args.iter().map(|&src| bits.source(at.cta, src, thread));
            (thread, args.collect())
        });
        After::Call(calls.collect())
    }

    /// New frames: nothing is defined in them but the arguments.
    pub(super) fn enter<const N: usize>(
        &mut self,
        bits: &mut CtaBits,
        program: &Program,
        cta: &Cta<N>,
        calls: Vec<(usize, SmallVec<[Bits; 4]>)>,
    ) {
        for (thread, args) in calls {
            let Some(frame) = cta.frames.stack[thread].last() else { continue };
            let Some(Exec::Call(op)) =
                program.code.get(frame.return_to.0 as usize - 1).map(|code| &code.exec)
            else {
                continue;
            };
            let callee = match op.target {
                CallTarget::Func(index) => index as usize,
                CallTarget::Address(_) => {
                    // The callee is where the thread is now, which its frame's size tells as well:
                    // nothing but the arguments matters.
                    let (start, end) = cta.frames.local[thread];
                    bits.local[thread].forget(start.into(), end.into());
                    continue;
                }
            };
            let info = &program.functions[callee];
            for (row, &all) in self.rows[callee].iter().enumerate() {
                let all = Bits { bits: all, origin: OriginId::UNWRITTEN };
                bits.set_row(cta, row as u32, thread, all);
            }
            for (&row, arg) in info.params.iter().zip(args) {
                bits.set_row(cta, row, thread, arg);
            }
            let (start, end) = cta.frames.local[thread];
            bits.local[thread].forget(start.into(), end.into());
        }
    }
}

/// The results of a function.
pub(super) fn returned<const N: usize>(
    bits: &CtaBits,
    program: &Program,
    at: &At<'_, N>,
    code: &Code,
) -> After {
    let info = &program.functions[code.function as usize];
    let going = match code.guard {
        Some(guard) => guarded(at.cta, at.group, at.on, guard),
        None => at.on,
    };
    let threads = going.iter().filter_map(|lane| {
        let thread = at.thread(lane);
        let frame = at.cta.frames.stack[thread].last()?;
        let results = info.results.iter().map(|&row| bits.row(at.cta, row, thread));
        Some((thread, frame.return_to, results.collect()))
    });
    After::Return(threads.collect())
}
