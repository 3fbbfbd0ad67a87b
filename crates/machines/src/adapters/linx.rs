//! The machine `linx`: LinxISA v0.4.
//!
//! A program is assembly text or a flat binary with a single kernel, `program`, whose parameters
//! (`.param`) are passed in `a0` to `a7`. The program's block headers give the number of lanes of
//! its kernel bodies.

use std::collections::BTreeMap;

use ::linx::{
    Codec, Inactive, LaunchError, Linx, OPTIONS, Options, Parameter, ParameterType,
    Program as Code, Region, TileOps, Trap, TrapNum,
};
use engine::Counters;
use inputs::kernel::{KernelInfo, ParamInfo, ParamKind};
use inputs::launch::Located;
use isa::{Diagnostic, Diagnostics, SourceFile};
use simt::counts::Counts;
use simt::machine::{Machine, Step};
use simt::memory::{Addr, MemoryMap, Permission, Region as Mapped};
use simt::observe::{Blind, Observer};
use simt::trap::{Cause as _, Fault};

use crate::adapters::listing_probe::ListingPlaces;
use crate::adapters::shared::{
    self, Listing, as_text, limit_reached, loaded, option_text, problem, refused, text_of,
};
use crate::graph::ControlFlow;
use crate::interface::{Axis, Command, ConformCase, Image, Isa, Named};
use crate::launch::{End, LaunchProblem, LaunchRequest, LaunchResult, Stop, Subject};
use crate::monitor::{LaunchMonitor, Progress};
use crate::program::{Context, Program};
use crate::stats::LaunchStats;

/// The machine `linx`, with either numbering of tile operations.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LinxMachine {
    /// The numbering of tile operations.
    pub(crate) tile_ops: TileOps,
    /// The reading of the operands of 64-bit forms.
    pub(crate) codec: Codec,
}

/// A mechanism: its name, its one-line description, and the defaults that it sets; options may
/// change them.
type Mechanism = (&'static str, &'static str, fn(&mut Options));

const MECHANISMS: [Mechanism; 5] = [
    ("exec", "a program counter a group; lanes by the EXEC mask p", |_| {}),
    ("exec-zero", "the same; inactive lanes of a pushed entry become 0", |o| {
        o.inactive = Inactive::Zero;
    }),
    (
        "exec-poison",
        "the same; inactive lanes of a pushed entry become a recognisable value",
        |o| {
            o.inactive = Inactive::Poison;
        },
    ),
    ("exec-taken-path", "the same; a body goes where its taken path leads", |o| {
        o.region = Region::TakenPath;
    }),
    ("replay", "the upstream emulator's schedule: one lane at a time, p only a branch flag", |o| {
        o.replay = true;
    }),
];

/// Options of the file or the run, as opposed to those of the machine.
const RUN_OPTIONS: [Named; 4] = [
    Named {
        name: "map",
        about: "ranges ADDRESS+LENGTH, by commas, that are mapped when a trap reports an address there",
    },
    Named {
        name: "entry",
        about: "address or label to start at instead of _start or the first marker",
    },
    Named {
        name: "tile-ops",
        about: "numbers of the tile operations: v0.4, v0.3; for the whole file (v0.4)",
    },
    Named {
        name: "codec",
        about: "how operands of 64-bit forms are read: regid10; b, without types, not to be run (regid10)",
    },
];

/// The only kernel of a program.
const KERNEL: &str = "program";
/// Issues between two polls of the monitor.
const SLICE: u64 = 1 << 16;
/// Default limit of issues.
const LIMIT: u64 = 100_000_000;

struct LinxProgram {
    code: Code,
    params: Vec<Parameter>,
    /// Whether arguments may be omitted: a binary does not declare its parameters.
    optional: bool,
    listing: Listing,
    labels: BTreeMap<String, u64>,
    tile_ops: TileOps,
}

impl LinxMachine {
    /// LinxISA v0.4.
    pub(crate) const V04: Self = Self { tile_ops: TileOps::V04, codec: Codec::RegId10 };
    /// LinxISA v0.4 with the tile operation numbers of v0.3.
    pub(crate) const V03: Self = Self { tile_ops: TileOps::V03, codec: Codec::RegId10 };
    /// Codec B, which assembles and disassembles, but does not run.
    const OTHER_CODEC: Self = Self { tile_ops: TileOps::V04, codec: Codec::Other };

    fn assembled(self, image: Image<'_>) -> Result<isa::asm::Image, Diagnostics> {
        let text = text_of(&image)?;
        match self.codec {
            Codec::RegId10 => ::linx::assemble(image.file, text, self.tile_ops),
            Codec::Other => isa::asm::assemble(::linx::other_dialect(), image.file, text),
        }
    }

    fn read(self, image: Image<'_>, found: &mut Diagnostics) -> Result<LinxProgram, Diagnostics> {
        let not_loaded = |error: ::linx::LoadError| refused("linx::load", error.to_string());
        let tile_ops = self.tile_ops;
        if self.codec == Codec::Other {
            let finding = "operands in codec B have no types: such programs cannot be run";
            return Err(refused("linx::codec", finding));
        }
        let Some(text) = as_text(&image) else {
            let code = Code::from_binary(image.bytes, tile_ops).map_err(not_loaded)?;
            let (params, listing, labels) = (Parameter::all(), Listing::default(), BTreeMap::new());
            return Ok(LinxProgram { code, params, optional: true, listing, labels, tile_ops });
        };
        let mut assembled = ::linx::assemble(image.file, text, tile_ops)?;
        found.append(std::mem::take(&mut assembled.warnings));
        let params = ::linx::parameters(&assembled)?;
        let code = Code::from_image(&assembled, tile_ops).map_err(not_loaded)?;
        found.append(Linx::body_warnings(&code, &assembled));
        let labels = assembled.symbols.iter().filter(|s| s.address);
        let labels = labels.map(|s| (s.name.clone(), s.value)).collect();
        let listing = Listing::new(text, assembled.lines);
        Ok(LinxProgram { code, params, optional: false, listing, labels, tile_ops })
    }
}

fn cases(report: ::linx::Report) -> Vec<ConformCase> {
    let case = |row: ::linx::Row| ConformCase {
        name: format!("line {}: {}", row.line, row.name),
        failure: row.failure,
    };
    report.rows.into_iter().map(case).collect()
}

impl Isa for LinxMachine {
    fn name(&self) -> &'static str {
        match self.tile_ops {
            TileOps::V04 => Linx::NAME,
            TileOps::V03 => "linx-tiles-v0.3",
        }
    }

    fn about(&self) -> &'static str {
        match self.tile_ops {
            TileOps::V04 => {
                "LinxISA v0.4 (commit 76d65dc): block headers, kernel bodies under an EXEC mask"
            }
            TileOps::V03 => "LinxISA v0.4 with the tile operations' numbers of v0.3",
        }
    }

    fn extensions(&self) -> &'static [&'static str] {
        match self.tile_ops {
            TileOps::V04 => &["linx", "bin"],
            TileOps::V03 => &[],
        }
    }

    fn commands(&self) -> &'static [Command] {
        shared::COMMANDS
    }

    fn mechanisms(&self) -> Vec<Named> {
        MECHANISMS.iter().map(|&(name, about, _)| Named { name, about }).collect()
    }

    fn default_mechanisms(&self) -> &'static [&'static str] {
        &["exec"]
    }

    fn default_warp_size(&self) -> u64 {
        64
    }

    /// Returns groups of one lane.
    fn reference(&self) -> (&'static str, u64) {
        ("exec", 1)
    }

    fn has_grid(&self) -> bool {
        false
    }

    fn axes(&self) -> Vec<Axis> {
        vec![Axis::width("group-width", &["64", "1", "2", "4", "8", "16", "32"])]
    }

    fn options(&self) -> Vec<Named> {
        let own = OPTIONS.iter().map(|o| Named { name: o.name, about: o.about });
        own.chain(RUN_OPTIONS).collect()
    }

    fn variant(&self, option: &str, value: &str) -> Result<Option<&'static dyn Isa>, String> {
        match (option, value) {
            ("tile-ops", "v0.4") => {
                Ok(Some(if self.codec == Codec::Other { &Self::OTHER_CODEC } else { &Self::V04 }))
            }
            ("tile-ops", "v0.3") if self.codec == Codec::Other => {
                Err("codec B has the tile operations of v0.4".to_owned())
            }
            ("tile-ops", "v0.3") => Ok(Some(&Self::V03)),
            ("codec", "regid10") => Ok(None),
            ("codec", "b") if self.tile_ops == TileOps::V03 => {
                Err("codec B has the tile operations of v0.4".to_owned())
            }
            ("codec", "b") => Ok(Some(&Self::OTHER_CODEC)),
            ("codec", _) => {
                Err(format!("`{}`: codec is regid10 or b", inputs::elem::shortened(value)))
            }
            ("tile-ops", _) => {
                Err(format!("`{}`: tile-ops is v0.4 or v0.3", inputs::elem::shortened(value)))
            }
            _ => Ok(None),
        }
    }

    fn load(
        &self,
        image: Image<'_>,
        _wanted: &[Located<String>],
        found: &mut Diagnostics,
    ) -> Option<Box<dyn Program>> {
        loaded(self.read(image, found), found)
    }

    fn assemble(&self, image: Image<'_>) -> Result<Vec<u8>, Diagnostics> {
        let assembled = self.assembled(image)?;
        ::linx::binary(&assembled).map_err(|error| refused("linx::load", error.to_string()))
    }

    fn listing(&self, image: Image<'_>) -> Result<String, Diagnostics> {
        let text = text_of(&image)?;
        let assembled = self.assembled(image)?;
        Ok(assembled.listing(&SourceFile::new("", text)))
    }

    fn disassemble(&self, image: Image<'_>) -> Result<String, Diagnostics> {
        if self.codec == Codec::Other {
            let dialect = ::linx::other_dialect();
            let lines = isa::disasm::disassemble(dialect, image.bytes, ::linx::TEXT);
            return Ok(isa::disasm::listing(&lines));
        }
        Ok(::linx::listing(image.bytes, self.tile_ops))
    }

    fn conform(&self) -> Result<Vec<ConformCase>, Diagnostics> {
        let tables = ::linx::cases::TABLES.iter();
        Ok(tables.flat_map(|table| cases(::linx::conform(table, self.tile_ops))).collect())
    }

    fn conform_table(
        &self,
        _name: &str,
        image: Image<'_>,
    ) -> Result<Vec<ConformCase>, Diagnostics> {
        Ok(cases(::linx::conform(text_of(&image)?, self.tile_ops)))
    }
}

impl LinxProgram {
    /// Returns the argument registers from the parameter block, which has eight bytes for each
    /// parameter.
    fn arguments(&self, block: &[u8]) -> Vec<u64> {
        let types = self.params.iter().map(|param| Some(param.ty)).chain(std::iter::repeat(None));
        let register = |(bytes, ty): (&[u8], Option<ParameterType>)| {
            let word = isa::decode::window(bytes).0;
            ty.map_or(word, |ty| ty.extend(word))
        };
        block.chunks(8).zip(types).map(register).collect()
    }

    /// Parses an address or resolves a label.
    fn place(&self, text: &str) -> Result<u64, String> {
        let hex = text.strip_prefix("0x").map(|hex| u64::from_str_radix(hex, 16).ok());
        let number = hex.unwrap_or_else(|| text.parse().ok());
        let place = number.or_else(|| self.labels.get(text).copied());
        place.ok_or_else(|| {
            format!("`{}` is not an address and no label", inputs::elem::shortened(text))
        })
    }

    /// Checks `tile_ops` against the numbering with which the program was read; it cannot change
    /// afterwards.
    fn read_with(&self, tile_ops: &str) -> Result<(), String> {
        let read = if self.tile_ops == TileOps::V03 { "v0.3" } else { "v0.4" };
        if tile_ops == read {
            return Ok(());
        }
        Err(format!("the program has been read with {read}: say tile-ops for the whole file"))
    }
}

impl Program for LinxProgram {
    fn kernels(&self) -> Vec<KernelInfo> {
        let param = |(param, offset): (&Parameter, u64)| ParamInfo {
            name: param.name.clone(),
            spelling: param.ty.spelling.to_owned(),
            offset,
            size: param.ty.bytes.into(),
            kind: match param.ty {
                ty if ty.float => ParamKind::Float,
                ty if ty.bytes == 8 => ParamKind::Bits,
                _ => ParamKind::Integer,
            },
        };
        let params: Vec<ParamInfo> = self.params.iter().zip((0..).step_by(8)).map(param).collect();
        let optional = if self.optional { params.len() } else { 0 };
        let span = self.listing.span(self.code.entry);
        vec![KernelInfo {
            name: KERNEL.to_owned(),
            params,
            optional,
            span,
            ..KernelInfo::default()
        }]
    }

    fn control_flow(&self, _kernel: &str) -> Option<ControlFlow> {
        None
    }

    fn context(&self) -> Result<Box<dyn Context + '_>, Diagnostic> {
        Ok(Box::new(LinxContext { program: self, memory: MemoryMap::new() }))
    }
}

struct LinxContext<'p> {
    program: &'p LinxProgram,
    memory: MemoryMap,
}

/// A range of addresses that is mapped when a trap reports an address in it.
#[derive(Clone, Copy, Debug)]
struct Range {
    start: u64,
    length: u64,
}

fn ranges(text: &str) -> Result<Vec<Range>, String> {
    let number = |text: &str| match text.trim().strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.trim().parse().ok(),
    };
    let range = |item: &str| {
        let (start, length) = item.split_once('+')?;
        Some(Range { start: number(start)?, length: number(length)? })
    };
    let each =
        text.split(',').map(|item| range(item).ok_or(format!("`{item}` is not ADDRESS+LENGTH")));
    each.collect()
}

/// The parsed options of a launch.
struct Choices {
    machine: Options,
    /// Ranges of the option `map`.
    mapped: Vec<Range>,
    entry: Option<u64>,
}

fn configure(program: &LinxProgram, request: &LaunchRequest<'_>) -> Result<Choices, LaunchProblem> {
    let width = u32::try_from(request.warp_size).unwrap_or(u32::MAX);
    let mut machine = Options { group_width: width, seed: request.seed, ..Options::default() };
    if let Some((_, _, set)) = MECHANISMS.iter().find(|m| m.0 == request.mechanism) {
        set(&mut machine);
    }
    let mut choices = Choices { machine, mapped: Vec::new(), entry: None };
    for (index, option) in request.options.iter().enumerate() {
        let value = option_text(option);
        let refuse = |why: String| problem(Subject::Option(index), why);
        match &*inputs::elem::shortened(&option.key.value) {
            "map" => choices.mapped.extend(ranges(&value).map_err(refuse)?),
            "entry" => choices.entry = Some(program.place(&value).map_err(refuse)?),
            "tile-ops" => program.read_with(&value).map_err(refuse)?,
            // A program in codec B does not load, so it never gets here.
            "codec" => {}
            name if OPTIONS.iter().any(|o| o.name == name) => {
                choices.machine.set(name, &value).map_err(refuse)?;
            }
            name => {
                let known = OPTIONS.iter().map(|o| o.name).chain(RUN_OPTIONS.map(|o| o.name));
                let known = known.collect::<Vec<_>>().join(", ");
                return Err(refuse(format!("there is no option `{name}`; there are {known}")));
            }
        }
    }
    Ok(choices)
}

impl LinxContext<'_> {
    fn drive<O: Observer<1>>(
        &self,
        state: &mut ::linx::State,
        observer: &mut O,
        (limit, mapped): (u64, &mut Vec<Range>),
        (listing_places, monitor): (&ListingPlaces, &mut dyn LaunchMonitor),
    ) -> End {
        let machine = Linx { tile_ops: self.program.tile_ops };
        loop {
            let issues = state.issues();
            let slice = SLICE.min(limit.saturating_sub(issues));
            let what = (&machine, &self.program.code);
            match listing_places.run(what, state, observer, slice, monitor) {
                Step::Done => return End::Done,
                Step::Fault(fault) => {
                    if !map_for(state, &fault.cause, mapped) {
                        return End::Fault(self.fault(&fault));
                    }
                    continue;
                }
                Step::Issued | Step::Hang(_) if slice < SLICE => {
                    return End::Hang(limit_reached(limit));
                }
                Step::Issued | Step::Hang(_) => {}
            }
            let progress = Progress { blocks_done: 0, blocks: 1, issues: state.issues() };
            if !monitor.poll(progress) {
                return End::Interrupted;
            }
        }
    }

    fn fault(&self, fault: &Fault<Trap>) -> Stop {
        let trap = &fault.cause;
        let span = self.program.listing.span(trap.tpc);
        let mut report = Diagnostic::error(trap.code(), trap.to_string());
        if let Some(span) = span {
            report = report.at(span, "this instruction");
        }
        let arg = trap.arg.map_or("not valid".to_owned(), |arg| format!("{arg:#x}"));
        report = report.note(format!(
            "TRAPNO {:#018x}, TRAPNUM {}, CAUSE {:#x}, TRAPARG0 {arg}, BI {}, TPC {:#x}",
            trap.trapno(),
            trap.num as u8,
            trap.cause,
            u8::from(trap.bi),
            trap.tpc
        ));
        if trap.bi {
            report = report.note(format!("in group {}, lanes {}", fault.group.group, fault.lanes));
        }
        if trap.num == TrapNum::DataPageFault {
            report = report.help("the option `map` can make an address good and go on");
        }
        let line = span.and_then(|span| self.program.listing.line(span).map(u64::from));
        Stop { code: trap.code(), report, line, place: None }
    }
}

/// Maps the range that contains a fault's address. Each range is mapped at most once.
fn map_for(state: &mut ::linx::State, trap: &Trap, mapped: &mut Vec<Range>) -> bool {
    let Some(address) = trap.arg.filter(|_| trap.num == TrapNum::DataPageFault) else {
        return false;
    };
    let inside = |r: &Range| address >= r.start && address - r.start < r.length;
    let Some(at) = mapped.iter().position(inside) else { return false };
    let range = mapped.remove(at);
    state.memory.map_at("mapped", Addr(range.start), range.length, Permission::ReadWrite).is_ok()
}

impl Context for LinxContext<'_> {
    fn allocate(&mut self, name: &str, data: &[u8]) -> Result<u64, String> {
        shared::allocate(&mut self.memory, name, data)
    }

    fn read(&self, address: u64, length: usize) -> Result<Vec<u8>, String> {
        shared::read(&self.memory, address, length)
    }

    fn launch(
        &mut self,
        request: &LaunchRequest<'_>,
        monitor: &mut dyn LaunchMonitor,
    ) -> Result<LaunchResult, LaunchProblem> {
        if request.grid.iter().chain(&request.block).any(|extent| *extent != 1) {
            let message = "block headers say how many lanes there are: grid and block are 1";
            return Err(problem(Subject::Grid, message));
        }
        let mut choices = configure(self.program, request)?;
        let arguments = self.program.arguments(request.params);
        let memory = self.memory.try_clone();
        let launch = ::linx::Launch {
            memory: memory.map_err(|error| problem(Subject::Launch, error.to_string()))?,
            arguments,
            entry: choices.entry,
            demand: choices
                .mapped
                .iter()
                .map(|r| r.start..r.start.saturating_add(r.length))
                .collect(),
            options: choices.machine,
        };
        let machine = Linx { tile_ops: self.program.tile_ops };
        let started = machine.launch(&self.program.code, launch);
        let mut state = started.map_err(|error| {
            let about = match error {
                LaunchError::GroupWidth(_) => Subject::WarpSize,
                LaunchError::Arguments(_) => Subject::Args,
                LaunchError::Memory(_) | LaunchError::Data(_) => Subject::Launch,
            };
            problem(about, error.to_string())
        })?;
        let listing_places = ListingPlaces::of(&self.program.listing);
        listing_places.begin(request.kernel, request.warp_size, 1, monitor);
        let mut counters = Counters::default();
        let bounds = (request.limit.unwrap_or(LIMIT), &mut choices.mapped);
        let end = if request.detailed {
            self.drive(&mut state, &mut counters, bounds, (&listing_places, monitor))
        } else {
            self.drive(&mut state, &mut Blind, bounds, (&listing_places, monitor))
        };
        let counts = Counts { slots: *machine.slots(&state), threads: 1, ..Counts::default() };
        let stats = LaunchStats {
            kernel: request.kernel.to_owned(),
            grid: request.grid,
            block: request.block,
            outcome: end.name().to_owned(),
            ..LaunchStats::of(&counts, counters)
        };
        let mut output = Vec::new();
        if let Some(status) = state.status().filter(|&status| status != 0) {
            output.extend(format!("status {status:#x}\n").bytes());
        }
        for finding in state.findings() {
            output.extend(finding.bytes().chain([b'\n']));
        }
        self.memory = unmapped(state, &self.memory);
        Ok(LaunchResult { end, stats, output, words: String::new() })
    }
}

/// Returns the memory after a launch without the regions that the launch mapped, so that the next
/// launch can map them again.
fn unmapped(state: ::linx::State, before: &MemoryMap) -> MemoryMap {
    let mut kept = state.memory;
    // Regions of earlier launches are freed, but still listed.
    let was = |base: Addr| before.region_at(base).is_some_and(Mapped::is_live);
    let regions = kept.regions().iter();
    let own: Vec<Addr> =
        regions.filter(|r| r.is_live()).map(Mapped::base).filter(|&base| !was(base)).collect();
    for base in own {
        // Freeing cannot fail: every base in the list is that of a live region.
        let _ = kept.free(base);
    }
    kept
}
