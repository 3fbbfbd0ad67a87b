//! Regions of a body: runs of lines that are entered at their first one alone, so that positions in
//! queues are known inside of them; and which values go from one region to another.
//!
//! A value of a lane that is written while other lanes are off keeps its old content there. So a
//! read is of values written in the same region if one of these writes happened in all lanes that
//! read; which lanes are some of which follows from how masks are made. Every other read is
//! exposed: its value comes from the frame.

use super::code::{Body, Inst, Item, Mask, Val, When};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;

/// The mask as a tree: each is some lanes of its parent.
#[derive(Clone, Debug)]
pub(super) struct Masks {
    parents: Vec<usize>,
    depths: Vec<u32>,
    pub(super) current: usize,
    saved: FxHashMap<Val, usize>,
}

impl Masks {
    pub(super) fn new() -> Self {
        Self { parents: vec![0], depths: vec![0], current: 0, saved: FxHashMap::default() }
    }

    fn child(&mut self, parent: usize) -> usize {
        self.parents.push(parent);
        self.depths.push(self.depths[parent] + 1);
        self.parents.len() - 1
    }

    /// A mask of which nothing is known.
    fn unknown(&mut self) -> usize {
        let id = self.parents.len();
        self.parents.push(id);
        self.depths.push(0);
        id
    }

    /// Whether all lanes of `inner` are in `outer`.
    pub(super) fn within(&self, mut inner: usize, outer: usize) -> bool {
        while self.depths[inner] > self.depths[outer] {
            inner = self.parents[inner];
        }
        inner == outer
    }

    /// What an instruction does to the mask and to copies of it.
    pub(super) fn step(&mut self, inst: &Inst) {
        if let Some((val @ Val::Group(_), _)) = inst.result {
            if inst.saves {
                self.saved.insert(val, self.current);
            } else {
                self.saved.remove(&val);
            }
        }
        let of = |this: &Self, val: Val| this.saved.get(&val).copied();
        self.current = match inst.mask {
            None => return,
            Some(Mask::Narrowed) => self.child(self.current),
            Some(Mask::Within(val)) => match of(self, val) {
                Some(id) => self.child(id),
                None => self.unknown(),
            },
            Some(Mask::Restored(val)) => match of(self, val) {
                Some(id) if self.within(self.current, id) => id,
                _ => self.unknown(),
            },
            Some(Mask::Any) => self.unknown(),
        };
    }
}

/// The regions of a body.
#[derive(Clone, Debug)]
pub(super) struct Regions {
    pub(super) ranges: Vec<Range<usize>>,
    /// Values that a region behind the end of this one reads from the frame.
    pub(super) live_out: Vec<FxHashSet<Val>>,
}

impl Regions {
    pub(super) fn new(body: &Body) -> Self {
        let ranges = ranges(&body.items);
        let mut label_of = FxHashMap::default();
        for (r, range) in ranges.iter().enumerate() {
            for item in &body.items[range.clone()] {
                if let Item::Label(id, _) = item {
                    label_of.insert(*id, r);
                }
            }
        }
        let mut exposed = Vec::new();
        let mut killed = Vec::new();
        let mut next: Vec<Vec<usize>> = Vec::new();
        for (r, range) in ranges.iter().enumerate() {
            let items = &body.items[range.clone()];
            let (reads, writes) = reads_from_outside(items);
            exposed.push(reads);
            killed.push(writes);
            let mut to: Vec<usize> = items
                .iter()
                .filter_map(|item| match item {
                    Item::Branch(_, label) => label_of.get(label).copied(),
                    _ => None,
                })
                .collect();
            let falls = !matches!(items.last(), Some(Item::Branch(When::Always, _)));
            let end = r + 1 == ranges.len();
            to.extend((falls && !end).then_some(r + 1));
            to.extend((end && body.again).then_some(0));
            next.push(to);
        }
        Self { live_out: live_out(&exposed, &killed, &next), ranges }
    }
}

fn ranges(items: &[Item]) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    let mut start = 0;
    for (i, item) in items.iter().enumerate() {
        let begins = matches!(item, Item::Label(..));
        let ended = i > 0 && matches!(items[i - 1], Item::Branch(When::Always, _));
        // Labels one after the other begin one region.
        let labels = i > 0 && matches!(items[i - 1], Item::Label(..));
        if (begins && !labels || ended) && i > start {
            out.push(start..i);
            start = i;
        }
    }
    if start < items.len() {
        out.push(start..items.len());
    }
    out
}

/// What a region reads from the frame, and the masks that it writes.
fn reads_from_outside(items: &[Item]) -> (FxHashSet<Val>, FxHashSet<Val>) {
    let mut masks = Masks::new();
    let mut written: FxHashMap<Val, Vec<usize>> = FxHashMap::default();
    let mut exposed = FxHashSet::default();
    let mut groups = FxHashSet::default();
    for item in items {
        for val in reads(item) {
            let found = written.get(&val);
            let covered = match val {
                Val::Lane(_) => {
                    found.is_some_and(|f| f.iter().any(|&m| masks.within(masks.current, m)))
                }
                Val::Group(_) => found.is_some(),
                Val::Const(_) => true,
            };
            if !covered {
                exposed.insert(val);
            }
        }
        let Item::Inst(inst) = item else { continue };
        if let Some((val, _)) = inst.result {
            written.entry(val).or_default().push(masks.current);
            if matches!(val, Val::Group(_)) {
                groups.insert(val);
            }
        }
        masks.step(inst);
    }
    (exposed, groups)
}

/// The values that a line reads.
pub(super) fn reads(item: &Item) -> Vec<Val> {
    use super::code::Src;
    match item {
        Item::Inst(inst) => inst
            .sources
            .iter()
            .filter_map(|(src, _)| match src {
                Src::Val(val) => Some(*val),
                Src::Fixed(_) => None,
            })
            .collect(),
        Item::Branch(When::Empty(val) | When::Filled(val), _) => vec![*val],
        _ => Vec::new(),
    }
}

/// A lane's write kills nothing, for other lanes may keep their values; a group's does.
fn live_out(
    exposed: &[FxHashSet<Val>],
    killed: &[FxHashSet<Val>],
    next: &[Vec<usize>],
) -> Vec<FxHashSet<Val>> {
    let mut live_in: Vec<FxHashSet<Val>> = exposed.to_vec();
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); next.len()];
    for (r, to) in next.iter().enumerate() {
        for &t in to {
            before[t].push(r);
        }
    }
    let mut work: Vec<usize> = (0..next.len()).collect();
    while let Some(r) = work.pop() {
        let here = live_in[r].clone();
        for &p in &before[r] {
            let new: Vec<Val> = here
                .iter()
                .copied()
                .filter(|val| !live_in[p].contains(val) && !killed[p].contains(val))
                .collect();
            if !new.is_empty() {
                live_in[p].extend(new);
                work.push(p);
            }
        }
    }
    let union = |to: &Vec<usize>| to.iter().flat_map(|&t| live_in[t].iter().copied()).collect();
    next.iter().map(union).collect()
}
