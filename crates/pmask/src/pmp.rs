//! Physical memory protection of the privileged specification: eight entries, granularity 4 bytes.
//!
//! The last entry opens all memory to user mode at reset, which the specification leaves to the
//! platform, so that programs without protection may use user mode. Programs that configure entries
//! write it too (`pmpcfg0` holds all).

/// Entries.
const COUNT: usize = 8;

/// An access, as the permission bit that it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// R.
    Read = 1,
    /// W.
    Write = 2,
    /// X.
    Execute = 4,
}

const TOR: u8 = 1;
const NA4: u8 = 2;
const NAPOT: u8 = 3;
const LOCK: u8 = 0x80;
const ADDRESS_BITS: u64 = (1 << 54) - 1;

/// The entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pmp {
    config: [u8; COUNT],
    address: [u64; COUNT],
}

impl Default for Pmp {
    fn default() -> Self {
        let (mut config, mut address) = ([0; COUNT], [0; COUNT]);
        config[COUNT - 1] = NAPOT << 3 | 7;
        address[COUNT - 1] = ADDRESS_BITS;
        Self { config, address }
    }
}

impl Pmp {
    /// The value of `pmpcfg0`.
    #[must_use]
    pub fn config(&self) -> u64 {
        u64::from_le_bytes(self.config)
    }

    /// Writes `pmpcfg0`: locked entries stay, and W without R, which is reserved, becomes neither.
    pub fn set_config(&mut self, value: u64) {
        for (entry, new) in self.config.iter_mut().zip(value.to_le_bytes()) {
            if *entry & LOCK == 0 {
                let write_only = new & 3 == 2;
                *entry = new & 0x9f & if write_only { !2 } else { 0xff };
            }
        }
    }

    /// The value of `pmpaddr` number `index`; entries that do not exist are zero.
    #[must_use]
    pub fn address(&self, index: usize) -> u64 {
        self.address.get(index).copied().unwrap_or(0)
    }

    /// Writes a `pmpaddr`, unless its entry is locked, or is the bottom of a locked range.
    pub fn set_address(&mut self, index: usize, value: u64) {
        let config = |i: usize| self.config.get(i).copied().unwrap_or(0);
        let bottom_of_locked = config(index + 1) & LOCK != 0 && mode(config(index + 1)) == TOR;
        if config(index) & LOCK == 0
            && !bottom_of_locked
            && let Some(address) = self.address.get_mut(index)
        {
            *address = value & ADDRESS_BITS;
        }
    }

    /// Returns whether some entry holds for machine mode too.
    #[must_use]
    pub fn locks(&self) -> bool {
        self.config.iter().any(|config| config & LOCK != 0)
    }

    /// First and last byte of an entry.
    fn range(&self, index: usize) -> Option<(u64, u64)> {
        let top = self.address(index);
        match mode(self.config.get(index).copied()?) {
            TOR => {
                let bottom = index.checked_sub(1).map_or(0, |i| self.address(i));
                (bottom < top).then(|| (bottom << 2, (top << 2) - 1))
            }
            NA4 => Some((top << 2, (top << 2) + 3)),
            NAPOT => {
                let low = top.trailing_ones();
                let base = top & !((1u64 << low) - 1) & !(1u64 << low);
                Some((base << 2, (base << 2) + ((8u64 << low) - 1)))
            }
            _ => None,
        }
    }

    /// Returns whether an access is allowed: by the first entry that contains any byte of it, which
    /// must contain all.
    #[must_use]
    pub fn allows(&self, machine: bool, addr: u64, size: u64, need: Need) -> bool {
        let last = addr.saturating_add(size.saturating_sub(1));
        for (index, config) in self.config.iter().enumerate() {
            let Some((first_byte, last_byte)) = self.range(index) else { continue };
            if last < first_byte || addr > last_byte {
                continue;
            }
            let whole = addr >= first_byte && last <= last_byte;
            let open = machine && config & LOCK == 0;
            return whole && (open || config & need as u8 != 0);
        }
        machine
    }
}

const fn mode(config: u8) -> u8 {
    config >> 3 & 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_priorities_and_locks() {
        let mut pmp = Pmp::default();
        assert!(pmp.allows(false, u64::MAX >> 8, 8, Need::Write) && !pmp.locks());
        pmp.set_config(0);
        assert!(!pmp.allows(false, 0x8000_0000, 4, Need::Read));
        assert!(pmp.allows(true, 0x8000_0000, 4, Need::Read));
        // 4 bytes without rights before a power-of-two range to read, then a top-of-range to run.
        pmp.set_address(0, 0x8000_0010 >> 2);
        pmp.set_address(1, (0x8000_0000 >> 2) | 0x7f);
        pmp.set_address(2, 0x8000_2000 >> 2);
        pmp.set_config(0x0c_19_10);
        assert!(pmp.allows(false, 0x8000_0000, 8, Need::Read));
        assert!(!pmp.allows(false, 0x8000_0000, 8, Need::Write));
        assert!(!pmp.allows(false, 0x8000_0010, 4, Need::Read));
        assert!(!pmp.allows(false, 0x8000_000c, 8, Need::Read), "partly in the first entry");
        assert!(pmp.allows(false, 0x8000_03fc, 4, Need::Read));
        assert!(!pmp.allows(false, 0x8000_0400, 4, Need::Read));
        assert!(pmp.allows(true, 0x8000_0010, 4, Need::Write));
        // Entry 2 begins at the address in entry 1's register.
        assert!(pmp.allows(false, 0x8000_1000, 4, Need::Execute));
        assert!(!pmp.allows(false, 0x8000_2000, 4, Need::Execute));
        pmp.set_config(0x8c_19_90);
        assert!(pmp.locks() && !pmp.allows(true, 0x8000_0010, 4, Need::Write));
        pmp.set_address(0, 0);
        pmp.set_address(1, 0);
        assert_eq!(pmp.address(0), 0x8000_0010 >> 2);
        assert_ne!(pmp.address(1), 0, "it is the bottom of a locked range");
        pmp.set_config(0);
        assert_eq!(pmp.config(), 0x8c_00_90);
        assert_eq!(pmp.address(60), 0);
    }
}
