//! Results of a device against our own, bit by bit.

use inputs::Array;
use inputs::elem::{ElemKind, ElemType, format_bits};
use inputs::tolerance::ulp_distance;
use isa::{Diagnostic, Diagnostics};
use lab::compare::compare_multisets;
use lab::run::{FinalBuffer, Job, Variant};
use machines::probe::ScheduleDependenceProbe;
use machines::{End, LaunchMonitor, ProbedMonitor};

use crate::record::{RunEnd, RunRecord, hash_of};
use crate::writers::{Following, Writer, Writers};

/// Differing elements of a buffer that are kept.
const KEPT: usize = 8;

/// An element that differs.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Flat index in the buffer.
    pub index: usize,
    /// Bits on the device.
    pub device: u64,
    /// Our bits.
    pub ours: u64,
    /// Which instruction wrote the element last in our run, if one did; not known before a run has
    /// looked for it.
    pub writer: Option<Option<Writer>>,
}

/// A buffer of both.
#[derive(Clone, Debug, PartialEq)]
pub struct BufferComparison {
    /// Its name.
    pub name: String,
    /// Elements compared.
    pub elements: usize,
    /// How many differ.
    pub differing: usize,
    /// The first of them.
    pub first: Vec<Difference>,
    /// The largest distance of floats that are not NaNs, in units in the last place.
    pub max_ulp: Option<u64>,
    /// What is said of a buffer whose elements are not held against each other one by one: the
    /// launch file says that their order does not count, or the record has their hash alone.
    pub whole: Option<String>,
    ours: Array,
}

/// A run on a device and our own.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// How ours ended.
    pub ours: String,
    /// How ours hung under the mechanism of the launch file, if it did: then `ours` is a run lane
    /// by lane.
    pub hung: Option<String>,
    /// Whether both ended alike.
    pub ends_agree: bool,
    /// The buffers; none unless both ended by themselves.
    pub buffers: Vec<BufferComparison>,
    /// Instructions that show the schedule to the program: where they ran, another result need not
    /// be wrong.
    pub schedule: Vec<String>,
}

impl Comparison {
    /// Whether nothing differs.
    #[must_use]
    pub fn agrees(&self) -> bool {
        self.ends_agree && self.buffers.iter().all(BufferComparison::agrees)
    }

    /// Elements compared, and how many of them differ.
    #[must_use]
    pub fn elements(&self) -> (usize, usize) {
        let sum = |f: fn(&BufferComparison) -> usize| self.buffers.iter().map(f).sum();
        (sum(|b| b.elements), sum(|b| b.differing))
    }

    /// What agrees and what does not, for people. `device` is how the device's run ended.
    #[must_use]
    pub fn describe(&self, device: &RunEnd) -> String {
        let mut lines: Vec<String> = self.hung.iter().cloned().collect();
        if self.hung.is_some() {
            lines.push(format!("ours runs lane by lane (`{FAIR}`), as devices may"));
        }
        if !self.ends_agree {
            lines.push(format!("the ends differ: device: {}; ours: {}", device.line(), self.ours));
        }
        for buffer in &self.buffers {
            buffer.describe(&mut lines);
        }
        if !self.agrees() {
            for shown in &self.schedule {
                lines.push(format!("  the program sees its schedule: {shown}"));
            }
        }
        lines.push(String::new());
        lines.join("\n")
    }
}

impl BufferComparison {
    /// Whether nothing differs.
    #[must_use]
    pub fn agrees(&self) -> bool {
        self.differing == 0
    }

    /// Whether a run has looked for the instructions that wrote what differs.
    #[must_use]
    pub fn is_explained(&self) -> bool {
        self.first.iter().any(|difference| difference.writer.is_some())
    }

    /// Our contents.
    #[must_use]
    pub fn ours(&self) -> &Array {
        &self.ours
    }

    /// What agrees or differs, in lines.
    #[must_use]
    pub fn text(&self) -> String {
        let mut lines = Vec::new();
        self.describe(&mut lines);
        lines.join("\n")
    }

    fn describe(&self, lines: &mut Vec<String>) {
        let Self { name, elements, differing, .. } = self;
        if let Some(text) = &self.whole {
            lines.push(text.clone());
            return;
        }
        if *differing == 0 {
            lines.push(format!("{name}: {elements} elements agree bit for bit"));
            return;
        }
        let ulp = self.max_ulp.map_or_else(String::new, |n| format!(", at most {n} ulp apart"));
        lines.push(format!("{name}: {differing} of {elements} elements differ{ulp}"));
        let ty = self.ours.ty();
        for d in &self.first {
            let place = self.ours.subscript(d.index);
            let (device, ours) = (shown(ty, d.device), shown(ty, d.ours));
            lines.push(format!("  {name}{place}: device {device}, ours {ours}"));
            match &d.writer {
                Some(Some(writer)) => lines.push(format!("    written at {}", writer.describe())),
                Some(None) => lines.push("    not written by any launch".to_owned()),
                None => {}
            }
        }
        if *differing > self.first.len() {
            lines.push(format!("  and {} more", differing - self.first.len()));
        }
    }
}

/// A value and its bits.
fn shown(ty: ElemType, bits: u64) -> String {
    let text = format_bits(ty, bits);
    match ty.kind() {
        ElemKind::Float if !text.starts_with("0x") => {
            format!("{text} (0x{bits:0width$x})", width = 2 * ty.bytes())
        }
        _ => text,
    }
}

/// The mechanism under which every lane goes on, as devices since compute capability 7.0 promise.
const FAIR: &str = "serial";

/// What differs, without what wrote it: one run here.
///
/// # Errors
/// As [`compare`].
pub fn outline(
    record: &RunRecord,
    job: &mut Job,
    monitor: &mut dyn LaunchMonitor,
) -> Result<Comparison, Diagnostics> {
    let mut hung = None;
    let mut ours = run(job, None, monitor)?;
    if record.end == RunEnd::Done
        && let Some(end @ End::Hang(_)) = ours.0.last()
    {
        hung = Some(format!("under {} ours does not end: {}", job.mechanism(), ending(end)));
        ours = run(job, Some(FAIR), monitor)?;
    }
    let end = ours.0.last();
    let ends_agree = matches!(
        (&record.end, end),
        (RunEnd::Done, None | Some(End::Done)) | (RunEnd::Fault { .. }, Some(End::Fault(_)))
    ) || record.end.is_hang() && matches!(end, Some(End::Hang(_)));
    let mut comparison = Comparison {
        ours: end.map_or_else(|| "done".to_owned(), ending),
        hung,
        ends_agree,
        buffers: Vec::new(),
        schedule: Vec::new(),
    };
    if record.end == RunEnd::Done && ends_agree {
        comparison.buffers = buffers(record, job, &ours.1)?;
    }
    Ok(comparison)
}

/// Runs the job here and holds the device's results against it. The job is the one that the record
/// was made of. Where it hangs under its own mechanism and did not hang on the device, it runs lane
/// by lane (`serial`).
///
/// # Errors
/// If the record was made of another program or other inputs, or the job cannot run.
pub fn compare(
    record: &RunRecord,
    job: &mut Job,
    monitor: &mut dyn LaunchMonitor,
) -> Result<Comparison, Diagnostics> {
    let mut comparison = outline(record, job, monitor)?;
    let mechanism = comparison.hung.is_some().then_some(FAIR);
    if comparison.buffers.iter().any(|b| !b.first.is_empty()) {
        find_writers(&mut comparison, job, mechanism, monitor)?;
    }
    if !comparison.agrees() {
        let mut witnesses = ScheduleDependenceProbe::default();
        run(job, mechanism, &mut ProbedMonitor { monitor, probe: &mut witnesses })?;
        let line = |(dependence, place): &(
            machines::probe::ScheduleDependence,
            machines::probe::Place,
        )| { format!("{} at {}", dependence.name(), place.describe()) };
        comparison.schedule = witnesses.found().iter().map(line).collect();
    }
    Ok(comparison)
}

/// Runs the job under its own mechanism or another one.
fn run(
    job: &mut Job,
    mechanism: Option<&str>,
    monitor: &mut dyn LaunchMonitor,
) -> Result<(Vec<End>, Vec<FinalBuffer>), Diagnostics> {
    let Some(mechanism) = mechanism else {
        let report = job.run(false, monitor)?;
        return Ok((report.ends, report.buffers));
    };
    let variant = Variant::of(mechanism, job.warp_size());
    let run = job.run_variant(&variant, monitor)?;
    Ok((run.ends, run.buffers))
}

fn ending(end: &End) -> String {
    match end {
        End::Done => "done".to_owned(),
        End::Fault(stop) | End::Hang(stop) | End::Differs(stop) => {
            format!("{}: {}", stop.code, stop.report.message)
        }
        End::Interrupted => "interrupted".to_owned(),
    }
}

fn buffers(
    record: &RunRecord,
    job: &Job,
    results: &[FinalBuffer],
) -> Result<Vec<BufferComparison>, Diagnostics> {
    let other = |name: &str| {
        let message = format!("the record's buffer `{name}` is not one of this launch file");
        let mut found = Diagnostics::new();
        found.push(Diagnostic::error("device::record", message));
        found
    };
    let mut out = Vec::with_capacity(record.buffers.len());
    for buffer in &record.buffers {
        let name = &buffer.name;
        let ours = results.iter().find(|b| b.name == *name).ok_or_else(|| other(name))?;
        let ours = &ours.contents;
        let device = &buffer.contents;
        if (device.ty(), device.shape()) != (ours.ty(), ours.shape()) {
            return Err(other(name));
        }
        let unordered = job.multisets().any(|multiset| multiset == name);
        out.push(if unordered {
            without_order(name, device, ours)
        } else {
            one(name, device, ours)
        });
    }
    for (name, hash) in &record.hashes {
        let ours = results.iter().find(|b| b.name == *name).ok_or_else(|| other(name))?;
        out.push(by_hash(name, hash, &ours.contents));
    }
    Ok(out)
}

fn by_hash(name: &str, hash: &str, ours: &Array) -> BufferComparison {
    let elements = ours.len();
    let differing = if hash_of(ours) == hash { 0 } else { elements };
    let text = match differing {
        0 => format!("{name}: {elements} elements agree by their hash"),
        _ => format!("{name}: the hash of {elements} elements differs"),
    };
    let (name, whole, ours) = (name.to_owned(), Some(text), ours.clone());
    BufferComparison { name, elements, differing, first: Vec::new(), max_ulp: None, whole, ours }
}

fn without_order(name: &str, device: &Array, ours: &Array) -> BufferComparison {
    let (got, want): (Vec<u64>, Vec<u64>) = (device.iter().collect(), ours.iter().collect());
    let text = compare_multisets(name, ours.ty(), &got, &want);
    BufferComparison {
        name: name.to_owned(),
        elements: got.len(),
        differing: usize::from(text.is_some()),
        first: Vec::new(),
        max_ulp: None,
        whole: Some(
            text.unwrap_or_else(|| format!("{name}: {} elements agree as a multiset", got.len())),
        ),
        ours: ours.clone(),
    }
}

fn one(name: &str, device: &Array, ours: &Array) -> BufferComparison {
    let mut result = BufferComparison {
        name: name.to_owned(),
        elements: ours.len(),
        differing: 0,
        first: Vec::new(),
        max_ulp: None,
        whole: None,
        ours: ours.clone(),
    };
    for (index, (device, ours)) in device.iter().zip(ours.iter()).enumerate() {
        if device == ours {
            continue;
        }
        result.differing += 1;
        result.max_ulp = result.max_ulp.max(ulp_distance(result.ours.ty(), device, ours));
        if result.first.len() < KEPT {
            result.first.push(Difference { index, device, ours, writer: None });
        }
    }
    result
}

/// Runs the job once more, on the exact engine, and looks at who writes the elements that differ.
fn find_writers(
    comparison: &mut Comparison,
    job: &mut Job,
    mechanism: Option<&str>,
    monitor: &mut dyn LaunchMonitor,
) -> Result<(), Diagnostics> {
    let elements = comparison.buffers.iter().flat_map(|buffer| {
        let size = buffer.ours.ty().bytes() as u64;
        let place = move |d: &Difference| (buffer.name.clone(), d.index as u64 * size, size);
        buffer.first.iter().map(place)
    });
    let mut writers = Writers::new(elements);
    run(job, mechanism, &mut Following { monitor, writers: &mut writers })?;
    let differences = comparison.buffers.iter_mut().flat_map(|buffer| &mut buffer.first);
    for (difference, writer) in differences.zip(writers.found()) {
        difference.writer = Some(writer);
    }
    Ok(())
}
