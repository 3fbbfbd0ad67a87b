//! `cargo xtask ptxas`: compares what the PTX front end takes with what NVIDIA's assembler takes.
//!
//! Every instruction that the table of forms can spell, the instructions near to these (with
//! `--around`), and the bundled kernels after small random changes, go to both. Each difference is
//! printed; docs/ptx-ptxas.md says which there are and why. `ptxas` comes from PyPI, at the version
//! pinned in `kernels/tools/ptxas.txt`; nothing here runs in the tests.

#![allow(clippy::print_stdout, reason = "a command's output")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;
use isa::FileId;
use ptx::testing::{Random, file, instructions, mutate, neighbours};

use crate::python::Python;
use crate::tree;

mod table;

/// Instructions of one file: `ptxas` names the line of each that is wrong.
const BATCH: usize = 2000;

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
    /// Compare what is one word or type away from the forms of these opcodes, too (`all`: of every
    /// opcode).
    #[arg(long, value_name = "OPCODE")]
    around: Vec<String>,
    /// The target that is assembled for.
    #[arg(long, default_value = "sm_100a")]
    target: String,
    /// Write docs/ptx-targets.md, the forms that targets have, and compare nothing.
    #[arg(long)]
    table: bool,
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
    if options.table {
        return table::write(&assembler, &work);
    }
    let judge = Judge { assembler, scratch: work, target: options.target.clone() };
    if !options.no_forms {
        let all: Vec<String> = instructions().into_iter().map(|(_, text)| text).collect();
        compare(&judge, &all)?;
    }
    for family in ptx::spelling::families() {
        if options.around.iter().any(|opcode| opcode == family.name || opcode == "all") {
            print!("{}: ", family.name);
            compare(&judge, &neighbours(family.name))?;
        }
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
    target: String,
}

impl Judge {
    /// Lines of a text that `ptxas` refuses, with its first message for each; line 0 for what has
    /// no line.
    fn errors(&self, text: &str) -> Result<BTreeMap<usize, String>> {
        // Two of these may run at once.
        let path = self.scratch.join(format!("input-{}.ptx", std::process::id()));
        fs::write(&path, text)?;
        let output = Command::new(&self.assembler)
            .arg(format!("-arch={}", self.target))
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
            if ["warning", "info"].iter().any(|kind| what.starts_with(kind)) {
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

    /// For each of the instructions why `ptxas` refuses it. It finds what is wrong in several
    /// passes and reports that of one pass, so what is refused is taken out and the rest tried
    /// again.
    fn refused(&self, instructions: &[String]) -> Result<Vec<Option<String>>> {
        let mut refused: Vec<Option<String>> = vec![None; instructions.len()];
        loop {
            let left: Vec<usize> = (0..refused.len()).filter(|k| refused[*k].is_none()).collect();
            let body: Vec<&str> = left.iter().map(|k| instructions[*k].as_str()).collect();
            let body = body.join("\n");
            let text = file(&self.target, &body);
            let first = text.find(&body).map_or(0, |at| text[..at].lines().count()) + 1;
            let mut found = false;
            for (line, why) in self.errors(&text)? {
                if let Some(index) = line.checked_sub(first).and_then(|k| left.get(k)) {
                    refused[*index] = Some(why);
                    found = true;
                }
            }
            // What it says of no line is about all of the file: addresses of 32 bits beside those
            // of 64.
            if !found {
                return Ok(refused);
            }
        }
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

/// Gives instructions to both, those of a batch in one file, a line each.
fn compare(judge: &Judge, all: &[String]) -> Result<()> {
    let (mut refused, mut extra, mut both) = (0, 0, 0);
    for batch in all.chunks(BATCH) {
        for (instruction, theirs) in batch.iter().zip(judge.refused(batch)?) {
            match (ours(&file(&judge.target, instruction)), theirs) {
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
