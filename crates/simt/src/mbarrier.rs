//! Barriers in memory: the state of an `mbarrier` object of PTX as one 64-bit word.
//!
//! The PTX ISA leaves the layout of the object open. Here it is, low bits first:
//!
//! | bits | field |
//! |---|---|
//! | 0 to 19 | arrivals that the current phase still waits for |
//! | 20 to 39 | arrivals that a phase begins with |
//! | 40 to 60 | bytes of transactions that the current phase waits for, in two's complement |
//! | 61 and 62 | number of the current phase, modulo 4; its parity is bit 61 |
//! | 63 | set in every valid object, so that a word of zeros is none |
//!
//! An object of the layout v1, which keeps reports, counts to 511: 9 bits of each count are used,
//! bit 63 is clear, and bits 29 to 39 are set, which no other word has with bits 9 to 19 clear but
//! by chance. Operations that report are those of fabrics, which are not supported: reports are
//! zero, and conditional phases complete with the primary ones.
//!
//! A phase completes when neither arrivals nor transactions are pending; the next one then begins
//! with the expected arrivals. `expect_tx` adds to the bytes and `complete_tx` takes from them;
//! bytes that complete before they are expected leave a negative number.
//!
//! The state that an arrival returns is the word before it. Two bits for the phase tell the current
//! phase, the one before it, and older ones apart.

use thiserror::Error;

/// The largest count of arrivals (PTX ISA, "Contents of the mbarrier object").
pub const MAX_COUNT: u32 = COUNT as u32;

/// The largest number of bytes of transactions that are pending, and that is named at once.
pub const MAX_TX: u32 = COUNT as u32;

/// The largest count of arrivals of an object with the layout v1.
pub const MAX_COUNT_V1: u32 = COUNT_V1 as u32;

const COUNT: u64 = (1 << 20) - 1;
const COUNT_V1: u64 = (1 << 9) - 1;
/// Bits of both counts that are set in an object with the layout v1.
const V1: u64 = (COUNT & !COUNT_V1) << EXPECTED;
/// The bits that tell it.
const LAYOUT: u64 = VALID | V1 | COUNT & !COUNT_V1;
const EXPECTED: u32 = 20;
const TX: u32 = 40;
const TRANSACTIONS: u64 = ((1 << 21) - 1) << TX;
const PHASE: u32 = 61;
const VALID: u64 = 1 << 63;

/// A use of a barrier that the PTX ISA leaves undefined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Misuse {
    /// There is no valid object at the place.
    #[error("it is not initialised")]
    NotInitialised,
    /// A count outside of its range.
    #[error("{0} arrivals: a count is 1 to {MAX_COUNT}")]
    Count(u32),
    /// A count outside of the range of the layout v1.
    #[error("{0} arrivals: a count of the layout v1 is 1 to {MAX_COUNT_V1}")]
    CountV1(u32),
    /// More arrivals than are pending, or a larger reduction of the expected ones than there are.
    #[error("{count} arrivals where {left} are left")]
    TooMany {
        /// Arrivals of the operation.
        count: u32,
        /// Arrivals that are left.
        left: u32,
    },
    /// Bytes of transactions that leave the range of the object.
    #[error(
        "{pending} bytes of transactions are pending: at most {MAX_TX} are possible, either way"
    )]
    Transactions {
        /// Bytes that would be pending.
        pending: i64,
    },
    /// An arrival with `noComplete` that completes the phase.
    #[error("an arrival with `noComplete` completes the phase")]
    Completes,
    /// A state that is of neither the current phase nor the one before it.
    #[error("the state is of neither the current phase nor the one before it")]
    State,
}

/// The effects of an arrival besides counting down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// The following phases expect that many arrivals fewer (`arrive_drop`).
    pub drop: bool,
    /// The phase must not complete (`noComplete`).
    pub no_complete: bool,
    /// The pending count first grows by the same number of arrivals (`cp.async.mbarrier.arrive`).
    pub counted: bool,
}

/// A valid barrier object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mbarrier(u64);

impl Mbarrier {
    /// The object whose phases take `count` arrivals each, in phase 0.
    ///
    /// # Errors
    /// [`Misuse::Count`] for a count of 0 or above [`MAX_COUNT`].
    pub fn new(count: u32) -> Result<Self, Misuse> {
        Self(VALID).with_counts(count)
    }

    /// The same with the layout v1.
    ///
    /// # Errors
    /// [`Misuse::CountV1`] for a count of 0 or above [`MAX_COUNT_V1`].
    pub fn new_v1(count: u32) -> Result<Self, Misuse> {
        Self(V1).with_counts(count)
    }

    fn with_counts(self, count: u32) -> Result<Self, Misuse> {
        self.check_count(count)?;
        let count = u64::from(count);
        Ok(Self(self.0 | count << EXPECTED | count))
    }

    /// Whether it has the layout v1.
    #[must_use]
    pub const fn is_v1(self) -> bool {
        self.0 & LAYOUT == V1
    }

    /// The bits of a count.
    const fn count_bits(self) -> u64 {
        if self.is_v1() { COUNT_V1 } else { COUNT }
    }

    fn check_count(self, count: u32) -> Result<(), Misuse> {
        match (1..=self.count_bits() as u32).contains(&count) {
            true => Ok(()),
            false if self.is_v1() => Err(Misuse::CountV1(count)),
            false => Err(Misuse::Count(count)),
        }
    }

    /// The object in a word of memory.
    ///
    /// # Errors
    /// [`Misuse::NotInitialised`] if the word is not an object.
    pub fn load(word: u64) -> Result<Self, Misuse> {
        let object = Self(word);
        match word & VALID != 0 || object.is_v1() {
            true => Ok(object),
            false => Err(Misuse::NotInitialised),
        }
    }

    /// The word of memory that holds it, which is also the state that an arrival returns.
    #[must_use]
    pub const fn word(self) -> u64 {
        self.0
    }

    /// Arrivals that the current phase still waits for.
    #[must_use]
    pub const fn pending(self) -> u32 {
        pending_count(self.0)
    }

    /// Arrivals that a phase begins with.
    #[must_use]
    pub const fn expected(self) -> u32 {
        (self.0 >> EXPECTED & self.count_bits()) as u32
    }

    /// Bytes of transactions that the current phase waits for; negative if more have completed
    /// than were expected.
    #[must_use]
    pub const fn transactions(self) -> i64 {
        ((self.0 & TRANSACTIONS) << (64 - TX - 21)) as i64 >> 43
    }

    /// Number of the current phase, modulo 4.
    #[must_use]
    pub const fn phase(self) -> u64 {
        self.0 >> PHASE & 3
    }

    /// The object after its phase expects so many bytes more (`expect_tx`). The phase does not
    /// complete.
    ///
    /// # Errors
    /// [`Misuse::Transactions`] beyond [`MAX_TX`].
    pub fn expect(self, bytes: u32) -> Result<Self, Misuse> {
        self.with_transactions(self.transactions() + i64::from(bytes))
    }

    /// The object after so many bytes have completed (`complete_tx`), and the phase with them if
    /// nothing else is pending.
    ///
    /// # Errors
    /// [`Misuse::Transactions`] beyond [`MAX_TX`].
    pub fn complete(self, bytes: u32) -> Result<Self, Misuse> {
        let next = self.with_transactions(self.transactions() - i64::from(bytes))?;
        Ok(next.completed(next.expected()))
    }

    fn with_transactions(self, pending: i64) -> Result<Self, Misuse> {
        if pending.unsigned_abs() > u64::from(MAX_TX) {
            return Err(Misuse::Transactions { pending });
        }
        Ok(Self(self.0 & !TRANSACTIONS | (pending as u64) << TX & TRANSACTIONS))
    }

    /// The object after `count` arrivals at once.
    ///
    /// # Errors
    /// [`Misuse`] for a count outside of its range, more arrivals than are left, and a phase that
    /// completes although the arrival excludes it.
    pub fn arrive(self, count: u32, how: Arrival) -> Result<Self, Misuse> {
        self.check_count(count)?;
        let before = if how.counted { self.pending() + count } else { self.pending() };
        if before != 0 {
            self.check_count(before)?;
        }
        let too_many = |left| Misuse::TooMany { count, left };
        let pending = before.checked_sub(count).ok_or(too_many(before))?;
        let expected = match how.drop {
            true => self.expected().checked_sub(count).ok_or(too_many(self.expected()))?,
            false => self.expected(),
        };
        let bits = self.count_bits();
        let rest = self.0 & !(bits << EXPECTED | bits) | u64::from(expected) << EXPECTED;
        let next = Self(rest | u64::from(pending)).completed(expected);
        if how.no_complete && next.phase() != self.phase() {
            return Err(Misuse::Completes);
        }
        Ok(next)
    }

    /// The object whose current phase waits for `count` arrivals more.
    ///
    /// # Errors
    /// [`Misuse::Count`] for a count of 0, and more than [`MAX_COUNT`] pending arrivals.
    pub fn await_more(self, count: u32) -> Result<Self, Misuse> {
        self.check_count(count)?;
        let pending = self.pending() + count;
        self.check_count(pending)?;
        Ok(Self(self.0 & !self.count_bits() | u64::from(pending)))
    }

    /// Returns the next phase if this one is complete.
    fn completed(self, expected: u32) -> Self {
        if self.0 & (TRANSACTIONS | COUNT) != 0 {
            return self;
        }
        let phase = ((self.phase() + 1) & 3) << PHASE;
        Self(self.0 & !(3 << PHASE) | phase | u64::from(expected))
    }

    /// Returns whether the phase has completed in which an arrival returned `state`.
    ///
    /// # Errors
    /// [`Misuse::State`] if it is neither the current phase nor the one before it.
    pub fn has_completed(self, state: u64) -> Result<bool, Misuse> {
        let state = Self::load(state).map_err(|_| Misuse::State)?;
        match self.phase().wrapping_sub(state.phase()) & 3 {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Misuse::State),
        }
    }

    /// Returns whether the phase of this parity has completed: the current phase, or the one before
    /// it.
    #[must_use]
    pub const fn has_completed_parity(self, parity: u64) -> bool {
        self.phase() & 1 != parity & 1
    }
}

/// Arrivals that were pending before the arrival that returned `state`.
#[must_use]
pub const fn pending_count(state: u64) -> u32 {
    (state & COUNT) as u32
}
