//! Findings as XML in the form of JUnit: a test case for each kind, which fails if there are
//! findings of it.

use std::fmt::Write as _;

use super::sentence;
use crate::finding::Finding;
use crate::found::Findings;
use crate::kind::{Check, KINDS};

pub(super) fn to_junit(findings: &Findings) -> String {
    let on = |check: Check| check == Check::Memory || findings.checks.has(check);
    let rows: Vec<_> = KINDS.iter().filter(|row| on(row.check)).collect();
    let of = |name: &str| findings.iter().filter(|f| f.kind.name() == name).collect::<Vec<_>>();
    let failed = rows.iter().filter(|row| !of(row.name).is_empty()).count();
    let program = escaped(&findings.program);
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let counts = format!("tests=\"{}\" failures=\"{failed}\"", rows.len());
    let _ = writeln!(out, "<testsuites {counts}>");
    let _ = writeln!(out, "  <testsuite name=\"{program}\" {counts}>");
    for row in rows {
        let all = of(row.name);
        let case = format!("<testcase classname=\"{program}\" name=\"{}\"", row.name);
        if all.is_empty() {
            let _ = writeln!(out, "    {case}/>");
            continue;
        }
        let _ = writeln!(out, "    {case}>");
        // One failure a case: some readers take no more.
        let message = escaped(&all[0].message);
        let text: String = all.iter().map(|f| line(f, &findings.program)).collect();
        let _ = writeln!(
            out,
            "      <failure type=\"{}\" message=\"{message}\">{}</failure>\n    </testcase>",
            row.name,
            escaped(&text)
        );
    }
    out.push_str("  </testsuite>\n</testsuites>\n");
    out
}

fn line(finding: &Finding, program: &str) -> String {
    let (file, line) = finding.location.file_line(program);
    let line = line.map_or_else(String::new, |line| format!(":{line}"));
    format!("{file}{line}: {}\n", sentence(finding))
}

/// Text for XML 1.0: markup is escaped, characters that it cannot have are replaced.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'.. => out.push(c),
            _ => out.push('\u{fffd}'),
        }
    }
    out
}
