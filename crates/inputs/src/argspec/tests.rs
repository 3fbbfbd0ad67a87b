use std::path::Path;

use isa::{FileId, SourceMap, Span};
use proptest::prelude::*;
use simt::tensor::{Fill, Interleave, Mode, TensorElement, TensorMap, TensorSwizzle};

use super::*;
use crate::array::Array;
use crate::limits::Limits;

fn place(text: &str) -> Span {
    Span::new(FileId(0), 0, text.len() as u32)
}

fn argument(text: &str) -> ArgSpec {
    parse_argument(text, place(text)).unwrap_or_else(|d| panic!("{text}: {d:?}"))
}

fn context() -> BuildContext<'static> {
    BuildContext { directory: Path::new("."), run_seed: 0, limits: Limits::DEFAULT }
}

fn built(text: &str) -> Array {
    let spec = parse_buffer(text, place(text)).unwrap_or_else(|d| panic!("{text}: {d:?}"));
    spec.build("x", context()).unwrap_or_else(|d| panic!("{text}: {d:?}"))
}

fn bits(text: &str) -> Vec<u64> {
    built(text).iter().collect()
}

/// Formats a failure as `message | text under the caret | help`.
fn failure(text: &str) -> String {
    let error = match parse_argument(text, place(text)) {
        Err(error) => error,
        Ok(ArgSpec { value: ArgValue::Buffer(spec), .. }) => {
            spec.build("x", context()).expect_err("must not be built")
        }
        Ok(other) => panic!("{text} was read as {other:?}"),
    };
    let under = error.primary.map_or("", |label| &text[label.span.range()]);
    format!("{} | {under} | {}", error.message, error.help.unwrap_or_default())
}

#[test]
fn scalars_by_name_and_without() {
    let arg = argument("n=u32:1024");
    assert_eq!(arg.name.as_deref(), Some("n"));
    assert_eq!(arg.value, ArgValue::Scalar(Scalar { ty: ElemType::U32, bits: 1024 }));
    assert_eq!(
        argument("f32:-2.0").value,
        ArgValue::Scalar(Scalar { ty: ElemType::F32, bits: 0xc000_0000 })
    );
    assert_eq!(
        argument(" a = s32 : -1 ").value,
        ArgValue::Scalar(Scalar { ty: ElemType::S32, bits: 0xffff_ffff })
    );
    assert_eq!(argument("p=bytes[0100 ff]").value, ArgValue::Bytes(vec![1, 0, 255]));
    assert_eq!(
        argument("&counts+16").value,
        ArgValue::Reference(BufferRef { name: "counts".into(), offset: 16 })
    );
    assert_eq!(argument("kernel_param_0=&c").name.as_deref(), Some("kernel_param_0"));
}

/// Returns the map of an argument for a buffer of this type and shape.
fn map(text: &str, ty: ElemType, shape: &[u64]) -> Result<TensorMap, String> {
    let ArgValue::Tensor(mut spec) = argument(text).value else { panic!("{text}") };
    let made = spec.make(ty, shape, place(text));
    made.map(|()| spec.map.expect("made")).map_err(|error| error.message)
}

#[test]
fn tensor_maps_take_the_shape_of_the_buffer() {
    let text = "a=&m+32:tensormap(box=[2,8, 64], swizzle=128b, fill=nan,steps=[1,2,1])";
    assert_eq!(
        argument(text).value.buffer(),
        Some(&BufferRef { name: "m".into(), offset: 32 }),
        "{text}"
    );
    let made = map(text, ElemType::F16, &[5, 40, 96]).expect("a map");
    let expected = TensorMap {
        element: TensorElement::F16,
        rank: 3,
        address: 0,
        extents: [96, 40, 5, 1, 1],
        strides: [192, 7680, 0, 0],
        steps: [1, 2, 1, 1, 1],
        interleave: Interleave::None,
        swizzle: TensorSwizzle::B128,
        promotion: 0,
        fill: Fill::Nan,
        mode: Mode::Tiled { extents: [64, 8, 2, 1, 1] },
    };
    assert_eq!(made, expected);
    let plain = map("&m:tensormap(box=[16])", ElemType::S8, &[100]).expect("a map");
    assert_eq!(
        (plain.element, plain.rank, plain.swizzle),
        (TensorElement::U8, 1, TensorSwizzle::None)
    );
    for (text, shape, expected) in [
        ("&m:tensormap(box=[16])", vec![4, 64], "`m` has 2 dimensions"),
        ("&m:tensormap(box=[4,16],steps=[1])", vec![4, 64], "`m` has 2 dimensions"),
        (
            "&m:tensormap(box=[4,128],swizzle=64b)",
            vec![4, 128],
            "the innermost dimension of the box has 128 bytes, more than the 64 of the swizzle",
        ),
        (
            "&m:tensormap(box=[4,16])",
            vec![4, 60],
            "the stride 60 of dimension 1 is not a multiple of 16 below 2^40",
        ),
        (
            "&m:tensormap(box=[1,1,1,1,1,16])",
            vec![1, 1, 1, 1, 1, 16],
            "a tensor has 1 to 5 dimensions, not 6",
        ),
        (
            "&m:tensormap(box=[4,18446744073709551615])",
            vec![4, 64],
            "the box has 4294967295 elements along dimension 0: 1 to 256 are possible",
        ),
    ] {
        assert_eq!(map(text, ElemType::U8, &shape), Err(expected.to_owned()), "{text}");
    }
}

#[test]
fn buffers_of_every_kind() {
    assert_eq!(bits("u32[4]"), [0; 4]);
    assert_eq!(bits("u8[3]:ones"), [1; 3]);
    assert_eq!(bits("f32[2]:ones"), [0x3f80_0000; 2]);
    assert_eq!(bits("s16[2]:fill(-2)"), [0xfffe; 2]);
    assert_eq!(bits("u8[3]:iota(start=254)"), [254, 255, 0]);
    assert_eq!(bits("s8[3]:iota(start=1,step=-1)"), [1, 0, 255]);
    assert_eq!(bits("f16[3]:iota(start=0.5, step=2)"), [0x3800, 0x4100, 0x4480]);
    assert_eq!(bits("u32[2,2]:[1, 2, 0x3, 4]"), [1, 2, 3, 4]);
    assert_eq!(built("f32[64,64]:zeros").shape(), [64, 64]);
    assert!(built("f64[0]").is_empty());
}

/// The expected bits were computed with NumPy from the documentation of [`random`].
#[test]
fn random_numbers_are_those_of_the_documented_generator() {
    assert_eq!(
        bits("f32[4]:random(seed=1,lo=-1,hi=1)"),
        [0x3e08_516f, 0x3efb_ae37, 0x3f71_2746, 0xbde3_e797]
    );
    assert_eq!(bits("f16[4]:random(seed=7)"), [0x363d, 0x244c, 0x3b35, 0x38aa]);
    assert_eq!(
        bits("f64[3]:random(seed=0,lo=-2.5,hi=1e3)"),
        [0x408b_9827_1628_c501, 0x407a_e1b5_85c9_2507, 0x4037_fff6_9071_6439]
    );
    let small: Vec<i32> =
        bits("s32[6]:random(seed=42,lo=-3,hi=3)").into_iter().map(|b| b as i32).collect();
    assert_eq!(small, [2, -2, -2, -1, -3, 3]);
    assert_eq!(
        bits("u64[3]:random(seed=18446744073709551615)"),
        [0xe4d9_7177_1b65_2c20, 0xe99f_f867_dbf6_82c9, 0x382f_f84c_b272_81e9]
    );
}

#[test]
fn seeds_come_from_the_run_and_the_name() {
    let text = "u64[1]:random";
    let spec = parse_buffer(text, place(text)).expect("a buffer");
    let of = |name: &str, run_seed| {
        spec.build(name, BuildContext { run_seed, ..context() }).expect("eight bytes").get(0)
    };
    assert_eq!(of("x", 0), of("x", 0));
    assert_ne!(of("x", 0), of("y", 0));
    assert_ne!(of("x", 0), of("x", 1));
}

#[test]
fn errors_name_place_reason_and_help() {
    for (text, expected) in [
        (
            "n=",
            "the value is missing |  | write type:value, type[extents]:contents, &buffer or @file.npy",
        ),
        (
            "",
            "the value is missing |  | write type:value, type[extents]:contents, &buffer or @file.npy",
        ),
        ("n=1024", "the number has no type | 1024 | write u32:1024 or another type"),
        ("n=int:1", "`int` is not a type | int | did you mean s32?"),
        ("n=u33:1", "`u33` is not a type | u33 | did you mean u32?"),
        (
            "n=f32",
            "a type is not yet a value |  | write f32:0 for a scalar or f32[16]:zeros for a buffer",
        ),
        ("n=u8:256", "256 does not fit u8 | 256 | u8 holds 0 to 255"),
        ("n=u32:-1", "-1 does not fit u32 | -1 | u32 holds 0 to 4294967295"),
        (
            "n=u32: x",
            "`x` is not a value of type u32 | x | write a decimal, 0x hexadecimal, 0o octal or 0b binary integer",
        ),
        ("a=f32:1e39", "1e39 does not fit f32 | 1e39 | write inf or -inf if that is what is meant"),
        (
            "a=f32:",
            "a value of type f32 is missing |  | write a decimal number, inf, -inf, nan, or the bit pattern 0x00000000",
        ),
        ("x=f32[nan]", "`nan` is not an extent | nan | write a whole number of elements"),
        ("x=f32[-4]", "an extent cannot be negative | -4 | write a whole number of elements"),
        ("x=f32[1e3]", "`1e3` is not an extent | 1e3 | write a whole number of elements"),
        (
            "x=f32[99999999999999999999]",
            "the extent does not fit 64 bits | 99999999999999999999 | write a whole number of elements",
        ),
        ("x=f32[]", "an extent is missing | ] | write f32[1024], or f32[64,64] for two dimensions"),
        ("x=f32[4", "the extents are not closed |  | "),
        (
            "x=f32[4]:zeroes",
            "`zeroes` is not a way to fill a buffer | zeroes | did you mean zeros?",
        ),
        ("x=f32[4]:fill", "fill needs the value |  | write fill(7), or zeros or ones"),
        (
            "x=u8[2]:[1,2,3]",
            "there are 3 values for 2 elements | [1,2,3] | give as many values as the shape has elements",
        ),
        ("x=u8[2]:random(sed=1)", "random has no option `sed` | sed | did you mean seed?"),
        ("x=u8[2]:random(lo=3,hi=1)", "no number lies in this range | 3 | lo must not be above hi"),
        ("x=f32[2]:random(lo=0,hi=inf)", "the value is not finite | inf | write a finite number"),
        (
            "x=f64[2]:random(lo=-1e308,hi=1e308)",
            "no number lies in this range | -1e308 | lo must be below hi, and both must be finite",
        ),
        ("x=u8[2]:random(seed=1,seed=2)", "seed is given twice | seed | "),
        (
            "x=f32[4]:iota more",
            "there is more after the argument | more | quote the argument if the shell took it apart",
        ),
        (
            "x=f64[4294967296,4294967296]",
            "the number of bytes of f64[4294967296,4294967296] does not fit 64 bits | f64[4294967296,4294967296] | use smaller extents",
        ),
        (
            "x=u8[1099511627776]",
            "the buffer is too large: 1.0 TiB are more than the limit of 1.0 GiB | u8[1099511627776] | use smaller extents",
        ),
        ("x=@", "the file's name is missing |  | "),
        (
            "x=@no/such.npy",
            "cannot read no/such.npy: there is no such file | @no/such.npy | check the path and its permissions",
        ),
        ("=u32:1", "this is not a parameter's name | = | write name=value, or the value alone"),
        (
            "a b=u32:1",
            "this is not a parameter's name | a b | write name=value, or the value alone",
        ),
        (
            "&",
            "the buffer's name is missing |  | write &name, with the name of a buffer made before",
        ),
        (
            "&x+y",
            "the offset is not a number of bytes | y | write &name+16 for a place 16 bytes into the buffer",
        ),
        (
            "&x:tensor",
            "`tensor` is no way to pass a buffer | tensor | write &name, or &name:tensormap(box=[64,64])",
        ),
        (
            "&x:tensormap",
            "the box is missing |  | write tensormap(box=[64,64]): the elements that a copy moves",
        ),
        (
            "&x:tensormap(box=64)",
            "these are not numbers of elements | 64 | write them in brackets: [64,64]",
        ),
        (
            "&x:tensormap(box=[64,-1])",
            "these are not numbers of elements | [64,-1] | write them in brackets: [64,64]",
        ),
        (
            "&x:tensormap(box=[64],swizzle=127b)",
            "`127b` is not a swizzle | 127b | did you mean 128b?",
        ),
        ("&x:tensormap(box=[64],fill=1)", "`1` is not a fill | 1 | fill is zeros, nan"),
        ("&x:tensormap(boxes=[64])", "tensormap has no option `boxes` | boxes | did you mean box?"),
        ("&x:tensormap(box=[64,64", "the options are not closed |  | "),
        (
            "p=bytes[123]",
            "these are not bytes | 123 | write two hexadecimal digits a byte: bytes[01 00 00 ff]",
        ),
    ] {
        assert_eq!(failure(text), expected, "{text}");
    }
}

#[test]
fn places_are_exact_inside_a_file_unless_the_string_had_escapes() {
    let mut sources = SourceMap::new();
    let file = sources.add("launch.toml", "args = [\"u8:256\"]");
    let inside = parse_argument("u8:256", Span::new(file, 9, 15)).expect_err("too large");
    assert_eq!(inside.primary.map(|l| l.span), Some(Span::new(file, 12, 15)));
    let escaped = Span::new(file, 9, 20);
    let inside = parse_argument("u8:256", escaped).expect_err("too large");
    assert_eq!(inside.primary.map(|l| l.span), Some(escaped));
}

#[test]
fn files_are_checked_against_the_declaration() {
    let directory = std::env::temp_dir().join(format!("simtlab-argspec-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a scratch directory");
    let array =
        Array::from_bits(ElemType::U32, &[1, 2, 3, 4]).with_shape(vec![2, 2]).expect("four");
    crate::npy::save(&directory.join("m.npy"), &array).expect("written");
    let load = |text: &str| {
        let spec = parse_buffer(text, place(text)).expect("a buffer");
        spec.build("m", BuildContext { directory: &directory, ..context() })
    };
    assert_eq!(load("@m.npy").expect("as it is"), array);
    assert_eq!(load("b32[2,2]:@m.npy").expect("untyped").ty(), ElemType::B32);
    let error = load("f32[2,2]:@m.npy").expect_err("another type");
    assert_eq!(error.message, "m.npy has another element type than stated");
    assert_eq!(error.help.as_deref(), Some("state u32, or save the array as f32"));
    let error = load("u32[4]:@m.npy").expect_err("another shape");
    assert_eq!(error.message, "m.npy has another shape than stated");
    std::fs::remove_dir_all(&directory).expect("removed again");
}

proptest! {
    #[test]
    fn no_text_panics(text in "(n=)?(u8|f32|s64|bytes|@|&|&x:tensormap\\(box=)?[\\[\\](),:=+a-z0-9 -]{0,20}") {
        let parsed = parse_argument(&text, place(&text));
        if let Ok(ArgSpec { value: ArgValue::Buffer(spec), .. }) = parsed {
            let limits = Limits { buffer_bytes: 1 << 16, total_bytes: 1 << 16 };
            let _ = spec.build("x", BuildContext { limits, ..context() });
        }
    }

    #[test]
    fn arbitrary_text_never_panics(text in ".{0,32}") {
        let _ = parse_argument(&text, place(&text));
    }

    #[test]
    fn random_floats_stay_in_range(
        seed in any::<u64>(), lo in -1e6_f64..1e6, width in 1e-3_f64..1e6, i in any::<u64>(),
    ) {
        for ty in [ElemType::F32, ElemType::F64, ElemType::Bf16] {
            let range = random::Range::Float { lo, hi: lo + width };
            let value = ty.to_f64(random::element(ty, range, seed, i)).expect("a float type");
            prop_assert!(value < lo + width);
            // Rounding to the type may yield a value below `lo` by less than one unit in the last
            // place.
            prop_assert!(ty.round(value) >= ty.round(lo) || value >= lo - lo.abs() / 128.0 - 1e-30);
        }
    }

    #[test]
    fn random_integers_stay_in_range(
        seed in any::<u64>(), a in any::<i64>(), b in any::<i64>(), i in any::<u64>(),
    ) {
        let (lo, hi) = (i128::from(a.min(b)), i128::from(a.max(b)));
        let bits = random::element(ElemType::S64, random::Range::Int { lo, hi }, seed, i);
        let value = ElemType::S64.to_int(bits).expect("an integer type");
        prop_assert!((lo..=hi).contains(&value));
    }
}
