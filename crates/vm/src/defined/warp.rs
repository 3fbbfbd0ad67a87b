//! Collectives of the warp: their results depend on what other lanes brought, and are there when
//! the last lane has come.

use simt::LaneMask;
use simt::memory::AccessKind;
use smallvec::SmallVec;

use super::cta::{Bits, CtaBits};
use super::{At, Decides, Definedness, OriginId, vary};
use crate::code::{CollectiveKind, CollectiveOp, Exec};
use crate::collective::results;
use crate::matrix::{Matrix, Pieces, Values};
use crate::program::Program;
use crate::state::{Cta, State};
use simt::Pc;
use simt::matrix::LANES;

/// What a lane has brought to a collective.
#[derive(Clone, Debug)]
pub(super) struct Arrived {
    pc: Pc,
    members: u64,
    values: SmallVec<[u64; 4]>,
    undefined: SmallVec<[Bits; 4]>,
    /// The memory that it accesses, for instructions on matrices.
    pieces: Pieces,
}

impl Definedness {
    /// Lanes come to a collective.
    pub(super) fn arrive<const N: usize>(
        &mut self,
        bits: &mut CtaBits,
        at: &At<'_, N>,
        op: &CollectiveOp,
    ) {
        op.members.iter().for_each(|&members| self.decide(bits, at, members, Decides::Branch));
        if let Some(mem) = &op.mem {
            self.decide(bits, at, mem.addr, Decides::Address);
        }
        for thread in at.threads() {
            let undefined = op.src.iter().map(|&src| bits.source(at.cta, src, thread)).collect();
            let values: SmallVec<[u64; 4]> =
                op.src.iter().map(|&src| at.value(src, thread)).collect();
            let members = op.members.map_or(0, |members| at.value(members, thread));
            let pieces = match (&op.mem, op.kind) {
                (Some(mem), CollectiveKind::Matrix(matrix)) => {
                    let address = at.value(mem.addr, thread).wrapping_add_signed(mem.offset);
                    let stride = values.first().copied().unwrap_or(0);
                    let mut pieces = matrix.pieces(thread % LANES, address, stride);
                    for piece in &mut pieces {
                        piece.at = crate::access::generic_address(mem.space, piece.at);
                    }
                    pieces
                }
                _ => Pieces::new(),
            };
            let arrived = Arrived { pc: at.pc, members, values, undefined, pieces };
            self.arrived.insert((at.cta.index, thread), arrived);
        }
    }

    /// Lanes that no longer wait have left their collectives, whose results are written.
    pub(super) fn leave<const N: usize>(
        &mut self,
        bits: &mut CtaBits,
        program: &Program,
        state: &State<N>,
        cta: &Cta<N>,
    ) {
        let mut gone: Vec<(usize, Arrived)> = Vec::new();
        let left = |(index, thread): &(u64, usize)| {
            *index == cta.index && cta.parked.get(*thread).is_none_or(Option::is_none)
        };
        let keys: SmallVec<[(u64, usize); 32]> =
            self.arrived.keys().filter(|key| left(key)).copied().collect();
        for key in keys {
            gone.extend(self.arrived.remove(&key).map(|arrived| (key.1, arrived)));
        }
        gone.sort_by_key(|(thread, arrived)| {
            (thread / state.info.warp as usize, arrived.pc, arrived.members, *thread)
        });
        let warp = |thread: usize| thread / state.info.warp as usize;
        let same = |a: &(usize, Arrived), b: &(usize, Arrived)| {
            (warp(a.0), a.1.pc, a.1.members) == (warp(b.0), b.1.pc, b.1.members)
        };
        for meeting in gone.chunk_by(same) {
            let Some(Exec::Collective(op)) =
                program.code.get(meeting[0].1.pc.0 as usize).map(|code| &code.exec)
            else {
                continue;
            };
            self.finish(bits, state, cta, op, meeting);
        }
    }

    fn finish<const N: usize>(
        &mut self,
        bits: &mut CtaBits,
        state: &State<N>,
        cta: &Cta<N>,
        op: &CollectiveOp,
        meeting: &[(usize, Arrived)],
    ) {
        if let CollectiveKind::Matrix(matrix) = op.kind {
            return self.matrix(bits, state, cta, (op, matrix), meeting);
        }
        if let CollectiveKind::WarpGroup(_) = op.kind {
            // Products have effect later; what they read of memory is not followed.
            for (thread, _) in meeting {
                op.dst.iter().for_each(|&row| bits.set_row(cta, row, *thread, Bits::DEFINED));
            }
            return;
        }
        let defined = meeting.iter().all(|(_, a)| a.undefined.iter().all(|bits| !bits.any()));
        let warp = state.info.warp;
        let lane_of = |thread: usize| thread % warp as usize;
        let on: LaneMask<1> = meeting.iter().map(|(thread, _)| lane_of(*thread)).collect();
        let mut computed = [(0, 0); 32];
        let mut origin = OriginId::UNWRITTEN;
        if !defined {
            let (mut values, mut undefined) = (vec![0; 96], vec![Bits::DEFINED; 96]);
            for (thread, arrived) in meeting {
                let at = 3 * lane_of(*thread);
                for i in 0..arrived.values.len().min(3) {
                    values[at + i] = arrived.values[i];
                    undefined[at + i] = arrived.undefined[i];
                }
                let first = arrived.undefined.iter().find(|bits| bits.any());
                origin = first.map_or(origin, |bits| bits.origin);
            }
            let run = |values: &[u64]| {
                let lane = |lane: usize| [0, 1, 2].map(|i| values[3 * lane + i]);
                let results = results(op.kind, warp, on, &std::array::from_fn(lane));
                results.iter().flat_map(|&(a, b)| [a, b]).collect()
            };
            let differing = vary::vary(&values, &undefined, run);
            computed = std::array::from_fn(|lane| (differing[2 * lane], differing[2 * lane + 1]));
        }
        for (thread, arrived) in meeting {
            let (first, second) = computed[lane_of(*thread)];
            // A shuffled value comes from another lane: it has the origin of what came in.
            let own = arrived.undefined.iter().find(|bits| bits.any());
            let origin = own.map_or(origin, |bits| bits.origin);
            for (&row, differing) in op.dst.iter().zip([first, second]) {
                bits.set_row(cta, row, *thread, Bits { bits: differing, origin });
            }
        }
    }

    /// An instruction on matrices, by a whole warp.
    fn matrix<const N: usize>(
        &mut self,
        bits: &mut CtaBits,
        state: &State<N>,
        cta: &Cta<N>,
        (op, matrix): (&CollectiveOp, Matrix),
        meeting: &[(usize, Arrived)],
    ) {
        let Some((first, arrived)) = meeting.first().filter(|_| meeting.len() == LANES) else {
            return;
        };
        let (first, pc) = (*first, arrived.pc);
        let all = meeting.iter().flat_map(|(_, arrived)| &arrived.undefined);
        let undefined = all.clone().find(|bits| bits.any());
        let mut origin = undefined.map_or(OriginId::UNWRITTEN, |bits| bits.origin);
        let row = |of: &dyn Fn(&Arrived) -> u64| {
            std::array::from_fn::<u64, LANES, _>(|lane| of(&meeting[lane].1))
        };
        let results: Vec<[u64; LANES]> = if op.mem.is_none() {
            if undefined.is_none() {
                vec![[0; LANES]; op.dst.len()]
            } else {
                let values: Vec<u64> =
                    (0..op.src.len()).flat_map(|i| row(&|a| a.values[i])).collect();
                let undefined: Vec<Bits> = (0..op.src.len())
                    .flat_map(|i| meeting.iter().map(move |(_, a)| a.undefined[i]))
                    .collect();
                let run = |values: &[u64]| {
                    let rows: Vec<[u64; LANES]> = values
                        .chunks(LANES)
                        .map(|row| std::array::from_fn(|lane| row[lane]))
                        .collect();
                    matrix.computed(state.info.matrix_sums, &rows).concat()
                };
                let differing = vary::vary(&values, &undefined, run);
                let lanes = differing.chunks(LANES);
                lanes.map(|row| std::array::from_fn(|lane| row[lane])).collect()
            }
        } else if matrix.stores() {
            // The elements of a store are moved, and so are their bits.
            let skip = matrix.address_operands() - 1;
            let rows: Vec<[u64; LANES]> =
                (skip..op.src.len()).map(|i| row(&|a| a.undefined[i].bits)).collect();
            for ((thread, arrived), values) in meeting.iter().zip(matrix.stored(&rows)) {
                for (piece, value) in arrived.pieces.iter().zip(values) {
                    let undefined = &value.to_le_bytes()[..piece.bytes.min(16) as usize];
                    self.write_at(bits, piece.at, *thread, undefined, origin);
                }
            }
            return;
        } else {
            let at = At { state, cta, group: 0, pc, on: LaneMask::EMPTY };
            let mut values: [Values; LANES] = std::array::from_fn(|_| Values::new());
            for ((thread, arrived), values) in meeting.iter().zip(&mut values) {
                for piece in &arrived.pieces {
                    let mut out = [0; 16];
                    let part = &mut out[..piece.bytes.min(16) as usize];
                    let place = (piece.at, AccessKind::Load);
                    let found = self.read_at(bits, &at, place, *thread, part);
                    let undefined = u128::from_le_bytes(out);
                    if undefined != 0 {
                        origin = found;
                    }
                    values.push(undefined);
                }
            }
            matrix.loaded(&values)
        };
        for (&row, lanes) in op.dst.iter().zip(&results) {
            for (lane, &differing) in lanes.iter().enumerate() {
                bits.set_row(cta, row, first + lane, Bits { bits: differing, origin });
            }
        }
    }
}
