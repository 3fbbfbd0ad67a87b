//! Comparison of another engine's run of a launch with the exact engine: the end, memory byte by
//! byte, and statistics.
//!
//! There is nothing in which two engines may differ: both keep the canonical schedule, races
//! included. If memory differs, the launch runs once more with the first differing word watched,
//! which finds the instruction that wrote it last.

use crate::cause::Cause;
use crate::compiled::Compiled as _;
use crate::program::Program;
use crate::state::State;
use simt::Pc;
use simt::counts::Counts;
use simt::machine::Step;
use simt::memory::{Addr, MapError, MemoryMap, OutOfHostMemory, Snapshot, Space};
use simt::observe::{Access, AnyObserver, Events, GroupId, Observer};
use std::fmt;
use std::sync::Arc;
use thiserror::Error;

/// Issues between two calls of `go_on`.
const SLICE: u64 = 1 << 16;

/// Bytes compared at a time.
const CHUNK: u64 = 1 << 16;

/// Bytes of the word that a difference reports.
const WORD: u64 = 4;

/// The outcome of a launch on another engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim<'c> {
    /// Whether all threads ended.
    pub done: bool,
    /// Its statistics, if they are to be compared.
    pub stats: Option<Counts>,
    /// What it has printed, if that is to be compared.
    pub output: Option<&'c [u8]>,
}

/// The outcome of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub enum Recheck {
    /// Nothing differs.
    Same,
    /// The launches end in different ways: this is the exact engine's.
    End(Box<Step<Cause, 1>>),
    /// Memory differs.
    Memory(Box<Difference>),
    /// Statistics differ: the exact engine's, and the other's.
    Counts(Box<[Counts; 2]>),
    /// Output differs: this is the exact engine's.
    Output(Vec<u8>),
    /// `go_on` stopped the comparison.
    Stopped,
}

/// The stable short name of a difference.
pub const DIFFER: &str = "engines-differ";

/// A sentence. Callers, who have the program's text, add where and by whom the word was written.
impl fmt::Display for Recheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Same => f.write_str("the engines agree"),
            Self::Stopped => f.write_str("the engines were not compared to the end"),
            Self::End(end) => {
                f.write_str("the engines differ: on the exact one ")?;
                match &**end {
                    Step::Fault(fault) => write!(f, "the kernel faults ({})", fault.cause)?,
                    Step::Hang(_) => f.write_str("the kernel hangs")?,
                    Step::Done | Step::Issued => f.write_str("all threads end")?,
                }
                f.write_str(", on the other not so")
            }
            Self::Output(_) => {
                f.write_str("the engines differ in what they print; memory is the same")
            }
            Self::Counts(counts) => {
                f.write_str("the engines differ in what they count; memory is the same")?;
                let [exact, other] = counts.each_ref().map(Counts::metrics);
                let pairs = exact.into_iter().zip(other);
                let differ = |a: f64, b: f64| a.to_bits() != b.to_bits();
                match pairs.into_iter().find(|((_, a), (_, b))| differ(*a, *b)) {
                    Some(((metric, exact), (_, other))) => {
                        let name = metric.name;
                        write!(f, " ({name} is {exact} on the exact engine, {other} on the other)")
                    }
                    None => Ok(()),
                }
            }
            Self::Memory(difference) => {
                let Difference { address, name, offset, size, exact, other, writer } =
                    &**difference;
                let digits = 2 * *size as usize;
                write!(
                    f,
                    "the engines differ: at {:#x} (\"{name}\" + {offset}) the exact engine has \
                     {exact:#0w$x}, the other {other:#0w$x}",
                    address.0,
                    w = digits + 2
                )?;
                match writer {
                    Some(_) => Ok(()),
                    None => f.write_str(", which on the exact engine nothing writes"),
                }
            }
        }
    }
}

/// The first word of memory that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Its address.
    pub address: Addr,
    /// The allocation that it is in.
    pub name: Arc<str>,
    /// Bytes from the start of the allocation.
    pub offset: u64,
    /// Bytes that are compared there, 1 to 4: fewer than 4 at the end of an allocation.
    pub size: u64,
    /// The exact engine's value, little-endian.
    pub exact: u32,
    /// The other engine's value.
    pub other: u32,
    /// The last write on the exact engine, if there is one.
    pub writer: Option<Writer>,
}

/// An instruction that wrote memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Writer {
    /// The instruction.
    pub pc: Pc,
    /// The warp that ran it.
    pub group: GroupId,
    /// The lane of the warp.
    pub lane: u16,
}

/// The reason that a launch cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RecheckError {
    /// The host has no memory for a second copy of the guest's.
    #[error("no host memory to compare the engines: {0}")]
    Host(#[from] OutOfHostMemory),
    /// Memory before the launch cannot be restored.
    #[error("memory before the launch cannot be restored: {0}")]
    Map(#[from] MapError),
}

/// Runs a launch on the exact engine and compares. `fresh` is its state before any CTA, without its
/// memory; `before` is memory as it was then. `memory` holds what the other engine has made of it,
/// and in the end what the exact engine makes of it. `go_on` is called from time to time; `false`
/// stops the run.
///
/// # Errors
/// Returns [`RecheckError`] if there is no memory for it.
pub fn recheck(
    program: &Program,
    fresh: &State<1>,
    (before, memory): (&Snapshot, &mut MemoryMap),
    claim: &Claim<'_>,
    go_on: &mut dyn FnMut(&State<1>) -> bool,
) -> Result<Recheck, RecheckError> {
    let mut other = memory.try_clone()?;
    memory.restore(before)?;
    let mut state = fresh.clone();
    std::mem::swap(state.memory_mut(), memory);
    let end = run(program, &mut state, None, go_on);
    std::mem::swap(state.memory_mut(), memory);
    let Some(end) = end else { return Ok(Recheck::Stopped) };
    if claim.done != (end == Step::Done) {
        return Ok(Recheck::End(Box::new(end)));
    }
    if let Some(mut difference) = first_difference(memory, &other) {
        other.restore(before)?;
        let mut watch = Writes { address: difference.address.0, size: difference.size, last: None };
        let mut state = fresh.clone();
        std::mem::swap(state.memory_mut(), &mut other);
        if run(program, &mut state, Some(AnyObserver::new(&mut watch)), go_on).is_none() {
            return Ok(Recheck::Stopped);
        }
        difference.writer = watch.last;
        return Ok(Recheck::Memory(Box::new(difference)));
    }
    // If a launch has stopped, the progress of its other blocks is not compared.
    let counted = claim.stats.filter(|_| claim.done);
    if let Some(other) = counted.filter(|counted| counted != state.stats()) {
        return Ok(Recheck::Counts(Box::new([*state.stats(), other])));
    }
    let printed = claim.output.filter(|_| claim.done);
    if printed.is_some_and(|printed| printed != state.output()) {
        return Ok(Recheck::Output(state.output().to_vec()));
    }
    Ok(Recheck::Same)
}

/// Runs a state to its end; returns `None` if `go_on` stops it.
fn run(
    program: &Program,
    state: &mut State<1>,
    mut observer: Option<AnyObserver<'_, 1>>,
    go_on: &mut dyn FnMut(&State<1>) -> bool,
) -> Option<Step<Cause, 1>> {
    loop {
        let step = match &mut observer {
            Some(observer) => state.run_observed(program, observer, SLICE),
            None => state.run_unobserved(program, SLICE),
        };
        match step {
            Step::Issued if go_on(state) => {}
            Step::Issued => return None,
            end => return Some(end),
        }
    }
}

/// The first word that differs between two maps with the same regions, by address.
#[must_use]
pub fn first_difference(exact: &MemoryMap, other: &MemoryMap) -> Option<Difference> {
    let (mut a, mut b) = (vec![0; CHUNK as usize], vec![0; CHUNK as usize]);
    for region in exact.regions().iter().filter(|region| region.is_live()) {
        let mut offset = 0;
        while offset < region.len() {
            let size = CHUNK.min(region.len() - offset);
            let at = region.base().wrapping_add(offset);
            let (a, b) = (&mut a[..size as usize], &mut b[..size as usize]);
            // A region that the other map lacks is all zero there.
            let read = |map: &MemoryMap, to: &mut [u8]| {
                if map.read_bytes(at, to).is_err() {
                    to.fill(0);
                }
            };
            read(exact, a);
            read(other, b);
            if let Some(byte) = a.iter().zip(b.iter()).position(|(a, b)| a != b) {
                let from = byte as u64 / WORD * WORD;
                let size = WORD.min(size - from);
                let word = |bytes: &[u8]| {
                    let bytes = &bytes[from as usize..(from + size) as usize];
                    bytes.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte))
                };
                return Some(Difference {
                    address: at.wrapping_add(from),
                    name: Arc::clone(region.name()),
                    offset: offset + from,
                    size,
                    exact: word(a),
                    other: word(b),
                    writer: None,
                });
            }
            offset += size;
        }
    }
    None
}

/// Records the last writes of some bytes.
struct Writes {
    address: u64,
    size: u64,
    last: Option<Writer>,
}

impl Observer<1> for Writes {
    const EVENTS: Events = Events::ACCESS;

    fn access(&mut self, access: &Access<'_>) {
        let global = matches!(access.space, Space::Global | Space::Const);
        if !global || !access.kind.writes() {
            return;
        }
        let meets = |&&(_, at): &&(u16, u64)| {
            at < self.address + self.size && self.address < at.saturating_add(access.size.into())
        };
        if let Some(&(lane, _)) = access.lanes.iter().rev().find(meets) {
            self.last = Some(Writer { pc: access.pc, group: access.group, lane });
        }
    }
}
