//! The hart that GDB debugs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use debug::{AccessWatch, Direction, EndKind, Memory, Reason, Session, Step, WatchedType, What};
use gdbstub::common::Signal;
use gdbstub::stub::SingleThreadStopReason;
use gdbstub::target::ext::base::BaseOps;
use gdbstub::target::ext::base::reverse_exec::{
    ReplayLogPosition, ReverseCont, ReverseContOps, ReverseStep, ReverseStepOps,
};
use gdbstub::target::ext::base::single_register_access::{
    SingleRegisterAccess, SingleRegisterAccessOps,
};
use gdbstub::target::ext::base::singlethread::{
    SingleThreadBase, SingleThreadResume, SingleThreadResumeOps, SingleThreadSingleStep,
    SingleThreadSingleStepOps,
};
use gdbstub::target::ext::breakpoints::{
    Breakpoints, BreakpointsOps, HwWatchpoint, HwWatchpointOps, SwBreakpoint, SwBreakpointOps,
    WatchKind,
};
use gdbstub::target::ext::monitor_cmd::{ConsoleOutput, MonitorCmd, MonitorCmdOps, outputln};
use gdbstub::target::{Target, TargetError, TargetResult};
use simt::Pc;
use simt::memory::Space;

use crate::registers::{COUNT, HartArch, HartRegister, HartRegisters, INTEGERS, name};

/// What the client asked for last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Step(Direction),
    Run(Direction),
}

/// A point that the client has set, with its number in the session.
struct Point {
    number: u32,
    address: u64,
    /// Length and kind of a watchpoint.
    watch: Option<(u64, WatchKind)>,
}

/// A launch as a hart.
pub(crate) struct Hart<'s> {
    session: Session<'s>,
    wanted: Wanted,
    points: Vec<Point>,
    /// Indices of the registers in the session, in GDB's order.
    indices: Vec<u32>,
}

impl<'s> Hart<'s> {
    /// Takes a session; `None` if its machine does not have the registers.
    pub(crate) fn new(session: Session<'s>) -> Option<Self> {
        let registers = session.registers();
        let index = |register: usize| {
            let name = name(register);
            registers.iter().find(|r| *r.name == name).map(|r| r.index)
        };
        let indices: Option<Vec<u32>> = (0..COUNT).map(index).collect();
        let wanted = Wanted::Run(Direction::Forward);
        Some(Self { session, wanted, points: Vec::new(), indices: indices? })
    }

    pub(crate) fn interrupt(&self) -> Arc<AtomicBool> {
        self.session.debugger().interrupt()
    }

    /// Does what the client wants; none if it was interrupted.
    pub(crate) fn run(&mut self) -> Result<Option<SingleThreadStopReason<u64>>, &'static str> {
        let moved = match self.wanted {
            Wanted::Step(direction) => self.session.step(Step::Issue, direction),
            Wanted::Run(direction) => self.session.resume(direction),
        };
        let report = moved.map_err(|_| "the state cannot be restored")?;
        let (Wanted::Step(direction) | Wanted::Run(direction)) = self.wanted;
        Ok(Some(match report.reason {
            Reason::Interrupted => return Ok(None),
            Reason::Step | Reason::Position | Reason::Gone => SingleThreadStopReason::DoneStep,
            Reason::Start => {
                let pos = ReplayLogPosition::Begin;
                SingleThreadStopReason::ReplayLog { tid: None, pos }
            }
            Reason::Breakpoint { .. } => SingleThreadStopReason::SwBreak(()),
            Reason::Told { number, .. } => {
                let point = self.points.iter().find(|point| point.number == number);
                match point.and_then(|point| Some((point.address, point.watch?.1))) {
                    Some((addr, kind)) => SingleThreadStopReason::Watch { tid: (), kind, addr },
                    None => SingleThreadStopReason::DoneStep,
                }
            }
            Reason::End(_) if direction == Direction::Backward => SingleThreadStopReason::DoneStep,
            Reason::End(EndKind::Done) => SingleThreadStopReason::Exited(self.exit_code()),
            Reason::End(EndKind::Fault) => SingleThreadStopReason::Signal(Signal::SIGSEGV),
            Reason::End(EndKind::Hang) => SingleThreadStopReason::Signal(Signal::SIGSTOP),
        }))
    }

    /// The code that a program has given to the host.
    fn exit_code(&self) -> u8 {
        self.session.look().exit_code().unwrap_or(0) as u8
    }

    fn remove(&mut self, wanted: impl Fn(&Point) -> bool) -> bool {
        let Some(index) = self.points.iter().position(wanted) else { return false };
        let point = self.points.remove(index);
        self.session.delete_point(point.number).is_ok()
    }

    fn read(&self, index: usize) -> Option<u64> {
        let at = self.session.focus();
        let index = *self.indices.get(index)?;
        self.session.look().register(at, index).ok().map(|value| value as u64)
    }

    fn write(&mut self, index: usize, value: u64) -> TargetResult<(), Self> {
        let at = self.session.focus();
        let register = *self.indices.get(index).ok_or(TargetError::NonFatal)?;
        let text = format!("set {} = {value:#x}", name(index));
        let set = self.session.target().set_register(at, register, value.into(), &text);
        set.map_err(|_| TargetError::NonFatal)
    }
}

impl Target for Hart<'_> {
    type Arch = HartArch;
    type Error = &'static str;

    fn base_ops(&mut self) -> BaseOps<'_, HartArch, &'static str> {
        BaseOps::SingleThread(self)
    }

    fn support_breakpoints(&mut self) -> Option<BreakpointsOps<'_, Self>> {
        Some(self)
    }

    fn support_monitor_cmd(&mut self) -> Option<MonitorCmdOps<'_, Self>> {
        Some(self)
    }

    fn guard_rail_implicit_sw_breakpoints(&self) -> bool {
        true
    }
}

impl SingleThreadBase for Hart<'_> {
    fn read_registers(&mut self, registers: &mut HartRegisters) -> TargetResult<(), Self> {
        for (index, value) in registers.0.iter_mut().enumerate() {
            *value = self.read(index).unwrap_or(0);
        }
        Ok(())
    }

    fn write_registers(&mut self, registers: &HartRegisters) -> TargetResult<(), Self> {
        for (index, value) in registers.0.into_iter().enumerate() {
            if index != 0 && self.read(index) != Some(value) {
                self.write(index, value)?;
            }
        }
        Ok(())
    }

    fn support_single_register_access(&mut self) -> Option<SingleRegisterAccessOps<'_, (), Self>> {
        Some(self)
    }

    fn read_addrs(&mut self, address: u64, data: &mut [u8]) -> TargetResult<usize, Self> {
        let memory = Memory { space: Space::Global, at: self.session.focus() };
        let look = self.session.look();
        if look.read(memory, address, data).is_ok() {
            return Ok(data.len());
        }
        // As far as it goes.
        let count = data.len();
        for (index, byte) in data.iter_mut().enumerate() {
            let at = address.wrapping_add(index as u64);
            if look.read(memory, at, std::slice::from_mut(byte)).is_err() {
                return if index == 0 { Err(TargetError::NonFatal) } else { Ok(index) };
            }
        }
        Ok(count)
    }

    fn write_addrs(&mut self, address: u64, data: &[u8]) -> TargetResult<(), Self> {
        let memory = Memory { space: Space::Global, at: self.session.focus() };
        let what = format!("{} bytes at {address:#x}", data.len());
        let written = self.session.target().write(memory, address, data, &what);
        written.map_err(|_| TargetError::NonFatal)
    }

    fn support_resume(&mut self) -> Option<SingleThreadResumeOps<'_, Self>> {
        Some(self)
    }
}

impl SingleRegisterAccess<()> for Hart<'_> {
    fn read_register(
        &mut self,
        (): (),
        register: HartRegister,
        buffer: &mut [u8],
    ) -> TargetResult<usize, Self> {
        let value = self.read(register.0).ok_or(TargetError::NonFatal)?.to_le_bytes();
        let to = buffer.get_mut(..value.len()).ok_or(TargetError::NonFatal)?;
        to.copy_from_slice(&value);
        Ok(value.len())
    }

    fn write_register(
        &mut self,
        (): (),
        register: HartRegister,
        value: &[u8],
    ) -> TargetResult<(), Self> {
        let mut bytes = [0; 8];
        let length = value.len().min(8);
        bytes[..length].copy_from_slice(&value[..length]);
        // Writes to x0 are lost.
        if INTEGERS.get(register.0) == Some(&"zero") {
            return Ok(());
        }
        self.write(register.0, u64::from_le_bytes(bytes))
    }
}

impl SingleThreadResume for Hart<'_> {
    fn resume(&mut self, _: Option<Signal>) -> Result<(), &'static str> {
        self.wanted = Wanted::Run(Direction::Forward);
        Ok(())
    }

    fn support_single_step(&mut self) -> Option<SingleThreadSingleStepOps<'_, Self>> {
        Some(self)
    }

    fn support_reverse_step(&mut self) -> Option<ReverseStepOps<'_, (), Self>> {
        Some(self)
    }

    fn support_reverse_cont(&mut self) -> Option<ReverseContOps<'_, (), Self>> {
        Some(self)
    }
}

impl SingleThreadSingleStep for Hart<'_> {
    fn step(&mut self, _: Option<Signal>) -> Result<(), &'static str> {
        self.wanted = Wanted::Step(Direction::Forward);
        Ok(())
    }
}

impl ReverseStep<()> for Hart<'_> {
    fn reverse_step(&mut self, (): ()) -> Result<(), &'static str> {
        self.wanted = Wanted::Step(Direction::Backward);
        Ok(())
    }
}

impl ReverseCont<()> for Hart<'_> {
    fn reverse_cont(&mut self) -> Result<(), &'static str> {
        self.wanted = Wanted::Run(Direction::Backward);
        Ok(())
    }
}

impl Breakpoints for Hart<'_> {
    fn support_sw_breakpoint(&mut self) -> Option<SwBreakpointOps<'_, Self>> {
        Some(self)
    }

    fn support_hw_watchpoint(&mut self) -> Option<HwWatchpointOps<'_, Self>> {
        Some(self)
    }
}

impl SwBreakpoint for Hart<'_> {
    fn add_sw_breakpoint(&mut self, address: u64, _: usize) -> TargetResult<bool, Self> {
        let what = What::Place { places: vec![Pc(address)] };
        let number = self.session.add_point(what, &format!("*{address:#x}"), None, false);
        self.points.push(Point { number, address, watch: None });
        Ok(true)
    }

    fn remove_sw_breakpoint(&mut self, address: u64, _: usize) -> TargetResult<bool, Self> {
        Ok(self.remove(|point| point.address == address && point.watch.is_none()))
    }
}

impl HwWatchpoint for Hart<'_> {
    fn add_hw_watchpoint(
        &mut self,
        address: u64,
        length: u64,
        kind: WatchKind,
    ) -> TargetResult<bool, Self> {
        let Some(end) = address.checked_add(length) else { return Ok(false) };
        if length == 0 || length > 1 << 20 {
            return Ok(false);
        }
        let at = self.session.focus();
        let (reads, writes) = match kind {
            WatchKind::Write => (false, true),
            WatchKind::Read => (true, false),
            WatchKind::ReadWrite => (true, true),
        };
        let (space, range) = (Space::Global, address..end);
        let watch = AccessWatch { space, range, cta: None, reads, writes, at: Some(at) };
        let mut bytes = vec![0; length as usize];
        let memory = Memory { space: Space::Global, at };
        if self.session.look().read(memory, address, &mut bytes).is_err() {
            return Ok(false);
        }
        let what = What::Memory {
            watch,
            ty: WatchedType::Unsigned(64),
            // GDB itself compares values.
            change: false,
        };
        let number = self.session.add_point(what, &format!("[{address:#x}]"), None, false);
        self.points.push(Point { number, address, watch: Some((length, kind)) });
        Ok(true)
    }

    fn remove_hw_watchpoint(
        &mut self,
        address: u64,
        length: u64,
        kind: WatchKind,
    ) -> TargetResult<bool, Self> {
        let wanted = Some((length, kind));
        Ok(self.remove(|point| point.address == address && point.watch == wanted))
    }
}

impl MonitorCmd for Hart<'_> {
    /// Commands of the debugger itself: `monitor who a0`.
    fn handle_monitor_cmd(
        &mut self,
        command: &[u8],
        mut out: ConsoleOutput<'_>,
    ) -> Result<(), &'static str> {
        let command = String::from_utf8_lossy(command);
        let reply = self.session.command(&command);
        for line in reply.text.lines() {
            outputln!(out, "{line}");
        }
        self.interrupt().store(false, Ordering::Relaxed);
        Ok(())
    }
}
