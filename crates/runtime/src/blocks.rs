//! Which calls of clients allocated and freed blocks of memory.
//!
//! What clients tell is kept for all live blocks and for the [`FREED`] that were freed last.

use std::collections::{BTreeMap, VecDeque};

use places::{ApiCall, BlockHistory};
use simt::memory::{AccessError, Addr, Violation};

use crate::context::{Context, ContextError};
use crate::stop::Stop;

/// Freed blocks that are remembered.
const FREED: usize = 4096;

/// Histories of blocks, by their first address.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    live: BTreeMap<u64, BlockHistory>,
    /// The one that was freed last is the last.
    freed: VecDeque<(u64, BlockHistory)>,
}

impl Blocks {
    fn freed(&self, start: u64) -> Option<&BlockHistory> {
        self.freed.iter().rev().find(|(at, _)| *at == start).map(|(_, history)| history)
    }

    /// The history of the block nearest to a refused access, if it is near.
    pub(crate) fn of(&self, access: &AccessError) -> Option<BlockHistory> {
        let nearest = access.nearest.as_ref().filter(|_| access.space.window().is_none())?;
        if access.violation == Violation::Null || places::is_far(access) {
            return None;
        }
        let found = match nearest.freed {
            true => self.freed(nearest.base),
            false => self.live.get(&nearest.base),
        };
        found.cloned()
    }
}

impl Context {
    /// Notes which call of a client allocated a block, for messages: the block's first address, and
    /// the bytes that were asked for.
    pub fn note_allocated(&mut self, start: Addr, bytes: u64, call: ApiCall) {
        let history = BlockHistory { bytes, allocated: call, freed: None };
        self.blocks.live.insert(start.0, history);
    }

    /// Notes which call freed a block. One whose allocation was not noted is left out.
    pub fn note_freed(&mut self, start: Addr, call: ApiCall) {
        let Some(mut history) = self.blocks.live.remove(&start.0) else { return };
        history.freed = Some(call);
        if self.blocks.freed.len() == FREED {
            self.blocks.freed.pop_front();
        }
        self.blocks.freed.push_back((start.0, history));
    }

    /// Explains an error: the refused access in a sentence, and which calls allocated and freed the
    /// memory there. `None` if it is not one of an access.
    #[must_use]
    pub fn explain(&self, error: &ContextError) -> Option<String> {
        let ContextError::Access(access) = error else { return None };
        let text = places::explain(access);
        Some(match self.blocks.of(access) {
            Some(history) => format!("{text}; the memory was {history}"),
            None => text,
        })
    }

    /// Returns the stop of a library's function whose access to device memory was refused. `None`
    /// if the error is not one of an access.
    #[must_use]
    pub fn stop_of_library(&self, function: &str, error: ContextError) -> Option<Stop> {
        let ContextError::Access(access) = error else { return None };
        let block = self.blocks.of(&access);
        Some(Stop::of_library(function, access, block))
    }

    /// The history of a live block, by its first address.
    #[must_use]
    pub fn block(&self, start: Addr) -> Option<&BlockHistory> {
        self.blocks.live.get(&start.0)
    }

    /// The history of a block that was freed not long ago, by its first address.
    #[must_use]
    pub fn freed_block(&self, start: Addr) -> Option<&BlockHistory> {
        self.blocks.freed(start.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;
    use simt::memory::AccessKind;

    fn call(function: &str, number: u64) -> ApiCall {
        ApiCall { function: function.into(), number }
    }

    #[test]
    fn live_and_freed_blocks_are_distinguished_and_old_ones_forgotten() {
        let mut context = Context::new(Settings::default());
        let mut blocks = Vec::new();
        for number in 1..=FREED as u64 + 1 {
            let at = context.allocate("b", 16).unwrap();
            context.note_allocated(at, 10, call("alloc", number));
            blocks.push(at);
        }
        let of = |context: &Context, at: Addr| {
            let error = context.memory.check(AccessKind::Load, at.wrapping_add(16), 1, 1);
            context.blocks.of(&error.unwrap_err()).map(|history| history.to_string())
        };
        let first = "allocated by the 1st call of alloc (10 bytes)";
        assert_eq!(of(&context, blocks[0]).as_deref(), Some(first));
        for (number, &at) in (1..).zip(&blocks) {
            context.free(at).unwrap();
            context.note_freed(at, call("free", number));
        }
        assert_eq!(context.freed_block(blocks[0]), None);
        let second = context.freed_block(blocks[1]).unwrap().to_string();
        assert_eq!(
            second,
            "allocated by the 2nd call of alloc (10 bytes), freed by the 2nd call of free"
        );
        assert!(context.blocks.live.is_empty());
    }
}
