//! Launches on both engines, one after the other, and what they differ in.

use vm::{Claim, Recheck};

use super::context::{VmContext, general};
use super::quick::Tried;
use super::report;
use crate::machine::{End, LaunchProblem, LaunchRequest, LaunchResult, Progress, Watch};

impl VmContext<'_> {
    /// Runs a launch on the fast engine and again on the exact one: memory, the end and the counts
    /// have to be the same. Memory is the exact engine's in the end.
    pub(super) fn launch_both(
        &mut self,
        request: &LaunchRequest<'_>,
        watch: &mut dyn Watch,
    ) -> Result<LaunchResult, LaunchProblem> {
        let before = self.memory().snapshot();
        let (mut result, stats) = match self.try_fast(request, watch)? {
            Tried::Ran(result, stats) => (*result, Some(*stats)),
            Tried::Begun(state, counters) => {
                let begun = (*state, *counters);
                (self.run_state(self.program(), begun, request, watch)?, None)
            }
            // There is nothing to compare, as the watch has been told.
            Tried::Exact => return self.on_exact(request, watch),
        };
        // Lanes that went on one by one are the exact engine's alone.
        if matches!(result.end, End::Interrupted) || result.stats.retried.is_some() {
            return Ok(result);
        }
        let claim = Claim { done: matches!(result.end, End::Done), stats };
        let fresh = self.fresh(request)?;
        let program = self.program();
        let mut go_on = |state: &vm::State<1>| {
            let (blocks_done, blocks) = state.progress();
            let issues = state.stats().slots.issues();
            watch.go_on(Progress { blocks_done, blocks, issues })
        };
        let memory = (&before, self.memory());
        let came = vm::recheck(&program.program, &fresh, memory, &claim, &mut go_on);
        let came = came.map_err(|error| general(error.to_string()))?;
        match came {
            Recheck::Same => watch.ran_on("exact (side by side: the engines agree)"),
            Recheck::Stopped => result.end = End::Interrupted,
            _ => result.end = End::Differs(report::difference(program, &came, request)),
        }
        result.stats.outcome = result.end.name().to_owned();
        Ok(result)
    }
}
