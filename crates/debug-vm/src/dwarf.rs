//! Variables of the source, from debug information in PTX (`-G`).
//!
//! PTX carries DWARF as sections of data directives, whose values may be labels of the code and
//! names of variables. Both become addresses in ranges of their own here, which expressions of
//! DWARF pass on: code at [`CODE`], the variable number n at [`SYMBOLS`] + n * [`STRIDE`].
//! Registers are named by numbers whose bytes are the letters of their names.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use debug::{Home, Shape, Variable, VariableType, WatchedType as Type};
use gimli::{
    AttributeValue, DebuggingInformationEntry, Dwarf, EndianSlice, LittleEndian, Operation, Unit,
    UnitOffset,
};
use isa::{FileId, SourceFile};
use ptx::ast::{InitKind, Item, Module, OperandKind, SectionLine, Statement};
use simt::Pc;

/// Where code lies. Addresses of code are never zero, which ends lists in DWARF.
const CODE: u64 = 1 << 32;
/// Where variables lie.
const SYMBOLS: u64 = 1 << 48;
/// Addresses for each variable.
const STRIDE: u64 = 1 << 24;
/// Deepest nesting of types.
const DEEPEST: u32 = 16;
/// Most variables.
const MOST: usize = 1 << 16;
/// The operation `DW_OP_regx`, behind which a register's number stands.
const REGISTER: u8 = 0x90;

/// A table of lines of DWARF 2 without lines: its length, version and header.
const NO_LINES: [u8; 17] = [13, 0, 0, 0, 2, 0, 7, 0, 0, 0, 1, 1, 0, 1, 1, 0, 0];

type Slice<'s> = EndianSlice<'s, LittleEndian>;
type Entry<'a, 's> = DebuggingInformationEntry<'a, 'a, Slice<'s>>;

/// The variables that debug information in a text tells of, outer scopes first; none if there is
/// no such information, or as far as it can be understood. `places` are the spans of the code.
pub(crate) fn variables(text: &SourceFile, places: &[Option<isa::Span>]) -> Vec<Variable> {
    if !text.text().contains(".debug_info") {
        return Vec::new();
    }
    let (tree, _) = ptx::parse(FileId(0), text.text());
    let sections = Sections::new(&tree, places);
    let mut out = Vec::new();
    // What is malformed ends the list.
    let _ = sections.read(&mut out);
    out
}

/// The sections as bytes.
struct Sections<'t> {
    tree: &'t Module,
    bytes: BTreeMap<String, Vec<u8>>,
    /// Labels of sections: their offsets.
    offsets: BTreeMap<&'t str, u64>,
    /// Labels of code.
    labels: BTreeMap<&'t str, u64>,
    /// Other names, each of which is a variable.
    symbols: Vec<&'t str>,
}

/// Bytes of a data directive's type.
fn size(ty: &str) -> usize {
    match ty {
        "b16" => 2,
        "b32" => 4,
        "b64" => 8,
        _ => 1,
    }
}

impl<'t> Sections<'t> {
    fn new(tree: &'t Module, places: &[Option<isa::Span>]) -> Self {
        let (bytes, offsets, labels) = Default::default();
        let mut this = Self { tree, bytes, offsets, labels, symbols: Vec::new() };
        this.labels(places);
        // Labels are used before they stand.
        for fill in [false, true] {
            for item in &tree.items {
                let Item::Section(section) = item else { continue };
                let name = tree.name(section.name);
                let mut bytes = Vec::new();
                for line in &tree.section_lines[section.lines] {
                    match line {
                        SectionLine::Label(label) => {
                            this.offsets.insert(tree.name(label.symbol), bytes.len() as u64);
                        }
                        SectionLine::Data { ty, values } => {
                            let size = size(tree.name(ty.symbol));
                            for value in &tree.inits[*values] {
                                let value = if fill { this.value(&value.kind) } else { 0 };
                                bytes.extend(&value.to_le_bytes()[..size]);
                            }
                        }
                    }
                }
                if fill {
                    this.bytes.insert(name.to_owned(), bytes);
                }
            }
        }
        this
    }

    /// Labels stand before the next instruction of the text.
    fn labels(&mut self, places: &[Option<isa::Span>]) {
        let mut starts: Vec<(u32, u64)> = (0..)
            .zip(places)
            .filter_map(|(pc, span): (u64, _)| Some((span.as_ref()?.start, pc)))
            .collect();
        starts.sort_unstable();
        for item in &self.tree.items {
            let Item::Function(id) = item else { continue };
            let function = &self.tree.functions[*id];
            let Some(body) = function.body else { continue };
            let end = function.span.end;
            let last =
                starts.iter().filter(|(start, _)| (function.span.start..end).contains(start));
            let Some(behind) = last.map(|(_, pc)| pc + 1).max() else { continue };
            for statement in &self.tree.statements[body] {
                let Statement::Label(label) = statement else { continue };
                let next = starts.partition_point(|(start, _)| *start < label.span.start);
                let next = starts.get(next).filter(|(start, _)| *start < end);
                let pc = next.map_or(behind, |(_, pc)| *pc);
                self.labels.insert(self.tree.name(label.symbol), CODE + pc);
            }
        }
    }

    fn symbol(&mut self, name: &'t str) -> u64 {
        if let Some(value) = self.labels.get(name).or(self.offsets.get(name)) {
            return *value;
        }
        // A section as such begins at its begin.
        if name.starts_with('.') {
            return 0;
        }
        let known = self.symbols.iter().position(|symbol| *symbol == name);
        let index = known.unwrap_or_else(|| {
            self.symbols.push(name);
            self.symbols.len() - 1
        });
        SYMBOLS + index as u64 * STRIDE
    }

    fn value(&mut self, kind: &InitKind) -> u64 {
        let InitKind::Value(kind) = kind else { return 0 };
        self.operand(kind)
    }

    fn operand(&mut self, kind: &OperandKind) -> u64 {
        let tree = self.tree;
        match kind {
            OperandKind::Integer(integer) => integer.bits,
            OperandKind::Name(symbol) => self.symbol(tree.name(*symbol)),
            OperandKind::Sum(symbol, offset) => {
                self.symbol(tree.name(*symbol)).wrapping_add_signed(*offset)
            }
            OperandKind::Expression(id) => {
                let expression = &tree.expressions[*id];
                let values: Vec<u64> =
                    tree.operands[expression.args].iter().map(|a| self.operand(&a.kind)).collect();
                match (expression.op, values.as_slice()) {
                    (ptx::ast::Operator::Sub, [a, b]) => a.wrapping_sub(*b),
                    (ptx::ast::Operator::Add, [a, b]) => a.wrapping_add(*b),
                    (ptx::ast::Operator::Neg, [a]) => a.wrapping_neg(),
                    _ => 0,
                }
            }
            _ => 0,
        }
    }

    fn read(&self, out: &mut Vec<Variable>) -> gimli::Result<()> {
        let section = |id: gimli::SectionId| -> Result<Slice<'_>, gimli::Error> {
            // PTX has its lines in `.loc`; units name this section all the same.
            let none = if id == gimli::SectionId::DebugLine { &NO_LINES[..] } else { &[] };
            let bytes = self.bytes.get(id.name()).map_or(none, Vec::as_slice);
            Ok(EndianSlice::new(bytes, LittleEndian))
        };
        let dwarf = Dwarf::load(section)?;
        let mut units = dwarf.units();
        while let Some(header) = units.next()? {
            let unit = dwarf.unit(header)?;
            Reader { dwarf: &dwarf, unit: &unit, symbols: &self.symbols }.read(out)?;
        }
        Ok(())
    }
}

/// Reads one unit.
struct Reader<'a, 's> {
    dwarf: &'a Dwarf<Slice<'s>>,
    unit: &'a Unit<Slice<'s>>,
    symbols: &'a [&'s str],
}

/// A range of code.
fn code(range: &gimli::Range) -> Range<Pc> {
    Pc(range.begin.saturating_sub(CODE))..Pc(range.end.saturating_sub(CODE))
}

impl<'s> Reader<'_, 's> {
    fn read(&self, out: &mut Vec<Variable>) -> gimli::Result<()> {
        // Scopes around the present entry, with their depths.
        let mut scopes: Vec<(isize, Vec<Range<Pc>>)> = Vec::new();
        let (mut depth, mut entries) = (0, self.unit.entries());
        while let Some((delta, entry)) = entries.next_dfs()? {
            depth += delta;
            scopes.retain(|(of, _)| *of < depth);
            match entry.tag() {
                gimli::DW_TAG_subprogram
                | gimli::DW_TAG_lexical_block
                | gimli::DW_TAG_inlined_subroutine => {
                    let mut ranges = self.dwarf.die_ranges(self.unit, entry)?;
                    let mut found = Vec::new();
                    while let Some(range) = ranges.next()? {
                        found.push(code(&range));
                    }
                    scopes.push((depth, found));
                }
                gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter => {
                    let Some((_, scope)) = scopes.last() else { continue };
                    if out.len() < MOST && !scope.is_empty() {
                        out.extend(self.variable(entry, scope)?);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn variable(
        &self,
        entry: &Entry<'_, 's>,
        scope: &[Range<Pc>],
    ) -> gimli::Result<Option<Variable>> {
        // Inlined variables have names and types where their function is described.
        let origin = match entry.attr_value(gimli::DW_AT_abstract_origin)? {
            Some(AttributeValue::UnitRef(at)) => Some(self.unit.entry(at)?),
            _ => None,
        };
        let described = origin.as_ref().unwrap_or(entry);
        let Some(name) = self.name(described)? else { return Ok(None) };
        let Some(AttributeValue::UnitRef(ty)) = described.attr_value(gimli::DW_AT_type)? else {
            return Ok(None);
        };
        let ty = self.ty(ty, 0)?;
        let mut homes = Vec::new();
        match entry.attr_value(gimli::DW_AT_location)? {
            Some(AttributeValue::Exprloc(expression)) => {
                if let Some(home) = self.home(expression)? {
                    homes.extend(scope.iter().map(|range| (range.clone(), home.clone())));
                }
            }
            Some(value) => {
                if let Some(mut list) = self.dwarf.attr_locations(self.unit, value)? {
                    while let Some(at) = list.next()? {
                        if let Some(home) = self.home(at.data)? {
                            homes.push((code(&at.range), home));
                        }
                    }
                }
            }
            None => {}
        }
        Ok(Some(Variable { name, ty, scope: scope.to_vec(), homes }))
    }

    fn name(&self, entry: &Entry<'_, 's>) -> gimli::Result<Option<String>> {
        let Some(value) = entry.attr_value(gimli::DW_AT_name)? else { return Ok(None) };
        let text = self.dwarf.attr_string(self.unit, value)?;
        Ok(Some(text.to_string_lossy().into_owned()))
    }

    /// What an expression says, if it is a register or an address with an offset.
    fn home(&self, expression: gimli::Expression<Slice<'s>>) -> gimli::Result<Option<Home>> {
        // Numbers of registers are longer than those that gimli reads.
        if let [REGISTER, number @ ..] = expression.0.slice() {
            return Ok(register_name(number).map(Home::Register));
        }
        let mut operations = expression.operations(self.unit.encoding());
        let mut address = None;
        while let Some(operation) = operations.next()? {
            match operation {
                Operation::Address { address: at } => address = Some(at),
                Operation::PlusConstant { value } => {
                    address = address.map(|at: u64| at.wrapping_add(value));
                }
                _ => return Ok(None),
            }
        }
        let Some(address) = address.and_then(|at| at.checked_sub(SYMBOLS)) else { return Ok(None) };
        let symbol = self.symbols.get((address / STRIDE) as usize);
        Ok(symbol.map(|symbol| Home::Symbol((*symbol).to_owned(), address % STRIDE)))
    }

    fn ty(&self, at: UnitOffset, depth: u32) -> gimli::Result<Arc<VariableType>> {
        let entry = self.unit.entry(at)?;
        let bytes = |entry: &Entry<'_, 's>| -> gimli::Result<u64> {
            let value = entry.attr_value(gimli::DW_AT_byte_size)?;
            Ok(value.and_then(|value| value.udata_value()).unwrap_or(0))
        };
        let name = self.name(&entry)?;
        let made = |name: String, bytes, shape| Ok(Arc::new(VariableType { name, bytes, shape }));
        if depth > DEEPEST {
            return made("...".to_owned(), 0, Shape::Other);
        }
        let inner = |depth| -> gimli::Result<Option<Arc<VariableType>>> {
            match entry.attr_value(gimli::DW_AT_type)? {
                Some(AttributeValue::UnitRef(at)) => Ok(Some(self.ty(at, depth)?)),
                _ => Ok(None),
            }
        };
        let own = bytes(&entry)?;
        match entry.tag() {
            gimli::DW_TAG_base_type => {
                let encoding = match entry.attr_value(gimli::DW_AT_encoding)? {
                    Some(AttributeValue::Encoding(encoding)) => encoding,
                    _ => gimli::DW_ATE_unsigned,
                };
                let bits = u32::try_from(own.saturating_mul(8)).unwrap_or(0);
                let shape = match (encoding, bits) {
                    (gimli::DW_ATE_boolean, 8) => Shape::Bool,
                    (gimli::DW_ATE_float, 16 | 32 | 64) => Shape::Number(Type::Float(bits)),
                    (gimli::DW_ATE_signed | gimli::DW_ATE_signed_char, 8 | 16 | 32 | 64) => {
                        Shape::Number(Type::Signed(bits))
                    }
                    (_, 8 | 16 | 32 | 64) => Shape::Number(Type::Unsigned(bits)),
                    _ => Shape::Other,
                };
                made(name.unwrap_or_default(), own, shape)
            }
            gimli::DW_TAG_pointer_type | gimli::DW_TAG_reference_type => {
                // What it points to may contain it again; its name is enough.
                let to = inner(DEEPEST)?.map_or("void".to_owned(), |to| to.name.clone());
                made(format!("{to} *"), 8, Shape::Number(Type::Unsigned(64)))
            }
            gimli::DW_TAG_enumeration_type => {
                let bits = u32::try_from(own.saturating_mul(8)).unwrap_or(0);
                let shape = match bits {
                    8 | 16 | 32 | 64 => Shape::Number(Type::Signed(bits)),
                    _ => Shape::Other,
                };
                made(name.unwrap_or_else(|| "enum".to_owned()), own, shape)
            }
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type => {
                let members = if depth == DEEPEST { Vec::new() } else { self.members(at, depth)? };
                made(name.unwrap_or_else(|| "struct".to_owned()), own, Shape::Members(members))
            }
            gimli::DW_TAG_array_type => {
                let Some(element) = inner(depth + 1)? else {
                    return made("array".to_owned(), own, Shape::Other);
                };
                let mut ty = element;
                for count in self.counts(at)?.into_iter().rev() {
                    let name = format!("{}[{count}]", ty.name);
                    let bytes = ty.bytes.saturating_mul(count);
                    let shape = Shape::Array(ty, count);
                    ty = Arc::new(VariableType { name, bytes, shape });
                }
                Ok(ty)
            }
            _ => {
                // A typedef, or a type with `const` or `volatile`.
                let Some(of) = inner(depth + 1)? else {
                    return made(name.unwrap_or_else(|| "void".to_owned()), own, Shape::Other);
                };
                match name {
                    Some(name) => made(name, of.bytes, of.shape.clone()),
                    None => Ok(of),
                }
            }
        }
    }

    /// Members of a structure.
    fn members(
        &self,
        at: UnitOffset,
        depth: u32,
    ) -> gimli::Result<Vec<(String, u64, Arc<VariableType>)>> {
        let mut out = Vec::new();
        let mut tree = self.unit.entries_tree(Some(at))?;
        let mut children = tree.root()?.children();
        while let Some(child) = children.next()? {
            let entry = child.entry();
            if entry.tag() != gimli::DW_TAG_member && entry.tag() != gimli::DW_TAG_inheritance {
                continue;
            }
            let Some(AttributeValue::UnitRef(ty)) = entry.attr_value(gimli::DW_AT_type)? else {
                continue;
            };
            let offset = match entry.attr_value(gimli::DW_AT_data_member_location)? {
                Some(AttributeValue::Exprloc(expression)) => {
                    let mut operations = expression.operations(self.unit.encoding());
                    match operations.next()? {
                        Some(Operation::PlusConstant { value }) => value,
                        Some(Operation::UnsignedConstant { value }) => value,
                        _ => continue,
                    }
                }
                Some(value) => value.udata_value().unwrap_or(0),
                None => 0,
            };
            let name = self.name(entry)?.unwrap_or_default();
            out.push((name, offset, self.ty(ty, depth + 1)?));
        }
        Ok(out)
    }

    /// The extents of an array, the first one first.
    fn counts(&self, at: UnitOffset) -> gimli::Result<Vec<u64>> {
        let mut out = Vec::new();
        let mut tree = self.unit.entries_tree(Some(at))?;
        let mut children = tree.root()?.children();
        while let Some(child) = children.next()? {
            let entry = child.entry();
            if entry.tag() != gimli::DW_TAG_subrange_type {
                continue;
            }
            let value = |name| -> gimli::Result<Option<u64>> {
                Ok(entry.attr_value(name)?.and_then(|value| value.udata_value()))
            };
            let count = value(gimli::DW_AT_count)?;
            let bound = value(gimli::DW_AT_upper_bound)?.map(|bound| bound.saturating_add(1));
            out.push(count.or(bound).unwrap_or(0));
        }
        Ok(out)
    }
}

/// The name of a register, whose letters are the bytes of a number in LEB128, the first letter in
/// the highest one.
fn register_name(number: &[u8]) -> Option<String> {
    let mut value: u128 = 0;
    for (index, byte) in number.iter().take(18).enumerate() {
        value |= u128::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            break;
        }
    }
    let bytes = value.to_be_bytes();
    let letters = bytes.iter().skip_while(|byte| **byte == 0);
    let name = String::from_utf8(letters.copied().collect()).ok()?;
    name.starts_with('%').then_some(name)
}
