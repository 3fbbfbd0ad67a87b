//! What is known of the program's control flow before it runs, by place.
//!
//! A [`Plan`] is made once for a program from the flow graphs of its functions and shared by all
//! groups. Places are instruction indices: block `b` of a function covers `first..end`, and blocks
//! are laid out one after another.

use simt::Pc;
use thiserror::Error;

/// Where the paths of a branch meet again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rejoin {
    /// At the first instruction of the branch's immediate post-dominator.
    At(Pc),
    /// Only where the function returns or the lanes exit.
    FunctionEnd,
    /// Nowhere: no path from the branch reaches an exit (an infinite loop), so it has no
    /// post-dominator.
    Never,
}

/// Where the scheduling priorities of blocks come from that thread-frontier mechanisms compare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Priorities {
    /// Those that a compiler assigns (Diamos et al., MICRO 2011): [`flow::BlockOrder::scheduled`],
    /// a topological order of the graph but for its back-edges, with blocks in which lanes wait for
    /// each other as late as it permits.
    #[default]
    Compiler,
    /// The order of places, as the blocks stand in the code.
    Layout,
}

impl Priorities {
    /// All of them with their names.
    pub const ALL: [(&'static str, Self); 2] =
        [("compiler", Self::Compiler), ("layout", Self::Layout)];
}

/// The layout of code whose places mechanisms compare that run the lowest or the highest one.
///
/// Only the order of places changes, not the code: jumps that a real layout would add or save are
/// not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Layout {
    /// The kernel first, then the functions that it calls in the order of the file; blocks as they
    /// are written.
    #[default]
    KernelFirst,
    /// Functions in the order of the file; blocks as they are written.
    File,
    /// The kernel first; the blocks of each function in the order of
    /// [`Priorities::Compiler`].
    Compiler,
}

impl Layout {
    /// All of them with their names.
    pub const ALL: [(&'static str, Self); 3] =
        [("kernel-first", Self::KernelFirst), ("file", Self::File), ("compiler", Self::Compiler)];
}

/// A block under one order of priorities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockRank {
    /// Scheduling priority: lower runs first. Distinct within a function.
    pub priority: u32,
    /// The block of the highest priority in which lanes may wait while this one runs, as an index
    /// into [`Plan::blocks`].
    pub frontier: Option<u32>,
}

/// What is known of a block.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockPlan {
    /// Its first instruction.
    pub first: Pc,
    /// One past its last instruction.
    pub end: Pc,
    /// Index of its function among those that were planned, which is the order of their places.
    pub function: u32,
    /// Where lanes that part at its end meet again.
    pub rejoin: Rejoin,
    /// Its rank under each order of priorities, in the order of [`Priorities::ALL`].
    pub ranks: [BlockRank; Priorities::ALL.len()],
    /// Its first place in each layout, in the order of [`Layout::ALL`].
    pub starts: [Pc; Layout::ALL.len()],
    /// Successor blocks, as indices into [`Plan::blocks`], fall-through first.
    pub successors: Vec<u32>,
}

/// The static plan of a program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    blocks: Vec<BlockPlan>,
}

/// Why a plan cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlanError {
    /// Blocks overlap, are empty, or are not in order of their places.
    #[error("block {block} does not follow the block before it")]
    Layout {
        /// Index of the block.
        block: usize,
    },
    /// A successor or rejoin point that is not a block's first instruction.
    #[error("block {block} names a place where no block begins")]
    Target {
        /// Index of the block.
        block: usize,
    },
}

impl BlockPlan {
    /// Its rank under an order of priorities.
    #[must_use]
    pub fn rank(&self, priorities: Priorities) -> BlockRank {
        self.ranks[priorities as usize]
    }
}

impl Plan {
    /// A plan of these blocks, in order of their places.
    ///
    /// # Errors
    /// If they are not laid out one after another, or point outside.
    pub fn new(blocks: Vec<BlockPlan>) -> Result<Self, PlanError> {
        for (i, b) in blocks.iter().enumerate() {
            let after = if i == 0 { b.first } else { blocks[i - 1].end };
            if b.first < after || b.end < b.first {
                return Err(PlanError::Layout { block: i });
            }
            let bad_rejoin = matches!(b.rejoin, Rejoin::At(pc) if !known_place(&blocks, pc));
            let frontiers = b.ranks.iter().flat_map(|rank| &rank.frontier);
            let mut near = b.successors.iter().chain(frontiers);
            if bad_rejoin || near.any(|&s| s as usize >= blocks.len()) {
                return Err(PlanError::Target { block: i });
            }
        }
        Ok(Self { blocks })
    }

    /// All blocks in order of their places.
    #[must_use]
    pub fn blocks(&self) -> &[BlockPlan] {
        &self.blocks
    }

    /// The index of the block that holds a place.
    #[must_use]
    pub fn block_of(&self, pc: Pc) -> Option<usize> {
        let after = self.blocks.partition_point(|b| b.first <= pc);
        // Empty blocks share their first place with the block that follows: the last of them holds
        // it.
        let index = after.checked_sub(1)?;
        (pc < self.blocks[index].end).then_some(index)
    }

    /// Where lanes that part at `at` meet again.
    #[must_use]
    pub fn rejoin(&self, at: Pc) -> Rejoin {
        self.block_of(at).map_or(Rejoin::Never, |b| self.blocks[b].rejoin)
    }

    /// The priority of a place: lower runs first. Places in no block come last.
    #[must_use]
    pub fn priority(&self, at: Pc, priorities: Priorities) -> u32 {
        self.block_of(at).map_or(u32::MAX, |b| self.blocks[b].rank(priorities).priority)
    }

    /// A place as it would be in another layout. Places in no block stay.
    #[must_use]
    pub fn laid_out(&self, at: Pc, layout: Layout) -> Pc {
        self.block_of(at).map_or(at, |b| {
            let block = &self.blocks[b];
            Pc(block.starts[layout as usize].0 + (at.0 - block.first.0))
        })
    }
}

fn known_place(blocks: &[BlockPlan], pc: Pc) -> bool {
    blocks.binary_search_by_key(&pc, |b| b.first).is_ok()
}
