//! Recordings of runs: what a command line consists of, and where they are read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use ::recording::{MOST, MOST_INPUTS, Recording};
use debug::LaunchRecord;
use lab::run::Report;

use crate::args::{Run, Target};

/// The files that a run reads: the target, what a launch file names, and arrays of arguments.
fn inputs(target: &Target) -> Result<BTreeSet<PathBuf>, String> {
    let mut found = BTreeSet::new();
    let path = launch_file(&target.subject.path);
    found.insert(path.clone());
    if path.extension().is_some_and(|extension| extension == "toml") {
        let text =
            std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let table: toml::Table = toml::from_str(&text).map_err(|error| error.to_string())?;
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let mut open: Vec<toml::Value> = table.into_iter().map(|(_, value)| value).collect();
        while let Some(value) = open.pop() {
            match value {
                toml::Value::String(text) => named(&text, &folder, &mut found),
                toml::Value::Array(values) => open.extend(values),
                toml::Value::Table(table) => open.extend(table.into_iter().map(|(_, v)| v)),
                _ => {}
            }
        }
    }
    for arg in &target.subject.args {
        named(arg, Path::new(""), &mut found);
    }
    if let Some(table) = &target.subject.isa.table {
        found.insert(PathBuf::from(table));
    }
    for option in &target.options {
        named(value_of(option), Path::new(""), &mut found);
    }
    Ok(found)
}

/// The value of an option `NAME=VALUE`.
fn value_of(option: &str) -> &str {
    option.split_once('=').map_or("", |(_, value)| value)
}

/// A folder stands for the launch file in it.
fn launch_file(path: &Path) -> PathBuf {
    if path.is_dir() { path.join("launch.toml") } else { path.to_owned() }
}

/// Files that a text names: as a whole, or behind `@`.
fn named(text: &str, folder: &Path, found: &mut BTreeSet<PathBuf>) {
    let behind = text.split('@').skip(1);
    let behind = behind.filter_map(|rest| rest.split([',', ')', ']', ' ', '"']).next());
    for name in std::iter::once(text).chain(behind).filter(|name| !name.is_empty()) {
        let path = folder.join(name);
        if path.is_file() {
            found.insert(path);
        }
    }
}

/// An absolute path without `.` and `..`.
fn plain(path: &Path) -> Result<PathBuf, String> {
    std::fs::canonicalize(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Reads what a target consists of.
///
/// # Errors
/// Returns which file cannot be read, or that they are too large.
pub(super) fn of(
    target: &Target,
    (mechanism, warp_size): (Option<&str>, Option<&str>),
) -> Result<Recording, String> {
    let inputs = inputs(target)?;
    let absolute: Vec<PathBuf> = inputs.iter().map(|p| plain(p)).collect::<Result<_, _>>()?;
    // Paths in launch files stay as they are, so all are kept below one folder.
    let mut base = absolute[0].parent().unwrap_or(Path::new("/")).to_owned();
    while !absolute.iter().all(|path| path.starts_with(&base)) {
        base = base.parent().unwrap_or(Path::new("/")).to_owned();
    }
    let relative = |path: &Path| -> Result<String, String> {
        let path = plain(path)?;
        let path = path.strip_prefix(&base).map_err(|error| error.to_string())?;
        let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
        Ok(parts.join("/"))
    };
    let mut files = BTreeMap::new();
    let mut total = 0;
    for path in &absolute {
        let bytes = std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
        total += bytes.len() as u64;
        if total > MOST_INPUTS {
            return Err(format!("the inputs have more than {MOST_INPUTS} bytes"));
        }
        files.insert(relative(path)?, bytes);
    }
    let subject = &target.subject;
    let mut words = vec![format!("{{{{{}}}}}", relative(&launch_file(&subject.path))?)];
    if let Some(table) = &subject.isa.table {
        words.push(format!("--table={{{{{}}}}}", relative(Path::new(table))?));
    }
    let options = [
        ("--kernel", subject.kernel.as_deref()),
        ("--grid", subject.grid.as_deref()),
        ("--block", subject.block.as_deref()),
        ("--shared", subject.shared.as_deref()),
        ("--seed", subject.seed.as_deref()),
        ("--limit", subject.limit.as_deref()),
        ("--isa", subject.isa.isa.as_deref()),
        ("--tile-ops", subject.isa.tile_ops.as_deref()),
        ("--conventions", subject.isa.conventions.as_deref()),
        ("--limits-of", subject.isa.limits_of.as_deref()),
        ("--order", target.order.as_deref()),
        ("--async", target.asynchrony.as_deref()),
        ("--cluster", target.cluster.as_deref()),
        ("--matrix-sums", target.matrix_sums.as_deref()),
        ("--mechanism", mechanism),
        ("--warp-size", warp_size),
    ];
    words.extend(options.iter().filter_map(|(name, v)| Some(format!("{name}={}", (*v)?))));
    let moved = |text: &str, value: &str| -> Result<String, String> {
        let mut text = text.to_owned();
        let mut own = BTreeSet::new();
        named(value, Path::new(""), &mut own);
        for path in own {
            let name = path.to_string_lossy();
            text = text.replace(&*name, &format!("{{{{{}}}}}", relative(&path)?));
        }
        Ok(text)
    };
    for option in &target.options {
        if value_of(option) == "@-" {
            return Err("what is read from standard input cannot be recorded".to_owned());
        }
        words.push(format!("--option={}", moved(option, value_of(option))?));
    }
    for arg in &subject.args {
        words.push(format!("--arg={}", moved(arg, arg)?));
    }
    Ok(Recording { words, files, launches: Vec::new() })
}

/// Reads what a run consists of.
///
/// # Errors
/// As [`of`].
pub(super) fn of_run(run: &Run) -> Result<Recording, String> {
    // A timeline is written again by no debugger.
    let given = run.machine.given().into_iter().filter(|(name, ..)| *name != "trace");
    let target = Target {
        subject: run.subject.clone(),
        order: run.order.clone(),
        options: given.map(|(_, name, value)| format!("{name}={value}")).collect(),
        asynchrony: None,
        cluster: None,
        matrix_sums: None,
    };
    of(&target, (run.mechanism.as_deref(), run.warp_size.as_deref()))
}

/// Notes how the launches of a run have ended.
pub(super) fn note_ends(recording: &mut Recording, report: &Report) {
    let ends = report.ends.iter().zip(&report.stats.launches).map(|(end, stats)| {
        let ended = if stats.retried.is_some() { "hang" } else { end.name() };
        let position = stats.counts.slots.issues();
        LaunchRecord { position, ended: Some(ended.to_owned()), ..LaunchRecord::default() }
    });
    recording.launches = ends.collect();
}

/// Reads a file that is a recording, or a page with one.
///
/// # Errors
/// Returns what is wrong with it; `Ok(None)` if it is neither.
pub(super) fn read(path: &Path) -> Result<Option<Recording>, String> {
    let extension = path.extension().map(std::ffi::OsStr::to_ascii_lowercase);
    let is = |name: &str| extension.as_ref().is_some_and(|extension| extension == name);
    if !path.is_file() || !(is("json") || is("html")) {
        return Ok(None);
    }
    let length = path.metadata().map_err(|error| error.to_string())?.len();
    if length > MOST {
        return Err(format!("a recording has at most {MOST} bytes"));
    }
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let read = if is("html") { Recording::from_page } else { Recording::from_json };
    read(&text).map(Some).map_err(|error| error.to_string())
}

/// A folder of this process alone, which goes with the value.
pub(super) struct Unpacked(PathBuf);

impl Unpacked {
    /// # Errors
    /// If it cannot be made.
    pub(super) fn new() -> std::io::Result<Self> {
        let mut builder = std::fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        for attempt in 0..1000 {
            let name = format!("simtlab-recording-{}-{attempt}", std::process::id());
            let path = std::env::temp_dir().join(name);
            match builder.create(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(std::io::ErrorKind::AlreadyExists.into())
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Unpacked {
    fn drop(&mut self) {
        // What cannot be removed is left to the host.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
