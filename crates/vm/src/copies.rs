//! `cp.async` as asynchronous operations, one for each lane, and arrivals that come after them.
//!
//! Where nothing can see the difference a copy is done by its instruction ([`crate::access`]): if
//! steps of operations are done early and nobody observes them. The copies of a thread are in no
//! order among themselves; what orders them is a wait for their groups, or an arrival at a barrier
//! after them. Their accesses are those of threads, not of the async proxy.

use crate::access::home_of;
use crate::asynchronous::{
    self, Bytes, Completion, Effect, Issuer, Location, Operation, Source, Transfer,
};
use crate::cause::Cause;
use crate::code::{MbarrierKind, MbarrierOp};
use crate::control::fail;
use crate::engine::{Failure, Now};
use crate::state::State;
use simt::LaneMask;
use simt::mbarrier::Mbarrier;
use simt::observe::{AsyncGroups, Events, MbarrierEvent, MbarrierEventKind, Observer};

/// Returns whether copies are operations that are done in steps.
pub(crate) fn are_operations<const N: usize, O: Observer<N>>(
    state: &State<N>,
    observer: &O,
) -> bool {
    state.queue.delays() || observer.wants(Events::ASYNC)
}

/// What a lane copies. The addresses have been checked.
pub(crate) struct LaneCopy {
    pub(crate) lane: usize,
    /// The generic address of the destination.
    pub(crate) to: u64,
    /// The global address of the source.
    pub(crate) from: u64,
    /// Bytes that are read; zeros are written after them.
    pub(crate) bytes: u64,
}

/// Issues copies of `size` bytes.
pub(crate) fn issue<const N: usize>(
    state: &mut State<N>,
    now: &Now<N>,
    size: u64,
    copies: &[LaneCopy],
) -> Result<(), Failure<N>> {
    let mut operations = Vec::with_capacity(copies.len());
    for copy in copies {
        let made = operation(state, now, size, copy);
        operations.push(made.map_err(|cause| fail(cause, LaneMask::lane(copy.lane)))?);
    }
    asynchronous::issue_together(state, operations);
    Ok(())
}

fn operation<const N: usize>(
    state: &State<N>,
    now: &Now<N>,
    size: u64,
    copy: &LaneCopy,
) -> Result<Operation, Cause> {
    let issuer = Issuer::of(state, now, copy.lane);
    let (mut transfers, mut number) = (Vec::new(), 0);
    if let Some(cta) = state.resident[now.slot].as_deref() {
        let thread = cta.groups[now.group].thread(copy.lane);
        number = crate::groups::current(cta, thread, AsyncGroups::Copies);
        let (slot, offset) = home_of(cta, copy.to, false)?;
        let parts = [
            (0, copy.bytes, Source::Memory(Location::Global(copy.from))),
            (copy.bytes, size, Source::Bytes(Bytes::from_elem(0, (size - copy.bytes) as usize))),
        ];
        for (start, end, from) in parts.into_iter().filter(|part| part.0 < part.1) {
            let to = Location::Shared { slot, offset: offset + start };
            transfers.push(Transfer { from, to, bytes: end - start, effect: Effect::Copy });
        }
    }
    let completion = Completion::Group(AsyncGroups::Copies, number);
    Ok(Operation { issuer, number: 0, generic: true, transfers, completion })
}

/// Issues arrivals at barriers in shared memory that come after the copies of the threads. An
/// arrival that is counted is awaited from now on.
pub(crate) fn arrive<const N: usize>(
    state: &mut State<N>,
    now: &Now<N>,
    op: &MbarrierOp,
    places: &[(u16, u64)],
) -> Result<(), Failure<N>> {
    let counted = matches!(op.kind, MbarrierKind::Arrive(arrival) if arrival.counted);
    let mut arrivals = Vec::with_capacity(places.len());
    for &(lane, at) in places {
        let failed = |cause| fail(cause, LaneMask::lane(usize::from(lane)));
        let Some(cta) = state.resident[now.slot].as_deref() else { return Ok(()) };
        let (group, owner) = (cta.group_id(now.group), cta.index);
        let (slot, offset) = home_of(cta, at, false).map_err(failed)?;
        let more = |barrier: Mbarrier| if counted { barrier.await_more(1) } else { Ok(barrier) };
        let words = crate::mbarrier::change(state, (slot, offset), more).map_err(failed)?;
        let (pc, kind) = (now.pc, MbarrierEventKind::Change { arrivals: 0, releases: false });
        let event = MbarrierEvent { group, lane, pc, owner, offset, words, kind };
        state.scratch.announced.mbarrier(event);
        let issuer = Issuer::of(state, now, usize::from(lane));
        let completion = Completion::Arrive((slot, offset));
        let transfers = Vec::new();
        arrivals.push(Operation { issuer, number: 0, generic: true, transfers, completion });
    }
    asynchronous::issue_together(state, arrivals);
    Ok(())
}
