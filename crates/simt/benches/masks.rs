//! Speed of lane masks: a warp's, and a group's of 1,024 lanes.

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, criterion_group, criterion_main};
use simt::LaneMask;
use std::hint::black_box;

/// Lanes at irregular distances.
fn some<const N: usize>(seed: usize) -> LaneMask<N> {
    (0..64 * N).filter(|lane| (lane * lane + seed * lane + seed).is_multiple_of(3)).collect()
}

fn width<const N: usize>(group: &mut BenchmarkGroup<'_, WallTime>, name: &str) {
    let (a, b) = (some::<N>(1), some::<N>(5));
    group.bench_function(format!("part/{name}"), |bench| {
        // What a divergent branch does.
        bench.iter(|| {
            let (lanes, taken) = (black_box(a), black_box(b));
            let (taken, stay) = (lanes & taken, lanes & !taken);
            (taken.any(), stay.any(), taken, stay)
        });
    });
    group.bench_function(format!("merge/{name}"), |bench| {
        bench.iter(|| {
            let (mine, theirs) = (black_box(a), black_box(b));
            (mine.is_disjoint(&theirs), mine.is_subset(&theirs), mine | theirs)
        });
    });
    group.bench_function(format!("count/{name}"), |bench| {
        bench.iter(|| (black_box(a).count(), black_box(b).lowest(), black_box(b).highest()));
    });
    group.bench_function(format!("lanes/{name}"), |bench| {
        bench.iter(|| black_box(a).iter().sum::<usize>());
    });
}

fn masks(c: &mut Criterion) {
    let mut group = c.benchmark_group("masks");
    width::<1>(&mut group, "64");
    width::<16>(&mut group, "1024");
    group.finish();
}

criterion_group!(benches, masks);
criterion_main!(benches);
