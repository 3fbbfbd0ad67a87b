//! Bundled kernels on several machines.

use std::path::{Path, PathBuf};

use ::machines::{Isa, Unmonitored};
use isa::SourceMap;
use lab::run::{Job, JobParts, Settings};
use study::machines::{MachineComparison, Outcome, compare, to_html, to_json, to_text};

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
                format!("{:?} slots {:?} {}", figures.equality, figures.spills, figures.instructions)
            }
            Outcome::Refused { message, .. } => format!("refused {message}"),
            Outcome::Stopped { message } => format!("stopped {message}"),
        };
        println!("{name}: {what} {:?}", start.elapsed());
        if !only.is_empty() {
            println!("{}", to_text(&comparison));
            let _ = (to_json(&comparison), to_html(&comparison));
        }
    }
}
