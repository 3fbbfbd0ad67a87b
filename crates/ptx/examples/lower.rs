//! Lowers files and prints what is wrong, or the IR: `cargo run -p simtlab-ptx --example lower --
//! [--ir] FILE.ptx...`

#![allow(clippy::print_stdout, reason = "an example talks to the terminal")]

use isa::SourceMap;

fn main() -> std::io::Result<()> {
    let mut show = false;
    let mut sources = SourceMap::new();
    for argument in std::env::args().skip(1) {
        if argument == "--ir" {
            show = true;
            continue;
        }
        let text = String::from_utf8_lossy(&std::fs::read(&argument)?).into_owned();
        let file = sources.add(argument.as_str(), text.as_str());
        let (tree, mut found) = ptx::parse(file, &text);
        let (module, more) = ptx::lower(&tree, ptx::Select::All);
        found.append(more);
        for d in &found {
            let place = d.primary.as_ref().map_or(String::new(), |l| sources.describe(l.span));
            println!("{place}: {:?}: {}", d.severity, d.message);
        }
        let Some(module) = module else { continue };
        if let Err(errors) = ir::verify::verify(&module) {
            for error in errors.iter().take(20) {
                let d = error.diagnostic(&module);
                let place = d.primary.as_ref().map_or(String::new(), |l| sources.describe(l.span));
                println!("{place}: {} ({:?})", d.message, d.notes);
            }
        }
        let count: usize =
            module.functions.iter().flat_map(|f| &f.blocks).map(|b| b.insts.len() + 1).sum();
        println!("{argument}: {} functions, {count} instructions", module.functions.len());
        if show {
            println!("{}", ir::text::print(&module));
        }
    }
    Ok(())
}
