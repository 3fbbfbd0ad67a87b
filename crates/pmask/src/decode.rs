//! Decoding of words.
//!
//! Decoding depends only on the word and the machine's options, so a decoded instruction can be
//! kept for its word: a bank, a level or a feature that the options lack decodes as
//! [`Op::Illegal`], so that all those traps come before any effect.

use isa::{Form, FormId};

use crate::config::Config;
use crate::op::{Op, Test};
use crate::table::{FORMS, operation};

/// A decoded instruction. Fields that its form lacks are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inst {
    /// The operation.
    pub op: Op,
    /// Destination register.
    pub rd: u8,
    /// First source.
    pub rs1: u8,
    /// Second source.
    pub rs2: u8,
    /// Third source.
    pub rs3: u8,
    /// Rounding mode field; 7 is dynamic.
    pub rm: u8,
    /// Mask bank.
    pub bank: u8,
    /// Bytes: 2 or 4.
    pub len: u8,
    /// Whether the second operand is the immediate.
    pub has_imm: bool,
    /// Immediate, branch distance, CSR number or the bits of a prefix.
    pub imm: i64,
    /// CSR number.
    pub csr: u16,
    /// The word as fetched, for `mtval`.
    pub word: u32,
}

impl Inst {
    pub(crate) const fn illegal(word: u32, len: u8) -> Self {
        Self {
            op: Op::Illegal,
            rd: 0,
            rs1: 0,
            rs2: 0,
            rs3: 0,
            rm: 0,
            bank: 0,
            len,
            has_imm: false,
            imm: 0,
            csr: 0,
            word,
        }
    }
}

/// Bytes of the instruction that starts with these bits.
#[must_use]
#[inline]
pub const fn length(low: u32) -> u8 {
    if low & 3 == 3 { 4 } else { 2 }
}

/// Decodes a word (the low 16 bits, for a compressed instruction) under the options of a machine.
#[must_use]
pub fn decode(word: u32, config: &Config) -> Inst {
    let len = length(word);
    let word = if len == 2 { word & 0xffff } else { word };
    let illegal = Inst::illegal(word, len);
    let table = &FORMS.table;
    let Ok(found) = table.decode(word.into(), u32::from(len) * 8) else { return illegal };
    let form = table.form(found.form);
    if !config.has(form.attribute("ext").unwrap_or("I")) {
        return illegal;
    }
    let inst = match form.attribute("as") {
        Some(target) => {
            expand(target, form, word).map(|(id, full)| Inst { len, word, ..fields(id, full) })
        }
        None => Some(fields(found.form, word)),
    };
    inst.filter(|inst| has_bank(inst, config)).unwrap_or(illegal)
}

/// The 32-bit form that a compressed one stands for: `addi rd=rd rs1=2 imm=imm`.
fn expand(target: &str, form: &Form, word: u32) -> Option<(FormId, u32)> {
    let mut words = target.split(' ');
    let table = &FORMS.table;
    let id = table.find(words.next()?)?;
    let wide = table.form(id);
    let mut full = wide.default_word();
    for assignment in words {
        let (name, value) = assignment.split_once('=')?;
        let value = match form.field(value) {
            Some(field) => field.extract(word.into()),
            None => value.parse().ok()?,
        };
        let field = wide.field(name)?;
        // `lui` has an unsigned field of 20 bits, `c.lui` a signed one of 6.
        let value = if value < field.range().0 { value & 0xf_ffff } else { value };
        full = field.insert(full, value).ok()?;
    }
    Some((id, full as u32))
}

/// The fields of a 32-bit form by their names.
fn fields(id: FormId, word: u32) -> Inst {
    let form = FORMS.table.form(id);
    let mut inst = Inst { op: operation(id), ..Inst::illegal(word, 4) };
    for field in &form.fields {
        let value = field.extract(word.into());
        match field.name.as_str() {
            "rd" => inst.rd = value as u8,
            "rs1" => inst.rs1 = value as u8,
            "rs2" => inst.rs2 = value as u8,
            "rs3" => inst.rs3 = value as u8,
            "rm" => inst.rm = value as u8,
            "b" => inst.bank = value as u8,
            "csr" => inst.csr = value as u16,
            "imm" | "off" => {
                inst.imm = value;
                inst.has_imm = true;
            }
            _ => {}
        }
    }
    match inst.op {
        Op::Lui | Op::Auipc => inst.imm = i64::from((inst.imm as i32) << 12),
        // The bits of the prefix, whatever its fields.
        Op::SvStep | Op::SvFpctl => inst.imm = i64::from(word >> 20),
        _ => {}
    }
    inst
}

/// Returns whether the bank that the instruction selects exists.
fn has_bank(inst: &Inst, config: &Config) -> bool {
    let exists = inst.bank < config.banks;
    match inst.op {
        Op::Test(Test::NonZero) if inst.bank > 0 => exists && config.to_p0_bank,
        Op::Test(_) | Op::Pm(_) | Op::BranchBank(_) => exists,
        _ => true,
    }
}
