//! `cargo xtask recipes`: whether the recipes of CONTRIBUTING.md still work.
//!
//! Their `diff` blocks are patches without line numbers, their `sh` blocks name tests. All patches
//! together are applied to a copy of the repository in `target/recipes`, all test programs are
//! built at once and without optimization, and each recipe's tests run. Files of the copy that stay
//! the same keep their times, so that a second run builds little.

#![allow(clippy::print_stdout, reason = "a command's output")]

mod patch;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::test_programs::Programs;
use crate::tree;
use patch::{Change, changes};

/// What a test program prints if all tests that it has run have passed.
const PASSED: &str = "test result: ok. ";

/// A recipe: a section of the page with patches.
#[derive(Debug)]
struct Recipe {
    /// The section's heading.
    title: String,
    changes: Vec<Change>,
    tests: Vec<Test>,
}

/// A line `cargo test -p PACKAGE --test PROGRAM -- FILTER ...`.
#[derive(Debug, PartialEq, Eq)]
struct Test {
    package: String,
    program: String,
    filters: Vec<String>,
}

/// Reads the page.
fn recipes() -> Result<Vec<Recipe>> {
    let path = tree::root().join("CONTRIBUTING.md");
    parse(&fs::read_to_string(&path).with_context(|| tree::shown(&path))?)
}

/// Returns the sections of a page that have patches.
fn parse(page: &str) -> Result<Vec<Recipe>> {
    let mut recipes: Vec<Recipe> = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(title) = line.strip_prefix("## ") {
            let title = title.to_owned();
            recipes.push(Recipe { title, changes: Vec::new(), tests: Vec::new() });
        }
        let Some(language) = line.strip_prefix("```").filter(|word| !word.is_empty()) else {
            continue;
        };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        let Some(recipe) = recipes.last_mut() else { continue };
        match language {
            "diff" => recipe.changes.extend(changes(&block)?),
            "sh" => {
                let tests: Result<Vec<Test>> = block.iter().map(|line| Test::parse(line)).collect();
                recipe.tests.extend(tests?);
            }
            _ => {}
        }
    }
    recipes.retain(|recipe| !recipe.changes.is_empty());
    for Recipe { title, tests, .. } in &recipes {
        ensure!(!tests.is_empty(), "\"{title}\" names no tests");
    }
    Ok(recipes)
}

impl Test {
    fn parse(line: &str) -> Result<Self> {
        let words: Vec<&str> = line.split(' ').collect();
        match &*words {
            ["cargo", "test", "-p", package, "--test", program, rest @ ..] => Ok(Self {
                package: (*package).to_owned(),
                program: (*program).to_owned(),
                filters: rest.iter().filter(|w| **w != "--").map(|w| (*w).to_owned()).collect(),
            }),
            _ => anyhow::bail!("not `cargo test -p PACKAGE --test PROGRAM -- FILTER`: {line}"),
        }
    }
}

/// Applies the changes of all recipes to files by path.
fn apply(recipes: &[Recipe], files: &mut BTreeMap<String, Vec<u8>>) -> Result<()> {
    for recipe in recipes {
        for change in &recipe.changes {
            let old = files.get(&change.path).map(|bytes| String::from_utf8_lossy(bytes));
            let new = change.apply(old.as_deref()).with_context(|| recipe.title.clone())?;
            files.insert(change.path.clone(), new.into_bytes());
        }
    }
    Ok(())
}

/// Tries the recipes.
pub(crate) fn run() -> Result<()> {
    let begin = Instant::now();
    let recipes = recipes()?;
    let mut files = tree::contents()?;
    apply(&recipes, &mut files)?;
    let work = tree::root().join("target/recipes");
    let copy = work.join("tree");
    tree::mirror(&copy, &files)?;
    for recipe in &recipes {
        println!("{}: {}", recipe.title, recipe.size());
    }
    let tests = recipes.iter().flat_map(|recipe| &recipe.tests);
    let tests = tests.map(|test| (&*test.package, &*test.program));
    let programs = Programs::build(&copy, &work.join("target"), tests, &fast_to_build(&copy)?)?;
    println!("built in {} s", begin.elapsed().as_secs());
    for recipe in &recipes {
        for test in &recipe.tests {
            let passed = test.run(&programs)?;
            let filters = test.filters.join(" ");
            println!("{}: {} {filters}: {passed}", recipe.title, test.program);
        }
    }
    println!("{} recipes work ({} s)", recipes.len(), begin.elapsed().as_secs());
    Ok(())
}

impl Recipe {
    /// The files that it changes: the sources, and those of tests.
    fn size(&self) -> String {
        let paths = |tests: bool| -> BTreeSet<&str> {
            let such = |path: &&str| path.contains("/tests/") == tests;
            self.changes.iter().map(|change| &*change.path).filter(such).collect()
        };
        let lines: usize = self.changes.iter().map(Change::added).sum();
        let (sources, tests) = (paths(false).len(), paths(true).len());
        format!("{sources} source files, {tests} files of tests, {lines} lines")
    }
}

/// Settings of a build that takes little time: no debugging information, and no optimization of the
/// packages for which the manifest asks for some.
fn fast_to_build(copy: &Path) -> Result<Vec<String>> {
    let manifest: toml::Table = toml::from_str(&fs::read_to_string(copy.join("Cargo.toml"))?)?;
    let packages = ["profile", "dev", "package"]
        .iter()
        .try_fold(&manifest, |table, key| table.get(*key).and_then(toml::Value::as_table));
    let names = packages.into_iter().flat_map(toml::Table::keys);
    let mut settings: Vec<String> =
        names.map(|name| format!("profile.dev.package.{name}.opt-level=0")).collect();
    settings.push("profile.dev.debug=false".to_owned());
    Ok(settings)
}

impl Test {
    /// Runs it; returns how many tests have passed.
    fn run(&self, programs: &Programs) -> Result<String> {
        let begin = Instant::now();
        let output = programs
            .get(&self.package, &self.program)?
            .command()
            .args(&self.filters)
            .output()
            .with_context(|| self.program.clone())?;
        let text = String::from_utf8_lossy(&output.stdout);
        ensure!(output.status.success(), "{} fails:\n{text}", self.program);
        let passed = text.lines().find_map(|line| line.strip_prefix(PASSED));
        let count = passed.and_then(|rest| rest.split(' ').next()).unwrap_or("0");
        ensure!(count != "0", "{} has no test {}", self.program, self.filters.join(" "));
        Ok(format!("{count} passed ({} s)", begin.elapsed().as_secs()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recipes_apply_to_this_tree() {
        let recipes = recipes().expect("the page can be read");
        let titles: Vec<&str> = recipes.iter().map(|recipe| &*recipe.title).collect();
        for part in ["operation", "mechanism", "trap", "counter"] {
            assert!(titles.iter().any(|title| title.contains(part)), "{part}: {titles:?}");
        }
        let mut files = tree::contents().expect("the tree can be read");
        apply(&recipes, &mut files).expect("the recipes apply");
    }

    #[test]
    fn recipes_name_tests_that_are_there() {
        for test in recipes().expect("the page can be read").iter().flat_map(|r| &r.tests) {
            let crates = tree::root().join("crates");
            let folder = crates.join(test.package.trim_start_matches("simtlab-")).join("tests");
            let file = folder.join(format!("{}.rs", test.program));
            let main = folder.join(&test.program).join("main.rs");
            assert!(file.is_file() || main.is_file(), "{test:?}");
        }
    }
}
