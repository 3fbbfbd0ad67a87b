//! Checks of launches, and what they find in the event log.

use std::sync::Arc;

use checks::probe::{self, LaunchStart, Place, Probe as _};
use checks::{Checker, UndefinedMemory};
use findings::report::finding_to_json;
use findings::{Check, CheckSet, Finding, Findings, Kind, MOST_OF_A_KIND};
use places::ApiCall;
use simt::memory::Addr;
use vm::Asynchrony;

use crate::context::{Context, Loaded};
use crate::launch::Shape;
use events::Event;

/// Lanes of the issue groups of launches.
const WIDTH: u32 = 32;

/// Returns the checker of launches, if a check has to see their events.
pub(crate) fn checker(checks: CheckSet) -> Option<Checker> {
    checks.observes().then(|| Checker::new("", checks))
}

/// The order of asynchronous steps that checks ask for, as [`checks::probe::Probe`] tells machines.
pub(crate) fn asynchrony(checks: CheckSet) -> Option<Asynchrony> {
    checker(checks).and_then(|checker| checker.asynchrony())
}

impl Loaded {
    /// Returns the places of the module's code, by program counter.
    pub(crate) fn places(&self) -> &Arc<[Place]> {
        let file = |span: isa::Span| self.module.sources().get(span.file);
        self.places.get_or_init(|| checks::code::places(self.module.program(), &file))
    }

    /// Tells a checker of a launch that begins.
    pub(crate) fn begin(&self, checker: &mut Checker, kernel: &str, shape: &Shape) {
        let [grid, block] = [shape.grid, shape.block].map(|extents| extents.map(u64::from));
        let shape = probe::Shape { grid, block, width: WIDTH };
        checker.begin(&LaunchStart { kernel, shape, places: self.places() });
    }
}

impl Context {
    /// Which global memory is undefined, if a check follows it.
    pub(crate) fn undefined(&mut self) -> Option<&mut UndefinedMemory> {
        self.checker.as_mut()?.undefined()
    }

    /// Tells checks that a call of the client has copied bytes of global memory to the host.
    pub fn note_copied_to_host(&mut self, address: Addr, len: u64, call: &ApiCall) {
        let Some(checker) = &mut self.checker else { return };
        checker.copied_to_host(address.0, len, &call.to_string());
        self.found.append(checker.take());
    }

    /// Removes and returns what checks have found in the launches since the last call.
    pub fn take_findings(&mut self) -> Findings {
        std::mem::take(&mut self.found)
    }
}

/// What the event log of a process has of its findings. Each is written once; after that, how often
/// it was found again.
#[derive(Debug, Default)]
pub struct FindingLog {
    /// Findings that were written; they are numbered in this order.
    written: Vec<Finding>,
    incomplete: Vec<Check>,
}

impl FindingLog {
    /// Returns the events for newly found findings. Of each kind the first 100 are written; others
    /// are counted.
    pub fn events(&mut self, found: Findings) -> Vec<Event> {
        let process = std::process::id();
        let mut events = Vec::new();
        for &check in found.incomplete() {
            if !self.incomplete.contains(&check) {
                self.incomplete.push(check);
                events.push(Event::Incomplete { process, check: check.name().to_owned() });
            }
        }
        let omitted = |kind: Kind, count| {
            let kind = kind.name().to_owned();
            Event::FindingsOmitted { process, kind, count }
        };
        for (kind, count) in found.all_omitted() {
            events.push(omitted(kind, count));
        }
        for finding in found.into_vec() {
            let count = finding.count;
            let known = self.written.iter().position(|known| known.is_same(&finding));
            let of_kind = self.written.iter().filter(|known| known.kind == finding.kind);
            if let Some(number) = known {
                events.push(Event::FoundAgain { process, number, count });
            } else if of_kind.count() >= MOST_OF_A_KIND {
                events.push(omitted(finding.kind, count));
            } else {
                let number = self.written.len();
                let json = finding_to_json(&finding);
                events.push(Event::Finding { process, number, finding: json });
                self.written.push(finding);
            }
        }
        events
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Settings;
    use crate::launch::{Failure, Report};
    use engine::EngineUsed;
    use modules::Module;

    /// Kernels that store a word at an offset in shared memory that they are given: with one
    /// variable, with two, and with a dynamic one behind another.
    const TEXT: &str = "
        .version 8.0 .target sm_80 .address_size 64
        .extern .shared .align 16 .b8 tail[];
        .visible .entry one(.param .u32 at) {
            .reg .b32 %a, %s; .shared .align 16 .b32 words[4];
            ld.param.u32 %a, [at];
            mov.u32 %s, words;
            add.u32 %s, %s, %a;
            st.shared.u32 [%s], 7;
            ret;
        }
        .visible .entry two(.param .u32 at) {
            .reg .b32 %a, %s, %v; .shared .align 16 .b32 words[4], more[4];
            ld.param.u32 %a, [at];
            mov.u32 %s, words;
            add.u32 %s, %s, %a;
            st.shared.u32 [%s], 7;
            mov.u32 %s, more;
            ld.shared.u32 %v, [%s];
            ret;
        }
        .visible .entry dynamic(.param .u32 at) {
            .reg .b32 %a, %s, %v; .shared .align 16 .b32 words[4];
            ld.param.u32 %a, [at];
            mov.u32 %s, words;
            add.u32 %s, %s, %a;
            st.shared.u32 [%s], 7;
            mov.u32 %s, tail;
            ld.shared.u32 %v, [%s];
            ret;
        }";

    /// Runs a kernel that stores at an offset, with bytes of dynamic shared memory.
    fn store(checks: &str, kernel: &str, shared: u64, at: u32) -> Result<Report, Failure> {
        let module = Module::load("t", TEXT).unwrap();
        let checks = CheckSet::parse(checks).unwrap();
        let mut context = Context::new(Settings { checks, ..Settings::default() });
        let id = context.load(&module).unwrap();
        let shape =
            Shape { grid: [1; 3], block: [32, 1, 1], shared, cooperative: false, cluster: None };
        context.launch(id, module.kernel(kernel).unwrap(), shape, &at.to_le_bytes())
    }

    #[track_caller]
    fn assert_beyond(end: Result<Report, Failure>) {
        let Err(Failure::Stopped(stop)) = end else { panic!("{end:?}") };
        let is_of_words = stop.message.contains("words\" (16 bytes");
        assert!(is_of_words && stop.message.contains("past the end"), "{}", stop.message);
    }

    #[test]
    fn the_check_of_memory_takes_the_fast_engine() {
        let report = store("memory", "one", 0, 12).unwrap();
        assert!(matches!(report.ran, EngineUsed::Fast(_)), "{:?}", report.ran);
        assert_beyond(store("memory", "one", 0, 16));
    }

    #[test]
    fn shared_variables_are_guarded() {
        for (kernel, shared) in [("two", 0), ("dynamic", 64)] {
            for checks in ["memory", "memory,sync"] {
                let report = store(checks, kernel, shared, 12).unwrap();
                assert!(matches!(report.ran, EngineUsed::Fast(_)), "{kernel}: {:?}", report.ran);
                assert_beyond(store(checks, kernel, shared, 16));
            }
            let report = store("api", kernel, shared, 16).unwrap();
            assert!(matches!(report.ran, EngineUsed::Fast(_)), "{kernel}: {:?}", report.ran);
        }
    }
}
