//! What happens to a path, as told to its mechanism.
//!
//! Lanes in an event are lanes of the issue group. Targets are distinct places in increasing order
//! of `Pc`, with disjoint, non-empty masks.

use simt::{LaneMask, Pc};

/// What the instruction just issued on a path did to the place of its lanes.
///
/// For a path without lanes (an idle issue) the executor sends `Advance` past an ordinary
/// instruction, and `Branch` without targets at a control instruction: the plan then says where to
/// look next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event<'a, const N: usize> {
    /// All lanes go on to `next`.
    Advance {
        /// The next place.
        next: Pc,
    },
    /// A branch. The masks of the targets together are the path's lanes.
    Branch {
        /// The branch.
        at: Pc,
        /// Where the lanes go; one target if the branch is uniform.
        targets: &'a [(Pc, LaneMask<N>)],
    },
    /// A call; an indirect one may have several targets. All lanes will return to `return_to`.
    Call {
        /// The call.
        at: Pc,
        /// Entry points.
        targets: &'a [(Pc, LaneMask<N>)],
        /// The place after the call.
        return_to: Pc,
    },
    /// Lanes return from a function; `rest` are those that a guard keeps, and where they go on.
    Return {
        /// The return.
        at: Pc,
        /// Places returned to.
        targets: &'a [(Pc, LaneMask<N>)],
        /// Lanes that do not return, going on to the next instruction.
        rest: Option<(Pc, LaneMask<N>)>,
    },
    /// Lanes end; the others, if any, go on to `next`.
    Exit {
        /// The instruction.
        at: Pc,
        /// Lanes that end.
        lanes: LaneMask<N>,
        /// Where the others go on.
        next: Pc,
    },
    /// Lanes wait at `at` until [`Mechanism::release`](crate::Mechanism::release); the others, if
    /// any, go on to `next`. Later, released lanes go on to `next` too.
    Park {
        /// Where the lanes wait: the synchronising instruction.
        at: Pc,
        /// Lanes that wait.
        lanes: LaneMask<N>,
        /// The place after it.
        next: Pc,
    },
    /// An operation on the mechanism itself. A mechanism that has no use for it treats it as
    /// `Advance`.
    Sync {
        /// The instruction.
        at: Pc,
        /// What.
        op: SyncOp<N>,
        /// The place after it.
        next: Pc,
    },
}

/// Operations by which a program steers its mechanism.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SyncOp<const N: usize> {
    /// Convergence barrier `barrier` takes the path's lanes as its participants; they will meet at
    /// `rejoin` (BSSY).
    Set {
        /// The barrier register.
        barrier: u16,
        /// The place of the matching `Wait`.
        rejoin: Pc,
    },
    /// The path's lanes wait until all participants of the barrier wait or have left it (BSYNC).
    Wait {
        /// The barrier register.
        barrier: u16,
    },
    /// Lanes leave the participants of a barrier (BREAK).
    Break {
        /// The barrier register.
        barrier: u16,
        /// Those that leave.
        lanes: LaneMask<N>,
    },
    /// Let a sibling path run (YIELD).
    Yield,
    /// Push the current mask; go on with the lanes of `taken`, the others run when those have
    /// joined (split).
    Split {
        /// Lanes that go on now.
        taken: LaneMask<N>,
    },
    /// Pop: run the other side, or restore the mask (join).
    Join,
}
