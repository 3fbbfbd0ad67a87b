//! Services of the system: output, allocation, assertions, traps.

use crate::access::home_of;
use crate::cause::Cause;
use crate::code::{Code, Exec, Src};
use crate::control::{fail, value};
use crate::engine::{Executed, Failure, Now, Outcome};
use crate::printf::{STRING_LIMIT, c_string, print, print_formatted};
use crate::state::State;
use compute::space_of;
use ir::mods::Space;
use simt::LaneMask;
use simt::memory::{Addr, Width};

pub(crate) fn execute<const N: usize>(
    state: &mut State<N>,
    now: &Now<N>,
    code: &Code,
) -> Executed<N> {
    match &code.exec {
        Exec::Trap if now.on.any() => return Err(fail(Cause::Trap, now.on)),
        Exec::Breakpoint if now.on.any() => return Err(fail(Cause::Breakpoint, now.on)),
        Exec::Malloc { dst, size } => {
            for lane in now.on {
                let size = operand(state, now, *size, lane);
                let address = state.heap.allocate(&mut state.memory, size, now.pc);
                result(state, now, *dst, lane, address);
            }
        }
        Exec::Free(address) => {
            for lane in now.on {
                let address = operand(state, now, *address, lane);
                let freed = state.heap.free(&mut state.memory, address);
                freed.map_err(|cause| fail(cause, LaneMask::lane(lane)))?;
            }
        }
        Exec::Printf { dst, format, args } => {
            for lane in now.on {
                let (format, args) =
                    (operand(state, now, *format, lane), operand(state, now, *args, lane));
                let at = (now.slot, now.group);
                let mut out = Vec::new();
                let printed = print_formatted(format, args, &mut out, &mut |place, width| {
                    byte_words(state, at, lane, place, width)
                });
                let count = printed.map_err(|e| fail(e, LaneMask::lane(lane)))?;
                state.print(&out);
                if let Some(dst) = dst {
                    result(state, now, *dst, lane, u64::from(count));
                }
            }
        }
        Exec::AssertFail { message, file, line, function } => {
            let Some(lane) = now.on.lowest() else { return Ok(Outcome::Advance) };
            let text = |src: &Src| -> Result<String, Failure<N>> {
                let at = operand(state, now, *src, lane);
                let group = (now.slot, now.group);
                let mut read = |at, width| byte_words(state, group, lane, at, width);
                let bytes = c_string(&mut read, at, STRING_LIMIT)
                    .map_err(|e| fail(e, LaneMask::lane(lane)))?;
                Ok(String::from_utf8_lossy(&bytes).into_owned())
            };
            let (message, file, function) = (text(message)?, text(file)?, text(function)?);
            let line = operand(state, now, *line, lane) as u32;
            return Err(fail(Cause::Assert { message, file, line, function }, now.on));
        }
        Exec::Sreg { reg, dst, bits } => crate::sreg::execute(state, now, *reg, *dst, *bits),
        _ => {}
    }
    Ok(Outcome::Advance)
}

/// The places and widths of the arguments that `printf` of a lane reads, given the slot and the
/// group of the lane, and the addresses of the format and of the arguments.
pub(crate) fn printed<const N: usize>(
    state: &State<N>,
    group: (usize, usize),
    lane: usize,
    (format, args): (u64, u64),
) -> Vec<(u64, Width)> {
    let mut places = Vec::new();
    let mut read = |at, width| byte_words(state, group, lane, at, width);
    let Ok(text) = c_string(&mut read, format, STRING_LIMIT) else { return places };
    // An argument that cannot be read is the fault of the instruction itself.
    let _ = print(&text, args, &mut Vec::new(), &mut |at, width| {
        places.push((at, width));
        read(at, width)
    });
    places
}

fn operand<const N: usize>(state: &State<N>, now: &Now<N>, src: Src, lane: usize) -> u64 {
    let Some(cta) = state.resident[now.slot].as_deref() else { return 0 };
    value(cta, now.group, &state.info.vars, src, cta.groups[now.group].thread(lane))
}

fn result<const N: usize>(state: &mut State<N>, now: &Now<N>, row: u32, lane: usize, value: u64) {
    let Some(cta) = state.resident[now.slot].as_deref_mut() else { return };
    let thread = cta.groups[now.group].thread(lane);
    cta.set_row(row, thread, value);
}

/// A value at a generic address, as the thread in a lane sees it.
fn byte_words<const N: usize>(
    state: &State<N>,
    (slot, group): (usize, usize),
    lane: usize,
    at: u64,
    width: Width,
) -> Result<u64, Cause> {
    let Some(cta) = state.resident[slot].as_deref() else { return Ok(0) };
    let mut offset = at & 0xffff_ffff;
    let (block, space) = match space_of(at) {
        Space::Shared => {
            // It may be that of another block of the cluster.
            let (home, inside) = home_of(cta, at, true)?;
            offset = inside;
            let Some(owner) = state.resident[home].as_deref() else { return Ok(0) };
            (&owner.shared, Space::Shared)
        }
        Space::Local => (&cta.local[cta.groups[group].thread(lane)], Space::Local),
        Space::Param => (&state.params, Space::Param),
        _ => return Ok(state.memory.load(Addr(at), width)?),
    };
    block.load(offset, width).map_err(|violation| {
        let info = simt::memory::BlockInfo { space, len: block.len(), symbols: &[] };
        let (kind, bytes) = (simt::memory::AccessKind::Load, width.bytes());
        info.error(violation, kind, offset, bytes, bytes).into()
    })
}
