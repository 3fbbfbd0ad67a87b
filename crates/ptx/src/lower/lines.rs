//! Lines of the source: `.file`, `.loc`, and the inlined calls that lines belong to.
//!
//! `.loc F L C, function_name S, inlined_at F2 L2 C2` is a line of the function whose name is the
//! string S, inlined for the call at the second place. Where that call belongs to an inlined call
//! itself, a `.loc` of the same function has given its place with an `inlined_at` of its own
//! before; the latest one of that place counts. So a chain of calls is as long as the chain of
//! directives.

use std::sync::Arc;

use ir::InlinedId;
use ir::module::{Inlined, SourceLine};
use rustc_hash::FxHashMap;

use super::Lowerer;
use crate::ast::{InitKind, InlinedAt, Item, Loc, OperandKind, SectionLine};
use crate::names::Symbol;
use crate::parse::STRINGS;
use crate::pool::Id;

/// Number of a `.file`, line, column.
type Written = (u32, u32, u32);

/// The source lines of a file.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// `.file` numbers, to indices of the output's files.
    files: FxHashMap<u64, u32>,
    paths: FxHashMap<Symbol, u32>,
    /// The bytes of the strings.
    strings: Vec<u8>,
    /// Offsets of the labels in them.
    labels: FxHashMap<Symbol, usize>,
    /// Strings that were requested, by their first byte.
    names: FxHashMap<usize, Arc<str>>,
    /// Entries of the output's table.
    inlined: FxHashMap<(Option<usize>, SourceLine), InlinedId>,
    /// The inlined calls that the places of the function being lowered belong to.
    places: FxHashMap<Written, Option<InlinedId>>,
}

impl Lines {
    /// Forgets the places of a function that was lowered.
    pub(super) fn leave_function(&mut self) {
        self.places.clear();
    }

    /// Returns the first byte of a string, given as a label and an offset from it. It must be the
    /// beginning of a string, so that all names together are no longer than the section.
    fn string_at(&self, label: Symbol, offset: u64) -> Option<usize> {
        let at = self.labels.get(&label)?.checked_add(usize::try_from(offset).ok()?)?;
        let begins = at.checked_sub(1).is_none_or(|before| self.strings.get(before) == Some(&0));
        (begins && at < self.strings.len()).then_some(at)
    }

    fn name(&mut self, at: usize) -> Arc<str> {
        let rest = self.strings.get(at..).unwrap_or_default();
        let name = || {
            let end = rest.iter().position(|&byte| byte == 0).unwrap_or(rest.len());
            String::from_utf8_lossy(&rest[..end]).into()
        };
        Arc::clone(self.names.entry(at).or_insert_with(name))
    }
}

impl Lowerer<'_> {
    /// Reads a `.file`.
    pub(super) fn file(&mut self, index: u64, path: Symbol) {
        let (tree, files) = (self.tree, &mut self.out.files);
        let at = *self.lines.paths.entry(path).or_insert_with(|| {
            files.push(tree.name(path).to_owned());
            files.len() as u32 - 1
        });
        self.lines.files.insert(index, at);
    }

    /// Reads the strings of the debug data.
    pub(super) fn debug_strings(&mut self) {
        let tree = self.tree;
        for item in &tree.items {
            let Item::Section(section) = item else { continue };
            if tree.name(section.name) != STRINGS {
                continue;
            }
            for line in &tree.section_lines[section.lines] {
                match line {
                    SectionLine::Label(label) => {
                        self.lines.labels.insert(label.symbol, self.lines.strings.len());
                    }
                    SectionLine::Data { values, .. } => {
                        let byte = |kind: &InitKind| match kind {
                            InitKind::Value(OperandKind::Integer(i)) => i.bits as u8,
                            _ => 0,
                        };
                        let bytes = tree.inits[*values].iter().map(|v| byte(&v.kind));
                        self.lines.strings.extend(bytes);
                    }
                }
            }
        }
    }

    /// Returns the line of a `.loc`. The `.loc`s of a function must be passed in their order.
    pub(super) fn source_line(&mut self, id: Id<Loc>) -> Option<SourceLine> {
        let loc = &self.tree.locs[id];
        let inlined = loc.inlined.and_then(|at| self.inlined_call(&at));
        self.lines.places.insert((loc.file, loc.line, loc.column), inlined);
        self.written_line((loc.file, loc.line, loc.column), inlined)
    }

    fn written_line(
        &self,
        (file, line, column): Written,
        inlined: Option<InlinedId>,
    ) -> Option<SourceLine> {
        let file = *self.lines.files.get(&u64::from(file))?;
        (line > 0).then_some(SourceLine { file, line, column, inlined })
    }

    fn inlined_call(&mut self, at: &InlinedAt) -> Option<InlinedId> {
        let place = (at.file, at.line, at.column);
        let outer = self.lines.places.get(&place).copied().flatten();
        let call = self.written_line(place, outer)?;
        let string = self.lines.string_at(at.function.symbol, at.offset);
        let key = (string, call.clone());
        if let Some(&known) = self.lines.inlined.get(&key) {
            return Some(known);
        }
        let function = string.map_or_else(|| "".into(), |at| self.lines.name(at));
        let id = InlinedId(u32::try_from(self.out.inlined.len()).ok()?);
        self.out.inlined.push(Inlined { function, call });
        self.lines.inlined.insert(key, id);
        Some(id)
    }
}
