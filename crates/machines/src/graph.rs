//! Control-flow graphs as machines describe them to users.

/// A control-flow graph, with its blocks in layout order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControlFlow {
    /// The kernel's name.
    pub kernel: String,
    /// Sentences about the graph as a whole.
    pub notes: Vec<String>,
    /// Its blocks.
    pub blocks: Vec<FlowBlock>,
}

/// One block of a [`ControlFlow`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowBlock {
    /// The block's name.
    pub name: String,
    /// Its instructions as text, the terminator last.
    pub instructions: Vec<String>,
    /// Indices of the successors, with the condition of each edge.
    pub successors: Vec<(usize, String)>,
    /// The immediate post-dominator.
    pub post_dominator: PostDominator,
    /// Line of the first instruction, if known.
    pub line: Option<u32>,
    /// Lines of the instructions, in their order.
    pub lines: Vec<u32>,
    /// Indices of the blocks in the thread frontier, highest priority first; at most
    /// [`FlowBlock::FRONTIER`].
    pub frontier: Vec<usize>,
    /// Further properties: loops, the size of the frontier.
    pub notes: Vec<String>,
}

impl FlowBlock {
    /// Most members of a frontier that are kept. The sum of all frontiers can be quadratic in the
    /// number of blocks.
    pub const FRONTIER: usize = 64;
}

/// The first place that all paths from a block pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PostDominator {
    /// The block of this index.
    Block(usize),
    /// The end of the kernel.
    #[default]
    Exit,
    /// No path leads to the end.
    None,
}
