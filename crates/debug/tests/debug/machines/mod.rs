//! Random kernels on LinxISA, PMASK and the predicate-register-file GPU in the debugger, against
//! runs without it: states at all positions, the last writers of registers and memory, and what the
//! machines tell of their instructions.
//!
//! The suite takes a few kernels; `KERNELS=1000 SEED=2 cargo test -p simtlab-debug --test debug --
//! --ignored machines` takes as many of each machine.

mod cases;
mod effects;
mod log;
mod time_travel;
mod writers;

/// Programs that the tests of the lowering write.
#[path = "../../../../lower/tests/lower/programs.rs"]
#[allow(dead_code, reason = "some are of one machine")]
mod programs;

/// Programs that the tests of the predicate-register-file GPU write for it.
#[path = "../../../../prf/tests/campaign/mod.rs"]
#[allow(dead_code, reason = "hazards are planted elsewhere")]
mod campaign;

/// What the programs of the lowering take from its tests of this machine.
mod prf {
    pub(crate) const THREADS: u32 = 40;
}

use isa::testing::Rng;
use simt::inspect::Inspect;

use cases::{Case, Source};

/// A check of a launch. It panics if the launch fails it.
trait Check {
    fn check<M: Inspect<1>>(&self, case: &Case<M>, rng: &mut Rng);
}

/// Checks so many random launches of each machine.
fn each_machine(check: &impl Check, launches: u32, seed: u64) {
    let mut source = Source::new(seed);
    let mut rng = Rng::new(seed);
    for number in 0..launches {
        check.check(&source.linx(number), &mut rng);
        check.check(&source.pmask(number), &mut rng);
        check.check(&source.prf(number), &mut rng);
        check.check(&source.written_for_prf(), &mut rng);
    }
}

/// The same for as many as the environment says.
fn campaign(check: &impl Check) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u32>().ok());
    each_machine(check, number("KERNELS").unwrap_or(500), number("SEED").unwrap_or(1).into());
}
