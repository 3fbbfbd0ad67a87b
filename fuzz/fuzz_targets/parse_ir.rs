//! Any text: the IR's parser and verifier neither panic nor hang; what is valid prints to text that
//! parses to the same.

#![no_main]

use isa::FileId;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(module) = ir::text::parse(FileId::default(), text) else { return };
    if ir::verify(&module).is_err() {
        return;
    }
    let printed = ir::text::print(&module);
    let again = ir::text::parse(FileId::default(), &printed);
    let again = again.unwrap_or_else(|found| panic!("{found:?}\n{printed}"));
    assert_eq!(ir::text::print(&again), printed);
});
