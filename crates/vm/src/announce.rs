//! Events of asynchronous operations and of barriers in shared memory, on their way to the
//! observer.
//!
//! What an instruction or a step does announces them in order, and the engine passes them on when
//! it is done. Nothing is kept unless the observer wants such events.

use crate::state::{Cta, State};
use simt::observe::{AsyncEvent, Asynchronous, Events, GroupId, MbarrierEvent, Observer};
use simt::{LaneMask, Pc};

/// An event with the lanes that it is about.
enum Announced<const N: usize> {
    Asynchronous { group: GroupId, pc: Pc, lanes: LaneMask<N>, event: AsyncEvent },
    Mbarrier(MbarrierEvent),
}

/// Events that the observer has not received.
#[derive(Default)]
pub(crate) struct Announcements<const N: usize> {
    wanted: bool,
    events: Vec<Announced<N>>,
}

impl<const N: usize> Announcements<N> {
    /// Whether events are wanted.
    pub(crate) fn wanted(&self) -> bool {
        self.wanted
    }

    /// Announces an event of these lanes of a group.
    pub(crate) fn add(&mut self, group: GroupId, pc: Pc, lanes: LaneMask<N>, event: AsyncEvent) {
        if self.wanted && lanes.any() {
            self.events.push(Announced::Asynchronous { group, pc, lanes, event });
        }
    }

    /// Announces an operation on a barrier.
    pub(crate) fn mbarrier(&mut self, event: MbarrierEvent) {
        if self.wanted {
            self.events.push(Announced::Mbarrier(event));
        }
    }
}

/// Begins an instruction or a step whose events an observer of this type receives.
pub(crate) fn begin<const N: usize, O: Observer<N>>(state: &mut State<N>, observer: &O) {
    state.scratch.announced.wanted = observer.wants(Events::ASYNC);
}

/// Passes all events on.
pub(crate) fn pass_on<const N: usize, O: Observer<N>>(state: &mut State<N>, observer: &mut O) {
    for event in state.scratch.announced.events.drain(..) {
        match event {
            Announced::Asynchronous { group, pc, lanes, event } => {
                observer.asynchronous(&Asynchronous { group, pc, lanes: &lanes, event });
            }
            Announced::Mbarrier(event) => observer.mbarrier(&event),
        }
    }
}

/// The lanes of an architectural warp, by group.
pub(crate) fn lanes_of_warp<const N: usize>(
    cta: &Cta<N>,
    warp: usize,
) -> Vec<(GroupId, LaneMask<N>)> {
    let mut out: Vec<(GroupId, LaneMask<N>)> = Vec::new();
    let size = cta.warp as usize;
    for thread in warp * size..((warp + 1) * size).min(cta.parked.len()) {
        let id = cta.group_id(cta.group_of(thread));
        let lane = thread - id.first_thread as usize;
        match out.last_mut() {
            Some(last) if last.0 == id => last.1.insert(lane),
            _ => out.push((id, LaneMask::lane(lane))),
        }
    }
    out
}
