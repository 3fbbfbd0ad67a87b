//! Events: points in time on streams.

use cuda_abi::host::{Ptr, put, put_u64};
use cuda_abi::{CUevent_flags, CUevent_record_flags, Outcome, Status};

use super::capture;
use crate::execution::order::{self, BLOCKED};
use crate::state::Driver;
use crate::state::action::Action;
use crate::state::pending::Work;
use crate::state::stream::EventState;

/// All flags of events.
const FLAGS: u32 = CUevent_flags::BLOCKING_SYNC as u32 | DISABLE_TIMING | INTERPROCESS;
/// The flag of events without times.
const DISABLE_TIMING: u32 = CUevent_flags::DISABLE_TIMING as u32;
/// The flag of events for other processes.
const INTERPROCESS: u32 = CUevent_flags::INTERPROCESS as u32;
/// The flags that events for other processes have.
pub(super) const SHARED: u32 = DISABLE_TIMING | INTERPROCESS;

pub(crate) fn create(d: &mut Driver, out: Ptr, flags: u32) -> Outcome {
    let context = d.usable()?;
    // As the interface says, interprocess events must be without times.
    if flags & !FLAGS != 0 || (flags & INTERPROCESS != 0 && flags & DISABLE_TIMING == 0) {
        return Err(Status::INVALID_VALUE);
    }
    let handle = d.handle();
    put_u64(out, handle)?;
    d.events.insert(handle, EventState::new(context, flags));
    Ok(())
}

pub(crate) fn destroy(d: &mut Driver, event: u64) -> Outcome {
    d.events.remove(&event).map(drop).ok_or(Status::INVALID_HANDLE)
}

pub(crate) fn record(d: &mut Driver, event: u64, stream: u64) -> Outcome {
    let context = d.stream_context(stream)?;
    // An event can only be recorded on streams of its own context.
    d.events.get(&event).filter(|e| e.context == context).ok_or(Status::INVALID_HANDLE)?;
    let point = capture::point(d, stream)?;
    let found = d.events.get_mut(&event).ok_or(Status::INVALID_HANDLE)?;
    found.point = point;
    if found.point.is_some() {
        return Ok(());
    }
    let number = found.request();
    order::submit(d, context, stream, Work::Record { event, number })
}

/// Records an event. An external recording becomes part of a capture itself.
pub(crate) fn record_with_flags(d: &mut Driver, event: u64, stream: u64, flags: u32) -> Outcome {
    match CUevent_record_flags::of(flags as i32)? {
        CUevent_record_flags::DEFAULT => record(d, event, stream),
        CUevent_record_flags::EXTERNAL => {
            let action = recording(d, event)?;
            capture::submit(d, stream, action)
        }
    }
}

/// Creates the action that records an event.
pub(crate) fn recording(d: &Driver, event: u64) -> Outcome<Action> {
    d.events.get(&event).map(|_| Action::Record(event)).ok_or(Status::INVALID_HANDLE)
}

/// Waits for the last record of an event. Returns the context's error, if any.
pub(crate) fn synchronize(d: &mut Driver, event: u64) -> Outcome {
    let event = d.events.get(&event).ok_or(Status::INVALID_HANDLE)?;
    if event.point.is_some() {
        return Err(Status::CAPTURED_EVENT);
    }
    if let Some(failed) = d.context(event.context)?.failed {
        return Err(failed);
    }
    if event.is_settled() { Ok(()) } else { Err(BLOCKED) }
}

/// Does the same without waiting.
pub(crate) fn query(d: &mut Driver, event: u64) -> Outcome {
    synchronize(d, event)
        .map_err(|status| if status == BLOCKED { Status::NOT_READY } else { status })
}

pub(crate) fn elapsed(d: &mut Driver, out: Ptr, start: u64, end: u64) -> Outcome {
    let find = |event: u64| d.events.get(&event).ok_or(Status::INVALID_HANDLE);
    let (start, end) = (find(start)?, find(end)?);
    if (start.flags | end.flags) & DISABLE_TIMING != 0 || start.context != end.context {
        return Err(Status::INVALID_HANDLE);
    }
    if start.point.is_some() || end.point.is_some() {
        return Err(Status::CAPTURED_EVENT);
    }
    if !start.is_settled() || !end.is_settled() {
        return Err(Status::NOT_READY);
    }
    let (Some(from), Some(to)) = (start.at, end.at) else { return Err(Status::INVALID_HANDLE) };
    let milliseconds = match to.checked_duration_since(from) {
        Some(time) => time.as_secs_f32() * 1e3,
        None => -(from.duration_since(to).as_secs_f32() * 1e3),
    };
    put(out, &milliseconds)
}
