//! Mechanisms for interpreters of C programs: `converge::Session` by number.

use std::collections::BTreeMap;
use std::ffi::c_char;
use std::sync::{Mutex, PoisonError};

use converge::{Flow, Knobs, Order, Session, SessionError};
use simt::{LaneMask, Pc};

use crate::simtlab_status::{SimtlabInvalidArgument, SimtlabInvalidHandle, SimtlabNotFound};
use crate::tables::number;
use crate::{Refusal, call, get, put, put_if, simtlab_status, size_t, string};

/// Most instructions of a graph.
const MAX_CODE: usize = 1 << 22;
/// Longest name, in bytes.
const MAX_NAME: usize = 4 << 10;

static SESSIONS: Mutex<BTreeMap<u64, Session>> = Mutex::new(BTreeMap::new());

/// Where control may go after an instruction.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum simtlab_flow_kind {
    /// To the next instruction.
    SimtlabFlowNext = 0,
    /// To `target`.
    SimtlabFlowJump = 1,
    /// To `target`, or on to the next instruction.
    SimtlabFlowBranch = 2,
    /// To any of `count` places, from index `target` of the table of places on.
    SimtlabFlowSwitch = 3,
    /// Nowhere: a return or an exit.
    SimtlabFlowEnd = 4,
}

/// An instruction of a flow graph. Places are indices of instructions.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct simtlab_flow {
    /// One of simtlab_flow_kind.
    pub kind: u32,
    /// Places of a switch.
    pub count: u32,
    /// Where it goes.
    pub target: u64,
}

/// Lanes that go to a place.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct simtlab_target {
    /// The place.
    pub place: u64,
    /// The lanes, bit by bit.
    pub lanes: u64,
}

/// A row of a mechanism's stack, list or tables.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct simtlab_row {
    /// Where its lanes stand or go on; the greatest number if at no one place.
    pub place: u64,
    /// Where they meet others; the greatest number if nowhere.
    pub rejoin: u64,
    /// The lanes, bit by bit.
    pub lanes: u64,
}

/// What a group did under a mechanism.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct simtlab_session_stats {
    /// Instructions issued.
    pub issues: u64,
    /// Of them, issues without lanes.
    pub idle_issues: u64,
    /// Active lanes, summed over all issues.
    pub active_lanes: u64,
    /// Lanes of the group, summed over all issues.
    pub lane_slots: u64,
    /// Branches issued.
    pub branches: u64,
    /// Branches whose lanes went to more than one place.
    pub divergent_branches: u64,
    /// Places that divergent branches went to, summed.
    pub divergent_paths: u64,
    /// Splits that rejoined.
    pub rejoined: u64,
    /// Issues from those splits to where they rejoined, summed.
    pub rejoin_issues: u64,
    /// Splits that never rejoin: the lanes that are left are of one side.
    pub never_rejoined: u64,
    /// Times that two paths became one.
    pub merges: u64,
    /// Entries that the mechanism put on a stack, list or table.
    pub pushes: u64,
    /// Entries that it took off.
    pub pops: u64,
    /// Most live paths or entries at once.
    pub max_depth: u64,
}

fn refused(error: SessionError) -> Refusal {
    let status = match error {
        SessionError::Name(_) => SimtlabNotFound,
        _ => SimtlabInvalidArgument,
    };
    (status, error.to_string())
}

fn with(id: u64, body: impl FnOnce(&mut Session) -> Result<(), Refusal>) -> Result<(), Refusal> {
    let mut sessions = SESSIONS.lock().unwrap_or_else(PoisonError::into_inner);
    let session = sessions.get_mut(&id);
    body(session.ok_or_else(|| (SimtlabInvalidHandle, format!("there is no session {id}")))?)
}

fn lanes(bits: u64) -> LaneMask<1> {
    LaneMask::from_bits(bits)
}

/// Makes a session of a mechanism, by its name or alias: a group of up to 64 lanes, whose
/// instructions the caller executes. Its number goes to `session`. `order` says which side of a
/// divergent branch runs first (`taken`, `fallthrough`, `minority`, `majority`) where the mechanism
/// asks; null leaves it to the mechanism.
#[unsafe(no_mangle)]
pub extern "C" fn simtlab_session_create(
    mechanism: *const c_char,
    order: *const c_char,
    session: *mut u64,
) -> simtlab_status {
    call(|| {
        let name = string(mechanism.addr(), MAX_NAME, "the mechanism")?;
        let mut new = Session::new(&name).map_err(refused)?;
        if !order.is_null() {
            let name = string(order.addr(), MAX_NAME, "the order")?;
            let known = Order::ALL.iter().find(|(known, _)| *known == name);
            let order = known.ok_or_else(|| {
                let known = Order::ALL.map(|(name, _)| name).join(", ");
                (SimtlabNotFound, format!("there is no order `{name}`; orders are {known}"))
            })?;
            new.set_knobs(Knobs { order: Some(order.1), ..Knobs::default() });
        }
        let id = number();
        put(session.addr(), &id.to_le_bytes())?;
        SESSIONS.lock().unwrap_or_else(PoisonError::into_inner).insert(id, new);
        Ok(())
    })
}

/// Ends a session.
#[unsafe(no_mangle)]
pub extern "C" fn simtlab_session_destroy(session: u64) -> simtlab_status {
    call(|| {
        let mut sessions = SESSIONS.lock().unwrap_or_else(PoisonError::into_inner);
        let removed = sessions.remove(&session).map(drop);
        removed.ok_or_else(|| (SimtlabInvalidHandle, format!("there is no session {session}")))
    })
}

/// Sets the program's flow graph: its `count` instructions, and a table of `place_count` places for
/// switches, which may be null without any. The mechanisms that plan with the graph need it before
/// they begin.
#[unsafe(no_mangle)]
pub extern "C" fn simtlab_session_graph(
    session: u64,
    code: *const simtlab_flow,
    count: size_t,
    places: *const u64,
    place_count: size_t,
) -> simtlab_status {
    call(|| {
        let places = read::<8, u64>(places.addr(), place_count, "the places", u64::from_ne_bytes)?;
        let flows = read::<16, Flows>(code.addr(), count, "the code", |bytes| {
            let half = |at: usize| {
                u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
            };
            let mut target = [0; 8];
            target.copy_from_slice(&bytes[8..]);
            (half(0), half(4), u64::from_ne_bytes(target))
        })?;
        let flows = flows.into_iter().map(|flow| flow_of(flow, &places));
        let flows: Vec<Flow> = flows.collect::<Result<_, _>>()?;
        with(session, |session| session.set_graph(&flows).map_err(refused))
    })
}

/// Kind, count and target of an instruction.
type Flows = (u32, u32, u64);

fn flow_of((kind, count, target): Flows, places: &[u64]) -> Result<Flow, Refusal> {
    use simtlab_flow_kind::*;
    let to = Pc(target);
    Ok(match kind {
        k if k == SimtlabFlowNext as u32 => Flow::Next,
        k if k == SimtlabFlowJump as u32 => Flow::Jump(to),
        k if k == SimtlabFlowBranch as u32 => Flow::Branch(to),
        k if k == SimtlabFlowEnd as u32 => Flow::End,
        k if k == SimtlabFlowSwitch as u32 => {
            let first = usize::try_from(target).unwrap_or(usize::MAX);
            let of = places.get(first..first.saturating_add(count as usize));
            let of = of.ok_or_else(|| {
                let len = places.len();
                (SimtlabInvalidArgument, format!("a switch has places beyond the {len} given"))
            })?;
            Flow::Switch(of.iter().copied().map(Pc).collect())
        }
        _ => return Err((SimtlabInvalidArgument, format!("there is no kind {kind} of flow"))),
    })
}

/// Reads an array of the caller's.
fn read<const SIZE: usize, T>(
    at: usize,
    count: usize,
    what: &str,
    item: impl Fn([u8; SIZE]) -> T,
) -> Result<Vec<T>, Refusal> {
    if count > MAX_CODE {
        return Err((SimtlabInvalidArgument, format!("{count} items are too many for {what}")));
    }
    let mut bytes = vec![0; count * SIZE];
    get(at, &mut bytes, what)?;
    let (items, _) = bytes.as_chunks::<SIZE>();
    Ok(items.iter().map(|bytes| item(*bytes)).collect())
}

/// Begins with lanes of a group of `width` at a place; statistics begin anew.
#[unsafe(no_mangle)]
pub extern "C" fn simtlab_session_begin(
    session: u64,
    place: u64,
    lanes_at: u64,
    width: u32,
) -> simtlab_status {
    call(|| {
        if width > 64 {
            return Err((SimtlabInvalidArgument, format!("a group of {width} lanes; 64 at most")));
        }
        with(session, |s| s.begin(Pc(place), lanes(lanes_at), width).map_err(refused))
    })
}

/// What runs now: the place and the active mask, which may be empty (an idle issue). `running`
/// becomes 0 if all lanes have ended, else 1. Any pointer may be null.
#[unsafe(no_mangle)]
pub extern "C" fn simtlab_session_now(
    session: u64,
    place: *mut u64,
    active: *mut u64,
    running: *mut u32,
) -> simtlab_status {
    call(|| {
        with(session, |session| {
            let path = session.now();
            let (at, mask) = path.map_or((0, 0), |path| (path.pc.0, path.lanes.bits()));
            put_if(place.addr(), &at.to_le_bytes())?;
            put_if(active.addr(), &mask.to_le_bytes())?;
            put_if(running.addr(), &u32::from(path.is_some()).to_le_bytes())
        })
    })
}

/// An ordinary instruction was executed.
#[unsafe(no_mangle)]
pub extern "C" fn simtlab_session_step(session: u64) -> simtlab_status {
    call(|| with(session, |session| session.step().map_err(refused)))
}

/// A conditional branch was executed: of the `active` lanes, those of `taken` go to `target`, the
/// others on.
#[unsafe(no_mangle)]
pub extern "C" fn simtlab_session_branch(
    session: u64,
    active: u64,
    taken: u64,
    target: u64,
) -> simtlab_status {
    call(|| with(session, |s| s.branch(lanes(active), lanes(taken), Pc(target)).map_err(refused)))
}

/// All active lanes jump.
#[unsafe(no_mangle)]
pub extern "C" fn simtlab_session_jump(session: u64, target: u64) -> simtlab_status {
    call(|| with(session, |session| session.jump(Pc(target)).map_err(refused)))
}

/// A branch with any number of targets was executed.
#[unsafe(no_mangle)]
pub extern "C" fn simtlab_session_switch(
    session: u64,
    targets: *const simtlab_target,
    count: size_t,
) -> simtlab_status {
    call(|| {
        let words = count.saturating_mul(2);
        let words = read::<8, u64>(targets.addr(), words, "the targets", u64::from_ne_bytes)?;
        let targets = words.chunks_exact(2).map(|pair| (Pc(pair[0]), lanes(pair[1])));
        let targets: Vec<_> = targets.collect();
        with(session, |session| session.switch(&targets).map_err(refused))
    })
}

/// Active lanes end; the others go on to the next instruction.
#[unsafe(no_mangle)]
pub extern "C" fn simtlab_session_exit(session: u64, ending: u64) -> simtlab_status {
    call(|| with(session, |session| session.exit(lanes(ending)).map_err(refused)))
}

/// Copies the mechanism's stack, list or tables, what runs next last, at most `room` rows, to
/// `rows`, which may be null if `room` is 0. How many rows there are goes to `count`.
#[unsafe(no_mangle)]
pub extern "C" fn simtlab_session_rows(
    session: u64,
    rows: *mut simtlab_row,
    room: size_t,
    count: *mut u64,
) -> simtlab_status {
    call(|| {
        with(session, |session| {
            let all = session.rows();
            let mut bytes = Vec::new();
            for row in all.iter().take(room) {
                let place = |pc: Option<Pc>| pc.map_or(u64::MAX, |pc| pc.0);
                for word in [place(row.pc), place(row.rejoin), row.lanes.bits()] {
                    bytes.extend(word.to_ne_bytes());
                }
            }
            if !bytes.is_empty() {
                put(rows.addr(), &bytes)?;
            }
            put(count.addr(), &(all.len() as u64).to_le_bytes())
        })
    })
}

/// What the group did so far.
#[unsafe(no_mangle)]
pub extern "C" fn simtlab_session_statistics(
    session: u64,
    stats: *mut simtlab_session_stats,
) -> simtlab_status {
    call(|| {
        with(session, |session| {
            let s = session.statistics();
            let words = [
                s.issues,
                s.idle_issues,
                s.active_lanes,
                s.lane_slots,
                s.branches,
                s.divergent_branches,
                s.divergent_paths,
                s.rejoined,
                s.rejoin_issues,
                s.never_rejoined,
                s.charges.merges,
                s.charges.pushes,
                s.charges.pops,
                s.charges.max_depth,
            ];
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
            put(stats.addr(), &bytes)
        })
    })
}

/// Copies the statistics as a table of lines, at most `room` bytes and without an end, to `text`,
/// which may be null if `room` is 0. How many bytes there are goes to `bytes`.
#[unsafe(no_mangle)]
pub extern "C" fn simtlab_session_text(
    session: u64,
    text: *mut c_char,
    room: size_t,
    bytes: *mut u64,
) -> simtlab_status {
    call(|| {
        with(session, |session| {
            let all = session.statistics().to_string();
            let part = &all.as_bytes()[..all.len().min(room)];
            if !part.is_empty() {
                put(text.addr(), part)?;
            }
            put(bytes.addr(), &(all.len() as u64).to_le_bytes())
        })
    })
}
