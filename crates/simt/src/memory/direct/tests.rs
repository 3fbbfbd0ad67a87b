use super::super::{Accessing, Request, Width};
use super::*;

#[test]
fn places_follow_the_map() {
    let mut map = MemoryMap::new();
    let a = map.allocate("a", 100).unwrap();
    let c = map.allocate_with(Request::constant("c", 8)).unwrap();
    let gone = map.allocate("gone", 8).unwrap();
    map.free(gone).unwrap();
    let mut direct = map.direct().unwrap();
    let place = direct.place(9, a.0 + 96, 4, true).unwrap();
    direct.bytes_mut(place).copy_from_slice(&[1, 2, 3, 4]);
    assert_eq!(direct.place(0, a.0 + 97, 4, false), None);
    assert_eq!(direct.place(0, gone.0, 1, false), None);
    assert_eq!(direct.place(0, c.0, 8, true), None);
    assert!(direct.place(0, c.0, 8, false).is_some());
    drop(direct);
    assert_eq!(map.load(a.wrapping_add(96), Width::B4), Ok(0x0403_0201));
}

#[test]
fn places_are_in_memory_that_the_device_may_access() {
    let mut map = MemoryMap::new();
    let own = map.allocate("own", 64).unwrap();
    map.set_device(1);
    let other = map.allocate("other", 64).unwrap();
    for (peers, is_there) in [(0, false), (2, true), (4, false)] {
        map.set_accessing(Some(Accessing { device: 0, peers }));
        let direct = map.direct().unwrap();
        assert!(direct.place(0, own.0, 4, true).is_some());
        assert_eq!(direct.place(0, other.0, 4, false).is_some(), is_there);
        assert_eq!(direct.extents().count(), 1 + usize::from(is_there));
    }
}

#[test]
fn what_was_written_can_be_taken_back() {
    let mut map = MemoryMap::new();
    let a = map.allocate("a", 3 * PAGE_BYTES + 100).unwrap();
    let b = map.allocate("b", 64).unwrap();
    map.host_write(a, &[7; 5000]).unwrap();
    let before = map.snapshot();
    for undo in [true, false] {
        let mut direct = map.direct().unwrap();
        for (at, size) in [(a.0 + 4090, 12), (a.0 + 3 * PAGE_BYTES + 90, 10), (a.0 + 4095, 1)] {
            let place = direct.place(0, at, size, true).unwrap();
            direct.bytes_mut(place).fill(9);
        }
        let place = direct.place(0, b.0 + 3, 1, true).unwrap();
        let (base, len, bytes) = direct.whole(place).unwrap();
        assert_eq!((base, len), (b.0, 64));
        // SAFETY: they are the region's bytes, which nobody else accesses.
        unsafe { std::slice::from_raw_parts_mut(bytes, len) }.fill(1);
        if undo {
            direct.undo();
        }
        drop(direct);
        let mut bytes = [0; 64];
        map.read_bytes(b, &mut bytes).unwrap();
        assert_eq!(bytes, [u8::from(!undo); 64]);
        assert_eq!(map.snapshot() == before, undo);
    }
    // Writes are marked: a snapshot is restored in full.
    map.restore(&before).unwrap();
    assert_eq!(map.snapshot(), before);
    assert_eq!(map.load(a.wrapping_add(4092), Width::B4), Ok(0x0707_0707));
}

#[test]
fn parts_have_what_they_claim() {
    // Threads that contend for a word take Miri long.
    const REACH: u64 = if cfg!(miri) { 128 } else { 2 * PAGE_BYTES };
    let mut map = MemoryMap::new();
    let a = map.allocate("a", 2 * PAGE_BYTES).unwrap();
    let b = map.allocate("b", 64).unwrap();
    let before = map.snapshot();
    let mut direct = map.direct().unwrap();
    let (mut parts, together) = direct.parts(4, &[]);
    assert_eq!(parts[0].place(0, a.0, 4, true), None, "nobody's");
    together.trust();
    std::thread::scope(|scope| {
        for (i, part) in parts.iter_mut().enumerate() {
            scope.spawn(move || {
                part.next_owner();
                for at in (4 * i as u64..REACH).step_by(16) {
                    let place = part.place(0, a.0 + at, 4, true).unwrap();
                    part.bytes_mut(place).fill(i as u8 + 1);
                    let sum = part.place_to_change(0, b.0 + 8, 8, 1).unwrap();
                    part.change(sum, |old| old + 1);
                }
            });
        }
    });
    assert!(!together.refused());
    assert_eq!(together.written(), [0, 1]);
    // A window ends with its region, and no other part has words of it.
    let place = parts[3].place(0, b.0 + 32, 4, true).unwrap();
    assert_eq!(parts[3].window(place, 100).map(|w| w.0), Some(32));
    // A place of another part, or of an earlier owner, gives no bytes.
    let place = parts[0].place(0, a.0, 4, false).unwrap();
    assert_eq!(parts[0].bytes(place), [1; 4]);
    assert_eq!((parts[1].bytes(place), parts[0].whole(place)), (&[][..], None));
    parts[0].next_owner();
    assert_eq!(parts[0].bytes(place), &[]);
    assert_eq!(parts[0].place(0, a.0, 4, false), None);
    assert_eq!(parts[0].place(0, b.0 + 60, 4, false), None);
    assert!(together.refused());
    drop(parts);
    let place = direct.place(0, a.0 + 4, 8, false).unwrap();
    assert_eq!(direct.bytes(place), [2, 2, 2, 2, 3, 3, 3, 3]);
    let sum = direct.place(0, b.0 + 8, 8, false).unwrap();
    assert_eq!(direct.bytes(sum), (4 * REACH / 16).to_le_bytes());
    direct.undo();
    drop(direct);
    assert_eq!(map.snapshot(), before);
}

#[test]
fn parts_share_disjoint_regions_without_claims() {
    const REACH: u64 = if cfg!(miri) { 128 } else { 3 * PAGE_BYTES };
    let mut map = MemoryMap::new();
    let a = map.allocate("a", REACH).unwrap();
    let b = map.allocate("b", 64).unwrap();
    let c = map.allocate("c", 64).unwrap();
    let before = map.snapshot();
    let mut direct = map.direct().unwrap();
    let uses = RegionUses { written: &[], unwritten: &[2], disjoint: &[0] };
    // SAFETY: each part accesses its own words of the region.
    let (mut parts, together) = unsafe { direct.disjoint_parts(2, uses) };
    parts[0].next_owner();
    let place = parts[0].place(0, c.0, 4, false).unwrap();
    assert!(parts[0].whole(place).is_some() && together.followed() == 0);
    together.trust();
    std::thread::scope(|scope| {
        for (i, part) in parts.iter_mut().enumerate() {
            scope.spawn(move || {
                part.next_owner();
                for at in (4 * i as u64..REACH).step_by(8) {
                    let place = part.own_place(0, a.0 + at, 4, true).unwrap();
                    assert!(place.is_disjoint() && part.around(place, PAGE).is_some());
                    part.bytes_mut(place).fill(i as u8 + 1);
                }
                assert!(part.place(1, b.0, 4, false).is_some_and(|place| !place.is_disjoint()));
            });
        }
    });
    let place = parts[0].own_place(0, a.0, 4, false).unwrap();
    assert_eq!((parts[0].bytes(place), parts[0].whole(place).is_some()), (&[1; 4][..], true));
    assert!(!together.refused() && together.written().is_empty());
    // Whoever does not keep to its own bytes is refused, even where nobody else has been.
    assert_eq!(parts[0].place(0, a.0, 4, false), None);
    assert!(together.refused());
    drop(parts);
    let place = direct.place(0, a.0, 8, false).unwrap();
    assert_eq!(direct.bytes(place), [1, 1, 1, 1, 2, 2, 2, 2]);
    direct.undo();
    drop(direct);
    assert_eq!(map.snapshot(), before);
}

#[test]
fn what_was_settled_stays() {
    let mut map = MemoryMap::new();
    let a = map.allocate("a", 5 * PAGE_BYTES + 8).unwrap();
    let mut direct = map.direct().unwrap();
    for value in 1..4 {
        // Around the first of a page's bytes, or its last: all of the page. At the end, what there
        // is.
        for at in [0, 2 * PAGE_BYTES - 1, 5 * PAGE_BYTES + 7] {
            let place = direct.place(0, a.0 + at, 1, true).unwrap();
            let (base, len, bytes) = direct.around(place, PAGE).unwrap();
            assert_eq!(base, a.0 + at / PAGE_BYTES * PAGE_BYTES);
            assert_eq!(len, if at > 4 * PAGE_BYTES { 8 } else { PAGE });
            // SAFETY: they are the region's bytes, which nobody else accesses.
            unsafe { std::slice::from_raw_parts_mut(bytes, len) }.fill(value);
        }
        // No bytes are kept of pages that nobody has written.
        assert_eq!(direct.kept(), if value == 1 { 0 } else { 3 * PAGE });
        if value < 3 {
            direct.settle();
            assert_eq!(direct.kept(), 0);
        }
    }
    direct.undo();
    drop(direct);
    let mut bytes = vec![0; 5 * PAGE + 8];
    map.read_bytes(a, &mut bytes).unwrap();
    let count = |value| bytes.iter().filter(|&&b| b == value).count();
    assert_eq!((count(2), count(0)), (2 * PAGE + 8, 3 * PAGE));
}

#[test]
fn without_a_journal_writes_stay_and_are_marked() {
    let mut map = MemoryMap::new();
    let a = map.allocate("a", 3 * PAGE_BYTES).unwrap();
    let constant = map.allocate_with(Request::constant("c", 8)).unwrap();
    let before = map.snapshot();
    let mut direct = map.direct().unwrap();
    direct.set_journalled(false);
    {
        let (mut parts, _) = direct.parts(1, &[]);
        parts[0].next_owner();
        let place = parts[0].place(0, a.0 + PAGE_BYTES - 2, 4, true).unwrap();
        parts[0].bytes_mut(place).fill(9);
        assert_eq!(parts[0].kept(), 0);
    }
    let at = |low, last| direct.has_range((a.0 + low, a.0 + last), true);
    assert_eq!([at(0, 3 * PAGE_BYTES - 1), at(1, 3 * PAGE_BYTES), at(5, 4)], [true, false, false]);
    assert!(!direct.has_range((constant.0, constant.0), true));
    assert!(direct.has_range((constant.0, constant.0 + 7), false));
    direct.undo();
    drop(direct);
    let mut bytes = [0; 4];
    map.read_bytes(a.wrapping_add(PAGE_BYTES - 2), &mut bytes).unwrap();
    assert_eq!(bytes, [9; 4]);
    // A snapshot is restored in full.
    map.restore(&before).unwrap();
    assert_eq!(map.snapshot(), before);
    map.read_bytes(a.wrapping_add(PAGE_BYTES - 2), &mut bytes).unwrap();
    assert_eq!(bytes, [0; 4]);
}
