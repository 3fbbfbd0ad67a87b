//! Any bytes: the reader of fat binaries, with its LZ4 and Zstandard, neither panics nor hangs nor
//! takes more memory than texts may have.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, &[u8])| {
    let (capability, bytes) = input;
    let capability = (i32::from(capability >> 4), i32::from(capability & 15).min(9));
    if let Some(texts) = images::fat_binary_texts(bytes, capability) {
        assert!(texts.iter().all(|(_, text)| text.len() <= 256 << 20));
    }
});
