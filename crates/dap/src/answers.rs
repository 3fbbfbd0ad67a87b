//! Answers about the state.

use std::path::PathBuf;

use debug::{Look, Memory, Session};
use serde_json::{Value, json};
use simt::inspect::{FramePlace, RegisterOwner};
use simt::memory::Space;
use simt::observe::GroupId;

use crate::{Adapter, base64};

/// Lanes of a group in identities of threads.
const LANES: u64 = 1024;
/// Groups of a block in identities of threads.
const GROUPS: u64 = 1024;
/// Most threads that are listed.
const MOST_THREADS: usize = 4096;
/// Most instructions of one answer.
const MOST_INSTRUCTIONS: u64 = 1 << 16;
/// Most bytes of one read.
const MOST_BYTES: u64 = 1 << 20;

/// What a reference to variables stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reference {
    /// Registers of a frame: of the lane, or of its warp.
    Registers(FramePlace, RegisterOwner),
    /// Variables of the source.
    Variables(FramePlace),
    /// The kernel's parameters.
    Parameters(FramePlace),
    /// What the lanes of a warp do.
    Lanes(GroupId),
    /// The state of a warp's mechanism.
    Mechanism(GroupId),
    /// A register in all lanes.
    Across(FramePlace, u32),
}

/// What the adapter can do.
pub(crate) fn capabilities() -> Value {
    let filter = |(filter, label): (&str, &str)| json!({"filter": filter, "label": label});
    let filters: Vec<Value> = FILTERS.iter().copied().map(filter).collect();
    json!({
        "supportsConfigurationDoneRequest": true,
        "supportsFunctionBreakpoints": true,
        "supportsConditionalBreakpoints": true,
        "supportsHitConditionalBreakpoints": true,
        "supportsEvaluateForHovers": true,
        "supportsStepBack": true,
        "supportsSteppingGranularity": true,
        "supportsSetVariable": true,
        "supportsDataBreakpoints": true,
        "supportsDisassembleRequest": true,
        "supportsInstructionBreakpoints": true,
        "supportsReadMemoryRequest": true,
        "supportsWriteMemoryRequest": true,
        "supportsTerminateRequest": true,
        "supportsExceptionInfoRequest": true,
        "exceptionBreakpointFilters": filters,
    })
}

/// Events that can be caught.
pub(crate) const FILTERS: [(&str, &str); 6] = [
    ("split", "Lanes part"),
    ("merge", "Lanes meet"),
    ("arrive", "Lanes arrive at a barrier"),
    ("release", "A barrier releases lanes"),
    ("block", "A block begins"),
    ("race", "Accesses race"),
];

/// The identity of a lane's thread.
pub(crate) fn thread_id(at: FramePlace) -> u64 {
    let group = at.group.cta.wrapping_mul(GROUPS).wrapping_add(at.group.group.into());
    group.wrapping_mul(LANES).wrapping_add(at.lane.into()).wrapping_add(1)
}

/// The lane of an identity.
pub(crate) fn lane_of(look: &dyn Look, id: u64) -> Option<FramePlace> {
    let id = id.checked_sub(1)?;
    let (lane, group) = ((id % LANES) as u32, id / LANES);
    let (group, cta) = ((group % GROUPS) as u32, group / GROUPS);
    let group = look.group(GroupId { cta, group, first_thread: 0 })?;
    let there = group.launched.contains(lane as usize);
    there.then_some(FramePlace { group: group.id, lane, frame: 0 })
}

/// The lanes that live.
pub(crate) fn threads(session: &Session<'_>) -> Value {
    let mut out = Vec::new();
    let [width, height, _] = session.look().extents().1.map(|extent| extent.max(1));
    for group in session.look().groups() {
        for lane in group.launched - group.exited {
            let at = FramePlace { group: group.id, lane: lane as u32, frame: 0 };
            let thread = u64::from(group.id.first_thread) + lane as u64;
            let (x, y, z) = (thread % width, thread / width % height, thread / width / height);
            let (block, warp) = (group.id.cta, group.id.group);
            let name = format!("block {block} thread ({x},{y},{z}), warp {warp} lane {lane}");
            out.push(json!({"id": thread_id(at), "name": name}));
            if out.len() == MOST_THREADS {
                return json!({"threads": out});
            }
        }
    }
    json!({"threads": out})
}

impl Adapter {
    fn reference(&mut self, reference: Reference) -> usize {
        self.references.push(reference);
        self.references.len()
    }

    /// The frames of a lane, with inlined functions in names alone.
    pub(crate) fn stack(&mut self, session: &Session<'_>, arguments: &Value) -> Option<Value> {
        let look = session.look();
        let at = lane_of(look, arguments.get("threadId")?.as_u64()?)?;
        let frames = look.frames(at);
        let mut out = Vec::new();
        for (frame, &pc) in (0u32..).zip(&frames) {
            // Calls return behind themselves.
            let pc = simt::Pc(pc.0.saturating_sub(u64::from(frame > 0)));
            let code = look.code();
            let name = code.function(pc).map_or("code", |function| function.name.as_str());
            let id = self.frame_id(FramePlace { frame, ..at });
            let mut shown = json!({"id": id, "name": name, "line": 0, "column": 0});
            let place = code.at(pc);
            let source = place.and_then(|i| i.source.as_ref());
            let source = source.filter(|_| !self.launch.program_lines);
            if let Some((path, line)) = source.and_then(|s| Some((self.file(&s.file)?, s.line))) {
                let name = path.file_name().map(|name| name.to_string_lossy());
                shown["source"] = json!({"name": name, "path": path.to_string_lossy()});
                shown["line"] = line.into();
            } else if let Some(line) = place.and_then(|i| i.line) {
                let name = self.program.file_name().map(|name| name.to_string_lossy());
                shown["source"] = json!({"name": name, "path": self.program.to_string_lossy()});
                shown["line"] = line.into();
            }
            shown["instructionPointerReference"] = format!("{:#x}", pc.0).into();
            out.push(shown);
        }
        let total = out.len();
        let number = |name: &str| arguments.get(name).and_then(Value::as_u64).unwrap_or(0);
        let (first, levels) = (number("startFrame") as usize, number("levels") as usize);
        let mut out = out.split_off(first.min(total));
        if levels > 0 {
            out.truncate(levels);
        }
        Some(json!({"stackFrames": out, "totalFrames": total}))
    }

    /// The path of a source file that is there: as the compiler has written it, or beside the
    /// program. Editors would show an empty file for one that is not.
    fn file(&self, file: &str) -> Option<PathBuf> {
        let beside = self.program.parent().map(|folder| folder.join(file));
        [Some(PathBuf::from(file)).filter(|path| path.is_absolute()), beside]
            .into_iter()
            .flatten()
            .find(|path| path.is_file())
    }

    /// The identity of a frame, until the launch moves.
    fn frame_id(&mut self, at: FramePlace) -> usize {
        let known = self.frames.iter().position(|frame| *frame == at);
        let index = known.unwrap_or(self.frames.len());
        if known.is_none() {
            self.frames.push(at);
        }
        index + 1
    }

    /// The frame of an identity.
    pub(crate) fn frame_of(&self, id: u64) -> Option<FramePlace> {
        self.frames.get((id as usize).checked_sub(1)?).copied()
    }

    /// Forgets identities and references: the launch has moved.
    pub(crate) fn forget(&mut self) {
        self.frames.clear();
        self.references.clear();
    }

    /// What there is to see of a frame.
    pub(crate) fn scopes(&mut self, session: &Session<'_>, arguments: &Value) -> Option<Value> {
        let at = self.frame_of(arguments.get("frameId")?.as_u64()?)?;
        let scopes = [
            ("Variables", "locals", Reference::Variables(at)),
            ("Registers", "registers", Reference::Registers(at, RegisterOwner::Lane)),
            ("Registers of the warp", "registers", Reference::Registers(at, RegisterOwner::Group)),
            ("Parameters", "arguments", Reference::Parameters(at)),
            ("Lanes", "locals", Reference::Lanes(at.group)),
            ("Mechanism", "locals", Reference::Mechanism(at.group)),
        ];
        // Programs without debug information have no such variables.
        let hidden = usize::from(session.look().code().variables.is_empty());
        let scope = |&(name, hint, reference): &(&str, &str, Reference)| {
            let number = self.reference(reference);
            json!({
                "name": name,
                "presentationHint": hint,
                "variablesReference": number,
                "expensive": false,
            })
        };
        let scopes: Vec<Value> = scopes[hidden..].iter().map(scope).collect();
        Some(json!({"scopes": scopes}))
    }

    /// What a reference stands for.
    pub(crate) fn variables(&mut self, session: &Session<'_>, arguments: &Value) -> Option<Value> {
        let number = arguments.get("variablesReference")?.as_u64()? as usize;
        let reference = *self.references.get(number.checked_sub(1)?)?;
        let look = session.look();
        let plain = |name: &str, value: String| json!({"name": name, "value": value, "variablesReference": 0});
        let variables: Vec<Value> = match reference {
            Reference::Registers(at, owner) => {
                let pc = look.frames(FramePlace { frame: 0, ..at }).get(at.frame as usize).copied();
                let registers = pc.map(|pc| look.registers(pc)).unwrap_or_default();
                let lanes = owner == RegisterOwner::Lane;
                let own = registers.into_iter();
                let own = own.filter(|r| (r.owner == RegisterOwner::Lane) == lanes);
                let mut out = Vec::new();
                for register in own {
                    let value = look.register(at, register.index).unwrap_or(0);
                    let mut shown = plain(&register.name, format!("{value} ({value:#x})"));
                    shown["evaluateName"] = (*register.name).into();
                    if lanes {
                        let across = Reference::Across(at, register.index);
                        shown["variablesReference"] = self.reference(across).into();
                    }
                    out.push(shown);
                }
                out
            }
            Reference::Across(at, index) => {
                let group = look.group(at.group)?;
                let lanes = (group.launched - group.exited).iter();
                let value = |lane: usize| {
                    let at = FramePlace { lane: lane as u32, ..at };
                    let value = look.register(at, index);
                    let shown = value.map_or("not there".to_owned(), |v| format!("{v} ({v:#x})"));
                    plain(&format!("lane {lane}"), shown)
                };
                lanes.map(value).collect()
            }
            Reference::Variables(at) => {
                let variable = |variable: debug::ShownVariable| {
                    let mut shown = plain(&variable.name, variable.value);
                    shown["type"] = variable.ty.into();
                    shown["evaluateName"] = variable.name.into();
                    shown
                };
                debug::variables(look, at).into_iter().map(variable).collect()
            }
            Reference::Parameters(at) => {
                let parameter = |parameter: &debug::Parameter| {
                    let mut bytes = vec![0; parameter.bytes.min(64) as usize];
                    let memory = Memory { space: Space::Param, at };
                    let read = look.read(memory, parameter.offset, &mut bytes);
                    let digits: String = bytes.iter().rev().map(|b| format!("{b:02x}")).collect();
                    let value = match read {
                        Ok(()) => format!("0x{digits}"),
                        Err(error) => error.to_string(),
                    };
                    let mut shown = plain(&parameter.name, value.clone());
                    if parameter.bytes == 8 {
                        shown["memoryReference"] = value.into();
                    }
                    shown
                };
                look.code().parameters.iter().map(parameter).collect()
            }
            Reference::Lanes(group) => {
                let group = look.group(group)?;
                let next = group.next.map(|path| path.lanes).unwrap_or_default();
                let rows = [
                    ("active", next),
                    ("off", next - group.enabled),
                    ("diverged", group.launched - group.exited - group.waiting - next),
                    ("waiting", group.waiting),
                    ("exited", group.exited),
                ];
                rows.into_iter().map(|(name, lanes)| plain(name, lanes.to_string())).collect()
            }
            Reference::Mechanism(group) => {
                let row = |row: simt::inspect::MechanismRow<16>| {
                    let describe = |pc| look.code().describe(pc);
                    let place = row.pc.map_or(String::new(), |pc| format!(" at {}", describe(pc)));
                    let rejoin = row.rejoin.map(|pc| format!(", rejoins at {}", describe(pc)));
                    let rejoin = rejoin.unwrap_or_default();
                    plain(&row.what, format!("{}{place}{rejoin}", row.lanes))
                };
                look.mechanism(group).into_iter().map(row).collect()
            }
        };
        Some(json!({"variables": variables}))
    }

    /// The frame and name of a register among the variables of a reference.
    pub(crate) fn frame_of_reference(&self, number: u64) -> Option<FramePlace> {
        match self.references.get((number as usize).checked_sub(1)?)? {
            Reference::Registers(at, _)
            | Reference::Variables(at)
            | Reference::Parameters(at)
            | Reference::Across(at, _) => Some(*at),
            Reference::Lanes(_) | Reference::Mechanism(_) => None,
        }
    }
}

/// Instructions around an address: as many as are asked for, with empty ones where there are none.
pub(crate) fn disassembly(session: &Session<'_>, arguments: &Value) -> Result<Value, String> {
    let (address, _) = address(arguments)?;
    let offset = arguments["instructionOffset"].as_i64().unwrap_or(0);
    let count = arguments["instructionCount"].as_u64().unwrap_or(0).min(MOST_INSTRUCTIONS);
    let code = session.look().code();
    let all = code.instructions();
    let first = all.partition_point(|instruction| instruction.pc.0 < address) as i64;
    let first = first.saturating_add(offset);
    let row = |index: i64| {
        let found = usize::try_from(index).ok().and_then(|index| all.get(index));
        let Some(found) = found else {
            let place = all.last().map_or(0, |last| last.pc.0).wrapping_add_signed(index);
            let text = "no instruction";
            let hint = "invalid";
            let place = format!("{place:#x}");
            return json!({"address": place, "instruction": text, "presentationHint": hint});
        };
        let mut shown =
            json!({"address": format!("{:#x}", found.pc.0), "instruction": &*found.text});
        let symbol = code.function(found.pc).filter(|function| function.entry == found.pc);
        if let Some(function) = symbol {
            shown["symbol"] = function.name.as_str().into();
        }
        if let Some(line) = found.line {
            shown["line"] = line.into();
        }
        shown
    };
    let rows: Vec<Value> = (0..count as i64).map(|i| row(first.saturating_add(i))).collect();
    Ok(json!({"instructions": rows}))
}

/// Reads global memory.
pub(crate) fn read_memory(session: &Session<'_>, arguments: &Value) -> Result<Value, String> {
    let (address, count) = address(arguments)?;
    let count = count.min(MOST_BYTES);
    let memory = Memory { space: Space::Global, at: session.focus() };
    let mut bytes = vec![0; count as usize];
    let look = session.look();
    if look.read(memory, address, &mut bytes).is_err() {
        // As far as it goes.
        let mut one = [0];
        let readable = (0..count)
            .take_while(|i| look.read(memory, address.wrapping_add(*i), &mut one).is_ok());
        let length = readable.count();
        bytes.truncate(length);
        let read = look.read(memory, address, &mut bytes);
        if length == 0 {
            let unreadable = count;
            let place = format!("{address:#x}");
            return Ok(json!({"address": place, "unreadableBytes": unreadable, "data": ""}));
        }
        read.map_err(|error| error.to_string())?;
    }
    let unreadable = count - bytes.len() as u64;
    let data = base64::encode(&bytes);
    Ok(json!({"address": format!("{address:#x}"), "unreadableBytes": unreadable, "data": data}))
}

/// Address and count of a request about memory.
pub(crate) fn address(arguments: &Value) -> Result<(u64, u64), String> {
    let text = arguments.get("memoryReference").and_then(Value::as_str).unwrap_or("");
    let hex = text.strip_prefix("0x").and_then(|hex| u64::from_str_radix(hex, 16).ok());
    let base = hex.or_else(|| text.parse().ok());
    let base = base.ok_or_else(|| format!("`{text}` is not an address"))?;
    let offset = arguments.get("offset").and_then(Value::as_i64).unwrap_or(0);
    let count = arguments.get("count").and_then(Value::as_u64).unwrap_or(0);
    Ok((base.wrapping_add_signed(offset), count))
}
