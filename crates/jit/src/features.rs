//! What the host's processor has.

use fast::Level;

/// Instructions that code may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Features {
    /// The vectors.
    pub(crate) level: Level,
    /// With AVX-512, beyond F, BW, DQ and VL: population counts of lanes.
    pub(crate) popcnt: bool,
    /// Leading zeros of lanes.
    pub(crate) lzcnt: bool,
}

impl Features {
    /// Those of this host, with the vectors of a level, if it has them.
    pub(crate) fn of_host(level: Level) -> Option<Self> {
        let scalar = is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt")
            && is_x86_feature_detected!("f16c");
        let has_code = level.is_available() && level != Level::Portable;
        (scalar && has_code).then(|| Self {
            level,
            popcnt: is_x86_feature_detected!("avx512vpopcntdq"),
            lzcnt: is_x86_feature_detected!("avx512cd"),
        })
    }
}
