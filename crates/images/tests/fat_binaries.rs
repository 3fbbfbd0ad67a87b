//! Reads arbitrary fat binaries without a panic: entries of every form, with changed bytes and
//! lengths, truncated anywhere.
//!
//! `SIMTLAB_FUZZ_COUNT` sets the number of cases. The fuzz target fuzz/fuzz_targets/fat_binary.rs
//! does the same with arbitrary bytes.

use images::fat_binary_texts;
use proptest::prelude::*;

use writer::{entry, fat, zstd};

#[path = "common/writer.rs"]
mod writer;

const LZ4: u64 = 1 << 13;
const ZSTD: u64 = 1 << 15;
/// The maximum size of a text that the reader returns, in bytes.
const MAX_TEXT: usize = 256 << 20;

fn packed(text: &str, flags: u64) -> Vec<u8> {
    match flags {
        LZ4 => lz4_flex::block::compress(text.as_bytes()),
        ZSTD => zstd(text.as_bytes()),
        _ => text.as_bytes().to_vec(),
    }
}

/// Generates an entry with a text in one of the forms, and changes some of its bytes and possibly
/// its length.
fn any_entry() -> impl Strategy<Value = Vec<u8>> {
    let flags = prop::sample::select(vec![0, LZ4, ZSTD, LZ4 | ZSTD]);
    let claimed = prop_oneof![3 => Just(None), 1 => any::<usize>().prop_map(Some)];
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6);
    ("[a-z.%;\n]{0,200}", flags, claimed, changes, 50_u32..130).prop_map(
        |(text, flags, claimed, changes, arch)| {
            let content = packed(&text, flags);
            let mut entry = entry(arch, flags, claimed.unwrap_or(text.len()), &content);
            for (at, byte) in changes {
                let at = at.index(entry.len());
                entry[at] = byte;
            }
            entry
        },
    )
}

fn cases() -> ProptestConfig {
    let count = std::env::var("SIMTLAB_FUZZ_COUNT").ok().and_then(|n| n.parse().ok());
    let config = ProptestConfig::with_cases(count.unwrap_or(2000));
    ProptestConfig { failure_persistence: None, ..config }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn any_fat_binary_returns_a_status(
        entries in prop::collection::vec(any_entry(), 0..4),
        cut in any::<prop::sample::Index>(),
        whole in any::<bool>(),
    ) {
        let fat = fat(&entries);
        let end = if whole { fat.len() } else { cut.index(fat.len()) };
        if let Some(texts) = fat_binary_texts(&fat[..end], (8, 0)) {
            prop_assert!(texts.iter().all(|(_, text)| text.len() <= MAX_TEXT));
        }
    }

    #[test]
    fn packed_texts_are_unpacked(
        content in "[a-z.%;]{1,250}",
        flags in prop::sample::select(vec![0, LZ4, ZSTD]),
    ) {
        let entry = entry(80, flags, content.len(), &packed(&content, flags));
        let texts = fat_binary_texts(&fat(&[entry]), (8, 0));
        prop_assert_eq!(texts, Some(vec![("ptx".to_owned(), content)]));
    }
}
