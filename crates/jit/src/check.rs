//! A check that all rows, masks, scalars and blocks that a kernel names exist: code accesses them
//! without bounds checks.

use fast::code::{Code, Dst, End, Guard, Kind, Memory, Src, Step};

/// Returns whether code made from a kernel can access only its own rows, masks, scalars and blocks.
pub(crate) fn is_sound(code: &Code) -> bool {
    let check = Check(code);
    let blocks = code.blocks.iter().all(|block| {
        let known = |&b: &u32| (b as usize) < code.blocks.len();
        let steps = block.steps.start <= block.steps.end && block.steps.end <= code.steps.len();
        let end = match &block.end {
            End::Go(to) => known(to),
            End::Branch(guard, to, next) => check.guard(guard) && known(to) && known(next),
            End::Switch(index, targets) => check.src(*index) && targets.iter().all(known),
            End::Call(to, back) => known(to) && known(back),
            End::CallByAddress(address, callees, back) => {
                check.src(*address) && callees.iter().all(|(_, to)| known(to)) && known(back)
            }
            End::ReturnBy(site, backs) => check.src(*site) && backs.iter().all(known),
            End::Return(guard, next, back) => {
                guard.as_ref().is_none_or(|g| check.guard(g)) && known(next) && known(back)
            }
            End::Exit(guard, next) => guard.as_ref().is_none_or(|g| check.guard(g)) && known(next),
        };
        steps && end
    });
    blocks && (code.entry as usize) < code.blocks.len() && code.steps.iter().all(|s| check.step(s))
}

struct Check<'c>(&'c Code);

impl Check<'_> {
    fn src(&self, src: Src) -> bool {
        match src {
            Src::Narrow(i) => i < self.0.narrow,
            Src::Wide(i) => i < self.0.wide,
            Src::Pair(a, b) => a < self.0.wide && b < self.0.wide,
            Src::Pred(i) => i < self.0.preds,
            Src::Line(i, ..) => i < self.0.scalars,
            Src::Const(_) | Src::ConstPair(..) => true,
        }
    }

    fn dst(&self, dst: Dst) -> bool {
        match dst {
            Dst::None => true,
            Dst::Narrow(i) => self.src(Src::Narrow(i)),
            Dst::Wide(i) => self.src(Src::Wide(i)),
            Dst::Pair(a, b) => self.src(Src::Pair(a, b)),
            Dst::Pred(i) => self.src(Src::Pred(i)),
            Dst::Scalar(i) => i < self.0.scalars,
        }
    }

    fn guard(&self, guard: &Guard) -> bool {
        self.src(guard.pred)
    }

    fn memory(&self, memory: &Memory) -> bool {
        self.src(memory.address)
            && memory.src.iter().all(|&s| self.src(s))
            && memory.dst.iter().all(|&d| self.dst(d))
            && matches!(memory.word, 1 | 2 | 4 | 8)
            && memory.bytes().is_power_of_two()
            && memory.dst.len().max(memory.src.len()) as u64 * u64::from(memory.word)
                <= memory.bytes()
    }

    fn step(&self, step: &Step) -> bool {
        let all = |src: &[Src]| src.iter().all(|&s| self.src(s));
        let guard = step.guard.as_ref().is_none_or(|g| self.guard(g));
        guard
            && match &step.kind {
                Kind::Narrow { dst, src, .. } | Kind::Select { wide: false, dst, src } => {
                    self.dst(Dst::Narrow(*dst)) && all(src)
                }
                Kind::Wide { dst, src, .. } | Kind::Select { wide: true, dst, src } => {
                    self.dst(Dst::Wide(*dst)) && all(src)
                }
                Kind::Low { dst, src } => self.dst(Dst::Narrow(*dst)) && self.src(*src),
                Kind::Test { dst, src, .. } => self.dst(Dst::Pred(*dst)) && all(src),
                Kind::Logic { dst, src, .. } => self.dst(Dst::Pred(*dst)) && all(src),
                Kind::Scalar { dst, src, .. } => self.dst(Dst::Scalar(*dst)) && all(src),
                Kind::Widen { dst, base, addend, .. } => {
                    self.dst(Dst::Scalar(*dst)) && self.dst(Dst::Scalar(*base)) && self.src(*addend)
                }
                Kind::Load(memory) | Kind::Store(memory) => self.memory(memory),
                Kind::Atomic(atomic) => {
                    let memory = &atomic.memory;
                    self.src(memory.address)
                        && all(&memory.src)
                        && memory.dst.iter().all(|&d| self.dst(d))
                        && (memory.word, memory.words) == (memory.bytes() as u32, 1)
                }
                Kind::Copy(copy) => {
                    self.src(copy.from.address)
                        && self.src(copy.to.address)
                        && copy.bytes.is_none_or(|s| self.src(s))
                        && matches!(copy.size, 4 | 8 | 16)
                }
                Kind::Sreg { dst, .. } | Kind::Clock { dst, .. } => self.dst(*dst),
                Kind::Rare { dst, src, .. } => self.dst(Dst::Narrow(*dst)) && all(src),
                Kind::Generic(generic) => {
                    all(&generic.src) && generic.dst.iter().all(|&d| self.dst(d))
                }
                Kind::Asynchronous(op) => {
                    op.is_consistent() && all(&op.src) && op.dst.iter().all(|&d| self.dst(d))
                }
                Kind::Texture(texture) => {
                    texture.operands().all(|s| self.src(s))
                        && texture.dst.iter().all(|&d| self.dst(d))
                }
                Kind::SaveFrame(frame) => all(&frame.src),
                Kind::RestoreFrame(dst) => dst.iter().all(|&d| self.dst(d)),
                Kind::Print(print) => {
                    self.src(print.format) && self.src(print.args) && self.dst(print.dst)
                }
                Kind::Collective(collective) => {
                    all(&collective.src)
                        && collective.members.is_none_or(|s| self.src(s))
                        && collective.dst.iter().all(|&d| self.dst(d))
                }
                // The interpreter executes all other steps, and checks their accesses.
                _ => true,
            }
    }
}
