//! The lengths of jumps.
//!
//! A jump takes two bytes if its target is near, and five or six otherwise, and so moves all later
//! code. All jumps begin short, and those that do not reach their targets become long until all
//! do: none becomes short again, so this ends, with the least code.

use super::{Encoded, Label};

/// Bytes of a jump with a displacement of one byte.
const SHORT: usize = 2;

/// Code in which all jumps are long, and have no displacements yet.
#[derive(Debug, Default)]
pub(super) struct LongCode {
    pub(super) bytes: Vec<u8>,
    pub(super) jumps: Vec<Jump>,
    pub(super) labels: Vec<Bound>,
}

/// A jump or call in [`LongCode`].
#[derive(Debug)]
pub(super) struct Jump {
    /// Its offset.
    pub(super) start: usize,
    /// The offset of the next instruction. The displacement is the last four bytes before it.
    pub(super) end: usize,
    pub(super) target: Label,
}

/// A label in [`LongCode`].
#[derive(Debug)]
pub(super) struct Bound {
    pub(super) label: Label,
    pub(super) offset: usize,
    /// The number of jumps before it.
    pub(super) jumps: usize,
}

/// The opcode of a short jump, if a long one with this code has a short form.
fn short_opcode(long: &[u8]) -> Option<u8> {
    match *long {
        [0xe9, ..] => Some(0xeb),
        [0x0f, condition @ 0x80..=0x8f, ..] => Some(condition - 0x10),
        _ => None,
    }
}

impl LongCode {
    /// Returns the code with jumps to their labels, or the first of the jumps' labels that is not
    /// bound.
    pub(super) fn relaxed(&self) -> Result<Encoded, Label> {
        let targets = self.targets()?;
        let opcode = |jump: &Jump| short_opcode(&self.bytes[jump.start..]);
        let mut short: Vec<Option<u8>> = self.jumps.iter().map(opcode).collect();
        // The bytes that the jumps before each jump save.
        let mut saved = vec![0; self.jumps.len() + 1];
        loop {
            for (i, jump) in self.jumps.iter().enumerate() {
                let bytes = short[i].map_or(0, |_| jump.end - jump.start - SHORT);
                saved[i + 1] = saved[i] + bytes;
            }
            let mut changed = false;
            for (i, jump) in self.jumps.iter().enumerate() {
                let to = targets[i].offset - saved[targets[i].jumps];
                let displacement = to as isize - (jump.end - saved[i + 1]) as isize;
                if short[i].is_some() && i8::try_from(displacement).is_err() {
                    (short[i], changed) = (None, true);
                }
            }
            if !changed {
                break;
            }
        }
        let new = |bound: &Bound| bound.offset - saved[bound.jumps];
        let mut bytes = Vec::with_capacity(self.bytes.len() - saved[self.jumps.len()]);
        let mut done = 0;
        for (i, jump) in self.jumps.iter().enumerate() {
            bytes.extend_from_slice(&self.bytes[done..jump.start]);
            let displacement = new(targets[i]) as isize - (jump.end - saved[i + 1]) as isize;
            if let Some(opcode) = short[i] {
                bytes.extend([opcode, displacement as u8]);
            } else {
                bytes.extend_from_slice(&self.bytes[jump.start..jump.end - 4]);
                bytes.extend((displacement as i32).to_le_bytes());
            }
            done = jump.end;
        }
        bytes.extend_from_slice(&self.bytes[done..]);
        let offsets = self.labels.iter().map(|bound| (bound.label.0, new(bound) as u32));
        let mut offsets: Vec<(u64, u32)> = offsets.collect();
        offsets.sort_unstable();
        Ok(Encoded { bytes, offsets })
    }

    /// Returns where the label of each jump is bound.
    fn targets(&self) -> Result<Vec<&Bound>, Label> {
        let last = self.labels.iter().map(|bound| bound.label.0 as usize).max().unwrap_or(0);
        let mut bound = vec![None; last + 1];
        self.labels.iter().for_each(|b| bound[b.label.0 as usize] = Some(b));
        let of =
            |jump: &Jump| bound.get(jump.target.0 as usize).copied().flatten().ok_or(jump.target);
        self.jumps.iter().map(of).collect()
    }
}
