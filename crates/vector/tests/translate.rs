//! Translation of all PTX in this repository: each kernel has a function, which is well-formed.

#[path = "common/corpus.rs"]
mod corpus;

use corpus::{files, kernels, repository};
use std::collections::BTreeMap;
use std::io::Write;
use vector::translate::{Untranslated, translate};
use vector::{Function, Op, passes};

/// Prints a line.
fn say(line: std::fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn function(code: &fast::code::Code) -> Result<Function, Untranslated> {
    let mut function = translate(code, fast::Order::Taken, false)?;
    function.verify().unwrap_or_else(|error| panic!("{error}\n{function}"));
    passes::optimize(&mut function);
    function.verify().unwrap_or_else(|error| panic!("after the passes: {error}\n{function}"));
    Ok(function)
}

#[test]
fn functions_of_all_kernels_are_well_formed() {
    let mut found = Vec::new();
    files(&repository().join("kernels"), &mut found);
    files(&repository().join("crates"), &mut found);
    let (mut whole, mut part, mut reasons) = (0, 0, BTreeMap::<String, usize>::new());
    for file in found {
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        kernels(&text, [256, 1, 1], &mut |_, kernel| match function(kernel.code()) {
            Ok(function) if function.any(|op| matches!(op, Op::Interpret(_))) => part += 1,
            Ok(_) => whole += 1,
            Err(error) => *reasons.entry(error.to_string()).or_default() += 1,
        });
    }
    let none: usize = reasons.values().sum();
    say(format_args!(
        "{whole} whole, {part} with steps of the interpreter, {none} none: {reasons:#?}"
    ));
    assert_eq!(none, 0, "kernels without a function: {reasons:#?}");
}

/// Returns the function of a kernel with these declarations and this body, after the passes.
fn of(body: &str) -> Function {
    let text = format!(
        ".version 8.5\n.target sm_80\n.address_size 64\n\
         .visible .entry k(.param .u64 a, .param .u32 n)\n{{\n\
         .reg .pred %p<4>;\n.reg .b32 %r<8>;\n.reg .f32 %f<8>;\n.reg .b64 %d<8>;\n{body}\nret;\n}}\n"
    );
    let mut found = None;
    kernels(&text, [64, 1, 1], &mut |_, kernel| {
        found = Some(function(kernel.code()).expect("it has one"));
    });
    found.expect("the kernel is well-formed")
}

/// Returns the number of instructions with an operation in blocks that control reaches.
fn count(function: &Function, is: impl Fn(&Op) -> bool) -> usize {
    let blocks = function.reverse_postorder();
    let insts = blocks.iter().flat_map(|&b| &function.block(b).insts);
    insts.filter(|&&i| is(&function.inst(i).op)).count()
}

/// Loads `%f1` from the thread's own word, whose address is `%d2`.
const OWN: &str = "ld.param.u64 %d1, [a];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %d2, %r1, 4;\n\
                   add.s64 %d2, %d1, %d2;\nld.global.f32 %f1, [%d2];\n";

#[test]
fn nans_are_made_canonical_where_their_bits_are_seen() {
    let unordered = |body: &str| count(&of(&format!("{OWN}{body}")), |op| *op == Op::Unordered);
    // The sum alone is stored; nothing but arithmetic sees the product.
    assert_eq!(
        unordered("mul.f32 %f2, %f1, %f1;\nadd.f32 %f3, %f2, %f1;\nst.global.f32 [%d2], %f3;"),
        1
    );
    // The product is stored, too.
    let both = "mul.f32 %f2, %f1, %f1;\nadd.f32 %f3, %f2, %f1;\nst.global.f32 [%d2], %f3;\n\
                st.global.f32 [%d2+256], %f2;";
    assert_eq!(unordered(both), 2);
    // Round a loop into arithmetic and comparisons alone; at the end, its bits are moved.
    let round = |last: &str| {
        format!(
            "mov.f32 %f2, %f1;\nagain:\nmul.f32 %f2, %f2, %f1;\nsetp.lt.f32 %p1, %f2, 0f447A0000;\n\
             @%p1 bra again;\n{last}"
        )
    };
    assert_eq!(
        unordered(&round(
            "setp.gt.f32 %p2, %f2, 0f40000000;\nselp.u32 %r2, 1, 2, %p2;\nst.global.u32 [%d2], %r2;"
        )),
        0
    );
    assert_eq!(unordered(&round("mov.b32 %r2, %f2;\nst.global.u32 [%d2], %r2;")), 1);
}

#[test]
fn values_of_loops_that_do_not_change_are_made_before() {
    let body = "ld.param.u32 %r5, [n];\nmov.u32 %r2, 0;\nmov.u32 %r3, 0;\nagain:\n\
                mul.lo.u32 %r4, %r1, %r5;\nadd.u32 %r3, %r3, %r4;\nxor.b32 %r3, %r3, %r2;\n\
                add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, 100;\n@%p1 bra again;\nst.global.u32 [%d2], %r3;";
    let function = of(&format!("{OWN}{body}"));
    // The loop's head: where the block with the back-edge goes.
    let order = function.reverse_postorder();
    let back = |b: &&vector::Block| {
        let data = function.block(**b);
        data.insts.iter().any(|&i| matches!(function.inst(i).op, Op::BackEdge(_)))
    };
    let latch = order.iter().find(back).expect("there is a loop");
    let inside = function.block(*latch).end.targets().next().expect("it goes on").block;
    // The products are a line, or a row of a line: neither is computed in the loop.
    let products = |op: &Op| matches!(op, Op::Lanes(vector::LaneOp::Mul) | Op::Line(_));
    let in_loop = function.block(inside).insts.iter();
    assert_eq!(in_loop.filter(|&&i| products(&function.inst(i).op)).count(), 0, "{function}");
}

#[test]
fn chains_of_operations_under_one_mask_are_selected_at_their_end() {
    // Two values change on one side of a branch, the second by way of the first; all lanes read
    // both behind it.
    let body = "ld.global.u32 %r2, [%d2];\nmov.u32 %r3, %r2;\nmov.u32 %r4, %r1;\n\
                setp.gt.u32 %p1, %r2, 10;\n@%p1 bra skip;\nadd.u32 %r3, %r3, 5;\n\
                mad.lo.u32 %r4, %r3, %r2, 77;\nskip:\nst.global.u32 [%d2], %r3;\n\
                st.global.u32 [%d2+256], %r4;";
    let function = of(&format!("{OWN}{body}"));
    let insts = || function.blocks().flat_map(|(_, block)| &block.insts);
    let selected: Vec<vector::Value> = insts()
        .filter(|&&i| function.inst(i).op == Op::Select)
        .map(|&i| function.inst(i).results[0])
        .collect();
    assert_eq!(selected.len(), 2, "{function}");
    // The product reads the sum itself, not what was selected from it.
    let mut products = insts().filter(|&&i| {
        matches!(function.inst(i).op, Op::Lanes(vector::LaneOp::Mul))
            && function.inst(i).args.iter().any(|arg| selected.contains(arg))
    });
    assert_eq!(products.next(), None, "{function}");
}

/// Returns the parameters of all blocks of a kernel that calls itself between divergent branches,
/// with so many values that are needed behind each.
fn parameters(values: usize, branches: usize) -> usize {
    let declared = format!(".reg .pred %p<2>;\n.reg .b32 %n, %v<{values}>;\n.reg .b64 %a;\n");
    let mut body = "ld.param.u32 %n, [n];\nld.param.u64 %a, [a];\n".to_owned();
    for value in 0..values {
        body += &format!("ld.global.u32 %v{value}, [%a+{}];\n", 4 * value);
    }
    for branch in 0..branches {
        let value = branch % values;
        body += &format!(
            "setp.eq.u32 %p0, %v{value}, {branch};\n@%p0 bra L{branch};\n\
             {{ .param .b64 to; .param .b32 n; st.param.b64 [to], %a; st.param.b32 [n], %n;\n\
             call f, (to, n); }}\nadd.u32 %v{value}, %v{value}, 1;\nL{branch}:\n"
        );
    }
    for value in 0..values {
        body += &format!("st.global.u32 [%a+{}], %v{value};\n", 4 * value);
    }
    let text = format!(
        ".version 8.5\n.target sm_80\n.address_size 64\n\
         .func f(.param .b64 a, .param .b32 n);\n\
         .func f(.param .b64 a, .param .b32 n)\n{{\n{declared}{body}ret;\n}}\n\
         .visible .entry k(.param .u64 a, .param .u32 n)\n{{\n.reg .b32 %n;\n.reg .b64 %a;\n\
         ld.param.u32 %n, [n];\nld.param.u64 %a, [a];\n\
         {{ .param .b64 to; .param .b32 n; st.param.b64 [to], %a; st.param.b32 [n], %n;\n\
         call f, (to, n); }}\nret;\n}}\n"
    );
    let mut found = None;
    kernels(&text, [64, 1, 1], &mut |_, kernel| {
        let function = function(kernel.code()).expect("it has one");
        found = Some(function.blocks().map(|(_, block)| block.params.len()).sum());
    });
    found.expect("the kernel is well-formed")
}

/// What many values are on a stack does not grow with the product of values and branches.
#[test]
fn kernels_with_a_stack_have_few_parameters() {
    let few = parameters(20, 8);
    assert!(few > 2 * 20, "a few values are parameters: {few}");
    let [one, many] = [100, 200].map(|values| parameters(values, 40));
    assert!(many <= one + 10 && many < 1_000, "{one}, {many}");
}

#[test]
fn functions_with_errors_are_refused() {
    use vector::{Condition, MaskOp, Terminator, Type, VerifyError};
    let new = || {
        let mut function = Function::default();
        let entry = function.add_block();
        let lanes = function.add_param(entry, Type::Mask);
        (function, entry, lanes)
    };
    let (mut function, entry, lanes) = new();
    function.append(entry, Op::Splat, &[lanes], &[Type::Row32]);
    assert!(matches!(function.verify(), Err(VerifyError::Inst { .. })));
    // A value of one side is used behind both.
    let (mut function, entry, lanes) = new();
    let [yes, no, end] = [(); 3].map(|()| function.add_block());
    let to = |block| vector::Target { block, args: Vec::new() };
    function.set_end(entry, Terminator::Branch(Condition::Any(lanes), to(yes), to(no)));
    let inst = function.append(yes, Op::Mask(MaskOp::Not), &[lanes], &[Type::Mask]);
    let value = function.inst(inst).results[0];
    function.set_end(yes, Terminator::Jump(to(end)));
    function.set_end(no, Terminator::Jump(to(end)));
    function.append(end, Op::Exit, &[value], &[]);
    assert!(matches!(function.verify(), Err(VerifyError::Undefined { .. })));
    // A parameter has no argument.
    let (mut function, entry, _) = new();
    let end = function.add_block();
    function.add_param(end, Type::Scalar);
    function.set_end(entry, Terminator::Jump(to(end)));
    assert!(matches!(function.verify(), Err(VerifyError::End { .. })));
    // Branches look at masks, or at bits of scalars.
    let (mut function, entry, lanes) = new();
    let end = function.add_block();
    function.set_end(entry, Terminator::Branch(Condition::Bit(lanes), to(end), to(end)));
    assert!(matches!(function.verify(), Err(VerifyError::End { .. })));
}

/// `KERNEL=FILE cargo test --test translate -- --ignored --nocapture`
#[test]
#[ignore = "prints functions"]
fn print_functions() {
    let Some(file) = std::env::var_os("KERNEL") else { return };
    let text = std::fs::read_to_string(file).expect("the file is there");
    kernels(&text, [256, 1, 1], &mut |name, kernel| match function(kernel.code()) {
        Ok(function) => say(format_args!("{name}:\n{function}")),
        Err(error) => say(format_args!("{name}: {error}")),
    });
}
