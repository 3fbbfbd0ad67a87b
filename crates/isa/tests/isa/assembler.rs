//! The assembler: what it makes of good text, and what it says about bad text.

use crate::common;

use crate::common::{dialect, findings, try_assemble, words};
use isa::asm::{Limits, Syntax, assemble};
use isa::{FileId, SourceFile};

/// Words by GNU as and LLVM MC for the same lines.
#[test]
fn real_riscv_lines() {
    let cases: &[(&str, u32)] = &[
        ("add a0, a0, a0", 0x00a5_0533),
        ("sub s1,a2 ,t6", 0x41f6_04b3),
        ("addi sp, sp, -16", 0xff01_0113),
        ("ADDI x2, X2, -16", 0xff01_0113),
        ("li a0, 42", 0x02a0_0513),
        ("mv s0, sp", 0x0001_0413),
        ("nop", 0x0000_0013),
        ("ret", 0x0000_8067),
        ("lw ra, 12(sp)", 0x00c1_2083),
        ("lw ra, (sp)", 0x0001_2083),
        ("sw a0, -20(s0)", 0xfea4_2623),
        ("sw a0, -(5*4)(fp)", 0xfea4_2623),
        ("lui t0, 0x12345000", 0x1234_52b7),
        ("slli a0, a0, 31", 0x01f5_1513),
        ("jal ra, .+2048", 0x0010_00ef),
        ("j .-2", 0xffff_f06f),
        ("beq a0, zero, .-4096", 0x8005_0063),
        ("fence rw, w", 0x0310_000f),
        ("fence", 0x0ff0_000f),
        ("fadd.s x1, x2, x3", 0x0031_70d3),
        ("fadd.s x1, x2, x3, rtz", 0x0031_10d3),
        ("ecall", 0x0000_0073),
    ];
    for (text, word) in cases {
        assert_eq!(words(text), [*word], "{text}: {:08x}", words(text)[0]);
    }
}

#[test]
fn labels_forward_backward_and_local() {
    let text = "
start:  beq a0, a1, done      # forward
1:      addi a0, a0, 1
        bne a0, a1, 1b
        j 1f ; j start
1:done: j done
        .equ four, 4
        lw a0, four*2+table-table(a1)
table:";
    assert_eq!(
        words(text),
        [0x00b5_0a63, 0x0015_0513, 0xfeb5_1ee3, 0x0080_006f, 0xff1f_f06f, 0x0000_006f, 0x0085_a503]
    );
}

#[test]
fn expressions_have_the_precedence_of_c() {
    let cases: &[(&str, i128)] = &[
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("10 - 4 - 3", 3),
        ("1 << 2 + 1", 8),
        ("6 & 3 ^ 1 | 8", 11),
        ("-7 / 2", -3),
        ("-7 % 2", -1),
        ("-8 >> 1", -4),
        ("~0", -1),
        ("- - ~-1", 0),
        ("+5", 5),
        ("0xffffffffffffffff", 0xffff_ffff_ffff_ffff),
        ("-0x8000000000000000", -0x8000_0000_0000_0000),
        ("0b1010 + 0o17 + 1_000", 1025),
        ("'a' + '\\n' + '\\''", 97 + 10 + 39),
        ("'\u{fc}'", 0xfc),
        ("%lo(0x12345fff)", -1),
        ("%twice(%twice(3))", 12),
        ("7 %2", 1),
        ("1/*x*/+/*;*/1", 2),
    ];
    for (text, value) in cases {
        let image = try_assemble(&format!(".dword {text}")).unwrap();
        assert_eq!(image.segments[0].bytes, value.to_le_bytes()[..8], "{text}");
    }
}

#[test]
fn data_sections_and_alignment() {
    let text = r##"
        c.nop
        .balign 8
        ret
        .data
bytes:  .byte 1, -1, 255, later - bytes
        .half 0x1234, -2
        .align 3
        .word 'x', . - bytes
        .dword later
        .float 1.5
        .double -0.25
        .ascii "a\x41\\", "\"#;"
        .asciz "z"
        .zero 2
        .fill 2, 2, 0x102
        .space 3, 7
later:  .text
        nop
        .section .data, "aw"
        .byte 9
        .org 0x5000
        .byte 1"##;
    let image = try_assemble(text).unwrap();
    let shown: Vec<_> =
        image.segments.iter().map(|s| (s.section.as_str(), s.address, s.bytes.len())).collect();
    assert_eq!(shown, [(".text", 0, 16), (".data", 0x5000, 1), (".data", 0x1_0000, 54)]);
    // Code is filled with c.nop.
    assert_eq!(image.segments[0].bytes[..8], [1, 0, 1, 0, 1, 0, 1, 0]);
    let data = &image.segments[2].bytes;
    assert_eq!(data[..8], [1, 255, 255, 53, 0x34, 0x12, 0xfe, 0xff]);
    assert_eq!(data[8..16], [b'x', 0, 0, 0, 8, 0, 0, 0]);
    assert_eq!(data[16..24], 0x1_0035u64.to_le_bytes());
    assert_eq!(data[24..28], 1.5f32.to_le_bytes());
    assert_eq!(data[28..36], (-0.25f64).to_le_bytes());
    assert_eq!(&data[36..42], b"aA\\\"#;");
    assert_eq!(data[42..], [b'z', 0, 0, 0, 2, 1, 2, 1, 7, 7, 7, 9]);
}

#[test]
fn symbols_lines_and_listing() {
    let text = "\
.globl main
.equ size, 3
.lanes 16, \"x\"   # the machine's own
main: nop
      .data
v:    .zero 20
";
    let image = try_assemble(text).unwrap();
    let main = image.symbol("main").unwrap();
    assert!(main.global && main.address && main.value == 0);
    let size = image.symbol("size").unwrap();
    assert!(!size.global && !size.address && size.value == 3);
    assert_eq!(image.directives.len(), 1);
    let lanes = &image.directives[0];
    assert_eq!((lanes.name.as_str(), lanes.arguments.as_str()), (".lanes", "16, \"x\""));
    let line = image.line_at(0x1_0013).unwrap();
    assert_eq!((line.address, line.length), (0x1_0000, 20));
    assert!(image.line_at(0x1_0014).is_none() && image.bytes_at(0x1_0014).is_none());
    let listing = image.listing(&SourceFile::new("t.s", text));
    let expected = "\
00000000  13000000                4  nop
00010000  0000000000000000..      6  .zero 20

0000000000000000  label global  main
0000000000000003  value  size
0000000000010000  label  v
";
    assert_eq!(listing, expected);
}

#[test]
fn set_may_be_repeated_and_each_use_sees_the_last() {
    let text = ".set n, 1\n.byte n\n.set n, n+1\n.byte n, once\nn = 7\n.byte n\n.set once, 5";
    assert_eq!(try_assemble(text).unwrap().segments[0].bytes, [1, 2, 5, 7]);
}

#[test]
fn chains_of_definitions_resolve_in_any_order() {
    let n = 20_000;
    let chain = |i: u32| format!(".equ q{i}, q{} + 1\n", i + 1);
    let forward: String = (0..n).map(chain).collect();
    let backward: String = (0..n).rev().map(chain).collect();
    for text in [
        format!(".dword q0\n{forward}.equ q{n}, 5"),
        format!(".equ q{n}, 5\n{backward}.dword q0"),
        format!("{backward}.equ q{n}, 5\n.dword q0"),
    ] {
        let image = try_assemble(&text).unwrap();
        assert_eq!(image.segments[0].bytes, 20_005u64.to_le_bytes());
    }
}

#[test]
fn pseudo_instructions_expand() {
    let text = "la t0, 100\nla t0, far\n.org 0x12345ff0\nfar:";
    assert_eq!(words(text), [0x0640_0293, 0x1234_62b7, 0xff02_8293]);
    // The whole expansion is one line.
    let image = try_assemble(text).unwrap();
    assert_eq!(image.line_at(8).unwrap().address, 4);
}

#[test]
fn the_first_form_whose_values_fit_is_taken() {
    // `csel.n` and `csel.s` have mnemonics of their own; `v.set` has an optional part; `w.mark` a
    // suffix.
    let image = try_assemble("w.mark.5 0x1\nw.mark 0x1\nv.set a0, 8, 2\nv.set a0, -8").unwrap();
    assert_eq!(image.size(), 6 + 6 + 8 + 8);
    assert_eq!(image.segments[0].bytes[..6], (0x1fu64 | 5 << 6 | 1 << 15).to_le_bytes()[..6]);
    // A literal and an operand may be one word; a flag without a name for 0 is optional.
    assert_eq!(words("glue a0, n5; glue a0, N 5"), [0x0002_850b; 2]);
    assert_eq!(
        words("flagged.u a0; flagged a0; flagged a0, 3"),
        [0x0000_950b, 0x150b, 0x0003_150b]
    );
    // `li` is an alias for small values and a pseudo-instruction for the others.
    assert_eq!(words("li a0, 0x12345678").len(), 2);
    assert_eq!(words("li a0, -2048").len(), 1);
}

/// Each bad text with what is said about it, by line and column.
#[test]
fn mistakes_are_told_with_their_place() {
    let cases: &[(&str, &[&str])] = &[
        ("add a0, a1", &["1:11 asm::syntax: expected `,`"]),
        ("add a0, a1, 5", &["1:13 asm::syntax: expected zero, ra, ... t6"]),
        ("add a0, a1, a2 a3", &["1:16 asm::syntax: expected the end of the statement"]),
        ("fence r", &["1:8 asm::syntax: expected `,`"]),
        ("fadd.s x1, x2, x3, rxx", &["1:20 asm::syntax: expected rne, rtz, rdn, rup, rmm, dyn"]),
        ("ad a0, a1, a2", &["1:1 asm::unknown-mnemonic: testv has no instruction `ad`"]),
        ("?", &["1:1 asm::syntax: expected a label, directive or mnemonic"]),
        (
            "nop\n addi a0, a0, 2048",
            &["2:15 asm::out-of-range: 2048 does not fit `imm`, which holds -2048 to 2047"],
        ),
        (
            "addi a0, a0, -0x8000000000000000",
            &[
                "1:14 asm::out-of-range: -9223372036854775808 does not fit `imm`, which holds -2048 to 2047",
            ],
        ),
        (
            "addi a0, a0, 0xffffffffffffffff",
            &["1:14 asm::out-of-range: 18446744073709551615 does not fit `imm`"],
        ),
        (
            "beq a0, a1, x\n.org 0x2000\nx:",
            &["1:13 asm::out-of-range: 8192 does not fit `off`, which holds -4096 to 4094"],
        ),
        ("j .+3", &["1:3 asm::out-of-range: 3 does not fit `off`, which holds multiples of 2"]),
        (
            "c.addi4spn cs0, sp, 0",
            &["1:21 asm::out-of-range: 0 is reserved in `imm`, which holds 4..1020"],
        ),
        (".byte 1\nnop", &["2:1 asm::misaligned: an instruction at 0x1, not a multiple of 2"]),
        ("j nowhere", &["1:3 asm::undefined-symbol: `nowhere` is not defined"]),
        (
            "j 1b\n1: j 2f",
            &[
                "1:3 asm::undefined-symbol: `1b`: there is no label `1:` before this",
                "2:6 asm::undefined-symbol: `2f`: there is no label `2:` after this",
            ],
        ),
        ("x: nop\nx: nop", &["2:1 asm::duplicate-symbol: `x` is defined twice"]),
        ("x: nop\n.equ x, 1", &["2:6 asm::duplicate-symbol: `x` is defined twice"]),
        (
            "a0: nop",
            &["1:1 asm::reserved-name: `a0` cannot be a symbol: it has a meaning of its own"],
        ),
        (
            ".equ a0, 1",
            &["1:6 asm::reserved-name: `a0` cannot be a symbol: it has a meaning of its own"],
        ),
        (".word a0", &["1:7 asm::syntax: expected an expression"]),
        (
            ".equ a, b\n.equ b, c\n.equ c, a\n.word a",
            &["3:9 asm::cycle: the value of `a` needs itself"],
        ),
        (".equ a, a + 1", &["1:9 asm::cycle: the value of `a` needs itself"]),
        (
            ".byte x\n.set x, 1\n.set x, 2",
            &["1:7 asm::ambiguous-symbol: `x` has several values, all given after this"],
        ),
        (".word 1/0", &["1:7 asm::division-by-zero: division by zero"]),
        (".word 1/(x-x)\nx:", &["1:7 asm::division-by-zero: division by zero"]),
        (".word 5 % 0", &["1:7 asm::division-by-zero: division by zero"]),
        (".word 1 << 64", &["1:7 asm::shift: a shift by 64; possible are 0 to 63"]),
        (".word 1 >> -1", &["1:7 asm::shift: a shift by -1; possible are 0 to 63"]),
        (
            ".dword 0xffffffffffffffff + 1",
            &["1:8 asm::overflow: the result of `+` exceeds 64 bits"],
        ),
        (
            ".dword -0x8000000000000000 - 1",
            &["1:8 asm::overflow: the result of `-` exceeds 64 bits"],
        ),
        (
            ".dword 0x7fffffffffffffff * 0x7fffffffffffffff * 4",
            &["1:8 asm::overflow: the result of `*` exceeds 64 bits"],
        ),
        (".word 0x10000000000000000", &["1:7 asm::number: 0x10000000000000000 exceeds 64 bits"]),
        (".word 12ab", &["1:7 asm::number: `12ab` is not a number"]),
        (".word 0x", &["1:7 asm::number: `0x` is not a number"]),
        (".word 'ab'", &["1:7 asm::number: a character in quotes is one character"]),
        (".word ''", &["1:7 asm::number: a character in quotes is one character"]),
        (".word '", &["1:7 asm::string: the closing quote is missing"]),
        (".byte 256", &["1:7 asm::out-of-range: 256 does not fit 8 bits, which hold -128 to 255"]),
        (
            ".byte -129",
            &["1:7 asm::out-of-range: -129 does not fit 8 bits, which hold -128 to 255"],
        ),
        (
            ".byte x\n.equ x, 999",
            &["1:7 asm::out-of-range: 999 does not fit 8 bits, which hold -128 to 255"],
        ),
        (".float 1.5x", &["1:8 asm::syntax: expected a decimal number"]),
        (".ascii \"abc", &["1:8 asm::string: the closing quote is missing"]),
        (
            ".ascii \"\\q\"",
            &[
                "1:9 asm::string: `\\q` is not an escape; there are \\n \\t \\r \\0 \\\\ \\\" \\' \\xHH",
            ],
        ),
        (".ascii \"\\x4\"", &["1:9 asm::string: `\\x` needs two hexadecimal digits"]),
        (".ascii 5", &["1:8 asm::syntax: expected a string in quotes"]),
        (".space 1 << 40", &["1:8 asm::too-large: the image would have more than 67108864 bytes"]),
        (".fill 1 << 62, 8, 1", &["1:7 asm::out-of-range: a count of 4611686018427387904"]),
        (".fill 1, 3, 1", &["1:10 asm::out-of-range: values of 3 bytes"]),
        (".space -1", &["1:8 asm::out-of-range: a count of -1"]),
        (".space x\nx:", &["1:8 asm::not-yet-known: `x` must be known here, but is not yet"]),
        (".org 1f\n1:", &["1:6 asm::not-yet-known: `1f` must be known here, but is not yet"]),
        (".org -1", &["1:6 asm::out-of-range: -1 is not an address"]),
        (
            ".org 0xffffffffffffffff\n.half 1",
            &["2:7 asm::address-space: goes beyond the last 64-bit address"],
        ),
        (".align 32", &["1:8 asm::out-of-range: an alignment of 32"]),
        (".balign 3", &["1:9 asm::out-of-range: an alignment of 3"]),
        (".balign 0", &["1:9 asm::out-of-range: an alignment of 0"]),
        (
            "nop\n.org 2\nnop",
            &["3:1 asm::overlap: two parts of the program lie at 0x2: .text and .text"],
        ),
        (".section .bss", &["1:10 asm::unknown-section: there is no section `.bss`"]),
        (".sapce 4", &["1:1 asm::unknown-directive: there is no directive `.sapce`"]),
        (".equ , 1", &["1:6 asm::syntax: expected a symbol"]),
        (".word (1", &["1:9 asm::syntax: expected `)`"]),
        (".word 1 +", &["1:10 asm::syntax: expected an expression"]),
        (".word % 1", &["1:9 asm::syntax: expected the name of a function"]),
        (".word %no(1)", &["1:7 asm::function: there is no function `%no`"]),
        ("la a0", &["1:1 asm::pseudo: `la` takes a register and a value"]),
        ("la zz, 1", &["1:1 asm::syntax: expected zero, ra, ... t6"]),
        ("many", &["1:1 asm::pseudo: `many` stands for too many instructions"]),
        ("forever", &["1:1 asm::pseudo: `forever` stands for too many instructions"]),
        ("nop /* \n", &["1:5 asm::comment: the comment does not end"]),
        ("\u{0}\u{fffd}", &["1:1 asm::syntax: expected a label, directive or mnemonic"]),
    ];
    for (text, expected) in cases {
        let found = try_assemble(text).map(|_| ()).unwrap_err();
        assert_eq!(found, *expected, "{text}");
    }
}

#[test]
fn every_bad_statement_is_told() {
    let text = "nop nop\nadd a0\nx: .word y\n.half 70000\nj x\nx:";
    let found = try_assemble(text).map(|_| ()).unwrap_err();
    let lines: Vec<&str> = found.iter().map(|f| f.split(':').next().unwrap()).collect();
    assert_eq!(lines, ["1", "2", "3", "4", "6"], "{found:#?}");
}

#[test]
fn hints_name_what_is_near() {
    let help = |text: &str| {
        let errors = assemble(dialect(), FileId(0), text).map(|_| ()).unwrap_err();
        errors.iter().next().unwrap().help.clone().unwrap()
    };
    assert_eq!(help("addd a0, a0, a0"), "there is `add`");
    assert_eq!(help("loop: j lopp"), "`loop` is defined");
    assert_eq!(help(".wrod 1"), "there is `.word`");
}

#[test]
fn an_undefined_global_is_a_warning() {
    let text = "nop\n.globl x";
    let image = try_assemble(text).unwrap();
    assert_eq!(
        findings(text, &image.warnings),
        ["2:8 asm::undefined-global: `x` is marked as global, but not defined"]
    );
}

/// Sizes that would hurt if anything recursed or were quadratic.
#[test]
fn huge_inputs_end_in_time() {
    let n = 20_000;
    let first = |text: String| try_assemble(&text).map(|_| ()).unwrap_err().swap_remove(0);
    assert_eq!(
        first(format!(".word {}", "(".repeat(n))),
        "1:107 asm::nesting: more than 100 parentheses inside one another"
    );
    assert!(try_assemble(&format!(".word {}1", "-~".repeat(n))).is_ok());
    assert!(try_assemble(&format!(".word 1{}", "+1".repeat(n))).is_ok());
    assert!(try_assemble(&format!(".byte 1{}", ",1".repeat(n))).is_ok());
    let labels: String = (0..n).map(|i| format!("lab{i}: ")).collect();
    assert!(try_assemble(&labels).is_ok());
    assert!(first("a.".repeat(n)).contains("asm::unknown-mnemonic"));
    assert!(first("zz\n".repeat(n)).contains("asm::unknown-mnemonic"));
    assert!(
        first(format!(".word {}x{}", "%twice(".repeat(90), ")".repeat(90)))
            .contains("the expression is too long")
    );
    assert!(try_assemble(&"/**/".repeat(n)).is_ok());
    assert!(try_assemble(&"\n".repeat(n)).is_ok());
    assert!(try_assemble(&".space 1 << 26\n".repeat(100)).is_err());
    assert!(first("'".repeat(n)).contains("expected"));
    let cycle: String = (0..n).map(|i| format!(".equ q{i}, q{}\n", (i + 1) % n)).collect();
    assert!(first(cycle).contains("asm::cycle"));
}

#[test]
fn text_beyond_the_limit_is_refused() {
    let limits = Limits { source_bytes: 10, ..Limits::DEFAULT };
    let syntax = Syntax { limits, ..common::SYNTAX };
    let dialect = isa::asm::Dialect { syntax: &syntax, ..dialect() };
    let errors = assemble(dialect, FileId(0), "nop # 345678").map(|_| ()).unwrap_err();
    assert_eq!(findings("", &errors), ["asm::too-large: a text of 12 bytes; the limit is 10"]);
}
