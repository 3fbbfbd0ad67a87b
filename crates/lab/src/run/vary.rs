//! One job under many settings: what comparisons are made of.

use std::path::Path;

use isa::{Diagnostic, Diagnostics};

use super::execute::Outcome;
use super::{FinalBuffer, Job};
use crate::launch::{Located, MachineOption, OptionValue};
use crate::machine::{ControlFlow, Dependence, End, Watch};
use crate::stats::{LaunchStats, RunStats};

/// How a job is run, other than it says itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Convergence mechanism, one of the machine's.
    pub mechanism: String,
    /// Lanes of an issue group.
    pub warp_size: u64,
    /// Which side of a divergent branch runs first, where a mechanism asks.
    pub order: Option<String>,
    /// Options of the machine that overrule the job's.
    pub options: Vec<(String, String)>,
    /// Most issues of one block, if the job sets no limit.
    pub limit: Option<u64>,
}

/// What came of a variant.
#[derive(Clone, Debug)]
pub struct VariantRun {
    /// Statistics of all launches that began.
    pub stats: RunStats,
    /// How each of them ended.
    pub ends: Vec<End>,
    /// All buffers.
    pub buffers: Vec<FinalBuffer>,
    /// The program's own variables in global memory.
    pub variables: Vec<(String, Vec<u8>)>,
    /// What the kernels printed.
    pub output: Vec<u8>,
}

impl VariantRun {
    /// All launches together.
    #[must_use]
    pub fn total(&self) -> LaunchStats {
        self.stats.total()
    }
}

impl Job {
    /// The warp size that it is run with when nothing else is said.
    #[must_use]
    pub fn warp_size(&self) -> u64 {
        self.warp_size.value
    }

    /// The program, as the user named it.
    #[must_use]
    pub fn module_name(&self) -> &str {
        &self.module_name
    }

    /// The program's file.
    #[must_use]
    pub fn module_path(&self) -> &Path {
        &self.module
    }

    /// What may go wrong when the program runs, as far as that can be told before.
    #[must_use]
    pub fn warnings(&self) -> Vec<Diagnostic> {
        self.program.warnings()
    }

    /// The graph of one of the program's kernels; none if the machine has no such graphs.
    #[must_use]
    pub fn control_flow(&self, kernel: &str) -> Option<ControlFlow> {
        self.program.control_flow(kernel)
    }

    /// Functions that a kernel calls, directly or not.
    #[must_use]
    pub fn called(&self, kernel: &str) -> Vec<String> {
        self.program.called(kernel)
    }

    /// The seed.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The kernels launched, in order.
    pub fn kernel_names(&self) -> impl Iterator<Item = &str> {
        self.launches.iter().map(|(kernel, _)| kernel.name.as_str())
    }

    /// Kernels whose results depend on how many lanes the warp has that they see, each once: with the first instruction that
    /// makes it so, and how many there are.
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

    /// Buffers in which the order of elements does not count, as expectations say.
    pub fn multisets(&self) -> impl Iterator<Item = &str> {
        self.checks.iter().filter_map(super::Check::multiset)
    }

    /// Runs all launches under other settings, without judging expectations.
    ///
    /// # Errors
    /// If the launches cannot begin. A finding with the code [`UNSUPPORTED`](super::UNSUPPORTED) says that the mechanism or the
    /// warp size is not for this program.
    pub fn run_variant(
        &mut self,
        variant: &Variant,
        watch: &mut dyn Watch,
    ) -> Result<VariantRun, Diagnostics> {
        let kept = (self.mechanism.clone(), self.warp_size.clone(), self.limit);
        let order = variant.order.iter().map(|order| ("order".to_owned(), order.clone()));
        let options =
            self.set_options(&order.chain(variant.options.iter().cloned()).collect::<Vec<_>>());
        self.mechanism.value.clone_from(&variant.mechanism);
        self.warp_size.value = variant.warp_size;
        self.limit = self.limit.or(variant.limit);
        let outcome = self.launch_all(&variant.mechanism, true, watch);
        (self.mechanism, self.warp_size, self.limit) = kept;
        self.restore(options);
        let Outcome { results, buffers, variables, .. } = outcome?;
        let stats = RunStats {
            machine: self.machine.name().to_owned(),
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

    /// Puts options into those of the job and of launches that have their own; gives back what was there.
    fn set_options(&mut self, options: &[(String, String)]) -> Vec<Vec<MachineOption>> {
        let span = self.mechanism.span;
        let lists = std::iter::once(&mut self.options)
            .chain(self.launches.iter_mut().map(|(_, l)| &mut l.options));
        let mut kept = Vec::new();
        for (index, list) in lists.enumerate() {
            kept.push(list.clone());
            // A launch without options of its own has the job's.
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
