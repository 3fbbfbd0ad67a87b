//! The order of work on streams: what waits, and what waits behind it.

use cuda_abi::{Outcome, Status};

use super::{Step, launch, start};
use crate::state::Driver;
use crate::state::action::Action;
use crate::state::pending::{ClientCall, Item, Work};
use crate::state::stream::BUILT_IN;

/// The status with which a call says that it has to wait for work that is not done. The client
/// never sees it: the call is made again when something has changed.
pub(crate) const BLOCKED: Status = Status(i32::MIN);

/// Returns whether a stream and the null stream wait for each other.
fn is_blocking(d: &Driver, stream: u64) -> bool {
    // The stream of each thread does; of a destroyed stream nobody knows.
    stream == BUILT_IN || d.streams.get(&stream).is_some_and(|s| s.flags == 0)
}

/// Returns whether work on a stream has to wait for work before it.
pub(crate) fn is_held(d: &Driver, context: u64, stream: u64) -> bool {
    !d.pending.items.is_empty() && d.pending.holds(context, stream, is_blocking(d, stream))
}

/// Checks that no work of a context waits: the call has to wait for it.
pub(crate) fn settled(d: &mut Driver, context: u64) -> Outcome {
    if d.pending.has(context) {
        return Err(BLOCKED);
    }
    d.pending.take_error(context)
}

/// The same for the work of all contexts. The calling thread may have none.
pub(crate) fn all_settled(d: &mut Driver) -> Outcome {
    d.not_failed()?;
    if !d.pending.items.is_empty() {
        return Err(BLOCKED);
    }
    d.current().map_or(Ok(()), |context| d.pending.take_error(context))
}

/// The same for the work of one context, whatever errors there were.
pub(crate) fn drained(d: &mut Driver, context: u64) -> Outcome {
    if d.pending.has(context) {
        return Err(BLOCKED);
    }
    d.pending.errors.remove(&context);
    Ok(())
}

/// The same for the work on a stream, and before it.
pub(crate) fn stream_settled(d: &mut Driver, context: u64, stream: u64) -> Outcome {
    if is_held(d, context, stream) {
        return Err(BLOCKED);
    }
    d.pending.take_error(context)
}

/// Does work on a stream, or puts it behind what waits. The call that submits work which makes its
/// context fail succeeds, because it does not wait for the work: calls from then on return the
/// fault. With `SIMTLAB_SYNC=1` this one does, too.
pub(crate) fn submit(d: &mut Driver, context: u64, stream: u64, work: Work) -> Outcome {
    if is_held(d, context, stream) {
        push(d, context, stream, work);
        return Ok(());
    }
    d.stream = stream;
    let had_failed = d.context(context)?.failed.is_some();
    let step = match start(d, context, work) {
        Err(_)
            if !(had_failed || d.settings.synchronous) && d.context(context)?.failed.is_some() =>
        {
            return Ok(());
        }
        step => step?,
    };
    match step {
        Step::Done => {}
        Step::Waits(work) => push(d, context, stream, work),
        Step::Calls { call, then } => {
            let calling = calling(d, call, then);
            push(d, context, stream, calling);
        }
    }
    Ok(())
}

/// Makes a call of the client due, and returns the work that stands for it meanwhile.
fn calling(d: &mut Driver, call: ClientCall, then: Option<Work>) -> Work {
    let ticket = d.pending.ticket();
    d.pending.due.push((call, ticket));
    Work::Calling { ticket, then: then.map(Box::new) }
}

fn push(d: &mut Driver, context: u64, stream: u64, work: Work) {
    let blocking = is_blocking(d, stream);
    d.pending.items.push(Item { context, stream, blocking, work });
}

/// Tries all work that waits and has nothing before it.
pub(crate) fn progress(d: &mut Driver) {
    let mut index = 0;
    while index < d.pending.items.len() {
        let (before, rest) = d.pending.items.split_at(index);
        let Some(item) = rest.first() else { break };
        let is_held = before.iter().any(|b| b.holds(item.context, item.stream, item.blocking));
        if is_held || matches!(item.work, Work::Calling { .. }) {
            index += 1;
            continue;
        }
        let Item { context, stream, blocking, work } = d.pending.items.remove(index);
        d.stream = stream;
        match start(d, context, work) {
            Ok(Step::Done) => {
                d.pending.done += 1;
                index = 0;
            }
            Ok(Step::Waits(work)) => {
                d.pending.items.insert(index, Item { context, stream, blocking, work });
                index += 1;
            }
            Ok(Step::Calls { call, then }) => {
                let work = calling(d, call, then);
                d.pending.items.insert(index, Item { context, stream, blocking, work });
                index += 1;
            }
            Err(status) => {
                d.pending.done += 1;
                d.pending.errors.entry(context).or_insert(status);
                index = 0;
            }
        }
    }
}

/// Notes that a call of the client has returned: the work behind it can be done.
pub(crate) fn returned(d: &mut Driver, ticket: u64) {
    let is_it = |item: &Item| matches!(item.work, Work::Calling { ticket: t, .. } if t == ticket);
    let Some(index) = d.pending.items.iter().position(is_it) else { return };
    d.pending.done += 1;
    let Item { context, stream, blocking, work } = d.pending.items.remove(index);
    if let Work::Calling { then: Some(work), .. } = work {
        let work = *work;
        d.pending.items.insert(index, Item { context, stream, blocking, work });
    }
    progress(d);
}

/// Gives up the work of this thread's context, or of all if it has none that waits: nobody is left
/// who could change what it waits for.
pub(crate) fn give_up(d: &mut Driver) {
    let context = d.current().ok().filter(|&context| d.pending.has(context));
    let is_given_up = |item: &Item| context.is_none_or(|context| item.context == context);
    let (items, others) = std::mem::take(&mut d.pending.items).into_iter().partition(is_given_up);
    d.pending.items = others;
    let items: Vec<Item> = items;
    for item in items {
        match item.work {
            Work::Calling { .. } => d.pending.items.push(item),
            work => fail(d, item.context, item.stream, work),
        }
    }
    d.pending.done += 1;
}

/// Makes a context fail because work of it waits forever.
fn fail(d: &mut Driver, context: u64, stream: u64, work: Work) {
    match work {
        Work::Launch(held) => launch::hang(d, context, &held),
        Work::Action(Action::WaitValue(condition)) => {
            let text = format!("the stream {stream:#x} waits forever until {condition}");
            d.print_error(&text);
            if let Some(context) = d.contexts.get_mut(&context) {
                context.failed.get_or_insert(Status::LAUNCH_TIMEOUT);
            }
        }
        Work::Run(run) => {
            if let Some(held) = run.held {
                fail(d, context, stream, *held);
            }
        }
        _ => {}
    }
}
