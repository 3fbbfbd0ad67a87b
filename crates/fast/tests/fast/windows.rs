//! The windows that a tier gets of a large region that it writes. Their pages enter the journal.

use converge::catalogue::Entry;
use fast::code::Kind;
use fast::{Declined, Level, Tally, Tier, Visit, Worker};
use ir::FuncId;
use simt::machine::Machine;
use std::collections::BTreeMap;
use std::sync::Mutex;
use vm::{Engine, Launch, Program, catalogued};

const PAGE: u64 = 4096;
const MIB: u64 = 1 << 20;

/// Each thread stores `n` words. The blocks' first stores are `apart` bytes apart, and each store
/// of a thread is `further` bytes after the previous one.
const KERNEL: &str = "kernel @k(a: u64 global, apart: u64, n: u32, further: u64) {
  reg %t, %c, %n, %i: b32
  reg %a, %apart, %at, %further: b64
  reg %p: pred
entry:
  %a = ld.param.u64 [@a]
  %apart = ld.param.u64 [@apart]
  %n = ld.param.u32 [@n]
  %further = ld.param.u64 [@further]
  %t = sreg.u32 tid.x
  %c = sreg.u32 ctaid.x
  %at = cvt.u64.u32 %c
  %at = mad.u64 %at, %apart, %a
  %apart = mulwide.u32 %t, 4
  %at = add.u64 %at, %apart
  %i = mov.u32 0
again:
  st.global.u32 [%at], %t
  %at = add.u64 %at, %further
  %i = add.u32 %i, 1
  %p = setp.lt.u32 %i, %n
  @%p br again
end:
  ret
}
";

/// A tier that has the interpreter execute everything, and asks for a region where compiled code
/// does: at an access outside of the current one.
struct WindowTier {
    /// The first address, the distance between blocks, and the distance between a thread's stores.
    places: [u64; 3],
    windows: Mutex<Vec<(u64, u64)>>,
}

impl Tier for WindowTier {
    fn worker<'w>(&'w self) -> Box<dyn Worker + 'w> {
        Box::new(WindowWorker { of: self, stores: BTreeMap::new(), now: (0, 0), commits: 0 })
    }
}

struct WindowWorker<'w> {
    of: &'w WindowTier,
    /// The number of stores so far, by block.
    stores: BTreeMap<u64, u64>,
    now: (u64, u64),
    commits: u64,
}

impl Worker for WindowWorker<'_> {
    fn visit(&mut self, visit: &mut Visit<'_, '_>) -> Result<(), Declined> {
        for warp in 0..visit.warps() {
            visit.hold(warp);
            visit.set_back_edges_left(vm::BACK_EDGES);
            while let Some(top) = visit.top()
                && visit.back_edges_left() > 0
            {
                let block = &visit.code().blocks[top.block as usize];
                let (steps, ends) = (block.steps.clone(), u64::from(block.end_issues));
                let issues = steps.len() as u64 + ends;
                for step in steps {
                    let stores = matches!(visit.code().steps[step].kind, Kind::Store(_));
                    visit.step(top.block, step, top.lanes)?;
                    if stores {
                        self.stored(visit, step, top.lanes);
                    }
                }
                let lanes = issues * u64::from(top.lanes.count_ones());
                visit.count(&Tally { issues, lanes, ..Tally::default() })?;
                visit.end(top.block)?;
            }
        }
        Ok(())
    }

    fn write_back(&mut self, _: &mut Visit<'_, '_>) {}
}

impl WindowWorker<'_> {
    fn stored(&mut self, visit: &mut Visit<'_, '_>, step: usize, lanes: u32) {
        if visit.commits() != self.commits {
            (self.commits, self.now) = (visit.commits(), (0, 0));
        }
        let stores = self.stores.entry(visit.cta()).or_default();
        let [first, apart, further] = self.of.places;
        let at = first + visit.cta() * apart + *stores * further;
        *stores += 1;
        if at.wrapping_sub(self.now.0) < self.now.1 {
            return;
        }
        if let Some(region) = visit.region(step, lanes) {
            self.now = (region.base, region.len);
            self.of.windows.lock().expect("it is whole").push(self.now);
        }
    }
}

/// Returns the windows given in a launch on a buffer of `bytes` bytes.
fn granted_windows(
    bytes: u64,
    blocks: u32,
    apart: u64,
    times: u32,
    further: u64,
) -> Vec<(u64, u64)> {
    let module = ir::text::parse(isa::FileId::default(), KERNEL).expect("it is right");
    let program = Program::link(module).expect("it links");
    let mut launch = Launch::new(FuncId(0), catalogued(Entry::find("ipdom").expect("it is there")));
    (launch.grid, launch.block) = ([blocks, 1, 1], [32, 1, 1]);
    let buffer = launch.memory.allocate("a", bytes).expect("room");
    let mut params = [buffer.0.to_le_bytes(), apart.to_le_bytes()].concat();
    params.extend(u64::from(times).to_le_bytes());
    params.extend(further.to_le_bytes());
    launch.params = params;
    let state = Engine::<1>.launch(&program, launch).expect("it launches");
    let kernel = fast::prepare(&program, &state, true).expect("it is decoded");
    let tier = WindowTier { places: [buffer.0, apart, further], windows: Mutex::default() };
    let end = fast::run_on(&tier, &kernel, state, Level::Portable, false, &mut |_, _| true);
    let finished = end.expect("it runs");
    for block in 0..u64::from(blocks) {
        let mut word = [0; 4];
        let at = simt::memory::Addr(buffer.0 + block * apart + 4 * 9);
        finished.memory.read_bytes(at, &mut word).expect("it is there");
        assert_eq!(u32::from_le_bytes(word), 9);
    }
    tier.windows.into_inner().expect("it is whole")
}

#[test]
fn scattered_writes_journal_the_written_pages_alone() {
    for blocks in [8, 64] {
        let windows = granted_windows(64 * MIB, blocks, MIB, 1, 0);
        assert_eq!(windows.len(), blocks as usize);
        assert!(windows.iter().all(|l| l.1 == PAGE), "{windows:?}");
    }
    // Columns of a matrix, from blocks with interleaved turns.
    let windows = granted_windows(64 * MIB, 3, 128, 1000, 64 << 10);
    assert!(windows.iter().all(|l| l.1 == PAGE), "{windows:?}");
}

#[test]
fn sequential_writes_get_long_windows() {
    let windows = granted_windows(4 * MIB, 32 * 1024, 128, 1, 0);
    assert!(windows.len() < 100, "{}", windows.len());
    assert!(windows.iter().filter(|l| l.1 == 64 << 10).count() > 50, "{windows:?}");
}

#[test]
fn a_launch_that_writes_every_page_gets_the_region() {
    let windows = granted_windows(8 * MIB, 1024, 2 * PAGE, 1, 0);
    assert_eq!(windows.last().map(|l| l.1), Some(8 * MIB));
    assert_eq!(windows.len(), 8 * 256 / 4 + 1);
}
