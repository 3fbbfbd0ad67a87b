//! Tile registers: four hands of eight tiles.
//!
//! A result is pushed on a hand; its oldest tile falls out. A tile's storage has an id that stays
//! while it lies in the queue, so that a kernel that has bound a tile keeps it when later tiles are
//! pushed.

/// Tiles of a hand.
const DEPTH: usize = 8;

/// All tiles, and the accumulator of the matrix unit.
#[derive(Clone, Debug)]
pub(crate) struct Tiles {
    /// Contents by storage id.
    storage: Vec<Vec<u8>>,
    /// Storage ids by hand, newest first.
    hands: [[u8; DEPTH]; 4],
    /// The accumulator: one value for each element, row by row.
    pub(crate) acc: Vec<u64>,
    /// Columns of the accumulator.
    pub(crate) acc_columns: usize,
    /// The type of the accumulator's values.
    pub(crate) acc_kind: Accumulator,
}

/// A type of the accumulator's values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Accumulator {
    #[default]
    Single,
    Double,
    Integer,
}

impl Default for Tiles {
    fn default() -> Self {
        let hand = |h: u8| std::array::from_fn(|k| h * DEPTH as u8 + k as u8);
        Self {
            storage: vec![Vec::new(); 4 * DEPTH],
            hands: [hand(0), hand(1), hand(2), hand(3)],
            acc: Vec::new(),
            acc_columns: 0,
            acc_kind: Accumulator::Single,
        }
    }
}

impl Tiles {
    /// The storage of the tile with an architectural id: hand times 8, plus its place in the queue.
    pub(crate) fn slot(&self, id: u8) -> u8 {
        self.hands[usize::from(id >> 3) & 3][usize::from(id) & 7]
    }

    /// Pushes a tile of zeros on a hand; returns its storage. The storage of the tile that falls
    /// out is reused.
    pub(crate) fn push(&mut self, hand: u8, bytes: u32) -> u8 {
        let hand = &mut self.hands[usize::from(hand) & 3];
        hand.rotate_right(1);
        let slot = hand[0];
        self.storage[usize::from(slot)] = vec![0; bytes as usize];
        slot
    }

    pub(crate) fn bytes(&self, slot: u8) -> &[u8] {
        self.storage.get(usize::from(slot)).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn bytes_mut(&mut self, slot: u8) -> &mut [u8] {
        self.storage.get_mut(usize::from(slot)).map_or(&mut [], Vec::as_mut_slice)
    }
}
