//! Instructions of a body before their values have places in queues.

use ir::LocId;

/// A value of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Val {
    /// One of each lane: a register of the kernel, or beyond these a temporary.
    Lane(u32),
    /// One of the group: a mask.
    Group(u32),
    /// A constant, by its place in the table of constants.
    Const(u32),
}

/// An operand of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Src {
    /// A value, which a queue must hold.
    Val(Val),
    /// What is always there: an import, a counter, `p`, `zero`.
    Fixed(String),
}

impl Src {
    pub(super) fn zero() -> Self {
        Self::Fixed("zero".to_owned())
    }

    pub(super) fn fixed(name: &str) -> Self {
        Self::Fixed(name.to_owned())
    }
}

/// What an instruction makes of the mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mask {
    /// Some of the lanes that were on.
    Narrowed,
    /// The lanes of a saved mask, or some of them.
    Within(Val),
    /// The lanes of a saved mask and those that are on, which are some of it.
    Restored(Val),
    /// Any lanes.
    Any,
}

/// An instruction. In its text `{0}`, `{1}` and so on stand for its sources.
#[derive(Clone, Debug)]
pub(super) struct Inst {
    pub(super) text: String,
    pub(super) sources: Vec<(Src, &'static str)>,
    /// The value that it pushes, and its width.
    pub(super) result: Option<(Val, char)>,
    pub(super) mask: Option<Mask>,
    /// The result is a copy of the mask as it stands.
    pub(super) saves: bool,
    /// It does more than push its result.
    pub(super) effect: bool,
    pub(super) loc: LocId,
}

/// A line of the body.
#[derive(Clone, Debug)]
pub(super) enum Item {
    Inst(Inst),
    Label(u32, String),
    /// To a label: always, if no lane is on, if any is, if a mask of the group is empty, or not.
    Branch(When, u32),
}

/// When a branch is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    Always,
    NoLane,
    AnyLane,
    Empty(Val),
    Filled(Val),
}

/// A body: its lines, and the constants that they name.
#[derive(Clone, Debug, Default)]
pub(super) struct Body {
    pub(super) items: Vec<Item>,
    pub(super) constants: Vec<u64>,
    /// The body is entered again behind barriers: what its end leaves in the frame is read.
    pub(super) again: bool,
    /// Registers of lanes and groups that are taken.
    pub(super) lanes: u32,
    pub(super) groups: u32,
}

impl Body {
    pub(super) fn constant(&mut self, value: u64) -> Val {
        let at = self.constants.iter().position(|&c| c == value).unwrap_or_else(|| {
            self.constants.push(value);
            self.constants.len() - 1
        });
        Val::Const(at as u32)
    }

    pub(super) fn lane(&mut self) -> Val {
        self.lanes += 1;
        Val::Lane(self.lanes - 1)
    }

    pub(super) fn group(&mut self) -> Val {
        self.groups += 1;
        Val::Group(self.groups - 1)
    }
}
