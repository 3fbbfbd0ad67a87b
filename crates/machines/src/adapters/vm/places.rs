//! The linked code as places for probes.

use std::sync::Arc;

use ir::module::{MaskRef, Signature};
use ir::{Function, LaneReg, LocId, Module, Op, Operand, Reg, TermKind};
use places::Sources;
use rustc_hash::FxHashSet;

use super::program::VmProgram;
use crate::probe::{Place, ScheduleDependence};

/// Returns the places of all code, by program counter.
pub(super) fn places(program: &VmProgram) -> Arc<[Place]> {
    let mut sources = Sources::new(program.module());
    let updates = updates(program.module());
    let code = program.program.code().iter();
    code.map(|code| {
        let mut place = place(program, code, &mut sources);
        if place.exposes == Some(ScheduleDependence::ReturnedAtomic)
            && updates.contains(&code.loc())
        {
            place.exposes = None;
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

fn place(program: &VmProgram, code: &vm::Code, sources: &mut Sources<'_>) -> Place {
    let span = program.span(code.loc());
    let origin = code.origin();
    let made = !matches!(origin, ir::Origin::Source | ir::Origin::Lowering);
    let text: Arc<str> = match span.filter(|_| !made).and_then(|s| program.written(s)) {
        Some(text) => text.into(),
        None => code.op().map_or("branch", Op::name).into(),
    };
    Place {
        text,
        line: span.map(|s| program.line(s)),
        span,
        source: sources.at(code.loc()),
        exposes: code.shows().map(schedule_dependence),
        orders_warp: code.op() == Some(Op::WarpSync),
        origin: if made { origin_name(origin) } else { "" },
    }
}

fn origin_name(origin: ir::Origin) -> &'static str {
    ir::Origin::ALL.iter().find(|(o, _)| *o == origin).map_or("", |(_, name)| name)
}

fn schedule_dependence(exposed: vm::Shows) -> ScheduleDependence {
    match exposed {
        vm::Shows::ActiveLanes => ScheduleDependence::ActiveLanes,
        vm::Shows::Elected => ScheduleDependence::Elected,
        vm::Shows::Clock => ScheduleDependence::Clock,
        vm::Shows::ReturnedAtomic => ScheduleDependence::ReturnedAtomic,
        vm::Shows::FloatAtomic => ScheduleDependence::FloatAtomic,
        vm::Shows::Allocation => ScheduleDependence::Allocation,
        vm::Shows::Output => ScheduleDependence::PrintOrder,
    }
}
