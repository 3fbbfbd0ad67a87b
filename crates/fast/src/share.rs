//! Lets rows whose values are never live at the same time share storage, so that more of the used
//! rows fit where rows are fast.
//!
//! Two rows interfere if one is written while the other holds a value that some thread will still
//! read. For threads that execute the write, this is liveness, thread by thread: an unguarded write
//! ends the life of their previous values. Threads of the warp that wait elsewhere (on other sides
//! of a branch, or at its reconvergence point) keep their values if the write
//! [blends](Step::blend). If it does not, the row also interferes with whatever is live where they
//! may wait.
//!
//! Rows are numbered here with narrow ones first. Kernels whose analysis would take long stay as
//! they are.

use crate::code::{Block, Code, Dst, End, Kind, Memory, Rejoin, Src, Step};

/// The maximum number of rows of a kernel that is analysed.
const MOST_ROWS: usize = 4096;
/// The maximum number of words of all sets of rows in total.
const MOST_WORDS: usize = 1 << 19;
/// The maximum work of walks from branches: blocks visited times words per set.
const MOST_VISITS: usize = 1 << 20;
/// The factor by which each loop around a use increases its weight.
const LOOP: u64 = 8;
/// Loops nested deeper count as this deep.
const DEEPEST: u32 = 5;

/// An operand or a result of a step.
enum Place<'s> {
    Reads(&'s mut Src),
    Writes(&'s mut Dst),
}

/// Calls `see` with all operands and results of a step, except its guard.
fn visit(kind: &mut Kind, see: &mut dyn FnMut(Place<'_>)) {
    fn access(memory: &mut Memory, see: &mut dyn FnMut(Place<'_>)) {
        see(Place::Reads(&mut memory.addr));
        memory.src.iter_mut().for_each(|s| see(Place::Reads(s)));
        memory.dst.iter_mut().for_each(|d| see(Place::Writes(d)));
    }
    let narrow = |row: &mut u32, see: &mut dyn FnMut(Place<'_>)| {
        let mut dst = Dst::Narrow(*row);
        see(Place::Writes(&mut dst));
        if let Dst::Narrow(to) = dst {
            *row = to;
        }
    };
    let wide = |row: &mut u32, see: &mut dyn FnMut(Place<'_>)| {
        let mut dst = Dst::Wide(*row);
        see(Place::Writes(&mut dst));
        if let Dst::Wide(to) = dst {
            *row = to;
        }
    };
    match kind {
        Kind::Narrow { dst, src, .. }
        | Kind::Rare { dst, src, .. }
        | Kind::Select { wide: false, dst, src } => {
            src.iter_mut().for_each(|s| see(Place::Reads(s)));
            narrow(dst, see);
        }
        Kind::Wide { dst, src, .. } | Kind::Select { wide: true, dst, src } => {
            src.iter_mut().for_each(|s| see(Place::Reads(s)));
            wide(dst, see);
        }
        Kind::Low { dst, src } => {
            see(Place::Reads(src));
            narrow(dst, see);
        }
        Kind::Test { src, .. } | Kind::Scalar { src, .. } => {
            src.iter_mut().for_each(|s| see(Place::Reads(s)));
        }
        Kind::Logic { src, .. } => src.iter_mut().for_each(|s| see(Place::Reads(s))),
        Kind::Widen { addend, .. } => see(Place::Reads(addend)),
        Kind::Generic(generic) => {
            generic.src.iter_mut().for_each(|s| see(Place::Reads(s)));
            generic.dst.iter_mut().for_each(|d| see(Place::Writes(d)));
        }
        Kind::Sreg { dst, .. } => see(Place::Writes(dst)),
        Kind::Load(memory) | Kind::Store(memory) => access(memory, see),
        Kind::Atomic(atomic) => access(&mut atomic.memory, see),
        Kind::Collective(collective) => {
            let sources = collective.src.iter_mut().chain(&mut collective.members);
            sources.for_each(|s| see(Place::Reads(s)));
            collective.dst.iter_mut().for_each(|d| see(Place::Writes(d)));
        }
        Kind::Matrix(matrix) => {
            matrix.memory.iter_mut().for_each(|m| access(m, see));
            matrix.src.iter_mut().for_each(|s| see(Place::Reads(s)));
            matrix.dst.iter_mut().for_each(|d| see(Place::Writes(d)));
        }
        Kind::Copy(copy) => {
            access(&mut copy.from, see);
            access(&mut copy.to, see);
            copy.bytes.iter_mut().for_each(|s| see(Place::Reads(s)));
        }
        Kind::Barrier { id, pred, dst, .. } => {
            see(Place::Reads(id));
            pred.iter_mut().for_each(|s| see(Place::Reads(s)));
            see(Place::Writes(dst));
        }
        Kind::Nothing | Kind::Fence | Kind::Leave(_) => {}
    }
}

/// Returns whether each lane's result depends on that lane's operands only, which have been read
/// when the result is written.
fn by_lane(kind: &Kind) -> bool {
    matches!(
        kind,
        Kind::Narrow { .. }
            | Kind::Wide { .. }
            | Kind::Rare { .. }
            | Kind::Select { .. }
            | Kind::Low { .. }
            | Kind::Generic(_)
    )
}

/// Returns the targets of a block's end at which lanes can diverge; none if they cannot.
fn sides(end: &End) -> Vec<u32> {
    let same = |src: &Src| matches!(src, Src::Line(_, 0, _) | Src::Const(_));
    let parts = match end {
        End::Branch(guard, ..) | End::Return(Some(guard), ..) => !same(&guard.pred),
        End::Switch(index, _) => !same(index),
        End::Go(_) | End::Exit(..) | End::Call(..) | End::Return(None, ..) => false,
    };
    let mut sides: Vec<u32> = end.targets().filter(|_| parts).collect();
    sides.sort_unstable();
    sides.dedup();
    sides
}

/// The rows that a step reads and writes.
struct Access {
    reads: Vec<u32>,
    writes: Vec<u32>,
}

/// Sets of rows, as bits.
struct Sets {
    words: usize,
    bits: Vec<u64>,
}

impl Sets {
    fn new(count: usize, words: usize) -> Self {
        Self { words, bits: vec![0; count * words] }
    }

    fn get(&self, set: usize) -> &[u64] {
        &self.bits[set * self.words..][..self.words]
    }

    fn get_mut(&mut self, set: usize) -> &mut [u64] {
        &mut self.bits[set * self.words..][..self.words]
    }

    fn insert(&mut self, set: usize, row: u32) {
        insert(self.get_mut(set), row);
    }
}

fn insert(set: &mut [u64], row: u32) {
    set[row as usize / 64] |= 1 << (row % 64);
}

fn remove(set: &mut [u64], row: u32) {
    set[row as usize / 64] &= !(1 << (row % 64));
}

fn contains(set: &[u64], row: u32) -> bool {
    set[row as usize / 64] >> (row % 64) & 1 != 0
}

fn members(set: &[u64]) -> impl Iterator<Item = u32> + '_ {
    set.iter().enumerate().flat_map(|(i, &word)| {
        std::iter::successors(Some(word), |w| Some(w & w.wrapping_sub(1)))
            .take_while(|&w| w != 0)
            .map(move |w| i as u32 * 64 + w.trailing_zeros())
    })
}

/// The interference graph of a kernel's rows, and the sets that it is made from.
struct Sharing<'c> {
    code: &'c Code,
    narrow: u32,
    rows: usize,
    words: usize,
    accesses: Vec<Access>,
    /// Rows live into each block, and out of it.
    into: Sets,
    out: Sets,
    /// Rows that lanes waiting elsewhere may still read, while a block runs.
    waits: Sets,
    apart: Sets,
}

/// Appends the rows of an operand.
fn rows_of_src(narrow: u32, src: Src, to: &mut Vec<u32>) {
    match src {
        Src::Narrow(i) => to.push(i),
        Src::Wide(i) => to.push(narrow + i),
        Src::Pair(a, b) => to.extend([narrow + a, narrow + b]),
        Src::Pred(_) | Src::Line(..) | Src::Const(_) | Src::ConstPair(..) => {}
    }
}

fn rows_of_dst(narrow: u32, dst: Dst, to: &mut Vec<u32>) {
    match dst {
        Dst::Narrow(i) => to.push(i),
        Dst::Wide(i) => to.push(narrow + i),
        Dst::Pair(a, b) => to.extend([narrow + a, narrow + b]),
        Dst::Pred(_) | Dst::Scalar(_) | Dst::None => {}
    }
}

impl Code {
    /// Assigns shared storage to rows. Kernels that are too large stay as they are.
    pub(crate) fn share_rows(&mut self) {
        let (rows, blocks) = ((self.narrow + self.wide) as usize, self.blocks.len());
        let words = rows.div_ceil(64);
        if !(2..=MOST_ROWS).contains(&rows) || words * (3 * blocks + rows) > MOST_WORDS {
            return;
        }
        let accesses = self.accesses();
        let mut sharing = Sharing {
            narrow: self.narrow,
            rows,
            words,
            accesses,
            into: Sets::new(blocks, words),
            out: Sets::new(blocks, words),
            waits: Sets::new(blocks, words),
            apart: Sets::new(rows, words),
            code: self,
        };
        sharing.live();
        if !sharing.wait() {
            return;
        }
        sharing.keep_apart();
        let order = sharing.order();
        let (places, narrow, wide) = sharing.place(&order);
        self.rename(&places, narrow, wide);
    }

    fn accesses(&mut self) -> Vec<Access> {
        let narrow = self.narrow;
        let of = |step: &mut Step| {
            let mut access = Access { reads: Vec::new(), writes: Vec::new() };
            visit(&mut step.kind, &mut |place| match place {
                Place::Reads(src) => rows_of_src(narrow, *src, &mut access.reads),
                Place::Writes(dst) => rows_of_dst(narrow, *dst, &mut access.writes),
            });
            access
        };
        self.steps.iter_mut().map(of).collect()
    }

    /// Renumbers rows, and sets the number of rows of each width.
    fn rename(&mut self, places: &[u32], narrow: u32, wide: u32) {
        let before = self.narrow;
        let src = |src: &mut Src| match src {
            Src::Narrow(i) => *i = places[*i as usize],
            Src::Wide(i) => *i = places[(before + *i) as usize],
            Src::Pair(a, b) => {
                *a = places[(before + *a) as usize];
                *b = places[(before + *b) as usize];
            }
            Src::Pred(_) | Src::Line(..) | Src::Const(_) | Src::ConstPair(..) => {}
        };
        let dst = |dst: &mut Dst| match dst {
            Dst::Narrow(i) => *i = places[*i as usize],
            Dst::Wide(i) => *i = places[(before + *i) as usize],
            Dst::Pair(a, b) => {
                *a = places[(before + *a) as usize];
                *b = places[(before + *b) as usize];
            }
            Dst::Pred(_) | Dst::Scalar(_) | Dst::None => {}
        };
        for step in &mut self.steps {
            visit(&mut step.kind, &mut |place| match place {
                Place::Reads(s) => src(s),
                Place::Writes(d) => dst(d),
            });
        }
        for block in &mut self.blocks {
            if let End::Switch(index, _) = &mut block.end {
                src(index);
            }
        }
        self.cleared.iter_mut().for_each(src);
        (self.narrow, self.wide) = (narrow, wide);
    }
}

impl Sharing<'_> {
    /// Returns the rows that the end of a block reads.
    fn end_reads(&self, block: &Block) -> Vec<u32> {
        let mut rows = Vec::new();
        if let End::Switch(index, _) = block.end {
            rows_of_src(self.narrow, index, &mut rows);
        }
        rows
    }

    /// Visits a block's steps from last to first, with the rows that are live after each.
    fn backwards(&self, b: usize, live: &mut [u64], mut at: impl FnMut(usize, &Access, &[u64])) {
        let block = &self.code.blocks[b];
        self.end_reads(block).into_iter().for_each(|row| insert(live, row));
        for index in block.steps.clone().rev() {
            let access = &self.accesses[index];
            at(index, access, live);
            if self.code.steps[index].guard.is_none() {
                access.writes.iter().for_each(|&row| remove(live, row));
            }
            access.reads.iter().for_each(|&row| insert(live, row));
        }
    }

    fn live(&mut self) {
        let mut changed = true;
        while changed {
            changed = false;
            for b in (0..self.code.blocks.len()).rev() {
                let mut live = self.out.get(b).to_vec();
                for to in self.code.blocks[b].end.targets() {
                    let into = self.into.get(to as usize);
                    live.iter_mut().zip(into).for_each(|(l, i)| *l |= i);
                }
                self.out.get_mut(b).copy_from_slice(&live);
                self.backwards(b, &mut live, |_, _, _| {});
                if live != self.into.get(b) {
                    self.into.get_mut(b).copy_from_slice(&live);
                    changed = true;
                }
            }
        }
    }

    /// Computes, branch by branch, the rows that waiting lanes may still read. Returns `false` if
    /// that takes too long.
    fn wait(&mut self) -> bool {
        let blocks = self.code.blocks.len();
        let (mut visits, mut seen, mut round) = (0, vec![0u32; blocks], 0);
        for block in &self.code.blocks {
            let mut sides = sides(&block.end);
            let rejoin = match block.rejoin {
                Rejoin::At(to) | Rejoin::Return(to) => Some(to),
                Rejoin::Enclosing => None,
            };
            sides.retain(|&s| Some(s) != rejoin);
            for &side in &sides {
                // Without a reconvergence point, lanes may be on any side while the blocks after
                // the branch run.
                let others = sides.iter().filter(|&&s| s != side || rejoin.is_none());
                let mut needed = vec![0; self.words];
                for &place in others.chain(&rejoin) {
                    let into = self.into.get(place as usize);
                    needed.iter_mut().zip(into).for_each(|(n, i)| *n |= i);
                }
                round += 1;
                let mut stack = vec![side];
                while let Some(b) = stack.pop() {
                    if Some(b) == rejoin || seen[b as usize] == round {
                        continue;
                    }
                    seen[b as usize] = round;
                    visits += self.words;
                    if visits > MOST_VISITS {
                        return false;
                    }
                    let waits = self.waits.get_mut(b as usize);
                    waits.iter_mut().zip(&needed).for_each(|(w, n)| *w |= n);
                    stack.extend(self.code.blocks[b as usize].end.targets());
                }
            }
        }
        true
    }

    fn keep_apart(&mut self) {
        let mut apart = std::mem::replace(&mut self.apart, Sets::new(0, self.words));
        let mut part = |a: u32, b: u32| {
            if a != b {
                apart.insert(a as usize, b);
                apart.insert(b as usize, a);
            }
        };
        // Rows that hold values when the kernel begins.
        let mut first = Vec::new();
        for &src in &self.code.cleared {
            rows_of_src(self.narrow, src, &mut first);
        }
        first.extend(members(self.into.get(self.code.entry as usize)));
        for (i, &a) in first.iter().enumerate() {
            first[..i].iter().for_each(|&b| part(a, b));
        }
        for b in 0..self.code.blocks.len() {
            let mut live = self.out.get(b).to_vec();
            self.backwards(b, &mut live, |index, access, live| {
                let step = &self.code.steps[index];
                for (i, &row) in access.writes.iter().enumerate() {
                    members(live).for_each(|other| part(row, other));
                    access.writes[..i].iter().for_each(|&other| part(row, other));
                    if !step.blend {
                        members(self.waits.get(b)).for_each(|other| part(row, other));
                    }
                    if !by_lane(&step.kind) {
                        access.reads.iter().for_each(|&other| part(row, other));
                    }
                }
            });
        }
        self.apart = apart;
    }

    /// Orders rows by weight, highest first. A use weighs more the deeper it is in loops.
    fn order(&self) -> Vec<u32> {
        let mut weights = vec![0u64; self.rows];
        for (block, depth) in self.code.blocks.iter().zip(self.code.loop_depths()) {
            let weight = LOOP.pow(depth.min(DEEPEST));
            for access in &self.accesses[block.steps.clone()] {
                for &row in access.reads.iter().chain(&access.writes) {
                    weights[row as usize] += weight;
                }
            }
        }
        let mut order: Vec<u32> = (0..self.rows as u32).collect();
        order.sort_by_key(|&row| (std::cmp::Reverse(weights[row as usize]), row));
        order
    }

    /// Returns, for each row, one that it should share storage with if possible: an operand of its
    /// last write.
    fn friends(&self) -> Vec<Option<u32>> {
        let mut friends = vec![None; self.rows];
        for (step, access) in self.code.steps.iter().zip(&self.accesses) {
            if let (true, &[row]) = (by_lane(&step.kind), access.writes.as_slice()) {
                let alike = |&&r: &&u32| r != row && (r < self.narrow) == (row < self.narrow);
                // The last operand is the addend of multiply-adds.
                if let Some(&friend) = access.reads.iter().rev().find(alike) {
                    friends[row as usize] = Some(friend);
                    friends[friend as usize].get_or_insert(row);
                }
            }
        }
        friends
    }

    /// Assigns storage to each row; returns also the numbers of narrow and of wide rows.
    fn place(&self, order: &[u32]) -> (Vec<u32>, u32, u32) {
        const NONE: u32 = u32::MAX;
        let (mut places, mut counts) = (vec![NONE; self.rows], [0u32; 2]);
        let friends = self.friends();
        let mut taken: Vec<u64> = Vec::new();
        for &row in order {
            let wide = row >= self.narrow;
            taken.clear();
            taken.resize(self.words + 1, 0);
            for other in members(self.apart.get(row as usize)) {
                if (other >= self.narrow) == wide && places[other as usize] != NONE {
                    insert(&mut taken, places[other as usize]);
                }
            }
            let friend = friends[row as usize].map_or(NONE, |f| places[f as usize]);
            let place = if friend != NONE && !contains(&taken, friend) {
                friend
            } else {
                (0..).find(|&p| !contains(&taken, p)).unwrap_or(0)
            };
            places[row as usize] = place;
            let count = &mut counts[usize::from(wide)];
            *count = (*count).max(place + 1);
        }
        (places, counts[0], counts[1])
    }
}
