//! The data section: spill slots, then the module's variables.

use crate::Missing;
use crate::variables::needed;
use ir::module::VarId;
use ir::{Function, Module, Symbol};
use rustc_hash::FxHashMap;
use std::fmt::Write;

/// Where the data section begins.
pub(super) const START: u32 = 0x10_0000;
/// Warps that have spill slots at a time.
const WARPS: u32 = 1024;
/// Words on a line.
const WORDS_OF_LINE: usize = 8;

/// Where variables lie, and the section as text.
pub(super) struct Data {
    addresses: FxHashMap<VarId, u32>,
    pub(super) text: String,
    /// Spill slots of a warp.
    pub(super) slots: u32,
}

impl Data {
    /// The variables that a kernel needs.
    pub(super) fn new(module: &Module, function: &Function, slots: u32) -> Result<Self, Missing> {
        let mut data = Self { addresses: FxHashMap::default(), text: String::new(), slots };
        let needed = needed(module, function);
        let mut end = u64::from(START) + u64::from(WARPS * slots * 4);
        for &id in &needed {
            let var = &module.vars[id.index()];
            end = end.next_multiple_of(u64::from(var.align.max(4)));
            data.addresses.insert(id, end as u32);
            end += var.size.next_multiple_of(4);
        }
        let bytes = end - u64::from(START);
        if bytes > u64::from(super::DATA_BYTES) {
            let what = format!("room for {bytes} bytes of data (at most {})", super::DATA_BYTES);
            return Err(Missing { what, loc: function.loc });
        }
        if bytes > 0 {
            data.text.push_str("    .data\n");
        }
        if slots > 0 {
            let _ = writeln!(data.text, "spills:\n    .space {}", WARPS * slots * 4);
        }
        let mut at = START + WARPS * slots * 4;
        for id in needed {
            data.variable(module, id, &mut at);
        }
        Ok(data)
    }

    /// The address of a variable's byte.
    pub(super) fn address(&self, symbol: Symbol, at: i64) -> Option<u32> {
        match symbol {
            Symbol::Var(id) => self.addresses.get(&id).map(|base| base.wrapping_add(at as u32)),
            _ => None,
        }
    }

    fn variable(&mut self, module: &Module, id: VarId, at: &mut u32) {
        let var = &module.vars[id.index()];
        let start = self.addresses[&id];
        if start > *at {
            let _ = writeln!(self.text, "    .space {}", start - *at);
        }
        let size = var.size.next_multiple_of(4) as u32;
        *at = start + size;
        let mut bytes = var.init.clone();
        for reloc in &var.relocs {
            let base = self.address(reloc.symbol, reloc.addend).unwrap_or(0);
            let value = (u64::from(base) >> (8 * reloc.byte.min(7))).to_le_bytes();
            let (from, count) = (reloc.offset as usize, reloc.size.min(8) as usize);
            bytes.resize(bytes.len().max(from + count), 0);
            bytes[from..from + count].copy_from_slice(&value[..count]);
        }
        bytes.truncate(size as usize);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        let _ = writeln!(self.text, "# {}", var.name);
        let words: Vec<String> = bytes
            .chunks(4)
            .map(|word| word.iter().rev().fold(0u32, |all, &byte| all << 8 | u32::from(byte)))
            .map(|word| format!("{word:#x}"))
            .collect();
        for line in words.chunks(WORDS_OF_LINE) {
            let _ = writeln!(self.text, "    .word {}", line.join(", "));
        }
        let rest = size - bytes.len() as u32;
        if rest > 0 {
            let _ = writeln!(self.text, "    .space {rest}");
        }
    }
}
