//! What is known of a function's values before it runs, for a given shape of launch.
//!
//! [`Facts::new`] takes a function apart into [`Webs`] and finds, for each web, how its values
//! differ from lane to lane of a group ([`Value`]: uniform, affine, varying; how far from a uniform
//! base), for each write whether it [needs a blend](Facts::blends), for each branch whether it can
//! [part](Facts::parts) lanes, and for each memory access its [pattern](Access).
//!
//! **What a fact says.** At each execution of an instruction, its fact holds of the lanes that are
//! then on, in a group of `Shape::width` threads that runs under the mechanism `ipdom`, whatever
//! order it runs the sides of a branch in. A uniform web can be kept as one scalar, an affine one
//! as base and stride: whatever lane reads it finds the value that it would have found in a
//! register of its own, for a write that would destroy a waiting lane's value makes the web
//! varying.
//!
//! **Assumptions.** Some facts hold only if a 32-bit value does not wrap over the lanes before it
//! is widened ([`Facts::assumed`]): what programmers mean, and what no analysis can show where
//! sizes are arguments. Whoever relies on them must test it at each execution of those
//! instructions, and do without ([`Options::assume`]) if a test fails.
//!
//! **Limits.** Functions that use EXEC or steer their mechanism get no facts. Parameters of device
//! functions vary. All passes are near-linear; where one would not be (many thousands of registers
//! live everywhere, branches nested thousands deep) facts get weaker, not later.

mod access;
mod divergence;
mod shape;
mod solve;
mod transfer;
mod value;
mod webs;

pub use access::{Access, Assumption};
pub use shape::Shape;
pub use transfer::commutes;
pub use value::{Class, Value};
pub use webs::{Web, Webs, unwritten};

use crate::graph::{Cfg, GraphError, Node};
use crate::kernel::graph_of;
use ir::Function;

/// What an analysis may take for granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options<'r> {
    /// Whether facts may rest on assumptions, see the [module](self).
    pub assume: bool,
    /// By block, whether its function may be entered again before it returns, by edges of the
    /// graph: lanes that part at the block's end may come to any block before they are together
    /// again. No block is where there is no entry.
    pub reentrant: &'r [bool],
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { assume: true, reentrant: &[] }
    }
}

/// The facts of a function.
#[derive(Clone, Debug)]
pub struct Facts {
    webs: Webs,
    values: Vec<Value>,
    /// By slot: whether the write there must keep the values of lanes that are off.
    blend: Vec<bool>,
    /// By block: whether its end can send lanes that are on to different places.
    parts: Vec<bool>,
    /// By block: whether it can run while live lanes of the group are elsewhere.
    partial: Vec<bool>,
    /// By place: whether it stands under an assumption.
    assumed: Vec<bool>,
    width: u32,
}

impl Facts {
    /// Analyses a function for launches of a shape. The module must be verified.
    ///
    /// # Errors
    /// If the function has no graph, which verified IR does not do.
    pub fn new(
        function: &Function,
        shape: Shape,
        options: Options<'_>,
    ) -> Result<Self, GraphError> {
        let cfg = graph_of(function)?;
        Ok(Self::with_graph(function, &cfg, shape, options))
    }

    /// The same where the graph is known.
    #[must_use]
    pub fn with_graph(function: &Function, cfg: &Cfg, shape: Shape, options: Options<'_>) -> Self {
        solve::solve(function, cfg, shape, options)
    }

    /// The webs.
    #[must_use]
    pub fn webs(&self) -> &Webs {
        &self.webs
    }

    /// What is known of a web's values wherever they are read.
    #[must_use]
    pub fn value(&self, web: Web) -> &Value {
        &self.values[web.index()]
    }

    /// Lanes of the groups that the facts are about.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Whether a result must leave the values of lanes that are off as they are. Where it need not,
    /// nobody reads what those lanes have.
    #[must_use]
    pub fn blends(&self, block: usize, inst: usize, result: usize) -> bool {
        let slot = self.webs.slots(self.webs.place(block, inst)).nth(1 + result);
        slot.is_none_or(|slot| self.blend[slot])
    }

    /// Whether the end of a block can send lanes that are on to different places.
    #[must_use]
    pub fn parts(&self, block: usize) -> bool {
        self.parts[block]
    }

    /// Whether a block can run while live lanes of the group are elsewhere in the function.
    #[must_use]
    pub fn partial(&self, block: usize) -> bool {
        self.partial[block]
    }

    /// Whether the fact about an instruction's first result holds only if its operand does not wrap
    /// over the lanes that are on.
    #[must_use]
    pub fn assumed(&self, block: usize, inst: usize) -> bool {
        self.assumed[self.webs.place(block, inst)]
    }

    /// Whether any fact rests on an assumption.
    #[must_use]
    pub fn has_assumptions(&self) -> bool {
        self.assumed.contains(&true)
    }

    /// Whether the block of a node can be reached, so that there are facts about it.
    #[must_use]
    pub fn covers(cfg: &Cfg, block: usize) -> bool {
        cfg.node(block).is_some_and(|n: Node| cfg.is_reachable(n))
    }
}
