//! Conformance tables: vectors in tab-separated text, run against the assembler, the disassembler
//! and the machine.
//!
//! The first line names the columns and thereby the kind of table:
//!
//! | first column | table | checks |
//! |---|---|---|
//! | `asm` | text, `.insn` line, word | both assemble to the word, and it disassembles back |
//! | `word` | word, reason | the word traps as illegal, with `mtval` = word and nothing changed |
//! | `id` | one instruction: state before, state after, trap | see below |
//!
//! Columns of a semantic row: id, mnemonic, banks (bank 0 included), VL (0 for unset), b (`-` for
//! none), P0 before, bank before, rs1, rs2, P0 after, bank after, rd (`-` for not written), trap
//! cause (`-` for none), basis. rs1 is a1, rs2 is a2, rd is a0 with a sentinel in it. For bank 0,
//! or a bank that does not exist, the bank columns are not state: those of bank 0 say what it reads
//! as.

use isa::FileId;
use isa::testing::Rng;
use simt::machine::{Machine, Step};
use simt::memory::Addr;

use crate::asm::assemble;
use crate::config::Config;
use crate::machine::{Launch, Pmask, RAM_BASE};
use crate::program::Program;
use crate::state::State;
use crate::table::dialect;
use crate::trap::{StopCause, TrapCause};

/// The vectors that come with the crate, by name.
pub const TABLES: &[(&str, &str)] = &[
    ("encoding_vectors", include_str!("../tests/vectors/encoding_vectors.tsv")),
    ("semantic_vectors", include_str!("../tests/vectors/semantic_vectors.tsv")),
    ("illegal_vectors", include_str!("../tests/vectors/illegal_vectors.tsv")),
];

/// The outcome of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Rows that passed.
    pub passed: usize,
    /// Rows that failed: the row's name, and why.
    pub failed: Vec<(String, String)>,
}

impl Report {
    /// One line a failing row, then `N passed, M failed`.
    #[must_use]
    pub fn render(&self) -> String {
        let rows = self.failed.iter().map(|(row, why)| format!("{row}: {why}\n"));
        let rows: String = rows.collect();
        format!("{rows}{} passed, {} failed\n", self.passed, self.failed.len())
    }

    fn row(&mut self, name: &str, result: Result<(), String>) {
        match result {
            Ok(()) => self.passed += 1,
            Err(why) => self.failed.push((name.to_owned(), why)),
        }
    }
}

/// Runs all rows of a table under these options; the banks of semantic rows are the rows' own.
///
/// # Errors
/// If the first line is not that of a table.
pub fn conform(table: &str, config: &Config) -> Result<Report, String> {
    let mut lines = table.lines().filter(|l| !l.trim().is_empty() && !l.starts_with("# "));
    let header = lines.next().unwrap_or_default();
    let row: fn(&[&str], &Config) -> Result<(), String> = match header.split('\t').next() {
        Some("asm") => |row, _| encoding(row),
        Some("word") => illegal,
        Some("id") => semantic,
        _ => {
            let message = "the first line names no table: it starts with `asm`, `word` or `id`";
            return Err(message.to_owned());
        }
    };
    let mut report = Report::default();
    for line in lines {
        let columns: Vec<&str> = line.split('\t').map(str::trim).collect();
        report.row(columns.first().copied().unwrap_or_default(), row(&columns, config));
    }
    Ok(report)
}

fn number(text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| format!("`{text}` is not a number"))
}

fn column<'a>(row: &[&'a str], index: usize) -> Result<&'a str, String> {
    row.get(index).copied().ok_or_else(|| format!("column {} is missing", index + 1))
}

/// The word that a statement assembles to, far from both ends of memory.
fn word_of(text: &str) -> Result<u64, String> {
    let source = format!(".org {RAM_BASE:#x}\n{text}\n");
    let image = assemble(FileId::default(), &source).map_err(|found| {
        let message = found.iter().next().map_or("", |d| d.message.as_str());
        format!("`{text}`: {message}")
    })?;
    let bytes = image.bytes_at(RAM_BASE).unwrap_or_default();
    Ok(isa::decode::window(bytes).0)
}

fn encoding(row: &[&str]) -> Result<(), String> {
    let (text, insn) = (column(row, 0)?, column(row, 1)?);
    let word = number(column(row, 2)?)?;
    let got = word_of(text)?;
    if got != word {
        return Err(format!("assembles to {got:#010x}, not {word:#010x}"));
    }
    let by_insn = word_of(insn)?;
    if by_insn != word {
        return Err(format!("`{insn}` assembles to {by_insn:#010x}, not {word:#010x}"));
    }
    let decoded = dialect().table.decode(word, 32).map_err(|e| e.to_string())?;
    let printed = dialect().print(decoded, RAM_BASE);
    let again = word_of(&printed)?;
    if again != word {
        return Err(format!("disassembles to `{printed}`, which is {again:#010x}"));
    }
    Ok(())
}

/// The machine with one instruction at its start.
fn with_word(word: u64, config: Config) -> Result<(Pmask, Program, State), String> {
    let word = u32::try_from(word).map_err(|_| format!("{word:#x} has more than 32 bits"))?;
    let machine = Pmask { config };
    let program = Program { entry: RAM_BASE, ..Program::default() };
    let launch = Launch { ram: 4096, ..Launch::default() };
    let mut state = machine.launch(&program, launch).map_err(|e| e.to_string())?;
    let written = state.memory.host_write(Addr(RAM_BASE), &word.to_le_bytes());
    written.map_err(|e| e.to_string())?;
    Ok((machine, program, state))
}

/// Steps once; returns the trap, if there is one.
fn step(
    machine: &Pmask,
    program: &Program,
    state: &mut State,
) -> Result<Option<(TrapCause, u64)>, String> {
    match machine.run_unobserved(program, state, 1) {
        Step::Issued => Ok(None),
        Step::Fault(fault) => match fault.cause {
            StopCause::Trap { trap, .. } => Ok(Some((trap.cause, trap.value))),
            other => Err(other.to_string()),
        },
        other => Err(format!("{other:?}")),
    }
}

fn illegal(row: &[&str], config: &Config) -> Result<(), String> {
    let word = number(column(row, 0)?)?;
    let (machine, program, mut state) = with_word(word, *config)?;
    let mut rng = Rng::new(word);
    for i in 1..32 {
        state.set_x(i, rng.bits());
    }
    let before = state.clone();
    match step(&machine, &program, &mut state)? {
        Some((TrapCause::Illegal, value)) if value == word => {}
        Some((TrapCause::Illegal, value)) => return Err(format!("mtval is {value:#x}")),
        other => return Err(format!("{other:?} instead of an illegal-instruction trap")),
    }
    let same = (before.x, before.masks, before.rsv) == (state.x, state.masks, state.rsv);
    if same { Ok(()) } else { Err("the state has changed".to_owned()) }
}

/// Returns the operands of a mnemonic in a semantic row: a bank, an rd, an rs1, an rs2.
fn statement(mnemonic: &str, bank: &str) -> String {
    let reads = ["pmlow.rd", "pmhigh.rd", "pmany", "pmnone", "pmall", "pmpopcnt"];
    let writes = ["pmlow.wr", "pmhigh.wr", "pmand", "pmor", "pmxor", "pmandn"];
    match mnemonic {
        "pmmov.p0" => "pmmov.p0 a0".to_owned(),
        "psel" => "psel a0, a1, a2".to_owned(),
        "pmmov.to_p0" if bank == "-" => "pmmov.to_p0 a1".to_owned(),
        "pmmov.to_p0" => format!("pmmov.to_p0 {bank}, a1"),
        _ if mnemonic.starts_with("pcmp.") || mnemonic == "ptestnz" => {
            format!("{mnemonic} a1, a2")
        }
        _ if reads.contains(&mnemonic) => format!("{mnemonic} {bank}, a0"),
        _ if writes.contains(&mnemonic) => format!("{mnemonic} {bank}, a1"),
        _ => format!("{mnemonic} {bank}"),
    }
}

fn semantic(row: &[&str], config: &Config) -> Result<(), String> {
    const SENTINEL: u64 = 0x5e47_1e15_0bad_cafe;
    let at = |index| column(row, index);
    let value = |index| match at(index)? {
        "-" => Ok(None),
        text => number(text).map(Some),
    };
    let byte = |index| -> Result<u8, String> {
        u8::try_from(value(index)?.unwrap_or(0)).map_err(|_| "does not fit a byte".to_owned())
    };
    let banks = byte(2)?;
    if !(1..=4).contains(&banks) {
        return Err(format!("{banks} banks; there are 1 to 4"));
    }
    let (bank, vl) = (byte(4)?, byte(3)?);
    let config = Config { banks, vl, ..*config };
    let text = statement(at(1)?, at(4)?);
    let (machine, program, mut state) = with_word(word_of(&text)?, config)?;
    let programmable = bank > 0 && bank < banks;
    state.masks.p0 = value(5)? == Some(1);
    if programmable {
        state.set_bank(bank, value(6)?.unwrap_or(0));
    }
    state.set_x(10, SENTINEL);
    state.set_x(11, value(7)?.unwrap_or(0));
    state.set_x(12, value(8)?.unwrap_or(0));
    let before = state.masks;
    let trap = step(&machine, &program, &mut state)?;
    let expect = |what: &str, got: u64, want: u64| {
        if got == want {
            Ok(())
        } else {
            Err(format!("`{text}`: {what} is {got:#x}, not {want:#x}"))
        }
    };
    expect("the trap", trap.map_or(0, |t| t.0.number()), value(12)?.unwrap_or(0))?;
    expect("P0", state.masks.p0.into(), value(9)?.unwrap_or(0))?;
    expect("rd", state.x[10], value(11)?.unwrap_or(SENTINEL))?;
    if let Some(want) = value(10)?
        && (programmable || bank == 0)
    {
        expect("the bank", state.bank(bank), want)?;
    }
    // The banks that the instruction does not name.
    for (other, (was, is)) in (1u8..).zip(before.banks.into_iter().zip(state.masks.banks)) {
        if other != bank || trap.is_some() {
            expect("another bank", is, was)?;
        }
    }
    Ok(())
}
