//! The command `conform`: a machine's conformance suite.

use inputs::file::{MAX_PROGRAM_BYTES, read_input};
use isa::{Diagnostics, SourceMap};
use lab::run::table;
use machines::{ConformCase, Image, Isa};

use super::{reading, refuse};
use crate::args::Conform;
use crate::line::Line;
use crate::out::{Exit, Out};

/// Runs the machine's own suite, or the given tables.
fn cases(
    isa: &'static Isa,
    args: &Conform,
    sources: &mut SourceMap,
) -> Result<Vec<ConformCase>, Diagnostics> {
    if args.tables.is_empty() {
        return isa.conform();
    }
    let mut cases = Vec::new();
    for path in &args.tables {
        let bytes = read_input(path, MAX_PROGRAM_BYTES, None).map_err(|finding| {
            let mut found = Diagnostics::new();
            found.push(finding);
            found
        })?;
        let name = path.display().to_string();
        let text = std::str::from_utf8(&bytes).unwrap_or("");
        if table::has_programs(text) {
            cases.extend(table::conform(isa, path, text));
            continue;
        }
        let file = sources.add(name.as_str(), text);
        cases.extend(isa.conform_table(&name, Image { bytes: &bytes, file })?);
    }
    Ok(cases)
}

/// Runs the suite; prints a line for each failed case, and the totals.
pub(crate) fn conform(args: &Conform, out: &mut Out) -> Exit {
    let mut sources = SourceMap::new();
    let mut line = Line::new("conform");
    let span = line.option("isa", &args.isa);
    let tile_ops =
        args.tile_ops.as_ref().map(|value| (value.as_str(), line.option("tile-ops", value)));
    line.enter(&mut sources);
    let isa = machines::find(&args.isa)
        .map_err(|finding| finding.at(span, "unknown machine"))
        .and_then(|isa| reading(isa, "tile-ops", tile_ops));
    let isa = match isa {
        Ok(isa) => isa,
        Err(finding) => return refuse(&finding, &sources, out),
    };
    let cases = match cases(isa, args, &mut sources) {
        Ok(cases) => cases,
        Err(found) => {
            out.findings(&found, &sources);
            return Exit::Usage;
        }
    };
    let mut failed = 0;
    for case in &cases {
        if let Some(failure) = &case.failure {
            failed += 1;
            out.text(&format!("FAILED {}: {failure}\n", case.name));
        }
    }
    out.text(&format!("{} passed, {failed} failed\n", cases.len() - failed));
    if failed == 0 { Exit::Ok } else { Exit::Unmet }
}
