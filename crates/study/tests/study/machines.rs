//! Bundled kernels on several machines.

#![allow(clippy::print_stderr, reason = "ignored tests tell how far they are")]

use std::path::{Path, PathBuf};

use ::machines::{Isa, Unmonitored};
use isa::SourceMap;
use lab::run::{Job, JobParts, Settings};
use study::machines::{
    Equality, Figures, MachineComparison, Order, Outcome, compare, machines_named, to_html,
    to_json, to_text,
};

fn kernels() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels")
}

fn job(name: &str) -> Job {
    let mut sources = SourceMap::new();
    let path = kernels().join(name).join("launch.toml");
    let parts = JobParts::from_launch_file(&path, None, &mut sources);
    let parts = parts.unwrap_or_else(|d| panic!("{name}: {:?}", d.iter().collect::<Vec<_>>()));
    Job::prepare(parts, &Settings::default(), &mut sources)
        .unwrap_or_else(|d| panic!("{name}: {:?}", d.iter().collect::<Vec<_>>()))
}

fn machines(names: &[&str]) -> Vec<&'static Isa> {
    names.iter().map(|name| ::machines::find(name).expect("a machine")).collect()
}

fn compared(name: &str, names: &[&str]) -> MachineComparison {
    let comparison = compare(&job(name), &machines(names), &mut Unmonitored);
    comparison.expect("the job runs").expect("nothing stops it")
}

fn ran(comparison: &MachineComparison) -> Vec<(&str, &Figures)> {
    let rows = comparison.rows.iter();
    rows.filter_map(|row| match &row.outcome {
        Outcome::Ran(figures) => Some((row.machine.as_str(), &**figures)),
        _ => None,
    })
    .collect()
}

#[test]
fn a_kernel_leaves_the_same_on_every_machine() {
    let comparison = compared("divergence/short_circuit", &["ptx", "linx", "pmask", "prf"]);
    assert!(comparison.sound(), "{}", to_text(&comparison));
    let rows = ran(&comparison);
    assert_eq!(rows.first().map(|row| row.0), Some("ptx"));
    let linx = rows.iter().find(|row| row.0 == "linx").expect("it runs there").1;
    assert_eq!(linx.equality, Equality::Equal);
    assert!(linx.lane_slots() > 0 && linx.used() <= linx.lane_slots());
    assert!(linx.masks.is_some_and(|masks| masks > 0), "{linx:?}");
}

#[test]
fn instructions_are_counted_by_line_of_the_source() {
    let comparison = compared("saxpy", &["linx"]);
    let rows = ran(&comparison);
    let lines = |figures: &Figures| -> Vec<String> {
        figures.lines.iter().map(|cost| cost.line.clone()).collect()
    };
    for (machine, figures) in &rows {
        let lines = lines(figures);
        assert!(lines.contains(&"saxpy.cu:7".to_owned()), "{machine}: {lines:?}");
        let sum: u64 = figures.lines.iter().map(|cost| cost.instructions).sum();
        assert!(sum > 0 && sum <= figures.instructions, "{machine}");
    }
}

#[test]
fn reports_are_valid_under_their_schema() {
    let comparison = compared("divergence/trip_count", &["linx", "prf"]);
    let value = to_json(&comparison);
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas/machines.schema.json");
    let text = std::fs::read_to_string(path).expect("the schema");
    let schema = serde_json::from_str(&text).expect("is JSON");
    let validator = jsonschema::validator_for(&schema).expect("is a schema");
    let errors: Vec<String> =
        validator.iter_errors(&value).map(|e| format!("{e} at {}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    let page = to_html(&comparison);
    assert!(page.contains("id=\"machines\"") && page.contains("linx"), "{page}");
    assert!(!page.contains("http://") && !page.contains("<script src"), "loads nothing");
}

#[test]
fn what_a_machine_lacks_is_named_with_its_line() {
    let comparison = compared("printf", &["linx"]);
    let text = to_text(&comparison);
    assert!(comparison.sound(), "a refusal is no failure");
    assert!(text.contains("refused: `perfect`, line "), "{text}");
    assert!(text.contains("operation `printf`"), "{text}");
}

#[test]
fn results_that_depend_on_the_order_of_threads_are_told_apart() {
    let comparison = compared("hash_table", &["linx"]);
    let text = to_text(&comparison);
    assert!(comparison.sound(), "{text}");
    let linx = ran(&comparison)[1].1;
    let Equality::Differs { order, .. } = &linx.equality else { panic!("{text}") };
    assert_eq!((order.expected, order.explains()), (Some(true), true), "{text}");
    assert!(text.contains("  order\n"), "{text}");
    let value = to_json(&comparison);
    assert_eq!(value["rows"][1]["figures"]["results"]["order"], true, "{value}");
}

#[test]
fn order_alone_excuses_no_result() {
    let order = |expected, mechanism| Order { expected, mechanism }.explains();
    assert!(order(Some(true), Some("serial")));
    assert!(!order(Some(false), Some("serial")) && !order(None, Some("serial")));
    assert!(!order(Some(true), None));
}

#[test]
fn lanes_that_wait_for_each_other_for_ever_are_stopped() {
    let comparison = compared("divergence/lock_order", &["linx"]);
    for row in &comparison.rows {
        assert!(matches!(row.outcome, Outcome::Stopped { .. }), "{row:?}");
    }
}

#[test]
fn machines_are_named() {
    let mut sources = SourceMap::new();
    let file = sources.add("command line", "linx,linxx");
    let span = isa::Span::new(file, 0, 4);
    let ptx = ::machines::find("ptx").expect("is one");
    let named = machines_named(ptx, "ptx, linx", span).expect("are machines");
    assert_eq!(named.iter().map(|m| m.name).collect::<Vec<_>>(), ["ptx", "linx"]);
    let wrong = machines_named(ptx, "linxx", span).expect_err("is none");
    assert_eq!(wrong.help.as_deref(), Some("did you mean linx?"));
    assert!(machines_named(ptx, "linx,linx", span).is_err());
}

#[test]
#[ignore = "runs all bundled kernels"]
fn all() {
    let mut folders: Vec<String> = Vec::new();
    let mut work = vec![kernels()];
    while let Some(folder) = work.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                work.push(path);
            } else if path.ends_with("launch.toml") {
                let text = std::fs::read_to_string(&path).unwrap();
                if text.contains("machine = \"ptx\"") {
                    let folder = path.parent().unwrap().strip_prefix(kernels()).unwrap();
                    folders.push(folder.display().to_string());
                }
            }
        }
    }
    folders.sort();
    let only = std::env::var("ONLY").unwrap_or_default();
    for name in folders.iter().filter(|f| f.contains(&only)) {
        let start = std::time::Instant::now();
        let comparison = compared(name, &["linx"]);
        let what = match &comparison.rows[1].outcome {
            Outcome::Ran(figures) => {
                format!(
                    "{:?} slots {:?} {}",
                    figures.equality, figures.spills, figures.instructions
                )
            }
            Outcome::Refused { message, .. } => format!("refused {message}"),
            Outcome::Stopped { message } => format!("stopped {message}"),
        };
        eprintln!("{name}: {what} {:?}", start.elapsed());
        if !only.is_empty() {
            eprintln!("{}", to_text(&comparison));
            let _ = (to_json(&comparison), to_html(&comparison));
        }
    }
}
