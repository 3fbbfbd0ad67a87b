//! Limits of the host memory that user input can request.
//!
//! Sizes come from untrusted text, so they are computed with checked arithmetic and compared with a
//! cap before anything is allocated.

/// Caps on the memory of one run's buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most bytes in one buffer.
    pub buffer_bytes: u64,
    /// Most bytes in all buffers of a run.
    pub total_bytes: u64,
}

impl Limits {
    /// The default: 1 GiB a buffer, 2 GiB in total.
    pub const DEFAULT: Self = Self { buffer_bytes: 1 << 30, total_bytes: 2 << 30 };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Formats a number of bytes: exact below 1 KiB, otherwise with one decimal and a binary unit.
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
