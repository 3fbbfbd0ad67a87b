//! Philox4x32-10: a bijection of counters under a key (Salmon, Moraes, Dror and Shaw, SC 2011).

/// Returns four numbers for a counter and a key.
#[must_use]
pub fn philox4x32_10(mut counter: [u32; 4], key: u64) -> [u32; 4] {
    let mut key = [key as u32, (key >> 32) as u32];
    let wide = |a: u32, b: u32| {
        let product = u64::from(a) * u64::from(b);
        ((product >> 32) as u32, product as u32)
    };
    for _ in 0..10 {
        let (high0, low0) = wide(0xd251_1f53, counter[0]);
        let (high1, low1) = wide(0xcd9e_8d57, counter[2]);
        counter = [high1 ^ counter[1] ^ key[0], low1, high0 ^ counter[3] ^ key[1], low0];
        key = [key[0].wrapping_add(0x9e37_79b9), key[1].wrapping_add(0xbb67_ae85)];
    }
    counter
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_answers_of_the_authors() {
        // Random123's kat_vectors.
        assert_eq!(philox4x32_10([0; 4], 0), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(
            philox4x32_10([u32::MAX; 4], u64::MAX),
            [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]
        );
    }
}
