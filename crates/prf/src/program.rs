//! A loaded program: its instructions by address, and its memory.

use simt::memory::{Addr, MemoryMap, Permission};

use crate::config::Config;
use crate::exec::Trap;
use crate::image::{HexError, Words};
use crate::launch::{Header, LaunchError};
use crate::op::Insn;
use crate::syntax::{CODE_END, CODE_START};

/// Data is mapped in pieces of this many bytes.
const PAGE: u64 = 4096;
/// Most pieces of data of a program.
const MOST_RUNS: usize = 4096;

/// A piece of data: whole pages, some of their bytes not zero.
#[derive(Clone, Debug)]
struct Piece {
    base: u32,
    length: u64,
    runs: Vec<(u32, Vec<u8>)>,
}

/// A loaded program.
#[derive(Clone, Debug)]
pub struct Program {
    /// The launch block and the code, from address 0 on.
    low: Vec<u8>,
    /// The instruction of each word of `low`, if it is one.
    code: Vec<Option<Insn>>,
    data: Vec<Piece>,
    entry: u32,
}

impl Program {
    /// Reads words; instructions are those below `0x10_0000`.
    ///
    /// # Errors
    /// No code, or data scattered over too much memory.
    pub fn new(words: &Words, config: Config) -> Result<Self, LoadError> {
        let mut low = Vec::new();
        let mut data: Vec<Piece> = Vec::new();
        for (address, bytes) in words.runs() {
            let cut = bytes.len().min(CODE_END.saturating_sub(address) as usize);
            let (head, tail) = bytes.split_at(cut);
            if !head.is_empty() {
                low.resize(address as usize, 0);
                low.extend(head);
            }
            if tail.is_empty() {
                continue;
            }
            let start = address.max(CODE_END);
            let first = u64::from(start) / PAGE * PAGE;
            let end = (u64::from(start) + tail.len() as u64).next_multiple_of(PAGE);
            let run = (start, tail.to_vec());
            let reaches = |p: &&mut Piece| u64::from(p.base) + p.length >= first;
            match data.last_mut().filter(reaches) {
                Some(piece) => {
                    piece.length = end - u64::from(piece.base);
                    piece.runs.push(run);
                }
                // Rounding down keeps it in 32 bits.
                None => {
                    let (base, length) = (first as u32, end - first);
                    data.push(Piece { base, length, runs: vec![run] });
                }
            }
        }
        if data.len() > MOST_RUNS {
            return Err(LoadError::Scattered(data.len()));
        }
        if low.len() <= CODE_START as usize && words.0.keys().all(|&a| a >= CODE_END) {
            return Err(LoadError::NoCode);
        }
        let code = low.chunks(4).map(|word| Insn::decode(config.encoding, word)).collect();
        let first = words.0.range(CODE_START..).next().map_or(0, |(&address, _)| address);
        let entry = if first < CODE_END { first } else { 0 };
        Ok(Self { low, code, data, entry })
    }

    /// The address where execution starts by default: the first word from 0x24 on.
    #[must_use]
    pub fn entry(&self) -> u32 {
        self.entry
    }

    /// The end of the addresses of code.
    #[must_use]
    pub fn code_bytes(&self) -> usize {
        self.low.len()
    }

    /// Returns the instruction at an address.
    ///
    /// # Errors
    /// Returns [`Trap`] if there is no word, or none that is an instruction.
    pub fn fetch(&self, pc: u32) -> Result<Insn, Trap> {
        let index = (pc / 4) as usize;
        match self.code.get(index).filter(|_| pc.is_multiple_of(4)) {
            Some(Some(insn)) => Ok(*insn),
            Some(None) => {
                let bytes = self.low.get(pc as usize..).unwrap_or_default();
                Err(Trap::Undefined { word: isa::decode::window(bytes).0 as u32 })
            }
            None => Err(Trap::NoCode { pc }),
        }
    }

    /// The words of the code by address, from the first one after the launch block on, each with
    /// its instruction, if it is one.
    pub fn instructions(&self) -> impl Iterator<Item = (u32, Option<Insn>)> {
        let all = (0u32..).step_by(4).zip(self.code.iter().copied());
        all.skip(CODE_START.min(self.entry) as usize / 4)
    }

    /// Maps and fills the program's memory, unless an earlier launch has.
    pub(crate) fn map(&self, memory: &mut MemoryMap, launch: &Header) -> Result<(), LaunchError> {
        let length = (self.low.len().max(CODE_START as usize) as u64).next_multiple_of(PAGE);
        let mapped = |memory: &MemoryMap, name: &str, base: u64, length: u64| {
            memory
                .region_at(Addr(base))
                .is_some_and(|r| r.base() == Addr(base) && &**r.name() == name && r.len() == length)
        };
        if !mapped(memory, CODE, 0, length) {
            memory.map_at(CODE, Addr(0), length, Permission::ReadOnly)?;
        }
        memory.host_write(Addr(0), &self.low).map_err(LaunchError::Image)?;
        for (offset, value) in launch.words() {
            let bytes = value.to_le_bytes();
            memory.host_write(Addr(offset), &bytes).map_err(LaunchError::Image)?;
        }
        for Piece { base, length, runs } in &self.data {
            let base = u64::from(*base);
            if mapped(memory, DATA, base, *length) {
                continue;
            }
            memory.map_at(DATA, Addr(base), *length, Permission::ReadWrite)?;
            for (address, bytes) in runs {
                let at = Addr(u64::from(*address));
                memory.host_write(at, bytes).map_err(LaunchError::Image)?;
            }
        }
        Ok(())
    }
}

/// Names of the program's regions.
const CODE: &str = "code";
const DATA: &str = "data";

/// The reason that a program is not loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The image is not text.
    #[error("the program is not text: words in hexadecimal are expected")]
    NotText,
    /// A line of the image.
    #[error(transparent)]
    Hex(#[from] HexError),
    /// No word below `0x10_0000`.
    #[error("the program has no code below {CODE_END:#x}")]
    NoCode,
    /// Data in too many places.
    #[error("the program's data lie in {0} places of memory, at most {MOST_RUNS} are possible")]
    Scattered(usize),
}
