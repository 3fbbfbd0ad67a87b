//! Which functions a call may lead to, and the local memory that calls need.

use crate::program::{FuncInfo, Program};
use flow::{Component, components};
use ir::module::Signature;
use ir::{FuncId, Function, Inst, Module, Op, Operand};
use std::collections::BTreeSet;

/// Bytes of local memory that each thread has from its start for functions with variables that call
/// each other recursively. Not a multiple of 4096, so that the same variable of adjacent threads is
/// in different sets of the host's caches.
pub const RECURSION_BYTES: u32 = (16 << 10) - 64;

impl Program {
    /// Returns the functions that a call may lead to: for one by address, those whose address is
    /// taken and that have as many parameters, and enough results.
    #[must_use]
    pub fn callees(&self, call: &Inst) -> Vec<u32> {
        callees(&self.module, &self.addressed, call)
    }

    /// Returns the bytes of local memory that each thread of a kernel has from its start, of a
    /// stack of `stack_limit` bytes: those of the variables of the kernel and of all calls that it
    /// can have active at once. Functions with variables that call each other recursively take
    /// [`RECURSION_BYTES`] together; calls that need more allocate it.
    #[must_use]
    pub fn local_bytes(&self, kernel: u32, stack_limit: u64) -> u32 {
        let FuncInfo { local_bytes, local_need, .. } = self.functions[kernel as usize];
        local_need.min(u32::try_from(stack_limit).unwrap_or(u32::MAX)).max(local_bytes)
    }
}

fn callees(module: &Module, addressed: &[u32], call: &Inst) -> Vec<u32> {
    match (call.op, call.operands.first()) {
        (Op::CallInd, _) => {
            let fits = |index: &u32| match &module.functions[*index as usize].signature {
                Signature::Device { params, results } => {
                    params.len() == call.operands.len() - 1 && results.len() >= call.results.len()
                }
                Signature::Kernel { .. } => false,
            };
            addressed.iter().copied().filter(fits).collect()
        }
        (Op::Call, Some(&Operand::Func(FuncId(callee)))) => vec![callee],
        _ => Vec::new(),
    }
}

/// Sets the local memory that each function needs with what it calls. `addressed` are the functions
/// whose address is taken.
pub(crate) fn set_local_needs(module: &Module, addressed: &[u32], functions: &mut [FuncInfo]) {
    let callees_of = |(info, function): (&FuncInfo, &Function)| -> Vec<u32> {
        if info.callees.is_empty() {
            return Vec::new();
        }
        let insts = function.blocks.iter().flat_map(|block| &block.insts);
        let all = insts.flat_map(|inst| callees(module, addressed, inst));
        all.collect::<BTreeSet<u32>>().into_iter().collect()
    };
    let mut successors: Vec<Vec<u32>> =
        functions.iter().zip(&module.functions).map(callees_of).collect();
    // All kernels are successors of a node that is no function.
    let root = functions.len() as u32;
    successors.push((0..root).filter(|&f| functions[f as usize].kernel).collect());
    let found = components(root, |f| successors[f as usize].clone());
    let mut needs = vec![0u32; functions.len() + 1];
    for Component { nodes, is_cyclic } in found {
        let own = nodes.iter().filter_map(|&f| functions.get(f as usize)).map(|f| f.local_bytes);
        let own = match own.max().unwrap_or(0) {
            1.. if is_cyclic => RECURSION_BYTES,
            own => own,
        };
        // The needs of the component's own functions are still 0.
        let below = nodes.iter().flat_map(|&f| &successors[f as usize]);
        let below = below.map(|&f| needs[f as usize]).max();
        let need = own.saturating_add(below.unwrap_or(0));
        nodes.iter().for_each(|&f| needs[f as usize] = need);
    }
    for (function, need) in functions.iter_mut().zip(needs) {
        function.local_need = need;
    }
}
