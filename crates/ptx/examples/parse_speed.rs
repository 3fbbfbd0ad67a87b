//! Parses files over and over and prints errors and MB/s: `cargo run --release -p simtlab-ptx
//! --example parse_speed -- FILE.ptx...`

#![allow(clippy::print_stdout, reason = "an example talks to the terminal")]

use std::time::Instant;

use isa::SourceMap;

fn main() -> std::io::Result<()> {
    let mut sources = SourceMap::new();
    let mut files = Vec::new();
    for path in std::env::args().skip(1) {
        let text = String::from_utf8_lossy(&std::fs::read(&path)?).into_owned();
        files.push((sources.add(path.as_str(), text.as_str()), text));
    }
    for (id, text) in &files {
        let (_, diagnostics) = ptx::parse(*id, text);
        for d in diagnostics.iter().take(5) {
            let place = d.primary.as_ref().map_or(String::new(), |l| sources.describe(l.span));
            println!("{place}: {}", d.message);
        }
    }
    let bytes: usize = files.iter().map(|(_, text)| text.len()).sum();
    let rounds = 1 + 50_000_000 / bytes.max(1);
    let start = Instant::now();
    let mut nodes = 0;
    for _ in 0..rounds {
        for (id, text) in &files {
            nodes += ptx::parse(*id, text).0.instructions.len();
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    let megabytes = (bytes * rounds) as f64 / 1e6;
    println!("{} files, {bytes} bytes, {nodes} instructions in {rounds} rounds", files.len());
    println!("{:.1} MB/s", megabytes / seconds);
    Ok(())
}
