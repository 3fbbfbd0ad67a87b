//! A decoded instruction with its fields by role.

use isa::Instruction;
use isa::table::Form;

use crate::action::{Action, SOp, action};
use crate::encoding::{Conventions, Encoding};
use crate::variant::{Variant, ends};

/// `L.BSTOP` of v0.3 and before.
const L_BSTOP: [u8; 8] = [0x0f, 0, 0, 0, 1, 0, 0, 0];

/// Fixed bits of BSTART.TEPL: mask and value.
const TEPL: (u32, u32) = (0x0600_7fff, 0x0200_1181);

/// An instruction, ready to execute. Fields that a form does not have are 0 or what its syntax
/// implies (`t#1`, `->t`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Insn {
    pub(crate) action: Action,
    /// Whether it ends a body.
    pub(crate) ends: bool,
    /// Bytes.
    pub(crate) length: u64,
    pub(crate) word: u64,
    pub(crate) rd: i64,
    pub(crate) rd1: i64,
    pub(crate) l: i64,
    pub(crate) r: i64,
    /// The third source.
    pub(crate) a: i64,
    pub(crate) has_r: bool,
    pub(crate) imm: i64,
    pub(crate) has_imm: bool,
    /// Bit field: position and length.
    pub(crate) m: u32,
    pub(crate) n: u32,
    pub(crate) modifier: i64,
    pub(crate) shift: u32,
    /// Types of a convert or a float operation.
    pub(crate) from: i64,
    pub(crate) to: i64,
    pub(crate) lane_term: bool,
    pub(crate) local: bool,
    /// The index is not scaled by the size.
    pub(crate) unscaled: bool,
    /// `.not` rather than `.neg`.
    pub(crate) not: bool,
    /// A 16-bit form.
    pub(crate) short: bool,
    /// The second source of a pair that is stored.
    pub(crate) b: i64,
    /// In the conventions of the compiler: `addtpc` is relative to the page, and `csel` selects the
    /// right operand if its predicate holds.
    pub(crate) compiled: bool,
}

impl Insn {
    /// The instruction that bytes begin with, if they do.
    pub(crate) fn decode(bytes: &[u8], encoding: Encoding) -> Option<Self> {
        match crate::table(encoding).decode_bytes(bytes) {
            Ok(found) => match encoding.variant {
                Some(variant) => Self::of_variant(found, variant),
                None => Some(Self::new(found, encoding)),
            },
            Err(_) if encoding.variant.is_some() => None,
            Err(_) if bytes.starts_with(&L_BSTOP) => {
                let word = u64::from_le_bytes(L_BSTOP);
                Some(Self { length: 8, ..Self::plain(Action::LegacyStop, word) })
            }
            Err(_) => {
                let word = u32::from_le_bytes(*bytes.first_chunk()?);
                let reserved = word & TEPL.0 == TEPL.1;
                reserved
                    .then(|| Self { length: 4, ..Self::plain(Action::ReservedTile, word.into()) })
            }
        }
    }

    /// An instruction of a variant, as LinxISA has it.
    fn of_variant(found: Instruction, variant: &Variant) -> Option<Self> {
        let plain = Self::new(variant.plain(found)?, Encoding::default());
        let ends = variant.terminator(found.form.index()).unwrap_or(plain.ends);
        Some(Self { length: variant.table.form(found.form).bytes() as u64, ends, ..plain })
    }

    fn new(found: Instruction, encoding: Encoding) -> Self {
        let form = crate::table(encoding).form(found.form);
        let mut insn = Self::blank(form, found.word, action(found.form.index()));
        for field in &form.fields {
            insn.take(&field.name, field.extract(found.word));
        }
        let scalar = matches!(insn.action, Action::Scalar(_));
        if scalar && form.field("SrcRType").is_some() {
            insn.modifier = encoding.conventions.modifier(insn.modifier);
        }
        insn.compiled = encoding.conventions == Conventions::Compiler;
        insn
    }

    /// `L.BSTOP`, which is not a form of this version.
    fn blank(form: &Form, word: u64, action: Action) -> Self {
        let short = form.bits == 16;
        Self {
            length: form.bytes() as u64,
            // The 16-bit forms imply `t#1` and `->t`.
            rd: if short { 31 } else { 0 },
            l: if short { 24 } else { 0 },
            unscaled: form.name.ends_with(".u")
                || form.name.contains(".u.")
                || form.name.contains(".up"),
            not: form.syntax.text.contains(":modn}") || form.attribute("invert") == Some("not"),
            short,
            ..Self::plain(action, word)
        }
    }

    fn plain(action: Action, word: u64) -> Self {
        Self {
            action,
            ends: ends(action),
            length: 0,
            word,
            rd: 0,
            rd1: 0,
            l: 0,
            r: 0,
            a: 0,
            has_r: false,
            imm: 0,
            has_imm: false,
            m: 0,
            n: 0,
            modifier: 0,
            shift: 0,
            from: 0,
            to: 0,
            lane_term: false,
            local: false,
            unscaled: false,
            not: false,
            short: false,
            b: 0,
            compiled: false,
        }
    }

    fn take(&mut self, name: &str, value: i64) {
        match name {
            "RegDst" | "RegDst0" => self.rd = value,
            "RegDst1" => self.rd1 = value,
            "SrcL" | "RegSrc" | "DstAddr" | "SrcBegin" | "DstBegin" => self.l = value,
            "SrcD1" => self.b = value,
            "SrcR" | "SrcAddr" | "Value" | "SrcEnd" | "DstEnd" => {
                self.r = value;
                self.has_r = true;
            }
            "SrcA" | "SrcD" | "SrcP" | "SrcZero" | "Size" => self.a = value,
            "imml" => self.n = value as u32,
            "imms" if self.action == Action::Scalar(SOp::BitInsert) => {}
            "imms" | "immr" => self.m = value as u32,
            "SrcRType" => self.modifier = value,
            "shamt" => self.shift = value as u32,
            "SrcType" => self.from = value,
            "DstType" => self.to = value,
            "C" => self.lane_term = value != 0,
            "L" => self.local = value != 0,
            _ if name.starts_with("simm")
                || name.starts_with("uimm")
                || name.starts_with("imm") =>
            {
                self.imm = value;
                self.has_imm = true;
            }
            "SSR_ID" | "SSRID" | "LSR_ID" | "RST_Type" | "RRA_Type" => self.imm = value,
            _ => {}
        }
    }

    /// The field `imms` of `hl.bfi`, whose position is another one.
    pub(crate) fn imms(&self) -> u32 {
        self.bits(10, 6) as u32
    }

    /// Bits of the word.
    pub(crate) fn bits(&self, low: u32, width: u32) -> u64 {
        self.word >> low & ((1 << width) - 1)
    }

    /// Returns whether control may enter here: a marker or a template block.
    pub(crate) fn starts_block(&self) -> bool {
        match self.action {
            Action::Marker(_) | Action::Template(_) | Action::ReservedTile => true,
            // Template blocks that encode only are legal targets all the same.
            Action::None(_) => {
                matches!(self.word & 0x7f, 0x41 | 0x31) || self.word & 0x7fff == 0x6f81
            }
            _ => false,
        }
    }
}

/// The bytes that an instruction has by its first half-word, or by what there is of it.
pub(crate) fn length(bytes: &[u8]) -> u64 {
    let Some(&low) = bytes.first() else { return 2 };
    match (low & 1, low & 15) {
        (0, 0xe) => 6,
        (0, _) => 2,
        (_, 0xf) => 8,
        _ => 4,
    }
}

/// Describes bytes that are not an instruction of this version, if they are known.
pub(crate) fn refusal(bytes: &[u8], encoding: Encoding) -> Option<String> {
    let insn = Insn::decode(bytes, encoding)?;
    match insn.action {
        Action::LegacyStop => Some("L.BSTOP of older versions".to_owned()),
        Action::ReservedTile => {
            Some(format!("BSTART.TEPL: {}", encoding.tile_ops.refusal(insn.bits(15, 10))))
        }
        _ => None,
    }
}
