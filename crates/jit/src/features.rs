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
        let scalar = is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt")
            && is_x86_feature_detected!("f16c");
        let has_code = level.is_available() && level != Level::Portable;
        (scalar && has_code)
            .then(|| Self { level, popcnt: is_x86_feature_detected!("avx512vpopcntdq") })
    }

    /// Returns the instructions that all hosts of the level have.
    pub(crate) fn baseline(self) -> Self {
        Self { popcnt: false, ..self }
    }
}
