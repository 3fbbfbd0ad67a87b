//! Files that are to be linked with others: their undefined names, and the names that others see.

use ir::VarId;
use isa::Diagnostics;

use super::{Lowerer, Select};
use crate::ast::{FunctionKind, Item, Linkage, Module};

/// The binding of a name of a file to the same name of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// Another file must define it.
    Undefined,
    /// Others see it; there may be one in all.
    Strong,
    /// Others see it; it gives way to a strong one of its name.
    Weak,
    /// The same, of a variable without content of its own: the largest of its name is taken.
    Common,
    /// Nobody else sees it.
    Local,
}

/// A lowered file that others may complete.
#[derive(Clone, Debug)]
pub struct Object {
    /// The module. Functions that are undefined have no blocks, and variables that are undefined no
    /// content.
    pub module: ir::Module,
    /// The binding of each function.
    pub functions: Vec<Binding>,
    /// The binding of each variable.
    pub vars: Vec<Binding>,
    /// Widths in bits of the registers that each function takes; none of kernels.
    pub params: Vec<Vec<u32>>,
}

fn binding(linkage: Option<Linkage>) -> Binding {
    match linkage {
        None => Binding::Local,
        Some(Linkage::Visible) => Binding::Strong,
        Some(Linkage::Weak) => Binding::Weak,
        Some(Linkage::Common) => Binding::Common,
        Some(Linkage::Extern) => Binding::Undefined,
    }
}

/// Lowers a file, or parts of it, whose external names others define. Kernels are visible to all
/// unless they are weak.
#[must_use]
pub fn lower_object(tree: &Module, select: Select<'_>) -> (Option<Object>, Diagnostics) {
    let mut lowerer = Lowerer::new(tree);
    lowerer.object = true;
    lowerer.header();
    lowerer.collect();
    lowerer.roots(select);
    lowerer.run(select);
    lowerer.device_limits();
    let functions = lowerer.queue.iter().map(|&id| {
        let function = &tree.functions[id];
        match function.kind {
            _ if function.body.is_none() => Binding::Undefined,
            FunctionKind::Entry if function.linkage == Some(Linkage::Weak) => Binding::Weak,
            FunctionKind::Entry => Binding::Strong,
            FunctionKind::Func => binding(function.linkage),
        }
    });
    let functions = functions.collect();
    let queue = lowerer.queue.clone();
    let params = queue.iter().map(|&id| {
        let function = &tree.functions[id];
        let widths = (function.kind == FunctionKind::Func)
            .then(|| lowerer.signature_widths(&function.signature).ok());
        widths.flatten().map_or_else(Vec::new, |widths| widths.params.clone())
    });
    let params = params.collect();
    // Variables inside of functions are local.
    let mut vars = vec![Binding::Local; lowerer.out.vars.len()];
    for item in &tree.items {
        let Item::Variable(id) = item else { continue };
        let declaration = &tree.declarations[*id];
        for declarator in declaration.declarators.ids() {
            let known = lowerer.variable_ids.get(&declarator).copied().flatten();
            if let Some(VarId(index)) = known {
                let var = &lowerer.out.vars[index as usize];
                // External shared memory is dynamic, or defined where it is declared with a size.
                let external = declaration.linkage == Some(Linkage::Extern);
                let own = var.dynamic || external && var.space == ir::mods::Space::Shared;
                vars[index as usize] =
                    if own { Binding::Local } else { binding(declaration.linkage) };
            }
        }
    }
    let Lowerer { out, diagnostics, .. } = lowerer;
    let module = (!diagnostics.has_errors()).then_some(out);
    (module.map(|module| Object { module, functions, vars, params }), diagnostics)
}
