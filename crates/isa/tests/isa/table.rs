//! Tables: validation finds every mistake, the decoder agrees with a linear search on any word,
//! encoding inverts it.

use isa::decode::decode_linear;
use isa::table::{Field, FormSpec, KindDef, Problem, TableSpec, TemplateError};
use isa::{DecodeError, Table};
use proptest::prelude::*;
use std::sync::LazyLock;

static TESTV: LazyLock<Table> =
    LazyLock::new(|| Table::parse(include_str!("../data/testv.tsv")).unwrap());

fn name_of(window: u64, have: u32) -> Result<String, DecodeError> {
    TESTV.decode(window, have).map(|i| TESTV.form(i.form).name.clone())
}

#[test]
fn real_riscv_words_decode() {
    let cases = [
        (0x00a5_8533, 32, "add", vec![10, 11, 10]),
        (0xfff5_0513, 32, "addi", vec![10, 10, -1]),
        (0xfe05_1ee3, 32, "bne", vec![10, 0, -4]),
        (0x0000_8067, 32, "jalr", vec![0, 1, 0]),
        (0xfe11_2e23, 32, "sw", vec![2, 1, -4]),
        (0x1234_52b7, 32, "lui", vec![5, 0x1234_5000]),
        (0x0ff0_000f, 32, "fence", vec![15, 15]),
        // Only the low 16 bits count.
        (0xffff_0808, 16, "c.addi4spn", vec![10, 16]),
        (0x4188, 16, "c.lw", vec![10, 11, 0]),
        (0x1141, 16, "c.addi", vec![2, -16]),
        (0x0001, 16, "c.nop", vec![]),
        (0x8082, 16, "c.jr", vec![1]),
        (0x852e, 16, "c.mv", vec![10, 11]),
        (0x9002, 16, "c.ebreak", vec![]),
        (0x952e, 16, "c.add", vec![10, 11]),
        (0xd575, 16, "c.beqz", vec![10, -20]),
    ];
    for (word, bits, name, values) in cases {
        let decoded = TESTV.decode(word, 32).unwrap();
        let form = TESTV.form(decoded.form);
        assert_eq!((form.name.as_str(), form.bits), (name, bits), "{word:#x}");
        assert_eq!(TESTV.values(decoded), values, "{name}");
        assert_eq!(TESTV.encode(decoded.form, &values), Ok(decoded), "{name}");
    }
}

#[test]
fn reserved_values_are_no_form() {
    // c.addi4spn with immediate 0 (the all-zero word), c.jr with rs1 0, fadd.s with rounding
    // mode 5.
    for (word, bits) in [(0, 16), (0x8002, 16), (0x0020_d053, 32)] {
        assert_eq!(name_of(word, 32), Err(DecodeError::NoSuchForm { word, bits }));
    }
}

#[test]
fn overlaps_follow_the_rule() {
    assert_eq!(name_of(0x5b, 32).unwrap(), "csel.n");
    assert_eq!(name_of(0x5b | 1 << 20, 32).unwrap(), "csel.s");
    // The fused pair wins over its first half if the second is there.
    assert_eq!(name_of(0x8082_8001, 32).unwrap(), "call2");
    assert_eq!(name_of(0x0000_001f, 48).unwrap(), "w.addi");
    assert_eq!(name_of(0x0000_005f, 48).unwrap(), "w.mark");
}

#[test]
fn truncated_words_say_how_much_is_missing() {
    assert_eq!(name_of(0x1f, 16), Err(DecodeError::Truncated { have: 16, need: 48 }));
    assert_eq!(name_of(0x33, 16), Err(DecodeError::Truncated { have: 16, need: 32 }));
    assert_eq!(name_of(0, 0), Err(DecodeError::Truncated { have: 0, need: 16 }));
    assert_eq!(name_of(0x2000_003f, 48), Err(DecodeError::Truncated { have: 48, need: 64 }));
    let error = TESTV.decode_bytes(&[0x33]).unwrap_err();
    assert_eq!(error.to_string(), "an instruction of 32 bits is cut off after 8");
    let error = TESTV.decode(0xffff_fff3, 32).unwrap_err();
    assert_eq!(error.to_string(), "0xfffffff3 is not an instruction");
}

#[test]
fn encoding_by_name_uses_defaults() {
    let i = TESTV.encode_named("fadd.s", &[("rd", 1), ("rs1", 2), ("rs2", 3)]).unwrap();
    assert_eq!(i.word, 0x0031_70d3);
    assert_eq!(i.to_bytes(&TESTV), [0xd3, 0x70, 0x31, 0x00]);
    let text = |r: Result<_, isa::EncodeError>| r.map(|_| ()).unwrap_err().to_string();
    assert_eq!(
        text(TESTV.encode_named("addi", &[("imm", 4000)])),
        "addi: 4000 does not fit `imm`, which holds -2048 to 2047"
    );
    assert_eq!(text(TESTV.encode_named("addi", &[("im", 1)])), "addi has no field `im`");
    assert_eq!(text(TESTV.encode_named("add1", &[])), "there is no form `add1`");
    let addi = TESTV.find("addi").unwrap();
    assert_eq!(text(TESTV.encode(addi, &[1])), "addi has 3 fields, not 1");
}

#[test]
fn binding_covers_every_form_once() {
    let all: Vec<(&str, usize)> =
        TESTV.iter().map(|(id, f)| (f.name.as_str(), id.index())).collect();
    assert_eq!(TESTV.bind(&all).unwrap(), (0..all.len()).collect::<Vec<_>>());
    let mut wrong = all.clone();
    wrong.pop();
    wrong.push(("nosuch", 0));
    wrong.push(all[0]);
    let errors = TESTV.bind(&wrong).unwrap_err().to_string();
    for part in
        ["nosuch: no such form", "lui: bound twice", "flagged: the form is bound to nothing"]
    {
        assert!(errors.contains(part), "{errors}");
    }
}

#[test]
fn a_profile_is_a_table_of_its_own() {
    let base = TESTV.filtered(|f| f.bits == 32 && f.attribute("fused").is_none()).unwrap();
    assert_eq!((base.unit_bits(), TESTV.unit_bits()), (32, 16));
    assert!(base.find("c.mv").is_none());
    let error = DecodeError::NoSuchForm { word: 0x8001, bits: 16 };
    assert_eq!(base.decode(0x8082_8001, 32), Err(error));
}

/// A good table of one form to break.
fn spec() -> TableSpec {
    let form = FormSpec {
        name: "a".into(),
        bits: 8,
        mask: 0xf0,
        pattern: 0x10,
        fields: vec![Field::new("f", 0, 4)],
        syntax: "a {f}".into(),
        ..FormSpec::default()
    };
    TableSpec { name: "t".into(), forms: vec![(form, 7)], ..TableSpec::default() }
}

fn problems(change: impl FnOnce(&mut TableSpec, &mut FormSpec)) -> Vec<Problem> {
    let mut spec = spec();
    let mut form = spec.forms.remove(0).0;
    change(&mut spec, &mut form);
    spec.forms.insert(0, (form, 7));
    let errors = Table::new(spec).map(|_| ()).unwrap_err();
    errors.0.into_iter().map(|e| e.problem).collect()
}

#[test]
fn every_mistake_is_found() {
    use Problem as P;
    let f = || "f".to_owned();
    assert_eq!(problems(|_, a| a.bits = 12), [P::Width(12)]);
    assert_eq!(problems(|_, a| a.bits = 0), [P::Width(0)]);
    assert_eq!(problems(|_, a| a.mask = 0x1f0), [P::MaskWidth(0x100)]);
    assert_eq!(problems(|_, a| a.pattern = 0x11), [P::PatternOutsideMask(1)]);
    assert_eq!(problems(|_, a| a.mask = 0x70), [P::Uncovered(0x80)]);
    assert_eq!(problems(|_, a| a.fields[0].pieces.clear()), [P::FieldBits(f())]);
    assert_eq!(problems(|_, a| a.fields[0].pieces[0].insn_lsb = 200), [P::FieldBits(f())]);
    assert_eq!(problems(|_, a| a.fields[0].pieces[0].value_lsb = 60), [P::FieldBits(f())]);
    assert_eq!(problems(|_, a| a.fields[0].scale = 0), [P::Scale(f())]);
    assert_eq!(problems(|_, a| a.fields[0].bias = i64::MAX), [P::Scale(f())]);
    let with = "the fixed bits".to_owned();
    assert_eq!(
        problems(|_, a| a.fields[0].pieces[0].width = 5),
        [P::FieldOverlap { field: f(), bits: 0x10, with }]
    );
    let twice = problems(|_, a| {
        let piece = a.fields[0].pieces[0];
        a.fields[0].pieces.push(piece);
    });
    assert_eq!(twice, [P::FieldOverlap { field: f(), bits: 15, with: "itself".into() }]);
    assert!(matches!(problems(|_, a| a.fields[0].default = Some(16))[..], [P::Value(_)]));
    let no_field = TemplateError::NoSuchField("g".into());
    assert_eq!(
        problems(|_, a| a.syntax = "a {g}".into()),
        [P::Template { text: "a {g}".into(), error: no_field }]
    );
    assert_eq!(
        problems(|t, _| t.lengths.push(isa::table::LengthRule { mask: 0, pattern: 0, bits: 16 })),
        [P::Length { bits: 8, rule: 16 }]
    );
    let kind = |s: &mut TableSpec| {
        let kind = isa::table::Kind::Names(isa::table::Names::parse("x0..x6", true).unwrap());
        s.kinds.push(KindDef { name: "x".into(), kind });
    };
    let unnamed = problems(|t, a| {
        kind(t);
        a.fields[0].legal = vec![(0, 7)];
        a.syntax = "a {f:x}".into();
    });
    assert_eq!(unnamed, [P::Unnamed { kind: "x".into(), field: f(), value: 7 }]);
    let alias = |fixed: Vec<(String, i64)>| {
        problems(|_, a| {
            let syntax = "b {f}".into();
            a.aliases.push(isa::table::AliasSpec { syntax, fixed, printed: false });
        })
    };
    assert_eq!(alias(vec![("g".into(), 0)]), [P::Fixed("g".into())]);
    assert_eq!(alias(vec![("f".into(), 0)]), [P::Fixed("f".into())]);
    let attribute = ("x".to_owned(), String::new());
    assert_eq!(
        problems(|_, a| a.attributes = vec![attribute.clone(), attribute]),
        [P::Duplicate("x".into())]
    );
}

#[test]
fn unresolved_overlaps_are_named_with_a_word() {
    let second = |mask, pattern, priority| {
        problems(|t, a| {
            let mut b = a.clone();
            (b.name, b.syntax, b.priority) = ("b".into(), "b".into(), priority);
            (b.mask, b.pattern) = (mask, pattern);
            let free: u8 = !mask as u8;
            b.fields = (0..8)
                .filter(|i| free >> i & 1 == 1)
                .map(|i| Field::new(format!("f{i}"), i, 1))
                .collect();
            t.forms.push((b, 8));
        })
    };
    let other = "a".to_owned();
    assert_eq!(second(0x0f, 0x05, 0), [Problem::Overlap { other: other.clone(), word: 0x15 }]);
    assert_eq!(second(0xf0, 0x10, 0), [Problem::Overlap { other: other.clone(), word: 0x10 }]);
    assert_eq!(second(0xf1, 0x11, -1), [Problem::Hidden(other)]);
    let duplicate = problems(|t, a| t.forms.push((a.clone(), 8)));
    assert!(duplicate.contains(&Problem::Duplicate("a".into())));
}

#[test]
fn text_mistakes_name_their_line() {
    let text = "@isa t\n@kind x registers a a\n@nosuch\n\na\t8\tf0\n\
                a\t8\tzz\t10\tf=0:4\ta {f}\n=\tb\tf=q\nb\t8\tf0\t10\tf=0:400\tb\n=\tb\nc\t8\tf0\t10\tf=0:4 legal=9..1\tc";
    let errors = Table::parse(text).unwrap_err();
    let lines: Vec<u32> = errors.0.iter().map(|e| e.line).collect();
    assert_eq!(lines, [2, 3, 5, 6, 7, 8, 9, 10], "{errors}");
    assert!(errors.to_string().contains("line 6: a: `zz` is not a hexadecimal number"), "{errors}");
}

proptest! {
    /// The tree against the linear search, on words near the forms (random words hit few of them).
    #[test]
    fn the_tree_agrees_with_a_linear_search(
        form in 0..TESTV.forms().len(), noise: u64, flips in 0u64..4, at in 0u32..64,
        have in 0u32..=64,
    ) {
        let form = &TESTV.forms()[form];
        let window = (noise & !form.mask | form.pattern) ^ flips << at;
        let found = TESTV.decode(window, have);
        prop_assert_eq!(found.ok().map(|i| i.form), decode_linear(&TESTV, window, have));
        if let Ok(i) = found {
            // Whatever decodes encodes to the same word.
            prop_assert_eq!(TESTV.encode(i.form, &TESTV.values(i)), Ok(i));
        }
    }

    /// Neither does any text make the reader panic.
    #[test]
    fn any_text_is_a_table_or_errors(text in "[@=#a-c0-9:;+.|{}?\\\\ \t\n-]{0,200}") {
        let _ = Table::parse(&text);
    }
}
