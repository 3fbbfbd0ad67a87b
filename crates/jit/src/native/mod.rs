//! Compiled code in executable memory, and its calls back into the interpreter. The unsafe code of this crate.
//!
//! What makes it sound: a [`Compiled`] holds the kernel that its code was made from, and runs that kernel alone, so the rows, masks and
//! scalars that code reaches are those that the interpreter made for the same kernel; `check` has looked at every
//! index of it. Guest memory is reached through pointers that are taken for each visit to a CTA, or for the launch where regions stay where they
//! are, and only after code has checked offsets against lengths. While code runs, the interpreter's state is reached by code alone, and
//! while a call back lasts, by the call alone.
#![allow(unsafe_code, reason = "code that is made at run time can only be called so")]

mod calls;
mod runner;
mod seats;

use crate::check::is_sound;
use crate::counts::{Place, Stretch};
use crate::emit::{Emitted, Stubs, emit};
use crate::features::Features;
use crate::nan::Nan;
use crate::notes::NotePlace;
use crate::pool::Line;
use crate::{Coverage, MOST_STEPS, Refused};
use fast::{Declined, Finished, GoOn, Kernel, Level, Tier, Worker};
use memmap2::{Mmap, MmapMut};
use runner::Runner;
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
    /// The pages that all addresses are in.
    text: Mmap,
    constants: Box<[Line]>,
    enter: u64,
    starts: Starts,
    /// Steps after barriers.
    resumes: Vec<u32>,
    block_of: Vec<u32>,
    /// Steps that keep where they accessed global memory last, sorted, with their place in the frame's list.
    nears: Vec<(u32, usize)>,
    sregs: Vec<u32>,
    sreg_rows: Vec<u32>,
    /// Addresses of blocks, and of steps after barriers.
    table: Box<[u64]>,
    after: Box<[u64]>,
    places: Vec<Place>,
    stretches: Vec<Stretch>,
    notes: Vec<NotePlace>,
    coverage: Coverage,
    left: Vec<u32>,
}

/// Addresses of the code that takes a warp.
#[derive(Clone, Copy, Debug)]
struct Starts {
    /// The first one of a visit.
    first: u64,
    /// One at the kernel's beginning.
    fresh: u64,
    /// One that goes on.
    again: u64,
    /// One that the code cannot take.
    before: u64,
    /// One whose stack is the interpreter's.
    alone: u64,
}

impl Compiled {
    /// Compiles a kernel for this host, for launches that are run in detail or for others: counting costs.
    ///
    /// # Errors
    /// The kernel again, and why the interpreter has to run it.
    pub fn new(kernel: Kernel, detailed: bool) -> Result<Self, (Kernel, Refused)> {
        Self::at(kernel, Level::best(), detailed)
    }

    /// The same with no other vector instructions than those of a level; [`Refused::Host`] if the host does not have them, or if
    /// there is no code for them.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn at(kernel: Kernel, level: Level, detailed: bool) -> Result<Self, (Kernel, Refused)> {
        let features = match possible(&kernel, level) {
            Ok(features) => features,
            Err(refused) => return Err((kernel, refused)),
        };
        let nan = Nan::new(kernel.code());
        // With AVX2, groups bring rows into registers, and rows of their own make them longer.
        let shared = features.level == Level::Avx512;
        let kernel = if shared { kernel.with_shared_rows() } else { kernel };
        match emit(kernel.code(), nan, features, detailed).and_then(place) {
            Ok(code) => Ok(Self { kernel, code, level, detailed }),
            Err(refused) => Err((kernel, refused)),
        }
    }

    /// How much of the kernel runs compiled.
    #[must_use]
    pub fn coverage(&self) -> Coverage {
        self.code.coverage
    }

    /// The steps that the interpreter executes, whatever they meet.
    pub fn left(&self) -> impl Iterator<Item = &fast::code::Step> {
        let steps = &self.kernel.code().steps;
        self.code.left.iter().filter_map(|&step| steps.get(step as usize))
    }

    /// The machine code, for disassemblers: instructions alone, constants are elsewhere.
    #[must_use]
    pub fn code(&self) -> &[u8] {
        self.code.text.get(..self.code.coverage.bytes).unwrap_or(&[])
    }

    /// Runs a launch of the kernel under the mechanism `ipdom`, in detail if it has been compiled for that.
    ///
    /// # Errors
    /// Why the exact engine has to run it, from the start.
    pub fn run(
        &self,
        state: impl BorrowMut<State<1>>,
        watch: &mut dyn GoOn,
    ) -> Result<Finished, Declined> {
        fast::run_on(&Native(self), &self.kernel, state, self.level, self.detailed, watch)
    }
}

/// Whether a kernel can be compiled at a level, and for what instructions then.
fn possible(kernel: &Kernel, level: Level) -> Result<Features, Refused> {
    let features = Features::of_host(level).ok_or(Refused::Host)?;
    if kernel.code().steps.len() > MOST_STEPS {
        return Err(Refused::TooLarge);
    }
    if !is_sound(kernel.code()) {
        return Err(Refused::Unsound);
    }
    Ok(features)
}

/// Puts code into pages of its own: first writable, then executable.
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
    let mut nears: Vec<(u32, usize)> =
        emitted.nears.iter().enumerate().map(|(near, &step)| (step, near)).collect();
    nears.sort_unstable();
    Ok(Code {
        table: blocks?,
        after: after?,
        resumes: emitted.resumes.iter().map(|r| r.0).collect(),
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
        nears,
        places: emitted.places,
        stretches: emitted.stretches,
        notes: emitted.notes,
        coverage: Coverage { native, steps, bytes: bytes.len() },
        left: emitted.left,
        text,
    })
}

/// The tier, for the kernel that it was made for.
struct Native<'c>(&'c Compiled);

impl Tier for Native<'_> {
    fn worker<'w>(&'w self) -> Box<dyn Worker + 'w> {
        Box::new(Runner::new(self.0))
    }
}
