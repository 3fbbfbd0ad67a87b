//! Events: points in time on streams.

use std::time::Instant;

use crate::driver::Driver;
use crate::host::{Ptr, put, put_u64};
use crate::status::{Outcome, Status};

/// The flag of events without times.
const DISABLE_TIMING: u32 = 2;

/// An event, and when it was recorded.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) context: u64,
    flags: u32,
    at: Option<Instant>,
}

pub(crate) fn create(d: &mut Driver, out: Ptr, flags: u32) -> Outcome {
    let context = d.usable()?;
    // Events that other processes see need no times, and there is no other process.
    if flags > 7 || (flags & 4 != 0 && flags & DISABLE_TIMING == 0) {
        return Err(Status::INVALID_VALUE);
    }
    let handle = d.handle();
    put_u64(out, handle)?;
    d.events.insert(handle, Recorded { context, flags, at: None });
    Ok(())
}

pub(crate) fn destroy(d: &mut Driver, event: u64) -> Outcome {
    d.events.remove(&event).map(drop).ok_or(Status::INVALID_HANDLE)
}

pub(crate) fn record(d: &mut Driver, event: u64, stream: u64) -> Outcome {
    crate::stream::context_of(d, stream)?;
    let event = d.events.get_mut(&event).ok_or(Status::INVALID_HANDLE)?;
    event.at = Some(Instant::now());
    Ok(())
}

pub(crate) fn record_with_flags(d: &mut Driver, event: u64, stream: u64, _flags: u32) -> Outcome {
    record(d, event, stream)
}

/// Whatever was recorded is done; what failed is told.
pub(crate) fn query(d: &mut Driver, event: u64) -> Outcome {
    let event = d.events.get(&event).ok_or(Status::INVALID_HANDLE)?;
    d.context(event.context)?.failed.map_or(Ok(()), Err)
}

pub(crate) fn elapsed(d: &mut Driver, out: Ptr, start: u64, end: u64) -> Outcome {
    let find = |event: u64| d.events.get(&event).ok_or(Status::INVALID_HANDLE);
    let (start, end) = (find(start)?, find(end)?);
    if (start.flags | end.flags) & DISABLE_TIMING != 0 {
        return Err(Status::INVALID_HANDLE);
    }
    let (Some(from), Some(to)) = (start.at, end.at) else { return Err(Status::INVALID_HANDLE) };
    let milliseconds = match to.checked_duration_since(from) {
        Some(time) => time.as_secs_f32() * 1e3,
        None => -(from.duration_since(to).as_secs_f32() * 1e3),
    };
    put(out, &milliseconds.to_ne_bytes())
}
