//! The host's instructions as Cranelift knows them.

use crate::Refused;
use cranelift_codegen::isa::{self, OwnedTargetIsa, TargetIsa};
use cranelift_codegen::settings::{self, Configurable};
use std::sync::OnceLock;

/// How registers are allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Registers {
    /// So that code is fast.
    Backtracking,
    /// So that large functions do not take long.
    SinglePass,
}

/// Returns the target for this host.
///
/// # Errors
/// Returns [`Refused::Host`] if Cranelift has no code for it, or if the host lacks instructions
/// without which code would call a library.
pub(super) fn isa(registers: Registers) -> Result<&'static dyn TargetIsa, Refused> {
    static TARGETS: [OnceLock<Option<OwnedTargetIsa>>; 2] = [const { OnceLock::new() }; 2];
    TARGETS[registers as usize].get_or_init(|| make(registers)).as_deref().ok_or(Refused::Host)
}

#[cfg(target_arch = "aarch64")]
const TRIPLE: &str = "aarch64-unknown-linux-gnu";
#[cfg(target_arch = "x86_64")]
const TRIPLE: &str = "x86_64-unknown-linux-gnu";

fn make(registers: Registers) -> Option<OwnedTargetIsa> {
    let mut flags = settings::builder();
    flags.set("opt_level", "speed").ok()?;
    // Deep frames touch each page in turn, so that a guard page is met.
    flags.set("enable_probestack", "true").ok()?;
    flags.set("probestack_strategy", "inline").ok()?;
    flags.set("unwind_info", "false").ok()?;
    let algorithm = match registers {
        Registers::Backtracking => "backtracking",
        Registers::SinglePass => "single_pass",
    };
    flags.set("regalloc_algorithm", algorithm).ok()?;
    flags.set("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" }).ok()?;
    let mut builder = isa::lookup_by_name(TRIPLE).ok()?;
    enable(&mut builder)?;
    builder.finish(settings::Flags::new(flags)).ok()
}

/// Lets code use the instructions that this host has. Without some there would be calls of a
/// library.
#[cfg(target_arch = "x86_64")]
fn enable(builder: &mut isa::Builder) -> Option<()> {
    let found = [
        ("has_sse3", is_x86_feature_detected!("sse3")),
        ("has_ssse3", is_x86_feature_detected!("ssse3")),
        ("has_sse41", is_x86_feature_detected!("sse4.1")),
        ("has_sse42", is_x86_feature_detected!("sse4.2")),
        ("has_popcnt", is_x86_feature_detected!("popcnt")),
        ("has_avx", is_x86_feature_detected!("avx")),
        ("has_avx2", is_x86_feature_detected!("avx2")),
        ("has_fma", is_x86_feature_detected!("fma")),
        ("has_bmi1", is_x86_feature_detected!("bmi1")),
        ("has_bmi2", is_x86_feature_detected!("bmi2")),
        ("has_lzcnt", is_x86_feature_detected!("lzcnt")),
    ];
    for (name, has) in found {
        if has {
            builder.enable(name).ok()?;
        } else if matches!(name, "has_fma" | "has_sse41" | "has_sse42") {
            return None;
        }
    }
    Some(())
}

/// All hosts have what code needs.
#[cfg(target_arch = "aarch64")]
fn enable(_: &mut isa::Builder) -> Option<()> {
    Some(())
}
