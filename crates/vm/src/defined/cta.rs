//! Which bits of registers, shared and local memory of a CTA are undefined.

use rustc_hash::FxHashMap;

use super::OriginId;
use crate::code::Src;
use crate::state::Cta;

/// Undefined bits with the origin of the value that has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Bits {
    pub(super) bits: u64,
    pub(super) origin: OriginId,
}

impl Bits {
    pub(super) const DEFINED: Self = Self { bits: 0, origin: OriginId::UNWRITTEN };

    pub(super) fn any(self) -> bool {
        self.bits != 0
    }
}

/// Memory of a CTA or a thread, of which nothing is defined at first.
#[derive(Clone, Debug, Default)]
pub(super) struct OwnMemory {
    /// Undefined bits; bytes beyond the end are undefined.
    bits: Vec<u8>,
    /// By granule of 8 bytes.
    origins: FxHashMap<u32, OriginId>,
}

/// Most bytes of such a memory.
const MOST: u64 = 1 << 24;

impl OwnMemory {
    pub(super) fn read(&self, at: u64, out: &mut [u8]) -> Option<OriginId> {
        let mut origin = None;
        for (i, bits) in out.iter_mut().enumerate() {
            let at = at + i as u64;
            *bits = self.bits.get(at as usize).copied().unwrap_or(0xff);
            if *bits != 0 && origin.is_none() {
                origin = self.origins.get(&((at / 8) as u32)).copied();
            }
        }
        origin
    }

    pub(super) fn write(&mut self, at: u64, bits: &[u8], origin: OriginId) {
        let end = at + bits.len() as u64;
        if end > MOST {
            return;
        }
        if self.bits.len() < end as usize {
            self.bits.resize(end as usize, 0xff);
        }
        self.bits[at as usize..end as usize].copy_from_slice(bits);
        for granule in at / 8..end.div_ceil(8) {
            self.origins.remove(&(granule as u32));
            if bits.iter().any(|&bits| bits != 0) && origin != OriginId::UNWRITTEN {
                self.origins.insert(granule as u32, origin);
            }
        }
    }

    /// Makes bytes defined, which something else than the CTA's instructions has written.
    pub(super) fn define(&mut self, at: u64, len: u64) {
        self.write(at, &vec![0; len.min(MOST) as usize], OriginId::UNWRITTEN);
    }

    /// Makes bytes undefined, as those of a new frame are.
    pub(super) fn forget(&mut self, start: u64, end: u64) {
        let known = self.bits.len() as u64;
        self.bits[start.min(known) as usize..end.min(known) as usize].fill(0xff);
        self.origins.retain(|&granule, _| {
            let at = u64::from(granule) * 8;
            at + 8 <= start || at >= end
        });
    }
}

/// The undefined bits of a CTA.
#[derive(Clone, Debug)]
pub(super) struct CtaBits {
    /// In the order of the register file.
    rows: Vec<u64>,
    origins: Vec<OriginId>,
    pub(super) shared: OwnMemory,
    pub(super) local: Vec<OwnMemory>,
}

impl CtaBits {
    /// The bits of a CTA that begins: no register has a value. `rows` are the bits that the rows of
    /// its kernel have.
    pub(super) fn new<const N: usize>(cta: &Cta<N>, rows: &[u64]) -> Self {
        let threads = cta.parked.len();
        let bits = rows.iter().flat_map(|&bits| std::iter::repeat_n(bits, threads)).collect();
        let origins = vec![OriginId::UNWRITTEN; rows.len() * threads];
        let local = vec![OwnMemory::default(); threads];
        Self { rows: bits, origins, shared: OwnMemory::default(), local }
    }

    pub(super) fn row<const N: usize>(&self, cta: &Cta<N>, row: u32, thread: usize) -> Bits {
        let at = cta.at(row, thread);
        match (self.rows.get(at), self.origins.get(at)) {
            (Some(&bits), Some(&origin)) => Bits { bits, origin },
            _ => Bits::DEFINED,
        }
    }

    pub(super) fn set_row<const N: usize>(
        &mut self,
        cta: &Cta<N>,
        row: u32,
        thread: usize,
        to: Bits,
    ) {
        let at = cta.at(row, thread);
        if self.rows.len() <= at {
            if !to.any() {
                return;
            }
            self.rows.resize(cta.file.len().max(at + 1), 0);
            self.origins.resize(self.rows.len(), OriginId::UNWRITTEN);
        }
        self.rows[at] = to.bits;
        self.origins[at] = to.origin;
    }

    /// The undefined bits of an operand; what is not a row is defined.
    pub(super) fn source<const N: usize>(&self, cta: &Cta<N>, src: Src, thread: usize) -> Bits {
        match src {
            Src::Row(row) => self.row(cta, row, thread),
            Src::Const(_) | Src::Scalar(_) | Src::Var(..) => Bits::DEFINED,
        }
    }
}
