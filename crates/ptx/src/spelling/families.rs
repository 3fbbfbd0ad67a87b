//! All opcode names of the PTX ISA, with what they are about and how far they are supported.
//!
//! So that an opcode that cannot run is told apart from one that does not exist.

/// How common an opcode is in real kernels, and so when it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// Plain computation, memory, control flow.
    One,
    /// Warp operations, atomics, bit fields.
    TwoA,
    /// Carry chains, permutations, fences and the rest of what plain kernels use.
    TwoB,
    /// Asynchronous copies.
    ThreeA,
    /// Matrix fragments: tensor cores.
    ThreeB,
    /// Textures and surfaces.
    ThreeC,
    /// Hopper: clusters, barriers in memory, bulk copies.
    Four,
    /// Blackwell, and SIMD video instructions.
    Five,
}

impl Tier {
    /// What opcodes of the tier are about.
    #[must_use]
    pub fn about(self) -> &'static str {
        match self {
            Self::One | Self::TwoA | Self::TwoB => "ordinary kernels",
            Self::ThreeA => "asynchronous copies",
            Self::ThreeB => "tensor cores",
            Self::ThreeC => "textures and surfaces",
            Self::Four => "clusters and asynchronous barriers",
            Self::Five => "tensor memory and video instructions",
        }
    }
}

/// One opcode name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Family {
    /// The first word of the instruction.
    pub name: &'static str,
    /// Its tier.
    pub tier: Tier,
}

const fn family_of(tier: Tier, name: &'static str) -> Family {
    Family { name, tier }
}

macro_rules! families {
    ($($tier:ident { $($name:literal)+ })+) => {
        const FAMILIES: &[Family] = &[$($(family_of(Tier::$tier, $name)),+),+];
    };
}

families! {
    One {
        "abs" "add" "and" "bar" "barrier" "bra" "call" "cos" "cvt" "cvta" "div" "ex2" "exit" "fma" "ld" "ldu" "lg2" "mad"
        "max" "min" "mov" "mul" "neg" "not" "or" "rcp" "rem" "ret" "rsqrt" "selp" "setp" "shl" "shr" "sin"
        "sqrt" "st" "sub" "xor"
    }
    TwoA { "activemask" "atom" "bfe" "bfi" "bfind" "brev" "clz" "copysign" "popc" "red" "shfl" "vote" }
    TwoB {
        "addc" "alloca" "applypriority" "bmsk" "brkpt" "brx" "cnot" "discard" "dp2a" "dp4a" "elect" "fence" "fns"
        "isspacep" "lop3" "mad24" "madc" "match" "membar" "mul24" "nanosleep" "pmevent" "prefetch" "prefetchu"
        "prmt" "redux" "sad" "set" "shf" "slct" "stackrestore" "stacksave" "subc" "szext" "tanh" "testp" "trap"
        "createpolicy" "griddepcontrol" "setmaxnreg"
        "vabsdiff" "vadd" "vmad" "vmax" "vmin" "vset" "vshl" "vshr" "vsub"
    }
    ThreeA { "cp" }
    ThreeB { "ldmatrix" "mma" "movmatrix" "stmatrix" "wmma" }
    ThreeC { "istypep" "suld" "suq" "sured" "sust" "tex" "tld4" "txq" }
    Four { "clusterlaunchcontrol" "getctarank" "mapa" "mbarrier" "multimem" "tensormap" "wgmma" }
    Five {
        "tcgen05" "vabsdiff2" "vabsdiff4" "vadd2" "vadd4" "vavrg2" "vavrg4"
        "vmax2" "vmax4" "vmin2" "vmin4" "vset2" "vset4" "vsub2" "vsub4"
    }
}

/// All of them.
#[must_use]
pub fn families() -> &'static [Family] {
    FAMILIES
}

/// The one of a name.
#[must_use]
pub fn family(name: &str) -> Option<Family> {
    FAMILIES.iter().copied().find(|f| f.name == name)
}
