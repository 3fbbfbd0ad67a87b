//! Guest memory shared by host threads.

use std::sync::Barrier;
use std::thread;

use simt::memory::{Addr, MemoryMap, Width};

const ROUNDS: u64 = if cfg!(miri) { 50 } else { 200_000 };
const THREADS: u64 = 3;
const FLAGS: u64 = if cfg!(miri) { 5 } else { 500 };

/// Runs `work(thread, view)` on each of the threads.
fn on_threads(map: &mut MemoryMap, work: impl Fn(u64, &simt::memory::SharedMemory<'_>) + Sync) {
    let view = map.share();
    let start = Barrier::new(THREADS as usize);
    let (work, start) = (&work, &start);
    thread::scope(|scope| {
        for id in 0..THREADS {
            let view = view.clone();
            scope.spawn(move || {
                start.wait();
                work(id, &view);
            });
        }
    });
}

#[test]
fn atomic_adds_sum_up_at_every_width() {
    let mut map = MemoryMap::new();
    let a = map.allocate("counters", 64).unwrap();
    let at = |offset| Addr(a.0 + offset);
    on_threads(&mut map, |_, view| {
        for _ in 0..ROUNDS {
            // Neighbours in one word, so that they contend with each other too.
            view.atomic(at(0), Width::B1, |v| v + 1).unwrap();
            view.atomic(at(2), Width::B2, |v| v + 1).unwrap();
            view.atomic(at(4), Width::B4, |v| v + 1).unwrap();
            view.atomic(at(8), Width::B8, |v| v + 3).unwrap();
            view.atomic_u128(at(16), |v| v + (1 << 63)).unwrap();
        }
    });
    let total = THREADS * ROUNDS;
    assert_eq!(map.load(at(0), Width::B1), Ok(total & 0xff));
    assert_eq!(map.load(at(1), Width::B1), Ok(0), "a carry stays in its lane of the word");
    assert_eq!(map.load(at(2), Width::B2), Ok(total & 0xffff));
    assert_eq!(map.load(at(4), Width::B4), Ok(total));
    assert_eq!(map.load(at(8), Width::B8), Ok(3 * total));
    assert_eq!(map.load_u128(at(16)), Ok(u128::from(total) << 63));
}

#[test]
fn stores_to_neighbouring_bytes_do_not_disturb_each_other() {
    let mut map = MemoryMap::new();
    let a = map.allocate("bytes", 24).unwrap();
    on_threads(&mut map, |id, view| {
        let mine = Addr(a.0 + id);
        let bulk = Addr(a.0 + 8 + 5 * id);
        for round in 0..5 * ROUNDS {
            view.store(mine, Width::B1, round).unwrap();
            assert_eq!(view.load(mine, Width::B1), Ok(round & 0xff));
            let bytes = [round as u8, id as u8, 3, 4, 5];
            view.write_bytes(bulk, &bytes).unwrap();
            let mut back = [0; 5];
            view.read_bytes(bulk, &mut back).unwrap();
            assert_eq!(back, bytes);
        }
    });
    for id in 0..THREADS {
        assert_eq!(map.load(Addr(a.0 + id), Width::B1), Ok((5 * ROUNDS - 1) & 0xff));
        assert_eq!(map.load(Addr(a.0 + 9 + 5 * id), Width::B1), Ok(id));
    }
}

#[test]
fn racing_accesses_see_whole_values_that_somebody_wrote() {
    let mut map = MemoryMap::new();
    let a = map.allocate("race", 32).unwrap();
    let wide = Addr(a.0 + 16);
    on_threads(&mut map, |id, view| {
        let mine = 0x0101_0101_0101_0101 * (id + 1);
        let valid = |value: u64| (0..=THREADS).any(|t| value == 0x0101_0101_0101_0101 * t);
        for _ in 0..ROUNDS {
            view.store(a, Width::B8, mine).unwrap();
            assert!(valid(view.load(a, Width::B8).unwrap()));
            view.store_u128(wide, u128::from(mine) << 64 | u128::from(mine)).unwrap();
            let seen = view.load_u128(wide).unwrap();
            assert!(valid(seen as u64) && seen as u64 == (seen >> 64) as u64);
        }
    });
}

#[test]
fn fences_order_a_message_and_its_flag() {
    let mut map = MemoryMap::new();
    let message = map.allocate("message", 8).unwrap();
    let flag = map.allocate("flag", 4).unwrap();
    let view = map.share();
    thread::scope(|scope| {
        let reader = view.clone();
        scope.spawn(move || {
            for round in 1..=FLAGS {
                while reader.load(flag, Width::B4).unwrap() != round {
                    thread::yield_now();
                }
                reader.fence();
                assert_eq!(reader.load(message, Width::B8), Ok(round * 10));
                reader.fence();
                reader.store(flag, Width::B4, 0).unwrap();
            }
        });
        for round in 1..=FLAGS {
            while view.load(flag, Width::B4).unwrap() != 0 {
                thread::yield_now();
            }
            view.fence();
            view.store(message, Width::B8, round * 10).unwrap();
            view.fence();
            view.store(flag, Width::B4, round).unwrap();
        }
    });
}

#[test]
fn snapshots_after_sharing_have_what_the_threads_wrote() {
    let mut map = MemoryMap::new();
    let a = map.allocate("a", 1 << 16).unwrap();
    let before = map.snapshot();
    on_threads(&mut map, |id, view| view.store(Addr(a.0 + (id << 14)), Width::B4, id + 1).unwrap());
    let after = map.snapshot();
    assert_eq!(after.pages(), THREADS as usize);
    map.restore(&before).unwrap();
    assert!((0..THREADS).all(|id| map.load(Addr(a.0 + (id << 14)), Width::B4) == Ok(0)));
    map.restore(&after).unwrap();
    assert!((0..THREADS).all(|id| map.load(Addr(a.0 + (id << 14)), Width::B4) == Ok(id + 1)));
}
