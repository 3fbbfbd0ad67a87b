use std::collections::BTreeSet;
use std::path::Path;

use isa::SourceMap;
use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::argspec::ArgValue;
use crate::tolerance::Tolerance;

const SCHEMA: &str = include_str!("../../../../docs/schemas/launch.schema.json");

const EXAMPLE: &str = r#"
schema = 1
machine = "ptx"
module = "mandelbrot.ptx"
[run]
mechanism = "ipdom"
warp_size = 16
[options]
relaxed = false
[buffers]
counts = "u32[256,256]:zeros"
[[launch]]
kernel = "mandelbrot"
grid = [8, 32]
block = [32, 8]
shared = 0
args = ["&counts", "u32:256", "f32:-2.0"]
[[launch]]
grid = 4
args = { n = "u32:1", out = "&counts" }
[[expect]]
buffer = "counts"
file = "counts.npy"
rtol = 1e-6
[[expect]]
buffer = "counts"
values = [1, "0x7fc00000", -2.5, inf]
range = [4, 4]
[[expect]]
statistic = "branch_efficiency"
min = 90
mechanism = "ipdom"
warp_size = [8, 16]
[[expect]]
trap = "out-of-bounds"
line = 12
launch = 1
[[expect]]
hang = "deadlock"
"#;

fn parse(text: &str) -> Result<LaunchFile, Vec<String>> {
    let mut sources = SourceMap::new();
    let file = sources.add("launch.toml", text);
    LaunchFile::parse(text, file).map_err(|found| {
        let line = |d: &isa::Diagnostic| {
            let place = d.primary.as_ref().map_or(String::new(), |l| {
                let at = sources.get(file).expect("added").line_col(l.span.start);
                format!("{}:{}: {:?}: ", at.line, at.column, &text[l.span.range()])
            });
            let help = d.help.as_ref().map_or(String::new(), |h| format!(" ({h})"));
            format!("{place}{}{help}", d.message)
        };
        found.iter().map(line).collect()
    })
}

fn json(text: &str) -> Value {
    let value: toml::Value = toml::from_str(text).expect("TOML");
    serde_json::to_value(value).expect("JSON holds all of TOML but dates and special floats")
}

#[test]
fn everything_of_the_format_is_read() {
    let file = parse(EXAMPLE).expect("a launch file");
    assert_eq!(file.machine.value, "ptx");
    assert_eq!(file.run.warp_size.as_ref().map(|v| v.value), Some(16));
    assert_eq!(file.options[0].value.value, OptionValue::Boolean(false));
    assert_eq!(file.launches[0].grid.as_ref().map(|g| g.value), Some([8, 32, 1]));
    assert_eq!(file.launches[1].grid.as_ref().map(|g| g.value), Some([4, 1, 1]));
    assert!(
        matches!(&file.launches[0].args[0].value, ArgValue::Reference(r) if r.name == "counts")
    );
    assert_eq!(file.launches[1].args[0].name.as_deref(), Some("n"));
    assert_eq!(file.expectations.len(), 5);
    let Expected::Buffer(first) = &file.expectations[0].what else { panic!("a buffer") };
    assert_eq!(first.tolerance, Tolerance { rtol: 1e-6, ..Tolerance::EXACT });
    let Expected::Buffer(second) = &file.expectations[1].what else { panic!("a buffer") };
    let ExpectedContents::Values(values) = &second.contents else { panic!("values") };
    let texts: Vec<&str> = values.value.iter().map(|v| v.value.as_str()).collect();
    assert_eq!(texts, ["1", "0x7fc00000", "-2.5", "inf"]);
    assert_eq!(file.expectations[2].warp_sizes, [8, 16]);
}

#[test]
fn all_findings_come_at_once_with_their_places() {
    let text = r#"schema = 2
machin = "ptx"
module = 7
[buffers]
x = "f32[4]:zeroes"
y = 4
[[launch]]
kernal = "k"
grid = [1, 2, 3, 4]
block = [0]
shared = -1
args = ["&z", 4, "u32:-1"]
[[expect]]
statistic = "branch_eficiency"
min = "a lot"
[[expect]]
buffer = "x"
trap = "out-of-bounds"
[[expect]]
hang = "maybe"
line = 4
"#;
    assert_eq!(
        parse(text).expect_err("nothing of it is right"),
        [
            "1:1: \"\": a launch file needs `machine` (write machine = \"ptx\" or another machine)",
            "1:10: \"2\": version 2 of the format is not known (write schema = 1)",
            "2:1: \"machin\": a launch file has no key `machin` (did you mean `machine`?)",
            "3:10: \"7\": `module` takes a string, not an integer",
            "5:13: \"zeroes\": `zeroes` is not a way to fill a buffer (did you mean zeros?)",
            "6:5: \"4\": buffer `y` is not described by a string (write type[extents]:contents in quotes, as in \"f32[1024]:zeros\")",
            "8:1: \"kernal\": [[launch]] has no key `kernal` (did you mean `kernel`?)",
            "9:8: \"[1, 2, 3, 4]\": `grid` has 4 integers (it takes 1 to 3 integers)",
            "10:10: \"0\": `block` is out of range (it takes 1 to 4294967295)",
            "11:10: \"-1\": `shared` is out of range (it takes 0 to 4294967295)",
            "12:10: \"&z\": there is no buffer `z` (add it: [buffers] z = \"f32[1024]:zeros\")",
            "12:15: \"4\": an argument is written in quotes, with its type (write \"u32:1024\" or \"&buffer\")",
            "12:23: \"-1\": -1 does not fit u32 (u32 holds 0 to 4294967295)",
            "13:1: \"\": [[expect]] needs `equals` (write equals, min or max)",
            "14:14: \"branch_eficiency\": there is no statistic `branch_eficiency` (did you mean branch_efficiency?)",
            "15:7: \"\\\"a lot\\\"\": `min` takes a number, not a string",
            "16:1: \"[[expect]]\": an expectation is about `buffer` or `trap`, not both (make two of it, each under [[expect]])",
            "20:9: \"maybe\": `maybe` is not a hang (write deadlock, repeats, limit)",
            "21:1: \"line\": `line` means nothing for an expected hang (with `hang` go launch)",
        ]
    );
}

#[test]
fn invalid_toml_is_an_error() {
    let found = parse("schema = \nmachine = \"ptx\nmodule").expect_err("not TOML");
    assert!(found.len() >= 2, "{found:?}");
    // Deep nesting is an error, not a stack overflow.
    let deep = format!("a = {}", "[".repeat(100_000));
    assert!(parse(&deep).is_err());
    assert!(parse(&"[a.".repeat(50_000)).is_err());
}

#[test]
fn the_schema_has_the_same_keys() {
    let schema: Value = serde_json::from_str(SCHEMA).expect("JSON");
    jsonschema::meta::validate(&schema).expect("a valid schema");
    let keys = |properties: &Value| -> BTreeSet<String> {
        properties.as_object().expect("properties").keys().cloned().collect()
    };
    let known = |list: &[&str]| list.iter().map(|k| (*k).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(keys(&schema["properties"]), known(ROOT_KEYS));
    assert_eq!(keys(&schema["properties"]["run"]["properties"]), known(RUN_KEYS));
    assert_eq!(keys(&schema["$defs"]["launch"]["properties"]), known(LAUNCH_KEYS));
    assert_eq!(keys(&schema["$defs"]["expect"]["properties"]), known(EXPECT_KEYS));
    let statistics = &schema["$defs"]["expect"]["properties"]["statistic"]["enum"];
    let names: Vec<&str> =
        statistics.as_array().expect("names").iter().filter_map(Value::as_str).collect();
    assert_eq!(names, simt::counts::METRICS.iter().map(|m| m.name).collect::<Vec<_>>());
}

/// Reader and schema accept and reject the same files: the example and one-line changes of it.
#[test]
fn the_schema_agrees_with_the_reader() {
    let schema: Value = serde_json::from_str(SCHEMA).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a usable schema");
    let example = EXAMPLE.replace(", inf]", "]").replace("range = [4, 4]", "range = [4, 3]");
    for (from, to, valid) in [
        ("", "", true),
        ("schema = 1", "schema = 2", false),
        ("machine = \"ptx\"", "", false),
        ("module = ", "program = ", false),
        ("mechanism = \"ipdom\"\nwarp_size = 16", "mechanism = 3", false),
        ("relaxed = false", "relaxed = [1]", false),
        ("grid = [8, 32]", "grid = 8", true),
        ("grid = [8, 32]", "grid = []", false),
        ("grid = [8, 32]", "grid = [1, 2, 3, 4]", false),
        ("grid = 4", "grid = 4294967295", true),
        ("grid = 4", "grid = 4294967296", false),
        ("shared = 0", "shared = -1", false),
        ("rtol = 1e-6", "rtol = -1e-6", false),
        ("trap = \"out-of-bounds\"", "trap = 4", false),
        ("hang = \"deadlock\"", "hang = \"never\"", false),
        ("min = 90", "least = 90", false),
        ("range = [4, 3]", "range = [4]", false),
        ("statistic = \"branch_efficiency\"", "statistic = \"speed\"", false),
        ("hang = \"deadlock\"", "", false),
    ] {
        let text = if from.is_empty() { example.clone() } else { example.replacen(from, to, 1) };
        assert!(from.is_empty() || text != example, "{from}");
        assert_eq!(parse(&text).is_ok(), valid, "reader: {from} -> {to}: {:?}", parse(&text).err());
        assert_eq!(validator.is_valid(&json(&text)), valid, "schema: {from} -> {to}");
    }
}

/// Reader and schema accept every launch file of the bundled kernels.
#[test]
fn bundled_launch_files_are_valid() {
    let schema: Value = serde_json::from_str(SCHEMA).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a usable schema");
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels");
    let mut seen = 0;
    for folder in std::fs::read_dir(&kernels).expect("the kernels") {
        let folder = folder.expect("an entry").path();
        if !folder.is_dir() {
            continue;
        }
        for file in std::fs::read_dir(&folder).expect("a kernel's files") {
            let path = file.expect("an entry").path();
            if path.extension().is_some_and(|e| e == "toml") {
                let text = std::fs::read_to_string(&path).expect("text");
                let read = parse(&text);
                assert!(read.is_ok(), "{}: {read:#?}", path.display());
                assert!(validator.is_valid(&json(&text)), "{}", path.display());
                seen += 1;
            }
        }
    }
    assert!(seen >= 8, "only {seen} launch files");
}

/// Reader and schema accept the example in the documentation.
#[test]
fn the_documented_example_is_valid() {
    let text = include_str!("../../../../docs/launch-files.md");
    let blocks: Vec<&str> =
        text.split("```toml\n").skip(1).filter_map(|b| b.split("```").next()).collect();
    assert!(!blocks.is_empty());
    for block in blocks {
        let read = parse(block);
        assert!(read.is_ok(), "{block}\n{read:#?}");
    }
}

proptest! {
    #[test]
    fn damage_never_panics(at in 0..EXAMPLE.len(), text in "[\\[\\]{}=\"'a-z0-9,.\n&-]{0,6}") {
        let end = (at + text.len()).min(EXAMPLE.len());
        let damaged = format!("{}{text}{}", &EXAMPLE[..at], &EXAMPLE[end..]);
        let _ = parse(&damaged);
    }
}
