//! The events of a launch behind one type, whatever the group width.

use simt::LaneMask;
use simt::machine::HangKind;
use simt::observe::{
    Access, Asynchronous, Branch, CtaEvent, Events, Issue, MbarrierEvent, Observer, Sync,
};
use simt::slots::IssueLanes;
use vm::Definedness;

/// Words of the widest lane set: those of a group of 1,024 lanes.
pub const SINK_WORDS: usize = 16;

/// A lane set of any group.
pub type WideLanes = LaneMask<SINK_WORDS>;

/// Receives events of launches, with lane sets of any group widened to [`WideLanes`]. Every method
/// for an event does nothing by default.
pub trait EventSink {
    /// Returns the kinds of events that the sink receives.
    fn events(&self) -> Events;
    /// Returns whether issues may be left out for now. Called before each, so it has to be cheap.
    fn idle(&self) -> bool {
        false
    }
    /// Receives an issue, before its effects.
    fn issue(&mut self, _issue: &Issue<'_, SINK_WORDS>) {}
    /// Receives a branch, after its targets are known.
    fn branch(&mut self, _branch: &Branch<'_, SINK_WORDS>) {}
    /// Receives a memory access.
    fn access(&mut self, _access: &Access<'_>) {}
    /// Receives a synchronisation.
    fn sync(&mut self, _sync: &Sync<'_, SINK_WORDS>) {}
    /// Receives an event of asynchronous operations.
    fn asynchronous(&mut self, _event: &Asynchronous<'_, SINK_WORDS>) {}
    /// Receives an operation on a barrier in shared memory.
    fn mbarrier(&mut self, _event: &MbarrierEvent) {}
    /// Receives the begin or the end of a CTA.
    fn cta(&mut self, _cta: u64, _event: CtaEvent) {}
    /// Lends what follows undefined values, if the sink has it, for the time that a launch runs.
    fn lend_definedness(&mut self) -> Option<Box<Definedness>> {
        None
    }
    /// Takes back what was lent.
    fn return_definedness(&mut self, _lent: Box<Definedness>) {}
    /// Receives that the launch hangs, after which there are no more events of it.
    fn hang(&mut self, _kind: HangKind) {}
}

/// An [`EventSink`] as the observer of an engine with groups of any width.
pub struct SinkObserver<'a>(pub &'a mut dyn EventSink);

/// Returns a lane set in the widest form.
fn widen<const N: usize>(lanes: &LaneMask<N>) -> WideLanes {
    let mut words = [0; SINK_WORDS];
    for (to, from) in words.iter_mut().zip(lanes.words()) {
        *to = *from;
    }
    LaneMask::from_words(words)
}

impl<const N: usize> Observer<N> for SinkObserver<'_> {
    const EVENTS: Events = Events::ALL;

    fn issue(&mut self, issue: &Issue<'_, N>) {
        if !self.0.events().has(Events::ISSUE) || self.0.idle() {
            return;
        }
        let of = issue.lanes;
        let lanes = IssueLanes {
            width: of.width,
            launched: widen(&of.launched),
            exited: widen(&of.exited),
            waiting: widen(&of.waiting),
            active: widen(&of.active),
            unmasked: widen(&of.unmasked),
            on: widen(&of.on),
        };
        let Issue { group, pc, domain, depth, guard_off, .. } = *issue;
        self.0.issue(&Issue { group, pc, domain, lanes: &lanes, depth, guard_off });
    }

    fn branch(&mut self, branch: &Branch<'_, N>) {
        if self.0.events().has(Events::BRANCH) {
            let targets: Vec<_> =
                branch.targets.iter().map(|(pc, lanes)| (*pc, widen(lanes))).collect();
            self.0.branch(&Branch { group: branch.group, pc: branch.pc, targets: &targets });
        }
    }

    fn access(&mut self, access: &Access<'_>) {
        if self.0.events().has(Events::ACCESS) {
            self.0.access(access);
        }
    }

    fn sync(&mut self, sync: &Sync<'_, N>) {
        if self.0.events().has(Events::SYNC) {
            let lanes = widen(sync.lanes);
            let Sync { group, pc, kind, barrier, members, .. } = *sync;
            self.0.sync(&Sync { group, pc, kind, barrier, members, lanes: &lanes });
        }
    }

    fn asynchronous(&mut self, of: &Asynchronous<'_, N>) {
        if self.0.events().has(Events::ASYNC) {
            let lanes = widen(of.lanes);
            let Asynchronous { group, pc, event, .. } = *of;
            self.0.asynchronous(&Asynchronous { group, pc, lanes: &lanes, event });
        }
    }

    fn mbarrier(&mut self, event: &MbarrierEvent) {
        if self.0.events().has(Events::ASYNC) {
            self.0.mbarrier(event);
        }
    }

    fn cta(&mut self, cta: u64, event: CtaEvent) {
        if self.0.events().has(Events::CTA) {
            self.0.cta(cta, event);
        }
    }
}
