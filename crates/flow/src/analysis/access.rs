//! How the addresses of a memory access lie to each other.

use super::Facts;
use super::value::Class;
use ir::{Function, Operand, Reg};

/// The pattern of the addresses that the lanes of an access use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// One address for all lanes.
    Uniform,
    /// Each lane's bytes follow those of the lane before: stride = bytes of the access.
    Contiguous,
    /// `base + lane * stride` with another stride.
    Strided(i64),
    /// A uniform base plus an offset of each lane that is at most this: fits 32 bits, unsigned.
    Near(u64),
    /// Any addresses.
    Any,
}

impl Facts {
    /// The pattern of a memory access: instruction `inst` of a block, which takes its address as
    /// first operand. `None` if it is no such instruction.
    #[must_use]
    pub fn access(&self, function: &Function, block: usize, inst: usize) -> Option<Access> {
        use ir::Op;
        let at = function.blocks.get(block)?.insts.get(inst)?;
        if !matches!(at.op, Op::Ld | Op::St | Op::Atom | Op::AtomVec) {
            return None;
        }
        let elements = match at.op {
            Op::Ld => at.results.len(),
            Op::St | Op::AtomVec => at.operands.len() - 1,
            _ => 1,
        };
        let bytes = i64::from(at.ty?.bytes()) * elements as i64;
        let value = match at.operands.first()? {
            Operand::Reg(Reg::Lane(_)) => {
                let web = self.webs().operand(block, inst, at.results.len(), 0)?;
                *self.value(web)
            }
            // A local variable's address is the frame's, which in a kernel is the same for all.
            Operand::Symbol(ir::Symbol::Local(_), _) if !function.is_kernel() => {
                return Some(Access::Any);
            }
            _ => return Some(Access::Uniform),
        };
        Some(match value.class {
            Class::Uniform => Access::Uniform,
            Class::Affine(stride) if stride == bytes => Access::Contiguous,
            Class::Affine(stride) => Access::Strided(stride),
            Class::Varying if value.span <= u64::from(u32::MAX) => Access::Near(value.span),
            Class::Varying => Access::Any,
        })
    }
}

/// What a fact rests on: that the values of an operand, as the instruction widens them, keep their
/// stride over the lanes that are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assumption {
    /// Which operand.
    pub operand: usize,
    /// Bits that the instruction reads of it.
    pub bits: u32,
    /// Whether it extends them by their sign.
    pub signed: bool,
    /// The operand's stride.
    pub stride: i64,
}

impl Assumption {
    /// Whether it holds of these lanes' values.
    #[must_use]
    pub fn holds(&self, lanes: &[(u64, u64)]) -> bool {
        let shift = 64 - self.bits;
        let wide = |value: u64| match self.signed {
            true => ((value << shift) as i64 >> shift) as u64,
            false => value << shift >> shift,
        };
        let Some(&(first, value)) = lanes.first() else { return true };
        let (first, value) = (first, wide(value));
        let stride = self.stride as u64;
        lanes.iter().all(|&(lane, v)| {
            wide(v) == value.wrapping_add(lane.wrapping_sub(first).wrapping_mul(stride))
        })
    }
}

impl Facts {
    /// What the fact about an instruction's result rests on, if it is [assumed](Self::assumed).
    #[must_use]
    pub fn assumption(&self, function: &Function, block: usize, inst: usize) -> Option<Assumption> {
        if !self.assumed(block, inst) {
            return None;
        }
        let at = function.blocks.get(block)?.insts.get(inst)?;
        let widened = if at.op == ir::Op::Cvt { at.ty2 } else { at.ty }?;
        (0..at.operands.len().min(2)).find_map(|operand| {
            let web = self.webs().operand(block, inst, at.results.len(), operand)?;
            match self.value(web).class {
                Class::Affine(stride) => {
                    let (bits, signed) = (widened.bits(), widened.is_signed());
                    Some(Assumption { operand, bits, signed, stride })
                }
                _ => None,
            }
        })
    }
}
