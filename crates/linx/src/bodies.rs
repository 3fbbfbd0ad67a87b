//! Checks of kernels' bodies that need no run: warnings of `check`.
//!
//! Each B.TEXT in a header of the text names a body. The checks cover its instructions up to the
//! first terminator: whether there is a terminator, whether branches stay inside, whether it holds
//! instructions that trap wherever they run, and what [`crate::lints`] says of masks and queues.

use std::collections::BTreeSet;

use isa::asm::{Image, Line};
use isa::{Diagnostic, Diagnostics, Span};

use crate::action::{Action, Branch, Descriptor, Marker, SOp, Simt, System, VOp};
use crate::insn::Insn;
use crate::lints;
use crate::machine::Linx;
use crate::program::{Fetched, Program};
use crate::regid::Reg;
use crate::state::State;
use crate::vector::{never_runs, operands};

/// Most instructions of all bodies together that are checked.
const MOST: usize = 1 << 18;

/// What a header binds, by its text.
#[derive(Clone, Copy, Debug)]
struct Header {
    simt: Simt,
    /// The descriptor that names the body, and the body's address.
    text: Option<(Span, u64)>,
    imports: usize,
    tiles: (usize, usize),
}

impl Header {
    fn take(&mut self, what: Descriptor, insn: &Insn, line: &Line) {
        let count = |codes: &[u64]| codes.iter().filter(|&&code| code != 0).count();
        match what {
            Descriptor::Text => {
                self.text = Some((line.span, line.address.wrapping_add_signed(insn.imm)));
            }
            Descriptor::Ior => {
                self.imports += count(&[insn.bits(15, 5), insn.bits(20, 5), insn.bits(27, 5)]);
            }
            Descriptor::Iot | Descriptor::IotI => {
                self.tiles.0 += 2 - count(&[insn.bits(28, 1), insn.bits(29, 1)]);
                self.tiles.1 += usize::from(insn.bits(25, 3) < 4);
            }
            _ => {}
        }
    }
}

impl Linx {
    /// Returns warnings about the bodies of a program's kernels, under the rule of the first
    /// terminator and the default options.
    #[must_use]
    pub fn body_warnings(program: &Program, image: &Image) -> Diagnostics {
        let mut found = Diagnostics::new();
        let mut header: Option<Header> = None;
        let mut seen = BTreeSet::new();
        let mut budget = MOST;
        for line in &image.lines {
            let Fetched::Insn(insn) = program.fetch(line.address) else { continue };
            if let (Action::Descriptor(what), Some(header)) = (insn.action, &mut header) {
                header.take(what, &insn, line);
                continue;
            }
            if let Some(Header { simt, text: Some((text, entry)), imports, tiles }) = header.take()
                && seen.insert((entry, simt, imports, tiles))
            {
                let body = Body { program, image, text, simt, imports, tiles };
                body.look(entry, &mut budget, &mut found);
            }
            if let Action::Marker(Marker::Simt(simt)) = insn.action {
                header = Some(Header { simt, text: None, imports: 0, tiles: (0, 0) });
            }
        }
        found
    }
}

/// A body that a B.TEXT names.
struct Body<'p> {
    program: &'p Program,
    image: &'p Image,
    /// The descriptor.
    text: Span,
    simt: Simt,
    imports: usize,
    tiles: (usize, usize),
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
        let mut body: Vec<(u64, Insn)> = Vec::new();
        let mut at = entry;
        while *budget > 0 {
            *budget -= 1;
            let insn = match self.program.fetch(at) {
                Fetched::Insn(insn) => insn,
                Fetched::Illegal => {
                    self.warn(at, "the body runs into what is not an instruction", found);
                    break;
                }
                Fetched::Unmapped(_) => {
                    self.warn(entry, "the body has no terminator: it runs off the text", found);
                    break;
                }
            };
            body.push((at, insn));
            if insn.ends {
                break;
            }
            if let Some(why) = self.refusal(&insn) {
                self.warn(at, why, found);
            }
            let Some(next) = at.checked_add(insn.length) else { break };
            at = next;
        }
        let inside = |target: u64| body.binary_search_by_key(&target, |(at, _)| *at).is_ok();
        for (at, insn) in &body {
            let Action::Branch(branch) = insn.action else { continue };
            let target = at.wrapping_add_signed(insn.imm);
            if branch != Branch::Register && !self.simt.is_linear() && !inside(target) {
                let message = format!("the branch goes to {target:#x}, outside the body");
                self.warn(*at, message, found);
            }
        }
        if !self.simt.is_linear() {
            for (at, message) in lints::look(&body) {
                self.warn(at, message, found);
            }
        }
    }

    /// The reason that an instruction traps wherever it runs in this body, or reads what the header
    /// does not bind.
    fn refusal(&self, insn: &Insn) -> Option<String> {
        let why = match insn.action {
            Action::Branch(_) if self.simt.is_linear() => "a linear body must not branch",
            Action::Vector(op) => {
                let never = never_runs(insn, op, self.simt, self.tiles);
                return never.map(str::to_owned).or_else(|| self.unbound(insn, op));
            }
            Action::Scalar(op) if !State::allowed_in_body(op) => {
                "scalar memory and block state are closed in a body"
            }
            Action::Scalar(op) if self.simt.is_parallel() && writes_register(insn, op) => {
                "groups of a parallel kernel must not write general registers"
            }
            Action::System(System::SsrGet | System::Assert | System::Ebreak) => return None,
            Action::System(_) => "this system instruction is closed in a body",
            Action::Descriptor(_) => "a descriptor in a body",
            Action::Template(_) => "a template block in a body",
            Action::None(why) => return Some(format!("this instruction is not executed: {why}")),
            Action::LegacyStop => "L.BSTOP is not an instruction of this version",
            _ => return None,
        };
        Some(why.to_owned())
    }

    /// An import that the header does not bind reads 0.
    fn unbound(&self, insn: &Insn, op: VOp) -> Option<String> {
        let ops = operands(insn, op);
        let import = |reg| match reg {
            Reg::Ri(i) if usize::from(i) >= self.imports => Some(i),
            _ => None,
        };
        let found = [ops.l, ops.r, ops.a].into_iter().flatten().find_map(|s| import(s.reg))?;
        Some(format!("the header binds {} imports: ri{found} reads 0", self.imports))
    }
}

/// Returns whether a scalar instruction writes a general register.
fn writes_register(insn: &Insn, op: SOp) -> bool {
    !matches!(op, SOp::Prefetch) && ((1..24).contains(&insn.rd) || (1..24).contains(&insn.rd1))
}
