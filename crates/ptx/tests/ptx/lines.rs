//! Lines of the source and the inlined calls that they belong to, of what compilers write.

use isa::FileId;
use ptx::Select;

/// Text of an instruction, then the line that it was compiled from and the calls around it, from
/// the innermost to the outermost, as function and line.
type Line<'t> = (&'t str, u32, Vec<(String, u32)>);

/// The lines of all instructions of a text.
fn lines(text: &str) -> Vec<Line<'_>> {
    let (tree, found) = ptx::parse(FileId(0), text);
    assert!(!found.has_errors(), "{found:?}");
    let module = ptx::lower(&tree, Select::All).0.expect("it is supported");
    ir::verify(&module).expect("it keeps the rules");
    let blocks = module.functions.iter().flat_map(|f| &f.blocks);
    let insts = blocks.flat_map(|b| &b.insts);
    insts
        .filter_map(|inst| {
            let loc = module.loc(inst.loc);
            let line = loc.line.as_ref()?;
            let calls = module.inlined_calls(line);
            let calls = calls.map(|c| (c.function.to_string(), c.call.line)).collect();
            Some((&text[loc.span.range()], line.line, calls))
        })
        .collect()
}

fn call(function: &str, line: u32) -> (String, u32) {
    (function.to_owned(), line)
}

#[test]
fn nvrtc_writes_chains_of_inlined_calls() {
    let text = include_str!("../../../filetests/tests/compilers/data/nvrtc-13.5.37-sm_90-scan.ptx");
    let lines = lines(text);
    let (block, warp) = ("_Z10block_scanj", "_Z9warp_scanjj");
    let shuffles: Vec<_> = lines.iter().filter(|l| l.0.starts_with("shfl")).take(6).collect();
    // Five of the scan of a warp, then the first of the scan of the totals.
    for (text, line, calls) in &shuffles[..5] {
        assert_eq!((*line, &calls[..]), (9, &[call(warp, 23), call(block, 41)][..]), "{text}");
    }
    assert_eq!(shuffles[5].2, [call(warp, 29), call(block, 41)]);
    let barrier = lines.iter().find(|l| l.0.starts_with("bar")).expect("one");
    assert_eq!(barrier.2, [call(block, 41)]);
    let plain = lines.iter().find(|l| l.0.starts_with("mov.u32 \t%r1,")).expect("one");
    assert_eq!((plain.1, &plain.2[..]), (40, &[][..]));
}

/// A kernel with these directives before its one instruction.
fn one(directives: &str, strings: &str) -> String {
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.file 1 \"k.cu\"\n\
         .entry k() {{\n{directives}\nbar.sync 0;\nret;\n}}\n\
         .section .debug_str {{\ns:\n{strings}\n}}\n"
    )
}

#[test]
fn names_and_places_that_are_missing() {
    let of = |directives: &str| {
        let text = one(directives, ".b8 102,0,103,104,0");
        let (_, line, calls) = lines(&text).swap_remove(0);
        (line, calls)
    };
    assert_eq!(of(".loc 1 5 1, function_name s, inlined_at 1 9 1"), (5, vec![call("f", 9)]));
    assert_eq!(of(".loc 1 5 1, function_name s+2, inlined_at 1 9 1"), (5, vec![call("gh", 9)]));
    // Not where a string begins, behind all of them, and no label at all.
    for name in ["s+3", "s+5", "s+4294967296", "nothing"] {
        let directive = format!(".loc 1 5 1, function_name {name}, inlined_at 1 9 1");
        assert_eq!(of(&directive), (5, vec![call("", 9)]), "{name}");
    }
    // No such file.
    assert_eq!(of(".loc 1 5 1, function_name s, inlined_at 7 9 1"), (5, vec![]));
}

#[test]
fn the_latest_of_equal_places_counts() {
    let outer = |line: u32| {
        format!(".loc 1 {line} 1\n.loc 1 5 1, function_name s, inlined_at 1 {line} 1\n")
    };
    let inner = ".loc 1 2 1, function_name s+2, inlined_at 1 5 1\n";
    let text = one(&(outer(20) + inner + &outer(30) + inner), ".b8 102,0,103,104,0");
    assert_eq!(lines(&text)[0].2, [call("gh", 5), call("f", 30)]);
}

#[test]
fn a_place_that_is_inlined_at_itself_makes_a_chain_and_no_cycle() {
    let text = one(&".loc 1 5 1, function_name s, inlined_at 1 5 1\n".repeat(1000), ".b8 102,0");
    assert_eq!(lines(&text)[0].2.len(), 1000);
}
