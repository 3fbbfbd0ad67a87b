//! Parameters of a launch: `.param NAME` or `.param NAME TYPE`, for `a0`, `a1`, ... in order.

use isa::asm::{Image, MachineDirective};
use isa::{Diagnostic, Diagnostics};

/// One parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// The type of its register's value.
    pub ty: ParameterType,
}

/// A type of parameters: a number of bytes, sign- or zero-extended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterType {
    /// The type's spelling; `.param` without a type.
    pub spelling: &'static str,
    /// 1, 2, 4 or 8.
    pub bytes: u32,
    /// Whether the sign is extended.
    pub signed: bool,
    /// Whether it is a float.
    pub float: bool,
}

const fn ty(spelling: &'static str, bytes: u32, signed: bool, float: bool) -> ParameterType {
    ParameterType { spelling, bytes, signed, float }
}

/// Without a type: 64 bits.
const ANY: ParameterType = ty(".param", 8, false, false);

const TYPES: [ParameterType; 11] = [
    ty("u8", 1, false, false),
    ty("u16", 2, false, false),
    ty("u32", 4, false, false),
    ty("u64", 8, false, false),
    ty("s8", 1, true, false),
    ty("s16", 2, true, false),
    ty("s32", 4, true, false),
    ty("s64", 8, true, false),
    ty("f16", 2, false, true),
    ty("f32", 4, false, true),
    ty("f64", 8, false, true),
];

impl ParameterType {
    /// The register's 64 bits from the value's low ones.
    #[must_use]
    pub fn extend(self, value: u64) -> u64 {
        crate::compute::extend(value, 8 * self.bytes, self.signed)
    }
}

impl Parameter {
    /// The argument registers under their own names: the parameters of a program that declares
    /// none.
    #[must_use]
    pub fn all() -> Vec<Self> {
        (0..8).map(|index| Self { name: format!("a{index}"), ty: ANY }).collect()
    }
}

/// Returns the parameters of an assembled program.
///
/// # Errors
/// Returns diagnostics for a directive without a name, with a duplicate name or with an unknown
/// type, and for more than eight.
pub fn parameters(image: &Image) -> Result<Vec<Parameter>, Diagnostics> {
    let mut found = Diagnostics::new();
    let mut list: Vec<Parameter> = Vec::new();
    for directive in image.directives.iter().filter(|d| d.name == ".param") {
        match parameter(directive) {
            Err(finding) => found.push(finding),
            Ok(_) if list.len() == 8 => {
                let finding =
                    Diagnostic::error("linx::param", "there are eight argument registers");
                found.push(finding.at(directive.span, ""));
            }
            Ok(parameter) if list.iter().any(|p| p.name == parameter.name) => {
                let message = format!("there is a parameter `{}` already", parameter.name);
                found.push(Diagnostic::error("linx::param", message).at(directive.span, ""));
            }
            Ok(parameter) => list.push(parameter),
        }
    }
    if found.has_errors() { Err(found) } else { Ok(list) }
}

fn parameter(directive: &MachineDirective) -> Result<Parameter, Diagnostic> {
    let wrong = |message: String| Diagnostic::error("linx::param", message).at(directive.span, "");
    let words: Vec<&str> = directive.arguments.split_whitespace().collect();
    let (name, ty) = match words.as_slice() {
        [name] => (*name, ANY),
        [name, spelling] => {
            let known = TYPES.iter().find(|t| t.spelling == *spelling);
            let names = TYPES.map(|t| t.spelling).join(", ");
            let unknown = || wrong(format!("types of parameters are {names}"));
            (*name, *known.ok_or_else(unknown)?)
        }
        _ => {
            return Err(wrong("`.param` takes a name, and a type if it is not 64 bits".to_owned()));
        }
    };
    Ok(Parameter { name: name.to_owned(), ty })
}
