//! The race detector reports every racy kernel with both accesses, and no kernel without races.

use checks::race::{Race, Races};
use lab::run::{Job, Variant};
use machines::{ProbedMonitor, Unmonitored};
use simt::observe::AccessKind;

use crate::divergence::common::{bundled, ir};

/// Returns the races of a run, and whether all memory was followed.
fn races(job: &Job, mechanism: &str, warp_size: u64) -> (Vec<Race>, bool) {
    let variant = Variant { limit: Some(1 << 22), ..Variant::of(mechanism, warp_size) };
    let mut probe = Races::default();
    let mut monitor = Unmonitored;
    let mut probed = ProbedMonitor { monitor: &mut monitor, probe: &mut probe };
    job.run_variant(&variant, &mut probed).expect("begins");
    (probe.found(), probe.complete())
}

const TWO_WARPS: &str = "
[buffers]
out = \"u32[64]:zeros\"
[[launch]]
kernel = \"k\"
grid = [1]
block = [64]
args = [\"&out\"]
";

const TWO_BLOCKS: &str = "
[buffers]
out = \"u32[64]:zeros\"
[[launch]]
kernel = \"k\"
grid = [2]
block = [1]
args = [\"&out\"]
";

/// Returns a kernel whose threads have `%tid`, `%block`, `%at` (the start of `out`), `%mine` (their
/// own element) and `%other` (that of the next thread; after 63 comes 0). `%p` holds in thread 0 of
/// a block, `%q` in block 0.
fn kernel(body: &str) -> String {
    format!(
        "
shared @flag size 4 align 4
kernel @k(out: u64 global) {{
  reg %tid, %block, %v, %n: b32
  reg %p, %q: pred
  reg %at, %mine, %other, %wide: b64
entry:
  %tid = sreg.u32 tid.x
  %block = sreg.u32 ctaid.x
  %at = ld.param.u64 [@out]
  %wide = mulwide.u32 %tid, 4
  %mine = add.u64 %at, %wide
  %n = add.u32 %tid, 1
  %n = and.b32 %n, 63
  %wide = mulwide.u32 %n, 4
  %other = add.u64 %at, %wide
  %p = setp.eq.u32 %tid, 0
  %q = setp.eq.u32 %block, 0
{body}
  ret
}}
"
    )
}

fn all(name: &str, body: &str, launch: &str) -> Vec<Vec<Race>> {
    let text = kernel(body);
    let job = ir(name, &text, launch);
    let runs = [("serial", 32), ("ipdom", 32), ("min-pc", 8), ("serial", 64)];
    let run = |(mechanism, width): &(&str, u64)| {
        let (found, complete) = races(&job, mechanism, *width);
        assert!(complete, "{name}");
        found
    };
    runs.iter().map(run).collect()
}

/// Asserts that a race between these two kinds of accesses is reported under every mechanism.
fn racy(name: &str, body: &str, launch: &str, kinds: [AccessKind; 2]) {
    for found in all(name, body, launch) {
        let race = found.first().unwrap_or_else(|| panic!("{name}: no race found"));
        let mut got = [race.first.kind, race.second.kind];
        let mut want = kinds;
        got.sort_by_key(|k| *k as u8);
        want.sort_by_key(|k| *k as u8);
        assert_eq!(got, want, "{name}");
        assert_ne!(race.first.thread, race.second.thread, "{name}");
        assert!(race.first.place.line.is_some() && race.second.place.line.is_some(), "{name}");
    }
}

fn free(name: &str, body: &str, launch: &str) {
    for found in all(name, body, launch) {
        assert!(found.is_empty(), "{name}: {found:?}");
    }
}

use AccessKind::{Atomic, Load, Store};

#[test]
fn a_barrier_ends_the_race_with_a_neighbour() {
    let body = |between: &str| {
        format!("  st.global.u32 [%mine], %tid\n{between}\n  %v = ld.global.u32 [%other]")
    };
    racy("neighbour", &body(""), TWO_WARPS, [Store, Load]);
    free("neighbour_bar", &body("  bar.sync 0"), TWO_WARPS);
    // A barrier of the warp does not order different warps.
    racy("neighbour_warp", &body("  warpsync 0xffffffff"), TWO_WARPS, [Store, Load]);
    // A fence alone orders nothing.
    racy("neighbour_fence", &body("  fence.acq_rel.gpu"), TWO_WARPS, [Store, Load]);
}

#[test]
fn a_barrier_of_the_warp_orders_its_lanes() {
    let one_warp = TWO_WARPS.replace("block = [64]", "block = [32]");
    let body = |between: &str| {
        format!(
            "  st.global.u32 [%mine], %tid\n{between}\n  %n = xor.b32 %tid, 1\n  %wide = mulwide.u32 %n, 4
  %other = add.u64 %at, %wide\n  %v = ld.global.u32 [%other]"
        )
    };
    free("pair_warp", &body("  warpsync 0xffffffff"), &one_warp);
    racy("pair", &body(""), &one_warp, [Store, Load]);
    // A vote is not a memory barrier.
    let vote = "  %q = vote.all %p, 0xffffffff";
    racy("pair_vote", &body(vote), &one_warp, [Store, Load]);
}

#[test]
fn stores_to_one_place_race_and_atomics_do_not() {
    racy("one_place", "  st.global.u32 [%at], %tid", TWO_WARPS, [Store, Store]);
    free("atomics", "  atom.add.relaxed.gpu.global.u32 [%at], 1", TWO_WARPS);
    let mixed = "  atom.add.relaxed.gpu.global.u32 [%at], 1\n  @%p st.global.u32 [%at], 7";
    racy("mixed", mixed, TWO_WARPS, [Atomic, Store]);
    // Adjacent bytes are different locations.
    free("own", "  st.global.u32 [%mine], %tid\n  %v = ld.global.u32 [%mine]", TWO_WARPS);
}

#[test]
fn scopes_have_to_include_both_threads() {
    let body = |scope: &str| format!("  atom.add.relaxed.{scope}.global.u32 [%at], 1");
    free("gpu_scope", &body("gpu"), TWO_BLOCKS);
    racy("cta_scope", &body("cta"), TWO_BLOCKS, [Atomic, Atomic]);
    free("cta_scope_inside", &body("cta"), TWO_WARPS);
}

/// Block 0 writes data and raises a flag; block 1 waits for the flag and reads the data.
fn message(store: &str, load: &str) -> String {
    format!(
        "  @%q br produce
wait:
{load}
  %p = setp.eq.u32 %v, 0
  @%p br wait
take:
  %v = ld.global.u32 [%at+4]
  br done
produce:
  %v = mov.u32 1
  st.global.u32 [%at+4], 5
{store}
  br done
done:
"
    )
}

#[test]
fn messages_need_release_and_acquire() {
    let plain = message("  st.global.u32 [%at], %v", "  %v = ld.volatile.global.u32 [%at]");
    racy("message_weak", &plain, TWO_BLOCKS, [Store, Load]);
    let relaxed =
        message("  st.relaxed.gpu.global.u32 [%at], %v", "  %v = ld.relaxed.gpu.global.u32 [%at]");
    racy("message_relaxed", &relaxed, TWO_BLOCKS, [Store, Load]);
    let ordered =
        message("  st.release.gpu.global.u32 [%at], %v", "  %v = ld.acquire.gpu.global.u32 [%at]");
    free("message_ordered", &ordered, TWO_BLOCKS);
    let narrow =
        message("  st.release.cta.global.u32 [%at], %v", "  %v = ld.acquire.gpu.global.u32 [%at]");
    racy("message_narrow", &narrow, TWO_BLOCKS, [Store, Load]);
    let fences = message(
        "  fence.acq_rel.gpu\n  st.relaxed.gpu.global.u32 [%at], %v",
        "  %v = ld.relaxed.gpu.global.u32 [%at]\n  fence.acq_rel.gpu",
    );
    free("message_fences", &fences, TWO_BLOCKS);
    // A fence of the block before it takes nothing from the fence of the device.
    let both = message(
        "  fence.acq_rel.gpu\n  st.relaxed.gpu.global.u32 [%at], %v",
        "  %v = ld.relaxed.gpu.global.u32 [%at]\n  fence.acq_rel.cta\n  fence.acq_rel.gpu",
    );
    free("message_two_fences", &both, TWO_BLOCKS);
    let block_alone = message(
        "  fence.acq_rel.gpu\n  st.relaxed.gpu.global.u32 [%at], %v",
        "  %v = ld.relaxed.gpu.global.u32 [%at]\n  fence.acq_rel.cta",
    );
    racy("message_block_fence", &block_alone, TWO_BLOCKS, [Store, Load]);
    let half = message(
        "  fence.acq_rel.gpu\n  st.relaxed.gpu.global.u32 [%at], %v",
        "  %v = ld.relaxed.gpu.global.u32 [%at]",
    );
    racy("message_half", &half, TWO_BLOCKS, [Store, Load]);
}

#[test]
fn bundled_kernels_that_synchronise_do_not_race() {
    for path in ["reduce", "scan", "bitonic_sort", "sgemm_tiled", "transpose", "match_any"] {
        let (found, _) = races(&bundled(&format!("{path}/launch.toml")), "ipdom", 32);
        assert!(found.is_empty(), "{path}: {found:?}");
    }
}
