//! `cargo xtask mutants`: whether the tests notice faults in the fast paths of the engines.
//!
//! `crates/xtask/mutants.toml` lists mutations: a file, a piece of it, what takes its place, and
//! the test that has to fail then. Each is applied to a copy of the repository in `target/mutants`,
//! which has a target folder of its own, so that only the changed crate and the test program are
//! built again. Crates with mutations are built incrementally and without optimization: a test of a
//! few instructions runs for a second, compiling is what takes the time. A mutation that its test
//! does not notice survives, and the command fails.

#![allow(clippy::print_stdout, reason = "a command's output")]

use std::fs;
use std::path::PathBuf;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde::Deserialize;

use crate::test_programs::Programs;
use crate::tree;

/// Settings of the build: no debugging information, and the crates with mutations as fast to
/// compile as they can be.
const PROFILE: &[&str] = &[
    "profile.dev.debug=false",
    "profile.dev.incremental=true",
    "profile.dev.package.simtlab-fast.opt-level=0",
    "profile.dev.package.simtlab-jit.opt-level=0",
];

/// How often the test of every instruction runs each of the few that a mutation names: all of them,
/// as the tests run them once, have as many values.
const ROUNDS: &str = "6";

/// How long a test may take before its mutation counts as noticed: a mutation can make code that
/// does not end.
const PATIENCE: Duration = Duration::from_secs(600);

/// Options of `cargo xtask mutants`.
#[derive(Args)]
pub(crate) struct Options {
    /// Try only mutations whose names contain this; may be given several times.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Print the mutations, and try none.
    #[arg(long)]
    list: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    mutant: Vec<Mutant>,
}

/// One mutation.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Mutant {
    name: String,
    /// From the repository's root.
    file: PathBuf,
    old: String,
    new: String,
    #[serde(default)]
    test: Test,
    /// Prefix of the instructions that the default [`Test`] runs; all of them if it is empty.
    #[serde(default)]
    only: String,
}

/// A test: the crate, the test program, and the test's name.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "(String, String, String)")]
struct Test {
    package: String,
    program: String,
    name: String,
}

impl From<(String, String, String)> for Test {
    fn from((package, program, name): (String, String, String)) -> Self {
        Self { package, program, name }
    }
}

impl Default for Test {
    /// Every instruction on every engine.
    fn default() -> Self {
        let own = |text: &str| text.to_owned();
        Self {
            package: own("simtlab-jit"),
            program: own("jit"),
            name: own("every_form::every_form_gives_the_same_on_all_engines"),
        }
    }
}

/// The mutations of the repository.
fn table() -> Result<Vec<Mutant>> {
    let path = tree::root().join("crates/xtask/mutants.toml");
    let text = fs::read_to_string(&path).with_context(|| tree::shown(&path))?;
    Ok(toml::from_str::<Table>(&text).with_context(|| tree::shown(&path))?.mutant)
}

impl Mutant {
    /// The text of the mutated file.
    fn apply(&self, text: &str) -> Result<String> {
        let times = text.matches(&*self.old).count();
        ensure!(
            times == 1,
            "{}: {} has the old text {times} times",
            self.name,
            self.file.display()
        );
        ensure!(self.old != self.new, "{}: it changes nothing", self.name);
        Ok(text.replacen(&*self.old, &self.new, 1))
    }
}

/// How a test ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Passed,
    Failed,
    Late,
}

/// Tries mutations.
pub(crate) fn run(options: &Options) -> Result<()> {
    let mut mutants = table()?;
    let wanted = |m: &Mutant| options.only.iter().any(|only| m.name.contains(&**only));
    mutants.retain(|m| options.only.is_empty() || wanted(m));
    ensure!(!mutants.is_empty(), "no mutation has such a name");
    if options.list {
        for mutant in &mutants {
            println!("{:<40} {}", mutant.name, mutant.file.display());
        }
        return Ok(());
    }
    let copy = Copy::new()?;
    let mut tried: Vec<(&Test, &str)> = Vec::new();
    for mutant in &mutants {
        let test = (&mutant.test, &*mutant.only);
        if !tried.contains(&test) {
            let end = copy.test(&mutant.test, &mutant.only)?;
            ensure!(end == End::Passed, "{test:?} does not pass without a mutation: {end:?}");
            tried.push(test);
        }
    }
    let mut survivors = Vec::new();
    for mutant in &mutants {
        let begin = Instant::now();
        let end = copy.with(mutant, || copy.test(&mutant.test, &mutant.only))?;
        let what = match end {
            End::Passed => "SURVIVES",
            End::Failed => "noticed",
            End::Late => "noticed: the test does not end",
        };
        println!("{:<40} {what} ({} s)", mutant.name, begin.elapsed().as_secs());
        if end == End::Passed {
            survivors.push(&*mutant.name);
        }
    }
    println!("{} of {} mutations are noticed", mutants.len() - survivors.len(), mutants.len());
    ensure!(survivors.is_empty(), "not noticed: {}", survivors.join(", "));
    Ok(())
}

/// A copy of the repository, to be changed.
struct Copy {
    root: PathBuf,
    target: PathBuf,
}

impl Copy {
    /// Brings the copy up to date; files that are the same keep their times, so that little is
    /// built again.
    fn new() -> Result<Self> {
        let work = tree::root().join("target/mutants");
        let this = Self { root: work.join("tree"), target: work.join("target") };
        tree::mirror(&this.root, &tree::contents()?)?;
        Ok(this)
    }

    /// Does something while a mutation is there.
    fn with<T>(&self, mutant: &Mutant, what: impl FnOnce() -> Result<T>) -> Result<T> {
        let path = self.root.join(&mutant.file);
        let text = fs::read_to_string(&path).with_context(|| mutant.file.display().to_string())?;
        tree::put(&path, mutant.apply(&text)?.as_bytes())?;
        let done = what().with_context(|| mutant.name.clone());
        tree::put(&path, text.as_bytes())?;
        done
    }

    /// Builds and runs a test.
    fn test(&self, test: &Test, only: &str) -> Result<End> {
        let Test { package, program, name } = test;
        let tests = std::iter::once((&**package, &**program));
        let programs = Programs::build(&self.root, &self.target, tests, PROFILE)?;
        let mut child = programs
            .get(package, program)?
            .command()
            .args(["--exact", name])
            .env("ONLY", only)
            .env("ROUNDS", ROUNDS)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(match wait(&mut child)? {
            Some(status) if status.success() => End::Passed,
            Some(_) => End::Failed,
            None => End::Late,
        })
    }
}

/// Waits for a program; `None` if it had to be ended.
fn wait(child: &mut Child) -> Result<Option<ExitStatus>> {
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::{Test, table};
    use crate::tree;
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::{Path, PathBuf};

    #[test]
    fn every_mutation_is_of_text_that_is_there_once() {
        let mutants = table().expect("it can be read");
        assert!(mutants.len() >= 40, "{}", mutants.len());
        let mut wrong = Vec::new();
        for mutant in &mutants {
            let text = fs::read_to_string(tree::root().join(&mutant.file)).unwrap_or_default();
            wrong.extend(mutant.apply(&text).err().map(|e| e.to_string()));
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
        let names: BTreeSet<&str> = mutants.iter().map(|m| &*m.name).collect();
        assert_eq!(names.len(), mutants.len(), "a name is there twice");
    }

    /// The files that a module of a test program may be in.
    fn files_of(tests: &Path, program: &str, module: &str) -> Vec<PathBuf> {
        let folder = tests.join(program);
        let of = |parts: &[&str]| match parts {
            [] => [folder.join("main.rs"), tests.join(format!("{program}.rs"))],
            parts => {
                let path = folder.join(parts.join("/"));
                [path.with_extension("rs"), path.join("mod.rs")]
            }
        };
        let parts: Vec<&str> = module.split("::").filter(|part| !part.is_empty()).collect();
        // The last ones may be modules within a file.
        (0..=parts.len()).rev().flat_map(|end| of(&parts[..end])).collect()
    }

    #[test]
    fn every_mutation_has_a_test_that_is_there() {
        let forms = ptx::testing::instructions();
        for mutant in table().expect("it can be read") {
            let Test { package, program, name } = &mutant.test;
            let folder = match &**package {
                "simtlab" => "cli",
                package => package.trim_start_matches("simtlab-"),
            };
            let tests = tree::root().join("crates").join(folder).join("tests");
            // A test of files is the path of one. Others run by their whole names alone.
            let (module, function) = name.rsplit_once("::").unwrap_or(("", name));
            let function = format!("fn {function}(");
            let is_there = tests.join(name).is_file()
                || files_of(&tests, program, module)
                    .iter()
                    .any(|file| fs::read_to_string(file).is_ok_and(|t| t.contains(&function)));
            assert!(is_there, "{}: {name}", mutant.name);
            let found = forms.iter().any(|(_, text)| text.starts_with(&mutant.only));
            assert!(found, "{}: no instruction begins with `{}`", mutant.name, mutant.only);
        }
    }
}
