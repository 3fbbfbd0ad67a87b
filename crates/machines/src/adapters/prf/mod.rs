//! The machine `prf`: assembly text or words in hexadecimal, with a single kernel, `main`.
//!
//! `.param` declares the argument block, one word for each parameter; special register 3 holds its
//! address. Buffers start at `0x2000_0000`, with unmapped space between them. The option `timing`
//! selects the cycle-level model.

mod context;
mod program;
mod timeline;

use std::path::Path;

use ::prf::{OPTIONS, Options, Prf, TimingTable};
use inputs::file::{MAX_PROGRAM_BYTES, read_input};
use inputs::kernel::{KernelInfo, ParamInfo, ParamKind};
use inputs::launch::MachineOption;
use isa::{Diagnostic, Diagnostics};
use simt::machine::Machine;

use super::shared::{loaded, named, option_text, text_of};
use crate::graph::ControlFlow;
use crate::interface::{Axis, ConformCase, Image, Isa, Named, Reference, Tools, no_variant};
use crate::program::{Context, Program};
use context::PrfContext;
use program::{PrfProgram, read};

/// The machine `prf`.
pub(crate) static PRF: Isa = Isa {
    name: Prf::NAME,
    about: "a GPU whose control flow is predicate masks alone",
    extensions: &["prf", "hex"],
    mechanisms: &[Named {
        name: "predicates",
        about: "one program counter; lanes by predicate masks",
    }],
    default_mechanisms: &["predicates"],
    retry_mechanism: None,
    default_warp_size: 32,
    reference: Reference { mechanism: "predicates", warp_size: 32, settings: &[] },
    profiles: &[],
    axes: &[
        Axis::new("profile", &["founding", "cardinal", "clean"]),
        Axis::new("writes", &["and", "merge"]),
        Axis::new("predicates", &["16", "32"]),
        Axis::new("scheduler", &["round-robin", "greedy-then-oldest"]),
    ],
    options: &[&named!(OPTIONS, about)],
    bare_argument: Some("argument"),
    has_grid: true,
    has_graphs: false,
    has_checks: false,
    group_mask: None,
    configuration: Some(configuration),
    variant: no_variant,
    load: |image, _, found| loaded(read(image, found), found),
    summary: None,
    tools: Some(Tools {
        assemble,
        listing: None,
        disassemble,
        conform,
        conform_table: Some(conform_table),
    }),
};

/// Most remarks on single instructions.
const REMARKS: usize = 16;

/// The only kernel of a program.
const KERNEL: &str = "main";

/// Describes the models that options make.
fn configuration(given: &[MachineOption]) -> Result<String, (usize, String)> {
    let mut options = Options::default();
    for (index, option) in given.iter().enumerate() {
        let set = options.set(&option.key.value, &option_text(option));
        set.map_err(|error| (index, error.to_string()))?;
    }
    let predicates = options.config.encoding.predicates.count();
    let (profile, params) = (options.profile, &options.params);
    Ok(format!(
        "profile {} ({}); {predicates} predicates of 32 bits, 64 registers a lane\n\
         cycle-level model, {:?}:\n{}",
        profile.name(),
        profile.about(),
        options.hazards,
        params.to_text()
    ))
}

/// Returns words with addresses, as text.
fn assemble(image: Image<'_>) -> Result<Vec<u8>, Diagnostics> {
    Ok(read(image, &mut Diagnostics::new())?.words.to_text().into_bytes())
}

/// Returns a text that assembles to the same words.
fn disassemble(image: Image<'_>) -> Result<String, Diagnostics> {
    let program = read(image, &mut Diagnostics::new())?;
    let dialect = ::prf::dialect(Options::default().config.encoding);
    let text = |(address, bytes): (u32, Vec<u8>)| {
        isa::disasm::source(dialect, &isa::disasm::disassemble(dialect, &bytes, address.into()))
    };
    Ok(program.words.runs().into_iter().map(text).collect())
}

fn conform() -> Result<Vec<ConformCase>, Diagnostics> {
    let tables = ::prf::CONFORM_TABLES.iter();
    Ok(tables.flat_map(|(name, table)| cases(name, ::prf::conform_own(name, table))).collect())
}

fn conform_table(name: &str, image: Image<'_>) -> Result<Vec<ConformCase>, Diagnostics> {
    let text = text_of(&image)?;
    let beside = match ::prf::is_timing(text) {
        Some(TimingTable::Programs) => sibling_file(name, "timing-traces.tsv"),
        Some(TimingTable::Traces) => sibling_file(name, "timing-programs.tsv"),
        None => None,
    };
    Ok(cases(name, ::prf::conform(text, beside.as_deref())))
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

    fn remarks(&self) -> Vec<String> {
        let needs = ::prf::pressure(&self.program);
        let line = |pc: u32| match self.listing.span(pc.into()).and_then(|s| self.listing.line(s)) {
            Some(line) => format!("line {line}"),
            None => format!("{pc:#x}"),
        };
        let at = needs.at.map_or(String::new(), |pc| format!(", first before {}", line(pc)));
        let mut remarks = vec![format!(
            "{} predicates are used, at most {} of them live at once{at}",
            needs.used, needs.live
        )];
        for (pc, number) in needs.unused.iter().take(REMARKS) {
            remarks.push(format!("p{number} is written in {} and not used after it", line(*pc)));
        }
        remarks
    }

    fn context(&self) -> Result<Box<dyn Context + '_>, Diagnostic> {
        Ok(Box::new(PrfContext::new(self)))
    }
}
