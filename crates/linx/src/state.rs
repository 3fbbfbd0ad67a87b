//! The state of a running program, and the parameters of a launch.
//!
//! Always holds: a trap leaves the state that was before the instruction, so that stepping again
//! tries it again; `p` has no bit of a lane that the group does not have; at most one group of one
//! kernel exists at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use calls::Calls;
use simt::mask::WarpMask;
use simt::memory::{Addr, MapError, MemoryMap, Permission, Region as Mapped};
use simt::observe::GroupId;
use simt::slots::LaneSlots;

use crate::action::{Action, Simt, Transfer};
use crate::conflict::{Conflict, Conflicts, Shared, Usage};
use crate::header::Header;
use crate::host::{self, Host};
use crate::insn::Insn;
use crate::program::{Fetched, Program};
use crate::tile::Tiles;
use crate::trap::Trap;

/// The value of inactive lanes in a pushed entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Inactive {
    /// The queue's entry 1 from before.
    #[default]
    Merge,
    /// 0.
    Zero,
    /// [`POISON`].
    Poison,
}

/// The value of inactive lanes under [`Inactive::Poison`], cut to the destination's width.
pub const POISON: u64 = 0xdead_beef_dead_beef;

/// The extent of a body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Region {
    /// From the entry to the first terminator in the text: v0.4.
    #[default]
    FirstTerminator,
    /// Wherever the taken path leads, up to a terminator: v0.57.
    TakenPath,
}

/// The division of the iteration space into groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Linear {
    /// Each row on its own.
    #[default]
    Off,
    /// From the linearised space, so that rows share groups.
    On,
    /// By the bit DR of the header's B.ATTR.
    Attribute,
}

/// The options of the machine that a file may set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Lanes of a group: a power of two up to 64.
    pub group_width: u32,
    /// Inactive lanes of pushed entries.
    pub inactive: Inactive,
    /// The rule of regions.
    pub region: Region,
    /// The schedule of the upstream emulator: groups of one lane, `p` only a branch flag, the
    /// region of the taken path, and imports that count the export of their descriptor.
    pub replay: bool,
    /// The division of the iteration space into groups.
    pub linear_groups: Linear,
    /// Whether `lc0` leaves an instruction in the group's domain, where it reads lane 0's.
    pub lc0_group: bool,
    /// Whether an export takes an index among the imports.
    pub exports_import: bool,
    /// Order of the groups of parallel kernels: 0 in order, else a permutation.
    pub seed: u64,
    /// Whether misaligned data traps.
    pub align: bool,
    /// Whether a kernel without dimensions has one lane.
    pub lenient_dim: bool,
    /// Whether TMATMUL may go without B.ARG.
    pub lenient_arg: bool,
    /// Whether groups of a parallel kernel may write general registers, with a warning.
    pub warn_gpr_writes: bool,
    /// Whether headers may bind other numbers of tiles and scalars than their blocks take.
    pub lenient_tiles: bool,
    /// Whether a block marker in a linear body is illegal rather than its end.
    pub strict_linear: bool,
    /// Whether L.BSTOP of older versions is executed as BSTOP.
    pub l_bstop: bool,
    /// Whether compares of body branches reject queue entries.
    pub strict_branches: bool,
    /// Whether accesses of groups of parallel kernels are compared.
    pub conflicts: bool,
    /// Whether reads of queue entries that nothing was pushed to are reported.
    pub check: bool,
    /// Whether a program that is not compiled may call the host.
    pub calls: bool,
    /// Instructions of a second, for programs that ask for the time.
    pub clock: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            group_width: 64,
            inactive: Inactive::Merge,
            region: Region::FirstTerminator,
            replay: false,
            linear_groups: Linear::Off,
            lc0_group: false,
            exports_import: false,
            seed: 0,
            align: false,
            lenient_dim: false,
            lenient_arg: false,
            warn_gpr_writes: false,
            lenient_tiles: false,
            strict_linear: false,
            l_bstop: false,
            strict_branches: false,
            conflicts: false,
            check: false,
            calls: false,
            clock: 100_000_000,
        }
    }
}

impl Options {
    /// Replay implies its group width and its region rule.
    pub(crate) fn effective(mut self) -> Self {
        if self.replay {
            self.group_width = 1;
            self.region = Region::TakenPath;
            self.exports_import = true;
            self.lenient_dim = true;
        }
        self
    }
}

/// The parameters of a launch besides the program.
#[derive(Clone, Debug, Default)]
pub struct Launch {
    /// Guest memory with its buffers; the program's data and a stack are added.
    pub memory: MemoryMap,
    /// `a0` to `a7`.
    pub arguments: Vec<u64>,
    /// The address to start at instead of the program's entry.
    pub entry: Option<u64>,
    /// Ranges of addresses that are mapped when a handler returns to an access that has faulted
    /// there.
    pub demand: Vec<Range<u64>>,
    /// The options.
    pub options: Options,
    /// The words of the command line of a compiled program, its name first.
    pub command: Vec<String>,
    /// What it can read from the console.
    pub input: Vec<u8>,
}

/// The reason that a launch is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// More than eight.
    #[error("{0} arguments; there are eight argument registers")]
    Arguments(usize),
    /// Not 1, 2, 4, ... 64.
    #[error("groups of {0} lanes; possible are 1, 2, 4, 8, 16, 32 and 64")]
    GroupWidth(u32),
    /// No room for data or stack.
    #[error(transparent)]
    Memory(#[from] MapError),
    /// The data cannot be written.
    #[error("the program's data: {0}")]
    Data(String),
}

/// Address and length of the stack of a program that is not compiled.
const STACK: (u64, u64) = (0x0f00_0000, 0x1_0000);

/// The position of the machine relative to blocks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Phase {
    /// Between blocks: a marker must stand at `pc`. `source` is the instruction that led here.
    Between { pc: u64, source: u64 },
    /// In a coupled block.
    Block(Block),
    /// In the header of another block.
    Header(Box<Header>),
    /// In a kernel.
    Body(Box<Body>),
    /// Ended with a status.
    Done(u64),
}

impl Phase {
    fn pc(&self) -> Option<u64> {
        match self {
            Self::Between { pc, .. } => Some(*pc),
            Self::Block(block) => Some(block.pc),
            Self::Header(header) => Some(header.pc),
            Self::Body(body) => Some(body.group.as_ref().map_or(body.entry, |group| group.pc)),
            Self::Done(_) => None,
        }
    }
}

/// A state that [`State::mark`] has remembered.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    phase: Phase,
    scalars: ([u64; 24], Queue, Queue, u64, u64, u64),
    reserved: Option<u64>,
    changes: u64,
}

/// A coupled block.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Block {
    pub(crate) start: u64,
    pub(crate) pc: u64,
    pub(crate) transfer: Transfer,
    pub(crate) target: u64,
    /// The predicate.
    pub(crate) taken: bool,
    /// The target that `setc.tgt` has set.
    pub(crate) indirect: Option<u64>,
}

/// A scalar queue of four entries; entry 0 is the newest.
pub(crate) type Queue = [u64; 4];

/// A group that runs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Group {
    pub(crate) id: GroupId,
    pub(crate) pc: u64,
    pub(crate) valid: WarpMask,
    pub(crate) p: WarpMask,
    /// Counters of lane 0; with linear groups `first` is the linear index of lane 0.
    pub(crate) first: u64,
    pub(crate) lc1: u64,
    pub(crate) lc2: u64,
    pub(crate) t: Queue,
    pub(crate) u: Queue,
    /// Hand, then entry, then lane.
    pub(crate) lanes: Vec<[[u64; 64]; 4]>,
    /// Entries that have been pushed, by hand, up to 4.
    pub(crate) pushed: [u8; 4],
}

/// A kernel that runs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Body {
    pub(crate) simt: Simt,
    pub(crate) entry: u64,
    /// The marker that started it.
    pub(crate) header: u64,
    /// The address where execution continues, and the instruction that leads there.
    pub(crate) next: u64,
    pub(crate) source: u64,
    pub(crate) lb: [u64; 3],
    pub(crate) imports: Vec<u64>,
    /// Registers that receive the exports, and the values exported so far.
    pub(crate) exports: Vec<(u8, Option<u64>)>,
    /// Tiles bound to `ta`.. and `to`, `ts`, as ids.
    pub(crate) inputs: Vec<u8>,
    pub(crate) outputs: Vec<u8>,
    /// Whether rows share groups.
    pub(crate) linear: bool,
    /// Instruction boundaries of the region, ascending, under the rule of the first terminator.
    pub(crate) boundaries: Arc<[u64]>,
    /// Groups in all, and the number of the one that runs.
    pub(crate) groups: u128,
    pub(crate) at: u128,
    pub(crate) group: Option<Box<Group>>,
}

/// The state that is saved when a guest handler is entered.
#[derive(Clone, Debug)]
pub(crate) struct Saved {
    pub(crate) phase: Phase,
    pub(crate) t: Queue,
    pub(crate) u: Queue,
    pub(crate) fatal: bool,
    /// The address of data that was not mapped, if that is the trap.
    pub(crate) unmapped: Option<u64>,
}

/// Everything that changes while a launch runs.
#[derive(Clone, Debug)]
pub struct State {
    /// Guest memory.
    pub memory: MemoryMap,
    pub(crate) options: Options,
    pub(crate) slots: LaneSlots,
    /// R0 to R23; R0 stays 0.
    pub(crate) gpr: [u64; 24],
    pub(crate) t: Queue,
    pub(crate) u: Queue,
    /// CSTATE without the ring.
    pub(crate) flags: u64,
    pub(crate) frm: u64,
    /// The privilege ring.
    pub(crate) ring: u64,
    pub(crate) ssr: BTreeMap<i64, u64>,
    pub(crate) phase: Phase,
    pub(crate) tiles: Tiles,
    pub(crate) saved: BTreeMap<u64, Saved>,
    /// Ranges that have not been mapped yet; code in them is not fetched.
    pub(crate) demand: Vec<Range<u64>>,
    /// The trap that nothing can resume.
    pub(crate) dead: Option<Box<Trap>>,
    pub(crate) conflicts: Conflicts,
    /// Instruction boundaries of the body that was launched last, by its entry.
    pub(crate) region: Option<(u64, Arc<[u64]>)>,
    pub(crate) unwritten: u64,
    /// The first instruction that read an entry that nothing was pushed to.
    pub(crate) unwritten_at: Option<u64>,
    /// Uses that are allowed but probably not intended.
    pub(crate) warnings: BTreeSet<&'static str>,
    pub(crate) issues: u64,
    /// The line that a load has reserved.
    pub(crate) reserved: Option<u64>,
    /// How often something besides registers and queues may have changed, or was read that does by
    /// itself: memory, tiles, system registers, the host, the time.
    pub(crate) changes: u64,
    /// Console, exit and memory on request.
    pub host: Host,
    /// The calls that the program is in, for debuggers.
    pub(crate) calls: Calls,
    /// The return address that the running block has set.
    pub(crate) link: Option<u64>,
}

impl State {
    pub(crate) fn new(program: &Program, launch: Launch) -> Result<Self, LaunchError> {
        let Launch { mut memory, arguments, entry, demand, options, command, input } = launch;
        let options = options.effective();
        if !options.group_width.is_power_of_two() || options.group_width > 64 {
            return Err(LaunchError::GroupWidth(options.group_width));
        }
        let mut gpr = [0; 24];
        let places = gpr[2..10].get_mut(..arguments.len());
        places.ok_or(LaunchError::Arguments(arguments.len()))?.copy_from_slice(&arguments);
        place(&mut memory, program)?;
        let process = program.process.as_ref();
        let stack = if process.is_some() { host::STACK } else { STACK };
        memory.map_at("stack", Addr(stack.0), stack.1, Permission::ReadWrite)?;
        gpr[1] = stack.0 + stack.1;
        let pc = entry.unwrap_or(program.entry);
        let mut state = Self {
            memory,
            options,
            slots: LaneSlots::default(),
            gpr,
            t: [0; 4],
            u: [0; 4],
            flags: 0,
            frm: 0,
            ring: 2,
            ssr: BTreeMap::new(),
            phase: Phase::Between { pc, source: pc },
            tiles: Tiles::default(),
            saved: BTreeMap::new(),
            demand,
            dead: None,
            conflicts: Conflicts::default(),
            region: None,
            unwritten: 0,
            unwritten_at: None,
            warnings: BTreeSet::new(),
            issues: 0,
            reserved: None,
            changes: 0,
            host: Host::new(process, options.calls, options.clock, input),
            calls: Calls::default(),
            link: None,
        };
        if let Some(process) = process {
            state.prepare_stack(process, program.entry, &command);
        }
        Ok(state)
    }

    /// The status that the program has ended with.
    #[must_use]
    pub fn status(&self) -> Option<u64> {
        match self.phase {
            Phase::Done(status) => Some(status),
            _ => None,
        }
    }

    /// A general register, 0 to 23.
    #[must_use]
    pub fn register(&self, number: usize) -> Option<u64> {
        self.gpr.get(number).copied()
    }

    /// Sticky float flags, as in bits 36 to 32 of CSTATE: NX 0, UF 1, OF 2, DZ 3, NV 4 counted from
    /// the low bit.
    #[must_use]
    pub fn float_flags(&self) -> u64 {
        self.flags
    }

    /// The EXEC mask of the group that runs.
    #[must_use]
    pub fn exec(&self) -> Option<u64> {
        match &self.phase {
            Phase::Body(body) => body.group.as_ref().map(|g| g.p.bits()),
            _ => None,
        }
    }

    /// A system register's content, if it has been set.
    #[must_use]
    pub fn system_register(&self, id: i64) -> Option<u64> {
        self.ssr.get(&id).copied()
    }

    /// The first conflict that the check has found.
    #[must_use]
    pub fn conflict(&self) -> Option<Conflict> {
        self.conflicts.first
    }

    /// Returns the findings of a checking run besides the conflict, a line each: reads of unwritten
    /// entries, warnings.
    #[must_use]
    pub fn findings(&self) -> Vec<String> {
        let mut found: Vec<String> =
            self.warnings.iter().map(|w| format!("warning: {w}")).collect();
        if self.conflicts.first.is_none() && self.conflicts.incomplete {
            let text = "conflict: none found, but not all of a kernel's accesses were compared: \
                        they are too many";
            found.push(text.to_owned());
        }
        if let (true, Some(pc)) = (self.options.check, self.unwritten_at) {
            let count = self.unwritten;
            found.push(format!(
                "unwritten: {count} reads of queue entries that nothing was pushed to, the first at {pc:#x}"
            ));
        }
        found
    }

    /// Maps the range of the launch's `demand` that an address lies in: code there is fetched from
    /// then on, other addresses become memory. Returns whether there is such a range, with room.
    pub fn page_in(&mut self, address: u64) -> bool {
        let Some(at) = self.demand.iter().position(|range| range.contains(&address)) else {
            return false;
        };
        let range = self.demand.remove(at);
        let mapped = self.memory.region_at(Addr(address)).is_some_and(Mapped::is_live);
        let length = range.end - range.start;
        mapped
            || self
                .memory
                .map_at("mapped", Addr(range.start), length, Permission::ReadWrite)
                .is_ok()
    }

    /// Remembers the state, so that [`State::is_at`] can tell whether it comes again.
    #[must_use]
    pub fn mark(&self) -> Mark {
        let scalars = (self.gpr, self.t, self.u, self.flags, self.frm, self.ring);
        Mark { phase: self.phase.clone(), scalars, reserved: self.reserved, changes: self.changes }
    }

    /// Returns whether the state is the one that was remembered: the program runs in a circle.
    #[must_use]
    pub fn is_at(&self, mark: &Mark) -> bool {
        self.changes == mark.changes && self.pc() == mark.phase.pc() && self.mark() == *mark
    }

    /// The instruction that is executed next.
    #[must_use]
    pub fn pc(&self) -> Option<u64> {
        self.phase.pc()
    }

    /// What runs in the body: the number of the group, its EXEC mask and its counters.
    #[must_use]
    pub fn group(&self) -> Option<(GroupId, WarpMask, [u64; 3])> {
        let (body, group) = self.body_group()?;
        let first = if body.linear { group.first % body.lb[0].max(1) } else { group.first };
        Some((group.id, group.p, [first, group.lc1, group.lc2]))
    }

    /// Instructions issued.
    #[must_use]
    pub fn issues(&self) -> u64 {
        self.issues
    }

    /// Returns the content of an address, under the options.
    pub(crate) fn fetch(&self, program: &Program, at: u64) -> Fetched {
        if self.demand.iter().any(|range| range.contains(&at)) {
            return Fetched::Unmapped(at);
        }
        match program.fetch(at) {
            Fetched::Insn(insn) if insn.action == Action::LegacyStop => {
                if self.options.l_bstop {
                    Fetched::Insn(Insn { action: Action::Stop, ends: true, ..insn })
                } else {
                    Fetched::Illegal
                }
            }
            found => found,
        }
    }

    /// The number of the group that runs, if it is one of a parallel kernel that is checked for
    /// conflicts.
    pub(crate) fn checked_group(&self) -> Option<u64> {
        let parallel = matches!(&self.phase, Phase::Body(body) if body.simt.is_parallel());
        let id = self.group_id();
        (self.options.conflicts && parallel).then(|| id.cta << 32 | u64::from(id.group))
    }

    /// Records a use by the running group, if conflicts are checked.
    pub(crate) fn note(&mut self, shared: Shared, usage: Usage, pc: u64) {
        if let Some(group) = self.checked_group() {
            self.conflicts.note(shared, usage, (group, pc));
        }
    }

    /// CSTATE: ring, flags and rounding mode.
    pub(crate) fn cstate(&self) -> u64 {
        self.ring | self.flags << 32 | self.frm << 37
    }

    pub(crate) fn group_id(&self) -> GroupId {
        match &self.phase {
            Phase::Body(body) => body.group.as_ref().map(|g| g.id).unwrap_or_default(),
            _ => GroupId::default(),
        }
    }
}

/// Maps code and data of a program. Regions start at multiples of 16, so that neighbours may share
/// one: they are one region then, which can be written if one of them can.
fn place(memory: &mut MemoryMap, program: &Program) -> Result<(), LaunchError> {
    let code = program.code.iter().map(|c| (c.base, &c.bytes, c.bytes.len() as u64, false));
    let data = program.data.iter().map(|d| (d.address, &d.bytes, d.size, d.writable));
    let mut parts: Vec<_> = code.chain(data).collect();
    parts.sort_by_key(|(address, ..)| *address);
    let mut regions: Vec<(Range<u64>, bool)> = Vec::new();
    for (address, _, size, writable) in &parts {
        let range = address & !15..address.saturating_add(*size);
        match regions.last_mut() {
            Some((last, written)) if last.end > range.start => {
                last.end = last.end.max(range.end);
                *written |= writable;
            }
            _ => regions.push((range, *writable)),
        }
    }
    for (range, writable) in regions {
        let permission = if writable { Permission::ReadWrite } else { Permission::ReadOnly };
        let name = if writable { ".data" } else { ".text" };
        memory.map_at(name, Addr(range.start), range.end - range.start, permission)?;
    }
    for (address, bytes, ..) in parts {
        let written = memory.host_write(Addr(address), bytes);
        written.map_err(|error| LaunchError::Data(error.to_string()))?;
    }
    Ok(())
}
