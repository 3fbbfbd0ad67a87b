//! Host memory that launches may access, but that is not mapped for them.

use crate::launch::{Failure, Launched};
use crate::stop::Stop;

/// Ranges of host memory: first address and length.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unmapped(Vec<(u64, u64)>);

impl Unmapped {
    pub(crate) fn new(ranges: Vec<(u64, u64)>) -> Self {
        Self(ranges)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns an address in one of the ranges to which a launch was refused access: by a fault, or
    /// by one that it tolerated.
    pub(crate) fn missed(&self, end: &Result<Launched, Failure>) -> Option<u64> {
        match end {
            Err(Failure::Stopped(stop)) => self.of(stop),
            Ok(Launched::Ended(report)) => {
                report.tolerated.iter().find_map(|access| self.of(&access.first))
            }
            _ => None,
        }
    }

    fn of(&self, stop: &Stop) -> Option<u64> {
        let address = stop.access.as_ref()?.addr;
        let holds = |&(start, len): &(u64, u64)| address.wrapping_sub(start) < len;
        self.0.iter().any(holds).then_some(address)
    }
}
