//! Operands of instructions, as their builder takes them.

use super::register::{VReg, View};
use iced_x86::Register;

/// An operand that is read, and of pseudo-instructions also one that is written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source {
    /// A virtual register; all of it if no part is named.
    Reg(VReg, Option<View>),
    /// A virtual register that may also be read from its spill slot. The instruction must take a
    /// memory operand in this place.
    Any(VReg, Option<View>),
    /// A virtual register in a certain general register.
    Fixed(VReg, View, Register),
    /// Memory.
    Mem(Mem),
    /// An immediate, extended as the instruction does it.
    Imm(i32),
}

impl From<VReg> for Source {
    fn from(register: VReg) -> Self {
        Self::Reg(register, None)
    }
}

impl From<Mem> for Source {
    fn from(memory: Mem) -> Self {
        Self::Mem(memory)
    }
}

impl From<i32> for Source {
    fn from(value: i32) -> Self {
        Self::Imm(value)
    }
}

/// Parts of virtual registers as operands.
pub(crate) trait Part {
    /// The low 8 bits of a general register.
    fn b(self) -> Source;
    /// The low 16 bits of a general register.
    fn w(self) -> Source;
    /// The low 32 bits of a general register.
    fn d(self) -> Source;
    /// The low 128 bits of a vector register.
    fn x(self) -> Source;
    /// The low 256 bits of a vector register.
    fn y(self) -> Source;
    /// The register or its spill slot.
    fn any(self) -> Source;
    /// The register, which has to be `cl`.
    fn cl(self) -> Source;
}

impl Part for VReg {
    fn b(self) -> Source {
        Source::Reg(self, Some(View::R8))
    }

    fn w(self) -> Source {
        Source::Reg(self, Some(View::R16))
    }

    fn d(self) -> Source {
        Source::Reg(self, Some(View::R32))
    }

    fn x(self) -> Source {
        Source::Reg(self, Some(View::X))
    }

    fn y(self) -> Source {
        Source::Reg(self, Some(View::Y))
    }

    fn any(self) -> Source {
        Source::Any(self, None)
    }

    fn cl(self) -> Source {
        Source::Fixed(self, View::R8, Register::RCX)
    }
}

/// What a memory operand's address begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    Reg(VReg),
    Frame,
    Pool,
    Seat,
}

/// A memory operand: base, index times scale, displacement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mem {
    pub(super) base: Base,
    /// A general register, or a vector register in gathers and scatters.
    pub(super) index: Option<(VReg, Option<View>)>,
    pub(super) scale: u8,
    pub(super) displacement: i64,
    pub(super) broadcast: bool,
}

impl Mem {
    fn new(base: Base, displacement: i64) -> Self {
        Self { base, index: None, scale: 1, displacement, broadcast: false }
    }

    /// Memory at an address in a register.
    pub(crate) fn at(base: VReg, displacement: i64) -> Self {
        Self::new(Base::Reg(base), displacement)
    }

    /// A field of the frame.
    pub(crate) fn frame(offset: i64) -> Self {
        Self::new(Base::Frame, offset)
    }

    /// A constant.
    pub(crate) fn pool(offset: i64) -> Self {
        Self::new(Base::Pool, offset)
    }

    /// Memory in the running warp's seat.
    pub(crate) fn seat(offset: i64) -> Self {
        Self::new(Base::Seat, offset)
    }

    /// The memory so many bytes from here.
    pub(crate) fn offset(self, bytes: i64) -> Self {
        Self { displacement: self.displacement + bytes, ..self }
    }

    /// Adds an index.
    pub(crate) fn index(self, index: VReg, scale: u8) -> Self {
        Self { index: Some((index, None)), scale, ..self }
    }

    /// Adds a vector of indices that is a part of a vector register.
    pub(crate) fn index_part(self, index: VReg, view: View, scale: u8) -> Self {
        Self { index: Some((index, Some(view))), scale, ..self }
    }

    /// Makes this one element that is broadcast to all lanes.
    pub(crate) fn broadcast(self) -> Self {
        Self { broadcast: true, ..self }
    }
}

/// Lists of operands.
pub(crate) trait Sources {
    /// Calls a function for each operand.
    fn each(self, f: impl FnMut(Source));
}

impl Sources for &[Source] {
    fn each(self, f: impl FnMut(Source)) {
        self.iter().copied().for_each(f);
    }
}

macro_rules! tuples {
    ($(($($name:ident)*))*) => {
        $(impl<$($name: Into<Source>),*> Sources for ($($name,)*) {
            fn each(self, mut f: impl FnMut(Source)) {
                #[allow(non_snake_case, reason = "one name for the type and its value")]
                let ($($name,)*) = self;
                $(f($name.into());)*
            }
        })*
    };
}

tuples! { (A) (A B) (A B C) (A B C D) (A B C D E) }

impl Sources for () {
    fn each(self, _: impl FnMut(Source)) {}
}
