//! The machine behind [`simt::machine::Machine`]: loading, reset, fetch, traps.

use isa::FileId;
use simt::LaneMask;
use simt::console::OUTPUT_LIMIT;
use simt::machine::{Hang, HangKind, Machine, Step, Wait, Waiter};
use simt::memory::{AccessKind, Addr, MapError, MemoryMap, Permission, Width};
use simt::observe::{Events, Issue, Observer, Pc};
use simt::slots::{Domain, IssueLanes, LaneSlots};
use simt::trap::Fault;

use crate::config::Config;
use crate::csr::mstatus;
use crate::decode::{Inst, decode, length};
use crate::exec::{Context, GROUP, rsv, scalar};
use crate::host;
use crate::op::Op;
use crate::program::{LoadError, Program, Segment};
use crate::state::{Mode, State};
use crate::table::TEXT_BASE;
use crate::trap::{StopCause, Trap, TrapCause};

/// Main memory starts here.
pub const RAM_BASE: u64 = TEXT_BASE;

/// Default size of main memory in bytes.
pub const DEFAULT_RAM: u64 = 128 << 20;

/// Bytes of guest memory at most, program segments outside main memory included.
const MEMORY_LIMIT: u64 = 2 << 30;

/// A RISC-V core with XPHMG_PMASK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pmask {
    /// Its options.
    pub config: Config,
}

/// The parameters of a launch besides the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Bytes of main memory at [`RAM_BASE`]; a multiple of 16.
    pub ram: u64,
    /// The input of the program's console.
    pub input: Vec<u8>,
    /// Its command line, for semihosting.
    pub arguments: String,
    /// Further memory: addresses and lengths in bytes. It may overlap main memory and segments.
    pub map: Vec<(u64, u64)>,
}

impl Default for Launch {
    fn default() -> Self {
        Self { ram: DEFAULT_RAM, input: Vec::new(), arguments: String::new(), map: Vec::new() }
    }
}

/// The reason that a launch is not possible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// Memory cannot be allocated.
    #[error("no memory for the program: {0}")]
    Memory(#[from] MapError),
    /// A range of further memory does not fit into the address space.
    #[error("the range of {size} bytes at {address:#x} does not fit into memory")]
    Range {
        /// Its address.
        address: u64,
        /// Its length.
        size: u64,
    },
    /// Two parts of the program overlap, or a part exceeds the end of memory.
    #[error("the segment of {size} bytes at {address:#x} does not fit into memory")]
    Segment {
        /// Its address.
        address: u64,
        /// Its length.
        size: u64,
    },
}

/// The end of the stack in programs linked by picolibc's and newlib's linker scripts.
const STACK_SYMBOL: &str = "__stack";
/// Bytes that lie between a program's last segment and the end of its stack at most.
const MOST_STACK: u64 = 128 << 20;

/// Memory that begins in the last segment before the end of the program's stack: C libraries have
/// their heap and stack behind a segment, in memory that no segment names.
fn stack(program: &Program) -> Option<(u64, u64)> {
    let end = program.symbol(STACK_SYMBOL)?;
    let ends = program.segments.iter().filter_map(|s| s.address.checked_add(s.size));
    let last = ends.filter(|e| *e <= end).max()?;
    (end - last <= MOST_STACK).then_some((last, end - last))
}

/// Returns the parts of the memory of a launch that are outside main memory, from `RAM_BASE` to
/// `ram_end`; parts that adjoin or overlap are one.
fn outside(
    program: &Program,
    launch: &Launch,
    ram_end: u64,
) -> Result<Vec<(u64, u64)>, LaunchError> {
    let segment = |s: &Segment| {
        let error = LaunchError::Segment { address: s.address, size: s.size };
        (s.address, s.size, error)
    };
    let range =
        |&(address, size): &(u64, u64)| (address, size, LaunchError::Range { address, size });
    let further = launch.map.iter().copied().chain(stack(program)).collect::<Vec<_>>();
    let parts = program.segments.iter().map(segment).chain(further.iter().map(range));
    let mut outside = Vec::new();
    for (address, size, error) in parts {
        let end = address.checked_add(size).and_then(|e| e.checked_next_multiple_of(16));
        let end = end.ok_or(error)?;
        if address < RAM_BASE {
            outside.push((address & !15, end.min(RAM_BASE)));
        }
        if end > ram_end {
            outside.push(((address & !15).max(ram_end), end));
        }
    }
    // Neighbours may share their last 16 bytes: adjacent ones are mapped as one.
    outside.sort_unstable();
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for (start, end) in outside {
        match ranges.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => ranges.push((start, end)),
        }
    }
    Ok(ranges)
}

/// Memory with the program in it.
fn memory(program: &Program, launch: &Launch) -> Result<MemoryMap, LaunchError> {
    let mut memory = MemoryMap::with_limit(MEMORY_LIMIT);
    let ram = launch.ram & !15;
    memory.map_at("RAM", Addr(RAM_BASE), ram, Permission::ReadWrite)?;
    let ram_end = RAM_BASE.saturating_add(ram);
    for (start, end) in outside(program, launch, ram_end)? {
        memory.map_at("program", Addr(start), end - start, Permission::ReadWrite)?;
    }
    for segment in &program.segments {
        let (mut address, size) = (segment.address, segment.size);
        let wrong = LaunchError::Segment { address, size };
        let mut rest = segment.bytes.as_slice();
        // A segment may begin below main memory or end above it.
        while !rest.is_empty() {
            let border = [RAM_BASE, ram_end].into_iter().find(|b| *b > address);
            let room = border.map_or(rest.len() as u64, |b| b - address).min(rest.len() as u64);
            let (part, behind) = rest.split_at(room as usize);
            memory.host_write(Addr(address), part).map_err(|_| wrong.clone())?;
            (address, rest) = (address.wrapping_add(room), behind);
        }
    }
    Ok(memory)
}

/// Returns whether the instruction at the program counter is decoded and may be run.
#[inline]
fn is_ready(state: &State) -> bool {
    state.decoded.knows(state.pc) && state.may_fetch(state.pc, 4)
}

/// Fetches and decodes the instruction at the program counter.
#[cold]
fn make_ready(state: &mut State) -> Result<(), Trap> {
    let inst = decode(fetch(state)?, &state.config);
    state.decoded.keep(state.pc, inst);
    Ok(())
}

/// The word at the program counter.
fn fetch(state: &State) -> Result<u32, Trap> {
    fetch_at(state, state.pc)
}

/// The word at an address: 16 bits of a compressed instruction, else 32.
pub(crate) fn fetch_at(state: &State, pc: u64) -> Result<u32, Trap> {
    let fault = |addr| Trap::new(TrapCause::FetchFault, addr);
    if !state.may_fetch(pc, 2) {
        return Err(fault(pc));
    }
    if pc & 3 == 0
        && state.may_fetch(pc, 4)
        && let Ok(word) = state.memory.load(Addr(pc), Width::B4)
    {
        let word = word as u32;
        return Ok(if length(word) == 2 { word & 0xffff } else { word });
    }
    let low = state.memory.load(Addr(pc), Width::B2).map_err(|_| fault(pc))? as u32;
    if length(low) == 2 {
        return Ok(low);
    }
    let rest = pc.wrapping_add(2);
    if !state.may_fetch(rest, 2) {
        return Err(fault(rest));
    }
    let high = state.memory.load(Addr(rest), Width::B2).map_err(|_| fault(rest))?;
    Ok(low | (high as u32) << 16)
}

/// Enters the trap handler.
fn enter_handler(state: &mut State, trap: Trap) {
    let csr = &mut state.csr;
    csr.mepc = state.pc;
    csr.mcause = trap.cause.number();
    csr.mtval = trap.value;
    let mut new = csr.mstatus & !(mstatus::MPP | mstatus::MPIE | mstatus::MIE);
    if csr.mstatus & mstatus::MIE != 0 {
        new |= mstatus::MPIE;
    }
    if state.mode == Mode::Machine {
        new |= mstatus::MPP;
    }
    csr.mstatus = new;
    state.mode = Mode::Machine;
    state.pc = csr.mtvec & !3;
    // The handler's own instructions must not run lane by lane.
    let rsv = &mut state.rsv;
    rsv.saved_enabled = std::mem::take(&mut rsv.enabled);
    rsv.saved_one_shot = std::mem::take(&mut rsv.one_shot);
}

/// Returns whether taking the trap would change nothing: the handler's first instruction traps,
/// again and again.
fn repeats(state: &State, trap: Trap) -> bool {
    let csr = &state.csr;
    let settled = mstatus::MPP | mstatus::MPIE | mstatus::MIE;
    state.pc == csr.mtvec & !3
        && csr.mepc == state.pc
        && csr.mcause == trap.cause.number()
        && csr.mtval == trap.value
        && state.mode == Mode::Machine
        && csr.mstatus & settled == mstatus::MPP
        && !(state.rsv.enabled || state.rsv.saved_enabled || state.rsv.saved_one_shot)
}

fn hang(state: &State) -> Box<Hang> {
    let lanes = LaneMask::first(1);
    let waiter =
        Waiter { group: GROUP, pc: Pc(state.pc), lanes, off: LaneMask::EMPTY, wait: Wait::Running };
    Box::new(Hang { kind: HangKind::Repeats, waiters: vec![waiter], more: 0 })
}

/// Returns a likely reason for a trap that no handler takes.
fn hint(state: &State, inst: Option<&Inst>, trap: Trap) -> String {
    match trap.cause {
        TrapCause::FetchFault if trap.value == 0 => {
            "a jump to address 0, or a return from a program that should end itself".to_owned()
        }
        TrapCause::FetchFault => "the program counter has left the program".to_owned(),
        TrapCause::Illegal => {
            let word = trap.value as u32;
            let table = crate::table::table();
            let have = u32::from(length(word)) * 8;
            let form = table.decode(trap.value, have).map(|found| table.form(found.form));
            // `.insn` lines take any word.
            match form.ok().filter(|form| form.attribute("assembly-only").is_none()) {
                Some(form) => {
                    let name = &form.name;
                    format!("`{name}` is not offered by this machine, or not in this mode")
                }
                None => "this word is not an instruction".to_owned(),
            }
        }
        TrapCause::Breakpoint => "a breakpoint without a debugger".to_owned(),
        TrapCause::UserCall | TrapCause::MachineCall => {
            let number = state.x[17];
            format!("there is no call {number} (a7); 93 exits, 64 writes, 63 reads")
        }
        TrapCause::LoadMisaligned | TrapCause::StoreMisaligned => {
            "the address is not a multiple of the access's size".to_owned()
        }
        TrapCause::LoadFault | TrapCause::StoreFault => {
            let size = inst.and_then(|inst| inst.op.access()).map_or(1, Width::bytes);
            let kind = match trap.cause {
                TrapCause::LoadFault => AccessKind::Load,
                _ => AccessKind::Store,
            };
            let access = state.memory.check(kind, Addr(trap.value), size, 1);
            let protected = "memory protection (PMP) forbids the access";
            access.err().map_or(protected.to_owned(), |error| error.to_string())
        }
    }
}

impl Pmask {
    /// Runs one instruction whose word has been fetched.
    #[inline]
    fn execute<O: Observer<1>>(
        state: &mut State,
        inst: &Inst,
        observer: &mut O,
    ) -> Result<(), Trap> {
        let mut context = Context { observer, lane: 0 };
        if rsv::affects(state, inst) {
            let lanes = rsv::lanes(state);
            let all = LaneMask::<1>::first(lanes.count.into());
            let on = LaneMask::from_bits(lanes.on);
            let issue = IssueLanes {
                width: lanes.count.into(),
                launched: all,
                exited: LaneMask::EMPTY,
                waiting: LaneMask::EMPTY,
                active: all,
                unmasked: on,
                on,
            };
            tell(state, Domain::Vector, &issue, context.observer);
            state.slots.vector(&issue);
            rsv::run(state, inst, lanes, &mut context)?;
            state.pc = state.pc.wrapping_add(inst.len.into());
            return Ok(());
        }
        if context.observer.wants(Events::ISSUE) {
            let one = LaneMask::<1>::first(1);
            let empty = LaneMask::EMPTY;
            let issue = IssueLanes {
                width: 1,
                launched: one,
                exited: empty,
                waiting: empty,
                active: one,
                unmasked: one,
                on: one,
            };
            tell(state, Domain::Uniform, &issue, context.observer);
        }
        state.slots.uniform();
        scalar(state, inst, &mut context)
    }

    /// Handles a trap: by the host, by the handler, or as the end of the run.
    #[cold]
    fn trap(state: &mut State, inst: Option<&Inst>, trap: Trap) -> Step<StopCause> {
        let call = matches!(trap.cause, TrapCause::UserCall | TrapCause::MachineCall);
        let unhandled = state.csr.mtvec == 0;
        let semihosting = inst.is_some_and(|i| i.op == Op::Ebreak && i.len == 4)
            && host::is_semihosting(state, state.pc);
        state.involved += u64::from(call || semihosting);
        if semihosting {
            host::semihosting(state);
            state.pc = state.pc.wrapping_add(4);
            state.retired += 1;
        } else if unhandled && call && host::environment_call(state) {
            state.pc = state.pc.wrapping_add(4);
            state.retired += 1;
        } else if unhandled {
            let cause = StopCause::Trap { trap, pc: state.pc, hint: hint(state, inst, trap) };
            return fault(state, cause);
        } else if repeats(state, trap) {
            return Step::Hang(hang(state));
        } else {
            enter_handler(state, trap);
        }
        after(state)
    }
}

fn tell<O: Observer<1>>(state: &State, domain: Domain, lanes: &IssueLanes<1>, observer: &mut O) {
    if observer.wants(Events::ISSUE) {
        observer.issue(&Issue {
            group: GROUP,
            pc: Pc(state.pc),
            domain,
            lanes,
            depth: 1,
            guard_off: 0,
        });
    }
}

fn fault(state: &State, cause: StopCause) -> Step<StopCause> {
    let access = matches!(&cause, StopCause::Trap { trap, .. } if trap.cause.is_access());
    let lane = if access && state.rsv.enabled { state.rsv.fault_index as usize & 63 } else { 0 };
    let lanes = LaneMask::lane(lane);
    Step::Fault(Box::new(Fault { cause, group: GROUP, pc: Pc(state.pc), lanes }))
}

/// Returns the outcome of an instruction: too much printed, ended, or more to do.
fn after(state: &State) -> Step<StopCause> {
    if state.host.console.overflow {
        return fault(state, StopCause::OutputLimit { limit: OUTPUT_LIMIT });
    }
    Step::Issued
}

impl Machine for Pmask {
    const NAME: &'static str = "pmask";
    type Program = Program;
    type LoadError = LoadError;
    type Launch = Launch;
    type LaunchError = LaunchError;
    type State = State;
    type Cause = StopCause;

    fn load(&self, image: &[u8]) -> Result<Program, LoadError> {
        Program::load(image, FileId::default())
    }

    fn launch(&self, program: &Program, launch: Launch) -> Result<State, LaunchError> {
        let mut state = State::new(self.config, memory(program, &launch)?);
        state.pc = program.entry & !1;
        // The stack grows down from the end of main memory.
        state.set_x(2, RAM_BASE.saturating_add(launch.ram & !15));
        state.host.tohost = program.symbol("tohost");
        state.host.fromhost = program.symbol("fromhost");
        state.host.console.input = launch.input;
        state.host.arguments = launch.arguments;
        Ok(state)
    }

    #[inline]
    fn step<O: Observer<1>>(
        &self,
        _program: &Program,
        state: &mut State,
        observer: &mut O,
    ) -> Step<StopCause> {
        if state.host.exit.is_some() {
            return Step::Done;
        }
        state.cycles += 1;
        if !is_ready(state)
            && let Err(trap) = make_ready(state)
        {
            return Self::trap(state, None, trap);
        }
        let inst = state.decoded.at(state.pc);
        match Self::execute(state, &inst, observer) {
            Ok(()) => {
                state.retired += 1;
                if std::mem::take(&mut state.stuck) && state.host.exit.is_none() {
                    return Step::Hang(hang(state));
                }
                if state.host.console.overflow { after(state) } else { Step::Issued }
            }
            Err(trap) => Self::trap(state, Some(&inst), trap),
        }
    }

    simt::compiled_runs!();

    fn slots<'s>(&self, state: &'s State) -> &'s LaneSlots {
        &state.slots
    }
}
