//! Which rows live in vector registers: those that are used most, uses in loops counting more.

use fast::code::{Code, Dst, Kind, Memory, Src, Step};
use iced_x86::Register;

/// The first vector register that rows may have, and how many they are.
const FIRST: u32 = 8;
const VECTORS: usize = 24;
/// What a use counts more for each loop around it.
const LOOP: u64 = 8;
/// Deeper loops count as this deep.
const DEEPEST: u32 = 5;
/// Where warps wait for each other, rows that weigh less stay in memory: loading and saving them at
/// each barrier would cost more.
const LEAST: u64 = LOOP;

/// Where rows are.
#[derive(Debug, Default)]
pub(crate) struct Assignment {
    narrow: Vec<Option<u8>>,
    wide: Vec<Option<u8>>,
}

impl Assignment {
    pub(crate) fn new(code: &Code) -> Self {
        let mut uses =
            Uses { narrow: vec![0; code.narrow as usize], wide: vec![0; code.wide as usize] };
        for (block, depth) in code.blocks.iter().zip(code.loop_depths()) {
            let weight = LOOP.pow(depth.min(DEEPEST));
            for step in &code.steps[block.steps.clone()] {
                uses.step(step, weight);
            }
        }
        let waits = code.steps.iter().any(|step| matches!(step.kind, Kind::Barrier { .. }));
        let least = if waits { LEAST } else { 1 };
        let narrow = uses.narrow.iter().enumerate().map(|(i, &w)| (w, 2, i));
        let wide = uses.wide.iter().enumerate().map(|(i, &w)| (w, 4, i));
        let mut rows: Vec<(u64, usize, usize)> =
            narrow.chain(wide).filter(|r| r.0 >= least).collect();
        rows.sort_by_key(|r| (std::cmp::Reverse(r.0), r.1, r.2));
        let mut this =
            Self { narrow: vec![None; code.narrow as usize], wide: vec![None; code.wide as usize] };
        let mut used = 0;
        for (_, vectors, row) in rows {
            if used + vectors <= VECTORS {
                let first = Some(used as u8);
                if vectors == 2 {
                    this.narrow[row] = first;
                } else {
                    this.wide[row] = first;
                }
                used += vectors;
            }
        }
        this
    }

    /// The register of a part of a row of 32-bit values.
    pub(crate) fn narrow(&self, row: u32, half: usize) -> Option<Register> {
        let first = self.narrow.get(row as usize).copied().flatten()?;
        Some(vector(usize::from(first) + half))
    }

    /// The register of a part of a row of 64-bit values.
    pub(crate) fn wide(&self, row: u32, quarter: usize) -> Option<Register> {
        let first = self.wide.get(row as usize).copied().flatten()?;
        Some(vector(usize::from(first) + quarter))
    }

    /// All assigned registers, and where their parts of rows are in memory.
    pub(crate) fn places(&self) -> Vec<(Register, Register, i64)> {
        let mut places = Vec::new();
        for (row, first) in self.narrow.iter().enumerate() {
            for half in 0..first.map_or(0, |_| 2) {
                let register = vector(usize::from(first.unwrap_or(0)) + half);
                places.push((register, Register::R12, (row * 128 + half * 64) as i64));
            }
        }
        for (row, first) in self.wide.iter().enumerate() {
            for quarter in 0..first.map_or(0, |_| 4) {
                let register = vector(usize::from(first.unwrap_or(0)) + quarter);
                places.push((register, Register::R13, (row * 256 + quarter * 64) as i64));
            }
        }
        places
    }
}

fn vector(index: usize) -> Register {
    Register::ZMM0 + FIRST + index as u32
}

struct Uses {
    narrow: Vec<u64>,
    wide: Vec<u64>,
}

impl Uses {
    fn src(&mut self, src: Src, weight: u64) {
        match src {
            Src::Narrow(i) => self.narrow[i as usize] += weight,
            Src::Wide(i) => self.wide[i as usize] += weight,
            _ => {}
        }
    }

    fn dst(&mut self, dst: Dst, weight: u64) {
        match dst {
            Dst::Narrow(i) => self.narrow[i as usize] += weight,
            Dst::Wide(i) => self.wide[i as usize] += weight,
            _ => {}
        }
    }

    fn memory(&mut self, memory: &Memory, weight: u64) {
        self.src(memory.addr, weight);
        memory.src.iter().for_each(|&s| self.src(s, weight));
        memory.dst.iter().for_each(|&d| self.dst(d, weight));
    }

    fn step(&mut self, step: &Step, weight: u64) {
        match &step.kind {
            Kind::Narrow { dst, src, .. } | Kind::Select { wide: false, dst, src } => {
                self.narrow[*dst as usize] += weight;
                src.iter().for_each(|&s| self.src(s, weight));
            }
            Kind::Wide { dst, src, .. } | Kind::Select { wide: true, dst, src } => {
                self.wide[*dst as usize] += weight;
                src.iter().for_each(|&s| self.src(s, weight));
            }
            Kind::Rare { dst, src, .. } => {
                self.narrow[*dst as usize] += weight;
                src.iter().for_each(|&s| self.src(s, weight));
            }
            Kind::Generic(generic) => {
                generic.src.iter().for_each(|&s| self.src(s, weight));
                generic.dst.iter().for_each(|&d| self.dst(d, weight));
            }
            Kind::Collective(collective) => {
                collective.src.iter().for_each(|&s| self.src(s, weight));
                collective.dst.iter().for_each(|&d| self.dst(d, weight));
            }
            Kind::Low { dst, src } => {
                self.narrow[*dst as usize] += weight;
                self.src(*src, weight);
            }
            Kind::Test { src, .. } => src.iter().for_each(|&s| self.src(s, weight)),
            Kind::Load(memory) | Kind::Store(memory) => self.memory(memory, weight),
            Kind::Atomic(atomic) => self.memory(&atomic.memory, weight),
            _ => {}
        }
    }
}
