//! A mechanism that is the stack of `stack.rs` and a rule for where lanes that part meet again:
//! `ipdom` and `basic`.

use crate::event::Event;
use crate::mechanism::{Charges, Knobs, Mechanism, Path, PathId, Refusal, Start};
use crate::plan::{Plan, Rejoin};
use crate::stack::Stack;
use simt::inspect::MechanismRow;
use simt::{LaneMask, Pc};
use std::fmt::Debug;
use std::marker::PhantomData;

/// Where lanes that part meet again.
pub(crate) trait Rule: Clone + Debug + Send + 'static {
    /// The rejoin place of the branch at a place.
    fn rejoin(plan: &Plan, at: Pc) -> Rejoin;

    /// Whether all lanes that part there come to that place.
    fn sound(_: &Plan, _: Pc) -> bool {
        true
    }
}

/// The mechanism.
#[derive(Clone, Debug)]
pub(crate) struct Stacked<R, const N: usize>(Stack<N>, PhantomData<R>);

impl<R, const N: usize> Stacked<R, N> {
    /// A group at its start. Paths handed over by another mechanism become entries without a rejoin
    /// place, the last on top.
    pub(crate) fn new(start: &Start<N>, knobs: Knobs) -> Self {
        Self(Stack::new(start, knobs), PhantomData)
    }
}

impl<R: Rule, const N: usize> Mechanism<N> for Stacked<R, N> {
    fn runnable(&self, out: &mut Vec<Path<N>>) {
        out.clear();
        out.extend(self.preferred());
    }

    fn preferred(&self) -> Option<Path<N>> {
        self.0.preferred()
    }

    fn event(&mut self, plan: &Plan, path: PathId, event: &Event<'_, N>) -> Result<(), Refusal> {
        let before = self.0.charges.splits;
        self.0.event(path, event, |at| R::rejoin(plan, at))?;
        if let Event::Branch { at, .. } = *event
            && self.0.charges.splits > before
        {
            self.0.charges.unsound_splits += u64::from(!R::sound(plan, at));
        }
        Ok(())
    }

    fn release(&mut self, _: &Plan, lanes: LaneMask<N>, next: Pc) {
        self.0.release(lanes, next);
    }

    fn paths(&self, out: &mut Vec<Path<N>>) {
        self.0.paths(out);
    }

    fn rows(&self, out: &mut Vec<MechanismRow<N>>) {
        self.0.rows(out);
    }

    fn charges(&self) -> Charges {
        self.0.charges
    }

    fn image(&self, out: &mut Vec<u64>) {
        self.0.image(out);
    }

    fn boxed_clone(&self) -> Box<dyn Mechanism<N>> {
        Box::new(self.clone())
    }
}
