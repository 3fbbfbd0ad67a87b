//! Variants of the instruction set: what a designer's table changes without building anew.
//!
//! A table has a line for each form that changes, with the columns of `forms.tsv` (name, bits,
//! mask, match, fields); columns that are empty, `-` or left out stay as they are. A sixth column,
//! `terminator=yes` or `terminator=no`, says whether a marker or a stop ends a body. Lines
//! `@cause NAME NUMBER` give causes of traps other numbers.
//!
//! What the machine does is not a variant's: a decoded instruction of a variant becomes the word
//! that it would be in LinxISA, so that all that reads words and fields works as ever.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Mutex, PoisonError};

use isa::{Instruction, Table};

use crate::action::{Action, action};
use crate::encoding::Encoding;
use crate::trap::{CAUSES, TrapNum};

/// The most tables that a process reads: what is read stays.
const MOST: usize = 16;
/// The largest number of a cause, which has 24 bits.
const LARGEST: u32 = (1 << 24) - 1;

/// A variant, as its table says.
pub struct Variant {
    text: String,
    pub(crate) table: Table,
    /// By the index of a form.
    terminators: BTreeMap<usize, bool>,
    causes: BTreeMap<(u8, u32), u32>,
}

impl PartialEq for Variant {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Variant {}

impl Hash for Variant {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::from_ref(self).hash(state);
    }
}

impl fmt::Debug for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Variant").finish_non_exhaustive()
    }
}

/// A mistake in a variant's table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct VariantError {
    /// The line, from 1.
    pub line: u32,
    /// What is wrong.
    pub problem: String,
}

/// What a table says, before it is checked.
#[derive(Default)]
struct Rows<'t> {
    /// The columns of a form and its line, by its name.
    forms: BTreeMap<&'t str, (Vec<&'t str>, u32)>,
    causes: BTreeMap<(u8, u32), u32>,
}

fn wrong(line: u32, problem: impl Into<String>) -> VariantError {
    VariantError { line, problem: problem.into() }
}

impl Variant {
    /// Reads a table; the same text gives the same variant.
    ///
    /// # Errors
    /// The mistakes of the table.
    pub fn read(text: &str) -> Result<&'static Self, Vec<VariantError>> {
        static READ: Mutex<Vec<&'static Variant>> = Mutex::new(Vec::new());
        let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = read.iter().find(|v| v.text == text) {
            return Ok(known);
        }
        if read.len() == MOST {
            let problem = format!("this process has read {MOST} other tables, which is the most");
            return Err(vec![wrong(1, problem)]);
        }
        let variant: &'static Self = Box::leak(Box::new(Self::checked(text)?));
        read.push(variant);
        Ok(variant)
    }

    fn checked(text: &str) -> Result<Self, Vec<VariantError>> {
        let rows = rows(text)?;
        let base = crate::table(Encoding::default());
        let forms = merged(crate::FORMS, &rows);
        let table = crate::build_from(&forms).map_err(|errors| {
            errors.0.iter().map(|e| blamed(e, &forms, &rows)).collect::<Vec<_>>()
        })?;
        let mut found = Vec::new();
        let mut terminators = BTreeMap::new();
        for (index, (old, new)) in base.forms().iter().zip(table.forms()).enumerate() {
            let Some((columns, line)) = rows.forms.get(old.name.as_str()) else { continue };
            let problem = |what: String| wrong(*line, format!("`{}`: {what}", old.name));
            found.extend(fields_differ(old, new).map(problem));
            match columns.get(5).copied().unwrap_or_default() {
                "" | "-" => {}
                _ if !ends(action(index)) => found
                    .push(problem("only block start markers and stops can end a body".to_owned())),
                "terminator=yes" => drop(terminators.insert(index, true)),
                "terminator=no" => drop(terminators.insert(index, false)),
                other => found.push(problem(format!(
                    "column 6 is `{other}`; it is `terminator=yes`, `terminator=no` or empty"
                ))),
            }
        }
        if !found.is_empty() {
            return Err(found);
        }
        Ok(Self { text: text.to_owned(), table, terminators, causes: rows.causes })
    }

    /// The instruction of LinxISA that does what an instruction of this variant does.
    pub(crate) fn plain(&self, found: Instruction) -> Option<Instruction> {
        let old = crate::table(Encoding::default()).form(found.form);
        let mut word = old.pattern;
        for field in &self.table.form(found.form).fields {
            let value = field.extract(found.word);
            word = old.field(&field.name)?.insert(word, value).ok()?;
        }
        Some(Instruction { word, ..found })
    }

    /// Returns whether a form ends a body, if the table says so.
    pub(crate) fn terminator(&self, form: usize) -> Option<bool> {
        self.terminators.get(&form).copied()
    }

    /// The number of a cause, if the table gives it another one.
    pub(crate) fn cause(&self, num: TrapNum, cause: u32) -> Option<u32> {
        self.causes.get(&(num as u8, cause)).copied()
    }
}

/// Returns whether instructions that do this end bodies in LinxISA.
pub(crate) fn ends(action: Action) -> bool {
    matches!(action, Action::Stop | Action::Marker(_) | Action::ReservedTile)
}

fn rows(text: &str) -> Result<Rows<'_>, Vec<VariantError>> {
    let (mut rows, mut found) = (Rows::default(), Vec::new());
    for (line, number) in text.lines().zip(1..) {
        let line = line.trim_end();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let result = match line.strip_prefix('@') {
            Some(rest) => declaration(rest, &mut rows),
            None => form(line, number, &mut rows),
        };
        found.extend(result.err().map(|problem| wrong(number, problem)));
    }
    if found.is_empty() { Ok(rows) } else { Err(found) }
}

fn declaration(text: &str, rows: &mut Rows<'_>) -> Result<(), String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let ["cause", name, number] = words.as_slice() else {
        return Err(format!("`@{text}`: the only declaration is `@cause NAME NUMBER`"));
    };
    let known = CAUSES.iter().find(|(known, ..)| known == name).ok_or_else(|| {
        let names: Vec<&str> = CAUSES.iter().map(|(name, ..)| *name).collect();
        format!("there is no cause `{name}`; there are {}", names.join(", "))
    })?;
    let value = match number.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => number.parse().ok(),
    };
    let value = value
        .filter(|&v| v <= LARGEST)
        .ok_or_else(|| format!("`{number}`: a cause is a number from 0 to {LARGEST:#x}"))?;
    match rows.causes.insert((known.1 as u8, known.2), value) {
        None => Ok(()),
        Some(_) => Err(format!("`{name}` has two numbers")),
    }
}

fn form<'t>(line: &'t str, number: u32, rows: &mut Rows<'t>) -> Result<(), String> {
    let columns: Vec<&str> = line.split('\t').map(str::trim).collect();
    let name = columns[0];
    if crate::table(Encoding::default()).forms().iter().all(|f| f.name != name) {
        return Err(format!(
            "there is no form `{name}`: a table changes forms and adds none, and its columns are \
             separated by tabs"
        ));
    }
    if columns.len() > 6 {
        return Err(format!(
            "`{name}` has {} columns; there are name, bits, mask, match, fields, terminator",
            columns.len()
        ));
    }
    match rows.forms.insert(name, (columns, number)) {
        None => Ok(()),
        Some((_, first)) => Err(format!("`{name}` is in line {first} already")),
    }
}

/// The forms of LinxISA with what a table changes.
fn merged(forms: &str, rows: &Rows<'_>) -> String {
    let line = |line: &str| {
        let mut columns: Vec<&str> = line.split('\t').collect();
        if let Some((changed, _)) = rows.forms.get(columns[0]) {
            let given = |column: &&str| !column.is_empty() && *column != "-";
            for (at, column) in changed.iter().enumerate().skip(1).take(4) {
                if given(column) {
                    columns[at] = column;
                }
            }
        }
        columns.join("\t") + "\n"
    };
    forms.lines().map(line).collect()
}

/// The mistake of a merged table at the line that made it.
fn blamed(error: &isa::table::TableError, forms: &str, rows: &Rows<'_>) -> VariantError {
    let at = (error.line as usize).checked_sub(1).and_then(|at| forms.lines().nth(at));
    let own = at.and_then(|line| rows.forms.get(line.split('\t').next()?));
    let problem = error.problem.to_string();
    let named = || rows.forms.iter().find(|(name, _)| problem.contains(&format!("`{name}`")));
    let line = own.or_else(|| named().map(|(_, row)| row)).map_or(1, |(_, line)| *line);
    wrong(line, format!("`{}`: {problem}", error.form))
}

/// How the fields of a changed form fail to be those that the machine needs.
fn fields_differ(old: &isa::table::Form, new: &isa::table::Form) -> Option<String> {
    for field in &old.fields {
        let Some(moved) = new.field(&field.name) else {
            return Some(format!("the field `{}` is missing", field.name));
        };
        let ((low, high), (from, to)) = (field.range(), moved.range());
        if from < low || to > high {
            return Some(format!(
                "`{}` holds {from} to {to}; the machine takes {low} to {high}",
                field.name
            ));
        }
    }
    let unknown = new.fields.iter().find(|f| old.field(&f.name).is_none())?;
    Some(format!("the machine knows no field `{}` of this form", unknown.name))
}
