//! Any fat binary is an answer: entries in every form, with bytes and claims changed, cut anywhere.
//!
//! `SIMTLAB_FUZZ_COUNT` is the number of cases; fuzz/fuzz_targets/fat_binary.rs holds the same of any bytes.

use cuda::fat_binary_texts;
use proptest::prelude::*;

const LZ4: u64 = 1 << 13;
const ZSTD: u64 = 1 << 15;
/// Most bytes of a text that the reader gives.
const MAX_TEXT: usize = 256 << 20;

fn entry(arch: u32, flags: u64, unpacked: usize, content: &[u8]) -> Vec<u8> {
    let mut e = vec![0; 64];
    e[0] = 1;
    e[4] = 64;
    let padded = content.len().next_multiple_of(8);
    e[8..12].copy_from_slice(&(padded as u32).to_le_bytes());
    e[16..20].copy_from_slice(&(content.len() as u32).to_le_bytes());
    e[28..32].copy_from_slice(&arch.to_le_bytes());
    e[40..48].copy_from_slice(&flags.to_le_bytes());
    e[56..64].copy_from_slice(&(unpacked as u64).to_le_bytes());
    e.extend(content);
    e.resize(64 + padded, 0);
    e
}

fn fat(entries: &[Vec<u8>]) -> Vec<u8> {
    let body = entries.concat();
    let mut fat = vec![0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0];
    fat.extend((body.len() as u64).to_le_bytes());
    fat.extend(body);
    fat
}

/// A Zstandard frame of one raw block of at most 255 bytes.
fn zstd(content: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x20, content.len() as u8];
    frame.extend(&((content.len() as u32) << 3 | 1).to_le_bytes()[..3]);
    frame.extend(content);
    frame
}

fn packed(text: &str, flags: u64) -> Vec<u8> {
    match flags {
        LZ4 => lz4_flex::block::compress(text.as_bytes()),
        ZSTD => zstd(text.as_bytes()),
        _ => text.as_bytes().to_vec(),
    }
}

/// An entry with a text in one of the forms, some of its bytes and its claimed length changed.
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
    fn any_fat_binary_is_an_answer(
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
    fn what_was_packed_comes_out(
        content in "[a-z.%;]{1,250}",
        flags in prop::sample::select(vec![0, LZ4, ZSTD]),
    ) {
        let entry = entry(80, flags, content.len(), &packed(&content, flags));
        let texts = fat_binary_texts(&fat(&[entry]), (8, 0));
        prop_assert_eq!(texts, Some(vec![("ptx".to_owned(), content)]));
    }
}
