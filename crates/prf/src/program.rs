//! A loaded program: its instructions by address, and its memory.

use std::ops::Range;

use simt::memory::{Addr, MemoryMap, Permission, Region};

use crate::config::Config;
use crate::exec::Trap;
use crate::image::{HexError, Words};
use crate::launch::{BLOCK_THREADS, Header, LaunchError};
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
    start: Start,
    entry: u32,
}

/// The reason that a program starts where it does by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// The image holds a launch block, which names the entry.
    Header {
        /// The address of the arguments in it.
        argument: u32,
    },
    /// There is code at address 0, where a launch block would lie: unit tests of the published
    /// project are such images.
    Zero,
    /// The first word from [`CODE_START`] on.
    First,
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
        let mut program = Self { low, code, data, start: Start::First, entry: 0 };
        (program.start, program.entry) = program.find_start(words);
        Ok(program)
    }

    /// Chooses among the conventions of the published project: memory images begin with a launch
    /// block, unit tests with code.
    fn find_start(&self, words: &Words) -> (Start, u32) {
        let word = |at: u32| words.0.get(&at).copied();
        let insn = |at: u32| self.fetch(at).is_ok();
        let entry = word(0x0c).filter(|e| (CODE_START..CODE_END).contains(e) && insn(*e));
        let threads = word(0x10).filter(|n| (1..=BLOCK_THREADS).contains(n));
        if let (Some(entry), Some(_), Some(1..)) = (entry, threads, word(0x14)) {
            return (Start::Header { argument: word(0x1c).unwrap_or(0) }, entry);
        }
        if word(0).is_some_and(|w| w != 0) && insn(0) {
            return (Start::Zero, 0);
        }
        let first = words.0.range(CODE_START..).next().map_or(0, |(&address, _)| address);
        (Start::First, if first < CODE_END { first } else { 0 })
    }

    /// The address where execution starts by default.
    #[must_use]
    pub fn entry(&self) -> u32 {
        self.entry
    }

    /// The reason that it starts there.
    #[must_use]
    pub fn start(&self) -> Start {
        self.start
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

    /// Maps and fills the program's memory, unless an earlier launch has. Data may lie in regions
    /// that are mapped already, such as the heap: what is missing around them is added.
    pub(crate) fn map(&self, memory: &mut MemoryMap, launch: &Header) -> Result<(), LaunchError> {
        let length = (self.low.len().max(CODE_START as usize) as u64).next_multiple_of(PAGE);
        let is_code = |r: &&Region| r.base() == Addr(0) && r.len() == length && &**r.name() == CODE;
        let loaded = memory.region_at(Addr(0)).filter(is_code).is_some();
        if !loaded {
            memory.map_at(CODE, Addr(0), length, Permission::ReadOnly)?;
        }
        memory.host_write(Addr(0), &self.low).map_err(LaunchError::Image)?;
        // Code at 0 takes the place of the launch block.
        if self.start != Start::Zero {
            for (offset, value) in launch.words() {
                let bytes = value.to_le_bytes();
                memory.host_write(Addr(offset), &bytes).map_err(LaunchError::Image)?;
            }
        }
        if loaded {
            return Ok(());
        }
        for Piece { base, length, runs } in &self.data {
            for Range { start, end } in memory.gaps(u64::from(*base)..u64::from(*base) + *length) {
                memory.map_at(DATA, Addr(start), end - start, Permission::ReadWrite)?;
            }
            for (address, bytes) in runs {
                write(memory, u64::from(*address), bytes)?;
            }
        }
        Ok(())
    }
}

/// Writes bytes that may lie in several regions one behind the other.
fn write(memory: &mut MemoryMap, mut at: u64, mut bytes: &[u8]) -> Result<(), LaunchError> {
    while !bytes.is_empty() {
        let end = memory.region_at(Addr(at)).map_or(u64::MAX, |r| r.base().0 + r.len());
        let here = usize::try_from(end.saturating_sub(at)).unwrap_or(usize::MAX);
        let (head, tail) = bytes.split_at(bytes.len().min(here.max(1)));
        memory.host_write(Addr(at), head).map_err(LaunchError::Image)?;
        (at, bytes) = (at + head.len() as u64, tail);
    }
    Ok(())
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
