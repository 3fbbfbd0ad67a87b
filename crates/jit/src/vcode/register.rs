//! Registers: classes, widths, and the registers that allocation may use.

use fast::Level;
use iced_x86::Register;
use regalloc2::{MachineEnv, PReg, PRegSet, RegClass};

pub(crate) use regalloc2::VReg;

/// The class of general registers.
pub(crate) const INT: RegClass = RegClass::Int;
/// The class of vector registers.
pub(crate) const VECTOR: RegClass = RegClass::Vector;
/// The class of mask registers.
pub(crate) const MASK: RegClass = RegClass::Float;

/// The frame: a [`crate::frame::Frame`].
pub(crate) const FRAME: Register = Register::RBP;
/// The constant pool.
pub(crate) const POOL: Register = Register::R11;
/// The running warp's seat: memory for what this warp alone keeps, aligned to a vector.
pub(crate) const SEAT: Register = Register::R15;

/// General registers that no value is allocated to.
const RESERVED: [Register; 4] = [Register::RSP, FRAME, POOL, SEAT];
/// General registers that a called function preserves by the System V convention.
const PRESERVED: [Register; 4] = [Register::RBX, Register::R12, Register::R13, Register::R14];

/// The part of a register that an operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    /// The low 8, 16, 32 bits, and all bits of a general register.
    R8,
    R16,
    R32,
    R64,
    /// The low 128, 256, 512 bits of a vector register.
    X,
    Y,
    Z,
    /// As many bits of a vector register as the level has.
    V,
    /// A mask register.
    K,
}

impl View {
    /// Returns the class of registers that this is a part of.
    pub(super) fn class(self) -> RegClass {
        match self {
            Self::R8 | Self::R16 | Self::R32 | Self::R64 => INT,
            Self::X | Self::Y | Self::Z | Self::V => VECTOR,
            Self::K => MASK,
        }
    }

    /// Returns all of a register of a class.
    pub(super) fn full(class: RegClass) -> Self {
        match class {
            RegClass::Int => Self::R64,
            RegClass::Vector => Self::V,
            RegClass::Float => Self::K,
        }
    }

    /// Returns the name of this part of a register.
    pub(super) fn of(self, register: PReg, level: Level) -> Register {
        let number = register.hw_enc() as u32;
        let first = match self {
            Self::R8 if number < 4 => Register::AL,
            // Without a prefix, numbers 4 to 7 are other registers.
            Self::R8 => return Register::SPL + (number - 4),
            Self::R16 => Register::AX,
            Self::R32 => Register::EAX,
            Self::R64 => Register::RAX,
            Self::X => Register::XMM0,
            Self::Y => Register::YMM0,
            Self::V if level != Level::Avx512 => Register::YMM0,
            Self::Z | Self::V => Register::ZMM0,
            Self::K => Register::K0,
        };
        first + number
    }
}

/// Returns a general register as the allocator names it.
pub(super) fn int(register: Register) -> PReg {
    PReg::new(register as usize - Register::RAX as usize, INT)
}

/// Returns the registers that values may be allocated to.
pub(super) fn environment(level: Level) -> MachineEnv {
    let mut ints: PRegSet = (0..16).map(|n| PReg::new(n, INT)).collect();
    RESERVED.into_iter().for_each(|r| ints.remove(int(r)));
    let (vectors, masks) = if level == Level::Avx512 { (32, 8) } else { (16, 1) };
    MachineEnv {
        preferred_regs_by_class: [
            ints,
            (1..masks).map(|n| PReg::new(n, MASK)).collect(),
            (0..vectors).map(|n| PReg::new(n, VECTOR)).collect(),
        ],
        non_preferred_regs_by_class: [PRegSet::empty(); 3],
        scratch_by_class: [None; 3],
        fixed_stack_slots: Vec::new(),
    }
}

/// Returns the registers whose values the allocator puts into spill slots where a turn ends in
/// line.
pub(super) fn clobbers(level: Level) -> PRegSet {
    let (vectors, masks) = if level == Level::Avx512 { (32, 8) } else { (16, 1) };
    let masks = (1..masks).map(|n| PReg::new(n, MASK));
    masks.chain((0..vectors).map(|n| PReg::new(n, VECTOR))).collect()
}

/// A set of registers, in one word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Registers(u64);

impl Registers {
    fn bit(register: PReg) -> u64 {
        let first = match register.class() {
            RegClass::Int => 0,
            RegClass::Float => 16,
            RegClass::Vector => 24,
        };
        1 << (first + register.hw_enc())
    }

    pub(super) fn insert(&mut self, register: PReg) {
        self.0 |= Self::bit(register);
    }

    pub(super) fn remove(&mut self, register: PReg) {
        self.0 &= !Self::bit(register);
    }

    pub(super) fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The registers that a call preserves.
    pub(super) fn preserved() -> Self {
        let mut set = Self::default();
        PRESERVED.into_iter().for_each(|r| set.insert(int(r)));
        set
    }

    /// Returns the registers of a class, in increasing order.
    pub(super) fn of(self, class: RegClass) -> impl Iterator<Item = PReg> {
        let (first, count) = match class {
            RegClass::Int => (0, 16),
            RegClass::Float => (16, 8),
            RegClass::Vector => (24, 32),
        };
        let mut bits = self.0 >> first & ((1 << count) - 1);
        std::iter::from_fn(move || {
            let number = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
            bits &= bits - 1;
            Some(PReg::new(number, class))
        })
    }
}
