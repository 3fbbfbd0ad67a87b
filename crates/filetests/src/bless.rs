//! Rewriting what may be rewritten: pinned statistics and texts of failures. Values never are: they
//! come from an oracle.

use std::path::Path;

use crate::directive::Directive;
use crate::file::TestFile;
use crate::runner::run;

/// Rounds after which a case has to agree with itself: new lines move the places that texts name.
const ROUNDS: usize = 4;

/// Runs a case and rewrites its statistics and texts until it agrees with itself. Gives whether the
/// file changed.
///
/// # Errors
/// If the case fails in a way that is not a matter of texts and statistics.
pub fn bless(path: &Path) -> Result<bool, String> {
    let mut changed = false;
    for _ in 0..ROUNDS {
        let file = TestFile::read(path)?;
        let observed = run(&file)?;
        if file.judge(&observed).is_ok() {
            return Ok(changed);
        }
        let text = match (&file.failure, &observed.failure) {
            (Some(expected), Some((code, text))) if expected.code == *code => Some(text.trim_end()),
            (None, None) => None,
            // Another outcome than the case is about: nothing to bless.
            _ => return file.judge(&observed).map(|()| changed),
        };
        let new = rewrite(
            &file,
            &observed.stats.iter().map(super::file::StatsLine::to_text).collect::<Vec<_>>(),
            text,
            &[&observed.stages[..], &observed.debug[..]].concat(),
        );
        if new == file.text {
            return file.judge(&observed).map(|()| changed);
        }
        std::fs::write(path, new).map_err(|e| format!("{}: {e}", path.display()))?;
        changed = true;
    }
    Err("the case does not agree with itself after being blessed".to_owned())
}

/// The file's text with these statistics, this text of its failure, and these texts of stages, then
/// of sessions of the debugger.
fn rewrite(file: &TestFile, stats: &[String], failure: Option<&str>, stages: &[String]) -> String {
    let sign = file.marker;
    let declared = file.directives.iter().find(|d| d.name == "stats" && d.filter.is_empty());
    let fails = file.directives.iter().find(|d| d.name.starts_with("fails "));
    let pinned: Vec<usize> = file
        .directives
        .iter()
        .filter(|d| d.name == "stats" && !d.filter.is_empty())
        .map(|d| d.line)
        .collect();
    let named = |name| file.directives.iter().filter(move |d: &&Directive| d.name == name);
    let tests: Vec<_> = named("test").chain(named("debug")).zip(stages).collect();
    let of = |d: &Directive, line: usize| line > d.line && line <= d.line + d.block.len();
    let in_block = |line: usize| {
        fails.is_some_and(|d| failure.is_some() && of(d, line))
            || tests.iter().any(|test| of(test.0, line))
    };
    let mut out: Vec<String> = Vec::new();
    for (number, line) in file.text.split('\n').enumerate() {
        if pinned.contains(&number) || in_block(number) {
            continue;
        }
        out.push(line.to_owned());
        if declared.is_some_and(|d| d.line == number) {
            out.extend(stats.iter().map(|line| format!("{sign}: {line}")));
        }
        if let (Some(text), true) = (failure, fails.is_some_and(|d| d.line == number)) {
            out.extend(text.lines().map(|line| format!("{sign}| {line}").trim_end().to_owned()));
        }
        if let Some((_, text)) = tests.iter().find(|test| test.0.line == number) {
            out.extend(text.lines().map(|line| format!("{sign}| {line}").trim_end().to_owned()));
        }
    }
    out.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_and_texts_are_replaced_in_place() {
        let text = "\
//: run: --grid 1 --block 1
//: stats: inst_executed
//: stats(ipdom, 8): inst_executed = 1
code
//: fails 3:
//| old
//| text
// people
";
        let file = TestFile::parse(Path::new("t.ir"), text.to_owned()).expect("well-formed");
        let new = rewrite(
            &file,
            &["stats(ipdom, 8): inst_executed = 2".to_owned()],
            Some("new\n\nlines"),
            &[],
        );
        assert_eq!(
            new,
            "\
//: run: --grid 1 --block 1
//: stats: inst_executed
//: stats(ipdom, 8): inst_executed = 2
code
//: fails 3:
//| new
//|
//| lines
// people
"
        );
    }
}
