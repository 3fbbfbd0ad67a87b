//! If-conversion: a branch around a few operations on rows becomes these operations under masks.
//!
//! Both sides are executed whether they have lanes or not: their steps write rows and predicates
//! alone, and a selection keeps old values where these are read. Counts are those of the branch:
//! a side without lanes counts nothing, and only two sides with lanes split.

use super::step::{is_speculative, sides};
use super::{Ctx, Translator, Untranslated, Var};
use crate::function::{Type, Value};
use crate::op::{BlockCounts, Op};
use fast::code::{End, Guard, Kind};
use fast::ops::{Native, Op64};

/// Most steps and blocks of a side.
const MOST_STEPS: usize = 6;
const MOST_BLOCKS: usize = 3;

impl Translator<'_> {
    /// Returns the blocks of a side of a branch up to the reconvergence point, if they only
    /// compute.
    fn short_side(&self, side: u32, rejoin: u32) -> Option<Vec<u32>> {
        let (mut blocks, mut steps, mut at) = (Vec::new(), 0, side);
        while at != rejoin {
            let block = &self.code.blocks[at as usize];
            let list = &self.code.steps[block.steps.clone()];
            let computes = list.iter().all(|step| {
                step.guard.is_none() && is_speculative(&step.kind) && !is_costly(&step.kind)
            });
            let End::Go(to) = block.end else { return None };
            steps += list.len();
            blocks.push(at);
            if !computes
                || steps > MOST_STEPS
                || blocks.len() > MOST_BLOCKS
                || self.is_back(block, to)
            {
                return None;
            }
            at = to;
        }
        Some(blocks)
    }

    /// Converts a branch at the end of a block if both sides are short; returns whether it has.
    pub(super) fn convert_if(
        &mut self,
        number: u32,
        guard: &Guard,
        (to, next): (u32, u32),
        rejoin: u32,
        ctx: Ctx,
    ) -> Result<bool, Untranslated> {
        let block = &self.code.blocks[number as usize];
        let joined = self.contexts.has_join(ctx, rejoin);
        let back = self.is_back(block, to) || self.is_back(block, next);
        if joined || back {
            return Ok(false);
        }
        let short = [to, next].map(|side| self.short_side(side, rejoin));
        let [Some(a), Some(b)] = short else { return Ok(false) };
        let (running, holds) = (self.read(Var::Running), self.mask(guard.pred));
        let [with, without] = sides(guard);
        let chains = [a, b];
        let sides = [(to, with), (next, without)].map(|(side, op)| {
            let lanes = self.one(Op::Mask(op), &[running, holds], Type::Mask);
            (side, lanes, self.bits(lanes))
        });
        let split = self.count_split(&sides, rejoin, ctx);
        let around = self.depths(ctx);
        let population = self.read(Var::Population);
        for ((_, lanes, bits), chain) in sides.into_iter().zip(chains) {
            self.write(Var::Running, lanes);
            let lanes = self.one(Op::PopulationIfAny, &[bits], Type::Scalar);
            self.write(Var::Population, lanes);
            // Levels around a side count if it has lanes.
            let mut depths = Vec::new();
            if self.detailed {
                let any = self.one(Op::IsNonzero, &[bits], Type::Scalar);
                depths.extend(around.iter().map(|&depth| self.native(Op64::And, depth, any)));
                depths.push(split);
            }
            for block in chain {
                self.count(block, 0, &depths);
                for index in self.code.blocks[block as usize].steps.clone() {
                    self.step = index as u32;
                    self.translate(&self.code.steps[index])?;
                }
            }
        }
        self.write(Var::Running, running);
        self.write(Var::Population, population);
        Ok(true)
    }

    /// Counts what the stack would have done if both sides have lanes; returns whether they do.
    fn count_split(&mut self, sides: &[(u32, Value, Value); 2], rejoin: u32, ctx: Ctx) -> Value {
        let zero = self.constant(0, Type::Scalar);
        let [a, b] = sides.map(|side| self.one(Op::IsNonzero, &[side.2], Type::Scalar));
        let and = Op::Scalar(Native::Wide(Op64::And));
        let split = self.one(and, &[a, b, zero], Type::Scalar);
        let pushed = sides.iter().filter(|side| side.0 != rejoin).count() as u64;
        let splits = [1, pushed as u32, pushed as u32];
        let amount = self.constant(32, Type::Scalar);
        let shift = Op::Scalar(Native::Wide(Op64::Shl));
        let times = self.one(shift, &[split, amount, zero], Type::Scalar);
        self.effect(Op::Count(BlockCounts { splits, ..BlockCounts::default() }), &[times]);
        // An entry for the waiting lanes and one for each side; others are there already.
        let known = self.constant(1 + pushed, Type::Scalar);
        let multiply = Op::Scalar(Native::Wide(Op64::Mul));
        let more = self.one(multiply, &[split, known, zero], Type::Scalar);
        self.height(ctx, 0, Some(more));
        let mut depths = self.depths(ctx);
        depths.push(split);
        self.deepest(&depths);
        split
    }
}

/// Returns whether an operation takes longer than the branch around it.
fn is_costly(kind: &Kind) -> bool {
    use fast::ops::{Op32, Rare};
    use ir::Op as P;
    match kind {
        Kind::Narrow { op, .. } => matches!(op, Op32::FDiv | Op32::FRcp | Op32::FSqrt),
        Kind::Wide { op, .. } => matches!(op, Op64::DDiv),
        Kind::Rare { op, .. } => matches!(op, Rare::DivU | Rare::RemU | Rare::DivS | Rare::RemS),
        Kind::Generic(generic) => matches!(
            generic.inst.op,
            P::Div | P::Rem | P::Rcp | P::Sqrt | P::Rsqrt | P::Ex2 | P::Lg2 | P::Tanh
        ),
        _ => false,
    }
}
