//! The list of assumptions in docs/device.md: each names a probe that exists.

use std::path::Path;

use crate::device::common::{device, folder, repository};

/// All files below a folder.
fn files(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

/// The texts between backquotes.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// Whether a name is one of the list. `...` stands for anything at its end, `NNN` for digits.
fn is_there(names: &[String], wanted: &str) -> bool {
    let (before, after) = wanted.split_once("NNN").unwrap_or((wanted, ""));
    let open = wanted.strip_suffix("...");
    names.iter().any(|name| match open {
        Some(start) => name.starts_with(start),
        None if wanted.contains("NNN") => name.starts_with(before) && name.ends_with(after),
        None => name == wanted,
    })
}

#[test]
fn every_assumption_has_a_probe() {
    let out = folder("device-assumptions");
    let output = device("", "verify", &["--time", "0s", "--out", &out]);
    assert_eq!(output.code, Some(0), "{}", output.text);
    let (mut cases, mut programs) = (Vec::new(), String::new());
    let mut all = Vec::new();
    files(&Path::new(&out).join("cases"), &mut all);
    for path in &all {
        match path.extension().and_then(|e| e.to_str()) {
            Some("toml") => {
                cases.push(path.file_stem().unwrap().to_str().unwrap().to_owned());
                let kernels = Path::new(&out).join("cases/kernels");
                if let Ok(kernel) = path.parent().unwrap().strip_prefix(kernels) {
                    cases.push(kernel.to_str().unwrap().to_owned());
                }
            }
            Some("ptx") => programs += &std::fs::read_to_string(path).unwrap(),
            _ => {}
        }
    }
    // Cases that are skipped on this device have no file.
    let skipped = ["matrix-wgmma", "statistics-counters", "arithmetic-texture-weights"];
    cases.extend(skipped.map(str::to_owned));
    let suites = ["arithmetic", "matrix", "kernels", "statistics", "sync", "random"];
    let mut tests = Vec::new();
    files(&repository("crates/filetests/tests"), &mut tests);
    let tests: Vec<&str> = tests.iter().filter_map(|t| t.file_stem()?.to_str()).collect();

    let page = std::fs::read_to_string(repository("docs/device.md")).unwrap();
    let (_, list) = page.split_once("| assumption | stated in | probe |\n|---|---|---|\n").unwrap();
    let rows: Vec<&str> = list.lines().take_while(|line| line.starts_with('|')).collect();
    assert!(rows.len() > 25, "{}", rows.len());
    for row in rows {
        let row = row.replace("\\|", "/");
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [assumption, stated, probe] = cells[..] else { panic!("{row}") };
        for name in quoted(stated).into_iter().filter(|_| stated.contains("file test")) {
            assert!(tests.contains(&name), "{assumption}: no file test `{name}`");
        }
        for link in stated.split("](").skip(1) {
            let page = link.split(')').next().unwrap();
            assert!(repository("docs").join(page).exists(), "{assumption}: no page {page}");
        }
        let known = |name: &&str| {
            let case = suites.iter().any(|suite| name.starts_with(&format!("{suite}-")));
            if case { is_there(&cases, name) } else { suites.contains(name) }
        };
        let names = quoted(probe);
        assert!(names.iter().any(known) || probe.starts_with("None: "), "{assumption}: {probe}");
        for name in names {
            let other =
                is_there(&cases, name) || programs.contains(name) || name == "run --compare";
            assert!(known(&name) || other || name == "ncu", "{assumption}: no probe `{name}`");
        }
    }
}
