//! The events of launches in the log of a process.

use engine::EngineUsed;
use events::{DIFFERENCE, Event, Instruction, LaunchTotals};

use crate::faults::ToleratedAccess;
use crate::launch::{Report, Shape};
use crate::status::LaunchStatus;
use crate::stop::{Stop, StopKind};

impl Report {
    /// Creates the event of the launch, which has ended.
    #[must_use]
    pub fn event(&self, kernel: &str, shape: &Shape) -> Event {
        Event::Launch {
            process: std::process::id(),
            kernel: kernel.to_owned(),
            grid: shape.grid,
            block: shape.block,
            exact: match self.ran {
                EngineUsed::Fast(_) => None,
                EngineUsed::Exact(Some(why)) => Some(why.to_string()),
                EngineUsed::Exact(None) => Some("asked for".to_owned()),
                EngineUsed::Retried => {
                    Some("it hangs unless every lane goes on by itself".to_owned())
                }
            },
            seconds: self.time.as_secs_f64(),
            totals: LaunchTotals::of(&self.stats),
        }
    }
}

impl ToleratedAccess {
    /// Creates the event of refused accesses from which a launch went on.
    #[must_use]
    pub fn event(&self) -> Event {
        let stop = &self.first;
        Event::Tolerated {
            process: std::process::id(),
            kernel: stop.kernel.clone(),
            code: stop.code.to_owned(),
            text: stop.to_string(),
            line: stop.place.text.as_ref().map_or(0, |text| text.line),
            issues: self.issues,
        }
    }
}

impl LaunchStatus {
    /// Creates the event of a running launch.
    #[must_use]
    pub fn event(&self) -> Event {
        Event::Running {
            process: std::process::id(),
            kernel: self.kernel.clone(),
            seconds: self.time.as_secs_f64(),
            text: self.to_string(),
        }
    }
}

impl Stop {
    /// Creates the event of a launch that was stopped.
    #[must_use]
    pub fn event(&self) -> Event {
        let kind = match self.kind {
            StopKind::Fault => "fault",
            StopKind::Hang => "hang",
            StopKind::Difference => DIFFERENCE,
        };
        Event::Stop {
            process: std::process::id(),
            kernel: self.kernel.clone(),
            kind: kind.to_owned(),
            code: self.code.to_owned(),
            text: self.to_string(),
            name: places::demangled(&self.kernel),
            block: self.place.site.block,
            threads: self.place.site.threads,
            instruction: self.place.text.as_ref().map(|text| Instruction {
                text: text.text.clone(),
                line: text.line,
                source: self.place.source.as_ref().map(|s| (s.file.to_string(), s.line)),
            }),
        }
    }
}
