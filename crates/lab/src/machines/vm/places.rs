//! The linked code as places for probes.

use std::sync::Arc;

use places::Sources;

use super::VmProgram;
use crate::probe::{Place, ScheduleDependence};

/// Most characters of an instruction's text that are kept.
const LONGEST: usize = 160;

/// Returns the places of all code, by program counter.
pub(super) fn places(program: &VmProgram) -> Arc<[Place]> {
    let mut sources = Sources::new(program.module());
    program.program.code().iter().map(|code| place(program, code, &mut sources)).collect()
}

/// Returns the text of a span on one line.
pub(super) fn written(program: &VmProgram, span: isa::Span) -> Option<String> {
    let text = program.text.text().get(span.range())?;
    let words: Vec<&str> = text.split_whitespace().collect();
    Some(words.join(" ").chars().take(LONGEST).collect())
}

fn place(program: &VmProgram, code: &vm::Code, sources: &mut Sources<'_>) -> Place {
    let span = program.span(code.loc());
    let origin = code.origin();
    let made = !matches!(origin, ir::Origin::Source | ir::Origin::Lowering);
    let text: Arc<str> = match span.filter(|_| !made).and_then(|s| written(program, s)) {
        Some(text) => text.into(),
        None => code.op().map_or("branch", ir::Op::name).into(),
    };
    Place {
        text,
        line: span.map(|s| program.line(s)),
        span,
        source: sources.at(code.loc()),
        exposes: code.shows().map(schedule_dependence),
        orders_warp: code.op() == Some(ir::Op::WarpSync),
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
