//! Kernels that other compilers have made, on each machine: the second table of the book's chapter
//! on one kernel on every machine.

use super::{kernels, linx, on_prf};
use crate::bundled::each_launch;
use crate::page::check_page;
use std::fmt::Write;
use std::path::Path;

const PAGE: &str = include_str!("../../../../docs/one-kernel.md");

/// Launch files of the file tests, without their folder and end.
const FILES: [&str; 12] = [
    "clang-22.1.8-sm_70",
    "numba-0.30.4-sm_80-block_maximum",
    "numba-0.30.4-sm_80-histogram",
    "numba-0.30.4-sm_80-mandelbrot",
    "numba-0.30.4-sm_80-saxpy",
    "tinygrad-0.14.0-sm_80-fused",
    "tinygrad-0.14.0-sm_80-product",
    "tinygrad-0.14.0-sm_80-total",
    "triton-3.9.0-sm_80-add",
    "triton-3.9.0-sm_80-scan",
    "triton-3.9.0-sm_80-softmax",
    "triton-3.9.0-sm_80-total",
];

/// Machines, in the order of the columns.
const MACHINES: [&str; 3] = ["linx", "pmask", "prf"];

fn table() -> (String, Vec<String>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../filetests/tests/compilers");
    let (mut rows, mut wrong, mut all) = (String::new(), Vec::new(), 0);
    let mut taken = [0; 3];
    for name in FILES {
        let file = folder.join(format!("{name}.toml"));
        let done = each_launch(&file, |run, after| {
            let pmask = kernels::outcome(run, after, lower::pmask::Options::default());
            [
                linx::outcome(run, after, ::linx::Options::default()).map(|made| made.instructions),
                pmask.map(|made| made.instructions),
                on_prf::outcome(run, after, false),
            ]
        });
        for (kernel, outcomes) in done {
            all += 1;
            // Mangled names are long.
            let kernel: String = kernel.chars().take(40).collect();
            let _ = write!(rows, "| {name} | `{kernel}` |");
            for ((outcome, machine), taken) in outcomes.iter().zip(MACHINES).zip(&mut taken) {
                *taken += u32::from(outcome.is_ok());
                let _ = match outcome {
                    Ok(instructions) => write!(rows, " {instructions} |"),
                    Err(why) => write!(rows, " {} |", why.trim_start_matches("the machine has ")),
                };
                if let Err(why) = outcome
                    && (why.starts_with("WRONG") || why.starts_with("FAULT"))
                {
                    wrong.push(format!("{name} {kernel} on {machine}: {why}"));
                }
            }
            rows.push('\n');
        }
    }
    let [linx, pmask, prf] = taken;
    let text = format!(
        "Of {all} kernels LinxISA takes {linx}, PMASK {pmask}, the predicate-register-file GPU {prf}; what \
         each of them leaves in memory is bit by bit what the engine leaves.\n\n\
         | program | kernel | linx | pmask | prf |\n|---|---|---|---|---|\n{rows}"
    );
    (text, wrong)
}

#[test]
fn the_page_has_kernels_of_other_compilers() {
    let (table, wrong) = table();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let (start, end) = ("<!-- compilers -->\n\n", "\n<!-- end of compilers -->");
    let (before, rest) = PAGE.split_once(start).expect("has the mark");
    let (_, after) = rest.split_once(end).expect("has the mark");
    check_page("one-kernel.md", PAGE, &format!("{before}{start}{table}{end}{after}"));
}
