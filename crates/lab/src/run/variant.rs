//! Runs of one job under different settings, for comparisons.

use std::path::Path;

use inputs::launch::{Located, MachineOption, OptionValue};
use isa::{Diagnostic, Diagnostics};
use machines::stats::LaunchStats;
use machines::{ControlFlow, Dependence, End, LaunchMonitor};

use super::checks::Check;
use super::execute::LaunchResults;
use super::job::Job;
use super::report::FinalBuffer;
use crate::stats::RunStats;

/// Settings that replace those of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Convergence mechanism, one of the machine's.
    pub mechanism: String,
    /// Width of an issue group in lanes.
    pub warp_size: u64,
    /// The side of a divergent branch that runs first, for mechanisms with that choice.
    pub order: Option<String>,
    /// Machine options that override those of the job.
    pub options: Vec<(String, String)>,
    /// Limit of issues, if the job has none.
    pub limit: Option<u64>,
}

/// The results of a variant.
#[derive(Clone, Debug)]
pub struct VariantRun {
    /// Statistics of all launches that were started.
    pub stats: RunStats,
    /// The end of each of them.
    pub ends: Vec<End>,
    /// All buffers.
    pub buffers: Vec<FinalBuffer>,
    /// Names and contents of the program's global variables.
    pub variables: Vec<(String, Vec<u8>)>,
    /// Output that the kernels printed.
    pub output: Vec<u8>,
}

impl VariantRun {
    /// Returns the statistics summed over all launches.
    #[must_use]
    pub fn total(&self) -> LaunchStats {
        self.stats.total()
    }
}

impl Job {
    /// Returns the job's own warp size.
    #[must_use]
    pub fn warp_size(&self) -> u64 {
        self.warp_size.value
    }

    /// Returns the program's name as the user wrote it.
    #[must_use]
    pub fn module_name(&self) -> &str {
        &self.module_name
    }

    /// Returns the path of the program's file.
    #[must_use]
    pub fn module_path(&self) -> &Path {
        &self.module
    }

    /// Returns warnings about arguments, and about problems that may occur at run time.
    #[must_use]
    pub fn warnings(&self) -> Vec<Diagnostic> {
        let mut warnings = self.argument_warnings();
        warnings.extend(self.program.warnings());
        warnings
    }

    /// Returns the control-flow graph of a kernel; `None` if the machine has no graphs.
    #[must_use]
    pub fn control_flow(&self, kernel: &str) -> Option<ControlFlow> {
        self.program.control_flow(kernel)
    }

    /// Returns the functions that a kernel calls directly or indirectly.
    #[must_use]
    pub fn called(&self, kernel: &str) -> Vec<String> {
        self.program.called(kernel)
    }

    /// Returns the seed.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns the launched kernels, in order.
    pub fn kernel_names(&self) -> impl Iterator<Item = &str> {
        self.launches.iter().map(|(kernel, _)| kernel.name.as_str())
    }

    /// Returns the distinct kernels whose results depend on the warp size that they see, each with
    /// the first instruction that causes this and the number of such instructions.
    #[must_use]
    pub fn warp_size_dependences(&self) -> Vec<(String, Dependence, usize)> {
        let mut out: Vec<(String, Dependence, usize)> = Vec::new();
        for name in self.kernel_names() {
            let mut all = self.program.warp_size_dependence(name);
            if !all.is_empty() && !out.iter().any(|(known, ..)| known == name) {
                let count = all.len();
                out.push((name.to_owned(), all.swap_remove(0), count));
            }
        }
        out
    }

    /// Returns the buffers that expectations compare as multisets.
    pub fn multisets(&self) -> impl Iterator<Item = &str> {
        self.checks.iter().filter_map(Check::multiset)
    }

    /// Runs all launches under the settings of a variant, without checking expectations.
    ///
    /// # Errors
    /// Returns diagnostics if the launches cannot start. The code
    /// [`UNSUPPORTED`](super::UNSUPPORTED) marks a mechanism or warp size that the program does not
    /// support.
    pub fn run_variant(
        &mut self,
        variant: &Variant,
        monitor: &mut dyn LaunchMonitor,
    ) -> Result<VariantRun, Diagnostics> {
        self.run_as(variant, true, monitor)
    }

    /// As [`Self::run_variant`], without statistics beyond the lane slots.
    ///
    /// # Errors
    /// The same.
    pub fn run_plain(
        &mut self,
        variant: &Variant,
        monitor: &mut dyn LaunchMonitor,
    ) -> Result<VariantRun, Diagnostics> {
        self.run_as(variant, false, monitor)
    }

    fn run_as(
        &mut self,
        variant: &Variant,
        detailed: bool,
        monitor: &mut dyn LaunchMonitor,
    ) -> Result<VariantRun, Diagnostics> {
        let kept = (self.mechanism.clone(), self.warp_size.clone(), self.limit);
        let order = variant.order.iter().map(|order| ("order".to_owned(), order.clone()));
        let options =
            self.set_options(&order.chain(variant.options.iter().cloned()).collect::<Vec<_>>());
        self.mechanism.value.clone_from(&variant.mechanism);
        self.warp_size.value = variant.warp_size;
        self.limit = self.limit.or(variant.limit);
        let outcome = self.launch_all(&variant.mechanism, detailed, monitor);
        (self.mechanism, self.warp_size, self.limit) = kept;
        self.restore(options);
        let LaunchResults { results, buffers, variables, .. } = outcome?;
        let stats = RunStats {
            machine: self.machine.name.to_owned(),
            module: self.module_name.clone(),
            mechanism: variant.mechanism.clone(),
            warp_size: variant.warp_size,
            seed: self.seed,
            launches: results.iter().map(|r| r.stats.clone()).collect(),
            times: None,
        };
        let output = results.iter().flat_map(|r| r.output.iter().copied()).collect();
        let ends = results.into_iter().map(|r| r.end).collect();
        Ok(VariantRun { stats, ends, buffers, variables, output })
    }

    /// Sets options in the job and in launches that have options of their own; returns the previous
    /// lists.
    fn set_options(&mut self, options: &[(String, String)]) -> Vec<Vec<MachineOption>> {
        let span = self.mechanism.span;
        let lists = std::iter::once(&mut self.options)
            .chain(self.launches.iter_mut().map(|(_, l)| &mut l.options));
        let mut kept = Vec::new();
        for (index, list) in lists.enumerate() {
            kept.push(list.clone());
            // A launch without options of its own uses the job's.
            if index > 0 && list.is_empty() {
                continue;
            }
            for (name, value) in options {
                list.retain(|o| o.key.value != *name);
                list.push(MachineOption {
                    key: Located { value: name.clone(), span },
                    value: Located { value: OptionValue::String(value.clone()), span },
                });
            }
        }
        kept
    }

    fn restore(&mut self, options: Vec<Vec<MachineOption>>) {
        let lists = std::iter::once(&mut self.options)
            .chain(self.launches.iter_mut().map(|(_, l)| &mut l.options));
        for (list, kept) in lists.zip(options) {
            *list = kept;
        }
    }
}
