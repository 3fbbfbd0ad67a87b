//! What a job took on a machine.

use ::machines::{Image, Isa, LaunchResult};
use inputs::file::MAX_PROGRAM_BYTES;
use ir::{LocId, Module};
use lab::run::Job;
use lab::stats::RunStats;
use lower::Lowered;
use simt::slots::{LaneSlots, SlotCause};
use std::collections::BTreeMap;

use super::Equality;
use crate::source_texts::{last_component, read_text};

/// Figures of a machine. Static ones are sums over distinct programs.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// Instructions of the programs.
    pub instructions: u64,
    /// Bytes of their code; `None` if the machine has no encoding.
    pub code_bytes: Option<u64>,
    /// Masks or predicates that a program has, at most; `None` if it has none.
    pub masks: Option<u64>,
    /// Values, masks or predicates that live in memory for want of registers.
    pub spills: Option<u64>,
    /// Lane slots of all launches.
    pub slots: LaneSlots,
    /// Lanes of a group.
    pub width: u64,
    /// Whether the results are equal.
    pub equality: Equality,
    /// All that the lowering counts, by name.
    pub lowering: Vec<(String, u64)>,
    /// Instructions by line of the source, in the order of lines; empty if it is not known.
    pub lines: Vec<LineCost>,
}

/// Instructions of a program that stand for a line of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineCost {
    /// File and line.
    pub line: String,
    /// Instructions.
    pub instructions: u64,
}

/// Names of figures of lowerings that are masks or predicates.
const MASKS: [&str; 4] = ["masks", "saved masks", "predicate registers", "predicates"];
/// Names of those that are spills.
const SPILLS: [&str; 5] =
    ["values in the frame", "frame slots of a lane", "predicates spilled", "spills", "spilled"];

impl Figures {
    /// The figures of the job's own machine.
    pub(super) fn own(source: &Source<'_>, kernels: &[String], stats: &RunStats) -> Self {
        let module = source.module;
        let total = stats.total();
        let mut lines: BTreeMap<String, u64> = BTreeMap::new();
        let mut instructions = 0;
        let functions = kernels.iter().filter_map(|name| module.function(name));
        for id in functions {
            for block in &module.functions[id.index()].blocks {
                let end = block.term.issues().then_some(block.term.loc);
                for loc in block.insts.iter().map(|inst| inst.loc).chain(end) {
                    instructions += 1;
                    if let Some(line) = source.line(loc) {
                        *lines.entry(line).or_default() += 1;
                    }
                }
            }
        }
        let masks = total.code.as_ref().map(|code| code.pass.saved_masks);
        Self {
            instructions,
            code_bytes: None,
            masks,
            spills: None,
            slots: total.counts.slots,
            width: stats.warp_size,
            equality: Equality::Reference,
            lowering: Vec::new(),
            lines: costs(lines),
        }
    }

    /// Those of programs that a lowering has made.
    pub(super) fn lowered(
        programs: &[Lowered],
        launches: &[LaunchResult],
        machine: &Isa,
        equality: Equality,
    ) -> Self {
        let mut distinct: Vec<&Lowered> = Vec::new();
        for program in programs {
            if !distinct.iter().any(|other| other.text == program.text) {
                distinct.push(program);
            }
        }
        let mut slots = LaneSlots::default();
        launches.iter().for_each(|launch| slots.add(&launch.stats.counts.slots));
        let mut lowering: Vec<(String, u64)> = Vec::new();
        let mut lines = BTreeMap::new();
        for program in &distinct {
            by_line(&program.text, &mut lines);
            for (name, figure) in &program.figures {
                match lowering.iter_mut().find(|(known, _)| known == name) {
                    Some((_, sum)) => *sum += figure,
                    None => lowering.push(((*name).to_owned(), *figure)),
                }
            }
        }
        let greatest = |names: &[&str]| {
            let has = |name: &&&str| lowering.iter().any(|(known, _)| known == **name);
            let name = names.iter().find(has)?;
            distinct.iter().map(|program| program.figure(name)).max()
        };
        let sum = |name: &str| lowering.iter().find(|l| l.0 == name).map(|l| l.1);
        let assembled = |program: &&Lowered| {
            let file = isa::FileId::default();
            let image = Image { bytes: program.text.as_bytes(), file };
            machine.assemble(image).map_or(0, |bytes| bytes.len() as u64)
        };
        let lowering_of = |name: &str| distinct.first().map(|p| p.figure(name)).filter(|&n| n > 0);
        let code_bytes = sum("code bytes").unwrap_or_else(|| distinct.iter().map(assembled).sum());
        Self {
            instructions: sum("instructions").unwrap_or(0),
            code_bytes: Some(code_bytes),
            masks: greatest(&MASKS),
            spills: greatest(&SPILLS),
            slots,
            width: lowering_of("lanes of a warp").unwrap_or(machine.default_warp_size),
            equality,
            lowering,
            lines: costs(lines),
        }
    }

    /// All lanes of all lane-wise issues.
    #[must_use]
    pub fn lane_slots(&self) -> u64 {
        self.slots.width
    }

    /// The lanes of them that executed.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.slots.of(SlotCause::On)
    }
}

fn costs(lines: BTreeMap<String, u64>) -> Vec<LineCost> {
    let mut list: Vec<LineCost> =
        lines.into_iter().map(|(line, instructions)| LineCost { line, instructions }).collect();
    // By file, then by number.
    list.sort_by_key(|cost| {
        let (file, line) = cost.line.rsplit_once(':').unwrap_or((&cost.line, "0"));
        (file.to_owned(), line.parse::<u32>().unwrap_or(0))
    });
    list
}

/// Counts the instructions behind each comment that names a line of the source.
fn by_line(text: &str, lines: &mut BTreeMap<String, u64>) {
    let mut current: Option<String> = None;
    for line in text.lines().map(str::trim) {
        if let Some(comment) = line.strip_prefix("# ") {
            let named = comment
                .rsplit_once(':')
                .is_some_and(|(file, number)| !file.contains(' ') && number.parse::<u32>().is_ok());
            if named {
                current = Some(comment.to_owned());
            }
            continue;
        }
        let instruction = !line.is_empty() && !line.contains(':') && !line.starts_with('.');
        if instruction && let Some(current) = &current {
            *lines.entry(current.clone()).or_default() += 1;
        }
    }
}

/// The lines of a kernel's source: those of the line table, else those of the program's text.
pub(super) struct Source<'a> {
    pub(super) module: &'a Module,
    /// The program's file without its folder, as it stands in the figures.
    name: String,
    /// Where the lines of its text begin.
    starts: Vec<usize>,
}

impl<'a> Source<'a> {
    /// Reads the program of a job.
    pub(super) fn new(job: &Job, module: &'a Module) -> Self {
        let text = read_text(job.module_path(), MAX_PROGRAM_BYTES).unwrap_or_default();
        let ends = text.match_indices('\n').map(|(at, _)| at + 1);
        let starts = std::iter::once(0).chain(ends).collect();
        let name = last_component(job.module_name()).replace(' ', "_");
        Self { module, name, starts }
    }

    /// Returns file and line at a place, by the line table; the text's if there is none.
    pub(super) fn line(&self, loc: LocId) -> Option<String> {
        let in_text = || self.program_line(loc).map(|line| format!("{}:{line}", self.name));
        self.table_line(loc).or_else(in_text)
    }

    /// Returns file and line at a place, by the line table.
    pub(super) fn table_line(&self, loc: LocId) -> Option<String> {
        let line = self.module.loc(loc).line.as_ref()?;
        let file = self.module.files.get(line.file as usize).map_or("", String::as_str);
        let file = last_component(file);
        Some(format!("{}:{}", file.replace(' ', "_"), line.line))
    }

    /// Returns the line of the program's text at a place, from 1.
    pub(super) fn program_line(&self, loc: LocId) -> Option<u32> {
        let start = self.module.loc(loc).span.start as usize;
        let before = self.starts.partition_point(|&at| at <= start);
        (loc != LocId(0)).then(|| u32::try_from(before).ok()).flatten()
    }
}
