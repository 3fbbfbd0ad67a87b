//! Literals, and texts of values.

use super::*;
use proptest::prelude::*;

fn ok(ty: ElemType, text: &str) -> u64 {
    parse_literal(ty, text).unwrap_or_else(|e| panic!("{ty}:{text}: {e}"))
}

#[test]
fn integers_in_all_spellings() {
    assert_eq!(ok(ElemType::U32, "1024"), 1024);
    assert_eq!(ok(ElemType::U32, "0xFFFF_FFFF"), 0xffff_ffff);
    assert_eq!(ok(ElemType::S8, "-128"), 0x80);
    assert_eq!(ok(ElemType::S8, "0xff"), 0xff);
    assert_eq!(ok(ElemType::B16, "-1"), 0xffff);
    assert_eq!(ok(ElemType::U64, "0b101"), 5);
    assert_eq!(ok(ElemType::U64, "18446744073709551615"), u64::MAX);
    assert_eq!(ok(ElemType::S64, "-9223372036854775808"), 1 << 63);
}

#[test]
fn integers_that_do_not_fit_are_errors() {
    for (ty, text) in [
        (ElemType::U8, "256"),
        (ElemType::U8, "-1"),
        (ElemType::S8, "128"),
        (ElemType::S8, "0x100"),
        (ElemType::B8, "-129"),
        (ElemType::U64, "18446744073709551616"),
        (ElemType::U64, &"9".repeat(4096)),
        (ElemType::S64, &format!("-{}", "9".repeat(4096))),
    ] {
        assert!(matches!(parse_literal(ty, text), Err(LiteralError::Range { .. })), "{ty}:{text}");
    }
    for text in ["", "x", "0x", "1.5", "_1", "1_", "1__0", "--1", "+-1", "0xg", "١", "-"] {
        assert!(
            matches!(
                parse_literal(ElemType::U32, text),
                Err(LiteralError::Syntax { .. } | LiteralError::Empty(_))
            ),
            "{text:?}"
        );
    }
}

#[test]
fn floats_decimal_special_and_patterns() {
    assert_eq!(ok(ElemType::F32, "2.5"), u64::from(2.5_f32.to_bits()));
    assert_eq!(ok(ElemType::F32, "-2"), u64::from((-2.0_f32).to_bits()));
    assert_eq!(ok(ElemType::F32, "-inf"), 0xff80_0000);
    assert_eq!(ok(ElemType::F32, "nan"), 0x7fc0_0000);
    assert_eq!(ok(ElemType::F32, "-nan"), 0xffc0_0000);
    assert_eq!(ok(ElemType::F32, "0x7fc00001"), 0x7fc0_0001);
    assert_eq!(ok(ElemType::F16, "65504"), 0x7bff);
    assert_eq!(ok(ElemType::Bf16, "1"), 0x3f80);
    assert_eq!(ok(ElemType::F64, "-0.0"), 1 << 63);
    // Just above the midpoint of two f32 values, but at the midpoint in f64: must round up.
    assert_eq!(ok(ElemType::F32, "1.000000059604644775390626"), 0x3f80_0001);
}

#[test]
fn invalid_floats_are_errors() {
    for text in ["1e39", "3.5e38"] {
        let error = parse_literal(ElemType::F32, text);
        assert!(matches!(error, Err(LiteralError::Range { .. })), "{text}: {error:?}");
    }
    assert!(matches!(parse_literal(ElemType::F16, "65520"), Err(LiteralError::Range { .. })));
    for text in ["", "x", "1.2.3", "0x1", "0x+fc00001", "0xzz", "e5", "--1", "1 2", "infx"] {
        assert!(parse_literal(ElemType::F32, text).is_err(), "{text:?}");
    }
}

#[test]
fn names_are_unique_and_found() {
    for &ty in ElemType::ALL {
        assert_eq!(ElemType::from_name(ty.name()), Some(ty));
    }
    assert_eq!(ElemType::from_name("i32"), Some(ElemType::S32));
    assert_eq!(ElemType::from_name("i64"), Some(ElemType::S64));
    assert_eq!(ElemType::from_name("int32"), None);
    assert_eq!(ElemType::from_foreign_name("int32"), Some(ElemType::S32));
}

proptest! {
    #[test]
    fn every_pattern_survives_its_text(index in 0..ElemType::ALL.len(), bits in any::<u64>()) {
        let ty = ElemType::ALL[index];
        let bits = bits & ty.mask();
        prop_assert_eq!(parse_literal(ty, &format_bits(ty, bits)), Ok(bits));
    }

    #[test]
    fn no_text_panics(index in 0..ElemType::ALL.len(), text in ".{0,24}") {
        let _ = parse_literal(ElemType::ALL[index], &text);
    }
}
