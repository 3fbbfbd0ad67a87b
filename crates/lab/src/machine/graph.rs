//! Control-flow graphs as machines tell them.

/// A control-flow graph for people: blocks in layout order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControlFlow {
    /// The kernel's name.
    pub kernel: String,
    /// What is known of the graph as a whole, a sentence each.
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
    /// Indices of blocks that may follow, with what leads there.
    pub successors: Vec<(usize, String)>,
    /// Index of the immediate post-dominator: where all ways on from here meet first.
    pub post_dominator: PostDominator,
    /// Line of its first instruction, if known.
    pub line: Option<u32>,
    /// Lines of its instructions, in their order.
    pub lines: Vec<u32>,
    /// Indices of the blocks of its thread frontier, highest priority first; the first [`FlowBlock::FRONTIER`] of them.
    pub frontier: Vec<usize>,
    /// What else is known of it: loops, frontiers.
    pub notes: Vec<String>,
}

impl FlowBlock {
    /// Members of a frontier that are kept: frontiers together may be quadratic in the number of blocks.
    pub const FRONTIER: usize = 64;
}

/// Where the ways on from a block meet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PostDominator {
    /// At this block.
    Block(usize),
    /// Only at the end of the kernel.
    #[default]
    Exit,
    /// Nowhere: no way leads to the end.
    None,
}
