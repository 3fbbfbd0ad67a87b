//! Headers of decoupled and header-driven blocks: descriptors are collected, then validated before
//! any effect.
//!
//! The rules: an illegal B.TEXT comes first, then exactly one missing family by the priority B.ARG,
//! B.TEXT, B.IOT, B.IOR, B.DIM, then what is there but wrong.

mod bindings;

use crate::action::{Descriptor, Simt};
use crate::insn::Insn;
use crate::state::State;
use crate::trap::{Detail, Family, Trap};

/// The block that a header starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Simt(Simt),
    Load,
    Store,
    Move,
    Matmul { accumulate: bool },
    Convert,
    Tile(crate::names::TileOp),
}

/// A tile descriptor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Iot {
    /// Ids of the source tiles.
    pub(crate) sources: [Option<u8>; 2],
    /// 0 to 3 for a hand, 4 for the accumulator.
    pub(crate) dest: Option<u8>,
    /// Bytes; `None` if they are not legal.
    pub(crate) bytes: Option<u32>,
    /// Whether it says that it is the last.
    last: bool,
}

/// A header under construction.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Header {
    pub(crate) kind: Kind,
    pub(crate) start: u64,
    pub(crate) pc: u64,
    pub(crate) data_type: u8,
    pub(crate) dims: [Option<u64>; 3],
    pub(crate) text: Option<u64>,
    texts: u32,
    /// Sources as they were at header time, zero registers left out; then the export.
    pub(crate) ior: Vec<(Vec<u64>, u8)>,
    pub(crate) iot: Vec<Iot>,
    /// The number of the format, and the whole word.
    pub(crate) arg: Option<(u8, u64)>,
    /// The bit DR of B.ATTR: rows share groups.
    pub(crate) shared_rows: bool,
    /// Whether there are more descriptors than any kernel can use.
    too_many: bool,
}

/// Descriptors of one family that are kept; more are an error.
const MOST: usize = 64;

impl Header {
    pub(crate) fn new(kind: Kind, start: u64, pc: u64, data_type: u8) -> Self {
        Self {
            kind,
            start,
            pc,
            data_type,
            dims: [None; 3],
            text: None,
            texts: 0,
            ior: Vec::new(),
            iot: Vec::new(),
            arg: None,
            shared_rows: false,
            too_many: false,
        }
    }

    /// Adds a descriptor. Registers are read now.
    pub(crate) fn take(&mut self, what: Descriptor, insn: &Insn, state: &State) {
        let reg = |code: u64| state.scalar(code as i64);
        match what {
            Descriptor::Text => {
                self.texts += 1;
                self.text = Some(self.pc.wrapping_add_signed(insn.imm));
            }
            Descriptor::Dim(dim) => {
                let value = reg(insn.bits(15, 5)).wrapping_add(insn.imm as u64);
                self.dims[usize::from(dim) % 3] = Some(value);
            }
            Descriptor::CDim => {
                self.dims[insn.bits(11, 3) as usize % 3] = Some(reg(insn.bits(6, 5)));
            }
            Descriptor::CDimI => self.dims[insn.bits(14, 2) as usize % 3] = Some(insn.bits(6, 8)),
            Descriptor::Ior => {
                let codes = [insn.bits(15, 5), insn.bits(20, 5), insn.bits(27, 5)];
                let sources = codes.into_iter().filter(|&c| c != 0).map(reg).collect();
                if self.ior.len() < MOST {
                    self.ior.push((sources, insn.bits(7, 5) as u8));
                } else {
                    self.too_many = true;
                }
            }
            Descriptor::Iot | Descriptor::IotI => self.take_tiles(what, insn, reg(insn.bits(7, 5))),
            Descriptor::Arg => self.arg = Some((insn.bits(7, 5) as u8, insn.word)),
            Descriptor::Attr => self.shared_rows = insn.bits(26, 1) != 0,
            Descriptor::Hint => {}
        }
    }

    fn take_tiles(&mut self, what: Descriptor, insn: &Insn, register: u64) {
        let source =
            |absent: u32, at: u32| (insn.bits(absent, 1) == 0).then(|| insn.bits(at, 5) as u8);
        let sources = [source(28, 15), source(29, 20)];
        let dest = Some(insn.bits(25, 3) as u8).filter(|&d| d != 7);
        let size = if what == Descriptor::IotI { insn.bits(7, 5) } else { register };
        let bytes = match size {
            5..=8 => Some(1 << (size + 4)),
            512 | 1024 | 2048 | 4096 if what == Descriptor::Iot => Some(size as u32),
            _ => None,
        };
        if self.iot.len() < MOST {
            let last = insn.bits(12, 1) != 0;
            self.iot.push(Iot { sources, dest, bytes, last });
        } else {
            self.too_many = true;
        }
    }

    /// Source tiles in order.
    pub(crate) fn inputs(&self) -> Vec<u8> {
        self.iot.iter().flat_map(|iot| iot.sources.into_iter().flatten()).collect()
    }

    /// Hands and sizes of destination tiles in order, the accumulator left out.
    pub(crate) fn outputs(&self) -> Vec<(u8, u32)> {
        let dest = |iot: &Iot| Some((iot.dest.filter(|&d| d < 4)?, iot.bytes?));
        self.iot.iter().filter_map(dest).collect()
    }

    fn required(&self, lenient_arg: bool) -> [bool; 5] {
        // B.ARG, B.TEXT, B.IOT, B.IOR, B.DIM.
        match self.kind {
            Kind::Simt(_) => [false, true, false, false, true],
            Kind::Load | Kind::Store => [true, false, true, true, false],
            Kind::Move => [false, false, true, false, false],
            Kind::Matmul { .. } => [!lenient_arg, false, true, false, true],
            Kind::Convert => [true, false, true, true, true],
            Kind::Tile(op) => {
                let scalar = op.v04 >= 0x20 || matches!(op.name, "TDIV" | "TCVT" | "TEXPANDS");
                [op.name == "TCVT", false, true, scalar, true]
            }
        }
    }

    /// Checks the header; `at` is the instruction that ends it.
    pub(crate) fn validate(&self, at: u64, state: &State) -> Result<(), Trap> {
        let trap = |family, detail, words: &str| Err(Trap::format(at, family, detail, words));
        let simt = matches!(self.kind, Kind::Simt(_));
        if self.texts > 0 && !simt {
            return trap(Family::Text, Detail::Illegal, "this block has no body");
        }
        let dim = self.dims[0].is_some() || (simt && state.options.lenient_dim);
        let there =
            [self.arg.is_some(), self.texts > 0, !self.iot.is_empty(), !self.ior.is_empty(), dim];
        let families = [Family::Arg, Family::Text, Family::Iot, Family::Ior, Family::Dim];
        for ((need, there), family) in
            self.required(state.options.lenient_arg).into_iter().zip(there).zip(families)
        {
            if need && !there {
                return trap(family, Detail::Missing, "a mandatory descriptor is missing");
            }
        }
        if self.texts > 1 {
            return trap(Family::Text, Detail::Illegal, "more than one B.TEXT");
        }
        self.validate_values(at, state)
    }

    fn validate_values(&self, at: u64, state: &State) -> Result<(), Trap> {
        let trap = |family, words: &str| Err(Trap::format(at, family, Detail::Invalid, words));
        let simt = matches!(self.kind, Kind::Simt(_));
        if self.iot.iter().any(|iot| iot.dest.is_some_and(|d| d > 4)) {
            return trap(Family::Iot, "a destination that is not a tile");
        }
        if self.iot.iter().any(|iot| iot.dest.is_some() && iot.bytes.is_none()) {
            return trap(Family::Iot, "a tile size that is not 512 B, 1 KB, 2 KB or 4 KB");
        }
        if self.too_many || (simt && (self.inputs().len() > 4 || self.outputs().len() > 2)) {
            return trap(
                Family::Iot,
                "more tiles than there are names: four sources, two destinations",
            );
        }
        let exports = self.ior.iter().filter(|(_, dest)| *dest != 0).count();
        if simt && (self.imports(state).len() > 12 || exports > 4) {
            return trap(
                Family::Ior,
                "more scalars than there are names: twelve imports, four exports",
            );
        }
        if self.ior.iter().any(|(_, dest)| *dest >= 24) {
            return trap(Family::Ior, "an export to a queue entry");
        }
        if state.options.lenient_tiles { Ok(()) } else { self.validate_bindings(at) }
    }

    /// Returns the imports in order. With the option `exports_import`, an export takes an index as
    /// well.
    pub(crate) fn imports(&self, state: &State) -> Vec<u64> {
        let mut out = Vec::new();
        for (sources, dest) in &self.ior {
            out.extend(sources);
            if state.options.exports_import && *dest != 0 {
                out.push(state.scalar(i64::from(*dest)));
            }
        }
        out
    }

    /// The scalars of an engine block in order.
    pub(crate) fn scalars(&self) -> Vec<u64> {
        self.ior.iter().flat_map(|(sources, _)| sources.iter().copied()).collect()
    }
}
