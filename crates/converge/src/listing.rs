//! Flow graphs from listings of instructions.
//!
//! Who interprets a program of its own knows, of each instruction, where control may go next. From
//! that the flow graph and the places of its blocks follow. There is an edge to the next
//! instruction where control may really get there: not behind a jump, a return or an exit. A target
//! outside the listing is an error: no edge is left away.

use crate::plan::{Plan, PlanError};
use crate::planner::{FunctionFlow, plan};
use flow::{Cfg, GraphError};
use simt::Pc;
use std::ops::Range;
use thiserror::Error;

/// Where control may go after an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flow {
    /// To the next instruction.
    Next,
    /// To a place.
    Jump(Pc),
    /// To a place, or on to the next instruction.
    Branch(Pc),
    /// To any of these places.
    Switch(Vec<Pc>),
    /// Nowhere: a return or an exit.
    End,
}

/// Why a listing has no graph.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ListingError {
    /// No instruction at all.
    #[error("the listing is empty")]
    Empty,
    /// A target outside.
    #[error("the instruction at {at} goes to {target}, but the last place is {last}")]
    Target {
        /// The instruction.
        at: u64,
        /// Where it goes.
        target: u64,
        /// The last place.
        last: u64,
    },
    /// Control runs off the end.
    #[error("control runs on behind the last instruction, at {last}")]
    OpenEnd {
        /// The last place.
        last: u64,
    },
    /// The graph is broken.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// The plan is broken.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

/// A flow graph with the places of its blocks; block 0 is the entry.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The graph.
    pub cfg: Cfg,
    /// The places of each block.
    pub places: Vec<Range<u64>>,
}

impl Listing {
    /// The graph of a function whose instructions stand at places 0, 1, ..; the first is its entry.
    ///
    /// # Errors
    /// [`ListingError`], with the place.
    pub fn new(code: &[Flow]) -> Result<Self, ListingError> {
        let leaders = leaders(code)?;
        let mut places = Vec::new();
        let starts: Vec<usize> = (0..code.len()).filter(|&i| leaders[i]).collect();
        for (i, &start) in starts.iter().enumerate() {
            let end = starts.get(i + 1).copied().unwrap_or(code.len());
            places.push(start as u64..end as u64);
        }
        let block = |pc: u64| {
            let index = starts.partition_point(|&s| s as u64 <= pc) - 1;
            u32::try_from(index).unwrap_or(u32::MAX)
        };
        let successors: Vec<Vec<u32>> = places
            .iter()
            .map(|range| {
                let last = range.end - 1;
                let mut list: Vec<u32> =
                    targets(code, last as usize).into_iter().map(block).collect();
                let mut seen = Vec::new();
                list.retain(|s| !seen.contains(s) && (seen.push(*s), true).1);
                list
            })
            .collect();
        Ok(Self { cfg: Cfg::new(0, &successors)?, places })
    }

    /// The plan of a program that is this function.
    ///
    /// # Errors
    /// None for a listing made by [`Listing::new`].
    pub fn plan(&self) -> Result<Plan, ListingError> {
        let flow = FunctionFlow { cfg: &self.cfg, places: &self.places, notes: &[], written: 0 };
        Ok(plan(&[flow])?)
    }
}

/// Where control goes from an instruction, the next one first.
fn targets(code: &[Flow], at: usize) -> Vec<u64> {
    let next = at as u64 + 1;
    match &code[at] {
        Flow::Next => vec![next],
        Flow::Jump(to) => vec![to.0],
        Flow::Branch(to) => vec![next, to.0],
        Flow::Switch(to) => to.iter().map(|pc| pc.0).collect(),
        Flow::End => Vec::new(),
    }
}

/// Which instructions begin a block.
fn leaders(code: &[Flow]) -> Result<Vec<bool>, ListingError> {
    let last = code.len().checked_sub(1).ok_or(ListingError::Empty)? as u64;
    let mut leaders = vec![false; code.len()];
    leaders[0] = true;
    for (at, flow) in code.iter().enumerate() {
        let next = at as u64 + 1;
        for target in targets(code, at) {
            if target > last {
                let runs_on = target == next && matches!(flow, Flow::Next | Flow::Branch(_));
                return Err(if runs_on {
                    ListingError::OpenEnd { last }
                } else {
                    ListingError::Target { at: at as u64, target, last }
                });
            }
            if *flow != Flow::Next {
                leaders[target as usize] = true;
            }
        }
        if *flow != Flow::Next && next <= last {
            leaders[next as usize] = true;
        }
    }
    Ok(leaders)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(code: &[Flow]) -> Vec<Vec<u32>> {
        let listing = Listing::new(code).unwrap();
        let cfg = &listing.cfg;
        cfg.nodes().map(|n| cfg.successors(n).iter().map(|s| s.get()).collect()).collect()
    }

    #[test]
    fn blocks_and_edges() {
        // 0: if .. goto 3; 1, 2: then; goto 4; 3: else; 4: end
        let code = [Flow::Branch(Pc(3)), Flow::Next, Flow::Jump(Pc(4)), Flow::Next, Flow::End];
        assert_eq!(edges(&code), [vec![1, 2], vec![3], vec![3], vec![]]);
        assert_eq!(Listing::new(&code).unwrap().places, [0..1, 1..3, 3..4, 4..5]);
    }

    #[test]
    fn nothing_falls_through_a_jump_or_an_end() {
        let code = [Flow::Jump(Pc(2)), Flow::End, Flow::End, Flow::End];
        assert_eq!(edges(&code), [vec![2], vec![], vec![], vec![]]);
    }

    #[test]
    fn a_target_outside_is_an_error_and_not_dropped() {
        let error = |code: &[Flow]| Listing::new(code).unwrap_err();
        let code = [Flow::Branch(Pc(9)), Flow::End];
        assert_eq!(error(&code), ListingError::Target { at: 0, target: 9, last: 1 });
        let code = [Flow::Switch(vec![Pc(1), Pc(2)]), Flow::End];
        assert_eq!(error(&code), ListingError::Target { at: 0, target: 2, last: 1 });
        assert_eq!(error(&[Flow::Jump(Pc(1))]), ListingError::Target { at: 0, target: 1, last: 0 });
        assert_eq!(error(&[Flow::Next]), ListingError::OpenEnd { last: 0 });
        assert_eq!(error(&[Flow::End, Flow::Branch(Pc(0))]), ListingError::OpenEnd { last: 1 });
        assert_eq!(error(&[]), ListingError::Empty);
    }

    #[test]
    fn a_branch_to_the_next_instruction_is_one_edge() {
        assert_eq!(edges(&[Flow::Branch(Pc(1)), Flow::End]), [vec![1], vec![]]);
        assert_eq!(edges(&[Flow::Jump(Pc(0))]), [vec![0]]);
    }
}
