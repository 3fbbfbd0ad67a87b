//! The arithmetic suite: every form of every instruction that maps registers to registers, on
//! special values and random bits; approximate functions of one operand also on a grid over its
//! range.
//!
//! A case is a module of many kernels, one an instruction. Thread `t` of a kernel loads the
//! operands of row `t` of tables that all kernels share, executes the instruction once, and stores
//! the result in a buffer of the result's type.

mod spell;
pub(super) mod values;

use std::fmt::Write as _;
use std::path::Path;

use inputs::launch::Located;
use inputs::{Array, ElemType, npy};
use isa::{Diagnostics, SourceMap};
use machines::{Image, find};

use super::{Case, Kind, Suite, VerifyError, at};
use crate::compare::{BufferComparison, Comparison};
use crate::record::Identity;
use crate::worker::newest_ptx;
use spell::Probe;

/// Kernels of a module: a driver compiles that many in a second or two.
const KERNELS: usize = 64;

/// Kernels of a module on the grid.
const GRID_KERNELS: usize = 16;

/// What names of cases on the grid begin with.
const GRID: &str = "arithmetic-grid-";

/// What textures are worth, beside other cases.
const TEXTURES: u32 = 1;

/// The PTX version that modules declare where the driver's newest is not known.
const NEWEST: &str = "9.0";

/// Operands of the kernels of a case, in one file of rows for each element type.
struct Operands {
    rows: usize,
    /// Prefix of the files' names.
    prefix: &'static str,
    tables: fn() -> [Vec<u64>; 3],
}

/// Pairs of special values, and random bits.
const PAIRS: Operands = Operands { rows: values::ROWS, prefix: "", tables: values::tables };

/// Values of one operand all over its range.
const GRIDS: Operands =
    Operands { rows: values::GRID_ROWS, prefix: "grid-", tables: values::grids };

impl Operands {
    fn file(&self, ty: ElemType) -> String {
        format!("{}{ty}.npy", self.prefix)
    }

    /// Writes the files that are missing.
    fn save(&self, folder: &Path) -> Result<(), VerifyError> {
        let path = |ty| folder.join(self.file(ty));
        if values::TYPES.into_iter().all(|ty| path(ty).exists()) {
            return Ok(());
        }
        for (ty, rows) in values::TYPES.into_iter().zip((self.tables)()) {
            npy::save(&path(ty), &Array::from_bits(ty, &rows)).map_err(at(&path(ty)))?;
        }
        Ok(())
    }
}

/// The suite for a device; its launch files are written to the folder where they are missing.
pub(super) fn cases(folder: &Path, device: &Identity) -> Result<Vec<Case>, VerifyError> {
    let folder = folder.join("cases").join("arithmetic");
    std::fs::create_dir_all(&folder).map_err(at(&folder))?;
    PAIRS.save(&folder)?;
    GRIDS.save(&folder)?;
    let header = header(device);
    let mut probes: Vec<Probe> = ptx::testing::instructions()
        .into_iter()
        .filter_map(|(form, text)| Probe::new(form.opcode, &text))
        .chain(chains())
        .chain(ATOMICS.iter().filter_map(|text| Probe::atomic(text)))
        .filter(|probe| loads(&format!("{header}{}", probe.kernel(0))))
        .collect();
    // Cases of one worth, so that the order of cases is one of worth.
    probes.sort_by_key(|probe| std::cmp::Reverse(probe.worth()));
    let mut cases = Vec::new();
    for (number, group) in probes.chunks(KERNELS).enumerate() {
        let name = format!("arithmetic-{number:03}");
        cases.push(write(&folder, &header, &name, group, &PAIRS)?);
    }
    probes.retain(Probe::is_approximation_of_one);
    for (number, group) in probes.chunks(GRID_KERNELS).enumerate() {
        let name = format!("{GRID}{number}");
        cases.push(write(&folder, &header, &name, group, &GRIDS)?);
    }
    let why = "launch files have no textures: the weights of their filters were not compared";
    let name = "arithmetic-texture-weights";
    cases.push(Case::skipped(Suite::Arithmetic, name, TEXTURES, why.to_owned()));
    Ok(cases)
}

/// How near approximations on the grid are.
pub(super) fn notes(case: &Case, comparison: &Comparison) -> Vec<String> {
    if !case.name.starts_with(GRID) {
        return Vec::new();
    }
    let label = |name: &str| case.labels.iter().find(|(known, _)| known == name);
    let line = |buffer: &BufferComparison| {
        let (_, text) = label(&buffer.name)?;
        let agree = buffer.elements - buffer.differing;
        let ulp = buffer.max_ulp.unwrap_or(0);
        Some(format!("{text} {agree} of {} agree, at most {ulp} ulp apart", buffer.elements))
    };
    comparison.buffers.iter().filter_map(line).collect()
}

/// Atomic operations on floats: whether they flush subnormal numbers depends on the space.
const ATOMICS: [&str; 5] = [
    "atom.global.add.f32 %f32_0, [cell], %f32_2;",
    "atom.shared.add.f32 %f32_0, [cell], %f32_2;",
    "atom.global.add.noftz.f16x2 %b32_0, [cell], %b32_2;",
    "atom.shared.add.noftz.f16x2 %b32_0, [cell], %b32_2;",
    "atom.global.add.noftz.bf16x2 %b32_0, [cell], %b32_2;",
];

/// Every pair of an instruction that leaves a carry and one that takes it.
fn chains() -> impl Iterator<Item = Probe> {
    const FIRST: [&str; 8] = [
        "add.cc",
        "sub.cc",
        "mad.lo.cc",
        "mad.hi.cc",
        "addc.cc",
        "subc.cc",
        "madc.lo.cc",
        "madc.hi.cc",
    ];
    const SECOND: [&str; 6] = ["addc", "subc", "madc.lo", "madc.hi", "addc.cc", "subc.cc"];
    let text = |name: &str, to: &str| {
        let third = if name.starts_with("mad") { ", %u32_3" } else { "" };
        format!("{name}.u32 {to}, %u32_1, %u32_2{third};")
    };
    let pairs = FIRST.into_iter().flat_map(|first| SECOND.map(|second| (first, second)));
    pairs.filter_map(move |(first, second)| {
        Probe::chain(&text(first, "%u32_8"), &text(second, "%u32_0"))
    })
}

/// A smaller case with these of a case's instructions.
pub(super) fn part(
    folder: &Path,
    device: &Identity,
    case: &Case,
    mark: &str,
    numbers: &[usize],
) -> Result<Case, VerifyError> {
    let folder = folder.join("cases").join("arithmetic");
    let texts = numbers.iter().filter_map(|&n| case.parts.get(n));
    let probes: Vec<Probe> = texts.filter_map(|text| Probe::parse(text)).collect();
    let operands = if case.name.starts_with(GRID) { &GRIDS } else { &PAIRS };
    write(&folder, &header(device), &format!("{}{mark}", case.name), &probes, operands)
}

/// The text of a module.
fn program(header: &str, probes: &[Probe]) -> String {
    let kernels = probes.iter().enumerate().map(|(number, probe)| probe.kernel(number));
    header.to_owned() + &kernels.collect::<String>()
}

/// What a module for the device begins with.
pub(super) fn header(device: &Identity) -> String {
    let version = newest_ptx(device.driver).unwrap_or_else(|| NEWEST.to_owned());
    let [major, minor] = device.capability;
    // From 9.0 on some instructions need the target of this very capability.
    let exact = if major >= 9 { "a" } else { "" };
    format!(".version {version}\n.target sm_{major}{minor}{exact}\n.address_size 64\n")
}

/// Whether our front end takes the text.
pub(super) fn loads(text: &str) -> bool {
    let Ok(machine) = find("ptx") else { return false };
    let mut sources = SourceMap::new();
    let file = sources.add("probe", text);
    let mut found = Diagnostics::new();
    let wanted: [Located<String>; 0] = [];
    let image = Image { bytes: text.as_bytes(), file };
    (machine.load)(image, &wanted, &mut found).is_some() && !found.has_errors()
}

/// Writes a case's program and launch file.
fn write(
    folder: &Path,
    header: &str,
    name: &str,
    probes: &[Probe],
    operands: &Operands,
) -> Result<Case, VerifyError> {
    let (program, launch_file) =
        (folder.join(format!("{name}.ptx")), folder.join(format!("{name}.toml")));
    let rows = operands.rows;
    let mut buffers = String::new();
    let mut launches = String::new();
    let mut labels = Vec::new();
    for (number, probe) in probes.iter().enumerate() {
        let _ = writeln!(buffers, "r{number} = \"{}[{rows}]:zeros\"", probe.result());
        // Approximations have no second result.
        let second = if probe.is_approximation_of_one() { 1 } else { rows };
        let _ = writeln!(buffers, "s{number} = \"u32[{second}]:zeros\"");
        let _ = writeln!(
            launches,
            "\n[[launch]]\nkernel = \"k{number}\"\ngrid = [{}]\nblock = [{}]\n\
             args = [\"&u16\", \"&u32\", \"&u64\", \"&r{number}\", \"&s{number}\"]",
            rows / values::BLOCK,
            values::BLOCK,
        );
        labels.push((format!("r{number}"), probe.text().to_owned()));
        labels.push((format!("s{number}"), format!("{} (second result)", probe.text())));
    }
    let tables = values::TYPES.map(|ty| format!("{ty} = \"@{}\"\n", operands.file(ty)));
    let toml = format!(
        "schema = 1\nmachine = \"ptx\"\nmodule = \"{name}.ptx\"\n\n\
         [buffers]\n{}{buffers}{launches}",
        tables.concat()
    );
    std::fs::write(&program, self::program(header, probes)).map_err(at(&program))?;
    std::fs::write(&launch_file, toml).map_err(at(&launch_file))?;
    Ok(Case {
        name: name.to_owned(),
        suite: Suite::Arithmetic,
        kind: Kind::Compared,
        value: probes.iter().map(Probe::worth).max().unwrap_or(0)
            + u32::from(name.starts_with(GRID)),
        launch_file,
        labels,
        parts: probes.iter().map(|probe| probe.text().to_owned()).collect(),
    })
}
