//! RISC-V of 64 bits as GDB knows it, with the masks.

use std::num::NonZeroUsize;

use gdbstub::arch::{Arch, RegId, Registers};

/// What is beyond RISC-V's own registers, by name, with its size in bits.
pub(crate) const EXTRA: [(&str, u32); 5] =
    [("p0", 64), ("bank1", 64), ("bank2", 64), ("bank3", 64), ("svstate", 64)];

/// The names of the integer registers.
pub(crate) const INTEGERS: [&str; 32] = [
    "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4",
    "a5", "a6", "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4",
    "t5", "t6",
];

/// Integer registers and the program counter; floating-point registers, the masks.
pub(crate) const COUNT: usize = 33 + 32 + EXTRA.len();

/// The registers in GDB's order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HartRegisters(pub(crate) [u64; COUNT]);

impl Default for HartRegisters {
    fn default() -> Self {
        Self([0; COUNT])
    }
}

/// Index of the program counter.
pub(crate) const PC: usize = 32;

impl Registers for HartRegisters {
    type ProgramCounter = u64;

    fn pc(&self) -> u64 {
        self.0[PC]
    }

    fn gdb_serialize(&self, mut write_byte: impl FnMut(Option<u8>)) {
        for byte in self.0.iter().flat_map(|word| word.to_le_bytes()) {
            write_byte(Some(byte));
        }
    }

    fn gdb_deserialize(&mut self, bytes: &[u8]) -> Result<(), ()> {
        let words = bytes.as_chunks::<8>().0;
        if words.len() < COUNT {
            return Err(());
        }
        for (to, from) in self.0.iter_mut().zip(words) {
            *to = u64::from_le_bytes(*from);
        }
        Ok(())
    }
}

/// A register by its number in the description.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HartRegister(pub(crate) usize);

impl RegId for HartRegister {
    fn from_raw_id(id: usize) -> Option<(Self, Option<NonZeroUsize>)> {
        (id < COUNT).then(|| (Self(id), NonZeroUsize::new(8)))
    }
}

/// The name that the session has for a register.
pub(crate) fn name(index: usize) -> String {
    match index {
        0..32 => INTEGERS[index].to_owned(),
        PC => "pc".to_owned(),
        33..65 => format!("f{}", index - 33),
        _ => EXTRA.get(index - 65).map_or(String::new(), |(name, _)| (*name).to_owned()),
    }
}

/// The architecture.
pub(crate) enum HartArch {}

impl Arch for HartArch {
    type Usize = u64;
    type Registers = HartRegisters;
    type BreakpointKind = usize;
    type RegId = HartRegister;

    fn target_description_xml() -> Option<&'static str> {
        Some(include_str!("target.xml"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The description has the registers in the order of their numbers.
    #[test]
    fn the_description_is_that_of_the_registers() {
        let names = include_str!("target.xml").lines().filter_map(|line| {
            let name = line.trim().strip_prefix("<reg name=\"")?.split('"').next()?;
            Some(name.to_owned())
        });
        let names: Vec<String> = names.collect();
        assert_eq!(names.len(), COUNT);
        for (index, named) in names.iter().enumerate() {
            // GDB has names of its own for floating-point registers.
            if !(33..65).contains(&index) {
                assert_eq!(*named, name(index));
            }
        }
    }
}
