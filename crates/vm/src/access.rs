//! Loads, stores, atomics, fences, local allocation.
//!
//! All lanes' addresses are checked before any byte is read or written, so a fault leaves the state
//! before the instruction. Stores and atomics of one instruction take effect in increasing lane
//! order.

use crate::atomic;
use crate::cause::Cause;
use crate::cluster::ClusterMisuse;
use crate::code::{AtomicOp, Code, CopyOp, Exec, MemOp};
use crate::control::{fail, reserve_local, value};
use crate::copies::LaneCopy;
use crate::engine::{Executed, Failure, Now, Outcome};
use crate::state::{Cta, State};
use compute::space_of;
use ir::mods::{Order, Scope, Space};
use simt::LaneMask;
use simt::memory::{
    AccessKind, Addr, BlockInfo, LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW, Symbol, Violation,
    Width,
};
use simt::observe::{self, Access, Events, Observer, SyncKind};
use std::sync::atomic::Ordering::SeqCst;

pub(crate) fn execute<const N: usize, O: Observer<N>>(
    state: &mut State<N>,
    now: &Now<N>,
    code: &Code,
    observer: &mut O,
) -> Executed<N> {
    match &code.exec {
        Exec::Load(op) => {
            let places = check(state, now, op, AccessKind::Load, op.rows.len())?;
            observe(state, now, (op, AccessKind::Load), &places, observer);
            load(state, now, op, &places);
            order_with_host(op.order, op.scope);
            clear(state, now, &op.rows, &places);
            state.scratch.lanes = places;
        }
        Exec::Store(op) => {
            let places = check(state, now, op, AccessKind::Store, op.values.len())?;
            observe(state, now, (op, AccessKind::Store), &places, observer);
            order_with_host(op.order, op.scope);
            store(state, now, op, &places);
            state.scratch.lanes = places;
        }
        Exec::Atomic(op) => {
            let words = if op.mem.size == 16 { 2 } else { op.elements as usize };
            let places = check(state, now, &op.mem, AccessKind::Atomic, words)?;
            observe(state, now, (&op.mem, AccessKind::Atomic), &places, observer);
            order_with_host(op.mem.order, op.mem.scope);
            read_modify_write(state, now, op, &places);
            order_with_host(op.mem.order, op.mem.scope);
            clear(state, now, &op.mem.rows, &places);
            state.scratch.lanes = places;
        }
        Exec::Copy(op) => copy(state, now, op, observer)?,
        Exec::Fence(order, scope, proxy) => {
            order_with_host(*order, *scope);
            if observer.wants(Events::SYNC)
                && let Some(cta) = state.resident[now.slot].as_deref()
            {
                let kind = match proxy {
                    Some(proxy) => {
                        SyncKind::ProxyFence { asynchronous: *proxy != ir::mods::Proxy::Alias }
                    }
                    None => SyncKind::Fence(*order, *scope),
                };
                let group = cta.group_id(now.group);
                observer.sync(&observe::Sync {
                    group,
                    pc: now.pc,
                    kind,
                    barrier: 0,
                    members: 0,
                    lanes: &now.on,
                });
            }
        }
        Exec::Alloca { dst, size, align } => alloca(state, now, *dst, *size, *align)?,
        _ => {}
    }
    Ok(Outcome::Advance)
}

/// Places of the lanes that are on: lane and address, with the space in the address's window for
/// shared, local and parameter memory. After this, no access of the instruction can fail. In a
/// tolerant launch lanes without a place were refused theirs.
pub(crate) fn check<const N: usize>(
    state: &mut State<N>,
    now: &Now<N>,
    op: &MemOp,
    kind: AccessKind,
    words: usize,
) -> Result<Vec<(u16, u64)>, Failure<N>> {
    state.stats.memory_instructions += u64::from(now.on.any());
    let mut places = std::mem::take(&mut state.scratch.lanes);
    places.clear();
    let Some(cta) = state.resident[now.slot].as_deref() else { return Ok(places) };
    let elements = if op.size == 16 { words as u64 / 2 } else { words as u64 };
    let bytes = u64::from(op.size) * elements;
    let mut bad = LaneMask::EMPTY;
    let mut first = None;
    for lane in now.on {
        let thread = cta.groups[now.group].thread(lane);
        let address =
            value(cta, now.group, &state.info.vars, op.addr, thread).wrapping_add_signed(op.offset);
        let generic = generic_address(op.space, address);
        let place = (op.space, generic, reaches(op));
        match check_place(state, cta, thread, place, kind, (bytes, bytes)) {
            Ok(()) => places.push((lane as u16, generic)),
            Err(cause) => {
                bad.insert(lane);
                first.get_or_insert(cause);
            }
        }
    }
    match first {
        None => Ok(places),
        Some(error) => match refuse(state, fail(error, bad)) {
            Ok(()) => Ok(places),
            Err(failure) => {
                state.scratch.lanes = places;
                Err(failure)
            }
        },
    }
}

/// Notes accesses that were refused, in a tolerant launch; in others, they are the failure of the
/// instruction.
pub(crate) fn refuse<const N: usize>(
    state: &mut State<N>,
    failure: Failure<N>,
) -> Result<(), Failure<N>> {
    if !state.info.tolerant {
        return Err(failure);
    }
    state.tolerated.pending.get_or_insert(failure);
    Ok(())
}

/// Clears the results of lanes that were refused their place.
fn clear<const N: usize>(state: &mut State<N>, now: &Now<N>, rows: &[u32], places: &[(u16, u64)]) {
    if !state.info.tolerant || places.len() == now.on.count() as usize {
        return;
    }
    let Some(first) = first_thread(state, now) else { return };
    let Some(cta) = state.resident[now.slot].as_deref_mut() else { return };
    let refused = now.on.iter().filter(|&lane| !places.iter().any(|p| usize::from(p.0) == lane));
    for lane in refused {
        rows.iter().for_each(|&row| cta.set_row(row, first + lane, 0));
    }
}

/// An address of a space as a generic one; a window offset beyond the window becomes an address
/// that no space has.
pub(crate) fn generic_address(space: Space, address: u64) -> u64 {
    let window = match space {
        Space::Shared => SHARED_WINDOW,
        Space::Local => LOCAL_WINDOW,
        Space::Param => PARAM_WINDOW,
        Space::Generic | Space::Global | Space::Const => return address,
    };
    // Offsets wrap at 32 bits, as addresses of a window do.
    window.start + u64::from(address as u32)
}

/// Returns whether an access may be to the shared memory of another CTA of the cluster: generic
/// addresses reach it, others only where the instruction says so.
pub(crate) fn reaches(op: &MemOp) -> bool {
    op.cluster || op.space == Space::Generic
}

/// The slot and offset of a generic address in the shared window. `reach` says whether it may be in
/// another CTA.
pub(crate) fn home_of<const N: usize>(
    cta: &Cta<N>,
    generic: u64,
    reach: bool,
) -> Result<(usize, u64), Cause> {
    let address = generic & WINDOW_MASK;
    let misuse = |misuse| Cause::ClusterAddress { address, misuse };
    cta.place.home(address, reach).map_err(misuse)
}

/// The same for the address of an access as its space has it.
pub(crate) fn home<const N: usize>(
    cta: &Cta<N>,
    op: &MemOp,
    address: u64,
) -> Result<(usize, u64), Cause> {
    home_of(cta, generic_address(op.space, address), reaches(op))
}

/// Checks an access of a thread: its space, its generic address, and whether it reaches other CTAs
/// of the cluster; then its bytes and their alignment.
pub(crate) fn check_place<const N: usize>(
    state: &State<N>,
    cta: &Cta<N>,
    thread: usize,
    (space, generic, reach): (Space, u64, bool),
    kind: AccessKind,
    (bytes, align): (u64, u64),
) -> Result<(), Cause> {
    let found = lies_in(space, generic);
    let mut offset = generic & WINDOW_MASK;
    let (block, symbols) = match found {
        Space::Shared => {
            let (slot, within) = home_of(cta, generic, reach)?;
            let owner = match cta.place.slot() == slot {
                true => Some(cta),
                false => state.resident[slot].as_deref(),
            };
            let Some(owner) = owner else {
                let rank = (slot - cta.place.first_slot) as u64;
                let misuse = ClusterMisuse::Exited { rank };
                return Err(Cause::ClusterAddress { address: offset, misuse });
            };
            offset = within;
            (&owner.shared, &state.info.shared_names[..])
        }
        Space::Local => (&cta.local[thread], &[][..]),
        Space::Param => (&state.params, &[][..]),
        _ => return Ok(state.memory.check(kind, Addr(generic), bytes, align)?),
    };
    let allowed = if kind.writes() && found == Space::Param {
        Err(Violation::ReadOnly)
    } else {
        block.check(offset, bytes, align).and_then(|()| match found {
            Space::Shared if state.info.shared.guards != 0 => in_variable(state, offset, bytes),
            _ => Ok(()),
        })
    };
    allowed.map_err(|violation| {
        let info = BlockInfo { space: found, len: block.len(), symbols };
        Cause::Access(info.error(violation, kind, offset, bytes, align))
    })
}

/// Checks that bytes of shared memory are not between variables.
fn in_variable<const N: usize>(state: &State<N>, offset: u64, bytes: u64) -> Result<(), Violation> {
    let info = &state.info;
    let within = |s: &Symbol| offset >= s.offset && offset + bytes <= s.offset + s.len;
    let system = offset >= info.shared.own;
    let found = system || info.shared_names.iter().any(within);
    if found { Ok(()) } else { Err(Violation::OutOfBounds) }
}

/// Offsets of a window are its addresses' low 32 bits.
const WINDOW_MASK: u64 = 0xffff_ffff;

/// The space that an access is to. One that names its space is to that space: an address of a
/// window given to a global access is refused by the address map, and [`generic_address`] puts
/// window offsets into their window.
#[inline]
fn lies_in(space: Space, generic: u64) -> Space {
    if space == Space::Generic { space_of(generic) } else { space }
}

fn observe<const N: usize, O: Observer<N>>(
    state: &State<N>,
    now: &Now<N>,
    (op, kind): (&MemOp, AccessKind),
    places: &[(u16, u64)],
    observer: &mut O,
) {
    if !observer.wants(Events::ACCESS) {
        return;
    }
    let words = if kind == AccessKind::Store { op.values.len() } else { op.rows.len().max(1) };
    let elements = if op.size == 16 { words.div_ceil(2) } else { words };
    let size = op.size * if kind == AccessKind::Atomic { 1 } else { elements as u32 };
    let mut values = Vec::new();
    if observer.wants(Events::VALUES) {
        for &place in places {
            let from = values.len();
            values.resize(from + size.div_ceil(8) as usize, 0);
            contents(state, now, op, kind, place, &mut values[from..]);
        }
    }
    observe_at(state, now, (op, kind, size), places.to_vec(), &values, observer);
}

/// The words that a lane is about to read, or to write: see [`Access::values`].
fn contents<const N: usize>(
    state: &State<N>,
    now: &Now<N>,
    op: &MemOp,
    kind: AccessKind,
    (lane, at): (u16, u64),
    words: &mut [u64],
) {
    let Some(cta) = state.resident[now.slot].as_deref() else { return };
    let thread = cta.groups[now.group].thread(usize::from(lane));
    let step = op.width.bytes();
    let pieces = 8 / step.min(8);
    for (i, word) in words.iter_mut().enumerate() {
        for piece in 0..pieces {
            let index = i * pieces as usize + piece as usize;
            let bits = match kind {
                AccessKind::Store => match op.values.get(index) {
                    Some(&src) => value(cta, now.group, &state.info.vars, src, thread),
                    None => break,
                },
                _ if index >= op.rows.len().max(1) => break,
                _ => {
                    let place = (op.space, at + index as u64 * step);
                    read(state, now.slot, thread, place, op.width)
                }
            };
            *word |= (bits & op.width.mask()) << (8 * step * piece);
        }
    }
}

/// Reports an access of `size` bytes per lane at these places. `values` are the words of all lanes,
/// or empty.
pub(crate) fn observe_at<const N: usize, O: Observer<N>>(
    state: &State<N>,
    now: &Now<N>,
    (op, kind, size): (&MemOp, AccessKind, u32),
    places: Vec<(u16, u64)>,
    values: &[u64],
    observer: &mut O,
) {
    let at = (now.slot, now.group, now.pc);
    observe_lanes(state, at, (op, kind, size), places, values, observer);
}

/// The same for a group in a slot, and an instruction.
pub(crate) fn observe_lanes<const N: usize, O: Observer<N>>(
    state: &State<N>,
    (slot, group, pc): (usize, usize, simt::Pc),
    (op, kind, size): (&MemOp, AccessKind, u32),
    places: Vec<(u16, u64)>,
    values: &[u64],
    observer: &mut O,
) {
    let Some(cta) = state.resident[slot].as_deref() else { return };
    let words = size.div_ceil(8) as usize;
    let owner_of = |generic: u64| match space_of(generic) {
        Space::Shared => cta.place.home(generic & WINDOW_MASK, true).map_or(slot, |home| home.0),
        _ => slot,
    };
    let mut rest: Vec<(usize, (u16, u64))> = places.into_iter().enumerate().collect();
    // Lanes of a generic access may be in different spaces: one event for each space, and for each
    // CTA whose shared memory is accessed.
    while let Some(&(_, (_, generic))) = rest.first() {
        let (space, owner) = (space_of(generic), owner_of(generic));
        let mask = match space {
            Space::Global | Space::Const => u64::MAX,
            Space::Shared if cta.place.size > 1 => 0xff_ffff,
            _ => WINDOW_MASK,
        };
        let (mut here, mut own) = (Vec::new(), Vec::new());
        rest.retain(|&(index, (lane, at))| {
            let other = space_of(at) != space || owner_of(at) != owner;
            if !other {
                here.push((lane, at & mask));
                own.extend_from_slice(
                    values.get(index * words..(index + 1) * words).unwrap_or_default(),
                );
            }
            other
        });
        let owner = state.resident[owner].as_deref().map_or(cta.index, |cta| cta.index);
        observer.access(&Access {
            group: cta.group_id(group),
            pc,
            kind,
            space,
            owner,
            order: op.order,
            scope: op.scope,
            size,
            lanes: &here,
            values: &own,
        });
    }
}

/// One word at a checked place.
pub(crate) fn read<const N: usize>(
    state: &State<N>,
    slot: usize,
    thread: usize,
    (space, at): (Space, u64),
    width: Width,
) -> u64 {
    let Some(cta) = state.resident[slot].as_deref() else { return 0 };
    let offset = at & WINDOW_MASK;
    let found = match lies_in(space, at) {
        Space::Shared => {
            let home = cta.place.home(offset, true).ok();
            home.and_then(|(home, offset)| match home == slot {
                true => cta.shared.load(offset, width).ok(),
                false => state.resident[home].as_deref()?.shared.load(offset, width).ok(),
            })
        }
        Space::Local => cta.local[thread].load(offset, width).ok(),
        Space::Param => state.params.load(offset, width).ok(),
        _ => state.memory.load(Addr(at), width).ok(),
    };
    debug_assert!(found.is_some(), "places are checked before they are read");
    found.unwrap_or(0)
}

pub(crate) fn write<const N: usize>(
    state: &mut State<N>,
    slot: usize,
    thread: usize,
    (space, at, width, bits): (Space, u64, Width, u64),
) {
    if state.watch.wants_changes()
        && read(state, slot, thread, (space, at), width) != bits & width.mask()
    {
        state.watch.changed();
    }
    let Some(cta) = state.resident[slot].as_deref_mut() else { return };
    let offset = at & WINDOW_MASK;
    let done = match lies_in(space, at) {
        Space::Shared => {
            let home = cta.place.home(offset, true);
            home.is_ok_and(|(home, offset)| match state.resident[home].as_deref_mut() {
                Some(owner) => owner.shared.store(offset, width, bits).is_ok(),
                None => false,
            })
        }
        Space::Local => cta.local[thread].store(offset, width, bits).is_ok(),
        _ => state.memory.store(Addr(at), width, bits).is_ok(),
    };
    debug_assert!(done, "places are checked before they are written");
}

/// Changes one word at a checked place, and returns what it was. In memory that the host has lent,
/// that is an atomic operation for the host's threads, too.
fn update<const N: usize>(
    state: &mut State<N>,
    slot: usize,
    thread: usize,
    (space, at, width): (Space, u64, Width),
    change: impl Fn(u64) -> u64,
) -> u64 {
    if matches!(lies_in(space, at), Space::Shared | Space::Local | Space::Param) {
        let was = read(state, slot, thread, (space, at), width);
        write(state, slot, thread, (space, at, width, change(was)));
        return was;
    }
    let was = state.memory.atomic(Addr(at), width, &change);
    debug_assert!(was.is_ok(), "places are checked before they are changed");
    let was = was.unwrap_or_default();
    if state.watch.wants_changes() && was != change(was) & width.mask() {
        state.watch.changed();
    }
    was
}

/// Orders accesses of memory that the host has lent as threads of the host see them.
#[inline]
fn order_with_host(order: Order, scope: Scope) {
    if scope == Scope::Sys && !matches!(order, Order::Weak | Order::Relaxed | Order::Volatile) {
        std::sync::atomic::fence(SeqCst);
    }
}

fn load<const N: usize>(state: &mut State<N>, now: &Now<N>, op: &MemOp, places: &[(u16, u64)]) {
    let mut values = std::mem::take(&mut state.scratch.values);
    values.clear();
    let Some(first) = first_thread(state, now) else { return };
    let step = op.width.bytes();
    for &(lane, at) in places {
        for i in 0..op.rows.len() as u64 {
            values.push(read(
                state,
                now.slot,
                first + usize::from(lane),
                (op.space, at + i * step),
                op.width,
            ));
        }
    }
    let Some(cta) = state.resident[now.slot].as_deref_mut() else { return };
    let mut next = values.iter();
    for &(lane, _) in places {
        for &row in &op.rows {
            let value = next.next().copied().unwrap_or(0);
            let value = match op.extend {
                Some((ty, bits)) => sign_extend(value, ty.bits(), bits),
                None => value,
            };
            cta.set_row(row, first + usize::from(lane), value);
        }
    }
    state.scratch.values = values;
}

/// A value of `from` bits, sign-extended to `to` bits.
fn sign_extend(value: u64, from: u32, to: u32) -> u64 {
    let shift = 64 - from;
    ((value << shift) as i64 >> shift) as u64 & u64::MAX >> (64 - to.clamp(1, 64))
}

/// Copies from global to shared memory, lane by lane: what is read, and where it goes, is checked
/// before a byte moves.
fn copy<const N: usize, O: Observer<N>>(
    state: &mut State<N>,
    now: &Now<N>,
    op: &CopyOp,
    observer: &mut O,
) -> Result<(), Failure<N>> {
    let size = u64::from(op.to.size);
    let places = check(state, now, &op.to, AccessKind::Store, size.div_ceil(8) as usize)?;
    let Some(cta) = state.resident[now.slot].as_deref() else { return Ok(()) };
    let vars = &state.info.vars;
    let mut copies = Vec::with_capacity(places.len());
    let mut bad = LaneMask::EMPTY;
    let mut first = None;
    for &(lane, to) in &places {
        let lane = usize::from(lane);
        let thread = cta.groups[now.group].thread(lane);
        let from =
            value(cta, now.group, vars, op.from.addr, thread).wrapping_add_signed(op.from.offset);
        let bytes =
            op.bytes.map_or(size, |b| u64::from(value(cta, now.group, vars, b, thread) as u32));
        let mut copy = LaneCopy { lane, to, from, bytes: bytes.min(size) };
        if let Err(error) = state.memory.check(AccessKind::Load, Addr(from), copy.bytes, size) {
            // In a tolerant launch these lanes copy zeros.
            copy.bytes = 0;
            bad.insert(lane);
            first.get_or_insert(error);
        }
        copies.push(copy);
    }
    if let Some(error) = first
        && let Err(failure) = refuse(state, fail(error, bad))
    {
        state.scratch.lanes = places;
        return Err(failure);
    }
    if crate::copies::are_operations(state, observer) {
        let issued = crate::copies::issue(state, now, size, &copies);
        if observer.wants(Events::ACCESS) {
            // What they read is not known yet.
            observe_copies(state, now, op, (&copies, &places), [&[], &[]], observer);
        }
        state.scratch.lanes = places;
        return issued;
    }
    let Some(threads) = first_thread(state, now) else { return Ok(()) };
    let words_of = |copy: &LaneCopy| copied(state, now.slot, threads + copy.lane, copy);
    let words: Vec<[u64; 2]> = copies.iter().map(words_of).collect();
    if observer.wants(Events::ACCESS) {
        let (mut values, mut stored) = (Vec::new(), Vec::new());
        for (copy, words) in copies.iter().zip(&words) {
            let words = &words[..size.div_ceil(8) as usize];
            stored.extend_from_slice(words);
            if copy.bytes != 0 {
                values.extend_from_slice(words);
            }
        }
        observe_copies(state, now, op, (&copies, &places), [&values, &stored], observer);
    }
    let step = op.to.width.bytes();
    for (words, copy) in words.iter().zip(&copies) {
        let thread = threads + copy.lane;
        for start in (0..size).step_by(step as usize) {
            let bits = words[start as usize / 8] >> (8 * (start % 8)) & op.to.width.mask();
            write(state, now.slot, thread, (Space::Shared, copy.to + start, op.to.width, bits));
        }
    }
    state.scratch.lanes = places;
    Ok(())
}

/// Reports the accesses of copies, with the words that they read and store where these are known.
fn observe_copies<const N: usize, O: Observer<N>>(
    state: &State<N>,
    now: &Now<N>,
    op: &CopyOp,
    (copies, places): (&[LaneCopy], &[(u16, u64)]),
    [values, stored]: [&[u64]; 2],
    observer: &mut O,
) {
    let read = copies.iter().filter(|copy| copy.bytes != 0);
    let read = read.map(|copy| (copy.lane as u16, copy.from)).collect();
    observe_at(state, now, (&op.from, AccessKind::Load, op.from.size), read, values, observer);
    let store = (&op.to, AccessKind::Store, op.to.size);
    observe_at(state, now, store, places.to_vec(), stored, observer);
}

/// The bytes of global memory that a thread copies, of at most 16; zeros follow them.
fn copied<const N: usize>(
    state: &State<N>,
    slot: usize,
    thread: usize,
    copy: &LaneCopy,
) -> [u64; 2] {
    let mut words = [0; 2];
    for k in 0..copy.bytes {
        let byte = read(state, slot, thread, (Space::Global, copy.from + k), Width::B1);
        words[k as usize / 8] |= byte << (8 * (k % 8));
    }
    words
}

fn first_thread<const N: usize>(state: &State<N>, now: &Now<N>) -> Option<usize> {
    state.resident[now.slot].as_deref().map(|cta| cta.groups[now.group].first_thread as usize)
}

fn store<const N: usize>(state: &mut State<N>, now: &Now<N>, op: &MemOp, places: &[(u16, u64)]) {
    let Some(first) = first_thread(state, now) else { return };
    let step = op.width.bytes();
    for &(lane, at) in places {
        let thread = first + usize::from(lane);
        for (i, &src) in op.values.iter().enumerate() {
            let Some(cta) = state.resident[now.slot].as_deref() else { return };
            let bits = value(cta, now.group, &state.info.vars, src, thread);
            write(state, now.slot, thread, (op.space, at + i as u64 * step, op.width, bits));
        }
    }
}

fn read_modify_write<const N: usize>(
    state: &mut State<N>,
    now: &Now<N>,
    op: &AtomicOp,
    places: &[(u16, u64)],
) {
    let Some(first) = first_thread(state, now) else { return };
    let step = op.mem.width.bytes();
    for &(lane, at) in places {
        let thread = first + usize::from(lane);
        let Some(cta) = state.resident[now.slot].as_deref() else { return };
        let operands =
            op.mem.values.iter().map(|&s| value(cta, now.group, &state.info.vars, s, thread));
        let operands: smallvec::SmallVec<[u64; 8]> = operands.collect();
        let mut old = smallvec::SmallVec::<[u64; 8]>::new();
        if op.mem.size == 16 {
            let was =
                [0, 8].map(|o| read(state, now.slot, thread, (op.mem.space, at + o), op.mem.width));
            for (i, new) in atomic::apply_wide(op.op, was, &operands).into_iter().enumerate() {
                write(
                    state,
                    now.slot,
                    thread,
                    (op.mem.space, at + 8 * i as u64, op.mem.width, new),
                );
            }
            old.extend(was);
        } else {
            // One element has one or two operands; several have one each.
            for i in 0..u64::from(op.elements) {
                let place = at + i * step;
                let own = if op.elements == 1 {
                    &operands[..]
                } else {
                    &operands[i as usize..=i as usize]
                };
                let change = |was| atomic::apply(op.op, op.ty, was, own);
                let place = (op.mem.space, place, op.mem.width);
                old.push(update(state, now.slot, thread, place, change));
            }
        }
        let Some(cta) = state.resident[now.slot].as_deref_mut() else { return };
        for (&row, value) in op.mem.rows.iter().zip(old) {
            cta.set_row(row, thread, value);
        }
    }
}

fn alloca<const N: usize>(
    state: &mut State<N>,
    now: &Now<N>,
    dst: u32,
    size: crate::code::Src,
    align: u32,
) -> Result<(), Failure<N>> {
    let info = std::sync::Arc::clone(&state.info);
    let Some(cta) = state.resident[now.slot].as_deref_mut() else { return Ok(()) };
    let align = u64::from(align.max(1)).next_power_of_two();
    for lane in now.on {
        let thread = cta.groups[now.group].thread(lane);
        let bytes = value(cta, now.group, &info.vars, size, thread);
        let start = u64::from(cta.frames.local[thread].1).next_multiple_of(align);
        let end = start.checked_add(bytes).map(|e| e.next_multiple_of(16));
        let end = end.filter(|&e| e <= info.stack_limit).and_then(|e| u32::try_from(e).ok());
        let Some(end) = end else {
            let depth = cta.frames.stack[thread].len() as u32;
            let cause = Cause::StackOverflow { depth, limit: info.stack_limit };
            return Err(fail(cause, LaneMask::lane(lane)));
        };
        reserve_local(cta, thread, end).map_err(|cause| fail(cause, LaneMask::lane(lane)))?;
        cta.frames.local[thread].1 = end;
        cta.set_row(dst, thread, start);
    }
    Ok(())
}
