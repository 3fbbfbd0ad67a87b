//! Beginnings of functions: signatures and declarations.

use super::{MAX_COUNTED_REGS, Parse, Parser, Tok, closest, error, suggest};
use crate::module::{
    FuncId, Function, LaneReg, LaunchBounds, LocalVar, Origin, Param, Reg, Signature, Symbol,
};
use crate::ty::{RegTy, Ty};
use isa::Span;
use rustc_hash::FxHashMap;
use simt::observe::Space;

/// A function's names, and where its blocks begin.
pub(super) struct Scope {
    pub(super) func: FuncId,
    pub(super) regs: FxHashMap<String, Reg>,
    pub(super) symbols: FxHashMap<String, Symbol>,
    /// Index of the first token of the blocks; none if the function has no braces.
    pub(super) blocks: Option<usize>,
}

/// A register in the head of a function: its name, and its type if it is declared there.
type HeadReg = (String, Span, Option<RegTy>);

impl Scope {
    /// A register by name.
    pub(super) fn reg(&self, name: &str, span: Span) -> Parse<Reg> {
        self.regs.get(name).copied().ok_or_else(|| {
            let message = format!("no register is named `%{name}`");
            let help = closest(name, self.regs.keys().map(String::as_str));
            let help = help.map(|name| format!("%{name}"));
            suggest(error(span, "ir::unknown-name", message), help.as_deref())
        })
    }

    /// A per-lane register by name.
    pub(super) fn lane_reg(&self, name: &str, span: Span) -> Parse<LaneReg> {
        match self.reg(name, span)? {
            Reg::Lane(reg) => Ok(reg),
            Reg::Warp(_) => {
                let message =
                    format!("`%{name}` is a warp register; a per-lane one must stand here");
                Err(error(span, "ir::register", message))
            }
        }
    }

    fn declare(&mut self, name: &str, span: Span, reg: Reg) -> Parse<()> {
        if self.regs.insert(name.to_owned(), reg).is_some() {
            let message = format!("register `%{name}` is declared twice");
            return Err(error(span, "ir::duplicate-name", message));
        }
        Ok(())
    }

    fn define(&mut self, name: &str, span: Span, symbol: Symbol) -> Parse<()> {
        if self.symbols.insert(name.to_owned(), symbol).is_some() {
            let message = format!("the function has two symbols `@{name}`");
            return Err(error(span, "ir::duplicate-name", message));
        }
        Ok(())
    }
}

/// The next multiple of `align`, which may be anything a file says.
fn align_up(offset: u32, align: u32) -> Option<u32> {
    offset.checked_next_multiple_of(align.max(1))
}

impl Parser<'_> {
    /// A function up to its closing brace; its blocks are only passed over.
    pub(super) fn function(&mut self, kernel: bool) -> Parse<()> {
        let (name, span) = self.name(&[Tok::Sym], "the function's name, such as `@main`")?;
        let func = FuncId(self.module.functions.len() as u32);
        self.define(&name, span, Symbol::Func(func))?;
        let signature = if kernel {
            Signature::Kernel { params: Vec::new(), bounds: LaunchBounds::default() }
        } else {
            Signature::Device { params: Vec::new(), results: Vec::new() }
        };
        let mut function = Function::new(name, signature);
        function.loc = self.place(span);
        self.module.functions.push(function);
        let (regs, symbols) = (FxHashMap::default(), FxHashMap::default());
        let mut scope = Scope { func, regs, symbols, blocks: None };
        let head = if kernel {
            self.kernel_head(&mut scope).map(|()| Default::default())
        } else {
            self.device_head(&mut scope)
        };
        let head = head.unwrap_or_else(|diagnostic| {
            self.out.push(*diagnostic);
            self.skip_to_brace();
            Default::default()
        });
        self.attributes_of_function(func)?;
        self.expect(b'{')?;
        self.declarations(&mut scope);
        scope.blocks = Some(self.at);
        let signature = self.finish_head(&scope, head);
        self.scopes.push(scope);
        self.skip_body();
        signature
    }

    /// After an error in the head: to the brace, if it is on this line.
    fn skip_to_brace(&mut self) {
        while !matches!(self.peek().kind, Tok::Punct(b'{') | Tok::Newline | Tok::End) {
            self.at += 1;
        }
    }

    /// To the end of the function: its brace, or the next function where the brace was forgotten.
    fn skip_body(&mut self) {
        loop {
            let starts = self.is_word("kernel") || self.is_word("func");
            let next_function = starts && self.ahead(1).kind == Tok::Sym;
            if next_function || self.peek().kind == Tok::End {
                return;
            }
            if self.next().kind == Tok::Punct(b'}') {
                return;
            }
        }
    }

    /// A place after the head.
    fn attributes_of_function(&mut self, func: FuncId) -> Parse<()> {
        let loc = self.module.functions[func.index()].loc;
        let span = self.module.loc(loc).span;
        let (origin, loc) = self.attributes(span)?;
        if origin != Origin::Source {
            return Err(error(span, "ir::syntax", "a function has no origin"));
        }
        self.module.functions[func.index()].loc = loc;
        Ok(())
    }

    fn kernel_head(&mut self, scope: &mut Scope) -> Parse<()> {
        self.expect(b'(')?;
        let (mut params, mut end) = (Vec::new(), 0);
        let read = self.list(b')', |p| {
            let index = params.len() as u32;
            let (param, span) = p.param(&mut end)?;
            scope.define(&param.name, span, Symbol::Param(index))?;
            params.push(param);
            Ok(())
        });
        let bounds = read.and_then(|()| self.bounds());
        let result = bounds.as_ref().map(|_| ()).map_err(Clone::clone);
        let bounds = bounds.unwrap_or_default();
        self.module.functions[scope.func.index()].signature = Signature::Kernel { params, bounds };
        result
    }

    fn param(&mut self, end: &mut u32) -> Parse<(Param, Span)> {
        let (name, span) = self.name(&[Tok::Word, Tok::Str], "a parameter's name")?;
        self.expect(b':')?;
        let ty = self.ty()?;
        let pointer = space_from_word(self.slice(self.peek().span));
        self.at += usize::from(pointer.is_some());
        let mut size = ty.bytes();
        if self.eat_word("size") {
            size = self.unsigned32("the size in bytes")?;
        }
        let mut align = ty.bytes();
        if self.eat_word("align") {
            align = self.unsigned32("the alignment in bytes")?;
        }
        let offset = self.place_in(end, size, align, span)?;
        Ok((Param { name, ty, offset, size, align, pointer }, span))
    }

    /// The offset of something of this size and alignment after `end`, unless one is given.
    fn place_in(&mut self, end: &mut u32, size: u32, align: u32, span: Span) -> Parse<u32> {
        let offset = if self.eat_word("offset") {
            Some(self.unsigned32("the offset in bytes")?)
        } else {
            align_up(*end, align)
        };
        let next = offset.and_then(|o| o.checked_add(size));
        let (Some(offset), Some(next)) = (offset, next) else {
            return Err(error(span, "ir::number", "this lies beyond 4 GiB"));
        };
        *end = next;
        Ok(offset)
    }

    fn bounds(&mut self) -> Parse<LaunchBounds> {
        let mut bounds = LaunchBounds::default();
        loop {
            if self.eat_word("maxntid") {
                bounds.max = Some(self.dimensions()?);
            } else if self.eat_word("reqntid") {
                bounds.required = Some(self.dimensions()?);
            } else if self.eat_word("cluster") {
                bounds.cluster = Some(self.dimensions()?);
            } else if self.eat_word("maxcluster") {
                bounds.max_cluster = Some(self.unsigned32("a number of CTAs")?);
            } else if self.eat_word("explicitcluster") {
                bounds.explicit_cluster = true;
            } else if self.eat_word("blocksareclusters") {
                bounds.blocks_are_clusters = true;
            } else {
                return Ok(bounds);
            }
        }
    }

    fn dimensions(&mut self) -> Parse<[u32; 3]> {
        let mut out = [1; 3];
        self.expect(b'(')?;
        for (i, dimension) in out.iter_mut().enumerate() {
            if i > 0 {
                self.expect(b',')?;
            }
            *dimension = self.unsigned32("a number of threads")?;
        }
        self.expect(b')')?;
        Ok(out)
    }

    fn device_head(&mut self, scope: &mut Scope) -> Parse<(Vec<HeadReg>, Vec<HeadReg>)> {
        self.expect(b'(')?;
        let params = self.head_regs(scope)?;
        let mut results = Vec::new();
        if self.eat(b'-') {
            self.expect(b'>')?;
            self.expect(b'(')?;
            results = self.head_regs(scope)?;
        }
        Ok((params, results))
    }

    fn head_regs(&mut self, scope: &mut Scope) -> Parse<Vec<HeadReg>> {
        let mut out = Vec::new();
        self.list(b')', |p| {
            let (name, span) = p.name(&[Tok::Reg], "a register such as `%x`")?;
            let ty = if p.eat(b':') { Some(p.reg_ty()?) } else { None };
            if let Some(ty) = ty {
                let reg = p.module.functions[scope.func.index()].new_reg(&name, ty);
                scope.declare(&name, span, Reg::Lane(reg))?;
            }
            out.push((name, span, ty));
            Ok(())
        })?;
        Ok(out)
    }

    /// Looks up the registers of a device function's head, when all declarations are read.
    fn finish_head(&mut self, scope: &Scope, head: (Vec<HeadReg>, Vec<HeadReg>)) -> Parse<()> {
        let find = |list: Vec<HeadReg>| -> Parse<Vec<LaneReg>> {
            list.iter().map(|(name, span, _)| scope.lane_reg(name, *span)).collect()
        };
        let (found_params, found_results) = (find(head.0)?, find(head.1)?);
        if let Signature::Device { params, results } =
            &mut self.module.functions[scope.func.index()].signature
        {
            (*params, *results) = (found_params, found_results);
        }
        Ok(())
    }

    /// Lines of declarations at the beginning of a body.
    fn declarations(&mut self, scope: &mut Scope) {
        loop {
            self.skip_newlines();
            let is_label = self.ahead(1).kind == Tok::Punct(b':');
            let word = self.peek();
            let known = matches!(self.slice(word.span), "reg" | "warp" | "local" | "spills");
            if word.kind != Tok::Word || is_label || !known {
                return;
            }
            self.next();
            let result = self.declaration(self.slice(word.span), scope);
            self.recover(result);
        }
    }

    fn declaration(&mut self, kind: &str, scope: &mut Scope) -> Parse<()> {
        match kind {
            "reg" => self.registers(scope, false)?,
            "warp" => self.registers(scope, true)?,
            "local" => self.local(scope)?,
            _ => {
                let slots = self.unsigned32("the number of spill slots")?;
                self.module.functions[scope.func.index()].spill_slots = slots;
            }
        }
        self.end_of_line()
    }

    /// `%a, %r<3>: b32`, where `%r<3>` stands for `%r0, %r1, %r2`.
    fn registers(&mut self, scope: &mut Scope, warp: bool) -> Parse<()> {
        let mut names = Vec::new();
        loop {
            let (name, span) = self.name(&[Tok::Reg], "a register such as `%x`")?;
            if self.eat(b'<') {
                self.counted(&name, span, &mut names)?;
            } else {
                names.push((name, span));
            }
            if !self.eat(b',') {
                break;
            }
        }
        self.expect(b':')?;
        let ty = self.reg_ty()?;
        let function = &mut self.module.functions[scope.func.index()];
        for (name, span) in names {
            let reg = if warp {
                Reg::Warp(function.new_warp_reg(&name, ty))
            } else {
                Reg::Lane(function.new_reg(&name, ty))
            };
            scope.declare(&name, span, reg)?;
        }
        Ok(())
    }

    fn counted(&mut self, name: &str, span: Span, out: &mut Vec<(String, Span)>) -> Parse<()> {
        let count = self.unsigned32("the number of registers")?;
        self.expect(b'>')?;
        let total = self.counted_regs.checked_add(count).filter(|&n| n <= MAX_COUNTED_REGS);
        let Some(total) = total else {
            let message = format!("counted declarations make at most {MAX_COUNTED_REGS} registers");
            return Err(error(span, "ir::limit", message));
        };
        self.counted_regs = total;
        out.extend((0..count).map(|i| (format!("{name}{i}"), span)));
        Ok(())
    }

    fn local(&mut self, scope: &mut Scope) -> Parse<()> {
        let (name, span) = self.name(&[Tok::Sym], "the variable's name, such as `@buf`")?;
        if !self.eat_word("size") {
            return Err(self.unexpected("`size`"));
        }
        let size = self.unsigned32("the size in bytes")?;
        let align =
            if self.eat_word("align") { self.unsigned32("the alignment in bytes")? } else { 8 };
        let locals = &self.module.functions[scope.func.index()].locals;
        // The printer goes by the same rule: each after the one declared before it.
        let mut end = locals.last().map_or(0, |l| l.offset.saturating_add(l.size));
        let index = locals.len() as u32;
        let offset = self.place_in(&mut end, size, align, span)?;
        scope.define(&name, span, Symbol::Local(index))?;
        let local = LocalVar { name, offset, size, align };
        self.module.functions[scope.func.index()].locals.push(local);
        Ok(())
    }

    /// A type's name.
    fn ty(&mut self) -> Parse<Ty> {
        let word = self.slice(self.peek().span);
        match Ty::from_name(word) {
            Some(ty) => {
                self.next();
                Ok(ty)
            }
            None => Err(self.unexpected("a type such as `b32`")),
        }
    }

    /// A type of registers: any type's name, of which only the width counts.
    fn reg_ty(&mut self) -> Parse<RegTy> {
        Ok(self.ty()?.reg())
    }
}

/// The space of a word.
fn space_from_word(word: &str) -> Option<Space> {
    let mut mods = crate::Mods::default();
    mods.set_word(crate::mods::Kind::Space, word);
    mods.space
}
