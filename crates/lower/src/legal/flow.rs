//! Writes blocks whose ends name labels, in the place of the blocks of a function.

use ir::{Block, BlockId, Inst, LocId, Origin, Term, TermKind};

/// Blocks so far. While they are written, the targets of their ends are labels; the first labels
/// are the blocks of the function that is rewritten.
pub(super) struct Flow {
    blocks: Vec<Block>,
    /// The block that each label stands for.
    labels: Vec<Option<u32>>,
    name: String,
    parts: u32,
}

/// A place that ends can name, before it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label(pub(super) BlockId);

impl Flow {
    /// For a function with so many blocks.
    pub(super) fn new(blocks: usize) -> Self {
        Self { blocks: Vec::new(), labels: vec![None; blocks], name: String::new(), parts: 0 }
    }

    pub(super) fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(BlockId(self.labels.len() as u32 - 1))
    }

    /// Labels for the blocks of a function that is written at another place: the first of them.
    pub(super) fn labels(&mut self, blocks: usize) -> u32 {
        self.labels.extend(std::iter::repeat_n(None, blocks));
        (self.labels.len() - blocks) as u32
    }

    /// What comes next begins here. The block before has been ended.
    pub(super) fn place(&mut self, label: Label) {
        self.labels[label.0.index()] = Some(self.blocks.len() as u32);
    }

    /// What comes next is a block of this name.
    pub(super) fn name(&mut self, name: &str) {
        (self.name, self.parts) = (name.to_owned(), 0);
    }

    /// Ends the block; the next one has a name made of this one's.
    pub(super) fn end(&mut self, insts: Vec<Inst>, term: Term) {
        let name = match self.parts {
            0 => self.name.clone(),
            part => format!("{}.{part}", self.name),
        };
        self.parts += 1;
        self.blocks.push(Block { name, insts, term });
    }

    /// Ends the block inside of the code that stands for an instruction.
    pub(super) fn cut(&mut self, insts: Vec<Inst>, kind: TermKind, loc: LocId) {
        self.end(insts, Term { kind, origin: Origin::Lowering, loc });
    }

    /// The blocks with their targets. `before` goes in front of them if it is not empty.
    pub(super) fn finish(mut self, before: Vec<Inst>) -> Vec<Block> {
        let first = u32::from(!before.is_empty());
        for block in &mut self.blocks {
            for target in block.term.targets_mut() {
                let placed = self.labels.get(target.index()).copied().flatten();
                *target = BlockId(placed.unwrap_or(0) + first);
            }
        }
        if first == 1 {
            let term = Term { kind: TermKind::Fall, origin: Origin::Lowering, loc: LocId(0) };
            let name = "launch".to_owned();
            self.blocks.insert(0, Block { name, insts: before, term });
        }
        self.blocks
    }
}
