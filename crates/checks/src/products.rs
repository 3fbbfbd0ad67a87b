//! Registers of asynchronous products of warp groups.
//!
//! From `wgmma.mma_async` to the wait for its group, no instruction may access the accumulators or
//! the registers of the first factor, but for products that add to the same accumulators. Before
//! the first product of a warp, and between an access to such a register and the next product with
//! it, there has to be a `wgmma.fence` (PTX ISA, "wgmma.fence").
//!
//! Moves between registers are no accesses here: compilers write them where the assembler leaves
//! none.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use findings::{Finding, Kind};
use rustc_hash::FxHashMap;
use simt::observe::{AsyncEvent, AsyncGroups, Asynchronous, Issue};

use crate::checker::{Launch, WARP};
use crate::probe::WORDS;

/// A product with its registers.
#[derive(Clone, Debug)]
struct Product {
    pc: u64,
    registers: Arc<[u64]>,
}

/// The products of a warp.
#[derive(Clone, Debug, Default)]
struct Warp {
    open: Vec<Product>,
    committed: VecDeque<Vec<Product>>,
    /// Registers of products accessed since the last fence, and where.
    accessed: BTreeMap<u64, u64>,
    fenced: bool,
}

/// Finds accesses to registers of products, and fences that are missing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Products {
    warps: FxHashMap<(u64, u32), Warp>,
    found: BTreeMap<(Kind, u64, u64), Finding>,
}

impl Products {
    pub(crate) fn issue(&mut self, launch: &Launch, issue: &Issue<'_, WORDS>) {
        let Some(place) = launch.place(issue.pc.0) else { return };
        if place.product || place.registers.is_empty() {
            return;
        }
        let Some(lane) = issue.lanes.on.lowest() else { return };
        let thread = issue.group.first_thread + lane as u32;
        let at = (issue.group.cta, thread / WARP);
        let warp = self.warps.entry(at).or_default();
        let meets = |product: &&Product| {
            product.registers.iter().any(|register| place.registers.contains(register))
        };
        let running = warp.committed.iter().flatten().chain(&warp.open).find(meets).map(|p| p.pc);
        warp.accessed.extend(place.registers.iter().map(|&register| (register, issue.pc.0)));
        if let Some(product) = running {
            let location = launch.location(issue.pc.0);
            let message = format!(
                "{} accesses a register of the product at {} before a wait for it",
                location.describe(),
                launch.location(product).describe()
            );
            let related = "the product is issued here";
            self.add(launch, Kind::RegisterInFlight, (issue.pc.0, product), message, related);
        }
    }

    pub(crate) fn event(&mut self, launch: &Launch, event: &Asynchronous<'_, WORDS>) {
        let Some(lane) = event.lanes.lowest() else { return };
        let thread = event.group.first_thread + lane as u32;
        let warp = self.warps.entry((event.group.cta, thread / WARP)).or_default();
        match event.event {
            AsyncEvent::Issue { group: Some(AsyncGroups::Products), .. } => {
                let pc = event.pc.0;
                let Some(place) = launch.place(pc) else { return };
                let registers = Arc::clone(&place.registers);
                let accessed = registers.iter().find_map(|r| warp.accessed.get(r).copied());
                let unfenced = accessed.or((!warp.fenced).then_some(pc));
                warp.open.push(Product { pc, registers });
                if let Some(other) = unfenced {
                    let location = launch.location(pc);
                    let at = location.describe();
                    let message = match accessed {
                        Some(_) => format!(
                            "no `wgmma.fence` is between an access to a register at {} and the \
                             product with it at {at}",
                            launch.location(other).describe()
                        ),
                        None => format!("no `wgmma.fence` is before the product at {at}"),
                    };
                    let related = "this is not ordered with the product";
                    self.add(launch, Kind::MissingRegisterFence, (pc, other), message, related);
                }
            }
            AsyncEvent::RegisterFence => {
                warp.fenced = true;
                warp.accessed.clear();
            }
            AsyncEvent::Commit(AsyncGroups::Products) => {
                let open = std::mem::take(&mut warp.open);
                warp.committed.push_back(open);
            }
            AsyncEvent::Wait { groups: AsyncGroups::Products, pending, .. } => {
                while warp.committed.len() as u64 > pending {
                    warp.committed.pop_front();
                }
            }
            _ => {}
        }
    }

    fn add(
        &mut self,
        launch: &Launch,
        kind: Kind,
        (pc, other): (u64, u64),
        message: String,
        related: &str,
    ) {
        if let Some(known) = self.found.get_mut(&(kind, pc, other)) {
            known.count += 1;
            return;
        }
        let mut found = launch.finding(kind, message, launch.location(pc));
        if pc != other {
            found.related = Some((launch.location(other), related.to_owned()));
        }
        self.found.insert((kind, pc, other), found);
    }

    /// Drops a block that has ended.
    pub(crate) fn forget(&mut self, cta: u64) {
        self.warps.retain(|at, _| at.0 != cta);
    }

    /// Removes and returns what was found.
    pub(crate) fn take(&mut self) -> Vec<Finding> {
        self.warps.clear();
        std::mem::take(&mut self.found).into_values().collect()
    }
}
