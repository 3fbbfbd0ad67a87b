//! The examples of the vector IR: what the page shows of two kernels is what the compiler makes of
//! them.
#![cfg(target_arch = "x86_64")]

use crate::corpus::{kernels, repository};
use fast::code::{Code, Kind};
use fast::{Kernel, Level, Order};
use std::fmt::Write;
use vector::Function;
use vector::passes::optimize;
use vector::translate::translate;

/// Returns the PTX of a bundled kernel without what only debuggers read.
fn ptx(name: &str) -> String {
    let path = repository().join(format!("kernels/{name}/{name}.ptx"));
    let text = std::fs::read_to_string(path).expect("it is there");
    let body = text.split_once('{').and_then(|(_, rest)| rest.rsplit_once('}'));
    let body = body.expect("it has a body").0;
    let lines = body.lines().filter(|l| !l.trim().is_empty() && !l.trim().starts_with('.'));
    lines.map(|l| l.replace('\t', "    ") + "\n").collect()
}

/// Returns the PTX of a kernel's loop: from the first label to which a branch behind it goes.
fn ptx_loop(name: &str) -> String {
    let text = ptx(name);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let labels = lines.iter().enumerate().filter(|line| line.1.starts_with('$'));
    let mut loops = labels.filter_map(|(start, line)| {
        let label = line.split(':').next().unwrap_or_default();
        let back = |line: &&str| line.contains("bra") && line.contains(label);
        let end = lines[start + 1..].iter().rposition(back)?;
        Some(lines[start..start + end + 2].concat())
    });
    loops.next().expect("there is a loop")
}

/// Calls a function with a bundled kernel as decoded.
fn decoded(name: &str, to: &mut dyn FnMut(&Kernel)) {
    let path = repository().join(format!("kernels/{name}/{name}.ptx"));
    let text = std::fs::read_to_string(path).expect("it is there");
    kernels(&text, [256, 1, 1], &mut |_, kernel| to(&kernel));
}

/// The steps of a kernel by block.
fn steps(code: &Code) -> String {
    let mut text = String::new();
    for (number, block) in code.blocks.iter().enumerate() {
        let _ = writeln!(text, "block {number}, meets at {:?}", block.rejoin);
        for (index, step) in code.steps[block.steps.clone()].iter().enumerate() {
            let guard = if step.guard.is_some() { " under a guard" } else { "" };
            let blend = if step.blend { ", blended" } else { "" };
            let what = match &step.kind {
                Kind::Load(m) => {
                    format!("Load {:?} {:?} + {} to {:?}", m.space, m.address, m.offset, m.dst)
                }
                Kind::Store(m) => {
                    format!("Store {:?} to {:?} {:?} + {}", m.src, m.space, m.address, m.offset)
                }
                kind => format!("{kind:?}"),
            };
            let _ = writeln!(text, "    {}: {what}{guard}{blend}", block.steps.start + index);
        }
        let _ = writeln!(text, "    {:?}", block.end);
    }
    text
}

fn function(code: &Code, optimized: bool) -> Function {
    let mut function = translate(code, Order::Taken, false).expect("it has a function");
    if optimized {
        optimize(&mut function);
    }
    function
}

/// Returns the blocks of a text from the target of the first jump behind a back-edge to that jump.
fn first_loop(text: &str, back_edge: &str) -> String {
    let blocks: Vec<&str> = text.split_inclusive('\n').collect();
    let edge = blocks.iter().position(|line| line.contains(back_edge)).expect("there is a loop");
    let jump = blocks[edge..].iter().position(|l| l.contains("jump ") || l.contains(" jmp block"));
    let latch = edge + jump.expect("it goes back");
    let head = blocks[latch].split("block").nth(1).and_then(|rest| rest.split('(').next());
    let label = format!("block{}(", head.expect("a block"));
    let start = blocks.iter().position(|line| line.starts_with(&label)).expect("it is there");
    blocks[start..=latch].concat()
}

/// Returns the parts of the page by their names.
fn parts() -> Vec<(&'static str, String)> {
    let mut parts =
        vec![("saxpy: PTX", ptx("saxpy")), ("mandelbrot: PTX loop", ptx_loop("mandelbrot"))];
    decoded("saxpy", &mut |kernel| {
        let code = kernel.code();
        parts.push(("saxpy: steps", steps(code)));
        parts.push(("saxpy: optimized", function(code, true).to_string()));
        let listing = jit::Compiled::listing(kernel, Level::Avx512).expect("it has code");
        parts.push(("saxpy: selected", listing));
    });
    decoded("mandelbrot", &mut |kernel| {
        let code = kernel.code();
        let [before, after] = [false, true].map(|o| function(code, o).to_string());
        parts.push(("mandelbrot: translated loop", first_loop(&before, "backedge")));
        parts.push(("mandelbrot: optimized loop", first_loop(&after, "backedge")));
        for (name, level) in [
            ("mandelbrot: selected loop", Level::Avx512),
            ("mandelbrot: selected loop with AVX2", Level::Avx2),
        ] {
            let listing = jit::Compiled::listing(kernel, level).expect("it has code");
            parts.push((name, first_loop(&listing, "back_edges_left")));
        }
    });
    parts
}

#[test]
fn the_examples_of_the_vector_ir_are_current() {
    let path = repository().join("docs/vector-ir-examples.md");
    let found = std::fs::read_to_string(&path).expect("the page is there");
    let mut page = found.clone();
    for (name, text) in parts() {
        let marker = format!("<!-- {name} -->\n```");
        let at = page.find(&marker).unwrap_or_else(|| panic!("no part {name}")) + marker.len();
        let start = at + page[at..].find('\n').expect("a fence has an end") + 1;
        let end = start + page[start..].find("```").expect("a fence has an end");
        page.replace_range(start..end, &text);
    }
    if std::env::var_os("SIMTLAB_BLESS").is_some() {
        std::fs::write(&path, &page).expect("the page can be written");
        return;
    }
    assert!(found == page, "docs/vector-ir-examples.md is not current: run with SIMTLAB_BLESS=1");
}
