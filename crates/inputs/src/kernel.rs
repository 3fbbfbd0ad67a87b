//! Kernels as their callers see them: names and parameters.

use isa::suggest::nearest;
use isa::{Diagnostic, Span};

use crate::elem::shortened;

/// The properties of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelInfo {
    /// Its name.
    pub name: String,
    /// Its parameters, in order.
    pub params: Vec<ParamInfo>,
    /// Number of trailing parameters that may be omitted; they default to 0.
    pub optional: usize,
    /// Declared shared memory in bytes.
    pub shared: u64,
    /// Local memory per thread in bytes, without that of callees.
    pub local: u64,
    /// Its declaration.
    pub span: Option<Span>,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamInfo {
    /// Its name.
    pub name: String,
    /// Its type as the program spells it.
    pub spelling: String,
    /// Offset in the parameter block in bytes.
    pub offset: u64,
    /// Size in bytes.
    pub size: u64,
    /// The kind of value that it accepts.
    pub kind: ParamKind,
}

/// The kind of value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    /// An integer; may be an address if it has 8 bytes.
    Integer,
    /// A floating-point number.
    Float,
    /// Bits without a declared type.
    Bits,
    /// A structure or an array, by value.
    Aggregate,
}

/// Returns the kernel of this name, or the only one.
///
/// # Errors
/// Returns a diagnostic without a location if there is no such kernel, or if `name` is `None` and
/// there are several.
pub fn choose_kernel<'k>(
    kernels: &'k [KernelInfo],
    name: Option<&str>,
) -> Result<&'k KernelInfo, Diagnostic> {
    const SHOWN: usize = 8;
    let list = || {
        let mut names: Vec<&str> = kernels.iter().take(SHOWN).map(|k| k.name.as_str()).collect();
        if kernels.len() > SHOWN {
            names.push("...");
        }
        names.join(", ")
    };
    let error = |message: String| Diagnostic::error("run::kernel", message);
    match (name, kernels) {
        (_, []) => Err(error("the program has no kernel".to_owned())
            .help("a kernel is a function that can be launched: `.entry` in PTX")),
        (Some(name), _) => kernels.iter().find(|k| k.name == name).ok_or_else(|| {
            let names = kernels.iter().map(|k| k.name.as_str());
            let finding = error(format!("the program has no kernel `{}`", shortened(name)));
            finding.help(match nearest(name, names) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("it has {}", list()),
            })
        }),
        (None, [only]) => Ok(only),
        (None, _) => Err(error(format!("the program has {} kernels", kernels.len()))
            .help(format!("name one of {}", list()))),
    }
}
