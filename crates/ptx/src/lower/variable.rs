//! Variables: sizes and alignment.

use ir::VarId;
use ir::mods::Space as IrSpace;
use ir::texture::OBJECT_BYTES;
use isa::{Diagnostic, Span};

use super::constant::{Constant, evaluate};
use super::{Lowerer, Lowering};
use crate::ast::{Declaration, Declarator, InitKind, Linkage, OperandKind, Space, Type};
use crate::pool::Id;

/// Largest variable: no device has more memory.
const MAX_SIZE: u64 = 1 << 40;

/// The memory of a declared name.
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
pub(super) type Dims = Vec<Option<u64>>;

impl Lowerer<'_> {
    /// The type of a declaration.
    pub(super) fn declared_type(&mut self, d: &Declaration) -> Lowering<Type> {
        let Some(name) = d.ty else {
            let help = "write one such as `.b32` before the name";
            let missing = Diagnostic::error("ptx::no-type", "a declaration without a type");
            return Err(self.fail(missing.at(d.span, "no type").help(help)));
        };
        let Some(ty) = Type::from_symbol(name.symbol) else {
            let message = format!("`.{}` is not a type", self.tree.name(name.symbol));
            return self.error("ptx::unknown-type", message, name.span, "unknown");
        };
        Ok(ty)
    }

    pub(super) fn dims(&mut self, declarator: &Declarator) -> Lowering<Dims> {
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

    /// Returns whether the outermost dimension is open, without an initialiser that determines it.
    fn is_unsized(&self, declarator: &Declarator) -> bool {
        let first = self.tree.operands[declarator.dims].first();
        first.is_some_and(|dim| dim.kind == OperandKind::Absent) && declarator.init.is_empty()
    }

    /// Returns the number of elements of an initialiser's outermost list.
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

    /// Returns the id of a module variable, made when first requested. `user` is the place of the
    /// use.
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
        // A variable that could not be made is reported once.
        self.variable_ids.insert(declarator, made.ok());
        made
    }

    /// Makes a variable under a name that may be taken. Its content is filled in later, so that
    /// chains of variables that hold each other's addresses take no stack.
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
        let opaque = matches!(layout.ty, Type::Texref | Type::Samplerref | Type::Surfref);
        let single = opaque && space == IrSpace::Global && layout.size == layout.element;
        if layout.ty == Type::Pred || opaque && !single {
            let message = format!("such `.{}` variables are not supported", layout.ty.word());
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
        let external = declaration.linkage == Some(Linkage::Extern) && !dynamic;
        let defined = declaration.linkage != Some(Linkage::Extern);
        if open && !dynamic && defined && self.is_unsized(declared) {
            let message = format!("`{name}` has no size");
            let finding = Diagnostic::error("ptx::array-size", message)
                .at(at, "an array of unknown length")
                .help("give its length or its content; only what is `.extern` is declared without");
            return Err(self.fail(finding));
        }
        if external && space == IrSpace::Shared {
            let message = format!("`{name}` is `.extern .shared` and has a size");
            self.diagnostics.push(
                Diagnostic::warning("ptx::extern-shared", message)
                    .at(at, "taken as a definition")
                    .help("leave out `.extern`, or the size for dynamic shared memory"),
            );
        } else if external && !self.object {
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
        // What another file defines has the size that it has there.
        let size = if open && !dynamic && defined { layout.element } else { layout.size };
        // A reference is the object that it is bound to.
        let (size, align) = if opaque { (OBJECT_BYTES as u64, 64) } else { (size, layout.align) };
        self.out.vars.push(ir::module::Var {
            name,
            space,
            size,
            align,
            init: Vec::new(),
            relocs: Vec::new(),
            dynamic,
        });
        self.var_spans.push(at);
        let id = VarId(self.out.vars.len() as u32 - 1);
        self.contents.push((id, d, declarator));
        Ok(id)
    }
}
