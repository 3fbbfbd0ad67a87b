//! Initialisers of variables: numbers, text, addresses, and single bytes of addresses.

use ir::VarId;
use ir::module::Reloc;
use isa::Span;

use super::constant::{Constant, bits_as, evaluate};
use super::variable::Layout;
use super::{Global, Lowerer, Lowering};
use crate::ast::{
    Declaration, Declarator, Init, InitKind, Integer, Operand, OperandKind, Operator, Space, Type,
};
use crate::names::{Symbol, kw};
use crate::pool::Id;

/// Largest initialiser that is kept.
const MAX_INIT: u64 = 1 << 28;

impl<'a> Lowerer<'a> {
    /// The content of a variable.
    pub(super) fn initialise(
        &mut self,
        id: VarId,
        d: Id<Declaration>,
        declarator: Id<Declarator>,
    ) -> Lowering<()> {
        let tree = self.tree;
        let (declaration, declared) = (&tree.declarations[d], &tree.declarators[declarator]);
        let inits = &tree.inits[declared.init];
        let Some(first) = inits.first() else { return Ok(()) };
        if declaration.space == Space::Shared {
            let message = "shared memory cannot be initialised";
            return self.error("ptx::initialiser", message, first.span, "not possible");
        }
        let layout = self.layout(declaration, declared)?;
        let mut dims: Vec<u64> =
            self.dims(declared)?.into_iter().map(|d| d.unwrap_or(u64::MAX)).collect();
        if let Some(elements) = declaration.vector {
            dims.push(elements.into());
        }
        let content = Content {
            part: u64::from(layout.ty.bits().div_ceil(8)),
            dims,
            layout,
            bytes: Vec::new(),
            relocs: Vec::new(),
        };
        let content = self.fill(content, inits)?;
        let var = &mut self.out.vars[id.index()];
        var.init = content.bytes;
        var.relocs = content.relocs;
        Ok(())
    }

    /// Visits a flat list of values and braces, with the offset of each brace's first value and its
    /// end.
    fn fill(&mut self, mut content: Content, inits: &[Init]) -> Lowering<Content> {
        let mut at = 0_u64;
        let mut open: Vec<(u64, u64)> = Vec::new();
        let end_of_all = content.layout.size;
        for init in inits {
            match &init.kind {
                InitKind::Open => {
                    let size = content.list_size(open.len());
                    open.push((at, at.saturating_add(size).min(end_of_all)));
                }
                InitKind::Close => {
                    if let Some((_, end)) = open.pop().filter(|_| !open.is_empty()) {
                        at = end;
                    }
                }
                InitKind::Field(_) => {
                    let message = "sampler states are not supported";
                    return self.error("ptx::unsupported", message, init.span, "not supported");
                }
                InitKind::Value(kind) => {
                    let end = open.last().map_or(end_of_all, |(_, end)| *end);
                    if at.saturating_add(content.part) > end || at >= MAX_INIT {
                        let message = "more values than the variable has room for";
                        return self.error("ptx::initialiser", message, init.span, "one too many");
                    }
                    let operand = Operand { kind: *kind, span: init.span };
                    self.put(&mut content, at, &operand)?;
                    at += content.part;
                }
            }
        }
        Ok(content)
    }

    fn put(&mut self, content: &mut Content, at: u64, operand: &Operand) -> Lowering<()> {
        let tree = self.tree;
        let ty = content.layout.ty;
        if let OperandKind::Text(text) = operand.kind {
            return self.put_text(content, at, text, operand.span);
        }
        if let Some((mask, value)) = self.masked(operand) {
            return self.put_byte(content, at, mask, value, operand.span);
        }
        match evaluate(tree, operand).map_err(|d| self.fail(d))? {
            Some(value) => match bits_as(value, ty) {
                Ok(bits) => {
                    let bytes = bits.to_le_bytes();
                    self.write(content, at, &bytes[..content.part.min(16) as usize], operand.span)
                }
                Err(why) => {
                    let message = format!("the value cannot be of type `.{}`", ty.word());
                    self.error("ptx::initialiser", message, operand.span, why)
                }
            },
            None => self.put_address(content, at, operand),
        }
    }

    fn put_text(
        &mut self,
        content: &mut Content,
        at: u64,
        text: Symbol,
        span: Span,
    ) -> Lowering<()> {
        let bytes = self.tree.name(text).as_bytes().to_vec();
        if content.part != 1 || at + bytes.len() as u64 > content.layout.size {
            let message = "a string does not fit the variable";
            return self.error("ptx::initialiser", message, span, "write its bytes as numbers");
        }
        self.write(content, at, &bytes, span)
    }

    /// Writes bytes unless all are zero. Zeros that fill a gap before them are charged to the
    /// budget.
    fn write(&mut self, content: &mut Content, at: u64, bytes: &[u8], span: Span) -> Lowering<()> {
        if bytes.iter().all(|b| *b == 0) {
            return Ok(());
        }
        let gap = at.saturating_sub(content.bytes.len() as u64);
        self.spend((gap / 64) as usize, span)?;
        content.write(at, bytes);
        Ok(())
    }

    fn put_address(&mut self, content: &mut Content, at: u64, operand: &Operand) -> Lowering<()> {
        if content.part != 4 && content.part != 8 {
            let message = "an address needs 64 bits";
            let label = format!("does not fit `.{}`", content.layout.ty.word());
            return self.error("ptx::initialiser", message, operand.span, label);
        }
        let reloc = self.reloc(operand)?;
        content.relocs.push(Reloc { offset: at as u32, size: content.part as u32, ..reloc });
        Ok(())
    }

    /// The mask and the value of `0xff00(value)`.
    fn masked(&self, operand: &Operand) -> Option<(Integer, &'a Operand)> {
        let OperandKind::Expression(id) = operand.kind else { return None };
        let expression = &self.tree.expressions[id];
        match (expression.op, &self.tree.operands[expression.args]) {
            (Operator::Apply, [Operand { kind: OperandKind::Integer(mask), .. }, value]) => {
                Some((*mask, value))
            }
            _ => None,
        }
    }

    /// The byte under a mask, of an address or a number, becomes the lowest byte of the element.
    fn put_byte(
        &mut self,
        content: &mut Content,
        at: u64,
        mask: Integer,
        value: &Operand,
        span: Span,
    ) -> Lowering<()> {
        let byte = mask.bits.trailing_zeros() / 8;
        if mask.bits == 0 || mask.bits >> (8 * byte) != 0xff {
            let message = "a mask in an initialiser is one whole byte";
            let label = "`0xff`, `0xff00`, `0xff0000`, ... are masks";
            return self.error("ptx::initialiser", message, span, label);
        }
        if matches!(content.layout.ty, Type::F32 | Type::F64) {
            let message = format!("the value cannot be of type `.{}`", content.layout.ty.word());
            return self.error("ptx::initialiser", message, span, "a byte");
        }
        if let Some(Constant::Int(i)) = evaluate(self.tree, value).map_err(|d| self.fail(d))? {
            return self.write(content, at, &[(i.bits >> (8 * byte)) as u8], span);
        }
        let reloc = self.reloc(value)?;
        content.relocs.push(Reloc { offset: at as u32, size: 1, byte, ..reloc });
        Ok(())
    }

    /// Returns the address that an operand denotes, as if it stood at the start of the variable.
    fn reloc(&mut self, operand: &Operand) -> Lowering<Reloc> {
        let Some((name, addend, generic)) = self.address_of(operand, 0, false) else {
            let message = "an initialiser is a number, or the address of a variable or function";
            return self.error("ptx::initialiser", message, operand.span, "neither");
        };
        let symbol = match self.globals.get(&name).copied() {
            Some(Global::Function(id)) => {
                ir::Symbol::Func(self.defined_function(id, operand.span)?)
            }
            Some(Global::Variable(d, declarator)) => {
                ir::Symbol::Var(self.variable(d, declarator, Some(operand.span))?)
            }
            None => {
                let message = format!("`{}` is not defined", self.tree.name(name));
                return self.error("ptx::undefined", message, operand.span, "unknown name");
            }
        };
        Ok(Reloc { offset: 0, size: 8, byte: 0, symbol, addend, generic })
    }

    /// Name, offset, and whether the address is generic, of `a`, `a+4`, `a[2]`, `generic(a)+4`.
    fn address_of(
        &mut self,
        operand: &Operand,
        offset: i64,
        generic: bool,
    ) -> Option<(Symbol, i64, bool)> {
        let tree = self.tree;
        match operand.kind {
            OperandKind::Name(name) => Some((name, offset, generic)),
            OperandKind::Sum(name, more) => Some((name, offset.checked_add(more)?, generic)),
            OperandKind::Element(name, index) => {
                let Some(&Global::Variable(d, declarator)) = self.globals.get(&name) else {
                    return None;
                };
                let layout =
                    self.layout(&tree.declarations[d], &tree.declarators[declarator]).ok()?;
                let Ok(Some(Constant::Int(i))) = evaluate(tree, &tree.operands[index]) else {
                    return None;
                };
                let bytes = i64::try_from(layout.element).ok()?.checked_mul(i.bits as i64)?;
                Some((name, offset.checked_add(bytes)?, generic))
            }
            OperandKind::Expression(id) => {
                let expression = &tree.expressions[id];
                let args = &tree.operands[expression.args];
                match (expression.op, args) {
                    (Operator::Apply, [function, argument])
                        if function.kind == OperandKind::Name(kw::GENERIC) =>
                    {
                        self.address_of(argument, offset, true)
                    }
                    (op @ (Operator::Add | Operator::Sub), [base, more]) => {
                        let Ok(Some(Constant::Int(i))) = evaluate(tree, more) else { return None };
                        let more = i.bits as i64;
                        let more = if op == Operator::Add { more } else { more.checked_neg()? };
                        self.address_of(base, offset.checked_add(more)?, generic)
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// The bytes of an initialiser under construction.
struct Content {
    layout: Layout,
    /// Bytes of one value.
    part: u64,
    /// Lengths of the lists, outermost first; `u64::MAX` where open.
    dims: Vec<u64>,
    bytes: Vec<u8>,
    relocs: Vec<Reloc>,
}

impl Content {
    /// Bytes that a list at a depth covers.
    fn list_size(&self, depth: usize) -> u64 {
        let dims = self.dims.get(depth..).unwrap_or(&[]);
        dims.iter().copied().fold(self.part, u64::saturating_mul)
    }

    fn write(&mut self, at: u64, bytes: &[u8]) {
        let at = at as usize;
        let end = at + bytes.len();
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        self.bytes[at..end].copy_from_slice(bytes);
    }
}
