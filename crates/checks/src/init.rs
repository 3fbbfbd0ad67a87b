//! Values from memory and registers that nobody has written, where they decide something.
//!
//! The exact engine follows them ([`vm::Definedness`]); this turns what it tells into findings. A
//! finding stands at the instruction that read the value, and names the one for which it decides.

use findings::{AccessRecord, Finding, Kind};
use rustc_hash::FxHashMap;
use simt::memory::Space;
use vm::{Decides, Definedness, Origin, UndefinedUse};

use crate::checker::Launch;

/// Finds what undefined values decide.
#[derive(Default)]
pub(crate) struct Init {
    /// Lent to the engine while a launch runs.
    defined: Option<Box<Definedness>>,
    /// Launches whose undefined values may be in memory, by number.
    launches: FxHashMap<usize, Launch>,
    /// Whether bytes count that lie as padding does.
    strict: bool,
}

impl Init {
    pub(crate) fn new(strict: bool) -> Self {
        Self { defined: Some(Box::default()), launches: FxHashMap::default(), strict }
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.defined.as_ref().is_none_or(|defined| defined.is_complete())
    }

    /// What is followed, between launches.
    pub(crate) fn defined(&mut self) -> Option<&mut Definedness> {
        self.defined.as_deref_mut()
    }

    pub(crate) fn lend(&mut self, launch: usize) -> Option<Box<Definedness>> {
        let mut defined = self.defined.take()?;
        defined.launch = launch;
        Some(defined)
    }

    pub(crate) fn take_back(&mut self, defined: Box<Definedness>) {
        self.defined = Some(defined);
    }

    /// Removes and returns what was found in a launch that has ended.
    pub(crate) fn take(&mut self, launch: &Launch) -> Vec<Finding> {
        let Some(defined) = self.defined.as_deref_mut() else { return Vec::new() };
        if defined.has_origins(launch.index) {
            self.launches.insert(launch.index, launch.clone());
        }
        let uses = defined.take_uses();
        let mut found: Vec<Finding> = uses.iter().map(|used| self.finding(launch, used)).collect();
        found.sort_by_key(|finding| finding.location.line);
        found
    }

    /// Returns findings of all undefined values that stand in global memory because they were
    /// stored: the host reads all of it.
    pub(crate) fn read_by_host(&self) -> Vec<Finding> {
        let stored = self.defined.as_ref().map(|defined| defined.stored()).unwrap_or_default();
        stored.iter().filter_map(|origin| self.of_origin(origin, "the host reads it")).collect()
    }

    /// Returns a finding of the bytes that the host copies and that are undefined.
    pub(crate) fn copied_to_host(&self, at: u64, len: u64, what: &str) -> Option<Finding> {
        let defined = self.defined.as_ref()?;
        let (first, origin, count) = defined.memory.first(at, len)?;
        let padding = defined.memory.is_padding(at, len);
        if padding && !self.strict {
            return None;
        }
        if let Some(origin) = origin.and_then(|id| defined.origin(id)).filter(|_| !padding) {
            return self.of_origin(&origin, &format!("{what} copies it to the host"));
        }
        let message = format!("{what} copies bytes to the host that nobody has written");
        let kind = if padding { Kind::UninitialisedPadding } else { Kind::UninitialisedCopy };
        let mut found = Launch::default().finding(kind, message, <_>::default());
        found.launch = None;
        found.causes = vec![format!(
            "{count} of {len} bytes, of which the first is byte {} of the copy, at {first:#x}",
            first - at
        )];
        Some(found)
    }

    /// A finding at the instruction that read what nobody has written.
    fn of_origin(&self, origin: &Origin, why: &str) -> Option<Finding> {
        let launch = self.launches.get(&origin.launch)?;
        let mut found = at_origin(launch, origin);
        found.message = format!("{}, and {why}", found.message);
        Some(found)
    }

    fn finding(&self, launch: &Launch, used: &UndefinedUse) -> Finding {
        let place = launch.location(used.pc.0);
        let decides = match used.decides {
            Decides::Branch => "decides a branch",
            Decides::Address => "decides an address",
            Decides::Output => "is printed",
        };
        let origin =
            used.origin.and_then(|origin| Some((self.launches.get(&origin.launch)?, origin)));
        let site = launch.shape.site_of(used.thread.0, used.thread.1);
        let Some((reader, origin)) = origin else {
            let message =
                format!("a register that was never written {decides} at {}", place.describe());
            let mut found = launch.finding(Kind::UninitialisedRegister, message, place);
            found.causes = vec![format!("the value is used by {site}")];
            (found.site, found.count) = (Some(site), used.count);
            return found;
        };
        let mut found = at_origin(reader, &origin);
        found.message = format!("{}, and {decides} at {}", found.message, place.describe());
        found.causes.push(format!("its value {decides} for {site}"));
        if Some(used.pc) != origin.pc || origin.launch != used.launch {
            found.related = Some((place, format!("it {decides} here")));
        }
        found
    }
}

/// The finding of a read of what nobody has written, without what it decides.
fn at_origin(launch: &Launch, origin: &Origin) -> Finding {
    let location = origin.pc.map(|pc| launch.location(pc.0)).unwrap_or_default();
    let (kind, space) = match origin.space {
        Space::Shared => (Kind::UninitialisedShared, "shared"),
        Space::Local => (Kind::UninitialisedLocal, "local"),
        _ => (Kind::UninitialisedGlobal, "global"),
    };
    let message = format!("{space} memory is read at {} before it is written", location.describe());
    let mut found = launch.finding(kind, message, location.clone());
    let site = launch.shape.site_of(origin.thread.0, origin.thread.1);
    let address = origin.address;
    found.causes = vec![match kind {
        Kind::UninitialisedShared => {
            format!(
                "no thread of the block has written byte {address:#x} of its shared memory; {site}"
            )
        }
        Kind::UninitialisedLocal => {
            format!("the thread has not written byte {address:#x} of its local memory; {site}")
        }
        _ => format!("nobody has written the byte at {address:#x} since it was allocated; {site}"),
    }];
    found.accesses = vec![AccessRecord {
        kind: origin.kind,
        space: origin.space,
        address,
        value: None,
        site: site.clone(),
        location,
    }];
    found.site = Some(site);
    found.count = origin.count;
    found
}
