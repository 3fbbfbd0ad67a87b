//! The pass `exec-mask`: what it makes runs under `uniform` and leaves the memory that the program leaves lane by lane.

mod common;

use common::{HEAD, THREADS, verified, work};
use converge::catalogue::Entry;
use flow::passes::exec_mask::{Options, Skip, exec_mask};
use flow::passes::{Rewritten, Style};
use ir::{Module, Origin};
use proptest::prelude::*;
use simt::machine::{Machine, Step};
use simt::observe::Blind;
use std::fmt::Write;
use vm::{Engine, Launch, Program, Stats, catalogued, load_variables};

/// Runs kernel `k`, which has one word of output for each thread.
fn run(module: &Module, mechanism: &str, width: u32) -> (Vec<u32>, Stats) {
    let program = Program::link(module.clone()).unwrap_or_else(|e| panic!("{e:#?}"));
    let entry = Entry::find(mechanism).unwrap();
    let mut launch = Launch::<1>::new(module.function("k").unwrap(), catalogued(entry));
    let out = launch.memory.allocate("out", 4 * u64::from(THREADS)).unwrap();
    launch.variables = load_variables(&program, &mut launch.memory).unwrap();
    launch.params = out.0.to_le_bytes().to_vec();
    launch.block = [THREADS, 1, 1];
    launch.width = width;
    launch.limit = 2_000_000;
    let engine = Engine::<1>;
    let mut state = engine.launch(&program, launch).unwrap();
    let end = engine.run(&program, &mut state, &mut Blind, u64::MAX);
    assert_eq!(end, Step::Done, "{mechanism} {width}\n{}", ir::text::print(module));
    assert!(state.stats().slots.identity_holds());
    let mut bytes = vec![0; 4 * THREADS as usize];
    state.memory().read_bytes(out, &mut bytes).unwrap();
    let words = bytes.chunks(4).map(|w| u32::from_le_bytes(w.try_into().unwrap())).collect();
    (words, *state.stats())
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

/// The end of a block of a random graph.
#[derive(Clone, Debug)]
enum End {
    Fall,
    Br(usize),
    If(bool, usize),
    Ret,
    RetIf(bool),
    ExitIf(bool),
}

fn ends() -> impl Strategy<Value = Vec<End>> {
    let end = |n: usize| {
        prop_oneof![
            3 => Just(End::Fall),
            2 => (0..n).prop_map(End::Br),
            6 => (any::<bool>(), 0..n).prop_map(|(negated, to)| End::If(negated, to)),
            1 => Just(End::Ret),
            1 => any::<bool>().prop_map(End::RetIf),
            1 => any::<bool>().prop_map(End::ExitIf),
        ]
    };
    (1usize..10).prop_flat_map(move |n| prop::collection::vec(end(n), n))
}

/// A kernel of any shape. Each block ends lanes that have run for long, so that every loop ends.
fn random_kernel(ends: &[End], device: bool) -> String {
    let mut body = String::new();
    for (i, end) in ends.iter().enumerate() {
        let _ = writeln!(body, "b{i}:");
        work(&mut body, i);
        let stop = if device { "ret" } else { "exit" };
        let _ = writeln!(body, "  @%q {stop}\nb{i}.end:");
        let not = |negated: &bool| if *negated { "!" } else { "" };
        let _ = match end {
            End::Fall => writeln!(body, "  nop"),
            End::Br(to) => writeln!(body, "  br b{to}"),
            End::If(negated, to) => writeln!(body, "  @{}%p br b{to}", not(negated)),
            End::Ret => writeln!(body, "  ret"),
            End::RetIf(negated) => writeln!(body, "  @{}%p ret", not(negated)),
            End::ExitIf(negated) => writeln!(body, "  @{}%p exit", not(negated)),
        };
    }
    if !device {
        return format!("kernel @k(out: u64 global) {{{HEAD}\n  br b0\n{body}last:\n  ret\n}}\n");
    }
    let head = HEAD.replace("  %at = ld.param.u64 [@out]\n", "");
    let caller = "kernel @k(out: u64 global) {
  reg %a: b64
  reg %t, %r: b32
  reg %p: pred
entry:
  %a = ld.param.u64 [@out]
  %t = sreg.u32 tid.x
  %p = setp.lt.u32 %t, 5
  @%p br few
all:
  %t = call @f(%a)
few:
  %r = call @f(%a)
  %t = add.u32 %t, %r
  %a = ld.param.u64 [@out]
  %r = sreg.u32 tid.x
  %r = shl.b32 %r, 2
  %a = madwide.u32 %r, 1, %a
  st.global.u32 [%a], %t
  ret
}
";
    let head = head.replace("reg %at, %wide", "reg %wide");
    format!("{caller}func @f(%at: b64) -> (%h) {{{head}\n  br b0\n{body}last:\n  ret\n}}\n")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn any_kernel(ends in ends()) {
        check(&random_kernel(&ends, false));
    }

    #[test]
    fn any_called_function(ends in ends()) {
        check(&random_kernel(&ends, true));
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
        refuse(&kernel("a:\n  switch %x, [a, b]\nb:\n  ret\n"), false),
        "function `k`: block `a` ends in `switch`: lower it to branches first"
    );
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
        "function `f`: it is recursive: its saved masks would be overwritten"
    );
    let jumps = kernel("a:\n  @%p br c\nb:\n  @%p br d\nc:\n  nop\nd:\n  ret\n");
    assert_eq!(
        refuse(&jumps, true),
        "function `k`: not structured at block `b`: the paths that part at b1 are not sequences, branches and loops with \
         one entry and one exit: some of them are also entered from elsewhere, or leave for another place (goto, break, \
         continue, early return)"
    );
}
