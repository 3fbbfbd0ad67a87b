//! Hazards as they happen: conflicts between two instructions of one packet, lane by lane and byte
//! by byte.
//!
//! A packet is a promise that its instructions are independent, whatever the timing. So all pairs
//! of a packet count, even where the latencies of this machine happen to save the result.

use std::fmt;

use simt::mask::WarpMask;

use crate::counts::participants;
use crate::hazard::{HazardKind, between};
use crate::op::{Insn, Op};
use crate::timing::execute::{addresses, stores};
use crate::timing::flight::Flight;

/// Most hazards that are kept; all are counted.
const KEPT: usize = 64;

/// A hazard that happened in a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Met {
    /// Block.
    pub block: u64,
    /// Warp of the block.
    pub warp: u32,
    /// Address of the earlier instruction.
    pub first: u32,
    /// Address of the later one.
    pub second: u32,
    /// The kind of hazard.
    pub kind: HazardKind,
}

impl fmt::Display for Met {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { block, warp, first, second, kind } = self;
        write!(f, "block {block}, warp {warp}: {kind}, {first:#x} and {second:#x} in one packet")
    }
}

/// An instruction of the packet at hand.
#[derive(Clone, Debug)]
struct Seen {
    pc: u32,
    insn: Insn,
    on: WarpMask,
}

/// Bytes that an instruction of the packet accessed.
#[derive(Clone, Debug)]
struct Accessed {
    pc: u32,
    store: bool,
    bytes: Vec<(u32, u32)>,
}

#[derive(Clone, Debug, Default)]
struct Packet {
    seen: Vec<Seen>,
    accessed: Vec<Accessed>,
}

/// The checker of the faithful mode.
#[derive(Clone, Debug)]
pub(crate) struct Watcher {
    packets: Vec<Packet>,
    met: Vec<Met>,
    pub(crate) count: u64,
}

/// A packet longer than this has no end; its start is forgotten.
const LONGEST: usize = 256;

impl Watcher {
    pub(crate) fn new(warps: usize) -> Self {
        Self { packets: vec![Packet::default(); warps], met: Vec::new(), count: 0 }
    }

    pub(crate) fn met(&self) -> &[Met] {
        &self.met
    }

    fn note(&mut self, id: simt::observe::GroupId, first: u32, second: u32, kind: HazardKind) {
        self.count += 1;
        let met = Met { block: id.cta, warp: id.group, first, second, kind };
        if self.met.len() < KEPT && !self.met.contains(&met) {
            self.met.push(met);
        }
    }

    /// Forgets the warp's packet, all of which has been written.
    pub(crate) fn drained(&mut self, slot: usize) {
        self.packets[slot] = Packet::default();
    }

    /// Records an instruction that was decoded: its mask is known.
    pub(crate) fn decoded(&mut self, flight: &Flight, id: simt::observe::GroupId) {
        let on = participants(&flight.insn, flight.predicate, flight.live);
        let packet = &mut self.packets[flight.slot];
        if packet.seen.len() >= LONGEST {
            packet.seen.remove(0);
        }
        let now = Seen { pc: flight.pc, insn: flight.insn, on };
        let together = |seen: &Seen| {
            let kinds = between(&seen.insn, &now.insn).into_iter();
            kinds
                .filter(|&kind| happens(kind, seen, &now))
                .map(|k| (seen.pc, k))
                .collect::<Vec<_>>()
        };
        let found: Vec<(u32, HazardKind)> = packet.seen.iter().flat_map(together).collect();
        packet.seen.push(now);
        for (first, kind) in found {
            self.note(id, first, flight.pc, kind);
        }
    }

    /// Records a load or store that was served.
    pub(crate) fn accessed(&mut self, flight: &Flight, id: simt::observe::GroupId) {
        let Some((on, addresses, size)) = addresses(flight) else { return };
        let store = stores(&flight.insn);
        let mut bytes: Vec<(u32, u32)> = on.iter().map(|lane| (addresses[lane], size)).collect();
        bytes.sort_unstable();
        bytes.dedup();
        let packet = &mut self.packets[flight.slot];
        let meets = |a: &Accessed| (a.store || store) && overlap(&a.bytes, &bytes);
        let found: Vec<u32> = packet.accessed.iter().filter(|a| meets(a)).map(|a| a.pc).collect();
        if packet.accessed.len() >= LONGEST {
            packet.accessed.remove(0);
        }
        packet.accessed.push(Accessed { pc: flight.pc, store, bytes });
        for first in found {
            self.note(id, first, flight.pc, HazardKind::Memory);
        }
    }
}

/// Returns whether a hazard between two instructions happens with their lanes.
fn happens(kind: HazardKind, first: &Seen, second: &Seen) -> bool {
    match kind {
        HazardKind::Read(_) | HazardKind::Overwrite(_) | HazardKind::EarlyWrite(_) => {
            !first.on.is_disjoint(&second.on)
        }
        // A `halt` that retires no lane is harmless.
        HazardKind::Halt => first.insn.op == Op::Halt && first.on.any(),
        // Addresses decide, when they are known.
        HazardKind::Memory => false,
        _ => true,
    }
}

/// Returns whether two sorted lists of accesses have a byte in common.
fn overlap(a: &[(u32, u32)], b: &[(u32, u32)]) -> bool {
    let (mut i, mut j) = (0, 0);
    while let (Some(&(x, m)), Some(&(y, n))) = (a.get(i), b.get(j)) {
        let (x, y) = (u64::from(x), u64::from(y));
        if x + u64::from(m) <= y {
            i += 1;
        } else if y + u64::from(n) <= x {
            j += 1;
        } else {
            return true;
        }
    }
    false
}
