//! Stream capture: work submitted to a stream becomes nodes of a graph instead of being done.
//!
//! A capture begins on one stream. Another stream joins it by waiting for an event recorded on a
//! participating stream, and must be joined back to the first stream in the same way before the
//! capture ends there. A call that cannot become part of a graph, such as one that waits for a
//! stream, is refused and invalidates the capture, as the driver's documentation says of each call.

use std::cell::Cell;

use cuda_abi::host::{Ptr, get, get_list, put_i32, put_if, put_u64, put_u64_if};
use cuda_abi::{
    CUstreamCaptureMode, CUstreamCaptureStatus, CUstreamUpdateCaptureDependencies_flags, Outcome,
    Status,
};

use super::edges::{self, Dependencies};
use super::graph;
use crate::execution::order;
use crate::state::Driver;
use crate::state::action::Action;
use crate::state::capture::{Capture, CapturePoint, CapturingStream};
use crate::state::pending::Work;
use crate::state::stream::LEGACY;

thread_local! {
    /// The mode that applies to this thread's potentially unsafe calls.
    static MODE: Cell<CUstreamCaptureMode> = const { Cell::new(CUstreamCaptureMode::GLOBAL) };
}

/// Does an action, or adds it to the graph that the stream captures.
pub(crate) fn submit(d: &mut Driver, stream: u64, action: Action) -> Outcome {
    let context = d.stream_context(stream)?;
    if !is_captured(d, stream)? {
        return order::submit(d, context, stream, Work::Action(action));
    }
    add(d, stream, action)
}

/// Creates an action and submits it to a stream.
pub(crate) fn submit_new(
    d: &mut Driver,
    stream: u64,
    make: impl FnOnce(&Driver) -> Outcome<Action>,
) -> Outcome {
    d.stream_context(stream)?;
    let action = make(d)?;
    submit(d, stream, action)
}

/// Creates the action of a call that returns when its work is done, and does it on the null stream.
pub(crate) fn submit_now(d: &mut Driver, make: impl FnOnce(&Driver) -> Outcome<Action>) -> Outcome {
    let context = d.stream_context(0)?;
    order::stream_settled(d, context, 0)?;
    submit_new(d, 0, make)
}

/// Checks whether a stream captures. Work on the null stream waits for captured blocking streams,
/// which is impossible, so it invalidates their capture.
pub(crate) fn is_captured(d: &mut Driver, stream: u64) -> Outcome<bool> {
    if let Some(part) = d.captures.streams.get(&stream) {
        let invalidated = d.captures.is_invalidated(part.capture);
        return if invalidated { Err(Status::STREAM_CAPTURE_INVALIDATED) } else { Ok(true) };
    }
    if stream <= LEGACY {
        // Each context has a null stream of its own.
        let context = d.current()?;
        let blocking =
            |s: &u64| d.streams.get(s).is_some_and(|s| s.flags == 0 && s.context == context);
        let conflicting =
            d.captures.streams.iter().find(|(s, _)| blocking(s)).map(|(_, p)| p.capture);
        if let Some(capture) = conflicting {
            d.captures.invalidate(capture);
            return Err(Status::STREAM_CAPTURE_IMPLICIT);
        }
    }
    Ok(false)
}

/// Adds an action that depends on the stream's last nodes.
pub(crate) fn add(d: &mut Driver, stream: u64, action: Action) -> Outcome {
    let part = d.captures.streams.get(&stream).ok_or(Status::ILLEGAL_STATE)?;
    let capture = d.captures.live.get(&part.capture).ok_or(Status::ILLEGAL_STATE)?;
    let (graph, after) = (capture.graph, part.after.clone());
    let node = edges::insert(d, graph, after, action)?;
    if let Some(part) = d.captures.streams.get_mut(&stream) {
        part.after = vec![node];
    }
    Ok(())
}

/// Refuses a call that waits for a captured stream, or, with `None`, for all streams of the current
/// context.
pub(crate) fn refuse_synchronization(d: &mut Driver, stream: Option<u64>) -> Outcome {
    let here = std::thread::current().id();
    let parts = &d.captures.streams;
    let conflicting = match stream {
        Some(stream) => parts.get(&stream).map(|p| p.capture),
        // Neither a thread in relaxed mode nor another thread's thread-local capture refuses the
        // call.
        None if MODE.get() == CUstreamCaptureMode::RELAXED => None,
        None => {
            let context = d.current()?;
            let hinders = |c: &Capture| {
                let theirs = d.streams.get(&c.origin).is_some_and(|s| s.context == context);
                theirs
                    && match c.mode {
                        CUstreamCaptureMode::GLOBAL => true,
                        CUstreamCaptureMode::THREAD_LOCAL => c.thread == here,
                        CUstreamCaptureMode::RELAXED => false,
                    }
            };
            d.captures.live.iter().find(|(_, c)| hinders(c)).map(|(&id, _)| id)
        }
    };
    let Some(capture) = conflicting else { return Ok(()) };
    d.captures.invalidate(capture);
    Err(Status::STREAM_CAPTURE_UNSUPPORTED)
}

pub(crate) fn begin(d: &mut Driver, stream: u64, mode: i32) -> Outcome {
    let mode = may_begin(d, stream, mode)?;
    let graph = d.handle();
    d.graphs.add(graph);
    start(d, stream, mode, graph, false, Vec::new());
    Ok(())
}

/// Begins a capture into an existing graph. The first node depends on the given nodes.
pub(crate) fn begin_in(
    d: &mut Driver,
    stream: u64,
    graph: u64,
    after: Dependencies,
    mode: i32,
) -> Outcome {
    let mode = may_begin(d, stream, mode)?;
    let after = after.read(d)?;
    d.graphs.live.get(&graph).filter(|g| g.has(&after)).ok_or(Status::INVALID_VALUE)?;
    start(d, stream, mode, graph, true, after);
    Ok(())
}

/// Checks whether the stream can begin a capture, and returns the mode.
fn may_begin(d: &Driver, stream: u64, mode: i32) -> Outcome<CUstreamCaptureMode> {
    d.stream_context(stream)?;
    let mode = CUstreamCaptureMode::of(mode)?;
    if stream <= LEGACY {
        return Err(Status::STREAM_CAPTURE_UNSUPPORTED);
    }
    if d.captures.streams.contains_key(&stream) { Err(Status::ILLEGAL_STATE) } else { Ok(mode) }
}

fn start(
    d: &mut Driver,
    stream: u64,
    mode: CUstreamCaptureMode,
    graph: u64,
    existing: bool,
    after: Vec<u64>,
) {
    let capture = d.handle();
    let thread = std::thread::current().id();
    let new = Capture { graph, origin: stream, mode, thread, existing, invalidated: false };
    d.captures.live.insert(capture, new);
    d.captures.streams.insert(stream, CapturingStream { capture, after });
}

/// Ends a capture on the stream where it began, and returns the graph.
pub(crate) fn end(d: &mut Driver, stream: u64, out: Ptr) -> Outcome {
    d.stream_context(stream)?;
    let part = d.captures.streams.get(&stream).ok_or(Status::ILLEGAL_STATE)?;
    let id = part.capture;
    let capture = d.captures.live.get_mut(&id).ok_or(Status::ILLEGAL_STATE)?;
    if capture.origin != stream {
        capture.invalidated = true;
        return Err(Status::STREAM_CAPTURE_UNMATCHED);
    }
    if capture.mode != CUstreamCaptureMode::RELAXED && capture.thread != std::thread::current().id()
    {
        return Err(Status::STREAM_CAPTURE_WRONG_THREAD);
    }
    let end = is_joined(d, id, stream);
    let Some(capture) = d.captures.remove(id) else { return Err(Status::ILLEGAL_STATE) };
    match end {
        // The graph of a capture into an existing one is known.
        Ok(()) if capture.existing => put_u64_if(out, capture.graph),
        Ok(()) => put_u64(out, capture.graph),
        Err(status) => {
            if !capture.existing {
                graph::remove(d, capture.graph);
            }
            put_u64_if(out, 0)?;
            Err(status)
        }
    }
}

/// Checks that all streams of a capture have been joined back to its first stream.
fn is_joined(d: &Driver, id: u64, origin: u64) -> Outcome {
    let capture = d.captures.live.get(&id).filter(|c| !c.invalidated);
    let capture = capture.ok_or(Status::STREAM_CAPTURE_INVALIDATED)?;
    let graph = d.graphs.live.get(&capture.graph).ok_or(Status::STREAM_CAPTURE_INVALIDATED)?;
    let last = d.captures.streams.get(&origin).map_or(&[][..], |p| &p.after);
    let others = d.captures.streams.iter().filter(|(s, p)| p.capture == id && **s != origin);
    if graph.covers(last, others.flat_map(|(_, p)| &p.after)) {
        Ok(())
    } else {
        Err(Status::STREAM_CAPTURE_UNJOINED)
    }
}

/// Removes a destroyed stream. If it began a capture, that is dropped; if it joined one and its
/// work has not been joined back, that is invalidated.
pub(crate) fn forget(d: &mut Driver, stream: u64) {
    let Some(part) = d.captures.streams.remove(&stream) else { return };
    if d.captures.live.get(&part.capture).is_some_and(|c| c.origin == stream) {
        if let Some(capture) = d.captures.remove(part.capture).filter(|c| !c.existing) {
            graph::remove(d, capture.graph);
        }
        return;
    }
    let graph = d.captures.live.get(&part.capture).and_then(|c| d.graphs.live.get(&c.graph));
    let others = d.captures.streams.values().filter(|p| p.capture == part.capture);
    let last: Vec<u64> = others.flat_map(|p| &p.after).copied().collect();
    if !graph.is_some_and(|graph| graph.covers(&last, &part.after)) {
        d.captures.invalidate(part.capture);
    }
}

// Events.

/// Returns the point of a capture that an event recorded now on the stream stands for; `None` if
/// the stream does not capture.
pub(crate) fn point(d: &mut Driver, stream: u64) -> Outcome<Option<CapturePoint>> {
    let captured = is_captured(d, stream)?;
    let part = d.captures.streams.get(&stream).filter(|_| captured);
    Ok(part.map(|p| CapturePoint { capture: p.capture, after: p.after.clone() }))
}

/// Makes the stream's next node depend on an event's point. A stream that does not capture yet
/// joins the capture.
pub(crate) fn wait(d: &mut Driver, stream: u64, point: Option<CapturePoint>) -> Outcome {
    let captured = is_captured(d, stream)?;
    let Some(point) = point else {
        if !captured {
            return Ok(());
        }
        // A node cannot depend on work outside of the graph.
        if let Some(part) = d.captures.streams.get(&stream) {
            let id = part.capture;
            d.captures.invalidate(id);
        }
        return Err(Status::STREAM_CAPTURE_ISOLATION);
    };
    if !d.captures.live.contains_key(&point.capture) {
        return Err(Status::CAPTURED_EVENT);
    }
    if stream <= LEGACY {
        d.captures.invalidate(point.capture);
        return Err(Status::STREAM_CAPTURE_IMPLICIT);
    }
    let new = CapturingStream { capture: point.capture, after: Vec::new() };
    let part = d.captures.streams.entry(stream).or_insert(new);
    if part.capture != point.capture {
        let both = [part.capture, point.capture];
        both.into_iter().for_each(|c| d.captures.invalidate(c));
        return Err(Status::STREAM_CAPTURE_MERGE);
    }
    for node in point.after {
        if !part.after.contains(&node) {
            part.after.push(node);
        }
    }
    Ok(())
}

// Queries.

/// Returns the state of a stream that may capture.
fn state(d: &Driver, stream: u64) -> CUstreamCaptureStatus {
    match d.captures.streams.get(&stream) {
        None => CUstreamCaptureStatus::NONE,
        Some(part) if d.captures.is_invalidated(part.capture) => CUstreamCaptureStatus::INVALIDATED,
        Some(_) => CUstreamCaptureStatus::ACTIVE,
    }
}

pub(crate) fn is_capturing(d: &mut Driver, stream: u64, out: Ptr) -> Outcome {
    d.stream_context(stream)?;
    put_i32(out, state(d, stream) as i32)
}

/// Where results about a stream's capture go; null for those that the client does not want.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct InfoPointers {
    pub(crate) id: Ptr,
    pub(crate) graph: Ptr,
    pub(crate) after: Ptr,
    pub(crate) edges: Ptr,
    pub(crate) count: Ptr,
}

/// Returns the state of a stream's capture. The list of nodes belongs to the driver, and is valid
/// until the next call for the stream.
pub(crate) fn info(d: &mut Driver, stream: u64, status: Ptr, pointers: InfoPointers) -> Outcome {
    d.stream_context(stream)?;
    let state = state(d, stream);
    put_i32(status, state as i32)?;
    put_if(pointers.edges, &0_u64)?;
    let active = d.captures.streams.get(&stream).filter(|_| state == CUstreamCaptureStatus::ACTIVE);
    let graph = active.and_then(|p| d.captures.live.get(&p.capture)).map_or(0, |c| c.graph);
    put_u64_if(pointers.id, active.map_or(0, |p| p.capture))?;
    put_u64_if(pointers.graph, graph)?;
    put_u64_if(pointers.after, active.map_or(0, |p| p.after.as_ptr().addr() as u64))?;
    put_u64_if(pointers.count, active.map_or(0, |p| p.after.len() as u64))
}

/// Changes what the next node depends on: adds nodes, or replaces them.
pub(crate) fn update(d: &mut Driver, stream: u64, nodes: Dependencies, flags: u32) -> Outcome {
    let flags = CUstreamUpdateCaptureDependencies_flags::of(flags as i32)?;
    edges::refuse_data(d, nodes.edges, nodes.count)?;
    if !is_captured(d, stream)? {
        return Err(Status::ILLEGAL_STATE);
    }
    let nodes = get_list(nodes.after, nodes.count)?;
    let part = d.captures.streams.get_mut(&stream).ok_or(Status::ILLEGAL_STATE)?;
    let graph = d.captures.live.get(&part.capture).and_then(|c| d.graphs.live.get(&c.graph));
    graph.filter(|g| g.has(&nodes)).ok_or(Status::INVALID_VALUE)?;
    if flags == CUstreamUpdateCaptureDependencies_flags::SET_CAPTURE_DEPENDENCIES {
        part.after.clear();
    }
    part.after.extend(nodes);
    part.after.sort_unstable();
    part.after.dedup();
    Ok(())
}

/// Exchanges the thread's capture mode with the one at `mode`.
pub(crate) fn exchange_mode(_d: &mut Driver, mode: Ptr) -> Outcome {
    let wanted = CUstreamCaptureMode::of(get(mode)?)?;
    put_i32(mode, MODE.get() as i32)?;
    MODE.set(wanted);
    Ok(())
}
