//! Which bytes of global memory are undefined: operations on ranges against a list of bytes.

use vm::UndefinedMemory;

const PAGE: u64 = 4096;
const LEN: u64 = 20 * PAGE;

/// Numbers that look arbitrary.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % most
    }
}

/// The first byte that is undefined in a range, and their number.
fn first(memory: &UndefinedMemory, at: u64, len: u64) -> Option<(u64, u64)> {
    memory.first(at, len).map(|(at, _, count)| (at, count))
}

fn model(bytes: &[bool], at: u64, len: u64) -> Option<(u64, u64)> {
    let part = &bytes[at as usize..(at + len) as usize];
    let first = part.iter().position(|&undefined| undefined)?;
    Some((at + first as u64, part.iter().filter(|&&undefined| undefined).count() as u64))
}

#[test]
fn operations_are_those_on_single_bytes() {
    let (mut random, mut around) = (Random(7), 0);
    for _ in 0..60 {
        let (mut memory, mut bytes) = (UndefinedMemory::default(), vec![false; LEN as usize]);
        for _ in 0..30 {
            let at = random.below(LEN - 1);
            let long = random.below(2) == 0;
            let len = (1 + random.below(if long { 9 * PAGE } else { 40 })).min(LEN - at);
            let own = at as usize..(at + len) as usize;
            match random.below(4) {
                0 => {
                    memory.allocate(at, len);
                    bytes[own].fill(true);
                }
                1 | 2 => {
                    memory.define(at, len);
                    bytes[own].fill(false);
                }
                _ => {
                    let to = random.below(LEN - len + 1);
                    let copied = memory.copied(at, len);
                    memory.paste(to, &copied);
                    bytes.copy_within(own, to as usize);
                }
            }
            assert_eq!(first(&memory, 0, LEN), model(&bytes, 0, LEN));
            assert_eq!(first(&memory, at, len), model(&bytes, at, len));
            let asked = random.below(LEN - 8);
            let Some(defined) = memory.defined_around(asked..asked + 8) else { continue };
            assert!(defined.start <= asked && asked + 8 <= defined.end);
            let end = defined.end.min(LEN);
            assert_eq!(model(&bytes, defined.start, end - defined.start), None);
            around += 1;
        }
        assert!(memory.is_complete());
    }
    assert!(around > 200, "{around}");
}

/// An allocation of 256 GiB of which little is written takes little memory, and what is undefined
/// in it is exact.
#[test]
fn large_allocations_take_room_where_they_are_written() {
    let (start, len) = (1 << 40, 1 << 38);
    let mut memory = UndefinedMemory::default();
    memory.allocate(start, len);
    memory.define(start + 100, 4);
    assert_eq!(first(&memory, start, len), Some((start, len - 4)));
    memory.define(start, len);
    assert!(memory.is_empty());
}

/// Where more pages are written in part than are kept, memory counts as defined.
#[test]
fn the_number_of_pages_is_bounded() {
    let mut memory = UndefinedMemory::default();
    let pages = (1 << 15) + 10;
    memory.allocate(0, pages * PAGE);
    (0..pages).for_each(|page| memory.define(page * PAGE, 8));
    assert!(!memory.is_complete());
    assert_eq!(first(&memory, 0, PAGE), Some((8, PAGE - 8)));
    assert_eq!(first(&memory, (pages - 1) * PAGE, PAGE), None);
}
