//! What a screen shows of a session at once, and its text form, which goes to screens of other
//! processes.

use std::path::Path;

use simt::Pc;

use crate::code::Instruction;
use crate::session::Session;
use crate::session::breakpoint::What;
use crate::target::Look;

/// Longest source file that is shown.
const MOST_SOURCE: u64 = 16 << 20;
/// Lines of the program that are kept around the present one.
const AROUND: usize = 200;

/// What is shown beside the program, below the lanes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pane {
    /// Registers of the frame in focus.
    #[default]
    Registers,
    /// The state of the mechanism.
    Mechanism,
    /// Barriers with arrivals.
    Barriers,
    /// Shared memory by banks.
    Shared,
    /// Variables of the program.
    Variables,
    /// Breakpoints, watches and catches.
    Breakpoints,
    /// Branches of the recording.
    Branches,
}

/// What is wanted to be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// What stands below the lanes.
    pub pane: Pane,
    /// Whether source lines are shown, where the program has them.
    pub source: bool,
    /// Lines by which the program is scrolled from the present one.
    pub moved: i64,
}

impl Wanted {
    /// The text form, without spaces around it.
    #[must_use]
    pub fn encode(&self) -> String {
        format!("{} {} {}", self.pane.name(), u8::from(self.source), self.moved)
    }

    /// Reads the text form.
    #[must_use]
    pub fn decode(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let pane = words.next()?;
        let pane = Pane::ALL.iter().find(|(_, name)| *name == pane)?.0;
        let source = words.next()? == "1";
        Some(Self { pane, source, moved: words.next()?.parse().ok()? })
    }
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

    /// The next one in a circle.
    #[must_use]
    pub fn next(self) -> Self {
        let index = Self::ALL.iter().position(|(pane, _)| *pane == self).unwrap_or(0);
        Self::ALL[(index + 1) % Self::ALL.len()].0
    }

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(pane, _)| *pane == self).map_or("", |(_, name)| name)
    }
}

/// A line of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramLine {
    /// Its number or address.
    pub number: String,
    /// Its text.
    pub text: String,
    /// Whether it is the present one.
    pub here: bool,
    /// Whether a breakpoint stands there.
    pub stops: bool,
}

/// All that is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// The kernel, the position and the lane in focus.
    pub title: String,
    /// The name of the text whose lines are shown.
    pub program: String,
    /// Its lines around the one in the middle.
    pub lines: Vec<ProgramLine>,
    /// Index of the line in the middle.
    pub middle: usize,
    /// The lanes of the resident warps as a grid.
    pub lanes: Vec<String>,
    /// The living lanes of the warp in focus before and behind that lane, in a circle.
    pub neighbours: [Option<u32>; 2],
    /// What stands below the lanes.
    pub pane: String,
    /// Its rows.
    pub rows: Vec<String>,
}

impl View {
    /// What a session shows now. Source files are looked for beside the program.
    #[must_use]
    pub fn new(session: &mut Session<'_>, wanted: &Wanted, path: &Path) -> Self {
        let &Wanted { pane, source, moved } = wanted;
        let lanes = session.command("info lanes").text;
        let rows = match pane {
            Pane::Registers => registers(session),
            other => {
                let text = session.command(&format!("info {}", other.name())).text;
                text.lines().map(str::to_owned).collect()
            }
        };
        let (program, mut lines, here) = program(session, (source, path));
        let last = lines.len().saturating_sub(1);
        let moved = (here as i64).saturating_add(moved).max(0);
        let middle = usize::try_from(moved).unwrap_or(0).min(last);
        let first = middle.saturating_sub(AROUND);
        lines.drain(..first);
        lines.truncate(2 * AROUND);
        Self {
            title: title(session),
            program,
            lines,
            middle: middle - first,
            lanes: lanes.lines().map(str::to_owned).collect(),
            neighbours: [false, true].map(|next| neighbour(session, next)),
            pane: pane.name().to_owned(),
            rows,
        }
    }

    /// The text form: a line for each field, and before lists how long they are.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut out = String::new();
        let [last, next] = self.neighbours.map(|lane| lane.map_or(-1, i64::from));
        let mut put = |text: &str| {
            out.extend(text.chars().map(|c| if c.is_control() && c != '\t' { ' ' } else { c }));
            out.push('\n');
        };
        put(&self.title);
        put(&self.program);
        put(&self.pane);
        put(&format!("{} {last} {next} {}", self.middle, self.lines.len()));
        for line in &self.lines {
            let signs = u8::from(line.here) | u8::from(line.stops) << 1;
            put(&format!("{signs} {} {}", line.number, line.text));
        }
        for list in [&self.lanes, &self.rows] {
            put(&list.len().to_string());
            list.iter().for_each(|line| put(line));
        }
        out
    }

    /// Reads the text form.
    #[must_use]
    pub fn decode(text: &str) -> Option<Self> {
        let mut all = text.lines();
        let mut field = || all.next().map(str::to_owned);
        let (title, program, pane) = (field()?, field()?, field()?);
        let numbers = field()?;
        let mut numbers = numbers.split(' ').map(|word| word.parse::<i64>().ok());
        let mut number = || numbers.next().flatten();
        let middle = usize::try_from(number()?).ok()?;
        let neighbours = [number()?, number()?].map(|lane| u32::try_from(lane).ok());
        let count = usize::try_from(number()?).ok()?;
        let mut lines = Vec::new();
        for _ in 0..count {
            let line = field()?;
            let mut parts = line.splitn(3, ' ');
            let signs: u8 = parts.next()?.parse().ok()?;
            let (number, text) = (parts.next()?.to_owned(), parts.next()?.to_owned());
            lines.push(ProgramLine { number, text, here: signs & 1 != 0, stops: signs & 2 != 0 });
        }
        let mut list = || {
            let count: usize = field()?.parse().ok()?;
            (0..count).map(|_| field()).collect::<Option<Vec<String>>>()
        };
        let (lanes, rows) = (list()?, list()?);
        Some(Self { title, program, lines, middle, lanes, neighbours, pane, rows })
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

/// The next or last lane of the warp in focus that lives, if the warp is there.
fn neighbour(session: &Session<'_>, next: bool) -> Option<u32> {
    let at = session.focus();
    let group = session.look().group(at.group)?;
    let alive: Vec<u32> = (group.launched - group.exited).iter().map(|lane| lane as u32).collect();
    match next {
        true => alive.iter().find(|&&other| other > at.lane).or(alive.first()).copied(),
        false => alive.iter().rev().find(|&&other| other < at.lane).or(alive.last()).copied(),
    }
}

/// The registers of the frame in focus: those that the next instruction uses come first.
fn registers(session: &mut Session<'_>) -> Vec<String> {
    let used = session.place().and_then(|pc| session.look().effects(pc, session.focus().lane));
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
        _ => look.code().before(pc),
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
    let first = index.saturating_sub(2 * AROUND);
    let line = |instruction: &Instruction| ProgramLine {
        number: format!("{:#x}", instruction.pc.0),
        text: instruction.text.to_string(),
        here: Some(instruction.pc) == pc,
        stops: stops.contains(&instruction.pc),
    };
    let lines = all.iter().skip(first).take(4 * AROUND).map(line).collect();
    ("instructions".to_owned(), lines, index - first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_form_keeps_all() {
        let line = |number: &str, text: &str, here| ProgramLine {
            number: number.to_owned(),
            text: text.to_owned(),
            here,
            stops: !here,
        };
        let view = View {
            title: "k under ipdom".to_owned(),
            program: "a b.ptx".to_owned(),
            lines: vec![line("1", "", false), line("0x10", "  add.u32 %r, %r, 1;", true)],
            middle: 1,
            lanes: vec!["* warp 0   ##".to_owned(), String::new()],
            neighbours: [None, Some(31)],
            pane: "registers".to_owned(),
            rows: vec!["*%r 1".to_owned()],
        };
        let text = view.encode();
        assert_eq!(View::decode(&text), Some(view.clone()));
        // Whatever is missing at the end is noticed.
        for end in text.match_indices('\n').map(|(at, _)| at).filter(|at| at + 1 < text.len()) {
            assert_eq!(View::decode(&text[..end]), None, "{end}");
        }
        assert_eq!(View::decode(&text.replacen("1 -1 31 2", "1 -1 31 99999999999", 1)), None);
        // No text can end the message.
        let odd = View { title: "a\u{5}\nb".to_owned(), ..view };
        assert_eq!(View::decode(&odd.encode()).map(|view| view.title), Some("a  b".to_owned()));
        let wanted = Wanted { pane: Pane::Shared, source: true, moved: -20 };
        assert_eq!(Wanted::decode(&wanted.encode()), Some(wanted));
        assert_eq!(Wanted::decode("stack 1 0"), None);
    }
}
