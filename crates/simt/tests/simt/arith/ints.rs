//! Integer operations against 128-bit integers, and bit operations against the bit-by-bit
//! definitions of the PTX ISA.

use simt::arith::int::{self, DivByZero, FunnelShift, Int, Overshift, PermuteMode};
use simt::arith::{Cmp, Relation};

use crate::arith::sample::Random;

/// The value of an operand as a wide integer.
fn wide<T: Int>(bits: u64) -> i128 {
    let low = i128::from(bits & T::MASK);
    if T::SIGNED && bits >> (T::BITS - 1) & 1 != 0 { low - (1 << T::BITS) } else { low }
}

fn clamp<T: Int>(value: i128) -> u64 {
    let (least, greatest) = (wide::<T>(T::MIN_BITS), wide::<T>(T::MAX_BITS));
    T::truncate(value.clamp(least, greatest) as u64)
}

/// Operands with upper bits set that must be ignored.
fn operand<T: Int>(random: &mut Random) -> u64 {
    let r = random.next();
    let value = match r % 4 {
        0 => random.next(),
        1 => [0, 1, T::MAX_BITS, T::MIN_BITS, T::MASK, T::MAX_BITS - 1][random.below(6) as usize],
        2 => 1 << random.below(64),
        _ => random.below(40).wrapping_sub(4),
    };
    let noise = if T::BITS < 64 { random.next() << T::BITS } else { 0 };
    T::truncate(value) | noise
}

fn each_pair<T: Int>(mut check: impl FnMut(u64, u64, u64)) {
    let mut random = Random::new(u64::from(T::BITS) + u64::from(T::SIGNED));
    if T::BITS == 8 {
        for a in 0..256 {
            (0..256).for_each(|b| check(a, b, random.next()));
        }
    }
    for _ in 0..20_000 {
        let [a, b, c] = [(); 3].map(|()| operand::<T>(&mut random));
        check(a, b, c);
    }
}

fn arithmetic<T: Int>() {
    each_pair::<T>(|a, b, c| {
        let (x, y, z) = (wide::<T>(a), wide::<T>(b), wide::<T>(c));
        let low = |value: i128| T::truncate(value as u64);
        let context = format!("{} bits signed={} {a:x} {b:x} {c:x}", T::BITS, T::SIGNED);
        let product = x.wrapping_mul(y);
        let high = if T::BITS == 64 && !T::SIGNED {
            ((x as u128).wrapping_mul(y as u128) >> 64) as i128
        } else {
            product >> T::BITS
        };
        assert_eq!(int::add::<T>(a, b), low(x + y), "{context}");
        assert_eq!(int::sub::<T>(a, b), low(x - y), "{context}");
        assert_eq!(int::add_sat::<T>(a, b), clamp::<T>(x + y), "{context}");
        assert_eq!(int::sub_sat::<T>(a, b), clamp::<T>(x - y), "{context}");
        assert_eq!(int::mul_lo::<T>(a, b), low(product), "{context}");
        assert_eq!(int::mul_hi::<T>(a, b), low(high), "{context}");
        assert_eq!(int::mad_lo::<T>(a, b, c), low(product.wrapping_add(z)), "{context}");
        assert_eq!(int::mad_hi::<T>(a, b, c), low(high + z), "{context}");
        assert_eq!(
            int::mad_hi_sat::<T>(a, b, c),
            clamp::<T>(wide::<T>(low(high)) + z),
            "{context}"
        );
        assert_eq!(int::sad::<T>(a, b, c), low(z + (x - y).abs()), "{context}");
        assert_eq!(int::min::<T>(a, b), low(x.min(y)), "{context}");
        assert_eq!(int::max::<T>(a, b), low(x.max(y)), "{context}");
        assert_eq!(int::abs::<T>(a), low(x.abs()), "{context}");
        assert_eq!(int::neg::<T>(a), low(-x), "{context}");
        assert_eq!(int::relu::<T>(a), low(x.max(0)), "{context}");
        let unsigned = [a, b].map(|bits| i128::from(bits & T::MASK));
        for carry in [false, true] {
            let sum = unsigned[0] + unsigned[1] + i128::from(carry);
            let carried = (low(sum), sum >> T::BITS != 0);
            assert_eq!(int::add_carry::<T>(a, b, carry), carried, "{context}");
            // A carry is not a borrow.
            let difference = unsigned[0] - unsigned[1] - i128::from(!carry);
            let carried = (low(difference), difference >= 0);
            assert_eq!(int::sub_carry::<T>(a, b, carry), carried, "{context}");
        }
        division::<T>(a, b, &context);
        let relation = match x.cmp(&y) {
            std::cmp::Ordering::Less => Relation::Less,
            std::cmp::Ordering::Equal => Relation::Equal,
            std::cmp::Ordering::Greater => Relation::Greater,
        };
        assert_eq!(int::compare::<T>(a, b), relation, "{context}");
        for op in Cmp::ALL {
            assert_eq!(int::holds::<T>(op, a, b), op.holds(relation), "{op:?} {context}");
        }
        if T::BITS < 64 {
            let mask = u64::MAX >> (64 - 2 * T::BITS);
            assert_eq!(int::mul_wide::<T>(a, b), product as u64 & mask, "{context}");
            let sum = (product as u64).wrapping_add(c) & mask;
            assert_eq!(int::mad_wide::<T>(a, b, c), sum, "{context}");
        }
    });
}

fn division<T: Int>(a: u64, b: u64, context: &str) {
    let (x, y) = (wide::<T>(a), wide::<T>(b));
    for rule in [DivByZero::AllOnes, DivByZero::Zero] {
        let wanted = match (y, rule) {
            (0, DivByZero::AllOnes) => T::MASK,
            (0, DivByZero::Zero) => 0,
            _ => T::truncate((x / y) as u64),
        };
        assert_eq!(int::div::<T>(a, b, rule), wanted, "{context}");
    }
    let rest = if y == 0 { x } else { x % y };
    assert_eq!(int::rem::<T>(a, b), T::truncate(rest as u64), "{context}");
}

fn bits<T: Int>() {
    each_pair::<T>(|a, b, c| {
        let context = format!("{} bits signed={} {a:x} {b:x} {c:x}", T::BITS, T::SIGNED);
        let bit = |x: u64, i: u32| x >> i & 1 != 0;
        let build =
            |f: &dyn Fn(u32) -> bool| (0..T::BITS).fold(0u64, |all, i| all | u64::from(f(i)) << i);
        assert_eq!(int::and::<T>(a, b), build(&|i| bit(a, i) && bit(b, i)), "{context}");
        assert_eq!(int::or::<T>(a, b), build(&|i| bit(a, i) || bit(b, i)), "{context}");
        assert_eq!(int::xor::<T>(a, b), build(&|i| bit(a, i) != bit(b, i)), "{context}");
        assert_eq!(int::not::<T>(a), build(&|i| !bit(a, i)), "{context}");
        assert_eq!(int::cnot::<T>(a), u64::from(wide::<T>(a) == 0), "{context}");
        assert_eq!(int::brev::<T>(a), build(&|i| bit(a, T::BITS - 1 - i)), "{context}");
        let ones = (0..T::BITS).filter(|&i| bit(a, i));
        assert_eq!(int::popc::<T>(a), ones.clone().count() as u64, "{context}");
        let leading = ones.clone().max().map_or(T::BITS, |i| T::BITS - 1 - i);
        assert_eq!(int::clz::<T>(a), u64::from(leading), "{context}");
        let trailing = ones.min().unwrap_or(T::BITS);
        assert_eq!(int::ctz::<T>(a), u64::from(trailing), "{context}");
        shifts::<T>(a, b, &context);
        fields::<T>(a, b, c, &context);
        let table = c as u8;
        let looked_up = build(&|i| {
            let row = u8::from(bit(a, i)) << 2 | u8::from(bit(b, i)) << 1 | u8::from(bit(c, i));
            table >> row & 1 != 0
        });
        assert_eq!(int::lop3::<T>(a, b, c, table), looked_up, "{context}");
    });
}

fn shifts<T: Int>(a: u64, b: u64, context: &str) {
    // Amounts near the width, and the raw low word.
    for amount in [b % 80, b] {
        let by = amount as u32;
        let clamped = by.min(T::BITS);
        let wrapped = by % T::BITS;
        let value = wide::<T>(a);
        let cases = [(Overshift::Clamp, clamped), (Overshift::Wrap, wrapped)];
        for (rule, by) in cases {
            let left = T::truncate((u128::from(a) << by) as u64);
            assert_eq!(int::shl::<T>(a, amount, rule), left, "{rule:?} {amount} {context}");
            let right = T::truncate((value >> by) as u64);
            assert_eq!(int::shr::<T>(a, amount, rule), right, "{rule:?} {amount} {context}");
        }
    }
}

/// `bfe`, `bfi` and `bfind` as the PTX ISA writes them.
fn fields<T: Int>(a: u64, b: u64, c: u64, context: &str) {
    let top = T::BITS as i64 - 1;
    let bit = |x: u64, i: i64| x >> i & 1;
    for (start, length) in [(b % 70, c % 70), (b, c)] {
        let (position, count) = ((start & 0xff) as i64, (length & 0xff) as i64);
        let sign =
            if !T::SIGNED || count == 0 { 0 } else { bit(a, (position + count - 1).min(top)) };
        let mut extracted = 0;
        for i in 0..=top {
            let inside = i < count && position + i <= top;
            extracted |= if inside { bit(a, position + i) } else { sign } << i;
        }
        assert_eq!(int::bfe::<T>(a, start, length), extracted, "{start} {length} {context}");
        let mut inserted = T::truncate(b);
        for i in (0..count).take_while(|i| position + i <= top) {
            let place = position + i;
            inserted = inserted & !(1 << place) | if i < 64 { bit(a, i) } else { 0 } << place;
        }
        assert_eq!(int::bfi::<T>(a, b, start, length), inserted, "{start} {length} {context}");
    }
    let searched = if T::SIGNED && bit(a, top) != 0 { !a } else { a };
    let found = (0..=top).rev().find(|&i| bit(searched, i) != 0);
    let position = found.map_or(0xffff_ffff, |i| i as u64);
    assert_eq!(int::bfind::<T>(a, false), position, "{context}");
    let amount = found.map_or(0xffff_ffff, |i| (top - i) as u64);
    assert_eq!(int::bfind::<T>(a, true), amount, "{context}");
}

macro_rules! every_type {
    ($($name:ident: $check:ident;)*) => {$(
        #[test]
        fn $name() {
            $check::<u8>();
            $check::<i8>();
            $check::<u16>();
            $check::<i16>();
            $check::<u32>();
            $check::<i32>();
            $check::<u64>();
            $check::<i64>();
        }
    )*};
}

every_type! {
    arithmetic_of_every_type: arithmetic;
    bits_of_every_type: bits;
    conversions_of_every_type: conversions;
}

fn conversions<S: Int>() {
    fn pair<S: Int, D: Int>() {
        each_pair::<S>(|a, _, _| {
            assert_eq!(int::convert::<S, D>(a), D::truncate(wide::<S>(a) as u64));
            assert_eq!(int::convert_sat::<S, D>(a), clamp::<D>(wide::<S>(a)));
        });
    }
    pair::<S, u8>();
    pair::<S, i8>();
    pair::<S, i16>();
    pair::<S, u32>();
    pair::<S, i32>();
    pair::<S, u64>();
    pair::<S, i64>();
}

#[test]
fn products_of_24_bits() {
    each_pair::<i32>(|a, b, c| {
        let signed = |x: u64| i64::from((x as i32) << 8 >> 8);
        let unsigned = |x: u64| (x & 0xff_ffff) as i64;
        let product = signed(a) * signed(b);
        assert_eq!(int::mul24_lo::<i32>(a, b), product as u64 & 0xffff_ffff);
        assert_eq!(int::mul24_hi::<i32>(a, b), (product >> 16) as u64 & 0xffff_ffff);
        let low = (product as i32).wrapping_add(c as i32);
        assert_eq!(int::mad24_lo::<i32>(a, b, c), u64::from(low as u32));
        let high = ((product >> 16) as i32).wrapping_add(c as i32);
        assert_eq!(int::mad24_hi::<i32>(a, b, c), u64::from(high as u32));
        let saturated = ((product >> 16) as i32).saturating_add(c as i32);
        assert_eq!(int::mad24_hi_sat::<i32>(a, b, c), u64::from(saturated as u32));
        let product = unsigned(a) * unsigned(b);
        assert_eq!(int::mul24_lo::<u32>(a, b), product as u64 & 0xffff_ffff);
        assert_eq!(int::mul24_hi::<u32>(a, b), (product >> 16) as u64 & 0xffff_ffff);
    });
}

#[test]
fn signed_times_unsigned() {
    fn check<T: Int>() {
        each_pair::<T>(|a, b, _| {
            let shift = 128 - T::BITS;
            let x = (i128::from(a & T::MASK) << shift) >> shift;
            let wanted = (x * i128::from(b & T::MASK)) >> T::BITS;
            assert_eq!(int::mul_hi_signed_unsigned::<T>(a, b), T::truncate(wanted as u64));
        });
    }
    check::<u32>();
    check::<i64>();
}

#[test]
fn funnel_shifts() {
    let mut random = Random::new(31);
    for _ in 0..50_000 {
        let [low, high] = [random.next(), random.next()];
        let amount = if random.below(2) == 0 { random.below(70) } else { random.next() };
        let pair = u128::from(high as u32) << 32 | u128::from(low as u32);
        let clamped = (amount as u32).min(32);
        for (rule, n) in [(Overshift::Clamp, clamped), (Overshift::Wrap, amount as u32 % 32)] {
            let left = (pair << n >> 32) as u64 & 0xffff_ffff;
            let right = (pair >> n) as u64 & 0xffff_ffff;
            assert_eq!(int::funnel_shift(low, high, amount, FunnelShift::Left, rule), left);
            assert_eq!(int::funnel_shift(low, high, amount, FunnelShift::Right, rule), right);
        }
    }
}

#[test]
fn masks_and_extensions() {
    for position in 0..70u64 {
        for width in 0..70u64 {
            for rule in [Overshift::Clamp, Overshift::Wrap] {
                let (p, w) = match rule {
                    Overshift::Clamp => (position, width),
                    Overshift::Wrap => (position % 32, width % 32),
                };
                let ones = (0..32u64).filter(|&i| i >= p && i < p + w);
                let wanted = ones.fold(0u64, |all, i| all | 1 << i);
                assert_eq!(int::bmsk(position, width, rule), wanted, "{position} {width} {rule:?}");
            }
        }
    }
    let mut random = Random::new(32);
    for _ in 0..20_000 {
        let (a, n) = (random.next(), random.below(70));
        for rule in [Overshift::Clamp, Overshift::Wrap] {
            // The definition of the PTX ISA.
            let word = a as u32;
            let low = n as u32 & 31;
            let too_large = n >= 32 && rule == Overshift::Clamp;
            let mask = if too_large { 0 } else { u32::MAX << low };
            let signed = low != 0 && !too_large && word >> (low.wrapping_sub(1) & 31) & 1 != 0;
            assert_eq!(int::szext::<u32>(a, n, rule), u64::from(word & !mask));
            let extended = word & !mask | if signed { mask } else { 0 };
            assert_eq!(int::szext::<i32>(a, n, rule), u64::from(extended));
        }
    }
}

#[test]
fn nth_set_bit() {
    let mut random = Random::new(33);
    for _ in 0..50_000 {
        let mask = random.next() & random.next();
        let base = random.below(34);
        let offset = random.below(40) as i64 - 20;
        // The definition of the PTX ISA, and nothing for a base that it leaves undefined.
        let set = |i: i64| mask >> i & 1 != 0;
        let mut found = 0xffff_ffff;
        if base > 31 {
        } else if offset == 0 {
            if set(base as i64) {
                found = base;
            }
        } else {
            let (mut position, mut count) = (base as i64, offset.abs() - 1);
            while (0..32).contains(&position) {
                if set(position) {
                    if count == 0 {
                        found = position as u64;
                        break;
                    }
                    count -= 1;
                }
                position += offset.signum();
            }
        }
        assert_eq!(int::fns(mask, base, offset as u64), found, "{mask:x} {base} {offset}");
    }
    assert_eq!(int::fns(u64::MAX, 31, i32::MIN as u64), 0xffff_ffff);
}

/// The selector tables of the PTX ISA, highest byte first.
#[test]
fn permutes() {
    let (a, b) = (0x8382_8180, 0x0706_0504);
    let byte = |i: u64| [0x80, 0x81, 0x82, 0x83, 4, 5, 6, 7][i as usize];
    let tables: [(PermuteMode, [u64; 4]); 6] = [
        (PermuteMode::Forward4, [0x3210, 0x4321, 0x5432, 0x6543]),
        (PermuteMode::Backward4, [0x5670, 0x6701, 0x7012, 0x0123]),
        (PermuteMode::Replicate8, [0x0000, 0x1111, 0x2222, 0x3333]),
        (PermuteMode::EdgeClampLeft, [0x3210, 0x3211, 0x3222, 0x3333]),
        (PermuteMode::EdgeClampRight, [0x0000, 0x1110, 0x2210, 0x3210]),
        (PermuteMode::Replicate16, [0x1010, 0x3232, 0x1010, 0x3232]),
    ];
    for (mode, table) in tables {
        for control in 0..8 {
            let digits = table[control as usize & 3];
            let wanted = (0..4).fold(0, |all, i| all | byte(digits >> (4 * i) & 7) << (8 * i));
            assert_eq!(int::prmt(a, b, control | 0xf0, Some(mode)), wanted, "{mode:?} {control}");
        }
    }
    assert_eq!(int::prmt(a, b, 0x7531, None), 0x0705_8381);
    assert_eq!(int::prmt(a, b, 0xf_8c3b, None), 0xff00_83ff);
}

#[test]
fn dot_products() {
    let mut random = Random::new(34);
    for _ in 0..20_000 {
        let [a, b, c] = [random.next(), random.next(), random.next()];
        let bytes = |x: u64| (x as u32).to_le_bytes();
        let signed = |x: u8| i64::from(x as i8);
        let (x, y) = (bytes(a), bytes(b));
        let low = |sum: i64| (c as i64).wrapping_add(sum) as u64 & 0xffff_ffff;
        let dot4 = (0..4).map(|i| signed(x[i]) * i64::from(y[i])).sum();
        assert_eq!(int::dp4a::<i8, u8>(a, b, c), low(dot4));
        let dot4 = (0..4).map(|i| i64::from(x[i]) * i64::from(y[i])).sum();
        assert_eq!(int::dp4a::<u8, u8>(a, b, c), low(dot4));
        let halves = [a as u16, (a >> 16) as u16];
        let dot2 =
            i64::from(halves[0] as i16) * signed(y[2]) + i64::from(halves[1] as i16) * signed(y[3]);
        assert_eq!(int::dp2a::<i16, i8>(a, b, c, true), low(dot2));
        let dot2 = i64::from(halves[0]) * signed(y[0]) + i64::from(halves[1]) * signed(y[1]);
        assert_eq!(int::dp2a::<u16, i8>(a, b, c, false), low(dot2));
    }
    let pair = int::lanes2([0x0001_ffff, 0xffff_0001], |[a, b]| int::add::<u16>(a, b));
    assert_eq!(pair, 0);
    let quad = int::lanes4([0x7f80_01ff, 0x0101_0101], |[a, b]| int::add_sat::<i8>(a, b));
    assert_eq!(quad, 0x7f81_0200);
}
