//! Structured control flow: whether a graph is built of sequences, branches and single-exit loops
//! alone, and how.
//!
//! The graph is reduced innermost first, as in interval and structural analysis (Sharir,
//! "Structural analysis", 1980), with four rules on single-entry single-exit pieces:
//!
//! - *sequence*: a piece with one way on, to a piece with one way in;
//! - *branch*: a piece all of whose ways on are empty or one piece with no other way in, and meet
//!   in one place;
//! - *while loop*: as a branch of two, one side of which comes back to the branch;
//! - *do loop*: a piece that goes back to itself or on.
//!
//! All exits lead to one virtual end, so an early return is as unstructured as a `goto`. What
//! always holds: a graph is structured if and only if the rules leave one piece; otherwise the
//! innermost place where they stop is named. On structured graphs laid out in priority order,
//! immediate post-dominators and thread frontiers rejoin lanes at the same places.

use crate::graph::{Cfg, NONE, Node};

/// A region of a [`Structure`]: its index.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RegionId(Node);

impl RegionId {
    /// The index.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0.index()
    }
}

/// A piece of a structured graph. A piece is left at one place: what follows it in the sequence
/// that it stands in, the join of the branch whose side it ends, the test of the loop whose body it
/// ends, or the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Region {
    /// One block.
    Block(Node),
    /// The last block of the sequence before this one chooses among the sides: see
    /// [`Structure::sides`].
    Branch {
        /// The block that branches.
        at: Node,
    },
    /// A loop tested in the middle: `head` runs, its last block `at` leaves or goes on to `body`,
    /// which comes back to `head`. Without a body the loop is tested at its end: `at` leaves or
    /// goes back to `head`.
    Loop {
        /// First region of the sequence that runs at least once; ends with the test.
        head: RegionId,
        /// First region of the sequence that runs between the test and the next round.
        body: Option<RegionId>,
        /// The block that tests.
        at: Node,
    },
}

/// The place at which a graph stops being structured.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unstructured {
    /// Paths from this branch are entered or left elsewhere than at its start and its join.
    #[error(
        "the paths that part at {at} are not sequences, branches and loops with one entry and one exit: some of \
         them are also entered from elsewhere, or leave for another place (goto, break, continue, early return)"
    )]
    Branch {
        /// The block that branches.
        at: Node,
    },
    /// A loop without a way out.
    #[error("the loop at {at} has no way out")]
    Endless {
        /// A block of it.
        at: Node,
    },
}

/// The region tree of a structured graph.
#[derive(Clone, Debug)]
pub struct Structure {
    regions: Vec<Region>,
    /// What follows each region in its sequence, or [`NONE`].
    next: Vec<u32>,
    /// For a branch region: where its sides start in `sides`.
    first_side: Vec<u32>,
    sides: Vec<Option<RegionId>>,
    root: RegionId,
}

impl Structure {
    /// Reduces the reachable part of the graph.
    ///
    /// # Errors
    /// [`Unstructured`] if something else than one piece remains.
    pub fn new(cfg: &Cfg) -> Result<Self, Unstructured> {
        Reducer::new(cfg).run(cfg)
    }

    /// The first region of the whole function.
    #[must_use]
    pub fn root(&self) -> RegionId {
        self.root
    }

    /// All regions, each after those inside it and, in a sequence, not always in order.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = RegionId> + use<> {
        (0..self.regions.len()).map(|i| RegionId(Node::at(i)))
    }

    /// What a region is.
    ///
    /// # Panics
    /// If the region is not of this tree (as for every method here).
    #[must_use]
    pub fn region(&self, id: RegionId) -> Region {
        self.regions[id.index()]
    }

    /// The regions of the sequence that starts at `id`.
    pub fn sequence(&self, id: RegionId) -> impl Iterator<Item = RegionId> + '_ {
        std::iter::successors(Some(id), |id| match self.next[id.index()] {
            NONE => None,
            i => Some(RegionId(Node::new(i))),
        })
    }

    /// The sides of a branch, one for each distinct successor of its block in order; `None` where
    /// the edge goes straight to the join. Empty for other regions.
    #[must_use]
    pub fn sides(&self, id: RegionId) -> &[Option<RegionId>] {
        let i = id.index();
        &self.sides[self.first_side[i] as usize..self.first_side[i + 1] as usize]
    }
}

/// Pieces are named by the block they start with; `owner` finds the piece that a block is in by
/// now.
struct Reducer {
    owner: Vec<u32>,
    succ: Vec<Vec<u32>>,
    ways_in: Vec<u32>,
    /// First and last region of each piece's sequence, and its last block.
    first: Vec<u32>,
    last: Vec<u32>,
    tail: Vec<Node>,
    regions: Vec<Region>,
    next: Vec<u32>,
    sides_of: Vec<Vec<Option<RegionId>>>,
}

impl Reducer {
    fn new(cfg: &Cfg) -> Self {
        let n = cfg.len();
        let end = Node::at(n).get();
        let mut succ = vec![Vec::new(); n + 1];
        let mut ways_in = vec![0; n + 1];
        // Marks targets already listed, so that an edge that is there twice counts once.
        let mut listed_by = vec![NONE; n + 1];
        for &from in cfg.reverse_postorder() {
            let out = cfg.successors(from).iter().map(|to| to.get());
            for to in out.chain(cfg.is_exit(from).then_some(end)) {
                if listed_by[to as usize] != from.get() {
                    listed_by[to as usize] = from.get();
                    succ[from.index()].push(to);
                    ways_in[to as usize] += 1;
                }
            }
        }
        ways_in[cfg.entry().index()] += 1;
        let numbers: Vec<u32> = (0..=n).map(|i| Node::at(i).get()).collect();
        Self {
            owner: numbers.clone(),
            succ,
            ways_in,
            first: numbers.clone(),
            last: numbers,
            tail: cfg.nodes().chain([Node::at(n)]).collect(),
            regions: cfg.nodes().map(Region::Block).collect(),
            next: vec![NONE; n],
            sides_of: vec![Vec::new(); n],
        }
    }

    fn find(&mut self, mut i: u32) -> u32 {
        while self.owner[i as usize] != i {
            let up = self.owner[self.owner[i as usize] as usize];
            self.owner[i as usize] = up;
            i = up;
        }
        i
    }

    fn run(mut self, cfg: &Cfg) -> Result<Structure, Unstructured> {
        let end = Node::at(cfg.len()).get();
        for &node in cfg.reverse_postorder().iter().rev() {
            while self.reduce(node.get(), end) {}
        }
        let entry = cfg.entry().get();
        if self.succ[entry as usize] == [end] && self.ways_in[end as usize] == 1 {
            return Ok(self.finish(entry));
        }
        Err(self.obstacle(cfg))
    }

    /// The innermost piece that no rule applies to. There is one: pieces with one way on each
    /// either join up in one sequence or go round for ever.
    fn obstacle(&self, cfg: &Cfg) -> Unstructured {
        for &node in cfg.reverse_postorder().iter().rev() {
            let i = node.index();
            let alive = self.owner[i] == node.get();
            if alive && self.succ[i].len() > 1 {
                return Unstructured::Branch { at: self.tail[i] };
            }
            if alive && self.succ[i] == [node.get()] {
                return Unstructured::Endless { at: node };
            }
        }
        Unstructured::Endless { at: cfg.entry() }
    }

    /// Applies one rule at the piece, if one applies.
    fn reduce(&mut self, piece: u32, end: u32) -> bool {
        let mut out = std::mem::take(&mut self.succ[piece as usize]);
        for to in &mut out {
            *to = self.find(*to);
        }
        let (out, again) = match out[..] {
            [] => (out, false),
            [only] if only == piece => (out, false),
            [only] => self.sequence(piece, only, end, out),
            [a, b] if a == piece || b == piece => {
                self.close_loop(piece, None);
                (vec![if a == piece { b } else { a }], true)
            }
            _ => self.branch(piece, out, end),
        };
        self.succ[piece as usize] = out;
        again
    }

    fn sequence(&mut self, piece: u32, to: u32, end: u32, out: Vec<u32>) -> (Vec<u32>, bool) {
        if to == end || self.ways_in[to as usize] != 1 {
            return (out, false);
        }
        let (p, t) = (piece as usize, to as usize);
        self.owner[t] = piece;
        self.next[self.last[p] as usize] = self.first[t];
        self.last[p] = self.last[t];
        self.tail[p] = self.tail[t];
        (std::mem::take(&mut self.succ[t]), true)
    }

    /// Where a side goes on: `(through a piece of its own, place)`.
    fn way(&mut self, to: u32, end: u32) -> (bool, u32) {
        if to != end
            && self.ways_in[to as usize] == 1
            && let [next] = self.succ[to as usize][..]
        {
            return (true, self.find(next));
        }
        (false, to)
    }

    fn branch(&mut self, piece: u32, out: Vec<u32>, end: u32) -> (Vec<u32>, bool) {
        let ways: Vec<(bool, u32)> = out.iter().map(|&to| self.way(to, end)).collect();
        if let [a, b] = ways[..] {
            for (way, body, exit) in [(a, out[0], out[1]), (b, out[1], out[0])] {
                if way == (true, piece) {
                    self.owner[body as usize] = piece;
                    self.close_loop(piece, Some(body));
                    return (vec![exit], true);
                }
            }
        }
        let join = ways[0].1;
        if join == piece || ways.iter().any(|&(_, to)| to != join) {
            return (out, false);
        }
        let sides = out
            .iter()
            .zip(&ways)
            .map(|(&side, &(own, _))| own.then(|| RegionId(Node::new(self.first[side as usize]))));
        let sides: Vec<_> = sides.collect();
        for (&side, &(own, _)) in out.iter().zip(&ways) {
            if own {
                self.owner[side as usize] = piece;
            }
        }
        let edges = Node::at(ways.len()).get();
        self.ways_in[join as usize] -= edges - 1;
        let region = self.add(Region::Branch { at: self.tail[piece as usize] }, sides);
        let p = piece as usize;
        self.next[self.last[p] as usize] = region;
        self.last[p] = region;
        (vec![join], true)
    }

    /// The piece becomes the head of a loop.
    fn close_loop(&mut self, piece: u32, body: Option<u32>) {
        let p = piece as usize;
        self.ways_in[p] -= 1;
        let region = Region::Loop {
            head: RegionId(Node::new(self.first[p])),
            body: body.map(|b| RegionId(Node::new(self.first[b as usize]))),
            at: self.tail[p],
        };
        let region = self.add(region, Vec::new());
        self.first[p] = region;
        self.last[p] = region;
    }

    fn add(&mut self, region: Region, sides: Vec<Option<RegionId>>) -> u32 {
        self.regions.push(region);
        self.next.push(NONE);
        self.sides_of.push(sides);
        Node::at(self.regions.len() - 1).get()
    }

    fn finish(self, entry: u32) -> Structure {
        let mut first_side = vec![0];
        let mut sides = Vec::new();
        for list in self.sides_of {
            sides.extend(list);
            first_side.push(Node::at(sides.len()).get());
        }
        Structure {
            root: RegionId(Node::new(self.first[entry as usize])),
            regions: self.regions,
            next: self.next,
            first_side,
            sides,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(successors: &[Vec<u32>]) -> Result<String, Unstructured> {
        let g = Cfg::new(0, successors).unwrap();
        let s = Structure::new(&g)?;
        Ok(text(&s, s.root()))
    }

    fn text(s: &Structure, id: RegionId) -> String {
        let one = |id: RegionId| match s.region(id) {
            Region::Block(n) => n.get().to_string(),
            Region::Branch { .. } => {
                let side = |r: &Option<RegionId>| r.map_or("-".into(), |r| text(s, r));
                format!("?({})", s.sides(id).iter().map(side).collect::<Vec<_>>().join("|"))
            }
            Region::Loop { head, body, .. } => {
                let body = body.map_or(String::new(), |b| format!(":{}", text(s, b)));
                format!("loop({}{body})", text(s, head))
            }
        };
        s.sequence(id).map(one).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn region_trees() {
        assert_eq!(shape(&[vec![]]).unwrap(), "0");
        assert_eq!(shape(&[vec![1, 2], vec![2], vec![]]).unwrap(), "0 ?(1|-) 2");
        assert_eq!(shape(&[vec![1, 2], vec![3], vec![3], vec![]]).unwrap(), "0 ?(1|2) 3");
        assert_eq!(shape(&[vec![1], vec![2, 3], vec![1], vec![]]).unwrap(), "0 loop(1:2) 3");
        assert_eq!(shape(&[vec![1], vec![2], vec![1, 3], vec![]]).unwrap(), "0 loop(1 2) 3");
        // A nest: outer while, inner do loop with an if before it.
        let g = [vec![1], vec![2, 6], vec![3, 4], vec![4], vec![4, 5], vec![1], vec![]];
        assert_eq!(shape(&g).unwrap(), "0 loop(1:2 ?(3|-) loop(4) 5) 6");
        // Both sides end the function: they meet at its end.
        assert_eq!(shape(&[vec![1, 2], vec![], vec![]]).unwrap(), "0 ?(1|2)");
    }

    #[test]
    fn what_is_not_structured_is_named() {
        let at = |i| Unstructured::Branch { at: Node::new(i) };
        // Short circuit: 0 and 1 both lead to 3.
        assert_eq!(shape(&[vec![1, 3], vec![2, 3], vec![4], vec![4], vec![]]).unwrap_err(), at(1));
        // Early return.
        assert_eq!(shape(&[vec![1, 2], vec![], vec![3], vec![]]).map(|_| ()), Ok(()));
        assert_eq!(shape(&[vec![1, 4], vec![2, 3], vec![], vec![4], vec![]]).unwrap_err(), at(1));
        // Break.
        let g = [vec![1], vec![2, 4], vec![3, 4], vec![1], vec![]];
        assert!(matches!(shape(&g).unwrap_err(), Unstructured::Branch { .. }));
        assert_eq!(shape(&[vec![0]]).unwrap_err(), Unstructured::Endless { at: Node::new(0) });
    }
}
