//! Variables of the source, as expressions and the debugger's lists show them.
//!
//! A compiler's debug information says where a variable lies at each place: in a register, or in
//! memory behind a symbol. What has no such place now was optimised away or is not alive.

use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;

use simt::Pc;
use simt::inspect::FramePlace;
use simt::memory::Space;

use crate::expr::Type;
use crate::session::{LookNames, called_from};
use crate::target::{Look, Memory};

/// Most elements of an array that are shown.
const MOST_ELEMENTS: u64 = 32;
/// Deepest structure that is shown.
const DEEPEST: u32 = 6;
/// Most bytes of a variable that are read.
const MOST_BYTES: u64 = 1 << 16;

/// Where a variable lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Home {
    /// In a register of the lane, by its name.
    Register(String),
    /// In memory, so many bytes behind a symbol: a variable of the frame, or of the program.
    Symbol(String, u64),
}

/// The type of a variable.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A number; pointers are unsigned ones.
    Number(Type),
    /// A truth value.
    Bool,
    /// A structure or a union: members with their offsets.
    Members(Vec<(String, u64, Arc<VariableType>)>),
    /// An array of so many elements.
    Array(Arc<VariableType>, u64),
    /// A type that is not shown.
    Other,
}

/// The type of a variable, with its name in the source.
#[derive(Clone, Debug, PartialEq)]
pub struct VariableType {
    /// The name.
    pub name: String,
    /// The length in bytes.
    pub bytes: u64,
    /// What it consists of.
    pub shape: Shape,
}

/// A variable of the source.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Arc<VariableType>,
    /// The places at which its name is known.
    pub scope: Vec<Range<Pc>>,
    /// Where it lies, by place.
    pub homes: Vec<(Range<Pc>, Home)>,
}

impl Variable {
    fn home(&self, pc: Pc) -> Option<&Home> {
        let found = self.homes.iter().find(|(range, _)| range.contains(&pc));
        found.map(|(_, home)| home)
    }
}

/// A variable as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownVariable {
    /// Its name.
    pub name: String,
    /// The name of its type.
    pub ty: String,
    /// Its value, or why there is none.
    pub value: String,
}

/// The variables whose names are known in a frame; of equal names the innermost alone.
#[must_use]
pub fn variables(look: &dyn Look, at: FramePlace) -> Vec<ShownVariable> {
    let Some(pc) = place(look, at) else { return Vec::new() };
    let mut out: Vec<ShownVariable> = Vec::new();
    for variable in known(look, pc) {
        let value = match bytes(look, at, pc, variable) {
            Ok(bytes) => text(&variable.ty, &bytes, 0),
            Err(why) => why,
        };
        let (name, ty) = (variable.name.clone(), variable.ty.name.clone());
        out.push(ShownVariable { name, ty, value });
    }
    out
}

/// The number that `name`, `name.member` or `name.3` stands for; none if there is no such variable.
pub(crate) fn number(
    look: &dyn Look,
    name: &str,
    at: FramePlace,
) -> Option<Result<(u128, Type), String>> {
    let pc = place(look, at)?;
    let mut parts = name.split('.');
    let first = parts.next()?;
    let variable = known(look, pc).into_iter().find(|variable| variable.name == first)?;
    let mut ty = &variable.ty;
    let mut offset = 0;
    for part in parts {
        match &ty.shape {
            Shape::Members(members) => {
                let found = members.iter().find(|(name, ..)| name == part);
                let Some((_, at, member)) = found else {
                    return Some(Err(format!("`{}` has no member `{part}`", ty.name)));
                };
                offset += at;
                ty = member;
            }
            Shape::Array(element, count) => {
                let index = part.parse().ok().filter(|index: &u64| index < count);
                let Some(index) = index else {
                    return Some(Err(format!("`{}` has no element {part}", ty.name)));
                };
                offset += index * element.bytes;
                ty = element;
            }
            _ => return Some(Err(format!("`{}` has no members", ty.name))),
        }
    }
    let own = match &ty.shape {
        Shape::Number(own) => *own,
        Shape::Bool => Type::Unsigned(8),
        _ => {
            let name = &ty.name;
            return Some(Err(format!("`{name}` is no number: `info locals` shows it")));
        }
    };
    let read = bytes(look, at, pc, variable).and_then(|bytes| {
        let from = bytes.get(offset as usize..).unwrap_or_default();
        let wide = wide(from.get(..own.bytes()).ok_or("it is not there as a whole")?);
        Ok((wide, own))
    });
    Some(read.map_err(|why| format!("`{name}` is {why}")))
}

/// The place of a frame.
fn place(look: &dyn Look, at: FramePlace) -> Option<Pc> {
    let frames = look.frames(FramePlace { frame: 0, ..at });
    Some(called_from(look.code(), at, *frames.get(at.frame as usize)?))
}

/// The variables that are known at a place, the outermost first.
fn known(look: &dyn Look, pc: Pc) -> Vec<&Variable> {
    let mut out: Vec<&Variable> = Vec::new();
    let all = look.code().variables.iter();
    for variable in all.filter(|v| v.scope.iter().any(|range| range.contains(&pc))) {
        // Inner scopes come behind outer ones.
        out.retain(|outer| outer.name != variable.name);
        out.push(variable);
    }
    out
}

/// The bytes of a variable, or why they cannot be read.
fn bytes(look: &dyn Look, at: FramePlace, pc: Pc, variable: &Variable) -> Result<Vec<u8>, String> {
    let home = variable.home(pc).ok_or("not there at this place: optimised away, or not alive")?;
    match home {
        Home::Register(name) => {
            let register = LookNames::new(look).exact_register(name, at);
            let register = register.ok_or_else(|| format!("in `{name}`, which is not there"))?;
            let value = look.register(at, register.index).map_err(|error| error.to_string())?;
            Ok(value.to_le_bytes().to_vec())
        }
        Home::Symbol(symbol, offset) => {
            let (space, base) = address(look, symbol, at)
                .ok_or_else(|| format!("behind `{symbol}`, which is not there"))?;
            let mut bytes = vec![0; variable.ty.bytes.min(MOST_BYTES) as usize];
            let memory = Memory { space, at };
            let read = look.read(memory, base.wrapping_add(*offset), &mut bytes);
            read.map(|()| bytes).map_err(|error| error.to_string())
        }
    }
}

/// The space and address of a symbol: of the frame, or of the program.
fn address(look: &dyn Look, symbol: &str, at: FramePlace) -> Option<(Space, u64)> {
    let mut own = look.frame_variables(at).into_iter();
    if let Some(found) = own.find(|variable| &*variable.name == symbol) {
        return Some((found.space, found.address));
    }
    let all = look.variables();
    let found = all.iter().find(|variable| &*variable.name == symbol)?;
    Some((found.space, found.address))
}

fn wide(bytes: &[u8]) -> u128 {
    let mut wide = [0; 16];
    let length = bytes.len().min(16);
    wide[..length].copy_from_slice(&bytes[..length]);
    u128::from_le_bytes(wide)
}

/// A value as text.
fn text(ty: &VariableType, bytes: &[u8], depth: u32) -> String {
    if depth > DEEPEST {
        return "...".to_owned();
    }
    let part = |offset: u64, ty: &VariableType| {
        let from = bytes.get(offset as usize..).unwrap_or_default();
        text(ty, from, depth + 1)
    };
    match &ty.shape {
        Shape::Number(own) => {
            let Some(own_bytes) = bytes.get(..own.bytes()) else { return "?".to_owned() };
            let value = own.value(wide(own_bytes));
            match own {
                Type::Unsigned(64) => format!("{:#x}", value.int()),
                _ => value.to_string(),
            }
        }
        Shape::Bool => match bytes.first() {
            Some(0) => "false".to_owned(),
            Some(_) => "true".to_owned(),
            None => "?".to_owned(),
        },
        Shape::Members(members) => {
            let mut out = "{".to_owned();
            for (index, (name, offset, ty)) in members.iter().enumerate() {
                let comma = if index == 0 { "" } else { ", " };
                // Writing to a string cannot fail.
                let _ = write!(out, "{comma}{name} = {}", part(*offset, ty));
            }
            out + "}"
        }
        Shape::Array(element, count) => {
            let shown = 0..*count.min(&MOST_ELEMENTS);
            let values: Vec<String> =
                shown.map(|index| part(index * element.bytes, element)).collect();
            let rest = if *count > MOST_ELEMENTS { ", ..." } else { "" };
            format!("[{}{rest}]", values.join(", "))
        }
        Shape::Other => format!("{} bytes", ty.bytes),
    }
}
