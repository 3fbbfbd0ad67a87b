//! All opcode names of the PTX ISA, with their tiers.
//!
//! They distinguish an opcode that cannot run from one that does not exist. An opcode of the table
//! of forms that no tier lists is of tier 2b: a row of the table is all that an opcode takes.

use std::collections::BTreeSet;

use super::all_forms;

/// The tier of an opcode: how common it is in real kernels, and so when support for it comes.
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
    /// Blackwell.
    Five,
}

impl Tier {
    /// The subject of the tier's opcodes.
    #[must_use]
    pub fn about(self) -> &'static str {
        match self {
            Self::One | Self::TwoA | Self::TwoB => "ordinary kernels",
            Self::ThreeA => "asynchronous copies",
            Self::ThreeB => "tensor cores",
            Self::ThreeC => "textures and surfaces",
            Self::Four => "clusters and asynchronous barriers",
            Self::Five => "tensor memory",
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
    TwoB { "stackrestore" "stacksave" }
    ThreeA { "cp" }
    ThreeB { "ldmatrix" "mma" "movmatrix" "stmatrix" "wmma" }
    ThreeC { "istypep" "suld" "suq" "sured" "sust" "tex" "tld4" "txq" }
    Four { "clusterlaunchcontrol" "getctarank" "mapa" "mbarrier" "multimem" "tensormap" "wgmma" }
    Five { "tcgen05" }
}

/// Forms of opcodes that later devices add to those of the opcode's own tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Later {
    /// The opcode.
    opcode: &'static str,
    /// Prefixes of modifiers that only these forms have.
    words: &'static [&'static str],
    /// Their tier.
    pub tier: Tier,
    /// The first target that has them.
    pub sm: u32,
}

const fn later(opcode: &'static str, words: &'static [&'static str], tier: Tier, sm: u32) -> Later {
    Later { opcode, words, tier, sm }
}

/// Sources: PTX ISA 9.1, the target notes of each instruction. More particular rows come first.
const LATER: &[Later] = &[
    later("cp", &["bulk"], Tier::Four, 90),
    later("fence", &["proxy"], Tier::Four, 90),
    later("prefetch", &["tensormap"], Tier::Four, 90),
    later("st", &["async", "bulk"], Tier::Four, 90),
    later("red", &["async"], Tier::Four, 100),
    later("mma", &["kind::", "block_scale"], Tier::ThreeB, 120),
];

/// Returns the later forms that an instruction belongs to, by its opcode and modifiers.
#[must_use]
pub fn later_form<'w>(opcode: &str, words: impl Iterator<Item = &'w str>) -> Option<Later> {
    let row_of = |word: &str| {
        let has = |row: &Later| row.words.iter().any(|begin| begins(word, begin));
        LATER.iter().position(|row| row.opcode == opcode && has(row))
    };
    words.filter_map(row_of).min().map(|first| LATER[first])
}

/// Returns whether a modifier is a word, or the word with more behind `::`.
fn begins(modifier: &str, word: &str) -> bool {
    modifier
        .strip_prefix(word)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with("::") || word.ends_with("::"))
}

/// All of them: the listed ones, then those that only the table of forms has, by name.
#[must_use]
pub fn families() -> Vec<Family> {
    let others: BTreeSet<&'static str> =
        all_forms().map(|form| form.opcode).filter(|opcode| listed(opcode).is_none()).collect();
    let others = others.into_iter().map(|opcode| family_of(Tier::TwoB, opcode));
    FAMILIES.iter().copied().chain(others).collect()
}

/// The one of a name.
#[must_use]
pub fn family(name: &str) -> Option<Family> {
    let form = || all_forms().find(|form| form.opcode == name);
    listed(name).or_else(|| form().map(|form| family_of(Tier::TwoB, form.opcode)))
}

fn listed(name: &str) -> Option<Family> {
    FAMILIES.iter().copied().find(|f| f.name == name)
}
