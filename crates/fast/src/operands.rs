//! What steps read and write.

use crate::code::{Dst, Kind, Memory, Src, Step};

impl Step {
    /// Returns whether a warp may wait after the step.
    #[must_use]
    pub fn may_wait(&self) -> bool {
        match &self.kind {
            Kind::Barrier { .. } => true,
            Kind::Asynchronous(op) => op.may_wait(),
            _ => false,
        }
    }

    /// Tells of each operand, the guard aside.
    pub fn operands(&self, to: &mut dyn FnMut(Src)) {
        let memory = |memory: &Memory, to: &mut dyn FnMut(Src)| {
            to(memory.address);
            memory.src.iter().for_each(|&s| to(s));
        };
        match &self.kind {
            Kind::Narrow { src, .. }
            | Kind::Rare { src, .. }
            | Kind::Wide { src, .. }
            | Kind::Test { src, .. }
            | Kind::Select { src, .. }
            | Kind::Scalar { src, .. } => src.iter().for_each(|&s| to(s)),
            Kind::Low { src, .. } => to(*src),
            Kind::Logic { src, .. } => src.iter().for_each(|&s| to(s)),
            Kind::Widen { base, addend, .. } => {
                to(Src::Line(*base, 0, u64::MAX));
                to(*addend);
            }
            Kind::Generic(generic) => generic.src.iter().for_each(|&s| to(s)),
            Kind::Load(access) | Kind::Store(access) => memory(access, to),
            Kind::Atomic(atomic) => memory(&atomic.memory, to),
            Kind::Matrix(matrix) => {
                matrix.src.iter().for_each(|&s| to(s));
                matrix.memory.iter().for_each(|m| memory(m, to));
            }
            Kind::Copy(copy) => {
                memory(&copy.from, to);
                memory(&copy.to, to);
                copy.bytes.iter().for_each(|&s| to(s));
            }
            Kind::Asynchronous(op) => op.src.iter().for_each(|&s| to(s)),
            Kind::Texture(op) => op.operands().for_each(to),
            Kind::Print(print) => [print.format, print.args].into_iter().for_each(to),
            Kind::SaveFrame(frame) => frame.src.iter().for_each(|&s| to(s)),
            Kind::Collective(collective) => {
                collective.src.iter().chain(&collective.members).for_each(|&s| to(s));
            }
            Kind::Barrier { id, pred, .. } => {
                [Some(*id), *pred].into_iter().flatten().for_each(&mut *to);
            }
            Kind::Sreg { .. }
            | Kind::Clock { .. }
            | Kind::RestoreFrame(_)
            | Kind::Nothing
            | Kind::Fence
            | Kind::Leave(_) => {}
        }
    }

    /// Tells of each result; whether these are all.
    pub fn results(&self, to: &mut dyn FnMut(Dst)) -> bool {
        match &self.kind {
            Kind::Narrow { dst, .. }
            | Kind::Rare { dst, .. }
            | Kind::Low { dst, .. }
            | Kind::Select { wide: false, dst, .. } => to(Dst::Narrow(*dst)),
            Kind::Wide { dst, .. } | Kind::Select { wide: true, dst, .. } => to(Dst::Wide(*dst)),
            Kind::Test { dst, .. } | Kind::Logic { dst, .. } => to(Dst::Pred(*dst)),
            Kind::Scalar { dst, .. } | Kind::Widen { dst, .. } => to(Dst::Scalar(*dst)),
            Kind::Generic(generic) => generic.dst.iter().for_each(|&d| to(d)),
            Kind::Load(memory) => memory.dst.iter().for_each(|&d| to(d)),
            Kind::Atomic(atomic) => atomic.memory.dst.iter().for_each(|&d| to(d)),
            Kind::Collective(collective) => collective.dst.iter().for_each(|&d| to(d)),
            Kind::Asynchronous(op) => op.dst.iter().for_each(|&d| to(d)),
            Kind::Texture(op) => op.dst.iter().for_each(|&d| to(d)),
            Kind::Print(print) => to(print.dst),
            Kind::RestoreFrame(dst) => dst.iter().for_each(|&d| to(d)),
            Kind::Sreg { dst, .. } | Kind::Clock { dst, .. } | Kind::Barrier { dst, .. } => {
                to(*dst);
            }
            Kind::Store(_) | Kind::SaveFrame(_) | Kind::Nothing | Kind::Fence => {}
            _ => return false,
        }
        true
    }
}
