//! The machine `ir`: the kernel IR in its text form.

use inputs::launch::Located;
use isa::Diagnostics;

use super::vm;
use crate::interface::{Command, Image, Isa, Named};
use crate::program::Program;

/// The machine `ir`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct IrText;

impl Isa for IrText {
    fn name(&self) -> &'static str {
        "ir"
    }

    fn about(&self) -> &'static str {
        "the project's own kernel IR, as text"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["ir"]
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

    fn load(
        &self,
        image: Image<'_>,
        _wanted: &[Located<String>],
        found: &mut Diagnostics,
    ) -> Option<Box<dyn Program>> {
        let text = match image.text() {
            Ok(text) => text,
            Err(finding) => {
                found.push(finding);
                return None;
            }
        };
        match ::ir::text::parse(image.file, text) {
            Ok(module) => vm::link(module, text, None, found),
            Err(errors) => {
                found.append(errors);
                None
            }
        }
    }
}
