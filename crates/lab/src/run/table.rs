//! Conformance tables whose rows bring their programs: each row is a launch file in one line.
//!
//! The first line names the columns, separated by tabs; one of them is `program`, the text of a
//! program with `;` between its lines, or `file`, its path beside the table. The other columns are
//! values of launch files: `kernel`, `grid`, `block`, `shared`, `args`, `options`, `buffers`, `run`
//! and `expect`. Columns with other names are for people. Any machine runs such tables.

use std::path::{Path, PathBuf};

use inputs::file::{MAX_PROGRAM_BYTES, read_input};
use inputs::launch::LaunchFile;
use isa::{Diagnostics, FileId, SourceMap};
use machines::{ConformCase, Isa, Unmonitored};

use super::job::{Job, Settings};
use super::prepare::{JobParts, load_program, one, wanted};
use super::report::Verdict;

/// Issues after which a program of a row that has no `run` counts as endless.
const LIMIT: u64 = 10_000_000;
/// Columns of a launch.
const OF_LAUNCH: [&str; 5] = ["kernel", "grid", "block", "shared", "args"];
/// Columns of the launch file.
const OF_FILE: [&str; 4] = ["options", "buffers", "run", "expect"];

/// Returns whether a table brings its programs.
#[must_use]
pub fn has_programs(table: &str) -> bool {
    header(table).is_some_and(|columns| columns.iter().any(|c| matches!(*c, "program" | "file")))
}

fn header(table: &str) -> Option<Vec<&str>> {
    let line = table.lines().find(|line| is_row(line))?;
    Some(line.split('\t').map(str::trim).collect())
}

fn is_row(line: &str) -> bool {
    !line.trim().is_empty() && !line.starts_with('#')
}

/// Runs the rows of a table that brings its programs.
#[must_use]
pub fn conform(machine: &'static Isa, path: &Path, table: &str) -> Vec<ConformCase> {
    let Some(columns) = header(table) else { return Vec::new() };
    let rows = table.lines().zip(1u32..).filter(|(line, _)| is_row(line)).skip(1);
    rows.map(|(line, number)| {
        let cells: Vec<&str> = line.split('\t').map(str::trim).collect();
        let row = Row { machine, table: path, columns: &columns, cells };
        let name = row.cell("name").or(row.cells.first().copied()).unwrap_or_default();
        let name = format!("{}: line {number}: {name}", path.display());
        ConformCase { name, failure: row.run().err() }
    })
    .collect()
}

struct Row<'a> {
    machine: &'static Isa,
    table: &'a Path,
    columns: &'a [&'a str],
    cells: Vec<&'a str>,
}

impl<'a> Row<'a> {
    /// A column that is not empty.
    fn cell(&self, name: &str) -> Option<&'a str> {
        let index = self.columns.iter().position(|column| *column == name)?;
        self.cells.get(index).copied().filter(|cell| !cell.is_empty() && *cell != "-")
    }

    /// The launch file that the row stands for.
    fn launch_file(&self) -> String {
        let mut text =
            format!("schema = 1\nmachine = \"{}\"\nmodule = \"row\"\n", self.machine.name);
        for column in OF_FILE {
            if let Some(cell) = self.cell(column) {
                text += &format!("{column} = {cell}\n");
            }
        }
        if self.cell("run").is_none() {
            text += &format!("run = {{ limit = {LIMIT} }}\n");
        }
        text += "[[launch]]\n";
        for column in OF_LAUNCH {
            if let Some(cell) = self.cell(column) {
                text += &format!("{column} = {cell}\n");
            }
        }
        text
    }

    /// The name and the bytes of the program.
    fn program(&self) -> Result<(PathBuf, Vec<u8>), String> {
        let directory = self.table.parent().unwrap_or(Path::new(""));
        match (self.cell("program"), self.cell("file")) {
            (Some(text), None) => Ok((directory.join("row"), text.replace(';', "\n").into())),
            (None, Some(file)) => {
                let path = directory.join(file);
                let bytes = read_input(&path, MAX_PROGRAM_BYTES, None).map_err(|f| f.message)?;
                Ok((path, bytes))
            }
            (Some(_), Some(_)) => Err("the row has a `program` and a `file`: give one".to_owned()),
            (None, None) => Err("the row has neither a `program` nor a `file`".to_owned()),
        }
    }

    /// Runs the row; the error is what is not as it says.
    fn run(&self) -> Result<(), String> {
        let (module, bytes) = self.program()?;
        let file = LaunchFile::parse(&self.launch_file(), FileId::default())
            .map_err(|found| told(&found))?;
        let report = self.report(file, module, &bytes).map_err(|found| told(&found))?;
        match report.verdict() {
            Verdict::Met if report.checks.is_empty() => {
                Err("the row expects nothing: give `expect` as in a launch file".to_owned())
            }
            Verdict::Met => Ok(()),
            _ => Err(told(&report.findings())),
        }
    }

    fn report(
        &self,
        file: LaunchFile,
        module: PathBuf,
        bytes: &[u8],
    ) -> Result<super::Report, Diagnostics> {
        let machine = machines::configured(self.machine, &file.options).map_err(one)?;
        let directory = self.table.parent().unwrap_or(Path::new(""));
        let mut parts = JobParts::from_parsed(file, directory)?;
        (parts.machine, parts.module) = (machine, module);
        let name = parts.module.display().to_string();
        let mut sources = SourceMap::new();
        let (program, _) =
            load_program(machine, &name, bytes, &wanted(&parts.launches), &mut sources)?;
        Job::prepare_loaded(parts, program, &Settings::default())?.run(false, &mut Unmonitored)
    }
}

/// What went wrong, in one line.
fn told(found: &Diagnostics) -> String {
    let line = |finding: &isa::Diagnostic| {
        let notes = finding.notes.iter().chain(&finding.help).map(|note| format!(" ({note})"));
        finding.message.clone() + &notes.collect::<String>().replace('\n', "; ")
    };
    found.iter().map(line).collect::<Vec<_>>().join("; ")
}
