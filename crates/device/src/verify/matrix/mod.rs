//! The matrix suite: every form of `mma`, each a case of its own, and beside it probes of how sums
//! are made ([`sums`]).
//!
//! Each block is one warp and one product of matrices of random values whose exponents are spread
//! over [`SPREAD`] steps: what is lost when terms are aligned, in which blocks products are added,
//! and how sums are rounded shows in the last bits.

mod sums;
mod wgmma;

use std::fmt::Write as _;
use std::path::Path;

use inputs::{Array, ElemType, npy};

use super::arithmetic::values::random;
use super::arithmetic::{header, loads};
use super::{Case, Kind, Suite, VerifyError, at};
use crate::compare::Comparison;
use crate::record::{Identity, RunRecord};

/// Products of a case: blocks of one warp.
const PRODUCTS: usize = 64;

/// Registers of a table of operands. A power of two.
const ROWS: usize = 4096;

/// What names of cases that probe sums end with.
const SUMS: &str = "-sums";

/// Exponents of operands.
const SPREAD: u64 = 12;

/// What a case is worth, beside those of other suites.
const WORTH: u32 = 90;

/// Floats in registers of operands: the type's word, bits of an element, of its fraction, and the
/// least biased exponent.
const FLOATS: [(&str, u32, u32, u64); 7] = [
    ("f16", 16, 10, 9),
    ("bf16", 16, 7, 121),
    ("tf32", 32, 23, 121),
    ("e4m3", 8, 3, 1),
    ("e5m2", 8, 2, 9),
    ("f32", 32, 23, 121),
    ("f64", 64, 52, 1017),
];

/// One list of registers of an instruction.
struct Fragment {
    /// The type that the registers are declared with.
    ty: String,
    count: usize,
    /// The type of the elements.
    element: String,
}

impl Fragment {
    fn bytes(&self) -> usize {
        if self.ty == "f64" { 8 } else { 4 }
    }

    /// The type that results are compared as, and how many of it a register holds. Pairs of half
    /// precision are compared as floats, so that distances are in ulp.
    fn elements(&self) -> (&str, usize) {
        match (self.element.as_str(), self.bytes()) {
            ("f16", 4) => ("f16", 2),
            (element @ ("f32" | "f64" | "s32"), _) => (element, 1),
            _ => ("b32", 1),
        }
    }
}

pub(super) fn cases(folder: &Path, device: &Identity) -> Result<Vec<Case>, VerifyError> {
    let folder = folder.join("cases").join("matrix");
    std::fs::create_dir_all(&folder).map_err(at(&folder))?;
    let header = header(device);
    let forms = ptx::testing::instructions_of("mma").into_iter().map(|(_, text)| text);
    let (mut cases, mut sums): (Vec<Case>, Vec<Case>) = Default::default();
    for text in forms {
        let Some((head, fragments)) = read(&text) else { continue };
        for selector in selectors(&text) {
            let product = Product { head, fragments: &fragments, selector };
            let program = header.clone() + &product.kernel();
            let name = format!("matrix-{:03}", cases.len());
            if !loads(&program) || cases.iter().any(|case| case.parts == [product.name()]) {
                continue;
            }
            cases.push(product.write(&folder, &name, &program)?);
            if selector.is_none()
                && let Some(program) = sums::program(&header, head, &fragments)
            {
                let name = format!("{name}{SUMS}");
                sums.extend(sums::write(&folder, &name, head, &program, &fragments)?);
            }
        }
    }
    cases.append(&mut sums);
    cases.extend(wgmma::cases(&folder, device)?);
    Ok(cases)
}

/// The product whose sums a case probes: the name of an `mma`, and its lists of registers.
fn probed(case: &Case) -> Option<(String, [Fragment; 4])> {
    if let Some(of_a_warp) = wgmma::probed(case) {
        return Some(of_a_warp);
    }
    let head = case.parts.first().filter(|_| case.name.ends_with(SUMS))?;
    let mut forms = ptx::testing::instructions_of("mma").into_iter().map(|(_, text)| text);
    let text = forms.find(|text| text.split(' ').next() == Some(head.as_str()))?;
    let (head, fragments) = read(&text)?;
    Some((head.to_owned(), fragments))
}

/// What the probes of a case tell of the device, and of ours where that is something else.
pub(super) fn notes(case: &Case, record: &RunRecord, comparison: &Comparison) -> Vec<String> {
    let Some((head, fragments)) = probed(case) else { return Vec::new() };
    let device = record.buffers.iter().find(|b| b.name == "r");
    let ours = comparison.buffers.iter().find(|b| b.name == "r");
    let (Some(device), Some(ours)) = (device, ours) else { return Vec::new() };
    let told = sums::meaning(&head, &fragments, &device.contents);
    let ours = sums::meaning(&head, &fragments, ours.ours());
    let both = told.into_iter().zip(ours);
    let lines = both.map(
        |(told, ours)| {
            if told == ours { told } else { format!("device: {told}; ours: {ours}") }
        },
    );
    case.parts.iter().take(1).cloned().chain(lines).collect()
}

/// The name of an instruction, and its lists of registers: D, A, B, C.
fn read(text: &str) -> Option<(&str, [Fragment; 4])> {
    let (head, operands) = text.split_once(' ')?;
    let types =
        ["f16", "bf16", "tf32", "e4m3", "e5m2", "f32", "f64", "s32", "s8", "u8", "s4", "u4", "b1"];
    let mut elements = head.split('.').filter(|word| types.contains(word));
    let mut lists = operands.split('{').skip(1).map(|list| list.split('}').next().unwrap_or(""));
    let mut next = || {
        let registers: Vec<&str> = lists.next()?.split(", ").collect();
        let ty = registers.first()?.strip_prefix('%')?.rsplit_once('_')?.0.to_owned();
        Some(Fragment { ty, count: registers.len(), element: elements.next()?.to_owned() })
    };
    Some((head, [next()?, next()?, next()?, next()?]))
}

/// Of a product with a sparse left factor, the selectors of lanes with metadata that are probed:
/// the first and the last one. A dense one has none.
fn selectors(text: &str) -> Vec<Option<u32>> {
    let tail = text.rsplit('}').next().unwrap_or("").trim_end_matches(';');
    match tail.rsplit(", ").next().and_then(|last| last.parse().ok()) {
        None => vec![None],
        Some(0) => vec![Some(0)],
        Some(last) => vec![Some(0), Some(last)],
    }
}

/// A product that is probed.
struct Product<'a> {
    /// The instruction's name.
    head: &'a str,
    fragments: &'a [Fragment; 4],
    /// The selector of lanes with metadata, if the left factor is sparse.
    selector: Option<u32>,
}

impl Product<'_> {
    /// The instruction with its selector.
    fn name(&self) -> String {
        let head = self.head;
        self.selector.map_or_else(|| head.to_owned(), |n| format!("{head}, selector {n}"))
    }

    /// The file of metadata: words of codes, each of which says where two elements of a row are.
    fn metadata(&self) -> Option<(&'static str, &'static [u64])> {
        self.selector?;
        Some(match self.fragments[1].element.as_str() {
            "tf32" => ("metadata-tf32.npy", &[0x4, 0xe]),
            _ => ("metadata.npy", &[0x4, 0x8, 0xc, 0x9, 0xd, 0xe]),
        })
    }
}

/// Random words of codes of four bits.
fn metadata(codes: &[u64]) -> Array {
    let mut state = 3;
    let mut word = || {
        let bits = random(&mut state);
        let code = |n: u32| codes[(bits >> (8 * n) & 0xff) as usize % codes.len()];
        (0..8).fold(0, |word, n| word | code(n) << (4 * n))
    };
    let bits: Vec<u64> = (0..ROWS).map(|_| word()).collect();
    Array::from_bits(ElemType::U32, &bits)
}

impl Product<'_> {
    /// The kernel of an instruction. Register `j` of list `i` of a thread is a row of the list's
    /// table.
    fn kernel(&self) -> String {
        let Self { head, fragments, selector } = self;
        let mut out = String::from(
            "\n.visible .entry k(.param .u64 p_0, .param .u64 p_1, .param .u64 p_2, \
         .param .u64 p_3, .param .u64 p_4)\n{\n",
        );
        for (list, fragment) in fragments.iter().enumerate() {
            let _ = writeln!(out, "  .reg .{} %x{list}_<{}>;", fragment.ty, fragment.count);
        }
        out += "  .reg .u32 %z, %zt; .reg .u64 %za, %zx;\n  \
            mov.u32 %zt, %ctaid.x; mov.u32 %z, %tid.x;\n  \
            mad.lo.u32 %zt, %zt, 32, %z;\n";
        for (list, fragment) in fragments.iter().enumerate().skip(1) {
            let (bytes, bits) = (fragment.bytes(), 8 * fragment.bytes());
            for register in 0..fragment.count {
                let start = 7919 * list + 613 * register;
                let _ = writeln!(
                    out,
                    "  mad.lo.u32 %z, %zt, 31, {start}; and.b32 %z, %z, {};\n  \
                 ld.param.u64 %za, [p_{list}];\n  \
                 mul.wide.u32 %zx, %z, {bytes}; add.u64 %zx, %zx, %za;\n  \
                 ld.global.b{bits} %x{list}_{register}, [%zx];",
                    ROWS - 1
                );
            }
        }
        let lists: Vec<String> = fragments
            .iter()
            .enumerate()
            .map(|(list, fragment)| {
                let registers: Vec<String> =
                    (0..fragment.count).map(|register| format!("%x{list}_{register}")).collect();
                format!("{{{}}}", registers.join(", "))
            })
            .collect();
        let sparse = selector.map_or_else(String::new, |selector| {
            let _ = writeln!(
                out,
                "  .reg .b32 %xm; mad.lo.u32 %z, %zt, 31, 4441; and.b32 %z, %z, {};\n  \
             ld.param.u64 %za, [p_4]; mul.wide.u32 %zx, %z, 4; add.u64 %zx, %zx, %za;\n  \
             ld.global.b32 %xm, [%zx];",
                ROWS - 1
            );
            format!(", %xm, {selector}")
        });
        let _ = writeln!(out, "  {head} {}{sparse};", lists.join(", "));
        let [results, ..] = fragments;
        let (bytes, bits) = (results.bytes(), 8 * results.bytes());
        let _ = writeln!(
            out,
            "  ld.param.u64 %za, [p_0]; mul.wide.u32 %zx, %zt, {}; add.u64 %zx, %zx, %za;",
            results.count * bytes
        );
        for register in 0..results.count {
            let _ =
                writeln!(out, "  st.global.b{bits} [%zx+{}], %x0_{register};", register * bytes);
        }
        out + "  ret;\n}\n"
    }

    /// Writes the case.
    fn write(&self, folder: &Path, name: &str, program: &str) -> Result<Case, VerifyError> {
        let fragments = self.fragments;
        let mut tables = Vec::new();
        for fragment in &fragments[1..] {
            let table = format!("{}-{}.npy", fragment.element, fragment.bytes());
            let path = folder.join(&table);
            if !path.exists() {
                npy::save(&path, &rows(fragment)).map_err(at(&path))?;
            }
            tables.push(table);
        }
        // A dense product reads no metadata.
        let (table, codes) = self.metadata().unwrap_or(("metadata.npy", &[0x4]));
        let path = folder.join(table);
        if !path.exists() {
            npy::save(&path, &metadata(codes)).map_err(at(&path))?;
        }
        tables.push(table.to_owned());
        let results = &fragments[0];
        let launch = OneLaunch { program, tables, results, blocks: PRODUCTS, threads: 32 };
        launch.write(folder, name, self.name(), self.name())
    }
}

/// The launch of a case: of a kernel `k` that takes the results' buffer and those of the tables.
struct OneLaunch<'a> {
    program: &'a str,
    /// Files of the tables, in the case's folder.
    tables: Vec<String>,
    /// What each thread stores.
    results: &'a Fragment,
    blocks: usize,
    threads: usize,
}

impl OneLaunch<'_> {
    /// Writes the case: its program and its launch file. `label` is what the results stand for,
    /// `part` the instruction.
    fn write(
        &self,
        folder: &Path,
        name: &str,
        label: String,
        part: String,
    ) -> Result<Case, VerifyError> {
        let Self { program, tables, results, blocks, threads } = self;
        let (mut buffers, mut args) = (String::new(), String::from("\"&r\""));
        for (number, table) in (1..).zip(tables) {
            let _ = writeln!(buffers, "t{number} = \"@{table}\"");
            let _ = write!(args, ", \"&t{number}\"");
        }
        let (ty, halves) = results.elements();
        let toml = format!(
            "schema = 1\nmachine = \"ptx\"\nmodule = \"{name}.ptx\"\n\n[buffers]\n{buffers}\
             r = \"{ty}[{blocks},{threads},{}]:zeros\"\n\n[[launch]]\nkernel = \"k\"\n\
             grid = [{blocks}]\nblock = [{threads}]\nargs = [{args}]\n",
            results.count * halves
        );
        let (text, launch_file) =
            (folder.join(format!("{name}.ptx")), folder.join(format!("{name}.toml")));
        std::fs::write(&text, program).map_err(at(&text))?;
        std::fs::write(&launch_file, toml).map_err(at(&launch_file))?;
        Ok(Case {
            name: name.to_owned(),
            suite: Suite::Matrix,
            kind: Kind::Compared,
            value: WORTH,
            launch_file,
            labels: vec![("r".to_owned(), label)],
            parts: vec![part],
        })
    }
}

/// Registers of random elements.
fn rows(fragment: &Fragment) -> Array {
    let float = FLOATS.iter().find(|(ty, ..)| *ty == fragment.element);
    let mut state = 1;
    let mut register = || {
        let bits = random(&mut state);
        let Some((_, width, fraction, least)) = float else { return bits };
        (0..64 / width).fold(0, |register, element| {
            let kept = 1 << (width - 1) | ((1 << fraction) - 1);
            let exponent = least + (random(&mut state) >> 40) % SPREAD;
            let value = bits >> (element * width) & kept | exponent << fraction;
            register | value << (element * width)
        })
    };
    let (ty, mask) = match fragment.bytes() {
        8 => (ElemType::U64, u64::MAX),
        _ => (ElemType::U32, u64::from(u32::MAX)),
    };
    let bits: Vec<u64> = (0..ROWS).map(|_| register() & mask).collect();
    Array::from_bits(ty, &bits)
}
