//! A kernel around one instruction.

use std::fmt::Write as _;

use super::values::{COLUMNS, ROWS};

/// Opcodes whose operands are registers, and whose results are no function of their values.
const OTHERS: [&str; 30] = [
    "activemask",
    "alloca",
    "applypriority",
    "bar",
    "barrier",
    "bra",
    "brkpt",
    "brx",
    "call",
    "clusterlaunchcontrol",
    "createpolicy",
    "cvta",
    "discard",
    "elect",
    "exit",
    "fence",
    "getctarank",
    "griddepcontrol",
    "isspacep",
    "mapa",
    "match",
    "membar",
    "nanosleep",
    "pmevent",
    "redux",
    "ret",
    "setmaxnreg",
    "shfl",
    "trap",
    "vote",
];

/// What instructions are worth: words in their names, in the order of worth.
const WORTH: [(&str, u32); 8] = [
    (".approx", 100),
    ("tanh", 100),
    (".cc", 60),
    ("ex2", 50),
    ("cvt", 45),
    ("bf16", 40),
    ("f16", 40),
    ("fma", 30),
];

/// The word of an atomic operation.
const CELL: &str = "[cell]";

/// A register operand.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Register {
    /// As it is written, with the percent sign.
    name: String,
    /// The type that it is declared with.
    ty: &'static str,
    /// Bytes; 0 for a predicate.
    size: usize,
}

const TYPES: [(&str, usize); 17] = [
    ("pred", 0),
    ("b8", 1),
    ("u8", 1),
    ("s8", 1),
    ("b16", 2),
    ("u16", 2),
    ("s16", 2),
    ("f16", 2),
    ("b32", 4),
    ("u32", 4),
    ("s32", 4),
    ("f32", 4),
    ("f16x2", 4),
    ("b64", 8),
    ("u64", 8),
    ("s64", 8),
    ("f64", 8),
];

impl Register {
    /// The register of an operand such as `%f32_1` or `%pred7`.
    fn new(operand: &str) -> Option<Self> {
        let name = operand.strip_prefix('%')?;
        let word = match name.strip_prefix("pred") {
            Some(_) => "pred",
            None => name.rsplit_once('_')?.0,
        };
        let (ty, size) = TYPES.iter().find(|(ty, _)| *ty == word)?;
        Some(Self { name: operand.to_owned(), ty, size: *size })
    }
}

/// One instruction with its operands.
#[derive(Clone, Debug)]
pub(super) struct Probe {
    text: String,
    destination: Register,
    second: Option<Register>,
    /// The register sources, with the column of their values.
    sources: Vec<(usize, Register)>,
    carries: bool,
    /// For an atomic operation: the space in which its word is.
    cell: Option<&'static str>,
}

/// A register that nothing reads.
const UNREAD: &str = "%u32_8";

impl Probe {
    /// The probe of a text that [`Self::text`] has given.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let opcode = |text: &str| text.split(['.', ' ']).next().unwrap_or("").to_owned();
        if let Some((first, second)) = text.split_once("; ") {
            return Self::chain(&format!("{first};"), second);
        }
        if text.contains(CELL) {
            return Self::atomic(text);
        }
        Self::new(&opcode(text), text)
    }

    /// Two instructions of which the first hands a carry on to the second.
    pub(super) fn chain(first: &str, second: &str) -> Option<Self> {
        let opcode = second.split('.').next().unwrap_or("");
        let probe = Self::new(opcode, second)?;
        let sources = ["%u32_1", "%u32_2", "%u32_3"].into_iter().enumerate();
        let sources = sources.filter_map(|(column, name)| Some((column, Register::new(name)?)));
        let text = format!("{first} {second}");
        let second = Register::new(UNREAD);
        Some(Self { text, sources: sources.collect(), second, carries: true, ..probe })
    }

    /// An atomic operation on a word, `[cell]`, that holds a value of the first column.
    pub(super) fn atomic(text: &str) -> Option<Self> {
        let (head, operands) = text.split_once(' ')?;
        let mut operands = operands.trim_end_matches(';').split(", ");
        let destination = Register::new(operands.next()?)?;
        let operand = Register::new(operands.nth(1)?)?;
        let before = Register { name: "%zv".to_owned(), ty: "b32", size: 4 };
        let cell = ["global", "shared"].into_iter().find(|space| head.contains(space));
        let sources = vec![(0, before), (1, operand)];
        Some(Self {
            text: text.to_owned(),
            destination,
            second: None,
            sources,
            carries: false,
            cell: Some(cell?),
        })
    }

    /// The probe of an instruction; none if it does more than to map registers to a register.
    pub(super) fn new(opcode: &str, text: &str) -> Option<Self> {
        if OTHERS.contains(&opcode) {
            return None;
        }
        let (_, operands) = text.trim_end_matches(';').split_once(' ')?;
        let mut operands = operands.split(", ");
        let first = operands.next()?;
        let (destination, second) = match first.split_once('|') {
            Some((first, second)) => (Register::new(first)?, Some(Register::new(second)?)),
            None => (Register::new(first)?, None),
        };
        let mut sources = Vec::new();
        for (column, operand) in operands.enumerate() {
            let operand = operand.trim_start_matches(['!', '-']);
            if operand.starts_with('%') {
                sources.push((column % COLUMNS, Register::new(operand)?));
            } else if !operand.starts_with(|c: char| c.is_ascii_digit()) {
                return None;
            }
        }
        let head = text.split(' ').next().unwrap_or("");
        let carries = head.contains(".cc") || ["addc", "subc", "madc"].contains(&opcode);
        Some(Self { text: text.to_owned(), destination, second, sources, carries, cell: None })
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The type of the elements of its buffer of results.
    pub(super) fn result(&self) -> &'static str {
        match self.destination.ty {
            "pred" => "u32",
            "f16x2" => "b32",
            other => other,
        }
    }

    /// Whether it is an approximate function of one operand.
    pub(super) fn is_approximation_of_one(&self) -> bool {
        let head = self.text.split(' ').next().unwrap_or("");
        head.contains(".approx") && matches!(self.sources[..], [(0, _)])
    }

    /// How much its result is worth, beside those of others.
    pub(super) fn worth(&self) -> u32 {
        let head = self.text.split(' ').next().unwrap_or("");
        WORTH.iter().find(|(word, _)| head.contains(word)).map_or(10, |(_, worth)| *worth)
    }

    /// The kernel of this number. Its parameters are the tables of 16, 32 and 64 bits, and the
    /// buffers of both results.
    pub(super) fn kernel(&self, number: usize) -> String {
        let mut registers = vec![&self.destination];
        registers.extend(self.second.iter().chain(self.sources.iter().map(|(_, r)| r)));
        registers.sort_by(|a, b| a.name.cmp(&b.name));
        registers.dedup_by(|a, b| a.name == b.name);
        let mut out = format!("\n.visible .entry k{number}(");
        for name in ["h", "w", "d", "r", "s"] {
            let comma = if name == "s" { ")\n{\n" } else { ", " };
            let _ = write!(out, ".param .u64 p_{name}{comma}");
        }
        for register in registers {
            let _ = writeln!(out, "  .reg .{} {};", register.ty, register.name);
        }
        out += "  .reg .u32 %z, %zb, %zn, %zt; .reg .u64 %zi, %za, %zx; .reg .pred %zp;\n  \
                mov.u32 %zt, %tid.x; mov.u32 %zb, %ctaid.x; mov.u32 %zn, %ntid.x;\n  \
                mad.lo.u32 %zt, %zb, %zn, %zt; cvt.u64.u32 %zi, %zt;\n";
        for (column, register) in &self.sources {
            load(&mut out, *column, register);
        }
        if self.carries {
            // A carry where the first word is not 0.
            out += "  ld.param.u64 %za, [p_w]; mad.lo.u64 %zx, %zi, 4, %za;\n  \
                    ld.global.u32 %z, [%zx];\n  \
                    add.cc.u32 %z, %z, 0xffffffff;\n";
        }
        match self.cell {
            Some(space) => self.on_cell(&mut out, space),
            None => drop(writeln!(out, "  {}", self.text)),
        }
        if self.carries {
            out += "  addc.u32 %z, 0, 0;\n";
            store_u32(&mut out, "p_s");
        }
        store(&mut out, "p_r", &self.destination);
        if let Some(second) = self.second.as_ref().filter(|second| second.name != UNREAD) {
            store(&mut out, "p_s", second);
        }
        out + "  ret;\n}\n"
    }
}

impl Probe {
    /// The operation between a store to its word and a load from there.
    fn on_cell(&self, out: &mut String, space: &str) {
        if space == "shared" {
            let block = super::values::BLOCK;
            let _ = writeln!(
                out,
                "  .shared .align 4 .b32 zw[{block}]; mov.u32 %z, %tid.x; mov.u64 %zx, zw; \
                 mad.wide.u32 %zx, %z, 4, %zx;"
            );
        } else {
            *out += "  ld.param.u64 %za, [p_s]; mad.lo.u64 %zx, %zi, 4, %za;\n";
        }
        let text = self.text.replace(CELL, "[%zx]");
        let _ = writeln!(
            out,
            "  st.volatile.{space}.b32 [%zx], %zv;\n  {text}\n  ld.volatile.{space}.b32 %z, [%zx];"
        );
        store_u32(out, "p_s");
    }
}

/// Loads a register from its row of a column.
fn load(out: &mut String, column: usize, register: &Register) {
    let name = &register.name;
    let (table, width) = match register.size {
        1 | 2 => ("p_h", 2),
        0 | 4 => ("p_w", 4),
        _ => ("p_d", 8),
    };
    let start = column * ROWS * width;
    let _ = write!(out, "  ld.param.u64 %za, [{table}]; mad.lo.u64 %zx, %zi, {width}, %za; ");
    let _ = match register.size {
        0 => writeln!(
            out,
            "ld.global.u32 %z, [%zx+{start}]; and.b32 %z, %z, 1; setp.ne.u32 {name}, %z, 0;"
        ),
        size => writeln!(out, "ld.global.b{} {name}, [%zx+{start}];", 8 * size),
    };
}

/// Stores a register in the thread's row of a buffer.
fn store(out: &mut String, buffer: &str, register: &Register) {
    let name = &register.name;
    match register.size {
        0 => {
            let _ = writeln!(out, "  selp.u32 %z, 1, 0, {name};");
            store_u32(out, buffer);
        }
        size => {
            let bits = 8 * size;
            let _ = writeln!(
                out,
                "  ld.param.u64 %za, [{buffer}]; mad.lo.u64 %zx, %zi, {size}, %za; \
                 st.global.b{bits} [%zx], {name};"
            );
        }
    }
}

fn store_u32(out: &mut String, buffer: &str) {
    let _ = writeln!(
        out,
        "  ld.param.u64 %za, [{buffer}]; mad.lo.u64 %zx, %zi, 4, %za; st.global.u32 [%zx], %z;"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_become_columns() {
        let probe = Probe::new("fma", "fma.rn.f32 %f32_0, %f32_1, %f32_2, %f32_3;").unwrap();
        assert_eq!(probe.sources.iter().map(|(column, _)| *column).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!((probe.result(), probe.worth(), probe.carries), ("f32", 30, false));
        let probe = Probe::new("setp", "setp.lt.and.s32 %pred0|%pred7, %s32_1, %s32_2, !%pred3;");
        let probe = probe.unwrap();
        assert_eq!(probe.result(), "u32");
        assert_eq!(probe.second.as_ref().map(|r| r.name.as_str()), Some("%pred7"));
        assert!(Probe::new("ld", "ld.global.f32 %f32_0, [%b64_0];").is_none());
        assert!(Probe::new("shfl", "shfl.sync.idx.b32 %b32_0, %b32_1, 8, 8, 8;").is_none());
        assert!(Probe::new("addc", "addc.cc.u32 %u32_0, %u32_1, %u32_2;").unwrap().carries);
    }

    #[test]
    fn texts_are_parsed_again() {
        let chain = "sub.cc.u32 %u32_8, %u32_1, %u32_2; addc.u32 %u32_0, %u32_1, %u32_2;";
        let atomic = "atom.shared.add.f32 %f32_0, [cell], %f32_2;";
        for text in [chain, atomic, "add.u32 %u32_0, %u32_1, %u32_2;"] {
            let probe = Probe::parse(text).unwrap();
            assert_eq!(probe.text(), text);
            assert!(probe.kernel(0).contains(text.split(' ').next().unwrap()));
        }
        assert!(Probe::parse(chain).unwrap().kernel(0).contains("addc.u32 %z, 0, 0;"));
        let kernel = Probe::parse(atomic).unwrap().kernel(0);
        assert!(kernel.contains("atom.shared.add.f32 %f32_0, [%zx], %f32_2;"), "{kernel}");
    }
}
