//! Compiled code in executable memory, and its calls back into the interpreter. The unsafe code of this crate.
//!
//! What makes it sound: a [`Compiled`] holds the kernel that its code was made from, and runs that kernel alone, so the rows, masks and
//! scalars that code reaches are those that the interpreter made for the same kernel; `check` has looked at every
//! index of it. Guest memory is reached through pointers that are taken for each turn, or for the launch where regions stay where they are,
//! and only after code has checked offsets against lengths. While code runs, the interpreter's state is reached by code alone, and
//! while a call back lasts, by the call alone.
#![allow(unsafe_code, reason = "code that is made at run time can only be called so")]

use crate::check::is_sound;
use crate::counts::{Counters, Counting, Place, Stretch, TOLD, TOLD_IN_PART};
use crate::emit::{Emitted, emit};
use crate::features::Features;
use crate::frame::{Frame, NOWHERE, Near, SLOTS};
use crate::notes::NotePlace;
use crate::pool::Line;
use crate::{Coverage, MOST_STEPS, Refused};
use fast::{
    Counts, Declined, Finished, GoOn, Kernel, Level, Slot, Splits, Tally, Tier, Turn, Worker,
};
use memmap2::{Mmap, MmapMut};
use std::any::Any;
use std::borrow::BorrowMut;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
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
    text: Mmap,
    constants: Box<[Line]>,
    enter: u32,
    /// Offsets of blocks, and of steps after barriers.
    blocks: Vec<u32>,
    resumes: Vec<(u32, u32)>,
    block_of: Vec<u32>,
    nears: Vec<u32>,
    sregs: Vec<u32>,
    /// Addresses of blocks.
    table: Box<[u64]>,
    places: Vec<Place>,
    stretches: Vec<Stretch>,
    notes: Vec<NotePlace>,
    coverage: Coverage,
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
        match compile(&kernel, level, detailed) {
            Ok(code) => Ok(Self { kernel, code, level, detailed }),
            Err(refused) => Err((kernel, refused)),
        }
    }

    /// How much of the kernel runs compiled.
    #[must_use]
    pub fn coverage(&self) -> Coverage {
        self.code.coverage
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

fn compile(kernel: &Kernel, level: Level, detailed: bool) -> Result<Code, Refused> {
    let features = Features::of_host(level).ok_or(Refused::Host)?;
    if kernel.code().steps.len() > MOST_STEPS {
        return Err(Refused::TooLarge);
    }
    if !is_sound(kernel.code()) {
        return Err(Refused::Unsound);
    }
    place(emit(kernel.code(), features, detailed)?)
}

/// Puts code into pages of its own: first writable, then executable.
fn place(emitted: Emitted) -> Result<Code, Refused> {
    let lost = || Refused::Encoding("a label was lost".to_owned());
    let bytes = &emitted.code.bytes;
    let memory = |error: std::io::Error| Refused::Memory(error.to_string());
    let mut text = MmapMut::map_anon(bytes.len().max(1)).map_err(memory)?;
    text.get_mut(..bytes.len()).ok_or_else(lost)?.copy_from_slice(bytes);
    let text = text.make_exec().map_err(memory)?;
    let offset =
        |label| emitted.code.offset(label).filter(|&o| (o as usize) < bytes.len()).ok_or_else(lost);
    let blocks: Result<Vec<u32>, Refused> = emitted.blocks.iter().map(|&l| offset(l)).collect();
    let resumes: Result<Vec<(u32, u32)>, Refused> =
        emitted.resumes.iter().map(|&(step, l)| Ok((step, offset(l)?))).collect();
    let (native, steps) = emitted.native;
    let blocks = blocks?;
    let table = blocks.iter().map(|&b| text[b as usize..].as_ptr() as u64).collect();
    Ok(Code {
        table,
        sregs: emitted.sregs,
        enter: offset(emitted.enter)?,
        blocks,
        resumes: resumes?,
        constants: emitted.pool,
        block_of: emitted.block_of,
        nears: emitted.nears,
        places: emitted.places,
        stretches: emitted.stretches,
        notes: emitted.notes,
        coverage: Coverage { native, steps, bytes: bytes.len() },
        text,
    })
}

impl Code {
    /// Where a block's code is, or that of a step of it after a barrier.
    fn at(&self, block: u32, resume: Option<u32>) -> *const u8 {
        let offset = match resume {
            None => self.blocks[block as usize],
            Some(step) => {
                let found = self.resumes.binary_search_by_key(&step, |r| r.0);
                // Warps wait at barriers alone.
                self.resumes[found.unwrap_or_else(|_| unreachable!())].1
            }
        };
        self.text[offset as usize..].as_ptr()
    }
}

/// The tier, for the kernel that it was made for.
struct Native<'c>(&'c Compiled);

impl Tier for Native<'_> {
    fn worker<'w>(&'w self) -> Box<dyn Worker + 'w> {
        let nears = vec![Near::NONE; self.0.code.nears.len()].into_boxed_slice();
        let sregs = vec![0; self.0.code.sregs.len()].into_boxed_slice();
        let slots = Box::new([Slot::default(); SLOTS]);
        let Compiled { kernel, code, detailed, .. } = self.0;
        let steps = kernel.code().steps.len();
        let Code { places, stretches, notes, .. } = code;
        let counting = detailed.then(|| Box::new(Counting::new(places, stretches, notes, steps)));
        let (cta, lent) = (u64::MAX, Vec::new());
        Box::new(Runner { compiled: self.0, nears, sregs, slots, counting, cta, lent })
    }
}

/// Runs turns on one thread.
struct Runner<'c> {
    compiled: &'c Compiled,
    nears: Box<[Near]>,
    sregs: Box<[u64]>,
    slots: Box<[Slot; SLOTS]>,
    counting: Option<Box<Counting>>,
    /// The CTA that ran last, and which of `nears` are windows for it alone.
    cta: u64,
    lent: Vec<usize>,
}

/// What calls back need.
struct Host<'h, 't, 'm> {
    turn: &'h mut Turn<'t, 'm>,
    code: &'h Code,
    nears: *mut [Near],
    slots: *mut [Slot; SLOTS],
    counting: Option<*mut Counting>,
    lent: &'h mut Vec<usize>,
    end: Result<(), Declined>,
    panic: Option<Box<dyn Any + Send>>,
}

impl Worker for Runner<'_> {
    fn turn(&mut self, turn: &mut Turn<'_, '_>) -> Result<(), Declined> {
        // A tier is only ever given the kernel that it was made for; without that, code would reach anywhere.
        assert!(ptr::eq(turn.code(), self.compiled.kernel.code()), "another kernel");
        let code = &self.compiled.code;
        let Some(top) = turn.top() else { return Ok(()) };
        if turn.cta() != self.cta {
            self.cta = turn.cta();
            for near in self.lent.drain(..) {
                let last = std::mem::replace(&mut self.nears[near], Near::NONE);
                if let Some(counting) = &mut self.counting {
                    counting.leave(near, &last);
                }
            }
        }
        let resume = (top.resume > 0)
            .then(|| turn.code().blocks[top.block as usize].steps.start as u32 + top.resume as u32);
        // Special registers are the same for the whole of a warp's life; they are mostly read at its beginning.
        let begins = top.block == turn.code().entry && top.resume == 0;
        if begins {
            for (value, &step) in self.sregs.iter_mut().zip(&code.sregs) {
                *value = turn.sreg(step as usize).unwrap_or(0);
            }
        }
        let view = turn.view();
        // Code counts for launches in detail if and only if it was made for them.
        assert!(turn.is_detailed() == self.counting.is_some(), "another kind of launch");
        let counters = self.counting.as_mut().map_or(Counters::NONE, |c| c.counters());
        let mut frame = Frame {
            lanes: top.lanes,
            rejoin: top.rejoin.unwrap_or(NOWHERE),
            block: NOWHERE,
            live: 0,
            left: turn.back_edges_left() as i32,
            narrow: view.narrow,
            wide: view.wide,
            preds: view.preds,
            scalars: view.scalars,
            constants: self.compiled.code.constants.as_ptr().cast(),
            shared: view.shared.0,
            shared_len: view.shared.1 as u64,
            params: view.params.0,
            params_len: view.params.1 as u64,
            near: self.nears.as_mut_ptr(),
            tally: Tally::default(),
            bottom: ptr::null_mut(),
            top: ptr::null_mut(),
            last: ptr::null_mut(),
            foreign: 1,
            splits: Splits::default(),
            counters,
            table: code.table.as_ptr(),
            sregs: if begins { self.sregs.as_ptr() } else { ptr::null() },
            start: code.at(top.block, resume),
            step,
            drain,
            on: 0,
            end,
            go,
            host: ptr::null_mut(),
            lane_room: MaybeUninit::uninit(),
        };
        let slots = &raw mut *self.slots;
        let nears = &raw mut *self.nears;
        let counting = self.counting.as_mut().map(|c| &raw mut **c);
        let (lent, end) = (&mut self.lent, Ok(()));
        let mut host = Host { turn, code, nears, slots, counting, lent, end, panic: None };
        borrow_stack(&host, &mut frame);
        stand(&host, &mut frame);
        frame.host = (&raw mut host).cast();
        let enter = code.text[code.enter as usize..].as_ptr();
        // SAFETY: the code at `enter` is a function of this type, made by `emit::stubs`, in executable memory that `code` owns.
        let enter: extern "sysv64" fn(*mut Frame) = unsafe { std::mem::transmute(enter) };
        enter(&raw mut frame);
        if let Some(panic) = host.panic.take() {
            resume_unwind(panic);
        }
        give_stack_back(&mut host, &mut frame);
        let Host { turn, end, .. } = host;
        if let Some(counting) = &mut self.counting {
            counting.take(&frame.counters);
        }
        end?;
        flush(turn, &mut frame)?;
        if frame.block != NOWHERE {
            turn.go(frame.block);
        }
        Ok(())
    }

    fn counts(&mut self) -> Counts {
        self.counting.as_mut().map_or_else(Counts::default, |c| c.finish(&self.nears))
    }
}

/// Takes note of where the running lanes stand in the stack, for counts, and of those that cannot run.
fn stand(host: &Host<'_, '_, '_>, frame: &mut Frame) {
    let (absent, exited) = host.turn.absent();
    frame.live = !(absent | exited);
    frame.counters.absent = absent.count_ones().into();
    frame.counters.exited = exited.count_ones().into();
    if let Some(top) = host.turn.top() {
        frame.counters.depth = top.depth.into();
        frame.counters.most_depth = frame.counters.most_depth.max(top.depth.into());
    }
}

/// Copies the stack into the frame, if code can work on it.
fn borrow_stack(host: &Host<'_, '_, '_>, frame: &mut Frame) {
    // SAFETY: the slots are the runner's, which is borrowed for the turn; the code that reaches them otherwise is not running.
    let slots = unsafe { &mut *host.slots };
    let height = if host.turn.taken_first() { host.turn.stack(slots) } else { None };
    frame.foreign = 1;
    // Room for two more entries.
    let Some(height @ 1..) = height.filter(|&h| h + 2 < SLOTS) else { return };
    let bottom = slots.as_mut_ptr();
    frame.bottom = bottom;
    frame.top = bottom.wrapping_add(height - 1);
    frame.last = bottom.wrapping_add(SLOTS - 3);
    frame.foreign = 0;
}

/// Gives the stack back to the interpreter, if code has it. The block of its top is told apart from it.
fn give_stack_back(host: &mut Host<'_, '_, '_>, frame: &mut Frame) {
    if std::mem::replace(&mut frame.foreign, 1) != 0 {
        return;
    }
    let splits = std::mem::take(&mut frame.splits);
    if splits.parted == 0 && splits.merges == 0 {
        // It is as it was.
        return;
    }
    // SAFETY: as above.
    let slots = unsafe { &*host.slots };
    let height = (frame.top as usize - frame.bottom as usize) / size_of::<Slot>() + 1;
    host.turn.restack(&slots[..height.min(SLOTS)], &splits);
}

/// Gives counts to the interpreter.
fn flush(turn: &mut Turn<'_, '_>, frame: &mut Frame) -> Result<(), Declined> {
    let mut tally = std::mem::take(&mut frame.tally);
    tally.back_edges = u64::from(turn.back_edges_left().saturating_sub(frame.left.max(0) as u32));
    turn.count(&tally)
}

/// Runs a call back of the code: `None` if the code has to return.
fn call<T>(
    frame: *mut Frame,
    f: impl FnOnce(&mut Host<'_, '_, '_>, &mut Frame) -> Result<Option<T>, Declined>,
) -> Option<T> {
    // SAFETY: code calls back with the frame that it was entered with, which `turn` keeps until it has returned, and which nobody
    // else reaches in the meantime.
    let frame = unsafe { &mut *frame };
    // SAFETY: `turn` has put a host there that lives as long as the frame; calls back do not nest.
    let host = unsafe { &mut *frame.host.cast::<Host<'_, '_, '_>>() };
    match catch_unwind(AssertUnwindSafe(|| f(host, frame))) {
        Ok(Ok(value)) => value,
        Ok(Err(declined)) => {
            host.end = Err(declined);
            None
        }
        Err(panic) => {
            host.panic = Some(panic);
            None
        }
    }
}

/// Whether a warp may wait in a step.
fn waits(step: &fast::code::Step) -> bool {
    matches!(step.kind, fast::code::Kind::Barrier { .. })
}

/// See [`Frame::step`].
extern "sysv64" fn step(frame: *mut Frame, step: u32, on: u32) -> u32 {
    let told = step & TOLD != 0 || step & TOLD_IN_PART != 0 && on != u32::MAX;
    let step = step & !(TOLD | TOLD_IN_PART);
    let stay = call(frame, |host, frame| {
        let block = host.code.block_of[step as usize];
        if waits(&host.turn.code().steps[step as usize]) {
            // The interpreter looks at the stack, to say where the warp stands.
            give_stack_back(host, frame);
            let parks = host.turn.step(block, step as usize, on)?;
            if !parks {
                borrow_stack(host, frame);
            }
            return Ok((!parks).then_some(()));
        }
        if told {
            host.turn.step_told(block, step as usize, on)?;
        } else if host.turn.step(block, step as usize, on)? {
            return Ok(None);
        }
        if let Ok(near) = host.code.nears.binary_search(&step)
            && let Some(region) = host.turn.region(step as usize, on)
        {
            // SAFETY: the slice is the runner's, which is borrowed for the turn and reached by the code alone otherwise.
            let nears = unsafe { &mut *host.nears };
            let now = Near { base: region.base, len: region.len, bytes: region.bytes };
            let last = std::mem::replace(&mut nears[near], now);
            if region.window {
                host.lent.push(near);
            }
            if let Some(counting) = host.counting
                && last.base != region.base
            {
                // SAFETY: the counters are the runner's, too.
                let counting = unsafe { &mut *counting };
                counting.leave(near, &last);
            }
        }
        Ok(Some(()))
    });
    u32::from(stay.is_none())
}

/// See [`Frame::drain`].
extern "sysv64" fn drain(frame: *mut Frame) {
    call(frame, |host, frame| {
        let Some(counting) = host.counting else { return Ok(Some(())) };
        // SAFETY: the counters are the runner's, which is borrowed for the turn and reached by the code alone otherwise.
        let notes = unsafe { &mut (*counting).notes };
        notes.take(&frame.counters.noting);
        notes.drain(|noted| host.turn.announce(host.code.block_of[noted.step], noted));
        // Patterns may have moved.
        frame.counters.noting = notes.noting();
        Ok(Some(()))
    });
}

/// See [`Frame::end`].
extern "sysv64" fn end(frame: *mut Frame, block: u32) -> *const u8 {
    let next = call(frame, |host, frame| {
        if let fast::code::End::Branch(..) = host.turn.code().blocks[block as usize].end {
            // The interpreter counts it again.
            frame.tally.branches -= 1;
        }
        flush(host.turn, frame)?;
        give_stack_back(host, frame);
        let ended = host.turn.end(block);
        frame.left = host.turn.back_edges_left() as i32;
        ended?;
        borrow_stack(host, frame);
        Ok(next(host, frame))
    });
    next.unwrap_or(ptr::null())
}

/// See [`Frame::go`].
extern "sysv64" fn go(frame: *mut Frame, block: u32) -> *const u8 {
    let next = call(frame, |host, frame| {
        give_stack_back(host, frame);
        host.turn.go(block);
        borrow_stack(host, frame);
        Ok(next(host, frame))
    });
    next.unwrap_or(ptr::null())
}

/// Where code goes on; none if the turn is over.
fn next(host: &Host<'_, '_, '_>, frame: &mut Frame) -> Option<*const u8> {
    if frame.left <= 0 {
        return None;
    }
    let top = host.turn.top()?;
    frame.lanes = top.lanes;
    frame.rejoin = top.rejoin.unwrap_or(NOWHERE);
    stand(host, frame);
    Some(host.code.at(top.block, None))
}
