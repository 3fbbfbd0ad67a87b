//! Findings: what is kept, in which order; suppressions; the forms of reports; the page and the
//! schema that are made from the table of kinds.

use std::path::{Path, PathBuf};

use findings::report::{Format, diagnostics, finding_from_json, finding_to_json, summary};
use findings::{
    AccessRecord, CheckSet, Finding, Findings, Kind, Location, Suppressions, kind, page,
};
use isa::{FileId, Span};
use places::{Site, Source};
use serde_json::Value;
use simt::observe::{AccessKind, Space};

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// Compares a file with what it should be, or rewrites it.
fn check(name: &str, expected: &str) {
    let path = docs().join(name);
    if std::env::var_os("SIMTLAB_BLESS").is_some() {
        std::fs::write(&path, expected).expect("can write");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == expected, "docs/{name} is not current: run this test with SIMTLAB_BLESS=1");
}

fn location(line: u32, source: Option<(&str, u32)>) -> Location {
    Location {
        text: "st.shared.u32 [%r1], %r2;".into(),
        line: Some(line),
        span: Some(Span::new(FileId(1), 10 * line, 10 * line + 5)),
        source: source.map(|(file, line)| Source {
            file: file.into(),
            line,
            inlined: Vec::new().into(),
        }),
    }
}

/// A race of a kernel at two lines of its source.
fn race(kernel: &str, lines: [u32; 2]) -> Finding {
    let site = Site { lanes: vec![3], threads: Some([[3, 0, 0]; 2]), ..Site::default() };
    let access = |kind, line| AccessRecord {
        kind,
        space: Space::Shared,
        address: 0x84,
        value: Some(7),
        site: site.clone(),
        location: location(line, Some(("dir/re duce.cu", line + 100))),
    };
    let accesses = vec![access(AccessKind::Store, lines[0]), access(AccessKind::Load, lines[1])];
    Finding {
        kind: Kind::RaceInBlock,
        code: "".into(),
        kernel: kernel.to_owned(),
        launch: Some(0),
        message: "the write <a> & the \"read\": 100%\nrace".to_owned(),
        location: accesses[0].location.clone(),
        site: Some(site),
        accesses,
        related: None,
        causes: vec!["nothing orders\u{1} them".to_owned()],
        cure: "add `__syncthreads()`".to_owned(),
        count: 1,
    }
}

fn all() -> CheckSet {
    CheckSet::parse("all").expect("it is a set")
}

fn some() -> Findings {
    let mut found = Findings::new("k.ptx", all());
    found.add(race("reduce", [7, 9]));
    found.add(Finding { count: 4, ..race("reduce", [7, 9]) });
    found.add(race("reduce", [3, 9]));
    let barrier = Finding {
        kind: Kind::DivergentBarrier,
        location: location(5, None),
        accesses: Vec::new(),
        related: Some((location(6, None), "lanes {16-31} are here".to_owned())),
        ..race("other", [1, 2])
    };
    found.add(barrier);
    found.finish(&Suppressions::default());
    found
}

#[test]
fn findings_are_kept_once_and_in_order() {
    let found = some();
    let keys: Vec<_> = found.iter().map(|f| (f.kind, f.location.line, f.count)).collect();
    let (race, barrier) = (Kind::RaceInBlock, Kind::DivergentBarrier);
    assert_eq!(keys, [(race, Some(3), 1), (race, Some(7), 5), (barrier, Some(5), 1)]);
    assert_eq!(found.exit_code(), kind::EXIT_FOUND);
    let line = "checks: 2 race-in-block, 1 divergent-barrier";
    assert_eq!(summary(&found).as_deref(), Some(line));
    assert_eq!(summary(&Findings::new("k.ptx", all())), None);
    assert_eq!(Findings::new("k.ptx", all()).exit_code(), 0);
}

#[test]
fn many_findings_take_bounded_room() {
    let mut found = Findings::new("k.ptx", all());
    for line in 0..50_000 {
        found.add(race("reduce", [line, 0]));
    }
    found.finish(&Suppressions::default());
    assert_eq!(found.iter().count(), 100);
    assert_eq!(found.omitted(Kind::RaceInBlock), 49_900);
    let shown = diagnostics(&found);
    assert!(shown.iter().any(|d| d.message.contains("49900 more findings")), "{shown:?}");
}

#[test]
fn suppressions_apply_by_kind_kernel_and_place() {
    let of = |text: &str| {
        let suppressions = Suppressions::parse(FileId(0), text).unwrap_or_else(|d| panic!("{d:?}"));
        let mut found = some();
        found.finish(&suppressions);
        let used: Vec<usize> = found.suppressed().map(|(index, _)| *index).collect();
        (found.iter().count(), suppressions.unused(used.into_iter()).iter().count())
    };
    assert_eq!(of("race-in-block\n"), (1, 0));
    assert_eq!(of("# nothing\n\n"), (3, 0));
    assert_eq!(of("race-in-block kernel=red*  # why\n"), (1, 0));
    assert_eq!(of("race-in-block kernel=other"), (3, 1));
    assert_eq!(of("* at=\"re duce.cu:107\""), (2, 0));
    assert_eq!(of("divergent-barrier at=k.ptx:5\nabsent-lanes"), (2, 1));
    assert_eq!(of("* at=k.ptx"), (0, 0));
    assert_eq!(of("* at=tx"), (3, 1));
}

#[test]
fn suppressions_with_errors_are_refused_with_the_nearest_name() {
    let wrong = |text: &str| {
        let found = Suppressions::parse(FileId(0), text).expect_err(text);
        let first = found.iter().next().expect("a diagnostic").clone();
        format!("{} {}", first.message, first.help.unwrap_or_default())
    };
    assert!(wrong("race-in-blok").contains("did you mean `race-in-block`?"));
    assert!(wrong("race-in-block kernle=k").contains("did you mean `kernel`?"));
    assert!(wrong("race-in-block 31").contains("kernel=NAME"));
    assert!(wrong("race-in-block at=").contains("has no value"));
    assert!(wrong("fault").contains("cannot be suppressed"));
    assert!(wrong("*").contains("would suppress everything"));
    assert!(CheckSet::parse("rase").is_err_and(|m| m.contains("did you mean `race`?")));
    assert!(Format::parse("sariff").is_err_and(|m| m.contains("did you mean `sarif`?")));
}

#[test]
fn json_follows_its_schema() {
    let schema = page::schema();
    check("schemas/findings.schema.json", &format!("{schema:#}\n"));
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let report = Format::Json.render(&some()).expect("it has a text");
    let report: Value = serde_json::from_str(&report).expect("JSON");
    let errors: Vec<String> = validator.iter_errors(&report).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    assert_eq!(report["findings"].as_array().map(Vec::len), Some(3));
    assert_eq!(report["findings"][0]["place"]["source"]["line"], 103);
}

#[test]
fn sarif_has_a_rule_for_each_kind() {
    let report = Format::Sarif.render(&some()).expect("it has a text");
    let report: Value = serde_json::from_str(&report).expect("JSON");
    let rules = report["runs"][0]["tool"]["driver"]["rules"].as_array().expect("rules");
    assert_eq!(rules.len(), kind::KINDS.len());
    let results = report["runs"][0]["results"].as_array().expect("results");
    for result in results {
        let index = result["ruleIndex"].as_u64().expect("an index") as usize;
        assert_eq!(rules[index]["id"], result["ruleId"]);
    }
    let place = &results[0]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "dir/re%20duce.cu");
    assert_eq!(place["region"]["startLine"], 103);
}

#[test]
fn texts_for_other_programs_are_escaped() {
    let junit = Format::Junit.render(&some()).expect("it has a text");
    assert!(junit.contains("the write &lt;a&gt; &amp; the &quot;read&quot;"), "{junit}");
    assert!(!junit.contains('\u{1}') && junit.contains("failures=\"2\""), "{junit}");
    let github = Format::Github.render(&some()).expect("it has a text");
    let lines: Vec<&str> = github.lines().collect();
    assert_eq!(lines.len(), 3, "{github}");
    assert!(lines.iter().all(|line| line.starts_with("::error file=")), "{github}");
    assert!(lines[0].contains("line=103,title=race-in-block::") && lines[0].contains("100%25%0A"));
}

/// The page's part on kinds stands between two marks; `SIMTLAB_BLESS=1` renews it.
#[test]
fn the_page_of_kinds_is_current() {
    const MARKS: [&str; 2] = ["<!-- kinds: made from the table -->\n", "<!-- end of kinds -->\n"];
    let page = std::fs::read_to_string(docs().join("checks.md")).expect("the page is there");
    let [start, end] = MARKS.map(|mark| page.find(mark).expect("the mark is there"));
    let renewed = format!("{}{}\n{}\n{}", &page[..start], MARKS[0], page::kinds(), &page[end..]);
    check("checks.md", &renewed);
    for row in kind::KINDS {
        for path in row.examples.into_iter().flatten() {
            let path = docs().join("../crates/filetests/tests").join(path);
            assert!(path.is_file(), "{}: no {}", row.name, path.display());
        }
    }
}

#[test]
fn findings_are_read_back_from_json() {
    let mut findings = some();
    findings.finish(&Suppressions::default());
    assert!(findings.iter().any(|f| f.related.is_some()));
    for finding in &findings {
        let json = finding_to_json(finding);
        let read = finding_from_json(&json).expect("it is a finding");
        assert_eq!(finding_to_json(&read), json);
        assert_eq!(read.location.source, finding.location.source);
    }
    let mut json = finding_to_json(findings.iter().next().expect("there is one"));
    json["kind"] = "none-such".into();
    assert_eq!(finding_from_json(&json), None);
}
