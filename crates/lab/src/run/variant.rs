//! Runs of one job under different settings, for comparisons.

use std::borrow::Cow;
use std::path::Path;

use inputs::launch::{Located, MachineOption, OptionValue};
use isa::{Diagnostic, Diagnostics};
use machines::stats::LaunchStats;
use machines::{ControlFlow, Dependence, End, LaunchMonitor};

use super::checks::Check;
use super::execute::{LaunchResults, RunSettings};
use super::job::Job;
use super::report::FinalBuffer;
use super::time::wall_time;
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
    /// Whether the knobs of mechanisms among the job's options are ignored.
    pub default_knobs: bool,
}

impl Variant {
    /// A mechanism at a width; all else is as the job says.
    #[must_use]
    pub fn of(mechanism: &str, warp_size: u64) -> Self {
        Self {
            mechanism: mechanism.to_owned(),
            warp_size,
            order: None,
            options: Vec::new(),
            limit: None,
            default_knobs: false,
        }
    }
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

    /// Returns warnings about the program and its arguments, and about problems that may occur at
    /// run time.
    #[must_use]
    pub fn warnings(&self) -> Vec<Diagnostic> {
        let mut warnings = self.input_warnings();
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
        &self,
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
        &self,
        variant: &Variant,
        monitor: &mut dyn LaunchMonitor,
    ) -> Result<VariantRun, Diagnostics> {
        self.run_as(variant, false, monitor)
    }

    fn run_as(
        &self,
        variant: &Variant,
        detailed: bool,
        monitor: &mut dyn LaunchMonitor,
    ) -> Result<VariantRun, Diagnostics> {
        let outcome = self.launch_all(&self.settings_of(variant), detailed, monitor);
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

    /// Returns the settings of a variant. Knobs among the job's options that its mechanism does not
    /// read are left out, and all of them under the reference of comparisons: there they have their
    /// defaults.
    fn settings_of<'a>(&'a self, variant: &'a Variant) -> RunSettings<'a> {
        let order = variant.order.iter().map(|order| ("order", order.as_str()));
        let others = variant.options.iter().map(|(n, v)| (n.as_str(), v.as_str()));
        let changes: Vec<(&str, &str)> = order.chain(others).collect();
        let kept = |name: &str| {
            let knob = self.machine.is_knob(name);
            !knob || !variant.default_knobs && self.machine.reads(&variant.mechanism, name)
        };
        let changed = |list: &[MachineOption]| {
            let options = list.iter().filter(|o| {
                kept(&o.key.value) && !changes.iter().any(|(name, _)| o.key.value == *name)
            });
            let changes = changes.iter().map(|(name, value)| self.option(name, value));
            Cow::Owned(options.cloned().chain(changes).collect())
        };
        RunSettings {
            mechanism: &variant.mechanism,
            warp_size: variant.warp_size,
            limit: self.limit.or(variant.limit),
            options: changed(&self.options),
            of_launches: self
                .launches
                .iter()
                .map(|(_, launch)| match launch.options.as_slice() {
                    [] => Cow::Borrowed(&[][..]),
                    own => changed(own),
                })
                .collect(),
            clock: wall_time,
        }
    }

    fn option(&self, name: &str, value: &str) -> MachineOption {
        let span = self.mechanism.span;
        MachineOption {
            key: Located { value: name.to_owned(), span },
            value: Located { value: OptionValue::String(value.to_owned()), span },
        }
    }
}
