//! Operations, and instructions as the models see them.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use isa::decode::window;

use crate::encoding::Encoding;

macro_rules! operations {
    ($($op:ident $name:literal $unit:ident,)*) => {
        /// The operation of an instruction; the table describes each.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "each is the mnemonic that the table documents")]
        pub enum Op { $($op,)* }

        impl Op {
            /// Every operation with the name of its form in the table and its functional unit.
            pub const ALL: &[(Self, &'static str, Unit)] = &[$((Self::$op, $name, Unit::$unit),)*];

            /// The functional unit that executes it.
            #[must_use]
            pub const fn unit(self) -> Unit {
                match self { $(Self::$op => Unit::$unit,)* }
            }
        }
    };
}

operations! {
    Add "add" IntAlu, Sub "sub" IntAlu, Mul "mul" IntMul, Div "div" IntDiv,
    And "and" IntAlu, Or "or" IntAlu, Xor "xor" IntAlu, Slt "slt" IntAlu, Sltu "sltu" IntAlu,
    Addf "addf" FloatAlu, Subf "subf" FloatAlu, Mulf "mulf" FloatMul, Divf "divf" FloatDiv,
    Sll "sll" IntAlu, Srl "srl" IntAlu, Sra "sra" IntAlu,
    Addi "addi" IntAlu, Subi "subi" IntAlu, Xori "xori" IntAlu, Ori "ori" IntAlu,
    Slti "slti" IntAlu, Sltiu "sltiu" IntAlu, Slli "slli" IntAlu, Srli "srli" IntAlu,
    Srai "srai" IntAlu,
    Lw "lw" LoadStore, Lh "lh" LoadStore, Lb "lb" LoadStore,
    Sw "sw" LoadStore, Sh "sh" LoadStore, Sb "sb" LoadStore,
    Isqrt "isqrt" InverseSqrt, Sin "sin" Trig, Cos "cos" Trig, Itof "itof" Convert,
    Ftoi "ftoi" Convert,
    Beq "beq" Branch, Bne "bne" Branch, Bge "bge" Branch, Bgeu "bgeu" Branch,
    Blt "blt" Branch, Bltu "bltu" Branch,
    Beqf "beqf" Branch, Bnef "bnef" Branch, Bgef "bgef" Branch, Bltf "bltf" Branch,
    Sltf "sltf" FloatAlu, Sge "sge" IntAlu, Sgeu "sgeu" IntAlu, Sgef "sgef" FloatAlu,
    Auipc "auipc" IntAlu, Lli "lli" IntAlu, Lmi "lmi" IntAlu, Lui "lui" IntAlu, Csrr "csrr" IntAlu,
    Jal "jal" Jump, Jalr "jalr" Jump, Jpnz "jpnz" Jump,
    Prsw "prsw" LoadStore, Prlw "prlw" LoadStore, Halt "halt" Branch,
}

/// A functional unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unit {
    /// Integer arithmetic, logic, shifts, special registers.
    IntAlu,
    /// Integer multiplication.
    IntMul,
    /// Integer division.
    IntDiv,
    /// Float addition, subtraction, comparison.
    FloatAlu,
    /// Float multiplication.
    FloatMul,
    /// Float division.
    FloatDiv,
    /// Sine and cosine.
    Trig,
    /// Inverse square root.
    InverseSqrt,
    /// Conversions.
    Convert,
    /// Instructions that write predicates, and `halt`.
    Branch,
    /// Instructions that set the program counter.
    Jump,
    /// Loads and stores.
    LoadStore,
}

impl Unit {
    /// All units, in the order of their numbers.
    pub const ALL: [Self; 12] = [
        Self::IntAlu,
        Self::IntMul,
        Self::IntDiv,
        Self::FloatAlu,
        Self::FloatMul,
        Self::FloatDiv,
        Self::Trig,
        Self::InverseSqrt,
        Self::Convert,
        Self::Branch,
        Self::Jump,
        Self::LoadStore,
    ];

    /// The name used in the table, in parameter files and in statistics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::IntAlu => "int-alu",
            Self::IntMul => "int-mul",
            Self::IntDiv => "int-div",
            Self::FloatAlu => "float-alu",
            Self::FloatMul => "float-mul",
            Self::FloatDiv => "float-div",
            Self::Trig => "trig",
            Self::InverseSqrt => "inverse-sqrt",
            Self::Convert => "convert",
            Self::Branch => "branch",
            Self::Jump => "jump",
            Self::LoadStore => "load-store",
        }
    }
}

/// A decoded instruction. Fields that its format does not have are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Insn {
    /// Its operation.
    pub op: Op,
    /// Register written; 0 writes nothing.
    pub rd: u8,
    /// First source register.
    pub rs1: u8,
    /// Second source register.
    pub rs2: u8,
    /// Predicate that masks it, or that it tests, stores or retires.
    pub pred: u8,
    /// Predicate written.
    pub pdst: u8,
    /// Immediate, distance in bytes, or number of a special register.
    pub imm: i32,
    /// Whether it is the first of its packet; no model uses this.
    pub start: bool,
    /// Whether it is the last of its packet.
    pub end: bool,
    /// Whether `jpnz` takes its target from `rs2`.
    pub by_register: bool,
}

impl Insn {
    /// The instruction in the first four bytes, if there is one.
    #[must_use]
    pub fn decode(encoding: Encoding, bytes: &[u8]) -> Option<Self> {
        static OPS: OnceLock<BTreeMap<&'static str, Op>> = OnceLock::new();
        let ops = OPS.get_or_init(|| Op::ALL.iter().map(|&(op, name, _)| (name, op)).collect());
        let table = encoding.table();
        let (word, have) = window(bytes.get(..4)?);
        let found = table.decode(word, have).ok()?;
        let form = table.form(found.form);
        let name = form.name.split_once('.').map_or(&*form.name, |(name, _)| name);
        let op = *ops.get(name)?;
        let field = |name: &str| form.field(name).map_or(0, |f| f.extract(found.word));
        // Every field of the table has at most 18 bits; registers and predicates have at most 6.
        let register = |name: &str| field(name) as u8;
        Some(Self {
            op,
            rd: register("rd"),
            rs1: register("rs1"),
            rs2: register("rs2"),
            pred: register("pred"),
            pdst: register("pdst"),
            imm: (field("imm") + field("off") + field("csr")) as i32,
            start: field("start") != 0,
            end: field("end") != 0,
            by_register: op == Op::Jpnz && form.field("rs2").is_some(),
        })
    }

    /// Returns whether control never just continues at the next word: a jump, or `halt` of all
    /// lanes.
    #[must_use]
    pub fn leaves(&self) -> bool {
        match self.op {
            Op::Jal | Op::Jalr => true,
            Op::Halt => matches!(self.pred, 0 | 31),
            _ => false,
        }
    }

    /// Returns whether it sets the program counter.
    #[must_use]
    pub fn jumps(&self) -> bool {
        self.op.unit() == Unit::Jump
    }

    /// Returns whether it writes predicate `pdst`.
    #[must_use]
    pub fn writes_predicate(&self) -> bool {
        self.op == Op::Prlw || self.op.unit() == Unit::Branch && self.op != Op::Halt
    }

    /// Returns whether it writes a register other than x0.
    #[must_use]
    pub fn writes_register(&self) -> bool {
        let none = self.writes_predicate()
            || matches!(self.op, Op::Sw | Op::Sh | Op::Sb | Op::Prsw | Op::Halt | Op::Jpnz);
        self.rd != 0 && !none
    }

    /// Returns whether it reads predicate `pred`.
    #[must_use]
    pub fn reads_predicate(&self) -> bool {
        !matches!(self.op, Op::Jal | Op::Jalr | Op::Prlw)
    }

    /// The registers read, x0 left out.
    pub fn sources(&self) -> impl Iterator<Item = u8> {
        let [a, b] = self.operands();
        [a, b].into_iter().flatten().filter(|&r| r != 0)
    }

    /// The registers read in the first and in the second cycle of collecting.
    #[must_use]
    pub fn operands(&self) -> [Option<u8>; 2] {
        use Op::{
            Auipc, Cos, Csrr, Ftoi, Halt, Isqrt, Itof, Jal, Jalr, Jpnz, Lb, Lh, Lli, Lmi, Lui, Lw,
            Prlw, Prsw, Sin,
        };
        match self.op {
            Auipc | Csrr | Jal | Halt => [None, None],
            Jpnz if self.by_register => [None, Some(self.rs2)],
            Jpnz => [None, None],
            Lli | Lmi | Lui => [Some(self.rd), None],
            Prsw | Prlw => [None, Some(self.rs2)],
            Op::Addi | Op::Subi | Op::Xori | Op::Ori | Op::Slti | Op::Sltiu => {
                [Some(self.rs1), None]
            }
            Op::Slli | Op::Srli | Op::Srai | Lw | Lh | Lb | Jalr => [Some(self.rs1), None],
            Isqrt | Sin | Cos | Itof | Ftoi => [Some(self.rs1), None],
            _ => [Some(self.rs1), Some(self.rs2)],
        }
    }
}
