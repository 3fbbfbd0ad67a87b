//! Validation of a table: the invariants listed in the module above, each with its error.

use std::collections::BTreeMap;

use super::decode::Tree;
use super::template::{self, Part, Scope};
use super::{
    Alias, AliasSpec, Field, Form, FormId, FormSpec, Kind, KindDef, KindId, LengthRule, Names,
    Problem, Spelling, Table, TableError, TableSpec, Template,
};

/// Kinds that every table has, in the order of their ids.
pub(super) const BUILT_IN: [(&str, Kind); 4] = [
    ("int", Kind::Int),
    ("hex", Kind::Hex),
    ("target", Kind::Target),
    ("distance", Kind::Distance),
];

/// A field with names may have this many values at most: each is checked to have a name.
const MOST_NAMED_VALUES: i64 = 1 << 16;

pub(super) fn table(spec: TableSpec) -> Result<Table, Vec<TableError>> {
    let mut errors = Vec::new();
    let kinds = kinds(spec.kinds, &mut errors);
    if spec.forms.len() > usize::from(u16::MAX) {
        errors.push(TableError { line: 0, form: spec.name.clone(), problem: Problem::TooMany });
        return Err(errors);
    }
    let mut forms = Vec::new();
    let mut lines = Vec::new();
    let mut by_name = BTreeMap::new();
    for (form, line) in spec.forms {
        let mut report = |problem| {
            let form = form.name.clone();
            errors.push(TableError { line, form, problem });
        };
        if by_name.insert(form.name.clone(), FormId(forms.len() as u16)).is_some() {
            report(Problem::Duplicate(form.name.clone()));
        }
        if check_bits(&form, &mut report)
            && let Some(form) = resolve(&form, &kinds, &mut report)
        {
            check_length(&form, &spec.lengths, &mut report);
            forms.push(form);
            lines.push(line);
        }
    }
    overlaps(&forms, &lines, &mut errors);
    if !errors.is_empty() {
        return Err(errors);
    }
    let unit_bits = forms.iter().fold(0, |unit, f| gcd(unit, f.bits)).max(8);
    let by_mnemonic = spellings(&forms);
    let tree = Tree::build(&forms);
    let (name, lengths) = (spec.name, spec.lengths);
    Ok(Table { name, kinds, lengths, forms, by_name, by_mnemonic, unit_bits, tree })
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn kinds(own: Vec<KindDef>, errors: &mut Vec<TableError>) -> Vec<KindDef> {
    let built_in = BUILT_IN.map(|(name, kind)| KindDef { name: name.to_owned(), kind });
    let mut kinds = Vec::from(built_in);
    for kind in own {
        if kinds.iter().any(|k| k.name == kind.name) {
            let problem = Problem::Duplicate(kind.name.clone());
            errors.push(TableError { line: 0, form: kind.name.clone(), problem });
        }
        kinds.push(kind);
    }
    kinds.truncate(usize::from(u16::MAX));
    kinds
}

fn spellings(forms: &[Form]) -> BTreeMap<String, Vec<Spelling>> {
    let mut map: BTreeMap<String, Vec<Spelling>> = BTreeMap::new();
    for (i, form) in forms.iter().enumerate() {
        let id = FormId(i as u16);
        let mut add = |t: &Template, alias| {
            let key = t.mnemonic.to_ascii_lowercase();
            map.entry(key).or_default().push(Spelling { form: id, alias });
        };
        add(&form.syntax, None);
        for (i, alias) in form.aliases.iter().enumerate() {
            add(&alias.syntax, Some(i));
        }
    }
    map
}

/// Everything about fixed bits and fields; whether the rest can be checked at all.
fn check_bits(form: &FormSpec, report: &mut dyn FnMut(Problem)) -> bool {
    if form.bits == 0 || form.bits > 64 || !form.bits.is_multiple_of(8) {
        report(Problem::Width(form.bits));
        return false;
    }
    let width = u64::MAX >> (64 - form.bits);
    if form.mask & !width != 0 {
        report(Problem::MaskWidth(form.mask & !width));
        return false;
    }
    if form.pattern & !form.mask != 0 {
        report(Problem::PatternOutsideMask(form.pattern & !form.mask));
        return false;
    }
    let mut good = true;
    let mut taken: Vec<(String, u64)> = vec![("the fixed bits".to_owned(), form.mask)];
    for (i, field) in form.fields.iter().enumerate() {
        if form.fields[..i].iter().any(|f| f.name == field.name) {
            report(Problem::Duplicate(field.name.clone()));
            good = false;
        }
        match check_field(field, form.bits, &taken) {
            Ok(()) => taken.push((format!("field `{}`", field.name), field.insn_mask())),
            Err(problem) => {
                report(problem);
                good = false;
            }
        }
    }
    let covered = taken.iter().fold(0, |all, (_, bits)| all | bits);
    if good && covered != width {
        report(Problem::Uncovered(width & !covered));
        good = false;
    }
    good
}

fn check_field(field: &Field, bits: u32, taken: &[(String, u64)]) -> Result<(), Problem> {
    let name = || field.name.clone();
    let fits = |lsb: u8, width: u8, end: u32| width > 0 && u32::from(lsb) + u32::from(width) <= end;
    let inside =
        |p: &super::Piece| fits(p.insn_lsb, p.width, bits) && fits(p.value_lsb, p.width, 63);
    if field.pieces.is_empty() || !field.pieces.iter().all(inside) {
        return Err(Problem::FieldBits(name()));
    }
    let (mut insn, mut value) = (0u64, 0u64);
    for piece in &field.pieces {
        let shared = insn & piece.insn_mask();
        if shared != 0 {
            return Err(Problem::FieldOverlap {
                field: name(),
                bits: shared,
                with: "itself".into(),
            });
        }
        if value & piece.value_mask() != 0 {
            return Err(Problem::ValueOverlap(name()));
        }
        insn |= piece.insn_mask();
        value |= piece.value_mask();
    }
    for (with, bits) in taken {
        if bits & insn != 0 {
            let with = with.clone();
            return Err(Problem::FieldOverlap { field: name(), bits: bits & insn, with });
        }
    }
    let (low, high) = field.raw_range();
    let fits = |raw: i64| {
        raw.checked_mul(i64::from(field.scale)).and_then(|v| v.checked_add(field.bias)).is_some()
    };
    if field.scale == 0 || !fits(low) || !fits(high) {
        return Err(Problem::Scale(name()));
    }
    field.insert(0, field.default_value())?;
    Ok(())
}

/// Parses the templates against fields and kinds.
fn resolve(form: &FormSpec, kinds: &[KindDef], report: &mut dyn FnMut(Problem)) -> Option<Form> {
    let syntax = template(form, &form.syntax, kinds, report);
    let aliases: Option<Vec<Alias>> =
        form.aliases.iter().map(|a| alias(form, a, kinds, report)).collect();
    for (i, (name, _)) in form.attributes.iter().enumerate() {
        if form.attributes[..i].iter().any(|(n, _)| n == name) {
            report(Problem::Duplicate(name.clone()));
        }
    }
    let form = form.clone();
    Some(Form {
        name: form.name,
        bits: form.bits,
        mask: form.mask,
        pattern: form.pattern,
        fields: form.fields,
        syntax: syntax?,
        aliases: aliases?,
        priority: form.priority,
        attributes: form.attributes,
        doc: form.doc,
    })
}

fn alias(
    form: &FormSpec,
    alias: &AliasSpec,
    kinds: &[KindDef],
    report: &mut dyn FnMut(Problem),
) -> Option<Alias> {
    let syntax = template(form, &alias.syntax, kinds, report)?;
    let mut used = Vec::new();
    syntax.for_each_field(|i| used.push(i));
    let mut fixed = Vec::new();
    for (name, value) in &alias.fixed {
        let index = form.fields.iter().position(|f| f.name == *name);
        let Some(index) = index.filter(|i| !used.contains(i)) else {
            report(Problem::Fixed(name.clone()));
            return None;
        };
        if let Err(error) = form.fields[index].insert(0, *value) {
            report(error.into());
            return None;
        }
        used.push(index);
        fixed.push((index, *value));
    }
    Some(Alias { syntax, fixed, printed: alias.printed })
}

fn template(
    form: &FormSpec,
    text: &str,
    kinds: &[KindDef],
    report: &mut dyn FnMut(Problem),
) -> Option<Template> {
    let field = |name: &str| form.fields.iter().position(|f| f.name == name);
    let kind = |name: &str| {
        let index = kinds.iter().position(|k| k.name == name)?;
        Some((KindId(index as u16), matches!(kinds[index].kind, Kind::Custom)))
    };
    match template::parse(text, &Scope { field: &field, kind: &kind }) {
        Ok(parsed) => check_names(form, &parsed.parts, None, kinds, report).then_some(parsed),
        Err(error) => {
            report(Problem::Template { text: text.to_owned(), error });
            None
        }
    }
}

/// Every legal value of an operand of names has a name. The default of `only`, the one field of an
/// optional part, needs none: the part is not printed then.
fn check_names(
    form: &FormSpec,
    parts: &[Part],
    only: Option<usize>,
    kinds: &[KindDef],
    report: &mut dyn FnMut(Problem),
) -> bool {
    let mut good = true;
    for part in parts {
        match part {
            Part::Literal(_) => {}
            Part::Optional(inner) => {
                let mut fields = Vec::new();
                template::for_each_field(inner, &mut |i| fields.push(i));
                let only = if let [only] = fields[..] { Some(only) } else { None };
                good &= check_names(form, inner, only, kinds, report);
            }
            Part::Operand { fields, kind } => {
                let def = &kinds[usize::from(kind.0)];
                let (Kind::Names(names), [index]) = (&def.kind, fields.as_slice()) else {
                    continue;
                };
                let field = &form.fields[*index];
                let unprinted = only.filter(|i| i == index).map(|_| field.default_value());
                if let Some(value) = unnamed(field, names, unprinted) {
                    let (kind, field) = (def.name.clone(), field.name.clone());
                    report(Problem::Unnamed { kind, field, value });
                    good = false;
                }
            }
        }
    }
    good
}

/// The first legal value without a name, other than the one that is never printed.
fn unnamed(field: &Field, names: &Names, unprinted: Option<i64>) -> Option<i64> {
    let possible = |v: i64| field.is_legal(v) && field.insert(0, v).is_ok();
    let missing = |&v: &i64| Some(v) != unprinted && names.name(v).is_none() && possible(v);
    let (low, high) = field.range();
    // A field with more values than this cannot have a name for each; the first one beyond tells.
    let last = high.min(low.saturating_add(MOST_NAMED_VALUES));
    (low..=last).find(missing)
}

fn check_length(form: &Form, rules: &[LengthRule], report: &mut dyn FnMut(Problem)) {
    if form.attribute("fused").is_some() {
        return;
    }
    // The first rule that can apply to the form, given only its fixed bits.
    let compatible = |r: &&LengthRule| (form.pattern ^ r.pattern) & r.mask & form.mask == 0;
    if let Some(rule) = rules.iter().find(compatible)
        && rule.bits != form.bits
    {
        report(Problem::Length { bits: form.bits, rule: rule.bits });
    }
}

/// Every pair of forms that can match one word has a winner, and the loser still matches other
/// words.
fn overlaps(forms: &[Form], lines: &[u32], errors: &mut Vec<TableError>) {
    for (j, b) in forms.iter().enumerate() {
        for (i, a) in forms[..j].iter().enumerate() {
            if (a.pattern ^ b.pattern) & a.mask & b.mask != 0 {
                continue;
            }
            let word = a.pattern | b.pattern;
            let (a_inside, b_inside) = (b.mask & !a.mask == 0, a.mask & !b.mask == 0);
            let (a_wins, hidden) = if a.priority != b.priority {
                let a_wins = a.priority > b.priority;
                // The winner hides the other if it matches all of its words and leaves none to it
                // by legal values.
                (a_wins, if a_wins { b_inside } else { a_inside })
            } else {
                (a_inside, false)
            };
            let (winner, loser) = if a_wins { (i, j) } else { (j, i) };
            let plain = forms[winner].fields.iter().all(|f| f.legal.is_empty());
            let undecided = a.priority == b.priority && a_inside == b_inside;
            // An undecided overlap is blamed on the form that came second.
            let (winner, loser) = if undecided { (i, j) } else { (winner, loser) };
            let problem = if undecided {
                Problem::Overlap { other: forms[winner].name.clone(), word }
            } else if hidden && plain && forms[loser].attribute("assembly-only").is_none() {
                Problem::Hidden(forms[winner].name.clone())
            } else {
                continue;
            };
            let form = forms[loser].name.clone();
            errors.push(TableError { line: lines[loser], form, problem });
        }
    }
}
