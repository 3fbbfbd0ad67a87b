//! Which instruction of which lane wrote an element last, as the exact engine runs it.

use std::sync::Arc;

use machines::probe::{EventSink, LaunchStart, Place, Probe};
use machines::{LaunchMonitor, Progress};
use simt::observe::{Access, Events, Space};

/// Lanes of a warp.
const WARP: u64 = 32;

/// A write of one lane.
#[derive(Clone, Debug, PartialEq)]
pub struct Writer {
    /// The launch, from 0.
    pub launch: usize,
    /// Linear index of the block in its grid.
    pub block: u64,
    /// Warp of the block.
    pub warp: u64,
    /// Lane of the warp.
    pub lane: u64,
    /// The instruction.
    pub place: Place,
    /// How many writes the element has had, this one counted.
    pub writes: u64,
}

impl Writer {
    /// `` line 12 (k.cu:7) `st.global.f32 [%rd1], %f1;`, launch 0, block 3, warp 1, lane 7 ``.
    #[must_use]
    pub fn describe(&self) -> String {
        let Self { launch, block, warp, lane, place, writes } = self;
        let more = match writes {
            1 => String::new(),
            _ => format!(", the last of {writes} writes"),
        };
        format!(
            "{} `{}`, launch {launch}, block {block}, warp {warp}, lane {lane}{more}",
            place.describe(),
            place.text
        )
    }
}

/// An element that is looked for.
#[derive(Clone, Debug)]
struct Wanted {
    buffer: String,
    offset: u64,
    size: u64,
    address: Option<u64>,
    writer: Option<Writer>,
}

/// Looks at the writes of all launches of a run.
#[derive(Debug, Default)]
pub(crate) struct Writers {
    wanted: Vec<Wanted>,
    launches: usize,
    places: Arc<[Place]>,
}

impl Writers {
    /// Looks for these elements: buffer, byte offset and size.
    pub(crate) fn new(elements: impl Iterator<Item = (String, u64, u64)>) -> Self {
        let wanted = elements.map(|(buffer, offset, size)| Wanted {
            buffer,
            offset,
            size,
            address: None,
            writer: None,
        });
        Self { wanted: wanted.collect(), ..Self::default() }
    }

    /// The last write to each element, in the order in which they were given.
    pub(crate) fn found(self) -> impl Iterator<Item = Option<Writer>> {
        self.wanted.into_iter().map(|wanted| wanted.writer)
    }

    fn placed(&mut self, buffer: &str, address: u64) {
        for wanted in self.wanted.iter_mut().filter(|w| w.buffer == buffer) {
            wanted.address = Some(address.wrapping_add(wanted.offset));
        }
    }
}

impl Probe for Writers {
    fn begin(&mut self, launch: &LaunchStart<'_>) {
        self.launches += 1;
        self.places = Arc::clone(launch.places);
    }
}

impl EventSink for Writers {
    fn events(&self) -> Events {
        Events::ACCESS
    }

    fn access(&mut self, access: &Access<'_>) {
        if !access.kind.writes() || access.space != Space::Global {
            return;
        }
        let size = u64::from(access.size);
        for wanted in &mut self.wanted {
            let Some(at) = wanted.address else { continue };
            let overlaps =
                |address: u64| address < at + wanted.size && at < address.saturating_add(size);
            // The last lane counts: lanes commit in increasing order.
            let last = access.lanes.iter().rfind(|(_, address)| overlaps(*address));
            let Some((lane, _)) = last else { continue };
            let thread = u64::from(access.group.first_thread) + u64::from(*lane);
            let place = usize::try_from(access.pc.0).ok().and_then(|pc| self.places.get(pc));
            wanted.writer = Some(Writer {
                launch: self.launches.saturating_sub(1),
                block: access.group.cta,
                warp: thread / WARP,
                lane: thread % WARP,
                place: place.cloned().unwrap_or_default(),
                writes: wanted.writer.as_ref().map_or(0, |w| w.writes) + 1,
            });
        }
    }
}

/// A watch that brings [`Writers`] along.
pub(crate) struct Following<'a> {
    pub(crate) monitor: &'a mut dyn LaunchMonitor,
    pub(crate) writers: &'a mut Writers,
}

impl LaunchMonitor for Following<'_> {
    fn poll(&mut self, progress: Progress) -> bool {
        self.monitor.poll(progress)
    }

    fn buffer_allocated(&mut self, buffer: &str, address: u64, _bytes: u64) {
        self.writers.placed(buffer, address);
    }

    fn probe(&mut self) -> Option<&mut dyn Probe> {
        Some(&mut *self.writers)
    }
}
