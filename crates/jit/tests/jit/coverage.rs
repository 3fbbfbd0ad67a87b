//! The steps that the compiled tier leaves to the interpreter: few of the bundled kernels', and a
//! table over all PTX in this repository.

use crate::corpus::{files, kernels, repository};
use fast::Level;
use fast::code::{Dst, Kind, Step};
use jit::{Compiled, Coverage};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The levels that have code.
const LEVELS: [Level; 2] = [Level::Avx512, Level::Avx2];

/// Returns the name of a step in the table.
fn name(step: &Step) -> String {
    match &step.kind {
        Kind::Generic(generic) => {
            let inst = &generic.inst;
            let ty = |t: Option<ir::Ty>| t.map(|t| format!(".{t:?}")).unwrap_or_default();
            let mut text = format!("{}{}{}", inst.op.name(), ty(inst.ty), ty(inst.ty2));
            if let Some(rounding) = inst.mods.rounding {
                text += &format!(".{rounding:?}");
            }
            if inst.mods.flags != ir::mods::Flags::NONE {
                text += &format!(" {:?}", inst.mods.flags);
            }
            let scalar = generic.dst.iter().any(|d| matches!(d, Dst::Scalar(_)));
            if scalar { text + " (scalar)" } else { text }
        }
        Kind::Load(m) => format!("load {:?}, words of {}, {} of them", m.space, m.word, m.words),
        Kind::Store(m) => format!("store {:?}, words of {}, {} of them", m.space, m.word, m.words),
        Kind::Atomic(a) => format!("atomic {:?} {:?} {:?}", a.op, a.ty, a.memory.space),
        Kind::Collective(c) => format!("{:?}", c.what.kind()),
        Kind::Sreg { reg, dst, .. } => {
            format!("sreg {reg:?} {dst:?}").split('(').next().unwrap_or_default().to_owned()
        }
        Kind::Barrier { kind, .. } => format!("barrier {kind:?}"),
        Kind::Scalar { native, .. } => format!("scalar {native:?}"),
        other => format!("{other:?}").split([' ', '(']).next().unwrap_or_default().to_owned(),
    }
}

#[derive(Default)]
struct Table {
    left: BTreeMap<String, usize>,
    native: usize,
    steps: usize,
}

impl Table {
    fn add(&mut self, compiled: &Compiled) {
        let Coverage { native, steps, .. } = compiled.coverage();
        self.native += native;
        self.steps += steps;
        for (_, step) in compiled.interpreted_steps() {
            *self.left.entry(name(step)).or_default() += 1;
        }
    }

    fn share(&self) -> f64 {
        100.0 * self.native as f64 / self.steps.max(1) as f64
    }
}

/// Adds all kernels of a file to the table.
fn add(text: &str, block: [u32; 3], level: Level, table: &mut Table) {
    kernels(text, block, &mut |_, kernel| {
        if let Ok(compiled) = Compiled::at(kernel, level, false) {
            table.add(&compiled);
        }
    });
}

fn table(folder: &Path, block: [u32; 3], level: Level) -> Table {
    let (mut found, mut table) = (Vec::new(), Table::default());
    files(folder, &mut found);
    for file in found {
        if let Ok(text) = std::fs::read_to_string(file) {
            add(&text, block, level, &mut table);
        }
    }
    table
}

#[test]
fn bundled_kernels_are_mostly_compiled() {
    jit::check_allocations(true);
    for level in LEVELS {
        let table = table(&repository().join("kernels"), [256, 1, 1], level);
        assert!(table.share() > 90.0 || table.steps == 0, "{level}: {:.1} %", table.share());
    }
}

/// A kernel without code would run many times slower, and no other test would tell.
#[test]
fn every_kernel_has_code() {
    every_kernel_has(false);
}

/// The same with the counting of accesses.
#[test]
fn every_kernel_has_detailed_code() {
    every_kernel_has(true);
}

fn every_kernel_has(detailed: bool) {
    let (mut found, mut refused) = (Vec::new(), Vec::new());
    for folder in ["kernels", "crates"] {
        files(&repository().join(folder), &mut found);
    }
    for level in LEVELS.into_iter().filter(|level| level.is_available()) {
        for file in &found {
            let Ok(text) = std::fs::read_to_string(file) else { continue };
            kernels(&text, [256, 1, 1], &mut |name, kernel| {
                if let Err((_, why)) = Compiled::at(kernel, level, detailed) {
                    refused.push(format!("{} {name}, {level}: {why}", file.display()));
                }
            });
        }
    }
    assert!(refused.is_empty(), "{refused:#?}");
}

/// `cargo test -p simtlab-jit --release --test jit coverage -- --ignored --nocapture`; for another
/// folder with `FOLDER=PATH`.
#[test]
#[ignore = "a table"]
fn print_interpreted_steps() {
    let mut out = std::io::stdout();
    let folders = match std::env::var_os("FOLDER") {
        Some(folder) => vec![PathBuf::from(folder)],
        None => vec![repository().join("kernels"), repository().join("crates")],
    };
    for folder in folders {
        for (level, block) in LEVELS.into_iter().flat_map(|l| [(l, [256, 1, 1]), (l, [16, 16, 1])])
        {
            let table = table(&folder, block, level);
            let (name, share) = (folder.display(), table.share());
            let _ = writeln!(
                out,
                "{name}, {level}, blocks of {block:?}: {share:.2} % of {} steps compiled",
                table.steps
            );
            let mut left: Vec<(usize, &String)> = table.left.iter().map(|(n, &c)| (c, n)).collect();
            left.sort_by_key(|l| std::cmp::Reverse(l.0));
            for (count, what) in left.iter().take(100) {
                let _ = writeln!(out, "{count:>6} {what}");
            }
        }
    }
}
