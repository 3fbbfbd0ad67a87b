//! Code as users know it: instructions with their text, lines and functions.

use std::collections::BTreeMap;
use std::sync::Arc;

use places::Source;
use simt::Pc;

use crate::variables::Variable;

/// An instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// Its place.
    pub pc: Pc,
    /// Its text on one line.
    pub text: Arc<str>,
    /// Its line in the program's text, from 1.
    pub line: Option<u32>,
    /// Its line in the source, if the program has a line table.
    pub source: Option<Source>,
}

/// A function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Its first place.
    pub entry: Pc,
    /// The place behind its last instruction.
    pub end: Pc,
}

/// A parameter of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its offset in the parameter block.
    pub offset: u64,
    /// Its length in bytes.
    pub bytes: u64,
}

/// A line: of the source, if the program has a line table, else of the program's text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LineKey {
    /// The source file; `None` for the program's text.
    pub file: Option<Arc<str>>,
    /// The line, from 1.
    pub line: u32,
}

/// The code of a launch.
#[derive(Clone, Debug, Default)]
pub struct Code {
    /// The name of the program's file.
    pub name: String,
    /// The program's text; empty for a binary.
    pub text: Arc<str>,
    /// The kernel's parameters.
    pub parameters: Vec<Parameter>,
    /// Labels with their places.
    pub labels: Vec<(String, Pc)>,
    /// Variables of the source, if the program has debug information; outer scopes first.
    pub variables: Vec<Variable>,
    instructions: Vec<Instruction>,
    functions: Vec<Function>,
}

/// Where a breakpoint on a line lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinePlaces {
    /// The line that was found: the one asked for, or the next with code.
    pub line: u32,
    /// The first instructions of its runs.
    pub places: Vec<Pc>,
}

impl Code {
    /// Takes instructions and functions in any order.
    #[must_use]
    pub fn new(
        name: impl Into<String>,
        text: impl Into<Arc<str>>,
        mut instructions: Vec<Instruction>,
        mut functions: Vec<Function>,
    ) -> Self {
        instructions.sort_by_key(|i| i.pc);
        functions.sort_by_key(|f| f.entry);
        let (name, text) = (name.into(), text.into());
        let (parameters, labels, variables) = Default::default();
        Self { name, text, parameters, labels, variables, instructions, functions }
    }

    /// Returns all instructions in order of their places.
    #[must_use]
    pub fn instructions(&self) -> &[Instruction] {
        &self.instructions
    }

    /// Returns the functions in order of their entries.
    #[must_use]
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }

    /// Returns the index of the instruction at a place.
    #[must_use]
    pub fn index(&self, pc: Pc) -> Option<usize> {
        self.instructions.binary_search_by_key(&pc, |i| i.pc).ok()
    }

    /// Returns the instruction at a place.
    #[must_use]
    pub fn at(&self, pc: Pc) -> Option<&Instruction> {
        self.instructions.get(self.index(pc)?)
    }

    /// Returns the place of the last instruction before a place, or the place before it where no
    /// instructions are known.
    #[must_use]
    pub fn before(&self, pc: Pc) -> Pc {
        let after = self.instructions.partition_point(|instruction| instruction.pc < pc);
        let last = after.checked_sub(1).map(|index| self.instructions[index].pc);
        last.unwrap_or(Pc(pc.0.saturating_sub(1)))
    }

    /// Returns the function that contains a place.
    #[must_use]
    pub fn function(&self, pc: Pc) -> Option<&Function> {
        let after = self.functions.partition_point(|f| f.entry <= pc);
        let function = self.functions.get(after.checked_sub(1)?)?;
        (pc < function.end).then_some(function)
    }

    /// Returns the line of a place.
    #[must_use]
    pub fn line(&self, pc: Pc) -> Option<LineKey> {
        let instruction = self.at(pc)?;
        match &instruction.source {
            Some(source) => {
                Some(LineKey { file: Some(Arc::clone(&source.file)), line: source.line })
            }
            None => instruction.line.map(|line| LineKey { file: None, line }),
        }
    }

    /// Returns a line of the program's text, from 1.
    #[must_use]
    pub fn text_line(&self, line: u32) -> Option<&str> {
        self.text.lines().nth((line as usize).checked_sub(1)?)
    }

    /// Describes a place: line, source line, or address.
    #[must_use]
    pub fn describe(&self, pc: Pc) -> String {
        match self.at(pc) {
            Some(Instruction { line: Some(line), source: Some(source), .. }) => {
                format!("line {line} ({}:{})", source.file, source.line)
            }
            Some(Instruction { line: Some(line), .. }) => format!("line {line}"),
            _ => format!("{:#x}", pc.0),
        }
    }

    /// Finds the instructions of a line of the program's text, or of the next line that has some.
    #[must_use]
    pub fn find_line(&self, line: u32) -> Option<LinePlaces> {
        self.find(line, |i| i.line)
    }

    /// Finds the instructions of a line of a source file whose path ends with `file`, or of the
    /// next line that has some.
    #[must_use]
    pub fn find_source(&self, file: &str, line: u32) -> Option<LinePlaces> {
        self.find(line, |i| {
            let source = i.source.as_ref()?;
            ends_with(&source.file, file).then_some(source.line)
        })
    }

    fn find(&self, line: u32, of: impl Fn(&Instruction) -> Option<u32>) -> Option<LinePlaces> {
        let found = self.instructions.iter().filter_map(&of).filter(|&l| l >= line).min()?;
        let mut places = Vec::new();
        let mut before = None;
        for instruction in &self.instructions {
            let here = of(instruction);
            if here == Some(found) && before != here {
                places.push(instruction.pc);
            }
            before = here;
        }
        Some(LinePlaces { line: found, places })
    }

    /// Returns the source files, each once.
    #[must_use]
    pub fn source_files(&self) -> Vec<Arc<str>> {
        let files = self.instructions.iter().filter_map(|i| i.source.as_ref());
        let files: BTreeMap<&str, &Arc<str>> = files.map(|s| (&*s.file, &s.file)).collect();
        files.into_values().cloned().collect()
    }

    /// Finds a function by its name, as written or demangled, up to its arguments.
    #[must_use]
    pub fn find_function(&self, name: &str) -> Option<&Function> {
        let exact = self.functions.iter().find(|f| f.name == name);
        exact.or_else(|| {
            self.functions.iter().find(|f| {
                let shown = places::shown(&f.name).to_string();
                shown == name || shown.split('(').next() == Some(name)
            })
        })
    }
}

/// Whether a path ends with another one, component by component.
fn ends_with(path: &str, end: &str) -> bool {
    std::path::Path::new(path).ends_with(end)
}
