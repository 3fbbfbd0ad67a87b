//! Jobs for tests, from PTX text.

use std::path::Path;

use inputs::launch::LaunchFile;
use isa::SourceMap;
use lab::run::{Job, JobParts, Settings};

/// Prepares a job from PTX text and the launch file's text after `schema`, `machine` and `module`.
pub(crate) fn ptx(name: &str, kernel: &str, launch: &str) -> Job {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("can make a folder");
    std::fs::write(folder.join("k.ptx"), kernel).expect("can write");
    let text = format!("schema = 1\nmachine = \"ptx\"\nmodule = \"k.ptx\"\n{launch}");
    let mut sources = SourceMap::new();
    let file = sources.add("launch.toml", text.as_str());
    let read = LaunchFile::parse(&text, file).expect("is a launch file");
    let parts = JobParts::from_parsed(read, &folder).expect("names a machine");
    Job::prepare(parts, &Settings::default(), &mut sources)
        .unwrap_or_else(|found| panic!("{:?}\n{kernel}", found.iter().collect::<Vec<_>>()))
}

/// Numbers that look random (`SplitMix64`).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) % bound
    }
}
