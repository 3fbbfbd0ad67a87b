//! The steps that the compiled tier leaves to the interpreter: few of the bundled kernels', and a
//! table over all PTX in this repository.

use converge::catalogue::Entry;
use fast::Level;
use fast::code::{Dst, Kind, Step};
use jit::{Compiled, Coverage};
use simt::machine::Machine;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use vm::{Engine, Launch, Program, catalogued, load_variables};

/// The levels that have code.
const LEVELS: [Level; 2] = [Level::Avx512, Level::Avx2];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Collects the PTX files of a folder and its subfolders.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|e| e == "ptx") {
            found.push(path);
        }
    }
}

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
    let (tree, _) = ptx::parse(isa::FileId::default(), text);
    let (module, _) = ptx::lower(&tree, ptx::Select::All);
    let Some(program) = module.and_then(|m| Program::link(m).ok()) else { return };
    let entry = Entry::find("ipdom").expect("it is in the catalogue");
    for (index, function) in program.module().functions.iter().enumerate() {
        let mut launch = Launch::new(ir::FuncId(index as u32), catalogued(entry));
        let Ok(variables) = load_variables(&program, &mut launch.memory) else { continue };
        launch.variables = variables;
        launch.block = block;
        let size = function.params().iter().map(|p| p.offset + p.size).max().unwrap_or(0);
        launch.params = vec![0; size as usize];
        let Ok(state) = Engine::<1>.launch(&program, launch) else { continue };
        let Ok(kernel) = fast::prepare(&program, &state, true) else { continue };
        if let Ok(compiled) = Compiled::at(kernel, level, false) {
            table.add(&compiled);
        }
    }
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
    for level in LEVELS {
        let table = table(&repository().join("kernels"), [256, 1, 1], level);
        assert!(table.share() > 90.0 || table.steps == 0, "{level}: {:.1} %", table.share());
    }
}

/// `cargo test -p simtlab-jit --release --test coverage -- --ignored --nocapture`; for another
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
