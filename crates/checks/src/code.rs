//! Linked code as places for probes.

use std::sync::Arc;

use ir::module::{MaskRef, Signature};
use ir::op::Class;
use ir::{Function, LaneReg, LocId, Module, Op, Operand, Reg, TermKind};
use isa::{SourceFile, Span};
use places::Sources;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::probe::{Place, Role, ScheduleDependence};

/// Most characters of an instruction's text that are kept.
const LONGEST: usize = 160;

/// Returns the text of a span on one line.
#[must_use]
pub fn written(file: &SourceFile, span: Span) -> Option<String> {
    let text = file.text().get(span.range())?;
    let words: Vec<&str> = text.split_whitespace().collect();
    Some(words.join(" ").chars().take(LONGEST).collect())
}

/// Returns the places of all code of a program, by program counter. `file` returns the text that a
/// span refers to.
#[must_use]
pub fn places<'a>(
    program: &vm::Program,
    file: &dyn Fn(Span) -> Option<&'a SourceFile>,
) -> Arc<[Place]> {
    let module = program.module();
    let mut sources = Sources::new(module);
    let updates = updates(module);
    let products = product_registers(module);
    let taking = products_of_registers(module);
    let code = program.code().iter();
    code.map(|code| {
        let mut place = place(module, code, file, &mut sources);
        if place.exposes == Some(ScheduleDependence::ReturnedAtomic)
            && updates.contains(&code.loc())
        {
            place.exposes = None;
        }
        place.product = matches!(code.op(), Some(Op::Wgmma | Op::WgmmaReg));
        place.takes_registers = place.product && taking.contains(&code.loc());
        if let Some(registers) = products.get(&code.loc()) {
            place.registers = Arc::clone(registers);
        }
        place
    })
    .collect()
}

/// Returns the atomic operations whose old values no instruction reads: compilers write `atom`
/// where `red` would do.
fn updates(module: &Module) -> FxHashSet<LocId> {
    let (mut unread, mut read) = (FxHashSet::default(), FxHashSet::default());
    for function in &module.functions {
        let registers = registers_read(function);
        for inst in function.blocks.iter().flat_map(|block| &block.insts) {
            if inst.op != Op::Atom {
                continue;
            }
            let mut results = inst.results.iter().flatten();
            let is_read = |reg: &Reg| match reg {
                Reg::Lane(reg) => registers.contains(reg),
                Reg::Warp(_) => true,
            };
            if results.any(is_read) { &mut read } else { &mut unread }.insert(inst.loc);
        }
    }
    read.insert(LocId(0));
    unread.retain(|loc| !read.contains(loc));
    unread
}

/// Returns the registers of products of warp groups that instructions access, by their place in
/// the text: accumulators, and registers of the first factor.
fn product_registers(module: &Module) -> FxHashMap<LocId, Arc<[u64]>> {
    let mut all: FxHashMap<LocId, Vec<u64>> = FxHashMap::default();
    for (number, function) in (0u64..).zip(&module.functions) {
        let insts = || function.blocks.iter().flat_map(|block| &block.insts);
        let name = |reg: LaneReg| number << 32 | u64::from(reg.0);
        let of_products: FxHashSet<u64> =
            insts().flat_map(registers_of_product).map(name).collect();
        if of_products.is_empty() {
            continue;
        }
        for inst in insts().filter(|inst| inst.op != Op::Mov) {
            let accessed: Vec<LaneReg> = match inst.op {
                Op::Wgmma | Op::WgmmaReg => registers_of_product(inst),
                _ => {
                    let results = inst.results.iter().flatten().filter_map(|reg| match reg {
                        Reg::Lane(reg) => Some(*reg),
                        Reg::Warp(_) => None,
                    });
                    results.chain(inst.operands.iter().filter_map(lane_register)).collect()
                }
            };
            let accessed = accessed.into_iter().map(name).filter(|reg| of_products.contains(reg));
            all.entry(inst.loc).or_default().extend(accessed);
        }
    }
    all.retain(|loc, registers| *loc != LocId(0) && !registers.is_empty());
    all.into_iter().map(|(loc, registers)| (loc, registers.into())).collect()
}

/// The products that take their first factor or its metadata from registers, by their place in the
/// text.
fn products_of_registers(module: &Module) -> FxHashSet<LocId> {
    let insts = module.functions.iter().flat_map(|function| &function.blocks);
    let insts = insts.flat_map(|block| &block.insts).filter(|inst| match inst.op {
        Op::WgmmaReg => true,
        // Beside the accumulators there are whether they are read, and two descriptors.
        Op::Wgmma => inst.operands.len() > inst.results.iter().flatten().count() + 3,
        _ => false,
    });
    insts.map(|inst| inst.loc).filter(|loc| *loc != LocId(0)).collect()
}

/// The accumulators of a product, and the registers of its first factor; none of other
/// instructions.
fn registers_of_product(inst: &ir::Inst) -> Vec<LaneReg> {
    let left = match inst.op {
        Op::Wgmma => 0,
        Op::WgmmaReg => simt::matrix::A_REGISTERS,
        _ => return Vec::new(),
    };
    // Operands begin with whether the accumulators are read, and the descriptor of B.
    let left = inst.operands.iter().skip(2).take(left).filter_map(lane_register);
    let sums = inst.results.iter().flatten().filter_map(|reg| match reg {
        Reg::Lane(reg) => Some(*reg),
        Reg::Warp(_) => None,
    });
    sums.chain(left).collect()
}

/// Returns the registers that a function reads anywhere.
fn registers_read(function: &Function) -> FxHashSet<LaneReg> {
    let mut read = FxHashSet::default();
    if let Signature::Device { results, .. } = &function.signature {
        read.extend(results);
    }
    for block in &function.blocks {
        for inst in &block.insts {
            read.extend(inst.guard.map(|guard| guard.pred));
            read.extend(inst.operands.iter().filter_map(lane_register));
        }
        match &block.term.kind {
            TermKind::CondBr(guard, _)
            | TermKind::Ret(Some(guard))
            | TermKind::Exit(Some(guard)) => drop(read.insert(guard.pred)),
            TermKind::Switch(index, _) => read.extend(lane_register(index)),
            TermKind::MaskBr(_, MaskRef::Pred(reg), _) => drop(read.insert(*reg)),
            _ => {}
        }
    }
    read
}

fn lane_register(operand: &Operand) -> Option<LaneReg> {
    match operand {
        Operand::Reg(Reg::Lane(reg)) => Some(*reg),
        _ => None,
    }
}

fn place<'a>(
    module: &Module,
    code: &vm::Code,
    file: &dyn Fn(Span) -> Option<&'a SourceFile>,
    sources: &mut Sources<'_>,
) -> Place {
    let span = (code.loc() != LocId(0)).then(|| module.loc(code.loc()).span);
    let file = span.and_then(file);
    let origin = code.origin();
    let made = !matches!(origin, ir::Origin::Source | ir::Origin::Lowering);
    let own = span.zip(file).filter(|_| !made);
    let text: Arc<str> = match own.and_then(|(span, file)| written(file, span)) {
        Some(text) => text.into(),
        None => code.op().map_or("branch", Op::name).into(),
    };
    let role = role(code.op(), &text);
    Place {
        text,
        line: span.zip(file).map(|(span, file)| file.line_col(span.start).line),
        span,
        source: sources.at(code.loc()),
        exposes: code.schedule_dependence(),
        orders_warp: code.op() == Some(Op::WarpSync),
        role,
        registers: Arc::default(),
        product: false,
        takes_registers: false,
        origin: if made { origin_name(origin) } else { "" },
    }
}

/// The part of an instruction in the order of threads. Whether a barrier is aligned changes nothing
/// in the IR, so the text says it: `bar.sync` is `barrier.sync.aligned`.
fn role(op: Option<Op>, text: &str) -> Role {
    match op {
        None | Some(Op::Call | Op::CallInd) => Role::Control,
        Some(Op::MbarInit | Op::MbarInval) => Role::MbarrierInit,
        Some(op) if op.is_mbarrier() => Role::Mbarrier,
        Some(Op::CpAsync) => Role::Copy,
        Some(op) if op.info().class == Class::Collective => Role::Collective,
        Some(Op::Bar) if text.contains("bar.") || text.contains(".aligned") => Role::AlignedBarrier,
        Some(_) => Role::Plain,
    }
}

fn origin_name(origin: ir::Origin) -> &'static str {
    ir::Origin::ALL.iter().find(|(o, _)| *o == origin).map_or("", |(_, name)| name)
}
