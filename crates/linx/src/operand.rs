//! Operands of LinxISA text that are more than a register, a name or a number.
//!
//! Printed text reads back to the same fields. One exception, and only without `exact`: the type
//! bits of an address base, which listings do not show (see [`regid::print_base`](crate::regid)).

mod header;
mod memory;
mod register;
mod value;

use isa::asm::{Cursor, Fail, OperandSlot, OperandValue, Operands, PrintContext};

use crate::encoding::{Conventions, Encoding};
use crate::names::{ARG_FORMATS, DATA_TYPES, system_register};
use crate::regid::{self, Codec, other};
use header::{
    ARG_WORDS, CUBE, TMA, attributes, bytes_of_code, hint, print_attributes, print_hint,
    print_scalars, print_tile_dest, print_tiles, scalars, tile_dest, tiles,
};
use memory::{
    invert, memory, memory_immediate, modified, modifier, print_memory, print_memory_immediate,
    shift, vector_modified,
};
use register::{Implied, base, dest, register_name, source, system, untyped};
use value::{
    convert, convert_types, distance, flags, prefetch_level, print_flags, print_shifted, shifted,
    type_name,
};

/// The operand kinds of LinxISA.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinxOperands {
    /// Whether to print every bit; listings leave some out.
    pub exact: bool,
    /// Numbers of tile operations, and conventions.
    pub encoding: Encoding,
    /// The operand codec of 64-bit forms.
    pub codec: Codec,
}

type Out<'o> = &'o mut [OperandValue];
type Read = Result<(), Fail>;

impl Operands for LinxOperands {
    fn parse(
        &self,
        slot: OperandSlot<'_>,
        cursor: &mut Cursor<'_>,
        out: &mut [OperandValue],
    ) -> Read {
        match slot.kind {
            "src" => set(out, 0, self.source(cursor, Implied::integer(slot))?),
            "fsrc" => set(out, 0, self.source(cursor, Implied::Float)?),
            "dst" => set(out, 0, self.dest(cursor, slot)?),
            "base" => set(out, 0, self.base(cursor)?),
            "vmod" => vector_modified(*self, slot, cursor, out)?,
            "mod" | "modn" | "modw" => modified(self.encoding.conventions, slot, cursor, out)?,
            "mem" | "mems" => memory(*self, slot, cursor, out)?,
            "memi" => memory_immediate(*self, slot, cursor, out)?,
            "dtype" => named_or_int(cursor, out, &DATA_TYPES, "a data type such as FP32")?,
            "cube" => named_or_int(cursor, out, &CUBE, "a CUBE function")?,
            "tma" => named_or_int(cursor, out, &TMA, "a TMA function")?,
            "argfmt" => named_or_int(cursor, out, &ARG_WORDS, "a format")?,
            "tileop" => self.tile_op(cursor, out)?,
            "attr" => attributes(cursor, out)?,
            "hint" => hint(cursor, out)?,
            "ior" => scalars(slot, cursor, out)?,
            "tiles" => tiles(cursor, out)?,
            "iotdst" | "iotidst" => tile_dest(slot, cursor, out)?,
            "amo" | "qflags" => flags(slot, cursor, out)?,
            "local" => {
                let local = cursor.eat(".local");
                set(out, 0, i64::from(local));
            }
            "prfm" => prefetch_level(cursor, out)?,
            "btarget" | "pcount" => distance(slot, cursor, out)?,
            "setcimm" => shifted(slot, cursor, out)?,
            "ssr" => system(cursor, out)?,
            kind => match convert_types(kind) {
                Some(types) => convert(types, cursor, out)?,
                None => return Err(cursor.fail("asm::operand-kind", format!("no kind `{kind}`"))),
            },
        }
        Ok(())
    }

    fn print(
        &self,
        slot: OperandSlot<'_>,
        values: &[i64],
        at: &PrintContext<'_>,
        out: &mut String,
    ) {
        let v = |i: usize| values.get(i).copied().unwrap_or(0);
        let text = match slot.kind {
            "src" => self.source_text(v(0), false),
            "fsrc" => self.source_text(v(0), true),
            "dst" => self.dest_text(v(0)),
            "base" => self.base_text(v(0)),
            "vmod" => {
                let invert = if v(1) == 3 { invert(slot) } else { "" };
                format!("{}{invert}{}", self.source_text(v(0), false), shift(v(2)))
            }
            "mod" | "modn" | "modw" => {
                let name = register_name(v(0));
                let code = self.encoding.conventions.modifier(v(1));
                format!("{name}{}{}", modifier(slot.kind, code), shift(v(2)))
            }
            "mem" | "mems" => print_memory(*self, slot, [v(0), v(1), v(2), v(3)]),
            "memi" => print_memory_immediate(*self, slot, [v(0), v(1), v(2)]),
            "dtype" => name_or_number(&DATA_TYPES, v(0)),
            "cube" => name_or_number(&CUBE, v(0)),
            "tma" => name_or_number(&TMA, v(0)),
            "argfmt" => name_or_number(&ARG_FORMATS, v(0)),
            "tileop" => match self.encoding.tile_ops.find(v(0) as u64) {
                Some(op) => op.name.to_owned(),
                None => format!("{:#05x}", v(0)),
            },
            "attr" => print_attributes(values),
            "hint" => print_hint(values),
            "ior" => print_scalars(values),
            "tiles" => format!("[{}]", print_tiles(values)),
            "iotdst" => print_tile_dest(v(0), v(1), register_name(v(1))),
            "iotidst" => print_tile_dest(v(0), v(1), &bytes_of_code(v(1))),
            "amo" | "qflags" => print_flags(slot, values),
            "local" => if v(0) == 0 { "" } else { ".local" }.to_owned(),
            "prfm" => match v(0) {
                0 => String::new(),
                level @ 1..=3 => format!(".l{level}"),
                other => format!(".m{other}"),
            },
            "btarget" => {
                let label = (at.label)(at.address.wrapping_add_signed(v(0)));
                label.unwrap_or_else(|| format!(".{:+}", v(0)))
            }
            "pcount" if self.counts_pages(slot) => (v(0) / 4096).to_string(),
            "pcount" => (v(0) / 2).to_string(),
            "setcimm" => print_shifted(slot, v(0), v(1)),
            "ssr" => system_register(v(0)).unwrap_or_else(|| format!("{:#x}", v(0))),
            kind => match convert_types(kind) {
                Some((from, to)) => format!("{}2{}", type_name(from, v(0)), type_name(to, v(1))),
                None => String::new(),
            },
        };
        out.push_str(&text);
    }

    fn is_reserved(&self, word: &str) -> bool {
        let word = word.to_ascii_lowercase();
        matches!(word.as_str(), "p" | "zero") || regid::source_code(&word, None, false).is_some()
    }
}

impl LinxOperands {
    /// Whether the distance of an `addtpc` is one of pages.
    fn counts_pages(self, slot: OperandSlot<'_>) -> bool {
        self.encoding.conventions == Conventions::Compiler && slot.form.name == "addtpc"
    }

    fn source(self, cursor: &mut Cursor<'_>, implied: Implied) -> Result<i64, Fail> {
        match self.codec {
            Codec::RegId10 => source(cursor, implied),
            Codec::Other => untyped(cursor, other::source),
        }
    }

    fn dest(self, cursor: &mut Cursor<'_>, slot: OperandSlot<'_>) -> Result<i64, Fail> {
        match self.codec {
            Codec::RegId10 => dest(cursor, Implied::integer(slot)),
            Codec::Other => untyped(cursor, other::dest),
        }
    }

    fn base(self, cursor: &mut Cursor<'_>) -> Result<i64, Fail> {
        match self.codec {
            Codec::RegId10 => base(cursor),
            Codec::Other => untyped(cursor, other::source),
        }
    }

    fn source_text(self, code: i64, float: bool) -> String {
        match self.codec {
            Codec::RegId10 => regid::print_source(code, float),
            Codec::Other => other::source(code).unwrap_or_else(|| format!("?{code:#x}")),
        }
    }

    fn dest_text(self, code: i64) -> String {
        match self.codec {
            Codec::RegId10 => regid::print_dest(code),
            Codec::Other => other::dest(code).unwrap_or_else(|| format!("?{code:#x}")),
        }
    }

    fn base_text(self, code: i64) -> String {
        match self.codec {
            Codec::RegId10 => regid::print_base(code, self.exact),
            Codec::Other => self.source_text(code, false),
        }
    }

    fn tile_op(self, cursor: &mut Cursor<'_>, out: Out<'_>) -> Read {
        let mark = cursor.mark();
        let number = match cursor.integer()? {
            Some(number) => {
                if cursor.eat("(") {
                    cursor.word().ok_or_else(|| cursor.expected("the operation's name"))?;
                    cursor.expect(")")?;
                }
                number
            }
            None => {
                let name = cursor.word().ok_or_else(|| cursor.expected("a tile operation"))?;
                let number = self.encoding.tile_ops.by_name(name);
                u64::from(number.map_err(|m| cursor.fail_from(mark, "linx::tile-op", m))?)
            }
        };
        if self.encoding.tile_ops.find(number).is_none() {
            return Err(cursor.fail_from(
                mark,
                "linx::tile-op",
                self.encoding.tile_ops.refusal(number),
            ));
        }
        set(out, 0, number as i64);
        Ok(())
    }
}

fn set(out: Out<'_>, index: usize, value: i64) {
    if let Some(slot) = out.get_mut(index) {
        *slot = OperandValue::Now(value);
    }
}

fn name_or_number(names: &[(&str, i64)], value: i64) -> String {
    let found = names.iter().find(|(_, v)| *v == value);
    found.map_or_else(|| value.to_string(), |(name, _)| (*name).to_owned())
}

fn named_or_int(cursor: &mut Cursor<'_>, out: Out<'_>, names: &[(&str, i64)], what: &str) -> Read {
    let mark = cursor.mark();
    let value = match cursor.integer()? {
        Some(value) => i64::try_from(value).ok(),
        None => cursor.word().and_then(|word| {
            names.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)).map(|(_, value)| *value)
        }),
    };
    let Some(value) = value else {
        cursor.back_to(mark);
        return Err(cursor.expected(what));
    };
    set(out, 0, value);
    Ok(())
}
