//! The printer and the parser are inverse functions.

#[path = "common/corpus.rs"]
mod corpus;

use corpus::{files, kernels, repository};
use fast::Order;
use vector::{Function, ParseErrorKind, parse, passes, translate::translate};

/// Checks that a function's text is parsed to the same blocks and instructions.
fn check(function: &Function) {
    let text = function.to_string();
    let again = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert!(again.to_string() == text, "{text}\n{again}");
    for ((_, a), (_, b)) in function.blocks().zip(again.blocks()) {
        assert_eq!((&a.params, &a.end), (&b.params, &b.end), "{text}");
        let ty = |function: &Function, value| function.ty(value);
        assert!(a.params.iter().all(|&p| ty(function, p) == ty(&again, p)), "{text}");
        assert_eq!(a.insts.len(), b.insts.len(), "{text}");
        for (&a, &b) in a.insts.iter().zip(&b.insts) {
            assert_eq!(function.inst(a), again.inst(b), "{text}");
        }
    }
    again.verify().unwrap_or_else(|error| panic!("{error}\n{text}"));
}

#[test]
fn texts_of_all_kernels_are_parsed_to_the_same() {
    let mut found = Vec::new();
    files(&repository().join("kernels"), &mut found);
    files(&repository().join("crates"), &mut found);
    let mut count = 0;
    for file in found {
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        kernels(&text, [64, 1, 1], &mut |_, kernel| {
            for order in [Order::Taken, Order::Minority] {
                let mut function =
                    translate(kernel.code(), order, false).expect("it has a function");
                check(&function);
                passes::optimize(&mut function);
                check(&function);
                count += 1;
            }
        });
    }
    assert!(count > 400, "{count} functions");
}

#[test]
fn errors_have_their_lines() {
    use ParseErrorKind::{
        BlockEnd, BlockOrder, DefinedTwice, Expected, NoBlock, Operation, Surplus,
    };
    let in_block = |line: &str| format!("block0(v0: mask):\n    {line}\n    end\n");
    let op = |name: &str| Operation(name.to_owned());
    let cases = [
        (String::new(), 1, BlockEnd),
        ("block0():\n".to_owned(), 1, BlockEnd),
        ("    end\n".to_owned(), 1, BlockEnd),
        ("block0():\n    end\n    end\n".to_owned(), 3, BlockEnd),
        ("block1():\n    end\n".to_owned(), 1, BlockOrder(0)),
        ("block0():\n    jump block7()\n".to_owned(), 2, NoBlock(7)),
        ("block0(v0: lane):\n".to_owned(), 1, Expected("a type", "lane".to_owned())),
        (in_block("v0: scalar = const 1"), 2, DefinedTwice(0)),
        (in_block("v1: scalar = constant 1"), 2, op("constant")),
        (in_block("v1: row32 = lanes.add.up v0, v0"), 2, Surplus("up".to_owned())),
        (in_block("v1: scalar = const 1, 2"), 2, Surplus("2".to_owned())),
        (in_block("v1: scalar = const 0x10000000000000000"), 2, op("const")),
        (in_block("backedge v0 {homes n1}"), 2, op("backedge")),
        (in_block("backedge v0 {block 1, way 2}"), 2, Surplus("way".to_owned())),
        (in_block("exit v99999999999"), 2, Expected("a value", "v99999999999".to_owned())),
        (in_block("exit v0 v1"), 2, Expected(",", "v1".to_owned())),
    ];
    for (text, line, kind) in cases {
        let error = parse(&text).expect_err(&text);
        assert_eq!((error.line, &error.kind), (line, &kind), "{text}{error}");
    }
}

/// Texts with pieces missing or in other places are parsed to something or refused.
#[test]
fn damaged_texts_do_no_harm() {
    let text = include_str!("data/example.vir");
    let function = parse(text).expect("it is well-formed");
    assert_eq!(function.to_string().lines().count(), 16, "{function}");
    check(&function);
    for from in 0..text.len() {
        for length in [1, 2, 5, 40] {
            let end = (from + length).min(text.len());
            let _ = parse(&format!("{}{}", &text[..from], &text[end..]));
            let _ = parse(&format!("{}{}{}", &text[..end], &text[from..end], &text[end..]));
        }
    }
}
