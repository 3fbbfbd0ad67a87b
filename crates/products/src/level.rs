//! The vector instructions of the host.
//!
//! What is compiled for several levels is one generic function, whose loops the compiler
//! vectorizes with the instructions of the level, or has a version for a level. Results do not
//! depend on the level.
#![allow(
    unsafe_code,
    reason = "a function for instructions that not every host has can only be called so"
)]

use std::fmt;
use std::sync::OnceLock;

/// A set of vector instructions of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// The baseline of the host's architecture.
    Portable,
    /// x86-64 with AVX2 and FMA.
    Avx2,
    /// x86-64 with AVX-512 (F, BW, CD, DQ, VL), as all but the first such hosts have it.
    Avx512,
}

impl Level {
    /// Returns the best level of this host.
    #[must_use]
    pub fn best() -> Self {
        static BEST: OnceLock<Level> = OnceLock::new();
        let find = || [Self::Avx512, Self::Avx2].into_iter().find(|l| l.is_available());
        *BEST.get_or_init(|| find().unwrap_or(Self::Portable))
    }

    /// Returns this level, or the best one of this host if that is lower.
    #[must_use]
    pub fn or_less(self) -> Self {
        self.min(Self::best())
    }

    /// Returns the level of the interpreter where this one is asked for: AVX2 at most.
    #[must_use]
    pub fn interpreter(self) -> Self {
        self.min(Self::Avx2)
    }

    /// Parses the name of a level as users write it: `portable`, `avx2`, `avx512`.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        [Self::Portable, Self::Avx2, Self::Avx512].into_iter().find(|l| l.name() == name)
    }

    /// Returns the name as users write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    /// Checks whether this host has the instructions.
    #[must_use]
    pub fn is_available(self) -> bool {
        match self {
            Self::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                Self::Avx2.is_available()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512cd")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
            }
            #[cfg(not(target_arch = "x86_64"))]
            _ => false,
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Portable => "portable",
            Self::Avx2 => "AVX2",
            Self::Avx512 => "AVX-512",
        })
    }
}

/// Calls `f`, compiled for the best level of this host as far as `f` and its callees are
/// `inline(always)`.
pub fn wide<R>(f: impl FnOnce() -> R) -> R {
    at(Level::best(), f)
}

/// Calls `f`, compiled for a level, or for a lower one if the host does not have it, as far as `f`
/// and its callees are `inline(always)`.
#[inline]
pub fn at<R>(level: Level, f: impl FnOnce() -> R) -> R {
    match level.or_less() {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => {
            // SAFETY: the host has been found to have the instructions.
            unsafe { wide_avx512(f) }
        }
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => {
            // SAFETY: the host has been found to have the instructions.
            unsafe { wide_avx2(f) }
        }
        _ => f(),
    }
}

/// Proof that the host has AVX-512.
#[derive(Clone, Copy)]
pub(crate) struct Avx512(());

impl Avx512 {
    /// Returns `None` if a level is another one, or the host does not have it.
    #[inline]
    pub(crate) fn of(level: Level) -> Option<Self> {
        (level == Level::Avx512 && Level::best() == level).then_some(Self(()))
    }

    /// Calls `f`, compiled for this level alone, as far as `f` and its callees are
    /// `inline(always)`.
    #[inline]
    pub(crate) fn call<R>(self, f: impl FnOnce() -> R) -> R {
        #[cfg(target_arch = "x86_64")]
        {
            // SAFETY: the host has been found to have the instructions.
            unsafe { wide_avx512(f) }
        }
        #[cfg(not(target_arch = "x86_64"))]
        f()
    }
}

/// Proof that the host has AVX2.
#[derive(Clone, Copy)]
pub(crate) struct Avx2(());

impl Avx2 {
    /// Returns `None` if a level is below it, or the host does not have it.
    #[inline]
    pub(crate) fn of(level: Level) -> Option<Self> {
        (level.interpreter().or_less() == Level::Avx2).then_some(Self(()))
    }

    /// Calls `f`, compiled for this level alone, as far as `f` and its callees are
    /// `inline(always)`.
    #[inline]
    pub(crate) fn call<R>(self, f: impl FnOnce() -> R) -> R {
        #[cfg(target_arch = "x86_64")]
        {
            // SAFETY: the host has been found to have the instructions.
            unsafe { wide_avx2(f) }
        }
        #[cfg(not(target_arch = "x86_64"))]
        f()
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
fn wide_avx512<R>(f: impl FnOnce() -> R) -> R {
    f()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
fn wide_avx2<R>(f: impl FnOnce() -> R) -> R {
    f()
}
