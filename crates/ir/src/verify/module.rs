//! Rules of modules and their variables: V1 to V4.

use super::{At, Checker, Place, VerifyError, Violation};
use crate::module::{LocId, Reloc, Signature, SourceLine, Symbol, Var, VarId};
use rustc_hash::FxHashSet;
use simt::observe::Space;

impl Checker<'_> {
    fn report_at(&mut self, place: Place, loc: LocId, violation: Violation) {
        self.errors.push(VerifyError { place, loc, violation });
    }

    pub(super) fn module(&mut self) {
        self.names();
        self.locs();
        for (i, var) in self.module.vars.iter().enumerate() {
            self.variable(Place::Var(VarId(i as u32)), var);
        }
    }

    fn names(&mut self) {
        let module = self.module;
        self.unique("variable", Place::Module, module.vars.iter().map(|v| v.name.as_str()));
        self.unique("function", Place::Module, module.functions.iter().map(|f| f.name.as_str()));
    }

    /// Names are there and distinct.
    pub(super) fn unique<'n>(
        &mut self,
        what: &'static str,
        place: Place,
        names: impl Iterator<Item = &'n str>,
    ) {
        let mut seen = FxHashSet::default();
        for name in names {
            if name.is_empty() {
                self.report_at(place, LocId(0), Violation::NoName { what });
            } else if !seen.insert(name) {
                let name = name.to_owned();
                self.report_at(place, LocId(0), Violation::DuplicateName { what, name });
            }
        }
    }

    fn locs(&mut self) {
        let module = self.module;
        if module.locs.is_empty() {
            self.report_at(Place::Module, LocId(0), Violation::Place { what: "place", index: 0 });
        }
        let count = module.inlined.len();
        for line in module.locs.iter().filter_map(|l| l.line.as_ref()) {
            self.source_line(line, count);
        }
        for (index, inlined) in module.inlined.iter().enumerate() {
            self.source_line(&inlined.call, index);
        }
    }

    /// A source line that may belong to one of the first `inlined` inlined calls.
    fn source_line(&mut self, line: &SourceLine, inlined: usize) {
        if line.file as usize >= self.module.files.len() {
            let violation = Violation::Place { what: "source file", index: line.file };
            self.report_at(Place::Module, LocId(0), violation);
        }
        if let Some(id) = line.inlined.filter(|id| id.index() >= inlined) {
            let violation = Violation::Place { what: "inlined call", index: id.0 };
            self.report_at(Place::Module, LocId(0), violation);
        }
    }

    /// A place that something refers to.
    pub(super) fn loc(&mut self, at: &At<'_>) {
        let known = at.loc.index() < self.module.locs.len().max(1);
        self.check(at, known, || Violation::Place { what: "place", index: at.loc.0 });
    }

    fn variable(&mut self, place: Place, var: &Var) {
        let shared = var.space == Space::Shared;
        let known = matches!(var.space, Space::Global | Space::Const | Space::Shared);
        let has_content = !var.init.is_empty() || !var.relocs.is_empty();
        let problems = [
            (!known, "a variable lies in global, constant or shared space"),
            (!var.align.is_power_of_two(), "the alignment is not a power of two"),
            (var.dynamic && !shared, "only a shared variable can be dynamic"),
            (var.dynamic && var.size != 0, "a dynamic variable has size 0"),
            (!var.dynamic && var.size == 0, "the size is 0"),
            (var.init.len() as u64 > var.size, "the initialiser is longer than the variable"),
            (shared && has_content, "a shared variable cannot be initialised"),
        ];
        for (_, why) in problems.into_iter().filter(|p| p.0) {
            self.report_at(place, LocId(0), Violation::Variable { why });
        }
        for (index, reloc) in var.relocs.iter().enumerate() {
            if let Some(why) = self.reloc(var, reloc) {
                self.report_at(place, LocId(0), Violation::Reloc { index, why });
            }
        }
    }

    fn reloc(&self, var: &Var, reloc: &Reloc) -> Option<&'static str> {
        let end = u64::from(reloc.offset) + u64::from(reloc.size);
        let known = match reloc.symbol {
            Symbol::Var(id) => id.index() < self.module.vars.len(),
            Symbol::Func(id) => id.index() < self.module.functions.len(),
            Symbol::Local(_) | Symbol::Param(_) => false,
        };
        if !matches!(reloc.size, 1 | 4 | 8) {
            Some("does not take 1, 4 or 8 bytes")
        } else if u64::from(reloc.byte) + u64::from(reloc.size) > 8 {
            Some("takes bytes that an address does not have")
        } else if end > var.size {
            Some("lies outside the variable")
        } else if !known {
            Some("is of nothing in the module")
        } else {
            None
        }
    }

    /// The names of a kernel's parameters.
    pub(super) fn param_names(&mut self, place: Place, signature: &Signature) {
        if let Signature::Kernel { params, .. } = signature {
            self.unique("parameter", place, params.iter().map(|p| p.name.as_str()));
        }
    }
}
