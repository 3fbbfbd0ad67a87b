//! What is enabled, the records that nobody has fetched, and who is told.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{LazyLock, Mutex, PoisonError};

use cuda_abi::host::Ptr;

/// The most records that are kept; more are dropped.
const MOST_RECORDS: usize = 1 << 20;

/// The client that is told of calls.
#[derive(Clone, Debug)]
pub(crate) struct Subscriber {
    pub(crate) handle: u64,
    pub(crate) function: Ptr,
    pub(crate) data: Ptr,
    /// Domains of which it is told all.
    pub(crate) domains: BTreeSet<u32>,
    /// Numbers of which it is told besides, or not, by domain and number.
    pub(crate) numbers: BTreeMap<(u32, u32), bool>,
}

/// A buffer of the client: where it is, its bytes, and the most records that it may get.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buffer {
    pub(crate) at: Ptr,
    pub(crate) room: usize,
    pub(crate) most: usize,
}

/// All state of the library.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// Kinds of activities that are recorded.
    pub(crate) kinds: BTreeSet<u32>,
    /// Functions that are not recorded, by kind and number.
    pub(crate) silent: BTreeSet<(u32, u32)>,
    /// The functions for buffers: one to get one, one to hand it back.
    pub(crate) buffers: Option<(Ptr, Ptr)>,
    pub(crate) records: VecDeque<Vec<u8>>,
    /// Their bytes.
    pub(crate) bytes: usize,
    /// A buffer of the client that waits for records.
    pub(crate) buffer: Option<Buffer>,
    pub(crate) dropped: usize,
    pub(crate) subscriber: Option<Subscriber>,
    /// The number of subscribers so far.
    pub(crate) subscribed: u64,
    /// Attributes that were set.
    pub(crate) attributes: BTreeMap<i32, Vec<u8>>,
    /// Numbers of contexts and streams in records.
    contexts: BTreeMap<u64, u32>,
    streams: BTreeMap<u64, u32>,
    /// Numbers of events, and of the last record of each.
    events: BTreeMap<u64, (u32, u64)>,
    /// The number of records of events so far.
    event_records: u64,
    /// Contexts of which there was a record.
    pub(crate) recorded_contexts: BTreeSet<u64>,
    /// Whether there were records of the devices.
    pub(crate) recorded_devices: bool,
    /// Kind and bytes of memory that was allocated since somebody listens.
    pub(crate) allocations: BTreeMap<u64, (u32, u64)>,
}

static STATE: LazyLock<Mutex<State>> = LazyLock::new(Mutex::default);

/// Locks the state and does something with it, for which nothing of the client is called.
pub(crate) fn with<T>(body: impl FnOnce(&mut State) -> T) -> T {
    body(&mut STATE.lock().unwrap_or_else(PoisonError::into_inner))
}

impl State {
    /// Adds a record.
    pub(crate) fn push(&mut self, record: Vec<u8>) {
        if self.records.len() < MOST_RECORDS {
            self.bytes += record.len();
            self.records.push_back(record);
        } else {
            self.dropped += 1;
        }
    }

    /// Removes the first record.
    pub(crate) fn pop(&mut self) -> Option<Vec<u8>> {
        let record = self.records.pop_front()?;
        self.bytes -= record.len();
        Some(record)
    }

    /// Forgets all but the number of subscribers, so that their handles stay apart.
    pub(crate) fn reset(&mut self) {
        *self = Self { subscribed: self.subscribed, ..Self::default() };
    }

    /// Returns whether somebody wants to hear of anything.
    pub(crate) fn listens(&self) -> bool {
        !self.kinds.is_empty() || self.subscriber.is_some()
    }

    /// Returns the number of a context; 0 for none.
    pub(crate) fn context(&mut self, handle: u64) -> u32 {
        let next = self.contexts.len() as u32 + 1;
        if handle == 0 { 0 } else { *self.contexts.entry(handle).or_insert(next) }
    }

    /// Returns the number of an event, and that of its last record, 0 for none.
    pub(crate) fn event(&mut self, handle: u64) -> (u32, u64) {
        let next = self.events.len() as u32 + 1;
        *self.events.entry(handle).or_insert((next, 0))
    }

    /// Notes a record of an event, and returns both.
    pub(crate) fn event_recorded(&mut self, handle: u64) -> (u32, u64) {
        let (number, _) = self.event(handle);
        self.event_records += 1;
        self.events.insert(handle, (number, self.event_records));
        (number, self.event_records)
    }

    /// Returns the number of a stream: 7 is the null stream, as on hardware.
    pub(crate) fn stream(&mut self, handle: u64) -> u32 {
        let next = self.streams.len() as u32 + 13;
        if handle <= 1 { 7 } else { *self.streams.entry(handle).or_insert(next) }
    }
}
