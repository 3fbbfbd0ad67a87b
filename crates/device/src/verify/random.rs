//! The random suite: kernels of both generators of [`generate`], many to a module.
//!
//! Kernels give the same results under every schedule. A kernel is named by its generator and its
//! seed, and its buffer has the same name: `forms_17` is the kernel of seed 17 from the front end's
//! table of forms, `flow_17` that of the IR's generator. A case's files are made when it is run,
//! and removed if all agrees: a seed makes them again. Of buffers that agree, records have the
//! hashes.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::OnceLock;

use generate::flow::{self, FlowKernel};
use generate::kernel::{Shape, module};
use generate::operands::{IN_BYTES, OWN_BYTES, eight_bytes, long, word};
use generate::random::{Pool, named};
use inputs::{Array, ElemType, npy};
use ir::testing::Rng;

use super::arithmetic::header;
use super::{Case, Kind, Suite, VerifyError, at};
use crate::compare::Comparison;
use crate::record::{Identity, RunRecord};

/// Kernels of a module, if the plan does not say: the most.
pub const MODULE_KERNELS: u16 = 500;

/// Modules of each generator: 100,000 kernels in all, if modules are large.
const MODULES: u64 = 100;

/// What the first modules are worth, beside cases of other suites. All others come last.
const WORTH: u32 = 35;

/// Modules that come before bundled kernels.
const FIRST: u64 = 2;

/// Kernels of a module whose differences are explained: each costs runs on the exact engine.
const EXPLAINED: usize = 4;

/// What the text of a kernel begins with.
pub(super) const MARK: &str = "// ";

/// Where kernels come from.
const GENERATORS: [&str; 2] = ["forms", "flow"];

/// The suite in modules of `kernels` kernels; its files are made later. Names tell the size of
/// modules, so that a folder may hold results of several.
pub(super) fn cases(folder: &Path, kernels: u16) -> Result<Vec<Case>, VerifyError> {
    let folder = folder.join("cases").join("random");
    std::fs::create_dir_all(&folder).map_err(at(&folder))?;
    let input = folder.join("in.npy");
    if !input.exists() {
        let mut rng = Rng::new(0);
        let words = (0..IN_BYTES / 8).map(|_| u64::from_le_bytes(eight_bytes(&mut rng)));
        let words: Vec<u64> = words.collect();
        npy::save(&input, &Array::from_bits(ElemType::U64, &words)).map_err(at(&input))?;
    }
    let case = |(generator, number): (&str, u64)| {
        let size = if kernels == MODULE_KERNELS { String::new() } else { format!("{kernels}x") };
        let name = format!("random-{generator}-{size}{number:03}");
        let seeds = number * u64::from(kernels)..(number + 1) * u64::from(kernels);
        Case {
            launch_file: folder.join(format!("{name}.toml")),
            name,
            suite: Suite::Random,
            kind: Kind::Compared,
            value: if number < FIRST { WORTH + (FIRST - number) as u32 } else { 0 },
            labels: Vec::new(),
            parts: seeds.map(|seed| format!("{generator}_{seed}")).collect(),
        }
    };
    let all = GENERATORS.into_iter().flat_map(|g| (0..MODULES).map(move |number| (g, number)));
    Ok(all.map(case).collect())
}

/// A smaller case with these of a case's kernels.
pub(super) fn part(case: &Case, mark: &str, numbers: &[usize]) -> Case {
    let name = format!("{}{mark}", case.name);
    Case {
        launch_file: case.launch_file.with_file_name(format!("{name}.toml")),
        name,
        parts: numbers.iter().filter_map(|&n| case.parts.get(n).cloned()).collect(),
        ..case.clone()
    }
}

/// A case of the first kernels that differ, and what the device gave for them.
pub(super) fn differing(
    case: &Case,
    record: &RunRecord,
    comparison: &Comparison,
) -> (Case, RunRecord) {
    let differ = comparison.buffers.iter().filter(|buffer| !buffer.agrees());
    let names: BTreeSet<&str> = differ.map(|buffer| buffer.name.as_str()).collect();
    let numbers = (0..case.parts.len()).filter(|&n| names.contains(case.parts[n].as_str()));
    let small = part(case, "-differing", &numbers.take(EXPLAINED).collect::<Vec<_>>());
    let mut record = record.clone();
    record.buffers.retain(|buffer| small.parts.contains(&buffer.name));
    (small, record)
}

/// Removes a case's files: its seeds make them again.
pub(super) fn remove(case: &Case) -> Result<(), VerifyError> {
    for path in [case.launch_file.clone(), case.launch_file.with_extension("ptx")] {
        std::fs::remove_file(&path).map_err(at(&path))?;
    }
    Ok(())
}

/// Makes the files of cases.
pub(super) struct Maker {
    header: String,
    /// Made when it is first needed: the front end looks at every form.
    pool: OnceLock<Pool>,
}

impl Maker {
    pub(super) fn new(device: &Identity) -> Self {
        Self { header: header(device), pool: OnceLock::new() }
    }

    /// Writes a case's program and launch file.
    pub(super) fn write(&self, case: &Case) -> Result<(), VerifyError> {
        let (mut forms, mut texts) = (Vec::new(), String::new());
        let (mut buffers, mut launches) = (String::new(), String::new());
        for name in &case.parts {
            let Some((generator, seed)) = name.split_once('_') else { continue };
            let seed: u64 = seed.parse().unwrap_or(0);
            let (shape, bytes, arguments) = if generator == "flow" {
                let kernel = flow::kernel(seed, name);
                texts += &kernel.text;
                (kernel.shape, FlowKernel::BYTES as u64, String::new())
            } else {
                let pool = self.pool.get_or_init(|| Pool::determinate(&self.header));
                forms.push(named(pool, seed, name));
                let shape = forms.last().map_or(Shape { grid: 1, block: [1; 3] }, |k| k.shape);
                (shape, OWN_BYTES, arguments(seed))
            };
            let threads = u64::from(shape.grid * shape.block.iter().product::<u32>());
            let _ = writeln!(buffers, "{name} = \"b32[{}]:zeros\"", threads * bytes / 4);
            let input = if generator == "flow" { "" } else { "\"&in\", " };
            let (grid, block) = (shape.grid, shape.block);
            let _ = writeln!(
                launches,
                "\n[[launch]]\nkernel = \"{name}\"\ngrid = [{grid}]\nblock = {block:?}\n\
                 args = [{input}\"&{name}\"{arguments}]"
            );
        }
        let stem = case.launch_file.file_stem().unwrap_or_default().to_string_lossy();
        let toml = format!(
            "schema = 1\nmachine = \"ptx\"\nmodule = \"{stem}.ptx\"\n\n[buffers]\n\
             in = \"@in.npy\"\n{buffers}{launches}"
        );
        let program = case.launch_file.with_extension("ptx");
        let text = module(&self.header, &forms) + &texts;
        std::fs::write(&program, text).map_err(at(&program))?;
        std::fs::write(&case.launch_file, toml).map_err(at(&case.launch_file))
    }
}

/// What a kernel of the table of forms is given beside its buffers.
fn arguments(seed: u64) -> String {
    let mut rng = Rng::new(seed ^ 0xdead_beef);
    let (a, b, c) = (word(&mut rng), word(&mut rng), long(&mut rng));
    let blob: Vec<String> =
        (0..8).flat_map(|_| eight_bytes(&mut rng)).map(|byte| format!("{byte:02x}")).collect();
    let blob = blob.join(" ");
    format!(", \"&in\", \"&in\", \"u32:{a}\", \"u32:{b}\", \"u64:{c}\", \"bytes[{blob}]\"")
}
