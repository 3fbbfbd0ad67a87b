//! The statistics of a run.

use machines::stats::LaunchStats;

/// The statistics of a run: a sequence of launches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunStats {
    /// The machine's name.
    pub machine: String,
    /// The program, as the user named it.
    pub module: String,
    /// Convergence mechanism.
    pub mechanism: String,
    /// Width of an issue group in lanes.
    pub warp_size: u64,
    /// The seed of the run.
    pub seed: u64,
    /// The launches, in order.
    pub launches: Vec<LaunchStats>,
    /// How long lanes stayed divergent, if that was measured.
    pub times: Option<RunTimes>,
}

/// How long lanes stayed divergent in a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunTimes {
    /// By launch.
    pub launches: Vec<ReconvergenceTimes>,
    /// Over all launches.
    pub total: ReconvergenceTimes,
}

impl RunStats {
    /// Returns the sum over all launches; maxima are combined by maximum.
    #[must_use]
    pub fn total(&self) -> LaunchStats {
        let mut total = LaunchStats::default();
        let mut kernels: Vec<&str> = Vec::new();
        for launch in &self.launches {
            let new_code = !kernels.contains(&launch.kernel.as_str());
            if let Some(code) = &launch.code {
                total.code.get_or_insert_default().add(code, new_code);
            }
            kernels.push(&launch.kernel);
            total.state_bits = total.state_bits.max(launch.state_bits);
            total.counts.add(&launch.counts);
            for (name, count) in &launch.own {
                match total.own.iter_mut().find(|(known, _)| known == name) {
                    Some((_, sum)) => *sum += count,
                    None => total.own.push((name.clone(), *count)),
                }
            }
        }
        total
    }

    /// Returns a metric's value for one launch, or for all launches if `launch` is `None`. Returns
    /// `None` if there is no such metric or launch.
    #[must_use]
    pub fn value(&self, name: &str, launch: Option<usize>) -> Option<f64> {
        match launch {
            Some(index) => self.launches.get(index)?.counts.metric(name),
            None => self.total().counts.metric(name),
        }
    }
}

/// Reconvergence times of a run, in issues of the group.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReconvergenceTimes {
    /// Number of splits that rejoined.
    pub rejoined: u64,
    /// Number of splits that never did.
    pub never: u64,
    /// Mean time; `None`, as the other two, if none rejoined.
    pub mean: Option<f64>,
    /// Median: the smallest time that at least half of the splits do not exceed.
    pub p50: Option<u64>,
    /// The smallest time that at least 99 of 100 splits do not exceed.
    pub p99: Option<u64>,
}
