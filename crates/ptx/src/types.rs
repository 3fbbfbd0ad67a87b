//! Types and state spaces.

use crate::names::{Symbol, kw};

/// State spaces of declarations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// `.reg`
    Reg,
    /// `.sreg`
    Sreg,
    /// `.const`
    Const,
    /// `.global`
    Global,
    /// `.local`
    Local,
    /// `.param`
    Param,
    /// `.shared`
    Shared,
    /// `.tex` (deprecated)
    Tex,
}

impl Space {
    /// The space of a dotted word's name.
    #[must_use]
    pub fn from_symbol(symbol: Symbol) -> Option<Self> {
        Some(match symbol {
            kw::REG => Self::Reg,
            kw::SREG => Self::Sreg,
            kw::CONST => Self::Const,
            kw::GLOBAL => Self::Global,
            kw::LOCAL => Self::Local,
            kw::PARAM => Self::Param,
            kw::SHARED => Self::Shared,
            kw::TEX => Self::Tex,
            _ => return None,
        })
    }

    /// The name without its dot.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Reg => "reg",
            Self::Sreg => "sreg",
            Self::Const => "const",
            Self::Global => "global",
            Self::Local => "local",
            Self::Param => "param",
            Self::Shared => "shared",
            Self::Tex => "tex",
        }
    }
}

/// Types of declarations and instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are PTX's own, without the dot")]
pub enum Type {
    Pred,
    B8,
    B16,
    B32,
    B64,
    B128,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    F16x2,
    F32,
    F32x2,
    F64,
    Bf16,
    Bf16x2,
    Tf32,
    E4m3,
    E5m2,
    E4m3x2,
    E5m2x2,
    U16x2,
    S16x2,
    U4,
    S4,
    U2,
    S2,
    B1,
    Texref,
    Samplerref,
    Surfref,
}

impl Type {
    /// The type of a dotted word's name.
    #[must_use]
    pub fn from_symbol(symbol: Symbol) -> Option<Self> {
        Some(match symbol {
            kw::PRED => Self::Pred,
            kw::B8 => Self::B8,
            kw::B16 => Self::B16,
            kw::B32 => Self::B32,
            kw::B64 => Self::B64,
            kw::B128 => Self::B128,
            kw::U8 => Self::U8,
            kw::U16 => Self::U16,
            kw::U32 => Self::U32,
            kw::U64 => Self::U64,
            kw::S8 => Self::S8,
            kw::S16 => Self::S16,
            kw::S32 => Self::S32,
            kw::S64 => Self::S64,
            kw::F16 => Self::F16,
            kw::F16X2 => Self::F16x2,
            kw::F32 => Self::F32,
            kw::F32X2 => Self::F32x2,
            kw::F64 => Self::F64,
            kw::BF16 => Self::Bf16,
            kw::BF16X2 => Self::Bf16x2,
            kw::TF32 => Self::Tf32,
            kw::E4M3 => Self::E4m3,
            kw::E5M2 => Self::E5m2,
            kw::E4M3X2 => Self::E4m3x2,
            kw::E5M2X2 => Self::E5m2x2,
            kw::U16X2 => Self::U16x2,
            kw::S16X2 => Self::S16x2,
            kw::U4 => Self::U4,
            kw::S4 => Self::S4,
            kw::U2 => Self::U2,
            kw::S2 => Self::S2,
            kw::B1 => Self::B1,
            kw::TEXREF => Self::Texref,
            kw::SAMPLERREF => Self::Samplerref,
            kw::SURFREF => Self::Surfref,
            _ => return None,
        })
    }

    /// The name without its dot.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Pred => "pred",
            Self::B8 => "b8",
            Self::B16 => "b16",
            Self::B32 => "b32",
            Self::B64 => "b64",
            Self::B128 => "b128",
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::S8 => "s8",
            Self::S16 => "s16",
            Self::S32 => "s32",
            Self::S64 => "s64",
            Self::F16 => "f16",
            Self::F16x2 => "f16x2",
            Self::F32 => "f32",
            Self::F32x2 => "f32x2",
            Self::F64 => "f64",
            Self::Bf16 => "bf16",
            Self::Bf16x2 => "bf16x2",
            Self::Tf32 => "tf32",
            Self::E4m3 => "e4m3",
            Self::E5m2 => "e5m2",
            Self::E4m3x2 => "e4m3x2",
            Self::E5m2x2 => "e5m2x2",
            Self::U16x2 => "u16x2",
            Self::S16x2 => "s16x2",
            Self::U4 => "u4",
            Self::S4 => "s4",
            Self::U2 => "u2",
            Self::S2 => "s2",
            Self::B1 => "b1",
            Self::Texref => "texref",
            Self::Samplerref => "samplerref",
            Self::Surfref => "surfref",
        }
    }

    /// Size in bits; 1 for predicates, 64 for the opaque reference types.
    #[must_use]
    pub fn bits(self) -> u32 {
        match self {
            Self::Pred | Self::B1 => 1,
            Self::U2 | Self::S2 => 2,
            Self::U4 | Self::S4 => 4,
            Self::B8 | Self::U8 | Self::S8 | Self::E4m3 | Self::E5m2 => 8,
            Self::B16
            | Self::U16
            | Self::S16
            | Self::F16
            | Self::Bf16
            | Self::E4m3x2
            | Self::E5m2x2 => 16,
            Self::B32
            | Self::U32
            | Self::S32
            | Self::F32
            | Self::F16x2
            | Self::Bf16x2
            | Self::Tf32
            | Self::U16x2
            | Self::S16x2 => 32,
            Self::B64
            | Self::U64
            | Self::S64
            | Self::F64
            | Self::F32x2
            | Self::Texref
            | Self::Samplerref
            | Self::Surfref => 64,
            Self::B128 => 128,
        }
    }
}
