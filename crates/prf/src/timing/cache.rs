//! The instruction cache with the memory behind it: direct mapped, blocking, one request at a time.

use crate::timing::flight::{Flight, Stage};
use prf_parameters::Params;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cache {
    line: u32,
    latency: u64,
    /// The line that each place holds.
    tags: Vec<Option<u32>>,
    /// The instruction fetched in the last cycle.
    pub(crate) fetched: Option<Box<Flight>>,
    /// The fetch that waits for memory, and the cycle of the answer.
    missing: Option<(Box<Flight>, u64)>,
    /// The instruction that goes to the decoder in the next cycle.
    pub(crate) output: Option<Box<Flight>>,
    pub(crate) hits: u64,
    pub(crate) misses: u64,
}

impl Cache {
    pub(crate) fn new(params: &Params) -> Self {
        let places = (params.icache.bytes / params.icache.line) as usize;
        Self {
            line: params.icache.line,
            latency: params.memory.latency.into(),
            tags: vec![None; places],
            fetched: None,
            missing: None,
            output: None,
            hits: 0,
            misses: 0,
        }
    }

    /// Counts times from a cycle on and forgets the counts, so that states of different cycles can
    /// be compared.
    pub(crate) fn count_from(&mut self, cycle: u64) {
        (self.hits, self.misses) = (0, 0);
        if let Some((flight, answer)) = &mut self.missing {
            flight.count_from(cycle);
            *answer = answer.saturating_sub(cycle);
        }
        self.fetched.iter_mut().chain(&mut self.output).for_each(|f| f.count_from(cycle));
    }

    pub(crate) fn misses_now(&self) -> bool {
        self.missing.is_some()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.fetched.is_none() && self.missing.is_none() && self.output.is_none()
    }

    /// Runs one cycle; returns whether the cache can take another fetch. An instruction that goes
    /// to the decoder is in `output` then.
    pub(crate) fn cycle(&mut self, cycle: u64) -> bool {
        if let Some((flight, answer)) = self.missing.take() {
            if cycle < answer {
                self.missing = Some((flight, answer));
                return false;
            }
            let (line, place) = self.place(flight.pc);
            self.tags[place] = Some(line);
            self.put_out(flight, cycle);
            return true;
        }
        let Some(flight) = self.fetched.take() else { return true };
        let (line, place) = self.place(flight.pc);
        if self.tags[place] == Some(line) {
            self.hits += 1;
            self.put_out(flight, cycle);
            return true;
        }
        self.misses += 1;
        // Memory accepts the request in the next cycle.
        self.missing = Some((flight, cycle + 1 + self.latency));
        false
    }

    fn place(&self, pc: u32) -> (u32, usize) {
        let line = pc / self.line;
        (line, line as usize % self.tags.len())
    }

    fn put_out(&mut self, mut flight: Box<Flight>, cycle: u64) {
        flight.pass(Stage::Cache, cycle);
        self.output = Some(flight);
    }
}
