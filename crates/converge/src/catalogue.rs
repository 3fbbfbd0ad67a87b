//! The mechanisms by name.
//!
//! A row says where a mechanism comes from, what it keeps, and what it cannot do; user interfaces
//! print rows and never name mechanisms of their own. A new mechanism is a file and a row.

use crate::mechanism::{Knobs, Mechanism, Refusal, Scope, Start};
use crate::{
    barrier_only, basic, compaction, convergence_barriers, ipdom, max_pc, min_pc, min_sp_pc,
    multi_path, predicated_stack, serial, split_join, tf_sandy, tf_stack, uniform,
};
use thiserror::Error;

/// A mechanism in the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// Other names it goes by.
    pub aliases: &'static [&'static str],
    /// In one line.
    pub summary: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// What it keeps for a group of W lanes.
    pub state: &'static str,
    /// What it cannot do.
    pub limits: &'static str,
    /// Settings it reads, by their names in [`Knobs`], and `policy` if a
    /// [`Policy`](crate::Policy) may choose among its paths.
    pub knobs: &'static [&'static str],
    /// The pass that code has to go through first; without it the mechanism still gives the right
    /// results, or refuses, but is not the one that its source describes.
    pub pass: Option<Pass>,
    /// Whose lanes it sees together.
    pub scope: Scope,
    /// Whether it is a bound: regrouping or look-ahead that no machine has.
    pub bound: bool,
    /// Where lanes are that it does not run although they could.
    pub idle: Idle,
    kind: Kind,
}

/// Where a mechanism has the lanes that could run and do not: what keeps them there while others
/// spin on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idle {
    /// At the rejoin point, or below the running path on a stack.
    Held,
    /// Ready to run, and passed over: the mechanism prefers another path, for this reason.
    Passed(&'static str),
    /// At a convergence barrier, or below the running path.
    AtBarrier,
    /// On the one path there is, turned off by a mask.
    MaskedOff,
    /// Each has its turn.
    Fair,
}

/// A pass over the program that belongs to a mechanism; whoever links the program applies it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pass {
    /// Branches become operations on the EXEC mask.
    ExecMask,
    /// Branches become predicates.
    Predication,
    /// Branches become predicates in three mask banks.
    MaskedBanks,
    /// Branches stand between splits and joins.
    SplitJoin,
    /// Convergence barriers are placed.
    ConvergenceBarriers,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Serial,
    Basic,
    PredicatedStack,
    MultiPath,
    Compaction,
    BarrierOnly,
    Ipdom,
    TfStack,
    TfSandy,
    MinPc,
    MinSpPc,
    MaxPc,
    ConvergenceBarriers,
    SplitJoin,
    Uniform,
}

/// All mechanisms.
pub const CATALOGUE: &[Entry] = &[
    Entry {
        name: serial::NAME,
        aliases: &["lanes"],
        summary: "each lane runs alone, in turn: the reference for results",
        source: "the meaning of a kernel: every thread executes its own program",
        state: "a place for each lane",
        limits: "never rejoins; with slice 0 (strict order) a lane that spins on a higher one never ends",
        knobs: &["slice"],
        pass: None,
        scope: Scope::Group,
        bound: false,
        idle: Idle::Fair,
        kind: Kind::Serial,
    },
    Entry {
        name: basic::NAME,
        aliases: &["next"],
        summary: "lanes that part are taken to meet at the instruction after the branch",
        source: "simulators without flow analysis: \"branch + 1\" as the place of reconvergence",
        state: "a stack of (place, rejoin place, mask)",
        limits: "unsound but for branches that go back: lanes that jump forward run alone to their end, and a barrier behind the real meeting place hangs",
        knobs: &["order"],
        pass: None,
        scope: Scope::Group,
        bound: false,
        idle: Idle::Held,
        kind: Kind::Basic,
    },
    Entry {
        name: barrier_only::NAME,
        aliases: &[],
        summary: "lanes that part stay apart until a barrier releases them together",
        source: "GPU Ocelot's ReconvergenceBarrier",
        state: "a stack of (place, mask)",
        limits: "merges nothing: a lower bound for what merging is worth",
        knobs: &["order", "policy"],
        pass: None,
        scope: Scope::Group,
        bound: false,
        idle: Idle::Passed("the path on top of its stack"),
        kind: Kind::BarrierOnly,
    },
    Entry {
        name: ipdom::NAME,
        aliases: &["stack-ipdom", "cfg"],
        summary: "a stack that rejoins lanes at the immediate post-dominator of the branch",
        source: "Fung et al., MICRO 2007; the rules of GPGPU-Sim",
        state: "a stack of (place, rejoin place, mask), at most 2 W entries a function level",
        limits: "lanes that wait for a lane parked at a rejoin point, or on the other side, hang",
        knobs: &["order"],
        pass: None,
        scope: Scope::Group,
        bound: false,
        idle: Idle::Held,
        kind: Kind::Ipdom,
    },
    Entry {
        name: predicated_stack::NAME,
        aliases: &["stack", "predicated"],
        summary: "the stack of ipdom; short forward branches run as predicated code",
        source: "if-conversion of short branches, as LLVM's AMDGPU back end does below 12 instructions",
        state: "as ipdom, with the lanes of one predicated region by place",
        limits: "idle issues where all lanes jump over a region; else as ipdom",
        knobs: &["order", "predicate"],
        pass: None,
        scope: Scope::Group,
        bound: false,
        idle: Idle::Held,
        kind: Kind::PredicatedStack,
    },
    Entry {
        name: multi_path::NAME,
        aliases: &["multipath", "dual-path"],
        summary: "splits rejoin as under ipdom, but any of them may run next",
        source: "ElTantawy et al., HPCA 2014",
        state: "a split table and a reconvergence table: together at most 3 W rows a function level",
        limits: "lanes that wait at a rejoin point for others that wait for them hang",
        knobs: &["order", "slice", "policy"],
        pass: None,
        scope: Scope::Group,
        bound: false,
        idle: Idle::Held,
        kind: Kind::MultiPath,
    },
    Entry {
        name: tf_stack::NAME,
        aliases: &["tf"],
        summary: "the path in the block of the highest priority runs; paths that meet are one",
        source: "Diamos et al., MICRO 2011; the sorted stack of GPU Ocelot",
        state: "a sorted list of at most W (place, mask) a call level",
        limits: "lanes that wait in a block of lower priority than a loop starve while it goes round",
        knobs: &["priorities", "policy"],
        pass: None,
        scope: Scope::Group,
        bound: false,
        idle: Idle::Passed("the block of higher priority"),
        kind: Kind::TfStack,
    },
    Entry {
        name: tf_sandy::NAME,
        aliases: &["sandy"],
        summary: "lanes whose place is the group's place run; partial branches go to the thread frontier",
        source: "Diamos et al., MICRO 2011, the variant for Intel Sandy Bridge",
        state: "a place for each lane, one for the group",
        limits: "issues without lanes; lanes of lower priority starve as under tf-stack",
        knobs: &["priorities"],
        pass: None,
        scope: Scope::Group,
        bound: false,
        idle: Idle::Passed("the block of higher priority"),
        kind: Kind::TfSandy,
    },
    Entry {
        name: min_pc::NAME,
        aliases: &["minpc"],
        summary: "the path at the lowest place runs; paths at one place are one",
        source: "Collange 2011, \"Stack-less SIMT reconvergence at low cost\"; Simty",
        state: "a sorted list of at most W (place, mask)",
        limits: "lanes that spin at a low place starve the others; rejoins depend on code layout",
        knobs: &["layout", "policy"],
        pass: None,
        scope: Scope::Group,
        bound: false,
        idle: Idle::Passed("the lower place"),
        kind: Kind::MinPc,
    },
    Entry {
        name: min_sp_pc::NAME,
        aliases: &["minsppc"],
        summary: "the path deepest in calls runs, then the one at the lowest place",
        source: "Collange 2011",
        state: "a place and depth of calls for each lane",
        limits: "as min-pc, but callees behind their callers rejoin",
        knobs: &["layout", "policy"],
        pass: None,
        scope: Scope::Group,
        bound: false,
        idle: Idle::Passed("the deeper call, then the lower place"),
        kind: Kind::MinSpPc,
    },
    Entry {
        name: max_pc::NAME,
        aliases: &["maxpc"],
        summary: "the path at the highest place runs; paths at one place are one",
        source: "the mirror image of min-pc",
        state: "a sorted list of at most W (place, mask)",
        limits: "lanes still in a loop wait for those that left it",
        knobs: &["layout", "policy"],
        pass: None,
        scope: Scope::Group,
        bound: false,
        idle: Idle::Passed("the higher place"),
        kind: Kind::MaxPc,
    },
    Entry {
        name: convergence_barriers::NAME,
        aliases: &["its", "volta", "hanoi"],
        summary: "paths meet where the program waits on a convergence barrier",
        source: "NVIDIA Volta and later: Hanoi (2024); US patent 10067768",
        state: "a stack of (place, mask), 16 barrier masks and their order, waiting masks",
        limits: "rejoins only where barriers are placed; a spin lock needs a late wait and a yield",
        knobs: &["order"],
        pass: Some(Pass::ConvergenceBarriers),
        scope: Scope::Group,
        bound: false,
        idle: Idle::AtBarrier,
        kind: Kind::ConvergenceBarriers,
    },
    Entry {
        name: compaction::NAME,
        aliases: &["dwf", "tbc"],
        summary: "lanes regrouped across the warps of a block at every issue, free of charge",
        source: "Fung et al., MICRO 2007 (dynamic warp formation); Fung and Aamodt, HPCA 2011 (thread block compaction)",
        state: "a sorted list of (place, mask of the block)",
        limits: "regrouping is free, which no machine does; lanes keep their column; the order of places is a heuristic (`least_issues` of docs/compare.md is what no order beats); starves as min-sp-pc",
        knobs: &[],
        pass: None,
        scope: Scope::Cta,
        bound: true,
        idle: Idle::Passed("the deeper call, then the lower place"),
        kind: Kind::Compaction,
    },
    Entry {
        name: "exec-mask",
        aliases: &["exec", "gcn"],
        summary: "the compiler turns lanes off in an EXEC mask; all take every jump together",
        source: "AMD GCN as LLVM's SILowerControlFlow writes it; a mask for each block where code is not structured",
        state: "one place, EXEC, saved masks in scalar registers",
        limits: "no calls through addresses or recursion; lanes that spin on one that is off hang",
        knobs: &[],
        pass: Some(Pass::ExecMask),
        scope: Scope::Group,
        bound: false,
        idle: Idle::MaskedOff,
        kind: Kind::Uniform,
    },
    Entry {
        name: split_join::NAME,
        aliases: &["vortex", "splitjoin"],
        summary: "the compiler puts branches between split and join; each side takes its turn on a stack of masks",
        source: "Vortex (vx_split, vx_join; vx_pred for loops) and instruction sets derived from it",
        state: "one place, one mask, a stack of (mask, place), EXEC for loops",
        limits: "as predication, and no ends of threads in called functions; threads that end early are off until the kernel ends",
        knobs: &[],
        pass: Some(Pass::SplitJoin),
        scope: Scope::Group,
        bound: false,
        idle: Idle::MaskedOff,
        kind: Kind::SplitJoin,
    },
    Entry {
        name: "predication",
        aliases: &["full-predication", "prf"],
        summary: "the compiler gives every instruction a predicate; both sides of a branch are always issued",
        source: "if-conversion (Park and Schlansker 1991) for a GPU with a file of predicate registers and no other control flow",
        state: "one place, 16 predicate registers, spill slots",
        limits: "no calls through addresses or recursion; copies blocks of irreducible graphs, up to a bound; lanes that spin on one that is off hang",
        knobs: &[],
        pass: Some(Pass::Predication),
        scope: Scope::Group,
        bound: false,
        idle: Idle::MaskedOff,
        kind: Kind::Uniform,
    },
    Entry {
        name: "masked-banks",
        aliases: &["banks", "pmask"],
        summary: "as predication, with three programmable mask banks that are saved and restored",
        source: "vector masks in banks: bank 0 is all lanes, banks 1 to 3 are the program's (XPHMG_PMASK)",
        state: "one place, 3 mask banks, saved banks",
        limits: "as predication",
        knobs: &[],
        pass: Some(Pass::MaskedBanks),
        scope: Scope::Group,
        bound: false,
        idle: Idle::MaskedOff,
        kind: Kind::Uniform,
    },
    Entry {
        name: uniform::NAME,
        aliases: &["lockstep"],
        summary: "all lanes together, always: what compile-time passes make code for",
        source: "machines with one program counter: EXEC masks, vector masks, predication",
        state: "one place, one mask",
        limits: "faults if lanes part",
        knobs: &[],
        pass: None,
        scope: Scope::Group,
        bound: false,
        idle: Idle::MaskedOff,
        kind: Kind::Uniform,
    },
];

/// A name that no mechanism has.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no mechanism `{name}`{}; known: {}", hint(.nearest), known())]
pub struct UnknownMechanism {
    /// The name given, cut short if it is very long.
    pub name: String,
    /// The name most like it, if one is.
    pub nearest: Option<&'static str>,
}

fn hint(nearest: &Option<&'static str>) -> String {
    nearest.map_or_else(String::new, |n| format!(": did you mean `{n}`?"))
}

fn known() -> String {
    CATALOGUE.iter().map(|e| e.name).collect::<Vec<_>>().join(", ")
}

impl Entry {
    /// The mechanism of a name or alias.
    ///
    /// # Errors
    /// [`UnknownMechanism`], with the nearest name.
    pub fn find(name: &str) -> Result<&'static Self, UnknownMechanism> {
        let has = |e: &&Entry| e.name == name || e.aliases.contains(&name);
        CATALOGUE.iter().find(has).ok_or_else(|| UnknownMechanism {
            name: name.chars().take(64).collect(),
            nearest: nearest(name),
        })
    }

    /// A mechanism for one group.
    ///
    /// # Errors
    /// If it cannot start there (several paths under `uniform`).
    pub fn build<const N: usize>(
        &self,
        start: &Start<N>,
        knobs: Knobs,
    ) -> Result<Box<dyn Mechanism<N>>, Refusal>
    where
        Start<N>: BuildMechanism<N>,
    {
        start.build_mechanism(self, knobs)
    }

    fn mechanism<const N: usize>(
        &self,
        start: &Start<N>,
        knobs: Knobs,
    ) -> Result<Box<dyn Mechanism<N>>, Refusal> {
        Ok(match self.kind {
            Kind::Serial => Box::new(serial::Serial::new(start, knobs)),
            Kind::Basic => basic::new(start, knobs),
            Kind::PredicatedStack => Box::new(predicated_stack::PredicatedStack::new(start, knobs)),
            Kind::MultiPath => Box::new(multi_path::MultiPath::new(start, knobs)),
            Kind::Compaction => Box::new(compaction::Compaction::new(start)),
            Kind::Ipdom => ipdom::new(start, knobs),
            Kind::BarrierOnly => Box::new(barrier_only::BarrierOnly::new(start, knobs)),
            Kind::TfStack => tf_stack::new(start, knobs),
            Kind::TfSandy => Box::new(tf_sandy::TfSandy::new(start, knobs)),
            Kind::MinPc => min_pc::new(start, knobs),
            Kind::MinSpPc => min_sp_pc::new(start, knobs),
            Kind::MaxPc => max_pc::new(start, knobs),
            Kind::ConvergenceBarriers => {
                Box::new(convergence_barriers::ConvergenceBarriers::new(start, knobs))
            }
            Kind::SplitJoin => Box::new(split_join::SplitJoin::new(start)?),
            Kind::Uniform => Box::new(uniform::Uniform::new(start)?),
        })
    }
}

/// Groups for which there are mechanisms: those of up to 64 and of up to 1,024 lanes.
pub trait BuildMechanism<const N: usize> {
    /// Builds the mechanism of a row of the catalogue, as [`Entry::build`] does.
    ///
    /// # Errors
    /// Returns the refusal if the mechanism cannot start there.
    fn build_mechanism(
        &self,
        entry: &Entry,
        knobs: Knobs,
    ) -> Result<Box<dyn Mechanism<N>>, Refusal>;
}

// Methods that are not generic, so that the mechanisms are compiled in this crate alone.
impl BuildMechanism<1> for Start<1> {
    fn build_mechanism(
        &self,
        entry: &Entry,
        knobs: Knobs,
    ) -> Result<Box<dyn Mechanism<1>>, Refusal> {
        entry.mechanism(self, knobs)
    }
}

impl BuildMechanism<16> for Start<16> {
    fn build_mechanism(
        &self,
        entry: &Entry,
        knobs: Knobs,
    ) -> Result<Box<dyn Mechanism<16>>, Refusal> {
        entry.mechanism(self, knobs)
    }
}

impl Entry {
    /// Whether it needs the flow graph before a run; the others need none, and with a graph know
    /// which of their rejoin points are sound.
    #[must_use]
    pub fn needs_graph(&self) -> bool {
        match self.kind {
            Kind::Ipdom
            | Kind::PredicatedStack
            | Kind::MultiPath
            | Kind::TfStack
            | Kind::TfSandy => true,
            Kind::Serial
            | Kind::Basic
            | Kind::Compaction
            | Kind::BarrierOnly
            | Kind::MinPc
            | Kind::MinSpPc
            | Kind::MaxPc
            | Kind::ConvergenceBarriers
            | Kind::SplitJoin
            | Kind::Uniform => false,
        }
    }

    /// Whether lanes may part at a branch under it: not where a pass has turned branches into
    /// masks, and not under `uniform`.
    #[must_use]
    pub fn parts_lanes(&self) -> bool {
        !matches!(self.kind, Kind::Uniform | Kind::SplitJoin)
    }

    /// Bits that it keeps for a group of so many lanes, at most `depth` entries deep, with places
    /// of [`PLACE_BITS`] bits. Where code carries masks (`exec-mask`), those that it saves are in
    /// registers, and not counted.
    #[must_use]
    pub fn state_bits(&self, lanes: u64, depth: u64) -> u64 {
        let pc = PLACE_BITS;
        let list = depth * (pc + lanes);
        let stack = depth * (2 * pc + lanes);
        match self.kind {
            Kind::Serial => lanes * pc,
            Kind::TfSandy => (lanes + 1) * pc,
            Kind::Basic | Kind::Ipdom => stack,
            // The window: its place and end, and for each lane how far ahead it is (up to 15
            // places).
            Kind::PredicatedStack => stack + 2 * pc + 4 * lanes,
            // Each row: place, rejoin place, both masks, its outer row.
            Kind::MultiPath => depth * (2 * pc + 2 * lanes + 8),
            Kind::BarrierOnly | Kind::TfStack | Kind::MinPc | Kind::MaxPc | Kind::Compaction => {
                list
            }
            // Depths of calls beside the places.
            Kind::MinSpPc => list + depth * 16,
            // Paths, the masks with their valid bits, and who waits.
            Kind::ConvergenceBarriers => {
                let barriers = u64::from(convergence_barriers::BARRIERS);
                list + barriers * (lanes + 1) + lanes
            }
            // Each split: the whole mask, and the other side with its place.
            Kind::SplitJoin => pc + 2 * lanes + depth * (pc + 2 * lanes),
            Kind::Uniform => pc + lanes,
        }
    }
}

/// Bits of a place in [`Entry::state_bits`].
pub const PLACE_BITS: u64 = 32;

/// The known name or alias that is nearest to a wrong one, if one is near.
fn nearest(name: &str) -> Option<&'static str> {
    let names = |e: &'static Entry| std::iter::once(e.name).chain(e.aliases.iter().copied());
    isa::suggest::nearest(name, CATALOGUE.iter().flat_map(names))
}

#[cfg(test)]
mod tests {
    use super::*;
    use simt::{Pc, WarpMask};

    #[test]
    fn names_are_distinct_and_build() {
        let mut names: Vec<&str> = CATALOGUE
            .iter()
            .flat_map(|e| std::iter::once(e.name).chain(e.aliases.iter().copied()))
            .collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
        for name in names {
            let start = Start::at(Pc(7), WarpMask::first(3), 4);
            let m = Entry::find(name).unwrap().build(&start, Knobs::default()).unwrap();
            assert_eq!(m.preferred().unwrap().pc, Pc(7), "{name}");
        }
    }

    #[test]
    fn an_unknown_name_gets_the_nearest() {
        let text = |name| Entry::find(name).unwrap_err().to_string();
        assert_eq!(
            text("ipdon"),
            "there is no mechanism `ipdon`: did you mean `ipdom`?; known: serial, basic, barrier-only, ipdom, predicated-stack, multi-path, tf-stack, tf-sandy, min-pc, min-sp-pc, max-pc, convergence-barriers, compaction, exec-mask, split-join, predication, masked-banks, uniform"
        );
        assert_eq!(Entry::find("minpcs").unwrap_err().nearest, Some("minpc"));
        assert_eq!(Entry::find("quicksort").unwrap_err().nearest, None);
        assert_eq!(Entry::find("").unwrap_err().nearest, None);
        assert_eq!(Entry::find(&"x".repeat(1 << 20)).unwrap_err().name.len(), 64);
    }
}
