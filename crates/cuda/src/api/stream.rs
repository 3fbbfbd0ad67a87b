//! Streams.

use std::collections::BTreeMap;

use cuda_abi::host::{Ptr, get, put, put_i32, put_if, put_u64};
use cuda_abi::{CUevent_wait_flags, CUstream_flags, CUstreamAttrID, Outcome, Status};

use super::{capture, event as events};
use crate::execution::order::{self, BLOCKED};
use crate::state::Driver;
use crate::state::action::Action;
use crate::state::pending::{ClientCall, Work};
use crate::state::stream::{ATTRIBUTE, BUILT_IN, Stream};

/// The greatest priority; priorities range from 0 down to this.
pub(crate) const GREATEST_PRIORITY: i32 = -5;

pub(crate) fn create(d: &mut Driver, out: Ptr, flags: u32) -> Outcome {
    create_with(d, out, flags, 0)
}

pub(crate) fn create_with(d: &mut Driver, out: Ptr, flags: u32, priority: i32) -> Outcome {
    let context = d.usable()?;
    CUstream_flags::of(flags as i32)?;
    let handle = d.handle();
    put_u64(out, handle)?;
    let priority = priority.clamp(GREATEST_PRIORITY, 0);
    d.streams.insert(
        handle,
        Stream { context, flags, priority, id: handle, attributes: BTreeMap::new() },
    );
    Ok(())
}

pub(crate) fn destroy(d: &mut Driver, stream: u64) -> Outcome {
    d.streams.remove(&stream).ok_or(Status::INVALID_HANDLE)?;
    capture::forget(d, stream);
    Ok(())
}

/// Waits for all work on a stream. Returns the context's error, if any.
pub(crate) fn synchronize(d: &mut Driver, stream: u64) -> Outcome {
    let context = d.stream_context(stream)?;
    capture::is_captured(d, stream)?;
    capture::refuse_synchronization(d, Some(stream))?;
    order::stream_settled(d, context, stream)
}

/// Does the same without waiting.
pub(crate) fn query(d: &mut Driver, stream: u64) -> Outcome {
    synchronize(d, stream)
        .map_err(|status| if status == BLOCKED { Status::NOT_READY } else { status })
}

/// Calls a function of the client in stream order.
pub(crate) fn call(d: &mut Driver, stream: u64, function: Ptr, data: Ptr) -> Outcome {
    if function == 0 {
        return Err(Status::INVALID_VALUE);
    }
    capture::submit(d, stream, Action::Call { function, data })
}

/// Calls a function of the client that receives the stream's status.
pub(crate) fn add_callback(
    d: &mut Driver,
    stream: u64,
    function: Ptr,
    data: Ptr,
    flags: u32,
) -> Outcome {
    if function == 0 || flags != 0 {
        return Err(Status::INVALID_VALUE);
    }
    let context = d.stream_context(stream)?;
    capture::refuse_synchronization(d, Some(stream))?;
    let call = ClientCall::Stream { stream, function, data };
    order::submit(d, context, stream, Work::Call(call))
}

pub(crate) fn context(d: &mut Driver, stream: u64, out: Ptr) -> Outcome {
    let context = if stream <= BUILT_IN { d.current()? } else { d.stream_context(stream)? };
    put_u64(out, context)
}

/// Returns the context, and null for the green context, as since version 12.5.
pub(crate) fn contexts(d: &mut Driver, stream: u64, out: Ptr, green: Ptr) -> Outcome {
    context(d, stream, out)?;
    put_if(green, &0_u64)
}

pub(crate) fn device(d: &mut Driver, stream: u64, out: Ptr) -> Outcome {
    let context = d.stream_context(stream)?;
    put_i32(out, d.context(context)?.device)
}

pub(crate) fn flags(d: &mut Driver, stream: u64, out: Ptr) -> Outcome {
    d.stream_context(stream)?;
    put_i32(out, d.streams.get(&stream).map_or(0, |s| s.flags as i32))
}

pub(crate) fn priority(d: &mut Driver, stream: u64, out: Ptr) -> Outcome {
    d.stream_context(stream)?;
    put_i32(out, d.streams.get(&stream).map_or(0, |s| s.priority))
}

pub(crate) fn id(d: &mut Driver, stream: u64, out: Ptr) -> Outcome {
    d.stream_context(stream)?;
    put_u64(out, d.streams.get(&stream).map_or(stream, |s| s.id))
}

/// Makes a stream wait for an event. An external wait becomes part of a capture itself.
pub(crate) fn wait_event(d: &mut Driver, stream: u64, event: u64, flags: u32) -> Outcome {
    d.stream_context(stream)?;
    if CUevent_wait_flags::of(flags as i32)? == CUevent_wait_flags::EXTERNAL {
        events::recording(d, event)?;
        return capture::submit(d, stream, Action::Wait(event));
    }
    let found = d.events.get(&event).ok_or(Status::INVALID_HANDLE)?;
    let (point, number, is_done) = (found.point.clone(), found.requested(), found.is_settled());
    capture::wait(d, stream, point)?;
    if !is_done {
        let context = d.stream_context(stream)?;
        order::submit(d, context, stream, Work::Await { event, number })?;
    }
    Ok(())
}

pub(crate) fn attach_memory(
    d: &mut Driver,
    stream: u64,
    address: u64,
    _len: usize,
    _flags: u32,
) -> Outcome {
    d.stream_context(stream)?;
    d.device.host_around(address).map(drop).ok_or(Status::INVALID_VALUE)
}

/// Sets an attribute, which has no effect but for the priority.
pub(crate) fn set_attribute(d: &mut Driver, stream: u64, attribute: i32, value: Ptr) -> Outcome {
    d.stream_context(stream)?;
    let attribute = CUstreamAttrID::of(attribute)?;
    let value = get::<[u8; ATTRIBUTE]>(value)?;
    // Those of built-in streams are not kept.
    if let Some(stream) = d.streams.get_mut(&stream) {
        if attribute == CUstreamAttrID::PRIORITY {
            let [a, b, c, d, ..] = value;
            stream.priority = i32::from_ne_bytes([a, b, c, d]).clamp(GREATEST_PRIORITY, 0);
        }
        stream.attributes.insert(attribute, value);
    }
    Ok(())
}

/// Writes the value of an attribute: zeros if it was not set.
pub(crate) fn attribute(d: &mut Driver, stream: u64, attribute: i32, out: Ptr) -> Outcome {
    d.stream_context(stream)?;
    let attribute = CUstreamAttrID::of(attribute)?;
    let found = d.streams.get(&stream);
    let mut value = [0; ATTRIBUTE];
    match found.and_then(|stream| stream.attributes.get(&attribute)) {
        Some(set) => value = *set,
        None if attribute == CUstreamAttrID::PRIORITY => {
            let priority = found.map_or(0, |stream| stream.priority);
            value[..4].copy_from_slice(&priority.to_ne_bytes());
        }
        // 1 is the automatic choice.
        None if attribute == CUstreamAttrID::SYNCHRONIZATION_POLICY => value[0] = 1,
        None => {}
    }
    put(out, &value)
}

pub(crate) fn copy_attributes(d: &mut Driver, to: u64, from: u64) -> Outcome {
    if d.stream_context(to)? != d.stream_context(from)? {
        return Err(Status::INVALID_VALUE);
    }
    let from = d.streams.get(&from).map(|stream| (stream.priority, stream.attributes.clone()));
    if let (Some(to), Some(from)) = (d.streams.get_mut(&to), from) {
        (to.priority, to.attributes) = from;
    }
    Ok(())
}
