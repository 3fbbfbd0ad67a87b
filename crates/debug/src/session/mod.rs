//! A session: what users work with.

pub(crate) mod breakpoint;
pub(crate) mod motion;
pub(crate) mod writers;

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use simt::Pc;
use simt::inspect::{FramePlace, GroupView, Register, RegisterKind, RegisterOwner};
use simt::memory::Space;
use simt::observe::GroupId;

use crate::code::Code;
use crate::expr::{Expr, Names, Type, Value};
use crate::recording::{Change, LaunchRecord};
use crate::target::{Look, Memory, Target};
use crate::variables;
use breakpoint::Breakpoint;

/// Whose instructions steps count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Follow {
    /// Those that the lane in focus takes part in.
    Lane,
    /// Those of the warp in focus.
    #[default]
    Warp,
    /// All of the launch.
    Launch,
}

/// What outlives a launch: breakpoints and settings.
#[derive(Debug, Default)]
pub struct Debugger {
    pub(crate) points: Vec<Breakpoint>,
    pub(crate) numbers: u32,
    /// Whose instructions steps count.
    pub follow: Follow,
    /// Bytes that snapshots may take, if not the default.
    pub budget: Option<usize>,
    /// Launches that sessions have left ([`Session::keep_record`]).
    pub records: Vec<LaunchRecord>,
    /// Launches of a recording that is opened ([`Session::reopen`]).
    pub reopened: VecDeque<LaunchRecord>,
    /// Whether the next launch is one that begins again: it is shown at its start.
    pub(crate) again: bool,
    interrupt: Arc<AtomicBool>,
}

impl Debugger {
    /// Returns the flag that interrupts what runs.
    #[must_use]
    pub fn interrupt(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.interrupt)
    }

    /// Returns the breakpoints, watches and catches.
    #[must_use]
    pub fn points(&self) -> &[Breakpoint] {
        &self.points
    }
}

/// A launch in the debugger.
pub struct Session<'s> {
    pub(crate) debugger: &'s mut Debugger,
    pub(crate) target: &'s mut dyn Target,
    pub(crate) focus: FramePlace,
    /// The report of the last stop.
    pub(crate) last: Option<motion::StopReport>,
    /// The line at which the next listing begins.
    pub(crate) listed: Option<u32>,
    /// What the user has changed.
    pub(crate) changes: Vec<Change>,
}

impl<'s> Session<'s> {
    /// Begins a session with a launch at its present position.
    #[must_use]
    pub fn new(debugger: &'s mut Debugger, target: &'s mut dyn Target) -> Self {
        target.set_interrupt(debugger.interrupt());
        if let Some(budget) = debugger.budget {
            target.set_budget(budget);
        }
        let (focus, changes) = (FramePlace::default(), Vec::new());
        let mut this = Self { debugger, target, focus, last: None, listed: None, changes };
        this.resolve_points();
        this.refocus();
        this
    }

    /// Returns the state at the present position.
    #[must_use]
    pub fn look(&self) -> &dyn Look {
        self.target.look()
    }

    /// Returns the launch.
    pub fn target(&mut self) -> &mut dyn Target {
        self.target
    }

    /// Returns breakpoints and settings.
    #[must_use]
    pub fn debugger(&self) -> &Debugger {
        self.debugger
    }

    /// Returns the lane and frame in focus.
    #[must_use]
    pub fn focus(&self) -> FramePlace {
        self.focus
    }

    /// Returns the report of the last stop.
    #[must_use]
    pub fn last_stop(&self) -> Option<&motion::StopReport> {
        self.last.as_ref()
    }

    /// Puts the focus on a lane and frame.
    ///
    /// # Errors
    /// If there is no such lane now.
    pub fn set_focus(&mut self, at: FramePlace) -> Result<(), String> {
        let group = self.look().group(at.group).ok_or_else(|| {
            format!("block {}, warp {} is not resident now", at.group.cta, at.group.group)
        })?;
        if !group.launched.contains(at.lane as usize) {
            return Err(format!("the warp has no lane {}", at.lane));
        }
        let at = FramePlace { group: group.id, ..at };
        let frames = self.look().frames(FramePlace { frame: 0, ..at }).len();
        if at.frame as usize >= frames.max(1) {
            return Err(format!("the lane has {frames} frames"));
        }
        self.focus = at;
        Ok(())
    }

    /// Clears the flag that interrupts. A motion that was interrupted has cleared it.
    pub fn rearm(&self) {
        self.debugger.interrupt.store(false, Ordering::Relaxed);
    }

    /// After a stop: keeps the focus on its lane, if that still takes part in what comes next or
    /// the warp waits; else moves it to a lane that does.
    pub(crate) fn refocus(&mut self) {
        self.focus.frame = 0;
        let look = self.target.look();
        if let Some(group) = look.group(self.focus.group) {
            let lane = self.focus.lane as usize;
            let alive = group.launched - group.exited;
            let next = group.next.map(|path| path.lanes).filter(simt::LaneMask::any);
            let better = next.filter(|lanes| !lanes.contains(lane));
            match better.and_then(|lanes| lanes.lowest()) {
                Some(lane) if self.debugger.follow != Follow::Lane => {
                    self.focus = FramePlace { lane: lane as u32, group: group.id, frame: 0 };
                    return;
                }
                _ if alive.contains(lane) => {
                    self.focus.group = group.id;
                    return;
                }
                _ => {}
            }
        }
        if let Some(next) = look.upcoming() {
            let lane = next.lanes.lowest().unwrap_or(0) as u32;
            self.focus = FramePlace { group: next.group, lane, frame: 0 };
        } else if let Some((group, _, lanes)) = look.end().and_then(|end| end.place) {
            let lane = lanes.lowest().unwrap_or(0) as u32;
            self.focus = FramePlace { group, lane, frame: 0 };
        }
    }

    /// The place of the frame in focus.
    #[must_use]
    pub fn place(&self) -> Option<Pc> {
        let frames = self.look().frames(FramePlace { frame: 0, ..self.focus });
        frames.get(self.focus.frame as usize).copied()
    }

    /// Registers of the frame in focus.
    #[must_use]
    pub fn registers(&self) -> Vec<Register> {
        self.place()
            .map(|pc| self.look().registers(called_from(self.look().code(), self.focus, pc)))
            .unwrap_or_default()
    }

    /// The registers that instructions of the present line read or write, each once.
    #[must_use]
    pub fn line_registers(&self) -> Vec<u32> {
        let look = self.look();
        let Some(pc) = self.place().map(|pc| called_from(look.code(), self.focus, pc)) else {
            return Vec::new();
        };
        let (code, line) = (look.code(), look.code().line(pc));
        let function = code.function(pc).map(|function| function.entry);
        let same = |pc: Pc| line.is_some() && code.line(pc) == line;
        let own = |pc: Pc| code.function(pc).map(|function| function.entry) == function;
        let places = code.instructions().iter().map(|instruction| instruction.pc);
        let effects = places.filter(|&p| p == pc || same(p) && own(p));
        let mut out: Vec<u32> = effects
            .filter_map(|pc| look.effects(pc, self.focus.lane))
            .flat_map(|effects| [effects.reads, effects.writes].concat())
            .collect();
        out.sort_unstable();
        out.dedup();
        out
    }

    /// Parses and evaluates an expression for the lane in focus.
    ///
    /// # Errors
    /// If it cannot be parsed or evaluated.
    pub fn evaluate(&self, text: &str) -> Evaluated {
        let expr = Expr::parse(text).map_err(|error| error.to_string())?;
        expr.typed(&LookNames::new(self.look()), self.focus)
    }

    /// Parses an expression and evaluates it for all living lanes of the warp in focus.
    ///
    /// # Errors
    /// If it cannot be parsed, or the warp is not resident. An error of one lane is its value.
    pub fn across(&self, text: &str) -> Result<Vec<(u32, Evaluated)>, String> {
        let expr = Expr::parse(text).map_err(|error| error.to_string())?;
        let look = self.look();
        let group = look.group(self.focus.group).ok_or("the warp in focus is not resident")?;
        let names = LookNames::new(look);
        let lanes = (group.launched - group.exited).iter();
        let value = |lane: usize| {
            let at = FramePlace { lane: lane as u32, ..self.focus };
            (at.lane, expr.typed(&names, at))
        };
        Ok(lanes.map(value).collect())
    }
}

/// A value with its type, or why there is none.
pub type Evaluated = Result<(Value, Option<Type>), String>;

/// The place of the call whose frame this is: calls return behind themselves.
pub(crate) fn called_from(code: &Code, at: FramePlace, pc: Pc) -> Pc {
    if at.frame > 0 { code.before(pc) } else { pc }
}

/// Names of registers, parameters, variables and lane numbers.
pub(crate) struct LookNames<'l> {
    look: &'l dyn Look,
    /// The registers of the last place, for lanes of one warp mostly stand at one.
    last: RefCell<Option<(Pc, Rc<[Register]>)>>,
}

impl<'l> LookNames<'l> {
    pub(crate) fn new(look: &'l dyn Look) -> Self {
        Self { look, last: RefCell::default() }
    }

    fn registers(&self, pc: Pc) -> Rc<[Register]> {
        let mut last = self.last.borrow_mut();
        match &*last {
            Some((place, registers)) if *place == pc => Rc::clone(registers),
            _ => {
                let registers: Rc<[Register]> = self.look.registers(pc).into();
                *last = Some((pc, Rc::clone(&registers)));
                registers
            }
        }
    }

    /// The register of a name in a frame; the sigil may be left away where nothing else has the
    /// name.
    pub(crate) fn register(&self, name: &str, at: FramePlace) -> Option<Register> {
        if let Some(exact) = self.exact_register(name, at) {
            return Some(exact);
        }
        let other = self.address(name).is_some() || self.parameter(name).is_some();
        if other || variables::number(self.look, name, at).is_some() {
            return None;
        }
        let registers = self.registers_at(at)?;
        let plain = |r: &Register| r.name.strip_prefix('%').is_some_and(|plain| plain == name);
        registers.iter().find(|register| plain(register)).cloned()
    }

    /// The registers of a frame.
    fn registers_at(&self, at: FramePlace) -> Option<Rc<[Register]>> {
        let frames = self.look.frames(FramePlace { frame: 0, ..at });
        let pc = frames.get(at.frame as usize)?;
        Some(self.registers(called_from(self.look.code(), at, *pc)))
    }

    /// The register of exactly this name in a frame.
    pub(crate) fn exact_register(&self, name: &str, at: FramePlace) -> Option<Register> {
        self.registers_at(at)?.iter().find(|register| &*register.name == name).cloned()
    }

    fn parameter(&self, name: &str) -> Option<&crate::code::Parameter> {
        self.look.code().parameters.iter().find(|p| p.name == name)
    }

    /// The address of a variable, a function or an allocation.
    fn address(&self, name: &str) -> Option<u64> {
        let variables = self.look.variables();
        if let Some(variable) = variables.iter().find(|v| &*v.name == name) {
            return Some(variable.address);
        }
        let mut functions = self.look.code().functions().iter();
        if let Some(function) = functions.find(|f| f.name == name) {
            return Some(function.entry.0);
        }
        let allocations = self.look.allocations();
        allocations.iter().find(|(known, ..)| &**known == name).map(|(_, address, _)| *address)
    }

    fn group(&self, at: FramePlace) -> Result<GroupView<16>, String> {
        self.look.group(at.group).ok_or_else(|| "the warp is not resident now".to_owned())
    }

    /// Numbers of lanes, threads and blocks.
    fn number(&self, name: &str, at: FramePlace) -> Option<Result<u64, String>> {
        let (grid, block) = self.look.extents();
        let unrank = |index: u64, extents: [u64; 3]| {
            let [x, y, _] = extents.map(|extent| extent.max(1));
            [index % x, index / x % y, index / x / y]
        };
        let thread = u64::from(at.group.first_thread) + u64::from(at.lane);
        let axis = |values: [u64; 3], axis: &str| match axis {
            "x" => Some(values[0]),
            "y" => Some(values[1]),
            "z" => Some(values[2]),
            _ => None,
        };
        if let Some((base, dimension)) = name.split_once('.') {
            let values = match base {
                "thread" => unrank(thread, block),
                "block" => unrank(at.group.cta, grid),
                _ => return None,
            };
            return axis(values, dimension).map(Ok);
        }
        Some(Ok(match name {
            "lane" => at.lane.into(),
            "warp" => at.group.group.into(),
            "block" => at.group.cta,
            "thread" => thread,
            "issue" => self.look.position(),
            "active" => {
                let group = match self.group(at) {
                    Ok(group) => group,
                    Err(error) => return Some(Err(error)),
                };
                group.next.map_or(0, |path| path.lanes.words()[0])
            }
            _ => return None,
        }))
    }
}

impl Names for LookNames<'_> {
    fn name(&self, name: &str, at: FramePlace) -> Result<(u128, Type), String> {
        if let Some(register) = self.register(name, at) {
            let value = self.look.register(at, register.index).map_err(|e| e.to_string())?;
            let bits = match register.kind {
                RegisterKind::Predicate if register.owner == RegisterOwner::Lane => 1,
                RegisterKind::Mask => 64,
                _ => register.bits,
            };
            return Ok((value, Type::Unsigned(bits.next_power_of_two().clamp(1, 128))));
        }
        if let Some(found) = variables::number(self.look, name, at) {
            return found;
        }
        if let Some(number) = self.number(name, at) {
            return Ok((number?.into(), Type::Unsigned(64)));
        }
        if let Some(parameter) = self.parameter(name) {
            let mut bytes = [0; 16];
            let length = parameter.bytes.min(16) as usize;
            let memory = Memory { space: Space::Param, at };
            let read = self.look.read(memory, parameter.offset, &mut bytes[..length]);
            read.map_err(|error| error.to_string())?;
            let bits = (8 * length as u32).next_power_of_two();
            return Ok((u128::from_le_bytes(bytes), Type::Unsigned(bits.max(8))));
        }
        if let Some(address) = self.address(name) {
            return Ok((address.into(), Type::Unsigned(64)));
        }
        let frames = self.look.frames(FramePlace { frame: 0, ..at });
        let pc = frames.get(at.frame as usize).copied();
        let Some(pc) = pc else {
            let lane = at.lane;
            return Err(format!("there is no `{name}`: the thread of lane {lane} is not resident"));
        };
        let registers = self.look.registers(pc);
        let names = registers.iter().map(|r| &*r.name);
        let others = self.look.code().parameters.iter().map(|p| p.name.as_str());
        let near = isa::suggest::nearest(name, names.chain(others));
        let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        Err(format!("there is no `{name}` here{near}"))
    }

    fn load(&self, space: Space, address: u64, ty: Type, at: FramePlace) -> Result<u128, String> {
        let mut bytes = [0; 16];
        let read = self.look.read(Memory { space, at }, address, &mut bytes[..ty.bytes()]);
        read.map_err(|error| error.to_string())?;
        Ok(u128::from_le_bytes(bytes))
    }
}

/// The groups of the resident CTAs, by CTA.
pub(crate) fn ctas(look: &dyn Look) -> BTreeMap<u64, Vec<GroupView<16>>> {
    let mut out: BTreeMap<u64, Vec<GroupView<16>>> = BTreeMap::new();
    for group in look.groups() {
        out.entry(group.id.cta).or_default().push(group);
    }
    out
}

/// The lane as which a register is read: those that lanes share have all of them, so the first.
pub(crate) fn home(look: &dyn Look, at: FramePlace, owner: RegisterOwner) -> FramePlace {
    let first = look.group(at.group).and_then(|group| group.launched.lowest());
    match owner {
        RegisterOwner::Lane => at,
        RegisterOwner::Group | RegisterOwner::Machine => {
            FramePlace { lane: first.map_or(at.lane, |lane| lane as u32), ..at }
        }
    }
}

/// Whether two identities are of the same group.
pub(crate) fn same(a: GroupId, b: GroupId) -> bool {
    (a.cta, a.group) == (b.cta, b.group)
}
