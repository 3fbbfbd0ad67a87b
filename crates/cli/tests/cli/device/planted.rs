//! Wrong results of every kind that the suites look for, planted in a copy of this project's driver
//! library: the test's driver changes programs before it loads them.

use std::path::Path;

use crate::device::common::{device, device_with, folder, report};

/// A wrong result.
struct Fault {
    /// What it stands for.
    kind: &'static str,
    /// The case in which it has to be found.
    case: &'static str,
    /// The verdict on that case.
    verdict: &'static str,
    /// The line that has to name it: an instruction, a kernel, a buffer or a timing; empty if the
    /// case alone names it.
    named: &'static str,
    /// The text of programs that is replaced, and the text in its place.
    rule: (&'static str, &'static str),
}

const FAULTS: [Fault; 13] = [
    Fault {
        kind: "a barrier that is never complete",
        case: "sync-barrier-arrive",
        verdict: "ends differ",
        named: "",
        rule: ("bar.arrive 1, 64", "bar.arrive 2, 64"),
    },
    Fault {
        kind: "arithmetic: only five bits of the amount of a shift count",
        case: "arithmetic-063",
        verdict: "differs",
        named: "shl.b32 %b32_0, %b32_1, %b32_2;",
        rule: (
            "shl.b32 %b32_0, %b32_1, %b32_2;",
            "{ .reg .b32 n; and.b32 n, %b32_2, 31; shl.b32 %b32_0, %b32_1, n; }",
        ),
    },
    Fault {
        kind: "an approximate function: the last bit",
        case: "arithmetic-000",
        verdict: "differs",
        named: "sin.approx.f32 %f32_0, %f32_1;",
        rule: (
            "sin.approx.f32 %f32_0, %f32_1;",
            "{ .reg .b32 n; sin.approx.f32 %f32_0, %f32_1; mov.b32 n, %f32_0; xor.b32 n, n, 1; \
             mov.b32 %f32_0, n; }",
        ),
    },
    Fault {
        kind: "a carry chain: a borrow is taken for a carry",
        case: "arithmetic-001",
        verdict: "differs",
        named: "sub.cc.u32 %u32_8, %u32_1, %u32_2; addc.u32 %u32_0, %u32_1, %u32_2;",
        rule: (
            "sub.cc.u32 %u32_8, %u32_1, %u32_2; addc.u32 %u32_0",
            "sub.cc.u32 %u32_8, %u32_1, %u32_2; subc.u32 %u32_0",
        ),
    },
    Fault {
        kind: "a NaN keeps its payload",
        case: "arithmetic-078",
        verdict: "differs",
        named: "add.rn.f32 %f32_0, %f32_1, %f32_2;",
        rule: (
            "add.rn.f32 %f32_0, %f32_1, %f32_2;",
            "{ .reg .pred n; add.rn.f32 %f32_0, %f32_1, %f32_2; testp.notanumber.f32 n, %f32_1; \
             @n mov.f32 %f32_0, %f32_1; }",
        ),
    },
    Fault {
        kind: "a NaN becomes another integer",
        case: "arithmetic-006",
        verdict: "differs",
        named: "cvt.rzi.s32.f32 %s32_0, %f32_1;",
        rule: (
            "cvt.rzi.s32.f32 %s32_0, %f32_1;",
            "{ .reg .pred n; cvt.rzi.s32.f32 %s32_0, %f32_1; testp.notanumber.f32 n, %f32_1; \
             @n mov.b32 %s32_0, 0x80000000; }",
        ),
    },
    Fault {
        kind: "an atomic sum flushes subnormal numbers",
        case: "arithmetic-",
        verdict: "differs",
        named: "atom.global.add.f32 %f32_0, [cell], %f32_2; (second result)",
        rule: (
            "atom.global.add.f32 %f32_0, [%zx], %f32_2;",
            "{ .reg .f32 n; add.ftz.f32 n, %f32_2, 0f80000000; \
             atom.global.add.f32 %f32_0, [%zx], n; }",
        ),
    },
    Fault {
        kind: "a matrix sum in another order",
        case: "matrix-",
        verdict: "differs",
        named: "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        rule: (
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%x0_0, %x0_1, %x0_2, %x0_3}, \
             {%x1_0, %x1_1, %x1_2, %x1_3}, {%x2_0, %x2_1}, {%x3_0, %x3_1, %x3_2, %x3_3};",
            "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%x0_0, %x0_1, %x0_2, %x0_3}, \
             {%x1_2, %x1_3}, {%x2_1}, {%x3_0, %x3_1, %x3_2, %x3_3}; \
             mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%x0_0, %x0_1, %x0_2, %x0_3}, \
             {%x1_0, %x1_1}, {%x2_0}, {%x0_0, %x0_1, %x0_2, %x0_3};",
        ),
    },
    Fault {
        kind: "a bundled kernel: an atomic sum is a maximum",
        case: "kernels-histogram-launch",
        verdict: "differs",
        named: "global_bins",
        rule: ("atom.global.add.u32 \t%r7, [%rd8], 1;", "atom.global.max.u32 \t%r7, [%rd8], 1;"),
    },
    Fault {
        kind: "random kernels: another function of an integer",
        case: "random-flow-",
        verdict: "differs",
        named: "flow_",
        rule: ("popc.b32 %v", "brev.b32 %v"),
    },
    Fault {
        kind: "exited lanes take part in a vote",
        case: "sync-vote-after-exits",
        verdict: "differs",
        named: "out",
        rule: (
            "@%p0 exit;\nsetp.ne.u32 %p1, %l, 20;\nvote.sync.ballot.b32 %x0, %p1, 0xffffffff;",
            "@%p0 exit;\nsetp.ne.u32 %p1, %l, 20;\nvote.sync.ballot.b32 %x0, %p1, 0xffffffff; \
             or.b32 %x0, %x0, 0xffff;",
        ),
    },
    Fault {
        kind: "`activemask` names other lanes",
        case: "sync-active-mask-of-returns",
        verdict: "differs by schedule",
        named: "out",
        rule: (
            "@%p0 ret;\nactivemask.b32 %x0;",
            "@%p0 ret;\nactivemask.b32 %x0; or.b32 %x0, %x0, 1;",
        ),
    },
    Fault {
        kind: "timing: a way of a switch takes four times as long",
        case: "statistics-switch",
        verdict: "timing differs",
        named: "8 ways",
        rule: (
            "ARM7:\nmad.lo.u32 %x, %x, %x, 15;\n",
            "ARM7:\n.reg .u32 n; mov.u32 n, 50; MORE: sub.u32 n, n, 1; \
             setp.ne.u32 %p0, n, 0; @%p0 bra MORE;\nmad.lo.u32 %x, %x, %x, 15;\n",
        ),
    },
];

/// The rules of all faults for the driver.
fn rules() -> String {
    let rules = FAULTS.iter().map(|fault| format!("{}=>{}", fault.rule.0, fault.rule.1));
    rules.collect::<Vec<_>>().join("\u{1}")
}

/// The differences of a report: cases with their verdicts and what is named in each, in its order.
fn differences(report: &str) -> Vec<(String, String, Vec<String>)> {
    let (_, section) = report.split_once("## What differs\n").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let mut found: Vec<(String, String, Vec<String>)> = Vec::new();
    for line in section.lines() {
        if let Some(line) = line.strip_prefix("- ") {
            let (case, verdict) = line.split_once(": ").unwrap();
            let case = case.split(' ').next().unwrap();
            found.push((case.to_owned(), verdict.to_owned(), Vec::new()));
        } else if let Some(line) = line.strip_prefix("  - `") {
            let (_, _, named) = found.last_mut().unwrap();
            named.push(line.split('`').next().unwrap().to_owned());
        }
    }
    found
}

#[test]
fn planted_faults_of_every_kind_are_found_named_and_ranked() {
    let texts = FAULTS.iter().map(|fault| fault.named).filter(|named| named.ends_with(';'));
    let mut arithmetic = vec!["--suite", "arithmetic", "--only", "atom."];
    arithmetic.extend(texts.flat_map(|text| ["--only", text]));
    are_found(
        "device-planted-quick",
        &[
            arithmetic,
            vec!["--suite", "kernels,statistics,sync"],
            vec!["--suite", "matrix", "--only", "m16n8k16.row.col.f32.f16.f16.f32"],
            vec!["--suite", "random", "--module-kernels", "40", "--only", "random-flow-40x000"],
        ],
    );
}

#[test]
#[ignore = "takes minutes: `cargo test -p simtlab --test cli -- --ignored device::`"]
fn planted_faults_are_found_in_whole_suites() {
    are_found(
        "device-planted-whole",
        &[
            vec!["--suite", "arithmetic,kernels,matrix,statistics,sync"],
            vec!["--suite", "random", "--only=-000", "--only=-001"],
        ],
    );
}

/// Runs `verify` with all faults, and looks at its report.
fn are_found(name: &str, calls: &[Vec<&str>]) {
    let (out, rules) = (folder(name), rules());
    let rules = [("SIMTLAB_TEST_REPLACE", rules.as_str())];
    for words in calls {
        let words: Vec<&str> = words.iter().copied().chain(["--out", &out]).collect();
        let output = device_with(&rules, "verify", &words);
        assert_eq!(output.code, Some(1), "{}", output.text);
    }
    let report = report(&out).text;
    let found = differences(&report);
    for fault in &FAULTS {
        let is_it = |(case, verdict, named): &&(String, String, Vec<String>)| {
            case.starts_with(fault.case)
                && verdict == fault.verdict
                && (fault.named.is_empty() || named.iter().any(|n| n.starts_with(fault.named)))
        };
        assert!(found.iter().any(|found| is_it(&found)), "{}: {report}", fault.kind);
    }
    // Nothing else is named.
    for (case, _, named) in &found {
        let of_case = || FAULTS.iter().filter(|fault| case.starts_with(fault.case));
        let known = |name: &String| {
            let grid = case.starts_with("arithmetic-grid") && name.starts_with("sin.approx.f32 ");
            grid || of_case().any(|fault| name.starts_with(fault.named))
        };
        assert!(named.iter().all(known), "{case} {named:?}: {report}");
        assert!(of_case().count() > 0 || case.starts_with("arithmetic-grid"), "{case}: {report}");
    }
    // Ends come before results, results before what a schedule may explain, times last; of results,
    // what differs in most elements comes first.
    let order = ["ends differ", "differs", "differs by schedule", "timing differs"];
    let ranks: Vec<usize> = found
        .iter()
        .map(|(_, verdict, _)| order.iter().position(|known| known == verdict).unwrap())
        .collect();
    assert!(ranks.is_sorted(), "{ranks:?}");
    let place = |name: &str| found.iter().position(|(case, ..)| case == name).unwrap();
    assert!(place("sync-vote-after-exits") < place("arithmetic-063"), "{report}");
    // An unknown order is explained by its probe.
    let text = "m16n8k16.row.col.f32.f16.f16.f32 (probes of sums)";
    assert!(report.contains(text), "{report}");
    assert!(report.contains("  - device: added after terms "), "{report}");
    // Each can be looked at alone.
    let alone = Path::new(&out).join("cases/arithmetic/arithmetic-063.toml");
    let output = device_with(&rules, "run", &["--compare", alone.to_str().unwrap()]);
    assert!(output.text.contains("written at line "), "{}", output.text);
    let output = device("", "run", &["--compare", alone.to_str().unwrap()]);
    assert_eq!(output.code, Some(0), "{}", output.text);
}
