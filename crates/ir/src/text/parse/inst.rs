//! Instructions and ends of blocks.

use super::body::Body;
use super::{Parse, Parser, Tok, closest, error, suggest};
use crate::mods::{Flag, Kind};
use crate::module::{
    BlockId, Guard, InlinedId, Inst, Loc, LocId, MaskRef, MaskTest, Operand, Origin, Reg,
    Signature, SourceLine, Symbol, Term, TermKind,
};
use crate::op::{Class, OPS, Op, Slot};
use crate::sreg::Sreg;
use crate::ty::Ty;
use isa::Span;
use smallvec::SmallVec;

const ENDS: [&str; 7] = ["br", "switch", "maskbr.any", "maskbr.none", "ret", "exit", "fall"];

impl Parser<'_> {
    /// An instruction or the end of a block, up to but not including the end of the line.
    pub(super) fn statement(&mut self, body: &mut Body<'_>) -> Parse<()> {
        let start = self.peek().span;
        let guard = self.guard(body)?;
        let word = self.slice(self.peek().span);
        if ENDS.contains(&word) {
            let kind = self.end(word, guard, body)?;
            let (origin, loc) = self.attributes(start)?;
            if let Some(block) = body.blocks.last_mut() {
                block.term = Term { kind, origin, loc };
            }
            body.open = false;
            return Ok(());
        }
        let mut inst = self.inst(body)?;
        inst.guard = guard;
        (inst.origin, inst.loc) = self.attributes(start)?;
        if let Some(block) = body.blocks.last_mut() {
            block.insts.push(inst);
        }
        Ok(())
    }

    fn guard(&mut self, body: &Body<'_>) -> Parse<Option<Guard>> {
        if !self.eat(b'@') {
            return Ok(None);
        }
        let negated = self.eat(b'!');
        let (name, span) = self.name(&[Tok::Reg], "a predicate register such as `%p`")?;
        let pred = body.scope.lane_reg(&name, span)?;
        Ok(Some(Guard { pred, negated }))
    }

    /// The end of a block, of which `word` is the first word.
    fn end(&mut self, word: &str, guard: Option<Guard>, body: &mut Body<'_>) -> Parse<TermKind> {
        let span = self.next().span;
        let kind = match word {
            "br" => {
                let target = self.label(body)?;
                return Ok(guard.map_or(TermKind::Br(target), |g| TermKind::CondBr(g, target)));
            }
            "ret" => return Ok(TermKind::Ret(guard)),
            "exit" => return Ok(TermKind::Exit(guard)),
            "fall" => TermKind::Fall,
            "switch" => self.switch(body)?,
            _ => {
                let test = if word == "maskbr.any" { MaskTest::Any } else { MaskTest::None };
                let mask = self.mask_ref(body)?;
                self.expect(b',')?;
                TermKind::MaskBr(test, mask, self.label(body)?)
            }
        };
        match guard {
            Some(_) => Err(error(span, "ir::guard", format!("`{word}` cannot have a guard"))),
            None => Ok(kind),
        }
    }

    fn switch(&mut self, body: &mut Body<'_>) -> Parse<TermKind> {
        let index = match self.peek().kind {
            Tok::Reg => Operand::Reg(self.reg(body)?),
            _ => Operand::Imm(self.literal(false, Some(Ty::B32))?),
        };
        self.expect(b',')?;
        self.expect(b'[')?;
        let mut targets = Vec::new();
        self.list(b']', |p| {
            targets.push(p.label(body)?);
            Ok(())
        })?;
        Ok(TermKind::Switch(index, targets))
    }

    fn mask_ref(&mut self, body: &Body<'_>) -> Parse<MaskRef> {
        if self.eat_word("exec") {
            return Ok(MaskRef::Exec);
        }
        Ok(match self.reg(body)? {
            Reg::Warp(reg) => MaskRef::Reg(reg),
            Reg::Lane(reg) => MaskRef::Pred(reg),
        })
    }

    fn label(&mut self, body: &mut Body<'_>) -> Parse<BlockId> {
        let (name, span) = self.name(&[Tok::Word, Tok::Str], "a label")?;
        Ok(body.use_label(name, span))
    }

    fn reg(&mut self, body: &Body<'_>) -> Parse<Reg> {
        let (name, span) = self.name(&[Tok::Reg], "a register such as `%x`")?;
        body.scope.reg(&name, span)
    }

    /// Results, operation, operands.
    fn inst(&mut self, body: &mut Body<'_>) -> Parse<Inst> {
        let results = self.results(body)?;
        let mut inst = self.operation()?;
        inst.results = results;
        let at_end = |p: &Self| {
            let kind = p.peek().kind;
            matches!(kind, Tok::Newline | Tok::End | Tok::Punct(b'!' | b'}'))
        };
        if inst.op.info().class == Class::Call {
            self.operand(&mut inst, body)?;
            self.expect(b'(')?;
            self.list(b')', |p| p.operand(&mut inst, body))?;
        } else if !at_end(self) {
            self.operand(&mut inst, body)?;
            while self.eat(b',') {
                self.operand(&mut inst, body)?;
            }
        }
        Ok(inst)
    }

    fn results(&mut self, body: &Body<'_>) -> Parse<SmallVec<[Option<Reg>; 2]>> {
        let mut results = SmallVec::new();
        if self.peek().kind != Tok::Reg && !self.is_word("_") {
            return Ok(results);
        }
        loop {
            let discard = self.eat_word("_");
            results.push(if discard { None } else { Some(self.reg(body)?) });
            if !self.eat(b',') {
                self.expect(b'=')?;
                return Ok(results);
            }
        }
    }

    /// The operation's name with its modifiers and types, in any order but that of two types.
    fn operation(&mut self) -> Parse<Inst> {
        if self.peek().kind != Tok::Word {
            return Err(self.unexpected("an operation"));
        }
        let span = self.next().span;
        let mut words = self.slice(span).split('.');
        let name = words.next().unwrap_or("");
        let Some(op) = Op::from_name(name) else { return Err(self.unknown_op(name, span)) };
        let mut inst = Inst::new(op);
        let mut start = span.start + name.len() as u32;
        for word in words {
            let place = Span::new(span.file, start + 1, start + 1 + word.len() as u32);
            start = place.end;
            refine(&mut inst, word).map_err(|e| bad_word(op, word, e, place))?;
        }
        let row = op.info();
        let missing = |ty: Option<Ty>, set: crate::ty::TySet| ty.is_none() && !set.is_empty();
        if missing(inst.ty, row.types) || missing(inst.ty2, row.types2) {
            let which = if inst.ty.is_none() { "a type" } else { "a second type" };
            let set = if inst.ty.is_none() { row.types } else { row.types2 };
            let message = format!("`{name}` needs {which}: {}", join(set.iter().map(Ty::name)));
            return Err(error(span.after(), "ir::type", message));
        }
        Ok(inst)
    }

    fn unknown_op(&self, name: &str, span: Span) -> Box<isa::Diagnostic> {
        if matches!(name, "reg" | "warp" | "local" | "spills") {
            let message = "declarations come before the first block";
            return error(span, "ir::syntax", message);
        }
        let names = OPS.iter().map(|row| row.name).chain(ENDS);
        let place = Span::new(span.file, span.start, span.start + name.len() as u32);
        let message = format!("`{name}` is not an operation");
        suggest(error(place, "ir::unknown-op", message), closest(name, names))
    }

    fn operand(&mut self, inst: &mut Inst, body: &mut Body<'_>) -> Parse<()> {
        let slot = inst.operand_slot(inst.operands.len());
        let token = self.peek();
        let operand = match token.kind {
            Tok::Punct(b'[') => self.address(inst, slot, body)?,
            _ if slot == Some(Slot::Addr) => {
                return Err(self.unexpected("an address such as `[%x + 4]`"));
            }
            Tok::Reg => Operand::Reg(self.reg(body)?),
            Tok::Sym | Tok::ModuleSym => self.symbol_operand(slot, body)?,
            Tok::Str if slot == Some(Slot::Block) => Operand::Block(self.label(body)?),
            Tok::Word => self.word_operand(inst, slot, body)?,
            Tok::Number | Tok::Punct(b'-') => {
                let negative = self.eat(b'-');
                Operand::Imm(self.literal(negative, self.operand_ty(inst, slot))?)
            }
            _ => return Err(self.unexpected("an operand")),
        };
        inst.operands.push(operand);
        Ok(())
    }

    /// The type as which an immediate is read.
    fn operand_ty(&self, inst: &Inst, slot: Option<Slot>) -> Option<Ty> {
        let slot = slot?;
        if slot != Slot::Any {
            return inst.slot_ty(slot);
        }
        argument_ty(&self.module, inst, inst.operands.len())
    }

    /// Whether the operand is a predicate, or the last one of a barrier's reduction if it is the
    /// last.
    fn may_be_pred(&self, inst: &Inst, slot: Option<Slot>) -> bool {
        let reduces = inst.mods.barrier.is_some_and(crate::mods::Barrier::reduces);
        let last_of_bar = inst.op == Op::Bar && reduces && !inst.operands.is_empty();
        last_of_bar || self.operand_ty(inst, slot) == Some(Ty::Pred)
    }

    fn symbol_operand(&mut self, slot: Option<Slot>, body: &Body<'_>) -> Parse<Operand> {
        let span = self.peek().span;
        let symbol = self.symbol(Some(body.scope))?;
        if slot != Some(Slot::Func) {
            return Ok(Operand::Symbol(symbol, self.offset()?.unwrap_or(0)));
        }
        match symbol {
            Symbol::Func(func) => Ok(Operand::Func(func)),
            _ => Err(error(span, "ir::unknown-name", "this is not a function")),
        }
    }

    fn word_operand(
        &mut self,
        inst: &Inst,
        slot: Option<Slot>,
        body: &mut Body<'_>,
    ) -> Parse<Operand> {
        let token = self.peek();
        let word = self.slice(token.span);
        match (slot, word) {
            (Some(Slot::Block), _) => Ok(Operand::Block(self.label(body)?)),
            (Some(Slot::Sreg), _) => {
                self.next();
                Sreg::from_name(word).map(Operand::Sreg).ok_or_else(|| {
                    let message = format!("`{word}` is not a special register");
                    let names = Sreg::ALL.iter().map(|s| s.name());
                    suggest(error(token.span, "ir::unknown-name", message), closest(word, names))
                })
            }
            (_, "true" | "false") if self.may_be_pred(inst, slot) => {
                self.next();
                Ok(Operand::Imm(u128::from(word == "true")))
            }
            _ => Err(self.unexpected("an operand")),
        }
    }

    /// `[base + N]`. Of a symbol with two offsets, the first belongs to the symbol.
    fn address(&mut self, inst: &mut Inst, slot: Option<Slot>, body: &Body<'_>) -> Parse<Operand> {
        let span = self.next().span;
        if slot != Some(Slot::Addr) {
            let message = format!(
                "operand {} of `{}` is not an address",
                inst.operands.len() + 1,
                inst.op.name()
            );
            return Err(error(span, "ir::operand", message));
        }
        let base = match self.peek().kind {
            Tok::Reg => Operand::Reg(self.reg(body)?),
            Tok::Sym | Tok::ModuleSym => {
                let symbol = self.symbol(Some(body.scope))?;
                Operand::Symbol(symbol, self.offset()?.unwrap_or(0))
            }
            Tok::Number => Operand::Imm(self.literal(false, Some(Ty::B64))?),
            _ => return Err(self.unexpected("a register, a symbol or a number")),
        };
        inst.offset = self.offset()?.unwrap_or(0);
        self.expect(b']')?;
        Ok(base)
    }

    /// What may stand behind an instruction: its origin and the source line it came from.
    pub(super) fn attributes(&mut self, start: Span) -> Parse<(Origin, LocId)> {
        let (mut origin, mut line) = (Origin::Source, None);
        let end = self.tokens[self.at.saturating_sub(1)].span;
        while self.eat(b'!') {
            let token = self.peek();
            let word = self.slice(token.span);
            if self.eat_word("loc") {
                line = Some(self.source_line()?);
                continue;
            }
            let known = Origin::ALL.iter().find(|(_, w)| *w == word);
            let Some(&(found, _)) = known else {
                let words = Origin::ALL.iter().map(|o| o.1).chain(["loc"]);
                return Err(suggest(self.unexpected("an origin or `loc`"), closest(word, words)));
            };
            self.next();
            origin = found;
        }
        let span = start.to(end);
        Ok((origin, self.module.add_loc(Loc { span, line })))
    }

    /// `(file, line, column)` or `(file, line, column, inlined)`.
    pub(super) fn source_line(&mut self) -> Parse<SourceLine> {
        self.expect(b'(')?;
        let span = self.peek().span;
        let file = self.unsigned32("the number of a `source`, from 0")?;
        if file as usize >= self.module.files.len() {
            let message = format!("there is no `source` number {file}");
            return Err(error(span, "ir::unknown-name", message));
        }
        self.expect(b',')?;
        let line = self.unsigned32("a line")?;
        self.expect(b',')?;
        let column = self.unsigned32("a column")?;
        let mut inlined = None;
        if self.eat(b',') {
            let span = self.peek().span;
            let id = self.unsigned32("the number of an `inlined`, from 0")?;
            if id as usize >= self.module.inlined.len() {
                let message = format!("there is no `inlined` number {id} before");
                return Err(error(span, "ir::unknown-name", message));
            }
            inlined = Some(InlinedId(id));
        }
        self.expect(b')')?;
        Ok(SourceLine { file, line, column, inlined })
    }
}

/// The type of a call's operand, if the function called is known.
pub(in crate::text) fn argument_ty(
    module: &crate::Module,
    inst: &Inst,
    operand: usize,
) -> Option<Ty> {
    let Some(Operand::Func(id)) = inst.operands.first() else { return None };
    let function = module.functions.get(id.index())?;
    let Signature::Device { params, .. } = &function.signature else { return None };
    let reg = params.get(operand.checked_sub(1)?)?;
    function.regs.get(reg.index()).map(|info| info.ty.ty())
}

/// Why a word behind an operation's name is wrong.
#[derive(Clone, Copy)]
enum BadWord {
    Unknown,
    Twice,
}

/// Applies a modifier, flag or type.
fn refine(inst: &mut Inst, word: &str) -> Result<(), BadWord> {
    let row = inst.op.info();
    for kind in row.kinds.iter() {
        let before = inst.mods.word(kind);
        if inst.mods.set_word(kind, word) {
            return if before.is_none() { Ok(()) } else { Err(BadWord::Twice) };
        }
    }
    if let Some(flag) = Flag::from_word(word).filter(|&f| row.flags.has(f)) {
        let twice = inst.mods.flags.has(flag);
        inst.mods.flags = inst.mods.flags.with(flag);
        return if twice { Err(BadWord::Twice) } else { Ok(()) };
    }
    let ty = Ty::from_name(word).ok_or(BadWord::Unknown)?;
    let (field, set) = if inst.ty.is_none() && !row.types.is_empty() {
        (&mut inst.ty, row.types)
    } else {
        (&mut inst.ty2, row.types2)
    };
    match field {
        Some(_) => Err(BadWord::Twice),
        None if !set.has(ty) => Err(BadWord::Unknown),
        None => {
            *field = Some(ty);
            Ok(())
        }
    }
}

fn bad_word(op: Op, word: &str, why: BadWord, place: Span) -> Box<isa::Diagnostic> {
    let row = op.info();
    let name = row.name;
    if matches!(why, BadWord::Twice) {
        return error(place, "ir::modifier", format!("`{word}` is one too many of its kind"));
    }
    let diagnostic = error(place, "ir::modifier", format!("`{name}` takes no `{word}`"));
    let flags = row.flags.iter().map(Flag::word);
    let types = row.types.iter().chain(row.types2.iter()).map(Ty::name);
    let words = flags.chain(types).chain(words_of(row.kinds));
    let help = closest(word, words);
    let mut diagnostic = suggest(diagnostic, help);
    if row.types2.is_empty() && !row.types.is_empty() {
        diagnostic.notes.push(format!("its types are {}", join(row.types.iter().map(Ty::name))));
    }
    diagnostic
}

/// All words of some kinds of modifiers.
fn words_of(kinds: crate::mods::Kinds) -> impl Iterator<Item = &'static str> {
    kinds.iter().flat_map(Kind::words).copied()
}

fn join<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A word behind an operation's name means one thing only.
    #[test]
    fn words_of_a_row_are_distinct() {
        for row in OPS {
            let flags = row.flags.iter().map(Flag::word);
            let words = words_of(row.kinds).chain(flags).chain(Ty::all().map(Ty::name));
            let mut all: Vec<_> = words.collect();
            let count = all.len();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), count, "{}", row.name);
        }
    }
}
