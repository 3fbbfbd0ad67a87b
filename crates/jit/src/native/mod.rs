//! Compiled code in executable memory, and its calls back into the interpreter. The unsafe code of
//! this crate.
//!
//! Soundness rests on the following. A [`Compiled`] holds the kernel that its code was made from
//! and runs that kernel alone, so the rows, masks and scalars that code accesses are those that the
//! interpreter made for the same kernel; `check` has verified every index in it. Pointers to guest
//! memory are taken for each visit to a CTA, or for the launch where regions do not move, and code
//! accesses them only after it has compared offsets with lengths. While code runs, only the code
//! accesses the interpreter's state; during a call back, only the call does.
#![allow(unsafe_code, reason = "code that is made at run time can only be called so")]

mod calls;
mod runner;
mod warp_contexts;

use crate::check::is_sound;
use crate::counters::{AlignmentCounters, IssueSpan};
use crate::emit::{Emitted, Stubs, emit};
use crate::features::Features;
use crate::nan::Nan;
use crate::patterns::PatternSite;
use crate::pool::PoolRow;
use crate::{Coverage, MAX_STEPS, Refused};
use fast::{Declined, Finished, Kernel, LaunchObserver, Level, Tier, Worker};
use memmap2::{Mmap, MmapMut};
use runner::CompiledWorker;
use std::borrow::BorrowMut;
use vm::State;

/// A kernel and its code.
#[derive(Debug)]
pub struct Compiled {
    kernel: Kernel,
    code: Code,
    level: Level,
    detailed: bool,
}

#[derive(Debug)]
struct Code {
    /// The pages that all code addresses point into.
    text: Mmap,
    constants: Box<[PoolRow]>,
    enter: u64,
    starts: Starts,
    /// Steps after barriers.
    resume_steps: Vec<u32>,
    block_of: Vec<u32>,
    /// Steps that keep the region of their last global access, sorted, with their index in the
    /// frame's list.
    region_steps: Vec<(u32, usize)>,
    sregs: Vec<u32>,
    sreg_rows: Vec<u32>,
    /// Code addresses of blocks, and of the steps after barriers.
    block_addresses: Box<[u64]>,
    resume_addresses: Box<[u64]>,
    issue_spans: Vec<IssueSpan>,
    alignment_counters: Vec<AlignmentCounters>,
    pattern_sites: Vec<PatternSite>,
    coverage: Coverage,
    interpreted: Vec<u32>,
}

/// Addresses of the code that takes a warp.
#[derive(Clone, Copy, Debug)]
struct Starts {
    /// The first warp of a visit.
    first: u64,
    /// A warp at the kernel's entry.
    fresh: u64,
    /// A warp that continues.
    again: u64,
    /// A warp that the code cannot take.
    before: u64,
    /// A warp whose stack the interpreter has.
    alone: u64,
}

impl Compiled {
    /// Compiles a kernel for this host. Code for launches in detail counts more and is slower.
    ///
    /// # Errors
    /// Returns the kernel and the reason that the interpreter has to run it.
    pub fn new(kernel: Kernel, detailed: bool) -> Result<Self, (Kernel, Refused)> {
        Self::at(kernel, Level::best(), detailed)
    }

    /// Compiles a kernel with the vector instructions of `level` at most.
    ///
    /// # Errors
    /// As [`Self::new`]; [`Refused::Host`] if the host lacks the level, or if there is no code for
    /// it.
    pub fn at(kernel: Kernel, level: Level, detailed: bool) -> Result<Self, (Kernel, Refused)> {
        let features = match possible(&kernel, level) {
            Ok(features) => features,
            Err(refused) => return Err((kernel, refused)),
        };
        let nan = Nan::new(kernel.code());
        // With AVX2, groups load rows into registers, and groups are longer where values have rows
        // of their own.
        let shared = features.level == Level::Avx512;
        let kernel = if shared { kernel.with_shared_rows() } else { kernel };
        match emit(kernel.code(), nan, features, detailed).and_then(place) {
            Ok(code) => Ok(Self { kernel, code, level, detailed }),
            Err(refused) => Err((kernel, refused)),
        }
    }

    /// Returns how much of the kernel runs compiled.
    #[must_use]
    pub fn coverage(&self) -> Coverage {
        self.code.coverage
    }

    /// The steps that the interpreter always executes, with their indices.
    pub fn interpreted_steps(&self) -> impl Iterator<Item = (usize, &fast::code::Step)> {
        let steps = &self.kernel.code().steps;
        let indices = self.code.interpreted.iter().map(|&step| step as usize);
        indices.filter_map(|index| Some((index, steps.get(index)?)))
    }

    /// The machine code, for disassemblers: instructions only, without the constant pool.
    #[must_use]
    pub fn code(&self) -> &[u8] {
        self.code.text.get(..self.code.coverage.bytes).unwrap_or(&[])
    }

    /// Runs a launch of the kernel under the mechanism `ipdom`, in detail if it was compiled for
    /// that.
    ///
    /// # Errors
    /// Returns [`Declined`] if the exact engine has to run the launch, or to continue it: see
    /// [`fast::run`].
    pub fn run(
        &self,
        state: impl BorrowMut<State<1>>,
        observer: &mut dyn LaunchObserver,
    ) -> Result<Finished, Declined> {
        fast::run_on(&CompiledTier(self), &self.kernel, state, self.level, self.detailed, observer)
    }
}

/// Returns the instructions to compile a kernel with at a level.
fn possible(kernel: &Kernel, level: Level) -> Result<Features, Refused> {
    let features = Features::of_host(level).ok_or(Refused::Host)?;
    if kernel.code().steps.len() > MAX_STEPS {
        return Err(Refused::TooLarge);
    }
    if !is_sound(kernel.code()) {
        return Err(Refused::Unsound);
    }
    Ok(features)
}

/// Places code in pages of its own: writable first, then executable.
fn place(emitted: Emitted) -> Result<Code, Refused> {
    let lost = || Refused::Encoding("a label was lost".to_owned());
    let bytes = &emitted.code.bytes;
    let memory = |error: std::io::Error| Refused::Memory(error.to_string());
    let mut text = MmapMut::map_anon(bytes.len().max(1)).map_err(memory)?;
    text.get_mut(..bytes.len()).ok_or_else(lost)?.copy_from_slice(bytes);
    let text = text.make_exec().map_err(memory)?;
    let address = |label| {
        let offset = emitted.code.offset(label).map(|o| o as usize);
        let at = offset.filter(|&o| o < bytes.len()).map(|o| text[o..].as_ptr() as u64);
        at.ok_or_else(lost)
    };
    let blocks: Result<Box<[u64]>, Refused> = emitted.blocks.iter().map(|&l| address(l)).collect();
    let after: Result<Box<[u64]>, Refused> =
        emitted.resumes.iter().map(|&(_, l)| address(l)).collect();
    let Stubs { enter, first, fresh, again, before, alone, .. } = emitted.stubs;
    let steps = emitted.block_of.len();
    let native = steps - emitted.left.len();
    let mut region_steps: Vec<(u32, usize)> =
        emitted.nears.iter().enumerate().map(|(entry, &step)| (step, entry)).collect();
    region_steps.sort_unstable();
    Ok(Code {
        block_addresses: blocks?,
        resume_addresses: after?,
        resume_steps: emitted.resumes.iter().map(|r| r.0).collect(),
        sregs: emitted.sregs,
        sreg_rows: emitted.sreg_rows,
        enter: address(enter)?,
        starts: Starts {
            first: address(first)?,
            fresh: address(fresh)?,
            again: address(again)?,
            before: address(before)?,
            alone: address(alone)?,
        },
        constants: emitted.pool,
        block_of: emitted.block_of,
        region_steps,
        issue_spans: emitted.places,
        alignment_counters: emitted.stretches,
        pattern_sites: emitted.notes,
        coverage: Coverage { native, steps, bytes: bytes.len() },
        interpreted: emitted.left,
        text,
    })
}

/// The tier of one kernel.
struct CompiledTier<'c>(&'c Compiled);

impl Tier for CompiledTier<'_> {
    fn worker<'w>(&'w self) -> Box<dyn Worker + 'w> {
        Box::new(CompiledWorker::new(self.0))
    }
}
