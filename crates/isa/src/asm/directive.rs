//! Directives other than data.

use super::assemble::{Assembler, Problem};
use super::cursor::Cursor;
use super::image::MachineDirective;
use crate::diag::Diagnostic;
use crate::span::Span;

/// Directives of every machine, for suggestions.
const ALL: [&str; 39] = [
    ".section",
    ".org",
    ".align",
    ".p2align",
    ".balign",
    ".byte",
    ".half",
    ".word",
    ".dword",
    ".short",
    ".2byte",
    ".long",
    ".4byte",
    ".quad",
    ".8byte",
    ".float",
    ".double",
    ".ascii",
    ".asciz",
    ".string",
    ".zero",
    ".space",
    ".skip",
    ".fill",
    ".equ",
    ".set",
    ".globl",
    ".global",
    ".type",
    ".size",
    ".file",
    ".ident",
    ".text",
    ".weak",
    ".local",
    ".hidden",
    ".addrsig",
    ".addrsig_sym",
    ".data",
];

impl Assembler<'_> {
    /// A directive, from behind its name on.
    pub(super) fn directive(
        &mut self,
        name: &str,
        span: Span,
        cursor: &mut Cursor<'_>,
    ) -> Result<(), Problem> {
        let lower = name.to_ascii_lowercase();
        match lower.as_str() {
            ".org" => self.org(cursor),
            ".align" | ".p2align" => self.align(cursor, true),
            ".balign" => self.align(cursor, false),
            ".equ" | ".set" => {
                let (symbol, span) = self.symbol(cursor)?;
                cursor.expect(",")?;
                self.assign(symbol, span, cursor)
            }
            ".globl" | ".global" => loop {
                let (symbol, span) = self.symbol(cursor)?;
                self.symbols.mark_global(symbol, span);
                if !cursor.eat(",") {
                    return Ok(cursor.expect_end()?);
                }
            },
            // What they say matters to linkers only.
            ".type" | ".size" | ".file" | ".ident" | ".weak" | ".local" | ".hidden"
            | ".addrsig" | ".addrsig_sym" => {
                self.moved = true;
                Ok(())
            }
            ".section" => {
                // What follows the name, such as flags, matters to linkers only.
                let mark = cursor.mark();
                if cursor.peek() == Some('"') {
                    let name = cursor.string()?;
                    let name = String::from_utf8_lossy(&name).into_owned();
                    return self.section(&name, cursor.span_from(mark));
                }
                let (section, span) = self.word(cursor, "the name of a section")?;
                self.section(section, span)
            }
            _ if self.layout.section_names().contains(&lower.as_str()) => {
                cursor.expect_end()?;
                self.section(&lower, span)
            }
            _ if self.dialect.syntax.directives.contains(&lower.as_str()) => {
                let arguments = cursor.rest().trim_end().to_owned();
                let address = self.layout.address();
                self.directives.push(MachineDirective { name: lower, arguments, address, span });
                self.moved = true;
                Ok(())
            }
            _ => match self.data(&lower, cursor) {
                Some(result) => result,
                None => Err(self.unknown(name, &lower, span)),
            },
        }
    }

    fn unknown(&self, name: &str, lower: &str, span: Span) -> Problem {
        let error =
            Diagnostic::error("asm::unknown-directive", format!("there is no directive `{name}`"))
                .at(span, "");
        let own = self.dialect.syntax.directives.iter().copied();
        match self.suggest(lower, own.chain(ALL)) {
            Some(near) => error.help(format!("there is `{near}`")).into(),
            None => error.into(),
        }
    }

    fn word<'t>(&self, cursor: &mut Cursor<'t>, what: &str) -> Result<(&'t str, Span), Problem> {
        let mark = cursor.mark();
        let word = cursor.word().ok_or_else(|| cursor.expected(what))?;
        Ok((word, cursor.span_from(mark)))
    }

    fn symbol<'t>(&self, cursor: &mut Cursor<'t>) -> Result<(&'t str, Span), Problem> {
        let (name, span) = self.word(cursor, "a symbol")?;
        self.check_name(name, span)?;
        Ok((name, span))
    }

    fn section(&mut self, name: &str, span: Span) -> Result<(), Problem> {
        self.moved = true;
        let name = name.to_ascii_lowercase();
        let name = name.as_str();
        // Compilers put functions and strings into sections of their own: `.text.f`.
        let stem = |&at: &usize| self.layout.section_names().contains(&&name[..at]);
        let dots: Vec<usize> = name.match_indices('.').map(|(at, _)| at).collect();
        let stem = dots.iter().rev().copied().filter(|&at| at > 0).find(|at| stem(at));
        if self.layout.enter(name) || stem.is_some_and(|at| self.layout.enter(&name[..at])) {
            return Ok(());
        }
        // A note for linkers, without contents.
        if name == ".note.gnu-stack" {
            return Ok(());
        }
        let names = self.layout.section_names().join(", ");
        Err(Diagnostic::error("asm::unknown-section", format!("there is no section `{name}`"))
            .at(span, "")
            .help(format!("sections are {names}; `.org` goes to any address"))
            .into())
    }

    fn org(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Problem> {
        self.moved = true;
        let expr = cursor.expr()?;
        cursor.expect_end()?;
        let value = self.needed_now(&expr)?;
        let address = u64::try_from(value).map_err(|_| {
            Diagnostic::error("asm::out-of-range", format!("{value} is not an address"))
                .at(expr.span(), "addresses are 0 to 2^64-1")
        })?;
        self.layout.go_to(address);
        Ok(())
    }

    fn align(&mut self, cursor: &mut Cursor<'_>, exponent: bool) -> Result<(), Problem> {
        let mark = cursor.mark();
        let expr = cursor.expr()?;
        // What fills the gap: zeros here.
        if cursor.eat(",") {
            let fill = cursor.expr()?;
            let filler = self.needed_now(&fill)?;
            if filler != 0 {
                let error = format!("a gap is filled with zeros, not {filler}");
                return Err(Diagnostic::error("asm::out-of-range", error)
                    .at(fill.span(), "")
                    .into());
            }
        }
        cursor.expect_end()?;
        let value = self.needed_now(&expr)?;
        let alignment = match u32::try_from(value) {
            Ok(n) if exponent && n < 32 => Some(1u64 << n),
            Ok(n) if !exponent && n.is_power_of_two() => Some(u64::from(n)),
            _ => None,
        };
        let Some(alignment) = alignment else {
            let possible =
                if exponent { "0 to 31 (an exponent)" } else { "powers of two below 2^32" };
            return Err(Diagnostic::error("asm::out-of-range", format!("an alignment of {value}"))
                .at(expr.span(), format!("possible are {possible}"))
                .into());
        };
        self.layout.align(alignment, cursor.span_from(mark))
    }
}
