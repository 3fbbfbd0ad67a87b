//! The arithmetic suite: every form of every instruction that maps registers to registers, on
//! special values and random bits.
//!
//! A case is a module of many kernels, one an instruction. Thread `t` of a kernel loads the
//! operands of row `t` of tables that all kernels share, executes the instruction once, and stores
//! the result in a buffer of the result's type.

mod spell;
pub(super) mod values;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use isa::{Diagnostics, SourceMap};
use lab::launch::Located;
use lab::machine::{Image, find};
use lab::{Array, npy};

use super::{Case, Suite, VerifyError, at};
use crate::record::Identity;
use crate::worker::newest_ptx;
use spell::Probe;

/// Kernels of a module: a driver compiles that many in a second or two.
const KERNELS: usize = 64;

/// The PTX version that modules declare where the driver's newest is not known.
const NEWEST: &str = "9.0";

/// The suite for a device; its launch files are written to the folder where they are missing.
pub(super) fn cases(folder: &Path, device: &Identity) -> Result<Vec<Case>, VerifyError> {
    let folder = folder.join("cases").join("arithmetic");
    std::fs::create_dir_all(&folder).map_err(at(&folder))?;
    for (ty, rows) in values::tables() {
        let path = folder.join(format!("{ty}.npy"));
        if !path.exists() {
            let table = Array::from_bits(ty, &rows);
            npy::save(&path, &table).map_err(at(&path))?;
        }
    }
    let header = header(device);
    let mut probes: Vec<Probe> = ptx::testing::instructions()
        .into_iter()
        .filter_map(|(form, text)| Probe::new(form.opcode, &text))
        .filter(|probe| loads(&format!("{header}{}", probe.kernel(0))))
        .collect();
    // Cases of one worth, so that the order of cases is one of worth.
    probes.sort_by_key(|probe| std::cmp::Reverse(probe.worth()));
    let mut cases = Vec::new();
    for (number, group) in probes.chunks(KERNELS).enumerate() {
        cases.push(write(&folder, &header, &format!("arithmetic-{number:03}"), group)?);
    }
    Ok(cases)
}

/// Two smaller cases in place of one that the driver's compiler refuses: those instructions that
/// its messages do not name, and those that they name; halves, if they name none. None if nothing
/// is left to part.
pub(super) fn split(
    folder: &Path,
    device: &Identity,
    case: &Case,
    log: &str,
) -> Result<Option<[Case; 2]>, VerifyError> {
    let folder = folder.join("cases").join("arithmetic");
    let again = |text: &String| Probe::new(text.split(['.', ' ']).next().unwrap_or(""), text);
    let probes: Vec<Probe> = case.parts.iter().filter_map(again).collect();
    let program = program(&header(device), &probes);
    let Some([first, second]) = parted(&program, probes.len(), log) else { return Ok(None) };
    let header = header(device);
    let part = |mark: &str, numbers: &[usize]| {
        let part: Vec<Probe> = numbers.iter().filter_map(|&n| probes.get(n).cloned()).collect();
        write(&folder, &header, &format!("{}{mark}", case.name), &part)
    };
    Ok(Some([part("a", &first)?, part("b", &second)?]))
}

/// The numbers of the kernels of both parts.
fn parted(program: &str, kernels: usize, log: &str) -> Option<[Vec<usize>; 2]> {
    if kernels < 2 {
        return None;
    }
    let named: BTreeSet<usize> = log
        .lines()
        .filter(|line| line.contains("error"))
        .filter_map(|line| line.split("line ").nth(1)?.split(|c: char| !c.is_ascii_digit()).next())
        .filter_map(|digits| kernel_at(program, digits.parse().ok()?))
        .filter(|&kernel| kernel < kernels)
        .collect();
    if named.len() == kernels {
        return None;
    }
    if named.is_empty() {
        return Some([(0..kernels / 2).collect(), (kernels / 2..kernels).collect()]);
    }
    let others = (0..kernels).filter(|kernel| !named.contains(kernel)).collect();
    Some([others, named.into_iter().collect()])
}

/// The kernel in which a line is, counted from 1.
fn kernel_at(program: &str, line: usize) -> Option<usize> {
    let before = program.lines().take(line).filter(|line| line.starts_with(".visible .entry"));
    before.count().checked_sub(1)
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
    machine.load(image, &wanted, &mut found).is_some() && !found.has_errors()
}

/// Writes a case's program and launch file.
fn write(folder: &Path, header: &str, name: &str, probes: &[Probe]) -> Result<Case, VerifyError> {
    let (program, launch_file) =
        (folder.join(format!("{name}.ptx")), folder.join(format!("{name}.toml")));
    let rows = values::ROWS;
    let mut buffers = String::new();
    let mut launches = String::new();
    let mut labels = Vec::new();
    for (number, probe) in probes.iter().enumerate() {
        let _ = writeln!(buffers, "r{number} = \"{}[{rows}]:zeros\"", probe.result());
        let _ = writeln!(buffers, "s{number} = \"u32[{rows}]:zeros\"");
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
    let tables: Vec<String> =
        values::tables().iter().map(|(ty, _)| format!("{ty} = \"@{ty}.npy\"\n")).collect();
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
        value: probes.iter().map(Probe::worth).max().unwrap_or(0),
        launch_file,
        labels,
        parts: probes.iter().map(|probe| probe.text().to_owned()).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_compiler_refuses_is_parted() {
        let texts = ["add.u32 %u32_0, %u32_1, %u32_2;", "sub.u32 %u32_0, %u32_1, %u32_2;"];
        let probes: Vec<Probe> =
            texts.iter().filter_map(|text| Probe::new(&text[..3], text)).collect();
        let text = program(".version 7.0\n.target sm_70\n.address_size 64\n", &probes);
        let line = 1 + text.lines().position(|l| l.contains("sub.u32")).unwrap();
        let log = format!("ptxas application ptx input, line {line}; error   : Feature 'x'");
        assert_eq!(parted(&text, 2, &log), Some([vec![0], vec![1]]));
        assert_eq!(parted(&text, 2, "error without a place"), Some([vec![0], vec![1]]));
        assert_eq!(parted(&text, 1, &log), None);
        let first = 1 + text.lines().position(|l| l.contains("add.u32")).unwrap();
        let both = format!("{log}\nptxas application ptx input, line {first}; error   : also");
        assert_eq!(parted(&text, 2, &both), None);
    }
}
