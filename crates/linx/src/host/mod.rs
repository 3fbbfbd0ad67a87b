//! The world around a compiled program: console, exit, memory on request, system calls, and
//! functions of the C library that no object defines.
//!
//! | way | what |
//! |---|---|
//! | stores to `0x1000_0000` and `0x1000_0004` | a byte for the console; exit with a code |
//! | `acrc 1` | a system call of Linux: number in `a7`, result in `a0` ([`linux`]) |
//! | `acrc 15` | a function of the host: its number in `t#1` ([`library`]) |
//!
//! There are no files but the console. Time is the number of instructions by the option `clock`, so
//! that runs repeat.

mod format;
pub(crate) mod library;
mod linux;

use std::collections::BTreeMap;

use isa::elf::ProgramHeaders;
use simt::console::Console;
use simt::memory::{Addr, MemoryMap, Permission, Region};

use crate::program::Process;
use crate::state::{Phase, State};

/// Where the console takes bytes, and where an exit code is stored, by upstream's C library.
const CONSOLE: u64 = 0x1000_0000;
const EXIT: u64 = CONSOLE + 4;
/// Kinds of `acrc`.
const SYSTEM_CALL: i64 = 1;
pub(crate) const HOST_CALL: i64 = 15;
/// Stack of a compiled program.
pub(crate) const STACK: (u64, u64) = (0x0f00_0000, 0x80_0000);
/// Memory that programs ask for lies between these addresses, behind the program.
const ARENA: (u64, u64) = (0x2000_0000, 0xffff_0000);
/// Most bytes of such memory.
const MOST_ARENA: u64 = 1 << 30;
/// Bytes behind the program that `brk` may reach.
const BREAK_ROOM: u64 = 64 << 20;
const PAGE: u64 = 4096;
/// Longest string of a guest that the host reads.
const MOST_STRING: u64 = 1 << 20;

/// Console, exit and memory of a run.
#[derive(Clone, Debug, Default)]
pub struct Host {
    /// Output and input.
    pub console: Console,
    /// The exit code, once the program has ended itself.
    pub exit: Option<i64>,
    /// Whether calls of the host are served.
    present: bool,
    /// Instructions of a second.
    clock: u64,
    /// The first address behind the program, and the current break; 0 before the first call.
    end: u64,
    broken: u64,
    /// The next free address for anonymous memory, and the bytes that are mapped.
    next: u64,
    mapped: u64,
    heap: Heap,
}

/// Memory that `malloc` hands out: sizes by address, and freed places by size.
#[derive(Clone, Debug, Default)]
struct Heap {
    next: u64,
    end: u64,
    sizes: BTreeMap<u64, u64>,
    free: BTreeMap<u64, Vec<u64>>,
}

impl Host {
    pub(crate) fn new(process: Option<&Process>, calls: bool, clock: u64, input: Vec<u8>) -> Self {
        Self {
            present: process.is_some() || calls,
            clock: clock.max(1),
            end: process.map_or(0, |p| p.end),
            next: ARENA.0.max(process.map_or(0, |p| p.end).saturating_add(2 * BREAK_ROOM)),
            console: Console { input, ..Console::default() },
            ..Self::default()
        }
    }
}

impl State {
    /// Returns whether the host serves a kind of `acrc`: if the program has no handler for it.
    pub(crate) fn serves(&self, kind: i64) -> bool {
        const EVBASE: i64 = 0xF01;
        let handler = self.system_register(1 << 12 | EVBASE).is_some_and(|base| base != 0);
        self.host.present && !handler && matches!(kind, SYSTEM_CALL | HOST_CALL)
    }

    pub(crate) fn serve(&mut self, kind: i64) {
        if kind == SYSTEM_CALL { self.system_call() } else { self.host_call() }
    }

    /// Takes a store to the console or to the exit register; returns whether it was one.
    pub(crate) fn store_to_device(&mut self, at: u64, value: u64) -> bool {
        if !self.host.present || !matches!(at, CONSOLE | EXIT) {
            return false;
        }
        if at == CONSOLE {
            self.host.console.print(&[value as u8]);
        } else {
            self.exit(i64::from(value as u32));
        }
        true
    }

    /// Ends the program.
    fn exit(&mut self, code: i64) {
        self.host.exit = Some(code);
        self.phase = Phase::Done(code as u64);
    }

    /// Time in nanoseconds.
    fn nanoseconds(&self) -> u64 {
        let time = u128::from(self.issues) * 1_000_000_000 / u128::from(self.host.clock);
        time as u64
    }

    /// Reads memory of the guest; `None` if some of it is not mapped, or if it is too long.
    fn bytes(&self, at: u64, length: u64) -> Option<Vec<u8>> {
        let length = usize::try_from(length.min(1 << 30)).ok().filter(|&l| l as u64 == length)?;
        self.memory.check(simt::memory::AccessKind::Load, Addr(at), length as u64, 1).ok()?;
        let mut out = vec![0; length];
        self.memory.read_bytes(Addr(at), &mut out).ok()?;
        Some(out)
    }

    fn write_guest(&mut self, at: u64, bytes: &[u8]) -> Option<()> {
        self.memory.write_bytes(Addr(at), bytes).ok()
    }

    fn word(&self, at: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.memory.read_bytes(Addr(at), &mut bytes).ok()?;
        Some(u64::from_le_bytes(bytes))
    }

    /// A string of the guest, up to its zero byte.
    fn string(&self, at: u64) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        for offset in 0..MOST_STRING {
            let mut byte = [0];
            self.memory.read_bytes(Addr(at.wrapping_add(offset)), &mut byte).ok()?;
            if byte[0] == 0 {
                return Some(out);
            }
            out.push(byte[0]);
        }
        None
    }

    /// Maps zeros; `None` if there is no room.
    fn map_anonymous(&mut self, bytes: u64) -> Option<u64> {
        let bytes = bytes.checked_next_multiple_of(PAGE).filter(|&b| b > 0)?;
        let at = self.host.next.next_multiple_of(PAGE);
        let end = at.checked_add(bytes).filter(|&end| end <= ARENA.1)?;
        let mapped = self.host.mapped.checked_add(bytes).filter(|&m| m <= MOST_ARENA)?;
        self.memory.map_at("anonymous", Addr(at), bytes, Permission::ReadWrite).ok()?;
        // A page stays free, so that an access beyond the end is one outside.
        self.host.next = end + PAGE;
        self.host.mapped = mapped;
        Some(at)
    }

    fn unmap(&mut self, at: u64) -> bool {
        let region = self.memory.region_at(Addr(at)).filter(|r| r.is_live());
        let length = region.filter(|r| &**r.name() == "anonymous").map(Region::len);
        let freed = length.is_some() && self.memory.free(Addr(at)).is_ok();
        if freed {
            self.host.mapped -= length.unwrap_or(0);
        }
        freed
    }

    /// Allocates from the heap; 0 if there is no room.
    fn allocate(&mut self, bytes: u64) -> u64 {
        let Some(bytes) = bytes.max(1).checked_next_multiple_of(16) else { return 0 };
        if let Some(at) = self.host.heap.free.get_mut(&bytes).and_then(Vec::pop) {
            self.host.heap.sizes.insert(at, bytes);
            return at;
        }
        if self.host.heap.end - self.host.heap.next < bytes {
            const CHUNK: u64 = 4 << 20;
            let Some(at) = self.map_anonymous(bytes.max(CHUNK)) else { return 0 };
            let length = bytes.max(CHUNK).next_multiple_of(PAGE);
            (self.host.heap.next, self.host.heap.end) = (at, at + length);
        }
        let at = self.host.heap.next;
        self.host.heap.next += bytes;
        self.host.heap.sizes.insert(at, bytes);
        at
    }

    fn release(&mut self, at: u64) {
        if let Some(bytes) = self.host.heap.sizes.remove(&at) {
            self.host.heap.free.entry(bytes).or_default().push(at);
        }
    }

    /// Moves the end of the program's data; returns the end.
    fn set_break(&mut self, wanted: u64) -> u64 {
        let first = self.host.end.next_multiple_of(PAGE);
        if self.host.broken == 0 {
            let room = self.memory.map_at("break", Addr(first), BREAK_ROOM, Permission::ReadWrite);
            if room.is_err() {
                return first;
            }
            self.host.broken = first;
        }
        if (first..=first + BREAK_ROOM).contains(&wanted) {
            self.host.broken = wanted;
        }
        self.host.broken
    }

    /// Prepares the stack of a compiled program: words of the command line, no environment, what
    /// start-up code wants to know.
    pub(crate) fn prepare_stack(&mut self, process: &Process, entry: u64, command: &[String]) {
        let mut top = STACK.0 + STACK.1;
        let mut words = Vec::new();
        // The stack has just been mapped, and command lines are cut to what fits into it.
        let mut push = |memory: &mut MemoryMap, bytes: &[u8]| {
            top = (top - bytes.len() as u64) & !15;
            let _ = memory.host_write(Addr(top), bytes);
            top
        };
        for word in command {
            let mut bytes = word.clone().into_bytes();
            bytes.truncate(1 << 16);
            bytes.push(0);
            words.push(push(&mut self.memory, &bytes));
        }
        let random = push(&mut self.memory, b"not random at all");
        let mut table = vec![words.len() as u64];
        table.extend(&words);
        table.extend([0, 0]);
        let headers = process.headers.unwrap_or_default();
        table.extend(auxiliary(headers, entry, random).into_iter().flatten());
        let bytes: Vec<u8> = table.iter().flat_map(|w| w.to_le_bytes()).collect();
        let at = push(&mut self.memory, &bytes);
        self.gpr[1] = at;
        // A program that starts at `main` gets its arguments in registers.
        if process.headers.is_none() {
            (self.gpr[2], self.gpr[3]) = (words.len() as u64, at + 8);
        }
    }
}

/// The auxiliary vector.
fn auxiliary(headers: ProgramHeaders, entry: u64, random: u64) -> Vec<[u64; 2]> {
    const PHDR: u64 = 3;
    const PHENT: u64 = 4;
    const PHNUM: u64 = 5;
    const PAGESZ: u64 = 6;
    const ENTRY: u64 = 9;
    const SECURE: u64 = 23;
    const RANDOM: u64 = 25;
    vec![
        [PHDR, headers.address],
        [PHENT, headers.entry_size],
        [PHNUM, headers.count],
        [PAGESZ, PAGE],
        [ENTRY, entry],
        [SECURE, 0],
        [RANDOM, random],
        [0, 0],
    ]
}
