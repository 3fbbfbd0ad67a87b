//! Functions that break the builder's rules are refused, and nothing panics.

use super::super::{Compiler, Function, Part, View};
use crate::Refused;
use crate::asm::Asm;
use fast::Level;
use iced_x86::Code as Op;

/// Returns why a function that goes on after its entry has begun is refused.
fn refused(build: impl Fn(&mut Function, &mut Asm)) -> Option<Refused> {
    let (mut f, mut asm) = (Function::new(Level::Avx512), Asm::default());
    let entry = f.block(&[]);
    f.begin(entry);
    build(&mut f, &mut asm);
    Compiler::new(Level::Avx512).compile(&f, &mut asm).err()
}

fn encoding(reason: &str) -> Option<Refused> {
    Some(Refused::Encoding(reason.to_owned()))
}

#[test]
fn blocks_have_one_beginning_and_one_end() {
    assert_eq!(refused(|f, asm| f.exit(asm.label())), None);
    assert_eq!(refused(|_, _| {}), encoding("a block has no end"));
    let no_beginning = refused(|f, _| {
        let next = f.block(&[]);
        f.jump((next, &[]));
    });
    assert_eq!(no_beginning, encoding("a block has no end"));
    let no_end = refused(|f, asm| {
        let next = f.block(&[]);
        f.begin(next);
        f.exit(asm.label());
    });
    assert_eq!(no_end, encoding("a block begins before the last one ends"));
    let twice = refused(|f, asm| {
        let next = f.block(&[]);
        f.jump((next, &[]));
        for _ in 0..2 {
            f.begin(next);
            f.exit(asm.label());
        }
    });
    assert_eq!(twice, encoding("a block begins twice"));
}

#[test]
fn arguments_and_operands_are_counted() {
    let arguments = refused(|f, asm| {
        let next = f.block(&[View::R64]);
        f.jump((next, &[]));
        f.begin(next);
        f.exit(asm.label());
    });
    assert_eq!(arguments, encoding("a block has another number of parameters"));
    let operands = refused(|f, asm| {
        let mut p = f.pseudo();
        for _ in 0..65 {
            p.output(View::V);
        }
        p.end();
        f.exit(asm.label());
    });
    assert_eq!(operands, encoding("an instruction has too many operands"));
    let result = refused(|f, asm| {
        let [yes, no] = [(); 2].map(|()| f.block(&[]));
        let one = f.constant(1);
        let mut p = f.pseudo();
        let less = p.output_tied(View::R64, one);
        p.op(Op::Dec_rm64, (less,));
        p.branch(Op::Jne_rel32_64, (yes, &[]), (no, &[]));
        for block in [yes, no] {
            f.begin(block);
            f.exit(asm.label());
        }
    });
    assert_eq!(result, encoding("a branch has a result"));
}

#[test]
fn registers_have_a_limit_and_one_definition() {
    let many = vec![View::V; 1 << 21];
    let count = refused(|f, asm| {
        f.block(&many);
        f.exit(asm.label());
    });
    assert_eq!(count, Some(Refused::TooLarge));
    let undefined = refused(|f, asm| {
        let next = f.block(&[View::R64]);
        let register = f.param(next, 0);
        f.int(Op::Mov_r32_rm32, View::R32, (register.d(),));
        f.exit(asm.label());
    });
    assert!(matches!(undefined, Some(Refused::Encoding(_))));
}

#[test]
fn functions_are_for_one_level() {
    let (mut f, mut asm) = (Function::new(Level::Avx2), Asm::default());
    let entry = f.block(&[]);
    f.begin(entry);
    f.exit(asm.label());
    let refused = Compiler::new(Level::Avx512).compile(&f, &mut asm).err();
    assert_eq!(refused, encoding("a function for other instructions"));
}
