//! The machine `linx`: LinxISA v0.4.
//!
//! A program is assembly text or a flat binary with a single kernel, `program`, whose parameters
//! (`.param`) are passed in `a0` to `a7`. The program's block headers give the number of lanes of
//! its kernel bodies.

mod bodies;
mod context;
mod options;
mod program;

use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

use ::linx::{Codec, Conventions, Linx, Parameter, TileOps, Variant as Table};
use inputs::elem::shortened;
use inputs::file::read_input;
use inputs::kernel::{KernelInfo, ParamInfo, ParamKind};
use isa::Diagnostic;
use simt::machine::Machine;

use super::shared::{loaded, named, text_of};
use crate::graph::ControlFlow;
use crate::interface::{Axis, ConformCase, Isa, Named, Reference, Tools, Variant};
use crate::program::{Context, Program};
use context::LinxContext;
use options::{MECHANISMS, RUN_OPTIONS};
use program::{LinxProgram, Reading};

/// The machine `linx`: LinxISA v0.4.
pub(crate) static LINX: Isa = isa::<V04>(
    Linx::NAME,
    "LinxISA v0.4 (commit 76d65dc): block headers, kernel bodies under an EXEC mask",
    &["linx", "bin", "o", "a"],
);

/// The same with the tile operation numbers of v0.3.
pub(crate) static LINX_TILES_V03: Isa =
    isa::<V03>("linx-tiles-v0.3", "LinxISA v0.4 with the tile operations' numbers of v0.3", &[]);

/// Codec B, which assembles and disassembles, but does not run.
static OTHER_CODEC: Isa = isa::<OTHER>(LINX.name, LINX.about, LINX.extensions);

/// The same with conventions that the user has chosen.
static TEXT_CONVENTIONS: Isa = isa::<TEXT>(LINX.name, LINX.about, LINX.extensions);
static COMPILER_CONVENTIONS: Isa = isa::<COMPILER>(LINX.name, LINX.about, LINX.extensions);

const fn reading(tile_ops: TileOps, codec: Codec, conventions: Option<Conventions>) -> Reading {
    Reading { tile_ops, codec, conventions, variant: None }
}

/// The ways to read programs.
const READINGS: [Reading; 5] = [
    reading(TileOps::V04, Codec::RegId10, None),
    reading(TileOps::V03, Codec::RegId10, None),
    reading(TileOps::V04, Codec::Other, None),
    reading(TileOps::V04, Codec::RegId10, Some(Conventions::V04)),
    reading(TileOps::V04, Codec::RegId10, Some(Conventions::Compiler)),
];
const V04: usize = 0;
const V03: usize = 1;
const OTHER: usize = 2;
const TEXT: usize = 3;
const COMPILER: usize = 4;

/// The ways to read programs by the tables of designers, behind [`READINGS`]: they fill up as
/// tables are read. A machine is described by functions without data, so that each has a number of
/// its own.
static TABLES: [OnceLock<Reading>; 16] = [const { OnceLock::new() }; 16];
static WITH_TABLE: [Isa; TABLES.len()] = [
    with_table::<5>(),
    with_table::<6>(),
    with_table::<7>(),
    with_table::<8>(),
    with_table::<9>(),
    with_table::<10>(),
    with_table::<11>(),
    with_table::<12>(),
    with_table::<13>(),
    with_table::<14>(),
    with_table::<15>(),
    with_table::<16>(),
    with_table::<17>(),
    with_table::<18>(),
    with_table::<19>(),
    with_table::<20>(),
];

const fn with_table<const R: usize>() -> Isa {
    isa::<R>(LINX.name, LINX.about, LINX.extensions)
}

/// The way to read programs with a number.
fn way(number: usize) -> Reading {
    let fixed = READINGS.get(number).copied();
    let table = || TABLES.get(number - READINGS.len())?.get().copied();
    fixed.or_else(table).unwrap_or(READINGS[V04])
}

/// The most bytes of a table.
const LARGEST_TABLE: u64 = 1 << 20;

/// Reads the table of a designer.
fn table(file: &str) -> Result<&'static Table, String> {
    let about = |why: &dyn std::fmt::Display| format!("the table {}: {why}", shortened(file));
    let bytes = read_input(Path::new(file), LARGEST_TABLE, None);
    let bytes = bytes.map_err(|finding| about(&finding.message))?;
    let text = String::from_utf8(bytes).map_err(|error| about(&error))?;
    Table::read(&text).map_err(|errors| {
        let shown: Vec<String> = errors.iter().take(4).map(ToString::to_string).collect();
        let more = errors.len() - shown.len();
        let more = if more == 0 { String::new() } else { format!("; and {more} more") };
        about(&format!("{}{more}", shown.join("; ")))
    })
}

/// The machine that reads programs by a table.
fn of_table(variant: &'static Table) -> Result<&'static Isa, String> {
    static FILLING: Mutex<()> = Mutex::new(());
    let _filling = FILLING.lock().unwrap_or_else(PoisonError::into_inner);
    let reading = Reading { variant: Some(variant), ..READINGS[V04] };
    let free = |slot: &OnceLock<Reading>| slot.get().is_none_or(|r| r.variant == Some(variant));
    let at = TABLES.iter().position(free).ok_or("too many tables in one process")?;
    TABLES[at].get_or_init(|| reading);
    Ok(&WITH_TABLE[at])
}

const NAMES: [Named; MECHANISMS.len()] = named!(MECHANISMS, about);
const OWN_OPTIONS: [Named; ::linx::OPTIONS.len()] = named!(::linx::OPTIONS, about);
const AXES: [Axis; 14] = [
    Axis::width("group-width", &["64", "1", "2", "4", "8", "16", "32"]),
    Axis::on_request("inactive", &["merge", "zero", "poison"]),
    Axis::on_request("region", &["first-terminator", "taken-path"]),
    Axis::on_request("replay", &["off", "on"]),
    Axis::on_request("linear-groups", &["off", "on", "attr"]),
    Axis::on_request("lc0", &["lane", "group"]),
    Axis::on_request("import-order", &["sources", "exports"]),
    Axis::on_request("order", &["0", "1", "2", "3"]),
    Axis::on_request("align", &["off", "on"]),
    Axis::on_request("gpr-writes", &["reject", "warn"]),
    Axis::on_request("linear-end", &["end", "illegal"]),
    Axis::on_request("lenient-tiles", &["off", "on"]),
    Axis::on_request("strict-branches", &["off", "on"]),
    Axis::on_request("conflicts", &["off", "on"]),
];

/// Describes the machine that reads programs in way `R` of [`READINGS`].
const fn isa<const R: usize>(
    name: &'static str,
    about: &'static str,
    extensions: &'static [&'static str],
) -> Isa {
    Isa {
        name,
        about,
        extensions,
        mechanisms: &NAMES,
        default_mechanisms: &["exec"],
        retry_mechanism: None,
        default_warp_size: 64,
        // Groups of one lane.
        reference: Reference { mechanism: "exec", warp_size: 1, settings: &[] },
        profiles: &[],
        axes: &AXES,
        options: &[&OWN_OPTIONS, &RUN_OPTIONS],
        bare_argument: None,
        has_grid: false,
        has_graphs: true,
        has_checks: false,
        group_mask: Some("p"),
        configuration: None,
        variant: |option, value| variant(way(R), option, value),
        load: |image, _, found| loaded(LinxProgram::read(way(R), image, found), found),
        summary: None,
        tools: Some(Tools {
            assemble: |image| way(R).assemble(image),
            listing: Some(|image| way(R).listing(image)),
            disassemble: |image| way(R).disassemble(image),
            conform: || {
                let tables = ::linx::cases::TABLES.iter();
                let of = |table: &&str| cases(::linx::conform(table, way(R).tile_ops));
                Ok(tables.flat_map(of).collect())
            },
            conform_table: Some(|_, image| {
                Ok(cases(::linx::conform(text_of(&image)?, way(R).tile_ops)))
            }),
        }),
    }
}

/// Selects the numbering of tile operations and the codec, given those selected so far.
fn variant(reading: Reading, option: &str, value: &str) -> Variant {
    let other = reading.codec == Codec::Other;
    let plain = !other && reading.tile_ops == TileOps::V04 && reading.conventions.is_none();
    match (option, value) {
        ("table", file) if plain => {
            let table = table(file)?;
            match reading.variant {
                Some(given) if given != table => Err("a program has one table".to_owned()),
                _ => of_table(table).map(Some),
            }
        }
        ("table", _) => Err(ALONE.to_owned()),
        ("conventions", "auto") | ("tile-ops", "v0.4") | ("codec", "regid10")
            if reading.variant.is_some() =>
        {
            Ok(None)
        }
        ("conventions" | "tile-ops" | "codec", _) if reading.variant.is_some() => {
            Err(ALONE.to_owned())
        }
        ("conventions", "auto") => Ok(None),
        ("conventions", "v0.4" | "compiler") if other || reading.tile_ops == TileOps::V03 => {
            Err("conventions go with codec regid10 and the tile operations of v0.4".to_owned())
        }
        ("conventions", "v0.4") => Ok(Some(&TEXT_CONVENTIONS)),
        ("conventions", "compiler") => Ok(Some(&COMPILER_CONVENTIONS)),
        ("conventions", _) => {
            Err(format!("`{}`: conventions is auto, v0.4 or compiler", shortened(value)))
        }
        ("tile-ops", "v0.4") if reading.conventions.is_some() => Ok(None),
        ("tile-ops", "v0.4") => Ok(Some(if other { &OTHER_CODEC } else { &LINX })),
        ("tile-ops", "v0.3") if other => Err("codec B has the tile operations of v0.4".to_owned()),
        ("tile-ops", "v0.3") => Ok(Some(&LINX_TILES_V03)),
        ("codec", "regid10") => Ok(None),
        ("codec", "b") if reading.tile_ops == TileOps::V03 => {
            Err("codec B has the tile operations of v0.4".to_owned())
        }
        ("codec", "b") => Ok(Some(&OTHER_CODEC)),
        ("codec", _) => Err(format!("`{}`: codec is regid10 or b", shortened(value))),
        ("tile-ops", _) => Err(format!("`{}`: tile-ops is v0.4 or v0.3", shortened(value))),
        _ => Ok(None),
    }
}

const ALONE: &str = "a table goes with codec regid10, and conventions and tile operations of v0.4";

/// The only kernel of a program.
const KERNEL: &str = "program";

fn cases(report: ::linx::Report) -> Vec<ConformCase> {
    let case = |row: ::linx::Row| ConformCase {
        name: format!("line {}: {}", row.line, row.name),
        failure: row.failure,
    };
    report.rows.into_iter().map(case).collect()
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
        self.graph()
    }

    fn context(&self) -> Result<Box<dyn Context + '_>, Diagnostic> {
        Ok(Box::new(LinxContext::new(self)))
    }
}
