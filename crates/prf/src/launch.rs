//! Launches: their parameters, and their warps.

use calls::Calls;
use simt::mask::WarpMask;
use simt::memory::{AccessError, MapError, MemoryMap};
use simt::observe::GroupId;

use crate::exec::{LANES, Special, Warp};
use crate::program::Program;

/// Most threads of a block.
pub const BLOCK_THREADS: u32 = 1024;

/// The parameters of a launch.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Threads of a block: 1 to 1024.
    pub threads: u32,
    /// Blocks; at least one.
    pub blocks: u32,
    /// Threads in all, if the last block has fewer.
    pub total: Option<u64>,
    /// The value of special register 3.
    pub argument: u32,
    /// The address to start at, if not the program's entry.
    pub entry: Option<u32>,
    /// Guest memory with its buffers; the program is added unless an earlier launch has added it.
    pub memory: MemoryMap,
}

/// The reason that a launch is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// Not 1 to 1024 threads.
    #[error("blocks of {0} threads; possible are 1 to {BLOCK_THREADS}")]
    Threads(u32),
    /// No block.
    #[error("a launch of no blocks")]
    NoBlocks,
    /// The total does not end in the last block.
    #[error("{total} threads in all do not make {blocks} blocks of {threads}")]
    Total {
        /// Threads in all.
        total: u64,
        /// Blocks.
        blocks: u32,
        /// Threads of a block.
        threads: u32,
    },
    /// A block that no multiprocessor can hold.
    #[error("a block of {wanted} warps does not fit: the multiprocessor holds {warps}")]
    Warps {
        /// Warps of a block.
        wanted: u32,
        /// Warps of the multiprocessor.
        warps: u32,
    },
    /// The program has no place in memory.
    #[error(transparent)]
    Memory(#[from] MapError),
    /// The program cannot be written.
    #[error(transparent)]
    Image(Box<AccessError>),
}

/// A launch, checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    pub(crate) threads: u32,
    pub(crate) blocks: u32,
    pub(crate) total: u64,
    pub(crate) argument: u32,
    pub(crate) entry: u32,
}

impl Header {
    pub(crate) fn new(program: &Program, launch: &Launch) -> Result<Self, LaunchError> {
        let Launch { threads, blocks, total, argument, entry, .. } = *launch;
        if !(1..=BLOCK_THREADS).contains(&threads) {
            return Err(LaunchError::Threads(threads));
        }
        if blocks == 0 {
            return Err(LaunchError::NoBlocks);
        }
        let full = u64::from(threads) * u64::from(blocks);
        let total = total.unwrap_or(full);
        if total > full || total + u64::from(threads) <= full {
            return Err(LaunchError::Total { total, blocks, threads });
        }
        Ok(Self { threads, blocks, total, argument, entry: entry.unwrap_or(program.entry()) })
    }

    /// The words of the launch block that hosts write.
    pub(crate) fn words(&self) -> [(u64, u32); 5] {
        let total = u32::try_from(self.total).unwrap_or(u32::MAX);
        [
            (0x0c, self.entry),
            (0x10, self.threads),
            (0x14, self.blocks),
            (0x18, total),
            (0x1c, self.argument),
        ]
    }

    /// Threads of a block: the last may have fewer.
    pub(crate) fn threads_of(&self, block: u32) -> u32 {
        let before = u64::from(block) * u64::from(self.threads);
        // At most `threads`, which has 32 bits.
        self.total.saturating_sub(before).min(self.threads.into()) as u32
    }

    /// The warps of a block; none if there is no such block.
    pub(crate) fn warps(&self, block: u32) -> Vec<Warp> {
        (0..).map_while(|index| self.warp(block, index)).collect()
    }

    /// Warp `index` of a block, if the block has that many.
    pub(crate) fn warp(&self, block: u32, index: u32) -> Option<Warp> {
        if block >= self.blocks {
            return None;
        }
        let first_thread = index.checked_mul(LANES as u32)?;
        let threads = self.threads_of(block).checked_sub(first_thread).filter(|&n| n > 0)?;
        let launched = WarpMask::first(threads.min(LANES as u32) as usize);
        let mut predicates = [WarpMask::EMPTY; 32];
        predicates[0] = WarpMask::first(LANES);
        Some(Warp {
            id: GroupId { cta: block.into(), group: index, first_thread },
            special: Special { first_thread, block, dim: self.threads, argument: self.argument },
            pc: self.entry,
            launched,
            live: launched,
            registers: Box::new([[0; LANES]; 64]),
            predicates,
            calls: Calls::default(),
        })
    }
}
