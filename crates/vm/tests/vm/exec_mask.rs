//! The pass `exec-mask`: what it makes runs under `uniform` and leaves the memory that the program
//! leaves lane by lane.

use crate::common;

use crate::common::graphs::{HEAD, work};
use crate::common::{Run, graph, verified};
use flow::passes::exec_mask::{Options, Skip, exec_mask};
use flow::passes::{Rewritten, Style};
use ir::{Module, Origin};
use proptest::prelude::*;
use std::fmt::Write;
use vm::Counts;

#[track_caller]
fn run(module: &Module, mechanism: &str, width: u32) -> (Vec<u32>, Counts) {
    Run::new(module, mechanism, width).done()
}

/// Checks one program; gives what the pass did to the kernel.
#[track_caller]
fn check(text: &str) -> Rewritten {
    let module = verified(text);
    let (expected, _) = run(&module, "serial", 32);
    assert_eq!(run(&module, "ipdom", 32).0, expected, "{text}");
    let kernel = module.function("k").unwrap();
    let mut last = None;
    for skip in [Skip::Always, Skip::Longer(0), Skip::Longer(1000)] {
        let options = Options { skip, structured_only: false };
        let (masked, report) = exec_mask(&module, kernel, options).unwrap();
        for width in [1, 8, 32] {
            let (found, stats) = run(&masked, "uniform", width);
            assert_eq!(found, expected, "{text}\n{}", ir::text::print(&masked));
            assert_eq!(stats.divergent_branches, 0);
        }
        inserted_is_tagged(&module, &masked);
        last = report.into_iter().find(|r| r.function == kernel);
    }
    last.unwrap()
}

/// Operations that the source did not have say so.
fn inserted_is_tagged(before: &Module, after: &Module) {
    for (b, a) in before.functions.iter().zip(&after.functions) {
        let plain = |f: &ir::Function| {
            let all = f.blocks.iter().flat_map(|b| &b.insts);
            all.filter(|i| i.origin == Origin::Source).cloned().collect::<Vec<_>>()
        };
        let mut source = plain(b);
        for inst in plain(a) {
            let at = source.iter().position(|i| *i == inst);
            source.swap_remove(at.expect("only source instructions have no tag"));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn any_kernel(ends in common::ends()) {
        check(&graph(&ends, false));
    }

    #[test]
    fn any_called_function(ends in common::ends()) {
        check(&graph(&ends, true));
    }

    #[test]
    fn structured_kernels(code in programs()) {
        let mut out = String::new();
        emit(&code, &mut out, &mut 0);
        let text = format!("kernel @k(out: u64 global) {{{HEAD}{out}  ret\n}}\n");
        let report = check(&text);
        prop_assert_eq!(report.style, Style::Structured);
    }
}

#[derive(Clone, Debug)]
enum Code {
    Plain,
    Seq(Vec<Code>),
    If(bool, Box<Code>),
    IfElse(Box<Code>, Box<Code>),
    While(bool, Box<Code>),
    DoWhile(bool, Box<Code>),
}

fn programs() -> impl Strategy<Value = Code> {
    Just(Code::Plain).prop_recursive(4, 24, 3, |inner| {
        let code = || inner.clone().prop_map(Box::new);
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(Code::Seq),
            (any::<bool>(), code()).prop_map(|(n, a)| Code::If(n, a)),
            (code(), code()).prop_map(|(a, b)| Code::IfElse(a, b)),
            (any::<bool>(), code()).prop_map(|(n, a)| Code::While(n, a)),
            (any::<bool>(), code()).prop_map(|(n, a)| Code::DoWhile(n, a)),
        ]
    })
}

fn emit(code: &Code, out: &mut String, count: &mut usize) {
    let id = *count;
    *count += 1;
    let _ = writeln!(out, "c{id}:");
    work(out, id);
    match code {
        Code::Plain => {}
        Code::Seq(list) => list.iter().for_each(|c| emit(c, out, count)),
        Code::If(negated, a) => {
            let _ = writeln!(
                out,
                "  @{}%p br c{id}.join\nc{id}.then:",
                if *negated { "!" } else { "" }
            );
            emit(a, out, count);
            let _ = writeln!(out, "c{id}.join:\n  nop");
        }
        Code::IfElse(a, b) => {
            let _ = writeln!(out, "  @%p br c{id}.else\nc{id}.then:");
            emit(a, out, count);
            let _ = writeln!(out, "  br c{id}.join\nc{id}.else:");
            emit(b, out, count);
            let _ = writeln!(out, "c{id}.join:\n  nop");
        }
        // `%p` comes true for good: the way out when it holds, or the way on when it does not.
        Code::While(inverted, a) => {
            let _ = writeln!(out, "c{id}.head:");
            work(out, id + 1);
            if *inverted {
                let _ = writeln!(
                    out,
                    "  @!%p br c{id}.body\nc{id}.leave:\n  br c{id}.out\nc{id}.body:"
                );
            } else {
                let _ = writeln!(out, "  @%p br c{id}.out\nc{id}.body:");
            }
            emit(a, out, count);
            let _ = writeln!(out, "  br c{id}.head\nc{id}.out:\n  nop");
        }
        Code::DoWhile(inverted, a) => {
            let _ = writeln!(out, "c{id}.head:");
            emit(a, out, count);
            work(out, id + 2);
            if *inverted {
                let _ = writeln!(
                    out,
                    "  @%p br c{id}.out\nc{id}.again:\n  br c{id}.head\nc{id}.out:\n  nop"
                );
            } else {
                let _ = writeln!(out, "  @!%p br c{id}.head\nc{id}.out:\n  nop");
            }
        }
    }
}

#[test]
fn an_if_else_and_a_loop_read_as_the_rule_says() {
    let text = "
kernel @k(out: u64 global) {
  reg %p: pred
  reg %a: b32
entry:
  %p = setp.lt.u32 %a, 7
  @%p br else
then:
  %a = add.u32 %a, 1
  br head
else:
  %a = add.u32 %a, 2
head:
  %a = sub.u32 %a, 1
  %p = setp.ne.u32 %a, 0
  @%p br head
done:
  ret
}
";
    let module = verified(text);
    let options = Options { skip: Skip::Longer(12), structured_only: true };
    let (masked, report) = exec_mask(&module, ir::FuncId(0), options).unwrap();
    let expected = "\
kernel @k(out: u64 global) {
  reg %p: pred
  reg %a: b32
  warp %exec0, %exec1: mask
entry:
  %p = setp.lt.u32 %a, 7
  %exec0 = exec_and_save %p !mask
else:
  %a = add.u32 %a, 2
else.1:
  exec_xor %exec0 !mask
then:
  %a = add.u32 %a, 1
join:
  exec_or %exec0 !mask
  %exec0 = exec_read !mask
head:
  %a = sub.u32 %a, 1
  %p = setp.ne.u32 %a, 0
  %exec1 = exec_and_save %p !mask
  maskbr.any exec, head !mask
out:
  exec_or %exec0 !mask
done:
  ret
}
";
    assert_eq!(ir::text::print(&masked), expected);
    assert_eq!((report[0].before, report[0].after, report[0].masks), (9, 13, 2));
}

#[test]
fn what_is_refused_says_why() {
    let refuse = |text: &str, structured_only| {
        let module = verified(text);
        let options = Options { structured_only, ..Options::default() };
        exec_mask(&module, module.function("k").unwrap(), options).unwrap_err().to_string()
    };
    let kernel = |body: &str| {
        format!(
            "kernel @k(out: u64 global) {{\n  reg %p: pred\n  reg %x: b32\n  reg %a: b64\n  warp %m: mask\n{body}}}\n"
        )
    };
    assert_eq!(
        refuse(&kernel("a:\n  %m = exec_read\n  ret\n"), false),
        "function `k`: block `a` uses `exec_read`: the function handles masks or convergence already"
    );
    assert_eq!(
        refuse(&kernel("a:\n  calli %a()\nb:\n  ret\n"), false),
        "function `k`: block `a` calls through an address: lanes may call different functions, and a mask cannot"
    );
    let recursive =
        format!("{}func @f() {{\na:\n  call @f()\n  ret\n}}\n", kernel("a:\n  call @f()\n  ret\n"));
    assert_eq!(
        refuse(&recursive, false),
        "function `f`: block `a` calls `f` from within: recursion would overwrite saved masks"
    );
    let jumps = kernel("a:\n  @%p br c\nb:\n  @%p br d\nc:\n  nop\nd:\n  ret\n");
    assert_eq!(
        refuse(&jumps, true),
        "function `k`: not structured at block `b`: the paths that part at b1 are not sequences, branches and loops with \
         one entry and one exit: some of them are also entered from elsewhere, or leave for another place (goto, break, \
         continue, early return)"
    );
}
