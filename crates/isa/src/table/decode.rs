//! The decoder: any word to the form that it is, or to "no such form".
//!
//! [`Table::decode`] walks a tree built from the table. An inner node looks at a few neighbouring
//! bits, chosen so that the forms that are left spread over as many children as possible; a leaf
//! tries its few forms in the order of the overlap rule (priority, then most fixed bits). A form
//! that does not fix a bit which a node looks at lies under several children. The result is the
//! same as trying all forms in that order, which is what the tests compare with.

use std::fmt;

use super::{Form, FormId, Table};

/// A decoded word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Instruction {
    /// The form.
    pub form: FormId,
    /// The instruction's own bits; zero above the form's width.
    pub word: u64,
}

/// Why a word is not an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// No form matches.
    #[error("{} is not an instruction", Hex { word: *.word, bits: *.bits })]
    NoSuchForm {
        /// The bits that were looked at.
        word: u64,
        /// How many of them the instruction would have.
        bits: u32,
    },
    /// Only a longer form matches the bits there are.
    #[error("an instruction of {need} bits is cut off after {have}")]
    Truncated {
        /// How many bits there were.
        have: u32,
        /// How many bits the shortest form that may match has.
        need: u32,
    },
}

/// A word with as many hexadecimal digits as its width.
pub(crate) struct Hex {
    pub(crate) word: u64,
    pub(crate) bits: u32,
}

impl fmt::Display for Hex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{:0digits$x}", self.word, digits = self.bits as usize / 4)
    }
}

impl Table {
    /// Decodes the instruction in the low bits of `window`, of which the low `have` bits are there
    /// (more than 64 count as 64). Bits above the instruction do not matter.
    ///
    /// # Errors
    /// When no form matches, or only one that is longer than `have`.
    #[inline]
    pub fn decode(&self, window: u64, have: u32) -> Result<Instruction, DecodeError> {
        match self.tree().find(self.forms(), window, have) {
            Some(form) => {
                let word = window & self.form(form).width_mask();
                Ok(Instruction { form, word })
            }
            None => Err(self.no_form(window, have)),
        }
    }

    /// Decodes the instruction at the start of `bytes` (little-endian).
    ///
    /// # Errors
    /// As [`Self::decode`].
    pub fn decode_bytes(&self, bytes: &[u8]) -> Result<Instruction, DecodeError> {
        let (window, have) = window(bytes);
        self.decode(window, have)
    }

    #[cold]
    fn no_form(&self, window: u64, have: u32) -> DecodeError {
        let have = have.min(64);
        let there = u64::MAX.checked_shr(64 - have).unwrap_or(0);
        let may_match = |f: &&Form| f.bits > have && (window ^ f.pattern) & f.mask & there == 0;
        match self.forms().iter().filter(may_match).map(|f| f.bits).min() {
            Some(need) => DecodeError::Truncated { have, need },
            None => {
                let bits = self.length(window & there).min(have);
                let word = window & there & u64::MAX.checked_shr(64 - bits).unwrap_or(0);
                DecodeError::NoSuchForm { word, bits }
            }
        }
    }

    /// The values of all fields, in the order of [`Form::fields`].
    #[must_use]
    pub fn values(&self, instruction: Instruction) -> Vec<i64> {
        let form = self.form(instruction.form);
        form.fields.iter().map(|f| f.extract(instruction.word)).collect()
    }
}

/// Up to 8 bytes as a little-endian word, and how many bits that is.
#[must_use]
pub fn window(bytes: &[u8]) -> (u64, u32) {
    let mut word = [0; 8];
    let n = bytes.len().min(8);
    word[..n].copy_from_slice(&bytes[..n]);
    (u64::from_le_bytes(word), 8 * n as u32)
}

/// The order in which overlapping forms are tried, as indices.
fn overlap_order(forms: &[Form]) -> Vec<u16> {
    let mut order: Vec<u16> = (0..forms.len()).map(|i| i as u16).collect();
    order.sort_by_key(|&i| {
        let form = &forms[usize::from(i)];
        (std::cmp::Reverse((form.priority, form.mask.count_ones())), i)
    });
    order
}

/// The decoding tree of a table.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    nodes: Vec<Node>,
    leaves: Vec<Entry>,
}

#[derive(Clone, Copy, Debug)]
enum Node {
    /// Child `first + (window >> shift & mask)`.
    Switch { shift: u8, mask: u8, first: u32 },
    /// Entries `start..end` of `leaves`.
    Leaf { start: u32, end: u32 },
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    mask: u64,
    pattern: u64,
    bits: u32,
    form: FormId,
    /// Whether some field has reserved values.
    constrained: bool,
}

/// A node looks at this many bits at most.
const MOST_BITS: u32 = 5;
/// Leaves of up to this many forms are not split further.
const LEAF: usize = 4;
/// Beyond this many nodes, leaves stay as they are.
const MOST_NODES: usize = 1 << 16;

impl Tree {
    pub(crate) fn build(forms: &[Form]) -> Self {
        let mut tree = Self { nodes: Vec::new(), leaves: Vec::new() };
        tree.nodes.push(Node::Leaf { start: 0, end: 0 });
        let mut work = vec![(0usize, overlap_order(forms))];
        while let Some((node, order)) = work.pop() {
            let split = if order.len() > LEAF { best_split(forms, &order) } else { None };
            match split {
                Some((shift, bits)) if tree.nodes.len() + (1 << bits) <= MOST_NODES => {
                    let first = tree.nodes.len();
                    let mask = ((1u32 << bits) - 1) as u8;
                    tree.nodes[node] =
                        Node::Switch { shift: shift as u8, mask, first: first as u32 };
                    for child in 0..1usize << bits {
                        tree.nodes.push(Node::Leaf { start: 0, end: 0 });
                        let under = under(forms, &order, shift, bits, child as u64);
                        work.push((first + child, under));
                    }
                }
                _ => tree.nodes[node] = tree.leaf(forms, &order),
            }
        }
        tree
    }

    fn leaf(&mut self, forms: &[Form], order: &[u16]) -> Node {
        let start = self.leaves.len() as u32;
        self.leaves.extend(order.iter().map(|&i| {
            let form = &forms[usize::from(i)];
            let constrained = form.fields.iter().any(|f| !f.legal.is_empty());
            let (mask, pattern, bits) = (form.mask, form.pattern, form.bits);
            Entry { mask, pattern, bits, form: FormId(i), constrained }
        }));
        Node::Leaf { start, end: self.leaves.len() as u32 }
    }

    #[inline]
    fn find(&self, forms: &[Form], window: u64, have: u32) -> Option<FormId> {
        let mut at = 0;
        loop {
            match self.nodes[at] {
                Node::Switch { shift, mask, first } => {
                    at = first as usize + usize::from((window >> shift) as u8 & mask);
                }
                Node::Leaf { start, end } => {
                    let entries = &self.leaves[start as usize..end as usize];
                    let hit = |e: &&Entry| {
                        window & e.mask == e.pattern
                            && e.bits <= have
                            && (!e.constrained || forms[e.form.index()].matches(window))
                    };
                    return entries.iter().find(hit).map(|e| e.form);
                }
            }
        }
    }
}

/// Whether a form can match words whose bits at `shift` are `child`.
fn reaches(form: &Form, shift: u32, bits: u32, child: u64) -> bool {
    let mask = form.mask >> shift & ((1 << bits) - 1);
    child & mask == form.pattern >> shift & mask
}

fn under(forms: &[Form], order: &[u16], shift: u32, bits: u32, child: u64) -> Vec<u16> {
    let reaches = |i: &&u16| reaches(&forms[usize::from(**i)], shift, bits, child);
    order.iter().filter(reaches).copied().collect()
}

/// The bits that leave a form, on average over the forms, with the fewest others beside it in its
/// child. `None` if none leaves it with fewer than three quarters of what there is.
fn best_split(forms: &[Form], order: &[u16]) -> Option<(u32, u32)> {
    // Bits that no form here fixes spread nothing.
    let forms: Vec<(u64, u64)> = order
        .iter()
        .map(|&i| &forms[usize::from(i)])
        .map(|form| (form.mask, form.pattern))
        .collect();
    let fixed = forms.iter().fold(0, |all, (mask, _)| all | mask);
    let mut best: Option<(f64, u32, u32)> = None;
    for shift in 0..64 {
        if fixed >> shift & 1 == 0 {
            continue;
        }
        for bits in 1..=MOST_BITS.min(64 - shift) {
            if fixed >> (shift + bits - 1) & 1 == 0 {
                continue;
            }
            let cost = split_cost(&forms, shift, bits);
            // A wider look doubles the table with each bit: it must save half a form for it.
            if best
                .is_none_or(|(least, _, b)| cost + 0.5 * f64::from(bits.saturating_sub(b)) < least)
            {
                best = Some((cost, shift, bits));
            }
        }
    }
    let (cost, shift, bits) = best?;
    (cost < 0.75 * forms.len() as f64).then_some((shift, bits))
}

/// Average over the forms, of which each is its mask and pattern, of the average size of the
/// children that they lie under.
fn split_cost(forms: &[(u64, u64)], shift: u32, bits: u32) -> f64 {
    let all = (1u64 << bits) - 1;
    // Forms alike in these bits lie under the same children, and are counted together: a machine
    // builds its tree when it starts.
    let mut counts = [0u32; 1 << (2 * MOST_BITS)];
    let mut kinds = Vec::new();
    for &(mask, pattern) in forms {
        let free = !(mask >> shift) & all;
        let base = pattern >> shift & all;
        let count = &mut counts[(free << MOST_BITS | base) as usize];
        if *count == 0 {
            kinds.push((free, base));
        }
        *count += 1;
    }
    let count = |(free, base): (u64, u64)| counts[(free << MOST_BITS | base) as usize];
    let mut sizes = [0u32; 1 << MOST_BITS];
    for &kind in &kinds {
        let forms = count(kind);
        each_child(kind, |child| sizes[child] += forms);
    }
    let mut total = 0.0;
    for &kind in &kinds {
        let (mut sum, mut children) = (0, 0);
        each_child(kind, |child| {
            sum += sizes[child];
            children += 1;
        });
        total += f64::from(count(kind)) * (f64::from(sum) / f64::from(children));
    }
    total / forms.len() as f64
}

/// Calls `f` with each child of forms that have `base` in the bits that are not `free`.
fn each_child((free, base): (u64, u64), mut f: impl FnMut(usize)) {
    // All subsets of the free bits.
    let mut subset = 0;
    loop {
        f((base | subset) as usize);
        subset = subset.wrapping_sub(free) & free;
        if subset == 0 {
            return;
        }
    }
}

/// What the tree must agree with: all forms, in the order of the overlap rule.
#[must_use]
pub fn decode_linear(table: &Table, window: u64, have: u32) -> Option<FormId> {
    let order = overlap_order(table.forms());
    let hit = |i: &u16| {
        let form = &table.forms()[usize::from(*i)];
        form.bits <= have && form.matches(window)
    };
    order.into_iter().find(hit).map(FormId)
}
