//! Conformance tables: tab-separated; the columns named in the first line identify the kind.
//!
//! The rows of each kind of table, by its columns:
//!
//! - `op`, `imm`, `rs1_or_old_rd`, `rs2`, `result`: one lane of an instruction; hexadecimal, `imm`
//!   decimal, binary32 as bits.
//! - `reference syntax line`, `canonical_word`: a line and the word it assembles to, both ways.
//! - `id`, `threads_per_block`, `blocks`, `load_address`, `words`, `assembly (...`,
//!   `initial_memory`, `expected_nonzero_words_in_10000000_1fffffff`: a program, its words, and its
//!   results in memory.
//! - `trace`, `threads`, `config`, `total_cycles`, `load_address`, `words`, `assembly (...`: a
//!   program, its words, and its cycles.
//! - `trace`, `warp`, `pc`, `occurrence`, `fetch_req` ... `wb`: the cycle of each stage of an
//!   instruction of such a program.
//!
//! Columns may stand in any order, and there may be others. In programs, statements are separated
//! by `;` and memory is `address=word ...`, all other words zero.

mod timing;

use std::collections::BTreeMap;

use isa::FileId;
use isa::conform::{Case, Report};
use simt::machine::{Machine, Step};
use simt::memory::{Addr, MemoryMap, Permission, Width};

use crate::config::Profile;
use crate::exec::lane_wise;
use crate::image::Words;
use crate::launch::Launch;
use crate::machine::Prf;
use crate::op::Op;
use crate::program::Program;
use crate::syntax::{assemble, dialect};

/// The tables that come with the machine, by name.
pub const TABLES: [(&str, &str); 5] = [
    ("alu-vectors", include_str!("../../tests/data/alu-vectors.tsv")),
    ("asm-vectors", include_str!("../../tests/data/asm-vectors.tsv")),
    ("program-vectors", include_str!("../../tests/data/program-vectors.tsv")),
    ("timing-programs", TIMING_PROGRAMS),
    ("timing-traces", TIMING_TRACES),
];
const TIMING_PROGRAMS: &str = include_str!("../../tests/data/timing-programs.tsv");
const TIMING_TRACES: &str = include_str!("../../tests/data/timing-traces.tsv");

pub use timing::{TimingTable, is_timing};

/// Instructions after which a program that has not ended fails.
const LIMIT: u64 = 10_000_000;
/// The range in which results are expected, and inputs may lie.
const HEAP: (u64, u64) = (0x1000_0000, 0x2000_0000);

/// A row, by column name.
pub(crate) struct Row<'a> {
    header: Vec<&'a str>,
    columns: Vec<&'a str>,
}

impl<'a> Row<'a> {
    /// Returns the column of this name or, for names that end in `(`, the column whose name starts
    /// with it.
    pub(crate) fn get(&self, name: &str) -> Result<&'a str, String> {
        let same = |h: &&str| **h == *name || name.ends_with('(') && h.starts_with(name);
        let at = self.header.iter().position(same);
        let column = at.and_then(|i| self.columns.get(i));
        column.copied().ok_or_else(|| format!("the row has no column `{name}`"))
    }

    /// The first columns, for messages.
    pub(crate) fn fact(&self, columns: usize) -> String {
        let fact = self.columns.iter().take(columns).copied().collect::<Vec<_>>().join(" ");
        fact.chars().take(80).collect()
    }

    pub(crate) fn number(&self, name: &str) -> Result<u32, String> {
        let text = self.get(name)?;
        let parsed = match text.strip_prefix("0x") {
            Some(hex) => u32::from_str_radix(hex, 16),
            None => text.parse(),
        };
        parsed.map_err(|_| format!("`{text}` in `{name}` is not a number"))
    }
}

/// Rows with their numbers.
type Rows<'a> = Vec<(Row<'a>, u32)>;

/// The header and the rows of a table; none if it is empty.
fn rows(table: &str) -> Option<(Vec<&str>, Rows<'_>)> {
    let mut lines = table.lines().zip(1u32..).filter(|(l, _)| !l.is_empty() && !l.starts_with('#'));
    let header: Vec<&str> = lines.next()?.0.split('\t').map(str::trim).collect();
    let mut rows = Vec::new();
    for (line, number) in lines {
        let columns = line.split('\t').map(str::trim).collect();
        rows.push((Row { header: header.clone(), columns }, number));
    }
    Some((header, rows))
}

/// Checks every row of a table; `beside` is the other table where two belong together.
#[must_use]
pub fn conform(table: &str, beside: Option<&str>) -> Report {
    let mut report = Report::default();
    let Some((header, rows)) = rows(table) else { return report };
    match is_timing(table) {
        Some(TimingTable::Programs) => return timing::programs(table, beside.unwrap_or("")),
        Some(TimingTable::Traces) => return timing::traces(beside.unwrap_or(""), table),
        None => {}
    }
    let check: fn(&Row<'_>) -> Result<(), String> = match header.first() {
        Some(&"op") => alu,
        Some(&"reference syntax line") => assembly,
        Some(&"id") => program,
        _ => {
            let failure = Some("the first line names the columns of no table known".to_owned());
            report.cases.push(Case { line: 1, fact: String::new(), failure });
            return report;
        }
    };
    for (row, line) in rows {
        report.cases.push(Case { line, fact: row.fact(2), failure: check(&row).err() });
    }
    report
}

/// A table of those that come with the machine, checked.
#[must_use]
pub fn conform_own(name: &str, table: &str) -> Report {
    let beside = match name {
        "timing-programs" => Some(TIMING_TRACES),
        "timing-traces" => Some(TIMING_PROGRAMS),
        _ => None,
    };
    conform(table, beside)
}

fn hex(text: &str) -> Result<u32, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    u32::from_str_radix(digits, 16).map_err(|_| format!("`{text}` is not a hexadecimal word"))
}

fn alu(row: &Row<'_>) -> Result<(), String> {
    let name = row.get("op")?;
    let found = Op::ALL.iter().find(|(_, n, _)| *n == name);
    let (op, ..) = *found.ok_or_else(|| format!("there is no instruction `{name}`"))?;
    let operand = |name| match row.get(name)? {
        "" => Ok(0),
        text => hex(text),
    };
    let (a, b) = (operand("rs1_or_old_rd")?, operand("rs2")?);
    let imm = match row.get("imm")? {
        "" => 0,
        text => match text.strip_prefix("0x") {
            Some(digits) => i32::from_str_radix(digits, 16),
            None => text.parse(),
        }
        .map_err(|_| format!("`{text}` is not an immediate"))?,
    };
    same(lane_wise(op, a, b, imm), hex(row.get("result")?)?)
}

fn same(got: u32, expected: u32) -> Result<(), String> {
    if got == expected { Ok(()) } else { Err(format!("{got:08x}, not {expected:08x}")) }
}

/// Assembles a text at an address with the default profile.
fn words_of(text: &str, at: u32) -> Result<Words, String> {
    let source = format!(".org {at:#x}\n{text}\n");
    let encoding = Profile::default().config().encoding;
    let image = assemble(encoding, FileId::default(), &source).map_err(|errors| {
        let first = errors.iter().next().map_or("", |d| d.message.as_str());
        format!("does not assemble: {first}")
    })?;
    Ok(Words::assembled(&image))
}

fn assembly(row: &Row<'_>) -> Result<(), String> {
    let (text, word) = (row.get("reference syntax line")?, hex(row.get("canonical_word")?)?);
    let at = 0x1000;
    let assembled = |text: &str| -> Result<u32, String> {
        words_of(text, at)?.0.get(&at).copied().ok_or_else(|| "assembles to nothing".to_owned())
    };
    same(assembled(text)?, word)?;
    // And back: what the word disassembles to assembles to the word.
    let dialect = dialect(Profile::default().config().encoding);
    let found = dialect.table.decode_bytes(&word.to_le_bytes()).map_err(|e| e.to_string())?;
    same(assembled(&dialect.print(found, at.into()))?, word)
}

/// `address=word` pairs.
fn memory_of(text: &str) -> Result<BTreeMap<u32, u32>, String> {
    let pair = |text: &str| -> Result<(u32, u32), String> {
        let (at, word) =
            text.split_once('=').ok_or_else(|| format!("`{text}` is not an address=word"))?;
        Ok((hex(at)?, hex(word)?))
    };
    text.split_whitespace().map(pair).collect()
}

/// The words of a row, checked against its assembly text.
pub(crate) fn program_words(row: &Row<'_>) -> Result<Words, String> {
    let at = row.number("load_address")?;
    let listed: Vec<u32> =
        row.get("words")?.split_whitespace().map(hex).collect::<Result<_, _>>()?;
    let listed: BTreeMap<u32, u32> = (at..).step_by(4).zip(listed).collect();
    let column = if row.get("assembly (").is_ok() { "assembly (" } else { "assembly" };
    let ours = words_of(&statements(row.get(column)?), at)?.0;
    let differs = |(&at, &word): (&u32, &u32)| {
        let got = ours.get(&at).copied();
        (got != Some(word)).then(|| match got {
            Some(got) => format!("the text assembles to {got:08x} at {at:#x}, not {word:08x}"),
            None => format!("the text assembles to nothing at {at:#x}"),
        })
    };
    if let Some(difference) = listed.iter().find_map(differs) {
        return Err(difference);
    }
    if ours.len() > listed.len() {
        return Err(format!("the text assembles to {} words, not {}", ours.len(), listed.len()));
    }
    Ok(Words(listed))
}

/// Splits a program into statements, one a line. In these tables, a statement without packet bits
/// starts and ends a packet.
fn statements(text: &str) -> String {
    let line = |statement: &str| {
        let statement = statement.trim();
        let whole = statement.contains('!') || statement.is_empty() || statement.ends_with(':');
        if whole { format!("{statement}\n") } else { format!("{statement} !1,1\n") }
    };
    text.split(';').map(line).collect()
}

/// Maps the memory that programs of tables may use.
fn heap(memory: &mut MemoryMap) -> Result<(), String> {
    let (base, length) = HEAP;
    let mapped = memory.map_at("heap", Addr(base), length, Permission::ReadWrite);
    mapped.map(|_| ()).map_err(|e| e.to_string())
}

fn program(row: &Row<'_>) -> Result<(), String> {
    let words = program_words(row)?;
    let machine = Prf { config: Profile::default().config() };
    let program = Program::new(&words, machine.config).map_err(|e| e.to_string())?;
    let mut memory = MemoryMap::new();
    heap(&mut memory)?;
    for (at, word) in memory_of(row.get("initial_memory")?)? {
        memory.store(Addr(at.into()), Width::B4, word.into()).map_err(|e| e.to_string())?;
    }
    let expected = memory_of(row.get("expected_nonzero_words_in_10000000_1fffffff")?)?;
    let (threads, blocks) = (row.number("threads_per_block")?, row.number("blocks")?);
    let (total, argument, entry) = (None, 0, None);
    let launch = Launch { threads, blocks, total, argument, entry, memory };
    let mut state = machine.launch(&program, launch).map_err(|e| e.to_string())?;
    match machine.run_unobserved(&program, &mut state, LIMIT) {
        Step::Done => {}
        Step::Fault(fault) => return Err(fault.to_string()),
        Step::Issued | Step::Hang(_) => return Err(format!("no end after {LIMIT} instructions")),
    }
    if !machine.slots(&state).identity_holds() {
        return Err("the lane slots do not add up".to_owned());
    }
    left(&state.memory, &expected)
}

/// Checks that memory up to `0x1fff_ffff` holds these words and zeros elsewhere.
pub(crate) fn left(memory: &MemoryMap, expected: &BTreeMap<u32, u32>) -> Result<(), String> {
    for (&at, &word) in expected {
        let got = memory.load(Addr(at.into()), Width::B4).map_err(|e| e.to_string())?;
        same(got as u32, word).map_err(|e| format!("at {at:#x}: {e}"))?;
    }
    // Stores of these programs stay near their results.
    let mut bytes = [0; 0x1_0000];
    for base in (HEAP.0..0x1400_0000).step_by(bytes.len()) {
        if memory.read_bytes(Addr(base), &mut bytes).is_err() || bytes.iter().all(|&b| b == 0) {
            continue;
        }
        for (at, word) in (base..).step_by(4).zip(bytes.chunks_exact(4)) {
            let word = isa::decode::window(word).0 as u32;
            // The range lies below 4 GiB.
            if word != 0 && !expected.contains_key(&(at as u32)) {
                return Err(format!("at {at:#x}: {word:08x}, not 0"));
            }
        }
    }
    Ok(())
}
