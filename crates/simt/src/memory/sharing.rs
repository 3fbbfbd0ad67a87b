//! Devices that share a map: whose memory a region is, and which of them may access it.
//!
//! The memory of each device has the map's limit for itself. While a device [accesses] the map,
//! regions that it may not access are hidden: they have no bytes that can be accessed, as freed
//! regions have none, so that nothing is checked in addition on the way of an access. Without such
//! a device, as between launches, nothing is hidden.
//!
//! [accesses]: MemoryMap::set_accessing

use super::map::Counters;
use super::{Addr, MapError, MemoryMap, Region, Violation};

/// The maximum number of devices that share a map.
pub const MAX_DEVICES: usize = 16;

/// Which devices may access a region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Sharing {
    /// The device whose memory it is, and its peers.
    #[default]
    Peers,
    /// All devices.
    All,
    /// Those of the set bits, whoever are peers.
    Devices(u16),
}

/// A device that accesses memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Accessing {
    /// The device.
    pub device: u8,
    /// The devices whose memory it may access besides its own, as bits.
    pub peers: u16,
}

impl Accessing {
    /// Returns whether the device may access memory of a device that is shared so.
    #[must_use]
    pub const fn may(self, owner: u8, sharing: Sharing) -> bool {
        match sharing {
            Sharing::Peers => self.device == owner || self.peers >> owner & 1 == 1,
            Sharing::All => true,
            Sharing::Devices(devices) => devices >> self.device & 1 == 1,
        }
    }
}

impl Region {
    /// The device whose memory it is.
    #[must_use]
    pub const fn device(&self) -> u8 {
        self.device
    }

    /// Which devices may access it.
    #[must_use]
    pub const fn sharing(&self) -> Sharing {
        self.sharing
    }

    /// Returns whether it is live, and hidden from the device that accesses memory now.
    pub(super) const fn is_hidden(&self) -> bool {
        self.is_live() && self.reach < self.len
    }

    /// Makes it accessible to a device, or hides it; without a device it is accessible.
    pub(super) fn open(&mut self, accessing: Option<Accessing>) {
        let may = accessing.is_none_or(|accessing| accessing.may(self.device, self.sharing));
        self.reach = if may && self.is_live() { self.len } else { 0 };
    }

    /// The violation of an access that is hidden from a device.
    pub(super) const fn violation_of(&self, accessing: Option<Accessing>) -> Violation {
        let by = match accessing {
            Some(accessing) => accessing.device,
            None => self.device,
        };
        let peers = matches!(self.sharing, Sharing::Peers);
        Violation::OtherDevice { by, owner: self.device, peers }
    }
}

impl MemoryMap {
    /// Sets the device whose memory allocations are from now on: a number below [`MAX_DEVICES`].
    pub fn set_device(&mut self, device: u8) {
        self.counters.device = device.min(MAX_DEVICES as u8 - 1);
    }

    /// Returns the device whose memory allocations are now.
    #[must_use]
    pub const fn device(&self) -> u8 {
        self.counters.device
    }

    /// Changes which devices may access the allocation that starts at `addr`.
    ///
    /// # Errors
    /// If no live allocation starts there.
    pub fn set_sharing(&mut self, addr: Addr, sharing: Sharing) -> Result<(), MapError> {
        let index = self.start_at(addr)?;
        let Counters { accessing, .. } = self.counters;
        let region = &mut self.regions[index];
        region.sharing = sharing;
        region.open(accessing);
        self.counters.has_lists |= matches!(sharing, Sharing::Devices(_));
        Ok(())
    }

    /// Hides all regions that a device may not access, until another device is set or none.
    pub fn set_accessing(&mut self, accessing: Option<Accessing>) {
        let before = std::mem::replace(&mut self.counters.accessing, accessing);
        // With the memory of one device alone, there is nothing to hide.
        let hides = |a: Accessing| self.counters.has_lists || self.counters.has_others(a.device);
        if [before, accessing].into_iter().flatten().any(hides) {
            self.regions.iter_mut().for_each(|region| region.open(accessing));
        }
    }
}
