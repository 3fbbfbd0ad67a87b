//! Lines of the source program, with the calls through which a compiler inlined them.

use std::fmt;
use std::sync::Arc;

use ir::module::SourceLine;
use ir::{InlinedId, LocId, Module};
use rustc_hash::FxHashMap;

use crate::names::brief;

/// Inlined calls of a line that are kept, from the innermost on.
const MOST_CALLS: usize = 32;

/// Inlined calls that are shown, and how many of them are the innermost.
const SHOWN_CALLS: usize = 3;
const INNERMOST: usize = 2;

/// A line of the source program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Source {
    /// The file, as the line table names it.
    pub file: Arc<str>,
    /// The line, from 1.
    pub line: u32,
    /// The inlined calls that the line belongs to, from the innermost to the outermost; at most 32.
    pub inlined: Arc<[InlinedCall]>,
}

/// A call whose function was inlined.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct InlinedCall {
    /// The called function, as compilers mangle it; empty if unknown.
    pub function: Arc<str>,
    /// The file of the call.
    pub file: Arc<str>,
    /// The line of the call, from 1.
    pub line: u32,
}

impl Source {
    /// The source line behind a place of a module, if its line table has one.
    #[must_use]
    pub fn of(module: &Module, loc: LocId) -> Option<Self> {
        Sources::new(module).at(loc)
    }
}

/// Returns a file's name as reports show it: of an absolute path the last component, which says
/// what a reader needs and nothing of the host that compiled it.
#[must_use]
pub fn shown_file(name: &str) -> &str {
    let absolute =
        name.starts_with(['/', '\\']) || name.get(1..3).is_some_and(|s| s == ":\\" || s == ":/");
    if absolute { name.rsplit(['/', '\\']).next().unwrap_or(name) } else { name }
}

/// `a.cuh:120`; with inlined calls ``a.cuh:120 in `next(int)`, inlined at k.cu:14``. Of many calls
/// the innermost two and the outermost one are shown.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", shown_file(&self.file), self.line)?;
        let calls = self.inlined.len();
        for (at, InlinedCall { function, file, line }) in self.inlined.iter().enumerate() {
            let hidden = calls.saturating_sub(SHOWN_CALLS);
            if hidden > 1 && (INNERMOST..INNERMOST + hidden).contains(&at) {
                if at == INNERMOST {
                    write!(f, ", through {hidden} calls")?;
                }
                continue;
            }
            if !function.is_empty() {
                write!(f, " in `{}`", brief(function))?;
            }
            write!(f, ", inlined at {}:{line}", shown_file(file))?;
        }
        Ok(())
    }
}

/// Source lines of a module's places, which share what they have in common.
#[derive(Debug)]
pub struct Sources<'m> {
    module: &'m Module,
    files: FxHashMap<u32, Arc<str>>,
    inlined: FxHashMap<Option<InlinedId>, Arc<[InlinedCall]>>,
}

impl<'m> Sources<'m> {
    /// For places of this module.
    #[must_use]
    pub fn new(module: &'m Module) -> Self {
        Self { module, files: FxHashMap::default(), inlined: FxHashMap::default() }
    }

    /// The source line behind a place, if the line table has one.
    pub fn at(&mut self, loc: LocId) -> Option<Source> {
        let line = self.module.loc(loc).line.as_ref()?;
        let file = self.file(line)?;
        let inlined = match self.inlined.get(&line.inlined) {
            Some(known) => Arc::clone(known),
            None => {
                let calls = self.calls(line);
                self.inlined.insert(line.inlined, Arc::clone(&calls));
                calls
            }
        };
        Some(Source { file, line: line.line, inlined })
    }

    fn file(&mut self, line: &SourceLine) -> Option<Arc<str>> {
        let name = self.module.files.get(line.file as usize)?;
        Some(Arc::clone(self.files.entry(line.file).or_insert_with(|| name.as_str().into())))
    }

    fn calls(&mut self, line: &SourceLine) -> Arc<[InlinedCall]> {
        let module = self.module;
        let call = |inlined: &ir::module::Inlined| {
            let (function, line) = (Arc::clone(&inlined.function), inlined.call.line);
            Some(InlinedCall { function, file: self.file(&inlined.call)?, line })
        };
        module.inlined_calls(line).take(MOST_CALLS).filter_map(call).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ir::module::{Inlined, Loc};

    fn line(file: u32, line: u32, inlined: Option<u32>) -> SourceLine {
        SourceLine { file, line, column: 1, inlined: inlined.map(InlinedId) }
    }

    /// A module with one place, a line behind a chain of `calls` inlined calls.
    fn chain(calls: u32) -> Module {
        let mut module = Module::new();
        module.files = vec!["k.cu".to_owned(), "a.cuh".to_owned()];
        for i in 0..calls {
            let call = line(u32::from(i > 0), 10 + i, i.checked_sub(1));
            let function = if i == 0 { "_Z4nexti" } else { "plain" };
            module.inlined.push(Inlined { function: function.into(), call });
        }
        let line = line(1, 120, calls.checked_sub(1));
        module.add_loc(Loc { line: Some(line), ..Loc::default() });
        module
    }

    #[test]
    fn lines_with_and_without_calls() {
        let text = |calls| Source::of(&chain(calls), LocId(1)).unwrap().to_string();
        assert_eq!(text(0), "a.cuh:120");
        assert_eq!(text(1), "a.cuh:120 in `next(int)`, inlined at k.cu:10");
        assert_eq!(
            text(2),
            "a.cuh:120 in `plain`, inlined at a.cuh:11 in `next(int)`, inlined at k.cu:10"
        );
        assert!(text(4).ends_with("a.cuh:11 in `next(int)`, inlined at k.cu:10"));
        assert_eq!(
            text(5),
            "a.cuh:120 in `plain`, inlined at a.cuh:14 in `plain`, inlined at a.cuh:13, through 2 \
             calls in `next(int)`, inlined at k.cu:10"
        );
        assert_eq!(Source::of(&chain(1), LocId(0)), None);
    }

    #[test]
    fn endless_chains_are_cut() {
        let source = Source::of(&chain(1000), LocId(1)).unwrap();
        assert_eq!(source.inlined.len(), MOST_CALLS);
        assert_eq!(source.inlined[0].line, 1009);
    }
}
