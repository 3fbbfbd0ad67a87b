//! Checks of kernels' bodies that need no run: warnings of `check`.
//!
//! Each B.TEXT in the text after a marker names a body. The checks cover its instructions up to the
//! first terminator: whether there is a terminator, whether branches stay inside, and whether it
//! holds instructions that no body may hold.

use std::collections::BTreeSet;

use isa::asm::{Image, Line};
use isa::{Diagnostic, Diagnostics, Span};

use crate::action::{Action, Branch, Descriptor, Marker};
use crate::machine::Linx;
use crate::program::{Fetched, Program};
use crate::state::State;

/// Most instructions of all bodies together that are checked.
const MOST: usize = 1 << 18;

impl Linx {
    /// Returns warnings about the bodies of a program's kernels, under the rule of the first
    /// terminator.
    #[must_use]
    pub fn body_warnings(program: &Program, image: &Image) -> Diagnostics {
        let mut found = Diagnostics::new();
        let mut linear = false;
        let mut seen = BTreeSet::new();
        let mut budget = MOST;
        for line in &image.lines {
            let Fetched::Insn(insn) = program.fetch(line.address) else { continue };
            match insn.action {
                Action::Marker(marker) => linear = is_linear(marker),
                Action::Descriptor(Descriptor::Text) => {
                    let entry = line.address.wrapping_add_signed(insn.imm);
                    if seen.insert((entry, linear)) {
                        let body = Body { program, image, text: line.span, linear };
                        body.look(entry, &mut budget, &mut found);
                    }
                }
                _ => {}
            }
        }
        found
    }
}

fn is_linear(marker: Marker) -> bool {
    matches!(marker, Marker::Simt(simt) if simt.is_linear())
}

/// A body that a B.TEXT names.
struct Body<'p> {
    program: &'p Program,
    image: &'p Image,
    /// The descriptor.
    text: Span,
    linear: bool,
}

impl Body<'_> {
    fn warn(&self, at: u64, message: impl Into<String>, found: &mut Diagnostics) {
        let line = self.image.line_at(at).map(|line: &Line| line.span);
        let finding = Diagnostic::warning("linx::body", message);
        found.push(match line {
            Some(span) => finding.at(span, "").note("in the body of a kernel"),
            None => finding.at(self.text, "the body starts at this target"),
        });
    }

    fn look(&self, entry: u64, budget: &mut usize, found: &mut Diagnostics) {
        let mut places = Vec::new();
        let mut branches = Vec::new();
        let mut at = entry;
        while *budget > 0 {
            *budget -= 1;
            let insn = match self.program.fetch(at) {
                Fetched::Insn(insn) => insn,
                Fetched::Illegal => {
                    self.warn(at, "the body runs into what is not an instruction", found);
                    break;
                }
                Fetched::Unmapped => {
                    self.warn(entry, "the body has no terminator: it runs off the text", found);
                    break;
                }
            };
            places.push(at);
            match insn.action {
                Action::Stop => break,
                Action::Marker(_) | Action::ReservedTile if self.linear => {
                    self.warn(at, "a linear body must not hold block markers", found);
                    break;
                }
                Action::Marker(_) | Action::ReservedTile => break,
                Action::Branch(_) if self.linear => {
                    self.warn(at, "a linear body must not branch", found);
                }
                Action::Branch(Branch::Register) | Action::Vector(_) | Action::System(_) => {}
                Action::Branch(_) => branches.push((at, at.wrapping_add_signed(insn.imm))),
                Action::Scalar(op) if !State::allowed_in_body(op) => {
                    self.warn(at, "scalar memory and block state are closed in a body", found);
                }
                Action::Scalar(_) => {}
                Action::Descriptor(_) => self.warn(at, "a descriptor in a body", found),
                Action::Template(_) => self.warn(at, "a template block in a body", found),
                Action::None(why) => {
                    self.warn(at, format!("this instruction is not executed: {why}"), found);
                }
                Action::LegacyStop => {
                    self.warn(at, "L.BSTOP is not an instruction of this version", found);
                }
            }
            let Some(next) = at.checked_add(insn.length) else { break };
            at = next;
        }
        for (at, target) in branches {
            if *budget > 0 && places.binary_search(&target).is_err() {
                let message = format!("the branch goes to {target:#x}, outside the body");
                self.warn(at, message, found);
            }
        }
    }
}
