//! What a random kernel stores, computed one thread at a time.
//!
//! It shares nothing with an engine but the IR's types, and knows only the operations that random
//! kernels have.

use super::KERNEL_WORDS;
use crate::mods::Cmp;
use crate::module::{Function, Inst, Module, Operand, Reg, Signature, TermKind};
use crate::op::Op;
use crate::sreg::Sreg;
use crate::ty::Ty;

/// The kernel did something that random kernels do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unfinished;

/// Instructions after which a thread counts as endless.
const LIMIT: u64 = 1 << 22;

/// The words of a thread after the launch of the last function of `module`, a kernel of
/// [`random_kernel`](super::random_kernel), on one-dimensional CTAs of `ntid` threads.
///
/// # Errors
/// If the kernel is another one.
pub fn expected(
    module: &Module,
    ctaid: u32,
    ntid: u32,
    tid: u32,
) -> Result<[u32; KERNEL_WORDS], Unfinished> {
    let kernel = module.functions.last().ok_or(Unfinished)?;
    let words = [0; KERNEL_WORDS];
    let mut thread = Thread { module, ctaid, ntid, tid, words, steps: 0, ended: false };
    thread.run(kernel, &[], 0)?;
    Ok(thread.words)
}

struct Thread<'m> {
    module: &'m Module,
    ctaid: u32,
    ntid: u32,
    tid: u32,
    words: [u32; KERNEL_WORDS],
    steps: u64,
    ended: bool,
}

fn get(regs: &[u64], operand: Operand) -> Result<u64, Unfinished> {
    match operand {
        Operand::Reg(Reg::Lane(r)) => regs.get(r.index()).copied().ok_or(Unfinished),
        Operand::Imm(bits) => u64::try_from(bits).map_err(|_| Unfinished),
        _ => Err(Unfinished),
    }
}

impl Thread<'_> {
    /// Runs a function and gives its results.
    fn run(&mut self, f: &Function, args: &[u64], depth: u32) -> Result<Vec<u64>, Unfinished> {
        let mut regs = vec![0; f.regs.len()];
        let results = match &f.signature {
            Signature::Kernel { .. } => &[][..],
            Signature::Device { params, results } => {
                for (reg, value) in params.iter().zip(args) {
                    regs[reg.index()] = *value;
                }
                results
            }
        };
        let mut block = 0;
        while let Some(b) = f.blocks.get(block) {
            for inst in &b.insts {
                self.step(&mut regs, inst, depth)?;
                if self.ended {
                    return Ok(Vec::new());
                }
            }
            match self.next(&regs, block, &b.term.kind)? {
                Some(next) => block = next,
                None => return Ok(results.iter().map(|r| regs[r.index()]).collect()),
            }
        }
        Err(Unfinished)
    }

    /// The next block, or none if the function returns or the thread ends.
    fn next(
        &mut self,
        regs: &[u64],
        block: usize,
        end: &TermKind,
    ) -> Result<Option<usize>, Unfinished> {
        let on = |g: &crate::Guard| (regs[g.pred.index()] != 0) != g.negated;
        let next = match end {
            TermKind::Br(target) => Some(target.index()),
            TermKind::CondBr(guard, target) if on(guard) => Some(target.index()),
            TermKind::Switch(index, targets) => {
                let index = usize::try_from(get(regs, *index)?).map_err(|_| Unfinished)?;
                Some(targets.get(index).ok_or(Unfinished)?.index())
            }
            TermKind::MaskBr(..) => return Err(Unfinished),
            TermKind::Ret(guard) if guard.as_ref().is_none_or(on) => None,
            TermKind::Exit(guard) if guard.as_ref().is_none_or(on) => {
                self.ended = true;
                None
            }
            _ => Some(block + 1),
        };
        Ok(next)
    }

    fn step(&mut self, regs: &mut [u64], inst: &Inst, depth: u32) -> Result<(), Unfinished> {
        self.steps += 1;
        if self.steps > LIMIT {
            return Err(Unfinished);
        }
        if inst.guard.is_some_and(|g| (regs[g.pred.index()] != 0) == g.negated) {
            return Ok(());
        }
        let results = match inst.op {
            Op::Call => self.call(regs, inst, depth)?,
            Op::St => {
                self.store(regs, inst)?;
                Vec::new()
            }
            _ => vec![self.value(regs, inst)?],
        };
        for (reg, value) in inst.results.iter().zip(results) {
            if let Some(Reg::Lane(reg)) = reg {
                regs[reg.index()] = value;
            }
        }
        Ok(())
    }

    fn call(&mut self, regs: &[u64], inst: &Inst, depth: u32) -> Result<Vec<u64>, Unfinished> {
        let Some((Operand::Func(id), args)) = inst.operands.split_first() else {
            return Err(Unfinished);
        };
        let callee =
            self.module.functions.get(id.index()).filter(|_| depth < 8).ok_or(Unfinished)?;
        let args: Result<Vec<_>, _> = args.iter().map(|&a| get(regs, a)).collect();
        self.run(callee, &args?, depth + 1)
    }

    /// The thread's own words begin where its address points; parameters read as 0.
    fn store(&mut self, regs: &[u64], inst: &Inst) -> Result<(), Unfinished> {
        let [address, value] = inst.operands[..] else { return Err(Unfinished) };
        let thread = u64::from(self.ctaid) * u64::from(self.ntid) + u64::from(self.tid);
        let base = 4 * KERNEL_WORDS as u64 * thread;
        let offset = get(regs, address)?.checked_sub(base).ok_or(Unfinished)?;
        let word = offset.checked_add_signed(inst.offset).ok_or(Unfinished)? / 4;
        let word = self.words.get_mut(word as usize).ok_or(Unfinished)?;
        *word = get(regs, value)? as u32;
        Ok(())
    }

    fn value(&self, regs: &[u64], inst: &Inst) -> Result<u64, Unfinished> {
        if inst.op == Op::Ld {
            return Ok(0);
        }
        if let Some(Operand::Sreg(sreg)) = inst.operands.first() {
            return match sreg {
                Sreg::CtaidX => Ok(self.ctaid.into()),
                Sreg::NtidX => Ok(self.ntid.into()),
                Sreg::TidX => Ok(self.tid.into()),
                _ => Err(Unfinished),
            };
        }
        let mut values = [0; 3];
        for (value, &operand) in values.iter_mut().zip(&inst.operands) {
            *value = get(regs, operand)?;
        }
        let [a, b, c] = values;
        // Casts to 32 bits are the operations' wrap-around.
        let (x, y, z) = (a as u32, b as u32, c as u32);
        let signed = inst.ty.is_some_and(Ty::is_signed);
        Ok(match (inst.op, inst.ty) {
            (Op::Add, Some(Ty::U64)) => a.wrapping_add(b),
            (Op::MulWide, _) => u64::from(x) * u64::from(y),
            (Op::And, Some(Ty::Pred)) => a & b,
            (Op::AndNot, Some(Ty::Pred)) => a & !b & 1,
            (Op::Mov, _) => a,
            (Op::Add, _) => x.wrapping_add(y).into(),
            (Op::Sub, _) => x.wrapping_sub(y).into(),
            (Op::Mul, _) => x.wrapping_mul(y).into(),
            (Op::Mad, _) => x.wrapping_mul(y).wrapping_add(z).into(),
            (Op::And, _) => (x & y).into(),
            (Op::Or, _) => (x | y).into(),
            (Op::Xor, _) => (x ^ y).into(),
            (Op::Shl, _) => x.checked_shl(y).unwrap_or(0).into(),
            (Op::Shr, _) => x.checked_shr(y).unwrap_or(0).into(),
            (Op::Min, _) => x.cast_signed().min(y.cast_signed()).cast_unsigned().into(),
            (Op::Popc, _) => x.count_ones().into(),
            (Op::Selp, _) => {
                if c != 0 {
                    a
                } else {
                    b
                }
            }
            (Op::Setp, _) if signed => {
                compare(inst.mods.cmp, x.cast_signed().into(), y.cast_signed().into())?
            }
            (Op::Setp, _) => compare(inst.mods.cmp, x.into(), y.into())?,
            _ => return Err(Unfinished),
        })
    }
}

fn compare(cmp: Option<Cmp>, a: i64, b: i64) -> Result<u64, Unfinished> {
    Ok(u64::from(match cmp {
        Some(Cmp::Eq) => a == b,
        Some(Cmp::Ne) => a != b,
        Some(Cmp::Lt) => a < b,
        Some(Cmp::Le) => a <= b,
        Some(Cmp::Gt) => a > b,
        Some(Cmp::Ge) => a >= b,
        _ => return Err(Unfinished),
    }))
}
