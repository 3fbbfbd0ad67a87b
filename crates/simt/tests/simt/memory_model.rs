//! Guest memory against a naive model: a map from address to byte, copied whole for a snapshot.

use std::collections::BTreeMap;

use proptest::prelude::*;
use simt::memory::{
    AccessKind, AccessResult, Accessing, Addr, MemoryMap, Permission, RED_ZONE, Request, Sharing,
    Snapshot, Violation, Width,
};

/// One step. Regions and snapshots are chosen modulo how many there are.
#[derive(Clone, Debug)]
enum Step {
    Allocate { len: u64, constant: bool, align: u32 },
    Free { region: usize },
    Protect { region: usize, read_only: bool },
    Scalar { at: Place, op: Op, width: Width, value: u64, shared: bool },
    Wide { at: Place, op: Op, value: u128, shared: bool },
    Write { at: Place, bytes: Vec<u8>, shared: bool },
    Fill { at: Place, len: u64, byte: u8, shared: bool },
    Copy { to: Place, from: Place, len: u64 },
    Read { at: Place, len: usize, shared: bool },
    Snapshot,
    Restore { which: usize },
    CloneAndGoOn,
    Device { device: u8 },
    Share { region: usize, sharing: Sharing },
    Access { accessing: Option<Accessing> },
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Load,
    Store,
    Add,
}

/// An address relative to a region's start or end, aligned down by `align`.
#[derive(Clone, Debug)]
struct Place {
    region: usize,
    from_end: bool,
    delta: i64,
    align: u64,
}

#[derive(Clone, Debug, PartialEq)]
struct Region {
    base: u64,
    len: u64,
    read_only: bool,
    live: bool,
    owner: u8,
    sharing: Sharing,
}

/// What the map should be.
#[derive(Clone, Debug, Default)]
struct Model {
    bytes: BTreeMap<u64, u8>,
    regions: Vec<Region>,
    device: u8,
    accessing: Option<Accessing>,
}

impl Model {
    fn region(&self, choice: usize) -> Option<&Region> {
        self.regions.get(choice.checked_rem(self.regions.len())?)
    }

    fn address(&self, place: &Place) -> u64 {
        let (base, len) = self.region(place.region).map_or((0x7_0000_0000, 0), |r| (r.base, r.len));
        let origin = if place.from_end { base + len } else { base };
        origin.wrapping_add_signed(place.delta) / place.align * place.align
    }

    fn around(&self, addr: u64) -> Option<&Region> {
        self.regions.iter().find(|r| addr >= r.base && addr - r.base < r.len)
    }

    /// Whether a region is hidden from the device that accesses memory.
    fn hides(&self, region: &Region) -> bool {
        let Some(Accessing { device, peers }) = self.accessing else { return false };
        !match region.sharing {
            Sharing::All => true,
            Sharing::Peers => region.owner == device || peers & 1 << region.owner != 0,
            Sharing::Devices(devices) => devices & 1 << device != 0,
        }
    }

    /// What an access should give: nothing, or a violation.
    fn verdict(
        &self,
        writes: bool,
        addr: u64,
        size: u64,
        align: u64,
    ) -> Result<(), Vec<Violation>> {
        let around = self.around(addr);
        if (0x1_0000_0000..0x4_0000_0000).contains(&addr) {
            return Err(vec![Violation::WrongSpace]);
        }
        if addr < 0x1_0000 {
            return Err(vec![Violation::Null]);
        }
        if !addr.is_multiple_of(align) {
            return Err(vec![Violation::Misaligned]);
        }
        let Some(region) = around else {
            return Err(vec![Violation::OutOfBounds, Violation::NotMapped]);
        };
        if !region.live {
            return Err(vec![Violation::Freed]);
        }
        if self.hides(region) {
            let by = self.accessing.unwrap().device;
            let peers = region.sharing == Sharing::Peers;
            return Err(vec![Violation::OtherDevice { by, owner: region.owner, peers }]);
        }
        if !(addr..addr + size).all(|a| self.bytes.contains_key(&a)) {
            return Err(vec![Violation::OutOfBounds]);
        }
        if writes && region.read_only {
            return Err(vec![Violation::ReadOnly]);
        }
        Ok(())
    }

    fn value(&self, addr: u64, size: u64) -> u128 {
        (0..size).rev().fold(0, |value, i| value << 8 | u128::from(self.bytes[&(addr + i)]))
    }

    fn set(&mut self, addr: u64, bytes: &[u8]) {
        for (a, &b) in (addr..).zip(bytes) {
            self.bytes.insert(a, b);
        }
    }
}

/// The map, the model, and their snapshots.
#[derive(Default)]
struct Pair {
    map: MemoryMap,
    model: Model,
    snapshots: Vec<(Snapshot, Model)>,
}

impl Pair {
    /// Checks an outcome against the model's verdict; whether the access took place.
    fn agree<T: std::fmt::Debug>(
        &self,
        outcome: &AccessResult<T>,
        kind: AccessKind,
        addr: u64,
        size: u64,
        align: u64,
    ) -> Result<bool, TestCaseError> {
        let verdict = self.model.verdict(kind.writes(), addr, size, align);
        prop_assert_eq!(self.map.check(kind, Addr(addr), size, align).is_ok(), verdict.is_ok());
        match (outcome, verdict) {
            (Ok(_), Ok(())) => Ok(true),
            (Err(error), Err(violations)) => {
                prop_assert!(
                    violations.contains(&error.violation),
                    "{error} should be one of {violations:?}"
                );
                prop_assert_eq!((error.addr, error.size, error.access), (addr, size, kind));
                prop_assert!(error.nearest.is_some() || error.violation == Violation::WrongSpace);
                Ok(false)
            }
            (outcome, verdict) => {
                let text = format!(
                    "{kind} of {size} at {addr:#x}: {outcome:?}, but the model has {verdict:?}"
                );
                Err(TestCaseError::fail(text))
            }
        }
    }

    fn step(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match *step {
            Step::Allocate { len, constant, align } => self.allocate(len, constant, 1 << align)?,
            Step::Free { region } => {
                let Some(Region { base, len, live, .. }) = self.model.region(region).cloned()
                else {
                    return Ok(());
                };
                prop_assert_eq!(self.map.free(Addr(base)).is_ok(), live);
                let count = self.model.regions.len();
                self.model.regions[region % count].live = false;
                self.model.bytes.retain(|&a, _| a < base || a >= base + len);
            }
            Step::Protect { region, read_only } => {
                let Some(Region { base, live, .. }) = self.model.region(region).cloned() else {
                    return Ok(());
                };
                let permission =
                    if read_only { Permission::ReadOnly } else { Permission::ReadWrite };
                prop_assert_eq!(self.map.set_permission(Addr(base), permission).is_ok(), live);
                let count = self.model.regions.len();
                self.model.regions[region % count].read_only = read_only;
            }
            Step::Scalar { ref at, op, width, value, shared } => {
                let addr = self.model.address(at);
                let size = width.bytes();
                let add = |old: u64| old.wrapping_add(value);
                let a = Addr(addr);
                let (outcome, kind) = match (op, shared) {
                    (Op::Load, false) => (self.map.load(a, width), AccessKind::Load),
                    (Op::Load, true) => (self.map.share().load(a, width), AccessKind::Load),
                    (Op::Store, false) => {
                        (self.map.store(a, width, value).map(|()| 0), AccessKind::Store)
                    }
                    (Op::Store, true) => {
                        (self.map.share().store(a, width, value).map(|()| 0), AccessKind::Store)
                    }
                    (Op::Add, false) => (self.map.atomic(a, width, add), AccessKind::Atomic),
                    (Op::Add, true) => (self.map.share().atomic(a, width, add), AccessKind::Atomic),
                };
                if self.agree(&outcome, kind, addr, size, size)? {
                    let old = self.model.value(addr, size) as u64;
                    self.effect(
                        op,
                        addr,
                        size,
                        old.into(),
                        outcome.unwrap().into(),
                        value.into(),
                        add(old).into(),
                    )?;
                }
            }
            Step::Wide { ref at, op, value, shared } => {
                let addr = self.model.address(at);
                let add = |old: u128| old.wrapping_add(value);
                let a = Addr(addr);
                let (outcome, kind) = match (op, shared) {
                    (Op::Load, false) => (self.map.load_u128(a), AccessKind::Load),
                    (Op::Load, true) => (self.map.share().load_u128(a), AccessKind::Load),
                    (Op::Store, false) => {
                        (self.map.store_u128(a, value).map(|()| 0), AccessKind::Store)
                    }
                    (Op::Store, true) => {
                        (self.map.share().store_u128(a, value).map(|()| 0), AccessKind::Store)
                    }
                    (Op::Add, false) => (self.map.atomic_u128(a, add), AccessKind::Atomic),
                    (Op::Add, true) => (self.map.share().atomic_u128(a, add), AccessKind::Atomic),
                };
                if self.agree(&outcome, kind, addr, 16, 16)? {
                    let old = self.model.value(addr, 16);
                    self.effect(op, addr, 16, old, outcome.unwrap(), value, add(old))?;
                }
            }
            Step::Write { ref at, ref bytes, shared } => {
                let addr = self.model.address(at);
                let outcome = if shared {
                    self.map.share().write_bytes(Addr(addr), bytes)
                } else {
                    self.map.write_bytes(Addr(addr), bytes)
                };
                if self.agree(&outcome, AccessKind::Store, addr, bytes.len() as u64, 1)? {
                    self.model.set(addr, bytes);
                }
            }
            Step::Fill { ref at, len, byte, shared } => {
                let addr = self.model.address(at);
                let outcome = if shared {
                    self.map.share().fill(Addr(addr), len, byte)
                } else {
                    self.map.fill(Addr(addr), len, byte)
                };
                if self.agree(&outcome, AccessKind::Store, addr, len, 1)? {
                    self.model.set(addr, &vec![byte; len as usize]);
                }
            }
            Step::Copy { ref to, ref from, len } => {
                let (to, from) = (self.model.address(to), self.model.address(from));
                let readable = self.model.verdict(false, from, len, 1).is_ok();
                let writable = self.model.verdict(true, to, len, 1).is_ok();
                prop_assert_eq!(
                    self.map.copy(Addr(to), Addr(from), len).is_ok(),
                    readable && writable
                );
                if readable && writable {
                    let bytes: Vec<u8> = (from..from + len).map(|a| self.model.bytes[&a]).collect();
                    self.model.set(to, &bytes);
                }
            }
            Step::Read { ref at, len, shared } => {
                let addr = self.model.address(at);
                let mut out = vec![0; len];
                let outcome = if shared {
                    self.map.share().read_bytes(Addr(addr), &mut out)
                } else {
                    self.map.read_bytes(Addr(addr), &mut out)
                };
                if self.agree(&outcome, AccessKind::Load, addr, len as u64, 1)? {
                    prop_assert!((addr..).zip(&out).all(|(a, b)| self.model.bytes[&a] == *b));
                }
            }
            Step::Snapshot => self.snapshots.push((self.map.snapshot(), self.model.clone())),
            Step::Restore { which } => {
                if !self.snapshots.is_empty() {
                    let (snapshot, model) = &self.snapshots[which % self.snapshots.len()];
                    self.map.restore(snapshot).unwrap();
                    self.model = model.clone();
                    prop_assert!(self.map.snapshot() == *snapshot);
                    self.compare()?;
                }
            }
            Step::CloneAndGoOn => {
                let mut copy = self.map.clone();
                prop_assert!(copy.snapshot() == self.map.snapshot());
                self.map = copy;
            }
            Step::Device { device } => {
                self.map.set_device(device);
                self.model.device = device;
            }
            Step::Share { region, sharing } => {
                let Some(Region { base, live, .. }) = self.model.region(region).cloned() else {
                    return Ok(());
                };
                prop_assert_eq!(self.map.set_sharing(Addr(base), sharing).is_ok(), live);
                let count = self.model.regions.len();
                self.model.regions[region % count].sharing = sharing;
            }
            Step::Access { accessing } => {
                self.map.set_accessing(accessing);
                self.model.accessing = accessing;
            }
        }
        Ok(())
    }

    /// Checks what a scalar access gave and brings the model up to date.
    #[allow(clippy::too_many_arguments, reason = "it is what an access and its effects consist of")]
    fn effect(
        &mut self,
        op: Op,
        addr: u64,
        size: u64,
        old: u128,
        given: u128,
        stored: u128,
        sum: u128,
    ) -> Result<(), TestCaseError> {
        if !matches!(op, Op::Store) {
            prop_assert_eq!(given, old);
        }
        match op {
            Op::Load => {}
            Op::Store => self.model.set(addr, &stored.to_le_bytes()[..size as usize]),
            Op::Add => self.model.set(addr, &sum.to_le_bytes()[..size as usize]),
        }
        Ok(())
    }

    fn allocate(&mut self, len: u64, constant: bool, align: u64) -> Result<(), TestCaseError> {
        let request =
            if constant { Request::constant("c", len) } else { Request::global("g", len) };
        let base = self.map.allocate_with(request.align(align)).unwrap();
        prop_assert!(base.is_aligned(align.max(256)));
        for other in &self.model.regions {
            let apart = base.0 >= other.base + other.len + RED_ZONE
                || other.base >= base.0 + len + RED_ZONE;
            prop_assert!(apart, "{base} of {len} bytes is too close to {other:x?}");
        }
        let (base, read_only, owner, sharing) =
            (base.0, constant, self.model.device, Sharing::Peers);
        self.model.regions.push(Region { base, len, read_only, live: true, owner, sharing });
        self.model.bytes.extend((base..base + len).map(|a| (a, 0)));
        Ok(())
    }

    /// All bytes of the map are those of the model.
    fn compare(&self) -> Result<(), TestCaseError> {
        let live = self.model.regions.iter().filter(|r| r.live);
        prop_assert_eq!(self.map.mapped(), live.clone().map(|r| r.len).sum::<u64>());
        for device in 0..3 {
            let own = live.clone().filter(|r| r.owner == device);
            prop_assert_eq!(self.map.mapped_of(device), own.map(|r| r.len).sum::<u64>());
        }
        for region in live.filter(|r| !self.model.hides(r)) {
            let mut out = vec![0; region.len as usize];
            self.map.read_bytes(Addr(region.base), &mut out).unwrap();
            prop_assert!((region.base..).zip(&out).all(|(a, b)| self.model.bytes[&a] == *b));
        }
        Ok(())
    }
}

fn place() -> impl Strategy<Value = Place> {
    let delta =
        prop_oneof![3 => -20i64..20, 1 => -300i64..10_000, 1 => -10_000i64..300, 1 => any::<i64>()];
    let align = prop_oneof![Just(1u64), Just(16), Just(8), Just(4)];
    (0..8usize, any::<bool>(), delta, align).prop_map(|(region, from_end, delta, align)| Place {
        region,
        from_end,
        delta,
        align,
    })
}

fn width() -> impl Strategy<Value = Width> {
    prop::sample::select(vec![Width::B1, Width::B2, Width::B4, Width::B8])
}

fn op() -> impl Strategy<Value = Op> {
    prop::sample::select(vec![Op::Load, Op::Store, Op::Add])
}

fn sharing() -> impl Strategy<Value = Sharing> {
    prop_oneof![Just(Sharing::All), Just(Sharing::Peers), (0..8u16).prop_map(Sharing::Devices)]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => (prop_oneof![0..40u64, 0..13_000u64], prop::bool::weighted(0.2), 0..13u32)
            .prop_map(|(len, constant, align)| Step::Allocate { len, constant, align }),
        1 => (0..8usize).prop_map(|region| Step::Free { region }),
        1 => (0..8usize, prop::bool::weighted(0.3))
            .prop_map(|(region, read_only)| Step::Protect { region, read_only }),
        8 => (place(), op(), width(), any::<u64>(), any::<bool>())
            .prop_map(|(at, op, width, value, shared)| {
                Step::Scalar { at, op, width, value, shared }
            }),
        3 => (place(), op(), any::<u128>(), any::<bool>())
            .prop_map(|(at, op, value, shared)| Step::Wide { at, op, value, shared }),
        3 => (place(), prop::collection::vec(any::<u8>(), 1..40), any::<bool>())
            .prop_map(|(at, bytes, shared)| Step::Write { at, bytes, shared }),
        2 => (place(), 1..9_000u64, any::<u8>(), any::<bool>())
            .prop_map(|(at, len, byte, shared)| Step::Fill { at, len, byte, shared }),
        2 => (place(), place(), 1..9_000u64)
            .prop_map(|(to, from, len)| Step::Copy { to, from, len }),
        2 => (place(), 1..9_000usize, any::<bool>())
            .prop_map(|(at, len, shared)| Step::Read { at, len, shared }),
        1 => Just(Step::Snapshot),
        1 => (0..8usize).prop_map(|which| Step::Restore { which }),
        1 => Just(Step::CloneAndGoOn),
        1 => (0..3u8).prop_map(|device| Step::Device { device }),
        1 => (0..8usize, sharing()).prop_map(|(region, sharing)| Step::Share { region, sharing }),
        2 => prop::option::weighted(0.7, (0..3u8, 0..8u16)).prop_map(|accessing| {
            let accessing = accessing.map(|(device, peers)| Accessing { device, peers });
            Step::Access { accessing }
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 1 } else { 256 }, ..ProptestConfig::default()
    })]

    #[test]
    fn memory_is_what_the_model_says(
        lengths in prop::collection::vec(prop_oneof![1..40u64, 1..13_000u64], 1..4),
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let mut pair = Pair::default();
        for len in lengths {
            pair.allocate(len, false, 1)?;
        }
        for step in &steps {
            pair.step(step)?;
        }
        pair.compare()?;
        // Every snapshot is still what it was.
        for (snapshot, model) in std::mem::take(&mut pair.snapshots) {
            pair.map.restore(&snapshot).unwrap();
            pair.model = model;
            pair.compare()?;
        }
    }
}
