//! Jobs for tests, from bundled kernels and from IR text.

use std::path::{Path, PathBuf};

use inputs::launch::LaunchFile;
use isa::SourceMap;
use lab::run::{Job, JobParts, Settings};

/// Prepares a bundled kernel's launch file.
pub(crate) fn bundled(path: &str) -> Job {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels");
    let mut sources = SourceMap::new();
    let parts = JobParts::from_launch_file(&root.join(path), None, &mut sources).expect("reads");
    Job::prepare(parts, &Settings::default(), &mut sources).expect("is ready")
}

/// Prepares a job from IR text and the launch file's text after `schema`, `machine` and `module`.
pub(crate) fn ir(name: &str, kernel: &str, launch: &str) -> Job {
    let folder = scratch(name);
    std::fs::write(folder.join("k.ir"), kernel).expect("can write");
    let text = format!("schema = 1\nmachine = \"ir\"\nmodule = \"k.ir\"\n{launch}");
    let mut sources = SourceMap::new();
    let file = sources.add("launch.toml", text.as_str());
    let read = LaunchFile::parse(&text, file).expect("is a launch file");
    let parts = JobParts::from_parsed(read, &folder).expect("names a machine");
    Job::prepare(parts, &Settings::default(), &mut sources)
        .unwrap_or_else(|found| panic!("{:?}", found.iter().collect::<Vec<_>>()))
}

/// Creates a folder for one test.
pub(crate) fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("can make a folder");
    folder
}
