//! Lines of assembly, and what the machine's windows, bank and lane prefix stand at.
//!
//! A run is a row of lane-wise instructions behind one `svon.blk`, whose count is written when the
//! run ends. Instructions that RSV does not repeat (CSRs, mask algebra) may stand inside of it.

use rustc_hash::FxHashMap;
use std::fmt::Write;

/// Bytes that a conditional branch reaches in either direction, with a margin.
const REACH: usize = 4000;
/// Most lane-wise instructions behind one prefix.
const MOST_IN_RUN: u32 = 255;

/// Which registers the lanes of an operand have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Window {
    /// The same for all lanes.
    Same,
    /// A row of registers, one for each lane.
    Row,
    /// A row of registers, the last one first.
    Down,
}

/// A line.
#[derive(Clone, Debug)]
enum Line {
    Label(String),
    Comment(String),
    Code(String),
    /// A conditional branch: what it is, the same with the opposite condition, and its target.
    Branch(String, String, String),
}

/// The program's text under construction.
#[derive(Default)]
pub(super) struct Emit {
    lines: Vec<Line>,
    /// The line of the open run's prefix, and its lane-wise instructions so far.
    run: Option<(usize, u32)>,
    a: Option<Window>,
    b: Option<Window>,
    bank: Option<u32>,
    /// Lane-wise instructions.
    pub(super) lane_wise: u64,
    lanes: u32,
    /// Stands before the names of all labels: programs may have several kernels.
    prefix: String,
}

impl Emit {
    pub(super) fn new(lanes: u32, prefix: &str) -> Self {
        Self { lanes, prefix: prefix.to_owned(), ..Self::default() }
    }

    /// The name of a label in the program.
    pub(super) fn name(&self, label: &str) -> String {
        format!("{}.{label}", self.prefix)
    }

    /// The address of a label in a scalar register.
    pub(super) fn address(&mut self, register: u32, label: &str, offset: i64) {
        let name = self.name(label);
        let offset = if offset == 0 { String::new() } else { format!(" + {offset}") };
        self.scalar(format!("la x{register}, {name}{offset}"));
    }

    /// Ends the run.
    pub(super) fn close(&mut self) {
        if let Some((line, count)) = self.run.take() {
            let prefix =
                if count == 1 { "svon.one".to_owned() } else { format!("svon.blk {count}") };
            self.lines[line] = Line::Code(prefix);
        }
    }

    /// A scalar instruction that lanes would repeat: outside of runs.
    pub(super) fn scalar(&mut self, text: impl Into<String>) {
        self.close();
        self.lines.push(Line::Code(text.into()));
    }

    /// An instruction that runs once, in runs too.
    pub(super) fn once(&mut self, text: impl Into<String>) {
        self.lines.push(Line::Code(text.into()));
    }

    pub(super) fn comment(&mut self, text: &str) {
        self.lines.push(Line::Comment(text.to_owned()));
    }

    /// A label; whatever jumps here may have left windows and bank in any state.
    pub(super) fn label(&mut self, name: &str) {
        self.close();
        (self.a, self.b, self.bank) = (None, None, None);
        let name = self.name(name);
        self.lines.push(Line::Label(name));
    }

    /// A conditional branch with its opposite.
    pub(super) fn branch(&mut self, [holds, fails]: [&str; 2], operands: &str, to: &str) {
        self.close();
        let text = |name: &str| format!("{name} {operands}");
        let to = self.name(to);
        self.lines.push(Line::Branch(text(holds), text(fails), to));
    }

    pub(super) fn jump(&mut self, to: &str) {
        let to = self.name(to);
        self.scalar(format!("j {to}"));
    }

    /// A constant in a scalar register.
    pub(super) fn constant(&mut self, register: u32, value: u32) {
        let signed = value.cast_signed();
        if (-2048..2048).contains(&signed) {
            self.scalar(format!("addi x{register}, x0, {signed}"));
            return;
        }
        let upper = value.wrapping_add(0x800) >> 12 & 0xf_ffff;
        let lower = (value & 0xfff).cast_signed();
        let lower = if lower >= 0x800 { lower - 0x1000 } else { lower };
        self.scalar(format!("lui x{register}, {upper:#x}"));
        if lower != 0 {
            self.scalar(format!("addiw x{register}, x{register}, {lower}"));
        }
    }

    /// Uses the lanes of a bank from here on.
    pub(super) fn bank(&mut self, bank: u32) {
        let (set, clear) = match self.bank {
            Some(old) => (bank & !old, old & !bank),
            None => (bank, !bank & 3),
        };
        // In this order: a write of a bank that the machine lacks would leave PBANK.
        if clear != 0 {
            self.once(format!("csrci svstate, {}", clear << 2));
        }
        if set != 0 {
            self.once(format!("csrsi svstate, {}", set << 2));
        }
        self.bank = Some(bank);
    }

    fn window(&mut self, csr: &str, window: Window) {
        match window {
            Window::Same => self.once(format!("csrwi {csr}, 0")),
            Window::Row => self.once(format!("csrw {csr}, x3")),
            Window::Down => {
                let value = 0xff00 | (self.lanes - 1);
                self.constant(4, value);
                self.once(format!("csrw {csr}, x4"));
            }
        }
    }

    /// Sets the windows of the operands that the next lane-wise instruction has.
    pub(super) fn windows(&mut self, a: Option<Window>, b: Option<Window>) {
        if a.is_some() && self.a != a {
            self.window("svsrca", a.unwrap_or(Window::Same));
            self.a = a;
        }
        if b.is_some() && self.b != b {
            self.window("svsrcb", b.unwrap_or(Window::Same));
            self.b = b;
        }
    }

    /// A lane-wise instruction.
    pub(super) fn lane(&mut self, text: String, a: Option<Window>, b: Option<Window>) {
        self.windows(a, b);
        match &mut self.run {
            Some((_, count)) if *count < MOST_IN_RUN => *count += 1,
            _ => {
                self.close();
                self.run = Some((self.lines.len(), 1));
                self.lines.push(Line::Code(String::new()));
            }
        }
        self.lane_wise += 1;
        self.lines.push(Line::Code(text));
    }

    /// Instructions that move masks between banks and registers, or choose a bank.
    pub(super) fn mask_moves(&self) -> u64 {
        let moves = |line: &&Line| match line {
            Line::Code(text) => ["pmlow.", "csrsi svstate", "csrci svstate"]
                .iter()
                .any(|begin| text.starts_with(begin)),
            _ => false,
        };
        self.lines.iter().filter(moves).count() as u64
    }

    /// The text, and how many instructions it has.
    pub(super) fn text(&self) -> (String, usize) {
        let mut far = vec![false; self.lines.len()];
        loop {
            let (places, end) = self.places(&far);
            let mut changed = false;
            for (i, line) in self.lines.iter().enumerate() {
                let Line::Branch(_, _, to) = line else { continue };
                let target = places.labels.get(to.as_str()).copied().unwrap_or(0);
                if !far[i] && places.at[i].abs_diff(target) > REACH {
                    (far[i], changed) = (true, true);
                }
            }
            if !changed {
                return (self.print(&far), end / 4);
            }
        }
    }

    fn places(&self, far: &[bool]) -> (Places<'_>, usize) {
        let mut places = Places { at: Vec::new(), labels: FxHashMap::default() };
        let mut at = 0;
        for (line, &far) in self.lines.iter().zip(far) {
            places.at.push(at);
            match line {
                Line::Label(name) => {
                    places.labels.insert(name, at);
                }
                Line::Comment(_) => {}
                // `la` is two instructions; all others that are written are one.
                Line::Code(text) => at += if text.starts_with("la ") { 8 } else { 4 },
                Line::Branch(..) => at += if far { 8 } else { 4 },
            }
        }
        (places, at)
    }

    fn print(&self, far: &[bool]) -> String {
        let mut out = String::new();
        for (i, (line, &far)) in self.lines.iter().zip(far).enumerate() {
            // Writing to a string cannot fail.
            let _ = match line {
                Line::Label(name) => writeln!(out, "{name}:"),
                Line::Comment(text) => writeln!(out, "    # {text}"),
                Line::Code(text) => writeln!(out, "    {text}"),
                Line::Branch(holds, _, to) if !far => writeln!(out, "    {holds}{to}"),
                // Over a jump that reaches further.
                Line::Branch(_, fails, to) => {
                    writeln!(out, "    {fails}{0}.f{i}\n    j {to}\n{0}.f{i}:", self.prefix)
                }
            };
        }
        out
    }
}

/// Byte offsets of lines and labels.
struct Places<'a> {
    at: Vec<usize>,
    labels: FxHashMap<&'a str, usize>,
}
