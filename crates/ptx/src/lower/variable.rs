//! Variables: sizes, alignment, initialisers.

use ir::VarId;
use ir::mods::Space as IrSpace;
use ir::module::Reloc;
use isa::{Diagnostic, Span};

use super::constant::{Constant, bits_as, evaluate};
use super::{Global, Lowerer, Lowering};
use crate::ast::{
    Declaration, Declarator, Init, InitKind, Linkage, Operand, OperandKind, Operator, Space, Type,
};
use crate::names::{Symbol, kw};
use crate::pool::Id;

/// Largest variable: no device has more memory.
const MAX_SIZE: u64 = 1 << 40;
/// Largest initialiser that is kept.
const MAX_INIT: u64 = 1 << 28;

/// What a declared name takes in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// Type of an element.
    pub(super) ty: Type,
    /// Bytes of an element (of all parts of a vector).
    pub(super) element: u64,
    /// Bytes of everything; 0 for `[]` without an initialiser.
    pub(super) size: u64,
    /// Alignment in bytes.
    pub(super) align: u32,
    /// Whether it has dimensions.
    pub(super) array: bool,
}

/// Dimensions of an array, outermost first; `None` for `[]`.
type Dims = Vec<Option<u64>>;

impl Lowerer<'_> {
    /// The type of a declaration.
    pub(super) fn declared_type(&mut self, d: &Declaration) -> Lowering<Type> {
        let Some(name) = d.ty else {
            let help = "write one such as `.b32` before the name";
            let missing = Diagnostic::error("ptx::no-type", "a declaration without a type");
            return Err(self.fail(missing.at(d.span, "no type").help(help)));
        };
        let Some(ty) = Type::from_symbol(name.symbol) else {
            let message = format!("`.{}` is no type", self.tree.name(name.symbol));
            return self.error("ptx::unknown-type", message, name.span, "unknown");
        };
        Ok(ty)
    }

    fn dims(&mut self, declarator: &Declarator) -> Lowering<Dims> {
        let tree = self.tree;
        let mut dims = Vec::new();
        for dim in &tree.operands[declarator.dims] {
            if dim.kind == OperandKind::Absent {
                dims.push(None);
                continue;
            }
            match evaluate(tree, dim).map_err(|d| self.fail(d))? {
                Some(Constant::Int(i)) if i.unsigned || i.bits as i64 >= 0 => {
                    dims.push(Some(i.bits));
                }
                _ => {
                    let message = "the size of an array is not a constant of 0 or more";
                    return self.error("ptx::array-size", message, dim.span, "no size");
                }
            }
        }
        Ok(dims)
    }

    /// Size and alignment of a declared name.
    pub(super) fn layout(&mut self, d: &Declaration, declarator: &Declarator) -> Lowering<Layout> {
        let ty = self.declared_type(d)?;
        let dims = self.dims(declarator)?;
        let element = u64::from(ty.bits().div_ceil(8)) * u64::from(d.vector.unwrap_or(1));
        let mut count = Some(1_u64);
        for (i, dim) in dims.iter().enumerate() {
            let length = match dim {
                Some(length) => *length,
                None if i == 0 => self.open_length(declarator, &dims[1..]),
                None => {
                    let message = "only the first dimension can be left open";
                    return self.error("ptx::array-size", message, declarator.name.span, "here");
                }
            };
            count = count.and_then(|c| c.checked_mul(length));
        }
        let size = count.and_then(|c| c.checked_mul(element)).filter(|s| *s <= MAX_SIZE);
        let Some(size) = size else {
            let message = "the variable has more bytes than any device";
            return self.error("ptx::array-size", message, declarator.name.span, "too large");
        };
        let natural = u32::try_from(element).unwrap_or(1).max(1);
        let align = match d.align {
            None => natural,
            Some((align, span)) => match u32::try_from(align) {
                Ok(align) if align.is_power_of_two() && align <= 1 << 20 => align,
                _ => {
                    let message = format!("an alignment of {align}");
                    let label = "a power of two up to 1048576 is needed";
                    return self.error("ptx::alignment", message, span, label);
                }
            },
        };
        Ok(Layout { ty, element, size, align, array: !dims.is_empty() })
    }

    /// How many elements the outermost list of an initialiser has.
    fn open_length(&self, declarator: &Declarator, inner: &[Option<u64>]) -> u64 {
        let tree = self.tree;
        let (mut depth, mut lists, mut values) = (0_u32, 0_u64, 0_u64);
        for init in &tree.inits[declarator.init] {
            match init.kind {
                InitKind::Open => {
                    lists += u64::from(depth == 1);
                    depth += 1;
                }
                InitKind::Close => depth = depth.saturating_sub(1),
                InitKind::Value(_) => values += u64::from(depth == 1),
                InitKind::Field(_) => {}
            }
        }
        let per_row: u64 = inner.iter().map(|d| d.unwrap_or(1).max(1)).fold(1, u64::saturating_mul);
        lists + values.div_ceil(per_row)
    }

    /// The id of a module variable, made when first asked for. `user` is the place that asks.
    pub(super) fn variable(
        &mut self,
        d: Id<Declaration>,
        declarator: Id<Declarator>,
        user: Option<Span>,
    ) -> Lowering<VarId> {
        if let Some(known) = self.variable_ids.get(&declarator) {
            return known.ok_or(super::Failed);
        }
        let tree = self.tree;
        let name = tree.name(tree.declarators[declarator].name.symbol).to_owned();
        let made = self.make_variable(d, declarator, name, user);
        // One that could not be made is reported once.
        self.variable_ids.insert(declarator, made.ok());
        made
    }

    /// A variable under a name that may be taken. Its content is filled in later, so that chains of variables that
    /// hold each other's addresses take no stack.
    pub(super) fn make_variable(
        &mut self,
        d: Id<Declaration>,
        declarator: Id<Declarator>,
        mut name: String,
        user: Option<Span>,
    ) -> Lowering<VarId> {
        let tree = self.tree;
        let (declaration, declared) = (&tree.declarations[d], &tree.declarators[declarator]);
        let layout = self.layout(declaration, declared)?;
        let at = declared.name.span;
        let space = match declaration.space {
            Space::Global => IrSpace::Global,
            Space::Const => IrSpace::Const,
            Space::Shared => IrSpace::Shared,
            other => {
                let message = format!("variables of the module cannot be in `.{}`", other.word());
                let diagnostic = Diagnostic::error("ptx::space", message)
                    .at(at, "not possible here")
                    .help("declare it in the functions that use it, or in `.global`");
                return Err(self.fail(diagnostic));
            }
        };
        if matches!(layout.ty, Type::Texref | Type::Samplerref | Type::Surfref | Type::Pred) {
            let message = format!("`.{}` variables are not supported", layout.ty.word());
            return self.error("ptx::unsupported", message, at, "not supported");
        }
        if declaration.bank.is_some_and(|b| b > 0) {
            let message = "banks of constant memory are not supported";
            let diagnostic = Diagnostic::error("ptx::unsupported", message)
                .at(at, "in a bank")
                .note("PTX 2.2 took them away")
                .help("declare it as `.const`, without a number");
            return Err(self.fail(diagnostic));
        }
        let open = layout.size == 0;
        let dynamic = space == IrSpace::Shared && open;
        if declaration.linkage == Some(Linkage::Extern) && !dynamic {
            let message = format!("the variable `{name}` is not defined in this file");
            let diagnostic = Diagnostic::error("ptx::undefined", message)
                .at(user.unwrap_or(at), "used here")
                .also(at, "declared here as `.extern`")
                .help("give the file that defines it, too, or define it here");
            return Err(self.fail(diagnostic));
        }
        while !self.taken.insert(name.clone()) {
            name = format!("{name}.{}", self.out.vars.len());
        }
        let size = if open && !dynamic { layout.element } else { layout.size };
        self.out.vars.push(ir::module::Var {
            name,
            space,
            size,
            align: layout.align,
            init: Vec::new(),
            relocs: Vec::new(),
            dynamic,
        });
        let id = VarId(self.out.vars.len() as u32 - 1);
        self.contents.push((id, d, declarator));
        Ok(id)
    }

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

    /// Goes through a flat list of values and braces with the place of each brace's first value and its end.
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

    /// Writes bytes; zeros need not be written, and those before the bytes that no text stands for are counted.
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
        let Some((symbol, addend, generic)) = self.address_of(operand, 0, false) else {
            let message = "an initialiser is a number, or the address of a variable or function";
            return self.error("ptx::initialiser", message, operand.span, "neither");
        };
        if content.part != 4 && content.part != 8 {
            let message = "an address needs 64 bits";
            let label = format!("does not fit `.{}`", content.layout.ty.word());
            return self.error("ptx::initialiser", message, operand.span, label);
        }
        let target = match self.globals.get(&symbol).copied() {
            Some(Global::Function(id)) => {
                ir::Symbol::Func(self.defined_function(id, operand.span)?)
            }
            Some(Global::Variable(d, declarator)) => {
                ir::Symbol::Var(self.variable(d, declarator, Some(operand.span))?)
            }
            None => {
                let message = format!("`{}` is not defined", self.tree.name(symbol));
                return self.error("ptx::undefined", message, operand.span, "unknown name");
            }
        };
        content.relocs.push(Reloc {
            offset: at as u32,
            size: content.part as u32,
            symbol: target,
            addend,
            generic,
        });
        Ok(())
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

/// The bytes of an initialiser as they are put together.
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
