//! How much host memory a user's input may ask for.
//!
//! Sizes come from text that anyone may write, so each is computed with checked arithmetic and compared with a cap
//! before anything is allocated.

/// Caps on what one run may allocate on a user's behalf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes in one buffer.
    pub buffer_bytes: u64,
    /// Most bytes in all buffers of a run together.
    pub total_bytes: u64,
}

impl Limits {
    /// What a run gets when nothing else is said: 1 GiB a buffer, 2 GiB in all.
    pub const DEFAULT: Self = Self { buffer_bytes: 1 << 30, total_bytes: 2 << 30 };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// A number of bytes for people: exact below 1 KiB, else with one decimal and a binary unit.
#[must_use]
pub fn human_bytes(bytes: u128) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} bytes");
    }
    let mut unit = 0;
    let mut scale: u128 = 1024;
    while unit + 1 < UNITS.len() && bytes / scale >= 1024 {
        scale *= 1024;
        unit += 1;
    }
    let tenths = bytes.saturating_mul(10) / scale;
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_shown_with_one_decimal() {
        assert_eq!(human_bytes(1023), "1023 bytes");
        assert_eq!(human_bytes(1 << 30), "1.0 GiB");
        assert_eq!(human_bytes(3 << 29), "1.5 GiB");
        assert_eq!(human_bytes(u128::from(u64::MAX)), "15.9 EiB");
    }
}
