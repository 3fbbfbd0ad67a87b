//! A probe that records a run as a trace for Perfetto and Chrome: blocks are processes, groups are
//! tracks, paths are slices.
//!
//! Time is the number of issues of all launches so far, shown as microseconds. A slice is a
//! sequence of issues of one group for the same lanes; its arguments are the mask, the number of
//! lanes, the lines and the depth. Barriers, collectives and fences are instants.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use lab::trace_events::wrap;
use machines::probe::{EventSink, Lanes, LaunchStart, Place, Probe, WORDS};
use places::Source;
use serde_json::json;
use simt::observe::{Events, GroupId, Issue, Sync, SyncKind};
use simt::slots::Domain;

use crate::mask_trace::is_outside;

/// Process numbers reserved for each launch, because blocks of different launches are different
/// processes.
const PROCESSES: u64 = 1 << 20;

/// The probe, with the trace as text.
#[derive(Debug)]
pub struct Timeline {
    most: usize,
    events: usize,
    /// Whether an event was left out.
    dropped: bool,
    text: String,
    places: Arc<[Place]>,
    kernel: String,
    launch: u64,
    now: u64,
    open: Option<Slice>,
    /// The name of the groups' mask, on machines that have one, and what it was last.
    mask: Option<&'static str>,
    shown: Option<(GroupId, Lanes)>,
    /// Lanes of a group.
    width: u32,
    named: BTreeSet<(u64, u32)>,
}

#[derive(Clone, Debug)]
struct Slice {
    group: GroupId,
    lanes: Lanes,
    depth: u32,
    from: u64,
    first: usize,
    last: usize,
    /// Issues that ran once for the group.
    uniform: u64,
}

impl Timeline {
    /// Creates a trace of at most `most` slices and instants; `mask` names the mask of groups,
    /// which gets a track, on machines that have one.
    #[must_use]
    pub fn new(most: usize, mask: Option<&'static str>) -> Self {
        Self {
            most,
            events: 0,
            dropped: false,
            text: String::new(),
            places: Arc::default(),
            kernel: String::new(),
            launch: 0,
            now: 0,
            open: None,
            mask,
            shown: None,
            width: 1,
            named: BTreeSet::new(),
        }
    }

    /// Returns the trace as JSON text, and whether it has all events. `about` describes the run.
    #[must_use]
    pub fn finish(mut self, about: &str) -> (String, bool) {
        self.close();
        let complete = !self.dropped;
        let other = json!({ "about": about, "unit": "issues", "complete": complete });
        (wrap(&other, &self.text), complete)
    }

    /// Counts an event; returns whether there is room for it.
    fn has_room(&mut self) -> bool {
        let room = self.events < self.most;
        self.events += usize::from(room);
        self.dropped |= !room;
        room
    }

    fn process(&self, group: GroupId) -> u64 {
        self.launch.saturating_sub(1) * PROCESSES + group.cta + 1
    }

    fn push(&mut self, event: &serde_json::Value) {
        if !self.text.is_empty() {
            self.text.push_str(",\n");
        }
        let _ = write!(self.text, "{event}");
    }

    /// Names a track and its process when they first occur.
    fn name(&mut self, group: GroupId) {
        let pid = self.process(group);
        if !self.named.insert((pid, group.group)) {
            return;
        }
        if group.group == 0 || !self.named.contains(&(pid, u32::MAX)) {
            self.named.insert((pid, u32::MAX));
            let launch = self.launch.saturating_sub(1);
            let name = format!("{} (launch {launch}), block {}", self.kernel, group.cta);
            self.push(&json!({ "ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": { "name": name } }));
        }
        let name = format!("warp {}", group.group);
        self.push(&json!({ "ph": "M", "name": "thread_name", "pid": pid, "tid": group.group, "args": { "name": name } }));
    }

    /// Notes the mask of a group on its track, if it is not what it was.
    fn mask_track(&mut self, group: GroupId, mask: Lanes) {
        let Some(name) = self.mask else { return };
        if self.shown.replace((group, mask)) == Some((group, mask)) || !self.has_room() {
            return;
        }
        self.name(group);
        let event = json!({
            "ph": "C",
            "name": format!("{name} of group {}", group.group),
            "pid": self.process(group),
            "ts": self.now,
            "args": { "lanes on": mask.count() },
        });
        self.push(&event);
    }

    fn line(&self, pc: usize) -> Option<u32> {
        self.places.get(pc).and_then(|p| p.line)
    }

    /// Ends the open slice.
    fn close(&mut self) {
        let Some(slice) = self.open.take() else { return };
        if !self.has_room() {
            return;
        }
        self.name(slice.group);
        let place = self.places.get(slice.first);
        let source = place.and_then(|p| p.source.as_ref()).map(Source::to_string);
        let (from, to) = (self.line(slice.first), self.line(slice.last));
        let name = match from {
            Some(line) => format!("line {line}"),
            None => place.map_or_else(String::new, |p| p.text.to_string()),
        };
        let event = json!({
            "ph": "X",
            "name": name,
            "cat": "path",
            "pid": self.process(slice.group),
            "tid": slice.group.group,
            "ts": slice.from,
            "dur": self.now - slice.from,
            "args": {
                "mask": format!("{:#x}", slice.lanes),
                "lanes": slice.lanes.count(),
                "first line": from,
                "last line": to,
                "source": source,
                "text": place.map(|p| p.text.to_string()),
                "depth": slice.depth,
                "uniform issues": slice.uniform,
            },
        });
        self.push(&event);
    }
}

impl Probe for Timeline {
    fn begin(&mut self, launch: &LaunchStart<'_>) {
        self.close();
        self.launch += 1;
        self.places = Arc::clone(launch.places);
        self.kernel = launch.kernel.to_owned();
        self.width = launch.shape.width;
    }
}

impl EventSink for Timeline {
    fn events(&self) -> Events {
        Events::ISSUE.and(Events::SYNC)
    }

    fn issue(&mut self, issue: &Issue<'_, WORDS>) {
        let pc = usize::try_from(issue.pc.0).unwrap_or(usize::MAX);
        let lanes = issue.lanes.unmasked;
        let goes_on = self
            .open
            .as_ref()
            .is_some_and(|s| (s.group, s.lanes, s.depth) == (issue.group, lanes, issue.depth));
        if !goes_on {
            self.close();
            let (group, depth, from) = (issue.group, issue.depth, self.now);
            self.open = Some(Slice { group, lanes, depth, from, first: pc, last: pc, uniform: 0 });
        }
        if let Some(open) = &mut self.open {
            open.last = pc;
            open.uniform += u64::from(issue.domain == Domain::Uniform);
        }
        if issue.guard_off == 0 && !is_outside(issue, self.width) {
            self.mask_track(issue.group, lanes);
        }
        self.now += 1;
    }

    fn sync(&mut self, sync: &Sync<'_, WORDS>) {
        let name = match sync.kind {
            SyncKind::BarrierArrive => "barrier: arrive",
            SyncKind::BarrierRelease => "barrier: release",
            SyncKind::Collective => "collective",
            SyncKind::ClusterArrive => "barrier of the cluster: arrive",
            SyncKind::ClusterRelease => "barrier of the cluster: release",
            SyncKind::Fence(..) | SyncKind::ProxyFence { .. } => "fence",
            SyncKind::CollectiveArrive | SyncKind::CollectiveComplete => return,
        };
        if !self.has_room() {
            return;
        }
        self.name(sync.group);
        let event = json!({
            "ph": "i",
            "s": "t",
            "name": name,
            "cat": "sync",
            "pid": self.process(sync.group),
            "tid": sync.group.group,
            "ts": self.now,
            "args": { "mask": format!("{:#x}", sync.lanes), "lanes": sync.lanes.count() },
        });
        self.push(&event);
    }
}
