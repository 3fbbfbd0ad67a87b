//! Changing the order of blocks without changing what a function does.
//!
//! A block that falls through falls into the one behind it, so moving blocks about needs care.
//! [`Layout`] takes a function apart into blocks whose fall-through is explicit, lets blocks be
//! added and put in any order, and puts the function together again: where the block behind is not
//! the one to fall into, a branch is added (at the end of the block, or in a block of its own
//! behind a conditional end), and a branch to the block behind becomes a fall-through if it was
//! added here before.

use crate::module::{Block, BlockId, Function, Inst, LocId, Operand, Origin, Term, TermKind};
use thiserror::Error;

/// A function's blocks with explicit fall-through. Ids are those of the function, then of blocks
/// added, in order; they stay the same until [`Layout::finish`].
#[derive(Clone, Debug)]
pub struct Layout {
    blocks: Vec<Block>,
    falls_to: Vec<Option<BlockId>>,
    order: Vec<BlockId>,
}

/// Why a layout makes no function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LayoutError {
    /// A block that falls through does not say where to.
    #[error("block {} falls through, but into no block", .0.0)]
    FallsNowhere(BlockId),
    /// A block is named that does not exist or is not in the order.
    #[error("block {} is branched to, but is not in the layout", .0.0)]
    Missing(BlockId),
    /// A block is in the order twice.
    #[error("block {} is in the layout twice", .0.0)]
    Twice(BlockId),
}

/// Where old blocks are in the new order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renumbering(Vec<Option<BlockId>>);

impl Renumbering {
    /// The new id of a block; none if it was left out.
    #[must_use]
    pub fn get(&self, old: BlockId) -> Option<BlockId> {
        self.0.get(old.index()).copied().flatten()
    }
}

impl Layout {
    /// Takes a function's blocks out of it.
    #[must_use]
    pub fn take(function: &mut Function) -> Self {
        let blocks = std::mem::take(&mut function.blocks);
        let count = blocks.len() as u32;
        let next = |i: u32| (i + 1 < count).then_some(BlockId(i + 1));
        let falls_to =
            (0..count).zip(&blocks).map(|(i, b)| b.term.falls().then(|| next(i)).flatten());
        let falls_to = falls_to.collect();
        Self { blocks, falls_to, order: (0..count).map(BlockId).collect() }
    }

    /// The blocks by id, whatever their order.
    #[must_use]
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// A block, to be changed. A change of its end needs [`Layout::set_fall`] if it falls through
    /// then.
    pub fn block_mut(&mut self, id: BlockId) -> Option<&mut Block> {
        self.blocks.get_mut(id.index())
    }

    /// The block that a block falls into.
    #[must_use]
    pub fn fall(&self, id: BlockId) -> Option<BlockId> {
        self.falls_to.get(id.index()).copied().flatten()
    }

    /// Says which block a block falls into.
    pub fn set_fall(&mut self, id: BlockId, to: BlockId) {
        if let Some(fall) = self.falls_to.get_mut(id.index()) {
            *fall = Some(to);
        }
    }

    /// The order of the blocks.
    #[must_use]
    pub fn order(&self) -> &[BlockId] {
        &self.order
    }

    /// Adds a block at the end of the order. `fall` is where it falls into, if it does.
    pub fn push(&mut self, block: Block, fall: Option<BlockId>) -> BlockId {
        let id = BlockId(self.blocks.len() as u32);
        self.blocks.push(block);
        self.falls_to.push(fall);
        self.order.push(id);
        id
    }

    /// Adds a block behind another one; at the end, if that is not in the order.
    pub fn insert_after(&mut self, after: BlockId, block: Block, fall: Option<BlockId>) -> BlockId {
        let id = self.push(block, fall);
        if let Some(at) = self.order.iter().position(|&b| b == after) {
            self.order.pop();
            self.order.insert(at + 1, id);
        }
        id
    }

    /// Puts an empty block on the way from one block to another, behind the first: every jump and
    /// fall-through from `from` to `to` goes through it. None if there is no such way.
    pub fn split_edge(&mut self, from: BlockId, to: BlockId, origin: Origin) -> Option<BlockId> {
        let name = format!(
            "{}.{}",
            self.blocks.get(from.index())?.name,
            self.blocks.get(to.index())?.name
        );
        let falls = self.fall(from) == Some(to);
        let jumps = self.blocks[from.index()].term.targets().contains(&to);
        if !falls && !jumps {
            return None;
        }
        let term = Term { origin, ..Term::new(TermKind::Fall) };
        let block = Block { name, insts: Vec::new(), term };
        let id = self.insert_after(from, block, Some(to));
        for target in self.blocks[from.index()].term.targets_mut() {
            if *target == to {
                *target = id;
            }
        }
        if falls {
            self.set_fall(from, id);
        }
        Some(id)
    }

    /// Takes a block out of the order. It must not be branched to any more when the layout is
    /// finished.
    pub fn remove(&mut self, id: BlockId) {
        self.order.retain(|&b| b != id);
    }

    /// Sets the order. Blocks that it leaves out are removed; the first is the entry.
    pub fn set_order(&mut self, order: Vec<BlockId>) {
        self.order = order;
    }

    /// Puts the blocks into a function in their order, with branches where fall-throughs broke.
    ///
    /// # Errors
    /// If a block that is reached is missing; the function's blocks are then as they were.
    pub fn finish(mut self, function: &mut Function) -> Result<Renumbering, LayoutError> {
        self.check()?;
        self.mend_falls();
        let mut new = vec![None; self.blocks.len()];
        for (at, old) in self.order.iter().enumerate() {
            new[old.index()] = Some(BlockId(at as u32));
        }
        let mut blocks: Vec<_> = self.blocks.into_iter().map(Some).collect();
        let in_order = self.order.iter().filter_map(|old| blocks[old.index()].take());
        function.blocks = in_order.map(|block| renumber(block, &new)).collect();
        Ok(Renumbering(new))
    }

    fn check(&self) -> Result<(), LayoutError> {
        let mut present = vec![false; self.blocks.len()];
        for &id in &self.order {
            let here = present.get_mut(id.index()).ok_or(LayoutError::Missing(id))?;
            if std::mem::replace(here, true) {
                return Err(LayoutError::Twice(id));
            }
        }
        let known = |id: BlockId| match present.get(id.index()) {
            Some(true) => Ok(()),
            _ => Err(LayoutError::Missing(id)),
        };
        for &id in &self.order {
            let block = &self.blocks[id.index()];
            block.term.targets().iter().try_for_each(|&t| known(t))?;
            block.insts.iter().flat_map(named_blocks).try_for_each(known)?;
            if block.term.falls() {
                known(self.fall(id).ok_or(LayoutError::FallsNowhere(id))?)?;
            }
        }
        Ok(())
    }

    /// Makes every fall-through go to the block behind.
    fn mend_falls(&mut self) {
        let old_order = std::mem::take(&mut self.order);
        for (i, &id) in old_order.iter().enumerate() {
            self.order.push(id);
            let term = &self.blocks[id.index()].term;
            let Some(to) = self.fall(id).filter(|_| term.falls()) else { continue };
            if old_order.get(i + 1) == Some(&to) {
                continue;
            }
            let (origin, loc) = (term.origin, term.loc);
            if term.kind == TermKind::Fall {
                self.blocks[id.index()].term.kind = TermKind::Br(to);
            } else {
                let name = format!("{}.next", self.blocks[id.index()].name);
                self.jump_behind(name, to, origin, loc);
            }
        }
    }

    /// Adds a block that only jumps, at the end of the order so far.
    fn jump_behind(&mut self, name: String, to: BlockId, origin: Origin, loc: LocId) {
        let origin = if origin == Origin::Source { Origin::Lowering } else { origin };
        let term = Term { kind: TermKind::Br(to), origin, loc };
        self.push(Block { name, insts: Vec::new(), term }, None);
    }
}

/// Blocks that an instruction names.
fn named_blocks(inst: &Inst) -> impl Iterator<Item = BlockId> + '_ {
    inst.operands.iter().filter_map(|o| match o {
        Operand::Block(id) => Some(*id),
        _ => None,
    })
}

/// A block with new ids; every block it names has one.
fn renumber(mut block: Block, new: &[Option<BlockId>]) -> Block {
    let replace = |id: &mut BlockId| *id = new[id.index()].unwrap_or(*id);
    block.term.targets_mut().iter_mut().for_each(replace);
    for inst in &mut block.insts {
        for operand in &mut inst.operands {
            if let Operand::Block(id) = operand {
                replace(id);
            }
        }
    }
    block
}

/// Adds a block behind another one. Everything that is in the function keeps its meaning: in
/// particular, if `after` falls through, it still falls where it fell before.
///
/// # Errors
/// If the new block falls through into no block (give `fall`), or names one that does not exist.
pub fn insert_block_after(
    function: &mut Function,
    after: BlockId,
    block: Block,
    fall: Option<BlockId>,
) -> Result<BlockId, LayoutError> {
    let mut copy = function.clone();
    let mut layout = Layout::take(&mut copy);
    let id = layout.insert_after(after, block, fall);
    let new = layout.finish(function)?;
    // The block was put in the order just now.
    Ok(new.get(id).unwrap_or(id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{KERNEL_WORDS, KernelShape, Rng, expected, random_kernel};
    use crate::verify;

    fn words(module: &crate::Module) -> Vec<[u32; KERNEL_WORDS]> {
        (0..8).map(|tid| expected(module, 0, 8, tid).unwrap()).collect()
    }

    #[test]
    fn any_order_means_the_same() {
        for seed in 0..60 {
            let mut rng = Rng::new(seed);
            let shape = KernelShape::ALL[seed as usize % 3];
            let mut module = random_kernel(&mut rng, shape);
            let before = words(&module);
            for function in &mut module.functions {
                let mut layout = Layout::take(function);
                let mut order = layout.order().to_vec();
                for i in (2..order.len()).rev() {
                    order.swap(i, 1 + rng.below(i));
                }
                layout.set_order(order);
                layout.finish(function).unwrap();
            }
            verify(&module).unwrap_or_else(|e| panic!("{seed}: {e}"));
            assert_eq!(words(&module), before, "{seed}");
        }
    }

    #[test]
    fn splitting_every_edge_means_the_same() {
        for seed in 0..30 {
            let mut module = random_kernel(&mut Rng::new(seed), KernelShape::Graph);
            let before = words(&module);
            for function in &mut module.functions {
                let blocks = function.blocks.len();
                let edges = (0..blocks as u32).flat_map(|b| {
                    function.successors(BlockId(b)).into_iter().map(move |to| (BlockId(b), to))
                });
                let edges: Vec<_> = edges.collect();
                let mut layout = Layout::take(function);
                for (from, to) in &edges {
                    layout.split_edge(*from, *to, Origin::Structure).unwrap();
                }
                layout.finish(function).unwrap();
                assert!(function.blocks.len() >= blocks + edges.len());
            }
            verify(&module).unwrap_or_else(|e| panic!("{seed}: {e}"));
            assert_eq!(words(&module), before, "{seed}");
        }
    }

    #[test]
    fn inserting_keeps_fall_throughs() {
        let text = "func @f() {\nreg %p: pred\na: @%p br c\nb: nop\nc: ret\n}\n";
        let mut module = crate::text::parse(isa::FileId(0), text).unwrap();
        let function = &mut module.functions[0];
        let exit = |name: &str| Block {
            name: name.to_owned(),
            insts: Vec::new(),
            term: Term::new(TermKind::Exit(None)),
        };
        let id = insert_block_after(function, BlockId(0), exit("x"), None).unwrap();
        insert_block_after(function, BlockId(3), exit("y"), None).unwrap();
        let printed = crate::text::print(&module);
        assert_eq!(id, BlockId(2), "{printed}");
        let expected = "\
func @f() {
  reg %p: pred
a:
  @%p br c
a.next:
  br b !lowering
x:
  exit
b:
  nop
  br c
y:
  exit
c:
  ret
}
";
        assert_eq!(printed, expected);
        verify(&module).unwrap();
    }

    #[test]
    fn broken_layouts_are_refused() {
        let text = "func @f() {\na: br b\nb: fall\nc: ret\n}\n";
        let module = crate::text::parse(isa::FileId(0), text).unwrap();
        let attempt = |order: &[u32]| {
            let mut function = module.functions[0].clone();
            let mut layout = Layout::take(&mut function);
            layout.set_order(order.iter().map(|&i| BlockId(i)).collect());
            layout.finish(&mut function).map(|_| ())
        };
        assert_eq!(attempt(&[0, 2, 1]), Ok(()));
        assert_eq!(attempt(&[0, 2]), Err(LayoutError::Missing(BlockId(1))));
        assert_eq!(attempt(&[0, 1]), Err(LayoutError::Missing(BlockId(2))));
        assert_eq!(attempt(&[0, 1, 2, 2]), Err(LayoutError::Twice(BlockId(2))));
        assert_eq!(attempt(&[0, 9]), Err(LayoutError::Missing(BlockId(9))));
    }
}
