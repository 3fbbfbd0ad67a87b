//! The page that names, for each row of the specification's tables, the tests that check it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use linx::names::TILE_OPS;
use linx::{TileOps, table};

/// Test files whose documentation names rows.
const FILES: [(&str, &str); 5] = [
    ("v64_alu", include_str!("v64_alu.rs")),
    ("v64_float", include_str!("v64_float.rs")),
    ("v64_memory", include_str!("v64_memory.rs")),
    ("tiles", include_str!("tiles.rs")),
    ("descriptors", include_str!("descriptors.rs")),
];

/// Block types.
const BLOCKS: [&str; 13] = [
    "BSTART.MPAR",
    "BSTART.MSEQ",
    "BSTART.VPAR",
    "BSTART.VSEQ",
    "BSTART.TLOAD",
    "BSTART.TSTORE",
    "BSTART.TMOV",
    "BSTART.TMATMUL",
    "BSTART.TMATMUL.ACC",
    "BSTART.ACCCVT",
    "BSTART.TEPL",
    "BSTART.FIXP",
    "BSTART.STD/.FP/.SYS",
];

/// Families of 64-bit forms.
const FAMILIES: [&str; 72] = [
    "V.ADD",
    "V.SUB",
    "V.AND",
    "V.OR",
    "V.XOR",
    "V.ADDI",
    "V.SUBI",
    "V.ANDI",
    "V.ORI",
    "V.XORI",
    "V.SLL",
    "V.SRL",
    "V.SRA",
    "V.SLLI / V.SRLI / V.SRAI",
    "V.CMP.EQ",
    "V.CMP.NE",
    "V.CMP.LT",
    "V.CMP.GE",
    "V.CMP.LTU",
    "V.CMP.GEU",
    "V.CMP.EQI",
    "V.CMP.NEI",
    "V.CMP.LTI",
    "V.CMP.GEI",
    "V.CMP.LTUI",
    "V.CMP.GEUI",
    "V.CMP.AND / .OR",
    "V.CMP.ANDI / .ORI",
    "V.CSEL",
    "V.PSEL",
    "V.MUL",
    "V.MADD",
    "V.DIV",
    "V.REM",
    "V.MAX / V.MIN",
    "V.BXU / V.BXS",
    "V.BIC / V.BIS",
    "V.BCNT / V.CLZ / V.CTZ",
    "V.REV",
    "V.FADD",
    "V.FSUB",
    "V.FMUL",
    "V.FDIV",
    "V.FMADD",
    "V.FMSUB",
    "V.FNMADD",
    "V.FNMSUB",
    "V.FSQRT / V.FRECIP / V.FEXP / V.FABS",
    "V.FCLASS",
    "V.FEQ / V.FEQS",
    "V.FNE / V.FNES",
    "V.FLT / V.FLTS",
    "V.FGE / V.FGES",
    "V.FMAX / V.FMIN",
    "V.FCVT / V.FCVTI / V.ICVT / V.ICVTF",
    "V.L{B,BU,H,HU,W,WU,D}",
    "V.L{..}I",
    "V.L{..}I.U",
    "V.S{B,H,W,D}",
    "V.S{H,W,D}.U",
    "V.S{..}I / V.S{..}I.U",
    "*.BRG",
    "(no .BRG)",
    "V.L{W,D}.{ADD,AND,OR,XOR,MAX,MIN}",
    "V.S{W,D}.{ADD,..}",
    "V.SHFL.UP / .DOWN / .IDX",
    "V.SHFL.BFLY",
    "V.SHFLI.UP / .DOWN / .IDX / .BFLY",
    "V.RDADD/AND/OR/XOR/MAX/MIN",
    "V.RDFADD/FMAX/FMIN",
    "V.QPUSH",
    "V.QPOP",
];

/// Rows with their tests, from lines such as "Checks `A`, `B`: ..." above test functions.
fn named() -> BTreeMap<String, BTreeSet<String>> {
    let mut rows: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (file, text) in FILES {
        let mut comment = String::new();
        for line in text.lines() {
            let line = line.trim();
            if let Some(words) = line.strip_prefix("///") {
                comment.push_str(words);
            } else if let Some(rest) = line.strip_prefix("fn ") {
                let test = rest.split('(').next().unwrap_or_default();
                for row in rows_of(&comment) {
                    rows.entry(row).or_default().insert(format!("{file}::{test}"));
                }
                comment.clear();
            } else if !line.starts_with("#[") {
                comment.clear();
            }
        }
    }
    rows
}

fn rows_of(comment: &str) -> Vec<String> {
    let Some(list) = comment.trim().strip_prefix("Checks ") else { return Vec::new() };
    let mut rows = Vec::new();
    let mut rest = list;
    while let Some((row, after)) = rest.strip_prefix('`').and_then(|r| r.split_once('`')) {
        rows.push(row.to_owned());
        match after.strip_prefix(", ") {
            Some(more) => rest = more,
            None => break,
        }
    }
    rows
}

fn page(rows: &BTreeMap<String, BTreeSet<String>>) -> String {
    let mut out = String::from(
        "# LinxISA: rows of the specification and their tests\n\n\
         Generated from the tests of `crates/linx/tests`: which test checks which block type, tile operation and family of\n\
         64-bit forms.\n",
    );
    let tiles: Vec<&str> = TILE_OPS.iter().map(|op| op.name).collect();
    let parts = [
        ("Block types and their descriptors", BLOCKS.to_vec()),
        ("Tile operations", tiles),
        ("64-bit forms", FAMILIES.to_vec()),
    ];
    for (title, names) in parts {
        let _ = write!(out, "\n## {title}\n\n| row | checked by |\n|---|---|\n");
        for name in names {
            let tests = rows.get(name).unwrap_or_else(|| panic!("no test checks {name}"));
            let list: Vec<String> = tests.iter().map(|t| format!("`{t}`")).collect();
            let _ = writeln!(out, "| `{name}` | {} |", list.join(", "));
        }
    }
    out
}

#[test]
fn every_row_is_checked_and_the_page_is_current() {
    let rows = named();
    let known = |name: &str| {
        BLOCKS.contains(&name)
            || FAMILIES.contains(&name)
            || TILE_OPS.iter().any(|op| op.name == name)
    };
    for name in rows.keys() {
        assert!(known(name), "`{name}` is not a row");
    }
    let page = page(&rows);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/linx-rows.md");
    if std::env::var_os("SIMTLAB_BLESS").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let kept = std::fs::read_to_string(path).unwrap_or_default();
    assert!(kept == page, "docs/linx-rows.md is not current: run with SIMTLAB_BLESS=1");
}

/// Every 64-bit form's mnemonic occurs in a text of the tests, or in the names from which they make
/// texts.
#[test]
fn every_64_bit_form_is_executed_by_a_test() {
    let all: String = FILES[..3].iter().map(|(_, text)| *text).collect();
    let made = |name: &str| {
        let stem = name.trim_start_matches("v.").trim_end_matches(".brg").trim_end_matches(".u");
        let access = |s: &str| {
            let stem = s.strip_suffix('i').unwrap_or(s);
            ["lb", "lbu", "lh", "lhu", "lw", "lwu", "ld", "sb", "sh", "sw", "sd"].contains(&stem)
        };
        let compare = |s: &str| {
            let stem = s.strip_suffix('s').unwrap_or(s);
            ["feq", "fne", "flt", "fge"].contains(&stem)
        };
        let atomic = stem.split_once('.').is_some_and(|(access, op)| {
            ["lw", "ld", "sw", "sd"].contains(&access)
                && ["add", "and", "or", "xor", "max", "min"].contains(&op)
        });
        access(stem) || compare(stem) || atomic
    };
    let forms = table(TileOps::V04).forms();
    let mut count = 0;
    for form in forms.iter().filter(|f| f.attribute("context") == Some("body64")) {
        let written =
            all.contains(&format!("{} ", form.name)) || all.contains(&format!("{}.", form.name));
        assert!(written || made(&form.name), "{}", form.name);
        count += 1;
    }
    assert_eq!(count, 184);
}
