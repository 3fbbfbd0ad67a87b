//! The kernels of [`ir::testing`] as PTX: integer arithmetic, branches, loops, switches, calls and
//! early exits. They have no race and observe neither the schedule nor how lanes converge.

use std::fmt::Write as _;

use ir::testing::{KERNEL_WORDS, KernelShape, Rng, random_kernel};
use ir::{
    Block, Function, Guard, Inst, LaneReg, Module, Op, Operand, Reg, RegTy, Sreg, TermKind, Ty,
};

use crate::kernel::Shape;
use ir::module::Signature;

/// A kernel as PTX.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowKernel {
    /// Its functions; the last one is the kernel. It has one parameter, the address of
    /// [`FlowKernel::BYTES`] bytes for each thread of the grid, which hold 0.
    pub text: String,
    /// The shape of its launch: one dimension.
    pub shape: Shape,
}

impl FlowKernel {
    /// Bytes that each thread stores.
    pub const BYTES: usize = 4 * KERNEL_WORDS;
}

/// The kernel of a seed under a name, with which the names of its functions begin.
#[must_use]
pub fn kernel(seed: u64, name: &str) -> FlowKernel {
    let mut rng = Rng::new(seed);
    let kinds = KernelShape::ALL;
    let module = random_kernel(&mut rng, kinds[seed as usize % kinds.len()]);
    let block = [1, 31, 32, 32, 33, 64, 96, 128][rng.below(8)];
    let shape = Shape { grid: [1, 2, 3][rng.below(3)], block: [block, 1, 1] };
    let mut text = format!("// {name}\n");
    for function in &module.functions {
        Writer { name, module: &module, function, out: &mut text }.function();
    }
    FlowKernel { text, shape }
}

struct Writer<'a> {
    name: &'a str,
    module: &'a Module,
    function: &'a Function,
    out: &'a mut String,
}

impl Writer<'_> {
    fn line(&mut self, guard: Option<Guard>, text: &str) {
        let guard = guard.map_or_else(String::new, |guard| {
            format!("@{}{} ", if guard.negated { "!" } else { "" }, register(guard.pred))
        });
        let _ = writeln!(self.out, "  {guard}{text};");
    }

    fn function(mut self) {
        let name = self.name;
        let function = self.function;
        let _ = match &function.signature {
            Signature::Kernel { .. } => {
                writeln!(self.out, ".visible .entry {name}(.param .u64 out)\n{{")
            }
            Signature::Device { params, .. } => {
                let params: Vec<String> =
                    (0..params.len()).map(|k| format!(".param .b32 a{k}")).collect();
                let (leaf, params) = (&function.name, params.join(", "));
                writeln!(
                    self.out,
                    ".func (.param .align 8 .b8 results[8]) {name}_{leaf}({params})\n{{"
                )
            }
        };
        self.out.push_str("  .reg .pred %negated;\n");
        for (number, reg) in function.regs.iter().enumerate() {
            let ty = match reg.ty {
                RegTy::Pred => "pred",
                RegTy::B64 => "b64",
                _ => "b32",
            };
            let _ = writeln!(self.out, "  .reg .{ty} %v{number};");
        }
        if let Signature::Device { params, .. } = &function.signature {
            for (k, param) in params.iter().enumerate() {
                self.line(None, &format!("ld.param.b32 {}, [a{k}]", register(*param)));
            }
        }
        for (number, block) in function.blocks.iter().enumerate() {
            let _ = writeln!(self.out, "b{number}:");
            self.block(number, block);
        }
        self.out.push_str("}\n");
    }

    fn block(&mut self, number: usize, block: &Block) {
        for inst in &block.insts {
            self.inst(inst);
        }
        match &block.term.kind {
            TermKind::Fall | TermKind::MaskBr(..) => {}
            TermKind::Br(to) => self.line(None, &format!("bra b{}", to.index())),
            TermKind::CondBr(guard, to) => {
                self.line(Some(*guard), &format!("bra b{}", to.index()));
            }
            TermKind::Switch(index, targets) => {
                let targets: Vec<String> =
                    targets.iter().map(|to| format!("b{}", to.index())).collect();
                self.line(None, &format!("t{number}: .branchtargets {}", targets.join(", ")));
                let index = value(*index, Ty::U32);
                self.line(None, &format!("brx.idx {index}, t{number}"));
            }
            TermKind::Ret(guard) => {
                if let Signature::Device { results, .. } = &self.function.signature {
                    for (k, result) in results.iter().enumerate() {
                        let result = register(*result);
                        self.line(None, &format!("st.param.b32 [results+{}], {result}", 4 * k));
                    }
                }
                self.line(*guard, "ret");
            }
            TermKind::Exit(guard) => self.line(*guard, "exit"),
        }
    }

    fn inst(&mut self, inst: &Inst) {
        if inst.op == Op::Call {
            return self.call(inst);
        }
        let ty = inst.ty.unwrap_or(Ty::B32);
        let mut operands: Vec<String> = Vec::new();
        if let Some(Some(Reg::Lane(result))) = inst.results.first() {
            operands.push(register(*result));
        }
        operands.extend(inst.operands.iter().map(|operand| value(*operand, ty)));
        let mut name = format!("{}.{}", inst.op.name(), ty.name());
        match inst.op {
            Op::Mad | Op::Mul => name = format!("{}.lo.{}", inst.op.name(), ty.name()),
            Op::MulWide => name = format!("mul.wide.{}", ty.name()),
            Op::Sreg => name = "mov.u32".to_owned(),
            Op::Setp => {
                let cmp = inst.mods.cmp.map_or("", |cmp| cmp.word());
                name = format!("setp.{cmp}.{}", ty.name());
            }
            Op::Ld => {
                name = "ld.param.u64".to_owned();
                operands.truncate(1);
                operands.push("[out]".to_owned());
            }
            Op::St => {
                name = format!("st.global.{}", ty.name());
                operands[0] = format!("[{}+{}]", operands[0], inst.offset);
            }
            Op::AndNot => {
                let last = operands.pop().unwrap_or_default();
                self.line(inst.guard, &format!("not.pred %negated, {last}"));
                operands.push("%negated".to_owned());
                name = "and.pred".to_owned();
            }
            _ => {}
        }
        self.line(inst.guard, &format!("{name} {}", operands.join(", ")));
    }

    fn call(&mut self, inst: &Inst) {
        let Some((Operand::Func(callee), arguments)) = inst.operands.split_first() else { return };
        let Some(callee) = self.module.functions.get(callee.index()) else { return };
        let leaf = &callee.name;
        self.out.push_str("  {\n  .param .align 8 .b8 results[8];\n");
        for (k, argument) in arguments.iter().enumerate() {
            let _ = writeln!(self.out, "  .param .b32 c{k};");
            self.line(None, &format!("st.param.b32 [c{k}], {}", value(*argument, Ty::U32)));
        }
        let list: Vec<String> = (0..arguments.len()).map(|k| format!("c{k}")).collect();
        let name = self.name;
        self.line(None, &format!("call (results), {name}_{leaf}, ({})", list.join(", ")));
        for (k, result) in inst.results.iter().enumerate() {
            if let Some(Reg::Lane(result)) = result {
                self.line(
                    None,
                    &format!("ld.param.b32 {}, [results+{}]", register(*result), 4 * k),
                );
            }
        }
        self.out.push_str("  }\n");
    }
}

fn register(reg: LaneReg) -> String {
    format!("%v{}", reg.index())
}

/// An operand that is read as a type.
fn value(operand: Operand, ty: Ty) -> String {
    match operand {
        Operand::Reg(Reg::Lane(reg)) => register(reg),
        Operand::Imm(bits) if ty.is_signed() => (bits as u32 as i32).to_string(),
        Operand::Imm(bits) => bits.to_string(),
        Operand::Sreg(Sreg::CtaidX) => "%ctaid.x".to_owned(),
        Operand::Sreg(Sreg::NtidX) => "%ntid.x".to_owned(),
        Operand::Sreg(Sreg::TidX) => "%tid.x".to_owned(),
        _ => String::new(),
    }
}
