//! The reference page of an instruction set, in Markdown, from its table.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::table::decode::Hex;
use crate::table::{Field, Form, Kind, Table};

/// The page: operand kinds, then every form with its encoding, syntax, fields and what it does.
/// Forms stand in the order of the table, by their attribute `group`, groups in the order in which
/// they first appear.
#[must_use]
pub fn reference(table: &Table) -> String {
    reference_with(table, |_, form| form.doc.clone())
}

/// The same, with words about each form from `about`, which gets its place in the table.
#[must_use]
pub fn reference_with(table: &Table, about: impl Fn(usize, &Form) -> String) -> String {
    let mut out = String::new();
    let mut groups: Vec<(&str, Vec<(usize, &Form)>)> = Vec::new();
    let mut index: BTreeMap<&str, usize> = BTreeMap::new();
    for (place, form) in table.forms().iter().enumerate() {
        let group = form.attribute("group").unwrap_or("other");
        let at = *index.entry(group).or_insert_with(|| {
            groups.push((group, Vec::new()));
            groups.len() - 1
        });
        groups[at].1.push((place, form));
    }
    let _ = writeln!(out, "# {} instructions\n", table.name());
    let _ = writeln!(out, "{} forms in {} groups.\n", table.forms().len(), groups.len());
    for (group, forms) in &groups {
        let _ = writeln!(out, "- [{group}](#{}): {} forms", anchor(group), forms.len());
    }
    out.push('\n');
    kinds(table, &mut out);
    for (group, forms) in groups {
        let _ = writeln!(out, "## {group}\n");
        for (place, form) in forms {
            describe(form, &about(place, form), &mut out);
        }
    }
    out
}

/// The anchor that common Markdown renderers give a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

fn kinds(table: &Table, out: &mut String) {
    let named = |kind: &Kind| matches!(kind, Kind::Names(_));
    if !table.kinds().iter().any(|k| named(&k.kind)) {
        return;
    }
    out.push_str("## Operands\n\n| kind | names, with their values |\n|---|---|\n");
    for kind in table.kinds() {
        if let Kind::Names(names) = &kind.kind {
            let list: Vec<String> = names.iter().map(|(n, v)| format!("`{n}` {v}")).collect();
            let _ = writeln!(out, "| `{}` | {} |", kind.name, list.join(", "));
        }
    }
    out.push('\n');
}

fn describe(form: &Form, about: &str, out: &mut String) {
    let _ = writeln!(out, "### {}\n", form.name);
    if !about.is_empty() {
        let _ = writeln!(out, "{about}\n");
    }
    let _ = writeln!(out, "    {}", form.syntax.text);
    for alias in &form.aliases {
        let _ = writeln!(out, "    {}", alias.syntax.text);
    }
    out.push('\n');
    diagram(form, out);
    for field in &form.fields {
        let _ = writeln!(out, "- `{}`: {}", field.name, field_text(field));
    }
    let mask = Hex { word: form.mask, bits: form.bits };
    let pattern = Hex { word: form.pattern, bits: form.bits };
    let _ = writeln!(out, "- {} bits, mask `{mask}`, match `{pattern}`", form.bits);
    for (name, value) in form.attributes.iter().filter(|(name, _)| name != "group") {
        let _ = if value.is_empty() {
            writeln!(out, "- {name}")
        } else {
            writeln!(out, "- {name}: {value}")
        };
    }
    out.push('\n');
}

/// A row of bit ranges, most significant first, over a row of what they hold.
fn diagram(form: &Form, out: &mut String) {
    let mut bits = String::from("|");
    let mut rule = String::from("|");
    let mut cells = String::from("|");
    let mut high = form.bits;
    while high > 0 {
        let (low, cell) = run_below(form, high);
        let range = if low + 1 == high { low.to_string() } else { format!("{}..{low}", high - 1) };
        let _ = write!(bits, " {range} |");
        rule.push_str(":-:|");
        let _ = write!(cells, " {cell} |");
        high = low;
    }
    let _ = writeln!(out, "{bits}\n{rule}\n{cells}\n");
}

/// The run of bits that ends below bit `high`: its lowest bit, and what it holds.
fn run_below(form: &Form, high: u32) -> (u32, String) {
    for field in &form.fields {
        for piece in &field.pieces {
            let (lsb, width) = (u32::from(piece.insn_lsb), u32::from(piece.width));
            if lsb + width == high {
                let whole = field.pieces.len() == 1 && piece.value_lsb == 0;
                let (first, last) = (u32::from(piece.value_lsb) + width - 1, piece.value_lsb);
                return (
                    lsb,
                    match (whole, width) {
                        (true, _) => field.name.clone(),
                        (_, 1) => format!("{}\\[{last}\\]", field.name),
                        _ => format!("{}\\[{first}:{last}\\]", field.name),
                    },
                );
            }
        }
    }
    // Every bit that is in no field is fixed.
    let mut low = high;
    let mut digits = String::new();
    while low > 0 && form.mask >> (low - 1) & 1 == 1 {
        low -= 1;
        digits.push(if form.pattern >> low & 1 == 1 { '1' } else { '0' });
    }
    (low.min(high - 1), format!("`{digits}`"))
}

/// Ranges of legal values that are listed for a field.
const MOST_RANGES: usize = 16;

fn field_text(field: &Field) -> String {
    let (low, high) = field.range();
    let mut text = format!("{low} to {high}");
    if field.multiple() > 1 {
        let _ = write!(text, ", multiples of {}", field.multiple());
        if field.bias != 0 {
            let _ = write!(text, " plus {}", field.bias);
        }
    }
    if !field.legal.is_empty() {
        let ranges = field
            .legal
            .iter()
            .map(|&(lo, hi)| if lo == hi { lo.to_string() } else { format!("{lo} to {hi}") });
        let ranges: Vec<String> = ranges.collect();
        // A long list, such as that of an operand codec, says less than the machine's own page.
        let _ = if ranges.len() > MOST_RANGES {
            let count: i64 = field.legal.iter().map(|(low, high)| high - low + 1).sum();
            write!(text, "; {count} of these are legal")
        } else {
            write!(text, "; legal are {}", ranges.join(", "))
        };
    }
    if field.default_value() != 0 {
        let _ = write!(text, "; {} if not written", field.default_value());
    }
    text
}
