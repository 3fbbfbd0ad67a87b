//! How much of the time kernels run.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use cuda_abi::host::{Ptr, put};

use crate::abi::nvmlUtilization_t;
use crate::library::device;
use crate::status::Outcome;

/// The shortest period for which a share is computed: the shortest one that devices have.
const SHORTEST_PERIOD: Duration = Duration::from_nanos(1_000_000_000 / 6);

/// A period of time, and the share of it that is told until the next one.
#[derive(Clone, Copy)]
struct Sample {
    at: Instant,
    busy: u64,
    percent: u32,
}

/// The last sample. All devices run the launches of one process.
static LAST: Mutex<Option<Sample>> = Mutex::new(None);

/// Returns the sample at this time, with the nanoseconds for which kernels have run so far.
fn next(last: Option<Sample>, at: Instant, busy: u64) -> Sample {
    let Some(last) = last else { return Sample { at, busy, percent: 0 } };
    let period = at.saturating_duration_since(last.at);
    if period < SHORTEST_PERIOD {
        return last;
    }
    let ran = u128::from(busy.saturating_sub(last.busy));
    let percent = (ran * 100 / period.as_nanos()).min(100) as u32;
    Sample { at, busy, percent }
}

/// Starts the first period.
pub(crate) fn begin(busy: u64) {
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    last.get_or_insert(Sample { at: Instant::now(), busy, percent: 0 });
}

/// Writes the share of the period since the query before, of at least a sixth of a second. How much
/// of it memory was accessed is not known: 0.
pub(crate) fn rates(handle: u64, out: Ptr) -> Outcome {
    let busy = device(handle)?.status.busy;
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    let sample = next(*last, Instant::now(), busy);
    *last = Some(sample);
    Ok(put(out, &nvmlUtilization_t { gpu: sample.percent, memory: 0 })?)
}
