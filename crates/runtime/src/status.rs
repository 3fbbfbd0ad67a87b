//! The progress of a running launch.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use checks::Checker;
use checks::probe::Probe as _;
use engine::{EventSink, Monitor, Progress, Screen};
use ir::FuncId;
use places::Place;
use simt::observe::GroupId;
use simt::{LaneMask, Pc};

use crate::launch::Shape;
use crate::stop::{place, site};
use modules::Module;

/// The time before the first report of a launch, and the least time between two reports.
const FIRST_REPORT: Duration = Duration::from_millis(250);

/// At least one part in this many of the launch's run time passes between two reports, so that long
/// launches are reported less often.
const TIME_SHARE: u32 = 16;

/// The maximum number of places in a report.
const MOST_PLACES: usize = 8;

/// Lanes at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OccupiedPlace {
    /// The lanes of the first of the block's warps that are there.
    pub place: Place,
    /// Further warps of the block with lanes there, in increasing order.
    pub more_warps: Vec<u32>,
}

/// The progress of a running launch.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchStatus {
    /// The kernel's name.
    pub kernel: String,
    /// The number of the grid's blocks, and how many of them have ended.
    pub blocks: (u64, u64),
    /// Time since the launch began.
    pub time: Duration,
    /// Where lanes are, of some resident blocks. Nothing if that is not known.
    pub places: Vec<OccupiedPlace>,
    /// Whether there are lanes at further places.
    pub more: bool,
}

/// Prints the progress, then one place per line.
impl fmt::Display for LaunchStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (all, ended) = self.blocks;
        let seconds = self.time.as_secs_f64();
        write!(f, "`{}` has run for {seconds:.1} s, ", places::shown(&self.kernel))?;
        write!(f, "{ended} of {all} blocks have ended")?;
        for OccupiedPlace { place, more_warps } in &self.places {
            write!(f, "\n  {}", place.site)?;
            match more_warps.len() {
                0 => {}
                1 => write!(f, ", and warp {}", ranges(more_warps))?,
                _ => write!(f, ", and warps {}", ranges(more_warps))?,
            }
            place.write_lines(f, "    ")?;
        }
        if self.more { write!(f, "\n  and more") } else { Ok(()) }
    }
}

/// Formats increasing numbers as `0-3,7`.
fn ranges(numbers: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &n in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == n => *last = n,
            _ => runs.push((n, n)),
        }
    }
    let text = |&(a, b): &(u32, u32)| if a == b { a.to_string() } else { format!("{a}-{b}") };
    runs.iter().map(text).collect::<Vec<_>>().join(",")
}

/// Receives the progress of launches.
pub(crate) type StatusCallback = Box<dyn FnMut(&LaunchStatus) + Send>;

/// Reports the progress of a launch at intervals, and passes its events to checks.
pub(crate) struct StatusReporter {
    pub(crate) callback: Option<StatusCallback>,
    /// Receives the events of the launch, if there are checks.
    pub(crate) checker: Option<Checker>,
    module: Arc<Module>,
    kernel: FuncId,
    shape: Shape,
    begun: Instant,
    /// The run time at which the next report is due.
    next: Duration,
    /// Whether a report is due but the positions of lanes are still to come.
    due: bool,
    ended: u64,
}

impl StatusReporter {
    pub(crate) fn new(
        callback: Option<StatusCallback>,
        module: Arc<Module>,
        kernel: FuncId,
        shape: Shape,
    ) -> Self {
        let (begun, next) = (Instant::now(), FIRST_REPORT);
        let (checker, due, ended) = (None, false, 0);
        Self { callback, checker, module, kernel, shape, begun, next, due, ended }
    }

    fn report(&mut self, lanes: &mut dyn Iterator<Item = (GroupId, LaneMask<1>, Pc)>) {
        self.due = false;
        let Some(callback) = &mut self.callback else { return };
        let time = self.begun.elapsed();
        self.next = time + (time / TIME_SHARE).max(FIRST_REPORT);
        let mut places: Vec<(u64, Pc, OccupiedPlace)> = Vec::new();
        let mut more = false;
        for (group, on, pc) in lanes.filter(|(_, on, _)| on.any()) {
            let same = places.iter_mut().find(|(cta, at, _)| (*cta, *at) == (group.cta, pc));
            if let Some((.., occupied)) = same {
                // Lanes of one warp may come one by one.
                let (first, more) = (occupied.place.site.warp, &mut occupied.more_warps);
                match more.binary_search(&group.group) {
                    Err(at) if group.group != first => more.insert(at, group.group),
                    _ => {}
                }
            } else if places.len() == MOST_PLACES {
                more = true;
            } else {
                let place = place(&self.module, pc, site(group, &on, &self.shape));
                places.push((group.cta, pc, OccupiedPlace { place, more_warps: Vec::new() }));
            }
        }
        let all = self.shape.grid.iter().map(|&n| u64::from(n)).product();
        callback(&LaunchStatus {
            kernel: self.module.function(self.kernel).map_or_else(String::new, |f| f.name.clone()),
            blocks: (all, self.ended),
            time,
            places: places.into_iter().map(|(.., place)| place).collect(),
            more,
        });
    }
}

impl Monitor for StatusReporter {
    fn poll(&mut self, progress: Progress) -> bool {
        self.ended = progress.blocks_done;
        if self.callback.is_some() && self.begun.elapsed() >= self.next {
            // No positions came since the last call, so the report goes without.
            if self.due {
                self.report(&mut std::iter::empty());
            } else {
                self.due = true;
            }
        }
        true
    }

    fn wants_lanes(&mut self) -> bool {
        self.due
    }

    fn sink(&mut self) -> Option<&mut dyn EventSink> {
        self.checker.as_mut().map(|checker| checker as &mut dyn EventSink)
    }

    fn screen(&mut self) -> Option<&mut dyn Screen> {
        self.checker.as_mut().and_then(|checker| checker.screen())
    }

    fn lanes(&mut self, lanes: &mut dyn Iterator<Item = (GroupId, LaneMask<1>, Pc)>) {
        self.report(lanes);
    }
}
