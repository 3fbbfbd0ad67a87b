//! Shorter schedules with the same outcome.

use crate::recorded::Deviation;

/// Runs that one schedule may take to shorten.
const MOST_RUNS: usize = 400;

/// Returns as few of the choices as are found to suffice. `run` tells whether a schedule still
/// shows what matters, and returns the choices that it has made.
pub(crate) fn shorten<E>(
    mut best: Vec<Deviation>,
    mut run: impl FnMut(&[Deviation]) -> Result<Option<Vec<Deviation>>, E>,
) -> Result<Vec<Deviation>, E> {
    let mut runs = 0;
    let mut try_run = |candidate: &[Deviation], best: &mut Vec<Deviation>| {
        if runs == MOST_RUNS {
            return Ok(false);
        }
        runs += 1;
        let made = run(candidate)?.filter(|made| made.len() < best.len());
        let shorter = made.is_some();
        if let Some(made) = made {
            *best = made;
        }
        Ok(shorter)
    };
    // First without all that comes after some choice, then without parts of any place.
    let mut keep = 0;
    while keep < best.len() {
        let prefix = best[..keep].to_vec();
        if try_run(&prefix, &mut best)? {
            break;
        }
        keep = (keep * 2).max(keep + 1);
    }
    let mut chunk = best.len().div_ceil(2);
    while chunk > 0 {
        let mut at = 0;
        while at < best.len() {
            let end = (at + chunk).min(best.len());
            let without = [&best[..at], &best[end..]].concat();
            if !try_run(&without, &mut best)? {
                at = end;
            }
        }
        chunk /= 2;
    }
    Ok(best)
}
