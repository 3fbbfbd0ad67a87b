//! The command `predicate`: a kernel as straight-line predicated code, and its cost.

use std::fmt::Write as _;

use flow::passes::predicate::{Held, Options, Predicated, Where, predicate};
use ir::{LocId, Module, VerifiedModule};
use isa::{Diagnostic, Span};

/// Most predicates of the map that are listed.
const LISTED: usize = 400;

/// A kernel as predicated code.
#[derive(Clone, Debug)]
pub struct Study {
    /// Under predicates.
    module: VerifiedModule,
    predicates: u32,
    /// The pass's result for each function, the kernel last.
    pub functions: Vec<Predicated>,
}

/// Predicates a kernel and the functions it calls with `predicates` predicate registers.
///
/// # Errors
/// Returns a diagnostic with the reason and the place if the pass refuses the kernel.
pub fn study(module: &Module, kernel: &str, predicates: u32) -> Result<Study, Diagnostic> {
    let invalid = |why: String| Diagnostic::error("predicate::refused", why);
    let id = module.function(kernel);
    let id = id.ok_or_else(|| invalid(format!("there is no kernel `{kernel}`")))?;
    let verified = VerifiedModule::new(module.clone()).map_err(|e| invalid(e.to_string()))?;
    let options = Options { predicates, ..Options::default() };
    let (made, functions) = predicate(&verified, id, options)
        .map_err(|error| place(invalid(error.to_string()), module, error.loc))?;
    Ok(Study { module: made, predicates, functions })
}

pub(crate) fn place(finding: Diagnostic, module: &Module, loc: LocId) -> Diagnostic {
    match span(module, loc) {
        Some(span) => finding.at(span, ""),
        None => finding,
    }
}

fn span(module: &Module, loc: LocId) -> Option<Span> {
    (loc != LocId(0)).then(|| module.loc(loc).span)
}

impl Study {
    /// Returns the predicated code as IR.
    #[must_use]
    pub fn code(&self) -> String {
        ir::text::print(&self.module)
    }

    /// Renders the report as text.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = String::new();
        for about in self.functions.iter().rev() {
            let name = &self.module.functions[about.function.index()].name;
            self.function(&mut out, name, about);
        }
        out
    }

    fn function(&self, out: &mut String, name: &str, about: &Predicated) {
        let np = self.predicates;
        let fits = if about.peak <= np { "they fit" } else { "they do not fit" };
        let _ = writeln!(out, "{name}: {} predicates needed at once; of {np}, {fits}", about.peak);
        let rows = [
            ("registers used", format!("{} (p0 is all lanes)", about.registers)),
            (
                "spilled",
                format!(
                    "{} predicates: {} stores, {} loads",
                    about.spilled, about.spills, about.fills
                ),
            ),
            (
                "instructions",
                format!("{} before, {} after: {:+}", about.before, about.after, about.added()),
            ),
            ("  masks", format!("{} (make predicates, jump back)", about.masks)),
            ("  flags", format!("{} (where several ways meet; kept conditions)", about.flags)),
            ("  copies", format!("{} in {} copied blocks", about.copied, about.copied_blocks)),
            ("  spills", (about.spills + about.fills).to_string()),
            ("branches gone", about.branches.to_string()),
            ("loops", about.loops.to_string()),
        ];
        for (what, value) in rows {
            let _ = writeln!(out, "  {what:<16}{value}");
        }
        if !about.map.is_empty() {
            let _ = writeln!(out, "  predicates, in order:");
        }
        for held in about.map.iter().take(LISTED) {
            let _ = writeln!(out, "    {}", line(held));
        }
        if about.map.len() > LISTED {
            let _ = writeln!(out, "    and {} more", about.map.len() - LISTED);
        }
    }
}

fn line(held: &Held) -> String {
    let slot = held.slot.map_or(String::new(), |s| format!(", slot {s}"));
    let lanes = match &held.lanes {
        Where::Condition { register, negated } => {
            format!("lanes where %{register} {}", if *negated { "does not hold" } else { "holds" })
        }
        Where::Cases(cases) => {
            let cases: Vec<String> = cases.iter().take(8).map(u32::to_string).collect();
            format!("lanes whose index is {}", cases.join(", "))
        }
        Where::Flag => "lanes that one of several branches leads here".to_owned(),
        Where::Loop => "lanes in the loop".to_owned(),
        Where::Guard => "lanes where an instruction's own guard holds".to_owned(),
    };
    let block = if held.block.is_empty() { String::new() } else { format!("{}: ", held.block) };
    format!("p{}{slot}  {block}{lanes}", held.register)
}
