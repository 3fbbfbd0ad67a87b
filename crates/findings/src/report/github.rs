//! Findings as annotations of GitHub's workflows: lines that begin with `::error`.

use std::fmt::Write as _;

use isa::Severity;

use super::sentence;
use crate::found::Findings;

pub(super) fn to_annotations(findings: &Findings) -> String {
    let mut out = String::new();
    for finding in findings {
        let row = finding.kind.row();
        let command = match row.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "notice",
        };
        let (file, line) = finding.location.file_line(&findings.program);
        let _ = write!(out, "::{command} file={}", property(file));
        if let Some(line) = line {
            let _ = write!(out, ",line={line}");
        }
        let _ = writeln!(out, ",title={}::{}", property(row.name), data(&sentence(finding)));
    }
    out
}

/// Text of a message: a line feed would end the annotation.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Text of a property, where colons and commas have a meaning too.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
