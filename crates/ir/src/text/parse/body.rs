//! Blocks of a function.
//!
//! A label begins a block. After an end that falls through for some lanes, an instruction without a
//! label begins one too, which is named after its number. Labels may be used before they stand:
//! until the end of the function a block operand holds an index into the list of names used.

use super::header::Scope;
use super::{Parse, Parser, Tok, closest, error, suggest};
use crate::module::{Block, BlockId, Function, Operand, Term, TermKind};
use isa::Span;
use rustc_hash::FxHashMap;

/// A function's blocks so far.
pub(super) struct Body<'s> {
    pub(super) scope: &'s Scope,
    pub(super) blocks: Vec<Block>,
    labels: FxHashMap<String, BlockId>,
    /// Labels used, in the order of use.
    uses: Vec<(String, Span)>,
    /// Whether the last block has no end yet.
    pub(super) open: bool,
    /// Blocks that began without a label.
    unnamed: Vec<usize>,
}

impl Body<'_> {
    /// Stands for a block until its label is known.
    pub(super) fn use_label(&mut self, name: String, span: Span) -> BlockId {
        self.uses.push((name, span));
        BlockId(self.uses.len() as u32 - 1)
    }

    fn begin(&mut self, name: String) {
        let (insts, term) = (Vec::new(), Term::new(TermKind::Fall));
        self.blocks.push(Block { name, insts, term });
        self.open = true;
    }

    fn begin_unnamed(&mut self) {
        self.unnamed.push(self.blocks.len());
        self.begin(String::new());
    }

    /// Names the blocks that have none.
    fn name_blocks(&mut self) {
        for index in std::mem::take(&mut self.unnamed) {
            let base = if index == 0 { "entry".to_owned() } else { format!("bb{index}") };
            let mut name = base.clone();
            let mut tries = 0;
            while self.labels.contains_key(&name) {
                tries += 1;
                name = format!("{base}.{tries}");
            }
            self.labels.insert(name.clone(), BlockId(index as u32));
            self.blocks[index].name = name;
        }
    }

    /// The blocks that the names used stand for; one that is unknown is reported and stands for the
    /// entry.
    fn resolve(&self, report: &mut impl FnMut(Box<isa::Diagnostic>)) -> Vec<BlockId> {
        let find = |(name, span): &(String, Span)| {
            self.labels.get(name).copied().unwrap_or_else(|| {
                let help = closest(name, self.labels.keys().map(String::as_str));
                let message = format!("no block is named `{name}`");
                report(suggest(error(*span, "ir::unknown-name", message), help));
                BlockId(0)
            })
        };
        self.uses.iter().map(find).collect()
    }
}

/// Puts blocks in the place of indices into the list of names used.
fn replace_labels(blocks: &mut [Block], resolved: &[BlockId]) {
    for block in blocks {
        for inst in &mut block.insts {
            for operand in &mut inst.operands {
                if let Operand::Block(id) = operand {
                    *id = resolved[id.index()];
                }
            }
        }
        for target in block.term.targets_mut() {
            *target = resolved[target.index()];
        }
    }
}

impl Parser<'_> {
    /// Third pass: the blocks of one function.
    pub(super) fn body(&mut self, scope: &Scope) {
        let Some(start) = scope.blocks else { return };
        self.at = start;
        let mut body = Body {
            scope,
            blocks: Vec::new(),
            labels: FxHashMap::default(),
            uses: Vec::new(),
            open: false,
            unnamed: Vec::new(),
        };
        loop {
            self.skip_newlines();
            if self.eat(b'}') {
                let result = self.end_of_line();
                self.recover(result);
                break;
            }
            let starts = self.is_word("kernel") || self.is_word("func");
            let next_function = starts && self.ahead(1).kind == Tok::Sym;
            if next_function || self.peek().kind == Tok::End {
                let missing = self.unexpected("`}` at the end of the function");
                self.out.push(*missing);
                break;
            }
            let result = self.body_line(&mut body);
            self.recover_in_body(result);
        }
        body.name_blocks();
        let resolved = body.resolve(&mut |d| self.out.push(*d));
        replace_labels(&mut body.blocks, &resolved);
        let function: &mut Function = &mut self.module.functions[scope.func.index()];
        function.blocks = body.blocks;
    }

    /// As [`Parser::recover`], but a closing brace on the line still closes the function.
    fn recover_in_body(&mut self, result: Parse<()>) {
        if let Err(diagnostic) = result {
            self.out.push(*diagnostic);
            while !matches!(self.peek().kind, Tok::Newline | Tok::End | Tok::Punct(b'}')) {
                self.at += 1;
            }
        }
    }

    /// A label, or an instruction.
    fn body_line(&mut self, body: &mut Body<'_>) -> Parse<()> {
        let named = matches!(self.peek().kind, Tok::Word | Tok::Str);
        if named && self.ahead(1).kind == Tok::Punct(b':') {
            let (name, span) = self.name(&[Tok::Word, Tok::Str], "a label")?;
            self.next();
            let id = BlockId(body.blocks.len() as u32);
            body.begin(name.clone());
            if body.labels.insert(name.clone(), id).is_some() {
                let message = format!("the function has two blocks `{name}`");
                return Err(error(span, "ir::duplicate-name", message));
            }
            return Ok(());
        }
        if !body.open {
            let falls = body.blocks.last().is_none_or(|b| b.term.falls());
            let at = self.peek().span;
            body.begin_unnamed();
            if !falls {
                let message = "nothing comes here: the block above has ended";
                let help = "a label in front makes it a block that can be branched to";
                return Err(Box::new(error(at, "ir::unreachable", message).help(help)));
            }
        }
        self.statement(body)?;
        if self.is(b'}') { Ok(()) } else { self.end_of_line() }
    }
}
