//! The machine `prf`: assembly text or words in hexadecimal, with a single kernel, `main`.
//!
//! `.param` declares the argument block, one word for each parameter; special register 3 holds its
//! address. Buffers start at `0x2000_0000`, with unmapped space between them. The option `timing`
//! selects the cycle-level model.

mod context;
mod timeline;

use std::path::Path;

use ::prf::{OPTIONS, Options, Prf, TimingTable, Words};
use inputs::file::{MAX_PROGRAM_BYTES, read_input};
use inputs::kernel::{KernelInfo, ParamInfo, ParamKind};
use inputs::launch::Located;
use isa::{Diagnostic, Diagnostics, FileId};
use simt::machine::Machine;

use crate::adapters::shared::{self, Listing, loaded, refused, text_of};
use crate::graph::ControlFlow;
use crate::interface::{Axis, Command, ConformCase, Image, Isa, Named};
use crate::program::{Context, Program};
use context::PrfContext;

/// The machine `prf`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PrfMachine;

/// The only kernel of a program.
const KERNEL: &str = "main";
/// Most hazards that are reported individually.
const HAZARDS: usize = 16;

/// A loaded program, with its text if it was assembled from one.
struct PrfProgram {
    words: Words,
    program: ::prf::Program,
    params: Vec<(String, bool)>,
    file: FileId,
    listing: Listing,
}

fn read(image: Image<'_>, found: &mut Diagnostics) -> Result<PrfProgram, Diagnostics> {
    let not_loaded = |error: &dyn ToString| refused("prf::load", error.to_string());
    let text = text_of(&image)?;
    let config = Options::default().config;
    if Words::looks_like(text) {
        let words = Words::parse(text).map_err(|e| not_loaded(&e))?;
        let program = ::prf::Program::new(&words, config).map_err(|e| not_loaded(&e))?;
        let (params, listing) = Default::default();
        return Ok(PrfProgram { words, program, params, file: image.file, listing });
    }
    let mut assembled = ::prf::assemble(config.encoding, image.file, text)?;
    found.append(std::mem::take(&mut assembled.warnings));
    let params = ::prf::parameters(&assembled)?;
    let words = Words::assembled(&assembled);
    let program = ::prf::Program::new(&words, config).map_err(|e| not_loaded(&e))?;
    let listing = Listing::new(text, assembled.lines);
    hazards(&program, &listing, found);
    Ok(PrfProgram { words, program, params, file: image.file, listing })
}

/// Warns of packets that the cycle-level model may execute out of the order in which they are
/// written. Open packets already have a warning of their own.
fn hazards(program: &::prf::Program, listing: &Listing, found: &mut Diagnostics) {
    let hazards = ::prf::hazard::check(program);
    let mut hazards = hazards.iter().filter(|h| h.kind != ::prf::hazard::Kind::Open);
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

impl Isa for PrfMachine {
    fn name(&self) -> &'static str {
        Prf::NAME
    }

    fn about(&self) -> &'static str {
        "a GPU whose control flow is predicate masks alone"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["prf", "hex"]
    }

    fn commands(&self) -> &'static [Command] {
        shared::COMMANDS
    }

    fn mechanisms(&self) -> Vec<Named> {
        vec![Named { name: "predicates", about: "one program counter; lanes by predicate masks" }]
    }

    fn default_mechanisms(&self) -> &'static [&'static str] {
        &["predicates"]
    }

    fn bare_argument(&self) -> Option<&'static str> {
        Some("argument")
    }

    fn axes(&self) -> Vec<Axis> {
        vec![
            Axis::new("profile", &["founding", "cardinal", "clean"]),
            Axis::new("writes", &["and", "merge"]),
            Axis::new("predicates", &["16", "32"]),
            Axis::new("scheduler", &["round-robin", "greedy-then-oldest"]),
        ]
    }

    fn options(&self) -> Vec<Named> {
        OPTIONS.iter().map(|o| Named { name: o.name, about: o.about }).collect()
    }

    fn load(
        &self,
        image: Image<'_>,
        _wanted: &[Located<String>],
        found: &mut Diagnostics,
    ) -> Option<Box<dyn Program>> {
        loaded(read(image, found), found)
    }

    /// Returns words with addresses, as text.
    fn assemble(&self, image: Image<'_>) -> Result<Vec<u8>, Diagnostics> {
        Ok(read(image, &mut Diagnostics::new())?.words.to_text().into_bytes())
    }

    /// Returns a text that assembles to the same words.
    fn disassemble(&self, image: Image<'_>) -> Result<String, Diagnostics> {
        let program = read(image, &mut Diagnostics::new())?;
        let dialect = ::prf::dialect(Options::default().config.encoding);
        let text = |(address, bytes): (u32, Vec<u8>)| {
            isa::disasm::source(dialect, &isa::disasm::disassemble(dialect, &bytes, address.into()))
        };
        Ok(program.words.runs().into_iter().map(text).collect())
    }

    fn conform(&self) -> Result<Vec<ConformCase>, Diagnostics> {
        let tables = ::prf::CONFORM_TABLES.iter();
        Ok(tables.flat_map(|(name, table)| cases(name, ::prf::conform_own(name, table))).collect())
    }

    fn conform_table(&self, name: &str, image: Image<'_>) -> Result<Vec<ConformCase>, Diagnostics> {
        let text = text_of(&image)?;
        let beside = match ::prf::is_timing(text) {
            Some(TimingTable::Programs) => sibling_file(name, "timing-traces.tsv"),
            Some(TimingTable::Traces) => sibling_file(name, "timing-programs.tsv"),
            None => None,
        };
        Ok(cases(name, ::prf::conform(text, beside.as_deref())))
    }
}

/// Reads the companion of a timing table from the same folder, if it is there.
fn sibling_file(table: &str, name: &str) -> Option<String> {
    let path = Path::new(table).with_file_name(name);
    let bytes = read_input(&path, MAX_PROGRAM_BYTES, None).ok()?;
    String::from_utf8(bytes).ok()
}

fn cases(name: &str, report: isa::conform::Report) -> Vec<ConformCase> {
    let case = |c: isa::conform::Case| ConformCase {
        name: format!("{name}: line {}: {}", c.line, c.fact),
        failure: c.failure,
    };
    report.cases.into_iter().map(case).collect()
}

impl PrfProgram {
    /// Returns the program for a configuration: text is reassembled for its encoding, words are
    /// decoded anew.
    fn configured(&self, config: ::prf::Config) -> Result<::prf::Program, String> {
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

impl Program for PrfProgram {
    fn kernels(&self) -> Vec<KernelInfo> {
        let mut offset = 0;
        let param = |(name, pointer): &(String, bool)| {
            let size = if *pointer { 8 } else { 4 };
            let at = offset;
            offset += size;
            let spelling = if *pointer { "ptr" } else { "word" }.to_owned();
            ParamInfo { name: name.clone(), spelling, offset: at, size, kind: ParamKind::Bits }
        };
        let params = self.params.iter().map(param).collect();
        let span = self.listing.span(self.program.entry().into());
        vec![KernelInfo { name: KERNEL.to_owned(), params, span, ..KernelInfo::default() }]
    }

    fn control_flow(&self, _kernel: &str) -> Option<ControlFlow> {
        None
    }

    fn context(&self) -> Result<Box<dyn Context + '_>, Diagnostic> {
        Ok(Box::new(PrfContext::new(self)))
    }
}
