//! The machine `ir`: the kernel IR in its text form.

use inputs::launch::Located;
use isa::Diagnostics;

use super::vm;
use crate::interface::{Image, Isa, no_variant};
use crate::program::Program;

/// The machine `ir`.
pub(crate) static IR: Isa = Isa {
    name: "ir",
    about: "the project's own kernel IR, as text",
    extensions: &["ir"],
    mechanisms: &vm::MECHANISMS,
    default_mechanisms: vm::USUAL_MECHANISMS,
    default_warp_size: 32,
    reference: vm::REFERENCE,
    axes: &[],
    options: &[],
    bare_argument: None,
    has_grid: true,
    has_graphs: true,
    variant: no_variant,
    load,
    tools: None,
};

fn load(
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
