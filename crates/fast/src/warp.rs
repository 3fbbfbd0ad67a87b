//! The state of a warp, and its access by steps.

use crate::code::{Code, Dst, Guard, Src};
use crate::frames::Frame;
use crate::row::{LANES, Narrow, Wide, lanes};
use crate::stack::Stack;
use converge::mechanism::Order;

/// A warp of a resident CTA.
#[derive(Clone, Debug)]
pub(crate) struct Warp {
    pub(crate) narrow: Vec<Narrow>,
    pub(crate) wide: Vec<Wide>,
    pub(crate) preds: Vec<u32>,
    pub(crate) scalars: Vec<u64>,
    pub(crate) stack: Stack,
    pub(crate) first_thread: u32,
    pub(crate) launched: u32,
    pub(crate) exited: u32,
    /// Whether it waits at a barrier.
    pub(crate) parked: bool,
    /// The number of steps issued of the block at the top of the stack.
    pub(crate) resume: usize,
    /// Whether the warp is at its beginning although its fields, apart from registers, are still
    /// those of the last CTA.
    pub(crate) stale: bool,
    /// Frames of functions that may be entered again, the last one on top.
    pub(crate) frames: Vec<Frame>,
}

impl Warp {
    pub(crate) fn new(code: &Code, first_thread: u32, threads: u32, order: Option<Order>) -> Self {
        let launched = match threads - first_thread {
            0 => 0,
            n if n >= LANES as u32 => u32::MAX,
            n => (1 << n) - 1,
        };
        Self {
            narrow: vec![Narrow::ZERO; code.narrow as usize],
            wide: vec![Wide::ZERO; code.wide as usize],
            preds: vec![0; code.preds as usize],
            scalars: vec![0; code.scalars as usize],
            stack: Stack::new(code.entry, launched, order),
            first_thread,
            launched,
            exited: 0,
            parked: false,
            resume: 0,
            stale: false,
            frames: Vec::new(),
        }
    }

    /// Returns the bytes of its rows, masks and scalars.
    pub(crate) fn bytes(&self) -> usize {
        let rows = size_of_val(&self.narrow[..]) + size_of_val(&self.wide[..]);
        rows + size_of_val(&self.preds[..]) + size_of_val(&self.scalars[..])
    }

    /// Prepares the warp for another CTA. The position is reset only by [`Self::reset_position`],
    /// because a worker mostly keeps it itself.
    pub(crate) fn make_stale(&mut self) {
        self.stale = true;
        self.frames.clear();
    }

    /// Clears the registers that may be read before they are written.
    pub(crate) fn clear(&mut self, code: &Code) {
        for src in &code.cleared {
            match *src {
                Src::Narrow(i) => self.narrow[i as usize] = Narrow::ZERO,
                Src::Wide(i) => self.wide[i as usize] = Wide::ZERO,
                Src::Pair(low, high) => {
                    self.wide[low as usize] = Wide::ZERO;
                    self.wide[high as usize] = Wide::ZERO;
                }
                Src::Pred(i) => self.preds[i as usize] = 0,
                Src::Line(i, ..) => self.scalars[i as usize] = 0,
                Src::Const(_) | Src::ConstPair(..) => {}
            }
        }
    }

    /// Resets the position if that is still due.
    #[inline]
    pub(crate) fn reset_position(&mut self, code: &Code) {
        if std::mem::take(&mut self.stale) {
            self.stack.reset(code.entry, self.launched);
            self.exited = 0;
            self.parked = false;
            self.resume = 0;
        }
    }

    /// Reads an operand as 32-bit values.
    #[inline(always)]
    pub(crate) fn narrow(&self, src: Src) -> Narrow {
        match src {
            Src::Narrow(i) => self.narrow[i as usize],
            Src::Line(i, 0, _) => Narrow::splat(self.scalars[i as usize] as u32),
            Src::Line(i, stride, mask) => {
                Narrow::line(self.scalars[i as usize] as u32, stride as u32, mask as u32)
            }
            Src::Const(bits) | Src::ConstPair(bits, _) => Narrow::splat(bits as u32),
            Src::Wide(i) | Src::Pair(i, _) => self.wide[i as usize].narrow(),
            Src::Pred(i) => self.bits(self.preds[i as usize]),
        }
    }

    /// Does the same as [`Self::narrow`], but borrows the operand if it is a row; otherwise the
    /// result is in `room`.
    #[inline(always)]
    pub(crate) fn narrow_in<'r>(&'r self, src: Src, room: &'r mut Option<Narrow>) -> &'r Narrow {
        match src {
            Src::Narrow(i) => &self.narrow[i as usize],
            Src::Const(0) => &Narrow::ZERO,
            other => room.insert(self.narrow(other)),
        }
    }

    /// Does the same as [`Self::wide`], but borrows the operand if it is a row; otherwise the
    /// result is in `room`.
    #[inline(always)]
    pub(crate) fn wide_in<'r>(&'r self, src: Src, room: &'r mut Option<Wide>) -> &'r Wide {
        match src {
            Src::Wide(i) | Src::Pair(i, _) => &self.wide[i as usize],
            Src::Const(0) => &Wide::ZERO,
            other => room.insert(self.wide(other)),
        }
    }

    /// Reads an operand as 64-bit values; narrower ones are zero-extended.
    #[inline(always)]
    pub(crate) fn wide(&self, src: Src) -> Wide {
        match src {
            Src::Wide(i) | Src::Pair(i, _) => self.wide[i as usize],
            Src::Line(i, 0, _) => Wide::splat(self.scalars[i as usize]),
            Src::Line(i, stride, mask) => Wide::line(self.scalars[i as usize], stride as u64, mask),
            Src::Const(bits) | Src::ConstPair(bits, _) => Wide::splat(bits),
            Src::Narrow(i) => self.narrow[i as usize].wide(),
            Src::Pred(i) => self.bits(self.preds[i as usize]).wide(),
        }
    }

    fn bits(&self, mask: u32) -> Narrow {
        let mut out = Narrow::ZERO;
        for lane in 0..LANES {
            out.0[lane] = mask >> lane & 1;
        }
        out
    }

    /// Reads a predicate as a mask.
    #[inline(always)]
    pub(crate) fn pred(&self, src: Src) -> u32 {
        match src {
            Src::Pred(i) => self.preds[i as usize],
            Src::Line(i, ..) => mask_of(self.scalars[i as usize]),
            Src::Const(bits) => mask_of(bits),
            _ => 0,
        }
    }

    /// Returns the lanes of `lanes` in which a guard holds.
    #[inline(always)]
    pub(crate) fn guarded(&self, guard: &Guard, lanes: u32) -> u32 {
        let pred = self.pred(guard.pred);
        lanes & if guard.negated { !pred } else { pred }
    }

    /// Reads a scalar operand: the value of lane 0, which may be inactive.
    #[inline(always)]
    pub(crate) fn scalar(&self, src: Src) -> u64 {
        match src {
            Src::Line(i, ..) => self.scalars[i as usize],
            Src::Const(bits) | Src::ConstPair(bits, _) => bits,
            // Decoding gives scalar operations no other operands.
            _ => 0,
        }
    }

    /// Reads one lane of an operand.
    #[inline(always)]
    pub(crate) fn lane(&self, src: Src, lane: usize) -> u64 {
        match src {
            Src::Narrow(i) => u64::from(self.narrow[i as usize].0[lane]),
            Src::Wide(i) | Src::Pair(i, _) => self.wide[i as usize].0[lane],
            Src::Pred(i) => u64::from(self.preds[i as usize] >> lane & 1),
            Src::Line(i, stride, mask) => {
                let part = (lane as u64).wrapping_mul(stride as u64);
                self.scalars[i as usize].wrapping_add(part) & mask
            }
            Src::Const(bits) | Src::ConstPair(bits, _) => bits,
        }
    }

    #[inline(always)]
    pub(crate) fn put_narrow(&mut self, dst: u32, row: &Narrow, on: u32, blend: bool) {
        let to = &mut self.narrow[dst as usize];
        if blend && on != u32::MAX { to.blend(row, on) } else { *to = *row }
    }

    #[inline(always)]
    pub(crate) fn put_wide(&mut self, dst: u32, row: &Wide, on: u32, blend: bool) {
        let to = &mut self.wide[dst as usize];
        if blend && on != u32::MAX { to.blend(row, on) } else { *to = *row }
    }

    #[inline(always)]
    pub(crate) fn put_pred(&mut self, dst: u32, mask: u32, on: u32) {
        let to = &mut self.preds[dst as usize];
        *to = *to & !on | mask & on;
    }

    /// Writes one lane of a result.
    #[inline(always)]
    pub(crate) fn put_lane(&mut self, dst: Dst, lane: usize, value: u64) {
        match dst {
            Dst::None => {}
            Dst::Narrow(i) => self.narrow[i as usize].0[lane] = value as u32,
            Dst::Wide(i) | Dst::Pair(i, _) => self.wide[i as usize].0[lane] = value,
            Dst::Pred(i) => {
                let to = &mut self.preds[i as usize];
                *to = *to & !(1 << lane) | ((value & 1) as u32) << lane;
            }
            Dst::Scalar(i) => self.scalars[i as usize] = value,
        }
    }

    /// Writes one value to the active lanes.
    pub(crate) fn put_all(&mut self, dst: Dst, value: u64, on: u32) {
        match dst {
            Dst::None => {}
            Dst::Scalar(i) => self.scalars[i as usize] = value,
            Dst::Narrow(i) => self.narrow[i as usize].blend(&Narrow::splat(value as u32), on),
            Dst::Wide(i) | Dst::Pair(i, _) => self.wide[i as usize].blend(&Wide::splat(value), on),
            Dst::Pred(i) => self.put_pred(i, mask_of(value), on),
        }
    }

    /// Writes a value for each active lane.
    pub(crate) fn put_each(&mut self, dst: Dst, on: u32, value: impl Fn(usize) -> u64) {
        for lane in lanes(on) {
            self.put_lane(dst, lane, value(lane));
        }
    }
}

#[inline(always)]
fn mask_of(bit: u64) -> u32 {
    0u32.wrapping_sub((bit & 1) as u32)
}
