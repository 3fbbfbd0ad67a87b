//! The catalogue of mechanisms as text.

use converge::CATALOGUE;

use super::paragraph::paragraph;

/// Renders the catalogue: each mechanism with its source, state and limits.
#[must_use]
pub fn catalogue_text() -> String {
    let mut out = String::new();
    for entry in CATALOGUE {
        out.push_str(entry.name);
        if !entry.aliases.is_empty() {
            out.push_str(&format!(" (also {})", entry.aliases.join(", ")));
        }
        out.push('\n');
        paragraph(&mut out, "", entry.summary);
        paragraph(&mut out, "source: ", entry.source);
        paragraph(&mut out, "state:  ", entry.state);
        paragraph(&mut out, "limits: ", entry.limits);
        if !entry.knobs.is_empty() {
            paragraph(&mut out, "knobs:  ", &entry.knobs.join(", "));
        }
        out.push('\n');
    }
    out.pop();
    out
}
