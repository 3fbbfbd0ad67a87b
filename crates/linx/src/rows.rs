//! Operands of instructions of bodies, all lanes of a group at a time: which register it is and how
//! it is extended is decided once for the row, and the loops over lanes become vector instructions
//! of the host.

use crate::action::Alu;
use crate::compute::{alu, extend};
use crate::regid::{Reg, Source};
use crate::state::State;
use crate::vector::LANES;

/// A value for each lane.
pub(crate) type Row = [u64; LANES];

impl State {
    /// A source's values: their low bits, extended by its own suffix.
    pub(crate) fn row(&self, source: Option<Source>) -> Row {
        let Some(Source { reg, bits, signed, .. }) = source else { return [0; LANES] };
        let Some((body, group)) = self.body_group() else { return [0; LANES] };
        match reg {
            Reg::Lane { hand, depth, .. } => {
                let row = &group.lanes[usize::from(hand) & 3][usize::from(depth) & 3];
                extended(row, bits, signed)
            }
            Reg::Lc(0) if !body.linear => {
                let row = std::array::from_fn(|lane| group.first.wrapping_add(lane as u64));
                extended(&row, bits, signed)
            }
            Reg::Lc(_) if body.linear => {
                std::array::from_fn(|lane| extend(self.raw(reg, lane), bits, signed))
            }
            // The same in all lanes.
            _ => [extend(self.raw(reg, 0), bits, signed); LANES],
        }
    }
}

fn extended(row: &Row, bits: u32, signed: bool) -> Row {
    match signed {
        true => row.map(|value| extend(value, bits, true)),
        false => row.map(|value| extend(value, bits, false)),
    }
}

/// Computes an operation on rows.
pub(crate) fn alu_row(op: Alu, l: &Row, r: &Row, bits: u32, unsigned: bool) -> Row {
    /// A loop for each operation, chosen before it begins.
    macro_rules! loops {
        ($($op:ident)*) => {
            match op {
                $(Alu::$op => {
                    std::array::from_fn(|lane| alu(Alu::$op, l[lane], r[lane], bits, unsigned))
                })*
            }
        };
    }
    loops!(Add Sub And Or Xor Sll Srl Sra Mul Max Min)
}
