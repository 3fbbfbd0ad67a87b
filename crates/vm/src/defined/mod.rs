//! Definedness: which values come from memory and registers that nobody has written, and what they
//! decide.
//!
//! [`Definedness::step`] executes one issue as the exact engine does, and follows for each register
//! and byte which of its bits are undefined. An undefined value may be moved, stored and computed
//! with; it is an error where it decides something: a branch, an address, or ([`UndefinedMemory`],
//! which its owner asks) what the host reads. So do Memcheck (Seward and Nethercote, USENIX 2005)
//! and MemorySanitizer (Stepanov and Serebryany, CGO 2015). What a result's bits depend on is found
//! by repeating the computation (`vary`).

mod access;
mod calls;
mod cta;
mod memory;
mod origins;
mod vary;
mod warp;

use ir::RegTy;
use ir::mods::Space;
use rustc_hash::FxHashMap;
use simt::machine::Step;
use simt::observe::Observer;
use simt::{LaneMask, Pc};
use smallvec::SmallVec;

use crate::access::generic_address;
use crate::cause::Cause;
use crate::code::{Code, Exec, GuardRow, LaneOp, MaskBrSrc, MaskOp, MbarrierKind, MemOp, Src};
use crate::control::value;
use crate::engine::{self, guarded};
use crate::program::Program;
use crate::schedule::{Position, Schedule};
use crate::state::{Cta, State};
use calls::returned;
use converge::Path;
use cta::{Bits, CtaBits};
pub use memory::{CopiedBits, UndefinedMemory};
use origins::MOST;
pub use origins::{Decides, Origin, OriginId, UndefinedUse};
use warp::Arrived;

/// Follows which values are undefined.
#[derive(Clone, Debug, Default)]
pub struct Definedness {
    /// Global memory.
    pub memory: UndefinedMemory,
    ctas: FxHashMap<u64, CtaBits>,
    /// The bits that rows have, by function.
    rows: Vec<Vec<u64>>,
    /// Lanes that have come to a collective, by CTA and thread.
    arrived: FxHashMap<(u64, usize), Arrived>,
    origins: Vec<Origin>,
    /// Origins of the launch, by instruction and space.
    known: FxHashMap<(Pc, Space), OriginId>,
    uses: Vec<UndefinedUse>,
    used: FxHashMap<(OriginId, Pc), usize>,
    /// The number of the launch, which the owner sets.
    pub launch: usize,
    lossy: bool,
}

/// What is left to do when an instruction has been executed.
enum After {
    Nothing,
    /// Lanes may have left collectives.
    Collective,
    /// Threads have entered a function: with the undefined bits of its arguments.
    Call(Vec<(usize, SmallVec<[Bits; 4]>)>),
    /// Threads have returned, with results for the rows of the call.
    Return(Vec<(usize, Pc, SmallVec<[Bits; 4]>)>),
    /// Memory was allocated: its size, by thread.
    Malloc(u32, Vec<(usize, u64)>),
}

/// The issue at hand.
struct At<'a, const N: usize> {
    state: &'a State<N>,
    cta: &'a Cta<N>,
    group: usize,
    pc: Pc,
    on: LaneMask<N>,
}

impl<const N: usize> At<'_, N> {
    fn thread(&self, lane: usize) -> usize {
        self.cta.groups[self.group].thread(lane)
    }

    fn threads(&self) -> impl Iterator<Item = usize> + '_ {
        self.on.iter().map(|lane| self.thread(lane))
    }

    fn value(&self, src: Src, thread: usize) -> u64 {
        value(self.cta, self.group, &self.state.info.vars, src, thread)
    }

    /// The generic address of a thread's access.
    fn address(&self, op: &MemOp, thread: usize) -> u64 {
        let address = self.value(op.addr, thread).wrapping_add_signed(op.offset);
        self.own(generic_address(op.space, address))
    }

    /// A generic address, without the rank of the CTA if that is the CTA's own.
    fn own(&self, generic: u64) -> u64 {
        let (place, base) = (self.cta.place, self.cta.place.base());
        let shared = base != 0 && compute::space_of(generic) == Space::Shared;
        match place.home(generic & 0xffff_ffff, false) {
            Ok(_) if shared => generic - base,
            _ => generic,
        }
    }
}

/// Bits of `low` ones.
const fn ones(low: u32) -> u64 {
    if low >= 64 { u64::MAX } else { (1 << low) - 1 }
}

impl Definedness {
    /// Begins a launch of a program.
    pub fn begin(&mut self, program: &Program) {
        self.ctas.clear();
        self.arrived.clear();
        self.known.clear();
        self.used.clear();
        self.rows = std::iter::zip(&program.module().functions, &program.functions)
            .map(|(function, info)| {
                let rows = function.regs.iter().flat_map(|reg| match reg.ty {
                    RegTy::B128 => vec![u64::MAX; 2],
                    ty => vec![ones(ty.bits())],
                });
                let mut rows: Vec<u64> = rows.collect();
                // Addresses of local variables, and what is discarded.
                rows.resize(info.rows as usize, 0);
                rows
            })
            .collect();
    }

    /// Ends a launch.
    pub fn end(&mut self) {
        self.ctas.clear();
        self.arrived.clear();
    }

    /// Returns whether everything could be followed.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        !self.lossy && self.memory.is_complete()
    }

    /// Executes up to `count` issues in the order of a schedule; `None` if it stops.
    pub fn run<const N: usize, S: Schedule<N>, O: Observer<N>>(
        &mut self,
        schedule: &mut S,
        program: &Program,
        state: &mut State<N>,
        observer: &mut O,
        count: u64,
    ) -> Option<Step<Cause, N>> {
        for _ in 0..count {
            let step = self.step(schedule, program, state, observer)?;
            if !matches!(step, Step::Issued) {
                return Some(step);
            }
        }
        Some(Step::Issued)
    }

    /// Executes one issue as the exact engine does.
    fn step<const N: usize, S: Schedule<N>, O: Observer<N>>(
        &mut self,
        schedule: &mut S,
        program: &Program,
        state: &mut State<N>,
        observer: &mut O,
    ) -> Option<Step<Cause, N>> {
        let path = match schedule.next(program, state, observer) {
            Ok(path) => path?,
            Err(end) => return Some(end),
        };
        let (slot, turn) = (state.turn.slot, Position::of(state));
        let after = self.before(program, state, &path);
        let step = engine::issue(program, state, path, observer);
        if matches!(step, Step::Issued) {
            self.after(program, state, slot, after);
            schedule.issued(program, state, &path, turn);
        }
        Some(step)
    }

    fn before<const N: usize>(
        &mut self,
        program: &Program,
        state: &State<N>,
        path: &Path<N>,
    ) -> After {
        let turn = state.turn;
        let (Some(code), Some(Some(cta))) = (program.at(path.pc), state.resident.get(turn.slot))
        else {
            return After::Nothing;
        };
        if path.lanes.is_empty() {
            return After::Nothing;
        }
        let mut bits = match self.ctas.remove(&cta.index) {
            Some(bits) => bits,
            None => {
                let resident =
                    |index: &u64| state.resident.iter().flatten().any(|c| c.index == *index);
                self.ctas.retain(|index, _| resident(index));
                self.arrived.retain(|(index, _), _| resident(index));
                CtaBits::new(cta, &self.rows[state.info.kernel as usize])
            }
        };
        let unmasked = path.lanes & cta.groups[turn.group].exec;
        let on = match code.guard {
            Some(guard) if !code.is_control() => guarded(cta, turn.group, unmasked, guard),
            _ => unmasked,
        };
        let mut at = At { state, cta, group: turn.group, pc: path.pc, on };
        let mut unsure = SmallVec::<[(usize, Bits); 4]>::new();
        if let Some(GuardRow { row, .. }) = code.guard {
            at.on = unmasked;
            if code.is_control() || has_effects(&code.exec) {
                self.decide(&mut bits, &at, Src::Row(row), Decides::Branch);
            } else {
                let guards = at.threads().map(|thread| (thread, bits.row(cta, row, thread)));
                unsure.extend(guards.filter(|(_, guard)| guard.any()));
            }
            at.on = on;
        }
        let after = self.execute(&mut bits, program, &at, code, path.lanes);
        for (thread, guard) in unsure {
            // Whether the result was written is not known.
            for &row in results(&code.exec) {
                let all = self.rows[code.function as usize].get(row as usize);
                let all = Bits { bits: all.copied().unwrap_or(0), ..guard };
                bits.set_row(cta, row, thread, all);
            }
        }
        self.ctas.insert(cta.index, bits);
        after
    }

    fn execute<const N: usize>(
        &mut self,
        bits: &mut CtaBits,
        program: &Program,
        at: &At<'_, N>,
        code: &Code,
        lanes: LaneMask<N>,
    ) -> After {
        match &code.exec {
            Exec::Lanes(op) if !op.uniform => compute(bits, at, op),
            Exec::Load(op) => self.load(bits, at, op),
            Exec::Store(op) => {
                self.store(bits, at, op);
                self.define_remote(at, op, op.values.len() as u64 * op.width.bytes());
            }
            Exec::Atomic(op) => {
                self.atomic(bits, at, op);
                self.define_remote(at, &op.mem, u64::from(op.mem.size * op.elements));
            }
            Exec::Bulk(op) => self.bulk(bits, at, op),
            Exec::Tensor(op) => self.tensor(bits, at, op),
            Exec::Texture(op) => self.texture(bits, at, op),
            Exec::AsyncStore(op) => {
                self.decide(bits, at, op.mem.addr, Decides::Address);
                self.decide(bits, at, op.barrier, Decides::Address);
                for thread in at.threads() {
                    let len = op.mem.values.len() as u64 * op.mem.width.bytes();
                    let to = at.value(op.mem.addr, thread).wrapping_add_signed(op.mem.offset);
                    let to = generic_address(op.mem.space, to);
                    self.define_bytes(bits, at, to, len);
                }
            }
            Exec::Copy(op) => self.copy(bits, at, op),
            Exec::Mbarrier(op) => {
                self.decide(bits, at, op.mem.addr, Decides::Address);
                if matches!(op.kind, MbarrierKind::Init { .. }) {
                    for thread in at.threads() {
                        self.write(bits, at, &op.mem, thread, (0, &[0; 8], OriginId::UNWRITTEN));
                    }
                }
                define(bits, at, &op.mem.rows);
            }
            Exec::Collective(op) => {
                self.arrive(bits, at, op);
                return After::Collective;
            }
            Exec::Bar { dst, id, count, .. } => {
                self.decide(bits, at, *id, Decides::Branch);
                count.iter().for_each(|&count| self.decide(bits, at, count, Decides::Branch));
                define(bits, at, dst.as_slice());
            }
            Exec::Mask(MaskOp::AndSave { pred, .. } | MaskOp::AndNot(pred)) | Exec::Split(pred) => {
                self.decide(bits, at, *pred, Decides::Branch);
            }
            Exec::MaskBr { mask: MaskBrSrc::Pred(row), .. } => {
                self.decide(bits, at, Src::Row(*row), Decides::Branch);
            }
            Exec::Switch { index, .. } => self.decide(bits, at, *index, Decides::Branch),
            Exec::Call(op) => return self.call(bits, at, op, lanes),
            Exec::Ret if !program.functions[code.function as usize].kernel => {
                return returned(bits, program, at, code);
            }
            Exec::Ret | Exec::Exit => return After::Collective,
            Exec::Malloc { dst, size } => {
                self.decide(bits, at, *size, Decides::Address);
                define(bits, at, &[*dst]);
                let sizes = at.threads().map(|thread| (thread, at.value(*size, thread)));
                return After::Malloc(*dst, sizes.collect());
            }
            Exec::Printf { dst, format, args } => {
                self.decide(bits, at, *format, Decides::Address);
                self.decide(bits, at, *args, Decides::Address);
                self.print(bits, at, *format, *args);
                define(bits, at, dst.as_slice());
            }
            Exec::Free(src) => self.decide(bits, at, *src, Decides::Address),
            other => define(bits, at, results(other)),
        }
        After::Nothing
    }

    /// Reports the threads for which an operand is undefined. It counts as defined from then on, so
    /// that one mistake is reported once.
    fn decide<const N: usize>(
        &mut self,
        bits: &mut CtaBits,
        at: &At<'_, N>,
        src: Src,
        decides: Decides,
    ) {
        let Src::Row(row) = src else { return };
        for thread in at.threads() {
            let found = bits.row(at.cta, row, thread);
            if !found.any() {
                continue;
            }
            bits.set_row(at.cta, row, thread, Bits::DEFINED);
            self.report(at, found.origin, decides, thread);
        }
    }

    /// Reports that an undefined value of a thread decides something.
    fn report<const N: usize>(
        &mut self,
        at: &At<'_, N>,
        origin: OriginId,
        decides: Decides,
        thread: usize,
    ) {
        match self.used.get(&(origin, at.pc)) {
            Some(&known) => self.uses[known].count += 1,
            None if self.uses.len() >= MOST => self.lossy = true,
            None => {
                self.used.insert((origin, at.pc), self.uses.len());
                self.uses.push(UndefinedUse {
                    origin: self.origin(origin),
                    launch: self.launch,
                    pc: at.pc,
                    decides,
                    thread: (at.cta.index, thread as u32),
                    count: 1,
                });
            }
        }
    }

    fn after<const N: usize>(
        &mut self,
        program: &Program,
        state: &State<N>,
        slot: usize,
        after: After,
    ) {
        // A CTA that has ended has nothing left to follow.
        let Some(Some(cta)) = state.resident.get(slot) else { return };
        let Some(mut bits) = self.ctas.remove(&cta.index) else { return };
        match after {
            After::Nothing => {}
            After::Collective => self.leave(&mut bits, program, state, cta),
            After::Call(calls) => self.enter(&mut bits, program, cta, calls),
            After::Return(threads) => {
                for (thread, pc, results) in threads {
                    let Exec::Call(call) = &program.code[pc.0 as usize - 1].exec else { continue };
                    for (&row, result) in call.results.iter().zip(results) {
                        bits.set_row(cta, row, thread, result);
                    }
                }
            }
            After::Malloc(row, sizes) => {
                for (thread, size) in sizes {
                    let address = cta.row(row, thread);
                    if address != 0 {
                        self.memory.allocate(address, size);
                    }
                }
            }
        }
        self.ctas.insert(cta.index, bits);
    }
}

/// Whether an instruction does more than to compute results.
fn has_effects(exec: &Exec) -> bool {
    !matches!(
        exec,
        Exec::Lanes(_) | Exec::Sreg { .. } | Exec::Load(_) | Exec::Alloca { .. } | Exec::Nop
    )
}

/// The rows that an instruction writes.
fn results(exec: &Exec) -> &[u32] {
    match exec {
        Exec::Lanes(op) if !op.uniform => &op.dst,
        Exec::Sreg { dst, .. } | Exec::Alloca { dst, .. } => std::slice::from_ref(dst),
        Exec::Load(op) => &op.rows,
        Exec::Texture(op) => &op.mem.rows,
        Exec::Printf { dst: Some(dst), .. } => std::slice::from_ref(dst),
        Exec::Mask(MaskOp::PredOf { dst, .. } | MaskOp::Fill { dst, .. }) => {
            std::slice::from_ref(dst)
        }
        _ => &[],
    }
}

/// Makes rows defined.
fn define<const N: usize>(bits: &mut CtaBits, at: &At<'_, N>, rows: &[u32]) {
    for thread in at.threads() {
        for &row in rows {
            bits.set_row(at.cta, row, thread, Bits::DEFINED);
        }
    }
}

/// A computation in each lane.
fn compute<const N: usize>(bits: &mut CtaBits, at: &At<'_, N>, op: &LaneOp) {
    for thread in at.threads() {
        let undefined = op.src.iter().map(|&src| bits.source(at.cta, src, thread));
        let undefined: SmallVec<[Bits; 4]> = undefined.collect();
        let Some(first) = undefined.iter().find(|bits| bits.any()) else {
            for &row in &op.dst {
                bits.set_row(at.cta, row, thread, Bits::DEFINED);
            }
            continue;
        };
        let sources = op.src.iter().zip(&undefined).enumerate().map(|(i, (&src, undefined))| {
            let key = if let Src::Row(row) = src { u64::from(row) } else { 1 << 32 | i as u64 };
            vary::Source { value: at.value(src, thread), bits: undefined.bits, key }
        });
        let sources: SmallVec<[vary::Source; 4]> = sources.collect();
        let (rows, count) = vary::varied(&sources);
        let mut computed = vec![0; op.dst.len() * count];
        op.computation.run(&rows, &mut computed, count);
        for (&row, computed) in op.dst.iter().zip(computed.chunks(count)) {
            let bits_of = vary::differing(computed);
            bits.set_row(at.cta, row, thread, Bits { bits: bits_of, origin: first.origin });
        }
    }
}
