//! Values in queues: which hand each result is pushed to, where each source stands, and what goes
//! through the frame.
//!
//! A push moves all of its hand's values on, whatever the mask is; what was the fourth falls out.
//! Inside a region the positions are therefore known. A value goes to the hand whose fourth entry
//! is needed last. One that is read where no queue has it any more, or where lanes are on that did
//! not write it, comes from the frame; then its writes in the region are stored, and so are those
//! that another region reads.

use super::code::{Body, Inst, Item, Src, Val, When};
use super::regions::{Masks, Regions, reads};
use ir::LocId;
use rustc_hash::FxHashMap;
use std::fmt::Write;

const HANDS: [&str; 6] = ["vt", "vu", "vm", "vn", "t", "u"];
/// Entries of a hand.
const DEPTH: usize = 4;

/// A line of the text.
#[derive(Clone, Debug)]
pub(super) enum Line {
    Code(String, LocId),
    Label(u32, String),
    /// A branch with the operand that it tests.
    Branch(When, String, u32),
}

/// A body with places, and what it took.
#[derive(Clone, Debug, Default)]
pub(super) struct Placed {
    pub(super) lines: Vec<Line>,
    /// Values of lanes that the frame has, by number of slots; and of the group.
    pub(super) lane_slots: u32,
    pub(super) group_slots: u32,
    pub(super) stores: u32,
    pub(super) reloads: u32,
    /// Most masks of the group that queues and frame hold at once.
    pub(super) masks: u32,
}

/// Where constants and the frame are.
#[derive(Clone, Debug)]
pub(super) struct Bases {
    /// The import that is the frame's address.
    pub(super) frame: String,
    /// Bytes from one slot of lanes to the next.
    pub(super) stride: u64,
    /// Imports that are constants.
    pub(super) constants: FxHashMap<u32, String>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    val: Val,
    mask: usize,
}

type Hand = [Option<Entry>; DEPTH];

/// A line, or a store that may turn out to be needless.
enum Draft {
    Line(Line),
    Store { val: Val, text: String, loc: LocId, needed: bool },
}

struct Placer<'a> {
    body: &'a Body,
    bases: &'a Bases,
    hands: [Hand; 6],
    masks: Masks,
    out: Vec<Draft>,
    /// Stores of the region's writes, by value.
    writes: FxHashMap<Val, Vec<usize>>,
    /// Places where a value is read or written, the next last.
    events: FxHashMap<Val, Vec<(usize, bool)>>,
    slots: FxHashMap<Val, u32>,
    counts: [u32; 2],
    reloads: u32,
    loc: LocId,
}

/// Gives the values of a body their places.
pub(super) fn place(body: &Body, bases: &Bases) -> Placed {
    let regions = Regions::new(body);
    let mut this = Placer {
        body,
        bases,
        hands: [[None; DEPTH]; 6],
        masks: Masks::new(),
        out: Vec::new(),
        writes: FxHashMap::default(),
        events: FxHashMap::default(),
        slots: FxHashMap::default(),
        counts: [0; 2],
        reloads: 0,
        loc: LocId(0),
    };
    for (range, live) in regions.ranges.iter().zip(&regions.live_out) {
        this.enter(range.clone());
        for i in range.clone() {
            this.item(i, &|val| live.contains(&val));
        }
    }
    this.finish()
}

impl Placer<'_> {
    fn enter(&mut self, range: std::ops::Range<usize>) {
        self.hands = [[None; DEPTH]; 6];
        self.masks = Masks::new();
        self.writes.clear();
        self.events.clear();
        for i in range.rev() {
            let item = &self.body.items[i];
            if let Item::Inst(Inst { result: Some((val, _)), .. }) = item {
                self.events.entry(*val).or_default().push((i, true));
            }
            for val in reads(item) {
                self.events.entry(val).or_default().push((i, false));
            }
        }
    }

    fn item(&mut self, i: usize, live: &dyn Fn(Val) -> bool) {
        match &self.body.items[i] {
            Item::Label(id, name) => {
                self.out.push(Draft::Line(Line::Label(*id, name.clone())));
            }
            Item::Branch(when, to) => {
                let tested = match *when {
                    When::Empty(val) | When::Filled(val) => self.source(val, i, &[]),
                    _ => String::new(),
                };
                self.passed(i);
                self.out.push(Draft::Line(Line::Branch(*when, tested, *to)));
            }
            Item::Inst(inst) => {
                self.inst(inst, i, live);
                self.masks.step(inst);
            }
        }
    }

    fn inst(&mut self, inst: &Inst, i: usize, live: &dyn Fn(Val) -> bool) {
        self.loc = inst.loc;
        let vals: Vec<Val> = reads(&self.body.items[i]);
        // Reloads move what is there, so all of them come first.
        for &val in &vals {
            self.source(val, i, &vals);
        }
        let mut text = inst.text.clone();
        for (n, (src, suffix)) in inst.sources.iter().enumerate() {
            let name = match src {
                Src::Val(val) => self.find(*val).unwrap_or_default(),
                Src::Fixed(name) => name.clone(),
            };
            let dot = if suffix.is_empty() { "" } else { "." };
            text = text.replace(&format!("{{{n}}}"), &format!("{name}{dot}{suffix}"));
        }
        self.passed(i);
        let Some((val, width)) = inst.result else {
            self.out.push(Draft::Line(Line::Code(text, inst.loc)));
            return;
        };
        let hand = self.push(val, i, &[]);
        self.out
            .push(Draft::Line(Line::Code(format!("{text}, ->{}.{width}", HANDS[hand]), inst.loc)));
        let needed = live(val);
        let store = format!("v.sdi.brg {}#1.ud", HANDS[hand]);
        self.writes.entry(val).or_default().push(self.out.len());
        self.out.push(Draft::Store { val, text: store, loc: inst.loc, needed });
    }

    /// What lies behind, of reads and writes.
    fn passed(&mut self, i: usize) {
        for events in self.events.values_mut() {
            while events.last().is_some_and(|e| e.0 <= i) {
                events.pop();
            }
        }
    }

    /// Where the value is read next, if that comes before it is written.
    fn needed_at(&self, val: Val) -> Option<usize> {
        match self.events.get(&val)?.last() {
            Some(&(at, false)) => Some(at),
            _ => None,
        }
    }

    /// Where a value stands, by the name of the entry.
    fn find(&self, val: Val) -> Option<String> {
        if let Val::Const(index) = val
            && let Some(import) = self.bases.constants.get(&index)
        {
            return Some(import.clone());
        }
        for (h, hand) in self.hands.iter().enumerate() {
            for (k, entry) in hand.iter().enumerate() {
                let Some(entry) = entry.filter(|e| e.val == val) else { continue };
                let lanes = matches!(val, Val::Lane(_));
                if !lanes || self.masks.within(self.masks.current, entry.mask) {
                    return Some(format!("{}#{}", HANDS[h], k + 1));
                }
            }
        }
        None
    }

    /// A value's entry; it is brought from the frame if no queue has it.
    fn source(&mut self, val: Val, i: usize, pinned: &[Val]) -> String {
        if let Some(name) = self.find(val) {
            return name;
        }
        if let Val::Const(index) = val {
            self.constant(index, i, pinned);
        } else {
            for at in self.writes.get(&val).cloned().unwrap_or_default() {
                if let Draft::Store { needed, .. } = &mut self.out[at] {
                    *needed = true;
                }
            }
            let place = self.slot(val);
            let hand = self.push(val, i, pinned);
            let text = format!("v.ldi.brg [{}, {place}], ->{}.d", self.bases.frame, HANDS[hand]);
            self.code(text);
            self.reloads += 1;
        }
        self.find(val).unwrap_or_default()
    }

    fn code(&mut self, text: String) {
        self.out.push(Draft::Line(Line::Code(text, self.loc)));
    }

    /// A constant in a scalar queue.
    fn constant(&mut self, index: u32, i: usize, pinned: &[Val]) {
        let val = Val::Const(index);
        let value = self.body.constants.get(index as usize).copied().unwrap_or(0);
        let long = i64::from(value as i32) as u64 != value && value >> 32 != 0;
        let hand = self.choose(val, i, pinned, if long { DEPTH } else { 1 });
        let name = HANDS[hand];
        if !long {
            let text = match value >> 32 {
                0 => format!("hl.liu {value:#x}, ->{name}"),
                _ => format!("hl.lis {}, ->{name}", value as i32),
            };
            self.code(text);
            self.put(hand, val);
            return;
        }
        for half in [value & 0xffff_ffff, value >> 32] {
            self.code(format!("hl.liu {half:#x}, ->{name}"));
        }
        self.code(format!("v.slli {name}#1.ud, 32, ->{name}.d"));
        self.code(format!("v.or {name}#1.ud, {name}#3.ud, ->{name}.d"));
        self.hands[hand] = [None; DEPTH];
        self.put(hand, val);
    }

    /// Pushes a value to the hand that suits it; returns the hand.
    fn push(&mut self, val: Val, i: usize, pinned: &[Val]) -> usize {
        let hand = self.choose(val, i, pinned, 1);
        for entry in self.hands.iter_mut().flatten() {
            if entry.is_some_and(|e| e.val == val) {
                *entry = None;
            }
        }
        self.put(hand, val);
        hand
    }

    fn put(&mut self, hand: usize, val: Val) {
        self.hands[hand].rotate_right(1);
        self.hands[hand][0] = Some(Entry { val, mask: self.masks.current });
    }

    /// The hand whose last entries are needed least, for so many pushes.
    fn choose(&self, val: Val, i: usize, pinned: &[Val], pushes: usize) -> usize {
        let lanes = matches!(val, Val::Lane(_));
        let cost = |hand: usize| {
            let mut worst = 0usize;
            let mut live = 0usize;
            for (k, entry) in self.hands[hand].iter().enumerate() {
                let Some(entry) = entry else { continue };
                let kept = pinned.contains(&entry.val);
                let Some(at) = self.needed_at(entry.val).or(kept.then_some(i)) else { continue };
                live += 1 + k;
                if k + pushes >= DEPTH {
                    let near = if kept { usize::MAX } else { usize::MAX / 2 - at };
                    worst = worst.max(near);
                }
            }
            (worst, live)
        };
        let hands = if lanes { 0..4 } else { 4..6 };
        hands.min_by_key(|&hand| cost(hand)).unwrap_or(0)
    }

    /// A value's place in the frame, as the end of an address.
    fn slot(&mut self, val: Val) -> String {
        let lanes = matches!(val, Val::Lane(_));
        let counts = &mut self.counts[usize::from(!lanes)];
        let slot = *self.slots.entry(val).or_insert_with(|| {
            *counts += 1;
            *counts - 1
        });
        match lanes {
            // Behind one word of 8 bytes for each mask.
            true => format!("lc0<<3, {}", GROUP_BYTES + u64::from(slot) * self.bases.stride),
            false => (u64::from(slot) * 8).to_string(),
        }
    }

    fn finish(mut self) -> Placed {
        let mut placed = Placed::default();
        for draft in std::mem::take(&mut self.out) {
            match draft {
                Draft::Line(line) => placed.lines.push(line),
                Draft::Store { val, text, loc, needed: true } => {
                    let place = self.slot(val);
                    let mut line = String::new();
                    let _ = write!(line, "{text}, [{}, {place}]", self.bases.frame);
                    placed.stores += 1;
                    placed.lines.push(Line::Code(line, loc));
                }
                Draft::Store { .. } => {}
            }
        }
        (placed.lane_slots, placed.group_slots) = (self.counts[0], self.counts[1]);
        (placed.masks, placed.reloads) = (self.body.groups, self.reloads);
        placed
    }
}

/// Bytes of the frame that masks take.
pub(super) const GROUP_BYTES: u64 = 8 * 512;
