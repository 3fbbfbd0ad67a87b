//! The machine `ptx`: PTX text, lowered to the kernel IR.

use std::num::NonZero;
use std::thread::available_parallelism;

use ::ptx::Select;
use ::ptx::ast::FunctionKind;
use inputs::kernel::{KernelInfo, choose_kernel};
use inputs::launch::Located;
use ir::device::Limits;
use isa::{Diagnostics, SourceFile};

use super::vm;
use crate::interface::{Image, Isa, Variant};
use crate::program::Program;
use crate::summary::{ProgramSummary, SummaryParts};

/// The machine `ptx`, under the limits of devices.
pub(crate) static PTX: Isa = Isa {
    name: "ptx",
    about: "NVIDIA's virtual instruction set, as compilers write it",
    extensions: &["ptx"],
    mechanisms: &vm::MECHANISMS,
    default_mechanisms: vm::USUAL_MECHANISMS,
    retry_mechanism: Some(vm::RETRY_MECHANISM),
    default_warp_size: 32,
    reference: vm::REFERENCE,
    axes: vm::AXES,
    profiles: vm::PROFILES,
    options: &[&[vm::LIMITS_OF], vm::OPTIONS],
    bare_argument: None,
    has_grid: true,
    has_graphs: true,
    has_checks: true,
    group_mask: None,
    configuration: None,
    variant,
    load: |image, wanted, found| load(Limits::OfTarget, image, wanted, found),
    summary: Some(|image, source, parts| summary(Limits::OfTarget, image, source, parts)),
    tools: None,
};

/// The machine `ptx` without limits.
static UNLIMITED: Isa = Isa {
    load: |image, wanted, found| load(Limits::None, image, wanted, found),
    summary: Some(|image, source, parts| summary(Limits::None, image, source, parts)),
    ..PTX
};

/// Selects the limits on declarations. They are the same on all devices, so there are only two
/// variants; limits on launches depend on the device and are checked at the launch.
fn variant(option: &str, value: &str) -> Variant {
    if option != vm::LIMITS_OF.name {
        return Ok(None);
    }
    Ok(Some(match vm::limits(value)? {
        Limits::None => &UNLIMITED,
        Limits::OfTarget | Limits::Of(_) => &PTX,
    }))
}

/// Reads and lowers only what the wanted kernels can reach: errors and unsupported code elsewhere
/// in the file are not reported.
fn load(
    limits: Limits,
    image: Image<'_>,
    wanted: &[Located<String>],
    found: &mut Diagnostics,
) -> Option<Box<dyn Program>> {
    let text = image.text().map_err(|finding| found.push(finding)).ok()?;
    let names: Vec<&str> = wanted.iter().map(|w| w.value.as_str()).collect();
    let (tree, errors) = match names.as_slice() {
        [] => ::ptx::parse(image.file, text),
        names => ::ptx::parse_kernels(image.file, text, names),
    };
    let broken = errors.has_errors();
    found.append(errors);
    if broken {
        return None;
    }
    let kernels = kernels(&tree);
    for name in wanted {
        if let Err(finding) = choose_kernel(&kernels, Some(&name.value)) {
            found.push(finding.at(name.span, "not in the program"));
            return None;
        }
    }
    let select = if names.is_empty() { Select::All } else { Select::Kernels(&names) };
    let (module, errors) = ::ptx::lower_for(&tree, select, limits);
    found.append(errors);
    let target = ::ptx::target(&tree);
    // The tree is as large as the code that linking makes.
    drop(tree);
    vm::link(module?, text, target, found)
}

/// Most threads that look over a file: each has a copy of what stands outside of bodies.
const MOST_THREADS: usize = 4;

/// What is told of some parts of a file, and of each part, whether it calls functions by their
/// addresses and whether it takes some.
#[derive(Default)]
struct Told {
    summary: ProgramSummary,
    addresses: Vec<(bool, bool)>,
}

/// Reads, lowers and links one part of the file after the other, and keeps none.
fn summary(
    limits: Limits,
    image: Image<'_>,
    source: &SourceFile,
    wanted: SummaryParts,
) -> Option<ProgramSummary> {
    let text = image.text().ok()?;
    let threads = available_parallelism().map_or(1, NonZero::get).min(MOST_THREADS);
    let all = ::ptx::lower_parts(image.file, text, limits, threads, |told: &mut Told, part| {
        told.addresses.push((part.calls_by_address, part.takes_addresses));
        vm::summary(part.module, source, (part.kernels, wanted), &mut told.summary)
    })?;
    // Kernels depend on what functions do that they call, which may be in another part.
    let addresses: Vec<_> = all.iter().flat_map(|told| &told.addresses).collect();
    let calls = addresses.iter().filter(|(calls, _)| *calls).count();
    let takes = addresses.iter().filter(|(_, takes)| *takes).count();
    let together = calls == 1 && takes == 1 && addresses.contains(&&(true, true));
    if wanted == SummaryParts::All && calls > 0 && takes > 0 && !together {
        return None;
    }
    let mut summary = ProgramSummary::default();
    all.into_iter().for_each(|told| summary.add(told.summary));
    Some(summary)
}

/// Returns the kernels of a file, with nothing but their names.
fn kernels(tree: &::ptx::Module) -> Vec<KernelInfo> {
    let entries = tree.functions().filter(|f| f.kind == FunctionKind::Entry && f.body.is_some());
    entries
        .map(|f| KernelInfo {
            name: tree.name(f.signature.name.symbol).to_owned(),
            ..KernelInfo::default()
        })
        .collect()
}
