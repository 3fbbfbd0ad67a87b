//! Detection of the host's instructions.

use fast::Level;

/// Instructions that code may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Features {
    /// The level of vector instructions.
    pub(crate) level: Level,
    /// AVX512_VPOPCNTDQ: population counts by lane.
    pub(crate) popcnt: bool,
}

impl Features {
    /// Returns all instructions of a level, whether this host has them or not.
    pub(crate) fn all(level: Level) -> Self {
        Self { level, popcnt: true }
    }

    /// Returns the instructions of this host with the vectors of `level`, or `None` if it lacks any
    /// that code requires.
    pub(crate) fn of_host(level: Level) -> Option<Self> {
        if level == Level::Portable {
            return has_portable_code().then_some(Self { level, popcnt: false });
        }
        Self::of_x86(level)
    }

    #[cfg(target_arch = "x86_64")]
    fn of_x86(level: Level) -> Option<Self> {
        let scalar = is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt")
            && is_x86_feature_detected!("f16c");
        (scalar && level.is_available())
            .then(|| Self { level, popcnt: is_x86_feature_detected!("avx512vpopcntdq") })
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn of_x86(_: Level) -> Option<Self> {
        None
    }

    /// Returns the instructions that all hosts of the level have.
    pub(crate) fn baseline(self) -> Self {
        Self { popcnt: false, ..self }
    }
}

/// Whether code by Cranelift is wanted where only tests want it.
#[cfg(all(feature = "cranelift", not(target_arch = "aarch64")))]
static FOR_TESTS: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

/// See [`crate::allow_portable_code`].
pub(crate) fn allow_portable_code() {
    #[cfg(all(feature = "cranelift", not(target_arch = "aarch64")))]
    FOR_TESTS.store(true, std::sync::atomic::Ordering::Relaxed);
}

/// Returns whether there is code without instructions of a level: by Cranelift, which asks for the
/// host's instructions itself.
fn has_portable_code() -> bool {
    #[cfg(all(feature = "cranelift", not(target_arch = "aarch64")))]
    return FOR_TESTS.load(std::sync::atomic::Ordering::Relaxed);
    #[cfg(not(all(feature = "cranelift", not(target_arch = "aarch64"))))]
    cfg!(target_arch = "aarch64")
}
