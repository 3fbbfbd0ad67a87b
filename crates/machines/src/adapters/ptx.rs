//! The machine `ptx`: PTX text, lowered to the kernel IR.

use ::ptx::Select;
use ::ptx::ast::FunctionKind;
use inputs::kernel::{KernelInfo, choose_kernel};
use inputs::launch::Located;
use ir::device::Limits;
use isa::Diagnostics;

use super::vm;
use crate::interface::{Command, Image, Isa, Named};
use crate::program::Program;

/// The machine `ptx`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ptx {
    /// The device limits that apply when a program is read.
    limits: Limits,
}

impl Ptx {
    /// PTX under the limits of devices.
    pub(crate) const LIMITED: Self = Self { limits: Limits::OfTarget };
    /// PTX without limits.
    const UNLIMITED: Self = Self { limits: Limits::None };
}

impl Isa for Ptx {
    fn name(&self) -> &'static str {
        "ptx"
    }

    fn about(&self) -> &'static str {
        "NVIDIA's virtual instruction set, as compilers write it"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["ptx"]
    }

    fn commands(&self) -> &'static [Command] {
        &[Command::Run, Command::Check, Command::List, Command::Cfg]
    }

    fn mechanisms(&self) -> Vec<Named> {
        vm::mechanisms()
    }

    fn default_mechanisms(&self) -> &'static [&'static str] {
        vm::USUAL_MECHANISMS
    }

    fn options(&self) -> Vec<Named> {
        vec![vm::LIMITS_OF]
    }

    /// The limits on declarations are the same on all devices, so there are only two variants.
    /// Limits on launches depend on the device and are checked at the launch.
    fn variant(&self, option: &str, value: &str) -> Result<Option<&'static dyn Isa>, String> {
        if option != vm::LIMITS_OF.name {
            return Ok(None);
        }
        Ok(Some(match vm::limits(value)? {
            Limits::None => &Self::UNLIMITED,
            Limits::OfTarget | Limits::Of(_) => &Self::LIMITED,
        }))
    }

    /// Lowers only what the wanted kernels can reach: unsupported code elsewhere in the file is not
    /// an error.
    fn load(
        &self,
        image: Image<'_>,
        wanted: &[Located<String>],
        found: &mut Diagnostics,
    ) -> Option<Box<dyn Program>> {
        let text = match image.text() {
            Ok(text) => text,
            Err(finding) => {
                found.push(finding);
                return None;
            }
        };
        let (tree, errors) = ::ptx::parse(image.file, text);
        let broken = errors.has_errors();
        found.append(errors);
        if broken {
            return None;
        }
        let kernels = kernels(&tree);
        for name in wanted {
            if let Err(finding) = choose_kernel(&kernels, Some(&name.value)) {
                found.push(finding.at(name.span, "not in the program"));
                return None;
            }
        }
        let names: Vec<&str> = wanted.iter().map(|w| w.value.as_str()).collect();
        let select = if names.is_empty() { Select::All } else { Select::Kernels(&names) };
        let (module, errors) = ::ptx::lower_for(&tree, select, self.limits);
        found.append(errors);
        vm::link(module?, text, ::ptx::target(&tree), found)
    }
}

/// Returns the kernels of a file, with nothing but their names.
fn kernels(tree: &::ptx::Module) -> Vec<KernelInfo> {
    let entries = tree.functions().filter(|f| f.kind == FunctionKind::Entry && f.body.is_some());
    entries
        .map(|f| KernelInfo {
            name: tree.name(f.signature.name.symbol).to_owned(),
            ..KernelInfo::default()
        })
        .collect()
}
