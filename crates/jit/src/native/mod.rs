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

mod ahead;
mod calls;
#[cfg(all(test, target_arch = "x86_64"))]
pub(crate) mod execute;
mod exempt;
#[cfg(target_arch = "aarch64")]
mod instruction_cache;
mod judge;
mod patterns;
mod runner;
#[cfg(any(target_arch = "aarch64", feature = "cranelift"))]
mod turns;
mod warp_contexts;

use crate::check::is_sound;
use crate::features::Features;
use crate::layout::Layouts;
use crate::machine_code::{Entries, Facts, MachineCode};
use crate::pool::PoolRow;
use crate::{Coverage, MAX_STEPS, Refused, translated};
use ahead::{Coordinate, coordinates};
use fast::code::Kind;
use fast::{Declined, Finished, Kernel, LaunchObserver, Level, Order, Tier, Visit, Worker};
use memmap2::{Mmap, MmapMut};
use runner::CompiledWorker;
use std::borrow::BorrowMut;
use std::sync::{Mutex, OnceLock, PoisonError};
use vm::{BACK_EDGES, State, WARP_SIZE};
use warp_contexts::CtaContexts;

/// A kernel and its code.
#[derive(Debug)]
pub struct Compiled {
    kernel: Kernel,
    /// The code, made when the first launch needs it unless it was made at once.
    code: OnceLock<Result<Box<Code>, Refused>>,
    /// Code for launches that run the sides of branches in other orders, made when there is one.
    other_orders: [OnceLock<Option<Box<Code>>>; 3],
    features: Features,
    detailed: bool,
}

#[derive(Debug)]
struct Code {
    /// The pages that all code addresses point into.
    text: Mmap,
    constants: Box<[PoolRow]>,
    enter: u64,
    starts: Starts,
    facts: Facts,
    /// Steps that keep the region of their last global access, sorted, with their index in the
    /// frame's list.
    region_entries: Vec<(u32, usize)>,
    coverage: Coverage,
    /// Most issues of a warp in one visit, where that is known and nothing reads their number.
    most_issues: Option<u64>,
    /// The special registers that are coordinates of the CTA, if code can begin CTAs by itself.
    coordinates: Option<Vec<Coordinate>>,
    /// Layouts that workers of earlier launches have found.
    spare_layouts: Mutex<Vec<Layouts>>,
    /// Contexts that the worker of an earlier launch has left.
    spare_contexts: Mutex<Option<Box<CtaContexts>>>,
}

/// Most bytes of contexts that are kept for later launches.
const MAX_SPARE_CONTEXTS: usize = 256 << 10;

impl Code {
    /// Returns layouts for a worker: those of one that has ended, if there are.
    fn layouts(&self) -> Layouts {
        let mut spare = self.spare_layouts.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(mut layouts) = spare.pop() else {
            return Layouts::new(&self.facts.layout_sites);
        };
        layouts.begin_launch();
        layouts
    }

    /// Returns contexts for the visited CTA: those of an earlier launch, if there are.
    fn contexts(&self, visit: &Visit<'_, '_>) -> Box<CtaContexts> {
        let spare = self.spare_contexts.lock().unwrap_or_else(PoisonError::into_inner).take();
        let fitting = spare.and_then(|mut spare| spare.fit(self, visit).then_some(spare));
        fitting.unwrap_or_else(|| Box::new(CtaContexts::new(self, visit)))
    }

    /// Keeps contexts of a worker that ends, if they are small.
    fn keep_contexts(&self, contexts: Box<CtaContexts>) {
        if contexts.bytes() <= MAX_SPARE_CONTEXTS {
            let mut spare = self.spare_contexts.lock().unwrap_or_else(PoisonError::into_inner);
            *spare = Some(contexts);
        }
    }

    /// Keeps the layouts of a worker that ends.
    fn keep_layouts(&self, layouts: Layouts) {
        self.spare_layouts.lock().unwrap_or_else(PoisonError::into_inner).push(layouts);
    }
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
        Self::with(kernel, Features::of_host(level), detailed)
    }

    /// Keeps a kernel that is compiled, as by [`Self::at`], when it first runs.
    ///
    /// # Errors
    /// As [`Self::at`], if the host has no code.
    pub fn deferred(
        kernel: Kernel,
        level: Level,
        detailed: bool,
    ) -> Result<Self, (Kernel, Refused)> {
        let Some(features) = Features::of_host(level) else { return Err((kernel, Refused::Host)) };
        let (code, other_orders) = Default::default();
        Ok(Self { kernel, code, other_orders, features, detailed })
    }

    /// Compiles a kernel with the instructions alone that every host of the level has.
    ///
    /// # Errors
    /// As [`Self::at`].
    pub fn at_baseline(
        kernel: Kernel,
        level: Level,
        detailed: bool,
    ) -> Result<Self, (Kernel, Refused)> {
        Self::with(kernel, Features::of_host(level).map(Features::baseline), detailed)
    }

    fn with(
        kernel: Kernel,
        features: Option<Features>,
        detailed: bool,
    ) -> Result<Self, (Kernel, Refused)> {
        let Some(features) = features else { return Err((kernel, Refused::Host)) };
        let (code, other_orders) = Default::default();
        let compiled = Self { kernel, code, other_orders, features, detailed };
        match compiled.usual_code() {
            Ok(_) => Ok(compiled),
            Err(refused) => {
                let refused = refused.clone();
                Err((compiled.kernel, refused))
            }
        }
    }

    /// Returns the code for launches that run the sides of branches in the usual order.
    fn usual_code(&self) -> Result<&Code, &Refused> {
        let make = || code(&self.kernel, self.features, Order::Taken, self.detailed).map(Box::new);
        self.code.get_or_init(make).as_deref()
    }

    /// Returns the code if it is made.
    fn made_code(&self) -> Option<&Code> {
        self.code.get()?.as_deref().ok()
    }

    /// Returns whether the kernel is compiled, or why it cannot be; `None` if it is not yet.
    #[must_use]
    pub fn outcome(&self) -> Option<Result<Coverage, &Refused>> {
        let code = self.code.get()?;
        Some(code.as_ref().map(|code| code.coverage))
    }

    /// Runs a launch in the interpreter, if it ends within about so many issues.
    ///
    /// # Errors
    /// As [`fast::run_within`].
    pub fn interpret(
        &self,
        state: impl BorrowMut<State<1>>,
        observer: &mut dyn LaunchObserver,
        issues: u64,
    ) -> Result<Finished, Declined> {
        let Self { kernel, features, detailed, .. } = self;
        fast::run_within(kernel, state, features.level, *detailed, observer, issues)
    }

    /// As [`Kernel::on_threads`].
    #[must_use]
    pub fn on_threads(self, threads: usize) -> Self {
        Self { kernel: self.kernel.on_threads(threads), ..self }
    }

    /// As [`Kernel::eagerly`].
    #[must_use]
    pub fn eagerly(self) -> Self {
        Self { kernel: self.kernel.eagerly(), ..self }
    }

    /// As [`Kernel::commit_after`].
    #[must_use]
    pub fn commit_after(self, bytes: usize) -> Self {
        Self { kernel: self.kernel.commit_after(bytes), ..self }
    }

    /// Returns the code for a launch.
    fn code_for(&self, state: &State<1>) -> Option<&Code> {
        let order = fast::order(state);
        let other = match order {
            Order::Taken => return self.usual_code().ok(),
            Order::Fallthrough => 0,
            Order::Minority => 1,
            Order::Majority => 2,
        };
        let made = self.other_orders[other].get_or_init(|| {
            code(&self.kernel, self.features, order, self.detailed).ok().map(Box::new)
        });
        made.as_deref()
    }

    /// Returns how much of the kernel runs compiled.
    #[must_use]
    pub fn coverage(&self) -> Coverage {
        let steps = self.kernel.code().steps.len();
        self.made_code().map_or(Coverage { native: 0, steps, bytes: 0 }, |code| code.coverage)
    }

    /// Returns the machine instructions, with virtual registers, that a level has for a kernel by
    /// way of the vector IR; the host need not have the level.
    ///
    /// # Errors
    /// Returns [`Refused`] if there is no such code.
    pub fn listing(kernel: &Kernel, level: Level) -> Result<String, Refused> {
        if kernel.code().steps.len() > MAX_STEPS {
            return Err(Refused::TooLarge);
        }
        match level {
            #[cfg(any(target_arch = "aarch64", feature = "cranelift"))]
            Level::Portable => crate::cranelift::listing(kernel.code()),
            #[cfg(target_arch = "x86_64")]
            _ => crate::select::listing(kernel.code(), Features::all(level)),
            #[cfg(not(target_arch = "x86_64"))]
            _ => Err(Refused::Host),
        }
    }

    /// Returns the indices of the steps of a kernel that the interpreter would always execute. They
    /// are the same at all levels, and no code is made.
    ///
    /// # Errors
    /// Returns [`Refused`] if the kernel has no form in the vector IR.
    pub fn steps_left(kernel: &Kernel) -> Result<Vec<usize>, Refused> {
        let steps = translated::steps_left(kernel.code())?;
        Ok(steps.into_iter().map(|step| step as usize).collect())
    }

    /// The steps that the interpreter always executes, with their indices.
    pub fn interpreted_steps(&self) -> impl Iterator<Item = (usize, &fast::code::Step)> {
        let steps = &self.kernel.code().steps;
        let interpreted = self.made_code().map_or(&[][..], |code| &code.facts.interpreted);
        let indices = interpreted.iter().map(|&step| step as usize);
        indices.filter_map(|index| Some((index, steps.get(index)?)))
    }

    /// The machine code, for disassemblers: instructions only, without the constant pool.
    #[must_use]
    pub fn code(&self) -> &[u8] {
        self.made_code().and_then(|code| code.text.get(..code.coverage.bytes)).unwrap_or(&[])
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
        let Some(code) = self.code_for(state.borrow()) else {
            return self.interpret(state, observer, u64::MAX);
        };
        let tier = CompiledTier { compiled: self, code };
        fast::run_on(&tier, &self.kernel, state, self.features.level, self.detailed, observer)
    }
}

/// Compiles a kernel for launches that run the sides of branches in an order.
fn code(
    kernel: &Kernel,
    features: Features,
    order: Order,
    detailed: bool,
) -> Result<Code, Refused> {
    if kernel.code().steps.len() > MAX_STEPS {
        return Err(Refused::TooLarge);
    }
    if !is_sound(kernel.code()) {
        return Err(Refused::Unsound);
    }
    let made = match features.level {
        #[cfg(any(target_arch = "aarch64", feature = "cranelift"))]
        Level::Portable => {
            crate::cranelift::compile(kernel.code(), order, detailed, turns::helpers())?
        }
        #[cfg(target_arch = "x86_64")]
        _ => crate::select::compile(kernel.code(), features, order, detailed)?,
        #[cfg(not(target_arch = "x86_64"))]
        _ => return Err(Refused::Host),
    };
    place(made, kernel.code())
}

/// Returns the most issues of a warp in one visit: between two back-edges, each lane executes a
/// step once. Returns `None` if the kernel reads their number, or if functions call themselves.
fn most_issues(code: &fast::code::Code) -> Option<u64> {
    let is_counted = |kind: &Kind| matches!(kind, Kind::Clock { .. } | Kind::SaveFrame(_));
    if code.steps.iter().any(|step| is_counted(&step.kind)) {
        return None;
    }
    let rounds = if code.has_loops() { BACK_EDGES + 1 } else { 1 };
    let places = (code.steps.len() + code.blocks.len()) as u64;
    Some(places * u64::from(rounds) * u64::from(WARP_SIZE))
}

/// Places code in pages of its own: writable first, then executable.
fn place(made: MachineCode, kernel: &fast::code::Code) -> Result<Code, Refused> {
    let MachineCode { bytes, pool, entries, facts } = made;
    let lost = || Refused::Encoding("a label was lost".to_owned());
    let memory = |error: std::io::Error| Refused::Memory(error.to_string());
    let mut text = MmapMut::map_anon(bytes.len().max(1)).map_err(memory)?;
    text.get_mut(..bytes.len()).ok_or_else(lost)?.copy_from_slice(&bytes);
    let text = text.make_exec().map_err(memory)?;
    #[cfg(target_arch = "aarch64")]
    instruction_cache::clear(&text);
    let address = |offset: u32| {
        let code = text.get(offset as usize..bytes.len()).filter(|code| !code.is_empty());
        code.map(|code| code.as_ptr() as u64).ok_or_else(lost)
    };
    let begins_ctas = match entries {
        #[cfg(target_arch = "x86_64")]
        Entries::Visit { .. } => true,
        #[cfg(any(target_arch = "aarch64", feature = "cranelift"))]
        Entries::Turn(_) => false,
    };
    let coordinates = if begins_ctas { coordinates(kernel, &facts.sregs) } else { None };
    let (enter, starts) = match entries {
        #[cfg(target_arch = "x86_64")]
        Entries::Visit { enter, first, fresh, again } => {
            let [first, fresh, again] = [address(first)?, address(fresh)?, address(again)?];
            (address(enter)?, Starts { first, fresh, again })
        }
        #[cfg(any(target_arch = "aarch64", feature = "cranelift"))]
        Entries::Turn(function) => turns::entries(address(function)?),
    };
    let steps = facts.block_of.len();
    let native = steps - facts.interpreted.len();
    let mut region_entries: Vec<(u32, usize)> =
        facts.region_steps.iter().enumerate().map(|(entry, &step)| (step, entry)).collect();
    region_entries.sort_unstable();
    Ok(Code {
        enter,
        starts,
        constants: pool,
        region_entries,
        coverage: Coverage { native, steps, bytes: bytes.len() },
        most_issues: most_issues(kernel),
        coordinates,
        spare_layouts: Mutex::default(),
        spare_contexts: Mutex::default(),
        facts,
        text,
    })
}

/// The tier of one kernel.
struct CompiledTier<'c> {
    compiled: &'c Compiled,
    code: &'c Code,
}

impl Tier for CompiledTier<'_> {
    fn worker<'w>(&'w self) -> Box<dyn Worker + 'w> {
        Box::new(CompiledWorker::new(self.compiled, self.code))
    }
}
