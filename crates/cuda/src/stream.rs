//! Streams. All work on a stream is done when the call that submits it returns, unless the stream
//! captures (`crate::capture`).

use crate::action::Action;
use crate::capture;
use crate::driver::{Driver, Stream};
use crate::host::{Ptr, put_i32, put_if, put_u64};
use crate::status::{Outcome, Status};

/// The greatest priority; priorities range from 0 down to this.
pub(crate) const GREATEST_PRIORITY: i32 = -5;

/// The last handle of the built-in streams: the null stream, the legacy stream, the per-thread
/// stream.
const BUILT_IN: u64 = 2;

/// Checks a stream, and returns its context.
pub(crate) fn context_of(d: &Driver, stream: u64) -> Outcome<u64> {
    if stream <= BUILT_IN {
        return d.usable();
    }
    let context = d.streams.get(&stream).ok_or(Status::INVALID_HANDLE)?.context;
    match d.context(context)?.failed {
        Some(failed) => Err(failed),
        None => Ok(context),
    }
}

/// Creates an action and submits it to a stream.
pub(crate) fn on_stream(
    d: &mut Driver,
    stream: u64,
    make: impl FnOnce(&Driver) -> Outcome<Action>,
) -> Outcome {
    context_of(d, stream)?;
    let action = make(d)?;
    capture::submit(d, stream, action)
}

pub(crate) fn create(d: &mut Driver, out: Ptr, flags: u32) -> Outcome {
    create_with(d, out, flags, 0)
}

pub(crate) fn create_with(d: &mut Driver, out: Ptr, flags: u32, priority: i32) -> Outcome {
    let context = d.usable()?;
    if flags > 1 {
        return Err(Status::INVALID_VALUE);
    }
    let handle = d.handle();
    put_u64(out, handle)?;
    let priority = priority.clamp(GREATEST_PRIORITY, 0);
    d.streams.insert(handle, Stream { context, flags, priority, id: handle });
    Ok(())
}

pub(crate) fn destroy(d: &mut Driver, stream: u64) -> Outcome {
    d.streams.remove(&stream).ok_or(Status::INVALID_HANDLE)?;
    capture::forget(d, stream);
    Ok(())
}

/// Returns the context's error, if any. All work is done already.
pub(crate) fn synchronize(d: &mut Driver, stream: u64) -> Outcome {
    context_of(d, stream)?;
    capture::is_captured(d, stream)?;
    capture::refuse_synchronization(d, Some(stream))
}

pub(crate) fn context(d: &mut Driver, stream: u64, out: Ptr) -> Outcome {
    let context = if stream <= BUILT_IN { d.current()? } else { context_of(d, stream)? };
    put_u64(out, context)
}

/// Returns the context, and null for the green context, as since version 12.5.
pub(crate) fn contexts(d: &mut Driver, stream: u64, out: Ptr, green: Ptr) -> Outcome {
    context(d, stream, out)?;
    put_if(green, &[0; 8])
}

pub(crate) fn device(d: &mut Driver, stream: u64, out: Ptr) -> Outcome {
    let context = context_of(d, stream)?;
    put_i32(out, d.context(context)?.device)
}

pub(crate) fn flags(d: &mut Driver, stream: u64, out: Ptr) -> Outcome {
    context_of(d, stream)?;
    put_i32(out, d.streams.get(&stream).map_or(0, |s| s.flags as i32))
}

pub(crate) fn priority(d: &mut Driver, stream: u64, out: Ptr) -> Outcome {
    context_of(d, stream)?;
    put_i32(out, d.streams.get(&stream).map_or(0, |s| s.priority))
}

pub(crate) fn id(d: &mut Driver, stream: u64, out: Ptr) -> Outcome {
    context_of(d, stream)?;
    put_u64(out, d.streams.get(&stream).map_or(stream, |s| s.id))
}

/// Makes a stream wait for an event. With flag 1, the wait itself becomes part of a capture.
pub(crate) fn wait_event(d: &mut Driver, stream: u64, event: u64, flags: u32) -> Outcome {
    context_of(d, stream)?;
    if flags > 1 {
        return Err(Status::INVALID_VALUE);
    }
    if flags == 1 {
        crate::event::recording(d, event)?;
        return capture::submit(d, stream, Action::Wait);
    }
    let point = d.events.get(&event).ok_or(Status::INVALID_HANDLE)?.point.clone();
    capture::wait(d, stream, point)
}

pub(crate) fn attach_memory(
    d: &mut Driver,
    stream: u64,
    address: u64,
    _len: usize,
    _flags: u32,
) -> Outcome {
    context_of(d, stream)?;
    d.device.host_around(address).map(drop).ok_or(Status::INVALID_VALUE)
}

pub(crate) fn set_attribute(d: &mut Driver, stream: u64, _attribute: i32, _value: Ptr) -> Outcome {
    context_of(d, stream).map(drop)
}

pub(crate) fn copy_attributes(d: &mut Driver, to: u64, from: u64) -> Outcome {
    context_of(d, to)?;
    context_of(d, from).map(drop)
}
