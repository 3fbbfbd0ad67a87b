//! A case: its text and what its directives say.

use std::path::{Path, PathBuf};

use inputs::launch::{
    Expectation, Expected, ExpectedBuffer, ExpectedContents, ExpectedTrap, Located, MachineOption,
    OptionValue,
};
use inputs::tolerance::Tolerance;
use isa::{Diagnostic, FileId, Span};
use lab::run::RunWords;

use crate::directive::{Directive, at, directives, marker, words};
use crate::runner::Observed;
use crate::stages::What;

/// The file under test is the first one in every source map.
pub(crate) const FILE: FileId = FileId(0);

/// Statistics expected under one mechanism at one warp size.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StatsLine {
    pub(crate) mechanism: String,
    pub(crate) warp_size: u64,
    /// Names with the values as written.
    pub(crate) values: Vec<(String, String)>,
}

/// How a case is expected to fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The exit code of the command line.
    pub(crate) code: u8,
    /// Exactly what is told.
    pub(crate) text: Vec<String>,
}

/// A finding of a check: its kind, its line, and the line of the other access or place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ExpectedFinding {
    pub(crate) kind: String,
    pub(crate) line: u32,
    pub(crate) with: Option<u32>,
}

/// A stage of the compiled tier: what is done to the program, and the text that comes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stage {
    pub(crate) what: What,
    /// The kernel of a program that has several.
    pub(crate) kernel: Option<String>,
    /// Threads of a block.
    pub(crate) block: [u32; 3],
    pub(crate) text: Vec<String>,
}

/// A session of the debugger: commands behind prompts, and what it answers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DebugSession {
    /// The mechanism, if not the case's first one.
    pub(crate) mechanism: Option<Located<String>>,
    /// The warp size, likewise.
    pub(crate) warp_size: Option<Located<u64>>,
    /// Where the launch is first shown.
    pub(crate) at: Option<String>,
    pub(crate) text: Vec<String>,
}

/// A case.
#[derive(Clone, Debug)]
pub struct TestFile {
    pub(crate) path: PathBuf,
    /// The text as it stands in the file.
    pub(crate) text: String,
    pub(crate) marker: &'static str,
    pub(crate) machine: Option<Located<String>>,
    /// Whether it is only checked.
    pub(crate) check: bool,
    /// One launch each.
    pub(crate) runs: Vec<RunWords>,
    pub(crate) mechanisms: Option<Vec<Located<String>>>,
    pub(crate) warp_sizes: Option<Vec<Located<u64>>>,
    pub(crate) expectations: Vec<Expectation>,
    /// Names of the statistics that the case pins.
    pub(crate) statistics: Vec<String>,
    pub(crate) stats_lines: Vec<StatsLine>,
    pub(crate) failure: Option<Failure>,
    /// What checks find, or the exploration of schedules; `None` if they are not run.
    pub(crate) findings: Option<Vec<ExpectedFinding>>,
    /// Which schedules are explored, in place of runs of the matrix; `None` if none are.
    pub(crate) explore: Option<ExploreWords>,
    /// Stages of the compiled tier whose texts the case pins.
    pub(crate) stages: Vec<Stage>,
    /// Sessions of the debugger.
    pub(crate) debug: Vec<DebugSession>,
    /// Why buffers may differ between mechanisms and warp sizes.
    pub(crate) may_differ: Option<String>,
    /// The machine's own options.
    pub(crate) options: Vec<MachineOption>,
    /// Text that is added to the program: how often, and what.
    pub(crate) append: Vec<(u64, String)>,
    pub(crate) directives: Vec<Directive>,
}

impl TestFile {
    /// Reads a case.
    ///
    /// # Errors
    /// If the file cannot be read or a directive is wrong.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        Self::parse(path, text)
    }

    /// Reads a case from its text.
    ///
    /// # Errors
    /// If a directive is wrong.
    pub fn parse(path: &Path, text: String) -> Result<Self, String> {
        let marker =
            path.extension().and_then(marker).ok_or("the extension is not one of a case")?;
        let directives = directives(&text, marker)?;
        let mut file = Self {
            path: path.to_owned(),
            text,
            marker,
            machine: None,
            check: false,
            runs: Vec::new(),
            mechanisms: None,
            warp_sizes: None,
            expectations: Vec::new(),
            statistics: Vec::new(),
            stats_lines: Vec::new(),
            failure: None,
            findings: None,
            explore: None,
            stages: Vec::new(),
            debug: Vec::new(),
            may_differ: None,
            options: Vec::new(),
            append: Vec::new(),
            directives,
        };
        for directive in file.directives.clone() {
            file.take(&directive).map_err(|message| at(directive.line, message))?;
        }
        file.complete()
    }

    fn complete(self) -> Result<Self, String> {
        if !self.stages.is_empty() {
            return match self.runs.is_empty() && !self.check && !self.is_launch_file() {
                true => Ok(self),
                false => Err("a case with `test:` is neither checked nor run".to_owned()),
            };
        }
        if self.is_launch_file() {
            let own = !self.runs.is_empty() || self.check || !self.expectations.is_empty();
            if own {
                return Err("a launch file says itself what to run and what to expect".to_owned());
            }
        } else if self.check != self.runs.is_empty() {
            return Err("a case is either checked (`check:`) or run (`run: ...`)".to_owned());
        }
        if !self.is_pinned() && self.debug.is_empty() && !self.check && !self.is_launch_file() {
            return Err(
                "the case expects nothing: add `expect`, `stats`, `trap`, `hang` or `fails`"
                    .to_owned(),
            );
        }
        Ok(self)
    }

    /// Whether the case expects something of its runs.
    pub(crate) fn is_pinned(&self) -> bool {
        !self.expectations.is_empty()
            || !self.statistics.is_empty()
            || self.failure.is_some()
            || self.findings.is_some()
            || self.explore.as_ref().is_some_and(|words| words.outcomes.is_some())
    }

    /// Whether the case is a launch file.
    #[must_use]
    pub fn is_launch_file(&self) -> bool {
        self.path.extension().is_some_and(|e| e == "toml")
    }

    fn span(directive: &Directive) -> Span {
        Span::new(FILE, directive.value_range.start as u32, directive.value_range.end as u32)
    }

    fn located(directive: &Directive) -> Located<String> {
        Located { value: directive.value.clone(), span: Self::span(directive) }
    }

    fn take(&mut self, directive: &Directive) -> Result<(), String> {
        let filtered = matches!(directive.name.as_str(), "expect" | "trap" | "hang" | "stats");
        if !filtered && !directive.filter.is_empty() {
            return Err(format!("`{}` takes no filter", directive.name));
        }
        match directive.name.as_str() {
            "machine" => self.machine = Some(Self::located(directive)),
            "check" => self.check = true,
            "test" => self.stages.push(stage(directive)?),
            // Where a file of those that are linked begins.
            "file" => {}
            "debug" => self.debug.push(debug_session(directive)?),
            "run" => self.runs.push(run_words(directive)?),
            "mechanism" => {
                let span = Self::span(directive);
                let names = list(&directive.value)
                    .map(|name| Located { value: name.to_owned(), span })
                    .collect();
                self.mechanisms = Some(names);
            }
            "warp-size" => {
                let span = Self::span(directive);
                let sizes = list(&directive.value).map(|word| {
                    let value = word.parse().map_err(|_| format!("`{word}` is not a warp size"))?;
                    Ok::<_, String>(Located { value, span })
                });
                self.warp_sizes = Some(sizes.collect::<Result<_, _>>()?);
            }
            "expect" => self.expect(directive, Expected::Buffer(expected_buffer(directive)?))?,
            "trap" => self.expect(directive, Expected::Trap(expected_trap(directive)?))?,
            "hang" => {
                let kind = Self::located(directive);
                self.expect(directive, Expected::Hang { kind, launch: None })?;
            }
            "stats" => self.stats(directive)?,
            "finds" => {
                let all = self.findings.get_or_insert_default();
                all.extend(expected_finding(&directive.value)?);
                all.sort();
            }
            "explore" => self.explore = Some(explore_words(&directive.value)?),
            "outcomes" => {
                let words = self.explore.as_mut().ok_or("`explore` stands before `outcomes`")?;
                words.outcomes = Some(directive.value.clone());
            }
            "may-differ" if directive.value.is_empty() => {
                return Err("say why buffers may differ".to_owned());
            }
            "may-differ" => self.may_differ = Some(directive.value.clone()),
            "append" => self.append.push(append(&directive.value)?),
            "option" => self.options.push(option(directive)?),
            name => match name.strip_prefix("fails ").map(str::parse) {
                Some(Ok(code)) => {
                    self.failure = Some(Failure { code, text: directive.block.clone() });
                }
                _ => return Err(unknown(name)),
            },
        }
        Ok(())
    }

    fn expect(&mut self, directive: &Directive, what: Expected) -> Result<(), String> {
        let (mut mechanisms, mut warp_sizes) = (Vec::new(), Vec::new());
        for word in &directive.filter {
            match word.parse() {
                Ok(size) => warp_sizes.push(size),
                Err(_) if word.is_empty() => return Err("the filter is empty".to_owned()),
                Err(_) => {
                    mechanisms.push(Located { value: word.clone(), span: Self::span(directive) });
                }
            }
        }
        let span = Self::span(directive);
        self.expectations.push(Expectation { mechanisms, warp_sizes, what, span });
        Ok(())
    }

    /// `stats: names` declares, `stats(mechanism, size): name = value, ...` pins.
    fn stats(&mut self, directive: &Directive) -> Result<(), String> {
        let [mechanism, size] = directive.filter.as_slice() else {
            if !directive.filter.is_empty() {
                return Err("pinned statistics name one mechanism and one warp size".to_owned());
            }
            self.statistics = list(&directive.value).map(str::to_owned).collect();
            for name in &self.statistics {
                if simt::counts::metric(name).is_none() {
                    return Err(format!("there is no statistic `{name}`"));
                }
            }
            return Ok(());
        };
        let warp_size = size.parse().map_err(|_| format!("`{size}` is not a warp size"))?;
        let mut values = Vec::new();
        for pair in list(&directive.value) {
            let (name, value) = pair.split_once('=').ok_or("write name = value")?;
            values.push((name.trim().to_owned(), value.trim().to_owned()));
        }
        self.stats_lines.push(StatsLine { mechanism: mechanism.clone(), warp_size, values });
        Ok(())
    }

    /// What of a run is not as the case says.
    ///
    /// # Errors
    /// A text for people.
    pub fn judge(&self, observed: &Observed) -> Result<(), String> {
        let wanted = self.failure.as_ref();
        let (code, text) = observed.failure.as_ref().map_or((0, ""), |f| (f.0, f.1.as_str()));
        match wanted {
            None if code != 0 => return Err(format!("exit code {code}:\n{text}")),
            Some(failure) if failure.code != code => {
                return Err(format!("expected exit code {}, got {code}:\n{text}", failure.code));
            }
            Some(failure) => {
                // Blanks at the ends of lines cannot be seen, and editors remove them.
                let tidy = |text: &str| {
                    text.trim_end().lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
                };
                let expected = tidy(&failure.text.join("\n"));
                let got = tidy(text);
                if expected != got {
                    return Err(format!(
                        "another text than expected.\nexpected:\n{expected}\n\ngot:\n{got}"
                    ));
                }
            }
            None => {}
        }
        for (stage, got) in self.stages.iter().zip(&observed.stages) {
            let got: Vec<&str> = got.lines().collect();
            if stage.text != got {
                let (expected, got) = (stage.text.join("\n"), got.join("\n"));
                return Err(format!(
                    "another text of `{}` (SIMTLAB_BLESS=1 rewrites it).\n\
                     expected:\n{expected}\n\ngot:\n{got}",
                    stage.what
                ));
            }
        }
        for (session, got) in self.debug.iter().zip(&observed.debug) {
            let got: Vec<&str> = got.lines().map(str::trim_end).collect();
            if session.text != got {
                let (expected, got) = (session.text.join("\n"), got.join("\n"));
                return Err(format!(
                    "another answer of the debugger (SIMTLAB_BLESS=1 rewrites it).\n\
                     expected:\n{expected}\n\ngot:\n{got}"
                ));
            }
        }
        let expected: Vec<String> = self.stats_lines.iter().map(StatsLine::to_text).collect();
        let got: Vec<String> = observed.stats.iter().map(StatsLine::to_text).collect();
        if expected != got {
            let (expected, got) = (expected.join("\n"), got.join("\n"));
            return Err(format!(
                "statistics differ (SIMTLAB_BLESS=1 rewrites them).\nexpected:\n{expected}\n\ngot:\n{got}"
            ));
        }
        Ok(())
    }
}

impl StatsLine {
    /// `stats(ipdom, 32): inst_executed = 165`.
    pub(crate) fn to_text(&self) -> String {
        let values: Vec<String> = self.values.iter().map(|(n, v)| format!("{n} = {v}")).collect();
        format!("stats({}, {}): {}", self.mechanism, self.warp_size, values.join(", "))
    }
}

/// `NAME=VALUE`, as after `--option`.
fn option(directive: &Directive) -> Result<MachineOption, String> {
    let (name, value) = directive.value.split_once('=').ok_or("write name=value")?;
    let span = TestFile::span(directive);
    let value = OptionValue::String(value.trim().to_owned());
    let key = Located { value: name.trim().to_owned(), span };
    Ok(MachineOption { key, value: Located { value, span } })
}

/// `STAGE [--kernel NAME] [--block X[,Y[,Z]]]`.
fn stage(directive: &Directive) -> Result<Stage, String> {
    let (mut what, mut kernel, mut block) = (Vec::new(), None, [64, 1, 1]);
    let mut words = words(&directive.value)?.into_iter().map(|word| word.0);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--kernel" => kernel = Some(words.next().ok_or("--kernel has no value")?),
            "--block" => {
                let sizes = words.next().ok_or("--block has no value")?;
                for (to, size) in block.iter_mut().zip(sizes.split(',')) {
                    *to = size.parse().map_err(|_| format!("`{size}` is not a number"))?;
                }
            }
            _ => what.push(word),
        }
    }
    Ok(Stage { what: What::parse(&what)?, kernel, block, text: directive.block.clone() })
}

/// Items between commas.
fn list(value: &str) -> impl Iterator<Item = &str> {
    value.split(',').map(str::trim).filter(|item| !item.is_empty())
}

fn unknown(name: &str) -> String {
    const KNOWN: [&str; 14] = [
        "machine",
        "test",
        "check",
        "run",
        "mechanism",
        "warp-size",
        "expect",
        "trap",
        "hang",
        "stats",
        "may-differ",
        "append",
        "option",
        "fails CODE",
    ];
    match isa::suggest::nearest(name, KNOWN) {
        Some(near) => format!("there is no directive `{name}`; did you mean `{near}`?"),
        None => format!("there is no directive `{name}`; known are {}", KNOWN.join(", ")),
    }
}

/// `--mechanism NAME`, `--warp-size N`, `--at PLACE`, and the session below.
fn debug_session(directive: &Directive) -> Result<DebugSession, String> {
    let span = TestFile::span(directive);
    let text = directive.block.clone();
    let mut session = DebugSession { mechanism: None, warp_size: None, at: None, text };
    let mut words = words(&directive.value)?.into_iter();
    while let Some((option, _)) = words.next() {
        let (value, _) = words.next().ok_or_else(|| format!("{option} has no value"))?;
        match option.as_str() {
            "--mechanism" => session.mechanism = Some(Located { value, span }),
            "--warp-size" => {
                let value = value.parse().map_err(|_| format!("`{value}` is not a warp size"))?;
                session.warp_size = Some(Located { value, span });
            }
            "--at" => session.at = Some(value),
            _ => return Err(format!("`debug` takes no {option}")),
        }
    }
    Ok(session)
}

/// The options of `simtlab run`, as they are written there.
fn run_words(directive: &Directive) -> Result<RunWords, String> {
    let base = directive.value_range.start;
    let mut run = RunWords { span: TestFile::span(directive), ..RunWords::default() };
    let mut words = words(&directive.value)?.into_iter();
    while let Some((option, _)) = words.next() {
        let (value, range) = words.next().ok_or_else(|| format!("{option} has no value"))?;
        let span = Span::new(FILE, (base + range.start) as u32, (base + range.end) as u32);
        let word = Located { value, span };
        match option.as_str() {
            "--kernel" => run.kernel = Some(word),
            "--grid" => run.grid = Some(word),
            "--block" => run.block = Some(word),
            "--shared" => run.shared = Some(word),
            "--seed" => run.seed = Some(word),
            "--limit" => run.limit = Some(word),
            "--arg" => run.args.push(word),
            "--option" => run.options.push(machine_option(&word)),
            _ => return Err(format!("`run` takes no {option}")),
        }
    }
    Ok(run)
}

/// `NAME=VALUE`; without a value the option is on.
fn machine_option(word: &Located<String>) -> MachineOption {
    let (name, value) = word.value.split_once('=').unwrap_or((&word.value, "on"));
    let key = Located { value: name.to_owned(), span: word.span };
    let value = OptionValue::String(value.to_owned());
    MachineOption { key, value: Located { value, span: word.span } }
}

/// `name[range] = contents [atol=x] [rtol=x] [ulp=n]`, with `=` or `multiset`; contents are `[v,
/// ...]`, `fill(v)` or `@file`.
fn expected_buffer(directive: &Directive) -> Result<ExpectedBuffer, String> {
    let span = TestFile::span(directive);
    let value = directive.value.as_str();
    let name_end =
        value.find(|c: char| c.is_whitespace() || "=[".contains(c)).unwrap_or(value.len());
    let (name, mut rest) = (&value[..name_end], value[name_end..].trim_start());
    let mut range = None;
    if let Some(after) = rest.strip_prefix('[') {
        let (inside, after) = after.split_once(']').ok_or("the range's `]` is missing")?;
        let (start, count) = inside.split_once(',').ok_or("a range is [first, count]")?;
        let number =
            |text: &str| text.trim().parse().map_err(|_| format!("`{text}` is not a number"));
        range = Some(Located { value: [number(start)?, number(count)?], span });
        rest = after.trim_start();
    }
    let multiset = rest.starts_with("multiset");
    rest = rest
        .strip_prefix(if multiset { "multiset" } else { "=" })
        .ok_or("write `name = contents` or `name multiset contents`")?
        .trim_start();
    let (contents, rest) = expected_contents(rest, span)?;
    let mut tolerance = Tolerance::EXACT;
    for (word, _) in words(rest)? {
        let (key, number) =
            word.split_once('=').ok_or_else(|| format!("`{word}` is not understood"))?;
        let wrong = || format!("`{number}` is not a number");
        match key {
            "atol" => tolerance.atol = number.parse().map_err(|_| wrong())?,
            "rtol" => tolerance.rtol = number.parse().map_err(|_| wrong())?,
            "ulp" => tolerance.ulp = number.parse().map_err(|_| wrong())?,
            _ => return Err(format!("`{key}` is not a tolerance: atol, rtol and ulp are")),
        }
    }
    let buffer = Located { value: name.to_owned(), span };
    Ok(ExpectedBuffer { buffer, contents, tolerance, multiset, range })
}

/// The contents and what follows them.
fn expected_contents(text: &str, span: Span) -> Result<(ExpectedContents, &str), String> {
    let located = |value: &str| Located { value: value.trim().to_owned(), span };
    if let Some(rest) = text.strip_prefix('@') {
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let path = Located { value: PathBuf::from(&rest[..end]), span };
        return Ok((ExpectedContents::File(path), &rest[end..]));
    }
    if let Some(rest) = text.strip_prefix("fill(") {
        let (value, rest) = rest.split_once(')').ok_or("the `)` of fill is missing")?;
        return Ok((ExpectedContents::Fill(located(value)), rest));
    }
    let rest = text.strip_prefix('[').ok_or("contents are [v, ...], fill(v) or @file.npy")?;
    let (values, rest) = rest.split_once(']').ok_or("the `]` of the values is missing")?;
    let values = list(values).map(located).collect();
    Ok((ExpectedContents::Values(Located { value: values, span }), rest))
}

/// `code [line=N] [message="text"]`.
fn expected_trap(directive: &Directive) -> Result<ExpectedTrap, String> {
    let span = TestFile::span(directive);
    let (code, rest) =
        directive.value.split_once(char::is_whitespace).unwrap_or((&directive.value, ""));
    let (mut line, mut message) = (None, None);
    let mut rest = rest.trim();
    if let Some(after) = rest.strip_prefix("line=") {
        let (number, after) = after.split_once(char::is_whitespace).unwrap_or((after, ""));
        line = Some(number.parse().map_err(|_| format!("`{number}` is not a line"))?);
        rest = after.trim();
    }
    if let Some(text) = rest.strip_prefix("message=") {
        let text = text.strip_prefix('"').and_then(|t| t.strip_suffix('"'));
        message = Some(text.ok_or("write message=\"text\"")?.to_owned());
    } else if !rest.is_empty() {
        return Err(format!("`{rest}` is not understood: line=N, then message=\"text\""));
    }
    Ok(ExpectedTrap { code: Located { value: code.to_owned(), span }, launch: None, line, message })
}

/// `COUNT TEXT`: the text is added so many times, with `\n` for line ends.
fn append(value: &str) -> Result<(u64, String), String> {
    let (count, text) = value.split_once(' ').ok_or("write `append: COUNT TEXT`")?;
    let count = count.parse().map_err(|_| format!("`{count}` is not a number"))?;
    Ok((count, text.replace("\\n", "\n")))
}

/// The finding for a directive of another kind than its file's.
pub(crate) fn misplaced(span: Span, message: String) -> Diagnostic {
    Diagnostic::error("filetest::directive", message).at(span, "")
}

/// Which schedules are explored.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExploreWords {
    pub(crate) exhaustive: bool,
    pub(crate) preemptions: Option<u32>,
    pub(crate) schedules: Option<u64>,
    /// Mechanisms; the machine's own choice if there are none.
    pub(crate) mechanisms: Vec<String>,
    /// How many different results, hangs and faults there are, and whether all schedules were run:
    /// `3 results, 1 hang, complete`.
    pub(crate) outcomes: Option<String>,
}

/// The options of `simtlab explore` that file tests have.
fn explore_words(text: &str) -> Result<ExploreWords, String> {
    let mut out = ExploreWords::default();
    let mut words = text.split_whitespace();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("`{word}` takes a value"));
        let number = |value: &str| value.parse().map_err(|_| format!("`{value}` is not a number"));
        match word {
            "--exhaustive" => out.exhaustive = true,
            "--preemptions" => {
                out.preemptions = Some(u32::try_from(number(value()?)?).unwrap_or(u32::MAX));
            }
            "--schedules" => out.schedules = Some(number(value()?)?),
            "--mechanisms" => out.mechanisms = list(value()?).map(str::to_owned).collect(),
            _ => return Err(format!("`{word}` is no option of `explore`")),
        }
    }
    Ok(out)
}

/// `nothing`, or a kind and lines: `race-in-block line=12 with=9`.
fn expected_finding(text: &str) -> Result<Option<ExpectedFinding>, String> {
    let mut words = text.split_whitespace();
    let kind = words.next().unwrap_or_default();
    if kind == "nothing" {
        return Ok(None);
    }
    findings::Kind::find(kind)?;
    let mut found = ExpectedFinding { kind: kind.to_owned(), line: 0, with: None };
    for word in words {
        let wrong = || format!("`{word}` is not `line=N` or `with=N`");
        let (name, number) = word.split_once('=').ok_or_else(wrong)?;
        let number = number.parse().map_err(|_| wrong())?;
        match name {
            "line" => found.line = number,
            "with" => found.with = Some(number),
            _ => return Err(wrong()),
        }
    }
    Ok(Some(found))
}
