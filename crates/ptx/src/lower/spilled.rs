//! Parameters and results of device functions whose address is taken.
//!
//! Parameters travel in registers (see `params`). One whose address a function takes is copied to
//! the thread's variables when the function begins, as the PTX ISA requires (`mov`: "the parameter
//! will be copied onto the stack"), and every access of its name goes there: its address is one of
//! `.local`. A result is read from there at every return.

use ir::mods::Space as IrSpace;
use ir::module::LocalVar;
use ir::{Inst, Op, Origin, Reg};
use rustc_hash::FxHashSet;

use super::function::Body;
use super::names::Meaning;
use super::params::Chunk;
use super::{Lowering, MAX_FRAME_BYTES};
use crate::ast::{Declaration, Module, OperandKind, Statement};
use crate::names::Symbol;
use crate::pool::Run;

/// Names whose address some `mov` or `cvta` of a body takes, if they are names of variables.
pub(super) fn addressed(tree: &Module, body: Run<Statement>) -> FxHashSet<Symbol> {
    let mut names = FxHashSet::default();
    for statement in &tree.statements[body] {
        let Statement::Instruction(id) = statement else { continue };
        let instruction = &tree.instructions[*id];
        if !matches!(tree.name(instruction.opcode.symbol), "mov" | "cvta") {
            continue;
        }
        if let Some(source) = tree.operands[instruction.operands].get(1)
            && let OperandKind::Name(name)
            | OperandKind::Sum(name, _)
            | OperandKind::Element(name, _) = source.kind
        {
            names.insert(name);
        }
    }
    names
}

impl Body<'_, '_> {
    /// Gives the parameters and results that are in `addressed` local variables, which their names
    /// mean from here on.
    pub(super) fn spill_params(
        &mut self,
        params: &[Declaration],
        results: &[Declaration],
        addressed: &FxHashSet<Symbol>,
    ) -> Lowering<()> {
        for (index, d) in params.iter().chain(results).enumerate() {
            let Some(local) = self.spill(d, addressed)? else { continue };
            let chunks = self.params.get(index).map(|p| p.chunks.clone()).unwrap_or_default();
            if index >= params.len() {
                self.spilled_results.push((local, chunks));
                continue;
            }
            for chunk in chunks {
                let mut store = chunk_access(Op::St, local, chunk);
                store.operands.push(ir::Operand::lane(chunk.reg));
                self.emit(store, Origin::Lowering);
            }
        }
        Ok(())
    }

    /// The local variable of a parameter whose address is taken.
    fn spill(&mut self, d: &Declaration, addressed: &FxHashSet<Symbol>) -> Lowering<Option<u32>> {
        let tree = self.cx.tree;
        let Some(declarator) = tree.declarators[d.declarators].first() else { return Ok(None) };
        let name = declarator.name;
        if !addressed.contains(&name.symbol) || d.space != crate::ast::Space::Param {
            return Ok(None);
        }
        let layout = self.cx.layout(d, declarator)?;
        let offset = self.code.frame_size().next_multiple_of(u64::from(layout.align));
        if offset.saturating_add(layout.size) > MAX_FRAME_BYTES {
            let message = format!("a thread's variables have at most {MAX_FRAME_BYTES} bytes");
            return self.cx.error("ptx::frame", message, name.span, "too many here");
        }
        let local = self.code.local(LocalVar {
            name: tree.name(name.symbol).to_owned(),
            offset: offset as u32,
            size: layout.size.max(1) as u32,
            align: layout.align,
        });
        let meaning = Meaning::Local { index: local, element: layout.element };
        self.declare(name.symbol, meaning, name.span);
        Ok(Some(local))
    }

    /// Reads, before a return, the results that are in local variables into the registers that they
    /// are returned in.
    pub(super) fn fetch_results(&mut self) {
        for (local, chunks) in self.spilled_results.clone() {
            for chunk in chunks {
                let load = chunk_access(Op::Ld, local, chunk);
                self.emit(load.result(Reg::Lane(chunk.reg)), Origin::Lowering);
            }
        }
    }
}

/// An access of a chunk's place in a local variable, without the value.
fn chunk_access(op: Op, local: u32, chunk: Chunk) -> Inst {
    let mut inst = Inst::new(op);
    inst.ty = Some(super::params::register_of(chunk.bytes).ty());
    inst.mods.space = Some(IrSpace::Local);
    inst.operands.push(ir::Operand::Symbol(ir::Symbol::Local(local), 0));
    inst.offset = chunk.offset as i64;
    inst
}

/// The space of an access that says `.param`, where the parameter was copied to local memory.
pub(super) fn space_of_access(written: Option<IrSpace>, found: Option<IrSpace>) -> Option<IrSpace> {
    match (written, found) {
        (Some(IrSpace::Param), Some(IrSpace::Local)) => Some(IrSpace::Local),
        _ => written,
    }
}
