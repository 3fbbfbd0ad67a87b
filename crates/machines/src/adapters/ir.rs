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
    retry_mechanism: Some(vm::RETRY_MECHANISM),
    default_warp_size: 32,
    reference: vm::REFERENCE,
    axes: vm::AXES,
    profiles: vm::PROFILES,
    options: &[vm::OPTIONS],
    bare_argument: None,
    has_grid: true,
    has_graphs: true,
    has_checks: true,
    group_mask: None,
    configuration: None,
    variant: no_variant,
    load,
    summary: None,
    tools: None,
};

fn load(
    image: Image<'_>,
    _wanted: &[Located<String>],
    found: &mut Diagnostics,
) -> Option<Box<dyn Program>> {
    let text = image.text().map_err(|finding| found.push(finding)).ok()?;
    match ::ir::text::parse(image.file, text) {
        Ok(module) => vm::link(module, text, None, found),
        Err(errors) => {
            found.append(errors);
            None
        }
    }
}
