//! Reading of programs.

use ::prf::{Options, Words};
use isa::{Diagnostic, Diagnostics, FileId};

use super::super::listing::Listing;
use super::super::shared::{refused, text_of};
use crate::interface::Image;

/// Most hazards that are reported individually.
const HAZARDS: usize = 16;

/// A loaded program, with its text if it was assembled from one.
pub(super) struct PrfProgram {
    pub(super) words: Words,
    pub(super) program: ::prf::Program,
    pub(super) params: Vec<(String, bool)>,
    pub(super) file: FileId,
    pub(super) listing: Listing,
    /// Labels of the text, with their addresses.
    pub(super) labels: Vec<(String, u64)>,
}

/// Reads a program; adds warnings to `found`.
pub(super) fn read(image: Image<'_>, found: &mut Diagnostics) -> Result<PrfProgram, Diagnostics> {
    let not_loaded = |error: &dyn ToString| refused("prf::load", error.to_string());
    let text = text_of(&image)?;
    let config = Options::default().config;
    if Words::looks_like(text) {
        let words = Words::parse(text).map_err(|e| not_loaded(&e))?;
        let program = ::prf::Program::new(&words, config).map_err(|e| not_loaded(&e))?;
        if program.start() == ::prf::Start::Zero {
            let message = "the image has code at 0x0, where a launch block would lie";
            let finding = Diagnostic::warning("prf::entry", message);
            found.push(finding.help("it starts there; `--entry` names another address"));
        }
        let (params, listing, labels) = Default::default();
        return Ok(PrfProgram { words, program, params, file: image.file, listing, labels });
    }
    let mut assembled = ::prf::assemble(config.encoding, image.file, text)?;
    found.append(std::mem::take(&mut assembled.warnings));
    let params = ::prf::parameters(&assembled)?;
    let words = Words::assembled(&assembled);
    let program = ::prf::Program::new(&words, config).map_err(|e| not_loaded(&e))?;
    let labels = assembled.symbols.iter().filter(|symbol| symbol.address);
    let labels = labels.map(|symbol| (symbol.name.clone(), symbol.value)).collect();
    let listing = Listing::new(text, assembled.lines);
    hazards(&program, &listing, found);
    Ok(PrfProgram { words, program, params, file: image.file, listing, labels })
}

/// Warns of packets that the cycle-level model may execute out of the order in which they are
/// written. Open packets already have a warning of their own.
fn hazards(program: &::prf::Program, listing: &Listing, found: &mut Diagnostics) {
    let hazards = ::prf::hazard::check(program);
    let mut hazards = hazards.iter().filter(|h| h.kind != ::prf::hazard::HazardKind::Open);
    for hazard in hazards.by_ref().take(HAZARDS) {
        let mut finding =
            Diagnostic::warning("prf::hazard", format!("in one packet, {}", hazard.kind));
        if let Some(span) = listing.span(hazard.second.into()) {
            finding = finding.at(span, "nothing orders this behind the earlier instruction");
        }
        if let Some(line) = listing.span(hazard.first.into()).and_then(|s| listing.line(s)) {
            finding = finding.note(format!("the earlier instruction is in line {line}"));
        }
        found.push(finding.help("end the packet before it: `!1,1`"));
    }
    let more = hazards.count();
    if more > 0 {
        found.push(Diagnostic::warning(
            "prf::hazard",
            format!("and {more} more hazards in packets"),
        ));
    }
}

impl PrfProgram {
    /// Returns the program for a configuration: text is reassembled for its encoding, words are
    /// decoded anew.
    pub(super) fn configured(&self, config: ::prf::Config) -> Result<::prf::Program, String> {
        if config == Options::default().config {
            return Ok(self.program.clone());
        }
        let words = match &self.listing.text {
            Some(text) => {
                let assembled = ::prf::assemble(config.encoding, self.file, text.text());
                let assembled = assembled.map_err(|errors| {
                    let first = errors.iter().next().map_or("", |d| d.message.as_str());
                    format!("the program does not fit these options: {first}")
                })?;
                Words::assembled(&assembled)
            }
            None => self.words.clone(),
        };
        ::prf::Program::new(&words, config).map_err(|error| error.to_string())
    }
}
