//! What the host's processor has.

/// Instructions that code may use beyond AVX-512 F, BW, DQ and VL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Features {
    /// Population counts of lanes.
    pub(crate) popcnt: bool,
    /// Leading zeros of lanes.
    pub(crate) lzcnt: bool,
}

impl Features {
    /// Those of this host, if code can run on it.
    pub(crate) fn of_host() -> Option<Self> {
        let needed = fast::Level::Avx512.is_available()
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt");
        needed.then(|| Self {
            popcnt: is_x86_feature_detected!("avx512vpopcntdq"),
            lzcnt: is_x86_feature_detected!("avx512cd"),
        })
    }
}
