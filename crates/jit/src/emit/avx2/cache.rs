//! What the vector registers hold while a chunk of a group of steps is compiled.
//!
//! A register holds a chunk of a row, in front of memory: changed ones are brought back when the
//! register is needed or the chunk ends, unless nobody reads the row any more.

use iced_x86::Register;

/// Vector registers.
const COUNT: usize = 16;

/// What a register holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// The chunk of a row of 32-bit values.
    Narrow(u32),
    /// Half the chunk of a row of 64-bit values.
    Wide(u32, usize),
    /// A scalar in all lanes, of 32 or 64 bits.
    Word(u32),
    Quad(u32),
    /// A predicate: all bits of lanes where it holds, or where it does not.
    Pred(u32, bool),
    /// The lanes that are on, by 32-bit lanes.
    On,
}

/// One register.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) key: Option<Key>,
    /// Whether memory has to be written yet.
    pub(super) dirty: bool,
    /// Whether the instruction being compiled uses it.
    pub(super) pinned: bool,
    /// The step that reads it next: [`NEVER`] if none does.
    pub(super) next: usize,
    /// Whether it is known that memory has to have it in the end.
    kept: bool,
}

/// No step.
pub(super) const NEVER: usize = usize::MAX;

/// A register that holds nothing.
const FREE: Slot = Slot { key: None, dirty: false, pinned: false, next: NEVER, kept: false };

/// All registers.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    slots: [Slot; COUNT],
}

impl Default for Cache {
    fn default() -> Self {
        Self { slots: [FREE; COUNT] }
    }
}

/// The registers of slots.
pub(super) fn register(slot: usize) -> Register {
    Register::YMM0 + slot as u32
}

/// The slots of registers.
fn slot(register: Register) -> usize {
    register as usize - Register::YMM0 as usize
}

impl Cache {
    /// The register that holds something; it stays until the instruction is complete.
    pub(super) fn find(&mut self, key: Key) -> Option<Register> {
        let found = self.slots.iter().position(|s| s.key == Some(key))?;
        self.slots[found].pinned = true;
        Some(register(found))
    }

    /// The slot to use next: a free one, or that whose contents are worth least. It is pinned; what
    /// it held has to be seen to.
    pub(super) fn take(&mut self, worth: impl Fn(Key, usize) -> usize) -> (Register, Slot) {
        let worth = |s: &Slot| s.key.map_or(0, |k| worth(k, s.next) + 1 + usize::from(s.dirty));
        let free = self.slots.iter().enumerate().filter(|(_, s)| !s.pinned);
        // No instruction uses them all.
        let chosen = free.min_by_key(|(_, s)| worth(s)).map(|(i, _)| i);
        debug_assert!(chosen.is_some(), "an instruction uses all registers");
        let chosen = chosen.unwrap_or(0);
        let before = self.slots[chosen];
        self.slots[chosen] = Slot { pinned: true, ..FREE };
        (register(chosen), before)
    }

    /// A register holds something from now on, and no other does.
    pub(super) fn hold(&mut self, register: Register, key: Key, dirty: bool, next: usize) {
        for other in &mut self.slots {
            let same = match (other.key, key) {
                (Some(Key::Pred(a, _)), Key::Pred(b, _)) => a == b,
                (held, key) => held == Some(key),
            };
            if same {
                *other = Slot { pinned: other.pinned, ..FREE };
            }
        }
        self.slots[slot(register)] =
            Slot { key: Some(key), dirty, pinned: true, next, kept: false };
    }

    /// A scratch register is not needed any more.
    pub(super) fn free(&mut self, register: Register) {
        let slot = &mut self.slots[slot(register)];
        if slot.key.is_none() {
            slot.pinned = false;
        }
    }

    /// A step is complete: `next` says which one reads next what has been read in it, and whether
    /// memory has to have what changed.
    pub(super) fn pass(&mut self, now: usize, next: impl Fn(Key) -> (usize, bool)) {
        for slot in &mut self.slots {
            slot.pinned = false;
            let Some(key @ (Key::Narrow(_) | Key::Wide(..))) = slot.key else { continue };
            if slot.next <= now || slot.next == NEVER && !slot.kept {
                let (next, wanted) = next(key);
                (slot.next, slot.kept) = (next, wanted);
                if next == NEVER && !(slot.dirty && wanted) {
                    *slot = FREE;
                }
            }
        }
    }

    /// Registers are in use.
    pub(super) fn pin(&mut self, registers: &[Register]) {
        registers.iter().for_each(|&r| self.slots[slot(r)].pinned = true);
    }

    /// The instruction is complete.
    pub(super) fn unpin(&mut self) {
        self.slots.iter_mut().for_each(|s| s.pinned = false);
    }

    /// Forgets what belongs to the chunk; what memory lacks of it.
    pub(super) fn end_chunk(&mut self) -> Vec<(Register, Key)> {
        let mut dirty = Vec::new();
        for (i, slot) in self.slots.iter_mut().enumerate() {
            if let (Some(key), true) = (slot.key, slot.dirty) {
                dirty.push((register(i), key));
            }
            if !matches!(slot.key, Some(Key::Word(_) | Key::Quad(_))) {
                slot.key = None;
            }
            *slot = Slot { key: slot.key, ..FREE };
        }
        dirty
    }
}
