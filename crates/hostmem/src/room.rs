//! How much memory the process may still have, as its system limits it.
//!
//! Sources: proc(5), `/proc/[pid]/limits` ("Max address space") and `/proc/[pid]/statm` (pages of
//! the address space).

/// Bytes of a page of Linux on all hosts that this runs on, at least: a larger page makes the
/// answer too large, never too small.
const PAGE: u64 = 4096;

/// Bytes that the process can still map before it meets its limit (`ulimit -v`); `None` if it has
/// no limit, or the system does not tell.
#[must_use]
pub fn room() -> Option<u64> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let limit = address_space(&limits)?;
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    let used: u64 = pages.split_whitespace().next()?.parse().ok()?;
    Some(limit.saturating_sub(used.saturating_mul(PAGE)))
}

/// The soft limit of the address space in the system's list.
fn address_space(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_from_the_list() {
        let list = "Limit                     Soft Limit           Hard Limit           Units     \n\
                    Max cpu time              unlimited            unlimited            seconds   \n\
                    Max address space         1073741824           unlimited            bytes     \n";
        assert_eq!(address_space(list), Some(1 << 30));
        assert_eq!(address_space(&list.replace("1073741824", "unlimited ")), None);
        assert_eq!(address_space(""), None);
    }
}
