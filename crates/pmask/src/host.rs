//! The world outside the hart: console, exit, HTIF, semihosting, and calls of programs that set no
//! trap handler.
//!
//! | way | exit | console |
//! |---|---|---|
//! | HTIF (`tohost`) | odd value: code = value >> 1; call 93 | device 1 command 1; call 64 |
//! | semihosting | SYS_EXIT, SYS_EXIT_EXTENDED | SYS_WRITEC, WRITE0, WRITE, READ, READC |
//! | `ecall` with `mtvec` = 0 | a7 = 93 or 94: code = a0; a7 = 0: code 0 | a7 = 64 write, 63 read |
//!
//! HTIF requests are stores to the symbol `tohost`; system calls (64 write, 93 exit) pass the
//! address of a block. A semihosting call is an `ebreak` between `slli x0, x0, 31` and `srai x0,
//! x0, 7`. No guest files exist but the console; time is the number of steps.

use simt::console::Console;
use simt::memory::{Addr, Width};

use crate::state::State;

/// Bytes copied from or to guest memory at a time.
const CHUNK: u64 = 4096;

/// Console and exit of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// The exit code, once the program has ended itself.
    pub exit: Option<i64>,
    /// Output and input.
    pub console: Console,
    /// Address of HTIF's `tohost`.
    pub tohost: Option<u64>,
    /// Address of HTIF's `fromhost`.
    pub fromhost: Option<u64>,
    /// Command line, for semihosting.
    pub arguments: String,
}

impl Host {
    /// Returns whether an access of `size` bytes meets `tohost`.
    #[inline]
    pub(crate) fn watches(&self, addr: u64, size: u64) -> bool {
        self.tohost.is_some_and(|at| addr < at.saturating_add(8) && at < addr.saturating_add(size))
    }
}

/// The result of a failed call of the host.
const FAILED: u64 = u64::MAX;

/// Prints guest memory; returns the number of bytes printed, or failure.
fn write(state: &mut State, addr: u64, len: u64) -> u64 {
    let mut done = 0;
    while done < len && !state.host.console.overflow {
        let mut buffer = [0; CHUNK as usize];
        let count = (len - done).min(CHUNK);
        let (part, _) = buffer.split_at_mut(count as usize);
        if state.memory.read_bytes(Addr(addr.wrapping_add(done)), part).is_err() {
            return if done == 0 { FAILED } else { done };
        }
        state.host.console.print(part);
        done += count;
    }
    done
}

/// Reads input into guest memory; returns the number of bytes read, or failure.
fn read(state: &mut State, addr: u64, len: u64) -> u64 {
    let start = state.host.console.read;
    let bytes = state.host.console.take_input(len);
    if state.write(addr, &bytes).is_err() {
        state.host.console.read = start;
        return FAILED;
    }
    bytes.len() as u64
}

fn word(state: &State, addr: u64, index: u64) -> Option<u64> {
    let mut bytes = [0; 8];
    let addr = addr.wrapping_add(8 * index);
    state.memory.read_bytes(Addr(addr), &mut bytes).ok()?;
    Some(u64::from_le_bytes(bytes))
}

/// Handles a store of `size` bytes that has changed `tohost`.
pub(crate) fn htif_store(state: &mut State, size: u64) {
    let Some(tohost) = state.host.tohost else { return };
    let Some(value) = word(state, tohost, 0) else { return };
    let (device, command, payload) = (value >> 56, value >> 48 & 0xff, value << 16 >> 16);
    match (device, command) {
        (0, 0) if payload & 1 == 1 => {
            state.host.exit = Some((payload >> 1) as i64);
            return;
        }
        // A store of half an address is not a request yet.
        _ if size < 8 => return,
        (0, 0) if payload != 0 => system_call_block(state, payload),
        (1, 1) => state.host.console.print(&[payload as u8]),
        _ => return,
    }
    answer(state, tohost, device, command);
}

/// Removes the request and acknowledges it.
fn answer(state: &mut State, tohost: u64, device: u64, command: u64) {
    // The words were just read: these stores only fail where the guest placed them across the end
    // of memory.
    let _ = state.write(tohost, &[0; 8]);
    if let Some(fromhost) = state.host.fromhost {
        let value = device << 56 | command << 48 | 1;
        let _ = state.write(fromhost, &value.to_le_bytes());
    }
}

/// The system calls of the front-end server: number and arguments in eight words, the result in the
/// first.
fn system_call_block(state: &mut State, block: u64) {
    let argument = |state: &State, i| word(state, block, i).unwrap_or(0);
    let number = argument(state, 0);
    let (a1, a2, a3) = (argument(state, 1), argument(state, 2), argument(state, 3));
    let result = match number {
        64 if matches!(a1, 1 | 2) => write(state, a2, a3),
        63 if a1 == 0 => read(state, a2, a3),
        93 => {
            state.host.exit = Some(a1 as i64);
            0
        }
        _ => FAILED,
    };
    // The block has just been read.
    let _ = state.write(block, &result.to_le_bytes());
}

/// Handles an `ecall` of a program without a trap handler; returns whether it was a call of the
/// host.
pub(crate) fn environment_call(state: &mut State) -> bool {
    let [a0, a1, a2, a7] = [10, 11, 12, 17].map(|i| state.x[i]);
    match a7 {
        0 => state.host.exit = Some(0),
        93 | 94 => state.host.exit = Some(a0 as i64),
        64 if matches!(a0, 1 | 2) => state.x[10] = write(state, a1, a2),
        63 if a0 == 0 => state.x[10] = read(state, a1, a2),
        _ => return false,
    }
    true
}

/// Returns whether the `ebreak` at `pc` is a semihosting call.
pub(crate) fn is_semihosting(state: &State, pc: u64) -> bool {
    let at = |addr: u64| {
        let mut bytes = [0; 4];
        state.memory.read_bytes(Addr(addr), &mut bytes).ok().map(|()| u32::from_le_bytes(bytes))
    };
    at(pc.wrapping_sub(4)) == Some(0x01f0_1013) && at(pc.wrapping_add(4)) == Some(0x4070_5013)
}

/// A semihosting call: operation in a0, parameter in a1, result in a0.
pub(crate) fn semihosting(state: &mut State) {
    const STOPPED_BY_APPLICATION: u64 = 0x20026;
    let (operation, parameter) = (state.x[10], state.x[11]);
    let argument = |state: &State, i| word(state, parameter, i).unwrap_or(0);
    let result = match operation {
        // SYS_OPEN: only `:tt`, the console; the handle depends on the mode.
        0x01 => open(state, parameter),
        // SYS_CLOSE, SYS_ISERROR, SYS_ERRNO
        0x02 | 0x13 => 0,
        0x08 => u64::from((argument(state, 0) as i64) < 0),
        // SYS_WRITEC, SYS_WRITE0
        0x03 => {
            write(state, parameter, 1);
            0
        }
        0x04 => {
            write_string(state, parameter);
            0
        }
        // SYS_WRITE and SYS_READ return the number of bytes that are left.
        0x05 => {
            let len = argument(state, 2);
            let done = write(state, argument(state, 1), len);
            if done == FAILED { len } else { len.saturating_sub(done) }
        }
        0x06 => {
            let len = argument(state, 2);
            let done = read(state, argument(state, 1), len);
            if done == FAILED { len } else { len.saturating_sub(done) }
        }
        // SYS_READC
        0x07 => state.host.console.take_input(1).first().map_or(FAILED, |&b| b.into()),
        // SYS_ISTTY, SYS_FLEN
        0x09 => 1,
        0x0c => 0,
        // SYS_CLOCK, SYS_TIME: centiseconds and seconds of a hart of 100 MHz
        0x10 => state.cycles / 1_000_000,
        0x11 => state.cycles / 100_000_000,
        // SYS_GET_CMDLINE
        0x15 => command_line(state, parameter),
        // SYS_HEAPINFO: unknown
        0x16 => heap_info(state, parameter),
        // SYS_EXIT: on 64 bits a block, as SYS_EXIT_EXTENDED
        0x18 | 0x20 => {
            let (reason, code) = (argument(state, 0), argument(state, 1));
            let failed = reason != STOPPED_BY_APPLICATION;
            state.host.exit = Some(if failed { 1 } else { code as i64 });
            0
        }
        // SYS_ELAPSED, SYS_TICKFREQ
        0x30 => {
            let cycles = state.cycles.to_le_bytes();
            if state.write(parameter, &cycles).is_ok() { 0 } else { FAILED }
        }
        0x31 => 100_000_000,
        _ => FAILED,
    };
    state.x[10] = result;
}

/// `:tt` in mode r, w or a is standard input, output or error.
fn open(state: &State, block: u64) -> u64 {
    let argument = |i| word(state, block, i).unwrap_or(0);
    let (name, mode) = (argument(0), argument(1));
    let mut bytes = [0; 4];
    let console = state.memory.read_bytes(Addr(name), &mut bytes).is_ok() && bytes == *b":tt\0";
    match mode {
        _ if !console => FAILED,
        0..4 => 1,
        4..8 => 2,
        _ => 3,
    }
}

/// Prints up to a zero byte.
fn write_string(state: &mut State, mut addr: u64) {
    while let Ok(byte) = state.memory.load(Addr(addr), Width::B1) {
        if byte == 0 || state.host.console.overflow {
            return;
        }
        state.host.console.print(&[byte as u8]);
        addr = addr.wrapping_add(1);
    }
}

fn command_line(state: &mut State, block: u64) -> u64 {
    let (Some(buffer), Some(size)) = (word(state, block, 0), word(state, block, 1)) else {
        return FAILED;
    };
    let mut text = state.host.arguments.clone().into_bytes();
    text.push(0);
    let length = text.len() as u64 - 1;
    if text.len() as u64 > size
        || state.write(buffer, &text).is_err()
        || state.write(block.wrapping_add(8), &length.to_le_bytes()).is_err()
    {
        return FAILED;
    }
    0
}

/// Returns four zeros: the program's own linker script knows the heap.
fn heap_info(state: &mut State, block: u64) -> u64 {
    match word(state, block, 0) {
        Some(to) if state.write(to, &[0; 32]).is_ok() => 0,
        _ => FAILED,
    }
}
