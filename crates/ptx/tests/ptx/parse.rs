//! The parser and printer on whole files.

use isa::FileId;

const GRAMMAR: &str = include_str!("../data/grammar.ptx");

fn parse(text: &str) -> (ptx::Module, Vec<String>) {
    let (module, diagnostics) = ptx::parse(FileId(0), text);
    let messages = diagnostics
        .iter()
        .map(|d| {
            let at = d.primary.as_ref().map_or("", |l| text.get(l.span.range()).unwrap_or("?"));
            format!("{} @ {at:?}", d.message)
        })
        .collect();
    (module, messages)
}

/// What is printed says the same, and printing that gives the same text.
fn round_trip(text: &str) {
    let (module, messages) = parse(text);
    assert_eq!(messages, [""; 0]);
    let printed = module.to_string();
    let (again, messages) = parse(&printed);
    assert_eq!(messages, [""; 0], "{printed}");
    assert_eq!(again.to_string(), printed);
    assert!(again.without_spans() == module.without_spans(), "{printed}");
}

#[test]
fn the_whole_grammar_parses_and_round_trips() {
    round_trip(GRAMMAR);
}

/// Every kernel that is bundled with the project, as its compiler printed it.
#[test]
fn bundled_kernels_parse_and_round_trip() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_owned();
        let file = path.join(name).with_extension("ptx");
        if let Ok(text) = std::fs::read_to_string(file) {
            round_trip(&text);
            count += 1;
        }
    }
    assert!(count >= 8, "{count} kernels");
}

#[test]
fn expressions_keep_their_shape() {
    for text in [
        "1 - (2 - 3) - 4",
        "-(1 + a)",
        "(a + 4) * 2",
        "a - -4",
        "!(!p)",
        "--x",
        "a == b != c",
        "a ? b ? 1 : 2 : 3",
        "(a|b)|c",
        "1|2|3",
        "0xff(generic(a + 4) + 8)",
        "generic(a)[0]",
        "9223372036854775808 + 5U",
        "-9223372036854775808",
        "-5U",
        "a[b[c[1]]]",
        "(1, 2)",
        "((1), {2, 3}, [4])",
        "+5",
        "- -1.5",
        "a+9223372036854775807+1",
        "a-0",
        "(.s64)(.u64) 3",
        "~~0",
    ] {
        let text = format!(".entry k() {{ foo {text}; }}");
        let (module, messages) = parse(&text);
        if messages.is_empty() {
            round_trip(&text);
        } else {
            // `generic(a)[0]` alone is none.
            assert!(text.contains("(a)[0]"), "{text}: {messages:?}");
            assert!(module.incomplete);
        }
    }
}

#[test]
fn a_huge_register_range_costs_nothing() {
    let (module, messages) = parse(".entry k() { .reg .b32 %r<4000000000>; }");
    assert_eq!(messages, [""; 0]);
    assert_eq!(module.declarators.iter().next().and_then(|d| d.count), Some(4_000_000_000));
}

#[test]
fn locations_stick_to_instructions() {
    let text = ".entry k() { ret;\n.loc 1 5 7\nret; ret;\n.loc 2 9 1\nret; }";
    let (module, _) = parse(text);
    let lines: Vec<_> =
        module.instructions.iter().map(|i| i.loc.map(|l| module.locs[l].line)).collect();
    assert_eq!(lines, [None, Some(5), Some(5), Some(9)]);
}

/// Each error stands alone: what follows it is read.
#[test]
fn errors_do_not_hide_each_other() {
    let text = "\
.version 8.x
.target sm_80
.visible .entry k(.param u64 a, .param .u32 b)
{
    .reg .b32 %r<10>;
    add.s32 %r1 %r2, %r3;
    add.s32 %r1, %r2, %r3
    mov.b64 {%r1 %r2}, %rd1;
    ret; @ add;
    mov.u32 %r1, 09;
    mov.u32 %r1, 99999999999999999999;
    { ld.u32 %r1, [%r2; }
    .branchtargets a;
    mov.u32 %r1, ;
}
}
bogus
.func f() {
";
    let (module, messages) = parse(text);
    let expected = [
        "expected a version such as `8.5`, found `8.` @ \"8.\"",
        "expected `,` or `)`, found `a` @ \"a\"",
        "expected `,` or `;`, found `%r2` @ \"%r2\"",
        "expected `,` or `;`, found `mov` @ \"\"",
        "expected `,` or `}`, found `%r2` @ \"%r2\"",
        "expected an opcode, found `;` @ \";\"",
        "`09` is not a number @ \"09\"",
        "the integer does not fit 64 bits @ \"99999999999999999999\"",
        "expected `,` or `]`, found `;` @ \";\"",
        "`.branchtargets` without a label @ \".branchtargets\"",
        "expected an operand, found `;` @ \";\"",
        "`}` without `{` @ \"}\"",
        "expected a directive such as `.visible .entry`, found `bogus` @ \"bogus\"",
        "a body without end: the end of the file follows @ \"{\"",
    ];
    assert_eq!(messages, expected);
    assert_eq!(module.functions.len(), 2);
    assert!(module.incomplete);
}

#[test]
fn depth_is_limited() {
    for (open, close) in
        [("{", "}"), ("(", ")"), ("[", "]"), ("-", ""), ("a[", "]"), ("1?", ":2"), ("(.s64)", "")]
    {
        let text =
            format!(".entry k() {{ foo {}1{}; }}", open.repeat(100_000), close.repeat(100_000));
        let (_, messages) = parse(&text);
        assert!(messages[0].starts_with("nested too deeply"), "{open}: {messages:?}");
    }
    let sum = format!(".entry k() {{ foo 1{}; }}", "+1".repeat(100_000));
    assert!(parse(&sum).1[0].contains("nested too deeply"));
    let scopes = format!(".entry k() {{ {} {} }}", "{".repeat(100_000), "}".repeat(100_000));
    let (module, messages) = parse(&scopes);
    assert_eq!(messages, [""; 0]);
    assert_eq!(module.statements.len(), 200_000);
}
