//! Limits of devices on what a file declares: shared memory of a kernel, constant memory, threads
//! of a block.
//!
//! [`Limits`] selects whose limits hold; the numbers are those of [`ir::device`]. `ptxas` refuses
//! the same for every target: more than 48 KiB of shared variables ("uses too much shared data"),
//! more than 64 KiB of constant ones.

use ir::device::{CONSTANT, Capability, Limits, MAX_BLOCK, MAX_THREADS, STATIC_SHARED};
use ir::mods::Space;
use ir::{FuncId, Operand, Symbol};
use isa::{Diagnostic, Span};
use rustc_hash::FxHashSet;

use super::Lowerer;
use crate::ast::{Function, Module};

/// Most functions visited for the shared variables of kernels, all kernels together: no real file
/// comes near.
const WORK: usize = 1 << 22;

/// Returns the compute capability of a file's target: the least, where it names several. `None` for
/// a file that names none.
#[must_use]
pub fn target(tree: &Module) -> Option<Capability> {
    let mut words = tree.items.iter().filter_map(|item| match item {
        crate::ast::Item::Target { words, .. } => Some(&tree.name_lists[*words]),
        _ => None,
    });
    let numbers = words.next_back()?.iter().filter_map(|w| target_number(tree.name(w.symbol)));
    numbers.min().map(Capability::of_target)
}

/// The last minor version of each major version of PTX from 1 on: those that `ptxas` 13.5 takes.
const LAST_MINORS: [u32; 9] = [5, 3, 2, 3, 1, 5, 8, 8, 5];

/// Iterates over all versions of PTX that are known, in order.
pub fn versions() -> impl Iterator<Item = (u32, u32)> {
    (1..).zip(LAST_MINORS).flat_map(|(major, last)| (0..=last).map(move |minor| (major, minor)))
}

/// Returns the version that a file names; the last, where it names several.
#[must_use]
pub fn version(tree: &Module) -> Option<(u32, u32)> {
    tree.items.iter().rev().find_map(|item| match item {
        crate::ast::Item::Version { major, minor, .. } => Some((*major, *minor)),
        _ => None,
    })
}

/// The number of a target such as `sm_90a`.
pub(super) fn target_number(word: &str) -> Option<u32> {
    word.strip_prefix("sm_")?.trim_end_matches(|c: char| c.is_ascii_alphabetic()).parse().ok()
}

/// The variables and functions that a function names.
struct Uses {
    shared: Vec<u32>,
    callees: Vec<u32>,
    /// Whether it calls by address.
    indirect: bool,
}

impl Lowerer<'_> {
    /// Reports uses beyond the limits of every device.
    pub(super) fn device_limits(&mut self) {
        if self.limits == Limits::None {
            return;
        }
        self.constant_limit();
        let shared = self.out.vars.iter().filter(|v| v.space == Space::Shared && !v.dynamic);
        let all = shared.map(|v| v.size).fold(0, u64::saturating_add);
        if all > STATIC_SHARED {
            self.shared_limit();
        }
    }

    fn constant_limit(&mut self) {
        let constants = self.out.vars.iter().filter(|v| v.space == Space::Const);
        let bytes = constants.map(|v| v.size).fold(0, u64::saturating_add);
        if bytes <= CONSTANT {
            return;
        }
        let message = format!("the file has {bytes} bytes of constant variables");
        let finding = Diagnostic::error("ptx::constant-memory", message)
            .note(format!("devices have {CONSTANT} bytes for them"))
            .help("put large tables into `.global`, or lift the limits of devices by the option `limits-of=none`");
        let largest = self.largest(Space::Const, None);
        self.fail(match largest {
            Some(at) => finding.at(at, "the largest of them"),
            None => finding,
        });
    }

    /// The place of the largest variable of a space, of those that are wanted.
    fn largest(&self, space: Space, wanted: Option<&[u32]>) -> Option<Span> {
        let is_wanted =
            |index: usize| wanted.is_none_or(|w| w.binary_search(&(index as u32)).is_ok());
        let vars = self.out.vars.iter().enumerate();
        let found = vars.filter(|(i, v)| v.space == space && !v.dynamic && is_wanted(*i));
        let (index, _) = found.max_by_key(|(_, v)| v.size)?;
        self.var_spans.get(index).copied()
    }

    fn shared_limit(&mut self) {
        // A call by address can lead to every function whose address is taken.
        let mut addressed = FxHashSet::default();
        let uses: Vec<Uses> =
            self.out.functions.iter().map(|f| self.uses(f, &mut addressed)).collect();
        let relocs = self.out.vars.iter().flat_map(|v| &v.relocs);
        addressed.extend(relocs.filter_map(|r| match r.symbol {
            Symbol::Func(f) => Some(f.0),
            _ => None,
        }));
        let addressed: Vec<u32> = addressed.into_iter().collect();
        let mut work = WORK;
        for kernel in 0..self.out.functions.len() {
            if !self.out.functions[kernel].is_kernel() {
                continue;
            }
            let named = reached(&uses, &addressed, kernel as u32, &mut work);
            let sizes = named.iter().filter_map(|&v| self.out.vars.get(v as usize)).map(|v| v.size);
            let bytes = sizes.fold(0, u64::saturating_add);
            if bytes > STATIC_SHARED {
                self.too_much_shared(kernel, bytes, &named);
            }
            if work == 0 {
                return;
            }
        }
    }

    fn too_much_shared(&mut self, kernel: usize, bytes: u64, named: &[u32]) {
        let name = &self.out.functions[kernel].name;
        let message = format!("the kernel `{name}` has {bytes} bytes of shared variables");
        let mut finding = Diagnostic::error("ptx::shared-memory", message)
            .note(format!("blocks have at most {STATIC_SHARED} bytes of fixed size"))
            .help(
                "declare it as `.extern .shared .b8 NAME[]` and give its size at the launch, or lift the limits of \
                 devices by the option `limits-of=none`",
            );
        if let Some(at) = self.largest(Space::Shared, Some(named)) {
            finding = finding.at(at, "the largest of them");
        }
        if let Some(function) = self.queue.get(kernel).map(|&id| &self.tree.functions[id]) {
            finding = finding.also(function.signature.name.span, "the kernel");
        }
        self.fail(finding);
    }

    fn uses(&self, function: &ir::Function, addressed: &mut FxHashSet<u32>) -> Uses {
        let mut uses = Uses { shared: Vec::new(), callees: Vec::new(), indirect: false };
        for inst in function.blocks.iter().flat_map(|b| &b.insts) {
            for operand in &inst.operands {
                match *operand {
                    Operand::Symbol(Symbol::Var(var), _) => {
                        let found = self.out.vars.get(var.index());
                        if found.is_some_and(|v| v.space == Space::Shared && !v.dynamic) {
                            uses.shared.push(var.0);
                        }
                    }
                    Operand::Symbol(Symbol::Func(FuncId(taken)), _) => {
                        addressed.insert(taken);
                    }
                    Operand::Func(FuncId(callee)) => uses.callees.push(callee),
                    _ => {}
                }
            }
            uses.indirect |= inst.op == ir::Op::CallInd;
        }
        uses
    }

    /// Warns of a bound on the threads of a block that no block can reach.
    pub(super) fn thread_limit(&mut self, function: &Function, threads: [u32; 3], at: Span) {
        let all = threads.iter().map(|&n| u64::from(n)).fold(1, u64::saturating_mul);
        let wide = threads.iter().zip(MAX_BLOCK).any(|(&given, most)| given > most);
        if self.limits == Limits::None || (all <= u64::from(MAX_THREADS) && !wide) {
            return;
        }
        let [x, y, z] = MAX_BLOCK;
        let name = self.tree.name(function.signature.name.symbol);
        let message = format!("`{name}` is declared for blocks of {all} threads");
        self.diagnostics.push(
            Diagnostic::warning("ptx::bounds", message).at(at, "no device has such blocks").note(
                format!("blocks have at most {MAX_THREADS} threads: {x} in x, {y} in y, {z} in z"),
            ),
        );
    }

    /// Checks a register of 32 bits that is an address in a space whose addresses have 64: `ptxas`
    /// warns of it, and refuses it for sm_90 and later. Windows of shared, local and constant
    /// memory have addresses of 32 bits, too.
    pub(super) fn narrow_address(&mut self, space: Option<Space>, at: Span) -> super::Lowering<()> {
        if !matches!(space, None | Some(Space::Generic | Space::Global)) {
            return Ok(());
        }
        let message = "the address is in a register of 32 bits";
        let label = "addresses of global memory have 64 bits";
        let finding = Diagnostic::error("ptx::address-width", message).at(at, label);
        let finding = finding.help("keep the address in a register of type `.b64`");
        if self.sm >= 90 && self.sm != u32::MAX {
            return Err(self.fail(finding));
        }
        let severity = isa::Severity::Warning;
        self.diagnostics.push(Diagnostic { severity, ..finding });
        Ok(())
    }
}

/// Returns the shared variables that a function and its callees name, each once.
fn reached(uses: &[Uses], addressed: &[u32], from: u32, work: &mut usize) -> Vec<u32> {
    let mut seen: FxHashSet<u32> = [from].into_iter().collect();
    let mut pending = vec![from];
    let mut named: FxHashSet<u32> = FxHashSet::default();
    while let Some(function) = pending.pop() {
        let Some(uses) = uses.get(function as usize) else { continue };
        let by_address = if uses.indirect { addressed } else { &[] };
        let steps = uses.shared.len() + uses.callees.len() + by_address.len() + 1;
        *work = work.saturating_sub(steps);
        if *work == 0 {
            break;
        }
        named.extend(&uses.shared);
        pending.extend(uses.callees.iter().chain(by_address).copied().filter(|f| seen.insert(*f)));
    }
    let mut named: Vec<u32> = named.into_iter().collect();
    named.sort_unstable();
    named
}
