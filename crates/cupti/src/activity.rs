//! Activities: which are recorded, and how records come into the client's buffers.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use cuda_abi::host::{Ptr, get, get_bytes, put, put_bytes, put_if, put_u64};

use crate::client;
use crate::listener;
use crate::records::*;
use crate::state::{Buffer, State, with};
use crate::status::{Outcome, Status};

/// The number of kinds of activities, and of attributes, in the header.
const KINDS: u32 = 60;
const ATTRIBUTES: i32 = 24;

/// The client's clock; 0 for the host's.
static CLOCK: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// What the client is doing in this thread, by kinds of its own numbers.
    static EXTERNAL: RefCell<BTreeMap<u32, Vec<u64>>> = const { RefCell::new(BTreeMap::new()) };
}

/// Returns the time in nanoseconds, or by the client's clock.
pub(crate) fn now() -> u64 {
    match CLOCK.load(Ordering::Relaxed) {
        0 => SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64),
        clock => client::timestamp(clock),
    }
}

pub(crate) fn timestamp(out: Ptr) -> Outcome {
    Ok(put_u64(out, now())?)
}

pub(crate) fn set_clock(function: Ptr) -> Outcome {
    if function == 0 {
        return Err(Status::INVALID_PARAMETER);
    }
    CLOCK.store(function, Ordering::Relaxed);
    Ok(())
}

/// Returns whether there are records of a kind; overhead is there none.
fn is_recorded(kind: u32) -> bool {
    size(kind).is_some() || kind == CUPTI_ACTIVITY_KIND_OVERHEAD
}

pub(crate) fn enable(kind: u32) -> Outcome {
    if !is_recorded(kind) {
        return Err(Status::INVALID_KIND);
    }
    with(|state| state.kinds.insert(kind));
    listener::update()
}

pub(crate) fn disable(kind: u32) -> Outcome {
    if kind == 0 || kind >= KINDS {
        return Err(Status::INVALID_KIND);
    }
    with(|state| state.kinds.remove(&kind));
    listener::update()
}

/// Has calls of one function recorded, or not.
pub(crate) fn enable_function(kind: u32, number: u32, enable: u8) -> Outcome {
    with(|state| match enable {
        0 => state.silent.insert((kind, number)),
        _ => state.silent.remove(&(kind, number)),
    });
    Ok(())
}

pub(crate) fn register(request: Ptr, complete: Ptr) -> Outcome {
    if request == 0 || complete == 0 {
        return Err(Status::INVALID_PARAMETER);
    }
    with(|state| state.buffers = Some((request, complete)));
    Ok(())
}

/// Delivers all records.
pub(crate) fn flush() -> Outcome {
    if with(|state| state.buffers.is_none()) {
        return Err(Status::INVALID_OPERATION);
    }
    while with(|state| !state.records.is_empty()) {
        deliver()?;
    }
    Ok(())
}

/// Asks for a buffer for the first record, as clients expect who then ask for records, and delivers
/// what fills it.
pub(crate) fn attend() -> Outcome {
    let buffers = with(|state| state.buffers.filter(|_| !state.records.is_empty()));
    let Some((request, _)) = buffers else { return Ok(()) };
    let buffer = buffer(request)?;
    if with(|state| state.bytes >= buffer.room || state.records.len() >= buffer.most) {
        deliver()?;
    }
    Ok(())
}

/// Returns the buffer that waits for records, or a new one.
fn buffer(request: Ptr) -> Outcome<Buffer> {
    if let Some(known) = with(|state| state.buffer) {
        return Ok(known);
    }
    let (at, room, most) = client::request(request);
    if at == 0 || room == 0 {
        return Err(Status::OUT_OF_MEMORY);
    }
    let made = Buffer { at, room, most: if most == 0 { usize::MAX } else { most } };
    with(|state| state.buffer = Some(made));
    Ok(made)
}

/// Moves records into a buffer of the client, and hands it back.
fn deliver() -> Outcome {
    let Some((request, complete)) = with(|state| state.buffers) else { return Ok(()) };
    let Buffer { at, room, most } = buffer(request)?;
    let bytes = with(|state| {
        // Another thread may have handed it back already.
        state.buffer.take().map(|_| taken(state, room, most))
    });
    let Some(bytes) = bytes else { return Ok(()) };
    let written = put_bytes(at, &bytes);
    let used = if written.is_ok() { bytes.len() } else { 0 };
    client::complete(complete, at, room, used);
    Ok(written?)
}

/// Takes records that fit. One that fits into no buffer is dropped.
fn taken(state: &mut State, room: usize, most: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut count = 0;
    while count < most
        && state.records.front().is_some_and(|record| bytes.len() + record.len() <= room)
        && let Some(record) = state.pop()
    {
        bytes.extend_from_slice(&record);
        count += 1;
    }
    if bytes.is_empty() && state.pop().is_some() {
        state.dropped += 1;
    }
    bytes
}

pub(crate) fn dropped(out: Ptr) -> Outcome {
    let dropped = with(|state| std::mem::take(&mut state.dropped));
    Ok(put(out, &dropped)?)
}

/// Writes where the next record of a buffer is; the first, if there is none yet.
pub(crate) fn next_record(buffer: Ptr, used: usize, record: Ptr) -> Outcome {
    let last: usize = get(record)?;
    if buffer == 0 {
        return Err(Status::INVALID_PARAMETER);
    }
    let size_at = |at: usize| size(get(at)?).ok_or(Status::INVALID_KIND);
    let end = buffer.checked_add(used).ok_or(Status::INVALID_PARAMETER)?;
    let next = match last {
        0 => buffer,
        _ if !(buffer..end).contains(&last) => return Err(Status::INVALID_PARAMETER),
        _ => last.saturating_add(size_at(last)?),
    };
    if next >= end || end - next < size_at(next)? {
        return Err(Status::MAX_LIMIT_REACHED);
    }
    Ok(put(record, &next)?)
}

pub(crate) fn record_size(kind: u32, out: Ptr) -> Outcome {
    Ok(put(out, &size(kind).ok_or(Status::INVALID_KIND)?)?)
}

/// Keeps an attribute; none changes anything here.
pub(crate) fn set_attribute(attribute: i32, len: Ptr, value: Ptr) -> Outcome {
    let len: usize = get(len)?;
    if !(0..ATTRIBUTES).contains(&attribute) || len > 64 {
        return Err(Status::INVALID_PARAMETER);
    }
    let mut bytes = vec![0; len];
    get_bytes(value, &mut bytes)?;
    with(|state| state.attributes.insert(attribute, bytes));
    Ok(())
}

/// Writes an attribute that was set.
pub(crate) fn attribute(attribute: i32, len: Ptr, value: Ptr) -> Outcome {
    let room: usize = get(len)?;
    let set = with(|state| state.attributes.get(&attribute).cloned());
    let bytes = set.ok_or(Status::INVALID_PARAMETER)?;
    if room < bytes.len() {
        return Err(Status::PARAMETER_SIZE_NOT_SUFFICIENT);
    }
    put(len, &bytes.len())?;
    Ok(put_bytes(value, &bytes)?)
}

// What the client is doing.

fn checked(kind: u32) -> Outcome {
    let known = CUPTI_EXTERNAL_CORRELATION_KIND_UNKNOWN..=CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2;
    if known.contains(&kind) { Ok(()) } else { Err(Status::INVALID_PARAMETER) }
}

pub(crate) fn push_external(kind: u32, id: u64) -> Outcome {
    checked(kind)?;
    EXTERNAL.with_borrow_mut(|all| all.entry(kind).or_default().push(id));
    Ok(())
}

pub(crate) fn pop_external(kind: u32, out: Ptr) -> Outcome {
    checked(kind)?;
    let last = EXTERNAL.with_borrow_mut(|all| all.get_mut(&kind).and_then(Vec::pop));
    Ok(put_if(out, &last.ok_or(Status::QUEUE_EMPTY)?)?)
}

/// Records in which of them a call is made.
pub(crate) fn correlate(state: &mut State, correlation: u32) {
    let kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
    if !state.kinds.contains(&kind) {
        return;
    }
    EXTERNAL.with_borrow(|all| {
        for (&external_kind, ids) in all {
            if let Some(&id) = ids.last() {
                let record = ExternalCorrelation {
                    kind,
                    externalKind: external_kind,
                    externalId: id,
                    correlationId: correlation,
                    reserved: 0,
                };
                state.push(record.to_bytes());
            }
        }
    });
}

// Numbers of handles in records.

pub(crate) fn context_number(context: u64, out: Ptr) -> Outcome {
    if context == 0 {
        return Err(Status::INVALID_CONTEXT);
    }
    let number = with(|state| state.context(context));
    Ok(put(out, &number)?)
}

pub(crate) fn stream_number(stream: u64, out: Ptr) -> Outcome {
    let number = with(|state| state.stream(stream));
    Ok(put(out, &number)?)
}

/// Ends everything.
pub(crate) fn finalize() -> Outcome {
    with(State::reset);
    CLOCK.store(0, Ordering::Relaxed);
    listener::update()
}
