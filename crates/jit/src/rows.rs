//! Row operands of steps, and the liveness of rows: a row that is not read again need not be stored
//! to memory.

use fast::code::{Code, Dst, End, Kind, Src, Step};

/// A row of the register file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Row {
    /// Of 32-bit values.
    Narrow(u32),
    /// Of 64-bit values.
    Wide(u32),
}

/// Calls `to` with each row that a step reads.
pub(crate) fn reads(step: &Step, to: &mut dyn FnMut(Row)) {
    step.operands(&mut |src| match src {
        Src::Narrow(i) => to(Row::Narrow(i)),
        Src::Wide(i) => to(Row::Wide(i)),
        Src::Pair(a, b) => {
            to(Row::Wide(a));
            to(Row::Wide(b));
        }
        _ => {}
    });
}

/// Returns the row that a step is known to write in all running lanes.
fn kills(step: &Step) -> Option<Row> {
    if step.blend || step.guard.is_some() {
        return None;
    }
    match step.kind {
        Kind::Narrow { dst, .. }
        | Kind::Rare { dst, .. }
        | Kind::Low { dst, .. }
        | Kind::Select { wide: false, dst, .. } => Some(Row::Narrow(dst)),
        Kind::Wide { dst, .. } | Kind::Select { wide: true, dst, .. } => Some(Row::Wide(dst)),
        Kind::Load(ref memory) => match memory.dst.as_slice() {
            [Dst::Narrow(i)] => Some(Row::Narrow(*i)),
            [Dst::Wide(i)] => Some(Row::Wide(*i)),
            _ => None,
        },
        Kind::Generic(ref generic) => match generic.dst.as_slice() {
            [Dst::Narrow(i)] => Some(Row::Narrow(*i)),
            [Dst::Wide(i)] => Some(Row::Wide(*i)),
            _ => None,
        },
        _ => None,
    }
}

/// Most words of the sets of all blocks. In larger kernels every row counts as live at the end of
/// each block.
const MAX_WORDS: usize = 1 << 21;

/// Rows that are live at the end of each block.
#[derive(Debug, Default)]
pub(crate) struct Liveness {
    narrow: usize,
    words: usize,
    /// Sets by block; empty if they would exceed [`MAX_WORDS`].
    out: Vec<u64>,
}

impl Liveness {
    pub(crate) fn new(code: &Code) -> Self {
        let narrow = code.narrow as usize;
        let words = (narrow + code.wide as usize).div_ceil(64);
        let mut this = Self { narrow, words, out: Vec::new() };
        let blocks = code.blocks.len();
        if words.saturating_mul(blocks) > MAX_WORDS {
            return this;
        }
        // Rows that a block reads before it writes them, and rows that it writes.
        let (mut read, mut killed) = (vec![0; words * blocks], vec![0; words * blocks]);
        for (b, block) in code.blocks.iter().enumerate() {
            let (read, killed) =
                (&mut read[b * words..][..words], &mut killed[b * words..][..words]);
            for step in &code.steps[block.steps.clone()] {
                reads(step, &mut |row| {
                    let (word, bit) = this.place(row);
                    read[word] |= bit & !killed[word];
                });
                if let Some((word, bit)) = kills(step).map(|row| this.place(row)) {
                    killed[word] |= bit;
                }
            }
            if let End::Switch(src, _) = &block.end
                && let Src::Narrow(_) | Src::Wide(_) = src
            {
                let row = match *src {
                    Src::Wide(i) => Row::Wide(i),
                    Src::Narrow(i) => Row::Narrow(i),
                    _ => continue,
                };
                let (word, bit) = this.place(row);
                read[word] |= bit & !killed[word];
            }
        }
        this.out = vec![0; words * blocks];
        let mut into = read.clone();
        let mut changed = true;
        while changed {
            changed = false;
            for (b, block) in code.blocks.iter().enumerate().rev() {
                for word in 0..words {
                    let at = b * words + word;
                    let live = |set, to: u32| set | into[to as usize * words + word];
                    let out = block.end.targets().fold(0, live);
                    this.out[at] = out;
                    let before = read[at] | out & !killed[at];
                    changed |= before != into[at];
                    into[at] = before;
                }
            }
        }
        // The end of the block itself reads, too.
        for (b, block) in code.blocks.iter().enumerate() {
            if let End::Switch(Src::Narrow(i), _) = block.end {
                let (word, bit) = this.place(Row::Narrow(i));
                this.out[b * words + word] |= bit;
            } else if let End::Switch(Src::Wide(i), _) = block.end {
                let (word, bit) = this.place(Row::Wide(i));
                this.out[b * words + word] |= bit;
            }
        }
        this
    }

    fn place(&self, row: Row) -> (usize, u64) {
        let index = match row {
            Row::Narrow(i) => i as usize,
            Row::Wide(i) => self.narrow + i as usize,
        };
        (index / 64, 1 << (index % 64))
    }

    /// Returns whether a row may be read after a block.
    fn after(&self, block: usize, row: Row) -> bool {
        let (word, bit) = self.place(row);
        self.out.get(block * self.words + word).is_none_or(|set| set & bit != 0)
    }
}

/// Reads and full writes of a block's rows, in order of steps.
#[derive(Debug, Default)]
pub(crate) struct Uses {
    block: Option<usize>,
    /// By row: the step, and whether it reads.
    events: rustc_hash::FxHashMap<Row, Vec<(usize, bool)>>,
}

impl Uses {
    /// Collects the uses of a block.
    pub(crate) fn turn_to(&mut self, code: &Code, block: usize) {
        if self.block == Some(block) {
            return;
        }
        self.block = Some(block);
        self.events.clear();
        for index in code.blocks[block].steps.clone() {
            let step = &code.steps[index];
            let events = &mut self.events;
            reads(step, &mut |row| events.entry(row).or_default().push((index, true)));
            if let Some(row) = kills(step) {
                events.entry(row).or_default().push((index, false));
            }
        }
    }

    /// Returns the first step from `from` on that reads a row; `None` if the row is written before,
    /// or not read in this block.
    pub(crate) fn next_read(&self, row: Row, from: usize) -> Option<usize> {
        self.next(row, from).filter(|e| e.1).map(|e| e.0)
    }

    /// Returns whether a row may be read, in this block from a step on or in others.
    pub(crate) fn is_read(&self, liveness: &Liveness, row: Row, from: usize) -> bool {
        match self.next(row, from) {
            Some((_, reads)) => reads,
            None => self.block.is_none_or(|block| liveness.after(block, row)),
        }
    }

    fn next(&self, row: Row, from: usize) -> Option<(usize, bool)> {
        let events = self.events.get(&row)?;
        events.get(events.partition_point(|e| e.0 < from)).copied()
    }
}
