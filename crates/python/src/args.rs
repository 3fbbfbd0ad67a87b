//! Arguments from Python as the laboratory's argument specifications.
//!
//! The call is written out as one line of text, in the notation of `--arg`, so that a finding
//! points at the argument that is wrong.

use inputs::argspec::{ArgSpec, ArgValue, BufferRef};
use inputs::elem::{ElemKind, ElemType, Scalar};
use inputs::kernel::{KernelInfo, ParamInfo, ParamKind};
use isa::suggest::nearest;
use isa::{Diagnostic, Diagnostics, FileId, SourceMap, Span};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

/// Most characters of an argument that are shown.
const SHOWN: usize = 60;

/// An argument as the package's Python half gives it.
#[derive(FromPyObject)]
pub(crate) struct Given {
    /// The parameter's name, if arguments are given by name.
    pub(crate) name: Option<String>,
    /// What it is: `int`, `float`, `scalar`, `bytes`, `array` or `address`.
    pub(crate) kind: String,
    /// The number of an `int`, `float` or `address`; the element type of a `scalar` or `array`,
    /// empty if it has no name here.
    pub(crate) text: String,
    /// The bytes of a `scalar`, of `bytes` or of an `array`.
    pub(crate) data: Option<PyBackedBytes>,
    /// The extents of an `array`.
    pub(crate) shape: Vec<u64>,
    /// Of an `array`: the first argument with the same memory, often itself.
    pub(crate) same: usize,
    /// Of an `array`: whether its bytes are wanted back.
    pub(crate) back: bool,
}

/// A call written out.
pub(crate) struct Call {
    file: FileId,
    text: String,
}

impl Call {
    /// Begins with the function's name. The call becomes the next file of `sources`.
    pub(crate) fn new(sources: &SourceMap, name: &str) -> Self {
        Self { file: FileId(sources.iter().count() as u32), text: format!("{name}(") }
    }

    /// Adds a word; gives its place.
    pub(crate) fn word(&mut self, word: &str) -> Span {
        if !self.text.ends_with('(') {
            self.text.push_str(", ");
        }
        let start = self.text.len() as u32;
        let shown = word.chars().take(SHOWN);
        self.text.extend(shown.map(|c| if c.is_control() { '\u{fffd}' } else { c }));
        Span::new(self.file, start, self.text.len() as u32)
    }

    /// Adds `name=value`; gives the place of both.
    pub(crate) fn option(&mut self, name: &str, value: &str) -> Span {
        self.word(&format!("{name}={value}"))
    }

    /// The whole call, so far.
    pub(crate) fn span(&self) -> Span {
        Span::new(self.file, 0, self.text.len() as u32)
    }

    /// Enters the text into the map.
    pub(crate) fn enter(mut self, sources: &mut SourceMap) {
        self.text.push(')');
        sources.add("call", self.text);
    }
}

/// The name of the buffer of an argument.
pub(crate) fn buffer_name(kernel: &KernelInfo, given: &[Given], index: usize) -> String {
    let arg = given.get(index).and_then(|arg| arg.name.clone());
    let param = || kernel.params.get(index).map(|p| p.name.clone());
    arg.or_else(param).unwrap_or_else(|| format!("arg{index}"))
}

impl Given {
    fn shown(&self) -> String {
        let shape: Vec<String> = self.shape.iter().map(u64::to_string).collect();
        let value = match self.kind.as_str() {
            "array" => {
                let ty = if self.text.is_empty() { "bytes" } else { &self.text };
                format!("{ty}[{}]", shape.join(","))
            }
            "scalar" => match self.scalar() {
                Some(scalar) => scalar.to_string(),
                None => self.text.clone(),
            },
            "bytes" => format!("bytes[{}]", self.data.as_ref().map_or(0, |d| d.len())),
            _ => self.text.clone(),
        };
        match &self.name {
            Some(name) => format!("{name}={value}"),
            None => value,
        }
    }

    /// A number that has a type of its own.
    fn scalar(&self) -> Option<Scalar> {
        let ty = ElemType::from_name(&self.text)?;
        let data = self.data.as_ref().filter(|d| d.len() == ty.bytes())?;
        let mut bits = [0; 8];
        bits[..data.len()].copy_from_slice(data);
        Some(Scalar { ty, bits: u64::from_le_bytes(bits) })
    }
}

/// Arguments as specifications; findings point into `call`.
pub(crate) fn specs(
    kernel: &KernelInfo,
    given: &[Given],
    call: &mut Call,
    found: &mut Diagnostics,
) -> Vec<ArgSpec> {
    let mut specs = Vec::with_capacity(given.len());
    for (index, arg) in given.iter().enumerate() {
        let span = call.word(&arg.shown());
        let param = match &arg.name {
            Some(name) => kernel.params.iter().find(|p| p.name == *name),
            None => kernel.params.get(index),
        };
        let known = param.is_some() || arg.name.is_none() || kernel.name.is_empty();
        let value =
            if known { value(kernel, given, index, param) } else { Err(no_parameter(kernel, arg)) };
        match value {
            Ok(value) => specs.push(ArgSpec { name: arg.name.clone(), value, span }),
            Err(finding) => found.push(finding.at(span, "")),
        }
    }
    specs
}

fn value(
    kernel: &KernelInfo,
    given: &[Given],
    index: usize,
    param: Option<&ParamInfo>,
) -> Result<ArgValue, Diagnostic> {
    let arg = &given[index];
    let bytes = || arg.data.as_ref().map_or(Vec::new(), |data| data.to_vec());
    Ok(match arg.kind.as_str() {
        "array" => {
            let name = buffer_name(kernel, given, arg.same);
            ArgValue::Reference(BufferRef { name, offset: 0 })
        }
        // Guest memory is wherever it is: the name is for messages alone.
        "address" => {
            ArgValue::Scalar(Scalar { ty: ElemType::U64, bits: arg.text.parse().unwrap_or(0) })
        }
        "scalar" => ArgValue::Scalar(
            arg.scalar().ok_or_else(|| type_error("a scalar of this type cannot be passed"))?,
        ),
        "int" | "float" => ArgValue::Scalar(number(arg, param)?),
        _ => ArgValue::Bytes(bytes()),
    })
}

/// The laboratory takes names that are not parameters's for labels; those of a dict are meant.
fn no_parameter(kernel: &KernelInfo, arg: &Given) -> Diagnostic {
    let name: String = arg.name.iter().flat_map(|name| name.chars()).take(SHOWN).collect();
    let names = || kernel.params.iter().map(|p| p.name.as_str());
    let message = format!("{} has no parameter `{name}`", kernel.name);
    Diagnostic::error("arg::name", message).help(match nearest(&name, names()) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("parameters are {}", names().take(12).collect::<Vec<_>>().join(", ")),
    })
}

fn type_error(message: impl Into<String>) -> Diagnostic {
    Diagnostic::error("arg::type", message)
}

/// A number of Python's, which takes the parameter's type.
fn number(arg: &Given, param: Option<&ParamInfo>) -> Result<Scalar, Diagnostic> {
    // One argument too many: it has no type, and its number is told when arguments are counted.
    let Some(param) = param else { return Ok(Scalar { ty: ElemType::U64, bits: 0 }) };
    let ty = element(param).ok_or_else(|| {
        type_error(format!("a number is passed for {} {}", param.spelling, param.name))
            .help(format!("pass bytes, {} of them", param.size))
    })?;
    let bits = match arg.kind.as_str() {
        "int" => {
            let value: i128 = arg.text.parse().map_err(|_| type_error("not a number"))?;
            match ty.kind() {
                ElemKind::Float => ty.round(value as f64),
                _ => fits(ty, value).then(|| ty.wrap(value)),
            }
        }
        _ => {
            let value: f64 = arg.text.parse().map_err(|_| type_error("not a number"))?;
            if ty.kind() != ElemKind::Float {
                let message =
                    format!("a float is passed where the kernel takes {}", param.spelling);
                return Err(type_error(message).help(way_out(param)));
            }
            ty.round(value)
        }
    };
    let bits = bits.ok_or_else(|| {
        let value = arg.text.parse().unwrap_or(0);
        type_error(format!("{} does not fit {} {}", arg.text, param.spelling, param.name))
            .help(other_sign(ty, value, param))
    })?;
    Ok(Scalar { ty, bits })
}

/// Whether an integer fits: bits without a declared meaning hold signed and unsigned numbers.
fn fits(ty: ElemType, value: i128) -> bool {
    let bits = ty.bits();
    let lowest = if ty.kind() == ElemKind::Unsigned { 0 } else { -(1_i128 << (bits - 1)) };
    let beyond = 1_i128 << if ty.kind() == ElemKind::Signed { bits - 1 } else { bits };
    (lowest..beyond).contains(&value)
}

/// What to pass for an integer that does not fit: compilers often declare parameters for signed
/// numbers as `.u32`.
fn other_sign(ty: ElemType, value: i128, param: &ParamInfo) -> String {
    let bits = ty.bits();
    match ty.kind() {
        ElemKind::Unsigned if value < 0 && value >= -(1_i128 << (bits - 1)) => {
            format!("pass numpy.int{bits}({value}) if the kernel means a signed number")
        }
        _ => way_out(param),
    }
}

/// The element type of a parameter that is a number.
fn element(param: &ParamInfo) -> Option<ElemType> {
    if param.kind == ParamKind::Aggregate {
        return None;
    }
    ElemType::from_name(param.spelling.trim_start_matches('.'))
        .filter(|ty| ty.bytes() as u64 == param.size)
}

/// What to pass, in the words of Python.
pub(crate) fn way_out(param: &ParamInfo) -> String {
    let Some(ty) = element(param) else { return format!("pass bytes, {} of them", param.size) };
    let (kind, bits) = match ty.kind() {
        ElemKind::Float if ty == ElemType::Bf16 => return "pass a Python float".to_owned(),
        ElemKind::Float => ("float", ty.bits()),
        ElemKind::Signed => ("int", ty.bits()),
        ElemKind::Unsigned | ElemKind::Bits => ("uint", ty.bits()),
    };
    let array = if param.size == 8 && ty.kind() != ElemKind::Float { ", or an array" } else { "" };
    format!("pass numpy.{kind}{bits}(...) or a Python number that fits{array}")
}

/// Findings of the laboratory about arguments, with a way out in the words of Python.
pub(crate) fn in_python(
    found: &Diagnostics,
    kernel: &KernelInfo,
    specs: &[ArgSpec],
) -> Diagnostics {
    let mut out = Diagnostics::new();
    for finding in found {
        let mut finding = finding.clone();
        let span = finding.primary.as_ref().map(|label| label.span);
        let index = specs.iter().position(|spec| Some(spec.span) == span);
        let param = index.and_then(|index| match &specs[index].name {
            Some(name) => kernel.params.iter().find(|p| p.name == *name),
            None => kernel.params.get(index),
        });
        if let (Some(param), "arg::type") = (param, finding.code) {
            finding.help = Some(way_out(param));
        }
        out.push(finding);
    }
    out
}
