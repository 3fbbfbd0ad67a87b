//! Items of a module: source files, variables, functions' beginnings.

use super::{Parse, Parser, Tok, closest, error, literal, suggest};
use crate::module::{Inlined, Reloc, Symbol, Var, VarId};
use crate::ty::Ty;
use isa::Span;
use simt::observe::Space;

const ITEMS: [&str; 7] = ["source", "inlined", "global", "const", "shared", "kernel", "func"];

impl Parser<'_> {
    /// First pass: everything but addresses in initialisers and the blocks of functions.
    pub(super) fn items(&mut self) {
        loop {
            self.skip_newlines();
            if self.peek().kind == Tok::End {
                return;
            }
            let result = self.item();
            self.recover(result);
        }
    }

    fn item(&mut self) -> Parse<()> {
        let word = self.peek();
        match self.slice(word.span) {
            "source" => {
                self.next();
                let (name, _) = self.name(&[Tok::Str], "a file name in quotes")?;
                self.module.files.push(name);
                self.end_of_line()
            }
            "inlined" => {
                self.next();
                let (name, _) = self.name(&[Tok::Str], "a function's name in quotes")?;
                let call = self.source_line()?;
                self.module.inlined.push(Inlined { function: name.into(), call });
                self.end_of_line()
            }
            "global" => self.variable(Space::Global),
            "const" => self.variable(Space::Const),
            "shared" => self.variable(Space::Shared),
            kind @ ("kernel" | "func") => {
                self.next();
                self.function(kind == "kernel")
            }
            other => {
                let expected = self.unexpected("a variable, a kernel or a function");
                Err(suggest(expected, closest(other, ITEMS.into_iter())))
            }
        }
    }

    /// Enters a symbol of the module.
    pub(super) fn define(&mut self, name: &str, span: Span, symbol: Symbol) -> Parse<()> {
        if self.symbols.insert(name.to_owned(), symbol).is_some() {
            return Err(error(span, "ir::duplicate-name", format!("`@{name}` is defined twice")));
        }
        Ok(())
    }

    fn variable(&mut self, space: Space) -> Parse<()> {
        self.next();
        let (name, span) = self.name(&[Tok::Sym], "the variable's name, such as `@table`")?;
        let id = VarId(self.module.vars.len() as u32);
        self.define(&name, span, Symbol::Var(id))?;
        let (init, relocs) = (Vec::new(), Vec::new());
        self.module.vars.push(Var { name, space, size: 0, align: 8, init, relocs, dynamic: false });
        let mut size = None;
        loop {
            if self.eat_word("size") {
                size = Some(self.unsigned("the size in bytes")?);
            } else if self.eat_word("align") {
                self.module.vars[id.index()].align = self.unsigned32("the alignment in bytes")?;
            } else if self.eat_word("dynamic") {
                self.module.vars[id.index()].dynamic = true;
            } else {
                break;
            }
        }
        let init = if self.eat(b'=') { self.initialiser()? } else { Vec::new() };
        let var = &mut self.module.vars[id.index()];
        let Some(size) =
            size.or_else(|| (var.dynamic || !init.is_empty()).then_some(init.len() as u64))
        else {
            return Err(self.unexpected("`size` or an initialiser"));
        };
        (var.size, var.init) = (size, init);
        self.end_of_line()?;
        self.find_relocs(id);
        Ok(())
    }

    /// Notes the `reloc` lines that follow a variable, to be read when all symbols are known.
    fn find_relocs(&mut self, var: VarId) {
        loop {
            let start = self.at;
            self.skip_newlines();
            if !self.is_word("reloc") {
                self.at = start;
                return;
            }
            self.relocs.push((var.index(), self.at));
            self.skip_line();
        }
    }

    /// Second pass.
    pub(super) fn initialiser_addresses(&mut self) {
        for (var, at) in std::mem::take(&mut self.relocs) {
            self.at = at + 1;
            let result = self.reloc(var);
            self.recover(result);
        }
    }

    fn reloc(&mut self, var: usize) -> Parse<()> {
        let offset = self.unsigned32("the offset in the variable")?;
        self.expect(b':')?;
        let size = match self.slice(self.peek().span) {
            "u8" => 1,
            "u32" => 4,
            "u64" => 8,
            _ => return Err(self.unexpected("`u8`, `u32` or `u64`")),
        };
        self.next();
        let generic = self.eat_word("generic");
        let symbol = self.symbol(None)?;
        let addend = self.offset()?.unwrap_or(0);
        let byte =
            if self.eat_word("byte") { self.unsigned32("which byte of the address")? } else { 0 };
        self.end_of_line()?;
        self.module.vars[var].relocs.push(Reloc { offset, size, symbol, addend, generic, byte });
        Ok(())
    }

    /// The bytes between brackets.
    fn initialiser(&mut self) -> Parse<Vec<u8>> {
        self.expect(b'[')?;
        let (mut bytes, mut ty) = (Vec::new(), Ty::U8);
        self.list(b']', |p| p.initial_value(&mut ty, &mut bytes))?;
        Ok(bytes)
    }

    /// A string, bytes in hexadecimal, or a number of the type last named.
    fn initial_value(&mut self, ty: &mut Ty, out: &mut Vec<u8>) -> Parse<()> {
        let token = self.peek();
        let is_string = |p: &Self| p.peek().kind == Tok::Str;
        if is_string(self) {
            self.next();
            let bytes = literal::unquote(self.slice(token.span));
            out.extend(bytes.map_err(|e| error(token.span, "ir::string", e))?);
            return Ok(());
        }
        if self.eat_word("hex") {
            if !is_string(self) {
                return Err(self.unexpected("bytes such as \"00ff\""));
            }
            let token = self.next();
            return hex(self.slice(token.span), out).ok_or_else(|| {
                error(token.span, "ir::string", "expected pairs of hexadecimal digits")
            });
        }
        if token.kind == Tok::Word {
            *ty = Ty::from_name(self.slice(token.span))
                .filter(|t| !matches!(t, Ty::Pred | Ty::Mask))
                .ok_or_else(|| self.unexpected("a value, a type, `hex` or a string"))?;
            self.next();
        }
        let negative = self.eat(b'-');
        let bits = self.literal(negative, Some(*ty))?;
        out.extend_from_slice(&bits.to_le_bytes()[..ty.bytes() as usize]);
        Ok(())
    }

    /// A number literal.
    pub(super) fn literal(&mut self, negative: bool, ty: Option<Ty>) -> Parse<u128> {
        if self.peek().kind != Tok::Number {
            return Err(self.unexpected("a number"));
        }
        let token = self.next();
        literal::read(self.slice(token.span), negative, ty)
            .map_err(|e| error(token.span, "ir::number", e))
    }
}

/// Bytes from pairs of hexadecimal digits in quotes; blanks may stand between pairs.
fn hex(text: &str, out: &mut Vec<u8>) -> Option<()> {
    let mut digits = text.bytes().filter(|b| !matches!(b, b' ' | b'"'));
    let digit = |b: u8| char::from(b).to_digit(16);
    while let Some(high) = digits.next() {
        // Two digits make at most 255.
        out.push((digit(high)? << 4 | digit(digits.next()?)?) as u8);
    }
    Some(())
}
