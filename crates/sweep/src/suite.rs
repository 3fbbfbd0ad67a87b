//! Suites, read and checked: which launch files there are, and which cells each has.

use std::path::{Path, PathBuf};

use inputs::file::read_input;
use inputs::launch::{Located, MAX_FILE_BYTES};
use inputs::suite::{SuiteFile, SuiteKernels};
use isa::suggest::nearest;
use isa::{Diagnostic, Diagnostics, SourceMap, Span};
use lab::run::JobParts;
use machines::{Isa, Profile};
use study::divergence::{Cell, Plan, Settings};

/// Most launch files of a suite.
const MOST_FILES: usize = 100_000;
/// Most combinations of orders and options.
const MOST_SETTINGS: usize = 4096;
/// The name of launch files in directories.
const LAUNCH_FILE: &str = "launch.toml";

/// A suite that can be run.
#[derive(Debug)]
pub struct Suite {
    /// Its name: two sweeps of one name are the same sweep.
    pub name: String,
    /// The groups, by path and seed.
    pub groups: Vec<Group>,
    /// The hash of the suite: of its file, and of the names of its groups.
    pub digest: String,
    limit: Option<u64>,
    axes: Axes,
}

/// One launch file with one seed.
#[derive(Clone, Debug)]
pub struct Group {
    /// The launch file, relative to the suite file's folder, with `/` between components.
    pub name: String,
    /// The launch file.
    pub path: PathBuf,
    /// The seed of random inputs; the launch file's if `None`.
    pub seed: Option<u64>,
    /// The machine, or why the launch file cannot be read.
    pub machine: Result<&'static Isa, String>,
    /// The launch file's warp size.
    pub warp_size: u64,
    /// The number of its cells.
    pub cells: usize,
}

/// The axes, as the suite names them.
#[derive(Clone, Debug)]
struct Axes {
    mechanisms: Vec<Located<String>>,
    warp_sizes: Vec<u64>,
    profiles: Vec<Located<String>>,
    /// Orders and options: names with their values.
    options: Vec<(String, Vec<String>)>,
}

impl Suite {
    /// Reads a suite file, and the launch files that it names.
    ///
    /// # Errors
    /// Returns all errors of the suite: of its form, of names that no machine has, of patterns that
    /// match nothing. Launch files that cannot be read become rows.
    pub fn load(
        path: &Path,
        span: Option<Span>,
        sources: &mut SourceMap,
    ) -> Result<Self, Diagnostics> {
        let bytes = read_input(path, MAX_FILE_BYTES, span).map_err(one)?;
        let text = String::from_utf8(bytes).map_err(|_| {
            one(Diagnostic::error("input::not-text", "the suite file is not text")
                .help("it is TOML"))
        })?;
        let file = sources.add(path.display().to_string(), text.as_str());
        let mut found = Diagnostics::new();
        let Some(read) = SuiteFile::parse(&text, file, &mut found) else { return Err(found) };
        let folder = path.parent().unwrap_or(Path::new(""));
        let stem = path.file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned());
        let name = read.name.as_ref().map_or(stem, |name| name.value.clone());
        check_names(&read, &mut found);
        let files = launch_files(folder, &read.kernels, &mut found);
        if found.has_errors() {
            return Err(found);
        }
        let mut options: Vec<(String, Vec<String>)> = Vec::new();
        let values = |list: &[Located<String>]| list.iter().map(|v| v.value.clone()).collect();
        if !read.orders.is_empty() {
            options.push(("order".to_owned(), values(&read.orders)));
        }
        options.extend(read.options.iter().map(|(name, list)| (name.value.clone(), values(list))));
        let axes = Axes {
            mechanisms: read.mechanisms,
            warp_sizes: read.warp_sizes,
            profiles: read.profiles,
            options,
        };
        let mut digest = crate::group::Hasher::new("suite");
        digest.field(text.as_bytes());
        let seeds: Vec<Option<u64>> = match read.seeds.is_empty() {
            true => vec![None],
            false => read.seeds.iter().copied().map(Some).collect(),
        };
        let mut groups = Vec::new();
        for (name, path) in files {
            digest.field(name.as_bytes());
            let mut sources = SourceMap::new();
            let parts = JobParts::from_launch_file(&path, None, &mut sources);
            let (machine, warp_size) = match &parts {
                Ok(parts) => {
                    let own = parts.run.warp_size.as_ref().map(|w| w.value);
                    (Ok(parts.machine), own.unwrap_or(parts.machine.default_warp_size))
                }
                Err(found) => (Err(first_message(found)), 0),
            };
            for &seed in &seeds {
                let (name, path, machine) = (name.clone(), path.clone(), machine.clone());
                let mut group = Group { name, path, seed, machine, warp_size, cells: 1 };
                group.cells = axes.cells(&group).len();
                groups.push(group);
            }
        }
        let limit = read.limit.map(|limit| limit.value);
        Ok(Self { name, groups, digest: digest.finish(), limit, axes })
    }

    /// Returns the cells of a group, in a fixed order. A launch file that cannot be read has one,
    /// of no mechanism.
    #[must_use]
    pub fn cells(&self, group: &Group) -> Vec<Cell> {
        self.axes.cells(group)
    }

    /// Returns the number of all rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.groups.iter().map(|group| group.cells).sum()
    }

    /// Returns the limit of issues of each run.
    #[must_use]
    pub fn limit(&self) -> Option<u64> {
        self.limit
    }
}

impl Axes {
    fn cells(&self, group: &Group) -> Vec<Cell> {
        let Ok(machine) = group.machine else {
            let nothing = Cell {
                mechanism: String::new(),
                warp_size: 0,
                settings: Settings::new(),
                profile: None,
            };
            return vec![nothing];
        };
        let mut mechanisms: Vec<String> = Vec::new();
        for name in &self.mechanisms {
            // Names that this machine does not have belong to another one of the suite.
            let named = machines::mechanisms_named(machine, &name.value, name.span);
            mechanisms.extend(named.unwrap_or_default());
        }
        if self.mechanisms.is_empty() && self.profiles.is_empty() {
            mechanisms.extend(machine.mechanisms.iter().map(|m| m.name.to_owned()));
        }
        let mut settings = vec![Settings::new()];
        for (name, values) in &self.options {
            if !machine.axes.iter().any(|axis| axis.name == name) {
                continue;
            }
            let with = |setting: &Settings| -> Vec<Settings> {
                let one = |v: &String| [setting.clone(), vec![(name.clone(), v.clone())]].concat();
                values.iter().map(one).collect()
            };
            settings = settings.iter().flat_map(with).collect();
        }
        let plan = Plan {
            mechanisms,
            warp_sizes: match self.warp_sizes.as_slice() {
                [] => vec![group.warp_size],
                sizes => sizes.to_vec(),
            },
            settings,
            profiles: profiles(machine, &self.profiles),
            ..Plan::default()
        };
        plan.cells(machine)
    }
}

/// Returns the profiles of a machine that are named.
fn profiles(machine: &'static Isa, names: &[Located<String>]) -> Vec<&'static Profile> {
    let named = |p: &&Profile| names.iter().any(|n| n.value == "all" || n.value == p.name);
    machine.profiles.iter().filter(named).collect()
}

/// Wraps a single diagnostic.
pub(crate) fn one(finding: Diagnostic) -> Diagnostics {
    let mut found = Diagnostics::new();
    found.push(finding);
    found
}

/// Returns the message of the first diagnostic.
pub(crate) fn first_message(found: &Diagnostics) -> String {
    found.iter().next().map_or_else(|| "it cannot be read".to_owned(), |f| f.message.clone())
}

/// Checks that some machine has each name.
fn check_names(suite: &SuiteFile, found: &mut Diagnostics) {
    let all = machines::all();
    for name in &suite.mechanisms {
        let known =
            |m: &&'static Isa| machines::mechanisms_named(m, &name.value, name.span).is_ok();
        if !all.iter().copied().any(|m| known(&m)) {
            // The machine with most mechanisms has the best hint.
            let most = all.iter().copied().max_by_key(|m| m.mechanisms.len());
            let hint = most.map(|m| machines::mechanisms_named(m, &name.value, name.span));
            let help = hint.and_then(Result::err).and_then(|finding| finding.help);
            let message = format!("no machine has the mechanism `{}`", name.value);
            let mut finding = Diagnostic::error("suite::mechanism", message).at(name.span, "");
            finding.help = help;
            found.push(finding);
        }
    }
    let unknown = |kind: &str, name: &Located<String>, known: &[&str]| {
        let help = match nearest(&name.value, known.iter().copied()) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("there are {}", known.join(", ")),
        };
        let message = format!("there is no {kind} `{}`", name.value);
        Diagnostic::error("suite::name", message).at(name.span, "").help(help)
    };
    let profiles: Vec<&str> = all.iter().flat_map(|m| m.profiles.iter().map(|p| p.name)).collect();
    for name in &suite.profiles {
        if name.value != "all" && !profiles.contains(&name.value.as_str()) {
            found.push(unknown("profile", name, &profiles));
        }
    }
    for order in &suite.orders {
        if let Err(finding) = study::divergence::order_named(&order.value, order.span) {
            found.push(finding);
        }
    }
    let mut axes: Vec<&str> = all.iter().flat_map(|m| m.axes.iter().map(|a| a.name)).collect();
    axes.sort_unstable();
    axes.dedup();
    let mut combinations = suite.orders.len().max(1);
    for (name, values) in &suite.options {
        if !axes.contains(&name.value.as_str()) {
            found.push(unknown("option to vary", name, &axes));
        }
        if name.value == "order" && !suite.orders.is_empty() {
            let message = "`order` is varied twice";
            let finding = Diagnostic::error("suite::value", message).at(name.span, "");
            found.push(finding.help("`orders` and the option are the same"));
        }
        combinations = combinations.saturating_mul(values.len().max(1));
        if combinations > MOST_SETTINGS {
            let message = format!("more than {MOST_SETTINGS} combinations of orders and options");
            let finding = Diagnostic::error("suite::size", message).at(name.span, "with this one");
            found.push(finding.help("name fewer values, or make two suites"));
            return;
        }
    }
}

/// Returns the launch files that patterns match, by name, each once.
fn launch_files(
    folder: &Path,
    kernels: &[SuiteKernels],
    found: &mut Diagnostics,
) -> Vec<(String, PathBuf)> {
    let mut out: Vec<(String, PathBuf)> = Vec::new();
    for table in kernels {
        let mut excluded: Vec<PathBuf> = Vec::new();
        for pattern in &table.exclude {
            excluded.extend(matches(folder, pattern, found));
        }
        for pattern in &table.paths {
            let all = matches(folder, pattern, found);
            let kept = all.iter().filter(|path| !excluded.contains(path));
            // A wildcard may match other files, too.
            let launch =
                |path: &&PathBuf| path.is_file() && path.extension().is_some_and(|e| e == "toml");
            let kept: Vec<&PathBuf> = kept.filter(launch).collect();
            if kept.is_empty() {
                let message = format!("no launch file matches `{}`", pattern.value);
                let finding = Diagnostic::error("suite::paths", message).at(pattern.span, "");
                found.push(finding.help("patterns start at the folder of the suite file"));
            }
            for path in kept {
                let name = relative(folder, path);
                if !out.iter().any(|(known, _)| *known == name) {
                    out.push((name, path.clone()));
                }
            }
            if out.len() > MOST_FILES {
                let message = format!("more than {MOST_FILES} launch files");
                found.push(Diagnostic::error("suite::size", message).at(pattern.span, ""));
                return Vec::new();
            }
        }
    }
    out.sort();
    out
}

fn matches(folder: &Path, pattern: &Located<String>, found: &mut Diagnostics) -> Vec<PathBuf> {
    let whole = match Path::new(&pattern.value).is_absolute() {
        true => pattern.value.clone(),
        false => {
            let folder = glob::Pattern::escape(&folder.to_string_lossy());
            if folder.is_empty() {
                pattern.value.clone()
            } else {
                format!("{folder}/{}", pattern.value)
            }
        }
    };
    match glob::glob(&whole) {
        Ok(paths) => paths
            .take(MOST_FILES + 1)
            .filter_map(Result::ok)
            .map(|path| if path.is_dir() { path.join(LAUNCH_FILE) } else { path })
            .collect(),
        Err(error) => {
            let message = format!("`{}` is no pattern: {}", pattern.value, error.msg);
            found.push(Diagnostic::error("suite::paths", message).at(pattern.span, ""));
            Vec::new()
        }
    }
}

/// Returns a path relative to the suite's folder, with `/` between components.
fn relative(folder: &Path, path: &Path) -> String {
    let short = path.strip_prefix(folder).unwrap_or(path);
    if short.is_absolute() {
        return short.display().to_string();
    }
    let parts = short.components().map(|part| part.as_os_str().to_string_lossy());
    parts.collect::<Vec<_>>().join("/")
}
