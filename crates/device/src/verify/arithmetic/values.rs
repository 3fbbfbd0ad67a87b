//! Operands: tables of three columns with a row for each thread.

use inputs::ElemType;

/// Threads, and rows of each table.
pub(super) const ROWS: usize = 2048;

/// Rows of a grid: all values of 16 bits.
pub(super) const GRID_ROWS: usize = 1 << 16;

/// Threads of a block.
pub(super) const BLOCK: usize = 256;

/// Operands of an instruction at most.
pub(super) const COLUMNS: usize = 3;

/// Special values of each width. Half of the rows are pairs of these.
const SPECIAL: usize = 32;

const SPECIAL_16: [u16; SPECIAL] = [
    0x0000, 0x8000, 0x3c00, 0xbc00, 0x3800, 0x3e00, 0x4000, 0x4200, 0x0001, 0x03ff, 0x0400, 0x8400,
    0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfe00, 0x7e12, 0x7d01, 0xfd23, 0x3f80, 0x7f80, 0xff80,
    0x7fc0, 0x7fff, 0xffff, 0x0002, 0x001f, 0x0020, 0x4049, 0x3555,
];

const SPECIAL_32: [u32; SPECIAL] = [
    0x0000_0000,
    0x8000_0000,
    0x3f80_0000,
    0xbf80_0000,
    0x3f00_0000,
    0x3fc0_0000,
    0x4000_0000,
    0x4040_0000,
    0x0000_0001,
    0x007f_ffff,
    0x0080_0000,
    0x8080_0000,
    0x7f7f_ffff,
    0xff7f_ffff,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0xffc0_0000,
    0x7fc1_2345,
    0x7f80_0001,
    0xff81_2345,
    0x7fff_ffff,
    0xffff_ffff,
    0x0000_0002,
    0x0000_001f,
    0x0000_0020,
    0x0000_0021,
    0x00ff_00ff,
    0x3fc9_0fdb,
    0x4b80_0001,
    0x4f00_0000,
    0xcf00_0001,
];

const SPECIAL_64: [u64; SPECIAL] = [
    0x0000_0000_0000_0000,
    0x8000_0000_0000_0000,
    0x3ff0_0000_0000_0000,
    0xbff0_0000_0000_0000,
    0x3fe0_0000_0000_0000,
    0x3ff8_0000_0000_0000,
    0x4000_0000_0000_0000,
    0x4008_0000_0000_0000,
    0x0000_0000_0000_0001,
    0x000f_ffff_ffff_ffff,
    0x0010_0000_0000_0000,
    0x8010_0000_0000_0000,
    0x7fef_ffff_ffff_ffff,
    0xffef_ffff_ffff_ffff,
    0x7ff0_0000_0000_0000,
    0xfff0_0000_0000_0000,
    0x7ff8_0000_0000_0000,
    0xfff8_0000_0000_0000,
    0x7ff8_1234_5678_9abc,
    0x7ff0_0000_0000_0001,
    0xfff0_1234_5678_9abc,
    0x7fff_ffff_ffff_ffff,
    0xffff_ffff_ffff_ffff,
    0x0000_0000_0000_0002,
    0x0000_0000_0000_003f,
    0x0000_0000_0000_0040,
    0x0000_0000_7fff_ffff,
    0x0000_0000_8000_0000,
    0x3ff9_21fb_5444_2d18,
    0x41e0_0000_0000_0000,
    0x43e0_0000_0000_0000,
    0x3810_0000_0000_0000,
];

/// The next of a sequence of random bits (splitmix64).
pub(in super::super) fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ *state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// Types of the elements of tables, in the order of tables.
pub(super) const TYPES: [ElemType; 3] = [ElemType::U16, ElemType::U32, ElemType::U64];

/// Tables of pairs, column by column.
pub(super) fn tables() -> [Vec<u64>; 3] {
    [
        table(&SPECIAL_16.map(u64::from), 10, 12),
        table(&SPECIAL_32.map(u64::from), 23, 120),
        table(&SPECIAL_64, 52, 1016),
    ]
}

/// Values of one operand all over its range: every one of 16 bits; of 32 and 64 bits, every upper
/// half of 16 bits with random bits below, so that each exponent has 128 values of each sign,
/// or 16.
pub(super) fn grids() -> [Vec<u64>; 3] {
    let mut state = 1;
    let mut grid = |bits: u32| -> Vec<u64> {
        let low = bits - 16;
        let value = |row: u64| row << low | random(&mut state) & ((1 << low) - 1);
        (0..GRID_ROWS as u64).map(value).collect()
    };
    [grid(16), grid(32), grid(64)]
}

/// A quarter of the rows has random bits, another one floats near 1: of so many bits of fraction,
/// and a biased exponent from `least` on.
fn table(special: &[u64; SPECIAL], fraction: u32, least: u64) -> Vec<u64> {
    let mut state = u64::from(fraction);
    let mut out = Vec::with_capacity(COLUMNS * ROWS);
    for column in 0..COLUMNS {
        for row in 0..ROWS {
            let bits = random(&mut state);
            let (a, b) = (row % SPECIAL, row / SPECIAL % SPECIAL);
            out.push(if row < SPECIAL * SPECIAL {
                let pick = [a, b, (11 * a + 5 * b) % SPECIAL];
                special[pick[column]]
            } else if row < ROWS * 3 / 4 {
                bits
            } else {
                let exponent = least + (bits >> 60) % 8;
                let sign = 1
                    << if fraction == 10 {
                        15
                    } else if fraction == 23 {
                        31
                    } else {
                        63
                    };
                bits & (sign | ((1 << fraction) - 1)) | exponent << fraction
            });
        }
    }
    let width = match fraction {
        10 => u64::from(u16::MAX),
        23 => u64::from(u32::MAX),
        _ => u64::MAX,
    };
    out.iter().map(|bits| bits & width).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_of_special_values_is_a_row() {
        for (ty, table) in TYPES.into_iter().zip(tables()) {
            assert_eq!(table.len(), COLUMNS * ROWS);
            let pairs: std::collections::BTreeSet<(u64, u64)> =
                (0..SPECIAL * SPECIAL).map(|row| (table[row], table[ROWS + row])).collect();
            assert_eq!(pairs.len(), SPECIAL * SPECIAL, "{ty}");
        }
    }
}
