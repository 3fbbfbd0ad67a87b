//! Directives that put data into the image.

use super::assemble::{Assembler, Fixup, Patch, Problem};
use super::cursor::Cursor;
use super::expr::{Expr, Value};
use crate::diag::Diagnostic;

impl Assembler<'_> {
    /// A data directive, from behind its name on; `None` if the name is none.
    pub(super) fn data(
        &mut self,
        name: &str,
        cursor: &mut Cursor<'_>,
    ) -> Option<Result<(), Problem>> {
        Some(match name {
            ".byte" => self.integers(1, cursor),
            ".half" | ".short" | ".2byte" => self.integers(2, cursor),
            ".word" | ".long" | ".4byte" => self.integers(4, cursor),
            ".dword" | ".quad" | ".8byte" => self.integers(8, cursor),
            ".float" => self.floats(cursor, |v| (v as f32).to_le_bytes().to_vec()),
            ".double" => self.floats(cursor, |v| v.to_le_bytes().to_vec()),
            ".ascii" => self.strings(false, cursor),
            ".asciz" | ".string" => self.strings(true, cursor),
            ".zero" | ".space" | ".skip" => self.space(cursor),
            ".fill" => self.fill(cursor),
            _ => return None,
        })
    }

    fn integers(&mut self, bytes: u8, cursor: &mut Cursor<'_>) -> Result<(), Problem> {
        // `.` is the address of the statement, not of each of its values.
        let place = self.place();
        loop {
            let expr = cursor.expr()?;
            let spot = self.layout.reserve(u64::from(bytes), expr.span())?;
            self.fill_in(Fixup { spot, place, patch: Patch::Data(bytes), expr })?;
            if !cursor.eat(",") {
                return Ok(cursor.expect_end()?);
            }
        }
    }

    pub(super) fn apply_data(
        &mut self,
        fixup: &Fixup,
        bytes: u8,
        value: Value,
    ) -> Result<(), Problem> {
        let encoded = data_bytes(bytes, value.number, &fixup.expr)?;
        self.layout.at(fixup.spot)[..encoded.len()].copy_from_slice(&encoded);
        Ok(())
    }

    fn floats(
        &mut self,
        cursor: &mut Cursor<'_>,
        encode: impl Fn(f64) -> Vec<u8>,
    ) -> Result<(), Problem> {
        loop {
            let mark = cursor.mark();
            let bytes = encode(cursor.float()?);
            self.emit(&bytes, mark, cursor)?;
            if !cursor.eat(",") {
                return Ok(cursor.expect_end()?);
            }
        }
    }

    fn strings(&mut self, zero: bool, cursor: &mut Cursor<'_>) -> Result<(), Problem> {
        loop {
            let mark = cursor.mark();
            let mut bytes = cursor.string()?;
            if zero {
                bytes.push(0);
            }
            self.emit(&bytes, mark, cursor)?;
            if !cursor.eat(",") {
                return Ok(cursor.expect_end()?);
            }
        }
    }

    fn emit(&mut self, bytes: &[u8], mark: usize, cursor: &Cursor<'_>) -> Result<(), Problem> {
        let spot = self.layout.reserve(bytes.len() as u64, cursor.span_from(mark))?;
        self.layout.at(spot)[..bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn space(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Problem> {
        let count = cursor.expr()?;
        let value = if cursor.eat(",") { Some(cursor.expr()?) } else { None };
        cursor.expect_end()?;
        self.repeat(&count, 1, value.as_ref())
    }

    fn fill(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Problem> {
        let count = cursor.expr()?;
        cursor.expect(",")?;
        let size = cursor.expr()?;
        cursor.expect(",")?;
        let value = cursor.expr()?;
        cursor.expect_end()?;
        let bytes = self.needed_now(&size)?;
        match u8::try_from(bytes) {
            Ok(bytes @ (1 | 2 | 4 | 8)) => self.repeat(&count, bytes, Some(&value)),
            _ => Err(Diagnostic::error("asm::out-of-range", format!("values of {bytes} bytes"))
                .at(size.span(), "possible are 1, 2, 4, 8")
                .into()),
        }
    }

    /// `count` times a value of so many bytes, zero if none is given.
    fn repeat(&mut self, count: &Expr, bytes: u8, value: Option<&Expr>) -> Result<(), Problem> {
        let number = self.needed_now(count)?;
        let unit = match value {
            Some(expr) => data_bytes(bytes, self.needed_now(expr)?, expr)?,
            None => vec![0; usize::from(bytes)],
        };
        let total = u64::try_from(number).ok().and_then(|n| n.checked_mul(u64::from(bytes)));
        let Some(total) = total else {
            return Err(Diagnostic::error("asm::out-of-range", format!("a count of {number}"))
                .at(count.span(), "not a possible number of values")
                .into());
        };
        let spot = self.layout.reserve(total, count.span())?;
        if unit.iter().any(|&b| b != 0) {
            let hole = self.layout.at(spot);
            hole.iter_mut().zip(unit.iter().cycle()).for_each(|(byte, u)| *byte = *u);
        }
        Ok(())
    }
}

/// A number in so many bytes, signed or unsigned.
fn data_bytes(bytes: u8, value: i128, expr: &Expr) -> Result<Vec<u8>, Problem> {
    let bits = 8 * u32::from(bytes);
    let (low, high) = (-(1i128 << (bits - 1)), (1i128 << bits) - 1);
    if !(low..=high).contains(&value) {
        let message = format!("{value} does not fit {bits} bits, which hold {low} to {high}");
        return Err(Diagnostic::error("asm::out-of-range", message).at(expr.span(), "").into());
    }
    Ok(value.to_le_bytes()[..usize::from(bytes)].to_vec())
}
