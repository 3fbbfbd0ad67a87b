//! The text form: round trips, what is canonical, and errors with their places.

use ir::mods::{Kind, Kinds, Mods};
use ir::text::{PrintOptions, parse, print, print_with};
use ir::{Module, Operand, Symbol, TermKind};
use isa::{Diagnostics, FileId};

const EVERYTHING: &str = include_str!("../data/everything.ir");

#[track_caller]
fn module(text: &str) -> Module {
    parse(FileId(0), text).unwrap_or_else(|e| panic!("{}", describe(text, &e)))
}

/// Errors as `line:column code: message`, one a line.
fn describe(text: &str, errors: &Diagnostics) -> String {
    let file = isa::SourceFile::new("test", text);
    let line = |d: &isa::Diagnostic| {
        let at = file.line_col(d.primary.as_ref().unwrap().span.start);
        let help = d.help.as_ref().map(|h| format!(" ({h})")).unwrap_or_default();
        format!("{}:{} {}: {}{help}", at.line, at.column, d.code, d.message)
    };
    errors.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[track_caller]
fn errors(text: &str) -> String {
    describe(text, &parse(FileId(0), text).expect_err("parses"))
}

#[test]
fn the_canonical_text_comes_back() {
    let parsed = module(EVERYTHING);
    assert_eq!(print(&parsed), EVERYTHING);
    assert!(parsed.same(&module(&print(&parsed)), true));
}

#[test]
fn source_lines_come_back_if_asked_for() {
    let text = "source \"a.cu\"\n\nfunc @f() !loc(0, 1, 0) {\nentry:\n  nop !mask !loc(0, 12, 5)\n  ret !loc(0, 13, 1)\n}\n";
    let parsed = module(text);
    let options = PrintOptions { locs: true, ..PrintOptions::default() };
    assert_eq!(print_with(&parsed, options), text);
    assert!(parsed.same(&module(text), true));
    let plain = module(&print(&parsed));
    assert!(!parsed.same(&plain, true));
    assert!(parsed.same(&plain, false));
}

#[test]
fn inlined_calls_come_back_with_source_lines() {
    let text = "source \"a.cu\"\ninlined \"outer\" (0, 9, 3)\ninlined \"inner\" (0, 5, 1, 0)\n\n\
        func @f() {\nentry:\n  nop !loc(0, 2, 1, 1)\n  ret\n}\n";
    let parsed = module(text);
    let options = PrintOptions { locs: true, ..PrintOptions::default() };
    assert_eq!(print_with(&parsed, options), text);
    let line = parsed.locs.iter().find_map(|l| l.line.as_ref()).unwrap();
    let calls = parsed.inlined_calls(line);
    let calls: Vec<(&str, u32)> = calls.map(|c| (&*c.function, c.call.line)).collect();
    assert_eq!(calls, [("inner", 5), ("outer", 9)]);
    assert!(!print(&parsed).contains("inlined"));
    for wrong in ["inlined \"f\" (0, 1, 1, 0)", "func @f() { nop !loc(0, 1, 1, 0)\n ret }"] {
        let found = errors(&format!("source \"a.cu\"\n{wrong}\n"));
        assert!(found.contains("there is no `inlined` number 0"), "{found}");
    }
}

#[test]
fn what_is_pleasant_to_write_becomes_canonical() {
    let text = "
        func @f(%x: u32) { reg %r<3>: f32
          %r0 = add.f32.ftz.rn %r1, 0x3f800000   // modifiers in any order
          @!%x br out
          %r2 = mov.f32 %r0
        out: ret }
    ";
    let canonical = "\
func @f(%x: b32) {
  reg %r0, %r1, %r2: b32
entry:
  %r0 = add.rn.ftz.f32 %r1, 1.0
  @!%x br out
bb1:
  %r2 = mov.f32 %r0
out:
  ret
}
";
    assert_eq!(print(&module(text)), canonical);
}

#[test]
fn initialisers_take_values_and_strings() {
    let text = "global @g align 4 = [u16 1, -2, f32 1.0, \"a\\0\", hex \"ff 00\"]\nglobal @h = [\n \"x\",\n]\n";
    let m = module(text);
    assert_eq!(m.vars[0].init, [1, 0, 0xfe, 0xff, 0, 0, 0x80, 0x3f, b'a', 0, 0xff, 0]);
    assert_eq!((m.vars[0].size, m.vars[0].align), (12, 4));
    assert_eq!((m.vars[1].size, m.vars[1].align), (1, 8));
}

#[test]
fn parameters_are_laid_out_naturally() {
    let m =
        module("kernel @k(a: u8, b: u64, c: b8 size 12 align 16, d: u16 offset 60) {\n ret\n}\n");
    let ir::module::Signature::Kernel { params, .. } = &m.functions[0].signature else { panic!() };
    let places: Vec<_> = params.iter().map(|p| (p.offset, p.size, p.align)).collect();
    assert_eq!(places, [(0, 1, 1), (8, 8, 8), (16, 12, 16), (60, 2, 2)]);
}

#[test]
fn the_functions_own_symbols_come_first() {
    let m = module(
        "global @a size 4\nkernel @k(a: u32) {\nreg %x: b64\n%x = mov.b64 @a\n%x = mov.b64 @@a + 4\nret\n}\n",
    );
    let insts = &m.functions[0].blocks[0].insts;
    assert_eq!(insts[0].operands[0], Operand::Symbol(Symbol::Param(0), 0));
    assert_eq!(insts[1].operands[0], Operand::Symbol(Symbol::Var(ir::VarId(0)), 4));
}

#[test]
fn equal_names_are_told_apart() {
    let mut m = module("func @f(%x: b32) {\nreg %y: b32\nentry: br out\nout: ret\n}\n");
    m.functions[0].regs[1].name = "x".to_owned();
    m.functions[0].blocks[1].name = "entry".to_owned();
    let text = print(&m);
    assert!(text.contains("reg %x.1: b32") && text.contains("br entry.1"), "{text}");
    assert_eq!(print(&module(&text)), text);
}

#[test]
fn every_block_that_falls_may_be_followed_by_an_unlabelled_one() {
    let m = module("func @f() {\nreg %p: pred\n@%p ret\n@%p exit\n@%p br a\na: fall\nret\n}\n");
    let blocks = &m.functions[0].blocks;
    let names: Vec<_> = blocks.iter().map(|b| b.name.as_str()).collect();
    assert_eq!(names, ["entry", "bb1", "bb2", "a", "bb4"]);
    assert_eq!(blocks[3].term.kind, TermKind::Fall);
}

#[test]
fn errors_have_places_and_ways_out() {
    for (line, expected) in [
        ("%x = ad.u32 %x, 1", "5:6 ir::unknown-op: `ad` is not an operation (did you mean `add`?)"),
        ("%x = add.u33 %x, 1", "5:10 ir::modifier: `add` takes no `u33` (did you mean `u32`?)"),
        (
            "%x = add %x, 1",
            "5:9 ir::type: `add` needs a type: u16, u32, u64, s16, s32, s64, f16, bf16, f16x2, bf16x2, f32, f64, f32x2, u16x2, s16x2",
        ),
        ("%x = add.rn.rz.f32 %x, %x", "5:13 ir::modifier: `rz` is one too many of its kind"),
        (
            "%x = add.u32 %xx, 1",
            "5:14 ir::unknown-name: no register is named `%xx` (did you mean `%x`?)",
        ),
        ("%x = add.u32 %x, 4294967296", "5:18 ir::number: 4294967296 does not fit u32"),
        (
            "%x = add.f32 %x, 1",
            "5:18 ir::number: an integer where f32 is expected: write `1.0` for the value or `0x...` for bits",
        ),
        ("%x = add.u32 %x,", "5:17 ir::syntax: expected an operand, found the end of the line"),
        ("%x = add.u32 [%x], 1", "5:14 ir::operand: operand 1 of `add` is not an address"),
        ("%x = ld.u32 %x", "5:13 ir::syntax: expected an address such as `[%x + 4]`, found `%x`"),
        (
            "%x = ld.u32 [%x + 9223372036854775808]",
            "5:19 ir::number: the byte offset does not fit 64 bits",
        ),
        (
            "%x = sreg.u32 tid.w",
            "5:15 ir::unknown-name: `tid.w` is not a special register (did you mean `tid.x`?)",
        ),
        ("@%w nop", "5:2 ir::register: `%w` is a warp register; a per-lane one must stand here"),
        ("@%p switch %x, [a]", "5:5 ir::guard: `switch` cannot have a guard"),
        ("br ab", "5:4 ir::unknown-name: no block is named `ab` (did you mean `a`?)"),
        ("call @k()", "5:6 ir::unknown-name: nothing is named `@k`"),
        (
            "nop !msk",
            "5:6 ir::syntax: expected an origin or `loc`, found `msk` (did you mean `mask`?)",
        ),
        ("nop !loc(0, 1, 1)", "5:10 ir::unknown-name: there is no `source` number 0"),
        ("nop\nreg %y: b32", "6:1 ir::syntax: declarations come before the first block"),
        ("nop \"x", "5:5 ir::syntax: a string without its closing quote"),
        ("nop §", "5:5 ir::syntax: expected an operand, found `§`"),
        ("a: nop", "6:1 ir::duplicate-name: the function has two blocks `a`"),
    ] {
        let text =
            format!("func @f() {{\nreg %x: b32\nreg %p: pred\nwarp %w: b32\n{line}\na: ret\n}}\n");
        assert_eq!(errors(&text), expected, "{line}");
    }
}

#[test]
fn parsing_goes_on_at_the_next_line() {
    let text = "
glob @g size 4
global @g size
shared @g size 4
func @f(%x: b33) {
  frob
entry:
  nop nop
  ret
  nop
}
kernel @k(a: u32, a: u32) {
  %y = nop
";
    assert_eq!(
        errors(text),
        "\
2:1 ir::syntax: expected a variable, a kernel or a function, found `glob`
3:15 ir::syntax: expected the size in bytes, found the end of the line
4:8 ir::duplicate-name: `@g` is defined twice
5:13 ir::syntax: expected a type such as `b32`, found `b33`
12:19 ir::duplicate-name: the function has two symbols `@a`
6:3 ir::unknown-op: `frob` is not an operation
8:7 ir::syntax: expected an operand, found `nop`
10:3 ir::unreachable: nothing comes here: the block above has ended (a label in front makes it a block that can be branched to)
13:3 ir::unknown-name: no register is named `%y`
14:1 ir::syntax: expected `}` at the end of the function, found the end of the text"
    );
}

#[test]
fn sizes_are_limited() {
    assert!(errors("func @f() {\nreg %r<65537>: b32\nret\n}\n").contains("ir::limit"));
    assert!(
        errors("kernel @f(a: b8 size 4294967295, b: u32) {\nret\n}\n").contains("beyond 4 GiB")
    );
    assert!(
        errors("func @f() {\nlocal @a size 4294967295\nlocal @b size 8\nret\n}\n")
            .contains("beyond")
    );
    assert!(errors("func @f() {\nspills 4294967296\nret\n}\n").contains("does not fit 32 bits"));
}

#[test]
fn every_word_of_a_modifier_sets_what_it_spells() {
    for &kind in Kind::ALL {
        for (&word, (spelled, meaning)) in kind.words().iter().zip(kind.meanings()) {
            let mut mods = Mods::default();
            assert!(mods.set_word(kind, word), "{kind:?} {word}");
            assert_eq!(mods.word(kind), Some(word), "{kind:?}");
            assert!(spelled == word && !meaning.is_empty(), "{kind:?} {word}");
            let mut others = Kind::ALL.iter().filter(|&&other| other != kind);
            assert!(others.all(|&other| mods.word(other).is_none()), "{kind:?}");
        }
    }
    assert!(!Mods::default().set_word(Kind::Scope, "shared"));
}

#[test]
fn sets_hold_their_kinds_in_the_order_of_the_text_form() {
    let set = Kinds::of(&[Kind::Space, Kind::Cmp]);
    assert_eq!(set.iter().collect::<Vec<_>>(), [Kind::Cmp, Kind::Space]);
}
