//! Checks of the assembler beyond the syntax: shift amounts against operand widths, and
//! instructions of newer versions.

use isa::asm::Image;
use isa::{Diagnostic, Diagnostics};

use crate::encoding::Encoding;
use crate::regid;

/// Prefixes of mnemonics of other versions: those of v0.57 and later, and L.BSTOP of v0.3.
const OTHERS: [&str; 5] = ["b.catr", "b.datr", "bstart.tlsu", "l.bstart", "l.bstop"];

/// Adds a note to findings about instructions of other versions.
pub(crate) fn newer(found: &Diagnostics, text: &str) -> Diagnostics {
    let mut out = Diagnostics::new();
    for finding in found {
        let start = finding.primary.as_ref().map_or(0, |label| label.span.start as usize);
        let first = text.get(..start).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
        let line = text.get(first..).and_then(|rest| rest.lines().next()).unwrap_or_default();
        let other =
            |word: &str| OTHERS.iter().any(|name| word.to_ascii_lowercase().starts_with(name));
        let finding = finding.clone();
        // Newer texts write tiles without brackets, and sizes behind any descriptor.
        let word = line.split_whitespace().find(|w| !w.ends_with(':')).unwrap_or_default();
        let tiles = matches!(word.to_ascii_lowercase().as_str(), "b.iot" | "b.ioti");
        let unbracketed = tiles && !line.contains('[');
        out.push(if unbracketed || line.split_whitespace().any(other) {
            finding.note("this is of another version of LinxISA; the target is v0.4")
        } else {
            finding
        });
    }
    out
}

/// Refuses immediate shifts of kernel instructions by the operand's width or more.
pub(crate) fn shifts(image: Image, encoding: Encoding) -> Result<Image, Diagnostics> {
    let table = crate::table(encoding);
    let mut found = Diagnostics::new();
    for line in &image.lines {
        let bytes = image.bytes_at(line.address).unwrap_or_default();
        let Ok(instruction) = table.decode_bytes(bytes) else { continue };
        let form = table.form(instruction.form);
        if !matches!(form.name.as_str(), "v.slli" | "v.srli" | "v.srai") || line.length != 8 {
            continue;
        }
        let field = |name| form.field(name).map(|f| f.extract(instruction.word));
        let amount = field("shamt").unwrap_or(0);
        let bits = field("SrcL").and_then(regid::source).map_or(64, |source| source.bits);
        if amount >= i64::from(bits) {
            let message = format!("a shift by {amount} of an operand with {bits} bits");
            let finding = Diagnostic::error("linx::shift", message).at(line.span, "");
            found.push(finding.help(format!("write 0 to {}", bits - 1)));
        }
    }
    if found.has_errors() { Err(found) } else { Ok(image) }
}
