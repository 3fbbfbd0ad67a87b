//! `cargo xtask words`: whether names are made of the field's terms and of common words.
//!
//! Checked are the names of files, of items with a visibility, of their public fields, and of
//! tests, in the crates of [`CRATES`]. A word of a name has to stand in the glossary of
//! ARCHITECTURE.md, as a term or as part of one, or in `crates/xtask/words.txt`, one word a line in
//! alphabetical order. A new word belongs into that list if every engineer knows it; a word for a
//! concept of this project belongs into the glossary.

#![allow(clippy::print_stdout, reason = "a command's output")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Args;

use crate::tree;

/// The crates whose names are checked.
const CRATES: [&str; 9] =
    ["jit", "fast", "engine", "inputs", "machines", "lab", "study", "runtime", "cuda"];

/// Options of `cargo xtask words`.
#[derive(Args)]
pub(crate) struct Options {
    /// Print all words that names are made of, with how often they are used.
    #[arg(long)]
    list: bool,
}

/// Names by the words that they are made of.
type Words = BTreeMap<String, BTreeSet<String>>;

/// Prints the words that stand in no list, and fails if there are any.
pub(crate) fn run(options: &Options) -> Result<()> {
    let words = words()?;
    if options.list {
        for (word, names) in &words {
            println!("{word:<20} {}", names.len());
        }
        return Ok(());
    }
    let unknown = unknown(&words)?;
    for (word, names) in &unknown {
        let names: Vec<&str> = names.iter().take(4).map(String::as_str).collect();
        println!("{word:<20} {}", names.join("  "));
    }
    ensure!(unknown.is_empty(), "{} words stand in no list", unknown.len());
    println!("all {} words stand in the glossary or in the list", words.len());
    Ok(())
}

/// Returns the words that stand in no list, with the names that have them.
fn unknown(words: &Words) -> Result<Words> {
    let known = known()?;
    Ok(words
        .iter()
        .filter(|(w, _)| !known.contains(*w))
        .map(|(w, n)| (w.clone(), n.clone()))
        .collect())
}

/// Returns the words of the glossary and of the list.
fn known() -> Result<BTreeSet<String>> {
    let read = |path: &str| {
        let path = tree::root().join(path);
        fs::read_to_string(&path).with_context(|| tree::shown(&path))
    };
    let mut known: BTreeSet<String> =
        read("crates/xtask/words.txt")?.lines().map(str::to_owned).collect();
    let page = read("ARCHITECTURE.md")?;
    let glossary = page.split("\n## ").find(|part| part.starts_with("Glossary"));
    let rows = glossary.context("ARCHITECTURE.md has no glossary")?.lines();
    for row in rows.filter(|row| row.starts_with("| ")) {
        let term = row.split('|').nth(1).unwrap_or_default();
        known.extend(split(term));
    }
    Ok(known)
}

/// Returns the words of all checked names.
fn words() -> Result<Words> {
    let mut words = Words::new();
    for name in CRATES {
        for folder in ["src", "tests"] {
            let folder = tree::root().join("crates").join(name).join(folder);
            if folder.is_dir() {
                collect(&folder, &mut words)?;
            }
        }
    }
    Ok(words)
}

/// Adds the words of a folder's files.
fn collect(folder: &Path, words: &mut Words) -> Result<()> {
    for path in tree::entries(folder)? {
        let shown = tree::shown(&path);
        let stem = PathBuf::from(path.file_stem().unwrap_or_default());
        add(&stem.display().to_string(), &shown, words);
        if path.is_dir() {
            collect(&path, words)?;
        } else if path.extension().is_some_and(|e| e == "rs") {
            let text = fs::read_to_string(&path).with_context(|| shown.clone())?;
            for name in names(&text) {
                add(name, &shown, words);
            }
        }
    }
    Ok(())
}

fn add(name: &str, file: &str, words: &mut Words) {
    for word in split(name) {
        words.entry(word).or_default().insert(format!("{file}:{name}"));
    }
}

/// Returns the names that a text declares: items and fields with a visibility, and tests.
fn names(text: &str) -> Vec<&str> {
    const ITEMS: [&str; 9] =
        ["fn", "struct", "enum", "trait", "type", "const", "static", "mod", "union"];
    let mut names = Vec::new();
    let mut test = false;
    for line in text.lines().map(str::trim) {
        if line == "#[test]" {
            test = true;
            continue;
        }
        if line.starts_with('#') || line.starts_with("//") {
            continue;
        }
        let visible = line.strip_prefix("pub").map(|rest| match rest.strip_prefix('(') {
            Some(inner) => inner.split_once(')').map_or("", |(_, rest)| rest),
            None => rest,
        });
        let mut rest = visible.unwrap_or(line).split_whitespace().peekable();
        let mut item = rest.next().unwrap_or_default();
        while matches!(item, "unsafe" | "extern" | "async" | "\"C\"")
            || item == "const" && rest.peek() == Some(&"fn")
        {
            item = rest.next().unwrap_or_default();
        }
        let name = if ITEMS.contains(&item) { rest.next() } else { None };
        let field = line.split_once(':').map(|_| item).filter(|item| item.ends_with(':'));
        if visible.is_some() || test && item == "fn" {
            let end = |c: char| !c.is_alphanumeric() && c != '_';
            names.extend(name.or(field).and_then(|name| name.split(end).next()));
        }
        test = false;
    }
    names.retain(|name| !name.is_empty());
    names
}

/// Returns the words of a name in lower case, without numbers and single letters.
fn split(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    let mut letters = name.chars().peekable();
    while let Some(c) = letters.next() {
        let starts = c.is_uppercase()
            && (before.is_lowercase()
                || before.is_uppercase() && letters.peek().is_some_and(|next| next.is_lowercase()));
        if starts || !c.is_alphabetic() {
            words.push(String::new());
        }
        if c.is_alphabetic()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    words.retain(|word| word.len() > 1);
    words
}

#[cfg(test)]
mod tests {
    use super::{known, names, split, unknown, words};

    #[test]
    fn names_are_made_of_known_words() {
        let unknown = unknown(&words().expect("names")).expect("lists");
        assert!(unknown.is_empty(), "in no list: {unknown:#?}");
        assert!(known().expect("lists").contains("reconvergence"));
    }

    #[test]
    fn the_list_is_sorted() {
        let list = include_str!("../words.txt");
        assert!(list.lines().is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn names_are_split_at_case_and_separators() {
        assert_eq!(split("ptx_run2ToEnd"), ["ptx", "run", "to", "end"]);
        assert_eq!(split("PTXLine"), ["ptx", "line"]);
        assert_eq!(split("MAX_SIZE a"), ["max", "size"]);
    }

    #[test]
    fn items_fields_and_tests_have_names() {
        let text = "
            pub(crate) const fn first() {}
            pub struct Second<T> {
                pub third: T,
                hidden: u8,
            }
            fn private() {}
            #[test]
            fn fourth() {}
            pub use other::Thing;
            pub(super) mod fifth;";
        assert_eq!(names(text), ["first", "Second", "third", "fourth", "fifth"]);
    }
}
