//! `cargo xtask ptxas`: compares what the PTX front end takes with what NVIDIA's assembler takes.
//!
//! Every instruction that the table of forms can spell, and the bundled kernels after small random changes, go to both. Each
//! difference is printed; docs/ptx-ptxas.md says which there are and why. `ptxas` comes from PyPI, at the version pinned in
//! `kernels/tools/ptxas.txt`; nothing here runs in the tests.

#![allow(clippy::print_stdout, reason = "a command's output")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;
use isa::FileId;
use ptx::testing::{Random, file, instructions, mutate};

use crate::python::Python;
use crate::tree;

/// The target that `ptxas` assembles for.
const ARCH: &str = "sm_100";

/// Instructions of one file: `ptxas` names the line of each that is wrong.
const BATCH: usize = 400;

/// Options of `cargo xtask ptxas`.
#[derive(Args)]
pub(crate) struct Options {
    /// Changed files to compare.
    #[arg(long, default_value_t = 200)]
    mutations: usize,
    /// Where the changes begin.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Compare no single instructions.
    #[arg(long)]
    no_forms: bool,
    /// An assembler that is installed already.
    #[arg(long, value_name = "FILE")]
    ptxas: Option<PathBuf>,
}

/// Runs both comparisons.
pub(crate) fn run(options: &Options) -> Result<()> {
    let work = tree::root().join("target").join("ptxas");
    let assembler = match &options.ptxas {
        Some(given) => given.clone(),
        None => fetch(&work)?,
    };
    fs::create_dir_all(&work)?;
    let judge = Judge { assembler, scratch: work };
    if !options.no_forms {
        forms(&judge)?;
    }
    mutations(&judge, options)
}

/// Installs the pinned package; the path of its `ptxas`.
fn fetch(work: &Path) -> Result<PathBuf> {
    let venv = work.join("venv");
    Python::with(&venv, &tree::root().join("kernels/tools/ptxas.txt"))?;
    let mut pending = vec![venv];
    while let Some(folder) = pending.pop() {
        for entry in tree::entries(&folder)? {
            if entry.is_dir() && !entry.is_symlink() {
                pending.push(entry);
            } else if entry.file_name().is_some_and(|name| name == "ptxas") {
                return Ok(entry);
            }
        }
    }
    bail!("the package holds no ptxas")
}

struct Judge {
    assembler: PathBuf,
    scratch: PathBuf,
}

impl Judge {
    /// Lines of a text that `ptxas` refuses, with its first message for each; line 0 for what has no line.
    fn errors(&self, text: &str) -> Result<BTreeMap<usize, String>> {
        let path = self.scratch.join("input.ptx");
        fs::write(&path, text)?;
        let output = Command::new(&self.assembler)
            .arg(format!("-arch={ARCH}"))
            .arg(&path)
            .args(["-o", "/dev/null"])
            .output()
            .with_context(|| format!("cannot run {}", self.assembler.display()))?;
        let mut errors = BTreeMap::new();
        if output.status.success() {
            return Ok(errors);
        }
        for message in String::from_utf8_lossy(&output.stderr).lines() {
            let Some((place, what)) = message.split_once("; ") else { continue };
            if what.starts_with("warning") {
                continue;
            }
            let line = place.rsplit("line ").next().and_then(|n| n.trim().parse().ok());
            errors.entry(line.unwrap_or(0)).or_insert_with(|| what.to_owned());
        }
        if errors.is_empty() {
            errors.insert(0, String::from_utf8_lossy(&output.stderr).into_owned());
        }
        Ok(errors)
    }
}

/// Whether the front end takes a text, with its first message if not.
fn ours(text: &str) -> Option<String> {
    let (tree, mut found) = ptx::parse(FileId(0), text);
    if !found.has_errors() {
        found.append(ptx::check(&tree));
    }
    found.iter().find(|d| d.severity == isa::Severity::Error).map(|d| d.message.clone())
}

/// Every instruction of the table: those of a batch in one file, a line each.
fn forms(judge: &Judge) -> Result<()> {
    let all: Vec<String> = instructions().into_iter().map(|(_, text)| text).collect();
    let (mut refused, mut extra, mut both) = (0, 0, 0);
    for batch in all.chunks(BATCH) {
        let body = batch.join("\n");
        let text = file(&body);
        let first = text.find(&body).map_or(0, |at| text[..at].lines().count());
        let errors = judge.errors(&text)?;
        for (index, instruction) in batch.iter().enumerate() {
            let theirs = errors.get(&(first + index + 1));
            match (ours(&file(instruction)), theirs) {
                (None, Some(why)) => {
                    extra += 1;
                    println!("only here   {instruction}  -- ptxas: {why}");
                }
                (Some(why), None) => {
                    refused += 1;
                    println!("only ptxas  {instruction}  -- here: {why}");
                }
                _ => both += 1,
            }
        }
    }
    println!(
        "{} instructions: {both} alike, {extra} taken only here, {refused} taken only by ptxas",
        all.len()
    );
    Ok(())
}

/// Bundled kernels with a few changed tokens.
fn mutations(judge: &Judge, options: &Options) -> Result<()> {
    let mut files = Vec::new();
    for folder in tree::entries(&tree::root().join("kernels"))? {
        let name = folder.file_name().unwrap_or_default();
        files.extend(fs::read_to_string(folder.join(name).with_extension("ptx")).ok());
    }
    let mut random = Random::new(options.seed);
    let (mut alike, mut taken) = (0, 0);
    for number in 0..options.mutations {
        let text = mutate(&files[random.below(files.len())], &mut random);
        let theirs = judge.errors(&text)?;
        let first = theirs.iter().next();
        match (ours(&text), first) {
            (None, Some((line, why))) => {
                let at = text.lines().nth(line.saturating_sub(1)).unwrap_or("").trim();
                println!("only here   change {number}, line {line}: {at}  -- ptxas: {why}");
            }
            (Some(why), None) => println!("only ptxas  change {number}  -- here: {why}"),
            (here, _) => {
                alike += 1;
                taken += usize::from(here.is_none());
            }
        }
    }
    println!("{} changed files: {alike} alike, {taken} of them taken by both", options.mutations);
    Ok(())
}
