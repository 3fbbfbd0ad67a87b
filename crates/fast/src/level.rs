//! The interpreter at a level of vector instructions, chosen when a launch begins.
//!
//! The interpreter is one function, compiled for the portable level and for AVX2; the compiler
//! vectorizes its loops over lanes with the instructions of the level. With AVX-512 they were at
//! most 5 % faster, so the interpreter has no code for it: that level is one of compiled code.
//! Results do not depend on the level.
#![allow(
    unsafe_code,
    reason = "a function for instructions that not every host has can only be called so"
)]

use crate::Declined;
use crate::code::Step;
use crate::machine::{Flow, Machine};
use crate::step::StepOutcome;
use crate::warp::Warp;
use products::Level;

/// Advances a machine at the interpreter's level for `level`, or at a lower one if the host does
/// not have it.
pub(crate) fn advance(
    level: Level,
    machine: &mut Machine<'_>,
    issues: u64,
) -> Result<Flow, Declined> {
    match level.interpreter() {
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 if Level::Avx2.is_available() => {
            // SAFETY: the host has been found to have the instructions.
            unsafe { avx2(machine, issues) }
        }
        // On x86-64 only hosts without AVX2 need it, for which steps are not compiled once more.
        _ => machine.advance::<{ cfg!(target_arch = "x86_64") }>(issues),
    }
}

/// Executes a step that compiled code has none for, at the interpreter's best level.
pub(crate) fn step(
    machine: &mut Machine<'_>,
    warp: &mut Warp,
    step: &Step,
    pc: u64,
    on: u32,
) -> Result<StepOutcome, Declined> {
    match Level::best().interpreter() {
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => {
            // SAFETY: the host has been found to have the instructions.
            unsafe { avx2_step(machine, warp, step, pc, on) }
        }
        _ => portable_step(machine, warp, step, pc, on),
    }
}

/// Executes a step at the portable level.
#[inline(never)]
pub(crate) fn portable_step(
    machine: &mut Machine<'_>,
    warp: &mut Warp,
    step: &Step,
    pc: u64,
    on: u32,
) -> Result<StepOutcome, Declined> {
    machine.step(warp, step, pc, on)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
fn avx2(machine: &mut Machine<'_>, issues: u64) -> Result<Flow, Declined> {
    machine.advance::<false>(issues)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
fn avx2_step(
    machine: &mut Machine<'_>,
    warp: &mut Warp,
    step: &Step,
    pc: u64,
    on: u32,
) -> Result<StepOutcome, Declined> {
    machine.step(warp, step, pc, on)
}
