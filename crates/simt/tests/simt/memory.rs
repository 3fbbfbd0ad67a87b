//! Guest memory, case by case: addresses, error texts, limits, quarantine, host ranges, snapshots.
#![allow(unsafe_code, reason = "host ranges are registered from raw pointers")]

use std::ptr::NonNull;
use std::sync::Arc;

use simt::memory::{
    ALLOCATION_ALIGN, AccessError, AccessKind, Accessing, Addr, Backing, Block, BlockInfo,
    CONST_HEAP, GLOBAL_HEAP, HostRange, MapError, MemoryMap, PAGE_BYTES, Permission, Position,
    RED_ZONE, Region, Request, SHARED_WINDOW, Sharing, Space, Symbol, Violation, Width,
};

const KIB: u64 = 1024;

/// A map with `x` and `y` of 1 KiB each.
fn two_buffers() -> (MemoryMap, Addr, Addr) {
    let mut map = MemoryMap::new();
    let x = map.allocate("x", KIB).unwrap();
    let y = map.allocate("y", KIB).unwrap();
    (map, x, y)
}

fn load_error(map: &MemoryMap, addr: u64) -> Box<AccessError> {
    map.load(Addr(addr), Width::B4).unwrap_err()
}

#[test]
fn addresses_are_deterministic_aligned_and_apart() {
    let (mut map, x, y) = two_buffers();
    assert_eq!((x, y), (Addr(0x7_0000_0000), Addr(0x7_0000_0500)));
    let empty = map.allocate("empty", 0).unwrap();
    let aligned = map.allocate_with(Request::global("aligned", 1).align(1 << 20)).unwrap();
    assert_eq!((empty, aligned), (Addr(0x7_0000_0a00), Addr(0x7_0010_0000)));
    let big = map.allocate("big", 1 << 20).unwrap();
    let after_big = map.allocate("after big", 1).unwrap();
    assert_eq!(
        after_big.0 - big.0,
        (1 << 20) + (1 << 16),
        "a sixteenth of a long allocation is its red zone"
    );
    let constant = map.allocate_with(Request::constant("c", 64)).unwrap();
    assert_eq!(constant, Addr(CONST_HEAP.start));
    assert_eq!(map.region_at(constant).unwrap().space(), Space::Const);

    let bases: Vec<_> = map.regions().iter().map(Region::base).collect();
    assert!(bases.iter().all(|b| b.is_aligned(ALLOCATION_ALIGN)));
    assert!(map.regions().windows(2).all(|p| p[1].base().0 - p[0].end().0 >= RED_ZONE));
    let ids: Vec<_> = map.regions().iter().map(|r| (&**r.name(), r.id().number())).collect();
    assert_eq!(
        ids,
        [("c", 6), ("x", 0), ("y", 1), ("empty", 2), ("aligned", 3), ("big", 4), ("after big", 5)]
    );
}

#[test]
fn each_violation_has_its_kind_and_words() {
    let (mut map, x, y) = two_buffers();
    let c = map.allocate_with(Request::constant("c", 10)).unwrap();
    map.free(x).unwrap();
    let store = |map: &mut MemoryMap, addr| map.store(Addr(addr), Width::B4, 0).unwrap_err();
    let cases: [(Box<AccessError>, Violation, &str); 14] = [
        (
            store(&mut map, y.0 + 0x404),
            Violation::OutOfBounds,
            r#"4-byte store at 0x700000904 is 4 bytes past the end of "y" (1024 bytes at 0x700000500)"#,
        ),
        (
            load_error(&map, y.0 + 0x400),
            Violation::OutOfBounds,
            r#"4-byte load at 0x700000900 is right past the end of "y" (1024 bytes at 0x700000500)"#,
        ),
        (
            load_error(&map, y.0 - 4),
            Violation::OutOfBounds,
            r#"4-byte load at 0x7000004fc is 4 bytes before the start of "y" (1024 bytes at 0x700000500)"#,
        ),
        (
            load_error(&map, c.0 + 8),
            Violation::OutOfBounds,
            r#"4-byte load at 0x400000008 is at byte 8 of "c" (10 bytes at 0x400000000) and reaches 2 bytes past its end"#,
        ),
        (
            load_error(&map, y.0 + 2),
            Violation::Misaligned,
            r#"4-byte load at 0x700000502 is misaligned: it needs a multiple of 4; it is at byte 2 of "y" (1024 bytes at 0x700000500)"#,
        ),
        (
            load_error(&map, x.0 + 16),
            Violation::Freed,
            r#"4-byte load at 0x700000010 is a use after free: it is at byte 16 of "x" (1024 bytes at 0x700000000, freed)"#,
        ),
        (
            map.atomic(c, Width::B4, |_| unreachable!()).unwrap_err(),
            Violation::ReadOnly,
            r#"4-byte atomic at 0x400000000 writes read-only memory: it is at byte 0 of "c" (10 bytes at 0x400000000)"#,
        ),
        (load_error(&map, 0), Violation::Null, "4-byte load at 0x0 dereferences a null pointer"),
        (
            load_error(&map, 17),
            Violation::Null,
            "4-byte load at 0x11 dereferences a null pointer plus 17",
        ),
        (
            load_error(&map, 0x10000),
            Violation::NotMapped,
            r#"4-byte load at 0x10000 is not in any allocation; it is 17179803648 bytes before the start of "c" (10 bytes at 0x400000000)"#,
        ),
        (
            load_error(&map, u64::MAX - 3),
            Violation::NotMapped,
            r#"4-byte load at 0xfffffffffffffffc is not in any allocation; it is 18446744043644778236 bytes past the end of "y" (1024 bytes at 0x700000500)"#,
        ),
        (
            load_error(&map, SHARED_WINDOW.start + 8),
            Violation::WrongSpace,
            "4-byte load at 0x100000008 is in the shared window, not in global or constant memory",
        ),
        (
            map.read_bytes(Addr(y.0 - 1), &mut [0; 3]).unwrap_err(),
            Violation::OutOfBounds,
            r#"3-byte load at 0x7000004ff is 1 byte before the start of "y" (1024 bytes at 0x700000500)"#,
        ),
        (
            load_error(&MemoryMap::new(), 0x5_0000_0000),
            Violation::NotMapped,
            "4-byte load at 0x500000000 is not in any allocation",
        ),
    ];
    for (error, violation, text) in cases {
        assert_eq!((error.violation, error.to_string().as_str()), (violation, text));
    }
}

#[test]
fn errors_carry_the_nearest_allocation() {
    let (map, x, y) = two_buffers();
    let nearest = |addr: u64| load_error(&map, addr).nearest.unwrap();
    assert_eq!(nearest(x.0 + KIB + 4).position, Position::Past(4));
    assert_eq!((&*nearest(x.0 + KIB + 4).name, &*nearest(y.0 - 4).name), ("x", "y"));
    assert_eq!(nearest(y.0 - 4).position, Position::Before(4));
    assert_eq!(nearest(y.0 + 1).position, Position::At(1));
}

#[test]
fn block_errors_name_the_variable() {
    let mut block = Block::zeroed(0x440).unwrap();
    let symbols = [
        Symbol { name: "tile".into(), offset: 0x40, len: 0x400 },
        Symbol { name: "flag".into(), offset: 0, len: 4 },
    ];
    let violation = block.store(0x444, Width::B4, 1).unwrap_err();
    let info = BlockInfo { space: Space::Shared, len: block.len(), symbols: &symbols };
    assert_eq!(
        info.error(violation, AccessKind::Store, 0x444, 4, 4).to_string(),
        r#"4-byte store at shared address 0x444 is 4 bytes past the end of "tile" (1024 bytes at shared address 0x40)"#
    );
    let info = BlockInfo { space: Space::Local, symbols: &[], ..info };
    assert_eq!(
        info.error(violation, AccessKind::Load, 0x440, 4, 4).to_string(),
        r#"4-byte load at local address 0x440 is right past the end of "local memory" (1088 bytes at local address 0x0)"#
    );
}

#[test]
fn constants_are_written_by_the_host_only() {
    let mut map = MemoryMap::new();
    let c = map.allocate_with(Request::constant("c", 8)).unwrap();
    assert_eq!(map.write_bytes(c, &[1]).unwrap_err().violation, Violation::ReadOnly);
    assert_eq!(map.fill(c, 8, 1).unwrap_err().violation, Violation::ReadOnly);
    map.host_write(c, &[1, 2, 3, 4]).unwrap();
    assert_eq!(map.load(c, Width::B4), Ok(0x0403_0201));
    let error = map.host_write(c, &[0; 9]).unwrap_err();
    assert_eq!((error.violation, error.access), (Violation::OutOfBounds, AccessKind::Store));
    assert_eq!(map.check(AccessKind::Store, c, 4, 4).unwrap_err().violation, Violation::ReadOnly);
    map.set_permission(c, Permission::ReadWrite).unwrap();
    map.store(c, Width::B1, 9).unwrap();
    assert_eq!(map.load(c, Width::B2), Ok(0x0209));
}

#[test]
fn vector_checks_ask_for_their_alignment() {
    let (map, x, _) = two_buffers();
    assert_eq!(map.check(AccessKind::Load, Addr(x.0 + 16), 16, 16), Ok(()));
    let error = map.check(AccessKind::Load, Addr(x.0 + 8), 16, 16).unwrap_err();
    assert_eq!((error.violation, error.align), (Violation::Misaligned, 16));
    assert_eq!(map.check(AccessKind::Load, Addr(x.0 + KIB), 0, 1), Ok(()));
    assert!(map.check(AccessKind::Load, Addr(x.0 + KIB - 8), 12, 4).is_err());
}

#[test]
fn copies_may_overlap() {
    let mut map = MemoryMap::new();
    let len = 3 * PAGE_BYTES + 100;
    let a = map.allocate("a", len).unwrap();
    let bytes: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
    for (to, from, count) in
        [(7, 0, 2 * PAGE_BYTES + 1), (0, 9, 2 * PAGE_BYTES + 50), (5, 5, 10), (1, 0, 0)]
    {
        map.write_bytes(a, &bytes).unwrap();
        map.copy(Addr(a.0 + to), Addr(a.0 + from), count).unwrap();
        let mut expected = bytes.clone();
        expected.copy_within(from as usize..(from + count) as usize, to as usize);
        let mut found = vec![0; len as usize];
        map.read_bytes(a, &mut found).unwrap();
        assert!(found == expected, "copy of {count} bytes from {from} to {to}");
    }
    let before = map.snapshot();
    assert!(map.copy(Addr(a.0 + 1), a, len).is_err() && map.copy(a, Addr(a.0 + 1), len).is_err());
    assert_eq!(map.snapshot(), before);
}

#[test]
fn freeing_is_checked() {
    let (mut map, x, y) = two_buffers();
    map.free(x).unwrap();
    assert_eq!(map.mapped(), KIB);
    assert_eq!(map.region_at(x).unwrap().backing(), Backing::Freed);
    let text = |map: &mut MemoryMap, addr| map.free(addr).unwrap_err().to_string();
    assert_eq!(text(&mut map, x), r#""x" at 0x700000000 has been freed already"#);
    assert_eq!(
        text(&mut map, Addr(y.0 + 4)),
        r#"no allocation starts at 0x700000504: it is inside "y""#
    );
    assert_eq!(text(&mut map, Addr::NULL), "no allocation starts at 0x0");
}

#[test]
fn freed_addresses_are_remembered_and_not_reused() {
    let mut map = MemoryMap::new();
    let first = map.allocate("first", 4).unwrap();
    map.free(first).unwrap();
    let mut previous = first;
    for _ in 0..40_000 {
        let next = map.allocate("next", 4).unwrap();
        assert!(next > previous);
        map.free(next).unwrap();
        previous = next;
    }
    assert_eq!(load_error(&map, previous.0).violation, Violation::Freed);
    assert_eq!(load_error(&map, previous.0 - 16_000 * 512).violation, Violation::Freed);
    assert!(map.regions().len() <= 2 * 16_384, "the memory of frees is bounded");
    assert_eq!(load_error(&map, first.0).violation, Violation::NotMapped);
}

#[test]
fn a_used_up_heap_starts_again_around_what_is_live() {
    let mut map = MemoryMap::new();
    // The constant heap has 12 addresses that are multiples of 2^30.
    let sparse = || Request::constant("sparse", 4).align(1 << 30);
    let slots: Vec<_> = (0..12).map(|_| map.allocate_with(sparse()).unwrap()).collect();
    assert!(slots.windows(2).all(|p| p[1].0 - p[0].0 == 1 << 30) && slots[0].0 == CONST_HEAP.start);
    let full = map.allocate_with(sparse()).unwrap_err();
    assert_eq!(
        full.to_string(),
        r#"cannot allocate 4 bytes for "sparse": no gap in the const address range is long enough"#
    );
    assert_eq!(map.mapped(), 48, "a refused allocation is not counted");
    map.free(slots[3]).unwrap();
    map.free(slots[7]).unwrap();
    let again: Vec<_> = (0..2).map(|_| map.allocate_with(sparse()).unwrap()).collect();
    assert_eq!(again, [slots[3], slots[7]]);
    assert!(map.allocate_with(sparse()).is_err());
    // Between them there is room, and the global heap is another one.
    assert_eq!(map.allocate_with(Request::constant("dense", 4)), Ok(Addr(slots[7].0 + 512)));
    assert_eq!(map.allocate("global", 4), Ok(Addr(GLOBAL_HEAP.start)));
}

#[test]
fn memory_of_other_devices_is_named_with_the_way_out() {
    let mut map = MemoryMap::new();
    map.set_device(2);
    let x = map.allocate("x", 64).unwrap();
    let y = map.allocate("y", 64).unwrap();
    map.set_sharing(y, Sharing::Devices(0b100)).unwrap();
    map.set_accessing(Some(Accessing { device: 1, peers: 0b1 }));
    let text = |addr| load_error(&map, addr).to_string();
    assert_eq!(
        text(x.0 + 8),
        r#"4-byte load at 0x700000008 is in memory of device 2, which device 1 may not access: it is at byte 8 of "x" (64 bytes at 0x700000000); device 1 has to enable peer access to device 2"#
    );
    assert_eq!(
        text(y.0),
        r#"4-byte load at 0x700000200 is in memory of device 2, which device 1 may not access: it is at byte 0 of "y" (64 bytes at 0x700000200); device 1 needs access to the pool or the mapping"#
    );
}

#[test]
fn limits_are_typed_errors() {
    let mut map = MemoryMap::with_limit(10_000);
    map.allocate("a", 6_000).unwrap();
    let error = map.allocate("b", 6_000).unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"cannot allocate 6000 bytes for "b": 6000 of at most 10000 bytes of guest memory are in use"#
    );
    assert!(matches!(map.allocate("c", u64::MAX), Err(MapError::Limit { .. })));
    map.allocate("d", 4_000).unwrap();
    assert_eq!((map.mapped(), map.limit()), (10_000, 10_000));

    // Each device has as much.
    map.set_device(1);
    map.allocate("e", 10_000).unwrap();
    assert!(matches!(map.allocate("f", 1), Err(MapError::Limit { mapped: 10_000, .. })));
    assert_eq!([0, 1, 2, 99].map(|device| map.mapped_of(device)), [10_000, 10_000, 0, 0]);

    let mut map = MemoryMap::with_limit(u64::MAX);
    for len in [u64::MAX, u64::MAX - 6, 1 << 63, i64::MAX as u64] {
        let error = map.allocate("endless", len).unwrap_err();
        assert!(matches!(error, MapError::Host { .. }), "{error}");
    }
    for align in [0, 3, 1 << 31] {
        let error = map.allocate_with(Request::global("odd", 4).align(align)).unwrap_err();
        assert_eq!(error, MapError::Alignment { name: "odd".into(), align });
    }
    assert_eq!((map.mapped(), map.regions().len()), (0, 0));
}

#[test]
fn fixed_addresses() {
    let mut map = MemoryMap::new();
    map.map_at("text", Addr(0x8000_0000), 0x1000, Permission::ReadOnly).unwrap();
    map.map_at("data", Addr(0x8000_1000), 0x1000, Permission::ReadWrite).unwrap();
    map.map_at("zero page", Addr(0), 16, Permission::ReadWrite).unwrap();
    map.map_at("top", Addr(u64::MAX - 31), 16, Permission::ReadWrite).unwrap();
    map.store(Addr(0), Width::B8, 5).unwrap();
    map.store(Addr(u64::MAX - 23), Width::B8, 5).unwrap();
    // Neighbours do not join: an access reaches one region.
    assert_eq!(
        map.read_bytes(Addr(0x8000_0ffe), &mut [0; 4]).unwrap_err().violation,
        Violation::OutOfBounds
    );
    map.map_at("in the heap", Addr(GLOBAL_HEAP.start), 16, Permission::ReadWrite).unwrap();
    assert_eq!(map.allocate("behind", 16), Ok(Addr(GLOBAL_HEAP.start + 512)));

    let refuse = |map: &mut MemoryMap, addr, len| {
        map.map_at("m", Addr(addr), len, Permission::ReadWrite).unwrap_err()
    };
    let text = |map: &mut MemoryMap, addr, len| refuse(map, addr, len).to_string();
    assert_eq!(
        text(&mut map, 0x8000_0ff0, 32),
        r#"cannot map "m" (32 bytes at 0x80000ff0): the range meets "text" (4096 bytes at 0x80000000)"#
    );
    assert_eq!(
        text(&mut map, 0xffff_fff0, 32),
        r#"cannot map "m" (32 bytes at 0xfffffff0): the range meets the shared window"#
    );
    assert_eq!(
        text(&mut map, 0xffff_ffff_ffff_fff0, 32),
        r#"cannot map "m" (32 bytes at 0xfffffffffffffff0): the range meets the end of the address space"#
    );
    assert!(matches!(refuse(&mut map, 8, 8), MapError::Alignment { align: 16, .. }));
    map.free(Addr(0x8000_1000)).unwrap();
    map.map_at("data again", Addr(0x8000_1000), 0x2000, Permission::ReadWrite).unwrap();
    assert_eq!(map.load(Addr(0x8000_2ffc), Width::B4), Ok(0));
}

#[test]
fn snapshots_share_what_was_not_written() {
    let mut map = MemoryMap::new();
    let a = map.allocate("a", 100 * PAGE_BYTES).unwrap();
    let b = map.allocate("b", 10 * PAGE_BYTES).unwrap();
    let empty = map.snapshot();
    assert_eq!(empty.pages(), 0, "pages of zeros are not stored");

    map.fill(a, 100 * PAGE_BYTES, 7).unwrap();
    map.store(b, Width::B1, 1).unwrap();
    let first = map.snapshot();
    assert_eq!(first.pages(), 101);
    assert_eq!(map.snapshot().pages_shared_with(&first), 101, "nothing written: everything shared");

    map.store(Addr(a.0 + 5 * PAGE_BYTES), Width::B4, 1).unwrap();
    map.store_u128(Addr(a.0 + 6 * PAGE_BYTES - 16), 1).unwrap();
    map.atomic(Addr(a.0 + 9 * PAGE_BYTES), Width::B8, |v| v + 1).unwrap();
    map.write_bytes(Addr(a.0 + 20 * PAGE_BYTES - 1), &[1, 2]).unwrap();
    // Written with what was there: compared, found equal, and shared.
    map.store(Addr(a.0 + 50 * PAGE_BYTES), Width::B1, 7).unwrap();
    let second = map.snapshot();
    assert_eq!(second.pages_shared_with(&first), 97, "four pages differ: 5, 9, 19, 20");
    assert_ne!(first, second);

    map.restore(&first).unwrap();
    assert_eq!(
        map.snapshot().pages_shared_with(&first),
        101,
        "restoring copies no page into new memory"
    );
    assert_eq!(map.snapshot(), first);
    map.restore(&empty).unwrap();
    assert_eq!(map.load(a, Width::B8), Ok(0));
    map.restore(&second).unwrap();
    assert_eq!(map.load(Addr(a.0 + 5 * PAGE_BYTES), Width::B8), Ok(0x0707_0707_0000_0001));
    assert_eq!(map.snapshot(), second);
}

#[test]
fn restoring_brings_regions_back_and_repeats_addresses() {
    let (mut map, x, y) = two_buffers();
    map.store(x, Width::B4, 11).unwrap();
    let start = map.snapshot();
    map.free(x).unwrap();
    map.set_permission(y, Permission::ReadOnly).unwrap();
    let z = map.allocate("z", 4).unwrap();
    map.store(z, Width::B4, 3).unwrap();
    let later = map.snapshot();

    map.restore(&start).unwrap();
    assert_eq!((map.load(x, Width::B4), map.mapped()), (Ok(11), 2 * KIB));
    map.store(y, Width::B4, 1).unwrap();
    assert!(map.load(z, Width::B4).is_err());
    assert_eq!(
        map.allocate("other", 8),
        Ok(z),
        "the same allocations have the same addresses again"
    );
    assert_eq!(map.load(z, Width::B8), Ok(0));

    map.restore(&later).unwrap();
    assert_eq!(load_error(&map, x.0).violation, Violation::Freed);
    assert_eq!(map.load(z, Width::B4), Ok(3));
    assert_eq!(map.load(y, Width::B4), Ok(0));
    assert_eq!(map.store(y, Width::B4, 0).unwrap_err().violation, Violation::ReadOnly);
    assert_eq!(map.snapshot(), later);
}

#[test]
fn clones_are_independent_and_share_snapshots() {
    let (mut map, x, y) = two_buffers();
    map.store(x, Width::B4, 1).unwrap();
    let start = map.snapshot();
    map.store(y, Width::B4, 2).unwrap();
    let mut copy = map.clone();
    map.store(x, Width::B4, 10).unwrap();
    copy.store(y, Width::B4, 20).unwrap();
    assert_eq!((map.load(x, Width::B4), map.load(y, Width::B4)), (Ok(10), Ok(2)));
    assert_eq!((copy.load(x, Width::B4), copy.load(y, Width::B4)), (Ok(1), Ok(20)));
    copy.restore(&start).unwrap();
    map.restore(&start).unwrap();
    assert_eq!(copy.snapshot(), map.snapshot());
    assert_eq!(copy.allocate("z", 1), map.allocate("z", 1));
}

/// The address of host ranges in these tests.
const SHOWN: Addr = Addr(0x10_0000);

/// Makes a region show these words. They must outlive the map, and be used through this pointer
/// alone before it is dropped, while no function of the map runs.
fn show(map: &mut MemoryMap, owner: NonNull<[u64]>, permission: Permission) -> Addr {
    // SAFETY: what this function asks of its callers.
    let range = unsafe { HostRange::new(owner.cast(), 8 * owner.len()) };
    map.map_at("host", SHOWN, range.len() as u64, permission).unwrap();
    map.use_host(SHOWN, range).unwrap();
    SHOWN
}

/// Words whose bytes count from 0.
fn counting(words: u64) -> Vec<u64> {
    (0..words).map(|w| (0..8).fold(0, |word, b| word | (8 * w + b) << (8 * b))).collect()
}

#[test]
fn host_ranges_are_checked_as_other_regions_are() {
    let mut owner = counting(6);
    {
        let mut map = MemoryMap::new();
        let h = show(&mut map, NonNull::from(&mut owner[..]), Permission::ReadWrite);
        assert_eq!(map.mapped(), 48);
        assert_eq!(map.region_at(h).unwrap().backing(), Backing::Host);
        let at = |offset: u64| Addr(h.0 + offset);
        assert_eq!(map.load(at(4), Width::B4), Ok(0x0706_0504));
        assert_eq!(map.load(at(47), Width::B1), Ok(47));
        assert_eq!(map.load(at(48), Width::B1).unwrap_err().violation, Violation::OutOfBounds);
        assert_eq!(map.load(at(2), Width::B4).unwrap_err().violation, Violation::Misaligned);
        assert_eq!(map.load_u128(at(16)), Ok(0x1f1e_1d1c_1b1a_1918_1716_1514_1312_1110));
        map.store(at(0), Width::B2, 0xabcd).unwrap();
        assert_eq!(map.atomic(at(8), Width::B4, |v| v + 1), Ok(0x0b0a_0908));
        map.store_u128(at(16), 1).unwrap();
        assert_eq!(map.atomic_u128(at(16), |v| v + 1), Ok(1));
        map.write_bytes(at(33), &[1, 2, 3]).unwrap();
        map.fill(at(40), 8, 9).unwrap();
        map.copy(at(36), at(34), 3).unwrap();
        let mut tail = [0; 12];
        map.read_bytes(at(33), &mut tail).unwrap();
        assert_eq!(tail, [1, 2, 3, 2, 3, 36, 39, 9, 9, 9, 9, 9]);
        let view = map.share();
        view.store(at(2), Width::B1, 5).unwrap();
        view.atomic(at(2), Width::B1, |v| v * 2).unwrap();
        view.store_u128(at(16), 3).unwrap();
        assert_eq!(view.atomic_u128(at(16), |v| v << 1), Ok(3));
        view.write_bytes(at(3), &[77]).unwrap();
        view.fill(at(4), 2, 66).unwrap();
        assert_eq!(view.load(at(0), Width::B8), Ok(0x0706_4242_4d0a_abcd));
        assert_eq!(view.load_u128(at(16)), Ok(6));
        map.free(h).unwrap();
        assert_eq!(map.load(h, Width::B1).unwrap_err().violation, Violation::Freed);
    }
    let bytes: Vec<u8> = owner.iter().flat_map(|word| word.to_le_bytes()).collect();
    assert_eq!(bytes[..10], [0xcd, 0xab, 10, 77, 66, 66, 6, 7, 9, 9]);
    assert_eq!((bytes[16], bytes[17], bytes[44]), (6, 0, 9));
}

#[test]
fn host_ranges_in_snapshots_and_clones() {
    let mut owner = vec![0; 2 * PAGE_BYTES as usize / 8 + 1];
    {
        let host = NonNull::from(&mut owner[..]);
        let mut map = MemoryMap::new();
        let h = show(&mut map, host, Permission::ReadOnly);
        let first = host.cast::<u64>();
        let end = Addr(h.0 + 2 * PAGE_BYTES + 4);
        let zero = map.snapshot();
        map.host_write(end, &[4]).unwrap();
        let four = map.snapshot();
        assert_eq!((zero.pages(), four.pages(), map.snapshot() == four), (0, 1, true));

        let mut copy = map.clone();
        assert_eq!(copy.region_at(h).unwrap().backing(), Backing::Owned);
        copy.host_write(end, &[5]).unwrap();
        assert_eq!(map.load(end, Width::B1), Ok(4), "a clone has bytes of its own");
        copy.restore(&four).unwrap();
        assert_eq!(copy.load(end, Width::B1), Ok(4));

        // The host writes where nobody marks pages.
        // SAFETY: no function of the map runs, and the word is the first one of `owner`.
        unsafe { first.write(6) };
        let six = map.snapshot();
        assert_eq!((six.pages(), six == four), (2, false));
        // SAFETY: as above.
        unsafe { first.write(8) };
        assert_eq!(map.clone().load(h, Width::B8), Ok(8));
        map.restore(&six).unwrap();
        assert_eq!(map.load(h, Width::B8), Ok(6));
        map.restore(&zero).unwrap();
        assert_eq!((map.load(h, Width::B8), map.load(end, Width::B1)), (Ok(0), Ok(0)));
        map.restore(&four).unwrap();
        assert_eq!((map.load(end, Width::B1), map.snapshot() == four), (Ok(4), true));
        map.free(h).unwrap();
        let freed = map.snapshot();
        assert_eq!(map.restore(&four), Err(MapError::HostRangeGone { name: "host".into() }));
        assert_eq!(map.snapshot(), freed, "a failed restore changes nothing");
    }
    assert_eq!((owner[0], owner[owner.len() - 1]), (0, 4 << 32));
}

#[test]
fn bytes_of_the_map_are_not_restored_to_the_host() {
    let mut owner = vec![7_u64; 4];
    {
        let mut map = MemoryMap::new();
        map.map_at("host", SHOWN, 32, Permission::ReadWrite).unwrap();
        map.store(SHOWN, Width::B8, 1).unwrap();
        let one = map.snapshot();
        map.free(SHOWN).unwrap();
        map.restore(&one).unwrap();
        let start = NonNull::from(&mut owner[..]).cast();
        // SAFETY: `owner` outlives the map and is not used before the map is dropped.
        map.use_host(SHOWN, unsafe { HostRange::new(start, 32) }).unwrap();
        assert_eq!(map.load(SHOWN, Width::B8), Ok(7));
        map.restore(&one).unwrap();
        assert_eq!(map.load(SHOWN, Width::B8), Ok(1));
        assert_eq!(map.region_at(SHOWN).unwrap().backing(), Backing::Owned);
    }
    assert_eq!(owner, [7; 4]);
}

/// Engines borrow host ranges as they borrow other regions, and take writes to them back.
#[test]
fn host_ranges_are_lent_to_engines() {
    let mut owner = vec![3_u64; 1024];
    {
        let mut map = MemoryMap::new();
        let h = show(&mut map, NonNull::from(&mut owner[..]), Permission::ReadWrite);
        let mut direct = map.direct().unwrap();
        let place = direct.place(0, h.0 + 8, 8, true).unwrap();
        assert_eq!(direct.bytes(place), 3_u64.to_le_bytes());
        direct.bytes_mut(place).fill(4);
        direct.undo();
        drop(direct);
        assert_eq!(map.load(Addr(h.0 + 8), Width::B8), Ok(3));
        let mut direct = map.direct().unwrap();
        let place = direct.place(0, h.0 + 8, 8, true).unwrap();
        direct.bytes_mut(place).copy_from_slice(&5_u64.to_le_bytes());
    }
    assert_eq!((owner[0], owner[1], owner[2]), (3, 5, 3));
}

#[test]
fn names_are_shared_not_copied() {
    let mut map = MemoryMap::new();
    let name: Arc<str> = "x".into();
    let addr =
        map.allocate_with(Request { name: Arc::clone(&name), ..Request::global("", 4) }).unwrap();
    assert!(Arc::ptr_eq(map.region_at(addr).unwrap().name(), &name));
}

#[test]
fn updates_meet_those_of_threads_of_the_host() {
    use std::sync::atomic::Ordering::Relaxed;
    use std::sync::atomic::{AtomicBool, AtomicU64};
    let owner = [AtomicU64::new(0), AtomicU64::new(0)];
    let start = NonNull::from(&owner).cast();
    let mut map = MemoryMap::new();
    let at = Addr(0x10_0000);
    map.map_at("host", at, 16, Permission::ReadWrite).unwrap();
    // SAFETY: `owner` outlives the map, and threads access it by atomics alone.
    map.use_host(at, unsafe { HostRange::new(start, 16) }).unwrap();
    let times: u64 = if cfg!(miri) { 100 } else { 1_000_000 };
    let (rounds, is_done) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Relaxed) {
                owner[0].fetch_add(1 << 32 | 3, Relaxed);
                owner[1].fetch_add(1, Relaxed);
                rounds.fetch_add(1, Relaxed);
            }
        });
        while rounds.load(Relaxed) == 0 {
            std::hint::spin_loop();
        }
        for i in 0..times {
            map.atomic(at, Width::B4, |old| old + 1).unwrap();
            map.store(Addr(at.0 + 12), Width::B1, i & 0xff).unwrap();
            map.write_bytes(Addr(at.0 + 13), &[1, 2]).unwrap();
            map.fill(Addr(at.0 + 15), 1, 7).unwrap();
        }
        is_done.store(true, Relaxed);
    });
    let rounds = rounds.load(Relaxed);
    assert_eq!(owner[0].load(Relaxed) >> 32, rounds);
    assert_eq!(owner[0].load(Relaxed) as u32, (3 * rounds + times) as u32);
    assert_eq!(owner[1].load(Relaxed) as u32, rounds as u32);
    assert_eq!(owner[1].load(Relaxed) >> 40, 7 << 16 | 2 << 8 | 1);
}
