//! What is shown of a session.

use std::path::Path;

use debug::{Instruction, Look, Session, What};
use simt::Pc;

/// Longest source file that is shown.
const MOST_SOURCE: u64 = 16 << 20;
/// Lines of the program that are kept around the present one.
const AROUND: i64 = 200;

/// What is shown beside the program, below the lanes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Pane {
    #[default]
    Registers,
    Mechanism,
    Barriers,
    Shared,
    Variables,
    Breakpoints,
    Branches,
}

impl Pane {
    const ALL: [(Self, &'static str); 7] = [
        (Self::Registers, "registers"),
        (Self::Mechanism, "mechanism"),
        (Self::Barriers, "barriers"),
        (Self::Shared, "shared"),
        (Self::Variables, "variables"),
        (Self::Breakpoints, "breakpoints"),
        (Self::Branches, "branches"),
    ];

    pub(crate) fn next(self) -> Self {
        let index = Self::ALL.iter().position(|(pane, _)| *pane == self).unwrap_or(0);
        Self::ALL[(index + 1) % Self::ALL.len()].0
    }

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(pane, _)| *pane == self).map_or("", |(_, name)| name)
    }
}

/// A line of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProgramLine {
    /// Its number or address.
    pub(crate) number: String,
    pub(crate) text: String,
    /// Whether it is the present one.
    pub(crate) here: bool,
    /// Whether a breakpoint stands there.
    pub(crate) stops: bool,
}

/// All that is shown.
#[derive(Clone, Debug, Default)]
pub(crate) struct View {
    pub(crate) title: String,
    pub(crate) program: String,
    pub(crate) lines: Vec<ProgramLine>,
    /// Index of the line in the middle.
    pub(crate) middle: usize,
    pub(crate) lanes: Vec<String>,
    pub(crate) pane: &'static str,
    pub(crate) rows: Vec<String>,
    pub(crate) answers: Vec<String>,
    pub(crate) scrolled: usize,
    pub(crate) input: String,
    pub(crate) runs: bool,
}

impl View {
    /// What a session shows now.
    pub(crate) fn new(
        session: &mut Session<'_>,
        pane: Pane,
        (source, path): (bool, &Path),
        moved: i64,
    ) -> Self {
        let lanes = session.command("info lanes").text;
        let rows = match pane {
            Pane::Registers => registers(session),
            other => {
                let text = session.command(&format!("info {}", other.name())).text;
                text.lines().map(str::to_owned).collect()
            }
        };
        let (program, lines, here) = program(session, (source, path));
        let last = lines.len().saturating_sub(1);
        let middle = usize::try_from((here as i64 + moved).max(0)).unwrap_or(0).min(last);
        Self {
            title: title(session),
            program,
            lines,
            middle,
            lanes: lanes.lines().map(str::to_owned).collect(),
            pane: pane.name(),
            rows,
            ..Self::default()
        }
    }
}

/// The kernel, the position and the lane in focus.
fn title(session: &Session<'_>) -> String {
    let (look, at) = (session.look(), session.focus());
    let end = look.end().map_or(String::new(), |end| format!(", {}", end.code));
    let (kernel, mechanism) = (places::shown(look.kernel()), look.mechanism_name());
    let (block, warp, lane) = (at.group.cta, at.group.group, at.lane);
    let position = look.position();
    format!(
        "{kernel} under {mechanism} | issue {position}{end} | block {block} warp {warp} lane {lane}"
    )
}

/// The registers of the frame in focus: those that the next instruction uses come first.
fn registers(session: &mut Session<'_>) -> Vec<String> {
    let used = session.place().and_then(|pc| session.look().effects(pc));
    let used: Vec<u32> = used.map(|e| [e.writes, e.reads].concat()).unwrap_or_default();
    let names = session.registers();
    let named = |index: &u32| {
        let register = names.iter().find(|register| register.index == *index)?;
        Some(register.name.to_string())
    };
    let mut first: Vec<String> = used.iter().filter_map(named).collect();
    first.dedup();
    let text = session.command("info registers").text;
    let (mut rows, mut rest) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let name = line.split_whitespace().next().unwrap_or("");
        match first.iter().any(|used| used == name) {
            true => rows.push(format!("*{line}")),
            false => rest.push(format!(" {line}")),
        }
    }
    rows.append(&mut rest);
    rows
}

type Program = (String, Vec<ProgramLine>, usize);

/// The lines around the present one, and its index: of the source, the program or its instructions.
fn program(session: &Session<'_>, (source, path): (bool, &Path)) -> Program {
    let look = session.look();
    let pc = session.place().map(|pc| match session.focus().frame {
        0 => pc,
        // Calls return behind themselves.
        _ => Pc(pc.0.saturating_sub(1)),
    });
    let here = pc.and_then(|pc| look.code().at(pc));
    let stops: Vec<Pc> = session
        .debugger()
        .points()
        .iter()
        .filter(|point| point.enabled)
        .filter_map(|point| match &point.what {
            What::Place { places } => Some(places),
            _ => None,
        })
        .flatten()
        .copied()
        .collect();
    let source = here.filter(|_| source).and_then(|here| from_source(look, (here, path), &stops));
    source
        .or_else(|| from_text(look, (here, path), &stops))
        .unwrap_or_else(|| from_code(look, pc, &stops))
}

fn numbered(text: &str, here: Option<u32>, stops: &[u32]) -> (Vec<ProgramLine>, usize) {
    let line = |(number, text): (u32, &str)| ProgramLine {
        number: number.to_string(),
        text: text.replace('\t', "    "),
        here: here == Some(number),
        stops: stops.contains(&number),
    };
    let lines = (1..).zip(text.lines()).map(line).collect();
    (lines, here.map_or(0, |line| line.saturating_sub(1) as usize))
}

/// The source file, if it can be read here.
fn from_source(
    look: &dyn Look,
    (here, program): (&Instruction, &Path),
    stops: &[Pc],
) -> Option<Program> {
    let source = here.source.as_ref()?;
    // An absolute path replaces the folder.
    let path = program.parent()?.join(&*source.file);
    let file = path.metadata().ok().filter(|data| data.is_file() && data.len() <= MOST_SOURCE);
    let text = file.and_then(|_| std::fs::read_to_string(&path).ok())?;
    let stop = |pc: &Pc| {
        let other = look.code().at(*pc)?.source.as_ref()?;
        (other.file == source.file).then_some(other.line)
    };
    let stops: Vec<u32> = stops.iter().filter_map(stop).collect();
    let (lines, index) = numbered(&text, Some(source.line), &stops);
    Some((source.file.to_string(), lines, index))
}

/// The program's text.
fn from_text(
    look: &dyn Look,
    (here, path): (Option<&Instruction>, &Path),
    stops: &[Pc],
) -> Option<Program> {
    let code = look.code();
    if code.text.is_empty() {
        return None;
    }
    let stops: Vec<u32> = stops.iter().filter_map(|pc| code.at(*pc)?.line).collect();
    let (lines, index) = numbered(&code.text, here.and_then(|here| here.line), &stops);
    let note = here.and_then(|here| here.source.as_ref());
    let note = note.map_or(String::new(), |source| format!(" ({source})"));
    let name = path.file_name().map_or("program".into(), |name| name.to_string_lossy());
    Some((format!("{name}{note}"), lines, index))
}

/// The instructions around a place.
fn from_code(look: &dyn Look, pc: Option<Pc>, stops: &[Pc]) -> Program {
    let all = look.code().instructions();
    let index = pc.and_then(|pc| look.code().index(pc)).unwrap_or(0);
    let first = (index as i64 - AROUND).max(0) as usize;
    let line = |instruction: &Instruction| ProgramLine {
        number: format!("{:#x}", instruction.pc.0),
        text: instruction.text.to_string(),
        here: Some(instruction.pc) == pc,
        stops: stops.contains(&instruction.pc),
    };
    let lines = all.iter().skip(first).take(2 * AROUND as usize).map(line).collect();
    ("instructions".to_owned(), lines, index - first)
}
