//! Recordings: what a run consists of, in one file. The command line, the files that it names with
//! what launch files name in turn, and, of launches that were in the debugger, where they stood
//! and what was changed. A page of `compare --html` contains the same.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use debug::{Change, LanePlace, LaunchRecord};
use lab::run::Report;
use serde_json::{Value, json};

use crate::args::{Run, Target};

/// The version of the format.
const VERSION: u64 = 1;
/// Most bytes of a recording and of the files in it.
pub(super) const MOST: u64 = 1 << 30;
/// What stands before a recording in a page.
const BEGIN: &str = "<script type=\"application/json\" id=\"recording\">";
const END: &str = "</script>";

/// A run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Recording {
    /// Words of the command line, with `{{PATH}}` where they name a file of the recording.
    words: Vec<String>,
    /// Files by their paths, which are relative and have no `..`.
    files: BTreeMap<String, Vec<u8>>,
    /// Launches that were in the debugger.
    pub(super) launches: Vec<LaunchRecord>,
}

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

impl Recording {
    /// Reads what a target consists of.
    ///
    /// # Errors
    /// Returns which file cannot be read, or that they are too large.
    pub(super) fn of(
        target: &Target,
        (mechanism, warp_size): (Option<&str>, Option<&str>),
    ) -> Result<Self, String> {
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
            if total > MOST / 4 {
                return Err(format!("the inputs have more than {} bytes", MOST / 4));
            }
            files.insert(relative(path)?, bytes);
        }
        let subject = &target.subject;
        let mut words = vec![format!("{{{{{}}}}}", relative(&launch_file(&subject.path))?)];
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
        Ok(Self { words, files, launches: Vec::new() })
    }

    /// Reads what a run consists of.
    ///
    /// # Errors
    /// As [`Recording::of`].
    pub(super) fn of_run(run: &Run) -> Result<Self, String> {
        // A timeline is written again by no debugger.
        let given = run.machine.given().into_iter().filter(|(name, ..)| *name != "trace");
        let target = Target {
            subject: run.subject.clone(),
            order: run.order.clone(),
            options: given.map(|(_, name, value)| format!("{name}={value}")).collect(),
            asynchrony: None,
            cluster: None,
        };
        Self::of(&target, (run.mechanism.as_deref(), run.warp_size.as_deref()))
    }

    /// Notes how the launches of a run have ended.
    pub(super) fn note_ends(&mut self, report: &Report) {
        let ends = report.ends.iter().zip(&report.stats.launches).map(|(end, stats)| {
            let ended = if stats.retried.is_some() { "hang" } else { end.name() };
            let position = stats.counts.slots.issues();
            LaunchRecord { position, ended: Some(ended.to_owned()), ..LaunchRecord::default() }
        });
        self.launches = ends.collect();
    }

    /// The text of a file.
    pub(super) fn to_json(&self) -> String {
        let file = |bytes: &Vec<u8>| match std::str::from_utf8(bytes) {
            Ok(text) => json!({"text": text}),
            Err(_) => json!({"hex": bytes.iter().map(|b| format!("{b:02x}")).collect::<String>()}),
        };
        let lane = |at: LanePlace| json!([at.block, at.warp, at.lane]);
        let change = |change: &Change| {
            json!({
                "branch": change.branch,
                "position": change.position,
                "focus": lane(change.focus),
                "command": change.command,
            })
        };
        let launch = |launch: &LaunchRecord| {
            json!({
                "changes": launch.changes.iter().map(change).collect::<Vec<_>>(),
                "branch": launch.branch,
                "position": launch.position,
                "focus": lane(launch.focus),
                "digest": format!("{:016x}", launch.digest),
                "again": launch.again,
                "ended": launch.ended,
            })
        };
        let files: serde_json::Map<String, Value> =
            self.files.iter().map(|(name, bytes)| (name.clone(), file(bytes))).collect();
        let document = json!({
            "simtlab_recording": VERSION,
            "words": self.words,
            "files": files,
            "launches": self.launches.iter().map(launch).collect::<Vec<_>>(),
        });
        format!("{document:#}\n")
    }

    /// A page with the recording in it.
    pub(super) fn put_into(&self, page: &str) -> String {
        // No text of it ends the element.
        let text = self.to_json().replace('<', "\\u003c");
        match page.rfind("</body>") {
            Some(at) => format!("{}{BEGIN}{text}{END}\n{}", &page[..at], &page[at..]),
            None => page.to_owned(),
        }
    }

    /// Reads a file that is a recording, or a page with one.
    ///
    /// # Errors
    /// Returns what is wrong with it; `Ok(None)` if it is neither.
    pub(super) fn read(path: &Path) -> Result<Option<Self>, String> {
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
        let text = match is("html") {
            false => &*text,
            true => {
                let found = text.split_once(BEGIN).and_then(|(_, rest)| rest.split_once(END));
                found.map(|(text, _)| text).ok_or("the page contains no recording")?
            }
        };
        let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        Self::parse(&value).map(Some)
    }

    fn parse(value: &Value) -> Result<Self, String> {
        let missing = |name: &str| format!("the recording has no `{name}`, or not of its type");
        match value["simtlab_recording"].as_u64() {
            Some(VERSION) => {}
            Some(other) => return Err(format!("version {other} of recordings is not known")),
            None => return Err("it is no recording".to_owned()),
        }
        let words = value["words"].as_array().ok_or_else(|| missing("words"))?;
        let words: Option<Vec<String>> =
            words.iter().map(|word| word.as_str().map(str::to_owned)).collect();
        let words = words.ok_or_else(|| missing("words"))?;
        let mut files = BTreeMap::new();
        for (name, file) in value["files"].as_object().ok_or_else(|| missing("files"))? {
            let inside = |part: Component<'_>| matches!(part, Component::Normal(_));
            if name.is_empty() || !Path::new(name).components().all(inside) {
                return Err(format!("`{name}` lies outside of the recording"));
            }
            let bytes = match (file["text"].as_str(), file["hex"].as_str()) {
                (Some(text), _) => text.as_bytes().to_vec(),
                (None, Some(hex)) => bytes(hex).ok_or_else(|| missing(name))?,
                _ => return Err(missing(name)),
            };
            files.insert(name.clone(), bytes);
        }
        let lane = |value: &Value| {
            let small = |value: &Value| u32::try_from(value.as_u64()?).ok();
            let (block, warp) = (value[0].as_u64()?, small(&value[1])?);
            Some(LanePlace { block, warp, lane: small(&value[2])? })
        };
        let branch = |value: &Value| usize::try_from(value["branch"].as_u64()?).ok();
        let change = |value: &Value| {
            Some(Change {
                branch: branch(value)?,
                position: value["position"].as_u64()?,
                focus: lane(&value["focus"])?,
                command: value["command"].as_str()?.to_owned(),
            })
        };
        let word = |value: &Value| match value {
            Value::Null => Some(None),
            value => Some(Some(value.as_str()?.to_owned())),
        };
        let launch = |value: &Value| {
            Some(LaunchRecord {
                changes: value["changes"].as_array()?.iter().map(change).collect::<Option<_>>()?,
                branch: branch(value)?,
                position: value["position"].as_u64()?,
                focus: lane(&value["focus"])?,
                digest: u64::from_str_radix(value["digest"].as_str()?, 16).ok()?,
                again: word(&value["again"])?,
                ended: word(&value["ended"])?,
            })
        };
        let launches = value["launches"].as_array().ok_or_else(|| missing("launches"))?;
        let launches: Option<Vec<LaunchRecord>> = launches.iter().map(launch).collect();
        let launches = launches.ok_or_else(|| missing("launches"))?;
        Ok(Self { words, files, launches })
    }

    /// Writes the files to a folder, and returns the words of the command line there.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub(super) fn unpack(&self, folder: &Path) -> std::io::Result<Vec<String>> {
        for (name, bytes) in &self.files {
            let path = folder.join(name);
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent)?;
            }
            std::fs::write(path, bytes)?;
        }
        let word = |word: &String| {
            let mut word = word.clone();
            for name in self.files.keys() {
                let path = folder.join(name);
                word = word.replace(&format!("{{{{{name}}}}}"), &path.to_string_lossy());
            }
            word
        };
        Ok(self.words.iter().map(word).collect())
    }
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> = hex.chars().map(|digit| digit.to_digit(16)).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    Some(digits.chunks(2).map(|pair| (pair[0] * 16 + pair[1]) as u8).collect())
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
